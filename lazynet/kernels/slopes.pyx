"""Losses of all rows with both derivatives, for Newton steps.

``evaluate`` visits the rows once.  A few rows at a time are read for their margins and, while they
are in the cache, for their part of the slopes of the weights.

Property: the derivatives are those of the reference, and one pass returns the numbers of two
(tests/exact/test_compact_rows.py).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from .arrays cimport check_vector
from .compact cimport CompactRows, add_row, dot_of_row
from .conjugates cimport loss_with_derivatives
from .examples cimport Examples, check_runnable, importance_of
from .losses cimport LOG_LOSS
from .rows cimport FINISHED, PATIENCE, PAUSED
from .rules.motion cimport add_to

# About this number of values is read for margins before the slopes need them again.
cdef enum:
    VALUES_AT_ONCE = 8192


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


def evaluate(
    CompactRows rows not None,
    Examples examples not None,         # their targets and importances
    const double[::1] weights not None,
    int loss,
    double epsilon,
    double share,
    double[::1] margins not None,       # OUT: m_i = x_i.w
    double[::1] duals not None,         # OUT: a_i = -l'(m_i)
    double[::1] curvatures not None,    # OUT: share s_i l''(m_i)
    double[::1] sums not None,          # IN/OUT: u = share sum s_i a_i x_i
    double[::1] totals not None,        # IN/OUT: {share sum s_i l(m_i), its low digits, the sum of
                                        # ``curvatures``, share sum s_i l*(-f a_i) at f = 1, minus
                                        # its first derivative in f, and about its second}
    Py_ssize_t start,
):
    """Visit the rows from ``start`` on; returns how the call ended and the next row."""
    cdef Py_ssize_t row = max(start, 0), n, k, n_rows = rows.n_rows
    cdef int64_t first, stop
    cdef double importance, part, conjugate, first_order, second_order, inverse, limit
    cdef double bend = 0.0
    cdef double losses[ROWS_AT_ONCE]
    cdef bint moved = False
    check_runnable(examples, loss)
    rows.check_filled()
    if examples.csr.n_rows != n_rows:
        raise ValueError(f"examples must have {n_rows} rows, got {examples.csr.n_rows}")
    check_vector("weights", weights, rows.n_columns)
    check_vector("margins", margins, n_rows)
    check_vector("duals", duals, n_rows)
    check_vector("curvatures", curvatures, n_rows)
    check_vector("sums", sums, rows.n_columns)
    check_vector("totals", totals, 6)
    cdef const double* w = &weights[0] if rows.n_columns else NULL
    cdef double* u = &sums[0] if rows.n_columns else NULL
    with nogil:
        for k in range(rows.n_columns):
            moved = moved or w[k] != 0.0
        stop = rows.starts[min(row, n_rows)] + PATIENCE
        while row < n_rows and rows.starts[row] <= stop:
            n, first = 0, rows.starts[row]
            while n < ROWS_AT_ONCE and row + n < n_rows and (
                n == 0 or rows.starts[row + n + 1] - first <= VALUES_AT_ONCE
            ):
                margins[row + n] = dot_of_row(rows, row + n, w) if moved else 0.0
                n += 1
            losses_with_derivatives(
                examples, &margins[row], row, n, loss, epsilon, losses, &duals[row], &curvatures[row]
            )
            part = conjugate = first_order = second_order = 0.0
            for k in range(row, row + n):
                importance = share * importance_of(examples, k)
                duals[k] = -duals[k]
                part += importance * losses[k - row]
                # l*(-a) = -a m - l(m) at a = -l'(m), and l*'' is 1 / l'' there.
                first_order += importance * (duals[k] * margins[k])
                conjugate -= importance * (duals[k] * margins[k] + losses[k - row])
                if curvatures[k] > 0.0:
                    # At f = .8 no row then adds more than f l*(-a), where l'' nearly vanishes.
                    inverse = duals[k] * duals[k] / curvatures[k]
                    limit = 10.0 * losses[k - row]
                    second_order += importance * (limit if inverse > limit else inverse)
                curvatures[k] *= importance
                bend += curvatures[k]
                if importance * duals[k] != 0.0:
                    add_row(rows, k, importance * duals[k], u)
            add_to(&totals[0], &totals[1], part)
            totals[3] += conjugate
            totals[4] += first_order
            totals[5] += second_order
            row += n
        totals[2] += bend
    return FINISHED if row >= n_rows else PAUSED, row


def duals_of_model(
    Examples examples,                  # their targets and importances
    const double[::1] margins not None,     # before the step; d_i are their moves
    const double[::1] duals not None,       # a_i
    const double[::1] curvatures not None,  # share s_i l''_i
    const double[::1] next_margins not None,
    const double[::1] next_duals not None,
    const double[::1] next_curvatures not None,
    double shift,                       # of the intercept
    double share,
    bint by_target,
    double most,
    double[::1] out not None,           # OUT
):
    """The duals a_i - l''_i (d_i + shift) of a model, moved into their domain.

    These are at most ``most`` in size; ``by_target``: y_i a_i is from 0 to ``most``.  Returns about
    share sum s_i (l(p_i) + l*(-a_i) + a_i p_i) with the next predictions p_i: the second-order term
    of an expansion around the next duals, where the sum is 0.
    """
    cdef Py_ssize_t row, n_rows = examples.csr.n_rows
    cdef double importance, side, a, away, curvature, lost = 0.0
    if examples.targets == NULL and n_rows:
        raise ValueError("examples must have targets")
    check_vector("duals", duals, n_rows)
    check_vector("curvatures", curvatures, n_rows)
    check_vector("margins", margins, n_rows)
    check_vector("next_margins", next_margins, n_rows)
    check_vector("next_duals", next_duals, n_rows)
    check_vector("next_curvatures", next_curvatures, n_rows)
    check_vector("out", out, n_rows)
    with nogil:
        for row in range(n_rows):
            importance = share * importance_of(examples, row)
            a = duals[row]
            if importance > 0.0:
                a -= curvatures[row] / importance * (next_margins[row] - margins[row] + shift)
            side = examples.targets[row] if by_target else 1.0
            a *= side
            a = most if a > most else a
            if by_target:
                a = 0.0 if a < 0.0 else a
            else:
                a = -most if a < -most else a
            out[row] = side * a
            away = importance * (out[row] - next_duals[row])
            if away != 0.0:
                curvature = next_curvatures[row]
                curvature = curvatures[row] if curvatures[row] > curvature else curvature
                lost += away * away / (2.0 * curvature) if curvature > 0.0 else INFINITY
    return lost
