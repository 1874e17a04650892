# SGD and FoBoS with an elastic net, by the clock: one number per weight, two running scalars (Lipton &
# Elkan, Algorithm 1 and Theorems 1 and 2, corrected).  A cell is {z}, a coordinate that no shrink changes:
#
#     current(z) = sgn(z) [|z| - shift]+ * scale          stored(w) = sgn(w) (|w| / scale + shift)
#
# Per nonzero there is no division, branch or transcendental function: the prediction is multiplied by
# the scale once, and the step is divided by the scale once.
#
# With an average of the iterates a cell is {z, before} (averages.pyx).  With n iterates counted, a change
# of z by dz and of its sign by ds adds S0(n) dz - S1(n) ds to before.  Where the weight is alive,
# z = v + sgn(v) shift, v moves by -g, and this is
#
#     S0(n) (-g) + (S0(n) shift - S1(n)) ds
#
# Where z = 0 the weight has been zero since the clock was set: what is added is the sum that is read from
# the new z, to the last bit, so that nothing is left of it if the weight vanishes at once.  A weight that
# has vanished since it was stored counts as zero from the iterate on at which it did.  Without an l1
# penalty no weight vanishes.
from libc.math cimport fabs
from libc.stdint cimport uint32_t

from ..from_data cimport FromData
from ..lanes cimport (
    LANES,
    WIDTH,
    Lanes,
    any_lane,
    both,
    give1,
    give2,
    higher,
    is_zero,
    lane_of,
    lanes_at,
    nonzero,
    put_lanes,
    soft,
    spread,
    take1,
    take2,
    unsoft,
    where,
    with_sign,
    without,
)
from ..rows cimport Past, sum_alive
from .motion cimport Clock


cdef struct OnClock:
    Clock clock
    double intercept
    double positive     # whether a weight that would move below 0 becomes 0
    double work         # nonzeros visited since the clock was last reset
    Past past           # with an average
    double* totals      # the fields of the average, or NULL
    double scale_sum, pull_sum  # S0 and S1 as of now
    FromData state      # of rates that are computed from the rows ...
    FromData state_before  # ... and what it was before the row was counted, as the clock
    Clock clock_before
    double pending      # what a sweep has interrupted ...
    double pending_move # ... and the move of the second half of the step


# The clock with an average ...
cdef struct Averaged:
    OnClock on

# ... and with an average, without an l1 penalty.
cdef struct FreelyAveraged:
    OnClock on


cdef inline Lanes load(
    const OnClock* on, const double* cells, const uint32_t* columns, double* kept
) noexcept nogil:
    cdef Lanes z = take1(cells, columns)
    put_lanes(kept, z)
    return soft(z, on.clock.shift)


cdef inline void move(
    const OnClock* on, double* cells, const uint32_t* columns, const double* kept, Lanes g
) noexcept nogil:
    cdef Lanes w = soft(lanes_at(kept), on.clock.shift) - g
    if on.positive != 0.0:
        w = higher(spread(0.0), w)  # NaN stays NaN
    give1(cells, columns, unsoft(w, on.clock.shift))


cdef inline Lanes load_averaged(
    const OnClock* on, const double* cells, const uint32_t* columns, double* kept
) noexcept nogil:
    cdef Lanes z, before
    take2(cells, columns, &z, &before)
    put_lanes(kept, z)
    put_lanes(kept + LANES, before)
    return soft(z, on.clock.shift)


cdef inline Lanes load_freely_averaged(
    const OnClock* on, const double* cells, const uint32_t* columns, double* kept
) noexcept nogil:
    cdef Lanes z, before
    take2(cells, columns, &z, &before)
    put_lanes(kept, z)
    put_lanes(kept + LANES, before)
    return z


cdef inline void move_freely_averaged(
    const OnClock* on, double* cells, const uint32_t* columns, const double* kept, Lanes g
) noexcept nogil:
    cdef Lanes before = lanes_at(kept + LANES)
    give2(cells, columns, lanes_at(kept) - g, before - g * on.scale_sum)


cdef enum:
    SEARCHED = 16    # vanished weights that are searched side by side


# Weights of a row that have vanished since they were stored, as the prediction found their cells.
cdef struct Vanished:
    double[SEARCHED] z
    double[SEARCHED] before
    uint32_t[SEARCHED] columns
    Py_ssize_t n


cdef inline void bury(const OnClock* on, double* cells, Vanished* vanished) noexcept nogil:
    """``before`` of vanished weights, whose cells have their new z.

    It is the sum that is read from the new z, less the sum so far.  A weight that was zero in every
    iterate keeps the sum 0 to the last bit.
    """
    cdef Py_ssize_t[SEARCHED] alive  # iterates in which the weight was alive
    cdef Py_ssize_t left = on.past.n, half, i
    cdef double so_far
    cdef double* cell
    for i in range(vanished.n, SEARCHED):
        vanished.z[i] = 0.0
    for i in range(SEARCHED):
        alive[i] = 0
    # The search of iterates_alive, for all of them side by side.
    while left > 1:
        half = left // 2
        for i in range(SEARCHED):
            alive[i] += half if on.past.shifts[alive[i] + half - 1] < fabs(vanished.z[i]) else 0
        left -= half
    for i in range(vanished.n):
        alive[i] += on.past.n > 0 and on.past.shifts[alive[i]] < fabs(vanished.z[i])
        cell = cells + 2 * <Py_ssize_t> vanished.columns[i]
        so_far = sum_alive(&on.past, vanished.z[i], alive[i]) - vanished.before[i]
        cell[1] = sum_alive(&on.past, cell[0], on.past.n) - so_far
    vanished.n = 0


cdef inline void collect_vanished(
    const OnClock* on, double* cells, const uint32_t* columns, const double* kept,
    Vanished* vanished
) noexcept nogil:
    """Collect those of some weights that had vanished before they moved; bury many together.

    A weight that is collected twice is buried twice, with the same bits.
    """
    cdef Lanes old = lanes_at(kept)
    cdef Lanes dead = without(nonzero(old), nonzero(soft(old, on.clock.shift)))
    cdef int lane
    if not any_lane(dead):
        return
    if vanished.n > SEARCHED - WIDTH:
        bury(on, cells, vanished)
    for lane in range(WIDTH):
        vanished.z[vanished.n] = kept[lane]
        vanished.before[vanished.n] = kept[LANES + lane]
        vanished.columns[vanished.n] = columns[lane]
        vanished.n += lane_of(dead, lane) != 0.0  # a mask of ones is NaN


cdef inline void move_averaged(
    const OnClock* on, double* cells, const uint32_t* columns, const double* kept, Lanes g
) noexcept nogil:
    cdef double shift = on.clock.shift
    cdef double scale_sum = on.scale_sum, pull_sum = on.pull_sum
    cdef Lanes sign_sum = spread(scale_sum * shift - pull_sum)
    cdef Lanes old = lanes_at(kept), w = soft(old, shift), moved = w - g, z = unsoft(moved, shift)
    cdef Lanes alive = nonzero(w)
    cdef Lanes change = (with_sign(sign_sum, moved) - with_sign(sign_sum, old)) - g * scale_sum
    cdef Lanes anew = scale_sum * z - with_sign(spread(pull_sum), z)
    give2(
        cells, columns, z,
        lanes_at(kept + LANES) + where(alive, change, both(anew, is_zero(old))),
    )
