# The rules by name: what is known of each beside the functions of its file in rules/.
from .chunk cimport (
    CLOCK,
    AVERAGED,
    RDA,
    FTRL,
    ADAGRAD,
    DECAYING_ADAGRAD,
    TRUNCATED,
    CARPENTER,
    SAGA,
    TABLES,
)
from .rules cimport adagrad, clock, ftrl, rda, saga, tables
from .rules.adagrad cimport AdaGrad
from .rules.carpenter cimport Carpenter
from .rules.clock cimport OnClock
from .rules.ftrl cimport Ftrl
from .rules.rda cimport Rda
from .rules.saga cimport Saga
from .rules.tables cimport OnTables
from .rules.truncated_gradient cimport Truncated


# The struct of a rule is its constants, its fields, and what follows from them.
cdef union AnyRule:
    double[32] numbers
    OnClock clock
    Rda rda
    Ftrl ftrl
    AdaGrad adagrad
    Truncated truncated
    Carpenter carpenter
    Saga saga
    OnTables tables


cdef inline dict all_kinds():
    """For every rule by name: its number, the numbers in a cell, and the names of its constants and
    fields, which are those of the struct, in order."""
    cdef tuple of_scale = ("rows", "sizes", "mean", "loaded")
    cdef tuple of_clock = ("scale", "scale_low", "inverse", "shift", "shift_low", "intercept", "work")
    cdef tuple of_pending = ("pending", "pending_move")

    return {
        "adagrad": (
            ADAGRAD, 4, ("l1", "l2", "alpha", "delta", "follows", "initial"),
            ("intercept", "intercept_s", "steps", "rows", "sizes", "mean", "waiting"),
        ),
        "averaged clock": (AVERAGED, 2, (), (*of_clock, *of_pending)),
        "carpenter": (CARPENTER, 2, ("l1", "l2", "period"), ("steps", "rate", "intercept")),
        "clock": (CLOCK, 1, (), (*of_clock, *of_pending)),
        "ftrl": (
            FTRL, 2, ("l1", "l2", "per_example", "alpha", "beta", "free_alpha", "free_beta"),
            ("intercept_z", "intercept_s", "steps", *of_scale),
        ),
        "rda": (
            RDA, 1, ("l1", "l2", "gamma", "rho", "free_gamma"), ("seen", "intercept_sum", *of_scale)
        ),
        "saga": (
            SAGA, 3, ("l1", "l2", "alpha"), ("intercept", "intercept_mean", "steps")
        ),
        "tables": (TABLES, 2, (), (*of_clock, "now")),
        "truncated_gradient": (TRUNCATED, 2, ("threshold",), ("gravity", "intercept")),
    }


cdef inline str prepare_kind(AnyRule* rule, int kind, bint running):
    """Compute what follows from constants and fields; returns why they cannot be used, or None."""
    cdef str defect = None
    if kind == ADAGRAD:
        adagrad.prepare(&rule.adagrad)
        defect = adagrad.defect(&rule.adagrad, running)
    elif kind == CLOCK or kind == AVERAGED:
        clock.prepare(&rule.clock)
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


cdef inline bint measures_kind(const AnyRule* rule, int kind) noexcept:
    """Whether the rates follow the sizes of the rows."""
    if kind == ADAGRAD:
        return rule.adagrad.follows != 0.0
    if kind == FTRL:
        return rule.ftrl.measures != 0.0
    return kind == RDA and rule.rda.measures != 0.0


cdef inline int code_of(int kind, const AnyRule* rule) noexcept:
    """The number of the rule among the loops."""
    return DECAYING_ADAGRAD if kind == ADAGRAD and rule.adagrad.l2 > 0.0 else kind
