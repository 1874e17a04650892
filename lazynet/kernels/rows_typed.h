/* The row operations for one pair of types; rows_level.h includes this file per pair. */

typedef struct {
    const LAZYNET_REAL *values;
    const LAZYNET_INDEX *columns;
    ptrdiff_t length;
} LAZYNET_TYPED(row);

LAZYNET_INLINE LAZYNET_TYPED(row) LAZYNET_TYPED(typed)(const lazynet_row *row) {
    LAZYNET_TYPED(row) view;
    view.values = (const LAZYNET_REAL *)row->values;
    view.columns = (const LAZYNET_INDEX *)row->columns;
    view.length = row->length;
    return view;
}

enum { LAZYNET_TYPED(worth_fetching) = 1024 };

/* The row, cut to what is worth fetching ahead. */
LAZYNET_INLINE LAZYNET_TYPED(row) LAZYNET_TYPED(typed_for_fetching)(const lazynet_row *row) {
    LAZYNET_TYPED(row) view = LAZYNET_TYPED(typed)(row);
    if (view.length > LAZYNET_TYPED(worth_fetching)) view.length = LAZYNET_TYPED(worth_fetching);
    return view;
}

/* Where a row begins and how long it is; false if that lies outside the arrays.  Another thread may
 * be writing to the matrix, so each bound is read exactly once, which is what volatile says. */
LAZYNET_INLINE int LAZYNET_TYPED(place_of)(const lazynet_csr *X, ptrdiff_t row, ptrdiff_t *start,
                                           ptrdiff_t *length) {
    if (row < 0 || row >= X->n_rows) return 0;
    const volatile LAZYNET_INDEX *starts = (const volatile LAZYNET_INDEX *)X->starts;
    const int64_t begin = starts[row], end = starts[row + 1];
    if (begin < 0 || end < begin || end > (int64_t)X->n_values) return 0;
    *start = (ptrdiff_t)begin;
    *length = (ptrdiff_t)(end - begin);
    return 1;
}

LAZYNET_INLINE LAZYNET_UNSIGNED LAZYNET_TYPED(larger)(LAZYNET_UNSIGNED a, LAZYNET_INDEX b) {
    return (LAZYNET_UNSIGNED)b > a ? (LAZYNET_UNSIGNED)b : a;
}

/* The largest of n columns, as unsigned numbers: a negative one is larger than any.  With `copying`
 * they are also copied to `copy`: each column is held in a register between the copy and the
 * maximum, so that what is copied last is among what was looked at.  The last block overlaps the one
 * before, so that a short row has no tail of single steps. */
LAZYNET_INLINE LAZYNET_UNSIGNED LAZYNET_TYPED(largest_of)(const LAZYNET_INDEX *columns, ptrdiff_t n,
                                                          LAZYNET_INDEX *restrict copy,
                                                          int copying) {
    enum { BLOCK = 16 };
    LAZYNET_UNSIGNED largest = 0;
    if (n < BLOCK) {
        for (ptrdiff_t k = 0; k < n; k++) {
            const LAZYNET_INDEX column = columns[k];
            if (copying) copy[k] = column;
            largest = LAZYNET_TYPED(larger)(largest, column);
        }
        return largest;
    }
    const ptrdiff_t whole = n - n % BLOCK;
#pragma omp simd reduction(max : largest)
    for (ptrdiff_t k = 0; k < whole; k++) {
        const LAZYNET_INDEX column = columns[k];
        if (copying) copy[k] = column;
        largest = LAZYNET_TYPED(larger)(largest, column);
    }
#pragma omp simd reduction(max : largest)
    for (int lane = 0; lane < BLOCK; lane++) {
        const LAZYNET_INDEX column = columns[n - BLOCK + lane];
        if (copying) copy[n - BLOCK + lane] = column;
        largest = LAZYNET_TYPED(larger)(largest, column);
    }
    return largest;
}

LAZYNET_INLINE LAZYNET_UNSIGNED LAZYNET_TYPED(largest_column)(const LAZYNET_INDEX *columns,
                                                              ptrdiff_t n) {
    return LAZYNET_TYPED(largest_of)(columns, n, NULL, 0);
}

/* Also of a matrix with more columns than the type of its indices can count. */
LAZYNET_INLINE int LAZYNET_TYPED(too_large)(const lazynet_csr *X, LAZYNET_UNSIGNED column) {
    const LAZYNET_UNSIGNED greatest_index = (LAZYNET_UNSIGNED)~(LAZYNET_UNSIGNED)0 >> 1;
    return column > greatest_index || (uint64_t)column >= (uint64_t)X->n_columns;
}

/* Would reading this row leave an array? */
static int LAZYNET_TYPED(row_defect)(const lazynet_csr *X, ptrdiff_t row) {
    ptrdiff_t start, n;
    if (!LAZYNET_TYPED(place_of)(X, row, &start, &n)) return LAZYNET_BAD_START;
    const LAZYNET_INDEX *columns = (const LAZYNET_INDEX *)X->columns + start;
    if (n > 0 && LAZYNET_TYPED(too_large)(X, LAZYNET_TYPED(largest_column)(columns, n)))
        return LAZYNET_BAD_COLUMN;
    return LAZYNET_SOUND;
}

/* Copy the columns of a row to `room`, where no other thread can change them, and check them on the
 * way.  The values stay where they are: a wrong number harms no memory. */
static int LAZYNET_TYPED(load_row)(const lazynet_csr *X, ptrdiff_t row, lazynet_row *loaded,
                                   lazynet_room *room) {
    ptrdiff_t start, n;
    if (!LAZYNET_TYPED(place_of)(X, row, &start, &n)) return LAZYNET_BAD_START;
    if (!lazynet_make_room(room, (size_t)n * sizeof(LAZYNET_INDEX))) return LAZYNET_NO_MEMORY;
    const LAZYNET_INDEX *columns = (const LAZYNET_INDEX *)X->columns + start;
    LAZYNET_INDEX *copy = (LAZYNET_INDEX *)room->bytes;
    if (n > 0 && LAZYNET_TYPED(too_large)(X, LAZYNET_TYPED(largest_of)(columns, n, copy, 1)))
        return LAZYNET_BAD_COLUMN;
    loaded->values = (const LAZYNET_REAL *)X->values + start;
    loaded->columns = copy;
    loaded->length = n;
    return LAZYNET_SOUND;
}

/* What else the door refuses: columns out of order, values not finite. */
static int LAZYNET_TYPED(row_blemish)(const lazynet_csr *X, ptrdiff_t row) {
    ptrdiff_t start, n;
    if (!LAZYNET_TYPED(place_of)(X, row, &start, &n)) return LAZYNET_BAD_START;
    const LAZYNET_INDEX *columns = (const LAZYNET_INDEX *)X->columns + start;
    const LAZYNET_REAL *values = (const LAZYNET_REAL *)X->values + start;
    for (ptrdiff_t k = 1; k < n; k++)
        if (columns[k - 1] >= columns[k]) return LAZYNET_NOT_SORTED;
    for (ptrdiff_t k = 0; k < n; k++)
        if (!(values[k] - values[k] == (LAZYNET_REAL)0)) return LAZYNET_NOT_FINITE;
    return LAZYNET_SOUND;
}

/* Is the whole matrix free of defects and blemishes?  The same questions, asked in long runs over
 * all rows at once, as fast as memory gives the arrays; which row is to blame is asked only when
 * the answer is no. */
static int LAZYNET_TYPED(all_sound)(const lazynet_csr *X) {
    const volatile LAZYNET_INDEX *starts = (const volatile LAZYNET_INDEX *)X->starts;
    const int64_t first = starts[0];
    int64_t last = first;
    if (first < 0) return 0; /* of a matrix without rows, too */
    for (ptrdiff_t row = 1; row <= X->n_rows; row++) {
        const int64_t next = starts[row];
        if (next < last) return 0;
        last = next;
    }
    if (last > (int64_t)X->n_values) return 0;
    const ptrdiff_t n = (ptrdiff_t)(last - first);
    const LAZYNET_INDEX *columns = (const LAZYNET_INDEX *)X->columns + first;
    const LAZYNET_REAL *values = (const LAZYNET_REAL *)X->values + first;
    enum { BLOCK = 4096 }; /* read from memory once, from the nearest cache twice */
    ptrdiff_t descents = 0, row = 1, begin = 0;
    for (ptrdiff_t start = 0; start < n; start += BLOCK) {
        const ptrdiff_t stop = start + BLOCK < n ? start + BLOCK : n;
        if (LAZYNET_TYPED(too_large)(X, LAZYNET_TYPED(largest_column)(columns + start,
                                                                      stop - start)))
            return 0;
        LAZYNET_INDEX descents_here = 0;
#pragma omp simd reduction(+ : descents_here)
        for (ptrdiff_t k = start > 0 ? start : 1; k < stop; k++)
            descents_here += columns[k - 1] >= columns[k];
        descents += (ptrdiff_t)descents_here;
        /* A descent is fine where a new row begins; of empty rows that begin at one place, once. */
        for (; row < X->n_rows; row++) {
            const int64_t k = (int64_t)starts[row] - first;
            if (k >= stop) break;
            if (k > begin) descents -= columns[k - 1] >= columns[k];
            begin = k > begin ? (ptrdiff_t)k : begin;
        }
        LAZYNET_REAL zero = 0; /* stays so unless a value is NaN or infinite */
#pragma omp simd reduction(+ : zero)
        for (ptrdiff_t k = start; k < stop; k++) zero += values[k] * (LAZYNET_REAL)0;
        if (!(zero == (LAZYNET_REAL)0)) return 0;
    }
    return descents == 0;
}

/* |x|^2 of a row; 0 for one that cannot be read. */
static double LAZYNET_TYPED(squared_norm)(const lazynet_csr *X, ptrdiff_t row) {
    ptrdiff_t start, n;
    if (!LAZYNET_TYPED(place_of)(X, row, &start, &n)) return 0.0;
    const LAZYNET_REAL *values = (const LAZYNET_REAL *)X->values + start;
    double lanes[LAZYNET_LANES] = {0}, sum = 0.0;
    ptrdiff_t k = 0;
    for (; k + LAZYNET_LANES <= n; k += LAZYNET_LANES)
#pragma omp simd
        for (int lane = 0; lane < LAZYNET_LANES; lane++) {
            double value = (double)values[k + lane];
            lanes[lane] += value * value;
        }
    for (int lane = 0; lane < LAZYNET_LANES; lane++) sum += lanes[lane];
    for (; k < n; k++) sum += (double)values[k] * (double)values[k];
    return sum;
}

/* What is left to fetch of a later row, as addresses and not as pointers: the row has not been
 * checked yet, so they may name memory that is not there, and a prefetch never faults.  `fetch`
 * asks for as much of it as `elements` take up. */
typedef struct {
    uintptr_t value, values_end, column, columns_end;
} LAZYNET_TYPED(stream);

LAZYNET_INLINE LAZYNET_TYPED(stream) LAZYNET_TYPED(stream_of)(const lazynet_csr *X,
                                                              ptrdiff_t row) {
    const LAZYNET_INDEX *starts = (const LAZYNET_INDEX *)X->starts;
    const int64_t begin = starts[row], end = starts[row + 1];
    uint64_t length = end > begin ? (uint64_t)end - (uint64_t)begin : 0;
    if (length > LAZYNET_TYPED(worth_fetching)) length = LAZYNET_TYPED(worth_fetching);
    LAZYNET_TYPED(stream) stream;
    stream.value = (uintptr_t)X->values + (uintptr_t)begin * sizeof(LAZYNET_REAL);
    stream.values_end = stream.value + (uintptr_t)length * sizeof(LAZYNET_REAL);
    stream.column = (uintptr_t)X->columns + (uintptr_t)begin * sizeof(LAZYNET_INDEX);
    stream.columns_end = stream.column + (uintptr_t)length * sizeof(LAZYNET_INDEX);
    return stream;
}

LAZYNET_INLINE void LAZYNET_TYPED(fetch)(LAZYNET_TYPED(stream) *stream, size_t elements) {
    for (size_t line = 0; line < elements * sizeof(LAZYNET_REAL) / LAZYNET_CACHE_LINE; line++) {
        if (stream->value < stream->values_end) LAZYNET_PREFETCH_READ((const void *)stream->value);
        stream->value += LAZYNET_CACHE_LINE;
    }
    for (size_t line = 0; line < elements * sizeof(LAZYNET_INDEX) / LAZYNET_CACHE_LINE; line++) {
        if (stream->column < stream->columns_end)
            LAZYNET_PREFETCH_READ((const void *)stream->column);
        stream->column += LAZYNET_CACHE_LINE;
    }
}

LAZYNET_INLINE void LAZYNET_TYPED(fetch_rest)(LAZYNET_TYPED(stream) *stream) {
    for (; stream->value < stream->values_end; stream->value += LAZYNET_CACHE_LINE)
        LAZYNET_PREFETCH_READ((const void *)stream->value);
    for (; stream->column < stream->columns_end; stream->column += LAZYNET_CACHE_LINE)
        LAZYNET_PREFETCH_READ((const void *)stream->column);
}

/* Eight products x_j w_j into as many lanes, with w_j = soft(stored_j) or, without a shift,
 * stored_j itself.  Of `stride` numbers per weight the first is meant. */
LAZYNET_INLINE void LAZYNET_TYPED(add_products)(double *lanes, const LAZYNET_REAL *values,
                                                const LAZYNET_INDEX *columns,
                                                const double *stored, ptrdiff_t stride,
                                                double shift, int shifted) {
#pragma omp simd
    for (int lane = 0; lane < LAZYNET_LANES; lane++) {
        double weight = stored[stride * columns[lane]];
        if (shifted) weight = lazynet_soft(weight, shift);
        lanes[lane] += weight * (double)values[lane];
    }
}

/* sum over the row of x_j w_j */
LAZYNET_INLINE double LAZYNET_TYPED(any_dot)(const lazynet_row *row, const lazynet_row *next,
                                             const double *stored, ptrdiff_t stride, double shift,
                                             int shifted) {
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    const LAZYNET_TYPED(row) coming = LAZYNET_TYPED(typed)(next);
    double lanes[LAZYNET_LANES] = {0};
    const ptrdiff_t shorter = at.length < coming.length ? at.length : coming.length;
    ptrdiff_t k = 0;
    for (; k + LAZYNET_LANES <= shorter; k += LAZYNET_LANES) {
        for (int lane = 0; lane < LAZYNET_LANES; lane++)
            LAZYNET_PREFETCH_WRITE(stored + stride * coming.columns[k + lane]);
        LAZYNET_TYPED(add_products)
        (lanes, at.values + k, at.columns + k, stored, stride, shift, shifted);
    }
    for (ptrdiff_t left = k; left < coming.length; left++)
        LAZYNET_PREFETCH_WRITE(stored + stride * coming.columns[left]);
    for (; k + LAZYNET_LANES <= at.length; k += LAZYNET_LANES)
        LAZYNET_TYPED(add_products)
        (lanes, at.values + k, at.columns + k, stored, stride, shift, shifted);
    double sum = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
                 ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    for (; k < at.length; k++) {
        double weight = stored[stride * at.columns[k]];
        if (shifted) weight = lazynet_soft(weight, shift);
        sum += weight * (double)at.values[k];
    }
    return sum;
}

LAZYNET_INLINE double LAZYNET_TYPED(moved)(double stored, double shift, int shifted, double step,
                                           LAZYNET_REAL value) {
    if (!shifted) return stored - step * (double)value;
    return lazynet_unsoft(lazynet_soft(stored, shift) - step * (double)value, shift);
}

/* w_j <- w_j - step x_j on the row, in the coordinate in which w_j is stored. */
LAZYNET_INLINE void LAZYNET_TYPED(any_update)(const lazynet_csr *X, const lazynet_row *row,
                                              ptrdiff_t ahead, double *stored, double shift,
                                              double step, int shifted) {
    enum { BLOCK = 16 };
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    LAZYNET_TYPED(stream) stream = LAZYNET_TYPED(stream_of)(X, ahead);
    ptrdiff_t k = 0;
    for (; k + BLOCK <= at.length; k += BLOCK) {
        LAZYNET_TYPED(fetch)(&stream, BLOCK);
#pragma omp simd
        for (int lane = 0; lane < BLOCK; lane++) {
            ptrdiff_t j = (ptrdiff_t)at.columns[k + lane];
            stored[j] = LAZYNET_TYPED(moved)(stored[j], shift, shifted, step, at.values[k + lane]);
        }
    }
    LAZYNET_TYPED(fetch_rest)(&stream);
#pragma omp simd
    for (ptrdiff_t left = k; left < at.length; left++) {
        ptrdiff_t j = (ptrdiff_t)at.columns[left];
        stored[j] = LAZYNET_TYPED(moved)(stored[j], shift, shifted, step, at.values[left]);
    }
}

static double LAZYNET_TYPED(dot)(const lazynet_row *row, const lazynet_row *next,
                                 const double *weights) {
    return LAZYNET_TYPED(any_dot)(row, next, weights, 1, 0.0, 0);
}

/* The same sum where no update follows: it fetches the later row itself. */
static double LAZYNET_TYPED(scan)(const lazynet_csr *X, const lazynet_row *row, ptrdiff_t ahead,
                                  const double *weights) {
    enum { BLOCK = 2 * LAZYNET_LANES };
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    LAZYNET_TYPED(stream) stream = LAZYNET_TYPED(stream_of)(X, ahead);
    double lanes[LAZYNET_LANES] = {0}, sum = 0.0;
    ptrdiff_t k = 0;
    for (; k + BLOCK <= at.length; k += BLOCK) {
        LAZYNET_TYPED(fetch)(&stream, BLOCK);
        LAZYNET_TYPED(add_products)(lanes, at.values + k, at.columns + k, weights, 1, 0.0, 0);
        LAZYNET_TYPED(add_products)
        (lanes, at.values + k + LAZYNET_LANES, at.columns + k + LAZYNET_LANES, weights, 1, 0.0, 0);
    }
    LAZYNET_TYPED(fetch_rest)(&stream);
    for (int lane = 0; lane < LAZYNET_LANES; lane++) sum += lanes[lane];
    for (; k < at.length; k++) sum += weights[at.columns[k]] * (double)at.values[k];
    return sum;
}

static void LAZYNET_TYPED(update)(const lazynet_csr *X, const lazynet_row *row, ptrdiff_t ahead,
                                  double *weights, double step) {
    LAZYNET_TYPED(any_update)(X, row, ahead, weights, 0.0, step, 0);
}

static double LAZYNET_TYPED(soft_dot)(const lazynet_row *row, const lazynet_row *next,
                                      const double *stored, double shift) {
    return LAZYNET_TYPED(any_dot)(row, next, stored, 1, shift, 1);
}

static void LAZYNET_TYPED(soft_update)(const lazynet_csr *X, const lazynet_row *row,
                                       ptrdiff_t ahead, double *stored, double shift, double step) {
    LAZYNET_TYPED(any_update)(X, row, ahead, stored, shift, step, 1);
}

/* --- two numbers per weight, side by side: a cell is {stored_j, before_j} ----------------------
 */

static double LAZYNET_TYPED(pair_dot)(const lazynet_row *row, const lazynet_row *next,
                                      const double *cells, double shift) {
    if (shift == 0.0) return LAZYNET_TYPED(any_dot)(row, next, cells, 2, 0.0, 0);
    return LAZYNET_TYPED(any_dot)(row, next, cells, 2, shift, 1);
}

/* cell_j <- cell_j + {first, second} x_j on the row. */
static void LAZYNET_TYPED(pair_update)(const lazynet_csr *X, const lazynet_row *row,
                                       ptrdiff_t ahead, double *cells, double first,
                                       double second) {
    enum { BLOCK = 16 };
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    LAZYNET_TYPED(stream) stream = LAZYNET_TYPED(stream_of)(X, ahead);
    for (ptrdiff_t k = 0; k < at.length; k += BLOCK) {
        const ptrdiff_t stop = k + BLOCK < at.length ? k + BLOCK : at.length;
        LAZYNET_TYPED(fetch)(&stream, BLOCK);
#pragma omp simd
        for (ptrdiff_t i = k; i < stop; i++) {
            double *cell = cells + 2 * (ptrdiff_t)at.columns[i];
            double value = (double)at.values[i];
            cell[0] += first * value;
            cell[1] += second * value;
        }
    }
    LAZYNET_TYPED(fetch_rest)(&stream);
}

/* Four cells, taken apart: their first numbers and their second ones.  A cell is one load of 16
 * bytes, and whole vectors are written, which the loads that follow can be served from. */
LAZYNET_INLINE void LAZYNET_TYPED(load_four)(const double *cells, const LAZYNET_INDEX *columns,
                                             double *firsts, double *seconds) {
#if LAZYNET_SHUFFLES
    lazynet_two cell[4];
    memcpy(&cell[0], cells + 2 * (ptrdiff_t)columns[0], sizeof cell[0]);
    memcpy(&cell[1], cells + 2 * (ptrdiff_t)columns[1], sizeof cell[1]);
    memcpy(&cell[2], cells + 2 * (ptrdiff_t)columns[2], sizeof cell[2]);
    memcpy(&cell[3], cells + 2 * (ptrdiff_t)columns[3], sizeof cell[3]);
    const lazynet_four even = __builtin_shufflevector(cell[0], cell[2], 0, 1, 2, 3);
    const lazynet_four odd = __builtin_shufflevector(cell[1], cell[3], 0, 1, 2, 3);
    const lazynet_four first = __builtin_shufflevector(even, odd, 0, 4, 2, 6);
    const lazynet_four second = __builtin_shufflevector(even, odd, 1, 5, 3, 7);
    memcpy(firsts, &first, sizeof first);
    memcpy(seconds, &second, sizeof second);
#else
    for (int k = 0; k < 4; k++) {
        firsts[k] = cells[2 * (ptrdiff_t)columns[k]];
        seconds[k] = cells[2 * (ptrdiff_t)columns[k] + 1];
    }
#endif
}

/* The last nonzeros filled up to `lanes` with the first of them, so that loops are of one length;
 * what is computed for the others is not stored. */
LAZYNET_INLINE void LAZYNET_TYPED(fill_up)(const LAZYNET_TYPED(row) *at, ptrdiff_t k,
                                           ptrdiff_t lanes, LAZYNET_REAL *values,
                                           LAZYNET_INDEX *columns) {
    for (ptrdiff_t lane = 0; lane < lanes; lane++) {
        const ptrdiff_t from = k + lane < at->length ? k + lane : k;
        values[lane] = at->values[from];
        columns[lane] = at->columns[from];
    }
}

/* w_j <- w_j - step x_j for the first `length` of 4 nonzeros, and what belongs to the time before.
 *
 * With n iterates counted, a change of z by dz and of its sign by ds adds S0(n) dz - S1(n) ds to
 * before_j.  Where the weight is alive, z = v + sgn(v) shift, v moves by -step x, and this is
 *
 *     S0(n) (-step x) + (S0(n) shift - S1(n)) ds
 *
 * Where z = 0 the weight has been zero since the clock was set: what is added is the sum that is
 * read from the new z, to the last bit, so that nothing is left of it if the weight vanishes at
 * once.  A weight that has vanished since it was stored counts as zero from the iterate on at which
 * it did: these are left to `dead`, and before_j stays what it is. */
LAZYNET_INLINE void LAZYNET_TYPED(averaged_block)(const LAZYNET_REAL *values,
                                                  const LAZYNET_INDEX *columns, ptrdiff_t length,
                                                  double *cells, double shift, double step,
                                                  double scale_sum, double pull_sum,
                                                  double *olds, double *vanished) {
    double befores[LAZYNET_CELLS], news[2 * LAZYNET_CELLS];
    const double sign_sum = scale_sum * shift - pull_sum, drift = -step * scale_sum;
    LAZYNET_TYPED(load_four)(cells, columns, olds, befores);
#pragma omp simd
    for (int lane = 0; lane < LAZYNET_CELLS; lane++) {
        const double value = (double)values[lane], old = olds[lane], size = fabs(old);
        const double moved = lazynet_soft(old, shift) - step * value;
        const double stored = lazynet_unsoft(moved, shift);
        /* Factors, and never a branch. */
        const double alive = size > shift ? 1.0 : 0.0, unset = size > 0.0 ? 0.0 : 1.0;
        const double sign_change = copysign(sign_sum, moved) - copysign(sign_sum, old);
        const double anew = scale_sum * stored - copysign(pull_sum, stored);
        news[2 * lane] = stored;
        news[2 * lane + 1] =
            befores[lane] + (alive * (drift * value + sign_change) + unset * anew);
        vanished[lane] += size - alive * size;
    }
    /* A cell at a time: half as many stores as numbers. */
    for (ptrdiff_t lane = 0; lane < length; lane++)
        memcpy(cells + 2 * (ptrdiff_t)columns[lane], news + 2 * lane, 2 * sizeof(double));
}

static void LAZYNET_TYPED(averaged_update)(const lazynet_csr *X, const lazynet_row *row,
                                           ptrdiff_t ahead, double *cells, double shift,
                                           double step, const lazynet_past *past) {
    enum { CHUNK = 128 };
    const double scale_sum = past->scales[past->n], pull_sum = past->pulls[past->n];
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    LAZYNET_TYPED(stream) stream = LAZYNET_TYPED(stream_of)(X, ahead);
    lazynet_dead dead = {.n = 0};
    for (ptrdiff_t start = 0; start < at.length; start += CHUNK) {
        const ptrdiff_t stop = start + CHUNK < at.length ? start + CHUNK : at.length;
        double olds[CHUNK], vanished[LAZYNET_CELLS] = {0};
        ptrdiff_t k = start;
        for (; k + LAZYNET_CELLS <= stop; k += LAZYNET_CELLS) {
            if (k % LAZYNET_BLOCK == 0) LAZYNET_TYPED(fetch)(&stream, LAZYNET_BLOCK);
            LAZYNET_TYPED(averaged_block)
            (at.values + k, at.columns + k, LAZYNET_CELLS, cells, shift, step, scale_sum,
             pull_sum, olds + (k - start), vanished);
        }
        if (k < stop) {
            LAZYNET_REAL values[LAZYNET_CELLS];
            LAZYNET_INDEX columns[LAZYNET_CELLS];
            LAZYNET_TYPED(fill_up)(&at, k, LAZYNET_CELLS, values, columns);
            LAZYNET_TYPED(averaged_block)
            (values, columns, stop - k, cells, shift, step, scale_sum, pull_sum,
             olds + (k - start), vanished);
        }
        for (int lane = 0; lane < LAZYNET_CELLS; lane++) {
            if (vanished[lane] == 0.0) continue;
            for (k = start + lane; k < stop; k += LAZYNET_CELLS) {
                const double old = olds[k - start];
                dead.z[dead.n] = old;
                dead.cell[dead.n] = 2 * (ptrdiff_t)at.columns[k];
                dead.n += !(fabs(old) > shift) & (old != 0.0);
                if (dead.n == LAZYNET_BLOCK) LAZYNET_LEVELLED(bury)(&dead, cells, past);
            }
        }
    }
    LAZYNET_TYPED(fetch_rest)(&stream);
    if (dead.n > 0) LAZYNET_LEVELLED(bury)(&dead, cells, past);
}

/* --- bursts: a cell is {z_j, k_j}, k_j how often j was informed, or -1 once it is purged
 * ---------- */

/* w_j <- w_j - step x_j on what is left of the row, k_j <- k_j + 1; the columns that were informed
 * for the first time are appended to `informed`, which has room for the whole row.  Returns how
 * many there are now.  Nothing branches on what a cell holds. */
static ptrdiff_t LAZYNET_TYPED(informed_update)(const lazynet_csr *X, const lazynet_row *row,
                                                ptrdiff_t ahead, double *cells, double shift,
                                                double step, int64_t *informed, ptrdiff_t n) {
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    LAZYNET_TYPED(stream) stream = LAZYNET_TYPED(stream_of)(X, ahead);
    for (ptrdiff_t k = 0; k < at.length; k++) {
        if (k % LAZYNET_BLOCK == 0) LAZYNET_TYPED(fetch)(&stream, LAZYNET_BLOCK);
        double *cell = cells + 2 * (ptrdiff_t)at.columns[k];
        const double z = cell[0], count = cell[1];
        const int counts = (count >= 0.0) & (at.values[k] != (LAZYNET_REAL)0);
        const double moved = LAZYNET_TYPED(moved)(z, shift, 1, step, at.values[k]);
        informed[n] = (int64_t)at.columns[k];
        n += counts & (count == 0.0);
        cell[0] = counts ? moved : z;
        cell[1] = count + (double)counts;
    }
    LAZYNET_TYPED(fetch_rest)(&stream);
    return n;
}

/* --- rules whose weights are computed from a cell where they are needed -------------------------
 */

/* The weights of four cells.
 *
 * Leader, {z, s}: -soft(z, l1) alpha / (damping + s); s is the root of the sum of squared
 * gradients. Truncated, {w, stamp}: within the threshold, w less what gravity has summed up to
 * since the stamp. Carpenter, {w, seen}: w after one linear step for all that were missed since it
 * was seen. */
LAZYNET_INLINE void LAZYNET_TYPED(weights_of_four)(const LAZYNET_INDEX *columns,
                                                   const double *cells,
                                                   const lazynet_cell_rule *rule, int kind,
                                                   double *firsts, double *seconds,
                                                   double *weights) {
    LAZYNET_TYPED(load_four)(cells, columns, firsts, seconds);
#pragma omp simd
    for (int lane = 0; lane < LAZYNET_CELLS; lane++)
        weights[lane] = kind == LAZYNET_LEADER
                            ? lazynet_leader_weight(firsts[lane], seconds[lane], rule)
                        : kind == LAZYNET_TRUNCATED
                            ? lazynet_truncated_weight(firsts[lane], seconds[lane], rule)
                            : lazynet_carpenter_weight(firsts[lane], seconds[lane], rule);
}

LAZYNET_INLINE double LAZYNET_TYPED(any_cell_dot)(const lazynet_row *row, const lazynet_row *next,
                                                  const double *cells,
                                                  const lazynet_cell_rule *rule, int kind) {
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    const LAZYNET_TYPED(row) coming = LAZYNET_TYPED(typed_for_fetching)(next);
    double first[LAZYNET_CELLS], second[LAZYNET_CELLS], weights[LAZYNET_CELLS], sum = 0.0;
    double lanes[LAZYNET_CELLS] = {0};
    ptrdiff_t k = 0, fetched = 0;
    for (; k + LAZYNET_CELLS <= at.length; k += LAZYNET_CELLS) {
        for (; fetched < k + LAZYNET_CELLS && fetched < coming.length; fetched++)
            LAZYNET_PREFETCH_WRITE(cells + 2 * (ptrdiff_t)coming.columns[fetched]);
        LAZYNET_TYPED(weights_of_four)(at.columns + k, cells, rule, kind, first, second, weights);
#pragma omp simd
        for (int lane = 0; lane < LAZYNET_CELLS; lane++)
            lanes[lane] += weights[lane] * (double)at.values[k + lane];
    }
    for (; fetched < coming.length; fetched++)
        LAZYNET_PREFETCH_WRITE(cells + 2 * (ptrdiff_t)coming.columns[fetched]);
    if (k < at.length) {
        LAZYNET_REAL values[LAZYNET_CELLS];
        LAZYNET_INDEX columns[LAZYNET_CELLS];
        LAZYNET_TYPED(fill_up)(&at, k, LAZYNET_CELLS, values, columns);
        LAZYNET_TYPED(weights_of_four)(columns, cells, rule, kind, first, second, weights);
        for (int lane = 0; lane < at.length - k; lane++)
            lanes[lane] += weights[lane] * (double)values[lane];
    }
    for (int lane = 0; lane < LAZYNET_CELLS; lane++) sum += lanes[lane];
    return sum;
}

/* Leader, with g_j = step x_j:  s' = sqrt(s^2 + g^2)   z <- z + g - (s' - s) / alpha w   s <- s'
 * Truncated:  w <- w - step x_j, stamped with what gravity has summed up to.
 * Carpenter:  the same, seen now. */
LAZYNET_INLINE void LAZYNET_TYPED(any_cell_block)(const LAZYNET_REAL *values,
                                                  const LAZYNET_INDEX *columns, ptrdiff_t length,
                                                  double *cells, const lazynet_cell_rule *rule,
                                                  double step, int kind) {
    double first[LAZYNET_CELLS], second[LAZYNET_CELLS], weights[LAZYNET_CELLS];
    double news[2 * LAZYNET_CELLS];
    LAZYNET_TYPED(weights_of_four)(columns, cells, rule, kind, first, second, weights);
#pragma omp simd
    for (int lane = 0; lane < LAZYNET_CELLS; lane++) {
        const double g = step * (double)values[lane];
        const double root = sqrt(second[lane] * second[lane] + g * g);
        const double pull = (root - second[lane]) * rule->inverse_alpha * weights[lane];
        news[2 * lane] = kind == LAZYNET_LEADER ? first[lane] + (g - pull) : weights[lane] - g;
        news[2 * lane + 1] = kind == LAZYNET_LEADER      ? root
                             : kind == LAZYNET_TRUNCATED ? rule->gravity
                                                         : rule->steps;
    }
    for (ptrdiff_t lane = 0; lane < length; lane++)
        memcpy(cells + 2 * (ptrdiff_t)columns[lane], news + 2 * lane, 2 * sizeof(double));
}

LAZYNET_INLINE void LAZYNET_TYPED(any_cell_update)(const lazynet_csr *X, const lazynet_row *row,
                                                   ptrdiff_t ahead, double *cells,
                                                   const lazynet_cell_rule *rule, double step,
                                                   int kind) {
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    LAZYNET_TYPED(stream) stream = LAZYNET_TYPED(stream_of)(X, ahead);
    ptrdiff_t k = 0;
    for (; k + LAZYNET_CELLS <= at.length; k += LAZYNET_CELLS) {
        if (k % LAZYNET_BLOCK == 0) LAZYNET_TYPED(fetch)(&stream, LAZYNET_BLOCK);
        LAZYNET_TYPED(any_cell_block)
        (at.values + k, at.columns + k, LAZYNET_CELLS, cells, rule, step, kind);
    }
    LAZYNET_TYPED(fetch_rest)(&stream);
    if (k < at.length) {
        LAZYNET_REAL values[LAZYNET_CELLS];
        LAZYNET_INDEX columns[LAZYNET_CELLS];
        LAZYNET_TYPED(fill_up)(&at, k, LAZYNET_CELLS, values, columns);
        LAZYNET_TYPED(any_cell_block)(values, columns, at.length - k, cells, rule, step, kind);
    }
}

static double LAZYNET_TYPED(leader_dot)(const lazynet_row *row, const lazynet_row *next,
                                        const double *cells, const lazynet_cell_rule *rule) {
    return LAZYNET_TYPED(any_cell_dot)(row, next, cells, rule, LAZYNET_LEADER);
}

static void LAZYNET_TYPED(leader_update)(const lazynet_csr *X, const lazynet_row *row,
                                         ptrdiff_t ahead, double *cells,
                                         const lazynet_cell_rule *rule, double step) {
    LAZYNET_TYPED(any_cell_update)(X, row, ahead, cells, rule, step, LAZYNET_LEADER);
}

static double LAZYNET_TYPED(truncated_dot)(const lazynet_row *row, const lazynet_row *next,
                                           const double *cells, const lazynet_cell_rule *rule) {
    return LAZYNET_TYPED(any_cell_dot)(row, next, cells, rule, LAZYNET_TRUNCATED);
}

static void LAZYNET_TYPED(truncated_update)(const lazynet_csr *X, const lazynet_row *row,
                                            ptrdiff_t ahead, double *cells,
                                            const lazynet_cell_rule *rule, double step) {
    LAZYNET_TYPED(any_cell_update)(X, row, ahead, cells, rule, step, LAZYNET_TRUNCATED);
}

static double LAZYNET_TYPED(carpenter_dot)(const lazynet_row *row, const lazynet_row *next,
                                           const double *cells, const lazynet_cell_rule *rule) {
    return LAZYNET_TYPED(any_cell_dot)(row, next, cells, rule, LAZYNET_CARPENTER);
}

static void LAZYNET_TYPED(carpenter_update)(const lazynet_csr *X, const lazynet_row *row,
                                            ptrdiff_t ahead, double *cells,
                                            const lazynet_cell_rule *rule, double step) {
    LAZYNET_TYPED(any_cell_update)(X, row, ahead, cells, rule, step, LAZYNET_CARPENTER);
}

/* --- AdaGrad: a cell is {w_j, s_j, c_j, psi_j}, 32 bytes ----------------------------------------
 */

/* Eight cells, taken apart, by whole loads of 32 bytes: as they were stored, so that a load can be
 * served from a store that is still under way. */
LAZYNET_INLINE void LAZYNET_TYPED(load_eight)(const double *cells, const LAZYNET_INDEX *columns,
                                              double *w, double *s, double *c, double *psi) {
#if LAZYNET_SHUFFLES
    lazynet_four low[4], high[4];
    for (int k = 0; k < 4; k++) {
        low[k] = *(const lazynet_loose_four *)(cells + 4 * (ptrdiff_t)columns[k]);
        high[k] = *(const lazynet_loose_four *)(cells + 4 * (ptrdiff_t)columns[4 + k]);
    }
    lazynet_transpose(low);
    lazynet_transpose(high);
    lazynet_join(w, low[0], high[0]);
    lazynet_join(s, low[1], high[1]);
    lazynet_join(c, low[2], high[2]);
    lazynet_join(psi, low[3], high[3]);
#else
    for (int k = 0; k < LAZYNET_LANES; k++) {
        const double *cell = cells + 4 * (ptrdiff_t)columns[k];
        w[k] = cell[0], s[k] = cell[1], c[k] = cell[2], psi[k] = cell[3];
    }
#endif
}

LAZYNET_INLINE void LAZYNET_TYPED(store_eight)(double *cells, const LAZYNET_INDEX *columns,
                                               ptrdiff_t length, const double *w, const double *s,
                                               const double *c, double psi) {
#if LAZYNET_SHUFFLES
    lazynet_four quads[8];
    quads[3] = quads[7] = (lazynet_four){psi, psi, psi, psi};
    lazynet_part(w, &quads[0], &quads[4]);
    lazynet_part(s, &quads[1], &quads[5]);
    lazynet_part(c, &quads[2], &quads[6]);
    lazynet_transpose(quads);
    lazynet_transpose(quads + 4);
    for (ptrdiff_t k = 0; k < length; k++)
        *(lazynet_loose_four *)(cells + 4 * (ptrdiff_t)columns[k]) = quads[k];
#else
    for (ptrdiff_t k = 0; k < length; k++) {
        double *cell = cells + 4 * (ptrdiff_t)columns[k];
        cell[0] = w[k], cell[1] = s[k], cell[2] = c[k], cell[3] = psi;
    }
#endif
}

/* Eight weights as of `now`, with their s, while decays are so small that expm1 is its series; the
 * least exponents of all so far are kept in `lowest`. */
LAZYNET_INLINE void LAZYNET_TYPED(caught_up_eight)(const double *cells,
                                                  const LAZYNET_INDEX *columns, double now,
                                                  const lazynet_cell_rule *rule, int decays,
                                                  double *weights, double *s, double *lowest) {
    double w[LAZYNET_LANES], c[LAZYNET_LANES], psi[LAZYNET_LANES];
    LAZYNET_TYPED(load_eight)(cells, columns, w, s, c, psi);
#pragma omp simd
    for (int lane = 0; lane < LAZYNET_LANES; lane++) {
        const double size = fabs(w[lane]), due = (now - psi[lane]) * c[lane];
        /* A weight of zero stays so, however much it has missed. */
        const double x = decays && size > 0.0 ? -due : 0.0;
        /* x + x^2/2! + ... + x^8/8!, in pairs and pairs of pairs, for a short chain */
        const double x2 = x * x;
        const double low = (1.0 + x * (1.0 / 2)) + x2 * (1.0 / 6 + x * (1.0 / 24));
        const double high = (1.0 / 120 + x * (1.0 / 720)) + x2 * (1.0 / 5040 + x * (1.0 / 40320));
        const double lost = x * (low + x2 * x2 * high);
        const double left =
            decays ? size + (size + rule->ratio) * lost : size - due * rule->linear;
        weights[lane] = copysign(left <= 0.0 ? 0.0 : left, w[lane]);
        lowest[lane] = x < lowest[lane] ? x : lowest[lane];
    }
}

/* The same, with the library's expm1, for those whose decay is not so small. */
static void LAZYNET_TYPED(caught_up_slowly)(const double *cells, const LAZYNET_INDEX *columns,
                                            ptrdiff_t length, double now,
                                            const lazynet_cell_rule *rule, double *weights) {
    for (ptrdiff_t k = 0; k < length; k++) {
        const double *cell = cells + 4 * (ptrdiff_t)columns[k];
        if (cell[0] != 0.0 && !((now - cell[3]) * cell[2] <= LAZYNET_SMALL_DECAY))
            weights[k] = lazynet_adagrad_weight(cell[0], cell[2], now - cell[3], rule);
    }
}

LAZYNET_INLINE int LAZYNET_TYPED(too_low)(const double *lowest) {
    double least = 0.0;
#pragma omp simd reduction(min : least)
    for (int lane = 0; lane < LAZYNET_LANES; lane++)
        least = lowest[lane] < least ? lowest[lane] : least;
    return !(least >= -LAZYNET_SMALL_DECAY);
}

/* sum over the row of x_j w_j, the weights as of `now`; these and their s are kept, for the update,
 * in the two halves of `kept`, of `half` numbers each, as many as the row has, rounded up to
 * eights. */
LAZYNET_INLINE double LAZYNET_TYPED(any_adagrad_dot)(const lazynet_row *row,
                                                     const lazynet_row *next, const double *cells,
                                                     double now, const lazynet_cell_rule *given,
                                                     double *kept, ptrdiff_t half, int decays) {
    const lazynet_cell_rule rule = *given; /* which no store of a number can change */
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    const LAZYNET_TYPED(row) coming = LAZYNET_TYPED(typed_for_fetching)(next);
    const ptrdiff_t shorter = at.length < coming.length ? at.length : coming.length;
    double lanes[LAZYNET_LANES] = {0}, sum = 0.0;
    ptrdiff_t k = 0;
    for (ptrdiff_t stop = 0; k < at.length; k = stop) {
        double lowest[LAZYNET_LANES] = {0}, before[LAZYNET_LANES];
        memcpy(before, lanes, sizeof before);
        stop = k + LAZYNET_BLOCK < at.length ? k + LAZYNET_BLOCK : at.length;
        ptrdiff_t q = k;
        for (; q + LAZYNET_LANES <= stop; q += LAZYNET_LANES) {
            if (q + LAZYNET_LANES <= shorter)
                for (int lane = 0; lane < LAZYNET_LANES; lane++)
                    LAZYNET_PREFETCH_WRITE(cells + 4 * (ptrdiff_t)coming.columns[q + lane]);
            LAZYNET_TYPED(caught_up_eight)
            (cells, at.columns + q, now, &rule, decays, kept + q, kept + half + q, lowest);
#pragma omp simd
            for (int lane = 0; lane < LAZYNET_LANES; lane++)
                lanes[lane] += kept[q + lane] * (double)at.values[q + lane];
        }
        const ptrdiff_t whole = q;
        if (q < stop && at.length >= LAZYNET_LANES) {
            /* The last eight, of which some have been had: they come out the same. */
            q = at.length - LAZYNET_LANES;
            LAZYNET_TYPED(caught_up_eight)
            (cells, at.columns + q, now, &rule, decays, kept + q, kept + half + q, lowest);
        } else if (q < stop) {
            LAZYNET_REAL values[LAZYNET_LANES];
            LAZYNET_INDEX columns[LAZYNET_LANES];
            LAZYNET_TYPED(fill_up)(&at, q, LAZYNET_LANES, values, columns);
            LAZYNET_TYPED(caught_up_eight)
            (cells, columns, now, &rule, decays, kept + q, kept + half + q, lowest);
        }
        if (LAZYNET_TYPED(too_low)(lowest)) {
            q = q < k ? q : k;
            LAZYNET_TYPED(caught_up_slowly)
            (cells, at.columns + q, stop - q, now, &rule, kept + q);
            memcpy(lanes, before, sizeof before);
            for (q = k; q < whole; q += LAZYNET_LANES)
                for (int lane = 0; lane < LAZYNET_LANES; lane++)
                    lanes[lane] += kept[q + lane] * (double)at.values[q + lane];
        }
        for (q = whole; q < stop; q++) sum += kept[q] * (double)at.values[q];
    }
    for (ptrdiff_t left = shorter - shorter % LAZYNET_LANES; left < coming.length; left++)
        LAZYNET_PREFETCH_WRITE(cells + 4 * (ptrdiff_t)coming.columns[left]);
    for (int lane = 0; lane < LAZYNET_LANES; lane++) sum += lanes[lane];
    return sum;
}

static double LAZYNET_TYPED(adagrad_dot)(const lazynet_row *row, const lazynet_row *next,
                                         const double *cells, double now,
                                         const lazynet_cell_rule *rule, double *kept,
                                         ptrdiff_t half) {
    if (rule->decays > 0.0)
        return LAZYNET_TYPED(any_adagrad_dot)(row, next, cells, now, rule, kept, half, 1);
    return LAZYNET_TYPED(any_adagrad_dot)(row, next, cells, now, rule, kept, half, 0);
}

/* With g_j = slope x_j:  s' = sqrt(s^2 + g^2)   eta' = alpha / (delta + s')   w <- w - eta' g, and
 * c' = log1p(eta' l2) by its series, or eta' without an l2 penalty; the largest eta' l2 of all so
 * far are kept in `largest`. */
LAZYNET_INLINE void LAZYNET_TYPED(adagrad_block)(const LAZYNET_REAL *values,
                                                 const LAZYNET_INDEX *columns, ptrdiff_t length,
                                                 double *cells, double now,
                                                 const lazynet_cell_rule *rule, double slope,
                                                 const double *weights, const double *s,
                                                 double *largest) {
    double w[LAZYNET_LANES], root[LAZYNET_LANES], c[LAZYNET_LANES];
#pragma omp simd
    for (int lane = 0; lane < LAZYNET_LANES; lane++) {
        const double g = slope * (double)values[lane];
        root[lane] = sqrt(s[lane] * s[lane] + g * g);
        /* Where nothing has ever been learned, delta + s' may be as small as delta. */
        const double eta = rule->alpha / (rule->delta + root[lane]), y = eta * rule->l2;
        const double series = y - y * y * (1.0 / 2 - y * (1.0 / 3 - y * (1.0 / 4 - y * (1.0 / 5))));
        w[lane] = weights[lane] - eta * g;
        c[lane] = rule->decays > 0.0 ? series : eta;
        largest[lane] = y > largest[lane] ? y : largest[lane];
    }
    LAZYNET_TYPED(store_eight)(cells, columns, length, w, root, c, now);
}

/* Where eta l2 is not so small, c is that of the library. */
LAZYNET_INLINE void LAZYNET_TYPED(mend_decays)(const LAZYNET_INDEX *columns, ptrdiff_t length,
                                               double *cells, const lazynet_cell_rule *rule,
                                               const double *largest) {
    double most = 0.0;
#pragma omp simd reduction(max : most)
    for (int lane = 0; lane < LAZYNET_LANES; lane++)
        most = largest[lane] > most ? largest[lane] : most;
    if (most <= LAZYNET_SMALL_LOSS) return;
    for (ptrdiff_t k = 0; k < length; k++) {
        double *cell = cells + 4 * (ptrdiff_t)columns[k];
        const double eta = rule->alpha / (rule->delta + cell[1]);
        if (!(eta * rule->l2 <= LAZYNET_SMALL_LOSS)) cell[2] = lazynet_adagrad_decay(eta, rule);
    }
}

/* The step on the row that `adagrad_dot` has just kept the weights of. */
static void LAZYNET_TYPED(adagrad_update)(const lazynet_csr *X, const lazynet_row *row,
                                          ptrdiff_t ahead, double *cells, double now,
                                          const lazynet_cell_rule *given, double slope,
                                          const double *kept, ptrdiff_t half) {
    const lazynet_cell_rule rule = *given;
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    LAZYNET_TYPED(stream) stream = LAZYNET_TYPED(stream_of)(X, ahead);
    for (ptrdiff_t k = 0, stop = 0; k < at.length; k = stop) {
        double largest[LAZYNET_LANES] = {0};
        stop = k + LAZYNET_BLOCK < at.length ? k + LAZYNET_BLOCK : at.length;
        LAZYNET_TYPED(fetch)(&stream, LAZYNET_BLOCK);
        ptrdiff_t q = k;
        for (; q + LAZYNET_LANES <= stop; q += LAZYNET_LANES)
            LAZYNET_TYPED(adagrad_block)
            (at.values + q, at.columns + q, LAZYNET_LANES, cells, now, &rule, slope, kept + q,
             kept + half + q, largest);
        if (q < stop && at.length >= LAZYNET_LANES) {
            /* The last eight: what is kept has not changed, and neither has what is written. */
            q = at.length - LAZYNET_LANES;
            LAZYNET_TYPED(adagrad_block)
            (at.values + q, at.columns + q, LAZYNET_LANES, cells, now, &rule, slope, kept + q,
             kept + half + q, largest);
        } else if (q < stop) {
            LAZYNET_REAL values[LAZYNET_LANES];
            LAZYNET_INDEX columns[LAZYNET_LANES];
            LAZYNET_TYPED(fill_up)(&at, q, LAZYNET_LANES, values, columns);
            LAZYNET_TYPED(adagrad_block)
            (values, columns, stop - q, cells, now, &rule, slope, kept + q, kept + half + q,
             largest);
        }
        q = q < k ? q : k;
        LAZYNET_TYPED(mend_decays)(at.columns + q, stop - q, cells, &rule, largest);
    }
    LAZYNET_TYPED(fetch_rest)(&stream);
}

/* Bring the row's weights from their own step psi_j = last[j] to `now` (tables engine).  A psi
 * that is not in the tables is taken for `now`: nothing is read outside them. */
static void LAZYNET_TYPED(catch_up)(const lazynet_row *row,
                                                   double *weights, int64_t *last,
                                                   const double *scales, const double *shifts,
                                                   int64_t now) {
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    const double p_now = scales[now], b_now = shifts[now];
#pragma omp simd
    for (ptrdiff_t k = 0; k < at.length; k++) {
        ptrdiff_t j = (ptrdiff_t)at.columns[k];
        const int64_t found = lazynet_read_once(last + j);
        const int64_t psi = (uint64_t)found <= (uint64_t)now ? found : now;
        weights[j] = lazynet_caught_up(weights[j], scales[psi], shifts[psi], p_now, b_now);
        last[j] = now;
    }
}

/* dense_j <- factor x_j on the row: spread it out, or with factor 0 wipe it out again. */
static void LAZYNET_TYPED(expand)(const lazynet_row *row, double *dense,
                                  double factor) {
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    for (ptrdiff_t k = 0; k < at.length; k++)
        /* Not 0 times the value, which may have become infinite. */
        dense[at.columns[k]] = factor == 0.0 ? 0.0 : factor * (double)at.values[k];
}

static const lazynet_row_ops LAZYNET_TYPED(row_ops) = {
    .all_sound = LAZYNET_TYPED(all_sound),
    .row_defect = LAZYNET_TYPED(row_defect),
    .row_blemish = LAZYNET_TYPED(row_blemish),
    .load_row = LAZYNET_TYPED(load_row),
    .squared_norm = LAZYNET_TYPED(squared_norm),
    .dot = LAZYNET_TYPED(dot),
    .scan = LAZYNET_TYPED(scan),
    .update = LAZYNET_TYPED(update),
    .soft_dot = LAZYNET_TYPED(soft_dot),
    .soft_update = LAZYNET_TYPED(soft_update),
    .pair_dot = LAZYNET_TYPED(pair_dot),
    .pair_update = LAZYNET_TYPED(pair_update),
    .averaged_update = LAZYNET_TYPED(averaged_update),
    .informed_update = LAZYNET_TYPED(informed_update),
    .leader_dot = LAZYNET_TYPED(leader_dot),
    .leader_update = LAZYNET_TYPED(leader_update),
    .truncated_dot = LAZYNET_TYPED(truncated_dot),
    .truncated_update = LAZYNET_TYPED(truncated_update),
    .carpenter_dot = LAZYNET_TYPED(carpenter_dot),
    .carpenter_update = LAZYNET_TYPED(carpenter_update),
    .adagrad_dot = LAZYNET_TYPED(adagrad_dot),
    .adagrad_update = LAZYNET_TYPED(adagrad_update),
    .catch_up = LAZYNET_TYPED(catch_up),
    .expand = LAZYNET_TYPED(expand),
};
