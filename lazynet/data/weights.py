"""The importance of each row: its sample weight times its class weight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from lazynet.data.arrays import errors_about
from lazynet.parameters import Kind, ParameterObject, check_number, refuse_class, shown


def _check_counts(name: str, value: Any) -> dict[Any, float]:
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{name} must map every class to the number of its rows, got {shown(value)}"
        )
    return {
        label: check_number(f"{name} for the class {shown(label)}", count, above=0)
        for label, count in value.items()
    }


@dataclass(repr=False)
class Balanced(ParameterObject):
    """Class weights under which every class weighs the same, as ``class_weight="balanced"``.

    The weight of a class is the sum of the counts over the number of classes times its count.
    ``class_counts`` maps every class to the number or to the share of its rows; None counts the
    rows in y, which only ``fit`` can do.

    >>> from lazynet import LazyNetClassifier
    >>> model = LazyNetClassifier(class_weight=Balanced(class_counts={"no": 900, "yes": 100}))
    >>> model.partial_fit([[1.0], [2.0]], ["no", "yes"], classes=["no", "yes"]).t_
    2
    >>> Balanced(class_counts={"no": 0.9, "yes": 0.1}).by_class(np.array(["no", "yes"])).round(3)
    array([0.556, 5.   ])
    """

    name: ClassVar[str] = "balanced"
    class_counts: Annotated[Mapping[Any, float], Kind(_check_counts)] | None = None

    def by_class(self, classes: NDArray[Any]) -> NDArray[np.float64]:
        """The weight of each of the ``classes``, which must be the classes that are counted."""
        counted = self.settled().class_counts
        assert counted is not None, "without counts the rows of y are counted"
        labels = classes.tolist()
        if len(labels) != len(counted) or any(label not in counted for label in labels):
            raise ValueError(
                f"class_counts of Balanced must name the classes {classes}, got {list(counted)}"
            )
        counts = np.array([counted[label] for label in labels])
        with np.errstate(over="ignore", divide="ignore"):
            weights = counts.sum() / (len(classes) * counts)
        if not np.isfinite(weights).all():
            raise ValueError(f"class_counts of Balanced must have a finite ratio, got {counted}")
        return np.asarray(weights, dtype=np.float64)


# The least sum of importances: a loss divided by this number is finite.
_LEAST_TOTAL = 1e-200


def total_of(importances: NDArray[np.float64]) -> float:
    """The sum of the importances, the divisor of the mean loss; errors name sample_weight."""
    # The plain sum shows whether the exact sum is in range.
    with np.errstate(over="ignore"):
        about = float(importances.sum())
    if not _LEAST_TOTAL <= about <= 1.0 / _LEAST_TOTAL:
        raise ValueError(
            f"sample_weight, times class_weight, must have a sum from {_LEAST_TOTAL:g} to "
            f"{1.0 / _LEAST_TOTAL:g}, got {about:g}"
        )
    return math.fsum(importances)


def check_weight_of_every_class(
    classes: NDArray[Any], y: Any, weights: NDArray[np.float64] | None
) -> None:
    """Refuse a class whose rows all have the weight 0: the minimum would not depend on it."""
    if weights is None:
        return
    missing = np.setdiff1d(classes, y[weights > 0.0])
    if len(missing):
        raise ValueError(
            f"sample_weight, times class_weight, must be above 0 for a row of every class, and is "
            f"0 for all rows of {missing[0]}: leave the class out, or give it a weight"
        )


def _check_class_weight(name: str, value: Any) -> Balanced | dict[Any, float]:
    if isinstance(value, str) and value == Balanced.name:
        return Balanced()
    if isinstance(value, Balanced):
        return value.settled()
    refuse_class(name, value)
    if not isinstance(value, Mapping):
        raise ValueError(
            f"{name} must be None, 'balanced', Balanced(class_counts) or a dict of weights by "
            f"class, got {shown(value)}"
        )
    return {
        label: check_number(f"{name}[{shown(label)}]", weight, least=0)
        for label, weight in value.items()
    }


#: The type of the parameter ``class_weight``.
ClassWeight = Annotated[
    Mapping[Any, float] | str | Balanced, Kind(_check_class_weight, objects=(Balanced,))
]


def row_importances(
    class_weight: Balanced | dict[Any, float],
    classes: NDArray[Any],
    y: Any,
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """The importance of every row: its class weight times its checked sample weight, if given."""
    if isinstance(class_weight, Balanced) and class_weight.class_counts is not None:
        by_class = class_weight.by_class(classes)
    else:
        weight = Balanced.name if isinstance(class_weight, Balanced) else class_weight
        with errors_about("class_weight"):
            by_class = compute_class_weight(weight, classes=classes, y=y)
    by_row = by_class[np.searchsorted(classes, y)]
    if weights is None:
        return by_row
    # A product that is too large becomes infinite, and infinity is refused below.
    with np.errstate(over="ignore"):
        by_row = by_row * weights
    if not np.isfinite(by_row).all():
        raise ValueError(
            "class_weight times sample_weight must be finite for every row, got infinity"
        )
    return by_row
