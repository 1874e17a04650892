"""Rows of weights: models of many outputs that learn in one pass over X.

An output is one column of targets with the weights that predict it: a class against the rest, a
label, a target of a regression.  The weights of one feature lie side by side, an entry per output,
so that a step loads the feature once for all outputs; outputs_loops.pxd describes the loops.

Here are the objects that a run is handed: the targets, the weights, and rates and shrinks that
differ from output to output.

    online_outputs.pyx    the step loop, for cells in float64 and in float32
    outputs_clock.pyx     checks the arrays of SGD and FoBoS on a clock, and calls the loop
    outputs_cells.pyx     the same for the rules with a state of their own: RDA, FTRL and AdaGrad

Property: see online_outputs.pyx.
"""

cimport cython
from libc.stdint cimport uintptr_t
from libc.string cimport memset

from importlib import import_module
from importlib.util import find_spec

import numpy as np

from .chunk cimport ADAGRAD, AVERAGED, CLOCK, FTRL, GROUP_L2, GROUP_MAX, RDA
from .examples cimport (
    Examples,
    Steps,
    Task,
    check_aligned,
    check_vector,
    chunk_of,
    highest_level,
    pinned,
)
from .losses cimport N_LOSSES
from .outputs_chunk cimport LABELS, NUMBERS, POSITIVES, SHARED, OutputLoops, Outputs

#: Bytes to which a row of weights is filled up: a cache line.
LINE_BYTES = 64

# The number of a kind among the rules, and how many numbers a weight has.
cdef dict KINDS = {
    "clock": (<int> CLOCK, 1), "averaged clock": (<int> AVERAGED, 2), "rda": (<int> RDA, 1),
    "ftrl": (<int> FTRL, 2), "adagrad": (<int> ADAGRAD, 2), "group_l2": (<int> GROUP_L2, 1),
    "group_max": (<int> GROUP_MAX, 1),
}

# The greatest number of outputs, 2 ** 58 where addresses have 64 bits and 2 ** 26 where they have
# 32: sums and small multiples of it fit a Py_ssize_t.
cdef Py_ssize_t GREATEST_WIDTH = <Py_ssize_t> 1 << (8 * sizeof(Py_ssize_t) - 6)

# The loops of each level for cells in float64 and in float32, found when the first block is made.
cdef enum:
    MOST_LEVELS = 3
cdef const OutputLoops* LOOPS[2 * MOST_LEVELS]
cdef int n_levels = 0


cdef int find_loops() except -1:
    """Import the modules of each level that this machine can run."""
    global n_levels
    cdef uintptr_t address
    for suffix in ("", "_v3", "_v4")[:highest_level() + 1]:
        name = f"lazynet.kernels.online_outputs{suffix}"
        if n_levels and find_spec(name) is None:
            break
        for narrow in range(2):
            address = import_module(name + narrow * "_f32").address()
            LOOPS[2 * n_levels + narrow] = <const OutputLoops*> address
        n_levels += 1
    return 0


cdef tuple described(str kind):
    """What ``KINDS`` says of the kind."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(sorted(KINDS))}, got {kind!r}")
    return KINDS[kind]


def numbers(str kind not None):
    """How many numbers a weight has."""
    return described(kind)[1]


@cython.binding(False)  # a method then checks the type of self
cdef class Targets:
    """The targets of a block of outputs for every row of X.

    Exactly one form is given.  ``labels``: the output that has the target +1, all others have -1;
    -1 for none.  ``starts`` and ``positives``: the outputs with the target +1, in CSR form.
    ``numbers``: the targets themselves, a row for each row of X.  ``shared``: one target for each
    row of X, the same for all outputs.  The block holds the outputs from ``first`` on,
    ``n_outputs`` of them.
    """

    def __cinit__(
        self, Py_ssize_t first, Py_ssize_t n_outputs, labels=None, starts=None, positives=None,
        numbers=None, shared=None,
    ):
        cdef TargetRows* rows = &self.rows
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
        given = (labels, starts, positives, numbers, shared)
        self.pins = pinned(given), given
        if labels is not None:
            self.labels = labels
            self.n_rows, rows.form = self.labels.shape[0], LABELS
            rows.labels = &self.labels[0] if self.n_rows else NULL
            check_aligned("labels", rows.labels)
        elif shared is not None:
            self.shared = shared
            self.n_rows, rows.form = self.shared.shape[0], SHARED
            rows.shared = &self.shared[0] if self.n_rows else NULL
            check_aligned("shared", rows.shared)
        elif numbers is not None:
            self.numbers = numbers
            self.n_rows, rows.n_columns = self.numbers.shape[0], self.numbers.shape[1]
            if rows.n_columns < first + n_outputs:
                raise ValueError(
                    f"numbers must have {first + n_outputs} columns, got {rows.n_columns}"
                )
            rows.form, rows.numbers = NUMBERS, &self.numbers[0, 0] if self.n_rows else NULL
            check_aligned("numbers", rows.numbers)
        else:
            self.starts, self.positives = starts, positives
            if self.starts.shape[0] == 0:
                raise ValueError("starts must not be empty")
            self.n_rows, rows.form = self.starts.shape[0] - 1, POSITIVES
            rows.starts, rows.n_positives = &self.starts[0], self.positives.shape[0]
            rows.positives = &self.positives[0] if rows.n_positives else NULL
            check_aligned("starts", rows.starts)
            check_aligned("positives", rows.positives)
        self.first, self.n_outputs = first, n_outputs
        rows.first, rows.n_rows = first, self.n_rows


@cython.binding(False)  # a method then checks the type of self
cdef class OwnSteps:
    """The rates and shrinks of consecutive steps that differ from output to output.

    Each array has a row per step.  ``pull`` has an entry per output of the block, filled up to its
    width; ``rates``, ``keep`` and ``keep_low`` too, or one entry for all outputs.
    """

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

    def __cinit__(self, str kind not None, cells not None, Py_ssize_t width, stamps=None):
        cdef Outputs* outputs = &self.outputs
        cdef Py_ssize_t columns
        memset(outputs, 0, sizeof(Outputs))
        self.kind, self.width = kind, width
        outputs.kind, n_numbers = described(kind)
        if not isinstance(cells, np.ndarray):
            raise TypeError(f"cells must be an array, got {type(cells).__name__}")
        if cells.dtype not in (np.float32, np.float64):
            raise TypeError(f"cells must be float32 or float64, got {cells.dtype}")
        outputs.narrow = cells.dtype == np.float32
        if outputs.narrow and kind == "averaged clock":
            raise TypeError("cells must be float64 where iterates are averaged, got float32")
        line = LINE_BYTES // (4 if outputs.narrow else 8)
        if not line <= width <= GREATEST_WIDTH or width % line:
            raise ValueError(
                f"width must be a multiple of {line} up to {GREATEST_WIDTH}, got {width}"
            )
        if not cells.flags.writeable:
            raise ValueError("cells must be writeable")
        self.pins = pinned((cells, stamps)), (cells, stamps)
        outputs.width, outputs.stride = width, width * n_numbers
        if outputs.narrow:
            self.narrow_cells = cells
            self.n_features, columns = self.narrow_cells.shape[0], self.narrow_cells.shape[1]
        else:
            self.wide_cells = cells
            self.n_features, columns = self.wide_cells.shape[0], self.wide_cells.shape[1]
        if columns != outputs.stride:
            raise ValueError(f"cells must have {outputs.stride} columns, got {columns}")
        outputs.n_features = self.n_features
        if self.n_features and outputs.narrow:
            outputs.cells = &self.narrow_cells[0, 0]
        elif self.n_features:
            outputs.cells = &self.wide_cells[0, 0]
        check_aligned("cells", outputs.cells, 4 if outputs.narrow else 8)
        if outputs.kind == ADAGRAD or outputs.kind == GROUP_MAX:
            if stamps is None:
                raise TypeError("stamps must be an array with an entry per feature, got None")
            self.stamped = stamps
            check_vector("stamps", self.stamped, self.n_features)
            outputs.stamps = &self.stamped[0] if self.n_features else NULL
        self.at_level(MOST_LEVELS)

    def at_level(self, int level):
        """Use the loops of a lower vector level, 0 the generic one; returns the level in use.

        For tests: every level gives the same bits.
        """
        if n_levels == 0:
            find_loops()
        level = max(0, min(level, n_levels - 1))
        # Groups are computed in double.
        narrow = self.outputs.narrow and self.outputs.kind not in (GROUP_L2, GROUP_MAX)
        self.loops = LOOPS[2 * level + narrow]
        return level


cdef int check_matrix(
    str name, const double[:, ::1] array, Py_ssize_t rows, Py_ssize_t columns
) except -1:
    if array.shape[0] != rows or array.shape[1] != columns:
        raise ValueError(
            f"{name} must have the shape {(rows, columns)}, got {(array.shape[0], array.shape[1])}"
        )
    return check_aligned(name, &array[0, 0] if rows and columns else NULL)


cdef int check_run(
    Block block, Examples examples, Targets targets, Task task, double[::1] losses, bint softmax
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
    if softmax and targets.rows.form != LABELS:
        raise ValueError("targets must be labels where softmax is asked for")
    if not 0 <= task.loss < N_LOSSES:
        raise ValueError(f"loss must be a code from 0 to {N_LOSSES - 1}, got {task.loss}")
    return check_vector("losses", losses, targets.n_outputs)


cdef void add_run(
    Outputs* at, Examples examples, Targets targets, Steps steps, Task task, double[::1] losses,
    Py_ssize_t first
) noexcept:
    at.chunk = chunk_of(examples, steps, task, first)
    at.targets, at.n, at.losses = targets.rows, targets.n_outputs, &losses[0]
