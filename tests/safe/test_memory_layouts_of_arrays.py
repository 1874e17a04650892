"""Every array argument gives the same bits in any memory layout, or an error that names it.

Arguments are found by looking at the signatures, so that a new one is tested when it is born.
"""

import copy
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from support.models import (
    ESTIMATORS,
    arguments_of,
    called,
    good_arguments,
    made,
    methods_over_rows,
)
from support.portrait import differences, portrait

from lazynet import Stepper
from lazynet.data.arrays import csr_around
from safe.fuzz.disguises import DISGUISES

ROWS, COLUMNS = 12, 7
#: Arguments of methods that are not arrays.
NO_ARRAYS = {"max_rows", "epochs", "callback", "k", "checkpoint", "every"}


def sparse_rows():
    """Rows, none of them empty, of values that float32 holds."""
    random = np.random.default_rng(0)
    dense = random.integers(-8, 8, (ROWS, COLUMNS)) / 8
    dense[random.random(dense.shape) < 0.4] = 0.0
    dense[:, 0] = 1.0
    return sparse.csr_matrix(dense)


#: For each method that takes rows, the arrays that it takes.
CASES = [
    pytest.param(kind, method, array, id=f"{kind.__name__}.{method}-{array}")
    for kind in ESTIMATORS
    for method in methods_over_rows(kind())
    for array in ("X", "X.data", "X.indices", "X.indptr", *arguments_of(kind(), method))
    if array not in NO_ARRAYS
]


@cache
def trained(Estimator):
    """A model that predicts; nobody may change it."""
    y = good_arguments(Estimator, (ROWS, COLUMNS))["y"]
    return made(Estimator, max_iter=1).fit(sparse_rows(), y)


def outcome(Estimator, method, X, given):
    """What a method of a fresh (or, to predict, a trained) estimator comes to."""
    fresh = "fit" in method or method == "verify"
    model = made(Estimator, max_iter=1) if fresh else copy.deepcopy(trained(Estimator))
    result = called(model, method, X, **given)
    if "fit" in method:
        decide = getattr(model, "decision_function", model.predict)
        result = [model.coef_, model.intercept_, decide(sparse_rows())]
    return portrait(result)


@pytest.mark.parametrize(("Estimator", "method", "array"), CASES)
def test_arrays_of_estimators(Estimator, method, array):
    """An array that lies oddly in memory gives the same result, and is left as it was."""
    good = good_arguments(Estimator, (ROWS, COLUMNS))
    assert array[0] == "X" or array in good, "no good array is known for this argument"
    X = sparse_rows().toarray() if array == "X" else sparse_rows()
    expected = outcome(Estimator, method, X, good)
    for change in DISGUISES.values():
        other, given = X, good
        if array == "X":
            watched = changed = other = change(X)
        elif array.startswith("X."):
            name, watched = (
                array.partition(".")[2],
                csr_around(X.shape, X.data, X.indices, X.indptr),
            )
            changed, other = change(getattr(X, name)), watched
            setattr(other, name, changed)
        else:
            watched = changed = change(good[array])
            given = {**good, array: changed}
        held = portrait(np.array(changed)), copy.deepcopy(portrait(watched))
        assert differences(expected, outcome(Estimator, method, other, given)) == [], change
        assert (portrait(np.array(changed)), portrait(watched)) == held, change


@pytest.mark.parametrize("argument", ["indices", "values"])
def test_arrays_of_the_stepper(argument):
    """An example whose arrays lie oddly in memory gives the same result, and stays as it was."""
    found = []
    for change in (np.array, *DISGUISES.values()):
        stepper = Stepper(5, l1=0.01, l2=0.01, fit_intercept=True)
        stepper.step([0, 3], [1.0, 2.0], 1.0)
        given = {"indices": np.array([0, 2, 3]), "values": np.array([1.0, -0.5, 2.0])}
        given[argument] = change(given[argument])
        held = portrait(given[argument])
        results = stepper.predict(**given), stepper.step(**given, target=-1.0)
        assert portrait(given[argument]) == held, change
        found.append(portrait([*results, stepper.weights, stepper.intercept]))
    assert found == found[:1] * len(found)
