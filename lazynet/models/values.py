"""Values in a document: JSON as far as JSON goes, and an object with one name that begins with $.

    {"$float": "7ff0000000000000"}        infinity or NaN, by its bits
    {"$number": ["<f4", "3f800000"]}      a number of NumPy, by its dtype and bytes
    {"$bytes": "00ff"}                    bytes
    {"$tuple": [...]}                     a tuple
    {"$dict": [[key, value], ...]}        a dict
    {"$array": "name"}                    an array of the container
    {"$scattered": [length, fill, places, values]}
    {"$sparse": [shape, starts, columns, values]}
    {"$labels": [dtype, shape, [...]]}    an array of strings, or of objects
    {"$strings": [dtype, lengths, bytes]} a long array of strings, as UTF-8
    {"$random_state": [...]}              a random generator (MT19937)
    {"$given": "random_state"}            the value of this parameter itself
    {"$object": ["RDA", [[name, value], ...]]}

A reader refuses every other object, and so a document cannot name code.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet.models import container
from lazynet.models.scattered import Scattered, SparseRows, smaller, spread
from lazynet.models.words import WORDS, fields_of, made
from lazynet.params import shown
from lazynet.units import Units

# Strings that stand in the document itself; more of them become two arrays.
_FEW_STRINGS = 256
# Bytes that an array of strings may have whatever is in it.
_ROOM_FOR_WORDS = 2**26
# Kinds of arrays beside those of the container: strings of fixed length, and objects.
_TEXT_KINDS = "UO"


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
        #: parameters that other values may be, by name
        self.given: dict[str, Any] = {}

    def array(self, name: str, array: NDArray[Any]) -> str:
        """Collect one array; returns its name in the container."""
        assert name not in self.arrays, name
        self.arrays[name] = array
        return name

    def value(self, where: str, value: Any) -> Any:
        """The JSON of a value; ``where`` names the value in errors, and its arrays."""
        for name, given in self.given.items():
            if value is given and isinstance(value, np.random.RandomState):
                return {"$given": name}
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int:
            return self._integer(where, value)
        if type(value) is float:
            if math.isfinite(value):
                return value
            return {"$float": struct.pack(">d", value).hex()}
        if type(value) is list:
            return self._list(where, value)
        if type(value) is tuple:
            return {"$tuple": self._list(where, list(value))}
        if type(value) is bytes:
            return {"$bytes": value.hex()}
        if type(value) is dict:
            return {"$dict": self._pairs(where, value)}
        return self._other(where, value)

    def _integer(self, where: str, value: int) -> int:
        if abs(value) >= 2**4096:
            raise CannotSave(f"{where} is an integer that is too long for a file")
        return value

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

    def _other(self, where: str, value: Any) -> Any:
        if isinstance(value, np.generic):
            # A word of NumPy is a word.
            if isinstance(value, np.str_):
                return {"$number": ["str", str(value)]}
            if container.takes(value.dtype):
                return {"$number": [value.dtype.str, value.tobytes().hex()]}
        if isinstance(value, np.memmap):
            value = np.asarray(value)
        if type(value) is np.ndarray:
            return self._array(where, value)
        if isinstance(value, Scattered):
            parts = (
                ("fill", value.fill), ("places", value.places), ("values", value.values),
            )  # fmt: skip
            return {
                "$scattered": [value.length, *(self.array(f"{where}/{p}", a) for p, a in parts)]
            }
        if isinstance(value, SparseRows):
            parts = (
                ("starts", value.starts), ("columns", value.columns), ("values", value.values),
            )  # fmt: skip
            return {
                "$sparse": [list(value.shape), *(self.array(f"{where}/{p}", a) for p, a in parts)]
            }
        if isinstance(value, np.random.RandomState):
            return self._generator(where, value)
        name = type(value).__name__
        if WORDS.get(name) is type(value):
            fields = {
                key: smaller(part) if isinstance(value, Units) and part is not None else part
                for key, part in fields_of(value).items()
            }
            return {"$object": [name, self._pairs(where, fields)]}
        if callable(value):
            raise CannotSave(
                f"{where} is the Python function or object {shown(value)}, and a file holds no code"
            )
        raise CannotSave(
            f"{where} is of the type {type(value).__module__}.{name}, which a file cannot hold"
        )

    def _array(self, where: str, array: NDArray[Any]) -> Any:
        if container.takes(array.dtype):
            name = self.array(where, array)
            native = array.dtype.isnative
            return {"$array": name} if native else {"$array": name, "dtype": array.dtype.str}
        if array.dtype.kind not in _TEXT_KINDS:
            raise CannotSave(f"{where} is an array of {array.dtype}, which a file cannot hold")
        entries = array.ravel().tolist()
        try:
            _check_room(array.dtype, entries)
        except ValueError as error:
            raise CannotSave(f"{where}: {error}") from None
        of_strings = all(type(entry) is str for entry in entries)
        if len(entries) > _FEW_STRINGS and of_strings and array.ndim == 1:
            # A word may hold half of a pair of surrogates.
            words = [entry.encode("utf-8", "surrogatepass") for entry in entries]
            lengths = np.array([len(word) for word in words], dtype=np.int64)
            text = np.frombuffer(b"".join(words), dtype=np.uint8)
            return {
                "$strings": [
                    array.dtype.str,
                    self.array(f"{where}/lengths", lengths),
                    self.array(f"{where}/bytes", text),
                ]
            }
        for number, entry in enumerate(entries):
            plain = type(entry) in (str, int, float, bool, bytes, type(None))
            if not (plain or isinstance(entry, np.generic)):
                raise CannotSave(
                    f"{where} holds {entry!r} of type {type(entry).__name__}, which a file cannot "
                    f"hold"
                )
            entries[number] = self.value(f"{where}/{number}", entry)
        return {"$labels": [array.dtype.str, list(array.shape), entries]}

    def _generator(self, where: str, generator: np.random.RandomState) -> Any:
        state = generator.get_state(legacy=False)
        assert isinstance(state, dict)
        if state["bit_generator"] != "MT19937":
            raise CannotSave(
                f"{where} is a random generator of the kind {state['bit_generator']}, and a file "
                f"can hold numpy.random.RandomState(seed)"
            )
        inner = state["state"]
        return {
            "$random_state": [
                self.array(where, inner["key"]),
                int(inner["pos"]),
                int(state["has_gauss"]),
                struct.pack(">d", state["gauss"]).hex(),
            ]
        }


class Reader:
    """Turns JSON back into values.  Scattered arrays and sparse rows stay what they are."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = arrays
        self.used: set[str] = set()
        self.given: dict[str, Any] = {}

    def array(self, name: Any) -> NDArray[Any]:
        """The array of this name."""
        if not isinstance(name, str) or name not in self.arrays:
            raise ValueError(f"there is no array {name!r}")
        if name in self.used:
            raise ValueError(f"the array {name!r} is named twice")
        self.used.add(name)
        return self.arrays[name]

    def value(self, node: Any) -> Any:
        """The value of a node of the document."""
        if node is None or type(node) in (bool, str, int, float):
            return node
        if type(node) is list:
            return [self.value(part) for part in node]
        if type(node) is not dict or not node:
            raise ValueError(f"{node!r} is no value")
        tag = next(iter(node))
        read = _TAGS.get(tag)
        if read is None or (len(node) > 1 and set(node) != {"$array", "dtype"}):
            raise ValueError(f"there is no value with the name {tag!r}")
        try:
            return read(self, *([node] if tag == "$array" else [node[tag]]))
        except (TypeError, KeyError, IndexError, struct.error, OverflowError) as error:
            raise ValueError(f"a value of the kind {tag} is not as it must be: {error}") from None

    # --- one method for each kind of value ---

    def _float(self, bits: Any) -> float:
        (found,) = struct.unpack(">d", bytes.fromhex(bits))
        if math.isfinite(found):
            raise ValueError("a finite number stands where infinity or NaN must")
        return float(found)

    def _number(self, given: Any) -> Any:
        kind, text = given
        if kind == "str":
            return np.str_(_of_type(text, str))
        (found,) = np.frombuffer(bytes.fromhex(text), dtype=_plain_dtype(kind))
        return found

    def _bytes(self, text: Any) -> bytes:
        return bytes.fromhex(text)

    def _tuple(self, parts: Any) -> tuple[Any, ...]:
        return tuple(self.value(_of_type(parts, list)))

    def _dict(self, pairs: Any) -> dict[Any, Any]:
        found = {self.value(key): self.value(part) for key, part in _of_type(pairs, list)}
        if len(found) != len(pairs):
            raise ValueError("a key occurs twice")
        return found

    def _array(self, node: dict[str, Any]) -> NDArray[Any]:
        found = self.array(node["$array"])
        return found.astype(_plain_dtype(node["dtype"])) if "dtype" in node else found

    def _scattered(self, given: Any) -> Scattered:
        length, *names = given
        fill, places, values = (self.array(name) for name in names)
        if type(length) is not int or not 0 <= length < 2**48:
            raise ValueError(f"an array cannot have {length!r} rows")
        if places.dtype != np.int64 or places.ndim != 1 or fill.dtype != values.dtype:
            raise ValueError("a scattered array has parts of other types")
        if values.shape != (len(places), *fill.shape):
            raise ValueError("a scattered array has parts of other shapes")
        if len(places) and not (
            places[0] >= 0 and places[-1] < length and (np.diff(places) > 0).all()
        ):
            raise ValueError("a scattered array has rows outside the array, or out of order")
        return Scattered(length, fill, places, values)

    def _sparse(self, given: Any) -> SparseRows:
        (k, n), *names = given
        starts, columns, values = (self.array(name) for name in names)
        if not all(type(size) is int and 0 <= size < 2**48 for size in (k, n)):
            raise ValueError(f"rows cannot have the shape {(k, n)}")
        wanted = (np.dtype("i8"), np.dtype("i8"), np.dtype("f8"))
        if (starts.dtype, columns.dtype, values.dtype) != wanted:
            raise ValueError("sparse rows have parts of other types")
        found = SparseRows((k, n), starts, columns, values)
        if columns.ndim != 1 or (refusal := found.refusal()):
            raise ValueError(f"sparse rows: {refusal}")
        return found

    def _labels(self, given: Any) -> NDArray[Any]:
        kind, shape, entries = given
        dtype = _text_dtype(kind)
        values = [self.value(entry) for entry in _of_type(entries, list)]
        if dtype.kind == "U":
            _check_room(dtype, [_of_type(value, str) for value in values])
        found = np.empty(len(values), dtype=dtype)
        found[:] = values
        if found.tolist() != values and not any(value != value for value in values):
            raise ValueError("an array of strings has no room for them")
        return found.reshape(shape)

    def _strings(self, given: Any) -> NDArray[Any]:
        kind, *names = given
        dtype = _text_dtype(kind)
        lengths, text = (self.array(name) for name in names)
        right = lengths.dtype == np.int64 and text.dtype == np.uint8 and lengths.ndim == 1
        if not right or lengths.min(initial=0) < 0 or lengths.sum() != text.size:
            raise ValueError("strings are not as long as they must be")
        whole, ends = text.tobytes(), np.cumsum(lengths).tolist()
        words = [
            whole[first:last].decode("utf-8", "surrogatepass")
            for first, last in zip([0, *ends[:-1]], ends, strict=True)
        ]
        _check_room(dtype, words)
        found = np.empty(len(words), dtype=dtype)
        found[:] = words
        return found

    def _generator(self, given: Any) -> np.random.RandomState:
        name, position, has_gauss, gauss = given
        key = self.array(name)
        if key.shape != (624,) or key.dtype != np.uint32:
            raise ValueError("a random generator needs 624 numbers")
        if type(position) is not int or not 0 <= position <= 624 or has_gauss not in (0, 1):
            raise ValueError("a random generator has no such position")
        (cached,) = struct.unpack(">d", bytes.fromhex(gauss))
        found = np.random.RandomState(0)
        found.set_state(("MT19937", key, position, has_gauss, cached))
        return found

    def _given(self, name: Any) -> Any:
        if name not in self.given:
            raise ValueError(f"there is no parameter {name!r}")
        return self.given[name]

    def _object(self, given: Any) -> Any:
        name, pairs = given
        fields = self._dict(pairs)
        if name == Units.__name__ and any(isinstance(part, Scattered) for part in fields.values()):
            return ScatteredUnits(**fields)
        return made(name, {key: spread(part) for key, part in fields.items()})


class ScatteredUnits:
    """Units whose arrays are scattered."""

    def __init__(self, sizes: Any, means: Any, targets: Any) -> None:
        self.sizes, self.means, self.targets = sizes, means, targets

    def value(self) -> Units:
        """The units themselves."""
        return Units(spread(self.sizes), spread(self.means), spread(self.targets))


_TAGS: dict[str, Callable[[Reader, Any], Any]] = {
    "$float": Reader._float,
    "$number": Reader._number,
    "$bytes": Reader._bytes,
    "$tuple": Reader._tuple,
    "$dict": Reader._dict,
    "$array": Reader._array,
    "$scattered": Reader._scattered,
    "$sparse": Reader._sparse,
    "$labels": Reader._labels,
    "$strings": Reader._strings,
    "$random_state": Reader._generator,
    "$given": Reader._given,
    "$object": Reader._object,
}


def _of_type(value: Any, wanted: type[Any]) -> Any:
    if type(value) is not wanted:
        raise ValueError(f"{value!r} stands where a {wanted.__name__} must")
    return value


def _plain_dtype(kind: Any) -> np.dtype[Any]:
    """A dtype of the container, in either byte order."""
    known = container.DTYPES.values()
    names = {other.str for dtype in known for other in (dtype, dtype.newbyteorder(">"))}
    if kind not in names:
        raise ValueError(f"there is no dtype {kind!r}")
    return np.dtype(kind)


def _text_dtype(kind: Any) -> np.dtype[Any]:
    """The dtype of an array of strings or of objects."""
    text = _of_type(kind, str)
    if text == "|O":
        return np.dtype(object)
    order, letter, size = text[:1], text[1:2], text[2:]
    if order not in "<>" or letter != "U" or not size.isdecimal() or int(size) > 2**20:
        raise ValueError(f"there is no dtype {kind!r}")
    return np.dtype(text)


def _check_room(dtype: np.dtype[Any], words: list[Any]) -> None:
    """Refuse an array of strings that is much larger than the strings in it."""
    if dtype.kind != "U":
        return
    room, needed = dtype.itemsize * len(words), 4 * sum(map(len, words))
    if room > _ROOM_FOR_WORDS + 64 * needed:
        raise ValueError(f"an array of {dtype} is far too wide for the strings in it")
