# Averages of the iterates beside a clock: the counting after every step.
from .rules.motion cimport Clock, two_sum

# One plain array holds these numbers between calls.
cdef enum:
    COUNTED = 0            # iterates since the clock was set
    SCALES_LOW = 1         # the digits that the rounding of the last prefix sums lost
    PULLS_LOW = 2
    TOTAL = 3              # sum of omega over all iterates so far, and its lost digits
    TOTAL_LOW = 4
    INTERCEPT_SUM = 5      # sum of omega b over all iterates, and its lost digits
    INTERCEPT_SUM_LOW = 6
    N_AVERAGE_FIELDS = 7


# The past of a clock since it was set: for each iterate that counted, the shift and the prefix sums
#
#     scales[n] = sum_{i <= n} omega_i scale_i      pulls[n] = sum_{i <= n} omega_i scale_i shift_i
cdef struct Past:
    double* shifts
    double* scales      # S0, from n = 0 on
    double* pulls       # S1, from n = 0 on
    Py_ssize_t n        # iterates that have counted
    Py_ssize_t room     # iterates for which there is room


cdef class Average:
    """The past of a clock: a block of three numbers per iterate, and the fields above."""
    cdef double[::1] shifts
    cdef double[::1] scales
    cdef double[::1] pulls
    cdef double[::1] fields

    cdef object pins  # keeps the arrays in place

    cdef Past past(self) except *


# Raises unless ``counts`` holds one omega per step.
cdef int check_counts(const double[::1] counts, Py_ssize_t n_steps) except -1


cdef inline double sum_alive(const Past* past, double z, Py_ssize_t n) noexcept nogil:
    """The sum over the first n iterates of a weight that was stored as z and alive in all of them.

    ``before`` of a cell subtracts the iterates before the weight was stored as z.
    """
    return past.scales[n] * z - past.pulls[n] * <double> ((z > 0.0) - (z < 0.0))


cdef inline void add_to(double* total, double* low, double term) noexcept nogil:
    """total + low <- total + low + term, in double-double."""
    cdef double error = 0.0
    cdef double rounded = two_sum(total[0], term, &error)
    low[0] += error
    total[0] = rounded + low[0]
    low[0] -= total[0] - rounded


cdef inline void count_totals(double* fields, double omega, double intercept) noexcept nogil:
    """Add omega to the total, and omega times the intercept to the intercept's sum."""
    add_to(&fields[TOTAL], &fields[TOTAL_LOW], omega)
    add_to(&fields[INTERCEPT_SUM], &fields[INTERCEPT_SUM_LOW], omega * intercept)


cdef inline void count_iterate(
    Past* past, double* fields, const Clock* clock, double omega, double intercept
) noexcept nogil:
    """Count the present iterate with the weight omega.  There must be room for one more."""
    cdef double weighed = omega * clock.scale
    cdef Py_ssize_t n = past.n
    past.shifts[n] = clock.shift
    past.scales[n + 1] = past.scales[n]
    past.pulls[n + 1] = past.pulls[n]
    add_to(&past.scales[n + 1], &fields[SCALES_LOW], weighed)
    add_to(&past.pulls[n + 1], &fields[PULLS_LOW], weighed * clock.shift)
    past.n = n + 1
    count_totals(fields, omega, intercept)


# The sum of a weight is a difference of numbers as large as S0 |z|, and |z| = |w| / scale + shift
# may be much larger than |w|.  The reach of the past,
#
#     S0 max(1 / scale, shift) / (sum of omega over all iterates that have counted),
#
# times the unit roundoff bounds the error of an average by the weight.  Two limits keep it small:
# past the soft limit the past is folded as soon as the nonzeros visited have paid for a sweep, past
# the hard limit it is folded at once.
cdef struct Reach:
    double soft_limit
    double hard_limit
    double enough_work


cdef inline bint past_is_worn(
    const Past* past,
    const double* fields,
    const Clock* clock,
    const Reach* reach,
    double work,
    double keep,
    double pull,
) noexcept nogil:
    """Whether to fold before a step that shrinks by ``keep`` and ``pull``.

    The step stores weights beside its new scale and shift: after a large decay the sums of the
    past would be too large beside these weights.
    """
    cdef double farthest, bound
    if past.n == 0:
        return False
    if past.n >= past.room:
        return True
    # The reach after the step; both sides are multiplied by ``keep``.
    farthest = past.scales[past.n] * max(clock.inverse, clock.shift * keep + pull * clock.inverse)
    bound = fields[TOTAL] * keep
    if farthest > reach.hard_limit * bound:
        return True
    return work > reach.enough_work and farthest > reach.soft_limit * bound
