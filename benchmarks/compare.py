"""``python -m benchmarks compare --old PATH``: fits of two builds of lazynet in turns.

PATH is a checkout with kernels built in place, for example of an older commit; the other build is
this checkout.  Each has a process of its own in every round, and each fit runs in one and then in
the other, the first of them in turns.  Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import timed_fits
from paper_repro.documents import medline
from paper_repro.measure import turns
from paper_repro.score import duration, ratios

ROOT = Path(__file__).parent.parent


class Side:
    """A process that fits with the lazynet of one checkout."""

    def __init__(self, process: subprocess.Popen[str], checkout: Path) -> None:
        self.process = process
        found = self._line()
        if Path(found).parent != checkout.resolve():
            raise ValueError(
                f"{checkout} has no lazynet with built kernels: {found!r} was imported"
            )

    def __call__(self, fit: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        print(fit, file=self.process.stdin, flush=True)
        return dict(json.loads(self._line()))

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")


@contextmanager
def side(checkout: Path, rows: str) -> Iterator[Side]:
    """A new process with the lazynet of a checkout; it ends with the block."""
    with subprocess.Popen(
        [sys.executable, "-P", timed_fits.__file__, rows],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(rows).parent,
        env={**os.environ, "PYTHONPATH": str(checkout.resolve()), "OMP_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        try:
            yield Side(process, checkout)
        finally:
            process.kill()


def measured(
    checkouts: Sequence[Path], rows: str, names: Sequence[str], rounds: int
) -> dict[str, list[list[dict[str, Any]]]]:
    """For every fit and each checkout the answers, round by round."""
    found: dict[str, list[list[dict[str, Any]]]] = {name: [[], []] for name in names}
    for k in range(rounds):
        with ExitStack() as stack:
            sides = [stack.enter_context(side(each, rows)) for each in checkouts]
            for turn, name in enumerate(names, start=k):
                for which in turns((0, 1), turn):
                    found[name][which].append(sides[which](name))
    return found


def line(name: str, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> str:
    """The medians of a fit, their ratio, and whether the weights are the same."""
    for which, answers in (("old", old), ("new", new)):
        for each in answers:
            if "error" in each:
                return f"{name:34} not compared: {which} {each['error']}"
    seconds = [[each["seconds"] for each in answers] for answers in (old, new)]
    same = "same" if len({each["digest"] for each in old + new}) == 1 else "other"
    middle = "  ".join(f"{duration(median(each)):>8}" for each in seconds)
    return f"{name:34} {middle}  {ratios(*seconds)!s:24} {same} bits"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    parser.add_argument("--old", type=Path, required=True, help="the other checkout")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="fits whose name contains this")
    options = parser.parse_args(arguments)
    names = [name for name in timed_fits.fits() if options.only in name]
    with tempfile.TemporaryDirectory() as folder:
        rows = str(Path(folder) / "rows.npz")
        corpus = medline(options.rows)
        X = corpus.X
        np.savez(rows, X.data, X.indices, X.indptr, X.shape, corpus.y)
        found = measured((options.old, ROOT), rows, names, options.rounds)
    print(f"{'':34} {'old':>8}  {'new':>8}  old / new: median (range)")
    for name, (old, new) in found.items():
        print(line(name, old, new))
    return 0
