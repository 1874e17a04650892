"""The page of the study ``bench``: ratios of times beside their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.bench import (
    FIT_LINES,
    FITS,
    LINES,
    MINIMUM_ROWS,
    ORDERS,
    OUTPUT_LINES,
    OUTPUTS,
    SMALLEST,
    EpochTimes,
)
from benchmarks.bench_files import TEST_SHARE, file_lines
from benchmarks.bench_outputs import POSITIVES
from paper_repro.pages import Template, paragraphs, table
from paper_repro.runs import ETA0, L1, L2
from paper_repro.score import Spread

PAGE = Template.beside(__file__)


def page(document: Mapping[str, Any]) -> str:
    measured = EpochTimes(document)
    memory, same = measured.records["memory"], measured.records["same weights"]
    return PAGE(
        "page",
        finding=finding(measured),
        setting=setting(measured),
        tables=paragraphs(lines(measured, order) for order in ORDERS),
        fits=fits(measured),
        outputs=outputs(measured),
        files=files(measured),
        cost=cost(measured),
        tables_difference=same["tables"]["relative"],
        examples=measured.corpus["examples"],
        dense_difference=same["dense"]["relative"],
        few=same["few"],
        wide_features=memory["features"],
        peak=memory["peak"] / 1e6,
        coefficients=memory["coefficients"] / 1e6,
        bytes_per_feature=(memory["peak"] - memory["coefficients"]) / memory["features"],
    )


def finding(measured: EpochTimes) -> str:
    """How many times longer others take for an epoch on rows as they lie."""
    order = next(iter(ORDERS))
    ratio = {line.slow: measured.ratio(order, line) for line in LINES if line.fast[:5] == "clock"}
    return PAGE("finding", sklearn=ratio["sklearn en"], dense=ratio["dense predictions"])


def setting(measured: EpochTimes) -> str:
    return PAGE(
        "setting",
        examples=measured.corpus["examples"],
        features=measured.corpus["features"],
        nonzeros=measured.corpus["nonzeros_per_example"],
        origin=measured.corpus["origin"],
        rounds=measured.repeats,
        l1=L1,
        l2=L2,
        eta0=ETA0,
    )


def lines(measured: EpochTimes, order: str) -> str:
    """The ratios for one order of the rows; bounds are for rows as they lie."""
    shuffled = ORDERS[order]
    rows = []
    for line in LINES:
        found = measured.ratio(order, line)
        expected, holds = ("", "") if shuffled else line.verdict(found)
        rows.append([line.label, found, expected, holds])
    head = f"one epoch, logistic loss, FoBoS, rows {order}"
    return table([head, "median ratio (range)", "expected", ""], rows)


def fits(measured: EpochTimes) -> str:
    """Whole fits, where the run has them."""
    if not measured.has_fits:
        return ""
    rows = [
        [line.label, found, *line.verdict(found)]
        for line in FIT_LINES
        for found in [measured.ratio(FITS, line)]
    ]
    return PAGE(
        "fits",
        table=table(["whole fits", "median ratio (range)", "expected", ""], rows),
        few=min(MINIMUM_ROWS, measured.corpus["examples"]),
        smallest=SMALLEST,
    )


def outputs(measured: EpochTimes) -> str:
    """Epochs of many outputs, where the run has them."""
    if not measured.has_outputs:
        return ""
    rows = [
        [line.label, found, *line.verdict(found)]
        for line in OUTPUT_LINES
        for found in [measured.ratio(OUTPUTS, line)]
    ]
    head = "one epoch of many outputs, logistic loss, FoBoS, rows in random order"
    return PAGE(
        "outputs",
        table=table([head, "median ratio (range)", "expected", ""], rows),
        positives=POSITIVES,
    )


def files(measured: EpochTimes) -> str:
    """Whole fits of files of several classes or labels, where the run has them."""
    rounds = measured.rounds_of_files
    if not rounds:
        return ""
    rows = [
        [
            f"{line.file}, {line.outputs} {'labels' if line.labels else 'classes'}",
            line.fit,
            line.ratio,
            f"{line.score:.3f}",
            f"{line.their_score:.3f}",
            f">= {line.bound:g}",
            line.verdict,
        ]
        for line in file_lines(rounds)
    ]
    head = ["file", "LazyNetClassifier", "their seconds / ours", "our score", "their score"]
    return PAGE("files", table=table([*head, "expected", ""], rows), share=TEST_SHARE)


def cost(measured: EpochTimes) -> str:
    nanoseconds = [1e9 * seconds for seconds in measured.rounds("as they lie", "clock")]
    nonzeros = measured.corpus["nonzeros_per_example"]
    return PAGE(
        "cost",
        per_example=Spread.of(nanoseconds),
        per_nonzero=Spread.of([each / nonzeros for each in nanoseconds]),
    )
