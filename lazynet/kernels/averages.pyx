"""Exact averages of the iterates, also where l1 makes weights vanish.

Computes sum_i omega_i w_i over the iterates i that have counted, for every weight, at the cost of
the nonzeros.  While no example touches it, a weight is sgn(z) [|z| - shift]+ scale, a curve that
meets zero at most once, so that with the prefix sums S0 = sum omega scale and S1 = sum omega
scale shift of the clock's past

    sum = z S0(m) - sgn(z) S1(m) - before         m: the iterates with a shift below |z|

where ``before`` subtracts the part of the sums that precedes the storing of z.  A cell is {z,
before}; the steps keep both (rules/clock.pxd).  When the clock is set anew, or its past is
full, every sum is folded into ``before``.

Property: equal to lazynet.reference.averages.DenseAverage, which adds up every weight after every
step (tests/exact/test_lazy_equals_dense.py).
"""

cimport cython

from libc.math cimport fabs

from .arrays cimport check_aligned, check_cells, check_vector, pinned

AVERAGE_FIELDS = N_AVERAGE_FIELDS
COUNTED_FIELD = COUNTED
TOTAL_FIELD = TOTAL
INTERCEPT_SUM_FIELD = INTERCEPT_SUM


@cython.binding(False)  # a method then checks the type of self
cdef class Average:
    """The arrays of a clock's past: ``shifts``, and two prefix sums with one entry more."""

    # __cinit__ runs exactly once; __init__ can be skipped or called again.
    def __cinit__(self, shifts, scales, pulls, fields):
        self.shifts = shifts
        self.scales = scales
        self.pulls = pulls
        self.fields = fields
        if self.shifts is None or self.scales is None or self.pulls is None or self.fields is None:
            raise TypeError("shifts, scales, pulls and fields must be arrays")
        room = self.shifts.shape[0]
        if room < 1 or self.scales.shape[0] != room + 1 or self.pulls.shape[0] != room + 1:
            raise ValueError(
                f"shifts must hold at least one entry, and scales and pulls one more, got "
                f"{room}, {self.scales.shape[0]} and {self.pulls.shape[0]}"
            )
        check_vector("fields", self.fields, N_AVERAGE_FIELDS)
        check_aligned("shifts", &self.shifts[0])
        check_aligned("scales", &self.scales[0])
        check_aligned("pulls", &self.pulls[0])
        self.pins = pinned((shifts, scales, pulls, fields))
        self.past()

    cdef Past past(self) except *:
        # Checked at every use, because callers may write to the fields in between.
        cdef Past past
        cdef double counted = self.fields[COUNTED]
        past.shifts, past.scales, past.pulls = &self.shifts[0], &self.scales[0], &self.pulls[0]
        past.room = self.shifts.shape[0]
        if not 0 <= counted <= past.room:
            raise ValueError(
                f"fields: the iterates that counted must lie between 0 and {past.room}, "
                f"got {counted}"
            )
        past.n = <Py_ssize_t> counted
        return past


cdef int check_counts(const double[::1] counts, Py_ssize_t n_steps) except -1:
    if counts is None or counts.shape[0] != n_steps:
        raise ValueError("counts: steps must say what each of them counts in the average")
    return 0


cdef inline Py_ssize_t iterates_alive(const Past* past, double magnitude) noexcept nogil:
    """How many of the counted iterates have a shift below ``magnitude``, the |z| of a weight: the
    iterates in which the weight was alive.

    Shifts never fall.  The search halves the same ranges for every magnitude and no branch depends
    on it, so that several searches run side by side.
    """
    cdef Py_ssize_t alive = 0, left = past.n, half
    while left > 1:
        half = left // 2
        alive += half if past.shifts[alive + half - 1] < magnitude else 0
        left -= half
    return alive + (past.shifts[alive] < magnitude) if past.n > 0 else 0


cdef inline double sum_of(const Past* past, double z, double before) noexcept nogil:
    """sum_i omega_i w_i of the weight w in a cell, over all iterates that have counted."""
    if z == 0.0:
        return -before
    cdef Py_ssize_t n = past.n
    if n > 0 and not fabs(z) > past.shifts[n - 1]:
        n = iterates_alive(past, fabs(z))
    return sum_alive(past, z, n) - before


def sums(const double[:, ::1] cells not None, Average average, double[::1] out not None):
    """out <- sum_i omega_i w_i of every weight; changes nothing else."""
    cdef Py_ssize_t j
    cdef Past past = average.past()
    check_cells(cells, cells.shape[0], 2)
    check_vector("out", out, cells.shape[0])
    with nogil:
        for j in range(cells.shape[0]):
            out[j] = sum_of(&past, cells[j, 0], cells[j, 1])


def begin(Average average):
    """Forget the past of the clock, which begins now; totals are kept."""
    average.fields[COUNTED] = average.fields[SCALES_LOW] = average.fields[PULLS_LOW] = 0.0
    average.scales[0] = average.pulls[0] = 0.0
