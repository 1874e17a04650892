"""Arrays that a kernel is given: checked once, and held in place."""

cimport cython

import weakref

import numpy as np


cdef list pinned(arrays):
    """Weak references to the arrays and to the arrays that own their memory.

    NumPy's ``resize`` moves an array even while a kernel holds its buffer, but refuses if a weak
    reference to the array exists.
    """
    pins = []
    for array in arrays:
        while isinstance(array, np.ndarray):
            pins.append(weakref.ref(array))
            array = array.base
    return pins


cdef int check_aligned(str name, const void* first, size_t itemsize=8) except -1:
    if <size_t> first % itemsize:
        raise ValueError(f"{name} must be aligned in memory to its {itemsize}-byte numbers")
    return 0


cdef int check_vector(str name, const double[::1] array, Py_ssize_t length) except -1:
    if array.shape[0] != length:
        raise ValueError(f"{name} must have {length} entries, got {array.shape[0]}")
    return check_aligned(name, &array[0] if length else NULL)


cdef int check_cells(
    const double[:, ::1] cells, Py_ssize_t length, Py_ssize_t numbers, str name="cells"
) except -1:
    if cells.shape[0] != length or cells.shape[1] != numbers:
        raise ValueError(
            f"{name} must have {length} rows of {numbers} numbers, "
            f"got {cells.shape[0]} rows of {cells.shape[1]}"
        )
    return check_aligned(name, &cells[0, 0] if length and numbers else NULL)


@cython.final
cdef class Held:
    """An array of this shape, any number of entries where it is None; held, it stays in place.

    ``formats`` has the letters of its type; ``begin`` is NULL where it is empty.
    """
    # __cinit__ runs exactly once; __init__ can be skipped or called again.
    def __cinit__(
        self, str name not None, array, tuple shape not None, str formats not None="d",
        bint writes=True,
    ):
        cdef const unsigned char[::1] flat
        cdef size_t size
        try:
            self.view = memoryview(array)
        except TypeError:
            raise TypeError(f"{name} must be an array, got {type(array).__name__}") from None
        # What is asked of the buffer is true; the attributes of an array can be wrong.
        self.shape, self.pins = self.view.shape, pinned((array,))
        size = 4 if self.view.format == "f" else 8
        if self.view.format not in tuple(formats) or self.view.itemsize != size:
            raise TypeError(f"{name} must be an array of {formats!r}, got {self.view.format!r}")
        fits = len(self.shape) == len(shape)
        for wanted, got in zip(shape, self.shape):
            fits = fits and (wanted is None or wanted == got)
        if not fits:
            wanted = tuple(["any" if n is None else n for n in shape])
            raise ValueError(f"{name} must have the shape {wanted}, got {self.shape}")
        if not self.view.c_contiguous:
            raise ValueError(f"{name} must be a C-contiguous array")
        if writes and self.view.readonly:
            raise ValueError(f"{name} must be a writeable array")
        if self.view.nbytes:
            flat = self.view.cast("B")
            self.begin = <void*> &flat[0]
        if <size_t> self.begin % size:
            raise ValueError(f"{name} must be an array aligned in memory to its {size}-byte numbers")
