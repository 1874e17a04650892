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
# Where the task is ``positive``, a step sets a weight of its example that it takes below 0 to 0.  No
# shrink changes a sign, so that all weights stay at 0 or above.
#
# Property: the weights after every step equal the weights of lazynet.reference.DenseReference, with
# computed rates those of DenseFromData (tests/exact/test_lazy_equals_dense.py), and any split into
# chunks gives the same bits.
#
# With an average of the iterates a cell is {z, before} (motion.pxd).  With n iterates counted, a
# change of z by dz and of its sign by ds adds S0(n) dz - S1(n) ds to before.  Where the weight is
# alive, z = v + sgn(v) shift, v moves by -g, and this is
#
#     S0(n) (-g) + (S0(n) shift - S1(n)) ds
#
# Where z = 0 the weight has been zero since the clock was set: what is added is the sum that is
# read from the new z, to the last bit, so that nothing is left of it if the weight vanishes at
# once.  A weight that has vanished since it was stored counts as zero from the iterate on at which
# it did.  Without an l1 penalty no weight vanishes.
from libc.math cimport fabs

from ..from_data cimport RateState
from ..lanes cimport (
    Lanes, Real, any_lane, both, broadcast, higher, is_zero, nonzero, soft, unsoft, where,
    with_sign, without,
)
from .motion cimport Clock, Past, count_alive, sum_alive


cdef struct ClockRule:
    # fields
    Clock clock
    double intercept
    double work         # nonzeros visited since the clock was last reset
    double pending      # what a sweep has interrupted ...
    double pending_move # ... and the move of the second half of the step
    # what a call adds
    double positive     # whether a weight that would move below 0 becomes 0
    Past past           # with an average
    double* totals      # the fields of the average, or NULL
    double scale_sum, shift_sum  # S0 and S1 as of now
    RateState state     # of rates that are computed from the rows ...
    RateState state_before  # ... and what it was before the row was counted, as the clock
    Clock clock_before


# The clock with an average ...
cdef struct AveragedRule:
    ClockRule clock_rule

# ... and with an average, without an l1 penalty.
cdef struct FreelyAveragedRule:
    ClockRule clock_rule


# The same of several outputs side by side, each with its clock: what a step reads.
cdef struct ClockLanes:
    Lanes shift


cdef struct ClockRuleLanes:
    ClockLanes clock
    Lanes scale_sum, shift_sum


cdef struct AveragedLanes:
    ClockRuleLanes clock_rule

cdef struct FreelyAveragedLanes:
    ClockRuleLanes clock_rule


cdef fused AnyClockRule:
    ClockRule
    ClockRuleLanes


cdef inline void prepare(ClockRule* rule) noexcept nogil:
    rule.clock.inverse = 1.0 / rule.clock.scale


cdef inline Lanes load(const AnyClockRule* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    kept[0] = cell[0]
    return soft(cell[0], broadcast(rule.clock.shift))


cdef inline void move(
    const AnyClockRule* rule, Lanes* cell, const Lanes* kept, Lanes g
) noexcept nogil:
    cdef Lanes shift = broadcast(rule.clock.shift), w = soft(kept[0], shift) - g
    if AnyClockRule is ClockRule:
        if rule.positive != 0.0:
            w = higher(broadcast(0.0), w)  # NaN stays NaN
    cell[0] = unsoft(w, shift)


cdef inline Lanes load_averaged(
    const AnyClockRule* rule, const Lanes* cell, Lanes* kept
) noexcept nogil:
    kept[0], kept[1] = cell[0], cell[1]
    return soft(cell[0], broadcast(rule.clock.shift))


cdef inline Lanes load_freely_averaged(
    const AnyClockRule* rule, const Lanes* cell, Lanes* kept
) noexcept nogil:
    kept[0], kept[1] = cell[0], cell[1]
    return cell[0]


cdef inline void move_freely_averaged(
    const AnyClockRule* rule, Lanes* cell, const Lanes* kept, Lanes g
) noexcept nogil:
    cell[0], cell[1] = kept[0] - g, kept[1] - g * broadcast(rule.scale_sum)


cdef enum:
    SEARCHED = 16    # vanished weights that are searched side by side
    FEW = 4          # so few are searched ...
    PROBES = 7       # ... in fewer rounds, each with so many comparisons


# Weights of a row that have vanished since they were stored, as the prediction found their cells.
cdef struct Vanished:
    double[SEARCHED] z
    double[SEARCHED] before
    Real* cells[SEARCHED]     # z of each, and ``apart`` numbers later ``before``
    Py_ssize_t apart
    Py_ssize_t n


cdef inline void bury(const Past* past, Vanished* vanished) noexcept nogil:
    """``before`` of vanished weights, whose cells have their new z.

    It is the sum that is read from the new z, less the sum so far.  A weight that was zero in every
    iterate keeps the sum 0 to the last bit.
    """
    cdef Py_ssize_t[SEARCHED] alive  # iterates in which the weight was alive
    cdef Py_ssize_t i
    cdef double so_far
    cdef Real* cell
    if vanished.n <= FEW:
        count_alive(past, vanished.z, vanished.n, PROBES, alive)
    else:
        for i in range(vanished.n, SEARCHED):
            vanished.z[i] = 0.0
        count_alive(past, vanished.z, SEARCHED, 1, alive)
    for i in range(vanished.n):
        cell = vanished.cells[i]
        so_far = sum_alive(past, vanished.z[i], alive[i]) - vanished.before[i]
        cell[vanished.apart] = sum_alive(past, cell[0], past.n) - so_far
    vanished.n = 0


cdef inline bint some_vanished(const AnyClockRule* rule, const Lanes* kept) noexcept nogil:
    """Whether some weights had vanished before they moved."""
    return any_lane(without(nonzero(kept[0]), nonzero(soft(kept[0], broadcast(rule.clock.shift)))))


cdef inline void collect_vanished(
    double shift, const Past* past, Real* cell, double z, double before, Vanished* vanished
) noexcept nogil:
    """Collect a weight that had vanished before it moved; bury many together.

    A weight that is collected twice is buried twice, with the same bits.
    """
    if vanished.n == SEARCHED:
        bury(past, vanished)
    vanished.z[vanished.n], vanished.before[vanished.n] = z, before
    vanished.cells[vanished.n] = cell
    vanished.n += (z != 0.0) & (fabs(z) <= shift)


cdef inline void move_averaged(
    const AnyClockRule* rule, Lanes* cell, const Lanes* kept, Lanes g
) noexcept nogil:
    cdef Lanes shift = broadcast(rule.clock.shift)
    cdef Lanes scale_sum = broadcast(rule.scale_sum), shift_sum = broadcast(rule.shift_sum)
    cdef Lanes sign_sum = scale_sum * shift - shift_sum
    cdef Lanes old = kept[0], w = soft(old, shift), moved = w - g, z = unsoft(moved, shift)
    cdef Lanes change = (with_sign(sign_sum, moved) - with_sign(sign_sum, old)) - g * scale_sum
    cdef Lanes anew = scale_sum * z - with_sign(shift_sum, z)
    cell[0] = z
    cell[1] = kept[1] + where(nonzero(w), change, both(anew, is_zero(old)))
