# The clock: the motion of every untouched weight, kept in two scalars.
from libc.float cimport DBL_MAX, DBL_MIN
from libc.math cimport fma

cdef struct Clock:
    double scale      # P = product of the steps' a, rounded ...
    double scale_low  # ... and the digits that the rounding lost
    double inverse    # 1 / scale, so that a step divides once
    double shift      # sum of b / P(new): l1 B of Theorem 1, corrected, and l1 beta of Theorem 2
    double shift_low  # digits that rounding took from the shift


# When a clock is worn out and every weight must be brought current.
cdef struct Wear:
    double smallest_scale   # |w| / scale must not overflow
    double cushion          # soft limit of scale * shift, which bounds the absolute error in ulps
    double largest_cushion  # hard limit of scale * shift
    double enough_work      # nonzeros after which a sweep at the soft limit is paid for


cdef inline double two_sum(double a, double b, double* error) noexcept nogil:
    """a + b rounded; ``error`` <- the digits that the rounding lost, exactly (Knuth)."""
    cdef double total = a + b
    cdef double part = total - a
    error[0] = (a - (total - part)) + (b - part)
    return total


cdef inline void decay_scale(Clock* clock, double keep, double keep_low) noexcept nogil:
    """scale <- a scale, in double-double (a = keep + keep_low)."""
    cdef double product = clock.scale * keep, error = fma(clock.scale, keep, -product)
    error += clock.scale * keep_low + clock.scale_low * keep
    clock.scale = product + error
    clock.scale_low = error - (clock.scale - product)
    clock.inverse = 1.0 / clock.scale


cdef inline void push_shift(Clock* clock, double pull) noexcept nogil:
    """shift <- shift + b / scale, in double-double."""
    cdef double quotient = pull * clock.inverse, error = 0.0, total
    cdef double remainder = fma(-quotient, clock.scale, pull) - quotient * clock.scale_low
    remainder = remainder * clock.inverse + clock.shift_low
    total = two_sum(clock.shift, quotient, &error)
    error += remainder
    clock.shift = total + error
    clock.shift_low = error - (clock.shift - total)


cdef inline void advance_clock(
    Clock* clock, double keep, double keep_low, double pull
) noexcept nogil:
    """The shrink |w| <- [a |w| - b]+ of all weights.

    The recurrence adds an error of about 2^-100 a step.  What remains is the rounding of its
    inputs, 1 - a and b, relative to the decay and to the pull, not to a.  The cost is a dozen
    multiplications and no transcendental function.
    """
    if keep != 1.0 or keep_low != 0.0:
        decay_scale(clock, keep, keep_low)
    if pull != 0.0:
        push_shift(clock, pull)


cdef inline bint in_range(const Clock* clock) noexcept nogil:
    """Whether weights can be read and stored: only a wear that forgets to sweep lets this fail.

    Below the normal doubles the scale loses its digits, and its inverse becomes infinite.
    """
    return clock.scale >= DBL_MIN and clock.shift <= DBL_MAX


cdef inline bint beyond_limits(const Clock* clock, const Wear* wear) noexcept nogil:
    """Whether the clock is beyond one of its hard limits."""
    return clock.scale < wear.smallest_scale or clock.scale * clock.shift > wear.largest_cushion


cdef inline bint worn_out(const Clock* clock, const Wear* wear, double work) noexcept nogil:
    """Whether a sweep is due: at a hard limit, or at the soft limit once steps have paid for it."""
    if beyond_limits(clock, wear):
        return True
    return work > wear.enough_work and clock.scale * clock.shift > wear.cushion
