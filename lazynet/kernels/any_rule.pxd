# All that is known of every rule of the step loop beside the functions of its file in rules/: its name and
# fields, the numbers in its cell, and which function answers what the loop asks.
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from .chunk cimport ADAGRAD, AVERAGED, CLOCK, FTRL, GROUPS, RDA, StepChunk
from .from_data cimport Proposal
from .lanes cimport Lanes, broadcast, gather2, gather4, gather_one, scatter2, scatter4, scatter_one
from .rules cimport adagrad, carpenter, clock, ftrl, rda, saga, tables, truncated_gradient
from .rules.adagrad cimport AdaGrad
from .rules.carpenter cimport Carpenter
from .rules.clock cimport AveragedRule, ClockRule, FreelyAveragedRule
from .rules.ftrl cimport Ftrl
from .rules.rda cimport Rda
from .rules.saga cimport Saga
from .rules.tables cimport Tables
from .rules.truncated_gradient cimport Truncated

# The rules of one output alone, by number; chunk.pxd has the others.
cdef enum:
    TRUNCATED = GROUPS + 1
    CARPENTER
    SAGA
    TABLES

# The rules of one output as types: the compiler makes a step loop of each.
ctypedef fused Rule:
    ClockRule
    AveragedRule
    FreelyAveragedRule
    Rda
    Ftrl
    AdaGrad
    Truncated
    Carpenter
    Saga
    Tables

# The struct of a rule is its constants, its fields, and what follows from them.
cdef union AnyRule:
    double[32] numbers
    ClockRule clock
    Rda rda
    Ftrl ftrl
    AdaGrad adagrad
    Truncated truncated
    Carpenter carpenter
    Saga saga
    Tables tables

cdef enum:
    MOST_NUMBERS = 4    # in a cell

# The layout of a rule, an entry of ``all_rules``.
cdef enum:
    RULE_CODE
    CELL_NUMBERS    # how many numbers a cell has
    CONSTANT_NAMES
    FIELD_NAMES

# --- what is known before a run -------------------------------------------------------------------


cdef inline dict all_rules():
    """The layout of every rule, by name.  Its constants and fields have the names and the order of
    the struct."""
    cdef tuple of_mean_size = ("rows", "sum_of_sizes", "mean", "loaded")
    cdef tuple of_clock = ("scale", "scale_low", "inverse", "shift", "shift_low", "intercept", "work")
    cdef tuple of_pending = ("pending", "pending_move")

    return {
        "adagrad": (
            ADAGRAD, 4, ("l1", "l2", "alpha", "delta", "follows", "initial"),
            ("intercept", "intercept_s", "steps", "rows", "sum_of_sizes", "mean", "waiting"),
        ),
        "averaged clock": (AVERAGED, 2, (), (*of_clock, *of_pending)),
        "carpenter": (CARPENTER, 2, ("l1", "l2", "period"), ("steps", "rate", "intercept")),
        "clock": (CLOCK, 1, (), (*of_clock, *of_pending)),
        "ftrl": (
            FTRL, 2, ("l1", "l2", "per_example", "alpha", "beta", "intercept_alpha", "intercept_beta"),
            ("intercept_z", "intercept_s", "steps", *of_mean_size),
        ),
        "rda": (
            RDA, 1, ("l1", "l2", "gamma", "rho", "intercept_gamma"), ("steps", "intercept_sum", *of_mean_size)
        ),
        "saga": (
            SAGA, 3, ("l1", "l2", "alpha"), ("intercept", "intercept_mean", "steps")
        ),
        "tables": (TABLES, 2, (), (*of_clock, "now")),
        "truncated_gradient": (TRUNCATED, 2, ("threshold",), ("gravity", "intercept")),
    }


cdef inline str prepare(AnyRule* rule, int code, bint running):
    """Compute what follows from constants and fields; returns why they cannot be used, or None."""
    cdef str defect = None
    if code == ADAGRAD:
        adagrad.prepare(&rule.adagrad)
        defect = adagrad.defect(&rule.adagrad)
    elif code == CARPENTER:
        defect = carpenter.defect(&rule.carpenter)
    elif code == CLOCK or code == AVERAGED:
        clock.prepare(&rule.clock)
    elif code == FTRL:
        ftrl.prepare(&rule.ftrl)
        defect = ftrl.defect(&rule.ftrl, running)
    elif code == RDA:
        rda.prepare(&rule.rda)
        defect = rda.defect(&rule.rda)
    elif code == SAGA:
        saga.prepare(&rule.saga)
        defect = saga.defect(&rule.saga, running)
    elif code == TABLES:
        tables.prepare(&rule.tables)
        defect = tables.defect(&rule.tables)
    elif code == TRUNCATED:
        defect = truncated_gradient.defect(&rule.truncated)
    return defect


cdef inline int begin_rule(
    AnyRule* rule, tuple layout, const double* constants, const double* fields, bint running
) except -1:
    """Fill in the rule as of now; raises where its constants or fields cannot be used."""
    cdef Py_ssize_t n = len(layout[CONSTANT_NAMES])
    cdef str defect
    if n:
        memcpy(rule.numbers, constants, n * sizeof(double))
    memcpy(rule.numbers + n, fields, len(layout[FIELD_NAMES]) * sizeof(double))
    defect = prepare(rule, layout[RULE_CODE], running)
    if defect is not None:
        raise ValueError(defect)
    return 0


cdef inline void end_rule(const AnyRule* rule, tuple layout, double* fields) noexcept:
    """Write the fields as of now."""
    cdef Py_ssize_t n = len(layout[CONSTANT_NAMES])
    memcpy(fields, rule.numbers + n, len(layout[FIELD_NAMES]) * sizeof(double))


cdef inline bint follows_row_sizes(const AnyRule* rule, int code) noexcept:
    """Whether the rates follow the sizes of the rows, which ``measure`` then counts."""
    if code == ADAGRAD:
        return rule.adagrad.follows != 0.0
    if code == FTRL:
        return rule.ftrl.follows != 0.0
    return code == RDA and rule.rda.follows != 0.0

# --- what the loop asks ---------------------------------------------------------------------------


cdef inline int numbers(const Rule* rule) noexcept nogil:
    """How many numbers a cell has."""
    if Rule is ClockRule or Rule is Rda:
        return 1
    if Rule is Saga:
        return 3
    return 4 if Rule is AdaGrad else 2


cdef inline int kept_numbers(const Rule* rule) noexcept nogil:
    """Kept per nonzero between the prediction and the step."""
    if Rule is ClockRule or Rule is Rda or Rule is Truncated or Rule is Carpenter or Rule is Tables:
        return 1
    return 3 if Rule is Ftrl else 2


cdef inline void gather(
    const Rule* rule, const double* cells, const uint32_t* columns, Lanes* cell
) noexcept nogil:
    """The numbers in the cells of some columns, those of a kind side by side."""
    if numbers(rule) == 2:
        gather2(cells, columns, &cell[0], &cell[1])
        return
    if numbers(rule) == 4:
        gather4(cells, columns, &cell[0], &cell[1], &cell[2], &cell[3])
        return
    cell[0] = gather_one(cells, columns, numbers(rule))
    if numbers(rule) == 3:
        cell[1], cell[2] = gather_one(cells + 1, columns, 3), gather_one(cells + 2, columns, 3)


cdef inline void scatter(
    const Rule* rule, double* cells, const uint32_t* columns, const Lanes* cell
) noexcept nogil:
    """Store the numbers in the cells of some columns."""
    if numbers(rule) == 2:
        scatter2(cells, columns, cell[0], cell[1])
    elif numbers(rule) == 4:
        scatter4(cells, columns, cell[0], cell[1], cell[2], cell[3])
    else:
        scatter_one(cells, columns, numbers(rule), cell[0])
        if numbers(rule) == 3:
            scatter_one(cells + 1, columns, 3, cell[1])
            scatter_one(cells + 2, columns, 3, cell[2])


cdef inline Lanes load(const Rule* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    """The weights in some cells as of now, without the factor that all share."""
    if Rule is ClockRule:
        return clock.load(rule, cell, kept)
    elif Rule is AveragedRule:
        return clock.load_averaged(&rule.clock_rule, cell, kept)
    elif Rule is FreelyAveragedRule:
        return clock.load_freely_averaged(&rule.clock_rule, cell, kept)
    elif Rule is Rda:
        return rda.load(rule, cell, kept)
    elif Rule is Ftrl:
        return ftrl.load(rule, cell, kept)
    elif Rule is AdaGrad:
        return adagrad.load(rule, cell, kept)
    elif Rule is Truncated:
        return truncated_gradient.load(rule, cell, kept)
    elif Rule is Carpenter:
        return carpenter.load(rule, cell, kept)
    elif Rule is Tables:
        return tables.load(rule, cell, kept)
    else:
        return saga.load(rule, cell, kept)


cdef inline double factor_of(const Rule* rule) noexcept nogil:
    """What the weights that are loaded are to be multiplied by."""
    if Rule is ClockRule:
        return rule.clock.scale
    elif Rule is AveragedRule or Rule is FreelyAveragedRule:
        return rule.clock_rule.clock.scale
    elif Rule is Rda:
        return rule.factor
    else:
        return 1.0


cdef inline void move_cells(
    const Rule* rule, Lanes* cell, const Lanes* kept, Lanes x, double move
) noexcept nogil:
    """Some cells after a move along x."""
    if Rule is ClockRule:
        clock.move(rule, cell, kept, move * x)
    elif Rule is AveragedRule:
        clock.move_averaged(&rule.clock_rule, cell, kept, move * x)
    elif Rule is FreelyAveragedRule:
        clock.move_freely_averaged(&rule.clock_rule, cell, kept, move * x)
    elif Rule is Rda:
        rda.move(rule, cell, kept, move * x)
    elif Rule is Ftrl:
        ftrl.move(rule, cell, kept, move * x)
    elif Rule is AdaGrad:
        adagrad.move(rule, cell, kept, x, broadcast(move))
    elif Rule is Truncated:
        truncated_gradient.move(rule, cell, kept, move * x)
    elif Rule is Carpenter:
        carpenter.move(rule, cell, kept, move * x)
    elif Rule is Tables:
        tables.move(rule, cell, kept, move * x if move != 0.0 else broadcast(0.0))
    else:
        saga.move(rule, cell, kept, move * x)


cdef inline bint finish(Rule* rule, const StepChunk* at, const Proposal* proposal) noexcept nogil:
    """The motion of all weights; whether all must be brought current before the next step."""
    cdef double move = proposal.intercept_move if at.fit_intercept else 0.0
    if Rule is Rda:
        return rda.finish(rule, move)
    elif Rule is Ftrl:
        return ftrl.finish(rule, move)
    elif Rule is AdaGrad:
        return adagrad.finish(rule, move)
    elif Rule is Truncated:
        return truncated_gradient.finish(rule, move, proposal.pull, at.limits.largest_cushion)
    elif Rule is Carpenter:
        return carpenter.finish(rule, move, proposal.rate)
    elif Rule is Tables:
        return tables.finish(rule, move, at.limits)
    elif Rule is Saga:
        return saga.finish(rule, move)
    else:
        return False


cdef inline bint measure(Rule* rule, double size) noexcept nogil:
    """Count the size of a row; whether all weights must be brought current before its step."""
    if Rule is Rda:
        return rda.measure(rule, size)
    elif Rule is Ftrl:
        return ftrl.measure(rule, size)
    elif Rule is AdaGrad:
        return adagrad.measure(rule, size)
    else:
        return False


cdef inline double added_by(const Rule* rule, const StepChunk* at) noexcept nogil:
    """The intercept that is added to a prediction."""
    if Rule is AveragedRule or Rule is FreelyAveragedRule:
        return rule.clock_rule.intercept
    elif Rule is ClockRule or Rule is Truncated or Rule is Carpenter or Rule is Tables:
        return rule.intercept  # one that was loaded counts, fitted or not
    else:
        return rule.intercept if at.fit_intercept else 0.0
