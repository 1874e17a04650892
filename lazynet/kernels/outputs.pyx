"""Rows of weights: models of many outputs that learn in one pass over X.

An output is one column of targets with the weights that predict it: a class against the rest, a
label, a target of a regression.  The weights of one feature lie side by side, an entry per output,
so that a step loads the feature once for all outputs; wide.h describes the loops.

Here are the objects that a run is handed: the targets, the weights, and rates and shrinks that
differ from output to output.  A step computes, for every output, what the kernel of a single output
computes:

    outputs_clock.pyx     steps of SGD or FoBoS on a clock
    outputs_cells.pyx     steps of the rules of rules/: RDA, FTRL and AdaGrad
    outputs_losses.pyx    the losses, without a step
    outputs_steps.pxd     what all three do with a row

Property: the weights of an output equal the weights of a model of this output alone after every
step (tests/exact/test_outputs.py), and with the softmax those of
lazynet.reference.outputs.DenseSoftmax; any split into blocks of outputs, and any split into chunks
of steps, gives the same bits.
"""

cimport cython
from libc.stdint cimport int64_t

import numpy as np

from .examples cimport Examples, Task, check_aligned, check_vector, highest_level, pinned
from .losses cimport N_LOSSES
from .wide cimport (
    ADAGRAD,
    AVERAGED_CLOCK,
    CLOCK,
    FTRL,
    GROUP_L2,
    GROUP_MAX,
    LINE,
    RDA,
    output_ops_for,
    wide_ops_for,
)

#: Bytes to which a row of weights is filled up.
LINE_BYTES = LINE

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
        self.output_ops = output_ops_for(self.level)
        return self.level


cdef int check_matrix(
    str name, const double[:, ::1] array, Py_ssize_t rows, Py_ssize_t columns
) except -1:
    if array.shape[0] != rows or array.shape[1] != columns:
        raise ValueError(
            f"{name} must have the shape {(rows, columns)}, got {(array.shape[0], array.shape[1])}"
        )
    return check_aligned(name, &array[0, 0] if rows and columns else NULL)


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


cdef int check_softmax(Targets targets) except -1:
    if targets.form != LABELS:
        raise ValueError("targets must be labels where softmax is asked for")
    return 0
