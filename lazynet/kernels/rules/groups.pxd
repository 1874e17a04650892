# FoBoS with a penalty of the row v of all outputs' weights of a feature,
#
#     l1 ||v||_2 + (l2 / 2) ||v||_2^2
#
# (Duchi & Singer 2009, section 5).  A shrink keeps the direction of the row, and its norm takes the
# map [a |.| - b]+ of a single weight.  All outputs share one clock, which holds the norm as it holds
# a single weight elsewhere:
#
#     stored(row) = row (||row|| / scale + shift) / ||row||
#     current(z)  = z [||z|| - shift]+ / ||z|| * scale
#
# The arithmetic is in double, also where the cells are floats.  Sums run in one lane per entry of a
# cache line of doubles: the same bits on every vector unit.
#
# Property: the weights equal those of lazynet.reference.outputs.DenseGroups after every step
# (tests/exact/test_lazy_equals_dense.py).
from libc.math cimport ldexp, sqrt

from ..lanes cimport (
    LANES_OF_LINE, LINE, WIDTH, Lanes, broadcast, lanes_of_doubles, lanes_of_floats, put_doubles,
    put_floats,
)
from ..many_outputs_loop cimport SCALE, SHIFT, Outputs
from ..rows cimport OwnRow, prefetch_to_write

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
        squares[part] = broadcast(0.0)
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
    cdef double norm, factor
    cdef int part
    for part in range(LANES_OF_LINE):
        squares[part] = broadcast(0.0)
    for v in range(width // LINE):
        k = v * LINE
        for part in range(LANES_OF_LINE):
            left = broadcast(share) * numbers_at(z + k + part * WIDTH)
            left = left - broadcast(x) * lanes_of_doubles(moves + k + part * WIDTH)
            squares[part] = squares[part] + left * left
            put_numbers(z + k + part * WIDTH, left)
    norm = sqrt(sum_of_line(squares))
    factor = (norm + shift) / norm if norm >= smallest_norm(z) else 0.0
    for v in range(width // WIDTH):
        k = v * WIDTH
        put_numbers(z + k, numbers_at(z + k) * broadcast(factor))

# --- the loops over the rows of weights of a row of X ---------------------------------------------


cdef inline void predict_rows(
    const Outputs* outputs, Cell* cells, const OwnRow* given_row, double* out
) noexcept nogil:
    """out_k <- sum_j x_j z_jk, of the rows as of now in units of the scale; ``row.kept`` gets the
    share of each row that is left."""
    # Copies, which stay in registers: what is stored might else change them.
    cdef Outputs at = outputs[0]
    cdef OwnRow row = given_row[0]
    cdef Cell* z
    cdef double x
    cdef Py_ssize_t i, k, v
    for k in range(at.width):
        out[k] = 0.0
    for i in range(row.length):
        z = cells + at.stride * row.columns[i]
        row.kept[i] = share_left(z, at.width, at.clocks[SHIFT])
        x = row.values[i] * row.kept[i]
        for v in range(at.width // WIDTH):
            k = v * WIDTH
            put_doubles(out + k, lanes_of_doubles(out + k) + broadcast(x) * numbers_at(z + k))


cdef inline void update_rows(
    const Outputs* outputs, Cell* cells, const OwnRow* given_row, const OwnRow* given_next,
    const double* moves
) noexcept nogil:
    """Output k moves by moves_k along the row; fetches the rows of weights of the next row."""
    cdef Outputs at = outputs[0]
    cdef OwnRow row = given_row[0], next = given_next[0]
    cdef double shift = at.clocks[SHIFT]
    cdef Cell* z
    cdef Py_ssize_t i, v
    for i in range(row.length):
        if i < next.length:
            z = cells + at.stride * next.columns[i]
            for v in range(at.width // LINE):
                prefetch_to_write(z + v * LINE)
        z = cells + at.stride * row.columns[i]
        move_row(z, at.width, row.kept[i], row.values[i], moves, shift)


cdef inline void read_row(
    const Outputs* at, Cell* cells, Py_ssize_t feature, double* out
) noexcept nogil:
    """out <- the weights of a feature as of now, of every output."""
    cdef Cell* z = cells + at.stride * feature
    cdef double share = share_left(z, at.width, at.clocks[SHIFT]) * at.clocks[SCALE]
    cdef Py_ssize_t k, v
    for v in range(at.width // WIDTH):
        k = v * WIDTH
        put_doubles(out + k, numbers_at(z + k) * broadcast(share))
