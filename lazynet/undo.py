"""Calls that change a model as a whole or not at all.

A call that trains changes another object with the same attributes; one assignment at its end gives
the attributes to the model.  ``partial_fit`` changes engines in place, because a batch of a few
rows must not cost a copy of a million weights: its undo log keeps a copy of the weights that the
batch touches, and of all weights just before a sweep, which costs as much as the copy.  If an error
or Ctrl-C ends the call, the call undoes its changes before it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lazynet.threads import Workers

# Copying single weights costs about 4 times as much per weight as copying all weights.
_PICKING_COSTS = 4


class State(NamedTuple):
    """The arrays that make up an engine, by name; they are the engine's own, not copies."""

    #: arrays with an entry, or a row, per weight
    per_weight: dict[str, NDArray[Any]]
    #: small arrays
    scalars: dict[str, NDArray[Any]]
    #: the written part of arrays with an entry per step, which a sweep writes over
    tables: dict[str, NDArray[Any]]


class Undoable(Protocol):
    """The part of an engine that an undo uses."""

    n_features: int
    #: whether a step changes only the weights of its example's nonzeros
    touches_only_nonzeros: ClassVar[bool]
    #: called by the engine when it is about to change every weight
    before_sweep: Callable[[], None] | None

    def state(self) -> State:
        """The arrays that make up the engine."""
        ...


class Undo:
    """The copies from which the changes of one engine are undone.

    >>> import numpy as np
    >>> from lazynet.engines.clock import ClockEngine
    >>> engine = ClockEngine(3)
    >>> undo = Undo(engine, np.array([1]))
    >>> engine.stored[1] = 5.0
    >>> undo.rollback()
    >>> engine.weights().tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(self, engine: Undoable, touched: NDArray[Any]) -> None:
        self.engine = engine
        few = len(touched) * _PICKING_COSTS < engine.n_features
        self.touched = touched if few and engine.touches_only_nonzeros else None
        self.scalars: dict[str, NDArray[Any]] = {}
        self.picked: dict[str, NDArray[Any]] = {}
        self.copies: dict[str, NDArray[Any]] = {}
        self.tables: dict[str, NDArray[Any]] | None = None
        self._room: dict[str, NDArray[Any]] = {}
        self.take()

    def take(self) -> None:
        """Copy the engine as it is now; the copies of before are forgotten."""
        state = self.engine.state()
        self.scalars = _copies(state.scalars)
        self.copies, self.tables = {}, None
        if self.touched is None:
            self.copies = self._copied(state)
        else:
            self.picked = {name: a[self.touched] for name, a in state.per_weight.items()}
        self.engine.before_sweep = self.copy_all

    def copy_all(self) -> None:
        """Copy every weight and the tables, unless they are copied already."""
        state = self.engine.state()
        if not self.copies:
            self.copies = self._copied(state)
        if self.tables is None:
            self.tables = _copies(state.tables)

    def _copied(self, state: State) -> dict[str, NDArray[Any]]:
        """Copies of all weights, in the memory of earlier copies where there is some."""
        if not self._room:
            self._room = _copies(state.per_weight)
        else:
            for name, array in state.per_weight.items():
                np.copyto(self._room[name], array)
        return self._room

    def rollback(self) -> None:
        """Restore the engine; an interrupted rollback can be repeated."""
        arrays = self.engine.state().per_weight
        for name, kept in self.copies.items():
            np.copyto(arrays[name], kept)
        if self.touched is not None:
            for name, picked in self.picked.items():
                arrays[name][self.touched] = picked
        scalars = self.engine.state().scalars
        for name, kept in self.scalars.items():
            np.copyto(scalars[name], kept)
        # The restored scalars give the tables their former lengths.
        tables = self.engine.state().tables
        for name, kept in (self.tables or {}).items():
            np.copyto(tables[name], kept[: len(tables[name])])
        self.done()

    def done(self) -> None:
        """Keep the changes of the engine."""
        self.engine.before_sweep = None

    def kept(self) -> dict[str, dict[str, NDArray[Any]] | None]:
        """The copies, by name; they are not copied."""
        return {
            "scalars": self.scalars,
            "picked": self.picked,
            "copies": self.copies,
            "tables": self.tables,
        }

    def keep(self, kept: dict[str, dict[str, NDArray[Any]] | None]) -> None:
        """Take over the copies of another record of the same engine, as ``kept`` gives them."""
        self.scalars, self.picked = kept["scalars"] or {}, kept["picked"] or {}
        self.copies, self.tables = kept["copies"] or {}, kept["tables"]
        if self.copies:
            self._room = self.copies


def _copies(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name: array.copy() for name, array in arrays.items()}


class UndoLog:
    """What a call has changed in place: the random generators of a model, and its engines."""

    def __init__(self, model: Any) -> None:
        found = [each for each in vars(model).values() if isinstance(each, np.random.RandomState)]
        self.generators = [(each, each.get_state()) for each in found]
        self.undos: list[Undo] = []
        self.workers: Workers | None = None

    def before(
        self, engines: Sequence[Undoable], touched: NDArray[Any], workers: Workers | None = None
    ) -> None:
        """Let the engines change in the weights ``touched``, or in a sweep.

        ``workers`` are the threads that may change the engines.
        """
        self.workers = workers
        self.undos = [Undo(engine, touched) for engine in engines]

    def end(self, keep: bool) -> None:
        """Keep the changes or undo them; an interrupted call of ``end`` can be repeated."""
        if not keep:
            if self.workers is not None:
                # A thread that still learns would write to what is restored.
                self.workers.close()
            for undo in self.undos:
                undo.rollback()
            for generator, state in self.generators:
                generator.set_state(state)
        for undo in self.undos:
            undo.done()
        self.undos, self.generators = [], []


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Model = TypeVar("Model")


def all_or_nothing(
    method: Callable[Concatenate[Model, Arguments], Result],
) -> Callable[Concatenate[Model, Arguments], Result]:
    """Let a method change the model as a whole or, if an error or Ctrl-C ends it, not at all.

    The method must call ``self._undo.before`` before it changes engines in place.
    """

    @wraps(method)
    def call(model: Model, /, *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        changed, log = object.__new__(type(model)), UndoLog(model)
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
        return cast(Result, model) if result is changed else result

    return call
