# Averages of the iterates beside a clock: what is counted after every step (algorithms.md 7).
from .clock cimport Clock, two_sum
from .rows cimport Past

# A plain array of these carries the counting from call to call.
cdef enum:
    COUNTED = 0            # iterates since the clock was set
    SCALES_LOW = 1         # what the rounding of the last prefix sums lost
    PULLS_LOW = 2
    TOTAL = 3              # sum of omega over all iterates there have been, and its lost digits
    TOTAL_LOW = 4
    INTERCEPT_SUM = 5      # sum of omega b, likewise
    INTERCEPT_SUM_LOW = 6
    N_AVERAGE_FIELDS = 7


cdef class Average:
    """The past of a clock: a block of three numbers per iterate, and the counting."""
    cdef double[::1] shifts
    cdef double[::1] scales
    cdef double[::1] pulls
    cdef double[::1] fields

    cdef Past past(self) noexcept


# Raises unless the steps say what each of them counts.
cdef int check_counts(const double[::1] counts, Py_ssize_t n_steps) except -1


cdef inline void add_to(double* total, double* low, double term) noexcept nogil:
    """total + low <- total + low + term, in double-double."""
    cdef double error = 0.0
    cdef double rounded = two_sum(total[0], term, &error)
    low[0] += error
    total[0] = rounded + low[0]
    low[0] -= total[0] - rounded


cdef inline void count_totals(double* fields, double omega, double intercept) noexcept nogil:
    """What every kind of average counts: how much, and the intercept."""
    add_to(&fields[TOTAL], &fields[TOTAL_LOW], omega)
    add_to(&fields[INTERCEPT_SUM], &fields[INTERCEPT_SUM_LOW], omega * intercept)


cdef inline void count_iterate(
    Past* past, double* fields, const Clock* clock, double omega, double intercept
) noexcept nogil:
    """Let the weights as they stand on the clock count omega.  There must be room for one more."""
    cdef double weighed = omega * clock.scale
    cdef Py_ssize_t n = past.n
    past.shifts[n] = clock.shift
    past.scales[n + 1] = past.scales[n]
    past.pulls[n + 1] = past.pulls[n]
    add_to(&past.scales[n + 1], &fields[SCALES_LOW], weighed)
    add_to(&past.pulls[n + 1], &fields[PULLS_LOW], weighed * clock.shift)
    past.n = n + 1
    count_totals(fields, omega, intercept)


# Beside a large stored value the sums of a weight lose digits: as many as |z| is larger than the
# weight.  So the reach of the clock, how far |z| = |w| / scale + shift exceeds |w|, is bounded:
# gladly at a small value once the nonzeros have paid for the sweep, at a greater one in any case.
cdef struct Reach:
    double glad
    double greatest
    double enough_work


cdef inline bint past_is_worn(
    const Past* past, const Clock* clock, const Reach* reach, double work
) noexcept nogil:
    cdef double farthest = max(clock.inverse, clock.shift)
    if past.n >= past.room or farthest > reach.greatest:
        return True
    return work > reach.enough_work and farthest > reach.glad
