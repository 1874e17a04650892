# The row operations of rows.h and the scalars that go with them.
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

cdef extern from "rows.h" nogil:
    ctypedef struct Csr "lazynet_csr":
        const void* values
        const void* columns
        const void* starts
        Py_ssize_t n_rows
        Py_ssize_t n_columns
        Py_ssize_t n_values
        bint wide_values
        bint wide_indices

    enum Defect "lazynet_defect":
        SOUND "LAZYNET_SOUND"
        BAD_START "LAZYNET_BAD_START"
        BAD_COLUMN "LAZYNET_BAD_COLUMN"
        REPEATED "LAZYNET_REPEATED"
        NOT_FINITE "LAZYNET_NOT_FINITE"
        NO_MEMORY "LAZYNET_NO_MEMORY"

    ctypedef struct Row "lazynet_row":
        const void* values
        const uint32_t* columns
        Py_ssize_t length
        double* kept

    ctypedef struct Room "lazynet_room":
        void* bytes
        size_t size

    ctypedef struct Stamps "lazynet_stamps":
        uint16_t* of_columns
        uint16_t latest

    ctypedef struct Past "lazynet_past":
        double* shifts
        double* scales
        double* pulls
        Py_ssize_t n
        Py_ssize_t room

    ctypedef struct RowOps "lazynet_row_ops":
        int (*all_sound)(const Csr*) noexcept nogil
        int (*row_defect)(const Csr*, Py_ssize_t row) noexcept nogil
        int (*row_blemish)(const Csr*, Py_ssize_t row, Room* room, Stamps* stamps) noexcept nogil
        int (*load_row)(const Csr*, Py_ssize_t row, Row* loaded, Room* room) noexcept nogil
        double (*squared_norm)(const Csr*, Py_ssize_t row) noexcept nogil
        double (*absolute_sum)(const Csr*, Py_ssize_t row) noexcept nogil
        double (*dot)(const Row* row, const Row* next, const double* stored,
                      double shift) noexcept nogil
        double (*scan)(const Row* row, const double* weights) noexcept nogil
        void (*update)(const Row* row, double* stored, double shift, double step, bint positive,
                       const double* kept) noexcept nogil
        double (*pair_dot)(const Row* row, const Row* next, const double* cells,
                           double shift) noexcept nogil
        void (*pair_update)(const Row* row, double* cells, double first,
                            double second) noexcept nogil
        Py_ssize_t (*informed_update)(const Row* row, double* cells, double shift, double step,
                                      int64_t* informed, Py_ssize_t n) noexcept nogil
        void (*catch_up)(const Row* row, double* weights, int64_t* last, const double* scales,
                         const double* shifts, int64_t now) noexcept nogil
        void (*expand)(const Row* row, double* dense, double factor) noexcept nogil
        Py_ssize_t (*pick)(const Row* row, const int32_t* places, int32_t first, int32_t* found,
                           double* values) noexcept nogil
        double (*compensated_dot)(const Row* row, const double* weights,
                                  double* low) noexcept nogil
        void (*compensated_update)(const Row* row, double* sums, double factor,
                                   double factor_low) noexcept nogil

    enum:
        LANES "LAZYNET_LANES"

    const RowOps* row_ops_for "lazynet_row_ops_for"(int wide_values, int level)
    int best_level "lazynet_best_level"()
    bint make_room "lazynet_make_room"(Room* room, size_t size)
    void prefetch "LAZYNET_PREFETCH_READ"(const void* address)
    void prefetch_to_write "LAZYNET_PREFETCH_WRITE"(const void* address)
    int64_t start_of "lazynet_start"(const Csr* csr, Py_ssize_t row)
    bint copy_columns "lazynet_copy_columns"(const Csr* csr, Py_ssize_t start, Py_ssize_t n,
                                             uint32_t* copy)
    void fetch_row "lazynet_fetch_row"(const Csr* csr, Py_ssize_t row)
    int64_t read_once "lazynet_read_once"(const int64_t* index)
    double soft "lazynet_soft"(double z, double shift)
    double caught_up "lazynet_caught_up"(double w, double p_psi, double b_psi, double p_now,
                                         double b_now)
    Py_ssize_t iterates_alive "lazynet_iterates_alive"(const Past* past, double magnitude)
    double sum_alive "lazynet_sum_alive"(const Past* past, double z, Py_ssize_t n)
