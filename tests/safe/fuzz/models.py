"""The estimators and small objects, found by looking, and parameters and data that suit them."""

import inspect

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier

import lazynet
from lazynet import FromStep, Suffix
from lazynet.losses import LOSSES
from lazynet.parameters import (
    ParameterObject,
    check_choice,
    check_flag,
    check_integer,
    check_number,
)

_PUBLIC = [
    public for public in (getattr(lazynet, name) for name in lazynet.__all__)
    if inspect.isclass(public) and issubclass(public, BaseEstimator)
]  # fmt: skip
#: Every public estimator.
ESTIMATORS = [kind for kind in _PUBLIC if not issubclass(kind, ParameterObject)]
#: Every public object that carries the parameters of a rule, a schedule, a storage or a loss.
OBJECTS = [kind for kind in _PUBLIC if issubclass(kind, ParameterObject)]
#: The parameters of the small objects.
WORDS_OF_OBJECTS = sorted({name for kind in OBJECTS for name in kind._kinds})

#: What keeps a call short, for the estimators that have such a parameter.
SHORT = dict(max_iter=2, tol=None, random_state=0, burst_size=5, n_paths=2, l1s=3, cv=2)


def short_options(Estimator):
    """What keeps its calls short, without a tol of None if its tol must be a number."""
    kinds = Estimator._kinds
    return {
        key: value
        for key, value in SHORT.items()
        if key in kinds and (value is not None or kinds[key].optional)
    }


def made(Estimator, **options):
    """An estimator whose calls are short; options that it does not have are left out."""
    options = {**short_options(Estimator), **options}
    return Estimator(**{name: options[name] for name in options if name in Estimator._kinds})


def methods_over_rows(model):
    """Names of the public methods whose first argument is X, those that train first."""
    found = []
    for name in dir(type(model)):
        method = None if name.startswith("_") else getattr(model, name, None)
        try:
            arguments = list(inspect.signature(method).parameters) if callable(method) else []
        except (TypeError, ValueError):
            continue
        if arguments[:1] == ["X"]:
            found.append(name)
    return sorted(found, key=lambda name: ("fit" not in name, name))


def arguments_of(model, method):
    """The arguments of a method besides X."""
    return list(inspect.signature(getattr(model, method)).parameters)[1:]


def words_for(model):
    """What an error may name: parameters, and arguments of methods."""
    words = {"X", "y", "indices", "indptr", "row", "eta", *model.get_params(), *WORDS_OF_OBJECTS}
    for name in methods_over_rows(model):
        words.update(arguments_of(model, name))
    return sorted(words)


def rows_and_targets(Estimator, random, n=12, d=7, classes=2):
    """A few sparse rows, and targets that suit the estimator; folds need some of every class."""
    if "cv" in Estimator._kinds:
        n = max(n, 12)
    values = np.where(random.random((n, d)) < 0.4, random.standard_normal((n, d)), 0.0)
    y = np.arange(n) % classes if is_classifier(Estimator()) else random.standard_normal(n)
    return sparse.csr_matrix(values), y


def called(model, method, X, y, **options):
    """Call a method with those of the arguments that it takes."""
    takes = arguments_of(model, method)
    given = {"y": y, "k": 1, **options}
    if "classes" in takes and "classes" not in given and not hasattr(model, "classes_"):
        given["classes"] = np.unique(y)
    return getattr(model, method)(X, **{name: given[name] for name in takes if name in given})


#: Values of parameters whose kind does not tell them, or of which large ones take too long.
VALUES = {
    "random_state": (0, 1, 2**31), "n_jobs": (None, 1, 2), "verbose": (0,), "max_iter": (1, 2, 5),
    "n_paths": (1, 2, 3), "budget": (1, 3, 50, 2**20), "class_counts": (None, {0: 3, 1: 1}),
    "average": (False, False, True, 3, "polynomial", "suffix", FromStep(2), Suffix()),
}  # fmt: skip
NUMBERS = (0.0, 0.0, 1e-6, 1e-3, 0.1, 0.5, 0.9, 1.0, 2.0, 10.0, -9.0)


def defaults_of(owner):
    """The default of every parameter of a class."""
    parameters = inspect.signature(owner).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def values_of(owner, name):
    """Values that a parameter of a class may have; classes stand for their objects."""
    kind = owner._kinds[name]
    if name in VALUES:
        return VALUES[name]
    if kind.check is check_flag:
        values = True, False
    elif kind.check is check_choice:
        values = tuple(kind.bounds["accepted"])
    elif kind.check in (check_integer, check_number):
        numbers = (1, 1, 2, 4, 7, 20, 1000) if kind.check is check_integer else NUMBERS
        values = tuple(each for each in numbers if fits(kind, each))
    elif kind.objects:
        names = [*LOSSES] if name == "loss" else [
            each.name for each in kind.objects if getattr(each, "name", None)]  # fmt: skip
        own = (lambda t: 0.1 / (t + 1),) if name == "schedule" else ()
        values = (*names, *own, *kind.objects, *kind.objects)
    else:
        return ()
    return (*values, *([None, None] if kind.optional else []))


def fits(kind, value):
    """Whether a parameter of this kind may have this value."""
    try:
        kind.settled("", value)
    except (TypeError, ValueError):
        return False
    return True


def sound_value(owner, name, random):
    """A value that a parameter of a class may have; not all go together."""
    values = values_of(owner, name)
    chosen = values[random.integers(len(values))]
    return an_object(chosen, random) if isinstance(chosen, type) else chosen


def an_object(kind, random):
    """An object of this kind, with values for at most three of its parameters."""
    names = random.permutation(sorted(kind._kinds))[: random.integers(4)]
    return kind(**sound_values(kind, names, random))


def sound_values(owner, names, random):
    """New values for these parameters, each one that it may have."""
    return {str(each): sound_value(owner, each, random) for each in names if values_of(owner, each)}


def sound_parameters(owner, random, changes):
    """New values for some of the parameters of a class."""
    names = sorted(owner._kinds.keys() & defaults_of(owner).keys())
    return sound_values(owner, random.choice(names, min(changes, len(names)), False), random)


def needs_the_length(rule):
    """Whether ``partial_fit`` refuses the average of a rule: it does not know the last step."""
    average = getattr(rule, "average", None)
    return isinstance(average, Suffix) or (isinstance(average, str) and average == "suffix")


def usable(model):
    """Whether the parameters go together."""
    try:
        getattr(model, "_read_settings", model._settle)()
    except (ValueError, TypeError):
        return False
    return True


def working_parameters(Estimator, random):
    """Parameters that go together: what is refused is drawn again, in part."""
    for _ in range(100):
        options = sound_parameters(Estimator, random, int(random.integers(1, 8)))
        if "rule" in Estimator._kinds and random.random() < 0.7:
            options["rule"] = sound_value(Estimator, "rule", random)
        model = made(Estimator, **options)
        if usable(model):
            return model.get_params(deep=False)
    return made(Estimator).get_params(deep=False)
