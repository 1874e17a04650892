"""Carpenter's inexact scheme, compiled, equals its plain form, and its name says inexact."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse
from support import plan
from support.algorithms import loss_of
from support.broken_engines import BROKEN_ENGINES
from support.engines import apart, near_a_kink
from support.matrices import corpus

from lazynet import Carpenter, InverseSqrt, LazyNetClassifier
from lazynet.checks.tolerance import NearbyRun
from lazynet.data import as_examples
from lazynet.engines.carpenter import CarpenterEngine
from lazynet.kernels.examples import Examples
from lazynet.learners import Learner, run_pass
from lazynet.losses import LOSSES
from lazynet.penalties import ElasticNet
from lazynet.reference.carpenter import PlainCarpenter
from lazynet.testing import problems

STRENGTHS = st.sampled_from([0.0, 1e-8, 1e-3, 0.1, 1.0])
PERIODS = st.one_of(st.none(), st.integers(1, 7))


def assert_matches_reference(problem, l1, l2, period, engine_class=CarpenterEngine):
    """Compare to 1e-10 of 1 + the largest, until rounding may decide a step or the run diverges."""
    plain, other = (
        PlainCarpenter(
            problem.n_features, l1=l1, l2=l2, schedule=problem.rate, period=period,
            fit_intercept=problem.fit_intercept, **loss_of(problem),
        )
        for _ in range(2)
    )  # fmt: skip
    nearby = NearbyRun(other)
    rule = Carpenter(period)
    lazy = problem.stepper(rule=rule, l1=l1, l2=l2)
    lazy.engine = engine_class(problem.n_features, rule, ElasticNet(l1, l2))
    for step in range(len(problem.order)):
        example = problem.example(step)
        prediction = plain.step(*example)
        if nearby.amplifies(*example, plain.weights):
            return
        if near_a_kink(problem, prediction, example[2]) or not abs(prediction) < 1e6:
            return
        lazy.step(*example)
        assert apart(lazy.weights, plain.weights) <= 1e-10
        assert apart(lazy.intercept, plain.intercept) <= 1e-10


@pytest.mark.parametrize("loss", LOSSES)
@given(data=st.data())
def test_every_step_equals_the_reference(loss, data):
    """Every step equals the reference, whatever the strengths, the period and the schedule."""
    problem = data.draw(problems([loss], intercepts=(False, True)))
    assert_matches_reference(
        problem, data.draw(STRENGTHS), data.draw(STRENGTHS), data.draw(PERIODS)
    )


@pytest.mark.parametrize("broken", BROKEN_ENGINES["carpenter_inexact"])
def test_broken_engines_are_caught(broken):
    """The property of equal steps finds every engine broken on purpose."""

    @settings(
        max_examples=1000, phases=[Phase.generate], database=None, derandomize=True, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(problem=problems(["squared_error"]))
    def equal(problem):
        assert_matches_reference(problem, 0.01, 0.1, 3, broken)

    with pytest.raises(AssertionError):
        equal()


def trained(chunk, level=None):
    X, y = corpus()
    chosen = plan(
        l1=1e-3, l2=1e-2, rule=Carpenter(50), schedule=InverseSqrt(0.1), fit_intercept=True
    )
    learner = Learner(chosen.new_engine(X.shape[1]), as_examples(X, y), chosen)
    if level is not None:
        learner.examples = Examples(X.data, X.indices, X.indptr, X.shape[1], y)
        learner.examples.at_level(level)
    for start in range(0, 400, chunk):
        run_pass([learner], np.arange(start, min(start + chunk, 400)), start)
    return learner.engine.weights()


def test_chunks_and_vector_levels_give_the_same_bits():
    """Chunks and vector levels change no bit on rows longer than any vector."""
    for other in (trained(37), trained(400, level=0), trained(400, level=1)):
        np.testing.assert_array_equal(trained(400), other)


def test_the_estimator_reaches_it_by_a_name_that_says_so():
    """The name says that the rule is inexact; parameters that it does not use are refused."""
    X, y = corpus()
    options = dict(l1=1e-3, l2=1e-2, eta0=0.1, max_iter=2, tol=None, shuffle=False)
    model = LazyNetClassifier(rule=Carpenter(period=1), **options).fit(X, y)
    exact = LazyNetClassifier(rule="sgd", **options).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-9, atol=1e-12)
    by_name = LazyNetClassifier(rule="carpenter_inexact", **options).fit(X, y)
    np.testing.assert_array_equal(
        by_name.coef_, LazyNetClassifier(rule=Carpenter(), **options).fit(X, y).coef_
    )
    with pytest.raises(TypeError, match="unexpected keyword argument 'threshold'"):
        Carpenter(threshold=1.0)
    with pytest.raises(ValueError, match="period of Carpenter must be at least 1"):
        LazyNetClassifier(rule=Carpenter(period=0)).fit(X, y)
    with pytest.raises(ValueError, match="engine is not used by rule=Carpenter"):
        LazyNetClassifier(rule="carpenter_inexact", engine="tables").fit(X, y)
    with pytest.raises(ValueError, match="average is not used"):
        LazyNetClassifier(rule="carpenter_inexact", average=True).fit(X, y)


@pytest.mark.parametrize("rule", ["carpenter_inexact", "truncated_gradient", "fobos"])
def test_a_weight_that_overflows_is_told(rule):
    """An overflowing weight raises; it is not taken for one that has vanished."""
    X = sparse.csr_matrix([[1e200, 0.0], [0.0, 1.0]])
    model = LazyNetClassifier(
        "hinge", l1=0, l2=0, rule=rule, schedule="constant", eta0=1e150, fit_intercept=False,
        shuffle=False, max_iter=1, tol=None,
    )  # fmt: skip
    with pytest.raises(FloatingPointError, match="overflowed"):
        model.fit(X, [1, 0])
    with pytest.raises(FloatingPointError, match="not a finite number"):
        model.partial_fit(X, [1, 0], classes=[0, 1])
