"""Study ``stability``: fewer features, and the same ones again?

Ma & Zheng's comparison, rerun.  Plain SGD, truncated gradient, FoBoS, RDA and stabilised truncated
SGD are tuned by one protocol and then trained under many random orders of the rows, with hinge and
logistic loss.  The study measures

1. test error, nonzeros, and Cohen's kappa of the features that two runs choose;
2. the number of nonzeros over the last updates of a run (the paper's Figure 1);
3. the time of a step of a burst against the number of features.

Stabilised truncated SGD is the algorithm that ``lazynet.reference.stabilised`` reconstructs from
the text of the paper.  The program that the authors released is another algorithm, and no study
runs it.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache, partial
from itertools import product
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from lazynet import InverseSqrt, StabilisedSGDClassifier
from lazynet.data import as_examples, columns_with_values
from lazynet.engines.stabilised import Data, Permutations, StabilisedEngine, Stages, Workers
from lazynet.losses import get_loss
from paper_repro import figures, machine
from paper_repro.measure import in_turns
from paper_repro.pages import Template, paragraphs, table
from paper_repro.planted import Rows, rows_of
from paper_repro.runs import learner, plan, seconds_per_step
from paper_repro.score import Spread, duration, ratios, significant
from paper_repro.studies.tuning import (
    FOBOS,
    INFORMATIVE,
    METHODS,
    ORDERS,
    PASSES,
    PATH_PASSES,
    PATHS,
    PERIOD,
    RDA,
    RIVALS,
    SETTINGS,
    SGD,
    STABILISED,
    TRUNCATED,
    TUNED,
    UNIVERSAL,
    VALIDATION_SHARE,
    quietly,
    shown,
    tune,
)
from paper_repro.study import Cell, Measured, Record, Records, Settings, Study
from paper_repro.uniform import uniform_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = Template.beside(__file__)
LOSSES = {"hinge": "hinge", "log_loss": "logistic"}
#: Random orders under which the chosen settings are trained; updates at the end that are counted.
RUNS, UPDATES = 50, 1000
#: The share of the runs that must choose a feature for the feature to count as chosen again.
AGAIN = 0.9
#: For each share, the study records how many features this share of the runs or more chooses.
SHARES = tuple(k / 20 for k in range(1, 21))
#: Bursts are timed on rows with so many features, which stand side by side or spread among more.
OCCURRING, TIMED_ROWS, BYTES_PER_FEATURE = 10_000, 5_000, 60
WIDTHS = (10_000, 100_000, 1_000_000, 10_000_000)
BURST, SPREAD, CLOCK = "burst", "burst, spread", "clock, spread"


class Stability(Study):
    """How many features each method chooses, and how often it chooses the same ones."""

    name = "stability"
    title = "Sparse and stable: which features are chosen, and whether they are chosen again"
    takes_test = True

    def cells(self, settings: Settings) -> Sequence[Cell]:
        pairs = list(product(LOSSES, METHODS))
        return [
            Cell("rows", partial(describe, settings)),
            *(
                Cell(f"tuning/{loss}/{name}", partial(tuned, settings, loss, name), 2.0)
                for loss, name in pairs
            ),
            *(
                Cell(f"runs/{loss}/{name}", partial(runs, settings, loss, name), 2.0)
                for loss, name in pairs
            ),
            *(
                Cell(f"updates/{loss}/{name}", partial(updates, settings, loss, name))
                for loss in LOSSES
                for name in TUNED
            ),
            # The rows of this cell do not depend on the data: one measurement is enough.
            *([Cell("widths", partial(widths, settings), 2.0)] if settings.data is None else []),
        ]

    def page(self, document: Mapping[str, Any]) -> str:
        return page(Selections(document))

    def draw(self, document: Mapping[str, Any]) -> Figure:
        return draw(Selections(document))


# --- measuring -------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def problem(settings: Settings) -> Rows:
    return rows_of(settings)


def describe(settings: Settings, _: Records) -> Record:
    rows = problem(settings)
    found: Record = {
        "origin": rows.origin,
        "train": len(rows.y),
        "test": len(rows.y_test),
        "features": rows.X.shape[1],
        "occurring": len(np.unique(rows.X.indices)),
        "nonzeros": rows.X.nnz / len(rows.y),
        "smaller class": float(min((rows.y_test > 0).mean(), (rows.y_test <= 0).mean())),
    }
    if rows.mattering is not None:
        found["mattering"] = len(rows.mattering)
    return found


def tuned(settings: Settings, loss: str, name: str, _: Records) -> Record:
    """All trials of a method, and the chosen one."""
    rows = problem(settings)
    trials, chosen, spread = tune(name, loss, rows.X, rows.y, settings.seed)
    return {
        "chosen": chosen,
        "standard error": spread,
        "trials": [
            {"parameters": t.parameters, "error": t.error, "nonzeros": t.nonzeros} for t in trials
        ],
    }


def chosen_parameters(records: Records, loss: str, name: str) -> dict[str, Any]:
    """The parameters that the cell ``tuning/LOSS/NAME`` has chosen."""
    record = records[f"tuning/{loss}/{name}"]
    return dict(record["trials"][record["chosen"]]["parameters"])


def runs(settings: Settings, loss: str, name: str, records: Records) -> Record:
    """The chosen settings, trained on all training rows under ``RUNS`` orders."""
    rows = problem(settings)
    model = METHODS[name].make(loss, chosen_parameters(records, loss, name))
    report = quietly(
        model, rows.X, rows.y, rows.X_test, rows.y_test, n_runs=RUNS, seed=settings.seed + 1
    )
    found: Record = {
        "errors": report.errors.tolist(),
        "nonzeros": report.nonzeros.tolist(),
        "kappa": float(report.kappas.mean()),
        "kappa deviation": float(report.kappas.std(ddof=1)) if len(report.kappas) > 1 else 0.0,
        "chosen in": [int((report.frequency >= share - 1e-9).sum()) for share in SHARES],
    }
    if rows.mattering is not None:
        mostly = report.frequency >= 0.5
        found["mattering chosen"] = int(mostly[rows.mattering].sum())
        found["others chosen"] = int(mostly.sum()) - found["mattering chosen"]
    return found


def updates(settings: Settings, loss: str, name: str, records: Records) -> Record:
    """Nonzeros after each of the last updates of one run; of stabilised SGD, of its first path."""
    rows = problem(settings)
    model = METHODS[name].make(loss, chosen_parameters(records, loss, name))
    if name in STABILISED:
        return {"nonzeros": updates_of_a_path(model, rows)}
    generator = np.random.default_rng(settings.seed)
    order = np.concatenate([generator.permutation(len(rows.y)) for _ in range(PASSES)])
    last = min(UPDATES, len(order) - 1)
    model.partial_fit(rows.X, rows.y, np.unique(rows.y), sample_order=order[:-last])
    nonzeros = []
    for row in order[-last:]:
        model.partial_fit(rows.X[[row]], rows.y[[row]])
        nonzeros.append(int(np.count_nonzero(model.last_coef_)))
    return {"nonzeros": nonzeros}


def updates_of_a_path(model: StabilisedSGDClassifier, rows: Rows) -> list[int]:
    """Nonzeros of the first path after each of the last updates of ``model.fit``."""
    counts: deque[int] = deque(maxlen=UPDATES)
    # The seeds of the paths that ``fit`` draws with random_state=0.
    seeds = np.random.SeedSequence(int(check_random_state(0).randint(2**31))).spawn(model.n_paths)
    engine = stages(model, rows.X, rows.y, seeds)
    n_steps = model.max_iter * len(rows.y)
    with Workers(1) as workers:
        while engine.t < n_steps and engine.n_stable:
            engine.take_stage(
                workers,
                lambda: counts.append(int(np.count_nonzero(engine.paths[0].weights()))),
                n_steps - engine.t,
            )
    return list(counts)


def widths(settings: Settings, _: Records) -> Record:
    """Seconds per step on the same rows, with their features among more and more others."""
    generator = np.random.default_rng(settings.seed)
    nonzeros = min(settings.nonzeros, OCCURRING)
    narrow = uniform_rows(generator, min(TIMED_ROWS, settings.examples), OCCURRING, nonzeros)
    y = np.where(generator.random(narrow.shape[0]) < 0.5, -1.0, 1.0)
    competitors, skipped = {}, {}
    for width in WIDTHS:
        shortage = machine.memory_shortage(BYTES_PER_FEATURE * width)
        if shortage is not None:
            skipped[str(width)] = shortage
            continue
        beside = sparse.csr_matrix(
            (narrow.data, narrow.indices, narrow.indptr), shape=(len(y), width)
        )
        competitors[f"{BURST}/{width}"] = stage_on(beside, y)
        places = np.sort(generator.choice(width, OCCURRING, replace=False, shuffle=False))
        columns = places[narrow.indices].astype(narrow.indices.dtype)
        X = sparse.csr_matrix((narrow.data, columns, narrow.indptr), shape=(len(y), width))
        competitors[f"{SPREAD}/{width}"] = stage_on(X, y)
        competitors[f"{CLOCK}/{width}"] = pass_over(X, y)
    return {"seconds": in_turns(competitors, settings.repeats), "skipped": skipped}


def stage_on(X: sparse.csr_matrix, y: NDArray[np.float64]) -> Callable[[], float]:
    """Seconds per step of one path that purges nothing; a call runs one stage."""
    model = StabilisedSGDClassifier("log_loss", eta0=1.0, stability=0.0, fit_intercept=False)
    engine = stages(model, X, y, [0])

    def stage() -> float:
        before = engine.t
        began = time.perf_counter()
        with Workers(1) as workers:
            engine.take_stage(workers)
        return (time.perf_counter() - began) / (engine.t - before)

    return stage


def pass_over(X: sparse.csr_matrix, y: NDArray[np.float64]) -> Callable[[], float]:
    """Seconds per step of the clock on the same rows; a call visits each row once."""
    clock = learner(X, y, plan(l1=1e-6, l2=0.0, eta0=1.0, fit_intercept=False))
    rows = Permutations(len(y), np.random.default_rng(0))
    return lambda: seconds_per_step(clock, rows.take(len(y)))


def stages(
    model: StabilisedSGDClassifier,
    X: sparse.csr_matrix,
    y: NDArray[np.float64],
    seeds: Sequence[Any],
) -> StabilisedEngine:
    """The engine that ``model.fit`` runs on labels -1 and 1; one path for each seed."""
    chosen = model.get_params()
    bursts = {field.name: chosen[field.name] for field in fields(Stages) if field.name in chosen}
    occurs = np.zeros(X.shape[1], dtype=bool)
    occurs[columns_with_values(X)] = True
    return StabilisedEngine(
        Data(as_examples(X, y), get_loss(model.loss), model.fit_intercept),
        Stages(**bursts, universal=model.gravity == "universal"),
        InverseSqrt(chosen["eta0"]),
        [Permutations(len(y), np.random.default_rng(seed)) for seed in seeds],
        occurs,
    )


# --- reading what was measured ---------------------------------------------------------------


class Outcome:
    """The runs of one method with one loss."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.errors = np.array(record["errors"])
        self.nonzeros = np.array(record["nonzeros"])
        self.kappa: float = record["kappa"]

    @property
    def error(self) -> float:
        return float(self.errors.mean())

    @property
    def sparsity(self) -> float:
        return float(self.nonzeros.mean())

    @property
    def again(self) -> int:
        """Features that nearly all runs choose."""
        return int(self.record["chosen in"][SHARES.index(AGAIN)])

    def standard_error(self) -> float:
        return deviation(self.errors) / math.sqrt(len(self.errors))

    def no_worse_than(self, other: Outcome) -> bool:
        """Error not above the other's by more than two standard errors of their difference."""
        spread = math.hypot(self.standard_error(), other.standard_error())
        return self.error <= other.error + 2.0 * spread + 1e-12


class Selections(Measured):
    """Outcomes by loss and method, and the times of a step by number of features."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.rows = self.records["rows"]
        self.planted = "mattering" in self.rows
        timed = self.records.get("widths", {"seconds": {}, "skipped": {}})
        self.seconds: dict[str, list[float]] = timed["seconds"]
        self.skipped: dict[str, str] = timed["skipped"]
        self.widths = sorted({int(name.split("/")[1]) for name in self.seconds})

    def outcome(self, loss: str, name: str) -> Outcome:
        return Outcome(self.records[f"runs/{loss}/{name}"])

    def updates(self, loss: str, name: str) -> list[int]:
        return list(self.records[f"updates/{loss}/{name}"]["nonzeros"])

    def tuning(self, loss: str, name: str) -> Record:
        return dict(self.records[f"tuning/{loss}/{name}"])

    def growth(self, what: str, width: int) -> Spread:
        """How many times longer a step takes than with the fewest features."""
        return ratios(self.seconds[f"{what}/{width}"], self.seconds[f"{what}/{self.widths[0]}"])


def deviation(values: NDArray[Any]) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


# --- the verdict -----------------------------------------------------------------------------


def verdict(stabilised: Outcome, rival: Outcome) -> dict[str, bool]:
    """The three parts of the paper's claim."""
    return {
        "fewer nonzeros": stabilised.sparsity < rival.sparsity,
        "higher kappa": stabilised.kappa > rival.kappa,
        "no worse error": stabilised.no_worse_than(rival),
    }


def verdict_on(found: Selections, name: str) -> str:
    """How often the whole claim holds for a method, and against which rivals a part fails."""
    held, failing = 0, defaultdict(list)
    for loss, rival in product(LOSSES, RIVALS):
        parts = verdict(found.outcome(loss, name), found.outcome(loss, rival))
        held += all(parts.values())
        for part, holds in parts.items():
            if not holds:
                failing[part].append(f"{rival} ({LOSSES[loss]})")
    return PAGE(
        "claim",
        name=name,
        held=held,
        total=len(LOSSES) * len(RIVALS),
        failing="".join(
            " " + PAGE("failing", part=part, rivals=", ".join(rivals))
            for part, rivals in failing.items()
        ),
    )


def nothing_chosen(found: Selections) -> str:
    """The methods that choose no feature in any run, if there are any."""
    empty = [
        f"{name} ({LOSSES[loss]})"
        for loss, name in product(LOSSES, METHODS)
        if not found.outcome(loss, name).nonzeros.any()
    ]
    return PAGE("nothing chosen", methods=", ".join(empty)) if empty else ""


# --- the page --------------------------------------------------------------------------------


def page(found: Selections) -> str:
    rows = found.rows
    verdicts = [*(verdict_on(found, name) for name in STABILISED), nothing_chosen(found)]
    return PAGE(
        "page",
        train=rows["train"],
        test=rows["test"],
        origin=rows["origin"],
        occurring=rows["occurring"],
        nonzeros=rows["nonzeros"],
        smaller_class=rows["smaller class"],
        runs=RUNS,
        validation=VALIDATION_SHARE,
        settings=SETTINGS,
        orders=ORDERS,
        passes=PASSES,
        paths=PATHS,
        path_passes=PATH_PASSES,
        period=PERIOD,
        ranges="\n".join(f"- {name}: {METHODS[name].ranges}." for name in TUNED),
        losses=paragraphs(
            PAGE(
                "loss",
                loss=title.capitalize(),
                outcomes=outcome_table(found, loss),
                claims=claim_table(found, loss),
            )
            for loss, title in LOSSES.items()
        ),
        verdicts="\n".join(line for line in verdicts if line),
        updates=UPDATES,
        updates_table=updates_table(found),
        tuning_table=tuning_table(found),
        bursts=bursts(found) if found.widths else "",
    )


def bursts(found: Selections) -> str:
    """The section on the cost of a burst, of runs that have measured it."""
    fewest, most = found.widths[0], found.widths[-1]
    return PAGE(
        "bursts",
        nonzeros=found.settings["nonzeros"],
        occurring=OCCURRING,
        fewest=fewest,
        most=most,
        burst=found.growth(BURST, most),
        spread=found.growth(SPREAD, most),
        clock=found.growth(CLOCK, most),
        costs=cost_table(found),
        left_out=paragraphs(
            PAGE("left out", size=int(size), why=why) for size, why in found.skipped.items()
        ),
    )


def outcome_table(found: Selections, loss: str) -> str:
    """Error, nonzeros and kappa of every method."""
    header = ["", "test error", "nonzeros", "kappa", f"chosen by {AGAIN:.0%} of the runs"]
    if found.planted:
        header.append("chosen by most runs: of those that matter, others")
    rows = []
    for name in METHODS:
        outcome = found.outcome(loss, name)
        record = outcome.record
        cells = [
            name,
            f"{outcome.error:.2%} ({deviation(outcome.errors):.2%})",
            f"{significant(outcome.sparsity)} ({significant(deviation(outcome.nonzeros))})",
            f"{outcome.kappa:.3f} ({record['kappa deviation']:.3f})",
            f"{outcome.again:,}",
        ]
        if found.planted:
            mattering, others = record["mattering chosen"], record["others chosen"]
            cells.append(f"{mattering} of {found.rows['mattering']}, {others:,}")
        rows.append(cells)
    return table(header, rows)


def claim_table(found: Selections, loss: str) -> str:
    """The three parts of the claim against every rival."""
    rows = []
    for name, rival in product(STABILISED, RIVALS):
        parts = verdict(found.outcome(loss, name), found.outcome(loss, rival))
        rows.append([name, rival, *("yes" if holds else "**no**" for holds in parts.values())])
    return table(["", "against", *parts], rows)


def updates_table(found: Selections) -> str:
    """Least and most nonzeros over the last updates, and how often their number changes."""

    def cell(counts: list[int]) -> str:
        if len(counts) < 2:
            return "nothing left"
        changed = float(np.mean(np.diff(counts) != 0))
        return f"{min(counts):,} - {max(counts):,}, {changed:.0%}"

    return table(
        ["", *LOSSES.values()],
        [[name, *(cell(found.updates(loss, name)) for loss in LOSSES)] for name in TUNED],
    )


def tuning_table(found: Selections) -> str:
    """The chosen setting of every method, its error and the least error of all settings."""
    rows = []
    for loss, name in product(LOSSES, METHODS):
        record = found.tuning(loss, name)
        trial = record["trials"][record["chosen"]]
        least = min(other["error"] for other in record["trials"])
        settings = shown(trial["parameters"]) or "not tuned"
        rows.append([LOSSES[loss], name, f"{trial['error']:.2%}, {least:.2%}", settings])
    return table(["loss", "", "validation error: chosen, least of all", "settings chosen"], rows)


def cost_table(found: Selections) -> str:
    """The time of a step with every number of features."""
    kinds = (BURST, SPREAD, CLOCK)
    rows = []
    for width in found.widths:
        cells = [f"{width:,}"]
        for what in kinds:
            seconds = found.seconds[f"{what}/{width}"]
            cells += [duration(median(seconds)), str(found.growth(what, width))]
        rows.append(cells)
    header = [title for what in kinds for title in (f"a step: {what}", "times the first")]
    return table(["features", *header], rows)


# --- the figure ------------------------------------------------------------------------------

#: The stabilised forms in blue, the others in brown and grey; told apart by line and marker too.
LOOKS: dict[str, dict[str, Any]] = {
    SGD: dict(color="0.45", marker="x", linestyle=":"),
    TRUNCATED: dict(color="#c0803f", marker="v", linestyle="--"),
    FOBOS: dict(color="#a8481a", marker="^", linestyle="-."),
    RDA: dict(color="black", marker="D", linestyle=(0, (1, 1))),
    INFORMATIVE: dict(color="#3f7fb5", marker="s", linestyle="-"),
    UNIVERSAL: dict(color="#0b3c6f", marker="o", linestyle="-"),
}


def draw(found: Selections) -> Figure:
    """Error against nonzeros, how often features are chosen, nonzeros over the last updates."""
    figure, axes = figures.new(columns=3, rows=2, width=11.5, height=6.6)
    for row, loss in zip(axes, LOSSES, strict=True):
        _draw_errors(row[0], found, loss)
        _draw_frequencies(row[1], found, loss)
        _draw_updates(row[2], found, loss)
        row[0].set_ylabel(f"{LOSSES[loss]} loss: test error")
    axes[0, 0].set_title("Error and sparsity: left and low is good")
    axes[0, 1].set_title(f"Features that a share of the {RUNS} runs choose")
    axes[0, 2].set_title(f"Nonzeros over the last {UPDATES:,} updates")
    for column, label in enumerate(("nonzeros", "share of the runs, at least", "update")):
        axes[1, column].set_xlabel(label)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    return figure  # type: ignore[no-any-return]


def _draw_errors(ax: Axes, found: Selections, loss: str) -> None:
    for name in TUNED:
        outcome = found.outcome(loss, name)
        ax.errorbar(
            max(outcome.sparsity, 0.5),
            outcome.error,
            xerr=deviation(outcome.nonzeros),
            yerr=deviation(outcome.errors),
            **{**LOOKS[name], "linestyle": "none"},
            elinewidth=0.8,
            label=name,
        )
    ax.set_xscale("log")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.1%}")


def _draw_frequencies(ax: Axes, found: Selections, loss: str) -> None:
    for name in TUNED:
        chosen = found.outcome(loss, name).record["chosen in"]
        ax.plot(SHARES, [max(count, 0.5) for count in chosen], **{**LOOKS[name], "markevery": 4})
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")


def _draw_updates(ax: Axes, found: Selections, loss: str) -> None:
    for name in TUNED:
        counts = found.updates(loss, name)
        if counts:
            ax.plot(
                np.arange(-len(counts), 0),
                [max(count, 0.5) for count in counts],
                **{**LOOKS[name], "marker": None, "linewidth": 1.0},
            )
    ax.set_yscale("log")
