/* Truncated gradient with a threshold (Langford, Li & Zhang 2009, Eq. 5 and 6): SGD, and after
 * every step w <- T1(w, alpha, theta), which moves a weight towards zero by alpha, stops at zero,
 * and leaves a weight beyond the threshold theta alone.  alpha is the `pull` of the step, 0
 * between two truncations.
 *
 * Gravity is the sum of all alphas so far.  A cell is {w, stamp}: the weight, and gravity as of
 * when the weight was stored.  A weight within the threshold has had every truncation since then.
 * A weight beyond it has had none, because only a gradient brings it back.  (Without a threshold
 * the rule is computed by the clock.)
 *
 * Property: equal to lazynet.reference.truncated_gradient.DenseTruncated after every step
 * (tests/exact/test_rules_with_state.py).
 */
#ifndef LAZYNET_CELLS_TRUNCATED_GRADIENT_H
#define LAZYNET_CELLS_TRUNCATED_GRADIENT_H

#include "../cell_kind.h"

enum { LAZYNET_TRUNCATED_THRESHOLD };
enum { LAZYNET_TRUNCATED_GRAVITY, LAZYNET_TRUNCATED_INTERCEPT };

typedef struct {
    lazynet_cell_head head;
    double gravity;
    double threshold;
} lazynet_truncated_gradient;

LAZYNET_INLINE double lazynet_truncated_gradient_weight(double w, double stamp,
                                                        const lazynet_truncated_gradient *rule) {
    const double shrunk = lazynet_soft(w, rule->gravity - stamp);
    return fabs(w) > rule->threshold ? w : shrunk;
}

/* w <- w - g, stamped with the present gravity. */
LAZYNET_INLINE void lazynet_truncated_gradient_moved(double *w, double *stamp, double weight,
                                                     double g,
                                                     const lazynet_truncated_gradient *rule) {
    *w = weight - g;
    *stamp = rule->gravity;
}

LAZYNET_INLINE lazynet_refusal lazynet_truncated_gradient_refusal(const double *settings,
                                                                  const double *fields,
                                                                  int running) {
    (void)settings, (void)fields, (void)running;
    return lazynet_accepted();
}

LAZYNET_INLINE void lazynet_truncated_gradient_begin(void *given, const double *settings,
                                                     const double *fields) {
    lazynet_truncated_gradient *rule = (lazynet_truncated_gradient *)given;
    rule->threshold = settings[LAZYNET_TRUNCATED_THRESHOLD];
    rule->gravity = fields[LAZYNET_TRUNCATED_GRAVITY];
    rule->head.intercept = fields[LAZYNET_TRUNCATED_INTERCEPT];
}

LAZYNET_INLINE void lazynet_truncated_gradient_end(const void *given, double *fields) {
    const lazynet_truncated_gradient *rule = (const lazynet_truncated_gradient *)given;
    fields[LAZYNET_TRUNCATED_GRAVITY] = rule->gravity;
    fields[LAZYNET_TRUNCATED_INTERCEPT] = rule->head.intercept;
}

LAZYNET_INLINE int lazynet_truncated_gradient_advance(void *given, double move, double rate,
                                                      double pull, double largest_cushion) {
    lazynet_truncated_gradient *rule = (lazynet_truncated_gradient *)given;
    (void)rate;
    rule->head.intercept -= move;
    rule->gravity += pull;
    /* Beside a large sum the difference of two stamps loses its digits. */
    return rule->gravity > largest_cushion;
}

LAZYNET_INLINE void lazynet_truncated_gradient_read(const void *given, const double *cells,
                                                    ptrdiff_t n, double *weights) {
    const lazynet_truncated_gradient *rule = (const lazynet_truncated_gradient *)given;
    for (ptrdiff_t j = 0; j < n; j++)
        weights[j] = lazynet_truncated_gradient_weight(cells[2 * j], cells[2 * j + 1], rule);
}

LAZYNET_CELL_KIND lazynet_kind_truncated_gradient = {
    .name = "truncated_gradient",
    .numbers = 2,
    .settings = {"threshold"},
    .fields = {"gravity", "intercept"},
    .size = sizeof(lazynet_truncated_gradient),
    .scheduled = 1,
    .frozen_intercept = 1,
    .refusal = lazynet_truncated_gradient_refusal,
    .begin = lazynet_truncated_gradient_begin,
    .end = lazynet_truncated_gradient_end,
    .advance = lazynet_truncated_gradient_advance,
    .read = lazynet_truncated_gradient_read,
};

#endif

#ifdef LAZYNET_REAL
#define LAZYNET_KIND truncated_gradient
#include "../rows_pairs.inc"
#undef LAZYNET_KIND
#endif
