# Rows with a value for every column; see dense_rows.pyx.
from .examples cimport Examples
from .rows cimport Index

# Whether every row has a value for every column, in order.
cdef bint is_full(Examples examples) noexcept


cdef inline bint count_up(const Index* columns, Py_ssize_t n) noexcept nogil:
    """Whether the columns are 0, 1, ... n - 1."""
    cdef Py_ssize_t k
    cdef Index others = 0
    for k in range(n):
        others |= columns[k] ^ <Index> k
    return others == 0
