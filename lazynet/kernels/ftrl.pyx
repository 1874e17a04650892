"""FTRL-Proximal: a rate per coordinate, and weights that are computed where they are needed.

Computes McMahan et al. (2013), Algorithm 1.  A cell is {z, s} with s = sqrt(n), n the sum of the
squared gradients of the coordinate:

    w = -soft(z, l1) alpha / (beta + alpha l2 + s)
    s' = sqrt(s^2 + g^2)        z <- z + g - (s' - s) / alpha w        s <- s'

The intercept is a cell without penalties.  Nothing is ever behind, and no rate schedule is used.
With beta = 0 a coordinate has no rate before its first gradient: the l2 penalty bounds the weights
until then, and the intercept is 0.

Property: equal to lazynet.reference.ftrl.DenseFTRL after every step (tests/test_online.py).
"""

from libc.math cimport isfinite, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

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
from .rows cimport CellRule, Csr, RowOps, leader_weight


cdef inline double weight_of(double z, double s, const CellRule* leader) noexcept nogil:
    """The weight in a cell, 0 where beta and l2 are 0 and no gradient has been seen."""
    return leader_weight(z, s, leader) if leader.damping + s > 0.0 else 0.0


cdef inline void move_cell(double* cell, double g, const CellRule* leader) noexcept nogil:
    cdef double weight = weight_of(cell[0], cell[1], leader)
    cdef double root = sqrt(cell[1] * cell[1] + g * g)
    cell[0] += g - (root - cell[1]) * leader.inverse_alpha * weight
    cell[1] = root


cdef CellRule leader_of(double l1, double l2, double alpha, double beta) except *:
    cdef CellRule leader
    memset(&leader, 0, sizeof(CellRule))
    if not alpha > 0.0:
        raise ValueError(f"alpha must be positive, got {alpha}")
    leader.l1 = l1
    leader.alpha = alpha
    leader.inverse_alpha = 1.0 / alpha
    leader.damping = beta + alpha * l2
    if not leader.damping >= 0.0:
        raise ValueError(f"beta + alpha * l2 must not be negative, got {leader.damping}")
    return leader


def run(
    Examples examples,
    Steps steps,
    Task task,
    double l1,
    double l2,
    double alpha,
    double beta,
    double[:, ::1] cells not None,       # IN/OUT: {z, s} of every weight
    double[::1] intercept_cell not None, # IN/OUT
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef Csr* csr = &examples.csr
    cdef const RowOps* ops = examples.ops
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Py_ssize_t step = first, touched = 0
    cdef Status status = FINISHED
    cdef Visit at
    cdef CellRule leader = leader_of(l1, l2, alpha, beta)
    cdef CellRule free = leader_of(0.0, 0.0, alpha, beta)
    cdef double prediction, slope
    if cells.shape[0] != csr.n_columns or cells.shape[1] != 2 or intercept_cell.shape[0] != 2:
        raise ValueError(f"cells must have {csr.n_columns} rows of two numbers, the intercept's two")
    if not leader.damping > 0.0:
        raise ValueError("beta and l2 must not both be 0")
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    cdef double* cell = &cells[0, 0] if csr.n_columns else NULL
    cdef double* own = &intercept_cell[0]
    cdef const int64_t* order = &steps.order[0]
    check_aligned("cells", cell)
    check_aligned("intercept_cell", own)
    with nogil:
        begin_visits(&at)
        while step < n_steps:
            status = visit(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            prediction = ops.leader_dot(&at.now, &at.following, cell, &leader)
            if task.fit_intercept:
                prediction += weight_of(own[0], own[1], &free)
            slope = move_of(examples, task, at.number, prediction, 1.0)
            if not (isfinite(prediction) and isfinite(slope)):
                status = OVERFLOWED
                break
            if slope != 0.0:
                ops.leader_update(csr, &at.now, at.ahead, cell, &leader, slope)
                if task.fit_intercept:
                    move_cell(own, slope, &free)
            touched += at.now.length
            step += 1
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
    return <int> status, step


def read(
    const double[:, ::1] cells not None,
    double l1,
    double l2,
    double alpha,
    double beta,
    double[::1] weights not None,
):
    """weights <- the weights as of now."""
    cdef Py_ssize_t j
    cdef CellRule leader = leader_of(l1, l2, alpha, beta)
    if cells.shape[1] != 2 or weights.shape[0] != cells.shape[0]:
        raise ValueError(f"weights must have {cells.shape[0]} entries, got {weights.shape[0]}")
    if cells.shape[0]:
        check_aligned("cells", &cells[0, 0])
        check_aligned("weights", &weights[0])
    with nogil:
        for j in range(cells.shape[0]):
            weights[j] = weight_of(cells[j, 0], cells[j, 1], &leader)
