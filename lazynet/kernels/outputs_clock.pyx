"""Several outputs on a clock: SGD and FoBoS, and penalties of whole rows of weights.

The kinds of weights are

    "clock"            one clock for all outputs that share the penalty and the rates, or a clock
                       for each output (clock.pyx)
    "averaged clock"   one clock, and the past of every weight (averages.pyx)
    "group_l2", "group_max"
                       FoBoS on one clock, with a penalty of every row of weights: its Euclidean
                       norm or its largest weight (rules/groups.pxd)

The steps of all outputs have the same rates and shrinks, or each output has its own: given for
every step, or computed from the rows (outputs_rates.pxd).

Property: see online_outputs.pyx; rates of their own and averages in
tests/exact/test_outputs_with_own_rates_and_averages.py; the weights of groups equal
lazynet.reference.groups.DenseGroups after every step (tests/exact/test_groups.py).
"""

from .averages cimport COUNTED, Average, Past, check_counts
from .chunk cimport AVERAGED, CLOCK, FREELY_AVERAGED, GROUP_L2, GROUP_MAX
from .examples cimport FINISHED, Examples, Status, Steps, Task, check_vector, has_sizes
from .from_data cimport INTERCEPT_PROGRESS, N_FROM_DATA_FIELDS, PROGRESS, SQUARED_SLOPES
from .outputs cimport Block, OwnSteps, Targets, add_run, check_matrix, check_run
from .outputs_chunk cimport (
    INTERCEPT,
    INTERCEPT_SUM,
    N_CLOCK_ROWS,
    N_OWN_ROWS,
    N_SCALARS,
    N_STRENGTHS,
    PENDING,
    ROW_COUNTED,
    SCALE,
    SCALE_LOW,
    WORK,
    Outputs,
)

CLOCK_ROWS, OWN_ROWS, SCALARS = N_CLOCK_ROWS, N_OWN_ROWS, N_SCALARS
INTERCEPT_ROW, INTERCEPT_SUM_ROW = INTERCEPT, INTERCEPT_SUM
PENDING_SCALAR, PENDING_ROW_COUNTED = PENDING, <int> ROW_COUNTED
#: The sums over the slopes on which the rates of ``FromData`` depend.
SLOPE_FIELDS = PROGRESS, INTERCEPT_PROGRESS, SQUARED_SLOPES


cdef int take_clocks(Outputs* at, Block block, double[:, ::1] clocks) except -1:
    """Take the clocks; raises where the block has none or has another number of them."""
    cdef Py_ssize_t n_clocks = clocks.shape[1]
    if at.kind not in (CLOCK, AVERAGED, GROUP_L2, GROUP_MAX):
        raise ValueError(f"block must be of the kind of a clock, got {block.kind!r}")
    if n_clocks != 1 and (at.kind != CLOCK or n_clocks != at.width):
        raise ValueError(
            f"clocks must have 1 column, or {at.width} where the kind is 'clock', got {n_clocks} "
            f"for {block.kind!r}"
        )
    check_matrix("clocks", clocks, N_CLOCK_ROWS, n_clocks)
    at.clocks, at.n_clocks = &clocks[0, 0], n_clocks
    return 0


cdef int take_clocks_of_one_number(Outputs* at, Block block, double[:, ::1] clocks) except -1:
    """The same for a block whose weights are one number each."""
    if at.kind == AVERAGED:
        raise ValueError("block must be of a kind without averages, got 'averaged clock'")
    return take_clocks(at, block, clocks)


cdef int check_steps_on_clock(
    Block block, Examples examples, Targets targets, Task task, Py_ssize_t n_clocks,
    Py_ssize_t n_steps, bint softmax, OwnSteps own_steps, double[:, ::1] rates, bint averaged,
    const double[:, ::1] strengths
) except -1:
    """Raises unless the options of the steps fit each other."""
    cdef Py_ssize_t n = targets.n_outputs, width = block.width
    cdef bint adaptive = task.tuning.adaptive, has_own = own_steps is not None
    if averaged != (block.outputs.kind == AVERAGED):
        raise ValueError("average must be given for the kind 'averaged clock', and for no other")
    if block.outputs.kind in (GROUP_L2, GROUP_MAX) and task.shrink_first:
        raise ValueError("task must not shrink first where the weights of a feature are a group")
    if has_own and adaptive:
        raise ValueError("own_steps must not be given where rates are computed from the rows")
    if (n_clocks == 1) == (has_own or adaptive):
        raise ValueError(
            "clocks must have a column per output where the steps of outputs differ, else 1 column"
        )
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
    double[::1] losses not None,      # IN/OUT: the sums of importance times loss
    Py_ssize_t first,
    double[:, ::1] clocks not None,   # IN/OUT: a column per clock, one or one per output
    double[:, ::1] own not None,      # IN/OUT: what every output keeps for itself
    double[::1] scalars not None,     # IN/OUT
    bint softmax=False,
    bint learns=True,
    OwnSteps own_steps=None,      # rates and shrinks of each output
    double[:, ::1] rates=None,    # IN/OUT: what rates computed from the rows depend on
    Average average=None,         # IN/OUT: the past of the one clock, where iterates are averaged
    const double[:, ::1] strengths=None,  # l1, l2 and the largest rate of each output, where rates
                                          # are computed from the rows; else those of the task
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken.

    Without ``learns`` no step is taken, and the losses of the last weights are added up.
    """
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Status status
    cdef Outputs at = block.outputs
    cdef Past past
    check_run(block, examples, targets, task, losses, softmax)
    take_clocks(&at, block, clocks)
    check_matrix("own", own, N_OWN_ROWS, block.width)
    check_vector("scalars", scalars, N_SCALARS)
    if learns:
        check_steps_on_clock(
            block, examples, targets, task, at.n_clocks, n_steps, softmax, own_steps, rates,
            average is not None, strengths,
        )
    elif at.kind != CLOCK:
        raise ValueError(f"block must be of the kind 'clock' if nothing learns, got {block.kind!r}")
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    add_run(&at, examples, targets, steps, task, losses, first)
    at.own, at.scalars, at.softmax, at.learns = &own[0, 0], &scalars[0], softmax, learns
    if learns and average is not None:
        check_counts(steps.counts, n_steps)
        past = average.past()
        at.chunk.counts, at.past, at.totals = &steps.counts[0], &past, &average.fields[0]
        if not task.pulls:
            at.kind = FREELY_AVERAGED
    if learns and own_steps is not None:
        at.own_rates, at.own_keep = &own_steps.rates[0, 0], &own_steps.keep[0, 0]
        at.own_keep_low, at.own_pull = &own_steps.keep_low[0, 0], &own_steps.pull[0, 0]
        at.shared_keep = own_steps.shared
    if learns and task.tuning.adaptive:
        at.rates = &rates[0, 0]
        at.strengths = &strengths[0, 0] if strengths is not None else NULL
    with nogil:
        status = block.loops.walk(&at)
    if learns and average is not None:
        average.fields[COUNTED] = <double> past.n
    return <int> status, at.chunk.step


def read_on_clock(
    Block block,
    double[:, ::1] clocks not None,
    double[:, ::1] out not None,  # OUT: a row per feature, a column per output
):
    """The weights of every output as of now."""
    cdef Outputs at = block.outputs
    cdef Py_ssize_t n = out.shape[1]
    cdef bint done
    take_clocks_of_one_number(&at, block, clocks)
    check_matrix("out", out, at.n_features, n)
    if n > at.width:
        raise ValueError(f"out must have up to {at.width} columns, got {n}")
    if at.n_features == 0 or n == 0:
        return
    with nogil:
        done = block.loops.read(&at, &out[0, 0], n)
    if not done:
        raise MemoryError(f"no memory for the weights of {at.width} outputs")


def sweep_clock(Block block, double[:, ::1] clocks not None, double[::1] scalars not None):
    """Bring every weight current and set the clocks to their start; a pending step is kept."""
    cdef Outputs at = block.outputs
    cdef bint done
    check_vector("scalars", scalars, N_SCALARS)
    take_clocks_of_one_number(&at, block, clocks)
    with nogil:
        done = block.loops.sweep(&at)
    if not done:
        raise MemoryError(f"no memory for the weights of {at.width} outputs")
    start_clocks(clocks, scalars)


def start_clocks(double[:, ::1] clocks not None, double[::1] scalars not None):
    """Set the clocks to their start; a pending step is kept."""
    check_matrix("clocks", clocks, N_CLOCK_ROWS, clocks.shape[1])
    check_vector("scalars", scalars, N_SCALARS)
    clocks[SCALE, :] = 1.0
    clocks[SCALE_LOW:, :] = 0.0
    scalars[WORK] = 0.0
