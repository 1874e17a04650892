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
from safe.fuzz.disguises import in_disguise
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
HOLDING_OBJECTS = ("loss", "rule", "schedule", "engine", "average")


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
    """A rule, schedule, form, average or loss with an odd parameter, or its class, in any place."""
    kind = OBJECTS[random.integers(len(OBJECTS))]
    if random.random() < 0.1:
        return kind
    names = sorted(kind().get_params())
    odd = {str(random.choice(names)): odd_value(random)} if names else {}
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
            if not may_be(defaults[name], value):
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
    """Something to pass as y, weights, an order, classes, or a number."""
    n = len(y)
    if name == "y":
        return odd_targets(y, random)
    if name == "sample_weight":
        choices = [
            np.ones(n), np.zeros(n), np.full(n, 1e308), np.full(n, 5e-324), -np.ones(n),
            np.ones(n - 1), np.ones((n, 1)), np.ones((n, 2)), 2.0, 0, -1.0, np.nan, np.inf, 10**400,
            "balanced", ["a"] * n, [None] * n, [1j] * n, np.ones(n, dtype=complex),
            np.ones(n, bool), np.ones(n, np.int8), np.ones(n, np.float16), np.array(1.0), [],
            np.where(np.arange(n) % 3, 1.0, np.nan), np.array([10**400] * n, dtype=object), {}, b"",
            np.ones(n, np.longdouble) * np.longdouble("1e4000"),
        ]  # fmt: skip
        chosen = choices[random.integers(len(choices))]
        if isinstance(chosen, np.ndarray) and random.random() < 0.3:
            return in_disguise(chosen, random)
        return chosen
    if name == "sample_order":
        choices = [
            np.arange(n), np.arange(n)[::-1], np.arange(n - 1), [], [n], [-1], [2**63], [0.5],
            [np.nan], ["a"], None, 3, np.arange(n).astype(np.uint8), np.arange(n).astype(np.uint64),
            np.arange(n).astype(">i8"), np.tile(np.arange(n), (2, 1)), np.zeros((1, 1, 1), int),
            [[0], [1, 2]], [True, False], np.arange(n).astype(object), "order", {}, [2**64],
            np.zeros((0, 3), int), np.zeros((3, 0), int), range(n), [10**400],
        ]  # fmt: skip
        return choices[random.integers(len(choices))]
    if name == "classes":
        choices = [
            [0, 1], [0, 1, 2], [0], [], None, "ab", ["a", "b"], [0.5, 1], [np.nan, 1], [None, 1],
            [[0, 1], [2, 3]], 3, {0, 1}, [0, 1, 1], np.array([0, 1], dtype=object), [1j, 2], [b"a"],
            [0, "a"], range(3), {0: 1}, [np.inf, 0, 1], [10**400, 0, 1],
        ]  # fmt: skip
        return choices[random.integers(len(choices))]
    if name in ("coef_init", "intercept_init"):
        d = 7
        choices = [
            np.zeros((1, d)), np.ones((1, d)), np.ones(d), np.ones((3, d)), np.ones((2, d)),
            np.ones((d, 1)), np.ones(d - 1), np.ones((1, 1, d)), np.full((1, d), np.nan),
            np.full(d, np.inf), np.full(d, 1e300), np.ones((1, d), complex), np.ones((1, d), "f2"),
            np.ones((1, d), np.int8), np.ones((1, d), bool), np.array([["a"] * d]), "zeros", 0, 1.0,
            None, [], [[]], [[1.0] * d], [0.5], [0.5, 0.5, 0.5], [np.nan], [None], [10**400], {},
            sparse.csr_matrix(np.ones((1, d))), sparse.csc_array(np.ones((3, d))),
            sparse.coo_matrix((1, d - 1)), np.longdouble("1e4000"), object(),
            np.array([10**400] * d, dtype=object),
        ]  # fmt: skip
        chosen = choices[random.integers(len(choices))]
        if isinstance(chosen, np.ndarray) and random.random() < 0.3:
            return in_disguise(chosen, random)
        return chosen
    if name == "callback":
        choices = [None, lambda epoch: None, lambda epoch: True, lambda epoch: epoch.coef.sum() > 0,
                   lambda epoch: epoch.intercept, print, 3, "callback", [], object(), {}, True,
                   lambda epoch: np.zeros(0)]  # fmt: skip
        return choices[random.integers(len(choices))]
    return odd_value(random)


def odd_targets(y: NDArray[Any], random: np.random.Generator) -> Any:
    """Something to pass as y."""
    n = len(y)
    classes = np.arange(n) % 2
    choices = [
        classes, classes.astype(bool), classes.astype(str), classes.astype("S1"),
        classes.astype(object), classes.astype(np.int8), classes.astype(np.uint64),
        classes.astype(np.float16), classes.astype(np.longdouble), classes.astype(complex),
        classes * 1j, classes + 0.5, np.where(classes, "yes", "no"),
        np.where(classes, "yes", None), np.array([None] * n), classes.astype(float) * np.nan,
        classes.astype(float) * np.inf, classes * 1e308, classes * 2**62, y[:-1], [],
        np.append(y, y[0]), y[:, None], np.stack([classes, classes], axis=1),
        np.zeros((n, 0)), np.zeros(n), None, 3, "y", {}, y.tolist(), tuple(y.tolist()), set(y),
        [10**400] * n, [10**30 * each for each in range(n)], [[0]] * n, [0, "a"] * (n // 2),
        np.array([0, "a"] * (n // 2), dtype=object), classes.astype("M8[s]"),
        classes.astype("m8[s]"), [object()] * n, np.ma.masked_array(classes, mask=classes > 0),
        [b"a", b"b"] * (n // 2), [1.0, np.nan] * (n // 2), np.arange(n), np.arange(n) / 7,
        classes.astype(">i4"), classes.astype(float).astype(">f8"), range(n),
        [float(each) for each in range(n)], np.full(n, 1e200) * (-1.0) ** np.arange(n),
        np.full(n, 5e-324) * classes, -0.0 * classes, ["", "a"] * (n // 2),
        ["\x00", "a"] * (n // 2),
    ]  # fmt: skip
    chosen = choices[random.integers(len(choices))]
    if isinstance(chosen, np.ndarray) and random.random() < 0.2:
        return in_disguise(chosen, random)
    return chosen


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
    indices = [
        [], [0], [0, 0], [2, 0], [-1, 2], [0, 5], [0.0, 1.0], ["a", "b"], [0, 2**63], [0, 2**64],
        np.array([0, 2], np.int8), np.array([0, 2], np.uint64), np.array([0, 2], ">i4"), None, 3,
        [[0, 2]], [True, False], np.array([0, 2], dtype=object), [0, None], range(2), {},
    ]  # fmt: skip
    values = [
        [], [1.0], [np.nan, 1.0], [1e308, 1e308], [1e200, 1.0], [5e-324, 1], ["a", "b"], ["1", "2"],
        [1j, 0], [None, 1], [10**400, 1], np.array([1, 2], np.int8), np.array([1, 2], np.float16),
        np.array([1, 2], np.longdouble) * np.longdouble("1e4000"), np.array([1, 2], ">f8"),
        np.array([1, 2], dtype=object), [True, False], [[1.0, 2.0]], None, 3, {}, [[1], [2]],
    ]  # fmt: skip
    which = int(random.integers(5))
    if which == 0:
        given[0] = indices[random.integers(len(indices))]
    elif which == 1:
        given[1] = values[random.integers(len(values))]
    elif which < 4:
        given[which] = odd_value(random)
    for place in (0, 1):
        if isinstance(given[place], np.ndarray) and random.random() < 0.3:
            given[place] = in_disguise(given[place], random)
    return given
