"""The importance of each row: its sample weight times its class weight; the check of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight

from lazynet.data.arrays import errors_about
from lazynet.parameters import Kind, ParameterObject, check_array, check_number, refuse_class, shown


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


def check_sample_weight(
    sample_weight: ArrayLike | None, X: sparse.csr_matrix, *, some_rows: bool = False
) -> NDArray[np.float64] | None:
    """``sample_weight`` as one finite number >= 0 per row of X, at least one of them > 0.

    A single number is the weight of every row.  ``some_rows``: X is a part of all rows, and the
    weights of a part may all be 0.
    """
    if sample_weight is None:
        return None
    rule = "must hold one real number for every row"
    weights = check_array("sample_weight", rule, sample_weight, masks=True)
    if weights.ndim == 0:
        weights = np.full(X.shape[0], float(weights))
    if weights.shape != (X.shape[0],):
        raise ValueError(f"sample_weight {rule}, shape ({X.shape[0]},), got shape {weights.shape}")
    # NaN fails both comparisons.
    sound = (weights >= 0.0) & (weights < np.inf)
    if not sound.all():
        row = int(np.argmin(sound))
        raise ValueError(
            f"sample_weight must be finite and not negative, got {weights[row]} for row {row}"
        )
    if not some_rows:
        check_any_weight(weights.any())
    return np.ascontiguousarray(weights)


def check_any_weight(any_weight: bool | np.bool_) -> None:
    """Refuse sample weights that are all 0."""
    if not any_weight:
        raise ValueError("sample_weight must not be zero for every row: nothing would be learned")


def total_of(importances: NDArray[np.float64]) -> float:
    """The sum of the importances, the divisor of the mean loss; errors name sample_weight.

    >>> total_of(np.array([0.5, 2.0]))
    2.5
    """
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
    """Refuse a class whose rows all have the weight 0: the minimum would not depend on this class.

    >>> weights = np.array([1.0, 0.0, 0.0])
    >>> check_weight_of_every_class(np.array([0, 1]), np.array([0, 1, 1]), weights)
    Traceback (most recent call last):
    ...
    ValueError: sample_weight, times class_weight, must be above 0 for a row of every class, \
and is 0 for all rows of 1: leave the class out, or give it a weight
    """
    if weights is None:
        return
    missing = np.setdiff1d(classes, y[weights > 0.0])
    if len(missing):
        raise ValueError(
            f"sample_weight, times class_weight, must be above 0 for a row of every class, and is "
            f"0 for all rows of {missing[0]}: leave the class out, or give it a weight"
        )


def check_classes(classes: ArrayLike, *, of_columns: bool = False) -> NDArray[Any]:
    """The labels ``classes`` of ``partial_fit``, sorted, without repetitions.

    The names ``of_columns`` of y keep their order, and must be distinct.

    >>> check_classes(["zebra", "cat"]).tolist()
    ['cat', 'zebra']
    >>> check_classes(["zebra", "cat"], of_columns=True).tolist()
    ['zebra', 'cat']
    """
    try:
        names = np.asarray(classes)
        labels = np.unique(names)
        str(labels)  # Errors print the labels, and Python refuses to print a huge integer.
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"classes must be labels that can be sorted, got {shown(classes)}: {error}"
        ) from None
    if not of_columns:
        return labels
    if names.ndim != 1 or len(labels) != len(names):
        raise ValueError(
            f"classes must name every column of y once, in the order of the columns, got "
            f"{shown(classes)}"
        )
    return names


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
    Mapping[Any, float] | str | Balanced,
    Kind(_check_class_weight, objects=(Balanced,)),
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


def counts_rows(class_weight: Any) -> bool:
    """Whether class weights need the number of rows of every class.

    >>> counts_rows(Balanced()), counts_rows(Balanced(class_counts={0: 1, 1: 2}))
    (True, False)
    """
    return isinstance(class_weight, Balanced) and class_weight.class_counts is None
