"""Random matrices, changes of models and calls of kernels: a right result or a clean error.

A clean error is a ValueError, TypeError or FloatingPointError that names the argument and leaves
the model as it was.  Anything else is a failure: the first of each kind is printed with the command
that makes it happen again, and the exit code is 1.
"""

import argparse
import secrets
import sys

from safe.fuzz import changes, kernels, matrices
from safe.fuzz.hunt import hunt

#: The functions that make and judge an input of a kind.
GENERATORS = {each.__name__.rpartition(".")[2]: each.generate
              for each in (matrices, changes, kernels)}  # fmt: skip
#: Inputs of one seed of a run lie so far apart from those of the next.
STRIDE = 10**8


def main(arguments=None):
    """Run the generators one after the other; returns 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m safe.fuzz", description=__doc__)
    add = parser.add_argument
    add("seconds", type=float, nargs="?", default=60.0,
        help="how long, for all kinds together (default: 60)")  # fmt: skip
    add("--seed", type=int, default=secrets.randbelow(10**6),
        help="inputs of an earlier run (default: others in every run)")  # fmt: skip
    add("--only", choices=GENERATORS, help="only inputs of this kind")
    add("--replay", type=int, metavar="INPUT",
        help="make this input again, of the kind that --only names")  # fmt: skip
    chosen = parser.parse_args(arguments)
    if chosen.replay is not None and chosen.only is None:
        parser.error("--replay needs --only NAME")
    if chosen.replay is None:
        print(f"seed {chosen.seed}: --seed {chosen.seed} makes the same inputs again", flush=True)
    names, failed = [chosen.only] if chosen.only else [*GENERATORS], False
    span = dict(seconds=chosen.seconds / len(names)) if chosen.replay is None else dict(count=1)
    for name in names:
        first = chosen.seed * STRIDE if chosen.replay is None else chosen.replay
        found = hunt(name, GENERATORS[name], first, **span)
        firsts = {signature: (seed, text) for seed, signature, text in reversed(found.failures)}
        for signature, (seed, text) in firsts.items():
            print(f"FAILURE {name}: {signature}\n{text}\n"
                  f"    python -m safe.fuzz --only {name} --replay {seed}")  # fmt: skip
        errors = ", ".join(f"{kind} {n}" for kind, n in sorted(found.refused.items()))
        print(f"{name}: {found.inputs} inputs; {found.finite} calls with a finite result, "
              f"{len(found.failures)} failures; clean errors: {errors or 'none'}")  # fmt: skip
        failed |= bool(found.failures) or not found.inputs
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
