"""Dense rules in plain NumPy: every weight, at every row, at one constant rate, logistic loss.

w <- w - rate g(x, y),  and a shrink by l1 and l2, by one of the rules below
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.base import Array
from paper_repro.minima import SLOPES, Task


def _cut(w: Array, by: Any) -> Array:
    """Every weight nearer to 0 by so much, and none beyond it."""
    return np.copysign(np.maximum(np.abs(w) - by, 0.0), w)


def _gradient(task: Task, x: Array, y: float, w: Array) -> Array:
    slope = SLOPES[task.loss](np.array([x @ w]), np.array([y]))
    return slope[0] * x


def fobos(task: Task, rate: float) -> list[Array]:
    """The gradient, then the proximal map of both penalties."""
    w, found = np.zeros(task.X.shape[1]), []
    for x, y in zip(task.X.toarray(), task.y, strict=True):
        w = w - rate * _gradient(task, x, y, w)
        w = _cut(w, rate * task.l1) / (1.0 + rate * task.l2)
        found.append(w)
    return found


def truncated(task: Task, rate: float) -> list[Array]:
    """Weights decay by l2 and move along the gradient; then l1 cuts all of them."""
    w, found = np.zeros(task.X.shape[1]), []
    for x, y in zip(task.X.toarray(), task.y, strict=True):
        w = (1.0 - rate * task.l2) * w - rate * _gradient(task, x, y, w)
        w = _cut(w, rate * task.l1)
        found.append(w)
    return found


def cumulative(task: Task, rate: float) -> list[Array]:
    """As ``truncated``, but l1 is paid by the features of the row alone, with all arrears.

    Tsuruoka, Tsujii & Ananiadou 2009: u is what every weight owes so far, q what it has paid.
    """
    w, paid, owed, found = np.zeros(task.X.shape[1]), np.zeros(task.X.shape[1]), 0.0, []
    for x, y in zip(task.X.toarray(), task.y, strict=True):
        w = (1.0 - rate * task.l2) * w - rate * _gradient(task, x, y, w)
        owed += rate * task.l1
        for j in np.flatnonzero(x):
            before = w[j]
            if w[j] > 0:
                w[j] = max(0.0, w[j] - (owed + paid[j]))
            elif w[j] < 0:
                w[j] = min(0.0, w[j] + (owed - paid[j]))
            paid[j] += w[j] - before
        found.append(w.copy())
    return found


def all_at_once(task: Task, rate: float) -> list[Array]:
    """Gradients are summed without l1; where weights are read, all l1 so far cuts the sums."""
    raw, scale, owed, found = np.zeros(task.X.shape[1]), 1.0, 0.0, []
    for x, y in zip(task.X.toarray(), task.y, strict=True):
        gradient = _gradient(task, x, y, _cut(raw, owed) * scale)
        scale *= 1.0 - rate * task.l2
        raw = raw - rate * gradient / scale
        owed += rate * task.l1
        found.append(_cut(raw, owed) * scale)
    return found


def decay_of_row(task: Task, rate: float) -> list[Array]:
    """l2 decays the weights of the row's features alone; for tasks without l1."""
    w, found = np.zeros(task.X.shape[1]), []
    for x, y in zip(task.X.toarray(), task.y, strict=True):
        w = w - rate * (_gradient(task, x, y, w) + task.l2 * np.where(x != 0, w, 0.0))
        found.append(w)
    return found


#: The dense rules by their names on the page.
RULES: dict[str, Callable[[Task, float], list[Array]]] = {
    "proximal steps": fobos,
    "decay and truncation": truncated,
    "cumulative l1 of the row's features": cumulative,
    "l1 once for all steps": all_at_once,
    "l2 of the row's features": decay_of_row,
}
