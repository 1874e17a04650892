# Steps on batches of rows: the rows of a batch are merged into one row, whose values are the mean of
# slope * x over the rows, in a unit that the rule chooses.  The update of a single row then takes the
# merged row, with the unit as its slope.
from libc.math cimport fabs, ldexp
from libc.stdint cimport uint32_t

from .chunk cimport BAD_ROW, FINISHED, Merging, Status
from .examples cimport Examples, Visited


cdef class Merger:
    """Memory in which batches are merged, for one thread at a time."""
    cdef Merging at
    cdef bint busy

    # Raises if another call uses the memory; makes it fit the examples.
    cdef Merging* begin(self, Examples examples) except NULL
    cdef void end(self) noexcept
    cdef void discard(self) noexcept


cdef class Batches(Visited):
    """A chunk of steps on batches: the rows, and for each batch what Steps holds for a row."""
    cdef readonly Py_ssize_t size     # the number of rows in a batch; the last may have fewer
    cdef Py_ssize_t n_batches
    cdef Merger merger


cdef inline void begin_batch(
    Merging* at, Py_ssize_t size, Py_ssize_t batch, Py_ssize_t n_rows
) noexcept nogil:
    """Begin to merge a batch, unless an earlier call has begun."""
    cdef Py_ssize_t start = batch * size
    if at.begun and at.start == start:
        return
    at.begun = True
    at.start = at.measured = at.next = start
    at.stop = min(start + size, n_rows)
    at.visited = 0
    at.slopes = at.sizes = at.importances = 0.0


cdef inline Py_ssize_t take_sums(Merging* at, double divisor) noexcept nogil:
    """The columns whose sums are not 0, with the sums over ``divisor``; all sums are 0 again.

    Where a good part of all columns was listed, all sums are looked at in order: what follows then
    walks through memory from one end to the other.
    """
    cdef bint in_order = at.length > at.n_columns // 4
    cdef Py_ssize_t stop = at.n_columns if in_order else at.length, k, n = 0
    cdef uint32_t column
    cdef double sum
    for k in range(stop):
        column = <uint32_t> k if in_order else at.columns[k]
        sum = at.sums[column]
        at.sums[column] = 0.0
        at.columns[n], at.values[n] = column, sum / divisor
        n += sum != 0.0
    at.length = n
    return n


cdef inline Status merge_row(
    Merging* at, const double* values, const uint32_t* columns, Py_ssize_t length, double slope,
    double importance,
) noexcept nogil:
    """Add a row, times the slope of its loss; returns FINISHED or an error.

    A column whose sum is 0 goes to the end of the list, also again where its sum has come back to 0.
    """
    cdef Py_ssize_t k
    cdef double before
    if length > at.n_columns:
        return BAD_ROW  # it names a column twice
    if slope != 0.0:
        if at.length + length > 2 * at.n_columns:
            # List every column once, so that there is room for one more row.
            for k in range(take_sums(at, 1.0)):
                at.sums[at.columns[k]] = at.values[k]
        for k in range(length):
            before = at.sums[columns[k]]
            at.columns[at.length] = columns[k]
            at.length += before == 0.0
            at.sums[columns[k]] = before + slope * values[k]
    at.slopes += slope
    at.sizes += fabs(slope)
    at.importances += importance
    at.visited += length
    at.next += 1
    return FINISHED


cdef inline double mean_slope(const Merging* at) noexcept nogil:
    """The mean of the slopes over the rows of the batch."""
    return at.slopes / <double> (at.stop - at.start)


cdef inline double size_of_slopes(const Merging* at) noexcept nogil:
    """The mean size of the slopes, in which a row counts by its importance; below 2^-960 it is 1."""
    cdef double size = at.sizes / at.importances if at.importances > 0.0 else 0.0
    return size if size >= ldexp(1.0, -960) else 1.0


cdef inline Py_ssize_t merged_row(Merging* at, double unit) noexcept nogil:
    """The merged row in units of ``unit``, in ``columns`` and ``values``; returns its length.

    The batch is then done with.
    """
    cdef Py_ssize_t length = take_sums(at, <double> (at.stop - at.start) * unit)
    at.begun = False
    at.length = 0
    return length
