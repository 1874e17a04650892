"""What every kernel takes: examples.

Every length and type is checked when the object is made.  A kernel that takes it has only the
contents of a row left to check, and checks them before it reads the row.  The loops over rows, for the
level of vector units in use, are reached through an ``Examples``.

Property: a kernel never reads outside an array, whatever it is given
(tests/safe/test_kernels_stay_inside_arrays.py).
"""

cimport cython

from importlib import import_module
from importlib.util import find_spec

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint32_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from .arrays cimport check_aligned, pinned
from .chunk cimport ABSOLUTE_SUM, NO_SIZE, SQUARED_NORM
from .lanes cimport best_level
from .losses cimport N_LOSSES
from .one_output_loop cimport Loops
from .rows cimport (
    BAD_ROW, FINISHED, OUT_OF_MEMORY, OUT_OF_RANGE, OVERFLOWED, NEEDS_SWEEP, OwnRow, Walk,
    end_walk, has_place, next_row, start_of,
)

STATUS_FINISHED = FINISHED
STATUS_NEEDS_SWEEP = NEEDS_SWEEP
STATUS_OVERFLOWED = OVERFLOWED
STATUS_BAD_ROW = BAD_ROW
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
SIZE_KINDS = {"absolute_sums": ABSOLUTE_SUM, "squared_norms": SQUARED_NORM}


# The address that stands for an empty array, so that arithmetic with the address is defined.
cdef double NOTHING = 0.0

# The most columns, 2 ** 32 where addresses have 64 bits and 2 ** 26 where they have 32: a row's columns
# are copied to numbers of 32 bits, and small multiples of the columns fit a Py_ssize_t.
cdef Py_ssize_t MOST_COLUMNS = <Py_ssize_t> 1 << (32 if sizeof(Py_ssize_t) == 8 else 26)


# --- the loops that are compiled once per level of vector units, by the addresses of their tables ---

cdef dict FOUND = {}


cdef const void* table_at(str module, int* level, str variant="") except NULL:
    """The table of a module at this level, or at the nearest that there is: ``level`` then tells.

    A build may lack levels: see LAZYNET_LEVELS in setup.py.
    """
    name = module + variant
    if name not in FOUND:
        # First: Cython registers the first module that is made of a source under the source's name.
        import_module(f"lazynet.kernels.{module}")
        names = [
            f"lazynet.kernels.{module}{suffix}{variant}"
            for suffix in ("", "_v3", "_v4")[:best_level() + 1]
        ]
        FOUND[name] = [import_module(each).address() for each in names if find_spec(each)]
    tables = FOUND[name]
    level[0] = max(0, min(level[0], <int> len(tables) - 1))
    return <const void*> <uintptr_t> tables[level[0]]


cdef const void* highest_table(str module) except NULL:
    cdef int level = HIGHEST_LEVEL
    return table_at(module, &level)

# --- arrays ---------------------------------------------------------------------------------------

ctypedef fused Number:
    double
    float
    int64_t
    int32_t


cdef const void* begin_of(str name, const Number[::1] array, Py_ssize_t* length) except NULL:
    length[0] = array.shape[0]
    if length[0] == 0:
        return &NOTHING
    check_aligned(name, &array[0], sizeof(Number))
    return &array[0]


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


# --- columns that a row names twice, at the cost of its nonzeros -----------------------------------

# For each column the stamp of the last row that was found to name it.
cdef struct Stamps:
    uint32_t* of_columns
    uint32_t latest


cdef bint begin_stamps(Stamps* stamps, Py_ssize_t n_columns) noexcept nogil:
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


cdef bint names_twice(const OwnRow* row, Stamps* stamps) noexcept nogil:
    """Whether a column of the row, stamped one after the other, is found stamped."""
    cdef Py_ssize_t k
    cdef uint32_t* stamp
    cdef bint repeated = False
    for k in range(row.length):
        stamp = stamps.of_columns + row.columns[k]
        repeated |= stamp[0] == stamps.latest
        stamp[0] = stamps.latest
    return repeated

# --- examples -------------------------------------------------------------------------------------


@cython.binding(False)  # a method then checks the type of self
cdef class Examples:
    """Rows in CSR form with a target each; the arrays are used in place, also read-only arrays.

    ``values`` are float32 or float64, ``columns`` and ``starts`` both int32 or both int64.  While
    the object lives, NumPy refuses to resize the arrays.  ``row_sizes`` holds the size of each row,
    for rates that depend on it; "absolute_sums" and "squared_norms" are computed when a row is
    visited, which costs less if each row is visited once.
    """

    # __cinit__ runs exactly once; __init__ can be skipped or called again.
    def __cinit__(
        self, values, columns, starts, n_columns, targets=None, importances=None, row_sizes=None
    ):
        cdef bint wide_values, wide_indices
        cdef Py_ssize_t n = 0, n_starts = 0
        wide_values = is_wide(values, "data", np.float32, np.float64)
        wide_indices = is_wide(columns, "indices", np.int32, np.int64)
        if is_wide(starts, "indptr", np.int32, np.int64) != wide_indices:
            raise TypeError(
                f"indices and indptr must have one type, got {columns.dtype} and {starts.dtype}"
            )
        if not 0 <= n_columns <= MOST_COLUMNS:
            raise ValueError(
                f"n_columns must lie between 0 and {MOST_COLUMNS}, got {n_columns}"
            )
        self.owners = (values, columns, starts, targets, importances, row_sizes)
        self.owners += (pinned(self.owners),)
        # Lengths come from the buffers, because the attributes of an array can be wrong.
        if wide_values:
            self.csr.values = begin_of[double]("data", values, &self.csr.n_values)
        else:
            self.csr.values = begin_of[float]("data", values, &self.csr.n_values)
        if wide_indices:
            self.csr.columns = begin_of[int64_t]("indices", columns, &n)
            self.csr.starts = begin_of[int64_t]("indptr", starts, &n_starts)
        else:
            self.csr.columns = begin_of[int32_t]("indices", columns, &n)
            self.csr.starts = begin_of[int32_t]("indptr", starts, &n_starts)
        if n != self.csr.n_values:
            raise ValueError(
                f"data and indices must be equally long, got {self.csr.n_values} and {n}"
            )
        if n_starts == 0:
            raise ValueError("indptr must not be empty")
        self.csr.n_rows = n_starts - 1
        self.csr.n_columns = n_columns
        self.csr.wide_values, self.csr.wide_indices = wide_values, wide_indices
        self.at_level(HIGHEST_LEVEL)
        self.size_kind = NO_SIZE
        if isinstance(row_sizes, str):
            if row_sizes not in SIZE_KINDS:
                raise ValueError(
                    f"row_sizes must be one of {', '.join(SIZE_KINDS)}, got {row_sizes!r}"
                )
            self.size_kind = SIZE_KINDS[row_sizes]
            row_sizes = None
        self.targets = entry_per_row(self, "targets", targets)
        self.importances = entry_per_row(self, "importances", importances)
        self.row_sizes = entry_per_row(self, "row_sizes", row_sizes)
        # A held buffer keeps arrays of other kinds than NumPy's in place.
        self.owners += tuple(
            [memoryview(array) for array in (targets, importances, row_sizes) if array is not None]
        )

    def at_level(self, int level):
        """Use the loops of a lower vector level, 0 the generic one; returns the level in use.

        For tests: every level gives the same bits.
        """
        self.loops = <const Loops*> table_at("one_output_loop", &level)
        self.row_loops = <const RowLoops*> table_at("row_loops", &level)
        return level

    @property
    def n_rows(self):
        return self.csr.n_rows

    @property
    def n_columns(self):
        return self.csr.n_columns

    @property
    def has_wide_values(self):
        """Whether the values are float64."""
        return bool(self.csr.wide_values)

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
            # All rows of most matrices are sound, which takes a seventh of the time to find.
            if not only_range and self.row_loops.all_sound(&self.csr):
                row = self.csr.n_rows
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

    def defect_of(self, Py_ssize_t row):
        """The code in DEFECTS of the reason why reading ``row`` would leave an array, or 0."""
        cdef OwnRow here
        cdef int defect
        memset(&here, 0, sizeof(OwnRow))
        defect = defect_of_row(self, row, &here)
        free(here.room.bytes)
        return defect


cdef const double* entry_per_row(Examples examples, str name, object array) except? NULL:
    """The numbers of an array with an entry for every row; NULL for None, or without rows."""
    cdef const double[::1] numbers
    cdef Py_ssize_t n = examples.csr.n_rows
    if array is None:
        return NULL
    numbers = array
    if numbers.shape[0] != n:
        raise ValueError(f"{name} must have one entry per row ({n}), got {numbers.shape[0]}")
    check_aligned(name, &numbers[0] if n else NULL)
    return &numbers[0] if n else NULL


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
    if not examples.row_loops.increases(row):
        if not begin_stamps(stamps, examples.csr.n_columns):
            return NO_MEMORY
        if names_twice(row, stamps):
            return REPEATED
    return SOUND if examples.row_loops.is_finite(row) else NOT_FINITE


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
