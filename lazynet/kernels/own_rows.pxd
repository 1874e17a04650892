# Rows that a kernel reads: copied and checked, so that no other thread can change what is used.
from libc.float cimport DBL_MAX
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint32_t, uintptr_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from .chunk cimport AHEAD, BAD_ROW, FINISHED, NEAR, OUT_OF_MEMORY, Status
from .lanes cimport LANES
from .rows cimport (
    WORTH_FETCHING,
    Csr,
    Room,
    copy_columns,
    fetch_row,
    make_room,
    prefetch_to_write,
    start_of,
)

cdef enum:
    MOST_KEPT = 3            # numbers that a prediction keeps per nonzero


# A checked row.  Its columns are a copy that the kernel owns, which no other thread can change.
# The values are doubles, copied unless X has doubles: a wrong number harms no memory.  Behind a row
# of one to seven nonzeros its last nonzero is repeated up to eight.
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
    """The number of the row at this place in an order of n rows, or -1.

    NULL is the order of the matrix."""
    cdef int64_t number
    if place >= n:
        return -1
    number = order[place] if order != NULL else place
    return <Py_ssize_t> number if 0 <= number < csr.n_rows else -1


cdef inline bint has_place(
    const Csr* csr, Py_ssize_t number, Py_ssize_t* start, Py_ssize_t* length
) noexcept nogil:
    """Where a row begins and how long it is; false where there is no such row in the arrays."""
    cdef int64_t first, stop
    if not 0 <= number < csr.n_rows:
        return False
    first, stop = start_of(csr, number), start_of(csr, number + 1)
    if first < 0 or stop < first or stop > csr.n_values:
        return False
    start[0], length[0] = <Py_ssize_t> first, <Py_ssize_t> (stop - first)
    return True


cdef inline void copy_values(const Csr* csr, Py_ssize_t start, OwnRow* row) noexcept nogil:
    """The values of a row, copied where they are not doubles or where the row is short."""
    cdef const float* narrow
    cdef Py_ssize_t k
    row.values = row.copied
    if not csr.wide_values:
        narrow = <const float*> csr.values + start
        for k in range(row.length):
            row.copied[k] = narrow[k]
    elif row.length < LANES:
        memcpy(row.copied, <const double*> csr.values + start, row.length * sizeof(double))
    else:
        row.values = <const double*> csr.values + start


cdef inline void copy_row(const Csr* csr, Py_ssize_t number, OwnRow* row) noexcept nogil:
    """Copy the row of this number, or of no row where it is -1, and check its columns; ``row.status``
    says how that went."""
    cdef Py_ssize_t start = 0
    row.status = BAD_ROW
    row.number = number
    if not has_place(csr, number, &start, &row.length):
        return
    if not has_room(row, row.length):
        row.status = OUT_OF_MEMORY
        return
    if not copy_columns(csr, start, row.length, row.columns):
        return
    copy_values(csr, start, row)
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


cdef inline bint all_finite(const double* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k, beyond = 0
    for k in range(n):
        beyond |= not fabs(numbers[k]) <= DBL_MAX
    return beyond == 0


ctypedef fused Value:
    float
    double


cdef inline double term_of(double x, bint absolutes) noexcept nogil:
    return fabs(x) if absolutes else x * x


cdef inline double size_of(
    const Value* values, Py_ssize_t length, bint absolutes
) noexcept nogil:
    """The sum of |x_j|, or of x_j^2, in the eight sums of a prediction (online.pyx)."""
    cdef double[LANES] sums
    cdef double sum = 0.0
    cdef Py_ssize_t k = 0, last = length - LANES
    cdef int lane
    if last < 0:
        for k in range(length):
            sum += term_of(values[k], absolutes)
        return sum
    for lane in range(LANES):
        sums[lane] = 0.0
    while k < last:
        for lane in range(LANES):
            sums[lane] += term_of(values[k + lane], absolutes)
        k += LANES
    for lane in range(LANES):  # the last eight overlap the eight before and count once
        sums[lane] += 0.0 if lane < k - last else term_of(values[last + lane], absolutes)
    for lane in range(4):
        sums[lane] += sums[lane + 4]
    return (sums[0] + sums[2]) + (sums[1] + sums[3])


cdef inline double size_of_row(const OwnRow* row, bint absolutes) noexcept nogil:
    return size_of(row.values, row.length, absolutes)


ctypedef void (*CopyRow)(const Csr* csr, Py_ssize_t number, OwnRow* row) noexcept nogil


# What row_loops.pyx offers at each level of vector units.
cdef struct RowLoops:
    CopyRow copy
    # The sum of x_j^2, or of |x_j|; 0 for a row that cannot be read.
    double (*size)(const Csr* csr, Py_ssize_t number, bint absolutes) noexcept nogil
    # Whether every column is larger than the one before; whether all values are finite.
    bint (*increases)(const OwnRow* row) noexcept nogil
    bint (*is_finite)(const OwnRow* row) noexcept nogil
    # sum x_j w_j with w = soft(z, shift); a weight has one number, or two.
    double (*dot)(const OwnRow* row, const double* z, double shift) noexcept nogil
    double (*dot_of_pairs)(const OwnRow* row, const double* cells, double shift) noexcept nogil
    # w_j <- w_j + factor x_j, and {a, b}_j <- {a, b}_j + {first, second} x_j
    void (*add)(const OwnRow* row, double* w, double factor) noexcept nogil
    void (*add_pairs)(
        const OwnRow* row, double* cells, double first, double second) noexcept nogil
    # sum x_j w_j and the digits that its rounding lost; {sum, low}_j += (factor + low) x_j
    double (*exact_dot)(const OwnRow* row, const double* w, double* low) noexcept nogil
    void (*exact_add)(
        const OwnRow* row, double* sums, double factor, double factor_low) noexcept nogil
    # The steps of a dense loop over all weights (all_weights.pxd).
    void (*shrink_all)(double* w, Py_ssize_t n, double keep, double pull) noexcept nogil
    double (*full_dot)(const double* w, const double* x, Py_ssize_t n) noexcept nogil
    void (*full_move)(double* w, const double* x, Py_ssize_t n, double step) noexcept nogil
    # sum |w| and sum w^2; log(1 + exp(-p y)) of many predictions
    void (*weight_sums)(
        const double* w, Py_ssize_t n, double* absolute, double* squared) noexcept nogil
    void (*log_losses)(
        const double* predictions, const double* targets, double* losses,
        Py_ssize_t n) noexcept nogil


# Rows that are visited in an order.
cdef struct Walk:
    const Csr* csr
    CopyRow copy
    const int64_t* order    # NULL: the order of the matrix
    Py_ssize_t n            # rows in the order
    Py_ssize_t place        # of the next row in the order
    OwnRow[2] rows          # the row at hand and the row after it, by turns
    int turn                # where the next row is


cdef inline void begin_walk(
    Walk* at, const Csr* csr, CopyRow copy, const int64_t* order, Py_ssize_t n, Py_ssize_t first
) noexcept nogil:
    memset(at, 0, sizeof(Walk))
    at.csr, at.copy, at.order, at.n, at.place = csr, copy, order, n, first
    copy(csr, row_at(csr, order, n, first), &at.rows[0])


cdef inline const OwnRow* next_row(
    Walk* at, const double* cells, Py_ssize_t numbers
) noexcept nogil:
    """The next row, whose ``status`` says whether it could be read.

    Copies the row after it, fetches the cells of that row, of ``numbers`` numbers each, where they are
    too many for a near cache, and fetches a later row."""
    cdef OwnRow* row = &at.rows[at.turn]
    cdef OwnRow* next = &at.rows[1 - at.turn]
    cdef Py_ssize_t ahead = row_at(at.csr, at.order, at.n, at.place + AHEAD)
    if row.status == FINISHED:
        at.place += 1
        at.turn = 1 - at.turn
        at.copy(at.csr, row_at(at.csr, at.order, at.n, at.place), next)
        if numbers * at.csr.n_columns > NEAR and next.status == FINISHED:
            fetch_cells(cells, next, 0, numbers)
        if ahead >= 0:
            fetch_row(at.csr, ahead)
    return row


cdef inline const OwnRow* row_after(const Walk* at) noexcept nogil:
    """The row that ``next_row`` will return."""
    return &at.rows[at.turn]


cdef inline void end_walk(Walk* at) noexcept nogil:
    free(at.rows[0].room.bytes)
    free(at.rows[1].room.bytes)
