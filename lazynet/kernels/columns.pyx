"""Columns that are copied out of rows: the storage of a working set.

X lies in memory by rows; a method that visits columns needs some of them by columns.  New columns
join in one visit of all rows, and stay.

Property: no call in any order, with any argument, leaves the arrays
(tests/safe/test_kernels_stay_inside_arrays.py).
"""

cimport cython

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from .arrays cimport check_aligned, check_vector
from .compact cimport CompactRows
from .examples cimport Examples, importance_of

# The most rows and the most columns: places are 32-bit numbers.
cdef Py_ssize_t MOST = 2 ** 31 - 1
MOST_ROWS = MOST


cdef bint grow(void** block, size_t size) noexcept nogil:
    cdef void* larger = realloc(block[0], size if size else 1)
    if larger == NULL:
        return False
    block[0] = larger
    return True


@cython.binding(False)  # a method then checks the type of self
cdef class Columns:
    """Some columns of X, with the rows and values of their nonzeros."""

    def __cinit__(self, CompactRows rows, Examples examples, *_, **__):
        cdef Py_ssize_t n = rows.n_rows, d = rows.n_columns
        rows.check_filled()
        if n > MOST:
            raise ValueError(f"rows must be at most {MOST}, got {n}")
        if examples.csr.n_rows != n:
            raise ValueError(f"examples must have {n} rows, got {examples.csr.n_rows}")
        self.compact, self.examples, self.share = rows, examples, 1.0
        self.n_rows, self.n_columns = n, d
        self.places = <int32_t*> malloc((d + 1) * sizeof(int32_t))
        if self.places == NULL:
            raise MemoryError(f"no memory for {d} columns")
        memset(self.places, 255, (d + 1) * sizeof(int32_t))

    def __dealloc__(self):
        free(self.places)
        free(self.features)
        free(self.starts)
        free(self.lengths)
        free(self.norms)
        free(self.rows)
        free(self.values)

    cdef bint make_room(self, Py_ssize_t room) noexcept:
        return (
            grow(<void**> &self.features, room * 8) and grow(<void**> &self.starts, room * 8)
            and grow(<void**> &self.lengths, room * 8) and grow(<void**> &self.norms, room * 8)
        )

    cdef void joined(self, Py_ssize_t first, Py_ssize_t stop) noexcept nogil:
        pass

    # Methods give up the GIL between ``enter`` and ``leave``: meanwhile another thread could call a
    # method that moves the arrays.
    cdef int check_free(self) except -1:
        if self.busy:
            raise RuntimeError("a working set is used by one thread at a time")
        return 0

    cdef int enter(self) except -1:
        self.check_free()
        self.busy = True
        return 0

    cdef void leave(self) noexcept:
        self.busy = False

    def __len__(self):
        return self.size

    @property
    def n_nonzeros(self):
        """The nonzeros of all columns of the working set."""
        return self.n_values

    cdef bint _has(self, Py_ssize_t feature) noexcept nogil:
        # A feature that is about to join does not belong to the set yet.
        return 0 <= self.places[feature] < self.size

    def candidates(self, const double[::1] u not None, double threshold):
        """The features outside the working set with |u_j| > threshold."""
        cdef Py_ssize_t j, n = 0
        check_vector("u", u, self.n_columns)
        for j in range(self.n_columns):
            n += fabs(u[j]) > threshold and not self._has(j)
        found = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] out = found
        n = 0
        for j in range(self.n_columns):
            if fabs(u[j]) > threshold and not self._has(j):
                if n == out.shape[0]:
                    break  # another thread has changed u
                out[n] = j
                n += 1
        return found[:n]

    cdef void forget(self, Py_ssize_t n) noexcept nogil:
        """Take their places from n columns that have been named."""
        cdef Py_ssize_t k
        for k in range(self.size, self.size + n):
            self.places[self.features[k]] = -1

    cdef int name(self, const int64_t[::1] features) except -1:
        """Give the features places behind the present ones."""
        cdef Py_ssize_t k, room, size = self.size + features.shape[0]
        cdef int64_t feature
        if size > MOST:
            raise ValueError(f"a working set has at most {MOST} columns, got {size}")
        if size > self.room:
            room = size + size // 2 + 64
            if not self.make_room(room):
                raise MemoryError(f"no memory for {size} columns")
            self.room = room
        for k in range(features.shape[0]):
            feature = features[k]
            if not 0 <= feature < self.n_columns or self.places[feature] >= 0:
                self.forget(k)
                raise ValueError(
                    f"features must be new columns from 0 to {self.n_columns - 1}, got {feature}"
                )
            self.features[self.size + k] = feature
            self.places[feature] = <int32_t> (self.size + k)
        return 0

    cdef bint find(self, Found* found) noexcept nogil:
        """Find the nonzeros of the named columns, row by row; false without memory."""
        cdef Py_ssize_t row
        cdef int64_t k, first, length, room, n
        cdef int32_t place
        cdef const double* x
        cdef const int32_t* columns
        for row in range(self.n_rows):
            first = self.compact.starts[row]
            length = self.compact.starts[row + 1] - first
            if found.n + length > found.room or found.values == NULL:
                room = 2 * (found.n + length) + 1024
                if not (
                    grow(<void**> &found.rows, room * 4) and grow(<void**> &found.places, room * 4)
                    and grow(<void**> &found.values, room * 8)
                ):
                    return False
                found.room = room
            x, n = self.compact.values + first, found.n
            columns = self.compact.columns + first if self.compact.columns != NULL else NULL
            # Nothing branches on what is found.
            for k in range(length):
                place = self.places[columns[k] if columns != NULL else k]
                found.rows[n], found.places[n], found.values[n] = <int32_t> row, place, x[k]
                n += place >= self.size
            found.n = n
        return True

    cdef bint place(self, const Found* found, Py_ssize_t n) noexcept nogil:
        """Copy what was found of n named columns into columns; false without memory."""
        cdef int64_t k, at, start = self.n_values, room = self.n_values + found.n
        cdef Py_ssize_t column
        if self.rows == NULL or room > self.values_room:
            room += room // 4 + 1024
            if not (grow(<void**> &self.rows, room * 4) and grow(<void**> &self.values, room * 8)):
                return False
            self.values_room = room
        for column in range(self.size, self.size + n):
            self.lengths[column] = 0
        for k in range(found.n):
            self.lengths[found.places[k]] += 1
        for column in range(self.size, self.size + n):
            self.starts[column] = start
            start += self.lengths[column]
            self.lengths[column] = 0
            self.norms[column] = 0.0
        for k in range(found.n):
            column = found.places[k]
            at = self.starts[column] + self.lengths[column]
            self.lengths[column] += 1
            self.rows[at], self.values[at] = found.rows[k], found.values[k]
            self.norms[column] += (
                self.share * importance_of(self.examples, found.rows[k]) * found.values[k]
                * found.values[k]
            )
        self.n_values = start
        self.joined(self.size, self.size + n)
        self.size += n
        return True

    def join(self, const int64_t[::1] features not None):
        """Copy new columns behind the present ones; without memory nothing changes."""
        cdef Py_ssize_t n = features.shape[0]
        cdef bint done = False
        cdef Found found
        memset(&found, 0, sizeof(Found))
        check_aligned("features", &features[0] if n else NULL)
        self.enter()
        try:
            self.name(features)
            with nogil:
                done = self.find(&found) and self.place(&found, n)
                if not done:
                    self.forget(n)
        finally:
            self.leave()
            free(found.rows)
            free(found.places)
            free(found.values)
        if not done:
            raise MemoryError(f"no memory for {n} columns")
