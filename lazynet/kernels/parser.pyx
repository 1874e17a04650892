"""Text in svmlight's and in Vowpal Wabbit's form to rows, without the GIL.

``Parser.parse`` takes bytes, whole lines of them, and tells how many it has taken: the rest is
handed over again in front of what follows.  ``Parser.take`` gives the rows that have been parsed.
lines.h says what lines look like, decimal.h how a number is read.

Property: rows and refusals are those of tests/support/parser.py, however the text is cut into
buffers (tests/exact/test_parser.py).
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

cdef extern from "lines.h" nogil:
    enum Fault "lazynet_fault":
        SOUND "LAZYNET_SOUND"
        LABEL "LAZYNET_FAULT_LABEL"
        LABELS "LAZYNET_FAULT_LABELS"
        LABEL_RANGE "LAZYNET_FAULT_LABEL_RANGE"
        LABEL_TWICE "LAZYNET_FAULT_LABEL_TWICE"
        SPACE "LAZYNET_FAULT_SPACE"
        QUERY "LAZYNET_FAULT_QUERY"
        COLUMN "LAZYNET_FAULT_COLUMN"
        NEGATIVE "LAZYNET_FAULT_NEGATIVE"
        COLUMN_ZERO "LAZYNET_FAULT_COLUMN_ZERO"
        COLUMN_RANGE "LAZYNET_FAULT_COLUMN_RANGE"
        COLON "LAZYNET_FAULT_COLON"
        VALUE "LAZYNET_FAULT_VALUE"
        EXPONENT "LAZYNET_FAULT_EXPONENT"
        TOO_LARGE "LAZYNET_FAULT_TOO_LARGE"
        SUM "LAZYNET_FAULT_SUM"
        BAR "LAZYNET_FAULT_BAR"
        TAG "LAZYNET_FAULT_TAG"
        IMPORTANCE "LAZYNET_FAULT_IMPORTANCE"
        INITIAL "LAZYNET_FAULT_INITIAL"
        NAMESPACE "LAZYNET_FAULT_NAMESPACE"
        FEATURE_END "LAZYNET_FAULT_FEATURE_END"
        NO_MEMORY "LAZYNET_NO_MEMORY"

    ctypedef struct Format "lazynet_format":
        bint vowpal
        bint several
        bint wide
        int64_t base
        int64_t n_columns
        int64_t n_labels
        uint64_t mask

    ctypedef struct Growing "lazynet_growing":
        char* bytes

    ctypedef struct Rows "lazynet_rows":
        Growing values
        Growing columns
        Growing ends
        Growing labels
        Growing label_ends
        Growing importances
        Py_ssize_t n_rows
        Py_ssize_t n_values
        Py_ssize_t n_labels
        int64_t least_column
        int64_t greatest_column
        int64_t greatest_label
        int64_t line
        int64_t column

    bint lazynet_begin()
    Fault lazynet_parse(const Format*, Rows*, const char* text, Py_ssize_t size, bint last,
                        Py_ssize_t most_rows, Py_ssize_t* taken)
    void lazynet_free_rows(Rows*)
    uint32_t lazynet_murmur(const char* text, size_t size, uint32_t seed)

# The greatest number of columns or labels: a column that is kept is below it.
GREATEST_COUNT = 2**62
cdef int64_t MOST_COUNT = GREATEST_COUNT
# Columns below this number are kept as int32.
cdef int64_t NARROW = 2**31 - 1

# What a line should have held where its column begins.
EXPECTED = {
    LABEL: "a label such as 1 or -0.5",
    LABELS: "a label, an integer from 0 on",
    LABEL_RANGE: "a label from 0 to {last_label}",
    LABEL_TWICE: "a label that the row does not have yet",
    SPACE: "a space or the end of the line",
    QUERY: "the digits of a query's number",
    COLUMN: "a column and its value, such as 3:0.5",
    NEGATIVE: "a column that is not negative",
    COLUMN_ZERO: "a column from 1 on (zero_based=True takes 0)",
    COLUMN_RANGE: "a column from {first_column} to {last_column}",
    COLON: "':' behind the column",
    VALUE: "a finite number such as 0.5",
    EXPONENT: "the digits of an exponent",
    TOO_LARGE: "a number that a float64 holds",
    SUM: "values of one column whose sum a float64 holds",
    BAR: "'|' before the end of the line",
    TAG: "'|' behind the tag",
    IMPORTANCE: "an importance that is not negative",
    INITIAL: "'|' behind the label and the importance",
    NAMESPACE: "a namespace or a space behind '|'",
    FEATURE_END: "a space, '|' or the end of the line",
}


if not lazynet_begin():
    raise MemoryError("no memory for the locale that numbers are read in")


def murmur(bytes text not None, int64_t seed):
    """MurmurHash3, x86, 32 bits: the hash of Vowpal Wabbit's names."""
    if not 0 <= seed <= 0xFFFFFFFF:
        raise ValueError(f"seed must lie between 0 and {2**32 - 1}, got {seed}")
    return lazynet_murmur(<const char*> text, <size_t> len(text), <uint32_t> seed)


cdef object copied(const char* numbers, Py_ssize_t n, object dtype):
    """A new array of ``n`` numbers."""
    made = np.empty(n, dtype=dtype)
    cdef char[::1] room = made.view(np.int8)
    if n:
        memcpy(&room[0], numbers, room.shape[0])
    return made


@cython.binding(False)  # a method then checks the type of self
cdef class Parser:
    """Rows from text, one buffer after the other.

    ``base`` is the number of the first column in svmlight's form, of ``n_columns``; ``bits`` of a
    hash count in Vowpal Wabbit's form.  ``several`` rows have any number of labels below
    ``n_labels``.
    """

    cdef Format format
    cdef Rows rows
    cdef bint busy      # a call is under way, without the GIL
    cdef object name    # of the file, for errors

    def __cinit__(self):
        self.name = "text"
        self.forget()

    def __init__(
        self,
        *,
        bint vowpal=False,
        bint several=False,
        int64_t base=0,
        int64_t n_columns=GREATEST_COUNT,
        int64_t n_labels=GREATEST_COUNT,
        int bits=18,
    ):
        self.check_idle()
        if base not in (0, 1):
            raise ValueError(f"base must be 0 or 1, got {base}")
        if not 0 <= n_columns <= MOST_COUNT:
            raise ValueError(f"n_columns must lie between 0 and {MOST_COUNT}, got {n_columns}")
        if not 0 <= n_labels <= MOST_COUNT:
            raise ValueError(f"n_labels must lie between 0 and {MOST_COUNT}, got {n_labels}")
        if not 1 <= bits <= 62:
            raise ValueError(f"bits must lie between 1 and 62, got {bits}")
        self.forget()
        self.format.vowpal, self.format.several = vowpal, several
        self.format.base, self.format.n_columns, self.format.n_labels = base, n_columns, n_labels
        self.format.mask = (<uint64_t> 1 << bits) - 1
        self.format.wide = n_columns > NARROW
        if vowpal:
            self.format.wide = bits > 31

    def __dealloc__(self):
        lazynet_free_rows(&self.rows)

    cdef void forget(self) noexcept:
        lazynet_free_rows(&self.rows)
        self.rows.least_column, self.rows.greatest_column = MOST_COUNT, -1
        self.rows.greatest_label = -1

    cdef int check_idle(self) except -1:
        if self.busy:
            raise ValueError("parser must not be used by two threads at once")
        return 0

    @property
    def n_rows(self):
        """How many rows have been parsed and not been taken."""
        return self.rows.n_rows

    @property
    def line(self):
        """How many lines of the file are behind."""
        return self.rows.line

    @property
    def least_column(self):
        """The least column of all files, counted from ``base``; greater than the greatest if none."""
        return self.rows.least_column

    @property
    def greatest_column(self):
        """The greatest column of all files, counted from ``base``; -1 if there was none."""
        return self.rows.greatest_column

    @property
    def greatest_label(self):
        """The greatest of several labels; -1 if there was none."""
        return self.rows.greatest_label

    def begin(self, name):
        """A file begins: errors name it, and its lines are counted from 1."""
        self.check_idle()
        self.name, self.rows.line = str(name), 0

    def parse(self, bytes text not None, Py_ssize_t start, bint last, Py_ssize_t most_rows):
        """Parse whole lines from ``start`` on, until there are ``most_rows`` rows to take.

        Returns where the next line begins.  ``last`` says that the file ends with the text.
        """
        cdef Py_ssize_t size = len(text), taken = 0
        cdef const char* first = text  # bytes do not change while other threads run
        cdef Fault fault
        self.check_idle()
        if not 0 <= start <= size:
            raise ValueError(f"start must lie between 0 and {size}, got {start}")
        self.busy = True
        try:
            with nogil:
                fault = lazynet_parse(&self.format, &self.rows, first + start, size - start, last,
                                      most_rows, &taken)
        finally:
            self.busy = False
        if fault == NO_MEMORY:
            raise MemoryError(f"{self.name}: line {self.rows.line + 1} needs too much memory")
        if fault != SOUND:
            raise ValueError(self.refusal(fault, text, start + taken + self.rows.column - 1))
        return start + taken

    cdef str refusal(self, int fault, bytes text, Py_ssize_t at):
        """The message of an error at a byte of the text."""
        expected = EXPECTED[fault].format(
            last_label=self.format.n_labels - 1,
            first_column=self.format.base,
            last_column=self.format.base + self.format.n_columns - 1,
        )
        rest = text[at : at + 40].split(b"\n")[0]
        if not rest or rest == b"\r":
            found = "the end of the line"
        elif rest[:1].isspace():
            found = "a space"
        else:
            found = repr(rest.split()[0].decode("ascii", "backslashreplace"))
        return (
            f"{self.name}: line {self.rows.line + 1}, column {self.rows.column}: "
            f"expected {expected}, found {found}"
        )

    def take(self):
        """The rows that have been parsed, and none is left.

        Returns indptr, indices and values of X, the labels (for several labels a pair: where the
        labels of each row end, and all labels), and the importances, or None where the form has
        none.
        """
        cdef Py_ssize_t n = self.rows.n_rows
        self.check_idle()
        ends = copied(self.rows.ends.bytes, n, np.int64)
        indptr = np.concatenate([np.zeros(1, np.int64), ends])
        indices = copied(
            self.rows.columns.bytes, self.rows.n_values,
            np.int64 if self.format.wide else np.int32,
        )
        values = copied(self.rows.values.bytes, self.rows.n_values, np.float64)
        if self.format.several:
            labels = (
                copied(self.rows.label_ends.bytes, n, np.int64),
                copied(self.rows.labels.bytes, self.rows.n_labels, np.int64),
            )
        else:
            labels = copied(self.rows.labels.bytes, n, np.float64)
        importances = (
            copied(self.rows.importances.bytes, n, np.float64) if self.format.vowpal else None
        )
        self.rows.n_rows = self.rows.n_values = self.rows.n_labels = 0
        return indptr, indices, values, labels, importances
