"""SGD and FoBoS: the two rules of Lipton & Elkan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from lazynet.averages import AverageLike
from lazynet.parameters import Choice, Flag, Positive
from lazynet.rules.base import Affine, Shrink
from lazynet.rules.storage import StorageLike
from lazynet.schedules import AUTO, ScheduleLike


def sgd(eta: Any, l1: Any, l2: Any) -> Shrink:
    """Subgradient step, Lipton & Elkan, version 3, Eq. 3: a = 1 - eta l2, b = eta l1.

    Works on numbers of any kind: floats, arrays, exact fractions.

    >>> from fractions import Fraction
    >>> sgd(Fraction(1, 2), Fraction(2), Fraction(1))
    Shrink(keep=Fraction(1, 2), decay=Fraction(1, 2), pull=Fraction(1, 1))
    """
    decay = eta * l2
    return Shrink(1 - decay, decay, eta * l1)


def fobos(eta: Any, l1: Any, l2: Any) -> Shrink:
    """Proximal step, Lipton & Elkan, version 3, Eq. 2: a = 1 / (1 + eta l2), b = a eta l1.

    >>> from fractions import Fraction
    >>> fobos(Fraction(1, 2), Fraction(2), Fraction(2))
    Shrink(keep=Fraction(1, 2), decay=Fraction(1, 2), pull=Fraction(1, 2))
    """
    growth = eta * l2
    keep = 1 / (1 + growth)
    return Shrink(keep, growth * keep, eta * l1 * keep)


STEP_ORDERS = ("gradient_first", "shrink_first")


@dataclass(repr=False)
class Proximal(Affine):
    """The parameters that FoBoS and SGD share."""

    schedule: ScheduleLike = AUTO
    eta0: Positive | None = None
    average: AverageLike = False
    storage: StorageLike = "clock"
    step_order: Annotated[str, Choice(accepted=STEP_ORDERS)] = "gradient_first"
    positive: Flag = False


@dataclass(repr=False)
class FoBoS(Proximal):
    """Shrink by the proximal map of the penalty; any rate is allowed.

    Parameters
    ----------
    schedule : str, object, array or callable, default="auto"
        The learning rate of step t = 0, 1, 2, ...: "constant", "power", ``Power(eta0, power_t)``,
        the rates, a function of t.  "auto": rates from the rows; but "power" with ``eta0``, with a
        storage other than the clock or with groups.
    eta0 : float or None, default=None
        The scale of a schedule without a scale; None: the largest rate that overshoots on no row
        of the first call.
    average : bool, int, str or object, default=False
        Predict with the exact mean of the weights after every step.  True: of all steps; k: from
        step k on; "suffix": over the last half (needs ``tol=None``); "polynomial".
    storage : str or object, default="clock"
        The storage of the weights: "clock", "tables" or "dense".
    step_order : "gradient_first" or "shrink_first", default="gradient_first"
        w <- shrink(w - eta g x), or w <- shrink(w) - eta g x.
    positive : bool, default=False
        Keep every weight at 0 or above.
    group : "l2" or None, default=None
        "l2": the l1 penalty acts on the Euclidean norm of the weights of a feature over all classes
        or labels, so that all classes or labels use the feature, or none does.

    Examples
    --------
    >>> FoBoS("constant", eta0=0.5, storage="tables")
    FoBoS(eta0=0.5, schedule='constant', storage='tables')
    """

    name: ClassVar[str] = "fobos"
    shrink = staticmethod(fobos)
    group: Annotated[str, Choice(accepted=("l2",))] | None = None


@dataclass(repr=False)
class SGD(Proximal):
    """Shrink by the subgradient of the penalty; rates must be less than 1 / l2.

    A step with eta * l2 >= 1 is refused: it would set every weight that the row does not touch to
    0, or change its sign if l1 is 0.  The scale of the stored weights, the product of all
    1 - eta * l2, would not be positive, and the closed form would not hold.

    The parameters are those of ``FoBoS``, without ``group``.

    >>> SGD(step_order="shrink_first")
    SGD(step_order='shrink_first')
    """

    name: ClassVar[str] = "sgd"
    decay_below: ClassVar[float] = 1.0
    why: ClassVar[str] = "eta*l2 >= 1 would flip or wipe every weight"
    shrink = staticmethod(sgd)
