"""The losses of predictions, and sums of the objective, mean loss + l1 * sum |w| + l2/2 * sum w^2.

The loss is summed with Kahan's compensation, so that the progressive loss, which decides when
training stops, does not drift with the number of rows.

Property: equal to sums in plain Python (tests/exact/test_predictions_before_updates.py).
"""

from libc.stdint cimport int64_t

import numpy as np

from .arrays cimport check_vector
from .chunk cimport RowLoops
from .examples cimport Examples, check_runnable, highest_table, importance_of
from .losses cimport LOG_LOSS, N_LOSSES, loss_value, loss_with_slope
from .steps cimport Steps

LOSS_COUNT = N_LOSSES

# Rows whose losses are computed together.
cdef enum:
    ROWS_AT_ONCE = 256


cdef inline void add(double* total, double* lost, double term) noexcept nogil:
    """total += term, with Kahan's compensation in ``lost``."""
    cdef double new_total
    term -= lost[0]
    new_total = total[0] + term
    lost[0] = (new_total - total[0]) - term
    total[0] = new_total


def weight_sums(const double[::1] weights not None):
    """sum |w| and sum w^2."""
    cdef const RowLoops* loops = <const RowLoops*> highest_table("row_loops")
    cdef double absolute = 0.0, squared = 0.0
    check_vector("weights", weights, weights.shape[0])
    if weights.shape[0] > 0:
        with nogil:
            absolute = loops.absolute_sum(&weights[0], weights.shape[0])
            squared = loops.full_dot(&weights[0], &weights[0], weights.shape[0])
    return absolute, squared


def loss_of_predictions(Examples examples, Steps steps, int loss, double epsilon):
    """Sum of s_i l(p_i, y_i) over the rows that the steps visit, p_i the prediction before."""
    cdef Py_ssize_t step = 0, n_steps = steps.order.shape[0], n, k
    cdef double total = 0.0, lost = 0.0
    cdef double targets[ROWS_AT_ONCE]
    cdef double losses[ROWS_AT_ONCE]
    cdef int64_t rows[ROWS_AT_ONCE]
    cdef int64_t row = 0
    cdef bint missing = False
    check_runnable(examples, loss)
    if n_steps == 0:
        return 0.0
    if steps.predictions == NULL:
        raise ValueError("steps must keep their predictions")
    with nogil:
        while step < n_steps and not missing:
            n = min(ROWS_AT_ONCE, n_steps - step)
            for k in range(n):
                row = rows[k] = steps.order[step + k]
                if not 0 <= row < examples.csr.n_rows:
                    missing = True
                    break
                targets[k] = examples.targets[row]
            if missing:
                break
            if loss == LOG_LOSS:
                examples.row_loops.log_losses(steps.predictions + step, targets, losses, n)
            else:
                for k in range(n):
                    losses[k] = loss_value(loss, steps.predictions[step + k], targets[k], epsilon)
            for k in range(n):
                add(&total, &lost, losses[k] * importance_of(examples, rows[k]))
            step += n
    if missing:
        raise ValueError(f"order must hold row numbers below {examples.csr.n_rows}, got {row}")
    return total


def values_and_slopes(
    int loss,
    const double[::1] predictions not None,
    const double[::1] targets not None,
    double epsilon,
):
    """l(p, y) and dl/dp elementwise."""
    if not 0 <= loss < N_LOSSES:
        raise ValueError(f"loss must be a code from 0 to {N_LOSSES - 1}, got {loss}")
    check_vector("predictions", predictions, predictions.shape[0])
    check_vector("targets", targets, predictions.shape[0])
    cdef Py_ssize_t i
    cdef double[::1] values = np.empty(predictions.shape[0])
    cdef double[::1] slopes = np.empty(predictions.shape[0])
    for i in range(predictions.shape[0]):
        values[i] = loss_with_slope(loss, predictions[i], targets[i], epsilon, &slopes[i])
    return np.asarray(values), np.asarray(slopes)
