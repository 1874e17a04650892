"""Every function, class and method of the kernels, called directly with something amiss.

Arrays lie in fences, so that reading or writing one entry beyond them kills the child.
"""

import contextlib
import inspect
import warnings

import numpy as np

from safe.fuzz.disguises import ODD_INTEGERS, ODD_REALS, another_array, fenced
from safe.fuzz.hunt import stopped_after
from safe.fuzz.offered import CLASSES, FUNCTIONS, KINDS, WIDE_KINDS
from safe.fuzz.oracle import judged, note
from safe.fuzz.recipes import Parts, call, names_held, recipe, run_outputs

NAMES = sorted(FUNCTIONS)
NO_NUMBERS = [None, "x", 1j, [], {}, object(), b"", np.zeros(2), np.nan, 1.5, 10**400]
#: Classes by the names of the arguments that hold them in a run over several outputs.
HELD = {"OutputBlock": "block", "OutputTargets": "targets"}
#: Methods of a working set, out of order; those that are refused change nothing.
OUT_OF_ORDER = [
    ("descend", 1e-9), ("refresh",), ("model", 0.0), ("descend", 1e-9), ("search",), ("search",),
    ("objective",),
]  # fmt: skip


def generate(random, ledger):
    """One function, sound arguments, and some of them replaced."""
    name = NAMES[random.integers(len(NAMES))]
    fence, front = random.random() < 0.8, bool(random.random() < 0.3)
    parts = Parts(random, (lambda array: fenced(array, front=front)) if fence else np.array)
    parts.hostile = bool(random.random() < 0.3)
    try:
        given = recipe(name, parts)
    except (ValueError, OverflowError):
        # An object that the function needs is refused: the same parts without the bad number.
        parts.hostile = False
        given = recipe(name, parts)
    words = ["data", "indices", "indptr", "step", "row", "examples", "steps", "task",
             "average", "l1", "features", "name", "start", "line", "model", *given,
             *names_held(given)]  # fmt: skip
    how = []
    for _ in range(random.choice([0, 1, 1, 1, 2]) if given else 0):
        key = str(random.choice(list(given)))
        given[key], change = another(given[key], given, parts, same_kind=key == "self")
        how.append(f"{key} {change}")
    # What is held cannot be told from the arguments: the object is spoiled, and used again.
    if random.random() < 0.15:
        how.append(spoil_what_is_held(given, random))
    with warnings.catch_warnings(), stopped_after(5.0):
        warnings.simplefilter("ignore")
        judged(
            ledger,
            f"{name} with {', '.join(how) or 'sound arguments'}",
            lambda: call(name, given),
            words=words,
            # Python's own words for numbers that no C integer holds, and for bytes.
            accepted=(
                OverflowError,
                BufferError,
                *([IndexError] if name == "steps.Steps.row" else []),
            ),
            # NaN in, NaN out: a kernel computes with the numbers that it is given.
            finite=False,
        )
        use_again(given, f"{name}, {', '.join(how)}", random)


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
    choice = int(random.choice([0, 2, 3] if same_kind else [0, 1, 2, 3, 4]))
    if choice == 0:
        with contextlib.suppress(TypeError):
            return kind.__new__(kind), "made by __new__ alone"
        return old, "that cannot be made by __new__ alone"
    if choice == 1:
        other = list(CLASSES)[random.integers(len(CLASSES))]
        return parts.made(other), f"a {other.__name__}"
    if choice == 2:
        parts.resize(12)
        return parts.made(kind), "of other sizes"
    if choice == 3:
        # A second time, with smaller parts, and perhaps with parts that are refused.
        parts.resize(4)
        again = parts.arguments_of(kind)
        if again and random.random() < 0.5:
            again[str(random.choice(list(again)))] = None
        note(f"{kind.__name__}.__init__ a second time")
        try:
            old.__init__(**again)
        except (TypeError, ValueError, AttributeError):
            return old, "made a second time, in vain"
        return old, "made a second time"
    return [None, 3, "x", kind][random.integers(4)], "no object"


def spoil_what_is_held(given, random):
    """Make an object anew around plain arrays, and change their length behind its back."""
    keys = [key for key, value in given.items() if type(value) in CLASSES]
    if not keys:
        return "nothing held"
    key = str(random.choice(keys))
    kind = type(given[key])
    arrays = Parts(random, np.array).arguments_of(kind)
    names = [name for name, value in arrays.items() if isinstance(value, np.ndarray)]
    if not names:
        return "nothing held"
    given[key] = kind(**arrays)
    name, size = str(random.choice(names)), int(random.choice([0, 1, 10**6]))
    try:
        arrays[name].resize((size, *arrays[name].shape[1:]), refcheck=False)
    except ValueError:
        return f"{key}.{name} that could not be resized"
    return f"{key}.{name} resized to {size}"


def use_again(given, how, random):
    """Touch whatever the call may have left in a bad state."""
    for value in given.values():
        kind = type(value).__name__
        note(f"{kind} used once more after {how}")
        with contextlib.suppress(TypeError, ValueError, AttributeError):
            if kind == "Examples":
                value.first_defect()
                value.squared_norms()
            elif kind == "Steps":
                len(value)
            elif kind == "WorkingSet":
                for method, *arguments in OUT_OF_ORDER:
                    with contextlib.suppress(ValueError):
                        getattr(value, method)(*arguments)
            elif kind in HELD:
                use_outputs(value, kind, Parts(random, np.array))


def use_outputs(held, kind, parts):
    """Run the kernel once with this block or these targets."""
    if kind == "OutputBlock":
        held.at_level(parts.below(-1, 4))
        parts.d, parts.n_outputs = held.n_features, held.width
        parts.narrow = held.width % 16 == 0
    elif kind == "OutputTargets":
        parts.n, parts.n_outputs = held.n_rows, min(held.n_outputs, 100)
    run_outputs(parts, held.kind if kind == "OutputBlock" else "clock", **{HELD[kind]: held})


def without_recipe():
    """What the kernels offer and nobody has said how its arguments are drawn."""
    missing = []
    for name, function in FUNCTIONS.items():
        try:
            given = {*recipe(name, Parts(np.random.default_rng(0)))}
        except KeyError:
            given = None
        takes = given if inspect.isclass(function) else {*inspect.signature(function).parameters}
        if given is None or given != takes:
            missing.append(name)
    return missing
