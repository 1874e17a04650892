"""The warnings after a fit that has not learned, or that was still learning fast at its end."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lazynet.data.targets import Problems
from lazynet.estimators.planning import has_scale
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


class Rate(NamedTuple):
    """The scale of the rates that a fit has ended with, which its warnings name."""

    eta0: float
    #: whether the rows were learned from in units of their features
    in_units: bool


def doubts_about_fit(
    p: SimpleNamespace,
    rate: Rate,
    X: sparse.csr_matrix,
    problems: Problems,
    rows: NDArray[np.int64] | None,
    learners: Sequence[AnyLearner],
    run: Run,
) -> list[Warning]:
    """The warnings after a fit that has not learned, or was still learning fast at the end."""
    constant = loss_of_constants(problems, p.plan)
    kept = run.history[run.best_epoch]["progressive_loss"]
    if kept >= NOTHING_LEARNED * constant and not p.plan.softmax:
        found = look_closely(learners, X, problems, rows)
        stopping = Stopping(p.tol, p.n_iter_no_change, p.constant)
        # A fit that began badly has ended for that reason, and not because of its rates.
        began_badly = stopping.is_bad(run.history[0]["progressive_loss"])
        if found.too_small or (found.too_large and not began_badly):
            return [stalled(p, rate, found, kept, constant)]
    judged = judged_losses(run)
    if not (run.ended_early or p.ends_on_purpose) and still_falls(judged, constant):
        return [unfinished(p, rate, judged)]
    return []


def judged_losses(run: Run) -> list[float]:
    """The losses of the epochs by which they were judged."""
    return [line.get("validation_loss", line["progressive_loss"]) for line in run.history]


def stalled(
    p: SimpleNamespace, rate: Rate, found: Verdict, kept: float, constant: float
) -> Warning:
    """The warning after a fit whose rates were too small or too large to learn anything."""
    better, size = _better_rate(p, rate, found.too_small), "small" if found.too_small else "large"
    told = (
        f"training has stalled: the mean loss of the predictions is {kept:.3g}, and the best "
        f"constant prediction has {constant:.3g}. "
    )
    if found.too_small and found.giant:
        told += (
            f"Row {found.longest} of X is {found.times:.3g} times as long as the median row; "
            f"a rate that suits it is too small for the other rows. Scale this row or leave "
            f"it out, or give {better}."
        )
    else:
        told += f"The rates are too {size}: give {better}."
    return ConvergenceWarning(told)


def _better_rate(p: SimpleNamespace, rate: Rate, larger: bool) -> str:
    """What to give for larger or for smaller rates."""
    # A rate that is given belongs to rows as they are.
    now = "" if rate.in_units else f" (which is {rate.eta0:.3g})"
    if p.rule.scheduled:
        size = "larger" if larger else "smaller"
        return f"a {size} eta0{now}" if has_scale(p) else f"{size} rates by schedule"
    parameter = p.rule.rate.partition("(")[2].partition("=")[0]
    # The rates of dual averaging fall with gamma.
    size = "larger" if larger == (parameter != "gamma") else "smaller"
    # eta0_ is alpha where the rule has one.
    told = now if parameter == "alpha" else ""
    return f"a {size} {parameter}{told}, by rule={p.rule.rate}"


def unfinished(p: SimpleNamespace, rate: Rate, losses: Sequence[float]) -> Warning:
    """The warning after a fit whose loss still fell fast in its last epoch."""
    share = 1.0 - losses[-1] / losses[-2]
    return ConvergenceWarning(
        f"the loss still fell by {share:.0%} in the last of max_iter={p.max_iter} epochs; "
        f"raise max_iter, or give {_better_rate(p, rate, larger=True)}"
    )
