"""The rescaled engine equals the clock without an l1 penalty, and refuses an l1 penalty."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import plan, rows
from support.algorithms import AFFINE_RULES, BOTH_ORDERS
from support.caught import caught
from support.parameters import in_rule, rule_with
from support.wears import wears

from lazynet import FoBoS, LazyNetClassifier, Stepper
from lazynet.data.arrays import as_examples
from lazynet.engines.dense import DenseEngine
from lazynet.engines.rescaled import RescaledEngine
from lazynet.engines.wear import Wear
from lazynet.kernels import clock as clock_kernel
from lazynet.verify.strategies import assert_matches_twin, problems

BOTH = (False, True)


@pytest.mark.parametrize("step_order", BOTH_ORDERS)
@pytest.mark.parametrize("rule", AFFINE_RULES)
@given(data=st.data())
def test_every_step_equals_the_dense_twin(rule, step_order, data):
    """Every step equals the dense twin, whether sweeps are as seldom or as often as the clock's."""
    problem = data.draw(problems(rules=[rule], step_orders=[step_order], intercepts=BOTH, l1=0.0))
    stepper = problem.stepper(
        rule=rule_with(problem.rule, storage="rescaled"), wear=data.draw(wears())
    )
    assert_matches_twin(stepper, problem)


class SweepsWithoutTheScale(RescaledEngine):
    """Begins again at the scale 1 and leaves the stored numbers as they were."""

    def _sweep(self):
        clock_kernel.start(self.fields)


def test_broken_engines_are_caught():
    """The comparison with the dense twin finds every broken engine where sweeps are frequent."""
    wear = Wear(smallest_scale=0.9)

    @caught(match="away from the dense twin")
    @given(problem=problems(step_orders=BOTH_ORDERS, l1=0.0))
    def equal(problem):
        stepper = problem.stepper(rule=rule_with(problem.rule, storage="rescaled"), wear=wear)
        stepper.engine = SweepsWithoutTheScale(problem.n_features, wear)
        assert_matches_twin(stepper, problem)


def test_few_sweeps_over_a_long_run():
    """A hundred thousand steps with eta l2 = 0.1: thirty, for 0.9^3290 < 2^-500."""
    sweeps = 0

    class Counting(RescaledEngine):
        def _sweep(self):
            nonlocal sweeps
            sweeps += 1
            super()._sweep()

    X = sparse.csr_matrix(np.eye(3))
    learned = {}
    for engine in (Counting(3), DenseEngine(3)):
        chosen = plan(l2=1.0, rule="sgd", eta0=0.1)
        order = np.random.default_rng(0).integers(0, 3, 100_000)
        engine.take(as_examples(X, np.ones(3)), chosen.steps(order, 0), chosen.task(engine))
        learned[engine.name] = engine.weights()
    assert sweeps == 30
    np.testing.assert_allclose(learned["rescaled"], learned["dense"], rtol=0, atol=1e-14)


def test_an_l1_penalty_is_refused_everywhere():
    """The estimators, the stepper and the kernel refuse an l1 penalty, which would be forgotten."""
    X, y = sparse.csr_matrix(np.eye(2)), np.array([0, 1])
    with pytest.raises(ValueError, match="knows no l1 penalty, got l1=1e-06; set l1=0"):
        LazyNetClassifier(rule=FoBoS(storage="rescaled"), l1=1e-6).fit(X, y)
    # An l1 that is left to the model is 0.
    left_open = LazyNetClassifier(rule=FoBoS()).fit(X, y)
    assert left_open.l1_ > 0.0
    assert left_open.set_params(rule__storage="rescaled").fit(X, y).l1_ == 0.0
    with pytest.raises(ValueError, match="knows no l1 penalty"):
        Stepper(2, rule=FoBoS(storage="rescaled"), l1=0.5)
    engine = RescaledEngine(2)
    chosen = plan(l1=0.5)
    with pytest.raises(ValueError, match="knows no l1 penalty"):
        engine.take(as_examples(X, np.ones(2)), chosen.steps(rows(2), 0), chosen.task(engine))
    options = dict(l1=0.0, l2=0.1, eta0=0.5, max_iter=3, tol=None, random_state=0)
    model, other = (
        LazyNetClassifier(**in_rule(storage="rescaled", **options)),
        LazyNetClassifier(**in_rule(**options)),
    )
    np.testing.assert_allclose(model.fit(X, y).coef_, other.fit(X, y).coef_, rtol=1e-14)
