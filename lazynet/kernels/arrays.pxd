# Arrays that a kernel is given; see arrays.pyx.

# Objects that keep NumPy from moving the arrays.
cdef list pinned(arrays)

# Raises unless the array called ``name`` is aligned to its numbers of ``itemsize`` bytes.
cdef int check_aligned(str name, const void* first, size_t itemsize=*) except -1

# Raises unless the array called ``name`` has ``length`` entries and is aligned.
cdef int check_vector(str name, const double[::1] array, Py_ssize_t length) except -1

# Raises unless ``cells`` has ``length`` rows of ``numbers`` numbers and is aligned.
cdef int check_cells(
    const double[:, ::1] cells, Py_ssize_t length, Py_ssize_t numbers, str name=*) except -1


cdef class Held:
    cdef void* begin       # NULL where it is empty
    cdef tuple shape
    cdef object view, pins # keep it in place
