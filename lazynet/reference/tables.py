"""Lipton & Elkan's own lazy form, corrected: two tables with an entry per step."""

from __future__ import annotations

from typing import Any

from lazynet.reference.plain import PlainLazy


class PlainTables(PlainLazy):
    """SGD or FoBoS, with a weight stored together with psi, the step as of which it holds.

    P and B grow by one entry per step: P is the running product of a, and B the running sum of
    b / P with the new product (Theorems 1 and 2, corrected).  After ``budget`` steps all weights
    are brought current and the tables begin again.  Every a must be positive.

    >>> lazy = PlainTables(2, loss="squared_error", rule="sgd", l1=0.25, l2=0.5)
    >>> for j in (0, 1):
    ...     _ = lazy.step([j], [1.0], 4.0)
    >>> lazy.weights  # weight 0: 4, 4/2 - 1/4, 7/8 - 1/4; weight 1: 4, 4/2 - 1/4
    [0.625, 1.75]
    >>> lazy.psi, lazy.P
    ([0, 1], [1.0, 0.5, 0.25])
    >>> lazy.flush()
    >>> lazy.psi, lazy.P, lazy.weights
    ([0, 0], [1.0], [0.625, 1.75])
    >>> lazy.store(0, 2.0)
    >>> lazy.advance(0.5, 0.25)  # |w| <- 0.5 |w| - 0.25
    >>> lazy.load(0)
    0.75
    >>> lazy.begin()
    >>> lazy.P, lazy.B, lazy.psi
    ([1.0], [0.0], [0, 0])
    """

    def __init__(self, n_features: int, *, budget: int = 1000, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.budget = budget
        self.as_of_psi = [self.zero] * n_features
        self.begin()

    def begin(self) -> None:
        """Begin the tables with one entry each, and let every weight refer to this entry."""
        self.psi = [0] * self.n_features
        self.P, self.B = [self.zero + 1], [self.zero]

    def load(self, j: int) -> Any:
        """Weight j as of now: [ |w| P(k) / P(psi) - P(k) (B(k) - B(psi)) ]+ with the sign of w."""
        w, psi = self.as_of_psi[j], self.psi[j]
        magnitude = abs(w) * self.P[-1] / self.P[psi] - self.P[-1] * (self.B[-1] - self.B[psi])
        if magnitude <= 0:
            return self.zero
        return magnitude if w > 0 else -magnitude

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now."""
        self.as_of_psi[j], self.psi[j] = w, len(self.P) - 1

    def advance(self, a: Any, b: Any) -> None:
        """Let one shrink pass over every weight: append one entry, after a flush if P is full."""
        if len(self.P) > self.budget:
            self.flush()
        self.P.append(self.P[-1] * a)
        self.B.append(self.B[-1] + b / self.P[-1])

    def flush(self) -> None:
        """Bring every weight current and begin the tables again; no weight changes."""
        self.as_of_psi = self.weights
        self.begin()
