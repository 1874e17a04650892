"""SGD and FoBoS: the two rules of Lipton & Elkan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lazynet.rules.base import LARGEST_SHRINK, STEP_ORDER, Affine, Shrink


def sgd(eta: Any, l1: Any, l2: Any) -> Shrink:
    """Subgradient step, Lipton & Elkan Eq. 3: a = 1 - eta l2, b = eta l1.

    Works on numbers of any kind: floats, arrays, exact fractions.

    >>> from fractions import Fraction
    >>> sgd(Fraction(1, 2), Fraction(2), Fraction(1))
    Shrink(keep=Fraction(1, 2), decay=Fraction(1, 2), pull=Fraction(1, 1))
    """
    decay = eta * l2
    return Shrink(1 - decay, decay, eta * l1)


def fobos(eta: Any, l1: Any, l2: Any) -> Shrink:
    """Proximal step, Lipton & Elkan Eq. 2: a = 1 / (1 + eta l2), b = a eta l1.

    >>> from fractions import Fraction
    >>> fobos(Fraction(1, 2), Fraction(2), Fraction(2))
    Shrink(keep=Fraction(1, 2), decay=Fraction(1, 2), pull=Fraction(1, 2))
    """
    growth = eta * l2
    keep = 1 / (1 + growth)
    return Shrink(keep, growth * keep, eta * l1 * keep)


@dataclass(repr=False)
class SGD(Affine):
    """Shrink by the subgradient of the penalty; rates must be less than 1 / l2.

    A step with eta * l2 >= 1 is refused: it would set every weight that the row does not touch to
    0, or without l1 turn its sign.  Then the scale of the stored
    weights, the product of all 1 - eta * l2, is not positive, and the closed form does not hold.

    ``step_order`` is "gradient_first", w <- shrink(w - eta g x), or "shrink_first",
    w <- shrink(w) - eta g x.

    >>> SGD(step_order="shrink_first")
    SGD(step_order='shrink_first')
    """

    _kinds = STEP_ORDER
    name: ClassVar[str] = "sgd"
    takes_positive: ClassVar[bool] = True
    decay_below: ClassVar[float] = 1.0
    why: ClassVar[str] = "eta*l2 >= 1 would flip or wipe every weight"
    shrink = staticmethod(sgd)
    step_order: str = "gradient_first"


@dataclass(repr=False)
class FoBoS(Affine):
    """Shrink by the proximal map of the penalty; any rate is allowed.

    ``step_order`` is "gradient_first", w <- shrink(w - eta g x), or "shrink_first",
    w <- shrink(w) - eta g x.

    >>> FoBoS(step_order="shrink_first")
    FoBoS(step_order='shrink_first')
    """

    _kinds = STEP_ORDER
    name: ClassVar[str] = "fobos"
    takes_positive: ClassVar[bool] = True
    decay_below: ClassVar[float] = LARGEST_SHRINK
    why: ClassVar[str] = "larger products drive the weights out of the range of doubles"
    shrink = staticmethod(fobos)
    step_order: str = "gradient_first"
