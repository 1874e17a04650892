# The rules whose weights are computed from a cell of numbers each, and the clock; see cells.pyx.


# What is known of a rule beside its functions.
cdef class _Described:
    cdef readonly int code, numbers  # in a cell
    cdef readonly tuple constants, fields

# The description of the kind of this name; raises if there is none.
cdef _Described described(str kind)

# Fill in the struct of a rule as of now; raises where its constants or fields cannot be used.
cdef int begin_rule(
    void* rule, _Described of, const double* constants, const double* fields, bint running
) except -1

# Write the fields as of now.
cdef void end_rule(const void* rule, _Described of, double* fields) noexcept

# Whether the rates of the rule follow the sizes of the rows.
cdef bint rates_follow_sizes(const void* rule, _Described of) noexcept
