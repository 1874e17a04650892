# The loops over rows of weights of wide.h.
from .rows cimport Csr, Past, Row

cdef extern from "wide.h" nogil:
    enum:
        LINE "LAZYNET_LINE"
        MOST_NUMBERS "LAZYNET_MOST_NUMBERS"
        NOW_SHIFT "LAZYNET_NOW_SHIFT"
        FTRL_L1 "LAZYNET_FTRL_NOW_L1"
        FTRL_ALPHA "LAZYNET_FTRL_NOW_ALPHA"
        FTRL_INVERSE_ALPHA "LAZYNET_FTRL_NOW_INVERSE_ALPHA"
        FTRL_DAMPING "LAZYNET_FTRL_NOW_DAMPING"
        ADAGRAD_ALPHA "LAZYNET_ADAGRAD_NOW_ALPHA"
        ADAGRAD_DELTA "LAZYNET_ADAGRAD_NOW_DELTA"
        ADAGRAD_L1 "LAZYNET_ADAGRAD_NOW_L1"
        ADAGRAD_L2 "LAZYNET_ADAGRAD_NOW_L2"
        ADAGRAD_INITIAL "LAZYNET_ADAGRAD_NOW_INITIAL"

    enum WideKind "lazynet_wide_kind":
        CLOCK "LAZYNET_WIDE_CLOCK"
        AVERAGED_CLOCK "LAZYNET_WIDE_AVERAGED_CLOCK"
        RDA "LAZYNET_WIDE_RDA"
        FTRL "LAZYNET_WIDE_FTRL"
        ADAGRAD "LAZYNET_WIDE_ADAGRAD"
        GROUP_L2 "LAZYNET_WIDE_GROUP_L2"
        GROUP_MAX "LAZYNET_WIDE_GROUP_MAX"

    ctypedef struct WideRow "lazynet_wide_row":
        const void* values
        const Py_ssize_t* features
        const Py_ssize_t* places
        double* shares
        Py_ssize_t length

    ctypedef struct WideWeights "lazynet_wide_weights":
        void* cells
        double* stamps
        Py_ssize_t width
        Py_ssize_t stride
        const double* numbers
        double steps
        bint decays
        double importance
        const Past* past

    ctypedef struct WideOps "lazynet_wide_ops":
        void (*dot)(const WideWeights*, const WideRow* row, const WideRow* next,
                    double* out) noexcept nogil
        void (*update)(const WideWeights*, const WideRow* row, const WideRow* next,
                       const double* moves) noexcept nogil
        void (*sweep)(const WideWeights*, Py_ssize_t n, const double* factors) noexcept nogil

    ctypedef struct Clocks "lazynet_clocks":
        double* scale
        double* scale_low
        double* shift
        double* shift_low

    ctypedef struct Extremes "lazynet_clock_extremes":
        double smallest_scale
        double largest_shift
        double largest_cushion

    ctypedef struct OutputOps "lazynet_output_ops":
        void (*fill)(double* numbers, double number, Py_ssize_t n) noexcept nogil
        void (*predict)(double* sums, const double* scales, const double* intercepts,
                        Py_ssize_t n) noexcept nogil
        void (*multiply)(const double* one, const double* other, Py_ssize_t n,
                         double* products) noexcept nogil
        void (*divide)(double* numbers, const double* divisors, Py_ssize_t n) noexcept nogil
        bint (*all_finite)(const double* numbers, Py_ssize_t n) noexcept nogil
        Extremes (*advance)(const Clocks*, Py_ssize_t n, const double* keep,
                            const double* keep_low, const double* pull) noexcept nogil
        void (*log_slopes)(const double* predictions, const double* targets, Py_ssize_t n,
                           double importance, double* slopes, double* losses) noexcept nogil
        double (*softmax_slopes)(const double* predictions, Py_ssize_t label, Py_ssize_t n,
                                 double importance, double* slopes) noexcept nogil
        void (*unpack)(const Row* row, bint wide_values, bint wide_weights, Py_ssize_t stride,
                       void* values, Py_ssize_t* features, Py_ssize_t* places) noexcept nogil

    const WideOps* wide_ops_for "lazynet_wide_ops_for"(bint wide, int level, int kind)
    const OutputOps* output_ops_for "lazynet_output_ops_for"(int level)
