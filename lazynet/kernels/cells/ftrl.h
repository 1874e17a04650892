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
 * Where the rates follow the data, alpha and beta count in units of the data: alpha stands for
 * alpha / m and beta for beta m, m the mean size of the rows seen so far (lazynet_scale), and the
 * intercept has an alpha and a beta of its own.  z does not depend on alpha: without a penalty, an
 * alpha that is u times as large from the first step on makes every w u times as large and
 * (s' - s) / alpha times w the same.  A new alpha therefore multiplies the weights by alpha_new /
 * alpha_old and changes no cell.
 *
 * Property: equal to lazynet.reference.ftrl.DenseFTRL after every step
 * (tests/exact/test_rules_with_state.py).
 */
#ifndef LAZYNET_CELLS_FTRL_H
#define LAZYNET_CELLS_FTRL_H

#include "../cell_kind.h"
#include "../cell_scale.h"

enum {
    LAZYNET_FTRL_L1,
    LAZYNET_FTRL_L2,
    LAZYNET_FTRL_PER_EXAMPLE,
    LAZYNET_FTRL_ALPHA,
    LAZYNET_FTRL_BETA,
    LAZYNET_FTRL_FREE_ALPHA, /* of the intercept where the rates follow the data; 0: they do not */
    LAZYNET_FTRL_FREE_BETA
};
enum { LAZYNET_FTRL_INTERCEPT_Z, LAZYNET_FTRL_INTERCEPT_S, LAZYNET_FTRL_STEPS, LAZYNET_FTRL_SCALE };

typedef struct {
    lazynet_cell_head head;
    double l1; /* k l1 */
    double alpha;
    double inverse_alpha;
    double beta;
    double damping;        /* beta + alpha k l2 */
    double free_alpha;     /* of the intercept */
    double free_damping;   /* of the intercept, which has no penalty: its beta */
    double intercept_z;
    double intercept_s;
    double steps;          /* taken so far */
    double l1_of_one;      /* the strengths of the penalty on one example */
    double l2_of_one;
    double given_alpha;    /* alpha and beta in units of the data, where they follow the data */
    double given_beta;
    lazynet_scale scale;
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

/* One step of {z, s}, whose weight is `weight`, along the gradient g. */
LAZYNET_INLINE void lazynet_ftrl_step(double *z, double *s, double weight, double g,
                                      double inverse_alpha) {
    const double root = sqrt(*s * *s + g * g);
    const double pull = (root - *s) * inverse_alpha * weight;
    *z = *z + (g - pull);
    *s = root;
}

LAZYNET_INLINE void lazynet_ftrl_moved(double *z, double *s, double weight, double g,
                                       const lazynet_ftrl *rule) {
    lazynet_ftrl_step(z, s, weight, g, rule->inverse_alpha);
}

/* The penalty of all examples at the present number of steps. */
LAZYNET_INLINE void lazynet_ftrl_set(lazynet_ftrl *rule) {
    const double k = rule->per_example && rule->steps > 1.0 ? rule->steps : 1.0;
    rule->l1 = k * rule->l1_of_one;
    rule->damping = rule->beta + rule->alpha * (k * rule->l2_of_one);
}

/* alpha and beta at the present scale. */
LAZYNET_INLINE void lazynet_ftrl_set_rates(lazynet_ftrl *rule) {
    const double unit = lazynet_scale_unit(&rule->scale);
    rule->alpha = rule->head.measures ? rule->given_alpha / unit : rule->given_alpha;
    rule->beta = rule->head.measures ? rule->given_beta * unit : rule->given_beta;
    rule->inverse_alpha = 1.0 / rule->alpha;
    lazynet_ftrl_set(rule);
}

/* The intercept's weight; 0 where beta is 0 and no gradient has been seen. */
LAZYNET_INLINE double lazynet_ftrl_intercept(const lazynet_ftrl *rule) {
    if (!(rule->free_damping + rule->intercept_s > 0.0)) return 0.0;
    return lazynet_ftrl_weight_of(rule->intercept_z, rule->intercept_s, 0.0,
                                  rule->free_alpha, rule->free_damping);
}

LAZYNET_INLINE lazynet_refusal lazynet_ftrl_refusal(const double *settings, const double *fields,
                                                    int running) {
    const double alpha = settings[LAZYNET_FTRL_ALPHA];
    const double free_damping = settings[LAZYNET_FTRL_BETA] + alpha * 0.0;
    const double free_alpha = settings[LAZYNET_FTRL_FREE_ALPHA];
    const double free_beta = settings[LAZYNET_FTRL_FREE_BETA];
    const double damping = settings[LAZYNET_FTRL_BETA] + alpha * settings[LAZYNET_FTRL_L2];
    if (!(alpha > 0.0)) return lazynet_refused("alpha must be positive, got {}", alpha, 0.0);
    if (!(damping >= 0.0))
        return lazynet_refused("beta + alpha * l2 must not be negative, got {}", damping, 0.0);
    if (!(free_damping >= 0.0))
        return lazynet_refused("beta must not be negative, got {}", free_damping, 0.0);
    if (!(free_alpha >= 0.0 && free_beta >= 0.0))
        return lazynet_refused("free_alpha and free_beta must not be negative, got {} and {}",
                               free_alpha, free_beta);
    if (running && !(damping > 0.0))
        return lazynet_refused("beta and l2 must not both be 0", 0.0, 0.0);
    return lazynet_scale_refusal(fields + LAZYNET_FTRL_SCALE);
}

LAZYNET_INLINE void lazynet_ftrl_begin(void *given, const double *settings, const double *fields) {
    lazynet_ftrl *rule = (lazynet_ftrl *)given;
    rule->l1_of_one = settings[LAZYNET_FTRL_L1];
    rule->l2_of_one = settings[LAZYNET_FTRL_L2];
    rule->per_example = settings[LAZYNET_FTRL_PER_EXAMPLE] != 0.0;
    rule->given_alpha = settings[LAZYNET_FTRL_ALPHA];
    rule->given_beta = settings[LAZYNET_FTRL_BETA];
    rule->head.measures = settings[LAZYNET_FTRL_FREE_ALPHA] != 0.0;
    rule->free_alpha = settings[rule->head.measures ? LAZYNET_FTRL_FREE_ALPHA : LAZYNET_FTRL_ALPHA];
    rule->free_damping =
        settings[rule->head.measures ? LAZYNET_FTRL_FREE_BETA : LAZYNET_FTRL_BETA];
    rule->intercept_z = fields[LAZYNET_FTRL_INTERCEPT_Z];
    rule->intercept_s = fields[LAZYNET_FTRL_INTERCEPT_S];
    rule->steps = fields[LAZYNET_FTRL_STEPS];
    lazynet_scale_begin(&rule->scale, fields + LAZYNET_FTRL_SCALE);
    lazynet_ftrl_set_rates(rule);
    rule->head.intercept = lazynet_ftrl_intercept(rule);
}

LAZYNET_INLINE void lazynet_ftrl_end(const void *given, double *fields) {
    const lazynet_ftrl *rule = (const lazynet_ftrl *)given;
    fields[LAZYNET_FTRL_INTERCEPT_Z] = rule->intercept_z;
    fields[LAZYNET_FTRL_INTERCEPT_S] = rule->intercept_s;
    fields[LAZYNET_FTRL_STEPS] = rule->steps;
    lazynet_scale_end(&rule->scale, fields + LAZYNET_FTRL_SCALE);
}

LAZYNET_INLINE int lazynet_ftrl_measure(void *given, double size) {
    lazynet_ftrl *rule = (lazynet_ftrl *)given;
    const lazynet_scale_change change = lazynet_scale_measure(&rule->scale, size);
    if (change == LAZYNET_SCALE_CHANGED) lazynet_ftrl_set_rates(rule);
    return change == LAZYNET_SCALE_ASKS;
}

LAZYNET_INLINE int lazynet_ftrl_advance(void *given, double move, double rate, double pull,
                                        double largest_cushion) {
    lazynet_ftrl *rule = (lazynet_ftrl *)given;
    (void)rate, (void)pull, (void)largest_cushion;
    rule->steps += 1.0;
    if (rule->per_example) lazynet_ftrl_set(rule);
    if (move == 0.0) return 0;
    lazynet_ftrl_step(&rule->intercept_z, &rule->intercept_s, rule->head.intercept, move,
                      1.0 / rule->free_alpha);
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
    .settings = {"l1", "l2", "per_example", "alpha", "beta", "free_alpha", "free_beta"},
    .fields = {"intercept_z", "intercept_s", "steps", LAZYNET_SCALE_FIELDS},
    .size = sizeof(lazynet_ftrl),
    .refusal = lazynet_ftrl_refusal,
    .begin = lazynet_ftrl_begin,
    .end = lazynet_ftrl_end,
    .measure = lazynet_ftrl_measure,
    .advance = lazynet_ftrl_advance,
    .read = lazynet_ftrl_read,
};

#endif

#ifdef LAZYNET_REAL
#define LAZYNET_KIND ftrl
#include "../rows_pairs.inc"
#undef LAZYNET_KIND
#endif
