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

/* w <- sgn(w) [a |w| - b]+  for every weight. */
LAZYNET_CLONES static void lazynet_shrink_all(double *weights, ptrdiff_t n, double keep,
                                              double pull) {
#pragma omp simd
    for (ptrdiff_t j = 0; j < n; j++) {
        double magnitude = fabs(weights[j]) * keep - pull;
        weights[j] = copysign(magnitude > 0.0 ? magnitude : 0.0, weights[j]);
    }
}

/* Sums run in eight fixed lanes, as in rows.h: the same bits on every vector unit. */
LAZYNET_CLONES static double lazynet_full_dot(const double *left, const double *right,
                                              ptrdiff_t n) {
    enum { LANES = 8 };
    double lanes[LANES] = {0}, sum = 0.0;
    ptrdiff_t j = 0;
    for (; j + LANES <= n; j += LANES)
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++) lanes[lane] += left[j + lane] * right[j + lane];
    for (int lane = 0; lane < LANES; lane++) sum += lanes[lane];
    for (; j < n; j++) sum += left[j] * right[j];
    return sum;
}

/* w <- w - step x  for every weight, x spread out. */
LAZYNET_CLONES static void lazynet_full_update(double *weights, const double *x, ptrdiff_t n,
                                               double step) {
#pragma omp simd
    for (ptrdiff_t j = 0; j < n; j++) weights[j] -= step * x[j];
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
