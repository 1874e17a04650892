# INEXACT for l2 > 0: Carpenter's lazy sparse SGD (Carpenter 2008), kept as a baseline for
# comparisons. Computes SGD, and in place of all the shrinks that a weight has missed one linear
# step, at the rate of the step before the present one:
#
#     |w| <- [ |w| - missed rate (l1 + l2 |w|) ]+
#
# A cell is {w, psi}: the weight, and how many steps had been taken when it was brought current.
# Every `period` steps all weights are brought current; a period of 0 means never.  The rule is
# exact with period 1, and without l2 at a constant rate.
#
# Catching up in two parts gives another weight than catching up at once, so a row's weights are
# brought current also where the example moves nothing.
#
# Property: equal to lazynet.reference.carpenter.PlainCarpenter after every step
# (tests/exact/test_lazy_equals_dense.py).
from libc.math cimport fmod

from ..lanes cimport Lanes, absolute, at_least_zero, broadcast, with_sign
from .defects cimport negative, negative_penalty
from .motion cimport SweepLimits


cdef struct Carpenter:
    double l1, l2, period  # constants
    double steps           # fields: taken so far ...
    double rate            # ... the rate of the last step
    double intercept


cdef inline str begin(Carpenter* rule, bint running):
    return negative_penalty(rule.l1, rule.l2) or negative("period", rule.period)


cdef inline Lanes load(const Carpenter* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    cdef Lanes w = cell[0], magnitude = absolute(w)
    magnitude = magnitude - (rule.steps - cell[1]) * rule.rate * (rule.l1 + rule.l2 * magnitude)
    kept[0] = with_sign(at_least_zero(magnitude), w)
    return kept[0]


cdef inline void move(
    const Carpenter* rule, Lanes* cell, const Lanes* kept, Lanes x, Lanes move
) noexcept nogil:
    cell[0], cell[1] = kept[0] - move * x, broadcast(rule.steps)


cdef inline bint finish(
    Carpenter* rule, double move, double rate, double pull, const SweepLimits* limits
) noexcept nogil:
    rule.intercept -= move
    rule.steps += 1.0
    rule.rate = rate
    return rule.period > 0.0 and fmod(rule.steps, rule.period) == 0.0
