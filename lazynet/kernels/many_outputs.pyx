"""Rows of weights: models of many outputs that learn in one pass over X.

An output is one column of targets with the weights that predict it: a class against the rest, a
label, a target of a regression.  The weights of one feature lie side by side, an entry per output,
so that a step loads the feature once for all outputs; many_outputs_cells.pxd describes the loops.

Here the arrays of a run are checked; the step loop is in many_outputs_loop.pyx.  The kinds of weights
are

    "clock"            one clock for all outputs that share the penalty and the rates, or a clock
                       for each output (rules/clock.pxd)
    "averaged clock"   one clock, and the past of every weight (rules/motion.pxd)
    "groups"           FoBoS on one clock, with a penalty of the norm of every row of weights
                       (rules/groups.pxd)
    "rda", "ftrl", "adagrad"
                       rules with cells of their own (one_output.pyx).  A number of a rule exists once
                       per output, and AdaGrad has one stamp for the row of a feature: a step
                       touches all of it.

The steps of all outputs have the same rates and shrinks, or each output on a clock of its own has
its own: given for every step, or computed from the rows (from_data.pxd).

Property: see many_outputs_loop.pyx; the weights of groups equal
lazynet.reference.outputs.DenseGroups after every step (tests/exact/test_groups.py).
"""

cimport cython
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from .any_rule cimport AnyRule, fill_rule, follows_row_sizes, save_fields
from .arrays cimport Held, check_aligned, check_vector
from .examples cimport HIGHEST_LEVEL, Examples, has_row_sizes, table_at
from .from_data cimport N_RATE_FIELDS
from .losses cimport N_LOSSES
from .many_outputs_loop cimport (
    INTERCEPT, N_CLOCK_ROWS, N_OWN_ROWS, N_SCALARS, N_STRENGTHS, OWN_INTERCEPT_SUM, SHIFT, WORK,
    OutputLoops, Outputs,
)
from .many_outputs_rules cimport OutputRule
from .rows cimport FINISHED, Status
from .rule_codes cimport ADAGRAD, AVERAGED, CLOCK, FREELY_AVERAGED, GROUPS
from .rules.motion cimport COUNTED, Past
from .steps cimport Average, Steps, OutputTargets, Task, check_counts, chunk_of, greatest_width
from .target_rows cimport LABELS

from .table import RULES

#: Bytes to which a row of weights is filled up: a cache line.
LINE_BYTES = 64
CLOCK_ROWS, OWN_ROWS, SCALARS = N_CLOCK_ROWS, N_OWN_ROWS, N_SCALARS
INTERCEPT_ROW, INTERCEPT_SUM_ROW, WORK_SCALAR = INTERCEPT, OWN_INTERCEPT_SUM, WORK

# The number of a kind, and how many numbers a weight has.
cdef dict KINDS = {
    name: (code, row.numbers_of_outputs)
    for code, (name, row) in enumerate(RULES.items()) if row.lanes and row.fields
}
KINDS["groups"] = <int> GROUPS, 1


def numbers(str kind not None):
    """How many numbers a weight has."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(sorted(KINDS))}, got {kind!r}")
    return KINDS[kind][1]


@cython.binding(False)  # a method then checks the type of self
cdef class OutputBlock:
    """The weights of a block of outputs, and all that the rule keeps beside them.

    ``cells`` has a row per feature, ``numbers(kind)`` rows of ``width`` float32 or float64 each.
    ``stamps`` has an entry per feature for "adagrad".  Weights on a clock have
    ``clocks``, a column for all outputs or one for each, ``own``, ``scalars``, and ``rates`` where
    these are computed from the rows; rules with cells of their own have ``constants`` and
    ``fields``, a row per output, whose columns are those of a single output.
    """
    cdef readonly str kind
    cdef readonly Py_ssize_t width, n_features
    cdef Outputs outputs             # what is known of the block alone
    cdef const OutputLoops* loops
    cdef list held
    cdef object row                  # of the rule in the table; None on the clock
    cdef OutputRule* rules
    cdef Held constants, fields      # of its outputs
    cdef Py_ssize_t n_rates          # outputs that have rates from the rows

    def __cinit__(
        self, str kind not None, cells not None, Py_ssize_t width, stamps=None, clocks=None,
        own=None, scalars=None, rates=None, constants=None, fields=None,
    ):
        cdef Outputs* at = &self.outputs
        cdef Held array
        memset(at, 0, sizeof(Outputs))
        self.kind, self.width, self.held = kind, width, []
        n_numbers = numbers(kind)
        at.code, at.width = KINDS[kind][0], width
        array = self.hold("cells", cells, (None, None), "df")
        at.cells, at.narrow = array.begin, array.view.format == "f"
        self.n_features = at.n_features = array.shape[0]
        if at.narrow and kind == "averaged clock":
            raise TypeError("cells must be float64 where iterates are averaged, got float32")
        line = LINE_BYTES // (4 if at.narrow else 8)
        if not line <= width <= greatest_width() or width % line:
            raise ValueError(
                f"width must be a multiple of {line} up to {greatest_width()}, got {width}"
            )
        at.stride = width * <Py_ssize_t> n_numbers
        if array.shape[1] != at.stride:
            raise ValueError(f"cells must have {at.stride} columns, got {array.shape[1]}")
        if at.code == ADAGRAD:
            array = self.hold("stamps", stamps, (self.n_features,))
            at.stamps = <double*> array.begin
        if kind in RULES and not RULES[kind].on_clock:
            self.row = RULES[kind]
            shape = width, len(self.row.constants)
            self.constants = self.hold("constants", constants, shape)
            self.fields = self.hold("fields", fields, (width, len(self.row.fields)))
            self.rules = <OutputRule*> calloc(<size_t> width, sizeof(OutputRule))
            if self.rules == NULL:
                raise MemoryError(f"no memory for the rules of {width} outputs")
        else:
            array = self.hold("clocks", clocks, (N_CLOCK_ROWS, None))
            at.clocks, at.n_clocks = <double*> array.begin, array.shape[1]
            if at.n_clocks != 1 and (at.code != CLOCK or at.n_clocks != width):
                raise ValueError(
                    f"clocks must have 1 column, or {width} where the kind is 'clock', got "
                    f"{at.n_clocks} for {kind!r}"
                )
            array = self.hold("own", own, (N_OWN_ROWS, width))
            at.own = <double*> array.begin
            array = self.hold("scalars", scalars, (N_SCALARS,))
            at.scalars = <double*> array.begin
            if rates is not None:
                array = self.hold("rates", rates, (None, N_RATE_FIELDS))
                at.rates, self.n_rates = <double*> array.begin, array.shape[0]
        self.at_level(HIGHEST_LEVEL)

    def __dealloc__(self):
        free(self.rules)

    cdef Held hold(self, str name, array, tuple shape, str formats="d"):
        held = Held(name, array, shape, formats)
        self.held.append(held)
        return held

    def at_level(self, int level):
        """Use the loops of a lower vector level, 0 the generic one; returns the level in use.

        For tests: every level gives the same bits.
        """
        # Groups are computed in double.
        narrow = self.outputs.narrow and self.outputs.code != GROUPS
        self.loops = <const OutputLoops*> table_at(
            "many_outputs_loop", &level, "_f32" if narrow else ""
        )
        return level

    cdef Outputs now(self) except *:
        """What a call is told of the block, with the rules as of now."""
        cdef Outputs at = self.outputs
        cdef Py_ssize_t k, n_constants, n_fields
        cdef bint decays = False
        at.rates = NULL
        if self.row is None:
            return at
        n_constants, n_fields = self.constants.shape[1], self.fields.shape[1]
        at.rules = self.rules
        for k in range(self.width):
            try:
                fill_rule(
                    <AnyRule*> &self.rules[k], at.code, self.row,
                    <double*> self.constants.begin + k * n_constants,
                    <double*> self.fields.begin + k * n_fields, True,
                )
            except ValueError as problem:
                raise ValueError(f"output {k}: {problem}") from None
            if at.code == ADAGRAD:
                decays |= self.rules[k].adagrad.decays
        if at.code == ADAGRAD:
            for k in range(self.width):
                self.rules[k].adagrad.some_decay = decays
        return at

    cdef int save_rules(self) except -1:
        """Write the fields as of now."""
        cdef Py_ssize_t k, n_fields
        if self.row is not None:
            n_fields = self.fields.shape[1]
            for k in range(self.width):
                save_fields(
                    <AnyRule*> &self.rules[k], self.row, <double*> self.fields.begin + k * n_fields
                )
        return 0


cdef int check_run(
    OutputBlock block, Examples examples, OutputTargets targets, Task task, double[::1] losses,
    bint softmax, bint learns
) except -1:
    if block.n_features != examples.csr.n_columns:
        raise ValueError(
            f"block must have cells for {examples.csr.n_columns} features, got {block.n_features}"
        )
    if targets.n_rows != examples.csr.n_rows:
        raise ValueError(
            f"targets must have {examples.csr.n_rows} rows, got {targets.n_rows}"
        )
    if targets.n_outputs > block.width:
        raise ValueError(
            f"targets must have at most {block.width} outputs, got {targets.n_outputs}"
        )
    if softmax and targets.rows.form != LABELS:
        raise ValueError("targets must be labels where softmax is asked for")
    if not 0 <= task.loss < N_LOSSES:
        raise ValueError(f"loss must be a code from 0 to {N_LOSSES - 1}, got {task.loss}")
    if not learns and block.outputs.code in (AVERAGED, GROUPS):
        raise ValueError(f"block must not be of the kind {block.kind!r} if nothing learns")
    return check_vector("losses", losses, targets.n_outputs)


cdef int check_steps_on_clock(
    OutputBlock block, Examples examples, OutputTargets targets, Task task, bint softmax,
    bint has_own, bint averaged
) except -1:
    """Raises unless the options of the steps fit each other."""
    cdef bint rates_from_data = task.tuning.in_use
    if averaged != (block.outputs.code == AVERAGED):
        raise ValueError("average must be given for the kind 'averaged clock', and for no other")
    if block.outputs.code == GROUPS and task.shrink_first:
        raise ValueError("task must not shrink first where the weights of a feature are a group")
    if has_own and rates_from_data:
        raise ValueError("own_steps must not be given where rates are computed from the rows")
    if (block.outputs.n_clocks == 1) == (has_own or rates_from_data):
        raise ValueError(
            "block must have a clock per output where the steps of outputs differ, else 1 clock"
        )
    if softmax and rates_from_data:
        raise ValueError("softmax must not be asked for with rates computed from the rows")
    if rates_from_data and block.n_rates < targets.n_outputs:
        raise ValueError(
            f"block must have {targets.n_outputs} rows of rates, which are computed from the rows, "
            f"got {block.n_rates}"
        )
    if rates_from_data and not has_row_sizes(examples):
        raise ValueError("examples must have row_sizes where rates are computed from the rows")
    return 0


cdef list add_own_steps(Outputs* at, own_steps, Py_ssize_t n_steps):
    """Let every output take steps of its own; returns what is held."""
    cdef list held = []
    if not isinstance(own_steps, tuple) or len(own_steps) != 4:
        raise TypeError(
            f"own_steps must be four arrays: rates, keep, keep_low and pull, got {own_steps!r:.40}"
        )
    for name, array in zip(("rates", "keep", "keep_low", "pull"), own_steps):
        columns = at.width if name == "pull" else None if name == "rates" else at.rate_columns
        held.append(Held(f"{name} of own_steps", array, (n_steps, columns), "d", False))
        if name == "rates":
            at.rate_columns = (<Held> held[0]).shape[1]
            if at.rate_columns != 1 and at.rate_columns != at.width:
                raise ValueError(
                    f"rates of own_steps must have 1 or {at.width} columns, got {at.rate_columns}"
                )
    at.rates_of_steps = <const double*> (<Held> held[0]).begin
    at.own_keep = <const double*> (<Held> held[1]).begin
    at.own_keep_low = <const double*> (<Held> held[2]).begin
    at.own_pull = <const double*> (<Held> held[3]).begin
    return held


def run(
    OutputBlock block,
    Examples examples,
    OutputTargets targets,
    Steps steps,
    Task task,
    double[::1] losses not None,      # IN/OUT: the sums of importance times loss
    Py_ssize_t first,
    bint softmax=False,
    bint learns=True,
    own_steps=None,               # rates, keep, keep_low and pull of each output: a row per step with
                                  # an entry per output; but for pull, or one entry for all outputs
    Average average=None,         # IN/OUT: the past of the one clock, where iterates are averaged
    strengths=None,               # l1, l2 and the largest rate of each output, where rates are
                                  # computed from the rows; else those of the task
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken.

    Without ``learns`` no step is taken, and the losses of the last weights are added up.  AdaGrad's
    weights of the rows are brought current, which changes them by rounding alone.
    """
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Status status
    cdef Outputs at
    cdef Past past
    cdef list held = []
    cdef bint on_clock = block.row is None, follows
    check_run(block, examples, targets, task, losses, softmax, learns)
    at = block.now()
    follows = learns and (
        task.tuning.in_use if on_clock
        else follows_row_sizes(<AnyRule*> at.rules, at.code)
    )
    if on_clock and learns:
        check_steps_on_clock(
            block, examples, targets, task, softmax, own_steps is not None, average is not None
        )
    elif follows and not has_row_sizes(examples):
        raise ValueError(
            f"examples must have row_sizes: the rates of {block.kind!r} follow the sizes of the "
            f"rows"
        )
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    at.chunk = chunk_of(examples, steps, task, first)
    at.chunk.follows_row_sizes = follows
    at.targets, at.n, at.losses = targets.rows, targets.n_outputs, &losses[0]
    at.softmax, at.learns = softmax, learns
    at.rates_of_steps, at.rate_columns = at.chunk.rates, 1
    if on_clock and learns:
        if own_steps is not None:
            held = add_own_steps(&at, own_steps, n_steps)
        if task.tuning.in_use:
            at.rates = block.outputs.rates
            if strengths is not None:
                held = [Held("strengths", strengths, (at.n, N_STRENGTHS), "d", False)]
                at.strengths = <const double*> (<Held> held[0]).begin
        if average is not None:
            check_counts(steps.counts, n_steps)
            past = average.past()
            at.chunk.counts, at.past, at.totals = &steps.counts[0], &past, &average.fields[0]
            # Without a pull no weight vanishes.
            if not task.has_pull and at.clocks[SHIFT] == 0.0:
                at.code = FREELY_AVERAGED
    with nogil:
        status = block.loops.run(&at)
    block.save_rules()
    if at.past != NULL:
        average.fields[COUNTED] = <double> past.n
    return <int> status, at.chunk.step


cdef int check_done(bint done, OutputBlock block) except -1:
    if not done:
        raise MemoryError(f"no memory for the weights of {block.width} outputs")
    return 0


def read(
    OutputBlock block,
    double[:, ::1] out not None,  # OUT: a row per feature, a column per output
):
    """The weights of every output as of now, but for averages."""
    cdef Outputs at = block.now()
    cdef Py_ssize_t n = out.shape[1]
    cdef bint done
    if at.code == AVERAGED:
        raise ValueError("block must be of a kind without averages, got 'averaged clock'")
    if out.shape[0] != at.n_features or n > at.width:
        raise ValueError(
            f"out must have {at.n_features} rows and up to {at.width} columns, got "
            f"{(out.shape[0], n)}"
        )
    if at.n_features == 0 or n == 0:
        return
    check_aligned("out", &out[0, 0])
    with nogil:
        done = block.loops.read(&at, &out[0, 0], n)
    check_done(done, block)


def sweep(OutputBlock block):
    """Bring every weight current; AdaGrad changes the scale of its rates if that is due.

    The clocks are then to be set to their start.
    """
    cdef Outputs at = block.now()
    cdef bint done
    if at.code not in (CLOCK, GROUPS, ADAGRAD):
        raise ValueError(f"block must be of a kind that is swept in one call, got {block.kind!r}")
    with nogil:
        done = block.loops.sweep(&at)
    check_done(done, block)
    block.save_rules()
