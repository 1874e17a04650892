# Compact rows, column by column; see columns.pyx.
from libc.stdint cimport int32_t, int64_t

from .compact cimport CompactRows
from .examples cimport Examples


cdef class Columns:
    cdef CompactRows compact
    cdef Examples examples         # targets and importances of the rows
    cdef Py_ssize_t n_rows, n_columns
    cdef int64_t* first            # where each column begins
    cdef int64_t* filled           # how many of its nonzeros are copied
    cdef int32_t* rows             # of the nonzeros
    cdef double* values
    cdef Py_ssize_t n_filled       # rows whose nonzeros are copied
    cdef list owners               # of the arrays
    cdef bint busy                 # whether a call is under way, perhaps in another thread

    cdef int check_free(self) except -1
    cdef int check_filled(self) except -1
    cdef int enter(self) except -1
    cdef void leave(self) noexcept
    cdef void copy_full(self, const int32_t* chosen, Py_ssize_t n) noexcept nogil
