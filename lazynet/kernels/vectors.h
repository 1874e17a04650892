/* Loops over all weights: for the dense engine and the penalty. */
#ifndef LAZYNET_VECTORS_H
#define LAZYNET_VECTORS_H

#include <math.h>
#include <stddef.h>

/* One function for each vector unit, chosen by the loader. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9 && defined(__x86_64__) && \
    defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(LAZYNET_DEBUG)
#define LAZYNET_CLONES \
    __attribute__((target_clones("default", "avx2", "avx512f"), noinline, unused))
#elif defined(__GNUC__) || defined(__clang__)
#define LAZYNET_CLONES __attribute__((unused))
#else
#define LAZYNET_CLONES
#endif

#if defined(__GNUC__) || defined(__clang__)
#define LAZYNET_UNUSED __attribute__((unused))
#else
#define LAZYNET_UNUSED
#endif

/* The same loops, one number at a time, to measure the gain from vector units. */
#if defined(__GNUC__) && !defined(__clang__)
#define LAZYNET_SCALAR \
    __attribute__((optimize("no-tree-vectorize", "no-tree-slp-vectorize"), noinline, unused))
#define LAZYNET_NO_SIMD
#elif defined(__clang__)
#define LAZYNET_SCALAR __attribute__((noinline, unused))
#define LAZYNET_NO_SIMD _Pragma("clang loop vectorize(disable)")
#else
#define LAZYNET_SCALAR
#define LAZYNET_NO_SIMD
#endif

typedef struct {
    void (*shrink_all)(double *weights, ptrdiff_t n, double keep, double pull);
    double (*full_dot)(const double *left, const double *right, ptrdiff_t n);
    void (*full_update)(double *weights, const double *x, ptrdiff_t n, double step);
} lazynet_dense_loops;

#define LAZYNET_LOOP_KIND LAZYNET_CLONES
#define LAZYNET_LOOP(name) lazynet_##name
#define LAZYNET_SIMD _Pragma("omp simd")
#include "vectors_loops.h"
#undef LAZYNET_LOOP_KIND
#undef LAZYNET_LOOP
#undef LAZYNET_SIMD

#define LAZYNET_LOOP_KIND LAZYNET_SCALAR
#define LAZYNET_LOOP(name) lazynet_##name##_scalar
#define LAZYNET_SIMD LAZYNET_NO_SIMD
#include "vectors_loops.h"
#undef LAZYNET_LOOP_KIND
#undef LAZYNET_LOOP
#undef LAZYNET_SIMD

LAZYNET_UNUSED static lazynet_dense_loops lazynet_dense_loops_of(int vectorised) {
    lazynet_dense_loops vector = {lazynet_shrink_all, lazynet_full_dot, lazynet_full_update};
    lazynet_dense_loops scalar = {lazynet_shrink_all_scalar, lazynet_full_dot_scalar,
                                  lazynet_full_update_scalar};
    return vectorised ? vector : scalar;
}

/* sum |w| and sum w^2 in one pass. */
LAZYNET_CLONES static void lazynet_sums(const double *weights, ptrdiff_t n, double *absolute,
                                        double *squared) {
    enum { LANES = 8 };
    double absolutes[LANES] = {0}, squares[LANES] = {0};
    ptrdiff_t j = 0;
    for (; j + LANES <= n; j += LANES)
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++) {
            absolutes[lane] += fabs(weights[j + lane]);
            squares[lane] += weights[j + lane] * weights[j + lane];
        }
    *absolute = *squared = 0.0;
    for (int lane = 0; lane < LANES; lane++) {
        *absolute += absolutes[lane];
        *squared += squares[lane];
    }
    for (; j < n; j++) {
        *absolute += fabs(weights[j]);
        *squared += weights[j] * weights[j];
    }
}

#endif
