"""The objects that a file may name: rules, schedules, averages, engines, losses, weights, folds.

A file holds the name of such an object and its parameters.  A name that is not in this table is
refused: nothing is imported because a file says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sklearn import model_selection

from lazynet.averages import FromStep, PolynomialDecay, Suffix
from lazynet.data.standardise import Units
from lazynet.data.weights import Balanced
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.engines.wear import Wear
from lazynet.losses import LOSS
from lazynet.parameters import ParameterObject
from lazynet.rules.storage import FORMS
from lazynet.schedules import SCHEDULES, FromArray

_FOLDS = (
    "GroupKFold",
    "GroupShuffleSplit",
    "KFold",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "ShuffleSplit",
    "StratifiedGroupKFold",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
    "TimeSeriesSplit",
)

#: Every object by the name in a file.
WORDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(row.rule for row in ALGORITHMS.values()),
        *SCHEDULES.values(),
        FromArray,
        *FORMS.values(),
        FromStep,
        Suffix,
        PolynomialDecay,
        *LOSS.objects,
        Balanced,
        Wear,
        Units,
        *(getattr(model_selection, name) for name in _FOLDS),
    )
}
# The objects that are told their parameters by fields, and that check them when they are made.
_BY_FIELDS: dict[type[Any], tuple[str, ...]] = {
    FromArray: ("values",),
    Wear: tuple(Wear._kinds),
    Units: ("sizes", "means", "targets"),
}


def fields_of(word: Any) -> dict[str, Any]:
    """The parameters of an object in the table, by name.

    >>> from lazynet import RDA
    >>> fields_of(RDA(gamma=5))
    {'gamma': 5, 'rho': 0.0}
    """
    if isinstance(word, ParameterObject):
        return dict(word.get_params(deep=False))
    names = _BY_FIELDS.get(type(word), ()) or _arguments(type(word))
    return {name: getattr(word, name) for name in names}


def _arguments(kind: type[Any]) -> tuple[str, ...]:
    """The arguments of a constructor."""
    if kind.__init__ is object.__init__:
        return ()
    return tuple(inspect.signature(kind).parameters)


def made(name: str, fields: dict[str, Any]) -> Any:
    """The object of this name with these parameters; refuses unknown names.

    >>> made("RDA", {"gamma": 5, "rho": 0.0})
    RDA(gamma=5)
    """
    kind = WORDS.get(name)
    if kind is None:
        raise ValueError(f"there is no {name} among the objects that a model may have")
    known = kind._get_param_names() if issubclass(kind, ParameterObject) else None
    names = set(_BY_FIELDS.get(kind, ()) or (_arguments(kind) if known is None else known))
    if unknown := sorted(set(fields) - names):
        raise ValueError(f"{name} has no parameter {unknown[0]!r}")
    build: Callable[..., Any] = kind
    try:
        return build(**fields)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"{name}: {error}") from None
