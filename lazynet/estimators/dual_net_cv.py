"""DualNetClassifierCV and DualNetRegressorCV: the penalty is chosen by cross-validation."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.validation import check_is_fitted

from lazynet.choice import FOLDS, Fold, Point, best_and_sparsest, folds_of, means_and_errors
from lazynet.data import unusable, usable_rows
from lazynet.estimators.base import SparseClassifier, SparseLinear, SparseRegressor, helpful
from lazynet.estimators.mapped_rows import rows_of, takes_sources
from lazynet.estimators.walks import Walked, Walks
from lazynet.importances import CLASS_WEIGHT, check_sample_weight, importances
from lazynet.kernels.losses import values_and_slopes
from lazynet.losses import MINIMISED_LOSS, Loss, LossLike
from lazynet.minimise import Minimiser, Minimum, Problem, why_late
from lazynet.models.attributes import (
    any_of,
    array,
    attributes,
    integer,
    optional,
    real,
    sequence,
)
from lazynet.models.checkpoints import EVERY, Keeper, keeper_of
from lazynet.params import (
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
from lazynet.path_figures import plot_choice
from lazynet.paths import N_POINTS, SMALLEST, STRENGTHS, Grid, follow
from lazynet.seeds import SEED, new_generator
from lazynet.threads import Workers
from lazynet.transactions import all_or_nothing

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


def _with_own_columns(X: sparse.csr_matrix) -> sparse.csr_matrix:
    """The same rows with checked copies of their indices.

    SciPy takes the rows of a fold without a look at the indices, and another thread may write to
    those of the caller.
    """
    own = sparse.csr_matrix(X.shape, dtype=X.dtype)
    own.data, own.indices, own.indptr = X.data, X.indices.copy(), X.indptr.copy()
    return usable_rows(own)


@dataclass(frozen=True)
class _Rows:
    """The checked rows, of which every fold takes its parts."""

    X: sparse.csr_matrix
    y: NDArray[Any]
    #: the targets and importances of every problem
    problems: list[tuple[NDArray[np.float64], NDArray[np.float64] | None]]
    sample_weight: NDArray[np.float64] | None
    classes: NDArray[Any] | None
    #: whether X is mapped into memory, and so its parts
    mapped: bool

    def some(self, rows: NDArray[np.int64]) -> AbstractContextManager[sparse.csr_matrix]:
        """Some of the rows of X."""
        return rows_of(self.X, rows, mapped=self.mapped)


@dataclass(frozen=True)
class _Task:
    """The paths of some of the problems, with one ratio, in one fold."""

    ratio: int
    fold: int
    problems: Sequence[int]
    seeds: Sequence[int]


class _ChosenNet(SparseLinear):
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

    def _rows(self, X: sparse.csr_matrix, *rest: Any) -> _Rows:
        """The rows, which no other thread can change."""
        mapped = self._rows_are_mapped
        return _Rows(X if mapped else _with_own_columns(X), *rest, mapped)  # type: ignore[call-arg]

    # --- folds ----------------------------------------------------------------------------

    def _folds(self, p: SimpleNamespace, rows: _Rows, groups: Any) -> list[Fold]:
        """The checked folds; each can be learned from and judged by."""
        folds = folds_of(p.cv, rows.y, groups, rows.problems, rows.classes)
        if p.one_standard_error and len(folds) == 1:
            raise ValueError(
                "one_standard_error=True needs at least two splits from cv: one has no "
                "standard error"
            )
        return folds

    # --- training -------------------------------------------------------------------------

    def _fit(self, p: SimpleNamespace, rows: _Rows, groups: Any, keeper: Keeper) -> list[Warning]:
        """Choose a penalty and train with it; returns the warnings to give."""
        if p.scoring and rows.sample_weight is not None and not _takes_weights(p.scoring):
            raise ValueError(
                f"scoring={shown(self.scoring)} takes no sample_weight, and fit was given one: "
                f"take another scoring, or leave sample_weight out"
            )
        folds = self._folds(p, rows, groups)
        n_folds, n_problems = len(folds), len(rows.problems)
        keeper.identify(
            self,
            p,
            lambda: {
                "X": rows.X,
                "y": rows.y,
                "sample_weight": rows.sample_weight,
                "the rows of the folds": tuple(
                    side for fold in folds for side in (fold.train, fold.test)
                ),
            },
        )
        generator = new_generator(keeper.seed(p.random_state))
        seeds = generator.randint(2**31, size=(n_problems, 1 + len(p.grids) * n_folds)).tolist()
        everything = [
            _minimiser(p, rows.X, targets, weights, own[0])
            for (targets, weights), own in zip(rows.problems, seeds, strict=True)
        ]
        # The grid is that of all rows in every fold, so that losses of different folds at the same
        # point belong to the same penalty.
        largest = max(minimiser.largest_l1 for minimiser in everything)
        l1s, l2s = map(np.array, zip(*(grid.at(largest) for grid in p.grids), strict=True))
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

            def after(_: Any) -> None:
                workers.check()
                keeper.point()

            options = {"tol": p.tol, "max_iter": p.max_iter, "after": after}

            def walk(number: int) -> Walked:
                if number not in walks.walked:
                    task = tasks[number]
                    way = l1s[task.ratio], l2s[task.ratio]
                    found = self._walk(p, rows, folds[task.fold], task, *way, options)
                    walks.walked[number] = found
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
        rows: _Rows,
        fold: Fold,
        task: _Task,
        l1s: NDArray[np.float64],
        l2s: NDArray[np.float64],
        options: dict[str, Any],
    ) -> Walked:
        """Learn from one side of a fold along a path, and judge every point by the other side."""
        with rows.some(fold.train) as X, rows.some(fold.test) as held_out:
            return self._walked(p, rows, fold, task, l1s, l2s, options, X, held_out)

    def _walked(
        self,
        p: SimpleNamespace,
        rows: _Rows,
        fold: Fold,
        task: _Task,
        l1s: NDArray[np.float64],
        l2s: NDArray[np.float64],
        options: dict[str, Any],
        X: sparse.csr_matrix,
        held_out: sparse.csr_matrix,
    ) -> Walked:
        shape = len(task.problems), len(l1s)
        losses, nonzeros = np.zeros(shape), np.zeros(shape, np.int64)
        late: list[Minimum] = []
        models: list[list[tuple[sparse.csr_matrix, float]]] = []
        for row, (number, seed) in enumerate(zip(task.problems, task.seeds, strict=True)):
            targets, weights = rows.problems[number]
            learned, judged = (
                (targets[side], None if weights is None else weights[side])
                for side in (fold.train, fold.test)
            )
            minimiser = _minimiser(p, X, *learned, seed)
            models.append([])
            minima = follow(minimiser, l1s, l2s, **options)
            for point, minimum in enumerate(minima):
                predictions = held_out @ minimum.coef + minimum.intercept
                losses[row, point] = held_out_loss(p.loss, predictions, *judged)
                nonzeros[row, point] = np.count_nonzero(minimum.coef)
                if not minimum.converged:
                    late.append(minimum.without_vectors())
                if p.scoring:
                    models[row].append((sparse.csr_matrix(minimum.coef), minimum.intercept))
        scores = None
        if p.scoring:
            weight = rows.sample_weight
            counted = {} if weight is None else {"sample_weight": weight[fold.test]}
            scores = np.array(
                [
                    _score(p.scoring, self._with(rows, point), held_out, rows.y[fold.test], counted)
                    for point in zip(*models, strict=True)
                ]
            )
        if p.verbose:
            least = int(losses.sum(axis=0).argmin())
            print(
                f"split {task.fold + 1}: least loss {losses[:, least].mean():.6g} "
                f"at l1={l1s[least]:.3g}, l2={l2s[least]:.3g}"
            )
        return Walked(losses, nonzeros, late, scores)

    def _with(self, rows: _Rows, point: Sequence[tuple[sparse.csr_matrix, float]]) -> Self:
        """A fitted estimator with these weights and intercepts, a pair for every problem."""
        model = type(self)(**self.get_params(deep=False))
        model.n_features_in_ = rows.X.shape[1]
        if rows.classes is not None:
            model.classes_ = rows.classes
        weights, intercepts = zip(*point, strict=True)
        model._load(sparse.vstack(weights).toarray(), np.array(intercepts))
        return model

    def _judge(
        self,
        rows: _Rows,
        folds: Sequence[Fold],
        tasks: Sequence[_Task],
        walks: Sequence[Walked],
        shape: tuple[int, ...],
    ) -> list[Minimum]:
        """Set the tables of losses and scores; returns the minima that did not converge."""
        n_problems = len(rows.problems)
        losses, nonzeros = np.zeros((*shape, len(folds))), np.zeros((*shape, len(folds)), np.int64)
        scores = None if walks[0].scores is None else np.zeros((*shape, len(folds)))
        for task, walked in zip(tasks, walks, strict=True):
            losses[task.ratio, :, task.fold] += walked.losses.sum(axis=0) / n_problems
            nonzeros[task.ratio, :, task.fold] += walked.nonzeros.sum(axis=0)
            if scores is not None:
                scores[task.ratio, :, task.fold] = walked.scores
        self.losses_, self.nonzeros_, self.scores_ = losses, nonzeros, scores
        judged_by, weights = losses, rows.problems[0][1]
        if scores is not None:
            judged_by, weights = scores, rows.sample_weight
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


def _minimiser(
    p: SimpleNamespace,
    X: sparse.csr_matrix,
    targets: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    seed: int,
) -> Minimiser:
    problem = Problem(X, targets, weights, p.loss, p.fit_intercept)
    return Minimiser(problem, np.random.RandomState(seed))


def held_out_loss(
    loss: Loss,
    predictions: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
) -> float:
    """The mean loss of these predictions, each counted by its weight.

    >>> from lazynet.losses import get_loss
    >>> numbers = np.array([1.0, 3.0])
    >>> held_out_loss(get_loss("squared_error"), numbers, np.zeros(2), np.array([3.0, 1.0]))
    1.5
    """
    values, _ = values_and_slopes(loss.code, predictions, targets, loss.epsilon)
    if weights is None:
        return float(values.mean())
    # An infinite loss of a row that does not count would make the sum NaN.
    counted = weights > 0
    return float((values[counted] * weights[counted]).sum() / weights.sum())


def _score(
    scorer: Callable[..., Any], model: SparseLinear, X: Any, y: Any, options: dict[str, Any]
) -> float:
    with unusable("scoring"):
        score = scorer(model, X, y, **options)
    if not is_number(score):
        raise TypeError(f"scoring must return a number, got {shown(score)}")
    return as_float(score)


class DualNetClassifierCV(SparseClassifier, _ChosenNet):
    """Linear classification at the minimum of the elastic net, its penalty chosen by folds.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2``, as :class:`DualNetClassifier` does,
    along a path of penalties (see :func:`net_path`) in every fold of a cross-validation.  Takes the
    penalty with the least loss on held-out rows, or the sparsest model within one standard error of
    it, and minimises once more with all rows.  Several classes are trained one against the rest,
    all with the penalty that has the least mean loss over the classes.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        Any loss of :class:`DualNetClassifier`.
    l1_ratios : sequence of float, default=(1.0,)
        The ratios to try, from 0 (excluded) to 1, with ``l2 = l1 * (1 - l1_ratio) / l1_ratio``: in
        the words of other libraries ``l1 = alpha * l1_ratio`` and ``l2 = alpha * (1 - l1_ratio)``.
    l1s, l2s : float or array, optional
        The penalties to try, in place of a grid of l1, and in place of ``l1_ratios``; see
        :func:`net_path`.  ``l1s=0.0, l2s=[...]`` chooses a ridge penalty.
    n_points : int, default=50
        The number of points of a path.
    smallest : float, default=1e-2
        The last l1 of a path as a share of the first, which is the least at which every weight is 0
        if all rows are learned from.
    cv : int, splitter, iterable or None, default=5
        The folds: a number of them (by classes in equal shares, without shuffling, as scikit-learn
        does it), a splitter of scikit-learn, or pairs of rows to learn from and rows to hold out.
        None is 5.
    scoring : str, callable or None, default=None
        None chooses by the mean loss of held-out rows, the one that is minimised.  A name or a
        scorer of scikit-learn chooses by the greatest score.
    one_standard_error : bool, default=False
        Take the sparsest model within one standard error of the best: of every ratio the largest
        penalty whose mean is that good, and of those the one with the fewest nonzeros.
    tol : float, default=1e-4
        The duality gap to arrive at, at every point, as a share of the objective at zero weights;
        what rounding alone makes of the gap there is always small enough.
    max_iter : int, default=1000
        The most epochs that a point may take.  A search gives up before, with the same warning,
        where its gap has not fallen by a tenth in 200 epochs.
    fit_intercept : bool, default=True
        Whether to learn an intercept, which is not penalised.
    class_weight : dict, "balanced" or None, default=None
        The importance of a row by its class; counts in the loss of held-out rows too, but not in
        the scores of a ``scoring``.
    random_state : int, RandomState or None, default=None
        Seed of the order in which rows are visited; the folds have a seed of their own in ``cv``.
        With None, two fits may differ, within ``tol``.
    n_jobs : int or None, default=None
        Threads that share folds, ratios and classes; None is one thread, -1 one per processor.
        Every thread has a copy of the rows of its fold.  The model is the same for any number of
        threads.
    verbose : int, default=0
        1: print a line for every path.

    Attributes
    ----------
    l1_, l2_, l1_ratio_ : float
        The penalty that was chosen.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights; exactly 0 where the minimum is 0.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    l1s_, l2s_ : ndarray of shape (n_ratios, n_points)
        The penalties that were tried.
    losses_ : ndarray of shape (n_ratios, n_points, n_folds)
        The mean loss of the held-out rows; over several classes the mean.
    scores_ : ndarray of shape (n_ratios, n_points, n_folds), or None
        What ``scoring`` says of the held-out rows.
    means_, standard_errors_ : ndarray of shape (n_ratios, n_points)
        The means of ``losses_``, or with a ``scoring`` of ``scores_``, over the folds, and their
        standard errors; a fold counts by the weight of its held-out rows.
    nonzeros_ : ndarray of shape (n_ratios, n_points, n_folds)
        The number of weights that are not 0, of all classes together.
    best_index_, one_standard_error_index_ : tuple of two int
        Ratio and point of the best mean, and of the one-standard-error rule.
    objective_, dual_objective_, duality_gap_ : float, or ndarray of shape (n_classes,)
        The objective at ``coef_``, a lower bound on the least objective, and the gap between them.
    n_iter_ : int
        Epochs of the last fit, along the path down to the chosen point; the most of any class.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import DualNetClassifierCV
    >>> X = sparse.random(1000, 200, density=0.1, format="csr", random_state=0)
    >>> noise = np.random.default_rng(0).normal(0.0, 0.2, 1000)
    >>> y = np.asarray(X[:, :3].sum(axis=1)).ravel() + noise > 0.2
    >>> model = DualNetClassifierCV(n_points=20, one_standard_error=True, random_state=0).fit(X, y)
    >>> np.flatnonzero(model.coef_[0]), model.losses_.shape
    (array([0, 1, 2]), (1, 20, 5))
    >>> bool((model.predict(X) == (model.decision_function(X) > 0)).all())
    True
    >>> len(model.plot().axes)  # loss and nonzeros against the penalty
    2
    """

    _kinds = table(**_ChosenNet._kinds, class_weight=CLASS_WEIGHT)

    @helpful
    def __init__(
        self,
        loss: LossLike = "log_loss",
        *,
        l1_ratios: Sequence[float] = (1.0,),
        l1s: ArrayLike | None = None,
        l2s: ArrayLike | None = None,
        n_points: int = 50,
        smallest: float = 1e-2,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        one_standard_error: bool = False,
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | str | None = None,
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
        """Choose the penalty and train; an interrupted call leaves the estimator as it was.

        Parameters
        ----------
        X : sparse matrix or array of shape (n_samples, n_features), or source
            The rows to learn from.  Or a source of ``lazynet.streams``, which has y and the weights
            in it: its rows are mapped into memory from a temporary file.
        y : array of shape (n_samples,)
            Class labels of any kind; None with a source.
        sample_weight : array of shape (n_samples,), optional
            The importance of each row, where it is learned from and where it is held out: a weight
            of 2 is two rows, if they are in the same fold.
        groups : array of shape (n_samples,), optional
            The group of each row, for a ``cv`` that keeps groups together.
        checkpoint, every : path and float, optional
            A file in which the fit is kept while it runs, and the seconds between two files; see
            :meth:`LazyNetClassifier.fit`.  It holds the paths that are done.
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
        """Choose the penalty and train; returns the warnings to give."""
        p = self._settle()
        X, y, classes = self._check_training(X, y, None, reset=True)
        own = check_sample_weight(sample_weight, X)
        weights = importances(p.class_weight, classes, X, y, own)
        problems = list(self._problems(X, (y, classes), weights))
        self.classes_ = classes
        return self._fit(p, self._rows(X, y, problems, own, classes), groups, keeper)


class DualNetRegressorCV(SparseRegressor, _ChosenNet):
    """Linear regression at the minimum of the elastic net, its penalty chosen by folds.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2``, as :class:`DualNetRegressor` does.  The
    parameters and attributes are the same as in :class:`DualNetClassifierCV`, with these
    differences.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        Any loss of :class:`DualNetRegressor`.
    cv : int, splitter, iterable or None, default=5
        A number of folds is that many parts of the rows as they stand, without shuffling.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights; exactly 0 where the minimum is 0.
    intercept_ : ndarray of shape (1,)
        The intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import DualNetRegressorCV
    >>> generator = np.random.default_rng(0)
    >>> X = generator.standard_normal((200, 20))
    >>> y = X @ np.r_[3.0, -2.0, np.zeros(18)] + generator.standard_normal(200)
    >>> model = DualNetRegressorCV(l1_ratios=[0.5, 1.0], one_standard_error=True).fit(X, y)
    >>> model.l1_ratio_, np.flatnonzero(model.coef_)
    (1.0, array([0, 1]))
    >>> model.predict(X).shape, len(model.plot().axes)
    ((200,), 2)
    """

    _kinds = _ChosenNet._kinds

    @helpful
    def __init__(
        self,
        loss: LossLike = "squared_error",
        *,
        l1_ratios: Sequence[float] = (1.0,),
        l1s: ArrayLike | None = None,
        l2s: ArrayLike | None = None,
        n_points: int = 50,
        smallest: float = 1e-2,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        one_standard_error: bool = False,
        tol: float = 1e-4,
        max_iter: int = 1000,
        fit_intercept: bool = True,
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
        """Choose the penalty and train; see :meth:`DualNetClassifierCV.fit`."""
        with keeper_of(checkpoint, every) as keeper:
            warnings = self._learn(X, y, sample_weight, groups, keeper)
        self._warn(warnings)
        return self

    @all_or_nothing
    @takes_sources
    def _learn(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, keeper: Keeper
    ) -> list[Warning]:
        """Choose the penalty and train; returns the warnings to give."""
        p = self._settle()
        X, y = self._check_training(X, y, reset=True)
        weights = check_sample_weight(sample_weight, X)
        problems = list(self._problems(X, y, weights))
        return self._fit(p, self._rows(X, y, problems, weights, None), groups, keeper)
