"""The training that classifier and regressor share: from rows, from a source, row by row."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from lazynet.data.arrays import check_order, sizes_of, touched_columns
from lazynet.data.source import Source
from lazynet.data.standardise import Units
from lazynet.data.targets import Classes, Problems
from lazynet.engines.base import Engine
from lazynet.engines.undo import all_or_nothing
from lazynet.estimators.memory import check_memory
from lazynet.estimators.planning import (
    allowed_threads,
    has_scale,
    in_units,
    keeps_best,
    let_two_classes_be_one_problem,
    shape_to_learn,
    workers_for,
)
from lazynet.estimators.streams import (
    Prepare,
    SourceRows,
    check_arguments,
    check_call,
    learn_pass,
    orders_of,
    plan_for,
)
from lazynet.estimators.warnings import doubts_about_fit, judged_losses, unfinished
from lazynet.estimators.weights import EnginesModel, doubts_about_start, present_rate
from lazynet.parameters import check_integer, check_n_steps
from lazynet.persistence.checkpoints import EVERY, Keeper, keeper_of
from lazynet.schedules import Adaptive, needs_scale
from lazynet.training.diagnostics import still_falls
from lazynet.training.epochs import Epoch, Orders, Stopping
from lazynet.training.held_out import HeldOut, split
from lazynet.training.learners import new_learners, run_pass, sizes_for_a_pass
from lazynet.training.loop import train
from lazynet.training.plan import Plan
from lazynet.training.random_state import new_generator
from lazynet.verify.online import LARGEST_EPOCHS, VerificationReport, affordable_rows, verify

#: What a user lets be called after every epoch.
Callback = Callable[[Epoch], Any]


class Onward(NamedTuple):
    """What ``partial_fit`` goes on with."""

    engines: list[Engine]
    plan: Plan
    #: the scale of the rates
    eta0: float
    units: Units | None
    #: the number of the next step
    t: int
    warnings: list[Warning]


class FittedModel(EnginesModel):
    """A model that learns from all rows by fit, and from some rows by partial_fit."""

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
            source of chunks, such as ``lazynet.data.SvmlightFile(path)``, which has y and the
            weights of rows in it: every epoch reads it anew, in its own order and in constant
            memory.  Features are as they are then, without ``units_``; rows that are held out are
            kept in a temporary file.
        y : array of shape (n_samples,), or matrix of shape (n_samples, n_outputs)
            A regressor takes a number, or a column for each target.  A classifier takes class
            labels of any kind; or, in an array or a sparse matrix, 1 in the column of each label
            that a row has and 0 elsewhere.  A sparse y makes ``coef_`` and predictions sparse.  An
            array of one column holds classes, a sparse matrix of one column one label.
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
            Training ends when the callback returns a true value.
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
            epochs, unless the model chooses both its rates and the number of epochs; or if training
            has stalled, because the rates are too small or too large for the rows.  The warning
            then names the row that is far longer than the others.

        Examples
        --------
        >>> from lazynet import LazyNetClassifier
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

    @all_or_nothing
    def _learn(
        self, X: Any, y: Any, sample_weight: Any, sample_order: Any, *start: Any
    ) -> list[Warning]:
        """Train anew; returns the warnings to give."""
        p = self._settle()
        if not isinstance(X, Source):
            X, given, weights = self._rows_to_learn(p, X, y, sample_weight)
            return self._fit(p, X, given, weights, sample_order, *start)
        check_call(p, y, sample_weight, sample_order)
        self.n_features_in_ = X.facts().n_features
        self.__dict__.pop("feature_names_in_", None)
        prepare = self._prepare_for(p, X)
        with ExitStack() as files:
            return self._fit_source(p, self._rows_of(p, X, prepare, files), *start)

    def _prepare_for(self, p: SimpleNamespace, source: Source) -> Prepare:
        """What checks a chunk of the source and makes problems of its y."""
        raise NotImplementedError

    @all_or_nothing
    def _learn_on(
        self, X: Any, y: Any, sample_weight: Any, sample_order: Any, **known: Any
    ) -> list[Warning]:
        """Go on training; returns the warnings to give.  ``known``: the classes of a classifier."""
        if not isinstance(X, Source):
            return self._learn_from(X, y, sample_weight, sample_order, **known)
        check_arguments(y, sample_weight, sample_order)
        return learn_pass(
            self, X, lambda chunk: self._learn_from(*chunk[:2], chunk.weight, of_pass=True, **known)
        )

    def _learn_from(self, X: Any, y: Any, sample_weight: Any, *order: Any, **options: Any) -> Any:
        """Learn from some rows, as they are given or as those of a pass over a source."""
        raise NotImplementedError

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
        let_two_classes_be_one_problem(p, problems)
        labels = getattr(self, "_labels_given", None)
        check_memory(p, X.shape[1], len(problems), self._sparse_coef, labels)
        rows, held = None, None
        if p.early_stopping and generator is not None:
            strata = problems.codes if isinstance(problems, Classes) else None
            rows, held = split(X.shape[0], p.validation_fraction, generator, strata)
            _check_weights_of_parts(weights, rows, held)
        shape = shape_to_learn(X, rows)
        units = self._find_units(p, X, problems, rows)
        X, problems = in_units(units, X, problems)
        n_rows = X.shape[0] if rows is None else len(rows)
        sizes = sizes_of(X, p.plan.sizes)
        # A given order may visit other rows, and a given start may be a bad one.
        p.may_begin_anew &= order is None and coef_init is None and intercept_init is None
        self._find_l1(p, X, problems, shape, sizes, rows)
        steps_of_an_epoch = p.plan.n_steps(n_rows if order is None else order.shape[-1])
        listed = None if order is None or order.ndim == 1 else len(order)
        self._find_epochs(p, shape, listed)
        n_steps = check_n_steps("max_iter", p.max_iter, steps_of_an_epoch)
        eta0 = self._scale_of_rates(p, X, weights, rows)
        plan = p.plan.known(eta0, n_steps if p.tol is None else None)
        if p.tol is None and listed is not None and listed < p.max_iter:
            raise ValueError(f"sample_order has {listed} epochs, fewer than max_iter={p.max_iter}")
        touched = touched_columns(X) if keeps_best(p) else None
        engines, warnings = self._begun(
            p, plan, X.shape[1], len(problems), units, coef_init, intercept_init, keeper
        )
        learners = new_learners(engines, X, problems, plan, sizes)
        held_out = None
        if held is not None:
            held_out = HeldOut.of(X, problems, held, p.loss, p.plan.softmax)
        with workers_for(p, len(learners)) as workers:
            run = train(
                learners,
                Orders(X.shape[0], order, generator if p.shuffle else None, rows),
                t=0,
                max_iter=p.max_iter,
                stopping=Stopping(p.tol, p.n_iter_no_change, p.constant),
                verbose=p.verbose,
                callback=callback,
                validate=None if held_out is None else lambda: held_out.judge(engines),
                columns=touched,
                workers=workers,
                units=units,
                keeper=keeper,
            )
        self._keep_trained(p, engines, run, units, eta0)
        self._generator = generator if p.shuffle else None
        self._schedules = plan.schedule, learners[0].plan.schedule
        if p.tol is not None:
            warnings += doubts_about_fit(p, self._rate(), X, problems, rows, learners, run)
        return warnings

    def _rows_of(
        self, p: SimpleNamespace, source: Source, prepare: Prepare, files: ExitStack
    ) -> SourceRows:
        """The rows of a source, for ``_fit_source``."""
        return SourceRows(source, prepare, files)

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
        let_two_classes_be_one_problem(p, problems)
        p.chooses_units = False
        p.may_begin_anew &= coef_init is None and intercept_init is None
        held_out = None
        if p.early_stopping:
            seed = int(new_generator(keeper.seed(p.random_state)).randint(2**31))
            held_out = rows.hold_out(p.validation_fraction, seed, p.loss, p.plan.softmax)
        plan, eta0 = plan_for(self, p, rows)
        engines, warnings = self._begun(
            p, plan, X.shape[1], len(problems), None, coef_init, intercept_init, keeper
        )
        learners = new_learners(engines, X, problems, plan, sizes_of(X, plan.sizes))
        with workers_for(p, len(learners)) as workers:
            run = train(
                learners,
                orders_of(rows),
                t=0,
                max_iter=p.max_iter,
                stopping=Stopping(p.tol, p.n_iter_no_change, p.constant),
                verbose=p.verbose,
                callback=callback,
                validate=None if held_out is None else lambda: held_out.judge(engines),
                columns=np.arange(X.shape[1]) if keeps_best(p) else None,
                workers=workers,
                pass_over=rows.passes(learners, plan),
                keeper=keeper,
            )
        self._keep_trained(p, engines, run, None, eta0)
        self._generator = None
        self._schedules = plan.schedule, learners[0].plan.schedule
        losses = judged_losses(run)
        ended = p.tol is None or p.ends_on_purpose or run.ended_early
        if not ended and still_falls(losses, losses[0]):
            warnings.append(unfinished(p, self._rate(), losses))
        return warnings

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
        units = self._units_to_go_on_in(p, problems)
        X, problems = in_units(units, X, problems)
        onward = self._onward(p, units, (X.shape[1], len(problems)), X, weights)
        engines, plan = onward.engines, onward.plan
        order = check_order(sample_order, X.shape[0])
        generator = getattr(self, "_generator", None)
        if p.shuffle and generator is None:
            generator = new_generator(p.random_state)
        sizes = sizes_for_a_pass(X, plan, len(engines))
        learners = new_learners(engines, X, problems, plan, sizes)
        orders = Orders(X.shape[0], order, generator if p.shuffle else None)
        touched, t = touched_columns(X), onward.t
        with workers_for(p, len(learners)) as workers:
            self._undo.before(engines, touched, workers)
            for engine in engines:
                engine.retune(plan.settings)
            for epoch in range(1 if order is None or order.ndim == 1 else len(order)):
                t = run_pass(learners, orders.of(epoch), t, workers=workers)
        for engine in engines:
            engine.check_finite(touched, t)
        self._generator = generator
        self._keep_passed(p, onward, t)
        return onward.warnings

    def _units_to_go_on_in(self, p: SimpleNamespace, problems: Problems) -> Units | None:
        """The units in which ``partial_fit`` goes on."""
        let_two_classes_be_one_problem(p, problems)
        return self.units_ if self.__sklearn_is_fitted__() and p.chooses_units else None

    def _onward(
        self,
        p: SimpleNamespace,
        units: Units | None,
        sizes: tuple[int, int],
        X: sparse.csr_matrix | Callable[[bool], float],
        weights: NDArray[np.float64] | None,
    ) -> Onward:
        """The engines that ``partial_fit`` goes on with, and their plan; changes nothing.

        ``sizes``: the numbers of features and of problems.  X and the weights are the first rows,
        as ``_scale_of_rates`` takes them.
        """
        n_features, n_problems = sizes
        begun = self.__sklearn_is_fitted__()
        # The first call decides on the scale of the rates where the parameters leave it open.
        kept = self._scale if begun and p.eta0 is None and needs_scale(p.schedule) else None
        eta0 = self._scale_of_rates(p, X, weights) if kept is None else kept
        plan = p.plan.known(eta0, None)
        if begun and self._schedules is not None and isinstance(plan.schedule, Adaptive):
            # A rate that fit has lowered stays as it is, unless the parameters have changed.
            first, last = self._schedules
            plan = plan.with_schedule(last) if first == plan.schedule else plan
        storage = p.plan.storage
        if not begun:
            engines = plan.new_engines(n_features, n_problems, allowed_threads(p))
        elif units is not self.units_:
            engines = self._as_given(self._divided(plan, n_problems), plan)
        elif self._storage == storage and self._suits(plan, n_problems):
            engines = self._engines
        else:
            same_average = self._storage[0] == storage[0]
            divided = self._divided(plan, n_problems)
            engines = [plan.continued(engine, average=same_average) for engine in divided]
        warnings = doubts_about_start(engines, plan) if begun else []
        return Onward(engines, plan, eta0, units, self.t_ if begun else 0, warnings)

    def _keep_passed(self, p: SimpleNamespace, onward: Onward, t: int) -> None:
        """Take over what a pass has learned; the next step has the number ``t``."""
        engines, eta0 = onward.engines, onward.eta0
        self._engines, self._storage, self.units_ = engines, p.plan.storage, onward.units
        self._coefficients = self._sparse_rows = None
        self.t_, self.eta0_, self.l1_ = t, present_rate(engines, eta0), p.l1
        if has_scale(p):
            self._scale = eta0
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self.history_ = getattr(self, "history_", [])

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

        >>> from lazynet import LazyNetClassifier, LazyNetRegressor
        >>> LazyNetClassifier(l1=0.1).verify([[1.0, 0.0], [0.0, 2.0]], ["no", "yes"]).agrees
        True
        >>> LazyNetRegressor(l1=0.1).verify([[1.0, 0.0], [0.0, 2.0]], [3.0, 5.0]).agrees
        True
        """
        probe = type(self)(**self.get_params(deep=False))
        p = probe._settle()
        X, given, weights = probe._rows_to_learn(p, X, y, sample_weight)
        max_rows = check_integer("max_rows", max_rows, 1)
        epochs = check_integer("epochs", epochs, 1, LARGEST_EPOCHS)
        problems = probe._problems(X, given, weights)
        let_two_classes_be_one_problem(p, problems)
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
        shape = shape_to_learn(X, None)
        units = probe._find_units(p, X, problems)
        X, problems = in_units(units, X, problems)
        probe._find_l1(p, X, problems, shape)
        probe._find_epochs(p, shape)
        n_steps = p.plan.n_steps(affordable_rows(X, max_rows, epochs)) * epochs
        plan = p.plan.known(probe._scale_of_rates(p, X, weights), n_steps)
        return verify(plan, X, problems, max_rows, epochs)


def _check_callback(callback: Any) -> None:
    """Refuse a callback that cannot be called."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")


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
