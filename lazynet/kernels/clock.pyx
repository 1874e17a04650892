"""The clock engine: one number per weight, two running scalars.

Computes SGD or FoBoS with an elastic net, one example at a time (Lipton & Elkan, Algorithm 1 and
Theorems 1 and 2, corrected), in a coordinate z that no shrink changes:

    current(z) = sgn(z) [|z| - shift]+ * scale          stored(w) = sgn(w) (|w| / scale + shift)

A step touches the nonzeros of its example; every other weight moves by the motion of the clock.
Per nonzero there is no division, branch or transcendental function: the prediction is multiplied by
the scale once, and the step is divided by the scale once.

The rates are given with the steps, or computed here from the rows (from_data.pxd) if the task says
so; then ``rates`` is the state from which the next rate follows.

Where the task is ``positive``, a step sets a weight of its example that it takes below 0 to 0.  No
shrink changes a sign, so that all weights stay at 0 or above.

With an ``Average`` the same steps also keep, per weight, what the average of the iterates needs
(averages.pyx); ``stored`` then holds cells {z, before}.

Property: the weights after every step equal the weights of lazynet.reference.DenseReference
(tests/exact/test_lazy_equals_dense.py), with computed rates those of DenseFromData
(tests/exact/test_rates_from_data.py), and any split into chunks gives the same bits.
"""

from libc.math cimport isfinite
from libc.stdint cimport int64_t

from .averages cimport COUNTED, Average, check_counts, count_iterate, past_is_worn
from .batches cimport Batches, Merging, begin_batch, mean_slope, merge_row, merged_row
from .clock cimport (
    INTERCEPT,
    N_CLOCK_FIELDS,
    PENDING,
    PENDING_MOVE,
    SCALE,
    SHIFT,
    WORK,
    Clock,
    advance_clock,
    beyond_limits,
    in_range,
    load_clock,
    save_clock,
    start_clock,
    worn_out,
)
from .examples cimport (
    FINISHED,
    NEAR,
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
    arrive,
    begin_visits,
    check_runnable,
    check_vector,
    end_visits,
    fetch_ahead,
    has_sizes,
    importance_of,
    keep_prediction,
    look_ahead,
    move_of,
    size_of,
    slope_of,
    visit,
)
from .from_data cimport (
    LAST_RATE,
    LOADED,
    LOWERINGS,
    N_FROM_DATA_FIELDS,
    ROWS_SEEN,
    STALLS,
    FromData,
    Proposal,
    begin_proposal,
    count_row,
    find_factors,
    load_from_data,
    propose,
    save_from_data,
)
from .rows cimport Csr, Past, Row, RowOps, soft

CLOCK_FIELDS = N_CLOCK_FIELDS
INTERCEPT_FIELD = INTERCEPT
FROM_DATA_FIELDS = N_FROM_DATA_FIELDS
LAST_RATE_FIELD = LAST_RATE
LOADED_FIELD = LOADED
LOWERINGS_FIELD = LOWERINGS
ROWS_SEEN_FIELD = ROWS_SEEN
STALLS_FIELD = STALLS

# The state from which no rate is computed.
cdef double[N_FROM_DATA_FIELDS] NO_STATE


cdef inline double prediction_of(
    const RowOps* ops, const Row* row, const Row* next, const double* z, const Clock* clock,
    bint averaged,
) noexcept nogil:
    """w.x of the row; the weights of the next row are fetched, unless it is NULL."""
    cdef double product
    if averaged:
        product = ops.pair_dot(row, next, z, clock.shift)
    else:
        product = ops.dot(row, next, z, clock.shift)
    return product * clock.scale


cdef inline void move_along(
    const RowOps* ops, const Row* row, double* z, const Clock* clock, double move, bint averaged,
    Task task, const Past* past, const double* kept,
) noexcept nogil:
    """w <- w - move x on the row; ``kept`` is what its prediction has kept, unless NULL."""
    move *= clock.inverse
    if averaged and not task.pulls and clock.shift == 0.0:
        # Without a pull no weight vanishes: the update need not look for zeros.
        ops.pair_update(row, z, -move, -move * past.scales[past.n])
    elif averaged:
        ops.averaged_update(row, z, clock.shift, move, past)
    else:
        ops.update(row, z, clock.shift, move, task.positive, kept)


def run(
    Examples examples,
    Steps steps,
    Task task,
    double[::1] stored not None,   # IN/OUT: z, or the cells {z, before}
    double[::1] fields not None,   # IN/OUT: the clock and the intercept
    Py_ssize_t first,
    Average average=None, # IN/OUT: the past of the clock, where iterates are averaged
    double[::1] rates=None,   # IN/OUT: what rates computed from the rows depend on
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef Csr* csr = &examples.csr
    cdef const RowOps* ops = examples.ops
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef Py_ssize_t step = first, touched = 0
    cdef Status status = FINISHED
    cdef Visit at
    cdef Clock clock
    cdef double prediction, move, move_of_intercept, work, intercept, factor, size = 0.0
    cdef bint adaptive = task.tuning.adaptive
    cdef FromData state, state_before
    cdef Proposal proposal
    cdef Clock clock_before
    cdef bint averaged = average is not None
    cdef Py_ssize_t n_stored = 2 * csr.n_columns if averaged else csr.n_columns
    cdef bint near = n_stored <= NEAR
    cdef Past past
    cdef const double* counts = NULL
    cdef const double* kept = NULL
    cdef double* totals = NULL
    check_vector("stored", stored, n_stored)
    check_vector("fields", fields, N_CLOCK_FIELDS)
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    if averaged:
        check_counts(steps.counts, n_steps)
        counts = &steps.counts[0]
        totals = &average.fields[0]
        past = average.past()
    if adaptive:
        if rates is None:
            raise ValueError("rates must be given where they are computed from the rows")
        check_vector("rates", rates, N_FROM_DATA_FIELDS)
        if not has_sizes(examples):
            raise ValueError("examples must have sizes where rates are computed from the rows")
    cdef double* z = &stored[0] if stored.shape[0] else NULL
    cdef const int64_t* order = &steps.order[0]
    with nogil:
        load_clock(&clock, &fields[0])
        intercept = fields[INTERCEPT]
        work = fields[WORK]
        load_from_data(&state, &rates[0] if adaptive else NO_STATE)
        find_factors(&state, &task.tuning)
        state_before, clock_before = state, clock
        begin_proposal(&proposal)
        begin_visits(&at)
        while step < n_steps:
            status = arrive(&at, examples, order, n_steps, step)
            if status != FINISHED:
                break
            if not near:
                look_ahead(&at, examples, order, n_steps, step)
            if not adaptive:
                proposal.keep = steps.keep[step]
                proposal.keep_low = steps.keep_low[step]
                proposal.pull = steps.pull[step]

            if averaged and past.n >= past.room:
                # Nothing of the step is taken yet, or a sweep has interrupted it.
                status = WORN_OUT
                break
            if fields[PENDING] == 1.0:
                # The first half of this step was taken before the sweep, which has changed the
                # stored weights.
                kept = NULL
                move = move_of_intercept = fields[PENDING_MOVE]
                if adaptive:
                    move_of_intercept = state.intercept_move
                fields[PENDING] = 0.0
            else:
                if adaptive:
                    size = size_of(examples, at.number)
                    state_before, clock_before = state, clock
                    if fields[PENDING] == 0.0:
                        factor = count_row(
                            &state, &task.tuning, size, examples.targets[at.number]
                        )
                        if factor != 1.0:
                            advance_clock(&clock, factor, 0.0, 0.0)
                            if not in_range(&clock):
                                state, clock = state_before, clock_before
                                status = OUT_OF_RANGE
                                break
                            if beyond_limits(&clock, &task.wear):
                                fields[PENDING] = 2.0
                                status = WORN_OUT
                                break
                    # 2: the row was counted before the sweep.
                    fields[PENDING] = 0.0
                prediction = (
                    prediction_of(
                        ops, &at.now, NULL if near else &at.following, z, &clock, averaged
                    )
                    + intercept
                )
                kept = at.now.kept
                keep_prediction(steps, step, prediction)
                if adaptive:
                    propose(
                        &proposal, &state, &task.tuning, task.loss, task.epsilon,
                        task.fit_intercept, size, importance_of(examples, at.number),
                        examples.targets[at.number], prediction,
                    )
                    move, move_of_intercept = proposal.move, proposal.intercept_move
                else:
                    move = move_of(examples, task, at.number, prediction, steps.rates[step])
                    move_of_intercept = move
                if not (
                    isfinite(prediction) and isfinite(move) and isfinite(move_of_intercept)
                ):
                    if adaptive:
                        state, clock = state_before, clock_before
                    status = OVERFLOWED
                    break
                if averaged and past_is_worn(
                    &past, totals, &clock, &task.reach, work, proposal.keep, proposal.pull
                ):
                    # The step begins again after the sweep; a row counts only once.
                    if adaptive:
                        fields[PENDING] = 2.0
                    status = WORN_OUT
                    break
                if adaptive:
                    state.progress, state.rate = proposal.progress, proposal.rate
                    state.intercept_progress = proposal.intercept_progress
                    state.intercept_move = move_of_intercept
                    state.squared_slopes = proposal.squared_slopes
                if task.shrink_first:
                    advance_clock(&clock, proposal.keep, proposal.keep_low, proposal.pull)
                    if not in_range(&clock):
                        status = OUT_OF_RANGE
                        break
                    if beyond_limits(&clock, &task.wear):
                        # A weight stored now would lose its digits beside so large a shift.
                        fields[PENDING] = 1.0
                        fields[PENDING_MOVE] = move
                        status = WORN_OUT
                        break

            if near:
                # Nothing here depends on the move: the processor does it while it computes the
                # slope, for which it would wait otherwise.
                look_ahead(&at, examples, order, n_steps, step)
            fetch_ahead(&at, examples)
            if move_of_intercept != 0.0 and task.fit_intercept:
                intercept -= move_of_intercept
            if move != 0.0:
                move_along(ops, &at.now, z, &clock, move, averaged, task, &past, kept)
            if not task.shrink_first:
                advance_clock(&clock, proposal.keep, proposal.keep_low, proposal.pull)
                if not in_range(&clock):
                    status = OUT_OF_RANGE
                    break
            if averaged and counts[step] != 0.0:
                count_iterate(&past, totals, &clock, counts[step], intercept)
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
        if adaptive:
            save_from_data(&state, &rates[0])
        if averaged:
            totals[COUNTED] = <double> past.n
    return <int> status, step


def run_batches(
    Examples examples,
    Batches batches,
    Task task,
    double[::1] stored not None,   # IN/OUT: z, or the cells {z, before}
    double[::1] fields not None,   # IN/OUT: the clock and the intercept
    Py_ssize_t first,
    Average average=None, # IN/OUT: the past of the clock, where iterates are averaged
):
    """Take the steps on batches from ``first`` on; ``run`` explains what is returned.

    The rates are given with the steps.  A call may end within a batch; the next call goes on.
    """
    cdef const RowOps* ops = examples.ops
    cdef Py_ssize_t n_steps = batches.n_batches, n_rows = batches.order.shape[0]
    cdef Py_ssize_t step = first, touched = 0
    cdef Status status = FINISHED
    cdef Visit at
    cdef Clock clock
    cdef double prediction, slope, rate, work, intercept
    cdef bint averaged = average is not None
    cdef Py_ssize_t n_stored = examples.csr.n_columns * (2 if averaged else 1)
    cdef Past past
    cdef const double* counts = NULL
    cdef double* totals = NULL
    cdef Merging* merging
    cdef Row merged
    check_vector("stored", stored, n_stored)
    check_vector("fields", fields, N_CLOCK_FIELDS)
    check_runnable(examples, task.loss)
    if task.tuning.adaptive or task.positive:
        raise ValueError(
            "task: steps on batches know neither rates that are computed from the rows nor "
            "positive weights"
        )
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    if averaged:
        check_counts(batches.counts, n_steps)
        counts = &batches.counts[0]
        totals = &average.fields[0]
        past = average.past()
    cdef double* z = &stored[0] if stored.shape[0] else NULL
    cdef const int64_t* order = &batches.order[0]
    merging = batches.merger.begin(examples)
    with nogil:
        load_clock(&clock, &fields[0])
        intercept = fields[INTERCEPT]
        work = fields[WORK]
        begin_visits(&at)
        while step < n_steps:
            rate = batches.rates[step]
            begin_batch(merging, batches, step)
            while merging.next < merging.stop:
                status = visit(&at, examples, order, n_rows, merging.next)
                if status != FINISHED:
                    break
                fetch_ahead(&at, examples)
                prediction = (
                    prediction_of(ops, &at.now, &at.following, z, &clock, averaged) + intercept
                )
                keep_prediction(batches, merging.next, prediction)
                slope = slope_of(examples, task.loss, task.epsilon, at.number, prediction)
                if not (isfinite(prediction) and isfinite(rate * slope)):
                    status = OVERFLOWED
                    break
                status = merge_row(merging, examples, &at, slope)
                if status != FINISHED:
                    break
                touched += at.now.length
                if touched > PATIENCE:
                    status = PAUSED
                    break
            if status != FINISHED:
                break

            if fields[PENDING] == 1.0:
                # The first half of this step was taken before the sweep.
                fields[PENDING] = 0.0
            else:
                if averaged and past_is_worn(
                    &past, totals, &clock, &task.reach, work, batches.keep[step],
                    batches.pull[step],
                ):
                    # The merged rows wait for the sweep.
                    status = WORN_OUT
                    break
                if task.shrink_first:
                    advance_clock(
                        &clock, batches.keep[step], batches.keep_low[step], batches.pull[step]
                    )
                    if not in_range(&clock):
                        status = OUT_OF_RANGE
                        break
                    if beyond_limits(&clock, &task.wear):
                        # A weight stored now would lose its digits beside so large a shift.
                        fields[PENDING] = 1.0
                        status = WORN_OUT
                        break

            if task.fit_intercept:
                intercept -= rate * mean_slope(merging)
            merged = merged_row(merging, examples, 1.0)
            if merged.length > 0:
                move_along(
                    examples.merged_ops, &merged, z, &clock, rate, averaged, task, &past, NULL
                )
            if not task.shrink_first:
                advance_clock(
                    &clock, batches.keep[step], batches.keep_low[step], batches.pull[step]
                )
                if not in_range(&clock):
                    status = OUT_OF_RANGE
                    break
            if averaged and counts[step] != 0.0:
                count_iterate(&past, totals, &clock, counts[step], intercept)
            work += <double> merging.visited
            step += 1
            if worn_out(&clock, &task.wear, work):
                status = WORN_OUT
                break
        end_visits(&at)
        save_clock(&clock, &fields[0])
        fields[INTERCEPT] = intercept
        fields[WORK] = work
        if averaged:
            totals[COUNTED] = <double> past.n
    batches.merger.end()
    return <int> status, step


def read(
    const double[::1] stored not None,
    const double[::1] fields not None,
    double[::1] weights not None,
):
    """weights <- current(z), leaving the clock as it is; ``weights`` may be ``stored`` itself."""
    cdef Py_ssize_t j
    cdef double scale, shift
    check_vector("stored", stored, stored.shape[0])
    check_vector("fields", fields, N_CLOCK_FIELDS)
    check_vector("weights", weights, stored.shape[0])
    scale = fields[SCALE]
    shift = fields[SHIFT]
    with nogil:
        for j in range(stored.shape[0]):
            weights[j] = soft(stored[j], shift) * scale


def rebase(double[::1] stored not None, double[::1] fields not None):
    """Bring every weight current and reset the clock; stored zeros must be visited too."""
    read(stored, fields, stored)
    start(fields)


def start(double[::1] fields not None):
    """Set the clock to its start; the intercept and a pending half step are kept."""
    check_vector("fields", fields, N_CLOCK_FIELDS)
    start_clock(&fields[0])
