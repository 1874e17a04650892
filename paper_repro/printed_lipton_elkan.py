"""What is found of the entries of Lipton & Elkan's texts, of the note of 2012 and of Dekel's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from paper_repro.competitors import DESCRIPTIONS, PLAINEST, RULES, TIERS
from paper_repro.competitors.base import DENSE, SPARSE_PREDICTIONS, TABLES
from paper_repro.competitors.compiled import LAZY_CENTERED, NAIVE_CENTERED
from paper_repro.found import ERRATA, Committed, Found, fills, finds, link, number_of, told
from paper_repro.pages import Template
from paper_repro.published import EARLY, Printed
from paper_repro.score import Spread, duration, significant
from paper_repro.studies.accuracy import GAP_PENALTIES, UNWATCHED, gap_key, unwatched_key
from paper_repro.studies.averaging import ASGD as AVERAGE
from paper_repro.studies.averaging import PASSES, Averages
from paper_repro.studies.averaging import SGD as LAST
from paper_repro.studies.claims import ASGD, CASGD, Claims
from paper_repro.studies.crossover import THOUSANDTH, DensityCurves
from paper_repro.studies.scaling import Times
from paper_repro.studies.table import TierTimes, all_groups
from paper_repro.studies.table_verdicts import is_alike, is_reproduced

PAGE = Template.beside(__file__)

# --- the corpus --------------------------------------------------------------------------------


@finds("real corpus")
def real_corpus(found: Committed, _: Printed) -> Found:
    corpus = found.documents.get("corpus")
    if corpus is not None and corpus["settings"]["data"] is not None:
        return Found(PAGE("rows of a file", file=corpus["settings"]["data"]), link("corpus"))
    read = found.of("medline")["records"]["medline"]["corpus"]
    if corpus is None:
        return Found(PAGE("abstracts read", kept=read["kept"]), link("medline"))
    return Found(PAGE("real corpus", kept=read["kept"]), link("medline"))


@finds("examples", "features", "nonzeros", "ideal")
def shape(found: Committed, entry: Printed) -> Found:
    """Inputs of a run, which no run can reproduce: whether the rows are generated or a file's."""
    document = found.of("corpus")
    statistics = document["records"]["shape"]["statistics"]
    name = {"nonzeros": "nonzeros_per_example", "ideal": "features_per_nonzero"}.get(
        entry.key, entry.key
    )
    digits = {"nonzeros": 2, "ideal": 4}.get(entry.key, 0)
    value = f"{statistics[name]:,.{digits}f}"
    file = document["settings"]["data"]
    words = PAGE("generated", value=value)
    if file is not None:
        words = PAGE("of a file", value=value, file=file)
    return Found(words, link("corpus"))


# --- times and ratios --------------------------------------------------------------------------

#: Version 3 does not show its loop over SciPy rows.  The plainest one is first, and is counted.
VERSION_3_LOOPS = (PLAINEST, "scipy")


def _compared(times: TierTimes, words: str, factor: float) -> Found:
    """A figure with the printed one, unless the rows have another shape than the paper's."""
    if not is_alike(times):
        return Found(PAGE("other shape", found=words), link("table"))
    return Found(words, link("table"), factor)


@finds("early lazy", "early dense")
def rate(found: Committed, entry: Printed) -> Found:
    times = TierTimes(found.of("table"))
    name = {"early lazy": TABLES, "early dense": SPARSE_PREDICTIONS}[entry.key]
    rate = 1.0 / times.median("dicts", "fobos", name)
    return _compared(times, f"{significant(rate)} examples/s", rate / number_of(entry))


@finds(*(f"{rule} {kind}" for rule in ("sgd", "fobos") for kind in ("lazy", "dense", "sparse")))
def seconds(found: Committed, entry: Printed) -> Found:
    times = TierTimes(found.of("table"))
    rule, kind = entry.key.split()
    name = {"lazy": TABLES, "dense": DENSE, "sparse": SPARSE_PREDICTIONS}[kind]
    looked_up, spread_out = (times.median(tier, rule, name) for tier in VERSION_3_LOOPS)
    words = PAGE("both loops", looked_up=duration(looked_up), spread_out=duration(spread_out))
    return _compared(times, words, looked_up / number_of(entry))


@finds(
    "early ratio",
    *(f"{rule} {kind} ratio" for rule in ("sgd", "fobos") for kind in ("dense", "sparse")),
)
def ratio(found: Committed, entry: Printed) -> Found:
    times = TierTimes(found.of("table"))
    if entry.text == EARLY:
        spread = times.ratio("dicts", "fobos", SPARSE_PREDICTIONS, TABLES)
        factor = spread.median / number_of(entry)
        return _compared(times, _judged(times, spread, number_of(entry)), factor)
    rule, kind, _ = entry.key.split()
    slow = DENSE if kind == "dense" else SPARSE_PREDICTIONS
    looked_up, spread_out = (times.ratio(tier, rule, slow, TABLES) for tier in VERSION_3_LOOPS)
    words = PAGE(
        "both loops",
        looked_up=_judged(times, looked_up, number_of(entry)),
        spread_out=_judged(times, spread_out, number_of(entry)),
    )
    return _compared(times, words, looked_up.median / number_of(entry))


def _judged(times: TierTimes, ratio: Spread, printed: float) -> str:
    """The ratio with the verdict on it; rows of another shape have none."""
    if not is_alike(times):
        return f"{ratio} times"
    judged = "reproduced" if is_reproduced(ratio.median / printed) else "not reproduced"
    return f"{ratio} times, {judged}"


@finds("stated ratio", "stated sparse ratio")
def stated(found: Committed, entry: Printed) -> Found:
    """The greater of the ratios of SGD and FoBoS, which have separate rows in the table."""
    slow = DENSE if entry.key == "stated ratio" else SPARSE_PREDICTIONS
    times = TierTimes(found.of("table"))
    looked_up, spread_out = (
        significant(max(times.ratio(tier, rule, slow, TABLES).median for rule in RULES))
        for tier in VERSION_3_LOOPS
    )
    words = PAGE("both loops", looked_up=f"{looked_up} times", spread_out=f"{spread_out} times")
    return Found(PAGE("greater of two", both=words), link("table"))


# --- claims outside the table ------------------------------------------------------------------


@fills(PAGE, "table", "figures")
def figures(document: Any) -> Mapping[str, Any]:
    times = TierTimes(document)
    records = [times.equal(*group)["against dense"][TABLES] for group in all_groups()]
    return dict(
        differ=sum(record["four_figures"] for record in records),
        weights=sum(record["weights"] for record in records),
        relative=max(record["relative"] for record in records),
    )


@fills(PAGE, "crossover", "quarter")
def quarter(document: Any) -> Mapping[str, Any]:
    curves = DensityCurves(document)
    tiers = [
        PAGE(
            "quarter in a tier",
            tier=DESCRIPTIONS[tier],
            reach=_reach(curves.reach(tier, TABLES)),
            lead=curves.lead(tier, THOUSANDTH, TABLES),
        )
        for tier in TIERS
    ]
    return dict(tiers="; ".join(tiers))


def _reach(density: float) -> str:
    return "1" if math.isinf(density) else significant(density, 2)


@fills(PAGE, "scaling", "constant time")
def constant_time(document: Any) -> Mapping[str, Any]:
    times = Times(document)
    lazy, dense = (times.growth("features", name) for name in (TABLES, SPARSE_PREDICTIONS))
    sizes = times.sizes("features")
    return dict(grown=sizes[-1] / sizes[0], lazy=lazy, dense=dense)


@fills(PAGE, "scaling", "caches")
def caches(document: Any) -> Mapping[str, Any]:
    times = Times(document)
    last = times.sizes("steps")[-1]
    return dict(floats=times.bytes(last, TABLES)["steps"] / last / 8)


@fills(PAGE, "accuracy", "theorem 1", "theorem 1 again")
def theorem_1(document: Any) -> Mapping[str, Any]:
    records = document["records"]["theorem 1"]
    printed, corrected = (
        max(max(records[gap_key(*each)][form]) for each in GAP_PENALTIES)
        for form in ("proof", "corrected")
    )
    return dict(printed=printed, corrected=corrected, errata=ERRATA)


# --- Dekel -------------------------------------------------------------------------------------


@fills(PAGE, "averaging", "cost naive")
def naive_cost(document: Any) -> Mapping[str, Any]:
    averages = Averages(document)
    naive, lazy = (averages.growth(name) for name in (NAIVE_CENTERED, LAZY_CENTERED))
    sizes = list(averages.timed)
    return dict(more=sizes[-1] / sizes[0], naive=naive, lazy=lazy)


@finds("average better")
def average_better(found: Committed, _: Printed) -> Found:
    """After every number of passes the objectives of the average and of the last iterate."""
    averages = Averages(found.of("averaging"))
    average, last = (averages.curve(name, "objective") for name in (AVERAGE, LAST))
    better = [passes for passes, a, b in zip(PASSES, average, last, strict=True) if a < b]
    errors = [averages.curve(name, "error")[-1] for name in (AVERAGE, LAST)]
    return Found(
        PAGE(
            "average better" if average[-1] < last[-1] else "average worse",
            passes=PASSES[-1],
            average=average[-1],
            last=last[-1],
            average_error=errors[0],
            last_error=errors[1],
            better=len(better),
            of=len(PASSES),
        ),
        link("averaging"),
    )


@fills(PAGE, "averaging", "centering")
def centering(document: Any) -> Mapping[str, Any]:
    same = (record["same"] for record in Averages(document).timed.values())
    return dict(worst=max(s[LAZY_CENTERED]["relative"] for s in same if LAZY_CENTERED in s))


@fills(PAGE, "claims", "translation")
def translation(document: Any) -> Mapping[str, Any]:
    changes = Claims(document).translation
    return dict(casgd=max(changes[CASGD]), asgd=max(changes[ASGD]))


@fills(PAGE, "accuracy", "note overflow")
def note_overflow(document: Any) -> Mapping[str, Any]:
    """When the product of SGD's factors leaves the range of doubles, and what lazynet does."""
    runs = {each: document["records"][unwatched_key("sgd", *each)] for each in UNWATCHED}
    rate, l2 = min(runs, key=lambda each: runs[each]["P subnormal"] or math.inf)
    error = max(run["lazynet error"][-1] for run in runs.values())
    return dict(steps=runs[rate, l2]["P subnormal"], rate=rate, l2=l2, error=error)


#: What is right or wrong by proof, and what is not there.
PROVEN = {
    "equation 4": told(PAGE("exact by proof"), ERRATA),
    "harmonic": told(PAGE("harmonic"), ERRATA),
    "positive products": told(PAGE("erratum of the products"), ERRATA),
    "theorem 2 early": told(PAGE("erratum of theorem 2"), ERRATA),
    "theorem 2": told(PAGE("theorem 2"), "[how exact](../../docs/exactness.md)"),
    "algorithm 1": told(PAGE("erratum of algorithm 1"), ERRATA),
    "rates early": told(PAGE("erratum of the rates"), ERRATA),
    "rates": told(PAGE("erratum of the rates"), ERRATA),
    "rescaling": told(PAGE("erratum of the note"), ERRATA),
    "Dekel's algorithms": told(PAGE("errata of Dekel"), ERRATA),
    **dict.fromkeys(
        ("accuracy early", "accuracy", "note times", "Dekel's times"), told(PAGE("nothing printed"))
    ),
}
