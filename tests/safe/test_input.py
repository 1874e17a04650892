"""Estimators and Stepper convert or refuse all input, and a refusal changes nothing."""

import copy
import re

import numpy as np
import pytest
from scipy import sparse
from support import peak_of, same_bits
from support.matrices import make_data, reversed_rows
from support.models import (
    ESTIMATORS,
    RawClassifier,
    RawRegressor,
    arguments_of,
    called,
    good_arguments,
    made,
    methods_over_rows,
)
from support.portrait import portrait

from lazynet import (
    SGD,
    Constant,
    DualNetClassifier,
    DualNetRegressor,
    FoBoS,
    FromArray,
    LazyNetClassifier,
    LazyNetRegressor,
    LazyNetRegressorCV,
    Stepper,
    Tables,
    net_path,
    selection_stability,
)
from lazynet.data import Chunks
from lazynet.engines.undo import Undo
from lazynet.losses import LOSSES
from lazynet.rules.storage import STORAGES

N, D = 60, 25


def retyped(X, values="f8", indices="i4", container=sparse.csr_matrix):
    """A copy of the matrix with arrays of these types; SciPy's constructor would narrow int64."""
    X = container(X, copy=True)
    X.data = X.data.astype(values)
    X.indices, X.indptr = X.indices.astype(indices), X.indptr.astype(indices)
    return X


def state_of(model):
    """All that a call may change in a fitted estimator, fit for ==, and how it would learn on."""
    X, y = make_data(d=model.n_features_in_, seed=9)
    future = copy.deepcopy(model)
    # Parameters of its own: the model's may be the bad ones.
    future.set_params(**type(model)(l1=0.01, rule=FoBoS(eta0=0.1), shuffle=False).get_params())
    return portrait([model, future.partial_fit(X, getattr(model, "classes_", np.arange(2.0))[y])])


def assert_refused(model, method, data, error, *patterns, **options):
    """The call raises an error that says all this, and the fitted estimator stays as it was."""
    before = state_of(model)
    with pytest.raises(error) as caught:
        getattr(model, method)(*data, **options)
    for pattern in patterns:
        assert pattern in str(caught.value)
    assert state_of(model) == before


METHODS = pytest.mark.parametrize("method", ["fit", "partial_fit"])
EVERY_STORAGE = pytest.mark.parametrize("storage", STORAGES)


# --- accepted ------------------------------------------------------------------------------


def trained(X, y, method="fit", **options):
    """A classifier after a few epochs, or one pass, over the rows."""
    options = dict(l1=1e-3, l2=1e-3, random_state=0, max_iter=3, tol=None, **options)
    model = LazyNetClassifier(**options)
    return model.fit(X, y) if method == "fit" else model.partial_fit(X, y, classes=np.unique(y))


def assert_same_model(left, right, X):
    """Equal coefficients and predictions, bit for bit."""
    assert same_bits(left.coef_, right.coef_)
    assert same_bits(left.intercept_, right.intercept_)
    assert same_bits(left.decision_function(X), right.decision_function(X))


#: Containers of rows, and types of numbers, which hold the values of ``make_data``.
CONTAINERS = {
    **{kind.__name__: kind for kind in (
        sparse.csr_array, sparse.csc_matrix, sparse.csc_array, sparse.coo_matrix,
        sparse.lil_matrix, sparse.dok_matrix, sparse.bsr_matrix)},
    "dense": lambda X: X.toarray(),
    "fortran": lambda X: np.asfortranarray(X.toarray()),
    "lists": lambda X: X.toarray().tolist(),
    "repeated": lambda X: sparse.coo_matrix(
        (np.tile(X.data / 2, 2), (np.tile(X.nonzero()[0], 2), np.tile(X.indices, 2)))),
    "unsorted": lambda X: reversed_rows(X.T.tocsr()).T,
    **{f"{kind} {form}": lambda X, kind=kind, form=form: getattr(X, form)().astype(kind)
       for kind in ("i8", "i1", "?", "f2") for form in ("tocsr", "toarray")},
}  # fmt: skip
del CONTAINERS["f2 tocsr"]  # SciPy has no sparse float16


@METHODS
@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.every_case
def test_every_container_and_type_gives_the_same_model(name, method):
    """Any format, dense array and type of number trains and predicts as the CSR matrix does."""
    X, y = make_data()
    if " " in name:  # counts and flags
        X.data = np.ceil(np.abs(X.data)) if name[0] != "?" else np.ones(len(X.data))
    X.eliminate_zeros()
    other = CONTAINERS[name](X)
    model, expected = trained(other, y, method), trained(X, y, method)
    # A dense product sums in an order of its own.
    assert np.allclose(model.decision_function(other), expected.decision_function(X), rtol=1e-12)
    assert_same_model(model, expected, X)


@pytest.mark.parametrize("values", ["f4", "f8"])
@pytest.mark.parametrize("indices", ["i4", "i8"])
@pytest.mark.parametrize(("arranged", "container"), [
    (copy.copy, sparse.csr_matrix), (reversed_rows, sparse.csr_array),
])  # fmt: skip
@pytest.mark.slow
def test_a_csr_matrix_is_not_copied(container, arranged, values, indices):
    """fit and predict need some numbers per row and feature, far fewer than an array of X holds.

    A fit that standardises has a copy of the values, in doubles, and none of the columns if no
    feature is full.
    """
    X, y = make_data(n=3500, d=400, density=0.45)
    X = retyped(arranged(X), values, indices, container)
    model = trained(X[:100], y[:100])  # whatever is imported or cached on first use
    expected = model.decision_function(X[:100])
    few = 0.5 * min(X.data.nbytes, X.indices.nbytes)
    for standardize, copied in ((False, 0), ("auto", 8 * X.nnz)):
        _, peak = peak_of(lambda choice=standardize: trained(X, y, standardize=choice))
        assert peak < copied + few
    found, peak = peak_of(lambda: model.decision_function(X))
    assert peak < 0.5 * X.data.nbytes or values == "f4"  # which SciPy converts
    assert same_bits(found[:100], expected)


# --- refused: data -------------------------------------------------------------------------


def with_value(value, *, dense=False):
    """The good matrix with one value replaced."""
    X, _ = make_data()
    X = X.astype(np.result_type(value, float))
    X.data[17] = value
    return X.toarray() if dense else X


def with_structure(name, place, value, indices="i4"):
    """The good matrix with an entry of its index arrays replaced."""
    X = retyped(make_data()[0], indices=indices)
    getattr(X, name)[X.indptr[5] + place if name == "indices" else place] = value
    return X


def cut(name, form="csr"):
    """The good matrix in a format, with the last entry of one of its arrays lost."""
    X = make_data()[0].asformat(form)
    setattr(X, name, getattr(X, name)[:-1])
    return X


def with_first(form, **firsts):
    """The good matrix in another format, with other values at the first places of its arrays."""
    X = make_data()[0].asformat(form)
    for name, value in firsts.items():
        getattr(X, name)[0] = value
    return X


OUTSIDE = "row 5", "outside", f"indices from 0 to {D - 1}"
BAD_MATRICES = [
    (lambda: with_value(np.nan), "Input X contains NaN or infinity, first in row"),
    (lambda: with_value(np.inf), "Input X contains NaN or infinity, first in row"),
    (lambda: with_value(np.nan).tocsc(), "Input X contains NaN"),
    (lambda: with_value(np.nan, dense=True), "Input X contains NaN"),
    (lambda: with_value(-np.inf, dense=True), "Input X contains infinity"),
    (lambda: with_structure("indices", 0, -1), *OUTSIDE),
    (lambda: with_structure("indices", 0, -1, "i8"), *OUTSIDE),
    (lambda: with_structure("indices", 1, D), *OUTSIDE),
    # 2^32 + 3 is 3 where somebody narrows it.
    (lambda: with_structure("indices", 1, 2**32 + 3, "i8"), *OUTSIDE),
    (lambda: with_structure("indptr", 3, -1), "X: row", "indptr"),
    (lambda: with_structure("indptr", N, 10**6), f"X: row {N - 1}", "indptr"),
    (lambda: with_structure("indptr", 3, 2**40, "i8"), "X: row", "indptr"),
    (lambda: cut("indptr"), "indptr", f"({N + 1}), got {N}"),
    # Formats that SciPy converts, before it follows a bad index.
    *(
        (lambda column=column: with_first("lil", rows=[column], data=[1.0]), "X")
        for column in (2**31 - 1, 2**40, -7)
    ),
    (lambda: with_first("lil", rows=[1, 2, 3], data=[1.0]), "X.rows and X.data", "equally long"),
    (lambda: with_first("csc", indices=2**31 - 1), "X"),
    (lambda: with_first("csc", indptr=2**31 - 1), "X"),
    (lambda: with_first("bsr", indices=2**31 - 1), "X"),
    # SciPy allocates 16 GB for so many blocks in a row.
    (lambda: with_first("bsr", indptr=2**31 - 1), "X: row 0", "indptr"),
    (lambda: cut("row", "coo"), "X"),
    (lambda: with_first("coo", row=N), "X"),
    (lambda: with_first("coo", col=-7), "X"),
    (lambda: sparse.csr_matrix((0, D)), "0 sample(s)", "minimum of 1"),
    (lambda: np.zeros((N, 0)), "0 feature(s)", "minimum of 1"),
    (lambda: np.zeros(N), "Expected 2D array, got 1D"),
    (lambda: np.zeros((N, D, 2)), "dim 3"),
    (lambda: np.zeros((N, D), dtype=complex), "Complex data not supported"),
    # Unsorted columns would be copied as real numbers.
    (lambda: reversed_rows(with_value(1j)), "Complex data not supported"),
    (lambda: reversed_rows(with_value(1j)).tocsc(), "Complex data not supported"),
]


#: What stands in place of y and of weights that are all 1, and what is said of it.
BAD_COMPANIONS = [
    (lambda y, s: (y[:-1], s), "inconsistent numbers of samples"),
    (lambda y, s: (np.where(np.arange(N) == 3, np.nan, y), s), "y contains NaN"),
    (lambda y, s: (np.where(np.arange(N) == 3, np.inf, y), s), "y contains infinity"),
    (lambda y, s: (None, s), "requires y"),
    (lambda y, s: (y, s * np.nan), "sample_weight must be finite and not negative", "for row 0"),
    (lambda y, s: (y, s * np.inf), "sample_weight must be finite and not negative", "for row 0"),
    (lambda y, s: (y, -s), "sample_weight must be finite", "-1.0 for row 0"),
    (lambda y, s: (y, s[:-1]), "sample_weight must hold", f"shape ({N},), got shape ({N - 1},)"),
    (lambda y, s: (y, 0 * s), "sample_weight, times class_weight, must not be zero for every row"),
    (lambda y, s: (y, 1j * s), "sample_weight must hold one real number"),
    (lambda y, s: (y, np.column_stack([s, s])), f"got shape ({N}, 2)"),
]


#: Orders of rows, and what is said of them.
BAD_ORDERS = [
    *((order, f"row numbers from 0 to {N - 1}") for order in ([0, N], [-1])),
    ([0.5], "must hold integers"), ([], "sample_order must"),
    (np.zeros((2, 2, 2), int), "one or two dimensions"),
]  # fmt: skip


@METHODS
@pytest.mark.parametrize("Estimator", [LazyNetClassifier, LazyNetRegressor])
@pytest.mark.every_case
def test_bad_matrices_targets_weights_and_orders_are_refused(Estimator, method):
    """Each is named, with its row where it has one, and the model stays as it was."""
    X, y = make_data()
    model = Estimator(l1=0.01, max_iter=2, tol=None, random_state=0).fit(X, y)
    for make_bad, *patterns in BAD_MATRICES:
        matrix = make_bad()
        assert_refused(model, method, (matrix, y[: matrix.shape[0]]), ValueError, *patterns)
    error = (TypeError, ValueError)
    for change, *patterns in BAD_COMPANIONS:
        targets, weights = change(y.astype(float), np.ones(N))
        assert_refused(model, method, (X, targets), error, *patterns, sample_weight=weights)
    for order, pattern in BAD_ORDERS:
        patterns = "sample_order", pattern
        assert_refused(model, method, (X, y), error, *patterns, sample_order=order)


def masked(values):
    """The values, the last of them masked."""
    array = np.ma.array(values, mask=False)
    array.mask.flat[-1] = True
    return array


# --- refused: the Stepper ------------------------------------------------------------------


#: Arguments of a step, and what is said of them.
BAD_EXAMPLES = [
    (([0], [1.0], 0.5), r"target must be -1 or \+1 with loss='hinge', got 0.5"),
    (([0], [1.0], np.nan), "target must be finite"),
    (([0], [1.0], 1, -1.0), "importance must be finite and not negative, got -1"),
    (([0], [1.0], 1, np.nan), "importance must be finite"),
    (([0], [np.nan], 1), "values must be finite"),
    (([0], [np.inf], 1), "values must be finite"),
    (([3, 0, 3], [1.0, 1.0, 1.0], 1), "indices must be distinct"),
    (([-1], [1.0], 1), "indices must lie between 0 and 4, got -1"),
    (([5], [1.0], 1), "indices must lie between 0 and 4, got 5"),
    (([0, 1], [1.0], 1), "equally long"),
    (([0.5], [1.0], 1), "indices must be integers"),
    (([[0]], [[1.0]], 1), "one-dimensional"),
]


#: Other places where arrays are accepted, by the name in the error.
MASKED_ELSEWHERE = {
    "indices": lambda: Stepper(3).step(masked([0, 1]), [1.0, 1.0], 1.0),
    "values": lambda: Stepper(3).predict([0, 1], masked([1.0, 1.0])),
    "schedule": lambda: LazyNetRegressor(rule=FoBoS(masked([0.1] * 99))).fit(*make_data()),
    "l1s": lambda: net_path(*make_data(), l1s=masked([0.2, 0.1])),
    "y_test": lambda: selection_stability(
        LazyNetRegressor(max_iter=1), *make_data(), make_data()[0], masked(make_data()[1])
    ),
    "cv": lambda: LazyNetRegressorCV(cv=[([0, 1], masked([2, 3]))]).fit(*make_data()),
    "X of chunk 0": lambda: Chunks([(masked(np.eye(3)), [1, 0, 1])]).facts(),
    "y of chunk 0": lambda: Chunks([(np.eye(3), masked([1, 0, 1]))]).facts(),
    "weights of chunk 0": lambda: Chunks([(np.eye(3), [1, 0, 1], masked([1.0] * 3))]).facts(),
}  # fmt: skip


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_masked_entries_are_refused(Estimator):
    """No mask is ignored, whatever method is called; a mask without masked entries is no harm."""
    X, y = make_data()
    model = made(Estimator).fit(np.ma.array(X.toarray(), mask=False), y)
    hidden, before = (X.copy(), X.tocsc(), X.tocoo()), portrait(model)
    for matrix in hidden:
        matrix.data = masked(matrix.data)
    good = good_arguments(Estimator, X.shape, n_classes=2)
    masks = {name: [masked(value)] for name, value in good.items() if name != "k"}
    masks["X"] = [masked(X.toarray()), [*map(masked, X.toarray())], *hidden]
    calls = [
        (name, lambda m=method, name=name, bad=bad: called(model, m, **{"X": X, "y": y, name: bad}))
        for method in methods_over_rows(model)
        for name in ["X", *arguments_of(model, method)]
        for bad in (masks.get(name, ()) if name == "X" or method != "score" else ())
    ]
    calls += [(name, lambda name=name: setattr(model, name, masked(getattr(model, name))))
              for name in ("coef_", "intercept_")]  # fmt: skip
    for name, call in (*calls, *MASKED_ELSEWHERE.items()):
        with pytest.raises(ValueError, match=f"{name} must not have masked entries: "):
            call()
    assert portrait(model) == before


def test_targets_that_a_classifier_cannot_have():
    """One class, fractions, unknown labels, unknown or missing classes."""
    X, y = make_data()
    fractions, words = y + 0.5 * X.sum(axis=1).A1, np.array(["a", "b"])[y]
    new = LazyNetClassifier()
    for model, method, targets, classes, *patterns in (
        (trained(X, y), "fit", np.ones(N), {}, "y must have at least two classes"),
        (trained(X, y), "fit", fractions, {}, "continuous"),
        (trained(X, y), "partial_fit", fractions, {}, "continuous"),
        (trained(X, y), "partial_fit", y + 1, {}, "[2]", "among the classes [0 1]"),
        (trained(X, y), "partial_fit", y, [0, 2], "not the same as on the last call"),
        (new, "partial_fit", 0 * y, [0], "at least two classes"),
        (new, "partial_fit", y, {}, "classes must be passed on the first call"),
        (new, "partial_fit", words, ["a", "c"], "among the classes"),
    ):
        before, options = portrait(model), dict(classes=classes) if classes else {}
        with pytest.raises(ValueError, match=".*".join(map(re.escape, patterns))):
            getattr(model, method)(X, targets, **options)
        assert portrait(model) == before


def test_settings_that_do_not_go_together():
    """The error says what a rule needs; names and bounds of numbers: ``test_parameters.py``."""
    X, y = make_data()
    for options, *patterns in (
        (dict(rule=FoBoS([0.1, -0.1])), "not negative", "-0.1 at step 1"),
        (dict(rule=FoBoS([[0.1]])), "schedule as an array must have one dimension"),
        (dict(rule=FoBoS(lambda t: np.nan)), "schedule must give finite rates", "nan at"),
        (dict(rule=FoBoS("pegasos"), l2=0.0), "pegasos", "needs l2 > 0"),
        *((dict(rule=SGD("constant", eta0=eta, storage=storage), l2=4.0),
           "less than 0.25", "l2=4", "rule='fobos'")
          for eta in (0.25, 3.0) for storage in STORAGES),
    ):  # fmt: skip
        for method in ("fit", "partial_fit"):
            model = trained(X, y).set_params(**options)
            assert_refused(model, method, (X, y), (TypeError, ValueError), *patterns)
        with pytest.raises((TypeError, ValueError)) as caught:
            Stepper(3, **options).step([0], [1.0], 1.0)  # a callable is asked when it steps
        assert all(pattern in str(caught.value) for pattern in patterns)
    for loss in (name for name, loss in LOSSES.items() if loss.margin):
        with pytest.raises(ValueError, match=f"loss={loss!r}.* .huber.*squared_error"):
            LazyNetRegressor(loss).fit(X, y)


def test_refused_data_of_other_features_or_classes():
    """A refused fit leaves the features that the model expects; a warm start tells what differs."""
    (X, y), (wide, _) = make_data(), make_data(d=D + 1)
    model = LazyNetClassifier(l1=0.01, max_iter=2, tol=None).fit(X, y)
    for bad in ((y, -np.ones(N)), (np.zeros(N),), (y, None, [N])):
        with pytest.raises(ValueError, match=r"sample_|classes"):
            model.fit(wide, *bad)
        assert model.n_features_in_ == D
    for model in (
        LazyNetClassifier(warm_start=True, max_iter=2, tol=None, random_state=0).fit(X, y),
        DualNetClassifier(warm_start=True, l1=1e-2).fit(X, y),
    ):
        before = portrait(model)
        for data, words in (((wide, y), "features"), ((X, np.arange(N) % 3), "warm_start=True co")):
            with pytest.raises(ValueError, match=words):
                model.fit(*data)
            assert portrait(model) == before


#: Weights of every row, and what the certified solver says of them: their sum has an inverse.
BAD_SUMS = [
    (0.0, "must not be zero for every row"), (-1.0, "must be finite and not negative"),
    (np.nan, "must be finite"), (5e-324, "must have a sum from"), (1e308, "must have a sum from"),
]  # fmt: skip


def test_the_certified_solver_refuses_weights():
    """Bad weights are refused by name; those of any other size count by their ratios."""
    X, y = make_data()
    for fit in (DualNetClassifier().fit, DualNetRegressor().fit, net_path):
        for weight, message in BAD_SUMS:
            with pytest.raises(ValueError, match=f"sample_weight.* {message}"):
                fit(X, y, sample_weight=np.full(N, weight))
    weights, fit = 1.0 + np.arange(N) % 3, DualNetClassifier(l1=1e-2, tol=1e-8).fit
    plain, gap = fit(X, y, weights).objective_, 2e-8
    for scale in (1e-150, 1e150):
        assert abs(fit(X, y, scale * weights).objective_ - plain) <= gap


@EVERY_STORAGE
def test_stepper_refuses_bad_examples(storage):
    """Bad examples, and steps to an infinite weight, change neither weights nor intercept nor t."""
    stepper = Stepper(5, loss="hinge", l1=0.01, rule=FoBoS(storage=storage), fit_intercept=True)
    stepper.step([0, 3], [1.0, -2.0], 1.0)
    before = portrait(stepper)
    for arguments, pattern in BAD_EXAMPLES:
        with pytest.raises((TypeError, ValueError), match=pattern):
            stepper.step(*arguments)
        assert portrait(stepper) == before
    with pytest.raises(ValueError, match="indices must lie between 0 and 4"):
        stepper.predict([5], [1.0])
    X, _ = make_data()
    with pytest.raises(TypeError, match="X must be a CSR matrix"):
        Stepper(D).step_row(X.tocsc(), 1, 1.0)
    X.indptr[1] = -1
    with pytest.raises(ValueError, match=r"X\.indptr"):
        Stepper(D).step_row(X, 1, 1.0)
    stepper = Stepper(2, loss="absolute_error", rule=FoBoS(Constant(1e10), storage=storage))
    stepper.step([1], [1.0], 5.0)
    weights = stepper.weights
    with pytest.raises(FloatingPointError, match="step 1"):
        stepper.step([0], [1e300], 5.0)
    with pytest.raises(FloatingPointError, match="not a finite number"):
        stepper.predict([1], [1e300])
    assert same_bits(stepper.weights, weights)
    assert stepper.t == 1


# --- runs that go wrong on the way ---------------------------------------------------------


@METHODS
@EVERY_STORAGE
def test_overflow_where_it_is_hard_to_see(storage, method):
    """In the very last step of a call, and of an intercept whose rows have no features."""
    rule = FoBoS(Constant(1e10), storage=storage)
    options = dict(rule=rule, l1=0.0, max_iter=1, tol=None, shuffle=False)
    X = sparse.csr_matrix([[1.0, 0.0], [0.0, 1e300]])
    model = RawRegressor("absolute_error", **options).fit(X[:1], [5.0])
    assert_refused(model, method, (X, [5.0, 5.0]), FloatingPointError, "overflowed by step")
    X = sparse.csr_matrix((2, 3))
    model = RawRegressor("absolute_error", **options).fit(X, [1.0, 2.0])
    model.set_params(rule__schedule=Constant(1.7e308))
    assert_refused(model, method, (X, [1.79e308] * 2), FloatingPointError, "overflowed")


@EVERY_STORAGE
def test_a_prediction_that_overflows_ends_the_call_also_where_the_step_is_small(storage):
    """The slope of the absolute error is 1 at any prediction."""
    rule = FoBoS(FromArray([1e9, 1e-300]), storage=storage)
    model = RawRegressor("absolute_error", rule=rule, l1=0.0, max_iter=1, tol=None, shuffle=False)
    data = sparse.csr_matrix([[1.0], [1e300]]), [5.0, 5.0]
    with pytest.raises(FloatingPointError, match="overflowed at step 1"):
        model.fit(*data)


@pytest.mark.filterwarnings("error")  # which ``-W error`` would raise in place of the error
@METHODS
@EVERY_STORAGE
def test_a_call_that_diverges_leaves_the_model(storage, method):
    """FloatingPointError with the step and the remedy, and the model of the last good call."""
    X, y = make_data()
    rule = FoBoS(eta0=0.05, storage=Tables(budget=13) if storage == "tables" else storage)
    model = LazyNetRegressor(rule=rule, l1=0.3, max_iter=2, tol=None, shuffle=False).fit(X, y)
    # From a moderate size a run takes many steps, and some sweeps, to leave the range of doubles.
    order = np.tile(np.arange(N), (50, 1))
    for warm_start in (False, True):
        model.set_params(rule__schedule=Constant(20.0), rule__eta0=None, max_iter=50)
        model.set_params(warm_start=warm_start)
        patterns = "overflowed", "step", "Lower eta0"
        data = X, 1e6 * y
        assert_refused(model, method, data, FloatingPointError, *patterns, sample_order=order)


class BreaksAt:
    """A schedule that fails with an error of its own when step ``last`` is asked for."""

    def __init__(self, last, rate):
        self.last, self.rate = last, rate

    def __call__(self, t):
        if t == self.last:
            raise ZeroDivisionError(f"no rate at step {t}")
        return self.rate


@pytest.mark.parametrize("with_sweeps", [False, True])
@pytest.mark.parametrize("d", [10, 5_000], ids=["many touched", "few touched"])
@pytest.mark.parametrize("n_classes", [2, 3])
@EVERY_STORAGE
def test_a_schedule_that_fails_midway_takes_the_call_back(
    monkeypatch, storage, n_classes, d, with_sweeps
):
    """partial_fit ends with the schedule's own error, the model bit for bit as before."""
    both = sparse.random(40, d, density=min(1.0, 30 / d), format="csr", random_state=0)
    both.data = 1e4 * np.random.default_rng(0).standard_normal(len(both.data))
    y, full_tables = np.arange(40) % n_classes, with_sweeps and storage == "tables"
    rule = FoBoS(Constant(1.0), storage=Tables(7) if full_tables else storage)
    # A pull of 300 makes a sweep due every few steps.
    l1 = 300.0 if with_sweeps else 1e-3
    model = RawClassifier("hinge", rule=rule, l1=l1, shuffle=False)
    # Trained on more rows than are passed to the call that fails: it must not lose the others.
    model.partial_fit(both, y, classes=np.arange(n_classes))
    assert np.count_nonzero(model.coef_) > 0
    model.set_params(rule__schedule=BreaksAt(model.t_ + 75, rate=1.0))
    before, copies, copy_all = state_of(model), [], Undo.copy_all
    monkeypatch.setattr(Undo, "copy_all", lambda self: copies.append(copy_all(self)))
    # An order for each of five passes: the rates of a pass are asked for when it begins.
    with pytest.raises(ZeroDivisionError, match="no rate at step"):
        model.partial_fit(both[:20], y[:20], sample_order=np.tile(np.arange(20), (5, 1)))
    # Where all weights are touched, only tables have more to copy before a sweep.
    has_more = storage == "tables" or (storage != "dense" and d > 10)
    assert (len(copies) > 0) == (with_sweeps and has_more)
    assert state_of(model) == before


# --- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LazyNetClassifier, DualNetClassifier])
def test_what_is_no_part_of_the_matrix_and_what_is_no_number(kind):
    """Values behind the last row are not looked at; inf - inf is no decision for either class."""
    X, y = make_data()
    longer = sparse.csr_matrix(X.shape)
    longer.data = np.append(X.data, [np.nan, np.inf, 1.0])
    longer.indices = np.append(X.indices, [0, -1, X.shape[1]]).astype(X.indices.dtype)
    longer.indptr = X.indptr
    model, expected = (made(kind, l1=1e-3).fit(rows, y) for rows in (longer, X))
    assert_same_model(model, expected, X)
    assert same_bits(model.predict_proba(longer), expected.predict_proba(X))
    model.coef_ = np.where(np.arange(D) == 0, -1e3, 1e3)
    assert model.predict(1e306 * np.eye(1, D)) == [0]
    with pytest.raises(FloatingPointError, match="row 1 of X"):
        model.predict(sparse.csr_matrix([[1.0] * D, [1e308] * D]))


@pytest.mark.parametrize("kind", [LazyNetClassifier, DualNetClassifier])
def test_rows_that_are_elsewhere_are_refused_with_what_to_write(kind, tmp_path):
    """The name of a file, and a source of rows where predictions need rows in memory."""
    model = kind(l1=0.01).fit([[0.0], [1.0]] * 5, [0, 1] * 5)
    for call in (lambda X: model.fit(X, [0, 1]), lambda X: model.fit(X), model.predict):
        for name in ("train.svm", tmp_path / "train.svm"):
            with pytest.raises(TypeError, match=r"X must be rows, got the name .*SvmlightFile"):
                call(name)
    with pytest.raises(TypeError, match=r"in memory, got a Chunks: .* source.chunks\(\)"):
        model.predict(Chunks([([[1.0]], [1])]))
