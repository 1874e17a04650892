"""The step loop of several outputs: the rules of one_output_loop.pyx, with outputs side by side.

A step computes, for every output, what the step of a single output computes; many_outputs_cells.pxd
has the loops over the weights.  What exists once per output (predictions, slopes, clocks, the numbers
of a rule) is double.

This module is compiled for cells in float64 and for cells in float32, and each once per level of
vector units (setup.py); every level gives the same bits.  many_outputs.pyx checks the arrays and
calls its functions by address.

Property: the weights of an output equal the weights of a model of this output alone after every
step (tests/exact/test_lazy_equals_dense.py), and with the softmax those of
lazynet.reference.outputs.DenseSoftmax; any split into blocks of outputs, and any split into chunks
of steps, gives the same bits.
"""

from libc.stdint cimport uintptr_t

from .chunk cimport HALF_DONE, NOTHING_DONE, StepChunk
from .many_outputs_cells cimport predict_by, read_by, update_by
from .many_outputs_rules cimport RuleLanes, finish_output, measure_outputs
from .many_outputs_steps cimport (
    Run, average_is_due, begin, count_averages, count_row_of_step, end, find_moves, find_slopes,
    see_row, show_clocks, show_rules, shrink,
)
from .rows cimport (
    AHEAD, FINISHED, OUT_OF_MEMORY, OVERFLOWED, PATIENCE, PAUSED, NEEDS_SWEEP, OwnRow, Status,
    all_finite, begin_walk, copy_row, next_row, row_at,
)
from .rule_codes cimport ADAGRAD
from .rules cimport groups
from .rules.adagrad cimport change_scale
from .rules.averaged cimport AveragedLanes
from .rules.freely_averaged cimport FreelyAveragedLanes
from .rules.groups cimport Cell
from .target_rows cimport fetch_targets

# --- the loops over the weights, by the kind of the outputs --------------------------------------

# What is done with the weights of a row of X, or of a feature.
cdef enum Operation:
    PREDICT    # numbers <- the sums x_j w_j of every output
    UPDATE     # output k moves by numbers_k along the row
    READ       # numbers <- the weights of the feature, as of now, of every output


cdef void apply_by(
    const RuleLanes* rules, Run* run, Operation operation, const OwnRow* row, const OwnRow* next,
    Py_ssize_t feature, double* numbers
) noexcept nogil:
    if operation == PREDICT:
        predict_by(rules, run.at, row, next, numbers)
    elif operation == UPDATE:
        update_by(rules, run.at, row, next, numbers)
    elif RuleLanes is not AveragedLanes and RuleLanes is not FreelyAveragedLanes:
        read_by(rules, run.at, feature, run.factors, numbers)


cdef void apply_to_groups(
    Cell* cells, Run* run, Operation operation, const OwnRow* row, const OwnRow* next,
    Py_ssize_t feature, double* numbers
) noexcept nogil:
    if operation == PREDICT:
        groups.predict_rows(run.at, cells, row, numbers)
    elif operation == UPDATE:
        groups.update_rows(run.at, cells, row, next, numbers)
    else:
        groups.read_row(run.at, cells, feature, numbers)


include "many_outputs_loop.pxi"  # from branches/many_outputs_loop.pxi.in


cdef void predict(Run* run, const OwnRow* row, const OwnRow* next) noexcept nogil:
    """The predictions and losses of a row, and the slopes of the losses."""
    cdef double* out = run.predictions
    cdef Py_ssize_t k
    apply(run, PREDICT, row, next, -1, out)
    for k in range(run.at.width):
        out[k] = out[k] * run.factors[k] + run.intercepts[k]
    find_slopes(run.at, out, run.targets, run.label, run.importance, run.slopes, run.losses)


cdef void update(Run* run, const OwnRow* row, const OwnRow* next, double* moves) noexcept nogil:
    """Output k moves by moves_k along the row."""
    if not all_zero(moves, run.at.n):
        apply(run, UPDATE, row, next, -1, moves)


cdef inline bint all_zero(const double* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        if numbers[k] != 0.0:
            return False
    return True


cdef inline void count_losses(Run* run) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(run.at.n):
        run.at.losses[k] += run.losses[k]

# --- a step by rules with cells of their own -----------------------------------------------------


cdef Status step_by_rules(Run* run, const OwnRow* row, const OwnRow* next) noexcept nogil:
    cdef Outputs* at = run.at
    cdef Py_ssize_t k
    if at.chunk.follows_row_sizes and measure_outputs(at.rules, at.code, at.width, run.size):
        return NEEDS_SWEEP
    show_rules(run)
    predict(run, row, next)
    if at.learns:
        if not (all_finite(run.predictions, at.n) and all_finite(run.slopes, at.n)):
            return OVERFLOWED
        update(run, row, next, run.slopes)
        for k in range(at.width):
            finish_output(&at.rules[k], at.code, run.slopes[k] if at.chunk.fit_intercept else 0.0)
    count_losses(run)
    return FINISHED

# --- a step on the clock --------------------------------------------------------------------------


cdef Status start_on_clock(Run* run, const OwnRow* row, const OwnRow* next) noexcept nogil:
    """What a step does before its row moves; a sweep may interrupt it."""
    cdef Outputs* at = run.at
    cdef Status status
    cdef Py_ssize_t k
    if at.learns and run.states != NULL:
        status = count_row_of_step(run)
        if status != FINISHED:
            return status
    show_clocks(run)
    predict(run, row, next)
    if not at.learns:
        count_losses(run)
        return FINISHED
    find_moves(run)
    if not (
        all_finite(run.predictions, at.n)
        and all_finite(run.moves, at.n)
        and all_finite(run.intercept_moves, at.n)
    ):
        return OVERFLOWED
    if at.past != NULL and average_is_due(at):
        return NEEDS_SWEEP  # the step begins again after the sweep
    count_losses(run)
    if at.chunk.shrink_first:
        status = shrink(run)
        if status == FINISHED and run.beyond:
            # A weight stored now would lose its digits beside so large a shift.
            at.scalars[PENDING] = HALF_DONE
            for k in range(at.n):
                at.own[PENDING_MOVE * at.width + k] = run.moves[k]
            status = NEEDS_SWEEP
        show_clocks(run)
        return status
    return FINISHED


cdef Status step_on_clock(Run* run, const OwnRow* row, const OwnRow* next) noexcept nogil:
    cdef Outputs* at = run.at
    cdef Status status = FINISHED
    cdef Py_ssize_t k
    if at.past != NULL and at.past.n >= at.past.room:
        # There is no room for one more iterate, also not for that of a pending step.
        return NEEDS_SWEEP
    if at.learns and at.scalars[PENDING] == HALF_DONE:
        # The first half of this step was taken before the sweep.
        for k in range(at.n):
            run.moves[k] = at.own[PENDING_MOVE * at.width + k]
            if run.states != NULL:
                run.intercept_moves[k] = run.states[k].intercept_move
        at.scalars[PENDING] = NOTHING_DONE
        show_clocks(run)
    else:
        status = start_on_clock(run, row, next)
    if status != FINISHED or not at.learns:
        return status
    if at.chunk.fit_intercept:
        for k in range(at.n):
            at.own[k] -= run.intercept_moves[k]
    for k in range(at.n):
        run.moves[k] /= run.factors[k]
    update(run, row, next, run.moves)
    if not at.chunk.shrink_first:
        status = shrink(run)
    if status == FINISHED and at.past != NULL:
        count_averages(at)
    at.scalars[WORK] += <double> row.length
    return status

# --- steps ----------------------------------------------------------------------------------------


cdef Status take_step(Run* run) noexcept nogil:
    """Take the step at hand; returns FINISHED, or why the call ends."""
    cdef Outputs* at = run.at
    cdef StepChunk* chunk = &at.chunk
    cdef bint on_clock = at.rules == NULL
    cdef Status status
    cdef const OwnRow* row = next_row(&run.rows, NULL, 0)
    cdef const OwnRow* next = &run.rows.rows[run.rows.turn]
    if row.status != FINISHED:
        return row.status
    fetch_targets(
        &at.targets, row_at(chunk.csr, chunk.order, chunk.n_steps, chunk.step + AHEAD), next.number
    )
    if next.status != FINISHED:
        next = row
    see_row(run, row)
    if on_clock:
        status = step_on_clock(run, row, next)
    else:
        status = step_by_rules(run, row, next)
    if status != FINISHED:
        return status
    run.n_visited += (row.length + 1) * at.width
    chunk.step += 1
    if on_clock and at.learns and (
        run.beyond or (run.cushioned and at.scalars[WORK] > chunk.limits.enough_work)
    ):
        return NEEDS_SWEEP
    return PAUSED if run.n_visited > PATIENCE else FINISHED


cdef Status run_outputs(Outputs* at) noexcept nogil:
    """Take the steps in order; returns how the call ended."""
    cdef StepChunk* chunk = &at.chunk
    cdef Status status = FINISHED
    cdef Run run
    if not begin(&run, at):
        return OUT_OF_MEMORY
    begin_walk(&run.rows, chunk.csr, copy_row, chunk.order, chunk.n_steps, chunk.step)
    while status == FINISHED and chunk.step < chunk.n_steps:
        status = take_step(&run)
    end(&run)
    return status

# --- all weights ----------------------------------------------------------------------------------


cdef void put_row(Outputs* at, Py_ssize_t feature, const double* weights) noexcept nogil:
    """Store the weights of a feature, the first number of each."""
    cdef Py_ssize_t k
    for k in range(at.width):
        if at.narrow:
            (<float*> at.cells)[feature * at.stride + k] = <float> weights[k]
        else:
            (<double*> at.cells)[feature * at.stride + k] = weights[k]


cdef bint begin_reading(Run* run, Outputs* at) noexcept nogil:
    """Whether there was memory; shows the rules or clocks."""
    if not begin(run, at):
        return False
    if at.rules != NULL:
        show_rules(run)
    else:
        show_clocks(run)
    return True


cdef bint read(Outputs* at, double* out, Py_ssize_t n) noexcept nogil:
    cdef Run run
    cdef Py_ssize_t feature, k
    if not begin_reading(&run, at):
        return False
    for feature in range(at.n_features):
        apply(&run, READ, NULL, NULL, feature, run.predictions)
        for k in range(n):
            out[feature * n + k] = run.predictions[k]
    end(&run)
    return True


cdef bint sweep(Outputs* at) noexcept nogil:
    cdef Run run
    cdef Py_ssize_t feature, k
    if not begin_reading(&run, at):
        return False
    if at.code == ADAGRAD:
        for k in range(at.width):
            run.factors[k] = change_scale(&at.rules[k].adagrad)
    for feature in range(at.n_features):
        apply(&run, READ, NULL, NULL, feature, run.predictions)
        put_row(at, feature, run.predictions)
        if at.stamps != NULL:
            at.stamps[feature] = at.rules[0].adagrad.steps
    end(&run)
    return True


cdef OutputLoops LOOPS
LOOPS.run, LOOPS.read, LOOPS.sweep = run_outputs, read, sweep


def address():
    """Where the functions of this level and type are, for ``outputs``."""
    return <uintptr_t> &LOOPS
