"""The report on real abstracts: counts of what was read, and measures of what was learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paper_repro.curves import draw_curves
from paper_repro.pages import Template
from paper_repro.pages import table as table_of
from paper_repro.study import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = Template.beside(__file__)
#: Columns of the table, and the names of their numbers in a record.
_MEASURES = {
    "accuracy": "accuracy",
    "majority": "majority",
    "F1": "f1",
    "average precision": "average_precision",
    "chance": "share_of_positives",
}


def page(document: Mapping[str, Any]) -> str:
    figures = document["records"]["medline"]
    return PAGE(
        "page",
        finding=finding(figures),
        files=", ".join(document["settings"]["files"]),
        counts=fenced(summary(figures)),
        learned=learned(figures),
        models=table(figures),
        verified=PAGE("verified", report=fenced(figures["verified"]["report"]))
        if "verified" in figures
        else "",
    )


def draw(document: Mapping[str, Any]) -> Figure:
    figures = document["records"]["medline"]
    mean = figures["corpus"]["nonzeros_per_citation"]
    return draw_curves(figures["curves"], mean)


MEDLINE = Report(
    name="medline",
    title="Real abstracts: PubMed's XML, counted and learned from",
    page=page,
    draw=draw,
)


def finding(figures: dict[str, Any]) -> str:
    """How many of the headings were learned better than without a model."""
    kept = figures["corpus"]["kept"]
    trained = [row for row in figures["labels"] if "not_trained" not in row]
    if not trained:
        return PAGE("counted", kept=kept)
    better = sum(
        None not in (row["accuracy"], row["average_precision"])
        and row["accuracy"] > row["majority"]
        and row["average_precision"] > row["share_of_positives"]
        for row in trained
    )
    return PAGE("finding", kept=kept, better=better, trained=len(trained))


def fenced(text: str) -> str:
    """The text as a block that keeps its lines and blanks in Markdown."""
    return f"```\n{text}\n```"


def summary(figures: dict[str, Any]) -> str:
    """Counts of what was read, one line per count."""
    corpus = figures["corpus"]
    most = corpus.get("most_frequent_words")
    lines = [
        ("files", f"{corpus['files']:,}"),
        ("citations", f"{corpus['seen']:,}"),
        *((f"  {reason}", f"{count:,}") for reason, count in sorted(corpus["skipped"].items())),
        ("  older versions", f"{corpus['superseded']:,}"),
        ("  deleted", f"{corpus['deleted']:,}"),
        ("  kept", f"{corpus['kept']:,}"),
        ("words", f"{corpus['words_before']:,}"),
        (f"  in {corpus['min_df']} citations or more", f"{corpus['words']:,}"),
        *([("  most frequent ones, kept", f"{most:,}")] if most is not None else []),
        ("different words per citation", f"{corpus['nonzeros_per_citation']:.1f}"),
        ("with MeSH headings", f"{corpus['indexed']:,}"),
        ("different MeSH headings", f"{corpus['descriptors']:,}"),
    ]
    width = max(len(name) for name, _ in lines)
    digits = max(len(value) for _, value in lines)
    text = [f"{name:<{width}}  {value:>{digits}}" for name, value in lines]
    if corpus["damaged"]:
        text += ["", "damaged, or not readable; what was read before the damage is counted:"]
        text += [f"  {path}: {problem}" for path, problem in corpus["damaged"]]
    if corpus["frequent"]:
        text += ["", "most frequent headings:"]
        text += [f"  {count:>{digits},}  {ui:<11} {name}" for ui, name, count in corpus["frequent"]]
    return "\n".join(text)


def learned(figures: dict[str, Any]) -> str:
    """How the models were trained, and how to judge them."""
    examples = figures.get("examples")
    if examples is None:
        return PAGE("nothing learned")
    return PAGE("learned", training=examples["training"], test=examples["test"])


def table(figures: dict[str, Any]) -> str:
    """Measures of the models, one row per heading."""
    header = ["heading", "positive", *_MEASURES, "nonzero weights", "words for it", "against it"]
    rows = []
    for row in figures["labels"]:
        cells = [f"{row['name']} ({row['ui']})", f"{row['positives']:,}"]
        if "not_trained" in row:
            cells.append(row["not_trained"])
        else:
            measured = [row[name] for name in _MEASURES.values()]
            cells += ["" if value is None else f"{value:.3f}" for value in measured]
            cells.append(f"{row['nonzero_weights']:,}")
            cells += [", ".join(row["words_for"]), ", ".join(row["words_against"])]
        rows.append(cells + [""] * (len(header) - len(cells)))
    return table_of(header, rows)
