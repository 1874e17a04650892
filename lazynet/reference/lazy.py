"""The two lazy forms in a page each: for reading beside the compiled ones, and for exact tests.

Over exact fractions both equal ``DenseReference`` to the last digit.  Both take a rule as the
scalar map (eta, l1, l2) -> (a, b) of the affine family |w| <- [a |w| - b]+.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lazynet.reference.losses import LOSSES


def sgd_map(eta: Any, l1: Any, l2: Any) -> tuple[Any, Any]:
    """a = 1 - eta l2, b = eta l1.

    >>> sgd_map(0.5, 3.0, 1.0)
    (0.5, 1.5)
    """
    return 1 - eta * l2, eta * l1


def fobos_map(eta: Any, l1: Any, l2: Any) -> tuple[Any, Any]:
    """a = 1 / (1 + eta l2), b = a eta l1.

    >>> fobos_map(0.5, 3.0, 2.0)
    (0.5, 0.75)
    """
    return 1 / (1 + eta * l2), eta * l1 / (1 + eta * l2)


#: rule -> (eta, l1, l2) -> (a, b)
MAPS: dict[str, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    "sgd": sgd_map,
    "fobos": fobos_map,
}


class PlainLazy:
    """One step of a lazy learner; what a weight is stored as is left to the subclass.

    ``PlainClock`` is such a subclass:

    >>> lazy = PlainClock(1, loss="squared_error", rule="sgd", l1=0.5)
    >>> lazy.store(0, 2.0)
    >>> lazy.advance(0.5, 0.25)  # |w| <- 0.5 |w| - 0.25
    >>> lazy.load(0), lazy.weights
    (0.75, [0.75])
    >>> lazy.step([0], [1.0], target=1.75), lazy.weights  # 0.75 + 1, less 0.5
    (0.75, [1.25])
    """

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        rule: str = "fobos",
        l1: Any = 0,
        l2: Any = 0,
        schedule: Callable[[int], Any] = lambda t: 1,
        step_order: str = "gradient_first",
        fit_intercept: bool = False,
        epsilon: Any = 0.1,
        zero: Any = 0.0,
    ) -> None:
        self.slope = LOSSES[loss][1]
        self.map = MAPS[rule]
        self.l1, self.l2 = l1, l2
        self.schedule = schedule
        self.step_order = step_order
        self.fit_intercept = fit_intercept
        self.epsilon = epsilon
        self.zero = zero
        self.n_features = n_features
        self.intercept = zero
        self.t = 0

    def load(self, j: int) -> Any:
        """Weight j as of now."""
        raise NotImplementedError

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now."""
        raise NotImplementedError

    def advance(self, a: Any, b: Any) -> None:
        """Let one shrink pass over every weight."""
        raise NotImplementedError

    @property
    def weights(self) -> list[Any]:
        """All weights as of now."""
        return [self.load(j) for j in range(self.n_features)]

    def step(
        self, indices: Iterable[int], values: Iterable[Any], target: Any, weight: Any = 1
    ) -> Any:
        """Learn from one example; returns the prediction made before learning."""
        example = list(zip(indices, values, strict=True))
        eta = self.schedule(self.t)
        a, b = self.map(eta, self.l1, self.l2)
        p = self.intercept
        for j, x in example:
            p += self.load(j) * x
        g = weight * self.slope(p, target, self.epsilon)
        if self.step_order == "shrink_first":
            self.advance(a, b)
        for j, x in example:
            self.store(j, self.load(j) - eta * g * x)
        if self.step_order == "gradient_first":
            self.advance(a, b)
        if self.fit_intercept:
            self.intercept -= eta * g
        self.t += 1
        return p


class PlainClock(PlainLazy):
    """A weight is stored as z = sgn(w) (|w| / scale + shift), and two scalars move.

    >>> from lazynet.reference import DenseReference
    >>> options = dict(loss="hinge", rule="sgd", l1=0.25, l2=1.0, schedule=lambda t: 0.5)
    >>> lazy, dense = PlainClock(2, **options), DenseReference(2, **options)
    >>> for indices, values, y in [([0], [2.0], 1), ([1], [1.0], -1), ([1], [1.0], -1)]:
    ...     _ = lazy.step(indices, values, y), dense.step(indices, values, y)
    >>> lazy.weights == dense.weights
    True

    By hand: a weight is stored, shrunk, and brought current.

    >>> clock = PlainClock(1)
    >>> clock.store(0, 2.0)
    >>> clock.advance(0.5, 0.25)  # |w| <- 0.5 |w| - 0.25
    >>> clock.stored, clock.scale, clock.shift, clock.load(0)  # (2 - 0.5) * 0.5
    ([2.0], 0.5, 0.5, 0.75)
    >>> clock.rebase()
    >>> clock.stored, clock.scale, clock.shift, clock.load(0)
    ([0.75], 1.0, 0.0, 0.75)
    """

    def __init__(self, n_features: int, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.stored = [self.zero] * n_features
        self.reset()

    def reset(self) -> None:
        """Set the scalars as at the start; what is stored is left alone.

        >>> clock = PlainClock(1)
        >>> clock.advance(0.5, 0.25)
        >>> clock.reset()
        >>> clock.scale, clock.shift
        (1.0, 0.0)
        """
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
        if a <= 0:  # SGD with eta l2 >= 1: the step wipes every weight
            self.stored = [self.zero] * self.n_features
            self.reset()
            return
        self.scale = self.scale * a
        self.shift = self.shift + b / self.scale

    def rebase(self) -> None:
        """Bring every weight current and reset the clock; nothing visible changes."""
        self.stored = self.weights
        self.reset()


class PlainTables(PlainLazy):
    """Lipton & Elkan, corrected: psi per weight, P and B per step, a space budget.

    Requires a > 0 at every step.

    >>> lazy = PlainTables(2, loss="squared_error", rule="sgd", l1=0.25, l2=0.5)
    >>> for j in (0, 1):
    ...     _ = lazy.step([j], [1.0], 4.0)
    >>> lazy.weights  # 4, 4/2 - 1/4, 7/8 - 1/4; and 4, 4/2 - 1/4
    [0.625, 1.75]
    >>> lazy.psi, lazy.P
    ([0, 1], [1.0, 0.5, 0.25])
    >>> lazy.flush()
    >>> lazy.psi, lazy.P, lazy.weights
    ([0, 0], [1.0], [0.625, 1.75])
    """

    def __init__(self, n_features: int, *, budget: int = 1000, **options: Any) -> None:
        super().__init__(n_features, **options)
        self.budget = budget
        self.as_of_psi = [self.zero] * n_features
        self.begin()

    def begin(self) -> None:
        """Let the tables hold one entry, and every weight stand at it.

        >>> lazy = PlainTables(1)
        >>> lazy.advance(0.5, 0.25)
        >>> lazy.begin()
        >>> lazy.P, lazy.B, lazy.psi
        ([1.0], [0.0], [0])
        """
        self.psi = [0] * self.n_features
        self.P, self.B = [self.zero + 1], [self.zero]

    def load(self, j: int) -> Any:
        """Weight j as of now: [ |w| P(k) / P(psi) - P(k) (B(k) - B(psi)) ]+ with its sign.

        >>> lazy = PlainTables(1)
        >>> lazy.store(0, 2.0)
        >>> lazy.advance(0.5, 0.25)  # |w| <- 0.5 |w| - 0.25
        >>> lazy.load(0)
        0.75
        """
        w, psi = self.as_of_psi[j], self.psi[j]
        magnitude = abs(w) * self.P[-1] / self.P[psi] - self.P[-1] * (self.B[-1] - self.B[psi])
        if magnitude <= 0:
            return self.zero
        return magnitude if w > 0 else -magnitude

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now."""
        self.as_of_psi[j], self.psi[j] = w, len(self.P) - 1

    def advance(self, a: Any, b: Any) -> None:
        """Let one shrink pass over every weight: one more entry, in new tables if they are full."""
        if len(self.P) > self.budget:
            self.flush()
        self.P.append(self.P[-1] * a)
        self.B.append(self.B[-1] + b / self.P[-1])

    def flush(self) -> None:
        """Bring every weight current and begin the tables again; nothing visible changes."""
        self.as_of_psi = self.weights
        self.begin()
