"""The part of the page of ``table`` on version 3's loop: what the text leaves open, measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paper_repro.competitors import PLAINEST, READINGS, RULES
from paper_repro.competitors.base import DENSE, SPARSE_PREDICTIONS, TABLES
from paper_repro.pages import Template
from paper_repro.published import FEATURES, NONZEROS, PUBLISHED
from paper_repro.score import Spread, ratios, significant
from paper_repro.studies.table import TierTimes
from paper_repro.studies.table_lookup import LARGER, ONE_IN, SMALLER
from paper_repro.studies.table_verdicts import (
    IN_WORDS,
    REPRODUCED,
    Compared,
    Reproduction,
    compared,
    printed_ratio,
)

PAGE = Template.beside(__file__)


def times_since(measured: TierTimes) -> dict[str, float]:
    """FoBoS with sparse predictions: the printed times of version 3 and those of both loops."""
    printed = PUBLISHED["scipy", "fobos"]
    return {
        "printed_feature": printed.sparse_predictions / FEATURES,
        "printed_nonzero": printed.lazy / NONZEROS,
        "feature": measured.per_feature(PLAINEST),
        "nonzero": measured.per_nonzero(PLAINEST),
        "spread_feature": measured.per_feature("scipy"),
        "spread_nonzero": measured.per_nonzero("scipy"),
    }


def verdict_of_loops(found: Reproduction) -> str:
    """How many of version 3's ratios lie between the two loops, and how many each reproduces."""
    of = found.of
    between = PAGE("all between", of=of)
    if found.between < of:
        between = PAGE("some between", between=found.between, of=of, outside=found.outside)

    def counted(reproduced: int) -> str:
        return {0: "none", of: f"all {of}"}.get(reproduced, f"{reproduced}")

    return PAGE(
        "verdict",
        between=between,
        looked_up=counted(found.looked_up),
        spread_out=counted(found.spread_out),
        of=of,
    )


def readings(measured: TierTimes, found: Reproduction) -> str:
    """The readings with their times and ratios, and which of them reproduce which ratio."""
    times = times_since(measured)
    printed = PUBLISHED["scipy", "fobos"]
    assert printed.dense is not None
    return PAGE(
        "readings",
        count=len(READINGS),
        rounds=measured.repeats,
        rows=measured.shares["rows"],
        larger=measured.shares[LARGER],
        one_in=ONE_IN[LARGER],
        smaller=measured.shares[SMALLER],
        features=measured.corpus["features"],
        dense_by_share=_by_share(measured, DENSE),
        sparse_by_share=_by_share(measured, SPARSE_PREDICTIONS),
        **times,
        feature_speedup=times["printed_feature"] / times["feature"],
        nonzero_speedup=times["printed_nonzero"] / times["nonzero"],
        printed_predicting=(printed.dense - printed.sparse_predictions) / FEATURES,
        predicting=measured.per_feature(PLAINEST, DENSE) - measured.per_feature(PLAINEST),
        table=PAGE.table(
            "table", (_row(measured, tier, rule) for tier in READINGS for rule in RULES)
        ),
        reproduced=REPRODUCED,
        within="\n".join(_within(ratio, found) for ratio in _ratios(found)),
        by_some=found.by_some,
        by_itself=sum(tier in READINGS for tier in found.by_itself),
        of=found.of,
    )


def _by_share(measured: TierTimes, name: str) -> Spread:
    """The time for a feature on the smaller share by that on the larger one, in FoBoS."""
    smaller, larger = (
        measured.on_share(PLAINEST, "fobos", name, part) for part in (SMALLER, LARGER)
    )
    return ratios(smaller, larger)


def _row(measured: TierTimes, tier: str, rule: str) -> Mapping[str, Any]:
    """A reading's times for a feature and a nonzero, and its two ratios."""
    features = measured.corpus["features"]
    found = {}
    for slow in IN_WORDS:
        printed = printed_ratio(PLAINEST, rule, slow)
        assert printed is not None
        found[slow] = compared(measured, tier, rule, slow, printed)
    return dict(
        tier=tier,
        rule=RULES[rule],
        lazy=measured.median(tier, rule, TABLES) / measured.corpus["nonzeros_per_example"],
        sparse=measured.median(tier, rule, SPARSE_PREDICTIONS) / features,
        dense=measured.median(tier, rule, DENSE) / features,
        sparse_ratio=marked(found[SPARSE_PREDICTIONS]),
        sparse_printed=found[SPARSE_PREDICTIONS].printed,
        dense_ratio=marked(found[DENSE]),
        dense_printed=found[DENSE].printed,
    )


def marked(found: Compared) -> str:
    """The ratio, in bold if it is reproduced."""
    return f"**{found.found}**" if found.reproduced else str(found.found)


def _ratios(found: Reproduction) -> list[Compared]:
    """The four ratios of version 3."""
    return [each for each in found.rows if each.tier == PLAINEST]


def _within(ratio: Compared, found: Reproduction) -> str:
    """Which loops come within the factor of a printed ratio."""
    near = [
        PAGE(
            "loop",
            loop=each.tier if each.tier in READINGS else PAGE("spread out"),
            found=each.found.median,
        )
        for each in found.rows
        if each.tier in ("scipy", *READINGS)
        and (each.rule, each.slow) == (ratio.rule, ratio.slow)
        and each.reproduced
    ]
    return PAGE(
        "within",
        rule=RULES[ratio.rule],
        slow=IN_WORDS[ratio.slow],
        printed=significant(ratio.printed, 4),
        near="; ".join(near) or PAGE("none"),
    )
