"""What the five texts print: numbers in the printed units, figures and claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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

#: What the early text says of its two rates, whose quotient is another number.
STATED_EARLY_RATIO = 612.2
#: All features of Dexter, and the updates of Ma & Zheng's Figure 1.
DEXTER_FEATURES, UPDATES = 20_000, 1000

EARLY, VERSION_3, NOTE = (
    "Lipton & Elkan, early text",
    "Lipton & Elkan, version 3",
    "the note of 2012",
)
DEKEL, MA_ZHENG, REPOSITORY = "Dekel", "Ma & Zheng", "Ma & Zheng's repository"
#: The five texts, and the files that the authors of the last one published.
TEXTS = {
    EARLY: "Lipton & Elkan, Efficient Elastic Net Regularization for Sparse Linear Models, early "
    "text",
    VERSION_3: "the same paper, version 3 (arXiv:1505.06449v3)",
    NOTE: 'the note "Sparse Features and L2 Regularization" (2012)',
    DEKEL: "Dekel, Linear Learning with Sparse Data (arXiv:1612.09147)",
    MA_ZHENG: "Ma & Zheng, Stabilized Sparse Online Learning for Sparse Data (arXiv:1604.06498)",
    REPOSITORY: "what Ma & Zheng have published beside their paper, and do not print in it",
}


@dataclass(frozen=True)
class Printed:
    """A number, a table, a figure or a claim of a text.

    ``number`` is None where the text claims something without a number, or where its numbers are
    lost in the text that was available.
    """

    key: str
    text: str
    #: Where it stands: the section, and the line, formula, table or figure.
    where: str
    #: What it is about.
    what: str
    #: What is printed, in words, with the printed unit.
    printed: str
    number: float | None = None
    #: Whether it is a measurement that another machine can repeat: a ratio of two measurements of
    #: one machine, or a share.  A rate or a time is not, nor is an input or an identity.
    repeatable: bool = False


def _entries() -> Iterator[Printed]:
    """The rows of the table in published.md."""
    for line in Path(__file__).with_suffix(".md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("| ") or line.startswith("| key "):
            continue
        cells = [cell.strip() for cell in line[1:-1].split("|")]
        key, text, where, what, printed, number, repeatable = cells
        dividend, _, divisor = number.partition(" / ")
        value = float(dividend) / float(divisor or 1) if number else None
        yield Printed(key, text, where, what, printed, value, repeatable == "yes")


#: Everything that the five texts print, text by text.
ENTRIES: tuple[Printed, ...] = tuple(_entries())
