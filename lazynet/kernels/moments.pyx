"""The moments of the nonzeros of every column, and rows that are centred and scaled.

A cell is {c, mean, squares}: the number of nonzeros x of its column, their mean, and the sum of
their squared distances from it.  A nonzero updates its cell by Welford's formula (1962):

    c <- c + 1      d = x - mean      mean <- mean + d / c      squares <- squares + d (x - mean)

Of n rows, a column is full if 2 c >= n.  With m = c mean / n, or m = 0 without centring,

    own size    sqrt((squares + c (mean - m)^2 + (n - c) m^2) / n)      about m, over all n rows
    size        sqrt(squares / c + mean^2)                              of the nonzeros alone

A full column has its own size, and m as its mean.  Another column has the mean 0.  Its size is the
``shared`` one, unless the size of its nonzeros is more than ``far`` times larger or smaller; with
``own`` it is its own size.

Property: equal to lazynet.reference.learner.RunningUnits, and the same bits for any division of the
rows into chunks (tests/exact/test_units_of_chunks.py).
"""

from libc.math cimport fabs, isfinite, ldexp, sqrt
from libc.stdint cimport int32_t, int64_t

from .arrays cimport check_aligned, check_cells, check_vector
from .examples cimport Examples, walk_rows
from .rows cimport BAD_ROW, FINISHED, OwnRow, Walk, end_walk, row_of_step

cdef enum:
    COUNT = 0
    MEAN = 1
    SQUARES = 2
    N_MOMENTS = 3

MOMENTS = N_MOMENTS
# The share of a mean below which a deviation is rounding, and the column a constant.
cdef double CONSTANT = 1e-8


cdef struct Scales:
    double n_rows    # n
    double shared, far
    double least, largest    # sizes within have finite inverses, and products with them are finite
    bint own, centred


cdef inline double size_of(const Scales* at, const double* cell, double* mean) noexcept nogil:
    """The size of a column; ``mean`` <- what its values are measured from."""
    cdef double c = cell[COUNT], m, away, size = 0.0
    cdef bint full = c > 0.0 and 2.0 * c >= at.n_rows
    mean[0] = 0.0
    if c == 0.0:
        return at.shared
    if full or at.own:
        m = c / at.n_rows * cell[MEAN] if at.centred else 0.0
        away = cell[MEAN] - m
        size = sqrt((cell[SQUARES] + c * away * away + (at.n_rows - c) * m * m) / at.n_rows)
        if full:
            mean[0] = m
        if size > CONSTANT * fabs(m):
            return min(max(size, at.least), at.largest)
    size = sqrt(cell[SQUARES] / c + cell[MEAN] * cell[MEAN])
    if not full and not at.own and at.shared <= at.far * size and size <= at.far * at.shared:
        return at.shared
    return min(max(size, at.least), at.largest)


def add(
    Examples examples,
    double[:, ::1] cells not None,  # IN/OUT: a cell per column
    Py_ssize_t first,
    const int64_t[::1] order=None,  # None: all rows in their order
):
    """Count the rows of an order from ``first`` on.

    Returns how the call ended, the first row not counted, and whether all moments are finite.
    """
    cdef Py_ssize_t n = examples.csr.n_rows if order is None else order.shape[0]
    cdef const int64_t* rows = NULL
    cdef Py_ssize_t place = max(first, 0), k
    cdef const OwnRow* row
    cdef double* cell
    cdef double x, away
    cdef int status = FINISHED
    cdef bint finite = True
    cdef Walk at
    check_cells(cells, examples.csr.n_columns, N_MOMENTS)
    if place >= n or cells.shape[0] == 0:
        return status, n, finite
    if order is not None:
        rows = &order[0]
        check_aligned("order", rows)
    with nogil:
        walk_rows(&at, examples, rows, n, place)
        while place < n:
            row = row_of_step(&at, &cells[0, 0], N_MOMENTS)
            status = row.status
            if status != FINISHED:
                break
            for k in range(row.length):
                x = row.values[k]
                if x != 0.0:
                    cell = &cells[0, 0] + N_MOMENTS * <Py_ssize_t> row.columns[k]
                    away = x - cell[MEAN]
                    cell[COUNT] += 1.0
                    cell[MEAN] += away / cell[COUNT]
                    cell[SQUARES] += away * (x - cell[MEAN])
                    finite &= isfinite(cell[SQUARES]) != 0
            place += 1
        end_walk(&at)
    return status, place, finite


def refresh(
    const double[:, ::1] cells not None,
    double[::1] sizes not None,      # OUT
    double[::1] means not None,      # OUT
    double n_rows,
    double shared,
    double far,
    bint own,
    bint centred,
    const int64_t[::1] columns=None,  # None: all
):
    """Compute the sizes and the means of some columns."""
    cdef Scales at
    cdef Py_ssize_t d = cells.shape[0], k, j
    cdef Py_ssize_t n = d if columns is None else columns.shape[0]
    at.n_rows, at.shared, at.far, at.own, at.centred = n_rows, shared, far, own, centred
    at.least, at.largest = ldexp(1.0, -300), ldexp(1.0, 300)
    check_cells(cells, d, N_MOMENTS)
    check_vector("sizes", sizes, d)
    check_vector("means", means, d)
    if columns is not None and n:
        check_aligned("columns", &columns[0])
    cdef const double* first = &cells[0, 0] if d else NULL
    for k in range(n):
        j = k if columns is None else columns[k]
        if not 0 <= j < d:
            raise ValueError(f"columns must lie between 0 and {d - 1}, got {j}")
        sizes[j] = size_of(&at, first + N_MOMENTS * j, &means[j])


def starts_of_rows(
    Examples examples,
    const double[::1] means not None,
    Py_ssize_t n_moved,
    int64_t[::1] starts not None,   # OUT
):
    """Where each row begins if it has a value for every one of ``n_moved`` columns with a mean."""
    cdef Py_ssize_t n = examples.csr.n_rows, i = 0, k, length
    cdef const OwnRow* row
    cdef int status = FINISHED
    cdef Walk at
    check_vector("means", means, examples.csr.n_columns)
    if not 0 <= n_moved <= examples.csr.n_columns:
        raise ValueError(f"n_moved must lie between 0 and {examples.csr.n_columns}, got {n_moved}")
    if starts.shape[0] != n + 1:
        raise ValueError(f"starts must have {n + 1} entries, got {starts.shape[0]}")
    check_aligned("starts", &starts[0])
    starts[0] = 0
    with nogil:
        walk_rows(&at, examples, NULL, n, 0)
        while i < n:
            at.n_visited = 0
            row = row_of_step(&at, NULL, 0)
            status = row.status
            if status != FINISHED:
                break
            length = n_moved
            for k in range(row.length):
                length += means[row.columns[k]] == 0.0
            starts[i + 1] = starts[i] + length
            i += 1
        end_walk(&at)
    return status, i


cdef inline Py_ssize_t place_in(const int64_t[::1] moved, Py_ssize_t column) noexcept nogil:
    """The place of a column in the sorted list ``moved``, or -1."""
    cdef Py_ssize_t low = 0, high = moved.shape[0], middle
    if column < high and moved[column] == column:
        return column  # the columns before it all have means
    while low < high:
        middle = (low + high) // 2
        if moved[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low < moved.shape[0] and moved[low] == column else -1


def standardised(
    Examples examples,
    const double[::1] sizes not None,
    const double[::1] means not None,
    const int64_t[::1] moved not None,    # the columns with a mean, in order
    const int64_t[::1] starts not None,   # where each new row begins
    double[::1] values not None,          # OUT
    int32_t[::1] columns not None,        # OUT; empty where no column has a mean
    Py_ssize_t first,
):
    """(x - mean) / size of the rows from ``first`` on; returns as ``add``.

    Behind its other nonzeros a row has a value for every column with a mean.
    """
    cdef Py_ssize_t n = examples.csr.n_rows, n_moved = moved.shape[0], i = max(first, 0)
    cdef Py_ssize_t k, p, j, at_stay, at_moved, stop
    cdef const OwnRow* row
    cdef int status = FINISHED
    cdef Walk at
    check_vector("sizes", sizes, examples.csr.n_columns)
    check_vector("means", means, examples.csr.n_columns)
    if starts.shape[0]:
        check_aligned("starts", &starts[0])
    if n_moved:
        check_aligned("moved", &moved[0])
    if values.shape[0]:
        check_aligned("values", &values[0])
    if columns.shape[0]:
        check_aligned("columns", &columns[0], 4)
    if starts.shape[0] != n + 1 or starts[n] != values.shape[0] or (
        n_moved and columns.shape[0] != values.shape[0]
    ):
        raise ValueError("starts, values and columns must belong to the rows")
    for k in range(n_moved):
        if not 0 <= moved[k] < examples.csr.n_columns:
            raise ValueError(f"moved must hold columns, got {moved[k]}")
    if i >= n:
        return status, n
    with nogil:
        walk_rows(&at, examples, NULL, n, i)
        while i < n:
            row = row_of_step(&at, NULL, 0)
            status = row.status
            if status != FINISHED:
                break
            at_stay, stop = starts[i], starts[i + 1]
            if not 0 <= at_stay <= stop <= values.shape[0] or stop - at_stay < n_moved:
                status = BAD_ROW
                break
            at_moved = stop - n_moved
            for p in range(n_moved):
                j = moved[p]
                values[at_moved + p] = -means[j] / sizes[j]
                columns[at_moved + p] = <int32_t> j
            for k in range(row.length):
                j = row.columns[k]
                p = place_in(moved, j) if n_moved and means[j] != 0.0 else -1
                if p >= 0:
                    values[at_moved + p] = (row.values[k] - means[j]) / sizes[j]
                elif at_stay < at_moved:
                    values[at_stay] = row.values[k] / sizes[j]
                    if n_moved:
                        columns[at_stay] = <int32_t> j
                    at_stay += 1
                else:
                    status = BAD_ROW
            # Another thread may have changed X since the starts were computed.
            if status != FINISHED or at_stay != at_moved:
                status = BAD_ROW
                break
            i += 1
        end_walk(&at)
    return status, i
