# The parts of a step of one_output_loop.pyx: loops over the cells of a row, eight side by side; loops
# over all cells; and the parts of a step on the clock, between which a sweep may interrupt it.
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint32_t

from .chunk cimport HALF_DONE, NOTHING_DONE, ROW_COUNTED, StepChunk, row_size
from .from_data cimport Proposal, accept, count_row, propose
from .lanes cimport (
    PARTS, WIDTH, Eight, Lanes, add_to_part, any_nonzero, broadcast, gather2, gather4, gather_one,
    lane_of, lanes_at, put_lanes, scatter2, scatter4, scatter_one, without_first,
)
from .losses cimport slope_of
from .rows cimport FINISHED, OUT_OF_RANGE, OVERFLOWED, NEEDS_SWEEP, OwnRow, Status
from .rules cimport adagrad, averaged, tables
from .rules.adagrad cimport AdaGrad
from .rules.averaged cimport AveragedRule
from .rules.clock cimport ClockRule
from .rules.motion cimport (
    SweepLimits, advance_clock, beyond_limits, count_iterate, in_range, past_is_due, sweep_is_due,
)
from .rules.saga cimport Saga
from .rules.tables cimport Tables

include "one_output_rules.pxi"  # from branches/one_output_rules.pxi.in

# --- the cells of a row ---------------------------------------------------------------------------


cdef inline void gather(
    const Rule* rule, const double* cells, const uint32_t* columns, Lanes* cell
) noexcept nogil:
    """Read the cells of some columns: cell[i] holds the i-th number of each."""
    cdef int number
    if numbers(rule) == 2:
        gather2(cells, columns, &cell[0], &cell[1])
    elif numbers(rule) == 4:
        gather4(cells, columns, &cell[0], &cell[1], &cell[2], &cell[3])
    else:
        for number in range(numbers(rule)):
            cell[number] = gather_one(cells + number, columns, numbers(rule))


cdef inline void scatter(
    const Rule* rule, double* cells, const uint32_t* columns, const Lanes* cell
) noexcept nogil:
    """Store the numbers in the cells of some columns."""
    cdef int number
    if numbers(rule) == 2:
        scatter2(cells, columns, cell[0], cell[1])
    elif numbers(rule) == 4:
        scatter4(cells, columns, cell[0], cell[1], cell[2], cell[3])
    else:
        for number in range(numbers(rule)):
            scatter_one(cells + number, columns, numbers(rule), cell[number])


cdef inline Lanes load_part(
    const Rule* rule, const double* cells, const OwnRow* row, Py_ssize_t k, Lanes* kept, int part
) noexcept nogil:
    """Some products x_j w_j of eight nonzeros from the k-th on."""
    cdef Lanes[4] cell
    k += part * WIDTH
    gather(rule, cells, row.columns + k, cell)
    return load(rule, cell, kept + part * keeps(rule)) * lanes_at(row.values + k)


cdef inline void add_part(
    const Rule* rule, const double* cells, const OwnRow* row, Py_ssize_t k, Lanes* kept,
    int64_t skipped, Eight* sums, int part
) noexcept nogil:
    cdef Lanes w = load_part(rule, cells, row, k, kept, part)
    add_to_part(sums, part, without_first(w, skipped - part * WIDTH))


cdef inline void add_eight(
    const Rule* rule, const double* cells, const OwnRow* row, Py_ssize_t k, Lanes* kept,
    int64_t skipped, Eight* sums
) noexcept nogil:
    """Eight products x_j w_j, the first ``skipped`` of them 0."""
    add_part(rule, cells, row, k, kept, skipped, sums, 0)
    add_part(rule, cells, row, k, kept, skipped, sums, 1)
    if PARTS > 2:
        add_part(rule, cells, row, k, kept, skipped, sums, 2)
        add_part(rule, cells, row, k, kept, skipped, sums, 3)


cdef inline void move_part(
    const Rule* rule, double* cells, const OwnRow* row, Py_ssize_t k, const Lanes* kept,
    double move, averaged.Vanished* vanished, int part
) noexcept nogil:
    cdef const uint32_t* columns = row.columns + k + part * WIDTH
    cdef Lanes[4] cell
    cdef int lane
    kept += part * keeps(rule)
    move_cells(rule, cell, kept, lanes_at(row.values + k + part * WIDTH), broadcast(move))
    scatter(rule, cells, columns, cell)
    if Rule is AveragedRule:
        if averaged.some_vanished(rule, kept):
            for lane in range(WIDTH):
                averaged.collect_vanished(
                    rule.clock_rule.clock.shift, &rule.clock_rule.past,
                    cells + 2 * <Py_ssize_t> columns[lane],
                    lane_of(kept[0], lane), lane_of(kept[1], lane), vanished,
                )

# --- all cells ------------------------------------------------------------------------------------


cdef inline void read_cells(
    const Rule* rule, const double* cells, Py_ssize_t n, double* out
) noexcept nogil:
    """out <- the weights in n cells."""
    cdef uint32_t[WIDTH] columns
    cdef Lanes[4] cell, kept
    cdef double[WIDTH] weights
    cdef Py_ssize_t j = 0
    cdef int lane
    cdef double factor = factor_of(rule)
    while j < n:
        for lane in range(WIDTH):
            columns[lane] = min(<Py_ssize_t> lane, n - 1 - j)
        gather(rule, cells + numbers(rule) * j, columns, cell)
        put_lanes(weights, load(rule, cell, kept) * factor)
        for lane in range(min(<Py_ssize_t> WIDTH, n - j)):
            out[j + lane] = weights[lane]
        j += WIDTH


cdef inline void renew(void* given, double* cells, Py_ssize_t n) noexcept nogil:
    """Bring the n cells of AdaGrad current; recomputes alpha if this is due."""
    cdef AdaGrad* rule = <AdaGrad*> given
    cdef AdaGrad old = rule[0]
    cdef double factor = adagrad.change_scale(rule)
    cdef uint32_t[WIDTH] columns
    cdef Lanes[4] cell
    cdef Py_ssize_t j = 0
    cdef int lane
    while j < n:
        for lane in range(WIDTH):
            columns[lane] = min(<Py_ssize_t> lane, n - 1 - j)
        gather(rule, cells + 4 * j, columns, cell)
        if any_nonzero(cell[0]):  # early in a fit most weights are zero
            adagrad.renew(&old, rule, cell, factor)
            scatter(rule, cells + 4 * j, columns, cell)
        j += WIDTH

# --- a step on the clock: the shrink of all weights is the motion of two scalars ------------------


cdef inline Status begin_on_clock(
    ClockRule* rule, const StepChunk* at, Proposal* step
) noexcept nogil:
    if at.counts != NULL:
        if rule.past.n >= rule.past.room:
            # Nothing of the step is taken yet, or a sweep has interrupted it.
            return NEEDS_SWEEP
        rule.scale_sum = rule.past.scale_sums[rule.past.n]
        rule.shift_sum = rule.past.shift_sums[rule.past.n]
    if not at.tuning.in_use:
        step.rate, step.keep = at.rates[at.step], at.keep[at.step]
        step.keep_low, step.pull = at.keep_low[at.step], at.pull[at.step]
    return FINISHED


cdef inline Status count_on_clock(
    ClockRule* rule, const StepChunk* at, const OwnRow* row
) noexcept nogil:
    """Count the row of the step, where the rates are computed from the rows."""
    cdef double factor
    rule.state_before, rule.clock_before = rule.state, rule.clock
    if rule.pending != ROW_COUNTED:
        factor = count_row(&rule.state, at.tuning, row_size(at, row), at.targets[row.number])
        if factor != 1.0:
            advance_clock(&rule.clock, factor, 0.0, 0.0)
            if not in_range(&rule.clock):
                rule.state, rule.clock = rule.state_before, rule.clock_before
                return OUT_OF_RANGE
            if beyond_limits(&rule.clock, at.limits):
                rule.pending = ROW_COUNTED
                return NEEDS_SWEEP
    rule.pending = NOTHING_DONE
    return FINISHED


cdef inline Status propose_on_clock(
    ClockRule* rule, const StepChunk* at, const OwnRow* row, double prediction, Proposal* step
) noexcept nogil:
    """Compute the moves of the step; OVERFLOWED if one is not finite."""
    if at.tuning.in_use:
        propose(
            step, &rule.state, at.tuning, at.loss, at.epsilon, at.fit_intercept,
            row_size(at, row), at.importances[row.number] if at.importances != NULL else 1.0,
            at.targets[row.number], prediction,
        )
    else:
        step.move = step.intercept_move = step.rate * slope_of(
            at.loss, at.epsilon, at.targets, at.importances, row.number, prediction
        )
    if isfinite(prediction) and isfinite(step.move) and isfinite(step.intercept_move):
        return FINISHED
    if at.tuning.in_use:
        rule.state, rule.clock = rule.state_before, rule.clock_before
    return OVERFLOWED


cdef inline Status start_on_clock(
    ClockRule* rule, const StepChunk* at, const Proposal* step
) noexcept nogil:
    """What a step does before its row moves; a sweep may interrupt it here."""
    if at.counts != NULL and past_is_due(
        &rule.past, rule.totals, &rule.clock, at.reach, rule.work, step.keep, step.pull
    ):
        # The step begins again after the sweep; a row counts only once.
        if at.tuning.in_use:
            rule.pending = ROW_COUNTED
        return NEEDS_SWEEP
    if at.tuning.in_use:
        accept(&rule.state, step)
    if at.shrink_first:
        advance_clock(&rule.clock, step.keep, step.keep_low, step.pull)
        if not in_range(&rule.clock):
            return OUT_OF_RANGE
        if beyond_limits(&rule.clock, at.limits):
            # A weight stored now would lose its digits beside so large a shift.
            rule.pending, rule.pending_move = HALF_DONE, step.move
            return NEEDS_SWEEP
    return FINISHED


cdef inline void resume_on_clock(
    ClockRule* rule, const StepChunk* at, Proposal* step
) noexcept nogil:
    """The moves of a step that a sweep has interrupted."""
    step.move = step.intercept_move = rule.pending_move
    if at.tuning.in_use:
        step.intercept_move = rule.state.intercept_move
    rule.pending = NOTHING_DONE


cdef inline Status finish_on_clock(
    ClockRule* rule, StepChunk* at, Py_ssize_t visited, const Proposal* step
) noexcept nogil:
    if at.fit_intercept:
        rule.intercept -= step.intercept_move
    if not at.shrink_first:
        advance_clock(&rule.clock, step.keep, step.keep_low, step.pull)
        if not in_range(&rule.clock):
            return OUT_OF_RANGE
    if at.counts != NULL and at.counts[at.step] != 0.0:
        count_iterate(&rule.past, rule.totals, &rule.clock, at.counts[at.step], rule.intercept)
    rule.work += <double> visited
    at.step += 1
    return NEEDS_SWEEP if sweep_is_due(&rule.clock, at.limits, rule.work) else FINISHED

# --- a step of a rule with cells ------------------------------------------------------------------


cdef inline Status start_with_cells(
    CellRule* rule, const StepChunk* at, const OwnRow* row, double prediction, double slope, double* move
) noexcept nogil:
    """Compute the move of the step; store what some rules need; OVERFLOWED if it is not finite."""
    move[0] = at.rates[at.step] * slope if scheduled(rule) else slope
    if CellRule is Saga:
        move[0] = slope - rule.slopes[row.number]
    if not (isfinite(prediction) and isfinite(move[0])):
        return OVERFLOWED
    if CellRule is AdaGrad:
        if at.importances != NULL:
            rule.first = rule.initial * at.importances[row.number]
    elif CellRule is Saga:
        rule.slopes[row.number] = slope
    elif CellRule is Tables:
        if not tables.advance(
            rule, at.keep[at.step], at.keep_low[at.step], at.pull[at.step], row.length
        ):
            return OUT_OF_RANGE
    return FINISHED
