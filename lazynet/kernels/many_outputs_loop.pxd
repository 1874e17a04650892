# What the step loop of several outputs is given, which many_outputs.pyx has checked; and the functions
# that many_outputs_loop.pyx offers at one vector level, by their addresses.
from .chunk cimport StepChunk
from .many_outputs_rules cimport OutputRule
from .rows cimport Status
from .rule_codes cimport RuleCode
from .rules.motion cimport Past
from .target_rows cimport TargetRows

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

# The columns of the strengths that differ from output to output.
cdef enum:
    OWN_L1 = 0
    OWN_L2 = 1
    OWN_LARGEST_RATE = 2
    N_STRENGTHS = 3


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


cdef struct OutputLoops:
    # Takes the steps; returns how the call ended.
    Status (*run)(Outputs* at) noexcept nogil
    # out <- the weights of all features, a row of n for each; false without memory.
    bint (*read)(Outputs* at, double* out, Py_ssize_t n) noexcept nogil
    # Brings every weight current, for clocks that then begin again; false without memory.
    bint (*sweep)(Outputs* at) noexcept nogil
