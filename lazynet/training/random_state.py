"""The parameter ``random_state``: its check, and the random generator that it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lazynet.parameters import Kind, check_integer, shown

#: The largest seed that NumPy's RandomState takes.
_LARGEST_SEED = 2**32 - 1


def _check_random_state(name: str, value: Any) -> int | np.random.RandomState:
    if isinstance(value, np.random.RandomState):
        return value
    if value is np.random:
        return check_random_state(value)
    try:
        return check_integer(name, value, 0, _LARGEST_SEED)
    except TypeError:
        raise TypeError(
            f"{name} must be None, an integer from 0 to {_LARGEST_SEED} or a "
            f"numpy.random.RandomState, got {shown(value)}"
        ) from None


#: The kind of the parameter ``random_state``.
SEED = Kind(_check_random_state, optional=True)


def new_generator(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """The given generator, or a new one seeded by the integer or, for None, by NumPy's global one.

    >>> new_generator(0).randint(10) == np.random.RandomState(0).randint(10)
    True
    """
    if random_state is None:
        return np.random.RandomState(np.random.randint(2**31))  # noqa: NPY002
    return check_random_state(random_state)
