"""Lipton & Elkan's tables P and B at a constant rate, begun once: nothing watches their range.

``P`` is the product of the shrinks by l2, and ``B`` the sum of the rates divided by ``P``.  On a
long run ``P`` vanishes and ``B`` overflows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lazynet.reference.affine import MAPS


def tables(
    n_steps: int, rule: str, rate: float, l2: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P and B before every step and after the last."""
    keep, _ = MAPS[rule](rate, 0.0, l2)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        scales = np.cumprod(np.concatenate([[1.0], np.full(n_steps, keep)]))
        # The corrected Theorem 1 divides by the product after the step, Theorem 2 by the product
        # before the step.
        divisors = scales[1:] if rule == "sgd" else scales[:-1]
        shifts = np.cumsum(np.concatenate([[0.0], rate / divisors]))
    return scales, shifts


def followed_weight(
    moves: NDArray[np.float64],
    touched: NDArray[np.int64],
    scales: NDArray[np.float64],
    shifts: NDArray[np.float64],
    rate: float,
    l1: float,
) -> NDArray[np.float64]:
    """The weight that the tables give at every step that touches it, before the gradient."""
    found = np.empty(len(touched))
    w, psi = np.float64(0.0), 0
    with np.errstate(all="ignore"):
        for at, k in enumerate(touched):
            # Theorems 1 and 2: [ |w| P(k) / P(psi) - l1 P(k) (B(k) - B(psi)) ]+
            magnitude = abs(w) * (scales[k] / scales[psi])
            magnitude -= l1 * scales[k] * (shifts[k] - shifts[psi])
            w = found[at] = np.copysign(0.0 if magnitude <= 0 else magnitude, w)
            w, psi = w - rate * moves[k], k
    return found
