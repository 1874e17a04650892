"""Loops over the nonzeros of a row and over all weights, for kernels with a loop of their own.

This module is compiled once per level of vector units (setup.py), with the same bits: sums run in
eight lanes whatever the vectors hold.  The other modules call its functions by address
(``RowLoops``).  Rows are checked (rows.pxd) before they come here.

Property: every level gives the same bits (tests/exact/test_the_same_bits.py).
"""

from libc.math cimport INFINITY, fabs, fma
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t

from .all_weights cimport absolute_sum, full_dot, full_move, shrink_all
from .lanes cimport (
    LANES, PARTS, WIDTH, Eight, Lanes, add_tile, add_to_part, broadcast, eight_zeros,
    exp_of_negative, gather2, gather_one, lanes_at, log1p_of, log_and, soft, sum_of_eight,
    without_first,
)
from .rows cimport (
    Csr, Index, OwnRow, Value, all_finite, copy_row, has_place, size_of_values, start_of,
)
from .rows cimport soft as soft_number

# --- a row by itself ------------------------------------------------------------------------------


cdef double size(const Csr* csr, Py_ssize_t number, bint absolutes) noexcept nogil:
    cdef Py_ssize_t start = 0, n = 0
    if not has_place(csr, number, &start, &n):
        return 0.0
    if csr.wide_values:
        return size_of_either(<const double*> csr.values + start, n, absolutes)
    return size_of_either(<const float*> csr.values + start, n, absolutes)


cdef inline double size_of_either(const Value* values, Py_ssize_t n, bint absolutes) noexcept nogil:
    # Two loops: a choice within one would keep it from computing several terms at once.
    return size_of_values(values, n, True) if absolutes else size_of_values(values, n, False)


cdef bint increases(const OwnRow* row) noexcept nogil:
    cdef Py_ssize_t k
    cdef uint32_t falls = 0
    for k in range(1, row.length):
        falls |= row.columns[k - 1] >= row.columns[k]
    return falls == 0


cdef bint is_finite(const OwnRow* row) noexcept nogil:
    return all_finite(row.values, row.length)


cdef bint all_sound(const Csr* csr) noexcept nogil:
    cdef bint sound
    if csr.wide_indices:
        sound = all_rise(csr, <const uint64_t*> csr.columns)
    else:
        sound = all_rise(csr, <const uint32_t*> csr.columns)
    # The end of the last row is not read again: another thread may have changed it.
    if sound and csr.wide_values:
        return all_finite(<const double*> csr.values, csr.n_values)
    return sound and all_finite(<const float*> csr.values, csr.n_values)


cdef inline bint all_rise(const Csr* csr, const Index* columns) noexcept nogil:
    """Whether the rows lie one after the other, and the columns of each rise and exist."""
    cdef int64_t first = 0, stop, n = start_of(csr, csr.n_rows)
    cdef Py_ssize_t row, k
    cdef Index falls = 0, falls_at_rows = 0, largest = 0
    if start_of(csr, 0) != 0 or not 0 <= n <= csr.n_values:
        return False
    for row in range(1, csr.n_rows + 1):
        stop = start_of(csr, row)
        if stop < first or stop > n:
            return False
        if 0 < first < stop:
            falls_at_rows += columns[first - 1] >= columns[first]
        first = stop
    # Columns may only fall from one row to the next.
    for k in range(1, n):
        falls += columns[k - 1] >= columns[k]
    for k in range(n):
        largest = columns[k] if columns[k] > largest else largest
    return falls == falls_at_rows and (n == 0 or largest < <Index> csr.n_columns)

# --- products with weights ------------------------------------------------------------------------


cdef inline Lanes weights_of(
    const double* cells, const uint32_t* columns, int numbers, double shift, bint shifted
) noexcept nogil:
    cdef Lanes z, other
    if numbers == 1:
        z = gather_one(cells, columns, 1)
    else:
        gather2(cells, columns, &z, &other)
    if shifted:
        z = soft(z, broadcast(shift))
    return z


cdef inline void add_eight(
    const OwnRow* row, Py_ssize_t k, Py_ssize_t skipped, const double* cells, int numbers,
    double shift, bint shifted, Eight* sums
) noexcept nogil:
    """Eight products x_j w_j, the first ``skipped`` of them 0."""
    cdef Lanes w
    cdef Py_ssize_t first
    cdef int part
    for part in range(PARTS):
        first = k + part * WIDTH
        w = weights_of(cells, row.columns + first, numbers, shift, shifted)
        w = w * lanes_at(row.values + first)
        add_to_part(sums, part, without_first(w, skipped - part * WIDTH))


cdef inline double product(
    const OwnRow* row, const double* cells, int numbers, double shift, bint shifted
) noexcept nogil:
    """The sum of x_j w_j; the last eight overlap the eight before and count once."""
    cdef Eight sums = eight_zeros()
    cdef double sum = 0.0, z
    cdef Py_ssize_t k = 0, last = row.length - LANES
    if last < 0:
        for k in range(row.length):
            z = cells[numbers * <Py_ssize_t> row.columns[k]]
            sum += row.values[k] * (soft_number(z, shift) if shifted else z)
        return sum
    while k < last:
        add_eight(row, k, 0, cells, numbers, shift, shifted, &sums)
        k += LANES
    add_eight(row, last, k - last, cells, numbers, shift, shifted, &sums)
    return sum_of_eight(&sums)


cdef double dot(const OwnRow* row, const double* z, double shift) noexcept nogil:
    if shift == 0.0:
        return product(row, z, 1, 0.0, False)
    return product(row, z, 1, shift, True)


cdef double dot_of_pairs(const OwnRow* row, const double* cells, double shift) noexcept nogil:
    if shift == 0.0:
        return product(row, cells, 2, 0.0, False)
    return product(row, cells, 2, shift, True)


cdef void add(const OwnRow* row, double* w, double factor) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(row.length):
        w[row.columns[k]] += factor * row.values[k]


cdef void add_pairs(const OwnRow* row, double* cells, double first, double second) noexcept nogil:
    cdef Py_ssize_t k
    cdef double* cell
    cdef double a, b
    for k in range(row.length):
        cell = cells + 2 * <Py_ssize_t> row.columns[k]
        # Both are computed before one is stored, so that the compiler can do it side by side.
        a, b = cell[0] + first * row.values[k], cell[1] + second * row.values[k]
        cell[0], cell[1] = a, b

# --- sums that carry the digits that rounding loses -----------------------------------------------


cdef inline void add_product(double* high, double* low, double factor, double value) noexcept nogil:
    """high + low <- high + low + factor value, with what the product and the sum lose to rounding."""
    cdef double product = factor * value, lost = fma(factor, value, -product)
    cdef double total = high[0] + product, part = total - high[0]
    low[0] += ((high[0] - (total - part)) + (product - part)) + lost
    high[0] = total


cdef double exact_dot(const OwnRow* row, const double* w, double* low) noexcept nogil:
    cdef double[LANES] highs
    cdef double[LANES] lows
    cdef double high, rest, total, part
    cdef Py_ssize_t k = 0
    cdef int lane
    for lane in range(LANES):
        highs[lane] = lows[lane] = 0.0
    while k + LANES <= row.length:
        for lane in range(LANES):
            add_product(&highs[lane], &lows[lane], w[row.columns[k + lane]], row.values[k + lane])
        k += LANES
    for k in range(k, row.length):
        add_product(&highs[0], &lows[0], w[row.columns[k]], row.values[k])
    high, rest = highs[0], lows[0]
    for lane in range(1, LANES):
        total = high + highs[lane]
        part = total - high
        rest += ((high - (total - part)) + (highs[lane] - part)) + lows[lane]
        high = total
    low[0] = rest - ((high + rest) - high)
    return high + rest


cdef void exact_add(
    const OwnRow* row, double* sums, double factor, double factor_low
) noexcept nogil:
    cdef Py_ssize_t k
    cdef double* sum
    for k in range(row.length):
        sum = sums + 2 * <Py_ssize_t> row.columns[k]
        add_product(sum, sum + 1, factor, row.values[k])
        sum[1] += factor_low * row.values[k]

# --- all weights ----------------------------------------------------------------------------------


cdef void log_losses(
    const double* predictions, const double* targets, double* losses, Py_ssize_t n
) noexcept nogil:
    """losses <- log(1 + exp(-p y)), right to 2^-50 (tests/exact/test_predictions_before_updates.py).

    The exponential never overflows: its argument is never positive.
    """
    cdef Py_ssize_t k
    cdef double margin
    for k in range(n):
        margin = predictions[k] * targets[k]
        losses[k] = log1p_of(exp_of_negative(-fabs(margin))) + max(-margin, 0.0)


cdef void log_derivatives(
    const double* predictions, const double* targets, double* losses, double* slopes,
    double* curvatures, Py_ssize_t n
) noexcept nogil:
    """losses as ``log_losses``; slopes <- dl/dp, curvatures <- d2l/dp2."""
    cdef Py_ssize_t k
    cdef double margin, decayed, share, part
    for k in range(n):
        margin = predictions[k] * targets[k]
        decayed = exp_of_negative(-fabs(margin))
        share = 1.0 / (1.0 + decayed)
        part = decayed * share
        losses[k] = log1p_of(decayed) + max(-margin, 0.0)
        slopes[k] = -targets[k] * (part if margin > 0.0 else share)
        curvatures[k] = part * share


cdef void entropies(
    const double* shares, double* terms, double* sizes, Py_ssize_t n
) noexcept nogil:
    """terms <- m log m + (1 - m) log(1 - m), infinite unless 0 <= m <= 1; sizes <- magnitudes."""
    cdef Py_ssize_t k
    cdef double m, rest, first, second
    for k in range(n):
        m = shares[k]
        rest = 1.0 - m
        # What the difference has lost to rounding is part of the logarithm.
        second = (1.0 - rest) - m
        first = m * log_and(max(m, 1e-300), 0.0)
        second = rest * log_and(max(rest, 1e-300), second / max(rest, 1e-300))
        sizes[k] = fabs(first) + fabs(second)
        terms[k] = first + second if m >= 0.0 and m <= 1.0 else INFINITY


cdef void add_products(
    const float* block, Py_ssize_t n, Py_ssize_t room, Py_ssize_t width, float* sums
) noexcept nogil:
    """sums += block' block: of every row at least the part up to the diagonal.

    A block has width / 16 panels, each with room for ``room`` rows of 16 floats.
    """
    cdef Py_ssize_t i, j
    for i in range(0, width, 4):
        for j in range(0, i + 4, 16):
            add_tile(block + i // 16 * 16 * room + i % 16, block + j * room, n,
                     sums + i * width + j, width)


cdef void add_panels(
    float* sums, const float* row, Py_ssize_t stride, float factor, Py_ssize_t n
) noexcept nogil:
    """sums += factor row, whose floats lie in panels of 16, at a distance of ``stride``."""
    cdef Py_ssize_t k, j
    for j in range(0, n, 16):
        for k in range(16):
            sums[j + k] += factor * row[k]
        row += stride


cdef RowLoops LOOPS
LOOPS.copy, LOOPS.size, LOOPS.increases, LOOPS.is_finite = copy_row, size, increases, is_finite
LOOPS.all_sound = all_sound
LOOPS.dot, LOOPS.dot_of_pairs, LOOPS.add, LOOPS.add_pairs = dot, dot_of_pairs, add, add_pairs
LOOPS.exact_dot, LOOPS.exact_add = exact_dot, exact_add
LOOPS.shrink_all, LOOPS.full_dot, LOOPS.full_move = shrink_all, full_dot, full_move
LOOPS.absolute_sum, LOOPS.log_losses = absolute_sum, log_losses
LOOPS.log_derivatives, LOOPS.entropies = log_derivatives, entropies
LOOPS.add_products, LOOPS.add_panels = add_products, add_panels


def address():
    """Where the functions of this level are, for ``examples``."""
    return <uintptr_t> &LOOPS
