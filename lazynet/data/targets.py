"""The targets of one or of many outputs, and the importance of every row.

The importance of a row is its sample weight times the weight of its class: a factor of its loss.
An estimator makes a ``Targets`` from y.  ``targets[k]`` makes the array of the targets of output k,
so that a thousand labels need no thousand arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from lazynet.data.arrays import as_csr
from lazynet.data.products import own_rows
from lazynet.kernels import steps
from lazynet.parameters import check_array, refuse_masked, shown

#: The targets and the importances of one output.
OutputTargets = tuple[NDArray[np.float64], NDArray[np.float64] | None]
Importances = NDArray[np.float64] | None


class Targets:
    """The base: the targets of all outputs, for the same rows with the same importances."""

    n_rows: int
    n_outputs: int
    importances: Importances

    def __getitem__(self, number: int) -> OutputTargets:
        """The targets of one output, an entry per row, and the importances."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[OutputTargets]:
        return map(self.__getitem__, range(self.n_outputs))

    def block(self, first: int, n_outputs: int) -> steps.OutputTargets:
        """The targets of ``n_outputs`` outputs from output ``first`` on, for the kernel."""
        raise NotImplementedError

    def only(self, rows: NDArray[np.int64]) -> Targets:
        """The same targets for some of the rows."""
        raise NotImplementedError

    def importances_of(self, rows: NDArray[np.int64]) -> Importances:
        """The importances of some of the rows."""
        return None if self.importances is None else self.importances[rows]

    @property
    def importances_or_ones(self) -> NDArray[np.float64]:
        """The importance of every row, 1 if no importances are given."""
        return np.ones(self.n_rows) if self.importances is None else self.importances

    def in_columns(self) -> NDArray[np.float64]:
        """The targets as numbers, a column per output; for targets -1 and 1 the first output."""
        return self[0][0][:, None]


class Columns(Targets):
    """Targets that are numbers, a column per output."""

    def __init__(self, numbers: NDArray[np.float64], importances: Importances) -> None:
        self.numbers = numbers if numbers.ndim == 2 else numbers[:, None]
        self.n_rows, self.n_outputs = self.numbers.shape
        self.importances = importances

    def __getitem__(self, number: int) -> OutputTargets:
        return np.ascontiguousarray(self.numbers[:, number]), self.importances

    def in_columns(self) -> NDArray[np.float64]:
        return self.numbers

    def block(self, first: int, n_outputs: int) -> steps.OutputTargets:
        numbers = np.require(self.numbers, np.float64, ["C", "A"])
        return steps.OutputTargets(first, n_outputs, numbers=numbers)

    def only(self, rows: NDArray[np.int64]) -> Columns:
        return Columns(self.numbers[rows], self.importances_of(rows))


class Classes(Targets):
    """Every class against the rest; ``codes`` holds the number of each row's class.

    Two classes make one output, with the second class positive.
    """

    def __init__(self, codes: NDArray[np.int64], n_classes: int, importances: Importances) -> None:
        self.codes, self.n_classes = np.ascontiguousarray(codes, dtype=np.int64), n_classes
        self.n_rows, self.n_outputs = len(codes), 1 if n_classes == 2 else n_classes
        self.importances = importances

    def __getitem__(self, number: int) -> OutputTargets:
        positive = 1 if self.n_classes == 2 else number
        return np.where(self.codes == positive, 1.0, -1.0), self.importances

    def block(self, first: int, n_outputs: int) -> steps.OutputTargets:
        # The number of the positive output of each row.
        labels = self.codes - 1 if self.n_classes == 2 else self.codes
        return steps.OutputTargets(first, n_outputs, labels=labels)

    def only(self, rows: NDArray[np.int64]) -> Classes:
        return Classes(self.codes[rows], self.n_classes, self.importances_of(rows))


class Labels(Targets):
    """Any number of labels for every row; the CSR matrix ``indicator`` has a 1 for each label."""

    def __init__(self, indicator: sparse.csr_matrix, importances: Importances) -> None:
        self.n_rows, self.n_outputs = indicator.shape
        self.indicator, self.importances = indicator, importances
        self.starts = np.ascontiguousarray(indicator.indptr, dtype=np.int64)
        self.columns = np.ascontiguousarray(indicator.indices, dtype=np.int64)
        self._by_label: sparse.csc_matrix | None = None

    def __getitem__(self, number: int) -> OutputTargets:
        if self._by_label is None:
            self._by_label = self.indicator.tocsc()
        columns = self._by_label
        targets = np.full(self.n_rows, -1.0)
        targets[columns.indices[columns.indptr[number] : columns.indptr[number + 1]]] = 1.0
        return targets, self.importances

    def block(self, first: int, n_outputs: int) -> steps.OutputTargets:
        return steps.OutputTargets(first, n_outputs, labels=self.columns, starts=self.starts)

    def only(self, rows: NDArray[np.int64]) -> Labels:
        return Labels(self.indicator[rows], self.importances_of(rows))


class CheckedRows(NamedTuple):
    """The input of a call after its checks."""

    X: sparse.csr_matrix
    y: Any
    targets: Targets
    #: the checked ``sample_weight`` of the user
    sample_weight: NDArray[np.float64] | None
    #: the classes, or the names of the columns of labels; None for numbers
    classes: NDArray[Any] | None
    #: the form of a y with a column per label or target; None: one class or number for each row
    form: str | None


def check_classes(classes: ArrayLike, *, of_columns: bool = False) -> NDArray[Any]:
    """The labels ``classes`` of ``partial_fit``, sorted, without repetitions.

    The names ``of_columns`` of y keep their order, and must be distinct.

    >>> check_classes(["zebra", "cat"]).tolist()
    ['cat', 'zebra']
    >>> check_classes(["zebra", "cat"], of_columns=True).tolist()
    ['zebra', 'cat']
    """
    refuse_masked("classes", classes)
    try:
        names = np.asarray(classes)
        labels = np.unique(names)
        str(labels)  # Errors print the labels, and Python refuses to print a huge integer.
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"classes must be labels that can be sorted, got {shown(classes)}: {error}"
        ) from None
    if not of_columns:
        return labels
    if names.ndim != 1 or len(labels) != len(names):
        raise ValueError(
            f"classes must name every column of y once, in the order of the columns, got "
            f"{shown(classes)}"
        )
    return names


_HOLDS_LABELS = "must hold only 0 and 1 if it has a column per label"
_MAKES_LABELS = "MultiLabelBinarizer of scikit-learn makes such a matrix from lists of labels"


def checked_indicator(y: Any, name: str = "y") -> sparse.csr_matrix:
    """The labels of every row as a CSR matrix that holds a 1 for each.

    >>> checked_indicator([[0, 1], [1, 1]]).indices.tolist()
    [1, 0, 1]
    """
    refuse_masked(name, y)
    if not sparse.issparse(y):
        y = check_array(name, f"{_HOLDS_LABELS}; {_MAKES_LABELS}", y, masks=True)
        matrix = sparse.csr_matrix(y)
    elif y.dtype.kind not in "fiub":
        raise TypeError(f"{name} {_HOLDS_LABELS}, got {y.dtype}")
    else:
        matrix = own_rows(as_csr(y, name), name=name)
    if not matrix.shape[1]:
        raise ValueError(f"{name} must have at least one column, a column per label")
    if not ((matrix.data == 0) | (matrix.data == 1)).all():
        raise ValueError(f"{name} {_HOLDS_LABELS}")
    matrix = sparse.csr_matrix(matrix, dtype=np.int8, copy=True)
    matrix.sum_duplicates()
    if matrix.nnz and matrix.data.max() > 1:
        raise ValueError(f"{name} must name a label of a row once")
    matrix.eliminate_zeros()
    return matrix
