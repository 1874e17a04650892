"""When a lazy form is worn out, so that every weight must be brought current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from lazynet.parameters import Kind, Number, SettledFields, shown

#: A number that may be infinite.
Limit = Annotated[float, Number(least=0, infinite=True)]


@dataclass(frozen=True)
class Wear(SettledFields):
    """When the clock is worn out and every weight is brought current (a sweep).

    ``smallest_scale`` keeps |w| / scale in the range of doubles.  ``cushion`` bounds
    scale * shift, and so the absolute error of a weight: about 6 cushions in units of the
    roundoff.  A sweep visits every weight.  So the soft limit ``cushion`` holds once the nonzeros
    since the last sweep number ``nonzeros_per_weight`` times the weights, and the hard limit
    ``largest_cushion`` at any time.

    Where iterates are averaged, ``reach`` and ``largest_reach`` are the soft and the hard limit of
    S0 max(1 / scale, shift) / (sum of omega), S0 being the sum of the scales since the last sweep
    (kernels/averages.pxd).
    """

    smallest_scale: Annotated[float, Number(least=0, most=1)] = 2.0**-500
    cushion: Limit = 1.0
    largest_cushion: Limit = 2.0**10
    nonzeros_per_weight: Limit = 16.0
    reach: Limit = 2.0**6
    largest_reach: Limit = 2.0**10


def _check_wear(name: str, value: Any) -> Wear:
    if not isinstance(value, Wear):
        raise TypeError(f"{name} must be None or a lazynet.engines.wear.Wear, got {shown(value)}")
    return value


#: The type of the parameter ``wear``.
WearOrNone = Annotated[Wear | None, Kind(_check_wear, optional=True)]
