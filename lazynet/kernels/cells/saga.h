/* SAGA with an elastic net (Defazio, Bach & Lacoste-Julien 2014).  The slope of every row at its
 * last visit is remembered.  A step on the row x, one of n, whose slope has since grown by `change`,
 * is
 *
 *     w <- prox( w - alpha (change x + m) )     m <- m + change x / n
 *
 * where m is the mean of the remembered gradients and prox(v) = soft(v, alpha l1) / (1 + alpha l2).
 * A cell is {w, m, psi}: the weight, its mean, and how many steps had been taken when it was
 * stored.  A weight that no row touches takes the same step every time,
 *
 *     w <- soft(w - d, theta) / (1 + alpha l2)      d = alpha m      theta = alpha l1
 *
 * While it stays on its side of zero (s = +1 or -1), |w| loses q = s d + theta in each step and is
 * then divided; k steps are one:
 *
 *     |w| <- |w| + (|w| + q / (alpha l2)) expm1(-k log1p(alpha l2))     without l2:  |w| - k q
 *
 * With q <= 0 this holds for any k.  With q > 0 the weight meets zero, and the formula is negative
 * from then on.  If |d| <= theta the weight then stays at zero.  Otherwise d carries it to the other
 * side, where its q is theta - |d| < 0, so that it never comes back: the weight is taken by the
 * formula to just before zero, by single steps across, and by the formula from there.  Each of
 * these is a constant number of operations, whatever k is.
 *
 * The intercept is a weight whose value is 1 in every row, without a penalty.
 *
 * The dot product brings a row's weights to the present and keeps them in scratch memory; the
 * update takes them from there.
 *
 * Property: equal to lazynet.reference.saga.DenseSAGA after every step
 * (tests/exact/test_rules_with_state.py, and over long gaps tests/exact/test_saga.py).
 */
#ifndef LAZYNET_CELLS_SAGA_H
#define LAZYNET_CELLS_SAGA_H

#include "../cell_kind.h"

/* An alpha l2 below this changes no digit of a weight in 2^53 steps, and its inverse could overflow
 * a product. */
#define LAZYNET_SAGA_LEAST_DECAY 0x1p-500

#define LAZYNET_SAGA_MOST_STEPS 9007199254740992.0 /* 2^53: a double counts them one by one */

enum { LAZYNET_SAGA_L1, LAZYNET_SAGA_L2, LAZYNET_SAGA_ALPHA };
enum { LAZYNET_SAGA_INTERCEPT, LAZYNET_SAGA_INTERCEPT_MEAN, LAZYNET_SAGA_STEPS };

/* The constants of the rule.  The row loops copy them, so that they stay in registers. */
typedef struct {
    double alpha;
    double theta;   /* alpha l1 */
    double divisor; /* 1 + alpha l2 */
    double rate;    /* log1p(alpha l2), or 0 without an l2 penalty */
    double inverse; /* 1 / (alpha l2), or 0 without an l2 penalty */
} lazynet_saga_constants;

typedef struct {
    lazynet_cell_head head;
    lazynet_saga_constants constants;
    double intercept_mean;
    double steps; /* taken so far */
} lazynet_saga;

/* w <- prox(w - d), one step. */
LAZYNET_INLINE double lazynet_saga_step(double w, double d, const lazynet_saga_constants *rule) {
    return lazynet_soft(w - d, rule->theta) / rule->divisor;
}

/* The size of a weight after k steps in which it loses q and stays on its side. */
LAZYNET_INLINE double lazynet_saga_size(double size, double q, double k,
                                        const lazynet_saga_constants *rule) {
    if (!(rule->rate > 0.0)) return size - k * q;
    const double x = -(k * rule->rate);
    const int small = x >= -LAZYNET_SMALL_EXPONENT && x <= 0.0;
    return size + (size + q * rule->inverse) * (small ? lazynet_small_expm1(x) : expm1(x));
}

/* A weight that crosses zero within the next k steps, k steps later. */
static double lazynet_saga_crossed(double w, double d, double k,
                                   const lazynet_saga_constants *rule) {
    const double side = copysign(1.0, w), size = fabs(w), q = side * d + rule->theta;
    /* The formula is zero after this many steps. */
    const double whole =
        rule->rate > 0.0 ? log1p(size / (q * rule->inverse)) / rule->rate : size / q;
    double ahead = floor(whole) - 1.0;
    ahead = ahead < k ? ahead : k;
    ahead = ahead > 0.0 ? ahead : 0.0;
    const double before = lazynet_saga_size(size, q, ahead, rule);
    w = side * (before > 0.0 ? before : 0.0);
    k -= ahead;
    /* Two steps lead across; a third where `whole` was rounded. */
    for (int n = 0; n < 3 && k > 0.0 && side * w > 0.0; n++, k -= 1.0)
        w = lazynet_saga_step(w, d, rule);
    if (!(k > 0.0)) return w;
    const double beyond = side * w < 0.0 ? fabs(w) : 0.0;
    return -side * lazynet_saga_size(beyond, rule->theta - fabs(d), k, rule);
}

/* A weight after k steps in which no row has touched it. */
LAZYNET_INLINE double lazynet_saga_weight(double w, double mean, double k,
                                          const lazynet_saga_constants *rule) {
    const double d = rule->alpha * mean, size = fabs(w);
    if (size == 0.0 && fabs(d) <= rule->theta) return 0.0; /* most weights, under an l1 penalty */
    /* From zero a weight leaves against d. */
    const double side = size > 0.0 ? copysign(1.0, w) : copysign(1.0, -d);
    const double left = lazynet_saga_size(size, side * d + rule->theta, k, rule);
    if (left < 0.0 && fabs(d) > rule->theta) return lazynet_saga_crossed(w, d, k, rule);
    return left <= 0.0 ? 0.0 : side * left; /* NaN stays NaN */
}

LAZYNET_INLINE lazynet_refusal lazynet_saga_refusal(const double *settings, const double *fields,
                                                    int running) {
    const double alpha = settings[LAZYNET_SAGA_ALPHA], steps = fields[LAZYNET_SAGA_STEPS];
    if (!(alpha > 0.0 || (alpha == 0.0 && !running)))
        return lazynet_refused("alpha must be positive, got {}", alpha, 0.0);
    if (!(steps >= 0.0 && steps <= LAZYNET_SAGA_MOST_STEPS))
        return lazynet_refused("fields: steps must lie between 0 and {:.0f}, got {}",
                               LAZYNET_SAGA_MOST_STEPS, steps);
    return lazynet_accepted();
}

LAZYNET_INLINE void lazynet_saga_begin(void *given, const double *settings, const double *fields) {
    lazynet_saga *rule = (lazynet_saga *)given;
    const double alpha = settings[LAZYNET_SAGA_ALPHA], decay = alpha * settings[LAZYNET_SAGA_L2];
    const int decays = decay >= LAZYNET_SAGA_LEAST_DECAY;
    rule->constants.alpha = alpha;
    rule->constants.theta = alpha * settings[LAZYNET_SAGA_L1];
    rule->constants.divisor = 1.0 + decay;
    rule->constants.rate = decays ? log1p(decay) : 0.0;
    rule->constants.inverse = decays ? 1.0 / decay : 0.0;
    rule->head.intercept = fields[LAZYNET_SAGA_INTERCEPT];
    rule->intercept_mean = fields[LAZYNET_SAGA_INTERCEPT_MEAN];
    rule->steps = fields[LAZYNET_SAGA_STEPS];
}

LAZYNET_INLINE void lazynet_saga_end(const void *given, double *fields) {
    const lazynet_saga *rule = (const lazynet_saga *)given;
    fields[LAZYNET_SAGA_INTERCEPT] = rule->head.intercept;
    fields[LAZYNET_SAGA_INTERCEPT_MEAN] = rule->intercept_mean;
    fields[LAZYNET_SAGA_STEPS] = rule->steps;
}

LAZYNET_INLINE int lazynet_saga_advance(void *given, double change, double rate, double pull,
                                        double largest_cushion) {
    lazynet_saga *rule = (lazynet_saga *)given;
    (void)rate, (void)pull, (void)largest_cushion;
    rule->steps += 1.0;
    rule->head.intercept -= rule->constants.alpha * (change + rule->intercept_mean);
    rule->intercept_mean += change / rule->head.n_rows;
    return 0;
}

LAZYNET_INLINE void lazynet_saga_read(const void *given, const double *cells, ptrdiff_t n,
                                      double *weights) {
    const lazynet_saga *rule = (const lazynet_saga *)given;
    for (ptrdiff_t j = 0; j < n; j++) {
        const double *cell = cells + 3 * j;
        weights[j] =
            lazynet_saga_weight(cell[0], cell[1], rule->steps - cell[2], &rule->constants);
    }
}

LAZYNET_CELL_KIND lazynet_kind_saga = {
    .name = "saga",
    .numbers = 3,
    .settings = {"l1", "l2", "alpha"},
    .fields = {"intercept", "intercept_mean", "steps"},
    .size = sizeof(lazynet_saga),
    .remembers = 1,
    .scratch = 1, /* the weight */
    .refusal = lazynet_saga_refusal,
    .begin = lazynet_saga_begin,
    .end = lazynet_saga_end,
    .advance = lazynet_saga_advance,
    .read = lazynet_saga_read,
};

#endif

#ifdef LAZYNET_REAL
/* sum over the row of x_j w_j, the weights as of now, which are kept for the update. */
static double LAZYNET_TYPED(saga_dot)(const lazynet_row *row, const lazynet_row *next,
                                      const double *cells, const void *given) {
    const lazynet_saga_constants rule = ((const lazynet_saga *)given)->constants;
    const double now = ((const lazynet_saga *)given)->steps;
    double *kept = (double *)((const lazynet_saga *)given)->head.scratch.bytes;
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    const LAZYNET_TYPED(row) coming = LAZYNET_TYPED(typed_for_fetching)(next);
    const ptrdiff_t shorter = at.length < coming.length ? at.length : coming.length;
    double lanes[4] = {0};
    ptrdiff_t k = 0;
    for (; k < at.length; k++) {
        const double *cell = cells + 3 * (ptrdiff_t)at.columns[k];
        if (k < shorter) LAZYNET_PREFETCH_WRITE(cells + 3 * (ptrdiff_t)coming.columns[k]);
        kept[k] = lazynet_saga_weight(cell[0], cell[1], now - cell[2], &rule);
        lanes[k % 4] += kept[k] * (double)at.values[k];
    }
    for (k = shorter; k < coming.length; k++)
        LAZYNET_PREFETCH_WRITE(cells + 3 * (ptrdiff_t)coming.columns[k]);
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

/* The step on the row whose weights `saga_dot` has just put into scratch memory. */
static void LAZYNET_TYPED(saga_update)(const lazynet_row *row, double *cells, const void *given,
                                       double change) {
    const lazynet_saga_constants rule = ((const lazynet_saga *)given)->constants;
    const double now = ((const lazynet_saga *)given)->steps + 1.0;
    const double n_rows = ((const lazynet_saga *)given)->head.n_rows;
    const double *kept = (const double *)((const lazynet_saga *)given)->head.scratch.bytes;
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    for (ptrdiff_t k = 0; k < at.length; k++) {
        double *cell = cells + 3 * (ptrdiff_t)at.columns[k];
        const double g = change * (double)at.values[k];
        cell[0] = lazynet_saga_step(kept[k], rule.alpha * (g + cell[1]), &rule);
        cell[1] += g / n_rows;
        cell[2] = now;
    }
}
#endif
