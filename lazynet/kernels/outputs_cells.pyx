"""Several outputs of a rule with a state of its own: RDA, FTRL and AdaGrad.

The rules are those of rules/.  A number of a rule exists once per output, and AdaGrad has one stamp
for the row of a feature: a step touches all of it.  ``settings`` and ``fields`` have a row per
output; their columns are those of a single output (cells.pyx).

Property: see outputs.pyx.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from .cells cimport AnyRule, _Described, begin_rule, described, end_rule
from .chunk cimport DECAYING_ADAGRAD, Loops
from .chunk cimport ADAGRAD as ADAGRAD_LOOPS
from .chunk cimport FTRL as FTRL_LOOPS
from .chunk cimport RDA as RDA_LOOPS
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
    default_loops,
    has_sizes,
    size_of,
)
from .outputs cimport Block, Targets, check_matrix, check_run, check_softmax
from .outputs_cells cimport finish, measure, measures, predict_by_rules, rules_of, show_numbers
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
from .rules cimport adagrad
from .wide cimport ADAGRAD, FTRL, RDA, OutputOps, WideWeights


cdef AnyRule* rules_of(
    Block block, const double[:, ::1] settings, const double[:, ::1] fields
) except NULL:
    cdef _Described of
    cdef Py_ssize_t k
    cdef AnyRule* rules
    if block.code not in (ADAGRAD, FTRL, RDA):
        raise ValueError(
            f"block must be of the kind of a rule with a state of its own, got {block.kind!r}"
        )
    of = described(block.kind)
    check_matrix("settings", settings, block.width, len(of.settings))
    check_matrix("fields", fields, block.width, len(of.fields))
    rules = <AnyRule*> calloc(<size_t> block.width, sizeof(AnyRule))
    if rules == NULL:
        raise MemoryError("no memory for the numbers of the rules")
    for k in range(block.width):
        try:
            begin_rule(&rules[k], of, &settings[k, 0], &fields[k, 0], True)
        except ValueError as problem:
            free(rules)
            raise ValueError(f"output {k}: {problem}") from None
    return rules


cdef void end_rules(const AnyRule* rules, Block block, double[:, ::1] fields) noexcept:
    cdef _Described of = described(block.kind)
    cdef Py_ssize_t k
    for k in range(block.width):
        end_rule(&rules[k], of, &fields[k, 0])


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
    cdef Py_ssize_t n_steps = steps.order.shape[0], step = first, k
    cdef Py_ssize_t n = targets.n_outputs, width = block.width
    cdef Status status = FINISHED
    cdef const OutputOps* output_ops = block.output_ops
    cdef WideWeights weights = block.weights
    cdef bint fits_intercept = task.fit_intercept, asks = False, follows
    cdef double size, touched = 0.0
    cdef WideVisit at
    cdef Scratch scratch
    cdef AnyRule* rules
    cdef const int64_t* order
    check_run(block, examples, targets, task, losses)
    if softmax:
        check_softmax(targets)
    rules = rules_of(block, settings, fields)
    try:
        follows = measures(block, rules)
        if follows and not has_sizes(examples):
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
                if follows:
                    size = size_of(examples, at.rows.number)
                    for k in range(width):
                        if measure(block, &rules[k], size):
                            asks = True
                    if asks:
                        status = WORN_OUT
                        break
                if block.code == ADAGRAD:
                    weights.steps = rules[0].adagrad.steps
                else:
                    show_numbers(block, &weights, &scratch, rules)
                predict_by_rules(
                    block, &weights, &at, rules, fits_intercept, scratch.predictions, n
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
                    finish(block, &rules[k], scratch.slopes[k] if fits_intercept else 0.0)
                touched += (<double> at.now.length + 1.0) * <double> width
                step += 1
                if touched > PATIENCE:
                    status = PAUSED
                    break
            end_wide_visits(&at)
            free_scratch(&scratch)
        end_rules(rules, block, fields)
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
    cdef Py_ssize_t feature, k, number, place, n = out.shape[1], width = block.width
    cdef Py_ssize_t n_numbers = block.weights.stride // width
    cdef const double* wide = <const double*> block.weights.cells
    cdef const float* narrow = <const float*> block.weights.cells
    cdef const Loops* loops = default_loops()
    cdef int kind = FTRL_LOOPS if block.code == FTRL else RDA_LOOPS
    cdef double[4] cell
    cdef AnyRule* rules
    cdef const AnyRule* rule
    if n > width:
        raise ValueError(f"out must have up to {width} columns, got {n}")
    check_matrix("out", out, block.n_features, n)
    rules = rules_of(block, settings, fields)
    with nogil:
        for feature in range(block.n_features):
            for k in range(n):
                rule = &rules[k]
                for number in range(n_numbers):
                    place = feature * block.weights.stride + number * width + k
                    cell[number] = wide[place] if block.wide else narrow[place]
                if block.code == ADAGRAD:
                    if cell[0] == 0.0:
                        out[feature, k] = 0.0
                        continue
                    # A row of weights has one stamp, and keeps no decay of a single weight.
                    kind = DECAYING_ADAGRAD if rule.adagrad.l2 > 0.0 else ADAGRAD_LOOPS
                    cell[2] = adagrad.decay_at(&rule.adagrad, cell[1])
                    cell[3] = block.weights.stamps[feature]
                loops.read(kind, rule, cell, 1, &out[feature, k])
        free(rules)


def sweep_adagrad(
    Block block, const double[:, ::1] settings not None, double[:, ::1] fields not None
):
    """Bring every weight current, and change the scale of the rates if that is due."""
    cdef Py_ssize_t k
    cdef Scratch scratch
    cdef WideWeights weights = block.weights
    cdef AnyRule* rules
    if block.code != ADAGRAD:
        raise ValueError(f"block must be of the kind 'adagrad', got {block.kind!r}")
    rules = rules_of(block, settings, fields)
    if not make_scratch(&scratch, block.width):
        free(rules)
        raise MemoryError(f"no memory for the numbers of {block.width} outputs")
    with nogil:
        show_numbers(block, &weights, &scratch, rules)
        for k in range(block.width):
            scratch.moves[k] = adagrad.change_scale(&rules[k].adagrad)
        block.ops.sweep(&weights, block.n_features, scratch.moves)
        free_scratch(&scratch)
    end_rules(rules, block, fields)
    free(rules)
