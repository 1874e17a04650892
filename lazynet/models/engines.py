"""Engines in a document: the kind, what its constructor is told, and every array of its state.

Each engine is made by its own constructor and then filled, so that a file cannot make an engine
whose parts do not fit each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lazynet.catalogue import ALGORITHMS
from lazynet.engines.base import Engine, WithTables
from lazynet.engines.cells import CellEngine
from lazynet.engines.clock import AveragedClockEngine, ClockEngine
from lazynet.engines.dense import DenseEngine
from lazynet.engines.groups import GROUPED_OUTPUTS, GroupedOutputs
from lazynet.engines.outputs import AveragedOutputs, CellOutputs, OutputsEngine, OutputsOnClock
from lazynet.engines.rescaled import RescaledEngine
from lazynet.engines.tables import TablesEngine
from lazynet.engines.wear import Wear
from lazynet.models.scattered import Scattered, smaller, spread
from lazynet.models.values import CannotSave, Reader, Writer
from lazynet.penalties import ElasticNet
from lazynet.rules.base import Rule

Options = Mapping[str, Any]
Maker = Callable[[int, Wear, Options], Engine]
_DTYPES = ("float64", "float32")
# Arrays of the state that may have any length.
_FREE = {"slopes"}


@dataclass(frozen=True)
class _Kind:
    """How an engine of this kind is made, and which of its attributes the constructor is told."""

    engine: type[Engine]
    make: Maker
    options: Callable[[Any], dict[str, Any]] = lambda engine: {}


def _of_rules() -> list[_Kind]:
    """The engines of rules with a state: one output, and several outputs."""
    found = []
    for row in ALGORITHMS.values():
        # Any rule and penalty will do: the settings in the file take the place of theirs.
        rule = row.rule().settled().known(1.0)
        if row.engine is not None:
            found.append(_Kind(row.engine, _maker_of_cells(row.engine, rule)))
        if row.outputs is not None and issubclass(row.outputs, CellOutputs):
            maker = _maker_of_cell_outputs(row.outputs, rule)
            found.append(_Kind(row.outputs, maker, _of_outputs))
    return found


def _maker_of_cells(engine: type[CellEngine], rule: Rule) -> Maker:
    return lambda n, wear, given: engine(n, rule, ElasticNet(), wear)


def _maker_of_cell_outputs(engine: type[CellOutputs], rule: Rule) -> Maker:
    def make(n: int, wear: Wear, given: Options) -> Engine:
        n_outputs = given["n_outputs"]
        return engine(n, n_outputs, rule, [ElasticNet()] * n_outputs, given["dtype"], wear)

    return make


def _maker_of_groups(engine: type[GroupedOutputs]) -> Maker:
    return lambda n, wear, given: engine(n, given["n_outputs"], None, given["dtype"], wear)


def _averaged_outputs(n: int, wear: Wear, given: Options) -> Engine:
    engine, room = AveragedOutputs(n, given["n_outputs"], wear), given["room"]
    engine.shifts = np.empty(room)
    engine.scales, engine.pulls = np.empty(room + 1), np.empty(room + 1)
    return engine


def _of_outputs(engine: OutputsEngine) -> dict[str, Any]:
    return {"n_outputs": engine.n_outputs, "dtype": engine.dtype.name}


_KINDS: dict[str, _Kind] = {
    kind.engine.__name__: kind
    for kind in (
        _Kind(ClockEngine, lambda n, wear, given: ClockEngine(n, wear)),
        _Kind(
            AveragedClockEngine,
            lambda n, wear, given: AveragedClockEngine(n, wear, given["room"]),
            lambda engine: {"room": len(engine.shifts)},
        ),
        _Kind(
            TablesEngine,
            lambda n, wear, given: TablesEngine(n, given["room"], wear),
            lambda engine: {"room": len(engine.scales) - 1},
        ),
        _Kind(RescaledEngine, lambda n, wear, given: RescaledEngine(n, wear)),
        _Kind(
            DenseEngine,
            lambda n, wear, given: DenseEngine(
                n, given["predictions"], wear, given["vectorised"], given["average"]
            ),
            lambda engine: {
                "predictions": len(engine.spread) > 0,
                "vectorised": engine.vectorised,
                "average": engine.averaging,
            },
        ),
        *_of_rules(),
        _Kind(
            OutputsOnClock,
            lambda n, wear, given: OutputsOnClock(
                n, given["n_outputs"], given["dtype"], wear, given["own_clocks"]
            ),
            lambda engine: {**_of_outputs(engine), "own_clocks": engine.clocks.shape[1] > 1},
        ),
        _Kind(
            AveragedOutputs,
            _averaged_outputs,
            lambda engine: {"n_outputs": engine.n_outputs, "room": len(engine.shifts)},
        ),
        *(_Kind(kind, _maker_of_groups(kind), _of_outputs) for kind in GROUPED_OUTPUTS.values()),
    )
}


def written(writer: Writer, where: str, engine: Engine) -> dict[str, Any]:
    """The JSON of an engine; refuses an engine of a kind that files do not know."""
    name = type(engine).__name__
    kind = _KINDS.get(name)
    if kind is None or kind.engine is not type(engine):
        raise CannotSave(
            f"{where} is an engine of the kind {name}, whose state a file cannot hold: "
            f"save(path, training_state=False) leaves it out, and the model can only predict then"
        )
    state = engine.state()
    return {
        "kind": name,
        "n_features": engine.n_features,
        "options": kind.options(engine),
        "wear": writer.value(f"{where}/wear", engine.wear),
        "advice": engine.advice,
        "per_weight": {
            key: writer.value(f"{where}/{key}", smaller(array))
            for key, array in state.per_weight.items()
        },
        "scalars": {
            key: writer.value(f"{where}/{key}", array) for key, array in state.scalars.items()
        },
        "tables": {
            key: writer.value(f"{where}/{key}", array.copy()) for key, array in state.tables.items()
        },
    }


class SavedEngine:
    """The parts of an engine, checked.

    ``engine`` makes the engine itself, whose arrays take memory for every feature.
    """

    def __init__(self, reader: Reader, node: Any, n_features: int, most_outputs: int) -> None:
        keys = {
            "kind", "n_features", "options", "wear", "advice", "per_weight", "scalars", "tables",
        }  # fmt: skip
        if type(node) is not dict or set(node) != keys:
            raise ValueError("an engine is not as it must be")
        if type(node["kind"]) is not str or node["kind"] not in _KINDS:
            raise ValueError(f"there is no engine of the kind {node['kind']!r}")
        if node["n_features"] != n_features or type(node["n_features"]) is not int:
            raise ValueError("an engine has another number of features than the model")
        self.kind, self.n_features, self.advice = node["kind"], n_features, node["advice"]
        self.options, self.wear = node["options"], reader.value(node["wear"])
        if type(self.wear) is not Wear or type(self.advice) is not str:
            raise ValueError("an engine has no wear or no advice")
        self._check_options(most_outputs)
        self.tables = _arrays(reader, node["tables"], node["tables"])
        # Room for the entries that are there is enough to judge them.
        longest = max((array.shape[0] for array in self.tables.values() if array.ndim), default=1)
        blank = self._blank(0, max(1, longest))
        state = blank.state()
        self.per_weight = _arrays(reader, node["per_weight"], state.per_weight)
        self.scalars = _arrays(reader, node["scalars"], state.scalars)
        for key, array in self.per_weight.items():
            wanted = state.per_weight[key]
            if array.shape != (n_features, *wanted.shape[1:]) or array.dtype != wanted.dtype:
                raise ValueError(f"the array {key} of an engine has the shape {array.shape}")
        for key, array in self.scalars.items():
            wanted = state.scalars[key]
            free = key in _FREE and array.ndim == 1
            if (array.shape != wanted.shape and not free) or array.dtype != wanted.dtype:
                raise ValueError(f"the array {key} of an engine has the shape {array.shape}")
        self._fill_scalars(blank)
        self._check_tables(blank)
        self.n_outputs = blank.n_outputs

    def _check_options(self, most_outputs: int) -> None:
        """Refuse options that the constructor of no engine is told."""
        if type(self.options) is not dict:
            raise ValueError("an engine is told no options")
        for name, value in self.options.items():
            right = {
                "n_outputs": type(value) is int and 0 < value <= most_outputs,
                "room": type(value) is int and 0 < value <= 2**40,
                "dtype": type(value) is str and value in _DTYPES,
            }
            if not right.get(name, type(value) is bool):
                raise ValueError(f"an engine cannot have {name}={value!r}")

    def _blank(self, n_features: int, room: int | None = None) -> Engine:
        """The engine with all weights zero; ``room`` bounds the room of its tables."""
        given, kind = dict(self.options), _KINDS[self.kind]
        if "room" in given and room is not None:
            given["room"] = min(given["room"], room)
        try:
            blank = kind.make(n_features, self.wear, given)
        except KeyError as missing:
            raise ValueError(f"an engine is not told {missing}") from None
        if set(kind.options(blank)) != set(given):
            raise ValueError("an engine is told other options than its kind has")
        return blank

    def _fill_scalars(self, engine: Engine) -> None:
        for key, array in self.scalars.items():
            if key in _FREE:
                setattr(engine, key, array.copy())
            else:
                getattr(engine, key)[...] = array

    def _check_tables(self, blank: Engine) -> None:
        """Refuse tables that are not as long as the scalars say, or longer than their room."""
        lengths: dict[str, int] = {}
        if isinstance(blank, WithTables):
            try:
                lengths = blank._written()
            except (ValueError, OverflowError):
                raise ValueError("the tables of an engine have no length") from None
        if set(lengths) != set(self.tables):
            raise ValueError("an engine has other tables than its kind")
        for key, array in self.tables.items():
            if not 0 <= lengths[key] <= len(getattr(blank, key)):
                raise ValueError(f"the table {key} of an engine has no room for its entries")
            if array.shape != (lengths[key],) or array.dtype != np.float64:
                raise ValueError(f"the table {key} of an engine has the shape {array.shape}")

    def engine(self) -> Engine:
        """The engine."""
        engine = self._blank(self.n_features)
        for key, array in self.per_weight.items():
            target = getattr(engine, key)
            if isinstance(array, Scattered) and array.fills_with_zeros:
                # The array is zero as it is made.
                array.put_into(target)
            else:
                target[...] = spread(array)
        self._fill_scalars(engine)
        for key, array in self.tables.items():
            getattr(engine, key)[: len(array)] = array
        if engine.advice != self.advice:
            engine.advice = self.advice
        return engine


class SavedEngines:
    """The engines of a model, made when the model is to go on learning."""

    def __init__(self, saved: list[SavedEngine]) -> None:
        self.saved = saved

    def value(self) -> list[Engine]:
        """The engines."""
        return [saved.engine() for saved in self.saved]


def _arrays(reader: Reader, nodes: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of these names, whole or scattered."""
    if type(nodes) is not dict or set(nodes) != set(wanted):
        raise ValueError("an engine has other arrays than its kind")
    found = {key: reader.value(node) for key, node in nodes.items()}
    for key, array in found.items():
        if not isinstance(array, (np.ndarray, Scattered)):
            raise ValueError(f"{key} of an engine is no array")
    return found
