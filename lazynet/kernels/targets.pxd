# The targets of several outputs; see targets.pyx.
from .outputs_chunk cimport TargetRows


cdef class Targets:
    cdef readonly Py_ssize_t n_rows, first, n_outputs
    cdef TargetRows rows
    cdef object held
