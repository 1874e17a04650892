# Targets and slopes of several outputs.
#
# Two functions of predictions and targets give the slopes: a loss of each output by itself, or the
# softmax of all outputs.  Those of the logistic loss and of the softmax have no branch, so that the
# compiler computes several at once.
from libc.math cimport fabs, log
from libc.stdint cimport int64_t

from .chunk cimport LABELS, NUMBERS, POSITIVES, SHARED, TargetRows
from .lanes cimport exp_of_negative, log1p_of
from .losses cimport LOG_LOSS, loss_slope, loss_value
from .outputs_chunk cimport Outputs
from .rows cimport prefetch, read_once


cdef inline Py_ssize_t place_of(const Outputs* at, int64_t label) noexcept nogil:
    """Where the block has the output with this number; -1 where it has none."""
    if label < at.targets.first or label - at.targets.first >= at.n:
        return -1
    return <Py_ssize_t> (label - at.targets.first)


cdef inline Py_ssize_t begin_of(const TargetRows* targets, Py_ssize_t row) noexcept nogil:
    """Where the labels of a row begin, and those of the row before end."""
    # Another thread may be writing to the array: each bound is read once and checked.
    return <Py_ssize_t> min(
        max(read_once(&targets.starts[row]), <int64_t> 0), <int64_t> targets.n_labels
    )


cdef inline void fetch_targets(
    const TargetRows* targets, Py_ssize_t ahead, Py_ssize_t next
) noexcept nogil:
    """Fetch the targets of a row ``ahead``, and of the row ``next`` the labels; -1 is no row."""
    if targets.numbers != NULL and ahead >= 0:
        prefetch(targets.numbers + ahead * targets.n_columns)
    elif targets.form == LABELS and ahead >= 0:
        prefetch(targets.labels + ahead)
    elif targets.form == POSITIVES and ahead >= 0:
        prefetch(targets.starts + ahead)
    if targets.form == POSITIVES and next >= 0:
        prefetch(targets.labels + begin_of(targets, next))


cdef inline Py_ssize_t fill_targets(
    const Outputs* at, Py_ssize_t row, double* y, Py_ssize_t* touched
) noexcept nogil:
    """y <- the targets of the row; returns the place of its label in the block, or -1.

    Adds the labels that were visited, where there are several, to ``touched``.
    """
    cdef const TargetRows* targets = &at.targets
    cdef Py_ssize_t k, label, place, start, stop
    for k in range(at.n):
        if targets.form == NUMBERS:
            y[k] = targets.numbers[row * targets.n_columns + k]
        else:
            y[k] = targets.numbers[row] if targets.form == SHARED else -1.0
    if targets.form == LABELS:
        label = place_of(at, read_once(&targets.labels[row]))
        if label >= 0:
            y[label] = 1.0
        return label
    if targets.form == POSITIVES:
        start, stop = begin_of(targets, row), begin_of(targets, row + 1)
        for place in range(start, stop):
            label = place_of(at, read_once(&targets.labels[place]))
            if label >= 0:
                y[label] = 1.0
        touched[0] += max(stop - start, <Py_ssize_t> 0)
    return -1


cdef inline void log_slopes(
    const double* predictions, const double* y, Py_ssize_t n, double importance, double* slopes,
    double* losses
) noexcept nogil:
    cdef double margin, decayed
    cdef Py_ssize_t k
    for k in range(n):
        margin = predictions[k] * y[k]
        decayed = exp_of_negative(-fabs(margin))
        slopes[k] = -y[k] * (decayed if margin > 0.0 else 1.0) / (1.0 + decayed) * importance
        losses[k] = (log1p_of(decayed) + (-margin if margin < 0.0 else 0.0)) * importance


cdef inline void softmax_slopes(
    const double* predictions, Py_ssize_t label, Py_ssize_t n, double importance, double* slopes,
    double* losses
) noexcept nogil:
    """importance (probability_k - [k = label]); the loss is counted with the label."""
    cdef double highest = predictions[0], sum = 0.0, factor
    cdef Py_ssize_t k
    for k in range(1, n):
        highest = max(highest, predictions[k])
    for k in range(n):
        slopes[k] = exp_of_negative(predictions[k] - highest)
        losses[k] = 0.0
    for k in range(n):
        sum += slopes[k]
    factor = importance / sum
    for k in range(n):
        slopes[k] *= factor
    if label >= 0:
        slopes[label] -= importance
        losses[label] = (log(sum) + (highest - predictions[label])) * importance


cdef inline void find_slopes(
    const Outputs* at, const double* predictions, const double* y, Py_ssize_t label,
    double importance, double* slopes, double* losses
) noexcept nogil:
    """Slopes and losses of a row, both times its importance."""
    cdef int loss = at.chunk.loss
    cdef Py_ssize_t k
    if at.softmax:
        softmax_slopes(predictions, label, at.n, importance, slopes, losses)
    elif loss == LOG_LOSS:
        log_slopes(predictions, y, at.n, importance, slopes, losses)
    else:
        for k in range(at.n):
            slopes[k] = loss_slope(loss, predictions[k], y[k], at.chunk.epsilon) * importance
            losses[k] = loss_value(loss, predictions[k], y[k], at.chunk.epsilon) * importance
