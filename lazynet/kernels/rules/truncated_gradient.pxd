# Truncated gradient with a threshold (Langford, Li & Zhang 2009, Eq. 5 and 6): SGD, and after every
# step w <- T1(w, alpha, theta), which moves a weight towards zero by alpha, stops at zero, and
# leaves a weight beyond the threshold theta alone.  alpha is the `pull` of the step, 0 between two
# truncations.
#
# Gravity is the sum of all alphas so far.  A cell is {w, stamp}: the weight, and gravity as of when
# the weight was stored.  A weight within the threshold has had every truncation since then.  A
# weight beyond it has had none, because only a gradient brings it back.  (Without a threshold the
# rule is computed by the clock.)
#
# Property: equal to lazynet.reference.truncated_gradient.DenseTruncatedGradient after every step
# (tests/exact/test_lazy_equals_dense.py).
from ..lanes cimport Lanes, absolute, broadcast, exceeds, soft, where
from .motion cimport SweepLimits


cdef struct Truncated:
    double threshold           # setting
    double gravity, intercept  # fields


cdef inline str begin(Truncated* rule, bint running):
    if rule.threshold >= 0.0:
        return None
    return f"threshold must not be negative, got {rule.threshold}"


cdef inline Lanes load(const Truncated* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    cdef Lanes w = cell[0], shrunk = soft(w, rule.gravity - cell[1])
    kept[0] = where(exceeds(absolute(w), rule.threshold), w, shrunk)
    return kept[0]


cdef inline void move(
    const Truncated* rule, Lanes* cell, const Lanes* kept, Lanes x, Lanes move
) noexcept nogil:
    cell[0], cell[1] = kept[0] - move * x, broadcast(rule.gravity)


cdef inline bint finish(
    Truncated* rule, double move, double rate, double pull, const SweepLimits* limits
) noexcept nogil:
    rule.intercept -= move
    rule.gravity += pull
    # Beside a large sum the difference of two stamps loses its digits.
    return rule.gravity > limits.largest_cushion
