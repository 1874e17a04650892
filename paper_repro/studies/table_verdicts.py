"""Which printed ratios the study ``table`` finds again, tier by tier and reading by reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from paper_repro.competitors import DESCRIPTIONS, PLAINEST, READINGS, RULES
from paper_repro.competitors.base import DENSE, SPARSE_PREDICTIONS, TABLES
from paper_repro.published import IDEAL, PUBLISHED, STATED_EARLY_RATIO
from paper_repro.score import Spread, significant
from paper_repro.studies.table import TierTimes

#: A ratio is called reproduced if its share of the ideal is within the first factor of the printed
#: share, and of the same order within the second.
REPRODUCED, SAME_ORDER = 1.5, 3.0
#: The printed ratios are compared only if the ideal of the corpus is within this factor of the
#: paper's.
ALIKE = 1.5
#: The tiers that run the loop of a text.  Version 3 does not show its loop.
LOOPS = {"dicts": ("dicts",), "scipy": ("scipy", *READINGS)}
#: The dense learners, in words.
IN_WORDS = {
    DENSE: "dense updates",
    SPARSE_PREDICTIONS: "dense updates with sparse predictions",
}


class Compared(NamedTuple):
    """A printed ratio with the ratio found in a tier.

    ``factor`` is the quotient of their shares of the ideals.
    """

    tier: str
    rule: str
    #: The dense learner: with or without sparse predictions.
    slow: str
    printed: float
    found: Spread
    factor: float

    @property
    def where(self) -> str:
        return f"{DESCRIPTIONS[self.tier]}, {RULES[self.rule]}, {IN_WORDS[self.slow]}"

    @property
    def reproduced(self) -> bool:
        return is_reproduced(self.factor)


class Reproduction(NamedTuple):
    """What README says of the papers' table.

    The counts are of version 3's ratios, of which there are ``of``: those that are reproduced by
    the loop that looks every element up, by the loop that spreads the row out first, and by at
    least one loop or reading; and those that lie between the two loops.
    """

    rows: list[Compared]
    looked_up: int
    spread_out: int
    by_some: int
    between: int
    #: The greatest factor from a printed ratio that is not between to the nearer loop; else 1.
    outside: float
    of: int
    #: The loops and readings that reproduce all of them.
    by_itself: list[str]


def printed_ratio(tier: str, rule: str, slow: str) -> float | None:
    """The ratio that a text prints for a tier; the early text's is the one that it states."""
    source = "scipy" if tier == PLAINEST else tier
    if (source, rule) not in PUBLISHED:
        return None
    printed = PUBLISHED[source, rule]
    if slow == DENSE:
        return printed.dense_ratio
    return STATED_EARLY_RATIO if source == "dicts" else printed.sparse_ratio


def compared(measured: TierTimes, tier: str, rule: str, slow: str, printed: float) -> Compared:
    found = measured.ratio(tier, rule, slow, TABLES)
    factor = (found.median / measured.ideal) / (printed / IDEAL)
    return Compared(tier, rule, slow, printed, found, factor)


def comparisons(measured: TierTimes) -> Iterator[Compared]:
    """Every printed ratio beside what every loop of its text gives."""
    for text, rule in PUBLISHED:
        for slow in IN_WORDS:
            printed = printed_ratio(text, rule, slow)
            if printed is not None:
                for tier in LOOPS[text]:
                    yield compared(measured, tier, rule, slow, printed)


def reproduction(document: Mapping[str, Any]) -> Reproduction:
    """All comparisons, and how many of version 3's ratios are found again."""
    rows = list(comparisons(TierTimes(document)))
    by_loop = {
        tier: {(each.rule, each.slow): each for each in rows if each.tier == tier}
        for tier in LOOPS["scipy"]
    }
    spread, looked_up = by_loop["scipy"], by_loop[PLAINEST]

    def outside(ratio: tuple[str, str]) -> float:
        low, high = sorted((spread[ratio].factor, looked_up[ratio].factor))
        return max(low, 1.0 / high, 1.0)

    distances = [outside(ratio) for ratio in spread]
    return Reproduction(
        rows=rows,
        looked_up=sum(each.reproduced for each in looked_up.values()),
        spread_out=sum(each.reproduced for each in spread.values()),
        by_some=sum(any(found[ratio].reproduced for found in by_loop.values()) for ratio in spread),
        between=distances.count(1.0),
        outside=max(distances),
        of=len(spread),
        by_itself=[
            tier
            for tier, found in by_loop.items()
            if all(each.reproduced for each in found.values())
        ],
    )


def is_alike(measured: TierTimes) -> bool:
    """Whether the printed ratios can be compared with those of this corpus."""
    return 1 / ALIKE <= measured.ideal / IDEAL <= ALIKE


def is_reproduced(factor: float) -> bool:
    return max(factor, 1 / factor) <= REPRODUCED


def verdict(factor: float) -> str:
    """The verdict in words on a factor: the share of the ideal found here by the printed share."""
    size = max(factor, 1 / factor)
    change = f"{significant(size)} times {'larger' if factor > 1 else 'smaller'}"
    if is_reproduced(factor):
        return f"reproduced ({change})"
    return f"not reproduced ({change}{', of the same order' if size < SAME_ORDER else ''})"
