"""Diagnostics of a fit: it has not learned, or its loss was still falling fast when it ended.

A fit that ends with a loss like that of a constant prediction is looked at closely: on a sample of
the rows, does a single move along the gradient lower the objective by much?  If so the rates were
too small; if the predictions are worse than the constant, the rates were too large.  Where nothing
can be learned, or a penalty allows no weights, neither is the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lazynet.data.targets import OutputTargets, Targets
from lazynet.kernels.losses import values_and_slopes
from lazynet.losses import Loss
from lazynet.training.epochs import Stopping
from lazynet.training.held_out import copied_rows, total_loss_of
from lazynet.training.learners import AnyLearner
from lazynet.training.loop import Run
from lazynet.training.plan import Plan
from lazynet.training.rows import RowsInMemory
from lazynet.training.settings import Settings

#: A fall of the loss in the last epoch that is worth a warning: a share of the loss itself, and
#: at the same time a share of the loss of a constant prediction.
_FAST, _MUCH = 0.1, 0.01
#: A loss that is at least this share of a constant prediction's is looked at closely.
NOTHING_LEARNED = 0.99
#: The share of the loss that one move along the gradient takes off, if the rates were too small.
_WITHIN_REACH = 0.05
#: A loss that is larger than a constant prediction's by this share of it is clearly worse.
WORSE = 0.1
#: How many times the squared norm of the median row makes a row a giant.
_GIANT = 100.0
_SAMPLE = 2000


def still_falls(losses: Sequence[float], constant: float) -> bool:
    """Whether the last of the losses, one per epoch, fell fast.

    >>> still_falls([0.7, 0.5, 0.4], 0.7), still_falls([0.7, 0.5, 0.49], 0.7)
    (True, False)
    """
    if len(losses) < 2:
        return False
    fall = losses[-2] - losses[-1]
    return bool(fall > _FAST * losses[-2] and fall > _MUCH * constant)


def loss_of_constants(problems: Targets, plan: Plan) -> float:
    """The mean loss of the best constant predictions, nearly, summed over the problems.

    >>> from types import SimpleNamespace
    >>> from lazynet.losses import get_loss
    >>> from lazynet.data.targets import Classes
    >>> plan = SimpleNamespace(loss=get_loss("log_loss"), fit_intercept=True, softmax=True)
    >>> round(loss_of_constants(Classes(np.array([0, 1, 2]), 3, None), plan), 6)  # log 3
    1.098612
    """
    positives = problems.positives()
    if positives is None:
        return sum(loss_of_constant(item, plan.loss, plan.fit_intercept) for item in problems)
    total, n = float(problems.weights.sum()), problems.n_rows
    if plan.softmax:
        if not plan.fit_intercept:
            return float(total * np.log(len(positives)) / n)
        shares = positives[positives > 0] / total
        return float(-(shares * np.log(shares)).sum() * total / n)
    rest = total, plan.loss, plan.fit_intercept
    return sum(loss_of_two_classes(up, *rest) for up in positives) / n


def loss_of_two_classes(up: float, total: float, loss: Loss, fit_intercept: bool) -> float:
    """The summed losses of the best constant prediction of targets -1 and +1, nearly.

    ``total`` is the sum of the importances of the rows, ``up`` of those with the target +1.

    >>> from lazynet.losses import get_loss
    >>> round(loss_of_two_classes(4.0, 8.0, get_loss("log_loss"), True), 6)  # 8 log 2
    5.545177
    """
    weights = np.array([up, max(total - up, 0.0)])
    return 2 * loss_of_constant((np.array([1.0, -1.0]), weights), loss, fit_intercept)


# Sums of huge losses or sample weights overflow to infinity, which no fit is compared with.
@np.errstate(over="ignore", invalid="ignore")
def loss_of_constant(problem: OutputTargets, loss: Loss, fit_intercept: bool) -> float:
    """The mean loss of the best constant prediction, nearly; without an intercept, of 0.

    >>> from lazynet.losses import get_loss
    >>> squared = get_loss("squared_error")
    >>> round(loss_of_constant((np.array([1.0, 1.0, 4.0]), None), squared, True), 6)
    1.0
    """
    targets, importances = problem
    n = len(targets)
    weights = np.ones(n) if importances is None else importances
    if ((targets == 1.0) | (targets == -1.0)).all():
        # Two rows stand for all: the losses of a constant differ by the class alone.
        up = float(weights[targets > 0].sum())
        down = max(float(weights.sum()) - up, 0.0)
        targets, weights = np.array([1.0, -1.0]), np.array([up, down])
    candidates = [0.0]
    if fit_intercept and weights.any():
        candidates.append(float(np.average(targets, weights=weights)))
        if len(targets) == 2 and weights.all():
            candidates += [float(np.log(weights[0] / weights[1])), float(np.sign(candidates[-1]))]
        else:
            candidates.append(_median(targets, weights))
    predictions = np.repeat(candidates, len(targets))
    losses, _ = values_and_slopes(
        loss.code, predictions, np.tile(targets, len(candidates)), loss.epsilon
    )
    totals = (losses.reshape(len(candidates), -1) * weights).sum(axis=1)
    return float(totals.min()) / n


def _median(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(sums, sums[-1] / 2)]])


@dataclass(frozen=True)
class Verdict:
    """What a close look has found."""

    #: whether larger rates, or else smaller rates, would have helped
    too_small: bool
    too_large: bool
    #: the row with the largest norm, and how many times as long it is as the median row
    longest: int
    times: float

    @property
    def giant(self) -> bool:
        """Whether one row is so long that a rate that suits it suits no other row."""
        return self.times**2 >= _GIANT


def look_closely(
    learners: Sequence[AnyLearner],
    X: sparse.csr_matrix,
    problems: Targets,
    rows: NDArray[np.int64] | None,
) -> Verdict:
    """Compare the models with constant predictions and with one move along the gradient.

    ``rows`` are the rows that were visited, None for all rows of X.
    """
    visited = np.arange(X.shape[0]) if rows is None else rows
    squares = learners[0].examples.squared_norms()[visited]
    positive = squares[squares > 0]
    usual = float(np.median(positive)) if positive.size else 1.0
    longest = int(np.argmax(squares))
    usual_rows = visited[squares <= _GIANT * usual]
    spaced = np.linspace(0, len(usual_rows) - 1, min(_SAMPLE, len(usual_rows))).astype(np.int64)
    sample = usual_rows[spaced]
    few = copied_rows(X, sample)
    now = constant = moved = nothing = 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        plan = learners[0].plan
        models = (
            (row, float(intercept))
            for learner in learners
            for row, intercept in zip(
                learner.engine.rows(), learner.engine.model_intercepts, strict=True
            )
        )
        for (row, intercept), problem in zip(models, problems.only(sample), strict=True):
            if problem[1] is not None and not problem[1].any():
                continue
            parts = _losses(plan, row, intercept, few, problem)
            now, moved = now + parts[0], moved + parts[1]
            constant += loss_of_constant(problem, plan.loss, plan.fit_intercept)
            nothing += loss_of_constant(problem, plan.loss, fit_intercept=False)
    # At zero weights the loss may be far above a constant prediction's: that is no rate's fault.
    worse = not now <= (1.0 + WORSE) * max(constant, nothing)
    idle = now >= NOTHING_LEARNED * constant and moved < (1.0 - _WITHIN_REACH) * now
    times = float(np.sqrt(squares[longest] / usual))
    return Verdict(bool(idle and not worse), worse, int(visited[longest]), times)


def _losses(
    plan: Plan,
    weights: NDArray[np.float64],
    intercept: float,
    X: sparse.csr_matrix,
    problem: OutputTargets,
) -> tuple[float, float]:
    """The mean loss of the model, and of the best model along its gradient, penalty included."""
    targets, importances = problem
    predictions = X @ weights + intercept
    n = len(targets)
    now = total_loss_of(predictions, targets, importances, plan.loss) / n
    _, slopes = values_and_slopes(plan.loss.code, predictions, targets, plan.loss.epsilon)
    slopes *= 1.0 if importances is None else importances
    gradient = X.T @ slopes
    change = X @ gradient + (slopes.sum() if plan.fit_intercept else 0.0)
    size = float(np.median(np.abs(change))) or float(np.abs(change).max(initial=0.0))
    if not (np.isfinite(size) and size > 0):
        return now, now
    unit = (1.0 if plan.loss.margin else float(np.std(targets)) or 1.0) / size
    before = plan.penalty.value(weights)
    best = now
    for power in range(-6, 7):
        rate = unit * 2.0**power
        loss = total_loss_of(predictions - rate * change, targets, importances, plan.loss) / n
        best = min(best, loss + plan.penalty.value(weights - rate * gradient) - before)
    return now, best


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
