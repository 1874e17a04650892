# Loops over all weights, for the dense engine and the penalty.  A module that is compiled with vector units
# computes several weights at once, and dense.pyx one at a time, with the same bits.
from libc.math cimport copysign, fabs

from .lanes cimport LANES


cdef inline void shrink_all(double* w, Py_ssize_t n, double keep, double pull) noexcept nogil:
    """w <- sgn(w) [a |w| - b]+ for every weight."""
    cdef Py_ssize_t j
    cdef double size
    for j in range(n):
        size = fabs(w[j]) * keep
        # A minimum, because a branch would be mispredicted and cost more than the whole rest.
        w[j] = copysign(size - min(pull, size), w[j])


cdef inline double full_dot(const double* w, const double* x, Py_ssize_t n) noexcept nogil:
    """The sum of all w_j x_j, in eight sums: the same bits on every vector unit and on none."""
    cdef double[LANES] sums
    cdef double sum = 0.0
    cdef Py_ssize_t j = 0
    cdef int lane
    for lane in range(LANES):
        sums[lane] = 0.0
    while j + LANES <= n:
        for lane in range(LANES):
            sums[lane] += w[j + lane] * x[j + lane]
        j += LANES
    for lane in range(LANES):
        sum += sums[lane]
    for j in range(j, n):
        sum += w[j] * x[j]
    return sum


cdef inline void full_move(double* w, const double* x, Py_ssize_t n, double step) noexcept nogil:
    """w <- w - step x for every weight, x spread out."""
    cdef Py_ssize_t j
    for j in range(n):
        w[j] -= step * x[j]


cdef inline double absolute_sum(const double* w, Py_ssize_t n) noexcept nogil:
    """The sum of |w|, as ``full_dot`` sums.  A loop that also sums w^2 is not vectorised well."""
    cdef double[LANES] sums
    cdef double sum = 0.0
    cdef Py_ssize_t j = 0
    cdef int lane
    for lane in range(LANES):
        sums[lane] = 0.0
    while j + LANES <= n:
        for lane in range(LANES):
            sums[lane] += fabs(w[j + lane])
        j += LANES
    for lane in range(LANES):
        sum += sums[lane]
    for j in range(j, n):
        sum += fabs(w[j])
    return sum
