"""Study ``stability``: fewer features, and the same ones again?

Ma & Zheng's comparison, rerun: plain SGD, truncated gradient, FoBoS, RDA and stabilised truncated
SGD, with hinge and logistic loss, each under many random orders of the rows: test error, nonzeros,
and Cohen's kappa of the features that were chosen.  Everybody is tuned by the same protocol.  And
the number of nonzeros over the last updates of a run (their Figure 1), and what a burst costs as
features grow.

Stabilised truncated SGD is here what ``lazynet.reference.stabilised`` reconstructs from the text of
the paper.  The program that its authors released is another algorithm, and nothing here runs it.
"""

from __future__ import annotations

import math
import time
from collections import deque
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
from lazynet.losses import get_loss
from lazynet.stages import Permutations, Plan, Problem, StabilisedLearner, Workers
from paper_repro import figures, machine
from paper_repro.measure import in_turns
from paper_repro.planted import Rows, rows_of
from paper_repro.runs import learner_on, recipe, seconds_per_step
from paper_repro.score import Spread, duration, ratios, significant
from paper_repro.studies.tuning import (
    DEFAULTS,
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
    SCRIPT,
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
from paper_repro.study import Cell, Record, Records, Settings, Study
from paper_repro.uniform import uniform_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOSSES = {"hinge": "hinge", "log_loss": "logistic"}
#: Random orders that the chosen settings are trained under, and the updates that are looked at.
RUNS, UPDATES = 50, 1000
#: A feature counts as chosen again if so many of the runs choose it.
AGAIN = 0.9
#: How often features are chosen is kept as counts of those chosen in so many of the runs or more.
SHARES = tuple(k / 20 for k in range(1, 21))
#: A burst is timed on so many features that occur, among up to so many: where they are, and spread.
OCCURRING, TIMED_ROWS, BYTES_PER_FEATURE = 10_000, 5_000, 60
WIDTHS = (10_000, 100_000, 1_000_000, 10_000_000)
BURST, SPREAD, CLOCK = "burst", "burst, spread", "clock, spread"


class Stability(Study):
    """Sparsity and the stability of what is chosen, over random orders of the rows."""

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
            # Which makes rows of its own: once is enough.
            *([Cell("widths", partial(widths, settings), 2.0)] if settings.data is None else []),
        ]

    def page(self, document: Mapping[str, Any]) -> str:
        return page(Measured(document))

    def draw(self, document: Mapping[str, Any]) -> Figure:
        return draw(Measured(document))


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
    """Every trial, and which of them is chosen."""
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
    """What tuning has found."""
    record = records[f"tuning/{loss}/{name}"]
    return dict(record["trials"][record["chosen"]]["parameters"])


def runs(settings: Settings, loss: str, name: str, records: Records) -> Record:
    """The chosen settings on all training rows, under so many orders."""
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
    """Nonzeros after each of the last updates of one run; of stabilised SGD, in its first path."""
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
    # The seeds that random_state=0 stands for.
    seeds = np.random.SeedSequence(int(check_random_state(0).randint(2**31))).spawn(model.n_paths)
    learner = stages(model, rows.X, rows.y, seeds)
    n_steps = model.max_iter * len(rows.y)
    with Workers(1) as workers:
        while learner.t < n_steps and learner.n_stable:
            learner.take_stage(
                workers,
                lambda: counts.append(int(np.count_nonzero(learner.paths[0].weights()))),
                n_steps - learner.t,
            )
    return list(counts)


def widths(settings: Settings, _: Records) -> Record:
    """Seconds per step of bursts on the same rows, their features among more and more."""
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
    """Seconds per step of one path, a stage at a time, that purges nothing."""
    model = StabilisedSGDClassifier("log_loss", eta0=1.0, stability=0.0, fit_intercept=False)
    learner = stages(model, X, y, [0])

    def stage() -> float:
        before = learner.t
        began = time.perf_counter()
        with Workers(1) as workers:
            learner.take_stage(workers)
        return (time.perf_counter() - began) / (learner.t - before)

    return stage


def pass_over(X: sparse.csr_matrix, y: NDArray[np.float64]) -> Callable[[], float]:
    """Seconds per step of the clock on the same rows, a permutation at a time."""
    learner = learner_on(X, y, recipe("fobos", l1=1e-6, l2=0.0, eta0=1.0), "clock")
    rows = Permutations(len(y), np.random.default_rng(0))
    return lambda: seconds_per_step(learner, rows.take(len(y)))


def stages(
    model: StabilisedSGDClassifier,
    X: sparse.csr_matrix,
    y: NDArray[np.float64],
    seeds: Sequence[Any],
) -> StabilisedLearner:
    """What ``model.fit`` runs on labels -1 and 1, a path for each seed, to be taken by stages."""
    chosen = model.get_params()
    plan = {field.name: chosen[field.name] for field in fields(Plan) if field.name in chosen}
    occurs = np.zeros(X.shape[1], dtype=bool)
    occurs[columns_with_values(X)] = True
    return StabilisedLearner(
        Problem(as_examples(X, y), get_loss(model.loss), fit_intercept=model.fit_intercept),
        Plan(**plan, universal=model.gravity == "universal"),
        InverseSqrt(chosen["eta0"]),
        [Permutations(len(y), np.random.default_rng(seed)) for seed in seeds],
        occurs,
    )


# --- reading what was measured ---------------------------------------------------------------


class Found:
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
        return _deviation(self.errors) / math.sqrt(len(self.errors))

    def no_worse_than(self, other: Found) -> bool:
        """Error not above the other's by more than two standard errors of their difference."""
        spread = math.hypot(self.standard_error(), other.standard_error())
        return self.error <= other.error + 2.0 * spread + 1e-12


class Measured:
    """A document of the study, asked in its own words."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.records = document["records"]
        self.rows = self.records["rows"]
        timed = self.records.get("widths", {"seconds": {}, "skipped": {}})
        self.seconds: dict[str, list[float]] = timed["seconds"]
        self.skipped: dict[str, str] = timed["skipped"]
        self.nonzeros = document["settings"]["nonzeros"]
        self.widths = sorted({int(name.split("/")[1]) for name in self.seconds})

    def growth(self, what: str, width: int) -> Spread:
        """How many times longer a step takes than with the fewest features."""
        return ratios(self.seconds[f"{what}/{width}"], self.seconds[f"{what}/{self.widths[0]}"])

    def found(self, loss: str, name: str) -> Found:
        return Found(self.records[f"runs/{loss}/{name}"])

    def updates(self, loss: str, name: str) -> list[int]:
        return list(self.records[f"updates/{loss}/{name}"]["nonzeros"])

    def tuning(self, loss: str, name: str) -> Record:
        return dict(self.records[f"tuning/{loss}/{name}"])

    @property
    def planted(self) -> bool:
        return "mattering" in self.rows


def _deviation(values: NDArray[Any]) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


# --- the page --------------------------------------------------------------------------------


def page(measured: Measured) -> str:
    parts = [_setting(measured), _protocol()]
    for loss, title in LOSSES.items():
        parts += [f"## {title.capitalize()} loss", table(measured, loss), claims(measured, loss)]
    parts += [
        "## Does the paper's claim hold here?",
        _verdict(measured),
        "## Nonzeros over the last updates",
        _updates(measured),
        "## What tuning chose",
        tuning_table(measured),
    ]
    if measured.widths:
        parts += ["## What a burst costs", _cost(measured), cost_table(measured)]
        parts += [
            f"{int(size):,} features were left out: {why}."
            for size, why in measured.skipped.items()
        ]
    return "\n\n".join(parts)


def _setting(measured: Measured) -> str:
    rows = measured.rows
    return (
        f"{rows['train']:,} rows to learn from and {rows['test']:,} to test on ({rows['origin']}); "
        f"{rows['occurring']:,} features occur, {rows['nonzeros']:.1f} in a row on average. Who "
        f"always says the larger class is wrong in {rows['smaller class']:.1%} of the test rows. "
        f"Every method is trained on all training rows under {RUNS} random orders of them. "
        f"*Nonzeros* are the weights that are not zero at the end, *kappa* is Cohen's of the "
        f"features that two runs choose, averaged over all pairs of runs: 1 if they are always the "
        f"same, 0 if they agree no more than by chance. (A method that keeps every feature has "
        f"kappa 1.) Given are means and, in brackets, standard deviations."
    )


def _protocol() -> str:
    lines = "\n".join(f"- {name}: {METHODS[name].ranges}." for name in TUNED)
    return (
        f"**How all were tuned.** Of the training rows {VALIDATION_SHARE:.0%} are set aside. Each "
        f"method has {SETTINGS} settings, drawn at random; each of them is trained on the other "
        f"rows under the same {ORDERS} orders and judged on those set aside; test rows are not "
        f"looked at. Chosen is the sparsest setting whose error is within one standard error (of a "
        f"share of that many rows) of the method's least. A run is {PASSES} passes with rates "
        f"eta0 / sqrt(t + 1), no l2 penalty and a free intercept; stabilised SGD has {PATHS} paths "
        f"of {PATH_PASSES} passes, which are as many steps. The truncated gradient truncates every "
        f"{PERIOD} steps, without a threshold.\n\n"
        f"**What is called stabilised.** *{INFORMATIVE}* is the algorithm that the text of Ma & "
        f"Zheng's paper describes, as far as this package could reconstruct it from the words: "
        f"the copy of the text that was available had lost its formulas. *{UNIVERSAL}* is the "
        f"same reconstruction, but after a burst it pulls all weights alike. *{SCRIPT}* is "
        f"*{INFORMATIVE}* with the parameters of the authors' example script. The program that "
        f"the authors released is another algorithm: it truncates at a quantile of the sizes of "
        f"all weights, counts at every update which weights are below that quantile, and divides "
        f"the weights by their norm after every burst. This study does not run that program, and "
        f"no row of this page tells how it performs. *{DEFAULTS}* is *{UNIVERSAL}* with the "
        f"default parameters of this package. Neither of the last two is tuned. The defaults were "
        f"chosen beforehand by their errors on parts of Dexter, RCV1 and Dorothea and on a "
        f"planted problem, so on these data their figures are probably too good.\n\n"
        f"**The ranges of the settings.**\n\n{lines}"
    )


def table(measured: Measured, loss: str) -> str:
    """A line for every method."""
    planted = " chosen by most runs: of those that matter, others |" if measured.planted else ""
    lines = [
        f"| | test error | nonzeros | kappa | chosen by {AGAIN:.0%} of the runs |{planted}",
        "|---" * (6 if measured.planted else 5) + "|",
    ]
    for name in METHODS:
        found = measured.found(loss, name)
        record = found.record
        cells = [
            name,
            f"{found.error:.2%} ({_deviation(found.errors):.2%})",
            f"{significant(found.sparsity)} ({significant(_deviation(found.nonzeros))})",
            f"{found.kappa:.3f} ({record['kappa deviation']:.3f})",
            f"{found.again:,}",
        ]
        if measured.planted:
            cells.append(
                f"{record['mattering chosen']} of {measured.rows['mattering']}, "
                f"{record['others chosen']:,}"
            )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verdict(stabilised: Found, rival: Found) -> dict[str, bool]:
    """The three parts of the paper's claim."""
    return {
        "fewer nonzeros": stabilised.sparsity < rival.sparsity,
        "higher kappa": stabilised.kappa > rival.kappa,
        "no worse error": stabilised.no_worse_than(rival),
    }


def claims(measured: Measured, loss: str) -> str:
    """The claim against every rival."""
    lines = ["| | against | fewer nonzeros | higher kappa | no worse error |", "|---" * 5 + "|"]
    for name, rival in product(STABILISED, RIVALS):
        parts = verdict(measured.found(loss, name), measured.found(loss, rival))
        cells = ["yes" if holds else "**no**" for holds in parts.values()]
        lines.append(f"| {name} | {rival} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _verdict(measured: Measured) -> str:
    sentences = [
        "Ma & Zheng claim fewer nonzeros and a higher kappa at no worse error. (Error is *no "
        "worse* if it is not above the rival's by more than two standard errors of the difference "
        "over the orders. All are judged on the same test rows, and what other test rows would "
        "have told is not in that error.) The two reconstructions of their algorithm are compared "
        "with the three rivals under both losses."
    ]
    for name in STABILISED:
        failing: dict[str, list[str]] = {}
        held = 0
        for loss, rival in product(LOSSES, RIVALS):
            parts = verdict(measured.found(loss, name), measured.found(loss, rival))
            missing = [part for part, holds in parts.items() if not holds]
            held += not missing
            for part in missing:
                failing.setdefault(part, []).append(f"{rival} ({LOSSES[loss]})")
        total = len(LOSSES) * len(RIVALS)
        sentence = f"- *{name}*: the claim holds whole against {held} of {total}."
        for part, rivals in failing.items():
            sentence += f" Not *{part}* than {', '.join(rivals)}."
        sentences.append(sentence)
    empty = [
        f"{name} ({LOSSES[loss]})"
        for loss, name in product(LOSSES, METHODS)
        if not measured.found(loss, name).nonzeros.any()
    ]
    if empty:
        sentences.append(
            f"- No feature is chosen in any run by {', '.join(empty)}: a kappa of 1 there is that "
            f"of empty sets, and whoever is compared with them is compared with a constant."
        )
    return "\n".join([sentences[0], "", *sentences[1:]])


def _updates(measured: Measured) -> str:
    lines = [
        f"One run, the last {UPDATES:,} updates: least and most nonzeros, and the share of updates "
        f"after which there are more or fewer than before. Of stabilised SGD this is its first "
        f"path, not the mean of the paths.",
        "",
        "| | hinge | logistic |",
        "|---|---|---|",
    ]
    for name in TUNED:
        cells = []
        for loss in LOSSES:
            counts = measured.updates(loss, name)
            if len(counts) < 2:
                cells.append("nothing left")
                continue
            moved = float(np.mean(np.diff(counts) != 0))
            cells.append(f"{min(counts):,} - {max(counts):,}, {moved:.0%}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cost(measured: Measured) -> str:
    least, most = measured.widths[0], measured.widths[-1]
    return (
        f"The same rows of {measured.nonzeros:g} nonzeros and {OCCURRING:,} features, among more "
        f"and more others. From {least:,} to {most:,} features a step of a burst, its truncation "
        f"and its part of the judgement included, takes {measured.growth(BURST, most)} times as "
        f"long: only features that a burst informs are ever visited. If the features are also "
        f"*spread*, at random among all, what grows is the latency of memory: then it takes "
        f"{measured.growth(SPREAD, most)} times as long, and a step of the clock on the same rows "
        f"{measured.growth(CLOCK, most)} times."
    )


def cost_table(measured: Measured) -> str:
    kinds = (BURST, SPREAD, CLOCK)
    lines = [
        "| features | " + " | ".join(f"a step: {what} | times the first" for what in kinds) + " |",
        "|---" * (1 + 2 * len(kinds)) + "|",
    ]
    for width in measured.widths:
        cells = []
        for what in kinds:
            seconds = measured.seconds[f"{what}/{width}"]
            cells += [duration(median(seconds)), str(measured.growth(what, width))]
        lines.append(f"| {width:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def tuning_table(measured: Measured) -> str:
    lines = [
        "| loss | | validation error: chosen, least of all | settings chosen |",
        "|---" * 4 + "|",
    ]
    for loss, name in product(LOSSES, METHODS):
        record = measured.tuning(loss, name)
        trial = record["trials"][record["chosen"]]
        least = min(other["error"] for other in record["trials"])
        settings = shown(trial["parameters"]) or "not tuned"
        lines.append(
            f"| {LOSSES[loss]} | {name} | {trial['error']:.2%}, {least:.2%} | {settings} |"
        )
    return "\n".join(lines)


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


def draw(measured: Measured) -> Figure:
    """Error against nonzeros, how often features are chosen, nonzeros over the last updates."""
    figure, axes = figures.new(columns=3, rows=2, width=11.5, height=6.6)
    for row, loss in zip(axes, LOSSES, strict=True):
        _draw_errors(row[0], measured, loss)
        _draw_frequencies(row[1], measured, loss)
        _draw_updates(row[2], measured, loss)
        row[0].set_ylabel(f"{LOSSES[loss]} loss: test error")
    axes[0, 0].set_title("Error and sparsity: left and low is good")
    axes[0, 1].set_title(f"Features that a share of the {RUNS} runs choose")
    axes[0, 2].set_title(f"Nonzeros over the last {UPDATES:,} updates")
    for column, label in enumerate(("nonzeros", "share of the runs, at least", "update")):
        axes[1, column].set_xlabel(label)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    return figure  # type: ignore[no-any-return]


def _draw_errors(ax: Axes, measured: Measured, loss: str) -> None:
    for name in TUNED:
        found = measured.found(loss, name)
        ax.errorbar(
            max(found.sparsity, 0.5),
            found.error,
            xerr=_deviation(found.nonzeros),
            yerr=_deviation(found.errors),
            **{**LOOKS[name], "linestyle": "none"},
            elinewidth=0.8,
            label=name,
        )
    ax.set_xscale("log")
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.1%}")


def _draw_frequencies(ax: Axes, measured: Measured, loss: str) -> None:
    for name in TUNED:
        chosen = measured.found(loss, name).record["chosen in"]
        ax.plot(SHARES, [max(count, 0.5) for count in chosen], **{**LOOKS[name], "markevery": 4})
    ax.set_yscale("log")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")


def _draw_updates(ax: Axes, measured: Measured, loss: str) -> None:
    for name in TUNED:
        counts = measured.updates(loss, name)
        if counts:
            ax.plot(
                np.arange(-len(counts), 0),
                [max(count, 0.5) for count in counts],
                **{**LOOKS[name], "marker": None, "linewidth": 1.0},
            )
    ax.set_yscale("log")
