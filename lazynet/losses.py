"""The losses by name, and the objects that carry the width of a loss.

A new loss needs a branch of ``loss_with_slope`` in ``kernels/losses.pxd``, its conjugate and update
in ``kernels/conjugates.pxd``, the same functions in ``reference/losses.py``, and a row in this
file, which has all constants of the loss (CONTRIBUTING, "Add a loss").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, ClassVar

from lazynet.parameters import Kind, NonNegative, ParameterObject, check_choice, refuse_class


@dataclass(frozen=True)
class Loss:
    """A loss: a row of the table ``LOSSES``.  A row that lacks a constant cannot be imported.

    ``margin`` losses take y = -1 or +1 and depend on m = p*y; the others take any real y.

    ``curvature`` is the least bound of the second derivative in p.  None: the slope jumps, and the
    loss is linear between the jumps.  ``kinks`` are the points of these jumps, in m or in p - y: a
    pair (c, k) is the point c + k * epsilon.  At a kink the slope is the subgradient nearest to 0,
    but -y for "perceptron", because with 0 training could not leave zero weights.

    ``steepest`` is the least bound of the size of the slope, in the same form; c is infinite for a
    slope without a bound.

    ``alphas`` and ``gamma`` are the default rates, for rows of the mean size 1: alpha of FTRL and
    of AdaGrad without ``initial``, alpha of AdaGrad with ``initial``, and gamma of RDA.  The first
    visit to a row changes its prediction by at most alpha.  gamma must be so large that a step of a
    smooth loss with an unbounded slope does not overshoot; a bounded slope allows longer steps.

    ``probability`` is the formula of the probability of the positive class: "logistic", the
    logistic function of p, or "clipped", (clip(p, -1, 1) + 1) / 2; None: there is none.
    ``trivial_minimum`` marks a loss that has its minimum at zero weights for any penalty.
    """

    name: str
    code: int
    margin: bool
    formula: str
    source: str
    _: KW_ONLY
    curvature: float | None
    steepest: tuple[float, float]
    alphas: tuple[float, float]
    gamma: float
    kinks: tuple[tuple[float, float], ...] = ()
    probability: str | None = None
    uses_epsilon: bool = False
    trivial_minimum: bool = False
    #: the width of the losses with ``uses_epsilon``; the other losses ignore it
    epsilon: float = 0.1

    @property
    def largest_slope(self) -> float:
        """The least bound of the size of the slope; infinite if there is none."""
        constant, factor = self.steepest
        return constant + factor * self.epsilon

    @property
    def unbounded_slope(self) -> bool:
        """Whether the size of the slope has no bound."""
        return self.largest_slope == math.inf


_ROWS = (
    Loss(
        "log_loss", 0, True, "log(1 + exp(-m))", "logistic regression",
        curvature=0.25, steepest=(1.0, 0.0), alphas=(5.0, 8.0), gamma=0.01, probability="logistic",
    ),
    Loss(
        "hinge", 1, True, "max(0, 1 - m)", "linear support vector machine",
        curvature=None, steepest=(1.0, 0.0), alphas=(5.0, 5.0), gamma=0.01, kinks=((1.0, 0.0),),
    ),
    Loss(
        "squared_hinge", 2, True, "max(0, 1 - m)^2", "L2 support vector machine",
        curvature=2.0, steepest=(math.inf, 0.0), alphas=(2.5, 2.5), gamma=0.5,
    ),
    Loss(
        "modified_huber", 3, True, "max(0, 1 - m)^2 if m >= -1 else -4m", "Zhang 2004",
        curvature=2.0, steepest=(4.0, 0.0), alphas=(2.5, 2.5), gamma=0.1, probability="clipped",
    ),
    Loss(
        "squared_error", 4, False, "(p - y)^2 / 2", "least squares",
        curvature=1.0, steepest=(math.inf, 0.0), alphas=(1.0, 1.0), gamma=0.5,
    ),
    Loss(
        "absolute_error", 5, False, "|p - y|", "median regression",
        curvature=None, steepest=(1.0, 0.0), alphas=(1.0, 1.0), gamma=0.2, kinks=((0.0, 0.0),),
    ),
    Loss(
        "huber", 6, False, "(p - y)^2 / 2 if |p - y| <= e else e (|p - y| - e/2)", "Huber 1964",
        curvature=1.0, steepest=(0.0, 1.0), alphas=(1.0, 1.0), gamma=0.03, uses_epsilon=True,
    ),
    Loss(
        "epsilon_insensitive", 7, False, "max(0, |p - y| - e)", "support vector regression",
        curvature=None, steepest=(1.0, 0.0), alphas=(1.0, 1.0), gamma=0.2,
        kinks=((0.0, 1.0), (0.0, -1.0)), uses_epsilon=True,
    ),
    Loss(
        "smooth_hinge", 8, True, "0 if m >= 1, (1 - m)^2 / 2 if 0 < m < 1, 1/2 - m if m <= 0",
        "Rennie & Srebro 2005",
        curvature=1.0, steepest=(1.0, 0.0), alphas=(2.5, 4.0), gamma=0.03,
    ),
    Loss(
        "perceptron", 9, True, "max(0, -m)", "Rosenblatt 1958",
        curvature=None, steepest=(1.0, 0.0), alphas=(5.0, 5.0), gamma=0.01, kinks=((0.0, 0.0),),
        trivial_minimum=True,
    ),
    Loss(
        "squared_epsilon_insensitive", 10, False, "max(0, |p - y| - e)^2",
        "L2 support vector regression",
        curvature=2.0, steepest=(math.inf, 0.0), alphas=(1.0, 1.0), gamma=1.0, uses_epsilon=True,
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
class _Width(ParameterObject):
    epsilon: NonNegative = 0.1


@dataclass(repr=False)
class Huber(_Width):
    """The loss "huber": quadratic up to a distance of ``epsilon`` from the target, linear beyond.

    >>> from lazynet import LazyNetRegressor
    >>> LazyNetRegressor(loss=Huber(epsilon=0.5))
    LazyNetRegressor(loss=Huber(epsilon=0.5))
    """

    name: ClassVar[str] = "huber"


@dataclass(repr=False)
class EpsilonInsensitive(_Width):
    """The loss "epsilon_insensitive": zero up to a distance of ``epsilon`` from the target.

    >>> EpsilonInsensitive(0.5)
    EpsilonInsensitive(epsilon=0.5)
    """

    name: ClassVar[str] = "epsilon_insensitive"


@dataclass(repr=False)
class SquaredEpsilonInsensitive(_Width):
    """The loss "squared_epsilon_insensitive": zero up to ``epsilon``, then the excess squared.

    >>> SquaredEpsilonInsensitive(0.5)
    SquaredEpsilonInsensitive(epsilon=0.5)
    """

    name: ClassVar[str] = "squared_epsilon_insensitive"


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
    """The row of a loss given by name or as an object."""
    return check_loss("loss", value)


#: The type of the parameter ``loss``, which is settled to a row of the table.
AnyLoss = Annotated[LossLike, Kind(check_loss, objects=_OBJECTS)]

#: The losses of classes, which may share the softmax.
LOSSES_OF_CLASSES = LOSSES | {SOFTMAX.name: SOFTMAX}
#: The type of the parameter ``loss`` of an estimator whose classes may share the softmax.
LossOfClasses = Annotated[LossLike, Kind(check_loss, objects=_OBJECTS, losses=LOSSES_OF_CLASSES)]


def _loss_or_refusal(name: str, value: Any, accepted: Mapping[str, Loss]) -> Loss:
    """The row of any loss; another value is refused with a list of the ``accepted`` losses."""
    known = isinstance(value, str) and value in LOSSES
    return check_loss(name, value, LOSSES if known else accepted)


_OF_NUMBERS = {key: row for key, row in LOSSES.items() if not row.margin}
_MINIMISED = {key: row for key, row in LOSSES.items() if not row.trivial_minimum}


def _check_loss_of_numbers(name: str, value: Any) -> Loss:
    loss = _loss_or_refusal(name, value, _OF_NUMBERS)
    if loss.margin:
        raise ValueError(
            f"{name}={loss.name!r} is for targets of -1 and +1; a regressor takes one of "
            f"{sorted(_OF_NUMBERS)}"
        )
    return loss


#: The type of the parameter ``loss`` of a regressor.
LossOfNumbers = Annotated[LossLike, Kind(_check_loss_of_numbers, objects=_OBJECTS)]


def _check_minimised(name: str, value: Any) -> Loss:
    loss = _loss_or_refusal(name, value, _MINIMISED)
    if loss.trivial_minimum:
        raise ValueError(
            f"{name} must be one of {sorted(_MINIMISED)}, got {loss.name!r}, whose minimum is at "
            f"zero weights for any penalty: {name}='hinge' is the loss with a margin"
        )
    return loss


#: The type of the parameter ``loss`` of an estimator that finds the minimum.
MinimisedLoss = Annotated[LossLike, Kind(_check_minimised, objects=_OBJECTS)]
