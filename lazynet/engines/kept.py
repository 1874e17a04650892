"""What an engine keeps for a later run: values by name, checked as they are taken over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Values by name: numbers, arrays, lists and further values by name.
Kept = dict[str, Any]


class Unsuitable(ValueError):
    """Values that cannot be taken over."""


def fits(found: Any, target: NDArray[Any]) -> bool:
    """Whether a value is an array of the shape and type of ``target``."""
    return type(found) is np.ndarray and (found.shape, found.dtype) == (target.shape, target.dtype)


def put(target: NDArray[Any], name: str, kept: Mapping[str, Any]) -> None:
    """Copy the array ``name`` to ``target``, which has its shape and type.

    >>> weights = np.zeros(2)
    >>> put(weights, "weights", {"weights": np.array([1.0, 2.0])})
    >>> weights
    array([1., 2.])
    """
    found = kept[name]
    if not fits(found, target):
        raise ValueError(f"{name} is not the array that it must be")
    target[...] = found


def whole(name: str, kept: Mapping[str, Any], most: int = 2**62) -> int:
    """The integer ``name``, from 0 to ``most``."""
    found = kept[name]
    if type(found) is not int or not 0 <= found <= most:
        raise ValueError(f"{name} must be an integer from 0 to {most}")
    return found


def real(name: str, kept: Mapping[str, Any]) -> float:
    """The float ``name``."""
    found = kept[name]
    if not isinstance(found, float):
        raise ValueError(f"{name} must be a number")
    return found


def flag(name: str, kept: Mapping[str, Any]) -> bool:
    """The flag ``name``."""
    if type(kept[name]) is not bool:
        raise ValueError(f"{name} must be true or false")
    return bool(kept[name])


def vector(name: str, kept: Mapping[str, Any], length: int) -> NDArray[np.float64]:
    """The vector ``name`` of so many doubles."""
    found = np.empty(length)
    put(found, name, kept)
    return found


def places(name: str, kept: Mapping[str, Any], n: int) -> NDArray[np.int64]:
    """The vector ``name`` of different numbers from 0 to below ``n``."""
    found = kept[name]
    if type(found) is not np.ndarray or found.dtype != np.int64 or found.ndim != 1:
        raise ValueError(f"{name} must be an array of integers")
    if len(found) and not 0 <= found.min() <= found.max() < n:
        raise ValueError(f"{name} must lie below {n}, and not below 0")
    if len(np.unique(found)) != len(found):
        raise ValueError(f"{name} must differ from each other")
    return found


def parts(name: str, kept: Mapping[str, Any], length: int) -> list[Any]:
    """The list ``name`` of so many parts."""
    found = kept[name]
    if type(found) is not list or len(found) != length:
        raise ValueError(f"{name} must have {length} parts")
    return found
