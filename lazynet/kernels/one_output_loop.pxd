# The functions that one_output_loop.pyx offers at one vector level, by their addresses.  ``rule`` is the
# struct of the rule of the number ``code`` (any_rule.pxd).
from .chunk cimport StepChunk
from .rows cimport Status


cdef struct Loops:
    # Takes the steps; returns how the call ended.
    Status (*run)(int code, void* rule, StepChunk* at) noexcept nogil
    # out <- the weights in n cells
    void (*read)(int code, const void* rule, const double* cells, Py_ssize_t n, double* out) noexcept nogil
    # Brings the cells of AdaGrad current; recomputes alpha if this is due.
    void (*renew)(void* rule, double* cells, Py_ssize_t n) noexcept nogil
