"""Where a search among the settings of a grid stands, and the fit of the setting that it chose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.kept import Kept, put
from lazynet.epochs import Stopping
from lazynet.grids import GridMatrices
from lazynet.learners import AnyLearner
from lazynet.models.checkpoints import Saved
from lazynet.models.scattered import smaller
from lazynet.models.values import Writer


class Search(NamedTuple):
    """What a search has found."""

    #: by setting, epoch and fold
    losses: NDArray[np.float64]
    nonzeros: NDArray[np.int64]
    best: int
    epoch: int
    #: weights and intercepts of the best setting, where there is one model, and the scale of its
    #: rates where these follow the rows
    model: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    rate: float | None
    #: whether the losses no longer fell before the last epoch
    ended_early: bool


class Orders:
    """The orders of the rows in the epochs of a run, which a generator draws."""

    def __init__(self, generator: np.random.RandomState, n_rows: int, *, shuffle: bool) -> None:
        self.generator, self.n_rows, self.shuffle = generator, n_rows, shuffle
        #: the generator as it was before the order of the present epoch was drawn
        self.before: Any = generator.get_state()

    def draw(self) -> NDArray[np.int64] | None:
        """The order of the next epoch; None for the rows as they stand."""
        self.before = self.generator.get_state()
        if not self.shuffle:
            return None
        return self.generator.permutation(self.n_rows).astype(np.int64, copy=False)

    def kept(self) -> np.random.RandomState:
        """The generator from which the order of the present epoch is drawn once more."""
        found = np.random.RandomState(0)
        found.set_state(self.before)
        return found

    def keep(self, kept: np.random.RandomState) -> None:
        """Draw from here on."""
        self.generator.set_state(kept.get_state())


class GridSearch:
    """A search under way: the losses of the epochs so far, and the best of them."""

    def __init__(self, training: GridMatrices, orders: Orders, stopping: Stopping) -> None:
        self.training, self.orders, self.stopping = training, orders, stopping
        self.losses: list[NDArray[np.float64]] = []
        self.least, self.best, self.best_epoch = float(np.inf), 0, 0
        self.model: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
        self.rate: float | None = None

    def kept(self) -> Kept:
        """The search between two chunks of rows."""
        return {
            "losses": list(self.losses),
            "best": [self.least, self.best, self.best_epoch, self.rate],
            "model": None if self.model is None else list(self.model),
            "stopping": [float(self.stopping.best), self.stopping.idle],
            "generator": self.orders.kept(),
            "training": self.training.kept(),
        }

    def keep(self, kept: Kept) -> None:
        """Take over another search among the same settings."""
        self.losses = list(kept["losses"])
        self.least, self.best, self.best_epoch, self.rate = kept["best"]
        self.model = None if kept["model"] is None else tuple(kept["model"])
        self.stopping.best, self.stopping.idle = kept["stopping"]
        self.orders.keep(kept["generator"])
        self.training.keep(kept["training"])


class LastFit:
    """The fit of the chosen setting with all rows, under way."""

    def __init__(self, learners: Sequence[AnyLearner], orders: Orders) -> None:
        self.learners, self.orders = learners, orders
        #: the epochs that are done, the rows of the present epoch, and its losses
        self.epoch = self.rows = 0
        self.losses = np.zeros(len(learners))

    def kept(self) -> Kept:
        """The fit between two chunks of rows; its arrays are not copied."""
        return {
            "at": [self.epoch, self.rows],
            "losses": self.losses,
            "generator": self.orders.kept(),
            "engines": [self._arrays(number) for number in range(len(self.learners))],
        }

    def keep(self, kept: Kept) -> None:
        """Take over another fit of the same setting."""
        self.epoch, self.rows = kept["at"]
        put(self.losses, "losses", kept)
        self.orders.keep(kept["generator"])
        for number, arrays in enumerate(kept["engines"]):
            for name, array in self._arrays(number).items():
                put(array, name, arrays)

    def _arrays(self, number: int) -> dict[str, NDArray[Any]]:
        state = self.learners[number].engine.state()
        return {**state.per_weight, **state.scalars}


class GridCourse:
    """All of a fit of a grid in a file: the search, and then the last fit."""

    def __init__(self, saved: Saved | None) -> None:
        self._saved = saved
        self.search: GridSearch | None = None
        self.found: Search | None = None
        self.last: LastFit | None = None
        if saved is not None and saved.has("found"):
            self.found = self._read("found", lambda kept: Search(*kept))
            if self.found is not None and self.found.model is not None:
                self.found = self.found._replace(model=tuple(self.found.model))

    def go_on(self, name: str, part: GridSearch | LastFit) -> None:
        """Follow a part of the fit, from where the file has it."""
        setattr(self, name, part)
        if self._saved is not None and self._saved.has(name):
            self._read(name, part.keep)

    def _read(self, name: str, take: Any) -> Any:
        assert self._saved is not None, "there is no file"
        kept = self._saved.value(name, lambda found: type(found) in (dict, list))
        try:
            return take(kept)
        except (TypeError, KeyError, IndexError, AttributeError, ValueError) as error:
            raise self._saved.refusal(error) from None

    def written(self, writer: Writer) -> dict[str, Any]:
        """The JSON of the fit."""
        values: dict[str, Any] = {}
        if self.found is None:
            assert self.search is not None, "a search is under way"
            values["search"] = self.search.kept()
        else:
            model = None if self.found.model is None else list(self.found.model)
            values["found"] = list(self.found._replace(model=model))  # type: ignore[arg-type]
        if self.last is not None:
            values["last"] = self.last.kept()
        return {name: writer.value(f"grid/{name}", _small(kept)) for name, kept in values.items()}


def _small(kept: Any) -> Any:
    """Values whose arrays are scattered where that is shorter."""
    if type(kept) is dict:
        return {name: _small(part) for name, part in kept.items()}
    if type(kept) is list:
        return [_small(part) for part in kept]
    return smaller(kept) if type(kept) is np.ndarray else kept
