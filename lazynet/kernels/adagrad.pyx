"""AdaGrad with an elastic net: a rate per coordinate, constant between two touches.

Computes the composite form of Duchi, Hazan & Singer (2011).  A cell is {w, s, c, psi}: the weight;
the root of the sum of the squared gradients of its coordinate, from which follows its rate
eta = alpha / (delta + s); what it loses in one shrink, c = log1p(eta l2), or eta itself without l2;
and how many steps had been taken when w was stored.  The n shrinks missed since then, all at the
rate eta, are one:

    |w| <- [ |w| + (|w| + l1 / l2) expm1(-n c) ]+

(without l2: |w| <- [ |w| - n c l1 ]+), after which the step is s <- sqrt(s^2 + g^2),
w <- w - alpha / (delta + s) g.  The intercept is a coordinate without penalties.

A row's weights are brought to the present and kept beside each other while its prediction is
computed; the step takes them from there, and every cell is written once, whole.

Property: equal to lazynet.reference.adagrad.DenseAdaGrad after every step (tests/test_online.py).
"""

from libc.math cimport isfinite, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from .examples cimport (
    FINISHED,
    OUT_OF_MEMORY,
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
from .rows cimport CellRule, Csr, RowOps, adagrad_decay, adagrad_weight


# Steps that a double can count one by one.
cdef int64_t GREATEST_COUNT = <int64_t> 1 << 53


cdef CellRule rule_of(double l1, double l2, double alpha, double delta) except *:
    cdef CellRule rule
    memset(&rule, 0, sizeof(CellRule))
    if not (alpha > 0.0 and delta > 0.0):
        raise ValueError(f"alpha and delta must be positive, got {alpha} and {delta}")
    rule.l1, rule.l2, rule.alpha, rule.delta = l1, l2, alpha, delta
    rule.decays = 1.0 if l2 > 0.0 else 0.0
    rule.ratio = l1 / l2 if l2 > 0.0 else 0.0
    rule.linear = 0.0 if l2 > 0.0 else l1
    return rule


# Beside the row at hand: its weights, and their s.
cdef struct Kept:
    double* numbers
    Py_ssize_t half   # room for so many of each


cdef inline bint make_room(Kept* kept, Py_ssize_t length) noexcept nogil:
    """Room for a row of this length, rounded up to eights; false where there is no memory."""
    if length <= kept.half - 8:
        return True
    free(kept.numbers)
    kept.half = 2 * (length + 8)
    kept.numbers = <double*> malloc(2 * kept.half * sizeof(double))
    if kept.numbers == NULL:
        kept.half = 0
    return kept.half > 0


def run(
    Examples examples,
    Steps steps,
    Task task,
    double l1,
    double l2,
    double alpha,
    double delta,
    double[:, ::1] cells not None,       # IN/OUT: {w, s, c, psi} of every weight
    double[::1] intercept_cell not None, # IN/OUT: {b, s}
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
    cdef Kept kept
    cdef CellRule rule = rule_of(l1, l2, alpha, delta)
    cdef double prediction, slope
    if cells.shape[0] != csr.n_columns or cells.shape[1] != 4:
        raise ValueError(f"cells must have {csr.n_columns} rows of four numbers")
    if intercept_cell.shape[0] != 2:
        raise ValueError("intercept_cell must have two numbers")
    if not 0 <= now <= GREATEST_COUNT:
        raise ValueError(f"now must lie between 0 and {GREATEST_COUNT}, got {now}")
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps, now
    cdef double* cell = &cells[0, 0] if csr.n_columns else NULL
    cdef double* own = &intercept_cell[0]
    cdef const int64_t* order = &steps.order[0]
    check_aligned("cells", cell)
    check_aligned("intercept_cell", own)
    kept.numbers, kept.half = NULL, 0
    with nogil:
        begin_visits(&at)
        while step < n_steps:
            status = visit(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            if not make_room(&kept, at.now.length):
                status = OUT_OF_MEMORY
                break
            prediction = ops.adagrad_dot(
                &at.now, &at.following, cell, <double> now, &rule, kept.numbers, kept.half
            )
            if task.fit_intercept:
                prediction += own[0]
            slope = move_of(examples, task, at.number, prediction, 1.0)
            if not (isfinite(prediction) and isfinite(slope)):
                status = OVERFLOWED
                break
            if slope != 0.0:
                ops.adagrad_update(
                    csr,
                    &at.now,
                    at.ahead,
                    cell,
                    <double> now,
                    &rule,
                    slope,
                    kept.numbers,
                    kept.half,
                )
                if task.fit_intercept:
                    own[1] = sqrt(own[1] * own[1] + slope * slope)
                    own[0] -= rule.alpha / (rule.delta + own[1]) * slope
            now += 1
            touched += at.now.length
            step += 1
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
        free(kept.numbers)
    return <int> status, step, now


def read(
    const double[:, ::1] cells not None,
    int64_t now,
    double l1,
    double l2,
    double alpha,
    double delta,
    double[::1] weights not None,
):
    """weights <- the weights as of now."""
    cdef Py_ssize_t j
    cdef CellRule rule = rule_of(l1, l2, alpha, delta)
    if cells.shape[1] != 4 or weights.shape[0] != cells.shape[0]:
        raise ValueError(f"weights must have {cells.shape[0]} entries")
    if cells.shape[0]:
        check_aligned("cells", &cells[0, 0])
        check_aligned("weights", &weights[0])
    with nogil:
        for j in range(cells.shape[0]):
            weights[j] = adagrad_weight(
                cells[j, 0], cells[j, 2], <double> now - cells[j, 3], &rule
            )


def set_decays(double[:, ::1] cells not None, double l1, double l2, double alpha, double delta):
    """c of every weight, from its s and these strengths."""
    cdef Py_ssize_t j
    cdef CellRule rule = rule_of(l1, l2, alpha, delta)
    if cells.shape[1] != 4:
        raise ValueError("cells must have four numbers per weight")
    if cells.shape[0]:
        check_aligned("cells", &cells[0, 0])
    with nogil:
        for j in range(cells.shape[0]):
            cells[j, 2] = adagrad_decay(alpha / (delta + cells[j, 1]), &rule)
