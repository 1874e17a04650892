# The rules with a state of their own, of several outputs; see outputs_cells.pyx.
from .cell_kind cimport Head, Kind
from .outputs cimport Block
from .outputs_steps cimport Scratch, WideVisit
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

cdef extern from "every_kind.h" nogil:
    ctypedef struct AdaGradConstants "lazynet_adagrad_constants":
        double l2
        double alpha
        double delta
        double decays
        double ratio
        double linear
        double initial

    ctypedef struct AdaGradRule "lazynet_adagrad":
        Head head
        AdaGradConstants constants
        double steps
        double waiting

    ctypedef struct FTRLRule "lazynet_ftrl":
        Head head
        double l1
        double alpha
        double inverse_alpha
        double damping

    ctypedef struct RDARule "lazynet_rda":
        Head head
        double shift
        double scale

    const Kind ADAGRAD_KIND "lazynet_kind_adagrad"
    const Kind FTRL_KIND "lazynet_kind_ftrl"
    const Kind RDA_KIND "lazynet_kind_rda"
    double change_scale "lazynet_adagrad_change_scale"(AdaGradRule* rule)


# The kind of a block of a rule with a state of its own; raises for another block.
cdef const Kind* kind_of(Block block) except NULL

# The rule of every output as of now, to be freed; raises where settings or fields cannot be used.
cdef char* rules_of(
    Block block, const double[:, ::1] settings, const double[:, ::1] fields) except NULL


cdef inline void show_numbers(
    Block block, WideWeights* weights, Scratch* scratch, char* rules
) noexcept nogil:
    """The numbers of every output's rule that the loops read."""
    cdef Py_ssize_t k, width = block.width
    cdef double* to = scratch.numbers
    cdef AdaGradRule* adagrad = <AdaGradRule*> rules
    cdef FTRLRule* ftrl = <FTRLRule*> rules
    cdef RDARule* rda = <RDARule*> rules
    weights.numbers = to
    if block.code == ADAGRAD:
        weights.steps = adagrad.steps
        weights.decays = False
        for k in range(width):
            to[ADAGRAD_ALPHA * width + k] = adagrad[k].constants.alpha
            to[ADAGRAD_DELTA * width + k] = adagrad[k].constants.delta
            to[ADAGRAD_L2 * width + k] = adagrad[k].constants.l2
            to[ADAGRAD_INITIAL * width + k] = adagrad[k].constants.initial
            if adagrad[k].constants.decays > 0.0:
                weights.decays = True
                to[ADAGRAD_L1 * width + k] = (
                    adagrad[k].constants.ratio * adagrad[k].constants.l2
                )
            else:
                to[ADAGRAD_L1 * width + k] = adagrad[k].constants.linear
    elif block.code == FTRL:
        for k in range(width):
            to[FTRL_L1 * width + k] = ftrl[k].l1
            to[FTRL_ALPHA * width + k] = ftrl[k].alpha
            to[FTRL_INVERSE_ALPHA * width + k] = ftrl[k].inverse_alpha
            to[FTRL_DAMPING * width + k] = ftrl[k].damping
    else:
        for k in range(width):
            to[NOW_SHIFT * width + k] = rda[k].shift


cdef inline void predict_by_rules(
    Block block, const WideWeights* weights, const WideVisit* at, const char* rules, size_t each,
    bint adds_intercept, double* predictions, Py_ssize_t n
) noexcept nogil:
    """predictions <- those of ``n`` outputs for the row at hand; a rule has ``each`` bytes."""
    cdef Py_ssize_t k
    block.ops.dot(weights, at.now, at.following, predictions)
    if block.code == RDA:
        for k in range(n):
            predictions[k] *= (<const RDARule*> rules)[k].scale
    if adds_intercept:
        for k in range(n):
            predictions[k] += (<const Head*> (rules + k * each)).intercept
