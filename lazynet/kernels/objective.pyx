"""The sums in the objective mean loss + l1 * sum|w| + l2/2 * sum w^2, computed without a copy."""

from libc.stdlib cimport free

from .examples cimport AHEAD, PATIENCE, Examples, check_aligned, check_runnable
from .losses cimport loss_value
from .rows cimport NO_MEMORY, SOUND, Room, Row

cdef extern from "vectors.h" nogil:
    void sums "lazynet_sums"(
        const double* weights, Py_ssize_t n, double* absolute, double* squared)


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
    cdef double total = 0.0, lost = 0.0, term, new_total, prediction
    check_runnable(examples, loss)
    if weights.shape[0] != examples.csr.n_columns:
        raise ValueError(
            f"weights must have {examples.csr.n_columns} entries, got {weights.shape[0]}"
        )
    start = max(start, 0)
    stop = min(stop, examples.csr.n_rows)
    if start >= stop:
        return 0.0, stop, False
    cdef const double* first_weight = &weights[0] if weights.shape[0] else NULL
    cdef int defect = SOUND
    cdef Row loaded
    cdef Room room
    check_aligned("weights", first_weight)
    room.bytes, room.size = NULL, 0
    with nogil:
        row = start
        while row < stop and touched <= PATIENCE:
            defect = examples.ops.load_row(&examples.csr, row, &loaded, &room)
            if defect != SOUND:
                break
            prediction = intercept + examples.ops.scan(
                &examples.csr, &loaded, row + AHEAD if row + AHEAD < stop else row, first_weight
            )
            term = loss_value(loss, prediction, examples.targets[row], epsilon)
            if examples.importances != NULL:
                term *= examples.importances[row]
            # Kahan: the objective decides when to stop, so it should not drift with n.
            term -= lost
            new_total = total + term
            lost = (new_total - total) - term
            total = new_total
            touched += loaded.length
            row += 1
        free(room.bytes)
    if defect == NO_MEMORY:
        raise MemoryError(f"no memory for the columns of row {row}")
    return total, row, defect != SOUND
