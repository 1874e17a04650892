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

from .averages cimport COUNTED, Average, check_counts
from .chunk cimport AVERAGED, CLOCK, FREELY_AVERAGED, Chunk
from .rules.motion cimport (
    INTERCEPT,
    N_CLOCK_FIELDS,
    PENDING,
    PENDING_MOVE,
    SCALE,
    SHIFT,
    WORK,
    load_clock,
    save_clock,
    start_clock,
)
from .examples cimport (
    FINISHED,
    Examples,
    Status,
    Steps,
    Task,
    check_runnable,
    check_vector,
    chunk_of,
    has_sizes,
)
from .from_data cimport (
    LAST_RATE,
    LOADED,
    LOWERINGS,
    N_FROM_DATA_FIELDS,
    ROWS_SEEN,
    STALLS,
    find_factors,
    load_from_data,
    save_from_data,
)
from .rows cimport soft
from .rules.clock cimport OnClock

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
    cdef Py_ssize_t n_steps = steps.order.shape[0]
    cdef bint adaptive = task.tuning.adaptive
    cdef Status status
    cdef OnClock on
    cdef Chunk at
    cdef int kind = CLOCK
    check_vector("stored", stored, examples.csr.n_columns * (1 if average is None else 2))
    check_vector("fields", fields, N_CLOCK_FIELDS)
    check_runnable(examples, task.loss)
    if not 0 <= first < n_steps:
        return <int> FINISHED, n_steps
    if adaptive:
        if rates is None:
            raise ValueError("rates must be given where they are computed from the rows")
        check_vector("rates", rates, N_FROM_DATA_FIELDS)
        if not has_sizes(examples):
            raise ValueError("examples must have sizes where rates are computed from the rows")
    at = chunk_of(examples, steps, task, first)
    at.cells = &stored[0] if stored.shape[0] else NULL
    load_clock(&on.clock, &fields[0])
    on.intercept, on.work = fields[INTERCEPT], fields[WORK]
    on.pending, on.pending_move = fields[PENDING], fields[PENDING_MOVE]
    on.positive = task.positive
    load_from_data(&on.state, &rates[0] if adaptive else NO_STATE)
    find_factors(&on.state, &task.tuning)
    if average is not None:
        check_counts(steps.counts, n_steps)
        at.counts, on.totals = &steps.counts[0], &average.fields[0]
        on.past = average.past()
        # Without a pull no weight vanishes.
        kind = FREELY_AVERAGED if not task.pulls and on.clock.shift == 0.0 else AVERAGED
    with nogil:
        status = examples.loops.walk(kind, &on, &at)
    save_clock(&on.clock, &fields[0])
    fields[INTERCEPT], fields[WORK] = on.intercept, on.work
    fields[PENDING], fields[PENDING_MOVE] = on.pending, on.pending_move
    if adaptive:
        save_from_data(&on.state, &rates[0])
    if average is not None:
        on.totals[COUNTED] = <double> on.past.n
    return <int> status, at.step


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
