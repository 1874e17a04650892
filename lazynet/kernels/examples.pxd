from libc.stdint cimport int64_t

from .chunk cimport NO_SIZE, SizeKind
from .one_output_loop cimport Loops
from .row_loops cimport RowLoops
from .rows cimport Csr, Walk, begin_walk


cdef enum:
    HIGHEST_LEVEL = 2    # of vector units

# The table of loops of a module at this level, or at the nearest that there is: ``level`` then tells.
cdef const void* table_at(str module, int* level, str variant=*) except NULL
cdef const void* highest_table(str module) except NULL


cdef class Examples:
    """X (CSR of any supported types), y, and the importance of each example; never copied."""
    cdef Csr csr
    cdef const Loops* loops         # the step loop (one_output_loop.pyx)
    cdef const RowLoops* row_loops  # loops over a row (row_loops.pyx)
    cdef const double* targets
    cdef const double* importances  # NULL: every example counts 1
    cdef const double* row_sizes    # the size of each row, for rates that depend on it; or NULL ...
    cdef SizeKind size_kind         # ... and the size that is computed when a row is visited
    cdef object owners              # keeps the arrays alive and in place


# Raises unless the examples have targets and the loss is one of the table.
cdef int check_runnable(Examples examples, int loss) except -1


cdef inline void walk_rows(
    Walk* at, Examples examples, const int64_t* order, Py_ssize_t n, Py_ssize_t first
) noexcept nogil:
    """Begin to visit the rows of an order from ``first`` on; NULL is the order of the matrix."""
    begin_walk(at, &examples.csr, examples.row_loops.copy, order, n, first)


cdef inline bint has_row_sizes(Examples examples) noexcept nogil:
    """Whether the size of every row is known or can be computed."""
    return examples.row_sizes != NULL or examples.size_kind != NO_SIZE or examples.csr.n_rows == 0


cdef inline double importance_of(Examples examples, Py_ssize_t row) noexcept nogil:
    """s_i"""
    return examples.importances[row] if examples.importances != NULL else 1.0
