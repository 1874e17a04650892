"""One file of named arrays and a JSON header: a safetensors file with a checksum.

The metadata of the file have one string, "lazynet": the header as JSON.  The array "sha256" holds
the checksum of the header's text and of every other array.  Nothing in a file is executed.

The header begins with these names:

    format           "lazynet model" or "lazynet checkpoint"
    format_version   the version of the format; another one is not read
    lazynet_version  the lazynet that has written the file
    sparse           the shapes, by name, of arrays of which most entries are 0: they are stored as
                     two arrays, the places and the values of the other entries
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from lazynet._version import __version__
from lazynet.data.files import check_path, replaced

Arrays = Mapping[str, NDArray[Any]]

#: The version of the format that this lazynet reads and writes.
FORMAT_VERSION = 1

_HEADER, _CHECKSUM = "lazynet", "sha256"
# safetensors reads headers of up to 100 million bytes, and this text is a part of one, in which a
# character may take two bytes.
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
    first = {
        "format": kind,
        "format_version": FORMAT_VERSION,
        "lazynet_version": __version__,
        "sparse": shapes,
    }
    text = json.dumps({**first, **header}, separators=(",", ":"))
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

    A ValueError names the file and what is wrong with it.  Only arrays of which most entries are 0
    take more memory than a few times the size of the file.
    """
    check_path("path", path)
    name = os.fspath(path)
    if os.path.isdir(name):
        raise IsADirectoryError(f"{name} is a directory, and not a file of lazynet")
    if os.path.exists(name) and not os.path.isfile(name):
        # A pipe could keep the reader waiting.
        raise ValueError(f"{name} is not a regular file")
    data = Path(name).read_bytes()
    try:
        arrays = load(data)
        stored_checksum = arrays.pop(_CHECKSUM)
        text = _metadata(data)[_HEADER]
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
            arrays[key] = _dense(shape, places, values)
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} has a sparse array that cannot be read: {error}") from None
    except MemoryError:
        raise MemoryError(f"{name} has an array that needs more memory than there is") from None
    return header, arrays


def physical_bytes() -> int | None:
    """Bytes of memory that the machine has; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _dense(shape: list[int], places: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """The array of this shape that has ``values`` at ``places``, and 0 elsewhere."""
    memory = physical_bytes()
    if memory is not None and math.prod(shape) * values.itemsize > memory:
        # A small file can name a large array: without this the system might end the process.
        raise MemoryError
    array = np.zeros(shape, values.dtype)
    array.reshape(-1)[places] = values
    return array


def _metadata(data: bytes) -> Any:
    """The metadata of a file that safetensors has read, which says nothing of them."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length])["__metadata__"]


def checksum(text: str, arrays: Arrays) -> NDArray[np.uint8]:
    """The checksum of a text and of all arrays with their names, types and shapes."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\0{name}\0{array.dtype.name}{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return np.frombuffer(digest.digest(), dtype=np.uint8)
