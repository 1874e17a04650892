# Stamps of columns: whether a row names a column twice, at the cost of its nonzeros.
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc
from libc.string cimport memset

from .own_rows cimport OwnRow


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


cdef inline bint names_twice(const OwnRow* row, Stamps* stamps) noexcept nogil:
    """Whether a column of the row, stamped one after the other, is found stamped."""
    cdef Py_ssize_t k
    cdef uint32_t* stamp
    cdef bint repeated = False
    for k in range(row.length):
        stamp = stamps.of_columns + row.columns[k]
        repeated |= stamp[0] == stamps.latest
        stamp[0] = stamps.latest
    return repeated
