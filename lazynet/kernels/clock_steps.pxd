# A step on the clock, in the parts that the step loop calls: the shrink of all weights is the motion of two
# scalars, and a sweep may interrupt the step between its parts.
from libc.math cimport isfinite

from .averages cimport count_iterate, past_is_worn
from .chunk cimport ABSOLUTE_SUM, FINISHED, OUT_OF_RANGE, OVERFLOWED, WORN_OUT, Chunk, Status
from .from_data cimport Proposal, count_row, propose
from .losses cimport slope_of
from .own_rows cimport OwnRow, size_of_row
from .rules.clock cimport ClockRule
from .rules.motion cimport advance_clock, beyond_limits, in_range, worn_out

# What a sweep has interrupted.
cdef enum:
    NOTHING = 0
    HALF_A_STEP = 1    # the first half of the step is taken
    COUNTED_ROW = 2    # the row is counted


cdef inline double size_of(const Chunk* at, const OwnRow* row) noexcept nogil:
    """What rates that follow the data measure of a row."""
    if at.sizes != NULL:
        return at.sizes[row.number]
    return size_of_row(row, at.measured == ABSOLUTE_SUM)


cdef inline Status begin_on_clock(ClockRule* on, const Chunk* at, Proposal* step) noexcept nogil:
    if at.counts != NULL and on.past.n >= on.past.room:
        # Nothing of the step is taken yet, or a sweep has interrupted it.
        return WORN_OUT
    if at.counts != NULL:
        on.scale_sum, on.pull_sum = on.past.scales[on.past.n], on.past.pulls[on.past.n]
    if not at.tuning.in_use:
        step.rate, step.keep = at.rates[at.step], at.keep[at.step]
        step.keep_low, step.pull = at.keep_low[at.step], at.pull[at.step]
    return FINISHED


cdef inline Status count_on_clock(ClockRule* on, const Chunk* at, const OwnRow* row) noexcept nogil:
    """Count the row of the step, where the rates are computed from the rows."""
    cdef double factor
    on.state_before, on.clock_before = on.state, on.clock
    if on.pending != COUNTED_ROW:
        factor = count_row(&on.state, at.tuning, size_of(at, row), at.targets[row.number])
        if factor != 1.0:
            advance_clock(&on.clock, factor, 0.0, 0.0)
            if not in_range(&on.clock):
                on.state, on.clock = on.state_before, on.clock_before
                return OUT_OF_RANGE
            if beyond_limits(&on.clock, at.wear):
                on.pending = COUNTED_ROW
                return WORN_OUT
    on.pending = NOTHING
    return FINISHED


cdef inline Status propose_on_clock(
    ClockRule* on, const Chunk* at, const OwnRow* row, double prediction, Proposal* step
) noexcept nogil:
    """How far the step goes; refused where that is not finite."""
    if at.tuning.in_use:
        propose(
            step, &on.state, at.tuning, at.loss, at.epsilon, at.fit_intercept, size_of(at, row),
            at.importances[row.number] if at.importances != NULL else 1.0,
            at.targets[row.number], prediction,
        )
    else:
        step.move = step.intercept_move = step.rate * slope_of(
            at.loss, at.epsilon, at.targets, at.importances, row.number, prediction
        )
    if isfinite(prediction) and isfinite(step.move) and isfinite(step.intercept_move):
        return FINISHED
    if at.tuning.in_use:
        on.state, on.clock = on.state_before, on.clock_before
    return OVERFLOWED


cdef inline Status start_on_clock(ClockRule* on, const Chunk* at, const Proposal* step) noexcept nogil:
    """What a step does before its row moves; a sweep may interrupt it here."""
    if at.counts != NULL and past_is_worn(
        &on.past, on.totals, &on.clock, at.reach, on.work, step.keep, step.pull
    ):
        # The step begins again after the sweep; a row counts only once.
        if at.tuning.in_use:
            on.pending = COUNTED_ROW
        return WORN_OUT
    if at.tuning.in_use:
        on.state.progress, on.state.rate = step.progress, step.rate
        on.state.intercept_progress = step.intercept_progress
        on.state.intercept_move = step.intercept_move
        on.state.squared_slopes = step.squared_slopes
    if at.shrink_first:
        advance_clock(&on.clock, step.keep, step.keep_low, step.pull)
        if not in_range(&on.clock):
            return OUT_OF_RANGE
        if beyond_limits(&on.clock, at.wear):
            # A weight stored now would lose its digits beside so large a shift.
            on.pending, on.pending_move = HALF_A_STEP, step.move
            return WORN_OUT
    return FINISHED


cdef inline Status finish_on_clock(
    ClockRule* on, Chunk* at, Py_ssize_t visited, const Proposal* step
) noexcept nogil:
    if not at.shrink_first:
        advance_clock(&on.clock, step.keep, step.keep_low, step.pull)
        if not in_range(&on.clock):
            return OUT_OF_RANGE
    if at.counts != NULL and at.counts[at.step] != 0.0:
        count_iterate(&on.past, on.totals, &on.clock, at.counts[at.step], on.intercept)
    on.work += <double> visited
    at.step += 1
    return WORN_OUT if worn_out(&on.clock, at.wear, on.work) else FINISHED
