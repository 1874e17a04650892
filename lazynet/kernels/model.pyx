"""The model of a Newton step: the features that it may move, and its minimum.

Property: the descent ends at the minimum of the model (tests/exact/test_gram.py).
"""

import numpy as np

from libc.math cimport fabs, fmax, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from .arrays cimport check_aligned, check_cells, check_vector
from .chunk cimport RowLoops
from .examples cimport highest_table
from .rows cimport PATIENCE, soft

# Of so few nonzeros a Cholesky factor takes less time than conjugate gradients.
cdef enum:
    MOST_FACTORED = 64
# Conjugate gradients of one run.
cdef int MOST_DIRECTIONS = 60
# A smaller pivot of the factor, relative to the diagonal, may be rounding.
cdef double LEAST_PIVOT = 1e-10
# Below this share of a diagonal entry, what the intercept leaves of it is the rounding of floats.
cdef double LEAST_SHARE = 1e-7


def working_set(
    const double[::1] weights not None,
    const double[::1] slopes not None,
    const double[::1] frequencies not None,
    double head,
    double least,
):
    """The features with a weight, or with a slope above ``least``; heads first.

    Heads are the features with a frequency above ``head``.  Returns the features, the number of
    heads, the number of weights, the sum of the frequencies of the others, the sum of all
    frequencies, and the least frequency.
    """
    cdef Py_ssize_t n = weights.shape[0], j, n_heads = 0, n_tails = 0, n_weights = 0
    cdef double of_heads = 0.0, of_tails = 0.0, rarest = float("inf")
    check_vector("weights", weights, n)
    check_vector("slopes", slopes, n)
    check_vector("frequencies", frequencies, n)
    chosen, others = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    cdef int32_t[::1] heads = chosen, tails = others
    with nogil:
        for j in range(n):
            if weights[j] != 0.0 or fabs(slopes[j]) > least:
                n_weights += weights[j] != 0.0
                rarest = frequencies[j] if frequencies[j] < rarest else rarest
                if frequencies[j] > head:
                    heads[n_heads] = <int32_t> j
                    of_heads += frequencies[j]
                    n_heads += 1
                else:
                    tails[n_tails] = <int32_t> j
                    of_tails += frequencies[j]
                    n_tails += 1
        for j in range(n_tails):
            heads[n_heads + j] = tails[j]
    features = chosen[:n_heads + n_tails]
    return features, n_heads, n_weights, of_tails, of_heads + of_tails, rarest


def of_weights(
    const double[:, ::1] hessian not None,  # of the intercept and n weights
    const int32_t[::1] features not None,
    const double[::1] weights not None,
    const double[::1] slopes not None,
    double rise,                    # the slope of the intercept
    bint moves,                     # whether the intercept moves
):
    """The Hessian of n weights, these weights, and their slopes.

    The intercept is at its minimum for every change of the weights (Schur complement) if it moves.
    """
    cdef Py_ssize_t n = features.shape[0], n_weights = weights.shape[0], i, j
    cdef double share = 0.0, own
    check_cells(hessian, n + 1, n + 1, "hessian")
    check_aligned("features", &features[0] if n else NULL, 4)
    check_vector("weights", weights, n_weights)
    check_vector("slopes", slopes, n_weights)
    reduced, vectors = np.empty((n, n)), np.empty((2, n))
    cdef double[:, ::1] H = reduced, out = vectors
    for i in range(n):
        j = features[i]
        if not 0 <= j < n_weights:
            raise ValueError(f"features must be below {n_weights}, got {j}")
        out[0, i], out[1, i] = weights[j], slopes[j]
    with nogil:
        for i in range(n):
            if moves:
                share = hessian[0, i + 1] / hessian[0, 0]
                out[1, i] -= hessian[0, i + 1] * (rise / hessian[0, 0])
            for j in range(n):
                H[i, j] = hessian[i + 1, j + 1] - share * hessian[0, j + 1]
            # Rounding must not make it singular, and a weight without curvature would not move.
            own = hessian[i + 1, i + 1]
            H[i, i] = fmax(H[i, i] + 1e-13 * own, LEAST_SHARE * own)
    return reduced, vectors[0], vectors[1]


cdef inline double violation_of(double weight, double slope, double l1, double l2) noexcept nogil:
    """By how much a weight violates its condition of a minimum; negative: by nothing."""
    cdef double pull = slope - l2 * weight
    if weight == 0.0:
        return fabs(pull) - l1
    return fabs(pull - (l1 if weight > 0.0 else -l1))


def violations(
    const double[::1] weights not None, const double[::1] slopes not None, double l1, double l2
):
    """By how much weights with these u violate the conditions of a minimum; negative: by nothing.

    >>> violations(np.array([0.0, 0.0, 2.0]), np.array([0.5, -3.0, 1.0]), 1.0, 0.0)
    array([-0.5,  2. ,  0. ])
    """
    cdef Py_ssize_t n = weights.shape[0], j
    check_vector("weights", weights, n)
    check_vector("slopes", slopes, n)
    out = np.empty(n)
    cdef double[::1] found = out
    for j in range(n):
        found[j] = violation_of(weights[j], slopes[j], l1, l2)
    return out


def largest_violation(
    const double[::1] weights not None, const double[::1] slopes not None, double l1, double l2
):
    """The largest of the violations, at least 0, and sum |w|."""
    cdef Py_ssize_t n = weights.shape[0], j
    cdef double found, largest = 0.0, size = 0.0
    check_vector("weights", weights, n)
    check_vector("slopes", slopes, n)
    for j in range(n):
        found = violation_of(weights[j], slopes[j], l1, l2)
        largest = found if found > largest else largest
        size += fabs(weights[j])
    return largest, size


def descend(
    const double[:, ::1] hessian not None,
    double[::1] weights not None,       # IN/OUT: w
    double[::1] slopes not None,        # IN/OUT: minus the gradient of the model's smooth part, g
    double l1,
    double l2,
    double accuracy,
    int most_sweeps,
):
    """Minimise the model, with l1 |w|_1 + l2/2 |w|^2 added.

    It ends when a sweep over all weights changes no g_j by more than ``accuracy``.  Coordinate
    descent finds the zeros, and a system of equations settles the other weights with their signs held.
    A call ends after some millions of numbers; returns the largest change of its last sweep over all
    weights, and the sweeps.
    """
    cdef Py_ssize_t n = weights.shape[0], j
    cdef int64_t n_visited = 0
    cdef int sweep = 0, rest = 0
    cdef double own, away, change, old, largest = 0.0
    cdef bint everywhere = True, flips
    cdef const double* line
    cdef const RowLoops* loops = <const RowLoops*> highest_table("row_loops")
    check_vector("weights", weights, n)
    check_vector("slopes", slopes, n)
    check_cells(hessian, n, n, "hessian")
    if not n:
        return 0.0, 0
    with nogil:
        while sweep < most_sweeps:
            change, flips = 0.0, False
            for j in range(n):
                old = weights[j]
                if not everywhere and old == 0.0:
                    continue
                line = &hessian[j, 0]
                own = line[j] + l2
                if not own > 0.0:
                    continue
                away = soft(slopes[j] + line[j] * old, l1) / own - old
                if away == 0.0:
                    continue
                change = fabs(away) * own if fabs(away) * own > change else change
                weights[j] = old + away
                flips = flips or (old > 0.0) != (weights[j] > 0.0) or (old < 0.0) != (weights[j] < 0.0)
                loops.full_move(&slopes[0], line, n, away)
                n_visited += n
            sweep += 1
            n_visited += n
            if everywhere:
                largest = change
                if not change > accuracy:
                    break
            everywhere = not change > accuracy
            if not everywhere and not flips and sweep >= rest:
                n_visited += _settle(
                    &hessian[0, 0], n, &weights[0], &slopes[0], l1, l2, accuracy, loops
                )
                everywhere, rest = True, sweep + 2
            if n_visited > PATIENCE:
                break
    return largest, sweep


cdef int64_t _settle(
    const double* hessian, Py_ssize_t n, double* weights, double* slopes, double l1, double l2,
    double accuracy, const RowLoops* loops
) noexcept nogil:
    """Go to the minimum of the nonzeros with their signs held, as far as the first zero.

    Returns the numbers visited; 0 if there is no memory.
    """
    cdef Py_ssize_t m = 0, i, j, k, first_zero = -1
    cdef int64_t n_visited
    cdef double length, reach = 1.0
    for j in range(n):
        m += weights[j] != 0.0
    cdef Py_ssize_t of_factor = m * m if m <= MOST_FACTORED else 0
    cdef double* room = <double*> malloc((m * m + 5 * m + of_factor + 1) * sizeof(double))
    cdef Py_ssize_t* support = <Py_ssize_t*> malloc((m + 1) * sizeof(Py_ssize_t))
    if room == NULL or support == NULL:
        free(room)
        free(support)
        return 0
    cdef double* step = room + m * m
    cdef double* residual = step + m
    k = 0
    for j in range(n):
        if weights[j] != 0.0:
            residual[k] = slopes[j] - l2 * weights[j] - (l1 if weights[j] > 0.0 else -l1)
            support[k] = j
            k += 1
    for i in range(m):
        for j in range(m):
            room[i * m + j] = hessian[support[i] * n + support[j]]
        room[i * m + i] += l2
    n_visited = m * m
    if m > MOST_FACTORED or not _solve(room, m, residual, step + 5 * m, step, loops):
        n_visited += _approach(room, m, residual, accuracy, step, loops)
    for k in range(m):
        j = support[k]
        # Not by the sign of a product, which may underflow.
        if weights[j] > 0.0 >= weights[j] + step[k] or weights[j] < 0.0 <= weights[j] + step[k]:
            if -weights[j] / step[k] < reach:
                reach, first_zero = -weights[j] / step[k], k
    for k in range(m):
        j = support[k]
        length = reach * step[k] if k != first_zero else -weights[j]
        weights[j] += length
        loops.full_move(slopes, hessian + j * n, n, length)
    free(room)
    free(support)
    return n_visited + m * n


cdef bint _solve(
    const double* H, Py_ssize_t m, const double* right, double* factor, double* step,
    const RowLoops* loops
) noexcept nogil:
    """H step = right by a Cholesky factor; false if a pivot may be rounding."""
    cdef Py_ssize_t i, j
    cdef double rest
    for i in range(m):
        for j in range(i + 1):
            rest = H[i * m + j] - loops.full_dot(factor + i * m, factor + j * m, j)
            if j < i:
                factor[i * m + j] = rest / factor[j * m + j]
            elif rest > LEAST_PIVOT * H[i * m + i]:
                factor[i * m + i] = sqrt(rest)
            else:
                return False
        step[i] = (right[i] - loops.full_dot(factor + i * m, step, i)) / factor[i * m + i]
    for i in range(m - 1, -1, -1):
        step[i] /= factor[i * m + i]
        loops.full_move(step, factor + i * m, i, step[i])
    return True


cdef int64_t _approach(
    const double* H, Py_ssize_t m, double* residual, double accuracy, double* step,
    const RowLoops* loops
) noexcept nogil:
    """About the same by conjugate gradients; ``residual`` is the right side, and room follows it."""
    cdef double* direction = residual + m
    cdef double* image = direction + m
    cdef double* scale = image + m
    cdef Py_ssize_t k
    cdef int turn
    cdef int64_t n_visited = 0
    cdef double power = 0.0, next_power, bend, length, largest
    for k in range(m):
        step[k], scale[k] = 0.0, 1.0 / H[k * m + k] if H[k * m + k] > 0.0 else 0.0
        direction[k] = scale[k] * residual[k]
        power += residual[k] * direction[k]
    for turn in range(MOST_DIRECTIONS):
        if not power > 0.0:
            break
        bend = 0.0
        for k in range(m):
            image[k] = loops.full_dot(H + k * m, direction, m)
            bend += image[k] * direction[k]
        n_visited += m * m
        if not bend > 0.0:
            break
        length, next_power, largest = power / bend, 0.0, 0.0
        for k in range(m):
            step[k] += length * direction[k]
            residual[k] -= length * image[k]
            next_power += scale[k] * residual[k] * residual[k]
            largest = fabs(residual[k]) if fabs(residual[k]) > largest else largest
        if not largest > 0.1 * accuracy:
            break
        for k in range(m):
            direction[k] = scale[k] * residual[k] + next_power / power * direction[k]
        power = next_power
    return n_visited
