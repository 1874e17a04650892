"""Engines that never sweep give the dense weights or an error, never wrong weights or NaN."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.algorithms import AFFINE_RULES, BOTH_ORDERS
from support.parameters import in_rule, rule_with

from lazynet import FoBoS, Stepper
from lazynet.engines.base import SweepLimits
from lazynet.reference.affine import MAPS
from lazynet.verify.strategies import problems

#: no limit of the scale, of the cushion, or of the reach of an average
NEVER = SweepLimits(
    smallest_scale=0.0, cushion=np.inf, largest_cushion=np.inf, nonzeros_per_weight=np.inf,
    reach=np.inf, largest_reach=np.inf,
)  # fmt: skip
KINDS = [dict(storage="clock"), dict(storage="tables"), dict(storage="clock", average=True)]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=str)

# eta l2 of a step: every step multiplies weights by 1 / (1 + eta l2) or by 1 - eta l2.
DECAYS = {"fobos": [0.0, 0.5, 1e3, 1e18, 1e50], "sgd": [0.0, 0.5, 0.999, 1.0 - 1e-12]}


@each_kind
@pytest.mark.parametrize("rule", AFFINE_RULES)
@given(data=st.data())
def test_weights_are_the_dense_ones_or_refused(kind, rule, data):
    """The scale leaves the range of doubles within the run, or nearly does."""
    rate = data.draw(st.sampled_from([1e-3, 0.1, 0.5]))
    l2 = data.draw(st.sampled_from(DECAYS[rule])) / rate
    problem = data.draw(problems(
        rules=[rule], step_orders=BOTH_ORDERS, intercepts=(False, True), min_steps=20,
        max_steps=60, rate=rate, l2=l2,
    ))  # fmt: skip
    twin, lazy = (
        problem.reference(),
        problem.stepper(limits=NEVER, rule=rule_with(problem.rule, **kind)),
    )
    for step in range(len(problem.order)):
        example = problem.example(step)
        twin.step(*example)
        if not twin.comparable:
            return
        before = lazy.weights
        try:
            lazy.step(*example)
        except FloatingPointError:
            # Refused with good reason: the scale has decayed by hundreds of binary digits, or the
            # sum of the pulls over the scale is as large.  The refused step is undone.
            keep, _ = MAPS[rule](rate, 0.0, l2)
            assert (step + 1) * math.log2(keep) < -800
            np.testing.assert_array_equal(lazy.weights, before)
            return
        assert twin.distance(lazy.weights, lazy.intercept) <= twin.bound


@each_kind
@pytest.mark.parametrize("step_order", BOTH_ORDERS)
def test_a_shift_that_overflows_is_refused(kind, step_order):
    """b / scale = 2^60 / 2^-970: the scale alone is still a normal double."""
    options = dict(loss="squared_error", l1=2.0**160, l2=2.0**97 - 1.0)
    options |= dict(rule=FoBoS("constant", eta0=1.0, step_order=step_order))
    lazy = Stepper(2, **in_rule(limits=NEVER, **kind, **options))
    dense = Stepper(2, **in_rule(storage="dense", **options))
    for stepper in (lazy, dense):
        stepper.engine.set_coefficients(np.ones((1, 2)), np.zeros(1))

    def step_until_refused():
        for _ in range(10):
            dense.step([], [], 1.0)
            lazy.step([], [], 1.0)
            np.testing.assert_array_equal(lazy.weights, dense.weights)

    with pytest.raises(FloatingPointError, match="left the range of doubles at step"):
        step_until_refused()
    assert 97 * (lazy.t + 1) < 1022
