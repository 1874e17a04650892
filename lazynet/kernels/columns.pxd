# Columns that are copied out of rows; see columns.pyx.
from libc.stdint cimport int32_t, int64_t

from .compact cimport CompactRows
from .examples cimport Examples


# Gives the block at least ``size`` bytes; keeps what it holds.  False without memory.
cdef bint grow(void** block, size_t size) noexcept nogil


cdef class Columns:
    cdef CompactRows compact
    cdef Examples examples         # targets and importances of the rows
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
    cdef bint find(self, Found* found) noexcept nogil
    cdef bint place(self, const Found* found, Py_ssize_t n) noexcept nogil


# Nonzeros of new columns, row by row.
cdef struct Found:
    int64_t n, room
    int32_t* rows
    int32_t* places
    double* values
