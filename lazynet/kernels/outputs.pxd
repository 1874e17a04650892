# What every run over several outputs is made of; see outputs.pyx.
from libc.stdint cimport int64_t

from .examples cimport Examples, Task, Visit
from .rows cimport prefetch, read_once
from .wide cimport OutputOps, WideOps, WideWeights


cdef enum TargetsForm:
    LABELS   # a number of the output that is positive, for each row
    POSITIVES  # several of them, in CSR form
    NUMBERS  # a target for each row and output
    SHARED   # a target for each row, the same for all outputs


cdef class Targets:
    """The targets of a block of outputs for every row of X."""
    cdef readonly Py_ssize_t n_rows, first, n_outputs
    cdef TargetsForm form
    cdef const int64_t[::1] labels, starts, positives
    cdef const double[:, ::1] numbers
    cdef const double[::1] shared
    cdef object pins  # keeps the arrays in place


cdef class OwnSteps:
    """The rates and shrinks of consecutive steps that differ from output to output."""
    cdef const double[:, ::1] rates, keep, keep_low, pull
    cdef bint shared   # whether all outputs have one rate
    cdef object pins


cdef class Block:
    """The weights of a block of outputs: cells in float32 or float64, and stamps."""
    cdef readonly str kind
    cdef readonly Py_ssize_t width, n_features
    cdef int code, level
    cdef bint wide
    cdef WideWeights weights
    cdef const WideOps* ops              # the loops over the weights of a row ...
    cdef const OutputOps* output_ops     # ... and over what exists once per output
    # Held, because the memory of an array of the standard library moves as it grows.
    cdef double[:, ::1] wide_cells
    cdef float[:, ::1] narrow_cells
    cdef double[::1] stamped
    cdef object pins


# Raises unless the array called ``name`` has this shape and is aligned.
cdef int check_matrix(
    str name, const double[:, ::1] array, Py_ssize_t rows, Py_ssize_t columns) except -1

# Raises unless block, targets, task and losses fit the examples and each other.
cdef int check_run(
    Block block, Examples examples, Targets targets, Task task, double[::1] losses) except -1

# Raises unless the targets are labels.
cdef int check_softmax(Targets targets) except -1


cdef inline Py_ssize_t place_of(Targets targets, int64_t label) noexcept nogil:
    """Where the block has the output with this number; -1 where it has none."""
    if label < targets.first or label - targets.first >= targets.n_outputs:
        return -1
    return <Py_ssize_t> (label - targets.first)


cdef inline Py_ssize_t begin_of(Targets targets, Py_ssize_t row) noexcept nogil:
    """Where the positives of a row begin, and those of the row before end."""
    # Another thread may be writing to the array: each bound is read once and checked.
    return <Py_ssize_t> min(
        max(read_once(&targets.starts[row]), <int64_t> 0), <int64_t> targets.positives.shape[0]
    )


cdef inline void fetch_targets(Targets targets, const Visit* at) noexcept nogil:
    """Fetch the targets of a row that will soon be visited; positives once their start is there."""
    cdef Py_ssize_t row = at.ahead, place
    if 0 <= row < targets.n_rows:
        if targets.form == NUMBERS:
            prefetch(&targets.numbers[row, targets.first])
        elif targets.form == SHARED:
            prefetch(&targets.shared[row])
        elif targets.form == LABELS:
            prefetch(&targets.labels[row])
        else:
            prefetch(&targets.starts[row])
    if targets.form == POSITIVES and at.loaded:
        place = begin_of(targets, at.next_number)
        if place < targets.positives.shape[0]:
            prefetch(&targets.positives[place])


cdef inline Py_ssize_t fill_targets(
    Targets targets, Py_ssize_t row, double* y, double* touched
) noexcept nogil:
    """y <- the targets of the row; returns the place of its label in the block, or -1.

    Adds the entries of ``positives`` that were visited to ``touched``.
    """
    cdef Py_ssize_t k, label, place, start, stop
    cdef double target
    if targets.form == NUMBERS:
        for k in range(targets.n_outputs):
            y[k] = targets.numbers[row, targets.first + k]
        return -1
    if targets.form == SHARED:
        target = targets.shared[row]
        for k in range(targets.n_outputs):
            y[k] = target
        return -1
    for k in range(targets.n_outputs):
        y[k] = -1.0
    if targets.form == LABELS:
        label = place_of(targets, read_once(&targets.labels[row]))
        if label >= 0:
            y[label] = 1.0
        return label
    start, stop = begin_of(targets, row), begin_of(targets, row + 1)
    for place in range(start, stop):
        label = place_of(targets, read_once(&targets.positives[place]))
        if label >= 0:
            y[label] = 1.0
    touched[0] += <double> max(stop - start, <Py_ssize_t> 0)
    return -1
