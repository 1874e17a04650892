"""Rules whose rates follow the sizes of the rows: exact, lazy, and blind to the scale of X.

The weights of FTRL and RDA are functions of sums and of the scale, so that a new scale visits no
weight.  AdaGrad sweeps: more about its sweeps is in test_adagrad_follows_the_data.py.
"""

import numpy as np
import pytest
from scipy import sparse
from support import examples_of, plan
from support.matrices import corpus
from support.parameters import in_rule
from support.rates import PENALTIES, part_ways, stream

from lazynet import FTRL, RDA, AdaGrad, DualNetClassifier, LazyNetClassifier, Stepper
from lazynet.engines.adagrad import AdaGradEngine
from lazynet.engines.catalogue import new_reference
from lazynet.engines.ftrl import FTRLEngine
from lazynet.engines.rda import RDAEngine
from lazynet.losses import LOSSES, get_loss
from lazynet.penalties import ElasticNet
from lazynet.training.learners import Learner, run_pass

RULES = [FTRL(), FTRL(penalty="once"), RDA(), RDA(rho=0.01), AdaGrad()]
ENGINES = {"ftrl": FTRLEngine, "rda": RDAEngine, "adagrad": AdaGradEngine}


# --- lazy equals dense --------------------------------------------------------------------------


def differs_from_the_reference(rule, engine=None, empty=3, l1=1e-3, l2=1e-3, loss="log_loss"):
    """Whether the weights or the intercept leave those of the dense reference at any step."""
    options = dict(l1=l1, l2=l2, loss=loss, fit_intercept=True)
    lazy = Stepper(9, **in_rule(rule=rule, **options))
    kind = ENGINES[rule.name] if engine is None else engine
    lazy.engine = kind(9, rule, ElasticNet(l1, l2), loss=lazy.plan.loss)
    dense = new_reference(
        rule, 9, loss=get_loss(loss), penalty=ElasticNet(l1, l2), schedule=None, fit_intercept=True
    )
    return part_ways(lazy, dense, stream(empty=empty))


@pytest.mark.parametrize("loss", [name for name, loss in LOSSES.items() if loss.margin])
@pytest.mark.parametrize("empty", [0, 1, 3, 33])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_step_equals_the_reference_across_refreshes(rule, loss, empty):
    """With importances, an intercept, and empty rows before the first that has a size."""
    for l1, l2 in PENALTIES:
        assert not differs_from_the_reference(rule, empty=empty, l1=l1, l2=l2, loss=loss)


class KeepsTheWeights(FTRLEngine):
    """Lets every new scale leave all weights what they are, learned or loaded."""

    def _run(self, examples, steps, task, first):
        self.set_field("loaded", -1.0)
        return super()._run(examples, steps, task, first)


def test_a_broken_scale_is_caught():
    """The comparison above notices weights that do not follow the scale."""
    assert differs_from_the_reference(FTRL(), KeepsTheWeights)


def test_the_scale_is_computed_before_the_steps_that_are_powers_of_two():
    """alpha is the constant over the mean of the rows as of the last refresh."""
    sizes = [0.0, 0.0, 4.0, 2.0, 8.0, 1.0, 0.5, 3.0, 7.0, 5.0]
    lazy, rates = Stepper(1, rule=FTRL(), loss="hinge"), []
    first = lazy.engine.present_rate
    for t, size in enumerate(sizes):
        lazy.step([0] if size else [], [size] if size else [], 1.0)
        rates.append(lazy.engine.present_rate)
        last = 0 if t == 0 else 2 ** int(np.log2(t))
        mean = sum(sizes[: last + 1]) / (last + 1)
        assert rates[-1] == pytest.approx(first / (mean or 1.0))
    assert len(set(rates)) == 4  # none before the first row, then steps 2, 4 and 8


@pytest.mark.parametrize("rule", [FTRL(), FTRL(beta=0.0), RDA()], ids=str)
def test_a_new_scale_multiplies_the_weights(rule):
    """Without a penalty weights are as if the new alpha had held from the start, and no cell moves.

    With beta = 0 they are multiplied by alpha_new / alpha_old; RDA's by gamma_old / gamma_new.
    """
    chosen = plan(rule=rule, l2=0.0 if rule.name == "rda" or rule.beta else 1e-12)
    X, y = corpus(n_rows=18, d=12)
    each = Learner(chosen.new_engine(12), examples_of(chosen, X, y), chosen)
    run_pass([each], np.arange(16), 0)
    engine, cells = each.engine, each.engine.cells.copy()
    weights, unit = engine.weights(), engine.unit
    engine.set_field("mean", 2.0 * unit)
    ratio = engine.weights()[weights != 0] / weights[weights != 0]
    if rule.name == "rda":
        np.testing.assert_array_equal(ratio, 0.25)
    elif not rule.beta:
        np.testing.assert_allclose(ratio, 0.5, rtol=1e-6)
    else:
        assert (ratio < 0.5).all()
    np.testing.assert_array_equal(engine.cells, cells)


# --- the scale of X -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "exponent"),
    [
        (rule, exponent)
        for rule, most in ((FTRL(), 130), (RDA(), 130), (AdaGrad(), 200))
        for exponent in (-most, -30, -1, 10, most)
    ],
    ids=str,
)
@pytest.mark.parametrize("loss", [name for name, loss in LOSSES.items() if loss.margin])
def test_the_scale_of_X_changes_nothing_but_the_scale_of_the_weights(rule, loss, exponent):
    """X times 2^k gives the weights times 2^-k bit for bit, and the same intercept."""
    X, y = corpus(n_rows=200, d=90)
    options = dict(loss=loss, rule=rule, l1=0.0, l2=0.0, max_iter=2, tol=None, random_state=0)
    model = LazyNetClassifier(**in_rule(**options)).fit(X, y)
    scaled = LazyNetClassifier(**in_rule(**options)).fit(X * 2.0**exponent, y)
    np.testing.assert_array_equal(scaled.coef_ * 2.0**exponent, model.coef_)
    np.testing.assert_array_equal(scaled.intercept_, model.intercept_)
    if rule.name == "adagrad":
        assert scaled.eta0_ * 2.0**exponent == model.eta0_
    assert np.count_nonzero(model.coef_) > 50


# --- chunks, copies, failed calls, loaded weights -----------------------------------------------


@pytest.mark.parametrize("rule", [FTRL(), RDA()], ids=str)
def test_loaded_weights_keep_their_size(rule):
    """No new scale multiplies weights that were given, and rows in any chunks see the same."""
    X, y = sparse.csr_matrix(np.random.default_rng(0).random((8, 40))), np.ones(8)
    weights = np.arange(40.0)
    # Rows of very different sizes that all predictions get right by far: nothing is learned.
    big = sparse.diags(100.0 * 10.0 ** np.arange(8)) @ X
    model = LazyNetClassifier(rule=rule, loss="hinge", l1=0.0, l2=0.0, shuffle=False)
    model.partial_fit(X, y, classes=[-1, 1])
    model.coef_, model.intercept_ = weights[None], [2.0]
    if rule.name == "rda":
        # The proximal term of RDA pulls towards zero; only the count of steps decides how much.
        model.partial_fit(big.tocsr(), y)
        np.testing.assert_allclose(model.coef_[0], weights / np.sqrt(9.0))
        return
    model.partial_fit(big.tocsr(), y)
    np.testing.assert_allclose(model.coef_[0], weights, rtol=1e-12)
    assert model.intercept_[0] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rows", -1.0, "rows must lie between 0 and"), ("rows", np.nan, "rows must lie between 0"),
        ("sizes", -1.0, "sizes and mean must not be negative"),
        ("mean", np.nan, "sizes and mean must not be negative"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("rule", [FTRL(), RDA(), AdaGrad()], ids=str)
def test_fields_that_no_run_leaves_behind_are_refused(rule, name, value, message):
    """Counts and means are checked before anything is read."""
    X, y = corpus(n_rows=4, d=5)
    chosen = plan(rule=rule)
    engine = chosen.new_engine(5)
    engine.set_field(name, value)
    with pytest.raises(ValueError, match=message):
        engine.take(examples_of(chosen, X, y), chosen.steps(np.arange(4), 0), chosen.task(engine))


# --- one meaning of l1 and l2 -------------------------------------------------------------------


def small_problem():
    rng = np.random.default_rng(0)
    X = sparse.random(120, 30, density=0.4, format="csr", random_state=0)
    X.data = rng.standard_normal(len(X.data))
    y = np.where(X[:, :6] @ np.array([2.0, -2.0, 1.5, 1.0, -1.0, 0.5]) + 0.5 > 0, 1, -1)
    flipped = rng.random(120) < 0.1
    return X, np.where(flipped, -y, y)


def objective(model, X, y, l1, l2):
    margins = y * model.decision_function(X)
    penalty = l1 * np.abs(model.coef_).sum() + l2 / 2 * (model.coef_**2).sum()
    return np.logaddexp(0.0, -margins).mean() + penalty


def distance_to_the_minimum(rule, l1=0.02, l2=0.01):
    """How far the objective is above the minimum, and the large weights beside those there."""
    X, y = small_problem()
    best = DualNetClassifier(l1=l1, l2=l2, tol=1e-10).fit(X, y)
    options = dict(schedule="inverse_sqrt", eta0=1.0) if rule == "fobos" else {}
    model = LazyNetClassifier(
        **in_rule(rule=rule, l1=l1, l2=l2, max_iter=400, tol=None, random_state=0, **options)
    ).fit(X, y)
    large = [np.abs(each.coef_) > 0.1 * np.abs(each.coef_).max() for each in (model, best)]
    above = objective(model, X, y, l1, l2) / objective(best, X, y, l1, l2) - 1.0
    return above, large[0].sum() - large[1].sum()


@pytest.mark.parametrize("rule", ["fobos", "rda", "adagrad", "ftrl"])
def test_l1_and_l2_mean_the_same_in_every_rule(rule):
    """All approach the minimum of one objective, with about its number of large weights."""
    above, more = distance_to_the_minimum(rule)
    assert 0.0 <= above < 0.01
    assert abs(more) <= 3


def test_l1_and_l2_of_the_published_ftrl_mean_something_else():
    """The penalty of a single example has no effect after thousands of steps."""
    above, more = distance_to_the_minimum(FTRL(penalty="once"))
    assert above > 0.5
    assert more > 8


# --- warm starts --------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["rda", "ftrl", "adagrad"])
def test_a_warm_start_goes_on_as_partial_fit_does(rule):
    """The sums of gradients are kept, and the first weights and all later ones are the same."""
    X, y = small_problem()
    options = dict(rule=rule, l1=1e-3, l2=1e-3, shuffle=False, tol=None)
    model = LazyNetClassifier(**in_rule(max_iter=5, warm_start=True, **options)).fit(X, y)
    further = LazyNetClassifier(**in_rule(max_iter=5, **options)).fit(X, y).partial_fit(X, y)
    before = model.coef_
    model.set_params(max_iter=1).fit(X, y)
    np.testing.assert_array_equal(model.coef_, further.coef_)
    np.testing.assert_array_equal(model.intercept_, further.intercept_)
    assert np.any(model.coef_ != before)
