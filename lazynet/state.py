"""Taking a call back: the engine as it was, at a cost in the nonzeros of the call.

A batch of a few rows must not cost a copy of a million weights.  So only the weights that the
batch touches are put aside; should a sweep over all weights become due, which costs as much as a
copy, they are copied just before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lazynet.engines import Engine

# Picking single weights costs about this much more per weight than copying all of them.
_PICKING_COSTS = 4


class Undo:
    """What is needed to take back everything an engine does from now on.

    >>> import numpy as np
    >>> from lazynet.engines import ClockEngine
    >>> engine = ClockEngine(3)
    >>> undo = Undo(engine, np.array([1]))
    >>> engine.stored[1] = 5.0
    >>> undo.rollback()
    >>> engine.weights().tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(self, engine: Engine, touched: NDArray[Any]) -> None:
        self.engine = engine
        self.scalars = engine.scalars()
        arrays = engine.per_weight()
        few = len(touched) * _PICKING_COSTS < engine.n_features
        self.touched = touched if few and engine.touches_only_nonzeros else None
        self.picked = [array[touched] for array in arrays] if self.touched is not None else []
        self.copies = [] if self.touched is not None else [array.copy() for array in arrays]
        self.discarded: list[NDArray[Any]] | None = None
        engine.undo = self

    def before_sweep(self) -> None:
        """Called by the engine when it is about to change every weight."""
        if not self.copies:
            self.copies = [array.copy() for array in self.engine.per_weight()]
        if self.discarded is None:
            self.discarded = [array.copy() for array in self.engine.discarded_by_sweep()]

    def rollback(self) -> None:
        """Make the engine what it was."""
        arrays = self.engine.per_weight()
        for array, copy in zip(arrays, self.copies, strict=False):
            np.copyto(array, copy)
        if self.touched is not None:
            for array, picked in zip(arrays, self.picked, strict=True):
                array[self.touched] = picked
        self.engine.set_scalars(self.scalars)
        for array, copy in zip(
            self.engine.discarded_by_sweep(), self.discarded or [], strict=False
        ):
            np.copyto(array, copy[: len(array)])
        self.done()

    def done(self) -> None:
        """Keep what the engine did."""
        self.engine.undo = None


@contextmanager
def undone_on_failure(engines: Sequence[Engine], touched: NDArray[Any]) -> Iterator[None]:
    """Whatever ends the block early, Ctrl-C included, leaves the engines as they were."""
    undos = [Undo(engine, touched) for engine in engines]
    try:
        yield
    except BaseException:
        for undo in undos:
            undo.rollback()
        raise
    for undo in undos:
        undo.done()
