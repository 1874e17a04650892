"""What a study is: cells that are measured one by one, and a page and a figure made from them.

A study is two plain functions, so that a run can stop between any two cells and resume later, and
so that pages and figures can be made again from the recorded numbers alone:

    cells(settings)     what is to be measured, as named pieces of some seconds each
    content(document)   the finding, texts, tables and panels, from what was recorded

Under ``studies/``, NAME.py measures and has the content; where that is long, it is in NAME_page.py.
The words of a module are in the Markdown file beside it (``pages.Template``), and ``render`` makes
the page and the figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paper_repro import render
from paper_repro.published import FEATURES, NONZEROS
from paper_repro.score import Spread, ratios

Record = dict[str, Any]
Records = Mapping[str, Record]


@dataclass(frozen=True)
class Settings:
    """The settings of a run; only a run with the same settings continues an interrupted one."""

    examples: int = 100_000
    features: int = FEATURES
    nonzeros: float = NONZEROS
    #: Rounds in which all competitors of a group take their turns.
    repeats: int = 7
    #: About how many seconds a turn of one competitor lasts.
    seconds: float = 0.15
    seed: int = 0
    #: An svmlight file in place of the generated corpus, and the label to tell from the others.
    data: str | None = None
    label: str | None = None
    #: Another svmlight file, to test on.
    test: str | None = None
    #: A folder of svmlight files, for a study that looks at several sets of rows.
    folder: str | None = None
    #: Words of which one must be in the kind or the name of the rows, with semicolons between them.
    only: str | None = None
    #: Whether the studies run at their published sizes.
    full: bool = False

    def __post_init__(self) -> None:
        for name in ("examples", "features", "repeats"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.nonzeros <= self.features:
            raise ValueError(
                f"nonzeros must lie between 0 and the {self.features} features, got {self.nonzeros}"
            )
        if self.label is not None and self.data is None:
            raise ValueError("label belongs to a file: give data too")
        if self.test is not None and self.data is None:
            raise ValueError("test rows belong to rows to learn from: give data too")
        if not 0 < self.seconds < math.inf:
            raise ValueError(f"seconds must be positive and finite, got {self.seconds}")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}")


QUICK = Settings(repeats=4)
FULL = Settings(examples=1_000_000, seconds=1.0, full=True)


@dataclass(frozen=True)
class Cell:
    """One piece of a study: its name, how it is measured, and about how many seconds that takes.

    ``run`` gets the records of all earlier cells and returns a record that JSON can hold.
    """

    key: str
    run: Callable[[Records], Record]
    cost: float = 1.0


class Measured:
    """A document of a study; subclasses add what their study asks of it.

    ``records`` holds the records of the study's cells by the keys of the cells.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.records: Records = document["records"]
        self.settings: Mapping[str, Any] = document["settings"]

    @property
    def repeats(self) -> int:
        return int(self.settings["repeats"])

    def group(self, name: str) -> list[tuple[list[str], Record]]:
        """The records of the cells ``NAME/PART/PART...``, each with its parts."""
        return [
            (parts, record)
            for key, record in self.records.items()
            for first, *parts in [key.split("/")]
            if first == name
        ]

    def rounds(self, group: str, name: str) -> list[float]:
        """Seconds per example of one competitor, round by round: the cells ``GROUP/round K``."""
        return [self.records[f"{group}/round {k}"][name] for k in range(1, self.repeats + 1)]

    def round_ratios(self, group: str, slow: str, fast: str) -> Spread:
        """How many times longer one competitor of a group takes than another, round by round."""
        return ratios(self.rounds(group, slow), self.rounds(group, fast))


@dataclass(kw_only=True)
class Report:
    """A page and a figure, made from a document of recorded numbers and nothing else."""

    name: str
    title: str
    #: The finding, texts, tables and panels.
    content: Callable[[Mapping[str, Any]], render.Content]
    #: Whether the index of the results shows the finding.
    on_index: bool = False
    #: What the terminal shows; None: the finding.
    shown: Callable[[Mapping[str, Any]], str] | None = None

    def page(self, document: Mapping[str, Any]) -> str:
        """The page without title, figure and machine."""
        return render.page(self.content(document))

    def on_terminal(self, document: Mapping[str, Any]) -> str:
        """What was found, for the terminal."""
        return self.content(document).finding if self.shown is None else self.shown(document)


@dataclass(kw_only=True)
class Study(Report):
    """One question: what is to be measured, and the report on it."""

    #: What is to be measured, in this order.
    cells: Callable[[Settings], Sequence[Cell]]
    #: Whether it runs only when it is asked for by name.
    only_when_named: bool = False
    #: Whether it looks at the corpus, or at the file that is given in its place.
    on_corpus: bool = True
    #: Whether it tests on a separate file.
    takes_test: bool = False
    #: Whether it looks at the files of a folder.
    takes_folder: bool = False
