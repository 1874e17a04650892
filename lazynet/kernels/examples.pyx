"""What the kernels are handed: examples, a chunk of steps, a task.

The classes check every length and type when they are made, so that a kernel which takes them
has only the contents of a row left to check, and does so before it reads the row.
"""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from .losses cimport N_LOSSES
from .rows cimport BAD_COLUMN, BAD_START, NOT_FINITE, NOT_SORTED, SOUND, best_level, row_ops_for

STATUS_FINISHED = FINISHED
STATUS_WORN_OUT = WORN_OUT
STATUS_OVERFLOWED = OVERFLOWED
STATUS_BAD_ROW = BAD_ROW
STATUS_PAUSED = PAUSED

DEFECT_NOT_SORTED = NOT_SORTED
DEFECT_NOT_FINITE = NOT_FINITE

# Why a row cannot be used, by the code that the kernels give.
DEFECTS = {
    BAD_START: "its start in indptr leaves the arrays or lies behind its end",
    BAD_COLUMN: "it has a column index outside the matrix",
    NOT_SORTED: "its column indices are not strictly increasing",
    NOT_FINITE: "it has a value that is NaN or infinite",
}


cdef const void* values_pointer(object values, bint wide) except? NULL:
    cdef const double[::1] wide_values
    cdef const float[::1] narrow_values
    if values.shape[0] == 0:
        return NULL
    if wide:
        wide_values = values
        return &wide_values[0]
    narrow_values = values
    return &narrow_values[0]


cdef const void* indices_pointer(object indices, bint wide) except? NULL:
    cdef const int64_t[::1] wide_indices
    cdef const int32_t[::1] narrow_indices
    if indices.shape[0] == 0:
        return NULL
    if wide:
        wide_indices = indices
        return &wide_indices[0]
    narrow_indices = indices
    return &narrow_indices[0]


cdef bint is_wide(object array, str name, object narrow, object wide) except -1:
    if not isinstance(array, np.ndarray) or array.ndim != 1:
        raise TypeError(f"{name} must be a one-dimensional array")
    if array.dtype == wide:
        return True
    if array.dtype == narrow:
        return False
    raise TypeError(
        f"{name} must be {np.dtype(narrow)} or {np.dtype(wide)}, got {array.dtype}"
    )


cdef class Examples:
    """Rows in CSR form with a target each; arrays are used where they are, read-only ones too.

    ``values`` are float32 or float64, ``columns`` and ``starts`` both int32 or both int64.
    """

    def __init__(self, values, columns, starts, n_columns, targets=None, importances=None):
        cdef bint wide_values, wide_indices
        wide_values = is_wide(values, "data", np.float32, np.float64)
        wide_indices = is_wide(columns, "indices", np.int32, np.int64)
        cdef const double[::1] numbers
        if is_wide(starts, "indptr", np.int32, np.int64) != wide_indices:
            raise TypeError(
                f"indices and indptr must have one type, got {columns.dtype} and {starts.dtype}"
            )
        if starts.shape[0] == 0:
            raise ValueError("indptr must not be empty")
        if values.shape[0] != columns.shape[0]:
            raise ValueError(
                f"data and indices must be equally long, got {values.shape[0]} and "
                f"{columns.shape[0]}"
            )
        if n_columns < 0:
            raise ValueError(f"n_columns must not be negative, got {n_columns}")
        self.csr.values = values_pointer(values, wide_values)
        self.csr.columns = indices_pointer(columns, wide_indices)
        self.csr.starts = indices_pointer(starts, wide_indices)
        self.csr.n_rows = starts.shape[0] - 1
        self.csr.n_columns = n_columns
        self.csr.n_values = values.shape[0]
        self.ops = row_ops_for(wide_values, wide_indices, best_level())
        self.wide_values, self.wide_indices = wide_values, wide_indices
        self.targets = NULL
        self.importances = NULL
        for name, array in (("targets", targets), ("importances", importances)):
            if array is None:
                continue
            numbers = array
            if numbers.shape[0] != self.csr.n_rows:
                raise ValueError(
                    f"{name} must have one entry per row ({self.csr.n_rows}), "
                    f"got {numbers.shape[0]}"
                )
            if numbers.shape[0] == 0:
                continue
            if name == "targets":
                self.targets = &numbers[0]
            else:
                self.importances = &numbers[0]
        self.owners = (values, columns, starts, targets, importances)

    def at_level(self, int level):
        """Use the loops of a lower vector level, 0 the generic one; returns the level in use.

        For tests: every level gives the same bits.
        """
        level = max(0, min(level, best_level()))
        self.ops = row_ops_for(self.wide_values, self.wide_indices, level)
        return level

    @property
    def n_rows(self):
        return self.csr.n_rows

    @property
    def n_columns(self):
        return self.csr.n_columns

    def first_defect(self, bint only_range=False):
        """The first row that cannot be used and why, or None: (row, code of DEFECTS).

        ``only_range`` asks only whether reading would leave the arrays.
        """
        cdef Py_ssize_t row
        cdef int defect = SOUND
        cdef bint sound
        with nogil:
            sound = self.ops.all_sound(&self.csr)
        if sound:
            return None
        with nogil:
            for row in range(self.csr.n_rows):
                defect = self.ops.row_defect(&self.csr, row)
                if defect == SOUND and not only_range:
                    defect = self.ops.row_blemish(&self.csr, row)
                if defect != SOUND:
                    break
        return None if defect == SOUND else (row, defect)

    def largest_squared_norm(self, double extra=0.0):
        """The largest of s_i (|x_i|^2 + extra) over rows that can be read, s_i the importance."""
        cdef Py_ssize_t row
        cdef double norm, largest = 0.0
        with nogil:
            for row in range(self.csr.n_rows):
                if self.ops.row_defect(&self.csr, row) != SOUND:
                    continue
                norm = self.ops.squared_norm(&self.csr, row) + extra
                if self.importances != NULL:
                    norm *= self.importances[row]
                largest = max(largest, norm)
        return largest

    def squared_norms(self):
        """|x_i|^2 of every row; 0 for rows that cannot be read."""
        norms = np.zeros(self.csr.n_rows)
        cdef double[::1] out = norms
        cdef Py_ssize_t row
        with nogil:
            for row in range(self.csr.n_rows):
                if self.ops.row_defect(&self.csr, row) == SOUND:
                    out[row] = self.ops.squared_norm(&self.csr, row)
        return norms

    def length_of(self, Py_ssize_t row):
        """How many values of ``row`` are stored; 0 where it cannot be read."""
        if self.ops.row_defect(&self.csr, row) != SOUND:
            return 0
        return self.ops.row_length(&self.csr, row)

    def defect_of(self, Py_ssize_t row):
        """Why reading ``row`` would leave an array, as a code of DEFECTS, or 0."""
        return self.ops.row_defect(&self.csr, row)


cdef int check_runnable(Examples examples, int loss) except -1:
    if examples.targets == NULL and examples.csr.n_rows > 0:
        raise ValueError("examples must have targets")
    if not 0 <= loss < N_LOSSES:
        raise ValueError(f"loss must be a code from 0 to {N_LOSSES - 1}, got {loss}")
    return 0


cdef class Steps:
    """The scalars of consecutive steps, each array with one entry per step."""

    def __init__(self, order, rates, keep, keep_low, pull, counts=None):
        self.order = order
        self.rates = rates
        self.keep = keep
        self.keep_low = keep_low
        self.pull = pull
        self.counts = counts
        for array in (rates, keep, keep_low, pull, counts):
            if array is not None and array.shape[0] != order.shape[0]:
                raise ValueError(
                    f"every array of steps must have {order.shape[0]} entries, "
                    f"got {array.shape[0]}"
                )

    def __len__(self):
        return self.order.shape[0]

    def row(self, Py_ssize_t step):
        """The row of ``step``, whether there is such a row or not."""
        if not 0 <= step < self.order.shape[0]:
            raise IndexError(f"step must lie between 0 and {self.order.shape[0] - 1}, got {step}")
        return self.order[step]


cdef class Task:
    """Loss by code, its epsilon, the order within a step, and when a clock is worn out."""

    def __init__(
        self,
        int loss,
        double epsilon,
        bint shrink_first,
        bint fit_intercept,
        double smallest_scale,
        double cushion,
        double largest_cushion,
        double enough_work,
        double glad_reach,
        double greatest_reach,
    ):
        self.loss = loss
        self.epsilon = epsilon
        self.shrink_first = shrink_first
        self.fit_intercept = fit_intercept
        self.wear.smallest_scale = smallest_scale
        self.wear.cushion = cushion
        self.wear.largest_cushion = largest_cushion
        self.wear.enough_work = self.reach.enough_work = enough_work
        self.reach.glad = glad_reach
        self.reach.greatest = greatest_reach
