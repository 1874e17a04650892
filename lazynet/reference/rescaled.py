"""The classic trick for an l2 penalty: the weights are a scale times a vector."""

from __future__ import annotations

from typing import Any

from lazynet.reference.plain import PlainLazy


class PlainRescaled(PlainLazy):
    """SGD with an l2 penalty alone, w = c v: a shrink of all weights is one multiplication of c.

    From the note "Sparse Features and L2 Regularization" (2012, with credit to Smola and Bottou).
    With ``step_order="shrink_first"``, which takes the shrink and the gradient at the same w,

        c <- (1 - eta lambda) c        v <- v - (eta / c) grad        with the new c

    The note's formula divides by (1 - eta) c, without the lambda, and takes the gradient at the
    index i instead of the target y_i.  The form is the clock without a shift.

    >>> lazy = PlainRescaled(1)
    >>> lazy.store(0, 2.0)
    >>> lazy.advance(0.5, 0.0)
    >>> lazy.c, lazy.v, lazy.load(0)
    (0.5, [2.0], 1.0)
    >>> lazy.rebase()
    >>> lazy.c, lazy.v, lazy.load(0)
    (1.0, [1.0], 1.0)
    """

    def __init__(self, n_features: int, **options: Any) -> None:
        super().__init__(n_features, **options)
        if self.l1:
            raise ValueError(f"l1 must be 0: a scale can carry no l1 penalty, got l1={self.l1}")
        self.v = [self.zero] * n_features
        self.c = self.zero + 1

    def load(self, j: int) -> Any:
        """Weight j as of now: c v_j."""
        return self.c * self.v[j]

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now."""
        self.v[j] = w / self.c

    def advance(self, a: Any, b: Any) -> None:
        """Let one shrink pass over every weight: c <- a c."""
        if a == 0:  # eta lambda = 1: every weight is 0, and nothing could be divided by c = 0
            self.v = [self.zero] * self.n_features
            self.c = self.zero + 1
            return
        self.c *= a

    def rebase(self) -> None:
        """Multiply c into v and set c to 1; no weight changes."""
        self.v = self.weights
        self.c = self.zero + 1
