"""Every function, class and method of the kernels, called directly with something amiss.

Arrays lie in fences, so that reading or writing one entry beyond them kills the child.
"""

import warnings

import numpy as np

from safe.fuzz.disguises import ODD_INTEGERS, ODD_REALS, another_array, fenced
from safe.fuzz.offered import CLASSES, FUNCTIONS, KINDS, WIDE_KINDS
from safe.fuzz.oracle import judged
from safe.fuzz.recipes import Parts, call, names_held, recipe

NAMES = sorted(FUNCTIONS)
NO_NUMBERS = [None, "x", 1j, [], {}, object(), b"", np.zeros(2), np.nan, 1.5, 10**400]
#: What errors may name besides the arguments.
WORDS = [
    "data", "indices", "indptr", "step", "row", "examples", "steps", "task", "average", "l1",
    "features", "name", "start", "line", "model", "rows",
]  # fmt: skip
#: Errors that one function alone may raise.
OWN_ERRORS = {"steps.Steps.row": [IndexError], "compact.CompactRows": [MemoryError]}


def drawn(draw, parts):
    """What ``draw`` makes; without hostile numbers where an object that it needs refuses them."""
    try:
        return draw()
    except (ValueError, OverflowError):
        parts.hostile = False
        return draw()


def generate(random, ledger):
    """One function, sound arguments, and some of them replaced."""
    name = NAMES[random.integers(len(NAMES))]
    fence, front = random.random() < 0.8, bool(random.random() < 0.3)
    parts = Parts(random, (lambda array: fenced(array, front=front)) if fence else np.array)
    parts.hostile = bool(random.random() < 0.3)
    given = drawn(lambda: recipe(name, parts), parts)
    words, how = [*WORDS, *given, *names_held(given)], []
    for _ in range(random.choice([0, 1, 1, 1, 2]) if given else 0):
        key = str(random.choice(list(given)))
        given[key], change = another(given[key], given, parts, same_kind=key == "self")
        how.append(f"{key} {change}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judged(
            ledger,
            f"{name} with {', '.join(how) or 'sound arguments'}",
            lambda: call(name, given),
            words=[*words, *names_held(given)],
            # Python's own words for numbers that no C integer holds, and for bytes.
            accepted=(OverflowError, BufferError, *OWN_ERRORS.get(name, [])),
            # NaN in, NaN out: a kernel computes with the numbers that it is given.
            finite=False,
        )


def another(old, given, parts, same_kind):
    """Something else in place of an argument, and words that tell what."""
    random = parts.random
    if isinstance(old, np.ndarray):
        return another_array(old, given, random)
    if type(old) in CLASSES:
        return another_object(old, parts, same_kind)
    if isinstance(old, str) and random.random() < 0.5:
        pool = sorted({*KINDS, *WIDE_KINDS})
    elif random.random() < 0.3:
        pool = NO_NUMBERS
    else:
        pool = ODD_REALS if isinstance(old, float) else ODD_INTEGERS
    new = pool[random.integers(len(pool))]
    return new, f"= {new!r:.30}"


def another_object(old, parts, same_kind):
    """Something else in place of an object of the kernels."""
    random, kind = parts.random, type(old)
    choice = 0 if same_kind else int(random.integers(3))
    if choice == 0:
        parts.resize(12)
        return drawn(lambda: parts.made(kind), parts), "of other sizes"
    if choice == 1:
        other = list(CLASSES)[random.integers(len(CLASSES))]
        return drawn(lambda: parts.made(other), parts), f"a {other.__name__}"
    return [None, 3, "x", kind][random.integers(4)], "no object"
