"""Every array argument gives the same bits in any memory layout, or an error that names it.

Arguments are found by looking at the signatures, so that a new one is tested when it is born.
"""

import copy

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
from safe.fuzz.disguises import DISGUISES

ROWS, COLUMNS = 12, 7
EVERY_DISGUISE = pytest.mark.parametrize("disguise", DISGUISES)
#: Arguments of methods that are not arrays.
NO_ARRAYS = {"max_rows", "epochs", "callback", "k", "checkpoint", "every"}


def sparse_rows():
    """Rows, none of them empty, of values that float32 holds."""
    random = np.random.default_rng(0)
    dense = random.integers(-8, 8, (ROWS, COLUMNS)) / 8
    dense[random.random(dense.shape) < 0.4] = 0.0
    dense[:, 0] = 1.0
    return sparse.csr_matrix(dense)


#: (estimator, method) for each method that takes rows, and the arrays that it takes.
METHODS = [(kind, method) for kind in ESTIMATORS for method in methods_over_rows(kind())]
CASES = [
    pytest.param(kind, method, array, id=f"{kind.__name__}.{method}-{array}")
    for kind, method in METHODS
    for array in ("X", "X.data", "X.indices", "X.indptr", *arguments_of(kind(), method))
    if array not in NO_ARRAYS
]


def with_array(X, name, array):
    """The CSR matrix with one of its three arrays replaced, as it is."""
    other = sparse.csr_matrix(X.shape, dtype=X.dtype)
    other.data, other.indices, other.indptr = X.data, X.indices, X.indptr
    setattr(other, name.partition(".")[2], array)
    return other


def outcome(Estimator, method, X, given):
    """What a method of a fresh (or, to predict, a trained) estimator comes to."""
    model = made(Estimator, max_iter=1)
    if "fit" not in method and method != "verify":
        model.fit(sparse_rows(), good_arguments(Estimator, (ROWS, COLUMNS))["y"])
    result = called(model, method, X, **given)
    if "fit" in method:
        decide = getattr(model, "decision_function", model.predict)
        result = [model.coef_, model.intercept_, decide(sparse_rows())]
    return portrait(result)


@EVERY_DISGUISE
@pytest.mark.parametrize(("Estimator", "method", "array"), CASES)
def test_arrays_of_estimators(Estimator, method, array, disguise):
    """An array that lies oddly in memory gives the same result, and is left as it was."""
    good, change = good_arguments(Estimator, (ROWS, COLUMNS)), DISGUISES[disguise]
    assert array[0] == "X" or array in good, "no good array is known for this argument"
    X = sparse_rows().toarray() if array == "X" else sparse_rows()
    other, given = X, good
    if array == "X":
        watched = changed = other = change(X)
    elif array.startswith("X."):
        changed = change(getattr(X, array.partition(".")[2]))
        watched = other = with_array(X, array, changed)
    else:
        watched = changed = change(good[array])
        given = {**good, array: changed}
    expected = outcome(Estimator, method, X, good)
    held = portrait(np.array(changed)), copy.deepcopy(portrait(watched))
    assert differences(expected, outcome(Estimator, method, other, given)) == []
    assert (portrait(np.array(changed)), portrait(watched)) == held


@EVERY_DISGUISE
@pytest.mark.parametrize("argument", ["indices", "values"])
@pytest.mark.parametrize("method", ["step", "predict"])
def test_arrays_of_the_stepper(method, argument, disguise):
    """An example whose arrays lie oddly in memory gives the same result, and stays as it was."""
    found = []
    for change in (np.array, DISGUISES[disguise]):
        stepper = Stepper(5, l1=0.01, l2=0.01, fit_intercept=True)
        stepper.step([0, 3], [1.0, 2.0], 1.0)
        given = {"indices": np.array([0, 2, 3]), "values": np.array([1.0, -0.5, 2.0])}
        given[argument] = change(given[argument])
        held = portrait(given[argument])
        result = getattr(stepper, method)(**given, **({"target": -1.0} if method == "step" else {}))
        assert portrait(given[argument]) == held
        found.append(portrait([result, stepper.weights, stepper.intercept]))
    assert found[0] == found[1]
