# Steps on batches of rows: the rows of a batch are merged into one row, whose values are the mean of
# slope * x over the rows, in a unit that the rule chooses.  The update of a single row then takes the
# merged row, with the unit as its slope.
from libc.math cimport fabs, ldexp
from libc.stdint cimport uint32_t

from .examples cimport BAD_ROW, FINISHED, Examples, Status, Visit, Visited, importance_of
from .rows cimport Row


# A batch that is being merged.  A call of a kernel may end within a batch and the next call go on.
cdef struct Merging:
    double* sums         # for every column the sum of slope * x over the rows merged; else 0
    uint32_t* columns    # the columns merged; some may be there twice
    double* values       # of the merged row
    Py_ssize_t n_columns
    Py_ssize_t length    # the number of entries of ``columns``: twice the columns of the matrix, at most
    bint begun           # whether the following describes a batch
    Py_ssize_t start     # the places in the order of the batch's first row ...
    Py_ssize_t stop      # ... and of the row after its last
    Py_ssize_t measured  # the place of the next row to measure, for rates that follow the rows
    Py_ssize_t next      # the place of the next row to merge
    Py_ssize_t visited   # the nonzeros of the rows merged so far
    double slopes        # the sum of the slopes of the rows merged so far
    double sizes         # the sum of the sizes of these slopes
    double importances   # the sum of the importances of these rows


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
    cdef const double[::1] rates
    cdef const double[::1] keep
    cdef const double[::1] keep_low
    cdef const double[::1] pull
    cdef const double[::1] counts
    cdef Merger merger


cdef inline void begin_batch(Merging* at, Batches batches, Py_ssize_t batch) noexcept nogil:
    """Begin to merge a batch, unless an earlier call has begun."""
    cdef Py_ssize_t start = batch * batches.size
    if at.begun and at.start == start:
        return
    at.begun = True
    at.start = at.measured = at.next = start
    at.stop = min(start + batches.size, batches.order.shape[0])
    at.visited = 0
    at.slopes = at.sizes = at.importances = 0.0


# Lists every column once, so that there is room for one more row.
cdef void list_once(Merging* at, Examples examples) noexcept nogil


cdef inline Status merge_row(
    Merging* at, Examples examples, const Visit* visit, double slope
) noexcept nogil:
    """Add the row of the visit, times the slope of its loss; returns FINISHED or an error."""
    cdef Py_ssize_t length = visit.now.length
    if length > at.n_columns:
        return BAD_ROW  # it names a column twice
    if slope != 0.0:
        if at.length + length > 2 * at.n_columns:
            list_once(at, examples)
        at.length = examples.ops.merge(
            &visit.now, slope, at.sums, at.columns, at.length
        )
    at.slopes += slope
    at.sizes += fabs(slope)
    at.importances += importance_of(examples, visit.number)
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


# The merged row in units of ``unit``, which is there until the next batch begins; the batch is then
# done with.
cdef Row merged_row(Merging* at, Examples examples, double unit) noexcept nogil
