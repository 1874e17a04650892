"""Random matrices and calls of kernels: each must end in a finite result or in a clean error.

A clean error is a ValueError, TypeError or FloatingPointError that names the argument and leaves
the model as it was.  Anything else is a failure: it is printed with the command that makes it
happen again, and the exit code is 1.
"""

import argparse
import importlib
import time
from collections import Counter

from safe.fuzz.hunt import hunt
from safe.fuzz.ledger import LEGEND, Ledger, table

#: The generators, each a module with a function ``generate``.
NAMES = ("matrices", "kernels")
#: Inputs of one seed of a run lie so far apart from those of the next.
STRIDE = 10**8


def generator(name):
    """The function that makes and judges an input of this kind."""
    return importlib.import_module(f"safe.fuzz.{name}").generate


def parsed(arguments):
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m safe.fuzz", description=__doc__)
    add = parser.add_argument
    add("seconds", type=float, nargs="?", default=60.0,
        help="how long, for all kinds together (default: 60)")  # fmt: skip
    add("--seed", type=int, default=0, help="other inputs (default: 0)")
    add("--only", choices=NAMES, action="append", help="only inputs of this kind")
    add("--replay", metavar="SEED:COUNT",
        help="make COUNT inputs again, from SEED on, of the kind that --only names")  # fmt: skip
    add("--list", type=int, default=3, help="how many failures of one sort to print (default: 3)")
    chosen = parser.parse_args(arguments)
    if chosen.replay and not (chosen.only and len(chosen.only) == 1):
        parser.error("--replay needs --only NAME")
    if not 0 < chosen.seconds < 1e9:
        parser.error(f"seconds must be positive and finite, got {chosen.seconds}")
    if chosen.replay and not all(part.isdigit() for part in chosen.replay.split(":")):
        parser.error(f"--replay takes two whole numbers, SEED:COUNT, got {chosen.replay}")
    return chosen


def teller(name, most):
    """Prints failures as they happen, not more than a few of each kind."""
    told = Counter()

    def tell(seed, failure):
        told[failure.signature] += 1
        if told[failure.signature] <= most:
            text = failure.text.replace("\n", "\n    ")
            print(
                f"FAILURE {name}: {failure.signature}\n    {text}\n"
                f"    python -m safe.fuzz --only {name} --replay {seed}:1",
                flush=True,
            )

    return tell


def main(arguments=None):
    """Run the generators one after the other; returns 1 if anything failed."""
    chosen = parsed(arguments)
    names = chosen.only or NAMES
    first, count, each = chosen.seed * STRIDE, None, chosen.seconds / len(names)
    if chosen.replay:
        first, count = (int(part) for part in f"{chosen.replay}:1".split(":")[:2])
        each = 1e9
    else:
        print(f"{', '.join(names)}: {chosen.seconds:g} s in all, seed {chosen.seed}", flush=True)
    ledgers, seconds, interrupted = {}, {}, False
    try:
        for name in names:
            began, ledgers[name], seconds[name] = time.monotonic(), Ledger(), 0.0
            tell = teller(name, chosen.list)
            hunt(name, generator(name), first, count=count, seconds=each, on_failure=tell,
                 total=ledgers[name])  # fmt: skip
            seconds[name] = time.monotonic() - began
    except KeyboardInterrupt:
        interrupted = True
        seconds[name] = time.monotonic() - began
    print(table(ledgers, seconds), LEGEND, sep="\n")
    for name, ledger in ledgers.items():
        for signature, times in ledger.signatures().most_common():
            print(f"  {name}: {times:>6} x {signature}")
    failed = any(ledger.failures for ledger in ledgers.values())
    inputs = sum(ledger.inputs for ledger in ledgers.values())
    print(f"{'interrupted after ' if interrupted else ''}{inputs} inputs: "
          f"{'FAILURES, see above' if failed else 'no failures'}")  # fmt: skip
    return 1 if failed or not inputs else 130 if interrupted else 0
