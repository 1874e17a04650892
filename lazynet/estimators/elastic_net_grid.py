"""What the estimators share that let a grid of settings learn in one pass over X."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lazynet.choice import FOLDS, means_and_errors
from lazynet.defaults import (
    RULE_OR_AUTO,
    SCHEDULE_OR_AUTO,
    found_epochs,
)
from lazynet.engines.base import refuse_overflow
from lazynet.epochs import Stopping
from lazynet.estimators.base import SparseLinear
from lazynet.estimators.doubts import Rate
from lazynet.estimators.elastic_net import LazyNetClassifier, LazyNetRegressor
from lazynet.estimators.grid_course import GridCourse, GridSearch, LastFit, Orders, Search
from lazynet.estimators.grid_rows import GridRows, Visit
from lazynet.grids import Setting, check_offered, planned, settings_of, single_engine
from lazynet.losses import LOSS
from lazynet.models.attributes import array, attributes, integer, optional, real, units
from lazynet.models.checkpoints import Keeper
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
from lazynet.seeds import SEED, new_generator
from lazynet.threads import Workers
from lazynet.units import Units

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


class ElasticNetGrid(SparseLinear):
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
        # No setting of a grid begins anew.
        p.one.may_begin_anew = False
        check_offered(p.one.plan, p.rate_factors)
        for setting in settings_of(l1s, p.l2s, (1.0,)):
            Plan.of(SimpleNamespace(**{**vars(p.one), "l1": setting.l1, "l2": setting.l2}))
        return p

    def _settings(
        self, p: SimpleNamespace, rows: GridRows, shape: tuple[int, int, int]
    ) -> list[Setting]:
        """The grid: what the parameters name, or l1 in equal ratios around that of a single fit."""
        l1s = p.l1s
        if l1s is None:
            rows.find_l1(p, shape)
            # Rows without any value ask for no penalty; one that is not 0 does no harm.
            largest = LARGEST_L1 * (p.one.l1 or 1.0)
            l1s = np.geomspace(largest, largest * p.smallest, p.n_points)
        return settings_of(np.atleast_1d(l1s), p.l2s, p.rate_factors)

    def _fit(self, p: SimpleNamespace, rows: GridRows, keeper: Keeper) -> list[Warning]:
        """Choose a setting, and train with it or take what it has learned; returns the warnings."""
        drawn = p.cv is None and not p.progressive
        if not drawn:
            rows.find_folds(p, None)
        keeper.identify(self, p, rows.told)
        generator = new_generator(keeper.seed(p.random_state))
        # The last fit visits the rows in the orders of a fit of this setting alone.
        begun = generator.get_state()
        if drawn:
            rows.find_folds(p, generator)
        shape = rows.shape()
        units = rows.find_units(p)
        settings = self._settings(p, rows, shape)
        if p.max_iter is None:
            epochs = found_epochs(*shape, self._takes_margin_losses, penalised=True)
            p.max_iter = 1 if p.progressive else epochs
        check_n_steps("max_iter", p.max_iter, rows.n_rows)
        # What suits the rows; the bound that a penalty sets differs between the settings.
        free = SimpleNamespace(**vars(p.one))
        free.plan = replace(p.one.plan, penalty=ElasticNet())
        eta0 = rows.scale_of_rates(p.model, free)
        plans = planned(p.one, settings, eta0)
        training = rows.training(p, plans, settings)
        counts = np.ones(1) if p.progressive else training.counts
        course = GridCourse(keeper.found("grid"))
        with keeper.following("grid", course.written):
            if course.found is None:
                n_threads = min(effective_n_jobs(p.n_jobs), len(training.matrices))
                orders = Orders(generator, rows.n_rows, shuffle=p.shuffle)
                stopping = Stopping(p.tol, p.n_iter_no_change)
                course.go_on("search", GridSearch(training, orders, stopping))
                assert course.search is not None, "the course follows the search"
                with Workers(n_threads) as workers:
                    found = self._search(p, course.search, counts, workers, keeper)
                course.found = found
            found = course.found
            best = settings[found.best]
            plan = plans[found.best]
            engines = [
                single_engine(plan, training.n_features, best.factor)
                for _ in range(training.n_problems)
            ]
            learners = rows.learners(engines, plan)
            kept = None
            if found.model is None:
                own = np.random.RandomState()
                own.set_state(begun)
                last = LastFit(learners, Orders(own, rows.n_rows, shuffle=p.shuffle))
                course.go_on("last", last)
                visit = rows.passes(learners, plan, found.epoch + 1)
                kept = _trained_alone(p, last, visit, found.epoch + 1, best, keeper)
        if found.model is None:
            model = (
                np.vstack([engine.model() for engine in engines]),
                np.array([engine.model_intercept for engine in engines]),
            )
            rate = engines[0].present_rate
        else:
            model, rate = found.model, found.rate
        with _told_of(best):
            refuse_overflow(found.losses.shape[1] * rows.n_rows, training.advice, *model)
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
            curve = (self.curves_[found.best] * training.n_problems).tolist()
            kept = curve[found.epoch] if kept is None else kept
            scale = Rate(self.eta0_, in_units=units is not None)
            warnings += rows.doubts(p, scale, learners, found, curve, kept)
        return warnings

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
    p: SimpleNamespace,
    at: LastFit,
    visit: Visit,
    epochs: int,
    setting: Setting,
    keeper: Keeper,
) -> float:
    """Train a setting with all rows; returns the mean loss of the predictions in the last epoch."""
    learners = at.learners

    def after(rows: int) -> None:
        at.rows = rows
        keeper.point()

    with _told_of(setting), Workers(min(effective_n_jobs(p.n_jobs), len(learners))) as workers:
        while at.epoch < epochs:
            judged = at.losses if at.epoch == epochs - 1 else None
            visit(at.orders.draw(), at.epoch, judged, workers, at.rows, after)
            at.epoch, at.rows = at.epoch + 1, 0
    return float(np.sum(at.losses) / at.orders.n_rows)


def _warnings_of_ends(p: SimpleNamespace, model: ElasticNetGrid) -> list[Warning]:
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
