# The clock with an average of the iterates (averaged.pxd), where no l1 penalty lets a weight vanish.
from ..lanes cimport Lanes, broadcast
from .clock cimport ClockRule, ClockRuleLanes


cdef struct FreelyAveragedRule:
    ClockRule clock_rule


cdef struct FreelyAveragedLanes:
    ClockRuleLanes clock_rule


cdef fused AnyFreelyAveraged:
    FreelyAveragedRule
    FreelyAveragedLanes


cdef inline Lanes load(
    const AnyFreelyAveraged* rule, const Lanes* cell, Lanes* kept
) noexcept nogil:
    kept[0], kept[1] = cell[0], cell[1]
    return cell[0]


cdef inline void move(
    const AnyFreelyAveraged* rule, Lanes* cell, const Lanes* kept, Lanes x, Lanes move
) noexcept nogil:
    cdef Lanes g = move * x
    cell[0], cell[1] = kept[0] - g, kept[1] - g * broadcast(rule.clock_rule.scale_sum)
