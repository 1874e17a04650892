"""Columns that are copied out of rows: the storage of a working set.

X lies in memory by rows; a method that visits columns needs some of them by columns.  New columns
join in three calls, which another thread or an interrupt may separate: ``name`` gives them places,
``pick`` finds their nonzeros in the rows, and ``place`` copies what was found.  A column that has
joined stays.

Property: no call in any order, with any argument, leaves the arrays
(tests/safe/test_kernels_stay_inside_arrays.py).
"""

cimport cython

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from .examples cimport (
    FINISHED,
    OUT_OF_MEMORY,
    PATIENCE,
    PAUSED,
    Examples,
    check_aligned,
    check_vector,
    importance_of,
    walk_rows,
)
from .own_rows cimport OwnRow, Walk, end_walk, next_row

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

    def __cinit__(self, Examples examples, *_, **__):
        cdef Py_ssize_t n = examples.csr.n_rows, d = examples.csr.n_columns
        if n > MOST:
            raise ValueError(f"examples must have at most {MOST} rows, got {n}")
        self.examples, self.share = examples, 1.0
        self.n_rows, self.n_columns = n, d
        self.places = <int32_t*> malloc((d + 1) * sizeof(int32_t))
        self.found_starts = <int64_t*> malloc((n + 2) * sizeof(int64_t))
        if self.places == NULL or self.found_starts == NULL:
            raise MemoryError(f"no memory for {d} columns and {n} rows")
        memset(self.places, 255, (d + 1) * sizeof(int32_t))
        self.found_starts[0] = 0
        self.next_row = -1

    def __dealloc__(self):
        free(self.places)
        free(self.features)
        free(self.starts)
        free(self.lengths)
        free(self.norms)
        free(self.rows)
        free(self.values)
        free(self.found_places)
        free(self.found_values)
        free(self.found_starts)

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
    def order(self):
        """The features of the working set in the order of their places; a copy."""
        cdef Py_ssize_t place
        found = np.empty(self.size, dtype=np.int64)
        cdef int64_t[::1] out = found
        self.check_free()
        for place in range(found.shape[0]):
            out[place] = self.features[place]
        return found

    @property
    def n_nonzeros(self):
        """The nonzeros of all columns of the working set."""
        return self.n_values

    cdef bint _has(self, Py_ssize_t feature) noexcept nogil:
        # A feature that is named and not placed does not belong to the set yet.
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
                if n == found.shape[0]:
                    break  # another thread has changed u
                out[n] = j
                n += 1
        return found[:n]

    cdef void forget(self) noexcept nogil:
        """Take their places from the columns that have been named and not placed."""
        cdef Py_ssize_t k
        for k in range(self.size, self.size + self.n_named):
            self.places[self.features[k]] = -1
        self.n_named, self.n_found, self.next_row = 0, 0, -1

    def name(self, const int64_t[::1] features not None):
        """Give the features places behind the present ones; ``pick`` then copies their columns.

        Features that were named before and have not been placed lose their places.
        """
        cdef Py_ssize_t k, room, size = self.size + features.shape[0]
        cdef int64_t feature
        check_aligned("features", &features[0] if features.shape[0] else NULL)
        self.check_free()
        self.forget()
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
                self.forget()
                raise ValueError(
                    f"features must be new columns from 0 to {self.n_columns - 1}, got {feature}"
                )
            size = self.size + k
            self.features[size], self.lengths[size] = feature, 0
            self.starts[size] = self.n_values
            self.places[feature] = <int32_t> size
            self.n_named += 1
        self.next_row = 0
        return self.size + self.n_named

    def pick(self, Py_ssize_t start):
        """Find the nonzeros of the named columns in the rows from ``start`` on.

        Returns how the call ended and the first row not done, from which the next call goes on.
        """
        cdef Py_ssize_t row = start, touched = 0
        cdef int64_t room
        cdef int status = FINISHED
        cdef Walk at
        cdef const OwnRow* here
        if self.next_row < 0:
            raise ValueError("name must be called before pick: no features wait for their columns")
        if start != self.next_row:
            raise ValueError(f"start must be {self.next_row}, the next row, got {start}")
        self.enter()
        with nogil:
            walk_rows(&at, self.examples, NULL, self.n_rows, row)
            while row < self.n_rows and status == FINISHED:
                here = next_row(&at, NULL, 0)
                status = here.status
                if status != FINISHED:
                    break
                if self.found_places == NULL or self.n_found + here.length > self.found_room:
                    room = 2 * (self.n_found + here.length) + 1024
                    if not (
                        grow(<void**> &self.found_places, room * 4)
                        and grow(<void**> &self.found_values, room * 8)
                    ):
                        status = OUT_OF_MEMORY
                        break
                    self.found_room = room
                self.n_found += pick(
                    here, self.places, <int32_t> self.size,
                    self.found_places + self.n_found, self.found_values + self.n_found,
                )
                self.found_starts[row + 1] = self.n_found
                touched += here.length
                row += 1
                if touched > PATIENCE and row < self.n_rows:
                    status = PAUSED
            end_walk(&at)
        self.next_row = row
        self.leave()
        return status, row

    def place(self, Py_ssize_t size):
        """Copy what ``pick`` found into columns; ``size`` is what ``name`` returned."""
        cdef int64_t k, at, start, room
        cdef Py_ssize_t column, row
        cdef double importance
        self.check_free()
        if self.next_row < 0:
            raise ValueError("name must be called before place: no features wait for their columns")
        if size != self.size + self.n_named:
            raise ValueError(f"size must be {self.size + self.n_named}, as named, got {size}")
        if self.next_row < self.n_rows:
            raise ValueError(
                f"pick must have come to the last of {self.n_rows} rows before place is called, "
                f"but the next row is {self.next_row}"
            )
        if self.rows == NULL or self.n_values + self.n_found > self.values_room:
            room = self.n_values + self.n_found
            room += room // 4 + 1024
            if not (grow(<void**> &self.rows, room * 4) and grow(<void**> &self.values, room * 8)):
                raise MemoryError(f"no memory for {room} nonzeros")
            self.values_room = room
        self.enter()
        with nogil:
            for k in range(self.n_found):
                self.lengths[self.found_places[k]] += 1
            start = self.n_values
            for column in range(self.size, size):
                self.starts[column] = start
                start += self.lengths[column]
                self.lengths[column] = 0
                self.norms[column] = 0.0
            for row in range(self.n_rows):
                importance = self.share * importance_of(self.examples, row)
                for k in range(self.found_starts[row], self.found_starts[row + 1]):
                    column = self.found_places[k]
                    at = self.starts[column] + self.lengths[column]
                    self.lengths[column] += 1
                    self.rows[at] = <int32_t> row
                    self.values[at] = self.found_values[k]
                    self.norms[column] += importance * self.found_values[k] * self.found_values[k]
            self.n_values = start
            self.joined(self.size, size)
            self.size = size
            self.n_named, self.n_found, self.next_row = 0, 0, -1
        self.leave()
