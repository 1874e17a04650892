/* The parser of svmlight's and Vowpal Wabbit's lines (lines.h).
 * setup.py links this file into the extension module `parser` alone.
 */
#define _GNU_SOURCE /* strtod_l */
#include "decimal.h"
#include "lines.h"

int lazynet_begin(void) {
    lazynet_plain_locale = LAZYNET_NEW_LOCALE();
    return lazynet_plain_locale != (lazynet_locale)0;
}

/* --- arrays that grow ---------------------------------------------------------------------- */

/* Whether there is room for `bytes`, which may need new memory. */
static inline int lazynet_has_room(lazynet_growing *array, ptrdiff_t bytes) {
    if (bytes <= array->room) return 1;
    if (bytes > PTRDIFF_MAX / 2) return 0;
    const ptrdiff_t room = bytes < 2048 ? 4096 : 2 * bytes;
    char *grown = realloc(array->bytes, (size_t)room);
    if (!grown) return 0;
    array->bytes = grown;
    array->room = room;
    return 1;
}

void lazynet_free_rows(lazynet_rows *rows) {
    lazynet_growing *arrays[] = {&rows->values,     &rows->columns,     &rows->ends,
                                 &rows->labels,     &rows->label_ends,  &rows->importances,
                                 &rows->places,     &rows->last_line};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) free(arrays[i]->bytes);
    memset(rows, 0, sizeof(*rows));
}

/* --- hashes -------------------------------------------------------------------------------- */

static inline uint32_t lazynet_rotated(uint32_t word, int bits) {
    return word << bits | word >> (32 - bits);
}

uint32_t lazynet_murmur(const char *text, size_t size, uint32_t seed) {
    const unsigned char *bytes = (const unsigned char *)text;
    const uint32_t c1 = 0xcc9e2d51u, c2 = 0x1b873593u;
    uint32_t hash = seed, word = 0;
    size_t i;
    for (i = 0; i + 4 <= size; i += 4) {
        word = (uint32_t)bytes[i] | (uint32_t)bytes[i + 1] << 8 | (uint32_t)bytes[i + 2] << 16 |
               (uint32_t)bytes[i + 3] << 24;
        hash ^= lazynet_rotated(word * c1, 15) * c2;
        hash = lazynet_rotated(hash, 13) * 5 + 0xe6546b64u;
    }
    word = 0;
    for (size_t rest = size; rest > i; rest--) word = word << 8 | bytes[rest - 1];
    hash ^= lazynet_rotated(word * c1, 15) * c2;
    hash ^= (uint32_t)size;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

/* Vowpal Wabbit's hash of a name (`--hash strings`): digits alone are their number plus the seed. */
static inline uint64_t lazynet_hash_of_name(const char *name, const char *end, uint64_t seed) {
    uint64_t number = 0;
    while (name < end && (unsigned char)*name <= ' ') name++;
    while (name < end && (unsigned char)end[-1] <= ' ') end--;
    for (const char *p = name; p < end; p++) {
        const unsigned char digit = (unsigned char)(*p - '0');
        if (digit >= 10) return lazynet_murmur(name, (size_t)(end - name), (uint32_t)seed);
        number = 10 * number + digit;
    }
    return number + seed;
}

/* --- rows ---------------------------------------------------------------------------------- */

#define LAZYNET_COLUMNS(rows, type) ((type *)(void *)(rows)->columns.bytes)
#define LAZYNET_VALUES(rows) ((double *)(void *)(rows)->values.bytes)

static inline int64_t lazynet_column(const lazynet_rows *rows, int wide, ptrdiff_t i) {
    return wide ? LAZYNET_COLUMNS(rows, int64_t)[i] : LAZYNET_COLUMNS(rows, int32_t)[i];
}

static inline void lazynet_set_column(lazynet_rows *rows, int wide, ptrdiff_t i, int64_t column) {
    if (wide)
        LAZYNET_COLUMNS(rows, int64_t)[i] = column;
    else
        LAZYNET_COLUMNS(rows, int32_t)[i] = (int32_t)column;
}

/* An entry behind the others; `n` counts the entries of the row so far. */
static inline int lazynet_append(const lazynet_format *format, lazynet_rows *rows, ptrdiff_t n,
                                 int64_t column, double value) {
    const ptrdiff_t i = rows->n_values + n;
    /* Both arrays have room for as many entries: the columns grow with the values. */
    if ((i + 1) * (ptrdiff_t)sizeof(double) > rows->values.room) {
        if (!lazynet_has_room(&rows->columns,
                              (i + 1) * 2 * (ptrdiff_t)(format->wide ? 8 : 4) + 4096) ||
            !lazynet_has_room(&rows->values, (i + 1) * (ptrdiff_t)sizeof(double)))
            return 0;
    }
    LAZYNET_VALUES(rows)[i] = value;
    lazynet_set_column(rows, format->wide, i, column);
    return 1;
}

/* Where a number is in a table of places, or the free entry where it belongs. */
static inline size_t lazynet_slot(uint64_t number, size_t last) {
    number = (number ^ number >> 32) * 0x9e3779b97f4a7c15u;
    return (size_t)(number >> 20) & last;
}

/* An empty table for `n` numbers; returns its size minus 1, or 0 where there is no memory. */
static size_t lazynet_table(lazynet_rows *rows, ptrdiff_t n) {
    size_t size = 8;
    while (size < 2 * (size_t)n) size *= 2;
    if (size > (size_t)PTRDIFF_MAX / 2 / sizeof(size_t) ||
        !lazynet_has_room(&rows->places, (ptrdiff_t)(size * sizeof(size_t))))
        return 0;
    memset(rows->places.bytes, 0, size * sizeof(size_t));
    return size - 1;
}

/* Add up the values of a column that the row names twice.  `n` entries become fewer. */
static enum lazynet_fault lazynet_merge(const lazynet_format *format, lazynet_rows *rows,
                                        ptrdiff_t *n) {
    const int wide = format->wide;
    const ptrdiff_t first = rows->n_values, stop = first + *n;
    ptrdiff_t kept = first;
    const size_t last = lazynet_table(rows, *n);
    size_t *places = (size_t *)(void *)rows->places.bytes;
    double *values = LAZYNET_VALUES(rows);
    if (!last) return LAZYNET_NO_MEMORY;
    for (ptrdiff_t i = first; i < stop; i++) {
        const int64_t column = lazynet_column(rows, wide, i);
        size_t slot = lazynet_slot((uint64_t)column, last);
        while (places[slot] &&
               lazynet_column(rows, wide, first + (ptrdiff_t)places[slot] - 1) != column)
            slot = (slot + 1) & last;
        if (places[slot]) {
            double *sum = &values[first + (ptrdiff_t)places[slot] - 1];
            *sum += values[i];
            if (!isfinite(*sum)) return LAZYNET_FAULT_SUM;
        } else {
            places[slot] = (size_t)(kept - first) + 1;
            values[kept] = values[i];
            lazynet_set_column(rows, wide, kept, column);
            kept++;
        }
    }
    *n = kept - first;
    return LAZYNET_SOUND;
}

/* The number of the first of `n` labels that was there before, or -1; -2 for no memory. */
static ptrdiff_t lazynet_label_twice(lazynet_rows *rows, ptrdiff_t n) {
    const int64_t *labels = (const int64_t *)(void *)rows->labels.bytes + rows->n_labels;
    ptrdiff_t i;
    for (i = 1; i < n && labels[i - 1] < labels[i]; i++) continue;
    if (i >= n) return -1;
    const size_t last = lazynet_table(rows, n);
    size_t *places = (size_t *)(void *)rows->places.bytes;
    if (!last) return -2;
    for (i = 0; i < n; i++) {
        size_t slot = lazynet_slot((uint64_t)labels[i], last);
        while (places[slot] && labels[places[slot] - 1] != labels[i]) slot = (slot + 1) & last;
        if (places[slot]) return i;
        places[slot] = (size_t)i + 1;
    }
    return -1;
}

/* --- pieces of a line ---------------------------------------------------------------------- */

/* Each takes where it begins, and moves on behind what it has read, or to the byte at fault. */

static inline int lazynet_is_space(char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r' && byte != '\n');
}

static inline int lazynet_is_digit(char byte) { return (unsigned char)(byte - '0') < 10; }

/* Digits; -1 for a number of more than 18 digits that count. */
static inline int64_t lazynet_integer(const char **text) {
    const char *p = *text, *start;
    int64_t number;
    while (*p == '0') p++;
    start = p;
    for (number = 0; lazynet_is_digit(*p); p++)
        if (p - start < 18) number = 10 * number + (*p - '0');
    *text = p;
    return p - start > 18 ? -1 : number;
}

static inline enum lazynet_fault lazynet_real(const char **text, double *number,
                                              enum lazynet_fault missing) {
    switch (lazynet_number(text, number)) {
    case LAZYNET_NUMBER: return LAZYNET_SOUND;
    case LAZYNET_NO_DIGITS: return missing;
    case LAZYNET_NO_EXPONENT: return LAZYNET_FAULT_EXPONENT;
    default: return LAZYNET_FAULT_TOO_LARGE;
    }
}

/* label,label,...: integers. */
static enum lazynet_fault lazynet_labels(const lazynet_format *format, lazynet_rows *rows,
                                         const char **text, ptrdiff_t *n) {
    const char *begin = *text, *p = begin;
    for (*n = 0;; p++) {
        const char *start = p;
        *text = p;
        if (!lazynet_is_digit(*p)) return LAZYNET_FAULT_LABELS;
        const int64_t label = lazynet_integer(&p);
        if (label < 0 || label >= format->n_labels) {
            *text = start;
            return LAZYNET_FAULT_LABEL_RANGE;
        }
        const ptrdiff_t i = rows->n_labels + *n;
        if (!lazynet_has_room(&rows->labels, (i + 1) * (ptrdiff_t)sizeof(int64_t)))
            return LAZYNET_NO_MEMORY;
        ((int64_t *)(void *)rows->labels.bytes)[i] = label;
        ++*n;
        if (*p != ',') break;
    }
    *text = p;
    const ptrdiff_t twice = lazynet_label_twice(rows, *n);
    if (twice == -2) return LAZYNET_NO_MEMORY;
    if (twice >= 0) {
        p = begin;
        for (ptrdiff_t commas = 0; commas < twice; p++) commas += *p == ',';
        *text = p;
        return LAZYNET_FAULT_LABEL_TWICE;
    }
    return LAZYNET_SOUND;
}

/* --- a line of svmlight's form ------------------------------------------------------------- */

static inline int lazynet_ends_word(char byte) {
    return lazynet_is_space(byte) || byte == '\n' || byte == '#';
}

/* What a line holds besides its entries. */
typedef struct {
    double label, importance;
    ptrdiff_t n_labels, n; /* labels, where there may be several; entries */
    int skip;              /* the line holds no row */
} lazynet_line;

static enum lazynet_fault lazynet_svmlight_line(const lazynet_format *format, lazynet_rows *rows,
                                                const char **text, lazynet_line *line) {
    const char *p = *text;
    enum lazynet_fault fault;
    int64_t before = -1, least = rows->least_column, greatest = rows->greatest_column;
    int unsorted = 0;
    ptrdiff_t n = 0;
    while (lazynet_is_space(*p)) p++;
    if (*p == '\n' || *p == '#') {
        line->skip = 1;
        return LAZYNET_SOUND;
    }
    *text = p;
    if (format->several) {
        /* A row without labels begins with its first column. */
        while (lazynet_is_digit(*p)) p++;
        if (*p != ':' && !(*p == 'q' && p == *text)) {
            fault = lazynet_labels(format, rows, text, &line->n_labels);
            if (fault != LAZYNET_SOUND) return fault;
            if (!lazynet_ends_word(**text)) return LAZYNET_FAULT_SPACE;
        }
    } else {
        fault = lazynet_real(text, &line->label, LAZYNET_FAULT_LABEL);
        if (fault != LAZYNET_SOUND) return fault;
        if (!lazynet_ends_word(**text)) return LAZYNET_FAULT_SPACE;
    }
    p = *text;
    while (lazynet_is_space(*p)) p++;
    if (p[0] == 'q' && p[1] == 'i' && p[2] == 'd' && p[3] == ':') {
        p += 4;
        *text = p;
        if (!lazynet_is_digit(*p)) return LAZYNET_FAULT_QUERY;
        while (lazynet_is_digit(*p)) p++;
        *text = p;
        if (!lazynet_ends_word(*p)) return LAZYNET_FAULT_SPACE;
    }
    for (;;) {
        double value;
        while (lazynet_is_space(*p)) p++;
        if (*p == '\n' || *p == '#') break;
        *text = p;
        if (!lazynet_is_digit(*p))
            return *p == '-' && lazynet_is_digit(p[1]) ? LAZYNET_FAULT_NEGATIVE
                                                       : LAZYNET_FAULT_COLUMN;
        const int64_t number = lazynet_integer(&p);
        if (*p != ':') {
            *text = p;
            return LAZYNET_FAULT_COLON;
        }
        const int64_t column = number - format->base;
        if (number < 0 || column >= format->n_columns) return LAZYNET_FAULT_COLUMN_RANGE;
        if (column < 0) return LAZYNET_FAULT_COLUMN_ZERO;
        *text = p + 1;
        fault = lazynet_real(text, &value, LAZYNET_FAULT_VALUE);
        if (fault != LAZYNET_SOUND) return fault;
        p = *text;
        if (!lazynet_ends_word(*p)) return LAZYNET_FAULT_SPACE;
        if (!lazynet_append(format, rows, n, column, value)) return LAZYNET_NO_MEMORY;
        n++;
        unsorted |= column <= before;
        before = column;
        if (column < least) least = column;
        if (column > greatest) greatest = column;
    }
    line->n = n;
    rows->least_column = least;
    rows->greatest_column = greatest;
    return unsorted ? lazynet_merge(format, rows, &line->n) : LAZYNET_SOUND;
}

/* --- a line of Vowpal Wabbit's form -------------------------------------------------------- */

/* A bit for each byte below 64 that ends a feature: '\t', '\n', '\r' and ' '. */
#define LAZYNET_ENDS ((uint64_t)1 << 9 | (uint64_t)1 << 10 | (uint64_t)1 << 13 | (uint64_t)1 << 32)

static inline int lazynet_ends_name(char byte) {
    const unsigned char code = (unsigned char)byte;
    return code < 64 ? (int)(LAZYNET_ENDS >> code & 1) : code == '|';
}

/* The name of a feature or of a namespace ends before a colon, too. */
static inline const char *lazynet_end_of_name(const char *text) {
    const uint64_t ends = LAZYNET_ENDS | (uint64_t)1 << ':';
    for (;; text++) {
        const unsigned char code = (unsigned char)*text;
        if (code < 64 ? (int)(ends >> code & 1) : code == '|') return text;
    }
}

/* Labels, the importance and the tag, up to the first bar. */
static enum lazynet_fault lazynet_vowpal_head(const lazynet_format *format, lazynet_rows *rows,
                                              const char **text, lazynet_line *line) {
    const char *p = *text, *word;
    enum lazynet_fault fault;
    int n_words = 0;
    for (;;) {
        while (*p == ' ') p++;
        *text = p;
        if (*p == '|') break;
        for (word = p; *p != ' ' && *p != '|' && *p != '\t' && *p != '\r' && *p != '\n'; p++)
            continue;
        if (*p == '\t' || *p == '\r' || *p == '\n') {
            *text = p;
            return LAZYNET_FAULT_BAR;
        }
        /* A word that begins with an apostrophe, or touches the bar, is the tag. */
        if (*p == '|') {
            *text = p;
            break;
        }
        if (*word == '\'') {
            while (*p == ' ') p++;
            *text = p;
            if (*p != '|') return LAZYNET_FAULT_TAG;
            break;
        }
        if (n_words == 0 && format->several) {
            fault = lazynet_labels(format, rows, text, &line->n_labels);
        } else if (n_words == 0) {
            fault = lazynet_real(text, &line->label, LAZYNET_FAULT_LABEL);
        } else if (n_words == 1) {
            fault = lazynet_real(text, &line->importance, LAZYNET_FAULT_IMPORTANCE);
            if (fault == LAZYNET_SOUND && line->importance < 0.0) {
                *text = word;
                fault = LAZYNET_FAULT_IMPORTANCE;
            }
        } else {
            fault = LAZYNET_FAULT_INITIAL;
        }
        if (fault != LAZYNET_SOUND) return fault;
        if (*text != p) return LAZYNET_FAULT_SPACE;
        n_words++;
    }
    return n_words == 0 && !format->several ? LAZYNET_FAULT_LABEL : LAZYNET_SOUND;
}

static enum lazynet_fault lazynet_vowpal_line(const lazynet_format *format, lazynet_rows *rows,
                                              const char **text, lazynet_line *line) {
    const char *p = *text;
    enum lazynet_fault fault;
    int64_t before = -1;
    int unsorted = 0;
    ptrdiff_t n = 0;
    while (*p == ' ' || *p == '\t' || *p == '\r') p++;
    if (*p == '\n') {
        line->skip = 1;
        return LAZYNET_SOUND;
    }
    fault = lazynet_vowpal_head(format, rows, text, line);
    if (fault != LAZYNET_SOUND) return fault;
    p = *text;
    while (*p == '|') {
        const char *name = ++p;
        double factor = 1.0;
        uint64_t seed = 0, unnamed = 0;
        *text = p;
        if (*p == ':') return LAZYNET_FAULT_NAMESPACE;
        p = lazynet_end_of_name(p);
        if (p > name) seed = lazynet_hash_of_name(name, p, 0);
        if (*p == ':') {
            *text = p + 1;
            fault = lazynet_real(text, &factor, LAZYNET_FAULT_VALUE);
            if (fault != LAZYNET_SOUND) return fault;
            p = *text;
            if (!lazynet_ends_name(*p)) return LAZYNET_FAULT_FEATURE_END;
        }
        for (;;) {
            double value = 1.0;
            while (*p == ' ' || *p == '\t' || *p == '\r') p++;
            if (*p == '|' || *p == '\n') break;
            const char *feature = p;
            /* A name of digits alone, which is its own hash, needs no other look. */
            uint64_t number = 0;
            while (lazynet_is_digit(*p)) number = 10 * number + (uint64_t)(*p++ - '0');
            const int digits = p > feature && (*p == ':' || lazynet_ends_name(*p));
            const char *end = p = digits ? p : lazynet_end_of_name(p);
            if (*p == ':') {
                *text = p + 1;
                fault = lazynet_real(text, &value, LAZYNET_FAULT_VALUE);
                if (fault != LAZYNET_SOUND) return fault;
                p = *text;
                if (!lazynet_ends_name(*p)) return LAZYNET_FAULT_FEATURE_END;
            }
            value *= factor;
            if (!isfinite(value)) {
                *text = feature;
                return LAZYNET_FAULT_TOO_LARGE;
            }
            /* Vowpal Wabbit counts the features without a name, those that are 0 too. */
            const uint64_t hash = digits          ? number + seed
                                  : end > feature ? lazynet_hash_of_name(feature, end, seed)
                                                  : seed + unnamed++;
            if (value == 0.0) continue;
            const int64_t column = (int64_t)(hash & format->mask);
            if (!lazynet_append(format, rows, n, column, value)) return LAZYNET_NO_MEMORY;
            n++;
            unsorted |= column <= before;
            before = column;
        }
    }
    line->n = n;
    return unsorted ? lazynet_merge(format, rows, &line->n) : LAZYNET_SOUND;
}

/* --- lines --------------------------------------------------------------------------------- */

/* Keep the row of a line: from here on it counts. */
static enum lazynet_fault lazynet_keep(const lazynet_format *format, lazynet_rows *rows,
                                       const lazynet_line *line) {
    const ptrdiff_t row = rows->n_rows, bytes = (row + 1) * (ptrdiff_t)sizeof(int64_t);
    if (!lazynet_has_room(&rows->ends, bytes)) return LAZYNET_NO_MEMORY;
    if (!lazynet_has_room(format->several ? &rows->label_ends : &rows->labels, bytes))
        return LAZYNET_NO_MEMORY;
    if (format->vowpal) {
        if (!lazynet_has_room(&rows->importances, bytes)) return LAZYNET_NO_MEMORY;
        ((double *)(void *)rows->importances.bytes)[row] = line->importance;
    }
    if (format->several) {
        const int64_t *labels = (const int64_t *)(void *)rows->labels.bytes;
        for (ptrdiff_t i = 0; i < line->n_labels; i++)
            if (labels[rows->n_labels + i] > rows->greatest_label)
                rows->greatest_label = labels[rows->n_labels + i];
        rows->n_labels += line->n_labels;
        ((int64_t *)(void *)rows->label_ends.bytes)[row] = rows->n_labels;
    } else {
        ((double *)(void *)rows->labels.bytes)[row] = line->label;
    }
    rows->n_values += line->n;
    ((int64_t *)(void *)rows->ends.bytes)[row] = rows->n_values;
    rows->n_rows++;
    return LAZYNET_SOUND;
}

/* A line that ends with '\n'. */
static enum lazynet_fault lazynet_parse_line(const lazynet_format *format, lazynet_rows *rows,
                                             const char *text) {
    const char *at = text;
    lazynet_line line = {0.0, 1.0, 0, 0, 0};
    enum lazynet_fault fault = format->vowpal ? lazynet_vowpal_line(format, rows, &at, &line)
                                              : lazynet_svmlight_line(format, rows, &at, &line);
    if (fault == LAZYNET_FAULT_SUM) at = text;
    if (fault == LAZYNET_SOUND && !line.skip) fault = lazynet_keep(format, rows, &line);
    rows->column = at - text + 1;
    return fault;
}

enum lazynet_fault lazynet_parse(const lazynet_format *format, lazynet_rows *rows, const char *text,
                                 ptrdiff_t size, int last, ptrdiff_t most_rows, ptrdiff_t *taken) {
    enum lazynet_fault fault = LAZYNET_SOUND;
    ptrdiff_t at = 0;
    while (fault == LAZYNET_SOUND && at < size && rows->n_rows < most_rows) {
        const char *line = text + at, *end = memchr(line, '\n', (size_t)(size - at));
        if (!end && !last) break;
        const ptrdiff_t length = end ? end - line : size - at;
        if (!end) {
            /* The '\n' of the last line is missing. */
            if (!lazynet_has_room(&rows->last_line, length + 1)) {
                fault = LAZYNET_NO_MEMORY;
                break;
            }
            memcpy(rows->last_line.bytes, line, (size_t)length);
            rows->last_line.bytes[length] = '\n';
            line = rows->last_line.bytes;
        }
        fault = lazynet_parse_line(format, rows, line);
        if (fault == LAZYNET_SOUND) {
            at += length + (end != NULL);
            rows->line++;
        }
    }
    *taken = at;
    return fault;
}
