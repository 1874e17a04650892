/* What a kernel needs of rows and cannot say in Cython: indices that are read exactly once, a copy of
 * columns that is checked on the way, prefetches, and the level of the vector units.
 *
 * Sums run in eight fixed lanes, whatever the vector width, and contraction to fused multiply-adds is
 * off: a row gives the same bits on every vector unit and at every alignment in memory.  Therefore any
 * split into chunks gives the same bits.
 */
#ifndef LAZYNET_ROWS_H
#define LAZYNET_ROWS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define LAZYNET_INLINE static inline __attribute__((always_inline, unused))
#define LAZYNET_PREFETCH_READ(address) __builtin_prefetch((address), 0, 3)
#define LAZYNET_PREFETCH_WRITE(address) __builtin_prefetch((address), 1, 3)
#else
#define LAZYNET_INLINE static inline
#define LAZYNET_PREFETCH_READ(address) ((void)(address))
#define LAZYNET_PREFETCH_WRITE(address) ((void)(address))
#endif

#define LAZYNET_LANES 8

/* A CSR matrix. */
typedef struct {
    const void *values;
    const void *columns;
    const void *starts; /* of the rows; n_rows + 1 of them */
    ptrdiff_t n_rows;
    ptrdiff_t n_columns; /* at most 2^32 */
    ptrdiff_t n_values;
    int wide_values;     /* double, else float */
    int wide_indices;    /* columns and starts are int64_t, else int32_t */
} lazynet_csr;

enum { LAZYNET_CACHE_LINE = 64 };
enum { LAZYNET_WORTH_FETCHING = 1024 }; /* nonzeros of a row, at most, that are fetched ahead */

/* Where a row begins.  Another thread may be writing to the matrix, so each bound is read exactly
 * once, which is what volatile says. */
LAZYNET_INLINE int64_t lazynet_start(const lazynet_csr *X, ptrdiff_t row) {
    return X->wide_indices ? ((const volatile int64_t *)X->starts)[row]
                           : ((const volatile int32_t *)X->starts)[row];
}

/* Copy n columns of the matrix, from `start` on, and check them on the way: is each at least 0 and
 * less than the number of columns?  A column is held in a register between the copy and the check, so
 * that what is copied last is what was looked at.  The last block overlaps the one before, so that a
 * short row has no tail of single steps. */
LAZYNET_INLINE int lazynet_copy_any(const lazynet_csr *X, ptrdiff_t start, ptrdiff_t n,
                                              uint32_t *restrict copy, int wide) {
    enum { BLOCK = 16 };
    const uint64_t *eight = (const uint64_t *)X->columns + (wide ? start : 0);
    const uint32_t *four = (const uint32_t *)X->columns + (wide ? 0 : start);
    uint32_t largest = 0, high = 0; /* the largest as unsigned numbers, and what they leave out */
#define LAZYNET_COPY_COLUMN(k)                                        \
    {                                                                 \
        const uint32_t column = wide ? (uint32_t)eight[k] : four[k];  \
        if (wide) high |= (uint32_t)(eight[k] >> 32);                 \
        copy[k] = column;                                             \
        largest = column > largest ? column : largest;                \
    }
    if (n < BLOCK) {
        for (ptrdiff_t k = 0; k < n; k++) LAZYNET_COPY_COLUMN(k)
    } else {
        const ptrdiff_t whole = n - n % BLOCK;
#pragma omp simd reduction(max : largest) reduction(| : high)
        for (ptrdiff_t k = 0; k < whole; k++) LAZYNET_COPY_COLUMN(k)
        eight += n - BLOCK, four += n - BLOCK, copy += n - BLOCK;
#pragma omp simd reduction(max : largest) reduction(| : high)
        for (int k = 0; k < BLOCK; k++) LAZYNET_COPY_COLUMN(k)
    }
#undef LAZYNET_COPY_COLUMN
    if (!wide) high |= largest >> 31;
    return n == 0 || (high == 0 && (int64_t)largest < (int64_t)X->n_columns);
}

LAZYNET_INLINE int lazynet_copy_columns(const lazynet_csr *X, ptrdiff_t start, ptrdiff_t n,
                                          uint32_t *restrict copy) {
    return X->wide_indices ? lazynet_copy_any(X, start, n, copy, 1)
                           : lazynet_copy_any(X, start, n, copy, 0);
}

/* Prefetch the values and columns of a later row.  Addresses, not pointers: the row has not been
 * checked yet and may lie outside the arrays, and a prefetch never faults.  One loop fetches both:
 * the end of a loop of unknown length costs as much as several prefetches. */
LAZYNET_INLINE void lazynet_fetch_row(const lazynet_csr *X, ptrdiff_t row) {
    enum { BLOCK = LAZYNET_CACHE_LINE / 4 }; /* nonzeros: a line of narrow numbers, two of wide */
    const int64_t begin = lazynet_start(X, row), end = lazynet_start(X, row + 1);
    const size_t value_lines = X->wide_values ? 2 : 1, column_lines = X->wide_indices ? 2 : 1;
    uintptr_t value = (uintptr_t)X->values + (uintptr_t)begin * 4 * value_lines;
    uintptr_t column = (uintptr_t)X->columns + (uintptr_t)begin * 4 * column_lines;
    int64_t left = end > begin ? end - begin : 0;
    if (left > LAZYNET_WORTH_FETCHING) left = LAZYNET_WORTH_FETCHING;
    for (; left > 0; left -= BLOCK) {
        LAZYNET_PREFETCH_READ((const void *)value);
        LAZYNET_PREFETCH_READ((const void *)column);
        value += value_lines * LAZYNET_CACHE_LINE, column += column_lines * LAZYNET_CACHE_LINE;
        LAZYNET_PREFETCH_READ((const void *)(value - LAZYNET_CACHE_LINE));
        LAZYNET_PREFETCH_READ((const void *)(column - LAZYNET_CACHE_LINE));
    }
}

/* Memory that grows as rows do.  It begins as zeros; its user frees `bytes` in the end. */
typedef struct {
    void *bytes;
    size_t size;
} lazynet_room;

LAZYNET_INLINE int lazynet_make_room(lazynet_room *room, size_t size) {
    enum { LEAST = 4096 };
    if (room->bytes != NULL && size <= room->size) return 1;
    free(room->bytes);
    room->size = size < LEAST ? LEAST : 2 * size;
    room->bytes = malloc(room->size);
    return room->bytes != NULL;
}

/* An index that another thread may write to, read exactly once: the value that is checked is the
 * value that is used. */
LAZYNET_INLINE int64_t lazynet_read_once(const int64_t *index) {
    return *(const volatile int64_t *)index;
}

/* z -> sgn(z) [|z| - shift]+  without a branch; NaN and infinities are kept. */
LAZYNET_INLINE double lazynet_soft(double z, double shift) {
    double kept_back = z < shift ? z : shift;
    kept_back = kept_back > -shift ? kept_back : -shift;
    return z - kept_back;
}

/* The past of a clock since it was set, for averages of the iterates (averages.pyx): for each
 * iterate that counted, the shift and the prefix sums
 *
 *     scales[n] = sum_{i <= n} omega_i scale_i      pulls[n] = sum_{i <= n} omega_i scale_i shift_i
 */
typedef struct {
    double *shifts;
    double *scales; /* S0, from n = 0 on */
    double *pulls;  /* S1, from n = 0 on */
    ptrdiff_t n;    /* iterates that have counted */
    ptrdiff_t room; /* iterates for which there is room */
} lazynet_past;

/* How many of the counted iterates have a shift below `magnitude`, the |z| of a weight: the number
 * of iterates in which the weight was alive.  Shifts never fall.  The search halves the same ranges for every
 * magnitude and no branch depends on it, so that several searches run side by side. */
LAZYNET_INLINE ptrdiff_t lazynet_iterates_alive(const lazynet_past *past, double magnitude) {
    ptrdiff_t alive = 0;
    for (ptrdiff_t left = past->n, half; left > 1; left -= half) {
        half = left / 2;
        alive += past->shifts[alive + half - 1] < magnitude ? half : 0;
    }
    return past->n > 0 ? alive + (past->shifts[alive] < magnitude) : 0;
}

/* The sum over the first n iterates of the past of a weight that was stored as z and alive in all
 * of them.  `before` of an averaged cell subtracts the iterates before the weight was stored as z.
 * */
LAZYNET_INLINE double lazynet_sum_alive(const lazynet_past *past, double z, ptrdiff_t n) {
    return past->scales[n] * z - past->pulls[n] * (double)((z > 0.0) - (z < 0.0));
}

/* The highest level of vector units that this machine can run: 1 for v3, 2 for v4 (setup.py). */
LAZYNET_INLINE int lazynet_best_level(void) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    /* Every extension that the levels are compiled for, and popcnt, which they imply. */
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
          __builtin_cpu_supports("popcnt")))
        return 0;
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl")))
        return 1;
    return 2;
#else
    return 0;
#endif
}

#endif
