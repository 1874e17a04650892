"""The clock: the whole regulariser is the motion of two scalars."""

from __future__ import annotations

from typing import Any

from lazynet.reference.plain import PlainLazy


class PlainClock(PlainLazy):
    """SGD or FoBoS, with a weight stored as z = sgn(w) (|w| / scale + shift).

    A shrink |w| <- [ a |w| - b ]+ of all weights moves the two scalars and nothing else:

        scale <- a scale        shift <- shift + b / scale        with the new scale

    >>> clock = PlainClock(1)
    >>> clock.store(0, 2.0)
    >>> clock.advance(0.5, 0.25)  # |w| <- 0.5 |w| - 0.25
    >>> clock.stored, clock.scale, clock.shift, clock.load(0)  # (2 - 0.5) * 0.5
    ([2.0], 0.5, 0.5, 0.75)
    >>> clock.rebase()
    >>> clock.stored, clock.scale, clock.shift, clock.load(0)
    ([0.75], 1.0, 0.0, 0.75)
    >>> clock.advance(0.0, 0.25)  # every weight becomes 0
    >>> clock.reset()  # as ``advance`` has done already
    >>> clock.stored, clock.scale, clock.shift
    ([0.0], 1.0, 0.0)
    """

    def __init__(self, n_features: int, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.stored = [self.zero] * n_features
        self.reset()

    def reset(self) -> None:
        """Set ``scale`` to 1 and ``shift`` to 0, and do not change ``stored``."""
        self.scale, self.shift = self.zero + 1, self.zero

    def load(self, j: int) -> Any:
        """Weight j as of now: sgn(z) [ |z| - shift ]+ scale."""
        z = self.stored[j]
        magnitude = (abs(z) - self.shift) * self.scale
        if magnitude <= 0:
            return self.zero
        return magnitude if z > 0 else -magnitude

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now."""
        if w == 0:
            self.stored[j] = self.zero
        else:
            z = abs(w) / self.scale + self.shift
            self.stored[j] = z if w > 0 else -z

    def advance(self, a: Any, b: Any) -> None:
        """Let one shrink pass over every weight: scale <- a scale, shift <- shift + b / scale."""
        if a <= 0:  # SGD with eta l2 >= 1: the shrink sets every weight to 0
            self.stored = [self.zero] * self.n_features
            self.reset()
            return
        self.scale = self.scale * a
        self.shift = self.shift + b / self.scale

    def rebase(self) -> None:
        """Bring every weight current and reset the clock; no weight changes."""
        self.stored = self.weights
        self.reset()
