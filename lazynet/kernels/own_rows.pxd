# Rows that a kernel reads: copied and checked, so that no other thread can change what is used.
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint32_t, uintptr_t
from libc.string cimport memcpy

from .chunk cimport BAD_ROW, FINISHED, OUT_OF_MEMORY, Status
from .lanes cimport LANES
from .rows cimport Csr, Room, copy_columns, make_room, prefetch_to_write, start_of

cdef enum:
    MOST_KEPT = 3            # numbers that a prediction keeps per nonzero
    WORTH_FETCHING = 1024    # nonzeros of a row, at most, whose cells are fetched ahead


# A checked row.  Its columns are a copy that the kernel owns, which no other thread can change.  The values
# are doubles, copied unless X has doubles: a wrong number harms no memory.  Behind a row of one to seven
# nonzeros its last nonzero is repeated up to eight.
cdef struct OwnRow:
    Py_ssize_t number    # of the row in X, or -1
    Py_ssize_t length
    const double* values
    double* copied       # room for the values
    uint32_t* columns
    double* kept         # numbers of its cells that the prediction keeps for the step
    Status status        # FINISHED, or why there is no such row
    Room room


cdef inline bint has_room(OwnRow* row, Py_ssize_t n) noexcept nogil:
    """Make room for n nonzeros, a repetition of the last, and a last block of what is kept."""
    cdef size_t most = n + 2 * LANES
    cdef uintptr_t start
    if not make_room(&row.room, most * ((1 + MOST_KEPT) * sizeof(double) + sizeof(uint32_t)) + 64):
        return False
    start = (<uintptr_t> row.room.bytes + 63) & ~<uintptr_t> 63
    row.kept = <double*> start
    row.copied = row.kept + MOST_KEPT * most
    row.columns = <uint32_t*> (row.copied + most)
    return True


cdef inline void fill_up(OwnRow* row) noexcept nogil:
    """Repeat the last nonzero of a short row: it then moves several times, to the same place."""
    cdef Py_ssize_t k, n = row.length
    if 0 < n < LANES:
        for k in range(n, LANES):
            row.copied[k], row.columns[k] = row.copied[n - 1], row.columns[n - 1]


cdef inline Py_ssize_t row_at(
    const Csr* csr, const int64_t* order, Py_ssize_t n, Py_ssize_t place
) noexcept nogil:
    """The number of the row at this place in an order of n rows, or -1."""
    cdef int64_t number
    if place >= n:
        return -1
    number = order[place]
    return <Py_ssize_t> number if 0 <= number < csr.n_rows else -1


cdef inline void copy_row(const Csr* csr, Py_ssize_t number, OwnRow* row) noexcept nogil:
    """Copy the columns of the row of this number, or of no row where it is -1, and check them;
    ``row.status`` says how that went.  The values are copied where they are not doubles, or where the
    row is short."""
    cdef int64_t start, stop
    cdef Py_ssize_t n, k
    cdef const float* narrow
    row.status = BAD_ROW
    row.number = number
    if row.number < 0:
        return
    start, stop = start_of(csr, row.number), start_of(csr, row.number + 1)
    if start < 0 or stop < start or stop > csr.n_values:
        return
    n = row.length = <Py_ssize_t> (stop - start)
    if not has_room(row, n):
        row.status = OUT_OF_MEMORY
        return
    if not copy_columns(csr, <Py_ssize_t> start, n, row.columns):
        return
    row.values = row.copied
    if not csr.wide_values:
        narrow = <const float*> csr.values + start
        for k in range(n):
            row.copied[k] = narrow[k]
    elif n < LANES:
        memcpy(row.copied, <const double*> csr.values + start, n * sizeof(double))
    else:
        row.values = <const double*> csr.values + start
    fill_up(row)
    row.status = FINISHED


cdef inline void fetch_eight(
    const double* cells, const OwnRow* row, Py_ssize_t k, Py_ssize_t numbers
) noexcept nogil:
    """Fetch the cells of eight nonzeros of a row from the k-th on, or of the last eight."""
    cdef int lane
    if k < min(row.length, <Py_ssize_t> WORTH_FETCHING):
        k = max(min(k, row.length - LANES), <Py_ssize_t> 0)
        for lane in range(LANES):
            prefetch_to_write(cells + numbers * <Py_ssize_t> row.columns[k + lane])


cdef inline void fetch_cells(
    const double* cells, const OwnRow* row, Py_ssize_t k, Py_ssize_t numbers
) noexcept nogil:
    """Fetch the cells of a row from the k-th nonzero on."""
    while k < min(row.length, <Py_ssize_t> WORTH_FETCHING):
        fetch_eight(cells, row, k, numbers)
        k += LANES


cdef inline double term_of(double x, bint absolutes) noexcept nogil:
    return fabs(x) if absolutes else x * x


cdef inline double size_of_row(const OwnRow* row, bint absolutes) noexcept nogil:
    """The sum of |x_j|, or of x_j^2, in the eight sums of a prediction (online.pyx)."""
    cdef double[LANES] sums
    cdef double sum = 0.0
    cdef Py_ssize_t k = 0, n = row.length
    cdef int lane
    if n < LANES:
        for k in range(n):
            sum += term_of(row.values[k], absolutes)
        return sum
    for lane in range(LANES):
        sums[lane] = 0.0
    while k + LANES <= n:
        for lane in range(LANES):
            sums[lane] += term_of(row.values[k + lane], absolutes)
        k += LANES
    for k in range(k, n):  # the last block ends where the row ends
        sums[LANES - n + k] += term_of(row.values[k], absolutes)
    for lane in range(4):
        sums[lane] += sums[lane + 4]
    return (sums[0] + sums[2]) + (sums[1] + sums[3])
