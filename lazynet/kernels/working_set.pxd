# The weights of a working set, and the loss of all rows there; see working_set.pyx.
from libc.stdint cimport int32_t, int64_t

from .columns cimport Columns


cdef class WorkingSet(Columns):
    cdef double share              # the factor of every importance: 1 / n
    # The place of each column in the working set, or -1; and a number for each place.
    cdef int32_t* places
    cdef Py_ssize_t size
    cdef int64_t* features         # its column
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
    cdef int64_t length_of(self, Py_ssize_t place) noexcept nogil
    cdef double dot_column(self, Py_ssize_t place, const double* vector) noexcept nogil
    cdef void add_column(self, Py_ssize_t place, double factor, double* vector) noexcept nogil
    cdef double evaluate(
        self, const double* margins, double intercept, double* slopes, double* curvatures
    ) noexcept nogil
    cdef double conjugates(self, double factor) noexcept nogil
    cdef double dual(self, Py_ssize_t row, double importance) noexcept nogil
    cdef double penalty(self, const double* weights) noexcept nogil
