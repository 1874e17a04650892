from libc.stdint cimport int64_t

from .averages cimport Reach
from .clock cimport Wear
from .losses cimport loss_slope
from .rows cimport SOUND, Csr, RowOps

# How a kernel's call ended.
cdef enum Status:
    FINISHED = 0
    WORN_OUT = 1     # all weights must be brought current before the next step
    OVERFLOWED = 2   # this step's prediction or move is not finite; it was not taken
    BAD_ROW = 3      # this step's row cannot be read safely; it was not taken
    PAUSED = 4       # enough for one call: time to look at the signals


cdef class Examples:
    """X (CSR of any supported types), y and what each example counts for; never copied."""
    cdef Csr csr
    cdef const RowOps* ops
    cdef const double* targets
    cdef const double* importances  # NULL: every example counts 1
    cdef bint wide_values
    cdef bint wide_indices
    cdef object owners              # keeps the arrays alive


cdef class Steps:
    """A chunk of steps: which row, the rate, and the shrink |w| <- [a |w| - b]+ of each."""
    cdef const int64_t[::1] order
    cdef const double[::1] rates      # eta
    cdef const double[::1] keep       # a, rounded ...
    cdef const double[::1] keep_low   # ... and what the rounding lost
    cdef const double[::1] pull       # b
    cdef const double[::1] counts     # omega, where iterates are averaged, else None


cdef class Task:
    """What does not change from chunk to chunk: the loss, the step's form, when to sweep."""
    cdef int loss
    cdef double epsilon
    cdef bint shrink_first
    cdef bint fit_intercept
    cdef Wear wear
    cdef Reach reach


# Raises unless the examples have targets and the loss is one of the table.
cdef int check_runnable(Examples examples, int loss) except -1


# The rows after the one at hand, for prefetching.  AHEAD rows later is soon enough for the
# row's values and columns to arrive and not so soon that they are gone again.
cdef enum:
    AHEAD = 3

# Numbers that one call touches at most, a last row excepted: some tens of milliseconds.
cdef enum:
    PATIENCE = 8388608


cdef inline bint in_range(const Csr* csr, int64_t row) noexcept nogil:
    return 0 <= row < csr.n_rows


cdef inline Py_ssize_t upcoming(
    const Csr* csr, const int64_t* order, Py_ssize_t n_steps, Py_ssize_t step, Py_ssize_t otherwise
) noexcept nogil:
    """The row of a later step, or ``otherwise`` where there is none that can be named."""
    if step < n_steps and in_range(csr, order[step]):
        return <Py_ssize_t> order[step]
    return otherwise


# The rows that a step has to do with.
cdef struct Visit:
    Py_ssize_t row        # its own
    Py_ssize_t following  # that of the next step, or its own where that cannot be read
    Py_ssize_t ahead      # that of AHEAD steps later, not looked at yet, or its own
    Py_ssize_t checked    # a row that is known to be readable; -1 before the first


cdef inline bint visit(
    Visit* at, Examples examples, const int64_t* order, Py_ssize_t n_steps, Py_ssize_t step
) noexcept nogil:
    """Find the rows of ``step``; false where its own cannot be read, and must not be.

    Each row is looked at once: as the following one, or when it is the first of a call.
    """
    cdef Csr* csr = &examples.csr
    cdef const RowOps* ops = examples.ops
    at.row = upcoming(csr, order, n_steps, step, -1)
    if at.row < 0 or (at.row != at.checked and ops.row_defect(csr, at.row) != SOUND):
        return False
    at.checked = at.row
    at.following = upcoming(csr, order, n_steps, step + 1, at.row)
    if at.following != at.row:
        if ops.row_defect(csr, at.following) == SOUND:
            at.checked = at.following
        else:
            at.following = at.row
    at.ahead = upcoming(csr, order, n_steps, step + AHEAD, at.row)
    return True


cdef inline double slope_of(
    Examples examples, int loss, double epsilon, Py_ssize_t row, double prediction
) noexcept nogil:
    """s l'(p, y): the slope of the example's loss, as often as the example counts."""
    cdef double slope = loss_slope(loss, prediction, examples.targets[row], epsilon)
    if examples.importances != NULL:
        slope *= examples.importances[row]
    return slope


cdef inline double move_of(
    Examples examples, Task task, Py_ssize_t row, double prediction, double rate
) noexcept nogil:
    """eta s l'(p, y): how far the step goes along the example."""
    return rate * slope_of(examples, task.loss, task.epsilon, row, prediction)
