"""What the estimators share that choose a setting of ``LazyNet*`` by cross-validation.

All settings of all folds learn side by side in each pass over X.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lazynet.data.arrays import has_usual_size, sizes_of
from lazynet.data.standardise import Units
from lazynet.data.targets import Problems
from lazynet.engines.threads import Workers
from lazynet.estimators.base import SparseLinear
from lazynet.estimators.online import LazyNetClassifier, LazyNetRegressor
from lazynet.estimators.path import N_POINTS, SMALLEST, STRENGTHS
from lazynet.losses import LOSS
from lazynet.parameters import (
    EPOCHS_OR_NONE,
    FLAG,
    THREADS,
    VERBOSITY,
    Integer,
    Number,
    check_n_steps,
    table,
)
from lazynet.penalties import ElasticNet
from lazynet.plots import plot_grid
from lazynet.training.defaults import (
    RULE_OR_AUTO,
    SCHEDULE_OR_AUTO,
    found_epochs,
)
from lazynet.training.diagnostics import (
    NOTHING_LEARNED,
    Rate,
    look_closely,
    loss_of_constants,
    stalled,
    still_falls,
)
from lazynet.training.epochs import Stopping
from lazynet.training.fit import units_for_fit
from lazynet.training.folds import FOLDS, Fold, means_and_errors
from lazynet.training.grid import GridTraining, Setting, check_offered, planned, settings_of
from lazynet.training.learners import new_learners
from lazynet.training.make_plan import make_plan, scale_of_rates
from lazynet.training.random_state import SEED, new_generator
from lazynet.training.rows import RowsInMemory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The first l1 of the grid where none is given, in units of the l1 that a fit of one setting takes
#: where it is given none; the number of its points, and its last l1 as a share of the first.
LARGEST_L1, N_L1S, LAST_L1 = 1e4, 11, 1e-5


class _Search(NamedTuple):
    """What a search has found."""

    #: by setting and fold, after the epoch with the least mean loss
    losses: NDArray[np.float64]
    #: by setting and fold, after the last epoch
    nonzeros: NDArray[np.int64]
    best: int
    n_epochs: int
    #: the least mean loss of a setting after each epoch
    curve: list[float]
    ended_early: bool


class ChosenSetting(SparseLinear):
    """The parameters, the search and the last fit that classifier and regressor share."""

    _kinds = table(
        loss=LOSS,
        l1s=STRENGTHS,
        l2s=STRENGTHS,
        n_points=N_POINTS,
        smallest=SMALLEST,
        rule=RULE_OR_AUTO,
        schedule=SCHEDULE_OR_AUTO,
        eta0=Number(above=0, optional=True),
        cv=FOLDS,
        max_iter=EPOCHS_OR_NONE,
        tol=Number(least=0, optional=True),
        n_iter_no_change=Integer(least=1),
        fit_intercept=FLAG,
        shuffle=FLAG,
        random_state=SEED,
        n_jobs=THREADS,
        verbose=VERBOSITY,
    )
    #: the estimator of one setting
    _single: ClassVar[type[LazyNetClassifier] | type[LazyNetRegressor]]

    # Set by training.
    l1_: float
    l2_: float
    eta0_: float
    units_: Units | None = None
    l1s_: NDArray[np.float64]
    l2s_: NDArray[np.float64]
    losses_: NDArray[np.float64]
    means_: NDArray[np.float64]
    standard_errors_: NDArray[np.float64]
    nonzeros_: NDArray[np.int64]
    best_index_: int
    n_iter_: int

    def _single_of(self, l1: float | None, l2: float, **more: Any) -> Any:
        """The estimator of one setting; ``more`` are parameters that differ from this one's."""
        shared = set(self._single._kinds) & set(self._kinds)
        given = {name: getattr(self, name) for name in shared} | more
        return self._single(l1=l1, l2=l2, **given)

    def _settle(self) -> SimpleNamespace:
        """The parameters as plain values; ``one`` are those of a fit of a single setting."""
        p = super()._settle()
        p.l2s = np.zeros(1) if p.l2s is None else np.atleast_1d(p.l2s)
        # The penalty that the rule is checked with: every setting is checked again.
        l1s = np.zeros(1) if p.l1s is None else np.atleast_1d(p.l1s)
        p.model = self._single_of(None if p.l1s is None else float(l1s[0]), float(p.l2s[0]))
        p.one = p.model._read_settings()
        check_offered(p.one.plan())
        for setting in settings_of(l1s, p.l2s):
            replace(p.one, l1=setting.l1, l2=setting.l2).plan()
        return p

    def _fit(
        self,
        p: SimpleNamespace,
        X: sparse.csr_matrix,
        y: NDArray[Any],
        sample_weight: Any,
        problems: Problems,
        folds: list[Fold],
    ) -> list[Warning]:
        """Choose a setting and train with it; returns the warnings to give."""
        for number, fold in enumerate(folds):
            _refuse_repeated(number, fold.train)
        all_rows = RowsInMemory(X, problems)
        # As a fit of one setting: a penalty that is given acts on the weights as they are, and
        # features of a source are learned from as they are.
        as_given = p.l2s.any() or self._rows_are_mapped
        in_units = None if as_given else units_for_fit(p.one, all_rows, None)
        all_rows = all_rows.in_units(in_units)
        rows = all_rows.X
        settings = self._settings(p, all_rows)
        if p.max_iter is None:
            p.max_iter = found_epochs(*all_rows.shape, self._takes_margin_losses, penalised=True)
        check_n_steps("max_iter", p.max_iter, len(y))
        # What suits the rows; the bound that a penalty sets differs between the settings.
        eta0 = scale_of_rates(p.one, replace(p.one.plan(), penalty=ElasticNet()), all_rows)
        plans = planned(p.one, settings, eta0)
        # float32 needs half the memory and less time; the chosen setting is trained in float64.
        narrow = self._takes_margin_losses or has_usual_size(y)
        training = GridTraining(
            plans, rows, problems, folds, sizes_of(rows, plans[0].sizes),
            np.float32 if narrow else np.float64,
        )  # fmt: skip
        n_threads = min(effective_n_jobs(p.n_jobs), len(training.matrices))
        with Workers(n_threads) as workers:
            found = _search(p, training, settings, workers)
        best = settings[found.best]
        model = self._single_of(*best, max_iter=found.n_epochs, tol=None)
        model.fit(rows, y, sample_weight)
        weights, intercepts = model._dense_coef(), model._intercepts()
        if in_units is not None:
            weights = in_units.weights(weights)
            intercepts = np.asarray(in_units.intercept(weights[:, in_units.moved], intercepts))
        self._load(weights, intercepts)
        self.units_, self.eta0_, self.n_iter_ = in_units, float(model.eta0_), found.n_epochs
        self.l1_, self.l2_ = best
        self.l1s_, self.l2s_ = (np.array(values) for values in zip(*settings, strict=True))
        self.losses_, self.nonzeros_, self.best_index_ = found.losses, found.nonzeros, found.best
        self.means_, self.standard_errors_ = means_and_errors(found.losses, training.counts)
        doubt = [] if p.tol is None else self._doubt(p, model, rows, problems, found)
        return [*doubt, *_warnings_of_ends(p, self)]

    def _settings(self, p: SimpleNamespace, rows: RowsInMemory) -> list[Setting]:
        """The grid: what the parameters name, or l1 in equal ratios around that of a single fit."""
        if p.l1s is not None:
            return settings_of(np.atleast_1d(p.l1s), p.l2s)
        # Rows without any value ask for no penalty; one that is not 0 does no harm.
        largest = LARGEST_L1 * (make_plan(p.one, rows, from_zero=False).penalty.l1 or 1.0)
        return settings_of(np.geomspace(largest, largest * p.smallest, p.n_points), p.l2s)

    def _doubt(
        self,
        p: SimpleNamespace,
        model: Any,
        X: sparse.csr_matrix,
        problems: Problems,
        found: _Search,
    ) -> list[Warning]:
        """The warning about a search that has learned nothing, or that has ended too early."""
        plan = model._read_settings().plan()
        constant = loss_of_constants(problems, plan)
        counted = problems.n_rows / problems.weights.sum()
        curve = [loss * len(problems) / counted for loss in found.curve]
        if min(curve) >= NOTHING_LEARNED * constant:
            learners = new_learners(model._engines, X, problems, plan, None)
            verdict = look_closely(learners, X, problems, None)
            if verdict.too_small or verdict.too_large:
                rate = Rate(self.eta0_, in_units=self.units_ is not None)
                return [stalled(p.one, rate, verdict, min(curve), constant)]
        if found.ended_early or not still_falls(curve, constant):
            return []
        return [
            ConvergenceWarning(
                f"the least loss of held-out rows still fell by {1 - curve[-1] / curve[-2]:.0%} in "
                f"the last of max_iter={p.max_iter} epochs; raise max_iter"
            )
        ]

    def plot(self) -> Figure:
        """``plot_grid`` of this model."""
        check_is_fitted(self)
        return plot_grid(self)


def _search(
    p: SimpleNamespace, training: GridTraining, settings: list[Setting], workers: Workers
) -> _Search:
    """Train all settings, epoch by epoch, until the least of their losses falls no more."""
    generator, stopping = new_generator(p.random_state), Stopping(p.tol, p.n_iter_no_change)
    n_rows = training.n_rows
    curve: list[float] = []
    losses, best, n_epochs, ended_early = np.zeros((0, 0)), 0, 0, False
    for epoch in range(p.max_iter):
        order = generator.permutation(n_rows) if p.shuffle else np.arange(n_rows)
        training.epoch(order.astype(np.int64, copy=False), workers)
        found = training.held_out(workers)
        means = np.average(found, axis=1, weights=training.counts)
        now = int(means.argmin())
        if not curve or means[now] < min(curve):
            losses, best, n_epochs = found, now, epoch + 1
        curve.append(float(means[now]))
        if p.verbose:
            setting = f"l1={settings[now].l1:.3g}, l2={settings[now].l2:.3g}"
            print(f"epoch {epoch + 1:4d}  least loss {means[now]:.6g} at {setting}")
        ended_early = stopping.after(float(means[now]))
        if ended_early:
            break
    if not np.isfinite(min(curve)):
        raise FloatingPointError(
            f"no setting of the grid predicts held-out rows with a finite loss. "
            f"{training.matrices[0].engine.advice}"
        )
    return _Search(losses, training.nonzeros(workers), best, n_epochs, curve, ended_early)


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


def _warnings_of_ends(p: SimpleNamespace, model: ChosenSetting) -> list[Warning]:
    """Warnings about a best setting at an end of the l1s or l2s that were tried.

    No warning is given where going on could change nothing: at a strength of 0, at an l1 that
    leaves no weight, and where the next value towards the middle is as good up to ``tol``.
    """
    best, found = model.best_index_, []
    for name, values, others in (
        ("l1", model.l1s_, model.l2s_), ("l2", model.l2s_, model.l1s_),
    ):  # fmt: skip
        tried = np.unique(values)
        if len(tried) == 1 or values[best] == 0 or tried[0] < values[best] < tried[-1]:
            continue
        smallest = values[best] == tried[0]
        if name == "l1" and not smallest and not model.nonzeros_[best].any():
            continue
        next_one = (values == tried[1 if smallest else -2]) & (others == others[best])
        if model.means_[next_one].min() <= model.means_[best] * (1.0 + (p.tol or 0.0)):
            continue
        end, size = ("smallest", "smaller") if smallest else ("largest", "larger")
        remedy = f"give {size} {name}s"
        if name == "l1" and p.l1s is None and smallest:
            remedy = f"lower smallest={p.smallest:g}"
        found.append(
            UserWarning(
                f"the best {name}, {values[best]:.3g}, is the {end} one that was tried: a {size} "
                f"one may be better: {remedy}"
            )
        )
    return [*found]
