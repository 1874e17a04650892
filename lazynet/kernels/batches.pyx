"""Steps on batches of rows.

The predictions of a batch are made with the weights before its step.  The rows, each times the slope
of its loss, are added into a dense array of sums, and a list says which columns were touched.  The
sums of these columns, divided by the number of rows, are the values of one merged row: the mean
gradient.  A column whose sum is 0 is left out: its gradient is 0.  The step is that of a single row
with the slope 1.  A rule that reads the values of a row besides the gradient gets a merged row in
units of the mean size of the slopes, and this size as the slope.  A batch costs the nonzeros of its
rows, and the update costs the columns that occur in them.

Property: the weights after every step equal those of ``step_batch`` of the dense references
(tests/exact/test_batches.py).
"""

cimport cython

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from .examples cimport Examples, Visited, pinned


@cython.binding(False)  # a method then checks the type of self
cdef class Merger:
    """Memory in which the rows of a batch are merged; it is allocated when a kernel first uses it."""

    def __cinit__(self):
        memset(&self.at, 0, sizeof(Merging))
        self.busy = False

    def __dealloc__(self):
        self.discard()

    cdef void discard(self) noexcept:
        free(self.at.sums)
        free(self.at.columns)
        free(self.at.values)
        memset(&self.at, 0, sizeof(Merging))

    cdef Merging* begin(self, Examples examples) except NULL:
        cdef Merging* at = &self.at
        cdef Py_ssize_t n = examples.csr.n_columns
        if self.busy:
            raise RuntimeError("a Merger must not be used by two threads at once")
        if at.sums == NULL or at.n_columns != n:
            self.discard()
            # The system maps pages of memory as they are used, not before.
            at.sums = <double*> calloc(n + 1, sizeof(double))
            at.values = <double*> malloc((n + 1) * sizeof(double))
            at.columns = <uint32_t*> malloc((2 * n + 1) * sizeof(uint32_t))
            if at.sums == NULL or at.values == NULL or at.columns == NULL:
                self.discard()
                raise MemoryError(f"no memory to merge rows of {n} columns")
            at.n_columns = n
        self.busy = True
        return at

    cdef void end(self) noexcept:
        self.busy = False

    def clear(self):
        """Forget a batch that was not finished."""
        if self.busy:
            raise RuntimeError("a Merger must not be used by two threads at once")
        if self.at.begun:
            self.discard()


@cython.binding(False)  # a method then checks the type of self
cdef class Batches(Visited):
    """The scalars of consecutive steps, each on the next ``size`` rows of ``order``.

    Every array but ``order`` and ``predictions`` has one entry per step, and the last step may have
    fewer rows.  ``merger`` is memory for one thread at a time; without one, the object has its own.
    """

    def __cinit__(
        self, order not None, Py_ssize_t size, rates not None, keep not None, keep_low not None,
        pull not None, counts=None, predictions=None, Merger merger=None,
    ):
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size}")
        self.order = order
        self.size = min(size, max(self.order.shape[0], 1))
        cdef Py_ssize_t n = self.order.shape[0]
        self.n_batches = n // size + (n % size != 0)
        self.take_scalars(
            rates, keep, keep_low, pull, counts, self.n_batches, "one for each batch"
        )
        self.keep_predictions(predictions)
        self.merger = Merger() if merger is None else merger
        arrays = (order, size, rates, keep, keep_low, pull, counts, predictions)
        self.pins = (arrays, pinned(arrays))

    def __len__(self):
        return self.n_batches

    @property
    def n_rows(self):
        """The number of rows that the steps visit."""
        return self.order.shape[0]

    def with_predictions(self, predictions, Merger merger=None):
        """The same steps, which store their predictions in another array and merge elsewhere."""
        return Batches(*self.pins[0][:7], predictions, merger)

    def begin(self):
        """Forget a batch that an earlier run has not finished."""
        self.merger.clear()

    def row(self, Py_ssize_t step):
        """The number of the row at which a kernel has stopped in ``step``."""
        if not 0 <= step < self.n_batches:
            raise IndexError(f"step must lie between 0 and {self.n_batches - 1}, got {step}")
        cdef Py_ssize_t place = step * self.size
        if self.merger.at.begun and place <= self.merger.at.next < self.order.shape[0]:
            place = self.merger.at.next
        return self.order[place]
