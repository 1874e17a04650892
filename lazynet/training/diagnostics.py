"""Diagnostics of a fit: it has learned nothing, or its loss still fell fast when it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from lazynet.data.targets import Classes, OutputTargets, Targets
from lazynet.kernels.losses import values_and_slopes
from lazynet.losses import Loss
from lazynet.training.epochs import EpochRecord
from lazynet.training.learners import AnyLearner, evaluated
from lazynet.training.plan import Plan
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
    targets: Targets | None,
    learners: Sequence[AnyLearner],
    history: Sequence[EpochRecord],
    best: int,
    ended_early: bool,
    eta0: float | None,
) -> list[Warning]:
    """The warnings after a fit with ``tol``, of which ``best`` is the best epoch.

    ``targets`` is None where the rows are not in memory; ``eta0`` is the scale of the rates where a
    user could have given it.
    """
    losses = [line.get("validation_loss", line["progressive_loss"]) for line in history]
    constant = losses[0]
    if targets is not None and not settings.rates_from_rows:
        constant = loss_of_constants(targets, plan)
        if history[best]["progressive_loss"] >= NOTHING_LEARNED * constant:
            warnings = nothing_learned(settings, plan, targets, learners, eta0)
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
    targets: Targets,
    learners: Sequence[AnyLearner],
    eta0: float | None,
) -> list[Warning]:
    """The warning about a model with rates of the user that is no better than a constant.

    Rates that follow from the rows are not the reason, nor are they where all weights are zero.
    """
    if settings.rates_from_rows:
        return []
    loss, _, nonzeros = evaluated(learners)
    constant = loss_of_constants(targets, plan)
    if not nonzeros or loss < NOTHING_LEARNED * constant:
        return []
    # At zero weights the loss may be far above a constant prediction's: that is no rate's fault.
    at_zero = loss_of_constants(targets, replace(plan, fit_intercept=False))
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


def loss_of_constants(targets: Targets, plan: Plan) -> float:
    """The mean loss of the best constant predictions, nearly, summed over the outputs.

    >>> from types import SimpleNamespace
    >>> from lazynet.losses import get_loss
    >>> from lazynet.data.targets import Classes
    >>> plan = SimpleNamespace(loss=get_loss("log_loss"), fit_intercept=True, softmax=True)
    >>> round(loss_of_constants(Classes(np.array([0, 1, 2]), 3, None), plan), 6)  # log 3
    1.098612
    """
    if not plan.softmax:
        return sum(loss_of_constant(item, plan.loss, plan.fit_intercept) for item in targets)
    assert isinstance(targets, Classes), "the softmax is a loss of classes"
    total, n = float(targets.weights.sum()), targets.n_rows
    if not plan.fit_intercept:
        return float(total * np.log(targets.n_classes) / n)
    shares = np.bincount(targets.codes, targets.importances) / total
    shares = shares[shares > 0]
    return float(-(shares * np.log(shares)).sum() * total / n)


# Sums of huge losses or sample weights overflow to infinity, which no fit is compared with.
@np.errstate(over="ignore", invalid="ignore")
def loss_of_constant(output: OutputTargets, loss: Loss, fit_intercept: bool) -> float:
    """The mean loss of the best constant prediction, nearly; without an intercept, of 0.

    >>> from lazynet.losses import get_loss
    >>> squared = get_loss("squared_error")
    >>> round(loss_of_constant((np.array([1.0, 1.0, 4.0]), None), squared, True), 6)
    1.0
    """
    targets, importances = output
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
