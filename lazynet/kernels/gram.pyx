"""The Hessian of a mean loss on a few columns, and coordinate descent on the model that it gives.

Rows are visited one by one: with z_i = (1, x_ij for the columns j that are chosen), the Hessian is
sum_i c_i z_i z_i'.  A row costs its pairs of nonzeros in chosen columns.

Property: the sums are those of dense arrays, and the descent ends at the minimum of the model
(tests/exact/test_gram.py).
"""

from libc.math cimport fabs, fmax
from libc.stdint cimport int32_t
from libc.stdlib cimport free
from libc.string cimport memset

from .arrays cimport check_aligned, check_vector
from .columns cimport pick
from .examples cimport Examples
from .rows cimport FINISHED, OUT_OF_MEMORY, PATIENCE, PAUSED, OwnRow, Room, make_room, soft


def add_gram(
    Examples examples,
    const double[::1] curvatures not None,
    const int32_t[::1] places not None,
    double[::1] sums not None,          # IN/OUT
    Py_ssize_t size,
    Py_ssize_t start,
):
    """sums += c_i z_i z_i' over the rows from ``start`` on: its upper triangle, row by row.

    Place 0 of z is 1, and column j of X has ``places[j]``; it has no part in z where this is not
    between 1 and size - 1.  Returns how the call ended and the first row not done.
    """
    cdef Py_ssize_t row = max(start, 0), n_visited = 0, n_rows = examples.csr.n_rows
    cdef Py_ssize_t found, n, k, at, first
    cdef int32_t place
    cdef int32_t* z_places
    cdef double* z
    cdef double* line
    cdef double value
    cdef int status = FINISHED
    cdef OwnRow here
    cdef Room room
    check_vector("curvatures", curvatures, n_rows)
    if places.shape[0] != examples.csr.n_columns:
        raise ValueError(
            f"places must have {examples.csr.n_columns} entries, got {places.shape[0]}"
        )
    check_aligned("places", &places[0] if places.shape[0] else NULL, 4)
    if not 1 <= size < 2 ** 31:
        raise ValueError(f"size must be from 1 to {2**31 - 1}, got {size}")
    check_vector("sums", sums, size * (size + 1) // 2)
    cdef const int32_t* first_place = &places[0] if places.shape[0] else NULL
    memset(&here, 0, sizeof(OwnRow))
    memset(&room, 0, sizeof(Room))
    with nogil:
        while row < n_rows and status == FINISHED:
            if curvatures[row] == 0.0:
                row += 1
                continue
            examples.row_loops.copy(&examples.csr, row, &here)
            status = here.status
            if status == FINISHED and not make_room(&room, (here.length + 1) * 12):
                status = OUT_OF_MEMORY
            if status != FINISHED:
                break
            z = <double*> room.bytes
            z_places = <int32_t*> (z + here.length + 1)
            z[0], z_places[0] = 1.0, 0
            found = 1 + pick(&here, first_place, 1, z_places + 1, z + 1)
            # In the order of the places, so that all pairs lie in the upper triangle.
            n = 1
            for k in range(1, found):
                place, value, at = z_places[k], z[k], n
                if place >= size:
                    continue
                while z_places[at - 1] > place:
                    z_places[at], z[at] = z_places[at - 1], z[at - 1]
                    at -= 1
                z_places[at], z[at] = place, value
                n += 1
            for first in range(n):
                at = z_places[first]
                line = &sums[0] + at * size - at * (at + 1) // 2
                value = curvatures[row] * z[first]
                for k in range(first, n):
                    line[z_places[k]] += value * z[k]
            n_visited += here.length + n * n // 2
            row += 1
            if n_visited > PATIENCE and row < n_rows:
                status = PAUSED
        free(here.room.bytes)
        free(room.bytes)
    return status, row


def descend(
    const double[:, ::1] hessian not None,
    double[::1] weights not None,       # IN/OUT: w
    double[::1] slopes not None,        # IN/OUT: minus the gradient of the model's smooth part, g
    double l1,
    double l2,
    bint fit_intercept,
    double accuracy,
):
    """Sweeps of coordinate descent, until none changes a g by more than ``accuracy``.

    Row 0 of the Hessian H is that of the intercept b; with one, b follows every change of w, so
    that H - H_0 H_0' / H_00 stands for H.  The model adds l1 |w|_1 + l2/2 |w|^2.  A call ends after
    some millions of numbers; returns the largest change of a sweep over all weights.
    """
    cdef Py_ssize_t n = weights.shape[0], j, k, n_visited = 0
    cdef double own, away, change, share = 0.0, pull, largest = 0.0
    cdef bint everywhere = True
    cdef const double* of_intercept
    cdef const double* line
    check_vector("weights", weights, n)
    check_vector("slopes", slopes, n)
    if hessian.shape[0] != n + 1 or hessian.shape[1] != n + 1:
        raise ValueError(
            f"hessian must have {n + 1} rows of {n + 1} numbers, "
            f"got {hessian.shape[0]} rows of {hessian.shape[1]}"
        )
    check_aligned("hessian", &hessian[0, 0])
    of_intercept = &hessian[0, 0] + 1
    if fit_intercept and hessian[0, 0] > 0.0:
        share = 1.0 / hessian[0, 0]
    with nogil:
        while True:
            change = 0.0
            for j in range(n):
                if not everywhere and weights[j] == 0.0:
                    continue
                line = &hessian[j + 1, 0] + 1
                pull = share * of_intercept[j]
                own = line[j] - pull * of_intercept[j]
                if not own + l2 > 0.0:
                    continue
                away = soft(slopes[j] + own * weights[j], l1) / (own + l2) - weights[j]
                if away == 0.0:
                    continue
                change = fmax(change, fabs(away) * (own + l2))
                weights[j] += away
                pull *= away
                for k in range(n):
                    slopes[k] -= away * line[k] - pull * of_intercept[k]
                n_visited += n
            n_visited += n + 1
            if everywhere:
                largest = change
                if not change > accuracy:
                    break
            if n_visited > PATIENCE:
                break
            # The weights that are 0 are visited again when the others have settled.
            everywhere = not change > accuracy
    return largest
