"""Penalties of whole rows of weights: rows of any size, and the proximal map.

After every step engines are compared with the reference in test_lazy_equals_dense.py.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import plan

from lazynet import FoBoS
from lazynet.data.arrays import as_examples
from lazynet.engines.base import SweepLimits
from lazynet.engines.outputs import GroupedOutputs
from lazynet.kernels.many_outputs import run
from lazynet.kernels.steps import OutputTargets
from lazynet.reference.outputs import l2_prox


@pytest.mark.parametrize("size", [1e-200, 1e-140, 1e-30, 1.0, 1e100])
def test_rows_of_any_size_are_read_as_they_were_loaded(size):
    """Squares that leave the range of doubles do no harm: a row below 2^-480 counts as 0."""
    engine = GroupedOutputs(2, 3)
    weights = np.array([[1.0, 0.0], [-2.0, 0.0], [3.0, 0.0]]) * size
    engine.set_coefficients(weights, np.zeros(3))
    np.testing.assert_allclose(engine.coefficients(), weights, rtol=1e-15, atol=2.0**-480)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_that_is_touched_at_every_step_shrinks(dtype):
    """In float a single shrink may be smaller than the rounding of the largest weight."""
    n_steps, l1 = 5_000, 1e-8
    engine = GroupedOutputs(1, 3, dtype)
    engine.set_coefficients(np.array([[3.0], [-4.0], [0.0]]), np.zeros(3))
    chosen = plan(l1=l1, eta0=1.0)
    # Rows of importance 0 move nothing.
    examples = as_examples(sparse.csr_matrix([[1.0]]), None, np.zeros(1))
    steps = chosen.steps(np.zeros(n_steps, dtype=np.int64), 0)
    targets = OutputTargets(0, 3, numbers=np.ones((1, 3)))
    engine.learn(examples, targets, steps, chosen.task(engine), 0, np.zeros(3))
    expected = l2_prox([3.0, -4.0, 0.0], n_steps * l1)
    blur = np.finfo(dtype).eps * 8
    np.testing.assert_allclose(engine.coefficients()[:, 0], expected, rtol=blur, atol=0)
    assert blur < n_steps * l1 / 20


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [1e-300, 1e-161, 1e-44, 1e-20])
def test_tiny_moves_beside_a_large_shift_stay_tiny(value, dtype):
    """A row of numbers without digits must not come to life when it is stored."""
    engine = GroupedOutputs(1, 2, dtype)
    engine.limits = SweepLimits(cushion=1e3, largest_cushion=1e3)
    engine.clocks[2] = 100.0
    # One step of the squared error with a rate of 1 on a row with one nonzero.
    chosen = plan(loss="squared_error", rule=FoBoS(), l1=1e-3, eta0=1.0)
    examples = as_examples(sparse.csr_matrix([[value]]))
    targets = OutputTargets(0, 2, numbers=np.ones((1, 2)))
    steps, task = chosen.steps(np.zeros(1, dtype=np.int64), 0), chosen.task(engine)
    run(engine._block(), examples, targets, steps, task, np.zeros(2), 0)
    assert np.abs(engine.coefficients()).max() <= 100 * np.finfo(dtype).eps


# --- refusals ----------------------------------------------------------------------------------


def test_an_overflow_is_reported():
    """Weights whose norm overflows do not pass for weights."""
    engine = GroupedOutputs(1, 2)
    engine.set_coefficients(np.full((2, 1), 1e308), np.zeros(2))
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match="not a finite number"):
        engine.check_finite(np.array([0]), 1)
    engine.cells[:] = np.inf
    with pytest.raises(FloatingPointError, match="not a finite number"):
        engine.check_finite(np.array([0]), 1)


# --- the proximal map, in plain Python --------------------------------------------------------


@given(
    row=st.lists(st.integers(-60, 60).map(lambda k: k * 0.13), min_size=1, max_size=20),
    a=st.integers(0, 400).map(lambda k: k * 0.07),
)
def test_the_prox_is_the_least_of_its_objective(row, a):
    """row - prox is a times a subgradient of the norm at prox, which characterises the minimum."""
    found = np.array(l2_prox(row, a))
    rest = np.array(row) - found
    dual, size = np.linalg.norm(rest), np.linalg.norm(found)
    tiny = 1e-13 * (1 + a + np.abs(row).sum())
    assert dual <= a + tiny
    assert rest @ found == pytest.approx(a * size, abs=tiny * (1 + size))
