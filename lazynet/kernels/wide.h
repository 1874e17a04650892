/* Loops over rows of weights: a model of many outputs keeps the weights of one feature side by
 * side, an entry per output, and one pass over X trains all outputs.
 *
 * The cell of a feature is a row of `width` numbers for every kind of number that the rule keeps
 * (the clock, RDA and groups: 1, FTRL and AdaGrad: 2), one after the other.  `width` is the number of
 * outputs, filled up to whole cache lines: an entry beyond the last output has no target, makes no
 * step and stays 0.  The numbers are double or float; everything that exists once per output, such
 * as predictions, slopes and the numbers of the rule, is double.
 *
 * The loops visit one cache line of outputs after the other, and for each all nonzeros of the row:
 * the sums and the numbers of the rule stay in registers.  An output never reads the numbers of
 * another one, and every sum runs over the nonzeros in their order: an output has the same bits in
 * any company, on any vector unit, and for any split into blocks of outputs.  Groups are the
 * exception (wide_groups.inc): the penalty of a row of weights depends on all outputs, which
 * therefore lie in one block; the vector unit still changes no bit.
 */
#ifndef LAZYNET_OUTPUTS_H
#define LAZYNET_OUTPUTS_H

#include "rows.h"

#define LAZYNET_LINE 64 /* bytes of a cache line */

/* The loops of a kind take a number of each output's rule from each of these places. */
enum { LAZYNET_NOW_SHIFT }; /* the clock, RDA and groups */
enum {
    LAZYNET_FTRL_NOW_L1,
    LAZYNET_FTRL_NOW_ALPHA,
    LAZYNET_FTRL_NOW_INVERSE_ALPHA,
    LAZYNET_FTRL_NOW_DAMPING
};
enum {
    LAZYNET_ADAGRAD_NOW_ALPHA,
    LAZYNET_ADAGRAD_NOW_DELTA,
    LAZYNET_ADAGRAD_NOW_L1,
    LAZYNET_ADAGRAD_NOW_L2,
    LAZYNET_ADAGRAD_NOW_INITIAL
};
enum { LAZYNET_MOST_NUMBERS = 5 };

/* A row of X in the form that the loops read. */
typedef struct {
    const void *values;        /* of the type of the weights */
    const ptrdiff_t *features; /* each within the array of stamps */
    const ptrdiff_t *places;   /* where the cell of each feature begins */
    double *shares;            /* groups: what `dot` leaves to `update`, room for `length` numbers */
    ptrdiff_t length;
} lazynet_wide_row;

/* The weights, and the numbers of the rule that are the same for all features. */
typedef struct {
    void *cells;
    double *stamps;        /* AdaGrad: the steps that had been taken when the row was brought current;
                            * groups by the largest weight: the shift of the clock at that time */
    ptrdiff_t width;       /* entries of a row of weights */
    ptrdiff_t stride;      /* numbers of a cell */
    const double *numbers; /* [number of the enum above][output] */
    double steps;          /* AdaGrad: taken so far */
    int decays;            /* AdaGrad: whether an output has an l2 penalty */
    double importance;     /* AdaGrad: of the row at hand */
    const lazynet_past *past; /* of the clock, where iterates are averaged; else NULL */
} lazynet_wide_weights;

typedef struct {
    /* out_k <- sum_j x_j w_jk; rules whose weights lag behind bring the row current.  Both loops
     * fetch the cells of `next`, the row after this one. */
    void (*dot)(const lazynet_wide_weights *, const lazynet_wide_row *row,
                const lazynet_wide_row *next, double *out);
    /* The step on the row: output k moves by moves_k along it. */
    void (*update)(const lazynet_wide_weights *, const lazynet_wide_row *row,
                   const lazynet_wide_row *next, const double *moves);
    /* Bring all n rows of weights current and multiply them by a factor for each output; for the
     * clock the scale.  NULL for rules that another function sweeps, or none. */
    void (*sweep)(const lazynet_wide_weights *, ptrdiff_t n, const double *factors);
} lazynet_wide_ops;

enum lazynet_wide_kind {
    LAZYNET_WIDE_CLOCK,
    LAZYNET_WIDE_AVERAGED_CLOCK,
    LAZYNET_WIDE_RDA,
    LAZYNET_WIDE_FTRL,
    LAZYNET_WIDE_ADAGRAD,
    LAZYNET_WIDE_GROUP_L2,
    LAZYNET_WIDE_GROUP_MAX,
    LAZYNET_WIDE_KINDS
};

/* The scalars of the clocks of all outputs, an entry per output in each array (clock.pxd). */
typedef struct {
    double *scale;
    double *scale_low;
    double *shift;
    double *shift_low;
} lazynet_clocks;

/* What decides whether the clocks are worn out. */
typedef struct {
    double smallest_scale;
    double largest_shift;
    double largest_cushion; /* of scale * shift */
} lazynet_clock_extremes;

/* Loops over outputs that do not depend on the type of the weights, and what reads rows of X. */
typedef struct {
    void (*fill)(double *numbers, double number, ptrdiff_t n);
    /* sums_k <- scale_k sums_k + intercept_k: the predictions, of what `dot` adds up */
    void (*predict)(double *sums, const double *scales, const double *intercepts, ptrdiff_t n);
    void (*multiply)(const double *one, const double *other, ptrdiff_t n, double *products);
    void (*divide)(double *numbers, const double *divisors, ptrdiff_t n);
    int (*all_finite)(const double *numbers, ptrdiff_t n);
    /* Every clock takes the shrink |w| <- [a |w| - b]+ (advance_clock in clock.pxd). */
    lazynet_clock_extremes (*advance)(const lazynet_clocks *, ptrdiff_t n, const double *keep,
                                      const double *keep_low, const double *pull);
    /* slopes_k <- importance l'(p_k, y_k) of the logistic loss; losses_k += importance l(p_k, y_k).
     */
    void (*log_slopes)(const double *predictions, const double *targets, ptrdiff_t n,
                       double importance, double *slopes, double *losses);
    /* slopes_k <- importance (probability_k - [k = label]) of the softmax over n outputs; returns
     * importance times the loss, log(sum exp p) - p_label. */
    double (*softmax_slopes)(const double *predictions, ptrdiff_t label, ptrdiff_t n,
                             double importance, double *slopes);
    /* The row as the loops over weights read it, in memory of the caller with room for row->length
     * entries each. */
    void (*unpack)(const lazynet_row *row, int wide_values, int wide_weights, ptrdiff_t stride,
                   void *values, ptrdiff_t *features, ptrdiff_t *places);
} lazynet_output_ops;

const lazynet_wide_ops *lazynet_wide_ops_for(int wide, int level, int kind);
const lazynet_output_ops *lazynet_output_ops_for(int level);

#endif
