# AdaGrad with an elastic net, in the composite form of Duchi, Hazan & Singer (2011): a rate per
# coordinate, constant between two touches.  A cell is {w, s, c, psi}, 32 bytes:
#
#     w    the weight, as of step psi
#     s    the root of the sum of the squared gradients; the rate is eta = alpha / (delta + s)
#     c    what the weight loses in one shrink: log1p(eta l2), or eta itself without l2
#     psi  how many steps had been taken when w was stored
#
# The n shrinks that a weight has missed, all at the rate eta, are one:
#
#     |w| <- [ |w| + (|w| + l1 / l2) expm1(-n c) ]+        without l2:  |w| <- [ |w| - n c l1 ]+
#
# after which the step on the example is s <- sqrt(s^2 + g^2), w <- w - alpha / (delta + s) g.
# Where s is 0 before a gradient that is not, s begins at initial |x_j| times the importance of the
# row.  The intercept is a coordinate without penalties, and its s begins at 0.
#
# A rate that follows the data is alpha = c / m, with m the mean of ||x||_1 over the rows so far,
# the present row included, and delta counts in units of m: multiplying X by a number divides the
# weights by it.  m is recomputed before the steps 0, 1, 2, 4, 8, ... (counted from the first row
# that is measured on), if it has changed by more than a sixteenth of itself, and at the first row
# that is not empty.  A sweep then brings every weight current at the old rates and multiplies it by
# alpha_new / alpha_old: without this the first rows of a stream would decide on the weights of the
# features that they touch.  The intercept has the rate 1 / (delta + s), which follows nothing.
#
# Property: equal to lazynet.reference.adagrad.DenseAdaGrad after every step
# (tests/exact/test_lazy_equals_dense.py).
from libc.math cimport fabs, ldexp, sqrt

from ..from_data cimport is_due, mean_of
from ..lanes cimport (
    Lanes, absolute, any_above, any_expm1, any_log1p, any_nonzero, at_least_zero, both, broadcast,
    exceeds, is_zero, lane_of, nonzero, root, set_lane, small_expm1, small_log1p, where, with_sign,
)
from .defects cimport (
    defect_of_mean_size, negative, negative_penalty, not_a_count, not_positive,
)


cdef struct AdaGrad:
    # constants
    double l1, l2, alpha, delta
    double follows      # whether the rates follow the data
    double initial      # times |x_j| and the importance of the row: where s begins
    # fields
    double intercept, intercept_s
    double steps        # taken so far
    double rows         # measured so far
    double sum_of_sizes # the sum of their ||x||_1
    double mean         # m, 0 before the first row that is not empty
    double waiting      # 1 where the row of the next step is measured and a sweep was asked for
    # what follows from them
    double alpha_now, delta_now
    double ratio        # l1 / l2, or 0 without an l2 penalty
    double first        # initial times the importance of the row at hand
    bint decays         # whether there is an l2 penalty ...
    bint some_decay     # ... of this output or of another one


# What a step reads, where the rules of several outputs lie side by side.
cdef struct AdaGradLanes:
    Lanes l1, l2, ratio, alpha_now, delta_now, steps, first
    bint decays


cdef fused AnyAdaGrad:
    AdaGrad
    AdaGradLanes


cdef inline void prepare(AdaGrad* rule) noexcept nogil:
    cdef double mean = rule.mean if rule.follows != 0.0 and rule.mean > 0.0 else 1.0
    rule.alpha_now = rule.alpha / mean
    rule.delta_now = rule.delta * mean
    rule.ratio = rule.l1 / rule.l2 if rule.l2 > 0.0 else 0.0
    rule.first = rule.initial
    rule.decays = rule.l2 > 0.0


cdef inline str begin(AdaGrad* rule, bint running):
    prepare(rule)
    return (
        negative_penalty(rule.l1, rule.l2)
        or not_positive("alpha", rule.alpha) or not_positive("delta", rule.delta)
        or negative("follows", rule.follows) or negative("initial", rule.initial)
        or not_a_count("steps", rule.steps)
        or defect_of_mean_size(rule.rows, rule.sum_of_sizes, rule.mean)
    )


cdef inline bint measure(AdaGrad* rule, double size) noexcept nogil:
    """Whether a sweep must recompute alpha before the step: m has changed by a sixteenth."""
    cdef bint due
    if rule.waiting != 0.0:
        rule.waiting = 0.0  # the call before has counted this row
        return False
    due = is_due(rule.rows) or rule.mean == 0.0
    rule.rows += 1.0
    rule.sum_of_sizes += size
    if due and rule.sum_of_sizes != 0.0:
        rule.waiting = fabs(mean_of(rule.sum_of_sizes, rule.rows) - rule.mean) > rule.mean / 16.0
    return rule.waiting != 0.0


cdef inline Lanes rate_at(const AnyAdaGrad* rule, Lanes s) noexcept nogil:
    """eta.  Before the first gradient of a coordinate, delta + s may be as small as delta."""
    return broadcast(rule.alpha_now) / (broadcast(rule.delta_now) + s)


cdef inline Lanes decay_of(const AnyAdaGrad* rule, Lanes eta) noexcept nogil:
    """c, from the rate."""
    cdef Lanes y, series
    if not rule.decays:
        return eta
    y = eta * broadcast(rule.l2)
    series = small_log1p(y)
    if any_above(y, 1.0 / 4096):
        return where(exceeds(y, 1.0 / 4096), any_log1p(y), series)
    return series


cdef inline double decay_at(const AdaGrad* rule, double s) noexcept nogil:
    """c of one cell, from its s."""
    return lane_of(decay_of(rule, rate_at(rule, broadcast(s))), 0)


cdef inline Lanes load(const AnyAdaGrad* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    cdef Lanes w = cell[0], magnitude = absolute(w), lost
    cdef Lanes due = (broadcast(rule.steps) - cell[3]) * cell[2]
    if rule.decays:
        due = both(due, nonzero(w))  # a weight of zero stays so, however much it has missed
        lost = small_expm1(-due)
        if any_above(due, 1.0 / 32):
            lost = where(exceeds(due, 1.0 / 32), any_expm1(-due), lost)
        magnitude = magnitude + (magnitude + broadcast(rule.ratio)) * lost
    else:
        magnitude = magnitude - due * broadcast(rule.l1)
    kept[0], kept[1] = with_sign(at_least_zero(magnitude), w), cell[1]
    return kept[0]


cdef inline void move(
    const AnyAdaGrad* rule, Lanes* cell, const Lanes* kept, Lanes x, Lanes move
) noexcept nogil:
    cdef Lanes g = move * x, s = kept[1], squares = g * g, begins, eta
    if any_nonzero(rule.first):
        begins = both(both(broadcast(rule.first) * x, nonzero(g)), is_zero(s))
        squares = squares + begins * begins
    s = root(s * s + squares)
    eta = rate_at(rule, s)
    cell[0], cell[1] = kept[0] - eta * g, s
    cell[2], cell[3] = decay_of(rule, eta), broadcast(rule.steps)


cdef inline void show(const AdaGrad* rule, AdaGradLanes* lanes, int lane) noexcept nogil:
    """Put the rule of one output beside those of others.

    An output without an l2 penalty beside others with one gets an l2 so small that it changes no
    digit of a weight.
    """
    cdef double l2 = rule.l2 if rule.l2 > 0.0 else ldexp(rule.l1, -70)
    set_lane(&lanes.l1, lane, rule.l1)
    set_lane(&lanes.l2, lane, l2)
    set_lane(&lanes.ratio, lane, rule.l1 / l2 if l2 > 0.0 else 0.0)
    set_lane(&lanes.alpha_now, lane, rule.alpha_now)
    set_lane(&lanes.delta_now, lane, rule.delta_now)
    set_lane(&lanes.first, lane, rule.first)
    set_lane(&lanes.steps, lane, 0.0)  # a step counts back from now
    lanes.decays = rule.some_decay


cdef inline bint finish(AdaGrad* rule, double move) noexcept nogil:
    cdef double alpha = 1.0 if rule.follows != 0.0 else rule.alpha
    rule.steps += 1.0
    if move != 0.0:
        rule.intercept_s = sqrt(rule.intercept_s * rule.intercept_s + move * move)
        rule.intercept -= alpha / (rule.delta + rule.intercept_s) * move
    return False


cdef inline double change_scale(AdaGrad* rule) noexcept nogil:
    """Recompute alpha and delta if this is due; returns what every weight is multiplied by."""
    cdef double old = rule.alpha_now
    cdef bint first = rule.mean == 0.0  # weights that were loaded keep their size
    if rule.waiting == 0.0:
        return 1.0
    rule.mean = mean_of(rule.sum_of_sizes, rule.rows)
    prepare(rule)
    return 1.0 if first else rule.alpha_now / old


cdef inline void renew(
    const AdaGrad* old, const AdaGrad* rule, Lanes* cell, double factor
) noexcept nogil:
    """Bring the weights current at the old rates, times the factor; c as it is at the present rates.

    Also a weight that is now zero is written: at other rates its missed shrinks would be fewer.
    """
    cdef Lanes[2] kept
    load(old, cell, kept)
    cell[0] = kept[0] * broadcast(factor)
    cell[2], cell[3] = decay_of(rule, rate_at(rule, kept[1])), broadcast(rule.steps)
