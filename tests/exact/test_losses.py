"""Compiled losses equal their Python twins, and have the kinks and curvatures of their table."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier

from lazynet import FromData
from lazynet.data.statistics import RowStatistics
from lazynet.kernels.objective import LOSS_COUNT, values_and_slopes
from lazynet.losses import LOSSES, Loss
from lazynet.reference import DenseFromData
from lazynet.reference.losses import LOSSES as TWINS
from lazynet.reference.losses import SHAPES
from lazynet.training.automatic import L1_SHARE, default_l1
from lazynet.training.tuning import tuning_of

each_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)

# Eighths land exactly on every kink.
EIGHTHS = st.integers(-80, 80).map(lambda n: n / 8)
EPSILONS = st.integers(1, 16).map(lambda n: n / 8)
NEAR = EIGHTHS | st.floats(-20, 20)


def targets(loss: Any, real: st.SearchStrategy = NEAR) -> st.SearchStrategy:
    return st.sampled_from([-1.0, 1.0]) if loss.margin else real


def evaluate(loss: Any, p: Any, y: Any, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Compiled values and slopes at predictions ``p`` and targets ``y``, broadcast together."""
    p, y = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(y, dtype=float))
    return values_and_slopes(loss.code, p.copy(), y.copy(), epsilon)


def prediction(loss: Any, at: Any, y: float) -> Any:
    """The prediction whose margin, or whose residual, is ``at``."""
    return at * y if loss.margin else y + at


# --- the table -------------------------------------------------------------------------------


def test_table_kernel_and_twins_list_the_same_losses():
    """Codes are 0 .. n-1 in the order of the table, and every row has its twin.

    The reference imports nothing of lazynet, and so it has a table of the constants of its own.
    """
    assert [loss.code for loss in LOSSES.values()] == list(range(LOSS_COUNT))
    assert all(loss.name == name for name, loss in LOSSES.items())
    assert list(TWINS) == list(SHAPES) == list(LOSSES)
    for loss in LOSSES.values():
        assert SHAPES[loss.name] == (loss.margin, loss.steepest, loss.curvature)


@pytest.mark.every_case
@pytest.mark.parametrize("name", CONSTANTS := ("curvature", "steepest", "alphas", "gamma"))
def test_a_row_that_lacks_a_constant_is_refused(name):
    """It cannot be made, so that nobody forgets a constant; the error names the constant."""
    given = {other: getattr(LOSSES["hinge"], other) for other in CONSTANTS if other != name}
    with pytest.raises(TypeError, match=f"missing .* '{name}'$"):
        Loss("new", 11, False, "|p - y|", "a test", **given)


@each_loss
@pytest.mark.parametrize("epsilon", [0.1, 0.7])
def test_default_rates_and_penalties_know_the_bound_of_the_slope(loss, epsilon):
    """Of losses of numbers; the slopes of the others are about 1 in size."""
    loss = replace(loss, epsilon=epsilon)
    twin = DenseFromData(1, loss=loss.name, epsilon=epsilon)
    statistics = RowStatistics()
    statistics.add(np.ones(2), np.array([[-1e3], [1e3]]))
    assert tuning_of(FromData(), loss, 0.0, 0.0, 1.0, True)["largest_slope"] == (
        1.0 if loss.margin else loss.largest_slope
    )
    size = 1.0 if loss.margin else min(loss.largest_slope, 1e3)
    assert twin._slope_size(1e3) == size
    assert default_l1(statistics, loss) == L1_SHARE * size / 2


@pytest.mark.parametrize("code", [-1, LOSS_COUNT])
def test_a_code_of_no_loss_is_refused(code):
    """It does not stand for the last loss."""
    with pytest.raises(ValueError, match=f"loss must be a code .* got {code}"):
        values_and_slopes(code, np.zeros(1), np.ones(1), 0.1)


@each_loss
def test_epsilon_matters_where_the_table_says(loss):
    """``uses_epsilon`` marks the losses that epsilon changes, and no others."""
    grid = np.linspace(-3, 3, 25)
    (narrow, _), (wide, _) = evaluate(loss, grid, 1.0, 0.25), evaluate(loss, grid, 1.0, 1.5)
    assert (narrow != wide).any() == loss.uses_epsilon


@each_loss
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_bound_of_the_slope_is_the_least(loss, epsilon):
    """The slopes reach it, or come as near as one likes; without a bound they grow for ever."""
    slopes = np.abs(evaluate(loss, [-1e3, 1e3, -1e9, 1e9], 1.0, epsilon)[1])
    far = slopes.reshape(2, 2).max(axis=1)
    loss = replace(loss, epsilon=epsilon)
    if loss.unbounded_slope:
        assert far[1] > 1e5 * far[0] > 1e5
    else:
        assert far[1] == pytest.approx(loss.largest_slope, rel=1e-6)


# --- compiled and twin -----------------------------------------------------------------------


EXTREME = [sign * size for size in (0.0, 1e-300, 1.0, 700.0, 1e5, 1e300) for sign in (1, -1)]


@each_loss
@given(data=st.data(), epsilon=EPSILONS)
def test_compiled_loss_equals_twin(loss, data, epsilon):
    """Value and slope of the kernel equal the Python twins, to a few units in the last place.

    At any prediction values are not negative, and slopes are finite.
    """
    wide = NEAR | st.floats(-1e6, 1e6)
    pairs = data.draw(st.lists(st.tuples(wide, targets(loss, wide)), min_size=1, max_size=50))
    pairs += itertools.product(EXTREME, [-1.0, 1.0] if loss.margin else [0.0, 2.5, 1e300, -1e300])
    p, y = zip(*pairs, strict=True)
    values, slopes = evaluate(loss, p, y, epsilon)
    assert (values >= 0).all()  # False for NaN
    assert np.isfinite(slopes).all()
    value, slope = TWINS[loss.name]
    # The absolute part is for results below the normal range.
    ulps = dict(rtol=4 * 2.0**-52, atol=1e-320)
    np.testing.assert_allclose(values, [value(*pair, epsilon) for pair in pairs], **ulps)
    np.testing.assert_allclose(slopes, [slope(*pair, epsilon) for pair in pairs], **ulps)


# --- calculus --------------------------------------------------------------------------------
#
# A slope is the derivative where a loss has one: the twins fulfil the inequality of Fenchel and
# Young (test_reference_of_dual_ascent.py).


@each_loss
def test_slopes_never_fall_and_rise_by_the_curvature_at_most(loss):
    """The loss is convex; some quotient of differences comes close to the curvature."""
    at, h = np.linspace(-4, 4, 8193, retstep=True)
    slopes = evaluate(loss, prediction(loss, at, 1.0), 1.0, 0.5)[1]
    changes = np.diff(slopes)
    assert changes.min() >= -(2.0**-49) * (1.0 + np.abs(slopes).max())
    if loss.curvature is not None:
        assert changes.max() / h == pytest.approx(loss.curvature, rel=1e-5)


@each_loss
@given(data=st.data(), epsilon=EPSILONS)
def test_slope_jumps_at_stated_kinks_only(loss, data, epsilon):
    """Kinks are where the table has them; the subgradient there is 0, for the perceptron -y."""
    y = data.draw(targets(loss, EIGHTHS))
    h = 2.0**-20
    grid = np.arange(-32, 33) / 8
    above = evaluate(loss, prediction(loss, grid + h, y), y, epsilon)[1]
    below = evaluate(loss, prediction(loss, grid - h, y), y, epsilon)[1]
    jumps = grid[np.abs(above - below) > 1e-3]

    kinks = sorted(constant + multiple * epsilon for constant, multiple in loss.kinks)
    assert jumps.tolist() == kinks
    # Between the jumps the loss is a line.
    assert not kinks or (above[:-1] == below[1:]).all()
    for kink in kinks:
        sides = [float(side[grid == kink][0]) for side in (below, above)]
        expected = -y if loss.name == "perceptron" else np.clip(0.0, min(sides), max(sides))
        assert evaluate(loss, [prediction(loss, kink, y)], y, epsilon)[1] == expected
        assert TWINS[loss.name][1](prediction(loss, kink, y), y, epsilon) == expected


# --- the names are those of scikit-learn ------------------------------------------------------

IN_SGD = [
    loss for loss in LOSSES.values() if loss.margin and loss.name in SGDClassifier.loss_functions
]


@pytest.mark.parametrize("loss", IN_SGD, ids=lambda loss: loss.name)
def test_probability_where_scikit_learn_has_it(loss):
    """``probability`` is there for the losses for which SGDClassifier offers predict_proba."""
    assert hasattr(SGDClassifier(loss=loss.name), "predict_proba") == bool(loss.probability)
