/* The scale of rates that follow the data: the mean size of the rows seen so far.
 *
 * The mean is refreshed before the steps 0, 1, 2, 4, 8, ... with the row of the step included, and
 * before the first row whose size is not 0; between two refreshes it stays.  It depends on the rows
 * in their order alone, and not on the chunks in which they come.
 *
 * A rule whose weights are functions of sums and of the scale computes them with the new scale and
 * visits no cell.  Only weights that were loaded, and not learned, must not change with the scale:
 * then the rule asks for a sweep, in which the engine changes the cells so that they give the same
 * weights at the new scale.
 */
#ifndef LAZYNET_CELL_SCALE_H
#define LAZYNET_CELL_SCALE_H

#include "cell_kind.h"

#define LAZYNET_SCALE_MOST_ROWS 9007199254740992.0 /* 2^53: a double counts them one by one */

#define LAZYNET_SCALE_FIELDS "rows", "sizes", "mean", "loaded"

/* What `loaded` says.  A positive number is the new mean at which the sweep that was asked for must
 * leave loaded weights what they are; the sweep answers with LAZYNET_RESTATED. */
#define LAZYNET_LEARNED 0.0
#define LAZYNET_LOADED -1.0
#define LAZYNET_RESTATED -2.0

typedef struct {
    double rows;   /* how many rows have been measured */
    double sizes;  /* the sum of their sizes */
    double mean;   /* the mean size as of the last refresh, 0 before the first row with a size */
    double loaded; /* whether weights were loaded, see above */
} lazynet_scale;

typedef enum { LAZYNET_SCALE_KEPT, LAZYNET_SCALE_CHANGED, LAZYNET_SCALE_ASKS } lazynet_scale_change;

LAZYNET_INLINE void lazynet_scale_begin(lazynet_scale *scale, const double *fields) {
    memcpy(scale, fields, sizeof *scale);
}

LAZYNET_INLINE void lazynet_scale_end(const lazynet_scale *scale, double *fields) {
    memcpy(fields, scale, sizeof *scale);
}

/* Whether the fields can be used. */
LAZYNET_INLINE lazynet_refusal lazynet_scale_refusal(const double *fields) {
    const double rows = fields[0], sizes = fields[1], mean = fields[2];
    if (!(rows >= 0.0 && rows <= LAZYNET_SCALE_MOST_ROWS))
        return lazynet_refused("fields: rows must lie between 0 and {:.0f}, got {}",
                               LAZYNET_SCALE_MOST_ROWS, rows);
    if (!(sizes >= 0.0 && mean >= 0.0))
        return lazynet_refused("fields: sizes and mean must not be negative, got {} and {}", sizes,
                               mean);
    return lazynet_accepted();
}

/* The mean size in use; 1 as long as no row has had a size. */
LAZYNET_INLINE double lazynet_scale_unit(const lazynet_scale *scale) {
    return scale->mean > 0.0 ? scale->mean : 1.0;
}

/* The mean of so many sizes with this sum, within the range in which alpha and gamma are finite. */
LAZYNET_INLINE double lazynet_scale_mean(double sizes, double rows) {
    const double mean = sizes / rows;
    return mean < 0x1p-300 ? 0x1p-300 : mean > 0x1p300 ? 0x1p300 : mean;
}

/* The mean size of all rows so far. */
LAZYNET_INLINE double lazynet_scale_now(const lazynet_scale *scale) {
    return lazynet_scale_mean(scale->sizes, scale->rows);
}

/* Whether a number of rows is 0 or a power of two. */
LAZYNET_INLINE int lazynet_scale_is_due(double rows) {
    int exponent;
    return rows == 0.0 || frexp(rows, &exponent) == 0.5;
}

/* Count the size of the next row; says what happened to the mean. */
LAZYNET_INLINE lazynet_scale_change lazynet_scale_measure(lazynet_scale *scale, double size) {
    if (scale->loaded == LAZYNET_RESTATED) {
        scale->loaded = LAZYNET_LOADED;
        return LAZYNET_SCALE_KEPT;
    }
    const int due = lazynet_scale_is_due(scale->rows) || !(scale->mean > 0.0);
    scale->rows += 1.0;
    scale->sizes += size;
    if (!due || !(scale->sizes > 0.0)) return LAZYNET_SCALE_KEPT;
    if (scale->loaded == LAZYNET_LOADED) {
        scale->loaded = lazynet_scale_now(scale);
        return LAZYNET_SCALE_ASKS;
    }
    scale->mean = lazynet_scale_now(scale);
    return LAZYNET_SCALE_CHANGED;
}

#endif
