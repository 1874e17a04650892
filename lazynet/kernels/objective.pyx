"""The sums of the objective: mean loss + l1 * sum |w| + l2/2 * sum w^2.

No array is copied.  The loss is summed with Kahan's compensation, so that the objective, which
decides when training stops, does not drift with the number of rows.

Property: equal to the objective computed by NumPy (tests/estimators/test_scikit_learn.py).
"""

from libc.stdint cimport int64_t

from .examples cimport (
    FINISHED,
    OUT_OF_MEMORY,
    PATIENCE,
    Examples,
    check_aligned,
    check_runnable,
    check_vector,
    importance_of,
    walk_rows,
)
from .levels cimport highest_table
from .losses cimport LOG_LOSS, loss_value
from .own_rows cimport OwnRow, RowLoops, Walk, end_walk, next_row
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
    cdef int status = FINISHED
    cdef double total = 0.0, lost = 0.0, term, prediction
    check_runnable(examples, loss)
    check_vector("weights", weights, examples.csr.n_columns)
    start = max(start, 0)
    stop = min(stop, examples.csr.n_rows)
    if start >= stop:
        return 0.0, stop, False
    cdef const double* first_weight = &weights[0] if weights.shape[0] else NULL
    cdef Walk at
    cdef const OwnRow* here
    with nogil:
        row = start
        walk_rows(&at, examples, NULL, stop, row)
        while row < stop and touched <= PATIENCE:
            here = next_row(&at, first_weight, 1)
            status = here.status
            if status != FINISHED:
                break
            prediction = intercept + examples.row_loops.dot(here, first_weight, 0.0)
            term = loss_value(loss, prediction, examples.targets[row], epsilon)
            add(&total, &lost, term * importance_of(examples, row))
            touched += here.length
            row += 1
        end_walk(&at)
    if status == OUT_OF_MEMORY:
        raise MemoryError(f"no memory for the columns of row {row}")
    return total, row, status != FINISHED


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
