"""The counterexamples of ``docs/errata.md``, and closed forms on random gaps, in fractions."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from pathlib import Path

from lazynet.reference import closed_forms
from lazynet.reference.affine import fobos_shrink, sgd_shrink

ERRATA = Path(__file__).parent.parent.parent / "docs" / "errata.md"
#: The random gaps on which every form is compared with repeated shrinks.
GAPS = 1000
FORMS = dict.fromkeys(
    (
        "theorem_1",
        "printed_theorem_1_statement",
        "printed_theorem_1_eq_13",
        "printed_theorem_1_proof",
    ),
    sgd_shrink,
) | dict.fromkeys(("theorem_2", "printed_theorem_2"), fobos_shrink)
_CARD = re.compile(r"^\*\*Counterexample\.\*\* (.*) \(`(\w+)`\)$", re.MULTILINE)
_GAP = re.compile(r"w = (\S+), eta = ([\d/ then]+), l1 = (\S+), l2 = (\S+): ")


def counterexamples() -> dict[str, str]:
    """The counterexamples by name; what closed forms give is computed here."""
    found = {}
    for card, name in _CARD.findall(ERRATA.read_text(encoding="utf-8")):
        found[name] = card
        if (given := _GAP.match(card)) and name in dir(closed_forms):
            x, l1, l2 = (Fraction(given[k]) for k in (1, 3, 4))
            gap = x, [Fraction(rate) for rate in given[2].split(" then ")], l1, l2
            true = closed_forms.repeated(FORMS.get(name, sgd_shrink))(*gap)
            form = getattr(closed_forms, name)(*gap)
            found[name] = f"{given[0]}true {true}, printed {form}"
            if not name.startswith("printed"):
                printed = closed_forms.printed_theorem_1_statement(*gap)
                found[name] = f"{given[0]}true {true}, corrected {form}, printed {printed}"
    return found


def wrong_on_gaps() -> dict[str, str]:
    """On how many of the random gaps, all with eta l2 < 1, a form is not its repeated shrinks."""
    draw = random.Random(0)

    def share(least: int, most: int) -> Fraction:
        return Fraction(draw.randint(least, most), 12)

    wrong = dict.fromkeys(FORMS, 0)
    for _ in range(GAPS):
        etas = [share(1, 11) / 2 for _ in range(draw.randint(1, 4))]
        gap = share(12, 60), etas, share(1, 6), share(1, 12)
        for name, shrink in FORMS.items():
            true = closed_forms.repeated(shrink)(*gap)
            wrong[name] += getattr(closed_forms, name)(*gap) != true
    return {"of": f"{GAPS:,}", **{name: f"{count:,}" for name, count in wrong.items()}}
