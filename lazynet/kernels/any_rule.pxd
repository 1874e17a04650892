# What is known of every rule before a run: its fields, and which function of its file in rules/ fills them
# in.  The branches follow from the rows of table.py (setup.py).
from libc.string cimport memcpy

include "any_rule.pxi"

cdef inline int fill_rule(
    AnyRule* rule, int code, object row, const double* constants, const double* fields, bint running
) except -1:
    """Fill in the rule as of now; raises where its constants or fields cannot be used."""
    cdef Py_ssize_t n = len(row.constants)
    cdef str defect
    if n:
        memcpy(rule.numbers, constants, n * sizeof(double))
    memcpy(rule.numbers + n, fields, len(row.fields) * sizeof(double))
    defect = begin_rule(rule, code, running)
    if defect is not None:
        raise ValueError(defect)
    return 0


cdef inline int save_fields(const AnyRule* rule, object row, double* fields) except -1:
    """Write the fields as of now."""
    memcpy(fields, rule.numbers + <Py_ssize_t> len(row.constants), len(row.fields) * sizeof(double))
    return 0
