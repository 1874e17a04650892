"""A fit and a pass of ``partial_fit``: from settings and rows to the attributes of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazynet.data.arrays import touched_columns
from lazynet.data.standardise import Units
from lazynet.engines.base import Engine, refuse_overflow
from lazynet.engines.stacked import intercepts_of, stacked_rows, stacked_sparse_rows
from lazynet.engines.threads import Workers
from lazynet.engines.undo import UndoLog
from lazynet.schedules import Adaptive, needs_scale
from lazynet.training.defaults import takes_units
from lazynet.training.diagnostics import Rate, fit_warnings
from lazynet.training.epochs import Epoch, Stopping
from lazynet.training.learners import new_learners, run_pass, sizes_for_a_pass
from lazynet.training.loop import train
from lazynet.training.make_plan import make_plan, scale_of_rates
from lazynet.training.plan import Plan
from lazynet.training.random_state import new_generator
from lazynet.training.rows import RowsInMemory
from lazynet.training.settings import Settings
from lazynet.training.start import (
    Model,
    Replace,
    engines_for_fit,
    engines_for_pass,
    present_rate,
)
from lazynet.training.state import Checkpoint, engines_for
from lazynet.training.stream_rows import SourceRows

#: A function that is called after every epoch.
Callback = Callable[[Epoch], Any]
#: The attributes of a model, and the warnings to give.
Result = tuple[dict[str, Any], list[Warning]]


def fit(
    settings: Settings,
    rows: RowsInMemory | SourceRows,
    model: Model | None,
    replace: Replace | None,
    callback: Callback | None,
    checkpoint: Checkpoint | None,
    sparse_coef: bool,
) -> Result:
    """Train from zero weights, from ``model`` with ``warm_start``, or from given weights."""
    draws = settings.shuffle or settings.early_stopping
    generator = new_generator(settings.random_state) if draws else None
    if settings.early_stopping and generator is not None:
        rows = rows.hold_out(settings, generator)
    units = units_for_fit(settings, rows, model)
    rows = rows.in_units(units)  # type: ignore[arg-type]
    goes_on = settings.warm_start and model is not None
    from_zero = not goes_on and replace is None and rows.order is None
    plan = make_plan(settings, rows, from_zero=from_zero)
    engines, warnings = _engines_for_fit(settings, plan, rows, units, model, replace, checkpoint)
    learners, held_out = rows.learners(engines, plan), rows.held_out(plan)
    in_memory = rows if isinstance(rows, RowsInMemory) else None
    pass_over = rows.passes(learners, plan) if isinstance(rows, SourceRows) else None
    with Workers(min(settings.n_threads, len(engines))) as workers:
        run = train(
            learners,
            rows.orders(generator if settings.shuffle else None),
            t=0,
            max_iter=plan.max_iter,
            stopping=Stopping(settings.tol, settings.n_iter_no_change, plan.best_constant),
            verbose=settings.verbose,
            callback=callback,
            validate=None if held_out is None else lambda: held_out.judge(engines),
            columns=rows.columns() if settings.returns_to_best else None,
            workers=workers,
            units=units,
            pass_over=pass_over,
            checkpoint=checkpoint,
        )
        sparse_rows = stacked_sparse_rows(engines, units, workers) if sparse_coef else None
    coefficients = None if sparse_coef else stacked_rows(engines, units)
    numbers: Any = coefficients if sparse_rows is None else sparse_rows.data
    refuse_overflow(run.t, engines[0].advice, numbers, intercepts_of(engines, units))
    rate = present_rate(engines, plan.eta0)
    final_rate = Rate(rate, in_units=units is not None)
    warnings += fit_warnings(settings, plan, in_memory, learners, run, final_rate)
    attributes = {
        "_engines": engines,
        "_engine_kind": settings.engine_kind,
        "_coefficients": coefficients,
        "_sparse_rows": sparse_rows,
        "_scale": plan.eta0 if settings.has_scale else None,
        "_generator": generator if settings.shuffle else None,
        "_schedules": (plan.schedule, learners[0].plan.schedule),
        "units_": units,
        "t_": run.t,
        "l1_": plan.penalty.l1,
        "eta0_": rate,
        "n_iter_": len(run.history),
        "best_epoch_": run.best_epoch,
        "history_": run.history,
    }
    return attributes, warnings


def units_for_fit(
    settings: Settings, rows: RowsInMemory | SourceRows, model: Model | None
) -> Units | None:
    """The units in which a fit learns; None for features as they were passed.

    A penalty that is given acts on the weights of ``coef_``, and a rate that is given belongs to
    the rows as they were passed.  A model that goes on learning keeps its units.
    """
    if not settings.standardises or not isinstance(rows, RowsInMemory):
        return None
    if settings.warm_start and model is not None:
        units = model.units
        # Other features are refused where the engines are compared with the rows.
        return units if units is None or len(units.sizes) == rows.n_features else None
    return rows.units(settings) if takes_units(*rows.shape, settings.classifies) else None


def _engines_for_fit(
    settings: Settings,
    plan: Plan,
    rows: RowsInMemory | SourceRows,
    units: Units | None,
    model: Model | None,
    replace: Replace | None,
    checkpoint: Checkpoint | None,
) -> tuple[list[Engine], list[Warning]]:
    """The engines that a fit starts from, or those of its checkpoint, and warnings."""
    n_outputs = len(rows.problems)
    outputs = None if checkpoint is None else checkpoint.outputs()
    engines: list[Engine] = []
    warnings: list[Warning] = []
    if outputs is None or replace is not None or settings.warm_start:
        start = rows.n_features, n_outputs, units, model, replace
        engines, warnings = engines_for_fit(settings, plan, *start)
    if outputs is not None:
        engines = engines_for(outputs, plan, rows.n_features, n_outputs)
    return engines, warnings


def learn_once(
    settings: Settings, rows: RowsInMemory, model: Model | None, l1: float, undo: UndoLog
) -> Result:
    """Go on training with one pass over ``rows``; ``undo`` notes what changes in place.

    ``l1`` is the strength where the settings give none.
    """
    n_outputs = len(rows.problems)
    units = model.units if model is not None and settings.standardises else None
    rows = rows.in_units(units)
    plan = settings.plan(l1, n_outputs)
    kind = plan.engine_kind
    # The first call decides on the scale of the rates where the parameters leave it open.
    continues = model is not None and settings.rule.eta0 is None and needs_scale(settings.schedule)
    scale = model.scale if model is not None and continues else None
    eta0 = scale_of_rates(settings, plan, rows) if scale is None else scale
    plan = plan.known(eta0, None)
    warnings: list[Warning] = []
    if model is None:
        engines = plan.new_engines(rows.n_features, n_outputs, settings.n_threads)
    else:
        plan = _with_lowered_rates(plan, model)
        engines, warnings = engines_for_pass(plan, kind, n_outputs, units, model)
    generator = None if model is None else model.generator
    if settings.shuffle and generator is None:
        generator = new_generator(settings.random_state)
    sizes = sizes_for_a_pass(rows.X, plan, len(engines))
    learners = new_learners(engines, rows.X, rows.problems, plan, sizes)
    orders = rows.orders(generator if settings.shuffle else None)
    touched, t = touched_columns(rows.X), 0 if model is None else model.t
    with Workers(min(settings.n_threads, len(engines))) as workers:
        undo.before(engines, touched, workers)
        for engine in engines:
            engine.retune(plan.settings)
        for epoch in range(rows.n_orders or 1):
            t = run_pass(learners, orders.of(epoch), t, workers=workers)
    for engine in engines:
        engine.check_finite(touched, t)
    attributes = {
        "_engines": engines,
        "_engine_kind": kind,
        "_coefficients": None,
        "_sparse_rows": None,
        "_generator": generator,
        "units_": units,
        "t_": t,
        "l1_": plan.penalty.l1,
        "eta0_": present_rate(engines, eta0),
        **({"_scale": eta0} if settings.has_scale else {}),
    }
    return attributes, warnings


def _with_lowered_rates(plan: Plan, model: Model) -> Plan:
    """The plan with the rates that an earlier fit has lowered, unless the parameters changed."""
    if model.schedules is None or not isinstance(plan.schedule, Adaptive):
        return plan
    first, last = model.schedules
    return plan.with_schedule(last) if first == plan.schedule else plan
