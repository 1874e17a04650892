# Regularised dual averaging (Xiao 2010) with an elastic net.  A cell is {v}, minus the sum of the
# gradients.  With t gradients seen, every weight is
#
#     w = soft(v, t l1 + gamma rho sqrt(t)) / (t l2 + gamma sqrt(t))
#
# and 0 for t = 0.  A step is v <- v - g x.  The intercept has a sum of its own and no penalty.
#
# Where gamma follows the data, it stands for gamma m^2, m the mean of the Euclidean norms of the rows
# seen so far (scale.pxd), and the intercept has a gamma of its own.
#
# Property: equal to lazynet.reference.rda.DenseRDA after every step
# (tests/exact/test_rules_with_state.py).
from libc.math cimport sqrt
from libc.stdint cimport uint32_t

from ..lanes cimport Lanes, give1, lanes_at, put_lanes, soft, take1
from .scale cimport ASKS, CHANGED, Scale, count_size, defect_of_scale, unit


cdef struct Rda:
    # settings
    double l1, l2, gamma, rho
    double free_gamma     # of the intercept where gamma follows the data; 0: it does not
    # fields
    double seen           # t
    double intercept_sum  # minus the sum of the gradients of the intercept
    Scale sizes
    # what follows from them
    double measures, gamma_now, shift, factor, intercept


cdef inline str defect(const Rda* rule, bint running):
    if not rule.gamma > 0.0:
        return f"gamma must be positive, got {rule.gamma}"
    if not rule.free_gamma >= 0.0:
        return f"free_gamma must not be negative, got {rule.free_gamma}"
    return defect_of_scale(rule.sizes.rows, rule.sizes.sizes, rule.sizes.mean)


cdef inline double factor_of(double t, double l2, double gamma) noexcept nogil:
    return 1.0 / (t * l2 + gamma * sqrt(t)) if t > 0.0 else 0.0


cdef inline void set_weights(Rda* rule) noexcept nogil:
    """Shift, factor and intercept at the present t."""
    cdef double t = rule.seen, free = rule.free_gamma if rule.measures else rule.gamma
    rule.shift = t * rule.l1 + rule.gamma_now * rule.rho * sqrt(t)
    rule.factor = factor_of(t, rule.l2, rule.gamma_now)
    rule.intercept = rule.intercept_sum * factor_of(t, 0.0, free)


cdef inline void prepare(Rda* rule) noexcept nogil:
    cdef double size = unit(&rule.sizes)
    rule.measures = rule.free_gamma != 0.0
    rule.gamma_now = rule.gamma * (size * size) if rule.measures else rule.gamma
    set_weights(rule)


cdef inline bint measure(Rda* rule, double size) noexcept nogil:
    cdef int change = count_size(&rule.sizes, sqrt(size))
    if change == CHANGED:
        prepare(rule)
    return change == ASKS


cdef inline Lanes load(
    const Rda* rule, const double* cells, const uint32_t* columns, double* kept
) noexcept nogil:
    cdef Lanes v = take1(cells, columns)
    put_lanes(kept, v)
    return soft(v, rule.shift)


cdef inline void move(
    const Rda* rule, double* cells, const uint32_t* columns, const double* kept, Lanes g
) noexcept nogil:
    give1(cells, columns, lanes_at(kept) - g)


cdef inline bint finish(Rda* rule, double move) noexcept nogil:
    rule.seen += 1.0
    rule.intercept_sum -= move
    set_weights(rule)
    return False
