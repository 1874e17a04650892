"""The page of the study ``optimum``: bounds, then every set of rows and every problem."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from paper_repro.ladders import Run
from paper_repro.minima import LOGISTIC
from paper_repro.pages import Template, paragraphs, table
from paper_repro.score import duration, in_bytes, significant
from paper_repro.solvers import OURS, own
from paper_repro.solvers.scikit_learn import LIBLINEAR, SAGA
from paper_repro.studies.optimum import (
    CORPUS,
    FULL_LIMITS,
    LEVELS,
    MOST_ROWS,
    PATIENCE,
    POINTS,
    QUICK_LIMITS,
    SHARES,
    SHOWN_MULTIPLES,
    SHOWN_SHARE,
    SMALLEST,
    WEAK,
    Question,
    asked_of,
    multiplied,
    shown,
)
from paper_repro.studies.optimum_bounds import (
    COLUMNS,
    LINES,
    MOST_EXCESS,
    Race,
    on_corpus,
    summed_up,
)

PAGE = Template.beside(__file__)


def page(document: Mapping[str, Any]) -> str:
    race = Race(document)
    return PAGE(
        "page",
        finding=finding(document),
        setting=setting(race),
        bounds=bounds(race),
        causes=causes(race),
        parts=parts(race),
        skipped=skipped(race),
        sets=PAGE("sets"),
        overview=overview(race),
        shown=shown_programs(race),
        large=large(race),
        paths=paths(race),
        details=PAGE("details"),
        details_tables=paragraphs(details(race)),
    )


def finding(document: Mapping[str, Any]) -> str:
    """Who is near the minimum of the figure's elastic net, and when."""
    race = Race(document)
    asked, level = shown(SHOWN_MULTIPLES[-1]), LEVELS[0]
    against = next(line for line in LINES if line.label.startswith("skglm")).measured(race)
    if asked not in race.races or against is None:
        return ""
    found = race.setting["sets"][CORPUS]
    ladder = race.ladder(asked, SAGA)
    if ladder is None:
        saga = ""
    elif (seconds := race.seconds(asked, SAGA, level)) is not None:
        saga = PAGE("finding, saga arrived", seconds=duration(seconds))
    else:
        saga = PAGE("finding, saga stopped", seconds=duration(ladder.stopped or 0.0))
    return PAGE(
        "finding",
        rows=found["rows"],
        features=found["features"],
        level=level,
        ours=_time(race, asked, (OURS.name,), level),
        skglm=_time(race, asked, COLUMNS["skglm"], level),
        saga=saga,
        count=against.count,
        mean=against.value,
        least=against.least,
        most=against.most,
    )


def setting(race: Race) -> str:
    limits = FULL_LIMITS if race.settings["full"] else QUICK_LIMITS
    left = {asked: race.left(asked) for asked in race.races}
    missing = race.setting["missing"]
    return PAGE(
        "setting",
        versions=", ".join(f"{name} {found}" for name, found in race.setting["versions"].items()),
        left=max(share for asked, share in left.items() if asked.loss == LOGISTIC),
        left_any=max(left.values()),
        rounds=race.repeats,
        patience=PATIENCE,
        least=limits.least,
        most=limits.most,
        missing=PAGE("missing", packages="; ".join(missing)) if missing else "",
        form="" if race.settings["full"] else PAGE("short form", rows=MOST_ROWS),
    )


def bounds(race: Race) -> str:
    rows = []
    for line in LINES:
        found = line.measured(race)
        if found is None:
            rows.append([line.label, "not measured", line.expected, ""])
        else:
            verdict = line.verdict(race)
            rows.append([line.label, f"{line.summary} {found}", line.expected, verdict])
    return table(["", "measured (range; problems)", "expected", ""], rows)


def causes(race: Race) -> str:
    """Why the bounds that are missed are missed, in measured numbers."""
    found = race.records.get("pieces")
    strong = Question(CORPUS, LOGISTIC, SHARES[1], multiplied(SHARES[1], 0.1))
    weak = Question(CORPUS, LOGISTIC, WEAK, WEAK, weak=True)
    if found is None or not {strong, weak, shown(0.0)} <= race.races.keys():
        return ""
    skglm = _worst(race, COLUMNS["skglm"], lambda asked: asked.mixed and not on_corpus(asked))
    liblinear = _worst(race, (LIBLINEAR,), lambda asked: asked.lasso and on_corpus(asked))
    excesses = race.excesses()
    far = {asked: excess for asked, excess in excesses.items() if excess > MOST_EXCESS}
    path = race.records[f"path/{CORPUS}"]
    return PAGE(
        "causes",
        skglm_worst=_told(skglm),
        skglm_theirs=_time(race, skglm, COLUMNS["skglm"], LEVELS[0]),
        skglm_ours=_time(race, skglm, (OURS.name,), LEVELS[0]),
        liblinear_worst=_told(liblinear),
        liblinear_theirs=_time(race, liblinear, (LIBLINEAR,), LEVELS[0]),
        liblinear_ours=_time(race, liblinear, (OURS.name,), LEVELS[0]),
        liblinear_nonzeros=race.races[liblinear]["nonzeros"],
        allowed=MOST_EXCESS,
        n_far=len(far),
        n_nonzeros=len(excesses),
        point=duration(median(path["path"]) / POINTS),
        fit=duration(median(path["fit"])),
        **_saga(race),
        **{name.replace(" ", "_"): median(seconds) for name, seconds in found.items()},
        share=SHARES[1],
        theirs=_time(race, strong, COLUMNS["skglm"], LEVELS[0]),
        most=_least_seconds(race, strong, COLUMNS["skglm"], LEVELS[0])
        / median(found["fit of nothing"]),
        ours=_time(race, strong, (OURS.name,), LEVELS[0]),
        lasso_share=SHOWN_SHARE,
        lasso_ours=_time(race, shown(0.0), (OURS.name,), LEVELS[0]),
        lasso_theirs=_time(race, shown(0.0), (LIBLINEAR,), LEVELS[0]),
        lasso_gap=_gap_at_level(race, shown(0.0)),
        points=POINTS,
        nothing=POINTS * median(found["fit of nothing"]),
        path=duration(median(race.records[f"path/{CORPUS}"]["path"])),
        most_nonzeros=_farthest(race),
        far_by_loss=_by_loss(far),
        weak=WEAK,
        weak_nonzeros=race.races[weak]["nonzeros"],
        weak_theirs=" and ".join(_time(race, weak, COLUMNS["skglm"], level) for level in LEVELS),
        weak_ours=" and ".join(_time(race, weak, (OURS.name,), level) for level in LEVELS),
    )


def _worst(race: Race, names: Sequence[str], which: Callable[[Question], bool]) -> Question:
    """The problem of the logistic loss where the quickest of several programs is farthest ahead."""
    ratios = {
        asked: ratio.value
        for asked in race.races
        if asked.loss == LOGISTIC and not asked.weak and which(asked)
        if (ratio := race.ratio(asked, names, LEVELS[0])) is not None
    }
    return min(ratios, key=ratios.__getitem__)


def _saga(race: Race) -> dict[str, str]:
    """Where scikit-learn's saga arrived on the corpus, and after which time it was stopped."""
    ratios = {
        asked: ratio
        for asked in race.of(CORPUS, LOGISTIC)
        if asked.mixed and (ratio := race.ratio(asked, (SAGA,), LEVELS[0])) is not None
    }
    ended = [ratio.value for ratio in ratios.values() if not ratio.bound]
    stopped = [
        ladder.stopped
        for asked, ratio in ratios.items()
        if ratio.bound and ratio.value < PATIENCE
        if (ladder := race.ladder(asked, SAGA)) and ladder.stopped
    ]
    words = PAGE("saga stopped", stopped=max(stopped), patience=PATIENCE) if stopped else ""
    return {"saga": significant(min(ended)) if ended else "more", "saga_stopped": words}


def _told(asked: Question) -> str:
    """The set and the strengths of a problem, in words."""
    return f"{asked.rows}, l1 = {asked.l1:g} of l1 max, l2 = {asked.l2 / asked.l1:.3g} l1"


def _gap_at_level(race: Race, asked: Question) -> float:
    """What our run at the first level leaves above the least objective."""
    run = race.at_level(asked)
    return max(0.0, race.gap(asked, run.objective)) if run else math.nan


def _farthest(race: Race) -> str:
    """The problem where our nonzeros at the first level are farthest from the optimum's."""
    excesses = race.excesses()
    asked = max(excesses, key=excesses.__getitem__)
    run = race.at_level(asked)
    counts = f"{run.nonzeros:,} against {race.races[asked]['nonzeros']:,}" if run else ""
    return (
        f"{asked.rows}, {asked.loss}, l1 = {asked.l1:g} of l1 max, "
        f"l2 = {asked.l2 / asked.l1:.3g} l1: {excesses[asked]:.1%}, {counts}"
    )


def _by_loss(problems: Iterable[Question]) -> str:
    """How many of the problems have which loss."""
    counted = Counter(asked.loss for asked in problems).most_common()
    return ", ".join(f"{count} with {loss}" for loss, count in counted) or "none"


def skipped(race: Race) -> str:
    """Which problems the run was stopped before."""
    found = []
    for name in race.setting["sets"]:
        asked = [Question(name, *each) for each in asked_of(name, race.settings["full"])]
        if left := [each for each in asked if each not in race.races]:
            told = ", ".join(f"{each.loss} {each.l1:g}/{each.l2:g}" for each in left)
            found.append(f"- {name}, {len(left)} of {len(asked)}: {told}")
    return PAGE("skipped", problems="\n".join(found)) if found else ""


def parts(race: Race) -> str:
    """By which code the pieces of the run were measured, if it was joined from several runs."""
    found = race.records.get("parts")
    if found is None:
        return ""
    told = "; ".join(f"{commit[:10]} for {what}" for commit, what in found.items())
    return PAGE("parts", parts=told)


def overview(race: Race) -> str:
    """A row for each set: its size, and how many times longer the other programs take."""
    kinds: list[tuple[str, str, Callable[[Question], bool]]] = [
        ("liblinear", "l1", lambda asked: asked.lasso),
        ("skglm", "l1", lambda asked: asked.lasso),
        ("celer", "l1", lambda asked: asked.lasso),
        ("skglm", "elastic net", lambda asked: asked.mixed),
        ("scikit-learn saga", "elastic net", lambda asked: asked.mixed),
    ]
    rows = []
    for name, found in race.setting["sets"].items():
        cells = [name, f"{found['rows']:,} x {found['features']:,}"]
        cells.append(significant(found["nonzeros per row"]))
        for program, _, which in kinds:
            ratios = [
                ratio
                for asked in race.of(name, LOGISTIC)
                if which(asked)
                and (ratio := race.ratio(asked, COLUMNS[program], LEVELS[0])) is not None
            ]
            cells.append(str(summed_up("geometric mean", ratios)) if ratios else "")
        rows.append(cells)
    header = ["", "rows x features", "nonzeros per row"]
    return table(header + [f"{program}, {kind}" for program, kind, _ in kinds], rows)


def shown_programs(race: Race) -> str:
    """The most exact run of every program on the problems of the figure."""
    found = race.setting["sets"][CORPUS]
    words = PAGE(
        "shown",
        rows=found["rows"],
        features=found["features"],
        share=SHOWN_SHARE,
        multiple=SHOWN_MULTIPLES[-1],
        rates=len(own.RATES),
        rejected=len(own.REJECTION_RATES),
        passes=max(own.PASSES),
    )
    tables = []
    for multiple in SHOWN_MULTIPLES:
        asked = shown(multiple)
        rows = []
        for name, ladder in race.shown_ladders(multiple).items():
            if ladder.runs:
                run = min(ladder.runs, key=lambda run: run.objective)
                gap = race.gap(asked, run.objective)
                rows.append(
                    [
                        name,
                        duration(run.seconds),
                        f"{gap:.1e}" if gap > 0 else "least",
                        f"{run.nonzeros:,}",
                        f"{run.test_loss:.4f}",
                    ]
                )
        header = [f"l2 = {multiple:g} l1", "time", "gap / objective at 0", "nonzeros", "test loss"]
        tables.append(table(header, rows))
    return paragraphs([words, *tables])


def large(race: Race) -> str:
    found = race.records["large"]
    return PAGE(
        "large",
        share=SHOWN_SHARE,
        multiple=SHOWN_MULTIPLES[-1],
        size=in_bytes(found["bytes"]),
        peak=in_bytes(found["peak"]),
        before=in_bytes(found["before"]),
        **{name: found[name] for name in ("rows", "seconds", "epochs", "gap", "nonzeros")},
    )


def paths(race: Race) -> str:
    found = race.paths()
    if not found:
        reasons = {record["skipped"] for _, record in race.group("path")}
        return PAGE("no paths", reason="; ".join(sorted(reasons)))
    ratios = ", ".join(f"{name} {significant(ratio)}" for name, ratio in found.items())
    return PAGE("paths", points=POINTS, smallest=SMALLEST, ratios=ratios)


def details(race: Race) -> Iterator[str]:
    for name, found in race.setting["sets"].items():
        yield f"### {name}"
        yield f"{found['origin']}; {found['rows']:,} rows to learn from."
        for loss in dict.fromkeys(asked.loss for asked in race.races):
            yield _times(race, race.of(name, loss), loss)
        weak = [asked for asked in race.races if asked.weak and asked.rows == name]
        if weak:
            yield PAGE("weak", strength=WEAK)
            yield _times(race, weak, LOGISTIC)


def _times(race: Race, questions: Sequence[Question], loss: str) -> str:
    if not questions:
        return ""
    columns = {
        label: names
        for label, names in {"lazynet": (OURS.name,), **COLUMNS}.items()
        if any(race.ladder(asked, name) for asked in questions for name in names)
    }
    rows = []
    for asked in questions:
        l2 = f"{asked.l2 / asked.l1:.3g}" if asked.l1 else f"{asked.l2:g} of l1 max"
        at_level = race.at_level(asked)
        best = _best(race, asked)
        test = f"{best.test_loss:.4f} / {race.races[asked]['test loss at zero']:.4f}"
        nonzeros = f"{at_level.nonzeros if at_level else 0:,} / {race.races[asked]['nonzeros']:,}"
        times = [
            " / ".join(_time(race, asked, names, level) for level in LEVELS)
            if any(race.ladder(asked, name) for name in names)
            else ""
            for names in columns.values()
        ]
        rows.append([f"{asked.l1:g}", l2, nonzeros, test, *times])
    return table([f"{loss}: l1", "l2", "nonzeros", "test loss", *columns], rows)


def _best(race: Race, asked: Question) -> Run:
    """Our run with the least objective."""
    ladder = race.ladder(asked, OURS.name)
    assert ladder is not None
    return min(ladder.runs, key=lambda run: run.objective)


def _least_seconds(race: Race, asked: Question, names: Sequence[str], level: float) -> float:
    arrived = [taken for name in names if (taken := race.seconds(asked, name, level))]
    return min(arrived, default=math.inf)


def _time(race: Race, asked: Question, names: Sequence[str], level: float) -> str:
    """The least time of several programs, or after which time they were stopped."""
    least = _least_seconds(race, asked, names, level)
    if least < math.inf:
        return duration(least)
    ladders = [ladder for name in names if (ladder := race.ladder(asked, name))]
    stopped = [ladder.stopped for ladder in ladders if ladder.stopped]
    return f"> {duration(max(stopped))}" if stopped else "-"
