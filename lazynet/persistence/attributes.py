"""What the attributes of a fitted model may be: the words of the tables in the estimators.

An estimator lists its attributes in ``_saved`` and what only further learning needs in
``_saved_to_learn``.  A file may set the attributes of these tables and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from lazynet.data.standardise import Units
from lazynet.parameters import is_number


class Sizes(NamedTuple):
    """The numbers that shapes follow: rows of weights, and features."""

    k: int
    n: int


#: Whether a value can be the attribute of a model of these sizes.
Check = Callable[[Any, Sizes], bool]


def attributes(**checks: Check) -> Mapping[str, Check]:
    """A read-only table of attributes by name."""
    return MappingProxyType(checks)


def integer(value: Any, sizes: Sizes) -> bool:
    """An integer from 0 on."""
    whole = isinstance(value, (int, np.integer)) and type(value) is not bool
    return whole and bool(value >= 0)


def flag(value: Any, sizes: Sizes) -> bool:
    """True or False."""
    return type(value) is bool


def real(value: Any, sizes: Sizes) -> bool:
    """A real number."""
    return is_number(value)


def text(*accepted: str) -> Check:
    """One of several strings."""
    return lambda value, sizes: type(value) is str and value in accepted


def records(value: Any, sizes: Sizes) -> bool:
    """A list of dicts."""
    return type(value) is list and all(type(record) is dict for record in value)


def generator(value: Any, sizes: Sizes) -> bool:
    """A random generator."""
    return isinstance(value, np.random.RandomState)


def units(value: Any, sizes: Sizes) -> bool:
    """The units of the features."""
    if not isinstance(value, Units):
        return False
    both = (value.sizes, value.means)
    of_targets = optional(array("f", "k"))(value.targets, sizes)
    return of_targets and all(array("f", "n")(part, sizes) for part in both)


def array(kinds: str, *shape: int | str | None) -> Check:
    """An array with a dtype of these kinds and this shape: "k", "n", a number, or None for any.

    >>> array("f", "k", "n")(np.zeros((2, 3)), Sizes(2, 3))
    True
    """

    def check(value: Any, sizes: Sizes) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
            return False
        wanted = [getattr(sizes, size) if isinstance(size, str) else size for size in shape]
        return len(value.shape) == len(wanted) and all(
            size is None or size == given for size, given in zip(wanted, value.shape, strict=True)
        )

    return check


def any_of(*checks: Check) -> Check:
    """What one of several checks accepts."""
    return lambda value, sizes: any(check(value, sizes) for check in checks)


def optional(check: Check) -> Check:
    """None, or what ``check`` accepts."""
    return lambda value, sizes: value is None or check(value, sizes)


def sequence(kind: type[list[Any]] | type[tuple[Any, ...]], *checks: Check) -> Check:
    """A list of any length whose parts one check accepts, or a tuple with a check for each part."""

    def check(value: Any, sizes: Sizes) -> bool:
        if type(value) is not kind or (kind is tuple and len(value) != len(checks)):
            return False
        each = checks if kind is tuple else checks * len(value)
        return all(accepts(part, sizes) for accepts, part in zip(each, value, strict=True))

    return check


def anything(value: Any, sizes: Sizes) -> bool:
    """Whatever a file can hold."""
    return True


def table_of(kind: type[Any], name: str) -> dict[str, Check]:
    """The entries of the table ``name`` in a class and its bases."""
    found: dict[str, Check] = {}
    for base in reversed(kind.__mro__):
        found.update(vars(base).get(name, {}))
    return found
