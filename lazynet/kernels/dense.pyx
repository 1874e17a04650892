"""The dense engine: every weight at every step, compiled and vectorised.

Computes the baseline of Lipton & Elkan: predict, move the weights of the example's nonzeros,
shrink all d weights.  A step costs O(d).  With ``dense_row`` the prediction and the move also run
over all d features; the paper's table has a column for this form.  With ``sums`` every weight is
added up after every step: the naive average of the iterates.

The loop is its own, because the rules of the step loop see only the nonzeros.  The loops over all
weights are those of row_loops.pyx or, without ``vectorised``, those of this module, which is
compiled without vector units (setup.py).

Property: equal to lazynet.reference.DenseReference after every step
(tests/exact/test_lazy_equals_dense.py).
"""

from libc.math cimport isfinite

from .all_weights cimport full_dot, full_move, shrink_all
from .arrays cimport check_vector
from .examples cimport Examples, check_runnable, walk_rows
from .losses cimport slope_of
from .row_loops cimport RowLoops
from .rows cimport FINISHED, OVERFLOWED, OwnRow, Status, Walk, end_walk, row_of_step
from .rules.motion cimport N_AVERAGE_FIELDS, count_totals
from .steps cimport Steps, Task, check_counts


cdef inline void expand(const OwnRow* row, double* x) noexcept nogil:
    """x_j <- the value of every nonzero."""
    cdef Py_ssize_t k
    for k in range(row.length):
        x[row.columns[k]] = row.values[k]


cdef inline void clear(const OwnRow* row, double* x) noexcept nogil:
    """x_j <- 0 for every nonzero."""
    cdef Py_ssize_t k
    for k in range(row.length):
        x[row.columns[k]] = 0.0


def run(
    Examples examples,
    Steps steps,
    Task task,
    double[::1] weights not None,    # IN/OUT
    double[::1] intercept not None,  # IN/OUT: one entry
    double[::1] dense_row not None,  # scratch: d zeros, empty to predict sparsely
    double[::1] sums not None,       # IN/OUT: sum of omega w, empty without an average
    double[::1] totals not None,     # IN/OUT: the counting (rules/motion.pxd), empty without an average
    bint vectorised,        # whether the loops over all weights use vector units
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef RowLoops loops = examples.row_loops[0]
    cdef Py_ssize_t n_steps = steps.order.shape[0], d = examples.csr.n_columns
    cdef Py_ssize_t step = first
    cdef Status status = FINISHED
    cdef Walk at
    cdef const OwnRow* row
    cdef double prediction, move
    cdef bint expands = dense_row.shape[0] > 0, averaged = totals.shape[0] > 0
    if not vectorised:
        loops.shrink_all, loops.full_dot, loops.full_move = shrink_all, full_dot, full_move
    check_vector("weights", weights, d)
    check_vector("intercept", intercept, 1)
    check_vector("dense_row", dense_row, d if expands else 0)
    check_vector("sums", sums, d if averaged else 0)
    check_vector("totals", totals, N_AVERAGE_FIELDS if averaged else 0)
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    if averaged:
        check_counts(steps.counts, n_steps)
    cdef double* w = &weights[0] if d else NULL
    cdef double* x = &dense_row[0] if expands else NULL
    cdef double* sum_w = &sums[0] if sums.shape[0] else NULL
    with nogil:
        walk_rows(&at, examples, &steps.order[0], n_steps, step)
        while step < n_steps:
            row = row_of_step(&at, NULL, 0)
            status = row.status
            if status != FINISHED:
                break
            if expands:
                expand(row, x)
                prediction = loops.full_dot(w, x, d)
            else:
                prediction = loops.dot(row, w, 0.0)
            prediction += intercept[0]
            if steps.predictions != NULL:
                steps.predictions[step] = prediction
            move = steps.rates[step] * slope_of(
                task.loss, task.epsilon, examples.targets, examples.importances, row.number, prediction
            )
            if not (isfinite(prediction) and isfinite(move)):
                if expands:
                    clear(row, x)
                status = OVERFLOWED
                break
            if task.shrink_first:
                loops.shrink_all(w, d, steps.keep[step], steps.pull[step])
            if expands:
                loops.full_move(w, x, d, move)
                clear(row, x)
            elif move != 0.0:
                loops.add(row, w, -move)
            if task.fit_intercept:
                intercept[0] -= move
            if not task.shrink_first:
                loops.shrink_all(w, d, steps.keep[step], steps.pull[step])
            if averaged and steps.counts[step] != 0.0:
                # sums <- sums + omega w, as a move of -omega along w.
                loops.full_move(sum_w, w, d, -steps.counts[step])
                count_totals(&totals[0], steps.counts[step], intercept[0])
            step += 1
            at.n_visited += d
        end_walk(&at)
    return <int> status, step
