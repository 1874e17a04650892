"""RDA, FTRL and AdaGrad, compiled, equal their references after every step."""

import contextlib
import copy
import pickle
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from support import rows, task_for
from support.engines import apart, near_a_kink
from support.matrices import corpus, make_data

from lazynet import LazyNetClassifier, LazyNetRegressor, Stepper
from lazynet.data import as_examples
from lazynet.estimators import _continued
from lazynet.kernels import adagrad as adagrad_kernel
from lazynet.kernels import ftrl as ftrl_kernel
from lazynet.kernels import rda as rda_kernel
from lazynet.kernels.examples import Examples
from lazynet.losses import LOSSES, get_loss
from lazynet.online import AdaGradEngine, FTRLEngine, RDAEngine
from lazynet.penalties import ElasticNet
from lazynet.reference.adagrad import DenseAdaGrad
from lazynet.reference.ftrl import DenseFTRL
from lazynet.reference.rda import DenseRDA
from lazynet.rules import OWN_RULES, make_rule
from lazynet.rules import RULES as ALL_RULES
from lazynet.schedules import Constant
from lazynet.testing import problems
from lazynet.trainer import Learner, Recipe, run_pass

STRENGTHS = st.sampled_from([0.0, 1e-8, 1e-3, 0.1, 1.0, 10.0])
RULES = ("rda", "ftrl", "adagrad")
REFERENCES = {"rda": DenseRDA, "ftrl": DenseFTRL, "adagrad": DenseAdaGrad}
#: parameters of each that are not its defaults
GIVEN = {
    "rda": dict(gamma=3.0, rho=0.01),
    "ftrl": dict(eta0=0.2, beta=0.5),
    "adagrad": dict(eta0=0.2, delta=0.5),
}


@st.composite
def parameters(draw, rule):
    """What the rule takes, far and wide."""
    penalty = dict(l1=draw(STRENGTHS), l2=draw(STRENGTHS))
    if rule == "rda":
        own = dict(gamma=draw(st.sampled_from([0.05, 1.0, 50.0])))
        return penalty | own | dict(rho=draw(st.sampled_from([0.0, 0.01, 1.0])))
    if rule == "adagrad":
        own = dict(eta0=draw(st.sampled_from([0.01, 0.1, 2.0])))
        return penalty | own | dict(delta=draw(st.sampled_from([1e-6, 0.1, 20.0])))
    assert rule == "ftrl"
    own = dict(eta0=draw(st.sampled_from([0.01, 0.1, 2.0])))
    return penalty | own | dict(beta=draw(st.sampled_from([0.1, 1.0, 20.0])))


def reference(rule, problem, chosen):
    """In the papers' terms: what the estimators call eta0 is alpha there."""
    options = dict(loss=problem.loss, epsilon=problem.epsilon, fit_intercept=problem.fit_intercept)
    chosen = {"alpha" if key == "eta0" else key: value for key, value in chosen.items()}
    return REFERENCES[rule](problem.n_features, **options, **chosen)


def stepper(rule, problem, chosen):
    options = dict(loss=problem.loss, epsilon=problem.epsilon, fit_intercept=problem.fit_intercept)
    return Stepper(problem.n_features, rule=rule, **options, **chosen)


def assert_matches_reference(problem, twin, lazy):
    """To 1e-10 of 1 + the largest, until rounding may decide a step or the run diverges."""
    for step in range(len(problem.order)):
        example = problem.example(step)
        prediction = twin.step(*example)
        if near_a_kink(problem, prediction, example[2]) or not abs(prediction) < 1e6:
            return
        lazy.step(*example)
        assert apart(lazy.weights, twin.weights) <= 1e-10
        assert apart(lazy.intercept, twin.intercept) <= 1e-10


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", RULES)
@given(data=st.data())
def test_every_step_equals_the_reference(rule, loss, data):
    """Any sparsity, importances, strengths, with and without an intercept."""
    problem = data.draw(problems([loss], intercepts=(False, True)))
    chosen = data.draw(parameters(rule))
    assert_matches_reference(
        problem, reference(rule, problem, chosen), stepper(rule, problem, chosen)
    )


def learner(rule, X, y, **given):
    chosen = make_rule(rule, **given)
    penalty = ElasticNet(1e-3, 1e-4)
    recipe = Recipe(get_loss("log_loss"), penalty, chosen, Constant(1.0), fit_intercept=True)
    return Learner(chosen.new_engine(X.shape[1], penalty), as_examples(X, y), recipe)


@pytest.mark.parametrize("rule", RULES)
def test_any_split_into_chunks_gives_the_same_bits(rule):
    """On rows longer than any vector, with reading in between."""
    X, y = corpus()
    whole, split = learner(rule, X, y), learner(rule, X, y)
    run_pass([whole], None, 0)
    for start in range(0, 400, 37):
        run_pass([split], np.arange(start, min(start + 37, 400)), start)
        split.engine.weights(), split.engine.intercept
    np.testing.assert_array_equal(whole.engine.weights(), split.engine.weights())
    assert whole.engine.intercept == split.engine.intercept


@pytest.mark.parametrize("values", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("rule", RULES)
def test_every_vector_level_gives_the_same_bits(rule, values, indices):
    """The machine's best loops and the generic ones; the reference agrees with both."""
    X, y = corpus()
    X = X.astype(values)
    seen = {}
    for level in range(8):
        each = learner(rule, X, y)
        examples = Examples(
            X.data, X.indices.astype(indices), X.indptr.astype(indices), X.shape[1], y
        )
        used = examples.at_level(level)
        each.engine.take(examples, each.recipe.steps(rows(400), 0), each.task)
        seen[used] = each.engine.weights()
    for weights in seen.values():
        np.testing.assert_array_equal(weights, seen[0])
    twin = REFERENCES[rule](X.shape[1], l1=1e-3, l2=1e-4, fit_intercept=True)
    for i in range(400):
        twin.step(X[i].indices.tolist(), X[i].data.tolist(), y[i])
    assert apart(seen[0], twin.weights) <= 1e-12


@pytest.mark.parametrize("l2", [0.0, 1e-4, 0.01, 1.0, 100.0])
def test_adagrad_on_rows_of_every_length(l2):
    """Blocks, overlapping ends and short rows; decays within the series, beyond it, and both."""
    generator = np.random.default_rng(0)
    lazy = Stepper(60, rule="adagrad", l1=1e-4, l2=l2, eta0=0.1)
    twin = DenseAdaGrad(60, l1=1e-4, l2=l2, alpha=0.1)
    for length in [*range(1, 45), *range(44, 0, -1)]:
        columns = np.sort(generator.choice(60, length, replace=False))
        values = generator.standard_normal(length) * 10.0 ** generator.uniform(-3, 1, length)
        target = generator.choice([-1.0, 1.0])
        lazy.step(columns, values, target)
        twin.step(columns.tolist(), values.tolist(), target)
        assert apart(lazy.weights, twin.weights) <= 1e-12


# --- the tests are tested -----------------------------------------------------------------------


class ForgetsTheFadingPenalty(RDAEngine):
    """rho taken for 0 when weights are read."""

    def weights(self, out=None):
        engine = copy.copy(self)
        engine.parameters = self.parameters._replace(rho=0.0)
        return RDAEngine.weights(engine, out)


class PenalisesTheIntercept(FTRLEngine):
    """An intercept with l1 and l2."""

    @property
    def intercept(self):
        current = np.empty(1)
        ftrl_kernel.read(self.intercept_cell.reshape(1, 2), *self.parameters, current)
        return float(current[0])


class UsesTheSquares(FTRLEngine):
    """n in the place of its root, when weights are read."""

    def weights(self, out=None):
        engine = copy.deepcopy(self)
        engine.cells[:, 1] **= 2
        return FTRLEngine.weights(engine, out)


class NeverCatchesUp(AdaGradEngine):
    """Weights as of when they were touched last."""

    def _read(self, which, out):
        out[:] = self.cells[which][:, 0]


class ForgetsWhen(AdaGradEngine):
    """Every shrink since the beginning, whatever has been had of them."""

    def _read(self, which, out):
        cells = self.cells[which].copy()
        cells[:, 3] = 0.0
        adagrad_kernel.read(cells, self.now, *self.parameters, out)


@pytest.mark.parametrize(
    "broken",
    [NeverCatchesUp, ForgetsWhen, ForgetsTheFadingPenalty, PenalisesTheIntercept, UsesTheSquares],
)
def test_broken_engines_are_caught(broken):
    """By the property above."""

    @settings(
        max_examples=1000, phases=[Phase.generate], database=None, derandomize=True, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(data=st.data())
    def equal(data):
        problem = data.draw(problems(["squared_error"], intercepts=[True]))
        chosen = data.draw(parameters(broken.name))
        lazy = stepper(broken.name, problem, chosen)
        lazy.engine = broken(problem.n_features, lazy.engine.parameters)
        assert_matches_reference(problem, reference(broken.name, problem, chosen), lazy)

    with pytest.raises(AssertionError):
        equal()


# --- engines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_copies_learn_on_alike(rule):
    """Pickled in the middle."""
    X, y = corpus()
    first = learner(rule, X, y)
    run_pass([first], None, 0)
    second = learner(rule, X, y)
    second.engine = pickle.loads(pickle.dumps(first.engine))
    for each in (first, second):
        run_pass([each], None, 400)
    np.testing.assert_array_equal(first.engine.weights(), second.engine.weights())


@pytest.mark.parametrize("rule", RULES)
def test_a_bad_row_takes_the_whole_call_back(rule):
    """Weights, intercept and parameters are what they were."""
    X, y = make_data()
    model = LazyNetClassifier(rule=rule, random_state=0).partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy(), model.intercept_
    model.set_params(l1=0.5)
    with pytest.raises(FloatingPointError):
        model.partial_fit(X * 1e200, y)
    np.testing.assert_array_equal(model._engines[0].weights(), before[0].ravel())
    np.testing.assert_array_equal(model.intercept_, before[1])


def test_kernels_refuse_state_that_does_not_fit():
    """Lengths and scalars, before anything is read."""
    examples = as_examples(sparse.csr_matrix((1, 2)), np.ones(1))
    each = learner("rda", sparse.csr_matrix((1, 2)), np.ones(1))
    steps, task = each.recipe.steps(rows(1), 0), task_for(each.engine, each.recipe)
    two, fields = np.zeros(2), np.zeros(rda_kernel.RDA_FIELDS)
    for call, message in (
        (lambda: rda_kernel.run(examples, steps, task, 0, 0, 0, 0, two, fields, 0), "gamma must"),
        (lambda: rda_kernel.run(examples, steps, task, 0, 0, 1, 0, np.zeros(3), fields, 0), "sums"),
        (lambda: rda_kernel.run(examples, steps, task, 0, 0, 1, 0, two, np.zeros(9), 0), "fields"),
        (lambda: rda_kernel.read(two, fields, 0, 0, 1, 0, np.zeros(3)), "weights must have 2"),
        (lambda: ftrl_kernel.run(examples, steps, task, 0, 0, 0, 1, np.zeros((2, 2)), two, 0),
         "alpha must be"),
        (lambda: ftrl_kernel.run(examples, steps, task, 0, 0, 1, 0, np.zeros((2, 2)), two, 0),
         "beta and l2"),
        (lambda: ftrl_kernel.run(examples, steps, task, 0, 0, 1, 1, np.zeros((3, 2)), two, 0),
         "cells must have 2 rows"),
        (lambda: ftrl_kernel.read(np.zeros((2, 2)), 0, 0, 1, 1, np.zeros(3)), "weights must have"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            call()


@given(data=st.data())
@pytest.mark.parametrize("rule", [*RULES, "truncated_gradient", "carpenter_inexact"])
def test_engines_survive_hostile_matrices_and_orders(rule, data):
    """Any indices, row starts and order: an error or a result, never a stray read."""
    numbers = st.one_of(st.integers(-5, 15), st.sampled_from([2**31 - 1, -(2**31), 1000]))
    indices = data.draw(st.lists(numbers, max_size=12))
    indptr = data.draw(st.lists(numbers, min_size=1, max_size=8))
    order = np.array(data.draw(st.lists(numbers, max_size=10)), dtype=np.int64)
    n_columns = data.draw(st.integers(0, 8))
    examples = Examples(
        np.ones(len(indices)), np.array(indices, dtype=np.int32),
        np.array(indptr, dtype=np.int32), n_columns, np.ones(len(indptr) - 1),
    )  # fmt: skip
    given_ = dict(threshold=0.5) if rule == "truncated_gradient" else {}
    chosen, penalty = make_rule(rule, **given_), ElasticNet(0.1, 0.0)
    engine = chosen.new_engine(n_columns, penalty)
    recipe = Recipe(get_loss("log_loss"), penalty, chosen, Constant(0.1))
    with contextlib.suppress(ValueError):
        engine.take(examples, recipe.steps(order, 0), task_for(engine, recipe))
    assert engine.weights().shape == (n_columns,)


@given(cells=st.lists(st.floats(), min_size=12, max_size=12))
def test_adagrad_survives_any_state(cells):
    """Weights, roots and step numbers that no run leaves behind."""
    penalty = ElasticNet(0.1, 0.1)
    chosen = make_rule("adagrad")
    engine = chosen.new_engine(3, penalty)
    engine.cells[:] = np.array(cells).reshape(3, 4)
    recipe = Recipe(get_loss("log_loss"), penalty, chosen, Constant(0.1))
    X = sparse.csr_matrix(np.ones((2, 3)))
    with contextlib.suppress(FloatingPointError):
        engine.take(as_examples(X, np.ones(2)), recipe.steps(rows(2), 0), task_for(engine, recipe))
    assert engine.weights().shape == (3,)


# --- estimators ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_fit_is_stepping_by_hand(rule, n_classes):
    """Unshuffled, for regression, two classes and several."""
    X, y = make_data(n_classes=n_classes)
    kind = LazyNetClassifier if n_classes else LazyNetRegressor
    given = GIVEN[rule] | dict(l1=1e-2, l2=1e-3)
    model = kind(rule=rule, max_iter=2, tol=None, shuffle=False, **given).fit(X, y)
    own = dict(given)
    if "eta0" in own:
        own["alpha"] = own.pop("eta0")
    positives = [None] if not n_classes else [1] if n_classes == 2 else [0, 1, 2]
    for k, positive in enumerate(positives):
        loss = "squared_error" if positive is None else "log_loss"
        twin = REFERENCES[rule](X.shape[1], loss=loss, fit_intercept=True, **own)
        for _ in range(2):
            for i in range(X.shape[0]):
                target = y[i] if positive is None else 1.0 if y[i] == positive else -1.0
                twin.step(X[i].indices.tolist(), X[i].data.tolist(), float(target))
        assert apart(model.coef_[k], twin.weights) <= 1e-11
        assert apart(model.intercept_[k], twin.intercept) <= 1e-11


@pytest.mark.parametrize("rule", RULES)
def test_they_learn(rule):
    """A separable problem, and fewer weights with a stronger l1."""
    X, y = make_data(n=200)
    light, heavy = (
        LazyNetClassifier(
            rule=rule, l1=l1, eta0=0.5 if rule == "ftrl" else None, max_iter=30, random_state=0,
            tol=None,
        ).fit(X, y)
        for l1 in ((1e-3, 20.0) if rule == "ftrl" else (1e-4, 0.05))
    )  # fmt: skip
    assert light.score(X, y) > 0.9
    assert np.count_nonzero(heavy.coef_) < np.count_nonzero(light.coef_)


@pytest.mark.parametrize("rule", RULES)
def test_a_warm_start_begins_at_the_weights(rule):
    """The state is one that gives them."""
    X, y = make_data()
    model = LazyNetClassifier(rule=rule, l1=1e-3, max_iter=5, tol=None, random_state=0).fit(X, y)
    engine = _continued(model._settle(), model._engines[0], average=False)
    assert apart(engine.weights(), model.coef_.ravel()) <= 1e-15
    assert apart(engine.intercept, model.intercept_[0]) <= 1e-15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(rule="rda", eta0=0.1), "eta0 is not used by rule='rda' but by"),
        (dict(rule="rda", beta=1.0), "beta is not used by rule='rda' but by"),
        (dict(rule="fobos", gamma=1.0), "gamma is not used by rule='fobos' but by"),
        (dict(rule="sgd", beta=1.0), "beta is not used by rule='sgd'"),
        (dict(rule="ftrl", rho=0.1), "rho is not used by rule='ftrl'"),
        (dict(rule="ftrl", schedule="constant"), "schedule is not used by rule='ftrl'"),
        (dict(rule="rda", power_t=0.5), "power_t is not used"),
        (dict(rule="rda", step_order="shrink_first"), "step_order is not used"),
        (dict(rule="rda", engine="dense"), "engine is not used"),
        (dict(rule="rda", average=True), "average is not used"),
        (dict(rule="rda", gamma=0.0), "gamma must be finite and positive"),
        (dict(rule="ftrl", beta=0.0, l2=0.0), "beta and l2 must not both be 0"),
        (dict(rule="adagrad", beta=0.1), "beta is not used by rule='adagrad'"),
        (dict(rule="adagrad", delta=0.0), "delta must be finite and positive"),
        (
            dict(rule="nothing"),
            re.escape(f"rule must be one of {sorted(ALL_RULES | OWN_RULES)}"),
        ),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(options, message):
    """Before anything is trained."""
    X, y = make_data()
    with pytest.raises(ValueError, match=message):
        LazyNetClassifier(**options).fit(X, y)


@pytest.mark.parametrize("rule", ["ftrl", "adagrad"])
def test_the_rate_that_was_used_is_told(rule):
    """That of the rule where none was given, in eta0_ and in the warning."""
    X, y = make_data()
    with pytest.warns(ConvergenceWarning, match=r"eta0 \(which is 0\.1\)"):
        assert LazyNetClassifier(rule=rule, max_iter=1).fit(X, y).eta0_ == 0.1
    with pytest.warns(ConvergenceWarning, match="raise max_iter, or see history_"):
        LazyNetClassifier(rule="rda", max_iter=1).fit(X, y)


# --- rates that change between calls ------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "before", "after"),
    [
        ("ftrl", dict(eta0=1.0), dict(eta0=0.1)),
        ("ftrl", dict(beta=1.0), dict(beta=50.0)),
        ("ftrl", dict(beta=1.0), dict(beta=0.0)),
        ("rda", dict(gamma=1.0), dict(gamma=20.0)),
        ("rda", dict(rho=0.0), dict(rho=0.5)),
    ],
)
def test_new_rates_leave_the_weights_what_they_are(rule, before, after):
    """A row without nonzeros changes nothing but the intercept, whatever the rates have become."""
    X, y = make_data()
    options = dict(rule=rule, l1=1e-3, l2=1e-2, shuffle=False, fit_intercept=False)
    model = LazyNetClassifier(**options, **before).partial_fit(X, y, classes=[0, 1])
    weights = model.coef_.copy()
    model.set_params(**after)
    engine = model._engines[0]
    engine.retune(make_rule(rule, **after).parameters(ElasticNet(1e-3, 1e-2)))
    np.testing.assert_allclose(engine.weights(), weights[0], rtol=1e-12)
    np.testing.assert_array_equal(engine.weights() == 0, weights[0] == 0)
    assert np.count_nonzero(weights) > 0


def test_new_rates_concern_the_steps_to_come():
    """FTRL without l1 is w <- w - rate g, with the rate that holds when the step is made."""
    model = LazyNetRegressor(rule="ftrl", eta0=1.0, beta=0.0, l1=0.0, l2=1e-12, fit_intercept=False)
    weight = model.partial_fit([[1.0]], [4.0]).coef_[0]  # the gradient is -4, the rate 1 / 4
    assert weight == pytest.approx(1.0)
    model.set_params(eta0=0.5).partial_fit([[1.0]], [4.0])  # -3, and 0.5 / 5
    assert model.coef_[0] == pytest.approx(1.3)


def test_ftrl_without_beta_begins_when_a_gradient_has_been_seen():
    """With an l2 penalty for the weights; the intercept, which has none, is 0 until then."""
    X, y = make_data()
    for fit_intercept in (False, True):
        model = LazyNetClassifier(
            rule="ftrl", beta=0.0, l2=0.1, shuffle=False, fit_intercept=fit_intercept
        ).partial_fit(X, y, classes=[0, 1])
        twin = DenseFTRL(
            X.shape[1], l1=1e-6, l2=0.1, alpha=0.1, beta=0.0, fit_intercept=fit_intercept
        )
        for row, label in zip(X, y, strict=True):
            twin.step(row.indices.tolist(), row.data.tolist(), 2.0 * label - 1.0)
        np.testing.assert_allclose(model.coef_[0], twin.weights, atol=1e-12)
        assert model.intercept_[0] == pytest.approx(twin.intercept, abs=1e-12)


def test_an_intercept_is_carried_over_to_ftrl_without_beta():
    """Where no gradient has been seen there must have been a small one."""
    engine = FTRLEngine(1, make_rule("ftrl", beta=0.0).parameters(ElasticNet(0.0, 1.0)))
    engine.load(np.array([2.0]), -3.0)
    assert engine.weights()[0] == pytest.approx(2.0)
    assert engine.intercept == pytest.approx(-3.0)
