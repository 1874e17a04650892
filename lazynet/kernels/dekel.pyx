"""Dekel's averaged and centered learners: T steps in O(d + T k).

Computes SGD on lambda/2 (|w|^2 + b^2) + mean loss at the rate 1 / (lambda t), the averages of its
iterates, and both for rows centered at ``mean`` (arXiv:1612.09147, Algorithms 1 to 3, corrected as
lazynet.reference.dekel.PlainDekel says).  Per feature two sums are kept, v = sum g x and
u = sum h_old g x, with g the slopes and h the harmonic numbers; everything else is a scalar:

    a = sum g     c = sum a_t / t     z = v.mean     r = a (1 + |mean|^2) - z     s = sum r_t / t

Only h v - u is ever used, and it loses digits as h v grows.  Therefore h v is subtracted from u,
and h begins again at 0, whenever the number of steps is a power of two that is large enough: these
moments are so far apart that visiting all features costs no more than the steps between them.

The loop is its own, because a step takes two products of its row, with the cells and with the mean.

Property: equal to lazynet.reference.dekel.DenseDekel, which centers every row and adds up every
weight after every step (tests/exact/test_dekel.py).
"""

from libc.math cimport isfinite
from libc.stdint cimport int64_t

from .arrays cimport check_aligned, check_cells, check_vector
from .examples cimport Examples, check_runnable, walk_rows
from .losses cimport slope_of
from .row_loops cimport RowLoops
from .rows cimport (
    FINISHED, OVERFLOWED, NEEDS_SWEEP, OwnRow, Status, Walk, end_walk, row_of_step,
)
from .rules.motion cimport add_to

# The fields.  Each running sum is followed by the digits that its rounding lost.
cpdef enum:
    STEPS = 0
    A = 1
    Z = 3
    H = 5
    C = 7
    S = 9
    N_FIELDS = 11

# The least number of steps after which h begins again for the first time.
cdef enum:
    PATIENT_STEPS = 65536

# Doubles beyond this do not count single steps.
cdef double GREATEST_COUNT = 2.0 ** 53


cdef inline bint h_begins_again(double steps, Py_ssize_t n_columns) noexcept nogil:
    """Whether ``steps`` is a power of two, and large enough to pay for a visit to all weights."""
    if not steps < GREATEST_COUNT:
        return False
    cdef int64_t t = <int64_t> steps
    return t & (t - 1) == 0 and t >= PATIENT_STEPS and t >= n_columns


def begin_h_again(double[:, ::1] cells not None, double[::1] fields not None):
    """u <- u - h v, h <- 0; the model stays the same."""
    cdef Py_ssize_t j
    cdef double h
    check_cells(cells, cells.shape[0], 2)
    check_vector("fields", fields, N_FIELDS)
    h = fields[H]
    with nogil:
        for j in range(cells.shape[0]):
            cells[j, 1] -= h * cells[j, 0]
    fields[H] = fields[H + 1] = 0.0


def run(
    Examples examples,
    const int64_t[::1] order not None,    # the rows to visit
    int loss,
    double epsilon,
    double strength,             # lambda
    const double[::1] mean not None,      # the center, empty if rows are not centered
    double theta,                # 1 + |mean|^2
    double[:, ::1] cells not None,        # IN/OUT: {v, u} of every feature
    double[::1] fields not None,          # IN/OUT: t, and the scalar sums
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef const RowLoops* loops = examples.row_loops
    cdef Py_ssize_t n_steps = order.shape[0]
    cdef Py_ssize_t step = first
    cdef Status status = FINISHED
    cdef Walk at
    cdef const OwnRow* row
    cdef bint centered = mean.shape[0] > 0
    cdef double t, q = 0.0, r, prediction, slope
    check_cells(cells, examples.csr.n_columns, 2)
    check_vector("mean", mean, examples.csr.n_columns if centered else 0)
    check_vector("fields", fields, N_FIELDS)
    if not strength > 0.0:
        raise ValueError(f"strength must be positive, got {strength}")
    check_runnable(examples, loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    cdef double* cell = &cells[0, 0] if examples.csr.n_columns else NULL
    cdef const double* center = &mean[0] if centered else NULL
    cdef double* sums = &fields[0]
    check_aligned("order", &order[0])
    with nogil:
        walk_rows(&at, examples, &order[0], n_steps, step)
        while step < n_steps:
            row = row_of_step(&at, cell, 2)
            status = row.status
            if status != FINISHED:
                break
            t = sums[STEPS]
            prediction = loops.dot_of_pairs(row, cell, 0.0)
            if centered:
                q = loops.dot(row, center, 0.0)
                prediction -= sums[A] * q
            r = sums[A] * theta - sums[Z]
            # All weights are zero before the first step.
            prediction = -(prediction + r) / (strength * t) if t > 0.0 else 0.0
            slope = slope_of(
                loss, epsilon, examples.targets, examples.importances, row.number, prediction
            )
            if not (isfinite(prediction) and isfinite(slope)):
                status = OVERFLOWED
                break
            t += 1.0
            sums[STEPS] = t
            if slope != 0.0:
                # u gets the harmonic number before 1 / t of this step is added to it.
                loops.add_pairs(row, cell, slope, sums[H] * slope)
                add_to(&sums[A], &sums[A + 1], slope)
                add_to(&sums[Z], &sums[Z + 1], slope * q)
            add_to(&sums[H], &sums[H + 1], 1.0 / t)
            add_to(&sums[C], &sums[C + 1], sums[A] / t)
            add_to(&sums[S], &sums[S + 1], (sums[A] * theta - sums[Z]) / t)
            step += 1
            if h_begins_again(t, examples.csr.n_columns):
                status = NEEDS_SWEEP
                break
        end_walk(&at)
    return <int> status, step
