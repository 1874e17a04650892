# What a call of the step loop of several outputs needs beside its chunk, and what a step reads of
# the rules and clocks of the outputs.
from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from .chunk cimport ABSOLUTE_SUM, Chunk
from .from_data cimport (
    N_FROM_DATA_FIELDS, FromData, find_factors, load_from_data, save_from_data,
)
from .lanes cimport WIDTH, Lanes, lanes_of_doubles, spread
from .outputs_chunk cimport FTRL, RDA, SHIFT, Outputs
from .outputs_losses cimport fill_targets
from .own_rows cimport OwnRow, Walk, end_walk, size_of_row
from .rules cimport adagrad, ftrl, rda
from .rules.adagrad cimport AdaGradLanes
from .rules.clock cimport AveragedLanes, ClockRuleLanes
from .rules.ftrl cimport FtrlLanes
from .rules.rda cimport RdaLanes


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
    double* scales            # the factors of the weights that are loaded
    double* intercepts
    double* keep              # where shrinks differ from output to output
    double* keep_low
    double* pull
    FromData* states          # of rates that are computed from the rows
    Py_ssize_t label          # of the row at hand: the place of the positive output, or -1
    double importance         # of the row at hand
    double size               # of the row at hand, for rates that follow the data
    bint beyond               # whether a clock is beyond one of its hard limits ...
    bint cushioned            # ... or of its soft limit
    Py_ssize_t touched

cdef enum:
    MOST_LANES = 8            # numbers that a step reads of a rule
    N_ARRAYS = 11


cdef inline FromData* load_states(const Outputs* at) noexcept nogil:
    """The state of every output, from its row of fields; NULL without memory."""
    cdef FromData* states = <FromData*> malloc(at.n * sizeof(FromData))
    cdef Py_ssize_t k
    if states != NULL:
        for k in range(at.n):
            load_from_data(&states[k], at.rates + k * N_FROM_DATA_FIELDS)
            find_factors(&states[k], at.chunk.tuning)
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
    run.scales, run.intercepts = run.predictions + 5 * width, run.predictions + 6 * width
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
            save_from_data(&run.states[k], run.at.rates + k * N_FROM_DATA_FIELDS)
    free(run.states)
    end_walk(&run.rows)
    free(run.memory)

# --- the numbers of the rules ---------------------------------------------------------------------


cdef inline void show_rules(Run* run) noexcept nogil:
    """What a step reads of the rules with a state of their own, as of now."""
    cdef Outputs* at = run.at
    cdef bint adds = at.chunk.fit_intercept or not at.learns
    cdef Py_ssize_t k
    for k in range(at.width):
        run.scales[k] = 1.0
        if at.code == RDA:
            rda.show(&at.rules[k].rda, <RdaLanes*> run.lanes + k // WIDTH, k % WIDTH)
            run.scales[k], run.intercepts[k] = at.rules[k].rda.factor, at.rules[k].rda.intercept
        elif at.code == FTRL:
            ftrl.show(&at.rules[k].ftrl, <FtrlLanes*> run.lanes + k // WIDTH, k % WIDTH)
            run.intercepts[k] = at.rules[k].ftrl.intercept
        else:
            at.rules[k].adagrad.first = at.rules[k].adagrad.initial * run.importance
            adagrad.show(&at.rules[k].adagrad, <AdaGradLanes*> run.lanes + k // WIDTH, k % WIDTH, at.decays)
            run.intercepts[k] = at.rules[k].adagrad.intercept
        run.intercepts[k] = run.intercepts[k] if adds else 0.0


cdef inline void show_clocks(Run* run) noexcept nogil:
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
            (<ClockRuleLanes*> run.lanes)[k // WIDTH].clock.shift = shift
        else:
            averaged = <AveragedLanes*> run.lanes + k // WIDTH
            averaged.clock.shift = shift
            averaged.scale_sum = spread(at.past.scales[at.past.n])
            averaged.pull_sum = spread(at.past.pulls[at.past.n])
    for k in range(at.width):
        run.scales[k] = at.clocks[k if own else 0]
        run.intercepts[k] = at.own[k]


cdef inline bint measures(const Outputs* at) noexcept nogil:
    """Whether the rates of the rules follow the sizes of the rows."""
    if at.code == RDA:
        return at.rules[0].rda.measures != 0.0
    if at.code == FTRL:
        return at.rules[0].ftrl.measures != 0.0
    return at.rules[0].adagrad.follows != 0.0


cdef inline bint measure(Outputs* at, double size) noexcept nogil:
    """Count the size of a row; whether all weights must be brought current before its step."""
    cdef bint asks = False
    cdef Py_ssize_t k
    for k in range(at.width):
        if at.code == RDA:
            asks |= rda.measure(&at.rules[k].rda, size)
        elif at.code == FTRL:
            asks |= ftrl.measure(&at.rules[k].ftrl, size)
        else:
            asks |= adagrad.measure(&at.rules[k].adagrad, size)
    return asks


cdef inline void finish(Outputs* at, const double* slopes) noexcept nogil:
    """The motion of all weights at the end of a step."""
    cdef double move
    cdef Py_ssize_t k
    for k in range(at.width):
        move = slopes[k] if at.chunk.fit_intercept else 0.0
        if at.code == RDA:
            rda.finish(&at.rules[k].rda, move)
        elif at.code == FTRL:
            ftrl.finish(&at.rules[k].ftrl, move)
        else:
            adagrad.finish(&at.rules[k].adagrad, move)


cdef inline void see_row(Run* run, const OwnRow* row) noexcept nogil:
    """The importance and the targets of a row, and its size where rates follow the data."""
    cdef Chunk* chunk = &run.at.chunk
    cdef bint follows = run.states != NULL or (run.at.rules != NULL and measures(run.at))
    run.label = fill_targets(run.at, row.number, run.targets, &run.touched)
    run.importance = chunk.importances[row.number] if chunk.importances != NULL else 1.0
    if follows and chunk.sizes != NULL:
        run.size = chunk.sizes[row.number]
    elif follows:
        run.size = size_of_row(row, chunk.measured == ABSOLUTE_SUM)
