# The rows of a CSR matrix that a kernel reads: bounds that are read exactly once, columns that are
# checked as they are copied, so that no other thread can change what is used, and prefetches.
#
# Property: a kernel never reads outside an array (tests/safe/test_kernels_stay_inside_arrays.py).
from libc.float cimport DBL_MAX
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from .lanes cimport LANES

# How a call of a kernel ended.
cdef enum Status:
    FINISHED = 0
    NEEDS_SWEEP = 1    # all weights must be brought current before the next step
    OVERFLOWED = 2     # this step's prediction or move is not finite; it was not taken
    BAD_ROW = 3        # this step's row cannot be read safely; it was not taken
    PAUSED = 4         # the call has visited PATIENCE numbers: signals can be handled now
    OUT_OF_MEMORY = 5  # there is no room for this step's row; the step was not taken
    OUT_OF_RANGE = 6   # this step's shrink takes the clock out of the range of doubles

# The values and columns of the row AHEAD steps later are prefetched: fetched later, they would
# arrive too late, and fetched sooner, they would have left the cache again.
cdef enum:
    AHEAD = 3

# Up to this many numbers, 2 MiB, weights are near: the second cache of the processor holds most of
# those that a row needs, and fetching them ahead takes longer than waiting for the others.
cdef enum:
    NEAR = 262144

# The most numbers that one call touches, a last row excepted: some tens of milliseconds.
cdef enum:
    PATIENCE = 8388608

cdef extern from *:
    void prefetch "__builtin_prefetch"(const void* address) nogil
    void prefetch_for "__builtin_prefetch"(const void* address, int writing) nogil


cdef struct Csr:
    const void* values
    const void* columns
    const void* starts      # of the rows; n_rows + 1 of them
    Py_ssize_t n_rows
    Py_ssize_t n_columns    # at most 2^32
    Py_ssize_t n_values
    bint wide_values        # double, else float
    bint wide_indices       # columns and starts are int64_t, else int32_t


# Memory that grows as rows do.  It begins as zeros; its user frees ``bytes`` in the end.
cdef struct Room:
    void* bytes
    size_t size


cdef enum:
    LEAST_ROOM = 4096
    CACHE_LINE = 64
    COLUMNS_AT_ONCE = 16     # columns that are copied at once; narrow numbers in a cache line
    WORTH_FETCHING = 1024    # nonzeros of a row, at most, that are fetched ahead

ctypedef fused Index:
    uint32_t
    uint64_t


cdef inline void prefetch_to_write(const void* address) noexcept nogil:
    prefetch_for(address, 1)


cdef inline bint make_room(Room* room, size_t size) noexcept nogil:
    if room.bytes != NULL and size <= room.size:
        return True
    free(room.bytes)
    room.size = LEAST_ROOM if size < LEAST_ROOM else 2 * size
    room.bytes = malloc(room.size)
    return room.bytes != NULL


cdef inline int64_t read_once(const int64_t* index) noexcept nogil:
    """An index that another thread may write to: the value that is checked is the value that is
    used."""
    return (<const volatile int64_t*> index)[0]


cdef inline int64_t start_of(const Csr* csr, Py_ssize_t row) noexcept nogil:
    """Where a row begins, read once."""
    if csr.wide_indices:
        return read_once(<const int64_t*> csr.starts + row)
    return (<const volatile int32_t*> csr.starts)[row]


cdef inline void copy_some(
    const Index* columns, Py_ssize_t n, uint32_t* copy, uint32_t* largest, uint32_t* high
) noexcept nogil:
    """Copy columns; ``largest`` is then at least each of them, and ``high`` has the bits that are
    not copied.  A column is in a register between the copy and the check."""
    cdef uint32_t highest = largest[0], beyond = high[0]
    cdef Index column
    cdef Py_ssize_t k
    for k in range(n):
        column = columns[k]
        if Index is uint64_t:
            beyond |= <uint32_t> (column >> 32)
        copy[k] = <uint32_t> column
        highest = max(highest, <uint32_t> column)
    largest[0], high[0] = highest, beyond


cdef inline bint copy_from(
    const Index* columns, Py_ssize_t n, Py_ssize_t n_columns, uint32_t* copy
) noexcept nogil:
    cdef uint32_t largest = 0, high = 0
    cdef Py_ssize_t last = n - COLUMNS_AT_ONCE
    if last < 0:
        copy_some(columns, n, copy, &largest, &high)
    else:
        # The last block overlaps the one before: a short row has no tail of single steps.
        copy_some(columns, n - n % COLUMNS_AT_ONCE, copy, &largest, &high)
        copy_some(columns + last, COLUMNS_AT_ONCE, copy + last, &largest, &high)
    if Index is uint32_t:
        high = largest >> 31
    return n == 0 or (high == 0 and <int64_t> largest < n_columns)


cdef inline bint copy_columns(
    const Csr* csr, Py_ssize_t start, Py_ssize_t n, uint32_t* copy
) noexcept nogil:
    """Copy n columns from ``start`` on; whether each is at least 0 and less than ``n_columns``."""
    if csr.wide_indices:
        return copy_from(<const uint64_t*> csr.columns + start, n, csr.n_columns, copy)
    return copy_from(<const uint32_t*> csr.columns + start, n, csr.n_columns, copy)


cdef inline void fetch_row(const Csr* csr, Py_ssize_t row) noexcept nogil:
    """Prefetch the values and columns of a later row.

    The row has not been checked and may lie outside the arrays: addresses are numbers here, and a
    prefetch never faults.  One loop fetches both: the end of a loop of unknown length costs as much
    as several prefetches.
    """
    cdef int64_t begin = start_of(csr, row), left = start_of(csr, row + 1) - begin
    cdef size_t value_lines = 2 if csr.wide_values else 1
    cdef size_t column_lines = 2 if csr.wide_indices else 1
    cdef uintptr_t value = <uintptr_t> csr.values + <uintptr_t> begin * 4 * value_lines
    cdef uintptr_t column = <uintptr_t> csr.columns + <uintptr_t> begin * 4 * column_lines
    left = min(left, <int64_t> WORTH_FETCHING)
    while left > 0:
        prefetch(<const void*> value)
        prefetch(<const void*> column)
        value += value_lines * CACHE_LINE
        column += column_lines * CACHE_LINE
        prefetch(<const void*> (value - CACHE_LINE))
        prefetch(<const void*> (column - CACHE_LINE))
        left -= COLUMNS_AT_ONCE


cdef inline double soft(double z, double shift) noexcept nogil:
    """sgn(z) [|z| - shift]+ without a branch; NaN and infinities are kept."""
    cdef double kept_back = z if z < shift else shift
    kept_back = kept_back if kept_back > -shift else -shift
    return z - kept_back

# --- rows that a kernel owns ----------------------------------------------------------------------

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


ctypedef fused Value:
    float
    double


cdef inline bint all_finite(const Value* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k, beyond = 0
    for k in range(n):
        beyond |= not fabs(numbers[k]) <= DBL_MAX
    return beyond == 0


cdef inline double term_of(double x, bint absolutes) noexcept nogil:
    return fabs(x) if absolutes else x * x


cdef inline double size_of_values(
    const Value* values, Py_ssize_t length, bint absolutes
) noexcept nogil:
    """The sum of |x_j|, or of x_j^2, in the eight sums of a prediction (one_output_loop.pyx)."""
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


ctypedef void (*CopyRow)(const Csr* csr, Py_ssize_t number, OwnRow* row) noexcept nogil


# Rows that are visited in an order.
cdef struct Walk:
    const Csr* csr
    CopyRow copy
    const int64_t* order    # NULL: the order of the matrix
    Py_ssize_t n            # rows in the order
    Py_ssize_t place        # of the row at hand in the order
    OwnRow[2] rows          # the row at hand and the row after it, by turns
    int turn                # where the row at hand is
    Py_ssize_t n_visited    # numbers that the call has touched; it pauses beyond PATIENCE


cdef inline void begin_walk(
    Walk* at, const Csr* csr, CopyRow copy, const int64_t* order, Py_ssize_t n, Py_ssize_t first
) noexcept nogil:
    memset(at, 0, sizeof(Walk))
    at.csr, at.copy, at.order, at.n, at.place = csr, copy, order, n, first
    copy(csr, row_at(csr, order, n, first), &at.rows[0])


cdef inline OwnRow* copy_next(Walk* at) noexcept nogil:
    """Copy the row after the row at hand; returns it."""
    cdef OwnRow* next = &at.rows[1 - at.turn]
    at.copy(at.csr, row_at(at.csr, at.order, at.n, at.place + 1), next)
    return next


cdef inline void go_on(Walk* at) noexcept nogil:
    """The row that was copied becomes the row at hand."""
    at.place += 1
    at.turn = 1 - at.turn


cdef inline const OwnRow* next_row(
    Walk* at, const double* cells, Py_ssize_t numbers
) noexcept nogil:
    """The row at hand; unless it cannot be read (``status``), the next row is at hand afterwards.

    Copies the next row and prefetches a later row.  Prefetches also the cells of the next row, of
    ``numbers`` numbers each, if the cells of all columns are too many for a near cache.
    """
    cdef OwnRow* row = &at.rows[at.turn]
    cdef OwnRow* next
    cdef Py_ssize_t ahead = row_at(at.csr, at.order, at.n, at.place + AHEAD)
    if row.status == FINISHED:
        next = copy_next(at)
        go_on(at)
        if numbers * at.csr.n_columns > NEAR and next.status == FINISHED:
            fetch_cells(cells, next, 0, numbers)
        if ahead >= 0:
            fetch_row(at.csr, ahead)
    return row


cdef inline const OwnRow* row_of_step(
    Walk* at, const double* cells, Py_ssize_t numbers
) noexcept nogil:
    """As ``next_row``; the row is PAUSED if the call has touched more than PATIENCE numbers."""
    cdef OwnRow* row = &at.rows[at.turn]
    if at.n_visited > PATIENCE:
        row.status = PAUSED
    at.n_visited += row.length
    return next_row(at, cells, numbers)


cdef inline void end_walk(Walk* at) noexcept nogil:
    free(at.rows[0].room.bytes)
    free(at.rows[1].room.bytes)
