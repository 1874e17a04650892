# Several numbers side by side, and numbers that the compiler computes so (lanes.h).  To Cython, Lanes are a double.
from libc.stdint cimport int64_t, uint32_t

cdef extern from "lanes.h" nogil:
    ctypedef double Real
    ctypedef double Lanes
    enum:
        LANES "LAZYNET_LANES"
        WIDTH
    int best_level "lazynet_best_level"()  # of vector units
    double exp_of_negative "lazynet_exp_of_negative"(double)
    double log1p_of "lazynet_log1p"(double)  # of numbers that are not negative
    double log_and "lazynet_log_and"(double, double lost)  # of a positive number, plus lost
    Lanes broadcast(double)  # of Lanes: what they are
    Lanes lanes_at(const Real*)
    void put_lanes(Real*, Lanes)
    void set_lane(Lanes*, int lane, double)
    double lane_of(Lanes, int lane)
    # masks
    Lanes nonzero(Lanes)
    Lanes is_zero(Lanes)
    Lanes exceeds(Lanes, double limit)
    Lanes at_most(Lanes, double limit)
    Lanes both(Lanes, Lanes)
    Lanes without(Lanes, Lanes)
    Lanes where(Lanes mask, Lanes yes, Lanes no)
    bint any_lane(Lanes mask)
    bint any_above(Lanes, double limit)
    bint any_nonzero(double)  # of Lanes or of one number
    # arithmetic
    Lanes absolute(Lanes)
    Lanes with_sign(Lanes magnitude, Lanes of)
    Lanes lower(Lanes, Lanes)
    Lanes higher(Lanes, Lanes)
    Lanes root(Lanes)
    Lanes at_least_zero(Lanes)
    Lanes soft(Lanes z, Lanes shift)
    Lanes unsoft(Lanes v, Lanes shift)
    Lanes small_expm1(Lanes)
    Lanes small_log1p(Lanes)
    Lanes any_expm1(Lanes)
    Lanes any_log1p(Lanes)

    # outputs side by side
    enum:
        LANES_OF_LINE
        LINE
        LANES_AT_ONCE
    Lanes lanes_of_doubles(const double*)
    Lanes lanes_of_floats(const float*)
    void put_doubles(double*, Lanes)
    void put_floats(float*, Lanes)

    void add_tile(
        const float* left, const float* right, Py_ssize_t n, float* sums, Py_ssize_t width)

    # nonzeros side by side, in eight sums ...
    ctypedef struct Eight:
        pass
    enum:
        PARTS
    Lanes without_first(Lanes, int64_t)
    Eight eight_zeros()
    void add_to_part(Eight* sums, int part, Lanes)
    double sum_of_eight(const Eight*)
    # ... with cells of one to four numbers
    Lanes gather_one(const double* cells, const uint32_t* columns, Py_ssize_t n)
    void scatter_one(double* cells, const uint32_t* columns, Py_ssize_t n, Lanes)
    void gather2(const double* cells, const uint32_t* columns, Lanes*, Lanes*)
    void scatter2(double* cells, const uint32_t* columns, Lanes, Lanes)
    void gather4(const double* cells, const uint32_t* columns, Lanes*, Lanes*, Lanes*, Lanes*)
    void scatter4(double* cells, const uint32_t* columns, Lanes, Lanes, Lanes, Lanes)
