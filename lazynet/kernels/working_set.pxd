# The weights of a working set, and the loss of all rows there; see working_set.pyx.
from libc.stdint cimport int32_t, int64_t

from .columns cimport Columns


cdef class WorkingSet(Columns):
    cdef double share              # the factor of every importance: 1 / n
    # The place of each column in the working set, or -1; and a number for each place.
    cdef int32_t* places
    cdef int32_t* order            # the places in the order of their columns in memory
    cdef Py_ssize_t size
    cdef int64_t* features         # its column
    cdef int64_t* begins           # of its nonzeros
    cdef int64_t* lengths
    cdef double* norms             # share sum s_i x_ij^2
    cdef int loss
    cdef double epsilon, l1, l2
    cdef double own_curvature      # of the loss at its steepest point
    cdef double curvature          # of the loss that is used, smoothed or not
    cdef bint fit_intercept
    # A number for each row.
    cdef double* margins           # x_i.w
    cdef double* slopes            # g_i
    cdef double* curvatures        # h_i
    cdef double* next_margins
    cdef double* next_slopes
    cdef double* next_curvatures
    cdef double* response          # r_i
    cdef double* scratch
    cdef double* held              # where the smoothing holds the dual variables
    cdef double nu                 # the strength of the smoothing; 0: none
    # A number for each column of W.
    cdef double* weights           # w
    cdef double* trial             # v
    cdef double* gradient
    cdef double* hessian           # the diagonal
    cdef int32_t* active           # places of the columns that a sweep visits
    cdef int32_t* support          # places of the nonzeros
    cdef double* vectors           # five vectors of conjugate gradients
    # The model.
    cdef double intercept, trial_intercept, intercept_gradient, intercept_hessian, total
    cdef double _damping
    cdef int sweeps, wait, next_gradients
    cdef bint everywhere           # whether the next sweep visits all of W
    cdef Py_ssize_t n_active
    cdef int64_t work              # nonzeros visited since the call began
    # What may be called: whether there are weights, and a model at these weights.
    cdef bint started, modelled

    cdef int check_started(self) except -1
    cdef int check_modelled(self) except -1
    cdef double evaluate(
        self, const double* margins, double intercept, double* slopes, double* curvatures
    ) noexcept nogil
    cdef double conjugates(self, double factor) noexcept nogil
    cdef double dual(self, Py_ssize_t row, double importance) noexcept nogil
    cdef double penalty(self, const double* weights) noexcept nogil


# Functions instead of methods, which a compiler cannot inline: many columns are short.
cdef inline double dot_column(
    WorkingSet of, Py_ssize_t place, const double* vector
) noexcept nogil:
    """sum_i x_ij v_i"""
    cdef const double* x = of.values + of.begins[place]
    cdef const int32_t* rows = of.rows + of.begins[place]
    cdef Py_ssize_t k = 0, length = of.lengths[place]
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    if length == of.n_rows:
        return of.compact.row_loops.full_dot(x, vector, length)
    # Four sums side by side: one would wait for the addition before it.
    while k + 4 <= length:
        a += x[k] * vector[rows[k]]
        b += x[k + 1] * vector[rows[k + 1]]
        c += x[k + 2] * vector[rows[k + 2]]
        d += x[k + 3] * vector[rows[k + 3]]
        k += 4
    while k < length:
        a += x[k] * vector[rows[k]]
        k += 1
    return (a + b) + (c + d)


cdef inline void add_column(
    WorkingSet of, Py_ssize_t place, double factor, double* vector
) noexcept nogil:
    """v_i += factor x_ij"""
    cdef const double* x = of.values + of.begins[place]
    cdef const int32_t* rows = of.rows + of.begins[place]
    cdef Py_ssize_t k, length = of.lengths[place]
    if factor == 0.0:
        return
    if length == of.n_rows:
        of.compact.row_loops.full_move(vector, x, length, -factor)
        return
    for k in range(length):
        vector[rows[k]] += factor * x[k]
