# The clock (clock.pxd) with an average of the iterates: a cell is {z, before} (motion.pxd).
#
# With n iterates counted, a change of z by dz and of its sign by ds adds S0(n) dz - S1(n) ds to
# before.  Where the weight is alive, z = v + sgn(v) shift, v moves by -g, and this is
#
#     S0(n) (-g) + (S0(n) shift - S1(n)) ds
#
# Where z = 0 the weight has been zero since the clock was set, and before becomes the sum that
# belongs to the new z, with the same roundings: if the weight vanishes at once, its sum is 0 to the
# last bit.  A weight that vanishes counts as zero from that iterate on.  Without an l1 penalty no
# weight vanishes.
from libc.math cimport fabs

from ..lanes cimport (
    Lanes, Real, any_lane, both, broadcast, is_zero, nonzero, soft, unsoft, where, with_sign,
    without,
)
from .clock cimport ClockRule, ClockRuleLanes
from .motion cimport Past, count_alive, sum_alive


cdef struct AveragedRule:
    ClockRule clock_rule


cdef struct AveragedLanes:
    ClockRuleLanes clock_rule


cdef fused AnyAveraged:
    AveragedRule
    AveragedLanes


cdef inline Lanes load(
    const AnyAveraged* rule, const Lanes* cell, Lanes* kept
) noexcept nogil:
    kept[0], kept[1] = cell[0], cell[1]
    return soft(cell[0], broadcast(rule.clock_rule.clock.shift))


cdef inline void move(
    const AnyAveraged* rule, Lanes* cell, const Lanes* kept, Lanes x, Lanes move
) noexcept nogil:
    cdef Lanes g = move * x, shift = broadcast(rule.clock_rule.clock.shift)
    cdef Lanes scale_sum = broadcast(rule.clock_rule.scale_sum)
    cdef Lanes shift_sum = broadcast(rule.clock_rule.shift_sum)
    cdef Lanes sign_sum = scale_sum * shift - shift_sum
    cdef Lanes old = kept[0], w = soft(old, shift), moved = w - g, z = unsoft(moved, shift)
    cdef Lanes change = (with_sign(sign_sum, moved) - with_sign(sign_sum, old)) - g * scale_sum
    cdef Lanes anew = scale_sum * z - with_sign(shift_sum, z)
    cell[0] = z
    cell[1] = kept[1] + where(nonzero(w), change, both(anew, is_zero(old)))

# --- weights that had vanished -------------------------------------------------------------------


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
    """Compute ``before`` of weights that had vanished and have moved; the caller has stored their z.

    A weight's sum over the iterates so far must not change: ``before`` is the sum that belongs to
    the stored z, less the sum so far.  A weight that was 0 in every iterate keeps the sum 0 to the
    last bit.
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


cdef inline bint some_vanished(const AnyAveraged* rule, const Lanes* kept) noexcept nogil:
    """Whether some weights had vanished before they moved."""
    cdef Lanes w = soft(kept[0], broadcast(rule.clock_rule.clock.shift))
    return any_lane(without(nonzero(kept[0]), nonzero(w)))


cdef inline void collect_vanished(
    double shift, const Past* past, Real* cell, double z, double before, Vanished* vanished
) noexcept nogil:
    """Add a weight to ``vanished`` if it had vanished before it moved; ``bury`` when that is full.

    A weight that is added twice gets the same bits twice.
    """
    if vanished.n == SEARCHED:
        bury(past, vanished)
    vanished.z[vanished.n], vanished.before[vanished.n] = z, before
    vanished.cells[vanished.n] = cell
    vanished.n += (z != 0.0) & (fabs(z) <= shift)
