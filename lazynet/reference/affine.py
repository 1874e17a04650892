"""SGD and FoBoS with an elastic net: one shrink of one weight, and steps that visit every weight.

A rule of the affine family is written twice: as the papers write the shrink, and as the map
(eta, l1, l2) -> (a, b) with which the shrink is |w| <- [ a |w| - b ]+, the same for every weight.

>>> sgd_shrink(-4.0, 0.5, 1.0, 1.0), fobos_shrink(-4.0, 1.0, 1.0, 1.0)  # 4 / 2 - 1 / 2, (4 - 1) / 2
(-1.5, -1.5)
>>> sgd_map(0.5, 3.0, 1.0), fobos_map(0.5, 3.0, 2.0)
((0.5, 1.5), (0.5, 0.75))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from lazynet.reference.learner import Learner
from lazynet.reference.losses import entry_named


def sgd_shrink(w: Any, eta: Any, l1: Any, l2: Any) -> Any:
    """sgn(w) [ (1 - eta l2) |w| - eta l1 ]+      Lipton & Elkan, version 3, Eq. 3

    With eta l2 >= 1 the bracket is never positive and the weight becomes 0.
    """
    return _with_sign_of(w, (1 - eta * l2) * abs(w) - eta * l1)


def fobos_shrink(w: Any, eta: Any, l1: Any, l2: Any) -> Any:
    """sgn(w) [ (|w| - eta l1) / (1 + eta l2) ]+      Lipton & Elkan, version 3, Eq. 2"""
    return _with_sign_of(w, (abs(w) - eta * l1) / (1 + eta * l2))


def _with_sign_of(w: Any, magnitude: Any) -> Any:
    if magnitude <= 0:
        return w * 0
    return magnitude if w > 0 else -magnitude


def sgd_map(eta: Any, l1: Any, l2: Any) -> tuple[Any, Any]:
    """a = 1 - eta l2, b = eta l1."""
    return 1 - eta * l2, eta * l1


def fobos_map(eta: Any, l1: Any, l2: Any) -> tuple[Any, Any]:
    """a = 1 / (1 + eta l2), b = a eta l1."""
    return 1 / (1 + eta * l2), eta * l1 / (1 + eta * l2)


#: rule -> shrink(w, eta, l1, l2)
SHRINKS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "sgd": sgd_shrink,
    "fobos": fobos_shrink,
}

#: rule -> (eta, l1, l2) -> (a, b)
MAPS: dict[str, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    "sgd": sgd_map,
    "fobos": fobos_map,
}

#: step_order -> whether a step shrinks before it adds the gradient
SHRINKS_FIRST = {"gradient_first": False, "shrink_first": True}


class DenseReference(Learner):
    """Lipton & Elkan's Algorithm 1 without the lazy updates; Duchi & Singer (2009) for FoBoS.

    - ``step_order="gradient_first"`` (the default): w <- shrink_t(w - eta_t g x).
    - ``step_order="shrink_first"``: w <- shrink_t(w) - eta_t g x, where g is the slope at the w
      before the shrink.

    ``rule`` is a name, or a shrink as a function of (w, eta, l1, l2).
    With ``positive`` the gradient step sets a weight of the example that it takes below 0 to 0.

    >>> dense = DenseReference(2, loss="squared_error", rule="sgd", l1=1, schedule=lambda t: 0.5)
    >>> dense.step([0], [1.0], target=4.0)
    0.0
    >>> dense.weights  # the gradient gives 2, the shrink takes 0.5
    [1.5, 0.0]
    >>> dense.predict([0], [2.0])
    3.0
    """

    state: ClassVar[tuple[str, ...]] = ("t", "weights", "intercept")

    def __init__(
        self,
        n_features: int,
        *,
        rule: str | Callable[[Any, Any, Any, Any], Any] = "fobos",
        step_order: str = "gradient_first",
        schedule: Callable[[int], Any] = lambda t: 1,
        positive: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(n_features, **options)
        self.shrink = rule if callable(rule) else entry_named("rule", rule, SHRINKS)
        self.shrinks_first = entry_named("step_order", step_order, SHRINKS_FIRST)
        self.schedule, self.positive = schedule, positive
        self.weights = [self.zero] * n_features
        self.intercept = self.zero

    def _learn(self, example: Sequence[tuple[int, Any]], slope: Any, importance: Any) -> None:
        eta = self.schedule(self.t)
        if self.shrinks_first:
            self._shrink_all(eta)
        for j, x in example:
            self.weights[j] -= eta * (slope * x)
            if self.positive and self.weights[j] < 0:
                self.weights[j] = self.zero
        if not self.shrinks_first:
            self._shrink_all(eta)
        if self.fit_intercept:
            self.intercept -= eta * slope

    def _shrink_all(self, eta: Any) -> None:
        self.weights = [self.shrink(w, eta, self.l1, self.l2) for w in self.weights]
