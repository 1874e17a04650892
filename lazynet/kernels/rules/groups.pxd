# FoBoS with a penalty of the row v of all outputs' weights of a feature,
#
#     GROUP_L2     l1 ||v||_2     + (l2 / 2) ||v||_2^2
#     GROUP_MAX    l1 max |v_k|   + (l2 / 2) ||v||_2^2
#
# (Duchi & Singer 2009, section 5).  All outputs share one clock, whose scale and shift are those of
# a single weight.
#
# By the norm: a shrink keeps the direction of the row, and its norm takes the same map [a |.| - b]+
# as a single weight.  The norm is therefore on the clock, as a single weight is elsewhere:
#
#     stored(row) = row (||row|| / scale + shift) / ||row||
#     current(z)  = z [||z|| - shift]+ / ||z|| * scale
#
# By the largest weight: the missed shrinks of a row are one: the scale, and a prox that takes the
# mass shift_now - shift_then off the largest entries of z = row / scale, down to a common level.
# The stamp of a row is shift_then, and the scale is that of the clock for all rows.
#
# The arithmetic is in double, also where the cells are floats.  Sums run in one lane per entry of a
# cache line of doubles: the same bits on every vector unit.
#
# Property: the weights equal those of lazynet.reference.groups.DenseGroups after every step
# (tests/exact/test_groups.py).
from libc.math cimport INFINITY, ldexp, sqrt

from ..lanes cimport (
    LANES_OF_LINE,
    LINE,
    WIDTH,
    Lanes,
    absolute,
    at_least_zero,
    both,
    exceeds,
    higher,
    lanes_of_doubles,
    lanes_of_floats,
    lower,
    put_doubles,
    put_floats,
    spread,
)

ctypedef fused Cell:
    float
    double


cdef inline Lanes numbers_at(const Cell* z) noexcept nogil:
    if Cell is double:
        return lanes_of_doubles(z)
    else:
        return lanes_of_floats(z)


cdef inline void put_numbers(Cell* z, Lanes numbers) noexcept nogil:
    if Cell is double:
        put_doubles(z, numbers)
    else:
        put_floats(z, numbers)


cdef inline double sum_of_line(const Lanes* sums) noexcept nogil:
    cdef double[LINE] line
    cdef int part
    for part in range(LANES_OF_LINE):
        put_doubles(line + part * WIDTH, sums[part])
    for part in range(4):
        line[part] += line[part + 4]  # a line of doubles
    return (line[0] + line[2]) + (line[1] + line[3])


cdef inline void multiply(Cell* z, Py_ssize_t width, double factor) noexcept nogil:
    cdef Py_ssize_t k, v
    for v in range(width // WIDTH):
        k = v * WIDTH
        put_numbers(z + k, numbers_at(z + k) * spread(factor))

# --- by the Euclidean norm ------------------------------------------------------------------------


cdef inline double smallest_norm(const Cell* z) noexcept nogil:
    """A row of a smaller norm counts as 0: its squares, or what is stored beside a large shift,
    would lose digits to underflow."""
    if Cell is double:
        return ldexp(1.0, -480)
    else:
        return ldexp(1.0, -100)


cdef inline double norm_of(const Cell* z, Py_ssize_t width) noexcept nogil:
    cdef Lanes[LANES_OF_LINE] squares
    cdef Lanes numbers
    cdef Py_ssize_t k, v
    cdef int part
    for part in range(LANES_OF_LINE):
        squares[part] = spread(0.0)
    for v in range(width // LINE):
        k = v * LINE
        for part in range(LANES_OF_LINE):
            numbers = numbers_at(z + k + part * WIDTH)
            squares[part] = squares[part] + numbers * numbers
    return sqrt(sum_of_line(squares))


cdef inline double share_left(const Cell* z, Py_ssize_t width, double shift) noexcept nogil:
    """The share of a stored row that is left now, in units of the scale."""
    cdef double norm = norm_of(z, width)
    return (norm - shift) / norm if norm > shift and norm >= smallest_norm(z) else 0.0


cdef inline void move_row(
    Cell* z, Py_ssize_t width, double share, double x, const double* moves, double shift
) noexcept nogil:
    """z <- stored(share z - x moves), in units of the scale."""
    cdef Lanes[LANES_OF_LINE] squares
    cdef Lanes left
    cdef Py_ssize_t k, v
    cdef double norm
    cdef int part
    for part in range(LANES_OF_LINE):
        squares[part] = spread(0.0)
    for v in range(width // LINE):
        k = v * LINE
        for part in range(LANES_OF_LINE):
            left = spread(share) * numbers_at(z + k + part * WIDTH)
            left = left - spread(x) * lanes_of_doubles(moves + k + part * WIDTH)
            squares[part] = squares[part] + left * left
            put_numbers(z + k + part * WIDTH, left)
    norm = sqrt(sum_of_line(squares))
    multiply(z, width, (norm + shift) / norm if norm >= smallest_norm(z) else 0.0)

# --- by the largest weight ------------------------------------------------------------------------


cdef inline double largest_of(const Cell* z, Py_ssize_t width) noexcept nogil:
    cdef Lanes largest = spread(0.0)
    cdef double[WIDTH] lanes
    cdef double found = 0.0
    cdef Py_ssize_t k, v
    cdef int lane
    for v in range(width // WIDTH):
        k = v * WIDTH
        largest = higher(absolute(numbers_at(z + k)), largest)
    put_doubles(lanes, largest)
    for lane in range(WIDTH):
        found = max(found, lanes[lane])
    return found


cdef inline double mass_above(
    const Cell* z, Py_ssize_t width, double level, double* count
) noexcept nogil:
    """The sum of [|z_k| - level]+; ``count`` <- how many sizes are above the level."""
    cdef Lanes[LANES_OF_LINE] masses, counts
    cdef Lanes above
    cdef Py_ssize_t k, v
    cdef int part
    for part in range(LANES_OF_LINE):
        masses[part] = counts[part] = spread(0.0)
    for v in range(width // LINE):
        k = v * LINE
        for part in range(LANES_OF_LINE):
            above = absolute(numbers_at(z + k + part * WIDTH)) - spread(level)
            masses[part] = masses[part] + at_least_zero(above)
            counts[part] = counts[part] + both(exceeds(above, 0.0), spread(1.0))
    count[0] = sum_of_line(counts)
    return sum_of_line(masses)


cdef inline double level_of(
    const Cell* z, Py_ssize_t width, double taken, double* count
) noexcept nogil:
    """The level above which the sizes |z_k| have the mass ``taken``; 0 if all of z has no more.

    ``count`` <- how many sizes are above the level.  Newton's method from below, where the mass is
    convex in the level and falls: every pass raises the level, and leaves fewer sizes above it or
    ends.  It starts at the level that is right if only the largest size is above it, or, where that
    is negative, if all sizes are.
    """
    cdef double level = largest_of(z, width) - taken, count_before = 1.0, mass
    if not level > 0.0:
        level = (mass_above(z, width, 0.0, count) - taken) / <double> width
        count_before = count[0] = <double> width
        if level <= 0.0:
            return 0.0
    while True:
        mass = mass_above(z, width, level, count)
        if not count[0] >= 1.0 or count[0] == count_before or not mass > taken:
            return level
        level += (mass - taken) / count[0]
        count_before = count[0]


cdef inline double level_now(
    const Cell* z, Py_ssize_t width, double stamp, double shift, double* count
) noexcept nogil:
    """The level to which the missed shrinks of a row take it; infinite where it has missed none."""
    return level_of(z, width, shift - stamp, count) if shift - stamp > 0.0 else INFINITY


cdef inline Lanes clipped(Lanes numbers, Cell level) noexcept nogil:
    return higher(lower(numbers, spread(level)), spread(-level))


cdef inline double catch_up(
    Cell* z, Py_ssize_t width, double stamp, double shift
) noexcept nogil:
    """Bring a row current, in units of the scale; returns its new stamp.

    In float the level is rounded, by more than a short gap may take.  What the rounding took too
    little or too much stays pending: else a row that is touched at every step would never shrink.
    """
    cdef double count = 0.0, exact = level_now(z, width, stamp, shift, &count)
    cdef Cell level = <Cell> exact
    cdef Py_ssize_t k, v
    if exact == INFINITY:
        return stamp
    for v in range(width // WIDTH):
        k = v * WIDTH
        put_numbers(z + k, clipped(numbers_at(z + k), level))
    return shift - count * (<double> level - exact)
