"""Values in JSON: as they are, or as an object with one name that begins with $.

    {"$tuple": [...]}                        a tuple
    {"$dict": [[key, value], ...]}           a dict
    {"$array": "name"}                       an array of the file
    {"$few": ["name", shape, bits]}          an array of which most entries have the same bits: the
                                             places and the values of the others are arrays
    {"$csr": ["name", shape]}                a CSR matrix: indptr, indices and data are arrays
    {"$labels": ["U" or "O", shape, [...]]}  an array of strings, or of objects
    {"$random_state": ["name", position, has_gauss, gauss]}  a random generator (MT19937)
    {"$object": ["RDA", [[name, value], ...]]}

A reader refuses every other object, and so a header cannot name code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.memory import physical_bytes
from lazynet.parameters import shown
from lazynet.persistence import container
from lazynet.persistence.objects import WORDS, fields_of, made

# Entries that are looked at to find the most common one.
_SAMPLE = 1024
# Arrays of fewer bytes are written as they are.
_SMALL = 512
# No array has more entries.
_LARGEST = 2**48


class CannotSave(TypeError):
    """A value has no form in a file; ``args`` say where it stands and what it is."""


class Writer:
    """Turns values into JSON, and collects the arrays that the JSON names.

    >>> writer = Writer()
    >>> writer.value("eta0", np.array([0.5])), writer.arrays
    ({'$array': 'eta0'}, {'eta0': array([0.5])})
    """

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str, array: NDArray[Any]) -> str:
        """Collect one array; returns its name in the file."""
        assert name not in self.arrays, name
        self.arrays[name] = array
        return name

    def value(self, where: str, value: Any) -> Any:
        """The JSON of a value; ``where`` names the value in errors, and its arrays."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value) in (bool, str, int, float):
            return value
        if type(value) is list:
            return self._list(where, value)
        if type(value) is tuple:
            return {"$tuple": self._list(where, list(value))}
        if type(value) is dict:
            return {"$dict": self._pairs(where, value)}
        if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
            return self._array(where, np.asarray(value))
        if sparse.issparse(value) and value.format == "csr":
            for name in ("indptr", "indices", "data"):
                self.array(f"{where}/{name}", getattr(value, name))
            return {"$csr": [where, list(map(int, value.shape))]}
        if isinstance(value, np.random.RandomState):
            return self._generator(where, value)
        name = type(value).__name__
        if WORDS.get(name) is type(value):
            return {"$object": [name, self._pairs(where, fields_of(value))]}
        if callable(value):
            raise CannotSave(
                f"{where} is the Python function or object {shown(value)}, and a file holds no code"
            )
        raise CannotSave(
            f"{where} is of the type {type(value).__module__}.{name}, which a file cannot hold"
        )

    def _list(self, where: str, values: list[Any]) -> list[Any]:
        return [self.value(f"{where}/{number}", part) for number, part in enumerate(values)]

    def _pairs(self, where: str, value: Mapping[Any, Any]) -> list[Any]:
        found = []
        for number, (key, part) in enumerate(value.items()):
            # An identifier names its value better than a number, and never looks like one.
            told = key if type(key) is str and key.isidentifier() else number
            found.append(
                [self.value(f"{where}/{number}/key", key), self.value(f"{where}/{told}", part)]
            )
        return found

    def _array(self, where: str, array: NDArray[Any]) -> Any:
        if container.takes(array.dtype):
            few = self._few(where, array)
            return {"$array": self.array(where, array)} if few is None else few
        if array.dtype.kind not in "UO":
            raise CannotSave(f"{where} is an array of {array.dtype}, which a file cannot hold")
        entries = []
        for number, entry in enumerate(array.ravel().tolist()):
            if type(entry) not in (str, int, float, bool, type(None)):
                raise CannotSave(
                    f"{where} holds {entry!r} of type {type(entry).__name__}, which a file cannot "
                    f"hold"
                )
            entries.append(self.value(f"{where}/{number}", entry))
        return {"$labels": [array.dtype.kind, list(array.shape), entries]}

    def _few(self, where: str, array: NDArray[Any]) -> Any:
        """The array by the few entries that differ from the others; None where it is not shorter.

        Entries are compared bit by bit: -0.0 is not 0.0.
        """
        if array.nbytes < _SMALL or not array.dtype.isnative:
            return None
        flat = np.ascontiguousarray(array).reshape(-1)
        bits = flat.view(f"u{flat.itemsize}")
        numbers, counts = np.unique(bits[:: max(1, bits.size // _SAMPLE)], return_counts=True)
        common = numbers[counts.argmax()]
        places = np.flatnonzero(bits != common)
        if (8 + flat.itemsize) * len(places) > 0.75 * array.nbytes:
            return None
        self.array(f"{where}/places", places)
        self.array(f"{where}/values", flat[places])
        return {"$few": [where, list(array.shape), int(common)]}

    def _generator(self, where: str, generator: np.random.RandomState) -> Any:
        state = generator.get_state(legacy=False)
        assert isinstance(state, dict)
        if state["bit_generator"] != "MT19937":
            raise CannotSave(
                f"{where} is a random generator of the kind {state['bit_generator']}, and a file "
                f"can hold numpy.random.RandomState(seed)"
            )
        key, position = state["state"]["key"], int(state["state"]["pos"])
        has_gauss, gauss = int(state["has_gauss"]), float(state["gauss"])
        return {"$random_state": [self.array(where, key), position, has_gauss, gauss]}


class Reader:
    """Turns JSON back into values."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = arrays

    def array(self, name: Any) -> NDArray[Any]:
        """The array of this name."""
        if not isinstance(name, str) or name not in self.arrays:
            raise ValueError(f"there is no array {name!r}")
        return self.arrays[name]

    def value(self, node: Any) -> Any:
        """The value of a node of the header."""
        if node is None or type(node) in (bool, str, int, float):
            return node
        if type(node) is list:
            return [self.value(part) for part in node]
        tag = next(iter(node), None)
        read = _TAGS.get(str(tag))
        if read is None or len(node) > 1:
            raise ValueError(f"there is no value with the name {tag!r}")
        try:
            return read(self, node[tag])
        except (TypeError, LookupError, AttributeError, OverflowError) as error:
            raise ValueError(f"a value of the kind {tag} is not as it must be: {error}") from None

    # --- one method for each kind of value ---

    def _tuple(self, parts: Any) -> tuple[Any, ...]:
        return tuple(self.value(part) for part in parts)

    def _dict(self, pairs: Any) -> dict[Any, Any]:
        return {self.value(key): self.value(part) for key, part in pairs}

    def _few(self, given: Any) -> NDArray[Any]:
        name, shape, common = given
        places, values = self.array(f"{name}/places"), self.array(f"{name}/values")
        size = _size_of(shape)
        if places.dtype != np.int64 or places.ndim != 1 or places.shape != values.shape:
            raise ValueError(f"{name} has places and values that do not fit each other")
        if len(places) and not 0 <= places.min() <= places.max() < size:
            raise ValueError(f"{name} has values outside of the array")
        there = physical_bytes()
        if there is not None and size * values.itemsize > there:
            # A small file can name a large array: without this the system might end the process.
            raise MemoryError(f"{name} has {size:,} entries")
        bits = np.dtype(f"u{values.itemsize}")
        # The system hands out memory of zeros when it is written to.
        flat = np.full(size, common, bits) if common else np.zeros(size, bits)
        found = flat.view(values.dtype)
        found[places] = values
        return found.reshape(shape)

    def _csr(self, given: Any) -> sparse.csr_matrix:
        name, shape = given
        indptr, indices, data = (self.array(f"{name}/{p}") for p in ("indptr", "indices", "data"))
        _size_of(shape)
        if any(array.ndim != 1 for array in (indptr, indices, data)):
            raise ValueError(f"{name} has parts of other shapes than a CSR matrix")
        if any(array.dtype not in (np.int32, np.int64) for array in (indptr, indices)):
            raise ValueError(f"{name} has indices of other types than a CSR matrix")
        found = sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))
        found.check_format(full_check=True)
        if len(data) != found.indptr[-1] or not found.has_canonical_format:
            raise ValueError(f"{name} has rows whose columns are not in order")
        return found

    def _labels(self, given: Any) -> NDArray[Any]:
        kind, shape, entries = given
        values = [self.value(entry) for entry in entries]
        if kind not in ("U", "O") or not all(type(v) in _PLAIN[kind] for v in values):
            raise ValueError("an array of strings holds something else")
        found = np.array(values, dtype=str) if kind == "U" else np.empty(len(values), object)
        found[:] = values
        return found.reshape(shape)

    def _generator(self, given: Any) -> np.random.RandomState:
        name, position, has_gauss, gauss = given
        key = self.array(name)
        if key.shape != (624,) or key.dtype != np.uint32:
            raise ValueError("a random generator needs 624 numbers")
        if type(position) is not int or not 0 <= position <= 624 or has_gauss not in (0, 1):
            raise ValueError("a random generator has no such position")
        found = np.random.RandomState(0)
        found.set_state(("MT19937", key, position, has_gauss, float(gauss)))
        return found

    def _object(self, given: Any) -> Any:
        name, pairs = given
        return made(name, self._dict(pairs))


_PLAIN = {"U": (str,), "O": (str, int, float, bool, type(None))}
_TAGS: dict[str, Callable[[Reader, Any], Any]] = {
    "$tuple": Reader._tuple,
    "$dict": Reader._dict,
    "$array": Reader.array,
    "$few": Reader._few,
    "$csr": Reader._csr,
    "$labels": Reader._labels,
    "$random_state": Reader._generator,
    "$object": Reader._object,
}


def _size_of(shape: Any) -> int:
    """The number of entries of an array of this shape; refuses what is no shape."""
    if type(shape) is not list or not all(type(n) is int and 0 <= n < _LARGEST for n in shape):
        raise ValueError(f"{shape!r} is no shape of an array")
    if math.prod(shape) >= _LARGEST:
        raise ValueError(f"no array has the shape {shape!r}")
    return math.prod(shape)
