"""The page of the study ``table``: ratios with the printed ones, and the reasons for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paper_repro.competitors import DESCRIPTIONS, PLAINEST, READINGS, RULES, TIERS
from paper_repro.competitors.base import CLOCK, DENSE, SPARSE_PREDICTIONS, TABLES
from paper_repro.pages import Template
from paper_repro.published import FEATURES, IDEAL, NONZEROS, PUBLISHED
from paper_repro.render import Content, Dots
from paper_repro.runs import ETA0, L1, L2
from paper_repro.score import SAME, Spread, coverage, duration, significant
from paper_repro.studies.table import SHOWN, UNCACHED, TierTimes, all_groups, groups
from paper_repro.studies.table_readings import marked, readings, times_since, verdict_of_loops
from paper_repro.studies.table_verdicts import (
    IN_WORDS,
    REPRODUCED,
    Reproduction,
    is_alike,
    printed_ratio,
    reproduction,
    verdict,
)

PAGE = Template.beside(__file__)


def content(document: Mapping[str, Any]) -> Content:
    measured = TierTimes(document)
    alike = is_alike(measured)
    found = reproduction(document)
    page = PAGE(
        "page",
        headline=headline(document),
        setting=setting(measured),
        summary=summary(measured),
        reproduced=reproduced(measured, found) if alike else PAGE("other corpus"),
        readings=readings(measured, found) if alike else "",
        interpreted=interpreted(measured),
        vectorised=vectorised(measured),
        compiled=compiled(measured),
        unit_costs=unit_costs(measured),
        equality=weights_equal(measured),
        equality_table=equality_table(measured),
        rounds=measured.repeats,
        coverage=coverage(measured.repeats),
        every_row=every_row(measured),
    )
    return Content(finding(measured), [page], panels(measured), width=10.0)


def finding(measured: TierTimes) -> str:
    """How long an epoch takes in compiled code, lazy and dense."""
    examples = measured.corpus["examples"]
    lazy, dense = (examples * measured.median("compiled", "fobos", name) for name in (CLOCK, DENSE))
    return PAGE(
        "finding",
        examples=examples,
        features=measured.corpus["features"],
        nonzeros=measured.corpus["nonzeros_per_example"],
        lazy=duration(lazy),
        dense=duration(dense),
    )


def headline(document: Mapping[str, Any]) -> str:
    """The verdicts, a table of the printed ratios and those found here, and why they differ.

    Rows of another shape than the paper's have no such lines.
    """
    measured = TierTimes(document)
    if not is_alike(measured):
        return PAGE("other corpus")
    found, times = reproduction(document), times_since(measured)
    by_loop = {(each.tier, each.rule, each.slow): each for each in found.rows}
    early = by_loop["dicts", "fobos", SPARSE_PREDICTIONS]
    rows = [
        dict(
            ratio=f"version 3, {RULES[rule]}{', sparse predictions' * (slow != DENSE)}",
            printed=by_loop[PLAINEST, rule, slow].printed,
            looked_up=marked(by_loop[PLAINEST, rule, slow]),
            spread_out=marked(by_loop["scipy", rule, slow]),
        )
        for slow in IN_WORDS
        for rule in RULES
    ]
    rows.append(
        dict(
            ratio="early text, dictionaries, FoBoS, sparse predictions",
            printed=early.printed,
            looked_up=marked(early),
            spread_out="",
        )
    )

    def compiled_ratio(slow: str, fast: str) -> str:
        return significant(measured.ratio("compiled", "fobos", slow, fast).median)

    return PAGE(
        "headline",
        reproduced=REPRODUCED,
        early=PAGE("early reproduced" if early.reproduced else "early not reproduced"),
        table=PAGE.table("headline table", rows),
        verdict=verdict_of_loops(found),
        printed_feature=times["printed_feature"],
        feature=times["feature"],
        spread_feature=times["spread_feature"],
        readings=len(READINGS),
        by_itself=sum(tier in READINGS for tier in found.by_itself),
        of=found.of,
        tables=compiled_ratio(DENSE, TABLES),
        clock=compiled_ratio(DENSE, CLOCK),
        sparse_tables=compiled_ratio(SPARSE_PREDICTIONS, TABLES),
        sparse_clock=compiled_ratio(SPARSE_PREDICTIONS, CLOCK),
    )


def setting(measured: TierTimes) -> str:
    corpus = measured.corpus
    return PAGE(
        "setting",
        l1=L1,
        l2=L2,
        eta0=ETA0,
        examples=corpus["examples"],
        features=corpus["features"],
        nonzeros=corpus["nonzeros_per_example"],
        origin=corpus["origin"],
        ideal=measured.ideal,
        printed_ideal=IDEAL,
        reproduced=REPRODUCED,
    )


def reproduced(measured: TierTimes, found: Reproduction) -> str:
    """Every printed ratio with the ratios found here and the verdicts."""
    lines = [
        PAGE(
            "reproduced",
            where=each.where,
            printed=each.printed,
            printed_share=each.printed / IDEAL,
            found=each.found,
            found_share=each.found.median / measured.ideal,
            verdict=verdict(each.factor),
        )
        for each in found.rows
        if each.tier in SHOWN
    ]
    return "\n".join(lines) + "\n\n" + verdict_of_loops(found)


def interpreted(measured: TierTimes) -> str:
    """Where interpreted code stands between the ideal and the measured ratio."""
    tiers = []
    for tier in ("dicts", "scipy", PLAINEST):
        printed = printed_ratio(tier, "fobos", SPARSE_PREDICTIONS)
        assert printed is not None
        feature, nonzero = measured.per_feature(tier), measured.per_nonzero(tier)
        tiers.append(
            PAGE(
                "interpreted tier",
                tier=DESCRIPTIONS[tier],
                feature=feature,
                nonzero=nonzero,
                factor=nonzero / feature,
                printed_factor=IDEAL / printed,
            )
        )
    return PAGE("interpreted", ideal=measured.ideal, tiers="; ".join(tiers))


def vectorised(measured: TierTimes) -> str:
    overhead, feature = measured.overhead("numpy"), measured.per_feature("numpy")
    return PAGE(
        "vectorised",
        dense=measured.ratio("numpy", "fobos", DENSE, TABLES),
        sparse_predictions=measured.ratio("numpy", "fobos", SPARSE_PREDICTIONS, TABLES),
        lazy=measured.median("numpy", "fobos", TABLES),
        overhead=overhead,
        overhead_share=overhead / measured.median("numpy", "fobos", SPARSE_PREDICTIONS),
        feature=feature,
        dense_speedup=measured.per_feature("scipy") / feature,
        lazy_speedup=measured.per_nonzero("scipy") / measured.per_nonzero("numpy"),
    )


def compiled(measured: TierTimes) -> str:
    # The shrink of a weight reads one double and writes one.
    shrink = 16 / measured.per_feature("compiled")
    in_cache, in_memory = (measured.bytes_per_second(where) for where in ("weights", "memory"))
    bounded = in_memory < shrink <= in_cache
    scalar = f"{SPARSE_PREDICTIONS}, scalar"
    return PAGE(
        "compiled",
        tables=measured.ratio("compiled", "fobos", DENSE, TABLES),
        clock=measured.ratio("compiled", "fobos", DENSE, CLOCK),
        vector_speedup=measured.ratio("compiled", "fobos", scalar, SPARSE_PREDICTIONS),
        scalar=measured.ratio("compiled", "fobos", f"{DENSE}, scalar", CLOCK),
        shrink=shrink / 1e9,
        in_cache=in_cache / 1e9,
        in_memory=in_memory / 1e9,
        gib=UNCACHED / 2**30,
        bound=PAGE("bound", share=shrink / in_cache) if bounded else "",
    )


def weights_equal(measured: TierTimes) -> str:
    worst = max(
        found["relative"]
        for tier, rule in all_groups()
        for found in measured.equal(tier, rule)["against dense"].values()
    )
    return PAGE("equality", refused=SAME, worst=worst)


def summary(measured: TierTimes) -> str:
    """Speeds and ratios, one row per tier and rule."""

    def row(tier: str, rule: str) -> Mapping[str, Any]:
        return dict(
            tier=DESCRIPTIONS[tier],
            rule=RULES[rule],
            lazy=1 / measured.median(tier, rule, TABLES),
            dense=measured.ratio(tier, rule, DENSE, TABLES).median,
            printed_dense=_printed(printed_ratio(tier, rule, DENSE)),
            sparse=measured.ratio(tier, rule, SPARSE_PREDICTIONS, TABLES).median,
            printed_sparse=_printed(printed_ratio(tier, rule, SPARSE_PREDICTIONS)),
            clock=1 / measured.median(tier, rule, CLOCK),
            dense_by_clock=measured.ratio(tier, rule, DENSE, CLOCK).median,
        )

    return PAGE.table("summary", (row(*group) for group in groups()))


def _printed(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:,.0f}"


def unit_costs(measured: TierTimes) -> str:
    """The ratios taken apart: time per feature, time per nonzero."""
    printed_rows = [
        dict(
            who=f"{DESCRIPTIONS[tier]}, as printed",
            dense=duration(printed.dense / FEATURES) if printed.dense else "",
            sparse=printed.sparse_predictions / FEATURES,
            lazy=printed.lazy / NONZEROS,
            overhead="",
        )
        for (tier, rule), printed in PUBLISHED.items()
        if rule == "fobos"
    ]
    rows = [
        dict(
            who=DESCRIPTIONS[tier],
            dense=duration(measured.per_feature(tier, DENSE)),
            sparse=measured.per_feature(tier),
            lazy=measured.per_nonzero(tier),
            overhead="" if tier in READINGS else duration(measured.overhead(tier)),
        )
        for tier in SHOWN
    ]
    return PAGE.table("unit costs", printed_rows + rows)


def equality_table(measured: TierTimes) -> str:
    def row(tier: str, rule: str) -> Mapping[str, Any]:
        equal = measured.equal(tier, rule)
        tables, clock = equal["against dense"][TABLES], equal["against dense"][CLOCK]
        return dict(
            tier=DESCRIPTIONS[tier],
            rule=RULES[rule],
            examples=equal["rows"],
            weights=tables["weights"],
            nonzero=tables["nonzero"],
            tables=tables["absolute"],
            clock=clock["absolute"],
            relative=max(tables["relative"], clock["relative"]),
            four_figures=tables["four_figures"] + clock["four_figures"],
            compiled=equal["against compiled"]["relative"],
        )

    return PAGE.table("equality table", (row(*group) for group in groups()))


def every_row(measured: TierTimes) -> str:
    return PAGE.table(
        "every row",
        (
            dict(
                tier=tier,
                rule=RULES[rule],
                name=name,
                examples=measured.examples(tier, rule, name),
                speed=Spread.of([1 / s for s in measured.seconds(tier, rule, name)]),
                seconds=measured.median(tier, rule, name),
                dense=measured.ratio(tier, rule, DENSE, name),
                sparse=measured.ratio(tier, rule, SPARSE_PREDICTIONS, name),
            )
            for tier, rule in groups()
            for name in (TIERS | READINGS)[tier]
        ),
    )


def panels(measured: TierTimes) -> list[Dots]:
    """Ratios of the tables, of the clock, and as printed; one panel per dense learner."""
    found = []
    for slow, title in ((DENSE, "dense / lazy"), (SPARSE_PREDICTIONS, "with sparse predictions")):
        rows = {}
        for tier, rule in groups():
            ratios = {name: measured.ratio(tier, rule, slow, name) for name in (TABLES, CLOCK)}
            values: dict[str, float | Spread] = {**ratios}
            if (printed := printed_ratio(tier, rule, slow)) is not None:
                values["as printed"] = printed
            rows[f"{DESCRIPTIONS[tier]}, {RULES[rule]}"] = values
        found.append(Dots(title, "times faster than dense updates", rows, across=measured.ideal))
    return found
