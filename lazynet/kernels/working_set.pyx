"""The columns of a working set, their weights, and the loss of all rows at these weights.

Losses whose slope jumps are smoothed around dual variables a_i that the caller moves: the method of
multipliers (conjugates.pxd).

Property: the certificate of what Newton's method finds with them (tests/exact/test_certificates.py).
"""

cimport cython

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from .arrays cimport check_aligned, check_vector
from .columns cimport Columns
from .compact cimport CompactRows
from .conjugates cimport conjugate, into_domain, smoothed_with_derivatives
from .examples cimport Examples, check_runnable, importance_of
from .rules.motion cimport add_to
from .slopes cimport ROWS_AT_ONCE, losses_with_derivatives

@cython.binding(False)  # a method then checks the type of self
cdef class WorkingSet(Columns):
    """Weights of some columns, and the margins, slopes and curvatures of all rows."""

    def __cinit__(
        self, CompactRows rows, Examples examples, int loss, double epsilon, double curvature,
        double share, bint fit_intercept
    ):
        cdef Py_ssize_t n = rows.n_rows + 1, d = rows.n_columns + 1
        cdef double[:, ::1] of_rows = np.zeros((9, n))
        cdef double[:, ::1] of_columns = np.empty((10, d))
        cdef int32_t[:, ::1] numbers = np.empty((3, d), dtype=np.int32)
        cdef uint8_t[::1] is_member = np.zeros(d, dtype=np.uint8)
        check_runnable(examples, loss)
        self.loss, self.epsilon, self.share = loss, epsilon, share
        self.own_curvature, self.fit_intercept = curvature, fit_intercept
        self.owners += [of_rows, of_columns, numbers, is_member]
        self.margins, self.slopes, self.curvatures = &of_rows[0, 0], &of_rows[1, 0], &of_rows[2, 0]
        self.next_margins, self.next_slopes = &of_rows[3, 0], &of_rows[4, 0]
        self.next_curvatures, self.response = &of_rows[5, 0], &of_rows[6, 0]
        self.scratch, self.held = &of_rows[7, 0], &of_rows[8, 0]
        self.weights, self.trial, self.norms = &of_columns[0, 0], &of_columns[1, 0], &of_columns[2, 0]
        self.gradient, self.hessian = &of_columns[3, 0], &of_columns[4, 0]
        self.vectors, self.is_member = &of_columns[5, 0], &is_member[0]
        self.members, self.active, self.support = &numbers[0, 0], &numbers[1, 0], &numbers[2, 0]

    def __len__(self):
        return self.size

    def candidates(self, const double[::1] u not None, double threshold):
        """The features outside the working set with |u_j| > threshold."""
        cdef Py_ssize_t j, n = 0
        check_vector("u", u, self.n_columns)
        found = np.empty(self.n_columns, dtype=np.int64)
        cdef int64_t[::1] out = found
        for j in range(self.n_columns):
            if fabs(u[j]) > threshold and not self.is_member[j]:
                out[n] = j
                n += 1
        return found[:n]

    def join(self, const int64_t[::1] features not None):
        """Let new features join the working set, with the weight 0."""
        cdef Py_ssize_t k, j, column, row, n = features.shape[0]
        cdef int64_t at, begin, feature
        check_aligned("features", &features[0] if n else NULL)
        self.check_filled()
        # The array is read once: another thread may change it.
        for k in range(n):
            feature = features[k]
            if not 0 <= feature < self.n_columns or self.is_member[feature]:
                for j in range(k):
                    self.is_member[self.active[j]] = False
                raise ValueError(
                    f"features must be new columns from 0 to {self.n_columns - 1}, got {feature}"
                )
            self.is_member[feature] = True
            self.active[k] = <int32_t> feature
        self.modelled, self.size = False, 0
        self.busy = True
        with nogil:
            if self.compact.columns == NULL:
                self.copy_full(self.active, n)
            for k in range(n):
                column = self.active[k]
                self.weights[column] = self.norms[column] = 0.0
                begin = self.first[column]
                for at in range(begin, self.first[column + 1]):
                    row = self.rows[at] if self.compact.columns != NULL else at - begin
                    self.norms[column] += (
                        self.share * importance_of(self.examples, row)
                        * self.values[at] * self.values[at]
                    )
            for column in range(self.n_columns):
                if self.is_member[column]:
                    self.members[self.size] = <int32_t> column
                    self.size += 1
        self.busy = False

    cdef int check_started(self) except -1:
        if not self.started:
            raise ValueError("start must be called before the weights are used")
        return 0

    cdef int check_modelled(self) except -1:
        if not self.modelled:
            raise ValueError("the present weights and columns have no model: call model first")
        return 0

    # --- weights and rows -------------------------------------------------------------------

    def start(
        self, double l1, double l2, const double[::1] weights not None, double intercept,
        double nu, const double[::1] held not None
    ):
        """Set the penalty, the smoothing, and the weights of the columns of the working set."""
        cdef Py_ssize_t k, row
        check_vector("weights", weights, self.n_columns)
        check_vector("held", held, self.n_rows if nu > 0.0 else 0)
        self.check_filled()
        self.started = True
        self.l1, self.l2, self.intercept, self.nu = l1, l2, intercept, nu
        self.curvature = 1.0 / nu if nu > 0.0 else self.own_curvature
        for row in range(held.shape[0]):
            self.held[row] = held[row]
        for k in range(self.size):
            self.weights[self.members[k]] = weights[self.members[k]]
        self.refresh()

    def refresh(self):
        """Compute the margins from the weights, and the loss with its derivatives."""
        cdef Py_ssize_t k
        self.check_started()
        self.enter()
        with nogil:
            memset(self.margins, 0, self.n_rows * sizeof(double))
            for k in range(self.size):
                add_column(self, self.members[k], self.weights[self.members[k]], self.margins)
            self.total = self.evaluate(
                self.margins, self.intercept, self.slopes, self.curvatures
            )
            self.modelled = False
        self.leave()

    def read(self, double[::1] weights not None, double[::1] duals not None):
        """weights <- w, 0 outside the working set; duals <- -l'(p_i).  Returns the intercept."""
        cdef Py_ssize_t k, row
        cdef double importance
        check_vector("weights", weights, self.n_columns)
        check_vector("duals", duals, self.n_rows)
        self.check_started()
        self.enter()
        with nogil:
            if self.n_columns:
                memset(&weights[0], 0, self.n_columns * sizeof(double))
            for k in range(self.size):
                weights[self.members[k]] = self.weights[self.members[k]]
            for row in range(self.n_rows):
                importance = self.share * importance_of(self.examples, row)
                if importance > 0.0:
                    duals[row] = self.dual(row, importance)
                else:
                    duals[row] = 0.0
        self.leave()
        return self.intercept

    def predictions(self, double[::1] margins not None):
        """margins <- x_i.w"""
        check_vector("margins", margins, self.n_rows)
        self.check_started()
        self.check_free()
        if self.n_rows:
            memcpy(&margins[0], self.margins, self.n_rows * sizeof(double))

    # --- columns, and sums over rows --------------------------------------------------------

    cdef double evaluate(
        self, const double* margins, double intercept, double* slopes, double* curvatures
    ) noexcept nogil:
        """The mean loss; slopes <- g, curvatures <- h."""
        cdef Py_ssize_t row = 0, n, k
        cdef double total = 0.0, low = 0.0, importance, part
        cdef double predictions[ROWS_AT_ONCE]
        cdef double losses[ROWS_AT_ONCE]
        while row < self.n_rows:
            n = min(ROWS_AT_ONCE, self.n_rows - row)
            for k in range(n):
                predictions[k] = margins[row + k] + intercept
            if self.nu > 0.0:
                for k in range(n):
                    losses[k] = smoothed_with_derivatives(
                        self.loss, predictions[k], self.examples.targets[row + k], self.epsilon,
                        self.held[row + k], self.nu, &slopes[row + k], &curvatures[row + k],
                    )
            else:
                losses_with_derivatives(
                    self.examples, predictions, row, n, self.loss, self.epsilon, losses,
                    slopes + row, curvatures + row,
                )
            part = 0.0
            for k in range(n):
                importance = self.share * importance_of(self.examples, row + k)
                part += importance * losses[k]
                slopes[row + k] *= importance
                curvatures[row + k] *= importance
            add_to(&total, &low, part)
            row += n
        return total + low

    cdef double dual(self, Py_ssize_t row, double importance) noexcept nogil:
        """-l'(p_i), in the domain of the conjugate in spite of rounding."""
        return into_domain(
            self.loss, -self.slopes[row] / importance, self.examples.targets[row], self.epsilon
        )

    cdef double conjugates(self, double factor) noexcept nogil:
        """(1/n) sum s_i l*(-factor a_i) of the smoothed loss, at the a_i of the slopes."""
        cdef Py_ssize_t row
        cdef double total = 0.0, importance, a, size = 0.0, away
        for row in range(self.n_rows):
            importance = self.share * importance_of(self.examples, row)
            if importance > 0.0:
                a = factor * self.dual(row, importance)
                away = a - self.held[row]
                total += importance * (
                    conjugate(self.loss, a, self.examples.targets[row], self.epsilon, &size)
                    + 0.5 * self.nu * away * away
                )
        return total

    cdef double penalty(self, const double* weights) noexcept nogil:
        cdef Py_ssize_t k
        cdef double absolute = 0.0, squared = 0.0
        for k in range(self.size):
            absolute += fabs(weights[self.members[k]])
            squared += weights[self.members[k]] * weights[self.members[k]]
        return self.l1 * absolute + 0.5 * self.l2 * squared
