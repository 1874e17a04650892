"""Engines in a document: the kind, what its constructor is told, and every array of its state.

Each engine is made by its own constructor and then filled, so that a file cannot make an engine
whose parts do not fit each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.engines.base import Engine, WithTables
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.engines.cells import CellEngine
from lazynet.engines.clock import AveragedClockEngine, ClockEngine
from lazynet.engines.dense import DenseEngine
from lazynet.engines.groups import GROUPED_OUTPUTS, GroupedOutputs
from lazynet.engines.outputs import AveragedOutputs, CellOutputs, OutputsEngine, OutputsOnClock
from lazynet.engines.rescaled import RescaledEngine
from lazynet.engines.tables import TablesEngine
from lazynet.engines.wear import Wear
from lazynet.penalties import ElasticNet
from lazynet.persistence.values import CannotSave, Reader, Writer
from lazynet.rules.base import Rule

Options = Mapping[str, Any]
Maker = Callable[[int, Wear, Options], Engine]
_DTYPES = ("float64", "float32")
# Arrays of the state that may have any length.
_FREE = {"slopes"}
# The parts of a state, in the order in which they are read: the tables last, as scalars hold their
# lengths.
_PARTS = ("per_weight", "scalars", "tables")


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
        "options": kind.options(engine),
        "wear": writer.value(f"{where}/wear", engine.wear),
        "advice": engine.advice,
        **{
            part: {
                key: writer.value(f"{where}/{key}", array)
                for key, array in getattr(state, part).items()
            }
            for part in _PARTS
        },
    }


def read_engine(reader: Reader, node: Any, n_features: int, most_outputs: int) -> Engine:
    """The engine of this JSON, with so many features and at most so many outputs."""
    if type(node) is not dict or set(node) != {"kind", "options", "wear", "advice", *_PARTS}:
        raise ValueError("an engine is not as it must be")
    kind = _KINDS.get(node["kind"]) if type(node["kind"]) is str else None
    if kind is None:
        raise ValueError(f"there is no engine of the kind {node['kind']!r}")
    wear = reader.value(node["wear"])
    if type(wear) is not Wear or type(node["advice"]) is not str:
        raise ValueError("an engine has no wear or no advice")
    options = _checked_options(node["options"], most_outputs)
    try:
        engine = kind.make(n_features, wear, options)
    except KeyError as missing:
        raise ValueError(f"an engine is not told {missing}") from None
    if set(kind.options(engine)) != set(options):
        raise ValueError("an engine is told other options than its kind has")
    for part in _PARTS[:2]:
        for key, array in _arrays(reader, node[part], getattr(engine.state(), part)).items():
            known = getattr(engine, key)
            free = key in _FREE and array.ndim == 1
            if array.dtype != known.dtype or (array.shape != known.shape and not free):
                raise ValueError(f"the array {key} of an engine has the shape {array.shape}")
            if free:
                setattr(engine, key, array)
            else:
                # Memory of zeros takes no room until something is written to it.
                bits = f"u{known.itemsize}"
                differ = array.view(bits) != known.view(bits)
                known[differ] = array[differ]
    _read_tables(reader, node["tables"], engine)
    if engine.advice != node["advice"]:
        engine.advice = node["advice"]
    return engine


def _read_tables(reader: Reader, nodes: Any, engine: Engine) -> None:
    """Fill the tables of an engine, which must be as long as its scalars say."""
    lengths: dict[str, int] = {}
    if isinstance(engine, WithTables):
        try:
            lengths = engine._written()
        except (ValueError, OverflowError):
            raise ValueError("the tables of an engine have no length") from None
    for key, array in _arrays(reader, nodes, lengths).items():
        room = getattr(engine, key)
        if not 0 <= lengths[key] <= len(room):
            raise ValueError(f"the table {key} of an engine has no room for its entries")
        if array.shape != (lengths[key],) or array.dtype != np.float64:
            raise ValueError(f"the table {key} of an engine has the shape {array.shape}")
        room[: len(array)] = array


def _checked_options(options: Any, most_outputs: int) -> dict[str, Any]:
    """Refuse options that the constructor of no engine is told."""
    if type(options) is not dict:
        raise ValueError("an engine is told no options")
    for name, value in options.items():
        right = {
            "n_outputs": type(value) is int and 0 < value <= most_outputs,
            "room": type(value) is int and 0 < value <= 2**40,
            "dtype": type(value) is str and value in _DTYPES,
        }
        if not right.get(name, type(value) is bool):
            raise ValueError(f"an engine cannot have {name}={value!r}")
    return options


def _arrays(reader: Reader, nodes: Any, wanted: Iterable[str]) -> dict[str, NDArray[Any]]:
    """The arrays of these names."""
    if type(nodes) is not dict or set(nodes) != set(wanted):
        raise ValueError("an engine has other arrays than its kind")
    found = {key: reader.value(node) for key, node in nodes.items()}
    for key, array in found.items():
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{key} of an engine is no array")
    return found
