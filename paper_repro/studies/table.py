"""Study ``table``: Lipton & Elkan's timing tables, in four tiers of implementation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from paper_repro import figures
from paper_repro.competitors import (
    CLOCK,
    DENSE,
    DESCRIPTIONS,
    RULES,
    SPARSE_PREDICTIONS,
    TABLES,
    TIERS,
    Competitor,
    Problem,
)
from paper_repro.competitors.compiled import Clock
from paper_repro.competitors.compiled import Dense as CompiledDense
from paper_repro.documents import Corpus, from_settings
from paper_repro.measure import Turn, in_turns, turns
from paper_repro.published import FEATURES, IDEAL, NONZEROS, PUBLISHED
from paper_repro.runs import ETA0, L1, L2
from paper_repro.score import SAME, Spread, coverage, duration, equality, ratios, significant
from paper_repro.study import Cell, Record, Records, Settings, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Converted rows of the interpreted tiers are large: ten kilobytes each as dictionaries.
MOST_ROWS = {"dicts": 10_000, "scipy": 20_000}
#: The weights of a tier are compared after as many examples as dense updates manage in so
#: many turns, within these bounds.
EQUALITY_TURNS, EQUALITY_ROWS = 10, (10, 1000)
#: Bytes of an array that lies in memory: more than the caches of today's processors hold.
UNCACHED = 2**30
#: A ratio is called reproduced, or of the same order, whose share of the ideal differs from the
#: printed one's by less than these factors; a corpus is alike whose ideal does.
REPRODUCED, SAME_ORDER, ALIKE = 1.5, 3.0, 1.5


class Table(Study):
    """Lazy against dense updates, like for like within each tier."""

    name = "table"
    title = "Lazy against dense updates: the papers' tables, rerun"

    def cells(self, settings: Settings) -> Sequence[Cell]:
        bench = Workbench(settings)
        turn = settings.seconds
        cells = [
            Cell("corpus", lambda _: bench.corpus().statistics(), 5.0),
            Cell("memory bandwidth", lambda _: bench.bandwidth(), 2.0),
            Cell("element of a row", lambda _: bench.element_of_a_row()),
        ]
        for tier, competitors in TIERS.items():
            for rule in RULES:
                group = f"{tier}/{rule}"
                round_cost = len(competitors) * turn
                cells.append(
                    Cell(f"{group}/warm-up", partial(bench.warm_up, tier, rule), 2 * round_cost)
                )
                cells += [
                    Cell(f"{group}/round {k}", partial(bench.round, tier, rule, k), round_cost)
                    for k in range(1, settings.repeats + 1)
                ]
                cells.append(
                    Cell(
                        f"{group}/same weights",
                        partial(bench.same_weights, tier, rule),
                        2 * EQUALITY_TURNS * turn,
                    )
                )
            cells.append(Cell(f"{tier}/empty rows", partial(bench.empty_rows, tier), turn))
        return cells

    def page(self, document: Mapping[str, Any]) -> str:
        return page(Measured(document))

    def draw(self, document: Mapping[str, Any]) -> Figure:
        return draw(Measured(document))


# --- measuring -------------------------------------------------------------------------------


class Workbench:
    """The corpus, where every run begins, and the competitors of the group that is measured."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.start: Callable[[str], Problem] = cache(self._start)
        self._group: tuple[str, str] | None = None
        self._turns: dict[str, Turn] = {}

    def corpus(self) -> Corpus:
        return from_settings(self.settings)

    def _start(self, rule: str) -> Problem:
        """Where a pass over the corpus leads: most weights are not zero there, as in the middle
        of a long run, and dense updates have real work with each."""
        corpus = self.corpus()
        fresh = Problem(corpus.X, corpus.y, rule, np.zeros(corpus.X.shape[1]))
        first = Clock(fresh)
        first.begin()
        first.learn(0, len(corpus.y))
        return replace(fresh, weights=first.weights(), intercept=first.intercept, t=len(corpus.y))

    def available(self, tier: str) -> int:
        return min(MOST_ROWS.get(tier, len(self.corpus().y)), len(self.corpus().y))

    def make(self, tier: str, rule: str, name: str, rows: int) -> Competitor:
        return TIERS[tier][name](self.start(rule).first(rows))

    def warm_up(self, tier: str, rule: str, _: Records) -> Record:
        """How many examples make a turn of each competitor; not a measurement."""
        self.begin_group(tier, rule)
        for turn in self._turns.values():
            turn()
        return {name: turn.examples for name, turn in self._turns.items()}

    def begin_group(self, tier: str, rule: str) -> None:
        """Everybody in a group, at its beginning; only one group at a time is in memory."""
        self._turns.clear()
        rows = self.available(tier)
        self._turns = {
            name: Turn(self.make(tier, rule, name, rows), self.settings.seconds)
            for name in TIERS[tier]
        }
        self._group = (tier, rule)

    def round(self, tier: str, rule: str, repeat: int, records: Records) -> Record:
        """Seconds per example of everybody, one after the other."""
        if self._group != (tier, rule):
            # The run goes on in a new process, where nothing is warm yet.
            self.begin_group(tier, rule)
            for name, examples in records[f"{tier}/{rule}/warm-up"].items():
                self._turns[name].examples = examples
                self._turns[name]()
        return {name: self._turns[name]() for name in turns(list(self._turns), repeat)}

    def same_weights(self, tier: str, rule: str, records: Records) -> Record:
        """All weights of everybody after the same examples, held against the tier's dense twin."""
        dense_rate = records[f"{tier}/{rule}/round 1"][DENSE]
        least, most = EQUALITY_ROWS
        wanted = int(EQUALITY_TURNS * self.settings.seconds / dense_rate)
        rows = min(max(least, min(most, wanted)), self.available(tier))

        def weights(learner: Competitor) -> NDArray[np.float64]:
            learner.begin()
            learner.learn(0, rows)
            return learner.weights()

        found = {name: weights(self.make(tier, rule, name, rows)) for name in TIERS[tier]}
        compiled = weights(CompiledDense(self.start(rule).first(rows)))
        return {
            "rows": rows,
            "against dense": {
                name: equality(found[name], found[DENSE], f"{tier}, {rule}: {name} and {DENSE}")
                for name in found
                if name != DENSE
            },
            "against compiled": equality(
                found[DENSE], compiled, f"{rule}: {DENSE} in {tier} and compiled"
            ),
        }

    def empty_rows(self, tier: str, _: Records) -> Record:
        """Seconds per example of the lazy learners when examples have no features at all."""
        problem = self.start("fobos").first(min(2000, self.available(tier)))
        empty = replace(problem, X=sparse.csr_matrix(problem.X.shape))
        turn = self.settings.seconds / 10
        learners = {name: Turn(TIERS[tier][name](empty), turn) for name in (TABLES, CLOCK)}
        return in_turns(learners, self.settings.repeats)

    def bandwidth(self) -> Record:
        """Bytes a second that an in-place multiplication moves: one double read, one written."""

        def measure(size: int) -> list[float]:
            array = np.ones(size)
            found = []
            for _ in range(self.settings.repeats + 1):
                passes = max(1, int(2e7 / size))
                began = time.perf_counter()
                for _ in range(passes):
                    np.multiply(array, 1.0, out=array)
                found.append(16 * size * passes / (time.perf_counter() - began))
            return found[1:]

        return {"weights": measure(self.corpus().X.shape[1]), "memory": measure(UNCACHED // 8)}

    def element_of_a_row(self) -> Record:
        """Seconds to look one element up in a row of a SciPy matrix by its index."""
        row = self.corpus().X[0]
        wanted = range(0, row.shape[1], max(1, row.shape[1] // 2000))
        found = []
        for _ in range(self.settings.repeats):
            began = time.perf_counter()
            for j in wanted:
                row[0, j]
            found.append((time.perf_counter() - began) / len(wanted))
        return {"seconds": found}


# --- reading what was measured ---------------------------------------------------------------


class Measured:
    """A document of the study, asked in its own words."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.records = document["records"]
        self.settings = document["settings"]
        self.corpus = self.records["corpus"]
        #: All features by the nonzeros of an example.
        self.ideal: float = self.corpus["features_per_nonzero"]
        self.repeats = self.settings["repeats"]

    def seconds(self, tier: str, rule: str, name: str) -> list[float]:
        """Seconds per example, round by round."""
        return [self.records[f"{tier}/{rule}/round {k}"][name] for k in range(1, self.repeats + 1)]

    def median(self, tier: str, rule: str, name: str) -> float:
        return Spread.of(self.seconds(tier, rule, name)).median

    def ratio(self, tier: str, rule: str, slow: str, fast: str) -> Spread:
        return ratios(self.seconds(tier, rule, slow), self.seconds(tier, rule, fast))

    def examples(self, tier: str, rule: str, name: str) -> int:
        return int(self.records[f"{tier}/{rule}/warm-up"][name])

    def equal(self, tier: str, rule: str) -> Any:
        return self.records[f"{tier}/{rule}/same weights"]

    def per_feature(self, tier: str, rule: str, name: str = DENSE) -> float:
        """Seconds that dense updates spend on a feature."""
        return self.median(tier, rule, name) / self.corpus["features"]

    def per_nonzero(self, tier: str, rule: str, name: str = TABLES) -> float:
        """Seconds that lazy updates spend on a nonzero, with all that an example costs besides."""
        return self.median(tier, rule, name) / self.corpus["nonzeros_per_example"]

    def overhead(self, tier: str, name: str = TABLES) -> float:
        """Seconds that an example without features costs."""
        return Spread.of(self.records[f"{tier}/empty rows"][name]).median

    def bytes_per_second(self, where: str) -> float:
        return Spread.of(self.records["memory bandwidth"][where]).median


def groups() -> Iterator[tuple[str, str]]:
    for tier in TIERS:
        for rule in RULES:
            yield tier, rule


# --- the page --------------------------------------------------------------------------------


def page(measured: Measured) -> str:
    return "\n\n".join(
        [
            setting_sentence(measured),
            summary(measured),
            "## What reproduces, and why the rest does not",
            *verdicts(measured),
            unit_costs(measured),
            "## The same weights",
            equality_sentence(measured),
            equality_table(measured),
            "So few steps with so weak a penalty do not move the weights far; a million steps, "
            "with weak penalties and with strong ones, are the subject of the study `accuracy`.",
            "## Every implementation",
            _measuring_text(measured),
            every_row(measured),
        ]
    )


def setting_sentence(measured: Measured) -> str:
    corpus = measured.corpus
    return (
        f"Logistic regression with an elastic net (l1 = {L1:g}, l2 = {L2:g}, rates "
        f"{ETA0:g} / sqrt(t + 1)), one example at a time, on "
        f"{corpus['examples']:,} examples with {corpus['features']:,} features and "
        f"{corpus['nonzeros_per_example']:.2f} nonzeros each on average ({corpus['origin']}). "
        f"Features by nonzeros, what sparsity alone could yield: "
        f"**{measured.ideal:,.0f}**, called the ideal below; in the paper {IDEAL:,.0f}. "
        "Ratios are times of dense updates by times of lazy ones; *printed* are Lipton & Elkan's: "
        "for the first tier their early text's, which says 612 where its two rates give 613, for "
        "the second version 3's, which says over 2000, and over 1400 where predictions are sparse."
    )


def summary(measured: Measured) -> str:
    """One row a tier and rule; also the README's table."""
    lines = [
        "| | rule | lazy (tables), examples/s | dense / lazy | printed "
        "| dense with sparse predictions / lazy | printed | clock, examples/s | dense / clock |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for tier, rule in groups():
        printed = PUBLISHED.get((tier, rule))
        lazy = 1 / measured.median(tier, rule, TABLES)
        lines.append(
            f"| {DESCRIPTIONS[tier]} | {RULES[rule]} | {significant(lazy)} "
            f"| **{significant(measured.ratio(tier, rule, DENSE, TABLES).median)}** "
            f"| {_printed(printed.dense_ratio if printed else None)} "
            f"| **{significant(measured.ratio(tier, rule, SPARSE_PREDICTIONS, TABLES).median)}** "
            f"| {_printed(printed.sparse_ratio if printed else None)} "
            f"| {significant(1 / measured.median(tier, rule, CLOCK))} "
            f"| {significant(measured.ratio(tier, rule, DENSE, CLOCK).median)} |"
        )
    return "\n".join(lines)


def _printed(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:,.0f}"


def verdicts(measured: Measured) -> list[str]:
    """What the numbers say, in words; nothing here is known before they are."""
    whole = [_interpreted(measured), _vectorised(measured), _compiled(measured)]
    if 1 / ALIKE <= measured.ideal / IDEAL <= ALIKE:
        return [reproduced(measured), whole[0], _looked_up(measured), *whole[1:]]
    return [
        "The printed ratios belong to a corpus of another shape and are not compared with those "
        "found here.",
        *whole,
    ]


def reproduced(measured: Measured) -> str:
    """Every printed ratio beside ours, and whether it is the same."""
    return "\n".join(
        f"- {printed.where}: printed {printed.ratio:,.0f}, {printed.ratio / IDEAL:.0%} of the "
        f"ideal; here {printed.found}, {printed.found.median / measured.ideal:.0%} of it: "
        f"{verdict(printed.factor)}"
        for printed in printed_ratios(measured)
    )


def reproduced_in_short(measured: Measured) -> str:
    """How many of the printed ratios are the same, and how far off the others."""
    factors = sorted(printed.factor for printed in printed_ratios(measured))
    same = [factor for factor in factors if is_reproduced(factor)]
    others = [factor for factor in factors if not is_reproduced(factor)]
    sentence = (
        f"{len(same)} of the {len(factors)} printed ratios {'is' if len(same) == 1 else 'are'} "
        f"reproduced within a factor of {REPRODUCED:g}, each taken as a share of its ideal"
    )
    if not others:
        return f"{sentence}."
    low, high = (f"{factor:.0%}" for factor in (others[0], others[-1]))
    return f"{sentence}; the others reach {low} to {high} of what is printed."


class PrintedRatio(NamedTuple):
    """One of the papers' ratios beside ours; ``factor`` is the quotient of their shares."""

    where: str
    ratio: float
    found: Spread
    factor: float


def printed_ratios(measured: Measured) -> Iterator[PrintedRatio]:
    for (tier, rule), printed in PUBLISHED.items():
        for label, slow, ratio in (
            ("dense updates", DENSE, printed.dense_ratio),
            ("dense updates with sparse predictions", SPARSE_PREDICTIONS, printed.sparse_ratio),
        ):
            if ratio is None:
                continue
            found = measured.ratio(tier, rule, slow, TABLES)
            factor = (found.median / measured.ideal) / (ratio / IDEAL)
            yield PrintedRatio(
                f"{DESCRIPTIONS[tier]}, {RULES[rule]}, {label}", ratio, found, factor
            )


def is_reproduced(factor: float) -> bool:
    return max(factor, 1 / factor) <= REPRODUCED


def verdict(factor: float) -> str:
    """Of the share of the ideal that is reached, here by what is printed."""
    size = max(factor, 1 / factor)
    change = f"{significant(size, 2)} times {'larger' if factor > 1 else 'smaller'}"
    if is_reproduced(factor):
        return f"reproduced ({change})"
    return f"not reproduced ({change}{', of the same order' if size < SAME_ORDER else ''})"


def _interpreted(measured: Measured) -> str:
    """Where interpreted code stands between the ideal and the measured ratio."""
    parts = []
    for tier in ("dicts", "scipy"):
        printed = PUBLISHED[tier, "fobos"]
        feature = measured.per_feature(tier, "fobos", SPARSE_PREDICTIONS)
        nonzero = measured.per_nonzero(tier, "fobos")
        parts.append(
            f"with {DESCRIPTIONS[tier]} a dense update spends {duration(feature)} on a feature "
            f"and a lazy one {duration(nonzero)} on a nonzero, {significant(nonzero / feature, 2)} "
            f"times as much (by the printed times: {significant(IDEAL / printed.sparse_ratio, 2)})"
        )
    return (
        f"**Interpreted tiers.** To reach the ideal, {measured.ideal:,.0f}, a lazy update would "
        f"have to spend no more on a nonzero than a dense one on a feature; but it brings the "
        f"weight current and stores it besides predicting and learning. For FoBoS and sparse "
        f"predictions: {'; '.join(parts)}. A ratio is about the ideal divided by that factor "
        f"(about, because these are quotients of medians, and the ratios medians of quotients): "
        f"the speed of machine and interpreter cancels, and what is left is how much leaner one "
        f"loop is written than the other."
    )


def _looked_up(measured: Measured) -> str:
    """Why version 3's dense updates may have been slower than those of this page."""
    printed = PUBLISHED["scipy", "fobos"]
    assert printed.dense is not None
    predicting = (printed.dense - printed.sparse_predictions) / FEATURES
    shrinking, stepping = printed.sparse_predictions / FEATURES, printed.lazy / NONZEROS
    faster_dense = shrinking / measured.per_feature("scipy", "fobos", SPARSE_PREDICTIONS)
    faster_lazy = stepping / measured.per_nonzero("scipy", "fobos")
    element = Spread.of(measured.records["element of a row"]["seconds"]).median
    ours = measured.per_feature("scipy", "fobos") - measured.per_feature(
        "scipy", "fobos", SPARSE_PREDICTIONS
    )
    ratio = element * measured.corpus["features"] / measured.median("scipy", "fobos", TABLES)
    return (
        f"With SciPy rows the two sides have not changed alike. By the printed times (FoBoS, "
        f"sparse predictions) a dense update spent {duration(shrinking)} on a feature, "
        f"{significant(faster_dense)} times as much as here, and a lazy one {duration(stepping)} "
        f"on a nonzero, {significant(faster_lazy)} times as much; the quotient of the two, "
        f"{significant(faster_dense / faster_lazy, 2)}, accounts for the difference between "
        f"the printed ratio and this one. The printed times also say that dense "
        f"predictions cost "
        f"{duration(predicting)} for each feature; here, where the row is spread out first, dense "
        f"predictions and gradients together add {duration(ours)}. Looking an element up in a "
        f"SciPy row takes {duration(element)} on this machine; dense predictions that did it would "
        f"by themselves take {significant(ratio)} times as long as a lazy update. What the "
        f"authors' loop did for a feature is not in the paper, and it decides these ratios."
    )


def _vectorised(measured: Measured) -> str:
    overhead, whole = measured.overhead("numpy"), measured.median("numpy", "fobos", TABLES)
    feature = measured.per_feature("numpy", "fobos", SPARSE_PREDICTIONS)
    interpreted = measured.per_feature("scipy", "fobos", SPARSE_PREDICTIONS)
    dense = measured.median("numpy", "fobos", SPARSE_PREDICTIONS)
    return (
        f"**Vectorised NumPy.** Here the ratio is {measured.ratio('numpy', 'fobos', DENSE, TABLES)}"
        f", and {measured.ratio('numpy', 'fobos', SPARSE_PREDICTIONS, TABLES)} when predictions "
        f"are sparse. The interpreter is now paid for an example, no longer for a feature: a lazy "
        f"update takes {duration(whole)}, an example that has no features at all "
        f"{duration(overhead)}, which would be {overhead / dense:.1%} of a dense update with "
        f"sparse predictions. That one does a feature in {duration(feature)}, "
        f"{significant(interpreted / feature, 2)} times faster than with SciPy rows; the lazy one "
        f"does a nonzero {_times(measured, 'scipy', 'numpy')} times faster."
    )


def _times(measured: Measured, slow: str, fast: str) -> str:
    """How many times faster one tier's lazy update does a nonzero than another's."""
    return significant(measured.per_nonzero(slow, "fobos") / measured.per_nonzero(fast, "fobos"), 2)


def _compiled(measured: Measured) -> str:
    tables = measured.ratio("compiled", "fobos", DENSE, TABLES)
    clock = measured.ratio("compiled", "fobos", DENSE, CLOCK)
    units = measured.ratio("compiled", "fobos", f"{SPARSE_PREDICTIONS}, scalar", SPARSE_PREDICTIONS)
    scalar = measured.ratio("compiled", "fobos", f"{DENSE}, scalar", CLOCK)
    moved = 16 / measured.per_feature("compiled", "fobos", SPARSE_PREDICTIONS)
    copied, memory = measured.bytes_per_second("weights"), measured.bytes_per_second("memory")
    bound = ""
    if memory < moved <= copied:
        bound = (
            f" So the shrink reaches {moved / copied:.0%} of what the machine moves within its "
            f"caches, and with weights that outgrow them it would be bound by the memory."
        )
    return (
        f"**Compiled.** Without an interpreter on either side the ratio is {tables} for the tables "
        f"and {clock} for the clock. Dense updates go through memory in order and in whole "
        f"vectors: vector units make the shrink of all weights {units} times faster, and without "
        f"them the clock's ratio would be {scalar}. The shrink moves {significant(moved / 1e9)} "
        f"GB/s here; NumPy's in-place multiplication moves {significant(copied / 1e9)} GB/s on an "
        f"array of this size and {significant(memory / 1e9)} GB/s on one of "
        f"{UNCACHED / 2**30:g} GiB.{bound}"
    )


def unit_costs(measured: Measured) -> str:
    """The ratios taken apart: time per feature, time per nonzero."""
    lines = [
        "| FoBoS | dense: per feature | with sparse predictions | lazy (tables): per nonzero "
        "| an example without features |",
        "|---|---|---|---|---|",
    ]
    for (tier, rule), printed in PUBLISHED.items():
        if rule == "fobos":
            dense = duration(printed.dense / FEATURES) if printed.dense else ""
            lines.append(
                f"| {DESCRIPTIONS[tier]}, as printed | {dense} "
                f"| {duration(printed.sparse_predictions / FEATURES)} "
                f"| {duration(printed.lazy / NONZEROS)} | |"
            )
    for tier in TIERS:
        dense, sparse_predictions = (
            duration(measured.per_feature(tier, "fobos", name))
            for name in (DENSE, SPARSE_PREDICTIONS)
        )
        lines.append(
            f"| {DESCRIPTIONS[tier]} | {dense} | {sparse_predictions} "
            f"| {duration(measured.per_nonzero(tier, 'fobos'))} "
            f"| {duration(measured.overhead(tier))} |"
        )
    return "\n".join(lines)


def equality_sentence(measured: Measured) -> str:
    worst = max(
        found["relative"]
        for tier, rule in groups()
        for found in measured.equal(tier, rule)["against dense"].values()
    )
    return (
        "In the same run, from the same weights and over the same examples, every implementation "
        "of a tier is held against the tier's dense one, over all weights; the run would have been "
        f"refused at a difference of {SAME:g}. The paper reports agreement to 4 significant "
        f"figures; here the greatest difference anywhere is **{worst:.1e}** of the largest weight."
    )


def equality_table(measured: Measured) -> str:
    lines = [
        "| | rule | examples | weights, of them not zero | greatest difference, tables "
        "| clock | by the largest weight | differ in 4 significant figures "
        "| dense here / compiled dense |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for tier, rule in groups():
        equal = measured.equal(tier, rule)
        tables, clock = equal["against dense"][TABLES], equal["against dense"][CLOCK]
        lines.append(
            f"| {DESCRIPTIONS[tier]} | {RULES[rule]} | {equal['rows']:,} "
            f"| {tables['weights']:,}, {tables['nonzero']:,} | {tables['absolute']:.3g} "
            f"| {clock['absolute']:.3g} | {max(tables['relative'], clock['relative']):.2g} "
            f"| {tables['four_figures'] + clock['four_figures']} "
            f"| {equal['against compiled']['relative']:.2g} |"
        )
    return "\n".join(lines)


def _measuring_text(measured: Measured) -> str:
    return (
        f"Everybody begins where a pass of the compiled clock over the corpus has led, so that "
        f"few weights are zero and dense updates have real work with each, takes turns with the "
        f"others of the tier, and visits the number of examples given, in {measured.repeats} "
        f"rounds. Given are the median over the rounds and in brackets the range, which covers "
        f"the true median with a probability of {coverage(measured.repeats):.1%} if rounds are "
        f"independent and alike; ratios are taken round by round. Bringing all weights current at "
        f"the end of a pass is not in the times of the lazy ones."
    )


def every_row(measured: Measured) -> str:
    lines = [
        "| | rule | implementation | examples | examples/s | time per example | dense / it "
        "| dense with sparse predictions / it |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for tier, rule in groups():
        for name in TIERS[tier]:
            speed = Spread.of([1 / s for s in measured.seconds(tier, rule, name)])
            lines.append(
                f"| {tier} | {RULES[rule]} | {name} | {measured.examples(tier, rule, name):,} "
                f"| {speed} | {duration(measured.median(tier, rule, name))} "
                f"| {measured.ratio(tier, rule, DENSE, name)} "
                f"| {measured.ratio(tier, rule, SPARSE_PREDICTIONS, name)} |"
            )
    return "\n".join(lines)


# --- the figure ------------------------------------------------------------------------------


def draw(measured: Measured) -> Figure:
    """Ratios on a log axis: the tables, the clock and what was printed, for both dense twins."""
    figure, axes = figures.new(columns=2, width=8.2, height=3.8)
    rows = [(tier, rule) for tier, rule in groups()]
    for ax, slow, title in (
        (axes[0], DENSE, "dense / lazy"),
        (axes[1], SPARSE_PREDICTIONS, "dense with sparse predictions / lazy"),
    ):
        for y, (tier, rule) in enumerate(reversed(rows)):
            ax.axhline(y, color="0.9", linewidth=0.8, zorder=0)
            for name, look in ((TABLES, "tables"), (CLOCK, "clock")):
                found = measured.ratio(tier, rule, slow, name)
                style = figures.LOOKS[look]
                ax.plot([found.least, found.most], [y, y], color=style["color"], linewidth=1.2)
                ax.plot(found.median, y, color=style["color"], marker=style["marker"])
                if y == 0:
                    ax.annotate(
                        look,
                        (found.median, y),
                        xytext=(0, -7),
                        textcoords="offset points",
                        ha="center",
                        va="top",
                        color=style["color"],
                    )
            printed = PUBLISHED.get((tier, rule))
            ratio = printed and (printed.dense_ratio if slow == DENSE else printed.sparse_ratio)
            if ratio:
                ax.plot(ratio, y, **{**figures.LOOKS["paper"], "markersize": 6.5}, zorder=0.5)
                ax.annotate(
                    f"printed {ratio:,.0f}",
                    (ratio, y),
                    xytext=(0, 6),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    fontsize=7.5,
                    bbox=dict(facecolor="white", edgecolor="none", pad=0.5),
                )
        ideal = measured.ideal
        ax.axvline(ideal, **figures.LOOKS["law"])
        ax.annotate(
            f"features by nonzeros: {ideal:,.0f} ",
            (ideal, len(rows) - 0.4),
            ha="right",
            va="center",
            color="0.35",
            fontsize=7.5,
        )
        ax.set_xscale("log")
        ax.set_ylim(-0.9, len(rows) - 0.2)
        ax.set_title(title)
        ax.set_yticks(range(len(rows)))
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    axes[0].set_yticklabels(
        [f"{DESCRIPTIONS[tier]}, {RULES[rule]}" for tier, rule in reversed(rows)]
    )
    axes[1].set_yticklabels([])
    figure.supxlabel("times faster than dense updates", fontsize=9)
    return figure
