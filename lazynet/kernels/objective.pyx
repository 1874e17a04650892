"""Sums of the objective, mean loss + l1 * sum |w| + l2/2 * sum w^2, without a copy of an array.

The loss is summed with Kahan's compensation, so that the progressive loss, which decides when
training stops, does not drift with the number of rows.

Property: equal to sums in plain Python (tests/exact/test_predictions_before_updates.py).
"""

from libc.stdint cimport int64_t

from .arrays cimport check_aligned
from .examples cimport Examples, check_runnable, highest_table, importance_of
from .losses cimport LOG_LOSS, loss_value
from .own_rows cimport RowLoops
from .steps cimport Steps

# Rows whose losses are computed together.
cdef enum:
    BLOCK = 256


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
    if weights.shape[0] > 0:
        check_aligned("weights", &weights[0])
        with nogil:
            loops.weight_sums(&weights[0], weights.shape[0], &absolute, &squared)
    return absolute, squared


def loss_of_predictions(Examples examples, Steps steps, int loss, double epsilon):
    """Sum of s_i l(p_i, y_i) over the rows that the steps visit, p_i the prediction before."""
    cdef Py_ssize_t step = 0, n_steps = steps.order.shape[0], n, k
    cdef double total = 0.0, lost = 0.0
    cdef double targets[BLOCK]
    cdef double losses[BLOCK]
    cdef int64_t rows[BLOCK]
    cdef int64_t row = 0
    cdef bint missing = False
    check_runnable(examples, loss)
    if n_steps == 0:
        return 0.0
    if steps.predictions == NULL:
        raise ValueError("steps must keep their predictions")
    with nogil:
        while step < n_steps and not missing:
            n = min(BLOCK, n_steps - step)
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
                    losses[k] = loss_value(
                        loss, steps.predictions[step + k], targets[k], epsilon
                    )
            for k in range(n):
                add(&total, &lost, losses[k] * importance_of(examples, rows[k]))
            step += n
    if missing:
        raise ValueError(f"order must hold row numbers below {examples.csr.n_rows}, got {row}")
    return total
