/* FTRL-Proximal (McMahan et al. 2013, Algorithm 1) with an elastic net: a rate per coordinate, and
 * weights that are computed where they are needed.  A cell is {z, s}, with s the root of the sum of
 * the squared gradients of its coordinate:
 *
 *     w = -soft(z, k l1) alpha / (beta + alpha k l2 + s)
 *     s' = sqrt(s^2 + g^2)        z <- z + g - (s' - s) / alpha w        s <- s'
 *
 * k is the number of examples on which the penalty counts: the number of steps taken so far, and at
 * least 1, or in the published form 1 throughout.  The intercept is a cell without penalties.  No
 * weight ever lags behind, because k is one number for all weights, and no schedule of rates is
 * used.  With beta = 0 a coordinate has no rate before its first gradient: until then the l2 penalty
 * bounds the weights, and the intercept is 0.
 *
 * Property: equal to lazynet.reference.ftrl.DenseFTRL after every step
 * (tests/exact/test_rules_with_state.py).
 */
#ifndef LAZYNET_CELLS_FTRL_H
#define LAZYNET_CELLS_FTRL_H

#include "../cell_kind.h"

enum {
    LAZYNET_FTRL_L1,
    LAZYNET_FTRL_L2,
    LAZYNET_FTRL_PER_EXAMPLE,
    LAZYNET_FTRL_ALPHA,
    LAZYNET_FTRL_BETA
};
enum { LAZYNET_FTRL_INTERCEPT_Z, LAZYNET_FTRL_INTERCEPT_S, LAZYNET_FTRL_STEPS };

typedef struct {
    lazynet_cell_head head;
    double l1; /* k l1 */
    double alpha;
    double inverse_alpha;
    double damping;        /* beta + alpha k l2 */
    double free_damping;   /* of the intercept, which has no penalty: beta */
    double intercept_z;
    double intercept_s;
    double steps;          /* taken so far */
    double l1_of_one;      /* the strengths of the penalty on one example */
    double l2_of_one;
    int per_example;       /* whether the penalty counts once per example, or once in all */
} lazynet_ftrl;

LAZYNET_INLINE double lazynet_ftrl_weight_of(double z, double s, double l1, double alpha,
                                             double damping) {
    /* Not -soft: a weight of zero has no sign. */
    return (0.0 - lazynet_soft(z, l1)) * alpha / (damping + s);
}

LAZYNET_INLINE double lazynet_ftrl_weight(double z, double s, const lazynet_ftrl *rule) {
    return lazynet_ftrl_weight_of(z, s, rule->l1, rule->alpha, rule->damping);
}

/* One step of a cell whose weight is `weight` along the gradient g. */
LAZYNET_INLINE void lazynet_ftrl_moved(double *z, double *s, double weight, double g,
                                       const lazynet_ftrl *rule) {
    const double root = sqrt(*s * *s + g * g);
    const double pull = (root - *s) * rule->inverse_alpha * weight;
    *z = *z + (g - pull);
    *s = root;
}

/* The penalty of all examples at the present number of steps. */
LAZYNET_INLINE void lazynet_ftrl_set(lazynet_ftrl *rule) {
    const double k = rule->per_example && rule->steps > 1.0 ? rule->steps : 1.0;
    rule->l1 = k * rule->l1_of_one;
    rule->damping = rule->free_damping + rule->alpha * (k * rule->l2_of_one);
}

/* The intercept's weight; 0 where beta is 0 and no gradient has been seen. */
LAZYNET_INLINE double lazynet_ftrl_intercept(const lazynet_ftrl *rule) {
    if (!(rule->free_damping + rule->intercept_s > 0.0)) return 0.0;
    return lazynet_ftrl_weight_of(rule->intercept_z, rule->intercept_s, 0.0, rule->alpha,
                                  rule->free_damping);
}

LAZYNET_INLINE lazynet_refusal lazynet_ftrl_refusal(const double *settings, const double *fields,
                                                    int running) {
    const double alpha = settings[LAZYNET_FTRL_ALPHA];
    const double free_damping = settings[LAZYNET_FTRL_BETA] + alpha * 0.0;
    const double damping = settings[LAZYNET_FTRL_BETA] + alpha * settings[LAZYNET_FTRL_L2];
    (void)fields;
    if (!(alpha > 0.0)) return lazynet_refused("alpha must be positive, got {}", alpha, 0.0);
    if (!(damping >= 0.0))
        return lazynet_refused("beta + alpha * l2 must not be negative, got {}", damping, 0.0);
    if (!(free_damping >= 0.0))
        return lazynet_refused("beta must not be negative, got {}", free_damping, 0.0);
    if (running && !(damping > 0.0))
        return lazynet_refused("beta and l2 must not both be 0", 0.0, 0.0);
    return lazynet_accepted();
}

LAZYNET_INLINE void lazynet_ftrl_begin(void *given, const double *settings, const double *fields) {
    lazynet_ftrl *rule = (lazynet_ftrl *)given;
    rule->l1_of_one = settings[LAZYNET_FTRL_L1];
    rule->l2_of_one = settings[LAZYNET_FTRL_L2];
    rule->per_example = settings[LAZYNET_FTRL_PER_EXAMPLE] != 0.0;
    rule->alpha = settings[LAZYNET_FTRL_ALPHA];
    rule->inverse_alpha = 1.0 / rule->alpha;
    rule->free_damping = settings[LAZYNET_FTRL_BETA];
    rule->intercept_z = fields[LAZYNET_FTRL_INTERCEPT_Z];
    rule->intercept_s = fields[LAZYNET_FTRL_INTERCEPT_S];
    rule->steps = fields[LAZYNET_FTRL_STEPS];
    lazynet_ftrl_set(rule);
    rule->head.intercept = lazynet_ftrl_intercept(rule);
}

LAZYNET_INLINE void lazynet_ftrl_end(const void *given, double *fields) {
    const lazynet_ftrl *rule = (const lazynet_ftrl *)given;
    fields[LAZYNET_FTRL_INTERCEPT_Z] = rule->intercept_z;
    fields[LAZYNET_FTRL_INTERCEPT_S] = rule->intercept_s;
    fields[LAZYNET_FTRL_STEPS] = rule->steps;
}

LAZYNET_INLINE int lazynet_ftrl_advance(void *given, double move, double rate, double pull,
                                        double largest_cushion) {
    lazynet_ftrl *rule = (lazynet_ftrl *)given;
    (void)rate, (void)pull, (void)largest_cushion;
    rule->steps += 1.0;
    if (rule->per_example) lazynet_ftrl_set(rule);
    if (move == 0.0) return 0;
    lazynet_ftrl_moved(&rule->intercept_z, &rule->intercept_s, rule->head.intercept, move, rule);
    rule->head.intercept = lazynet_ftrl_intercept(rule);
    return 0;
}

LAZYNET_INLINE void lazynet_ftrl_read(const void *given, const double *cells, ptrdiff_t n,
                                      double *weights) {
    const lazynet_ftrl *rule = (const lazynet_ftrl *)given;
    for (ptrdiff_t j = 0; j < n; j++) {
        const double z = cells[2 * j], s = cells[2 * j + 1];
        /* Where beta and l2 are 0 and no gradient has been seen, the weight is 0. */
        weights[j] = rule->damping + s > 0.0 ? lazynet_ftrl_weight(z, s, rule) : 0.0;
    }
}

LAZYNET_CELL_KIND lazynet_kind_ftrl = {
    .name = "ftrl",
    .numbers = 2,
    .settings = {"l1", "l2", "per_example", "alpha", "beta"},
    .fields = {"intercept_z", "intercept_s", "steps"},
    .size = sizeof(lazynet_ftrl),
    .refusal = lazynet_ftrl_refusal,
    .begin = lazynet_ftrl_begin,
    .end = lazynet_ftrl_end,
    .advance = lazynet_ftrl_advance,
    .read = lazynet_ftrl_read,
};

#endif

#ifdef LAZYNET_REAL
#define LAZYNET_KIND ftrl
#include "../rows_pairs.inc"
#undef LAZYNET_KIND
#endif
