"""What a call of ``fit`` or ``partial_fit`` starts from: an earlier model, units and engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.standardise import Units
from lazynet.engines.base import Engine
from lazynet.engines.catalogue import EngineKind
from lazynet.engines.outputs import OutputsEngine
from lazynet.engines.stacked import intercepts_of, load_all, outputs_of, stacked_coefficients
from lazynet.parameters import as_array
from lazynet.training.plan import Plan, joins_outputs
from lazynet.training.rows import Rows, RowsInMemory
from lazynet.training.settings import Settings

Array = NDArray[np.float64]
#: Replaces weights and intercepts by those that the user gives.
Replace = Callable[[Array, Array], tuple[Array, Array]]


class Model(NamedTuple):
    """What an earlier call of ``fit`` or ``partial_fit`` has left."""

    engines: list[Engine]
    engine_kind: EngineKind
    units: Units | None
    t: int
    #: the scale of the rates; None where they have none
    eta0: float | None
    generator: np.random.RandomState | None


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


def engines_for_fit(
    settings: Settings,
    plan: Plan,
    rows: Rows,
    units: Units | None,
    model: Model | None,
    replace_weights: Replace | None,
    outputs: Sequence[int] | None,
) -> tuple[list[Engine], list[Warning]]:
    """The engines that ``fit`` starts from, and the warnings about the start.

    ``outputs`` are those of the engines in a checkpoint, whose state is read later.
    """
    n_features, n_outputs = rows.n_features, len(rows.targets)
    goes_on = replace_weights is not None or settings.warm_start
    engines, warnings = [], []
    if outputs is None or goes_on:
        if model is None:
            engines = plan.new_engines(n_features, n_outputs, settings.n_threads)
        else:
            engines = _engines_of(model, plan, units, n_features, n_outputs)
        if replace_weights is not None:
            now = (
                stacked_coefficients(engines, units, last=True),
                intercepts_of(engines, units, last=True),
            )
            weights, offsets = replace_weights(*now)
            check_frozen_intercept(settings, "intercept_init", offsets)
            plan.check_start("coef_init", weights)
            load_all(engines, weights, offsets, units)
        if goes_on:
            warnings = _warnings_about(engines, plan)
    if outputs is not None:
        if sum(outputs) != n_outputs or min(outputs) < 1:
            raise ValueError(f"the engines of the checkpoint do not have {n_outputs} outputs")
        joined = _is_joined(plan, n_outputs)
        engines = [plan.new_engine(n_features, number if joined else None) for number in outputs]
    return engines, warnings


def _engines_of(
    model: Model, plan: Plan, units: Units | None, n_features: int, n_outputs: int
) -> list[Engine]:
    """New engines for a fit that continues from a model."""
    known = outputs_of(model.engines)
    if known != n_outputs or model.engines[0].n_features != n_features:
        raise ValueError(
            f"warm_start=True continues a model of {known} output(s) with "
            f"{model.engines[0].n_features} features, but these data make {n_outputs} "
            f"with {n_features}; fit them with warm_start=False"
        )
    engines = _divided(model.engines, plan, n_outputs)
    if units is not model.units:
        return _as_passed(engines, model.units, plan)
    return [_restarted(engine, model.engine_kind, plan) for engine in engines]


def engines_for_pass(
    plan: Plan, n_outputs: int, units: Units | None, model: Model
) -> tuple[list[Engine], list[Warning]]:
    """The engines with which ``partial_fit`` continues ``model``; changes nothing."""
    kind = plan.engine_kind
    engines = _divided(model.engines, plan, n_outputs)
    if units is not model.units:
        engines = _as_passed(engines, model.units, plan)
    elif model.engine_kind != kind or engines is not model.engines:
        engines = [plan.continued(engine) for engine in engines]
    return engines, _warnings_about(engines, plan)


def _is_joined(plan: Plan, n_outputs: int) -> bool:
    """Whether the plan gives several outputs to one engine."""
    return plan.coupled or (n_outputs > 1 and joins_outputs(plan.rule, plan.rates_from_data))


def _divided(engines: list[Engine], plan: Plan, n_outputs: int) -> list[Engine]:
    """The engines of a model, divided among the outputs as the plan divides them.

    Any division of outputs that share no norm and no loss gives the same bits.
    """
    joined = _is_joined(plan, n_outputs)
    if not (plan.coupled and len(engines) > 1) and all(
        isinstance(engine, OutputsEngine) == joined for engine in engines
    ):
        return engines
    rows = np.concatenate([engine.coefficients(last=True) for engine in engines])
    offsets = np.concatenate([engine.intercepts(last=True) for engine in engines])
    new = plan.new_engines(rows.shape[1], n_outputs)
    load_all(new, rows, offsets, None)
    return new


def _as_passed(engines: Sequence[Engine], units: Units | None, plan: Plan) -> list[Engine]:
    """New engines for rows as they were passed, from ``engines`` that have learned in ``units``."""
    assert units is not None, "the engines have learned in units"
    new, first = [], 0
    for engine in engines:
        part = units.of_outputs(first, engine.n_outputs)
        weights = part.weights(engine.coefficients(last=True))
        new.append(plan.new_like(engine))
        new[-1].load_coefficients(
            weights, part.intercept(weights[:, part.moved], engine.intercepts(last=True))
        )
        first += engine.n_outputs
    return new


def _restarted(engine: Engine, kind: EngineKind, plan: Plan) -> Engine:
    """A new engine for a fit that starts from ``engine``, an engine of ``kind``.

    A rule whose rates follow from its own sums of gradients continues from these sums; with the
    weights alone its first steps would be as long as those of a model that knows nothing.
    """
    if not (plan.rule.continues and kind == plan.engine_kind):
        return plan.continued(engine)
    new = plan.new_like(engine)
    new.set_state(engine.state())
    new.retune(plan.constants())
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
    engines = plan.new_engines(n_features, n_outputs, settings.n_threads)
    same = [item.n_outputs for item in engines] == [item.n_outputs for item in model.engines]
    if plan.rates_from_data and same:
        for engine, old in zip(engines, model.engines, strict=True):
            engine.continue_rates(old)
    units = model.units if settings.standardises else None
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
