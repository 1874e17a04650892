# FTRL-Proximal (McMahan et al. 2013, Algorithm 1) with an elastic net: a rate per coordinate, and
# weights that are computed where they are needed.  A cell is {z, s}, with s the root of the sum of
# the squared gradients of its coordinate:
#
#     w = -soft(z, k l1) alpha / (beta + alpha k l2 + s)
#     s' = sqrt(s^2 + g^2)        z <- z + g - (s' - s) / alpha w        s <- s'
#
# k is the number of examples on which the penalty counts: the number of steps taken so far, and at
# least 1, or in the published form 1 throughout.  The intercept is a cell without penalties.  No
# weight ever lags behind, because k is one number for all weights, and no schedule of rates is
# used. With beta = 0 a coordinate has no rate before its first gradient: until then the l2 penalty
# bounds the weights, and the intercept is 0.
#
# Where the rates follow the data, alpha and beta count in units of the data: alpha stands for alpha
# / m and beta for beta m, m the mean size of the rows seen so far (from_data.pxd), and the intercept
# has an alpha and a beta of its own.  z does not depend on alpha: without a penalty, an alpha that
# is u times as large from the first step on makes every w u times as large and (s' - s) / alpha
# times w the same. A new alpha therefore multiplies the weights by alpha_new / alpha_old and
# changes no cell.
#
# Property: equal to lazynet.reference.ftrl.DenseFTRL after every step
# (tests/exact/test_lazy_equals_dense.py).
from libc.float cimport DBL_MIN
from libc.math cimport sqrt

from ..from_data cimport ASKS, CHANGED, MeanSize, count_size, unit
from ..lanes cimport Lanes, broadcast, root, set_lane, soft
from .defects cimport defect_of_mean_size, negative, negative_penalty, not_positive


cdef struct Ftrl:
    # constants
    double l1, l2         # on one example
    double per_example    # whether the penalty counts once per example, or once in all
    double alpha, beta
    double intercept_alpha, intercept_beta  # 0 where the rates do not follow the data
    # fields
    double intercept_z, intercept_s
    double steps          # taken so far
    MeanSize mean_size
    # what follows from them
    double follows, alpha_now, inverse_alpha, beta_now
    double shift          # k l1
    double damping        # beta + alpha k l2
    double intercept


# What a step reads, where the rules of several outputs lie side by side.
cdef struct FtrlLanes:
    Lanes shift, alpha_now, inverse_alpha, damping


cdef fused AnyFtrl:
    Ftrl
    FtrlLanes


cdef inline void set_penalty(Ftrl* rule) noexcept nogil:
    """The penalty of all examples at the present number of steps."""
    cdef double k = rule.steps if rule.per_example != 0.0 and rule.steps > 1.0 else 1.0
    rule.shift = k * rule.l1
    # Where beta and l2 are 0 and no gradient has been seen, the weight is 0, and not 0 / 0.
    rule.damping = max(rule.beta_now + rule.alpha_now * (k * rule.l2), DBL_MIN)


cdef inline double alpha_of_intercept(const Ftrl* rule) noexcept nogil:
    return rule.intercept_alpha if rule.follows else rule.alpha


cdef inline void set_intercept(Ftrl* rule) noexcept nogil:
    """The intercept's weight; 0 where beta is 0 and no gradient has been seen."""
    cdef double damping = rule.intercept_beta if rule.follows else rule.beta
    rule.intercept = 0.0
    if damping + rule.intercept_s > 0.0:
        rule.intercept = (
            (0.0 - rule.intercept_z) * alpha_of_intercept(rule) / (damping + rule.intercept_s)
        )


cdef inline void prepare(Ftrl* rule) noexcept nogil:
    cdef double mean = unit(&rule.mean_size)
    rule.follows = rule.intercept_alpha != 0.0
    rule.alpha_now = rule.alpha / mean if rule.follows else rule.alpha
    rule.beta_now = rule.beta * mean if rule.follows else rule.beta
    rule.inverse_alpha = 1.0 / rule.alpha_now
    set_penalty(rule)
    set_intercept(rule)


cdef inline str begin(Ftrl* rule, bint running):
    cdef str found
    prepare(rule)
    found = (
        negative_penalty(rule.l1, rule.l2) or negative("per_example", rule.per_example)
        or not_positive("alpha", rule.alpha) or negative("beta", rule.beta)
        or negative("intercept_alpha", rule.intercept_alpha)
        or negative("intercept_beta", rule.intercept_beta)
    )
    if found is None and running and not rule.beta + rule.alpha * rule.l2 > 0.0:
        return (
            f"beta + alpha * l2 must be positive, got beta={rule.beta}, alpha={rule.alpha} and "
            f"l2={rule.l2}"
        )
    return found or defect_of_mean_size(
        rule.mean_size.rows, rule.mean_size.sum_of_sizes, rule.mean_size.mean
    )


cdef inline bint measure(Ftrl* rule, double size) noexcept nogil:
    cdef int change = count_size(&rule.mean_size, size)
    if change == CHANGED:
        prepare(rule)
    return change == ASKS


cdef inline Lanes load(const AnyFtrl* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    cdef Lanes z = cell[0], s = cell[1]
    # Not -soft: a weight of zero has no sign.
    cdef Lanes numerator = (0.0 - soft(z, broadcast(rule.shift))) * broadcast(rule.alpha_now)
    kept[0], kept[1], kept[2] = z, s, numerator / (broadcast(rule.damping) + s)
    return kept[2]


cdef inline void move(
    const AnyFtrl* rule, Lanes* cell, const Lanes* kept, Lanes x, Lanes move
) noexcept nogil:
    cdef Lanes g = move * x, z = kept[0], old = kept[1], w = kept[2], s = root(old * old + g * g)
    cell[0] = z + (g - (s - old) * broadcast(rule.inverse_alpha) * w)
    cell[1] = s


cdef inline void show(const Ftrl* rule, FtrlLanes* lanes, int lane) noexcept nogil:
    """Put the rule of one output beside those of others."""
    set_lane(&lanes.shift, lane, rule.shift)
    set_lane(&lanes.alpha_now, lane, rule.alpha_now)
    set_lane(&lanes.inverse_alpha, lane, rule.inverse_alpha)
    set_lane(&lanes.damping, lane, rule.damping)


cdef inline bint finish(Ftrl* rule, double move) noexcept nogil:
    cdef double old = rule.intercept_s, s
    rule.steps += 1.0
    if rule.per_example != 0.0:
        set_penalty(rule)
    if move != 0.0:
        s = sqrt(old * old + move * move)
        rule.intercept_z += move - (s - old) * (1.0 / alpha_of_intercept(rule)) * rule.intercept
        rule.intercept_s = s
        set_intercept(rule)
    return False
