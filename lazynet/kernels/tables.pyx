"""The tables engine: Lipton & Elkan's algorithm as printed, with the misprints corrected.

Each weight remembers psi_j, the first step whose shrink it has not had yet.  Two tables hold, for
every step since they were begun, the product P of the steps' factors and the sum B.  Before an
example is predicted its weights are brought current in constant time (Algorithm 1 with Theorems 1
and 2, corrected: lazynet/reference/closed_forms.py has the printed formulas beside the corrected
ones, and tests/exact/test_closed_forms.py has a counterexample to each misprint):

    |w| <- [ |w| P(k) / P(psi) - P(k) (B(k) - B(psi)) ]+

The tables have a space budget.  When it is used up, all weights are brought current and the tables
begin again.  The tables also begin again before P becomes subnormal or B infinite, which the paper
does not mention; otherwise the weights become NaN (paper_repro/results/accuracy.md shows when).

Property: the weights after every step equal the weights of lazynet.reference.DenseReference, for
any budget (tests/exact/test_lazy_equals_dense.py).
"""

from libc.math cimport isfinite
from libc.stdint cimport int64_t

from .rules.motion cimport (
    INTERCEPT,
    N_CLOCK_FIELDS,
    SCALE,
    SHIFT,
    WORK,
    Clock,
    advance_clock,
    in_range,
    load_clock,
    save_clock,
    worn_out,
)
from .examples cimport (
    FINISHED,
    OUT_OF_RANGE,
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
    check_vector,
    end_visits,
    fetch_ahead,
    keep_prediction,
    move_of,
    visit,
)
from .rows cimport Csr, RowOps, caught_up, read_once


def run(
    Examples examples,
    Steps steps,
    Task task,
    double[::1] weights not None,  # IN/OUT: each weight as it is before shrink number psi
    int64_t[::1] last not None,    # IN/OUT: psi, counted from the tables' beginning
    double[::1] scales not None,   # IN/OUT: P, scales[0] = 1
    double[::1] shifts not None,   # IN/OUT: B, shifts[0] = 0, lambda1 included
    double[::1] fields not None,   # IN/OUT: the clock as of the newest entry, and the intercept
    int64_t now,          # the newest entry
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how it ended, the first step not taken, ``now``."""
    cdef Csr* csr = &examples.csr
    cdef const RowOps* ops = examples.ops
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Py_ssize_t step = first, touched = 0
    cdef int64_t newest = scales.shape[0] - 1
    cdef Status status = FINISHED
    cdef Visit at
    cdef Clock clock
    cdef double prediction, move, work, intercept
    if weights.shape[0] != csr.n_columns or last.shape[0] != csr.n_columns:
        raise ValueError(f"weights and last must have {csr.n_columns} entries")
    if scales.shape[0] < 2 or shifts.shape[0] != scales.shape[0]:
        raise ValueError("scales and shifts must be equally long and hold at least two entries")
    if not 0 <= now <= newest:
        raise ValueError(f"now must lie in the tables, from 0 to {newest}, got {now}")
    check_vector("fields", fields, N_CLOCK_FIELDS)
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps, now
    cdef double* w = &weights[0] if weights.shape[0] else NULL
    cdef int64_t* psi = &last[0] if last.shape[0] else NULL
    cdef const int64_t* order = &steps.order[0]
    check_aligned("weights", w)
    check_aligned("last", psi)
    check_aligned("scales", &scales[0])
    check_aligned("shifts", &shifts[0])
    with nogil:
        load_clock(&clock, &fields[0])
        intercept = fields[INTERCEPT]
        work = fields[WORK]
        begin_visits(&at)
        while step < n_steps:
            if now == newest:
                status = WORN_OUT
                break
            status = visit(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            ops.catch_up(&at.now, w, psi, &scales[0], &shifts[0], now)
            prediction = ops.dot(&at.now, &at.now, w, 0.0) + intercept
            keep_prediction(steps, step, prediction)
            fetch_ahead(&at, examples)
            move = move_of(examples, task, at.number, prediction, steps.rates[step])
            if not (isfinite(prediction) and isfinite(move)):
                status = OVERFLOWED
                break
            advance_clock(&clock, steps.keep[step], steps.keep_low[step], steps.pull[step])
            if not in_range(&clock):
                status = OUT_OF_RANGE
                break
            now += 1
            scales[now] = clock.scale
            shifts[now] = clock.shift
            if task.shrink_first:
                ops.catch_up(&at.now, w, psi, &scales[0], &shifts[0], now)
            # Gradient first: the weights keep psi = k, and the next visit applies shrink k.
            if move != 0.0:
                ops.update(&at.now, w, 0.0, move, False, NULL)
                if task.fit_intercept:
                    intercept -= move
            work += <double> at.now.length
            touched += at.now.length
            step += 1
            if worn_out(&clock, &task.wear, work):
                status = WORN_OUT
                break
            if touched > PATIENCE:
                status = PAUSED
                break
        end_visits(&at)
        save_clock(&clock, &fields[0])
        fields[INTERCEPT] = intercept
        fields[WORK] = work
    return <int> status, step, now


def read(
    const double[::1] weights not None,
    const int64_t[::1] last not None,
    const double[::1] scales not None,
    const double[::1] shifts not None,
    int64_t now,
    double[::1] current not None,  # OUT
):
    """current <- every weight brought to step ``now``; ``current`` may be ``weights`` itself."""
    cdef Py_ssize_t j = 0
    cdef int64_t psi = 0
    if last.shape[0] != weights.shape[0] or current.shape[0] != weights.shape[0]:
        raise ValueError(f"last and current must have {weights.shape[0]} entries")
    if shifts.shape[0] != scales.shape[0] or not 0 <= now < scales.shape[0]:
        raise ValueError("now must lie in the tables, and the tables be equally long")
    check_aligned("scales", &scales[0])
    check_aligned("shifts", &shifts[0])
    if weights.shape[0]:
        check_aligned("weights", &weights[0])
        check_aligned("last", &last[0])
        check_aligned("current", &current[0])
    with nogil:
        while j < weights.shape[0]:
            psi = read_once(&last[j])
            if not 0 <= psi <= now:
                break
            current[j] = caught_up(weights[j], scales[psi], shifts[psi], scales[now], shifts[now])
            j += 1
    if j < weights.shape[0]:
        raise ValueError(f"last must lie between 0 and {now}, got {psi} for weight {j}")
