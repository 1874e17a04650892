"""Compact rows, column by column: the storage of a working set.

X lies in memory by rows; a method that visits columns needs them by columns.

Property: no call in any order, with any argument, leaves the arrays
(tests/safe/test_kernels_stay_inside_arrays.py).
"""

cimport cython

import numpy as np

from libc.stdint cimport int32_t, int64_t

from .compact cimport CompactRows
from .examples cimport Examples
from .rows cimport FINISHED, PATIENCE, PAUSED

# The most rows: row numbers are 32-bit numbers.
cdef Py_ssize_t MOST = 2 ** 31 - 1
MOST_ROWS = MOST

# Rows that are copied at once where they have all columns.
cdef Py_ssize_t BLOCK = 8


@cython.binding(False)  # a method then checks the type of self
cdef class Columns:
    """All columns of compact rows; ``fill`` copies their nonzeros.

    Where every row has all columns, ``copy_full`` copies those that are wanted.
    """

    def __cinit__(self, CompactRows rows, Examples examples, *_, **__):
        cdef Py_ssize_t n = rows.n_rows, d = rows.n_columns
        cdef int64_t[::1] first = np.zeros(d + 1, dtype=np.int64)
        cdef int64_t[::1] filled = np.zeros(d + 1, dtype=np.int64)
        cdef int32_t[::1] row_numbers
        cdef double[::1] values
        cdef int64_t k
        cdef Py_ssize_t j
        rows.check_filled()
        if n > MOST:
            raise ValueError(f"rows must be at most {MOST}, got {n}")
        if examples.csr.n_rows != n:
            raise ValueError(f"examples must have {n} rows, got {examples.csr.n_rows}")
        row_numbers, values = np.empty(rows.n_values + 1, np.int32), np.empty(rows.n_values + 1)
        self.compact, self.examples, self.n_rows, self.n_columns = rows, examples, n, d
        self.owners = [first, filled, row_numbers, values]
        self.first, self.filled = &first[0], &filled[0]
        self.rows, self.values = &row_numbers[0], &values[0]
        with nogil:
            if rows.columns == NULL:
                for j in range(d + 1):
                    self.first[j] = j * n
            else:
                for k in range(rows.n_values):
                    self.first[rows.columns[k] + 1] += 1
                for j in range(d):
                    self.first[j + 1] += self.first[j]

    # Methods give up the GIL between ``enter`` and ``leave``: meanwhile another thread could call a
    # method that changes the arrays.
    cdef int check_free(self) except -1:
        if self.busy:
            raise RuntimeError("a working set is used by one thread at a time")
        return 0

    cdef int check_filled(self) except -1:
        self.check_free()
        if self.n_filled < self.n_rows:
            raise ValueError("the columns must be filled before they are used")
        return 0

    cdef int enter(self) except -1:
        self.check_free()
        self.busy = True
        return 0

    cdef void leave(self) noexcept:
        self.busy = False

    def fill(self):
        """Copy more rows into the columns; returns how the call ended and the next row."""
        cdef int64_t k, at, start, stop, visited = 0
        cdef int32_t row
        cdef int32_t* columns = self.compact.columns
        cdef double* values = self.compact.values
        cdef Py_ssize_t column
        self.enter()
        with nogil:
            if columns == NULL:
                self.n_filled = self.n_rows
            while self.n_filled < self.n_rows and visited <= PATIENCE:
                row = <int32_t> self.n_filled
                start, stop = self.compact.starts[row], self.compact.starts[row + 1]
                for k in range(start, stop):
                    column = columns[k]
                    at = self.first[column] + self.filled[column]
                    self.filled[column] += 1
                    self.rows[at], self.values[at] = row, values[k]
                visited += stop - start
                self.n_filled += 1
        self.leave()
        return FINISHED if self.n_filled == self.n_rows else PAUSED, self.n_filled

    cdef void copy_full(self, const int32_t* chosen, Py_ssize_t n) noexcept nogil:
        """Copy some columns of rows that have all: a cache line of each column at a time.

        Nothing reads the row numbers of a column that has all rows.
        """
        cdef Py_ssize_t d = self.n_columns, row = 0, stop, column, j, k
        cdef const double* x = self.compact.values
        cdef double* to
        while row < self.n_rows:
            stop = min(row + BLOCK, self.n_rows)
            for j in range(n):
                column = chosen[j]
                to = self.values + column * self.n_rows
                for k in range(row, stop):
                    to[k] = x[k * d + column]
            row = stop
