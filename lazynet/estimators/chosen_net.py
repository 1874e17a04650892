"""What the estimators share that choose the penalty of a minimum by cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.validation import check_is_fitted

from lazynet.choice import FOLDS, Fold, Point, best_and_sparsest, means_and_errors
from lazynet.data import unusable
from lazynet.estimators.base import SparseLinear
from lazynet.estimators.chosen_rows import (
    FoldToWalk,
    RowsInMemory,
    RowsToChoose,
)
from lazynet.estimators.walks import Walked, Walks
from lazynet.losses import MINIMISED_LOSS
from lazynet.minimise import Minimum, why_late
from lazynet.models.attributes import (
    any_of,
    array,
    attributes,
    integer,
    optional,
    real,
    sequence,
)
from lazynet.models.checkpoints import Keeper
from lazynet.params import (
    EPOCHS,
    FLAG,
    POSITIVE,
    THREADS,
    VERBOSITY,
    Special,
    check_array,
    check_number,
    shown,
    table,
)
from lazynet.path_figures import plot_choice
from lazynet.paths import N_POINTS, SMALLEST, STRENGTHS, Grid, follow
from lazynet.seeds import SEED, new_generator
from lazynet.threads import Workers

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _check_ratios(name: str, value: Any) -> tuple[float, ...]:
    ratios = np.atleast_1d(check_array(name, "must hold real numbers", value))
    if ratios.ndim > 1 or not ratios.size:
        raise ValueError(f"{name} must be a list of numbers, got {shown(value)}")
    return tuple(check_number(name, ratio, least=0, most=1) for ratio in ratios.tolist())


def _check_scoring(name: str, value: Any) -> Callable[..., float]:
    if callable(value):
        return value
    if isinstance(value, str) and value in get_scorer_names():
        return get_scorer(value)
    raise ValueError(
        f"{name} must be None, a callable or a name from sklearn.metrics.get_scorer_names(), "
        f"got {shown(value)}"
    )


def _takes_weights(scorer: Any) -> bool:
    """Whether a scorer, or the metric within, has a parameter ``sample_weight``."""
    try:
        parameters = inspect.signature(getattr(scorer, "_score_func", scorer)).parameters
    except (TypeError, ValueError):
        return True
    kinds = {parameter.kind for parameter in parameters.values()}
    return "sample_weight" in parameters or inspect.Parameter.VAR_KEYWORD in kinds


@dataclass(frozen=True)
class _Task:
    """The paths of some of the problems, with one ratio, in one fold."""

    ratio: int
    fold: int
    problems: Sequence[int]
    seeds: Sequence[int]


class ChosenNet(SparseLinear):
    """The parameters, the choice and the last fit that classifier and regressor share."""

    _kinds = table(
        loss=MINIMISED_LOSS,
        l1_ratios=Special(check=_check_ratios),
        l1s=STRENGTHS,
        l2s=STRENGTHS,
        n_points=N_POINTS,
        smallest=SMALLEST,
        cv=FOLDS,
        scoring=Special(check=_check_scoring, optional=True),
        one_standard_error=FLAG,
        tol=POSITIVE,
        max_iter=EPOCHS,
        fit_intercept=FLAG,
        random_state=SEED,
        n_jobs=THREADS,
        verbose=VERBOSITY,
    )

    # Set by training.
    l1_: float
    l2_: float
    l1_ratio_: float
    l1s_: NDArray[np.float64]
    l2s_: NDArray[np.float64]
    losses_: NDArray[np.float64]
    scores_: NDArray[np.float64] | None
    means_: NDArray[np.float64]
    standard_errors_: NDArray[np.float64]
    nonzeros_: NDArray[np.int64]
    best_index_: Point
    one_standard_error_index_: Point
    objective_: float | NDArray[np.float64]
    dual_objective_: float | NDArray[np.float64]
    duality_gap_: float | NDArray[np.float64]
    n_iter_: int
    _saved = attributes(
        l1_=real,
        l2_=real,
        l1_ratio_=real,
        l1s_=array("f", None, None),
        l2s_=array("f", None, None),
        losses_=array("f", None, None, None),
        scores_=optional(array("f", None, None, None)),
        means_=array("f", None, None),
        standard_errors_=array("f", None, None),
        nonzeros_=array("iu", None, None, None),
        best_index_=sequence(tuple, integer, integer),
        one_standard_error_index_=sequence(tuple, integer, integer),
        objective_=any_of(real, array("f", "k")),
        dual_objective_=any_of(real, array("f", "k")),
        duality_gap_=any_of(real, array("f", "k")),
        n_iter_=integer,
    )

    def _settle(self) -> SimpleNamespace:
        """The parameters as plain values, with a grid for every ratio."""
        p = super()._settle()
        if p.l2s is None and 0 in p.l1_ratios:
            with unusable("l1_ratios"):
                Grid(l1_ratio=0)
        p.grids = [Grid(ratio, p.l1s, p.l2s, p.n_points, p.smallest) for ratio in p.l1_ratios]
        return p

    def _rows(self, p: SimpleNamespace, X: sparse.csr_matrix, *rest: Any) -> RowsInMemory:
        """The rows of X."""
        return RowsInMemory(p, X, *rest, self._rows_are_mapped)  # type: ignore[call-arg]

    # --- training -------------------------------------------------------------------------

    def _fit(
        self, p: SimpleNamespace, rows: RowsToChoose, groups: Any, keeper: Keeper
    ) -> list[Warning]:
        """Choose a penalty and train with it; returns the warnings to give."""
        if p.scoring and rows.are_weighted and not _takes_weights(p.scoring):
            raise ValueError(
                f"scoring={shown(self.scoring)} takes no sample_weight, and fit was given one: "
                f"take another scoring, or leave sample_weight out"
            )
        folds = rows.folds(groups)
        if p.one_standard_error and len(folds) == 1:
            raise ValueError(
                "one_standard_error=True needs at least two splits from cv: one has no "
                "standard error"
            )
        n_folds, n_problems = len(folds), rows.n_problems
        keeper.identify(self, p, lambda: rows.told(folds))
        generator = new_generator(keeper.seed(p.random_state))
        seeds = generator.randint(2**31, size=(n_problems, 1 + len(p.grids) * n_folds)).tolist()
        # A scorer judges the models of all classes together, a mean loss each by itself.
        ones = [[number] for number in range(n_problems)]
        tasks = [
            _Task(ratio, fold, some, [seeds[k][1 + ratio * n_folds + fold] for k in some])
            for ratio in range(len(p.grids))
            for fold in range(n_folds)
            for some in ([[*range(n_problems)]] if p.scoring else ones)
        ]
        n_threads = min(effective_n_jobs(p.n_jobs), max(len(tasks), n_problems))
        walks = Walks()
        walks.go_on_from(keeper.found("walks"), len(tasks), n_problems)
        with Workers(n_threads) as workers, keeper.following("walks", walks.written):
            everything = [
                rows.minimiser(number, own[0], workers.check) for number, own in enumerate(seeds)
            ]
            # The grid is that of all rows in every fold, so that losses of different folds at the
            # same point belong to the same penalty.
            largest = max(minimiser.largest_l1 for minimiser in everything)
            l1s, l2s = map(np.array, zip(*(grid.at(largest) for grid in p.grids), strict=True))

            def after(_: Any) -> None:
                workers.check()
                keeper.point()

            options = {"tol": p.tol, "max_iter": p.max_iter, "after": after}

            def walk(number: int) -> Walked:
                if number not in walks.walked:
                    task = tasks[number]
                    way = l1s[task.ratio], l2s[task.ratio]
                    with rows.fold(folds[task.fold], workers.check) as fold:
                        walks.walked[number] = self._walk(p, rows, fold, task, *way, options)
                return walks.walked[number]

            walked = workers.results(range(len(tasks)), walk)
            late = self._judge(rows, folds, tasks, walked, l1s.shape)
            self.best_index_, self.one_standard_error_index_ = best_and_sparsest(
                self.means_ if p.scoring is None else -self.means_,
                self.standard_errors_,
                self.nonzeros_.mean(axis=-1),
            )
            ratio, point = (
                self.one_standard_error_index_ if p.one_standard_error else self.best_index_
            )

            def finish(number: int) -> tuple[Minimum, int]:
                if number not in walks.finished:
                    epochs = 0
                    way = l1s[ratio, : point + 1], l2s[ratio, : point + 1]
                    for minimum in follow(everything[number], *way, **options):
                        epochs += minimum.n_iter
                    walks.finished[number] = minimum, epochs
                return walks.finished[number]

            minima, epochs = zip(*workers.results(range(n_problems), finish), strict=True)
        self.l1s_, self.l2s_ = l1s, l2s
        self.l1_, self.l2_ = float(l1s[ratio, point]), float(l2s[ratio, point])
        given = self.l1_ / (self.l1_ + self.l2_)
        self.l1_ratio_ = p.l1_ratios[ratio] if p.l2s is None else given
        self._load(
            np.vstack([minimum.coef for minimum in minima]),
            np.array([minimum.intercept for minimum in minima]),
        )
        for name, values in (
            ("objective_", [minimum.objective for minimum in minima]),
            ("dual_objective_", [minimum.dual_objective for minimum in minima]),
            ("duality_gap_", [minimum.gap for minimum in minima]),
        ):
            setattr(self, name, values[0] if n_problems == 1 else np.array(values))
        self.n_iter_ = max(epochs)
        return self._unfinished(p, late, minima)

    def _walk(
        self,
        p: SimpleNamespace,
        rows: RowsToChoose,
        fold: FoldToWalk,
        task: _Task,
        l1s: NDArray[np.float64],
        l2s: NDArray[np.float64],
        options: dict[str, Any],
    ) -> Walked:
        """Learn from one side of a fold along a path, and judge every point by the other side."""
        shape = len(task.problems), len(l1s)
        losses, nonzeros = np.zeros(shape), np.zeros(shape, np.int64)
        late: list[Minimum] = []
        judged: list[list[Any]] = []
        for row, (number, seed) in enumerate(zip(task.problems, task.seeds, strict=True)):
            judged.append([])
            minima = follow(fold.minimiser(number, seed), l1s, l2s, **options)
            for point, minimum in enumerate(minima):
                judged[row].append(fold.judged(number, minimum))
                nonzeros[row, point] = np.count_nonzero(minimum.coef)
                if not minimum.converged:
                    late.append(minimum.without_vectors())
            losses[row] = fold.losses(judged[row])
        scores = None
        if p.scoring:
            make = partial(self._with, rows)
            scores = np.array([fold.score(each, make) for each in zip(*judged, strict=True)])
        if p.verbose:
            least = int(losses.sum(axis=0).argmin())
            print(
                f"split {task.fold + 1}: least loss {losses[:, least].mean():.6g} "
                f"at l1={l1s[least]:.3g}, l2={l2s[least]:.3g}"
            )
        return Walked(losses, nonzeros, late, scores)

    def _with(
        self, rows: RowsToChoose, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
    ) -> Self:
        """A fitted estimator with these weights and intercepts, a row for every problem."""
        model = type(self)(**self.get_params(deep=False))
        model.n_features_in_ = weights.shape[1]
        if rows.classes is not None:
            model.classes_ = rows.classes
        model._load(weights, intercepts)
        return model

    def _judge(
        self,
        rows: RowsToChoose,
        folds: Sequence[Fold],
        tasks: Sequence[_Task],
        walks: Sequence[Walked],
        shape: tuple[int, ...],
    ) -> list[Minimum]:
        """Set the tables of losses and scores; returns the minima that did not converge."""
        n_problems = rows.n_problems
        losses, nonzeros = np.zeros((*shape, len(folds))), np.zeros((*shape, len(folds)), np.int64)
        scores = None if walks[0].scores is None else np.zeros((*shape, len(folds)))
        for task, walked in zip(tasks, walks, strict=True):
            losses[task.ratio, :, task.fold] += walked.losses.sum(axis=0) / n_problems
            nonzeros[task.ratio, :, task.fold] += walked.nonzeros.sum(axis=0)
            if scores is not None:
                scores[task.ratio, :, task.fold] = walked.scores
        self.losses_, self.nonzeros_, self.scores_ = losses, nonzeros, scores
        judged_by = losses if scores is None else scores
        weights = rows.weights_to_judge(scores is not None)
        of_folds = [
            float(len(fold.test) if weights is None else weights[fold.test].sum()) for fold in folds
        ]
        self.means_, self.standard_errors_ = means_and_errors(judged_by, np.array(of_folds))
        return [minimum for walked in walks for minimum in walked.late]

    def _unfinished(
        self, p: SimpleNamespace, late: Sequence[Minimum], minima: Sequence[Minimum]
    ) -> list[Warning]:
        """Warnings about minima that did not come within tol, and a best point at an end."""
        found: list[Warning] = []
        ratio, point = self.best_index_
        if 0 < point == self.means_.shape[1] - 1:
            given = p.l1s is not None or p.l2s is not None
            lower = "give smaller l1s or l2s" if given else f"lower smallest={p.smallest:g}"
            found.append(
                UserWarning(
                    f"the best penalty, l1={self.l1s_[ratio, point]:.3g} and "
                    f"l2={self.l2s_[ratio, point]:.3g}, is the last one that was tried: a smaller "
                    f"one may be better: {lower}; and scale features whose sizes differ much, "
                    f"because one l1 holds for all"
                )
            )
        if late:
            fits = self.nonzeros_.size * len(minima)
            found.append(
                ConvergenceWarning(
                    f"{len(late)} of the {fits} minima in the folds have not come within "
                    f"tol={p.tol:g}: the choice of the penalty may be a little off.  The searches "
                    f"ended {why_late(late, p.max_iter)}; a larger smallest leaves the slowest out"
                )
            )
        left = [minimum for minimum in minima if not minimum.converged]
        if left:
            worst = max(minimum.gap for minimum in left)
            found.append(
                ConvergenceWarning(
                    f"the minimum at the chosen penalty, on all rows, has not come within "
                    f"tol={p.tol:g}: the duality gap is {worst:.3g}.  The search ended "
                    f"{why_late(left, p.max_iter)}"
                )
            )
        return found

    def plot(self) -> Figure:
        """``plot_choice`` of this model."""
        check_is_fitted(self)
        return plot_choice(self)
