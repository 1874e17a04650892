"""The step loop of several outputs: the rules of online.pyx, with outputs side by side.

A step computes, for every output, what the step of a single output computes; outputs_loops.pxd has
the loops over the weights.  What exists once per output (predictions, slopes, clocks, the numbers
of a rule) is double.

This module is compiled for cells in float64 and for cells in float32, and each once per level of
vector units (setup.py); every level gives the same bits.  The modules outputs_clock.pyx and
outputs_cells.pyx check the arrays and call its functions by address.

Property: the weights of an output equal the weights of a model of this output alone after every
step (tests/exact/test_outputs.py), and with the softmax those of
lazynet.reference.outputs.DenseSoftmax; any split into blocks of outputs, and any split into chunks
of steps, gives the same bits.
"""

from libc.float cimport DBL_MAX, DBL_MIN
from libc.math cimport fabs
from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from .averages cimport add_to, count_iterate, past_is_worn
from .chunk cimport (
    ABSOLUTE_SUM,
    ADAGRAD,
    AHEAD,
    AVERAGED,
    CLOCK,
    DECAYING_ADAGRAD,
    FINISHED,
    FREELY_AVERAGED,
    FTRL,
    OUT_OF_MEMORY,
    OUT_OF_RANGE,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    RDA,
    WORN_OUT,
    Chunk,
    Status,
)
from .from_data cimport FromData
from .lanes cimport WIDTH, Lanes, lanes_of_doubles, spread
from .outputs_chunk cimport (
    HALF_DONE,
    INTERCEPT_SUM,
    NOTHING_DONE,
    PENDING,
    PENDING_MOVE,
    ROW_COUNTED,
    SCALE,
    SCALE_LOW,
    SHIFT,
    SHIFT_LOW,
    WORK,
    OutputLoops,
    Outputs,
)
from .outputs_groups cimport predict_groups, read_group, update_groups
from .outputs_loops cimport predict_by, read_by, update_by
from .outputs_losses cimport fetch_targets, fill_targets, find_slopes
from .outputs_rates cimport count_rows, load_states, propose_steps, save_states
from .own_rows cimport OwnRow, copy_row, row_at, size_of_row
from .rows cimport fetch_row
from .rules cimport adagrad, ftrl, rda
from .rules.adagrad cimport AdaGradLanes, DecayingLanes
from .rules.clock cimport AveragedLanes, FreelyAveragedLanes, OnClockLanes
from .rules.ftrl cimport FtrlLanes
from .rules.motion cimport Clock, Wear, decay_scale, push_shift
from .rules.rda cimport RdaLanes


# What a call needs beside its chunk.  The arrays have an entry per output.
cdef struct Run:
    Outputs* at
    OwnRow here[2]            # the row at hand and the next row, by turns
    int turn                  # where the row at hand is
    double* memory
    void* lanes               # what a step reads of the rules, some outputs side by side
    double* predictions
    double* targets
    double* slopes
    double* losses
    double* moves
    double* intercept_moves
    double* scales            # the factors of the weights that are loaded
    double* intercepts
    double* keep              # where shrinks differ from output to output
    double* keep_low
    double* pull
    FromData* states          # of rates that are computed from the rows
    double importance         # of the row at hand
    double size               # of the row at hand, for rates that follow the data
    bint beyond               # whether a clock is beyond one of its hard limits ...
    bint cushioned            # ... or of its soft limit
    Py_ssize_t touched

cdef enum:
    MOST_LANES = 7            # numbers that a step reads of a rule
    N_ARRAYS = 11


cdef bint begin(Run* run, Outputs* at) noexcept nogil:
    """Whether there was memory for the run."""
    cdef Py_ssize_t width = at.width, k
    cdef uintptr_t start
    memset(run, 0, sizeof(Run))
    run.at = at
    run.memory = <double*> calloc((N_ARRAYS + MOST_LANES) * width + 8, sizeof(double))
    if at.rates != NULL:
        run.states = load_states(at)
    if run.memory == NULL or (run.states == NULL and at.rates != NULL):
        free(run.memory)
        free(run.states)
        return False
    start = (<uintptr_t> run.memory + 63) & ~<uintptr_t> 63
    run.lanes = <void*> start
    run.predictions = <double*> start + MOST_LANES * width
    run.targets, run.slopes = run.predictions + width, run.predictions + 2 * width
    run.losses, run.moves = run.predictions + 3 * width, run.predictions + 4 * width
    run.scales, run.intercepts = run.predictions + 5 * width, run.predictions + 6 * width
    run.keep, run.keep_low = run.predictions + 7 * width, run.predictions + 8 * width
    run.pull = run.predictions + 9 * width
    run.intercept_moves = run.predictions + 10 * width if run.states != NULL else run.moves
    for k in range(width):
        run.keep[k] = 1.0  # also of what only fills up a line
    return True


cdef void end(Run* run) noexcept nogil:
    if run.states != NULL:
        save_states(run.at, run.states)
    free(run.here[0].room.bytes)
    free(run.here[1].room.bytes)
    free(run.memory)

# --- the numbers of the rules ---------------------------------------------------------------------


cdef void show_rules(Run* run) noexcept nogil:
    """What a step reads of the rules with a state of their own, as of now."""
    cdef Outputs* at = run.at
    cdef bint adds = at.chunk.fit_intercept or not at.learns
    cdef Py_ssize_t k
    for k in range(at.width):
        run.scales[k] = 1.0
        if at.kind == RDA:
            rda.show(&at.rules[k].rda, <RdaLanes*> run.lanes + k // WIDTH, k % WIDTH)
            run.scales[k], run.intercepts[k] = at.rules[k].rda.factor, at.rules[k].rda.intercept
        elif at.kind == FTRL:
            ftrl.show(&at.rules[k].ftrl, <FtrlLanes*> run.lanes + k // WIDTH, k % WIDTH)
            run.intercepts[k] = at.rules[k].ftrl.intercept
        else:
            at.rules[k].adagrad.first = at.rules[k].adagrad.initial * run.importance
            adagrad.show(&at.rules[k].adagrad, <AdaGradLanes*> run.lanes + k // WIDTH, k % WIDTH)
            run.intercepts[k] = at.rules[k].adagrad.intercept
        run.intercepts[k] = run.intercepts[k] if adds else 0.0


cdef void show_clocks(Run* run) noexcept nogil:
    """What a step reads of the clocks, as of now."""
    cdef Outputs* at = run.at
    cdef bint own = at.n_clocks > 1
    cdef const double* shifts = at.clocks + SHIFT * at.n_clocks
    cdef AveragedLanes* averaged
    cdef Lanes shift
    cdef Py_ssize_t k, v
    for v in range(at.width // WIDTH):
        k = v * WIDTH
        shift = lanes_of_doubles(shifts + k) if own else spread(shifts[0])
        if at.past == NULL:
            (<OnClockLanes*> run.lanes)[k // WIDTH].clock.shift = shift
        else:
            averaged = <AveragedLanes*> run.lanes + k // WIDTH
            averaged.clock.shift = shift
            averaged.scale_sum = spread(at.past.scales[at.past.n])
            averaged.pull_sum = spread(at.past.pulls[at.past.n])
    for k in range(at.width):
        run.scales[k] = at.clocks[k if own else 0]
        run.intercepts[k] = at.own[k] if at.own != NULL else 0.0


cdef bint measures(const Outputs* at) noexcept nogil:
    """Whether the rates of the rules follow the sizes of the rows."""
    if at.kind == RDA:
        return at.rules[0].rda.measures != 0.0
    if at.kind == FTRL:
        return at.rules[0].ftrl.measures != 0.0
    return at.rules[0].adagrad.follows != 0.0


cdef bint measure(Outputs* at, double size) noexcept nogil:
    """Count the size of a row; whether all weights must be brought current before its step."""
    cdef bint asks = False
    cdef Py_ssize_t k
    for k in range(at.width):
        if at.kind == RDA:
            asks |= rda.measure(&at.rules[k].rda, size)
        elif at.kind == FTRL:
            asks |= ftrl.measure(&at.rules[k].ftrl, size)
        else:
            asks |= adagrad.measure(&at.rules[k].adagrad, size)
    return asks


cdef void finish(Outputs* at, const double* slopes) noexcept nogil:
    """The motion of all weights at the end of a step."""
    cdef double move
    cdef Py_ssize_t k
    for k in range(at.width):
        move = slopes[k] if at.chunk.fit_intercept else 0.0
        if at.kind == RDA:
            rda.finish(&at.rules[k].rda, move)
        elif at.kind == FTRL:
            ftrl.finish(&at.rules[k].ftrl, move)
        else:
            adagrad.finish(&at.rules[k].adagrad, move)

# --- predictions and updates ----------------------------------------------------------------------


cdef void see_row(Run* run, const OwnRow* row) noexcept nogil:
    """The importance of a row, and its size where rates follow the data."""
    cdef Chunk* chunk = &run.at.chunk
    cdef bint follows = run.states != NULL or (run.at.rules != NULL and measures(run.at))
    run.importance = chunk.importances[row.number] if chunk.importances != NULL else 1.0
    if follows and chunk.sizes != NULL:
        run.size = chunk.sizes[row.number]
    elif follows:
        run.size = size_of_row(row, chunk.measured == ABSOLUTE_SUM)


cdef void predict(Run* run, OwnRow* row, const OwnRow* next) noexcept nogil:
    """The predictions and losses of a row, and the slopes of the losses."""
    cdef Outputs* at = run.at
    cdef double* out = run.predictions
    cdef Py_ssize_t k, label
    if at.kind == CLOCK:
        predict_by(<const OnClockLanes*> run.lanes, at, row, next, out)
    elif at.kind == AVERAGED:
        predict_by(<const AveragedLanes*> run.lanes, at, row, next, out)
    elif at.kind == FREELY_AVERAGED:
        predict_by(<const FreelyAveragedLanes*> run.lanes, at, row, next, out)
    elif at.kind == RDA:
        predict_by(<const RdaLanes*> run.lanes, at, row, next, out)
    elif at.kind == FTRL:
        predict_by(<const FtrlLanes*> run.lanes, at, row, next, out)
    elif at.kind == ADAGRAD:
        predict_by(<const AdaGradLanes*> run.lanes, at, row, next, out)
    elif at.kind == DECAYING_ADAGRAD:
        predict_by(<const DecayingLanes*> run.lanes, at, row, next, out)
    else:
        predict_groups(at, row, out)
    for k in range(at.width):
        out[k] = out[k] * run.scales[k] + run.intercepts[k]
    label = fill_targets(at, row.number, run.targets, &run.touched)
    find_slopes(at, out, run.targets, label, run.importance, run.slopes, run.losses)


cdef void update(
    Run* run, const OwnRow* row, const OwnRow* next, const double* moves
) noexcept nogil:
    """Output k moves by moves_k along the row."""
    cdef Outputs* at = run.at
    if all_zero(moves, at.n):
        return
    if at.kind == CLOCK:
        update_by(<const OnClockLanes*> run.lanes, at, row, next, moves)
    elif at.kind == AVERAGED:
        update_by(<const AveragedLanes*> run.lanes, at, row, next, moves)
    elif at.kind == FREELY_AVERAGED:
        update_by(<const FreelyAveragedLanes*> run.lanes, at, row, next, moves)
    elif at.kind == RDA:
        update_by(<const RdaLanes*> run.lanes, at, row, next, moves)
    elif at.kind == FTRL:
        update_by(<const FtrlLanes*> run.lanes, at, row, next, moves)
    elif at.kind == ADAGRAD:
        update_by(<const AdaGradLanes*> run.lanes, at, row, next, moves)
    elif at.kind == DECAYING_ADAGRAD:
        update_by(<const DecayingLanes*> run.lanes, at, row, next, moves)
    else:
        update_groups(at, row, next, moves)


cdef inline bint all_zero(const double* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        if numbers[k] != 0.0:
            return False
    return True


cdef inline bint all_finite(const double* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k, beyond = 0
    for k in range(n):
        beyond |= not fabs(numbers[k]) <= DBL_MAX
    return beyond == 0


cdef inline void count_losses(Run* run) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(run.at.n):
        run.at.losses[k] += run.losses[k]

# --- a step by rules with a state of their own ----------------------------------------------------


cdef Status step_by_rules(Run* run, OwnRow* row, const OwnRow* next) noexcept nogil:
    cdef Outputs* at = run.at
    if at.learns and measures(at) and measure(at, run.size):
        return WORN_OUT
    show_rules(run)
    predict(run, row, next)
    if at.learns:
        if not (all_finite(run.predictions, at.n) and all_finite(run.slopes, at.n)):
            return OVERFLOWED
        update(run, row, next, run.slopes)
        finish(at, run.slopes)
    count_losses(run)
    return FINISHED

# --- a step on the clock --------------------------------------------------------------------------


cdef Status advance(
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


cdef Status count_row(Run* run, const OwnRow* row) noexcept nogil:
    """Every output counts the row of the step, where the rates are computed from the rows."""
    cdef Outputs* at = run.at
    cdef Status status
    if at.scalars[PENDING] == NOTHING_DONE:
        fill_targets(at, row.number, run.targets, &run.touched)
        count_rows(at, run.states, run.size, run.targets, run.keep, run.keep_low, run.pull)
        if run.keep[0] != 1.0:
            # The mean size of the rows is the same for all outputs.
            status = advance(run, run.keep, run.keep_low, run.pull)
            if status != FINISHED:
                return status
            if run.beyond:
                at.scalars[PENDING] = ROW_COUNTED
                return WORN_OUT
    # Where it is ROW_COUNTED, the row was counted before the sweep.
    at.scalars[PENDING] = NOTHING_DONE
    return FINISHED


cdef void find_moves(Run* run) noexcept nogil:
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


cdef Status shrink(Run* run) noexcept nogil:
    """The shrink of the step at hand."""
    cdef Outputs* at = run.at
    cdef Py_ssize_t k, step = at.chunk.step
    if run.states != NULL:
        return advance(run, run.keep, run.keep_low, run.pull)
    if at.own_rates == NULL:
        return advance(
            run, at.chunk.keep + step, at.chunk.keep_low + step, at.chunk.pull + step
        )
    if at.shared_keep:
        for k in range(at.width):
            run.keep[k], run.keep_low[k] = at.own_keep[step], at.own_keep_low[step]
        return advance(run, run.keep, run.keep_low, at.own_pull + step * at.width)
    step *= at.width
    return advance(run, at.own_keep + step, at.own_keep_low + step, at.own_pull + step)


cdef void one_clock(const Outputs* at, Clock* clock) noexcept nogil:
    """The one clock of all outputs."""
    clock.scale, clock.scale_low = at.clocks[SCALE], at.clocks[SCALE_LOW]
    clock.inverse = 1.0 / clock.scale
    clock.shift, clock.shift_low = at.clocks[SHIFT], at.clocks[SHIFT_LOW]


cdef bint average_is_worn(const Outputs* at) noexcept nogil:
    cdef Py_ssize_t step = at.chunk.step
    cdef Clock clock
    one_clock(at, &clock)
    return past_is_worn(
        at.past, at.totals, &clock, at.chunk.reach, at.scalars[WORK], at.chunk.keep[step],
        at.chunk.pull[step],
    )


cdef void count_averages(Outputs* at) noexcept nogil:
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


cdef Status start_on_clock(Run* run, OwnRow* row, const OwnRow* next) noexcept nogil:
    """What a step does before its row moves; a sweep may interrupt it."""
    cdef Outputs* at = run.at
    cdef Status status
    cdef Py_ssize_t k
    if at.learns and run.states != NULL:
        status = count_row(run, row)
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
    if at.past != NULL and average_is_worn(at):
        return WORN_OUT  # the step begins again after the sweep
    count_losses(run)
    if at.chunk.shrink_first:
        status = shrink(run)
        if status == FINISHED and run.beyond:
            # A weight stored now would lose its digits beside so large a shift.
            at.scalars[PENDING] = HALF_DONE
            for k in range(at.n):
                at.own[PENDING_MOVE * at.width + k] = run.moves[k]
            status = WORN_OUT
        show_clocks(run)
        return status
    return FINISHED


cdef Status step_on_clock(Run* run, OwnRow* row, const OwnRow* next) noexcept nogil:
    cdef Outputs* at = run.at
    cdef Status status = FINISHED
    cdef Py_ssize_t k
    if at.past != NULL and at.past.n >= at.past.room:
        # There is no room for one more iterate, also not for that of a pending step.
        return WORN_OUT
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
        run.moves[k] /= run.scales[k]
    update(run, row, next, run.moves)
    if not at.chunk.shrink_first:
        status = shrink(run)
    if status == FINISHED and at.past != NULL:
        count_averages(at)
    at.scalars[WORK] += <double> row.length
    return status

# --- steps ----------------------------------------------------------------------------------------


cdef void look_ahead(Run* run) noexcept nogil:
    """Copy the row after the row at hand, and fetch a later row."""
    cdef Chunk* chunk = &run.at.chunk
    cdef OwnRow* next = &run.here[1 - run.turn]
    cdef Py_ssize_t ahead = row_at(chunk.csr, chunk.order, chunk.n_rows, chunk.step + AHEAD)
    copy_row(chunk.csr, row_at(chunk.csr, chunk.order, chunk.n_rows, chunk.step + 1), next)
    if ahead >= 0:
        fetch_row(chunk.csr, ahead)
    fetch_targets(&run.at.targets, ahead, next.number)


cdef Status take_step(Run* run) noexcept nogil:
    """Take the step at hand; returns FINISHED, or why the call ends."""
    cdef Outputs* at = run.at
    cdef OwnRow* row = &run.here[run.turn]
    cdef OwnRow* next = &run.here[1 - run.turn]
    cdef bint on_clock = at.rules == NULL
    cdef Status status
    if row.status != FINISHED:
        return row.status
    look_ahead(run)
    if next.status != FINISHED:
        next = row
    see_row(run, row)
    if on_clock:
        status = step_on_clock(run, row, next)
    else:
        status = step_by_rules(run, row, next)
    if status != FINISHED:
        return status
    run.turn = 1 - run.turn
    run.touched += (row.length + 1) * at.width
    at.chunk.step += 1
    if on_clock and at.learns and (
        run.beyond or (run.cushioned and at.scalars[WORK] > at.chunk.wear.enough_work)
    ):
        return WORN_OUT
    return PAUSED if run.touched > PATIENCE else FINISHED


cdef Status walk(Outputs* at) noexcept nogil:
    """Take the steps in order; returns how the call ended."""
    cdef Chunk* chunk = &at.chunk
    cdef Status status = FINISHED
    cdef Run run
    if not begin(&run, at):
        return OUT_OF_MEMORY
    copy_row(chunk.csr, row_at(chunk.csr, chunk.order, chunk.n_rows, chunk.step), &run.here[0])
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


cdef void read_feature(Run* run, Py_ssize_t feature) noexcept nogil:
    """predictions <- the weights of a feature as of now, of every output."""
    cdef Outputs* at = run.at
    if at.kind == CLOCK:
        read_by(<const OnClockLanes*> run.lanes, at, feature, run.scales, run.predictions)
    elif at.kind == RDA:
        read_by(<const RdaLanes*> run.lanes, at, feature, run.scales, run.predictions)
    elif at.kind == FTRL:
        read_by(<const FtrlLanes*> run.lanes, at, feature, run.scales, run.predictions)
    elif at.kind == ADAGRAD:
        read_by(<const AdaGradLanes*> run.lanes, at, feature, run.scales, run.predictions)
    elif at.kind == DECAYING_ADAGRAD:
        read_by(<const DecayingLanes*> run.lanes, at, feature, run.scales, run.predictions)
    else:
        read_group(at, feature, run.predictions)


cdef bint read(Outputs* at, double* out, Py_ssize_t n) noexcept nogil:
    cdef Run run
    cdef Py_ssize_t feature, k
    if not begin_reading(&run, at):
        return False
    for feature in range(at.n_features):
        read_feature(&run, feature)
        for k in range(n):
            out[feature * n + k] = run.predictions[k]
    end(&run)
    return True


cdef bint sweep(Outputs* at) noexcept nogil:
    cdef Run run
    cdef Py_ssize_t feature, k
    if not begin_reading(&run, at):
        return False
    if at.rules != NULL:
        for k in range(at.width):
            run.scales[k] = adagrad.change_scale(&at.rules[k].adagrad)
    for feature in range(at.n_features):
        read_feature(&run, feature)
        put_row(at, feature, run.predictions)
        if at.stamps != NULL:
            at.stamps[feature] = at.rules[0].adagrad.steps if at.rules != NULL else 0.0
    end(&run)
    return True


cdef OutputLoops LOOPS
LOOPS.walk, LOOPS.read, LOOPS.sweep = walk, read, sweep


def address():
    """Where the functions of this level and type are, for ``outputs``."""
    return <uintptr_t> &LOOPS
