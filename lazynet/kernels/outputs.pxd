# The objects that a run over several outputs is handed; see outputs.pyx.
from libc.stdint cimport int64_t

from .examples cimport Examples, Steps, Task
from .outputs_chunk cimport OutputLoops, Outputs, TargetRows


cdef class Targets:
    """The targets of a block of outputs for every row of X."""
    cdef readonly Py_ssize_t n_rows, first, n_outputs
    cdef TargetRows rows
    # Held, because the memory of an array of the standard library moves as it grows.
    cdef const int64_t[::1] labels, starts, positives
    cdef const double[:, ::1] numbers
    cdef const double[::1] shared
    cdef object pins  # keeps the arrays in place


cdef class OwnSteps:
    """The rates and shrinks of consecutive steps that differ from output to output."""
    cdef const double[:, ::1] rates, keep, keep_low, pull
    cdef bint shared   # whether all outputs have one rate
    cdef object pins


cdef class Block:
    """The weights of a block of outputs: cells in float32 or float64, and stamps."""
    cdef readonly str kind
    cdef readonly Py_ssize_t width, n_features
    cdef Outputs outputs             # what is known of the block alone
    cdef const OutputLoops* loops
    cdef double[:, ::1] wide_cells
    cdef float[:, ::1] narrow_cells
    cdef double[::1] stamped
    cdef object pins

# Raises unless the array called ``name`` has this shape and is aligned.
cdef int check_matrix(
    str name, const double[:, ::1] array, Py_ssize_t rows, Py_ssize_t columns) except -1

# Raises unless block, targets, task and losses fit the examples and each other.
cdef int check_run(
    Block block, Examples examples, Targets targets, Task task, double[::1] losses, bint softmax
) except -1

# Add the steps from ``first`` on, of which there is at least one, to what is known of a block.
cdef void add_run(
    Outputs* at, Examples examples, Targets targets, Steps steps, Task task, double[::1] losses,
    Py_ssize_t first
) noexcept
