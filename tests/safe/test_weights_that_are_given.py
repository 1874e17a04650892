"""Weights that users assign, start from or watch: taken whole and exact, or refused by name."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from support.algorithms import VARIANTS as KEPT
from support.algorithms import WITH_CELLS
from support.matrices import make_data
from support.parameters import rule_with
from support.portrait import differences, portrait

from lazynet import (
    RDA,
    ASGDClassifier,
    ASGDRegressor,
    FoBoS,
    LazyNetClassifier,
    LazyNetRegressor,
    StabilisedSGDClassifier,
    Suffix,
)
from lazynet.engines.catalogue import ALGORITHMS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N, D = 40, 9
SHORT = dict(max_iter=2, tol=None, random_state=0)


VARIANTS = {"suffix": dict(rule=FoBoS(average="suffix")), **KEPT}
OTHERS = [
    ASGDClassifier(max_iter=2, random_state=0),
    ASGDRegressor(max_iter=2, random_state=0),
    StabilisedSGDClassifier(max_iter=2, burst_size=10, random_state=0),
]


def needs_the_length(rule):
    """Whether ``partial_fit`` refuses the average of a rule: it does not know the last step."""
    average = getattr(rule, "average", None)
    return isinstance(average, Suffix) or (isinstance(average, str) and average == "suffix")


def fitted(n_classes=2, Estimator=LazyNetClassifier, **options):
    """A trained model and its data."""
    X, y = make_data(N, D, n_classes)
    return Estimator(**{**SHORT, "l1": 1e-3, "l2": 1e-3, **options}).fit(X, y), X, y


def every_fitted():
    """Trained models of every kind, with their data; weights of a regressor have one dimension."""
    for options in VARIANTS.values():
        for n_classes in (2, 3):
            yield fitted(n_classes, **options)
    for name in ("clock", "average", "ftrl"):
        yield fitted(Estimator=LazyNetRegressor, **VARIANTS[name])
    for model in OTHERS:
        for n_classes in (2, 3):
            X, y = make_data(N, D, n_classes)
            yield copy.deepcopy(model).fit(X, y), X, y


def state(model):
    """All of a model, and how it would go on."""
    future = copy.deepcopy(model)
    if hasattr(model, "partial_fit"):
        X, y = make_data(N, D, len(getattr(model, "classes_", [0, 1])), seed=1)
        if needs_the_length(model.rule):
            future.set_params(rule__average=True)
        future.partial_fit(X, y)
    return portrait([model.coef_, model.intercept_, model, future])


# --- coef_ and intercept_ are assigned ----------------------------------------------------------


def other_weights(model):
    """Weights and intercepts of the model's shapes that it does not have."""
    rng = np.random.default_rng(3)
    coef = rng.standard_normal(model.coef_.shape)
    coef[rng.random(coef.shape) < 0.4] = 0.0
    return coef, rng.standard_normal(model.intercept_.shape)


#: Other forms of an array of weights.
FORMS = [
    np.array, np.ndarray.tolist, np.asfortranarray, np.squeeze, lambda a: a.astype(">f8"),
    lambda a: a.astype(np.longdouble),
]  # fmt: skip


def test_assigned_weights_are_the_model():
    """Every estimator predicts with a copy of the assigned weights, in any form."""
    for model, X, _ in every_fitted():
        for given in FORMS:
            coef, intercept = other_weights(model)
            passed = given(coef), given(intercept)
            held = copy.deepcopy(passed)
            model.coef_ = passed[0]
            np.testing.assert_allclose(model.coef_, coef, rtol=1e-12, atol=1e-14)
            model.intercept_ = passed[1]
            np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-12)
            np.testing.assert_allclose(model.coef_, coef, rtol=1e-12, atol=1e-14)
            assert np.array_equal(model.coef_ == 0, coef == 0)
            if hasattr(model, "support_"):
                assert np.array_equal(model.support_, coef != 0)
            decide = getattr(model, "decision_function", model.predict)
            expected = X @ np.atleast_2d(coef).T + intercept
            np.testing.assert_allclose(decide(X).reshape(expected.shape), expected, atol=1e-12)
            # Neither the user's array nor the model changes when the other one does.
            assert portrait(passed) == portrait(held)
            found = portrait([model.coef_, model.intercept_])
            if isinstance(passed[0], np.ndarray):
                passed[0][...] = passed[1][...] = 7.0
            assert portrait([model.coef_, model.intercept_]) == found
            # The next form brings the same numbers.
            model.coef_, model.intercept_ = 0.0 * coef, 0.0 * intercept


def test_training_goes_on_from_assigned_weights_and_changes_no_array_that_was_read():
    """Neither the weights nor those of the last step; engines: ``exact/test_the_same_bits.py``."""
    n_models = 0
    for model, X, y in every_fitted():
        coef, _ = other_weights(model)
        model.coef_ = coef
        names = ("coef_", "intercept_", "last_coef_", "support_")
        read = [getattr(model, name) for name in names if hasattr(model, name)]
        for array in read[:2]:
            with pytest.raises(ValueError, match="read-only"):
                array[..., 0] = 1.0
        if not hasattr(model, "partial_fit") or needs_the_length(model.rule):
            continue
        n_models += 1
        before, t = copy.deepcopy(read), model.t_
        model.partial_fit(X, y)
        assert portrait(read) == portrait(before)
        assert model.t_ == t + N
        assert not np.array_equal(model.coef_, coef)
        np.testing.assert_allclose(model.coef_, coef, atol=30.0)
    assert n_models >= 20


def bad_values(name, shape):
    """Things to give that are no weights of this shape, and what is said of each."""
    size, good = int(np.prod(shape)), np.ones(shape)
    nan = good.copy()
    nan.flat[-1] = np.nan
    for wrong in (nan, -np.inf * good, good * np.longdouble("1e4000"), np.full(shape, 10**400)):
        yield wrong, f"{name} must be finite"
    for wrong in (np.ones(size + 1), np.ones(0), np.ones((size, 2)), np.ones((1, 1, size)), [[]]):
        yield wrong, f"{name} must have the shape"
    if size > 1:
        for wrong in (np.ones((size, 1)), 1.0, sparse.csr_matrix(np.ones((size, 1)))):
            yield wrong, f"{name} must have the shape"
    for kind in (complex, str, bool, "M8[s]"):
        yield good.astype(kind), name
    for wrong in ("zeros", {}, object(), [[1], [1, 2]], np.full(shape, None)):
        yield wrong, name
    if len(shape) > 1:
        yield sparse.csr_matrix(nan), f"{name} must be finite"


#: Rules of models whose ``fit`` is given bad weights.
START_WITH = [VARIANTS[name]["rule"] for name in ("clock", "ftrl")]


def test_what_is_no_weights_is_refused_and_changes_nothing():
    """Assigned, or passed to fit: the error names the argument, and the model learns on alike."""
    for model, X, y in every_fitted():
        # Arguments of fit are checked before a rule knows of them.
        before, starts = state(model), getattr(model, "rule", None) in START_WITH
        new = type(model)(**model.get_params(deep=False))
        for name in ("coef", "intercept"):
            shape = getattr(model, f"{name}_").shape
            for value, message in bad_values(f"{name}_", shape):
                with pytest.raises((TypeError, ValueError), match=f"^{message}"):
                    setattr(model, f"{name}_", value)
            for value, message in bad_values(f"{name}_init", shape) if starts else ():
                for each in (model, new):
                    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
                        each.fit(X, y, **{f"{name}_init": value})
        assert differences(before, state(model)) == []
        assert set(vars(new)) - {"_lock"} == set(new.get_params(deep=False))
    # The parameters say how weights are kept: bad ones are refused by name.
    model, _, _ = fitted()
    before = model.coef_.copy()
    model.set_params(rule=RDA(gamma=-1.0))
    with pytest.raises(ValueError, match=r"^gamma of RDA must be"):
        model.coef_ = np.zeros(before.shape)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("Estimator", [LazyNetClassifier, LazyNetRegressor, *map(type, OTHERS)])
def test_nothing_is_assigned_before_fit(Estimator):
    """There is no shape yet; the estimator is as new afterwards."""
    model = Estimator()
    for call in (
        model.sparsify, model.densify, partial(setattr, model, "coef_", np.zeros(3)),
        partial(setattr, model, "intercept_", np.zeros(3)),
    ):  # fmt: skip
        with pytest.raises(NotFittedError):
            call()
    assert set(vars(model)) - {"_lock"} == set(model.get_params(deep=False))


@pytest.mark.parametrize(
    "rule", [name for name, row in ALGORITHMS.items() if not row.rule.scheduled]
)
@pytest.mark.every_case
def test_an_intercept_that_a_rule_would_not_train_with_is_refused(rule):
    """RDA, FTRL and AdaGrad leave the intercept out where it is not fitted."""
    X, y = make_data(N, D)
    model = LazyNetRegressor(rule=rule, fit_intercept=False, max_iter=2, tol=None)
    with pytest.raises(ValueError, match=r"^intercept_init must be 0"):
        model.fit(X, y, intercept_init=[5.0])
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"^intercept_ must be 0"):
        model.intercept_ = 5.0
    model.intercept_ = 0.0


@pytest.mark.parametrize("average", [True, "polynomial", 3])
def test_an_average_begins_anew_from_assigned_weights(average):
    """The assigned weights are the model until an iterate counts, and then are part of no mean."""
    model, X, y = fitted(rule=FoBoS(average=average), shuffle=False)
    assert not np.array_equal(model.coef_, model.last_coef_)
    coef, intercept = other_weights(model)
    model.coef_ = coef
    model.intercept_ = intercept
    np.testing.assert_array_equal(model.coef_, coef)
    np.testing.assert_array_equal(model.last_coef_, coef)
    np.testing.assert_array_equal(model.last_intercept_, intercept)
    means = []
    for row in range(3):
        model.partial_fit(X[row], y[row : row + 1])
        means.append((model.coef_, model.last_coef_))
    np.testing.assert_allclose(means[0][0], means[0][1], atol=1e-14)
    if average != "polynomial":
        mean = (means[0][1] + means[1][1] + means[2][1]) / 3
        np.testing.assert_allclose(means[2][0], mean, atol=1e-13)


# --- fit starts from given weights --------------------------------------------------------------


def new_fit(model, X, y, **start):
    """A new estimator with the parameters of ``model``, trained."""
    return type(model)(**model.get_params(deep=False)).fit(X, y, **start)


def warm_fit(model, X, y, **start):
    """A copy of ``model`` that is trained further, the model itself unchanged."""
    return copy.deepcopy(model).set_params(warm_start=True).fit(X, y, **start)


def weights_of(model):
    """Weights and intercepts, fit for ==."""
    return portrait([model.coef_, model.intercept_])


#: The rules that go on from their sums of gradients on a warm start.
WITH_SUMS = {name: options for name, options in WITH_CELLS.items() if options["rule"].continues}

#: The other variants, with a rate that is a function of t, which starts anew in every fit.
SCHEDULED = {
    name: {**options, "rule": rule_with(options["rule"], eta0=0.1)}
    for name, options in VARIANTS.items()
    if name not in WITH_SUMS
}


def first_of(n_classes, **options):
    """A trained model, its data, its last weights as arguments; of no classes, a regressor."""
    Estimator = LazyNetClassifier if n_classes else LazyNetRegressor
    first, X, y = fitted(max(n_classes, 2), Estimator, **options)
    return first, X, y, dict(coef_init=first.last_coef_, intercept_init=first.last_intercept_)


CLASSES = pytest.mark.parametrize("n_classes", [0, 2, 3])


@pytest.mark.parametrize("options", SCHEDULED.values(), ids=SCHEDULED)
@CLASSES
def test_fit_starts_from_given_weights(options, n_classes):
    """From the weights of a model fit goes on as a warm start does, to the same bits.

    Weights of standardised features are multiplied and divided by their sizes, which is rounded.
    """
    first, X, y, start = first_of(n_classes, **options)
    np.testing.assert_allclose(
        new_fit(first, X, y, **start).coef_, warm_fit(first, X, y).coef_, atol=1e-12
    )
    first, X, y, start = first_of(n_classes, standardize=False, **options)
    warm = warm_fit(first, X, y)
    assert weights_of(new_fit(first, X, y, **start)) == weights_of(warm)
    for name in start:
        # On a warm start, weights that are given alone keep the intercepts of the model, and so on;
        # a new model has zeros for what is not given.
        one = {name: start[name]}
        np.testing.assert_allclose(warm_fit(first, X, y, **one).coef_, warm.coef_, atol=1e-12)
        zeros = {other: np.zeros_like(value) for other, value in start.items()}
        other = new_fit(first, X, y, **{**zeros, **one})
        assert weights_of(new_fit(first, X, y, **one)) == weights_of(other)


@pytest.mark.parametrize("options", WITH_SUMS.values(), ids=WITH_SUMS)
@CLASSES
def test_given_weights_come_without_sums_of_gradients(options, n_classes):
    """A warm start from given weights forgets the sums, and equals a new model to the same bits.

    A warm start without them goes on from the sums, and so takes other steps.
    """
    for rule in (options["rule"], type(options["rule"])()):
        first, X, y, start = first_of(n_classes, **{**options, "rule": rule})
        new = weights_of(new_fit(first, X, y, **start))
        assert weights_of(warm_fit(first, X, y, **start)) == new
        assert weights_of(warm_fit(first, X, y)) != new


# --- the callback of fit ------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_a_callback_that_looks_changes_nothing_and_one_that_answers_stops(name):
    """What it is shown are copies; the model after a stop is that of the last epoch."""
    X, y = make_data(N, D)
    options = {**SHORT, "l1": 1e-3, **VARIANTS[name], "max_iter": 3}
    answers, seen = [True, 1, np.True_, "yes", [0]], []
    answer = answers[[*VARIANTS].index(name) % len(answers)]

    def look(epoch):
        copies = epoch.coef.copy(), epoch.intercept.copy()
        seen.append((*copies, epoch.progressive_loss, epoch.seconds, epoch.t))
        epoch.coef[:] = epoch.intercept[:] = np.nan
        return epoch.epoch == 1 and answer

    watched = LazyNetClassifier(**options).fit(X, y, callback=look)
    assert [t for *_, t in seen] == [N, 2 * N]
    for (*_, loss, seconds, _), line in zip(seen, watched.history_, strict=True):
        assert (loss, seconds) == (line["progressive_loss"], line["seconds"])
    assert (watched.n_iter_, watched.t_) == (2, 2 * N)
    assert weights_of(watched) == portrait([*seen[-1][:2]])
    if not needs_the_length(options["rule"]):
        expected = LazyNetClassifier(**options).fit(X, y, callback=lambda epoch: epoch.epoch == 1)
        assert weights_of(watched) == weights_of(expected)


@pytest.mark.parametrize("Estimator", [LazyNetClassifier, LazyNetRegressor])
def test_what_a_callback_must_not_be_or_do(Estimator):
    """Bad ones are refused; what one changes in the model is lost when the fit ends."""
    model, X, y = fitted(Estimator=Estimator)
    before, read = state(model), []
    for answer in (np.zeros(0), np.ones(2), sparse.eye(3)):
        with pytest.raises(ValueError, match=r"^callback must return something true or false"):
            model.fit(X, y, callback=lambda epoch, answer=answer: answer)
    for bad in (3, "print", [print], {}, True, np.zeros(3), object()):
        with pytest.raises(TypeError, match=r"^callback must be callable"):
            model.fit(X, y, callback=bad)
    assert differences(before, state(model)) == []
    before, expected = model.coef_, copy.deepcopy(model).fit(X[:-2], y[:-2]).coef_
    for ask in (lambda: setattr(model, "coef_", before), lambda: model.partial_fit(X, y),
                model.sparsify, lambda: read.append(model.coef_)):  # fmt: skip
        model.coef_ = before
        model.fit(X[:-2], y[:-2], callback=lambda epoch, ask=ask: ask() and None)
        np.testing.assert_array_equal(model.coef_, expected)
    np.testing.assert_array_equal(read[0], before)


# --- sparsify and densify -----------------------------------------------------------------------


def test_sparse_coefficients_predict_as_dense_ones():
    """Sparse coefficients stay sparse through training, assigning, pickling and copying."""
    for model, X, y in every_fitted():
        dense, predicted = np.array(model.coef_), model.predict(X)
        assert model.sparsify() is model
        assert sparse.issparse(model.coef_)
        with pytest.raises(ValueError, match="read-only"):
            model.coef_.data[:] = 0.0
        for other in (model, pickle.loads(pickle.dumps(model)), copy.copy(model)):
            np.testing.assert_array_equal(other.coef_.toarray(), np.atleast_2d(dense))
            np.testing.assert_array_equal(other.predict(X.toarray()), predicted)
            np.testing.assert_array_equal(other.predict(X), predicted)
        forms = sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix, sparse.lil_matrix
        for assigned in (model.coef_, *(form(np.atleast_2d(dense)) for form in forms)):
            model.coef_ = assigned
            np.testing.assert_allclose(model.coef_.toarray(), np.atleast_2d(dense), rtol=1e-12)
        model.coef_ = np.zeros(dense.shape)
        assert model.coef_.nnz == 0
        np.testing.assert_array_equal(model.densify().coef_, np.zeros(dense.shape))
        if hasattr(model, "partial_fit") and not needs_the_length(model.rule):
            twin = copy.deepcopy(model).partial_fit(X, y)
            first = model.sparsify().coef_
            model.partial_fit(X, y)
            # What a user does to the sparse matrix does not outlive the next training.
            assert model.coef_ is not first
            np.testing.assert_array_equal(model.coef_.toarray(), np.atleast_2d(twin.coef_))
            np.testing.assert_array_equal(model.predict(X), twin.predict(X))
