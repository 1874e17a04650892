"""The Hessian of a mean loss on a few features.

Rows are visited one by one: with z_i = (1, x_ij for the features j that are chosen), the Hessian is
sum_i c_i z_i z_i'.  The first features, the *heads*, occur in many rows: their values of some rows
go into a block of floats, without zeros left out.  A row costs its pairs of nonzeros in the other
features, the *tails*, and a product with the heads for each of them.

Property: the sums are those of dense arrays, to the rounding of floats (tests/exact/test_gram.py).
"""

cimport cython

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from .arrays cimport check_aligned, check_cells, check_vector
from .compact cimport CompactRows, add_nonzeros
from .rows cimport FINISHED, PATIENCE, PAUSED

# Rows whose heads are multiplied at once; the width of a block is a multiple of 16.
cdef enum:
    BLOCK = 128
    ROUND = 16


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
