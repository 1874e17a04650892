"""The page of the study ``peers``: bounds, and a table or two for each of the five parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import peers_quality, peers_scale
from benchmarks.peers import BOUNDS, SCIKIT_LEARN, WABBIT, Found
from benchmarks.peers import OURS as OUR_PASSES
from benchmarks.peers_exactness import CHUNK, in_words, nearest, rows_of
from benchmarks.peers_quality import FEW_ROWS, FEW_TEST_ROWS, NEAR, Quality
from benchmarks.peers_scale import FEATURES, NONZEROS, ROWS
from benchmarks.peers_time import LEVELS, RATES, SHARE
from benchmarks.programs import ALL
from benchmarks.programs.base import (
    ANY,
    BUDGET,
    LASSO,
    LYING,
    NET,
    NONE,
    RANDOM,
    RIDGE,
    TUNED_PASSES,
)
from benchmarks.programs.cage import DONE
from benchmarks.programs.river_rows import River
from benchmarks.programs.wabbit import Default as DefaultWabbit
from paper_repro.pages import Template, paragraphs, table
from paper_repro.score import duration, in_bytes, significant

PAGE = Template.beside(__file__)
#: The dense rule that a peer's documentation describes, by kind of penalty.
PROXIMAL, TRUNCATED = "proximal steps", "decay and truncation"
CUMULATIVE = "cumulative l1 of the row's features"
DESCRIBED = {
    OUR_PASSES: PROXIMAL,
    SCIKIT_LEARN: CUMULATIVE,
    WABBIT: TRUNCATED,
    River.name: CUMULATIVE,
}


def page(document: Mapping[str, Any]) -> str:
    found = Found(document)
    corpus, full = found.passes.corpus, bool(found.settings["full"])
    rounds = len(found.passes.whole)
    return PAGE(
        "page",
        finding=finding(document),
        who=who(found),
        bounds=table(["", "expected", "measured", ""], [bound.line(found) for bound in BOUNDS]),
        causes=causes(found),
        rows=rows_of(0).X.shape[0],
        rules=rules(found),
        chunk=CHUNK,
        pieces=pieces(found),
        minimum=minimum(found),
        examples=corpus["examples"],
        features=corpus["features"],
        nonzeros=corpus["nonzeros_per_example"],
        rounds=rounds,
        river=min(River.most_rows, corpus["examples"]),
        speed=paragraphs(speed(found, order) for order in (LYING, RANDOM)),
        unended=unended(found),
        whole=whole(found),
        share=SHARE,
        rates=len(RATES),
        times=times(found),
        scale_rows=ROWS,
        scale_nonzeros=NONZEROS,
        scale_features=FEATURES,
        limit=peers_scale.FULL_SECONDS if full else peers_scale.QUICK_SECONDS,
        scales=paragraphs(scales(found, axis) for axis in found.scales.found),
        failures=failures(found),
        budget=BUDGET,
        passes=TUNED_PASSES,
        seconds=peers_quality.FULL_SECONDS if full else peers_quality.QUICK_SECONDS,
        few=FEW_ROWS,
        few_test=FEW_TEST_ROWS,
        quality=quality(found, "loss"),
        errors=quality(found, "error"),
    )


def finding(document: Mapping[str, Any]) -> str:
    """The two ratios of a pass, and on how many sets lazynet's test loss is near the least."""
    found = Found(document)
    theirs = found.passes.ratio(LYING, NET, SCIKIT_LEARN, OUR_PASSES)
    wabbit = found.passes.ratio(LYING, NET, WABBIT, OUR_PASSES)
    ratios = {name: found.quality.ratio(name) for name in found.quality.found}
    if theirs is None or not ratios:
        return ""
    worst = max(ratios, key=ratios.__getitem__)
    return PAGE(
        "finding",
        theirs=significant(theirs.median),
        wabbit="not measured" if wabbit is None else significant(wabbit.median),
        budget=BUDGET,
        peers=_competitors(found),
        near=sum(ratio <= NEAR for ratio in ratios.values()),
        sets=len(ratios),
        worst=ratios[worst],
        worst_set=worst,
    )


def _competitors(found: Found) -> int:
    """The programs that have a test loss somewhere."""
    return len({peer for name in found.quality.found for peer in found.quality.losses(name, False)})


def who(found: Found) -> str:
    packages = found.setting["packages"]
    lines = [f"{name} ({why})" for name, why in found.setting["absent"].items()]
    return PAGE(
        "who",
        versions=", ".join(f"{name} {version}" for name, version in packages.items()),
        rest=" ".join(
            [
                *([PAGE("missing", lines="; ".join(lines))] if lines else []),
                *([] if found.settings["full"] else [PAGE("quick")]),
            ]
        ),
        share=found.scales.share_of_wall(),
    )


def causes(found: Found) -> str:
    """A line for each kind of bound that is missed."""
    missed = [line[0] for line in (bound.line(found) for bound in BOUNDS) if line[3] == "MISSED"]
    lines = []
    if any("as they lie" in label and "/ ours" in label for label in missed):
        lines.append(_speed_cause(found))
    if any("random" in label and "/ ours" in label for label in missed):
        lines.append(_random_cause(found))
    if any(label.startswith("Vowpal") for label in missed):
        lines.append(
            PAGE(
                "wabbit cause",
                plain_ns=1e9 * _middle(found, LYING, NET, WABBIT),
                default_ns=1e9 * _middle(found, LYING, NET, DefaultWabbit.name),
            )
        )
    if any(label.startswith("test loss") for label in missed):
        lines.append(PAGE("quality cause", peers=_competitors(found), misses=_misses(found)))
    return PAGE("causes", lines="\n".join(lines)) if lines else ""


def _middle(found: Found, order: str, kind: str, name: str) -> float:
    return found.passes.middle(order, kind, name) or float("nan")


def _speed_cause(found: Found) -> str:
    nonzeros = found.passes.corpus["nonzeros_per_example"]
    return PAGE(
        "speed cause",
        per_nonzero=1e9 * _middle(found, LYING, NET, OUR_PASSES) / nonzeros,
        plain=1e9 * _middle(found, LYING, NONE, OUR_PASSES) / nonzeros,
        bare=_middle(found, LYING, NONE, SCIKIT_LEARN) / _middle(found, LYING, NONE, OUR_PASSES),
    )


def _random_cause(found: Found) -> str:
    ours, theirs = (
        _middle(found, RANDOM, NET, name) / _middle(found, LYING, NET, name)
        for name in (OUR_PASSES, SCIKIT_LEARN)
    )
    return PAGE("random cause", random=ours, their_random=theirs)


def _misses(found: Found) -> str:
    """For each set where the bound is missed: by whom, and whether chance alone could do that."""
    judged = found.quality
    return " ".join(_miss(judged, name) for name in judged.found if judged.ratio(name) > NEAR)


def _miss(judged: Quality, name: str) -> str:
    best, least = judged.best(name)
    chosen, ours = judged.chosen(name), judged.losses(name, ours=True)
    own = min(ours, key=ours.__getitem__)
    facts = {"name": name, "ratio": judged.ratio(name), "best": best, "chosen": chosen}
    if own == chosen:
        told = PAGE("quality miss of one", **facts)
    else:
        told = PAGE("quality miss", **facts, own=own, own_ratio=ours[own] / least)
    if (apart := judged.difference(name)) is None:
        return told
    mean, error, rows = apart
    chance = PAGE("by chance", difference=mean, error=error, rows=rows)
    return f"{told} {chance}"


# --- exactness -------------------------------------------------------------------------------


def rules(found: Found) -> str:
    rows = []
    for name, record in found.exactness.items():
        described = DESCRIBED.get(name)
        if described is None or "rules" not in record:
            continue
        for kind, differences in record["rules"].items():
            other, least = nearest(differences)
            apart = differences[described]
            verdict = in_words(apart)
            if apart > 1e-4:
                verdict = f"a different rule ({apart:.2g})"
            same = "" if apart <= 1e-4 else f"{other}: {in_words(least)}"
            rows.append([name, kind, described, verdict, same])
    return table(["", "penalty", "described", "beside it", "the nearest dense rule"], rows)


def pieces(found: Found) -> str:
    return table(
        ["", "chunks", "average", "array"],
        [
            [name, *(in_words(record[what]) for what in ("chunks", "average", "array"))]
            if record["outcome"] == DONE
            else [name, record["why"], "", ""]
            for name, record in found.exactness.items()
        ],
    )


def minimum(found: Found) -> str:
    kinds = (LASSO, RIDGE, NET)
    rows = []
    for name, record in found.exactness.items():
        if excesses := record.get("minimum"):
            cells = [
                f"{max(0.0, excesses[kind]['excess']):.1e}" if kind in excesses else "-"
                for kind in kinds
            ]
            rows.append([name, *cells])
    return table(["", *kinds], rows)


# --- throughput ------------------------------------------------------------------------------


def speed(found: Found, order: str) -> str:
    """Nanoseconds of a later pass, and of the first one, for each penalty; and memory."""
    passes = found.passes
    names = [name for name in ALL if any(name in passes.names(order, kind) for kind in ANY)]
    rows = []
    for name in names:
        cells: list[str] = []
        for kind in ANY:
            later = passes.middle(order, kind, name)
            first = passes.middle(order, kind, name, "first")
            cells.append(
                "-"
                if later is None or first is None
                else f"{significant(1e9 * later)} ({significant(1e9 * first)})"
            )
        peaks = [
            peak for kind in ANY if (peak := passes.middle(order, kind, name, "peak")) is not None
        ]
        rows.append([name, *cells, in_bytes(max(peaks)) if peaks else "-"])
    head = f"{order}: ns of a later pass (of the first)"
    return table([head, *ANY, "memory"], rows)


def unended(found: Found) -> str:
    """The peers whose passes failed or were stopped, and why."""
    lines = [f"{name} ({why})" for name, why in found.passes.failures().items()]
    return PAGE("unended", lines="; ".join(lines)) if lines else ""


def whole(found: Found) -> str:
    names = [name for name in found.passes.whole[0] if name != "lazynet"]
    return table(
        ["", "times as long (range)"],
        [[name, found.passes.whole_ratio(name)] for name in names],
    )


# --- time ------------------------------------------------------------------------------------


def times(found: Found) -> str:
    parts = []
    for problem in found.times.ladders:
        rows = []
        for peer in found.times.peers():
            ladder = found.times.ladders[problem].get(peer)
            if ladder is None:
                continue
            cells = [_arrival(found.times.seconds(problem, peer, level)) for level in LEVELS]
            loss = _arrival(found.times.seconds_to_loss(problem, peer, 1.01))
            said = ladder.failed or (
                "" if ladder.stopped is None else f"stopped at {ladder.stopped:g} s"
            )
            rows.append([peer, *cells, loss, said])
        name, kind = problem
        head = f"{name}, {kind}"
        levels = [f"objective, {level:g}" for level in LEVELS]
        parts.append(table([head, *levels, "test loss within 1 %", ""], rows))
    return paragraphs(parts)


def _arrival(seconds: float | None) -> str:
    return "-" if seconds is None else duration(seconds)


# --- scale -----------------------------------------------------------------------------------


def scales(found: Found, axis: str) -> str:
    sizes = found.scales.sizes(axis)
    rows = []
    for name in found.scales.peers(axis):
        cells = []
        for size in sizes:
            record = found.scales.found[axis][name].get(size)
            if record is None:
                cells.append("")
            elif record["outcome"] == DONE:
                cells.append(f"{duration(record['seconds'])}, {in_bytes(record['peak'] or 0)}")
            else:
                cells.append(record["outcome"])
        rows.append([name, *cells])
    return table([axis, *(f"{size:,}" for size in sizes)], rows)


def failures(found: Found) -> str:
    lines = [
        f"- {axis}, {name}, at {why}"
        for axis in found.scales.found
        for name, why in found.scales.failures(axis).items()
    ]
    return "\n".join(lines) or "Nobody failed."


# --- quality ---------------------------------------------------------------------------------


def quality(found: Found, what: str) -> str:
    """A line for each peer, a column for each set."""
    sets, judged = list(found.quality.found), found.quality
    least = {
        name: min(
            value
            for peer in judged.peers()
            if (value := judged.value(name, peer, what)) is not None
        )
        for name in sets
    }
    rows = []
    for peer in judged.peers():
        cells = []
        for name in sets:
            value = judged.value(name, peer, what)
            if value is None:
                record = judged.found[name].get(peer)
                said = "-" if record is None or record["outcome"] == DONE else record["outcome"]
                cells.append(said)
                continue
            text = f"{value / least[name]:.3f}" if what == "loss" else f"{value:.3f}"
            cells.append(f"**{text}**" if value == least[name] else text)
        # LinearSVC has no probabilities, and no loss.
        if what == "error" or any(cell != "-" for cell in cells):
            rows.append([f"{peer} ({ALL[peer].tuned})", *cells])
    if what == "loss":
        rows.append(
            ["*the least*", *(f"{least[name]:.4f}" for name in sets)],
        )
        rows.append(["*lazynet by validation*", *(judged.chosen(name) for name in sets)])
        rows.append(["*its ratio*", *(f"{judged.ratio(name):.3f}" for name in sets)])
        rows.append(["*others by validation*", *(judged.chosen(name, ours=False) for name in sets)])
        others = (judged.value(name, judged.chosen(name, ours=False), "loss") for name in sets)
        ratios = (
            value / judged.best(name)[1] for name, value in zip(sets, others, strict=True) if value
        )
        rows.append(["*its ratio*", *(f"{ratio:.3f}" for ratio in ratios)])
        rows.append(["*difference*", *(_difference(judged, name) for name in sets)])
    return table(["", *sets], rows)


def _difference(judged: Quality, name: str) -> str:
    if (apart := judged.difference(name)) is None:
        return ""
    mean, error, _ = apart
    return f"{mean:+.4f} ({error:.4f})"
