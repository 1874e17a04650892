# A chunk of steps as the loops see it: addresses and numbers, which the modules with the arrays
# (one_output.pyx, many_outputs.pyx) have checked.
from libc.stdint cimport int64_t

from .from_data cimport Tuning
from .row_loops cimport RowLoops  # for kernels that cimport it from here
from .rows cimport Csr, OwnRow, size_of_values
from .rules.motion cimport Reach, SweepLimits

# A size of a row that rates can follow.
cdef enum SizeKind:
    NO_SIZE = 0
    ABSOLUTE_SUM = 1
    SQUARED_NORM = 2


cdef struct StepChunk:
    const Csr* csr
    const double* targets
    const double* importances    # NULL: every example counts 1
    const double* row_sizes      # the size of each row; NULL: it is computed ...
    SizeKind size_kind           # ... as this kind of size
    bint follows_row_sizes       # whether the rates depend on the sizes
    const int64_t* order
    const double* rates
    const double* keep
    const double* keep_low
    const double* pull
    const double* counts         # NULL without an average
    double* predictions          # OUT: or NULL
    double* cells                # IN/OUT
    Py_ssize_t n_steps           # entries of ``order``
    Py_ssize_t step              # IN/OUT: the first step not taken
    int loss
    double epsilon
    bint shrink_first
    bint fit_intercept
    const SweepLimits* limits
    const Reach* reach
    const Tuning* tuning


cdef inline double row_size(const StepChunk* at, const OwnRow* row) noexcept nogil:
    """The size of a row, for rates that depend on it."""
    if at.row_sizes != NULL:
        return at.row_sizes[row.number]
    return size_of_values(row.values, row.length, at.size_kind == ABSOLUTE_SUM)


# A step that a sweep has interrupted: nothing of it is done, its first half is, or its row is counted.
cdef enum:
    NOTHING_DONE = 0
    HALF_DONE = 1
    ROW_COUNTED = 2
