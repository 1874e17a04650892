"""The numbers that Lipton & Elkan printed, in the printed units."""

from __future__ import annotations

from dataclasses import dataclass

FEATURES = 260_941
NONZEROS = 88.54
#: Features divided by nonzeros per example: the ratio that sparsity alone could yield.
IDEAL = FEATURES / NONZEROS


@dataclass(frozen=True)
class Published:
    """Seconds per example of one rule in one version of the paper; None where none is printed."""

    lazy: float
    sparse_predictions: float
    dense: float | None

    @property
    def dense_ratio(self) -> float | None:
        return None if self.dense is None else self.dense / self.lazy

    @property
    def sparse_ratio(self) -> float:
        return self.sparse_predictions / self.lazy


#: By tier and rule.  The early text stores examples as dictionaries; it says 612.2 where its two
#: rates give 613.4.  arXiv:1505.06449v3 stores examples as rows of SciPy matrices.
PUBLISHED: dict[tuple[str, str], Published] = {
    ("dicts", "fobos"): Published(1 / 1893, 1 / 3.086, None),
    ("scipy", "sgd"): Published(0.0102, 14.381, 21.377),
    ("scipy", "fobos"): Published(0.0120, 16.785, 22.511),
}
