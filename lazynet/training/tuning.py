"""The constants of rates that are computed from the rows."""

from __future__ import annotations

from lazynet.losses import Loss
from lazynet.schedules import FromData

# The scale C of the rates, for losses of a margin and of numbers.
_MARGINS, _NUMBERS = 32.0, 16.0
# Rows of a size |x|^2 beyond this many mean sizes m have a smaller rate.
_SLACK = 8.0
# The squared size of the intercept's feature, relative to rows of the mean norm.
_INTERCEPT_OF_MARGINS, _INTERCEPT_OF_NUMBERS = 2.0**-5, 1.0
# A lack of progress multiplies the rates of the weights and of the intercept by these numbers, for
# losses of numbers.
_LOWERING, _INTERCEPT_LOWERING = 0.5**0.5, 0.25


def tuning_of(
    schedule: FromData, loss: Loss, l1: float, l2: float, largest_rate: float, proximal: bool
) -> dict[str, float]:
    """The parameters of rates that are computed from the rows: ``Tuning`` of kernels/from_data.pxd.

    A rate is at most ``largest_rate``.  ``proximal`` says whether the shrink is that of FoBoS.

    >>> from lazynet.losses import get_loss
    >>> tuning_of(FromData(), get_loss("hinge"), 0.1, 0.0, 1.0, True)["constant"]
    32.0
    """
    numbers = not loss.margin
    return dict(
        constant=schedule.factor * (_NUMBERS if numbers else _MARGINS),
        slack=_SLACK,
        l1=l1,
        l2=l2,
        largest_rate=largest_rate,
        largest_slope=loss.largest_slope if numbers else 1.0,
        # The curvature for implicit steps; 0: steps are explicit.
        curvature=(loss.curvature or 0.0) if loss.unbounded_slope else 0.0,
        intercept=_INTERCEPT_OF_NUMBERS if numbers else _INTERCEPT_OF_MARGINS,
        lowering=_LOWERING if numbers else 1.0,
        intercept_lowering=_INTERCEPT_LOWERING if numbers else 1.0,
        # Whether slopes are bounded by the size of the targets.
        follows_targets=numbers,
        smooth=numbers and loss.curvature is not None,
        unbounded=loss.unbounded_slope,
        proximal=proximal,
    )
