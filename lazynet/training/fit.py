"""A fit and a pass of ``partial_fit``: from settings and rows to the attributes of a model.

settings -> rows -> plan -> engines -> training -> attributes
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.statistics import FeatureMoments
from lazynet.engines.base import (
    Engine,
    intercepts_of,
    refuse_overflow,
    set_all_coefficients,
    stacked_coefficients,
    stacked_sparse_coefficients,
)
from lazynet.engines.threads import Workers
from lazynet.engines.undo import UndoLog
from lazynet.parameters import as_array, check_n_steps
from lazynet.schedules import checked_rates
from lazynet.training.automatic import Choice, Choices, choose, may_restart, warnings_of_rate
from lazynet.training.loop import Epoch, Training, warnings_of_falls
from lazynet.training.passes import new_learners, run_pass
from lazynet.training.plan import (
    OldModel,
    Plan,
    continued_engines,
    continued_moments,
    units_of,
    warnings_about,
)
from lazynet.training.rows import Rows, RowsInMemory
from lazynet.training.settings import Settings, new_generator

Array = NDArray[np.float64]
# The text that is printed before the losses of the epochs.
_PROGRESSIVE = "progressive loss: the mean loss of predictions made before each row is learned"
#: Weights and intercepts of the user to start from; None: zeros, or those of a warm start.
Start = tuple[Array | None, Array | None] | None
#: A function that is called after every epoch.
Callback = Callable[[Epoch], Any]
#: The attributes of a model, and the warnings to give.
Result = tuple[dict[str, Any], list[Warning]]


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
    if model is not None:
        model.check_sizes(rows.n_features, rows.targets.n_outputs)
    draws = settings.shuffle or settings.early_stopping
    generator = new_generator(settings.random_state) if draws else None
    if settings.early_stopping and generator is not None:
        rows = rows.hold_out(settings, generator)
    generator = generator if settings.shuffle else None
    moments = rows.moments(settings, model)
    units = units_of(moments)
    rows = rows.standardised(units)
    starts_at_zero = model is None and start is None
    compares_first_epoch = starts_at_zero and rows.order is None
    plan, choices, warnings = make_plan(
        settings, rows, moments, compares_first_epoch=compares_first_epoch
    )
    if model is None:
        engines = plan.new_engines(rows.n_features)
    else:
        engines = continued_engines(plan, rows.n_features, moments, model)
    if start is not None:
        weights, intercepts = start
        if weights is None:
            weights = stacked_coefficients(engines, units, last=True)
        if intercepts is None:
            intercepts = intercepts_of(engines, units, last=True)
        plan.check_start("coef_init", weights, intercepts)
        set_all_coefficients(engines, weights, intercepts, units)
    warnings += [] if starts_at_zero else warnings_about(engines, plan)
    if settings.verbose:
        print(choices)
        print(_PROGRESSIVE)
    with Workers(min(settings.n_threads, len(engines))) as workers:
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
    if settings.tol is not None and not (training.ended_early or plan.falls):
        losses = [line.get("validation_loss", line["progressive_loss"]) for line in history]
        warnings += warnings_of_falls(losses, plan.max_iter, standardises=moments is not None)
    attributes = attributes_of(plan, engines, moments, generator, t) | {
        "auto_": training.choices(choices),
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
    moments = continued_moments(settings.units, rows.n_features, model)
    touched = rows.X.indices
    if moments is not None:
        if undo is not None and model is not None and moments is model.moments:
            undo.before([moments], touched)
        moments.count(rows.X)
        moments.settle(touched)
        rows = rows.standardised(moments.units)
    # If no parameter gives the scale of the rates, the first call computes it from its rows.
    eta0 = settings.eta0
    if eta0 is None and model is not None:
        eta0 = model.eta0
    statistics = rows.statistics(settings, False) if eta0 is None else None
    if statistics is not None and moments is not None:
        # A single row is its own mean, and its full features are 0 in their units.
        statistics.expect(len(moments.full))
    plan = settings.plan(rows.targets.n_outputs, l1, eta0, statistics)
    if model is None:
        engines, warnings, generator, t = plan.new_engines(rows.n_features), [], None, 0
    else:
        engines = continued_engines(plan, rows.n_features, moments, model, in_place=True)
        warnings, generator, t = warnings_about(engines, plan), model.generator, model.t
    if settings.shuffle and generator is None:
        generator = new_generator(settings.random_state)
    learners = new_learners(engines, rows.X, rows.targets, plan)
    with Workers(min(settings.n_threads, len(engines))) as workers:
        if undo is not None:
            undo.before(engines, rows.touched, workers)
        for engine in engines:
            engine.set_constants(plan.constants)
        for epoch in range(rows.n_orders or 1):
            order = rows.order_of(epoch, generator if settings.shuffle else None)
            t = run_pass(learners, order, t, workers=workers)
    for engine in engines:
        engine.check_finite(rows.touched, t)
    attributes = attributes_of(plan, engines, moments, generator, t)
    if settings.has_eta0:
        attributes["_eta0"] = plan.eta0
    return attributes, warnings


def attributes_of(
    plan: Plan,
    engines: list[Engine],
    moments: FeatureMoments | None,
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
        "_moments": moments,
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
    units = model.units
    engines = plan.new_engines(n_features)
    if plan.rates_from_data:
        for engine, old in zip(engines, model.engines, strict=False):
            engine.continue_rates(old)
    set_all_coefficients(engines, weights, intercepts, units)
    return {
        "_engines": engines,
        "_engine_kind": plan.engine_kind,
        "_coefficients": None,
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
        parts: list[Any] = [*model.engines, *([] if model.moments is None else [model.moments])]
        start["the model before this call"] = [part.state() for part in parts]
    return start


# --- the plan of a fit ---


def make_plan(
    settings: Settings,
    rows: Rows,
    moments: FeatureMoments | None,
    *,
    compares_first_epoch: bool = True,
    n_steps: int | None = None,
) -> tuple[Plan, Choices, list[Warning]]:
    """The plan of a fit from rows in their units, its automatic choices, and warnings about it.

    ``compares_first_epoch`` says that the fit starts from zero weights and visits all rows: only
    then its first epoch can be compared with a constant prediction.  ``n_steps`` is the number of
    steps; None: it follows from the settings.
    """
    compares = compares_first_epoch and may_restart(settings, rows.targets.n_outputs)
    statistics = None
    # The warning about a given rate needs them too; of a source it would cost a pass.
    warns = settings.rule.eta0 is not None and isinstance(rows, RowsInMemory)
    if settings.l1 is None or settings.eta0 is None or compares or warns:
        statistics = rows.statistics(settings, of_targets=settings.l1 is None or compares)
    fields, choices = choose(settings, statistics, moments, rows.n_orders, compares)
    max_iter = fields["max_iter"]
    n_all = check_n_steps("max_iter", max_iter, rows.n_visits)
    if settings.tol is None and rows.n_orders is not None and rows.n_orders < max_iter:
        raise ValueError(f"sample_order has {rows.n_orders} epochs, fewer than max_iter={max_iter}")
    plan = settings.plan(
        rows.targets.n_outputs,
        eta0=settings.eta0,
        statistics=statistics,
        n_steps=n_all if n_steps is None and settings.tol is None else n_steps,
        **fields,
    )
    warnings: list[Warning] = []
    if statistics is not None and settings.rule.eta0 is not None:
        rate = float(checked_rates(plan.schedule, 0, 1)[0])
        standardises = moments is not None
        warnings = warnings_of_rate(rate, plan.loss, statistics, standardises)
    if settings.eta0 is None:
        reason = "the largest rate at which no step overshoots"
        choices = Choices([*choices, Choice("eta0", plan.eta0, reason)])
    return plan, choices, warnings
