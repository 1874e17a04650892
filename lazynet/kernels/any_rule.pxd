# The rules of the step loop as one fused type, and what the loop asks of any of them.  Each function calls
# that of the rule (rules/).
from libc.stdint cimport uint32_t

from .chunk cimport Chunk
from .from_data cimport Proposal
from .lanes cimport Lanes, give1, give2, give3, give4, spread, take1, take2, take3, take4
from .rules cimport adagrad, carpenter, clock, ftrl, rda, saga, tables, truncated_gradient
from .rules.adagrad cimport AdaGrad, DecayingAdaGrad
from .rules.carpenter cimport Carpenter
from .rules.clock cimport Averaged, FreelyAveraged, OnClock
from .rules.ftrl cimport Ftrl
from .rules.rda cimport Rda
from .rules.saga cimport Saga
from .rules.tables cimport OnTables
from .rules.truncated_gradient cimport Truncated

ctypedef fused Rule:
    OnClock
    Averaged
    FreelyAveraged
    Rda
    Ftrl
    AdaGrad
    DecayingAdaGrad
    Truncated
    Carpenter
    Saga
    OnTables

cdef enum:
    MOST_NUMBERS = 4    # in a cell


cdef inline int numbers(const Rule* rule) noexcept nogil:
    """In a cell."""
    if Rule is OnClock or Rule is Rda:
        return 1
    if Rule is Saga:
        return 3
    return 4 if Rule is AdaGrad or Rule is DecayingAdaGrad else 2


cdef inline int kept_numbers(const Rule* rule) noexcept nogil:
    """Kept per nonzero between the prediction and the step."""
    if Rule is OnClock or Rule is Rda or Rule is Truncated or Rule is Carpenter or Rule is OnTables:
        return 1
    return 3 if Rule is Ftrl else 2


cdef inline void take(
    const Rule* rule, const double* cells, const uint32_t* columns, Lanes* cell
) noexcept nogil:
    """The numbers in the cells of some columns, those of a kind side by side."""
    if numbers(rule) == 1:
        cell[0] = take1(cells, columns)
    elif numbers(rule) == 2:
        take2(cells, columns, &cell[0], &cell[1])
    elif numbers(rule) == 3:
        take3(cells, columns, &cell[0], &cell[1], &cell[2])
    else:
        take4(cells, columns, &cell[0], &cell[1], &cell[2], &cell[3])


cdef inline void give(
    const Rule* rule, double* cells, const uint32_t* columns, const Lanes* cell
) noexcept nogil:
    """Store the numbers in the cells of some columns."""
    if numbers(rule) == 1:
        give1(cells, columns, cell[0])
    elif numbers(rule) == 2:
        give2(cells, columns, cell[0], cell[1])
    elif numbers(rule) == 3:
        give3(cells, columns, cell[0], cell[1], cell[2])
    else:
        give4(cells, columns, cell[0], cell[1], cell[2], cell[3])


cdef inline Lanes load(const Rule* rule, const Lanes* cell, Lanes* kept) noexcept nogil:
    """The weights in some cells as of now, less the factor that all share."""
    if Rule is OnClock:
        return clock.load(rule, cell, kept)
    elif Rule is Averaged:
        return clock.load_averaged(&rule.on, cell, kept)
    elif Rule is FreelyAveraged:
        return clock.load_freely_averaged(&rule.on, cell, kept)
    elif Rule is Rda:
        return rda.load(rule, cell, kept)
    elif Rule is Ftrl:
        return ftrl.load(rule, cell, kept)
    elif Rule is AdaGrad:
        return adagrad.load(rule, cell, kept, False)
    elif Rule is DecayingAdaGrad:
        return adagrad.load(&rule.rule, cell, kept, True)
    elif Rule is Truncated:
        return truncated_gradient.load(rule, cell, kept)
    elif Rule is Carpenter:
        return carpenter.load(rule, cell, kept)
    elif Rule is OnTables:
        return tables.load(rule, cell, kept)
    else:
        return saga.load(rule, cell, kept)


cdef inline double factor_of(const Rule* rule) noexcept nogil:
    """What the weights that are loaded are to be multiplied by."""
    if Rule is OnClock:
        return rule.clock.scale
    elif Rule is Averaged or Rule is FreelyAveraged:
        return rule.on.clock.scale
    elif Rule is Rda:
        return rule.factor
    else:
        return 1.0


cdef inline void move(
    const Rule* rule, Lanes* cell, const Lanes* kept, Lanes x, double step
) noexcept nogil:
    """Some cells after a step along x."""
    if Rule is OnClock:
        clock.move(rule, cell, kept, step * x)
    elif Rule is Averaged:
        clock.move_averaged(&rule.on, cell, kept, step * x)
    elif Rule is FreelyAveraged:
        clock.move_freely_averaged(&rule.on, cell, kept, step * x)
    elif Rule is Rda:
        rda.move(rule, cell, kept, step * x)
    elif Rule is Ftrl:
        ftrl.move(rule, cell, kept, step * x)
    elif Rule is AdaGrad:
        adagrad.move(rule, cell, kept, x, spread(step), False)
    elif Rule is DecayingAdaGrad:
        adagrad.move(&rule.rule, cell, kept, x, spread(step), True)
    elif Rule is Truncated:
        truncated_gradient.move(rule, cell, kept, step * x)
    elif Rule is Carpenter:
        carpenter.move(rule, cell, kept, step * x)
    elif Rule is OnTables:
        tables.move(rule, cell, kept, step * x if step != 0.0 else spread(0.0))
    else:
        saga.move(rule, cell, kept, step * x)


cdef inline bint finish(Rule* rule, const Chunk* at, const Proposal* step) noexcept nogil:
    """The motion of all weights; whether all must be brought current before the next step."""
    cdef double move = step.intercept_move if at.fit_intercept else 0.0
    if Rule is Rda:
        return rda.finish(rule, move)
    elif Rule is Ftrl:
        return ftrl.finish(rule, move)
    elif Rule is AdaGrad:
        return adagrad.finish(rule, move)
    elif Rule is DecayingAdaGrad:
        return adagrad.finish(&rule.rule, move)
    elif Rule is Truncated:
        return truncated_gradient.finish(rule, move, step.pull, at.wear.largest_cushion)
    elif Rule is Carpenter:
        return carpenter.finish(rule, move, step.rate)
    elif Rule is OnTables:
        return tables.finish(rule, move, at.wear)
    elif Rule is Saga:
        return saga.finish(rule, move)
    else:
        return False


cdef inline bint measures(const Rule* rule) noexcept nogil:
    """Whether the rates follow the sizes of the rows."""
    if Rule is Rda or Rule is Ftrl:
        return rule.measures != 0.0
    elif Rule is AdaGrad:
        return rule.follows != 0.0
    elif Rule is DecayingAdaGrad:
        return rule.rule.follows != 0.0
    else:
        return False


cdef inline bint measure(Rule* rule, double size) noexcept nogil:
    """Count the size of a row; whether all weights must be brought current before its step."""
    if Rule is Rda:
        return rda.measure(rule, size)
    elif Rule is Ftrl:
        return ftrl.measure(rule, size)
    elif Rule is AdaGrad:
        return adagrad.measure(rule, size)
    elif Rule is DecayingAdaGrad:
        return adagrad.measure(&rule.rule, size)
    else:
        return False


cdef inline double intercept_of(const Rule* rule, const Chunk* at) noexcept nogil:
    """What predictions add."""
    if Rule is Averaged or Rule is FreelyAveraged:
        return rule.on.intercept
    elif Rule is DecayingAdaGrad:
        return rule.rule.intercept if at.fit_intercept else 0.0
    elif Rule is OnClock or Rule is Truncated or Rule is Carpenter or Rule is OnTables:
        return rule.intercept  # one that was loaded counts, fitted or not
    else:
        return rule.intercept if at.fit_intercept else 0.0
