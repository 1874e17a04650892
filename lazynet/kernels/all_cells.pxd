# Loops over all cells: the weights in them, and AdaGrad's cells brought current.
from libc.stdint cimport uint32_t

from .chunk cimport DECAYING_ADAGRAD
from .any_rule cimport MOST_NUMBERS, Rule, factor_of, give, load, numbers, take
from .lanes cimport WIDTH, Lanes, any_nonzero, put_lanes
from .rules cimport adagrad
from .rules.adagrad cimport AdaGrad


cdef inline void read(
    const Rule* rule, const double* cells, Py_ssize_t n, double* out
) noexcept nogil:
    """out <- the weights in n cells."""
    cdef uint32_t[WIDTH] columns
    cdef Lanes[MOST_NUMBERS] cell, kept
    cdef double[WIDTH] weights
    cdef Py_ssize_t j = 0
    cdef int lane
    cdef double factor = factor_of(rule)
    while j < n:
        for lane in range(WIDTH):
            columns[lane] = min(<Py_ssize_t> lane, n - 1 - j)
        take(rule, cells + numbers(rule) * j, columns, cell)
        put_lanes(weights, load(rule, cell, kept) * factor)
        for lane in range(min(<Py_ssize_t> WIDTH, n - j)):
            out[j + lane] = weights[lane]
        j += WIDTH


cdef inline void renew(int kind, void* given, double* cells, Py_ssize_t n) noexcept nogil:
    cdef AdaGrad* rule = <AdaGrad*> given
    cdef AdaGrad old = rule[0]
    cdef double factor = adagrad.change_scale(rule)
    cdef uint32_t[WIDTH] columns
    cdef Lanes[MOST_NUMBERS] cell
    cdef Py_ssize_t j = 0
    cdef int lane
    while j < n:
        for lane in range(WIDTH):
            columns[lane] = min(<Py_ssize_t> lane, n - 1 - j)
        take(rule, cells + 4 * j, columns, cell)
        if any_nonzero(cell[0]):  # early in a fit most weights are zero
            adagrad.renew(&old, rule, cell, factor, kind == DECAYING_ADAGRAD)
            give(rule, cells + 4 * j, columns, cell)
        j += WIDTH
