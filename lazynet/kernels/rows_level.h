/* The row operations of one level, for each pair of types; rows.h includes this file per level. */

/* For each of the dead, whose cells hold their new z already: before_j <- the sum that is read from
 * the new z, less the sum so far, in which a weight counts as zero from the iterate on at which it
 * vanished.  A weight that was zero in every iterate keeps the sum 0 to the last bit. */
static void LAZYNET_LEVELLED(bury)(lazynet_dead *dead, double *cells, const lazynet_past *past) {
    ptrdiff_t alive[LAZYNET_BLOCK];
    enum { FEW = 4 };
    if (dead->n < FEW)
        for (ptrdiff_t i = 0; i < dead->n; i++)
            alive[i] = lazynet_iterates_alive(past, fabs(dead->z[i]));
    else {
        /* The search of lazynet_iterates_alive for all of them at once. */
        for (ptrdiff_t i = 0; i < LAZYNET_BLOCK; i++) alive[i] = 0;
        for (ptrdiff_t left = past->n, half; left > 1; left -= half) {
            half = left / 2;
#pragma omp simd
            for (ptrdiff_t i = 0; i < LAZYNET_BLOCK; i++)
                alive[i] += past->shifts[alive[i] + half - 1] < fabs(dead->z[i]) ? half : 0;
        }
        for (ptrdiff_t i = 0; i < dead->n && past->n > 0; i++)
            alive[i] += past->shifts[alive[i]] < fabs(dead->z[i]);
    }
    for (ptrdiff_t i = 0; i < dead->n; i++) {
        double *cell = cells + dead->cell[i];
        const double so_far = lazynet_sum_alive(past, dead->z[i], alive[i]) - cell[1];
        cell[1] = lazynet_sum_alive(past, cell[0], past->n) - so_far;
    }
    dead->n = 0;
}

#define LAZYNET_REAL float
#define LAZYNET_REAL_NAME f32
#define LAZYNET_INDEX int32_t
#define LAZYNET_UNSIGNED uint32_t
#define LAZYNET_INDEX_NAME i32
#include "rows_typed.h"
#undef LAZYNET_REAL
#undef LAZYNET_REAL_NAME
#define LAZYNET_REAL double
#define LAZYNET_REAL_NAME f64
#include "rows_typed.h"
#undef LAZYNET_INDEX
#undef LAZYNET_UNSIGNED
#undef LAZYNET_INDEX_NAME

#define LAZYNET_INDEX int64_t
#define LAZYNET_UNSIGNED uint64_t
#define LAZYNET_INDEX_NAME i64
#include "rows_typed.h"
#undef LAZYNET_REAL
#undef LAZYNET_REAL_NAME
#define LAZYNET_REAL float
#define LAZYNET_REAL_NAME f32
#include "rows_typed.h"
#undef LAZYNET_REAL
#undef LAZYNET_REAL_NAME
#undef LAZYNET_INDEX
#undef LAZYNET_UNSIGNED
#undef LAZYNET_INDEX_NAME
