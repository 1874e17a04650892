# The step loop on eight nonzeros of a row: their products with the weights, and their move.
from libc.stdint cimport int64_t, uint32_t

from .any_rule cimport MOST_NUMBERS, Rule, give, kept_numbers, load, move, take
from .lanes cimport (
    PARTS,
    WIDTH,
    Eight,
    Lanes,
    add_to_part,
    lane_of,
    lanes_at,
    without_first,
)
from .own_rows cimport OwnRow
from .rules cimport clock
from .rules.clock cimport Averaged


cdef inline Lanes load_part(
    const Rule* rule, const double* cells, const OwnRow* row, Py_ssize_t k, Lanes* kept, int part
) noexcept nogil:
    """Some products x_j w_j of eight nonzeros from the k-th on."""
    cdef Lanes[MOST_NUMBERS] cell
    take(rule, cells, row.columns + k + part * WIDTH, cell)
    return (
        load(rule, cell, kept + part * kept_numbers(rule))
        * lanes_at(row.values + k + part * WIDTH)
    )


cdef inline void add_part(
    const Rule* rule, const double* cells, const OwnRow* row, Py_ssize_t k, Lanes* kept,
    int64_t skipped, Eight* sums, int part
) noexcept nogil:
    cdef Lanes w = load_part(rule, cells, row, k, kept, part)
    add_to_part(sums, part, without_first(w, skipped - part * WIDTH))


cdef inline void add_eight(
    const Rule* rule, const double* cells, const OwnRow* row, Py_ssize_t k, Lanes* kept,
    int64_t skipped, Eight* sums
) noexcept nogil:
    """Eight products x_j w_j, the first ``skipped`` of them 0."""
    add_part(rule, cells, row, k, kept, skipped, sums, 0)
    add_part(rule, cells, row, k, kept, skipped, sums, 1)
    if PARTS > 2:
        add_part(rule, cells, row, k, kept, skipped, sums, 2)
        add_part(rule, cells, row, k, kept, skipped, sums, 3)


cdef inline void move_part(
    const Rule* rule, double* cells, const OwnRow* row, Py_ssize_t k, const Lanes* kept,
    double step, clock.Vanished* vanished, int part
) noexcept nogil:
    cdef const uint32_t* columns = row.columns + k + part * WIDTH
    cdef Lanes[MOST_NUMBERS] cell
    cdef int lane
    kept += part * kept_numbers(rule)
    move(rule, cell, kept, lanes_at(row.values + k + part * WIDTH), step)
    give(rule, cells, columns, cell)
    if Rule is Averaged:
        if clock.some_vanished(&rule.on, kept):
            for lane in range(WIDTH):
                clock.collect_vanished(
                    rule.on.clock.shift, &rule.on.past, cells + 2 * <Py_ssize_t> columns[lane],
                    lane_of(kept[0], lane), lane_of(kept[1], lane), vanished,
                )
