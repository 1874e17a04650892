# SAGA with an elastic net (Defazio, Bach & Lacoste-Julien 2014).  The slope of every row at its
# last visit is remembered.  A step on the row x, one of n, whose slope has since grown by `change`,
# is
#
#     w <- prox( w - alpha (change x + m) )     m <- m + change x / n
#
# where m is the mean of the remembered gradients and prox(v) = soft(v, alpha l1) / (1 + alpha l2).
# A cell is {w, m, psi}: the weight, its mean, and how many steps had been taken when it was
# stored.  A weight that no row touches takes the same step every time,
#
#     w <- soft(w - d, theta) / (1 + alpha l2)      d = alpha m      theta = alpha l1
#
# While it stays on its side of zero (s = +1 or -1), |w| loses q = s d + theta in each step and is
# then divided; k steps are one:
#
#     |w| <- |w| + (|w| + q / (alpha l2)) expm1(-k log1p(alpha l2))     without l2:  |w| - k q
#
# With q <= 0 this holds for any k.  With q > 0 the weight meets zero, and the formula is negative
# from then on.  If |d| <= theta the weight then stays at zero.  Otherwise d carries it to the other
# side, where its q is theta - |d| < 0, so that it never comes back: the weight is taken by the
# formula to just before zero, by single steps across, and by the formula from there.  Each of these
# is a constant number of operations, whatever k is.
#
# The intercept is a weight whose value is 1 in every row, without a penalty.
#
# Property: equal to lazynet.reference.saga.DenseSAGA after every step
# (tests/exact/test_lazy_equals_dense.py, and over long gaps tests/exact/test_saga.py).
from libc.math cimport copysign, expm1, fabs, floor, ldexp, log1p

from ..lanes cimport (
    WIDTH, Lanes, absolute, any_above, any_lane, at_most, both, broadcast, exceeds, is_zero,
    lane_of, nonzero, set_lane, small_expm1, soft, where, with_sign, without,
)
from ..rows cimport soft as soft_number
from .defects cimport negative_penalty, not_a_count, not_positive


cdef struct Saga:
    # constants
    double l1, l2, alpha
    # fields
    double intercept, intercept_mean
    double steps    # taken so far
    # what follows from them, and n
    double theta    # alpha l1
    double divisor  # 1 + alpha l2
    double decay    # log1p(alpha l2), or 0 without an l2 penalty
    double inverse  # 1 / (alpha l2), or 0 without an l2 penalty
    double n_rows
    double* slopes  # of every row at its last visit


cdef inline void prepare(Saga* rule) noexcept nogil:
    cdef double decay = rule.alpha * rule.l2
    # A smaller decay changes no digit of a weight in 2^53 steps, and its inverse could overflow.
    cdef bint decays = decay >= ldexp(1.0, -500)
    rule.theta = rule.alpha * rule.l1
    rule.divisor = 1.0 + decay
    rule.decay = log1p(decay) if decays else 0.0
    rule.inverse = 1.0 / decay if decays else 0.0


cdef inline str begin(Saga* rule, bint running):
    cdef bint unknown = rule.alpha == 0.0 and not running
    prepare(rule)
    return (
        negative_penalty(rule.l1, rule.l2)
        or (None if unknown else not_positive("alpha", rule.alpha))
        or not_a_count("steps", rule.steps)
    )


cdef inline double one_step(const Saga* rule, double w, double d) noexcept nogil:
    """prox(w - d)"""
    return soft_number(w - d, rule.theta) / rule.divisor


cdef inline double expm1_of(double x) noexcept nogil:
    return lane_of(small_expm1(broadcast(x)), 0) if -1.0 / 32 <= x <= 0.0 else expm1(x)


cdef inline double magnitude_after(
    const Saga* rule, double magnitude, double q, double k
) noexcept nogil:
    """The magnitude of a weight after k steps in which it loses q and stays on its side."""
    if not rule.decay > 0.0:
        return magnitude - k * q
    return magnitude + (magnitude + q * rule.inverse) * expm1_of(-(k * rule.decay))


cdef inline double crossed(const Saga* rule, double w, double d, double k) noexcept nogil:
    """A weight that crosses zero within the next k steps, k steps later."""
    cdef double side = copysign(1.0, w), magnitude = fabs(w), q = side * d + rule.theta
    # The formula is zero after this many steps.
    cdef double whole = (
        log1p(magnitude / (q * rule.inverse)) / rule.decay if rule.decay > 0.0 else magnitude / q
    )
    cdef double ahead = max(min(floor(whole) - 1.0, k), 0.0)
    cdef double before = magnitude_after(rule, magnitude, q, ahead), beyond
    cdef int n = 0
    w = side * max(before, 0.0)
    k -= ahead
    # Two steps lead across; a third where ``whole`` was rounded.
    while n < 3 and k > 0.0 and side * w > 0.0:
        w = one_step(rule, w, d)
        n += 1
        k -= 1.0
    if not k > 0.0:
        return w
    beyond = fabs(w) if side * w < 0.0 else 0.0
    return -side * magnitude_after(rule, beyond, rule.theta - fabs(d), k)


cdef inline Lanes load(const Saga* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    """The weights after the steps in which no row has visited them."""
    cdef Lanes w = cell[0], mean = cell[1], steps = rule.steps - cell[2]
    cdef Lanes d = rule.alpha * mean, magnitude = absolute(w)
    cdef Lanes side, q, due, lost, left, still, carried
    cdef int lane
    # From zero a weight leaves against d.
    side = with_sign(broadcast(1.0), where(nonzero(w), w, -d))
    q = side * d + rule.theta
    if rule.decay > 0.0:
        due = steps * rule.decay
        lost = small_expm1(-due)
        if any_above(due, 1.0 / 32):
            for lane in range(WIDTH):
                set_lane(&lost, lane, expm1_of(-lane_of(due, lane)))
        left = magnitude + (magnitude + q * rule.inverse) * lost
    else:
        left = magnitude - steps * q
    still = both(is_zero(w), at_most(absolute(d), rule.theta))  # most weights, under an l1 penalty
    carried = both(exceeds(-left, 0.0), exceeds(absolute(d), rule.theta))
    left = without(without(side * left, at_most(left, 0.0)), still)  # NaN stays NaN
    if any_lane(carried):
        for lane in range(WIDTH):
            if lane_of(carried, lane) != 0.0:  # a mask of ones is NaN
                set_lane(
                    &left, lane,
                    crossed(rule, lane_of(w, lane), lane_of(d, lane), lane_of(steps, lane)),
                )
    kept[0], kept[1] = left, mean
    return left


cdef inline void move(
    const Saga* rule, Lanes* cell, const Lanes* kept, Lanes x, Lanes move
) noexcept nogil:
    cdef Lanes g = move * x, mean = kept[1], w = kept[0] - rule.alpha * (g + mean)
    cell[0] = soft(w, broadcast(rule.theta)) / broadcast(rule.divisor)
    cell[1], cell[2] = mean + g / broadcast(rule.n_rows), broadcast(rule.steps + 1.0)


cdef inline bint finish(Saga* rule, double change) noexcept nogil:
    rule.steps += 1.0
    rule.intercept -= rule.alpha * (change + rule.intercept_mean)
    rule.intercept_mean += change / rule.n_rows
    return False
