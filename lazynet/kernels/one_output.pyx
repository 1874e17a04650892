"""The rules whose weights are computed from a cell of numbers each, and the clock.

A rule keeps a cell per weight, from which the weight is computed when an example needs it.  What a
kind of cell computes, with its paper and the property that ties it to the reference, is in its file
in rules/; the step loops are in one_output_loop.pyx.

State is plain arrays of float64: ``cells``, a row per weight; ``fields``, the scalars that change
from step to step; ``constants``, the constants of the rule; and ``memory``, what some kinds keep
beside the cells:

    "clock", "averaged clock"  the state of rates that are computed from the rows (from_data.pxd)
    "saga"                     for every row the importance times the slope of its last visit
    "tables"                   P and B of every step

An averaged clock also has an ``Average`` (steps.pyx).
"""

from .any_rule cimport AnyRule, fill_rule, follows_row_sizes, intercept_of, save_fields
from .arrays cimport check_cells, check_vector
from .chunk cimport StepChunk
from .examples cimport Examples, check_runnable, has_row_sizes, highest_table
from .from_data cimport (
    LAST_RATE, LOADED, LOWERINGS, N_RATE_FIELDS, ROWS_SEEN, STALLS, load_rates, save_rates,
)
from .one_output_loop cimport Loops
from .rows cimport FINISHED, Status
from .rule_codes cimport AVERAGED, CLOCK, FREELY_AVERAGED, SAGA, TABLES
from .rules.adagrad cimport decay_at
from .rules.clock cimport ClockRule
from .rules.motion cimport COUNTED
from .steps cimport Average, Steps, Task, check_counts, chunk_of

from .table import RULES

RATE_FIELDS = N_RATE_FIELDS
LAST_RATE_FIELD = LAST_RATE
LOADED_FIELD = LOADED
LOWERINGS_FIELD = LOWERINGS
ROWS_SEEN_FIELD = ROWS_SEEN
STALLS_FIELD = STALLS


# The number and the row of every kind.
cdef dict KINDS = {
    name: (code, row) for code, (name, row) in enumerate(RULES.items()) if row.fields
}


cdef object row_of(str kind):
    """The row of the table."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(sorted(KINDS))}, got {kind!r}")
    return KINDS[kind][1]


cdef int begin(
    AnyRule* rule, str kind, const double[::1] constants, const double[::1] fields, bint running
) except -1:
    """Set ``rule`` from its constants and fields; returns the number of its kind."""
    cdef object row = row_of(kind)
    cdef int code = KINDS[kind][0]
    check_vector("constants", constants, len(row.constants))
    check_vector("fields", fields, len(row.fields))
    fill_rule(rule, code, row, &constants[0] if constants.shape[0] else NULL, &fields[0], running)
    return code


cdef double* memory_of(double[::1] memory, str holds, Py_ssize_t length) except? NULL:
    """The array beside the cells; raises where it is missing or has another length."""
    if memory is None:
        raise TypeError(f"memory must be an array with {holds}, got None")
    check_vector("memory", memory, length)
    return &memory[0] if length else NULL


cdef int take_entries(AnyRule* rule, double[::1] memory) except -1:
    """Give the rule its tables of two numbers per entry; raises if ``now`` lies outside."""
    cdef Py_ssize_t length = 0 if memory is None else memory.shape[0]
    rule.tables.entries = memory_of(memory, "two numbers per step", length)
    rule.tables.room = length // 2
    if not 0.0 <= rule.tables.now < rule.tables.room:
        raise ValueError(
            f"fields: now must lie in the tables, from 0 to {rule.tables.room - 1}, "
            f"got {rule.tables.now}"
        )
    return 0


cdef int take_memory(
    AnyRule* rule, int code, Examples examples, Task task, double[::1] memory
) except -1:
    """Give the rule what it has beside the cells."""
    cdef ClockRule* clock_rule = &rule.clock
    cdef double* fields
    if code == SAGA:
        rule.saga.n_rows = <double> examples.csr.n_rows
        rule.saga.slopes = memory_of(memory, "an entry per row", examples.csr.n_rows)
    elif code == TABLES:
        take_entries(rule, memory)
        rule.tables.shrink_first = task.shrink_first
    elif code == CLOCK or code == AVERAGED:
        clock_rule.positive, clock_rule.totals = task.positive, NULL
        if task.tuning.in_use:
            fields = memory_of(memory, "the state of the rates", N_RATE_FIELDS)
            load_rates(&clock_rule.state, fields, &task.tuning)
    if not has_row_sizes(examples) and (task.tuning.in_use or follows_row_sizes(rule, code)):
        raise ValueError("examples must have row_sizes: the rates follow the sizes of the rows")
    return 0


def run(
    str kind not None,
    Examples examples,
    Steps steps,
    Task task,
    const double[::1] constants not None,
    double[:, ::1] cells not None,   # IN/OUT
    double[::1] fields not None,     # IN/OUT
    Py_ssize_t first,
    double[::1] memory=None,         # IN/OUT: beside the cells, see above
    Average average=None,            # IN/OUT: the past of an averaged clock
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef object row = row_of(kind)
    cdef Status status
    cdef AnyRule rule
    cdef StepChunk at
    cdef int code
    if (average is None) == (kind == "averaged clock"):
        raise ValueError("average must be given for the kind 'averaged clock', and for no other")
    check_cells(cells, examples.csr.n_columns, row.numbers)
    check_runnable(examples, task.loss)
    code = begin(&rule, kind, constants, fields, True)
    take_memory(&rule, code, examples, task, memory)
    if not 0 <= first < steps.order.shape[0]:
        return <int> FINISHED, steps.order.shape[0]
    at = chunk_of(examples, steps, task, first)
    at.cells = &cells[0, 0] if cells.shape[0] else NULL
    at.follows_row_sizes = task.tuning.in_use or follows_row_sizes(&rule, code)
    if average is not None:
        check_counts(steps.counts, steps.order.shape[0])
        at.counts, rule.clock.totals = &steps.counts[0], &average.fields[0]
        rule.clock.past = average.past()
        # Without a pull no weight vanishes.
        if not task.has_pull and rule.clock.clock.shift == 0.0:
            code = FREELY_AVERAGED
    with nogil:
        status = examples.loops.run(code, &rule, &at)
    save_fields(&rule, row, &fields[0])
    if task.tuning.in_use and code in (CLOCK, AVERAGED, FREELY_AVERAGED):
        save_rates(&rule.clock.state, &memory[0])
    if average is not None:
        rule.clock.totals[COUNTED] = <double> rule.clock.past.n
    return <int> status, at.step


def sweep(
    str kind not None,
    double[:, ::1] cells not None,   # IN/OUT
    double[::1] fields not None,     # IN/OUT
    const double[::1] constants not None,
):
    """Bring every weight current, and change the scale of the rates if that is due."""
    cdef object row = row_of(kind)
    cdef AnyRule rule
    cdef const Loops* loops = <const Loops*> highest_table("one_output_loop")
    if kind != "adagrad":
        raise ValueError(f"kind must be one whose weights the kernel sweeps, got {kind!r}")
    check_cells(cells, cells.shape[0], row.numbers)
    begin(&rule, kind, constants, fields, False)
    with nogil:
        if cells.shape[0]:
            loops.renew(&rule, &cells[0, 0], cells.shape[0])
    save_fields(&rule, row, &fields[0])


def read(
    str kind not None,
    const double[:, ::1] cells not None,
    const double[::1] fields not None,
    const double[::1] constants not None,
    double[::1] weights not None,  # OUT: may be ``cells`` itself where a cell is one number
    double[::1] memory=None,       # of tables
):
    """weights <- the weights as of now."""
    cdef object row = row_of(kind)
    cdef AnyRule rule
    cdef const Loops* loops = <const Loops*> highest_table("one_output_loop")
    cdef int code
    check_cells(cells, cells.shape[0], row.numbers)
    check_vector("weights", weights, cells.shape[0])
    code = begin(&rule, kind, constants, fields, False)
    if code == TABLES:
        take_entries(&rule, memory)
    with nogil:
        if cells.shape[0]:
            loops.read(code, &rule, &cells[0, 0], cells.shape[0], &weights[0])


def intercept(
    str kind not None, const double[::1] fields not None, const double[::1] constants not None
):
    """The intercept as of now."""
    cdef AnyRule rule
    cdef int code = begin(&rule, kind, constants, fields, False)
    return intercept_of(&rule, code)


def retune(
    str kind not None,
    double[:, ::1] cells not None,  # IN/OUT
    const double[::1] fields not None,
    const double[::1] constants not None,
):
    """Recompute what every cell of AdaGrad caches of the constants."""
    cdef object row = row_of(kind)
    cdef AnyRule rule
    cdef Py_ssize_t j
    if kind != "adagrad":
        raise ValueError(f"kind must be one whose cells depend on the constants, got {kind!r}")
    check_cells(cells, cells.shape[0], row.numbers)
    begin(&rule, kind, constants, fields, False)
    with nogil:
        for j in range(cells.shape[0]):
            cells[j, 2] = decay_at(&rule.adagrad, cells[j, 1])
