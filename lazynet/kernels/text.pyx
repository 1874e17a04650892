"""Lines of text in svmlight's and in Vowpal Wabbit's form to rows, without the GIL.

    svmlight        label [qid:number] column:value column:value ... # comment
      several labels   label,label,... column:value ...   without labels, a column comes first
    Vowpal Wabbit   label [importance] [tag]|namespace[:factor] feature[:value] ... |namespace ...

A column that a row names twice gets the sum of its values, at the place of the first, so that a row
is the same in whatever chunk it comes.

Nothing outside the text and the arrays is read or written.  The text ends with a newline, at which
every reading function stops.  An entry, a label and a row take two bytes of text at the
least, so that arrays with a place for every second byte hold them all.

Property: rows and refusals are those of tests/support/parser.py (tests/exact/test_parser.py).
"""

from libc.math cimport isfinite, isnan
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memchr, strncmp

from lazynet.kernels.words cimport (
    LC_NUMERIC_MASK, differ, hash_of_name, locale_t, newlocale, read_decimal, read_digits, with_sums,
)

import numpy as np

#: The greatest number of columns or labels.
GREATEST_COUNT = 2**62

# strtod reads a point as the user's locale writes it, strtod_l as the locale "C" does.
cdef locale_t plain_locale = newlocale(LC_NUMERIC_MASK, b"C", NULL)
if plain_locale == NULL:
    raise MemoryError("no memory for the locale that numbers are read in")


cdef struct Rows:
    # What the text means: columns from base on, and the bits of a hash that count.
    bint several
    int64_t base, n_columns, n_labels
    uint64_t mask
    # The arrays of all rows, and how much of them is filled.
    int64_t* value_ends
    int64_t* label_ends
    int64_t* columns
    double* values
    double* labels
    int64_t* several_labels
    double* importances
    Py_ssize_t n_rows, n_values, n_several_labels
    # For entries that a row names twice.
    int64_t* table
    # What should have been where a line is not as it must be; NULL while all lines are sound.
    const char* expected


# A function that reads returns where it stops; if rows.expected is set, the fault is there.
cdef inline const char* fault(Rows* rows, const char* at, const char* expected) noexcept nogil:
    rows.expected = expected
    return at


# --- words --------------------------------------------------------------------------------------

cdef inline bint is_blank(char byte) noexcept nogil:
    return byte == b" " or byte == b"\t" or byte == b"\r"

cdef inline bint ends_word(char byte) noexcept nogil:
    return is_blank(byte) or byte == b"\n" or byte == b"#"

cdef inline bint ends_feature(char byte) noexcept nogil:
    return is_blank(byte) or byte == b"\n" or byte == b"|"

cdef inline const char* after_blanks(const char* p) noexcept nogil:
    while is_blank(p[0]):
        p += 1
    return p


cdef inline const char* read_number(
    Rows* rows, const char* text, double* number, const char* expected
) noexcept nogil:
    cdef const char* end = read_decimal(text, number, plain_locale)
    if isnan(number[0]):
        return fault(rows, end, expected)
    if not isfinite(number[0]):
        return fault(rows, text, b"a number that a float64 holds")
    return end


# Digits; -1 where they are more than 18.
cdef inline const char* read_integer(const char* text, int64_t* number) noexcept nogil:
    cdef uint64_t digits = 0
    cdef const char* end = read_digits(text, &digits)
    number[0] = <int64_t> digits if end - text <= 18 else -1
    return end


# --- lines --------------------------------------------------------------------------------------

# Lines end with LF or CR LF.  A text whose lines end with CR alone would be one row.
cdef inline const char* after_returns(
    Rows* rows, const char* line, const char* line_end
) noexcept nogil:
    cdef const char* p = <const char*> memchr(line, b"\r", line_end - line)
    if p == NULL:
        return line
    while p[0] == b"\r":
        p += 1
    return p if p == line_end else fault(rows, p, b"the line feed behind a carriage return")


# One more row, with its entries up to the place ``end``; returns ``at``, or the fault.
cdef inline const char* add_row(
    Rows* rows, const char* line, const char* at, Py_ssize_t end, bint is_sorted, double label,
    double importance
) noexcept nogil:
    cdef Py_ssize_t start = rows.n_values, n = end - start
    if not is_sorted:
        n = with_sums(rows.table, rows.columns + start, rows.values + start, n)
        if n < 0:
            return fault(rows, line, b"values of one column whose sum a float64 holds")
    rows.n_values += n
    rows.value_ends[rows.n_rows] = rows.n_values
    rows.label_ends[rows.n_rows] = rows.n_several_labels
    rows.labels[rows.n_rows] = label
    rows.importances[rows.n_rows] = importance
    rows.n_rows += 1
    return at


# A number, or for several labels integers with commas between them.
cdef const char* read_label(Rows* rows, const char* text, double* label) noexcept nogil:
    cdef const char* p = text
    cdef const char* start = text
    cdef int64_t* labels = rows.several_labels + rows.n_several_labels
    cdef Py_ssize_t n = 0
    cdef bint is_sorted = True
    if not rows.several:
        return read_number(rows, text, label, b"a label such as 1 or -0.5")
    while True:
        p = read_integer(start, &labels[n])
        if p == start:
            return fault(rows, p, b"a label, an integer from 0 on")
        if not 0 <= labels[n] < rows.n_labels:
            return fault(rows, start, b"a label from 0 to {last_label}")
        is_sorted &= n == 0 or labels[n - 1] < labels[n]
        n += 1
        if p[0] != b",":
            break
        start = p + 1
    if not is_sorted and not differ(rows.table, labels, n):
        return fault(rows, text, b"labels that differ from one another")
    rows.n_several_labels += n
    return p


cdef inline const char* read_svmlight_entry(
    Rows* rows, const char* text, int64_t* column, double* value
) noexcept nogil:
    cdef const char* p = read_integer(text, column)
    if p == text:
        return fault(rows, p, b"a column and its value, such as 3:0.5")
    if p[0] != b":":
        return fault(rows, p, b"':' behind the column")
    if column[0] == 0 and rows.base == 1:
        return fault(rows, text, b"a column from 1 on (zero_based=True takes 0)")
    if not 0 <= column[0] - rows.base < rows.n_columns:
        return fault(rows, text, b"a column from {first_column} to {last_column}")
    column[0] -= rows.base
    p = read_number(rows, p + 1, value, b"a finite number such as 0.5")
    if rows.expected == NULL and not ends_word(p[0]):
        return fault(rows, p, b"a space or the end of the line")
    return p


cdef const char* read_svmlight_line(Rows* rows, const char* line) noexcept nogil:
    cdef const char* p = after_blanks(line)
    cdef const char* start
    cdef int64_t column = 0, before = -1
    cdef double label = 0.0
    cdef Py_ssize_t i = rows.n_values
    cdef bint is_sorted = True, is_labelled = True
    if p[0] == b"\n" or p[0] == b"#":
        return p
    if rows.several:
        # A row without labels begins with its query or with its first column.
        is_labelled = read_integer(p, &column)[0] != b":" and p[0] != b"q"
    if is_labelled:
        p = read_label(rows, p, &label)
        if rows.expected == NULL and not ends_word(p[0]):
            return fault(rows, p, b"a space or the end of the line")
    if rows.expected != NULL:
        return p
    p = after_blanks(p)
    if p[0] == b"q" and strncmp(p, b"qid:", 4) == 0:
        start = p + 4
        p = read_integer(start, &column)
        if p == start or not ends_word(p[0]):
            return fault(rows, p, b"the digits of a query's number")
        p = after_blanks(p)
    while p[0] != b"\n" and p[0] != b"#":
        p = read_svmlight_entry(rows, p, &column, &rows.values[i])
        if rows.expected != NULL:
            return p
        p = after_blanks(p)
        rows.columns[i] = column
        is_sorted &= before < column
        before = column
        i += 1
    return add_row(rows, line, p, i, is_sorted, label, 1.0)


# The label or labels, the importance and the tag, up to the first bar.
cdef const char* read_vowpal_head(
    Rows* rows, const char* p, double* label, double* importance
) noexcept nogil:
    cdef const char* end
    cdef int n_words = 0
    while True:
        p = end = after_blanks(p)
        while not ends_feature(end[0]):
            end += 1
        # A word that begins with an apostrophe, or touches the bar, is the tag.
        if p[0] == b"'":
            end = after_blanks(end)
            if end[0] != b"|":
                return fault(rows, end, b"'|' behind the tag")
        if end[0] == b"\n":
            return fault(rows, end, b"'|' before the end of the line")
        if end[0] == b"|":
            if n_words == 0 and not rows.several:
                return fault(rows, end, b"a label such as 1 or -0.5")
            return end
        if n_words == 0:
            p = read_label(rows, p, label)
        elif n_words == 1:
            if p[0] == b"-":
                return fault(rows, p, b"an importance that is not negative")
            p = read_number(rows, p, importance, b"an importance that is not negative")
        else:
            return fault(rows, p, b"'|' behind the label and the importance")
        if rows.expected != NULL:
            return p
        if p != end:
            return fault(rows, p, b"a space or the end of the line")
        n_words += 1


# The end of the name of a namespace or of a feature.
cdef inline const char* end_of_name(const char* p) noexcept nogil:
    while not ends_feature(p[0]) and p[0] != b":":
        p += 1
    return p


# [:number] behind a name; without it, the number is 1.
cdef inline const char* read_factor(Rows* rows, const char* p, double* number) noexcept nogil:
    number[0] = 1.0
    if p[0] == b":":
        p = read_number(rows, p + 1, number, b"a finite number such as 0.5")
        if rows.expected == NULL and not ends_feature(p[0]):
            return fault(rows, p, b"a space, '|' or the end of the line")
    return p


cdef const char* read_vowpal_line(Rows* rows, const char* line) noexcept nogil:
    cdef const char* p = after_blanks(line)
    cdef const char* name
    cdef const char* end
    cdef int64_t column, before = -1
    cdef uint64_t seed, hashed, n_unnamed
    cdef double label = 0.0, importance = 1.0, factor, value
    cdef Py_ssize_t i = rows.n_values
    cdef bint is_sorted = True
    if p[0] == b"\n":
        return p
    p = read_vowpal_head(rows, p, &label, &importance)
    while rows.expected == NULL and p[0] == b"|":
        name = p + 1
        if name[0] == b":":
            return fault(rows, name, b"a namespace or a space behind '|'")
        end = end_of_name(name)
        seed = hash_of_name(name, end, 0)
        n_unnamed = 0
        p = read_factor(rows, end, &factor)
        while rows.expected == NULL:
            name = after_blanks(p)
            if name[0] == b"|" or name[0] == b"\n":
                p = name
                break
            end = end_of_name(name)
            p = read_factor(rows, end, &value)
            value *= factor
            if rows.expected == NULL and not isfinite(value):
                return fault(rows, name, b"a number that a float64 holds")
            # Vowpal Wabbit counts the features without a name, those that are 0 too.
            hashed = hash_of_name(name, end, seed)
            if name == end:
                hashed += n_unnamed
                n_unnamed += 1
            if value != 0.0:
                column = <int64_t> (hashed & rows.mask)
                rows.values[i], rows.columns[i] = value, column
                is_sorted &= before < column
                before = column
                i += 1
    return p if rows.expected != NULL else add_row(rows, line, p, i, is_sorted, label, importance)


# --- texts --------------------------------------------------------------------------------------

def parse(
    bytes text not None,
    *,
    bint vowpal=False,
    bint several=False,
    int64_t base=0,
    int64_t n_columns=GREATEST_COUNT,
    int64_t n_labels=GREATEST_COUNT,
    int bits=18,
    object name="text",
    int64_t n_lines_before=0,
):
    """The rows of whole lines: indptr, indices and values of X, labels, importances; and the number
    of the lines.

    Columns of svmlight's form lie between ``base`` and ``base + n_columns - 1``; a hash of Vowpal
    Wabbit's form counts with its lowest ``bits``.  ``several`` rows have any number of labels below
    ``n_labels``; the labels are then a pair: where those of each row end, and all of them.  The
    importances are None in svmlight's form.  ``name`` and ``n_lines_before`` are for errors.
    """
    if base not in (0, 1):
        raise ValueError(f"base must be 0 or 1, got {base}")
    if not 1 <= bits <= 62:
        raise ValueError(f"bits must lie between 1 and 62, got {bits}")
    if text and not text.endswith(b"\n"):
        text += b"\n"
    cdef Py_ssize_t most = len(text) // 2 + 1, n_lines = 0
    cdef double[::1] values = np.empty(most), labels = np.empty(most), importances = np.empty(most)
    cdef int64_t[::1] columns = np.empty(most, np.int64), table = np.empty(4 * most + 8, np.int64)
    cdef int64_t[::1] value_ends = np.empty(most, np.int64), label_ends = np.empty(most, np.int64)
    cdef int64_t[::1] several_labels = np.empty(most, np.int64)
    cdef Rows rows = Rows(
        several, base, n_columns, n_labels, (<uint64_t> 1 << bits) - 1, &value_ends[0],
        &label_ends[0], &columns[0], &values[0], &labels[0], &several_labels[0], &importances[0],
        0, 0, 0, &table[0], NULL,
    )
    cdef const char* line = text
    cdef const char* end = line + len(text)
    cdef const char* line_end = line
    cdef const char* at = line
    with nogil:
        while line < end:
            line_end = <const char*> memchr(line, b"\n", end - line)
            at = after_returns(&rows, line, line_end)
            if rows.expected == NULL:
                at = read_vowpal_line(&rows, line) if vowpal else read_svmlight_line(&rows, line)
            if rows.expected != NULL:
                break
            line = line_end + 1
            n_lines += 1
    if rows.expected != NULL:
        expected = rows.expected.decode().format(
            last_label=n_labels - 1, first_column=base, last_column=base + n_columns - 1
        )
        word = shown_word(at[: min(end - at, 40)])
        if "," in word and not several:
            word += "; commas belong to several labels a row (multilabel)"
        raise ValueError(
            f"{name}: line {n_lines_before + n_lines + 1}, column {at - line + 1}: expected "
            f"{expected}, found {word}"
        )
    return (
        np.concatenate([np.zeros(1, np.int64), value_ends[: rows.n_rows]]),
        np.array(columns[: rows.n_values]),
        np.array(values[: rows.n_values]),
        (np.array(label_ends[: rows.n_rows]), np.array(several_labels[: rows.n_several_labels]))
        if several else np.array(labels[: rows.n_rows]),
        np.array(importances[: rows.n_rows]) if vowpal else None,
        n_lines,
    )


cdef str shown_word(bytes rest):
    """The first word of the rest of a text, as errors show it."""
    line = rest.split(b"\n")[0]
    if not line.strip(b"\r"):
        return "the end of the line"
    if line[:1].isspace():
        return "a space"
    return repr(line.split()[0].decode("ascii", "backslashreplace"))
