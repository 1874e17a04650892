# Columns that are copied out of rows; see columns.pyx.
from libc.stdint cimport int32_t, int64_t

from .examples cimport Examples
from .own_rows cimport OwnRow


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
    # Columns that have been named and not yet placed, and what picking has found for them so far.
    cdef Py_ssize_t n_named
    cdef Py_ssize_t next_row       # the row from which picking goes on; -1: nothing is named
    cdef int64_t n_found, found_room
    cdef int32_t* found_places
    cdef double* found_values
    cdef int64_t* found_starts
    cdef bint busy                 # whether a call is under way, perhaps in another thread

    # For subclasses with further numbers for each column: make room for them, and begin them.
    cdef bint make_room(self, Py_ssize_t room) noexcept
    cdef void joined(self, Py_ssize_t first, Py_ssize_t stop) noexcept nogil

    cdef int check_free(self) except -1
    cdef int enter(self) except -1
    cdef void leave(self) noexcept
    cdef bint _has(self, Py_ssize_t feature) noexcept nogil
    cdef void forget(self) noexcept nogil


cdef inline Py_ssize_t pick(
    const OwnRow* row, const int32_t* places, int32_t first, int32_t* found, double* values
) noexcept nogil:
    """The nonzeros whose column has a place of at least ``first``, in order: how many they are.

    Both arrays have room for the whole row.  Nothing branches on what is found.
    """
    cdef Py_ssize_t k, n = 0
    cdef int32_t place
    for k in range(row.length):
        place = places[row.columns[k]]
        found[n] = place
        values[n] = row.values[k]
        n += place >= first
    return n
