"""The Hessian of a mean loss on a few features, and the minimum of the model that it gives.

Rows are visited one by one: with z_i = (1, x_ij for the features j that are chosen), the Hessian is
sum_i c_i z_i z_i'.  The first features, the *heads*, occur in many rows: their values of some rows
go into a block of floats, without zeros left out.  A row costs its pairs of nonzeros in the other
features, the *tails*, and a product with the heads for each of them.

Property: the sums are those of dense arrays, to the rounding of floats, and the descent ends at the
minimum of the model (tests/exact/test_gram.py).
"""

cimport cython

import numpy as np

from libc.math cimport fabs, fmax, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from .arrays cimport check_aligned, check_cells, check_vector
from .chunk cimport RowLoops
from .compact cimport CompactRows, add_nonzeros
from .examples cimport highest_table
from .rows cimport FINISHED, PATIENCE, PAUSED, soft

# Rows whose heads are multiplied at once; the width of a block is a multiple of 16.
cdef enum:
    BLOCK = 128
    ROUND = 16
# Conjugate gradients of one run.
cdef int MOST_DIRECTIONS = 60


cdef inline Py_ssize_t spot_of(Py_ssize_t head) noexcept nogil:
    """Where a head of the first row is in a block."""
    return head // ROUND * (BLOCK * ROUND) + head % ROUND


# Where the values of a column go: its number among the chosen features, or -1; and if it is a head, its
# place in the block, else a panel that is not read.
cdef struct Slot:
    int32_t number
    int32_t spot


@cython.binding(False)  # a method then checks the type of self
cdef class Gram:
    """Sums of products of some features, the first of which are heads."""

    cdef CompactRows rows
    cdef Py_ssize_t size, n_heads, width, n_tails
    cdef bint fit_intercept, busy
    cdef int32_t* chosen        # the features
    cdef Slot* slots            # of each column
    cdef double* border         # sum c_i z_i
    # BLOCK rows of heads, times the square roots of c_i: all rows of the first ROUND heads, then all
    # rows of the next ones, so that a product of two such panels fits the first cache.
    cdef float* block
    cdef float* of_heads        # their products; a row of it for every head, ...
    cdef float* of_both         # ... for every tail, with the heads
    cdef double* of_tails       # the products of a tail with a tail; half of each on either side
    cdef int32_t* found         # the tails of a row
    cdef double* found_values

    def __cinit__(
        self, CompactRows rows, const int32_t[::1] features not None, Py_ssize_t n_heads,
        bint fit_intercept
    ):
        cdef Py_ssize_t k, n = features.shape[0]
        rows.check_filled()
        check_aligned("features", &features[0] if n else NULL, 4)
        if n >= 2**20 or not 0 <= n_heads <= n:
            raise ValueError(f"n_heads must be from 0 to {n} features, below 2^20, got {n_heads}")
        self.rows, self.size, self.n_heads, self.n_tails = rows, n, n_heads, n - n_heads
        self.width = (n_heads + ROUND - 1) // ROUND * ROUND
        self.fit_intercept = fit_intercept
        self.chosen = <int32_t*> malloc((n + 1) * sizeof(int32_t))
        self.slots = <Slot*> malloc((rows.n_columns + 1) * sizeof(Slot))
        self.border = <double*> calloc(n + 1, sizeof(double))
        self.block = <float*> calloc(BLOCK * (self.width + ROUND), sizeof(float))
        self.of_heads = <float*> calloc(self.width * self.width + 1, sizeof(float))
        self.of_both = <float*> calloc(self.n_tails * self.width + 1, sizeof(float))
        self.of_tails = <double*> calloc(self.n_tails * self.n_tails + 1, sizeof(double))
        self.found = <int32_t*> malloc((rows.longest + 1) * sizeof(int32_t))
        self.found_values = <double*> malloc((rows.longest + 1) * sizeof(double))
        if (
            self.chosen == NULL or self.slots == NULL or self.border == NULL or self.block == NULL
            or self.of_heads == NULL or self.of_both == NULL or self.of_tails == NULL
            or self.found == NULL or self.found_values == NULL
        ):
            raise MemoryError(f"no memory for the products of {n} features")
        for k in range(rows.n_columns):
            self.slots[k].number, self.slots[k].spot = -1, <int32_t> spot_of(self.width)
        for k in range(n):
            if not 0 <= features[k] < rows.n_columns or self.slots[features[k]].number >= 0:
                raise ValueError(
                    f"features must be different columns below {rows.n_columns}, got {features[k]}"
                )
            self.chosen[k] = features[k]
            self.slots[self.chosen[k]].number = <int32_t> k
            if k < n_heads:
                self.slots[self.chosen[k]].spot = <int32_t> spot_of(k)

    def __dealloc__(self):
        free(self.chosen)
        free(self.slots)
        free(self.border)
        free(self.block)
        free(self.of_heads)
        free(self.of_both)
        free(self.of_tails)
        free(self.found)
        free(self.found_values)

    def add(self, const double[::1] curvatures not None, Py_ssize_t start):
        """Add c_i z_i z_i' of the rows from ``start`` on; returns how the call ended and the next row.

        No c_i is negative; a row with c_i = 0 costs nothing.
        """
        cdef Py_ssize_t row = max(start, 0), filled = 0
        cdef int64_t n_visited = 0
        check_vector("curvatures", curvatures, self.rows.n_rows)
        if self.busy:
            raise RuntimeError("products are added by one thread at a time")
        self.busy = True
        with nogil:
            while row < self.rows.n_rows and n_visited <= PATIENCE:
                if curvatures[row] > 0.0:
                    n_visited += self._add_row(row, curvatures[row], filled)
                    filled += 1
                    if filled == BLOCK:
                        n_visited += self._multiply(filled)
                        filled = 0
                row += 1
            self._multiply(filled)
        self.busy = False
        return FINISHED if row >= self.rows.n_rows else PAUSED, row

    cdef int64_t _multiply(self, Py_ssize_t n) noexcept nogil:
        """Add the products of the heads of n rows, and empty the block."""
        if self.width and n:
            self.rows.row_loops.add_products(self.block, n, BLOCK, self.width, self.of_heads)
            # Full rows overwrite all numbers of a row.
            if self.rows.columns != NULL:
                memset(self.block, 0, BLOCK * self.width * sizeof(float))
        return n * self.width * self.width // 16

    cdef int64_t _add_row(self, Py_ssize_t row, double factor, Py_ssize_t line) noexcept nogil:
        """Write the heads of a row into the block, add its tails; returns the numbers visited."""
        cdef int64_t k, first = self.rows.starts[row], stop = self.rows.starts[row + 1]
        cdef Py_ssize_t n = 0, a
        cdef const double* x = self.rows.values
        cdef const int32_t* columns = self.rows.columns
        cdef float* heads = self.block + line * ROUND
        cdef double root = sqrt(factor)
        cdef double* tails
        cdef int32_t place
        cdef double total = self.border[0] + factor
        cdef Slot slot
        if columns == NULL:
            for a in range(self.n_heads):
                heads[spot_of(a)] = <float> (root * x[first + self.chosen[a]])
            for a in range(self.n_heads, self.size):
                self.found[n], self.found_values[n] = <int32_t> a, x[first + self.chosen[a]]
                n += 1
            if self.fit_intercept:
                for a in range(self.size):
                    self.border[1 + a] += factor * x[first + self.chosen[a]]
        else:
            # A branch on whether a column is chosen, and a head, would be mispredicted.
            for k in range(first, stop):
                slot = self.slots[columns[k]]
                heads[slot.spot] = <float> (root * x[k])
                self.found[n], self.found_values[n] = slot.number, x[k]
                n += slot.number >= self.n_heads
            if self.fit_intercept:
                for k in range(first, stop):
                    self.border[1 + self.slots[columns[k]].number] += factor * x[k]
        if self.fit_intercept:
            # Columns that are not chosen have changed it.
            self.border[0] = total
        for a in range(n):
            place = self.found[a] - <int32_t> self.n_heads
            if self.width:
                self.rows.row_loops.add_panels(
                    self.of_both + place * self.width, heads, BLOCK * ROUND,
                    <float> (root * self.found_values[a]), self.width,
                )
            tails = self.of_tails + place * self.n_tails - self.n_heads
            add_nonzeros(
                self.found_values, self.found, a + 1, factor * self.found_values[a], tails
            )
        return (stop - first) + n * (n + self.width // 4)

    def read(self, double[:, ::1] out not None):
        """out <- the sums: row and column 0 are those of the intercept."""
        cdef Py_ssize_t i, j
        cdef double value
        check_cells(out, self.size + 1, self.size + 1, "out")
        with nogil:
            for j in range(self.size + 1):
                out[0, j] = out[j, 0] = self.border[j]
            for i in range(self.size):
                for j in range(i + 1):
                    if i < self.n_heads:
                        value = self.of_heads[i * self.width + j]
                    elif j < self.n_heads:
                        value = self.of_both[(i - self.n_heads) * self.width + j]
                    else:
                        value = self.of_tails[(i - self.n_heads) * self.n_tails + j - self.n_heads]
                        if i != j:
                            value += self.of_tails[(j - self.n_heads) * self.n_tails + i - self.n_heads]
                    out[i + 1, j + 1] = out[j + 1, i + 1] = value


def without_intercept(
    const double[:, ::1] hessian not None,  # of the intercept and n weights
    double[::1] slopes not None,    # IN/OUT: those of the weights
    double rise,                    # the slope of the intercept
    bint moves,                     # whether the intercept moves
):
    """The Hessian of the weights; with the intercept at its minimum (Schur complement) if it moves."""
    cdef Py_ssize_t n = hessian.shape[0] - 1, i, j
    cdef double share = 0.0
    check_cells(hessian, n + 1, n + 1, "hessian")
    check_vector("slopes", slopes, n)
    out = np.empty((n, n))
    cdef double[:, ::1] of_weights = out
    with nogil:
        for i in range(n):
            if moves:
                share = hessian[0, i + 1] / hessian[0, 0]
                slopes[i] -= hessian[0, i + 1] * (rise / hessian[0, 0])
            for j in range(n):
                of_weights[i, j] = hessian[i + 1, j + 1] - share * hessian[0, j + 1]
            # Rounding must not make it singular.
            of_weights[i, i] += 1e-13 * hessian[i + 1, i + 1]
    return out


def violations(
    const double[::1] weights not None, const double[::1] slopes not None, double l1, double l2
):
    """By how much weights with these u violate the conditions of a minimum; negative: by nothing.

    >>> violations(np.array([0.0, 0.0, 2.0]), np.array([0.5, -3.0, 1.0]), 1.0, 0.0)
    array([-0.5,  2. ,  0. ])
    """
    cdef Py_ssize_t n = weights.shape[0], j
    cdef double pull
    check_vector("weights", weights, n)
    check_vector("slopes", slopes, n)
    out = np.empty(n)
    cdef double[::1] found = out
    for j in range(n):
        pull = slopes[j] - l2 * weights[j]
        if weights[j] == 0.0:
            found[j] = fabs(pull) - l1
        else:
            found[j] = fabs(pull - (l1 if weights[j] > 0.0 else -l1))
    return out


def descend(
    const double[:, ::1] hessian not None,
    double[::1] weights not None,       # IN/OUT: w
    double[::1] slopes not None,        # IN/OUT: minus the gradient of the model's smooth part, g
    double l1,
    double l2,
    double accuracy,
    int most_sweeps,
):
    """Minimise the model, with l1 |w|_1 + l2/2 |w|^2 added.

    It ends when a sweep over all weights changes no g_j by more than ``accuracy``.  Coordinate
    descent finds the zeros, and conjugate gradients settle the other weights with their signs held.
    A call ends after some millions of numbers; returns the largest change of its last sweep over all
    weights, and the sweeps.
    """
    cdef Py_ssize_t n = weights.shape[0], j, k
    cdef int64_t n_visited = 0
    cdef int sweep = 0, rest = 0
    cdef double own, away, change, old, largest = 0.0
    cdef bint everywhere = True, flips
    cdef const double* line
    cdef const RowLoops* loops = <const RowLoops*> highest_table("row_loops")
    check_vector("weights", weights, n)
    check_vector("slopes", slopes, n)
    check_cells(hessian, n, n, "hessian")
    if not n:
        return 0.0, 0
    cdef double* room = <double*> malloc(5 * n * sizeof(double))
    if room == NULL:
        raise MemoryError(f"no memory for {n} weights")
    with nogil:
        while sweep < most_sweeps:
            change, flips = 0.0, False
            for j in range(n):
                old = weights[j]
                if not everywhere and old == 0.0:
                    continue
                line = &hessian[j, 0]
                own = line[j] + l2
                if not own > 0.0:
                    continue
                away = soft(slopes[j] + line[j] * old, l1) / own - old
                if away == 0.0:
                    continue
                change = fmax(change, fabs(away) * own)
                weights[j] = old + away
                flips = flips or (old > 0.0) != (weights[j] > 0.0) or (old < 0.0) != (weights[j] < 0.0)
                loops.full_move(&slopes[0], line, n, away)
                n_visited += n
            sweep += 1
            n_visited += n
            if everywhere:
                largest = change
                if not change > accuracy:
                    break
            everywhere = not change > accuracy
            if not everywhere and not flips and sweep >= rest:
                n_visited += _settle(
                    &hessian[0, 0], n, &weights[0], &slopes[0], l1, l2, accuracy, room, loops
                )
                everywhere, rest = True, sweep + 2
            if n_visited > PATIENCE:
                break
    free(room)
    return largest, sweep


cdef int64_t _settle(
    const double* hessian, Py_ssize_t n, double* weights, double* slopes, double l1, double l2,
    double accuracy, double* room, const RowLoops* loops
) noexcept nogil:
    """Conjugate gradients on the nonzeros with their signs held, as far as the first zero."""
    cdef double* residual = room
    cdef double* direction = room + n
    cdef double* image = room + 2 * n
    cdef double* step = room + 3 * n
    cdef double* scale = room + 4 * n
    cdef Py_ssize_t j, first_zero = -1
    cdef int turn
    cdef int64_t n_visited = 0
    cdef double power = 0.0, next_power, bend, length, largest, reach = 1.0
    memset(room, 0, 4 * n * sizeof(double))
    for j in range(n):
        if weights[j] != 0.0:
            residual[j] = slopes[j] - l2 * weights[j] - (l1 if weights[j] > 0.0 else -l1)
            scale[j] = 1.0 / (hessian[j * n + j] + l2)
            direction[j] = scale[j] * residual[j]
            power += residual[j] * direction[j]
    for turn in range(MOST_DIRECTIONS):
        if not power > 0.0:
            break
        bend = 0.0
        for j in range(n):
            if weights[j] != 0.0:
                image[j] = loops.full_dot(hessian + j * n, direction, n) + l2 * direction[j]
                bend += image[j] * direction[j]
                n_visited += n
        if not bend > 0.0:
            break
        length, next_power = power / bend, 0.0
        for j in range(n):
            if weights[j] != 0.0:
                step[j] += length * direction[j]
                residual[j] -= length * image[j]
                next_power += scale[j] * residual[j] * residual[j]
        for j in range(n):
            if weights[j] != 0.0:
                direction[j] = scale[j] * residual[j] + next_power / power * direction[j]
        largest = 0.0
        for j in range(n):
            largest = fmax(largest, fabs(residual[j]))
        if not largest > 0.1 * accuracy:
            break
        power = next_power
    for j in range(n):
        # Not by the sign of a product, which may underflow.
        if weights[j] > 0.0 >= weights[j] + step[j] or weights[j] < 0.0 <= weights[j] + step[j]:
            if -weights[j] / step[j] < reach:
                reach, first_zero = -weights[j] / step[j], j
    for j in range(n):
        if weights[j] != 0.0:
            length = reach * step[j] if j != first_zero else -weights[j]
            weights[j] += length
            loops.full_move(slopes, hessian + j * n, n, length)
            n_visited += n
    return n_visited
