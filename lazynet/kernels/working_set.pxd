# The weights of a working set, and the loss of all rows there; see working_set.pyx.
from libc.stdint cimport int32_t, int64_t, uint8_t

from .columns cimport Columns
from .compact cimport add_nonzeros, dot_of_nonzeros


cdef class WorkingSet(Columns):
    cdef double share              # the factor of every importance: 1 / n
    # The columns of the working set in the order of memory, and whether a column is one of them.
    cdef Py_ssize_t size
    cdef int32_t* members
    cdef uint8_t* is_member
    cdef double* norms             # share sum s_i x_ij^2 of each column
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
    # A number for each column.
    cdef double* weights           # w
    cdef double* trial             # v
    cdef double* gradient
    cdef double* hessian           # the diagonal
    cdef int32_t* active           # the columns that a sweep visits
    cdef int32_t* support          # the columns of nonzero weights
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
    WorkingSet of, Py_ssize_t column, const double* vector
) noexcept nogil:
    """sum_i x_ij v_i"""
    cdef const double* x = of.values + of.first[column]
    cdef const int32_t* rows = of.rows + of.first[column]
    cdef Py_ssize_t length = of.first[column + 1] - of.first[column]
    if length == of.n_rows:
        return of.compact.row_loops.full_dot(x, vector, length)
    return dot_of_nonzeros(x, rows, length, vector)


cdef inline void add_column(
    WorkingSet of, Py_ssize_t column, double factor, double* vector
) noexcept nogil:
    """v_i += factor x_ij"""
    cdef const double* x = of.values + of.first[column]
    cdef const int32_t* rows = of.rows + of.first[column]
    cdef Py_ssize_t length = of.first[column + 1] - of.first[column]
    if factor == 0.0:
        return
    if length == of.n_rows:
        of.compact.row_loops.full_move(vector, x, length, -factor)
    else:
        add_nonzeros(x, rows, length, factor, vector)
