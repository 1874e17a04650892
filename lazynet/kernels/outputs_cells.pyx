"""Several outputs of a rule with a state of its own: RDA, FTRL and AdaGrad.

The rules are those of cells/.  A number of a rule exists once per output, and AdaGrad has one stamp
for the row of a feature: a step touches all of it.  ``settings`` and ``fields`` have a row per
output; their columns are those of a single output (cells.pyx).

Property: see outputs.pyx.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from .cell_kind cimport Head, Kind, Refusal, count_of
from .examples cimport (
    FINISHED,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    WORN_OUT,
    Examples,
    Status,
    Steps,
    Task,
    has_sizes,
    size_of,
)
from .outputs cimport Block, Targets, check_matrix, check_run, check_softmax
from .outputs_cells cimport (
    ADAGRAD_KIND,
    FTRL_KIND,
    RDA_KIND,
    AdaGradRule,
    change_scale,
    kind_of,
    predict_by_rules,
    rules_of,
    show_numbers,
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
from .wide cimport ADAGRAD, FTRL, RDA, OutputOps, WideWeights


cdef const Kind* kind_of(Block block) except NULL:
    if block.code == ADAGRAD:
        return &ADAGRAD_KIND
    if block.code == FTRL:
        return &FTRL_KIND
    if block.code == RDA:
        return &RDA_KIND
    raise ValueError(
        f"block must be of the kind of a rule with a state of its own, got {block.kind!r}"
    )


cdef char* rules_of(
    Block block, const double[:, ::1] settings, const double[:, ::1] fields
) except NULL:
    """The rule of every output as of now, to be freed."""
    cdef const Kind* kind = kind_of(block)
    cdef Py_ssize_t k
    cdef Refusal refusal
    check_matrix("settings", settings, block.width, count_of(kind.settings))
    check_matrix("fields", fields, block.width, count_of(kind.fields))
    for k in range(block.width):
        refusal = kind.refusal(&settings[k, 0], &fields[k, 0], True)
        if refusal.message != NULL:
            message = refusal.message.decode()
            raise ValueError(
                f"output {k}: " + message.format(refusal.numbers[0], refusal.numbers[1])
            )
    cdef char* rules = <char*> calloc(<size_t> block.width, kind.size)
    if rules == NULL:
        raise MemoryError("no memory for the numbers of the rules")
    for k in range(block.width):
        kind.begin(rules + k * kind.size, &settings[k, 0], &fields[k, 0])
    return rules


def run_cells(
    Block block,
    Examples examples,
    Targets targets,
    Steps steps,
    Task task,
    const double[:, ::1] settings not None,  # a row per output
    double[:, ::1] fields not None,          # IN/OUT: a row per output
    double[::1] losses not None,             # IN/OUT: the sums of the losses before the updates
    Py_ssize_t first,
    bint softmax=False,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef const Kind* kind = kind_of(block)
    cdef Py_ssize_t n_steps = steps.order.shape[0], step = first, k
    cdef Py_ssize_t n = targets.n_outputs, width = block.width
    cdef Status status = FINISHED
    cdef const OutputOps* output_ops = block.output_ops
    cdef WideWeights weights = block.weights
    cdef bint adds_intercept = task.fit_intercept or kind.frozen_intercept
    cdef bint fits_intercept = task.fit_intercept, asks = False, measures
    cdef double cushion = task.wear.largest_cushion, size, touched = 0.0
    cdef WideVisit at
    cdef Scratch scratch
    cdef char* rules
    cdef size_t each = kind.size
    cdef const int64_t* order
    check_run(block, examples, targets, task, losses)
    if softmax:
        check_softmax(targets)
    rules = rules_of(block, settings, fields)
    cdef Head* rule = <Head*> rules
    try:
        measures = kind.measure != NULL and rule.measures
        if measures and not has_sizes(examples):
            raise ValueError(
                "examples must have sizes: "
                f"the rates of {block.kind!r} follow the sizes of the rows"
            )
        if not 0 <= first < n_steps:
            return <int> FINISHED, n_steps
        if not make_scratch(&scratch, width):
            raise MemoryError(f"no memory for the predictions of {width} outputs")
        order = &steps.order[0]
        with nogil:
            begin_wide_visits(&at)
            show_numbers(block, &weights, &scratch, rules)
            while step < n_steps:
                status = visit_wide(&at, examples, targets, block, order, n_steps, step)
                if status != FINISHED:
                    break
                if measures:
                    size = size_of(examples, at.rows.number)
                    for k in range(width):
                        if kind.measure(rules + k * each, size):
                            asks = True
                    if asks:
                        status = WORN_OUT
                        break
                if block.code == ADAGRAD:
                    weights.steps = (<AdaGradRule*> rules).steps
                else:
                    show_numbers(block, &weights, &scratch, rules)
                predict_by_rules(
                    block, &weights, &at, rules, each, adds_intercept, scratch.predictions, n
                )
                weights.importance = find_slopes(
                    &scratch, block, examples, targets, task, softmax, at.rows.number, &touched
                )
                if not (
                    output_ops.all_finite(scratch.predictions, n)
                    and output_ops.all_finite(scratch.slopes, n)
                ):
                    status = OVERFLOWED
                    break
                for k in range(n):
                    losses[k] += scratch.losses[k]
                if any_nonzero(scratch.slopes, n):
                    block.ops.update(&weights, at.now, at.following, scratch.slopes)
                for k in range(width):
                    kind.advance(
                        rules + k * each, scratch.slopes[k] if fits_intercept else 0.0, 1.0, 0.0,
                        cushion,
                    )
                touched += (<double> at.now.length + 1.0) * <double> width
                step += 1
                if touched > PATIENCE:
                    status = PAUSED
                    break
            for k in range(width):
                kind.end(rules + k * each, &fields[k, 0])
            end_wide_visits(&at)
            free_scratch(&scratch)
        return <int> status, step
    finally:
        free(rules)


def read_cells(
    Block block,
    const double[:, ::1] settings not None,
    const double[:, ::1] fields not None,
    double[:, ::1] out not None,  # OUT: a row per feature, a column per output
):
    """The weights of every output as of now, for a rule with a state of its own."""
    cdef const Kind* kind = kind_of(block)
    cdef Py_ssize_t feature, k, number, place, n = out.shape[1], width = block.width
    cdef Py_ssize_t n_numbers = block.weights.stride // width
    cdef const double* wide = <const double*> block.weights.cells
    cdef const float* narrow = <const float*> block.weights.cells
    cdef double[4] cell
    cdef char* rules
    if n > width:
        raise ValueError(f"out must have up to {width} columns, got {n}")
    check_matrix("out", out, block.n_features, n)
    rules = rules_of(block, settings, fields)
    cdef size_t each = kind.size
    with nogil:
        for feature in range(block.n_features):
            for k in range(n):
                for number in range(n_numbers):
                    place = feature * block.weights.stride + number * width + k
                    cell[number] = wide[place] if block.wide else narrow[place]
                if block.code == ADAGRAD:
                    if cell[0] == 0.0:
                        out[feature, k] = 0.0
                        continue
                    # A row of weights has one stamp, and keeps no decay of a single weight.
                    cell[2], cell[3] = 0.0, block.weights.stamps[feature]
                    kind.retune(rules + k * each, cell, 1)
                kind.read(rules + k * each, cell, 1, &out[feature, k])
        free(rules)


def sweep_adagrad(
    Block block, const double[:, ::1] settings not None, double[:, ::1] fields not None
):
    """Bring every weight current, and change the scale of the rates if that is due."""
    cdef Py_ssize_t k
    cdef Scratch scratch
    cdef WideWeights weights = block.weights
    cdef char* rules
    cdef AdaGradRule* adagrad
    if block.code != ADAGRAD:
        raise ValueError(f"block must be of the kind 'adagrad', got {block.kind!r}")
    rules = rules_of(block, settings, fields)
    adagrad = <AdaGradRule*> rules
    if not make_scratch(&scratch, block.width):
        free(rules)
        raise MemoryError(f"no memory for the numbers of {block.width} outputs")
    with nogil:
        show_numbers(block, &weights, &scratch, rules)
        for k in range(block.width):
            scratch.moves[k] = (
                change_scale(&adagrad[k]) if adagrad[k].waiting != 0.0 else 1.0
            )
        block.ops.sweep(&weights, block.n_features, scratch.moves)
        for k in range(block.width):
            ADAGRAD_KIND.end(rules + k * ADAGRAD_KIND.size, &fields[k, 0])
        free_scratch(&scratch)
        free(rules)
