# The targets of a block of outputs, row by row.
from libc.stdint cimport int64_t

from .rows cimport prefetch, read_once


cdef enum TargetsForm:
    LABELS     # the number of the output that is positive, for each row
    POSITIVES  # any number of them for each row, in CSR form
    NUMBERS    # a target for each row and output
    SHARED     # a target for each row, the same for all outputs


# The targets of a block of outputs; only the arrays of its form are there.
cdef struct TargetRows:
    TargetsForm form
    Py_ssize_t first          # the number of the first output of the block
    const int64_t* labels
    const int64_t* starts     # of the labels of each row, of ``n_labels`` in all
    Py_ssize_t n_labels
    const double* numbers     # of the first output of the block
    Py_ssize_t n_columns      # from row to row


cdef inline Py_ssize_t place_of(
    const TargetRows* targets, Py_ssize_t n, int64_t label
) noexcept nogil:
    """Where a block of n outputs has the output with this number; -1 where it has none."""
    if label < targets.first or label - targets.first >= n:
        return -1
    return <Py_ssize_t> (label - targets.first)


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
    const TargetRows* targets, Py_ssize_t n, Py_ssize_t row, double* y, Py_ssize_t* n_visited
) noexcept nogil:
    """y <- the n targets of the row; returns the place of its label in the block, or -1.

    Adds the labels that were visited, where there are several, to ``n_visited``.
    """
    cdef Py_ssize_t k, label, place, start, stop
    for k in range(n):
        if targets.form == NUMBERS:
            y[k] = targets.numbers[row * targets.n_columns + k]
        else:
            y[k] = targets.numbers[row] if targets.form == SHARED else -1.0
    if targets.form == LABELS:
        label = place_of(targets, n, read_once(&targets.labels[row]))
        if label >= 0:
            y[label] = 1.0
        return label
    if targets.form == POSITIVES:
        start, stop = begin_of(targets, row), begin_of(targets, row + 1)
        for place in range(start, stop):
            label = place_of(targets, n, read_once(&targets.labels[place]))
            if label >= 0:
                y[label] = 1.0
        n_visited[0] += max(stop - start, <Py_ssize_t> 0)
    return -1
