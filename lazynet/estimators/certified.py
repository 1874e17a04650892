"""DualNetClassifier and DualNetRegressor: the minimum of the elastic net, with a certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lazynet.data.arrays import as_examples
from lazynet.data.statistics import FeatureMoments, Units, count_rows
from lazynet.data.targets import CheckedRows
from lazynet.data.weights import ClassWeight, check_weight_of_every_class
from lazynet.engines.threads import Workers
from lazynet.estimators.linear import LinearModel, LinearRegressor
from lazynet.estimators.linear_classifier import LinearClassifier
from lazynet.kernels.moments import MOMENTS
from lazynet.losses import LossOfNumbers, MinimisedLoss
from lazynet.minimum.gram import sampled_rows
from lazynet.minimum.minimise import (
    EpochOfSearch,
    Minimiser,
    Minimum,
    Problem,
    check_penalty,
    why_late,
)
from lazynet.parameters import Flag, NonNegative, Positive, PositiveInt, Threads, Verbosity
from lazynet.training.automatic import Choices, choose_penalty
from lazynet.training.settings import Seed, Standardize, new_seeds

# Features in at least this share of the rows have a size of their own in the warning about sizes,
# and the largest ratio of sizes without a warning.
_COMMON, _FAR = 0.05, 100.0
# About the most nonzeros, and the least rows, that tell the sizes of features.
_MOST_COUNTED, _LEAST_ROWS = 2**13, 32
# The most lines that a fit prints.
_MOST_LINES = 20


@dataclass(repr=False, eq=False)
class _DualNetModel(LinearModel):
    """The training that classifier and regressor share."""

    _: KW_ONLY
    l1: NonNegative | None = None
    l2: NonNegative | None = None
    standardize: Standardize = False
    tol: Positive = 1e-4
    max_iter: PositiveInt = 1000
    fit_intercept: Flag = True
    warm_start: Flag = False
    random_state: Seed | None = None
    n_jobs: Threads | None = None
    verbose: Verbosity = 0

    # Set by training.
    l1_: float = field(init=False)
    l2_: float = field(init=False)
    auto_: Choices = field(init=False)
    n_iter_: int = field(init=False)
    solver_: str | list[str] = field(init=False)
    units_: Units | None = field(init=False)
    history_: list[dict[str, Any]] = field(init=False)

    def _train(self, p: SimpleNamespace, rows: CheckedRows, *more: Any) -> list[Warning]:
        outputs = rows.targets
        if rows.classes is not None:
            check_weight_of_every_class(rows.classes, rows.y, outputs.importances)
        check_penalty(p.loss, p.l1, p.l2)
        X, units, warnings = in_units(p, rows.X)
        mean_squared_norm = 0.0
        if p.l1 is None or p.l2 is None:
            # The search refuses squares that overflow.
            with np.errstate(over="ignore"):
                mean_squared_norm = float(as_examples(X).squared_norms().mean())
        self._choose_penalty(p, mean_squared_norm, X.shape[0])

        def minimiser_of(row: int, seed: int) -> Minimiser:
            return Minimiser(Problem(X, *outputs[row], p.loss, p.fit_intercept), seed)

        return warnings + self._find(p, (outputs.n_outputs, X.shape[1]), minimiser_of, units)

    def _choose_penalty(self, p: SimpleNamespace, mean_squared_norm: float, n_rows: int) -> None:
        """Set l1 and l2 that are None."""
        p.l1, p.l2, self.auto_ = choose_penalty((p.l1, p.l2), mean_squared_norm, n_rows)
        self.l1_, self.l2_ = p.l1, p.l2

    def _find(
        self,
        p: SimpleNamespace,
        shape: tuple[int, int],
        minimiser_of: Callable[[int, int], Minimiser],
        units: Units | None,
    ) -> list[Warning]:
        """Let a minimiser find the minimum of every output; returns the warnings to give.

        ``shape``: the numbers of outputs and of features.  ``minimiser_of`` takes the number of an
        output and a seed; its rows are in ``units``.
        """
        n_outputs = shape[0]
        seeds = new_seeds(p.random_state, n_outputs).tolist()
        warm = p.warm_start and self.__sklearn_is_fitted__()
        start = (self._dense_weights(), self._intercepts()) if warm else None
        if start is not None and start[0].shape != shape:
            raise ValueError(
                f"warm_start=True continues from weights of shape {start[0].shape}, and these "
                f"data need the shape {shape}: fit with warm_start=False"
            )
        if start is not None and units is not None:
            start = units.within(*start)
        progress = _Progress(n_outputs * (p.max_iter + 1))

        def minimum_of(row: int) -> Minimum:
            minimiser = minimiser_of(row, seeds[row])
            if start is not None:
                intercept = float(start[1][row]) if p.fit_intercept else 0.0
                duals_of_outputs = self.__dict__.get("_duals", [])
                duals = duals_of_outputs[row] if row < len(duals_of_outputs) else None
                minimiser.start_from(start[0][row], intercept, duals)

            def after(epoch: EpochOfSearch) -> None:
                workers.check()
                if p.verbose > 0:
                    progress.add(
                        (f"output {row}  " if n_outputs > 1 else "")
                        + f"epoch {epoch['epoch']:4d}  objective {epoch['objective']:.6g}  "
                        f"gap {epoch['gap']:.3g}  nonzeros {epoch['nonzeros']}  "
                        f"{epoch['seconds']:.3f} s"
                    )

            return minimiser.to(p.l1, p.l2, tol=p.tol, max_iter=p.max_iter, after=after)

        with Workers(min(effective_n_jobs(p.n_jobs), n_outputs)) as workers:
            result = workers.map(minimum_of, range(n_outputs))
        progress.end()
        load_minima(self, result, units)
        solvers = [minimum.solver for minimum in result]
        self.solver_ = solvers if n_outputs > 1 else solvers[0]
        self._duals = [minimum.duals for minimum in result] if p.warm_start else []
        self.n_iter_ = max(minimum.n_iter for minimum in result)
        self.history_ = [
            {"output": row, **record} if n_outputs > 1 else dict(record)
            for row, minimum in enumerate(result)
            for record in minimum.history
        ]
        return _warnings_of(result, p)


class _Progress:
    """Prints epochs at growing intervals, and the last: at most 20 lines of ``n_epochs`` epochs."""

    def __init__(self, n_epochs: int) -> None:
        self._n_epochs, self._seen, self._line = n_epochs, 0, ""

    @cached_property
    def _due(self) -> set[int]:
        return {int(number) for number in np.geomspace(1, self._n_epochs, _MOST_LINES - 1)}

    def add(self, line: str) -> None:
        """Print the line of the next epoch, if it is due."""
        self._seen, self._line = self._seen + 1, line
        if self._seen in self._due:
            self.end()

    def end(self) -> None:
        """Print the last line, if it is not printed yet."""
        if self._line:
            print(self._line)
        self._line = ""


def in_units(
    p: SimpleNamespace, X: sparse.csr_matrix
) -> tuple[sparse.csr_matrix, Units | None, list[Warning]]:
    """The rows in the units that ``standardize`` asks for, these units, and a warning about sizes.

    The units are None if features are not standardised.
    """
    if p.standardize is not False:
        moments = FeatureMoments.of(X.shape[1], p.standardize is True, p.fit_intercept)
        moments.count(X)
        moments.settle()
        return moments.units.rows(X), moments.units, []
    # Some rows tell the sizes.
    n_rows = X.shape[0]
    n_counted = min(n_rows, max(_LEAST_ROWS, _MOST_COUNTED * n_rows // max(X.nnz, 1)))
    cells = np.zeros((X.shape[1], MOMENTS))
    count_rows(X, cells, None if n_counted == n_rows else sampled_rows(n_rows, n_counted))
    counts, means, squares = cells.T
    # The search refuses squares that overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        squares = squares + counts * means * means
    return X, None, warnings_of_sizes(counts, squares, n_counted)


def warnings_of_sizes(
    counts: NDArray[np.float64], squares: NDArray[np.float64], n_rows: int
) -> list[Warning]:
    """A warning if the sizes of features differ by more than a hundred times.

    The size of a feature is the root mean square of its nonzeros; ``counts`` are the numbers of
    these, and ``squares`` the sums of their squares.  The sizes of rare words differ by themselves:
    features that are nonzero in fewer than one row in twenty have their median size.

    >>> warnings_of_sizes(np.array([9.0, 9.0]), np.array([9.0, 9e6]), 10)[0].args[0][:39]
    'the sizes of features go from 1 to 1000'
    >>> warnings_of_sizes(np.ones(3), np.array([1.0, 9e6, 1.0]), 100)
    []
    """
    seen = counts > 0.0
    sizes, rare = np.sqrt(squares[seen] / counts[seen]), counts[seen] < _COMMON * n_rows
    sizes = np.append(sizes[~rare], np.median(sizes[rare]) if rare.any() else [])
    if not len(sizes) or not sizes.max() > _FAR * sizes.min():
        return []
    return [
        UserWarning(
            f"the sizes of features go from {sizes.min():.4g} to {sizes.max():.4g} (root mean "
            f"squares of their nonzeros), and the penalty holds the weights of small features "
            f'most: write standardize=True, or standardize="auto" if most features are sparse'
        )
    ]


def _warnings_of(minima: Sequence[Minimum], p: SimpleNamespace) -> list[Warning]:
    """A warning for every minimum that has not converged."""
    return [
        ConvergenceWarning(
            f"the duality gap is {minimum.gap:.3g}"
            + (f" for class {row}" if len(minima) > 1 else "")
            + f", and tol={p.tol:g} asks for {minimum.target:.3g}.  The search ended "
            + why_late([minimum], p.max_iter)
        )
        for row, minimum in enumerate(minima)
        if not minimum.converged
    ]


def as_passed(
    minima: Sequence[Minimum], units: Units | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weights of features as passed, a row for every minimum in ``units``; the intercepts."""
    weights = np.vstack([minimum.coef for minimum in minima])
    intercepts = np.array([minimum.intercept for minimum in minima])
    if units is None:
        return weights, intercepts
    weights = units.weights(weights)
    return weights, units.intercept(weights[:, units.moved], intercepts)


def load_minima(model: Any, minima: Sequence[Minimum], units: Units | None) -> None:
    """Set the weights, objectives and gaps of a model to the minima, one for every output.

    The minima are those of rows in ``units``.
    """
    model._load(*as_passed(minima, units))
    names = vars(model).get("feature_names_in_")
    model.units_ = None if units is None else replace(units, names=names)
    for attribute, number in (
        ("objective_", "objective"),
        ("dual_objective_", "dual_objective"),
        ("duality_gap_", "gap"),
    ):
        values = [float(getattr(minimum, number)) for minimum in minima]
        setattr(model, attribute, values[0] if len(values) == 1 else np.array(values))


@dataclass(repr=False, eq=False)
class DualNetClassifier(LinearClassifier, _DualNetModel):
    """Linear classification at the minimum of the elastic net, with a bound on the objective.

    Minimises ``mean loss + l1 * sum|w| + l2/2 * sum w^2``.  The solver ends when the duality gap, a
    bound on the distance from the least objective, is as small as ``tol`` asks.  It takes steps of
    Newton's method on the weights that are not 0, or of dual coordinate ascent if most weights are
    not 0 and rows are few.  Several classes are trained one against the rest.

    Parameters
    ----------
    loss : str or object, default="log_loss"
        Any loss of :class:`LazyNetClassifier` except "perceptron" and "softmax".  Losses whose
        slope jumps, such as "hinge", take longer than smooth losses.
    l1, l2 : float or None, default=None
        The strengths of the penalty, at least 0, and not both 0.  None: 0.05 |x|^2 / n, with the
        mean squared norm of the n rows, but at most 1e-4, which is too strong for many short rows,
        such as tf-idf.  Sample weights do not change it.
    standardize : bool or "auto", default=False
        True: every feature is divided by its standard deviation; "auto": see
        :class:`LazyNetClassifier`.  The penalty and the certificate are then those of the
        standardised features (every row counts once), and ``coef_`` is that of the features as
        passed.  X stays sparse.  With False a fit warns if features have sizes, the root mean
        squares of their nonzeros, that differ by more than a hundred times; those that are nonzero
        in fewer than one row in twenty count as one, with their median size.
    tol : float, default=1e-4
        Stop when the duality gap is at most ``tol`` times the objective at zero weights, or at most
        its rounding error.
    max_iter : int, default=1000
        The largest number of epochs; an epoch visits all rows at least once.  A fit that ends
        before the gap is small enough gives a ``ConvergenceWarning``, which says why it ended.
    fit_intercept, class_weight, n_jobs
        As in :class:`LazyNetClassifier`.  A row of weight 2 counts as two rows.
    verbose : int, default=0
        1: at most 20 lines, for epochs at growing intervals and for the last one.
    warm_start : bool, default=False
        ``fit`` starts from the weights of the last fit, and stores a number per row for the next.
    random_state : int, RandomState or None, default=None
        Seed of the order of the rows.  With None, two fits may differ, within ``tol``.

    Attributes
    ----------
    coef_, intercept_, classes_ : ndarray
        The model, one row for two classes, and the class labels, sorted.  A weight that is 0 at
        the minimum is exactly 0, except a few weights so small that a gap of ``tol`` allows them.
    duality_gap_ : float, or ndarray of shape (n_classes,)
        The certificate: an upper bound on ``objective_`` minus the least objective.
    l1_, l2_, auto_ : float, float, Choices
        The strengths of the penalty; and those of them that were chosen, with a reason.
    objective_, dual_objective_ : float, or ndarray of shape (n_classes,)
        The objective of the weights, and the lower bound on the least objective.
    units_ : Units or None
        The sizes and means of standardised features.
    n_iter_, solver_ : int, str or list of str
        Epochs after the start, the largest number of any class; and the method of the last epoch,
        ``"gram"``, ``"columns"`` or ``"ascent"``; for several classes a list.
    history_ : list of dict
        Per epoch, and for the start as epoch 0: ``epoch``, ``objective``, ``gap`` (an estimate),
        ``nonzeros``, ``seconds``; with several classes also ``output``, the row of ``coef_``.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from lazynet import DualNetClassifier
    >>> X = sparse.random(200, 1000, density=0.02, format="csr", random_state=0)
    >>> y = np.where(np.asarray(X[:, :500].sum(axis=1)).ravel() > 5, "yes", "no")
    >>> model = DualNetClassifier(l1=5e-3, l2=0, random_state=0).fit(X, y)
    >>> model.duality_gap_ <= 1e-4 * 0.7, int((model.coef_ != 0).sum()) < 200
    (True, True)
    >>> model.predict(X[:3]).tolist() == y[:3].tolist()
    True
    >>> bool((model.decision_function(X[:3]) > 0).tolist() == (y[:3] == "yes").tolist())
    True
    >>> model.predict_proba(X[:3]).sum(axis=1).round(9)
    array([1., 1., 1.])
    """

    loss: MinimisedLoss = "log_loss"
    _: KW_ONLY
    class_weight: ClassWeight | None = None


@dataclass(repr=False, eq=False)
class DualNetRegressor(LinearRegressor, _DualNetModel):
    """Linear regression at the minimum of the elastic net, with a bound on the objective.

    The parameters and attributes are the same as in :class:`DualNetClassifier`, with these
    differences.

    Parameters
    ----------
    loss : str or object, default="squared_error"
        Any loss of :class:`LazyNetRegressor`: "squared_error" is (p - y)^2 / 2.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (n_features,) and (1,)
        The weights and the intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from lazynet import DualNetRegressor
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> model = DualNetRegressor(l1=0.1, l2=0, tol=1e-9).fit(X, X @ [1.0, 0.0, -2.0] + 5.0)
    >>> model.coef_.round(1), model.intercept_.round(1)
    (array([ 0.9,  0. , -1.9]), array([5.]))
    >>> model.predict([[1.0, 7.0, 1.0]]).round(1)  # .9 - 1.9 + 5
    array([4.])
    """

    loss: LossOfNumbers = "squared_error"
