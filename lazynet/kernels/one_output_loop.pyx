"""The step loops of the online rules: of rules on the clock, and of rules with cells of their own.

A step

1. copies its row and checks the columns;
2. computes the prediction from the cells of the row, and keeps the numbers that part 4 needs;
3. computes the slope of the loss;
4. moves the cells of the row along the example;
5. lets the rule move all weights at once.

Eight nonzeros are computed side by side (lanes.h).  The last eight of a row overlap the eight before
and count once, so that no branch depends on how many are left.

The processor would wait for the slope.  Meanwhile the next row is copied and checked, and the row
AHEAD steps later is fetched into the cache.  Where the model has many cells, the next row is copied
before the prediction, which fetches the cells of the next row between its arithmetic.

What a rule computes is in short functions in its file in rules/.  The functions that are chosen by
the type of the rule are in branches/*.pxi.in, which setup.py fills from table.py.  This module is
compiled once per level of vector units (setup.py), with the same bits.  The module one_output.pyx
checks the arrays and calls the functions by address.

Property: the weights after every step equal those of the dense references
(tests/exact/test_lazy_equals_dense.py), and any split into chunks gives the same bits.
"""

from libc.stdint cimport uintptr_t
from libc.string cimport memset

from .chunk cimport HALF_DONE, StepChunk, row_size
from .from_data cimport Proposal
from .lanes cimport LANES, PARTS, WIDTH, Eight, Lanes, eight_zeros, put_lanes, sum_of_eight
from .losses cimport slope_of
from .one_output_steps cimport (
    CellRule, ClockForm, Rule, add_eight, begin_on_clock, count_on_clock, factor_of, finish,
    finish_on_clock, keeps, load_part, measure, move_part, numbers, propose_on_clock,
    read_cells, renew, resume_on_clock, scheduled, start_on_clock, start_with_cells,
)
from .rows cimport (
    AHEAD, Csr, FINISHED, NEAR, NEEDS_SWEEP, PATIENCE, PAUSED, OwnRow, Status, Walk, begin_walk,
    copy_next, copy_row, end_walk, fetch_cells, fetch_eight, fetch_row, go_on, prefetch, row_at,
)
from .rules cimport averaged, tables
from .rules.averaged cimport AveragedRule
from .rules.carpenter cimport Carpenter
from .rules.clock cimport ClockRule
from .rules.tables cimport Tables

# --- predictions and updates ---------------------------------------------------------------------


cdef double predict(
    const Rule* given, const double* cells, const OwnRow* row, const OwnRow* next
) noexcept nogil:
    """x.w of a row, without the common factor of all weights; fetches the cells of ``next``."""
    cdef Rule rule = given[0]  # a copy, which stays in registers
    cdef Eight sums = eight_zeros()
    cdef double[LANES] products
    cdef Lanes* kept = <Lanes*> row.kept
    cdef double sum = 0.0
    cdef Py_ssize_t k = 0, last = row.length - LANES
    cdef int part
    if last < 0:
        if next != NULL:
            fetch_cells(cells, next, 0, numbers(&rule))
        if row.length == 0:
            return 0.0
        for part in range(PARTS):
            put_lanes(products + part * WIDTH, load_part(&rule, cells, row, 0, kept, part))
        for k in range(row.length):
            sum += products[k]
        return sum
    while k < last:
        if next != NULL:
            fetch_eight(cells, next, k, numbers(&rule))
        add_eight(&rule, cells, row, k, kept, 0, &sums)
        kept += PARTS * keeps(&rule)
        k += LANES
    add_eight(&rule, cells, row, last, kept, k - last, &sums)
    if next != NULL:
        fetch_cells(cells, next, k, numbers(&rule))
    return sum_of_eight(&sums)


cdef void update(const Rule* given, double* cells, const OwnRow* row, double move) noexcept nogil:
    """w <- w - move x on the row, from what its prediction has kept.

    Weights that overlap are stored twice, with the same bits.
    """
    cdef Rule rule = given[0]
    cdef averaged.Vanished vanished  # weights of an average
    cdef const Lanes* kept = <const Lanes*> row.kept
    cdef Py_ssize_t k = 0, last = max(row.length - LANES, <Py_ssize_t> 0)
    vanished.n, vanished.apart = 0, 1
    if row.length == 0:
        return
    while True:
        k = min(k, last)
        move_part(&rule, cells, row, k, kept, move, &vanished, 0)
        move_part(&rule, cells, row, k, kept, move, &vanished, 1)
        if PARTS > 2:
            move_part(&rule, cells, row, k, kept, move, &vanished, 2)
            move_part(&rule, cells, row, k, kept, move, &vanished, 3)
        if k == last:
            break
        kept += PARTS * keeps(&rule)
        k += LANES
    if Rule is AveragedRule:
        if vanished.n > 0:
            averaged.bury(&rule.clock_rule.past, &vanished)

# --- steps ----------------------------------------------------------------------------------------


cdef void copy_out_of_line(const Csr* csr, Py_ssize_t number, OwnRow* row) noexcept nogil:
    # Not inlined: inlined, every loop would contain this code three times.
    copy_row(csr, number, row)


cdef inline bint is_far(const Rule* rule, const StepChunk* at) noexcept nogil:
    """Whether the cells are too many for a near cache, and are prefetched."""
    return numbers(rule) * at.csr.n_columns > NEAR


cdef inline const OwnRow* row_to_fetch(
    const Rule* rule, const StepChunk* at, Walk* rows
) noexcept nogil:
    """The next row, whose cells the prediction is to fetch; or NULL."""
    cdef const OwnRow* next = copy_next(rows) if is_far(rule, at) else NULL
    return next if next != NULL and next.status == FINISHED else NULL


cdef inline void look_ahead(const Rule* rule, const StepChunk* at, Walk* rows) noexcept nogil:
    """Copy the next row unless ``row_to_fetch`` has, go on to it, and prefetch a later row.

    The processor does this while it computes the slope, for which it would wait.
    """
    cdef Py_ssize_t ahead = row_at(at.csr, at.order, at.n_steps, rows.place + AHEAD)
    if not is_far(rule, at):
        copy_next(rows)
    go_on(rows)
    if ahead >= 0:
        fetch_row(at.csr, ahead)
        prefetch(at.targets + ahead)
        if at.row_sizes != NULL and at.follows_row_sizes:
            prefetch(at.row_sizes + ahead)


cdef inline double predict_row(
    const Rule* rule, const StepChunk* at, const OwnRow* row, const OwnRow* next, double intercept
) noexcept nogil:
    cdef double prediction = predict(rule, at.cells, row, next) * factor_of(rule) + intercept
    if at.predictions != NULL:
        at.predictions[at.step] = prediction
    return prediction


cdef Status run_on_clock(ClockForm* rule, StepChunk* at) noexcept nogil:
    """Take the steps of a rule on the clock in order; returns how the call ended."""
    cdef ClockRule* clock_rule = <ClockRule*> rule
    cdef Status status = FINISHED
    cdef Walk rows
    cdef const OwnRow* row
    cdef const OwnRow* next
    cdef Proposal step
    cdef Py_ssize_t n_visited = 0
    cdef double prediction
    memset(&step, 0, sizeof(Proposal))
    step.keep = 1.0
    begin_walk(&rows, at.csr, copy_out_of_line, at.order, at.n_steps, at.step)
    while status == FINISHED and at.step < at.n_steps:
        row = &rows.rows[rows.turn]
        status = begin_on_clock(clock_rule, at, &step)
        if status == FINISHED:
            status = row.status
        if status != FINISHED:
            break
        n_visited += row.length
        next = row_to_fetch(rule, at, &rows)
        if clock_rule.pending == HALF_DONE:
            predict(rule, at.cells, row, next)  # the sweep has changed the cells
            resume_on_clock(clock_rule, at, &step)
        else:
            if at.tuning.in_use:
                status = count_on_clock(clock_rule, at, row)
                if status != FINISHED:
                    break
            prediction = predict_row(rule, at, row, next, clock_rule.intercept)
            status = propose_on_clock(clock_rule, at, row, prediction, &step)
            if status == FINISHED:
                status = start_on_clock(clock_rule, at, &step)
            if status != FINISHED:
                break
        look_ahead(rule, at, &rows)
        if step.move != 0.0:
            update(rule, at.cells, row, step.move * clock_rule.clock.inverse)
        status = finish_on_clock(clock_rule, at, row.length, &step)
        if status == FINISHED and n_visited > PATIENCE:
            status = PAUSED
    end_walk(&rows)
    return status


cdef Status run_with_cells(CellRule* rule, StepChunk* at) noexcept nogil:
    """Take the steps of a rule with cells of its own in order; returns how the call ended."""
    cdef Status status = FINISHED
    cdef Walk rows
    cdef const OwnRow* row
    cdef Py_ssize_t n_visited = 0
    cdef double prediction, slope, move = 0.0, rate, pull
    begin_walk(&rows, at.csr, copy_out_of_line, at.order, at.n_steps, at.step)
    while status == FINISHED and at.step < at.n_steps:
        row = &rows.rows[rows.turn]
        if CellRule is Tables:
            if tables.full(rule):
                status = NEEDS_SWEEP
                break
        if row.status != FINISHED:
            status = row.status
            break
        n_visited += row.length
        if at.follows_row_sizes and measure(rule, row_size(at, row)):
            status = NEEDS_SWEEP
            break
        # With given rates, an intercept that was loaded is added also where it is not learned.
        prediction = predict_row(
            rule, at, row, row_to_fetch(rule, at, &rows),
            rule.intercept if scheduled(rule) or at.fit_intercept else 0.0,
        )
        slope = slope_of(at.loss, at.epsilon, at.targets, at.importances, row.number, prediction)
        status = start_with_cells(rule, at, row, prediction, slope, &move)
        if status != FINISHED:
            break
        look_ahead(rule, at, &rows)
        # The cells of two rules also record steps that move nothing.
        if CellRule is Carpenter or CellRule is Tables or move != 0.0:
            update(rule, at.cells, row, move)
        rate, pull = at.rates[at.step], at.pull[at.step]
        at.step += 1
        if finish(rule, move if at.fit_intercept else 0.0, rate, pull, at.limits):
            status = NEEDS_SWEEP
        elif n_visited > PATIENCE:
            status = PAUSED
    end_walk(&rows)
    return status


include "one_output_loop.pxi"  # from branches/one_output_loop.pxi.in


cdef Loops LOOPS
LOOPS.run, LOOPS.read, LOOPS.renew = run, read, renew


def address():
    """Where the functions of this level are, for ``examples``."""
    return <uintptr_t> &LOOPS
