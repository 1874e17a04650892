/* AdaGrad with an elastic net, in the composite form of Duchi, Hazan & Singer (2011): a rate per
 * coordinate, constant between two touches.  A cell is {w, s, c, psi}, 32 bytes:
 *
 *     w    the weight, as of step psi
 *     s    the root of the sum of the squared gradients; the rate is eta = alpha / (delta + s)
 *     c    what the weight loses in one shrink: log1p(eta l2), or eta itself without l2
 *     psi  how many steps had been taken when w was stored
 *
 * The n shrinks that a weight has missed, all at the rate eta, are one:
 *
 *     |w| <- [ |w| + (|w| + l1 / l2) expm1(-n c) ]+        without l2:  |w| <- [ |w| - n c l1 ]+
 *
 * after which the step on the example is s <- sqrt(s^2 + g^2), w <- w - alpha / (delta + s) g.  Where
 * s is 0 before a gradient that is not, s begins at initial |x_j| times the importance of the row.
 * The intercept is a coordinate without penalties, and its s begins at 0.
 *
 * A rate that follows the data is alpha = c / m, with m the mean of ||x||_1 over the rows so far, the
 * present row included, and delta counts in units of m: multiplying X by a number divides the
 * weights by it.  m is computed anew before the steps 0, 1, 2, 4, 8, ... (counted from the first row
 * that is measured on), if it has changed by more than a sixteenth of itself, and at the first row
 * that is not empty.  A sweep then brings every weight
 * current at the old rates and multiplies it by alpha_new / alpha_old: without this the first rows
 * of a stream would decide on the weights of the features that they touch.  The intercept has the
 * rate 1 / (delta + s), which follows nothing.
 *
 * The dot product brings a row's weights to the present and keeps them, and s, in scratch memory;
 * the update takes both from there, and every cell is written once, whole.
 *
 * Property: equal to lazynet.reference.adagrad.DenseAdaGrad after every step
 * (tests/exact/test_rules_with_state.py).
 */
#ifndef LAZYNET_CELLS_ADAGRAD_H
#define LAZYNET_CELLS_ADAGRAD_H

#include "../cell_scale.h"
#include "../elementary.h"

/* Up to this rate the first term left out of the series of log1p is below the rounding of the
 * others. */
#define LAZYNET_ADAGRAD_SMALL_LOSS (1.0 / 4096)

#define LAZYNET_ADAGRAD_MOST_STEPS 9007199254740992.0 /* 2^53: a double counts them one by one */

/* A mean that has changed by less of itself stays what it was. */
#define LAZYNET_ADAGRAD_TOLERANCE (1.0 / 16)

/* FOLLOWS is not 0 where the rates follow the data; ALPHA is then c. */
enum {
    LAZYNET_ADAGRAD_L1,
    LAZYNET_ADAGRAD_L2,
    LAZYNET_ADAGRAD_ALPHA,
    LAZYNET_ADAGRAD_DELTA,
    LAZYNET_ADAGRAD_FOLLOWS,
    LAZYNET_ADAGRAD_INITIAL
};
enum {
    LAZYNET_ADAGRAD_INTERCEPT,
    LAZYNET_ADAGRAD_INTERCEPT_S,
    LAZYNET_ADAGRAD_STEPS,
    LAZYNET_ADAGRAD_ROWS,
    LAZYNET_ADAGRAD_SIZES,
    LAZYNET_ADAGRAD_MEAN,
    LAZYNET_ADAGRAD_WAITING
};

/* The constants of the rule.  The row loops copy them, so that they stay in registers. */
typedef struct {
    double l2;
    double alpha;
    double delta;
    double decays; /* 1 with an l2 penalty, 0 without */
    double ratio;  /* l1 / l2, or 0 without an l2 penalty */
    double linear; /* l1 without an l2 penalty, 0 with one */
    double initial; /* times |x_j| and the importance of the row: where s begins */
    int follows;   /* whether the rates follow the data */
} lazynet_adagrad_constants;

typedef struct {
    lazynet_cell_head head;
    lazynet_adagrad_constants constants;
    double intercept_alpha;
    double intercept_delta;
    double intercept_s;
    double steps;   /* taken so far */
    double rows;    /* measured so far */
    double sizes;   /* the sum of their ||x||_1 */
    double mean;    /* m, 0 before the first row that is not empty */
    double waiting; /* 1 where the row of the next step is measured and a sweep was asked for */
    double given_alpha;
    double given_delta;
} lazynet_adagrad;

/* alpha and delta of the weights at the present m. */
LAZYNET_INLINE void lazynet_adagrad_set(lazynet_adagrad *rule) {
    const double mean = rule->head.measures && rule->mean > 0.0 ? rule->mean : 1.0;
    rule->constants.alpha = rule->given_alpha / mean;
    rule->constants.delta = rule->given_delta * mean;
}

/* What a coordinate of AdaGrad loses in one shrink: log1p(eta l2), or the rate without l2. */
LAZYNET_INLINE double lazynet_adagrad_decay(double eta, const lazynet_adagrad_constants *rule) {
    return rule->decays > 0.0 ? log1p(eta * rule->l2) : eta;
}

/* A weight after a number of missed shrinks: |w| + (|w| + l1 / l2) expm1(-missed c), or
 * |w| - missed c l1 without l2. */
LAZYNET_INLINE double lazynet_adagrad_weight(double w, double c, double missed,
                                             const lazynet_adagrad_constants *rule) {
    if (w == 0.0) return 0.0;
    const double size = fabs(w), due = missed * c;
    /* expm1(-40) is -1 to the last digit, and nothing is left. */
    if (due * rule->decays > 40.0) return 0.0;
    const double lost = expm1(-(due * rule->decays));
    const double left = size + (size + rule->ratio) * lost - due * rule->linear;
    return left <= 0.0 ? 0.0 : copysign(left, w); /* NaN stays NaN */
}

LAZYNET_INLINE lazynet_refusal lazynet_adagrad_refusal(const double *settings,
                                                       const double *fields, int running) {
    const double alpha = settings[LAZYNET_ADAGRAD_ALPHA], delta = settings[LAZYNET_ADAGRAD_DELTA];
    const double initial = settings[LAZYNET_ADAGRAD_INITIAL];
    const double steps = fields[LAZYNET_ADAGRAD_STEPS];
    (void)running;
    if (!(alpha > 0.0 && delta > 0.0))
        return lazynet_refused("alpha and delta must be positive, got {} and {}", alpha, delta);
    if (!(initial >= 0.0))
        return lazynet_refused("initial must not be negative, got {}", initial, 0.0);
    if (!(steps >= 0.0 && steps <= LAZYNET_ADAGRAD_MOST_STEPS))
        return lazynet_refused("fields: steps must lie between 0 and {:.0f}, got {}",
                               LAZYNET_ADAGRAD_MOST_STEPS, steps);
    /* rows, sizes and mean stand as cell_scale.h has them. */
    return lazynet_scale_refusal(fields + LAZYNET_ADAGRAD_ROWS);
}

LAZYNET_INLINE void lazynet_adagrad_begin(void *given, const double *settings,
                                          const double *fields) {
    lazynet_adagrad *rule = (lazynet_adagrad *)given;
    const double l1 = settings[LAZYNET_ADAGRAD_L1], l2 = settings[LAZYNET_ADAGRAD_L2];
    rule->constants.l2 = l2;
    rule->head.measures = rule->constants.follows = settings[LAZYNET_ADAGRAD_FOLLOWS] != 0.0;
    rule->given_alpha = settings[LAZYNET_ADAGRAD_ALPHA];
    rule->given_delta = settings[LAZYNET_ADAGRAD_DELTA];
    rule->intercept_alpha = rule->head.measures ? 1.0 : rule->given_alpha;
    rule->intercept_delta = rule->given_delta;
    rule->constants.decays = l2 > 0.0 ? 1.0 : 0.0;
    rule->constants.ratio = l2 > 0.0 ? l1 / l2 : 0.0;
    rule->constants.linear = l2 > 0.0 ? 0.0 : l1;
    rule->constants.initial = settings[LAZYNET_ADAGRAD_INITIAL];
    rule->head.wants_values = rule->constants.initial > 0.0;
    rule->head.importance = 1.0;
    rule->head.intercept = fields[LAZYNET_ADAGRAD_INTERCEPT];
    rule->intercept_s = fields[LAZYNET_ADAGRAD_INTERCEPT_S];
    rule->steps = fields[LAZYNET_ADAGRAD_STEPS];
    rule->rows = fields[LAZYNET_ADAGRAD_ROWS];
    rule->sizes = fields[LAZYNET_ADAGRAD_SIZES];
    rule->mean = fields[LAZYNET_ADAGRAD_MEAN];
    rule->waiting = fields[LAZYNET_ADAGRAD_WAITING];
    lazynet_adagrad_set(rule);
}

LAZYNET_INLINE void lazynet_adagrad_end(const void *given, double *fields) {
    const lazynet_adagrad *rule = (const lazynet_adagrad *)given;
    fields[LAZYNET_ADAGRAD_INTERCEPT] = rule->head.intercept;
    fields[LAZYNET_ADAGRAD_INTERCEPT_S] = rule->intercept_s;
    fields[LAZYNET_ADAGRAD_STEPS] = rule->steps;
    fields[LAZYNET_ADAGRAD_ROWS] = rule->rows;
    fields[LAZYNET_ADAGRAD_SIZES] = rule->sizes;
    fields[LAZYNET_ADAGRAD_MEAN] = rule->mean;
    fields[LAZYNET_ADAGRAD_WAITING] = rule->waiting;
}

LAZYNET_INLINE int lazynet_adagrad_measure(void *given, double size) {
    lazynet_adagrad *rule = (lazynet_adagrad *)given;
    if (rule->waiting != 0.0) { /* the call before has counted this row */
        rule->waiting = 0.0;
        return 0;
    }
    const int due = lazynet_scale_is_due(rule->rows) || rule->mean == 0.0;
    rule->rows += 1.0;
    rule->sizes += size;
    if (!due || rule->sizes == 0.0) return 0;
    /* So that long runs on rows that are alike need no sweep, which visits every weight. */
    const double change = fabs(lazynet_scale_mean(rule->sizes, rule->rows) - rule->mean);
    rule->waiting = change > rule->mean * LAZYNET_ADAGRAD_TOLERANCE;
    return rule->waiting != 0.0;
}

LAZYNET_INLINE int lazynet_adagrad_advance(void *given, double move, double rate, double pull,
                                           double largest_cushion) {
    lazynet_adagrad *rule = (lazynet_adagrad *)given;
    (void)rate, (void)pull, (void)largest_cushion;
    rule->steps += 1.0;
    if (move == 0.0) return 0;
    rule->intercept_s = sqrt(rule->intercept_s * rule->intercept_s + move * move);
    rule->head.intercept -=
        rule->intercept_alpha / (rule->intercept_delta + rule->intercept_s) * move;
    return 0;
}

/* `lazynet_adagrad_weight` without a branch, for rates that follow the data; `decays` says whether
 * there is an l2 penalty.  Rates that were given use expm1 and log1p of the C library. */
LAZYNET_INLINE double lazynet_adagrad_followed(double w, double c, double missed,
                                               const lazynet_adagrad_constants *rule, int decays) {
    const double size = fabs(w), due = missed * c, x = size > 0.0 ? -due : 0.0;
    double left = size - due * rule->linear;
    if (decays) left = size + (size + rule->ratio) * lazynet_expm1_of_negative(x);
    return copysign(left <= 0.0 ? 0.0 : left, w);
}

/* log1p(y) for y up to LAZYNET_ADAGRAD_SMALL_LOSS. */
LAZYNET_INLINE double lazynet_adagrad_small_log1p(double y) {
    return y - y * y * (1.0 / 2 - y * (1.0 / 3 - y * (1.0 / 4 - y * (1.0 / 5))));
}

/* c of eight cells whose roots are `s`, by the series where it is exact enough. */
LAZYNET_INLINE void lazynet_adagrad_followed_decays(const double *s,
                                                    const lazynet_adagrad_constants *rule,
                                                    double *c) {
    const double alpha = rule->alpha, delta = rule->delta, l2 = rule->l2;
#pragma omp simd
    for (int lane = 0; lane < LAZYNET_LANES; lane++) {
        const double y = alpha / (delta + s[lane]) * l2;
        const double series = lazynet_adagrad_small_log1p(y), full = lazynet_log1p(y);
        c[lane] = y <= LAZYNET_ADAGRAD_SMALL_LOSS ? series : full;
    }
}

/* What a sweep does that computes alpha anew: from the constants `old` to `now`, at `steps`, with
 * weights that are multiplied by `factor`. */
typedef struct {
    lazynet_adagrad_constants old, now;
    double steps, factor;
} lazynet_adagrad_renewal;

LAZYNET_INLINE void lazynet_adagrad_renew_eight(double *cells, const lazynet_adagrad_renewal *to,
                                                int decays) {
    const double alpha = to->now.alpha, delta = to->now.delta, l2 = to->now.l2;
    const double steps = to->steps, factor = to->factor;
    double w[LAZYNET_LANES], s[LAZYNET_LANES], c[LAZYNET_LANES], psi[LAZYNET_LANES], most = 0.0;
    for (int lane = 0; lane < LAZYNET_LANES; lane++) {
        w[lane] = cells[4 * lane], s[lane] = cells[4 * lane + 1];
        c[lane] = cells[4 * lane + 2], psi[lane] = cells[4 * lane + 3];
    }
#pragma omp simd reduction(max : most)
    for (int lane = 0; lane < LAZYNET_LANES; lane++) {
        const double eta = alpha / (delta + s[lane]), loss = eta * l2;
        /* A weight of zero has no use for its c. */
        const double y = w[lane] != 0.0 ? loss : 0.0;
        w[lane] = lazynet_adagrad_followed(w[lane], c[lane], steps - psi[lane], &to->old, decays) *
                  factor;
        c[lane] = decays ? lazynet_adagrad_small_log1p(y) : eta;
        most = y > most ? y : most;
    }
    for (int lane = 0; lane < LAZYNET_LANES; lane++) {
        cells[4 * lane] = w[lane];
        cells[4 * lane + 2] = c[lane], cells[4 * lane + 3] = steps;
    }
    if (most <= LAZYNET_ADAGRAD_SMALL_LOSS) return;
    lazynet_adagrad_followed_decays(s, &to->now, c);
    for (int lane = 0; lane < LAZYNET_LANES; lane++) cells[4 * lane + 2] = c[lane];
}

/* Cells whose weight is zero may be left alone: the next update of such a cell writes all of it. */
LAZYNET_INLINE void lazynet_adagrad_renew_any(double *cells, ptrdiff_t n,
                                              const lazynet_adagrad_renewal *to, int decays) {
    ptrdiff_t j = 0;
    for (; j + LAZYNET_LANES <= n; j += LAZYNET_LANES) {
        double any = 0.0;
        for (int lane = 0; lane < LAZYNET_LANES; lane++) any += fabs(cells[4 * (j + lane)]);
        if (any != 0.0) lazynet_adagrad_renew_eight(cells + 4 * j, to, decays);
    }
    double last[4 * LAZYNET_LANES] = {0};
    memcpy(last, cells + 4 * j, (size_t)(n - j) * 4 * sizeof(double));
    lazynet_adagrad_renew_eight(last, to, decays);
    memcpy(cells + 4 * j, last, (size_t)(n - j) * 4 * sizeof(double));
}

LAZYNET_INLINE void lazynet_adagrad_renew(double *cells, ptrdiff_t n,
                                          const lazynet_adagrad_renewal *to) {
    if (to->now.decays > 0.0)
        lazynet_adagrad_renew_any(cells, n, to, 1);
    else
        lazynet_adagrad_renew_any(cells, n, to, 0);
}

/* The same loop for two levels of vector units, which give the same bits. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(LAZYNET_DEBUG)
#define LAZYNET_ADAGRAD_LEVELS 2
__attribute__((unused, target("avx2"))) static void lazynet_adagrad_renew_v3(
    double *cells, ptrdiff_t n, const lazynet_adagrad_renewal *to) {
    lazynet_adagrad_renew(cells, n, to);
}
__attribute__((unused, target("avx512f,avx512dq,avx512vl"))) static void lazynet_adagrad_renew_v4(
    double *cells, ptrdiff_t n, const lazynet_adagrad_renewal *to) {
    lazynet_adagrad_renew(cells, n, to);
}
#else
#define LAZYNET_ADAGRAD_LEVELS 1
#endif

/* Compute alpha and delta from the mean as of now; returns what every weight is to be multiplied by. */
LAZYNET_INLINE double lazynet_adagrad_change_scale(lazynet_adagrad *rule) {
    const double old = rule->constants.alpha;
    const int first = rule->mean == 0.0; /* weights that were loaded keep their size */
    rule->mean = lazynet_scale_mean(rule->sizes, rule->rows);
    lazynet_adagrad_set(rule);
    return first ? 1.0 : rule->constants.alpha / old;
}

LAZYNET_INLINE void lazynet_adagrad_sweep(void *given, double *cells, ptrdiff_t n) {
    lazynet_adagrad *rule = (lazynet_adagrad *)given;
    const lazynet_adagrad_constants old = rule->constants;
    if (rule->waiting == 0.0) {
        for (ptrdiff_t j = 0; j < n; j++) {
            double *cell = cells + 4 * j;
            cell[0] = lazynet_adagrad_weight(cell[0], cell[2], rule->steps - cell[3], &old);
            cell[3] = rule->steps;
        }
        return;
    }
    const double factor = lazynet_adagrad_change_scale(rule);
    const lazynet_adagrad_renewal to = {old, rule->constants, rule->steps, factor};
#if LAZYNET_ADAGRAD_LEVELS > 1
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        lazynet_adagrad_renew_v4(cells, n, &to);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        lazynet_adagrad_renew_v3(cells, n, &to);
        return;
    }
#endif
    lazynet_adagrad_renew(cells, n, &to);
}

LAZYNET_INLINE void lazynet_adagrad_read(const void *given, const double *cells, ptrdiff_t n,
                                         double *weights) {
    const lazynet_adagrad *rule = (const lazynet_adagrad *)given;
    for (ptrdiff_t j = 0; j < n; j++) {
        const double *cell = cells + 4 * j;
        weights[j] = lazynet_adagrad_weight(cell[0], cell[2], rule->steps - cell[3],
                                            &rule->constants);
    }
}

/* c of every weight, from its s and the present settings. */
LAZYNET_INLINE void lazynet_adagrad_retune(const void *given, double *cells, ptrdiff_t n) {
    const lazynet_adagrad_constants *rule = &((const lazynet_adagrad *)given)->constants;
    for (ptrdiff_t j = 0; j < n; j++) {
        double *cell = cells + 4 * j;
        cell[2] = lazynet_adagrad_decay(rule->alpha / (rule->delta + cell[1]), rule);
    }
}

LAZYNET_CELL_KIND lazynet_kind_adagrad = {
    .name = "adagrad",
    .numbers = 4,
    .settings = {"l1", "l2", "alpha", "delta", "follows", "initial"},
    .fields = {"intercept", "intercept_s", "steps", "rows", "sizes", "mean", "waiting"},
    .size = sizeof(lazynet_adagrad),
    .scratch = 2, /* the weight and s */
    .refusal = lazynet_adagrad_refusal,
    .begin = lazynet_adagrad_begin,
    .end = lazynet_adagrad_end,
    .measure = lazynet_adagrad_measure,
    .advance = lazynet_adagrad_advance,
    .sweep = lazynet_adagrad_sweep,
    .read = lazynet_adagrad_read,
    .retune = lazynet_adagrad_retune,
};

#endif

#ifdef LAZYNET_REAL
/* The first half of the scratch memory holds the weights of the row, the second half their s. */
LAZYNET_INLINE ptrdiff_t LAZYNET_TYPED(adagrad_half)(const lazynet_row *row) {
    return (row->length + LAZYNET_LANES - 1) / LAZYNET_LANES * LAZYNET_LANES;
}

/* Eight weights as of `now`, and their s, for decays so small that the series of expm1 is exact
 * enough.  `lowest` collects the least exponent of each lane. */
LAZYNET_INLINE void LAZYNET_TYPED(adagrad_caught_up_eight)(const double *cells,
                                                  const uint32_t *columns, double now,
                                                  const lazynet_adagrad_constants *rule, int decays,
                                                  double *weights, double *s, double *lowest) {
    double w[LAZYNET_LANES], c[LAZYNET_LANES], psi[LAZYNET_LANES];
    LAZYNET_TYPED(load_eight)(cells, columns, w, s, c, psi);
#pragma omp simd
    for (int lane = 0; lane < LAZYNET_LANES; lane++) {
        const double size = fabs(w[lane]), due = (now - psi[lane]) * c[lane];
        /* A weight of zero stays so, however much it has missed. */
        const double x = decays && size > 0.0 ? -due : 0.0;
        const double lost = lazynet_small_expm1(x);
        const double left =
            decays ? size + (size + rule->ratio) * lost : size - due * rule->linear;
        weights[lane] = copysign(left <= 0.0 ? 0.0 : left, w[lane]);
        lowest[lane] = x < lowest[lane] ? x : lowest[lane];
    }
}

/* The weights whose decay is larger, again, with the expm1 of the C library. */
static void LAZYNET_TYPED(adagrad_caught_up_slowly)(const double *cells,
                                                    const uint32_t *columns, ptrdiff_t length,
                                                    double now,
                                                    const lazynet_adagrad_constants *rule,
                                                    double *weights) {
    for (ptrdiff_t k = 0; k < length; k++) {
        const double *cell = cells + 4 * (ptrdiff_t)columns[k];
        if (cell[0] != 0.0 && !((now - cell[3]) * cell[2] <= LAZYNET_SMALL_EXPONENT))
            weights[k] = lazynet_adagrad_weight(cell[0], cell[2], now - cell[3], rule);
    }
}

/* The same for rates that follow the data: all of these weights again, eight at once. */
LAZYNET_INLINE void LAZYNET_TYPED(adagrad_followed_eight)(const double *cells,
                                                          const uint32_t *columns, double now,
                                                          const lazynet_adagrad_constants *rule,
                                                          double *weights) {
    double w[LAZYNET_LANES], s[LAZYNET_LANES], c[LAZYNET_LANES], psi[LAZYNET_LANES];
    LAZYNET_TYPED(load_eight)(cells, columns, w, s, c, psi);
#pragma omp simd
    for (int lane = 0; lane < LAZYNET_LANES; lane++)
        weights[lane] = lazynet_adagrad_followed(w[lane], c[lane], now - psi[lane], rule, 1);
}

static void LAZYNET_TYPED(adagrad_follow)(const double *cells, const uint32_t *columns,
                                          ptrdiff_t length, double now,
                                          const lazynet_adagrad_constants *rule, double *weights) {
    ptrdiff_t k = 0;
    for (; k + LAZYNET_LANES <= length; k += LAZYNET_LANES)
        LAZYNET_TYPED(adagrad_followed_eight)(cells, columns + k, now, rule, weights + k);
    if (k < length && length >= LAZYNET_LANES) {
        k = length - LAZYNET_LANES;
        LAZYNET_TYPED(adagrad_followed_eight)(cells, columns + k, now, rule, weights + k);
        return;
    }
    for (; k < length; k++) {
        const double *cell = cells + 4 * (ptrdiff_t)columns[k];
        weights[k] = lazynet_adagrad_followed(cell[0], cell[2], now - cell[3], rule, 1);
    }
}

/* The weights of a part of a row whose decays are not all small. */
LAZYNET_INLINE void LAZYNET_TYPED(adagrad_caught_up_again)(const double *cells,
                                                           const uint32_t *columns,
                                                           ptrdiff_t length, double now,
                                                           const lazynet_adagrad_constants *rule,
                                                           double *weights) {
    if (rule->follows)
        LAZYNET_TYPED(adagrad_follow)(cells, columns, length, now, rule, weights);
    else
        LAZYNET_TYPED(adagrad_caught_up_slowly)(cells, columns, length, now, rule, weights);
}

LAZYNET_INLINE int LAZYNET_TYPED(adagrad_too_low)(const double *lowest) {
    double least = 0.0;
#pragma omp simd reduction(min : least)
    for (int lane = 0; lane < LAZYNET_LANES; lane++)
        least = lowest[lane] < least ? lowest[lane] : least;
    return !(least >= -LAZYNET_SMALL_EXPONENT);
}

/* Where the last eight nonzeros of a row begin that are computed as one block, which overlaps the
 * block before them; a shorter row is filled up. */
LAZYNET_INLINE ptrdiff_t LAZYNET_TYPED(adagrad_last_eight)(ptrdiff_t length) {
    return length >= LAZYNET_LANES ? length - LAZYNET_LANES : 0;
}

/* Eight products x_j w_j, the first `skipped` of them 0, added to as many sums. */
LAZYNET_INLINE void LAZYNET_TYPED(add_kept)(lazynet_lanes *sums, const double *weights,
                                            const LAZYNET_REAL *values, int64_t skipped) {
    double products[LAZYNET_LANES];
#pragma omp simd
    for (int64_t lane = 0; lane < LAZYNET_LANES; lane++) {
        const double product = weights[lane] * (double)values[lane];
        products[lane] = lane < skipped ? 0.0 : product;
    }
    lazynet_add_lanes(sums, products);
}

/* sum over the row of x_j w_j, the weights as of `now`.  The weights and their s are kept for the
 * update, in the two halves of the scratch memory: those of whole blocks, then those of the last
 * eight nonzeros.  Blocks do not overlap there, because a processor waits for the second of two
 * stores when a load needs parts of both. */
LAZYNET_INLINE double LAZYNET_TYPED(any_adagrad_dot)(const lazynet_row *row,
                                                     const lazynet_row *next, const double *cells,
                                                     const lazynet_adagrad *given, int decays) {
    const lazynet_adagrad_constants rule = given->constants;
    const double now = given->steps;
    double *kept = (double *)given->head.scratch.bytes;
    const ptrdiff_t half = LAZYNET_TYPED(adagrad_half)(row);
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    const ptrdiff_t last = LAZYNET_TYPED(adagrad_last_eight)(at.length);
    lazynet_lanes sums = lazynet_no_lanes();
    ptrdiff_t whole = 0;
    LAZYNET_TYPED(fetch_weights)(next, cells, 4);
    for (ptrdiff_t k = 0, stop = 0; k < at.length; k = stop) {
        double lowest[LAZYNET_LANES] = {0};
        const lazynet_lanes before = sums;
        stop = k + LAZYNET_BLOCK < at.length ? k + LAZYNET_BLOCK : at.length;
        for (whole = k; whole + LAZYNET_LANES <= stop; whole += LAZYNET_LANES) {
            LAZYNET_TYPED(adagrad_caught_up_eight)
            (cells, at.columns + whole, now, &rule, decays, kept + whole, kept + half + whole,
             lowest);
            LAZYNET_TYPED(add_kept)(&sums, kept + whole, at.values + whole, 0);
        }
        if (whole < stop && at.length >= LAZYNET_LANES) {
            /* Some of the last eight are computed again, with the same result. */
            LAZYNET_TYPED(adagrad_caught_up_eight)
            (cells, at.columns + last, now, &rule, decays, kept + whole, kept + half + whole,
             lowest);
        } else if (whole < stop) {
            LAZYNET_REAL values[LAZYNET_LANES];
            uint32_t columns[LAZYNET_LANES];
            LAZYNET_TYPED(fill_up)(&at, whole, LAZYNET_LANES, values, columns);
            LAZYNET_TYPED(adagrad_caught_up_eight)
            (cells, columns, now, &rule, decays, kept + whole, kept + half + whole, lowest);
        }
        if (decays && LAZYNET_TYPED(adagrad_too_low)(lowest)) {
            LAZYNET_TYPED(adagrad_caught_up_again)
            (cells, at.columns + k, whole - k, now, &rule, kept + k);
            if (whole < stop) {
                LAZYNET_TYPED(adagrad_caught_up_again)
                (cells, at.columns + last, at.length - last, now, &rule, kept + whole);
            }
            sums = before;
            for (ptrdiff_t q = k; q < whole; q += LAZYNET_LANES)
                LAZYNET_TYPED(add_kept)(&sums, kept + q, at.values + q, 0);
        }
    }
    if (at.length < LAZYNET_LANES) {
        double sum = 0.0;
        for (ptrdiff_t q = 0; q < at.length; q++) sum += kept[q] * (double)at.values[q];
        return sum;
    }
    if (whole < at.length)
        LAZYNET_TYPED(add_kept)(&sums, kept + whole, at.values + last, whole - last);
    return lazynet_sum_of_lanes(&sums);
}

static double LAZYNET_TYPED(adagrad_dot)(const lazynet_row *row, const lazynet_row *next,
                                         const double *cells, const void *given) {
    const lazynet_adagrad *rule = (const lazynet_adagrad *)given;
    if (rule->constants.decays > 0.0)
        return LAZYNET_TYPED(any_adagrad_dot)(row, next, cells, rule, 1);
    return LAZYNET_TYPED(any_adagrad_dot)(row, next, cells, rule, 0);
}

/* With g_j = slope x_j:  s' = sqrt(s^2 + g^2)   eta' = alpha / (delta + s')   w <- w - eta' g, and
 * c' = log1p(eta' l2) by its series, or eta' without an l2 penalty.  Where s is 0, it begins at
 * first |x_j|; `first` is initial times the importance of the row.  `largest` collects the largest
 * eta' l2 of each lane. */
LAZYNET_INLINE void LAZYNET_TYPED(adagrad_block)(const LAZYNET_REAL *values,
                                                 const uint32_t *columns, ptrdiff_t length,
                                                 double *cells, double now,
                                                 const lazynet_adagrad_constants *rule,
                                                 double first, int decays, double slope,
                                                 const double *weights, const double *s,
                                                 double *largest) {
    double w[LAZYNET_LANES], root[LAZYNET_LANES], c[LAZYNET_LANES];
#pragma omp simd
    for (int lane = 0; lane < LAZYNET_LANES; lane++) {
        const double x = (double)values[lane], g = slope * x;
        const double begins = (s[lane] == 0.0) & (g != 0.0) ? first * x : 0.0;
        root[lane] = sqrt(s[lane] * s[lane] + (g * g + begins * begins));
        /* Before the first gradient of a coordinate, delta + s' may be as small as delta. */
        const double eta = rule->alpha / (rule->delta + root[lane]);
        const double y = decays ? eta * rule->l2 : 0.0;
        w[lane] = weights[lane] - eta * g;
        c[lane] = decays ? lazynet_adagrad_small_log1p(y) : eta;
        largest[lane] = y > largest[lane] ? y : largest[lane];
    }
    LAZYNET_TYPED(store_eight)(cells, columns, length, w, root, c, now);
}

/* Where eta l2 is larger, c is computed again with the log1p of the C library. */
LAZYNET_INLINE void LAZYNET_TYPED(adagrad_mend_decays)(const uint32_t *columns,
                                                       ptrdiff_t length, double *cells,
                                                       const lazynet_adagrad_constants *rule,
                                                       const double *largest) {
    double most = 0.0;
#pragma omp simd reduction(max : most)
    for (int lane = 0; lane < LAZYNET_LANES; lane++)
        most = largest[lane] > most ? largest[lane] : most;
    if (most <= LAZYNET_ADAGRAD_SMALL_LOSS) return;
    for (ptrdiff_t k = 0; rule->follows && k < length; k += LAZYNET_LANES) {
        const ptrdiff_t n = length - k < LAZYNET_LANES ? length - k : LAZYNET_LANES;
        double s[LAZYNET_LANES] = {0}, c[LAZYNET_LANES];
        for (ptrdiff_t lane = 0; lane < n; lane++)
            s[lane] = cells[4 * (ptrdiff_t)columns[k + lane] + 1];
        lazynet_adagrad_followed_decays(s, rule, c);
        for (ptrdiff_t lane = 0; lane < n; lane++)
            cells[4 * (ptrdiff_t)columns[k + lane] + 2] = c[lane];
    }
    for (ptrdiff_t k = 0; !rule->follows && k < length; k++) {
        double *cell = cells + 4 * (ptrdiff_t)columns[k];
        const double eta = rule->alpha / (rule->delta + cell[1]);
        if (!(eta * rule->l2 <= LAZYNET_ADAGRAD_SMALL_LOSS))
            cell[2] = lazynet_adagrad_decay(eta, rule);
    }
}

/* The step on the row whose weights `adagrad_dot` has just put into scratch memory; `decays` says
 * whether there is an l2 penalty. */
LAZYNET_INLINE void LAZYNET_TYPED(any_adagrad_update)(const lazynet_row *row, double *cells,
                                                      const void *given, double slope,
                                                      int decays) {
    const lazynet_adagrad_constants rule = ((const lazynet_adagrad *)given)->constants;
    const double first = rule.initial * ((const lazynet_adagrad *)given)->head.importance;
    const double now = ((const lazynet_adagrad *)given)->steps;
    const double *kept = (const double *)((const lazynet_adagrad *)given)->head.scratch.bytes;
    const ptrdiff_t half = LAZYNET_TYPED(adagrad_half)(row);
    const LAZYNET_TYPED(row) at = LAZYNET_TYPED(typed)(row);
    for (ptrdiff_t k = 0, stop = 0; k < at.length; k = stop) {
        double largest[LAZYNET_LANES] = {0};
        stop = k + LAZYNET_BLOCK < at.length ? k + LAZYNET_BLOCK : at.length;
        ptrdiff_t q = k;
        for (; q + LAZYNET_LANES <= stop; q += LAZYNET_LANES)
            LAZYNET_TYPED(adagrad_block)
            (at.values + q, at.columns + q, LAZYNET_LANES, cells, now, &rule, first, decays, slope,
             kept + q, kept + half + q, largest);
        const ptrdiff_t last = LAZYNET_TYPED(adagrad_last_eight)(at.length);
        if (q < stop && at.length >= LAZYNET_LANES) {
            /* Some cells of the last eight are written again with the same numbers. */
            LAZYNET_TYPED(adagrad_block)
            (at.values + last, at.columns + last, LAZYNET_LANES, cells, now, &rule, first, decays,
             slope, kept + q, kept + half + q, largest);
            q = last;
        } else if (q < stop) {
            LAZYNET_REAL values[LAZYNET_LANES];
            uint32_t columns[LAZYNET_LANES];
            LAZYNET_TYPED(fill_up)(&at, q, LAZYNET_LANES, values, columns);
            LAZYNET_TYPED(adagrad_block)
            (values, columns, stop - q, cells, now, &rule, first, decays, slope, kept + q,
             kept + half + q, largest);
        }
        q = q < k ? q : k;
        if (decays)
            LAZYNET_TYPED(adagrad_mend_decays)(at.columns + q, stop - q, cells, &rule, largest);
    }
}

static void LAZYNET_TYPED(adagrad_update)(const lazynet_row *row, double *cells, const void *given,
                                          double slope) {
    if (((const lazynet_adagrad *)given)->constants.decays > 0.0)
        LAZYNET_TYPED(any_adagrad_update)(row, cells, given, slope, 1);
    else
        LAZYNET_TYPED(any_adagrad_update)(row, cells, given, slope, 0);
}
#endif
