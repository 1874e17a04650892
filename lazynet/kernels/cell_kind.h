/* What one kind of cell consists of.
 *
 * A rule with a state of its own keeps a cell per weight: one or more numbers from which the weight
 * is computed when an example needs it.  Each kind of cell is one header in cells/.  setup.py finds
 * the headers and generates every_kind.h, which includes them all; no other file names a kind.
 * The header of the kind NAME defines
 *
 *   struct lazynet_NAME      the numbers of the rule; its first member is a lazynet_cell_head
 *   lazynet_kind_NAME        a lazynet_cell_kind: names, sizes, and what happens between rows
 *   NAME_dot, NAME_update    the row loops, below #ifdef LAZYNET_REAL: rows.c includes the header
 *                            once more for every type of values and every vector level
 *
 * The walking loop of cells.pyx is the same for every kind and knows of a rule only its head.
 */
#ifndef LAZYNET_CELL_KIND_H
#define LAZYNET_CELL_KIND_H

#include "rows.h"

#if defined(__GNUC__) || defined(__clang__)
#define LAZYNET_CELL_KIND __attribute__((unused)) static const lazynet_cell_kind
#else
#define LAZYNET_CELL_KIND static const lazynet_cell_kind
#endif

#define LAZYNET_MOST_NAMES 8 /* of settings or fields, with the NULL behind them */
typedef const char *lazynet_name;

typedef struct {
    double intercept;     /* as of now */
    double n_rows;        /* the number of rows of the data set */
    int measures;         /* whether the rates follow the sizes of the rows (`measure`) */
    int wants_values;     /* whether an update reads the values of the row besides the gradient */
    double importance;    /* of the row at hand, for rules that want values */
    lazynet_room scratch; /* scratch memory for the row at hand, for kinds that ask for it */
} lazynet_cell_head;

/* Why settings or fields cannot be used: a message with up to two numbers in the places of {}, or
 * a message of NULL where they can. */
typedef struct {
    const char *message;
    double numbers[2];
} lazynet_refusal;

typedef struct {
    const char *name;
    ptrdiff_t numbers;                         /* numbers in a cell */
    lazynet_name settings[LAZYNET_MOST_NAMES]; /* the constants of the rule, in order */
    lazynet_name fields[LAZYNET_MOST_NAMES];   /* the scalars that change from step to step */
    size_t size;                               /* of the struct of the rule, in bytes */

    int scheduled;        /* steps take the rate of the schedule; else the rule has its own rates */
    int updates_always;   /* NAME_update is called where move = 0 too; else such rows are skipped */
    int remembers;        /* the slope of every row at its last visit is remembered, and a step is
                           * told by how much it has changed, in place of the slope */
    int frozen_intercept; /* an intercept that was loaded adds to predictions, fitted or not */
    ptrdiff_t scratch;    /* doubles of scratch memory per nonzero; 8 nonzeros more are allotted */

    /* Whether the settings and fields can be used, in a run or (running = 0) for reading. */
    lazynet_refusal (*refusal)(const double *settings, const double *fields, int running);
    /* Fill the struct, which is zero, from the settings and the fields. */
    void (*begin)(void *rule, const double *settings, const double *fields);
    /* Write the fields as of now. */
    void (*end)(const void *rule, double *fields);
    /* Before every step, where `measures` is set: count the size of the row in the scale of the
     * rates.  Returns whether every weight must be brought current before the step, because the
     * scale changes; the call is then repeated for the same step, with the fields that `end` wrote
     * and the sweep changed, and must not count the row again.  NULL for rates that follow nothing.
     */
    int (*measure)(void *rule, double size);
    /* After every step: move the intercept and count the step.  move is 0 where the intercept is
     * not fitted or the example moves nothing; the step counts all the same.
     * Returns whether every weight must be brought current before the next step. */
    int (*advance)(void *rule, double move, double rate, double pull, double largest_cushion);
    /* Bring the weights in n cells current, and change the scale of the rates if `measure` has asked
     * for it.  NULL for kinds whose engine does it. */
    void (*sweep)(void *rule, double *cells, ptrdiff_t n);
    /* weights <- the weights in n cells as of now. */
    void (*read)(const void *rule, const double *cells, ptrdiff_t n, double *weights);
    /* Recompute what a cell caches of the settings, when the settings have changed and after a
     * load; all weights are current then.  NULL where a cell caches nothing. */
    void (*retune)(const void *rule, double *cells, ptrdiff_t n);
} lazynet_cell_kind;

LAZYNET_INLINE lazynet_refusal lazynet_accepted(void) {
    const lazynet_refusal none = {NULL, {0.0, 0.0}};
    return none;
}

LAZYNET_INLINE lazynet_refusal lazynet_refused(const char *message, double first, double second) {
    const lazynet_refusal refusal = {message, {first, second}};
    return refusal;
}

#endif
