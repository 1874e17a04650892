"""Builds the report from ``article.typ`` and ``metadata.yaml``: ``make article``.

The template holds the words and formulas.  Each number in it is one of ``values``, read from the
committed results and pages, or computed by ``lazynet.reference``.  ``check_words`` refuses results
for which a sentence of the template would be wrong.

    python -m paper_repro.article.article
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paper_repro.article.formulas import FORMS, wrong_on_gaps
from paper_repro.article.values import Documents, claim_on_density, values
from paper_repro.competitors import TIERS
from paper_repro.competitors.base import CLOCK, TABLES
from paper_repro.index import documents_in
from paper_repro.results import RESULTS, write_whole
from paper_repro.studies.accuracy import ENGINES
from paper_repro.studies.accuracy_page import worst_error
from paper_repro.studies.claims import Claims
from paper_repro.studies.crossover import DensityCurves
from paper_repro.studies.scaling import Times
from paper_repro.studies.table import TierTimes
from paper_repro.studies.table_verdicts import reproduction

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
OUT = ROOT / "build" / "article"


def main() -> int:
    documents = documents_in(RESULTS)
    check_words(documents)
    pages = build(values(documents), OUT)
    print(f"{OUT.relative_to(ROOT)}: article.pdf with {pages} pages, and metadata.yaml")
    return 0


def check_words(documents: Documents) -> None:
    """Refuse results for which a sentence of the template, which has no number, is wrong."""
    found, times = reproduction(documents["table"]), TierTimes(documents["table"])
    curves, sizes = DensityCurves(documents["crossover"]), Times(documents["scaling"])
    claims, records = Claims(documents["claims"]), documents["accuracy"]["records"]
    errors = {name: worst_error(records, name) for name in ENGINES}
    last = sizes.sizes("steps")[-1]
    held = [sizes.bytes(last, name)["steps"] / last for name in (TABLES, CLOCK)]
    wrong, early = wrong_on_gaps(), next(each for each in found.rows if each.tier == "dicts")
    moved = 16 / times.per_feature("compiled")
    judged = [claim_on_density(curves, tier).partition(":")[0] for tier in TIERS]
    for words, holds in {
        "the early ratio is reproduced": early.reproduced,
        "the plainest loop reproduces all of version 3": found.looked_up == found.of,
        "the loop that spreads rows out reproduces none": found.spread_out == 0,
        "the clock is faster": times.ratio("compiled", "fobos", TABLES, CLOCK).least > 1,
        "the claim on density holds, or in part": judged == ["holds"] * 2 + ["holds in part"] * 2,
        "dense updates outrun the memory": moved > times.bytes_per_second("memory"),
        "the tables hold two numbers for each step": round(held[0] / 8) == 2,
        "the clock holds none": held[1] == 0,
        "the clock is the most exact": min(errors, key=lambda name: errors[name]) == "clock",
        "to bring all weights current is negligible": "It holds" in claims.verdicts()["flush"],
        "the corrected forms are exact": wrong["theorem_1"] == wrong["theorem_2"] == "0",
        "the printed forms are not": "0" not in {wrong[n] for n in FORMS if "printed" in n},
    }.items():
        if not holds:
            raise ValueError(f"article.typ says that {words}; by these results this is wrong")


def metadata(found: Mapping[str, Any]) -> str:
    """The metadata with the numbers of its abstract."""
    text = (HERE / "metadata.yaml").read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\.(\w+)\}", lambda name: str(found[name[1]][name[2]]), text)


def build(found: Mapping[str, Any], out: Path) -> int:
    """Write the PDF and its metadata; the number of pages."""
    import typst

    out.mkdir(parents=True, exist_ok=True)
    filled = metadata(found)
    write_whole(out / "metadata.yaml", filled)
    options = dict(root=ROOT, sys_inputs={"values": json.dumps(found), "metadata": filled})
    typst.compile(HERE / "article.typ", output=out / "article.pdf", **options)
    # An image for each page tells how many there are.
    pages = typst.compile(HERE / "article.typ", format="svg", **options)
    return len(pages) if isinstance(pages, list) else 1


if __name__ == "__main__":
    raise SystemExit(main())
