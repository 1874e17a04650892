"""Diagnostics of a fit: it has not learned, or its loss was still falling fast when it ended.

A fit that ends with a loss like that of a constant prediction is looked at closely: on a sample of
the rows, does a single move along the gradient lower the objective by much?  If so the rates were
too small; if the predictions are worse than the constant, the rates were too large.  Where nothing
can be learned, or a penalty allows no weights, neither is the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.targets import Problem, Problems
from lazynet.kernels.losses import values_and_slopes
from lazynet.losses import Loss
from lazynet.training.held_out import copied_rows, total_loss_of
from lazynet.training.learners import AnyLearner
from lazynet.training.plan import Plan

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


def loss_of_constants(problems: Problems, plan: Plan) -> float:
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
def loss_of_constant(problem: Problem, loss: Loss, fit_intercept: bool) -> float:
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
    problems: Problems,
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
    problem: Problem,
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
