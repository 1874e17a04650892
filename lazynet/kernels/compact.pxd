# Rows of the features that may have a weight; see compact.pyx.
from libc.stdint cimport int32_t, int64_t

from .chunk cimport RowLoops
from .rows cimport Csr


cdef class CompactRows:
    cdef readonly Py_ssize_t n_rows, n_columns
    cdef readonly int64_t n_values
    cdef int64_t* starts        # of the rows; n_rows + 1 of them
    cdef int32_t* columns       # NULL where every row has a value for every column, in order
    cdef double* values
    cdef Py_ssize_t n_filled    # rows that are copied
    # The most values of a row, which exceed the columns if these repeat, and at least every |x_ij|.
    cdef readonly Py_ssize_t longest
    cdef readonly double largest
    cdef bint full              # whether every row so far has a value for every column, in order
    cdef bint in_place          # whether the values are those of X
    cdef bint filling           # whether a copy is under way, perhaps in another thread
    cdef const RowLoops* row_loops
    cdef list owners            # of the arrays

    cdef int check_filled(self) except -1
    cdef int begin(self) except -1
    cdef int64_t _see(self, int64_t first) noexcept nogil
    cdef void _settle(self)
    cdef bint _read(
        self, const Csr* csr, Py_ssize_t start, Py_ssize_t length, const int32_t* places
    ) noexcept nogil
    cdef bint _gather(self, const double* values, const int32_t[::1] source) noexcept nogil
    cdef bint _keep(
        self, Py_ssize_t length, const int32_t* columns, const double* values, const int32_t* places
    ) noexcept nogil


cdef inline double dot_of_nonzeros(
    const double* x, const int32_t* j, Py_ssize_t n, const double* w
) noexcept nogil:
    """sum_k x_k w_jk"""
    # Four sums side by side: one would wait for the addition before it.
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t k = 0
    while k + 4 <= n:
        a += x[k] * w[j[k]]
        b += x[k + 1] * w[j[k + 1]]
        c += x[k + 2] * w[j[k + 2]]
        d += x[k + 3] * w[j[k + 3]]
        k += 4
    while k < n:
        a += x[k] * w[j[k]]
        k += 1
    return (a + b) + (c + d)


cdef inline void add_nonzeros(
    const double* x, const int32_t* j, Py_ssize_t n, double factor, double* sums
) noexcept nogil:
    """sums_jk += factor x_k; no two j_k are equal"""
    cdef double a, b, c, d
    cdef Py_ssize_t k = 0
    while k + 4 <= n:
        # Four sums are read before the first one is written: a read waits for the write before it.
        a, b = sums[j[k]] + factor * x[k], sums[j[k + 1]] + factor * x[k + 1]
        c, d = sums[j[k + 2]] + factor * x[k + 2], sums[j[k + 3]] + factor * x[k + 3]
        sums[j[k]], sums[j[k + 1]], sums[j[k + 2]], sums[j[k + 3]] = a, b, c, d
        k += 4
    while k < n:
        sums[j[k]] += factor * x[k]
        k += 1


cdef inline double dot_of_row(CompactRows rows, Py_ssize_t row, const double* w) noexcept nogil:
    """x_i.w"""
    cdef int64_t k = rows.starts[row], stop = rows.starts[row + 1]
    cdef const double* x = rows.values
    cdef const int32_t* j = rows.columns
    if j == NULL:
        return rows.row_loops.full_dot(w, x + k, stop - k)
    return dot_of_nonzeros(x + k, j + k, stop - k, w)


cdef inline void add_row(
    CompactRows rows, Py_ssize_t row, double factor, double* sums
) noexcept nogil:
    """sums += factor x_i"""
    cdef int64_t k = rows.starts[row], stop = rows.starts[row + 1]
    cdef const double* x = rows.values
    cdef const int32_t* j = rows.columns
    if j == NULL:
        rows.row_loops.full_move(sums, x + k, stop - k, -factor)
    else:
        add_nonzeros(x + k, j + k, stop - k, factor, sums)
