"""Regularised dual averaging: the weights are a function of the sum of the gradients.

Computes Xiao (2010) with an l1 penalty.  Stored is v = -(sum of gradients); before step t, when t
gradients have been seen,

    w = soft(v, t l1 + gamma rho sqrt(t)) / (t l2 + gamma sqrt(t))

which is the clock's dot product with another shift and scale, and a step is v <- v - g x.  The
intercept has a sum of its own and no penalty.

Property: equal to lazynet.reference.rda.DenseRDA after every step (tests/test_online.py).
"""

from libc.math cimport isfinite, sqrt
from libc.stdint cimport int64_t

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
    end_visits,
    move_of,
    visit,
)
from .rows cimport Csr, RowOps, soft

cdef enum:
    SEEN = 0           # t: gradients so far
    INTERCEPT_SUM = 1  # minus their sum in the intercept
    N_FIELDS = 2

RDA_FIELDS = N_FIELDS
SEEN_FIELD = SEEN
INTERCEPT_SUM_FIELD = INTERCEPT_SUM


cdef struct Averaging:
    double l1
    double l2
    double gamma
    double rho


cdef inline double shift_at(double t, const Averaging* rda) noexcept nogil:
    return t * rda.l1 + rda.gamma * rda.rho * sqrt(t)


cdef inline double scale_at(double t, double l2, const Averaging* rda) noexcept nogil:
    return 1.0 / (t * l2 + rda.gamma * sqrt(t)) if t > 0.0 else 0.0


cdef Averaging averaging_of(double l1, double l2, double gamma, double rho) except *:
    cdef Averaging rda
    if not gamma > 0.0:
        raise ValueError(f"gamma must be positive, got {gamma}")
    rda.l1, rda.l2, rda.gamma, rda.rho = l1, l2, gamma, rho
    return rda


def run(
    Examples examples,
    Steps steps,
    Task task,
    double l1,
    double l2,
    double gamma,
    double rho,
    double[::1] sums not None,     # IN/OUT: v
    double[::1] fields not None,   # IN/OUT: t and the intercept's sum
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef Csr* csr = &examples.csr
    cdef const RowOps* ops = examples.ops
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Py_ssize_t step = first, touched = 0
    cdef Status status = FINISHED
    cdef Visit at
    cdef Averaging rda = averaging_of(l1, l2, gamma, rho)
    cdef double prediction, slope, t
    if sums.shape[0] != csr.n_columns:
        raise ValueError(f"sums must have {csr.n_columns} entries, got {sums.shape[0]}")
    if fields.shape[0] != N_FIELDS:
        raise ValueError(f"fields must have {N_FIELDS} entries, got {fields.shape[0]}")
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    cdef double* v = &sums[0] if csr.n_columns else NULL
    cdef double* scalars = &fields[0]
    cdef const int64_t* order = &steps.order[0]
    check_aligned("sums", v)
    check_aligned("fields", scalars)
    with nogil:
        begin_visits(&at)
        while step < n_steps:
            status = visit(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            t = scalars[SEEN]
            prediction = ops.soft_dot(&at.now, &at.following, v, shift_at(t, &rda))
            prediction = prediction * scale_at(t, rda.l2, &rda)
            if task.fit_intercept:
                prediction += scalars[INTERCEPT_SUM] * scale_at(t, 0.0, &rda)
            slope = move_of(examples, task, at.number, prediction, 1.0)
            if not (isfinite(prediction) and isfinite(slope)):
                status = OVERFLOWED
                break
            scalars[SEEN] = t + 1.0
            if slope != 0.0:
                ops.update(csr, &at.now, at.ahead, v, slope)
                if task.fit_intercept:
                    scalars[INTERCEPT_SUM] -= slope
            touched += at.now.length
            step += 1
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
    return <int> status, step


def read(
    const double[::1] sums not None,
    const double[::1] fields not None,
    double l1,
    double l2,
    double gamma,
    double rho,
    double[::1] weights not None,
):
    """weights <- the weights as of now; ``weights`` may be ``sums`` itself."""
    cdef Py_ssize_t j
    cdef Averaging rda = averaging_of(l1, l2, gamma, rho)
    cdef double shift, scale
    if fields.shape[0] != N_FIELDS or weights.shape[0] != sums.shape[0]:
        raise ValueError(f"weights must have {sums.shape[0]} entries, fields {N_FIELDS}")
    check_aligned("fields", &fields[0])
    if sums.shape[0]:
        check_aligned("sums", &sums[0])
        check_aligned("weights", &weights[0])
    shift, scale = shift_at(fields[SEEN], &rda), scale_at(fields[SEEN], rda.l2, &rda)
    with nogil:
        for j in range(sums.shape[0]):
            weights[j] = soft(sums[j], shift) * scale


def intercept(const double[::1] fields not None, double gamma):
    """The intercept as of now."""
    cdef Averaging rda = averaging_of(0.0, 0.0, gamma, 0.0)
    if fields.shape[0] != N_FIELDS:
        raise ValueError(f"fields must have {N_FIELDS} entries, got {fields.shape[0]}")
    check_aligned("fields", &fields[0])
    return fields[INTERCEPT_SUM] * scale_at(fields[SEEN], 0.0, &rda)
