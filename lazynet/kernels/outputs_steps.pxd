# What the steps of several outputs have in common: the visit of a row, and the slopes.
#
# Two functions of predictions and targets give the slopes: a loss of each output by itself, or the
# softmax of all outputs.  The slopes of the logistic loss and of the softmax are computed several
# at once (elementary.h).
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from .examples cimport (
    FINISHED,
    OUT_OF_MEMORY,
    Examples,
    Status,
    Task,
    Visit,
    begin_visits,
    end_visits,
    importance_of,
    visit,
)
from .losses cimport LOG_LOSS, loss_slope, loss_value
from .outputs cimport Block, Targets, fetch_targets, fill_targets
from .rows cimport Room, Row, fetch_row, make_room
from .wide cimport GROUP_L2, MOST_NUMBERS, WideRow


# A row of X in the form that the loops read, and its memory.
cdef struct Unpacked:
    WideRow row
    Room values
    Room features
    Room shares


# The rows that one step of several outputs uses.
cdef struct WideVisit:
    Visit rows                  # as X has them
    const WideRow* now          # the step's own row, as the loops read it ...
    const WideRow* following    # ... and the row that follows (Visit)
    Unpacked unpacked[2]        # the two, by turns


cdef inline void begin_wide_visits(WideVisit* at) noexcept nogil:
    begin_visits(&at.rows)
    memset(at.unpacked, 0, 2 * sizeof(Unpacked))


cdef inline void end_wide_visits(WideVisit* at) noexcept nogil:
    end_visits(&at.rows)
    for turn in range(2):
        free(at.unpacked[turn].values.bytes)
        free(at.unpacked[turn].features.bytes)
        free(at.unpacked[turn].shares.bytes)


cdef inline bint unpack_row(
    Unpacked* to, const Row* row, Examples examples, Block block
) noexcept nogil:
    """Whether there was memory for the row."""
    if not make_room(&to.values, (row.length + 1) * sizeof(double)):
        return False
    if not make_room(&to.features, 2 * (row.length + 1) * sizeof(Py_ssize_t)):
        return False
    if block.code == GROUP_L2 and not make_room(&to.shares, (row.length + 1) * sizeof(double)):
        return False
    cdef Py_ssize_t* features = <Py_ssize_t*> to.features.bytes
    block.output_ops.unpack(
        row, examples.csr.wide_values, block.wide, block.weights.stride, to.values.bytes,
        features, features + row.length,
    )
    to.row.values = to.values.bytes
    to.row.features, to.row.places = features, features + row.length
    to.row.shares = <double*> to.shares.bytes
    to.row.length = row.length
    return True


cdef inline Status visit_wide(
    WideVisit* at, Examples examples, Targets targets, Block block, const int64_t* order,
    Py_ssize_t n_steps, Py_ssize_t step
) noexcept nogil:
    """Load the rows of ``step``, the step after the last visit's; returns FINISHED or an error.

    What will soon be visited is fetched.
    """
    # The next row is unpacked with each row, unless it could not be loaded then.
    cdef bint unpacked = at.rows.loaded
    cdef Status status = visit(&at.rows, examples, order, n_steps, step)
    if status != FINISHED:
        return status
    cdef Unpacked* now = &at.unpacked[at.rows.turn]
    cdef Unpacked* following = &at.unpacked[1 - at.rows.turn]
    if not unpacked and not unpack_row(now, &at.rows.now, examples, block):
        return OUT_OF_MEMORY
    if not unpack_row(following, &at.rows.following, examples, block):
        return OUT_OF_MEMORY
    at.now, at.following = &now.row, &following.row
    fetch_row(&examples.csr, at.rows.ahead)
    fetch_targets(targets, &at.rows)
    return FINISHED


# Numbers of each output during a run, of the width of the block.
cdef struct Scratch:
    double* predictions
    double* targets
    double* slopes
    double* moves
    double* losses
    double* scales
    double* keep
    double* keep_low
    double* numbers   # MOST_NUMBERS rows


cdef inline bint make_scratch(Scratch* scratch, Py_ssize_t width) noexcept nogil:
    """Whether there was memory for the numbers of ``width`` outputs."""
    cdef double* memory = <double*> calloc((8 + MOST_NUMBERS) * width, sizeof(double))
    scratch.predictions = memory
    if memory == NULL:
        return False
    scratch.targets = memory + width
    scratch.slopes = memory + 2 * width
    scratch.moves = memory + 3 * width
    scratch.losses = memory + 4 * width
    scratch.scales = memory + 5 * width
    scratch.keep, scratch.keep_low = memory + 6 * width, memory + 7 * width
    scratch.numbers = memory + 8 * width
    return True


cdef inline void free_scratch(Scratch* scratch) noexcept nogil:
    free(scratch.predictions)


cdef inline double find_slopes(
    Scratch* scratch, Block block, Examples examples, Targets targets, Task task, bint softmax,
    Py_ssize_t row, double* touched
) noexcept nogil:
    """targets <- those of a row; slopes and losses <- what they and the predictions make.

    Slopes and losses are multiplied by the importance of the row, which is returned.  The entries
    of ``Targets`` that were visited are added to ``touched``.
    """
    cdef Py_ssize_t k, n = targets.n_outputs
    cdef Py_ssize_t label = fill_targets(targets, row, scratch.targets, touched)
    cdef double importance = importance_of(examples, row), p, y
    for k in range(n):
        scratch.losses[k] = 0.0
    if softmax:
        scratch.losses[max(label, 0)] = block.output_ops.softmax_slopes(
            scratch.predictions, label, n, importance, scratch.slopes
        )
    elif task.loss == LOG_LOSS:
        block.output_ops.log_slopes(
            scratch.predictions, scratch.targets, n, importance, scratch.slopes, scratch.losses
        )
    else:
        for k in range(n):
            p, y = scratch.predictions[k], scratch.targets[k]
            scratch.slopes[k] = loss_slope(task.loss, p, y, task.epsilon) * importance
            scratch.losses[k] = loss_value(task.loss, p, y, task.epsilon) * importance
    return importance


cdef inline bint any_nonzero(const double* numbers, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        if numbers[k] != 0.0:
            return True
    return False
