# The rules whose weights are computed from a cell of numbers each; see cells.pyx.
from .chunk cimport Kind
from .rules.adagrad cimport AdaGrad
from .rules.carpenter cimport Carpenter
from .rules.ftrl cimport Ftrl
from .rules.rda cimport Rda
from .rules.saga cimport Saga
from .rules.tables cimport OnTables
from .rules.truncated_gradient cimport Truncated


# The struct of a rule is its settings, its fields, and what follows from them.
cdef union AnyRule:
    double[32] numbers
    Rda rda
    Ftrl ftrl
    AdaGrad adagrad
    Truncated truncated
    Carpenter carpenter
    Saga saga
    OnTables tables


# What is known of a rule beside its functions.
cdef class _Described:
    cdef readonly int kind, numbers  # in a cell
    cdef readonly tuple settings, fields

# The description of the kind of this name; raises if there is none.
cdef _Described described(str kind)

# Fill in the rule as of now; raises where its settings or fields cannot be used.
cdef int begin_rule(
    AnyRule* rule, _Described of, const double* settings, const double* fields, bint running
) except -1

# Write the fields as of now.
cdef void end_rule(const AnyRule* rule, _Described of, double* fields) noexcept

# Whether the rates follow the sizes of the rows.
cdef bint measures(_Described of, const AnyRule* rule) noexcept
