# The convex conjugates of the losses as scalar functions, for dual coordinate ascent.
#
# An example's dual variable is a; at the optimum a = -l'(p, y).  With the conjugate
# l*(v) = sup_p { v p - l(p) }, the dual objective has the term -l*(-a).
# Plain Python: lazynet/reference/losses.py;
# tests/exact/test_dual_ascent_equals_the_reference.py compares the two.
from libc.math cimport INFINITY, copysign, exp, fabs, fmax, fmin, log, log1p

from .losses cimport (
    ABSOLUTE_ERROR,
    EPSILON_INSENSITIVE,
    HINGE,
    HUBER,
    LOG_LOSS,
    MODIFIED_HUBER,
    PERCEPTRON,
    SMOOTH_HINGE,
    SQUARED_EPSILON_INSENSITIVE,
    SQUARED_ERROR,
    SQUARED_HINGE,
    loss_slope,
    loss_value,
)
from .rows cimport soft


cdef inline double clip(double value, double low, double high) noexcept nogil:
    return fmin(fmax(value, low), high)


# b log b, continued by its limit 0.
cdef inline double entropy_term(double b) noexcept nogil:
    return b * log(b) if b > 0.0 else 0.0


# The conjugate l*(-a); infinite outside its domain.  ``size`` <- the sum of the magnitudes of its
# terms, which bounds what rounding loses.
cdef inline double conjugate(
    int loss, double a, double y, double epsilon, double* size
) noexcept nogil:
    cdef double m = a * y, first, second
    if loss == LOG_LOSS:
        if not 0.0 <= m <= 1.0:
            return INFINITY
        first, second = entropy_term(m), ((1.0 - m) * log1p(-m) if m < 1.0 else 0.0)
    elif loss == HINGE:
        if not 0.0 <= m <= 1.0:
            return INFINITY
        first, second = -m, 0.0
    elif loss == SQUARED_HINGE or loss == MODIFIED_HUBER:
        if not 0.0 <= m <= (4.0 if loss == MODIFIED_HUBER else INFINITY):
            return INFINITY
        first, second = -m, 0.25 * a * a
    elif loss == SQUARED_ERROR or loss == HUBER:
        if loss == HUBER and not fabs(a) <= epsilon:
            return INFINITY
        first, second = -m, 0.5 * a * a
    elif loss == ABSOLUTE_ERROR or loss == EPSILON_INSENSITIVE:
        if not fabs(a) <= 1.0:
            return INFINITY
        first, second = -m, (0.0 if loss == ABSOLUTE_ERROR else epsilon * fabs(a))
    elif loss == SMOOTH_HINGE:
        if not 0.0 <= m <= 1.0:
            return INFINITY
        first, second = -m, 0.5 * a * a
    elif loss == PERCEPTRON:
        if not 0.0 <= m <= 1.0:
            return INFINITY
        first, second = 0.0, 0.0
    elif loss == SQUARED_EPSILON_INSENSITIVE:
        first, second = -m, epsilon * fabs(a) + 0.25 * a * a
    else:
        return INFINITY  # a loss without a conjugate: no minimum is certified
    size[0] = fabs(first) + fabs(second)
    return first + second


# The nearest a in the domain of the conjugate, for an a that rounding has moved out of it.
cdef inline double into_domain(int loss, double a, double y, double epsilon) noexcept nogil:
    if loss == SQUARED_ERROR or loss == SQUARED_EPSILON_INSENSITIVE:
        return a
    if loss == HUBER:
        return clip(a, -epsilon, epsilon)
    if loss == ABSOLUTE_ERROR or loss == EPSILON_INSENSITIVE:
        return clip(a, -1.0, 1.0)
    if loss == SQUARED_HINGE:
        return y * fmax(y * a, 0.0)
    return y * clip(y * a, 0.0, 4.0 if loss == MODIFIED_HUBER else 1.0)


# The root s of s + q (sigma(s) - b) + m = 0, sigma the logistic function, as sigma(s): the new
# |a| of the logistic loss at the margin m.  The root lies in [-m - q (1 - b), -m + q b], and the
# slope in s is at least 1.  Newton's steps are kept inside the bracket, which shrinks; a step that
# is not half as long as the one before it gives way to the middle of the bracket, because Newton's
# steps alone may go back and forth over the bend of sigma.
cdef inline double logistic_dual(double b, double m, double q) noexcept nogil:
    cdef double low = fmax(-m - q * (1.0 - b), -750.0), high = fmin(-m + q * b, 750.0)
    cdef double s = clip(-m, -750.0, 750.0), before = high - low, decayed, part, rest, step
    cdef int turn
    for turn in range(200):
        decayed = exp(-fabs(s))
        part = (1.0 if s >= 0.0 else decayed) / (1.0 + decayed)
        rest = s + q * (part - b) + m
        if rest > 0.0:
            high = s
        else:
            low = s
        step = rest / (1.0 + q * decayed / ((1.0 + decayed) * (1.0 + decayed)))
        if fabs(step) <= 1e-9 * (1.0 + fabs(s)):
            # The error of sigma(s) after this step is of the order of step^2.
            s -= step
            break
        if not (low < s - step < high and fabs(step) <= 0.5 * before):
            step = s - 0.5 * (low + high)
        before = fabs(step)
        s -= step
    decayed = exp(-fabs(s))
    return (1.0 if s >= 0.0 else decayed) / (1.0 + decayed)


# The a that maximises -l*(-a) - p (a - old) - q/2 (a - old)^2, p the prediction with ``old``.
cdef inline double best_dual(
    int loss, double old, double p, double y, double q, double epsilon
) noexcept nogil:
    if q <= 0.0:
        # A row without values and no intercept: the prediction never changes.
        return -loss_slope(loss, p, y, epsilon)
    if loss == LOG_LOSS:
        return y * logistic_dual(y * old, y * p, q)
    if loss == HINGE:
        return y * clip(y * old + (1.0 - y * p) / q, 0.0, 1.0)
    if loss == SQUARED_HINGE:
        return y * fmax(0.0, (1.0 - y * p + q * (y * old)) / (0.5 + q))
    if loss == MODIFIED_HUBER:
        return y * clip((1.0 - y * p + q * (y * old)) / (0.5 + q), 0.0, 4.0)
    if loss == SQUARED_ERROR:
        return (y - p + q * old) / (1.0 + q)
    if loss == HUBER:
        return clip((y - p + q * old) / (1.0 + q), -epsilon, epsilon)
    if loss == SMOOTH_HINGE:
        return y * clip((1.0 - y * p + q * (y * old)) / (1.0 + q), 0.0, 1.0)
    if loss == PERCEPTRON:
        return y * clip(y * old - y * p / q, 0.0, 1.0)
    if loss == SQUARED_EPSILON_INSENSITIVE:
        return soft(y - p + q * old, epsilon) / (0.5 + q)
    if loss == ABSOLUTE_ERROR:
        # q * old may be too small for a double to hold all its digits.
        return clip(old + (y - p) / q, -1.0, 1.0)
    return clip(soft(y - p + q * old, epsilon) / q, -1.0, 1.0)


# The loss at p with its first and second derivative; the second is 0 where the loss is a line.
cdef inline double loss_with_derivatives(
    int loss, double p, double y, double epsilon, double* slope, double* curvature
) noexcept nogil:
    cdef double decayed, share, margin = p * y
    if loss == LOG_LOSS:
        decayed = exp(-fabs(margin))
        share = 1.0 / (1.0 + decayed)
        slope[0] = -y * (decayed * share if margin > 0.0 else share)
        curvature[0] = decayed * share * share
        return log1p(decayed) + (-margin if margin < 0.0 else 0.0)
    slope[0] = loss_slope(loss, p, y, epsilon)
    if loss == SQUARED_HINGE:
        curvature[0] = 2.0 if margin < 1.0 else 0.0
    elif loss == MODIFIED_HUBER:
        curvature[0] = 2.0 if -1.0 <= margin < 1.0 else 0.0
    elif loss == SQUARED_ERROR:
        curvature[0] = 1.0
    elif loss == HUBER:
        curvature[0] = 1.0 if fabs(p - y) <= epsilon else 0.0
    elif loss == SMOOTH_HINGE:
        curvature[0] = 1.0 if 0.0 <= margin < 1.0 else 0.0
    elif loss == SQUARED_EPSILON_INSENSITIVE:
        curvature[0] = 2.0 if fabs(p - y) > epsilon else 0.0
    else:
        curvature[0] = 0.0
    return loss_value(loss, p, y, epsilon)


# The loss smoothed by a quadratic term around ``held``, a dual variable:
#
#     l_nu(p) = max_a  -a p - l*(-a) - nu/2 (a - held)^2
#
# ``slope`` <- -a of the maximum, ``curvature`` <- 1/nu where a moves with p, else 0.
cdef inline double smoothed_with_derivatives(
    int loss, double p, double y, double epsilon, double held, double nu,
    double* slope, double* curvature
) noexcept nogil:
    cdef double size = 0.0
    cdef double a = best_dual(loss, held, p, y, nu, epsilon)
    cdef bint inside = fabs(a) > 0.0 and into_domain(loss, 2.0 * a, y, epsilon) != a
    slope[0] = -a
    curvature[0] = 1.0 / nu if inside else 0.0
    return -a * p - conjugate(loss, a, y, epsilon, &size) - 0.5 * nu * (a - held) * (a - held)
