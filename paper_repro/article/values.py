"""Every number of the report as text, read from the committed results, section by section."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from paper_repro.article.formulas import counterexamples, wrong_on_gaps
from paper_repro.competitors import DESCRIPTIONS, PLAINEST, READINGS, RULES, TIERS
from paper_repro.competitors.base import CLOCK, DENSE, NONZERO_WEIGHTS, SPARSE_PREDICTIONS, TABLES
from paper_repro.machine import describe_machine
from paper_repro.published import ENTRIES, IDEAL
from paper_repro.runs import ETA0, L1, L2
from paper_repro.score import FOUR_FIGURES, SAME, Spread, coverage, duration, ratios, significant
from paper_repro.studies import accuracy, accuracy_page, crossover, scaling
from paper_repro.studies.claims import Claims
from paper_repro.studies.table import UNCACHED, TierTimes, all_groups, groups
from paper_repro.studies.table_lookup import LARGER
from paper_repro.studies.table_readings import times_since
from paper_repro.studies.table_verdicts import REPRODUCED, Compared, reproduction

#: The studies that the report speaks of.
STUDIES = ("table", "corpus", "crossover", "scaling", "accuracy", "claims", "medline")

Documents = Mapping[str, Any]
Values = dict[str, Any]


def values(documents: Documents) -> Values:
    """The numbers by section and name; tables are lists of rows."""
    times = TierTimes(documents["table"])
    return {
        "printed": {
            each.key.replace(" ", "-"): re.sub(r'"(.*?)"', r"“\1”", each.printed)
            for each in ENTRIES
        },
        "corpus": corpus(documents),
        "ratios": ratio_rows(documents["table"]),
        "table": table(times, documents["table"]),
        "steps": step_rows(times),
        "costs": cost_rows(times),
        "density": density(crossover.DensityCurves(documents["crossover"])),
        "growth": growth(scaling.Times(documents["scaling"])),
        "accuracy": errors(documents["accuracy"]["records"]),
        "claims": beside_the_table(Claims(documents["claims"])),
        "errata": counterexamples(),
        "gaps": wrong_on_gaps(),
        "machines": machines(documents),
    }


def corpus(documents: Documents) -> Values:
    shape = documents["corpus"]["records"]["shape"]["statistics"]
    settings = documents["table"]["settings"]
    least, most = shape["nonzeros_range"]
    return {
        "examples": f"{shape['examples']:,}",
        "features": f"{shape['features']:,}",
        "nonzeros": f"{shape['nonzeros_per_example']:.2f}",
        "deviation": significant(shape["nonzeros_deviation"]),
        "range": f"{least} to {most}",
        "ideal": f"{shape['features_per_nonzero']:,.0f}",
        "printed_ideal": f"{IDEAL:,.0f}",
        "density": f"{1 / shape['features_per_nonzero']:.2%}",
        "top": f"{shape['share_of_top_percent']:.1%}",
        "positive": f"{shape['positive_share']:.1%}",
        "abstracts": str(documents["medline"]["records"]["medline"]["corpus"]["kept"]),
        "seed": str(settings["seed"]),
        "l1": f"{L1:g}",
        "l2": f"{L2:g}",
        "eta0": f"{ETA0:g}",
        "repeats": str(settings["repeats"]),
        "coverage": f"{coverage(settings['repeats']):.1%}",
    }


def ratio_rows(document: Mapping[str, Any]) -> list[Values]:
    """The printed ratios, each with what the loops give; that of the early text is last."""
    by_loop = {(each.tier, each.rule, each.slow): each for each in reproduction(document).rows}
    order = [(PLAINEST, rule, slow) for slow in (DENSE, SPARSE_PREDICTIONS) for rule in RULES]
    rows = []
    for tier, rule, slow in [*order, ("dicts", "fobos", SPARSE_PREDICTIONS)]:
        text = "early text" if tier == "dicts" else "version 3"
        each, other = by_loop[tier, rule, slow], by_loop.get(("scipy", rule, slow))
        rows.append(
            {
                "what": f"{text}, {RULES[rule]}{', sparse predictions' * (slow != DENSE)}",
                "printed": f"{each.printed:,.0f}",
                "first": cell(each),
                "second": cell(None if tier == "dicts" else other),
            }
        )
    return rows


def cell(found: Compared | None) -> Values:
    if found is None:
        return {"found": "", "factor": "", "reproduced": False}
    factor = significant(max(found.factor, 1 / found.factor))
    return {"found": str(found.found), "factor": factor, "reproduced": found.reproduced}


def table(times: TierTimes, document: Mapping[str, Any]) -> Values:
    found, since = reproduction(document), times_since(times)
    early = next(each for each in found.rows if each.tier == "dicts")
    spread_out = [1 / each.factor for each in found.rows if each.tier == "scipy"]
    pairs = [times.equal(*group)["against dense"].values() for group in all_groups()]
    step = {name: times.median("compiled", "fobos", name) for name in (CLOCK, TABLES, DENSE)}
    fast = {
        f"{kind}_{name}": times.ratio("compiled", "fobos", slow, lazy)
        for kind, slow in (("dense", DENSE), ("sparse", SPARSE_PREDICTIONS))
        for name, lazy in (("tables", TABLES), ("clock", CLOCK))
    }
    scalar, sparse_scalar = (f"{name}, scalar" for name in (DENSE, SPARSE_PREDICTIONS))
    return {
        "reproduced": f"{REPRODUCED:g}",
        "of": str(found.of),
        "early": significant(early.found.median),
        "early_range": str(early.found),
        "early_printed": f"{early.printed:,.0f}",
        "readings": str(len(READINGS)),
        "by_itself": str(sum(tier in READINGS for tier in found.by_itself)),
        "printed_feature": duration(since["printed_feature"]),
        "feature": duration(since["feature"]),
        "spread_feature": duration(since["spread_feature"]),
        "faster": significant(since["printed_feature"] / since["feature"], 2),
        "smaller": f"{significant(min(spread_out))} to {significant(max(spread_out))}",
        "rows": str(times.shares["rows"]),
        "visited": f"{times.shares[LARGER]:,}",
        **{name: str(ratio) for name, ratio in fast.items()},
        "tables_ratio": significant(fast["dense_tables"].median),
        "clock_ratio": significant(fast["dense_clock"].median),
        "tables_by_clock": str(times.ratio("compiled", "fobos", TABLES, CLOCK)),
        "vector": str(times.ratio("compiled", "fobos", sparse_scalar, SPARSE_PREDICTIONS)),
        "scalar": str(times.ratio("compiled", "fobos", scalar, CLOCK)),
        "step": duration(step[CLOCK]),
        "step_tables": duration(step[TABLES]),
        "step_dense": duration(step[DENSE]),
        "step_looked_up": duration(times.median(PLAINEST, "fobos", DENSE)),
        "step_numpy": duration(times.median("numpy", "fobos", TABLES)),
        "overhead": duration(times.overhead("numpy")),
        "epoch": duration(times.corpus["examples"] * step[CLOCK]),
        "epoch_dense": duration(times.corpus["examples"] * step[DENSE]),
        # The shrink of a weight reads one double and writes one.
        "shrink": significant(16e-9 / times.per_feature("compiled")),
        "cache": significant(times.bytes_per_second("weights") / 1e9),
        "memory": significant(times.bytes_per_second("memory") / 1e9),
        "gib": f"{UNCACHED / 2**30:g} GiB",
        "same": f"{SAME:g}",
        "worst": significant(max(each["relative"] for pair in pairs for each in pair), 2),
    }


def step_rows(times: TierTimes) -> list[list[str]]:
    """What a step costs: tier, rule, seconds of both lazy forms, three ratios."""
    compared = ((DENSE, TABLES), (SPARSE_PREDICTIONS, TABLES), (DENSE, CLOCK))
    return [
        [
            DESCRIPTIONS[tier],
            RULES[rule],
            *(duration(times.median(tier, rule, name)) for name in (TABLES, CLOCK)),
            *(significant(times.ratio(tier, rule, *pair).median) for pair in compared),
        ]
        for tier, rule in groups()
    ]


def cost_rows(times: TierTimes) -> list[list[str]]:
    """The two times that decide a ratio, and their quotient."""
    rows = []
    for tier, name in DESCRIPTIONS.items():
        feature, nonzero = times.per_feature(tier), times.per_nonzero(tier)
        quotient = significant(nonzero / feature, 2)
        rows.append([name, duration(feature), duration(nonzero), quotient])
    return rows


def density(curves: crossover.DensityCurves) -> Values:
    def reach(tier: str, lazy: str) -> str:
        share = curves.reach(tier, lazy)
        return significant(share, 2) if math.isfinite(share) else "above 1"

    lazy = (TABLES, CLOCK)
    return {
        "rows": [
            [
                DESCRIPTIONS[tier],
                *(reach(tier, each) for each in lazy),
                *(significant(curves.lead(tier, crossover.THOUSANDTH, each)) for each in lazy),
                claim_on_density(curves, tier),
            ]
            for tier in TIERS
        ],
        "features": f"{curves.features:,}",
        "less": f"{crossover.CONSIDERABLY_LESS:g}",
        "times": f"{crossover.TREMENDOUSLY:g}",
        "thousandth": f"{crossover.THOUSANDTH:g}",
        "tables": reach("compiled", TABLES),
        "clock": reach("compiled", CLOCK),
    }


def claim_on_density(curves: crossover.DensityCurves, tier: str) -> str:
    lead = curves.lead(tier, crossover.THOUSANDTH, TABLES)
    return crossover.judgement(curves.reach(tier, TABLES), lead)


def growth(times: scaling.Times) -> Values:
    sizes, last = times.sizes("features"), times.sizes("steps")[-1]
    overhead, slope, _ = times.line(CLOCK)
    return {
        "least": f"{sizes[0]:,}",
        "most": f"{sizes[-1]:,}",
        "more": f"{sizes[-1] / sizes[0]:,.0f}",
        "clock": significant(times.growth("features", CLOCK)),
        "tables": significant(times.growth("features", TABLES)),
        "dense": significant(times.growth("features", SPARSE_PREDICTIONS)),
        "overhead": duration(overhead),
        "nonzero": duration(slope),
        "steps": f"{last:,}",
        "floats": significant(times.bytes(last, TABLES)["steps"] / last / 8, 2),
    }


def errors(records: Mapping[str, Any]) -> Values:
    setting, page = records["setting"], accuracy_page
    unwatched = {
        each: records[accuracy.unwatched_key("sgd", *each)]["wrong"] for each in accuracy.UNWATCHED
    }
    rate, l2 = min(unwatched, key=lambda each: unwatched[each])
    return {
        "steps": f"{setting['steps']:,}",
        "pairs": str(len(setting["strengths"]) ** 2),
        "schedules": str(len(accuracy.SCHEDULES)),
        **{name: f"{page.worst_error(records, name):.1e}" for name in accuracy.ENGINES},
        "first_wrong": f"{unwatched[rate, l2]:,}",
        "wrong_rate": f"{rate:g}",
        "wrong_l2": f"{l2:g}",
        "theorem": page.theorem_table(records).rows,
        "four_figures": f"{FOUR_FIGURES:g}",
        "seen": " and ".join(page.first_seen(records, *each) for each in accuracy.GAP_PENALTIES),
    }


def beside_the_table(claims: Claims) -> Values:
    """The claims in the text of Lipton & Elkan that the study ``claims`` measures."""
    flush, zeros = claims.records["flush"], claims.zero_weights()
    found = {
        "flush": duration(Spread.of(flush["flush"]).median),
        "share": significant(ratios(flush["flush"], flush["epoch"]).median, 2),
    }
    for name, strength in (("weak", min(zeros)), ("strong", max(zeros))):
        record, seconds = zeros[strength], zeros[strength]["seconds"]
        found |= {
            name: f"{strength:g}",
            f"{name}_share": f"{record['nonzero'] / record['features']:.1%}",
            f"{name}_skipping": str(ratios(seconds[NONZERO_WEIGHTS], seconds[TABLES])),
            f"{name}_dense": str(ratios(seconds[SPARSE_PREDICTIONS], seconds[TABLES])),
        }
    return found


def machines(documents: Documents) -> list[list[str]]:
    """The studies that ran on a machine at one commit on one day, the day, and the machine."""
    runs: dict[tuple[str, str], list[str]] = {}
    for name in STUDIES:
        run = documents[name]["finished"][:10], describe_machine(documents[name])
        runs.setdefault(run, []).append(name)
    return [[", ".join(names), day, machine] for (day, machine), names in runs.items()]
