# How far a step on the clock moves several outputs, and the motion of their clocks and averages.
from libc.float cimport DBL_MAX, DBL_MIN

from .averages cimport add_to, count_iterate, past_is_worn
from .chunk cimport FINISHED, OUT_OF_RANGE, WORN_OUT, Chunk, Status
from .from_data cimport FromData, Proposal, Tuning, count_row, propose
from .outputs_chunk cimport (
    INTERCEPT_SUM, NOTHING_DONE, N_STRENGTHS, OWN_L1, OWN_L2, OWN_LARGEST_RATE, PENDING,
    ROW_COUNTED, SCALE, SCALE_LOW, SHIFT, SHIFT_LOW, WORK, Outputs,
)
from .outputs_run cimport Run
from .rules.motion cimport Clock, Wear, decay_scale, push_shift


cdef inline Status advance(
    Run* run, const double* keep, const double* keep_low, const double* pull
) noexcept nogil:
    """Every clock takes the shrink |w| <- [a |w| - b]+."""
    cdef Py_ssize_t k, n = run.at.n_clocks, broken = 0, beyond = 0, cushioned = 0
    cdef double* scales = run.at.clocks
    cdef double* scales_low = scales + SCALE_LOW * n
    cdef double* shifts = scales + SHIFT * n
    cdef double* shifts_low = scales + SHIFT_LOW * n
    cdef Wear wear = run.at.chunk.wear[0]
    cdef Clock clock
    for k in range(n):  # without a branch: the compiler advances several clocks at once
        clock.scale, clock.scale_low = scales[k], scales_low[k]
        clock.shift, clock.shift_low = shifts[k], shifts_low[k]
        decay_scale(&clock, keep[k], keep_low[k])
        push_shift(&clock, pull[k])
        scales[k], scales_low[k] = clock.scale, clock.scale_low
        shifts[k], shifts_low[k] = clock.shift, clock.shift_low
    for k in range(n):  # as in_range, beyond_limits and worn_out have it
        broken |= not scales[k] >= DBL_MIN
        broken |= not shifts[k] <= DBL_MAX
        beyond |= scales[k] < wear.smallest_scale
        beyond |= scales[k] * shifts[k] > wear.largest_cushion
        cushioned |= scales[k] * shifts[k] > wear.cushion
    run.beyond, run.cushioned = beyond != 0, cushioned != 0
    return OUT_OF_RANGE if broken else FINISHED


cdef inline void propose_steps(Run* run) noexcept nogil:
    """Moves and shrinks <- the step of every output on a counted row; the states then know it."""
    cdef Outputs* at = run.at
    cdef Tuning tuning = at.chunk.tuning[0]   # of the output at hand
    cdef const double* strengths = at.strengths
    cdef Py_ssize_t k
    cdef FromData* state
    cdef Proposal step
    for k in range(at.n):
        state = &run.states[k]
        if strengths != NULL:
            tuning.l1, tuning.l2 = strengths[OWN_L1], strengths[OWN_L2]
            tuning.largest_rate = strengths[OWN_LARGEST_RATE]
            strengths += N_STRENGTHS
        propose(
            &step, state, &tuning, at.chunk.loss, at.chunk.epsilon, at.chunk.fit_intercept,
            run.size, run.importance, run.targets[k], run.predictions[k],
        )
        run.moves[k], run.intercept_moves[k] = step.move, step.intercept_move
        run.keep[k], run.keep_low[k], run.pull[k] = step.keep, step.keep_low, step.pull
        state.progress, state.rate = step.progress, step.rate
        state.intercept_progress = step.intercept_progress
        state.intercept_move = step.intercept_move
        state.squared_slopes = step.squared_slopes


cdef inline void find_moves(Run* run) noexcept nogil:
    """How far the step moves every output, and its shrinks if these are computed from the rows."""
    cdef Outputs* at = run.at
    cdef const double* rates = at.rates_of_steps + at.chunk.step * at.rate_columns
    cdef Py_ssize_t k
    if run.states != NULL:
        propose_steps(run)
    elif at.rate_columns > 1:
        for k in range(at.n):
            run.moves[k] = rates[k] * run.slopes[k]
    else:
        for k in range(at.n):
            run.moves[k] = rates[0] * run.slopes[k]


cdef inline Status shrink(Run* run) noexcept nogil:
    """The shrink of the step at hand."""
    cdef Outputs* at = run.at
    cdef Chunk* chunk = &at.chunk
    cdef Py_ssize_t k, place = chunk.step * at.rate_columns
    if run.states != NULL:
        return advance(run, run.keep, run.keep_low, run.pull)
    if at.own_pull == NULL:
        return advance(
            run, chunk.keep + chunk.step, chunk.keep_low + chunk.step, chunk.pull + chunk.step
        )
    for k in range(at.width):
        run.keep[k] = at.own_keep[place + (k if at.rate_columns > 1 else 0)]
        run.keep_low[k] = at.own_keep_low[place + (k if at.rate_columns > 1 else 0)]
    return advance(run, run.keep, run.keep_low, at.own_pull + chunk.step * at.width)


cdef inline Status count_row_of_step(Run* run) noexcept nogil:
    """Every output counts the row of the step, where the rates are computed from the rows."""
    cdef Outputs* at = run.at
    cdef Status status = FINISHED
    cdef Py_ssize_t k
    if at.scalars[PENDING] == NOTHING_DONE:
        for k in range(at.width):
            run.keep[k], run.keep_low[k], run.pull[k] = 1.0, 0.0, 0.0
        for k in range(at.n):
            run.keep[k] = count_row(
                &run.states[k], at.chunk.tuning, run.size, run.targets[k]
            )
        if run.keep[0] != 1.0:
            # The mean size of the rows is the same for all outputs.
            status = advance(run, run.keep, run.keep_low, run.pull)
            if status == FINISHED and run.beyond:
                at.scalars[PENDING] = ROW_COUNTED
                return WORN_OUT
    # Where it is ROW_COUNTED, the row was counted before the sweep.
    at.scalars[PENDING] = NOTHING_DONE
    return status


cdef inline void one_clock(const Outputs* at, Clock* clock) noexcept nogil:
    """The one clock of all outputs."""
    clock.scale, clock.scale_low = at.clocks[SCALE], at.clocks[SCALE_LOW]
    clock.inverse = 1.0 / clock.scale
    clock.shift, clock.shift_low = at.clocks[SHIFT], at.clocks[SHIFT_LOW]


cdef inline bint average_is_worn(const Outputs* at) noexcept nogil:
    cdef Py_ssize_t step = at.chunk.step
    cdef Clock clock
    one_clock(at, &clock)
    return past_is_worn(
        at.past, at.totals, &clock, at.chunk.reach, at.scalars[WORK], at.chunk.keep[step],
        at.chunk.pull[step],
    )


cdef inline void count_averages(Outputs* at) noexcept nogil:
    """Count the iterate after the step in every average."""
    cdef double omega = at.chunk.counts[at.chunk.step]
    cdef double* sums = at.own + INTERCEPT_SUM * at.width
    cdef Clock clock
    cdef Py_ssize_t k
    if omega == 0.0:
        return
    one_clock(at, &clock)
    count_iterate(at.past, at.totals, &clock, omega, 0.0)
    for k in range(at.n):
        add_to(&sums[k], &sums[at.width + k], omega * at.own[k])
