"""The container: named arrays and a few strings in one file that says when it is damaged.

The layout is that of safetensors, so that other programs read the arrays too:

    8 bytes         the length of the header, little-endian
    the header      JSON: "__metadata__", a string for each name; and for each array its dtype,
                    its shape and where its bytes begin and end, counted from the end of the header
    the arrays      one behind the other, little-endian, without gaps, the widest numbers first

The first string of the metadata is "sha256": the checksum of the whole file, computed with 64 zeros
in place of the checksum.  Nothing in a file is executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lazynet.whole_files import check_path, replaced

#: The dtypes of arrays in a file, by their names in the header.
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}

Arrays = Mapping[str, NDArray[Any]]

_METADATA = "__metadata__"
_BLANK = "0" * 64
# How every header begins, up to the checksum.
_BEGINNING = b'{"__metadata__":{"sha256":"'
# The longest header that safetensors reads.
_LONGEST_HEADER = 100_000_000
_CHUNK = 2**20
_ALIGNMENT = 8

# The second bytes of files of zlib.
_ZLIB = (b"\x01", b"\x5e", b"\x9c", b"\xda")
# What the first bytes of files of other kinds say.
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive, such as NumPy writes as .npz"),
    (b"\x93NUMPY", "an array of NumPy (.npy)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x80", "a pickle, or a file of joblib; pickle.load executes what such a file says"),
    *((b"x" + level, "a compressed file, such as joblib writes") for level in _ZLIB),
)


def takes(dtype: np.dtype[Any]) -> bool:
    """Whether a file can hold arrays of this dtype, in either byte order.

    >>> takes(np.dtype("float64")), takes(np.dtype("complex64"))
    (True, False)
    """
    return dtype.newbyteorder("<") in _NAMES


# --- writing -----------------------------------------------------------------------------------


def write(path: str | os.PathLike[str], strings: Mapping[str, str], arrays: Arrays) -> None:
    """Write the file as a whole or not at all: what stood there before stays until the end.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder + "/file", {"note": "hello"}, {"x": np.arange(3.0)})
    ...     strings, arrays = read(folder + "/file")
    >>> strings, arrays
    ({'note': 'hello'}, {'x': array([0., 1., 2.])})
    """
    # Numbers of the widest type come first, so that each array begins at a multiple of its width.
    ready = {
        name: np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        for name, array in sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))
    }
    header: dict[str, Any] = {_METADATA: {"sha256": _BLANK, **strings}}
    start = 0
    for name, array in ready.items():
        header[name] = {
            "dtype": _NAMES[array.dtype],
            # np.ascontiguousarray gives an array of no dimension one.
            "shape": list(arrays[name].shape),
            "data_offsets": [start, start + array.nbytes],
        }
        start += array.nbytes
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"{os.fspath(path)} cannot be written: its header would have {len(text)} bytes, and "
            f"may have {_LONGEST_HEADER}"
        )
    beginning = len(text).to_bytes(8, "little") + text
    digest = hashlib.sha256(beginning)
    for array in ready.values():
        digest.update(_bytes_of(array))
    place = 8 + len(_BEGINNING)
    assert beginning[8:place] == _BEGINNING
    checksum = digest.hexdigest().encode()
    with replaced(path) as file:
        file.write(beginning[:place] + checksum + beginning[place + len(checksum) :])
        for array in ready.values():
            file.write(_bytes_of(array))


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


# --- reading -----------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """The strings and the arrays of a file; a ValueError names the file and what is wrong with it.

    Nothing is believed before it is checked: no array is made that is larger than the file.
    """
    check_path("path", path)
    name = os.fspath(path)
    if Path(name).is_dir():
        raise IsADirectoryError(f"{name} is a directory, and not the file of a model")
    with open(name, "rb") as file:
        # A pipe has no size, and could keep the reader waiting.
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{name} is not a regular file")
        text = _header_of(name, file)
        header = _checked(name, file, text)
        start = 8 + len(text)
        arrays = {}
        for key, (dtype, shape, first, last) in header.arrays.items():
            file.seek(start + first)
            raw = np.empty(last - first, dtype=np.uint8)
            if file.readinto(raw.data) != len(raw):
                raise ValueError(f"{name} was changed while it was read")
            if dtype == np.bool_ and raw.max(initial=0) > 1:
                raise ValueError(f"{name} is damaged: the flags of {key!r} are not 0 or 1")
            little = raw.view(dtype).reshape(shape)
            arrays[key] = little.astype(dtype.newbyteorder("="), copy=False)
    return header.strings, arrays


def begins_well(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as the files of lazynet do, as far as it goes."""
    with open(path, "rb") as file:
        file.seek(8)
        begins = file.read(len(_BEGINNING))
    return bool(begins) and begins == _BEGINNING[: len(begins)]


def _header_of(name: str, file: BinaryIO) -> bytes:
    """The bytes of the header; refuses what does not begin as a file of lazynet does."""
    size = os.fstat(file.fileno()).st_size
    if not size:
        raise ValueError(f"{name} is empty")
    first = file.read(8)
    length = int.from_bytes(first, "little")
    begins = file.read(len(_BEGINNING))
    if begins != _BEGINNING[: len(begins)] or size < 8:
        told = next((what for magic, what in _FOREIGN if first.startswith(magic)), None)
        if told is None and begins.startswith(b"{"):
            told = "a safetensors file, but not of a model of lazynet, or its beginning is damaged"
        if told is None and size < 8:
            told = f"no model: it has only {size} bytes"
        if told is None:
            told = "not the file of a model of lazynet, or its beginning is damaged"
        raise ValueError(f"{name} is {told}")
    if not len(_BEGINNING) + len(_BLANK) < length <= _LONGEST_HEADER:
        raise ValueError(f"{name} is damaged: its header cannot have {length} bytes")
    if 8 + length > size:
        raise ValueError(
            f"{name} is cut off: it has {size} bytes, and its header alone ends at {8 + length}"
        )
    file.seek(8)
    return file.read(length)


class _Header:
    """What a header says, checked: the strings, and dtype, shape, first and last byte of arrays."""

    def __init__(self, text: bytes) -> None:
        parsed = strict_json(text)
        if not isinstance(parsed, dict):
            raise ValueError("the header is no JSON object")
        strings = parsed.pop(_METADATA, None)
        if not isinstance(strings, dict) or not all(isinstance(s, str) for s in strings.values()):
            raise ValueError("the metadata of the header are not strings by name")
        self.strings = {key: s for key, s in strings.items() if key != "sha256"}
        self.arrays = {key: _entry(key, given) for key, given in parsed.items()}
        self.size = 0
        for key, (_, _, first, last) in sorted(self.arrays.items(), key=lambda item: item[1][2:]):
            if first != self.size:
                raise ValueError(f"the array {key!r} begins at {first} and not at {self.size}")
            self.size = last


def _entry(key: str, given: Any) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """The checked entry of one array in the header."""
    if not isinstance(given, dict) or set(given) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"the array {key!r} must have dtype, shape and data_offsets")
    dtype = DTYPES.get(given["dtype"]) if isinstance(given["dtype"], str) else None
    if dtype is None:
        raise ValueError(f"the array {key!r} has an unknown dtype")
    shape, offsets = given["shape"], given["data_offsets"]
    for what, numbers in (("shape", shape), ("data_offsets", offsets)):
        if not isinstance(numbers, list) or not all(type(n) is int and n >= 0 for n in numbers):
            raise ValueError(f"the {what} of the array {key!r} must be integers from 0 on")
    if len(offsets) != 2 or offsets[0] > offsets[1] or len(shape) > 8:
        raise ValueError(f"the array {key!r} has no shape, or no beginning and end")
    # A file of zeros could claim a shape such as (0, 2**70).
    if max(shape, default=0) >= 2**48 or math.prod(shape) * dtype.itemsize != (
        offsets[1] - offsets[0]
    ):
        raise ValueError(f"the array {key!r} has another number of bytes than its shape says")
    return dtype, tuple(shape), offsets[0], offsets[1]


def _checked(name: str, file: BinaryIO, text: bytes) -> _Header:
    """What the header says, once the checksum is right; leaves the file at the header's end."""
    at = len(_BEGINNING)
    given = text[at : at + len(_BLANK)]
    digest = hashlib.sha256(len(text).to_bytes(8, "little"))
    digest.update(text[:at] + _BLANK.encode() + text[at + len(_BLANK) :])
    size = 0
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
        size += len(chunk)
    sound = digest.hexdigest().encode() == given
    try:
        header = _Header(text)
    except ValueError as error:
        raise ValueError(f"{name} is damaged: {error}") from None
    if header.size > size:
        raise ValueError(
            f"{name} is cut off: {header.size - size} of {8 + len(text) + header.size} bytes are "
            f"missing"
        )
    if header.size < size:
        raise ValueError(f"{name} is damaged: {size - header.size} bytes too many stand at its end")
    if not sound:
        raise ValueError(f"{name} is damaged: its contents do not agree with its checksum")
    return header


def strict_json(text: bytes | str) -> Any:
    """The value of JSON without NaN, names that occur twice, or depths that no file needs."""
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("the JSON is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"the JSON cannot be read from character {error.pos} on: {error.msg}"
        ) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice in the JSON")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
