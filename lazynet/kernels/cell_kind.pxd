# What one kind of cell consists of (cell_kind.h).
from .rows cimport Room

cdef extern from "cell_kind.h" nogil:
    ctypedef const char* Name "lazynet_name"

    ctypedef struct Head "lazynet_cell_head":
        double intercept
        double n_rows
        bint measures
        bint wants_values
        double importance
        Room scratch

    ctypedef struct Refusal "lazynet_refusal":
        const char* message
        double numbers[2]

    ctypedef struct Kind "lazynet_cell_kind":
        const char* name
        Py_ssize_t numbers
        const Name* settings
        const Name* fields
        size_t size
        bint scheduled
        bint updates_always
        bint remembers
        bint frozen_intercept
        Py_ssize_t scratch
        Refusal (*refusal)(
            const double* settings, const double* fields, bint running) noexcept nogil
        void (*begin)(void* rule, const double* settings, const double* fields) noexcept nogil
        void (*end)(const void* rule, double* fields) noexcept nogil
        bint (*measure)(void* rule, double size) noexcept nogil
        bint (*advance)(
            void* rule, double move, double rate, double pull, double largest_cushion
        ) noexcept nogil
        void (*sweep)(void* rule, double* cells, Py_ssize_t n) noexcept nogil
        void (*read)(
            const void* rule, const double* cells, Py_ssize_t n, double* weights) noexcept nogil
        void (*retune)(const void* rule, double* cells, Py_ssize_t n) noexcept nogil


cdef inline Py_ssize_t count_of(const Name* names) noexcept:
    """The number of names before the NULL."""
    cdef Py_ssize_t n = 0
    while names[n] != NULL:
        n += 1
    return n
