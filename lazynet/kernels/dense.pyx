"""The dense engine: every weight at every step, compiled and vectorised.

Computes the baseline of Lipton & Elkan: predict, move the weights of the example's nonzeros,
shrink all d weights.  A step costs O(d).  With ``spread`` the prediction and the move also run
over all d features; the paper's table has a column for this form.  With ``sums`` every weight is
added up after every step: the naive average of the iterates.

Property: equal to lazynet.reference.DenseReference after every step
(tests/exact/test_lazy_equals_dense.py).
"""

from libc.math cimport isfinite
from libc.stdint cimport int64_t

from .averages cimport N_AVERAGE_FIELDS, check_counts, count_totals
from .examples cimport (
    FINISHED,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    Examples,
    Status,
    Steps,
    Task,
    Visit,
    begin_visits,
    check_aligned,
    check_runnable,
    check_vector,
    end_visits,
    fetch_ahead,
    keep_prediction,
    move_of,
    visit,
)
from .rows cimport Csr, RowOps

cdef extern from "vectors.h" nogil:
    ctypedef struct DenseLoops "lazynet_dense_loops":
        void (*shrink_all)(double* weights, Py_ssize_t n, double keep, double pull) noexcept nogil
        double (*full_dot)(
            const double* left, const double* right, Py_ssize_t n) noexcept nogil
        void (*full_update)(
            double* weights, const double* x, Py_ssize_t n, double step) noexcept nogil
    DenseLoops dense_loops_of "lazynet_dense_loops_of"(bint vectorised)


def run(
    Examples examples,
    Steps steps,
    Task task,
    double[::1] weights not None,    # IN/OUT
    double[::1] intercept not None,  # IN/OUT: one entry
    double[::1] spread not None,     # scratch: d zeros, empty to predict sparsely
    double[::1] sums not None,       # IN/OUT: sum of omega w, empty without an average
    double[::1] totals not None,     # IN/OUT: the counting (averages.pxd), empty without an average
    bint vectorised,        # whether the loops over all weights use vector units
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef Csr* csr = &examples.csr
    cdef const RowOps* ops = examples.ops
    cdef Py_ssize_t n_steps = steps.order.shape[0], d = csr.n_columns
    cdef Py_ssize_t step = first, touched = 0
    cdef Status status = FINISHED
    cdef Visit at
    cdef double prediction, move
    cdef bint spread_out = spread.shape[0] > 0, averaged = totals.shape[0] > 0
    cdef DenseLoops loops = dense_loops_of(vectorised)
    check_vector("weights", weights, d)
    if intercept.shape[0] != 1:
        raise ValueError("intercept must have one entry")
    if spread_out and spread.shape[0] != d:
        raise ValueError(f"spread must have {d} entries or none, got {spread.shape[0]}")
    if averaged and (sums.shape[0] != d or totals.shape[0] != N_AVERAGE_FIELDS):
        raise ValueError(f"sums must have {d} entries, totals {N_AVERAGE_FIELDS}")
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    if averaged:
        check_counts(steps.counts, n_steps)
    cdef double* w = &weights[0] if d else NULL
    cdef double* x = &spread[0] if spread_out else NULL
    cdef double* sum_w = &sums[0] if sums.shape[0] else NULL
    cdef const int64_t* order = &steps.order[0]
    check_aligned("intercept", &intercept[0])
    check_aligned("spread", x)
    check_aligned("sums", sum_w)
    check_aligned("totals", &totals[0] if averaged else NULL)
    with nogil:
        begin_visits(&at)
        while step < n_steps:
            status = visit(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            if spread_out:
                ops.expand(&at.now, x, 1.0)
                prediction = loops.full_dot(w, x, d)
            else:
                prediction = ops.dot(&at.now, &at.now, w, 0.0)
            prediction += intercept[0]
            keep_prediction(steps, step, prediction)
            fetch_ahead(&at, examples)
            move = move_of(examples, task, at.number, prediction, steps.rates[step])
            if not (isfinite(prediction) and isfinite(move)):
                if spread_out:
                    ops.expand(&at.now, x, 0.0)
                status = OVERFLOWED
                break
            if task.shrink_first:
                loops.shrink_all(w, d, steps.keep[step], steps.pull[step])
            if spread_out:
                loops.full_update(w, x, d, move)
                ops.expand(&at.now, x, 0.0)
            elif move != 0.0:
                ops.update(&at.now, w, 0.0, move, False, NULL)
            if task.fit_intercept:
                intercept[0] -= move
            if not task.shrink_first:
                loops.shrink_all(w, d, steps.keep[step], steps.pull[step])
            if averaged and steps.counts[step] != 0.0:
                # sums <- sums + omega w, as a move of -omega along w.
                loops.full_update(sum_w, w, d, -steps.counts[step])
                count_totals(&totals[0], steps.counts[step], intercept[0])
            step += 1
            touched += d + at.now.length
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
    return <int> status, step
