"""AdaGrad with an elastic net: a rate per coordinate, constant between two touches.

Computes the composite form of Duchi, Hazan & Singer (2011) (algorithms.md 10).  A cell is {w, s} with
s the root of the sum of the squared gradients of the coordinate, and ``last`` says how many steps had
been taken when w was brought current.  The n shrinks missed since then, all at the rate eta =
alpha / (delta + s), are one:

    |w| <- [ |w| + (|w| + l1 / l2) expm1(-l) ]+       l = n log1p(eta l2)

(without l2: |w| <- [ |w| - n eta l1 ]+), after which the step is s <- sqrt(s^2 + g^2),
w <- w - alpha / (delta + s) g.  The intercept is a coordinate without penalties.

Property: equal to lazynet.reference.adagrad.DenseAdaGrad after every step (tests/test_online.py).
"""

from libc.math cimport isfinite, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from .examples cimport (
    BAD_ROW,
    FINISHED,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    Examples,
    Status,
    Steps,
    Task,
    Visit,
    check_runnable,
    move_of,
    visit,
)
from .rows cimport CellRule, Csr, RowOps, adagrad_weight


cdef CellRule rule_of(double l1, double l2, double alpha, double delta) except *:
    cdef CellRule rule
    memset(&rule, 0, sizeof(CellRule))
    if not (alpha > 0.0 and delta > 0.0):
        raise ValueError(f"alpha and delta must be positive, got {alpha} and {delta}")
    rule.l1, rule.l2, rule.alpha, rule.delta = l1, l2, alpha, delta
    rule.ratio = l1 / l2 if l2 > 0.0 else 0.0
    rule.linear = 0.0 if l2 > 0.0 else l1
    return rule


def run(
    Examples examples,
    Steps steps,
    Task task,
    double l1,
    double l2,
    double alpha,
    double delta,
    double[:, ::1] cells,       # IN/OUT: {w, s} of every weight, w as of its own step
    int64_t[::1] last,          # IN/OUT: that step
    double[::1] intercept_cell, # IN/OUT
    int64_t now,                # steps taken
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how it ended, the first step not taken, ``now``."""
    cdef Csr* csr = &examples.csr
    cdef const RowOps* ops = examples.ops
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Py_ssize_t step = first, touched = 0
    cdef Status status = FINISHED
    cdef Visit at
    cdef CellRule rule = rule_of(l1, l2, alpha, delta)
    cdef double prediction, slope
    if cells.shape[0] != csr.n_columns or cells.shape[1] != 2 or intercept_cell.shape[0] != 2:
        raise ValueError(f"cells must have {csr.n_columns} rows of two numbers, the intercept's two")
    if last.shape[0] != csr.n_columns:
        raise ValueError(f"last must have {csr.n_columns} entries, got {last.shape[0]}")
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps, now
    cdef double* cell = &cells[0, 0] if csr.n_columns else NULL
    cdef int64_t* psi = &last[0] if csr.n_columns else NULL
    cdef double* own = &intercept_cell[0]
    cdef const int64_t* order = &steps.order[0]
    with nogil:
        at.checked = -1
        while step < n_steps:
            if not visit(&at, examples, order, n_steps, step):
                status = BAD_ROW
                break
            ops.adagrad_catch_up(csr, at.row, at.following, cell, psi, now, &rule)
            prediction = ops.pair_dot(csr, at.row, at.following, cell, 0.0)
            if task.fit_intercept:
                prediction += own[0]
            slope = move_of(examples, task, at.row, prediction, 1.0)
            if not (isfinite(prediction) and isfinite(slope)):
                status = OVERFLOWED
                break
            if slope != 0.0:
                ops.adagrad_update(csr, at.row, at.ahead, cell, &rule, slope)
                if task.fit_intercept:
                    own[1] = sqrt(own[1] * own[1] + slope * slope)
                    own[0] -= rule.alpha / (rule.delta + own[1]) * slope
            now += 1
            touched += ops.row_length(csr, at.row)
            step += 1
            if touched > PATIENCE:
                status = PAUSED
                break
    return <int> status, step, now


def read(
    const double[:, ::1] cells,
    const int64_t[::1] last,
    int64_t now,
    double l1,
    double l2,
    double alpha,
    double delta,
    double[::1] weights,
):
    """weights <- the weights as of now."""
    cdef Py_ssize_t j
    cdef CellRule rule = rule_of(l1, l2, alpha, delta)
    if cells.shape[1] != 2 or weights.shape[0] != cells.shape[0] or last.shape[0] != cells.shape[0]:
        raise ValueError(f"weights and last must have {cells.shape[0]} entries")
    with nogil:
        for j in range(cells.shape[0]):
            weights[j] = adagrad_weight(cells[j, 0], cells[j, 1], <double> (now - last[j]), &rule)
