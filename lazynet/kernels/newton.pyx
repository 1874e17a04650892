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
column costs its nonzeros.  The columns of W are copied out of the rows of X, once (columns.pyx).

Losses whose slope jumps are smoothed around dual variables a_i that the caller moves: the method of
multipliers (conjugates.pxd).

Property: the certificate of what it finds (tests/exact/test_certificates.py), and the optimality
conditions (tests/exact/test_minima.py).
"""

cimport cython

from libc.math cimport fabs, fmax, fmin
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from .arrays cimport check_vector
from .rules.motion cimport add_to
from .columns cimport Columns, grow
from .conjugates cimport conjugate, into_domain, loss_with_derivatives, smoothed_with_derivatives
from .examples cimport Examples, check_runnable, importance_of
from .rows cimport PATIENCE, soft

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


@cython.binding(False)  # a method then checks the type of self
cdef class WorkingSet(Columns):
    """The columns of the working set, their weights, and the state of a step."""

    cdef int loss
    cdef double epsilon, l1, l2
    cdef double own_curvature      # of the loss at its steepest point
    cdef double curvature          # of the loss that is used, smoothed or not
    cdef bint fit_intercept
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
    # A number for each column of W.
    cdef double* weights           # w
    cdef double* trial             # v
    cdef double* gradient
    cdef double* hessian           # the diagonal
    cdef int32_t* active           # places of the columns that a sweep visits
    cdef int32_t* support          # places of the nonzeros
    cdef double* vectors           # five vectors of conjugate gradients
    # The model.
    cdef double intercept, trial_intercept, intercept_gradient, intercept_hessian, total
    cdef double _damping
    cdef int sweeps, wait, next_gradients
    cdef bint everywhere           # whether the next sweep visits all of W
    cdef Py_ssize_t n_active
    cdef int64_t work              # nonzeros visited since the call began
    # What may be called: whether there are weights, and a model at these weights.
    cdef bint started, modelled

    def __cinit__(
        self, Examples examples, int loss, double epsilon, double curvature, double share,
        bint fit_intercept
    ):
        cdef Py_ssize_t n = examples.csr.n_rows
        check_runnable(examples, loss)
        self.loss, self.epsilon, self.share = loss, epsilon, share
        self.own_curvature, self.fit_intercept = curvature, fit_intercept
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
        free(self.weights)
        free(self.trial)
        free(self.gradient)
        free(self.hessian)
        free(self.active)
        free(self.support)
        free(self.vectors)

    cdef bint make_room(self, Py_ssize_t room) noexcept:
        return (
            Columns.make_room(self, room)
            and grow(<void**> &self.weights, room * 8) and grow(<void**> &self.trial, room * 8)
            and grow(<void**> &self.gradient, room * 8) and grow(<void**> &self.hessian, room * 8)
            and grow(<void**> &self.active, room * 4) and grow(<void**> &self.support, room * 4)
            and grow(<void**> &self.vectors, room * 5 * 8)
        )

    cdef void joined(self, Py_ssize_t first, Py_ssize_t stop) noexcept nogil:
        cdef Py_ssize_t place
        for place in range(first, stop):
            self.weights[place] = 0.0
        self.modelled = False

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
        cdef Py_ssize_t place, row
        check_vector("weights", weights, self.n_columns)
        check_vector("held", held, self.n_rows if nu > 0.0 else 0)
        self.check_free()
        self.started = True
        self.l1, self.l2, self.intercept, self.nu, self._damping = l1, l2, intercept, nu, 0.0
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
                importance = self.share * importance_of(self.examples, row)
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
            importance = self.share * importance_of(self.examples, row)
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
            importance = self.share * importance_of(self.examples, row)
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
            for place in range(self.size):
                self.trial[place] = self.weights[place]
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
        cdef double own = self.hessian[place] + self.l2 + self._damping * steepest
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
            + self._damping * self.curvature * self.norms[place] * moved
        )

    cdef inline double _intercept_damping(self) noexcept nogil:
        # The intercept is the weight of a column of ones, whose share sum s_i x_ij^2 is 1.
        return self._damping * self.curvature

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
                    self.l2 + self._damping * self.curvature * self.norms[place]
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
                linear += 0.5 * self._damping * self.curvature * self.norms[place] * moved * (
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
                self._damping = fmin(fmax(10.0 * self._damping, LEAST_DAMPING), MOST_DAMPING)
            else:
                self._damping = 0.1 * self._damping if self._damping > LEAST_DAMPING else 0.0
            self.modelled = False
        self.leave()
        return length

    @property
    def damping(self):
        """How strongly the next steps are damped, as the steps before them have shown."""
        return self._damping

    @damping.setter
    def damping(self, double strength):
        if not 0.0 <= strength <= MOST_DAMPING:
            raise ValueError(f"damping must lie between 0 and {MOST_DAMPING:g}, got {strength}")
        self.check_free()
        self._damping = strength

    @property
    def stuck(self):
        """Whether the damping is as strong as it gets."""
        return self._damping >= MOST_DAMPING
