"""A model can be read, given weights, watched and made sparse; a prediction costs its nonzeros."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from support import ELASTIC_ENGINES, examples_of
from support.algorithms import STREAMING_RULES
from support.matrices import make_data

from lazynet import (
    ASGDClassifier,
    ASGDRegressor,
    Constant,
    FoBoS,
    LazyNetClassifier,
    LazyNetRegressor,
    StabilisedSGDClassifier,
    Tables,
    TruncatedGradient,
)
from lazynet.catalogue import ALGORITHMS, new_engine
from lazynet.engines.base import Engine
from lazynet.engines.cells import CellEngine
from lazynet.engines.clock import AveragedClockEngine, ClockEngine
from lazynet.engines.dense import DenseEngine
from lazynet.engines.outputs import OutputsEngine
from lazynet.engines.rescaled import RescaledEngine
from lazynet.engines.tables import TablesEngine
from lazynet.learners import Learner, run_pass

EVERY_ENGINE = [
    {"engine": "clock"},
    {"engine": Tables(budget=7)},
    {"engine": "rescaled", "l1": 0.0},
    {"engine": "dense"},
    {"average": True},
    {"average": "polynomial"},
    {"average": True, "engine": "dense"},
    {"rule": TruncatedGradient(period=3, threshold=0.5), "l2": 0.0},
    *({"rule": name} for name in STREAMING_RULES if name not in ("fobos", "truncated_gradient")),
]
each_engine = pytest.mark.parametrize(
    "options", EVERY_ENGINE, ids=lambda options: "-".join(map(str, options.values()))
)


def quiet(Estimator, **options):
    """An estimator that trains two epochs and gives no warning."""
    return Estimator(**{"max_iter": 2, "tol": None, "random_state": 0, **options})


def same_bits(left, right):
    """Whether two arrays are the same down to the sign of a zero."""
    return left.shape == right.shape and left.tobytes() == right.tobytes()


# --- shapes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [quiet(LazyNetRegressor), quiet(LazyNetRegressor, average=True), ASGDRegressor(l2=1.0)]
)
def test_a_regressor_has_a_weight_for_every_name(model):
    """coef_ has the shape (n_features,), so that zip(names, coef_) pairs names with numbers."""
    X, y = make_data(n_classes=0)
    names = [f"feature {j}" for j in range(X.shape[1])]
    model.fit(X, y)
    assert model.coef_.shape == model.last_coef_.shape == (X.shape[1],)
    assert model.intercept_.shape == model.last_intercept_.shape == (1,)
    weights = dict(zip(names, model.coef_, strict=True))
    assert all(isinstance(weight, float) for weight in weights.values())
    by_hand = sum(X[3, j] * weights[name] for j, name in enumerate(names)) + model.intercept_[0]
    assert model.predict(X[3])[0] == pytest.approx(by_hand)


def test_the_support_of_a_regressor_has_the_shape_of_its_weights():
    """support_ and last_coef_ agree with coef_."""
    X, y = make_data(n_classes=0)
    model = quiet(LazyNetRegressor, l1=0.2).fit(X, y)
    assert model.support_.shape == model.coef_.shape
    assert 0 < model.support_.sum() < X.shape[1]


# --- weights that are given -----------------------------------------------------------------


@each_engine
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_assigned_weights_are_the_model(n_classes, options):
    """coef_ and intercept_ read back as assigned, up to rounding, and predictions follow them."""
    X, y = make_data(n_classes=n_classes)
    Estimator = LazyNetClassifier if n_classes else LazyNetRegressor
    model = quiet(Estimator, **{"l1": 1e-3, **options}).fit(X, y)
    generator = np.random.default_rng(0)
    weights = generator.standard_normal(model.coef_.shape)
    weights[..., ::3] = 0.0
    offsets = generator.standard_normal(model.intercept_.shape)
    model.coef_, model.intercept_ = weights, offsets
    assert np.allclose(model.coef_, weights, rtol=1e-12, atol=1e-14)
    assert np.allclose(model.intercept_, offsets, rtol=1e-12)
    decide = model.decision_function if n_classes else model.predict
    expected = X @ np.atleast_2d(weights).T + offsets
    assert np.allclose(decide(X), expected.ravel() if expected.shape[1] == 1 else expected)


def test_assignment_alone_changes_only_what_is_assigned():
    """New weights leave the intercept, and a new intercept leaves the weights."""
    X, y = make_data(n_classes=0)
    model = quiet(LazyNetRegressor).fit(X, y)
    weights, offset = model.coef_.copy(), model.intercept_.copy()
    model.intercept_ = [7.0]
    assert same_bits(model.coef_, weights)
    model.coef_ = 2 * weights
    assert model.intercept_.tolist() == [7.0]
    model.intercept_ = offset
    assert np.allclose(model.predict(X), 2 * (X @ weights) + offset)


@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
def test_partial_fit_goes_on_from_assigned_weights(engine):
    """A step from assigned weights follows the formula, and t_ counts on."""
    model = LazyNetRegressor(
        engine=engine, schedule=Constant(0.5), l1=0.2, l2=0.0, fit_intercept=True
    ).partial_fit([[1.0, 0.0, 0.0]], [1.0])
    model.coef_, model.intercept_ = [1.0, 2.0, -3.0], [0.5]
    model.partial_fit([[1.0, 1.0, 0.0]], [3.0])
    # The prediction is 3.5, the slope 0.5; the gradient takes 0.25 and the shrink 0.1.
    assert np.allclose(model.coef_, [0.65, 1.65, -2.9], rtol=1e-14)
    assert np.allclose(model.intercept_, [0.25])
    assert model.t_ == 2


@pytest.mark.parametrize(
    "rule", [FoBoS("shrink_first"), "sgd", TruncatedGradient(period=3)], ids=str
)
@pytest.mark.parametrize("engine", ["clock", Tables(budget=7), "dense"], ids=str)
def test_a_model_with_the_weights_of_another_one_learns_on_as_it_does(engine, rule):
    """The rules of the affine family keep nothing but the weights and the number of the step."""
    X, y = make_data()
    model = LazyNetClassifier(rule=rule, engine=engine, shuffle=False, eta0=0.5, l1=1e-3)
    model.partial_fit(X, y, classes=[0, 1])
    other = copy.deepcopy(model)
    other.coef_ = np.zeros_like(model.coef_)
    assert not other.coef_.any()
    other.coef_, other.intercept_ = model.coef_, model.intercept_
    model.partial_fit(X, y), other.partial_fit(X, y)
    assert np.allclose(model.coef_, other.coef_, rtol=1e-10, atol=1e-13)
    assert model.t_ == other.t_


@pytest.mark.parametrize(
    "model",
    [quiet(LazyNetClassifier), ASGDClassifier(max_iter=5), StabilisedSGDClassifier(max_iter=2)],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_every_estimator_can_be_assigned(model):
    """A row of weights stands for the one row of a binary model; copies and pickles carry it."""
    X, y = make_data()
    with pytest.raises(NotFittedError):
        model.coef_ = np.ones(X.shape[1])
    model.fit(X, y)
    weights = np.linspace(-1, 1, X.shape[1])
    model.coef_ = weights
    assert model.coef_.shape == (1, X.shape[1])
    assert np.allclose(model.coef_[0], weights)
    weights[:] = 0.0
    assert model.coef_.any(), "the model keeps a copy"
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert same_bits(twin.decision_function(X), model.decision_function(X))
    model.coef_ = sparse.csr_matrix(np.eye(1, X.shape[1]))
    assert np.allclose(model.coef_, np.eye(1, X.shape[1]))
    if hasattr(model, "support_"):
        assert model.support_.tolist() == [[True] + [False] * (X.shape[1] - 1)]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("coef_", np.ones(3), r"coef_ must have the shape \(25,\), got \(3,\)"),
        ("coef_", np.ones((5, 5)), r"coef_ must have the shape \(25,\), got \(5, 5\)"),
        ("coef_", np.full(25, np.nan), "coef_ must be finite, got NaN or infinity"),
        ("coef_", ["a"] * 25, "coef_ must hold real numbers"),
        ("intercept_", [1.0, 2.0], r"intercept_ must have the shape \(1,\), got \(2,\)"),
        ("intercept_", [np.inf], "intercept_ must be finite"),
    ],
)
def test_weights_that_do_not_fit_are_refused(name, value, message):
    """The error names the attribute or argument, and the model stays what it was."""
    X, y = make_data(n_classes=0)
    model = quiet(LazyNetRegressor).fit(X, y)
    before = model.coef_.copy(), model.intercept_.copy()
    with pytest.raises((TypeError, ValueError), match=message):
        setattr(model, name, value)
    initial = name.replace("_", "_init")
    with pytest.raises((TypeError, ValueError), match=message.replace(name, initial)):
        model.fit(X, y, **{initial: value})
    assert same_bits(model.coef_, before[0])
    assert same_bits(model.intercept_, before[1])


@each_engine
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.filterwarnings("ignore:.*weights that it has not trained")
def test_fit_starts_from_coef_init_and_intercept_init(n_classes, options):
    """A step of fit has the bits of a step of an engine that has loaded the given weights."""
    X, y = make_data(n_classes=n_classes)
    Estimator = LazyNetClassifier if n_classes else LazyNetRegressor
    model = quiet(Estimator, **{"l1": 1e-3, "l2": 1e-3, "max_iter": 1, **options})
    rows = {0: 1, 2: 1, 3: 3}[n_classes]
    weights = np.random.default_rng(0).standard_normal((rows, X.shape[1]))
    weights[:, ::3] = 0.0
    offsets, order = np.arange(1.0, rows + 1), np.array([7])
    start = dict(coef_init=weights[0] if rows == 1 else weights, intercept_init=offsets)
    model.fit(X, y, sample_order=order, **start)
    assert model.t_ == 1
    plan = model._settle().plan.known(model.eta0_, 1)
    for k in range(rows):
        targets = y if not n_classes else np.where(y == (k if rows > 1 else 1), 1.0, -1.0)
        found = np.atleast_2d(model.coef_)[k], model.intercept_[k]
        # Without the given weights, or without the given intercept, the bits are others.
        for w, b in ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0)):
            engine = new_engine(
                plan.rule, plan.penalty, X.shape[1], form=plan.form,
                average=plan.average is not None, loss=plan.loss,
            )  # fmt: skip
            engine.load(w * weights[k], b * offsets[k])
            run_pass([Learner(engine, examples_of(plan, X, targets), plan)], order, 0)
            same = same_bits(engine.model(), found[0]) and engine.model_intercept == found[1]
            if rows > 1:
                # One pass over X for all classes sums the products of a row in another order.
                same = np.allclose(engine.model(), found[0], rtol=1e-11, atol=1e-14)
                same &= bool(np.isclose(engine.model_intercept, found[1], rtol=1e-11))
            assert same == (w == b == 1.0)


def test_coef_init_is_a_warm_start_with_these_weights():
    """fit from the weights of another model gives the bits that warm_start gives."""
    X, y = make_data()
    first = quiet(LazyNetClassifier, engine="dense", l1=1e-2).fit(X, y)
    warm = copy.deepcopy(first).set_params(warm_start=True).fit(X, y)
    given = quiet(LazyNetClassifier, engine="dense", l1=1e-2).fit(
        X, y, coef_init=first.coef_, intercept_init=first.intercept_
    )
    assert same_bits(given.coef_, warm.coef_)
    assert same_bits(given.intercept_, warm.intercept_)
    assert not same_bits(given.coef_, first.coef_)


def test_coef_init_alone_leaves_the_intercept_at_its_start():
    """A start that is not given is zero; with warm_start it is the present intercept."""
    options = dict(l1=0.0, l2=0.0, schedule=Constant(0.5), max_iter=1, tol=None)
    model = LazyNetRegressor(**options).fit([[1.0]], [2.0], coef_init=[1.0])
    assert (model.coef_[0], model.intercept_[0]) == (1.5, 0.5)
    model.set_params(warm_start=True).fit([[1.0]], [2.0], coef_init=[0.0])
    assert (model.coef_[0], model.intercept_[0]) == (0.75, 1.25)


# --- sparse weights -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        (quiet(LazyNetClassifier, l1=0.05), 2),
        (quiet(LazyNetClassifier, l1=0.05), 3),
        (quiet(LazyNetRegressor, l1=0.05), 0),
        (ASGDClassifier(max_iter=3), 2),
        (ASGDRegressor(max_iter=3), 0),
        (StabilisedSGDClassifier(max_iter=2), 2),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparsify_and_densify(model, n_classes):
    """sparsify makes coef_ a sparse matrix of the same numbers, and predictions stay the same."""
    X, y = make_data(n_classes=n_classes)
    with pytest.raises(NotFittedError):
        model.sparsify()
    model.fit(X, y)
    dense, predicted = model.coef_.copy(), model.predict(X)
    assert model.sparsify() is model
    assert sparse.issparse(model.coef_)
    assert model.coef_.nnz == np.count_nonzero(dense)
    assert np.array_equal(model.coef_.toarray().reshape(dense.shape), dense)
    assert np.allclose(model.predict(X), predicted)
    assert np.allclose(model.predict(X.toarray()), predicted)
    twin = pickle.loads(pickle.dumps(model))
    assert sparse.issparse(twin.coef_)
    assert np.allclose(twin.predict(X), predicted)
    assert model.densify() is model
    assert same_bits(model.coef_, dense)


def test_training_goes_on_after_sparsify():
    """The sparse matrix holds the weights after the last partial_fit."""
    X, y = make_data()
    model = quiet(LazyNetClassifier, l1=0.02, shuffle=False).fit(X, y)
    other = copy.deepcopy(model).sparsify()
    before = other.coef_.toarray()
    for each in (model, other):
        each.partial_fit(X, y)
    assert same_bits(other.coef_.toarray(), model.coef_ + 0.0)
    assert not np.array_equal(other.coef_.toarray(), before)


# --- a callback per epoch -------------------------------------------------------------------


def test_a_callback_looks_and_stops():
    """A callback sees the figures and the weights of an epoch; a true answer ends fit."""
    X, y = make_data(n_classes=3)
    seen = []

    def callback(epoch):
        seen.append((*(getattr(epoch, name) for name in names), epoch.t))
        weights.append((epoch.coef, epoch.intercept))
        return epoch.epoch == 4

    names = "epoch", "progressive_loss", "seconds"
    weights = []
    model = quiet(LazyNetClassifier, max_iter=50, l1=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, callback=callback)
    assert model.n_iter_ == len(seen) == 5
    assert model.t_ == 5 * len(y)
    expected = [tuple(record[name] for name in names) for record in model.history_]
    assert [entry[:-1] for entry in seen] == expected
    assert [entry[-1] for entry in seen] == [(k + 1) * len(y) for k in range(5)]
    # Copies: those of earlier epochs are not what they became.
    assert same_bits(weights[-1][0], model.coef_)
    assert same_bits(weights[-1][1], model.intercept_)
    by_hand = quiet(LazyNetClassifier, max_iter=2, l1=1e-2).fit(X, y)
    assert same_bits(weights[1][0], by_hand.coef_)


def test_a_callback_changes_no_weight():
    """A callback that returns None leaves the model as it is without a callback."""
    X, y = make_data(n_classes=0)
    options = dict(max_iter=4, l1=1e-2, average=True)
    epochs = []
    watched = quiet(LazyNetRegressor, **options).fit(X, y, callback=epochs.append)
    alone = quiet(LazyNetRegressor, **options).fit(X, y)
    assert same_bits(watched.coef_, alone.coef_)
    assert [epoch.epoch for epoch in epochs] == [0, 1, 2, 3]


def test_a_callback_that_fails_leaves_the_model():
    """The caller gets the error of the callback, and the model stays what it was before fit."""
    X, y = make_data()
    model = quiet(LazyNetClassifier).fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ZeroDivisionError):
        model.fit(X, y, callback=lambda epoch: 1 / (1 - epoch.epoch) < 0)
    assert same_bits(model.coef_, before)
    with pytest.raises(TypeError, match="callback must be callable, got str"):
        model.fit(X, y, callback="stop")


# --- the cost of a prediction ---------------------------------------------------------------


def wide_data():
    """Rows that name about 40 of 1,000 features, and three classes."""
    X = sparse.random(40, 1_000, density=0.04, format="csr", random_state=0)
    return X, np.arange(40) % 3


class Count:
    """Counts the weights that engines bring current one by one, and the calls for all weights."""

    def __init__(self, monkeypatch):
        self.all, self.some = 0, 0
        kinds = (
            Engine, ClockEngine, AveragedClockEngine, TablesEngine, RescaledEngine, DenseEngine,
            CellEngine, OutputsEngine,
        )  # fmt: skip
        for kind in kinds:
            for name in ("weights", "model", "rows", "_sums"):
                if name in vars(kind):
                    monkeypatch.setattr(kind, name, self.counting_all(vars(kind)[name]))
            if "model_at" in vars(kind):
                monkeypatch.setattr(kind, "model_at", self.counting_some(vars(kind)["model_at"]))

    def counting_all(self, method):
        def counted(engine, *arguments, **options):
            # An engine of several outputs reads each by an engine with the features of a row.
            self.all += engine.n_features == wide_data()[0].shape[1]
            return method(engine, *arguments, **options)

        return counted

    def counting_some(self, method):
        def counted(engine, which):
            self.some += len(which)
            return method(engine, which)

        return counted


@each_engine
def test_predict_after_partial_fit_brings_current_only_the_weights_of_its_rows(
    options, monkeypatch
):
    """No engine gives all its weights; the predictions are those that all weights give."""
    X, y = wide_data()
    model = LazyNetClassifier(random_state=0, **{"l1": 1e-3, **options})
    model.partial_fit(X, y, classes=[0, 1, 2])
    count = Count(monkeypatch)
    row = X[:1]
    model.partial_fit(X[5:9], y[5:9])
    count.all = 0
    found = model.decision_function(row)
    model.predict(row), model.predict_proba(row), model.predict_log_proba(row)
    assert count.all == 0
    assert count.some == 4 * len(model._engines) * row.nnz
    assert same_bits(found, row @ model.coef_.T + model.intercept_)
    assert count.all > 0, "the counter counts"


def test_predict_of_a_regressor_brings_current_only_the_weights_of_its_rows(monkeypatch):
    """A row costs its nonzeros; rows that name most features bring all weights current, once."""
    X, y = wide_data()
    model = LazyNetRegressor(random_state=0, l1=1e-3).partial_fit(X, y)
    count = Count(monkeypatch)
    found = model.predict(X[:1])
    assert (count.all, count.some) == (0, X[:1].nnz)
    assert same_bits(model.predict(X)[:1], found)
    once = count.all
    assert once > 0
    model.predict(X), model.predict(X.toarray()), model.predict(X[:1])
    assert count.all == once, "all weights, once current, are kept until the next partial_fit"


def test_sparse_weights_are_read_only_and_not_pickled():
    """Nobody changes the predictions of a model through its sparse weights."""
    X, y = make_data()
    model = LazyNetClassifier(l1=1e-3, random_state=0).fit(X, y).sparsify()
    with pytest.raises(ValueError, match="read-only"):
        model.coef_.data[:] = 0.0
    assert "_sparsified" not in model.__getstate__()
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).coef_.toarray(), model.coef_.toarray()
    )


@pytest.mark.parametrize(
    "rule", [name for name, row in ALGORITHMS.items() if not row.rule.scheduled]
)
def test_an_intercept_that_a_rule_would_not_train_with_is_refused(rule):
    """RDA, FTRL and AdaGrad leave the intercept out where it is not fitted."""
    X, y = make_data(n_classes=0)
    model = LazyNetRegressor(rule=rule, fit_intercept=False, max_iter=2, tol=None)
    with pytest.raises(ValueError, match=r"^intercept_init must be 0"):
        model.fit(X, y, intercept_init=[5.0])
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"^intercept_ must be 0"):
        model.intercept_ = 5.0
    model.intercept_ = 0.0


@pytest.mark.parametrize("first", ["rda", "ftrl", "adagrad"])
def test_rates_of_a_rule_without_a_schedule_say_nothing_of_those_of_a_schedule(first):
    """After a rule with rates of its own, the scale of the rates comes from the rows at hand."""
    X, y = make_data()
    model = LazyNetClassifier(rule=first, random_state=0).partial_fit(100.0 * X, y, classes=[0, 1])
    model.set_params(rule="fobos", schedule="power").partial_fit(100.0 * X, y)
    fresh = LazyNetClassifier(schedule="power", random_state=0).partial_fit(
        100.0 * X, y, classes=[0, 1]
    )
    assert model.eta0_ == fresh.eta0_
