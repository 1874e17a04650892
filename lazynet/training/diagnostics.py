"""Diagnostics of a fit: it has learned nothing, or its loss still fell fast when it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sklearn.exceptions import ConvergenceWarning

from lazynet.engines.base import Engine
from lazynet.training.epochs import EpochRecord
from lazynet.training.evaluation import loss_of_constants
from lazynet.training.plan import Plan
from lazynet.training.rows import RowsInMemory
from lazynet.training.settings import Settings

#: A fall of the loss in the last epoch that is worth a warning: a share of the loss itself, and
#: at the same time a share of the loss of a constant prediction.
_FAST, _MUCH = 0.1, 0.01
#: A model whose loss is at least this share of a constant prediction's has learned nothing.
NOTHING_LEARNED = 0.99
#: A loss that is larger than a constant prediction's by this share of it is clearly worse.
WORSE = 0.1


def fit_warnings(
    settings: Settings,
    plan: Plan,
    rows: RowsInMemory | None,
    engines: Sequence[Engine],
    history: Sequence[EpochRecord],
    best: int,
    ended_early: bool,
    eta0: float | None,
) -> list[Warning]:
    """The warnings after a fit with ``tol``, of which ``best`` is the best epoch.

    ``rows`` is None where they are not in memory; ``eta0`` is the scale of the rates where a
    user could have given it.
    """
    losses = [line.get("validation_loss", line["progressive_loss"]) for line in history]
    constant = losses[0]
    if rows is not None and not settings.rates_from_rows:
        constant = loss_of_constants(rows.targets, plan)
        if history[best]["progressive_loss"] >= NOTHING_LEARNED * constant:
            warnings = nothing_learned(settings, plan, rows, engines, eta0)
            if warnings:
                return warnings
    if ended_early or settings.limits_epochs or not still_falls(losses, constant):
        return []
    share = 1.0 - losses[-1] / losses[-2]
    return [
        ConvergenceWarning(
            f"the loss still fell by {share:.0%} in the last of max_iter={plan.max_iter} epochs; "
            f"raise max_iter, or give {_better_rate(settings, eta0, 'larger')}"
        )
    ]


def still_falls(losses: Sequence[float], constant: float) -> bool:
    """Whether the last of the losses, one per epoch, fell fast.

    >>> still_falls([0.7, 0.5, 0.4], 0.7), still_falls([0.7, 0.5, 0.49], 0.7)
    (True, False)
    """
    if len(losses) < 2:
        return False
    fall = losses[-2] - losses[-1]
    return bool(fall > _FAST * losses[-2] and fall > _MUCH * constant)


def nothing_learned(
    settings: Settings,
    plan: Plan,
    rows: RowsInMemory,
    engines: Sequence[Engine],
    eta0: float | None,
) -> list[Warning]:
    """The warning about a model with rates of the user that is no better than a constant.

    Rates that follow from the rows are not the reason, nor are they where all weights are zero.
    """
    if settings.rates_from_rows:
        return []
    loss, _, nonzeros = rows.evaluation(engines, plan)
    constant = loss_of_constants(rows.targets, plan)
    if not nonzeros or loss < NOTHING_LEARNED * constant:
        return []
    # At zero weights the loss may be far above a constant prediction's: that is no rate's fault.
    at_zero = loss_of_constants(rows.targets, replace(plan, fit_intercept=False))
    if loss <= (1.0 + WORSE) * max(constant, at_zero):
        what = "y does not depend on X, or the rates are too small: give " + _better_rate(
            settings, eta0, "larger"
        )
    else:
        what = f"the rates are too large: give {_better_rate(settings, eta0, 'smaller')}"
    return [
        ConvergenceWarning(
            f"the model has learned nothing: its mean loss is {loss:.3g}, and the best constant "
            f"prediction has {constant:.3g}; {what}"
        )
    ]


def _better_rate(settings: Settings, eta0: float | None, size: str) -> str:
    """What to give for larger or for smaller rates; ``eta0`` is their present scale."""
    rule, now = settings.rule, "" if eta0 is None else f" (which is {eta0:.3g})"
    if rule.scheduled:
        return f"a {size} eta0{now}" if settings.has_eta0 else f"{size} rates by schedule"
    parameter = rule.rate.partition("(")[2].partition("=")[0]
    if parameter == "gamma":  # the rates of dual averaging fall with gamma
        return f"a {'smaller' if size == 'larger' else 'larger'} gamma, by rule={rule.rate}"
    return f"a {size} {parameter}{now if parameter == 'alpha' else ''}, by rule={rule.rate}"
