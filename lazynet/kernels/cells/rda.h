/* Regularised dual averaging (Xiao 2010) with an elastic net.  A cell is {v}, minus the
 * sum of the gradients.  With t gradients seen, every weight is
 *
 *     w = soft(v, t l1 + gamma rho sqrt(t)) / (t l2 + gamma sqrt(t))
 *
 * and 0 for t = 0.  A step is v <- v - g x.  The intercept has a sum of its own and no penalty.
 *
 * Where gamma follows the data, it stands for gamma m^2, m the mean of the Euclidean norms of the
 * rows seen so far (lazynet_scale), and the intercept has a gamma of its own.
 *
 * Property: equal to lazynet.reference.rda.DenseRDA after every step
 * (tests/exact/test_rules_with_state.py).
 */
#ifndef LAZYNET_CELLS_RDA_H
#define LAZYNET_CELLS_RDA_H

#include "../cell_kind.h"
#include "../cell_scale.h"

enum {
    LAZYNET_RDA_L1,
    LAZYNET_RDA_L2,
    LAZYNET_RDA_GAMMA,
    LAZYNET_RDA_RHO,
    LAZYNET_RDA_FREE_GAMMA /* of the intercept where gamma follows the data; 0: it does not */
};
enum { LAZYNET_RDA_SEEN, LAZYNET_RDA_INTERCEPT_SUM, LAZYNET_RDA_SCALE };

typedef struct {
    lazynet_cell_head head;
    double l1;
    double l2;
    double gamma;
    double rho;
    double free_gamma;    /* of the intercept */
    double given_gamma;   /* gamma in units of the data, where it follows the data */
    lazynet_scale sizes;
    double seen;          /* t */
    double intercept_sum; /* minus the sum of the gradients of the intercept */
    double shift;         /* of the weights at t */
    double scale;         /* of the weights at t */
} lazynet_rda;

LAZYNET_INLINE double lazynet_rda_scale(double t, double l2, double gamma) {
    return t > 0.0 ? 1.0 / (t * l2 + gamma * sqrt(t)) : 0.0;
}

/* Shift, scale and intercept at the present t. */
LAZYNET_INLINE void lazynet_rda_set(lazynet_rda *rule) {
    const double t = rule->seen;
    rule->shift = t * rule->l1 + rule->gamma * rule->rho * sqrt(t);
    rule->scale = lazynet_rda_scale(t, rule->l2, rule->gamma);
    rule->head.intercept = rule->intercept_sum * lazynet_rda_scale(t, 0.0, rule->free_gamma);
}

/* gamma at the present scale, and what follows from it. */
LAZYNET_INLINE void lazynet_rda_set_gamma(lazynet_rda *rule) {
    const double unit = lazynet_scale_unit(&rule->sizes);
    rule->gamma = rule->head.measures ? rule->given_gamma * (unit * unit) : rule->given_gamma;
    lazynet_rda_set(rule);
}

LAZYNET_INLINE lazynet_refusal lazynet_rda_refusal(const double *settings, const double *fields,
                                                   int running) {
    const double gamma = settings[LAZYNET_RDA_GAMMA];
    (void)running;
    if (!(gamma > 0.0)) return lazynet_refused("gamma must be positive, got {}", gamma, 0.0);
    if (!(settings[LAZYNET_RDA_FREE_GAMMA] >= 0.0))
        return lazynet_refused("free_gamma must not be negative, got {}",
                               settings[LAZYNET_RDA_FREE_GAMMA], 0.0);
    return lazynet_scale_refusal(fields + LAZYNET_RDA_SCALE);
}

LAZYNET_INLINE void lazynet_rda_begin(void *given, const double *settings, const double *fields) {
    lazynet_rda *rule = (lazynet_rda *)given;
    rule->l1 = settings[LAZYNET_RDA_L1];
    rule->l2 = settings[LAZYNET_RDA_L2];
    rule->given_gamma = settings[LAZYNET_RDA_GAMMA];
    rule->head.measures = settings[LAZYNET_RDA_FREE_GAMMA] != 0.0;
    rule->free_gamma = settings[rule->head.measures ? LAZYNET_RDA_FREE_GAMMA : LAZYNET_RDA_GAMMA];
    rule->rho = settings[LAZYNET_RDA_RHO];
    rule->seen = fields[LAZYNET_RDA_SEEN];
    rule->intercept_sum = fields[LAZYNET_RDA_INTERCEPT_SUM];
    lazynet_scale_begin(&rule->sizes, fields + LAZYNET_RDA_SCALE);
    lazynet_rda_set_gamma(rule);
}

LAZYNET_INLINE void lazynet_rda_end(const void *given, double *fields) {
    const lazynet_rda *rule = (const lazynet_rda *)given;
    fields[LAZYNET_RDA_SEEN] = rule->seen;
    fields[LAZYNET_RDA_INTERCEPT_SUM] = rule->intercept_sum;
    lazynet_scale_end(&rule->sizes, fields + LAZYNET_RDA_SCALE);
}

LAZYNET_INLINE int lazynet_rda_measure(void *given, double size) {
    lazynet_rda *rule = (lazynet_rda *)given;
    const lazynet_scale_change change = lazynet_scale_measure(&rule->sizes, sqrt(size));
    if (change == LAZYNET_SCALE_CHANGED) lazynet_rda_set_gamma(rule);
    return change == LAZYNET_SCALE_ASKS;
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
    .settings = {"l1", "l2", "gamma", "rho", "free_gamma"},
    .fields = {"seen", "intercept_sum", LAZYNET_SCALE_FIELDS},
    .size = sizeof(lazynet_rda),
    .refusal = lazynet_rda_refusal,
    .begin = lazynet_rda_begin,
    .end = lazynet_rda_end,
    .measure = lazynet_rda_measure,
    .advance = lazynet_rda_advance,
    .read = lazynet_rda_read,
};

#endif

#ifdef LAZYNET_REAL
/* The dot product of the clock, with another shift and scale, and the plain update. */
static double LAZYNET_TYPED(rda_dot)(const lazynet_row *row, const lazynet_row *next,
                                     const double *cells, const void *given) {
    const lazynet_rda *rule = (const lazynet_rda *)given;
    LAZYNET_TYPED(fetch_weights)(next, cells, 1);
    return LAZYNET_TYPED(any_dot)(row, cells, 1, rule->shift, 1, 0) * rule->scale;
}

static void LAZYNET_TYPED(rda_update)(const lazynet_row *row, double *cells, const void *given,
                                      double step) {
    (void)given;
    LAZYNET_TYPED(any_update)(row, cells, 0.0, step, 0, 0, NULL);
}
#endif
