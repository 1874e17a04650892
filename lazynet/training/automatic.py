"""The automatic choices of a fit: rule, schedule, l1, rates and epochs, each with its reason.

The penalty acts on standardised features (``data/statistics.py``), and the statistics here are
those of standardised rows.  A parameter that is given changes itself and no other choice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lazynet.data.statistics import FeatureMoments, RowStatistics
from lazynet.losses import Loss
from lazynet.penalties import ElasticNet
from lazynet.rules.adagrad import AdaGrad
from lazynet.rules.affine import SGD, FoBoS
from lazynet.rules.base import LARGEST_SHRINK, Rule
from lazynet.rules.storage import Clock
from lazynet.schedules import AUTO, FromData, Power

#: The default of ``max_iter``.  A classifier overfits in more epochs; a squared loss falls slowly.
EPOCHS_OF_CLASSIFIERS, EPOCHS_OF_REGRESSORS = 6, 20
#: The default l1 has the effect of this share of a row on a weight.
L1_SHARE = 0.01
#: The share of the rates after a first epoch that predicts worse than a constant.
SHARE_AFTER_RESTART = 0.25
#: The factor of FromData in a fit, whose rates fall in its last epochs.
FACTOR_IN_FITS = 2.0
#: The default l1 and l2 of a minimum: this share of |x|^2 / n, and at most this number.
PENALTY_SHARE, LARGEST_PENALTY = 0.05, 1e-4
# A given rate is far too high from this many times the largest that does not overshoot.
_FAR_TOO_HIGH = 10.0


class Choice(NamedTuple):
    """A value that was chosen, and why."""

    name: str
    value: Any
    reason: str


class Choices(tuple[Choice, ...]):
    """The automatic choices of a fit; printed, they are a table.

    >>> Choices([Choice("max_iter", 6, "the default of classifiers")])
    max_iter  6  the default of classifiers
    """

    def __repr__(self) -> str:
        cells = [[name, _short(value), reason] for name, value, reason in self]
        widths = [max((len(row[k]) for row in cells), default=0) for k in range(2)]
        return "\n".join(
            f"{row[0].ljust(widths[0])}  {row[1].ljust(widths[1])}  {row[2]}" for row in cells
        )


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def choose(
    settings: Any,
    statistics: RowStatistics | None,
    moments: FeatureMoments | None,
    n_orders: int | None,
    compares_first_epoch: bool,
) -> tuple[dict[str, Any], Choices]:
    """The fields of the plan of a fit that its settings leave open, and which were chosen.

    ``settings`` are a ``Settings``; ``statistics`` are None if no choice needs them, and
    ``moments`` if features are not standardised.  ``n_orders`` is the number of orders in
    ``sample_order``, and ``compares_first_epoch`` says whether the first epoch is compared with a
    constant prediction.
    """
    loss, found = settings.loss, [*settings.choices]
    if moments is not None and settings.standardize == AUTO:
        found.append(Choice("standardize", AUTO, moments.summary()))
    l1 = 0.0 if settings.l1 is None else settings.l1
    if settings.l1 is None and statistics is not None:
        l1 = default_l1(statistics, loss)
        found.append(
            Choice("l1", l1, f"{L1_SHARE:g} of the effect of one of {statistics.n_rows} rows")
        )
    max_iter = settings.max_iter or n_orders
    if max_iter is None:
        max_iter = EPOCHS_OF_CLASSIFIERS if settings.classifies else EPOCHS_OF_REGRESSORS
        kind = "classifiers" if settings.classifies else "regressors"
        found.append(Choice("max_iter", max_iter, f"the default of {kind}"))
    falls = settings.has_automatic_rates
    if falls:
        full = full_epochs(max_iter)
        reason = f"in the first {full} of {max_iter} epochs; then they fall with the epochs left"
        found.append(Choice("rates", "full", reason))
    schedule = settings.schedule
    # A single epoch is that of partial_fit.
    if max_iter > 1 and isinstance(schedule, FromData) and settings.rule.schedule == AUTO:
        schedule = FromData(FACTOR_IN_FITS).settled()
    fields = {"l1": l1, "max_iter": max_iter, "falls": falls, "schedule": schedule}
    if compares_first_epoch and statistics is not None:
        fields["bad_loss"] = statistics.loss_of_a_constant(settings.fit_intercept)
    return fields, Choices(found)


# --- the rule and its rates ----------------------------------------------------------------------


def rule_for(loss: Loss, classifies: bool, weighted: bool = False) -> Rule:
    """The rule of ``rule="auto"``; ``weighted`` says that classes have weights.

    The rate of AdaGrad falls with the largest slopes, which are those of rows with a large weight:
    the other rows then learn little.
    """
    of_numbers = not classifies or (loss.unbounded_slope and not loss.margin)
    return FoBoS() if of_numbers or weighted else AdaGrad()


def schedule_of(rule: Rule) -> Any:
    """The schedule of ``schedule="auto"``: rates from the rows, which only a clock can compute."""
    on_clock = isinstance(rule, (FoBoS, SGD)) and rule.storage == Clock()
    from_rows = on_clock and rule.group is None and rule.eta0 is None
    return FromData() if from_rows else Power()


def scale_of_rates(rule: Rule, loss: Loss, penalty: ElasticNet, statistics: RowStatistics) -> float:
    """The scale of a schedule without one: the largest rate at which no step overshoots."""
    if not rule.streams:
        # SAGA converges at a third of the largest rate.
        return rate_without_overshoot(statistics.largest_weighted, loss, rule.rate) / 3
    # With a bounded slope training cannot diverge, even with large importances; the small rate of
    # one row with a large importance would only slow down the other rows.
    norm = statistics.largest_weighted if loss.unbounded_slope else statistics.largest
    # The rule must accept its default rate.
    largest = rule.largest_rate(penalty) / 2 if rule.is_affine else np.inf
    return min(rate_without_overshoot(norm, loss), largest)


def rate_without_overshoot(squared_norm: float, loss: Loss, name: str = "eta0") -> float:
    """The rate 1 / (c |x|^2), c the largest curvature: a step on such a row does not overshoot.

    ``name`` is the parameter that errors name.
    """
    if not np.isfinite(squared_norm):
        raise ValueError(
            "X has rows whose squared norm is not a finite number, so there is no default rate: "
            f"scale the features to comparable sizes, or give {name}"
        )
    if squared_norm == 0:
        return 1.0
    divisor = (loss.curvature or 1.0) * squared_norm
    # The divisor of tiny rows may be 0 or give infinity: take the largest rate of any rule.
    return min(1.0 / divisor, LARGEST_SHRINK) if divisor else LARGEST_SHRINK


def warnings_of_rate(
    rate: float, loss: Loss, statistics: RowStatistics, standardises: bool
) -> list[Warning]:
    """The warning about a given first rate with which most steps go far beyond the minimum.

    >>> from lazynet.losses import get_loss
    >>> rows = RowStatistics()
    >>> rows.add(np.full(3, 4000.0))
    >>> warnings_of_rate(0.001, get_loss("log_loss"), rows, True)
    []
    >>> print(warnings_of_rate(0.1, get_loss("log_loss"), rows, True)[0])
    the first rate, 0.1, is 100 times the largest at which a step on a row of mean size does not \
overshoot, 0.001: lower eta0, or leave it out
    """
    if loss.curvature is None or not np.isfinite(statistics.mean_squared_norm):
        return []
    largest = rate_without_overshoot(statistics.mean_squared_norm + statistics.extra, loss)
    if rate <= _FAR_TOO_HIGH * largest:
        return []
    instead = "" if standardises else ", or write standardize='auto'"
    return [
        UserWarning(
            f"the first rate, {rate:.3g}, is {rate / largest:.3g} times the largest at which a "
            f"step on a row of mean size does not overshoot, {largest:.3g}: lower eta0, or leave "
            f"it out{instead}"
        )
    ]


# --- epochs --------------------------------------------------------------------------------------


def may_restart(settings: Any, n_outputs: int) -> bool:
    """Whether training restarts if its first epoch predicts worse than a constant."""
    of_two_classes = settings.classifies and n_outputs == 1 and settings.loss.name == "log_loss"
    return of_two_classes and isinstance(settings.rule, AdaGrad) and settings.has_automatic_rates


def full_epochs(max_iter: int) -> int:
    """The number of epochs with full rates: the first half."""
    return (max_iter + 1) // 2


def share_of_rates(epoch: int, max_iter: int) -> float:
    """The share of the full rates in an epoch: 1 in the first half, then the share of epochs left.

    >>> [share_of_rates(epoch, 6) for epoch in range(6)]
    [1.0, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    return min(1.0, (max_iter - epoch) / (max_iter - full_epochs(max_iter) + 1))


# --- l1 ------------------------------------------------------------------------------------------


def choose_penalty(
    given: tuple[float | None, float | None], mean_squared_norm: float, n_rows: int
) -> tuple[float, float, Choices]:
    """l1 and l2 of ``DualNet*``, and which of them were not given.

    The default is less than 1e-4 for many short rows, such as tf-idf.

    >>> choose_penalty((0.5, None), 1.0, 10_000)
    (0.5, 5e-06, l2  5e-06  0.05 |x|^2 / n, at most 0.0001)
    """
    # Without any nonzero the penalty must not be 0.
    value = min(LARGEST_PENALTY, PENALTY_SHARE * mean_squared_norm / n_rows) or LARGEST_PENALTY
    reason = f"{PENALTY_SHARE:g} |x|^2 / n, at most {LARGEST_PENALTY:g}"
    names = [name for name, one in zip(("l1", "l2"), given, strict=True) if one is None]
    l1, l2 = (value if one is None else one for one in given)
    return l1, l2, Choices(Choice(name, value, reason) for name in names)


def default_l1(statistics: RowStatistics, loss: Loss) -> float:
    """The default l1: the effect of a small share of one row on a weight.

    This is 0.01 * |slope| * |x| / n: |x| is the root mean square of the norms of the n rows, and
    |slope| the size of the loss's slopes at the best constant prediction, times the mean
    importance.  If X, y or the importances are multiplied by a number, the default l1 changes such
    that the model makes the same predictions, up to the factor of y.  If y has several columns,
    |slope| is their mean.

    >>> from lazynet.losses import get_loss
    >>> statistics = RowStatistics()
    >>> statistics.add(np.full(3, 25.0))
    >>> default_l1(statistics, get_loss("hinge"))
    0.016666666666666666
    """
    n = statistics.n_rows
    if n == 0:
        return 0.0
    # The mean of enormous numbers overflows; the default l1 is then 0.
    with np.errstate(over="ignore", invalid="ignore"):
        slope = 1.0 if loss.margin else loss.largest_slope
        if not loss.margin and loss.curvature is not None:
            # The slopes are as large as the targets are spread.
            slope = float(np.mean([min(spread, slope) for spread in statistics.spreads]))
        slope *= statistics.mean_importance
        result = L1_SHARE * slope * float(np.sqrt(statistics.mean_squared_norm)) / n
    return result if np.isfinite(result) else 0.0
