"""What every kernel takes: examples, a chunk of steps, a task.

The classes check every length and type when they are made.  A kernel that takes them has only the
contents of a row left to check, and checks them before it reads the row.  The loops over rows, for the
level of vector units in use, are reached through an ``Examples``.

Property: a kernel never reads outside an array, whatever it is given
(tests/safe/test_kernels_stay_inside_arrays.py).
"""

cimport cython

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from .arrays cimport pinned
from .levels cimport HIGHEST_LEVEL, table_at
from .losses cimport N_LOSSES
from .own_rows cimport OwnRow, Walk, end_walk, has_place, next_row
from .rows cimport start_of

STATUS_FINISHED = FINISHED
STATUS_WORN_OUT = WORN_OUT
STATUS_OVERFLOWED = OVERFLOWED
STATUS_BAD_ROW = BAD_ROW
STATUS_PAUSED = PAUSED
STATUS_OUT_OF_MEMORY = OUT_OF_MEMORY
STATUS_OUT_OF_RANGE = OUT_OF_RANGE

# Why a row cannot be used.
cdef enum:
    SOUND = 0
    BAD_START = 1    # row starts decrease or leave the arrays
    BAD_COLUMN = 2   # a column is negative or >= n_columns
    REPEATED = 3     # a column occurs twice
    NOT_FINITE = 4   # a value is NaN or infinite
    NO_MEMORY = 5    # there is no room for a copy of its columns

DEFECT_REPEATED = REPEATED
DEFECT_NOT_FINITE = NOT_FINITE

# Why a row cannot be used, by the code that a kernel returns.
DEFECTS = {
    BAD_START: "its start in indptr leaves the arrays or lies behind its end",
    BAD_COLUMN: "it has a column index outside the matrix",
    REPEATED: "it has a column index twice",
    NOT_FINITE: "it has a value that is NaN or infinite",
}

# The sizes of rows that are computed as rows are visited, by the methods that give those of all.
MEASURED = {"absolute_sums": ABSOLUTE_SUM, "squared_norms": SQUARED_NORM}


# The address that stands for an empty array, so that arithmetic with the address is defined.
cdef double NOTHING = 0.0

# The most columns, 2 ** 32 where addresses have 64 bits and 2 ** 26 where they have 32: a row's columns
# are copied to numbers of 32 bits, and small multiples of the columns fit a Py_ssize_t.
cdef Py_ssize_t MOST_COLUMNS = <Py_ssize_t> 1 << (32 if sizeof(Py_ssize_t) == 8 else 26)


cdef const void* values_pointer(object values, bint wide, Py_ssize_t* length) except NULL:
    cdef const double[::1] wide_values
    cdef const float[::1] narrow_values
    if wide:
        wide_values = values
        length[0] = wide_values.shape[0]
        return &wide_values[0] if length[0] else &NOTHING
    narrow_values = values
    length[0] = narrow_values.shape[0]
    return <const void*> &narrow_values[0] if length[0] else &NOTHING


cdef const void* indices_pointer(object indices, bint wide, Py_ssize_t* length) except NULL:
    cdef const int64_t[::1] wide_indices
    cdef const int32_t[::1] narrow_indices
    if wide:
        wide_indices = indices
        length[0] = wide_indices.shape[0]
        return &wide_indices[0] if length[0] else &NOTHING
    narrow_indices = indices
    length[0] = narrow_indices.shape[0]
    return <const void*> &narrow_indices[0] if length[0] else &NOTHING


cdef int check_aligned(str name, const void* first, size_t itemsize=8) except -1:
    if <size_t> first % itemsize:
        raise ValueError(f"{name} must be aligned in memory to its {itemsize}-byte numbers")
    return 0


cdef int check_vector(str name, const double[::1] array, Py_ssize_t length) except -1:
    if array.shape[0] != length:
        raise ValueError(f"{name} must have {length} entries, got {array.shape[0]}")
    return check_aligned(name, &array[0] if length else NULL)


cdef int check_cells(
    const double[:, ::1] cells, Py_ssize_t length, Py_ssize_t numbers, str name="cells"
) except -1:
    if cells.shape[0] != length or cells.shape[1] != numbers:
        raise ValueError(
            f"{name} must have {length} rows of {numbers} numbers, "
            f"got {cells.shape[0]} rows of {cells.shape[1]}"
        )
    return check_aligned(name, &cells[0, 0] if length and numbers else NULL)


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


@cython.binding(False)  # a method then checks the type of self
cdef class Examples:
    """Rows in CSR form with a target each; the arrays are used in place, also read-only arrays.

    ``values`` are float32 or float64, ``columns`` and ``starts`` both int32 or both int64.  While
    the object lives, NumPy refuses to resize the arrays.  ``sizes`` holds what rates that follow
    the data measure of each row; "absolute_sums" and "squared_norms" are computed as a row is
    visited, which costs less where every row is visited once.
    """

    # __cinit__ runs exactly once; __init__ can be skipped or called again.
    def __cinit__(
        self, values, columns, starts, n_columns, targets=None, importances=None, sizes=None
    ):
        cdef bint wide_values, wide_indices
        cdef Py_ssize_t n = 0
        wide_values = is_wide(values, "data", np.float32, np.float64)
        wide_indices = is_wide(columns, "indices", np.int32, np.int64)
        cdef const double[::1] numbers
        if is_wide(starts, "indptr", np.int32, np.int64) != wide_indices:
            raise TypeError(
                f"indices and indptr must have one type, got {columns.dtype} and {starts.dtype}"
            )
        if not 0 <= n_columns <= MOST_COLUMNS:
            raise ValueError(
                f"n_columns must lie between 0 and {MOST_COLUMNS}, got {n_columns}"
            )
        self.owners = (values, columns, starts, targets, importances, sizes)
        self.owners += (pinned(self.owners),)
        # Lengths come from the buffers, because the attributes of an array can be wrong.
        self.csr.values = values_pointer(values, wide_values, &self.csr.n_values)
        self.csr.columns = indices_pointer(columns, wide_indices, &n)
        if n != self.csr.n_values:
            raise ValueError(
                f"data and indices must be equally long, got {self.csr.n_values} and {n}"
            )
        self.csr.starts = indices_pointer(starts, wide_indices, &n)
        if n == 0:
            raise ValueError("indptr must not be empty")
        check_aligned("data", self.csr.values, 8 if wide_values else 4)
        check_aligned("indices", self.csr.columns, 8 if wide_indices else 4)
        check_aligned("indptr", self.csr.starts, 8 if wide_indices else 4)
        self.csr.n_rows = n - 1
        self.csr.n_columns = n_columns
        self.csr.wide_values, self.csr.wide_indices = wide_values, wide_indices
        self.at_level(HIGHEST_LEVEL)
        self.targets = NULL
        self.importances = NULL
        self.sizes = NULL
        self.measured = NO_SIZE
        if isinstance(sizes, str):
            if sizes not in MEASURED:
                raise ValueError(f"sizes must be one of {', '.join(MEASURED)}, got {sizes!r}")
            self.measured = MEASURED[sizes]
            sizes = None
        for name, array in (
            ("targets", targets), ("importances", importances), ("sizes", sizes)
        ):
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
            check_aligned(name, &numbers[0])
            if name == "targets":
                self.targets = &numbers[0]
            elif name == "sizes":
                self.sizes = &numbers[0]
            else:
                self.importances = &numbers[0]
        # A held buffer keeps arrays of other kinds than NumPy's in place.
        self.owners += tuple(
            memoryview(array) for array in (targets, importances, sizes) if array is not None
        )

    def at_level(self, int level):
        """Use the loops of a lower vector level, 0 the generic one; returns the level in use.

        For tests: every level gives the same bits.
        """
        self.loops = <const Loops*> table_at("online", &level)
        self.row_loops = <const RowLoops*> table_at("row_loops", &level)
        return level

    @property
    def n_rows(self):
        return self.csr.n_rows

    @property
    def n_columns(self):
        return self.csr.n_columns

    @property
    def n_values(self):
        """The stored values, with the spare room behind the last row."""
        return self.csr.n_values

    def first_defect(self, bint only_range=False):
        """The first row that cannot be used, as (row, code of DEFECTS); None if all rows can.

        The columns of a row may come in any order, each once.  ``only_range`` finds only rows whose
        reading would leave the arrays.
        """
        cdef Py_ssize_t row = 0
        cdef int defect = SOUND
        cdef OwnRow here
        cdef Stamps stamps
        if self.csr.n_rows == 0:
            # The only entry of indptr must be a possible number of values: SciPy takes it for one.
            return None if 0 <= start_of(&self.csr, 0) <= self.csr.n_values else (0, <int> BAD_START)
        memset(&here, 0, sizeof(OwnRow))
        memset(&stamps, 0, sizeof(Stamps))
        with nogil:
            while row < self.csr.n_rows:
                defect = defect_of_row(self, row, &here)
                if defect == SOUND and not only_range:
                    defect = blemish_of(self, &here, &stamps)
                if defect != SOUND:
                    break
                row += 1
            free(here.room.bytes)
            free(stamps.of_columns)
        if defect == NO_MEMORY:
            raise MemoryError(f"X: no memory to check row {row} of {self.csr.n_columns} columns")
        return None if defect == SOUND else (row, defect)

    def largest_squared_norm(self, double extra=0.0):
        """The largest of s_i (|x_i|^2 + extra) over all rows, s_i the importance."""
        cdef const double[::1] norms = of_every_row(self, False)
        cdef Py_ssize_t row
        cdef double largest = 0.0
        for row in range(self.csr.n_rows):
            largest = max(largest, (norms[row] + extra) * importance_of(self, row))
        return largest

    def squared_norms(self):
        """|x_i|^2 of every row; 0 for rows that cannot be read."""
        return of_every_row(self, False)

    def absolute_sums(self):
        """The sum of |x_ij| of every row; 0 for rows that cannot be read."""
        return of_every_row(self, True)

    def column_sums(self):
        """The sum of every column; raises where a row cannot be read."""
        sums = np.zeros(self.csr.n_columns)
        cdef double[::1] out = sums
        cdef double* first = &out[0] if self.csr.n_columns else NULL
        cdef Py_ssize_t row = 0
        cdef Walk at
        cdef const OwnRow* here
        cdef int status = FINISHED
        with nogil:
            walk_rows(&at, self, NULL, self.csr.n_rows, 0)
            while row < self.csr.n_rows and status == FINISHED:
                here = next_row(&at, first, 1)
                status = here.status
                if status == FINISHED:
                    self.row_loops.add(here, first, 1.0)
                    row += 1
            end_walk(&at)
        if status == OUT_OF_MEMORY:
            raise MemoryError(f"no memory for the columns of row {row}")
        if status != FINISHED:
            raise ValueError(f"X: row {row} cannot be read: {DEFECTS[self.defect_of(row)]}")
        return sums

    def length_of(self, Py_ssize_t row):
        """The number of stored values of ``row``; 0 if the row cannot be read."""
        cdef Py_ssize_t start = 0, length = 0
        return length if has_place(&self.csr, row, &start, &length) else 0

    def defect_of(self, Py_ssize_t row):
        """The code in DEFECTS of the reason why reading ``row`` would leave an array, or 0."""
        cdef OwnRow here
        cdef int defect
        memset(&here, 0, sizeof(OwnRow))
        defect = defect_of_row(self, row, &here)
        free(here.room.bytes)
        return defect


cdef int defect_of_row(Examples examples, Py_ssize_t row, OwnRow* here) noexcept nogil:
    """Why a row cannot be read, or SOUND; then the row is in ``here``."""
    cdef Py_ssize_t start = 0, length = 0
    examples.row_loops.copy(&examples.csr, row, here)
    if here.status == FINISHED:
        return SOUND
    if here.status == OUT_OF_MEMORY:
        return NO_MEMORY
    return BAD_COLUMN if has_place(&examples.csr, row, &start, &length) else BAD_START


cdef int blemish_of(Examples examples, const OwnRow* row, Stamps* stamps) noexcept nogil:
    """Why a row that can be read cannot be used, or SOUND."""
    cdef Py_ssize_t k
    cdef uint32_t* stamp
    cdef bint repeated = False
    if not examples.row_loops.increases(row):
        if not begin_stamps(stamps, examples.csr.n_columns):
            return NO_MEMORY
        # The columns are stamped one after the other: a column that occurs twice is found stamped.
        for k in range(row.length):
            stamp = stamps.of_columns + row.columns[k]
            repeated |= stamp[0] == stamps.latest
            stamp[0] = stamps.latest
        if repeated:
            return REPEATED
    return SOUND if examples.row_loops.is_finite(row) else NOT_FINITE


# For each column the stamp of the last row that was found to name it.
cdef struct Stamps:
    uint32_t* of_columns
    uint32_t latest


cdef inline bint begin_stamps(Stamps* stamps, Py_ssize_t n_columns) noexcept nogil:
    """Take a new stamp, which no column has; false without memory for a stamp per column."""
    if stamps.of_columns == NULL:
        stamps.of_columns = <uint32_t*> calloc(n_columns + 1, sizeof(uint32_t))
        if stamps.of_columns == NULL:
            return False
    stamps.latest += 1
    if stamps.latest == 0:
        memset(stamps.of_columns, 0, n_columns * sizeof(uint32_t))
        stamps.latest = 1
    return True


cdef object of_every_row(Examples examples, bint absolutes):
    """|x_i|^2 of every row, or the sum of |x_ij|; 0 for rows that cannot be read."""
    sizes = np.zeros(examples.csr.n_rows)
    cdef double[::1] out = sizes
    cdef Py_ssize_t row
    with nogil:
        for row in range(examples.csr.n_rows):
            out[row] = examples.row_loops.size(&examples.csr, row, absolutes)
    return sizes


cdef int check_runnable(Examples examples, int loss) except -1:
    if examples.targets == NULL and examples.csr.n_rows > 0:
        raise ValueError("examples must have targets")
    if not 0 <= loss < N_LOSSES:
        raise ValueError(f"loss must be a code from 0 to {N_LOSSES - 1}, got {loss}")
    return 0


cdef Chunk chunk_of(
    Examples examples, Steps steps, Task task, Py_ssize_t first
) noexcept:
    """The steps from ``first`` on; the cells are to be filled in.  There is at least one step."""
    cdef Chunk at
    memset(&at, 0, sizeof(Chunk))
    at.csr, at.targets, at.importances = &examples.csr, examples.targets, examples.importances
    at.sizes, at.measured = examples.sizes, examples.measured
    at.order, at.predictions = &steps.order[0], steps.predictions
    at.rates, at.keep, at.keep_low = &steps.rates[0], &steps.keep[0], &steps.keep_low[0]
    at.pull = &steps.pull[0]
    at.n_steps, at.step = steps.order.shape[0], first
    at.loss, at.epsilon = task.loss, task.epsilon
    at.shrink_first, at.fit_intercept = task.shrink_first, task.fit_intercept
    at.wear, at.reach, at.tuning = &task.wear, &task.reach, &task.tuning
    return at


@cython.binding(False)  # a method then checks the type of self
cdef class Steps:
    """The scalars of consecutive steps, each array with one entry per step.

    A kernel stores in ``predictions``, if given, the prediction before the update of each step.
    """

    def __cinit__(
        self, order not None, rates not None, keep not None, keep_low not None, pull not None,
        counts=None, predictions=None,
    ):
        cdef const double[::1] numbers
        cdef double[::1] written
        self.order = order
        self.rates, self.keep, self.keep_low = rates, keep, keep_low
        self.pull, self.counts = pull, counts
        cdef Py_ssize_t n = self.order.shape[0]
        self.predictions = NULL
        if n:
            check_aligned("order", &self.order[0])
        for name, array in (
            ("rates", rates), ("keep", keep), ("keep_low", keep_low), ("pull", pull),
            ("counts", counts),
        ):
            if array is not None:
                numbers = array
                check_vector(name, numbers, n)
        if predictions is not None:
            written = predictions
            check_vector("predictions", written, n)
            if n:
                self.predictions = &written[0]
        arrays = (order, rates, keep, keep_low, pull, counts, predictions)
        held = None if predictions is None else memoryview(predictions)
        self.pins = (arrays, pinned(arrays), held)

    def __len__(self):
        return self.order.shape[0]

    def with_predictions(self, predictions):
        """The same steps, which store their predictions in another array."""
        return Steps(*self.pins[0][:6], predictions)

    def row(self, Py_ssize_t step):
        """The row number that ``order`` gives to ``step``; X may have no such row."""
        if not 0 <= step < self.order.shape[0]:
            raise IndexError(f"step must lie between 0 and {self.order.shape[0] - 1}, got {step}")
        return self.order[step]


@cython.binding(False)  # a method then checks the type of self
cdef class Task:
    """The code and epsilon of the loss, the order within a step, and the limits of a clock.

    ``tuning``, if given, holds the numbers of ``Tuning`` (examples.pxd) up to ``intercept_lowering``, then its
    flags after ``adaptive``: the rates are computed from the rows.
    """

    def __cinit__(
        self,
        int loss,
        double epsilon,
        bint shrink_first,
        bint fit_intercept,
        double smallest_scale,
        double cushion,
        double largest_cushion,
        double enough_work,
        double soft_reach,
        double hard_reach,
        bint pulls=True,
        bint positive=False,
        tuning=None,
    ):
        self.tuning.adaptive = tuning is not None
        if tuning is not None:
            (
                self.tuning.constant,
                self.tuning.slack,
                self.tuning.l1,
                self.tuning.l2,
                self.tuning.largest_rate,
                self.tuning.largest_slope,
                self.tuning.curvature,
                self.tuning.intercept,
                self.tuning.lowering,
                self.tuning.intercept_lowering,
                self.tuning.follows_targets,
                self.tuning.smooth,
                self.tuning.unbounded,
                self.tuning.proximal,
            ) = tuning
        self.given = tuning
        self.loss = loss
        self.epsilon = epsilon
        self.shrink_first = shrink_first
        self.fit_intercept = fit_intercept
        self.pulls = pulls
        self.positive = positive
        self.wear.smallest_scale = smallest_scale
        self.wear.cushion = cushion
        self.wear.largest_cushion = largest_cushion
        self.wear.enough_work = self.reach.enough_work = enough_work
        self.reach.soft_limit = soft_reach
        self.reach.hard_limit = hard_reach

    def __reduce__(self):
        return Task, (
            self.loss,
            self.epsilon,
            self.shrink_first,
            self.fit_intercept,
            self.wear.smallest_scale,
            self.wear.cushion,
            self.wear.largest_cushion,
            self.wear.enough_work,
            self.reach.soft_limit,
            self.reach.hard_limit,
            self.pulls,
            self.positive,
            self.given,
        )
