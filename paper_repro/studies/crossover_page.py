"""The page of the study ``crossover``: where dense updates catch up, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from paper_repro.competitors import (
    CLOCK,
    DESCRIPTIONS,
    TABLES,
    TIERS,
)
from paper_repro.pages import Template, paragraphs, table
from paper_repro.score import Spread, significant
from paper_repro.studies.crossover import (
    CONSIDERABLY_LESS,
    PAIRS,
    QUARTER,
    THOUSANDTH,
    TREMENDOUSLY,
    DensityCurves,
    judgement,
)

PAGE = Template.beside(__file__)


def page(document: Mapping[str, Any]) -> str:
    measured = DensityCurves(document)
    return PAGE(
        "page",
        finding=PAGE(
            "finding",
            clock=_faster(measured.reach("compiled", CLOCK)),
            tables=_faster(measured.reach("compiled", TABLES)),
        ),
        setting=PAGE(
            "setting",
            lowest=measured.densities[0],
            highest=measured.densities[-1],
            features=measured.features,
            considerably_less=CONSIDERABLY_LESS,
            tremendously=TREMENDOUSLY,
            thousandth=measured.thousandth,
        ),
        rounds=measured.repeats,
        crossings=crossings(measured),
        verdicts=paragraphs(verdict(measured, tier) for tier in TIERS),
        quarter=measured.quarter,
        thousandth=measured.thousandth,
        ratios=ratio_table(measured),
    )


def verdict(measured: DensityCurves, tier: str) -> str:
    """Whether the paper's claim, which is about tables, holds in a tier; the clock beside it."""
    return PAGE(
        "verdict",
        tier=DESCRIPTIONS[tier],
        judgement=judgement(measured.reach(tier, TABLES), measured.lead(tier, THOUSANDTH, TABLES)),
        tables_reach=_where(measured, measured.reach(tier, TABLES)),
        clock_reach=_where(measured, measured.reach(tier, CLOCK)),
        quarter=measured.quarter,
        tables_at_quarter=measured.lead(tier, QUARTER, TABLES),
        clock_at_quarter=measured.lead(tier, QUARTER, CLOCK),
        thousandth=measured.thousandth,
        tables_at_thousandth=measured.lead(tier, THOUSANDTH, TABLES),
        clock_at_thousandth=measured.lead(tier, THOUSANDTH, CLOCK),
    )


def _where(measured: DensityCurves, reach: float) -> str:
    if reach == math.inf:
        return "at no density"
    return f"below {measured.densities[0]:g}" if reach == 0 else f"at {significant(reach, 2)}"


def _faster(reach: float) -> str:
    """Up to which density lazy updates are faster, in words."""
    if math.isinf(reach):
        return PAGE("always")
    return PAGE("up to", density=reach) if reach else PAGE("never")


def crossings(measured: DensityCurves) -> str:
    """Tier by tier, the densities at which dense updates catch up."""
    return table(
        [
            "",
            "tables, dense",
            "clock, dense",
            "tables, dense with sparse predictions",
            "clock, dense with sparse predictions",
        ],
        [
            [
                DESCRIPTIONS[tier],
                *(_range(measured, measured.crossing(tier, lazy, dense)) for dense, lazy in PAIRS),
            ]
            for tier in TIERS
        ],
    )


def _range(measured: DensityCurves, found: Spread) -> str:
    middle, least, most = (
        _density(measured, density) for density in (found.median, found.least, found.most)
    )
    return middle if least == most else f"{middle} ({least} - {most})"


def _density(measured: DensityCurves, density: float) -> str:
    if density == math.inf:
        return f"above {measured.densities[-1]:g}"
    if density == 0:
        return f"below {measured.densities[0]:g}"
    return significant(density, 2)


def ratio_table(measured: DensityCurves) -> str:
    return table(
        ["", "density", *(f"{dense} / {lazy}" for dense, lazy in PAIRS)],
        [
            [
                DESCRIPTIONS[tier],
                f"{density:.2g}",
                *(measured.ratio(tier, density, dense, lazy) for dense, lazy in PAIRS),
            ]
            for tier in TIERS
            for density in (measured.quarter, measured.thousandth)
        ],
    )
