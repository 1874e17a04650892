# What an update of stabilised.pyx and of released.pyx does to the cells {z, k} of its row.
from libc.math cimport copysign
from libc.stdint cimport int64_t

from .own_rows cimport OwnRow
from .rows cimport soft


cdef inline Py_ssize_t inform(
    const OwnRow* row, double* cells, double shift, double step, int64_t* informed, Py_ssize_t n
) noexcept nogil:
    """w_j <- w_j - step x_j and k_j <- k_j + 1 on the features of the row that are not purged.

    The features with k_j = 0 are appended to the n that ``informed`` holds, which has room for the
    row; returns how many there are now.  Nothing branches on what a cell holds.
    """
    cdef Py_ssize_t k
    cdef double* cell
    cdef double z, w, count
    cdef bint counts
    for k in range(row.length):
        cell = cells + 2 * <Py_ssize_t> row.columns[k]
        z, count = cell[0], cell[1]
        counts = (count >= 0.0) & (row.values[k] != 0.0)
        w = soft(z, shift) - step * row.values[k]
        informed[n] = row.columns[k]
        n += counts & (count == 0.0)
        cell[0] = w + copysign(shift, w) if counts else z
        cell[1] = count + <double> counts
    return n
