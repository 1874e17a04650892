"""The results for claims that are measured, implemented or missing, of all texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paper_repro.competitors.base import CLOCK, TABLES
from paper_repro.found import ERRATA, Committed, Found, fills, finds, link, told
from paper_repro.pages import Template
from paper_repro.published import Printed
from paper_repro.studies.claims import Claims
from paper_repro.studies.scaling import Times
from paper_repro.studies.table import TierTimes

PAGE = Template.beside(__file__)


@finds("average stabler", "growing bursts", "complexity", "flush", "skipping zeros")
@finds("cost n", "cost T", "cost k")
def verdict(found: Committed, entry: Printed) -> Found:
    words = Claims(found.of("claims")).verdicts()[entry.key]
    return Found(PAGE("measured", words=words[0].lower() + words[1:]), link("claims"))


@fills(PAGE, "table", "dynamic programming")
def dynamic_programming(document: Any) -> Mapping[str, Any]:
    times = TierTimes(document)
    rows, compiled = (times.ratio(tier, "fobos", TABLES, CLOCK) for tier in ("scipy", "compiled"))
    return dict(rows=rows, compiled=compiled)


@fills(PAGE, "scaling", "constant space")
def constant_space(document: Any) -> Mapping[str, Any]:
    times = Times(document)
    last = times.sizes("steps")[-1]
    return dict(steps=last, held=times.bytes(last, CLOCK)["steps"])


#: What is implemented, and compared with dense steps by tests.
PROVEN = {
    "AdaGrad": told(PAGE("AdaGrad"), ERRATA),
    "Carpenter": told(PAGE("Carpenter"), "[rules](../../docs/rules_and_storage.md)"),
    "losses": told(PAGE("losses"), "[losses](../../docs/rules_and_storage.md#losses)"),
    "Dekel's lemma": told(PAGE("lemma"), "[averages](../../docs/averages.md)"),
}
