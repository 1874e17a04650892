"""A fit and a pass of ``partial_fit``: from settings and rows to the attributes of a model.

settings -> rows -> plan -> engines -> training -> attributes
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.statistics import RowStatistics, Units
from lazynet.engines.base import (
    Engine,
    intercepts_of,
    refuse_overflow,
    set_all_coefficients,
    stacked_coefficients,
    stacked_sparse_coefficients,
)
from lazynet.engines.calls import UndoLog, threads_for
from lazynet.losses import Loss
from lazynet.parameters import as_array, check_n_steps
from lazynet.rules.adagrad import AdaGrad
from lazynet.schedules import AUTO, FromData, check_schedule
from lazynet.training.loop import Epoch, Training, warnings_of_falls
from lazynet.training.passes import new_learners, run_pass
from lazynet.training.plan import OldModel, Plan, continued_engines, warnings_about
from lazynet.training.rows import Rows, RowsInMemory
from lazynet.training.settings import Settings, new_generator

Array = NDArray[np.float64]
#: Weights and intercepts of the user to start from; None: zeros, or those of a warm start.
Start = tuple[Array | None, Array | None] | None
#: A function that is called after every epoch.
Callback = Callable[[Epoch], Any]
#: The attributes of a model, and the warnings to give.
Result = tuple[dict[str, Any], list[Warning]]

#: The default of ``max_iter``:
#: classifiers: more epochs overfit;
#: classifiers with a given penalty: the penalty acts slowly;
#: classifiers of tabular rows: they overfit less;
#: regressors: automatic rates reduce a squared loss slowly.
EPOCHS_OF_CLASSIFIERS, EPOCHS_WITH_A_PENALTY = 4, 6
EPOCHS_OF_TABLES, EPOCHS_OF_REGRESSORS = 12, 100
#: The share in ``default_l1``: for classifiers of documents, and for all other fits.
L1_SHARE_OF_DOCUMENTS, L1_SHARE = 0.01, 0.003


def train(
    settings: Settings,
    rows: Rows,
    model: OldModel | None,
    start: Start,
    callback: Callback | None,
    checkpoint: Any,
    sparse_coef: bool,
) -> Result:
    """Train from zero weights, or from ``model``; ``start`` replaces their weights or intercepts.

    ``checkpoint`` is None or a ``lazynet.persistence.checkpoints.Checkpoint``.
    """
    draws = settings.shuffle or settings.early_stopping
    generator = new_generator(settings.random_state) if draws else None
    if settings.early_stopping and generator is not None:
        rows = rows.hold_out(settings, generator)
    generator = generator if settings.shuffle else None
    units = rows.units(settings, model)
    rows = rows.standardised(units)
    starts_at_zero = model is None and start is None
    compares_first_epoch = starts_at_zero and rows.order is None
    plan = make_plan(settings, rows, compares_first_epoch=compares_first_epoch)
    if model is None:
        engines = plan.new_engines(rows.n_features)
    else:
        engines = continued_engines(plan, rows.n_features, units, model)
    if start is not None:
        weights, intercepts = start
        if weights is None:
            weights = stacked_coefficients(engines, units, last=True)
        if intercepts is None:
            intercepts = intercepts_of(engines, units, last=True)
        plan.check_start("coef_init", weights, intercepts)
        set_all_coefficients(engines, weights, intercepts, units)
    warnings = [] if starts_at_zero else warnings_about(engines, plan)
    with threads_for(settings.n_threads, len(engines)) as workers:
        training = Training(
            settings, plan, engines, rows, workers, generator, units, callback, checkpoint
        )
        training.run()
        coefficients: Any = (
            stacked_sparse_coefficients(engines, units, workers)
            if sparse_coef
            else stacked_coefficients(engines, units)
        )
    history, best, t = training.history, training.best_epoch, training.best_t
    numbers = coefficients.data if sparse_coef else coefficients
    refuse_overflow(t, engines[0].remedy, numbers, intercepts_of(engines, units))
    if settings.tol is not None and not (training.ended_early or settings.limits_epochs):
        losses = [line.get("validation_loss", line["progressive_loss"]) for line in history]
        warnings += warnings_of_falls(losses, plan.max_iter)
    attributes = attributes_of(plan, engines, units, generator, t) | {
        "_coefficients": coefficients,
        "_eta0": plan.eta0 if settings.has_eta0 else None,
        "n_iter_": len(history),
        "best_epoch_": best,
        "history_": history,
    }
    return attributes, warnings


def train_once(
    settings: Settings, rows: RowsInMemory, model: OldModel | None, l1: float, undo: UndoLog | None
) -> Result:
    """Continue training with one pass over ``rows``.

    ``l1`` is the strength if the settings have none.  The engines of ``model`` change in place, and
    ``undo`` records the changes; None: no other object has these engines.
    """
    units = model.units if model is not None and settings.standardises else None
    rows = rows.standardised(units)
    # If no parameter gives the scale of the rates, the first call computes it from its rows.
    eta0 = settings.eta0
    if eta0 is None and model is not None:
        eta0 = model.eta0
    statistics = rows.statistics(settings, False) if eta0 is None else None
    plan = settings.plan(rows.targets.n_outputs, l1, eta0, statistics)
    if model is None:
        engines, warnings, generator, t = plan.new_engines(rows.n_features), [], None, 0
    else:
        engines = continued_engines(plan, rows.n_features, units, model, in_place=True)
        warnings, generator, t = warnings_about(engines, plan), model.generator, model.t
    if settings.shuffle and generator is None:
        generator = new_generator(settings.random_state)
    learners = new_learners(engines, rows.X, rows.targets, plan)
    with threads_for(settings.n_threads, len(engines)) as workers:
        if undo is not None:
            undo.before(engines, rows.touched, workers)
        for engine in engines:
            engine.set_constants(plan.constants)
        for epoch in range(rows.n_orders or 1):
            order = rows.order_of(epoch, generator if settings.shuffle else None)
            t = run_pass(learners, order, t, workers=workers)
    for engine in engines:
        engine.check_finite(rows.touched, t)
    attributes = attributes_of(plan, engines, units, generator, t)
    if settings.has_eta0:
        attributes["_eta0"] = plan.eta0
    return attributes, warnings


def attributes_of(
    plan: Plan,
    engines: list[Engine],
    units: Units | None,
    generator: np.random.RandomState | None,
    t: int,
) -> dict[str, Any]:
    """The attributes that every training gives to a model; the coefficients are not read yet."""
    rate = engines[0].present_rate
    return {
        "_engines": engines,
        "_engine_kind": plan.engine_kind,
        "_coefficients": None,
        "_generator": generator,
        "units_": units,
        "t_": t,
        "l1_": plan.penalty.l1,
        "eta0_": plan.eta0 if rate is None else rate,
    }


# --- the start of a call ---


def attributes_with_weights(
    settings: Settings, model: OldModel, l1: float, weights: Array, intercepts: Array
) -> dict[str, Any]:
    """The attributes of a model with other weights and intercepts, in new engines."""
    n_outputs, n_features = weights.shape
    eta0 = settings.eta0 or model.eta0 or 1.0
    plan = settings.plan(n_outputs, l1, eta0, n_steps=model.t)
    plan.check_start("coef_", weights, intercepts)
    units = model.units if settings.standardises else None
    engines = plan.new_engines(n_features)
    if plan.rates_from_data:
        for engine, old in zip(engines, model.engines, strict=False):
            engine.continue_rates(old)
    set_all_coefficients(engines, weights, intercepts, units)
    return {
        "_engines": engines,
        "_engine_kind": plan.engine_kind,
        "_coefficients": None,
        "units_": units,
    }


def start_identity(model: OldModel | None, coef_init: Any, intercept_init: Any) -> dict[str, Any]:
    """The weights that a fit starts from, for a checkpoint to compare."""
    start: dict[str, Any] = {
        name: value
        if value is None or sparse.issparse(value)
        else as_array(name, "must hold numbers", value)
        for name, value in (("coef_init", coef_init), ("intercept_init", intercept_init))
    }
    if model is not None:
        start["the model before this call"] = [engine.state() for engine in model.engines]
    return start


# --- the plan of a fit ---


def make_plan(
    settings: Settings, rows: Rows, *, compares_first_epoch: bool = True, n_steps: int | None = None
) -> Plan:
    """The plan of a fit from ``rows``, in memory or in a source.

    ``compares_first_epoch`` says that the fit starts from zero weights and visits all rows: only
    then its first epoch can be compared with a constant prediction.  ``n_steps`` is the number of
    steps; None: it follows from the settings.
    """
    table, classifies = rows.is_table, settings.classifies
    # The penalty, and the loss that a bad first epoch exceeds.
    l1, bad_loss, statistics = 0.0, math.inf, None
    compares = settings.may_restart and compares_first_epoch and rows.targets.n_outputs == 1
    if settings.l1 is None or settings.eta0 is None:
        statistics = rows.statistics(settings, of_targets=settings.l1 is None)
    if settings.l1 is None:
        assert statistics is not None
        documents = settings.loss.margin and not table
        share = L1_SHARE_OF_DOCUMENTS if documents else L1_SHARE
        l1 = default_l1(statistics, settings.loss, share)
        total, positive = statistics.n_rows * statistics.mean_importance, statistics.positive
        if compares and settings.tol is not None and not table and 0 < positive < total:
            share = positive / total if settings.fit_intercept else 0.5
            constant = -(positive * math.log(share) + (total - positive) * math.log(1.0 - share))
            bad_loss = constant / statistics.n_rows * (1.0 + settings.tol)
    # The number of epochs, and the rates for this number, if the user gives no rates and the rows
    # are no table.  A classifier overfits after its usual epochs, unless its rates fall.  A
    # regressor with few epochs ends far from the minimum, unless its rates are high: the best rates
    # of a fit of n steps are in proportion to 1 / sqrt(n).
    max_iter = settings.max_iter or rows.n_orders
    if max_iter is None and not classifies:
        max_iter = EPOCHS_OF_REGRESSORS
    elif max_iter is None and table:
        max_iter = EPOCHS_OF_TABLES
    elif max_iter is None:
        max_iter = EPOCHS_WITH_A_PENALTY if settings.penalised else EPOCHS_OF_CLASSIFIERS
    full_epochs, schedule = None, settings.schedule
    if settings.standardises and not table:
        if classifies and isinstance(settings.rule, AdaGrad):
            full_epochs = EPOCHS_OF_CLASSIFIERS
        chosen = isinstance(schedule, FromData) and settings.rule.schedule == AUTO
        if not classifies and chosen and settings.loss.name == "squared_error":
            factor = math.sqrt(max(1.0, EPOCHS_OF_REGRESSORS / max_iter))
            schedule = check_schedule("schedule", FromData(factor))
    n_all = check_n_steps("max_iter", max_iter, rows.n_visits)
    if settings.tol is None and rows.n_orders is not None and rows.n_orders < max_iter:
        raise ValueError(f"sample_order has {rows.n_orders} epochs, fewer than max_iter={max_iter}")
    return settings.plan(
        rows.targets.n_outputs,
        l1,
        settings.eta0,
        statistics,
        schedule=schedule,
        max_iter=max_iter,
        full_epochs=full_epochs,
        bad_loss=bad_loss,
        n_steps=n_all if n_steps is None and settings.tol is None else n_steps,
    )


def default_l1(statistics: RowStatistics, loss: Loss, share: float = L1_SHARE) -> float:
    """The default l1: the effect of a small share of one row on a weight.

    This is share * |slope| * |x| / n: |x| is the root mean square of the norms of the n rows, and
    |slope| the size of the loss's slopes at the best constant prediction, times the mean
    importance.  If X, y or the importances are multiplied by a number, the default l1 changes such
    that the model makes the same predictions, up to the factor of y.  If y has several columns,
    |slope| is their mean.

    >>> from lazynet.losses import get_loss
    >>> statistics = RowStatistics()
    >>> statistics.add(np.full(3, 25.0))
    >>> default_l1(statistics, get_loss("hinge"))
    0.005
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
        result = share * slope * float(np.sqrt(statistics.mean_squared_norm)) / n
    return result if np.isfinite(result) else 0.0
