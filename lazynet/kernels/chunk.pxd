# A chunk of steps as the loops see it, of one output (online.pyx) and of several (online_outputs.pyx):
# addresses and numbers, which the modules with the arrays (cells.pyx, outputs.pyx) have checked; and the
# functions that a module of one vector level offers.
from libc.stdint cimport int64_t

from .from_data cimport Tuning
from .rows cimport CopyRow, Csr, OwnRow, Status, prefetch, read_once, size_of_values
from .rules.adagrad cimport AdaGrad
from .rules.ftrl cimport Ftrl
from .rules.motion cimport Past, Reach, SweepLimits
from .rules.rda cimport Rda

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

# --- several outputs ------------------------------------------------------------------------------


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


# The rules of several outputs, by number; any_rule.pxd has those of one output alone.
cdef enum RuleCode:
    CLOCK
    AVERAGED
    FREELY_AVERAGED   # without an l1 penalty
    RDA
    FTRL
    ADAGRAD
    GROUPS            # with a penalty of all weights of a feature


# The rows of the array of clocks, which has a column for all outputs or one for each.
cdef enum:
    SCALE = 0
    SCALE_LOW = 1
    SHIFT = 2
    SHIFT_LOW = 3
    N_CLOCK_ROWS = 4

# The rows of what every output on the clock keeps for itself.
cdef enum:
    INTERCEPT = 0
    PENDING_MOVE = 1
    OWN_INTERCEPT_SUM = 2
    OWN_INTERCEPT_SUM_LOW = 3
    N_OWN_ROWS = 4

# The scalars of a block of outputs on the clock.
cdef enum:
    WORK = 0       # nonzeros visited since the clocks were last set
    PENDING = 1    # what the next call must know of its first step
    N_SCALARS = 2

# A step that a sweep has interrupted: nothing of it is done, its first half is, or its row is counted.
cdef enum:
    NOTHING_DONE = 0
    HALF_DONE = 1
    ROW_COUNTED = 2

# The columns of the strengths that differ from output to output.
cdef enum:
    OWN_L1 = 0
    OWN_L2 = 1
    OWN_LARGEST_RATE = 2
    N_STRENGTHS = 3


# The rule of one output: what an AnyRule (any_rule.pxd) holds of these rules.
cdef union OutputRule:
    double[32] numbers
    Rda rda
    Ftrl ftrl
    AdaGrad adagrad


cdef struct Outputs:
    RuleCode code
    StepChunk chunk           # the rows and steps, without cells and targets
    TargetRows targets
    Py_ssize_t n              # outputs
    Py_ssize_t width          # the same, filled up to whole cache lines
    Py_ssize_t stride         # numbers of a cell
    Py_ssize_t n_features
    bint narrow               # whether the cells are floats
    void* cells               # IN/OUT
    # IN/OUT: of AdaGrad: the steps that had been taken when a row of weights was brought current
    double* stamps
    double* losses            # IN/OUT: the sums of importance times loss; an entry per output
    bint softmax
    bint learns               # else only the losses are added up
    bint decays               # of AdaGrad: whether some output has an l2 penalty
    OutputRule* rules         # of every entry of a row of weights; NULL on the clock
    # on the clock
    double* clocks            # IN/OUT: N_CLOCK_ROWS rows of ``n_clocks``
    Py_ssize_t n_clocks       # 1 or width
    double* own               # IN/OUT: N_OWN_ROWS rows of ``width``
    double* scalars           # IN/OUT
    # A row per step, of ``rate_columns`` numbers: one for every output, or one for all.
    const double* rates_of_steps
    Py_ssize_t rate_columns
    # The shrinks of each output in such rows, or NULL; a row of ``own_pull`` has ``width`` numbers.
    const double* own_keep
    const double* own_keep_low
    const double* own_pull
    double* rates             # IN/OUT: the fields of rates from the rows (from_data.pxd), or NULL
    const double* strengths   # N_STRENGTHS of each output, or NULL
    Past* past                # of the one clock, where iterates are averaged; else NULL
    double* totals            # IN/OUT: the fields of the average

# --- the targets of a row -------------------------------------------------------------------------


cdef inline Py_ssize_t place_of(const Outputs* at, int64_t label) noexcept nogil:
    """Where the block has the output with this number; -1 where it has none."""
    if label < at.targets.first or label - at.targets.first >= at.n:
        return -1
    return <Py_ssize_t> (label - at.targets.first)


cdef inline Py_ssize_t begin_of(const TargetRows* targets, Py_ssize_t row) noexcept nogil:
    """Where the labels of a row begin, and those of the row before end."""
    # Another thread may be writing to the array: each bound is read once and checked.
    return <Py_ssize_t> min(
        max(read_once(&targets.starts[row]), <int64_t> 0), <int64_t> targets.n_labels
    )


cdef inline void fetch_targets(
    const TargetRows* targets, Py_ssize_t ahead, Py_ssize_t next
) noexcept nogil:
    """Fetch the targets of a row ``ahead``, and of the row ``next`` the labels; -1 is no row."""
    if targets.numbers != NULL and ahead >= 0:
        prefetch(targets.numbers + ahead * targets.n_columns)
    elif targets.form == LABELS and ahead >= 0:
        prefetch(targets.labels + ahead)
    elif targets.form == POSITIVES and ahead >= 0:
        prefetch(targets.starts + ahead)
    if targets.form == POSITIVES and next >= 0:
        prefetch(targets.labels + begin_of(targets, next))


cdef inline Py_ssize_t fill_targets(
    const Outputs* at, Py_ssize_t row, double* y, Py_ssize_t* n_visited
) noexcept nogil:
    """y <- the targets of the row; returns the place of its label in the block, or -1.

    Adds the labels that were visited, where there are several, to ``n_visited``.
    """
    cdef const TargetRows* targets = &at.targets
    cdef Py_ssize_t k, label, place, start, stop
    for k in range(at.n):
        if targets.form == NUMBERS:
            y[k] = targets.numbers[row * targets.n_columns + k]
        else:
            y[k] = targets.numbers[row] if targets.form == SHARED else -1.0
    if targets.form == LABELS:
        label = place_of(at, read_once(&targets.labels[row]))
        if label >= 0:
            y[label] = 1.0
        return label
    if targets.form == POSITIVES:
        start, stop = begin_of(targets, row), begin_of(targets, row + 1)
        for place in range(start, stop):
            label = place_of(at, read_once(&targets.labels[place]))
            if label >= 0:
                y[label] = 1.0
        n_visited[0] += max(stop - start, <Py_ssize_t> 0)
    return -1

# --- the functions of one vector level, by address ------------------------------------------------


# Of online.pyx; ``rule`` is the struct of the rule of that number.
cdef struct Loops:
    # Takes the steps; returns how the call ended.  Where ``at`` is NULL, out <- the weights in n cells.
    Status (*run_or_read)(
        int code, void* rule, StepChunk* at, const double* cells, Py_ssize_t n, double* out
    ) noexcept nogil
    # Brings the cells of AdaGrad current; recomputes alpha if this is due.
    void (*renew)(void* rule, double* cells, Py_ssize_t n) noexcept nogil


# Of online_outputs.pyx.
cdef struct OutputLoops:
    # Takes the steps; returns how the call ended.
    Status (*run)(Outputs* at) noexcept nogil
    # out <- the weights of all features, a row of n for each; false without memory.
    bint (*read)(Outputs* at, double* out, Py_ssize_t n) noexcept nogil
    # Brings every weight current, for clocks that then begin again; false without memory.
    bint (*sweep)(Outputs* at) noexcept nogil


# Of row_loops.pyx.
cdef struct RowLoops:
    CopyRow copy
    # The sum of x_j^2, or of |x_j|; 0 for a row that cannot be read.
    double (*size)(const Csr* csr, Py_ssize_t number, bint absolutes) noexcept nogil
    # Whether every column is larger than the one before; whether all values are finite.
    bint (*increases)(const OwnRow* row) noexcept nogil
    bint (*is_finite)(const OwnRow* row) noexcept nogil
    # sum x_j w_j with w = soft(z, shift); a weight has one number, or two.
    double (*dot)(const OwnRow* row, const double* z, double shift) noexcept nogil
    double (*dot_of_pairs)(const OwnRow* row, const double* cells, double shift) noexcept nogil
    # w_j <- w_j + factor x_j, and {a, b}_j <- {a, b}_j + {first, second} x_j
    void (*add)(const OwnRow* row, double* w, double factor) noexcept nogil
    void (*add_pairs)(
        const OwnRow* row, double* cells, double first, double second) noexcept nogil
    # sum x_j w_j and the digits that its rounding lost; {sum, low}_j += (factor + low) x_j
    double (*exact_dot)(const OwnRow* row, const double* w, double* low) noexcept nogil
    void (*exact_add)(
        const OwnRow* row, double* sums, double factor, double factor_low) noexcept nogil
    # The steps of a dense loop over all weights (all_weights.pxd).
    void (*shrink_all)(double* w, Py_ssize_t n, double keep, double pull) noexcept nogil
    double (*full_dot)(const double* w, const double* x, Py_ssize_t n) noexcept nogil
    void (*full_move)(double* w, const double* x, Py_ssize_t n, double move) noexcept nogil
    # sum |w|; log(1 + exp(-p y)) of many predictions
    double (*absolute_sum)(const double* w, Py_ssize_t n) noexcept nogil
    void (*log_losses)(
        const double* predictions, const double* targets, double* losses,
        Py_ssize_t n) noexcept nogil
    # ... with both derivatives
    void (*log_derivatives)(
        const double* predictions, const double* targets, double* losses, double* slopes,
        double* curvatures, Py_ssize_t n) noexcept nogil
    # Conjugates of the log loss: m log m + (1 - m) log(1 - m), and the sum of their magnitudes.
    void (*entropies)(
        const double* shares, double* terms, double* sizes, Py_ssize_t n) noexcept nogil
    # sums += block' block of n rows of floats; sums += factor row
    void (*add_products)(
        const float* block, Py_ssize_t n, Py_ssize_t width, float* sums) noexcept nogil
    void (*add_floats)(
        float* sums, const float* row, float factor, Py_ssize_t n) noexcept nogil
