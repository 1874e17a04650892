"""The step loop of the online rules: one loop, and three short functions per rule (rules/).

A step copies and checks its row, computes the prediction from the cells of the row, moves along the
example, and lets the rule move all weights at once.  Eight nonzeros are computed side by side (lanes.h);
the last eight of a row overlap the eight before and count once, so that no branch depends on how many
are left.  The prediction keeps the numbers that the step needs: a cell is read once.  While the slope is
computed, for which the processor would wait, the next row is copied and checked, and the row AHEAD
steps later is fetched.  Where the cells are many, the next row is copied before the prediction, which
fetches its cells between the arithmetic: all at once they would wait for each other.

This module is compiled once per level of vector units (setup.py), with the same bits.  The modules
clock.pyx and cells.pyx check the arrays and call its functions by address.

Property: the weights after every step equal those of the dense references
(tests/exact/test_lazy_equals_dense.py, test_rules_with_state.py), and any split into chunks
gives the same bits.
"""

from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint32_t, uintptr_t
from libc.stdlib cimport free
from libc.string cimport memset

from .chunk cimport (
    ADAGRAD,
    AHEAD,
    AVERAGED,
    CARPENTER,
    CLOCK,
    DECAYING_ADAGRAD,
    FINISHED,
    FREELY_AVERAGED,
    FTRL,
    NEAR,
    OUT_OF_RANGE,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    RDA,
    TABLES,
    TRUNCATED,
    WORN_OUT,
    Chunk,
    Loops,
    Status,
)
from .from_data cimport Proposal, begin_proposal
from .lanes cimport (
    LANES,
    PARTS,
    WIDTH,
    Eight,
    Lanes,
    add_to_part,
    eight_zeros,
    lane_of,
    lanes_at,
    put_lanes,
    sum_of_eight,
    without_first,
)
from .own_rows cimport OwnRow, copy_row, fetch_cells, fetch_eight, row_at
from .rows cimport fetch_row, prefetch
from .any_rule cimport (
    MOST_NUMBERS,
    Rule,
    factor_of,
    finish,
    give,
    intercept_of,
    kept_numbers,
    load,
    measure,
    measures,
    move,
    numbers,
    take,
)
from .clock_steps cimport (
    HALF_A_STEP,
    NOTHING,
    begin_on_clock,
    count_on_clock,
    finish_on_clock,
    propose_on_clock,
    size_of,
    slope_of,
    start_on_clock,
)
from .rules cimport adagrad, clock, tables
from .rules.adagrad cimport AdaGrad, DecayingAdaGrad
from .rules.carpenter cimport Carpenter
from .rules.clock cimport Averaged, FreelyAveraged, OnClock
from .rules.ftrl cimport Ftrl
from .rules.rda cimport Rda
from .rules.saga cimport Saga
from .rules.tables cimport OnTables
from .rules.truncated_gradient cimport Truncated

# --- rows -----------------------------------------------------------------------------------------


cdef inline Py_ssize_t upcoming(const Chunk* at, Py_ssize_t place) noexcept nogil:
    """The number of the row at this place in the order, or -1."""
    return row_at(at.csr, at.order, at.n_steps, place)


cdef void copy_upcoming(const Chunk* at, Py_ssize_t place, OwnRow* row) noexcept nogil:
    copy_row(at.csr, upcoming(at, place), row)


cdef inline Lanes load_part(
    const Rule* rule, const double* cells, const OwnRow* row, Py_ssize_t k, Lanes* kept, int part
) noexcept nogil:
    """Some products x_j w_j of eight nonzeros from the k-th on."""
    cdef Lanes[MOST_NUMBERS] cell
    take(rule, cells, row.columns + k + part * WIDTH, cell)
    return (
        load(rule, cell, kept + part * kept_numbers(rule))
        * lanes_at(row.values + k + part * WIDTH)
    )


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


cdef double predict(
    const Rule* given, const double* cells, const OwnRow* row, const OwnRow* next
) noexcept nogil:
    """x.w of a row, less the factor that all weights share; fetches the cells of ``next`` or NULL."""
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


cdef inline void move_part(
    const Rule* rule, double* cells, const OwnRow* row, Py_ssize_t k, const Lanes* kept,
    double step, clock.Vanished* vanished, int part
) noexcept nogil:
    cdef const uint32_t* columns = row.columns + k + part * WIDTH
    cdef Lanes[MOST_NUMBERS] cell
    cdef int lane
    kept += part * kept_numbers(rule)
    move(rule, cell, kept, lanes_at(row.values + k + part * WIDTH), step)
    give(rule, cells, columns, cell)
    if Rule is Averaged:
        if clock.some_vanished(&rule.on, kept):
            for lane in range(WIDTH):
                clock.collect_vanished(
                    rule.on.clock.shift, &rule.on.past, cells + 2 * <Py_ssize_t> columns[lane],
                    lane_of(kept[0], lane), lane_of(kept[1], lane), vanished,
                )


cdef void update(
    const Rule* given, double* cells, const OwnRow* row, double step
) noexcept nogil:
    """w <- w - step x on the row, from what its prediction has kept.

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
        move_part(&rule, cells, row, k, kept, step, &vanished, 0)
        move_part(&rule, cells, row, k, kept, step, &vanished, 1)
        if PARTS > 2:
            move_part(&rule, cells, row, k, kept, step, &vanished, 2)
            move_part(&rule, cells, row, k, kept, step, &vanished, 3)
        if k == last:
            break
        kept += PARTS * kept_numbers(&rule)
        k += LANES
    if Rule is Averaged:
        if vanished.n > 0:
            clock.bury(&rule.on.past, &vanished)

# --- steps ----------------------------------------------------------------------------------------


cdef struct Rows:
    OwnRow here[2]    # the row at hand and the next row, by turns
    int turn          # where the row at hand is


cdef inline bint is_far(const Rule* rule, const Chunk* at) noexcept nogil:
    """Whether the cells are too many for a near cache, and are fetched."""
    return numbers(rule) * at.csr.n_columns > NEAR


cdef inline const OwnRow* far_row(
    const Rule* rule, const Chunk* at, Rows* rows, Py_ssize_t place
) noexcept nogil:
    """The row after the row at ``place``, copied, where its cells are to be fetched; else NULL."""
    cdef OwnRow* next = &rows.here[1 - rows.turn]
    if not is_far(rule, at):
        return NULL
    copy_upcoming(at, place + 1, next)
    return next if next.status == FINISHED else NULL


cdef inline void look_ahead(
    const Rule* rule, const Chunk* at, Rows* rows, Py_ssize_t place
) noexcept nogil:
    """Copy the row after the row at ``place``, unless ``far_row`` has; fetch a later row."""
    cdef Py_ssize_t ahead = upcoming(at, place + AHEAD)
    if not is_far(rule, at):
        copy_upcoming(at, place + 1, &rows.here[1 - rows.turn])
    if ahead >= 0:
        fetch_row(at.csr, ahead)
        prefetch(at.targets + ahead)
        if at.sizes != NULL and (at.tuning.adaptive or measures(rule)):
            prefetch(at.sizes + ahead)


cdef inline double predict_row(
    const Rule* rule, const Chunk* at, const OwnRow* row, Py_ssize_t place,
    const OwnRow* next
) noexcept nogil:
    cdef double prediction = (
        predict(rule, at.cells, row, next) * factor_of(rule) + intercept_of(rule, at)
    )
    if at.predictions != NULL:
        at.predictions[place] = prediction
    return prediction


cdef Status walk(Rule* rule, Chunk* at) noexcept nogil:
    """Take the steps in order; returns how the call ended."""
    cdef Status status = FINISHED
    cdef Rows rows
    cdef OwnRow* row
    cdef const OwnRow* next
    cdef OnClock* on = <OnClock*> rule
    cdef Proposal step
    cdef Py_ssize_t touched = 0, visited
    cdef double prediction, slope = 0.0
    cdef bint on_clock = Rule is OnClock or Rule is Averaged or Rule is FreelyAveraged
    cdef bint scheduled = Rule is Truncated or Rule is Carpenter or Rule is OnTables
    memset(&rows, 0, sizeof(Rows))
    begin_proposal(&step)
    copy_upcoming(at, at.step, &rows.here[0])
    while at.step < at.n_steps:
        row = &rows.here[rows.turn]
        if on_clock:
            status = begin_on_clock(on, at, &step)
            if status != FINISHED:
                break
        else:
            step.rate = at.rates[at.step] if scheduled else 1.0
            step.pull = at.pull[at.step]
        if Rule is OnTables:
            if tables.full(rule):
                status = WORN_OUT
                break
        if row.status != FINISHED:
            status = row.status
            break
        visited = row.length
        touched += visited
        next = far_row(rule, at, &rows, at.step)
        if on_clock and on.pending == HALF_A_STEP:
            # The first half of this step was taken before the sweep, which has changed the cells.
            predict(rule, at.cells, row, next)
            step.move = step.intercept_move = on.pending_move
            if at.tuning.adaptive:
                step.intercept_move = on.state.intercept_move
            on.pending = NOTHING
        elif on_clock:
            if at.tuning.adaptive:
                status = count_on_clock(on, at, row)
                if status != FINISHED:
                    break
            prediction = predict_row(rule, at, row, at.step, next)
            status = propose_on_clock(on, at, row, prediction, &step)
            if status == FINISHED:
                status = start_on_clock(on, at, &step)
            if status != FINISHED:
                break
        else:
            if measures(rule) and measure(rule, size_of(at, row)):
                status = WORN_OUT
                break
            prediction = predict_row(rule, at, row, at.step, next)
            slope = slope_of(at, row.number, prediction)
            step.move = step.rate * slope
            if Rule is Saga:
                step.move = slope - at.slopes[row.number]
            step.intercept_move = step.move
            if not (isfinite(prediction) and isfinite(step.move)):
                status = OVERFLOWED
                break
            if Rule is AdaGrad:
                if at.importances != NULL:
                    rule.first = rule.initial * at.importances[row.number]
            elif Rule is DecayingAdaGrad:
                if at.importances != NULL:
                    rule.rule.first = rule.rule.initial * at.importances[row.number]
            elif Rule is OnTables:
                if not tables.advance(
                    rule, at.keep[at.step], at.keep_low[at.step], step.pull, visited
                ):
                    status = OUT_OF_RANGE
                    break
        # The processor does this while it computes the slope, for which it would wait.
        look_ahead(rule, at, &rows, at.step)
        rows.turn = 1 - rows.turn
        if Rule is Carpenter or Rule is OnTables or step.move != 0.0:
            update(
                rule, at.cells, row, step.move * on.clock.inverse if on_clock else step.move
            )
        if on_clock:
            if at.fit_intercept:
                on.intercept -= step.intercept_move
            status = finish_on_clock(on, at, visited, &step)
        else:
            if Rule is Saga:
                at.slopes[row.number] = slope
            at.step += 1
            if finish(rule, at, &step):
                status = WORN_OUT
        if status == FINISHED and touched > PATIENCE:
            status = PAUSED
        if status != FINISHED:
            break
    free(rows.here[0].room.bytes)
    free(rows.here[1].room.bytes)
    return status


cdef Status walk_kind(int kind, void* rule, Chunk* at) noexcept nogil:
    if kind == CLOCK:
        return walk(<OnClock*> rule, at)
    elif kind == AVERAGED:
        return walk(<Averaged*> rule, at)
    elif kind == FREELY_AVERAGED:
        return walk(<FreelyAveraged*> rule, at)
    elif kind == RDA:
        return walk(<Rda*> rule, at)
    elif kind == FTRL:
        return walk(<Ftrl*> rule, at)
    elif kind == ADAGRAD:
        return walk(<AdaGrad*> rule, at)
    elif kind == DECAYING_ADAGRAD:
        return walk(<DecayingAdaGrad*> rule, at)
    elif kind == TRUNCATED:
        return walk(<Truncated*> rule, at)
    elif kind == CARPENTER:
        return walk(<Carpenter*> rule, at)
    elif kind == TABLES:
        return walk(<OnTables*> rule, at)
    else:
        return walk(<Saga*> rule, at)

# --- all cells ------------------------------------------------------------------------------------


cdef void read(const Rule* rule, const double* cells, Py_ssize_t n, double* out) noexcept nogil:
    """out <- the weights in n cells."""
    cdef uint32_t[WIDTH] columns
    cdef Lanes[MOST_NUMBERS] cell, kept
    cdef double[WIDTH] weights
    cdef Py_ssize_t j = 0
    cdef int lane
    cdef double factor = factor_of(rule)
    while j < n:
        for lane in range(WIDTH):
            columns[lane] = min(<Py_ssize_t> lane, n - 1 - j)
        take(rule, cells + numbers(rule) * j, columns, cell)
        put_lanes(weights, load(rule, cell, kept) * factor)
        for lane in range(min(<Py_ssize_t> WIDTH, n - j)):
            out[j + lane] = weights[lane]
        j += WIDTH


cdef void read_kind(
    int kind, const void* rule, const double* cells, Py_ssize_t n, double* out
) noexcept nogil:
    if kind == RDA:
        read(<const Rda*> rule, cells, n, out)
    elif kind == FTRL:
        read(<const Ftrl*> rule, cells, n, out)
    elif kind == ADAGRAD:
        read(<const AdaGrad*> rule, cells, n, out)
    elif kind == DECAYING_ADAGRAD:
        read(<const DecayingAdaGrad*> rule, cells, n, out)
    elif kind == TRUNCATED:
        read(<const Truncated*> rule, cells, n, out)
    elif kind == CARPENTER:
        read(<const Carpenter*> rule, cells, n, out)
    elif kind == TABLES:
        read(<const OnTables*> rule, cells, n, out)
    else:
        read(<const Saga*> rule, cells, n, out)


cdef void renew(int kind, void* given, double* cells, Py_ssize_t n) noexcept nogil:
    cdef AdaGrad* rule = <AdaGrad*> given
    cdef AdaGrad old = rule[0]
    cdef double factor = adagrad.change_scale(rule)
    cdef uint32_t[WIDTH] columns
    cdef Lanes[MOST_NUMBERS] cell
    cdef Py_ssize_t j = 0
    cdef int lane
    while j < n:
        for lane in range(WIDTH):
            columns[lane] = min(<Py_ssize_t> lane, n - 1 - j)
        take(rule, cells + 4 * j, columns, cell)
        adagrad.renew(&old, rule, cell, factor, kind == DECAYING_ADAGRAD)
        give(rule, cells + 4 * j, columns, cell)
        j += WIDTH


cdef Loops LOOPS
LOOPS.walk, LOOPS.read, LOOPS.renew = walk_kind, read_kind, renew


def address():
    """Where the functions of this level are, for ``examples``."""
    return <uintptr_t> &LOOPS
