"""A fit and a pass of ``partial_fit``: from settings and rows to the attributes of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import sizes_of, touched_columns
from lazynet.data.standardise import Units
from lazynet.engines.base import Engine, refuse_overflow
from lazynet.engines.catalogue import EngineKind
from lazynet.engines.outputs import OutputsEngine
from lazynet.engines.stacked import (
    intercepts_of,
    load_all,
    outputs_of,
    stacked_rows,
    stacked_sparse_rows,
)
from lazynet.engines.threads import threads_for
from lazynet.engines.undo import UndoLog
from lazynet.parameters import as_array
from lazynet.schedules import Adaptive, Schedule, needs_scale
from lazynet.training.diagnostics import fit_warnings
from lazynet.training.epochs import Epoch
from lazynet.training.learners import new_learners, run_pass
from lazynet.training.loop import Training
from lazynet.training.make_plan import is_table, make_plan, scale_of_rates
from lazynet.training.plan import Plan
from lazynet.training.rows import RowsInMemory
from lazynet.training.settings import Settings, new_generator
from lazynet.training.stream_rows import SourceRows

Array = NDArray[np.float64]
#: Replaces weights and intercepts by those that the user gives.
Replace = Callable[[Array, Array], tuple[Array, Array]]
#: A function that is called after every epoch.
Callback = Callable[[Epoch], Any]
#: The attributes of a model, and the warnings to give.
Result = tuple[dict[str, Any], list[Warning]]


class Model(NamedTuple):
    """What an earlier call of ``fit`` or ``partial_fit`` has left."""

    engines: list[Engine]
    engine_kind: EngineKind
    units: Units | None
    t: int
    #: the scale of the rates; None where they have none
    scale: float | None
    #: the schedule that the fit began with, and the schedule that it ended with
    schedules: tuple[Schedule, Schedule] | None
    generator: np.random.RandomState | None


def fit(
    settings: Settings,
    rows: RowsInMemory | SourceRows,
    model: Model | None,
    replace_weights: Replace | None,
    callback: Callback | None,
    checkpoint: Any,
    sparse_coef: bool,
) -> Result:
    """Train from zero weights, from ``model`` with ``warm_start``, or from given weights.

    ``checkpoint`` is None or a ``lazynet.persistence.checkpoints.Checkpoint``.
    """
    draws = settings.shuffle or settings.early_stopping
    generator = new_generator(settings.random_state) if draws else None
    if settings.early_stopping and generator is not None:
        rows = rows.hold_out(settings, generator)
    generator = generator if settings.shuffle else None
    model = model if settings.warm_start else None
    units = None
    if isinstance(rows, RowsInMemory):
        units = units_for_fit(settings, rows, model)
        rows = rows if units is None else rows.standardised(units)
    from_zero = model is None and replace_weights is None and rows.order is None
    plan = make_plan(settings, rows, from_zero=from_zero)
    n_outputs = len(rows.targets)
    outputs = None if checkpoint is None else checkpoint.outputs()
    warnings: list[Warning] = []
    if outputs is None or replace_weights is not None or settings.warm_start:
        engines, warnings = engines_for_fit(
            settings, plan, rows.n_features, n_outputs, units, model, replace_weights
        )
    if outputs is not None:
        if sum(outputs) != n_outputs or min(outputs) < 1:
            raise ValueError(f"the engines of the checkpoint do not have {n_outputs} outputs")
        engines = [
            plan.new_outputs(rows.n_features, number)
            if _is_joined(plan, n_outputs)
            else plan.new_engine(rows.n_features)
            for number in outputs
        ]
    learners = rows.learners(engines, plan)
    with threads_for(settings.n_threads, len(engines)) as workers:
        training = Training(
            settings, plan, learners, rows, workers, generator, units, callback, checkpoint
        )
        training.run()
        sparse_rows = stacked_sparse_rows(engines, units, workers) if sparse_coef else None
    history, best, t = training.history, training.best_epoch, training.best_t
    coefficients = None if sparse_coef else stacked_rows(engines, units)
    numbers: Any = coefficients if sparse_rows is None else sparse_rows.data
    refuse_overflow(t, engines[0].advice, numbers, intercepts_of(engines, units))
    rate = engines[0].present_rate
    eta0 = plan.eta0 if rate is None else rate
    warnings += fit_warnings(
        settings,
        plan,
        rows.targets if isinstance(rows, RowsInMemory) else None,
        learners,
        [line.get("validation_loss", line["progressive_loss"]) for line in history],
        history[best]["progressive_loss"],
        training.ended_early,
        None if units is not None else eta0,
    )
    attributes = {
        "_engines": engines,
        "_engine_kind": plan.engine_kind,
        "_coefficients": coefficients,
        "_sparse_rows": sparse_rows,
        "_scale": plan.eta0 if settings.has_scale else None,
        "_generator": generator,
        "_schedules": (plan.schedule, learners[0].plan.schedule),
        "units_": units,
        "t_": t,
        "l1_": plan.penalty.l1,
        "eta0_": eta0,
        "n_iter_": len(history),
        "best_epoch_": best,
        "history_": history,
    }
    return attributes, warnings


def units_for_fit(settings: Settings, rows: RowsInMemory, model: Model | None) -> Units | None:
    """The units in which a fit learns; None for features as they were passed.

    A penalty that is given acts on the weights of ``coef_``, and a rate that is given belongs to
    the rows as they were passed.  A model that goes on learning keeps its units.  To find the units
    and to copy the rows costs as much as a few epochs: a regressor makes many epochs, a classifier
    only where rows are a table.
    """
    if not settings.standardises:
        return None
    if model is not None:
        units = model.units
        # Other features are refused where the engines are compared with the rows.
        return units if units is None or len(units.sizes) == rows.n_features else None
    if settings.classifies and not is_table(*rows.shape):
        return None
    return rows.units(settings)


def learn_once(
    settings: Settings, rows: RowsInMemory, model: Model | None, l1: float, undo: UndoLog
) -> Result:
    """Go on training with one pass over ``rows``; ``undo`` notes what changes in place.

    ``l1`` is the strength where the settings give none.
    """
    n_outputs = len(rows.targets)
    units = model.units if model is not None and settings.standardises else None
    if units is not None:
        rows = rows.standardised(units)
    plan = settings.plan(l1, n_outputs)
    kind = plan.engine_kind
    # The first call decides on the scale of the rates where the parameters leave it open.
    eta0 = None
    if model is not None and settings.rule.eta0 is None and needs_scale(settings.schedule):
        eta0 = model.scale
    plan = plan.known(scale_of_rates(settings, plan, rows) if eta0 is None else eta0, None)
    warnings: list[Warning] = []
    if model is None:
        engines, generator, t = (
            plan.new_engines(rows.n_features, n_outputs, settings.n_threads),
            None,
            0,
        )
    else:
        generator, t = model.generator, model.t
        # Rates that an earlier fit has lowered stay, unless the parameters changed.
        if model.schedules is not None and isinstance(plan.schedule, Adaptive):
            first, last = model.schedules
            if first == plan.schedule:
                plan = replace(plan, schedule=last)
        engines, warnings = engines_for_pass(plan, kind, n_outputs, units, model)
    if settings.shuffle and generator is None:
        generator = new_generator(settings.random_state)
    # One engine measures a row when it visits it, which reads X once less.
    sizes = plan.sizes if len(engines) == 1 else sizes_of(rows.X, plan.sizes)
    learners = new_learners(engines, rows.X, rows.targets, plan, sizes)
    touched, numbers = touched_columns(rows.X), plan.settings()
    with threads_for(settings.n_threads, len(engines)) as workers:
        undo.before(engines, touched, workers)
        for engine in engines:
            engine.retune(numbers)
        for epoch in range(rows.n_orders or 1):
            order = rows.order_of(epoch, generator if settings.shuffle else None)
            t = run_pass(learners, order, t, workers=workers)
    for engine in engines:
        engine.check_finite(touched, t)
    rate = engines[0].present_rate
    attributes = {
        "_engines": engines,
        "_engine_kind": kind,
        "_coefficients": None,
        "_sparse_rows": None,
        "_generator": generator,
        "units_": units,
        "t_": t,
        "l1_": plan.penalty.l1,
        "eta0_": plan.eta0 if rate is None else rate,
    }
    if settings.has_scale:
        attributes["_scale"] = plan.eta0
    return attributes, warnings


def plan_to_verify(
    settings: Settings, rows: RowsInMemory, count: Callable[[Any], int], epochs: int
) -> tuple[Plan, RowsInMemory]:
    """The plan of a comparison with the dense twin, and the rows in the units of this plan.

    ``count`` gives the number of the rows of X that are visited in an epoch.  Refuses settings that
    have no twin.
    """
    if settings.plan(n_outputs=len(rows.targets)).softmax:
        raise ValueError(
            "verify compares one output with its twin, and loss='softmax' couples "
            "all outputs: verify the same parameters with loss='log_loss'"
        )
    for name, value, needed, why in (
        ("group", settings.rule.group, None, "weights that are shrunk one by one"),
        ("dtype", settings.dtype, "float64", "weights in float64"),
    ):
        if value != needed:
            raise ValueError(
                f"verify compares {why} with their twin: write {name}={needed!r}, got {value!r}"
            )
    units = units_for_fit(settings, rows, None)
    rows = rows if units is None else rows.standardised(units)
    n_steps = count(rows.X) * epochs
    return make_plan(settings, rows, from_zero=False, n_steps=n_steps), rows


# --- the engines that a call starts from: new ones, or those of an earlier call ---


def engines_for_fit(
    settings: Settings,
    plan: Plan,
    n_features: int,
    n_outputs: int,
    units: Units | None,
    model: Model | None,
    replace_weights: Replace | None,
) -> tuple[list[Engine], list[Warning]]:
    """The engines that ``fit`` starts from, and the warnings about the start."""
    if model is None:
        engines = plan.new_engines(n_features, n_outputs, settings.n_threads)
    else:
        known = outputs_of(model.engines)
        if known != n_outputs or model.engines[0].n_features != n_features:
            raise ValueError(
                f"warm_start=True continues a model of {known} output(s) with "
                f"{model.engines[0].n_features} features, but these data make {n_outputs} "
                f"with {n_features}; fit them with warm_start=False"
            )
        engines = _divided(model.engines, plan, n_outputs)
        if units is not model.units:
            engines = _as_passed(engines, model.units, plan)
        else:
            engines = [_restarted(engine, model.engine_kind, plan) for engine in engines]
    if replace_weights is not None:
        now = stacked_rows(engines, units, last=True), intercepts_of(engines, units, last=True)
        rows, offsets = replace_weights(*now)
        check_frozen_intercept(settings, "intercept_init", offsets)
        plan.check_start("coef_init", rows)
        load_all(engines, rows, offsets, units)
    if replace_weights is not None or settings.warm_start:
        return engines, _warnings_about(engines, plan)
    return engines, []


def engines_for_pass(
    plan: Plan,
    kind: EngineKind,
    n_outputs: int,
    units: Units | None,
    model: Model,
) -> tuple[list[Engine], list[Warning]]:
    """The engines with which ``partial_fit`` continues ``model``; changes nothing.

    ``kind`` is that of the plan without the facts of the rows.
    """
    engines = _divided(model.engines, plan, n_outputs)
    if units is not model.units:
        engines = _as_passed(engines, model.units, plan)
    elif model.engine_kind != kind or engines is not model.engines:
        same_average = model.engine_kind.average == kind.average
        engines = [plan.continued(engine, average=same_average) for engine in engines]
    return engines, _warnings_about(engines, plan)


def _is_joined(plan: Plan, n_outputs: int) -> bool:
    """Whether the plan gives several outputs to one engine."""
    return plan.coupled or (n_outputs > 1 and plan.joins_outputs)


def _divided(engines: list[Engine], plan: Plan, n_outputs: int) -> list[Engine]:
    """The engines of a model, divided among the outputs as the plan divides them.

    Any division of outputs that share no norm and no loss gives the same bits.
    """
    joined = _is_joined(plan, n_outputs)
    if not (plan.coupled and len(engines) > 1) and all(
        isinstance(engine, OutputsEngine) == joined for engine in engines
    ):
        return engines
    rows = np.concatenate([engine.rows(last=True) for engine in engines])
    offsets = np.concatenate([engine.intercepts for engine in engines])
    new = plan.new_engines(rows.shape[1], n_outputs)
    load_all(new, rows, offsets, None)
    return new


def _as_passed(engines: Sequence[Engine], units: Units | None, plan: Plan) -> list[Engine]:
    """New engines for rows as they were passed, from ``engines`` that have learned in ``units``."""
    assert units is not None, "the engines have learned in units"
    new, first = [], 0
    for engine in engines:
        part = units.of_outputs(first, engine.n_outputs)
        weights = part.weights(engine.rows(last=True))
        new.append(plan.new_like(engine))
        new[-1].load_rows(weights, part.intercept(weights[:, part.moved], engine.intercepts))
        first += engine.n_outputs
    return new


def _restarted(engine: Engine, kind: EngineKind, plan: Plan) -> Engine:
    """A new engine for a fit that starts from ``engine``, an engine of ``kind``.

    A rule whose rates follow from its own sums of gradients continues from these sums; with the
    weights alone its first steps would be as long as those of a model that knows nothing.
    """
    if not (plan.rule.continues and kind == plan.engine_kind):
        return plan.continued(engine, average=False)
    new = plan.new_like(engine)
    new.set_state(engine.state())
    new.retune(plan.settings())
    return new


def check_frozen_intercept(settings: Settings, name: str, intercepts: Array) -> None:
    """Refuse an intercept that a rule with rates of its own would not train with."""
    if not settings.fit_intercept and not settings.rule.scheduled and intercepts.any():
        raise ValueError(
            f"{name} must be 0 with rule={settings.rule!r} and fit_intercept=False: the rule "
            f"trains without an intercept"
        )


def _warnings_about(engines: Sequence[Engine], plan: Plan) -> list[Warning]:
    """The warning before these engines go on, one for all outputs; or no warning."""
    numbers = plan.settings()
    texts = [engine.warning_about(numbers) for engine in engines]
    warnings: list[Warning] = [UserWarning(text) for text in texts if text is not None]
    return warnings[:1]


def start_identity(model: Model | None, coef_init: Any, intercept_init: Any) -> dict[str, Any]:
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
