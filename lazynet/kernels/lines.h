/* Lines of text in svmlight's and in Vowpal Wabbit's form to rows: offsets, columns, values, labels.
 *
 * svmlight        label [qid:number] column:value column:value ... # comment
 *   several labels   label,label,... column:value ...   with none, the line begins with a column
 * Vowpal Wabbit   label [importance] [tag]|namespace[:factor] feature[:value] ... |namespace ...
 *
 * A line ends with '\n'.  A line is parsed as a whole or not at all: a line without its end is left
 * for the next call, unless the call is told that no more comes.  No byte outside of what is handed
 * over is read: a last line without its '\n' is copied, and gets one.
 *
 * A column that a row names twice gets the sum of its values, at the place of the first, so that a
 * row is the same in whatever chunk it comes.
 *
 * Property: the rows, and of a bad line its number and the column, are those of
 * tests/support/parser.py, however the text is cut into buffers (tests/exact/test_parser.py).
 */
#ifndef LAZYNET_LINES_H
#define LAZYNET_LINES_H

#include <stddef.h>
#include <stdint.h>

/* What was expected where a line is not as it must be. */
enum lazynet_fault {
    LAZYNET_SOUND,
    LAZYNET_FAULT_LABEL,
    LAZYNET_FAULT_LABELS,
    LAZYNET_FAULT_LABEL_RANGE,
    LAZYNET_FAULT_LABEL_TWICE,
    LAZYNET_FAULT_SPACE,
    LAZYNET_FAULT_QUERY,
    LAZYNET_FAULT_COLUMN,
    LAZYNET_FAULT_NEGATIVE,
    LAZYNET_FAULT_COLUMN_ZERO,
    LAZYNET_FAULT_COLUMN_RANGE,
    LAZYNET_FAULT_COLON,
    LAZYNET_FAULT_VALUE,
    LAZYNET_FAULT_EXPONENT,
    LAZYNET_FAULT_TOO_LARGE,
    LAZYNET_FAULT_SUM,
    LAZYNET_FAULT_BAR,
    LAZYNET_FAULT_TAG,
    LAZYNET_FAULT_IMPORTANCE,
    LAZYNET_FAULT_INITIAL,
    LAZYNET_FAULT_NAMESPACE,
    LAZYNET_FAULT_FEATURE_END,
    LAZYNET_NO_MEMORY,
    LAZYNET_N_FAULTS
};

/* What the text means. */
typedef struct {
    int vowpal;       /* Vowpal Wabbit's form, else svmlight's */
    int several;      /* any number of labels a row, which are integers from 0 on */
    int wide;         /* columns are kept as int64_t, else as int32_t */
    int64_t base;     /* svmlight: the number of the first column */
    int64_t n_columns; /* svmlight: columns from base to base + n_columns - 1 */
    int64_t n_labels; /* several labels: from 0 to n_labels - 1 */
    uint64_t mask;    /* Vowpal Wabbit: the bits of a hash that count */
} lazynet_format;

/* An array that grows. */
typedef struct {
    char *bytes;
    ptrdiff_t room; /* in bytes */
} lazynet_growing;

/* The rows that have been parsed; all zeros is a sound beginning. */
typedef struct {
    lazynet_growing values;       /* double */
    lazynet_growing columns;      /* int64_t or int32_t */
    lazynet_growing ends;         /* int64_t a row: how many values there are up to its end */
    lazynet_growing labels;       /* double a row; int64_t for several labels */
    lazynet_growing label_ends;   /* int64_t a row, of several labels */
    lazynet_growing importances;  /* double a row, of Vowpal Wabbit's form */
    lazynet_growing places;       /* size_t, where a column was seen in the row */
    lazynet_growing last_line;    /* a copy with the '\n' that the text lacks */
    ptrdiff_t n_rows, n_values, n_labels;
    int64_t least_column, greatest_column, greatest_label; /* least > greatest: none was seen */
    int64_t line;                 /* how many lines are behind */
    int64_t column;               /* of a fault: the byte in its line, from 1 on */
} lazynet_rows;

/* Call this once, before anything is parsed; returns 0 where there is no memory. */
int lazynet_begin(void);

/* Parse whole lines of the `size` bytes until there are `most_rows` rows; `taken` is told how many
 * bytes that was.  With `last`, the bytes end with the last line. */
enum lazynet_fault lazynet_parse(const lazynet_format *format, lazynet_rows *rows, const char *text,
                                 ptrdiff_t size, int last, ptrdiff_t most_rows, ptrdiff_t *taken);

/* Give the memory back. */
void lazynet_free_rows(lazynet_rows *rows);

/* MurmurHash3 of Austin Appleby (public domain), x86, 32 bits. */
uint32_t lazynet_murmur(const char *text, size_t size, uint32_t seed);

#endif
