"""Several outputs on a clock: SGD and FoBoS, and penalties of whole rows of weights.

The kinds of weights are

    "clock"            one clock for all outputs that share the penalty and the rates, or a clock
                       for each output (clock.pyx)
    "averaged clock"   one clock, and the past of every weight (averages.pyx)
    "group_l2", "group_max"
                       FoBoS on one clock, with a penalty of every row of weights: its Euclidean
                       norm or its largest weight (wide_groups.inc)

The steps of all outputs have the same rates and shrinks, or each output has its own: given for
every step, or computed from the rows (outputs_rates.pxd).

Property: see outputs.pyx; rates of their own and averages in
tests/exact/test_outputs_with_own_rates_and_averages.py; the weights of groups equal
lazynet.reference.groups.DenseGroups after every step (tests/exact/test_groups.py).
"""

from libc.float cimport DBL_MAX, DBL_MIN
from libc.stdint cimport int64_t

from .averages cimport COUNTED, Average, add_to, check_counts, count_iterate, past_is_worn
from .rules.motion cimport Clock
from .examples cimport (
    FINISHED,
    OUT_OF_RANGE,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    WORN_OUT,
    Examples,
    Status,
    Steps,
    Task,
    check_vector,
    has_sizes,
    size_of,
)
from .from_data cimport INTERCEPT_PROGRESS, N_FROM_DATA_FIELDS, PROGRESS, SQUARED_SLOPES
from .outputs cimport Block, OwnSteps, Targets, check_matrix, check_run, check_softmax, fill_targets
from .outputs_clock cimport (
    INTERCEPT,
    INTERCEPT_SUM,
    INTERCEPT_SUM_LOW,
    N_CLOCK_ROWS,
    N_OWN_ROWS,
    PENDING_MOVE,
    SCALE,
    SCALE_LOW,
    SHIFT,
    SHIFT_LOW,
    check_clocks,
    show_clock,
    shown_clocks,
)
from .outputs_rates cimport (
    N_STRENGTHS,
    RatesFromRows,
    begin_rates,
    count_rows,
    end_rates,
    propose_steps,
)
from .outputs_steps cimport (
    Scratch,
    WideVisit,
    any_nonzero,
    begin_wide_visits,
    end_wide_visits,
    find_slopes,
    free_scratch,
    make_scratch,
    visit_wide,
)
from .rows cimport Past
from .wide cimport (
    AVERAGED_CLOCK,
    CLOCK,
    GROUP_L2,
    GROUP_MAX,
    Clocks,
    Extremes,
    OutputOps,
    WideWeights,
)

# The scalars of a block of outputs on the clock.
cdef enum:
    WORK = 0       # nonzeros visited since the clocks were last set
    PENDING = 1    # what the next call must know of its first step: see below
    N_SCALARS = 2

# PENDING: a step of which nothing is done, whose first half is done, or whose row is counted.
cdef enum:
    NOTHING_DONE = 0
    HALF_DONE = 1
    ROW_COUNTED = 2

CLOCK_ROWS, OWN_ROWS, SCALARS = N_CLOCK_ROWS, N_OWN_ROWS, N_SCALARS
INTERCEPT_ROW, INTERCEPT_SUM_ROW = INTERCEPT, INTERCEPT_SUM
PENDING_SCALAR, PENDING_ROW_COUNTED = PENDING, <int> ROW_COUNTED
#: The sums over the slopes on which the rates of ``FromData`` depend.
SLOPE_FIELDS = PROGRESS, INTERCEPT_PROGRESS, SQUARED_SLOPES


cdef int check_clocks(const double[:, ::1] clocks, Py_ssize_t width) except -1:
    cdef Py_ssize_t n_clocks = clocks.shape[1]
    if n_clocks != 1 and n_clocks != width:
        raise ValueError(f"clocks must have 1 column or {width}, got {n_clocks}")
    return check_matrix("clocks", clocks, N_CLOCK_ROWS, n_clocks)


cdef inline bint on_the_clock(Block block) noexcept:
    """Whether a sweep of the kind takes the scales and shifts of clocks."""
    return block.code == CLOCK or block.code == GROUP_L2 or block.code == GROUP_MAX


cdef inline bint in_range(const Extremes* extremes) noexcept nogil:
    """Whether weights can be read and stored with every clock (in_range in clock.pxd)."""
    return extremes.smallest_scale >= DBL_MIN and extremes.largest_shift <= DBL_MAX


cdef inline bint beyond_limits(const Extremes* extremes, Task task) noexcept nogil:
    """Whether a clock is beyond one of its hard limits."""
    return (
        extremes.smallest_scale < task.wear.smallest_scale
        or extremes.largest_cushion > task.wear.largest_cushion
    )


cdef inline void one_clock(Clock* single, const Clocks* clock) noexcept nogil:
    """The one clock of all outputs, in the form of clock.pxd."""
    single.scale, single.scale_low = clock.scale[0], clock.scale_low[0]
    single.inverse = 1.0 / single.scale
    single.shift, single.shift_low = clock.shift[0], clock.shift_low[0]


cdef int check_run_on_clock(
    Block block, Examples examples, Targets targets, Task task, double[:, ::1] clocks,
    double[:, ::1] own, double[::1] scalars, Py_ssize_t n_steps, bint softmax, OwnSteps own_steps,
    double[:, ::1] rates, bint averaged, const double[:, ::1] strengths
) except -1:
    """Raises unless what is on the clock fits, and the options fit each other."""
    cdef Py_ssize_t n = targets.n_outputs, width = block.width, n_clocks = clocks.shape[1]
    cdef bint adaptive = task.tuning.adaptive, has_own = own_steps is not None
    if not (block.code == AVERAGED_CLOCK if averaged else on_the_clock(block)):
        raise ValueError(f"block must be of the kind of a clock, got {block.kind!r}")
    if block.code != CLOCK and n_clocks != 1:
        raise ValueError(f"clocks must have 1 column for a block of {block.kind!r}, got {n_clocks}")
    if block.code in (GROUP_L2, GROUP_MAX) and task.shrink_first:
        raise ValueError("task must not shrink first where the weights of a feature are a group")
    check_clocks(clocks, width)
    check_matrix("own", own, N_OWN_ROWS, width)
    check_vector("scalars", scalars, N_SCALARS)
    if has_own and adaptive:
        raise ValueError("own_steps must not be given where rates are computed from the rows")
    if (n_clocks == 1) == (has_own or adaptive):
        raise ValueError(
            "clocks must have a column per output where the steps of outputs differ, else 1 column"
        )
    if softmax:
        check_softmax(targets)
    if softmax and adaptive:
        raise ValueError("softmax must not be asked for with rates computed from the rows")
    if has_own:
        check_matrix("rates", own_steps.rates, n_steps, 1 if own_steps.shared else width)
        check_matrix("pull", own_steps.pull, n_steps, width)
    if adaptive:
        if rates is None:
            raise ValueError("rates must be given where they are computed from the rows")
        check_matrix("rates", rates, n, N_FROM_DATA_FIELDS)
        if strengths is not None:
            check_matrix("strengths", strengths, n, N_STRENGTHS)
        if not has_sizes(examples):
            raise ValueError("examples must have sizes where rates are computed from the rows")
    return 0


def run_on_clock(
    Block block,
    Examples examples,
    Targets targets,
    Steps steps,
    Task task,
    double[:, ::1] clocks not None,   # IN/OUT: a column per clock, one or one per output
    double[:, ::1] own not None,      # IN/OUT: what every output keeps for itself
    double[::1] scalars not None,     # IN/OUT
    double[::1] losses not None,      # IN/OUT: the sums of the losses before the updates
    Py_ssize_t first,
    bint softmax=False,
    OwnSteps own_steps=None,      # rates and shrinks of each output
    double[:, ::1] rates=None,    # IN/OUT: what rates computed from the rows depend on
    Average average=None,         # IN/OUT: the past of the one clock, where iterates are averaged
    const double[:, ::1] strengths=None,  # l1, l2 and the largest rate of each output, where rates
                                          # are computed from the rows; else those of the task
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef Py_ssize_t n_steps = steps.order.shape[0], step = first, k
    cdef Py_ssize_t n = targets.n_outputs, width = block.width, n_clocks = clocks.shape[1]
    cdef Status status = FINISHED
    cdef bint adaptive = task.tuning.adaptive, averaged = average is not None
    cdef bint has_own = own_steps is not None, pending
    cdef const OutputOps* output_ops = block.output_ops
    cdef double importance, rate, size = 0.0, omega, touched = 0.0
    cdef const double* keep = NULL
    cdef const double* keep_low = NULL
    cdef const double* pull = NULL
    cdef const double* counts = NULL
    cdef double* totals = NULL
    cdef WideWeights weights = block.weights
    cdef Extremes extremes
    cdef Clocks clock, shown
    cdef Clock single
    cdef Past past
    cdef WideVisit at
    cdef Scratch scratch
    cdef RatesFromRows from_rows
    check_run(block, examples, targets, task, losses)
    check_run_on_clock(
        block, examples, targets, task, clocks, own, scalars, n_steps, softmax, own_steps, rates,
        averaged, strengths,
    )
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    if averaged:
        check_counts(steps.counts, n_steps)
        counts = &steps.counts[0]
        totals = &average.fields[0]
        past = average.past()
        weights.past = &past
    cdef const int64_t* order = &steps.order[0]
    if not make_scratch(&scratch, width):
        raise MemoryError(f"no memory for the predictions of {width} outputs")
    cdef double* intercept_moves = scratch.moves
    if adaptive:
        if not begin_rates(
            &from_rows, &rates[0, 0], &strengths[0, 0] if strengths is not None else NULL,
            &task.tuning, n, width,
        ):
            free_scratch(&scratch)
            raise MemoryError(f"no memory for the rates of {n} outputs")
        keep, keep_low, pull = from_rows.keep, from_rows.keep_low, from_rows.pull
        intercept_moves = from_rows.intercept_moves
    clock.scale, clock.scale_low = &clocks[SCALE, 0], &clocks[SCALE_LOW, 0]
    clock.shift, clock.shift_low = &clocks[SHIFT, 0], &clocks[SHIFT_LOW, 0]
    # Before a pending step the clocks have just been set to their start.
    extremes.smallest_scale, extremes.largest_shift, extremes.largest_cushion = 1.0, 0.0, 0.0
    cdef double* intercepts = &own[INTERCEPT, 0]
    shown = shown_clocks(&scratch, &clock, n_clocks)
    weights.numbers = shown.shift
    with nogil:
        begin_wide_visits(&at)
        while step < n_steps:
            status = visit_wide(&at, examples, targets, block, order, n_steps, step)
            if status != FINISHED:
                break
            if averaged and past.n >= past.room:
                # There is no room for one more iterate, also not for that of a pending step.
                status = WORN_OUT
                break
            if has_own:
                pull = &own_steps.pull[step, 0]
                if own_steps.shared:
                    output_ops.fill(scratch.keep, own_steps.keep[step, 0], width)
                    output_ops.fill(scratch.keep_low, own_steps.keep_low[step, 0], width)
                    keep, keep_low = scratch.keep, scratch.keep_low
                else:
                    keep, keep_low = &own_steps.keep[step, 0], &own_steps.keep_low[step, 0]
            elif not adaptive:
                keep, keep_low, pull = &steps.keep[step], &steps.keep_low[step], &steps.pull[step]
            pending = scalars[PENDING] == HALF_DONE
            if pending:
                # The first half of this step was taken before the sweep.
                for k in range(n):
                    scratch.moves[k] = own[PENDING_MOVE, k]
                scalars[PENDING] = NOTHING_DONE
                if adaptive:
                    for k in range(n):
                        intercept_moves[k] = from_rows.states[k].intercept_move
            else:
                if adaptive:
                    size = size_of(examples, at.rows.number)
                    if scalars[PENDING] == NOTHING_DONE:
                        fill_targets(targets, at.rows.number, scratch.targets, &touched)
                        count_rows(&from_rows, &task.tuning, size, scratch.targets)
                        if keep[0] != 1.0:
                            # The mean size of the rows is the same for all outputs.
                            extremes = output_ops.advance(
                                &clock, n_clocks, keep, keep_low, pull
                            )
                            if not in_range(&extremes):
                                status = OUT_OF_RANGE
                                break
                            if beyond_limits(&extremes, task):
                                scalars[PENDING] = ROW_COUNTED
                                status = WORN_OUT
                                break
                    # Where it is ROW_COUNTED, the row was counted before the sweep.
                    scalars[PENDING] = NOTHING_DONE
                if n_clocks == 1:
                    show_clock(&shown, &clock, block)
                block.ops.dot(&weights, at.now, at.following, scratch.predictions)
                output_ops.predict(scratch.predictions, shown.scale, intercepts, n)
                importance = find_slopes(
                    &scratch, block, examples, targets, task, softmax, at.rows.number, &touched
                )
                if adaptive:
                    propose_steps(&from_rows, task, size, importance, &scratch)
                elif has_own and not own_steps.shared:
                    output_ops.multiply(
                        &own_steps.rates[step, 0], scratch.slopes, n, scratch.moves
                    )
                else:
                    rate = own_steps.rates[step, 0] if has_own else steps.rates[step]
                    for k in range(n):
                        scratch.moves[k] = rate * scratch.slopes[k]
                if not (
                    output_ops.all_finite(scratch.predictions, n)
                    and output_ops.all_finite(scratch.moves, n)
                    and (
                        intercept_moves == scratch.moves
                        or output_ops.all_finite(intercept_moves, n)
                    )
                ):
                    status = OVERFLOWED
                    break
                if averaged:
                    one_clock(&single, &clock)
                    if past_is_worn(
                        &past, totals, &single, &task.reach, scalars[WORK], keep[0], pull[0]
                    ):
                        # The step begins again after the sweep.
                        status = WORN_OUT
                        break
                for k in range(n):
                    losses[k] += scratch.losses[k]
                if task.shrink_first:
                    extremes = output_ops.advance(&clock, n_clocks, keep, keep_low, pull)
                    if not in_range(&extremes):
                        status = OUT_OF_RANGE
                        break
                    if beyond_limits(&extremes, task):
                        # A weight stored now would lose its digits beside so large a shift.
                        scalars[PENDING] = HALF_DONE
                        for k in range(n):
                            own[PENDING_MOVE, k] = scratch.moves[k]
                        status = WORN_OUT
                        break

            if task.fit_intercept:
                for k in range(n):
                    intercepts[k] -= intercept_moves[k]
            if any_nonzero(scratch.moves, n):
                if n_clocks == 1 and (pending or task.shrink_first):
                    show_clock(&shown, &clock, block)
                output_ops.divide(scratch.moves, shown.scale, n)
                block.ops.update(&weights, at.now, at.following, scratch.moves)
            if not task.shrink_first:
                extremes = output_ops.advance(&clock, n_clocks, keep, keep_low, pull)
                if not in_range(&extremes):
                    status = OUT_OF_RANGE
                    break
            if averaged and counts[step] != 0.0:
                omega = counts[step]
                one_clock(&single, &clock)
                count_iterate(&past, totals, &single, omega, 0.0)
                for k in range(n):
                    add_to(&own[INTERCEPT_SUM, k], &own[INTERCEPT_SUM_LOW, k],
                           omega * intercepts[k])
            scalars[WORK] += <double> at.now.length
            touched += (<double> at.now.length + 1.0) * <double> width
            step += 1
            if beyond_limits(&extremes, task) or (
                scalars[WORK] > task.wear.enough_work
                and extremes.largest_cushion > task.wear.cushion
            ):
                status = WORN_OUT
                break
            if touched > PATIENCE:
                status = PAUSED
                break
        end_wide_visits(&at)
        free_scratch(&scratch)
        if adaptive:
            end_rates(&from_rows, &rates[0, 0])
        if averaged:
            totals[COUNTED] = <double> past.n
    return <int> status, step


def sweep_clock(Block block, double[:, ::1] clocks not None, double[::1] scalars not None):
    """Bring every weight current and set the clocks to their start; a pending step is kept."""
    check_vector("scalars", scalars, N_SCALARS)
    bring_current(block, clocks)
    start_clocks(clocks, scalars)


def bring_current(Block block, double[:, ::1] clocks not None):
    """Replace every stored number by its weight, for clocks that are then at their start."""
    cdef Py_ssize_t n_clocks = clocks.shape[1]
    cdef Scratch scratch
    cdef Clocks clock, shown
    cdef WideWeights weights = block.weights
    if not on_the_clock(block):
        raise ValueError(f"block must be of the kind 'clock' or of groups, got {block.kind!r}")
    if n_clocks != 1 and (block.code != CLOCK or n_clocks != block.width):
        raise ValueError(f"clocks must have 1 column or {block.width}, got {n_clocks}")
    check_matrix("clocks", clocks, N_CLOCK_ROWS, n_clocks)
    if not make_scratch(&scratch, block.width):
        raise MemoryError(f"no memory for the scales of {block.width} outputs")
    clock.scale, clock.shift = &clocks[SCALE, 0], &clocks[SHIFT, 0]
    shown = shown_clocks(&scratch, &clock, n_clocks)
    with nogil:
        if n_clocks == 1:
            show_clock(&shown, &clock, block)
        weights.numbers = shown.shift
        block.ops.sweep(&weights, block.n_features, shown.scale)
        free_scratch(&scratch)


def start_clocks(double[:, ::1] clocks not None, double[::1] scalars not None):
    """Set the clocks to their start; a pending step is kept."""
    check_matrix("clocks", clocks, N_CLOCK_ROWS, clocks.shape[1])
    check_vector("scalars", scalars, N_SCALARS)
    clocks[SCALE, :] = 1.0
    clocks[SCALE_LOW:, :] = 0.0
    scalars[WORK] = 0.0
