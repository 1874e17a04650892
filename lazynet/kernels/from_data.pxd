# Rates computed from the rows: the mean size of the rows, which rules with rates of their own follow,
# and one global adaptive rate for the clock.
# Plain Python of the latter: lazynet/reference/from_data.py;
# tests/exact/test_lazy_equals_dense.py compares the two.
from libc.math cimport fabs, frexp, ldexp, pow, sqrt
from libc.string cimport memcpy

from .losses cimport loss_slope

# --- the mean size of the rows so far -------------------------------------------------------------
#
# The mean is refreshed before the steps 0, 1, 2, 4, 8, ... with the row of the step included, and
# before the first row whose size is not 0; between two refreshes it stays.  It depends on the rows
# in their order alone, and not on the chunks in which they come.
#
# A rule whose weights are functions of sums and of the mean size computes them with the new mean
# and visits no cell.  Only weights that were loaded, and not learned, must not change with the mean:
# then the rule asks for a sweep, in which the engine changes the cells so that they give the same
# weights at the new mean.
# (tests/exact/test_rates_follow_the_rows.py)


# 2^53: a double counts rows and steps one by one.
cdef inline double most_rows() noexcept nogil:
    return 9007199254740992.0


# What ``loaded`` of a MeanSize says of weights that were not learned.  A positive number is the new
# mean at which the sweep that was asked for must leave them what they are; the sweep answers with
# RESTATED.
cdef enum:
    NOT_LEARNED = -1
    RESTATED = -2


cdef struct MeanSize:
    double rows     # how many rows have been measured
    double sum_of_sizes
    double mean     # the mean size as of the last refresh, 0 before the first row with a size
    double loaded   # whether weights were loaded, see above


cdef enum Change:
    KEPT
    CHANGED
    ASKS


cdef inline double unit(const MeanSize* seen) noexcept nogil:
    """The mean size in use; 1 as long as no row has had a size."""
    return seen.mean if seen.mean > 0.0 else 1.0


cdef inline double mean_of(double sum_of_sizes, double rows) noexcept nogil:
    """The mean of ``rows`` sizes with this sum, within the range in which alpha and gamma are finite."""
    return min(max(sum_of_sizes / rows, ldexp(1.0, -300)), ldexp(1.0, 300))


cdef inline bint is_due(double rows) noexcept nogil:
    """Whether a number of rows is 0 or a power of two."""
    cdef int exponent = 0
    return rows == 0.0 or frexp(rows, &exponent) == 0.5


cdef inline Change count_size(MeanSize* seen, double size) noexcept nogil:
    """Count the size of the next row; says what happened to the mean."""
    cdef bint due
    if seen.loaded == RESTATED:
        seen.loaded = NOT_LEARNED
        return KEPT
    due = is_due(seen.rows) or not seen.mean > 0.0
    seen.rows += 1.0
    seen.sum_of_sizes += size
    if not due or not seen.sum_of_sizes > 0.0:
        return KEPT
    if seen.loaded == NOT_LEARNED:
        seen.loaded = mean_of(seen.sum_of_sizes, seen.rows)
        return ASKS
    seen.mean = mean_of(seen.sum_of_sizes, seen.rows)
    return CHANGED


# --- one global rate ------------------------------------------------------------------------------


# The constants of the computation of rates from the rows.
cdef struct Tuning:
    double constant         # C
    double slack            # 8: rows larger than this many mean sizes have a smaller rate
    double l1
    double l2
    double largest_rate     # no rate of a weight exceeds this number
    double largest_slope    # G, the size of a slope; Y where that is smaller and ``smooth``
    double curvature        # of an implicit step; 0: the step is explicit
    double intercept        # the squared size of the intercept's feature, beside rows of the mean norm
    double lowering         # a lack of progress multiplies the rate by this number; 1: never ...
    double intercept_lowering  # ... and the intercept's rate by this number
    bint in_use             # whether the rates come from the rows; all else is unused if not
    bint follows_targets    # Y is the root mean square of the targets; else 1
    bint smooth             # the slope shrinks with the residual: G is at most Y
    bint unbounded          # large rows have no smaller rate: the step is implicit
    bint proximal           # the shrink of FoBoS; else of SGD


# Places in the array that holds the state between calls: the fields of RateState, in order.
cdef enum:
    ROWS_SEEN = 0
    LAST_RATE = 9
    LOADED = 11
    STALLS = 12
    LOWERINGS = 13
    N_RATE_FIELDS = 17


# The number of rows after which the rates are checked for the first time.
cdef enum:
    FIRST_LOOK = 16


cdef struct RateState:
    double rows              # rows counted ...
    double nonempty          # ... and those of them that are not empty
    double next_refresh      # the rows measured at which m is refreshed next: 0, 1, 2, 4, ...
    double sum_of_norms      # sum of |x|
    double mean_norm         # the mean of |x| at the last refresh, the root of m
    double mean_target       # the mean of y ...
    double squared_deviations  # ... and the sum of the squared distances from the mean
    double progress          # acc of the weights
    double intercept_progress  # acc of the intercept
    double rate              # of the last step
    double intercept_move    # how far the last step moves the intercept
    double loaded            # 1 if the weights were given: they are not rescaled with m
    double stalls            # how often there was no progress ...
    double lowerings         # ... less how often there was some again, but not below 0
    double next_look         # the rows seen at which progress is judged next: 0, 16, 32, 64, ...
    double squared_slopes    # sum of the squared slopes since the last look
    double mean_before       # the mean of the squared slopes between the last two looks
    # what is not kept between calls
    double factor            # of the rate of the weights, by the lowerings
    double intercept_factor  # of the rate of the intercept, by the stalls


# One step: its moves, the shrink |w| <- [a |w| - b]+, and what the state is after the step.
cdef struct Proposal:
    double rate
    double move
    double intercept_move
    double keep
    double keep_low
    double pull
    double progress
    double intercept_progress
    double squared_slopes


cdef inline void load_rates(
    RateState* state, const double* fields, const Tuning* tuning
) noexcept nogil:
    memcpy(state, fields, N_RATE_FIELDS * sizeof(double))
    find_factors(state, tuning)


cdef inline void save_rates(const RateState* state, double* fields) noexcept nogil:
    memcpy(fields, state, N_RATE_FIELDS * sizeof(double))


cdef inline void find_factors(RateState* state, const Tuning* tuning) noexcept nogil:
    state.factor = pow(tuning.lowering, state.lowerings)
    state.intercept_factor = pow(tuning.intercept_lowering, state.stalls)


cdef inline void look(RateState* state, const Tuning* tuning) noexcept nogil:
    """Lower the rates if the slopes of the last rows are no smaller than those before.

    The rate of the weights rises again once the slopes shrink, the rate of the intercept does not.
    """
    cdef double rows = state.rows if state.rows == FIRST_LOOK else 0.5 * state.rows
    cdef double mean = state.squared_slopes / rows if rows > 0.0 else 0.0
    if state.mean_before > 0.0 and mean > 0.95 * state.mean_before:
        state.stalls += 1.0
        state.lowerings += 1.0
    elif mean < 0.9 * state.mean_before and state.lowerings > 0.0:
        state.lowerings -= 1.0
    state.mean_before = mean
    state.squared_slopes = 0.0
    state.next_look = 2.0 * state.rows if state.rows > 0.0 else FIRST_LOOK
    find_factors(state, tuning)


cdef inline double count_row(
    RateState* state, const Tuning* tuning, double size, double y
) noexcept nogil:
    """Count the row of the step; returns the factor by which every weight is to be rescaled.

    The weights belong to rows of the mean norm: where it changes, its product with w stays.  Empty
    rows say nothing about the others.
    """
    cdef double factor = 1.0
    cdef double mean, distance = y - state.mean_target
    if state.rows == state.next_look:
        look(state, tuning)
    state.rows += 1.0
    state.mean_target += distance / state.rows
    state.squared_deviations += distance * (y - state.mean_target)
    if not size > 0.0:
        return factor
    state.sum_of_norms += sqrt(size)
    if state.nonempty == state.next_refresh:
        state.next_refresh = 2.0 * state.nonempty if state.nonempty > 0.0 else 1.0
        mean = state.sum_of_norms / (state.nonempty + 1.0)
        if state.mean_norm > 0.0 and state.loaded == 0.0:
            factor = state.mean_norm / mean
        state.mean_norm = mean
    state.nonempty += 1.0
    return factor


cdef inline void propose(
    Proposal* proposal,
    const RateState* state,
    const Tuning* tuning,
    int loss,
    double epsilon,
    bint fit_intercept,
    double size,
    double importance,
    double y,
    double prediction,
) noexcept nogil:
    """The step on a counted row; the state does not change.

    The formulas are those of lazynet.schedules.FromData.  In units in which the rows have the mean
    norm 1, k is the squared size of the intercept's feature:

        u = (|x|^2 / m + k) / (1 + k)
        acc += min(g^2, 8 G^2) min(u, 8)
        eta = C Y sqrt(min(1, 8 / u)) / ((1 + k) sqrt(acc + 8 G^2))

    The rate of the weights is eta / m, the rate of the intercept is k eta.
    """
    cdef double slope = loss_slope(loss, prediction, y, epsilon)
    cdef double mean = state.mean_norm * state.mean_norm
    cdef double intercept = tuning.intercept if fit_intercept else 0.0
    cdef double relative = size / mean if mean > 0.0 else 0.0
    cdef double variance, Y = 1.0, G = tuning.largest_slope, share, squared, limit
    cdef double counted, root, rate, rate_of_intercept, reach, decay, growth
    relative = (relative + intercept) / (1.0 + intercept)
    counted = importance * importance * min(relative, tuning.slack)
    share = tuning.constant / (1.0 + intercept)
    if not tuning.unbounded and relative > tuning.slack:
        share *= sqrt(tuning.slack / relative)
    squared = slope * slope
    slope *= importance
    proposal.squared_slopes = state.squared_slopes + slope * slope
    proposal.intercept_progress = state.intercept_progress
    rate_of_intercept = 0.0
    if tuning.follows_targets:
        variance = state.squared_deviations / state.rows
        Y = sqrt(variance + state.mean_target * state.mean_target)
        if fit_intercept:
            limit = 8.0 * (min(Y, G) * min(Y, G) if tuning.smooth else G * G)
            proposal.intercept_progress += min(squared, limit) * counted
            root = sqrt(proposal.intercept_progress + limit)
            rate_of_intercept = intercept * share * Y / root if root > 0.0 else 0.0
            Y = sqrt(variance)
        if tuning.smooth:
            G = min(Y, G)
    limit = 8.0 * G * G
    proposal.progress = state.progress + min(squared, limit) * counted
    root = sqrt(proposal.progress + limit)
    rate = share * Y / root if root > 0.0 else 0.0
    if fit_intercept and not tuning.follows_targets:
        rate_of_intercept = intercept * rate
    rate *= state.factor
    rate_of_intercept *= state.intercept_factor
    rate = rate / mean if mean > 0.0 else 0.0
    rate = min(rate, tuning.largest_rate)

    # The step changes the prediction by -reach * slope.
    reach = rate * size + rate_of_intercept
    if tuning.curvature > 0.0:
        slope /= 1.0 + tuning.curvature * importance * reach
    elif tuning.follows_targets and fabs(slope) * reach > fabs(prediction - y):
        slope *= fabs(prediction - y) / (fabs(slope) * reach)
    proposal.rate = rate
    proposal.move = rate * slope
    proposal.intercept_move = rate_of_intercept * slope

    # The digits that keep lost to rounding, as lazynet.rules.base.lost_digits has them.
    growth = rate * tuning.l2
    if tuning.proximal:
        proposal.keep = 1.0 / (1.0 + growth)
        decay = growth * proposal.keep
        proposal.pull = rate * tuning.l1 * proposal.keep
    else:
        proposal.keep = 1.0 - growth
        decay = growth
        proposal.pull = rate * tuning.l1
    proposal.keep_low = (1.0 - proposal.keep) - decay if proposal.keep >= 0.5 else 0.0
    # A state that is not finite would give rates of 0 from now on: the step must be refused.
    root = proposal.progress + state.sum_of_norms + state.squared_deviations
    root += proposal.squared_slopes
    if not root - root == 0.0:
        proposal.move = root - root


cdef inline void accept(RateState* state, const Proposal* proposal) noexcept nogil:
    """The step is taken."""
    state.progress, state.intercept_progress = proposal.progress, proposal.intercept_progress
    state.rate, state.intercept_move = proposal.rate, proposal.intercept_move
    state.squared_slopes = proposal.squared_slopes
