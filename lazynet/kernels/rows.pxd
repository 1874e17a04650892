# The matrix of rows.h, and what the header offers beside it.
from libc.stdint cimport int64_t, uint32_t

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

    ctypedef struct Room "lazynet_room":
        void* bytes
        size_t size

    ctypedef struct Past "lazynet_past":
        double* shifts
        double* scales
        double* pulls
        Py_ssize_t n
        Py_ssize_t room

    enum:
        LANES "LAZYNET_LANES"

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
    Py_ssize_t iterates_alive "lazynet_iterates_alive"(const Past* past, double magnitude)
    double sum_alive "lazynet_sum_alive"(const Past* past, double z, Py_ssize_t n)
