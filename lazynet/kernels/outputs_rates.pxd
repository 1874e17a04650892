# Rates and shrinks of several outputs that are computed from the rows (from_data.pxd).
from libc.stdlib cimport free, malloc

from .from_data cimport (
    N_FROM_DATA_FIELDS,
    FromData,
    Proposal,
    Tuning,
    count_row,
    find_factors,
    load_from_data,
    propose,
    save_from_data,
)
from .outputs_chunk cimport N_STRENGTHS, OWN_L1, OWN_L2, OWN_LARGEST_RATE, Outputs


cdef inline FromData* load_states(const Outputs* at) noexcept nogil:
    """The state of every output, from its row of fields; NULL without memory."""
    cdef FromData* states = <FromData*> malloc(at.n * sizeof(FromData))
    cdef Py_ssize_t k
    if states != NULL:
        for k in range(at.n):
            load_from_data(&states[k], at.rates + k * N_FROM_DATA_FIELDS)
            find_factors(&states[k], at.chunk.tuning)
    return states


cdef inline void save_states(Outputs* at, FromData* states) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(at.n):
        save_from_data(&states[k], at.rates + k * N_FROM_DATA_FIELDS)
    free(states)


cdef inline void count_rows(
    const Outputs* at, FromData* states, double size, const double* targets, double* keep,
    double* keep_low, double* pull
) noexcept nogil:
    """Every output counts the row of the step; its shrink <- the factor that rescales weights."""
    cdef Py_ssize_t k
    for k in range(at.width):
        keep[k], keep_low[k], pull[k] = 1.0, 0.0, 0.0
    for k in range(at.n):
        keep[k] = count_row(&states[k], at.chunk.tuning, size, targets[k])


cdef inline void propose_steps(
    const Outputs* at, FromData* states, double size, double importance, const double* targets,
    const double* predictions, double* moves, double* intercept_moves, double* keep,
    double* keep_low, double* pull
) noexcept nogil:
    """Shrinks and moves <- the step of every output on a counted row; the states then know it."""
    cdef Tuning tuning = at.chunk.tuning[0]   # of the output at hand
    cdef const double* strengths = at.strengths
    cdef Py_ssize_t k
    cdef FromData* state
    cdef Proposal step
    for k in range(at.n):
        state = &states[k]
        if strengths != NULL:
            tuning.l1, tuning.l2 = strengths[OWN_L1], strengths[OWN_L2]
            tuning.largest_rate = strengths[OWN_LARGEST_RATE]
            strengths += N_STRENGTHS
        propose(
            &step, state, &tuning, at.chunk.loss, at.chunk.epsilon, at.chunk.fit_intercept, size,
            importance, targets[k], predictions[k],
        )
        moves[k], intercept_moves[k] = step.move, step.intercept_move
        keep[k], keep_low[k], pull[k] = step.keep, step.keep_low, step.pull
        state.progress, state.rate = step.progress, step.rate
        state.intercept_progress = step.intercept_progress
        state.intercept_move = step.intercept_move
        state.squared_slopes = step.squared_slopes
