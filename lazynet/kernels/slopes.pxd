# Losses of many predictions with their derivatives; see slopes.pyx.
from .examples cimport Examples

# Rows whose losses are computed together.
cdef enum:
    ROWS_AT_ONCE = 256

cdef void losses_with_derivatives(
    Examples examples, const double* predictions, Py_ssize_t row, Py_ssize_t n, int loss,
    double epsilon, double* losses, double* slopes, double* curvatures) noexcept nogil
