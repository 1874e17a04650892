# The loops over cells: those of the nonzeros of a row, eight side by side, and those of all weights.
from libc.stdint cimport int64_t, uint32_t

from .any_rule cimport (
    MOST_NUMBERS, Rule, factor_of, gather, kept_numbers, load, move, numbers,
    scatter,
)
from .lanes cimport (
    PARTS,
    WIDTH,
    Eight,
    Lanes,
    add_to_part,
    any_nonzero,
    lane_of,
    lanes_at,
    put_lanes,
    without_first,
)
from .own_rows cimport OwnRow
from .rules cimport adagrad, clock
from .rules.adagrad cimport AdaGrad
from .rules.clock cimport AveragedRule

# --- the cells of a row ---------------------------------------------------------------------------


cdef inline Lanes load_part(
    const Rule* rule, const double* cells, const OwnRow* row, Py_ssize_t k, Lanes* kept, int part
) noexcept nogil:
    """Some products x_j w_j of eight nonzeros from the k-th on."""
    cdef Lanes[MOST_NUMBERS] cell
    gather(rule, cells, row.columns + k + part * WIDTH, cell)
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
    scatter(rule, cells, columns, cell)
    if Rule is AveragedRule:
        if clock.some_vanished(&rule.on, kept):
            for lane in range(WIDTH):
                clock.collect_vanished(
                    rule.on.clock.shift, &rule.on.past, cells + 2 * <Py_ssize_t> columns[lane],
                    lane_of(kept[0], lane), lane_of(kept[1], lane), vanished,
                )

# --- all cells ------------------------------------------------------------------------------------


cdef inline void read(
    const Rule* rule, const double* cells, Py_ssize_t n, double* out
) noexcept nogil:
    """out <- the weights in n cells."""
    cdef uint32_t[WIDTH] columns
    cdef Lanes[MOST_NUMBERS] cell, kept
    cdef double[WIDTH] weights
    cdef Py_ssize_t j = 0
    cdef int lane
    cdef double factor = factor_of(rule)
    while j < n:
        for lane in range(WIDTH):
            columns[lane] = min(<Py_ssize_t> lane, n - 1 - j)
        gather(rule, cells + numbers(rule) * j, columns, cell)
        put_lanes(weights, load(rule, cell, kept) * factor)
        for lane in range(min(<Py_ssize_t> WIDTH, n - j)):
            out[j + lane] = weights[lane]
        j += WIDTH


cdef inline void renew(AdaGrad* rule, double* cells, Py_ssize_t n) noexcept nogil:
    """Bring the n cells of AdaGrad current; computes alpha anew if that is due."""
    cdef AdaGrad old = rule[0]
    cdef double factor = adagrad.change_scale(rule)
    cdef uint32_t[WIDTH] columns
    cdef Lanes[MOST_NUMBERS] cell
    cdef Py_ssize_t j = 0
    cdef int lane
    while j < n:
        for lane in range(WIDTH):
            columns[lane] = min(<Py_ssize_t> lane, n - 1 - j)
        gather(rule, cells + 4 * j, columns, cell)
        if any_nonzero(cell[0]):  # early in a fit most weights are zero
            adagrad.renew(&old, rule, cell, factor)
            scatter(rule, cells + 4 * j, columns, cell)
        j += WIDTH
