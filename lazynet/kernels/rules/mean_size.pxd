# Rates computed from the rows: the mean size of the rows seen so far.
#
# The mean is refreshed before the steps 0, 1, 2, 4, 8, ... with the row of the step included, and
# before the first row whose size is not 0; between two refreshes it stays.  It depends on the rows
# in their order alone, and not on the chunks in which they come.
#
# A rule whose weights are functions of sums and of the mean size computes them with the new mean
# and visits no cell.  Only weights that were loaded, and not learned, must not change with the mean:
# then the rule asks for a sweep, in which the engine changes the cells so that they give the same
# weights at the new mean.
from libc.math cimport frexp, ldexp

# 2^53: a double counts rows and steps one by one.
cdef inline double most_rows() noexcept nogil:
    return 9007199254740992.0


# What ``loaded`` says.  A positive number is the new mean at which the sweep that was asked for
# must leave loaded weights what they are; the sweep answers with RESTATED.
cdef enum:
    LEARNED = 0
    LOADED = -1
    RESTATED = -2


cdef struct MeanSize:
    double rows     # how many rows have been measured
    double sizes    # the sum of their sizes
    double mean     # the mean size as of the last refresh, 0 before the first row with a size
    double loaded   # whether weights were loaded, see above


cdef enum Change:
    KEPT
    CHANGED
    ASKS


cdef inline double unit(const MeanSize* seen) noexcept nogil:
    """The mean size in use; 1 as long as no row has had a size."""
    return seen.mean if seen.mean > 0.0 else 1.0


cdef inline double mean_of(double sizes, double rows) noexcept nogil:
    """The mean of ``rows`` sizes with this sum, within the range in which alpha and gamma are finite."""
    return min(max(sizes / rows, ldexp(1.0, -300)), ldexp(1.0, 300))


cdef inline bint is_due(double rows) noexcept nogil:
    """Whether a number of rows is 0 or a power of two."""
    cdef int exponent = 0
    return rows == 0.0 or frexp(rows, &exponent) == 0.5


cdef inline Change count_size(MeanSize* seen, double size) noexcept nogil:
    """Count the size of the next row; says what happened to the mean."""
    cdef bint due
    if seen.loaded == RESTATED:
        seen.loaded = LOADED
        return KEPT
    due = is_due(seen.rows) or not seen.mean > 0.0
    seen.rows += 1.0
    seen.sizes += size
    if not due or not seen.sizes > 0.0:
        return KEPT
    if seen.loaded == LOADED:
        seen.loaded = mean_of(seen.sizes, seen.rows)
        return ASKS
    seen.mean = mean_of(seen.sizes, seen.rows)
    return CHANGED


cdef inline str defect_of_mean_size(double rows, double sizes, double mean):
    """Why these fields cannot be used; None if they can."""
    if not 0.0 <= rows <= most_rows():
        return f"fields: rows must lie between 0 and {most_rows():.0f}, got {rows}"
    if not (sizes >= 0.0 and mean >= 0.0):
        return f"fields: sizes and mean must not be negative, got {sizes} and {mean}"
    return None
