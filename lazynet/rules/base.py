"""The base of every update rule, and the affine family: rules that shrink all weights alike."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.params import Choice, ParameterObject, table
from lazynet.penalties import ElasticNet

# A larger eta * l1 or eta * l2 would take the scalars of the clock out of the range of doubles.
LARGEST_SHRINK = 2.0**200

STEP_ORDERS = ("gradient_first", "shrink_first")


class Shrink(NamedTuple):
    """The map |w| <- [a |w| - b]+ of one step: keep = a, decay = 1 - a, pull = b.

    The fields are numbers, or arrays with an entry per step.
    """

    keep: Any
    decay: Any
    pull: Any


class Rule(ParameterObject):
    """How a step learns from its example and how it shrinks the weights."""

    #: whether the rates of the rule come from a schedule
    scheduled: ClassVar[bool] = True
    #: the constructor call that sets the rate of a rule without a schedule, for error messages
    rate: ClassVar[str] = ""
    #: w <- shrink(w - eta g x), or with "shrink_first" w <- shrink(w) - eta g x
    step_order: str = "gradient_first"

    @property
    def has_state(self) -> bool:
        """Whether the rule keeps a state of its own, in place of weights in one of the forms."""
        return True

    def check_penalty(self, penalty: ElasticNet) -> None:
        """Refuse a penalty that the rule cannot apply."""

    def settings(self, penalty: ElasticNet) -> tuple[float, ...]:
        """The parameters and strengths for the kernel of a rule with a state, in its order."""
        raise NotImplementedError

    def shrinks(self, rates: NDArray[np.float64], penalty: ElasticNet, first: int) -> Shrink:
        """The shrink of all weights in every step from ``first`` on.

        A rule with a state shrinks each weight by a map of its own: here a = 1 and b = 0.
        """
        return Shrink(np.ones(len(rates)), np.zeros(len(rates)), np.zeros(len(rates)))

    def largest_rate(self, penalty: ElasticNet) -> float:
        """The bound below which rates must stay."""
        return LARGEST_SHRINK


class Affine(Rule):
    """A rule that shrinks every weight by the same map: |w| <- [a |w| - b]+.

    Such a rule is the function (eta, l1, l2) -> (a, b).  Affine maps compose to affine maps, so
    the engines need only a and b, and a new rule of the family needs no kernel.

    The map is given as a, 1 - a and b.  The small number 1 - a is known to full relative precision;
    from 1 - a the engines recover the digits that a loses when it is rounded near 1.  (Without
    these digits the error grows with the number of steps, as the dense engine's does:
    paper_repro/results/accuracy.md.)
    """

    #: the bound that eta * l2 must stay below
    decay_below: ClassVar[float]
    #: the reason for the bound of eta * l2, for error messages
    why: ClassVar[str]
    #: one step in ``period`` steps pulls, and ``period`` times as strongly
    period: int = 1

    @staticmethod
    def shrink(eta: Any, l1: Any, l2: Any) -> Shrink:
        """The map of one step at the rate ``eta``."""
        raise NotImplementedError

    @property
    def has_state(self) -> bool:
        return False

    def shrinks(self, rates: NDArray[np.float64], penalty: ElasticNet, first: int) -> Shrink:
        """The shrink of all weights in every step from ``first`` on; refuses too large rates."""
        self.check_rates(rates, penalty, first)
        return self.unchecked_shrinks(rates, penalty, first)

    def unchecked_shrinks(
        self, rates: NDArray[np.float64], penalty: ElasticNet, first: int
    ) -> Shrink:
        """The shrink of all weights in every step from ``first`` on; the rates are not checked."""
        shrink = self.shrink(rates, penalty.l1, penalty.l2)
        if self.period == 1:
            return shrink
        return shrink._replace(pull=collected(shrink.pull, self.period, first))

    def largest_rate(self, penalty: ElasticNet) -> float:
        """The bound below which rates must stay."""
        limits = [LARGEST_SHRINK]
        if penalty.l2:
            limits.append(self.decay_below / penalty.l2)
        if penalty.l1:
            limits.append(LARGEST_SHRINK / penalty.l1 / self.period)
        return min(limits)

    def check_rates(self, rates: NDArray[np.float64], penalty: ElasticNet, first: int) -> None:
        """Refuse rates under which the rule breaks down; ``first`` is the step of rates[0]."""
        # Python floats overflow to infinity without a warning, and the comparison catches infinity.
        largest, l1, l2 = float(rates.max(initial=0.0)), penalty.l1, penalty.l2
        # A strength of 0 allows any rate, even an infinite rate, whose product with 0 is NaN.
        l2_fits = not l2 or largest * l2 < self.decay_below
        l1_fits = not l1 or largest * l1 * self.period < LARGEST_SHRINK
        if l1_fits and l2_fits:
            return
        step = first + int(rates.argmax())
        if not l2_fits:
            raise ValueError(
                f"eta must be less than {self.decay_below / l2:.6g} with rule={self.name!r} and "
                f"l2={l2:.6g}, for {self.why}; the schedule gives {largest:.6g} at step {step}. "
                "Lower eta0 or l2"
                + (", or use rule='fobos', which allows any rate." if self.name == "sgd" else ".")
            )
        raise ValueError(
            f"eta must be less than {LARGEST_SHRINK / l1:.6g} with l1={l1:.6g}; "
            f"the schedule gives {largest:.6g} at step {step}. Lower eta0 or l1."
        )


#: The kinds of the parameters of a rule that can shrink before or after its gradient step.
STEP_ORDER = table(step_order=Choice(accepted=STEP_ORDERS))


def collected(pulls: NDArray[np.float64], period: int, first: int) -> NDArray[np.float64]:
    """The pull of one step in ``period`` steps, times ``period``; 0 at all other steps.

    >>> collected(np.array([1.0, 2.0, 3.0, 4.0]), 2, first=0)
    array([0., 4., 0., 8.])
    """
    due = (np.arange(first, first + len(pulls)) + 1) % period == 0
    return np.where(due, period * pulls, 0.0)


def lost_digits(shrink: Shrink) -> NDArray[np.float64]:
    """The digits that ``keep`` lost to rounding: keep + lost_digits = 1 - decay to 106 bits.

    Where a < 1/2 the lost digits are left out: the weights then halve at every step, and the
    roundoff of a does not accumulate over the steps.
    """
    keep = np.asarray(shrink.keep)
    if keep.min(initial=1.0) >= 0.5:
        return (1.0 - keep) - shrink.decay
    # 1 - keep is exact for keep in [1/2, 1] (Sterbenz).
    return np.where(keep >= 0.5, (1.0 - keep) - shrink.decay, 0.0)
