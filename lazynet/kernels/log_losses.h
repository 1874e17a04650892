/* The logistic loss of many predictions at once, of which the progressive loss is the sum.
 *
 * Property: equal to the scalar loss of losses.pxd (tests/exact/test_losses.py), with the same bits on
 * every vector unit.
 */
#ifndef LAZYNET_LOG_LOSSES_H
#define LAZYNET_LOG_LOSSES_H

#include "elementary.h"
#include "vectors.h"

/* losses <- log(1 + exp(-m)), m = p y.  The exponential never overflows: its argument is never
 * positive. */
LAZYNET_CLONES static void lazynet_log_losses(const double *predictions, const double *targets,
                                              double *losses, ptrdiff_t n) {
#pragma omp simd
    for (ptrdiff_t k = 0; k < n; k++) {
        const double margin = predictions[k] * targets[k];
        const double decayed = lazynet_exp_of_negative(-fabs(margin));
        losses[k] = lazynet_log1p(decayed) + (margin < 0.0 ? -margin : 0.0);
    }
}

#endif
