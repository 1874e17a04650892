# SGD and FoBoS with an elastic net in Lipton & Elkan's own form, with the misprints corrected.  A
# cell is {w, psi}: the weight, and the first step whose shrink it has not had yet.  Two tables
# hold, for every step since they were begun, the product P of the steps' factors and the sum B.  A
# weight is brought current in constant time (Algorithm 1 with Theorems 1 and 2, corrected:
# lazynet/reference/closed_forms.py has the printed formulas beside the corrected ones, and
# tests/exact/test_closed_forms.py a counterexample to each misprint):
#
#     |w| <- [ |w| P(k) / P(psi) - P(k) (B(k) - B(psi)) ]+
#
# When the tables are full, all weights are brought current and the tables begin again; also before
# P becomes subnormal or B infinite, which the paper does not mention: otherwise the weights become
# NaN.
#
# Property: the weights after every step equal those of lazynet.reference.DenseReference, for any
# length of the tables (tests/exact/test_lazy_equals_dense.py).
from ..lanes cimport (
    WIDTH, Lanes, absolute, both, broadcast, higher, lane_of, nonzero, set_lane, with_sign,
)
from .motion cimport Clock, SweepLimits, advance_clock, in_range, sweep_is_due


cdef struct Tables:
    # fields
    Clock clock         # as of the newest entry
    double intercept
    double work         # nonzeros visited since the tables were begun
    double now          # the newest entry
    # the tables, and where a step leads
    double* entries     # {P, B} of every step
    Py_ssize_t room     # of the tables, in entries
    double shrink_first
    double P, B         # before the step ...
    double next_P, next_B  # ... and after it


cdef inline str begin(Tables* rule, bint running):
    if not rule.clock.scale > 0.0:
        return f"fields: scale must be positive, got {rule.clock.scale}"
    rule.clock.inverse = 1.0 / rule.clock.scale
    rule.P, rule.B = rule.clock.scale, rule.clock.shift
    return None


cdef inline bint full(const Tables* rule) noexcept nogil:
    return rule.now + 1.0 >= rule.room


cdef inline Lanes caught_up(Lanes w, Lanes P_psi, Lanes B_psi, double P, double B) noexcept nogil:
    """Weights brought from the step psi to the step with P and B."""
    cdef Lanes magnitude = absolute(w) * (broadcast(P) / P_psi) - P * (B - B_psi)
    return with_sign(higher(magnitude, broadcast(0.0)), w)


cdef inline Lanes load(const Tables* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    cdef Lanes psi = cell[1], P_psi = broadcast(0.0), B_psi = broadcast(0.0)
    cdef Py_ssize_t entry
    cdef int lane
    for lane in range(WIDTH):
        # A step that is not in the tables is taken for the present one: nothing is read outside
        # them.
        entry = <Py_ssize_t> rule.now
        if 0.0 <= lane_of(psi, lane) <= rule.now:
            entry = <Py_ssize_t> lane_of(psi, lane)
        set_lane(&P_psi, lane, rule.entries[2 * entry])
        set_lane(&B_psi, lane, rule.entries[2 * entry + 1])
    kept[0] = caught_up(cell[0], P_psi, B_psi, rule.P, rule.B)
    return kept[0]


cdef inline bint advance(
    Tables* rule, double keep, double keep_low, double pull, Py_ssize_t length
) noexcept nogil:
    """The shrink of the step on a row of this length gets its entry; false beyond the doubles."""
    cdef double* entry
    advance_clock(&rule.clock, keep, keep_low, pull)
    if not in_range(&rule.clock):
        return False
    rule.now += 1.0
    rule.work += <double> length
    rule.next_P, rule.next_B = rule.clock.scale, rule.clock.shift
    entry = rule.entries + 2 * <Py_ssize_t> rule.now
    entry[0], entry[1] = rule.next_P, rule.next_B
    return True


cdef inline void move(
    const Tables* rule, Lanes* cell, const Lanes* kept, Lanes x, Lanes move
) noexcept nogil:
    cdef Lanes g = both(nonzero(move), move * x), w = kept[0]
    if rule.shrink_first != 0.0:
        w = caught_up(w, broadcast(rule.P), broadcast(rule.B), rule.next_P, rule.next_B)
        cell[0], cell[1] = w - g, broadcast(rule.now)
    else:
        # The next visit applies the shrink of this step.
        cell[0], cell[1] = w - g, broadcast(rule.now - 1.0)


cdef inline bint finish(
    Tables* rule, double move, double rate, double pull, const SweepLimits* limits
) noexcept nogil:
    rule.intercept -= move
    rule.P, rule.B = rule.next_P, rule.next_B
    return sweep_is_due(&rule.clock, limits, rule.work)
