# The rows of a CSR matrix: bounds that are read exactly once, columns that are checked as they are
# copied, and prefetches.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc

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
    BLOCK = 16               # columns that are copied at once; narrow numbers in a cache line
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
    if n < BLOCK:
        copy_some(columns, n, copy, &largest, &high)
    else:
        # The last block overlaps the one before: a short row has no tail of single steps.
        copy_some(columns, n - n % BLOCK, copy, &largest, &high)
        copy_some(columns + n - BLOCK, BLOCK, copy + n - BLOCK, &largest, &high)
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
        left -= BLOCK


cdef inline double soft(double z, double shift) noexcept nogil:
    """sgn(z) [|z| - shift]+ without a branch; NaN and infinities are kept."""
    cdef double kept_back = z if z < shift else shift
    kept_back = kept_back if kept_back > -shift else -shift
    return z - kept_back
