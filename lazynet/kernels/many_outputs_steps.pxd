# The parts of a step of several outputs: what a call needs beside its chunk, what a step reads of the rules
# and clocks, how far it moves every output, and the motion of clocks and averages.
from libc.float cimport DBL_MAX, DBL_MIN
from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from .chunk cimport NOTHING_DONE, ROW_COUNTED, StepChunk, row_size
from .from_data cimport (
    N_RATE_FIELDS, RateState, Proposal, Tuning, accept, count_row, load_rates,
    propose, save_rates,
)
from .lanes cimport WIDTH, broadcast, lanes_of_doubles
from .losses cimport LOG_LOSS, log_slopes, loss_with_slope, softmax_slopes
from .many_outputs_loop cimport (
    N_STRENGTHS, OWN_INTERCEPT_SUM, OWN_L1, OWN_L2, OWN_LARGEST_RATE, PENDING, SCALE, SCALE_LOW,
    SHIFT, SHIFT_LOW, WORK, Outputs,
)
from .many_outputs_rules cimport show_outputs
from .rows cimport FINISHED, OUT_OF_RANGE, NEEDS_SWEEP, OwnRow, Status, Walk, end_walk
from .rule_codes cimport ADAGRAD
from .rules.clock cimport ClockRuleLanes
from .rules.motion cimport (
    Clock, SweepLimits, add_to, count_iterate, decay_scale, past_is_due, push_shift,
)
from .target_rows cimport fill_targets


# What a call needs beside its chunk.  The arrays have an entry per output.
cdef struct Run:
    Outputs* at
    Walk rows
    double* memory
    void* lanes               # what a step reads of the rules, some outputs side by side
    double* predictions
    double* targets
    double* slopes
    double* losses
    double* moves
    double* intercept_moves
    double* factors           # the factors of the weights that are loaded
    double* intercepts
    double* keep              # where shrinks differ from output to output
    double* keep_low
    double* pull
    RateState* states         # of rates that are computed from the rows
    Py_ssize_t label          # of the row at hand: the place of the positive output, or -1
    double importance         # of the row at hand
    double size               # of the row at hand, for rates that follow the data
    bint beyond               # whether a clock is beyond one of its hard limits ...
    bint cushioned            # ... or of its soft limit
    Py_ssize_t n_visited

cdef enum:
    MOST_LANES = 8            # numbers that a step reads of a rule
    N_ARRAYS = 11


cdef inline RateState* load_states(const Outputs* at) noexcept nogil:
    """The state of every output, from its row of fields; NULL without memory."""
    cdef RateState* states = <RateState*> malloc(at.n * sizeof(RateState))
    cdef Py_ssize_t k
    if states != NULL:
        for k in range(at.n):
            load_rates(&states[k], at.rates + k * N_RATE_FIELDS, at.chunk.tuning)
    return states


cdef inline bint begin(Run* run, Outputs* at) noexcept nogil:
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
    run.factors, run.intercepts = run.predictions + 5 * width, run.predictions + 6 * width
    run.keep, run.keep_low = run.predictions + 7 * width, run.predictions + 8 * width
    run.pull = run.predictions + 9 * width
    run.intercept_moves = run.predictions + 10 * width if run.states != NULL else run.moves
    for k in range(width):
        run.keep[k] = 1.0  # also of what only fills up a line
    return True


cdef inline void end(Run* run) noexcept nogil:
    cdef Py_ssize_t k
    if run.states != NULL:
        for k in range(run.at.n):
            save_rates(&run.states[k], run.at.rates + k * N_RATE_FIELDS)
    free(run.states)
    end_walk(&run.rows)
    free(run.memory)

# --- the numbers of the rules ---------------------------------------------------------------------


cdef inline void show_rules(Run* run) noexcept nogil:
    """What a step reads of the rules with cells of their own, as of now."""
    cdef Outputs* at = run.at
    cdef Py_ssize_t k
    if at.code == ADAGRAD:
        for k in range(at.width):
            at.rules[k].adagrad.first = at.rules[k].adagrad.initial * run.importance
    show_outputs(at.rules, at.code, at.width, run.lanes, run.factors, run.intercepts)
    if at.learns and not at.chunk.fit_intercept:
        for k in range(at.width):
            run.intercepts[k] = 0.0


cdef inline void show_clocks(Run* run) noexcept nogil:
    """What a step reads of the clocks, as of now."""
    cdef Outputs* at = run.at
    cdef bint own = at.n_clocks > 1
    cdef const double* shifts = at.clocks + SHIFT * at.n_clocks
    cdef ClockRuleLanes* lanes = <ClockRuleLanes*> run.lanes
    cdef Py_ssize_t k, v
    for v in range(at.width // WIDTH):
        lanes[v].clock.shift = (
            lanes_of_doubles(shifts + v * WIDTH) if own else broadcast(shifts[0])
        )
        if at.past != NULL:
            lanes[v].scale_sum = broadcast(at.past.scale_sums[at.past.n])
            lanes[v].shift_sum = broadcast(at.past.shift_sums[at.past.n])
    for k in range(at.width):
        run.factors[k] = at.clocks[k if own else 0]
        run.intercepts[k] = at.own[k]


cdef inline void see_row(Run* run, const OwnRow* row) noexcept nogil:
    """The importance and the targets of a row, and its size where rates follow the data."""
    cdef StepChunk* chunk = &run.at.chunk
    run.label = fill_targets(
        &run.at.targets, run.at.n, row.number, run.targets, &run.n_visited
    )
    run.importance = chunk.importances[row.number] if chunk.importances != NULL else 1.0
    if chunk.follows_row_sizes:
        run.size = row_size(chunk, row)


cdef inline void find_slopes(
    const Outputs* at, const double* predictions, const double* y, Py_ssize_t label,
    double importance, double* slopes, double* losses
) noexcept nogil:
    """Slopes and losses of a row, both times its importance."""
    cdef int loss = at.chunk.loss
    cdef Py_ssize_t k
    if at.softmax:
        softmax_slopes(predictions, label, at.n, importance, slopes, losses)
    elif loss == LOG_LOSS:
        log_slopes(predictions, y, at.n, importance, slopes, losses)
    else:
        for k in range(at.n):
            losses[k] = importance * loss_with_slope(
                loss, predictions[k], y[k], at.chunk.epsilon, &slopes[k]
            )
            slopes[k] *= importance

# --- the clocks -----------------------------------------------------------------------------------


cdef inline Status advance(
    Run* run, const double* keep, const double* keep_low, const double* pull
) noexcept nogil:
    """Every clock takes the shrink |w| <- [a |w| - b]+."""
    cdef Py_ssize_t k, n = run.at.n_clocks, broken = 0, beyond = 0, cushioned = 0
    cdef double* scales = run.at.clocks
    cdef double* scales_low = scales + SCALE_LOW * n
    cdef double* shifts = scales + SHIFT * n
    cdef double* shifts_low = scales + SHIFT_LOW * n
    cdef SweepLimits limits = run.at.chunk.limits[0]
    cdef Clock clock
    for k in range(n):  # without a branch: the compiler advances several clocks at once
        clock.scale, clock.scale_low = scales[k], scales_low[k]
        clock.shift, clock.shift_low = shifts[k], shifts_low[k]
        decay_scale(&clock, keep[k], keep_low[k])
        push_shift(&clock, pull[k])
        scales[k], scales_low[k] = clock.scale, clock.scale_low
        shifts[k], shifts_low[k] = clock.shift, clock.shift_low
    for k in range(n):  # as in_range, beyond_limits and sweep_is_due have it
        broken |= not scales[k] >= DBL_MIN
        broken |= not shifts[k] <= DBL_MAX
        beyond |= scales[k] < limits.smallest_scale
        beyond |= scales[k] * shifts[k] > limits.largest_cushion
        cushioned |= scales[k] * shifts[k] > limits.cushion
    run.beyond, run.cushioned = beyond != 0, cushioned != 0
    return OUT_OF_RANGE if broken else FINISHED


cdef inline void propose_steps(Run* run) noexcept nogil:
    """Moves and shrinks <- the step of every output on a counted row; the states then know it."""
    cdef Outputs* at = run.at
    cdef Tuning tuning = at.chunk.tuning[0]   # of the output at hand
    cdef const double* strengths = at.strengths
    cdef Py_ssize_t k
    cdef RateState* state
    cdef Proposal proposal
    for k in range(at.n):
        state = &run.states[k]
        if strengths != NULL:
            tuning.l1, tuning.l2 = strengths[OWN_L1], strengths[OWN_L2]
            tuning.largest_rate = strengths[OWN_LARGEST_RATE]
            strengths += N_STRENGTHS
        propose(
            &proposal, state, &tuning, at.chunk.loss, at.chunk.epsilon, at.chunk.fit_intercept,
            run.size, run.importance, run.targets[k], run.predictions[k],
        )
        run.moves[k], run.intercept_moves[k] = proposal.move, proposal.intercept_move
        run.keep[k], run.keep_low[k], run.pull[k] = proposal.keep, proposal.keep_low, proposal.pull
        accept(state, &proposal)


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
    cdef StepChunk* chunk = &at.chunk
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
            run.keep[k] = count_row(&run.states[k], at.chunk.tuning, run.size, run.targets[k])
        if run.keep[0] != 1.0:
            # The mean size of the rows is the same for all outputs.
            status = advance(run, run.keep, run.keep_low, run.pull)
            if status == FINISHED and run.beyond:
                at.scalars[PENDING] = ROW_COUNTED
                return NEEDS_SWEEP
    # Where it is ROW_COUNTED, the row was counted before the sweep.
    at.scalars[PENDING] = NOTHING_DONE
    return status


cdef inline void one_clock(const Outputs* at, Clock* clock) noexcept nogil:
    """The one clock of all outputs."""
    clock.scale, clock.scale_low = at.clocks[SCALE], at.clocks[SCALE_LOW]
    clock.inverse = 1.0 / clock.scale
    clock.shift, clock.shift_low = at.clocks[SHIFT], at.clocks[SHIFT_LOW]


cdef inline bint average_is_due(const Outputs* at) noexcept nogil:
    """Whether to fold the past of the averages before the step."""
    cdef Py_ssize_t step = at.chunk.step
    cdef Clock clock
    one_clock(at, &clock)
    return past_is_due(
        at.past, at.totals, &clock, at.chunk.reach, at.scalars[WORK], at.chunk.keep[step],
        at.chunk.pull[step],
    )


cdef inline void count_averages(Outputs* at) noexcept nogil:
    """Count the iterate after the step in every average."""
    cdef double omega = at.chunk.counts[at.chunk.step]
    cdef double* sums = at.own + OWN_INTERCEPT_SUM * at.width
    cdef Clock clock
    cdef Py_ssize_t k
    if omega == 0.0:
        return
    one_clock(at, &clock)
    count_iterate(at.past, at.totals, &clock, omega, 0.0)
    for k in range(at.n):
        add_to(&sums[k], &sums[at.width + k], omega * at.own[k])
