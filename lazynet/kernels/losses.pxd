# The losses as scalar pairs: l(p, y) and its derivative in p, both stable at any margin.
# Python twins: lazynet/reference/losses.py; tests/exact/test_losses.py compares the two.
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


# log(1 + exp(-m)), m = p y.  The exponential never overflows: its argument is never positive.
cdef inline double log_loss(double p, double y) noexcept nogil:
    cdef double margin = p * y
    return log1p(exp(-fabs(margin))) + (-margin if margin < 0 else 0.0)

cdef inline double log_slope(double p, double y) noexcept nogil:
    cdef double margin = p * y
    cdef double decayed = exp(-fabs(margin))
    return -y * (decayed if margin > 0 else 1.0) / (1.0 + decayed)


# [1 - m]+; at the kink m = 1 the subgradient 0 is taken.
cdef inline double hinge_loss(double p, double y) noexcept nogil:
    cdef double gap = 1.0 - p * y
    return gap if gap > 0 else 0.0

cdef inline double hinge_slope(double p, double y) noexcept nogil:
    return -y if p * y < 1.0 else 0.0


# [1 - m]+ squared.
cdef inline double squared_hinge_loss(double p, double y) noexcept nogil:
    cdef double gap = hinge_loss(p, y)
    return gap * gap

cdef inline double squared_hinge_slope(double p, double y) noexcept nogil:
    return -2.0 * y * hinge_loss(p, y)


# The squared hinge, continued as a line below m = -1 (Zhang 2004).
cdef inline double modified_huber_loss(double p, double y) noexcept nogil:
    cdef double margin = p * y
    return squared_hinge_loss(p, y) if margin >= -1.0 else -4.0 * margin

cdef inline double modified_huber_slope(double p, double y) noexcept nogil:
    return squared_hinge_slope(p, y) if p * y >= -1.0 else -4.0 * y


# (p - y)^2 / 2.
cdef inline double squared_loss(double p, double y) noexcept nogil:
    return 0.5 * (p - y) * (p - y)

cdef inline double squared_slope(double p, double y) noexcept nogil:
    return p - y


# |p - y|, subgradient 0 at p = y.
cdef inline double absolute_loss(double p, double y) noexcept nogil:
    return fabs(p - y)

cdef inline double absolute_slope(double p, double y) noexcept nogil:
    return <double> ((p > y) - (p < y))


# The squared error up to a residual of epsilon, a line beyond it (Huber 1964).
cdef inline double huber_loss(double p, double y, double epsilon) noexcept nogil:
    cdef double residual = fabs(p - y)
    if residual <= epsilon:
        return 0.5 * residual * residual
    return epsilon * (residual - 0.5 * epsilon)

cdef inline double huber_slope(double p, double y, double epsilon) noexcept nogil:
    cdef double residual = p - y
    if fabs(residual) <= epsilon:
        return residual
    return epsilon if residual > 0 else -epsilon


# [|p - y| - epsilon]+, subgradient 0 at the kinks.
cdef inline double insensitive_loss(double p, double y, double epsilon) noexcept nogil:
    cdef double excess = fabs(p - y) - epsilon
    return excess if excess > 0 else 0.0

cdef inline double insensitive_slope(double p, double y, double epsilon) noexcept nogil:
    if fabs(p - y) <= epsilon:
        return 0.0
    return absolute_slope(p, y)


# The hinge with its kink rounded to (1 - m)^2 / 2 between m = 0 and m = 1 (Rennie & Srebro 2005).
cdef inline double smooth_hinge_loss(double p, double y) noexcept nogil:
    cdef double gap = hinge_loss(p, y)
    return 0.5 * gap * gap if gap < 1.0 else gap - 0.5

cdef inline double smooth_hinge_slope(double p, double y) noexcept nogil:
    cdef double gap = hinge_loss(p, y)
    return -y * (gap if gap < 1.0 else 1.0)


# [-m]+; at the kink m = 0 the subgradient -y is taken: with 0, zero weights would never move.
cdef inline double perceptron_loss(double p, double y) noexcept nogil:
    cdef double margin = p * y
    return -margin if margin < 0 else 0.0

cdef inline double perceptron_slope(double p, double y) noexcept nogil:
    return -y if p * y <= 0.0 else 0.0


# [|p - y| - epsilon]+ squared.
cdef inline double squared_insensitive_loss(double p, double y, double epsilon) noexcept nogil:
    cdef double excess = insensitive_loss(p, y, epsilon)
    return excess * excess

cdef inline double squared_insensitive_slope(double p, double y, double epsilon) noexcept nogil:
    return 2.0 * insensitive_loss(p, y, epsilon) * absolute_slope(p, y)


cdef inline double loss_value(int loss, double p, double y, double epsilon) noexcept nogil:
    if loss == LOG_LOSS:
        return log_loss(p, y)
    if loss == HINGE:
        return hinge_loss(p, y)
    if loss == SQUARED_HINGE:
        return squared_hinge_loss(p, y)
    if loss == MODIFIED_HUBER:
        return modified_huber_loss(p, y)
    if loss == SQUARED_ERROR:
        return squared_loss(p, y)
    if loss == ABSOLUTE_ERROR:
        return absolute_loss(p, y)
    if loss == HUBER:
        return huber_loss(p, y, epsilon)
    if loss == SMOOTH_HINGE:
        return smooth_hinge_loss(p, y)
    if loss == PERCEPTRON:
        return perceptron_loss(p, y)
    if loss == SQUARED_EPSILON_INSENSITIVE:
        return squared_insensitive_loss(p, y, epsilon)
    return insensitive_loss(p, y, epsilon)


cdef inline double loss_slope(int loss, double p, double y, double epsilon) noexcept nogil:
    if loss == LOG_LOSS:
        return log_slope(p, y)
    if loss == HINGE:
        return hinge_slope(p, y)
    if loss == SQUARED_HINGE:
        return squared_hinge_slope(p, y)
    if loss == MODIFIED_HUBER:
        return modified_huber_slope(p, y)
    if loss == SQUARED_ERROR:
        return squared_slope(p, y)
    if loss == ABSOLUTE_ERROR:
        return absolute_slope(p, y)
    if loss == HUBER:
        return huber_slope(p, y, epsilon)
    if loss == SMOOTH_HINGE:
        return smooth_hinge_slope(p, y)
    if loss == PERCEPTRON:
        return perceptron_slope(p, y)
    if loss == SQUARED_EPSILON_INSENSITIVE:
        return squared_insensitive_slope(p, y, epsilon)
    return insensitive_slope(p, y, epsilon)


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
