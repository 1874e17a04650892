"""Long runs in long double, which has three more decimal digits than a double: shrink by shrink.

Gradients touch eight weights with probabilities 1/2, 1/8, 1/32, ....  The gradients do not depend
on the weights, so that nothing amplifies or hides the rounding of the shrinks themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.reference.affine import MAPS, SHRINKS
from lazynet.schedules import Schedule

N_WEIGHTS = 8
#: Fewer binary digits than the 64 of x86 are not enough to judge a double's 53.
FEWEST_DIGITS = 64
#: Steps whose factors and pulls are in memory at a time.
BLOCK = 2000


def too_narrow() -> str | None:
    """Why long double cannot judge doubles on this machine, or None if it can."""
    digits = int(np.finfo(np.longdouble).nmant) + 1
    if digits >= FEWEST_DIGITS:
        return None
    return f"long double has {digits} binary digits on this machine, a double 53"


def touches(n_steps: int, seed: int = 0) -> sparse.csr_matrix:
    """One row per step: which weights it touches, and its gradient in each."""
    generator = np.random.default_rng(seed)
    touched = generator.random((n_steps, N_WEIGHTS)) < 2.0 * 4.0 ** -np.arange(1, N_WEIGHTS + 1)
    gradients = np.where(touched, generator.uniform(-1, 1, touched.shape), 0.0)
    return sparse.csr_matrix(gradients)


def true_weights(
    gradients: sparse.csr_matrix,
    rule: str,
    schedule: Schedule,
    penalties: Sequence[tuple[float, float]],
    checkpoints: Sequence[int],
) -> NDArray[np.longdouble]:
    """Every weight at every checkpoint, computed shrink by shrink, for all pairs (l1, l2) at once.

    The shape is (checkpoints, penalties, weights).
    """
    l1, l2 = np.array(penalties, dtype=np.longdouble).T
    weights = np.zeros((gradients.shape[1], len(penalties)), dtype=np.longdouble)
    found = []
    for start, stop in blocks(checkpoints):
        rates = schedule.rates(start, stop).astype(np.longdouble)[:, None]
        keep, pull = MAPS[rule](rates, l1, l2)
        moves = rates * gradients[start:stop].toarray().astype(np.longdouble)
        _take(weights, moves[:, :, None], keep, pull)
        if stop in checkpoints:
            found.append(weights.T.copy())
    return np.array(found)


def blocks(checkpoints: Sequence[int]) -> list[tuple[int, int]]:
    """Pieces of the run; no piece is longer than BLOCK, and each checkpoint ends a piece."""
    ends = sorted({*checkpoints, *range(BLOCK, checkpoints[-1], BLOCK)})
    return list(zip([0, *ends], ends, strict=False))


def _take(
    weights: NDArray[np.longdouble],
    moves: NDArray[np.longdouble],
    keep: NDArray[np.longdouble],
    pull: NDArray[np.longdouble],
) -> None:
    """Subtract the gradient, then shrink, step by step.  All is in place: new arrays take time."""
    magnitude = np.empty_like(weights)
    touched: NDArray[np.bool_] = np.any(moves != 0, axis=(1, 2))
    for step in range(len(moves)):
        if touched[step]:
            np.subtract(weights, moves[step], out=weights)
        np.abs(weights, out=magnitude)
        np.multiply(magnitude, keep[step], out=magnitude)
        np.subtract(magnitude, pull[step], out=magnitude)
        np.maximum(magnitude, 0, out=magnitude)
        np.copysign(magnitude, weights, out=weights)


def one_weight(
    moves: NDArray[np.float64], rate: float, l1: float, l2: float, rule: str
) -> NDArray[np.longdouble]:
    """One weight before every step and after the last, at a constant rate.

    ``moves`` holds the gradient of each step, zero where the step does not touch the weight.
    """
    wide = np.longdouble
    keep, pull = MAPS[rule](wide(rate), wide(l1), wide(l2))
    w = wide(0)
    found = np.zeros(len(moves) + 1, dtype=wide)
    wide_moves: Any = (wide(rate) * moves.astype(wide)).tolist()
    touched = moves != 0
    for step, move in enumerate(wide_moves):
        if touched[step]:
            w = w - move
        magnitude = keep * abs(w) - pull
        w = np.copysign(magnitude, w) if magnitude > 0 else wide(0)
        found[step + 1] = w
    return found


def after_each_gap(
    weight: float, rates: Sequence[float], l1: float, l2: float, rule: str
) -> list[Any]:
    """A weight that no gradient touches, after 0, 1, 2, ... shrinks, computed one by one."""
    wide = np.longdouble
    w = wide(weight)
    found = [w]
    for rate in rates:
        w = SHRINKS[rule](w, wide(rate), wide(l1), wide(l2))
        found.append(w)
    return found
