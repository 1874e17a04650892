# Regularised dual averaging (Xiao 2010) with an elastic net.  A cell is {v}, minus the sum of the
# gradients.  With t gradients seen, every weight is
#
#     w = soft(v, t l1 + gamma rho sqrt(t)) / (t l2 + gamma sqrt(t))
#
# and 0 for t = 0.  A step is v <- v - g x.  The intercept has a sum of its own and no penalty.
#
# Where gamma follows the data, it stands for gamma m^2, m the mean of the Euclidean norms of the
# rows seen so far (from_data.pxd), and the intercept has a gamma of its own.
#
# Property: equal to lazynet.reference.rda.DenseRDA after every step
# (tests/exact/test_lazy_equals_dense.py).
from libc.math cimport sqrt

from ..from_data cimport ASKS, CHANGED, MeanSize, count_size, unit
from ..lanes cimport Lanes, broadcast, set_lane, soft
from .defects cimport defect_of_mean_size, negative, negative_penalty, not_positive


cdef struct Rda:
    # constants
    double l1, l2, gamma, rho
    double intercept_gamma  # 0 where gamma does not follow the data
    # fields
    double steps          # t
    double intercept_sum  # minus the sum of the gradients of the intercept
    MeanSize mean_size
    # what follows from them
    double follows, gamma_now, shift, factor, intercept


# What a step reads, where the rules of several outputs lie side by side.
cdef struct RdaLanes:
    Lanes shift


cdef fused AnyRda:
    Rda
    RdaLanes


cdef inline double factor_of(double t, double l2, double gamma) noexcept nogil:
    return 1.0 / (t * l2 + gamma * sqrt(t)) if t > 0.0 else 0.0


cdef inline void set_weights(Rda* rule) noexcept nogil:
    """Shift, factor and intercept at the present t."""
    cdef double t = rule.steps, free = rule.intercept_gamma if rule.follows else rule.gamma
    rule.shift = t * rule.l1 + rule.gamma_now * rule.rho * sqrt(t)
    rule.factor = factor_of(t, rule.l2, rule.gamma_now)
    rule.intercept = rule.intercept_sum * factor_of(t, 0.0, free)


cdef inline void prepare(Rda* rule) noexcept nogil:
    cdef double mean = unit(&rule.mean_size)
    rule.follows = rule.intercept_gamma != 0.0
    rule.gamma_now = rule.gamma * (mean * mean) if rule.follows else rule.gamma
    set_weights(rule)


cdef inline str begin(Rda* rule, bint running):
    prepare(rule)
    return (
        negative_penalty(rule.l1, rule.l2)
        or not_positive("gamma", rule.gamma) or negative("rho", rule.rho)
        or negative("intercept_gamma", rule.intercept_gamma)
        or defect_of_mean_size(
            rule.mean_size.rows, rule.mean_size.sum_of_sizes, rule.mean_size.mean
        )
    )


cdef inline bint measure(Rda* rule, double size) noexcept nogil:
    cdef int change = count_size(&rule.mean_size, sqrt(size))
    if change == CHANGED:
        prepare(rule)
    return change == ASKS


cdef inline Lanes load(const AnyRda* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    kept[0] = cell[0]
    return soft(cell[0], broadcast(rule.shift))


cdef inline void move(
    const AnyRda* rule, Lanes* cell, const Lanes* kept, Lanes x, Lanes move
) noexcept nogil:
    cell[0] = kept[0] - move * x


cdef inline void show(const Rda* rule, RdaLanes* lanes, int lane) noexcept nogil:
    """Put the rule of one output beside those of others."""
    set_lane(&lanes.shift, lane, rule.shift)


cdef inline bint finish(Rda* rule, double move) noexcept nogil:
    rule.steps += 1.0
    rule.intercept_sum -= move
    set_weights(rule)
    return False
