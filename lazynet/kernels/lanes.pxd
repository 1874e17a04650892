# Several doubles side by side (lanes.h).  To Cython, Lanes are a double.
from libc.stdint cimport int64_t, uint32_t

cdef extern from "lanes.h" nogil:
    ctypedef double Lanes
    ctypedef struct Eight:
        pass
    enum:
        LANES "LAZYNET_LANES"
        WIDTH
        PARTS
    Lanes spread(double)
    Lanes lanes_at(const double*)
    void put_lanes(double*, Lanes)
    Lanes with_lane(Lanes, int lane, double)
    double lane_of(Lanes, int lane)
    Lanes quotient(double, Lanes)
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
    Lanes without_first(Lanes, int64_t)
    # arithmetic
    Lanes absolute(Lanes)
    Lanes with_sign(Lanes size, Lanes of)
    Lanes lower(Lanes, Lanes)
    Lanes higher(Lanes, Lanes)
    Lanes root(Lanes)
    Lanes at_least_zero(Lanes)
    Lanes soft_by(Lanes z, Lanes shift)
    Lanes soft(Lanes z, double shift)
    Lanes unsoft(Lanes v, double shift)
    Lanes small_expm1(Lanes)
    Lanes small_log1p(Lanes)
    Lanes any_expm1(Lanes)
    Lanes any_log1p(Lanes)
    # eight sums
    Eight eight_zeros()
    void add_to_part(Eight* sums, int part, Lanes)
    double sum_of_eight(const Eight*)
    # cells of one to four numbers
    Lanes take1(const double* cells, const uint32_t* columns)
    void give1(double* cells, const uint32_t* columns, Lanes)
    void take2(const double* cells, const uint32_t* columns, Lanes*, Lanes*)
    void give2(double* cells, const uint32_t* columns, Lanes, Lanes)
    void take3(const double* cells, const uint32_t* columns, Lanes*, Lanes*, Lanes*)
    void give3(double* cells, const uint32_t* columns, Lanes, Lanes, Lanes)
    void take4(const double* cells, const uint32_t* columns, Lanes*, Lanes*, Lanes*, Lanes*)
    void give4(double* cells, const uint32_t* columns, Lanes, Lanes, Lanes, Lanes)
