"""The step loop of the online rules: one loop, and three short functions per rule (rules/).

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

This module is compiled once per level of vector units (setup.py), with the same bits.  The module
cells.pyx checks the arrays and calls the functions by address.

Property: the weights after every step equal those of the dense references
(tests/exact/test_lazy_equals_dense.py), and any split into chunks gives the same bits.
"""

from libc.math cimport isfinite
from libc.stdint cimport uintptr_t
from libc.string cimport memset

from .any_rule cimport (
    CARPENTER, TABLES, TRUNCATED, Rule, added_by, factor_of, finish, kept_numbers, measure, numbers,
)
from .chunk cimport (
    ADAGRAD, AVERAGED, CLOCK, FREELY_AVERAGED, FTRL, HALF_DONE, NOTHING_DONE, RDA, Loops, StepChunk,
    row_size,
)
from .from_data cimport Proposal
from .lanes cimport LANES, PARTS, WIDTH, Eight, Lanes, eight_zeros, put_lanes, sum_of_eight
from .losses cimport slope_of
from .online_steps cimport (
    add_eight, begin_on_clock, count_on_clock, finish_on_clock, load_part,
    move_part, propose_on_clock, read, renew, start_on_clock,
)
from .rows cimport (
    AHEAD, Csr, FINISHED, NEAR, NEEDS_SWEEP, OUT_OF_RANGE, OVERFLOWED, PATIENCE, PAUSED, OwnRow,
    Status, Walk, begin_walk, copy_next, copy_row, end_walk, fetch_cells, fetch_eight, fetch_row,
    go_on, prefetch, row_at,
)
from .rules cimport clock, tables
from .rules.adagrad cimport AdaGrad
from .rules.carpenter cimport Carpenter
from .rules.clock cimport AveragedRule, ClockRule, FreelyAveragedRule
from .rules.ftrl cimport Ftrl
from .rules.rda cimport Rda
from .rules.saga cimport Saga
from .rules.tables cimport Tables
from .rules.truncated_gradient cimport Truncated

# --- predictions and updates ---------------------------------------------------------------------


cdef double predict(
    const Rule* given, const double* cells, const OwnRow* row, const OwnRow* next
) noexcept nogil:
    """x.w of a row, without the factor that all weights share; fetches the cells of ``next`` or NULL."""
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
        kept += PARTS * kept_numbers(&rule)
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
    cdef clock.Vanished vanished  # weights of an average
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
        kept += PARTS * kept_numbers(&rule)
        k += LANES
    if Rule is AveragedRule:
        if vanished.n > 0:
            clock.bury(&rule.clock_rule.past, &vanished)

# --- steps ----------------------------------------------------------------------------------------


cdef void copy_out_of_line(const Csr* csr, Py_ssize_t number, OwnRow* row) noexcept nogil:
    # A function that is not inlined: else every loop would contain this code three times.
    copy_row(csr, number, row)


cdef inline bint is_far(const Rule* rule, const StepChunk* at) noexcept nogil:
    """Whether the cells are too many for a near cache, and are prefetched."""
    return numbers(rule) * at.csr.n_columns > NEAR


cdef inline void look_ahead(const Rule* rule, const StepChunk* at, Walk* rows) noexcept nogil:
    """Copy the next row unless ``run_rule`` has, go on to it, and prefetch a later row."""
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
    const Rule* rule, const StepChunk* at, const OwnRow* row, Py_ssize_t place,
    const OwnRow* next
) noexcept nogil:
    cdef double prediction = (
        predict(rule, at.cells, row, next) * factor_of(rule) + added_by(rule, at)
    )
    if at.predictions != NULL:
        at.predictions[place] = prediction
    return prediction


cdef Status run_rule(Rule* rule, StepChunk* at) noexcept nogil:
    """Take the steps in order; returns how the call ended."""
    cdef Status status = FINISHED
    cdef Walk rows
    cdef const OwnRow* row
    cdef const OwnRow* next  # where its cells are fetched
    cdef ClockRule* clock_rule = <ClockRule*> rule  # used only where on_clock
    cdef Proposal proposal
    cdef Py_ssize_t n_visited = 0, visited
    cdef double prediction, slope = 0.0
    cdef bint on_clock = Rule is ClockRule or Rule is AveragedRule or Rule is FreelyAveragedRule
    cdef bint scheduled = Rule is Truncated or Rule is Carpenter or Rule is Tables
    memset(&proposal, 0, sizeof(Proposal))
    proposal.keep = 1.0
    begin_walk(&rows, at.csr, copy_out_of_line, at.order, at.n_steps, at.step)
    while at.step < at.n_steps:
        row = &rows.rows[rows.turn]
        if on_clock:
            status = begin_on_clock(clock_rule, at, &proposal)
            if status != FINISHED:
                break
        else:
            proposal.rate = at.rates[at.step] if scheduled else 1.0
            proposal.pull = at.pull[at.step]
        if Rule is Tables:
            if tables.full(rule):
                status = NEEDS_SWEEP
                break
        if row.status != FINISHED:
            status = row.status
            break
        visited = row.length
        n_visited += visited
        next = copy_next(&rows) if is_far(rule, at) else NULL
        if next != NULL and next.status != FINISHED:
            next = NULL
        if on_clock and clock_rule.pending == HALF_DONE:
            # The first half of this step was taken before the sweep, which has changed the cells.
            predict(rule, at.cells, row, next)
            proposal.move = proposal.intercept_move = clock_rule.pending_move
            if at.tuning.in_use:
                proposal.intercept_move = clock_rule.state.intercept_move
            clock_rule.pending = NOTHING_DONE
        elif on_clock:
            if at.tuning.in_use:
                status = count_on_clock(clock_rule, at, row)
                if status != FINISHED:
                    break
            prediction = predict_row(rule, at, row, at.step, next)
            status = propose_on_clock(clock_rule, at, row, prediction, &proposal)
            if status == FINISHED:
                status = start_on_clock(clock_rule, at, &proposal)
            if status != FINISHED:
                break
        else:
            if at.follows_row_sizes and measure(rule, row_size(at, row)):
                status = NEEDS_SWEEP
                break
            prediction = predict_row(rule, at, row, at.step, next)
            slope = slope_of(
                at.loss, at.epsilon, at.targets, at.importances, row.number, prediction
            )
            proposal.move = proposal.rate * slope
            if Rule is Saga:
                proposal.move = slope - rule.slopes[row.number]
            proposal.intercept_move = proposal.move
            if not (isfinite(prediction) and isfinite(proposal.move)):
                status = OVERFLOWED
                break
            if Rule is AdaGrad:
                if at.importances != NULL:
                    rule.first = rule.initial * at.importances[row.number]
            elif Rule is Tables:
                if not tables.advance(
                    rule, at.keep[at.step], at.keep_low[at.step], proposal.pull, visited
                ):
                    status = OUT_OF_RANGE
                    break
        # The processor does this while it computes the slope, for which it would wait.
        look_ahead(rule, at, &rows)
        if Rule is Carpenter or Rule is Tables or proposal.move != 0.0:
            update(
                rule, at.cells, row,
                proposal.move * clock_rule.clock.inverse if on_clock else proposal.move,
            )
        if on_clock:
            if at.fit_intercept:
                clock_rule.intercept -= proposal.intercept_move
            status = finish_on_clock(clock_rule, at, visited, &proposal)
        else:
            if Rule is Saga:
                rule.slopes[row.number] = slope
            at.step += 1
            if finish(rule, at, &proposal):
                status = NEEDS_SWEEP
        if status == FINISHED and n_visited > PATIENCE:
            status = PAUSED
        if status != FINISHED:
            break
    end_walk(&rows)
    return status


# --- the rules by number --------------------------------------------------------------------------


cdef Status run_or_read_rule(
    Rule* rule, StepChunk* at, const double* cells, Py_ssize_t n, double* out
) noexcept nogil:
    """Take the steps or, where there are none, read the weights in n cells."""
    if at != NULL:
        return run_rule(rule, at)
    read(rule, cells, n, out)
    return FINISHED


cdef Status run_or_read(
    int code, void* rule, StepChunk* at, const double* cells, Py_ssize_t n, double* out
) noexcept nogil:
    if code == CLOCK:
        return run_or_read_rule(<ClockRule*> rule, at, cells, n, out)
    elif code == AVERAGED:
        return run_or_read_rule(<AveragedRule*> rule, at, cells, n, out)
    elif code == FREELY_AVERAGED:
        return run_or_read_rule(<FreelyAveragedRule*> rule, at, cells, n, out)
    elif code == RDA:
        return run_or_read_rule(<Rda*> rule, at, cells, n, out)
    elif code == FTRL:
        return run_or_read_rule(<Ftrl*> rule, at, cells, n, out)
    elif code == ADAGRAD:
        return run_or_read_rule(<AdaGrad*> rule, at, cells, n, out)
    elif code == TRUNCATED:
        return run_or_read_rule(<Truncated*> rule, at, cells, n, out)
    elif code == CARPENTER:
        return run_or_read_rule(<Carpenter*> rule, at, cells, n, out)
    elif code == TABLES:
        return run_or_read_rule(<Tables*> rule, at, cells, n, out)
    else:
        return run_or_read_rule(<Saga*> rule, at, cells, n, out)


cdef void renew_cells(void* rule, double* cells, Py_ssize_t n) noexcept nogil:
    renew(<AdaGrad*> rule, cells, n)


cdef Loops LOOPS
LOOPS.run_or_read, LOOPS.renew = run_or_read, renew_cells


def address():
    """Where the functions of this level are, for ``examples``."""
    return <uintptr_t> &LOOPS
