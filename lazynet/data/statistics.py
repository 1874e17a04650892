"""The statistics of all rows for the defaults of a fit, and the units of the features.

A matrix and a stream of its rows have statistics of the same bits.

Training standardises features: rates that follow the data depend on the mean size of the rows.  If
features have very different sizes, every single rate is too high for some features and too low for
others.  If the values of a feature are far from 0, its differences between rows are learned slowly.

    x'_j = (x_j - mean_j) / size_j        w_j = w'_j / size_j        b = b' - sum of w_j mean_j

The model is the same function of the rows.  The penalty acts on w'.

standardize="auto"
    A feature that is nonzero in at least half of the rows is centred and divided by its standard
    deviation.  Sparser features share one size, the median of the root mean squares of their
    nonzeros, unless their own is more than twice as large, or less than half.
standardize=True
    Every feature is divided by its standard deviation, over all rows; sparser features are not
    centred.

Without an intercept no feature is centred, and deviations are root mean squares.

Several targets share one penalty and one stopping condition.  So each target is divided by its
size, too, and in the model its weights and its intercept are multiplied by this size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples, csr_around, unpickled
from lazynet.kernels import moments
from lazynet.kernels.examples import STATUS_BAD_ROW, STATUS_OUT_OF_MEMORY

#: Rows whose numbers are summed together before the sum is added to the sum of the rows before.
ROWS_OF_A_BLOCK = 8192
#: A sparse feature has its own size if this is more than FAR times the shared size, or if the
#: shared size is more than FAR times the feature's.
FAR = 2.0
# A spread of targets below this share of the largest is rounding.
_CONSTANT = 1e-8
# Sizes within these bounds have finite inverses, and products with them are finite.
_LEAST, _LARGEST = 2.0**-300, 2.0**300


class RowStatistics:
    """The mean squared norm and importance of the rows, and the spread of every target.

    ``positive`` is the sum of the importances of the rows whose first target is above 0.
    ``largest`` is the largest squared norm of a row, to which the ``extra`` 1 of an intercept is
    added, and ``largest_weighted`` the largest product of such a norm and an importance.

    >>> rows = RowStatistics(extra=1.0)
    >>> rows.add(np.array([25.0, 9.0]), np.array([[-1.0], [3.0]]), np.array([1.0, 4.0]))
    >>> rows.n_rows, rows.mean_squared_norm, rows.spreads, rows.mean_importance
    (2, 17.0, [2.0], 2.5)
    >>> rows.positive, rows.largest, rows.largest_weighted
    (4.0, 26.0, 40.0)
    """

    def __init__(self, extra: float = 0.0) -> None:
        self.n_rows, self.extra = 0, extra
        self.mean_squared_norm = self.mean_importance = self.positive = 0.0
        self.largest = self.largest_weighted = 0.0
        #: the mean of every target, and the sum of the squared distances from it
        self._means: list[float] = []
        self._squares: list[float] = []

    def add(
        self,
        norms: NDArray[np.float64],
        targets: NDArray[np.float64] | None = None,
        importances: NDArray[np.float64] | None = None,
    ) -> None:
        """Add rows, block by block: their squared norms, targets in columns, and importances.

        Every block but the last has ``ROWS_OF_A_BLOCK`` rows.  Means and squares follow the
        updating formula of Chan, Golub & LeVeque (1983).
        """
        all_weights = np.ones(len(norms)) if importances is None else importances
        if targets is not None and not self._means:
            self._means, self._squares = [0.0] * targets.shape[1], [0.0] * targets.shape[1]
        # The mean of enormous numbers overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(norms), ROWS_OF_A_BLOCK):
                block = slice(start, start + ROWS_OF_A_BLOCK)
                squared, weights, before = norms[block], all_weights[block], self.n_rows
                n = len(squared)
                self.n_rows = total = before + n
                mean = float(squared.sum()) / n
                self.mean_squared_norm += (mean - self.mean_squared_norm) * n / total
                mean = float(weights.sum()) / n
                self.mean_importance += (mean - self.mean_importance) * n / total
                sizes = squared + self.extra
                self.largest = max(self.largest, float(sizes.max()))
                self.largest_weighted = max(self.largest_weighted, float((sizes * weights).max()))
                if targets is None:
                    continue
                self.positive += float(weights[targets[block, 0] > 0].sum())
                for k, column in enumerate(targets[block].T):
                    mean = float(column.sum()) / n
                    away, distance = column - mean, mean - self._means[k]
                    squares = float((away * away).sum())
                    self._squares[k] += squares + distance * distance * before * n / total
                    self._means[k] += distance * n / total

    def expect(self, squared_norm: float) -> None:
        """Let the largest norms be at least this one, which the rows to come have on average."""
        size = squared_norm + self.extra
        self.largest = max(self.largest, size)
        self.largest_weighted = max(self.largest_weighted, size * self.mean_importance)

    @property
    def spreads(self) -> list[float]:
        """The standard deviation of every target."""
        return [float(np.sqrt(squares / max(self.n_rows, 1))) for squares in self._squares]

    def loss_of_a_constant(self, fit_intercept: bool) -> float:
        """The mean log loss of the best constant prediction of the first target, a class.

        >>> rows = RowStatistics()
        >>> rows.add(np.ones(4), np.array([[1.0], [-1.0], [-1.0], [-1.0]]))
        >>> round(rows.loss_of_a_constant(True), 6), round(rows.loss_of_a_constant(False), 6)
        (0.562335, 0.693147)
        """
        total, loss = self.n_rows * self.mean_importance, 0.0
        for part in (self.positive, total - self.positive):
            if part > 0.0:
                loss -= part * math.log(part / total if fit_intercept else 0.5)
        return loss / self.n_rows


@dataclass(frozen=True, eq=False)
class Units:
    """The scale and the offset of every feature; the offset is 0 for a feature that is not centred.

    >>> units = Units(sizes=np.array([2.0, 4.0]), means=np.array([0.0, 1.0]))
    >>> X = sparse.csr_matrix([[6.0, 0.0], [0.0, 5.0]])
    >>> units.rows(X).toarray()
    array([[ 3.  , -0.25],
           [ 0.  ,  1.  ]])
    >>> units.weights(np.array([[2.0, 4.0]])), float(units.intercept(np.array([1.0]), 3.0))
    (array([[1., 1.]]), 2.0)
    >>> units
    Units of 2 features; 1 is centred
      feature  size  mean
      0           2     0
      1           4     1
    """

    sizes: NDArray[np.float64]
    means: NDArray[np.float64]
    #: the size of every target; None: targets are not scaled
    targets: NDArray[np.float64] | None = None
    #: the names of the features; None: their numbers
    names: NDArray[Any] | None = None
    #: the features with a mean other than 0; None: they are looked for
    moved: Any = None

    def __post_init__(self) -> None:
        if self.moved is None:
            object.__setattr__(self, "moved", np.flatnonzero(self.means).astype(np.int64))

    def __repr__(self) -> str:
        n, shown = len(self.sizes), min(len(self.sizes), _ROWS_SHOWN)
        names = [*map(str, range(shown) if self.names is None else self.names[:shown])]
        width = max(map(len, ["feature", *names]))
        verb = "is" if len(self.moved) == 1 else "are"
        lines = [f"Units of {n} features; {len(self.moved)} {verb} centred"]
        pairs = zip(self.sizes[:shown], self.means[:shown], strict=True)
        rows = [["size", "mean"], *([f"{x:.4g}" for x in pair] for pair in pairs)]
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        for name, row in zip(["feature", *names], rows, strict=True):
            numbers = "  ".join(text.rjust(wide) for text, wide in zip(row, widths, strict=True))
            lines.append(f"  {name.ljust(width)}  {numbers}")
        return "\n".join([*lines, *([f"  ... and {n - shown} more"] if n > shown else [])])

    def rows(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """A copy of the rows in these units; a quotient beyond the doubles is infinite."""
        examples, n_rows = as_examples(X), X.shape[0]
        starts, columns = X.indptr.astype(np.int64), np.zeros(0, dtype=np.int32)
        if len(self.moved):
            _check(*moments.starts_of_rows(examples, self.means, len(self.moved), starts))
            columns = np.empty(int(starts[-1]), dtype=np.int32)
        values = np.empty(int(starts[-1]) - int(starts[0]))
        starts -= starts[0]
        done = 0
        while done < n_rows:
            status, done = moments.standardised(
                examples, self.sizes, self.means, self.moved, starts, values, columns, done
            )
            _check(status, done)
        if not len(self.moved):
            first, last = X.indptr[0], X.indptr[-1]
            return csr_around(X.shape, values, X.indices[first:last], X.indptr - first)
        kind = np.int32 if starts[-1] <= np.iinfo(np.int32).max else np.int64
        return csr_around(
            X.shape, values, columns.astype(kind, copy=False), starts.astype(kind, copy=False)
        )

    def weights(self, weights: NDArray[np.float64], columns: Any = slice(None)) -> Any:
        """The weights of the features as passed, from weights of features in these units.

        ``weights`` has a row per output, and ``columns`` are the features of its columns.
        """
        weights = weights / self.sizes[columns]
        return weights if self.targets is None else weights * self.targets[:, None]

    def intercept(self, weights: NDArray[np.float64], intercept: Any) -> Any:
        """The intercept of rows as passed, or several; from the intercept in these units.

        ``weights`` are the weights of the features ``moved`` as passed, a row for each intercept.
        """
        if self.targets is not None:
            intercept = intercept * self.targets
        return intercept - weights @ self.means[self.moved]

    def within(
        self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rows of weights and intercepts in these units, from those of features as passed."""
        weights, intercepts = weights * self.sizes, intercepts + weights @ self.means
        if self.targets is None:
            return weights, intercepts
        return weights / self.targets[:, None], intercepts / self.targets


# The features that the representation of units shows.
_ROWS_SHOWN = 8


def _check(status: int, row: int) -> None:
    if status == STATUS_BAD_ROW:
        raise ValueError(f"X: row {row} cannot be read: its columns or its start lie outside X")
    if status == STATUS_OUT_OF_MEMORY:
        raise MemoryError(f"no memory for row {row} of X")


def count_rows(
    X: sparse.csr_matrix, cells: NDArray[np.float64], rows: NDArray[np.int64] | None = None
) -> bool:
    """Count ``rows`` of X, None for all, in ``cells``; returns whether all moments are finite."""
    examples, n, done = as_examples(X), X.shape[0] if rows is None else len(rows), 0
    sound = True
    while done < n:
        status, done, finite = moments.add(examples, cells, done, rows)
        _check(status, done)
        sound = sound and finite
    return sound


def sizes_of_targets(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The standard deviation of every column of targets; 1 for a constant column."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread, largest = numbers.std(axis=0), np.abs(numbers).max(axis=0)
    varies = np.isfinite(spread) & (spread > _CONSTANT * largest)
    return np.clip(np.where(varies, spread, 1.0), _LEAST, _LARGEST)


@dataclass(eq=False)
class FeatureMoments:
    """The moments of the nonzeros of every feature in the rows so far, and the units they give.

    ``own`` gives every feature its own size, and ``centred`` allows means other than 0; see above.
    ``counts`` are the rows so far, the shared size, and the rows when it was computed last: it is
    computed anew when the rows have doubled.

    >>> moments = FeatureMoments.of(2)
    >>> moments.count(sparse.csr_matrix([[3.0, 1.0], [0.0, 3.0], [0.0, 1.0], [0.0, 3.0]]))
    >>> moments.settle()
    >>> moments.sizes, moments.means
    (array([3., 1.]), array([0., 2.]))
    """

    cells: NDArray[np.float64]
    counts: NDArray[np.float64]
    own: bool = False
    centred: bool = True
    #: the size of every target; None: targets are not scaled
    targets: NDArray[np.float64] | None = None

    # As of an engine: ``Undo`` copies and restores the moments of the features that a call touches.
    _per_feature: ClassVar[tuple[str, ...]] = ("cells",)
    _table: ClassVar[str | None] = None
    before_sweep: Any = field(init=False, default=None)
    sizes: NDArray[np.float64] = field(init=False)
    means: NDArray[np.float64] = field(init=False)
    #: the features that are nonzero in at least half of the rows
    full: NDArray[np.int64] = field(init=False)

    @classmethod
    def of(cls, n_features: int, own: bool = False, centred: bool = True) -> FeatureMoments:
        """The moments of no rows."""
        return cls(np.zeros((n_features, moments.MOMENTS)), np.array([0.0, 1.0, 0.0]), own, centred)

    def __post_init__(self) -> None:
        for name, shape in (("cells", (len(self.cells), moments.MOMENTS)), ("counts", (3,))):
            array = getattr(self, name)
            if array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"{name} of moments must be finite float64 of the shape {shape}")
        self.sizes, self.means = np.empty(len(self.cells)), np.empty(len(self.cells))
        self._settle_all()

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.cells)

    @property
    def units(self) -> Units:
        """The units as of now; they change with the moments."""
        moved = self.full[self.means[self.full] != 0.0]
        return Units(self.sizes, self.means, self.targets, moved=moved)

    def summary(self) -> str:
        """The units in a few words.

        >>> FeatureMoments.of(3).summary()
        '0 of 3 features centred; 3 share the size 1'
        """
        shares = self.sizes == self.counts[1]
        shares[self.full] = False
        n = 0 if self.own else np.count_nonzero(shares)
        shared = f"; {n} share the size {self.counts[1]:.3g}" if n else ""
        return f"{np.count_nonzero(self.means)} of {self.n_features} features centred{shared}"

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        vars(self).update({name: unpickled(part) for name, part in fields.items()})
        self.__post_init__()

    def state(self) -> dict[str, NDArray[np.float64]]:
        """The arrays that rows change, not copied."""
        return {"cells": self.cells, "counts": self.counts}

    def set_state(self, arrays: dict[str, NDArray[np.float64]]) -> None:
        """Copy the arrays of a state into these moments."""
        self.cells[...], self.counts[...] = arrays["cells"], arrays["counts"]
        self._settle_all()

    def count(self, X: sparse.csr_matrix, rows: NDArray[np.int64] | None = None) -> None:
        """Count the ``rows`` of X, None for all; ``settle`` then computes the sizes."""
        if not count_rows(X, self.cells, rows):
            raise ValueError(
                "X has values whose squares are not finite numbers, and cannot be "
                "standardised: scale the features, or write standardize=False"
            )
        self.counts[0] += X.shape[0] if rows is None else len(rows)

    def settle(self, touched: NDArray[Any] | None = None) -> None:
        """Compute the sizes and means of the rows so far.

        ``touched`` are the features of the rows since the last call, each once or more often; None:
        all features.
        """
        n_rows, _, before = self.counts
        is_due = n_rows >= 2.0 * before
        if is_due:
            self._find_shared_size()
        if is_due or touched is None or self.own:
            self._settle_all()
            return
        candidates = np.concatenate([self.full, touched.astype(np.int64)])
        self._refresh(candidates)
        self.full = np.unique(candidates[self._is_full(candidates)])

    def _find_shared_size(self) -> None:
        """The median of the root mean squares of the nonzeros of sparse features."""
        seen = self.cells[:, 0] > 0.0
        some = self.cells[seen & ~self._is_full(slice(None))]
        with np.errstate(over="ignore"):  # the median is clipped
            sizes = np.sqrt(some[:, 2] / some[:, 0] + some[:, 1] * some[:, 1])
        if len(sizes):
            self.counts[1] = np.clip(np.median(sizes), _LEAST, _LARGEST)
        self.counts[2] = self.counts[0]

    def _is_full(self, features: Any) -> NDArray[np.bool_]:
        counts = self.cells[features, 0]
        return np.asarray((counts > 0.0) & (2.0 * counts >= self.counts[0]))

    def _settle_all(self) -> None:
        self._refresh(None)
        self.full = np.flatnonzero(self._is_full(slice(None))).astype(np.int64)

    def _refresh(self, features: NDArray[np.int64] | None) -> None:
        n_rows, shared, _ = self.counts.tolist()
        moments.refresh(
            self.cells, self.sizes, self.means, n_rows, shared, FAR, self.own, self.centred,
            features,
        )  # fmt: skip
