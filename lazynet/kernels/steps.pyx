"""What a kernel is given beside the examples: a chunk of steps, its task, the targets of several outputs,
and the past of a clock.

The classes check every length and type when they are made; a kernel that takes them checks only the
contents of a row.
"""

cimport cython

from functools import partial

from libc.stdint cimport int64_t
from libc.string cimport memset

from .arrays cimport Held, check_aligned, check_cells, check_vector, pinned
from .rules.motion cimport (
    COUNTED, INTERCEPT_SUM, N_AVERAGE_FIELDS, SCALE_SUM_LOW, SHIFT_SUM_LOW, TOTAL, Past, sum_of,
)
from .target_rows cimport LABELS, NUMBERS, POSITIVES, SHARED

AVERAGE_FIELDS = N_AVERAGE_FIELDS
COUNTED_FIELD = COUNTED
TOTAL_FIELD = TOTAL
INTERCEPT_SUM_FIELD = INTERCEPT_SUM


cdef StepChunk chunk_of(Examples examples, Steps steps, Task task, Py_ssize_t first) noexcept:
    cdef StepChunk at
    memset(&at, 0, sizeof(StepChunk))
    at.csr, at.targets, at.importances = &examples.csr, examples.targets, examples.importances
    at.row_sizes, at.size_kind = examples.row_sizes, examples.size_kind
    at.order, at.predictions = &steps.order[0], steps.predictions
    at.rates, at.keep, at.keep_low = &steps.rates[0], &steps.keep[0], &steps.keep_low[0]
    at.pull = &steps.pull[0]
    at.n_steps, at.step = steps.order.shape[0], first
    at.loss, at.epsilon = task.loss, task.epsilon
    at.shrink_first, at.fit_intercept = task.shrink_first, task.fit_intercept
    at.limits, at.reach, at.tuning = &task.limits, &task.reach, &task.tuning
    return at


@cython.binding(False)  # a method then checks the type of self
cdef class Steps:
    """The scalars of consecutive steps, each array with one entry per step.

    A kernel stores in ``predictions``, if given, the prediction before the update of each step.
    """

    def __cinit__(
        self, order not None, rates not None, keep not None, keep_low not None, pull not None,
        counts=None, predictions=None,
    ):
        cdef const double[::1] numbers
        cdef double[::1] written
        self.order = order
        self.rates, self.keep, self.keep_low = rates, keep, keep_low
        self.pull, self.counts = pull, counts
        cdef Py_ssize_t n = self.order.shape[0]
        self.predictions = NULL
        if n:
            check_aligned("order", &self.order[0])
        for name, array in (
            ("rates", rates), ("keep", keep), ("keep_low", keep_low), ("pull", pull),
            ("counts", counts),
        ):
            if array is not None:
                numbers = array
                check_vector(name, numbers, n)
        if predictions is not None:
            written = predictions
            check_vector("predictions", written, n)
            if n:
                self.predictions = &written[0]
        arrays = (order, rates, keep, keep_low, pull, counts, predictions)
        held = None if predictions is None else memoryview(predictions)
        self.pins = (arrays, pinned(arrays), held)

    def __len__(self):
        return self.order.shape[0]

    def with_predictions(self, predictions):
        """The same steps, which store their predictions in another array."""
        return Steps(*self.pins[0][:6], predictions)

    def row(self, Py_ssize_t step):
        """The row number that ``order`` gives to ``step``; X may have no such row."""
        if not 0 <= step < self.order.shape[0]:
            raise IndexError(f"step must lie between 0 and {self.order.shape[0] - 1}, got {step}")
        return self.order[step]


@cython.binding(False)  # a method then checks the type of self
cdef class Task:
    """The code and epsilon of the loss, the order within a step, and the limits of a clock.

    With ``tuning`` the rates are computed from the rows: a dict of the fields of ``Tuning``
    (from_data.pxd) without ``in_use``.
    """

    def __cinit__(
        self,
        *,
        int loss,
        double epsilon,
        bint shrink_first,
        bint fit_intercept,
        double smallest_scale,
        double cushion,
        double largest_cushion,
        double enough_work,
        double soft_reach,
        double hard_reach,
        bint has_pull=True,
        bint positive=False,
        tuning=None,
    ):
        if tuning is not None:
            self.tuning = dict(tuning, in_use=True)
        self.loss = loss
        self.epsilon = epsilon
        self.shrink_first = shrink_first
        self.fit_intercept = fit_intercept
        self.has_pull = has_pull
        self.positive = positive
        self.limits.smallest_scale = smallest_scale
        self.limits.cushion = cushion
        self.limits.largest_cushion = largest_cushion
        self.limits.enough_work = self.reach.enough_work = enough_work
        self.reach.soft_limit = soft_reach
        self.reach.hard_limit = hard_reach
        self.given = dict(
            loss=loss, epsilon=epsilon, shrink_first=shrink_first, fit_intercept=fit_intercept,
            smallest_scale=smallest_scale, cushion=cushion, largest_cushion=largest_cushion,
            enough_work=enough_work, soft_reach=soft_reach, hard_reach=hard_reach,
            has_pull=has_pull, positive=positive, tuning=tuning,
        )

    def __reduce__(self):
        return partial(Task, **self.given), ()


@cython.binding(False)  # a method then checks the type of self
cdef class OutputTargets:
    """The targets of a block of outputs for every row of X.

    ``labels``: the output that has the target +1 in each row, or -1; with ``starts``, any number of
    them, in CSR form; all other outputs have -1.  Or ``numbers``: the targets themselves, a row for
    each row of X, with one column where all outputs have the same.  The block holds the outputs
    from ``first`` on, ``n_outputs`` of them.
    """
    def __cinit__(
        self, Py_ssize_t first, Py_ssize_t n_outputs, labels=None, starts=None, numbers=None
    ):
        cdef TargetRows* rows = &self.rows
        cdef Held array, begins
        if not 0 <= first <= greatest_width():
            raise ValueError(f"first must lie between 0 and {greatest_width()}, got {first}")
        if not 1 <= n_outputs <= greatest_width():
            raise ValueError(
                f"n_outputs must lie between 1 and {greatest_width()}, got {n_outputs}"
            )
        if (labels is None) == (numbers is None) or (labels is None and starts is not None):
            raise TypeError("labels, labels with starts, or numbers must be given, and nothing else")
        if numbers is not None:
            array = Held("numbers", numbers, (None, None), "d", False)
            rows.n_columns, rows.numbers = array.shape[1], <const double*> array.begin
            rows.form = SHARED if rows.n_columns == 1 else NUMBERS
            if rows.form == NUMBERS and rows.n_columns < first + n_outputs:
                raise ValueError(
                    f"numbers must have 1 or {first + n_outputs} columns, got {rows.n_columns}"
                )
            if rows.form == NUMBERS and rows.numbers != NULL:
                rows.numbers += first
        else:
            array = Held("labels", labels, (None,), "lq", False)
            rows.form, rows.labels = LABELS, <const int64_t*> array.begin
        self.held, self.n_rows = array, array.shape[0]
        if starts is not None:
            begins = Held("starts", starts, (None,), "lq", False)
            if begins.begin == NULL:
                raise ValueError("starts must not be empty")
            rows.form, rows.starts = POSITIVES, <const int64_t*> begins.begin
            rows.n_labels, self.n_rows = self.n_rows, <Py_ssize_t> begins.shape[0] - 1
            self.held = array, begins
        self.first, self.n_outputs = first, n_outputs
        rows.first = first


@cython.binding(False)  # a method then checks the type of self
cdef class Average:
    """The arrays of a clock's past: ``shifts``, and two prefix sums with one entry more."""

    # __cinit__ runs exactly once; __init__ can be skipped or called again.
    def __cinit__(self, shifts, scale_sums, shift_sums, fields):
        self.shifts = shifts
        self.scale_sums = scale_sums
        self.shift_sums = shift_sums
        self.fields = fields
        if shifts is None or scale_sums is None or shift_sums is None or fields is None:
            raise TypeError("shifts, scale_sums, shift_sums and fields must be arrays")
        room = self.shifts.shape[0]
        if room < 1:
            raise ValueError("shifts must hold at least one entry")
        check_vector("shifts", self.shifts, room)
        check_vector("scale_sums", self.scale_sums, room + 1)
        check_vector("shift_sums", self.shift_sums, room + 1)
        check_vector("fields", self.fields, N_AVERAGE_FIELDS)
        self.pins = pinned((shifts, scale_sums, shift_sums, fields))
        self.past()

    cdef Past past(self) except *:
        # Checked at every use, because callers may write to the fields in between.
        cdef Past past
        cdef double counted = self.fields[COUNTED]
        past.shifts = &self.shifts[0]
        past.scale_sums, past.shift_sums = &self.scale_sums[0], &self.shift_sums[0]
        past.room = self.shifts.shape[0]
        if not 0 <= counted <= past.room:
            raise ValueError(
                f"fields: the iterates that counted must lie between 0 and {past.room}, "
                f"got {counted}"
            )
        past.n = <Py_ssize_t> counted
        return past

    def begin(self):
        """Forget the past of the clock, which begins now; totals are kept."""
        self.fields[COUNTED] = self.fields[SCALE_SUM_LOW] = self.fields[SHIFT_SUM_LOW] = 0.0
        self.scale_sums[0] = self.shift_sums[0] = 0.0

    def sums(self, const double[:, ::1] cells not None, double[::1] out not None):
        """out <- sum_i omega_i w_i of every weight; changes nothing else."""
        cdef Py_ssize_t j
        cdef Past past = self.past()
        check_cells(cells, cells.shape[0], 2)
        check_vector("out", out, cells.shape[0])
        with nogil:
            for j in range(cells.shape[0]):
                out[j] = sum_of(&past, cells[j, 0], cells[j, 1])


cdef int check_counts(const double[::1] counts, Py_ssize_t n_steps) except -1:
    if counts is None or counts.shape[0] != n_steps:
        raise ValueError("counts: steps must say what each of them counts in the average")
    return 0
