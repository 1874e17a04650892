"""A fit and a pass of ``partial_fit``: from settings and rows to the attributes of a model.

settings -> rows -> plan -> engines -> training -> attributes
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import touched_columns
from lazynet.data.statistics import Units
from lazynet.engines.base import (
    Engine,
    intercepts_of,
    load_all,
    outputs_of,
    refuse_overflow,
    stacked_coefficients,
    stacked_sparse_coefficients,
)
from lazynet.engines.calls import UndoLog, threads_for
from lazynet.engines.catalogue import EngineKind
from lazynet.parameters import as_array
from lazynet.training.loop import Epoch, Training, warnings_of_falls
from lazynet.training.make_plan import eta0_of_rows, make_plan
from lazynet.training.passes import new_learners, run_pass
from lazynet.training.plan import Plan
from lazynet.training.rows import Rows, RowsInMemory
from lazynet.training.settings import Settings, new_generator

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
    eta0: float | None
    generator: np.random.RandomState | None


def fit(
    settings: Settings,
    rows: Rows,
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
    units = None
    if isinstance(rows, RowsInMemory):
        units = units_for_fit(settings, rows, model)
        rows = rows if units is None else rows.standardised(units)
    compares_first_epoch = model is None and replace_weights is None and rows.order is None
    plan = make_plan(settings, rows, compares_first_epoch=compares_first_epoch)
    engines, warnings = engines_for(settings, plan, rows, units, model)
    if replace_weights is not None:
        now = (
            stacked_coefficients(engines, units, last=True),
            intercepts_of(engines, units, last=True),
        )
        weights, offsets = replace_weights(*now)
        check_frozen_intercept(settings, "intercept_init", offsets)
        plan.check_start("coef_init", weights)
        load_all(engines, weights, offsets, units)
        warnings = warnings_about(engines, plan)
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
    rate = engines[0].present_rate
    eta0 = plan.eta0 if rate is None else rate
    if settings.tol is not None and not (training.ended_early or settings.limits_epochs):
        losses = [line.get("validation_loss", line["progressive_loss"]) for line in history]
        warnings += warnings_of_falls(losses, plan.max_iter)
    attributes = {
        "_engines": engines,
        "_engine_kind": plan.engine_kind,
        "_coefficients": coefficients,
        "_eta0": plan.eta0 if settings.has_eta0 else None,
        "_generator": generator,
        "units_": units,
        "t_": t,
        "l1_": plan.penalty.l1,
        "eta0_": eta0,
        "n_iter_": len(history),
        "best_epoch_": best,
        "history_": history,
    }
    return attributes, warnings


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
    penalty, eta0 = settings.penalty(l1), settings.eta0
    # The first call decides on the scale of the rates where the parameters leave it open.
    if eta0 is None and model is not None:
        eta0 = model.eta0
    if eta0 is None:
        eta0 = eta0_of_rows(settings, penalty, rows)
    plan = settings.plan(penalty, n_outputs, eta0)
    engines, warnings = engines_for(settings, plan, rows, units, model, in_place=True)
    generator, t = (None, 0) if model is None else (model.generator, model.t)
    if settings.shuffle and generator is None:
        generator = new_generator(settings.random_state)
    learners = new_learners(engines, rows.X, rows.targets, plan)
    touched, numbers = touched_columns(rows.X), plan.constants()
    with threads_for(settings.n_threads, len(engines)) as workers:
        undo.before(engines, touched, workers)
        for engine in engines:
            engine.set_constants(numbers)
        for epoch in range(rows.n_orders or 1):
            order = rows.order_of(epoch, generator if settings.shuffle else None)
            t = run_pass(learners, order, t, workers=workers)
    for engine in engines:
        engine.check_finite(touched, t)
    rate = engines[0].present_rate
    attributes = {
        "_engines": engines,
        "_engine_kind": plan.engine_kind,
        "_coefficients": None,
        "_generator": generator,
        "units_": units,
        "t_": t,
        "l1_": plan.penalty.l1,
        "eta0_": plan.eta0 if rate is None else rate,
    }
    if settings.has_eta0:
        attributes["_eta0"] = plan.eta0
    return attributes, warnings


# --- what a call starts from ---


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
    if settings.classifies and not rows.is_table:
        return None
    return rows.units(settings)


def engines_for(
    settings: Settings,
    plan: Plan,
    rows: Rows,
    units: Units | None,
    model: Model | None,
    in_place: bool = False,
) -> tuple[list[Engine], list[Warning]]:
    """New engines, or those that go on from ``model``, and the warnings about the start.

    ``in_place`` lets the engines of the model go on, where they suit the plan; else it keeps them.
    ``units`` are those of the model, or None: then weights are those of features as passed.
    """
    n_features, n_outputs = rows.n_features, len(rows.targets)
    if model is None:
        return plan.new_engines(n_features, n_outputs, settings.n_threads), []
    old = model.engines
    n_present = outputs_of(old)
    if n_present != n_outputs or old[0].n_features != n_features:
        raise ValueError(
            f"warm_start=True continues a model of {n_present} output(s) with "
            f"{old[0].n_features} features, but these data make {n_outputs} "
            f"with {n_features}; fit them with warm_start=False"
        )
    # Any division of outputs that share no norm and no loss gives the same bits.
    same = model.engine_kind == plan.engine_kind and not (plan.coupled and len(old) > 1)
    same = same and units is model.units
    # A rule whose rates follow from its own sums of gradients continues from these sums; with the
    # weights alone its first steps would be as long as those of a model that knows nothing.
    if same and (in_place or plan.rule.continues):
        engines = old
        if not in_place:
            engines = copy.deepcopy(old)
            for engine in engines:
                engine.set_constants(plan.constants())
        return engines, warnings_about(engines, plan)
    left = None if units is model.units else model.units
    weights = stacked_coefficients(old, left, last=True)
    plan.check_start("the model that goes on learning", weights)
    engines = plan.new_engines(n_features, n_outputs, settings.n_threads)
    # Averages begin anew.
    load_all(engines, weights, intercepts_of(old, left, last=True), None)
    if left is None and plan.rates_from_data:
        for engine, before in zip(engines, old, strict=False):
            engine.continue_rates(before)
    return engines, warnings_about(engines, plan)


def check_frozen_intercept(settings: Settings, name: str, intercepts: Array) -> None:
    """Refuse an intercept that a rule with rates of its own would not train with."""
    if not settings.fit_intercept and not settings.rule.scheduled and intercepts.any():
        raise ValueError(
            f"{name} must be 0 with rule={settings.rule!r} and fit_intercept=False: the rule "
            f"trains without an intercept"
        )


def warnings_about(engines: Sequence[Engine], plan: Plan) -> list[Warning]:
    """The warning before these engines go on, one for all outputs; or no warning."""
    numbers = plan.constants()
    texts = [engine.warning_about(numbers) for engine in engines]
    warnings: list[Warning] = [UserWarning(text) for text in texts if text is not None]
    return warnings[:1]


def engines_with(
    settings: Settings, model: Model, l1: float, weights: Array, intercepts: Array
) -> dict[str, Any]:
    """The attributes of a model with other weights and intercepts, in new engines."""
    check_frozen_intercept(settings, "intercept_", intercepts)
    n_outputs, n_features = weights.shape
    eta0 = settings.eta0 or model.eta0 or 1.0
    plan = settings.plan(settings.penalty(l1), n_outputs, eta0, n_steps=model.t)
    plan.check_start("coef_", weights)
    units = model.units if settings.standardises else None
    engines = plan.new_engines(n_features, n_outputs, settings.n_threads)
    if plan.rates_from_data:
        for engine, old in zip(engines, model.engines, strict=False):
            engine.continue_rates(old)
    load_all(engines, weights, intercepts, units)
    return {
        "_engines": engines,
        "_engine_kind": plan.engine_kind,
        "_coefficients": None,
        "units_": units,
    }


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
