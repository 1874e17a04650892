# Rates computed from the rows: one global adaptive rate for the clock.
# Python twin: lazynet/reference/from_data.py; tests/exact/test_rates_from_data.py compares the two.
from libc.math cimport fabs, sqrt

from .examples cimport Tuning
from .losses cimport loss_slope

# One plain array holds these numbers between calls.
cdef enum:
    ROWS_SEEN = 0       # rows counted
    ROWS_MEASURED = 1   # ... and those of them that are not empty
    NEXT_REFRESH = 2    # the rows measured at which the mean is refreshed next: 0, 1, 2, 4, ...
    SUM_OF_SIZES = 3    # sum of |x|^2
    MEAN_SIZE = 4       # m, the mean of |x|^2 at the last refresh
    SUM_OF_TARGETS = 5  # sum of y^2
    PROGRESS = 6        # sum of the squared slopes, weighed by the relative sizes of the rows
    LAST_RATE = 7       # the rate of the last step
    INTERCEPT_MOVE = 8  # how far the last step moves the intercept
    LOADED = 9          # 1 if the weights were given: they are not rescaled with m
    N_FROM_DATA_FIELDS = 10


cdef struct FromData:
    double rows
    double measured
    double next_refresh
    double sum_of_sizes
    double mean_size
    double sum_of_targets
    double progress
    double rate
    double intercept_move
    double loaded


# One step: its moves, the shrink |w| <- [a |w| - b]+, and what the state is after the step.
cdef struct Proposal:
    double rate
    double move
    double intercept_move
    double keep
    double keep_low
    double pull
    double progress


cdef inline void load_from_data(FromData* state, const double* fields) noexcept nogil:
    state.rows = fields[ROWS_SEEN]
    state.measured = fields[ROWS_MEASURED]
    state.next_refresh = fields[NEXT_REFRESH]
    state.sum_of_sizes = fields[SUM_OF_SIZES]
    state.mean_size = fields[MEAN_SIZE]
    state.sum_of_targets = fields[SUM_OF_TARGETS]
    state.progress = fields[PROGRESS]
    state.rate = fields[LAST_RATE]
    state.intercept_move = fields[INTERCEPT_MOVE]
    state.loaded = fields[LOADED]


cdef inline void save_from_data(const FromData* state, double* fields) noexcept nogil:
    fields[ROWS_SEEN] = state.rows
    fields[ROWS_MEASURED] = state.measured
    fields[NEXT_REFRESH] = state.next_refresh
    fields[SUM_OF_SIZES] = state.sum_of_sizes
    fields[MEAN_SIZE] = state.mean_size
    fields[SUM_OF_TARGETS] = state.sum_of_targets
    fields[PROGRESS] = state.progress
    fields[LAST_RATE] = state.rate
    fields[INTERCEPT_MOVE] = state.intercept_move
    fields[LOADED] = state.loaded


cdef inline double count_row(FromData* state, double size, double y) noexcept nogil:
    """Count the row of the step; returns the factor by which every weight is to be rescaled.

    The weights belong to rows of the mean size m: where m changes, sqrt(m) w stays.  Empty rows say
    nothing about the size of the others.
    """
    cdef double factor = 1.0
    cdef double mean
    state.rows += 1.0
    state.sum_of_targets += y * y
    if not size > 0.0:
        return factor
    state.sum_of_sizes += size
    if state.measured == state.next_refresh:
        state.next_refresh = 2.0 * state.measured if state.measured > 0.0 else 1.0
        mean = state.sum_of_sizes / (state.measured + 1.0)
        if state.mean_size > 0.0 and state.loaded == 0.0:
            factor = sqrt(state.mean_size) / sqrt(mean)
        state.mean_size = mean
    state.measured += 1.0
    return factor


cdef inline void begin_proposal(Proposal* step) noexcept nogil:
    """A step that changes nothing."""
    step.rate = step.move = step.intercept_move = step.progress = 0.0
    step.keep, step.keep_low, step.pull = 1.0, 0.0, 0.0


cdef inline void propose(
    Proposal* step,
    const FromData* state,
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

    In units in which rows have the mean size 1, and the intercept is a feature of value 1:

        u = (|x|^2 / m + 1) / 2        (without an intercept |x|^2 / m)
        acc += g^2 min(u, 8)           eta = C Y sqrt(min(1, 8 / u)) / (2 sqrt(acc + 8 G^2))

    The rate of the weights is eta / m, the rate of the intercept is eta.
    """
    cdef double slope = importance * loss_slope(loss, prediction, y, epsilon)
    cdef double mean = state.mean_size
    cdef double intercept = 1.0 if fit_intercept else 0.0
    cdef double relative = size / mean if mean > 0.0 else 0.0
    cdef double scale = 1.0, slope_size = tuning.largest_slope
    cdef double counted, root, rate, rate_of_intercept, reach, decay, growth
    if tuning.follows_targets:
        scale = sqrt(state.sum_of_targets / state.rows)
        if tuning.smooth and scale < slope_size:
            slope_size = scale
    relative = (relative + intercept) / (1.0 + intercept)
    counted = relative if tuning.unbounded else min(relative, tuning.slack)
    step.progress = state.progress + slope * slope * counted
    root = sqrt(step.progress + 8.0 * slope_size * slope_size)
    rate = tuning.constant * scale / ((1.0 + intercept) * root) if root > 0.0 else 0.0
    if not tuning.unbounded and relative > tuning.slack:
        rate *= sqrt(tuning.slack / relative)
    rate_of_intercept = rate * intercept
    if tuning.fading > 0.0 and rate_of_intercept * slope_size * state.rows > tuning.fading * scale:
        rate_of_intercept = tuning.fading * scale / (slope_size * state.rows)
    rate = rate / mean if mean > 0.0 else 0.0
    rate = min(rate, tuning.largest_rate)

    # The step changes the prediction by -reach * slope.
    reach = rate * size + rate_of_intercept
    if tuning.curvature > 0.0:
        slope /= 1.0 + tuning.curvature * importance * reach
    elif tuning.follows_targets and fabs(slope) * reach > fabs(prediction - y):
        slope *= fabs(prediction - y) / (fabs(slope) * reach)
    step.rate = rate
    step.move = rate * slope
    step.intercept_move = rate_of_intercept * slope

    # The digits that keep lost to rounding, as lazynet.rules.base.lost_digits has them.
    growth = rate * tuning.l2
    if tuning.proximal:
        step.keep = 1.0 / (1.0 + growth)
        decay = growth * step.keep
        step.pull = rate * tuning.l1 * step.keep
    else:
        step.keep = 1.0 - growth
        decay = growth
        step.pull = rate * tuning.l1
    step.keep_low = (1.0 - step.keep) - decay if step.keep >= 0.5 else 0.0
    # A state that is not finite would give rates of 0 from now on: the step must be refused.
    if not (step.progress - step.progress == 0.0 and mean - mean == 0.0):
        step.move = step.progress - step.progress + (mean - mean)
