"""The rules whose weights are computed from a cell of numbers each.

A rule with a state of its own keeps a cell per weight, from which the weight is computed when an
example needs it.  What a kind of cell computes, with its paper and the property that ties it to the
reference, is in its file in rules/; the step loop is that of online.pyx.

State is plain arrays of float64: ``cells``, a row per weight; ``fields``, the scalars that change
from step to step; ``settings``, the constants of the rule; and for kinds that remember ``slopes``,
an entry per row of the data set: the importance times the slope of the loss at the last visit.
"""

from libc.string cimport memcpy

from .chunk cimport (
    ADAGRAD,
    CARPENTER,
    DECAYING_ADAGRAD,
    FTRL,
    RDA,
    SAGA,
    TABLES,
    TRUNCATED,
    Chunk,
    Loops,
)
from .examples cimport (
    FINISHED,
    Examples,
    Status,
    Steps,
    Task,
    check_cells,
    check_runnable,
    check_vector,
    chunk_of,
    has_sizes,
)
from .levels cimport highest_table
from .rules cimport adagrad, ftrl, rda, saga, tables


cdef class _Described:
    def __init__(self, int kind, int numbers, tuple settings, tuple fields):
        self.kind, self.numbers, self.settings, self.fields = kind, numbers, settings, fields


_SCALE = ("rows", "sizes", "mean", "loaded")

# The settings and fields of a struct, in order.
cdef dict KINDS = {
    "adagrad": _Described(
        ADAGRAD, 4, ("l1", "l2", "alpha", "delta", "follows", "initial"),
        ("intercept", "intercept_s", "steps", "rows", "sizes", "mean", "waiting"),
    ),
    "carpenter": _Described(CARPENTER, 2, ("l1", "l2", "period"), ("steps", "rate", "intercept")),
    "ftrl": _Described(
        FTRL, 2, ("l1", "l2", "per_example", "alpha", "beta", "free_alpha", "free_beta"),
        ("intercept_z", "intercept_s", "steps", *_SCALE),
    ),
    "rda": _Described(
        RDA, 1, ("l1", "l2", "gamma", "rho", "free_gamma"), ("seen", "intercept_sum", *_SCALE)
    ),
    "saga": _Described(
        SAGA, 3, ("l1", "l2", "alpha"), ("intercept", "intercept_mean", "steps")
    ),
    "tables": _Described(
        TABLES, 2, (),
        ("scale", "scale_low", "inverse", "shift", "shift_low", "intercept", "work", "now"),
    ),
    "truncated_gradient": _Described(TRUNCATED, 2, ("threshold",), ("gravity", "intercept")),
}


cdef _Described described(str kind):
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(sorted(KINDS))}, got {kind!r}")
    return KINDS[kind]


def numbers(str kind not None):
    """How many numbers a cell has."""
    return described(kind).numbers


def fields(str kind not None):
    """The names of the scalars that change from step to step, in order."""
    return described(kind).fields


def settings(str kind not None):
    """The names of the constants of the rule, in order."""
    return described(kind).settings


cdef str prepare(AnyRule* rule, int kind, bint running):
    """Compute what follows from settings and fields; returns why they cannot be used, or None."""
    cdef str defect = None
    if kind == ADAGRAD:
        adagrad.prepare(&rule.adagrad)
        defect = adagrad.defect(&rule.adagrad, running)
    elif kind == FTRL:
        ftrl.prepare(&rule.ftrl)
        defect = ftrl.defect(&rule.ftrl, running)
    elif kind == RDA:
        rda.prepare(&rule.rda)
        defect = rda.defect(&rule.rda, running)
    elif kind == SAGA:
        saga.prepare(&rule.saga)
        defect = saga.defect(&rule.saga, running)
    elif kind == TABLES:
        tables.prepare(&rule.tables)
        defect = tables.defect(&rule.tables)
    return defect


cdef int begin_rule(
    AnyRule* rule, _Described of, const double* settings, const double* fields, bint running
) except -1:
    cdef Py_ssize_t n = len(of.settings)
    memcpy(rule.numbers, settings, n * sizeof(double))
    memcpy(rule.numbers + n, fields, len(of.fields) * sizeof(double))
    cdef str defect = prepare(rule, of.kind, running)
    if defect is not None:
        raise ValueError(defect)
    return 0


cdef void end_rule(const AnyRule* rule, _Described of, double* fields) noexcept:
    memcpy(fields, rule.numbers + len(of.settings), len(of.fields) * sizeof(double))


cdef int code_of(_Described of, const AnyRule* rule) noexcept:
    """The number of the rule among the loops."""
    return DECAYING_ADAGRAD if of.kind == ADAGRAD and rule.adagrad.l2 > 0.0 else of.kind


cdef int rule_of(
    AnyRule* rule, _Described of, const double[::1] settings, const double[::1] fields, bint running
) except -1:
    check_vector("settings", settings, len(of.settings))
    check_vector("fields", fields, len(of.fields))
    # Tables have no settings.
    return begin_rule(
        rule, of, &settings[0] if settings.shape[0] else &fields[0], &fields[0], running
    )


cdef int take_entries(AnyRule* rule, _Described of, double[::1] entries) except -1:
    """Give the rule its tables, of two numbers an entry, or raise where they do not hold ``now``."""
    if of.kind != TABLES:
        return 0
    if entries is None:
        raise TypeError("entries must be an array with two numbers per step, got None")
    check_vector("entries", entries, entries.shape[0])
    rule.tables.room = entries.shape[0] // 2
    if not 0.0 <= rule.tables.now < rule.tables.room:
        raise ValueError(
            f"fields: now must lie in the tables, from 0 to {rule.tables.room - 1}, "
            f"got {rule.tables.now}"
        )
    rule.tables.entries = &entries[0]
    return 0


cdef bint measures(_Described of, const AnyRule* rule) noexcept:
    """Whether the rates follow the sizes of the rows."""
    if of.kind == ADAGRAD:
        return rule.adagrad.follows != 0.0
    if of.kind == FTRL:
        return rule.ftrl.measures != 0.0
    return of.kind == RDA and rule.rda.measures != 0.0


def run(
    str kind not None,
    Examples examples,
    Steps steps,
    Task task,
    const double[::1] settings not None,
    double[:, ::1] cells not None,   # IN/OUT
    double[::1] fields not None,     # IN/OUT
    Py_ssize_t first,
    double[::1] slopes=None,         # IN/OUT: an entry per row, for SAGA
    double[::1] entries=None,        # IN/OUT: {P, B} of every step, for tables
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef _Described of = described(kind)
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Status status
    cdef AnyRule rule
    cdef Chunk at
    cdef int code
    if of.kind == SAGA:
        if slopes is None:
            raise TypeError("slopes must be an array with an entry per row, got None")
        check_vector("slopes", slopes, examples.csr.n_rows)
    check_cells(cells, examples.csr.n_columns, of.numbers)
    check_runnable(examples, task.loss)
    rule_of(&rule, of, settings, fields, True)
    if of.kind == SAGA:
        rule.saga.n_rows = <double> examples.csr.n_rows
    take_entries(&rule, of, entries)
    if measures(of, &rule) and not has_sizes(examples):
        raise ValueError(
            f"examples must have sizes: the rates of {kind!r} follow the sizes of the rows"
        )
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    at = chunk_of(examples, steps, task, first)
    at.cells = &cells[0, 0] if cells.shape[0] else NULL
    if of.kind == TABLES:
        rule.tables.shrink_first = task.shrink_first
    at.slopes = &slopes[0] if of.kind == SAGA and slopes.shape[0] else NULL
    code = code_of(of, &rule)
    with nogil:
        status = examples.loops.walk(code, &rule, &at)
    end_rule(&rule, of, &fields[0])
    return <int> status, at.step


def sweep(
    str kind not None,
    double[:, ::1] cells not None,   # IN/OUT
    double[::1] fields not None,     # IN/OUT
    const double[::1] settings not None,
):
    """Bring every weight current, and change the scale of the rates if that is due."""
    cdef _Described of = described(kind)
    cdef AnyRule rule
    cdef const Loops* loops = <const Loops*> highest_table("online")
    cdef int code
    if of.kind != ADAGRAD:
        raise ValueError(f"kind must be one whose weights the kernel sweeps, got {kind!r}")
    check_cells(cells, cells.shape[0], of.numbers)
    rule_of(&rule, of, settings, fields, False)
    code = code_of(of, &rule)
    with nogil:
        if cells.shape[0]:
            loops.renew(code, &rule, &cells[0, 0], cells.shape[0])
    end_rule(&rule, of, &fields[0])


def read(
    str kind not None,
    const double[:, ::1] cells not None,
    const double[::1] fields not None,
    const double[::1] settings not None,
    double[::1] weights not None,  # OUT
    double[::1] entries=None,      # {P, B} of every step, for tables
):
    """weights <- the weights as of now."""
    cdef _Described of = described(kind)
    cdef AnyRule rule
    cdef const Loops* loops = <const Loops*> highest_table("online")
    cdef int code
    check_cells(cells, cells.shape[0], of.numbers)
    check_vector("weights", weights, cells.shape[0])
    rule_of(&rule, of, settings, fields, False)
    take_entries(&rule, of, entries)
    code = code_of(of, &rule)
    with nogil:
        if cells.shape[0]:
            loops.read(code, &rule, &cells[0, 0], cells.shape[0], &weights[0])


def intercept(
    str kind not None, const double[::1] fields not None, const double[::1] settings not None
):
    """The intercept as of now."""
    cdef _Described of = described(kind)
    cdef AnyRule rule
    rule_of(&rule, of, settings, fields, False)
    if of.kind == RDA:
        return rule.rda.intercept
    if of.kind == FTRL:
        return rule.ftrl.intercept
    return fields[of.fields.index("intercept")]


def retune(
    str kind not None,
    double[:, ::1] cells not None,  # IN/OUT
    const double[::1] fields not None,
    const double[::1] settings not None,
):
    """Recompute what every cell of AdaGrad caches of the settings."""
    cdef _Described of = described(kind)
    cdef AnyRule rule
    cdef Py_ssize_t j
    if of.kind != ADAGRAD:
        raise ValueError(f"kind must be one whose cells depend on the settings, got {kind!r}")
    check_cells(cells, cells.shape[0], of.numbers)
    rule_of(&rule, of, settings, fields, False)
    with nogil:
        for j in range(cells.shape[0]):
            cells[j, 2] = adagrad.decay_at(&rule.adagrad, cells[j, 1])
