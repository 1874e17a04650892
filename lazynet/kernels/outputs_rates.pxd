# Rates and shrinks of several outputs that are computed from the rows (from_data.pxd).
from libc.stdlib cimport calloc, free, malloc

from .examples cimport Task, Tuning
from .from_data cimport (
    N_FROM_DATA_FIELDS,
    FromData,
    Proposal,
    count_row,
    find_factors,
    load_from_data,
    propose,
    save_from_data,
)
from .outputs_steps cimport Scratch

# The columns of the strengths that differ from output to output.
cdef enum:
    OWN_L1 = 0
    OWN_L2 = 1
    OWN_LARGEST_RATE = 2
    N_STRENGTHS = 3


cdef struct RatesFromRows:
    FromData* states           # of each output
    const double* strengths    # a row for each output; NULL: those of the task
    Py_ssize_t n               # the number of outputs ...
    Py_ssize_t width           # ... filled up to whole cache lines
    # An entry for each output: the shrink of the step, and how far the step moves the intercept.
    double* keep
    double* keep_low
    double* pull
    double* intercept_moves


cdef inline bint begin_rates(
    RatesFromRows* own, const double* fields, const double* strengths, const Tuning* tuning,
    Py_ssize_t n, Py_ssize_t width
) noexcept nogil:
    """Whether there was memory for the rates of ``n`` outputs, which have a row of fields each."""
    cdef Py_ssize_t k
    own.states = <FromData*> malloc(n * sizeof(FromData))
    own.keep = <double*> calloc(4 * width, sizeof(double))
    if own.states == NULL or own.keep == NULL:
        free(own.states)
        free(own.keep)
        return False
    own.keep_low, own.pull = own.keep + width, own.keep + 2 * width
    own.intercept_moves = own.keep + 3 * width
    own.strengths, own.n, own.width = strengths, n, width
    for k in range(n):
        load_from_data(&own.states[k], fields + k * N_FROM_DATA_FIELDS)
        find_factors(&own.states[k], tuning)
    for k in range(width):
        own.keep[k] = 1.0
    return True


cdef inline void end_rates(RatesFromRows* own, double* fields) noexcept nogil:
    """fields <- the states."""
    cdef Py_ssize_t k
    for k in range(own.n):
        save_from_data(&own.states[k], fields + k * N_FROM_DATA_FIELDS)
    free(own.states)
    free(own.keep)


cdef inline void count_rows(
    RatesFromRows* own, const Tuning* tuning, double size, const double* targets
) noexcept nogil:
    """Every output counts the row of the step; its shrink <- the factor that rescales weights."""
    cdef Py_ssize_t k
    for k in range(own.width):
        own.keep[k], own.keep_low[k], own.pull[k] = 1.0, 0.0, 0.0
    for k in range(own.n):
        own.keep[k] = count_row(&own.states[k], tuning, size, targets[k])


cdef inline void propose_steps(
    RatesFromRows* own, Task task, double size, double importance, Scratch* scratch
) noexcept nogil:
    """Shrinks and moves <- the step of every output on a counted row, which the states then know."""
    cdef Py_ssize_t k
    cdef FromData* state
    cdef Proposal step
    cdef Tuning tuning = task.tuning   # of the output at hand
    cdef double* keep = own.keep
    cdef double* keep_low = own.keep_low
    cdef double* pull = own.pull
    cdef double* intercept_moves = own.intercept_moves
    cdef const double* strengths = own.strengths
    for k in range(own.n):
        state = &own.states[k]
        if strengths != NULL:
            tuning.l1, tuning.l2 = strengths[OWN_L1], strengths[OWN_L2]
            tuning.largest_rate = strengths[OWN_LARGEST_RATE]
            strengths += N_STRENGTHS
        propose(
            &step, state, &tuning, task.loss, task.epsilon, task.fit_intercept, size, importance,
            scratch.targets[k], scratch.predictions[k],
        )
        scratch.moves[k], intercept_moves[k] = step.move, step.intercept_move
        keep[k], keep_low[k], pull[k] = step.keep, step.keep_low, step.pull
        state.progress, state.rate = step.progress, step.rate
        state.intercept_progress = step.intercept_progress
        state.intercept_move = step.intercept_move
        state.squared_slopes = step.squared_slopes
