"""One file of named arrays and a JSON header: a safetensors file with a checksum.

The metadata of the file have one string, "lazynet": the header as JSON.  The array "sha256" holds
the checksum of the header's text and of every other array.  Nothing in a file is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from lazynet.data.atomic_files import check_path, replaced

Arrays = Mapping[str, NDArray[Any]]

_HEADER, _CHECKSUM = "lazynet", "sha256"
# safetensors reads headers of up to 100 million bytes, and this text is a part of one, in which a
# character may take two bytes.
_LONGEST_HEADER = 40_000_000


def takes(dtype: np.dtype[Any]) -> bool:
    """Whether a file can hold arrays of this dtype.

    >>> takes(np.dtype("float64")), takes(np.dtype("complex64"))
    (True, False)
    """
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write the file as a whole or not at all: what stood there before stays until the end.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(folder + "/file", {"note": "hello"}, {"x": np.arange(3.0)})
    ...     read(folder + "/file")
    ({'note': 'hello'}, {'x': array([0., 1., 2.])})
    """
    text = json.dumps(header, separators=(",", ":"))
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"{os.fspath(path)} cannot be written: its header would have {len(text):,} bytes, and "
            f"may have {_LONGEST_HEADER:,}"
        )
    ready = {
        name: np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
        for name, array in arrays.items()
    }
    whole = save({**ready, _CHECKSUM: _checksum(text, ready)}, {_HEADER: text})
    with replaced(path) as file:
        file.write(whole)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a file; a ValueError names the file and what is wrong with it.

    Nothing takes more memory than a few times the size of the file.
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
        given = arrays.pop(_CHECKSUM)
        text = _metadata(data)[_HEADER]
        sound = np.array_equal(given, _checksum(text, arrays))
        header = json.loads(text)
    except (SafetensorError, ValueError, LookupError, TypeError, RecursionError) as error:
        reason = "it has no checksum of lazynet" if isinstance(error, KeyError) else error
        raise ValueError(f"{name} is not a file of lazynet, or it is damaged: {reason}") from None
    if not sound or type(header) is not dict:
        raise ValueError(f"{name} is damaged: its contents do not agree with its checksum")
    return header, arrays


def _metadata(data: bytes) -> Any:
    """The metadata of a file that safetensors has read, which says nothing of them."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length])["__metadata__"]


def _checksum(text: str, arrays: Arrays) -> NDArray[np.uint8]:
    """The checksum of a header and of all arrays with their names, types and shapes."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\0{name}\0{array.dtype.name}{array.shape}\0".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return np.frombuffer(digest.digest(), dtype=np.uint8)
