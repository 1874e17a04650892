# The loops over the rows of weights of several outputs: one vector of outputs after the other, and
# for each all nonzeros of the row, so that the sums and the numbers of the rule stay in registers.
#
# The cell of a feature is a row of `width` numbers for every kind of number that a rule keeps of a
# weight, one after the other.  AdaGrad keeps w and s of a weight, and one stamp for the row of a
# feature, because a step brings all of it current.  An output never reads the numbers of another
# one, and every sum runs over the nonzeros in their order: an output has the same bits in any
# company.
from .lanes cimport (
    LANES_AT_ONCE, LANES_OF_LINE, WIDTH, Lanes, Real, any_nonzero, both, broadcast, lane_of,
    lanes_at, lanes_of_doubles, nonzero, put_doubles, put_lanes, where,
)
from .many_outputs_loop cimport Outputs
from .many_outputs_rules cimport RuleLanes, load, move_cells, numbers
from .rows cimport OwnRow, prefetch_to_write
from .rules cimport adagrad, averaged
from .rules.adagrad cimport AdaGradLanes
from .rules.averaged cimport AveragedLanes

# --- cells ----------------------------------------------------------------------------------------


cdef inline Real* row_of_weights(const Outputs* at, Py_ssize_t feature) noexcept nogil:
    return <Real*> at.cells + at.stride * feature


cdef inline void gather_cell(
    const RuleLanes* rule, const Real* place, Py_ssize_t width, Lanes* cell
) noexcept nogil:
    cell[0] = lanes_at(place)
    if numbers(rule) > 1:
        cell[1] = lanes_at(place + width)


cdef inline Lanes load_at(
    const RuleLanes* rule, Real* place, Py_ssize_t width, double missed
) noexcept nogil:
    """The weights as of now; AdaGrad's after so many missed shrinks."""
    cdef Lanes[4] cell, kept
    gather_cell(rule, place, width, cell)
    if RuleLanes is AdaGradLanes:
        if not missed > 0.0:
            return cell[0]
        cell[2] = adagrad.decay_of(rule, adagrad.rate_at(rule, cell[1]))
        cell[3] = broadcast(-missed)
    return load(rule, cell, kept)


cdef inline double missed_by(
    const RuleLanes* rule, const Outputs* at, Py_ssize_t feature
) noexcept nogil:
    """The shrinks that the row of a feature has missed."""
    if RuleLanes is AdaGradLanes:
        return at.rules[0].adagrad.steps - at.stamps[feature]
    else:
        return 0.0


cdef inline void fetch(
    const RuleLanes* rule, const Outputs* at, const OwnRow* next, Py_ssize_t i, Py_ssize_t k,
    int n_lanes, bint updating
) noexcept nogil:
    """Fetch a part of the i-th row of weights of the row of X that is next.

    A processor waits for a dozen lines at a time: fetches that are spread over the prediction and
    the update hide the waiting.  Of cells with one number a weight, the prediction fetches those of
    every other nonzero and the update the others; of cells with two, each fetches one.
    """
    cdef const Real* place
    cdef int part
    if i >= next.length or (numbers(rule) == 1 and (i & 1) != updating):
        return
    place = row_of_weights(at, next.columns[i]) + k
    if numbers(rule) > 1 and updating:
        place += at.width
    for part in range(n_lanes // LANES_OF_LINE):
        prefetch_to_write(place + part * LANES_OF_LINE * WIDTH)

# --- predictions ----------------------------------------------------------------------------------


cdef inline void predict_some(
    const RuleLanes* given, const Outputs* outputs, const OwnRow* given_row, const OwnRow* given_next,
    Py_ssize_t k, int n_lanes, double* out
) noexcept nogil:
    """out <- the sums x_j w_j of the outputs from the k-th on, in some Lanes."""
    # Copies, which stay in registers: what is stored might else change them.
    cdef Outputs at = outputs[0]
    cdef OwnRow row = given_row[0], next = given_next[0]
    cdef RuleLanes[LANES_AT_ONCE] rules
    cdef Lanes[LANES_AT_ONCE] sums
    cdef Lanes w
    cdef Real* place
    cdef double missed
    cdef Py_ssize_t i
    cdef int part
    for part in range(n_lanes):
        rules[part], sums[part] = given[k // WIDTH + part], broadcast(0.0)
    for i in range(row.length):
        fetch(given, &at, &next, i, k, n_lanes, False)
        place = row_of_weights(&at, row.columns[i]) + k
        missed = missed_by(given, &at, row.columns[i])
        for part in range(n_lanes):
            w = load_at(&rules[part], place + part * WIDTH, at.width, missed)
            if RuleLanes is AdaGradLanes:
                put_lanes(place + part * WIDTH, w)  # the stamp of the row will be that of this step
            sums[part] = sums[part] + broadcast(row.values[i]) * w
    for part in range(n_lanes):
        put_doubles(out + k + part * WIDTH, sums[part])


cdef inline void predict_by(
    const RuleLanes* rules, const Outputs* at, const OwnRow* row, const OwnRow* next, double* out
) noexcept nogil:
    """out <- the sums x_j w_j of every output; AdaGrad's weights are brought current."""
    cdef Py_ssize_t k = 0, i
    while k + LANES_AT_ONCE * WIDTH <= at.width:
        predict_some(rules, at, row, next, k, LANES_AT_ONCE, out)
        k += LANES_AT_ONCE * WIDTH
    if k < at.width:
        predict_some(rules, at, row, next, k, LANES_OF_LINE, out)
    if RuleLanes is AdaGradLanes:
        for i in range(row.length):
            at.stamps[row.columns[i]] = at.rules[0].adagrad.steps

# --- updates --------------------------------------------------------------------------------------


cdef inline void move_at(
    const RuleLanes* rule, Real* place, const Outputs* at, Lanes x, Lanes move, averaged.Vanished* vanished
) noexcept nogil:
    """The move of the outputs that move."""
    cdef Lanes[4] cell, kept, moved
    cdef Lanes moving = nonzero(move)
    cdef int lane
    gather_cell(rule, place, at.width, cell)
    if RuleLanes is AdaGradLanes:
        kept[0], kept[1] = cell[0], cell[1]  # the prediction has brought the weights current
    else:
        load(rule, cell, kept)
    move_cells(rule, moved, kept, x, move)
    put_lanes(place, where(moving, moved[0], cell[0]))
    if numbers(rule) > 1:
        put_lanes(place + at.width, where(moving, moved[1], cell[1]))
    if RuleLanes is AveragedLanes:
        kept[0] = both(moving, kept[0])
        if averaged.some_vanished(rule, kept):
            for lane in range(WIDTH):
                averaged.collect_vanished(
                    lane_of(rule.clock_rule.clock.shift, lane), at.past, place + lane,
                    lane_of(kept[0], lane), lane_of(kept[1], lane), vanished,
                )


cdef inline void update_some(
    const RuleLanes* given, const Outputs* outputs, const OwnRow* given_row, const OwnRow* given_next,
    Py_ssize_t k, int n_lanes, const double* moves, averaged.Vanished* vanished
) noexcept nogil:
    cdef Outputs at = outputs[0]
    cdef OwnRow row = given_row[0], next = given_next[0]
    cdef RuleLanes[LANES_AT_ONCE] rules
    cdef Lanes[LANES_AT_ONCE] move
    cdef Real* place
    cdef Py_ssize_t i
    cdef int part
    cdef bint moving = False
    for part in range(n_lanes):
        rules[part] = given[k // WIDTH + part]
        move[part] = lanes_of_doubles(moves + k + part * WIDTH)
        moving |= any_nonzero(move[part])
    if not moving:
        for i in range(next.length):
            fetch(given, &at, &next, i, k, n_lanes, True)
        return
    for i in range(row.length):
        fetch(given, &at, &next, i, k, n_lanes, True)
        place = row_of_weights(&at, row.columns[i]) + k
        for part in range(n_lanes):
            move_at(
                &rules[part], place + part * WIDTH, &at, broadcast(row.values[i]), move[part],
                vanished,
            )


cdef inline void update_by(
    const RuleLanes* rules, const Outputs* at, const OwnRow* row, const OwnRow* next, const double* moves
) noexcept nogil:
    """Output k moves by moves_k along the row."""
    cdef averaged.Vanished vanished  # weights of an average
    cdef Py_ssize_t k = 0
    vanished.n, vanished.apart = 0, at.width
    while k + LANES_AT_ONCE * WIDTH <= at.width:
        update_some(rules, at, row, next, k, LANES_AT_ONCE, moves, &vanished)
        k += LANES_AT_ONCE * WIDTH
    if k < at.width:
        update_some(rules, at, row, next, k, LANES_OF_LINE, moves, &vanished)
    if RuleLanes is AveragedLanes:
        if vanished.n > 0:
            averaged.bury(at.past, &vanished)

# --- all weights ----------------------------------------------------------------------------------


cdef inline void read_by(
    const RuleLanes* rules, const Outputs* at, Py_ssize_t feature, const double* factors, double* out
) noexcept nogil:
    """out <- the weights of a feature as of now, of every output."""
    cdef Real* place = row_of_weights(at, feature)
    cdef double missed = missed_by(rules, at, feature)
    cdef Lanes w
    cdef Py_ssize_t k, v
    for v in range(at.width // WIDTH):
        k = v * WIDTH
        w = load_at(&rules[v], place + k, at.width, missed)
        put_doubles(out + k, w * lanes_of_doubles(factors + k))
