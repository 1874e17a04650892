"""Newton steps on a working set, to the minimum of a mean loss with an elastic net.

The objective P is that of ``lazynet.reference.dual``.  A step at w and b, with p_i = x_i.w + b,
g_i = s_i l'(p_i) / n and h_i = s_i l''(p_i) / n, moves the weights of a working set W by d and the
intercept by e, to the minimum of the model

    sum_i g_i (x_i.d + e) + 1/2 sum_i h_i (x_i.d + e)^2 + l1 |w + d|_1 + l2/2 |w + d|^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lazynet.reference.losses import LOSSES, entry_named, soft

#: name -> l'' of (p, y, epsilon), of the losses whose slope does not jump
CURVATURES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "log_loss": lambda p, y, e: math.exp(-abs(p * y)) / (1.0 + math.exp(-abs(p * y))) ** 2,
    "squared_hinge": lambda p, y, e: 2 if p * y < 1 else 0,
    "modified_huber": lambda p, y, e: 2 if -1 <= p * y < 1 else 0,
    "squared_error": lambda p, y, e: 1,
    "huber": lambda p, y, e: 1 if abs(p - y) <= e else 0,
    "smooth_hinge": lambda p, y, e: 1 if 0 <= p * y < 1 else 0,
    "squared_epsilon_insensitive": lambda p, y, e: 2 if abs(p - y) > e else 0,
}


def _dot(x: Iterable[Any], z: Iterable[Any]) -> Any:
    """x.z"""
    return sum(a * b for a, b in zip(x, z, strict=True))


class DenseNewton:
    """``step(W)`` is a full step; ``centre()`` moves the intercept to the minimum of the mean loss.

    >>> dense = DenseNewton([[1.0], [1.0]], [3.0, 5.0], loss="squared_error", l1=1.0)
    >>> dense.step([0]), dense.centre(), dense.weights, round(dense.intercept, 9)  # (8 - 2) / 2
    (None, None, [3.0], 1.0)
    """

    def __init__(
        self, rows: Sequence[Sequence[Any]], targets: Sequence[Any], *,
        importances: Sequence[Any] | None = None, loss: str = "log_loss", l1: Any = 0, l2: Any = 0,
        fit_intercept: bool = False, epsilon: Any = 0.1,
    ) -> None:  # fmt: skip
        self.rows, self.targets, self.epsilon = rows, targets, epsilon
        counts = [1] * len(rows) if importances is None else importances
        self.shares = [s / sum(counts) for s in counts]
        self.slope = entry_named("loss", loss, LOSSES)[1]
        self.curvature = entry_named("loss", loss, CURVATURES)
        self.l1, self.l2, self.fit_intercept = l1, l2, fit_intercept
        self.weights, self.intercept = [0.0] * len(rows[0]), 0.0

    def _weighted(self, of: Callable[[Any, Any, Any], Any], intercept: Any) -> list[Any]:
        """s_i / n times a function of every prediction."""
        rows = zip(self.shares, self.rows, self.targets, strict=True)
        return [s * of(_dot(x, self.weights) + intercept, y, self.epsilon) for s, x, y in rows]

    def step(self, working_set: Sequence[int]) -> None:
        """One full step; v is b + e, if an intercept is fitted, and w + d on the working set."""
        b = [self.intercept] if self.fit_intercept else []
        v = [*b, *(self.weights[j] for j in working_set)]
        columns = [[1] * len(self.rows) for _ in b]
        columns += [[x[j] for x in self.rows] for j in working_set]
        l1, l2 = ([0 for _ in b] + [penalty] * len(working_set) for penalty in (self.l1, self.l2))
        g, h = (self._weighted(of, self.intercept) for of in (self.slope, self.curvature))
        bent = [[a * x for a, x in zip(h, column, strict=True)] for column in columns]
        hessian = [[_dot(x, z) for z in columns] for x in bent]
        pull = [_dot(line, v) - _dot(g, x) for line, x in zip(hessian, columns, strict=True)]
        for _ in range(1000):  # coordinate descent
            before = list(v)
            for j, line in enumerate(hessian):
                rest = pull[j] - _dot(line, v) + line[j] * v[j]
                v[j] = soft(rest, l1[j]) / (line[j] + l2[j])
            if v == before:  # or only the last digits change
                break
        self.intercept = v.pop(0) if b else self.intercept
        for j, weight in zip(working_set, v, strict=True):
            self.weights[j] = weight

    def centre(self) -> None:
        """Halve a bracket of the intercept; the slope of the mean loss never falls in it."""
        low, high = self.intercept - 64.0, self.intercept + 64.0
        while low < (middle := (low + high) / 2) < high:
            rises = sum(self._weighted(self.slope, middle)) > 0
            low, high = (low, middle) if rises else (middle, high)
        self.intercept = middle
