"""How the rules of the affine family store their weights.

Every storage gives the same weights up to rounding.  They differ in memory and in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from lazynet.parameters import Flag, Integer, Kind, ParameterObject, named_or_given

#: Steps that tables hold by default: the million examples of the paper's experiment.
DEFAULT_BUDGET = 2**20


class Storage(ParameterObject):
    """How a rule of the affine family stores its weights."""


@dataclass(repr=False)
class Clock(Storage):
    """One number per weight and two running scalars; the fastest storage.

    >>> from lazynet import FoBoS
    >>> FoBoS(storage=Clock())
    FoBoS(storage=Clock())
    """

    name: ClassVar[str] = "clock"


@dataclass(repr=False)
class Tables(Storage):
    """Lipton & Elkan's own storage: a step number per weight and two numbers per step.

    After ``budget`` steps all weights are brought current and the tables start again.  There are
    no averages with tables.

    >>> from lazynet import FoBoS
    >>> FoBoS(storage=Tables(budget=4096))
    FoBoS(storage=Tables(budget=4096))
    """

    name: ClassVar[str] = "tables"
    budget: Annotated[int, Integer(least=1, most=2**27)] = DEFAULT_BUDGET


@dataclass(repr=False)
class Dense(Storage):
    """Every step visits every weight: the compiled loop to which lazy updates are compared.

    With ``predictions`` the prediction and the gradient visit all features too.

    >>> from lazynet import FoBoS
    >>> FoBoS(storage=Dense(predictions=True))
    FoBoS(storage=Dense(predictions=True))
    """

    name: ClassVar[str] = "dense"
    predictions: Flag = False


#: Every storage by name.
STORAGES: dict[str, type[Storage]] = {kind.name: kind for kind in (Clock, Tables, Dense)}

#: The type of the parameter ``storage``.
StorageLike = Annotated[
    str | Storage,
    Kind(named_or_given, objects=tuple(STORAGES.values()), base=Storage, by_name=STORAGES),
]
