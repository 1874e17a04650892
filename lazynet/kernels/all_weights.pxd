# Loops over all weights, for the dense engine and the penalty.  A module that is compiled with vector units
# computes several weights at once, and dense.pyx one at a time, with the same bits.
from libc.math cimport copysign, fabs

from .lanes cimport LANES


cdef inline void shrink_all(double* w, Py_ssize_t n, double keep, double pull) noexcept nogil:
    """w <- sgn(w) [a |w| - b]+ for every weight."""
    cdef Py_ssize_t j
    cdef double magnitude
    for j in range(n):
        magnitude = fabs(w[j]) * keep
        # A minimum, because a branch would be mispredicted and cost more than the whole rest.
        w[j] = copysign(magnitude - min(pull, magnitude), w[j])


cdef inline double term_of(
    const double* w, const double* x, Py_ssize_t j, bint absolutes
) noexcept nogil:
    return fabs(w[j]) if absolutes else w[j] * x[j]


cdef inline double sum_in_eight(
    const double* w, const double* x, Py_ssize_t n, bint absolutes
) noexcept nogil:
    """The sum of all w_j x_j or |w_j|: the same bits on every vector unit and on none."""
    cdef double[LANES] sums
    cdef double sum = 0.0
    cdef Py_ssize_t j = 0
    cdef int lane
    for lane in range(LANES):
        sums[lane] = 0.0
    while j + LANES <= n:
        for lane in range(LANES):
            sums[lane] += term_of(w, x, j + lane, absolutes)
        j += LANES
    for lane in range(LANES):
        sum += sums[lane]
    for j in range(j, n):
        sum += term_of(w, x, j, absolutes)
    return sum


cdef inline double full_dot(const double* w, const double* x, Py_ssize_t n) noexcept nogil:
    return sum_in_eight(w, x, n, False)


cdef inline double absolute_sum(const double* w, Py_ssize_t n) noexcept nogil:
    """The sum of |w|; a loop that also sums w^2 is not vectorised well."""
    return sum_in_eight(w, NULL, n, True)


cdef inline void full_move(double* w, const double* x, Py_ssize_t n, double move) noexcept nogil:
    """w <- w - move x for every weight, x a row with all its zeros."""
    cdef Py_ssize_t j
    for j in range(n):
        w[j] -= move * x[j]
