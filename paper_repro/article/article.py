"""Builds the report: ``article.typ`` and ``metadata.yaml``, with the numbers of the results.

The template holds the words and formulas.  Each number in it is a value of ``values``, read from the
committed results or computed by ``lazynet.reference``; ``check_words`` refuses results for which a
sentence of the template would be wrong.

    python -m paper_repro.article.article
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from lazynet.reference import closed_forms
from lazynet.reference.affine import fobos_shrink, sgd_shrink
from paper_repro.competitors import DESCRIPTIONS, PLAINEST, READINGS, RULES, TIERS
from paper_repro.competitors.base import CLOCK, DENSE, NONZERO_WEIGHTS, SPARSE_PREDICTIONS, TABLES
from paper_repro.index import documents_in
from paper_repro.machine import describe_machine
from paper_repro.published import ENTRIES, IDEAL
from paper_repro.results import RESULTS, write_whole
from paper_repro.runs import ETA0, L1, L2
from paper_repro.score import FOUR_FIGURES, SAME, Spread, coverage, duration, ratios, significant
from paper_repro.studies.accuracy import GAP_PENALTIES, SCHEDULES, UNWATCHED, unwatched_key
from paper_repro.studies.accuracy_page import first_seen, theorem_table, worst_error
from paper_repro.studies.claims import Claims
from paper_repro.studies.crossover import (
    CONSIDERABLY_LESS,
    THOUSANDTH,
    TREMENDOUSLY,
    DensityCurves,
    judgement,
)
from paper_repro.studies.scaling import Times
from paper_repro.studies.table import UNCACHED, TierTimes, all_groups, groups
from paper_repro.studies.table_lookup import LARGER
from paper_repro.studies.table_readings import times_since
from paper_repro.studies.table_verdicts import REPRODUCED, Compared, reproduction

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
OUT = ROOT / "build" / "article"
#: The studies that the report speaks of.
STUDIES = ("table", "corpus", "crossover", "scaling", "accuracy", "claims", "medline")
#: Random gaps on which every form is compared with repeated shrinks, in exact fractions.
GAPS = 1000
FORMS = {
    "theorem_1": sgd_shrink,
    "printed_theorem_1_statement": sgd_shrink,
    "printed_theorem_1_eq_13": sgd_shrink,
    "printed_theorem_1_proof": sgd_shrink,
    "theorem_2": fobos_shrink,
    "printed_theorem_2": fobos_shrink,
}
_CARD = re.compile(r"^\*\*Counterexample\.\*\* (.*) \(`(\w+)`\)$", re.MULTILINE)
_GAP = re.compile(r"w = (\S+), eta = ([\d/ then]+), l1 = (\S+), l2 = (\S+): ")

Values = dict[str, Any]


def main() -> int:
    documents = documents_in(RESULTS)
    pages = build(values(documents), OUT)
    print(f"{OUT.relative_to(ROOT)}: article.pdf with {pages} pages, metadata.yaml")
    return 0


def build(found: Mapping[str, Any], out: Path) -> int:
    """Write the PDF and its metadata; the number of pages."""
    import typst

    out.mkdir(parents=True, exist_ok=True)
    filled = metadata(found)
    write_whole(out / "metadata.yaml", filled)
    inputs = {"values": json.dumps(found), "metadata": filled}
    typst.compile(HERE / "article.typ", out / "article.pdf", root=ROOT, sys_inputs=inputs)
    # One picture per page, which is also how pages are counted.
    pictures = typst.compile(HERE / "article.typ", root=ROOT, format="svg", sys_inputs=inputs)
    return len(pictures) if isinstance(pictures, list) else 1


def metadata(found: Mapping[str, Any]) -> str:
    """The metadata with the numbers of its abstract."""
    text = (HERE / "metadata.yaml").read_text(encoding="utf-8")
    return re.sub(r"\{(\w+)\.(\w+)\}", lambda name: str(found[name[1]][name[2]]), text)


# --- the values ------------------------------------------------------------------------------


def values(documents: Mapping[str, Any]) -> Values:
    """Every number of the report as text, by the section that it is about."""
    check_words(documents)
    times, claims = TierTimes(documents["table"]), Claims(documents["claims"])
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
        "density": density(DensityCurves(documents["crossover"])),
        "growth": growth(Times(documents["scaling"])),
        "accuracy": accuracy(documents["accuracy"]["records"]),
        "claims": beside_the_table(claims),
        "errata": counterexamples(),
        "gaps": wrong_on_gaps(),
        "machines": [
            {
                "study": name,
                "machine": describe_machine(documents[name]),
                "finished": documents[name]["finished"][:10],
            }
            for name in STUDIES
        ],
    }


def check_words(documents: Mapping[str, Any]) -> None:
    """Refuse results for which a sentence of the template, which has no number, is wrong."""
    found, times = reproduction(documents["table"]), TierTimes(documents["table"])
    curves, sizes = DensityCurves(documents["crossover"]), Times(documents["scaling"])
    claims, records = Claims(documents["claims"]), documents["accuracy"]["records"]
    errors = {name: worst_error(records, name) for name in ("dense", "tables", "clock")}
    held = [sizes.bytes(sizes.sizes("steps")[-1], name)["steps"] for name in (TABLES, CLOCK)]
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
        "the tables hold two numbers for each step": round(held[0] / sizes.sizes("steps")[-1])
        == 16,
        "the clock holds none": held[1] == 0,
        "the clock is the most exact": min(errors, key=lambda name: errors[name]) == "clock",
        "a flush is negligible": "It holds" in claims.verdicts()["flush"],
        "the corrected forms are exact": wrong["theorem_1"] == wrong["theorem_2"] == "0",
        "the printed forms are not": "0" not in {wrong[n] for n in FORMS if "printed" in n},
    }.items():
        if not holds:
            raise ValueError(f"article.typ says that {words}; by these results this is wrong")


def corpus(documents: Mapping[str, Any]) -> Values:
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
        "top": f"{shape['share_of_top_percent']:.1%}",
        "positive": f"{shape['positive_share']:.1%}",
        "seed": str(settings["seed"]),
        "density": f"{1 / shape['features_per_nonzero']:.2%}",
        "abstracts": str(documents["medline"]["records"]["medline"]["corpus"]["kept"]),
        "l1": f"{L1:g}",
        "l2": f"{L2:g}",
        "eta0": f"{ETA0:g}",
        "repeats": str(settings["repeats"]),
        "coverage": f"{coverage(settings['repeats']):.1%}",
    }


def ratio_rows(document: Mapping[str, Any]) -> list[Values]:
    """The printed ratios, each with what the loops give."""
    by_loop = {(each.tier, each.rule, each.slow): each for each in reproduction(document).rows}
    rows = []
    for (tier, rule, slow), each in by_loop.items():
        if tier in (PLAINEST, "dicts"):
            text = "early text" if tier == "dicts" else "version 3"
            row = {
                "what": f"{text}, {RULES[rule]}{', sparse predictions' * (slow != DENSE)}",
                "printed": f"{each.printed:,.0f}",
                "first": cell(each),
            }
            other = by_loop.get(("scipy", rule, slow)) if tier == PLAINEST else None
            rows.append({**row, "second": cell(other)})
    return rows


def cell(found: Compared | None) -> Values:
    if found is None:
        return {"found": "", "factor": "", "reproduced": False}
    factor = significant(max(found.factor, 1 / found.factor))
    return {"found": str(found.found), "factor": factor, "reproduced": found.reproduced}


def table(times: TierTimes, document: Mapping[str, Any]) -> Values:
    found, since = reproduction(document), times_since(times)
    examples = times.corpus["examples"]
    early = next(each for each in found.rows if each.tier == "dicts")

    def compiled(slow: str, fast: str) -> str:
        return str(times.ratio("compiled", "fobos", slow, fast))

    def median(slow: str, fast: str) -> str:
        return significant(times.ratio("compiled", "fobos", slow, fast).median)

    worst = max(
        each["relative"]
        for group in all_groups()
        for each in times.equal(*group)["against dense"].values()
    )
    return {
        "reproduced": f"{REPRODUCED:g}",
        "of": str(found.of),
        "early": significant(early.found.median),
        "early_printed": f"{early.printed:,.0f}",
        "readings": str(len(READINGS)),
        "by_itself": str(sum(tier in READINGS for tier in found.by_itself)),
        **{name: duration(seconds) for name, seconds in since.items()},
        "faster": significant(since["printed_feature"] / since["feature"], 2),
        "smaller": " to ".join(
            significant(end(1 / each.factor for each in found.rows if each.tier == "scipy"))
            for end in (min, max)
        ),
        "rows": str(times.shares["rows"]),
        "visited": f"{times.shares[LARGER]:,}",
        "dense_tables": compiled(DENSE, TABLES),
        "dense_clock": compiled(DENSE, CLOCK),
        "sparse_tables": compiled(SPARSE_PREDICTIONS, TABLES),
        "sparse_clock": compiled(SPARSE_PREDICTIONS, CLOCK),
        "tables_by_clock": compiled(TABLES, CLOCK),
        "clock_ratio": median(DENSE, CLOCK),
        "tables_ratio": median(DENSE, TABLES),
        "vector": compiled(f"{SPARSE_PREDICTIONS}, scalar", SPARSE_PREDICTIONS),
        "scalar": compiled(f"{DENSE}, scalar", CLOCK),
        "step_looked_up": duration(times.median(PLAINEST, "fobos", DENSE)),
        "step": duration(times.median("compiled", "fobos", CLOCK)),
        "step_tables": duration(times.median("compiled", "fobos", TABLES)),
        "step_dense": duration(times.median("compiled", "fobos", DENSE)),
        "epoch": duration(examples * times.median("compiled", "fobos", CLOCK)),
        "epoch_dense": duration(examples * times.median("compiled", "fobos", DENSE)),
        "overhead": duration(times.overhead("numpy")),
        "step_numpy": duration(times.median("numpy", "fobos", TABLES)),
        "shrink": significant(16e-9 / times.per_feature("compiled")),
        "cache": significant(times.bytes_per_second("weights") / 1e9),
        "memory": significant(times.bytes_per_second("memory") / 1e9),
        "gib": f"{UNCACHED / 2**30:g} GiB",
        "same": f"{SAME:g}",
        "worst": significant(worst, 2),
    }


def step_rows(times: TierTimes) -> list[Values]:
    """What a step costs, tier by tier."""
    return [
        {
            "tier": DESCRIPTIONS[tier],
            "rule": RULES[rule],
            "lazy": duration(times.median(tier, rule, TABLES)),
            "clock": duration(times.median(tier, rule, CLOCK)),
            "dense": significant(times.ratio(tier, rule, DENSE, TABLES).median),
            "sparse": significant(times.ratio(tier, rule, SPARSE_PREDICTIONS, TABLES).median),
            "by_clock": significant(times.ratio(tier, rule, DENSE, CLOCK).median),
        }
        for tier, rule in groups()
    ]


def cost_rows(times: TierTimes) -> list[Values]:
    """The two times that decide a ratio, tier by tier."""
    return [
        {
            "tier": name,
            "feature": duration(times.per_feature(tier)),
            "nonzero": duration(times.per_nonzero(tier)),
            "factor": significant(times.per_nonzero(tier) / times.per_feature(tier), 2),
        }
        for tier, name in DESCRIPTIONS.items()
    ]


def density(curves: DensityCurves) -> Values:
    def where(share: float) -> str:
        return significant(share, 2) if math.isfinite(share) else "above 1"

    rows = []
    for tier in TIERS:
        row = {"tier": DESCRIPTIONS[tier]}
        for name, lazy in (("tables", TABLES), ("clock", CLOCK)):
            row[name] = where(curves.reach(tier, lazy))
            row[f"{name}_lead"] = significant(curves.lead(tier, THOUSANDTH, lazy))
        rows.append({**row, "claim": claim_on_density(curves, tier)})
    return {
        "rows": rows,
        "features": f"{curves.features:,}",
        "less": f"{CONSIDERABLY_LESS:g}",
        "times": f"{TREMENDOUSLY:g}",
        "thousandth": f"{THOUSANDTH:g}",
        "tables": where(curves.reach("compiled", TABLES)),
        "clock": where(curves.reach("compiled", CLOCK)),
    }


def claim_on_density(curves: DensityCurves, tier: str) -> str:
    return judgement(curves.reach(tier, TABLES), curves.lead(tier, THOUSANDTH, TABLES))


def growth(times: Times) -> Values:
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


def accuracy(records: Mapping[str, Any]) -> Values:
    setting = records["setting"]
    wrong = {each: records[unwatched_key("sgd", *each)]["wrong"] for each in UNWATCHED}
    rate, l2 = min(wrong, key=lambda each: wrong[each])
    return {
        "steps": f"{setting['steps']:,}",
        "pairs": str(len(setting["strengths"]) ** 2),
        "schedules": str(len(SCHEDULES)),
        **{name: f"{worst_error(records, name):.1e}" for name in ("clock", "tables", "dense")},
        "first_wrong": f"{wrong[rate, l2]:,}",
        "wrong_rate": f"{rate:g}",
        "wrong_l2": f"{l2:g}",
        "theorem": theorem_table(records).rows,
        "four_figures": f"{FOUR_FIGURES:g}",
        "seen": " and ".join(first_seen(records, *each) for each in GAP_PENALTIES),
    }


def beside_the_table(claims: Claims) -> Values:
    """The claims in the text of Lipton & Elkan that the study ``claims`` measures."""
    flush, zeros = claims.records["flush"], claims.zero_weights()
    found = {
        "flush": duration(Spread.of(flush["flush"]).median),
        "share": significant(ratios(flush["flush"], flush["epoch"]).median, 2),
    }
    for name, strength in (("weak", min(zeros)), ("strong", max(zeros))):
        record = zeros[strength]
        skipping, dense, lazy = (
            record["seconds"][each] for each in (NONZERO_WEIGHTS, SPARSE_PREDICTIONS, TABLES)
        )
        found |= {
            name: f"{strength:g}",
            f"{name}_share": f"{record['nonzero'] / record['features']:.1%}",
            f"{name}_skipping": str(ratios(skipping, lazy)),
            f"{name}_dense": str(ratios(dense, lazy)),
        }
    return found


# --- the errata ------------------------------------------------------------------------------


def counterexamples() -> dict[str, str]:
    """The counterexamples of docs/errata.md by name; what closed forms give is computed here."""
    found = {}
    for card, name in _CARD.findall((ROOT / "docs" / "errata.md").read_text(encoding="utf-8")):
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
    """On how many of random gaps, in exact fractions, a form is not its repeated shrinks."""
    draw = random.Random(0)

    def share(least: int, most: int) -> Fraction:
        return Fraction(draw.randint(least, most), 12)

    gaps = [
        (
            share(12, 60),
            [share(1, 11) / 2 for _ in range(draw.randint(1, 4))],
            share(1, 6),
            share(1, 12),
        )
        for _ in range(GAPS)
    ]
    found = {
        name: sum(
            getattr(closed_forms, name)(*gap) != closed_forms.repeated(shrink)(*gap) for gap in gaps
        )
        for name, shrink in FORMS.items()
    }
    return {"of": f"{GAPS:,}", **{name: f"{count:,}" for name, count in found.items()}}


if __name__ == "__main__":
    raise SystemExit(main())
