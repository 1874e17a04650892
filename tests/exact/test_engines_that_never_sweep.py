"""A wear that never sweeps gives the dense weights or an error, never wrong weights or NaN."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.algorithms import AFFINE_RULES, BOTH_ORDERS
from support.parameters import in_rule, rule_with

from lazynet import FoBoS, Stepper
from lazynet.engines.wear import Wear
from lazynet.verify.strategies import problems

#: no limit of the scale, of the cushion, or of the reach of an average
NEVER = Wear(
    smallest_scale=0.0, cushion=np.inf, largest_cushion=np.inf, nonzeros_per_weight=np.inf,
    reach=np.inf, largest_reach=np.inf,
)  # fmt: skip
KINDS = {
    "clock": dict(storage="clock"),
    "tables": dict(storage="tables"),
    "averaged clock": dict(storage="clock", average=True),
}
OUT_OF_RANGE = "left the range of doubles at step"

each_kind = pytest.mark.parametrize("kind", KINDS)
each_order = pytest.mark.parametrize("step_order", BOTH_ORDERS)

# eta l2 of a step: every step multiplies weights by 1 / (1 + eta l2) or by 1 - eta l2.
DECAYS = {"fobos": [0.0, 0.5, 1e3, 1e18, 1e50], "sgd": [0.0, 0.5, 0.999, 1.0 - 1e-12]}


@st.composite
def fast_decays(draw, rule):
    """Problems whose scale leaves the range of doubles within the run, or nearly does."""
    rate = draw(st.sampled_from([1e-3, 0.1, 0.5]))
    return draw(
        problems(
            rules=[rule], step_orders=BOTH_ORDERS, intercepts=(False, True), min_steps=20,
            max_steps=60, rate=rate, l2=draw(st.sampled_from(DECAYS[rule])) / rate,
        )
    )  # fmt: skip


def assert_dense_or_refused(problem, kind):
    """Compare with the dense twin until the engine refuses a step; returns whether it did."""
    twin, lazy = (
        problem.twin(),
        problem.stepper(wear=NEVER, rule=rule_with(problem.rule, **KINDS[kind])),
    )
    for step in range(len(problem.order)):
        example = problem.example(step)
        twin.step(*example)
        if not twin.comparable:
            return False
        before = lazy.weights
        try:
            lazy.step(*example)
        except FloatingPointError:
            # Refused with good reason: the scale has decayed by hundreds of binary digits, or the
            # sum of the pulls over the scale is as large.
            per_step = 1.0 - problem.rate(step) * problem.l2
            if problem.plain_options["rule"] == "fobos":
                per_step = 1.0 / (1.0 + problem.rate(step) * problem.l2)
            assert (step + 1) * math.log2(per_step) < -800
            # The refused step is undone.
            np.testing.assert_array_equal(lazy.weights, before)
            return True
        assert twin.distance(lazy.weights, lazy.intercept) <= twin.bound
    return False


@each_kind
@pytest.mark.parametrize("rule", AFFINE_RULES)
@given(data=st.data())
def test_weights_are_the_dense_ones_or_refused(kind, rule, data):
    """Weights are the dense ones or refused, whatever the decay, the pull and the rows."""
    assert_dense_or_refused(data.draw(fast_decays(rule)), kind)


def steppers(kind, rule, l1, l2):
    options = dict(loss="squared_error", rule=rule, l1=l1, l2=l2, schedule="constant", eta0=1.0)
    pair = (
        Stepper(2, **in_rule(wear=NEVER, **KINDS[kind], **options)),
        Stepper(2, **in_rule(storage="dense", **options)),
    )
    for stepper in pair:
        stepper.engine.load(np.array([1.0, 1.0]), 0.0)
    return pair


@each_kind
@each_order
def test_a_shift_that_overflows_is_refused(kind, step_order):
    """b / scale = 2^60 / 2^-970: the scale alone is still a normal double."""
    lazy, dense = steppers(kind, FoBoS(step_order=step_order), 2.0**160, 2.0**97 - 1.0)
    refused = None
    for step in range(10):
        dense.step([], [], 1.0)
        try:
            lazy.step([], [], 1.0)
        except FloatingPointError as error:
            refused = step, str(error)
            break
        np.testing.assert_array_equal(lazy.weights, dense.weights)
    step, message = refused
    assert 97 * (step + 1) < 1022
    assert OUT_OF_RANGE in message
