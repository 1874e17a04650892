# What a kernel is given beside the examples; see steps.pyx.
from libc.stdint cimport int64_t

from .chunk cimport StepChunk
from .examples cimport Examples
from .from_data cimport Tuning
from .rules.motion cimport Past, Reach, SweepLimits
from .target_rows cimport TargetRows


cdef class Steps:
    # The shrink of a step is |w| <- [a |w| - b]+.
    cdef const int64_t[::1] order
    cdef const double[::1] rates      # eta of each step
    cdef const double[::1] keep       # a, rounded
    cdef const double[::1] keep_low   # digits that rounding took from a
    cdef const double[::1] pull       # b
    cdef const double[::1] counts     # omega of each step; None without an average
    cdef double* predictions          # OUT: the prediction for each row before its step, or NULL
    cdef object pins                  # keeps the arrays in place


cdef class Task:
    cdef int loss
    cdef double epsilon
    cdef bint shrink_first
    cdef bint fit_intercept
    cdef readonly bint has_pull  # whether steps may pull, as an l1 penalty does
    cdef bint positive   # whether a weight that a step takes below 0 becomes 0
    cdef SweepLimits limits
    cdef Reach reach
    cdef Tuning tuning   # of rates that are computed from the rows
    cdef object given    # the arguments, of which a copy is made


cdef class OutputTargets:
    cdef readonly Py_ssize_t n_rows, first, n_outputs
    cdef TargetRows rows
    cdef object held

cdef class Average:
    cdef double[::1] shifts
    cdef double[::1] scale_sums
    cdef double[::1] shift_sums
    cdef double[::1] fields
    cdef object pins  # keeps the arrays in place

    cdef Past past(self) except *


# Raises unless ``counts`` holds one omega per step.
cdef int check_counts(const double[::1] counts, Py_ssize_t n_steps) except -1

# The chunk of the steps from ``first`` on.
cdef StepChunk chunk_of(Examples examples, Steps steps, Task task, Py_ssize_t first) noexcept


cdef inline Py_ssize_t greatest_width() noexcept:
    """The greatest number of outputs, 2^58 where addresses have 64 bits and 2^26 where they have 32:
    sums and small multiples of it fit a Py_ssize_t."""
    return <Py_ssize_t> 1 << (8 * sizeof(Py_ssize_t) - 6)
