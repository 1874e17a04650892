"""Calls that change a model as a whole or not at all, one call at a time.

A call changes a draft of the model's attributes; at the end of the call one assignment gives the
attributes of the draft to the model.  Engines are changed in place, because a batch of a few rows
must not cost a copy of a million weights: a journal keeps a copy of the weights that the batch
touches, and of all weights just before a sweep, which costs as much as the copy.  The model holds
the journal until the call is done.
The next use of the model that finds the journal of an ended call undoes this call first.
So Ctrl-C leaves the model as it was before the call, wherever and however often it strikes, even
during the undoing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, Concatenate, NamedTuple, ParamSpec, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.turn import Turn
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
    """The part of an engine that the journal uses."""

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
        # A copy, so that no other thread can change it while the engine learns.
        self.touched = touched.copy() if few and engine.touches_only_nonzeros else None
        self.scalars: dict[str, NDArray[Any]] = {}
        self.picked: dict[str, NDArray[Any]] = {}
        self.copies: dict[str, NDArray[Any]] = {}
        self.tables: dict[str, NDArray[Any]] | None = None
        self._room: dict[str, NDArray[Any]] = {}
        self.take()

    def take(self) -> None:
        """Copy the engine as it is now; what was copied before is forgotten."""
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


class Journal:
    """A record from which one call can be undone: the states of random generators and engines."""

    def __init__(self, generators: Sequence[np.random.RandomState]) -> None:
        self.generators = [(generator, generator.get_state()) for generator in generators]
        self.undos: list[Undo] = []
        self.workers: Workers | None = None

    def protect(
        self, engines: Sequence[Undoable], touched: NDArray[Any], workers: Workers | None = None
    ) -> None:
        """Allow the engines to change in the weights ``touched``, or in a sweep.

        ``workers`` are the threads that may change the engines.
        """
        self.workers = workers
        self.undos = [Undo(engine, touched) for engine in engines]

    def rollback(self) -> None:
        """Restore engines and generators; an interrupted rollback can be repeated."""
        if self.workers is not None:
            # A thread that still learns would write to what is restored.
            self.workers.settle()
        for undo in self.undos:
            undo.rollback()
        for generator, state in self.generators:
            generator.set_state(state)

    def done(self) -> None:
        """Keep the changes of the engines."""
        for undo in self.undos:
            undo.done()


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Model = TypeVar("Model", bound="Transactional")


def all_or_nothing(
    method: Callable[Concatenate[Model, Arguments], Result],
) -> Callable[Concatenate[Model, Arguments], Result]:
    """Let a method change the model as a whole or, if the method ends early, not at all.

    The method runs on a draft: another object with the same attributes, which the model takes over
    when the method returns.  The method must call ``_protect`` before it changes engines in place.
    """

    @wraps(method)
    def call(model: Model, /, *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        if model._turn.held():
            raise RuntimeError(
                "a model cannot be trained from within its own call: another call of the model is "
                "under way in this thread; train a copy of the model"
            )
        return model._turn.call(_as_a_whole, model, method, *arguments, **options)

    return call


def _as_a_whole(
    model: Model, method: Callable[..., Result], *arguments: Any, **options: Any
) -> Result:
    model._take_back()
    journal = model._journal = Journal(model._generators())
    before = dict(model.__dict__)
    draft = object.__new__(type(model))
    draft.__dict__.update(before)
    try:
        result = method(draft, *arguments, **options)
        after = draft.__dict__
        removed = {*(before.keys() - after.keys()), "_journal"}
        changed = {k: v for k, v in after.items() if k not in before or before[k] is not v}
        merged = {**model.__dict__, **changed}
        # This assignment completes the call; before it the model is unchanged.
        model.__dict__ = {k: v for k, v in merged.items() if k not in removed}
    except BaseException:
        if "_journal" in model.__dict__:
            model._take_back()
        else:
            journal.done()
        raise
    journal.done()
    return cast(Result, model) if result is draft else result


def at_rest(
    method: Callable[Concatenate[Model, Arguments], Result],
) -> Callable[Concatenate[Model, Arguments], Result]:
    """Let a method read the model only between two calls that change the model."""

    @wraps(method)
    def read(model: Model, /, *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        within = model._turn.held()
        return model._turn.call(_between_calls, within, model, method, *arguments, **options)

    return read


def _between_calls(
    within: bool, model: Model, method: Callable[..., Result], *arguments: Any, **options: Any
) -> Result:
    if not within:
        model._take_back()
    elif model._journal is not None and model._journal.undos:
        raise RuntimeError(
            "the model is learning in this thread and cannot be read before it is done"
        )
    return method(model, *arguments, **options)


class Transactional:
    """A model whose calls happen as a whole or not at all, and take turns.

    Calls from several threads wait for each other.  A copy or a pickle is made between two calls,
    and a copy learns without changing the original.
    """

    #: the private attributes that learning changes in place
    _changed_in_place: ClassVar[tuple[str, ...]] = ()
    #: the record of the call under way
    _journal: Journal | None = None

    @property
    def _turn(self) -> Turn:
        """The lock that a call holds while it changes or reads the model."""
        # If two threads make a lock at the same time, setdefault gives both the same one.
        return self.__dict__.get("_lock") or self.__dict__.setdefault("_lock", Turn())

    def _generators(self) -> list[np.random.RandomState]:
        """The random generators that a call may advance."""
        return []

    def _protect(
        self, engines: Sequence[Undoable], touched: NDArray[Any], workers: Workers | None = None
    ) -> None:
        """Let the journal copy the weights ``touched`` before the engines change in place.

        ``workers`` are the threads that may change the engines.
        """
        assert self._journal is not None, "only a call that happens as a whole has a journal"
        self._journal.protect(engines, touched, workers)

    def _take_back(self) -> None:
        """Undo the last call if it ended before it was done."""
        if self._journal is not None:
            self._journal.rollback()
            self.__dict__.pop("_journal", None)

    def __getstate__(self) -> Any:
        state = self._state_at_rest()
        return {k: v for k, v in state.items() if k not in ("_lock", "_journal")}

    @at_rest
    def _state_at_rest(self) -> dict[str, Any]:
        given: Any = super().__getstate__()
        state = dict(given)
        # Copy the attributes that other calls may change while this state is written out.  A
        # generator that the user gave as random_state is not copied.
        for name in self._changed_in_place:
            if name in state and state[name] is not state.get("random_state"):
                state[name] = copy.deepcopy(state[name])
        return state

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__getstate__())
        return other
