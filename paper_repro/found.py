"""What the committed results say of an entry of ``published.ENTRIES``: a finder for each.

``printed_lipton_elkan`` and ``printed_ma_zheng`` register the finders, ``printed`` makes the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from paper_repro.pages import Template
from paper_repro.published import Printed
from paper_repro.studies.stability_outcomes import Selections

ERRATA = "[the errata](../../docs/errata.md)"

Documents = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """What was found of an entry: the words, the page, and the quotient found / printed.

    ``factor`` is None where the two cannot be compared, and where nothing was measured.
    """

    reproduced: str
    page: str = ""
    factor: float | None = None


class Committed:
    """The documents of the studies, of the folder itself and of its subfolders."""

    def __init__(self, documents: Documents, below: Mapping[str, Documents]) -> None:
        self.documents, self.below = documents, below
        self.stability: dict[str, Selections] = {
            folder: Selections(found["stability"])
            for folder, found in {"": documents, **below}.items()
            if "stability" in found
        }

    def of(self, study: str) -> Any:
        """The document of a study; raises ``Missing`` without one."""
        if study not in self.documents:
            raise Missing
        return self.documents[study]

    def on(self, folder: str) -> Selections:
        """The study ``stability`` on the data of a folder."""
        if folder not in self.stability:
            raise Missing
        return self.stability[folder]


class Missing(LookupError):
    """The results lack the study that an entry needs."""


Finder = Callable[[Committed, Printed], Found]
FINDERS: dict[str, Finder] = {}


def finds(*keys: str) -> Callable[[Finder], Finder]:
    """The function finds what is reproduced of these entries."""

    def register(finder: Finder) -> Finder:
        FINDERS.update(dict.fromkeys(keys, finder))
        return finder

    return register


def fills(
    template: Template, study: str, *keys: str
) -> Callable[[Callable[[Any], Mapping[str, Any]]], Finder]:
    """The function makes the values of the part ``keys[0]`` from the document of a study."""

    def register(values: Callable[[Any], Mapping[str, Any]]) -> Finder:
        def finder(found: Committed, _: Printed) -> Found:
            return Found(template(keys[0], **values(found.of(study))), link(study))

        return finds(*keys)(finder)

    return register


def link(name: str, folder: str = "") -> str:
    """A link to the page of a study."""
    where = f"{folder}/{name}" if folder else name
    return f"[{name}{f' on {folder}' if folder else ''}]({where}.md)"


def number_of(entry: Printed) -> float:
    """The printed number of an entry that has one."""
    if entry.number is None:
        raise ValueError(f"the entry {entry.key!r} has no number to compare with")
    return entry.number


def told(text: str, page: str = "") -> Finder:
    """The text, which has no numbers: a proof, an erratum, or that nothing is printed."""
    return lambda _found, _entry: Found(text, page)
