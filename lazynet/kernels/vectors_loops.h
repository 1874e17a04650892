/* The dense engine's loops over all weights; vectors.h includes this file with vector units and
 * without.  It defines LAZYNET_LOOP_KIND (how the functions are compiled), LAZYNET_LOOP
 * and LAZYNET_SIMD (what stands before a loop whose passes do not depend on each other). */

/* w <- sgn(w) [a |w| - b]+  for every weight. */
LAZYNET_LOOP_KIND static void LAZYNET_LOOP(shrink_all)(double *weights, ptrdiff_t n, double keep,
                                                       double pull) {
    LAZYNET_SIMD
    for (ptrdiff_t j = 0; j < n; j++) {
        double magnitude = fabs(weights[j]) * keep;
        /* A minimum, because a branch would be mispredicted and cost more than the whole rest. */
        double taken = magnitude < pull ? magnitude : pull;
        weights[j] = copysign(magnitude - taken, weights[j]);
    }
}

/* Sums run in eight fixed lanes, as in rows.h: the same bits on every vector unit and on none. */
LAZYNET_LOOP_KIND static double LAZYNET_LOOP(full_dot)(const double *left, const double *right,
                                                       ptrdiff_t n) {
    enum { LANES = 8 };
    double lanes[LANES] = {0}, sum = 0.0;
    ptrdiff_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        LAZYNET_SIMD
        for (int lane = 0; lane < LANES; lane++) lanes[lane] += left[j + lane] * right[j + lane];
    }
    for (int lane = 0; lane < LANES; lane++) sum += lanes[lane];
    for (; j < n; j++) sum += left[j] * right[j];
    return sum;
}

/* w <- w - step x  for every weight, x spread out. */
LAZYNET_LOOP_KIND static void LAZYNET_LOOP(full_update)(double *weights, const double *x,
                                                        ptrdiff_t n, double step) {
    LAZYNET_SIMD
    for (ptrdiff_t j = 0; j < n; j++) weights[j] -= step * x[j];
}
