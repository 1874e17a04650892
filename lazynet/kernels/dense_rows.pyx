"""Dense arrays as rows, and rows that are those of a dense array.

A row with a value for every column, in order, needs no column numbers (compact.pyx).

Property: the rows are those of SciPy (tests/exact/test_compact_rows.py).
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from .arrays cimport Held
from .examples cimport Examples
from .lanes cimport LANES
from .rows cimport Csr, Value, start_of

# Of columns that are written.
ctypedef fused OwnIndex:
    int32_t
    int64_t


cdef inline double nonzeros_of(const Value* x, Py_ssize_t n) noexcept nogil:
    """The number of nonzeros; NaN if a value is not finite."""
    cdef double[LANES] counts
    cdef double count = 0.0
    cdef Py_ssize_t k = 0
    cdef int lane
    for lane in range(LANES):
        counts[lane] = 0.0
    while k + LANES <= n:
        for lane in range(LANES):
            counts[lane] += (1.0 if x[k + lane] != 0.0 else 0.0) + 0.0 * x[k + lane]
        k += LANES
    for k in range(k, n):
        count += (1.0 if x[k] != 0.0 else 0.0) + 0.0 * x[k]
    for lane in range(LANES):
        count += counts[lane]
    return count


def nonzeros(X not None):
    """Values, columns and row starts of the nonzeros of a dense array; None if one is not finite.

    ``X`` holds doubles or floats.  The values are None if there are no zeros: they are those of X.
    """
    cdef Held held = Held("X", X, (None, None), "df", False)
    cdef Py_ssize_t n = held.shape[0], d = held.shape[1], stored
    starts = np.empty(n + 1, dtype=np.int64)
    cdef int64_t[::1] first = starts
    cdef bint wide = held.view.format == "d", finite
    if wide:
        finite = count_nonzeros(<const double*> held.begin, n, d, &first[0])
    else:
        finite = count_nonzeros(<const float*> held.begin, n, d, &first[0])
    if not finite:
        return None
    kind = np.int32 if n * d < 2**31 else np.int64
    if first[n] == n * d:
        columns = np.empty((n, d), dtype=kind)
        columns[:] = np.arange(d, dtype=kind)
        return None, columns.reshape(-1), starts.astype(kind)
    stored = first[n]
    # What is 0 is written, too, and then overwritten.
    values = np.empty(stored + 1, dtype=np.float64 if wide else np.float32)
    columns = np.empty(stored + 1, dtype=kind)
    if wide and kind is np.int32:
        copy_nonzeros[double, int32_t](<const double*> held.begin, n, d, values, columns)
    elif wide:
        copy_nonzeros[double, int64_t](<const double*> held.begin, n, d, values, columns)
    elif kind is np.int32:
        copy_nonzeros[float, int32_t](<const float*> held.begin, n, d, values, columns)
    else:
        copy_nonzeros[float, int64_t](<const float*> held.begin, n, d, values, columns)
    return values[:stored], columns[:stored], starts.astype(kind)


cdef bint count_nonzeros(
    const Value* x, Py_ssize_t n, Py_ssize_t d, int64_t* starts
) noexcept:
    """starts <- where the nonzeros of each row begin; returns whether all values are finite."""
    cdef Py_ssize_t row
    cdef double count
    starts[0] = 0
    with nogil:
        for row in range(n):
            count = nonzeros_of(x + row * d, d)
            if count != count:
                return False
            starts[row + 1] = starts[row] + <int64_t> count
    return True


cdef void copy_nonzeros(
    const Value* x, Py_ssize_t n, Py_ssize_t d, Value[::1] values, OwnIndex[::1] columns
):
    """Copy nonzeros as far as there is room: another thread may change X."""
    cdef Py_ssize_t row, k, at = 0, last = values.shape[0] - 1
    with nogil:
        for row in range(n):
            for k in range(d):
                # Without a branch.
                values[at], columns[at] = x[k], <OwnIndex> k
                at += (x[k] != 0.0) & (at < last)
            x += d


cdef bint is_full(Examples examples) noexcept:
    """Whether every row has a value for every column, in order."""
    cdef const Csr* csr = &examples.csr
    cdef Py_ssize_t row, n = csr.n_columns
    cdef bint full = start_of(csr, 0) == 0 and n > 0
    full = full and csr.n_values % n == 0 and csr.n_values // n == csr.n_rows
    with nogil:
        for row in range(csr.n_rows):
            if not full or start_of(csr, row + 1) != (row + 1) * n:
                full = False
                break
            if csr.wide_indices:
                full = count_up(<const uint64_t*> csr.columns + row * n, n)
            else:
                full = count_up(<const uint32_t*> csr.columns + row * n, n)
    return full
