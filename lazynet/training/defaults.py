"""The defaults of the estimators: the numbers, and the values that "auto" stands for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lazynet.data.row_statistics import Survey
from lazynet.engines.catalogue import ALGORITHMS, RULE, check_rule
from lazynet.losses import Loss
from lazynet.parameters import Kind, check_choice
from lazynet.rules.adagrad import AdaGrad
from lazynet.rules.affine import SGD, FoBoS
from lazynet.rules.base import Rule
from lazynet.rules.storage import Clock
from lazynet.schedules import AUTO, FromData, Power, Schedule, check_schedule, is_auto

#: Epochs of a fit at most, where the user names no number.  A classifier that goes on
#: overfits, unless the rows are a table or the user gives a penalty, which takes more epochs to
#: act; rates from the data follow a squared loss down slowly.
EPOCHS_OF_CLASSIFIERS, EPOCHS_WITH_A_PENALTY = 4, 6
EPOCHS_OF_TABLES, EPOCHS_OF_REGRESSORS = 12, 100
#: In the k-th epoch after these the rates of AdaGrad are divided by 1 + k times this number, where
#: a classifier chooses rates and penalty, and rows are no table.  The sum of all rates is infinite.
CALMING = 4.0
#: By what the rates of AdaGrad are divided where a training begins anew, because its first epoch
#: has predicted worse than a constant.
SLOWER = 4.0
#: Rows are a table if there are at least MANY_ROWS for every feature, or if the share FILLED of
#: their values is not 0.
MANY_ROWS, FILLED = 10, 0.25
#: The share of the best loss by which an epoch must beat it, to count as progress.
TOL = 1e-3
#: Epochs in a row without progress that end a fit.
N_ITER_NO_CHANGE = 5
#: l1 of a fit that is given none, in the units of the rows, divided by their number: of a
#: classifier of rows that are no table, and of the others.
L1_SHARE_OF_DOCUMENTS, L1_SHARE = 0.01, 0.003
#: The share of the rows that early stopping holds out.
VALIDATION_FRACTION = 0.1


def found_l1(survey: Survey, loss: Loss, share: float = L1_SHARE) -> float:
    """The l1 of a fit that is given none: as much as a small share of one row pulls.

    This is share * |slope| * |x| / n: |x| is the root mean square of the norms of the n rows, and
    |slope| the size of the loss's slopes at the best constant, times the mean importance.  To
    multiply X, y or the importances by a number changes the strength so that the same is learned.
    Where y has several columns, |slope| is the mean of the columns.

    >>> from lazynet.losses import get_loss
    >>> found_l1(Survey.of(np.full(3, 25.0), None, None), get_loss("hinge"))
    0.005
    """
    n = survey.n_rows
    if n == 0:
        return 0.0
    # Numbers of an enormous size have a mean that overflows; the l1 found is then 0.
    with np.errstate(over="ignore", invalid="ignore"):
        slope = 1.0
        if follows_targets(loss):
            bound = np.inf if loss.unbounded_slope else loss.epsilon
            slope = float(np.mean([min(spread, bound) for spread in survey.spreads]))
        slope *= survey.mean_importance
        result = share * slope * float(np.sqrt(survey.mean_squared_norm)) / n
    return result if np.isfinite(result) else 0.0


def found_share(n_rows: int, n_features: int, n_values: int, margin: bool) -> float:
    """The ``share`` of ``found_l1`` that suits the rows; ``margin`` is that of the loss.

    >>> found_share(1_000, 20_000, 90_000, True), found_share(1_000, 20, 5_000, True)
    (0.01, 0.003)
    """
    documents = margin and not is_table(n_rows, n_features, n_values)
    return L1_SHARE_OF_DOCUMENTS if documents else L1_SHARE


def follows_targets(loss: Loss) -> bool:
    """Whether the slopes of the loss are as large as the targets are spread.

    >>> from lazynet.losses import get_loss
    >>> [follows_targets(get_loss(name)) for name in ("squared_error", "log_loss")]
    [True, False]
    """
    return not loss.margin and loss.curvature is not None


def is_table(n_rows: int, n_features: int, n_values: int) -> bool:
    """Whether rows with ``n_values`` values that are not 0 are a table, and not documents.

    The features of a table may have any units and any means, and there are few of them, or most
    rows have a value for each.

    >>> is_table(1_000, 20_000, 90_000), is_table(1_000, 20, 5_000), is_table(50, 20, 1_000)
    (False, True, True)
    """
    return n_rows >= MANY_ROWS * n_features or n_values >= FILLED * n_rows * n_features


def found_epochs(
    n_rows: int, n_features: int, n_values: int, classifies: bool, *, penalised: bool = False
) -> int:
    """The largest number of epochs of a fit where ``max_iter`` is None.

    ``penalised`` says whether the user gives a penalty.

    >>> found_epochs(1_000, 20_000, 90_000, True), found_epochs(1_000, 20, 5_000, True)
    (4, 12)
    >>> found_epochs(1_000, 20_000, 90_000, True, penalised=True)
    6
    >>> found_epochs(1_000, 20_000, 90_000, False)
    100
    """
    if not classifies:
        return EPOCHS_OF_REGRESSORS
    if is_table(n_rows, n_features, n_values):
        return EPOCHS_OF_TABLES
    return EPOCHS_WITH_A_PENALTY if penalised else EPOCHS_OF_CLASSIFIERS


def divisor_of_rates(epoch: int, full_epochs: int) -> float:
    """By what rates are divided in an epoch, of which the first is 0; ``full_epochs`` are at 1.

    >>> [divisor_of_rates(epoch, full_epochs=4) for epoch in (0, 3, 4, 5)]
    [1.0, 1.0, 5.0, 9.0]
    """
    return 1.0 + CALMING * max(0, epoch + 1 - full_epochs)


def factor_of_rates(epochs: int) -> float:
    """By what the rates of a regressor are multiplied in a fit of fewer epochs than the usual.

    A fit of n steps gets farthest with rates in proportion to 1 / sqrt(n).

    >>> factor_of_rates(1), factor_of_rates(25), factor_of_rates(1000)
    (10.0, 2.0, 1.0)
    """
    return math.sqrt(max(1.0, EPOCHS_OF_REGRESSORS / epochs))


def takes_units(n_rows: int, n_features: int, n_values: int, classifies: bool) -> bool:
    """Whether a fit that chooses its rates and its penalty learns from features in their own units.

    To find the units and to copy the rows costs as much as a few epochs.  A regressor makes many
    epochs, a classifier only where rows are a table.

    >>> takes_units(1_000, 20_000, 90_000, True), takes_units(1_000, 20, 5_000, True)
    (False, True)
    >>> takes_units(1_000, 20_000, 90_000, False)
    True
    """
    return not classifies or is_table(n_rows, n_features, n_values)


def resolved_rule(rule: Any, loss: Loss, classifies: bool) -> Rule:
    """The rule that ``rule`` is; for "auto" AdaGrad, or FoBoS for a squared loss and numbers.

    >>> from lazynet.losses import get_loss
    >>> resolved_rule("auto", get_loss("hinge"), True)
    AdaGrad()
    >>> resolved_rule("auto", get_loss("squared_error"), False)
    FoBoS()
    """
    if not is_auto(rule):
        return rule
    squared = loss.unbounded_slope and not loss.margin
    suited = FoBoS() if squared or not classifies else AdaGrad()
    return suited.settled()


def resolved_schedule(rule: Rule) -> Schedule:
    """The schedule of a settled rule; for "auto" the schedule that suits its other parameters.

    >>> resolved_schedule(FoBoS().settled()), resolved_schedule(FoBoS(eta0=0.5).settled())
    (FromData(), Power())
    >>> resolved_schedule(FoBoS(batch_size=16).settled())
    Power()
    """
    if not is_auto(rule.schedule):
        return rule.schedule
    alike = isinstance(rule, (FoBoS, SGD)) and rule.storage == Clock() and rule.batch_size == 1
    alike = alike and rule.group is None
    result = FromData() if alike and rule.eta0 is None else Power()
    return check_schedule("schedule", result)


def _check_rule(name: str, value: Any) -> Any:
    if isinstance(value, str):
        value = check_choice(name, value, {AUTO, *ALGORITHMS})
    return AUTO if is_auto(value) else check_rule(name, value)


#: The kind of the parameter ``rule`` of the estimators.
RULE_OR_AUTO = Kind(_check_rule, objects=RULE.objects)
