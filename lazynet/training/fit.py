"""A fit and a pass of ``partial_fit``: from settings and rows to the attributes of a model.

settings -> rows -> plan -> engines -> learners -> training -> attributes
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazynet.data.arrays import touched_columns
from lazynet.engines.base import refuse_overflow
from lazynet.engines.stacked import intercepts_of, stacked_coefficients, stacked_sparse_coefficients
from lazynet.engines.threads import threads_for
from lazynet.engines.undo import UndoLog
from lazynet.training.epochs import Epoch, warnings_of_falls
from lazynet.training.learners import new_learners, run_pass
from lazynet.training.loop import Training
from lazynet.training.make_plan import eta0_of_rows, make_plan
from lazynet.training.plan import Plan
from lazynet.training.rows import Rows, RowsInMemory
from lazynet.training.settings import Settings, new_generator
from lazynet.training.start import Model, Replace, engines_for_fit, engines_for_pass, units_for_fit

#: A function that is called after every epoch.
Callback = Callable[[Epoch], Any]
#: The attributes of a model, and the warnings to give.
Result = tuple[dict[str, Any], list[Warning]]


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
    outputs = None if checkpoint is None else checkpoint.outputs()
    engines, warnings = engines_for_fit(
        settings, plan, rows, units, model, replace_weights, outputs
    )
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
    refuse_overflow(t, engines[0].advice, numbers, intercepts_of(engines, units))
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
    warnings: list[Warning] = []
    if model is None:
        engines = plan.new_engines(rows.n_features, n_outputs, settings.n_threads)
        generator, t = None, 0
    else:
        generator, t = model.generator, model.t
        engines, warnings = engines_for_pass(plan, n_outputs, units, model)
    if settings.shuffle and generator is None:
        generator = new_generator(settings.random_state)
    learners = new_learners(engines, rows.X, rows.targets, plan)
    touched, numbers = touched_columns(rows.X), plan.constants()
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


def plan_to_verify(
    settings: Settings, rows: RowsInMemory, count: Callable[[Any], int], epochs: int
) -> tuple[Plan, RowsInMemory]:
    """The plan of a comparison with the dense twin, and the rows in the units of this plan.

    ``count`` gives the number of the rows of X that are visited in an epoch.  Refuses settings that
    have no twin.
    """
    if settings.softmax and len(rows.targets) > 1:
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
    return make_plan(settings, rows, compares_first_epoch=False, n_steps=n_steps), rows
