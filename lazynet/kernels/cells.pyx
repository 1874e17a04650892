"""The rules whose weights are computed from a cell of numbers each: one walking loop for all.

A rule with a state of its own keeps a cell per weight, from which the weight is computed when an
example needs it.  What a kind of cell computes, with its paper and the property that ties it to
the reference, is told in its header in cells/; cell_kind.h says what such a header defines.  The
loop here takes a step as follows, whatever the kind: load the row, compute the prediction from its
cells, move along the example, update the cells of the row, and let the rule count the step.
A rule whose rates follow the data first counts the size of the row, and may ask for a sweep.

State is plain arrays of float64: ``cells``, a row per weight; ``fields``, the scalars that change
from step to step; ``settings``, the constants of the rule; and for kinds that remember ``slopes``,
an entry per row of the data set: the importance times the slope of the loss at the last visit.
"""

from libc.math cimport isfinite
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from .batches cimport (
    Batches,
    Merging,
    begin_batch,
    mean_slope,
    merge_row,
    merged_row,
    size_of_slopes,
)
from .cell_kind cimport Head, Kind, Name, Refusal, count_of
from .examples cimport (
    FINISHED,
    NEAR,
    OUT_OF_MEMORY,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    WORN_OUT,
    Examples,
    Status,
    Steps,
    Task,
    Visit,
    arrive,
    begin_visits,
    check_cells,
    check_runnable,
    check_vector,
    end_visits,
    fetch_ahead,
    has_sizes,
    importance_of,
    keep_prediction,
    look_ahead,
    move_of,
    size_of,
    slope_of,
    upcoming,
    visit,
)
from .rows cimport LANES, CellOps, Room, Row, make_room, prefetch

cdef extern from *:
    """
    #include "every_kind.h"

    /* The kinds, and LAZYNET_NUMBER_kind, where each stands among them. */
    #define LAZYNET_ADDRESS_OF(kind, ...) &lazynet_kind_##kind,
    static const lazynet_cell_kind *const lazynet_kinds[] = {
        LAZYNET_FOR_KINDS(LAZYNET_ADDRESS_OF, )
    };
    #define LAZYNET_NUMBER_OF(kind, ...) LAZYNET_NUMBER_##kind,
    enum { LAZYNET_FOR_KINDS(LAZYNET_NUMBER_OF, ) LAZYNET_N_KINDS };

    /* The walking loop is copied into the call for each kind, so that the compiler knows what the
     * kind does between rows.  Called through pointers, the loop costs RDA a few percent more.  */
    #if defined(__GNUC__) || defined(__clang__)
    #define LAZYNET_COPIED_WALK __attribute__((always_inline)) lazynet_walk
    #else
    #define LAZYNET_COPIED_WALK lazynet_walk
    #endif
    #define LAZYNET_WALK_IF(kind, number, ...) \
        (number) == LAZYNET_NUMBER_##kind ? lazynet_walk(&lazynet_kind_##kind, __VA_ARGS__) :
    #define LAZYNET_WALK(number, ...) (LAZYNET_FOR_KINDS(LAZYNET_WALK_IF, number, __VA_ARGS__) 0)
    """
    const Kind** lazynet_kinds
    Py_ssize_t LAZYNET_N_KINDS
    int walk_by_number "LAZYNET_WALK"(
        Py_ssize_t number, Examples examples, Steps steps, Task task, const CellOps* ops,
        Head* rule, double* cells, double* slopes, Py_ssize_t* next
    ) noexcept nogil


cdef dict NUMBER_OF = {
    lazynet_kinds[i].name.decode(): i for i in range(LAZYNET_N_KINDS)
}


cdef Py_ssize_t number_of(str kind) except -1:
    """Where the kind stands in every_kind.h."""
    if kind not in NUMBER_OF:
        raise ValueError(f"kind must be one of {', '.join(sorted(NUMBER_OF))}, got {kind!r}")
    return NUMBER_OF[kind]


cdef tuple texts_of(const Name* names):
    return tuple([names[n].decode() for n in range(count_of(names))])


def numbers(str kind not None):
    """How many numbers a cell has."""
    return lazynet_kinds[number_of(kind)].numbers


def fields(str kind not None):
    """The names of the scalars that change from step to step, in order."""
    return texts_of(lazynet_kinds[number_of(kind)].fields)


def settings(str kind not None):
    """The names of the constants of the rule, in order."""
    return texts_of(lazynet_kinds[number_of(kind)].settings)


cdef Head* rule_of(
    const Kind* kind, const double[::1] constants, const double[::1] scalars, bint running
) except NULL:
    """The rule as of now, to be freed; raises where its settings or fields cannot be used."""
    cdef Refusal refusal
    cdef Head* rule
    check_vector("settings", constants, count_of(kind.settings))
    check_vector("fields", scalars, count_of(kind.fields))
    refusal = kind.refusal(&constants[0], &scalars[0], running)
    if refusal.message != NULL:
        message = refusal.message.decode()
        raise ValueError(message.format(refusal.numbers[0], refusal.numbers[1]))
    rule = <Head*> calloc(1, kind.size)
    if rule == NULL:
        raise MemoryError("no memory for the numbers of the rule")
    kind.begin(rule, &constants[0], &scalars[0])
    return rule


cdef inline bint has_scratch(const Kind* kind, Head* rule, Py_ssize_t length) noexcept nogil:
    """Make room for the scratch memory of a row, where the kind asks for it."""
    return kind.scratch == 0 or make_room(
        &rule.scratch, kind.scratch * (length + LANES) * sizeof(double)
    )


cdef inline int walk "LAZYNET_COPIED_WALK"(
    const Kind* kind,
    Examples examples,
    Steps steps,
    Task task,
    const CellOps* ops,
    Head* rule,
    double* cells,
    double* slopes,       # IN/OUT: of every row at its last visit, for kinds that remember
    Py_ssize_t* next,     # IN/OUT: the first step not taken
) noexcept nogil:
    """Take the steps from ``next`` on; returns how the call ended."""
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Py_ssize_t step = next[0], touched = 0
    cdef const int64_t* order = &steps.order[0]
    cdef const double* rates = &steps.rates[0]
    cdef const double* pulls = &steps.pull[0]
    cdef bint fits_intercept = task.fit_intercept
    cdef bint adds_intercept = fits_intercept or kind.frozen_intercept
    cdef bint measures = kind.measure != NULL and rule.measures
    cdef bint near = kind.numbers * examples.csr.n_columns <= NEAR
    cdef double largest_cushion = task.wear.largest_cushion
    cdef double prediction, move, rate, slope = 0.0
    cdef Status status = FINISHED
    cdef Visit at
    begin_visits(&at)
    while step < n_steps:
        status = arrive(&at, examples, order, n_steps, step)
        if status != FINISHED:
            break
        if not near:
            look_ahead(&at, examples, order, n_steps, step)
        if not has_scratch(kind, rule, at.now.length):
            status = OUT_OF_MEMORY
            break
        if measures:
            if kind.measure(rule, size_of(examples, at.number)):
                status = WORN_OUT
                break
        prediction = ops.dot(&at.now, NULL if near else &at.following, cells, rule)
        if adds_intercept:
            prediction += rule.intercept
        rate = rates[step] if kind.scheduled else 1.0
        keep_prediction(steps, step, prediction)
        move = move_of(examples, task, at.number, prediction, rate)
        if kind.remembers:
            slope = move
            move = slope - slopes[at.number]
        if not (isfinite(prediction) and isfinite(move)):
            status = OVERFLOWED
            break
        if near:
            # The processor does this while it computes the slope, for which it would wait.
            look_ahead(&at, examples, order, n_steps, step)
        fetch_ahead(&at, examples)
        if measures and examples.sizes != NULL:
            prefetch(&examples.sizes[at.ahead])
        if rule.wants_values:
            rule.importance = importance_of(examples, at.number)
        if move != 0.0 or kind.updates_always:
            ops.update(&at.now, cells, rule, move)
        if kind.remembers:
            slopes[at.number] = slope
        touched += at.now.length
        step += 1
        if kind.advance(
            rule, move if fits_intercept else 0.0, rate, pulls[step - 1], largest_cushion
        ):
            status = WORN_OUT
            break
        if touched > PATIENCE:
            status = PAUSED
            break
    end_visits(&at)
    next[0] = step
    return <int> status


cdef int walk_batches(
    const Kind* kind,
    Examples examples,
    Batches batches,
    Task task,
    const CellOps* ops,
    const CellOps* merged_ops,
    Head* rule,
    double* cells,
    Merging* merging,
    Py_ssize_t* next,     # IN/OUT: the first step not taken
) noexcept nogil:
    """Take the steps on batches from ``next`` on; returns how the call ended.

    The rows of a batch are all measured before the first prediction of the batch.
    """
    cdef Py_ssize_t n_steps = batches.n_batches, n_rows = batches.order.shape[0]
    cdef Py_ssize_t step = next[0], touched = 0, row
    cdef const int64_t* order = &batches.order[0]
    cdef bint fits_intercept = task.fit_intercept
    cdef bint adds_intercept = fits_intercept or kind.frozen_intercept
    cdef bint measures = kind.measure != NULL and rule.measures
    cdef double prediction, slope, rate, move, unit
    cdef Status status = FINISHED
    cdef Visit at
    cdef Row merged
    begin_visits(&at)
    while step < n_steps:
        rate = batches.rates[step] if kind.scheduled else 1.0
        begin_batch(merging, batches, step)
        while measures and merging.measured < merging.stop:
            row = upcoming(&examples.csr, order, n_rows, merging.measured, -1)
            if row >= 0 and kind.measure(rule, size_of(examples, row)):
                status = WORN_OUT  # the same row is measured again after the sweep
                break
            merging.measured += 1
        if status != FINISHED:
            break
        while merging.next < merging.stop:
            status = visit(&at, examples, order, n_rows, merging.next)
            if status != FINISHED:
                break
            if not has_scratch(kind, rule, at.now.length):
                status = OUT_OF_MEMORY
                break
            prediction = ops.dot(&at.now, &at.following, cells, rule)
            if adds_intercept:
                prediction += rule.intercept
            keep_prediction(batches, merging.next, prediction)
            slope = slope_of(examples, task.loss, task.epsilon, at.number, prediction)
            if not (isfinite(prediction) and isfinite(rate * slope)):
                status = OVERFLOWED
                break
            fetch_ahead(&at, examples)
            status = merge_row(merging, examples, &at, slope)
            if status != FINISHED:
                break
            touched += at.now.length
            if touched > PATIENCE:
                status = PAUSED
                break
        if status != FINISHED:
            break
        move = rate * mean_slope(merging) if fits_intercept else 0.0
        unit = size_of_slopes(merging) if rule.wants_values else 1.0
        merged = merged_row(merging, examples, unit)
        if not has_scratch(kind, rule, merged.length):
            status = OUT_OF_MEMORY
            break
        if kind.scratch > 0:
            # The update takes the weights of its row from there.
            merged_ops.dot(&merged, NULL, cells, rule)
        merged_ops.update(&merged, cells, rule, rate * unit)
        step += 1
        if kind.advance(rule, move, rate, batches.pull[step - 1], task.wear.largest_cushion):
            status = WORN_OUT
            break
    end_visits(&at)
    next[0] = step
    return <int> status


cdef Head* rule_to_run(
    const Kind* kind, Examples examples, const double[::1] settings, const double[:, ::1] cells,
    const double[::1] fields, int loss,
) except NULL:
    """The rule as of now, to be freed; raises where a run is not possible."""
    cdef Head* rule
    check_cells(cells, examples.csr.n_columns, kind.numbers)
    check_runnable(examples, loss)
    rule = rule_of(kind, settings, fields, True)
    rule.n_rows = <double> examples.csr.n_rows
    if kind.measure != NULL and rule.measures and not has_sizes(examples):
        free(rule)
        raise ValueError(
            f"examples must have sizes: the rates of {kind.name.decode()!r} follow the sizes of "
            f"the rows"
        )
    return rule


def run(
    str kind not None,
    Examples examples,
    Steps steps,
    Task task,
    const double[::1] settings not None,
    double[:, ::1] cells not None,   # IN/OUT
    double[::1] fields not None,     # IN/OUT
    Py_ssize_t first,
    double[::1] slopes=None,         # IN/OUT: an entry per row, for kinds that remember
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef Py_ssize_t number = number_of(kind)
    cdef const Kind* of = lazynet_kinds[number]
    cdef Py_ssize_t n_steps = steps.order.shape[0], step = first
    cdef int status = FINISHED
    cdef Head* rule
    if of.remembers:
        if slopes is None:
            raise TypeError("slopes must be an array with an entry per row, got None")
        check_vector("slopes", slopes, examples.csr.n_rows)
    rule = rule_to_run(of, examples, settings, cells, fields, task.loss)
    if 0 <= first < n_steps:
        with nogil:
            status = walk_by_number(
                number, examples, steps, task, &examples.ops.cells[number], rule,
                &cells[0, 0] if cells.shape[0] else NULL,
                &slopes[0] if of.remembers and examples.csr.n_rows else NULL, &step,
            )
            of.end(rule, &fields[0])
            free(rule.scratch.bytes)
    else:
        step = n_steps
    free(rule)
    return status, step


def run_batches(
    str kind not None,
    Examples examples,
    Batches batches,
    Task task,
    const double[::1] settings not None,
    double[:, ::1] cells not None,   # IN/OUT
    double[::1] fields not None,     # IN/OUT
    Py_ssize_t first,
):
    """Take the steps on batches from ``first`` on; ``run`` explains what is returned.

    A call may end within a batch; the next call goes on.
    """
    cdef Py_ssize_t number = number_of(kind)
    cdef const Kind* of = lazynet_kinds[number]
    cdef Py_ssize_t step = first
    cdef int status = FINISHED
    cdef Head* rule
    cdef Merging* merging
    if of.remembers or of.updates_always:
        raise ValueError(f"kind must be one that learns from batches of rows, got {kind!r}")
    rule = rule_to_run(of, examples, settings, cells, fields, task.loss)
    if not 0 <= first < batches.n_batches:
        free(rule)
        return status, batches.n_batches
    try:
        merging = batches.merger.begin(examples)
        with nogil:
            status = walk_batches(
                of, examples, batches, task, &examples.ops.cells[number],
                &examples.merged_ops.cells[number], rule,
                &cells[0, 0] if cells.shape[0] else NULL, merging, &step,
            )
            of.end(rule, &fields[0])
        batches.merger.end()
    finally:
        free(rule.scratch.bytes)
        free(rule)
    return status, step


def sweep(
    str kind not None,
    double[:, ::1] cells not None,   # IN/OUT
    double[::1] fields not None,     # IN/OUT
    const double[::1] settings not None,
):
    """Bring every weight current, and change the scale of the rates if that is due."""
    cdef const Kind* of = lazynet_kinds[number_of(kind)]
    cdef Head* rule
    if of.sweep == NULL:
        raise ValueError(f"kind must be one whose weights the kernel sweeps, got {kind!r}")
    check_cells(cells, cells.shape[0], of.numbers)
    rule = rule_of(of, settings, fields, False)
    with nogil:
        if cells.shape[0]:
            of.sweep(rule, &cells[0, 0], cells.shape[0])
        of.end(rule, &fields[0])
        free(rule)


def read(
    str kind not None,
    const double[:, ::1] cells not None,
    const double[::1] fields not None,
    const double[::1] settings not None,
    double[::1] weights not None,  # OUT
):
    """weights <- the weights as of now."""
    cdef const Kind* of = lazynet_kinds[number_of(kind)]
    cdef Head* rule
    check_cells(cells, cells.shape[0], of.numbers)
    check_vector("weights", weights, cells.shape[0])
    rule = rule_of(of, settings, fields, False)
    with nogil:
        if cells.shape[0]:
            of.read(rule, &cells[0, 0], cells.shape[0], &weights[0])
        free(rule)


def intercept(
    str kind not None, const double[::1] fields not None, const double[::1] settings not None
):
    """The intercept as of now."""
    cdef Head* rule = rule_of(lazynet_kinds[number_of(kind)], settings, fields, False)
    cdef double now = rule.intercept
    free(rule)
    return now


def retune(
    str kind not None,
    double[:, ::1] cells not None,  # IN/OUT
    const double[::1] fields not None,
    const double[::1] settings not None,
):
    """Recompute what every cell caches of the settings."""
    cdef const Kind* of = lazynet_kinds[number_of(kind)]
    cdef Head* rule
    check_cells(cells, cells.shape[0], of.numbers)
    rule = rule_of(of, settings, fields, False)
    with nogil:
        if cells.shape[0] and of.retune != NULL:
            of.retune(rule, &cells[0, 0], cells.shape[0])
        free(rule)
