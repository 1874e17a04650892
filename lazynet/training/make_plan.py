"""From settings and rows to a plan: every parameter that was left to the model becomes a value."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from lazynet.data.row_statistics import Survey
from lazynet.data.targets import Targets
from lazynet.losses import Loss
from lazynet.parameters import check_n_steps
from lazynet.rules.base import LARGEST_SHRINK
from lazynet.schedules import FromData, check_schedule, is_auto, needs_scale
from lazynet.training.defaults import (
    EPOCHS_OF_CLASSIFIERS,
    factor_of_rates,
    follows_targets,
    found_epochs,
    found_l1,
    found_share,
    is_table,
)
from lazynet.training.diagnostics import loss_of_two_classes
from lazynet.training.plan import Plan
from lazynet.training.settings import Settings, check_together


class Rows(Protocol):
    """What a plan asks of the rows, in memory or in a source."""

    @property
    def problems(self) -> Targets: ...

    @property
    def n_visits(self) -> int: ...

    @property
    def n_orders(self) -> int | None: ...

    @property
    def shape(self) -> tuple[int, int, int]: ...

    def survey(self, settings: Settings, of_targets: bool) -> Survey: ...

    def largest_norm(self, settings: Settings, weighted: bool) -> float: ...


def make_plan(
    settings: Settings, rows: Rows, *, from_zero: bool = True, n_steps: int | None = None
) -> Plan:
    """The plan of a fit.

    ``from_zero`` says that the fit starts from zero weights and visits all rows: only then its
    first epoch can be compared with a constant prediction.  ``n_steps`` is the number of steps
    where it does not follow from the settings.
    """
    n_outputs = len(rows.problems)
    plan, best_constant = settings.plan(0.0, n_outputs), None
    if settings.computes_l1:
        compares = settings.may_restart and from_zero and n_outputs == 1
        survey = rows.survey(settings, follows_targets(settings.loss) or compares)
        share = found_share(*rows.shape, settings.loss.margin)
        plan = settings.plan(found_l1(survey, settings.loss, share), n_outputs)
        if compares and not is_table(*rows.shape):
            best_constant = _loss_of_constant(settings, survey)
    plan = _with_epochs(settings, check_together(plan), rows)
    n_all = check_n_steps("max_iter", plan.max_iter, plan.n_steps(rows.n_visits))
    if settings.tol is None and rows.n_orders is not None and rows.n_orders < plan.max_iter:
        raise ValueError(
            f"sample_order has {rows.n_orders} epochs, fewer than max_iter={plan.max_iter}"
        )
    eta0 = scale_of_rates(settings, plan, rows)
    if n_steps is None and settings.tol is None:
        n_steps = n_all
    plan = plan.known(eta0, n_steps)
    return replace(plan, best_constant=best_constant)


def _loss_of_constant(settings: Settings, survey: Survey) -> float | None:
    """The mean loss of the best constant prediction of two classes; None without importances."""
    total = survey.n_rows * survey.mean_importance
    if not total > 0:
        return None
    summed = loss_of_two_classes(survey.positive, total, settings.loss, settings.fit_intercept)
    return summed / survey.n_rows


def _with_epochs(settings: Settings, plan: Plan, rows: Rows) -> Plan:
    """The plan with the number of epochs, and with rates that suit this number.

    Where nothing is given, and rows are no table, a classifier that goes on after its usual epochs
    overfits, unless its rates fall; and a regressor of few epochs is far from the minimum, unless
    its rates are high.
    """
    classifies, shape = settings.classifies, rows.shape
    max_iter = settings.max_iter
    if max_iter is None:
        usual = found_epochs(*shape, classifies, penalised=settings.penalised)
        max_iter = rows.n_orders or usual
    plan = replace(plan, max_iter=max_iter)
    if not settings.standardises or is_table(*shape):
        return plan
    if classifies and plan.rule.divides:
        return replace(plan, full_epochs=EPOCHS_OF_CLASSIFIERS)
    high = not classifies and plan.adaptive and is_auto(settings.rule.schedule)
    if high and plan.loss.name == "squared_error":
        schedule = FromData(factor_of_rates(max_iter))
        return plan.with_schedule(check_schedule("schedule", schedule))
    return plan


def scale_of_rates(settings: Settings, plan: Plan, rows: Rows) -> float:
    """The given eta0, or the largest rate at which no gradient step on a row overshoots."""
    rule, schedule = plan.rule, settings.schedule
    if rule.eta0 is not None:
        return rule.eta0
    if not rule.scheduled:
        return float(
            rule.rate_for(
                lambda: suitable_rate(rows.largest_norm(settings, True), plan.loss, rule.rate)
            )
        )
    if not needs_scale(schedule):
        return float(getattr(schedule, "eta0", 1.0))
    # With a bounded slope training cannot diverge, however large an importance is; a rate that
    # suits one heavy example would only keep the other examples from learning.
    norm = rows.largest_norm(settings, plan.loss.unbounded_slope)
    # The default rate must not be a rate that the rule refuses.
    largest = np.inf if rule.has_state else rule.largest_rate(plan.penalty) / 2
    return min(suitable_rate(norm, plan.loss), largest)


def suitable_rate(squared_norm: float, loss: Loss, given: str = "eta0") -> float:
    """The rate 1 / (c |x|^2), c the largest curvature: a step on such a row does not overshoot.

    ``given`` is the parameter that an error names.
    """
    if not np.isfinite(squared_norm):
        raise ValueError(
            "X has rows whose squared norm is not a finite number, so no rate suits them; "
            f"scale the features to comparable sizes, or give {given}"
        )
    if squared_norm == 0:
        return 1.0
    divisor = (loss.curvature or 1.0) * squared_norm
    # The divisor of tiny rows may be 0 or give infinity: take the largest rate of any rule.
    return min(1.0 / divisor, LARGEST_SHRINK) if divisor else LARGEST_SHRINK
