"""Truncated gradient with a threshold: gravity that leaves large weights alone.

Computes Langford, Li & Zhang (2009), Eq. 5 and 6: SGD, and after every period
w <- T1(w, alpha, theta), which moves a weight towards zero by alpha if it is within theta.  G is
the sum of all alphas, and a cell {w, stamp} remembers G as of when it was stored.  A weight within
the threshold has had every truncation since; one beyond it none, for only a gradient brings it
back.
(Without a threshold the clock does it.)

Property: equal to lazynet.reference.truncated.DenseTruncated after every step
(tests/test_truncated.py).
"""

from libc.math cimport isfinite
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
from .rows cimport CellRule, Csr, RowOps, truncated_weight

cdef enum:
    GRAVITY = 0     # G
    INTERCEPT = 1
    N_FIELDS = 2

TRUNCATED_FIELDS = N_FIELDS
INTERCEPT_FIELD = INTERCEPT


cdef CellRule rule_of(double gravity, double threshold) noexcept:
    cdef CellRule rule
    memset(&rule, 0, sizeof(CellRule))
    rule.gravity, rule.threshold = gravity, threshold
    return rule


def run(
    Examples examples,
    Steps steps,
    Task task,
    double threshold,      # theta
    double[:, ::1] cells not None,  # IN/OUT: {w, stamp} of every weight
    double[::1] fields not None,    # IN/OUT: G and the intercept
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken.

    ``pull`` of the steps is the alpha that is due after each.
    """
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
    rule = rule_of(fields[GRAVITY], threshold)
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
            prediction = ops.truncated_dot(&at.now, &at.following, cell, &rule) + intercept
            move = move_of(examples, task, at.number, prediction, steps.rates[step])
            if not (isfinite(prediction) and isfinite(move)):
                status = OVERFLOWED
                break
            if move != 0.0:
                ops.truncated_update(csr, &at.now, at.ahead, cell, &rule, move)
                if task.fit_intercept:
                    intercept -= move
            rule.gravity += steps.pull[step]
            touched += at.now.length
            step += 1
            if rule.gravity > task.wear.largest_cushion:
                # Beside a large sum the difference of two stamps loses its digits.
                status = WORN_OUT
                break
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
        fields[GRAVITY] = rule.gravity
        fields[INTERCEPT] = intercept
    return <int> status, step


def read(
    const double[:, ::1] cells not None,
    const double[::1] fields not None,
    double threshold,
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
    rule = rule_of(fields[GRAVITY], threshold)
    with nogil:
        for j in range(cells.shape[0]):
            weights[j] = truncated_weight(cells[j, 0], cells[j, 1], &rule)
