"""Bursts of SGD with truncation by how often a weight was informed, and the purge after a stage.

Computes Algorithms 1 to 3 of Ma & Zheng (2017) as lazynet.reference.stabilised reconstructs them.
A burst is K steps of SGD during which k_j counts the nonzero gradients of a weight; after it

    informative  w_j <- soft(w_j, g k_j)     a weight that was never informed keeps its value
    universal    w_j <- soft(w_j, g K)       all weights: a shift that grows, as on the clock

A cell is {z_j, k_j} with w_j = soft(z_j, shift), k_j = -1 once the feature is purged, and shift 0
unless gravity is universal.  Only what a burst has informed is visited after it, so that a burst costs
O(K nonzeros).  What it informed is recorded: the feature, the ratio |w_j| / k_j (or / K) before the
truncation, and whether the weight vanished.  From the records of all paths of a stage come the next
gravity and the purge.

Property: equal to lazynet.reference.stabilised.StabilisedReference after every stage, and after every
step within one (tests/test_stabilised.py).
"""

from libc.math cimport fabs, isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t

from .examples cimport (
    BAD_ROW,
    FINISHED,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    WORN_OUT,
    Examples,
    Visit,
    check_runnable,
    slope_of,
    visit,
)
from .rows cimport Csr, RowOps, prefetch, soft

# How else a call can end.
cdef enum:
    NO_ROOM = 100       # the records must be made longer before the next step
    UNTRUNCATED = 101   # a burst is over and its gravity is still to be found

STATUS_NO_ROOM = NO_ROOM
STATUS_UNTRUNCATED = UNTRUNCATED

cdef enum:
    INTERCEPT = 0
    SHIFT = 1
    N_FIELDS = 2

BURST_FIELDS = N_FIELDS
INTERCEPT_FIELD = INTERCEPT
SHIFT_FIELD = SHIFT

# What belongs to the feature of a record is fetched so many records before it is needed.
cdef enum:
    RECORDS_AHEAD = 16

# The shift of so many bursts that pull alike costs weights of the size that they pull at too many
# digits: time for a sweep, which is paid for by them.
cdef enum:
    LARGEST_SHIFT = 1024


cdef class Records:
    """What the bursts of a stage have informed, one record after the other; may be made longer."""

    cdef readonly object features, ratios, vanished
    cdef int64_t[::1] feature
    cdef double[::1] ratio
    cdef uint8_t[::1] gone
    cdef readonly Py_ssize_t n       # records
    cdef readonly Py_ssize_t began   # the first of the burst at hand

    def __init__(self, features, ratios, vanished):
        if not len(features) == len(ratios) == len(vanished):
            raise ValueError("the arrays of records must be equally long")
        self.take_over(features, ratios, vanished)

    cdef void take_over(self, features, ratios, vanished) except *:
        self.feature, self.ratio, self.gone = features, ratios, vanished
        self.features, self.ratios, self.vanished = features, ratios, vanished

    def clear(self):
        """Begin a new stage."""
        self.n = self.began = 0

    def extend(self, features, ratios, vanished):
        """Go on in longer arrays, with the same records."""
        cdef Py_ssize_t n = self.n
        if not len(features) == len(ratios) == len(vanished) >= n:
            raise ValueError(f"the arrays of records must be equally long and hold {n}")
        features[:n], ratios[:n], vanished[:n] = (
            self.features[:n], self.ratios[:n], self.vanished[:n]
        )
        self.take_over(features, ratios, vanished)


cdef void check_state(Records records, double[:, ::1] cells, double[::1] fields) except *:
    cdef Py_ssize_t i
    if cells.shape[1] != 2:
        raise ValueError("cells must have two numbers per feature")
    if fields.shape[0] != N_FIELDS:
        raise ValueError(f"fields must have {N_FIELDS} entries, got {fields.shape[0]}")
    for i in range(records.began, records.n):
        if not 0 <= records.feature[i] < cells.shape[0]:
            raise ValueError(f"records must name features below {cells.shape[0]}")


cdef void truncate_records(
    Records records, double[:, ::1] cells, double[::1] fields, double gravity, double size,
    bint universal,
) noexcept nogil:
    cdef double shift = fields[SHIFT], shift_after = shift, w, count
    cdef Py_ssize_t i
    cdef double* cell
    if universal:
        shift_after = shift + gravity * size
    for i in range(records.began, records.n):
        if i + RECORDS_AHEAD < records.n:
            prefetch(&cells[records.feature[i + RECORDS_AHEAD], 0])
        cell = &cells[records.feature[i], 0]
        w = soft(cell[0], shift)
        count = cell[1]
        records.ratio[i] = fabs(w) / (size if universal else count)
        # Asked of the ratio, so that the one that gravity was taken from vanishes for certain.
        if records.ratio[i] <= gravity:
            cell[0] = w = 0.0
        elif universal:
            w = soft(cell[0], shift_after)
        else:
            cell[0] = w = soft(w, gravity * count)
        records.gone[i] = w == 0.0
        cell[1] = 0.0
    fields[SHIFT] = shift_after
    records.began = records.n


def truncate(
    Records records,
    double[:, ::1] cells,
    double[::1] fields,
    double gravity,
    double size,
    bint universal,
):
    """End the burst at hand, of ``size`` steps, with this gravity."""
    check_state(records, cells, fields)
    with nogil:
        truncate_records(records, cells, fields, gravity, size, universal)


def ratios(
    Records records,
    const double[:, ::1] cells,
    const double[::1] fields,
    double size,
    bint universal,
    double[::1] out,
):
    """Those of the burst at hand, before it is truncated."""
    cdef Py_ssize_t i, n = records.n - records.began
    cdef int64_t j
    if cells.shape[1] != 2 or fields.shape[0] != N_FIELDS or out.shape[0] != n:
        raise ValueError(f"out must have {n} entries, got {out.shape[0]}")
    for i in range(n):
        j = records.feature[records.began + i]
        if not 0 <= j < cells.shape[0]:
            raise ValueError(f"records must name features below {cells.shape[0]}")
        out[i] = fabs(soft(cells[j, 0], fields[SHIFT])) / (size if universal else cells[j, 1])


def run(
    Examples examples,
    const int64_t[::1] order,   # the rows to visit
    const double[::1] rates,    # eta of each step
    int loss,
    double epsilon,
    bint fit_intercept,
    Py_ssize_t size,            # K: a burst ends after every so many steps
    double gravity,             # negative: not known yet
    bint universal,
    double[:, ::1] cells,       # IN/OUT: {z, k} of every feature
    double[::1] fields,         # IN/OUT: intercept and shift
    Records records,            # IN/OUT
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef Csr* csr = &examples.csr
    cdef const RowOps* ops = examples.ops
    cdef Py_ssize_t n_steps = order.shape[0], step = first, touched = 0, room, length
    cdef int status = FINISHED
    cdef Visit at
    cdef double prediction, slope, move, shift
    check_runnable(examples, loss)
    check_state(records, cells, fields)
    if cells.shape[0] != csr.n_columns:
        raise ValueError(f"cells must have {csr.n_columns} rows of two numbers")
    if rates.shape[0] != n_steps:
        raise ValueError(f"rates must have {n_steps} entries, got {rates.shape[0]}")
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    if not 0 <= first < n_steps:
        return status, n_steps
    cdef double* cell = &cells[0, 0] if csr.n_columns else NULL
    room = records.feature.shape[0]
    cdef int64_t* feature = &records.feature[0] if room else NULL
    with nogil:
        at.checked = -1
        while step < n_steps:
            if not visit(&at, examples, &order[0], n_steps, step):
                status = BAD_ROW
                break
            length = ops.row_length(csr, at.row)
            if room - records.n < length:
                status = NO_ROOM
                break
            shift = fields[SHIFT]
            prediction = ops.pair_dot(csr, at.row, at.following, cell, shift) + fields[INTERCEPT]
            slope = slope_of(examples, loss, epsilon, at.row, prediction)
            move = rates[step] * slope
            if not (isfinite(prediction) and isfinite(move)):
                status = OVERFLOWED
                break
            if slope != 0.0:
                records.n = ops.informed_update(
                    csr, at.row, at.ahead, cell, shift, move, feature, records.n
                )
                if fit_intercept:
                    fields[INTERCEPT] -= move
            touched += length
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
    return status, step


def sweep(double[:, ::1] cells, double[::1] fields):
    """z <- w, shift <- 0: the same weights."""
    cdef Py_ssize_t j
    if cells.shape[1] != 2 or fields.shape[0] != N_FIELDS:
        raise ValueError(f"cells must have two numbers per feature, fields {N_FIELDS} entries")
    with nogil:
        for j in range(cells.shape[0]):
            cells[j, 0] = soft(cells[j, 0], fields[SHIFT])
    fields[SHIFT] = 0.0


cdef void check_counts(Records records, int32_t[:, ::1] counts) except *:
    cdef Py_ssize_t i
    cdef int64_t d = counts.shape[0], j
    cdef bint sound = counts.shape[1] == 2
    with nogil:
        for i in range(records.n):
            j = records.feature[i]
            sound = sound and 0 <= j < d
    if not sound:
        raise ValueError("counts must have two numbers for every feature on record")


def tally(Records records, int32_t[:, ::1] counts):
    """Add the records of a path to {U_j, V_j} of every feature: bursts that informed it, and those
    of them that it did not survive (Eq. 7 and 8)."""
    cdef Py_ssize_t i
    cdef int64_t j
    check_counts(records, counts)
    with nogil:
        for i in range(records.n):
            if i + RECORDS_AHEAD < records.n:
                prefetch(&counts[records.feature[i + RECORDS_AHEAD], 0])
            j = records.feature[i]
            counts[j, 0] += 1
            counts[j, 1] += records.gone[i]


def judge(
    Records records,
    int32_t least,              # nu: with less than this many bursts nothing is decided
    double threshold,           # pi0
    int32_t[:, ::1] counts,     # IN/OUT: {U, V}
    double[::1] frequency,      # OUT: pi of those that are judged
    int64_t[::1] purged,        # OUT: the first of these are purged now
):
    """Eq. 9, 10 and 16 for the features on record; returns how many are to be purged.

    Those that are judged begin to be counted anew, so that another path's records of them change
    nothing.
    """
    cdef Py_ssize_t i, n = 0
    cdef int64_t j
    cdef double survived
    check_counts(records, counts)
    if frequency.shape[0] != counts.shape[0]:
        raise ValueError(f"frequency must have {counts.shape[0]} entries")
    if purged.shape[0] < records.n:
        raise ValueError(f"purged must have room for {records.n} features")
    with nogil:
        for i in range(records.n):
            if i + RECORDS_AHEAD < records.n:
                prefetch(&counts[records.feature[i + RECORDS_AHEAD], 0])
                prefetch(&frequency[records.feature[i + RECORDS_AHEAD]])
            j = records.feature[i]
            if counts[j, 0] < least or counts[j, 0] < 1:
                continue
            survived = 1.0 - <double> counts[j, 1] / <double> counts[j, 0]
            counts[j, 0] = counts[j, 1] = 0
            frequency[j] = survived
            if survived < threshold:
                purged[n] = j
                n += 1
    return n


def purge(const int64_t[::1] features, double[:, ::1] cells):
    """Set these weights to zero for good."""
    cdef Py_ssize_t i
    for i in range(features.shape[0]):
        if not 0 <= features[i] < cells.shape[0]:
            raise ValueError(f"features must lie below {cells.shape[0]}")
    with nogil:
        for i in range(features.shape[0]):
            cells[features[i], 0] = 0.0
            cells[features[i], 1] = -1.0
