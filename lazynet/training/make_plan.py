"""From settings and rows to a plan: every parameter that was left to the model becomes a value."""

from __future__ import annotations

import math

import numpy as np

from lazynet.data.statistics import RowStatistics
from lazynet.losses import Loss
from lazynet.parameters import check_n_steps
from lazynet.penalties import ElasticNet
from lazynet.rules.base import LARGEST_SHRINK
from lazynet.schedules import FromData, check_schedule, is_auto
from lazynet.training.plan import Plan
from lazynet.training.rows import Rows
from lazynet.training.settings import Settings

#: Epochs of a fit at most, where the user names no number.  A classifier that goes on
#: overfits, unless the rows are a table or the user gives a penalty, which takes more epochs to
#: act; rates from the data follow a squared loss down slowly.
EPOCHS_OF_CLASSIFIERS, EPOCHS_WITH_A_PENALTY = 4, 6
EPOCHS_OF_TABLES, EPOCHS_OF_REGRESSORS = 12, 100
#: l1 of a fit that is given none, in the units of the rows, divided by their number: of a
#: classifier of rows that are no table, and of the others.
L1_SHARE_OF_DOCUMENTS, L1_SHARE = 0.01, 0.003


def make_plan(
    settings: Settings, rows: Rows, *, compares_first_epoch: bool = True, n_steps: int | None = None
) -> Plan:
    """The plan of a fit from ``rows``, in memory or in a source.

    ``compares_first_epoch`` says that the fit starts from zero weights and visits all rows: only
    then its first epoch can be compared with a constant prediction.  ``n_steps`` is the number of
    steps where it does not follow from the settings.
    """
    table, classifies = rows.is_table, settings.classifies
    # The penalty, and the loss that a bad first epoch exceeds.
    l1, bad_loss = 0.0, math.inf
    if settings.l1 is None:
        compares = settings.may_restart and compares_first_epoch and len(rows.targets) == 1
        statistics = rows.statistics(settings, follows_targets(settings.loss) or compares)
        documents = settings.loss.margin and not table
        share = L1_SHARE_OF_DOCUMENTS if documents else L1_SHARE
        l1 = found_l1(statistics, settings.loss, share)
        total, positive = statistics.n_rows * statistics.mean_importance, statistics.positive
        if compares and settings.tol is not None and not table and 0 < positive < total:
            share = positive / total if settings.fit_intercept else 0.5
            constant = -(positive * math.log(share) + (total - positive) * math.log(1.0 - share))
            bad_loss = constant / statistics.n_rows * (1.0 + settings.tol)
    # The number of epochs, and rates that suit this number.  Where neither is given, and rows are
    # no table, a classifier that goes on after its usual epochs overfits, unless its rates fall;
    # and a regressor of few epochs is far from the minimum, unless its rates are high: a fit of n
    # steps gets farthest with rates in proportion to 1 / sqrt(n).
    max_iter = settings.max_iter
    if max_iter is None:
        max_iter = rows.n_orders or found_epochs(classifies, table, settings.penalised)
    full_epochs, schedule = None, settings.schedule
    if settings.standardises and not table:
        if classifies and settings.rule.divides:
            full_epochs = EPOCHS_OF_CLASSIFIERS
        chosen = isinstance(schedule, FromData) and is_auto(settings.rule.schedule)
        if not classifies and chosen and settings.loss.name == "squared_error":
            factor = math.sqrt(max(1.0, EPOCHS_OF_REGRESSORS / max_iter))
            schedule = check_schedule("schedule", FromData(factor))
    n_all = check_n_steps("max_iter", max_iter, rows.n_visits)
    if settings.tol is None and rows.n_orders is not None and rows.n_orders < max_iter:
        raise ValueError(f"sample_order has {rows.n_orders} epochs, fewer than max_iter={max_iter}")
    penalty, eta0 = settings.penalty(l1), settings.eta0
    return settings.plan(
        penalty,
        len(rows.targets),
        eta0_of_rows(settings, penalty, rows) if eta0 is None else eta0,
        schedule=schedule,
        max_iter=max_iter,
        full_epochs=full_epochs,
        bad_loss=bad_loss,
        n_steps=n_all if n_steps is None and settings.tol is None else n_steps,
    )


def found_l1(statistics: RowStatistics, loss: Loss, share: float = L1_SHARE) -> float:
    """The l1 of a fit that is given none: as much as a small share of one row pulls.

    This is share * |slope| * |x| / n: |x| is the root mean square of the norms of the n rows, and
    |slope| the size of the loss's slopes at the best constant, times the mean importance.  To
    multiply X, y or the importances by a number changes the strength so that the same is learned.
    Where y has several columns, |slope| is the mean of the columns.

    >>> from lazynet.losses import get_loss
    >>> statistics = RowStatistics()
    >>> statistics.add(np.full(3, 25.0))
    >>> found_l1(statistics, get_loss("hinge"))
    0.005
    """
    n = statistics.n_rows
    if n == 0:
        return 0.0
    # Numbers of an enormous size have a mean that overflows; the l1 found is then 0.
    with np.errstate(over="ignore", invalid="ignore"):
        slope = 1.0
        if follows_targets(loss):
            bound = np.inf if loss.unbounded_slope else loss.epsilon
            slope = float(np.mean([min(spread, bound) for spread in statistics.spreads]))
        slope *= statistics.mean_importance
        result = share * slope * float(np.sqrt(statistics.mean_squared_norm)) / n
    return result if np.isfinite(result) else 0.0


def follows_targets(loss: Loss) -> bool:
    """Whether the slopes of the loss are as large as the targets are spread.

    >>> from lazynet.losses import get_loss
    >>> [follows_targets(get_loss(name)) for name in ("squared_error", "log_loss")]
    [True, False]
    """
    return not loss.margin and loss.curvature is not None


def found_epochs(classifies: bool, table: bool, penalised: bool) -> int:
    """The largest number of epochs of a fit where ``max_iter`` is None.

    ``table`` says whether the rows are a table, ``penalised`` whether the user gives a penalty.
    """
    if not classifies:
        return EPOCHS_OF_REGRESSORS
    if table:
        return EPOCHS_OF_TABLES
    return EPOCHS_WITH_A_PENALTY if penalised else EPOCHS_OF_CLASSIFIERS


def eta0_of_rows(settings: Settings, penalty: ElasticNet, rows: Rows) -> float:
    """The largest rate at which no gradient step on a row overshoots."""
    rule, loss, statistics = settings.rule, settings.loss, rows.statistics(settings, False)
    if not rule.streams:
        # SAGA converges at a third of the largest rate.
        return suitable_rate(statistics.largest_weighted, loss, rule.rate) / 3
    # With a bounded slope training cannot diverge, however large an importance is; a rate that
    # suits one heavy example would only keep the other examples from learning.
    norm = statistics.largest_weighted if loss.unbounded_slope else statistics.largest
    # The default rate must not be a rate that the rule refuses.
    largest = rule.largest_rate(penalty) / 2 if rule.is_affine else np.inf
    return min(suitable_rate(norm, loss), largest)


def suitable_rate(squared_norm: float, loss: Loss, name: str = "eta0") -> float:
    """The rate 1 / (c |x|^2), c the largest curvature: a step on such a row does not overshoot.

    ``given`` is the parameter that an error names.
    """
    if not np.isfinite(squared_norm):
        raise ValueError(
            "X has rows whose squared norm is not a finite number, so no rate suits them; "
            f"scale the features to comparable sizes, or give {name}"
        )
    if squared_norm == 0:
        return 1.0
    divisor = (loss.curvature or 1.0) * squared_norm
    # The divisor of tiny rows may be 0 or give infinity: take the largest rate of any rule.
    return min(1.0 / divisor, LARGEST_SHRINK) if divisor else LARGEST_SHRINK
