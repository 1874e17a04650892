# How far a step on the clock moves several outputs, and the motion of their clocks and averages.
from libc.float cimport DBL_MAX, DBL_MIN

from .averages cimport add_to, count_iterate, past_is_worn
from .chunk cimport FINISHED, OUT_OF_RANGE, Status
from .outputs_chunk cimport INTERCEPT_SUM, SCALE, SCALE_LOW, SHIFT, SHIFT_LOW, WORK, Outputs
from .outputs_rates cimport propose_steps
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


cdef inline void find_moves(Run* run) noexcept nogil:
    """How far the step moves every output, and its shrinks if these are computed from the rows."""
    cdef Outputs* at = run.at
    cdef Py_ssize_t k, step = at.chunk.step
    if run.states != NULL:
        propose_steps(
            at, run.states, run.size, run.importance, run.targets, run.predictions, run.moves,
            run.intercept_moves, run.keep, run.keep_low, run.pull,
        )
    elif at.own_rates != NULL and not at.shared_keep:
        for k in range(at.n):
            run.moves[k] = at.own_rates[step * at.width + k] * run.slopes[k]
    else:
        for k in range(at.n):
            run.moves[k] = (
                at.own_rates[step] if at.own_rates != NULL else at.chunk.rates[step]
            ) * run.slopes[k]


cdef inline Status shrink(Run* run) noexcept nogil:
    """The shrink of the step at hand."""
    cdef Outputs* at = run.at
    cdef Py_ssize_t k, step = at.chunk.step, place = step * at.width
    cdef const double* keep = run.keep
    cdef const double* keep_low = run.keep_low
    cdef const double* pull = run.pull
    if run.states == NULL and at.own_rates == NULL:
        keep, keep_low = at.chunk.keep + step, at.chunk.keep_low + step
        pull = at.chunk.pull + step
    elif run.states == NULL:
        pull = at.own_pull + place
        if at.shared_keep:
            for k in range(at.width):
                run.keep[k], run.keep_low[k] = at.own_keep[step], at.own_keep_low[step]
        else:
            keep, keep_low = at.own_keep + place, at.own_keep_low + place
    return advance(run, keep, keep_low, pull)


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
