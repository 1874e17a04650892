"""DualNetClassifierCV and DualNetRegressorCV: paths of certified minima in every fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, get_scorer_names

from lazynet.data.arrays import errors_about
from lazynet.data.chunks import rows_at
from lazynet.data.products import products
from lazynet.data.statistics import Units
from lazynet.data.targets import CheckedRows, OutputTargets
from lazynet.data.weights import ClassWeight
from lazynet.engines.threads import Workers
from lazynet.estimators.certified import as_passed, in_units, load_minima
from lazynet.estimators.cross_validation import LinearModelCV, grid_of
from lazynet.estimators.linear import LinearRegressor
from lazynet.estimators.linear_classifier import LinearClassifier
from lazynet.losses import LossOfNumbers, MinimisedLoss
from lazynet.minimum.minimise import Minimiser, Minimum, Problem, follow, why_late
from lazynet.parameters import Kind, Positive, PositiveInt, as_float, is_number, shown
from lazynet.penalties import SMALLEST, check_penalties
from lazynet.training.folds import Fold, results_of, warnings_of_ends, weights_of_folds
from lazynet.training.passes import total_loss_of
from lazynet.training.settings import Standardize, new_seeds


def _check_scoring(name: str, value: Any) -> Callable[..., float]:
    if callable(value):
        return value
    if isinstance(value, str) and value in get_scorer_names():
        return get_scorer(value)
    raise ValueError(
        f"{name} must be None, a callable or a name from sklearn.metrics.get_scorer_names(), "
        f"got {shown(value)}"
    )


def _minimiser(
    p: SimpleNamespace, X: sparse.csr_matrix, output: OutputTargets, seed: int
) -> Minimiser:
    """A minimiser of one output over the rows of X."""
    over_rows = Problem(X, *output, p.loss, p.fit_intercept)
    return Minimiser(over_rows, seed)


@dataclass(repr=False, eq=False)
class _DualNetCV(LinearModelCV):
    """Chooses l1 and l2 by paths of minima in every fold."""

    _: KW_ONLY
    scoring: Annotated[str | Callable[..., float], Kind(_check_scoring)] | None = None
    standardize: Standardize = False
    tol: Positive = 1e-4
    max_iter: PositiveInt = 1000

    def _train_in_folds(
        self, p: SimpleNamespace, rows: CheckedRows, folds: list[Fold]
    ) -> list[Warning]:
        """Follow a path of minima in every fold, and down to the chosen point with all rows."""
        n_folds, n_outputs = len(folds), rows.targets.n_outputs
        check_penalties(*np.transpose(grid_of(p, 1.0, SMALLEST)))
        # A path goes down the l1s for every l2, or down the l2s if there is one l1.
        n_l1s = p.l1s if isinstance(p.l1s, int) else len(p.l1s)
        n_paths = 1 if n_l1s == 1 else len(p.l2s)
        tasks = [(path, fold) for path in range(n_paths) for fold in folds]
        # For every output a seed of the last fit, and one of every path in every fold.
        seeds = new_seeds(p.random_state, n_outputs, 1 + len(tasks))
        n_threads = min(effective_n_jobs(p.n_jobs), max(len(tasks), n_outputs))
        X, units, warnings = in_units(p, rows.X)
        with Workers(n_threads) as workers:
            minima_of = partial(
                follow, tol=p.tol, max_iter=p.max_iter, after=lambda _: workers.check()
            )
            minimisers = [
                _minimiser(p, X, output, seed)
                for output, seed in zip(rows.targets, seeds[:, 0], strict=True)
            ]
            # Every fold has the grid of all rows, so that losses of different folds at the same
            # point belong to the same penalty.  If no feature lowers the loss, every weight is 0 at
            # any l1.
            largest = max(minimiser.largest_l1 for minimiser in minimisers) or 1.0
            settings = grid_of(p, largest, SMALLEST)
            length = len(settings) // n_paths

            def path_in_fold(task: int) -> tuple[list[float], list[int], list[Minimum]]:
                path, fold = tasks[task]
                points = settings[path * length : (path + 1) * length]
                # The losses of folds need no last digits.
                follow_points = partial(minima_of, points=points, exactly=False)
                arguments = seeds[:, 1 + task], follow_points, X, units
                return self._path_in_fold(p, rows, fold, *arguments)

            paths = workers.map(path_in_fold, range(len(tasks)))
            values, nonzeros = (
                np.reshape(parts, (n_paths, n_folds, length)).swapaxes(1, 2).reshape(-1, n_folds)
                for parts in list(zip(*paths, strict=True))[:2]
            )
            weights = rows.sample_weight if p.scoring else rows.targets.importances
            measure = "score" if p.scoring else "loss"
            weights = weights_of_folds(folds, weights)
            self._choose(p, results_of(settings, measure, values, nonzeros, weights))
            best = self.best_index_
            down = settings[best // length * length : best + 1]

            def path_of_model(minimiser: Minimiser) -> list[Minimum]:
                before = minima_of(minimiser, down[:-1], exactly=False)
                return [*before, *minima_of(minimiser, down[-1:])]

            ends = workers.map(path_of_model, minimisers)
        minima = [path[-1] for path in ends]
        load_minima(self, minima, units)
        self.n_iter_ = max(sum(minimum.n_iter for minimum in path) for path in ends)
        late = [minimum for *_, late_of_path in paths for minimum in late_of_path]
        late += [minimum for minimum in minima if not minimum.converged]
        warnings += warnings_of_ends(self.cv_results_, p.l1s, p.tol)
        if late:
            warnings.append(
                ConvergenceWarning(
                    f"{len(late)} of the minima have not come within tol={p.tol:g}: another "
                    f"penalty may be the best, and the duality gap of the model is "
                    f"{max(minimum.gap for minimum in minima):.3g}.  The searches ended "
                    f"{why_late(late, p.max_iter)}"
                )
            )
        return warnings

    def _path_in_fold(
        self,
        p: SimpleNamespace,
        rows: CheckedRows,
        fold: Fold,
        seeds: NDArray[np.int64],
        minima_of: Callable[[Minimiser], Iterator[Minimum]],
        X: sparse.csr_matrix,
        units: Units | None,
    ) -> tuple[list[float], list[int], list[Minimum]]:
        """Train on one part of a fold along a path, and evaluate every point on the other part.

        ``X`` has all rows in ``units``.  Returns the loss or score and the number of nonzeros of
        every point, and the minima that have not converged, without their weights.
        """
        X, held_out = rows_at(X, fold.train), rows_at(rows.X, fold.test)
        # Features with a weight, these weights, and the intercept, for every output and point.
        models: list[list[tuple[NDArray[np.int64], NDArray[np.float64], float]]] = []
        late: list[Minimum] = []
        for output, seed in zip(rows.targets.only(fold.train), seeds, strict=True):
            models.append([])
            for minimum in minima_of(_minimiser(p, X, output, seed)):
                coef, (intercept,) = as_passed([minimum], units)
                features = np.flatnonzero(coef)
                models[-1].append((features, coef[0, features], intercept))
                if not minimum.converged:
                    late.append(minimum.without_vectors())
        values, nonzeros = [], []
        for point in zip(*models, strict=True):
            weights, intercepts = np.zeros((len(point), X.shape[1])), np.zeros(len(point))
            for row, (features, of_features, intercept) in enumerate(point):
                weights[row, features], intercepts[row] = of_features, intercept
            values.append(self._judged(p, rows, fold, held_out, weights, intercepts))
            nonzeros.append(sum(len(features) for features, *_ in point))
        return values, nonzeros, late

    def _judged(
        self,
        p: SimpleNamespace,
        rows: CheckedRows,
        fold: Fold,
        held_out: sparse.csr_matrix,
        weights: NDArray[np.float64],
        intercepts: NDArray[np.float64],
    ) -> float:
        """The mean loss, or the score by ``scoring``, of the models of all outputs."""
        if not p.scoring:
            (weight,) = weights_of_folds([fold], rows.targets.importances)
            decisions = (products(held_out, weights) + intercepts).T
            models = zip(rows.targets.only(fold.test), decisions, strict=True)
            losses = [
                total_loss_of(decisions, *output, p.loss) / weight for output, decisions in models
            ]
            return float(sum(losses) / len(losses))
        judged = type(self)(**self.get_params(deep=False))
        judged.n_features_in_ = held_out.shape[1]
        if rows.classes is not None:
            judged.classes_ = rows.classes
        judged._load(weights, intercepts)
        options = {}
        if rows.sample_weight is not None:
            options["sample_weight"] = rows.sample_weight[fold.test]
        with errors_about("scoring"):
            score = p.scoring(judged, held_out, rows.y[fold.test], **options)
        if not is_number(score):
            raise TypeError(f"scoring must return a number, got {shown(score)}")
        return as_float(score)


@dataclass(repr=False, eq=False)
class DualNetClassifierCV(LinearClassifier, _DualNetCV):
    """Linear classification at the minimum of the elastic net, its l1 and l2 chosen by folds.

    Finds the minima of :class:`DualNetClassifier` along a path of l1 for every l2 (see
    :func:`net_path`) in every fold of a cross-validation.  Takes the penalty with the least loss on
    held-out rows, or the sparsest model within one standard error of it, and minimises once more
    with all rows.  Several classes are trained one against the rest, all with the same penalty.

    Parameters
    ----------
    loss, max_iter, fit_intercept, random_state
        As in :class:`DualNetClassifier`; ``max_iter`` holds for every point.
    standardize : bool or "auto", default=False
        As in :class:`DualNetClassifier`, with the sizes of all rows in every fold.
    l1s : int or array, default=50
        The l1 to try.  A number n: n values in equal ratios, from the least l1 at which every
        weight is 0 down to a thousandth of it.
    l2s : float or array, default=0.0
        The l2 to try, with every l1.  ``l1s=[0.0], l2s=[...]`` chooses a ridge penalty.
    cv : int, splitter, iterable or None, default=5
        The folds: a number of them (by classes in equal shares, without shuffling), a splitter of
        scikit-learn, or pairs of rows to learn from and rows to hold out.  None is 5.
    scoring : str, callable or None, default=None
        None: choose the least mean of ``loss`` on held-out rows.  A name or a scorer of
        scikit-learn: choose the greatest score.
    one_standard_error : bool, default=False
        Take the sparsest model within one standard error of the best.
    tol : float, default=1e-4
        The largest duality gap of every point, as a share of the objective at zero weights.
    class_weight : dict, "balanced" or None, default=None
        A factor of the loss of a row, by its class; also in the loss of held-out rows, but not in
        the scores of a ``scoring``.
    n_jobs : int or None, default=None
        Threads that share the paths of folds and classes; -1 is one per processor.  They change no
        bit.

    Attributes
    ----------
    coef_, intercept_, classes_, objective_, dual_objective_, duality_gap_, units_
        As in :class:`DualNetClassifier`.
    l1_, l2_, best_index_ : float, float, int
        The setting that was chosen, and its place in ``cv_results_``.
    cv_results_ : dict of arrays
        An entry per setting, the largest penalties first: "l1", "l2"; "split0_loss", ..., the mean
        loss of the held-out rows of a fold; "mean_loss" and "standard_error", over the folds, each
        weighted by its held-out rows; "nonzeros", the mean of the folds.  With a ``scoring`` the
        names are "split0_score", ..., and "mean_score".
    n_iter_ : int
        Epochs of the last fit, along the path down to the chosen point; the most of any class.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import DualNetClassifierCV
    >>> generator = np.random.default_rng(0)
    >>> X = generator.standard_normal((500, 20))
    >>> y = X[:, 0] + X[:, 1] + generator.standard_normal(500) > 0.1
    >>> model = DualNetClassifierCV(l1s=30, one_standard_error=True, random_state=0).fit(X, y)
    >>> np.flatnonzero(model.coef_[0]), model.cv_results_["mean_loss"].shape
    (array([0, 1]), (30,))
    >>> bool((model.predict(X) == (model.decision_function(X) > 0)).all())
    True
    """

    loss: MinimisedLoss = "log_loss"
    _: KW_ONLY
    class_weight: ClassWeight | None = None


@dataclass(repr=False, eq=False)
class DualNetRegressorCV(LinearRegressor, _DualNetCV):
    """Linear regression at the minimum of the elastic net, its l1 and l2 chosen by folds.

    Parameters and attributes are those of :class:`DualNetClassifierCV` without ``class_weight`` and
    ``classes_``; ``coef_`` has the shape (n_features,).

    Parameters
    ----------
    loss : str or object, default="squared_error"
        Any loss of :class:`DualNetRegressor`.
    cv : int, splitter, iterable or None, default=5
        A number of folds divides the rows in their order, without shuffling.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import DualNetRegressorCV
    >>> generator = np.random.default_rng(0)
    >>> X = generator.standard_normal((200, 20))
    >>> y = X @ np.r_[3.0, -2.0, np.zeros(18)] + generator.standard_normal(200)
    >>> model = DualNetRegressorCV(l2s=[0.0, 0.1], one_standard_error=True).fit(X, y)
    >>> model.l2_, np.flatnonzero(model.coef_)
    (0.0, array([0, 1]))
    """

    loss: LossOfNumbers = "squared_error"
