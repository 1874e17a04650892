# The loops over rows of weights whose penalty is one of the whole row (rules/groups.pxd).
from .chunk cimport GROUP_L2
from .lanes cimport LINE, WIDTH, lanes_of_doubles, put_doubles, spread
from .outputs_chunk cimport SCALE, SHIFT, Outputs
from .own_rows cimport OwnRow
from .rows cimport prefetch_to_write
from .rules cimport groups


cdef inline groups.Cell* group_at(
    const Outputs* at, groups.Cell* cells, Py_ssize_t feature
) noexcept nogil:
    return cells + at.stride * feature


cdef inline void predict_rows(
    const Outputs* outputs, groups.Cell* cells, const OwnRow* given_row, double* out
) noexcept nogil:
    """out_k <- sum_j x_j z_jk, of the rows as of now in units of the scale.

    Rows under their norm are left as they are, and their shares in ``row.kept``.
    """
    # Copies, which stay in registers: what is stored might else change them.
    cdef Outputs at = outputs[0]
    cdef OwnRow row = given_row[0]
    cdef double shift = at.clocks[SHIFT]
    cdef groups.Cell* z
    cdef double x
    cdef Py_ssize_t i, k, v
    for k in range(at.width):
        out[k] = 0.0
    for i in range(row.length):
        z, x = group_at(&at, cells, row.columns[i]), row.values[i]
        if at.kind == GROUP_L2:
            row.kept[i] = groups.share_left(z, at.width, shift)
            x *= row.kept[i]
        else:
            at.stamps[row.columns[i]] = groups.catch_up(
                z, at.width, at.stamps[row.columns[i]], shift
            )
        for v in range(at.width // WIDTH):
            k = v * WIDTH
            put_doubles(
                out + k, lanes_of_doubles(out + k) + spread(x) * groups.numbers_at(z + k)
            )


cdef inline void update_rows(
    const Outputs* outputs, groups.Cell* cells, const OwnRow* given_row, const OwnRow* given_next,
    const double* moves
) noexcept nogil:
    cdef Outputs at = outputs[0]
    cdef OwnRow row = given_row[0], next = given_next[0]
    cdef double shift = at.clocks[SHIFT]
    cdef groups.Cell* z
    cdef Py_ssize_t i, k, v
    for i in range(row.length):
        if i < next.length:
            z = group_at(&at, cells, next.columns[i])
            for v in range(at.width // LINE):
                k = v * LINE
                prefetch_to_write(z + k)
        z = group_at(&at, cells, row.columns[i])
        if at.kind == GROUP_L2:
            groups.move_row(z, at.width, row.kept[i], row.values[i], moves, shift)
        else:
            for v in range(at.width // WIDTH):
                k = v * WIDTH
                groups.put_numbers(
                    z + k,
                    groups.numbers_at(z + k) - spread(row.values[i]) * lanes_of_doubles(moves + k),
                )


cdef inline void read_row(
    const Outputs* at, groups.Cell* cells, Py_ssize_t feature, double* out
) noexcept nogil:
    cdef groups.Cell* z = group_at(at, cells, feature)
    cdef double shift = at.clocks[SHIFT], scale = at.clocks[SCALE], share, count = 0.0
    cdef groups.Cell level
    cdef Py_ssize_t k, v
    if at.kind == GROUP_L2:
        share = groups.share_left(z, at.width, shift) * scale
        for v in range(at.width // WIDTH):
            k = v * WIDTH
            put_doubles(out + k, groups.numbers_at(z + k) * spread(share))
        return
    level = <groups.Cell> groups.level_now(z, at.width, at.stamps[feature], shift, &count)
    for v in range(at.width // WIDTH):
        k = v * WIDTH
        put_doubles(out + k, groups.clipped(groups.numbers_at(z + k), level) * spread(scale))
