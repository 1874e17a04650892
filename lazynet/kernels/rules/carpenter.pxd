# INEXACT for l2 > 0: Carpenter's lazy sparse SGD (Carpenter 2008), kept as a baseline for comparisons.
# Computes SGD, and in place of all the shrinks that a weight has missed one linear step, at the rate
# of the step before the present one:
#
#     |w| <- [ |w| - missed rate (l1 + l2 |w|) ]+
#
# A cell is {w, seen}: the weight, and how many steps had been taken when it was brought current.  Every
# `period` steps all weights are brought current; a period of 0 means never.  The rule is exact with
# period 1, and without l2 at a constant rate.
#
# Catching up in two parts gives another weight than catching up at once, so a row's weights are brought
# current also where the example moves nothing.
#
# Property: equal to lazynet.reference.carpenter.PlainCarpenter after every step
# (tests/exact/test_rules_with_state.py).
from libc.math cimport fmod
from libc.stdint cimport uint32_t

from ..lanes cimport (
    Lanes,
    absolute,
    at_least_zero,
    give2,
    lanes_at,
    put_lanes,
    spread,
    take2,
    with_sign,
)


cdef struct Carpenter:
    double l1, l2, period  # settings
    double steps           # fields: taken so far ...
    double rate            # ... the rate of the last step
    double intercept


cdef inline Lanes load(
    const Carpenter* rule, const double* cells, const uint32_t* columns, double* kept
) noexcept nogil:
    cdef Lanes w, seen, size
    take2(cells, columns, &w, &seen)
    size = absolute(w)
    size = size - (rule.steps - seen) * rule.rate * (rule.l1 + rule.l2 * size)
    w = with_sign(at_least_zero(size), w)
    put_lanes(kept, w)
    return w


cdef inline void move(
    const Carpenter* rule, double* cells, const uint32_t* columns, const double* kept, Lanes g
) noexcept nogil:
    give2(cells, columns, lanes_at(kept) - g, spread(rule.steps))


cdef inline bint finish(Carpenter* rule, double move, double rate) noexcept nogil:
    rule.intercept -= move
    rule.steps += 1.0
    rule.rate = rate
    return rule.period > 0.0 and fmod(rule.steps, rule.period) == 0.0
