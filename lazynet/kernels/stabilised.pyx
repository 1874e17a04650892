"""Bursts of SGD with truncation by how often a weight was informed, and the purge after a stage.

Computes Algorithms 1 to 3 of Ma & Zheng (2017) as lazynet.reference.stabilised reconstructs them.
A burst is K steps of SGD during which k_j counts the nonzero gradients of a weight; after it

    informative  w_j <- soft(w_j, g k_j)     a weight that was never informed keeps its value
    universal    w_j <- soft(w_j, g K)       all weights: a shift that grows, as on the clock

A cell is {z_j, k_j} with w_j = soft(z_j, shift), k_j = -1 once the feature is purged, and shift 0
unless gravity is universal.  After a burst only the weights that it informed are visited, so that
a burst costs O(K nonzeros).  For each of them a record keeps the feature, the ratio |w_j| / k_j
(or / K) before the truncation, and whether the weight vanished.  From the records of all paths of
a stage come the next gravity and the purge.

Property: equal to lazynet.reference.stabilised.DenseStabilised after every stage, and after every
step within one (tests/exact/test_stabilised.py).
"""

cimport cython

from libc.math cimport fabs, isfinite
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t

from .examples cimport (
    FINISHED,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    WORN_OUT,
    Examples,
    check_aligned,
    check_cells,
    check_runnable,
    check_vector,
    pinned,
    slope_of,
    walk_rows,
)
from .own_rows cimport OwnRow, RowLoops, Walk, end_walk, next_row
from .rows cimport prefetch, read_once, soft

# More ways in which a call can end.
cdef enum:
    NO_ROOM = 100       # the records must be made longer before the next step
    UNTRUNCATED = 101   # a burst is over and its gravity is still to be found

STATUS_NO_ROOM = NO_ROOM
STATUS_UNTRUNCATED = UNTRUNCATED

cdef enum:
    INTERCEPT = 0
    SHIFT = 1
    PULL = 2     # the universal gravity of the last burst, times K; 0 after a sweep
    N_FIELDS = 3

STABILISED_FIELDS = N_FIELDS
INTERCEPT_FIELD = INTERCEPT
SHIFT_FIELD = SHIFT

# How many records ahead the cell of a record's feature is prefetched.
cdef enum:
    RECORDS_AHEAD = 16

# The largest shift, in pulls of one burst.  Past this shift, weights as small as the pull of a burst
# lose too many digits, and the bursts have paid for a sweep.
cdef enum:
    LARGEST_SHIFT = 1024

# A ratio that exceeds gravity by at most this share ties with gravity, and the weight vanishes.
# Rounding makes equal ratios differ, and a shift of up to LARGEST_SHIFT = 2^10 bursts takes ten of
# the 53 bits of a weight.
cdef double TIE = 2.0 ** -30


@cython.binding(False)  # a method then checks the type of self
cdef class Records:
    """The records of a stage, one for each weight that a burst informed; the arrays can grow."""

    cdef readonly object features, ratios, vanished
    cdef object pins                 # keeps the arrays in place
    cdef int64_t[::1] feature
    cdef double[::1] ratio
    cdef uint8_t[::1] gone
    cdef readonly Py_ssize_t n       # records
    cdef readonly Py_ssize_t began   # the first record of the present burst
    cdef bint busy                   # whether a kernel uses the arrays without the GIL

    # __cinit__ runs exactly once; __init__ can be skipped or called again.
    def __cinit__(self, features, ratios, vanished):
        self.take_over(features, ratios, vanished)

    cdef void take_over(self, features, ratios, vanished) except *:
        cdef int64_t[::1] feature = features
        cdef double[::1] ratio = ratios
        cdef uint8_t[::1] gone = vanished
        cdef Py_ssize_t room
        if feature is None or ratio is None or gone is None:
            raise TypeError("features, ratios and vanished must be arrays")
        room = feature.shape[0]
        if room != ratio.shape[0] or room != gone.shape[0] or room < self.n:
            raise ValueError(
                f"features, ratios and vanished must be equally long and hold {self.n} records, "
                f"got {room}, {ratio.shape[0]} and {gone.shape[0]}"
            )
        if room:
            check_aligned("features", &feature[0])
            check_aligned("ratios", &ratio[0])
        if self.n:
            feature[:self.n] = self.feature[:self.n]
            ratio[:self.n] = self.ratio[:self.n]
            gone[:self.n] = self.gone[:self.n]
        self.feature, self.ratio, self.gone = feature, ratio, gone
        self.features, self.ratios, self.vanished = features, ratios, vanished
        self.pins = pinned((features, ratios, vanished))

    cdef int refuse_if_busy(self) except -1:
        if self.busy:
            raise RuntimeError("records are in use by another thread")
        return 0

    def clear(self):
        """Drop all records, for a new stage."""
        self.refuse_if_busy()
        self.n = self.began = 0

    def extend(self, features, ratios, vanished):
        """Copy the records to longer arrays and go on there."""
        self.refuse_if_busy()
        self.take_over(features, ratios, vanished)


cdef int check_state(const double[:, ::1] cells, const double[::1] fields) except -1:
    check_cells(cells, cells.shape[0], 2)
    return check_vector("fields", fields, N_FIELDS)


cdef int check_records(Records records, Py_ssize_t first, Py_ssize_t n_features) except -1:
    """Raise if one of the records from ``first`` on names a feature that does not exist."""
    cdef Py_ssize_t i
    cdef bint sound = True
    records.refuse_if_busy()
    records.busy = True
    with nogil:
        for i in range(first, records.n):
            sound = sound and 0 <= records.feature[i] < n_features
    records.busy = False
    if not sound:
        raise ValueError(f"records must name features below {n_features}")
    return 0


cdef inline int64_t feature_of(Records records, Py_ssize_t i, Py_ssize_t n_features) noexcept nogil:
    """The feature of record ``i``, or 0 if another thread has made it invalid since the check."""
    cdef int64_t j = read_once(&records.feature[i])
    return j if 0 <= j < n_features else 0


cdef inline double current(const double* cell, const double* fields) noexcept nogil:
    """The current weight of a cell; a weight that the last burst left at a tie is zero."""
    cdef double w = soft(cell[0], fields[SHIFT])
    return 0.0 if cell[1] == 0.0 and fabs(w) <= TIE * fields[PULL] else w


cdef void truncate_records(
    Records records, double[:, ::1] cells, double[::1] fields, double gravity, double size,
    bint universal,
) noexcept nogil:
    cdef double shift = fields[SHIFT], pull = gravity * size if universal else 0.0, w, count
    cdef Py_ssize_t i, d = cells.shape[0]
    cdef double* cell
    for i in range(records.began, records.n if d else 0):
        if i + RECORDS_AHEAD < records.n:
            prefetch(&cells[feature_of(records, i + RECORDS_AHEAD, d), 0])
        cell = &cells[feature_of(records, i, d), 0]
        w = soft(cell[0], shift)
        count = cell[1]
        records.ratio[i] = fabs(w) / (size if universal else count)
        # The ratio is compared, so that the weight whose ratio is the gravity vanishes for certain.
        if records.ratio[i] <= gravity * (1.0 + TIE):
            cell[0] = w = 0.0
        elif universal:
            w = soft(cell[0], shift + pull)
        else:
            cell[0] = w = soft(w, gravity * count)
        records.gone[i] = w == 0.0
        cell[1] = 0.0
    if universal:
        fields[SHIFT], fields[PULL] = shift + pull, pull
    records.began = records.n


def truncate(
    Records records,
    double[:, ::1] cells not None,
    double[::1] fields not None,
    double gravity,
    double size,
    bint universal,
):
    """End the present burst, of ``size`` steps, with this gravity."""
    check_state(cells, fields)
    check_records(records, records.began, cells.shape[0])
    records.busy = True
    with nogil:
        truncate_records(records, cells, fields, gravity, size, universal)
    records.busy = False


def ratios(
    Records records,
    const double[:, ::1] cells not None,
    const double[::1] fields not None,
    double size,
    bint universal,
    double[::1] out not None,
):
    """out <- the ratios of the present burst, before its truncation."""
    cdef Py_ssize_t i, n = records.n - records.began
    cdef const double* cell
    check_state(cells, fields)
    check_records(records, records.began, cells.shape[0])
    check_vector("out", out, n)
    for i in range(n):
        cell = &cells[feature_of(records, records.began + i, cells.shape[0]), 0]
        out[i] = fabs(soft(cell[0], fields[SHIFT])) / (size if universal else cell[1])


def run(
    Examples examples,
    const int64_t[::1] order not None,   # the rows to visit
    const double[::1] rates not None,    # eta of each step
    int loss,
    double epsilon,
    bint fit_intercept,
    Py_ssize_t size,            # K, the number of steps in a burst
    double gravity,             # negative while it is not known yet
    bint universal,
    double[:, ::1] cells not None,       # IN/OUT: {z, k} of every feature
    double[::1] fields not None,         # IN/OUT: intercept and shift
    Records records,            # IN/OUT
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef const RowLoops* loops = examples.row_loops
    cdef Py_ssize_t n_steps = order.shape[0], step = first, touched = 0, room
    cdef int status = FINISHED
    cdef Walk at
    cdef const OwnRow* row
    cdef double prediction, slope, move, shift
    check_runnable(examples, loss)
    check_state(cells, fields)
    check_records(records, records.began, cells.shape[0])
    check_cells(cells, examples.csr.n_columns, 2)
    check_vector("rates", rates, n_steps)
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    if not 0 <= first < n_steps:
        return status, n_steps
    check_aligned("order", &order[0])
    cdef double* cell = &cells[0, 0] if examples.csr.n_columns else NULL
    room = records.feature.shape[0]
    cdef int64_t* feature = &records.feature[0] if room else NULL
    records.busy = True
    with nogil:
        walk_rows(&at, examples, &order[0], n_steps, step)
        while step < n_steps:
            row = next_row(&at, cell, 2)
            status = row.status
            if status != FINISHED:
                break
            if room - records.n < row.length:
                status = NO_ROOM
                break
            shift = fields[SHIFT]
            prediction = loops.dot_of_pairs(row, cell, shift) + fields[INTERCEPT]
            slope = slope_of(examples, loss, epsilon, row.number, prediction)
            move = rates[step] * slope
            if not (isfinite(prediction) and isfinite(move)):
                status = OVERFLOWED
                break
            if slope != 0.0:
                records.n = inform(row, cell, shift, move, feature, records.n)
                if fit_intercept:
                    fields[INTERCEPT] -= move
            touched += row.length
            step += 1
            if step % size == 0:
                if gravity < 0.0:
                    status = UNTRUNCATED
                    break
                truncate_records(records, cells, fields, gravity, size, universal)
                if fields[SHIFT] > LARGEST_SHIFT * gravity * size > 0.0:
                    status = WORN_OUT
                    break
            if touched > PATIENCE:
                status = PAUSED
                break
        end_walk(&at)
    records.busy = False
    return status, step


def read(
    const double[:, ::1] cells not None,
    const double[::1] fields not None,
    double[::1] weights not None,
):
    """weights <- the current weights."""
    cdef Py_ssize_t j
    check_state(cells, fields)
    check_vector("weights", weights, cells.shape[0])
    with nogil:
        for j in range(cells.shape[0]):
            weights[j] = current(&cells[j, 0], &fields[0])


def sweep(double[:, ::1] cells not None, double[::1] fields not None):
    """z <- w, shift <- 0; the weights stay the same."""
    cdef Py_ssize_t j
    check_state(cells, fields)
    with nogil:
        for j in range(cells.shape[0]):
            cells[j, 0] = current(&cells[j, 0], &fields[0])
    fields[SHIFT] = fields[PULL] = 0.0


cdef int check_tally(Records records, int32_t[:, ::1] counts) except -1:
    if counts.shape[1] != 2:
        raise ValueError(f"counts must have two numbers per feature, got {counts.shape[1]}")
    if counts.shape[0]:
        check_aligned("counts", &counts[0, 0], 4)
    return check_records(records, 0, counts.shape[0])


cdef inline void count(int32_t* counter, bint once) noexcept nogil:
    """Add 1 to the counter if ``once``, up to the largest int32."""
    if once and counter[0] < INT32_MAX:
        counter[0] += 1


def tally(Records records, int32_t[:, ::1] counts not None):
    """Add the records of a path to the counts {U_j, V_j} of every feature (Eq. 7 and 8).

    U_j counts the bursts that informed feature j, V_j the bursts among them after which the weight
    had vanished.
    """
    cdef Py_ssize_t i, d = counts.shape[0]
    cdef int64_t j
    check_tally(records, counts)
    records.busy = True
    with nogil:
        for i in range(records.n):
            if i + RECORDS_AHEAD < records.n:
                prefetch(&counts[feature_of(records, i + RECORDS_AHEAD, d), 0])
            j = feature_of(records, i, d)
            count(&counts[j, 0], True)
            count(&counts[j, 1], records.gone[i] != 0)
    records.busy = False


def judge(
    Records records,
    int32_t least,              # nu: bursts that inform a feature before it is judged
    double threshold,           # pi0
    int32_t[:, ::1] counts not None,     # IN/OUT: {U, V}
    double[::1] frequency not None,      # OUT: pi of the judged features
    int64_t[::1] purged not None,        # OUT: the features to purge, at the front
):
    """Judge the features on record (Eq. 9, 10 and 16); returns the number of features to purge.

    The counts of a judged feature begin again at 0, so that the records of another path do not
    judge it twice.
    """
    cdef Py_ssize_t i, n = 0, d = counts.shape[0]
    cdef int64_t j
    cdef double survived
    check_tally(records, counts)
    check_vector("frequency", frequency, d)
    if purged.shape[0] < records.n:
        raise ValueError(f"purged must have room for {records.n} features")
    if purged.shape[0]:
        check_aligned("purged", &purged[0])
    records.busy = True
    with nogil:
        for i in range(records.n):
            if i + RECORDS_AHEAD < records.n:
                prefetch(&counts[feature_of(records, i + RECORDS_AHEAD, d), 0])
                prefetch(&frequency[feature_of(records, i + RECORDS_AHEAD, d)])
            j = feature_of(records, i, d)
            if counts[j, 0] < least or counts[j, 0] < 1:
                continue
            survived = 1.0 - <double> counts[j, 1] / <double> counts[j, 0]
            counts[j, 0] = counts[j, 1] = 0
            frequency[j] = survived
            if survived < threshold:
                purged[n] = j
                n += 1
    records.busy = False
    return n


def purge(const int64_t[::1] features not None, double[:, ::1] cells not None):
    """Set the weights of these features to zero for good."""
    cdef Py_ssize_t i
    cdef int64_t j
    check_cells(cells, cells.shape[0], 2)
    if features.shape[0]:
        check_aligned("features", &features[0])
    for i in range(features.shape[0]):
        if not 0 <= features[i] < cells.shape[0]:
            raise ValueError(f"features must lie below {cells.shape[0]}, and not below 0")
    with nogil:
        for i in range(features.shape[0]):
            j = read_once(&features[i])
            if 0 <= j < cells.shape[0]:
                cells[j, 0] = 0.0
                cells[j, 1] = -1.0
