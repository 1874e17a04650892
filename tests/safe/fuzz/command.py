"""Random inputs of six kinds: every call must end in a finite result or in a clean error.

A clean error is a ValueError, TypeError or FloatingPointError that names the argument and leaves
the model as it was.  Anything else is a failure: it is printed with the command that makes it
happen again, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import importlib
import time

from safe.fuzz.hunt import hunt
from safe.fuzz.ledger import LEGEND, Failure, Ledger, table
from safe.fuzz.worker import Generator

#: The generators, each a module with a function ``generate``.
NAMES = ("matrices", "parameters", "kernels", "interrupts", "saved", "streams")
#: Inputs of one seed of a run lie so far apart from those of the next.
STRIDE = 10**8


def generator(name: str) -> Generator:
    """The function that makes and judges an input of this kind."""
    return importlib.import_module(f"safe.fuzz.{name}").generate


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.safe.fuzz", description=__doc__)
    parser.add_argument(
        "seconds", type=float, nargs="?", default=60.0,
        help="how long, for all kinds together (default: 60)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="other inputs (default: 0)")
    parser.add_argument("--only", choices=NAMES, action="append", help="only inputs of this kind")
    parser.add_argument(
        "--replay",
        metavar="SEED:COUNT",
        help="make COUNT inputs again, from SEED on, of the kind that --only names",
    )
    parser.add_argument(
        "--list", type=int, default=3, help="how many failures of one sort to print (default: 3)"
    )
    chosen = parser.parse_args(arguments)
    if chosen.replay and not (chosen.only and len(chosen.only) == 1):
        parser.error("--replay needs --only NAME")
    if not 0 < chosen.seconds < 1e9:
        parser.error(f"seconds must be positive and finite, got {chosen.seconds}")
    if chosen.replay and not all(part.isdigit() for part in chosen.replay.split(":")):
        parser.error(f"--replay takes two whole numbers, SEED:COUNT, got {chosen.replay}")
    return chosen


class Teller:
    """Prints failures as they happen, not more than a few of each kind."""

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most = name, most
        self.told: dict[str, int] = {}

    def __call__(self, seed: int, failure: Failure) -> None:
        told = self.told[failure.signature] = self.told.get(failure.signature, 0) + 1
        if told <= self.most:
            text = failure.text.replace("\n", "\n    ")
            print(
                f"FAILURE {self.name}: {failure.signature}\n    {text}\n"
                f"    python -m tests.safe.fuzz --only {self.name} --replay {seed}:1",
                flush=True,
            )


def main(arguments: list[str] | None = None) -> int:
    """Run the generators one after the other; returns 1 if anything failed."""
    chosen = parsed(arguments)
    names = chosen.only or NAMES
    first, count = chosen.seed * STRIDE, None
    if chosen.replay:
        first, count = (int(part) for part in f"{chosen.replay}:1".split(":")[:2])
    ledgers: dict[str, Ledger] = {}
    seconds: dict[str, float] = {}
    interrupted = False
    if not chosen.replay:
        print(f"{', '.join(names)}: {chosen.seconds:g} s in all, seed {chosen.seed}", flush=True)
    try:
        for name in names:
            module = importlib.import_module(f"safe.fuzz.{name}")
            began = time.monotonic()
            ledgers[name], seconds[name] = Ledger(), 0.0
            hunt(
                name,
                module.generate,
                first,
                count=count,
                seconds=1e9 if chosen.replay else chosen.seconds / len(names),
                on_failure=Teller(name, chosen.list),
                total=ledgers[name],
            )
            seconds[name] = time.monotonic() - began
    except KeyboardInterrupt:
        interrupted = True
        seconds[name] = time.monotonic() - began
    print(table(ledgers, seconds), LEGEND, sep="\n")
    failed = False
    for name, ledger in ledgers.items():
        for signature, times in ledger.signatures().most_common():
            failed = True
            print(f"  {name}: {times:>6} x {signature}")
    inputs = sum(ledger.inputs for ledger in ledgers.values())
    print(f"{'interrupted after ' if interrupted else ''}{inputs} inputs: "
          f"{'FAILURES, see above' if failed else 'no failures'}")  # fmt: skip
    return 1 if failed or not inputs else 130 if interrupted else 0
