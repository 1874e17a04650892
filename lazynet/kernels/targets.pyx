"""The targets of several outputs, as the step loop of outputs reads them."""

cimport cython
from libc.stdint cimport int64_t

from .arrays cimport Held
from .outputs_chunk cimport LABELS, NUMBERS, POSITIVES, SHARED, TargetRows, greatest_width


@cython.binding(False)  # a method then checks the type of self
cdef class Targets:
    """The targets of a block of outputs for every row of X.

    ``labels``: the output that has the target +1 in each row, or -1; with ``starts``, any number of
    them, in CSR form; all other outputs have -1.  Or ``numbers``: the targets themselves, a row for
    each row of X, with one column where all outputs have the same.  The block holds the outputs
    from ``first`` on, ``n_outputs`` of them.
    """
    def __cinit__(
        self, Py_ssize_t first, Py_ssize_t n_outputs, labels=None, starts=None, numbers=None
    ):
        cdef TargetRows* rows = &self.rows
        cdef Held array, begins
        if not 0 <= first <= greatest_width():
            raise ValueError(f"first must lie between 0 and {greatest_width()}, got {first}")
        if not 1 <= n_outputs <= greatest_width():
            raise ValueError(
                f"n_outputs must lie between 1 and {greatest_width()}, got {n_outputs}"
            )
        if (labels is None) == (numbers is None) or (labels is None and starts is not None):
            raise TypeError("labels, labels with starts, or numbers must be given, and nothing else")
        if numbers is not None:
            array = Held("numbers", numbers, (None, None), "d", False)
            rows.n_columns, rows.numbers = array.shape[1], <const double*> array.begin
            rows.form = SHARED if rows.n_columns == 1 else NUMBERS
            if rows.form == NUMBERS and rows.n_columns < first + n_outputs:
                raise ValueError(
                    f"numbers must have 1 or {first + n_outputs} columns, got {rows.n_columns}"
                )
            if rows.form == NUMBERS and rows.numbers != NULL:
                rows.numbers += first
        else:
            array = Held("labels", labels, (None,), "lq", False)
            rows.form, rows.labels = LABELS, <const int64_t*> array.begin
        self.held, self.n_rows = array, array.shape[0]
        if starts is not None:
            begins = Held("starts", starts, (None,), "lq", False)
            if begins.begin == NULL:
                raise ValueError("starts must not be empty")
            rows.form, rows.starts = POSITIVES, <const int64_t*> begins.begin
            rows.n_labels, self.n_rows = self.n_rows, <Py_ssize_t> begins.shape[0] - 1
            self.held = array, begins
        self.first, self.n_outputs = first, n_outputs
        rows.first = first
