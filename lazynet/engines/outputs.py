"""Engines of several outputs: a row of weights per feature, and one pass over X for all outputs.

An output of such an engine has the same weights as an engine of one output.  The engines in this
file store weights relative to clocks: one clock for all outputs or one for each; with averages; or
with groups of weights.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.engines.base import ALL, Engine, Floats, take_until_done
from lazynet.engines.cells import zeros_on_cache_lines
from lazynet.engines.clock import past_of_clock
from lazynet.kernels import many_outputs, one_output
from lazynet.kernels.examples import Examples
from lazynet.kernels.many_outputs import OutputBlock
from lazynet.kernels.steps import AVERAGE_FIELDS, OutputTargets, Steps, Task

#: Features whose weights are read at once: their cells stay in the cache.
_FEATURES_AT_ONCE = 2**12
#: Bytes from which on an array lies in large pages.
_LARGE_ARRAY = 2**22
# The smallest scale of a clock for weights of float32, whose exponents end at 127.
_SMALLEST_NARROW_SCALE = 2.0**-60
# Above this scale the squares of stored weights are in the range of doubles.
_SMALLEST_SCALE_OF_GROUPS = 2.0**-200


class OwnSteps(NamedTuple):
    """The rates and shrinks of consecutive steps that differ from output to output.

    Each array has a row per step, with an entry per output of the block, padded to its width.  An
    array other than ``pull`` may have one entry for all outputs.
    """

    rates: Floats
    keep: Floats
    keep_low: Floats
    pull: Floats


class OutputsEngine(Engine):
    """The base: cells of ``dtype``, and the methods that read, set and train them.

    ``width`` is the number of outputs, rounded up to whole cache lines.
    """

    #: the kernel's name of the kind of cells
    kind: ClassVar[str]
    _cells_show_overflow = True
    #: the names of the arrays that the kernel gets besides cells and stamps
    _other_arrays: ClassVar[tuple[str, ...]]
    #: a number per feature: the step up to which its row of weights is current; None: not needed
    stamps: Any = None
    #: the rates and shrinks of every output in the chunk, if they differ; None: those of the steps
    own_steps: OwnSteps | None = None
    #: l1, l2 and the largest rate of every output, if they differ; None: those of the task
    strengths: Floats | None = None

    def __init__(self, n_features: int, n_outputs: int, dtype: Any = np.float64) -> None:
        self.n_features, self.n_outputs, self.dtype = n_features, n_outputs, np.dtype(dtype)
        if self.dtype == np.float32:
            self.smallest_scale = _SMALLEST_NARROW_SCALE
        line = many_outputs.LINE_BYTES // self.dtype.itemsize
        self.width = -(-n_outputs // line) * line
        columns = self.width * many_outputs.numbers(self.kind)
        self.cells = in_large_pages(n_features, columns, self.dtype)
        if "stamps" in self._per_feature:
            self.stamps = np.zeros(n_features)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        cells = in_large_pages(len(self.cells), self.cells.shape[1], self.dtype)
        cells[...] = self.cells
        self.cells = cells

    # --- training ---

    def _block_of(self, cells: NDArray[Any], which: Any, kind: str | None = None) -> OutputBlock:
        """The ``cells`` of the features ``which`` in the form for the kernel."""
        stamps = None if self.stamps is None else np.ascontiguousarray(self.stamps[which])
        others = {name: getattr(self, name) for name in self._other_arrays}
        return OutputBlock(kind or self.kind, cells, self.width, stamps, **others)

    def _block(self) -> OutputBlock:
        """The weights in the form for the kernel."""
        return self._block_of(self.cells, ALL)

    def learn(
        self,
        examples: Examples,
        targets: OutputTargets,
        steps: Steps,
        task: Task,
        t: int,
        losses: Floats,
        softmax: bool = False,
        learns: bool = True,
    ) -> None:
        """Take all steps of the chunk; add the losses before the updates to ``losses``.

        With ``learns=False`` only the losses are added; no weight changes.
        """
        run = partial(
            many_outputs.run, self._block(), examples, targets, steps, task, losses,
            softmax=softmax, learns=learns, own_steps=self.own_steps, average=self.average,
            strengths=self.strengths,
        )  # fmt: skip
        take_until_done(
            run, len(steps), t, examples,
            row_of=steps.row, remedy=self.remedy, sweep=self.sweep,
        )  # fmt: skip

    # --- the weights ---

    def _block_to_read(self, which: Any) -> OutputBlock:
        """The weights of some features in the form for the kernel, copied if necessary."""
        return self._block_of(np.ascontiguousarray(self.cells[which], np.float64), which)

    def _by_feature(self, which: Any, last: bool) -> Floats:
        """The ``coefficients`` of some features, a row per feature."""
        block = self._block_to_read(which)
        coefficients = np.empty((block.n_features, self.n_outputs))
        many_outputs.read(block, coefficients)
        return coefficients

    def _chunks(self, last: bool) -> Iterator[tuple[slice, Floats]]:
        """The ``coefficients`` of all features, some at a time, a row per feature."""
        for start in range(0, self.n_features, _FEATURES_AT_ONCE):
            features = slice(start, min(start + _FEATURES_AT_ONCE, self.n_features))
            yield features, self._by_feature(features, last)

    def coefficients(self, which: Any = ALL, *, last: bool = False) -> Floats:
        if which is not ALL:
            return np.ascontiguousarray(self._by_feature(which, last).T)
        weights = np.empty((self.n_outputs, self.n_features))
        for features, part in self._chunks(last):
            weights[:, features] = part.T
        return weights

    def sparse_coefficients(self) -> sparse.csr_matrix:
        """The weights for predictions as a sparse matrix, without an array of all weights.

        >>> engine = OutputsOnClock(3, 2)
        >>> engine.set_coefficients(np.array([[0.0, 2.0, 0.0], [4.0, 0.0, 6.0]]), np.zeros(2))
        >>> engine.sparse_coefficients().toarray()
        array([[0., 2., 0.],
               [4., 0., 6.]])
        """
        return sparse.hstack([_rows_of(part) for _, part in self._chunks(last=False)], format="csr")

    def nonzeros(self) -> NDArray[np.int64]:
        """The number of last weights of every output that are not 0."""
        counts = np.zeros(self.n_outputs, dtype=np.int64)
        for _, part in self._chunks(last=True):
            counts += np.count_nonzero(part, axis=0)
        return counts


def _rows_of(by_feature: Floats) -> sparse.csr_matrix:
    """Weights by feature as sparse rows of outputs, in a third of SciPy's time."""
    n, n_outputs = by_feature.shape
    weights = np.ascontiguousarray(by_feature.T).ravel()
    places = np.flatnonzero(weights != 0.0)
    starts = np.searchsorted(places, n * np.arange(n_outputs + 1))
    columns = (places % n).astype(np.int32)
    return sparse.csr_matrix((weights[places], columns, starts), shape=(n_outputs, n))


def in_large_pages(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """An array of zeros that starts at the start of a cache line.

    A large array is in large pages if the system has them: the weights of a row of X are in many
    places of the array, and the processor caches the addresses of only a few pages.
    """
    size = rows * columns * np.dtype(dtype).itemsize
    if size < _LARGE_ARRAY or not hasattr(mmap, "MADV_HUGEPAGE"):
        return zeros_on_cache_lines(rows, columns, dtype)
    # Private: a process that is forked off gets a copy.
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for {size} bytes of weights") from error
    with contextlib.suppress(OSError):  # a system without large pages
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype=dtype).reshape(rows, columns)


# --- clocks --------------------------------------------------------------------------------------


class OutputsOnClock(OutputsEngine):
    """The clock: one number per weight; one clock for all outputs, or a clock for each.

    >>> engine = OutputsOnClock(3, 2)
    >>> engine.set_coefficients(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([0.5, 0.0]))
    >>> engine.coefficients(np.array([2])), engine.intercepts()
    (array([[3.],
           [6.]]), array([0.5, 0. ]))
    """

    name = "clock"
    kind = "clock"
    _other_arrays = ("clocks", "own", "scalars", "rates")
    _others: ClassVar[tuple[str, ...]] = _other_arrays

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        dtype: Any = np.float64,
        own_clocks: bool = False,
    ) -> None:
        super().__init__(n_features, n_outputs, dtype)
        self.clocks = np.zeros((many_outputs.CLOCK_ROWS, self.width if own_clocks else 1))
        self.own = np.zeros((many_outputs.OWN_ROWS, self.width))
        self.scalars = np.zeros(many_outputs.SCALARS)
        self.rates = np.zeros((n_outputs, one_output.RATE_FIELDS))
        self._set_clocks()

    def _set_clocks(self) -> None:
        """Set the clocks to their start; a pending step is kept."""
        self.clocks[0], self.clocks[1:] = 1.0, 0.0
        self.scalars[many_outputs.WORK_SCALAR] = 0.0

    def _sweep(self) -> None:
        many_outputs.sweep(self._block())
        self._set_clocks()

    def _block_to_read(self, which: Any) -> OutputBlock:
        first_numbers = np.ascontiguousarray(self.cells[which][:, : self.width], np.float64)
        return self._block_of(first_numbers, which, "clock")

    def intercepts(self, *, last: bool = False) -> Floats:
        return self.own[many_outputs.INTERCEPT_ROW, : self.n_outputs].copy()

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        self.cells[...] = 0.0
        self.cells[:, : self.n_outputs] = coefficients.T
        self.rates[:, one_output.LOADED_FIELD] = coefficients.any(axis=1)
        self.own[...] = 0.0
        self.own[many_outputs.INTERCEPT_ROW, : self.n_outputs] = intercepts
        self._set_clocks()
        self.scalars[:] = 0.0

    @property
    def rates_from_rows(self) -> Floats:
        return self.rates


class AveragedOutputs(OutputsOnClock):
    """One clock for all outputs, and a second number per weight for the average."""

    kind = "averaged clock"
    _others = (*OutputsOnClock._other_arrays, "totals", "past")
    _table = "past"

    def __init__(self, n_features: int, n_outputs: int) -> None:
        self.past = past_of_clock(n_features)
        self.totals = np.zeros(AVERAGE_FIELDS)
        super().__init__(n_features, n_outputs)

    def _set_clocks(self) -> None:
        super()._set_clocks()
        self.average.begin()

    def _sweep(self) -> None:
        befores = self.cells[:, self.width : self.width + self.n_outputs]
        np.negative(self._sums(ALL), out=befores)
        self.cells[:, : self.n_outputs] = self._by_feature(ALL, last=True)
        self._set_clocks()

    def _sums(self, which: Any) -> Floats:
        """The sum of omega * w over the iterates for the weights w, a row per feature."""
        cells = self.cells[which]
        sums = np.empty((self.n_outputs, len(cells)))
        for number in range(self.n_outputs):
            pairs = np.ascontiguousarray(cells[:, number :: self.width])
            self.average.sums(pairs, sums[number])
        return sums.T

    def _by_feature(self, which: Any, last: bool) -> Floats:
        if last or not self.counted:
            return super()._by_feature(which, last)
        return self._sums(which) / self.counted

    def intercepts(self, *, last: bool = False) -> Floats:
        if last or not self.counted:
            return super().intercepts()
        return self.own[many_outputs.INTERCEPT_SUM_ROW, : self.n_outputs] / self.counted

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        super().set_coefficients(coefficients, intercepts)
        self.totals[:] = 0.0


class GroupedOutputs(OutputsOnClock):
    """One clock for all outputs, and rows of weights that FoBoS shrinks as a whole.

    The penalty of the row v of a feature is l1 ||v||_2 + (l2 / 2) ||v||_2^2: a feature is kept or
    dropped for all outputs together.
    """

    kind = "groups"
    # The norm of a row may overflow although its entries do not.
    _cells_show_overflow = False
    smallest_scale = _SMALLEST_SCALE_OF_GROUPS

    def _block_to_read(self, which: Any) -> OutputBlock:
        return self._block_of(np.ascontiguousarray(self.cells[which]), which)
