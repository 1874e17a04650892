"""Everything that the five texts print, beside what the committed results say of it.

``printed.md`` has a row for every entry of ``published.ENTRIES``.  What is reproduced is read from
the documents of the studies: the functions below find it, one for each entry.

    python -m paper_repro printed
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from paper_repro.competitors import (
    DENSE,
    DESCRIPTIONS,
    SPARSE_PREDICTIONS,
    TABLES,
    TIERS,
)
from paper_repro.competitors.compiled import LAZY_CENTERED, NAIVE_CENTERED
from paper_repro.pages import Template, paragraphs, table
from paper_repro.published import (
    DATA_SETS,
    DEXTER_DENSITY,
    EARLY,
    ENTRIES,
    PUBLISHED,
    TEXTS,
    UPDATES,
    Printed,
)
from paper_repro.score import Spread, duration, significant
from paper_repro.studies.accuracy import GAP_PENALTIES, gap_key
from paper_repro.studies.averaging import Averages
from paper_repro.studies.claims import ASGD, CASGD, FEATURES, LARGER, NONZEROS, STEPS, Claims
from paper_repro.studies.crossover import THOUSANDTH, DensityCurves
from paper_repro.studies.scaling import Times
from paper_repro.studies.stability import (
    LOSSES,
    Selections,
    is_insensitive,
    signs_with_the_least_error,
)
from paper_repro.studies.stability_page import Verdicts, data_name
from paper_repro.studies.table import REPRODUCED, TierTimes, groups, is_reproduced
from paper_repro.studies.tuning import TRUNCATED
from paper_repro.whole import write_whole

NAME = "printed"
TITLE = "Everything that the papers print, and what is found here"
PAGE = Template.beside(__file__)
ERRATA = "[the errata](../../docs/errata.md)"
NOT_MEASURED = "not measured in these results"

Documents = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """What was found of an entry: the words, the quotient found / printed, and the page."""

    reproduced: str
    page: str = ""
    factor: float | None = None


class Committed:
    """The documents of the studies, of the folder itself and of its subfolders."""

    def __init__(self, documents: Documents, below: Mapping[str, Documents]) -> None:
        self.documents, self.below = documents, below
        self.stability: dict[str, Selections] = {
            folder: Selections(found["stability"])
            for folder, found in {"": documents, **below}.items()
            if "stability" in found
        }

    def of(self, study: str) -> Any:
        """The document of a study; raises ``Missing`` without one."""
        if study not in self.documents:
            raise Missing
        return self.documents[study]

    def on(self, folder: str) -> Selections:
        """The study ``stability`` on the data of a folder."""
        if folder not in self.stability:
            raise Missing
        return self.stability[folder]


class Missing(LookupError):
    """The results lack the study that an entry needs."""


Finder = Callable[[Committed, Printed], Found]
FINDERS: dict[str, Finder] = {}


def finds(*keys: str) -> Callable[[Finder], Finder]:
    """The function finds what is reproduced of these entries."""

    def register(finder: Finder) -> Finder:
        FINDERS.update(dict.fromkeys(keys, finder))
        return finder

    return register


def link(name: str, folder: str = "") -> str:
    """A link to the page of a study."""
    where = f"{folder}/{name}" if folder else name
    return f"[{name}{f' on {folder}' if folder else ''}]({where}.md)"


# --- Lipton & Elkan ----------------------------------------------------------------------------


@finds("real corpus")
def real_corpus(found: Committed, _: Printed) -> Found:
    corpus = found.of("medline")["records"]["medline"]["corpus"]
    return Found(PAGE("real corpus", kept=corpus["kept"]), link("medline"))


@finds("examples", "features", "nonzeros", "ideal")
def shape(found: Committed, entry: Printed) -> Found:
    statistics = found.of("corpus")["records"]["shape"]["statistics"]
    name = {"nonzeros": "nonzeros_per_example", "ideal": "features_per_nonzero"}.get(
        entry.key, entry.key
    )
    value = statistics[name]
    shown = f"{value:,.2f}" if entry.key == "nonzeros" else f"{value:,.0f}"
    return Found(PAGE("generated", value=shown), link("corpus"), value / _number(entry))


@finds("early lazy", "early dense")
def rate(found: Committed, entry: Printed) -> Found:
    name = {"early lazy": TABLES, "early dense": SPARSE_PREDICTIONS}[entry.key]
    rate = 1.0 / TierTimes(found.of("table")).median("dicts", "fobos", name)
    return Found(f"{significant(rate)} examples/s", link("table"), rate / _number(entry))


@finds(*(f"{rule} {kind}" for rule in ("sgd", "fobos") for kind in ("lazy", "dense", "sparse")))
def seconds(found: Committed, entry: Printed) -> Found:
    rule, kind = entry.key.split()
    name = {"lazy": TABLES, "dense": DENSE, "sparse": SPARSE_PREDICTIONS}[kind]
    value = TierTimes(found.of("table")).median("scipy", rule, name)
    return Found(duration(value), link("table"), value / _number(entry))


@finds(
    "early ratio",
    "early stated",
    *(f"{rule} {kind} ratio" for rule in ("sgd", "fobos") for kind in ("dense", "sparse")),
)
def ratio(found: Committed, entry: Printed) -> Found:
    if entry.text == EARLY:
        tier, rule, slow = "dicts", "fobos", SPARSE_PREDICTIONS
    else:
        rule, kind, _ = entry.key.split()
        tier, slow = "scipy", DENSE if kind == "dense" else SPARSE_PREDICTIONS
    return _ratio(TierTimes(found.of("table")).ratio(tier, rule, slow, TABLES), entry)


def _ratio(spread: Spread, entry: Printed) -> Found:
    factor = spread.median / _number(entry)
    return Found(f"{spread} times: {_judged(factor)}", link("table"), factor)


def _judged(factor: float) -> str:
    return "reproduced" if is_reproduced(factor) else "not reproduced"


@finds("stated ratio", "stated sparse ratio")
def stated(found: Committed, entry: Printed) -> Found:
    """The greater of the ratios of SGD and FoBoS, which the text means."""
    slow = DENSE if entry.key == "stated ratio" else SPARSE_PREDICTIONS
    times = TierTimes(found.of("table"))
    best = max(
        (times.ratio(tier, rule, slow, TABLES) for tier, rule in PUBLISHED if tier == "scipy"),
        key=lambda spread: spread.median,
    )
    return _ratio(best, entry)


@finds("figures")
def figures(found: Committed, _: Printed) -> Found:
    times = TierTimes(found.of("table"))
    records = [times.equal(*group)["against dense"][TABLES] for group in groups()]
    return Found(
        PAGE(
            "figures",
            differ=sum(record["four_figures"] for record in records),
            weights=sum(record["weights"] for record in records),
            relative=max(record["relative"] for record in records),
        ),
        link("table"),
    )


@finds("quarter")
def quarter(found: Committed, _: Printed) -> Found:
    curves = DensityCurves(found.of("crossover"))
    tiers = [
        PAGE(
            "quarter",
            tier=DESCRIPTIONS[tier],
            reach=_reach(curves.reach(tier, TABLES)),
            lead=curves.lead(tier, THOUSANDTH, TABLES),
        )
        for tier in TIERS
    ]
    return Found(PAGE("quarters", tiers="; ".join(tiers)), link("crossover"))


def _reach(density: float) -> str:
    return "1" if math.isinf(density) else significant(density, 2)


@finds("constant time")
def constant_time(found: Committed, _: Printed) -> Found:
    times = Times(found.of("scaling"))
    sizes = times.sizes("features")
    return Found(
        PAGE(
            "constant time",
            grown=sizes[-1] / sizes[0],
            lazy=times.growth("features", TABLES),
            dense=times.growth("features", SPARSE_PREDICTIONS),
        ),
        link("scaling"),
    )


@finds("caches")
def caches(found: Committed, entry: Printed) -> Found:
    times = Times(found.of("scaling"))
    last = times.sizes("steps")[-1]
    floats = times.bytes(last, TABLES)["steps"] / last / 8
    return Found(PAGE("caches", floats=floats), link("scaling"), floats / _number(entry))


@finds("theorem 1", "theorem 1 again")
def theorem_1(found: Committed, _: Printed) -> Found:
    records = found.of("accuracy")["records"]["theorem 1"]
    errors = [records[gap_key(*each)] for each in GAP_PENALTIES]
    return Found(
        PAGE(
            "theorem 1",
            printed=max(max(each["proof"]) for each in errors),
            corrected=max(max(each["corrected"]) for each in errors),
            errata=ERRATA,
        ),
        link("accuracy"),
    )


# --- Dekel --------------------------------------------------------------------------------------


@finds("cost n", "cost T", "cost k")
def dekel_cost(found: Committed, entry: Printed) -> Found:
    claims = Claims(found.of("claims"))
    what = entry.key.split()[1]
    size = dict(zip(("n", "T", "k"), LARGER[what], strict=True))
    first = dict(zip(("n", "T", "k"), (FEATURES, STEPS, NONZEROS), strict=True))
    return Found(
        PAGE(
            "cost",
            what={"n": "features n", "T": "steps T", "k": "nonzeros k"}[what],
            more=size[what] / first[what],
            asgd=claims.growth(ASGD, what),
            casgd=claims.growth(CASGD, what),
        ),
        link("claims"),
    )


@finds("cost naive")
def naive_cost(found: Committed, _: Printed) -> Found:
    averages = Averages(found.of("averaging"))
    sizes = list(averages.timed)
    lazy, naive = LAZY_CENTERED, NAIVE_CENTERED
    return Found(
        PAGE(
            "naive cost",
            more=sizes[-1] / sizes[0],
            naive=averages.growth(naive),
            lazy=averages.growth(lazy),
        ),
        link("averaging"),
    )


@finds("translation")
def translation(found: Committed, _: Printed) -> Found:
    changes = Claims(found.of("claims")).translation
    return Found(
        PAGE("translation", casgd=max(changes[CASGD]), asgd=max(changes[ASGD])), link("claims")
    )


# --- Ma & Zheng ---------------------------------------------------------------------------------


@finds("data sets")
def data_sets(found: Committed, _: Printed) -> Found:
    folders = [folder for folder in found.stability if folder]
    if not folders:
        raise Missing
    names = [data_name(found.on(folder).settings["data"]) for folder in folders]
    return Found(
        PAGE("data sets", names=", ".join(names)),
        ", ".join(link("stability", folder) for folder in folders),
        len(folders) / DATA_SETS,
    )


@finds("Dexter rows", "Dexter features", "Dexter density")
def dexter(found: Committed, entry: Printed) -> Found:
    rows = found.on("dexter").rows
    page = link("stability", "dexter")
    if entry.key == "Dexter density":
        density = rows["nonzeros"] / rows["features"]
        return Found(PAGE("density", density=density), page, density / DEXTER_DENSITY)
    value = rows["train" if entry.key == "Dexter rows" else "occurring"]
    return Found(f"{value:,}", page, value / _number(entry))


@finds("orders")
def orders(found: Committed, entry: Printed) -> Found:
    [name, *_] = found.on("dexter").methods
    runs = len(found.on("dexter").outcome("hinge", name).errors)
    return Found(f"{runs}", link("stability", "dexter"), runs / _number(entry))


@finds("claim")
def claim(found: Committed, _: Printed) -> Found:
    if not found.stability:
        raise Missing
    told = []
    for selections in found.stability.values():
        verdicts = {name: Verdicts.on(selections, name) for name in selections.stabilised}
        told.append(
            PAGE(
                "claim",
                data=data_name(selections.settings["data"]),
                verdicts=", ".join(
                    f"*{name}* {each.held} of {each.judged}" for name, each in verdicts.items()
                ),
            )
        )
    pages = ", ".join(link("stability", folder) for folder in found.stability)
    return Found(PAGE("claims", told="; ".join(told)), pages)


@finds("tables of errors")
def tables_of_errors(found: Committed, _: Printed) -> Found:
    found.of("released")
    return Found(PAGE("tables of errors"), link("released"))


@finds("oscillation", "constant nonzeros")
def last_updates(found: Committed, entry: Printed) -> Found:
    """Least to most nonzeros over the last updates, in per cent of the features."""
    selections = found.on("dexter")
    features = selections.rows["occurring"]
    names = [TRUNCATED] if entry.key == "oscillation" else selections.stabilised
    told, spans = [], []
    for name, (loss, title) in product(names, LOSSES.items()):
        counts = selections.updates(loss, name)[-UPDATES:]
        if len(counts) < 2:
            continue
        spans.append((max(counts) - min(counts)) / features)
        whose = f"*{name}*, " if len(names) > 1 else ""
        told.append(
            f"{whose}{title}: {min(counts) / features:.1%} to {max(counts) / features:.1%} "
            f"of the features, a span of {spans[-1]:.1%}"
        )
    factor = max(spans) / _number(entry) if entry.number else None
    return Found("; ".join(told), link("stability", "dexter"), factor)


@finds("annealing")
def annealing(found: Committed, _: Printed) -> Found:
    rises = Claims(found.of("claims")).curves_as_described
    return Found(PAGE("annealing" if rises else "not annealing"), link("claims"))


@finds("pi0", "gamma")
def sweeps(found: Committed, entry: Printed) -> Found:
    """What one parameter changes, of every form of the algorithm and every data set."""
    if not found.stability:
        raise Missing
    told = []
    parameter = {"pi0": "stability", "gamma": "annealing"}[entry.key]
    for selections in found.stability.values():
        cells = []
        for name, (loss, title) in product(selections.stabilised, LOSSES.items()):
            points = selections.sweep(loss, name)[parameter]
            errors = [point["error"] for point in points]
            if entry.key == "pi0":
                same = is_insensitive(errors, selections.rows["test"])
                judged = "insensitive" if same else "sensitive"
                what = f"{judged} ({min(errors):.1%} to {max(errors):.1%})"
            else:
                what = " or ".join(signs_with_the_least_error(points))
            cells.append(f"*{name}* ({title}) {what}")
        told.append(f"{data_name(selections.settings['data'])}: {', '.join(cells)}")
    pages = ", ".join(link("stability", folder) for folder in found.stability)
    return Found("; ".join(told), pages)


@finds("regret")
def regret(found: Committed, _: Printed) -> Found:
    share = Claims(found.of("claims")).greatest_share_of_the_bound()
    return Found(PAGE("regret", share=share), link("claims"))


# --- what is right or wrong by proof, and what is not there ------------------------------------


def _told(part: str, page: str = "") -> Finder:
    """The part's text, which has no numbers: a proof, an erratum, or that nothing is printed."""
    return lambda _found, _entry: Found(PAGE(part), page)


FINDERS |= {
    "theorem 2 early": _told("erratum of theorem 2", ERRATA),
    "theorem 2": _told("theorem 2", "[how exact](../../docs/how_exact.md)"),
    "rates early": _told("erratum of the rates", ERRATA),
    "rates": _told("erratum of the rates", ERRATA),
    "rescaling": _told("erratum of the note", ERRATA),
    "Dekel's algorithms": _told("errata of Dekel", ERRATA),
    "formulas": _told("errata of Ma & Zheng", ERRATA),
    **dict.fromkeys(
        ("accuracy early", "accuracy", "note times", "Dekel's times"), _told("nothing printed")
    ),
}


# --- the page -----------------------------------------------------------------------------------


def found_of(entry: Printed, results: Committed) -> Found:
    """What the results say of an entry."""
    try:
        return FINDERS[entry.key](results, entry)
    except Missing:
        return Found(NOT_MEASURED)


def page(documents: Documents, below: Mapping[str, Documents]) -> str:
    """The whole page."""
    results = Committed(documents, below)
    everything = {entry.key: found_of(entry, results) for entry in ENTRIES}
    factors = [found.factor for found in everything.values() if found.factor is not None]
    unmeasured = sum(found.reproduced == NOT_MEASURED for found in everything.values())
    parts = []
    for text, title in TEXTS.items():
        rows = []
        for entry in ENTRIES:
            if entry.text == text:
                found = everything[entry.key]
                factor = "" if found.factor is None else significant(found.factor)
                rows.append([entry.what, entry.printed, found.reproduced, factor, found.page])
        parts += [
            f"## {title[0].upper()}{title[1:]}",
            table(["", "printed", "found here", "found / printed", "page"], rows),
        ]
    return (
        PAGE(
            "page",
            title=TITLE,
            entries=len(ENTRIES),
            numbers=len(factors),
            near=sum(is_reproduced(factor) for factor in factors),
            far=sum(not is_reproduced(factor) for factor in factors),
            most=max((max(factor, 1.0 / factor) for factor in factors), default=1.0),
            unmeasured=PAGE("not all measured", count=unmeasured)
            if unmeasured
            else PAGE("all measured"),
            reproduced=REPRODUCED,
            tables=paragraphs(parts),
        )
        + "\n"
    )


def write(documents: Documents, below: Mapping[str, Documents], out: Path) -> None:
    """Write ``printed.md`` in ``out``."""
    write_whole(out / f"{NAME}.md", page(documents, below))


def _number(entry: Printed) -> float:
    if entry.number is None:
        raise ValueError(f"the entry {entry.key!r} has no number to compare with")
    return entry.number
