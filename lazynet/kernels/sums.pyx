"""Sums over all rows and all weights: for gradients, objectives, and certificates of a minimum.

``margins`` and ``add_rows`` are plain sums.  Their compensated forms carry the digits that rounding
loses, so that their results are right to the last digit; the sums of losses and of conjugates come
with a bound on their rounding errors.  With both, a duality gap stays an upper bound on what is
left in spite of rounding.

Property: the gap is at least the distance to the least objective, which is computed in extended
precision (tests/exact/test_certificates.py).
"""

from libc.float cimport DBL_EPSILON
from libc.math cimport fabs, fma
from libc.stdlib cimport free
from libc.string cimport memset

from .arrays cimport check_aligned, check_cells, check_vector
from .rules.motion cimport add_to
from .conjugates cimport conjugate
from .examples cimport Examples, check_runnable, importance_of, walk_rows
from .lanes cimport LANES
from .losses cimport LOG_LOSS, loss_slope
from .slopes cimport ROWS_AT_ONCE, losses_with_derivatives
from .rows cimport AHEAD, FINISHED, PATIENCE, PAUSED, OwnRow, Walk, end_walk, fetch_row, row_of_step

# How many units of roundoff a term of a sum may be wrong by: a few operations and one logarithm
# or exponential, which are right to within one unit in the last place.
cdef double SLACK = 8.0 * DBL_EPSILON


def margins(
    Examples examples,
    const double[::1] weights not None,
    double[::1] out not None,          # OUT: x_i.w
    Py_ssize_t start,
    bint compensated,
):
    """x_i.w of the rows from ``start`` on; returns how the call ended and the first row not done."""
    cdef Py_ssize_t row = max(start, 0), n_rows = examples.csr.n_rows
    cdef int status = FINISHED
    cdef double low = 0.0
    cdef Walk at
    cdef const OwnRow* here
    check_vector("weights", weights, examples.csr.n_columns)
    check_vector("out", out, n_rows)
    cdef const double* first_weight = &weights[0] if weights.shape[0] else NULL
    with nogil:
        walk_rows(&at, examples, NULL, n_rows, row)
        while row < n_rows and status == FINISHED:
            here = row_of_step(&at, first_weight, 1)
            status = here.status
            if status != FINISHED:
                break
            if compensated:
                out[row] = examples.row_loops.exact_dot(here, first_weight, &low)
            else:
                out[row] = examples.row_loops.dot(here, first_weight, 0.0)
            row += 1
        end_walk(&at)
    return status, row


def add_rows(
    Examples examples,
    const double[::1] factors not None,
    double[:, ::1] sums not None,       # IN/OUT: {sum} or {high, low} per column
    Py_ssize_t start,
):
    """sums += s_i factor_i x_i over the rows from ``start`` on; returns as ``margins``.

    Pairs {high, low} carry the digits that rounding loses.
    """
    cdef Py_ssize_t row = max(start, 0), n_visited = 0, n_rows = examples.csr.n_rows
    cdef bint compensated = sums.shape[1] == 2
    cdef int status = FINISHED
    cdef double factor, importance
    cdef OwnRow here
    check_vector("factors", factors, n_rows)
    check_cells(sums, examples.csr.n_columns, 2 if compensated else 1, "sums")
    cdef double* first_sum = &sums[0, 0] if sums.shape[0] else NULL
    memset(&here, 0, sizeof(OwnRow))
    with nogil:
        while row < n_rows and status == FINISHED:
            importance = importance_of(examples, row)
            factor = importance * factors[row]
            if factor != 0.0:
                fetch_row(&examples.csr, min(row + AHEAD, n_rows - 1))
                examples.row_loops.copy(&examples.csr, row, &here)
                status = here.status
                if status != FINISHED:
                    break
                if compensated:
                    examples.row_loops.exact_add(
                        &here, first_sum, factor, fma(importance, factors[row], -factor)
                    )
                else:
                    examples.row_loops.add(&here, first_sum, factor)
                n_visited += here.length
            row += 1
            if n_visited > PATIENCE and row < n_rows:
                status = PAUSED
        free(here.room.bytes)
    return status, row


def add_compensated(double[:, ::1] cells not None, const double[:, ::1] others not None):
    """cells += others, both {high, low} per column, with the digits that rounding loses."""
    cdef Py_ssize_t j
    check_cells(cells, cells.shape[0], 2)
    check_cells(others, cells.shape[0], 2, "others")
    with nogil:
        for j in range(cells.shape[0]):
            add_to(&cells[j, 0], &cells[j, 1], others[j, 0])
            cells[j, 1] += others[j, 1]


# A sum in eight parts, each with what its rounding has lost: the parts do not wait for each other.
cdef struct Parts:
    double high[LANES]
    double low[LANES]


cdef inline void add_block(Parts* parts, double* terms, Py_ssize_t n) noexcept nogil:
    """Add n of ROWS_AT_ONCE terms; the terms behind them become 0."""
    cdef Py_ssize_t k
    cdef int lane
    for k in range(n, <Py_ssize_t> ROWS_AT_ONCE):
        terms[k] = 0.0
    k = 0
    while k < n:
        for lane in range(<int> LANES):
            add_to(&parts.high[lane], &parts.low[lane], terms[k + lane])
        k += LANES


cdef inline double sum_of_parts(const Parts* parts) noexcept nogil:
    cdef double total = 0.0, low = 0.0
    cdef int lane
    for lane in range(<int> LANES):
        add_to(&total, &low, parts.high[lane])
        low += parts.low[lane]
    return total + low


def total_loss(
    Examples examples,
    const double[::1] predictions not None,
    double shift,
    int loss,
    double epsilon,
    double share,
    double jump,
    double curvature,
):
    """share * sum s_i l(p_i + shift), and a bound on what rounding loses of it.

    Between two predictions the slope changes by at most ``jump`` and ``curvature`` times the
    distance.  The predictions are right to the last digit.
    """
    cdef Py_ssize_t row = 0, n, k
    cdef double lost = 0.0, importance, away
    cdef Parts parts
    cdef double shifted[ROWS_AT_ONCE]
    cdef double values[ROWS_AT_ONCE]
    cdef double slopes[ROWS_AT_ONCE]
    cdef double curvatures[ROWS_AT_ONCE]
    memset(&parts, 0, sizeof(Parts))
    check_runnable(examples, loss)
    check_vector("predictions", predictions, examples.csr.n_rows)
    with nogil:
        while row < examples.csr.n_rows:
            n = min(ROWS_AT_ONCE, examples.csr.n_rows - row)
            for k in range(n):
                shifted[k] = predictions[row + k] + shift
            losses_with_derivatives(
                examples, shifted, row, n, loss, epsilon, values, slopes, curvatures
            )
            for k in range(n):
                importance = importance_of(examples, row)
                # The prediction is rounded, and so is its distance from the target.
                away = fabs(predictions[row]) + fabs(shift) + fabs(examples.targets[row])
                away *= SLACK
                lost += importance * (
                    SLACK * values[k] + (fabs(slopes[k]) + jump + curvature * away) * away
                )
                values[k] *= importance
                row += 1
            add_block(&parts, values, n)
    return share * sum_of_parts(&parts), share * lost


def total_conjugate(
    Examples examples,
    const double[::1] duals not None,
    double factor,
    int loss,
    double epsilon,
    double share,
):
    """share * sum s_i l*(-factor a_i), and a bound on what rounding loses of it."""
    cdef Py_ssize_t row = 0, n, k
    cdef double lost = 0.0, importance
    cdef Parts parts
    cdef double shares[ROWS_AT_ONCE]
    cdef double terms[ROWS_AT_ONCE]
    cdef double sizes[ROWS_AT_ONCE]
    memset(&parts, 0, sizeof(Parts))
    check_runnable(examples, loss)
    check_vector("duals", duals, examples.csr.n_rows)
    with nogil:
        while row < examples.csr.n_rows:
            n = min(ROWS_AT_ONCE, examples.csr.n_rows - row)
            if loss == LOG_LOSS:
                for k in range(n):
                    shares[k] = factor * duals[row + k] * examples.targets[row + k]
                examples.row_loops.entropies(shares, terms, sizes, n)
            else:
                for k in range(n):
                    terms[k] = conjugate(
                        loss, factor * duals[row + k], examples.targets[row + k], epsilon, &sizes[k]
                    )
            for k in range(n):
                importance = importance_of(examples, row + k)
                # Without a weight also an infinite term counts nothing.
                terms[k] = importance * terms[k] if importance != 0.0 else 0.0
                lost += importance * sizes[k]
            add_block(&parts, terms, n)
            row += n
    return share * sum_of_parts(&parts), share * lost * SLACK


def negative_slopes(
    Examples examples,
    const double[::1] predictions not None,
    double shift,
    int loss,
    double epsilon,
    double[::1] duals not None,        # OUT: -l'(p_i + shift)
):
    """The dual variables that belong to the predictions; returns the sum of s_i a_i."""
    cdef Py_ssize_t row
    cdef double total = 0.0, low = 0.0
    check_runnable(examples, loss)
    check_vector("predictions", predictions, examples.csr.n_rows)
    check_vector("duals", duals, examples.csr.n_rows)
    with nogil:
        for row in range(examples.csr.n_rows):
            duals[row] = -loss_slope(loss, predictions[row] + shift, examples.targets[row], epsilon)
            add_to(&total, &low, importance_of(examples, row) * duals[row])
    return total + low


def balance(Examples examples, double[::1] duals not None, bint exactly=True):
    """Make sum s_i a_i = 0, as an intercept without a penalty demands; returns what is left of it.

    The duals of one sign are scaled towards 0.  The domain of every conjugate is convex and holds
    0, so the duals stay inside.  If not ``exactly``, rounding is left.
    """
    cdef Py_ssize_t row, turn
    cdef double rise = 0.0, fall = 0.0, part, importance, upper, lower, rest = 0.0, rest_low
    check_vector("duals", duals, examples.csr.n_rows)
    with nogil:
        for row in range(examples.csr.n_rows):
            part = importance_of(examples, row) * duals[row]
            rise += part if part > 0.0 else 0.0
            fall -= part if part < 0.0 else 0.0
        upper = fall / rise if rise > fall else 1.0
        lower = rise / fall if fall > rise else 1.0
        for row in range(examples.csr.n_rows):
            duals[row] *= upper if duals[row] > 0.0 else lower
        # Two duals take up what rounding leaves: the first a large part, the second its rounding.
        for turn in range(3 if exactly else 0):
            rest = rest_low = 0.0
            for row in range(examples.csr.n_rows):
                importance = importance_of(examples, row)
                part = importance * duals[row]
                add_to(&rest, &rest_low, part)
                add_to(&rest, &rest_low, fma(importance, duals[row], -part))
            if rest == 0.0 or turn == 2:
                break
            for row in range(examples.csr.n_rows):
                importance = importance_of(examples, row)
                # The second dual is as small as possible, so that its own rounding is small.
                if (duals[row] > 0.0) == (rest > 0.0) and fabs(importance * duals[row]) >= 2.0 * fabs(rest):
                    duals[row] -= rest / importance
                    break
    return rest


def excess(const double[:, ::1] sums not None, double share, double l1, double wrong):
    """max |u| and sum [|u| - l1]+^2 of u = share * sums, and a bound on what rounding adds to them.

    A row of ``sums`` is {high, low}, or {sum}; every sum may be wrong by ``wrong``.
    """
    cdef Py_ssize_t j
    cdef bint double_double = sums.shape[1] > 1
    cdef double size, over, room, largest = 0.0, squared = 0.0, low = 0.0, lost = 0.0
    if sums.shape[1] < 1:
        raise ValueError("sums must have a number for every column")
    if sums.shape[0]:
        check_aligned("sums", &sums[0, 0])
        if sums.strides[0] % 8 or sums.strides[1] % 8:
            raise ValueError("sums must be aligned in memory to its 8-byte numbers")
    with nogil:
        for j in range(sums.shape[0]):
            size = fabs(share * (sums[j, 0] + sums[j, 1] if double_double else sums[j, 0]))
            room = wrong + SLACK * size
            # fmax would be a function call for every sum.
            largest = size + room if size + room > largest else largest
            over = size - l1
            if over + room > 0.0:
                over = over if over > 0.0 else 0.0
                add_to(&squared, &low, over * over)
                lost += room * (2.0 * over + room) + SLACK * over * over
    return largest, squared + low, lost
