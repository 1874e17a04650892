# Columns that are copied out of rows; see columns.pyx.
from libc.stdint cimport int32_t, int64_t, uint32_t

from .examples cimport Examples
from .rows cimport OwnRow


# Gives the block at least ``size`` bytes; keeps what it holds.  False without memory.
cdef bint grow(void** block, size_t size) noexcept nogil


cdef class Columns:
    cdef Examples examples
    cdef double share              # the factor of every importance: 1 / n
    cdef Py_ssize_t n_rows, n_columns
    # The place of each column of X among the columns that are here, or -1.
    cdef int32_t* places
    # A number for each column that is here.
    cdef Py_ssize_t size, room
    cdef int64_t* features         # its number in X
    cdef int64_t* starts           # of its nonzeros
    cdef int64_t* lengths
    cdef double* norms             # share sum s_i x_ij^2
    # The nonzeros of the columns.
    cdef int64_t n_values, values_room
    cdef int32_t* rows
    cdef double* values
    cdef bint busy                 # whether a call is under way, perhaps in another thread

    # For subclasses with further numbers for each column: make room for them, and begin them.
    cdef bint make_room(self, Py_ssize_t room) noexcept
    cdef void joined(self, Py_ssize_t first, Py_ssize_t stop) noexcept nogil

    cdef int check_free(self) except -1
    cdef int enter(self) except -1
    cdef void leave(self) noexcept
    cdef bint _has(self, Py_ssize_t feature) noexcept nogil
    cdef int name(self, const int64_t[::1] features) except -1
    cdef void forget(self, Py_ssize_t n) noexcept nogil
    cdef int find(self, Found* found, Py_ssize_t* row) noexcept nogil
    cdef bint place(self, const Found* found, Py_ssize_t n) noexcept nogil


# Nonzeros of new columns, row by row.
cdef struct Found:
    int64_t n, room
    int32_t* rows
    int32_t* places
    double* values


cdef inline Py_ssize_t pick(
    const OwnRow* row, const int32_t* places, int32_t first, int32_t* found, double* values
) noexcept nogil:
    """The nonzeros whose column has a place of at least ``first``, in order: how many they are.

    Both arrays have room for the whole row.  Nothing branches on what is found.
    """
    cdef Py_ssize_t k, n = 0
    cdef int32_t place
    # The compiler would read both pointers again after every number that is written.
    cdef const uint32_t* row_columns = row.columns
    cdef const double* row_values = row.values
    for k in range(row.length):
        place = places[row_columns[k]]
        found[n] = place
        values[n] = row_values[k]
        n += place >= first
    return n
