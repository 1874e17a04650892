"""Bursts of SGD with truncation by how often a weight was informed, and the purge after a stage.

Computes Algorithms 1 to 3 of Ma & Zheng (2017) as lazynet.reference.stabilised reconstructs them.
A burst is K steps of SGD during which k_j counts the nonzero gradients of a weight; after it

    informative  w_j <- soft(w_j, g k_j)     a weight that was never informed keeps its value
    universal    w_j <- soft(w_j, g K)       all weights: a shift that grows, as on the clock

A cell is {z_j, k_j} with w_j = soft(z_j, shift), k_j = -1 once the feature is purged, and shift 0
unless gravity is universal.  A burst lists the features that it informs, and only these are visited
after it, so that a burst costs O(K nonzeros).

Property: equal to lazynet.reference.stabilised.DenseStabilised after every stage, and after every
step within one (tests/exact/test_stabilised.py).
"""

from libc.math cimport copysign, fabs, isfinite
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t

from .arrays cimport check_aligned, check_cells, check_vector
from .examples cimport Examples, check_runnable, walk_rows
from .losses cimport slope_of
from .row_loops cimport RowLoops
from .rows cimport (
    FINISHED, OVERFLOWED, OwnRow, Walk, end_walk, row_of_step, prefetch, read_once,
    soft,
)

cpdef enum:  # the fields
    INTERCEPT = 0
    SHIFT = 1
    INFORMED = 2     # features that the present burst has informed
    N_FIELDS = 3

# How many features ahead a cell is prefetched.
cdef enum:
    FEATURES_AHEAD = 16


cdef inline Py_ssize_t inform(
    const OwnRow* row, double* cells, double shift, double move, int64_t* informed, Py_ssize_t n,
    Py_ssize_t most,
) noexcept nogil:
    """w_j <- w_j - move x_j and k_j <- k_j + 1 on the features of the row that are not purged.

    The features with k_j = 0 are appended to the n that ``informed`` holds, which has room for
    ``most`` and one more; returns how many there are now.  Nothing branches on what a cell holds.
    """
    cdef Py_ssize_t k
    cdef double* cell
    cdef double z, w, count
    cdef bint counts
    for k in range(row.length):
        cell = cells + 2 * <Py_ssize_t> row.columns[k]
        z, count = cell[0], cell[1]
        counts = (count >= 0.0) & (row.values[k] != 0.0)
        w = soft(z, shift) - move * row.values[k]
        informed[n] = row.columns[k]
        n += counts & (count == 0.0) & (n < most)
        cell[0] = w + copysign(shift, w) if counts else z
        cell[1] = count + <double> counts
    return n


def run(
    Examples examples,
    const int64_t[::1] order not None,   # the rows to visit
    const double[::1] rates not None,    # eta of each step
    int loss,
    double epsilon,
    double[:, ::1] cells not None,       # IN/OUT: {z, k} of every feature
    double[::1] fields not None,         # IN/OUT: the fields that are named above
    int64_t[::1] informed not None,      # IN/OUT: the informed features; room for one more than all
    Py_ssize_t first,
):
    """Take the steps from ``first`` on; returns how the call ended and the first step not taken."""
    cdef const RowLoops* loops = examples.row_loops
    cdef Py_ssize_t n_steps = order.shape[0], step = first, d = cells.shape[0], n
    cdef int status = FINISHED
    cdef Walk at
    cdef const OwnRow* row
    cdef double prediction, slope, move, shift
    check_runnable(examples, loss)
    check_cells(cells, examples.csr.n_columns, 2)
    check_vector("fields", fields, N_FIELDS)
    check_vector("rates", rates, n_steps)
    if informed.shape[0] != d + 1 or not 0 <= fields[INFORMED] <= d:
        raise ValueError(f"informed must have {d + 1} entries and hold at most {d} features")
    if not 0 <= first < n_steps:
        return status, n_steps
    check_aligned("order", &order[0])
    check_aligned("informed", &informed[0])
    cdef double* cell = &cells[0, 0] if d else NULL
    shift, n = fields[SHIFT], <Py_ssize_t> fields[INFORMED]
    with nogil:
        walk_rows(&at, examples, &order[0], n_steps, step)
        while step < n_steps:
            row = row_of_step(&at, cell, 2)
            status = row.status
            if status != FINISHED:
                break
            prediction = loops.dot_of_pairs(row, cell, shift) + fields[INTERCEPT]
            slope = slope_of(
                loss, epsilon, examples.targets, examples.importances, row.number, prediction
            )
            move = rates[step] * slope
            if not (isfinite(prediction) and isfinite(move)):
                status = OVERFLOWED
                break
            if slope != 0.0:
                n = inform(row, cell, shift, move, &informed[0], n, d)
                fields[INTERCEPT] -= move
            step += 1
        end_walk(&at)
    fields[INFORMED] = n
    return status, step


cdef inline Py_ssize_t feature_at(
    const int64_t[::1] features, Py_ssize_t i, Py_ssize_t n_features
) except -1 nogil:
    """The feature at a place of the list; raises where there is none with such a number."""
    cdef int64_t j = read_once(&features[i])
    if not 0 <= j < n_features:
        with gil:
            raise ValueError(f"features must lie below {n_features}, and not below 0")
    return <Py_ssize_t> j


cdef inline Py_ssize_t later_feature(
    const int64_t[::1] features, Py_ssize_t i, Py_ssize_t n_features
) noexcept nogil:
    """A feature of the list whose numbers are needed soon; 0 where it is none."""
    cdef int64_t j = read_once(&features[min(i + FEATURES_AHEAD, features.shape[0] - 1)])
    return <Py_ssize_t> j if 0 <= j < n_features else 0


cdef inline double* cell_at(
    const int64_t[::1] features, Py_ssize_t i, double* cells, Py_ssize_t n_features
) except NULL nogil:
    """The cell of a listed feature; a later one is prefetched."""
    cdef Py_ssize_t j = feature_at(features, i, n_features)
    prefetch(cells + 2 * later_feature(features, i, n_features))
    return cells + 2 * j


cdef int check_features(
    const int64_t[::1] features, const double[:, ::1] cells, const double[::1] ratios
) except -1:
    check_cells(cells, cells.shape[0], 2)
    check_vector("ratios", ratios, features.shape[0])
    return check_aligned("features", &features[0] if features.shape[0] else NULL)


def find_ratios(
    const int64_t[::1] features not None,   # those that the burst has informed
    double[:, ::1] cells not None,
    double shift,
    double size,                            # K if gravity is universal, else 0
    double[::1] ratios not None,            # OUT
):
    """ratios <- |w_j| / K, or |w_j| / k_j where gravity is informative."""
    cdef Py_ssize_t i, d = cells.shape[0]
    cdef double* cell
    check_features(features, cells, ratios)
    with nogil:
        for i in range(features.shape[0]):
            cell = cell_at(features, i, &cells[0, 0] if d else NULL, d)
            ratios[i] = fabs(soft(cell[0], shift)) / (size if size > 0.0 else cell[1])


def truncate(
    const int64_t[::1] features not None,   # those that the burst has informed
    double[:, ::1] cells not None,          # IN/OUT
    const double[::1] ratios not None,      # of these features, before
    double gravity,
    double tie,                             # a weight vanishes if its ratio is at most this
    bint universal,
):
    """Truncate the informed weights, and set their counts to 0.

    Universal gravity moves all weights by the shift: only weights that vanish are set here.
    """
    cdef Py_ssize_t i, d = cells.shape[0]
    cdef double* cell
    check_features(features, cells, ratios)
    with nogil:
        for i in range(features.shape[0]):
            cell = cell_at(features, i, &cells[0, 0] if d else NULL, d)
            # The ratio is compared, so that the weight whose ratio is the gravity vanishes.
            if ratios[i] <= tie:
                cell[0] = 0.0
            elif not universal:
                cell[0] = soft(cell[0], gravity * cell[1])
            cell[1] = 0.0


def read(
    const double[:, ::1] cells not None,
    double shift,
    double tie,                             # uninformed weights of at most this size are zero
    double[::1] weights not None,           # OUT
):
    """weights <- the current weights."""
    cdef Py_ssize_t j
    cdef double w
    check_cells(cells, cells.shape[0], 2)
    check_vector("weights", weights, cells.shape[0])
    with nogil:
        for j in range(cells.shape[0]):
            w = soft(cells[j, 0], shift)
            weights[j] = 0.0 if cells[j, 1] == 0.0 and fabs(w) <= tie else w


def judge(
    const int64_t[::1] features not None,   # informed features of all bursts of a stage
    const uint8_t[::1] vanished not None,   # whether the weight then vanished
    double threshold,                       # pi0
    int32_t[:, ::1] counts not None,        # {U, V} of every feature: 0 before and after the call
    double[::1] frequency not None,         # OUT: pi of the judged features
    int64_t[::1] purged not None,           # OUT: the features to purge, at the front
):
    """Judge the features of a stage (Eq. 7 to 10); returns the number of features to purge.

    U_j counts the bursts that informed feature j, V_j those after which the weight had vanished.
    """
    cdef Py_ssize_t i, j, later, n = features.shape[0], d = counts.shape[0], n_purged = 0
    check_vector("frequency", frequency, d)
    if counts.shape[1] != 2 or vanished.shape[0] != n or purged.shape[0] != n or n > INT32_MAX:
        raise ValueError(f"counts must have two columns, vanished and purged {n} entries")
    check_aligned("counts", &counts[0, 0] if d else NULL, 4)
    check_aligned("features", &features[0] if n else NULL)
    check_aligned("purged", &purged[0] if n else NULL)
    with nogil:
        for i in range(n):
            j = feature_at(features, i, d)
            later = later_feature(features, i, d)
            prefetch(&counts[later, 0])
            prefetch(&frequency[later])
            counts[j, 0] += 1
            counts[j, 1] += vanished[i] != 0
        for i in range(n):
            j = feature_at(features, i, d)
            if counts[j, 0] == 0:  # judged by another of its bursts
                continue
            frequency[j] = 1.0 - <double> counts[j, 1] / <double> counts[j, 0]
            counts[j, 0] = counts[j, 1] = 0
            if frequency[j] < threshold:
                purged[n_purged] = j
                n_purged += 1
    return n_purged
