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
column costs its nonzeros.  A column with a value in every row needs no indices.

Property: the certificate of what it finds (tests/exact/test_certificates.py), and the optimality
conditions (tests/exact/test_minima.py).
"""

cimport cython

from libc.math cimport fabs, fmax, fmin
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from .rows cimport PATIENCE, soft
from .working_set cimport WorkingSet, add_column, dot_column

# Conjugate gradients in one run.
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


cdef inline bint crosses_zero(double old, double new) noexcept nogil:
    # Not by the sign of a product, which may underflow.
    return not (new > 0.0 if old > 0.0 else new < 0.0)


cdef inline double curvature_sum(WorkingSet of, Py_ssize_t column) noexcept nogil:
    """sum_i h_i x_ij^2"""
    cdef const double* x = of.values + of.first[column]
    cdef const int32_t* rows = of.rows + of.first[column]
    cdef Py_ssize_t k, length = of.first[column + 1] - of.first[column]
    cdef double sum = 0.0
    if length == of.n_rows:
        for k in range(length):
            sum += x[k] * x[k] * of.curvatures[k]
        return sum
    for k in range(length):
        sum += x[k] * x[k] * of.curvatures[rows[k]]
    return sum


cdef inline void respond(WorkingSet of, Py_ssize_t column, double change) noexcept nogil:
    """r_i += h_i x_ij times the change of a weight."""
    cdef const double* x = of.values + of.first[column]
    cdef const int32_t* rows = of.rows + of.first[column]
    cdef const double* curvatures = of.curvatures
    cdef double* response = of.response
    cdef Py_ssize_t k = 0, length = of.first[column + 1] - of.first[column]
    cdef double a, b
    if length == of.n_rows:
        for k in range(length):
            response[k] += change * x[k] * curvatures[k]
        return
    while k + 2 <= length:
        # Both are read before one is written, as in ``add_nonzeros``.
        a = response[rows[k]] + change * x[k] * curvatures[rows[k]]
        b = response[rows[k + 1]] + change * x[k + 1] * curvatures[rows[k + 1]]
        response[rows[k]], response[rows[k + 1]] = a, b
        k += 2
    if k < length:
        response[rows[k]] += change * x[k] * curvatures[rows[k]]


@cython.binding(False)  # a method then checks the type of self
cdef class NewtonColumns(WorkingSet):
    """Newton steps on the columns of a working set."""

    def model(self, double target):
        """Make the model at the present weights.

        Returns an estimate of the duality gap on the working set, the largest change that a visit
        of one column makes times its curvature, sum |w|, and the slope in the intercept.
        """
        cdef Py_ssize_t k, column, row
        cdef double gradient, hessian, u, over, estimate = 0.0, reward = 0.0, largest = 0.0
        cdef double violation = 0.0, absolute = 0.0, value, pull
        self.check_started()
        self.enter()
        with nogil:
            self.work = 0
            for k in range(self.size):
                column = self.members[k]
                gradient = dot_column(self, column, self.slopes)
                hessian = curvature_sum(self, column)
                self.gradient[column] = gradient
                self.hessian[column] = hessian
                u = -gradient
                absolute += fabs(self.weights[column])
                reward += u * self.weights[column]
                estimate += self.l1 * fabs(self.weights[column]) - u * self.weights[column]
                estimate += 0.5 * self.l2 * self.weights[column] * self.weights[column]
                over = fmax(fabs(u) - self.l1, 0.0)
                if self.l2 > 0.0:
                    estimate += over * over / (2.0 * self.l2)
                largest = fmax(largest, fabs(u))
                pull = self._curvature_of(column)
                value = soft(
                    self.weights[column] - (gradient + self.l2 * self.weights[column]) / pull,
                    self.l1 / pull,
                )
                violation = fmax(violation, fabs(value - self.weights[column]) * pull)
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
                    estimate += self.conjugates(self.l1 / largest)
            for k in range(self.size):
                self.trial[self.members[k]] = self.weights[self.members[k]]
            memset(self.response, 0, self.n_rows * sizeof(double))
            self.trial_intercept = self.intercept
            self.sweeps = self.next_gradients = 0
            self.wait = 1
            self._visit_all()
            self.modelled = True
        self.leave()
        return estimate, violation, absolute, self.intercept_gradient

    cdef inline double _curvature_of(self, Py_ssize_t column) noexcept nogil:
        """The curvature of the model in one weight."""
        cdef double steepest = self.curvature * self.norms[column]
        cdef double own = self.hessian[column] + self.l2 + self._damping * steepest
        return fmax(fmax(own, LEAST * steepest), 1e-300)

    cdef inline double _slope_of(self, Py_ssize_t column) noexcept nogil:
        """The slope of the smooth part of the model in one weight."""
        cdef double moved = self.trial[column] - self.weights[column]
        return (
            self.gradient[column]
            + dot_column(self, column, self.response)
            + self.l2 * self.trial[column]
            + self._damping * self.curvature * self.norms[column] * moved
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
        cdef Py_ssize_t k
        for k in range(self.size):
            self.active[k] = self.members[k]
        self.n_active = self.size
        self.everywhere = True

    def descend(self, double want, int most_sweeps=30):
        """Minimise the model until no visit changes more than ``want``; False if work is left."""
        cdef double met
        cdef Py_ssize_t k, column, flips = 0
        cdef bint done = False
        self.check_modelled()
        self.enter()
        with nogil:
            self.work = 0
            while self.sweeps < most_sweeps:
                if self.work > PATIENCE:
                    break
                met = self._sweep(&flips)
                self.sweeps += 1
                if self.everywhere:
                    if met <= want:
                        done = True
                        break
                    self.everywhere, self.n_active = False, 0
                    for k in range(self.size):
                        column = self.members[k]
                        if self.trial[column] != 0.0 or self.weights[column] != 0.0:
                            self.active[self.n_active] = <int32_t> column
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
        return bool(done or self.sweeps >= most_sweeps)

    cdef double _sweep(self, Py_ssize_t* flips) noexcept nogil:
        """Visit the active columns once; returns the largest change times its curvature."""
        cdef Py_ssize_t k, row
        cdef int32_t column
        cdef double pull, new, change, met = 0.0
        flips[0] = 0
        for k in range(self.n_active):
            column = self.active[k]
            pull = self._curvature_of(column)
            new = soft(self.trial[column] - self._slope_of(column) / pull, self.l1 / pull)
            change = new - self.trial[column]
            self.work += self.first[column + 1] - self.first[column]
            if change != 0.0:
                met = fmax(met, fabs(change) * pull)
                flips[0] += (new > 0.0) != (self.trial[column] > 0.0)
                flips[0] += (new < 0.0) != (self.trial[column] < 0.0)
                self.trial[column] = new
                self.work += self.first[column + 1] - self.first[column]
                respond(self, column, change)
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
        cdef int32_t column
        cdef int turn
        cdef double power = 0.0, first_power, next_power, bend, length, ratio, old, new, moved
        cdef double rest_b = 0.0, scaled_b = 0.0, direction_b = 0.0, step_b = 0.0, image_b = 0.0
        cdef double linear, quadratic, reach = 1.0
        cdef int64_t nonzeros = 0
        cdef bint crosses = False
        for k in range(self.n_active):
            column = self.active[k]
            if self.trial[column] != 0.0:
                self.support[n] = column
                n += 1
                nonzeros += self.first[column + 1] - self.first[column]
        for k in range(n):
            column = self.support[k]
            residual[k] = -(
                self._slope_of(column) + (self.l1 if self.trial[column] > 0.0 else -self.l1)
            )
            direction[k] = scaled[k] = residual[k] / self._curvature_of(column)
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
                add_column(self, self.support[k], direction[k], along)
            bend = image_b = 0.0
            for row in range(self.n_rows):
                along[row] *= self.curvatures[row]
            if self.fit_intercept:
                for row in range(self.n_rows):
                    image_b += along[row]
                image_b += self._intercept_damping() * direction_b
                bend = image_b * direction_b
            for k in range(n):
                column = self.support[k]
                image[k] = dot_column(self, column, along)
                image[k] += direction[k] * (
                    self.l2 + self._damping * self.curvature * self.norms[column]
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
                column = self.support[k]
                old = self.trial[column]
                new = 0.0 if crosses_zero(old, old + step[k]) else old + step[k]
                moved = new - old
                add_column(self, column, moved, along)
                linear += moved * (self.gradient[column] + (self.l1 if old > 0.0 else -self.l1))
                linear += 0.5 * self.l2 * (new * new - old * old)
                linear += 0.5 * self._damping * self.curvature * self.norms[column] * moved * (
                    new + old - 2.0 * self.weights[column]
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
                    add_column(self, self.support[k], step[k], along)
        else:
            for row in range(self.n_rows):
                along[row] = step_b
            for k in range(n):
                add_column(self, self.support[k], step[k], along)
        self.work += nonzeros
        self.trial_intercept += step_b
        for row in range(self.n_rows):
            self.response[row] += self.curvatures[row] * along[row]
        for k in range(n):
            column = self.support[k]
            old = self.trial[column]
            new = old + step[k]
            self.trial[column] = 0.0 if crosses_zero(old, new) else new
        return reach == 1.0

    def search(self):
        """Go from w to v, or part of the way; returns the length of the step, 0 if none helps.

        A step that is not taken in full raises the damping, a full step lowers it.
        """
        cdef Py_ssize_t k, column, row
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
            for k in range(self.size):
                column = self.members[k]
                add_column(self, column, self.trial[column] - self.weights[column], change)
                promise += self.gradient[column] * (self.trial[column] - self.weights[column])
            base = self.total + self.penalty(self.weights)
            promise += self.penalty(self.trial) - self.penalty(self.weights)
            for turn in range(MOST_HALVINGS):
                for row in range(self.n_rows):
                    self.next_margins[row] = self.margins[row] + length * change[row]
                total = self.evaluate(
                    self.next_margins, self.intercept + length * shift, self.next_slopes,
                    self.next_curvatures,
                )
                if turn:
                    for k in range(self.size):
                        column = self.members[k]
                        self.trial[column] = 0.5 * (self.trial[column] + self.weights[column])
                if (
                    total + self.penalty(self.trial)
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
    def stuck(self):
        """Whether the damping is as strong as it gets."""
        return self._damping >= MOST_DAMPING
