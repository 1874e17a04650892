"""The learners that are timed: four tiers, one file each, with lazy and dense learners.

dicts          pure Python over dictionaries, as in Lipton & Elkan's early text
scipy_rows     pure Python over the rows of a SciPy matrix, as in their third version
numpy_vectors  vectorised NumPy: what a competent user writes today
compiled       lazynet's engines

Within a tier the learners differ in their laziness alone.  The first two tiers share the loops of
interpreted.py.  A new tier is a new file and a line in this one.
"""

from __future__ import annotations

from paper_repro.competitors import compiled, dicts, numpy_vectors, scipy_rows
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

#: The tiers in a few words.
DESCRIPTIONS = {
    "dicts": "pure Python, dictionaries",
    "scipy": "pure Python, SciPy rows",
    "numpy": "vectorised NumPy",
    "compiled": "compiled (lazynet)",
}

#: The rules, and their names on pages.
RULES = {"sgd": "SGD", "fobos": "FoBoS"}
