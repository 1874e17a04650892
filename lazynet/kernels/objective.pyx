"""The sums of the objective: mean loss + l1 * sum |w| + l2/2 * sum w^2.

No array is copied.  The loss is summed with Kahan's compensation, so that the objective, which
decides when training stops, does not drift with the number of rows.

Property: equal to the objective computed by NumPy (tests/estimators/test_scikit_learn.py).
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free

from .examples cimport (
    AHEAD,
    PATIENCE,
    Examples,
    Visited,
    check_aligned,
    check_runnable,
    check_vector,
    importance_of,
)
from .losses cimport LOG_LOSS, loss_value
from .rows cimport NO_MEMORY, SOUND, Room, Row, fetch_row

cdef extern from "vectors.h" nogil:
    void sums "lazynet_sums"(
        const double* weights, Py_ssize_t n, double* absolute, double* squared)


cdef extern from "log_losses.h" nogil:
    void log_losses "lazynet_log_losses"(
        const double* predictions, const double* targets, double* losses, Py_ssize_t n)

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
    cdef double absolute = 0.0, squared = 0.0
    if weights.shape[0] > 0:
        check_aligned("weights", &weights[0])
        with nogil:
            sums(&weights[0], weights.shape[0], &absolute, &squared)
    return absolute, squared


def total_loss(
    Examples examples,
    const double[::1] weights not None,
    double intercept,
    int loss,
    double epsilon,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    """Sum of s_i l(w x_i + b, y_i) over rows from ``start`` towards ``stop``, s_i the importance.

    Returns the sum, the first row not in it (earlier than ``stop`` after some tens of
    milliseconds), and whether that row could not be read.
    """
    cdef Py_ssize_t row, touched = 0
    cdef double total = 0.0, lost = 0.0, term, prediction
    check_runnable(examples, loss)
    check_vector("weights", weights, examples.csr.n_columns)
    start = max(start, 0)
    stop = min(stop, examples.csr.n_rows)
    if start >= stop:
        return 0.0, stop, False
    cdef const double* first_weight = &weights[0] if weights.shape[0] else NULL
    cdef int defect = SOUND
    cdef Row loaded
    cdef Room room
    room.bytes, room.size = NULL, 0
    with nogil:
        row = start
        while row < stop and touched <= PATIENCE:
            defect = examples.ops.load_row(&examples.csr, row, &loaded, &room)
            if defect != SOUND:
                break
            fetch_row(&examples.csr, row + AHEAD if row + AHEAD < stop else row)
            prediction = intercept + examples.ops.scan(&loaded, first_weight)
            term = loss_value(loss, prediction, examples.targets[row], epsilon)
            add(&total, &lost, term * importance_of(examples, row))
            touched += loaded.length
            row += 1
        free(room.bytes)
    if defect == NO_MEMORY:
        raise MemoryError(f"no memory for the columns of row {row}")
    return total, row, defect != SOUND


def loss_of_predictions(Examples examples, Visited steps, int loss, double epsilon):
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
                log_losses(steps.predictions + step, targets, losses, n)
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
