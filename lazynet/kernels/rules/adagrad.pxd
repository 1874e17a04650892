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
# after which the step on the example is s <- sqrt(s^2 + g^2), w <- w - alpha / (delta + s) g.  Where s
# is 0 before a gradient that is not, s begins at initial |x_j| times the importance of the row.  The
# intercept is a coordinate without penalties, and its s begins at 0.
#
# A rate that follows the data is alpha = c / m, with m the mean of ||x||_1 over the rows so far, the
# present row included, and delta counts in units of m: multiplying X by a number divides the weights by
# it.  m is computed anew before the steps 0, 1, 2, 4, 8, ... (counted from the first row that is
# measured on), if it has changed by more than a sixteenth of itself, and at the first row that is not
# empty.  A sweep then brings every weight current at the old rates and multiplies it by
# alpha_new / alpha_old: without this the first rows of a stream would decide on the weights of the
# features that they touch.  The intercept has the rate 1 / (delta + s), which follows nothing.
#
# Property: equal to lazynet.reference.adagrad.DenseAdaGrad after every step
# (tests/exact/test_rules_with_state.py).
from libc.math cimport fabs, sqrt
from libc.stdint cimport uint32_t

from ..lanes cimport (
    LANES,
    Lanes,
    absolute,
    any_above,
    any_expm1,
    any_lane,
    any_log1p,
    at_least_zero,
    both,
    exceeds,
    give4,
    is_zero,
    lanes_at,
    nonzero,
    put_lanes,
    quotient,
    root,
    small_expm1,
    small_log1p,
    spread,
    take4,
    where,
    with_sign,
)
from .scale cimport defect_of_scale, is_due, mean_of, most_rows


cdef struct AdaGrad:
    # settings
    double l1, l2, alpha, delta
    double follows      # whether the rates follow the data
    double initial      # times |x_j| and the importance of the row: where s begins
    # fields
    double intercept, intercept_s
    double steps        # taken so far
    double rows         # measured so far
    double sizes        # the sum of their ||x||_1
    double mean         # m, 0 before the first row that is not empty
    double waiting      # 1 where the row of the next step is measured and a sweep was asked for
    # what follows from them
    double alpha_now, delta_now
    double ratio        # l1 / l2, or 0 without an l2 penalty
    double first        # initial times the importance of the row at hand


# The same with an l2 penalty.
cdef struct DecayingAdaGrad:
    AdaGrad rule


cdef inline str defect(const AdaGrad* rule, bint running):
    if not (rule.alpha > 0.0 and rule.delta > 0.0):
        return f"alpha and delta must be positive, got {rule.alpha} and {rule.delta}"
    if not rule.initial >= 0.0:
        return f"initial must not be negative, got {rule.initial}"
    if not 0.0 <= rule.steps <= most_rows():
        return f"fields: steps must lie between 0 and {most_rows():.0f}, got {rule.steps}"
    return defect_of_scale(rule.rows, rule.sizes, rule.mean)


cdef inline void prepare(AdaGrad* rule) noexcept nogil:
    cdef double mean = rule.mean if rule.follows != 0.0 and rule.mean > 0.0 else 1.0
    rule.alpha_now = rule.alpha / mean
    rule.delta_now = rule.delta * mean
    rule.ratio = rule.l1 / rule.l2 if rule.l2 > 0.0 else 0.0
    rule.first = rule.initial


cdef inline bint measure(AdaGrad* rule, double size) noexcept nogil:
    """Whether a sweep must compute alpha anew before the step: m has changed by a sixteenth."""
    cdef bint due
    if rule.waiting != 0.0:
        rule.waiting = 0.0  # the call before has counted this row
        return False
    due = is_due(rule.rows) or rule.mean == 0.0
    rule.rows += 1.0
    rule.sizes += size
    if due and rule.sizes != 0.0:
        rule.waiting = fabs(mean_of(rule.sizes, rule.rows) - rule.mean) > rule.mean / 16.0
    return rule.waiting != 0.0


cdef inline Lanes decay_of(const AdaGrad* rule, Lanes eta, bint decays) noexcept nogil:
    """c, from the rate."""
    cdef Lanes y, series
    if not decays:
        return eta
    y = eta * rule.l2
    series = small_log1p(y)
    if any_above(y, 1.0 / 4096):
        return where(exceeds(y, 1.0 / 4096), any_log1p(y), series)
    return series


cdef inline double decay_at(const AdaGrad* rule, double s) noexcept nogil:
    """c of one cell, from its s."""
    cdef Lanes eta = quotient(rule.alpha_now, spread(rule.delta_now + s))
    cdef Lanes decay = decay_of(rule, eta, rule.l2 > 0.0)
    return (<const double*> &decay)[0]


cdef inline Lanes load(
    const AdaGrad* rule, const double* cells, const uint32_t* columns, double* kept, bint decays
) noexcept nogil:
    cdef Lanes w, s, c, psi, due, size, lost
    take4(cells, columns, &w, &s, &c, &psi)
    due = (rule.steps - psi) * c
    size = absolute(w)
    if decays:
        due = both(due, nonzero(w))  # a weight of zero stays so, however much it has missed
        lost = small_expm1(-due)
        if any_above(due, 1.0 / 32):
            lost = where(exceeds(due, 1.0 / 32), any_expm1(-due), lost)
        size = size + (size + rule.ratio) * lost
    else:
        size = size - due * rule.l1
    w = with_sign(at_least_zero(size), w)
    put_lanes(kept, w)
    put_lanes(kept + LANES, s)
    return w


cdef inline void move(
    const AdaGrad* rule, double* cells, const uint32_t* columns, const double* kept, Lanes x,
    double slope, bint decays
) noexcept nogil:
    cdef Lanes g = slope * x, s = lanes_at(kept + LANES), squares = g * g, begins, eta
    if rule.first != 0.0:
        begins = both(both(rule.first * x, nonzero(g)), is_zero(s))
        squares = squares + begins * begins
    s = root(s * s + squares)
    # Before the first gradient of a coordinate, delta + s may be as small as delta.
    eta = quotient(rule.alpha_now, rule.delta_now + s)
    give4(
        cells, columns, lanes_at(kept) - eta * g, s, decay_of(rule, eta, decays),
        spread(rule.steps),
    )


cdef inline bint finish(AdaGrad* rule, double move) noexcept nogil:
    cdef double alpha = 1.0 if rule.follows != 0.0 else rule.alpha
    rule.steps += 1.0
    if move != 0.0:
        rule.intercept_s = sqrt(rule.intercept_s * rule.intercept_s + move * move)
        rule.intercept -= alpha / (rule.delta + rule.intercept_s) * move
    return False


cdef inline double change_scale(AdaGrad* rule) noexcept nogil:
    """Compute alpha and delta anew if that is due; returns what every weight is multiplied by."""
    cdef double old = rule.alpha_now
    cdef bint first = rule.mean == 0.0  # weights that were loaded keep their size
    if rule.waiting == 0.0:
        return 1.0
    rule.mean = mean_of(rule.sizes, rule.rows)
    prepare(rule)
    return 1.0 if first else rule.alpha_now / old


cdef inline void renew(
    const AdaGrad* old, const AdaGrad* rule, double* cells, const uint32_t* columns,
    double factor, bint decays
) noexcept nogil:
    """Bring the weights current at the old rates, times the factor; c as it is at the present rates.

    Cells whose weights are all zero may be left alone: the next update of such a cell writes all of
    it.
    """
    cdef double[2 * LANES] kept
    cdef Lanes w = load(old, cells, columns, kept, decays), s = lanes_at(kept + LANES), eta
    if any_lane(nonzero(w)):
        eta = quotient(rule.alpha_now, rule.delta_now + s)
        give4(cells, columns, w * factor, s, decay_of(rule, eta, decays), spread(rule.steps))
