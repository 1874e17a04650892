"""All of a call or nothing of it, and one call at a time: how the state of a model changes.

A call changes a draft of the model's attributes, which become the model's in one assignment at its
end.  Engines are changed where they are, because a batch of a few rows must not cost a copy of a
million weights: a journal puts aside the weights that the batch touches, and all weights just
before a sweep, which costs as much as a copy.  The model holds the journal until the call is done.
Whoever uses the model and finds the journal of a call that has ended takes that call back first.
So nothing is torn, wherever Ctrl-C strikes and however often, the taking back included.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels.turn import Turn

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
        # A copy: nobody can change it while the engine learns.
        self.touched = touched.copy() if few and engine.touches_only_nonzeros else None
        self.picked = [array[self.touched] for array in arrays] if self.touched is not None else []
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
        """Make the engine what it was; if this is interrupted, it can be done again."""
        arrays = self.engine.per_weight()
        for array, kept in zip(arrays, self.copies, strict=False):
            np.copyto(array, kept)
        if self.touched is not None:
            for array, picked in zip(arrays, self.picked, strict=True):
                array[self.touched] = picked
        self.engine.set_scalars(self.scalars)
        for array, kept in zip(
            self.engine.discarded_by_sweep(), self.discarded or [], strict=False
        ):
            np.copyto(array, kept[: len(array)])
        self.done()

    def done(self) -> None:
        """Keep what the engine did."""
        self.engine.undo = None


class Journal:
    """A record from which one call can be undone: the states of random generators and engines."""

    def __init__(self, generators: Sequence[np.random.RandomState]) -> None:
        self.generators = [(generator, generator.get_state()) for generator in generators]
        self.undos: list[Undo] = []

    def protect(self, engines: Sequence[Engine], touched: NDArray[Any]) -> None:
        """From now on the engines may be changed in the weights ``touched``, or in a sweep."""
        self.undos = [Undo(engine, touched) for engine in engines]

    def rollback(self) -> None:
        """Make all of them what they were; if this is interrupted, it can be done again."""
        for undo in self.undos:
            undo.rollback()
        for generator, state in self.generators:
            generator.set_state(state)

    def done(self) -> None:
        """Keep what the engines did."""
        for undo in self.undos:
            undo.done()


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Model = TypeVar("Model", bound="Transactional")


def all_or_nothing(
    method: Callable[Concatenate[Model, Arguments], Result],
) -> Callable[Concatenate[Model, Arguments], Result]:
    """A method that changes the model as a whole or, if anything ends it early, not at all.

    It runs on a draft: another object with the same attributes, which the model takes over when the
    method returns.  Engines that it changes where they are it must protect first.
    """

    @wraps(method)
    def call(model: Model, /, *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        if model._turn.held():
            raise RuntimeError(
                "a model cannot be trained by what its own call asks: another call of it is under "
                "way in this thread; train a copy of the model"
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
        # With this assignment the call is done, and before it nothing has happened.
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
    """A method that reads the model, between two calls that change it."""

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

    Calls from several threads wait for each other.  Copies and pickles are of a model between two
    calls, and a copy learns by itself.
    """

    #: the private attributes that learning changes where they are
    _changed_in_place: ClassVar[tuple[str, ...]] = ()
    #: the record of the call under way
    _journal: Journal | None = None

    @property
    def _turn(self) -> Turn:
        """The lock that a call holds while it changes or reads the model."""
        # setdefault makes one of them, whichever of two threads comes first.
        return self.__dict__.get("_lock") or self.__dict__.setdefault("_lock", Turn())

    def _generators(self) -> list[np.random.RandomState]:
        """The random generators that a call may advance."""
        return []

    def _protect(self, engines: Sequence[Engine], touched: NDArray[Any]) -> None:
        """Said by a call before it changes engines, in the weights ``touched`` or by a sweep."""
        assert self._journal is not None, "only a call that happens as a whole has a journal"
        self._journal.protect(engines, touched)

    def _take_back(self) -> None:
        """Undo a call that has ended without being done, if there is one."""
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
        # What other calls may change while this state is written out; a generator that the caller
        # gave stays the caller's.
        for name in self._changed_in_place:
            if name in state and state[name] is not state.get("random_state"):
                state[name] = copy.deepcopy(state[name])
        return state

    @at_rest
    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__getstate__())
        return other
