/* What every kernel does to one row of a CSR matrix, for each type of value and of index.
 *
 * Why C and not Cython: these loops are where the time goes, and two things that decide their
 * speed cannot be said in Cython.  `#pragma omp simd` lets the compiler vectorise one loop whose
 * scatter it could not prove free of overlap (columns of a row are distinct: checked at the
 * door), without -ffast-math for the module.  `target_clones` compiles each loop for the generic
 * machine, AVX2 and AVX-512 and lets the loader choose, so a generic wheel reaches the vector
 * units of the machine that it lands on.
 *
 * Sums run in eight fixed lanes, whatever the vector width, and contraction to fused
 * multiply-adds is off: a row gives the same bits however it is aligned in memory, which is
 * what makes any split into chunks bit for bit the same.
 */
#ifndef LAZYNET_ROWS_H
#define LAZYNET_ROWS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__x86_64__) && \
    defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(LAZYNET_DEBUG)
#define LAZYNET_CLONES \
    __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), noinline, unused))
#elif defined(__GNUC__) || defined(__clang__)
#define LAZYNET_CLONES __attribute__((unused))
#else
#define LAZYNET_CLONES
#endif

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
#define LAZYNET_CACHE_LINE 64

/* A CSR matrix of any supported types; `row_ops` knows which. */
typedef struct {
    const void *values;
    const void *columns;
    const void *starts; /* of the rows; n_rows + 1 of them */
    ptrdiff_t n_rows;
    ptrdiff_t n_columns;
    ptrdiff_t n_values;
} lazynet_csr;

/* Why a row cannot be used. */
enum lazynet_defect {
    LAZYNET_SOUND = 0,
    LAZYNET_BAD_START = 1,   /* row starts decrease or leave the arrays */
    LAZYNET_BAD_COLUMN = 2,  /* a column is negative or >= n_columns */
    LAZYNET_NOT_SORTED = 3,  /* columns are not strictly increasing */
    LAZYNET_NOT_FINITE = 4   /* a value is NaN or infinite */
};

/* z -> sgn(z) [|z| - shift]+  without a branch; NaN and infinities stay what they are. */
LAZYNET_INLINE double lazynet_soft(double z, double shift) {
    double kept_back = z < shift ? z : shift;
    kept_back = kept_back > -shift ? kept_back : -shift;
    return z - kept_back;
}

/* The inverse on what survives: v -> sgn(v) (|v| + shift). */
LAZYNET_INLINE double lazynet_unsoft(double v, double shift) { return v + copysign(shift, v); }

/* A weight of the paper's tables brought from the tables' step `psi` to `now`, given P(psi),
 * B(psi), P(now), B(now): the corrected Theorems 1 and 2 in one formula. */
LAZYNET_INLINE double lazynet_caught_up(double w, double p_psi, double b_psi, double p_now,
                                        double b_now) {
    double magnitude = fabs(w) * (p_now / p_psi) - p_now * (b_now - b_psi);
    return copysign(magnitude > 0.0 ? magnitude : 0.0, w);
}

/* One row operation for each kernel need.  `next` is the row after this one and `ahead` the row
 * a few steps later, both known because the order is known: the dot product fetches the next
 * row's weights and the update the later row's values while they compute.  Interleaved, these
 * prefetches hide the latency of memory; in a burst they fill the line buffers and stall. */
typedef struct {
    int (*all_sound)(const lazynet_csr *);
    int (*row_defect)(const lazynet_csr *, ptrdiff_t row);
    int (*row_blemish)(const lazynet_csr *, ptrdiff_t row);
    ptrdiff_t (*row_length)(const lazynet_csr *, ptrdiff_t row);
    double (*squared_norm)(const lazynet_csr *, ptrdiff_t row);
    double (*dot)(const lazynet_csr *, ptrdiff_t row, ptrdiff_t next, const double *weights);
    void (*update)(const lazynet_csr *, ptrdiff_t row, ptrdiff_t ahead, double *weights,
                   double step);
    double (*soft_dot)(const lazynet_csr *, ptrdiff_t row, ptrdiff_t next, const double *stored,
                       double shift);
    void (*soft_update)(const lazynet_csr *, ptrdiff_t row, ptrdiff_t ahead, double *stored,
                        double shift, double step);
    void (*catch_up)(const lazynet_csr *, ptrdiff_t row, double *weights, int64_t *last,
                     const double *scales, const double *shifts, int64_t now);
    void (*expand)(const lazynet_csr *, ptrdiff_t row, double *dense, double factor);
} lazynet_row_ops;

#define LAZYNET_PASTE_(a, b, c) a##_##b##_##c
#define LAZYNET_PASTE(a, b, c) LAZYNET_PASTE_(a, b, c)
#define LAZYNET_TYPED(name) LAZYNET_PASTE(lazynet_##name, LAZYNET_REAL_NAME, LAZYNET_INDEX_NAME)

#define LAZYNET_REAL float
#define LAZYNET_REAL_NAME f32
#define LAZYNET_INDEX int32_t
#define LAZYNET_UNSIGNED uint32_t
#define LAZYNET_INDEX_NAME i32
#include "rows_typed.h"
#undef LAZYNET_INDEX
#undef LAZYNET_UNSIGNED
#undef LAZYNET_INDEX_NAME
#define LAZYNET_INDEX int64_t
#define LAZYNET_UNSIGNED uint64_t
#define LAZYNET_INDEX_NAME i64
#include "rows_typed.h"
#undef LAZYNET_REAL
#undef LAZYNET_REAL_NAME
#define LAZYNET_REAL double
#define LAZYNET_REAL_NAME f64
#include "rows_typed.h"
#undef LAZYNET_INDEX
#undef LAZYNET_UNSIGNED
#undef LAZYNET_INDEX_NAME
#define LAZYNET_INDEX int32_t
#define LAZYNET_UNSIGNED uint32_t
#define LAZYNET_INDEX_NAME i32
#include "rows_typed.h"
#undef LAZYNET_INDEX
#undef LAZYNET_UNSIGNED
#undef LAZYNET_INDEX_NAME
#undef LAZYNET_REAL
#undef LAZYNET_REAL_NAME

LAZYNET_INLINE const lazynet_row_ops *lazynet_row_ops_for(int wide_values, int wide_indices) {
    if (wide_values) {
        return wide_indices ? &lazynet_row_ops_f64_i64 : &lazynet_row_ops_f64_i32;
    }
    return wide_indices ? &lazynet_row_ops_f32_i64 : &lazynet_row_ops_f32_i32;
}

#endif
