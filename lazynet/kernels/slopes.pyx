"""Losses of all rows with both derivatives, for Newton steps.

Property: the derivatives are those of the reference (tests/exact/test_compact_rows.py).
"""

from .arrays cimport check_vector
from .conjugates cimport loss_with_derivatives
from .examples cimport Examples, check_runnable, importance_of
from .losses cimport LOG_LOSS
from .rules.motion cimport add_to


cdef void losses_with_derivatives(
    Examples examples, const double* predictions, Py_ssize_t row, Py_ssize_t n, int loss,
    double epsilon, double* losses, double* slopes, double* curvatures
) noexcept nogil:
    """l, l' and l'' of n predictions, of the rows from ``row`` on."""
    cdef Py_ssize_t k
    if loss == LOG_LOSS:
        examples.row_loops.log_derivatives(
            predictions, examples.targets + row, losses, slopes, curvatures, n
        )
        return
    for k in range(n):
        losses[k] = loss_with_derivatives(
            loss, predictions[k], examples.targets[row + k], epsilon, &slopes[k], &curvatures[k]
        )


def derivatives(
    Examples examples,
    const double[::1] margins not None,
    double intercept,
    int loss,
    double epsilon,
    double share,
    double[::1] duals not None,         # OUT: a_i = -l'(m_i + b)
    double[::1] slopes not None,        # OUT: share s_i a_i
    double[::1] curvatures not None,    # OUT: share s_i l''(m_i + b)
):
    """share sum s_i l(m_i + b), and the sums of ``slopes``, of their magnitudes, of ``curvatures``."""
    cdef Py_ssize_t first = 0, n, k, n_rows = examples.csr.n_rows
    cdef double total = 0.0, low = 0.0, rise = 0.0, size = 0.0, bend = 0.0, importance, part
    cdef double predictions[ROWS_AT_ONCE]
    cdef double losses[ROWS_AT_ONCE]
    check_runnable(examples, loss)
    check_vector("margins", margins, n_rows)
    check_vector("duals", duals, n_rows)
    check_vector("slopes", slopes, n_rows)
    check_vector("curvatures", curvatures, n_rows)
    with nogil:
        while first < n_rows:
            n = min(ROWS_AT_ONCE, n_rows - first)
            for k in range(n):
                predictions[k] = margins[first + k] + intercept
            losses_with_derivatives(
                examples, predictions, first, n, loss, epsilon, losses, &duals[first],
                &curvatures[first],
            )
            part = 0.0
            for k in range(n):
                importance = share * importance_of(examples, first + k)
                part += importance * losses[k]
                duals[first + k] = -duals[first + k]
                slopes[first + k] = importance * duals[first + k]
                curvatures[first + k] *= importance
                rise += slopes[first + k]
                size += slopes[first + k] if slopes[first + k] > 0.0 else -slopes[first + k]
                bend += curvatures[first + k]
            add_to(&total, &low, part)
            first += n
    return total + low, rise, size, bend
