/* Regularised dual averaging (Xiao 2010) with an elastic net.  A cell is {v}, minus the
 * sum of the gradients.  With t gradients seen, every weight is
 *
 *     w = soft(v, t l1 + gamma rho sqrt(t)) / (t l2 + gamma sqrt(t))
 *
 * and 0 for t = 0.  A step is v <- v - g x.  The intercept has a sum of its own and no penalty.
 *
 * Property: equal to lazynet.reference.rda.DenseRDA after every step
 * (tests/exact/test_rules_with_state.py).
 */
#ifndef LAZYNET_CELLS_RDA_H
#define LAZYNET_CELLS_RDA_H

#include "../cell_kind.h"

enum { LAZYNET_RDA_L1, LAZYNET_RDA_L2, LAZYNET_RDA_GAMMA, LAZYNET_RDA_RHO };
enum { LAZYNET_RDA_SEEN, LAZYNET_RDA_INTERCEPT_SUM };

typedef struct {
    lazynet_cell_head head;
    double l1;
    double l2;
    double gamma;
    double rho;
    double seen;          /* t */
    double intercept_sum; /* minus the sum of the gradients of the intercept */
    double shift;         /* of the weights at t */
    double scale;         /* of the weights at t */
} lazynet_rda;

LAZYNET_INLINE double lazynet_rda_scale(const lazynet_rda *rule, double l2) {
    const double t = rule->seen;
    return t > 0.0 ? 1.0 / (t * l2 + rule->gamma * sqrt(t)) : 0.0;
}

/* Shift, scale and intercept at the present t. */
LAZYNET_INLINE void lazynet_rda_set(lazynet_rda *rule) {
    const double t = rule->seen;
    rule->shift = t * rule->l1 + rule->gamma * rule->rho * sqrt(t);
    rule->scale = lazynet_rda_scale(rule, rule->l2);
    rule->head.intercept = rule->intercept_sum * lazynet_rda_scale(rule, 0.0);
}

LAZYNET_INLINE lazynet_refusal lazynet_rda_refusal(const double *settings, const double *fields,
                                                   int running) {
    const double gamma = settings[LAZYNET_RDA_GAMMA];
    (void)fields, (void)running;
    if (!(gamma > 0.0)) return lazynet_refused("gamma must be positive, got {}", gamma, 0.0);
    return lazynet_accepted();
}

LAZYNET_INLINE void lazynet_rda_begin(void *given, const double *settings, const double *fields) {
    lazynet_rda *rule = (lazynet_rda *)given;
    rule->l1 = settings[LAZYNET_RDA_L1];
    rule->l2 = settings[LAZYNET_RDA_L2];
    rule->gamma = settings[LAZYNET_RDA_GAMMA];
    rule->rho = settings[LAZYNET_RDA_RHO];
    rule->seen = fields[LAZYNET_RDA_SEEN];
    rule->intercept_sum = fields[LAZYNET_RDA_INTERCEPT_SUM];
    lazynet_rda_set(rule);
}

LAZYNET_INLINE void lazynet_rda_end(const void *given, double *fields) {
    const lazynet_rda *rule = (const lazynet_rda *)given;
    fields[LAZYNET_RDA_SEEN] = rule->seen;
    fields[LAZYNET_RDA_INTERCEPT_SUM] = rule->intercept_sum;
}

LAZYNET_INLINE int lazynet_rda_advance(void *given, double move, double rate, double pull,
                                       double largest_cushion) {
    lazynet_rda *rule = (lazynet_rda *)given;
    (void)rate, (void)pull, (void)largest_cushion;
    rule->seen += 1.0;
    rule->intercept_sum -= move;
    lazynet_rda_set(rule);
    return 0;
}

LAZYNET_INLINE void lazynet_rda_read(const void *given, const double *cells, ptrdiff_t n,
                                     double *weights) {
    const lazynet_rda *rule = (const lazynet_rda *)given;
    const double shift = rule->shift, scale = rule->scale;
    for (ptrdiff_t j = 0; j < n; j++) weights[j] = lazynet_soft(cells[j], shift) * scale;
}

LAZYNET_CELL_KIND lazynet_kind_rda = {
    .name = "rda",
    .numbers = 1,
    .settings = {"l1", "l2", "gamma", "rho"},
    .fields = {"seen", "intercept_sum"},
    .size = sizeof(lazynet_rda),
    .refusal = lazynet_rda_refusal,
    .begin = lazynet_rda_begin,
    .end = lazynet_rda_end,
    .advance = lazynet_rda_advance,
    .read = lazynet_rda_read,
};

#endif

#ifdef LAZYNET_REAL
/* The dot product of the clock, with another shift and scale, and the plain update. */
static double LAZYNET_TYPED(rda_dot)(const lazynet_row *row, const lazynet_row *next,
                                     const double *cells, const void *given) {
    const lazynet_rda *rule = (const lazynet_rda *)given;
    return LAZYNET_TYPED(any_dot)(row, next, cells, 1, rule->shift, 1) * rule->scale;
}

static void LAZYNET_TYPED(rda_update)(const lazynet_csr *X, const lazynet_row *row, ptrdiff_t ahead,
                                      double *cells, const void *given, double step) {
    (void)given;
    LAZYNET_TYPED(any_update)(X, row, ahead, cells, 0.0, step, 0);
}
#endif
