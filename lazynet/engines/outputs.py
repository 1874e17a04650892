"""Engines of several outputs: a row of weights per feature, and one pass over X for all outputs.

An output of such an engine holds the weights that an engine of one output would hold.  Rare
operations (reading all weights, loading them, other constants) are done for one output after the
other by an engine of one output.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Engine, take_until_done
from lazynet.engines.clock import lower_rates
from lazynet.engines.nonzeros import NonzeroWeights
from lazynet.engines.wear import Wear
from lazynet.kernels import averages as averages_kernel
from lazynet.kernels import cells as cells_kernel
from lazynet.kernels import outputs as kernel
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import Steps, Task
from lazynet.kernels.targets import Targets

#: Features whose weights are read at once: their cells stay in the cache.
_FEATURES_AT_ONCE = 2**12
#: Bytes from which on an array lies in large pages.
_LARGE_ARRAY = 2**22
# The smallest scale of a clock beside weights in float, whose exponents end at 127.
_SMALLEST_NARROW_SCALE = 2.0**-60


class OwnSteps(NamedTuple):
    """The rates and shrinks of consecutive steps that differ from output to output.

    Each array has a row per step, with an entry per output of the block, filled up to its width;
    but for ``pull``, one entry for all outputs will do.
    """

    rates: NDArray[np.float64]
    keep: NDArray[np.float64]
    keep_low: NDArray[np.float64]
    pull: NDArray[np.float64]


class Chunk(NamedTuple):
    """What a call of the kernel visits, and the losses that it adds up."""

    examples: Examples
    targets: Targets
    steps: Steps
    task: Task
    losses: NDArray[np.float64]


class OutputsEngine(Engine):
    """The base: cells of ``dtype``, and what is needed to read, load and train them.

    ``width`` is the number of outputs, filled up to whole cache lines.
    """

    #: how the kernel calls the cells
    kind: ClassVar[str]
    _per_weight: ClassVar[tuple[str, ...]] = ("cells",)
    #: the arrays that the kernel has of a block, beside its cells and stamps
    _beside: ClassVar[tuple[str, ...]]
    #: a number per feature: the step up to which its row of weights is current; None: not needed
    stamps: Any = None
    #: the rates and shrinks of every output in the chunk, where they differ; None: of the steps
    own_steps: OwnSteps | None = None
    #: l1, l2 and the largest rate of every output, where they differ; None: those of the task
    strengths: NDArray[np.float64] | None = None

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        dtype: Any = np.float64,
        wear: Wear | None = None,
    ) -> None:
        wear = wear if wear is not None else Wear()
        if np.dtype(dtype) == np.float32:
            wear = replace(wear, smallest_scale=max(wear.smallest_scale, _SMALLEST_NARROW_SCALE))
        super().__init__(n_features, wear)
        self.n_outputs, self.dtype = n_outputs, np.dtype(dtype)
        self.width = width_of(n_outputs, self.dtype)
        columns = self.width * kernel.numbers(self.kind)
        self.cells = on_lines(n_features, columns, self.dtype)
        if "stamps" in self._per_weight:
            self.stamps = np.zeros(n_features)

    def _zeros(self, name: str, n_features: int) -> NDArray[Any]:
        if name != "cells":
            return super()._zeros(name, n_features)
        return on_lines(n_features, self.cells.shape[1], self.dtype)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        cells = on_lines(len(self.cells), self.cells.shape[1], self.dtype)
        cells[...] = self.cells
        self.cells = cells

    def _block(self) -> kernel.Block:
        """The weights as the kernel takes them."""
        return self._block_of(self.cells, slice(None))

    def _block_of(self, cells: NDArray[Any], which: Any, kind: str | None = None) -> kernel.Block:
        """A block of the ``cells`` of the features ``which``."""
        stamps = None if self.stamps is None else np.ascontiguousarray(self.stamps[which])
        beside = {name: getattr(self, name) for name in self._beside}
        return kernel.Block(kind or self.kind, cells, self.width, stamps, **beside)

    def _past(self) -> averages_kernel.Average | None:
        """The past of the averages; None where there are none."""
        return None

    def _call(
        self, chunk: Chunk, first: int, *, softmax: bool = False, learns: bool = True
    ) -> tuple[int, int]:
        """Call the kernel once; returns its status and the first step not taken.

        Where nothing ``learns``, only the losses are added up.
        """
        return kernel.run(
            self._block(), *chunk, first, softmax, learns, self.own_steps, self._past(),
            self.strengths,
        )  # fmt: skip

    def learn(
        self,
        examples: Examples,
        targets: Targets,
        steps: Steps,
        task: Task,
        t: int,
        losses: NDArray[np.float64],
        softmax: bool = False,
    ) -> None:
        """Take all steps of the chunk; add the losses before the updates to ``losses``."""
        chunk = Chunk(examples, targets, steps, task, losses)
        take_until_done(
            lambda first: self._call(chunk, first, softmax=softmax),
            len(steps),
            t,
            examples,
            row_of=steps.row,
            advice=self.advice,
            sweep=self.sweep,
        )

    def losses_on(
        self, examples: Examples, targets: Targets, steps: Steps, task: Task
    ) -> NDArray[np.float64]:
        """The summed losses of every output on the rows of the steps, of which none is taken."""
        chunk = Chunk(examples, targets, steps, task, np.zeros(self.n_outputs))
        take_until_done(
            lambda first: self._call(chunk, first, learns=False),
            len(steps),
            0,
            examples,
            row_of=steps.row,
            advice=self.advice,
        )
        return chunk.losses

    def _block_to_read(self, which: Any) -> kernel.Block:
        """The weights of some features, perhaps copied."""
        return self._block_of(np.ascontiguousarray(self.cells[which], np.float64), which)

    def _by_feature(self, which: Any, model: bool) -> NDArray[np.float64]:
        """The weights of some features, a row per feature: the model's or the last weights."""
        block = self._block_to_read(which)
        found = np.empty((block.n_features, self.n_outputs))
        kernel.read(block, found)
        return found

    def _chunks(self, model: bool) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """The weights of some features after the other, a row per feature."""
        for start in range(0, self.n_features, _FEATURES_AT_ONCE):
            some = slice(start, min(start + _FEATURES_AT_ONCE, self.n_features))
            yield some, self._by_feature(some, model)

    def _all_rows(self, out: NDArray[np.float64] | None, model: bool) -> NDArray[np.float64]:
        out = np.empty((self.n_outputs, self.n_features)) if out is None else out
        for some, part in self._chunks(model):
            out[:, some] = part.T
        return out

    def nonzero_weights(self, *, last: bool = False) -> NonzeroWeights:
        """The nonzeros among ``rows``, without an array of all weights.

        >>> engine = OutputsOnClock(3, 2)
        >>> engine.load_coefficients(np.array([[0.0, 2.0, 0.0], [4.0, 0.0, 6.0]]), np.zeros(2))
        >>> from lazynet.engines.nonzeros import csr_of
        >>> csr_of([engine.nonzero_weights()], 3).toarray()
        array([[0., 2., 0.],
               [4., 0., 6.]])
        """
        parts = ((some.start, part) for some, part in self._chunks(not last))
        return NonzeroWeights(self.n_outputs, parts)

    def nonzeros(self) -> NDArray[np.int64]:
        """The number of last weights of every output that are not 0."""
        found = np.zeros(self.n_outputs, dtype=np.int64)
        for _, part in self._chunks(False):
            found += np.count_nonzero(part, axis=0)
        return found

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """All current weights, a row per output."""
        return self._all_rows(out, False)

    def model(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """The weights that predict, a row per output."""
        return self._all_rows(out, True)

    def weights_at(self, which: Any) -> NDArray[np.float64]:
        return np.ascontiguousarray(self._by_feature(which, False).T)

    def model_at(self, which: Any) -> NDArray[np.float64]:
        return np.ascontiguousarray(self._by_feature(which, True).T)

    def coefficients(
        self, out: NDArray[np.float64] | None = None, *, last: bool = False
    ) -> NDArray[np.float64]:
        return self._all_rows(out, not last)

    def coefficients_at(self, which: NDArray[Any]) -> NDArray[np.float64]:
        return self.model_at(which)

    def _is_finite_at(self, indices: NDArray[Any]) -> bool:
        return bool(np.isfinite(self.cells[indices]).all())

    @property
    def intercept(self) -> float:
        """The sum of the intercepts, which is finite only if all of them are."""
        return float(self.intercepts.sum())


class OutputsOnClock(OutputsEngine):
    """The clock: one number per weight; one clock for all outputs, or a clock for each.

    >>> engine = OutputsOnClock(3, 2)
    >>> engine.load_coefficients(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([0.5, 0.0]))
    >>> engine.weights_at(np.array([2])), engine.intercepts
    (array([[3.],
           [6.]]), array([0.5, 0. ]))
    """

    name = "clock"
    kind = "clock"
    _beside = ("clocks", "own", "scalars", "rates")
    _scalars: ClassVar[tuple[str, ...]] = _beside

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        dtype: Any = np.float64,
        wear: Wear | None = None,
        own_clocks: bool = False,
    ) -> None:
        super().__init__(n_features, n_outputs, dtype, wear)
        self.clocks = np.zeros((kernel.CLOCK_ROWS, self.width if own_clocks else 1))
        self.own = np.zeros((kernel.OWN_ROWS, self.width))
        self.scalars = np.zeros(kernel.SCALARS)
        self.rates = np.zeros((n_outputs, cells_kernel.FROM_DATA_FIELDS))
        self._start_clocks()

    def _start_clocks(self) -> None:
        """Set the clocks to their start; a pending step is kept."""
        self.clocks[0], self.clocks[1:] = 1.0, 0.0
        self.scalars[kernel.WORK_SCALAR] = 0.0

    def _sweep(self) -> None:
        kernel.sweep(self._block())
        self._start_clocks()

    def _block_to_read(self, which: Any) -> kernel.Block:
        first_numbers = np.ascontiguousarray(self.cells[which][:, : self.width], np.float64)
        return self._block_of(first_numbers, which, "clock")

    @property
    def intercepts(self) -> NDArray[np.float64]:
        return self.own[kernel.INTERCEPT_ROW, : self.n_outputs].copy()

    @property
    def model_intercepts(self) -> NDArray[np.float64]:
        return self.intercepts

    @property
    def present_rate(self) -> float | None:
        if not self.rates[0, cells_kernel.ROWS_SEEN_FIELD]:
            return None
        return float(self.rates[0, cells_kernel.LAST_RATE_FIELD])

    def continue_rates(self, other: Engine) -> None:
        if isinstance(other, OutputsOnClock) and other.rates.shape == self.rates.shape:
            self.rates[:] = other.rates

    def calm(self) -> None:
        lower_rates(self.rates)

    def load_coefficients(
        self, weights: NDArray[np.float64], intercepts: NDArray[np.float64]
    ) -> None:
        self.cells[...] = 0.0
        self.cells[:, : self.n_outputs] = weights.T
        self.rates[:, cells_kernel.LOADED_FIELD] = weights.any(axis=1)
        self.own[...] = 0.0
        self.own[kernel.INTERCEPT_ROW, : self.n_outputs] = intercepts
        self._start_clocks()
        self.scalars[:] = 0.0

    def go_on_from(self, other: Engine) -> None:
        self.load_coefficients(other.weights(), other.intercepts)


def width_of(n_outputs: int, dtype: np.dtype[Any]) -> int:
    """The number of outputs, filled up to whole cache lines."""
    line = kernel.LINE_BYTES // dtype.itemsize
    return -(-n_outputs // line) * line


def on_lines(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """An array of zeros that begins where a cache line begins.

    A large array lies in large pages where the system has them: a row of X reads weights all over
    the array, and the processor remembers where few pages lie.
    """
    size = rows * columns * np.dtype(dtype).itemsize
    if size >= _LARGE_ARRAY and hasattr(mmap, "MADV_HUGEPAGE"):
        # Private: a process that is forked off gets a copy.
        try:
            pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f"no memory for {size} bytes of weights") from error
        with contextlib.suppress(OSError):  # a system without large pages
            pages.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(pages, dtype=dtype).reshape(rows, columns)
    line = kernel.LINE_BYTES // np.dtype(dtype).itemsize
    room = np.zeros(rows * columns + line, dtype=dtype)
    start = -(room.ctypes.data // np.dtype(dtype).itemsize) % line
    return room[start : start + rows * columns].reshape(rows, columns)
