"""What the estimators share that choose the penalty of a minimum by cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.validation import check_is_fitted

from lazynet.data.arrays import unusable
from lazynet.engines.threads import Workers
from lazynet.estimators.base import SparseLinear
from lazynet.estimators.mapped_rows import rows_of
from lazynet.estimators.path import N_POINTS, SMALLEST, STRENGTHS, Grid, follow
from lazynet.kernels.losses import values_and_slopes
from lazynet.losses import MINIMISED_LOSS, Loss
from lazynet.minimum.minimise import Minimiser, Minimum, Problem, why_late
from lazynet.parameters import (
    EPOCHS,
    FLAG,
    POSITIVE,
    THREADS,
    VERBOSITY,
    Special,
    as_float,
    check_array,
    check_number,
    is_number,
    shown,
    table,
)
from lazynet.plots import plot_choice
from lazynet.training.folds import FOLDS, Fold, Point, best_and_sparsest, means_and_errors
from lazynet.training.random_state import SEED, new_generator

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
class RowsInFolds:
    """The checked rows, and the folds of them."""

    X: sparse.csr_matrix
    y: NDArray[Any]
    #: the targets and importances of every problem
    problems: list[tuple[NDArray[np.float64], NDArray[np.float64] | None]]
    sample_weight: NDArray[np.float64] | None
    classes: NDArray[Any] | None
    folds: list[Fold]


class _Walked(NamedTuple):
    """What the held-out rows of a fold say of the points of a path."""

    #: the mean loss, over the problems too
    losses: NDArray[np.float64]
    #: the number of weights that are not 0, of all problems together
    nonzeros: NDArray[np.int64]
    #: the minima that did not converge, without their weights
    late: list[Minimum]
    #: what ``scoring`` says; None where there is none
    scores: NDArray[np.float64] | None


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

    def _settle(self) -> SimpleNamespace:
        """The parameters as plain values, with a grid for every ratio."""
        p = super()._settle()
        if p.l2s is None and 0 in p.l1_ratios:
            with unusable("l1_ratios"):
                Grid(l1_ratio=0)
        p.grids = [Grid(ratio, p.l1s, p.l2s, p.n_points, p.smallest) for ratio in p.l1_ratios]
        return p

    # --- training -------------------------------------------------------------------------

    def _fit(self, p: SimpleNamespace, rows: RowsInFolds) -> list[Warning]:
        """Choose a penalty and train with it; returns the warnings to give."""
        if p.scoring and rows.sample_weight is not None and not _takes_weights(p.scoring):
            raise ValueError(
                f"scoring={shown(self.scoring)} takes no sample_weight, and fit was given one: "
                f"take another scoring, or leave sample_weight out"
            )
        n_folds, n_problems = len(rows.folds), len(rows.problems)
        if p.one_standard_error and n_folds == 1:
            raise ValueError(
                "one_standard_error=True needs at least two splits from cv: one has no "
                "standard error"
            )
        generator = new_generator(p.random_state)
        # For every problem a seed of the last fit, and one of every ratio in every fold.
        seeds = generator.randint(2**31, size=(n_problems, 1 + len(p.grids) * n_folds))
        tasks = [(ratio, fold) for ratio in range(len(p.grids)) for fold in range(n_folds)]
        with Workers(min(effective_n_jobs(p.n_jobs), max(len(tasks), n_problems))) as workers:
            everything = [
                _minimiser(p, rows.X, *problem, seed)
                for problem, seed in zip(rows.problems, seeds[:, 0], strict=True)
            ]
            # The grid is that of all rows in every fold, so that losses of different folds at the
            # same point belong to the same penalty.
            largest = max(minimiser.largest_l1 for minimiser in everything)
            l1s, l2s = map(np.array, zip(*(grid.at(largest) for grid in p.grids), strict=True))
            options = {
                "tol": p.tol, "max_iter": p.max_iter, "after": lambda _: workers.check(),
            }  # fmt: skip

            def walk(number: int) -> _Walked:
                ratio, fold = tasks[number]
                way = l1s[ratio], l2s[ratio]
                return self._walk(p, rows, fold, seeds[:, 1 + number], *way, options)

            walked = workers.results(range(len(tasks)), walk)
            self._judge(p, rows, walked, l1s.shape)
            ratio, point = (
                self.one_standard_error_index_ if p.one_standard_error else self.best_index_
            )

            def finish(minimiser: Minimiser) -> tuple[Minimum, int]:
                way = l1s[ratio, : point + 1], l2s[ratio, : point + 1]
                minima = list(follow(minimiser, *way, **options))
                return minima[-1], sum(minimum.n_iter for minimum in minima)

            minima, epochs = zip(*workers.results(everything, finish), strict=True)
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
        return self._unfinished(p, [late for each in walked for late in each.late], minima)

    def _walk(
        self,
        p: SimpleNamespace,
        rows: RowsInFolds,
        number: int,
        seeds: NDArray[np.int64],
        l1s: NDArray[np.float64],
        l2s: NDArray[np.float64],
        options: dict[str, Any],
    ) -> _Walked:
        """Learn from one side of a fold along a path, and judge every point by the other side."""
        fold, n_problems = rows.folds[number], len(rows.problems)
        losses, nonzeros = np.zeros((n_problems, len(l1s))), np.zeros(len(l1s), np.int64)
        late: list[Minimum] = []
        models: list[list[tuple[sparse.csr_matrix, float]]] = [[] for _ in l1s]
        mapped = self._rows_are_mapped
        with (
            rows_of(rows.X, fold.train, mapped=mapped) as X,
            rows_of(rows.X, fold.test, mapped=mapped) as held_out,
        ):
            for row, (problem, seed) in enumerate(zip(rows.problems, seeds, strict=True)):
                train, test = (_side(problem, side) for side in (fold.train, fold.test))
                minima = follow(_minimiser(p, X, *train, seed), l1s, l2s, **options)
                for point, minimum in enumerate(minima):
                    predictions = held_out @ minimum.coef + minimum.intercept
                    losses[row, point] = _mean_loss(p.loss, predictions, *test)
                    nonzeros[point] += np.count_nonzero(minimum.coef)
                    if p.scoring:
                        weights = sparse.csr_matrix(minimum.coef)
                        models[point].append((weights, minimum.intercept))
                    if not minimum.converged:
                        late.append(minimum.without_vectors())
            means = losses.mean(axis=0)
            scores = None
            if p.scoring:
                scores = np.array([self._score(p, rows, fold, held_out, each) for each in models])
        if p.verbose:
            least = int(means.argmin())
            print(
                f"split {number + 1}: least loss {means[least]:.6g} "
                f"at l1={l1s[least]:.3g}, l2={l2s[least]:.3g}"
            )
        return _Walked(means, nonzeros, late, scores)

    def _score(
        self,
        p: SimpleNamespace,
        rows: RowsInFolds,
        fold: Fold,
        held_out: sparse.csr_matrix,
        models: list[tuple[sparse.csr_matrix, float]],
    ) -> float:
        """The checked score of the models of all problems on the held-out rows."""
        weights, intercepts = zip(*models, strict=True)
        model = type(self)(**self.get_params(deep=False))
        model.n_features_in_ = held_out.shape[1]
        if rows.classes is not None:
            model.classes_ = rows.classes
        model._load(sparse.vstack(weights).toarray(), np.array(intercepts))
        own = {}
        if rows.sample_weight is not None:
            own["sample_weight"] = rows.sample_weight[fold.test]
        with unusable("scoring"):
            score = p.scoring(model, held_out, rows.y[fold.test], **own)
        if not is_number(score):
            raise TypeError(f"scoring must return a number, got {shown(score)}")
        return as_float(score)

    def _judge(
        self, p: SimpleNamespace, rows: RowsInFolds, walked: list[_Walked], shape: tuple[int, ...]
    ) -> None:
        """Set the tables of losses and scores, and which point is the best."""

        def by_fold(parts: list[Any]) -> NDArray[Any]:
            return np.reshape(parts, (shape[0], len(rows.folds), shape[1])).swapaxes(1, 2).copy()

        self.losses_ = by_fold([each.losses for each in walked])
        self.nonzeros_ = by_fold([each.nonzeros for each in walked])
        self.scores_ = by_fold([each.scores for each in walked]) if p.scoring else None
        weights = rows.sample_weight if p.scoring else rows.problems[0][1]
        counts = [
            float(len(fold.test) if weights is None else weights[fold.test].sum())
            for fold in rows.folds
        ]
        judged_by = self.losses_ if self.scores_ is None else self.scores_
        self.means_, self.standard_errors_ = means_and_errors(judged_by, np.array(counts))
        self.best_index_, self.one_standard_error_index_ = best_and_sparsest(
            -self.means_ if p.scoring else self.means_,
            self.standard_errors_,
            self.nonzeros_.mean(axis=-1),
        )

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


def _side(
    problem: tuple[NDArray[np.float64], NDArray[np.float64] | None], side: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """The targets and importances of some of the rows."""
    targets, weights = problem
    return targets[side], None if weights is None else weights[side]


def _minimiser(
    p: SimpleNamespace,
    X: sparse.csr_matrix,
    targets: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    seed: int,
) -> Minimiser:
    """What finds minima of one problem over these rows."""
    problem = Problem(X, targets, weights, p.loss, p.fit_intercept)
    return Minimiser(problem, np.random.RandomState(seed))


def _mean_loss(
    loss: Loss,
    predictions: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
) -> float:
    """The mean loss of these predictions, each counted by its weight.

    >>> from lazynet.losses import get_loss
    >>> numbers = np.array([1.0, 3.0])
    >>> _mean_loss(get_loss("squared_error"), numbers, np.zeros(2), np.array([3.0, 1.0]))
    1.5
    """
    values, _ = values_and_slopes(loss.code, predictions, targets, loss.epsilon)
    if weights is None:
        return float(values.mean())
    # An infinite loss of a row that does not count would make the sum NaN.
    counted = weights > 0
    return float((values[counted] * weights[counted]).sum() / weights.sum())
