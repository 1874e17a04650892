# Arrays that a kernel is given; see arrays.pyx.

# Objects that keep NumPy from moving the arrays.
cdef list pinned(arrays)


cdef class Held:
    cdef void* begin       # NULL where it is empty
    cdef tuple shape
    cdef object view, pins # keep it in place
