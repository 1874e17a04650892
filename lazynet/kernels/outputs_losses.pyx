"""The losses of several outputs on rows that are not learned from.

Property: the losses are those of the predictions by hand, and judging changes no weight
(test_losses_of_held_out_rows in tests/exact/test_grids.py).
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free

from .examples cimport FINISHED, PATIENCE, PAUSED, Examples, Status, Task, check_aligned
from .outputs cimport Block, Targets, check_matrix, check_run
from .cells cimport AnyRule
from .outputs_cells cimport predict_by_rules, rules_of, show_numbers
from .outputs_clock cimport (
    INTERCEPT,
    N_OWN_ROWS,
    SCALE,
    SHIFT,
    check_clocks,
    show_clock,
    shown_clocks,
)
from .outputs_steps cimport (
    Scratch,
    WideVisit,
    begin_wide_visits,
    end_wide_visits,
    find_slopes,
    free_scratch,
    make_scratch,
    visit_wide,
)
from .wide cimport CLOCK, Clocks, WideWeights


def losses_on(
    Block block,
    Examples examples,
    Targets targets,
    const int64_t[::1] order not None,
    Task task,
    double[::1] losses not None,     # IN/OUT: the sums of importance times loss
    Py_ssize_t first,
    const double[:, ::1] clocks=None,      # of outputs on the clock ...
    const double[:, ::1] own=None,
    const double[:, ::1] settings=None,    # ... or of a rule with a state of its own
    const double[:, ::1] fields=None,
):
    """Add up the losses on the rows ``order``; returns how the call ended and the first row left.

    No step is taken.  AdaGrad's weights of the rows are brought current, which changes them by
    rounding alone.
    """
    cdef Py_ssize_t n_steps = order.shape[0], step = first, k
    cdef Py_ssize_t n = targets.n_outputs, width = block.width, n_clocks = 1
    cdef Status status = FINISHED
    cdef WideWeights weights = block.weights
    cdef Clocks clock, shown
    cdef bint on_clock = block.code == CLOCK
    cdef double touched = 0.0
    cdef WideVisit at
    cdef Scratch scratch
    cdef AnyRule* rules = NULL
    cdef const int64_t* rows
    check_run(block, examples, targets, task, losses)
    if on_clock:
        if clocks is None or own is None:
            raise TypeError("clocks and own must be given for outputs on the clock")
        n_clocks = clocks.shape[1]
        check_clocks(clocks, width)
        check_matrix("own", own, N_OWN_ROWS, width)
    else:
        if settings is None or fields is None:
            raise TypeError("settings and fields must be given for a rule with a state of its own")
        rules = rules_of(block, settings, fields)
    try:
        if n_steps:
            check_aligned("order", &order[0])
        if not 0 <= first < n_steps:
            return <int> FINISHED, n_steps
        if not make_scratch(&scratch, width):
            raise MemoryError(f"no memory for the predictions of {width} outputs")
        rows = &order[0]
        with nogil:
            begin_wide_visits(&at)
            if on_clock:
                # The clocks are only read.
                clock.scale = <double*> &clocks[SCALE, 0]
                clock.shift = <double*> &clocks[SHIFT, 0]
                shown = shown_clocks(&scratch, &clock, n_clocks)
                if n_clocks == 1:
                    show_clock(&shown, &clock, block)
                weights.numbers = shown.shift
            else:
                show_numbers(block, &weights, &scratch, rules)
            while step < n_steps:
                status = visit_wide(&at, examples, targets, block, rows, n_steps, step)
                if status != FINISHED:
                    break
                if on_clock:
                    block.ops.dot(&weights, at.now, at.following, scratch.predictions)
                    block.output_ops.predict(
                        scratch.predictions, shown.scale, &own[INTERCEPT, 0], n
                    )
                else:
                    predict_by_rules(
                        block, &weights, &at, rules, True, scratch.predictions, n
                    )
                find_slopes(
                    &scratch, block, examples, targets, task, False, at.rows.number, &touched
                )
                for k in range(n):
                    losses[k] += scratch.losses[k]
                touched += (<double> at.now.length + 1.0) * <double> width
                step += 1
                if touched > PATIENCE:
                    status = PAUSED
                    break
            end_wide_visits(&at)
            free_scratch(&scratch)
        return <int> status, step
    finally:
        free(rules)
