"""Update rules of the affine family: how one step shrinks a weight that nothing touches.

    |w|  <-  [ a |w| - b ]+         the same a and b for every weight

A rule is the scalar map eta -> (a, b).  Composition of affine maps is affine, so the map is all
that the engines need; a new rule of the family is one row here and its twin in ``reference``.

The map is given as a, 1 - a and b: the small number 1 - a is known to full relative precision,
and from it the engines recover the digits that a loses when it is rounded near 1.  (Without
them the error grows with the number of steps: algorithms.md 12.1.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.penalties import ElasticNet

# Beyond this the scalars of the clock would leave the range of doubles (algorithms.md 4.4).
LARGEST_SHRINK = 2.0**200


class Shrink(NamedTuple):
    """One step's map: keep = a, decay = 1 - a, pull = b; numbers or arrays of them."""

    keep: Any
    decay: Any
    pull: Any


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


@dataclass(frozen=True)
class Rule:
    """A name, the scalar map, and the bound on eta * l2 within which the map may be used."""

    name: str
    shrink: Callable[[Any, Any, Any], Shrink]
    decay_below: float
    why: str
    source: str

    def largest_rate(self, penalty: ElasticNet) -> float:
        """Rates must be less than this."""
        limits = [LARGEST_SHRINK]
        if penalty.l2:
            limits.append(self.decay_below / float(penalty.l2))
        if penalty.l1:
            limits.append(LARGEST_SHRINK / float(penalty.l1))
        return min(limits)

    def check_rates(self, rates: NDArray[np.float64], penalty: ElasticNet, first: int) -> None:
        """Refuse rates under which the rule breaks down; ``first`` is the step of rates[0]."""
        # Python floats: an overflow to infinity is caught by the comparison, without a warning.
        largest, l1, l2 = float(rates.max(initial=0.0)), float(penalty.l1), float(penalty.l2)
        # A strength of zero allows any rate, even one whose product with it is not a number.
        l2_fits = not l2 or largest * l2 < self.decay_below
        l1_fits = not l1 or largest * l1 < LARGEST_SHRINK
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


_ROWS = (
    Rule(
        "sgd",
        sgd,
        1.0,
        "eta*l2 >= 1 would flip or wipe every weight",
        "Lipton & Elkan Eq. 3, Theorem 1 (corrected)",
    ),
    Rule(
        "fobos",
        fobos,
        LARGEST_SHRINK,
        "beyond it the weights leave the range of doubles",
        "Lipton & Elkan Eq. 2, Theorem 2",
    ),
)

#: Every rule of the affine family by name.
RULES: dict[str, Rule] = {rule.name: rule for rule in _ROWS}


def get_rule(name: str) -> Rule:
    """The row called ``name``."""
    try:
        return RULES[name]
    except (KeyError, TypeError):
        raise ValueError(f"rule must be one of {sorted(RULES)}, got {name!r}") from None


def lost_digits(shrink: Shrink) -> NDArray[np.float64]:
    """What rounding took from ``keep``: keep + lost_digits = 1 - decay to twice the precision.

    Where a < 1/2 nothing is owed: the weights then halve at every step, and a roundoff of a that
    does not grow with the steps is all that can be seen.
    """
    keep = np.asarray(shrink.keep)
    if keep.min(initial=1.0) >= 0.5:
        return (1.0 - keep) - shrink.decay
    # 1 - keep is exact for keep in [1/2, 1] (Sterbenz).
    return np.where(keep >= 0.5, (1.0 - keep) - shrink.decay, 0.0)
