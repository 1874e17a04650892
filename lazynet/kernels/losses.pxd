# The losses l(p, y) and their derivatives in p, stable at any margin.
# Plain Python: lazynet/reference/losses.py; tests/exact/test_losses.py compares the two.
from libc.math cimport exp, fabs, log, log1p

from .lanes cimport exp_of_negative, log1p_of

# In the order of lazynet.losses.LOSSES.
cdef enum LossCode:
    LOG_LOSS = 0
    HINGE = 1
    SQUARED_HINGE = 2
    MODIFIED_HUBER = 3
    SQUARED_ERROR = 4
    ABSOLUTE_ERROR = 5
    HUBER = 6
    EPSILON_INSENSITIVE = 7
    SMOOTH_HINGE = 8
    PERCEPTRON = 9
    SQUARED_EPSILON_INSENSITIVE = 10
    N_LOSSES = 11


cdef inline double loss_with_slope(
    int loss, double p, double y, double epsilon, double* slope
) noexcept nogil:
    """l(p, y); ``slope`` <- its derivative in p.  m is the margin p y."""
    cdef double margin = p * y, residual = p - y, distance = fabs(residual)
    cdef double gap = 1.0 - margin if 1.0 - margin > 0 else 0.0
    cdef double excess = distance - epsilon if distance - epsilon > 0 else 0.0
    cdef double sign = <double> ((p > y) - (p < y)), decayed
    if loss == LOG_LOSS:
        # log(1 + exp(-m)).  The exponential never overflows: its argument is never positive.
        decayed = exp(-fabs(margin))
        slope[0] = -y * (decayed if margin > 0 else 1.0) / (1.0 + decayed)
        return log1p(decayed) + (-margin if margin < 0 else 0.0)
    if loss == HINGE:
        # [1 - m]+; at the kink m = 1 the subgradient 0 is taken.
        slope[0] = -y if margin < 1.0 else 0.0
        return gap
    if loss == SQUARED_HINGE:
        slope[0] = -2.0 * y * gap
        return gap * gap
    if loss == MODIFIED_HUBER:
        # The squared hinge, continued as a line below m = -1 (Zhang 2004).
        slope[0] = -2.0 * y * gap if margin >= -1.0 else -4.0 * y
        return gap * gap if margin >= -1.0 else -4.0 * margin
    if loss == SQUARED_ERROR:
        slope[0] = residual
        return 0.5 * residual * residual
    if loss == ABSOLUTE_ERROR:
        # The subgradient at p = y is 0.
        slope[0] = sign
        return distance
    if loss == HUBER:
        # The squared error up to a residual of epsilon, a line beyond it (Huber 1964).
        if distance <= epsilon:
            slope[0] = residual
            return 0.5 * distance * distance
        slope[0] = epsilon if residual > 0 else -epsilon
        return epsilon * (distance - 0.5 * epsilon)
    if loss == SMOOTH_HINGE:
        # The hinge with its kink rounded to (1 - m)^2 / 2 from m = 0 to 1 (Rennie & Srebro 2005).
        slope[0] = -y * (gap if gap < 1.0 else 1.0)
        return 0.5 * gap * gap if gap < 1.0 else gap - 0.5
    if loss == PERCEPTRON:
        # [-m]+; the subgradient at the kink m = 0 is -y: with 0, zero weights would never move.
        slope[0] = -y if margin <= 0.0 else 0.0
        return -margin if margin < 0 else 0.0
    if loss == SQUARED_EPSILON_INSENSITIVE:
        slope[0] = 2.0 * excess * sign
        return excess * excess
    # [|p - y| - epsilon]+, subgradient 0 at the kinks.
    slope[0] = 0.0 if distance <= epsilon else sign
    return excess


cdef inline double loss_value(int loss, double p, double y, double epsilon) noexcept nogil:
    cdef double slope = 0.0
    return loss_with_slope(loss, p, y, epsilon, &slope)


cdef inline double loss_slope(int loss, double p, double y, double epsilon) noexcept nogil:
    cdef double slope = 0.0
    loss_with_slope(loss, p, y, epsilon, &slope)  # the compiler leaves out the value
    return slope


cdef inline double slope_of(
    int loss, double epsilon, const double* targets, const double* importances, Py_ssize_t row,
    double prediction
) noexcept nogil:
    """s l'(p, y): the slope of the loss of a row times its importance s; 1 where these are NULL."""
    cdef double slope = loss_slope(loss, prediction, targets[row], epsilon)
    return slope * importances[row] if importances != NULL else slope

# --- several outputs: the logistic loss and the softmax without a branch, so that the compiler computes
# several at once


cdef inline void log_slopes(
    const double* predictions, const double* y, Py_ssize_t n, double importance, double* slopes,
    double* losses
) noexcept nogil:
    cdef double margin, decayed
    cdef Py_ssize_t k
    for k in range(n):
        margin = predictions[k] * y[k]
        decayed = exp_of_negative(-fabs(margin))
        slopes[k] = -y[k] * (decayed if margin > 0.0 else 1.0) / (1.0 + decayed) * importance
        losses[k] = (log1p_of(decayed) + (-margin if margin < 0.0 else 0.0)) * importance


cdef inline void softmax_slopes(
    const double* predictions, Py_ssize_t label, Py_ssize_t n, double importance, double* slopes,
    double* losses
) noexcept nogil:
    """importance (probability_k - [k = label]); the loss is counted with the label."""
    cdef double highest = predictions[0], sum = 0.0, factor
    cdef Py_ssize_t k
    for k in range(1, n):
        highest = max(highest, predictions[k])
    for k in range(n):
        slopes[k] = exp_of_negative(predictions[k] - highest)
        losses[k] = 0.0
    for k in range(n):
        sum += slopes[k]
    factor = importance / sum
    for k in range(n):
        slopes[k] *= factor
    if label >= 0:
        slopes[label] -= importance
        losses[label] = (log(sum) + (highest - predictions[label])) * importance
