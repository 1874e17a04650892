"""Parameters and targets that are right, at the border, or junk."""

from decimal import Decimal
from fractions import Fraction
from numbers import Real

import numpy as np
from scipy import sparse

from lazynet import Stepper
from safe.fuzz.disguises import another_array
from safe.fuzz.models import (
    ESTIMATORS,
    OBJECTS,
    WORDS_OF_OBJECTS,
    arguments_of,
    called,
    defaults_of,
    made,
    methods_over_rows,
    rows_and_targets,
    sound_parameters,
    words_for,
    working_parameters,
)
from safe.fuzz.oracle import judged, listening
from safe.fuzz.portrait import portrait
from safe.fuzz.worker import stopped_after

BORDERS = [
    -1, 0, 1, 2, -0.0, 0.0, 1.0, 0.5, 5e-324, 1e-300, 1e-9, 1e9, 1e16, 1e150, 1e300, -1e-300, -5.0,
    2**31 - 1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400, -(10**400),
    np.int8(100), np.uint8(200), np.int8(-1), np.int16(30000), np.uint16(3), np.int32(2**31 - 1),
    np.uint64(2**63), np.float16(0.1), np.float16(60000), np.float32(0.1), np.longdouble("0.1"),
    np.longdouble("1e4000"), np.float64(1e308), True, False, np.True_, np.False_,
    Fraction(1, 3), Fraction(10) ** 400, np.array(1), np.array(0.5),
]  # fmt: skip
JUNK = [
    None, np.nan, np.inf, -np.inf, "no", "", "clock", "fobos", np.str_("clock"), b"x", 1j,
    np.complex128(1), Decimal("0.1"), Decimal("NaN"), [], [1], [0.1, 0.2], (), {}, {"a": 1}, set(),
    object(), np.array([1, 2]), np.array([]), np.array(["a"]), np.datetime64("2020-01-01"),
    np.timedelta64(1, "s"), Ellipsis, NotImplemented, int, len, lambda t: 0.1, lambda t: np.nan,
    lambda t: None, lambda t: -1.0, lambda: 1, range(3), slice(None), np.random.RandomState(0),
    np.random.default_rng(0), Exception("x"), float("1e-400"), [np.inf], "\x00", "1",
]  # fmt: skip
WEIGHTS_OF_CLASSES = [
    {0: 1.0}, {0: -1.0, 1: 1}, {0: np.nan}, {"a": 1}, {5: 2.0}, {0: 1e308, 1: 1e308}, {0: "x"},
    {0: None}, {0: 10**400}, {0: 0.0, 1: 0.0},
]  # fmt: skip
#: Parameters that may be given as objects.
HOLDING_OBJECTS = ("loss", "rule", "schedule", "storage", "average")


def generate(random, ledger):
    """An estimator or a stepper, a few parameters, perhaps odd targets and weights."""
    return (stepper if random.random() < 0.2 else estimator)(random, ledger)


def one_of(values, random):
    return values[random.integers(len(values))]


def odd_value(random):
    """Something that is seldom right."""
    return one_of(BORDERS if random.random() < 0.6 else JUNK, random)


def odd_object(random):
    """An object with an odd parameter, which may be such an object too; or the object's class."""
    kind = one_of(OBJECTS, random)
    if random.random() < 0.1:
        return kind
    names = sorted(kind._kinds)
    odd = {name: odd_parameter(name, random, 0.3) for name in random.permutation(names)[:1]}
    return kind().set_params(**odd) if random.random() < 0.3 else kind(**odd)


def odd_parameter(name, random, share):
    """An odd value, or where objects are taken an odd object."""
    objects = share if name in HOLDING_OBJECTS else 0.02
    return odd_object(random) if random.random() < objects else odd_value(random)


def odd_parameters(owner, random):
    """A few parameters, right or odd; most of the time a single odd one."""
    chosen = sound_parameters(owner, random, int(random.choice([0, 0, 0, 2, 4])))
    known = set(defaults_of(owner)) - ({"verbose"} if random.random() < 0.98 else set())
    for name in random.permutation(sorted(known - {"wear"}))[: random.choice([0, 1, 1, 1, 2])]:
        chosen[str(name)] = odd_parameter(name, random, 0.7)
    if random.random() < 0.05 and "class_weight" in known:
        chosen["class_weight"] = one_of(WEIGHTS_OF_CLASSES, random)
    return chosen


def told(values):
    return ", ".join(f"{name}={value!r:.60}" for name, value in values.items())


def estimator(random, ledger):
    """One call of an estimator, or two."""
    Estimator = one_of(ESTIMATORS, random)
    working = working_parameters(Estimator, random) if random.random() < 0.7 else {}
    model, words = made(Estimator, **working), words_for(Estimator())
    X, y = rows_and_targets(Estimator, random, classes=int(random.choice([2, 3])))
    with stopped_after(3.0):
        fitted = random.random() < 0.4 and fits_quietly(model, X, y)
    odd = odd_parameters(Estimator, random) if random.random() < 0.7 else {}
    model.set_params(**odd)
    before = {name: portrait(value) for name, value in odd.items()}
    methods = [name for name in methods_over_rows(model) if "fit" in name or name == "verify"]
    method = str(random.choice([*methods, *(["score"] if fitted else [])]))
    strange = {}
    if not odd or random.random() < 0.3:
        takes = [name for name in arguments_of(model, method) if random.random() < 0.4]
        strange = {name: odd_argument(name, y, random) for name in takes}
    # Of the sound targets, whatever is passed as y.
    options = {"classes": np.unique(y), **strange}
    with stopped_after(1.0):
        result = judged(
            ledger,
            f"{type(model).__name__}.{method} with {told({**odd, **strange})}",
            lambda: called(model, method, X, options.pop("y", y), **options),
            words=words,
            model=model,
            needs_memory=any(map(is_large, [*odd.values(), *strange.values()])),
            # Of scores scikit-learn says when they are NaN.
            finite=method != "score",
            accepted=(OverflowError,) if method == "score" else (),
        )
        for name, value in odd.items():
            # Who draws from a generator of numbers moves it on.
            kept = isinstance(value, np.random.RandomState) or portrait(value) == before[name]
            if getattr(model, name) is not value or not kept:
                ledger.fail(
                    f"{method} changed what was passed as {name}",
                    f"{type(model).__name__}.{method} changed {name} to {value!r:.100}",
                )
        if result is None or method == "score":
            return
        check_taken(ledger, f"{type(model).__name__}.{method}", Estimator, odd)
        if method in ("fit", "partial_fit"):
            judged(ledger, f"{type(model).__name__}.predict after {method}",
                   lambda: model.predict(X), words=words, model=model)  # fmt: skip


def fits_quietly(model, X, y):
    """Whether it can be trained."""
    with listening():
        try:
            model.fit(X, y)
        except (ValueError, FloatingPointError):
            return False
    return True


def is_large(value):
    """Whether a number asks for more memory than there may be."""
    is_flag = isinstance(value, (bool, np.bool_))
    return isinstance(value, (int, np.integer)) and not is_flag and value >= 2**20


def check_taken(ledger, what, owner, odd):
    """Values that were taken must be of the kind of the default, where that can be told."""
    for name, value in odd.items():
        default = defaults_of(owner)[name]
        if isinstance(default, (bool, np.bool_)):
            # "average" takes more than truth.
            right = not isinstance(value, (complex, bytes, list, dict, Decimal, float))
        elif name in ("l1s", "l2s") and isinstance(value, (np.ndarray, list, tuple, range)):
            right = True  # a grid of penalties is a number of them, or a sequence
        elif isinstance(default, (int, float)):
            # A number, or None where it is the same as some number.
            real = isinstance(value, (Real, np.bool_)) and np.ndim(value) == 0
            right = value is None or real
        else:
            right = True
        if not right:
            ledger.fail(
                f"{name} takes {type(value).__name__}", f"{what} took {name}={value!r} silently"
            )


def odd_argument(name, y, random):
    """Something to pass as y, weights, an order, classes, a start, a callback, or a number."""
    n, d = len(y), 7
    classes = np.arange(n) % 2
    starts = [np.zeros((1, d)), np.ones((3, d)), np.ones(d), sparse.csr_matrix(np.ones((1, d))),
              sparse.csc_array(np.ones((3, d))), sparse.coo_matrix((1, d - 1))]  # fmt: skip
    pools = {
        "y": [
            classes, y, classes + 0.5, classes * 1e308, classes * 2**62, -0.0 * classes,
            np.arange(n), np.where(classes, "yes", "no"), np.where(classes, "yes", None),
            np.arange(n) / 7, np.full(n, 1e200) * (-1.0) ** np.arange(n),
            np.full(n, 5e-324) * classes, np.stack([classes, classes], axis=1),
            classes.astype("M8[s]"), classes.astype("S1"), np.append(y, y[0]),
            np.ma.masked_array(classes, mask=classes > 0), tuple(y.tolist()), set(y),
            [10**400] * n, [10**30 * each for each in range(n)], [0, "a"] * (n // 2),
            [object()] * n, [b"a", b"b"] * (n // 2), ["", "a"] * (n // 2), ["\x00", "a"] * (n // 2),
        ],
        "callback": [
            None, lambda epoch: None, lambda epoch: True, lambda epoch: epoch.coef.sum() > 0,
            lambda epoch: epoch.intercept, print, 3, "callback", [], object(), {}, True,
            lambda epoch: np.zeros(0),
        ],
        "sample_weight": [np.ones(n), np.zeros(n), np.full(n, 1e308), np.full(n, 5e-324), 2.0, 0],
        "sample_order": [np.arange(n), np.arange(n)[::-1], np.arange(n - 1), range(n),
                         np.tile(np.arange(n), (2, 1)), [[0], [1, 2]], [2**63], [2**64]],
        "classes": [np.arange(2), np.arange(3), np.array(["a", "b"]), np.array([0, 1, 1]), "ab",
                    [0.5, 1], [np.nan, 1], [None, 1], {0, 1}, [b"a"], [0, "a"], range(3)],
        "coef_init": starts,
        "intercept_init": [np.zeros(1), np.ones(3), [0.5], [np.nan], *starts],
    }  # fmt: skip
    if name not in pools or (name != "callback" and random.random() < 0.15):
        return odd_value(random)
    chosen = one_of(pools[name], random)
    if type(chosen) is np.ndarray and chosen.dtype.kind in "fiu" and random.random() < 0.65:
        return another_array(chosen, {"y": classes}, random)[0]
    return chosen


def stepper(random, ledger):
    """A stepper with odd parameters, or odd examples."""
    words = [*defaults_of(Stepper), *WORDS_OF_OBJECTS, "n_features", "indices", "values", "target",
             "weight", "row", "j", "X", "eta"]  # fmt: skip
    odd = odd_parameters(Stepper, random) if random.random() < 0.6 else {}
    d = odd_value(random) if random.random() < 0.1 else 5
    odd.pop("n_features", None)
    large = any(map(is_large, [d, *odd.values()]))
    with stopped_after(1.0):
        model = judged(
            ledger, f"Stepper({d!r:.40}, {told(odd)})", lambda: Stepper(d, **odd), words=words,
            needs_memory=large,
        )  # fmt: skip
        if model is None or large:
            return
        check_taken(ledger, "Stepper", Stepper, odd)
        for _ in range(3):
            given = odd_example(random)
            rows, _ = rows_and_targets(ESTIMATORS[0], random, d=5)
            method, arguments = one_of(
                [("step", given), ("step", given), ("predict", given[:2]),
                 ("weight", [odd_value(random)]), ("step_row", [rows, odd_value(random), 1.0])],
                random,
            )  # fmt: skip
            judged(
                ledger,
                f"Stepper({told(odd)}).{method} with {arguments!r:.120}",
                lambda method=method, arguments=arguments: getattr(model, method)(*arguments),
                words=words,
                model=model,
                accepted=(IndexError,) if method in ("weight", "step_row") else (),
            )


def odd_example(random):
    """Indices, values, target and weight of a step, one of them odd in most cases."""
    given = [np.array([0, 2]), np.array([1.0, -0.5]), 1.0, 1.0]
    odd = (
        [[], [0, 0], [2, 0], [0, 5], ["a", "b"], [0, 2**64], [True, False], [0, None]],
        [[], [1e308, 1e308], [1e200, 1.0], ["1", "2"], [10**400, 1], [[1], [2]]],
    )
    which = int(random.integers(5))
    if which < 2 and random.random() < 0.6:
        given[which] = another_array(given[which], {"other": given[1 - which]}, random)[0]
    elif which < 2:
        given[which] = one_of(odd[which], random)
    elif which < 4:
        given[which] = odd_value(random)
    return given
