"""A model whose weights are kept by engines: begun, gone on with, read and replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from lazynet.data.standardise import Units
from lazynet.engines.base import Engine, refuse_overflow
from lazynet.engines.outputs import OutputsEngine
from lazynet.estimators.planning import PlannedModel, allowed_threads, has_scale, workers_for
from lazynet.estimators.stacked import (
    intercepts_of,
    load_all,
    outputs_of,
    stacked_rows,
    stacked_sparse_rows,
)
from lazynet.estimators.warnings import Rate
from lazynet.parameters import as_array
from lazynet.persistence.attributes import (
    anything,
    attributes,
    flag,
    generator,
    integer,
    optional,
    real,
    records,
    sequence,
    units,
)
from lazynet.persistence.checkpoints import Keeper
from lazynet.schedules import Schedule
from lazynet.training.epochs import EpochRecord
from lazynet.training.loop import Run
from lazynet.training.plan import Plan
from lazynet.training.state import engines_of

# What initial weights must be.
_NUMBERS = "must hold numbers"

# Why a model that was loaded from a file cannot learn.
_ONLY_PREDICTS = (
    "this model was saved with training_state=False, so it predicts and cannot go on learning: "
    "save it with training_state=True, or train it anew with fit and warm_start=False"
)


class _ToLearn:
    """An attribute of a model that can go on learning."""

    def __set_name__(self, kind: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, kind: type) -> Any:
        # Reached only where the model itself has no such attribute.
        if model is not None and "_coefficients" in vars(model):
            raise ValueError(_ONLY_PREDICTS)
        raise AttributeError(f"{kind.__name__!r} object has no attribute {self.name!r}")


class EnginesModel(PlannedModel):
    """A model whose weights are kept by engines, and what it is before, between and after calls."""

    # Set by training.
    n_iter_: int
    best_epoch_: int
    t_: int
    eta0_: float
    l1_: float
    #: the units in which the engines have learned; None for those of the rows
    units_: Units | None = None
    history_: list[EpochRecord]
    _engines: list[Engine] = _ToLearn()  # type: ignore[assignment]
    _storage: tuple[Any, ...] = _ToLearn()  # type: ignore[assignment]
    _sparse_rows: sparse.csr_matrix | None = None
    #: whether a model without engines predicts with averages, whose last weights are not known
    _averaged: bool = True
    #: the scale of the rates; None as long as the rates have none
    _scale: float | None = None
    #: the schedule that the last fit began with, and the schedule that it ended with
    _schedules: tuple[Schedule, Schedule] | None = None
    _saved = attributes(
        n_iter_=integer,
        best_epoch_=integer,
        t_=integer,
        eta0_=real,
        l1_=real,
        units_=optional(units),
        history_=records,
        _averaged=flag,
    )
    _saved_to_learn = attributes(
        _engines=anything,
        _storage=sequence(tuple, *[anything] * 7),
        _generator=optional(generator),
        _scale=optional(real),
        _schedules=optional(sequence(tuple, anything, anything)),
    )

    def _first_engines(
        self,
        p: SimpleNamespace,
        plan: Plan,
        n_features: int,
        n_problems: int,
        units: Units | None,
    ) -> list[Engine]:
        """The engines that ``fit`` begins with."""
        if not (p.warm_start and self.__sklearn_is_fitted__()):
            return plan.new_engines(n_features, n_problems, allowed_threads(p))
        known = outputs_of(self._engines)
        if known != n_problems or self._engines[0].n_features != n_features:
            raise ValueError(
                f"warm_start=True continues a model of {known} problem(s) with "
                f"{self._engines[0].n_features} features, but these data make {n_problems} "
                f"with {n_features}; fit them with warm_start=False"
            )
        engines = self._divided(plan, n_problems)
        if units is not self.units_:
            return self._as_given(engines, plan)
        return [plan.restarted(engine, self._storage) for engine in engines]

    def _begun(
        self,
        p: SimpleNamespace,
        plan: Plan,
        n_features: int,
        n_problems: int,
        units: Units | None,
        coef_init: Any,
        intercept_init: Any,
        keeper: Keeper,
    ) -> tuple[list[Engine], list[Warning]]:
        """The engines that ``fit`` begins or goes on with, and the warnings about its start."""
        given = coef_init is not None or intercept_init is not None
        saved = keeper.peek("training")
        warnings: list[Warning] = []
        engines: list[Engine] = []
        if saved is None or given or p.warm_start:
            engines = self._first_engines(p, plan, n_features, n_problems, units)
            if given:
                self._load_initial(p, engines, coef_init, intercept_init, units)
            warnings = doubts_about_start(engines, plan) if given or p.warm_start else []
        if saved is not None:
            engines = engines_of(saved, plan.new_engines(1, n_problems), n_features)
        return engines, warnings

    def _start_to_tell(
        self, p: SimpleNamespace, coef_init: Any, intercept_init: Any
    ) -> dict[str, Any]:
        """The weights that a fit starts from, for a checkpoint to compare."""
        given = {"coef_init": coef_init, "intercept_init": intercept_init}
        found = {
            name: each if each is None or sparse.issparse(each) else as_array(name, _NUMBERS, each)
            for name, each in given.items()
        }
        if p.warm_start and self.__sklearn_is_fitted__():
            states = [engine.state() for engine in self._engines]
            found["the model before this call"] = [
                {**state.per_weight, **state.scalars, **state.tables} for state in states
            ]
        return found

    def _divided(self, plan: Plan, n_problems: int) -> list[Engine]:
        """The engines of the model, divided among the outputs as the plan divides them."""
        if self._suits(plan, n_problems):
            return self._engines
        rows = np.concatenate([engine.rows(last=True) for engine in self._engines])
        offsets = np.concatenate([engine.intercepts for engine in self._engines])
        engines = plan.new_engines(rows.shape[1], n_problems)
        load_all(engines, rows, offsets, None)
        return engines

    def _as_given(self, engines: Sequence[Engine], plan: Plan) -> list[Engine]:
        """New engines that go on from the models of ``engines``, on rows as they are given."""
        assert self.units_ is not None, "the engines have learned in units"
        found, first = [], 0
        for engine in engines:
            units = self.units_.of_outputs(first, engine.n_outputs)
            weights = units.weights(engine.rows(last=True))
            new = plan.new_like(engine)
            new.load_rows(weights, units.intercept(weights[:, units.moved], engine.intercepts))
            found.append(new)
            first += engine.n_outputs
        return found

    def _suits(self, plan: Plan, n_problems: int) -> bool:
        """Whether the plan learns from the outputs as they are divided among the engines.

        Any division of outputs that share no norm and no loss gives the same bits.
        """
        coupled = plan.softmax or plan.group is not None
        joined = coupled or (n_problems > 1 and plan.joins_outputs)
        alike = all(isinstance(engine, OutputsEngine) == joined for engine in self._engines)
        return alike and not (coupled and len(self._engines) > 1)

    def _load_initial(
        self,
        p: SimpleNamespace,
        engines: list[Engine],
        coef: Any,
        intercept: Any,
        units: Units | None,
    ) -> None:
        """Let the engines start from weights that the user gives."""
        shape = outputs_of(engines), engines[0].n_features
        now = stacked_rows(engines, units, last=True)
        rows = self._start(coef, "coef_init", shape, now)
        own = intercepts_of(engines, units, last=True)
        offsets = self._start(intercept, "intercept_init", own.shape, own)
        check_frozen_intercept(p, "intercept_init", offsets)
        p.plan.check_start("coef_init", rows)
        load_all(engines, rows, offsets, units)

    def _keep_trained(
        self, p: SimpleNamespace, engines: list[Engine], run: Run, units: Units | None, eta0: float
    ) -> None:
        """Keep the engines and what the run has come to; refuses a model that is not finite."""
        self._coefficients: NDArray[np.float64] | None = None
        self._sparse_rows = None
        if self._sparse_coef:
            with workers_for(p, len(engines)) as workers:
                self._sparse_rows = stacked_sparse_rows(engines, units, workers)
            numbers = self._sparse_rows.data
        else:
            self._coefficients = numbers = stacked_rows(engines, units)
        intercepts = intercepts_of(engines, units)
        refuse_overflow(run.t, engines[0].advice, numbers, intercepts)
        self._engines, self._storage, self.units_ = engines, p.plan.storage, units
        self.t_, self.history_ = run.t, run.history
        self.eta0_, self.l1_ = present_rate(engines, eta0), p.l1
        self._scale = eta0 if has_scale(p) else None
        self.n_iter_, self.best_epoch_ = len(run.history), run.best_epoch

    def _rate(self) -> Rate:
        return Rate(self.eta0_, in_units=self.units_ is not None)

    def _engines_are_here(self) -> bool:
        """Whether the model has engines; one that was loaded to predict has none."""
        return "_engines" in self.__dict__

    def _dense_coef(self) -> NDArray[np.float64]:
        if self._coefficients is None:
            self._coefficients = stacked_rows(self._engines, self.units_)
        return super()._dense_coef()

    def _raw_coef(self) -> Any:
        if not self._sparse_coef or not self._engines_are_here():
            return super()._raw_coef()
        if self._sparse_rows is None:
            self._sparse_rows = stacked_sparse_rows(self._engines, self.units_)
        return self._sparse_rows

    def _also_saved(self) -> dict[str, Any]:
        if "_engines" not in self.__dict__:
            return {}
        return {"_averaged": any(engine.averaging for engine in self._engines)}

    def _coef_at(self, columns: NDArray[Any]) -> NDArray[np.float64]:
        if not self._engines_are_here():
            return super()._coef_at(columns)
        found = np.vstack([engine.rows_at(columns) for engine in self._engines])
        return found if self.units_ is None else self.units_.weights(found, columns)

    def _intercepts(self) -> NDArray[np.float64]:
        if not self._engines_are_here():
            return self._offsets
        own = np.concatenate([engine.model_intercepts for engine in self._engines])
        if self.units_ is None:
            return own
        moved = self.units_.moved
        known = self._coefficients
        found = self.units_.intercept(
            known[:, moved] if isinstance(known, np.ndarray) else self._coef_at(moved), own
        )
        return np.asarray(found, dtype=np.float64)

    def _load(self, coefficients: NDArray[np.float64], intercepts: NDArray[np.float64]) -> None:
        # New engines: the model keeps the old ones until this call is done.
        p = self._settle()
        check_frozen_intercept(p, "intercept_", intercepts)
        p.plan.check_start("coef_", coefficients)
        if len(coefficients) == 1:
            p.plan = replace(p.plan, softmax=False)
        engines = p.plan.new_engines(coefficients.shape[1], len(coefficients), allowed_threads(p))
        same = [each.n_outputs for each in engines] == [each.n_outputs for each in self._engines]
        if p.plan.adaptive and same:
            for engine, old in zip(engines, self._engines, strict=True):
                engine.continue_rates(old)
        units = self.units_ if p.chooses_units else None
        load_all(engines, coefficients, intercepts, units)
        self._engines, self._storage, self.units_ = engines, p.plan.storage, units
        self._coefficients = self._sparse_rows = None

    @property
    def last_coef_(self) -> Any:
        """The weights after the last step, of the shape of ``coef_``.

        Without an average these are the same numbers as ``coef_``.  Under an l1 penalty the last
        weights are sparse and their averages are not: an average remembers every iterate.
        """
        check_is_fitted(self)
        if not self._averages():
            return self._shaped(self._dense_coef())
        return self._shaped(stacked_rows(self._engines, self.units_, last=True))

    def _averages(self) -> bool:
        """Whether the model predicts with averages."""
        if "_engines" not in self.__dict__ and not self._averaged:
            return False
        return any(engine.averaging for engine in self._engines)

    @property
    def last_intercept_(self) -> NDArray[np.float64]:
        """The intercept of each row of ``last_coef_``."""
        check_is_fitted(self)
        if not self._averages():
            return self._intercepts()
        return intercepts_of(self._engines, self.units_, last=True)

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Which weights are not zero after the last step: an array of the shape of ``coef_``."""
        return self.last_coef_ != 0.0


def present_rate(engines: list[Engine], eta0: float) -> float:
    """The scale of the rates after training: ``eta0``, unless the rates follow the data."""
    rate = engines[0].present_rate
    return eta0 if rate is None else rate


def check_frozen_intercept(p: SimpleNamespace, name: str, intercepts: NDArray[np.float64]) -> None:
    """Refuse an intercept that a rule with rates of its own would not train with."""
    if not p.fit_intercept and not p.rule.scheduled and intercepts.any():
        raise ValueError(
            f"{name} must be 0 with rule={p.rule!r} and fit_intercept=False: the rule trains "
            f"without an intercept"
        )


def doubts_about_start(engines: list[Engine], plan: Plan) -> list[Warning]:
    """The warning to the user before these engines go on, one for all problems; or no warning."""
    found = [engine.doubt_about(plan.settings) for engine in engines]
    warnings: list[Warning] = [UserWarning(doubt) for doubt in found if doubt is not None]
    return warnings[:1]
