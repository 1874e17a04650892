"""A step on a batch: the mean of the gradients, one shrink, equal to the dense references."""

import dataclasses
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import examples_of, plan, rows
from support.algorithms import AFFINE_RULES, BOTH_ORDERS
from support.batches import AddsTheGradients, OverBatches, assert_batches_match
from support.caught import caught
from support.matrices import corpus, make_data
from support.parameters import in_rule
from support.wears import wears

from lazynet import (
    FTRL,
    RDA,
    AdaGrad,
    Dense,
    FoBoS,
    FromData,
    FromStep,
    LazyNetClassifier,
    LazyNetRegressor,
    Tables,
    TruncatedGradient,
)
from lazynet.losses import LOSSES, get_loss
from lazynet.reference import DenseAdaGrad, DenseAverage, DenseFTRL, DenseRDA, DenseReference
from lazynet.reference.losses import LOSSES as PLAIN_LOSSES
from lazynet.reference.truncated_gradient import DenseTruncatedGradient
from lazynet.training.learners import Learner, run_pass, spans
from lazynet.verify.strategies import problems
from lazynet.verify.tolerance import AGREE
from lazynet.verify.twin import BoundedTwin

BOTH = (False, True)
SIZES = st.integers(1, 50)  # of problems with up to 40 steps

#: Rules with a state that learn from batches, with rates that are given and rates from the data.
WITH_STATE = [
    TruncatedGradient(threshold=0.4, period=2),
    RDA(gamma=1.0, rho=0.01),
    RDA(gamma=None),
    FTRL(alpha=0.1),
    FTRL(alpha=None, penalty="once"),
    AdaGrad(alpha=0.1, delta=0.1),
    AdaGrad(alpha=0.1, initial=0.5),
    AdaGrad(),
]


def twin_of(problem, lazy, wear=None):
    largest = np.inf if wear is None else wear.largest_cushion
    return BoundedTwin.of_plan(lazy.plan, problem.n_features, largest)


# --- the references ------------------------------------------------------------------------------

REFERENCES = [
    *[
        lambda d, rule=rule, order=order, **options: DenseReference(
            d, rule=rule, step_order=order, schedule=lambda t: 0.1 / (1 + t), **options
        )
        for rule in ("fobos", "sgd")
        for order in BOTH_ORDERS
    ],
    lambda d, **options: DenseTruncatedGradient(
        d, period=2, schedule=lambda t: 0.1 / (1 + t), **options
    ),
    lambda d, **options: DenseRDA(d, gamma=None, rho=0.01, **options),
    lambda d, **options: DenseFTRL(d, alpha=None, **options),
    lambda d, **options: DenseAdaGrad(d, alpha=None, **options),
    lambda d, **options: DenseAdaGrad(d, alpha=0.1, initial=0.5, **options),
]


@pytest.mark.parametrize("make", REFERENCES)
@given(problem=problems(["log_loss", "squared_error"], intercepts=BOTH))
def test_a_batch_of_one_is_a_step(make, problem):
    """The references take the step of a single example, up to rounding."""
    options = dict(loss=problem.loss, l1=0.05, l2=0.01, fit_intercept=problem.fit_intercept)
    single, batch = make(problem.n_features, **options), make(problem.n_features, **options)
    for place in range(len(problem.order)):
        example = problem.example(place)
        (found,) = batch.step_batch([example])
        expected = single.step(*example)
        if not abs(expected) < 1e3:
            return
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(batch.weights, single.weights, rtol=1e-9, atol=1e-9)
        assert batch.intercept == pytest.approx(single.intercept, rel=1e-9, abs=1e-9)


@given(data=st.data())
def test_the_step_of_the_reference_is_the_definition(data):
    """Over fractions: w - eta times the mean gradient, then one shrink, by the formulas alone."""
    numbers = st.fractions(-3, 3, max_denominator=8)
    d, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    twin = DenseReference(
        d, loss="squared_error", l1=Fraction(1, 3), l2=Fraction(1, 2),
        schedule=lambda t: Fraction(1, 2 + t), fit_intercept=True, zero=Fraction(0),
    )  # fmt: skip
    for t in range(3):
        batch = [
            (range(d), [data.draw(numbers) for _ in range(d)], data.draw(numbers), Fraction(k + 1))
            for k in range(n)
        ]
        w, b, eta = list(twin.weights), twin.intercept, Fraction(1, 2 + t)
        p = [sum((w[j] * x[j] for j in range(d)), b) for _, x, _, _ in batch]
        assert twin.step_batch(batch) == p
        g = [s * (p[i] - y) for i, (_, _, y, s) in enumerate(batch)]
        for j in range(d):
            v = w[j] - eta * sum(g[i] * batch[i][1][j] for i in range(n)) / n
            size = max((abs(v) - eta / 3) / (1 + eta / 2), 0)
            assert twin.weights[j] == (size if v > 0 else -size)
        assert twin.intercept == b - eta * sum(g) / n
        assert twin.t == t + 1


# --- lazy equals dense ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("step_order", BOTH_ORDERS)
@pytest.mark.parametrize("rule", AFFINE_RULES)
@given(data=st.data())
def test_every_step_of_the_clock_equals_the_dense_twin(rule, step_order, loss, data):
    """Any number of rows in a step, rows that repeat, importances, and any sweeps."""
    problem = data.draw(problems([loss], [rule], [step_order], BOTH))
    wear = data.draw(wears())
    lazy = OverBatches(problem, data.draw(SIZES), wear=wear)
    assert_batches_match(lazy, twin_of(problem, lazy, wear))


@given(data=st.data())
def test_the_truncated_gradient_on_the_clock_equals_its_twin(data):
    """The pull of a period counts steps, not rows."""
    problem = data.draw(problems(intercepts=BOTH))
    problem = dataclasses.replace(problem, rule=TruncatedGradient(period=3), l2=0.0)
    lazy = OverBatches(problem, data.draw(SIZES))
    assert_batches_match(lazy, twin_of(problem, lazy))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", WITH_STATE, ids=repr)
@given(data=st.data())
def test_every_step_of_a_rule_with_a_state_equals_the_reference(rule, loss, data):
    """Every row of a batch is measured before the first prediction of the batch."""
    problem = data.draw(problems([loss], intercepts=BOTH))
    lazy = OverBatches(dataclasses.replace(problem, rule=rule), data.draw(SIZES))
    assert_batches_match(lazy, twin_of(problem, lazy))


@given(data=st.data())
def test_averages_equal_the_plain_mean(data):
    """An iterate is the weights after a step on a batch."""
    problem = data.draw(problems(step_orders=BOTH_ORDERS, intercepts=BOTH))
    wear = data.draw(wears())
    lazy = OverBatches(problem, data.draw(SIZES), FromStep(2), wear)
    dense = DenseAverage(
        problem.n_features, schedule=problem.rate, omega=lambda i: float(i >= 2),
        **problem.plain_options,
    )  # fmt: skip

    def compare(engine, number):
        start, stop = lazy.spans[number]
        dense.step_batch([problem.example(place) for place in range(start, stop)])
        expected = np.array([*dense.averages, dense.average_intercept])
        found = np.array([*engine.model(), engine.model_intercept])
        assert np.abs(found - expected).max() <= AGREE * (1.0 + np.abs(expected).max())

    assert_batches_match(lazy, twin_of(problem, lazy, wear), compare)


@pytest.mark.parametrize("rule", ["fobos", *WITH_STATE], ids=repr)
def test_long_rows_and_many_columns(rule):
    """Rows longer than every block; few columns, and so many that they are put in order."""
    X, y = corpus(n_rows=60, d=300)
    for size in (1, 3, 7, 60):
        each = plan(rule=rule, l1=1e-3, fit_intercept=True, batch_size=size)
        engine, twin = each.new_engine(300), BoundedTwin.of_plan(each, 300, 1024.0)
        examples, task = examples_of(each, X, y), each.task(engine)
        for t, (start, stop) in enumerate(spans(60, size)):
            twin.step_batch(
                [(X[i].indices.tolist(), X[i].data.tolist(), y[i], 1.0) for i in range(start, stop)]
            )
            engine.take(examples, each.steps(np.arange(start, stop), t), task, t)
            assert twin.comparable
            assert twin.distance(engine.weights(), engine.intercept) <= twin.bound


# --- the same bits -------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [None, FromStep(1)])
@pytest.mark.parametrize("rule", ["fobos", *WITH_STATE], ids=repr)
def test_a_pass_in_chunks_gives_the_same_bits(rule, average, monkeypatch):
    """A chunk ends where a batch ends, also of batches that are larger than a chunk."""
    if average is not None and rule != "fobos":
        return
    X, y = corpus()
    found, told = [], []
    for largest in (2**13, 64, 5):
        monkeypatch.setattr("lazynet.training.learners._LARGEST_CHUNK", largest)
        chosen = plan(rule=rule, l1=1e-3, fit_intercept=True, average=average, batch_size=32)
        learner = Learner(chosen.new_engine(X.shape[1]), examples_of(chosen, X, y), chosen)
        losses = np.zeros(1)
        assert run_pass([learner], None, 3, losses) == 3 + 13
        found.append([*learner.engine.model(), learner.engine.intercept])
        told.append(losses[0])
    assert found[0] == found[1] == found[2]
    np.testing.assert_allclose(told, told[0], rtol=1e-12)


@pytest.mark.parametrize("rule", ["fobos", AdaGrad(alpha=0.1), RDA(gamma=1.0)], ids=repr)
def test_gradients_that_cancel(rule):
    """Rows that take back what the rows before them gave: a column is merged again and again."""
    there, back = np.array([[1.0, -2.0, 0.5, 0.0, 3.0]]), np.array([[-1.0, 2.0, 0.0, 0.0, 0.0]])
    X = sparse.csr_matrix(np.vstack([*[there, -there] * 20, back, [[0.0, 0.0, 0.0, 1.0, 0.0]]]))
    y = np.ones(X.shape[0])
    chosen = plan(loss="hinge", rule=rule, l1=1e-3, batch_size=42)
    engine, twin = chosen.new_engine(5), BoundedTwin.of_plan(chosen, 5, 1024.0)
    engine.take(examples_of(chosen, X, y), chosen.steps(rows(42), 0), chosen.task(engine))
    twin.step_batch([(X[i].indices.tolist(), X[i].data.tolist(), 1.0, 1.0) for i in range(42)])
    assert twin.distance(engine.weights(), 0.0) <= twin.bound
    assert np.flatnonzero(engine.weights()).tolist() == [0, 1, 3]


@pytest.mark.parametrize("rule", ["fobos", AdaGrad(), RDA()], ids=repr)
def test_a_call_may_pause_within_a_batch(rule):
    """More numbers than one call touches: the next call goes on with the batch."""
    X = sparse.csr_matrix(np.ones((2, 3_000_000), dtype=np.float32))
    chosen = plan(l1=1e-3, rule=rule, batch_size=5)
    engine = chosen.new_engine(X.shape[1])
    examples, calls = examples_of(chosen, X, np.array([1.0, -1.0])), []
    take_one = engine._run
    engine._run = lambda *given: calls.append(given) or take_one(*given)
    engine.take(examples, chosen.steps(np.array([0, 1] * 3), 0), chosen.task(engine))
    assert len(calls) > 1
    twin = BoundedTwin.of_plan(chosen, 1, 1024.0)
    example = [0], [1.0], 1.0, 1.0
    # A weight of the wide rows moves as the weight of one row whose slope is theirs.
    w = engine.weights()
    assert np.all(w == w[0])
    assert np.isfinite(w[0])
    assert twin.step_batch([example]) == [0.0]


# --- training ------------------------------------------------------------------------------------


def weights_of(model):
    return np.append(model.coef_.ravel(), model.intercept_)


def test_a_batch_by_hand():
    """Two rows in a step: the gradients are -4 and -8, the rate is 1/2 and the shrink takes 1/4."""
    options = dict(l1=0.5, schedule="constant", eta0=0.5, fit_intercept=False, shuffle=False)
    model = LazyNetRegressor(**in_rule(batch_size=2, max_iter=1, tol=None, **options))
    model.fit([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [4.0, 8.0, 3.0])
    # The last batch has one row: its gradient, -3, is divided by 1.
    np.testing.assert_allclose(model.coef_, [2.75 - 0.25, 1.5 - 0.25], rtol=1e-15)
    assert model.t_ == 2
    # The losses of the predictions before each step, all of which were 0.
    assert model.history_[0]["progressive_loss"] == pytest.approx((8 + 32 + 4.5) / 3)


@pytest.mark.parametrize("size", [1, 7, 60, 1000])
def test_an_epoch_ends_with_a_short_batch(size):
    """t counts steps: ceil(n / batch_size) in an epoch; a batch never spans two epochs."""
    X, y = make_data(n=60)
    options = dict(batch_size=size, tol=None, random_state=0, shuffle=False, eta0=0.3, l1=1e-3)
    model = LazyNetClassifier(**in_rule(max_iter=3, **options)).fit(X, y)
    assert model.t_ == 3 * -(-60 // size)
    stream = LazyNetClassifier(**in_rule(**options))
    for _ in range(3):
        stream.partial_fit(X, y, classes=[0, 1])
    assert stream.t_ == model.t_
    np.testing.assert_array_equal(weights_of(model), weights_of(stream))


def test_a_batch_never_spans_two_calls():
    """Calls on parts of the rows equal one call where the parts end with whole batches."""
    X, y = make_data(n=60)
    options = dict(batch_size=8, random_state=0, shuffle=False, eta0=0.3, l1=1e-3)
    found = {}
    for cut in (16, 12):
        model = LazyNetClassifier(**in_rule(**options))
        for part in (slice(0, cut), slice(cut, 60)):
            model.partial_fit(X[part], y[part], classes=[0, 1])
        found[cut] = model
    whole = LazyNetClassifier(**in_rule(**options)).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_array_equal(weights_of(found[16]), weights_of(whole))
    assert found[16].t_ == whole.t_ == found[12].t_ == 8
    assert not np.array_equal(weights_of(found[12]), weights_of(whole))


@pytest.mark.parametrize("rule", ["auto", "fobos", "sgd", "truncated_gradient", "rda", "ftrl"])
def test_verify_compares_batches(rule):
    """The report counts steps."""
    X, y = make_data(n=60)
    report = LazyNetClassifier(**in_rule(rule=rule, batch_size=16, l1=1e-3)).verify(X, y, epochs=3)
    assert report.agrees
    assert (report.rows, report.steps, report.steps_compared) == (60, 12, 12)


def test_the_suffix_is_counted_in_steps():
    """The last half of the steps, not of the rows."""
    X, y = make_data(n=60, n_classes=0)
    options = dict(batch_size=15, max_iter=4, tol=None, random_state=0, eta0=0.01, l1=0.0)
    suffix = LazyNetRegressor(**in_rule(average="suffix", **options)).fit(X, y)
    given = LazyNetRegressor(**in_rule(average=9, **options)).fit(X, y)
    assert suffix.t_ == 16
    np.testing.assert_array_equal(weights_of(suffix), weights_of(given))


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (dict(storage=Tables()), "storage=Tables"),
        (dict(storage=Dense()), "storage=Dense"),
        (dict(storage="rescaled", l1=0.0), "storage=Rescaled"),
        (dict(rule=FoBoS(), schedule=FromData()), "schedule=FromData"),
        (dict(positive=True), "positive=True"),
    ],
)
def test_what_takes_one_row_in_a_step_is_refused(options, name):
    """The error names batch_size and what does not go with it, before anything changes."""
    X, y = make_data(n=20)
    with pytest.raises(ValueError, match=rf"^batch_size=4 does not go with {name}"):
        LazyNetClassifier(**in_rule(batch_size=4, **options)).fit(X, y)


@pytest.mark.parametrize(("size", "error"), [(0, ValueError), (-3, ValueError), (2.5, TypeError)])
def test_a_size_that_is_no_number_of_rows_is_refused(size, error):
    X, y = make_data(n=20)
    for estimator in (LazyNetClassifier, LazyNetRegressor):
        with pytest.raises(error, match=r"^batch_size of FoBoS must be"):
            estimator(rule=FoBoS(batch_size=size)).fit(X, y)


def test_schedule_auto_gives_rates_for_batches():
    """A regressor learns with its defaults."""
    X, y = make_data(n=400, n_classes=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LazyNetRegressor(rule=FoBoS(batch_size=8), random_state=0, l1=0.0).fit(X, y)
    assert model.score(X, y) > 0.9


def test_a_row_that_cannot_be_read_is_named():
    """The row, not the first row of its batch; and what was merged before it is forgotten."""
    X, y = corpus(n_rows=20, d=40, density=0.3)
    for rule in ("fobos", "adagrad"):
        chosen = plan(rule=rule, batch_size=8)
        engine = chosen.new_engine(40)
        hostile = X.copy()
        examples = examples_of(chosen, hostile, y)
        # Made hostile after the checks at the door.
        row = next(i for i in range(3, 8) if X.indptr[i] < X.indptr[i + 1])
        hostile.indices[X.indptr[row]] = 1000
        steps = chosen.steps(rows(20), 0)
        with pytest.raises(ValueError, match=f"row {row} cannot be read at step 0"):
            engine.take(examples, steps, chosen.task(engine))
        hostile.indices[X.indptr[row]] = X.indices[X.indptr[row]]
        again, fresh = chosen.new_engine(40), chosen.new_engine(40)
        again.take(examples, steps, chosen.task(again))
        fresh.take(examples, chosen.steps(rows(20), 0), chosen.task(fresh))
        np.testing.assert_array_equal(again.weights(), fresh.weights())


# --- the tests are tested ------------------------------------------------------------------------


def test_the_sum_of_the_gradients_is_caught():
    """The property of equal steps finds an engine that does not divide by the number of rows."""

    @caught(500)
    @given(data=st.data())
    def equal(data):
        problem = data.draw(problems(["squared_error"], ["fobos"]))
        lazy = AddsTheGradients(problem, data.draw(st.integers(2, 5)))
        weights_alone(lazy, twin_of(problem, lazy))


def weights_alone(lazy, twin):
    """``assert_batches_match`` without the predictions, which a broken engine may not keep."""
    for start, stop in lazy.spans:
        twin.step_batch([lazy.problem.example(place) for place in range(start, stop)])
        if not twin.comparable:
            return
        lazy.step(start, stop)
        assert twin.distance(lazy.engine.weights(), lazy.engine.intercept) <= twin.bound


def test_most_steps_are_compared():
    """The bound stays useful: comparing goes on over whole runs."""
    X, y = make_data(n=40)
    for loss in ("log_loss", "squared_error", "huber"):
        assert get_loss(loss).name in PLAIN_LOSSES
        chosen = plan(loss=loss, l1=1e-3, eta0=0.05, batch_size=8)
        twin = BoundedTwin.of_plan(chosen, X.shape[1], 1024.0)
        for start, stop in spans(40, 8):
            twin.step_batch(
                [
                    (X[i].indices.tolist(), X[i].data.tolist(), 2.0 * y[i] - 1, 1.0)
                    for i in range(start, stop)
                ]
            )
        assert twin.comparable
        assert twin.bound < 1e-12
