"""The engines that a fit or ``partial_fit`` starts from: new ones, or those of an earlier call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.data.standardise import Units
from lazynet.engines.base import Engine
from lazynet.engines.catalogue import EngineKind
from lazynet.engines.outputs import OutputsEngine
from lazynet.engines.stacked import intercepts_of, load_all, outputs_of, stacked_rows
from lazynet.schedules import Schedule
from lazynet.training.plan import Plan
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
    scale: float | None
    #: the schedule that the fit began with, and the schedule that it ended with
    schedules: tuple[Schedule, Schedule] | None
    generator: np.random.RandomState | None


def engines_for_fit(
    settings: Settings,
    plan: Plan,
    n_features: int,
    n_outputs: int,
    units: Units | None,
    model: Model | None,
    replace: Replace | None,
) -> tuple[list[Engine], list[Warning]]:
    """The engines that ``fit`` starts from, and the warnings about the start."""
    if not (settings.warm_start and model is not None):
        engines = plan.new_engines(n_features, n_outputs, settings.n_threads)
    else:
        known = outputs_of(model.engines)
        if known != n_outputs or model.engines[0].n_features != n_features:
            raise ValueError(
                f"warm_start=True continues a model of {known} problem(s) with "
                f"{model.engines[0].n_features} features, but these data make {n_outputs} "
                f"with {n_features}; fit them with warm_start=False"
            )
        engines = _divided(model.engines, plan, n_outputs)
        if units is not model.units:
            engines = _as_passed(engines, model.units, plan)
        else:
            engines = [plan.restarted(engine, model.engine_kind) for engine in engines]
    if replace is not None:
        now = stacked_rows(engines, units, last=True), intercepts_of(engines, units, last=True)
        rows, offsets = replace(*now)
        check_frozen_intercept(settings, "intercept_init", offsets)
        plan.check_start("coef_init", rows)
        load_all(engines, rows, offsets, units)
    if replace is not None or settings.warm_start:
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
    if units is not model.units:
        engines = _as_passed(_divided(model.engines, plan, n_outputs), model.units, plan)
    elif model.engine_kind == kind and _suits(model.engines, plan, n_outputs):
        engines = model.engines
    else:
        same_average = model.engine_kind.average == kind.average
        divided = _divided(model.engines, plan, n_outputs)
        engines = [plan.continued(engine, average=same_average) for engine in divided]
    return engines, _warnings_about(engines, plan)


def _divided(engines: list[Engine], plan: Plan, n_outputs: int) -> list[Engine]:
    """The engines of a model, divided among the outputs as the plan divides them."""
    if _suits(engines, plan, n_outputs):
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


def _suits(engines: Sequence[Engine], plan: Plan, n_outputs: int) -> bool:
    """Whether the plan divides the outputs among engines in the same way.

    Any division of outputs that share no norm and no loss gives the same bits.
    """
    joined = plan.coupled or (n_outputs > 1 and plan.joins_outputs)
    alike = all(isinstance(engine, OutputsEngine) == joined for engine in engines)
    return alike and not (plan.coupled and len(engines) > 1)


def check_frozen_intercept(settings: Settings, name: str, intercepts: Array) -> None:
    """Refuse an intercept that a rule with rates of its own would not train with."""
    if not settings.fit_intercept and not settings.rule.scheduled and intercepts.any():
        raise ValueError(
            f"{name} must be 0 with rule={settings.rule!r} and fit_intercept=False: the rule "
            f"trains without an intercept"
        )


def _warnings_about(engines: Sequence[Engine], plan: Plan) -> list[Warning]:
    """The warning before these engines go on, one for all problems; or no warning."""
    texts = [engine.doubt_about(plan.settings) for engine in engines]
    warnings: list[Warning] = [UserWarning(text) for text in texts if text is not None]
    return warnings[:1]


def present_rate(engines: Sequence[Engine], eta0: float) -> float:
    """The scale of the rates after training: ``eta0``, unless the rates follow the data."""
    rate = engines[0].present_rate
    return eta0 if rate is None else rate
