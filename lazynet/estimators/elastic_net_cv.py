"""LazyNetClassifierCV and LazyNetRegressorCV: a grid of settings learns in one pass over X."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from lazynet.catalogue import RuleLike
from lazynet.choice import FOLDS, Fold, folds_of, means_and_errors
from lazynet.data import as_examples, sizes_of
from lazynet.defaults import (
    AUTO,
    N_ITER_NO_CHANGE,
    RULE_OR_AUTO,
    SCHEDULE_OR_AUTO,
    TOL,
    VALIDATION_FRACTION,
    found_epochs,
)
from lazynet.engines.base import refuse_overflow
from lazynet.epochs import Stopping
from lazynet.estimators.base import SparseClassifier, SparseLinear, SparseRegressor, helpful
from lazynet.estimators.doubts import Rate, stalled, unfinished
from lazynet.estimators.elastic_net import LazyNetClassifier, LazyNetRegressor
from lazynet.estimators.grid_course import GridCourse, GridSearch, LastFit, Orders, Search
from lazynet.estimators.mapped_rows import takes_sources
from lazynet.estimators.planned import shape_to_learn
from lazynet.estimators.targets import has_a_column_per_label
from lazynet.grids import GridTraining, Setting, check_offered, planned, settings_of, single_engine
from lazynet.importances import CLASS_WEIGHT, check_sample_weight, importances, total_of
from lazynet.learners import Learner, run_pass
from lazynet.losses import LOSS, LossLike
from lazynet.models.attributes import array, attributes, integer, optional, real, units
from lazynet.models.checkpoints import EVERY, Keeper, keeper_of
from lazynet.models.scattered import WhenAsked
from lazynet.params import (
    EPOCHS_OR_NONE,
    FLAG,
    THREADS,
    VERBOSITY,
    Choice,
    Integer,
    Number,
    Special,
    check_array,
    check_flag,
    check_n_steps,
    check_number,
    shown,
    table,
)
from lazynet.path_figures import plot_grid
from lazynet.paths import N_POINTS, SMALLEST, STRENGTHS
from lazynet.penalties import ElasticNet
from lazynet.plan import Plan
from lazynet.problems import Problems
from lazynet.schedules import ScheduleLike
from lazynet.seeds import SEED, new_generator
from lazynet.stalls import NOTHING_LEARNED, look_closely, loss_of_constants, still_falls
from lazynet.threads import Workers
from lazynet.transactions import all_or_nothing
from lazynet.units import Units
from lazynet.validation import split

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The first l1 of the grid of l1 where none is given, in units of the l1 that a fit of one setting
#: takes where it is given none; the number of its points, and its last l1 as a share of the first.
LARGEST_L1, N_L1S, LAST_L1 = 1e4, 11, 1e-5
#: What judges a setting by the predictions that are made before their rows are learned from.
PROGRESSIVE = "progressive"


def _check_factors(name: str, value: Any) -> tuple[float, ...]:
    factors = np.atleast_1d(check_array(name, "must hold real numbers", value))
    if factors.ndim > 1 or not factors.size:
        raise ValueError(f"{name} must be a list of numbers, got {shown(value)}")
    return tuple(check_number(name, factor, above=0) for factor in factors.tolist())


class _ElasticNetGrid(SparseLinear):
    """The parameters, the search and the last fit that classifier and regressor share."""

    _kinds = table(
        loss=LOSS,
        l1s=STRENGTHS,
        l2s=STRENGTHS,
        rate_factors=Special(check=_check_factors),
        n_points=N_POINTS,
        smallest=SMALLEST,
        rule=RULE_OR_AUTO,
        schedule=SCHEDULE_OR_AUTO,
        eta0=Number(above=0, optional=True),
        cv=FOLDS,
        validation_fraction=Number(above=0, below=1),
        scoring=Choice(accepted=(PROGRESSIVE,), optional=True),
        refit=Special(check=check_flag, optional=True),
        max_iter=EPOCHS_OR_NONE,
        tol=Number(least=0, optional=True),
        n_iter_no_change=Integer(least=1),
        fit_intercept=FLAG,
        shuffle=FLAG,
        dtype=Choice(accepted=("float64", "float32"), optional=True),
        random_state=SEED,
        n_jobs=THREADS,
        verbose=VERBOSITY,
    )
    #: the estimator of one setting
    _single: ClassVar[type[LazyNetClassifier] | type[LazyNetRegressor]]

    # Set by training.
    l1_: float
    l2_: float
    rate_factor_: float
    eta0_: float
    units_ = WhenAsked[Units | None]()
    l1s_: NDArray[np.float64]
    l2s_: NDArray[np.float64]
    rate_factors_: NDArray[np.float64]
    losses_: NDArray[np.float64]
    curves_: NDArray[np.float64]
    standard_errors_: NDArray[np.float64]
    nonzeros_: NDArray[np.int64]
    best_index_: int
    best_epoch_: int
    n_iter_: int
    _saved = attributes(
        l1_=real,
        l2_=real,
        rate_factor_=real,
        eta0_=real,
        units_=optional(units),
        l1s_=array("f", None),
        l2s_=array("f", None),
        rate_factors_=array("f", None),
        losses_=array("f", None, None, None),
        curves_=array("f", None, None),
        standard_errors_=array("f", None, None),
        nonzeros_=array("iu", None, None),
        best_index_=integer,
        best_epoch_=integer,
        n_iter_=integer,
    )

    def _settle(self) -> SimpleNamespace:
        """The parameters as plain values; ``one`` are those of a fit of a single setting."""
        p = super()._settle()
        p.l2s = np.zeros(1) if p.l2s is None else np.atleast_1d(p.l2s)
        p.progressive = p.scoring == PROGRESSIVE
        p.refit = not p.progressive if p.refit is None else p.refit
        p.dtype = p.dtype or ("float32" if p.refit else "float64")
        if not p.refit and not p.progressive and p.cv is not None:
            raise ValueError(
                "refit=False leaves a model for every fold and none for all rows: give cv=None, "
                "or scoring='progressive', or leave refit at its default"
            )
        # The penalty that the rule is checked with: every setting is checked again.
        l1s = np.zeros(1) if p.l1s is None else np.atleast_1d(p.l1s)
        p.model = self._single(
            self.loss, l1=None if p.l1s is None else float(l1s[0]), l2=float(p.l2s[0]),
            rule=self.rule, schedule=self.schedule, eta0=self.eta0,
            fit_intercept=self.fit_intercept,
        )  # fmt: skip
        p.one = p.model._settle()
        check_offered(p.one.plan, p.rate_factors)
        for setting in settings_of(l1s, p.l2s, (1.0,)):
            Plan.of(SimpleNamespace(**{**vars(p.one), "l1": setting.l1, "l2": setting.l2}))
        return p

    def _settings(
        self, p: SimpleNamespace, X: sparse.csr_matrix, problems: Problems
    ) -> list[Setting]:
        """The grid: what the parameters name, or l1 in equal ratios around that of a single fit."""
        l1s = p.l1s
        if l1s is None:
            p.model._find_l1(p.one, X, problems)
            # Rows without any value ask for no penalty; one that is not 0 does no harm.
            largest = LARGEST_L1 * (p.one.l1 or 1.0)
            l1s = np.geomspace(largest, largest * p.smallest, p.n_points)
        return settings_of(np.atleast_1d(l1s), p.l2s, p.rate_factors)

    def _folds(
        self,
        p: SimpleNamespace,
        y: NDArray[Any],
        groups: Any,
        problems: Problems,
        classes: NDArray[Any] | None,
        generator: np.random.RandomState | None,
    ) -> list[Fold]:
        """The folds; a held-out share is one of them, and the progressive loss holds none out."""
        n = len(y)
        if p.progressive:
            return [Fold(np.arange(n), np.zeros(0, dtype=np.int64))]
        if p.cv is not None:
            folds = folds_of(p.cv, y, groups, problems, classes)
            for number, fold in enumerate(folds):
                _refuse_repeated(number, fold.train)
            return folds
        weights = problems.importances
        if weights is not None:
            total_of(weights)
        strata = None if classes is None else np.searchsorted(classes, y)
        assert generator is not None, "rows are held out by a generator"
        train, test = split(
            n, p.validation_fraction, generator, strata, "give scoring='progressive'"
        )
        for rows, what in ((train, "to learn from"), (test, "to hold out")):
            if weights is not None and not weights[rows].any():
                raise ValueError(
                    f"sample_weight, times class_weight, must not be zero for all {len(rows)} rows "
                    f"{what}: change validation_fraction"
                )
        return [Fold(train, test)]

    def _fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: NDArray[Any],
        problems: Problems,
        groups: Any,
        classes: NDArray[Any] | None,
        keeper: Keeper,
    ) -> list[Warning]:
        """Choose a setting, and train with it or take what it has learned; returns the warnings."""
        folds = None
        if p.cv is not None and not p.progressive:
            folds = self._folds(p, y, groups, problems, classes, None)
        data = {
            "X": X,
            "y": y,
            "sample_weight": problems.importances,
            "the rows of the folds": tuple(
                side for fold in folds or () for side in (fold.train, fold.test)
            ),
        }
        keeper.identify(self, p, lambda: data)
        generator = new_generator(keeper.seed(p.random_state))
        # The last fit visits the rows in the orders of a fit of this setting alone.
        begun = generator.get_state()
        if folds is None:
            folds = self._folds(p, y, groups, problems, classes, generator)
        # As a fit of one setting does it: a penalty that is given acts on the weights as they are,
        # and features of a source are learned from as they are.
        as_given = p.l2s.any() or self._rows_are_mapped
        units = None if as_given else p.model._find_units(p.one, X, problems)
        shape = shape_to_learn(X, None)
        X = X if units is None else units.rows(X)
        settings = self._settings(p, X, problems)
        if p.max_iter is None:
            epochs = found_epochs(*shape, self._takes_margin_losses, penalised=True)
            p.max_iter = 1 if p.progressive else epochs
        check_n_steps("max_iter", p.max_iter, X.shape[0])
        # What suits the rows; the bound that a penalty sets differs between the settings.
        free = SimpleNamespace(**vars(p.one))
        free.plan = replace(p.one.plan, penalty=ElasticNet())
        eta0 = p.model._scale_of_rates(free, X, problems.importances)
        plans = planned(p.one, settings, eta0)
        sizes = sizes_of(X, plans[0].sizes)
        training = GridTraining(plans, settings, X, problems, folds, sizes, p.dtype)
        counts = _weights_of(p, folds, problems.importances)
        course = GridCourse(keeper.found("grid"))
        with keeper.following("grid", course.written):
            if course.found is None:
                n_threads = min(effective_n_jobs(p.n_jobs), len(training.blocks))
                orders = Orders(generator, X.shape[0], shuffle=p.shuffle)
                stopping = Stopping(p.tol, p.n_iter_no_change)
                course.go_on("search", GridSearch(training, orders, stopping))
                assert course.search is not None, "the course follows the search"
                with Workers(n_threads) as workers:
                    found = self._search(p, course.search, counts, workers, keeper)
                course.found = found
            found = course.found
            best = settings[found.best]
            plan = plans[found.best]
            engines = [single_engine(plan, X.shape[1], best.factor) for _ in problems]
            learners = [
                Learner(engine, as_examples(X, *problem, sizes), plan)
                for engine, problem in zip(engines, problems, strict=True)
            ]
            kept = None
            if found.model is None:
                own = np.random.RandomState()
                own.set_state(begun)
                last = LastFit(learners, Orders(own, X.shape[0], shuffle=p.shuffle))
                course.go_on("last", last)
                kept = _trained_alone(p, last, found.epoch + 1, best, keeper)
        if found.model is None:
            model = (
                np.vstack([engine.model() for engine in engines]),
                np.array([engine.model_intercept for engine in engines]),
            )
            rate = engines[0].present_rate
        else:
            model, rate = found.model, found.rate
        with _told_of(best):
            refuse_overflow(found.losses.shape[1] * X.shape[0], training.advice, *model)
        if p.tol is not None and found.model is not None:
            for engine, *one in zip(engines, *model, strict=True):
                engine.load(*one)
        if units is not None:
            weights = units.weights(model[0])
            model = weights, np.asarray(units.intercept(weights[:, units.moved], model[1]))
        self._load(*model)
        self.units_ = units
        self.l1s_, self.l2s_, self.rate_factors_ = (
            np.array([getattr(setting, name) for setting in settings])
            for name in ("l1", "l2", "factor")
        )
        self.l1_, self.l2_, self.rate_factor_ = best.l1, best.l2, best.factor
        if rate is None and plans[0].rule.scheduled:
            rate = getattr(plans[found.best].schedule, "eta0", eta0)
        elif rate is None:
            rate = eta0 * best.factor
        self.eta0_ = float(rate)
        self.losses_, self.nonzeros_ = found.losses, found.nonzeros
        self.curves_, self.standard_errors_ = means_and_errors(found.losses, counts)
        self.best_index_, self.best_epoch_ = found.best, found.epoch
        self.n_iter_ = found.epoch + 1
        warnings = _warnings_of_ends(p, self)
        if p.tol is not None:
            # The column of a search has not learned from the rows that judge.
            fold = None if p.progressive or found.model is None else folds[0]
            warnings += self._doubts_about(p, X, problems, fold, learners, found, kept)
        return warnings

    def _doubts_about(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        problems: Problems,
        fold: Fold | None,
        learners: Sequence[Learner],
        found: Search,
        kept: float | None,
    ) -> list[Warning]:
        """The warnings that a fit of the chosen setting alone would give.

        ``fold`` has the rows that it has learned from and those that judge, None for all rows;
        ``kept`` is the mean loss of its predictions in its last epoch, None if its column of the
        search is the model.
        """
        rows, judged = (None, problems) if fold is None else (fold.train, problems.only(fold.test))
        rate = Rate(self.eta0_, in_units=self.units_ is not None)
        constant = loss_of_constants(judged, learners[0].plan)
        curve = self.curves_[found.best] * len(problems)
        kept = float(curve[found.epoch]) if kept is None else kept
        if kept >= NOTHING_LEARNED * constant:
            verdict = look_closely(learners, X, problems, rows)
            if verdict.too_small or verdict.too_large:
                return [stalled(p.one, rate, verdict, kept, constant)]
        if not found.ended_early and still_falls(curve.tolist(), constant):
            p.one.max_iter = p.max_iter
            return [unfinished(p.one, rate, curve.tolist())]
        return []

    def _search(
        self,
        p: SimpleNamespace,
        at: GridSearch,
        counts: NDArray[np.float64],
        workers: Workers,
        keeper: Keeper,
    ) -> Search:
        """Train all settings, epoch by epoch, until the least of their losses falls no more."""
        training, ended_early = at.training, False
        for epoch in range(len(at.losses), p.max_iter):
            found = training.epoch(at.orders.draw(), workers, keeper.point)
            if not p.progressive:
                found = training.held_out(workers)
            at.losses.append(np.where(np.isnan(found), np.inf, found))
            means = np.average(at.losses[-1], axis=1, weights=counts)
            now = int(means.argmin())
            if means[now] < at.least and not p.progressive:
                at.least, at.best, at.best_epoch = float(means[now]), now, epoch
                if not p.refit:
                    at.model, at.rate = training.model(now), training.present_rate(now)
            if p.verbose:
                setting = f"l1={training.plans[now].penalty.l1:.3g}"
                setting += f", l2={training.plans[now].penalty.l2:.3g}"
                print(f"epoch {epoch + 1:4d}  least loss {means[now]:.6g} at {setting}")
            if not training.alive.any():
                break
            if at.stopping.after(float(means[now])):
                ended_early = True
                break
        if p.progressive:
            # Later epochs predict rows that were learned from: the first epoch chooses.
            first = np.where(training.alive, at.losses[0][:, 0], np.inf)
            at.best, at.best_epoch = int(first.argmin()), len(at.losses) - 1
            at.least = float(first[at.best])
        if not np.isfinite(at.least):
            raise FloatingPointError(
                f"no setting of the grid has a finite loss: the model of every setting overflowed. "
                f"{training.advice}"
            )
        if p.progressive and not p.refit:
            at.model, at.rate = training.model(at.best), training.present_rate(at.best)
        return Search(
            np.stack(at.losses, axis=1), training.nonzeros(workers), at.best, at.best_epoch,
            at.model, at.rate, ended_early,
        )  # fmt: skip

    def plot(self) -> Figure:
        """``plot_grid`` of this model."""
        check_is_fitted(self)
        return plot_grid(self)


@contextmanager
def _told_of(setting: Setting) -> Iterator[None]:
    """Name the setting in the error about an overflow."""
    try:
        yield
    except FloatingPointError as error:
        raise FloatingPointError(f"with {_named(setting)}, which was chosen, {error}") from error


def _named(setting: Setting) -> str:
    """The setting in words, for messages.

    >>> _named(Setting(0.1, 0.0, 2.0))
    'l1=0.1, l2=0 and rates times 2'
    """
    return f"l1={setting.l1:.3g}, l2={setting.l2:.3g} and rates times {setting.factor:.3g}"


def _trained_alone(
    p: SimpleNamespace, at: LastFit, epochs: int, setting: Setting, keeper: Keeper
) -> float:
    """Train a setting with all rows; returns the mean loss of the predictions in the last epoch."""
    learners, n_rows = at.learners, at.orders.n_rows

    def after(rows: int) -> None:
        at.rows = rows
        keeper.point()

    with _told_of(setting), Workers(min(effective_n_jobs(p.n_jobs), len(learners))) as workers:
        while at.epoch < epochs:
            judged = at.losses if at.epoch == epochs - 1 else None
            given = at.orders.draw(), at.epoch * n_rows, None, judged, workers
            run_pass(learners, *given, begin=at.rows, after=after)
            at.epoch, at.rows = at.epoch + 1, 0
    return float(np.sum(at.losses) / n_rows)


def _refuse_repeated(number: int, rows: NDArray[np.int64]) -> None:
    """Refuse a fold that would learn from a row more often than once in an epoch."""
    sorted_rows = np.sort(rows)
    repeated = sorted_rows[1:][sorted_rows[1:] == sorted_rows[:-1]]
    if len(repeated):
        raise ValueError(
            f"cv must name a row to learn from once, and its split {number} names row "
            f"{repeated[0]} several times: every epoch visits a row once, so that bootstrap "
            f"splits cannot be used"
        )


def _warnings_of_ends(p: SimpleNamespace, model: _ElasticNetGrid) -> list[Warning]:
    """Warnings about a best setting at an end of the l1s, l2s or rate_factors that were tried.

    No warning is given where going on could change nothing: at a strength of 0, at an l1 that
    leaves no weight, and where the next value towards the middle is as good up to ``tol``.
    """
    best, found = model.best_index_, []
    curves = model.curves_[:, :1] if p.progressive else model.curves_
    least = curves.min(axis=1)
    axes = {"l1s": model.l1s_, "l2s": model.l2s_, "rate_factors": model.rate_factors_}
    for name, values in axes.items():
        tried = np.unique(values)
        if len(tried) == 1 or tried[0] < values[best] < tried[-1]:
            continue
        smallest = values[best] == tried[0]
        if values[best] == 0 or (
            name == "l1s" and not smallest and not model.nonzeros_[best].any()
        ):
            continue
        next_one = values == (tried[1] if smallest else tried[-2])
        for other, its in axes.items():
            next_one &= (other == name) | (its == its[best])
        if least[next_one].min() <= least[best] * (1.0 + (p.tol or 0.0)):
            continue
        end, size = ("smallest", "smaller") if smallest else ("largest", "larger")
        told = f"give {size} {name}"
        if name == "l1s" and p.l1s is None and smallest:
            told = f"lower smallest={p.smallest:g}"
        one = {"l1s": "l1", "l2s": "l2", "rate_factors": "factor of the rates"}[name]
        found.append(
            UserWarning(
                f"the best {one}, {values[best]:.3g}, is the {end} one that was tried: a {size} "
                f"one may be better: {told}"
            )
        )
    return [*found]


def _weights_of(
    p: SimpleNamespace, folds: Sequence[Fold], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """What every fold counts in a mean: the weight of its held-out rows."""
    if p.progressive:
        return np.ones(1)
    return np.array(
        [float(len(fold.test) if weights is None else weights[fold.test].sum()) for fold in folds]
    )


class LazyNetClassifierCV(SparseClassifier, _ElasticNetGrid):
    """Linear classification with an elastic net, chosen from a grid that learns in one pass over X.

    Every combination of ``l1s``, ``l2s`` and ``rate_factors`` is a setting of
    :class:`LazyNetClassifier`.  All settings learn side by side from each row: a setting is a
    column of one matrix of weights, with a clock, or the numbers of its rule, of its own.  With
    ``cv`` every fold has such a matrix, and each row is a step for the folds that do not hold it
    out.  A column has the weights that a fit of this setting alone has, on the same rows in the
    same order, with features in the same units and at the same scale of the rates, which all rows
    decide on (to the digits of ``dtype``).  The matrices need memory:
    ``n_settings * n_folds * n_features`` numbers, for "ftrl" and "adagrad" twice as many, and as
    often as there are classes.

    The setting and the epoch with the least mean loss are chosen; the model is then trained with
    all rows.  Several classes are trained one against the rest, all with the same setting.  For a y
    with a column per label, fit one for each column.  A setting whose predictions or steps are not
    finite numbers has an infinite loss from then on; the others are judged.

    To repeat the last fit with :class:`LazyNetClassifier`, give it ``l1=l1_``, ``l2=l2_``,
    ``max_iter=n_iter_``, ``tol=None`` and the same ``random_state``, and where ``rate_factor_`` is
    not 1 also the scaled rates.  Where ``units_`` is not None, ``l1_`` is that of the rows in these
    units: fit on ``units_.rows(X)``.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        Any loss of :class:`LazyNetClassifier`.
    l1s : float or array, optional
        The strengths l1 to try.  None: ``n_points`` of them in equal ratios, from 10,000 times the
        l1 that :class:`LazyNetClassifier` takes by itself, down to ``smallest`` times the first;
        without l2, features are learned from in units of their own where it does so (``units_``).
    l2s : float or array, optional
        The strengths l2 to try; None is 0.
    rate_factors : sequence of float, default=(1.0,)
        Factors of the rates to try: of eta0 of a schedule, of alpha of "adagrad" and "ftrl" (of the
        constant in its place where alpha follows the rows), of 1/gamma of "rda".
    n_points : int, default=11
        The number of l1 where ``l1s`` is None.
    smallest : float, default=1e-5
        The last l1 as a share of the first where ``l1s`` is None.
    rule, schedule, eta0
        As in :class:`LazyNetClassifier`.  Rules: "fobos", "sgd", "truncated_gradient" without a
        threshold, "rda", "ftrl", "adagrad".  Schedules: any but "adaptive".
    cv : int, splitter, iterable or None, default=5
        The folds: a number of them (by classes in equal shares, without shuffling), a splitter of
        scikit-learn, or pairs of rows to learn from, each once, and rows to hold out.  None: one
        held-out part.
    validation_fraction : float, default=0.1
        The share of the rows that are held out with ``cv=None``; every class keeps its share.
    scoring : {None, "progressive"}, default=None
        None: the loss of held-out rows judges.  "progressive": the loss of the predictions in the
        first epoch, each made before its row is learned from, judges; nothing is held out, and
        ``cv`` is not used.
    refit : bool or None, default=None
        Whether to train the chosen setting anew, with all rows and the chosen number of epochs.
        False takes the column that has learned already, which needs ``cv=None`` or
        ``scoring="progressive"``.  None: False for "progressive", else True.
    max_iter : int or None, default=None
        The largest number of epochs.  None: 1 for "progressive", else that of
        :class:`LazyNetClassifier`.
    tol : float or None, default=1e-3
        Stop when the least loss of any setting has not fallen below (1 - tol) times its least value
        for ``n_iter_no_change`` epochs in a row; None: exactly ``max_iter`` epochs.
    n_iter_no_change : int, default=5
        See ``tol``.
    fit_intercept : bool, default=True
        Whether to learn an intercept, which is not penalised.
    shuffle : bool, default=True
        Visit the rows in a new random order in each epoch.
    class_weight : dict, "balanced" or None, default=None
        The importance of a row by its class, in the loss of held-out rows too.
    dtype : {"float64", "float32"} or None, default=None
        The type of the weights during the search.  None: float32, which needs half the memory of
        float64 and less time, where the chosen setting is trained anew; float64 where its column is
        taken.  A model that is trained anew always has float64.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling and of the held-out share.
    n_jobs : int or None, default=None
        Threads that share the folds, the classes and, 32 at a time, the settings; None is one
        thread, -1 one per processor.  The model is the same, bit for bit, for any number.
    verbose : int, default=0
        1: print a line for every epoch.

    Attributes
    ----------
    l1_, l2_, rate_factor_ : float
        The setting that was chosen.  Where ``units_`` is not None, ``l1_`` and ``l1s_`` belong to
        the weights in these units, and not to the weights in ``coef_``.
    units_ : Units or None
        The units in which the features have been learned from.  ``units_.rows(X)`` are the rows in
        these units: a :class:`LazyNetClassifier` with ``l1=l1_`` that is fitted to them makes the
        same predictions for such rows.  None for features as they are.
    eta0_ : float
        The scale of its rates: eta0 of the schedule, or alpha of the rule, times the factor.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    l1s_, l2s_, rate_factors_ : ndarray of shape (n_settings,)
        The settings, the largest penalties first.
    losses_ : ndarray of shape (n_settings, n_epochs, n_folds)
        The mean loss that judges; over several classes the mean.  Without ``cv`` there is one fold.
        Infinite from the epoch on in which predictions or steps were not finite numbers.
    curves_, standard_errors_ : ndarray of shape (n_settings, n_epochs)
        The means of ``losses_`` over the folds, and their standard errors.
    nonzeros_ : ndarray of shape (n_settings, n_folds)
        The number of weights that are not 0 after the last epoch, of all classes together; 0 where
        the loss is infinite because the setting has overflowed.
    best_index_ : int
        The setting that was chosen.
    best_epoch_ : int
        The epoch with its least loss, from 0 on; for "progressive" the last.
    n_iter_ : int
        The epochs of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import LazyNetClassifierCV
    >>> X = sparse.random(1000, 200, density=0.1, format="csr", random_state=0)
    >>> noise = np.random.default_rng(0).normal(0.0, 0.2, 1000)
    >>> y = np.asarray(X[:, :3].sum(axis=1)).ravel() + noise > 0.2
    >>> model = LazyNetClassifierCV(l2s=[0.0, 1e-3], random_state=0).fit(X, y)
    >>> model.curves_.shape[0], model.losses_.shape[2]  # settings and folds
    (22, 5)
    >>> bool(model.curves_[model.best_index_, model.best_epoch_] == model.curves_.min())
    True
    >>> len(model.plot().axes)  # losses and nonzeros against the penalty, and losses by epoch
    3
    >>> bool((model.predict(X) == (model.decision_function(X) > 0)).all())
    True

    One pass over the rows, in which every prediction before a step judges:

    >>> model = LazyNetClassifierCV(scoring="progressive", random_state=0).fit(X, y)
    >>> model.n_iter_, model.losses_.shape
    (1, (11, 1, 1))
    """

    _kinds = table(**_ElasticNetGrid._kinds, class_weight=CLASS_WEIGHT)
    _single = LazyNetClassifier

    @helpful
    def __init__(
        self,
        loss: LossLike = "log_loss",
        *,
        l1s: ArrayLike | None = None,
        l2s: ArrayLike | None = None,
        rate_factors: Sequence[float] = (1.0,),
        n_points: int = N_L1S,
        smallest: float = LAST_L1,
        rule: RuleLike = AUTO,
        schedule: ScheduleLike = AUTO,
        eta0: float | None = None,
        cv: Any = 5,
        validation_fraction: float = VALIDATION_FRACTION,
        scoring: str | None = None,
        refit: bool | None = None,
        max_iter: int | None = None,
        tol: float | None = TOL,
        n_iter_no_change: int = N_ITER_NO_CHANGE,
        fit_intercept: bool = True,
        shuffle: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        dtype: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Choose a setting and train; an interrupted call leaves the estimator as it was.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features), or source
            The rows to learn from.  Or a source of ``lazynet.streams``, which has y and the weights
            in it: its rows are mapped into memory from a temporary file.
        y : array of shape (n_samples,)
            Class labels of any kind; None with a source.
        sample_weight : array of shape (n_samples,), optional
            The importance of each row: a factor of its loss, where it is learned from and where it
            is held out.
        groups : array of shape (n_samples,), optional
            The group of each row, for a ``cv`` that keeps groups together.
        checkpoint, every : path and float, optional
            A file in which the fit is kept while it runs, and the seconds between two files; see
            :meth:`LazyNetClassifier.fit`.  It is written between two chunks of rows.

        Warns
        -----
        UserWarning
            If the best setting is at an end of the ``l1s``, ``l2s`` or ``rate_factors``, so that a
            value beyond may be better; not at a strength of 0, at an l1 that leaves no weight, or
            where the next value is as good up to ``tol``.
        ConvergenceWarning
            With ``tol``: where :class:`LazyNetClassifier` would warn after a fit of the chosen
            setting, because its loss still falls fast or its rates are too small or too large.
        """
        with keeper_of(checkpoint, every) as keeper:
            warnings = self._learn(X, y, sample_weight, groups, keeper)
        self._warn(warnings)
        return self

    @all_or_nothing
    @takes_sources
    def _learn(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, keeper: Keeper
    ) -> list[Warning]:
        """Choose a setting and train; returns the warnings to give."""
        p = self._settle()
        if has_a_column_per_label(y):
            raise ValueError(
                "LazyNetClassifierCV chooses for one problem, or for classes one against the rest; "
                "several labels: fit one LazyNetClassifierCV for each column of y, or give its l1, "
                "l2 and rates to a LazyNetClassifier, which learns all labels in one pass"
            )
        X, y, classes = self._check_training(X, y, None, reset=True)
        weights = importances(p.class_weight, classes, X, y, check_sample_weight(sample_weight, X))
        problems = self._problems(X, (y, classes), weights)
        warnings = self._fit(p, X, y, problems, groups, classes, keeper)
        self.classes_ = classes
        return warnings

    def predict_top(self, X: Any, k: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The ``k`` classes with the highest w.x + b; see :meth:`LazyNetClassifier.predict_top`.

        >>> X, y = np.eye(3).repeat(4, axis=0), ["a", "b", "c"] * 4
        >>> y = np.sort(y)
        >>> model = LazyNetClassifierCV(l1s=0.0, cv=2, max_iter=20, random_state=0).fit(X, y)
        >>> model.predict_top([[5.0, 0.0, 1.0]], 2)[0].tolist()
        [['a', 'c']]
        """
        # It needs nothing of LazyNetClassifier but predictions and classes_.
        return LazyNetClassifier.predict_top(self, X, k)  # type: ignore[arg-type]


class LazyNetRegressorCV(SparseRegressor, _ElasticNetGrid):
    """Linear regression with an elastic net, chosen from a grid that learns in one pass over X.

    The parameters and attributes are the same as in :class:`LazyNetClassifierCV`, with these
    differences.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        Any loss of :class:`LazyNetRegressor`.
    cv : int, splitter, iterable or None, default=5
        A number of folds is that many parts of the rows as they stand, without shuffling.
    max_iter : int or None, default=None
        The largest number of epochs.  None: 1 for "progressive", else 100.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights.
    intercept_ : ndarray of shape (1,)
        The intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import LazyNetRegressorCV
    >>> generator = np.random.default_rng(0)
    >>> X = generator.standard_normal((200, 20))
    >>> y = X @ np.r_[3.0, -2.0, np.zeros(18)] + generator.standard_normal(200)
    >>> model = LazyNetRegressorCV(random_state=0).fit(X, y)
    >>> model.coef_[:2].round(), model.predict(X).shape
    (array([ 3., -2.]), (200,))
    >>> len(model.plot().axes)
    3
    """

    _kinds = _ElasticNetGrid._kinds
    _single = LazyNetRegressor

    @helpful
    def __init__(
        self,
        loss: LossLike = "squared_error",
        *,
        l1s: ArrayLike | None = None,
        l2s: ArrayLike | None = None,
        rate_factors: Sequence[float] = (1.0,),
        n_points: int = N_L1S,
        smallest: float = LAST_L1,
        rule: RuleLike = AUTO,
        schedule: ScheduleLike = AUTO,
        eta0: float | None = None,
        cv: Any = 5,
        validation_fraction: float = VALIDATION_FRACTION,
        scoring: str | None = None,
        refit: bool | None = None,
        max_iter: int | None = None,
        tol: float | None = TOL,
        n_iter_no_change: int = N_ITER_NO_CHANGE,
        fit_intercept: bool = True,
        shuffle: bool = True,
        dtype: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = EVERY,
    ) -> Self:
        """Choose a setting and train; see :meth:`LazyNetClassifierCV.fit`."""
        with keeper_of(checkpoint, every) as keeper:
            warnings = self._learn(X, y, sample_weight, groups, keeper)
        self._warn(warnings)
        return self

    @all_or_nothing
    @takes_sources
    def _learn(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, keeper: Keeper
    ) -> list[Warning]:
        """Choose a setting and train; returns the warnings to give."""
        p = self._settle()
        if has_a_column_per_label(y):
            raise ValueError(
                "LazyNetRegressorCV chooses for one target; several targets: fit one "
                "LazyNetRegressorCV for each column of y, or give its l1, l2 and rates to a "
                "LazyNetRegressor, which learns all targets in one pass"
            )
        X, y = self._check_training(X, y, reset=True)
        weights = check_sample_weight(sample_weight, X)
        return self._fit(p, X, y, self._problems(X, y, weights), groups, None, keeper)
