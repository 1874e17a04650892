# The rules whose weights are computed from a cell of numbers each, and the clock; see cells.pyx.
from .kinds cimport AnyRule


# What is known of a rule beside its functions.
cdef class _Described:
    cdef readonly int kind, numbers  # in a cell
    cdef readonly tuple constants, fields

# The description of the kind of this name; raises if there is none.
cdef _Described described(str kind)

# Fill in the rule as of now; raises where its constants or fields cannot be used.
cdef int begin_rule(
    AnyRule* rule, _Described of, const double* constants, const double* fields, bint running
) except -1

# Write the fields as of now.
cdef void end_rule(const AnyRule* rule, _Described of, double* fields) noexcept
