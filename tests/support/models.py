"""The estimators and small objects that lazynet exports, and calls and data that suit them."""

import inspect
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier

import lazynet
from lazynet.parameters import ParameterObject, kinds_of

_PUBLIC = [
    public for public in (getattr(lazynet, name) for name in lazynet.__all__)
    if inspect.isclass(public) and issubclass(public, BaseEstimator)
]  # fmt: skip
#: Every public estimator.
ESTIMATORS = [kind for kind in _PUBLIC if not issubclass(kind, ParameterObject)]
#: Estimators that learn from the features as passed, as steppers and references do.
RawClassifier = partial(lazynet.LazyNetClassifier, standardize=False)
RawRegressor = partial(lazynet.LazyNetRegressor, standardize=False)
#: Every public object that carries the parameters of a rule, a schedule, a storage or a loss.
OBJECTS = [kind for kind in _PUBLIC if issubclass(kind, ParameterObject)]


def place_of(kind):
    """The parameter of a model, or of its rule, that takes an object of this kind."""
    for owner, prefix in ((lazynet.LazyNetClassifier, ""), (lazynet.FoBoS, "rule__")):
        for name in ("loss", "rule", "class_weight", "schedule", "storage", "average"):
            if name in kinds_of(owner) and kind in kinds_of(owner)[name].objects:
                return prefix + name
    raise AssertionError(f"no parameter takes a {kind.__name__}")


def placed(made):
    """The option of a model that has the object ``made``."""
    outer, _, inner = place_of(type(made)).partition("__")
    return {outer: lazynet.FoBoS(**{inner: made}) if inner else made}


#: What keeps a call short, for the estimators that have such a parameter.
SHORT = dict(max_iter=2, tol=None, random_state=0, burst_size=5, n_paths=2, l1s=3, cv=2)


def short_options(Estimator):
    """What keeps its calls short, without a tol of None if its tol must be a number."""
    kinds = kinds_of(Estimator)
    return {
        key: value
        for key, value in SHORT.items()
        if key in kinds and (value is not None or kinds[key].optional)
    }


def made(Estimator, **options):
    """An estimator whose calls are short; options that it does not have are left out."""
    options = {**short_options(Estimator), **options}
    return Estimator(**{name: options[name] for name in options if name in kinds_of(Estimator)})


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


def rows_and_targets(Estimator, random, n=12, d=7, classes=2):
    """A few sparse rows, and targets that suit the estimator; folds need some of every class."""
    if "cv" in kinds_of(Estimator):
        n = max(n, 12)
    values = np.where(random.random((n, d)) < 0.4, random.standard_normal((n, d)), 0.0)
    y = np.arange(n) % classes if is_classifier(Estimator()) else random.standard_normal(n)
    return sparse.csr_matrix(values), y


def good_arguments(Estimator, shape, n_classes=3):
    """Something to pass beside X, of this shape, for every argument that a method may have."""
    (n, d), classifies = shape, is_classifier(Estimator())
    n_problems = n_classes if classifies and n_classes > 2 else 1
    labels = np.arange(n) % n_classes
    return {
        "y": labels if classifies else labels / 4 - 0.25,
        "sample_weight": 1.0 + np.arange(n) / 4,
        "groups": np.arange(n) % 4,
        "sample_order": np.arange(n)[::-1].copy(),
        "classes": np.arange(n_classes),
        "k": 2,
        "coef_init": np.linspace(-1.0, 1.0, n_problems * d).reshape(n_problems, d),
        "intercept_init": np.linspace(-0.5, 0.5, n_problems),
    }


def called(model, method, X, y, **options):
    """Call a method with those of the arguments that it takes."""
    takes = arguments_of(model, method)
    given = {"y": y, "k": 1, **options}
    if "classes" in takes and "classes" not in given and not hasattr(model, "classes_"):
        given["classes"] = np.unique(y)
    return getattr(model, method)(X, **{name: given[name] for name in takes if name in given})
