"""The lazy forms of SGD and FoBoS: storages of weights, with which a step visits few weights.

A form defines how a weight is stored (``load``, ``store``) and how one shrink acts on all weights
(``advance``).  With exact fractions every form equals ``DenseReference`` to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazynet.reference.affine import MAPS, SHRINKS_FIRST
from lazynet.reference.learner import Computed
from lazynet.reference.losses import entry_named


class PlainLazy(Computed):
    """A lazy learner: a step visits only the features of its example.

    Here the subclass is ``PlainClock``:

    >>> from lazynet.reference import PlainClock
    >>> lazy = PlainClock(1, loss="squared_error", rule="sgd", l1=0.5)
    >>> lazy.store(0, 2.0)
    >>> lazy.advance(0.5, 0.25)  # |w| <- 0.5 |w| - 0.25
    >>> lazy.load(0), lazy.weights
    (0.75, [0.75])
    >>> lazy.step([0], [1.0], target=1.75), lazy.weights  # 0.75 + 1, then the shrink takes 0.5
    (0.75, [1.25])
    """

    def __init__(
        self,
        n_features: int,
        *,
        rule: str = "fobos",
        step_order: str = "gradient_first",
        schedule: Callable[[int], Any] = lambda t: 1,
        **options: Any,
    ) -> None:
        super().__init__(n_features, **options)
        self.map = entry_named("rule", rule, MAPS)
        self.shrinks_first = entry_named("step_order", step_order, SHRINKS_FIRST)
        self.schedule, self.intercept = schedule, self.zero

    def load(self, j: int) -> Any:
        """Weight j as of now."""
        raise NotImplementedError

    def store(self, j: int, w: Any) -> None:
        """Make weight j equal to w as of now."""
        raise NotImplementedError

    def advance(self, a: Any, b: Any) -> None:
        """Apply one shrink |w| <- [ a |w| - b ]+ to every weight."""
        raise NotImplementedError

    def weight(self, j: int) -> Any:
        """Weight j as of now."""
        return self.load(j)

    def _learn(self, example: Sequence[tuple[int, Any]], slope: Any, importance: Any) -> None:
        eta = self.schedule(self.t)
        shrink = self.map(eta, self.l1, self.l2)
        if self.shrinks_first:
            self.advance(*shrink)
        for j, x in example:
            self.store(j, self.load(j) - eta * slope * x)
        if not self.shrinks_first:
            self.advance(*shrink)
        if self.fit_intercept:
            self.intercept -= eta * slope


class PlainClock(PlainLazy):
    """SGD or FoBoS, with a weight stored as z = sgn(w) (|w| / scale + shift).

    A shrink |w| <- [ a |w| - b ]+ of all weights changes only the two scalars:

        scale <- a scale        shift <- shift + b / scale        with the new scale

    Without an l1 penalty the shift stays 0, and w = scale z is the classic trick for an l2 penalty,
    in "Sparse Features and L2 Regularization" (2012, with credit to Smola and Bottou).

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
        """Apply one shrink to every weight: scale <- a scale, shift <- shift + b / scale."""
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


class PlainTables(PlainLazy):
    """SGD or FoBoS, with a weight stored together with psi, the step at which it was stored.

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
        """Set each table to one entry, and the psi of every weight to this entry."""
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
        """Apply one shrink to every weight: append one entry, after a flush if P is full."""
        if len(self.P) > self.budget:
            self.flush()
        self.P.append(self.P[-1] * a)
        self.B.append(self.B[-1] + b / self.P[-1])

    def flush(self) -> None:
        """Bring every weight current and begin the tables again; no weight changes."""
        self.as_of_psi = self.weights
        self.begin()
