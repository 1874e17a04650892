# Truncated gradient with a threshold (Langford, Li & Zhang 2009, Eq. 5 and 6): SGD, and after every
# step w <- T1(w, alpha, theta), which moves a weight towards zero by alpha, stops at zero, and leaves a
# weight beyond the threshold theta alone.  alpha is the `pull` of the step, 0 between two truncations.
#
# Gravity is the sum of all alphas so far.  A cell is {w, stamp}: the weight, and gravity as of when the
# weight was stored.  A weight within the threshold has had every truncation since then.  A weight
# beyond it has had none, because only a gradient brings it back.  (Without a threshold the rule is
# computed by the clock.)
#
# Property: equal to lazynet.reference.truncated_gradient.DenseTruncated after every step
# (tests/exact/test_rules_with_state.py).
from libc.stdint cimport uint32_t

from ..lanes cimport (
    Lanes,
    absolute,
    exceeds,
    give2,
    lanes_at,
    put_lanes,
    soft_by,
    spread,
    take2,
    where,
)


cdef struct Truncated:
    double threshold           # setting
    double gravity, intercept  # fields


cdef inline Lanes load(
    const Truncated* rule, const double* cells, const uint32_t* columns, double* kept
) noexcept nogil:
    cdef Lanes w, stamp
    take2(cells, columns, &w, &stamp)
    w = where(exceeds(absolute(w), rule.threshold), w, soft_by(w, rule.gravity - stamp))
    put_lanes(kept, w)
    return w


cdef inline void move(
    const Truncated* rule, double* cells, const uint32_t* columns, const double* kept, Lanes g
) noexcept nogil:
    give2(cells, columns, lanes_at(kept) - g, spread(rule.gravity))


cdef inline bint finish(
    Truncated* rule, double move, double pull, double largest_cushion
) noexcept nogil:
    rule.intercept -= move
    rule.gravity += pull
    # Beside a large sum the difference of two stamps loses its digits.
    return rule.gravity > largest_cushion
