"""LazyNetClassifier and LazyNetRegressor: every rule of the catalogue, on any X, y and stream."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import log_expit, log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lazynet.averages import AVERAGE, AverageLike
from lazynet.catalogue import RuleLike, check_rule
from lazynet.checks.verify import LARGEST_EPOCHS, VerificationReport, affordable_rows, verify
from lazynet.course import engines_of
from lazynet.data import as_examples, check_order, sizes_of, touched_columns, unusable
from lazynet.defaults import (
    AUTO,
    N_ITER_NO_CHANGE,
    RULE_OR_AUTO,
    SCHEDULE_OR_AUTO,
    TOL,
    VALIDATION_FRACTION,
    follows_targets,
    found_epochs,
    found_l1,
    is_auto,
    resolved_rule,
    resolved_schedule,
    takes_units,
)
from lazynet.engines.base import Engine, refuse_overflow
from lazynet.engines.learned import Gathering, LearnedOutputs
from lazynet.engines.outputs import OutputsEngine
from lazynet.estimators.base import (
    SparseClassifier,
    SparseLinear,
    SparseRegressor,
    helpful,
    suitable_rate,
)
from lazynet.estimators.from_sources import SourceRows, check_call, orders_of, plan_for
from lazynet.estimators.parts import PartsDone
from lazynet.forms import FORM, FormLike
from lazynet.importances import (
    CLASS_WEIGHT,
    Balanced,
    ClassWeightLike,
    check_classes,
    check_labels,
    check_sample_weight,
    importances,
)
from lazynet.losses import LOSS, LossLike, get_loss
from lazynet.memory import WEIGHT_BYTES, Estimate, available_bytes
from lazynet.models.attributes import (
    anything,
    attributes,
    flag,
    generator,
    integer,
    optional,
    real,
    records,
    sequence,
    text,
    units,
)
from lazynet.models.checkpoints import EVERY, Keeper, keeper_of
from lazynet.models.scattered import Later, SparseRows, WhenAsked
from lazynet.params import (
    EPOCHS_OR_NONE,
    FLAG,
    STRENGTH,
    THREADS,
    VERBOSITY,
    Choice,
    Integer,
    Number,
    as_array,
    check_array,
    check_integer,
    check_n_steps,
    table,
)
from lazynet.problems import Classes, Columns, Labels, Problems, checked_indicator
from lazynet.schedules import Adaptive, Schedule, ScheduleLike, needs_scale
from lazynet.seeds import SEED, new_generator
from lazynet.stalls import NOTHING_LEARNED, Verdict, look_closely, loss_of_constants, still_falls
from lazynet.streams.chunks import Chunk
from lazynet.streams.source import Source
from lazynet.surveys import Survey
from lazynet.threads import Workers
from lazynet.training import (
    AnyLearner,
    Epoch,
    EpochRecord,
    Orders,
    Plan,
    Run,
    Stopping,
    check_rate_parameters,
    new_learners,
    run_pass,
    spans,
    train,
)
from lazynet.transactions import all_or_nothing, at_rest
from lazynet.units import Units
from lazynet.validation import HeldOut, copied_rows, split

Callback = Callable[[Epoch], Any]

#: The kind of the parameter ``dtype``.
DTYPE = Choice(accepted=("float64", "float32"))
#: The kind of the parameter ``outputs_at_once``.
PARTS = Integer(least=1, optional=True)

#: The forms of y with a column per label of which predictions and weights are sparse.
_SPARSE_FORMS = ("sparse matrix", "sparse array")
#: The size of a row that the l1 of a fit follows where no l1 is given.
_NORMS = "squared_norms"

# What initial weights must be.
_NUMBERS = "must hold numbers"

# Why a model that was loaded from a file cannot learn.
_ONLY_PREDICTS = (
    "this model was saved with training_state=False, so it predicts and cannot go on learning: "
    "save it with training_state=True, or train it anew with fit and warm_start=False"
)


class _ElasticNetModel(SparseLinear):
    """The parameters, the training and the engines that classifier and regressor share."""

    _kinds = table(
        loss=LOSS,
        l1=Number(least=0, optional=True),
        l2=STRENGTH,
        rule=RULE_OR_AUTO,
        schedule=SCHEDULE_OR_AUTO,
        eta0=Number(above=0, optional=True),
        engine=FORM,
        average=AVERAGE,
        max_iter=EPOCHS_OR_NONE,
        tol=Number(least=0, optional=True),
        n_iter_no_change=Integer(least=1),
        early_stopping=FLAG,
        validation_fraction=Number(above=0, below=1),
        fit_intercept=FLAG,
        positive=FLAG,
        batch_size=Integer(least=1),
        group=Choice(accepted=("l2", "max"), optional=True),
        shuffle=FLAG,
        random_state=SEED,
        warm_start=FLAG,
        record_objective=FLAG,
        verbose=VERBOSITY,
    )

    # Set by training.
    n_iter_: int
    best_epoch_: int
    t_: int
    eta0_: float
    l1_: float
    #: the units in which the engines have learned; None for those of the rows
    units_ = WhenAsked[Units | None]()
    history_: list[EpochRecord]
    _engines = WhenAsked[list[Engine]](_ONLY_PREDICTS)
    _storage = WhenAsked[tuple[Any, ...]](_ONLY_PREDICTS)
    #: whether a model without engines predicts with averages, whose last weights are not known
    _averaged: bool = True
    #: the scale of the rates; None as long as the rates have none
    _scale: float | None = None
    #: the schedule that the last fit began with, and the schedule that it ended with
    _schedules: tuple[Schedule, Schedule] | None = None
    _changed_in_place = ("_engines", "_generator")
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

    schedule: ScheduleLike
    rule: RuleLike

    # --- the plan -------------------------------------------------------------------------

    def _settle(self) -> SimpleNamespace:
        """The parameters as plain values, with the ``plan`` that follows from them."""
        p = super()._settle()
        p.finds_l1 = p.l1 is None
        if p.finds_l1:
            p.l1 = getattr(self, "l1_", 0.0) if p.engine.takes_l1 else 0.0
        p.rule = resolved_rule(
            p.rule,
            p.schedule,
            eta0=p.eta0,
            form=p.engine,
            average=p.average,
            loss=p.loss,
            classifies=self._takes_margin_losses,
            positive=p.positive,
            group=p.group,
        )
        check_rate_parameters(p.rule, self.schedule, p.eta0, default=AUTO)
        p.schedule = resolved_schedule(
            p.schedule,
            p.rule,
            eta0=p.eta0,
            form=p.engine,
            batch_size=p.batch_size,
            group=p.group,
        )
        p.plan = Plan.of(p)
        p.chooses_units = p.finds_l1 and not p.l2 and p.plan.sizes is not None
        return p

    def _find_units(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        problems: Problems,
        rows: NDArray[np.int64] | None = None,
    ) -> Units | None:
        """The units in which a fit learns; None for those of the rows.

        A penalty that is given acts on the weights as they are, and a rate that is given belongs to
        the rows as they are.  A model that goes on learning keeps its units.
        """
        if not p.chooses_units:
            return None
        if p.warm_start and self.__sklearn_is_fitted__():
            return self.units_
        n_rows = X.shape[0] if rows is None else len(rows)
        if not takes_units(n_rows, X.shape[1], self._takes_margin_losses):
            return None
        units = Units.of(X, rows, centred=p.fit_intercept)
        # The other losses have a number in the units of the targets.
        if p.loss.name in ("squared_error", "absolute_error") and len(problems) > 1:
            assert isinstance(problems, Columns), "these losses are of numbers"
            numbers = problems.numbers if rows is None else problems.numbers[rows]
            units = units.with_targets(numbers)
        return units

    def _find_l1(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        problems: Problems,
        sizes: NDArray[np.float64] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Where no l1 is given, let the rows decide on it: all, or the ``rows`` to train on.

        ``sizes`` are the sizes of the rows that the rates follow, if they are known already.
        """
        if p.finds_l1 and p.engine.takes_l1:
            norms = sizes if p.plan.sizes == _NORMS else None
            norms = sizes_of(X, _NORMS) if norms is None else norms
            assert norms is not None, "a kind of size is named"
            if rows is not None:
                norms, problems = norms[rows], problems.only(rows)
            targets = problems.numbers_of_targets() if follows_targets(p.loss) else None
            self._take_l1(p, Survey.of(norms, targets, problems.importances))

    def _take_l1(self, p: SimpleNamespace, survey: Survey) -> None:
        """Take the l1 that suits the rows that were surveyed."""
        p.l1 = found_l1(survey, p.loss)
        # Two classes may have become one problem since the plan was made.
        p.plan = replace(Plan.of(p), softmax=p.plan.softmax)

    def _scale_of_rates(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix | Callable[[bool], float],
        weights: NDArray[np.float64] | None,
        rows: NDArray[np.int64] | None = None,
    ) -> float:
        """The given eta0, or the largest rate at which no gradient step on a row overshoots.

        ``rows`` are the rows to train on, None for all rows.  In place of X a function may tell the
        largest squared norm of a row, with or without the weights of rows.
        """
        if p.eta0 is not None:
            return float(p.eta0)
        if not p.rule.scheduled:
            find = partial(self._suitable_rate, p, X, weights, p.rule.rate, rows)
            return float(p.rule.rate_for(find))
        if not needs_scale(p.schedule):
            return float(getattr(p.schedule, "eta0", 1.0))
        # With a bounded slope training cannot diverge, however large an importance is; a rate
        # that suits one heavy example would only keep the other examples from learning.
        counts = weights if p.loss.unbounded_slope else None
        # The default rate must not be a rate that the rule refuses.
        largest = p.rule.largest_rate(p.plan.penalty) / 2 if not p.rule.has_state else np.inf
        return min(self._suitable_rate(p, X, counts, "eta0", rows), largest)

    def _suitable_rate(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix | Callable[[bool], float],
        counts: Any,
        given: str,
        rows: NDArray[np.int64] | None,
    ) -> float:
        """The largest rate at which no step on a row overshoots; ``given`` would replace it."""
        if callable(X):
            return suitable_rate(X(counts is not None), p.loss, given)
        if rows is not None:
            X, counts = copied_rows(X, rows), None if counts is None else counts[rows]
        norm = as_examples(X, None, counts).largest_squared_norm(float(p.fit_intercept))
        return suitable_rate(norm, p.loss, given)

    # --- training -------------------------------------------------------------------------

    def _learns_from_streams(self) -> bool:
        if is_auto(self.rule):
            return True
        try:
            rule = check_rule("rule", self.rule)
        except (TypeError, ValueError):
            return True  # partial_fit says what is wrong with the rule
        rule.check_streams("partial_fit")
        return True

    def _fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: Any,
        weights: NDArray[np.float64] | None,
        sample_order: ArrayLike | None,
        coef_init: ArrayLike | None,
        intercept_init: ArrayLike | None,
        callback: Callback | None,
        keeper: Keeper,
    ) -> list[Warning]:
        """Train anew; returns the warnings to give."""
        _check_callback(callback)
        order = check_order(sample_order, X.shape[0])
        if p.early_stopping and order is not None:
            raise ValueError(
                "sample_order cannot be given beside early_stopping=True, which chooses the rows "
                "to train on"
            )
        keeper.identify(
            self,
            p,
            lambda: {
                **{"X": X, "y": y, "sample_weight": weights, "sample_order": order},
                **self._start_to_tell(p, coef_init, intercept_init),
            },
        )
        draws = p.shuffle or p.early_stopping
        generator = new_generator(keeper.seed(p.random_state)) if draws else None
        problems = self._problems(X, y, weights)
        _let_two_classes_be_one_problem(p, problems)
        at_once = self._outputs_at_once(p, X.shape[1], len(problems))
        rows, held = None, None
        if p.early_stopping and generator is not None:
            strata = problems.codes if isinstance(problems, Classes) else None
            rows, held = split(X.shape[0], p.validation_fraction, generator, strata)
            _check_weights_of_parts(weights, rows, held)
        units = self._find_units(p, X, problems, rows)
        X, problems = _in_units(units, X, problems)
        n_rows = X.shape[0] if rows is None else len(rows)
        sizes = sizes_of(X, p.plan.sizes)
        self._find_l1(p, X, problems, sizes, rows)
        steps_of_an_epoch = p.plan.n_steps(n_rows if order is None else order.shape[-1])
        listed = None if order is None or order.ndim == 1 else len(order)
        if p.max_iter is None:
            p.max_iter = listed or found_epochs(n_rows, X.shape[1], self._takes_margin_losses)
        n_steps = check_n_steps("max_iter", p.max_iter, steps_of_an_epoch)
        eta0 = self._scale_of_rates(p, X, weights, rows)
        plan = p.plan.known(eta0, n_steps if p.tol is None else None)
        if p.tol is None and listed is not None and listed < p.max_iter:
            raise ValueError(f"sample_order has {listed} epochs, fewer than max_iter={p.max_iter}")
        touched = touched_columns(X) if _keeps_best(p) else None
        call = _Call(
            p, plan, eta0, X, sizes, units, order, rows, held, touched, generator, callback, keeper
        )
        if at_once < len(problems):
            engines, run, warnings = self._learn_in_parts(
                call, problems, at_once, coef_init, intercept_init
            )
            last_schedule = plan.schedule
        else:
            engines, warnings = self._begun(
                p, plan, X.shape[1], len(problems), units, coef_init, intercept_init, keeper
            )
            learners, run = _trained(call, engines, problems)
            last_schedule = learners[0].plan.schedule
        self._keep_trained(p, engines, run, units, eta0)
        self._generator = generator if p.shuffle else None
        self._schedules = plan.schedule, last_schedule
        if p.tol is not None and at_once == len(problems):
            warnings += self._doubts_about(p, X, problems, rows, learners, run)
        return warnings

    def _fit_source(
        self, p: SimpleNamespace, rows: SourceRows, coef_init: Any, intercept_init: Any,
        callback: Callback | None, keeper: Keeper,
    ) -> list[Warning]:  # fmt: skip
        """Train anew from the rows of a source; returns the warnings to give."""
        _check_callback(callback)
        keeper.identify(
            self,
            p,
            lambda: {**rows.told(), **self._start_to_tell(p, coef_init, intercept_init)},
        )
        X, problems = rows.first()
        _let_two_classes_be_one_problem(p, problems)
        p.chooses_units = False
        plan, eta0 = plan_for(self, p, rows)
        engines, warnings = self._begun(
            p, plan, X.shape[1], len(problems), None, coef_init, intercept_init, keeper
        )
        learners = new_learners(engines, X, problems, plan, sizes_of(X, plan.sizes))
        with _workers(p, len(learners)) as workers:
            run = train(
                learners,
                orders_of(rows),
                t=0,
                max_iter=p.max_iter,
                stopping=Stopping(p.tol, p.n_iter_no_change),
                record=False,
                verbose=p.verbose,
                callback=callback,
                columns=np.arange(X.shape[1]) if _keeps_best(p) else None,
                workers=workers,
                pass_over=rows.passes(learners, plan),
                keeper=keeper,
            )
        self._keep_trained(p, engines, run, None, eta0)
        self._generator = None
        self._schedules = plan.schedule, learners[0].plan.schedule
        losses = [line["progressive_loss"] for line in run.history]
        if p.tol is not None and not run.ended_early and still_falls(losses, losses[0]):
            warnings.append(self._unfinished(p, losses))
        return warnings

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
            warnings = _doubts(engines, plan) if given or p.warm_start else []
        if saved is not None:
            engines = engines_of(saved, plan.new_engines(1, n_problems), n_features)
        return engines, warnings

    def _keep_trained(
        self, p: SimpleNamespace, engines: list[Engine], run: Run, units: Units | None, eta0: float
    ) -> None:
        """Keep the engines and what the run has come to; refuses a model that is not finite."""
        self._coefficients: NDArray[np.float64] | None = None
        self._sparse_rows: sparse.csr_matrix | None = None
        if self._sparse_coef:
            self._sparse_rows = _sparse_stack(engines, units)
            numbers = self._sparse_rows.data
        else:
            self._coefficients = numbers = _stack(engines, units)
        intercepts = _intercepts_of(engines, units)
        refuse_overflow(run.t, engines[0].advice, numbers, intercepts)
        self._engines, self._storage, self.units_ = engines, p.plan.storage, units
        self.t_, self.history_ = run.t, run.history
        self.eta0_, self.l1_ = _present_rate(engines, eta0), p.l1
        self._scale = eta0 if _has_scale(p) else None
        self.n_iter_, self.best_epoch_ = len(run.history), run.best_epoch

    # --- one part of the outputs after the other ------------------------------------------

    def _outputs_at_once(self, p: SimpleNamespace, n_features: int, n_outputs: int) -> int:
        """How many outputs learn at the same time; tells and checks the memory that they take."""
        wanted = p.plan.at_once(p.outputs_at_once, n_outputs)
        if p.warm_start and self.__sklearn_is_fitted__():
            self._refuse_learned("warm_start=True")
            if wanted < n_outputs:
                raise ValueError(
                    f"outputs_at_once={p.outputs_at_once} does not go with warm_start=True, which "
                    f"goes on from the engines of all outputs: pass coef_init=model.coef_ and "
                    f"intercept_init=model.intercept_ with warm_start=False, or write "
                    f"outputs_at_once=None"
                )
        estimate = self._estimate(p, n_features, n_outputs, wanted)
        if p.verbose > 0 and n_outputs > 1:
            print(estimate.told())
        if not estimate.small:
            estimate.check(available_bytes(), self._what_takes_less(p, estimate))
        return wanted

    def _estimate(
        self, p: SimpleNamespace, n_features: int, n_outputs: int, at_once: int
    ) -> Estimate:
        """What a fit takes in memory while ``at_once`` outputs learn at the same time."""
        plan = p.plan
        part = at_once < n_outputs
        weights = n_features * plan.bytes_of_a_feature(at_once, _threads(p), part=part)
        judged = 0
        if p.early_stopping or p.record_objective:
            most = max(each.n_outputs for each in plan.new_engines(0, at_once, _threads(p)))
            judged = WEIGHT_BYTES * n_features * most
        coef = None
        if not self._sparse_coef:
            # The last weights of parts that are done are kept beside their averages.
            kinds = 1 + (part and plan.average is not None)
            coef = WEIGHT_BYTES * n_features * n_outputs * kinds
        best = weights if _keeps_best(p) and p.max_iter != 1 else 0
        return Estimate(n_outputs, n_features, at_once, plan.dtype, weights, best, coef, judged)

    def _what_takes_less(self, p: SimpleNamespace, estimate: Estimate) -> str:
        """What to do where a fit takes too much memory."""
        plan, ways = p.plan, []
        if estimate.n_outputs > 1:
            fewest = estimate.at_once if plan.coupled else plan.at_once(1, estimate.n_outputs)
            least = estimate.n_features * plan.bytes_of_a_feature(fewest, part=True)
            if least < estimate.weights:
                ways.append("let fewer outputs learn at the same time by outputs_at_once=...")
            if plan.joins_outputs and plan.average is None and plan.dtype != "float32":
                ways.append("write dtype='float32'")
        if _keeps_best(p):
            keeps = "tol=None and early_stopping=False" if p.early_stopping else "tol=None"
            ways.append(f"write {keeps}, which keeps no copy of the best epoch")
        if getattr(self, "_labels_given", None) == "dense" and estimate.coef is not None:
            ways.append("give y as a sparse matrix, which makes coef_ sparse")
        ways.append("take fewer features, for instance by hashing them")
        return ", or ".join(ways)

    def _learn_in_parts(
        self, call: _Call, problems: Problems, at_once: int, coef_init: Any, intercept_init: Any
    ) -> tuple[list[Engine], Run, list[Warning]]:
        """Train ``at_once`` outputs after the other; returns their weights as one engine."""
        n_outputs, n_features = len(problems), call.X.shape[1]
        coef = _initial("coef_init", coef_init, (n_outputs, n_features))
        intercept = _initial("intercept_init", intercept_init, (n_outputs,))
        gathering = Gathering(n_outputs, n_features, as_sparse=self._sparse_coef)
        done = PartsDone(gathering, call.generator)
        done.go_on_from(call.keeper.found("parts"), n_outputs)
        with call.keeper.following("parts", done.written):
            for first, stop in spans(n_outputs, at_once, done.n_outputs):
                part, some = call.of(range(first, stop)), slice(first, stop)
                if call.p.verbose > 0:
                    print(f"outputs {first + 1:,} to {stop:,} of {n_outputs:,}")
                start = [None if each is None else each[some] for each in (coef, intercept)]
                found = self._learn_part(part, problems.part(range(first, stop)), gathering, *start)
                done.take(*found, part.generator)
        if call.generator is not None and done.farthest is not None:
            call.generator.set_state(done.farthest.get_state())
        # A hundred parts may doubt the same.
        return [gathering.done()], done.whole(), done.warnings[:1]

    def _learn_part(
        self, call: _Call, problems: Problems, gathering: Gathering, coef: Any, intercept: Any
    ) -> tuple[Run, list[Warning]]:
        """Train some outputs and hand over their weights; no engine outlives this call."""
        p, plan = call.p, call.plan
        n_features = call.X.shape[1]
        saved = call.keeper.peek("training")
        warnings: list[Warning] = []
        engines: list[Engine] = []
        if saved is None or coef is not None or intercept is not None:
            engines = plan.new_engines(n_features, len(problems), _threads(p), part=True)
        if coef is not None or intercept is not None:
            self._load_initial(p, engines, coef, intercept, call.units)
            warnings = _doubts(engines, plan)
        if saved is not None:
            blank = plan.new_engines(1, len(problems), part=True)
            engines = engines_of(saved, blank, n_features)
        learners, run = _trained(call, engines, problems)
        refuse_overflow(run.t, engines[0].advice, *gathering.take(engines))
        if p.tol is not None:
            # A warning names the rate.
            self.units_, self.eta0_ = call.units, _present_rate(engines, call.eta0)
            warnings += self._doubts_about(p, call.X, problems, call.rows, learners, run)
        return run, warnings

    def _refuse_learned(self, what: str) -> None:
        """Refuse to go on from a fit that has kept no engines."""
        if any(isinstance(engine, LearnedOutputs) for engine in self._engines):
            raise ValueError(
                f"{what} goes on from the engines of all outputs, and a fit with outputs_at_once "
                f"keeps their weights alone: assign model.coef_ = model.coef_ to make engines "
                f"that begin anew from these weights, or fit with outputs_at_once=None"
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
            return plan.new_engines(n_features, n_problems, _threads(p))
        known = _n_outputs(self._engines)
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

    def _divided(self, plan: Plan, n_problems: int) -> list[Engine]:
        """The engines of the model, divided among the outputs as the plan divides them."""
        if self._suits(plan, n_problems):
            return self._engines
        rows = np.concatenate([engine.rows(last=True) for engine in self._engines])
        offsets = np.concatenate([engine.intercepts for engine in self._engines])
        engines = plan.new_engines(rows.shape[1], n_problems)
        _load_all(engines, rows, offsets, None)
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
        shape = _n_outputs(engines), engines[0].n_features
        now = _stack(engines, units, last=True)
        rows = self._start(coef, "coef_init", shape, now)
        own = _intercepts_of(engines, units, last=True)
        offsets = self._start(intercept, "intercept_init", own.shape, own)
        _check_frozen_intercept(p, "intercept_init", offsets)
        p.plan.check_start("coef_init", rows)
        _load_all(engines, rows, offsets, units)

    def _doubts_about(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        problems: Problems,
        rows: NDArray[np.int64] | None,
        learners: Sequence[AnyLearner],
        run: Run,
    ) -> list[Warning]:
        """The warnings after a fit that has not learned, or was still learning fast at the end."""
        constant = loss_of_constants(problems, p.plan)
        kept = run.history[run.best_epoch]["progressive_loss"]
        if kept >= NOTHING_LEARNED * constant and not p.plan.softmax:
            found = look_closely(learners, X, problems, rows)
            if found.too_small or found.too_large:
                return [self._stalled(p, found, kept, constant)]
        judged = [line.get("validation_loss", line["progressive_loss"]) for line in run.history]
        if not run.ended_early and still_falls(judged, constant):
            return [self._unfinished(p, judged)]
        return []

    def _stalled(self, p: SimpleNamespace, found: Verdict, kept: float, constant: float) -> Warning:
        """The warning after a fit whose rates were too small or too large to learn anything."""
        rate, size = self._rate_of(p, found.too_small), "small" if found.too_small else "large"
        told = (
            f"training has stalled: the mean loss of the predictions is {kept:.3g}, and the best "
            f"constant prediction has {constant:.3g}. "
        )
        if found.too_small and found.giant:
            told += (
                f"Row {found.longest} of X is {found.times:.3g} times as long as the median row; "
                f"a rate that suits it is too small for the other rows. Scale this row or leave "
                f"it out, or give {rate}."
            )
        else:
            told += f"The rates are too {size}: give {rate}."
        return ConvergenceWarning(told)

    def _rate_of(self, p: SimpleNamespace, larger: bool) -> str:
        """What to give for larger or for smaller rates."""
        # A rate that is given belongs to rows as they are.
        now = "" if self.units_ is not None else f" (which is {self.eta0_:.3g})"
        if p.rule.scheduled:
            size = "larger" if larger else "smaller"
            return f"a {size} eta0{now}" if _has_scale(p) else f"{size} rates by schedule"
        parameter = p.rule.rate.partition("(")[2].partition("=")[0]
        # The rates of dual averaging fall with gamma.
        size = "larger" if larger == (parameter != "gamma") else "smaller"
        # eta0_ is alpha where the rule has one.
        told = now if parameter == "alpha" else ""
        return f"a {size} {parameter}{told}, by rule={p.rule.rate}"

    def _unfinished(self, p: SimpleNamespace, losses: Sequence[float]) -> Warning:
        """The warning after a fit whose loss still fell fast in its last epoch."""
        share = 1.0 - losses[-1] / losses[-2]
        return ConvergenceWarning(
            f"the loss still fell by {share:.0%} in the last of max_iter={p.max_iter} epochs; "
            f"raise max_iter, or give {self._rate_of(p, larger=True)}"
        )

    def _fit_on(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: Any,
        weights: NDArray[np.float64] | None,
        sample_order: ArrayLike | None,
    ) -> list[Warning]:
        """Go on training with one pass over X; returns the warnings to give."""
        # The rule may have been replaced since the method was looked up.
        p.rule.check_streams("partial_fit")
        problems = self._problems(X, y, weights)
        _let_two_classes_be_one_problem(p, problems)
        begun = self.__sklearn_is_fitted__()
        if begun:
            self._refuse_learned("partial_fit")
        if p.plan.at_once(p.outputs_at_once, len(problems)) < len(problems):
            raise ValueError(
                f"outputs_at_once={p.outputs_at_once} is for fit: partial_fit trains all "
                f"{len(problems)} outputs on every row; write outputs_at_once=None"
            )
        units = self.units_ if begun and p.chooses_units else None
        X, problems = _in_units(units, X, problems)
        # The first call decides on the scale of the rates where the parameters leave it open.
        kept = self._scale if begun and p.eta0 is None and needs_scale(p.schedule) else None
        eta0 = self._scale_of_rates(p, X, weights) if kept is None else kept
        plan = p.plan.known(eta0, None)
        if begun and self._schedules is not None and isinstance(plan.schedule, Adaptive):
            # A rate that fit has lowered stays as it is, unless the parameters have changed.
            first, last = self._schedules
            plan = plan.with_schedule(last) if first == plan.schedule else plan
        order = check_order(sample_order, X.shape[0])
        storage = p.plan.storage
        if not begun:
            engines = plan.new_engines(X.shape[1], len(problems), _threads(p))
        elif units is not self.units_:
            engines = self._as_given(self._divided(plan, len(problems)), plan)
        elif self._storage == storage and self._suits(plan, len(problems)):
            engines = self._engines
        else:
            same_average = self._storage[0] == storage[0]
            divided = self._divided(plan, len(problems))
            engines = [plan.continued(engine, average=same_average) for engine in divided]
        warnings = _doubts(engines, plan) if begun else []
        generator = getattr(self, "_generator", None)
        if p.shuffle and generator is None:
            generator = new_generator(p.random_state)
        sizes = sizes_of(X, plan.sizes)
        learners = new_learners(engines, X, problems, plan, sizes)
        orders = Orders(X.shape[0], order, generator if p.shuffle else None)
        touched = touched_columns(X)
        if len(touched) < X.shape[1]:
            # A copy: the journal and the check at the end must see the same columns.
            touched = touched.copy()
        t = self.t_ if begun else 0
        with _workers(p, len(learners)) as workers:
            with unusable("X"):
                self._protect(engines, touched, workers)
            for engine in engines:
                engine.retune(plan.settings)
            for epoch in range(1 if order is None or order.ndim == 1 else len(order)):
                t = run_pass(learners, orders.of(epoch), t, workers=workers)
        with unusable("X"):
            for engine in engines:
                engine.check_finite(touched, t)
        self._engines, self._storage, self.units_ = engines, storage, units
        self._coefficients = self._sparse_rows = None
        self._generator = generator
        self.t_, self.eta0_, self.l1_ = t, _present_rate(engines, eta0), p.l1
        if _has_scale(p):
            self._scale = eta0
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self.history_ = getattr(self, "history_", [])
        return warnings

    # --- the model ------------------------------------------------------------------------

    def _engines_are_here(self) -> bool:
        """Whether the engines are made; those of a file are not before the model learns on."""
        engines = self.__dict__.get("_engines")
        return engines is not None and not isinstance(engines, Later)

    def _dense_coef(self) -> NDArray[np.float64]:
        if self._coefficients is None:
            self._coefficients = _stack(self._engines, self.units_)
        return super()._dense_coef()

    def _raw_coef(self) -> Any:
        if not self._sparse_coef or not self._engines_are_here():
            return super()._raw_coef()
        if self._sparse_rows is None:
            self._sparse_rows = _sparse_stack(self._engines, self.units_)
        return self._sparse_rows

    def _can_go_on(self) -> bool:
        engines = self.__dict__.get("_engines")
        return isinstance(engines, Later) or not any(
            isinstance(engine, LearnedOutputs) for engine in engines or ()
        )

    def _also_saved(self) -> dict[str, Any]:
        if "_engines" not in self.__dict__:
            return {}
        return {"_averaged": any(engine.averaging for engine in self._engines)}

    def _coef_at(self, columns: NDArray[Any]) -> NDArray[np.float64]:
        if isinstance(self._coefficients, SparseRows) or not self._engines_are_here():
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
        _check_frozen_intercept(p, "intercept_", intercepts)
        p.plan.check_start("coef_", coefficients)
        if len(coefficients) == 1:
            p.plan = replace(p.plan, softmax=False)
        engines = p.plan.new_engines(coefficients.shape[1], len(coefficients), _threads(p))
        same = [each.n_outputs for each in engines] == [each.n_outputs for each in self._engines]
        if p.plan.adaptive and same:
            for engine, old in zip(engines, self._engines, strict=True):
                engine.continue_rates(old)
        units = self.units_ if p.chooses_units else None
        _load_all(engines, coefficients, intercepts, units)
        self._engines, self._storage, self.units_ = engines, p.plan.storage, units
        self._coefficients = self._sparse_rows = None

    @property
    @at_rest
    def last_coef_(self) -> Any:
        """The weights after the last step, of the shape of ``coef_``.

        Without an average these are the same numbers as ``coef_``.  Under an l1 penalty the last
        weights are sparse and their averages are not: an average remembers every iterate.
        """
        check_is_fitted(self)
        if not self._averages():
            return self._shaped(self._dense_coef())
        return self._shaped(_stack(self._engines, self.units_, last=True))

    def _averages(self) -> bool:
        """Whether the model predicts with averages."""
        if "_engines" not in self.__dict__ and not self._averaged:
            return False
        return any(engine.averaging for engine in self._engines)

    @property
    @at_rest
    def last_intercept_(self) -> NDArray[np.float64]:
        """The intercept of each row of ``last_coef_``."""
        check_is_fitted(self)
        if not self._averages():
            return self._intercepts()
        return _intercepts_of(self._engines, self.units_, last=True)

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Which weights are not zero after the last step: an array of the shape of ``coef_``."""
        return self.last_coef_ != 0.0

    def _verify(
        self, p: SimpleNamespace, X: Any, y: Any, weights: Any, max_rows: int, epochs: int
    ) -> VerificationReport:
        max_rows = check_integer("max_rows", max_rows, 1)
        epochs = check_integer("epochs", epochs, 1, LARGEST_EPOCHS)
        problems = self._problems(X, y, weights)
        _let_two_classes_be_one_problem(p, problems)
        if p.plan.softmax:
            raise ValueError(
                "verify compares one output with its twin, and multi_class='multinomial' couples "
                "all outputs: verify the same parameters with multi_class='ovr'"
            )
        for name, given, needed, why in (
            ("group", p.group, None, "weights that are shrunk one by one"),
            ("dtype", getattr(p, "dtype", "float64"), "float64", "weights in float64"),
        ):
            if given != needed:
                raise ValueError(
                    f"verify compares {why} with their twin: write {name}={needed!r}, got {given!r}"
                )
        units = self._find_units(p, X, problems)
        X, problems = _in_units(units, X, problems)
        self._find_l1(p, X, problems)
        n_steps = p.plan.n_steps(affordable_rows(X, max_rows, epochs)) * epochs
        plan = p.plan.known(self._scale_of_rates(p, X, weights), n_steps)
        return verify(plan, X, problems, max_rows, epochs)


@dataclass(frozen=True)
class _Call:
    """What all outputs of a call of ``fit`` share."""

    p: SimpleNamespace
    plan: Plan
    eta0: float
    X: sparse.csr_matrix
    sizes: NDArray[np.float64] | None
    units: Units | None
    order: NDArray[np.int64] | None
    #: the rows to train on and the rows that are held out; None for all rows and for no row
    rows: NDArray[np.int64] | None
    held: NDArray[np.int64] | None
    #: the columns that steps touch, where the best epoch is kept
    touched: NDArray[Any] | None
    generator: np.random.RandomState | None
    callback: Callback | None
    keeper: Keeper

    def of(self, outputs: range) -> _Call:
        """The same call for some of the outputs, which it tells to the callback.

        It draws the same orders of the rows, from a generator of its own.
        """
        callback, generator = self.callback, copy.deepcopy(self.generator)

        def told(epoch: Epoch) -> Any:
            assert callback is not None
            epoch.outputs = outputs
            return callback(epoch)

        units = self.units
        return replace(
            self,
            units=None if units is None else units.of_outputs(outputs.start, len(outputs)),
            generator=generator,
            callback=None if callback is None else told,
        )


def _trained(
    call: _Call, engines: list[Engine], problems: Problems
) -> tuple[list[AnyLearner], Run]:
    """Let the engines learn the problems."""
    p = call.p
    learners = new_learners(engines, call.X, problems, call.plan, call.sizes)
    held_out = None
    if call.held is not None:
        held_out = HeldOut(call.X, problems, call.held, p.loss, p.plan.softmax)
    generator = call.generator if p.shuffle else None
    with _workers(p, len(learners)) as workers:
        run = train(
            learners,
            Orders(call.X.shape[0], call.order, generator, call.rows),
            t=0,
            max_iter=p.max_iter,
            stopping=Stopping(p.tol, p.n_iter_no_change),
            record=p.record_objective,
            verbose=p.verbose,
            callback=call.callback,
            validate=None if held_out is None else lambda: held_out.judge(engines),
            columns=call.touched,
            workers=workers,
            units=call.units,
            keeper=call.keeper,
        )
    return learners, run


def _check_callback(callback: Any) -> None:
    """Refuse a callback that cannot be called."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")


def _keeps_best(p: SimpleNamespace) -> bool:
    """Whether a fit returns to the end of its best epoch."""
    # The progressive loss judges the last weights, not their average.
    return bool(p.early_stopping or (p.tol is not None and p.plan.average is None))


def _initial(name: str, given: Any, shape: tuple[int, ...]) -> Any:
    """Weights or intercepts of a user in the given shape, an array or CSR matrix, or None."""
    if given is None:
        return None
    found = given.tocsr() if sparse.issparse(given) else np.asarray(given)
    if found.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, got {found.shape}")
    return found


def _present_rate(engines: list[Engine], eta0: float) -> float:
    """The scale of the rates after training: ``eta0``, unless the rates follow the data."""
    rate = engines[0].present_rate
    return eta0 if rate is None else rate


def _threads(p: SimpleNamespace) -> int:
    """The number of threads that the user allows."""
    return int(effective_n_jobs(getattr(p, "n_jobs", None)))


def _workers(p: SimpleNamespace, n_engines: int) -> Workers:
    """The threads that share the engines."""
    return Workers(min(_threads(p), n_engines))


def _n_outputs(engines: Sequence[Engine]) -> int:
    return sum(engine.n_outputs for engine in engines)


def _let_two_classes_be_one_problem(p: SimpleNamespace, problems: Problems) -> None:
    """The softmax of two classes is the logistic loss of one output."""
    if len(problems) == 1:
        p.plan = replace(p.plan, softmax=False)


def _in_units(
    units: Units | None, X: sparse.csr_matrix, problems: Problems
) -> tuple[sparse.csr_matrix, Problems]:
    """X and the targets in ``units``; copies, unless there are none."""
    if units is None:
        return X, problems
    if units.targets is not None and isinstance(problems, Columns):
        problems = Columns(problems.numbers / units.targets, problems.importances)
    return units.rows(X), problems


def _load_all(
    engines: Sequence[Engine],
    rows: NDArray[np.float64],
    offsets: NDArray[np.float64],
    units: Units | None,
) -> None:
    """Let the engines, which learn in ``units``, start from a model of rows as they are."""
    rows, offsets = (rows, offsets) if units is None else units.within(rows, offsets)
    first = 0
    for engine in engines:
        some = slice(first, first + engine.n_outputs)
        engine.load_rows(rows[some], offsets[some])
        first += engine.n_outputs


def _has_scale(p: SimpleNamespace) -> bool:
    """Whether the rates are as large as an eta0, of the schedule or found from the data."""
    return bool(p.rule.scheduled and hasattr(p.schedule, "eta0"))


def _check_weights_of_parts(
    weights: NDArray[np.float64] | None, rows: NDArray[np.int64], held: NDArray[np.int64]
) -> None:
    """Refuse importances under which one of the two parts of the rows counts for nothing."""
    for part, what in ((rows, "to train on"), (held, "that are held out")):
        if weights is not None and not weights[part].any():
            raise ValueError(
                f"sample_weight, times class_weight, must not be zero for all {len(part)} rows "
                f"{what}: change validation_fraction or set early_stopping=False"
            )


def _check_frozen_intercept(p: SimpleNamespace, name: str, intercepts: NDArray[np.float64]) -> None:
    """Refuse an intercept that a rule with rates of its own would not train with."""
    if not p.fit_intercept and not p.rule.scheduled and intercepts.any():
        raise ValueError(
            f"{name} must be 0 with rule={p.rule!r} and fit_intercept=False: the rule trains "
            f"without an intercept"
        )


def _doubts(engines: list[Engine], plan: Plan) -> list[Warning]:
    """The warning to the user before these engines go on, one for all problems; or no warning."""
    found = [engine.doubt_about(plan.settings) for engine in engines]
    warnings: list[Warning] = [UserWarning(doubt) for doubt in found if doubt is not None]
    return warnings[:1]


def _intercepts_of(
    engines: Sequence[Engine], units: Units | None, last: bool = False
) -> NDArray[np.float64]:
    """The intercepts that belong to ``_stack``."""
    own = [engine.intercepts if last else engine.model_intercepts for engine in engines]
    if units is None:
        return np.concatenate(own)
    moved = units.moved
    rows = [
        engine.rows(last=True)[:, moved] if last else engine.rows_at(moved) for engine in engines
    ]
    found = units.intercept(units.weights(np.vstack(rows), moved), np.concatenate(own))
    return np.asarray(found, dtype=np.float64)


def _stack(
    engines: Sequence[Engine], units: Units | None, last: bool = False
) -> NDArray[np.float64]:
    """The weights that predict, or the last weights: a row for every output, read-only.

    They are the weights of features as they are; the engines have learned in ``units``.
    """
    if units is None and not last and isinstance(engines[0], LearnedOutputs):
        known = engines[0].given
        if not sparse.issparse(known):
            return known
    coefficients = np.empty((_n_outputs(engines), engines[0].n_features))
    first = 0
    for engine in engines:
        engine.rows(coefficients[first : first + engine.n_outputs], last=last)
        first += engine.n_outputs
    if units is not None:
        coefficients = units.weights(coefficients)
    coefficients.flags.writeable = False
    return coefficients


def _highest(numbers: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The columns of the ``k`` highest numbers of each row, the highest and leftmost first.

    >>> _highest(np.array([[1.0, 3.0, 1.0, 3.0]]), 3)
    array([[1, 3, 0]])
    """
    n = numbers.shape[1]
    if k < n:
        # The k-th highest number of a row may stand in several columns: the leftmost are taken.
        least = np.partition(numbers, n - k, axis=1)[:, n - k, None]
        above, equal = numbers > least, numbers == least
        room = k - above.sum(axis=1, keepdims=True)
        taken = above | (equal & (np.cumsum(equal, axis=1) <= room))
        columns = np.nonzero(taken)[1].reshape(len(numbers), k)
    else:
        columns = np.tile(np.arange(n), (len(numbers), 1))
    reached = np.take_along_axis(numbers, columns, axis=1)
    order = np.argsort(-reached, axis=1, kind="stable")
    return np.asarray(np.take_along_axis(columns, order, axis=1), dtype=np.int64)


def _has_a_column_per_label(y: Any) -> bool:
    """Whether y is a matrix; a matrix of one column is a column of classes, unless it is sparse."""
    if sparse.issparse(y):
        return True
    shape = getattr(y, "shape", None)
    if isinstance(y, (list, tuple)) and y and isinstance(y[0], (list, tuple, np.ndarray)):
        shape = (len(y), len(y[0]))
    return isinstance(shape, tuple) and len(shape) == 2 and shape[1] != 1


def _form_of(y: Any) -> str:
    """The form of a y that has a column per label."""
    if not sparse.issparse(y):
        return "dense"
    return "sparse array" if isinstance(y, sparse.sparray) else "sparse matrix"


def _sparse_stack(engines: Sequence[Engine], units: Units | None) -> sparse.csr_matrix:
    """``_stack`` as a read-only CSR matrix, made from one engine at a time."""
    if units is None and isinstance(engines[0], LearnedOutputs):
        known = engines[0].given
        if sparse.issparse(known):
            return known
    rows = sparse.vstack([engine.sparse_rows() for engine in engines], format="csr")
    if units is not None:
        rows.data /= units.sizes[rows.indices]
    for array in (rows.data, rows.indices, rows.indptr):
        array.flags.writeable = False
    return rows


class LazyNetClassifier(SparseClassifier, _ElasticNetModel):
    """Linear classification with an elastic net, trained one example at a time.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2`` by stochastic gradient or proximal
    steps.  A step costs the nonzeros of its example, and after every step the weights equal the
    weights of the dense algorithm.  Several classes are trained one against the rest, or share the
    softmax; y may also have a column of 0 and 1 for each of many labels.  All of them learn in one
    pass over X.

    Rules, schedules, engines, averages and losses are named by a string, or given as an object
    that carries its own parameters, such as ``rule=RDA(gamma=5)``.  ``GridSearchCV`` searches the
    parameters of such an object as ``rule__gamma``.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "smooth_hinge" (Rennie & Srebro 2005: the hinge,
        rounded by a parabola between the margins 0 and 1), "modified_huber", "perceptron"
        (which, as in scikit-learn, moves the weights at a margin of 0, so that zero weights begin
        to learn), or a loss of :class:`LazyNetRegressor` on targets -1 and +1.
    l1, l2 : float, default=None, 0
        Strengths of the penalty, any values >= 0.  In scikit-learn's terms l1 = alpha * l1_ratio
        and l2 = alpha * (1 - l1_ratio).  l1=None: ``fit`` takes 0.003 times the root mean square
        of the norms of the rows, divided by the number of rows (for "squared_error" also times
        the standard deviation of y); ``partial_fit``, which does not know the rows to come, takes
        the l1 of the last ``fit``, or 0.  Where this l1 is the only penalty, and the rates too are
        computed from the rows, ``fit`` of a regressor, or of a classifier with at least ten rows
        for every feature, learns from features in units of their own (``units_``): divided by
        their root mean square, and measured from their mean where at least half of the rows
        have a value that is not 0.  Several targets of "squared_error" or "absolute_error" are
        then divided by their standard deviations, too.  ``coef_`` and ``intercept_`` belong to rows
        and targets as they are.
    rule : str or object, default="auto"
        The update rule.  "auto": ``AdaGrad()`` for a classifier; ``FoBoS()`` for a regressor, for
        the loss "squared_error", and wherever ``eta0``, ``schedule``, ``engine``, ``average`` or
        ``positive`` is given.  "fobos", ``FoBoS(step_order)``: the proximal map, at any rate.
        "sgd", ``SGD(step_order)``: shrink by the subgradient, at rates below 1 / l2.
        "truncated_gradient", ``TruncatedGradient(period, threshold)``: the subgradient step with l1
        as gravity.  "rda", ``RDA(gamma, rho)``: regularised dual averaging.  "ftrl",
        ``FTRL(alpha, beta, penalty)``: FTRL-Proximal; in its published form, penalty="once", l1 and
        l2 count once and not once per example.
        "adagrad", ``AdaGrad(alpha, delta)``: a rate per coordinate.  "saga", ``SAGA(alpha)``:
        remembers the slope of every row and converges at a constant rate; it needs ``fit``, and
        with ``alpha=None`` a loss whose slope does not jump.  All of these are exact;
        "carpenter_inexact", ``Carpenter(period)``, is not.
    schedule : str, object, array, or callable, default="auto"
        The rate of step t = 0, 1, 2, ....  "auto": "power" if ``eta0`` is given; else
        ``FromData()`` for the rules "fobos" and "sgd" on the clock, "power" for the others.
        "constant" eta0, "inverse_time" eta0/(1+t),
        "inverse_sqrt" eta0/sqrt(1+t), "power" eta0/(1+t)^power_t with power_t = 1/4, "pegasos"
        1/(l2 (2+t)), "optimal" 1/(l2 (t0+t)) with the t0 of SGDClassifier, "adaptive" eta0 / 5^k
        after k stalls; the objects ``Constant``, ``InverseTime``, ``InverseSqrt``,
        ``Power(eta0, power_t)``, ``Pegasos(l2, t0)``, ``Optimal(l2, t0)``,
        ``Adaptive(eta0, divisor, least)``; the rates themselves; or a function of t.
        "rda", "ftrl", "adagrad" and "saga" have rates of their own.
    eta0 : float or None, default=None
        Scale of the rate of a schedule that is named by a string.  None: ``schedule="auto"`` needs
        none where it takes the rates from the data; elsewhere the largest scale for
        which no step overshoots on any row of the first call, 1 / (c * max |x|^2), c the largest
        curvature of the loss (1 where the loss has kinks) and |x|^2 the squared norm of a row, with
        the intercept's 1.  (Where the slope of the loss is unbounded, |x|^2 is multiplied by the
        sample weight.)  Give eta0 for streams whose first rows are not typical.
    engine : str or object, default="clock"
        How the weights are kept: "clock"; "tables", ``Tables(budget)``, Lipton & Elkan's form;
        "rescaled", a scale times a vector (l1=0 only); "dense", ``Dense(predictions)``, every
        weight at every step.
    average : bool, int, str or object, default=False
        Predict with the exact mean of the weights after every step instead of the last weights.
        True: of all steps; k or ``FromStep(k)``: from step k = 1, 2, ... on; "suffix",
        ``Suffix()``: over the last half of the steps (needs ``tol=None``); "polynomial",
        ``PolynomialDecay(degree)``.  A step still costs its nonzeros, under an l1 penalty too,
        unless it wipes out a good part of every weight (eta * l2 of order 1): then all weights must
        be visited every few dozen steps.  Until a step has counted, ``coef_`` holds the last
        weights.  A change of ``average`` between calls of ``partial_fit`` begins a new average.
    max_iter : int or None, default=None
        The largest number of epochs.  None: 6, or 20 where there are at least ten rows for every
        feature; with a ``sample_order`` for every epoch, as many as it has.
    tol : float or None, default=1e-3
        Stop when the loss has not fallen below (1 - tol) times its least value for
        ``n_iter_no_change`` epochs in a row; ``tol`` is a share, so that it means the same for all
        data.  The loss is the progressive loss of the epoch (see ``history_``); with
        ``early_stopping`` it is the loss on the rows that are held out.  The model keeps the
        weights of the epoch with the least loss.  The progressive loss judges the weights of a
        whole epoch, and those at its end are kept; it cannot judge an average, so that without
        ``early_stopping`` the average of all epochs is kept.  None: exactly ``max_iter`` epochs,
        and, without ``early_stopping``, the weights after the last.
    n_iter_no_change : int, default=5
        Epochs without progress after which training stops; see ``tol``.
    early_stopping : bool, default=False
        Hold out some rows, and judge every epoch by the loss on them; see ``tol``.  The held-out
        rows have every class in its share, if each row has one class.  ``partial_fit`` makes one
        pass and holds nothing out.
    validation_fraction : float, default=0.1
        The share of the rows that ``early_stopping`` holds out, chosen by ``random_state``.
    fit_intercept : bool, default=True
        Whether to learn an intercept, which is not penalised.
    positive : bool, default=False
        Keep every weight at 0 or above: a step that would take a weight of its row below 0 sets it
        to 0.  The intercept may be negative.  For "fobos" and "sgd" with ``engine="clock"`` and
        without an average; with several classes every class has weights of one sign.
    batch_size : int, default=1
        The number of rows that a step learns from: the next rows of the epoch, predicted with the
        same weights; the gradient is the mean of their gradients, and one shrink follows.  An epoch
        of n rows has ceil(n / batch_size) steps, and the last step may have fewer rows.  Above 1,
        ``schedule="auto"`` is "power"; the rules "saga" and "carpenter_inexact", ``FromData()``,
        ``positive``, ``group``, the softmax and engines other than "clock" are refused.
    group : "l2", "max" or None, default=None
        Where there are several classes or labels, let the l1 penalty act on a norm of all weights
        of a feature, so that a feature is kept or dropped for all of them together: "l2", the
        Euclidean norm; "max", the largest size of a weight.  For "fobos" on the clock with a
        schedule, without an average; ``rule="auto"`` is "fobos" then, ``schedule="auto"`` "power".
    shuffle : bool, default=True
        Visit the rows in a new random order in each epoch.  Without shuffling and without an
        intercept, row i of epoch e is step t = e*n + i.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.
    class_weight : dict, "balanced", Balanced or None, default=None
        The importance of an example by its class.  "balanced": every class weighs the same.
        ``Balanced(class_counts)`` computes these weights from the counts or the shares of the
        classes, for ``partial_fit``, which does not see all rows.  Not for labels in columns.
    multi_class : "ovr" or "multinomial", default="ovr"
        With more than two classes: "ovr" learns every class against the rest; "multinomial" lets
        the classes share the softmax as their loss, log(sum of exp p_k) - p_y, which needs
        ``loss="log_loss"``.
    warm_start : bool, default=False
        Let ``fit`` start from the weights after the last step; t starts at 0 again, an average
        starts anew, and "saga" remembers no slopes.  RDA, FTRL and AdaGrad go on from their own
        sums of gradients, as ``partial_fit`` does: their rates do not start anew.
    dtype : "float64" or "float32", default="float64"
        The type of the weights while several classes or labels are learned in one pass over X, by
        one of the rules "fobos", "sgd", "rda", "ftrl" and "adagrad".  "float32" takes half the
        memory and less time; its weights are inexact in the last digits of a float32.
    n_jobs : int or None, default=None
        The number of threads that share the classes or labels, at least 8 of them a thread (32 with
        ``FromData()``); -1 means one for each processor.  The model is the same, bit for bit, for
        any number.
    outputs_at_once : int or None, default=None
        With several classes, labels or targets, how many of them learn at the same time; None: all.
        ``fit`` then trains them part after part, each through all of its epochs, and keeps of a
        part that is done the weights alone, so that the weights in training may exceed the memory.
        With ``tol=None`` the model is the same, bit for bit; with ``tol`` every part stops by its
        own losses.  (Where every output has rates of its own, by ``FromData()``, parts are
        multiples of 32.)  ``history_`` is summed over the parts; see there.  ``partial_fit`` and
        ``warm_start`` need the engines of all outputs and are refused after it; assign ``coef_``
        to begin anew from the weights.  Refused where all outputs learn together: in ``group`` and
        ``multi_class="multinomial"``.
    record_objective : bool, default=False
        Evaluate the objective after every epoch for ``history_``, at the cost of a pass over the
        rows.
    verbose : int, default=0
        1: a line per epoch, and a progress bar on a terminal if tqdm is installed; for several
        classes, labels or targets, first a line with the memory that the weights will take.

    Attributes
    ----------
    coef_ : ndarray or CSR matrix of shape (1, n_features), (n_classes, ...) or (n_labels, ...)
        The weights; with ``average``, the averages of the weights.  A row per class, one row for
        two classes; with labels in columns a row per label.  Assign an array to change the model.
    intercept_ : ndarray of shape (1,), (n_classes,) or (n_labels,)
        The intercept of each row of ``coef_``.
    last_coef_, last_intercept_ : ndarray
        Weights and intercepts after the last step, where ``coef_`` holds averages.
    support_ : ndarray of bool, of the shape of ``coef_``
        Where ``last_coef_`` is not zero.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_iter_ : int
        Epochs trained.
    best_epoch_ : int
        The epoch at whose end the weights of the model were reached, from 0 on; see ``tol``.
    t_ : int
        Steps behind the weights of the model: the number of the next step.
    l1_ : float
        The l1 of the last call; where there are ``units_``, of the weights in these units.
    units_ : Units or None
        The units in which the features have been learned from: ``units_.sizes`` and
        ``units_.means``, an entry per feature, and the sizes of several targets,
        ``units_.targets``; None for features as they are.  See ``l1``.
    eta0_ : float
        The scale of the rates: eta0 of the schedule, or alpha of the rule.
    history_ : list of dict
        Per epoch: ``epoch``; ``progressive_loss``, the mean loss of predictions that are each made
        before the row is learned from; ``seconds`` of training.  With ``early_stopping`` also
        ``validation_loss`` and ``validation_score`` on the rows that are held out: the share of
        rows whose class, or whose labels one and all, are predicted right; or R^2.  With
        ``record_objective`` also ``mean_loss``, ``objective`` (both over all rows with ``coef_`` as
        of the end of the epoch, penalty exact) and ``nonzeros`` (of ``last_coef_``).
        Losses are sums over classes, labels or targets (in ``units_``, where there are some), so
        that all of them stop together; sample and class weights multiply them.
        With ``outputs_at_once`` a line is the sum over the parts: a part
        that has stopped counts with the epoch whose weights it keeps, ``n_iter_`` and ``t_`` are
        those of the part that took longest, ``best_epoch_`` is the last of the best epochs of the
        parts, and there is no ``validation_score``.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import LazyNetClassifier
    >>> X = sparse.random(200, 1000, density=0.02, format="csr", random_state=0)
    >>> y = np.where(np.asarray(X[:, :500].sum(axis=1)).ravel() > 5, "yes", "no")
    >>> model = LazyNetClassifier(l1=1e-4, eta0=2.0, random_state=0).fit(X, y)
    >>> float(model.score(X, y)) > 0.95
    True
    >>> model.verify(X, y, max_rows=50).agrees
    True

    Labels in columns, learned in one pass:

    >>> Y = np.column_stack([X[:, :500].sum(axis=1) > 5, X[:, 500:].sum(axis=1) > 5]).astype(int)
    >>> labels = LazyNetClassifier(l1=1e-4, eta0=2.0, random_state=0).fit(X, Y)
    >>> labels.coef_.shape, labels.predict(X[:1]).shape
    ((2, 1000), (1, 2))

    Two steps that can be followed by hand: the first step gives -0.5 to the first weight, the
    second step gives 1.0 to the other weight, and each shrink takes 0.05.

    >>> X = sparse.csr_matrix([[1.0, 0.0], [0.0, 2.0]])
    >>> options = dict(loss="modified_huber", l1=0.2, l2=0.0, schedule="constant", eta0=0.25,
    ...                fit_intercept=False, shuffle=False, max_iter=1, tol=None)
    >>> model = LazyNetClassifier(**options).fit(X, ["no", "yes"])
    >>> model.coef_.round(3), model.intercept_
    (array([[-0.4 ,  0.95]]), array([0.]))
    >>> model.decision_function(X).round(3), model.predict(X).tolist()
    (array([-0.4,  1.9]), ['no', 'yes'])
    >>> model.predict_proba(X).round(3).tolist()  # of "no" and of "yes"
    [[0.7, 0.3], [0.0, 1.0]]

    With ``average`` the model is the mean of the weights after the first and after the second
    step, and ``last_coef_`` holds the weights after the second step:

    >>> model = LazyNetClassifier(**options, average=True).fit(X, ["no", "yes"])
    >>> model.coef_.round(3), model.last_coef_.round(3)
    (array([[-0.425,  0.475]]), array([[-0.4 ,  0.95]]))
    >>> model.last_intercept_, model.support_
    (array([0.]), array([[ True,  True]]))
    """

    _kinds = table(
        **_ElasticNetModel._kinds,
        multi_class=Choice(accepted=("ovr", "multinomial")),
        class_weight=CLASS_WEIGHT,
        dtype=DTYPE,
        n_jobs=THREADS,
        outputs_at_once=PARTS,
    )

    #: how the labels of a row were given: "dense", "sparse matrix" or "sparse array"; None: y has
    #: one class for each row
    _labels_given: str | None = None
    _saved = attributes(_labels_given=optional(text("dense", *_SPARSE_FORMS)))

    @helpful
    def __init__(
        self,
        loss: LossLike = "log_loss",
        *,
        l1: float | None = None,
        l2: float = 0.0,
        rule: RuleLike = AUTO,
        schedule: ScheduleLike = AUTO,
        eta0: float | None = None,
        engine: FormLike = "clock",
        average: AverageLike = False,
        max_iter: int | None = None,
        tol: float | None = TOL,
        n_iter_no_change: int = N_ITER_NO_CHANGE,
        early_stopping: bool = False,
        validation_fraction: float = VALIDATION_FRACTION,
        fit_intercept: bool = True,
        positive: bool = False,
        batch_size: int = 1,
        group: str | None = None,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        class_weight: ClassWeightLike | None = None,
        multi_class: str = "ovr",
        warm_start: bool = False,
        dtype: str = "float64",
        n_jobs: int | None = None,
        outputs_at_once: int | None = None,
        record_objective: bool = False,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
        *,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Train from zero weights, or from the present weights with ``warm_start``.

        A call that is interrupted or fails leaves the estimator as it was.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features)
            A CSR matrix of float32 or float64 with int32 or int64 indices is read in place.  Or a
            source of chunks, such as ``lazynet.streams.SvmlightFile(path)``, which has y and the
            weights of rows in it: every epoch reads it anew, in its own order and in constant
            memory.  Features are as they are then, without ``units_``.
        y : array of shape (n_samples,), or matrix of shape (n_samples, n_labels)
            Class labels of any kind; or, in an array or a sparse matrix, 1 in the column of each
            label that a row has and 0 elsewhere.  A sparse y makes ``coef_`` and predictions
            sparse.  An array of one column holds classes, a sparse matrix of one column one label.
        sample_weight : array of shape (n_samples,), optional
            The importance of each example: a factor of its loss.
        sample_order : array of int, shape (n_steps,) or (n_epochs, n_steps), optional
            The order of the rows: one for all epochs, or one per epoch; overrides ``shuffle``.
        coef_init, intercept_init : array, optional
            Weights and intercepts to start from, of the shapes of ``coef_`` and ``intercept_``.
        callback : callable, optional
            Called after every epoch with an object that has ``epoch``, ``progressive_loss``,
            ``validation_loss``, ``validation_score``, ``seconds``, ``t``, and, computed when they
            are read, ``mean_loss``, ``objective``, ``nonzeros``, ``coef`` and ``intercept``.
            Training ends when the callback returns a true value.  With ``outputs_at_once`` it is
            called for every part; ``outputs`` tells which outputs learn.
        checkpoint : path, optional
            A file in which the fit is kept while it runs.  If the process is killed, the same call
            goes on from the file and ends with the same bits.  ``fit`` removes the file when it is
            done, and refuses the file of another call.  The page "Checkpoints" says more.
        every : float, default=60
            The seconds between two files; 0: a file after every chunk of rows.  Above 0, writing
            takes at most a sixty-fourth of the time, so that large files are written less often.

        Warns
        -----
        ConvergenceWarning
            With ``tol``: if the loss still falls by more than a tenth in the last of ``max_iter``
            epochs; or if training has stalled, because the rates are too small or too large for
            the rows.  The warning then names the row that is far longer than the others.

        Examples
        --------
        >>> X, y = [[1.0, 0.0], [0.0, 2.0]], ["no", "yes"]
        >>> model = LazyNetClassifier(eta0=0.4, max_iter=100, tol=None, random_state=0)
        >>> model.fit(X, y, callback=lambda epoch: epoch.objective < 0.5).n_iter_ < 100
        True
        """
        start = coef_init, intercept_init, callback
        with keeper_of(checkpoint, every) as keeper:
            warnings = self._learn(X, y, sample_weight, sample_order, *start, keeper)
        self._warn(warnings)
        return self

    def _check_training(
        self, X: Any, y: Any, classes: NDArray[Any] | None, reset: bool
    ) -> tuple[Any, Any, NDArray[Any]]:
        if not _has_a_column_per_label(y):
            return super()._check_training(X, y, classes, reset)
        X = self._check_X(X, reset)[0]
        with unusable("y"):
            # The kernel reads a copy, which no other thread can change.
            indicator = checked_indicator(y)
        if indicator.shape[0] != X.shape[0]:
            raise ValueError(
                f"y must have a row for each row of X: {X.shape[0]}, got {indicator.shape[0]}"
            )
        if classes is not None and len(classes) != indicator.shape[1]:
            raise ValueError(
                f"y must have a column for each of {len(classes)} labels, got {indicator.shape[1]}"
            )
        indicator.form = _form_of(y)
        return X, indicator, np.arange(indicator.shape[1]) if classes is None else classes

    def _note_labels(self, form: str | None) -> None:
        """Remember in which form labels are to be predicted; sparse labels make weights sparse."""
        if self._labels_given in _SPARSE_FORMS and form not in _SPARSE_FORMS:
            self._sparse_coef = False
        self._labels_given = form
        if form in _SPARSE_FORMS:
            self._sparse_coef = True

    def _importances(
        self, p: SimpleNamespace, classes: NDArray[Any], X: Any, y: Any, sample_weight: Any
    ) -> NDArray[np.float64] | None:
        if not sparse.issparse(y):
            return importances(p.class_weight, classes, X, y, sample_weight)
        if p.class_weight is not None:
            raise ValueError(
                "class_weight must be None where y has a column per label, because a row has no "
                "single class: weigh the rows by sample_weight"
            )
        if p.multi_class == "multinomial":
            raise ValueError(
                "multi_class='multinomial' gives every row one class, and y has a column per "
                "label: write multi_class='ovr'"
            )
        return check_sample_weight(sample_weight, X)

    def _problems(self, X: Any, y: Any, weights: Any) -> Problems:
        given, _ = y
        if sparse.issparse(given):
            return Labels(given, weights)
        return super()._problems(X, y, weights)

    def _log_probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._labels_given is not None and get_loss(self.loss).name == "log_loss":
            return np.asarray(log_expit(decision), dtype=np.float64)
        if self.multi_class == "multinomial" and decision.shape[1] > 1:
            return np.asarray(log_softmax(decision, axis=1), dtype=np.float64)
        return super()._log_probabilities(decision)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w.x + b: shape (n_samples,) for two classes, (n_samples, n_classes) for more.

        With a column per label: (n_samples, n_labels).
        """
        if self._labels_given is None:
            return super().decision_function(X)
        now, X = self._now(X)
        return now._decision(X)

    def predict(self, X: Any) -> Any:
        """The class of each row; or the labels of each row, in the form in which ``fit`` got them.

        Sparse labels are predicted in blocks of rows.

        >>> from scipy import sparse
        >>> X, Y = [[1.0, 0.0], [1.0, 2.0]], sparse.csr_matrix([[1, 0], [1, 1]])
        >>> LazyNetClassifier(eta0=1.0, max_iter=20, tol=None).fit(X, Y).predict(X).toarray()
        array([[1, 0],
               [1, 1]])
        """
        if self._labels_given is None:
            return super().predict(X)
        now, X = self._now(X)
        if self._labels_given == "dense":
            return (now._decision(X) > 0).astype(np.int64)
        kind = sparse.csr_array if self._labels_given == "sparse array" else sparse.csr_matrix
        parts = [kind(decision > 0, dtype=np.int64) for decision in now._decisions(X)]
        return sparse.vstack(parts, format="csr")

    def predict_top(self, X: Any, k: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The ``k`` classes or labels with the highest w.x + b of each row, and these numbers.

        Returns two arrays of shape (n_samples, k), the highest first; of equal numbers the one with
        the lower column comes first, as in ``predict``.  Rows are taken in blocks, so that no array
        of all rows and all labels is made.

        >>> X, y = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], ["a", "b", "c"]
        >>> model = LazyNetClassifier(eta0=1.0, max_iter=20, tol=None).fit(X, y)
        >>> model.predict_top([[5.0, 0.0, 1.0]], 2)[0].tolist()
        [['a', 'c']]
        """
        now, X = self._now(X)
        n_outputs = len(now.classes_)
        k = check_integer("k", k, 1, n_outputs)
        found, scores = [], []
        for block in now._decisions(X):
            decision = np.hstack([-block, block]) if block.shape[1] < n_outputs else block
            best = _highest(decision, k)
            found.append(best)
            scores.append(np.take_along_axis(decision, best, axis=1))
        return now.classes_[np.concatenate(found)], np.concatenate(scores)

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._labels_given is not None:
            return self._probabilities_of_positives(decision)
        if self.multi_class == "multinomial" and decision.shape[1] > 1:
            return np.asarray(softmax(decision, axis=1), dtype=np.float64)
        return super()._probabilities(decision)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @all_or_nothing
    def _learn(
        self, X: Any, y: Any, sample_weight: Any, sample_order: Any, *start: Any
    ) -> list[Warning]:
        """Train anew; returns the warnings to give."""
        p = self._settle()
        if isinstance(X, Source):
            check_call(p, y, sample_weight, sample_order)
            return self._learn_source(p, X, *start)
        X, y, classes = self._check_training(X, y, None, reset=True)
        self._begin_with(p, classes, getattr(y, "form", None))
        weights = self._importances(p, classes, X, y, sample_weight)
        warnings = self._fit(p, X, (y, classes), weights, sample_order, *start)
        self.classes_ = classes
        return warnings

    def _learn_source(self, p: SimpleNamespace, source: Source, *start: Any) -> list[Warning]:
        """Train anew from a source; returns the warnings to give."""
        if isinstance(p.class_weight, Balanced) and p.class_weight.class_counts is None:
            raise ValueError(
                "class_weight='balanced' counts the rows of every class, which a source does not "
                "know: write class_weight=Balanced(class_counts={class: number of rows}), or pass "
                "a dict of weights"
            )
        facts = source.facts()
        self.n_features_in_ = facts.n_features
        self.__dict__.pop("feature_names_in_", None)
        if facts.n_labels is not None:
            classes, form = np.arange(facts.n_labels), "sparse matrix"
        elif facts.classes is None or len(facts.classes) < 2:
            found = "numbers" if facts.classes is None else f"the class {facts.classes}"
            raise ValueError(f"y must have at least two classes, and the source has {found}")
        else:
            classes, form = np.array(facts.classes), None
        self._begin_with(p, classes, form)

        def prepare(chunk: Chunk) -> tuple[sparse.csr_matrix, Problems]:
            X, y, _ = self._check_training(chunk.X, chunk.y, classes, reset=False)
            weights = self._importances(p, classes, X, y, chunk.weight)
            return X, self._problems(X, (y, classes), weights)

        warnings = self._fit_source(p, SourceRows(source, prepare), *start)
        self.classes_ = classes
        return warnings

    def _begin_with(self, p: SimpleNamespace, classes: NDArray[Any], form: str | None) -> None:
        """Note the form of y; refuse classes and a form that a warm start cannot go on with."""
        previous = getattr(self, "classes_", None)
        if p.warm_start and previous is not None:
            if not np.array_equal(previous, classes):
                raise ValueError(
                    f"warm_start=True continues a model of the classes {previous}, "
                    f"but y has {classes}; fit it with warm_start=False"
                )
            if (form is None) != (self._labels_given is None):
                had, has = ("classes", "labels") if form else ("labels", "classes")
                raise ValueError(
                    f"warm_start=True continues a model of {had}, but y has {has}; fit it with "
                    f"warm_start=False"
                )
        self._note_labels(form)

    @available_if(_ElasticNetModel._learns_from_streams)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train on these rows once; a step costs the nonzeros of its row.

        The first call names all ``classes``.  For a y with a column per label ``classes`` may name
        the columns, in their order; else they are called 0, 1, 2, ....  A call that fails leaves
        the model as it was.
        All outputs learn at the same time: there is no ``outputs_at_once`` here.

        >>> model = LazyNetClassifier("hinge", eta0=0.5, schedule="constant", l1=0.0, l2=0.0)
        >>> for row, label in (([[1.0, 0.0]], "no"), ([[0.0, 2.0]], "yes")):
        ...     _ = model.partial_fit(row, [label], classes=["no", "yes"])
        >>> model.t_, model.coef_, model.intercept_  # -0.5, then +0.5
        (2, array([[-0.5,  1. ]]), array([0.]))
        """
        self._warn(self._learn_on(X, y, classes, sample_weight, sample_order))
        return self

    @all_or_nothing
    def _learn_on(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, sample_order: Any
    ) -> list[Warning]:
        """Go on training; returns the warnings to give."""
        p = self._settle()
        known = getattr(self, "classes_", None)
        if classes is None and known is None and _has_a_column_per_label(y):
            known = np.arange(y.shape[1] if sparse.issparse(y) else np.shape(y)[1])
        if classes is not None:
            given = (check_labels if _has_a_column_per_label(y) else check_classes)(classes)
            if known is not None and not np.array_equal(known, given):
                raise ValueError(f"classes={given} is not the same as on the last call: {known}")
            known = given
        if known is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        if isinstance(p.class_weight, Balanced) and p.class_weight.class_counts is None:
            raise ValueError(
                "class_weight='balanced' counts the rows of every class, and partial_fit sees only "
                "some of the rows: write class_weight=Balanced(class_counts={class: number of "
                "rows}), or pass a dict of weights"
            )
        if len(known) < 2 and not _has_a_column_per_label(y):
            raise ValueError(f"classes must name at least two classes, got {known}")
        begun = self.__sklearn_is_fitted__()
        X, y, _ = self._check_training(X, y, known, reset=not begun)
        if begun and sparse.issparse(y) != (self._labels_given is not None):
            raise ValueError(
                "y must have a column per label in every call of partial_fit, or one class per "
                "row in every call"
            )
        if not begun:
            self._note_labels(getattr(y, "form", None))
        weights = self._importances(p, known, X, y, sample_weight)
        warnings = self._fit_on(p, X, (y, known), weights, sample_order)
        self.classes_ = known
        return warnings

    def verify(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        max_rows: int = 200,
        epochs: int = 1,
    ) -> VerificationReport:
        """Train the dense twin and the lazy model side by side on the first rows of X.

        Both start from zero weights, take the rows in the order of X with the parameters of this
        estimator, and are compared after every step.  The twin is plain Python and visits every
        weight; the number of rows is halved until the comparison takes seconds.  The estimator does
        not change.  With several classes the first class against the rest is compared.

        >>> LazyNetClassifier(l1=0.1).verify([[1.0, 0.0], [0.0, 2.0]], ["no", "yes"]).agrees
        True
        """
        probe = type(self)(**self.get_params(deep=False))
        p = probe._settle()
        X, y, classes = probe._check_training(X, y, None, reset=True)
        weights = probe._importances(p, classes, X, y, sample_weight)
        return probe._verify(p, X, (y, classes), weights, max_rows, epochs)


class LazyNetRegressor(SparseRegressor, _ElasticNetModel):
    """Linear regression with an elastic net, trained one example at a time.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2``.  The parameters and attributes are the
    same as in :class:`LazyNetClassifier`, with these differences.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        "squared_error" (p - y)^2 / 2, "absolute_error", "huber" or ``Huber(epsilon)``,
        "epsilon_insensitive" or ``EpsilonInsensitive(epsilon)``, "squared_epsilon_insensitive" or
        ``SquaredEpsilonInsensitive(epsilon)``.
    max_iter : int or None, default=None
        The largest number of epochs.  None: 100; with a ``sample_order`` for every epoch, as many
        as it has.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), or (n_targets, n_features)
        The weights; with ``average``, the averages of the weights.  A y with a column for each
        target is learned in one pass over X.
    intercept_ : ndarray of shape (1,), or (n_targets,)
        The intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import LazyNetRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> y = X @ [1.0, 0.0, -2.0, 0.0, 0.0]
    >>> model = LazyNetRegressor(l1=1e-2, random_state=0).fit(X, y)
    >>> model.coef_.round(1) + 0.0
    array([ 1.,  0., -2.,  0.,  0.])
    >>> model.predict([[1.0, 1.0, 1.0, 1.0, 1.0]]).round(1)
    array([-1.])

    Two steps that can be followed by hand: the weight is 1 after the first and 1.5 after the
    second, and the model is their mean:

    >>> model = LazyNetRegressor(l1=0.0, l2=0.0, schedule="constant", eta0=0.25, average=True,
    ...                          max_iter=2, tol=None).fit([[1.0]], [4.0])
    >>> model.coef_, model.intercept_
    (array([1.25]), array([1.25]))
    >>> model.last_coef_, model.last_intercept_, model.support_
    (array([1.5]), array([1.5]), array([ True]))
    """

    _kinds = table(**_ElasticNetModel._kinds, dtype=DTYPE, n_jobs=THREADS, outputs_at_once=PARTS)

    #: whether y has a column per target, of which there may be one
    _several_targets: bool = False
    _saved = attributes(_several_targets=flag)

    @helpful
    def __init__(
        self,
        loss: LossLike = "squared_error",
        *,
        l1: float | None = None,
        l2: float = 0.0,
        rule: RuleLike = AUTO,
        schedule: ScheduleLike = AUTO,
        eta0: float | None = None,
        engine: FormLike = "clock",
        average: AverageLike = False,
        max_iter: int | None = None,
        tol: float | None = TOL,
        n_iter_no_change: int = N_ITER_NO_CHANGE,
        early_stopping: bool = False,
        validation_fraction: float = VALIDATION_FRACTION,
        fit_intercept: bool = True,
        positive: bool = False,
        batch_size: int = 1,
        group: str | None = None,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        dtype: str = "float64",
        n_jobs: int | None = None,
        outputs_at_once: int | None = None,
        record_objective: bool = False,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _check_training(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[np.float64]]:
        X, y = self._check_X(X, reset, y=y, y_numeric=True, multi_output=True)
        if sparse.issparse(y):
            raise ValueError(
                "y must be an array of numbers, got a sparse matrix: write y.toarray()"
            )
        return X, np.ascontiguousarray(check_array("y", "must hold real numbers", y, masks=True))

    def _shaped(self, rows: Any) -> Any:
        return rows if self._several_targets else super()._shaped(rows)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """w.x + b for each row: shape (n_samples,), or (n_samples, n_targets)."""
        now, X = self._now(X)
        decision = now._decision(X)
        return decision if self._several_targets else decision.ravel()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
        *,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Train from zero weights; see :meth:`LazyNetClassifier.fit`."""
        start = coef_init, intercept_init, callback
        with keeper_of(checkpoint, every) as keeper:
            warnings = self._learn(X, y, sample_weight, sample_order, *start, keeper)
        self._warn(warnings)
        return self

    @all_or_nothing
    def _learn(
        self, X: Any, y: Any, sample_weight: Any, sample_order: Any, *start: Any
    ) -> list[Warning]:
        """Train anew; returns the warnings to give."""
        p = self._settle()
        if isinstance(X, Source):
            check_call(p, y, sample_weight, sample_order)
            return self._learn_source(p, X, *start)
        X, y = self._check_training(X, y, reset=True)
        self._several_targets = y.ndim == 2
        weights = check_sample_weight(sample_weight, X)
        return self._fit(p, X, y, weights, sample_order, *start)

    def _learn_source(self, p: SimpleNamespace, source: Source, *start: Any) -> list[Warning]:
        """Train anew from a source; returns the warnings to give."""
        facts = source.facts()
        if facts.n_labels is not None:
            raise ValueError("y must be a number for every row, and the source has labels")
        self.n_features_in_, self._several_targets = facts.n_features, False
        self.__dict__.pop("feature_names_in_", None)

        def prepare(chunk: Chunk) -> tuple[sparse.csr_matrix, Problems]:
            X, y = self._check_training(chunk.X, chunk.y, reset=False)
            return X, self._problems(X, y, check_sample_weight(chunk.weight, X))

        return self._fit_source(p, SourceRows(source, prepare), *start)

    @available_if(_ElasticNetModel._learns_from_streams)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sample_order: ArrayLike | None = None,
    ) -> Self:
        """Train on these rows once; a step costs the nonzeros of its row.

        >>> model = LazyNetRegressor(l1=0.0, l2=0.0, schedule="constant", eta0=0.25)
        >>> model.partial_fit([[1.0]], [4.0]).coef_
        array([1.])
        >>> model.partial_fit([[1.0]], [4.0]).coef_
        array([1.5])
        """
        self._warn(self._learn_on(X, y, sample_weight, sample_order))
        return self

    @all_or_nothing
    def _learn_on(self, X: Any, y: Any, sample_weight: Any, sample_order: Any) -> list[Warning]:
        """Go on training; returns the warnings to give."""
        p = self._settle()
        begun = self.__sklearn_is_fitted__()
        X, y = self._check_training(X, y, reset=not begun)
        n_targets = y.shape[1] if y.ndim == 2 else 1
        if begun and n_targets != _n_outputs(self._engines):
            raise ValueError(
                f"y must have {_n_outputs(self._engines)} columns, as in the first call, got "
                f"{n_targets}"
            )
        if not begun:
            self._several_targets = y.ndim == 2
        weights = check_sample_weight(sample_weight, X)
        return self._fit_on(p, X, y, weights, sample_order)

    def verify(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        max_rows: int = 200,
        epochs: int = 1,
    ) -> VerificationReport:
        """Train the dense twin beside the lazy model; see :meth:`LazyNetClassifier.verify`.

        >>> LazyNetRegressor(l1=0.1).verify([[1.0, 0.0], [0.0, 2.0]], [3.0, 5.0]).agrees
        True
        """
        probe = type(self)(**self.get_params(deep=False))
        p = probe._settle()
        X, y = probe._check_training(X, y, reset=True)
        weights = check_sample_weight(sample_weight, X)
        return probe._verify(p, X, y, weights, max_rows, epochs)
