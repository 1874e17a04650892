"""The losses by name, and the objects that carry the width of a loss.

A new loss needs a branch of ``loss_with_slope`` in ``kernels/losses.pxd``, its conjugate and update
in ``kernels/conjugates.pxd``, the same functions in ``reference/losses.py``, and a row in this
file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from lazynet.parameters import Kind, NonNegative, ParameterObject, check_choice, refuse_class


@dataclass(frozen=True)
class Loss:
    """A loss: a row of the table ``LOSSES``.

    ``margin`` losses take y = -1 or +1 and depend on m = p*y; the others take any real y.
    ``curvature`` bounds the second derivative in p; None: the derivative jumps.  ``kinks`` are the
    points of these jumps, in m or in p - y: a pair (c, k) is the point c + k * epsilon.  At a kink
    the slope is 0, but -y for "perceptron", because with 0 training could not leave zero weights.
    ``trivial_minimum`` marks a loss that has its minimum at zero weights for any penalty.
    """

    name: str
    code: int
    margin: bool
    formula: str
    source: str
    curvature: float | None
    kinks: tuple[tuple[float, float], ...] = ()
    has_probability: bool = False
    uses_epsilon: bool = False
    unbounded_slope: bool = False
    trivial_minimum: bool = False
    #: the width of the losses with ``uses_epsilon``; the other losses ignore it
    epsilon: float = 0.1


_ROWS = (
    Loss(
        "log_loss", 0, True, "log(1 + exp(-m))", "logistic regression",
        curvature=0.25, has_probability=True,
    ),
    Loss(
        "hinge", 1, True, "max(0, 1 - m)", "linear support vector machine",
        curvature=None, kinks=((1.0, 0.0),),
    ),
    Loss(
        "squared_hinge", 2, True, "max(0, 1 - m)^2", "L2 support vector machine",
        curvature=2.0, unbounded_slope=True,
    ),
    Loss(
        "modified_huber", 3, True, "max(0, 1 - m)^2 if m >= -1 else -4m", "Zhang 2004",
        curvature=2.0, has_probability=True,
    ),
    Loss(
        "squared_error", 4, False, "(p - y)^2 / 2", "least squares",
        curvature=1.0, unbounded_slope=True,
    ),
    Loss(
        "absolute_error", 5, False, "|p - y|", "median regression",
        curvature=None, kinks=((0.0, 0.0),),
    ),
    Loss(
        "huber", 6, False, "(p - y)^2 / 2 if |p - y| <= e else e (|p - y| - e/2)", "Huber 1964",
        curvature=1.0, uses_epsilon=True,
    ),
    Loss(
        "epsilon_insensitive", 7, False, "max(0, |p - y| - e)", "support vector regression",
        curvature=None, kinks=((0.0, 1.0), (0.0, -1.0)), uses_epsilon=True,
    ),
    Loss(
        "smooth_hinge", 8, True, "0 if m >= 1, (1 - m)^2 / 2 if 0 < m < 1, 1/2 - m if m <= 0",
        "Rennie & Srebro 2005", curvature=1.0,
    ),
    Loss(
        "perceptron", 9, True, "max(0, -m)", "Rosenblatt 1958",
        curvature=None, kinks=((0.0, 0.0),), trivial_minimum=True,
    ),
    Loss(
        "squared_epsilon_insensitive", 10, False, "max(0, |p - y| - e)^2",
        "L2 support vector regression", curvature=2.0, uses_epsilon=True, unbounded_slope=True,
    ),
)  # fmt: skip

#: Every loss by the name scikit-learn gives it.
LOSSES: dict[str, Loss] = {loss.name: loss for loss in _ROWS}

#: The one loss of several classes; for two classes it is the log loss of one output.
SOFTMAX = replace(
    LOSSES["log_loss"],
    name="softmax",
    formula="log(sum of exp p_k) - p_y",
    source="multinomial logistic regression",
)


@dataclass(repr=False)
class Huber(ParameterObject):
    """The loss "huber": quadratic up to a distance of ``epsilon`` from the target, linear beyond.

    >>> from lazynet import LazyNetRegressor
    >>> LazyNetRegressor(loss=Huber(epsilon=0.5))
    LazyNetRegressor(loss=Huber(epsilon=0.5))
    """

    name: ClassVar[str] = "huber"
    epsilon: NonNegative = 0.1


@dataclass(repr=False)
class EpsilonInsensitive(ParameterObject):
    """The loss "epsilon_insensitive": zero up to a distance of ``epsilon`` from the target.

    >>> from lazynet import LazyNetRegressor
    >>> LazyNetRegressor(loss=EpsilonInsensitive(0.5))
    LazyNetRegressor(loss=EpsilonInsensitive(epsilon=0.5))
    """

    name: ClassVar[str] = "epsilon_insensitive"
    epsilon: NonNegative = 0.1


@dataclass(repr=False)
class SquaredEpsilonInsensitive(ParameterObject):
    """The loss "squared_epsilon_insensitive": zero up to ``epsilon``, then the excess squared.

    >>> from lazynet import LazyNetRegressor
    >>> LazyNetRegressor(loss=SquaredEpsilonInsensitive(0.5))
    LazyNetRegressor(loss=SquaredEpsilonInsensitive(epsilon=0.5))
    """

    name: ClassVar[str] = "squared_epsilon_insensitive"
    epsilon: NonNegative = 0.1


LossLike = str | Huber | EpsilonInsensitive | SquaredEpsilonInsensitive

_OBJECTS = (Huber, EpsilonInsensitive, SquaredEpsilonInsensitive)

#: The objects that carry the width of a loss, by the name of the loss.
LOSS_OBJECTS = {kind.name: kind for kind in _OBJECTS}


def check_loss(name: str, value: Any, losses: Mapping[str, Loss] = LOSSES) -> Loss:
    """The row of a loss given by name or as an object; ``losses`` are the rows by name.

    >>> check_loss("loss", Huber(0.5)).epsilon
    0.5
    """
    if isinstance(value, Loss):
        return value
    if isinstance(value, str) and value in losses:
        return losses[value]
    if isinstance(value, _OBJECTS):
        return replace(LOSSES[value.name], epsilon=value.settled().epsilon)
    refuse_class(name, value)
    return losses[check_choice(name, value, losses)]


def get_loss(value: Any) -> Loss:
    """The row of a loss given by name or as an object.

    >>> get_loss("hinge").formula
    'max(0, 1 - m)'
    """
    return check_loss("loss", value)


#: The type of the parameter ``loss``, which is settled to a row of the table.
AnyLoss = Annotated[LossLike, Kind(check_loss, objects=_OBJECTS)]

#: The losses of classes, which may share the softmax.
LOSSES_OF_CLASSES = LOSSES | {SOFTMAX.name: SOFTMAX}
#: The type of the parameter ``loss`` of an estimator whose classes may share the softmax.
LossOfClasses = Annotated[LossLike, Kind(check_loss, objects=_OBJECTS, losses=LOSSES_OF_CLASSES)]


def _check_loss_of_numbers(name: str, value: Any) -> Loss:
    loss = check_loss(name, value)
    if loss.margin:
        accepted = sorted(key for key, row in LOSSES.items() if not row.margin)
        raise ValueError(
            f"{name}={loss.name!r} is for targets of -1 and +1; a regressor takes one of {accepted}"
        )
    return loss


#: The type of the parameter ``loss`` of a regressor.
LossOfNumbers = Annotated[LossLike, Kind(_check_loss_of_numbers, objects=_OBJECTS)]


def _check_minimised(name: str, value: Any) -> Loss:
    loss = check_loss(name, value)
    if loss.trivial_minimum:
        accepted = sorted(key for key, row in LOSSES.items() if not row.trivial_minimum)
        raise ValueError(
            f"{name} must be one of {accepted}, got {loss.name!r}, whose minimum is at zero "
            f"weights for any penalty: {name}='hinge' is the loss with a margin"
        )
    return loss


#: The type of the parameter ``loss`` of an estimator that finds the minimum.
MinimisedLoss = Annotated[LossLike, Kind(_check_minimised, objects=_OBJECTS)]
