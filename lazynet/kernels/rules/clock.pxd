# SGD and FoBoS with an elastic net, by the clock: one number per weight, two running scalars
# (Lipton & Elkan, Algorithm 1 and Theorems 1 and 2, corrected).  A cell is {z}, a coordinate that
# no shrink changes:
#
#     current(z) = sgn(z) [|z| - shift]+ * scale          stored(w) = sgn(w) (|w| / scale + shift)
#
# Per nonzero there is no division, branch or transcendental function: the prediction is multiplied
# by the scale once, and the step is divided by the scale once.
#
# The rates are given with the steps, or computed from the rows (from_data.pxd) if the task says so.
# Where the task is ``positive``, a step sets a weight to 0 if the move along the example makes it
# negative.  A shrink changes no sign, so that all weights stay at 0 or above.
#
# Property: the weights after every step equal the weights of lazynet.reference.DenseReference, with
# computed rates those of DenseFromData (tests/exact/test_lazy_equals_dense.py), and any split into
# chunks gives the same bits.
from ..from_data cimport RateState
from ..lanes cimport Lanes, broadcast, higher, soft, unsoft
from .motion cimport Clock, Past


cdef struct ClockRule:
    # fields
    Clock clock
    double intercept
    double work         # nonzeros visited since the clock was last reset
    double pending      # which part of a step is done, if a sweep interrupts the step (chunk.pxd)
    double pending_move # the move of the part that is not done
    # what a call adds
    double positive     # whether a weight that would move below 0 becomes 0
    Past past           # with an average
    double* totals      # the fields of the average, or NULL
    double scale_sum, shift_sum  # S0 and S1 as of now
    RateState state     # of rates that are computed from the rows
    RateState state_before  # state and clock before the row was counted
    Clock clock_before


# The same of several outputs side by side, each with its clock: what a step reads.
cdef struct ClockLanes:
    Lanes shift


cdef struct ClockRuleLanes:
    ClockLanes clock
    Lanes scale_sum, shift_sum


cdef fused AnyClockRule:
    ClockRule
    ClockRuleLanes


cdef inline str begin(ClockRule* rule, bint running):
    rule.clock.inverse = 1.0 / rule.clock.scale
    return None


cdef inline Lanes load(const AnyClockRule* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    kept[0] = cell[0]
    return soft(cell[0], broadcast(rule.clock.shift))


cdef inline void move(
    const AnyClockRule* rule, Lanes* cell, const Lanes* kept, Lanes x, Lanes move
) noexcept nogil:
    cdef Lanes shift = broadcast(rule.clock.shift), w = soft(kept[0], shift) - move * x
    if AnyClockRule is ClockRule:
        if rule.positive != 0.0:
            w = higher(broadcast(0.0), w)  # NaN stays NaN
    cell[0] = unsoft(w, shift)
