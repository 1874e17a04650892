"""Rows of weights: models of many outputs that learn in one pass over X.

An output is one column of targets with the weights that predict it: a class against the rest, a
label, a target of a regression.  The weights of one feature lie side by side, an entry per output,
so that a step loads the feature once for all outputs; wide.h describes the loops.

A step computes, for every output, what the kernel of a single output computes:

    kind "clock"     SGD or FoBoS on a clock (clock.pyx); one clock for all outputs that share the
                     penalty and the rates, or a clock for each output
    kind "group_l2", "group_max"
                     FoBoS on one clock, with a penalty of every row of weights: its Euclidean norm
                     or its largest weight (wide_groups.inc)
    kind "rda", "ftrl", "adagrad"
                     the rules of cells/; a number of a rule exists once per output, and AdaGrad has
                     one stamp for the row of a feature: a step touches all of it

Two functions of predictions and targets give the slopes: a loss of each output by itself, or the
softmax of all outputs.  The slopes of the logistic loss and of the softmax are computed several at
once (elementary.h).

Property: the weights of an output equal the weights of a model of this output alone after every
step (tests/exact/test_outputs.py), and with the softmax those of
lazynet.reference.outputs.DenseSoftmax; those of groups equal lazynet.reference.groups.DenseGroups
(tests/exact/test_groups.py); any split into blocks of outputs, and any split into chunks
of steps, gives the same bits.
"""

cimport cython
from libc.float cimport DBL_MAX, DBL_MIN
from libc.math cimport isfinite
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

import numpy as np

from .averages cimport COUNTED, Average, add_to, check_counts, count_iterate, past_is_worn
from .clock cimport Clock
from .examples cimport (
    FINISHED,
    OUT_OF_MEMORY,
    OUT_OF_RANGE,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    WORN_OUT,
    Examples,
    Status,
    Steps,
    Task,
    Tuning,
    Visit,
    begin_visits,
    check_aligned,
    check_vector,
    end_visits,
    has_sizes,
    highest_level,
    importance_of,
    pinned,
    size_of,
    visit,
)
from .from_data cimport (
    INTERCEPT_PROGRESS,
    N_FROM_DATA_FIELDS,
    PROGRESS,
    SQUARED_SLOPES,
    FromData,
    Proposal,
    begin_proposal,
    count_row,
    find_factors,
    load_from_data,
    propose,
    save_from_data,
)
from .losses cimport LOG_LOSS, N_LOSSES, loss_slope, loss_value
from .rows cimport Csr, Past, Room, Row, make_room, prefetch, read_once

cdef extern from "wide.h" nogil:
    enum:
        LINE "LAZYNET_LINE"
        MOST_NUMBERS "LAZYNET_MOST_NUMBERS"
        NOW_SHIFT "LAZYNET_NOW_SHIFT"
        FTRL_L1 "LAZYNET_FTRL_NOW_L1"
        FTRL_ALPHA "LAZYNET_FTRL_NOW_ALPHA"
        FTRL_INVERSE_ALPHA "LAZYNET_FTRL_NOW_INVERSE_ALPHA"
        FTRL_DAMPING "LAZYNET_FTRL_NOW_DAMPING"
        ADAGRAD_ALPHA "LAZYNET_ADAGRAD_NOW_ALPHA"
        ADAGRAD_DELTA "LAZYNET_ADAGRAD_NOW_DELTA"
        ADAGRAD_L1 "LAZYNET_ADAGRAD_NOW_L1"
        ADAGRAD_L2 "LAZYNET_ADAGRAD_NOW_L2"

    enum WideKind "lazynet_wide_kind":
        CLOCK "LAZYNET_WIDE_CLOCK"
        AVERAGED_CLOCK "LAZYNET_WIDE_AVERAGED_CLOCK"
        RDA "LAZYNET_WIDE_RDA"
        FTRL "LAZYNET_WIDE_FTRL"
        ADAGRAD "LAZYNET_WIDE_ADAGRAD"
        GROUP_L2 "LAZYNET_WIDE_GROUP_L2"
        GROUP_MAX "LAZYNET_WIDE_GROUP_MAX"

    ctypedef struct WideRow "lazynet_wide_row":
        const void* values
        const Py_ssize_t* features
        const Py_ssize_t* places
        double* shares
        Py_ssize_t length

    ctypedef struct WideWeights "lazynet_wide_weights":
        void* cells
        double* stamps
        Py_ssize_t width
        Py_ssize_t stride
        const double* numbers
        double steps
        bint decays
        const Past* past

    ctypedef struct WideOps "lazynet_wide_ops":
        void (*dot)(const WideWeights*, const WideRow* row, const WideRow* next,
                    double* out) noexcept nogil
        void (*update)(const WideWeights*, const WideRow* row, const WideRow* next,
                       const double* moves) noexcept nogil
        void (*sweep)(const WideWeights*, Py_ssize_t n, const double* factors) noexcept nogil

    ctypedef struct Clocks "lazynet_clocks":
        double* scale
        double* scale_low
        double* shift
        double* shift_low

    ctypedef struct Extremes "lazynet_clock_extremes":
        double smallest_scale
        double largest_shift
        double largest_cushion

    ctypedef struct OutputOps "lazynet_output_ops":
        void (*fill)(double* numbers, double number, Py_ssize_t n) noexcept nogil
        void (*predict)(double* sums, const double* scales, const double* intercepts,
                        Py_ssize_t n) noexcept nogil
        void (*multiply)(const double* one, const double* other, Py_ssize_t n,
                         double* products) noexcept nogil
        void (*divide)(double* numbers, const double* divisors, Py_ssize_t n) noexcept nogil
        bint (*all_finite)(const double* numbers, Py_ssize_t n) noexcept nogil
        Extremes (*advance)(const Clocks*, Py_ssize_t n, const double* keep,
                            const double* keep_low, const double* pull) noexcept nogil
        void (*log_slopes)(const double* predictions, const double* targets, Py_ssize_t n,
                           double importance, double* slopes, double* losses) noexcept nogil
        double (*softmax_slopes)(const double* predictions, Py_ssize_t label, Py_ssize_t n,
                                 double importance, double* slopes) noexcept nogil

    const WideOps* wide_ops_for "lazynet_wide_ops_for"(bint wide, int level, int kind)
    const OutputOps* output_ops_for "lazynet_output_ops_for"(int level)
    void unpack "lazynet_unpack"(const Row* row, bint wide_values, bint wide_indices,
                                 bint wide_weights, Py_ssize_t stride, void* values,
                                 Py_ssize_t* features, Py_ssize_t* places)
    void fetch_row "lazynet_fetch_row"(const Csr* csr, bint wide_values, bint wide_indices,
                                       Py_ssize_t row)

cdef extern from "every_kind.h" nogil:
    ctypedef struct Head "lazynet_cell_head":
        double intercept
        bint measures

    ctypedef struct Refusal "lazynet_refusal":
        const char* message
        double numbers[2]

    ctypedef struct Kind "lazynet_cell_kind":
        const char* const* settings
        const char* const* fields
        size_t size
        bint frozen_intercept
        Refusal (*refusal)(
            const double* settings, const double* fields, bint running) noexcept nogil
        void (*begin)(void* rule, const double* settings, const double* fields) noexcept nogil
        void (*end)(const void* rule, double* fields) noexcept nogil
        bint (*measure)(void* rule, double size) noexcept nogil
        bint (*advance)(
            void* rule, double move, double rate, double pull, double largest_cushion
        ) noexcept nogil
        void (*read)(
            const void* rule, const double* cells, Py_ssize_t n, double* weights) noexcept nogil
        void (*retune)(const void* rule, double* cells, Py_ssize_t n) noexcept nogil

    ctypedef struct AdaGradConstants "lazynet_adagrad_constants":
        double l2
        double alpha
        double delta
        double decays
        double ratio
        double linear

    ctypedef struct AdaGradRule "lazynet_adagrad":
        Head head
        AdaGradConstants constants
        double steps
        double waiting

    ctypedef struct FTRLRule "lazynet_ftrl":
        Head head
        double l1
        double alpha
        double inverse_alpha
        double damping

    ctypedef struct RDARule "lazynet_rda":
        Head head
        double shift
        double scale

    const Kind ADAGRAD_KIND "lazynet_kind_adagrad"
    const Kind FTRL_KIND "lazynet_kind_ftrl"
    const Kind RDA_KIND "lazynet_kind_rda"
    double change_scale "lazynet_adagrad_change_scale"(AdaGradRule* rule)

# The rows of the array of clocks.
cdef enum:
    SCALE = 0
    SCALE_LOW = 1
    SHIFT = 2
    SHIFT_LOW = 3
    N_CLOCK_ROWS = 4

# The scalars of a block of outputs on the clock.
cdef enum:
    WORK = 0       # nonzeros visited since the clocks were last set
    PENDING = 1    # what the next call must know of its first step: see below
    N_SCALARS = 2

# PENDING: a step of which nothing is done, whose first half is done, or whose row is counted.
cdef enum:
    NOTHING_DONE = 0
    HALF_DONE = 1
    ROW_COUNTED = 2

# The rows of what every output on the clock keeps for itself.
cdef enum:
    INTERCEPT = 0
    PENDING_MOVE = 1
    INTERCEPT_SUM = 2
    INTERCEPT_SUM_LOW = 3
    N_OWN_ROWS = 4

# The columns of the strengths that differ from output to output.
cdef enum:
    OWN_L1 = 0
    OWN_L2 = 1
    OWN_LARGEST_RATE = 2
    N_STRENGTHS = 3

#: Bytes to which a row of weights is filled up.
LINE_BYTES = LINE
CLOCK_ROWS, OWN_ROWS, SCALARS = N_CLOCK_ROWS, N_OWN_ROWS, N_SCALARS
INTERCEPT_ROW, INTERCEPT_SUM_ROW = INTERCEPT, INTERCEPT_SUM
FROM_DATA_FIELDS = N_FROM_DATA_FIELDS
PENDING_SCALAR, PENDING_ROW_COUNTED = PENDING, <int> ROW_COUNTED
#: The sums over the slopes on which the rates of ``FromData`` depend.
SLOPE_FIELDS = PROGRESS, INTERCEPT_PROGRESS, SQUARED_SLOPES

cdef dict KINDS = {
    "clock": <int> CLOCK, "averaged clock": <int> AVERAGED_CLOCK, "rda": <int> RDA,
    "ftrl": <int> FTRL, "adagrad": <int> ADAGRAD,
    "group_l2": <int> GROUP_L2, "group_max": <int> GROUP_MAX,
}
cdef dict ROWS_OF_NUMBERS = {
    "clock": 1, "averaged clock": 2, "rda": 1, "ftrl": 2, "adagrad": 2, "group_l2": 1,
    "group_max": 1,
}


# The greatest number of outputs, 2 ** 58 where addresses have 64 bits and 2 ** 26 where they have
# 32: sums and small multiples of it fit a Py_ssize_t.
cdef Py_ssize_t GREATEST_WIDTH = <Py_ssize_t> 1 << (8 * sizeof(Py_ssize_t) - 6)


cdef int code_of(str kind) except -1:
    """What wide.h calls the kind."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(sorted(KINDS))}, got {kind!r}")
    return KINDS[kind]


def numbers(str kind not None):
    """How many numbers a weight has."""
    code_of(kind)
    return ROWS_OF_NUMBERS[kind]


cdef enum TargetsForm:
    LABELS   # a number of the output that is positive, for each row
    POSITIVES  # several of them, in CSR form
    NUMBERS  # a target for each row and output
    SHARED   # a target for each row, the same for all outputs


@cython.final  # its own methods are then called directly
@cython.binding(False)  # a method then checks the type of self
cdef class Targets:
    """The targets of a block of outputs for every row of X.

    Exactly one form is given.  ``labels``: the output that has the target +1, all others have -1;
    -1 for none.  ``starts`` and ``positives``: the outputs with the target +1, in CSR form.
    ``numbers``: the targets themselves, a row for each row of X.  ``shared``: one target for each
    row of X, the same for all outputs.  The block holds the outputs from ``first`` on,
    ``n_outputs`` of them.
    """

    cdef readonly Py_ssize_t n_rows, first, n_outputs
    cdef TargetsForm form
    cdef const int64_t[::1] labels, starts, positives
    cdef const double[:, ::1] numbers
    cdef const double[::1] shared
    cdef object pins

    def __cinit__(
        self, Py_ssize_t first, Py_ssize_t n_outputs, labels=None, starts=None, positives=None,
        numbers=None, shared=None,
    ):
        if not 0 <= first <= GREATEST_WIDTH:
            raise ValueError(f"first must lie between 0 and {GREATEST_WIDTH}, got {first}")
        if not 1 <= n_outputs <= GREATEST_WIDTH:
            raise ValueError(f"n_outputs must lie between 1 and {GREATEST_WIDTH}, got {n_outputs}")
        if (starts is None) != (positives is None):
            raise TypeError("starts and positives must be given together")
        forms = [form is not None for form in (labels, starts, numbers, shared)]
        if sum(forms) != 1:
            raise TypeError(
                "exactly one of labels, starts with positives, numbers and shared must be given, "
                f"got {sum(forms)} of them"
            )
        self.first, self.n_outputs = first, n_outputs
        given = (labels, starts, positives, numbers, shared)
        self.pins = pinned(given), given
        if labels is not None:
            self.form, self.labels = LABELS, labels
            self.n_rows = self.labels.shape[0]
            check_aligned("labels", &self.labels[0] if self.n_rows else NULL)
        elif shared is not None:
            self.form, self.shared = SHARED, shared
            self.n_rows = self.shared.shape[0]
            check_vector("shared", self.shared, self.n_rows)
        elif numbers is not None:
            self.form, self.numbers = NUMBERS, numbers
            self.n_rows = self.numbers.shape[0]
            if self.numbers.shape[1] < first + n_outputs:
                raise ValueError(
                    f"numbers must have {first + n_outputs} columns, got {self.numbers.shape[1]}"
                )
            check_matrix("numbers", self.numbers, self.n_rows, self.numbers.shape[1])
        else:
            self.form, self.starts, self.positives = POSITIVES, starts, positives
            if self.starts.shape[0] == 0:
                raise ValueError("starts must not be empty")
            self.n_rows = self.starts.shape[0] - 1
            check_aligned("starts", &self.starts[0])
            check_aligned("positives", &self.positives[0] if self.positives.shape[0] else NULL)

    cdef Py_ssize_t place_of(self, int64_t label) noexcept nogil:
        """Where the block has the output with this number; -1 where it has none."""
        if label < self.first or label - self.first >= self.n_outputs:
            return -1
        return <Py_ssize_t> (label - self.first)

    cdef Py_ssize_t begin_of(self, Py_ssize_t row) noexcept nogil:
        """Where the positives of a row begin, and those of the row before end."""
        # Another thread may be writing to the array: each bound is read once and checked.
        return <Py_ssize_t> min(
            max(read_once(&self.starts[row]), <int64_t> 0), <int64_t> self.positives.shape[0]
        )

    cdef void fetch(self, const Visit* at) noexcept nogil:
        """Fetch the targets of a row that will soon be visited; positives once their start is there."""
        cdef Py_ssize_t row = at.ahead, place
        if 0 <= row < self.n_rows:
            if self.form == NUMBERS:
                prefetch(&self.numbers[row, self.first])
            elif self.form == SHARED:
                prefetch(&self.shared[row])
            elif self.form == LABELS:
                prefetch(&self.labels[row])
            else:
                prefetch(&self.starts[row])
        if self.form == POSITIVES and at.loaded:
            place = self.begin_of(at.next_number)
            if place < self.positives.shape[0]:
                prefetch(&self.positives[place])

    cdef Py_ssize_t fill(self, Py_ssize_t row, double* y, double* touched) noexcept nogil:
        """y <- the targets of the row; returns the place of its label in the block, or -1.

        Adds the entries of ``positives`` that were visited to ``touched``.
        """
        cdef Py_ssize_t k, label, place, start, stop
        cdef double target
        if self.form == NUMBERS:
            for k in range(self.n_outputs):
                y[k] = self.numbers[row, self.first + k]
            return -1
        if self.form == SHARED:
            target = self.shared[row]
            for k in range(self.n_outputs):
                y[k] = target
            return -1
        for k in range(self.n_outputs):
            y[k] = -1.0
        if self.form == LABELS:
            label = self.place_of(read_once(&self.labels[row]))
            if label >= 0:
                y[label] = 1.0
            return label
        start, stop = self.begin_of(row), self.begin_of(row + 1)
        for place in range(start, stop):
            label = self.place_of(read_once(&self.positives[place]))
            if label >= 0:
                y[label] = 1.0
        touched[0] += <double> max(stop - start, <Py_ssize_t> 0)
        return -1


@cython.binding(False)  # a method then checks the type of self
cdef class OwnSteps:
    """The rates and shrinks of consecutive steps that differ from output to output.

    Each array has a row per step.  ``pull`` has an entry per output of the block, filled up to its
    width; ``rates``, ``keep`` and ``keep_low`` too, or one entry for all outputs.
    """

    cdef const double[:, ::1] rates, keep, keep_low, pull
    cdef bint shared   # whether all outputs have one rate
    cdef object pins

    def __cinit__(self, rates not None, keep not None, keep_low not None, pull not None):
        cdef const double[:, ::1] numbers
        self.pins = pinned((rates, keep, keep_low, pull)), (rates, keep, keep_low, pull)
        self.rates, self.keep, self.keep_low, self.pull = rates, keep, keep_low, pull
        self.shared = self.rates.shape[1] == 1
        for name, array in (("rates", rates), ("keep", keep), ("keep_low", keep_low)):
            numbers = array
            check_matrix(name, numbers, self.rates.shape[0], self.rates.shape[1])
        check_matrix(
            "pull", self.pull, self.rates.shape[0],
            self.pull.shape[1] if self.shared else self.rates.shape[1],
        )


@cython.binding(False)  # a method then checks the type of self
cdef class Block:
    """The weights of a block of outputs, checked once: cells in float32 or float64, and stamps.

    ``cells`` has a row per feature, ``numbers(kind)`` rows of ``width`` numbers each.
    """

    cdef readonly str kind
    cdef readonly Py_ssize_t width, n_features
    cdef int code, level
    cdef bint wide
    cdef WideWeights weights
    cdef const WideOps* ops
    # Held, because the memory of an array of the standard library moves as it grows.
    cdef double[:, ::1] wide_cells
    cdef float[:, ::1] narrow_cells
    cdef double[::1] stamped
    cdef object pins

    def __cinit__(self, str kind not None, cells not None, Py_ssize_t width, stamps=None):
        self.kind, self.code, self.width = kind, code_of(kind), width
        if not isinstance(cells, np.ndarray):
            raise TypeError(f"cells must be an array, got {type(cells).__name__}")
        if cells.dtype not in (np.float32, np.float64):
            raise TypeError(f"cells must be float32 or float64, got {cells.dtype}")
        self.wide = cells.dtype == np.float64
        line = LINE // (8 if self.wide else 4)
        if not line <= width <= GREATEST_WIDTH or width % line:
            raise ValueError(
                f"width must be a multiple of {line} up to {GREATEST_WIDTH}, got {width}"
            )
        if not cells.flags.writeable:
            raise ValueError("cells must be writeable")
        self.pins = pinned((cells, stamps)), (cells, stamps)
        self.weights.width = width
        self.weights.stride = width * <Py_ssize_t> ROWS_OF_NUMBERS[kind]
        if self.wide:
            self.wide_cells = cells
            self.n_features, columns = self.wide_cells.shape[0], self.wide_cells.shape[1]
        else:
            self.narrow_cells = cells
            self.n_features, columns = self.narrow_cells.shape[0], self.narrow_cells.shape[1]
        if columns != self.weights.stride:
            raise ValueError(f"cells must have {self.weights.stride} columns, got {columns}")
        self.weights.cells = self.weights.stamps = NULL
        if self.n_features and self.wide:
            self.weights.cells = &self.wide_cells[0, 0]
        elif self.n_features:
            self.weights.cells = &self.narrow_cells[0, 0]
        check_aligned("cells", self.weights.cells, 8 if self.wide else 4)
        if self.code == ADAGRAD or self.code == GROUP_MAX:
            if stamps is None:
                raise TypeError("stamps must be an array with an entry per feature, got None")
            self.stamped = stamps
            check_vector("stamps", self.stamped, self.n_features)
            self.weights.stamps = &self.stamped[0] if self.n_features else NULL
        self.at_level(highest_level())

    def at_level(self, int level):
        """Use the loops of a lower vector level, 0 the generic one; returns the level in use.

        For tests: every level gives the same bits.
        """
        self.level = max(0, min(level, highest_level()))
        self.ops = wide_ops_for(self.wide, self.level, self.code)
        return self.level


# A row of X in the form that the loops read, and its memory.
cdef struct Unpacked:
    WideRow row
    Room values
    Room features
    Room shares


cdef inline bint unpack_row(
    Unpacked* to, const Row* row, Examples examples, Block block
) noexcept nogil:
    """Whether there was memory for the row."""
    if not make_room(&to.values, (row.length + 1) * sizeof(double)):
        return False
    if not make_room(&to.features, 2 * (row.length + 1) * sizeof(Py_ssize_t)):
        return False
    if block.code == GROUP_L2 and not make_room(&to.shares, (row.length + 1) * sizeof(double)):
        return False
    cdef Py_ssize_t* features = <Py_ssize_t*> to.features.bytes
    unpack(
        row, examples.wide_values, examples.wide_indices, block.wide, block.weights.stride,
        to.values.bytes, features, features + row.length,
    )
    to.row.values = to.values.bytes
    to.row.features, to.row.places = features, features + row.length
    to.row.shares = <double*> to.shares.bytes
    to.row.length = row.length
    return True


cdef inline void begin_unpacked(Unpacked* pair) noexcept nogil:
    memset(pair, 0, 2 * sizeof(Unpacked))


cdef inline void end_unpacked(Unpacked* pair) noexcept nogil:
    for turn in range(2):
        free(pair[turn].values.bytes)
        free(pair[turn].features.bytes)
        free(pair[turn].shares.bytes)


cdef int check_matrix(
    str name, const double[:, ::1] array, Py_ssize_t rows, Py_ssize_t columns
) except -1:
    if array.shape[0] != rows or array.shape[1] != columns:
        raise ValueError(
            f"{name} must have the shape {(rows, columns)}, got {(array.shape[0], array.shape[1])}"
        )
    return check_aligned(name, &array[0, 0] if rows and columns else NULL)


# Numbers of each output during a run, of the width of the block.
cdef struct Scratch:
    double* predictions
    double* targets
    double* slopes
    double* moves
    double* losses
    double* scales
    double* keep
    double* keep_low
    double* numbers   # MOST_NUMBERS rows


cdef inline bint make_scratch(Scratch* scratch, Py_ssize_t width) noexcept nogil:
    cdef double* memory = <double*> calloc((8 + MOST_NUMBERS) * width, sizeof(double))
    scratch.predictions = memory
    if memory == NULL:
        return False
    scratch.targets = memory + width
    scratch.slopes = memory + 2 * width
    scratch.moves = memory + 3 * width
    scratch.losses = memory + 4 * width
    scratch.scales = memory + 5 * width
    scratch.keep, scratch.keep_low = memory + 6 * width, memory + 7 * width
    scratch.numbers = memory + 8 * width
    return True


cdef inline void find_slopes(
    Scratch* scratch, const OutputOps* ops, Task task, bint softmax, Py_ssize_t n,
    Py_ssize_t label, double importance
) noexcept nogil:
    """slopes <- importance times the slope of each output's loss; losses <- the losses."""
    cdef Py_ssize_t k
    cdef double p, y
    for k in range(n):
        scratch.losses[k] = 0.0
    if softmax:
        scratch.losses[max(label, 0)] = ops.softmax_slopes(
            scratch.predictions, label, n, importance, scratch.slopes
        )
    elif task.loss == LOG_LOSS:
        ops.log_slopes(
            scratch.predictions, scratch.targets, n, importance, scratch.slopes, scratch.losses
        )
    else:
        for k in range(n):
            p, y = scratch.predictions[k], scratch.targets[k]
            scratch.slopes[k] = loss_slope(task.loss, p, y, task.epsilon) * importance
            scratch.losses[k] = loss_value(task.loss, p, y, task.epsilon) * importance


cdef inline bint any_nonzero(const double* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        if numbers[k] != 0.0:
            return True
    return False


cdef int check_run(
    Block block, Examples examples, Targets targets, Task task, double[::1] losses
) except -1:
    if block.n_features != examples.csr.n_columns:
        raise ValueError(
            f"block must have cells for {examples.csr.n_columns} features, got {block.n_features}"
        )
    if targets.n_rows != examples.csr.n_rows:
        raise ValueError(
            f"targets must have {examples.csr.n_rows} rows, got {targets.n_rows}"
        )
    if targets.n_outputs > block.width:
        raise ValueError(
            f"targets must have at most {block.width} outputs, got {targets.n_outputs}"
        )
    if not 0 <= task.loss < N_LOSSES:
        raise ValueError(f"loss must be a code from 0 to {N_LOSSES - 1}, got {task.loss}")
    return check_vector("losses", losses, targets.n_outputs)


cdef inline bint on_the_clock(Block block) noexcept:
    """Whether a sweep of the kind takes the scales and shifts of clocks."""
    return block.code == CLOCK or block.code == GROUP_L2 or block.code == GROUP_MAX


cdef int check_softmax(Targets targets) except -1:
    if targets.form != LABELS:
        raise ValueError("targets must be labels where softmax is asked for")
    return 0


def run_on_clock(
    Block block,
    Examples examples,
    Targets targets,
    Steps steps,
    Task task,
    double[:, ::1] clocks not None,   # IN/OUT: a column per clock, one or one per output
    double[:, ::1] own not None,      # IN/OUT: what every output keeps for itself
    double[::1] scalars not None,     # IN/OUT
    double[::1] losses not None,      # IN/OUT: the sums of the losses before the updates
    Py_ssize_t first,
    bint softmax=False,
    OwnSteps own_steps=None,      # rates and shrinks of each output
    double[:, ::1] rates=None,    # IN/OUT: what rates computed from the rows depend on
    Average average=None,         # IN/OUT: the past of the one clock, where iterates are averaged
    const double[:, ::1] strengths=None,  # l1, l2 and the largest rate of each output, where rates
                                          # are computed from the rows; else those of the task
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef Csr* csr = &examples.csr
    cdef Py_ssize_t n_steps = steps.order.shape[0], step = first, k
    cdef Py_ssize_t n = targets.n_outputs, width = block.width, n_clocks = clocks.shape[1], label
    cdef int turn = 0
    cdef Status status = FINISHED
    cdef bint adaptive = task.tuning.adaptive, averaged = average is not None
    cdef bint has_own = own_steps is not None, has_strengths = strengths is not None, pending
    cdef bint unpacked
    cdef const OutputOps* output_ops = output_ops_for(block.level)
    cdef double importance, rate, size = 0.0, omega, touched = 0.0
    cdef const double* keep = NULL
    cdef const double* keep_low = NULL
    cdef const double* pull = NULL
    cdef const double* counts = NULL
    cdef double* totals = NULL
    cdef WideWeights weights = block.weights
    cdef Extremes extremes
    cdef Clocks clock, shown
    cdef Clock single
    cdef Past past
    cdef Visit at
    cdef Unpacked[2] rows
    cdef Scratch scratch
    cdef FromData* states = NULL
    cdef Proposal proposal
    cdef Tuning tuning = task.tuning   # of the output at hand
    cdef double* shrinks = NULL   # keep, keep_low and pull of each output, where computed here
    check_run(block, examples, targets, task, losses)
    if not (block.code == AVERAGED_CLOCK if averaged else on_the_clock(block)):
        raise ValueError(f"block must be of the kind of a clock, got {block.kind!r}")
    if block.code != CLOCK and n_clocks != 1:
        raise ValueError(f"clocks must have 1 column for a block of {block.kind!r}, got {n_clocks}")
    if block.code in (GROUP_L2, GROUP_MAX) and task.shrink_first:
        raise ValueError("task must not shrink first where the weights of a feature are a group")
    if n_clocks != 1 and n_clocks != width:
        raise ValueError(f"clocks must have 1 column or {width}, got {n_clocks}")
    check_matrix("clocks", clocks, N_CLOCK_ROWS, n_clocks)
    check_matrix("own", own, N_OWN_ROWS, width)
    check_vector("scalars", scalars, N_SCALARS)
    if has_own and adaptive:
        raise ValueError("own_steps must not be given where rates are computed from the rows")
    if (n_clocks == 1) == (has_own or adaptive):
        raise ValueError(
            "clocks must have a column per output where the steps of outputs differ, else 1 column"
        )
    if softmax:
        check_softmax(targets)
    if softmax and adaptive:
        raise ValueError("softmax must not be asked for with rates computed from the rows")
    if has_own:
        check_matrix("rates", own_steps.rates, n_steps, 1 if own_steps.shared else width)
        check_matrix("pull", own_steps.pull, n_steps, width)
    if adaptive:
        if rates is None:
            raise ValueError("rates must be given where they are computed from the rows")
        check_matrix("rates", rates, n, N_FROM_DATA_FIELDS)
        if has_strengths:
            check_matrix("strengths", strengths, n, N_STRENGTHS)
        if not has_sizes(examples):
            raise ValueError("examples must have sizes where rates are computed from the rows")
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    if averaged:
        check_counts(steps.counts, n_steps)
        counts = &steps.counts[0]
        totals = &average.fields[0]
        past = average.past()
        weights.past = &past
    cdef const int64_t* order = &steps.order[0]
    if not make_scratch(&scratch, width):
        raise MemoryError(f"no memory for the predictions of {width} outputs")
    if adaptive:
        states = <FromData*> malloc(n * sizeof(FromData))
        shrinks = <double*> calloc(4 * width, sizeof(double))
        if states == NULL or shrinks == NULL:
            free(states)
            free(shrinks)
            free(scratch.predictions)
            raise MemoryError(f"no memory for the rates of {n} outputs")
    clock.scale, clock.scale_low = &clocks[SCALE, 0], &clocks[SCALE_LOW, 0]
    clock.shift, clock.shift_low = &clocks[SHIFT, 0], &clocks[SHIFT_LOW, 0]
    # Before a pending step the clocks have just been set to their start.
    extremes.smallest_scale, extremes.largest_shift, extremes.largest_cushion = 1.0, 0.0, 0.0
    cdef double* intercepts = &own[INTERCEPT, 0]
    cdef double* intercept_moves = scratch.moves
    shown = shown_clocks(&scratch, &clock, n_clocks)
    weights.numbers = shown.shift
    with nogil:
        if adaptive:
            intercept_moves = shrinks + 3 * width
            for k in range(n):
                load_from_data(&states[k], &rates[k, 0])
                find_factors(&states[k], &task.tuning)
            for k in range(width):
                shrinks[k] = 1.0
            keep, keep_low, pull = shrinks, shrinks + width, shrinks + 2 * width
            begin_proposal(&proposal)
        begin_visits(&at)
        begin_unpacked(rows)
        while step < n_steps:
            # The next row is unpacked with each row, unless it could not be loaded then.
            unpacked = at.loaded
            status = visit(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            if not unpacked and not unpack_row(&rows[turn], &at.now, examples, block):
                status = OUT_OF_MEMORY
                break
            if not unpack_row(&rows[1 - turn], &at.following, examples, block):
                status = OUT_OF_MEMORY
                break
            fetch_row(csr, examples.wide_values, examples.wide_indices, at.ahead)
            targets.fetch(&at)
            if averaged and past.n >= past.room:
                # There is no room for one more iterate, also not for that of a pending step.
                status = WORN_OUT
                break
            if has_own:
                pull = &own_steps.pull[step, 0]
                if own_steps.shared:
                    output_ops.fill(scratch.keep, own_steps.keep[step, 0], width)
                    output_ops.fill(scratch.keep_low, own_steps.keep_low[step, 0], width)
                    keep, keep_low = scratch.keep, scratch.keep_low
                else:
                    keep, keep_low = &own_steps.keep[step, 0], &own_steps.keep_low[step, 0]
            elif not adaptive:
                keep, keep_low, pull = &steps.keep[step], &steps.keep_low[step], &steps.pull[step]
            pending = scalars[PENDING] == HALF_DONE
            if pending:
                # The first half of this step was taken before the sweep.
                for k in range(n):
                    scratch.moves[k] = own[PENDING_MOVE, k]
                scalars[PENDING] = NOTHING_DONE
                if adaptive:
                    for k in range(n):
                        intercept_moves[k] = states[k].intercept_move
            else:
                if adaptive:
                    size = size_of(examples, at.number)
                    if scalars[PENDING] == NOTHING_DONE:
                        targets.fill(at.number, scratch.targets, &touched)
                        for k in range(width):
                            shrinks[k], shrinks[width + k], shrinks[2 * width + k] = 1.0, 0.0, 0.0
                        for k in range(n):
                            shrinks[k] = count_row(
                                &states[k], &task.tuning, size, scratch.targets[k]
                            )
                        if shrinks[0] != 1.0:
                            # The mean size of the rows is the same for all outputs.
                            extremes = output_ops.advance(
                                &clock, n_clocks, keep, keep_low, pull
                            )
                            if not in_range(&extremes):
                                status = OUT_OF_RANGE
                                break
                            if beyond_limits(&extremes, task):
                                scalars[PENDING] = ROW_COUNTED
                                status = WORN_OUT
                                break
                    # Where it is ROW_COUNTED, the row was counted before the sweep.
                    scalars[PENDING] = NOTHING_DONE
                if n_clocks == 1:
                    show_clock(&shown, &clock, output_ops, width)
                block.ops.dot(
                    &weights, &rows[turn].row, &rows[1 - turn].row, scratch.predictions
                )
                output_ops.predict(scratch.predictions, shown.scale, intercepts, n)
                label = targets.fill(at.number, scratch.targets, &touched)
                importance = importance_of(examples, at.number)
                find_slopes(&scratch, output_ops, task, softmax, n, label, importance)
                if adaptive:
                    for k in range(n):
                        if has_strengths:
                            tuning.l1, tuning.l2 = strengths[k, OWN_L1], strengths[k, OWN_L2]
                            tuning.largest_rate = strengths[k, OWN_LARGEST_RATE]
                        propose(
                            &proposal, &states[k], &tuning, task.loss, task.epsilon,
                            task.fit_intercept, size, importance, scratch.targets[k],
                            scratch.predictions[k],
                        )
                        scratch.moves[k] = proposal.move
                        intercept_moves[k] = proposal.intercept_move
                        shrinks[k], shrinks[width + k] = proposal.keep, proposal.keep_low
                        shrinks[2 * width + k] = proposal.pull
                        states[k].progress, states[k].rate = proposal.progress, proposal.rate
                        states[k].intercept_progress = proposal.intercept_progress
                        states[k].intercept_move = proposal.intercept_move
                        states[k].squared_slopes = proposal.squared_slopes
                elif has_own and not own_steps.shared:
                    output_ops.multiply(
                        &own_steps.rates[step, 0], scratch.slopes, n, scratch.moves
                    )
                else:
                    rate = own_steps.rates[step, 0] if has_own else steps.rates[step]
                    for k in range(n):
                        scratch.moves[k] = rate * scratch.slopes[k]
                if not (
                    output_ops.all_finite(scratch.predictions, n)
                    and output_ops.all_finite(scratch.moves, n)
                    and (
                        intercept_moves == scratch.moves
                        or output_ops.all_finite(intercept_moves, n)
                    )
                ):
                    status = OVERFLOWED
                    break
                if averaged:
                    one_clock(&single, &clock)
                    if past_is_worn(
                        &past, totals, &single, &task.reach, scalars[WORK], keep[0], pull[0]
                    ):
                        # The step begins again after the sweep.
                        status = WORN_OUT
                        break
                for k in range(n):
                    losses[k] += scratch.losses[k]
                if task.shrink_first:
                    extremes = output_ops.advance(&clock, n_clocks, keep, keep_low, pull)
                    if not in_range(&extremes):
                        status = OUT_OF_RANGE
                        break
                    if beyond_limits(&extremes, task):
                        # A weight stored now would lose its digits beside so large a shift.
                        scalars[PENDING] = HALF_DONE
                        for k in range(n):
                            own[PENDING_MOVE, k] = scratch.moves[k]
                        status = WORN_OUT
                        break

            if task.fit_intercept:
                for k in range(n):
                    intercepts[k] -= intercept_moves[k]
            if any_nonzero(scratch.moves, n):
                if n_clocks == 1 and (pending or task.shrink_first):
                    show_clock(&shown, &clock, output_ops, width)
                output_ops.divide(scratch.moves, shown.scale, n)
                block.ops.update(&weights, &rows[turn].row, &rows[1 - turn].row, scratch.moves)
            if not task.shrink_first:
                extremes = output_ops.advance(&clock, n_clocks, keep, keep_low, pull)
                if not in_range(&extremes):
                    status = OUT_OF_RANGE
                    break
            if averaged and counts[step] != 0.0:
                omega = counts[step]
                one_clock(&single, &clock)
                count_iterate(&past, totals, &single, omega, 0.0)
                for k in range(n):
                    add_to(&own[INTERCEPT_SUM, k], &own[INTERCEPT_SUM_LOW, k],
                           omega * intercepts[k])
            scalars[WORK] += <double> at.now.length
            touched += (<double> at.now.length + 1.0) * <double> width
            turn = 1 - turn
            step += 1
            if beyond_limits(&extremes, task) or (
                scalars[WORK] > task.wear.enough_work
                and extremes.largest_cushion > task.wear.cushion
            ):
                status = WORN_OUT
                break
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
        end_unpacked(rows)
        free(scratch.predictions)
        if adaptive:
            for k in range(n):
                save_from_data(&states[k], &rates[k, 0])
            free(states)
            free(shrinks)
        if averaged:
            totals[COUNTED] = <double> past.n
    return <int> status, step


cdef inline bint in_range(const Extremes* extremes) noexcept nogil:
    """Whether weights can be read and stored with every clock (in_range in clock.pxd)."""
    return extremes.smallest_scale >= DBL_MIN and extremes.largest_shift <= DBL_MAX


cdef inline bint beyond_limits(const Extremes* extremes, Task task) noexcept nogil:
    """Whether a clock is beyond one of its hard limits."""
    return (
        extremes.smallest_scale < task.wear.smallest_scale
        or extremes.largest_cushion > task.wear.largest_cushion
    )


cdef inline Clocks shown_clocks(
    Scratch* scratch, const Clocks* clock, Py_ssize_t n_clocks
) noexcept nogil:
    """Where the loops over outputs read the clocks: an entry for each output."""
    cdef Clocks shown = clock[0]
    if n_clocks == 1:
        shown.scale, shown.shift = scratch.scales, scratch.numbers + NOW_SHIFT
    return shown


cdef inline void show_clock(
    Clocks* shown, const Clocks* clock, const OutputOps* ops, Py_ssize_t width
) noexcept nogil:
    """The one clock of all outputs, as the loops over outputs read it: an entry for each."""
    ops.fill(shown.scale, clock.scale[0], width)
    ops.fill(shown.shift, clock.shift[0], width)


cdef inline void one_clock(Clock* single, const Clocks* clock) noexcept nogil:
    """The one clock of all outputs, in the form of clock.pxd."""
    single.scale, single.scale_low = clock.scale[0], clock.scale_low[0]
    single.inverse = 1.0 / single.scale
    single.shift, single.shift_low = clock.shift[0], clock.shift_low[0]


def sweep_clock(Block block, double[:, ::1] clocks not None, double[::1] scalars not None):
    """Bring every weight current and set the clocks to their start; a pending step is kept."""
    check_vector("scalars", scalars, N_SCALARS)
    bring_current(block, clocks)
    start_clocks(clocks, scalars)


def bring_current(Block block, double[:, ::1] clocks not None):
    """Replace every stored number by its weight, for clocks that are then at their start."""
    cdef Py_ssize_t n_clocks = clocks.shape[1]
    cdef Scratch scratch
    cdef Clocks clock, shown
    cdef WideWeights weights = block.weights
    if not on_the_clock(block):
        raise ValueError(f"block must be of the kind 'clock' or of groups, got {block.kind!r}")
    if n_clocks != 1 and (block.code != CLOCK or n_clocks != block.width):
        raise ValueError(f"clocks must have 1 column or {block.width}, got {n_clocks}")
    check_matrix("clocks", clocks, N_CLOCK_ROWS, n_clocks)
    if not make_scratch(&scratch, block.width):
        raise MemoryError(f"no memory for the scales of {block.width} outputs")
    clock.scale, clock.shift = &clocks[SCALE, 0], &clocks[SHIFT, 0]
    shown = shown_clocks(&scratch, &clock, n_clocks)
    with nogil:
        if n_clocks == 1:
            show_clock(&shown, &clock, output_ops_for(block.level), block.width)
        weights.numbers = shown.shift
        block.ops.sweep(&weights, block.n_features, shown.scale)
        free(scratch.predictions)


def start_clocks(double[:, ::1] clocks not None, double[::1] scalars not None):
    """Set the clocks to their start; a pending step is kept."""
    check_matrix("clocks", clocks, N_CLOCK_ROWS, clocks.shape[1])
    check_vector("scalars", scalars, N_SCALARS)
    clocks[SCALE, :] = 1.0
    clocks[SCALE_LOW:, :] = 0.0
    scalars[WORK] = 0.0


# --- rules with a state of their own ---------------------------------------------------------


cdef const Kind* kind_of(Block block) except NULL:
    if block.code == ADAGRAD:
        return &ADAGRAD_KIND
    if block.code == FTRL:
        return &FTRL_KIND
    if block.code == RDA:
        return &RDA_KIND
    raise ValueError(
        f"block must be of the kind of a rule with a state of its own, got {block.kind!r}"
    )


cdef Py_ssize_t count_of(const char* const* names) noexcept:
    cdef Py_ssize_t n = 0
    while names[n] != NULL:
        n += 1
    return n


cdef char* rules_of(
    Block block, const double[:, ::1] settings, const double[:, ::1] fields
) except NULL:
    """The rule of every output as of now, to be freed."""
    cdef const Kind* kind = kind_of(block)
    cdef Py_ssize_t k
    cdef Refusal refusal
    check_matrix("settings", settings, block.width, count_of(kind.settings))
    check_matrix("fields", fields, block.width, count_of(kind.fields))
    for k in range(block.width):
        refusal = kind.refusal(&settings[k, 0], &fields[k, 0], True)
        if refusal.message != NULL:
            message = refusal.message.decode()
            raise ValueError(
                f"output {k}: " + message.format(refusal.numbers[0], refusal.numbers[1])
            )
    cdef char* rules = <char*> calloc(<size_t> block.width, kind.size)
    if rules == NULL:
        raise MemoryError("no memory for the numbers of the rules")
    for k in range(block.width):
        kind.begin(rules + k * kind.size, &settings[k, 0], &fields[k, 0])
    return rules


cdef inline void show_numbers(
    Block block, WideWeights* weights, Scratch* scratch, char* rules
) noexcept nogil:
    """The numbers of every output's rule that the loops read."""
    cdef Py_ssize_t k, width = block.width
    cdef double* to = scratch.numbers
    cdef AdaGradRule* adagrad = <AdaGradRule*> rules
    cdef FTRLRule* ftrl = <FTRLRule*> rules
    cdef RDARule* rda = <RDARule*> rules
    weights.numbers = to
    if block.code == ADAGRAD:
        weights.steps = adagrad.steps
        weights.decays = False
        for k in range(width):
            to[ADAGRAD_ALPHA * width + k] = adagrad[k].constants.alpha
            to[ADAGRAD_DELTA * width + k] = adagrad[k].constants.delta
            to[ADAGRAD_L2 * width + k] = adagrad[k].constants.l2
            if adagrad[k].constants.decays > 0.0:
                weights.decays = True
                to[ADAGRAD_L1 * width + k] = (
                    adagrad[k].constants.ratio * adagrad[k].constants.l2
                )
            else:
                to[ADAGRAD_L1 * width + k] = adagrad[k].constants.linear
    elif block.code == FTRL:
        for k in range(width):
            to[FTRL_L1 * width + k] = ftrl[k].l1
            to[FTRL_ALPHA * width + k] = ftrl[k].alpha
            to[FTRL_INVERSE_ALPHA * width + k] = ftrl[k].inverse_alpha
            to[FTRL_DAMPING * width + k] = ftrl[k].damping
    else:
        for k in range(width):
            to[NOW_SHIFT * width + k] = rda[k].shift


def run_cells(
    Block block,
    Examples examples,
    Targets targets,
    Steps steps,
    Task task,
    const double[:, ::1] settings not None,  # a row per output
    double[:, ::1] fields not None,          # IN/OUT: a row per output
    double[::1] losses not None,             # IN/OUT: the sums of the losses before the updates
    Py_ssize_t first,
    bint softmax=False,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef const Kind* kind = kind_of(block)
    cdef Py_ssize_t n_steps = steps.order.shape[0], step = first, k, label
    cdef Py_ssize_t n = targets.n_outputs, width = block.width
    cdef int turn = 0
    cdef Status status = FINISHED
    cdef const OutputOps* output_ops = output_ops_for(block.level)
    cdef WideWeights weights = block.weights
    cdef bint adds_intercept = task.fit_intercept or kind.frozen_intercept
    cdef bint fits_intercept = task.fit_intercept, asks = False, measures, unpacked
    cdef double importance, cushion = task.wear.largest_cushion, size, touched = 0.0
    cdef Visit at
    cdef Unpacked[2] rows
    cdef Scratch scratch
    cdef char* rules
    check_run(block, examples, targets, task, losses)
    if softmax:
        check_softmax(targets)
    rules = rules_of(block, settings, fields)
    cdef size_t each = kind.size
    cdef Head* rule = <Head*> rules
    measures = kind.measure != NULL and rule.measures
    if measures and not has_sizes(examples):
        free(rules)
        raise ValueError(
            f"examples must have sizes: the rates of {block.kind!r} follow the sizes of the rows"
        )
    if not 0 <= first < n_steps:
        free(rules)
        return <int> FINISHED, n_steps
    if not make_scratch(&scratch, width):
        free(rules)
        raise MemoryError(f"no memory for the predictions of {width} outputs")
    cdef const int64_t* order = &steps.order[0]
    with nogil:
        begin_visits(&at)
        begin_unpacked(rows)
        show_numbers(block, &weights, &scratch, rules)
        while step < n_steps:
            # The next row is unpacked with each row, unless it could not be loaded then.
            unpacked = at.loaded
            status = visit(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            if not unpacked and not unpack_row(&rows[turn], &at.now, examples, block):
                status = OUT_OF_MEMORY
                break
            if not unpack_row(&rows[1 - turn], &at.following, examples, block):
                status = OUT_OF_MEMORY
                break
            fetch_row(&examples.csr, examples.wide_values, examples.wide_indices, at.ahead)
            targets.fetch(&at)
            if measures:
                size = size_of(examples, at.number)
                for k in range(width):
                    if kind.measure(rules + k * each, size):
                        asks = True
                if asks:
                    status = WORN_OUT
                    break
            if block.code == ADAGRAD:
                weights.steps = (<AdaGradRule*> rules).steps
            else:
                show_numbers(block, &weights, &scratch, rules)
            block.ops.dot(
                &weights, &rows[turn].row, &rows[1 - turn].row, scratch.predictions
            )
            if block.code == RDA:
                for k in range(n):
                    scratch.predictions[k] *= (<RDARule*> rules)[k].scale
            if adds_intercept:
                for k in range(n):
                    scratch.predictions[k] += (<Head*> (rules + k * each)).intercept
            label = targets.fill(at.number, scratch.targets, &touched)
            importance = importance_of(examples, at.number)
            find_slopes(&scratch, output_ops, task, softmax, n, label, importance)
            if not (output_ops.all_finite(scratch.predictions, n) and output_ops.all_finite(scratch.slopes, n)):
                status = OVERFLOWED
                break
            for k in range(n):
                losses[k] += scratch.losses[k]
            if any_nonzero(scratch.slopes, n):
                block.ops.update(&weights, &rows[turn].row, &rows[1 - turn].row, scratch.slopes)
            for k in range(width):
                kind.advance(
                    rules + k * each, scratch.slopes[k] if fits_intercept else 0.0, 1.0, 0.0,
                    cushion,
                )
            touched += (<double> at.now.length + 1.0) * <double> width
            turn = 1 - turn
            step += 1
            if touched > PATIENCE:
                status = PAUSED
                break
        for k in range(width):
            kind.end(rules + k * each, &fields[k, 0])
        end_visits(&at)
        end_unpacked(rows)
        free(scratch.predictions)
        free(rules)
    return <int> status, step


def read_cells(
    Block block,
    const double[:, ::1] settings not None,
    const double[:, ::1] fields not None,
    double[:, ::1] out not None,  # OUT: a row per feature, a column per output
):
    """The weights of every output as of now, for a rule with a state of its own."""
    cdef const Kind* kind = kind_of(block)
    cdef Py_ssize_t feature, k, number, place, n = out.shape[1], width = block.width
    cdef Py_ssize_t n_numbers = block.weights.stride // width
    cdef const double* wide = <const double*> block.weights.cells
    cdef const float* narrow = <const float*> block.weights.cells
    cdef double[4] cell
    cdef char* rules
    if n > width:
        raise ValueError(f"out must have up to {width} columns, got {n}")
    check_matrix("out", out, block.n_features, n)
    rules = rules_of(block, settings, fields)
    cdef size_t each = kind.size
    with nogil:
        for feature in range(block.n_features):
            for k in range(n):
                for number in range(n_numbers):
                    place = feature * block.weights.stride + number * width + k
                    cell[number] = wide[place] if block.wide else narrow[place]
                if block.code == ADAGRAD:
                    if cell[0] == 0.0:
                        out[feature, k] = 0.0
                        continue
                    # A row of weights has one stamp, and keeps no decay of a single weight.
                    cell[2], cell[3] = 0.0, block.weights.stamps[feature]
                    kind.retune(rules + k * each, cell, 1)
                kind.read(rules + k * each, cell, 1, &out[feature, k])
        free(rules)


def sweep_adagrad(
    Block block, const double[:, ::1] settings not None, double[:, ::1] fields not None
):
    """Bring every weight current, and change the scale of the rates if that is due."""
    cdef Py_ssize_t k
    cdef Scratch scratch
    cdef WideWeights weights = block.weights
    cdef char* rules
    cdef AdaGradRule* adagrad
    if block.code != ADAGRAD:
        raise ValueError(f"block must be of the kind 'adagrad', got {block.kind!r}")
    rules = rules_of(block, settings, fields)
    adagrad = <AdaGradRule*> rules
    if not make_scratch(&scratch, block.width):
        free(rules)
        raise MemoryError(f"no memory for the numbers of {block.width} outputs")
    with nogil:
        show_numbers(block, &weights, &scratch, rules)
        for k in range(block.width):
            scratch.moves[k] = (
                change_scale(&adagrad[k]) if adagrad[k].waiting != 0.0 else 1.0
            )
        block.ops.sweep(&weights, block.n_features, scratch.moves)
        for k in range(block.width):
            ADAGRAD_KIND.end(rules + k * ADAGRAD_KIND.size, &fields[k, 0])
        free(scratch.predictions)
        free(rules)


# --- losses of rows that are not learned from --------------------------------------------------


def losses_on(
    Block block,
    Examples examples,
    Targets targets,
    const int64_t[::1] order not None,
    Task task,
    double[::1] losses not None,     # IN/OUT: the sums of importance times loss
    Py_ssize_t first,
    const double[:, ::1] clocks=None,      # of outputs on the clock ...
    const double[:, ::1] own=None,
    const double[:, ::1] settings=None,    # ... or of a rule with a state of its own
    const double[:, ::1] fields=None,
):
    """Add up the losses on the rows ``order``; returns how the call ended and the first row left.

    No step is taken.  AdaGrad's weights of the rows are brought current, which changes them by
    rounding alone.
    """
    cdef Py_ssize_t n_steps = order.shape[0], step = first, k, label
    cdef Py_ssize_t n = targets.n_outputs, width = block.width, n_clocks = 1
    cdef int turn = 0
    cdef Status status = FINISHED
    cdef const OutputOps* output_ops = output_ops_for(block.level)
    cdef WideWeights weights = block.weights
    cdef Clocks clock, shown
    cdef bint on_clock = block.code == CLOCK, unpacked
    cdef double touched = 0.0
    cdef Visit at
    cdef Unpacked[2] rows
    cdef Scratch scratch
    cdef char* rules = NULL
    cdef size_t each = 0
    check_run(block, examples, targets, task, losses)
    if on_clock:
        if clocks is None or own is None:
            raise TypeError("clocks and own must be given for outputs on the clock")
        n_clocks = clocks.shape[1]
        if n_clocks != 1 and n_clocks != width:
            raise ValueError(f"clocks must have 1 column or {width}, got {n_clocks}")
        check_matrix("clocks", clocks, N_CLOCK_ROWS, n_clocks)
        check_matrix("own", own, N_OWN_ROWS, width)
    else:
        if settings is None or fields is None:
            raise TypeError("settings and fields must be given for a rule with a state of its own")
        rules = rules_of(block, settings, fields)
        each = kind_of(block).size
    if n_steps:
        try:
            check_aligned("order", &order[0])
        except BaseException:
            free(rules)
            raise
    if not 0 <= first < n_steps:
        free(rules)
        return <int> FINISHED, n_steps
    if not make_scratch(&scratch, width):
        free(rules)
        raise MemoryError(f"no memory for the predictions of {width} outputs")
    cdef const int64_t* numbers = &order[0]
    with nogil:
        begin_visits(&at)
        begin_unpacked(rows)
        if on_clock:
            clock.scale, clock.shift = &clocks[SCALE, 0], &clocks[SHIFT, 0]
            shown = shown_clocks(&scratch, &clock, n_clocks)
            if n_clocks == 1:
                show_clock(&shown, &clock, output_ops, width)
            weights.numbers = shown.shift
        else:
            show_numbers(block, &weights, &scratch, rules)
        while step < n_steps:
            # The next row is unpacked with each row, unless it could not be loaded then.
            unpacked = at.loaded
            status = visit(&at, examples, numbers, n_steps, step)
            if status != FINISHED:
                break
            if not unpacked and not unpack_row(&rows[turn], &at.now, examples, block):
                status = OUT_OF_MEMORY
                break
            if not unpack_row(&rows[1 - turn], &at.following, examples, block):
                status = OUT_OF_MEMORY
                break
            fetch_row(&examples.csr, examples.wide_values, examples.wide_indices, at.ahead)
            targets.fetch(&at)
            block.ops.dot(
                &weights, &rows[turn].row, &rows[1 - turn].row, scratch.predictions
            )
            if on_clock:
                output_ops.predict(scratch.predictions, shown.scale, &own[INTERCEPT, 0], n)
            else:
                for k in range(n):
                    if block.code == RDA:
                        scratch.predictions[k] *= (<RDARule*> rules)[k].scale
                    scratch.predictions[k] += (<Head*> (rules + k * each)).intercept
            label = targets.fill(at.number, scratch.targets, &touched)
            find_slopes(
                &scratch, output_ops, task, False, n, label, importance_of(examples, at.number)
            )
            for k in range(n):
                losses[k] += scratch.losses[k]
            touched += (<double> at.now.length + 1.0) * <double> width
            turn = 1 - turn
            step += 1
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
        end_unpacked(rows)
        free(scratch.predictions)
        free(rules)
    return <int> status, step
