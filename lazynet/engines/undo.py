"""Calls that change a model as a whole or not at all.

A training call changes a copy of the model, which shares the attributes; one assignment at the end
gives the new attributes to the model.  ``partial_fit`` changes engines in place, because a call
with a few rows must not copy a million weights.  Its undo log has a copy of the weights that the
call touches, and a copy of all weights just before a sweep, which costs as much as this copy.  If
an error or Ctrl-C ends the call, the call undoes its changes before it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lazynet.data.arrays import errors_about
from lazynet.engines.threads import Workers

# Copying single weights costs about 4 times as much per weight as copying all weights.
_PICKING_COSTS = 4


class Undo:
    """The copies from which the changes of one engine are undone.

    The engine may change the weights ``touched`` (None: all); it calls ``before_sweep`` when it is
    about to change all weights.

    >>> from lazynet.engines.clock import ClockEngine
    >>> engine = ClockEngine(3)
    >>> undo = Undo(engine, np.array([1]))
    >>> engine.cells[1] = 5.0
    >>> undo.rollback()
    >>> engine.weights().tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(self, engine: Any, touched: NDArray[Any] | None) -> None:
        few = touched is not None and len(touched) * _PICKING_COSTS < engine.n_features
        # A copy: the columns of X may change.
        self.engine, self.touched = engine, touched.copy() if touched is not None and few else None
        #: the names of the arrays of which only the touched rows are copied
        self.partly_copied = engine._per_feature if few else ()
        #: the small arrays and the weights: the touched ones, or all
        self.copies: dict[str, NDArray[Any]] = {}
        #: copies before a sweep of the arrays that only a sweep changes: tables and other weights
        self.swept: dict[str, NDArray[Any]] = {}
        with errors_about("X"):
            for name, array in engine.state().items():
                if name in self.partly_copied:
                    self.copies[name] = array[self.touched]
                elif name != engine._table:
                    self.copies[name] = array.copy()
        if self.partly_copied or engine._table:
            engine.before_sweep = self.copy_all

    def copy_all(self) -> None:
        """Copy the arrays that a sweep changes, unless they are copied already."""
        for name, array in self.engine.state().items():
            if name not in self.swept and (name in self.partly_copied or name not in self.copies):
                self.swept[name] = array.copy()

    def state(self) -> dict[str, NDArray[Any]]:
        """The state of the engine when its copies were made."""
        state: dict[str, NDArray[Any]] = {**self.engine.state(), **self.swept}
        for name, copy in self.copies.items():
            if name in self.partly_copied:
                state[name] = state[name].copy()
                state[name][self.touched] = copy
            else:
                state[name] = copy
        return state

    def rollback(self) -> None:
        """Restore the engine, whose next changes can be undone too; the call can be repeated."""
        self.engine.before_sweep = None
        self.engine.set_state(self.state())
        self.swept = {}
        self.engine.before_sweep = self.copy_all


@dataclass
class UndoLog:
    """The changes that a call makes in place: to random generators and to engines."""

    #: the generators of the model, each with its state before the call
    generators: list[tuple[np.random.RandomState, Any]] = field(default_factory=list)
    undos: list[Undo] = field(default_factory=list)
    workers: Workers | None = None

    def before(
        self, engines: Sequence[Any], touched: NDArray[Any], workers: Workers | None = None
    ) -> None:
        """Let the engines change in the weights ``touched``, or in a sweep.

        ``workers`` are the threads that may change the engines.
        """
        self.workers = workers
        for engine in engines:
            self.undos.append(Undo(engine, touched))

    def end(self, keep: bool) -> None:
        """Keep the changes or undo them; an interrupted call of ``end`` can be repeated."""
        if not keep:
            if self.workers is not None:
                # A thread that still trains would write to the restored arrays.
                self.workers.close()
            for undo in self.undos:
                undo.rollback()
            for generator, state in self.generators:
                generator.set_state(state)
        for undo in self.undos:
            undo.engine.before_sweep = None
        self.undos, self.generators = [], []


Method = TypeVar("Method", bound=Callable[..., Any])


def all_or_nothing(method: Method) -> Method:
    """Let a method change the model as a whole or, if an error or Ctrl-C ends it, not at all.

    The method must call ``self._undo.before`` before it changes engines in place.
    """

    @wraps(method)
    def call(model: Any, /, *arguments: Any, **options: Any) -> Any:
        changed, log = object.__new__(type(model)), UndoLog()
        for value in vars(model).values():
            if isinstance(value, np.random.RandomState):
                log.generators.append((value, value.get_state()))
        changed.__dict__.update(model.__dict__, _undo=log)
        try:
            try:
                result = method(changed, *arguments, **options)
                del changed.__dict__["_undo"]
                # This assignment completes the call; before it the model is unchanged.
                model.__dict__ = changed.__dict__
            finally:
                log.end(keep=model.__dict__ is changed.__dict__)
        finally:
            # A second Ctrl-C may have interrupted the end: repeat it.
            log.end(keep=model.__dict__ is changed.__dict__)
        return result

    return call  # type: ignore[return-value]
