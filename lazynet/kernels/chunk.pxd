# A chunk of steps as the loops of online.pyx see it: addresses and numbers, which the modules with the
# arrays (cells.pyx, outputs.pyx) have checked.
from libc.stdint cimport int64_t

from .averages cimport Reach
from .from_data cimport Tuning
from .rules.motion cimport Wear
from .rows cimport Csr

# How a call of a kernel ended.
cdef enum Status:
    FINISHED = 0
    WORN_OUT = 1     # all weights must be brought current before the next step
    OVERFLOWED = 2   # this step's prediction or move is not finite; it was not taken
    BAD_ROW = 3      # this step's row cannot be read safely; it was not taken
    PAUSED = 4       # the call has touched PATIENCE numbers: signals can be handled now
    OUT_OF_MEMORY = 5  # there is no room for this step's row; the step was not taken
    OUT_OF_RANGE = 6   # this step's shrink takes the clock out of the range of doubles


# A size of a row that rates can follow.
cdef enum Measured:
    NO_SIZE = 0
    ABSOLUTE_SUM = 1
    SQUARED_NORM = 2


# The values and columns of the row AHEAD steps later are prefetched: fetched later, they would
# arrive too late, and fetched sooner, they would have left the cache again.
cdef enum:
    AHEAD = 3

# Up to this many numbers, 2 MiB, weights are near: the second cache of the processor holds most of
# those that a row needs, and fetching them ahead takes longer than waiting for the others.
cdef enum:
    NEAR = 262144

# The most numbers that one call touches, a last row excepted: some tens of milliseconds.
cdef enum:
    PATIENCE = 8388608


cdef struct Chunk:
    const Csr* csr
    const double* targets
    const double* importances    # NULL: every example counts 1
    const double* sizes          # or NULL ...
    Measured measured            # ... and the size that is then computed
    bint follows_sizes           # whether the rates follow the sizes
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
    const Wear* wear
    const Reach* reach
    const Tuning* tuning


cdef enum TargetsForm:
    LABELS     # the number of the output that is positive, for each row
    POSITIVES  # any number of them for each row, in CSR form
    NUMBERS    # a target for each row and output
    SHARED     # a target for each row, the same for all outputs


# The targets of a block of outputs; only the arrays of its form are there.
cdef struct TargetRows:
    TargetsForm form
    Py_ssize_t first          # the number of the first output of the block
    const int64_t* labels
    const int64_t* starts     # of the labels of each row, of ``n_labels`` in all
    Py_ssize_t n_labels
    const double* numbers     # of the first output of the block
    Py_ssize_t n_columns      # from row to row


# What a module of one vector level offers; ``rule`` is the struct of the rule of that number.
cdef struct Loops:
    # Takes the steps; returns how the call ended.
    Status (*run)(int code, void* rule, Chunk* at) noexcept nogil
    # out <- the weights in n cells.
    void (*read)(
        int code, void* rule, const double* cells, Py_ssize_t n, double* out
    ) noexcept nogil
    # Brings the cells of AdaGrad current; computes alpha anew if that is due.
    void (*renew)(void* rule, double* cells, Py_ssize_t n) noexcept nogil
