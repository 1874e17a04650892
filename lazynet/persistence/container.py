"""One file of named arrays and a JSON header: a safetensors file with a checksum.

The metadata of the file have one string, "lazynet": the header as JSON.  The array "sha256" holds
the checksum of the header's text and of every other array.  Nothing in a file is executed.

The header begins with ``format``, ``format_version``, ``lazynet_version`` and ``sparse``
(docs/saving.md).  ``sparse`` has the shapes of arrays of which most entries are 0, which are
stored as two arrays: the places and the values of the other entries.

Values that JSON does not have are objects with one name that begins with $:

    {"$tuple": [...]}                        a tuple
    {"$dict": [[key, value], ...]}           a dict with keys that are no names
    {"$array": name}                         an array of the file
    {"$labels": ["U" or "O", shape, [...]]}  an array of strings, or of objects
    {"$csr": [shape, data, indices, indptr]} a CSR matrix
    {"$random_state": [key, position, has_gauss, gauss]}  a random generator (MT19937)
    {"$object": [name, {field: value}]}      a rule, a schedule, an average, a loss, folds, ...

Every other object whose name begins with $ is refused.  The objects are those of the table
``OBJECTS``: a file cannot cause an import.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save
from scipy import sparse
from sklearn import model_selection

from lazynet._version import __version__
from lazynet.averages import FromStep, PolynomialDecay, Suffix
from lazynet.data.files import regular_file, replaced
from lazynet.data.statistics import FeatureMoments, Units
from lazynet.data.weights import Balanced
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.losses import LOSS_OBJECTS
from lazynet.parameters import shown
from lazynet.rules.storage import STORAGES
from lazynet.schedules import SCHEDULES, FromArray

Arrays = dict[str, NDArray[Any]]

#: The version of the format that this lazynet reads and writes.
FORMAT_VERSION = 1

_HEADER, _CHECKSUM = "lazynet", "sha256"
# safetensors reads headers of up to 100 million bytes; this text is a part of such a header, with
# up to two bytes per character.
_LONGEST_HEADER = 40_000_000
# Arrays of fewer bytes are stored entry by entry.
_SMALL = 512


def write(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write a file of the format ``kind`` as a whole or not at all; an old file stays until then.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder + "/file", "lazynet model", {"note": "hello"}, {"x": np.arange(3.0)})
    ...     header, arrays = read(folder + "/file", "lazynet model")
    >>> header["note"], arrays
    ('hello', {'x': array([0., 1., 2.])})
    """
    stored: dict[str, NDArray[Any]] = {}
    shapes: dict[str, list[int]] = {}
    for name, array in arrays.items():
        native = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
        # The bits of -0.0 are not those of 0.0.
        bits = native.reshape(-1).view(f"u{native.itemsize}")
        places = np.flatnonzero(bits != 0) if native.nbytes >= _SMALL else bits
        if len(places) * (8 + native.itemsize) < 0.75 * native.nbytes:
            shapes[name] = list(native.shape)
            stored[f"{name}/places"] = places
            stored[f"{name}/values"] = native.reshape(-1)[places]
        else:
            stored[name] = native
    first = {"format": kind, "format_version": FORMAT_VERSION, "lazynet_version": __version__}
    text = json.dumps({**first, "sparse": shapes, **header}, separators=(",", ":"))
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"{os.fspath(path)} cannot be written: its header would have {len(text):,} bytes, and "
            f"may have {_LONGEST_HEADER:,}"
        )
    whole = save({**stored, _CHECKSUM: checksum(text, stored)}, {_HEADER: text})
    with replaced(path) as file:
        file.write(whole)


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file of the format ``kind``.

    A ValueError names the file and its defect.  Only arrays whose entries are mostly 0 need more
    memory than a few times the size of the file.
    """
    name, data = os.fspath(path), regular_file(path).read_bytes()
    try:
        arrays = load(data)
        stored_checksum = arrays.pop(_CHECKSUM)
        # safetensors says nothing of the metadata.
        length = int.from_bytes(data[:8], "little")
        text = json.loads(data[8 : 8 + length])["__metadata__"][_HEADER]
        sound = np.array_equal(stored_checksum, checksum(text, arrays))
        header = json.loads(text)
    except (SafetensorError, ValueError, LookupError, TypeError, RecursionError) as error:
        reason = "it has no checksum of lazynet" if isinstance(error, KeyError) else error
        raise ValueError(f"{name} is not a file of lazynet, or it is damaged: {reason}") from None
    if not sound or type(header) is not dict:
        raise ValueError(f"{name} is damaged: its contents do not agree with its checksum")
    if header.get("format") != kind:
        raise ValueError(f"{name} is no {kind}: it is the file of a {header.get('format')}")
    by, version = header.get("lazynet_version"), header.get("format_version")
    if version != FORMAT_VERSION:
        raise ValueError(
            f"{name} was written by lazynet {by} in version {version} of the format, and lazynet "
            f"{__version__} reads version {FORMAT_VERSION}: read it with lazynet {by}"
        )
    try:
        for key, shape in header.pop("sparse").items():
            places, values = arrays.pop(f"{key}/places"), arrays.pop(f"{key}/values")
            arrays[key] = np.zeros(shape, values.dtype)
            arrays[key].reshape(-1)[places] = values
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} has a sparse array that cannot be read: {error}") from None
    except MemoryError:
        raise MemoryError(f"{name} has an array that needs more memory than there is") from None
    return header, arrays


def checksum(text: str, arrays: Arrays) -> NDArray[np.uint8]:
    """The checksum of a text and of all arrays with their names, types and shapes."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\0{name}\0{array.dtype.name}{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return np.frombuffer(digest.digest(), dtype=np.uint8)


# --- values in JSON -------------------------------------------------------------------------------

_FOLDS = (
    "GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeaveOneOut", "ShuffleSplit",
    "StratifiedGroupKFold", "StratifiedKFold", "StratifiedShuffleSplit", "TimeSeriesSplit",
)  # fmt: skip

#: The objects that a file may name, besides the rules of the catalogue.
OBJECTS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *SCHEDULES.values(), FromArray, FromStep, Suffix, PolynomialDecay,
        *STORAGES.values(), *LOSS_OBJECTS.values(), Balanced, FeatureMoments, Units,
        *(getattr(model_selection, name) for name in _FOLDS),
    )
}  # fmt: skip


def _objects() -> dict[str, type[Any]]:
    return {row.rule.__name__: row.rule for row in ALGORITHMS.values()} | OBJECTS


# The types of the entries of arrays of strings and of objects.
_PLAIN = {"U": (str,), "O": (str, int, float, bool, type(None))}


def encoded(name: str, value: Any, arrays: Arrays) -> Any:
    """The JSON of a value, whose arrays are added to ``arrays``.

    ``name`` names the value in errors, and its arrays.  A value that has no form in a file is
    refused.

    >>> arrays = {}
    >>> encoded("rates", (np.array([0.5]), -0.0), arrays), arrays
    ({'$tuple': [{'$array': 'rates/0'}, -0.0]}, {'rates/0': array([0.5])})
    """
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if value is None or kind in (bool, str, int, float):
        return value
    if kind is list or isinstance(value, tuple):
        parts = [encoded(f"{name}/{i}", part, arrays) for i, part in enumerate(value)]
        return parts if kind is list else {"$tuple": parts}
    if kind is dict:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: encoded(f"{name}/{key}", part, arrays) for key, part in value.items()}
        return {"$dict": encoded(name, [[*pair] for pair in value.items()], arrays)}
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
            assert name not in arrays, name
            arrays[name] = np.asarray(value)
            return {"$array": name}
        return _encoded_labels(name, value)
    if sparse.issparse(value):
        rows = value.tocsr()
        parts = [[*map(int, rows.shape)]]
        for part in ("data", "indices", "indptr"):
            parts.append(encoded(f"{name}/{part}", getattr(rows, part), arrays))
        return {"$csr": parts}
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=False)
        if state["bit_generator"] == "MT19937":
            numbers = [*state["state"].values(), state["has_gauss"], state["gauss"]]
            return {"$random_state": encoded(name, numbers, arrays)}
    if _objects().get(kind.__name__) is kind:
        fields = {field: getattr(value, field) for field in inspect.signature(kind).parameters}
        return {"$object": [kind.__name__, encoded(name, fields, arrays)]}
    raise TypeError(
        f"{name} is {shown(value):.100} of {kind}, and cannot be written: a file holds numbers, "
        f"strings and objects of lazynet, and no code"
    )


def _encoded_labels(name: str, array: NDArray[Any]) -> dict[str, Any]:
    """The JSON of an array of strings or of objects."""
    kind, entries = array.dtype.kind, array.ravel().tolist()
    strange = [entry for entry in entries if type(entry) not in _PLAIN.get(kind, ())]
    if strange or kind not in _PLAIN:
        raise TypeError(f"{name} is an array of {array.dtype} with {strange[:3]}: no file holds it")
    return {"$labels": [kind, list(array.shape), entries]}


def decoded(node: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value of this JSON; any of Python's errors if the JSON does not encode a value.

    >>> decoded({"$object": ["RDA", {"gamma": 5}]}, {})
    RDA(gamma=5)
    """
    if type(node) is list:
        return [decoded(part, arrays) for part in node]
    if type(node) is not dict:
        return node
    tag = next(iter(node), "")
    if not tag.startswith("$"):
        return {key: decoded(part, arrays) for key, part in node.items()}
    if len(node) > 1 or tag not in {"$array", *_READERS}:
        raise ValueError(f"there is no value with the name {tag!r}")
    if tag == "$array":
        return arrays[node[tag]]
    return _READERS[tag](*decoded(node[tag], arrays))


def _labels(kind: str, shape: list[int], entries: list[Any]) -> NDArray[Any]:
    if not all(type(entry) in _PLAIN[kind] for entry in entries):
        raise ValueError("an array of strings holds something else")
    labels = np.array(entries, dtype=str) if kind == "U" else np.empty(len(entries), object)
    labels[:] = entries
    return labels.reshape(shape)


def _csr(shape: list[int], data: Any, indices: Any, indptr: Any) -> sparse.csr_matrix:
    """A CSR matrix, whose columns lie in order and inside the matrix."""
    if not indices.dtype.kind == indptr.dtype.kind == "i":
        raise ValueError("a CSR matrix has indices that are no integers")
    rows = sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))
    rows.check_format(full_check=True)
    if len(data) != rows.indptr[-1] or not rows.has_canonical_format:
        raise ValueError("a CSR matrix has rows whose columns are not in order")
    return rows


def _generator(key: NDArray[Any], position: int, *gauss: Any) -> np.random.RandomState:
    # NumPy does not check the position, and reads the key there.
    if key.shape != (624,) or type(position) is not int or not 0 <= position <= 624:
        raise ValueError("a random generator has no such state")
    generator = np.random.RandomState(0)
    generator.set_state(("MT19937", key, position, *gauss))
    return generator


def _object(name: str, fields: dict[str, Any]) -> Any:
    if name not in _objects():
        raise ValueError(
            f"there is no {name} among the objects that a model may have; "
            "a rule of your own must be registered before"
        )
    return _objects()[name](**fields)


_READERS: dict[str, Callable[..., Any]] = {
    "$tuple": lambda *parts: parts,
    "$dict": lambda *pairs: dict(pairs),
    "$labels": _labels,
    "$csr": _csr,
    "$random_state": _generator,
    "$object": _object,
}


def digest(name: str, value: Any) -> str:
    """A checksum of a value, which errors call ``name``."""
    arrays: Arrays = {}
    return bytes(checksum(json.dumps(encoded(name, value, arrays)), arrays)).hex()
