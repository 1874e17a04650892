"""Rows of the features that may have a weight at the minimum: the storage of the solver.

A dual variable a_i of a loss with bounded slope lies in an interval, so that no
|u_j| = |(1/n) sum s_i a_i x_ij| exceeds a sum over the rows that ``bounds`` makes before the first
step.  A feature whose bound is below l1 has weight 0 at the minimum and leaves.  The others are
numbered anew, and their rows are copied once.  No other code can change the copy, so that its
columns need no further checks.

Property: the sums are those of the rows of X (tests/exact/test_compact_rows.py).
"""

cimport cython

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint32_t

from .arrays cimport check_aligned, check_cells, check_vector
from .dense_rows cimport count_up, is_full
from .examples cimport HIGHEST_LEVEL, Examples, importance_of, table_at, walk_rows
from .lanes cimport LANES
from .rows cimport (
    BAD_ROW, FINISHED, PATIENCE, PAUSED, Csr, OwnRow, Walk, copy_columns, end_walk, has_place,
    row_of_step,
)

# Every so many rows the columns are counted; more values than these are looked at, while they are
# in the cache.
cdef enum:
    COUNTED = 16
    SEEN_AT_ONCE = 1024


def bounds(
    Examples examples,
    double share,
    bint by_target,
    double[:, ::1] sums not None,   # IN/OUT: {sum of magnitudes, sum} per column
    Py_ssize_t start,
):
    """sums += the magnitudes of share s_i x_ij, and these numbers themselves.

    They have the sign of y_i x_ij with ``by_target``.  Returns how the call ended and the first row
    not done.
    """
    cdef Py_ssize_t row = max(start, 0), n_rows = examples.csr.n_rows, k
    cdef int status = FINISHED
    cdef double move, term
    cdef double* cell
    cdef Walk at
    cdef const OwnRow* here
    check_cells(sums, examples.csr.n_columns, 2, "sums")
    if by_target and examples.targets == NULL and n_rows:
        raise ValueError("examples must have targets")
    cdef double* first = &sums[0, 0] if sums.shape[0] else NULL
    with nogil:
        walk_rows(&at, examples, NULL, n_rows, row)
        while row < n_rows and status == FINISHED:
            here = row_of_step(&at, first, 2)
            status = here.status
            if status != FINISHED:
                break
            move = share * importance_of(examples, row)
            if by_target and examples.targets[row] < 0.0:
                move = -move
            for k in range(here.length):
                term = move * here.values[k]
                cell = first + 2 * <Py_ssize_t> here.columns[k]
                cell[0] += fabs(term)
                cell[1] += term
            row += 1
        end_walk(&at)
    return status, row


@cython.binding(False)  # a method then checks the type of self
cdef class CompactRows:
    """A copy of rows with the features that have a place; begins without rows."""

    def __cinit__(
        self, Py_ssize_t n_rows, Py_ssize_t n_columns, int64_t n_values, Examples values_of=None
    ):
        """Room for rows.

        With ``values_of``, their values stay where they are: no column leaves.  If each of these
        rows has all columns in order, no column numbers are copied either.
        """
        if not (0 <= n_rows < 2**62 and 0 <= n_columns < 2**31 and 0 <= n_values < 2**60):
            raise ValueError(
                f"n_rows, n_columns and n_values must be sizes of arrays, got {n_rows}, "
                f"{n_columns} and {n_values}"
            )
        self.n_rows, self.n_columns, self.n_values = n_rows, n_columns, n_values
        # NumPy asks for large pages of memory, which are filled in a third of the time.
        cdef Py_ssize_t row
        cdef int64_t[::1] starts = np.zeros(n_rows + 1, dtype=np.int64)
        cdef int32_t[::1] columns
        cdef double[::1] values
        self.starts, self.owners = &starts[0], [starts, values_of]
        self.full = True
        if values_of is None:
            values = np.empty(n_values + 1)
            self.values = &values[0]
            self.owners.append(values)
        elif (
            not values_of.csr.wide_values or values_of.csr.n_values != n_values
            or values_of.csr.n_rows != n_rows or values_of.csr.n_columns != n_columns
        ):
            raise ValueError(
                f"values_of must have {n_rows} rows of {n_columns} columns, and {n_values} values "
                f"of type float64"
            )
        else:
            self.values, self.in_place = <double*> values_of.csr.values, True
        if n_values == n_rows * n_columns and values_of is not None and is_full(values_of):
            # Such rows need no column numbers.
            for row in range(n_rows):
                starts[row + 1] = (row + 1) * n_columns
            self.longest = n_columns
        else:
            columns = np.empty(n_values + 1, dtype=np.int32)
            self.columns = &columns[0]
            self.owners.append(columns)
        self.at_level(HIGHEST_LEVEL)
        self._settle()

    def at_level(self, int level):
        """As ``Examples.at_level``."""
        self.row_loops = <const RowLoops*> table_at("row_loops", &level)
        return level

    @property
    def is_full(self):
        """Whether every row has a value for every column, in order."""
        return self.columns == NULL

    cdef int check_filled(self) except -1:
        if self.n_filled < self.n_rows or self.filling:
            raise ValueError("the rows must be copied before they are used")
        return 0

    cdef int begin(self) except -1:
        if self.filling:
            raise RuntimeError("rows are copied by one thread at a time")
        self.filling = True
        return 0

    cdef void _settle(self):
        if self.n_filled == self.n_rows:
            self.n_values = self.starts[self.n_rows]
            if self.full and self.columns != NULL:
                self.columns = NULL
                self.owners.pop()

    cdef bint _keep(
        self, Py_ssize_t length, const int32_t* columns, const double* values, const int32_t* places
    ) noexcept nogil:
        """Copy a row, whose columns have ``places``; false if its values have no room."""
        cdef int64_t at = self.starts[self.n_filled]
        cdef int32_t* own_columns = self.columns + at
        cdef double* own_values = self.values + at
        cdef uint32_t most = <uint32_t> self.n_columns, place, misplaced = 0, n = 0
        cdef Py_ssize_t k
        if self.n_values - at < length:
            return False
        # Nothing branches on what is kept.
        if self.in_place:
            for k in range(length):
                place = <uint32_t> places[<uint32_t> columns[k]]
                misplaced |= place ^ <uint32_t> k
                n += place < most
                own_columns[k] = <int32_t> place
            if n < length:
                return False
        else:
            for k in range(length):
                place = <uint32_t> places[<uint32_t> columns[k]]
                own_columns[n], own_values[n] = <int32_t> place, values[k]
                misplaced |= place ^ n
                # A negative place is above all others.  Another thread may have changed places.
                n += place < most
        self.full = self.full and n == length == most and misplaced == 0
        self.longest = max(self.longest, <Py_ssize_t> n)
        self.n_filled += 1
        self.starts[self.n_filled] = at + n
        return True

    cdef int64_t _see(self, int64_t first) noexcept nogil:
        """Look for the largest value among those from ``first`` on; returns their end."""
        cdef double[LANES] sizes
        cdef double size
        cdef int64_t k = first, stop = self.starts[self.n_filled]
        cdef int lane
        for lane in range(LANES):
            sizes[lane] = self.largest
        while k + LANES <= stop:
            for lane in range(LANES):
                size = fabs(self.values[k + lane])
                sizes[lane] = size if size > sizes[lane] else sizes[lane]
            k += LANES
        while k < stop:
            size = fabs(self.values[k])
            sizes[0] = size if size > sizes[0] else sizes[0]
            k += 1
        for lane in range(LANES):
            self.largest = sizes[lane] if sizes[lane] > self.largest else self.largest
        return stop

    cdef bint _gather(self, const double* values, const int32_t[::1] source) noexcept nogil:
        """Copy some values of a row that has all; false if they have no room."""
        cdef int64_t at = self.starts[self.n_filled]
        cdef double* own_values = self.values + at
        cdef Py_ssize_t k, n = self.n_columns
        if self.n_values - at < n:
            return False
        for k in range(n):
            own_values[k] = values[source[k]]
        self.longest = n
        self.n_filled += 1
        self.starts[self.n_filled] = at + n
        return True

    cdef bint _read(
        self, const Csr* csr, Py_ssize_t start, Py_ssize_t length, const int32_t* places
    ) noexcept nogil:
        """Copy a row of X; false if it has no room, or a column that X does not have.

        Its columns are read once: another thread may change them.
        """
        cdef int64_t at = self.starts[self.n_filled]
        cdef int32_t* columns
        cdef const float* narrow
        cdef Py_ssize_t k
        if self.columns == NULL:
            # The row is one of X, which was found to have all columns.
            self.n_filled += 1
            return True
        columns = self.columns + at
        if self.n_values - at < length:
            return False
        if not copy_columns(csr, start, length, <uint32_t*> columns):
            return False
        if csr.wide_values:
            return self._keep(length, columns, <const double*> csr.values + start, places)
        narrow = <const float*> csr.values + start
        for k in range(length):
            self.values[at + k] = narrow[k]
        return self._keep(length, columns, self.values + at, places)

    def copy(
        self, Examples examples, const int32_t[::1] places not None,
        double[::1] counts not None,    # IN/OUT: rows that have a column, of every sixteenth row;
                                        # rows without column numbers are not counted
    ):
        """Copy more rows of the examples; returns how the call ended and the next row.

        Column j of X has the place ``places[j]``, or leaves where this is negative.
        """
        cdef Py_ssize_t n_visited = 0, start, length
        cdef int64_t k, seen
        cdef int status = FINISHED
        cdef const Csr* csr = &examples.csr
        check_places(places, csr.n_columns, self.n_columns)
        check_vector("counts", counts, self.n_columns)
        if csr.n_rows != self.n_rows:
            raise ValueError(f"examples must have {self.n_rows} rows, got {csr.n_rows}")
        cdef const int32_t* first = &places[0] if places.shape[0] else NULL
        if self.columns == NULL and first != NULL and not count_up(<uint32_t*> first, csr.n_columns):
            raise ValueError("places must leave the columns where they are")
        self.begin()
        with nogil:
            seen = self.starts[self.n_filled]
            while self.n_filled < self.n_rows and status == FINISHED:
                if not (
                    has_place(csr, self.n_filled, &start, &length)
                    and self._read(csr, start, length, first)
                ):
                    status = BAD_ROW
                    break
                if self.n_filled % COUNTED == 1 and self.columns != NULL:
                    for k in range(self.starts[self.n_filled - 1], self.starts[self.n_filled]):
                        counts[self.columns[k]] += 1.0
                if self.starts[self.n_filled] - seen > SEEN_AT_ONCE:
                    seen = self._see(seen)
                n_visited += length
                if n_visited > PATIENCE and self.n_filled < self.n_rows:
                    status = PAUSED
            self._see(seen)
        self._settle()
        self.filling = False
        return status, self.n_filled

    def values_of(self, const int64_t[::1] order not None):
        """How many values the rows of ``order`` have."""
        cdef Py_ssize_t k
        cdef int64_t row, n = 0
        self.check_filled()
        check_aligned("order", &order[0] if order.shape[0] else NULL)
        for k in range(order.shape[0]):
            row = order[k]
            if not 0 <= row < self.n_rows:
                raise ValueError(f"order must hold row numbers below {self.n_rows}, got {row}")
            n += self.starts[row + 1] - self.starts[row]
        return n

    def copy_some(
        self, CompactRows rows, const int64_t[::1] order not None,
        const int32_t[::1] places not None
    ):
        """Copy the rows of ``order`` from ``rows``, whose columns have the places given."""
        cdef Py_ssize_t k
        cdef int64_t row
        cdef bint has_room = True
        check_places(places, rows.n_columns, self.n_columns)
        rows.check_filled()
        if order.shape[0] != self.n_rows:
            raise ValueError(f"order must have {self.n_rows} rows, got {order.shape[0]}")
        check_aligned("order", &order[0] if self.n_rows else NULL)
        for k in range(self.n_rows):
            if not 0 <= order[k] < rows.n_rows:
                raise ValueError(f"order must hold row numbers below {rows.n_rows}, got {order[k]}")
        if self is rows or self.n_filled or self.in_place:
            raise ValueError("rows are copied once, and from other rows")
        self.largest = rows.largest
        cdef const int32_t* first = &places[0] if places.shape[0] else NULL
        cdef int32_t[::1] source
        if rows.columns == NULL:
            source = columns_at(places, self.n_columns)
        self.begin()
        with nogil:
            for k in range(self.n_rows):
                row = order[k]
                if not 0 <= row < rows.n_rows:
                    has_room = False
                elif rows.columns == NULL:
                    has_room = self._gather(rows.values + rows.starts[row], source)
                else:
                    has_room = self._keep(
                        rows.starts[row + 1] - rows.starts[row],
                        rows.columns + rows.starts[row], rows.values + rows.starts[row], first,
                    )
                if not has_room:
                    break
        self._settle()
        self.filling = False
        if not has_room:
            raise ValueError("n_values is less than the values of the rows")

    def margins(
        self, const double[::1] weights not None,
        double[::1] out not None,       # OUT: x_i.w
        Py_ssize_t start,
    ):
        """x_i.w of the rows from ``start`` on; returns how the call ended and the next row."""
        cdef Py_ssize_t row = max(start, 0)
        cdef int64_t stop
        check_vector("weights", weights, self.n_columns)
        check_vector("out", out, self.n_rows)
        self.check_filled()
        cdef const double* first = &weights[0] if self.n_columns else NULL
        with nogil:
            stop = self.starts[min(row, self.n_rows)] + PATIENCE
            while row < self.n_rows and self.starts[row] <= stop:
                out[row] = dot_of_row(self, row, first)
                row += 1
        return FINISHED if row >= self.n_rows else PAUSED, row

    def add(
        self, const double[::1] factors not None,
        double[::1] sums not None,      # IN/OUT
        Py_ssize_t start,
        bint squared=False,
    ):
        """sums += factor_i x_ij over the rows from ``start`` on; returns as ``margins``.

        Or factor_i x_ij^2 if ``squared``.
        """
        cdef Py_ssize_t row = max(start, 0), column
        cdef int64_t k, stop
        check_vector("factors", factors, self.n_rows)
        check_vector("sums", sums, self.n_columns)
        self.check_filled()
        cdef double* first = &sums[0] if self.n_columns else NULL
        with nogil:
            stop = self.starts[min(row, self.n_rows)] + PATIENCE
            while row < self.n_rows and self.starts[row] <= stop:
                if squared:
                    for k in range(self.starts[row], self.starts[row + 1]):
                        column = self.columns[k] if self.columns != NULL else k - self.starts[row]
                        first[column] += factors[row] * self.values[k] * self.values[k]
                elif factors[row] != 0.0:
                    add_row(self, row, factors[row], first)
                row += 1
        return FINISHED if row >= self.n_rows else PAUSED, row


cdef int check_places(const int32_t[::1] places, Py_ssize_t n, Py_ssize_t most) except -1:
    cdef Py_ssize_t j
    if places.shape[0] != n:
        raise ValueError(f"places must have {n} entries, got {places.shape[0]}")
    check_aligned("places", &places[0] if n else NULL, 4)
    for j in range(n):
        if places[j] >= most:
            raise ValueError(f"places must be below {most}, got {places[j]}")
    return 0


cdef int32_t[::1] columns_at(const int32_t[::1] places, Py_ssize_t n):
    """The column at each of n places."""
    cdef int32_t[::1] columns = np.full(n, -1, dtype=np.int32)
    cdef Py_ssize_t j, found = 0
    for j in range(places.shape[0]):
        if places[j] >= 0:
            found += columns[places[j]] < 0
            columns[places[j]] = <int32_t> j
    if found < n:
        raise ValueError(f"places must have each number below {n} once")
    return columns
