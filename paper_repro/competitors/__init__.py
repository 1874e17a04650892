"""The learners that are timed: tiers, one file each, with lazy and dense learners.

dicts          pure Python over dictionaries, as in Lipton & Elkan's early text
scipy_rows     pure Python over the rows of a SciPy matrix, as in their third version; a row is
               spread out before dense updates visit it
looked_up      the same, but every element is looked up; several readings, each of them a tier
numpy_vectors  vectorised NumPy: what a competent user writes today
compiled       lazynet's engines

Within a tier the learners differ in their laziness alone.  The tiers in pure Python share the lazy
loops of interpreted.py.  A new tier is a new file and a line in this one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from paper_repro.competitors import compiled, dicts, looked_up, numpy_vectors, scipy_rows
from paper_repro.competitors.base import Competitor

#: tier -> its competitors by name
TIERS: dict[str, dict[str, type[Competitor]]] = {
    tier: {competitor.name: competitor for competitor in module.COMPETITORS}
    for tier, module in (
        ("dicts", dicts),
        ("scipy", scipy_rows),
        ("numpy", numpy_vectors),
        ("compiled", compiled),
    )
}

#: The tiers whose elements are looked up, one for each reading of version 3.  Their dense updates
#: take so long that they are timed on a share of the features.
READINGS: dict[str, dict[str, Callable[..., Competitor]]] = {
    tier: {each.name: partial(each, reading=reading) for each in looked_up.COMPETITORS}
    for tier, reading in looked_up.READINGS.items()
}

#: The plainest reading.  Like the tier ``scipy`` it has its weights in an array.
PLAINEST = next(iter(READINGS))

#: The tiers in a few words.
DESCRIPTIONS = {
    "dicts": "pure Python, dictionaries",
    "scipy": "pure Python, SciPy rows",
    PLAINEST: "pure Python, SciPy elements",
    "numpy": "vectorised NumPy",
    "compiled": "compiled (lazynet)",
}

#: The rules, and their names on pages.
RULES = {"sgd": "SGD", "fobos": "FoBoS"}
