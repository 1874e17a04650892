"""What of Ma & Zheng's algorithm is reconstructed, in words that several pages share."""

from __future__ import annotations

from paper_repro.pages import Template

PAGE = Template.beside(__file__)


def points() -> str:
    """That the formulas are reconstructed, and which points are this package's choices."""
    return PAGE("points")


def in_a_sentence() -> str:
    """The same in a sentence, for pages on which none of these formulas is used."""
    return PAGE("in a sentence")
