"""When a lazy form is worn out, so that every weight must be brought current."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lazynet.parameters import Kind, Number, SettledFields, shown, table


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

    _kinds = table(
        smallest_scale=Number(least=0, most=1),
        cushion=Number(least=0, infinite=True),
        largest_cushion=Number(least=0, infinite=True),
        nonzeros_per_weight=Number(least=0, infinite=True),
        reach=Number(least=0, infinite=True),
        largest_reach=Number(least=0, infinite=True),
    )
    smallest_scale: float = 2.0**-500
    cushion: float = 1.0
    largest_cushion: float = 2.0**10
    nonzeros_per_weight: float = 16.0
    reach: float = 2.0**6
    largest_reach: float = 2.0**10


def _check_wear(name: str, value: Any) -> Wear:
    if not isinstance(value, Wear):
        raise TypeError(f"{name} must be None or a lazynet.engines.wear.Wear, got {shown(value)}")
    return value


#: The kind of the parameter ``wear``.
WEAR = Kind(_check_wear, optional=True)
