"""The warnings after a fit that has not learned, or whose loss still fell fast at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sklearn.exceptions import ConvergenceWarning

from lazynet.training.diagnostics import (
    NOTHING_LEARNED,
    Verdict,
    look_closely,
    loss_of_constants,
    still_falls,
)
from lazynet.training.epochs import Stopping
from lazynet.training.learners import AnyLearner
from lazynet.training.loop import Run
from lazynet.training.plan import Plan
from lazynet.training.rows import RowsInMemory
from lazynet.training.settings import Settings


class Rate(NamedTuple):
    """The scale of the rates that a fit has ended with, which its warnings name."""

    eta0: float
    #: whether the features were standardised
    in_units: bool


def fit_warnings(
    settings: Settings,
    plan: Plan,
    rows: RowsInMemory | None,
    learners: Sequence[AnyLearner],
    run: Run,
    rate: Rate,
) -> list[Warning]:
    """The warnings after a fit; ``rows`` is None where the rows are not in memory."""
    if settings.tol is None:
        return []
    losses = judged_losses(run)
    reference = losses[0]
    if rows is not None:
        reference = loss_of_constants(rows.problems, plan)
        loss_of_model = run.history[run.best_epoch]["progressive_loss"]
        if loss_of_model >= NOTHING_LEARNED * reference and not plan.softmax:
            verdict = look_closely(learners, rows.X, rows.problems, rows.trained)
            stopping = Stopping(settings.tol, settings.n_iter_no_change, plan.best_constant)
            # A fit that began badly has ended for that reason, and not because of its rates.
            began_badly = stopping.is_bad(run.history[0]["progressive_loss"])
            if verdict.too_small or (verdict.too_large and not began_badly):
                return [stalled(settings, rate, verdict, loss_of_model, reference)]
    if not (run.ended_early or settings.limits_epochs) and still_falls(losses, reference):
        return [_unfinished(settings, plan.max_iter, rate, losses)]
    return []


def judged_losses(run: Run) -> list[float]:
    """The losses of the epochs by which they were judged."""
    return [line.get("validation_loss", line["progressive_loss"]) for line in run.history]


def stalled(
    settings: Settings, rate: Rate, verdict: Verdict, loss: float, constant: float
) -> Warning:
    """The warning after a fit whose rates were too small or too large to learn anything."""
    better, size = (
        _better_rate(settings, rate, verdict.too_small),
        "small" if verdict.too_small else "large",
    )
    text = (
        f"training has stalled: the mean loss of the predictions is {loss:.3g}, and the best "
        f"constant prediction has {constant:.3g}. "
    )
    if verdict.too_small and verdict.giant:
        text += (
            f"Row {verdict.longest} of X is {verdict.times:.3g} times as long as the median row; "
            f"a rate that suits it is too small for the other rows. Scale this row or leave "
            f"it out, or give {better}."
        )
    else:
        text += f"The rates are too {size}: give {better}."
    return ConvergenceWarning(text)


def _better_rate(settings: Settings, rate: Rate, larger: bool) -> str:
    """What to give for larger or for smaller rates."""
    # A rate that is given belongs to rows as they were passed.
    now = "" if rate.in_units else f" (which is {rate.eta0:.3g})"
    rule = settings.rule
    if rule.scheduled:
        size = "larger" if larger else "smaller"
        return f"a {size} eta0{now}" if settings.has_scale else f"{size} rates by schedule"
    parameter = rule.rate.partition("(")[2].partition("=")[0]
    # The rates of dual averaging fall with gamma.
    size = "larger" if larger == (parameter != "gamma") else "smaller"
    # eta0_ is alpha where the rule has one.
    shown = now if parameter == "alpha" else ""
    return f"a {size} {parameter}{shown}, by rule={rule.rate}"


def _unfinished(
    settings: Settings, max_iter: int | None, rate: Rate, losses: Sequence[float]
) -> Warning:
    """The warning after a fit whose loss still fell fast in its last epoch."""
    share = 1.0 - losses[-1] / losses[-2]
    return ConvergenceWarning(
        f"the loss still fell by {share:.0%} in the last of max_iter={max_iter} epochs; "
        f"raise max_iter, or give {_better_rate(settings, rate, larger=True)}"
    )
