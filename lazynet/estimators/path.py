"""A path of penalties: the minimum of the elastic net at each, from the largest penalty down.

``net_path`` finds the least l1 at which every weight is 0, and goes down a grid from there.  The
solver starts every point from the weights of the last one, and bounds the error of each by a
duality gap.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import type_of_target

from lazynet.data.arrays import checked_rows
from lazynet.data.chunks import Chunk
from lazynet.data.mapped_matrix import in_memory
from lazynet.data.products import products
from lazynet.data.statistics import Units
from lazynet.data.targets import CheckedRows
from lazynet.data.weights import check_weight_of_every_class
from lazynet.estimators.certified import as_passed, in_units
from lazynet.estimators.linear import LinearRegressor
from lazynet.estimators.linear_classifier import LinearClassifier
from lazynet.losses import Loss, MinimisedLoss
from lazynet.minimum.minimise import Minimiser, Problem, follow, why_late
from lazynet.parameters import Flag, Kind, Number, Positive, PositiveInt, settle
from lazynet.penalties import SMALLEST, check_l1s, check_strengths, penalties_of_path
from lazynet.training.settings import Seed, Standardize, new_seeds

#: The number of points without convergence that a warning names; it counts the others.
_NAMED = 5


@dataclass(frozen=True)
class NetPath:
    """The minima along a path of penalties, the largest penalty first; ``net_path`` returns one.

    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    >>> path = net_path(X, [2.0, 1.0, 3.0, 0.0], loss="squared_error", l1s=3)
    >>> print(path)
    3 points, l1 from 0.5 to 0.0005: 0 to 2 nonzeros, every gap within tol
    >>> path.nonzeros, path.coefs.toarray().round(1)
    (array([0, 2, 2]), array([[0. , 0. ],
           [1.9, 0.9],
           [2. , 1. ]]))
    >>> path.decision_function([[1.0, 1.0]]).round(1)  # a column for every point
    array([[1.5, 2.9, 3. ]])
    >>> len(path)
    3
    """

    l1s: NDArray[np.float64]
    """The l1 of every point."""
    l2s: NDArray[np.float64]
    """The l2 of every point."""
    coefs: sparse.csr_matrix
    """The weights: a row for every point, a column for every feature."""
    intercepts: NDArray[np.float64]
    """The intercept of every point."""
    objectives: NDArray[np.float64]
    """Mean loss plus penalty at every point."""
    dual_objectives: NDArray[np.float64]
    """A lower bound on the least objective at every point."""
    gaps: NDArray[np.float64]
    """The differences of the objectives and these bounds, with rounding."""
    nonzeros: NDArray[np.int64]
    """The number of weights that are not 0."""
    n_iter: NDArray[np.int64]
    """The epochs that every point took."""
    converged: NDArray[np.bool_]
    """Whether the gap is at most ``tol`` times ``at_zero``, or at most its rounding error."""
    at_zero: float
    """The objective with all weights 0 and the best intercept."""
    classes: NDArray[Any] | None = None
    """The two labels, of which the second is predicted by a positive decision; None for numbers."""
    units: Units | None = None
    """The sizes and means of the features, if they were standardised."""

    def __len__(self) -> int:
        return len(self.l1s)

    def __str__(self) -> str:
        """The range of penalties and of nonzeros, and whether every point converged."""
        name, values = ("l1", self.l1s) if self.l1s.any() else ("l2", self.l2s)
        late = len(self) - int(self.converged.sum())
        arrived = f"{late} points not within tol" if late else "every gap within tol"
        return (
            f"{len(self)} points, {name} from {values[0]:.3g} to {values[-1]:.3g}: "
            f"{self.nonzeros.min():,} to {self.nonzeros.max():,} nonzeros, {arrived}"
        )

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w.x + b of every row of X at every point, shape (n_samples, n_points)."""
        model = LinearRegressor()
        model.n_features_in_ = self.coefs.shape[1]
        X, *_ = checked_rows(model, X, reset=False, for_training=False)
        return products(X, self.coefs) + self.intercepts


def net_path(
    X: Any,
    y: ArrayLike | None = None,
    *,
    loss: MinimisedLoss = "log_loss",
    l1s: Annotated[int | ArrayLike, Kind(check_l1s)] = 50,
    l2s: Annotated[ArrayLike, Kind(check_strengths)] | None = None,
    l1_ratio: Annotated[float, Number(least=0, most=1)] = 1.0,
    smallest: Annotated[float, Number(least=1e-12, most=1)] = SMALLEST,
    tol: Positive = 1e-4,
    max_iter: PositiveInt = 1000,
    standardize: Standardize = False,
    fit_intercept: Flag = True,
    sample_weight: ArrayLike | None = None,
    random_state: Seed | None = None,
) -> NetPath:
    """Minimise ``mean loss + l1 * sum|w| + l2/2 * sum w^2`` along a path of penalties.

    l1 falls in equal ratios, from the least l1 at which every weight is 0 to ``smallest`` times
    this l1.  The solver starts every point from the weights of the point before, and ends when the
    duality gap is at most ``tol`` times the objective at zero weights; a ``ConvergenceWarning``
    names the points that did not converge.

    Parameters
    ----------
    X : sparse matrix or array of shape (n_samples, n_features), or source
        The rows to learn from.  Or a source of ``lazynet.data``, which contains y and the sample
        weights: its rows are mapped into memory from a temporary file.
    y : array of shape (n_samples,)
        Numbers, or labels of two classes if the loss is one for labels; None with a source.
    loss, max_iter, standardize, fit_intercept, random_state
        As in :class:`DualNetClassifier`; ``loss="squared_error"`` is for numbers, and ``max_iter``
        holds for every point.
    l1s : int or array, default=50
        The l1 of the points; a number n: n values in equal ratios.
    l2s : float or array, optional
        The values of l2, in place of ``l1_ratio``: one for all points, or one for each of ``l1s``.
        ``l1s=0.0, l2s=[...]`` is a path of ridge penalties.
    l1_ratio : float, default=1.0
        From 0 (excluded) to 1: ``l2 = l1 * (1 - l1_ratio) / l1_ratio``.  With the alpha of other
        libraries, ``l1 = alpha * l1_ratio`` and ``l2 = alpha * (1 - l1_ratio)``.
    smallest : float, default=1e-3
        The last l1 as a share of the first, if ``l1s`` is a number.
    tol : float, default=1e-4
        The largest gap, as a share of the objective at zero weights.
    sample_weight : array of shape (n_samples,), optional
        The weight of each row; a row of weight 2 counts as two rows.

    Returns
    -------
    NetPath
        The points from the largest penalty down, for any order of ``l1s``.

    Examples
    --------
    >>> from lazynet import net_path
    >>> X = sparse.random(500, 200, density=0.1, format="csr", random_state=0)
    >>> y = np.where(np.asarray(X[:, :3].sum(axis=1)).ravel() > 0.2, "yes", "no")
    >>> path = net_path(X, y, l1s=10, random_state=0)
    >>> path.nonzeros[:4], path.coefs.shape
    (array([0, 3, 3, 3]), (10, 200))
    >>> path.coefs[3].indices  # the features with a weight at the fourth point
    array([0, 1, 2], dtype=int32)
    >>> bool((path.gaps <= 1e-4 * path.at_zero).all())
    True
    """
    p = settle(net_path, locals())
    points = p.l1s, p.l2s, p.l1_ratio, p.smallest
    penalties_of_path(1.0, *points)  # refuses parameters that exclude each other
    with in_memory(X, y, sample_weight) as rows:
        path, warned = _path_over(p, points, rows)
    for warning in warned:
        warnings.warn(warning, stacklevel=2)
    return path


def _path_over(
    p: SimpleNamespace, points: tuple[Any, ...], chunk: Chunk
) -> tuple[NetPath, list[Warning]]:
    """The path over rows in memory, and the warnings to give."""
    read = _checked(chunk, p.loss)
    X, units, warnings = in_units(p, read.X)
    problem = Problem(X, *read.targets[0], p.loss, p.fit_intercept)
    minimiser = Minimiser(problem, int(new_seeds(p.random_state, 1)[0]))
    # If no feature lowers the loss, every weight is 0 at any l1.
    l1s, l2s = penalties_of_path(minimiser.largest_l1 or 1.0, *points)
    rows, intercepts, minima = [], [], []
    penalties = zip(l1s.tolist(), l2s.tolist(), strict=True)
    for minimum in follow(minimiser, penalties, tol=p.tol, max_iter=p.max_iter):
        # A path over many features would not fit into memory with all its zeros.
        coef, (intercept,) = as_passed([minimum], units)
        rows.append(sparse.csr_matrix(coef))
        intercepts.append(intercept)
        minima.append(minimum.without_vectors())
    coefs = sparse.vstack(rows, format="csr")

    def of_points(name: str) -> NDArray[Any]:
        return np.array([getattr(minimum, name) for minimum in minima])

    path = NetPath(
        l1s=l1s,
        l2s=l2s,
        coefs=coefs,
        intercepts=np.array(intercepts),
        objectives=of_points("objective"),
        dual_objectives=of_points("dual_objective"),
        gaps=of_points("gap"),
        nonzeros=np.diff(coefs.indptr).astype(np.int64),
        n_iter=of_points("n_iter"),
        converged=of_points("converged"),
        at_zero=minimiser.at_zero,
        classes=read.classes,
        units=units,
    )
    late = [minimum for minimum in minima if not minimum.converged]
    if late:
        warnings.append(ConvergenceWarning(_late(path, p.tol, why_late(late, p.max_iter))))
    return path, warnings


def _checked(chunk: Chunk, loss: Loss) -> CheckedRows:
    """The checked rows; y has two labels if the loss is a loss for labels."""
    if not loss.margin:
        return LinearRegressor()._checked_data(None, chunk, reset=True)
    if type_of_target(chunk.y) == "continuous":
        raise ValueError(
            f"loss={loss.name!r} is for the labels of two classes, and y holds numbers: write "
            f"loss='squared_error' or another loss for numbers"
        )
    rows = LinearClassifier()._checked_data(None, chunk, reset=True)
    assert rows.classes is not None
    if len(rows.classes) > 2:
        raise ValueError(
            f"y must hold the labels of two classes for loss={loss.name!r}, got "
            f"{len(rows.classes)} classes: give y == label for a path of one class against the "
            f"rest, or take DualNetClassifierCV; if y holds numbers, write loss='squared_error'"
        )
    check_weight_of_every_class(rows.classes, rows.y, rows.targets.importances)
    return rows


def _late(path: NetPath, tol: float, why: str) -> str:
    """The text of the warning about points that did not converge."""
    late = np.flatnonzero(~path.converged)
    name, values = ("l1", path.l1s) if path.l1s.any() else ("l2", path.l2s)
    named = ", ".join(f"{value:.3g}" for value in values[late[:_NAMED]])
    rest = f" and {len(late) - _NAMED} more" if len(late) > _NAMED else ""
    return (
        f"{len(late)} of {len(path)} points have not come within tol={tol:g}: "
        f"{name} = {named}{rest}; the largest gap is {path.gaps[late].max():.3g}, and the largest "
        f"allowed gap is {tol * path.at_zero:.3g}.  The search ended {why}"
    )
