"""INEXACT for l2 > 0: Carpenter's lazy sparse SGD, kept because it is what others are compared with.

Computes Carpenter (2008): SGD, and in place of all the shrinks that a weight has missed one linear
step, at the rate of the step before the present one,

    |w| <- [ |w| - gap eta (l1 + l2 |w|) ]+

A cell is {w, seen}: the weight, and how many steps had been taken when it was brought current.  Every
``period`` steps all are.  Without l2 and at one rate it is exact, and so it is with period 1.

Property: equal to lazynet.reference.carpenter.PlainCarpenter after every step
(tests/test_carpenter.py).
"""

from libc.math cimport fmod, isfinite
from libc.stdint cimport int64_t
from libc.string cimport memset

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
    check_aligned,
    check_runnable,
    end_visits,
    move_of,
    visit,
)
from .rows cimport CellRule, Csr, RowOps, carpenter_weight

cdef enum:
    STEPS = 0       # taken
    RATE = 1        # of the last of them
    INTERCEPT = 2
    N_FIELDS = 3

CARPENTER_FIELDS = N_FIELDS
STEPS_FIELD = STEPS
INTERCEPT_FIELD = INTERCEPT


cdef CellRule rule_of(double l1, double l2, const double* fields) noexcept nogil:
    cdef CellRule rule
    memset(&rule, 0, sizeof(CellRule))
    rule.l1, rule.l2 = l1, l2
    rule.steps, rule.rate = fields[STEPS], fields[RATE]
    return rule


def run(
    Examples examples,
    Steps steps,
    Task task,
    double l1,
    double l2,
    int64_t period,        # 0: never
    double[:, ::1] cells not None,  # IN/OUT: {w, seen} of every weight
    double[::1] fields not None,    # IN/OUT: the steps taken, the last rate, the intercept
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef Csr* csr = &examples.csr
    cdef const RowOps* ops = examples.ops
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Py_ssize_t step = first, touched = 0
    cdef Status status = FINISHED
    cdef Visit at
    cdef CellRule rule
    cdef double prediction, move, intercept
    if cells.shape[0] != csr.n_columns or cells.shape[1] != 2:
        raise ValueError(f"cells must have {csr.n_columns} rows of two numbers")
    if fields.shape[0] != N_FIELDS:
        raise ValueError(f"fields must have {N_FIELDS} entries, got {fields.shape[0]}")
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    check_aligned("fields", &fields[0])
    rule = rule_of(l1, l2, &fields[0])
    cdef double* cell = &cells[0, 0] if csr.n_columns else NULL
    cdef const int64_t* order = &steps.order[0]
    check_aligned("cells", cell)
    with nogil:
        intercept = fields[INTERCEPT]
        begin_visits(&at)
        while step < n_steps:
            status = visit(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            prediction = ops.carpenter_dot(&at.now, &at.following, cell, &rule) + intercept
            move = move_of(examples, task, at.number, prediction, steps.rates[step])
            if not (isfinite(prediction) and isfinite(move)):
                status = OVERFLOWED
                break
            # Also where nothing is learned: what is caught up with in two parts is another weight.
            ops.carpenter_update(csr, &at.now, at.ahead, cell, &rule, move)
            if task.fit_intercept:
                intercept -= move
            rule.steps += 1.0
            rule.rate = steps.rates[step]
            touched += at.now.length
            step += 1
            if period > 0 and fmod(rule.steps, <double> period) == 0.0:
                status = WORN_OUT
                break
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
        fields[STEPS], fields[RATE], fields[INTERCEPT] = rule.steps, rule.rate, intercept
    return <int> status, step


def read(
    const double[:, ::1] cells not None,
    const double[::1] fields not None,
    double l1,
    double l2,
    double[::1] weights not None,
):
    """weights <- the weights as of now."""
    cdef Py_ssize_t j
    cdef CellRule rule
    if fields.shape[0] != N_FIELDS or cells.shape[1] != 2 or weights.shape[0] != cells.shape[0]:
        raise ValueError(f"weights must have {cells.shape[0]} entries, got {weights.shape[0]}")
    check_aligned("fields", &fields[0])
    if cells.shape[0]:
        check_aligned("cells", &cells[0, 0])
        check_aligned("weights", &weights[0])
    rule = rule_of(l1, l2, &fields[0])
    with nogil:
        for j in range(cells.shape[0]):
            weights[j] = carpenter_weight(cells[j, 0], cells[j, 1], &rule)
