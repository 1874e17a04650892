"""The report on real abstracts: counts of what was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from paper_repro.curves import curves, panels
from paper_repro.pubmed.bag import Bag
from paper_repro.render import Content, Table
from paper_repro.study import Report

#: How many of the most frequent headings are named.
_FREQUENT = 10


def counted(bag: Bag) -> dict[str, Any]:
    """Counts of the bag, ready for JSON."""
    counts = bag.label_counts()
    return {
        "corpus": {
            **asdict(bag.tally),
            "min_df": bag.min_document_frequency,
            "nonzeros_per_citation": bag.X.nnz / bag.X.shape[0],
            "indexed": bag.indexed().X.shape[0],
            "descriptors": len(bag.descriptors),
            "frequent": [
                [*bag.descriptors[i], int(counts[i])] for i in bag.most_frequent(_FREQUENT)
            ],
        },
        "curves": curves(bag.X),
    }


def content(document: Mapping[str, Any]) -> Content:
    found = document["records"]["medline"]
    corpus = found["corpus"]
    most = corpus.get("most_frequent_words")
    lines = [
        ("files", corpus["files"]),
        ("citations", corpus["seen"]),
        *sorted(corpus["skipped"].items()),
        ("older versions", corpus["superseded"]),
        ("deleted", corpus["deleted"]),
        ("kept", corpus["kept"]),
        ("words", corpus["words_before"]),
        (f"words in {corpus['min_df']} citations or more", corpus["words"]),
        *([("most frequent words, kept", most)] if most is not None else []),
        ("different words per citation", f"{corpus['nonzeros_per_citation']:.1f}"),
        ("citations with MeSH headings", corpus["indexed"]),
        ("different MeSH headings", corpus["descriptors"]),
    ]
    damaged = "; ".join(f"{path}: {problem}" for path, problem in corpus["damaged"])
    return Content(
        f"{corpus['kept']:,} real abstracts are read and counted; an abstract has "
        f"{corpus['nonzeros_per_citation']:.1f} different words of {corpus['words']:,}.",
        [
            f"From {', '.join(document['settings']['files'])}:",
            Table(["", ""], [[n, f"{v:,}" if isinstance(v, int) else v] for n, v in lines]),
            f"Damaged, or not readable; what was read before the damage is counted: {damaged}."
            if damaged
            else "",
            "The most frequent headings:" if corpus["frequent"] else "",
            Table(
                ["heading", "citations"],
                [[f"{name} ({ui})", f"{count:,}"] for ui, name, count in corpus["frequent"]],
            )
            if corpus["frequent"]
            else "",
            "In the figure the second curve is the law by which the generated corpus is made.",
        ],
        panels(found["curves"], corpus["nonzeros_per_citation"]),
    )


MEDLINE = Report(name="medline", title="Real abstracts: PubMed's XML, counted", content=content)
