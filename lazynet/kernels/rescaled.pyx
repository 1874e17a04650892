"""The rescaling engine: weights as a scale times a vector, the classic trick for an l2 penalty.

Computes SGD or FoBoS with l1 = 0, one example at a time, as in the note "Sparse Features and L2
Regularization" (2012; Smola, Bottou), corrected as lazynet.reference.rescaled.PlainRescaled says:
w = c v, and a shrink of all weights is one multiplication,

    c <- a c        v <- v - (eta l' / c) x        with the c at the moment of the update

Where a = 0 (eta lambda = 1) every weight becomes 0, and c begins again at 1.  The engine is the
clock without a shift and without the double-double scale: its error grows with the number of
steps, as the error of the dense loop does.

Property: equal to lazynet.reference.DenseReference and to the clock after every step
(tests/exact/test_rescaled_engine.py).
"""

from libc.math cimport fabs, isfinite
from libc.stdint cimport int64_t

from .examples cimport (
    FINISHED,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    WORN_OUT,
    Examples,
    Status,
    Steps,
    Task,
    Visit,
    begin_visits,
    check_runnable,
    check_vector,
    end_visits,
    fetch_ahead,
    keep_prediction,
    move_of,
    visit,
)
from .rows cimport Csr, RowOps

cdef enum:
    SCALE = 0
    INTERCEPT = 1
    PENDING = 2       # 1 after the first half of a step that a sweep interrupts ...
    PENDING_MOVE = 3  # ... and the move of its second half
    N_FIELDS = 4

RESCALED_FIELDS = N_FIELDS
SCALE_FIELD = SCALE
INTERCEPT_FIELD = INTERCEPT


cdef inline bint out_of_range(double scale, double smallest) noexcept nogil:
    """Whether moves can no longer be divided by the scale safely; also for 0 and NaN."""
    return not smallest <= fabs(scale) <= 1.0 / smallest


def run(
    Examples examples,
    Steps steps,
    Task task,
    double[::1] vector not None,   # IN/OUT: v
    double[::1] fields not None,   # IN/OUT: c and the intercept
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef const RowOps* ops = examples.ops
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Py_ssize_t step = first, touched = 0
    cdef Status status = FINISHED
    cdef Visit at
    cdef double prediction, move, scale, intercept
    cdef const double* kept = NULL
    check_vector("vector", vector, examples.csr.n_columns)
    check_vector("fields", fields, N_FIELDS)
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    for step in range(first, n_steps):
        if steps.pull[step] != 0.0:
            raise ValueError("engine='rescaled' knows no l1 penalty: l1 must be 0")
    step = first
    cdef double* v = &vector[0] if vector.shape[0] else NULL
    cdef const int64_t* order = &steps.order[0]
    with nogil:
        scale = fields[SCALE]
        intercept = fields[INTERCEPT]
        begin_visits(&at)
        while step < n_steps:
            status = visit(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            if fields[PENDING] != 0.0:
                # The first half of this step was taken before the sweep.
                kept = NULL
                move = fields[PENDING_MOVE]
                fields[PENDING] = 0.0
            else:
                prediction = ops.dot(&at.now, &at.following, v, 0.0) * scale + intercept
                kept = at.now.kept
                keep_prediction(steps, step, prediction)
                move = move_of(examples, task, at.number, prediction, steps.rates[step])
                if not (isfinite(prediction) and isfinite(move)):
                    status = OVERFLOWED
                    break
                if task.shrink_first:
                    scale *= steps.keep[step]
                    if out_of_range(scale, task.wear.smallest_scale):
                        fields[PENDING] = 1.0
                        fields[PENDING_MOVE] = move
                        status = WORN_OUT
                        break
            fetch_ahead(&at, examples)
            if move != 0.0:
                if task.fit_intercept:
                    intercept -= move
                ops.update(&at.now, v, 0.0, move / scale, False, kept)
            if not task.shrink_first:
                scale *= steps.keep[step]
            touched += at.now.length
            step += 1
            if out_of_range(scale, task.wear.smallest_scale):
                status = WORN_OUT
                break
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
        fields[SCALE] = scale
        fields[INTERCEPT] = intercept
    return <int> status, step
