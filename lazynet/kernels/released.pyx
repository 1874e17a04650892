"""Bursts of stabilised truncated SGD as its authors' own program computes them.

Computes what lazynet.reference.released describes, which is not the algorithm of stabilised.pyx.
A draw whose row is within the margin is an update; after it, with q the quantile of all |w_j|,

    R_j <- R_j + 1  where |w_j| <= q        after each update, nothing being truncated yet
    w_j <- soft(w_j, q), w <- w / |w|       after the burst

A cell is {w_j, k_j}: k_j > 0 while feature j is listed, 0 while its weight is 0 and it is not
listed, -1 once it is purged.  The list holds all features whose weight is not 0, and only these can
exceed a quantile.  Therefore the *kept* updates are counted, those with |w_j| > q: an update costs
the nonzeros of its row and of the weights, for any number of features.  (R_j is the number of
updates less the number of kept ones.)  Weights are not lazy here: each is current at any moment.

Property: equal to lazynet.reference.released.DenseReleased after every burst
(tests/exact/test_released.py).
"""

cimport cython

from libc.math cimport fabs, isfinite, sqrt
from libc.stdint cimport int64_t, uint8_t

from .examples cimport (
    FINISHED,
    OVERFLOWED,
    PATIENCE,
    PAUSED,
    Examples,
    check_aligned,
    check_cells,
    check_runnable,
    importance_of,
    pinned,
    slope_of,
    walk_rows,
)
from .losses cimport HINGE
from .own_rows cimport OwnRow, RowLoops, Walk, end_walk, next_row
from .rows cimport read_once, soft
from .stabilised cimport inform

# More ways in which a call can end.
cdef enum:
    BURST_OVER = 100    # the burst has all its updates
    NO_ROOM = 101       # the list has no room for the features of the row

STATUS_BURST_OVER = BURST_OVER

# A weight that exceeds a quantile by at most this share of it ties with the quantile, and so does a
# margin with 1: numbers that are equal in exact arithmetic differ by their rounding.
cdef double TIE = 2.0 ** -30


@cython.binding(False)  # a method then checks the type of self
cdef class Listed:
    """The listed features of a path, room for the sizes of their weights, and the kept updates."""

    cdef readonly object features, sizes, kept
    cdef object pins                 # keeps the arrays in place
    cdef int64_t[::1] feature        # the listed features, at the front
    cdef double[::1] size            # scratch
    cdef int64_t[::1] kept_of        # for every feature, the updates that kept it
    cdef readonly Py_ssize_t n       # listed features
    cdef readonly int64_t updates    # updates of the burst at hand
    cdef bint busy                   # whether a kernel uses the arrays without the GIL

    # __cinit__ runs exactly once; __init__ can be skipped or called again.
    def __cinit__(self, features, sizes, kept):
        cdef int64_t[::1] feature = features
        cdef double[::1] size = sizes
        cdef int64_t[::1] kept_of = kept
        if feature is None or size is None or kept_of is None:
            raise TypeError("features, sizes and kept must be arrays")
        if feature.shape[0] != size.shape[0]:
            raise ValueError(
                f"features and sizes must be equally long, got {feature.shape[0]} and "
                f"{size.shape[0]}"
            )
        if feature.shape[0]:
            check_aligned("features", &feature[0])
            check_aligned("sizes", &size[0])
        if kept_of.shape[0]:
            check_aligned("kept", &kept_of[0])
        self.feature, self.size, self.kept_of = feature, size, kept_of
        self.features, self.sizes, self.kept = features, sizes, kept
        self.pins = pinned((features, sizes, kept))


cdef int take(Listed listed, const double[:, ::1] cells) except -1:
    """Mark the list as busy, or raise if it is, or does not fit the cells."""
    cdef Py_ssize_t i, d = cells.shape[0]
    cdef bint sound = True
    check_cells(cells, d, 2)
    if listed.kept_of.shape[0] != d:
        raise ValueError(f"listed: kept must have {d} entries, got {listed.kept_of.shape[0]}")
    if listed.busy:
        raise RuntimeError("the list is in use by another thread")
    listed.busy = True
    with nogil:
        for i in range(listed.n):
            sound = sound and 0 <= listed.feature[i] < d
    if not sound:
        listed.busy = False
        raise ValueError(f"listed features must lie below {d}, and not below 0")
    return 0


cdef inline int64_t feature_of(Listed listed, Py_ssize_t i, Py_ssize_t d) noexcept nogil:
    """Listed feature ``i``, or 0 if another thread has made it invalid since the check."""
    cdef int64_t j = read_once(&listed.feature[i])
    return j if 0 <= j < d else 0


cdef double smallest(double* numbers, Py_ssize_t n, Py_ssize_t rank) noexcept nogil:
    """The number that has ``rank`` numbers before it in order; reorders them; 0 <= rank < n."""
    cdef Py_ssize_t first = 0, last = n - 1, below, above, i
    cdef double pivot, number
    while first < last:
        pivot = numbers[first + (last - first) // 2]
        # Less than the pivot | equal to it | not looked at | greater
        below, i, above = first, first, last
        while i <= above:
            number = numbers[i]
            if number < pivot:
                numbers[i], numbers[below] = numbers[below], number
                below += 1
                i += 1
            elif number > pivot:
                numbers[i], numbers[above] = numbers[above], number
                above -= 1
            else:
                i += 1
        if rank < below:
            last = below - 1
        elif rank > above:
            first = above + 1
        else:
            return pivot
    return numbers[first]


cdef double quantile_of(
    Listed listed, const double[:, ::1] cells, Py_ssize_t n_left, double share
) noexcept nogil:
    """The quantile of the sizes of ``n_left`` weights; those that are not listed are 0."""
    cdef Py_ssize_t i, n = listed.n, d = cells.shape[0], zeros, below, not_larger
    cdef double place, low, high, size
    cdef double* sizes
    if n == 0 or d == 0:
        return 0.0
    sizes = &listed.size[0]
    zeros = n_left - n if n_left > n else 0
    place = <double> (zeros + n - 1) * share
    below = <Py_ssize_t> place
    if below + 1 < zeros:
        return 0.0
    for i in range(n):
        sizes[i] = fabs(cells[feature_of(listed, i, d), 0])
    low = smallest(sizes, n, below - zeros) if below >= zeros else 0.0
    # The next order statistic: ``low`` again where it is repeated, or else the least larger size.
    high, not_larger = low, zeros
    for i in range(n):
        size = sizes[i]
        if size > low:
            high = size if high == low or size < high else high
        else:
            not_larger += 1
    if not_larger > below + 1:
        high = low
    return low + (place - <double> below) * (high - low)


def run(
    Examples examples,
    const int64_t[::1] order not None,   # the rows to draw, one after the other
    double position,            # the number of the first of them among all draws of the path, from 1
    int loss,
    Py_ssize_t size,            # K, the updates of a burst
    double share,               # beta
    Py_ssize_t n_left,          # features that are not purged
    const uint8_t[::1] live not None,    # for every row, whether a feature of it is left
    double[:, ::1] cells not None,       # IN/OUT: {w, k} of every feature
    Listed listed,              # IN/OUT
    Py_ssize_t first,
):
    """Draw from ``first`` on until the burst is over; returns how it ended, and the next draw."""
    cdef const RowLoops* loops = examples.row_loops
    cdef Py_ssize_t n_steps = order.shape[0], step = first, touched = 0, room, i
    cdef int64_t j
    cdef int status = FINISHED
    cdef Walk at
    cdef const OwnRow* row
    cdef double prediction, slope, move, q
    check_runnable(examples, loss)
    check_cells(cells, examples.csr.n_columns, 2)
    if live.shape[0] != examples.csr.n_rows:
        raise ValueError(f"live must have {examples.csr.n_rows} entries, got {live.shape[0]}")
    if size < 1:
        raise ValueError(f"size must be at least 1, got {size}")
    if not 0.0 <= share < 1.0:
        raise ValueError(f"share must lie between 0 and 1, 1 excluded, got {share}")
    if not position >= 1.0:
        raise ValueError(f"position must be at least 1, got {position}")
    if listed.updates >= size:
        return BURST_OVER, first
    if not 0 <= first < n_steps:
        return status, n_steps
    check_aligned("order", &order[0])
    take(listed, cells)
    room = listed.feature.shape[0]
    cdef double* cell = &cells[0, 0] if examples.csr.n_columns else NULL
    cdef int64_t* feature = &listed.feature[0] if room else NULL
    with nogil:
        walk_rows(&at, examples, &order[0], n_steps, step)
        while step < n_steps:
            row = next_row(&at, cell, 2)
            status = row.status
            if status != FINISHED:
                break
            touched += row.length
            slope = 0.0
            if live[row.number]:
                prediction = loops.dot_of_pairs(row, cell, 0.0)
                if loss != HINGE:
                    slope = slope_of(examples, loss, 0.0, row.number, prediction)
                elif not prediction * examples.targets[row.number] > 1.0 + TIE:
                    slope = -examples.targets[row.number] * importance_of(examples, row.number)
                move = slope / sqrt(position + <double> step + 1.0)
                if not (isfinite(prediction) and isfinite(move)):
                    status = OVERFLOWED
                    break
            if slope != 0.0:
                if room - listed.n < row.length:
                    status = NO_ROOM
                    break
                listed.n = inform(row, cell, 0.0, move, feature, listed.n)
                q = quantile_of(listed, cells, n_left, share) * (1.0 + TIE)
                for i in range(listed.n):
                    j = feature_of(listed, i, cells.shape[0])
                    listed.kept_of[j] += fabs(cells[j, 0]) > q
                touched += 4 * listed.n
                listed.updates += 1
            step += 1
            if listed.updates >= size:
                status = BURST_OVER
                break
            if touched > PATIENCE:
                status = PAUSED
                break
        end_walk(&at)
    listed.busy = False
    if status == NO_ROOM:
        raise ValueError(
            f"features must have room for {listed.n} listed features and the {row.length} of a "
            f"row, got room for {room}"
        )
    return status, step


cdef void drop_zeros(Listed listed, double[:, ::1] cells) noexcept nogil:
    """Take the features whose weight is 0 off the list, and those that are purged."""
    cdef Py_ssize_t i, n = 0, d = cells.shape[0]
    cdef int64_t j
    for i in range(listed.n if d else 0):
        j = feature_of(listed, i, d)
        if cells[j, 1] < 0.0:
            continue
        if cells[j, 0] == 0.0:
            cells[j, 1] = 0.0
            continue
        cells[j, 1] = 1.0
        listed.feature[n] = j
        n += 1
    listed.n = n


def end_burst(
    Listed listed, double[:, ::1] cells not None, Py_ssize_t n_left, double share
):
    """w <- soft(w, q), w <- w / |w| unless all weights are 0; the next burst can begin."""
    cdef Py_ssize_t i, d = cells.shape[0]
    cdef int64_t j
    cdef double q, w, largest = 0.0, squares = 0.0
    if not 0.0 <= share < 1.0:
        raise ValueError(f"share must lie between 0 and 1, 1 excluded, got {share}")
    take(listed, cells)
    with nogil:
        q = quantile_of(listed, cells, n_left, share)
        for i in range(listed.n):
            j = feature_of(listed, i, d)
            w = cells[j, 0]
            cells[j, 0] = w = 0.0 if fabs(w) <= q * (1.0 + TIE) else soft(w, q)
            largest = largest if largest >= fabs(w) else fabs(w)
        # The squares of weights that are divided by the largest one cannot overflow.
        for i in range(listed.n):
            w = cells[feature_of(listed, i, d), 0] / largest if largest > 0.0 else 0.0
            squares += w * w
        squares = sqrt(squares) * largest
        for i in range(listed.n if squares > 0.0 else 0):
            cells[feature_of(listed, i, d), 0] /= squares
        drop_zeros(listed, cells)
        listed.updates = 0
    listed.busy = False


def unlist_purged(Listed listed, double[:, ::1] cells not None):
    """Take the features that were purged off the list."""
    take(listed, cells)
    with nogil:
        drop_zeros(listed, cells)
    listed.busy = False


def go_back(
    Listed listed,
    double[:, ::1] cells not None,
    const int64_t[::1] features not None,
    const double[::1] weights not None,
):
    """Weights of these features, and 0 for all others; a feature that is purged stays purged."""
    cdef Py_ssize_t i, d = cells.shape[0]
    cdef int64_t j
    if features.shape[0] != weights.shape[0]:
        raise ValueError(
            f"features and weights must be equally long, got {features.shape[0]} and "
            f"{weights.shape[0]}"
        )
    if features.shape[0] > listed.feature.shape[0]:
        raise ValueError(f"features must be at most {listed.feature.shape[0]}")
    if features.shape[0]:
        check_aligned("features", &features[0])
        check_aligned("weights", &weights[0])
    take(listed, cells)
    with nogil:
        for i in range(listed.n):
            cells[feature_of(listed, i, d), 0] = 0.0
        drop_zeros(listed, cells)
        for i in range(features.shape[0]):
            j = read_once(&features[i])
            if 0 <= j < d and cells[j, 1] == 0.0 and listed.n < listed.feature.shape[0]:
                cells[j, 0] = weights[i]
                cells[j, 1] = 1.0
                listed.feature[listed.n] = j
                listed.n += 1
    listed.busy = False
