# The rules with a state of their own, of several outputs; see outputs_cells.pyx.
from .cells cimport AnyRule, _Described
from .outputs cimport Block
from .outputs_steps cimport Scratch, WideVisit
from .rules cimport adagrad, ftrl, rda
from .wide cimport (
    ADAGRAD,
    ADAGRAD_ALPHA,
    ADAGRAD_DELTA,
    ADAGRAD_INITIAL,
    ADAGRAD_L1,
    ADAGRAD_L2,
    FTRL,
    FTRL_ALPHA,
    FTRL_DAMPING,
    FTRL_INVERSE_ALPHA,
    FTRL_L1,
    NOW_SHIFT,
    RDA,
    WideWeights,
)


# The rule of every output as of now, to be freed; raises where settings or fields cannot be used, or for
# a block of another kind.
cdef AnyRule* rules_of(
    Block block, const double[:, ::1] settings, const double[:, ::1] fields) except NULL


cdef inline bint measures(Block block, const AnyRule* rule) noexcept nogil:
    """Whether the rates follow the sizes of the rows."""
    if block.code == ADAGRAD:
        return rule.adagrad.follows != 0.0
    return (rule.ftrl.measures if block.code == FTRL else rule.rda.measures) != 0.0


cdef inline bint measure(Block block, AnyRule* rule, double size) noexcept nogil:
    """Count the size of a row; whether all weights must be brought current before its step."""
    if block.code == ADAGRAD:
        return adagrad.measure(&rule.adagrad, size)
    if block.code == FTRL:
        return ftrl.measure(&rule.ftrl, size)
    return rda.measure(&rule.rda, size)


cdef inline void finish(Block block, AnyRule* rule, double move) noexcept nogil:
    """The motion of all weights at the end of a step."""
    if block.code == ADAGRAD:
        adagrad.finish(&rule.adagrad, move)
    elif block.code == FTRL:
        ftrl.finish(&rule.ftrl, move)
    else:
        rda.finish(&rule.rda, move)


cdef inline void show_numbers(
    Block block, WideWeights* weights, Scratch* scratch, const AnyRule* rules
) noexcept nogil:
    """The numbers of every output's rule that the loops read."""
    cdef Py_ssize_t k, width = block.width
    cdef double* to = scratch.numbers
    weights.numbers = to
    if block.code == ADAGRAD:
        weights.steps = rules[0].adagrad.steps
        weights.decays = False
    for k in range(width):
        if block.code == ADAGRAD:
            to[ADAGRAD_ALPHA * width + k] = rules[k].adagrad.alpha_now
            to[ADAGRAD_DELTA * width + k] = rules[k].adagrad.delta_now
            to[ADAGRAD_L1 * width + k] = (
                rules[k].adagrad.ratio * rules[k].adagrad.l2
                if rules[k].adagrad.l2 > 0.0
                else rules[k].adagrad.l1
            )
            to[ADAGRAD_L2 * width + k] = rules[k].adagrad.l2
            to[ADAGRAD_INITIAL * width + k] = rules[k].adagrad.initial
            weights.decays |= rules[k].adagrad.l2 > 0.0
        elif block.code == FTRL:
            to[FTRL_L1 * width + k] = rules[k].ftrl.shift
            to[FTRL_ALPHA * width + k] = rules[k].ftrl.alpha_now
            to[FTRL_INVERSE_ALPHA * width + k] = rules[k].ftrl.inverse_alpha
            to[FTRL_DAMPING * width + k] = rules[k].ftrl.damping
        else:
            to[NOW_SHIFT * width + k] = rules[k].rda.shift


cdef inline void predict_by_rules(
    Block block, const WideWeights* weights, const WideVisit* at, const AnyRule* rules,
    bint adds_intercept, double* predictions, Py_ssize_t n
) noexcept nogil:
    """predictions <- those of ``n`` outputs for the row at hand."""
    cdef Py_ssize_t k
    block.ops.dot(weights, at.now, at.following, predictions)
    for k in range(n):
        if block.code == ADAGRAD:
            predictions[k] += rules[k].adagrad.intercept if adds_intercept else 0.0
        elif block.code == FTRL:
            predictions[k] += rules[k].ftrl.intercept if adds_intercept else 0.0
        else:
            predictions[k] *= rules[k].rda.factor
            predictions[k] += rules[k].rda.intercept if adds_intercept else 0.0
