# The clock: the motion of every untouched weight, kept in two scalars; and its past, from which exact
# averages of the iterates are computed.
from libc.float cimport DBL_MAX, DBL_MIN
from libc.math cimport fabs, fma

cdef struct Clock:
    double scale      # P = product of the steps' a, rounded ...
    double scale_low  # ... and the digits that the rounding lost
    double inverse    # 1 / scale, so that a step divides once
    double shift      # sum of b / P(new): l1 B of Theorem 1, corrected, and l1 beta of Theorem 2
    double shift_low  # digits that rounding took from the shift


# When a sweep is due: every weight must be brought current, and the clock starts again.
cdef struct SweepLimits:
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
    """Whether weights can be read and stored: only limits that never ask for a sweep let this fail.

    Below the normal doubles the scale loses its digits, and its inverse becomes infinite.
    """
    return clock.scale >= DBL_MIN and clock.shift <= DBL_MAX


cdef inline bint beyond_limits(const Clock* clock, const SweepLimits* limits) noexcept nogil:
    """Whether the clock is beyond one of its hard limits."""
    return clock.scale < limits.smallest_scale or clock.scale * clock.shift > limits.largest_cushion


cdef inline bint sweep_is_due(
    const Clock* clock, const SweepLimits* limits, double work
) noexcept nogil:
    """Whether a sweep is due: at a hard limit, or at the soft limit once steps have paid for it."""
    if beyond_limits(clock, limits):
        return True
    return work > limits.enough_work and clock.scale * clock.shift > limits.cushion

# --- averages -------------------------------------------------------------------------------------
#
# Exact averages of the iterates, also where l1 makes weights vanish.
#
# The average needs sum_i omega_i w_i over the iterates i that have counted, for every weight, at
# the cost of the nonzeros.  While no example touches it, a weight is sgn(z) [|z| - shift]+ scale,
# a curve that meets zero at most once, so that with the prefix sums S0 = sum omega scale and
# S1 = sum omega scale shift of the clock's past
#
#     sum = z S0(m) - sgn(z) S1(m) - before         m: the iterates with a shift below |z|
#
# where ``before`` subtracts the part of the sums that precedes the storing of z.  A cell is {z,
# before}; the steps keep both (rules/clock.pxd).  When the clock starts again, or its past is
# full, every sum is folded into ``before``.
#
# Property: equal to lazynet.reference.averages.DenseAverage, which adds up every weight after every
# step (tests/exact/test_lazy_equals_dense.py).


# One plain array holds these numbers between calls.
cdef enum:
    COUNTED = 0            # iterates since the clock was set
    SCALE_SUM_LOW = 1      # the digits that the rounding of the last prefix sums lost
    SHIFT_SUM_LOW = 2
    TOTAL = 3              # sum of omega over all iterates so far, and its lost digits
    TOTAL_LOW = 4
    INTERCEPT_SUM = 5      # sum of omega b over all iterates, and its lost digits
    INTERCEPT_SUM_LOW = 6
    N_AVERAGE_FIELDS = 7


# The past of a clock since it was set: for each iterate that counted, the shift and the prefix sums
#
#     scale_sums[n] = sum_{i <= n} omega_i scale_i
#     shift_sums[n] = sum_{i <= n} omega_i scale_i shift_i
cdef struct Past:
    double* shifts
    double* scale_sums  # S0, from n = 0 on
    double* shift_sums  # S1, from n = 0 on
    Py_ssize_t n        # iterates that have counted
    Py_ssize_t room     # iterates for which there is room


cdef inline double sum_alive(const Past* past, double z, Py_ssize_t n) noexcept nogil:
    """The sum over the first n iterates of a weight that was stored as z and alive in all of them.

    ``before`` of a cell subtracts the iterates before the weight was stored as z.
    """
    return past.scale_sums[n] * z - past.shift_sums[n] * <double> ((z > 0.0) - (z < 0.0))


cdef inline void add_to(double* total, double* low, double term) noexcept nogil:
    """total + low <- total + low + term, in double-double."""
    cdef double error = 0.0
    cdef double rounded = two_sum(total[0], term, &error)
    low[0] += error
    total[0] = rounded + low[0]
    low[0] -= total[0] - rounded


cdef inline void count_totals(double* fields, double omega, double intercept) noexcept nogil:
    """Add omega to the total, and omega times the intercept to the intercept's sum."""
    add_to(&fields[TOTAL], &fields[TOTAL_LOW], omega)
    add_to(&fields[INTERCEPT_SUM], &fields[INTERCEPT_SUM_LOW], omega * intercept)


cdef inline void count_iterate(
    Past* past, double* fields, const Clock* clock, double omega, double intercept
) noexcept nogil:
    """Count the present iterate with the weight omega.  There must be room for one more."""
    cdef double weighed = omega * clock.scale
    cdef Py_ssize_t n = past.n
    past.shifts[n] = clock.shift
    past.scale_sums[n + 1] = past.scale_sums[n]
    past.shift_sums[n + 1] = past.shift_sums[n]
    add_to(&past.scale_sums[n + 1], &fields[SCALE_SUM_LOW], weighed)
    add_to(&past.shift_sums[n + 1], &fields[SHIFT_SUM_LOW], weighed * clock.shift)
    past.n = n + 1
    count_totals(fields, omega, intercept)


# The sum of a weight is a difference of numbers as large as S0 |z|, and |z| = |w| / scale + shift
# may be much larger than |w|.  The reach of the past,
#
#     S0 max(1 / scale, shift) / (sum of omega over all iterates that have counted),
#
# times the unit roundoff bounds the error of an average by the weight.  Two limits keep it small:
# past the soft limit the past is folded as soon as the nonzeros visited have paid for a sweep, past
# the hard limit it is folded at once.
cdef struct Reach:
    double soft_limit
    double hard_limit
    double enough_work


cdef inline bint past_is_due(
    const Past* past,
    const double* fields,
    const Clock* clock,
    const Reach* reach,
    double work,
    double keep,
    double pull,
) noexcept nogil:
    """Whether to fold before a step that shrinks by ``keep`` and ``pull``.

    The step stores weights beside its new scale and shift: after a large decay the sums of the
    past would be too large beside these weights.
    """
    cdef double farthest, bound
    if past.n == 0:
        return False
    if past.n >= past.room:
        return True
    # The reach after the step; both sides are multiplied by ``keep``.
    farthest = max(clock.inverse, clock.shift * keep + pull * clock.inverse)
    farthest *= past.scale_sums[past.n]
    bound = fields[TOTAL] * keep
    if farthest > reach.hard_limit * bound:
        return True
    return work > reach.enough_work and farthest > reach.soft_limit * bound


cdef inline void count_alive(
    const Past* past, const double* z, Py_ssize_t n, Py_ssize_t probes, Py_ssize_t* alive
) noexcept nogil:
    """alive <- for each of n weights the iterates in which it was alive: those with a shift below |z|.

    Shifts never fall.  A round of the search compares ``probes`` of them with each |z|.  All ranges
    are equally long and no branch depends on a comparison, so that the processor waits once a round
    for all shifts, which are seldom in the cache.
    """
    cdef Py_ssize_t left = past.n, part, first, i, k
    for i in range(n):
        alive[i] = 0
    while left > 0:
        part = max(left // (probes + 1), <Py_ssize_t> 1)
        for i in range(n):
            first = alive[i]
            for k in range(min(probes, left)):
                alive[i] += part if past.shifts[first + (k + 1) * part - 1] < fabs(z[i]) else 0
        left -= min(probes, left) * part


cdef inline double sum_of(const Past* past, double z, double before) noexcept nogil:
    """sum_i omega_i w_i of the weight w in a cell, over all iterates that have counted."""
    cdef Py_ssize_t n = past.n
    if z == 0.0:
        return -before
    if n > 0 and not fabs(z) > past.shifts[n - 1]:
        count_alive(past, &z, 1, 1, &n)
    return sum_alive(past, z, n) - before
