"""Every function, class and method of the kernels, called directly with something amiss.

Arrays lie in fences, so that reading or writing one entry beyond them kills the child.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lazynet.kernels.averages import Average
from lazynet.kernels.batches import Batches, Merger
from lazynet.kernels.examples import Examples, Steps, Task
from lazynet.kernels.newton import WorkingSet
from lazynet.kernels.outputs import Block, OwnSteps, Targets
from lazynet.kernels.released import Listed
from lazynet.kernels.stabilised import Records
from safe.fuzz import outputs
from safe.fuzz.alarm import stopped_after
from safe.fuzz.disguises import ODD_INTEGERS, ODD_REALS, another_array, fenced
from safe.fuzz.ledger import Ledger
from safe.fuzz.note import note
from safe.fuzz.oracle import judged
from safe.fuzz.recipes import FUNCTIONS, KINDS, RECIPES, Arguments, Parts, call, names_held

NAMES = sorted(FUNCTIONS)
#: How each class is made anew from sound parts.
PARTS_OF: dict[type, Callable[[Parts], Arguments]] = {
    Examples: Parts.csr,
    Steps: Parts.schedule,
    Batches: Parts.batch_schedule,
    Merger: lambda parts: {},
    Task: Parts.task_numbers,
    Average: Parts.past,
    Records: Parts.record_arrays,
    Listed: Parts.list_arrays,
    WorkingSet: Parts.columns,
    Targets: outputs.targets,
    OwnSteps: outputs.own_steps,
    Block: outputs.block,
}
NO_NUMBERS: list[Any] = [None, "x", 1j, [], {}, object(), b"", np.zeros(2), np.nan, 1.5, 10**400]


def generate(random: np.random.Generator, ledger: Ledger) -> None:
    """One function, sound arguments, and some of them replaced."""
    name = NAMES[random.integers(len(NAMES))]
    fence = random.random() < 0.8
    front = bool(random.random() < 0.3)
    parts = Parts(random, (lambda array: fenced(array, front=front)) if fence else np.array)
    parts.hostile = bool(random.random() < 0.3)
    try:
        given = RECIPES[name](parts)
    except (ValueError, OverflowError):
        # An object that the function needs is refused: the same parts without the bad number.
        parts.hostile = False
        given = RECIPES[name](parts)
    words = ["data", "indices", "indptr", "step", "row", "records", "examples", "steps", "task",
             "average", "l1", "features", "name", "start", "line", "model", *given]  # fmt: skip
    # Numbers among the settings and fields have names of their own.
    words += names_held(given)
    how = []
    for _ in range(random.choice([0, 1, 1, 1, 2]) if given else 0):
        key = str(random.choice(list(given)))
        how.append(replace(given, key, parts))
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
                *([IndexError] if name in ("examples.Steps.row", "batches.Batches.row") else []),
            ),
            # NaN in, NaN out: a kernel computes with the numbers that it is given.
            finite=False,
        )
        use_again(given, f"{name}, {', '.join(how)}", random)


def replace(given: Arguments, key: str, parts: Parts) -> str:
    """Put something else in place of an argument; returns words that tell what."""
    old = given[key]
    if isinstance(old, np.ndarray):
        given[key], how = another_array(old, given, parts.random)
    elif type(old) in PARTS_OF:
        given[key], how = another_object(old, parts, same_kind=key == "self")
    else:
        given[key], how = another_number(old, parts.random)
    return f"{key} {how}"


def another_number(old: Any, random: np.random.Generator) -> tuple[Any, str]:
    """Something else in place of a number or of the name of a kind."""
    if isinstance(old, str) and random.random() < 0.5:
        kinds = sorted({*KINDS, *outputs.KINDS})
        new = kinds[random.integers(len(kinds))]
    elif random.random() < 0.3:
        new = NO_NUMBERS[random.integers(len(NO_NUMBERS))]
    elif isinstance(old, float):
        new = ODD_REALS[random.integers(len(ODD_REALS))]
    else:
        new = ODD_INTEGERS[random.integers(len(ODD_INTEGERS))]
    return new, f"= {new!r:.30}"


def another_object(old: Any, parts: Parts, same_kind: bool) -> tuple[Any, str]:
    """Something else in place of an object of the kernels."""
    random, kind = parts.random, type(old)
    choice = int(random.choice([0, 2, 3] if same_kind else [0, 1, 2, 3, 4]))
    if choice == 0:
        try:
            return kind.__new__(kind), "made by __new__ alone"
        except TypeError:
            return old, "that cannot be made by __new__ alone"
    if choice == 1:
        other = list(PARTS_OF)[random.integers(len(PARTS_OF))]
        return other(**PARTS_OF[other](parts)), f"a {other.__name__}"
    if choice == 2:
        parts.n, parts.d, parts.k = (int(n) for n in random.integers(1, 12, size=3))
        parts.n_outputs, parts.narrow = int(random.integers(1, 40)), bool(random.integers(2))
        return kind(**PARTS_OF[kind](parts)), "of other sizes"
    if choice == 3:
        # A second time, with smaller parts, and perhaps with parts that are refused.
        parts.n, parts.d, parts.k = (int(n) for n in random.integers(1, 4, size=3))
        again = PARTS_OF[kind](parts)
        if again and random.random() < 0.5:
            key = str(random.choice(list(again)))
            again[key] = None
        note(f"{kind.__name__}.__init__ a second time")
        try:
            old.__init__(**again)
        except (TypeError, ValueError, AttributeError):
            return old, "made a second time, in vain"
        return old, "made a second time"
    return [None, 3, "x", kind][random.integers(4)], "no object"


def spoil_what_is_held(given: Arguments, random: np.random.Generator) -> str:
    """Make an object anew around plain arrays, and change their length behind its back."""
    keys = [key for key, value in given.items() if type(value) in PARTS_OF]
    if not keys:
        return "nothing held"
    key = str(random.choice(keys))
    kind = type(given[key])
    # Large ones give their memory back at once, and reading it is seen.
    parts = Parts(random, np.array)
    if kind is Records:
        arrays = parts.record_arrays(int(random.choice([50, 200_000])))
    else:
        arrays = PARTS_OF[kind](parts)
    names = [name for name, value in arrays.items() if isinstance(value, np.ndarray)]
    if not names:
        return "nothing held"
    given[key] = kind(**arrays)
    name = str(random.choice(names))
    size = int(random.choice([0, 1, 10**6]))
    try:
        arrays[name].resize((size, *arrays[name].shape[1:]), refcheck=False)
    except ValueError:
        return f"{key}.{name} that could not be resized"
    return f"{key}.{name} resized to {size}"


def use_again(given: Arguments, how: str, random: np.random.Generator) -> None:
    """Touch whatever the call may have left in a bad state."""
    for value in given.values():
        note(f"{type(value).__name__} used once more after {how}")
        try:
            if isinstance(value, Examples):
                value.first_defect()
                value.squared_norms()
            elif isinstance(value, (Steps, Batches)):
                len(value)
            elif isinstance(value, Records):
                value.clear()
                repr(value.features)
            elif isinstance(value, Listed):
                repr(value.features)
            elif isinstance(value, WorkingSet):
                use_columns(value, len(value))
            else:
                outputs.use(value, Parts(random, np.array))
        except (TypeError, ValueError, AttributeError):
            continue


def use_columns(columns: WorkingSet, size: int) -> None:
    """Call the methods of a working set out of order; those that are refused change nothing."""
    for method, arguments in (
        (columns.descend, (1e-9,)),
        (columns.place, (size + 1,)),
        (columns.pick, (0,)),
        (columns.place, (size,)),
        (columns.refresh, ()),
        (columns.model, (0.0,)),
        (columns.descend, (1e-9,)),
        (columns.search, ()),
        (columns.search, ()),
        (columns.objective, ()),
    ):
        with contextlib.suppress(ValueError):
            method(*arguments)


def without_recipe() -> list[str]:
    """What the kernels offer and nobody has written a recipe for."""
    return sorted(set(FUNCTIONS) - set(RECIPES))


def arguments_differ() -> list[str]:
    """Functions whose recipe does not give the arguments that they take."""
    found = []
    for name, function in FUNCTIONS.items():
        given = list(RECIPES[name](Parts(np.random.default_rng(0))))
        if not inspect.isclass(function) and given and not takes(function, given):
            found.append(name)
    return found


def takes(function: Callable[..., Any], given: list[str]) -> bool:
    """Whether a function has exactly these arguments."""
    return set(inspect.signature(function).parameters) == set(given)
