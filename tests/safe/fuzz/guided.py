"""Inputs that are led by coverage: ``python -m safe.fuzz.guided [NAME] [libFuzzer's options]``.

Atheris watches which lines of lazynet an input reaches, and changes the bytes from which it was
made so that it reaches others.  The generators draw from these bytes as from random numbers.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

#: What may be guided: these generators neither start threads nor press keys.
NAMES = ("matrices", "parameters", "kernels")


class Drawn:
    """Draws that a ``numpy.random.Generator`` would give, from bytes, and then from a seed.

    A bit generator of one's own needs compiled code.  Most of what generators draw are small
    integers and coin flips: these come from the bytes, the rest from a generator they seed.
    """

    def __init__(self, data: bytes, rest: Any) -> None:
        self.data, self.at, self.rest = data, 0, rest

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rest, name)

    def _number(self, size: int) -> int | None:
        """The next few bytes as a number, or None where there are no more."""
        part = self.data[self.at : self.at + size]
        self.at += size
        return int.from_bytes(part, "little") if len(part) == size else None

    def random(self, size: Any = None) -> Any:
        """Like ``Generator.random``."""
        number = self._number(1) if size is None else None
        return self.rest.random(size) if number is None else number / 256

    def integers(self, low: int, high: int | None = None, size: Any = None) -> Any:
        """Like ``Generator.integers``."""
        first, stop = (0, low) if high is None else (low, high)
        number = self._number(1 if stop - first <= 256 else 4) if size is None else None
        if number is None:
            return self.rest.integers(first, stop, size=size)
        return first + number % (stop - first)

    def choice(self, values: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Like ``Generator.choice``; alike for all values, and so without ``p``."""
        if size is not None or isinstance(values, int):
            return self.rest.choice(values, size=size, replace=replace, p=p)
        import numpy as np

        listed = np.asarray(values)
        return listed[self.integers(len(listed))]


def main() -> int:
    """Run until libFuzzer ends it, or a failure that is not known."""
    try:
        import atheris
    except ImportError:
        print("guided inputs need atheris, which is not installed: python -m pip install atheris")
        return 2
    name = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in NAMES else NAMES[0]
    with atheris.instrument_imports(include=["lazynet"]):
        import lazynet

        assert lazynet
    import numpy as np

    from safe.fuzz.ledger import Ledger

    generate = importlib.import_module(f"safe.fuzz.{name}").generate
    told: set[str] = set()

    def one(data: bytes) -> None:
        seed = int.from_bytes(data[:4], "little")
        ledger = Ledger()
        generate(Drawn(data[4:], np.random.default_rng(seed)), ledger)
        for failure in ledger.failures:
            # The run goes on: a failure that everybody knows shall not hide the next.
            if failure.signature not in told:
                told.add(failure.signature)
                print(f"FAILURE {name}: {failure.signature}\n    {failure.text}\n    {data.hex()}",
                      flush=True)  # fmt: skip

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.exit(main())
