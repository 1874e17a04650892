"""Whether two fitted models have the same bits: a checksum of everything that they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from lazynet.engines.base import Engine


def bits_of(model: Any) -> str:
    """A checksum of every number of a fitted model, but for the seconds."""
    digest = hashlib.sha256()
    _add(digest, {name: part for name, part in vars(model).items() if name != "_lock"})
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    if isinstance(value, Engine):
        value = [value.state(), value.coefficients()]
    elif sparse.issparse(value):
        value = [value.shape, value.data, value.indices, value.indptr]
    elif isinstance(value, np.random.RandomState):
        value = value.get_state()
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, Mapping):
        for name, part in sorted(value.items()):
            if name != "seconds":
                digest.update(repr(name).encode())
                _add(digest, part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            _add(digest, part)
    elif isinstance(value, (float, np.floating)):
        digest.update(float(value).hex().encode())
    else:
        digest.update(repr(value).encode())
