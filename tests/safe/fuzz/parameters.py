"""Parameters and targets that are right, at the border, or junk."""

from __future__ import annotations

import inspect
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet import Stepper
from safe.fuzz.alarm import stopped_after
from safe.fuzz.disguises import another_array
from safe.fuzz.ledger import Ledger
from safe.fuzz.models import (
    ESTIMATORS,
    OBJECTS,
    WORDS_OF_OBJECTS,
    arguments_of,
    called,
    made,
    methods_over_rows,
    rows_and_targets,
    sound_parameters,
    words_for,
    working_parameters,
)
from safe.fuzz.oracle import judged
from safe.fuzz.portrait import portrait

BORDERS: list[Any] = [
    -1, 0, 1, 2, -0.0, 0.0, 1.0, 0.5, 5e-324, 1e-300, 1e-9, 1e9, 1e16, 1e150, 1e300, -1e-300, -5.0,
    2**31 - 1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400, -(10**400),
    np.int8(100), np.uint8(200), np.int8(-1), np.int16(30000), np.uint16(3), np.int32(2**31 - 1),
    np.uint64(2**63), np.float16(0.1), np.float16(60000), np.float32(0.1), np.longdouble("0.1"),
    np.longdouble("1e4000"), np.float64(1e308), True, False, np.True_, np.False_,
    Fraction(1, 3), Fraction(10) ** 400, np.array(1), np.array(0.5),
]  # fmt: skip
JUNK: list[Any] = [
    None, np.nan, np.inf, -np.inf, "no", "", "clock", "fobos", np.str_("clock"), b"x", 1j,
    np.complex128(1), Decimal("0.1"), Decimal("NaN"), [], [1], [0.1, 0.2], (), {}, {"a": 1}, set(),
    object(), np.array([1, 2]), np.array([]), np.array(["a"]), np.datetime64("2020-01-01"),
    np.timedelta64(1, "s"), Ellipsis, NotImplemented, int, len, lambda t: 0.1, lambda t: np.nan,
    lambda t: None, lambda t: -1.0, lambda: 1, range(3), slice(None), np.random.RandomState(0),
    np.random.default_rng(0), Exception("x"), float("1e-400"), [np.inf], "\x00", "1",
]  # fmt: skip


#: Parameters that may be given as objects.
HOLDING_OBJECTS = ("loss", "rule", "schedule", "storage", "average")


def generate(random: np.random.Generator, ledger: Ledger) -> None:
    """An estimator or a stepper, a few parameters, perhaps odd targets and weights."""
    if random.random() < 0.2:
        return stepper(random, ledger)
    return estimator(random, ledger)


def odd_value(random: np.random.Generator) -> Any:
    """Something that is seldom right."""
    pool = BORDERS if random.random() < 0.6 else JUNK
    return pool[random.integers(len(pool))]


def odd_object(random: np.random.Generator) -> Any:
    """An object with an odd parameter, which may be such an object too; or the object's class."""
    kind = OBJECTS[random.integers(len(OBJECTS))]
    if random.random() < 0.1:
        return kind
    names = sorted(kind().get_params())
    odd: dict[str, Any] = {}
    if names:
        name = str(random.choice(names))
        nested = name in HOLDING_OBJECTS and random.random() < 0.3
        odd[name] = odd_object(random) if nested else odd_value(random)
    if random.random() < 0.3:
        return kind().set_params(**odd)
    return kind(**odd)


def changed_parameters(known: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """A few parameters, right or odd; most of the time a single odd one."""
    chosen = sound_parameters(known, random, int(random.choice([0, 0, 0, 2, 4])))
    for _ in range(int(random.choice([0, 1, 1, 1, 2]))):
        names = sorted(set(known) - {"verbose"})
        name = str(random.choice(names))
        if random.random() < (0.7 if name in HOLDING_OBJECTS else 0.02):
            chosen[name] = odd_object(random)
        else:
            chosen[name] = odd_value(random)
    if random.random() < 0.02 and "verbose" in known:
        chosen["verbose"] = odd_value(random)
    if random.random() < 0.05 and "class_weight" in known:
        weights = [{0: 1.0}, {0: -1.0, 1: 1}, {0: np.nan}, {"a": 1}, {5: 2.0}, {0: 1e308, 1: 1e308},
                   {0: "x"}, {0: None}, {0: 10**400}, {0: 0.0, 1: 0.0}]  # fmt: skip
        chosen["class_weight"] = weights[random.integers(len(weights))]
    return chosen


def estimator(random: np.random.Generator, ledger: Ledger) -> None:
    """One call of an estimator, or two."""
    Estimator = ESTIMATORS[random.integers(len(ESTIMATORS))]
    model = made(Estimator, **(working_parameters(Estimator, random) if random.random() < 0.7
                               else {}))  # fmt: skip
    X, y = rows_and_targets(Estimator, random, classes=int(random.choice([2, 3])))
    # Of the sound targets, whatever is passed as y.
    options: dict[str, Any] = {"classes": np.unique(y)}
    words = words_for(model)
    with stopped_after(3.0):
        fitted = random.random() < 0.4 and fit_quietly(model, X, y)
    known = model.get_params(deep=False)
    odd = changed_parameters(known, random) if random.random() < 0.7 else {}
    model.set_params(**odd)
    given = {name: (value, portrait(value)) for name, value in odd.items()}
    methods = [name for name in methods_over_rows(model) if "fit" in name or name == "verify"]
    if fitted:
        methods.append("score")
    method = str(random.choice(methods))
    takes = arguments_of(model, method)
    told = [f"{name}={value!r:.40}" for name, value in odd.items()]
    if not odd or random.random() < 0.3:
        for name in takes:
            if random.random() < 0.4:
                options[name] = odd_argument(name, y, random)
                told.append(f"{name}={options[name]!r:.60}")
    target = options.pop("y", y)
    large = [value for value in [*odd.values(), *options.values()] if is_large(value)]
    with stopped_after(1.0):
        result = judged(
            ledger,
            f"{type(model).__name__}.{method} with {', '.join(told)}",
            lambda: called(model, method, X, target, **options),
            words=words,
            model=model,
            needs_memory=bool(large),
            # Of scores scikit-learn says when they are NaN.
            finite=method != "score",
            accepted=(OverflowError,) if method == "score" else (),
        )
        for name, (value, before) in given.items():
            # Who draws from a generator of numbers moves it on.
            kept = isinstance(value, np.random.RandomState) or portrait(value) == before
            if getattr(model, name) is not value or not kept:
                ledger.fail(
                    f"{method} changed what was passed as {name}",
                    f"{type(model).__name__}.{method} changed {name} to {value!r:.100}",
                )
        if result is None or method == "score":
            return
        defaults = type(model)().get_params()
        for name, value in odd.items():
            # A grid of penalties is a number of them, or a sequence.
            grid = name in ("l1s", "l2s") and isinstance(value, (np.ndarray, list, tuple, range))
            if not (grid or may_be(defaults[name], value)):
                ledger.fail(
                    f"{name} takes {type(value).__name__}",
                    f"{type(model).__name__}.{method} took {name}={value!r} without a word",
                )
        if method in ("fit", "partial_fit"):
            judged(ledger, f"{type(model).__name__}.predict after {method}",
                   lambda: model.predict(X), words=words, model=model)  # fmt: skip


def fit_quietly(model: Any, X: Any, y: Any) -> bool:
    """Whether it could be trained."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except (ValueError, FloatingPointError):
            return False
    return True


def is_large(value: Any) -> bool:
    """Whether a number asks for more memory than there may be."""
    return (
        isinstance(value, (int, np.integer))
        and not isinstance(value, (bool, np.bool_))
        and value >= 2**20
    )


def may_be(default: Any, value: Any) -> bool:
    """Whether a value is of the kind of a parameter with this default, where that can be told."""
    if isinstance(default, (bool, np.bool_)):
        # "average" takes more than truth.
        return not isinstance(value, (complex, bytes, list, dict, Decimal, float))
    if isinstance(default, (int, float)):
        # A number, or None where it is the same as some number.
        return value is None or (isinstance(value, (Real, np.bool_)) and np.ndim(value) == 0)
    return True


def odd_argument(name: str, y: NDArray[Any], random: np.random.Generator) -> Any:
    """Something to pass as y, weights, an order, classes, a start, a callback, or a number."""
    n, d = len(y), 7
    if name == "y":
        return odd_targets(y, random)
    if name == "callback":
        choices: list[Any] = [
            None, lambda epoch: None, lambda epoch: True, lambda epoch: epoch.coef.sum() > 0,
            lambda epoch: epoch.intercept, print, 3, "callback", [], object(), {}, True,
            lambda epoch: np.zeros(0),
        ]  # fmt: skip
        return choices[random.integers(len(choices))]
    starts = [np.zeros((1, d)), np.ones((3, d)), np.ones(d), sparse.csr_matrix(np.ones((1, d))),
              sparse.csc_array(np.ones((3, d))), sparse.coo_matrix((1, d - 1))]  # fmt: skip
    sound: dict[str, list[Any]] = {
        "sample_weight": [np.ones(n), np.zeros(n), np.full(n, 1e308), np.full(n, 5e-324), 2.0, 0],
        "sample_order": [np.arange(n), np.arange(n)[::-1], np.arange(n - 1), range(n),
                         np.tile(np.arange(n), (2, 1)), [[0], [1, 2]], [2**63], [2**64]],
        "classes": [np.arange(2), np.arange(3), np.array(["a", "b"]), np.array([0, 1, 1]), "ab",
                    [0.5, 1], [np.nan, 1], [None, 1], {0, 1}, [b"a"], [0, "a"], range(3)],
        "coef_init": starts,
        "intercept_init": [np.zeros(1), np.ones(3), [0.5], [np.nan], *starts],
    }  # fmt: skip
    if name not in sound or random.random() < 0.2:
        return odd_value(random)
    chosen = sound[name][random.integers(len(sound[name]))]
    if isinstance(chosen, np.ndarray) and random.random() < 0.7:
        return another_array(chosen, {"y": y}, random)[0]
    return chosen


def odd_targets(y: NDArray[Any], random: np.random.Generator) -> Any:
    """Something to pass as y."""
    n = len(y)
    classes = np.arange(n) % 2
    choices: list[Any] = [
        classes, y, classes + 0.5, classes * 1e308, classes * 2**62, -0.0 * classes, np.arange(n),
        np.where(classes, "yes", "no"), np.where(classes, "yes", None), np.arange(n) / 7,
        np.full(n, 1e200) * (-1.0) ** np.arange(n), np.full(n, 5e-324) * classes,
        np.stack([classes, classes], axis=1), classes.astype("M8[s]"), classes.astype("S1"),
        np.append(y, y[0]), np.ma.masked_array(classes, mask=classes > 0), tuple(y.tolist()),
        set(y), [10**400] * n, [10**30 * each for each in range(n)], [0, "a"] * (n // 2),
        [object()] * n, [b"a", b"b"] * (n // 2), ["", "a"] * (n // 2), ["\x00", "a"] * (n // 2),
    ]  # fmt: skip
    chosen = choices[random.integers(len(choices))]
    if type(chosen) is np.ndarray and random.random() < 0.6:
        return (
            another_array(chosen, {"y": classes}, random)[0]
            if chosen.dtype.kind in "fiu"
            else chosen
        )
    return odd_value(random) if random.random() < 0.1 else chosen


def stepper(random: np.random.Generator, ledger: Ledger) -> None:
    """A stepper with odd parameters, or odd examples."""
    known = {
        name: argument.default
        for name, argument in inspect.signature(Stepper).parameters.items()
        if name not in ("n_features", "wear")
    }
    words = [*known, *WORDS_OF_OBJECTS, "n_features", "wear", "indices", "values", "target",
             "weight", "row", "j", "X", "eta"]  # fmt: skip
    odd = changed_parameters(known, random) if random.random() < 0.6 else {}
    d: Any = 5 if random.random() < 0.9 else odd_value(random)
    told = ", ".join(f"{name}={value!r:.40}" for name, value in odd.items())
    large = is_large(d) or any(is_large(value) for value in odd.values())
    with stopped_after(1.0):
        model = judged(
            ledger, f"Stepper({d!r:.40}, {told})", lambda: Stepper(d, **odd), words=words,
            needs_memory=large,
        )  # fmt: skip
        if model is None or large:
            return
        for name, value in odd.items():
            if not may_be(known[name], value):
                ledger.fail(f"Stepper: {name} takes {type(value).__name__}",
                            f"Stepper took {name}={value!r} without a word")  # fmt: skip
        for _ in range(3):
            given = odd_example(random)
            method = str(random.choice(["step", "step", "predict", "weight", "step_row"]))
            calls = {
                "step": lambda given=given: model.step(*given),
                "predict": lambda given=given: model.predict(*given[:2]),
                "weight": lambda: model.weight(odd_value(random)),
                "step_row": lambda: model.step_row(
                    rows_and_targets(ESTIMATORS[0], random, d=5)[0], odd_value(random), 1.0
                ),
            }
            judged(
                ledger,
                f"Stepper({told}).{method} with {given!r:.120}",
                calls[method],
                words=words,
                model=model,
                accepted=(IndexError,) if method in ("weight", "step_row") else (),
            )


def odd_example(random: np.random.Generator) -> list[Any]:
    """Indices, values, target and weight of a step, one of them odd in most cases."""
    given: list[Any] = [np.array([0, 2]), np.array([1.0, -0.5]), 1.0, 1.0]
    which = int(random.integers(5))
    indices: list[Any] = [
        [],
        [0, 0],
        [2, 0],
        [0, 5],
        ["a", "b"],
        [0, 2**64],
        [True, False],
        [0, None],
    ]
    values: list[Any] = [[], [1e308, 1e308], [1e200, 1.0], ["1", "2"], [10**400, 1], [[1], [2]]]
    if which < 2 and random.random() < 0.6:
        given[which] = another_array(given[which], {"other": given[1 - which]}, random)[0]
    elif which < 2:
        some = (indices, values)[which]
        given[which] = some[random.integers(len(some))]
    elif which < 4:
        given[which] = odd_value(random)
    return given
