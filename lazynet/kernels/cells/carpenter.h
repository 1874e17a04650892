/* INEXACT for l2 > 0: Carpenter's lazy sparse SGD (Carpenter 2008), kept as a baseline for
 * comparisons.  Computes SGD, and in place of all the shrinks that a weight has missed one linear
 * step, at the rate of the step before the present one:
 *
 *     |w| <- [ |w| - missed rate (l1 + l2 |w|) ]+
 *
 * A cell is {w, seen}: the weight, and how many steps had been taken when it was brought current.
 * Every `period` steps all weights are brought current; a period of 0 means never.  The rule is
 * exact with period 1, and without l2 at a constant rate.
 *
 * Property: equal to lazynet.reference.carpenter.PlainCarpenter after every step
 * (tests/exact/test_rules_with_state.py).
 */
#ifndef LAZYNET_CELLS_CARPENTER_H
#define LAZYNET_CELLS_CARPENTER_H

#include "../cell_kind.h"

enum { LAZYNET_CARPENTER_L1, LAZYNET_CARPENTER_L2, LAZYNET_CARPENTER_PERIOD };
enum { LAZYNET_CARPENTER_STEPS, LAZYNET_CARPENTER_RATE, LAZYNET_CARPENTER_INTERCEPT };

typedef struct {
    lazynet_cell_head head;
    double l1;
    double l2;
    double period;
    double steps; /* taken so far */
    double rate;  /* of the last step */
} lazynet_carpenter;

LAZYNET_INLINE double lazynet_carpenter_weight(double w, double seen,
                                               const lazynet_carpenter *rule) {
    const double size = fabs(w), missed = (rule->steps - seen) * rule->rate;
    const double left = size - missed * (rule->l1 + rule->l2 * size);
    return copysign(left <= 0.0 ? 0.0 : left, w); /* NaN stays NaN */
}

/* w <- w - g, seen now. */
LAZYNET_INLINE void lazynet_carpenter_moved(double *w, double *seen, double weight, double g,
                                            const lazynet_carpenter *rule) {
    *w = weight - g;
    *seen = rule->steps;
}

LAZYNET_INLINE lazynet_refusal lazynet_carpenter_refusal(const double *settings,
                                                         const double *fields, int running) {
    (void)settings, (void)fields, (void)running;
    return lazynet_accepted();
}

LAZYNET_INLINE void lazynet_carpenter_begin(void *given, const double *settings,
                                            const double *fields) {
    lazynet_carpenter *rule = (lazynet_carpenter *)given;
    rule->l1 = settings[LAZYNET_CARPENTER_L1];
    rule->l2 = settings[LAZYNET_CARPENTER_L2];
    rule->period = settings[LAZYNET_CARPENTER_PERIOD];
    rule->steps = fields[LAZYNET_CARPENTER_STEPS];
    rule->rate = fields[LAZYNET_CARPENTER_RATE];
    rule->head.intercept = fields[LAZYNET_CARPENTER_INTERCEPT];
}

LAZYNET_INLINE void lazynet_carpenter_end(const void *given, double *fields) {
    const lazynet_carpenter *rule = (const lazynet_carpenter *)given;
    fields[LAZYNET_CARPENTER_STEPS] = rule->steps;
    fields[LAZYNET_CARPENTER_RATE] = rule->rate;
    fields[LAZYNET_CARPENTER_INTERCEPT] = rule->head.intercept;
}

LAZYNET_INLINE int lazynet_carpenter_advance(void *given, double move, double rate, double pull,
                                             double largest_cushion) {
    lazynet_carpenter *rule = (lazynet_carpenter *)given;
    (void)pull, (void)largest_cushion;
    rule->head.intercept -= move;
    rule->steps += 1.0;
    rule->rate = rate;
    return rule->period > 0.0 && fmod(rule->steps, rule->period) == 0.0;
}

LAZYNET_INLINE void lazynet_carpenter_read(const void *given, const double *cells, ptrdiff_t n,
                                           double *weights) {
    const lazynet_carpenter *rule = (const lazynet_carpenter *)given;
    for (ptrdiff_t j = 0; j < n; j++)
        weights[j] = lazynet_carpenter_weight(cells[2 * j], cells[2 * j + 1], rule);
}

LAZYNET_CELL_KIND lazynet_kind_carpenter = {
    .name = "carpenter",
    .numbers = 2,
    .settings = {"l1", "l2", "period"},
    .fields = {"steps", "rate", "intercept"},
    .size = sizeof(lazynet_carpenter),
    .scheduled = 1,
    /* Catching up in two parts gives another weight than catching up at once, so a row's weights
     * are brought current also where the example moves nothing. */
    .updates_always = 1,
    .frozen_intercept = 1,
    .refusal = lazynet_carpenter_refusal,
    .begin = lazynet_carpenter_begin,
    .end = lazynet_carpenter_end,
    .advance = lazynet_carpenter_advance,
    .read = lazynet_carpenter_read,
};

#endif

#ifdef LAZYNET_REAL
#define LAZYNET_KIND carpenter
#include "../rows_pairs.inc"
#undef LAZYNET_KIND
#endif
