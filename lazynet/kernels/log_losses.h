/* The logistic loss of many predictions at once, of which the progressive loss is the sum.
 *
 * Property: right to 2^-50 beside decimal numbers (tests/exact/test_predictions_before_updates.py).
 * The functions of elementary.h and the operations between them are the same for one number and for
 * eight, and are not contracted, so that no vector unit changes a bit.
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
