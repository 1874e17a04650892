"""The estimators, found by looking, and parameters and data that suit them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from support.algorithms import some_values

import lazynet
from lazynet import (
    Adaptive,
    Clock,
    Constant,
    Dense,
    EpsilonInsensitive,
    FromStep,
    Huber,
    InverseSqrt,
    InverseTime,
    Optimal,
    Pegasos,
    PolynomialDecay,
    Power,
    Rescaled,
    SquaredEpsilonInsensitive,
    Suffix,
    Tables,
)
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.losses import LOSSES
from lazynet.parameters import ParameterObject
from lazynet.rules.storage import STORAGES

_PUBLIC = [
    public for public in (getattr(lazynet, name) for name in lazynet.__all__)
    if inspect.isclass(public) and issubclass(public, BaseEstimator)
]  # fmt: skip
#: Every public estimator.
ESTIMATORS: list[type[Any]] = [kind for kind in _PUBLIC if not issubclass(kind, ParameterObject)]
#: Every public object that carries the parameters of a rule, a schedule, a storage or a loss.
OBJECTS: list[type[Any]] = [kind for kind in _PUBLIC if issubclass(kind, ParameterObject)]

#: What keeps a call short, for the estimators that have such a parameter.
SHORT = dict(max_iter=2, tol=None, random_state=0, burst_size=5, n_paths=2, l1s=3, cv=2)


def short_options(Estimator: type[Any]) -> dict[str, Any]:
    """What keeps its calls short, without a tol of None if its tol must be a number."""
    tol = Estimator._kinds.get("tol")
    return {key: v for key, v in SHORT.items() if key != "tol" or tol is None or tol.optional}


def made(Estimator: type[Any], **options: Any) -> Any:
    """An estimator whose calls are short; options that it does not have are left out."""
    model = Estimator()
    known = model.get_params()
    options = {**short_options(Estimator), **options}
    return model.set_params(**{name: options[name] for name in options if name in known})


def methods_over_rows(model: Any) -> list[str]:
    """Names of the public methods whose first argument is X, those that train first."""
    found = []
    for name in dir(type(model)):
        if name.startswith("_") or not hasattr(model, name):
            continue
        method = getattr(model, name)
        if not callable(method):
            continue
        try:
            arguments = list(inspect.signature(method).parameters)
        except (TypeError, ValueError):
            continue
        if arguments[:1] == ["X"]:
            found.append(name)
    return sorted(found, key=lambda name: ("fit" not in name, name))


def arguments_of(model: Any, method: str) -> list[str]:
    """The arguments of a method besides X."""
    return list(inspect.signature(getattr(model, method)).parameters)[1:]


def words_for(model: Any) -> list[str]:
    """What an error may name: parameters, and arguments of methods."""
    words = {"X", "y", "indices", "indptr", "row", "eta", *model.get_params(), *WORDS_OF_OBJECTS}
    for name in methods_over_rows(model):
        words.update(arguments_of(model, name))
    return sorted(words)


#: The parameters of the small objects.
WORDS_OF_OBJECTS = sorted({name for kind in OBJECTS for name in kind().get_params()})


def rows_and_targets(
    Estimator: type[Any], random: np.random.Generator, n: int = 12, d: int = 7, classes: int = 2
) -> tuple[sparse.csr_matrix, NDArray[Any]]:
    """A few sparse rows, and targets that suit the estimator; folds need some of every class."""
    if "cv" in Estimator().get_params():
        n = max(n, 12)
    values = np.where(random.random((n, d)) < 0.4, random.standard_normal((n, d)), 0.0)
    X = sparse.csr_matrix(values)
    if is_classifier(Estimator()):
        return X, np.arange(n) % classes
    return X, random.standard_normal(n)


def called(model: Any, method: str, X: Any, y: Any, **options: Any) -> Any:
    """Call a method with those of the arguments that it takes."""
    takes = arguments_of(model, method)
    given = {"y": y, "k": 1, **options}
    if "classes" in takes and "classes" not in given and not hasattr(model, "classes_"):
        given["classes"] = np.unique(y)
    return getattr(model, method)(X, **{name: given[name] for name in takes if name in given})


#: Draws a value.
Draw = Callable[[np.random.Generator], Any]


def _one(*values: Any) -> Draw:
    return lambda random: values[random.integers(len(values))]


#: Schedules and storages, and values that their parameters may have.
SCHEDULES_GIVEN: list[tuple[Callable[..., Any], dict[str, Draw]]] = [
    (Constant, {"eta0": _one(None, 0.1)}),
    (InverseTime, {"eta0": _one(None, 0.1)}),
    (InverseSqrt, {"eta0": _one(None, 0.1)}),
    (Power, {"eta0": _one(None, 0.5), "power_t": _one(0.0, 0.25, 0.5, 1.0)}),
    (Pegasos, {"l2": _one(None, 0.1), "t0": _one(1.5, 2.0)}),
    (Optimal, {"l2": _one(None, 0.1), "t0": _one(None, 2.0)}),
    (Adaptive, {"eta0": _one(None, 0.1), "divisor": _one(2.0), "least": _one(0.05)}),
    (lambda: lambda t: 0.1 / (t + 1), {}),
]
STORAGES_GIVEN: list[tuple[Callable[..., Any], dict[str, Draw]]] = [
    (Clock, {}),
    (Tables, {"budget": _one(1, 3, 50, 2**20)}),
    (Rescaled, {}),
    (Dense, {"predictions": _one(True, False)}),
]


def an_object(
    random: np.random.Generator, kinds: list[tuple[Callable[..., Any], dict[str, Draw]]]
) -> Any:
    """One of these objects, with values for at most three of its parameters."""
    kind, values = kinds[random.integers(len(kinds))]
    names = random.permutation(sorted(values))[: random.integers(4)]
    return kind(**{str(name): values[str(name)](random) for name in names})


_NAMED_SCHEDULE = _one(
    "auto", "constant", "power", "inverse_sqrt", "inverse_time", "pegasos", "optimal", "adaptive"
)
#: Values that parameters of several rules may have.
OF_RULES: dict[str, Draw] = {
    "schedule": lambda random: (_NAMED_SCHEDULE(random) if random.random() < 0.5
                                else an_object(random, SCHEDULES_GIVEN)),
    "eta0": _one(None, None, 1e-3, 0.1, 1.0, 10.0),
    "average": _one(False, False, True, 3, "polynomial", "suffix", PolynomialDecay(1), FromStep(2),
                    Suffix()),
    "storage": lambda random: (str(random.choice(list(STORAGES))) if random.random() < 0.5
                               else an_object(random, STORAGES_GIVEN)),
    "batch_size": _one(1, 1, 2, 7, 1000),
}  # fmt: skip
#: Rules, each once for every parameter, and values that the parameters may have.
RULES: list[tuple[Callable[..., Any], dict[str, Draw]]] = [
    (row.rule, {key: OF_RULES.get(key) or _one(*some_values(name, key)) for key in row.rule._kinds})
    for name, row in ALGORITHMS.items()
    for _ in row.rule._kinds
]

#: Values that each parameter may have; not all go together.
SOUND: dict[str, Draw] = {
    **OF_RULES,
    "loss": _one(*LOSSES, Huber(0.5), EpsilonInsensitive(0.0), EpsilonInsensitive(0.2),
                 SquaredEpsilonInsensitive(0.2)),
    "l1": _one(0.0, 0.0, 1e-6, 1e-3, 0.1, 2.0),
    "l2": _one(0.0, 0.0, 1e-6, 1e-3, 0.1, 2.0),
    "rule": lambda random: (str(random.choice(list(ALGORITHMS))) if random.random() < 0.4
                            else an_object(random, RULES)),
    "max_iter": _one(1, 2, 5),
    "tol": _one(None, None, 0.0, 1e-3),
    "n_iter_no_change": _one(1, 3),
    "fit_intercept": _one(True, False),
    "shuffle": _one(True, False),
    "random_state": _one(0, 1, 2**31),
    "class_weight": _one(None, None, "balanced"),
    "warm_start": _one(True, False),
    "early_stopping": _one(True, False),
    "validation_fraction": _one(0.1, 0.5),
    "verbose": _one(0),
    "center": _one(True, False),
    "replace": _one(True, False),
    "n_paths": _one(1, 2, 3),
    "burst_size": _one(1, 4, 20),
    "bursts_per_stage": _one(1, 3),
    "rejection_rate": _one(0.0, 0.3, 0.9),
    "annealing": _one(-9.0, 0.0, 5.0),
    "stability": _one(0.0, 0.7, 1.0),
    "theta": _one(0.1, 0.5, 0.9),
    "min_informed": _one(1, 3),
    "gravity": _one("universal", "informative"),
    "n_jobs": _one(None, 1, 2),
}  # fmt: skip


def sound_parameters(
    parameters: dict[str, Any], random: np.random.Generator, changes: int
) -> dict[str, Any]:
    """New values for some of these parameters, each one that it may have."""
    names = sorted(set(parameters) & set(SOUND))
    if "tol" in names and "n_iter_no_change" not in parameters:
        names.remove("tol")  # it must be a number
    chosen = random.choice(names, size=min(changes, len(names)), replace=False)
    return {str(name): SOUND[str(name)](random) for name in chosen}


def needs_the_length(rule: Any) -> bool:
    """Whether ``partial_fit`` refuses the average of a rule: it does not know the last step."""
    average = getattr(rule, "average", None)
    return isinstance(average, Suffix) or (isinstance(average, str) and average == "suffix")


def working_parameters(Estimator: type[Any], random: np.random.Generator) -> dict[str, Any]:
    """Parameters that go together: what is refused is drawn again, in part."""
    known = Estimator().get_params()
    for _ in range(100):
        options = {
            **short_options(Estimator),
            **sound_parameters(known, random, int(random.integers(1, 8))),
        }
        if "rule" in known and random.random() < 0.7:
            options["rule"] = SOUND["rule"](random)
        model = made(Estimator, **options)
        try:
            getattr(model, "_read_settings", model._settle)()
        except (ValueError, TypeError):
            continue
        return model.get_params(deep=False)
    return made(Estimator).get_params(deep=False)
