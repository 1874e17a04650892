"""Proximal Newton steps on a working set of columns, for the elastic net.

Minimises  P(w, b) = (1/n) sum s_i l(x_i.w + b, y_i) + l1 |w|_1 + l2/2 |w|^2  over the weights of a
working set W; all other weights are 0.  One step at w, with p_i = x_i.w + b, slopes
g_i = s_i l'(p_i)/n, curvatures h_i = s_i l''(p_i)/n and d = v - w:

    v = argmin  g.(Xd + e) + 1/2 sum h_i (x_i.d + e)^2 + l1 |v|_1 + l2/2 |v|^2
                + 1/2 sum D_j d_j^2 + 1/2 D_b e^2
    w <- w + t (v - w),  t = 1, 1/2, 1/4, ... until P falls by 1 % of what the model promises.

e is the change of the intercept.  D is a damping, 0 until a step t = 1 is refused.  The model is
minimised by cyclic coordinate descent over W (Friedman, Hastie & Tibshirani 2010; Yuan, Ho & Lin
2012), which finds the zeros, and by conjugate gradients on the nonzeros with their signs held,
which settle columns that resemble each other.  r_i = h_i (x_i.d + e) is kept, so that a visit of a
column costs its nonzeros.  The columns of W are copied out of the rows of X, once.

Losses whose slope jumps are smoothed around dual variables a_i that the caller moves: the method of
multipliers (conjugates.pxd).

Property: the certificate of what it finds (tests/exact/test_certificates.py), and the optimality
conditions (tests/exact/test_minima.py).
"""

cimport cython

import numpy as np

from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from .averages cimport add_to
from .conjugates cimport (
    conjugate,
    into_domain,
    loss_with_derivatives,
    smoothed_with_derivatives,
)
from .examples cimport (
    BAD_ROW,
    FINISHED,
    OUT_OF_MEMORY,
    PATIENCE,
    PAUSED,
    Examples,
    check_runnable,
    check_vector,
)
from .rows cimport NO_MEMORY, SOUND, Room, Row, soft

# The most rows and the most columns of a working set: places are 32-bit numbers.
cdef Py_ssize_t MOST = 2 ** 31 - 1
MOST_ROWS = MOST

# Sweeps of coordinate descent in one step, and conjugate gradients in one run.
cdef int MOST_SWEEPS = 30
cdef int MOST_DIRECTIONS = 8
# The share of the columns that may change their sign in a sweep before conjugate gradients are
# worth a run, and by how much a run reduces the residual.
cdef double SETTLED = 0.03
cdef double REDUCTION = 1e-2
# A step is accepted if P falls by this share of what the model promises.
cdef double SUFFICIENT = 0.01
cdef int MOST_HALVINGS = 30
# The damping of a step relative to the curvature at the steepest point of the loss: a weight moves
# at most as far as its own column alone would let it at 1, and less with columns that overlap.
cdef double LEAST_DAMPING = 1e-3
cdef double MOST_DAMPING = 1e3
# What rounding may add to an objective, relative to it.
cdef double ROUNDING = 1e-14
# The least curvature of a column, relative to its curvature at the steepest point of the loss.
cdef double LEAST = 1e-10


cdef inline double column_dot(
    Py_ssize_t length, const int32_t* rows, const double* values, const double* vector
) noexcept nogil:
    # Four sums side by side: one would wait for the addition before it.
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t k = 0
    while k + 4 <= length:
        a += values[k] * vector[rows[k]]
        b += values[k + 1] * vector[rows[k + 1]]
        c += values[k + 2] * vector[rows[k + 2]]
        d += values[k + 3] * vector[rows[k + 3]]
        k += 4
    while k < length:
        a += values[k] * vector[rows[k]]
        k += 1
    return (a + b) + (c + d)


cdef inline void add_column(
    Py_ssize_t length, const int32_t* rows, const double* values, double factor, double* vector
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(length):
        vector[rows[k]] += factor * values[k]


cdef inline bint crosses_zero(double old, double new) noexcept nogil:
    # Not by the sign of a product, which may underflow.
    return not (new > 0.0 if old > 0.0 else new < 0.0)


cdef inline bint grow(void** block, size_t size) noexcept nogil:
    """Give the block at least ``size`` bytes; keeps what it holds.  False without memory."""
    cdef void* larger = realloc(block[0], size if size else 1)
    if larger == NULL:
        return False
    block[0] = larger
    return True


@cython.binding(False)  # a method then checks the type of self
cdef class WorkingSet:
    """The columns of the working set, their weights, and the state of a step."""

    cdef Examples examples
    cdef int loss
    cdef double epsilon, share, l1, l2
    cdef double own_curvature      # of the loss at its steepest point
    cdef double curvature          # of the loss that is used, smoothed or not
    cdef bint fit_intercept
    cdef Py_ssize_t n_rows, n_columns
    # A number for each row.
    cdef double* margins           # x_i.w
    cdef double* slopes            # g_i
    cdef double* curvatures        # h_i
    cdef double* next_margins
    cdef double* next_slopes
    cdef double* next_curvatures
    cdef double* response          # r_i
    cdef double* scratch
    cdef double* held              # where the smoothing holds the dual variables
    cdef double nu                 # the strength of the smoothing; 0: none
    # The place of each column of X among the columns of W, or -1.
    cdef int32_t* places
    # A number for each column of W.
    cdef Py_ssize_t size, room
    cdef int64_t* features
    cdef int64_t* starts
    cdef int64_t* lengths
    cdef double* weights           # w
    cdef double* trial             # v
    cdef double* gradient
    cdef double* hessian           # the diagonal
    cdef double* norms             # share sum s_i x_ij^2
    cdef int32_t* active           # places of the columns that a sweep visits
    cdef int32_t* support          # places of the nonzeros
    cdef double* vectors           # five vectors of conjugate gradients
    # The nonzeros of the columns.
    cdef int64_t n_values, values_room
    cdef int32_t* rows
    cdef double* values
    # Columns that have been named and not yet placed, and what picking has found for them so far.
    cdef Py_ssize_t n_named
    cdef Py_ssize_t next_row       # the row from which picking goes on; -1: nothing is named
    cdef int64_t n_found, found_room
    cdef int32_t* found_places
    cdef double* found_values
    cdef int64_t* found_starts
    # The model.
    cdef double intercept, trial_intercept, intercept_gradient, intercept_hessian, total
    cdef double damping, promise
    cdef int sweeps, wait, next_gradients
    cdef bint everywhere           # whether the next sweep visits all of W
    cdef Py_ssize_t n_active
    cdef int64_t work              # nonzeros visited since the call began
    # What may be called.
    cdef bint busy                 # whether a call is under way, perhaps in another thread
    cdef bint started, modelled    # whether there are weights, and a model at these weights

    def __cinit__(
        self, Examples examples, int loss, double epsilon, double curvature, double share,
        bint fit_intercept
    ):
        cdef Py_ssize_t n = examples.csr.n_rows, d = examples.csr.n_columns
        check_runnable(examples, loss)
        if n > MOST:
            raise ValueError(f"examples must have at most {MOST} rows, got {n}")
        self.examples, self.loss, self.epsilon, self.share = examples, loss, epsilon, share
        self.own_curvature, self.fit_intercept = curvature, fit_intercept
        self.n_rows, self.n_columns = n, d
        cdef double** of_rows[9]
        of_rows[0], of_rows[1], of_rows[2] = &self.margins, &self.slopes, &self.curvatures
        of_rows[3], of_rows[4] = &self.next_margins, &self.next_slopes
        of_rows[5], of_rows[6] = &self.next_curvatures, &self.response
        of_rows[7], of_rows[8] = &self.scratch, &self.held
        cdef int k
        for k in range(9):
            of_rows[k][0] = <double*> malloc((n + 1) * sizeof(double))
            if of_rows[k][0] == NULL:
                raise MemoryError(f"no memory for {n} rows")
            memset(of_rows[k][0], 0, (n + 1) * sizeof(double))
        self.places = <int32_t*> malloc((d + 1) * sizeof(int32_t))
        self.found_starts = <int64_t*> malloc((n + 2) * sizeof(int64_t))
        if self.places == NULL or self.found_starts == NULL:
            raise MemoryError(f"no memory for {d} columns and {n} rows")
        memset(self.places, 255, (d + 1) * sizeof(int32_t))
        self.found_starts[0] = 0
        self.next_row = -1

    def __dealloc__(self):
        free(self.margins)
        free(self.slopes)
        free(self.curvatures)
        free(self.next_margins)
        free(self.next_slopes)
        free(self.next_curvatures)
        free(self.response)
        free(self.scratch)
        free(self.held)
        free(self.places)
        free(self.features)
        free(self.starts)
        free(self.lengths)
        free(self.weights)
        free(self.trial)
        free(self.gradient)
        free(self.hessian)
        free(self.norms)
        free(self.active)
        free(self.support)
        free(self.vectors)
        free(self.rows)
        free(self.values)
        free(self.found_places)
        free(self.found_values)
        free(self.found_starts)

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

    cdef int check_started(self) except -1:
        if not self.started:
            raise ValueError("start must be called before the weights are used")
        return 0

    cdef int check_modelled(self) except -1:
        if not self.modelled:
            raise ValueError("the present weights and columns have no model: call model first")
        return 0

    # --- the columns ------------------------------------------------------------------------

    def __len__(self):
        return self.size

    @property
    def n_nonzeros(self):
        """The nonzeros of all columns of the working set."""
        return self.n_values

    cdef inline bint _has(self, Py_ssize_t feature) noexcept nogil:
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
        self.check_free()
        self.forget()
        if size > MOST:
            raise ValueError(f"a working set has at most {MOST} columns, got {size}")
        if size > self.room:
            room = size + size // 2 + 64
            if not (
                grow(<void**> &self.features, room * 8) and grow(<void**> &self.starts, room * 8)
                and grow(<void**> &self.lengths, room * 8) and grow(<void**> &self.weights, room * 8)
                and grow(<void**> &self.trial, room * 8) and grow(<void**> &self.gradient, room * 8)
                and grow(<void**> &self.hessian, room * 8) and grow(<void**> &self.norms, room * 8)
                and grow(<void**> &self.active, room * 4) and grow(<void**> &self.support, room * 4)
                and grow(<void**> &self.vectors, room * 5 * 8)
            ):
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
            self.features[size], self.weights[size], self.lengths[size] = feature, 0.0, 0
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
        cdef int defect = SOUND
        cdef Row loaded
        cdef Room space
        if self.next_row < 0:
            raise ValueError("name must be called before pick: no features wait for their columns")
        if start != self.next_row:
            raise ValueError(f"start must be {self.next_row}, the next row, got {start}")
        self.enter()
        space.bytes, space.size = NULL, 0
        with nogil:
            while row < self.n_rows and touched <= PATIENCE:
                defect = self.examples.ops.load_row(&self.examples.csr, row, &loaded, &space)
                if defect != SOUND:
                    break
                if self.found_places == NULL or self.n_found + loaded.length > self.found_room:
                    room = 2 * (self.n_found + loaded.length) + 1024
                    if not (
                        grow(<void**> &self.found_places, room * 4)
                        and grow(<void**> &self.found_values, room * 8)
                    ):
                        defect = NO_MEMORY
                        break
                    self.found_room = room
                self.n_found += self.examples.ops.pick(
                    &loaded, self.places, <int32_t> self.size,
                    self.found_places + self.n_found, self.found_values + self.n_found,
                )
                self.found_starts[row + 1] = self.n_found
                touched += loaded.length
                row += 1
            free(space.bytes)
        self.next_row = row
        self.leave()
        if defect == NO_MEMORY:
            return <int> OUT_OF_MEMORY, row
        if defect != SOUND:
            return <int> BAD_ROW, row
        return <int> (FINISHED if row >= self.n_rows else PAUSED), row

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
                importance = self.share * self._importance(row)
                for k in range(self.found_starts[row], self.found_starts[row + 1]):
                    column = self.found_places[k]
                    at = self.starts[column] + self.lengths[column]
                    self.lengths[column] += 1
                    self.rows[at] = <int32_t> row
                    self.values[at] = self.found_values[k]
                    self.norms[column] += importance * self.found_values[k] * self.found_values[k]
            self.n_values = start
            self.size = size
            self.n_named, self.n_found, self.next_row = 0, 0, -1
            self.modelled = False
        self.leave()

    cdef inline double _importance(self, Py_ssize_t row) noexcept nogil:
        return self.examples.importances[row] if self.examples.importances != NULL else 1.0

    # --- weights and rows -------------------------------------------------------------------

    def start(
        self, double l1, double l2, const double[::1] weights not None, double intercept,
        double nu, const double[::1] held not None
    ):
        """Set the penalty, the smoothing, and the weights of the columns of the working set."""
        cdef Py_ssize_t place, row
        check_vector("weights", weights, self.n_columns)
        check_vector("held", held, self.n_rows if nu > 0.0 else 0)
        self.check_free()
        self.started = True
        self.l1, self.l2, self.intercept, self.nu, self.damping = l1, l2, intercept, nu, 0.0
        self.curvature = 1.0 / nu if nu > 0.0 else self.own_curvature
        for row in range(held.shape[0]):
            self.held[row] = held[row]
        for place in range(self.size):
            self.weights[place] = weights[self.features[place]]
        self.refresh()

    def refresh(self):
        """Compute the margins from the weights, and the loss with its derivatives."""
        cdef Py_ssize_t place
        self.check_started()
        self.enter()
        with nogil:
            memset(self.margins, 0, self.n_rows * sizeof(double))
            for place in range(self.size):
                if self.weights[place] != 0.0:
                    add_column(
                        self.lengths[place], self.rows + self.starts[place],
                        self.values + self.starts[place], self.weights[place], self.margins,
                    )
            self.total = self._evaluate(
                self.margins, self.intercept, self.slopes, self.curvatures
            )
            self.modelled = False
        self.leave()

    def read(self, double[::1] weights not None, double[::1] duals not None):
        """weights <- w, 0 outside the working set; duals <- -l'(p_i).  Returns the intercept."""
        cdef Py_ssize_t place, row
        cdef double importance
        check_vector("weights", weights, self.n_columns)
        check_vector("duals", duals, self.n_rows)
        self.check_started()
        self.enter()
        with nogil:
            if self.n_columns:
                memset(&weights[0], 0, self.n_columns * sizeof(double))
            for place in range(self.size):
                weights[self.features[place]] = self.weights[place]
            for row in range(self.n_rows):
                importance = self.share * self._importance(row)
                if importance > 0.0:
                    duals[row] = self._dual(row, importance)
                else:
                    duals[row] = 0.0
        self.leave()
        return self.intercept

    def predictions(self, double[::1] margins not None, double[::1] sizes not None):
        """margins <- x_i.w; sizes <- sum_j |x_ij w_j| times the nonzeros that were added."""
        cdef Py_ssize_t place, row
        cdef int64_t k
        cdef double weight, term
        check_vector("margins", margins, self.n_rows)
        check_vector("sizes", sizes, self.n_rows)
        self.check_started()
        self.enter()
        with nogil:
            for row in range(self.n_rows):
                margins[row] = self.margins[row]
                sizes[row] = self.scratch[row] = 0.0
            for place in range(self.size):
                weight = self.weights[place]
                if weight != 0.0:
                    for k in range(self.starts[place], self.starts[place] + self.lengths[place]):
                        term = weight * self.values[k]
                        sizes[self.rows[k]] += fabs(term)
                        self.scratch[self.rows[k]] += 1.0
            for row in range(self.n_rows):
                sizes[row] *= self.scratch[row]
        self.leave()

    cdef double _evaluate(
        self, const double* margins, double intercept, double* slopes, double* curvatures
    ) noexcept nogil:
        """The mean loss; slopes <- g, curvatures <- h."""
        cdef Py_ssize_t row
        cdef double total = 0.0, low = 0.0, importance, value, slope = 0.0, curvature = 0.0
        for row in range(self.n_rows):
            importance = self.share * self._importance(row)
            if self.nu > 0.0:
                value = smoothed_with_derivatives(
                    self.loss, margins[row] + intercept, self.examples.targets[row], self.epsilon,
                    self.held[row], self.nu, &slope, &curvature,
                )
            else:
                value = loss_with_derivatives(
                    self.loss, margins[row] + intercept, self.examples.targets[row], self.epsilon,
                    &slope, &curvature,
                )
            add_to(&total, &low, importance * value)
            slopes[row] = importance * slope
            curvatures[row] = importance * curvature
        return total + low

    cdef inline double _dual(self, Py_ssize_t row, double importance) noexcept nogil:
        """-l'(p_i), in the domain of the conjugate in spite of rounding."""
        return into_domain(
            self.loss, -self.slopes[row] / importance, self.examples.targets[row], self.epsilon
        )

    cdef double _conjugates(self, double factor) noexcept nogil:
        """(1/n) sum s_i l*(-factor a_i) of the smoothed loss, at the a_i of the slopes."""
        cdef Py_ssize_t row
        cdef double total = 0.0, importance, dual, size = 0.0, away
        for row in range(self.n_rows):
            importance = self.share * self._importance(row)
            if importance > 0.0:
                dual = factor * self._dual(row, importance)
                away = dual - self.held[row]
                total += importance * (
                    conjugate(self.loss, dual, self.examples.targets[row], self.epsilon, &size)
                    + 0.5 * self.nu * away * away
                )
        return total

    def objective(self):
        """The objective, of the smoothed loss if there is a smoothing."""
        self.check_started()
        self.check_free()
        return self.total + self._penalty(self.weights)

    cdef double _penalty(self, const double* weights) noexcept nogil:
        cdef Py_ssize_t place
        cdef double absolute = 0.0, squared = 0.0
        for place in range(self.size):
            absolute += fabs(weights[place])
            squared += weights[place] * weights[place]
        return self.l1 * absolute + 0.5 * self.l2 * squared

    # --- a step -----------------------------------------------------------------------------

    def model(self, double target):
        """Make the model at the present weights.

        Returns an estimate of the duality gap on the working set, the largest change that a visit
        of one column makes times its curvature, sum |w|, and the slope in the intercept.
        """
        cdef Py_ssize_t place, row
        cdef int64_t k
        cdef double gradient, hessian, u, over, estimate = 0.0, reward = 0.0, largest = 0.0
        cdef double violation = 0.0, absolute = 0.0, value, pull
        self.check_started()
        self.enter()
        with nogil:
            self.work = 0
            for place in range(self.size):
                gradient = hessian = 0.0
                for k in range(self.starts[place], self.starts[place] + self.lengths[place]):
                    value = self.values[k]
                    gradient += value * self.slopes[self.rows[k]]
                    hessian += value * value * self.curvatures[self.rows[k]]
                self.gradient[place] = gradient
                self.hessian[place] = hessian
                u = -gradient
                absolute += fabs(self.weights[place])
                reward += u * self.weights[place]
                estimate += self.l1 * fabs(self.weights[place]) - u * self.weights[place]
                estimate += 0.5 * self.l2 * self.weights[place] * self.weights[place]
                over = fmax(fabs(u) - self.l1, 0.0)
                if self.l2 > 0.0:
                    estimate += over * over / (2.0 * self.l2)
                largest = fmax(largest, fabs(u))
                pull = self._curvature_of(place)
                value = soft(
                    self.weights[place] - (gradient + self.l2 * self.weights[place]) / pull,
                    self.l1 / pull,
                )
                violation = fmax(violation, fabs(value - self.weights[place]) * pull)
            self.intercept_gradient = self.intercept_hessian = 0.0
            if self.fit_intercept:
                for row in range(self.n_rows):
                    self.intercept_gradient += self.slopes[row]
                    self.intercept_hessian += self.curvatures[row]
                self.intercept_hessian += self._intercept_damping()
                self.intercept_hessian = fmax(self.intercept_hessian, LEAST * self.curvature)
            if self.l2 == 0.0 and largest > self.l1:
                estimate += (1.0 - self.l1 / largest) * reward
                if estimate <= target:
                    estimate = self.total + self.l1 * absolute
                    estimate += self._conjugates(self.l1 / largest)
            if self.size:
                memcpy(self.trial, self.weights, self.size * sizeof(double))
            memset(self.response, 0, self.n_rows * sizeof(double))
            self.trial_intercept = self.intercept
            self.sweeps = self.next_gradients = 0
            self.wait = 1
            self._visit_all()
            self.modelled = True
        self.leave()
        return estimate, violation, absolute, self.intercept_gradient

    cdef inline double _curvature_of(self, Py_ssize_t place) noexcept nogil:
        """The curvature of the model in one weight."""
        cdef double steepest = self.curvature * self.norms[place]
        cdef double own = self.hessian[place] + self.l2 + self.damping * steepest
        return fmax(fmax(own, LEAST * steepest), 1e-300)

    cdef inline double _slope_of(self, Py_ssize_t place) noexcept nogil:
        """The slope of the smooth part of the model in one weight."""
        cdef double moved = self.trial[place] - self.weights[place]
        return (
            self.gradient[place]
            + column_dot(
                self.lengths[place], self.rows + self.starts[place],
                self.values + self.starts[place], self.response,
            )
            + self.l2 * self.trial[place]
            + self.damping * self.curvature * self.norms[place] * moved
        )

    cdef inline double _intercept_damping(self) noexcept nogil:
        # The intercept is the weight of a column of ones, whose share sum s_i x_ij^2 is 1.
        return self.damping * self.curvature

    cdef double _intercept_slope(self) noexcept nogil:
        """The slope of the model in the intercept."""
        cdef Py_ssize_t row
        cdef double slope = self.intercept_gradient
        slope += self._intercept_damping() * (self.trial_intercept - self.intercept)
        for row in range(self.n_rows):
            slope += self.response[row]
        return slope

    cdef void _visit_all(self) noexcept nogil:
        cdef Py_ssize_t place
        for place in range(self.size):
            self.active[place] = <int32_t> place
        self.n_active = self.size
        self.everywhere = True

    def descend(self, double want):
        """Minimise the model until no visit changes more than ``want``; False if work is left."""
        cdef double met
        cdef Py_ssize_t place, flips = 0
        cdef bint done = False
        self.check_modelled()
        self.enter()
        with nogil:
            self.work = 0
            while self.sweeps < MOST_SWEEPS:
                if self.work > PATIENCE:
                    break
                met = self._sweep(&flips)
                self.sweeps += 1
                if self.everywhere:
                    if met <= want:
                        done = True
                        break
                    self.everywhere, self.n_active = False, 0
                    for place in range(self.size):
                        if self.trial[place] != 0.0 or self.weights[place] != 0.0:
                            self.active[self.n_active] = <int32_t> place
                            self.n_active += 1
                elif met <= want:
                    self._visit_all()
                elif self.sweeps >= self.next_gradients and flips <= SETTLED * self.n_active:
                    if self._settle_support():
                        self.wait = max(1, self.wait // 2)
                    else:
                        self.wait *= 4
                    self.next_gradients = self.sweeps + self.wait
        self.leave()
        return bool(done or self.sweeps >= MOST_SWEEPS)

    cdef double _sweep(self, Py_ssize_t* flips) noexcept nogil:
        """Visit the active columns once; returns the largest change times its curvature."""
        cdef Py_ssize_t k, row
        cdef int64_t at
        cdef int32_t place
        cdef double pull, new, change, met = 0.0
        flips[0] = 0
        for k in range(self.n_active):
            place = self.active[k]
            pull = self._curvature_of(place)
            new = soft(self.trial[place] - self._slope_of(place) / pull, self.l1 / pull)
            change = new - self.trial[place]
            self.work += self.lengths[place]
            if change != 0.0:
                met = fmax(met, fabs(change) * pull)
                flips[0] += (new > 0.0) != (self.trial[place] > 0.0)
                flips[0] += (new < 0.0) != (self.trial[place] < 0.0)
                self.trial[place] = new
                self.work += self.lengths[place]
                for at in range(self.starts[place], self.starts[place] + self.lengths[place]):
                    row = self.rows[at]
                    self.response[row] += change * self.values[at] * self.curvatures[row]
        if self.fit_intercept:
            change = self._intercept_slope()
            met = fmax(met, fabs(change))
            change = -change / self.intercept_hessian
            self.trial_intercept += change
            for row in range(self.n_rows):
                self.response[row] += change * self.curvatures[row]
        return met

    cdef bint _settle_support(self) noexcept nogil:
        """Conjugate gradients on the nonzeros of v with their signs held.

        The step is projected: a weight that would change its sign becomes 0.  If the model does not
        fall by that, the step ends at the first zero instead.  Returns whether it was not cut.
        """
        cdef double* residual = self.vectors
        cdef double* scaled = residual + self.size
        cdef double* direction = scaled + self.size
        cdef double* step = direction + self.size
        cdef double* image = step + self.size
        cdef double* along = self.scratch
        cdef Py_ssize_t k, n = 0, row, first_zero = -1
        cdef int32_t place
        cdef int turn
        cdef double power = 0.0, first_power, next_power, bend, length, ratio, old, new, moved
        cdef double rest_b = 0.0, scaled_b = 0.0, direction_b = 0.0, step_b = 0.0, image_b = 0.0
        cdef double linear, quadratic, reach = 1.0
        cdef int64_t nonzeros = 0
        cdef bint crosses = False
        for k in range(self.n_active):
            place = self.active[k]
            if self.trial[place] != 0.0:
                self.support[n] = place
                n += 1
                nonzeros += self.lengths[place]
        for k in range(n):
            place = self.support[k]
            residual[k] = -(
                self._slope_of(place) + (self.l1 if self.trial[place] > 0.0 else -self.l1)
            )
            direction[k] = scaled[k] = residual[k] / self._curvature_of(place)
            step[k] = 0.0
            power += residual[k] * scaled[k]
        if self.fit_intercept:
            rest_b = -self._intercept_slope()
            direction_b = scaled_b = rest_b / self.intercept_hessian
            power += rest_b * scaled_b
        self.work += nonzeros
        first_power = power
        for turn in range(MOST_DIRECTIONS):
            if not (power > REDUCTION * first_power and power > 0.0):
                break
            for row in range(self.n_rows):
                along[row] = direction_b
            for k in range(n):
                self._add(self.support[k], direction[k], along)
            bend = image_b = 0.0
            for row in range(self.n_rows):
                along[row] *= self.curvatures[row]
            if self.fit_intercept:
                for row in range(self.n_rows):
                    image_b += along[row]
                image_b += self._intercept_damping() * direction_b
                bend = image_b * direction_b
            for k in range(n):
                place = self.support[k]
                image[k] = column_dot(
                    self.lengths[place], self.rows + self.starts[place],
                    self.values + self.starts[place], along,
                )
                image[k] += direction[k] * (
                    self.l2 + self.damping * self.curvature * self.norms[place]
                )
                bend += direction[k] * image[k]
            self.work += 2 * nonzeros
            if not bend > 0.0:
                break
            length, next_power = power / bend, 0.0
            if self.fit_intercept:
                step_b += length * direction_b
                rest_b -= length * image_b
                scaled_b = rest_b / self.intercept_hessian
                next_power = rest_b * scaled_b
            for k in range(n):
                step[k] += length * direction[k]
                residual[k] -= length * image[k]
                scaled[k] = residual[k] / self._curvature_of(self.support[k])
                next_power += residual[k] * scaled[k]
            ratio, power = next_power / power, next_power
            direction_b = scaled_b + ratio * direction_b
            for k in range(n):
                direction[k] = scaled[k] + ratio * direction[k]
        for k in range(n):
            old = self.trial[self.support[k]]
            new = old + step[k]
            if crosses_zero(old, new):
                crosses = True
                if -old / step[k] < reach:
                    reach, first_zero = -old / step[k], k
        if crosses:
            # Whether the model falls along the projected step.
            moved = self.trial_intercept - self.intercept + 0.5 * step_b
            linear, quadratic = self.intercept_gradient * step_b, 0.0
            linear += self._intercept_damping() * step_b * moved
            for row in range(self.n_rows):
                along[row] = step_b
            for k in range(n):
                place = self.support[k]
                old = self.trial[place]
                new = 0.0 if crosses_zero(old, old + step[k]) else old + step[k]
                moved = new - old
                self._add(place, moved, along)
                linear += moved * (self.gradient[place] + (self.l1 if old > 0.0 else -self.l1))
                linear += 0.5 * self.l2 * (new * new - old * old)
                linear += 0.5 * self.damping * self.curvature * self.norms[place] * moved * (
                    new + old - 2.0 * self.weights[place]
                )
            self.work += nonzeros
            for row in range(self.n_rows):
                quadratic += 0.5 * self.curvatures[row] * along[row] * along[row]
                linear += self.response[row] * along[row]
            if linear + quadratic < 0.0:
                reach, first_zero = 1.0, -1
            else:
                crosses = False
                for k in range(n):
                    step[k] *= reach
                step_b *= reach
                if first_zero >= 0:
                    step[first_zero] = -self.trial[self.support[first_zero]]
                for row in range(self.n_rows):
                    along[row] = step_b
                for k in range(n):
                    self._add(self.support[k], step[k], along)
        else:
            for row in range(self.n_rows):
                along[row] = step_b
            for k in range(n):
                self._add(self.support[k], step[k], along)
        self.work += nonzeros
        self.trial_intercept += step_b
        for row in range(self.n_rows):
            self.response[row] += self.curvatures[row] * along[row]
        for k in range(n):
            place = self.support[k]
            old = self.trial[place]
            new = old + step[k]
            self.trial[place] = 0.0 if crosses_zero(old, new) else new
        return reach == 1.0

    cdef inline void _add(self, int32_t place, double factor, double* vector) noexcept nogil:
        if factor != 0.0:
            add_column(
                self.lengths[place], self.rows + self.starts[place],
                self.values + self.starts[place], factor, vector,
            )

    def search(self):
        """Go from w to v, or part of the way; returns the length of the step, 0 if none helps.

        A step that is not taken in full raises the damping, a full step lowers it.
        """
        cdef Py_ssize_t place, row
        cdef int turn
        cdef double promise, base, length = 1.0, total = 0.0, shift
        cdef double* change
        self.check_modelled()
        self.enter()
        change = self.scratch
        with nogil:
            memset(change, 0, self.n_rows * sizeof(double))
            shift = self.trial_intercept - self.intercept
            promise = self.intercept_gradient * shift
            for place in range(self.size):
                self._add(
                    <int32_t> place, self.trial[place] - self.weights[place], change
                )
                promise += self.gradient[place] * (self.trial[place] - self.weights[place])
            base = self.total + self._penalty(self.weights)
            promise += self._penalty(self.trial) - self._penalty(self.weights)
            for turn in range(MOST_HALVINGS):
                for row in range(self.n_rows):
                    self.next_margins[row] = self.margins[row] + length * change[row]
                total = self._evaluate(
                    self.next_margins, self.intercept + length * shift, self.next_slopes,
                    self.next_curvatures,
                )
                if turn:
                    for place in range(self.size):
                        self.trial[place] = 0.5 * (self.trial[place] + self.weights[place])
                if (
                    total + self._penalty(self.trial)
                    <= base + SUFFICIENT * length * promise + ROUNDING * fabs(base)
                ):
                    break
                length *= 0.5
            else:
                length = 0.0
            if length > 0.0:
                self.margins, self.next_margins = self.next_margins, self.margins
                self.slopes, self.next_slopes = self.next_slopes, self.slopes
                self.curvatures, self.next_curvatures = self.next_curvatures, self.curvatures
                self.weights, self.trial = self.trial, self.weights
                self.intercept += length * shift
                self.total = total
            if length < 1.0:
                self.damping = fmin(fmax(10.0 * self.damping, LEAST_DAMPING), MOST_DAMPING)
            else:
                self.damping = 0.1 * self.damping if self.damping > LEAST_DAMPING else 0.0
            self.modelled = False
        self.leave()
        return length

    @property
    def stuck(self):
        """Whether the damping is as strong as it gets."""
        return self.damping >= MOST_DAMPING
