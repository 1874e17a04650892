"""Dual coordinate ascent with an elastic net and a proximal centre: steps, and sums for the gap.

Minimises  P(w, b) = (1/n) sum s_i l(x_i.w + b, y_i) + l1 |w|_1 + l2/2 |w|^2,  n = sum s_i, by
maximising the dual of  P(w, b) + kappa/2 |w - c|^2 + kappa_b/2 (b - c_b)^2  over one dual variable
a_i per example (Prox-SDCA, Shalev-Shwartz & Zhang 2014, with a centre).  One number per feature,

    z = u + kappa c,   u = (1/n) sum s_i a_i x_i,      w = soft(z, l1) / (l2 + kappa),

so that a weight is computed from its number when an example needs it, and a step costs the nonzeros
of its example.  A step on example i maximises the dual over a_i (conjugates.pxd):

    q = s_i (|x_i|^2 / (l2 + kappa) + 1 / kappa_b) / n
    a_i <- argmax_a  -l*(-a) - p_i (a - a_i) - q/2 (a - a_i)^2,     z <- z + s_i (a_new - a_i) x_i/n

The intercept is a feature of value 1 that has no penalty: z_b = u_b + kappa_b c_b, b = z_b/kappa_b.

Properties: equal to lazynet.reference.dual.DenseDualAscent after every step
(tests/exact/test_dual_ascent_equals_the_reference.py); the gap is an upper bound on what is left
(tests/exact/test_certificates.py).
"""

from libc.math cimport fabs, fmax, isfinite
from libc.stdint cimport int64_t

from .arrays cimport check_aligned, check_vector
from .chunk cimport RowLoops
from .conjugates cimport best_dual
from .examples cimport Examples, check_runnable, importance_of, walk_rows
from .rows cimport FINISHED, OVERFLOWED, OwnRow, Status, Walk, end_walk, row_of_step, soft

# The scalars that change from step to step, in one array.
cdef enum:
    INTERCEPT_Z = 0   # z_b
    N_FIELDS = 1

DUAL_FIELDS = N_FIELDS
INTERCEPT_Z_FIELD = INTERCEPT_Z


def run(
    Examples examples,
    const int64_t[::1] order not None,      # the rows to visit
    int loss,
    double epsilon,
    double l1,
    double scale,                           # 1 / (l2 + kappa)
    double intercept_scale,                 # 1 / kappa_b; 0 without an intercept
    double share,                           # 1 / n
    const double[::1] squared_norms not None,   # |x_i|^2
    double[::1] z not None,                 # IN/OUT
    double[::1] duals not None,             # IN/OUT
    double[::1] fields not None,            # IN/OUT
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef const RowLoops* loops = examples.row_loops
    cdef Py_ssize_t n_steps = order.shape[0], step = first
    cdef Status status = FINISHED
    cdef Walk at
    cdef const OwnRow* row
    cdef double prediction, importance, old, new, q, change
    check_runnable(examples, loss)
    check_vector("z", z, examples.csr.n_columns)
    check_vector("duals", duals, examples.csr.n_rows)
    check_vector("squared_norms", squared_norms, examples.csr.n_rows)
    check_vector("fields", fields, N_FIELDS)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    check_aligned("order", &order[0])
    cdef double* stored = &z[0] if examples.csr.n_columns else NULL
    with nogil:
        walk_rows(&at, examples, &order[0], n_steps, step)
        while step < n_steps:
            row = row_of_step(&at, stored, 1)
            status = row.status
            if status != FINISHED:
                break
            importance = share * importance_of(examples, row.number)
            prediction = (
                loops.dot(row, stored, l1) * scale
                + fields[INTERCEPT_Z] * intercept_scale
            )
            old = duals[row.number]
            q = importance * (squared_norms[row.number] * scale + intercept_scale)
            new = best_dual(loss, old, prediction, examples.targets[row.number], q, epsilon)
            if not (isfinite(prediction) and isfinite(new)):
                status = OVERFLOWED
                break
            change = importance * (new - old)
            if change != 0.0:
                loops.add(row, stored, change)
                fields[INTERCEPT_Z] += change
            duals[row.number] = new
            step += 1
        end_walk(&at)
    return <int> status, step


def weights_of(
    const double[::1] z not None, double l1, double scale, double[::1] weights not None
):
    """weights <- soft(z, l1) scale."""
    cdef Py_ssize_t j
    check_vector("z", z, z.shape[0])
    check_vector("weights", weights, z.shape[0])
    with nogil:
        for j in range(z.shape[0]):
            weights[j] = soft(z[j], l1) * scale


def sums(
    const double[::1] z not None,
    const double[::1] centre not None,
    const double[::1] weights not None,
    double kappa,
    double l1,
):
    """What objectives ask of the weights, in one visit of all features.

    Returns sum |w|, sum w^2, sum (w - c)^2, sum c^2, and of u = z - kappa c: max |u| and
    sum [|u| - l1]+^2.
    """
    cdef Py_ssize_t j
    cdef double weight, moved, size, over
    cdef double absolute = 0.0, squared = 0.0, distance = 0.0, centred = 0.0
    cdef double largest = 0.0, excess = 0.0
    check_vector("z", z, z.shape[0])
    check_vector("centre", centre, z.shape[0])
    check_vector("weights", weights, z.shape[0])
    with nogil:
        for j in range(z.shape[0]):
            weight = weights[j]
            moved = weight - centre[j]
            size = fabs(z[j] - kappa * centre[j])
            over = fmax(size - l1, 0.0)
            absolute += fabs(weight)
            squared += weight * weight
            distance += moved * moved
            centred += centre[j] * centre[j]
            largest = fmax(largest, size)
            excess += over * over
    return absolute, squared, distance, centred, largest, excess


def recentre(
    double[::1] z not None,            # IN/OUT: u + old c
    double[::1] centre not None,       # IN/OUT: c <- w
    const double[::1] weights not None,
    double old,                        # kappa until now
    double new,                        # kappa from now on
):
    """z <- z - old c + new w, c <- w."""
    cdef Py_ssize_t j
    check_vector("z", z, z.shape[0])
    check_vector("centre", centre, z.shape[0])
    check_vector("weights", weights, z.shape[0])
    with nogil:
        for j in range(z.shape[0]):
            z[j] += new * weights[j] - old * centre[j]
            centre[j] = weights[j]
