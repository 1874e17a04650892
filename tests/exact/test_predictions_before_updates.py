"""The losses of the predictions that were made before each update add up."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from support.matrices import corpus

from lazynet.data.arrays import as_examples
from lazynet.kernels.objective import loss_of_predictions, values_and_slopes
from lazynet.kernels.slopes import derivatives
from lazynet.kernels.steps import Steps
from lazynet.kernels.sums import total_conjugate
from lazynet.losses import LOSSES, get_loss
from lazynet.reference import losses as reference


def keeping(order, predictions):
    """The same steps, which keep their predictions."""
    n = len(order)
    return Steps(order, np.full(n, 0.1), np.ones(n), np.zeros(n), np.zeros(n), None, predictions)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_of_predictions_add_up(loss):
    """Of any number of steps, with importances and repeated rows."""
    X, y = corpus(n_rows=30, d=60)
    rng, settled, value = np.random.default_rng(0), get_loss(loss), reference.LOSSES[loss][0]
    counts = rng.random(30)
    examples = as_examples(X, y, counts)
    for n_steps in (1, 255, 256, 257, 600):
        order, predictions = rng.integers(0, 30, n_steps), rng.normal(0, 2, n_steps)
        pairs = zip(predictions, y[order], counts[order], strict=True)
        expected = sum(count * value(p, target, settled.epsilon) for p, target, count in pairs)
        steps = keeping(order, predictions)
        found = loss_of_predictions(examples, steps, settled.code, settled.epsilon)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@given(
    margin=st.floats(-700, 700), others=st.integers(0, 9), place=st.integers(0, 9),
    y=st.sampled_from([-1.0, 1.0]),
)  # fmt: skip
@example(margin=0.0, others=0, place=0, y=-1.0)
@example(margin=-1e300, others=9, place=8, y=-1.0)
@example(margin=1e300, others=9, place=8, y=1.0)
@example(margin=-750.0, others=3, place=0, y=1.0)
@example(margin=750.0, others=3, place=1, y=1.0)
@example(margin=40.0, others=9, place=9, y=1.0)
def test_a_log_loss_among_others_to_full_precision(margin, others, place, y):
    """Its value, slope and curvature, alone and wherever the row stands; other rows do not count.

    Beyond the normal range of exp(-m) they are right to 1e-300.
    """
    n, place = others + 1, place % (others + 1)
    counts, predictions = np.zeros(n), np.random.default_rng(0).normal(0, 9, n)
    counts[place], predictions[place] = 1.0, y * margin
    examples = as_examples(sparse.csr_matrix((n, 1)), np.full(n, y), counts)
    total = loss_of_predictions(examples, keeping(np.arange(n), predictions), 0, 0.1)
    (value,), (slope,) = values_and_slopes(0, np.array([y * margin]), np.array([y]), 0.1)
    duals, slopes, curvatures = np.empty((3, n))
    sums = derivatives(examples, predictions, 0.0, 0, 0.1, 1.0, duals, slopes, curvatures)
    with localcontext() as context:
        context.prec = 350  # 1 + exp(-700) needs 304 of them
        small = Decimal(-abs(margin)).exp()
        share = (small if margin > 0 else 1) / (1 + small)
        precise = (1 + small).ln() + max(-Decimal(margin), Decimal(0))
        pairs = [(total, precise), (value, precise), (-y * slope, share)]
        pairs += [(y * duals[place], share), (curvatures[place], share * (1 - share))]
        for k, (found, exact) in enumerate([*pairs, (sums[0], precise)]):
            digits, normal = (50, 700) if k < 3 else (49, 690)
            least = 0 if abs(margin) <= normal else Decimal("1e-300")
            assert abs(Decimal(float(found)) - exact) <= exact / 2**digits + least


@given(share=st.floats(0.0, 1.0), others=st.integers(0, 9), place=st.integers(0, 9))
@example(share=5e-324, others=0, place=0)
@example(share=1.0 - 2.0**-53, others=9, place=8)
@example(share=2.0**-53, others=9, place=9)
def test_the_conjugate_of_a_log_loss_to_full_precision(share, others, place):
    """b log b + (1 - b) log(1 - b), wherever the row stands; the bound of the rounding is true."""
    n = others + 1
    place %= n
    counts = np.zeros(n)
    counts[place] = 1.0
    duals = np.random.default_rng(0).random(n)
    duals[place] = share
    examples = as_examples(sparse.csr_matrix((n, 1)), np.ones(n), counts)
    found, lost = total_conjugate(examples, duals, 1.0, 0, 0.1, 1.0)
    with localcontext() as context:
        context.prec = 700
        parts = [part for part in (Decimal(share), 1 - Decimal(share)) if part]
        precise = sum(part * part.ln() for part in parts)
        wrong = abs(Decimal(found) - precise)
    # A share below 1e-300 counts as that.
    assert wrong <= Decimal(lost) + Decimal("1e-297")
    assert lost <= 2.0**-45 * abs(found)
    for outside in (-1e-9, 1.0 + 1e-9, np.nan):
        duals[place] = outside
        assert not np.isfinite(total_conjugate(examples, duals, 1.0, 0, 0.1, 1.0)[0])


def test_what_cannot_be_added_up_is_refused():
    """Steps need predictions, their rows must exist, and sizes have an entry per row."""
    X, y = corpus(n_rows=4, d=9)
    steps = keeping(np.arange(4), None)
    with pytest.raises(ValueError, match="steps must keep their predictions"):
        loss_of_predictions(as_examples(X, y), steps, 0, 0.1)
    for order in ([7], [0, 1, 7], [*[0] * 256, 7]):
        steps = keeping(np.array(order), np.ones(len(order)))
        with pytest.raises(ValueError, match="below 4, got 7"):
            loss_of_predictions(as_examples(X, y), steps, 0, 0.1)
    with pytest.raises(ValueError, match="predictions must have 2 entries"):
        keeping(np.arange(2), np.ones(3))
    with pytest.raises(ValueError, match=r"row_sizes must have one entry per row \(4\), got 3"):
        as_examples(X, y, None, np.ones(3))
    with pytest.raises(ValueError, match="row_sizes must be one of absolute_sums, squared_norms"):
        as_examples(X, y, None, "norms")
