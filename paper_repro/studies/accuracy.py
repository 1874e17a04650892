"""Study ``accuracy``: how exact are the weights after a million steps?

The truth is shrink after shrink in extended precision.  Measured are what rounding does to the
weights of every engine, what becomes of Lipton & Elkan's tables if nothing begins them again, and
what the misprint in their Theorem 1 costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.checks.tolerance import UNIT_ROUNDOFF
from lazynet.reference.closed_forms import (
    Gap,
    printed_theorem_1_proof,
    printed_theorem_1_statement,
    theorem_1,
)
from lazynet.reference.shrink import MAPS
from lazynet.schedules import Constant, InverseSqrt, InverseTime, Schedule
from lazynet.training import Learner
from paper_repro import figures
from paper_repro.competitors import RULES
from paper_repro.extended import (
    after_each_gap,
    one_weight,
    too_narrow,
    touches,
    true_weights,
)
from paper_repro.pages import Template
from paper_repro.runs import learn, learner, plan
from paper_repro.score import FOUR_FIGURES
from paper_repro.study import Cell, Record, Records, Settings, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = Template.beside(__file__)

ENGINES = ("dense", "tables", "clock")
MOST_STEPS = 1_000_000
#: Fewer steps have no room for the checkpoints, and do not touch the rarest weights.
FEWEST_STEPS = 1000
SCHEDULES: dict[str, Schedule] = {
    "0.1": Constant(0.1),
    "1/(t+1)": InverseTime(1.0),
    "0.5/sqrt(t+1)": InverseSqrt(0.5),
}
#: Values of l1 and of l2; all pairs are run.
QUICK_STRENGTHS = (0.0, 1e-8, 1e-4, 1e-1)
FULL_STRENGTHS = (0.0, 1e-12, 1e-8, 1e-4, 1e-2, 1e-1)

#: Rates and l2 of the tables that nothing watches, soonest broken first; l1 is the same for all.
UNWATCHED = ((1.0, 0.5), (1.0, 0.1), (0.1, 0.1), (0.1, 0.01))
UNWATCHED_L1 = 1e-4
#: The weight that is followed there, touched at every eighth step on average.
FOLLOWED = 1
#: The length of the run, by the step at which B is expected to overflow.
BEYOND = 1.25
#: A weight is called wrong that is off by more than this part of the run's largest.
WRONG = 1e-3
SAMPLES_PER_DECADE = 8

#: l1 and l2 of the gaps on which Theorem 1 is tried, at the rates 0.5/sqrt(t+1).
GAP_PENALTIES = ((1e-4, 1e-3), (1e-2, 1e-1))
LONGEST_GAP = 10_000

#: The looks of lines that only this study draws.
LOOKS: dict[str, dict[str, Any]] = {
    "unwatched": dict(color="#8a2f2f", linestyle="-", linewidth=1.2),
    "nothing": dict(color="#8a2f2f", linestyle="none", marker="x", markersize=7),
    "statement": dict(color="0.6", linestyle="--"),
    "proof": dict(color="#c4622d", linestyle="-"),
    "corrected": dict(color="#0b3c6f", linestyle="-", linewidth=1.2),
}
FORMS: dict[str, Gap] = {
    "statement": printed_theorem_1_statement,
    "proof": printed_theorem_1_proof,
    "corrected": theorem_1,
}


class Accuracy(Study):
    """Rounding over a million steps, tables that overflow, and a misprint."""

    name = "accuracy"
    title = "How exact: long runs against extended precision"
    on_corpus = False

    def cells(self, settings: Settings) -> Sequence[Cell]:
        reason = too_narrow()
        if reason:
            return [Cell("setting", lambda _: {"skipped": reason})]
        steps = steps_of(settings)
        strengths = FULL_STRENGTHS if settings.full else QUICK_STRENGTHS
        gradients = cache(partial(touches, steps, settings.seed))
        million = steps / MOST_STEPS
        return [
            Cell("setting", lambda _: {"steps": steps, "strengths": strengths}, 0.1),
            *(
                Cell(
                    f"long run/{rule}/{rate}",
                    partial(long_run, gradients, rule, SCHEDULES[rate], strengths),
                    12 * million,
                )
                for rule, rate in product(RULES, SCHEDULES)
            ),
            *(
                Cell(
                    unwatched_key(rule, rate, l2),
                    partial(unwatched_run, gradients, rule, rate, l2),
                    2 * min(million, overflow_expected(rate, l2) / MOST_STEPS),
                )
                for rule, (rate, l2) in product(RULES, UNWATCHED)
            ),
            Cell("theorem 1", theorem_1_errors),
        ]

    def page(self, document: Mapping[str, Any]) -> str:
        return page(document["records"])

    def draw(self, document: Mapping[str, Any]) -> Figure:
        return draw(document["records"])


def steps_of(settings: Settings) -> int:
    """A million steps, unless the run is asked for few examples: then it is only a trial."""
    return min(MOST_STEPS, max(FEWEST_STEPS, 10 * settings.examples))


# --- 1. a million steps ----------------------------------------------------------------------


def long_run(
    gradients: Callable[[], sparse.csr_matrix],
    rule: str,
    schedule: Schedule,
    strengths: Sequence[float],
    _: Records,
) -> Record:
    """The greatest error of every engine over all penalties, at every checkpoint."""
    X = gradients()
    checkpoints = log_spaced(100, X.shape[0], per_decade=2)
    penalties = list(product(strengths, strengths))
    truth = true_weights(X, rule, schedule, penalties, checkpoints)
    found = [run_engines(X, Shrinks(rule, schedule, *each), checkpoints) for each in penalties]
    return {
        "checkpoints": checkpoints,
        **{
            engine: worst(np.array([each[engine] for each in found]), truth, penalties)
            for engine in ENGINES
        },
    }


@dataclass(frozen=True)
class Shrinks:
    """The rule, its rates and the penalty of a run."""

    rule: str
    schedule: Schedule
    l1: float
    l2: float

    def learner(self, engine: str, X: sparse.csr_matrix) -> Learner:
        """An engine whose gradients are the rows themselves, whatever the weights are.

        The slope of |p - y| is 1 for targets y that no prediction p reaches.
        """
        chosen = plan(
            self.rule,
            self.l1,
            self.l2,
            schedule=self.schedule,
            engine=engine,
            loss="absolute_error",
            fit_intercept=False,
        )
        return learner(X, np.full(X.shape[0], -1e300), chosen)


def run_engines(
    X: sparse.csr_matrix, shrinks: Shrinks, checkpoints: Sequence[int]
) -> dict[str, list[NDArray[np.float64]]]:
    """The weights of every engine at every checkpoint."""
    learners = {name: shrinks.learner(name, X) for name in ENGINES}
    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in ENGINES}
    for start, stop in zip([0, *checkpoints], checkpoints, strict=False):
        learn(*learners.values(), rows=np.arange(start, stop), t=start)
        for name, each in learners.items():
            found[name].append(each.engine.weights())
    return found


def worst(
    found: NDArray[np.float64],
    truth: NDArray[np.longdouble],
    penalties: Sequence[tuple[float, float]],
) -> Record:
    """The greatest error at every checkpoint, and the penalty where it was made.

    ``found`` has the shape (penalties, checkpoints, weights), ``truth`` its first two exchanged.
    """
    errors = relative_errors(found.transpose(1, 0, 2), truth)
    at = errors.argmax(axis=1)
    return {
        "error": [float(row[k]) for row, k in zip(errors, at, strict=True)],
        "l1": [penalties[k][0] for k in at],
        "l2": [penalties[k][1] for k in at],
    }


def relative_errors(
    found: NDArray[np.float64], truth: NDArray[np.longdouble]
) -> NDArray[np.longdouble]:
    """max |found - truth| / (1 + max |truth|) over the last axis."""
    return np.abs(found - truth).max(axis=-1) / (1 + np.abs(truth).max(axis=-1))


def log_spaced(first: int, last: int, per_decade: int) -> list[int]:
    """Whole numbers from ``first`` to ``last``, both included, evenly on a log axis.

    >>> log_spaced(100, 12_000, per_decade=2)
    [100, 316, 1000, 3162, 10000, 12000]
    """
    count = math.ceil(per_decade * math.log10(last / first))
    between = (round(first * 10 ** (k / per_decade)) for k in range(count))
    return sorted({first, *(step for step in between if step < last), last})


# --- 2. tables that nothing watches ----------------------------------------------------------


def unwatched_key(rule: str, rate: float, l2: float) -> str:
    return f"unwatched tables/{rule}/{rate:g}/{l2:g}"


def overflow_expected(rate: float, l2: float) -> float:
    """About the step at which B exceeds the largest double; B is about 1 / (l2 P)."""
    return (1024 * math.log(2) + math.log(l2)) / math.log1p(rate * l2)


def unwatched_run(
    gradients: Callable[[], sparse.csr_matrix], rule: str, rate: float, l2: float, _: Records
) -> Record:
    """Lipton & Elkan's tables, corrected but unwatched, and lazynet's, on the same run."""
    everything = gradients()
    n_steps = min(everything.shape[0], math.ceil(BEYOND * overflow_expected(rate, l2)))
    X = everything[:n_steps, [FOLLOWED]]
    moves = X.toarray().ravel()
    truth = one_weight(moves, rate, UNWATCHED_L1, l2, rule)
    largest = np.abs(truth).max()
    scales, shifts = unwatched_tables(n_steps, rule, rate, l2)
    touched = np.flatnonzero(moves)
    found = followed_weight(moves, touched, scales, shifts, rate)
    errors = np.abs(found - truth[touched]) / largest
    samples = sampled(touched)
    shrinks = Shrinks(rule, Constant(rate), UNWATCHED_L1, l2)
    kept = watched_weight(X, shrinks, touched[samples])
    kept_errors = np.abs(kept - truth[touched[samples]]) / largest
    return {
        "steps": n_steps,
        "B infinite": first_step(np.isinf(shifts)),
        "P subnormal": first_step(scales < np.finfo(np.float64).smallest_normal),
        # A comparison with NaN is false: what cannot be shown to be right is wrong.
        "wrong": first_step(~(errors <= WRONG), touched),
        "NaN": first_step(np.isnan(found), touched),
        "samples": touched[samples].tolist(),
        "unwatched error": running_maximum(errors[samples]),
        "lazynet error": running_maximum(kept_errors),
    }


def unwatched_tables(
    n_steps: int, rule: str, rate: float, l2: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P and B as of every step, begun once and never again."""
    keep, _ = MAPS[rule](rate, 0.0, l2)
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        scales = np.cumprod(np.concatenate([[1.0], np.full(n_steps, keep)]))
        # Theorem 1 as corrected divides by the new product, Theorem 2 by the old.
        divisors = scales[1:] if rule == "sgd" else scales[:-1]
        shifts = np.cumsum(np.concatenate([[0.0], rate / divisors]))
    return scales, shifts


def followed_weight(
    moves: NDArray[np.float64],
    touched: NDArray[np.int64],
    scales: NDArray[np.float64],
    shifts: NDArray[np.float64],
    rate: float,
) -> NDArray[np.float64]:
    """The weight that the tables give at every step that touches it, before the gradient."""
    found = np.empty(len(touched))
    w, psi = np.float64(0.0), 0
    with np.errstate(all="ignore"):
        for at, step in enumerate(touched):
            w = caught_up(w, scales[psi], scales[step], shifts[psi], shifts[step])
            found[at] = w
            w, psi = w - rate * moves[step], step
    return found


def caught_up(w: Any, old_scale: Any, scale: Any, old_shift: Any, shift: Any) -> Any:
    """Theorems 1 and 2: [ |w| P(k) / P(psi) - l1 P(k) (B(k) - B(psi)) ]+ with the sign of w."""
    magnitude = abs(w) * (scale / old_scale) - UNWATCHED_L1 * scale * (shift - old_shift)
    return np.copysign(0.0 if magnitude <= 0 else magnitude, w)


def watched_weight(
    X: sparse.csr_matrix, shrinks: Shrinks, steps: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The same weight in lazynet's tables before each of these steps."""
    watched = shrinks.learner("tables", X)
    found = np.empty(len(steps))
    start = 0
    for at, stop in enumerate(steps):
        learn(watched, rows=np.arange(start, stop), t=start)
        found[at] = watched.engine.weights()[0]
        start = stop
    return found


def sampled(touched: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions in ``touched``, evenly spaced on a log axis, the last included."""
    wanted = log_spaced(1, int(touched[-1]), SAMPLES_PER_DECADE)
    return np.unique(np.searchsorted(touched, wanted))


def first_step(true: NDArray[np.bool_], steps: NDArray[np.int64] | None = None) -> int | None:
    """Where a condition holds first: the position, or the step that belongs to it."""
    if not true.any():
        return None
    at = int(true.argmax())
    return at if steps is None else int(steps[at])


def running_maximum(errors: NDArray[np.longdouble]) -> list[float | None]:
    """The greatest error so far, None from the first NaN on."""
    return [None if math.isnan(e) else float(e) for e in np.maximum.accumulate(errors)]


# --- 3. the printed theorem ------------------------------------------------------------------


def theorem_1_errors(_: Records) -> Record:
    """Relative errors of an untouched weight 1 after gaps of all lengths, for all forms."""
    rates = InverseSqrt(0.5).rates(0, LONGEST_GAP).tolist()
    return {gap_key(*each): gap_errors(rates, *each) for each in GAP_PENALTIES}


def gap_key(l1: float, l2: float) -> str:
    return f"{l1:g}/{l2:g}"


def gap_errors(rates: Sequence[float], l1: float, l2: float) -> Record:
    """As long as the true weight is not zero: nothing is a part of zero."""
    truth = after_each_gap(1.0, rates, l1, l2, "sgd")
    alive = sum(1 for w in truth if w > 0) - 1
    gaps = log_spaced(1, alive, SAMPLES_PER_DECADE)
    return {
        "gaps": gaps,
        "longest": alive,
        **{
            form: [float(abs(gap(1.0, rates[:n], l1, l2) / truth[n] - 1)) for n in gaps]
            for form, gap in FORMS.items()
        },
    }


# --- the page --------------------------------------------------------------------------------


def page(records: Records) -> str:
    setting = records["setting"]
    if "skipped" in setting:
        return PAGE("skipped", reason=setting["skipped"])
    return PAGE(
        "page",
        heading="A million steps" if setting["steps"] == MOST_STEPS else "A long run",
        steps=setting["steps"],
        penalties=len(setting["strengths"]) ** 2,
        schedules=len(SCHEDULES),
        roundoff=UNIT_ROUNDOFF,
        long_runs=long_run_table(records),
        wrong=WRONG,
        unwatched_l1=UNWATCHED_L1,
        samples=SAMPLES_PER_DECADE,
        unwatched=unwatched_table(records),
        first_seen=" and ".join(first_seen(records, *each) for each in GAP_PENALTIES),
        theorem=theorem_table(records),
        lives=" ".join(life(records, *each) for each in GAP_PENALTIES),
    )


def long_run_table(records: Records) -> str:
    def row(rule: str, engine: str) -> Mapping[str, Any]:
        error, schedule = max(
            (records[f"long run/{rule}/{rate}"][engine]["error"][-1], rate) for rate in SCHEDULES
        )
        where = records[f"long run/{rule}/{schedule}"][engine]
        return dict(
            rule=RULES[rule],
            engine=engine,
            error=error,
            schedule=schedule,
            l1=where["l1"][-1],
            l2=where["l2"][-1],
        )

    return PAGE.table("long runs", (row(*each) for each in product(RULES, ENGINES)))


def unwatched_table(records: Records) -> str:
    def row(rule: str, rate: float, l2: float) -> Mapping[str, Any]:
        found = records[unwatched_key(rule, rate, l2)]
        return dict(
            rule=RULES[rule],
            rate=rate,
            l2=l2,
            steps=found["steps"],
            infinite=_step(found["B infinite"]),
            subnormal=_step(found["P subnormal"]),
            wrong=_step(found["wrong"]),
            nan=_step(found["NaN"]),
            lazynet=_error(found["lazynet error"][-1]),
        )

    return PAGE.table("unwatched", (row(rule, *each) for rule, each in product(RULES, UNWATCHED)))


def _step(step: int | None) -> str:
    return "not yet" if step is None else f"{step:,}"


def _error(error: float | None) -> str:
    return "not a number" if error is None else f"{error:.1e}"


def first_seen(records: Records, l1: float, l2: float) -> str:
    """From what gap on four significant figures show the error of the proof's last line."""
    found = records["theorem 1"][gap_key(l1, l2)]
    seen = [
        gap
        for gap, error in zip(found["gaps"], found["proof"], strict=True)
        if error > FOUR_FIGURES
    ]
    where = f"from a gap of {seen[0]:,} on" if seen else f"at no gap up to {found['gaps'][-1]:,}"
    return PAGE("seen", l1=l1, l2=l2, where=where)


def theorem_table(records: Records) -> str:
    rows = []
    for l1, l2 in GAP_PENALTIES:
        found = records["theorem 1"][gap_key(l1, l2)]
        for at, gap in shown_gaps(found["gaps"]):
            rows.append(dict(l1=l1, l2=l2, gap=gap, **{form: found[form][at] for form in FORMS}))
    return PAGE.table("theorem", rows)


def life(records: Records, l1: float, l2: float) -> str:
    """How long the weight lives if no gradient touches it."""
    longest = records["theorem 1"][gap_key(l1, l2)]["longest"]
    tried = longest < LONGEST_GAP
    return PAGE(
        "life",
        l1=l1,
        l2=l2,
        longest=longest,
        fate="is about to vanish" if tried else "is not zero yet",
        untried="" if tried else ", and longer gaps were not tried",
    )


def shown_gaps(gaps: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The powers of ten among them, and the last."""
    for at, gap in enumerate(gaps):
        if gap == gaps[-1] or gap == 10 ** round(math.log10(gap)):
            yield at, gap


# --- the figure ------------------------------------------------------------------------------


def draw(records: Records) -> Figure:
    if "skipped" in records["setting"]:
        return _draw_reason(records["setting"]["skipped"])
    figure, axes = figures.new(columns=3, width=10.5, height=3.7)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_yscale("log")
    _draw_long_run(axes[0], records)
    _draw_unwatched(axes[1], records)
    _draw_theorem(axes[2], records)
    return figure  # type: ignore[no-any-return]


def _draw_reason(reason: str) -> Figure:
    figure, ax = figures.new(height=1.0)
    ax.set_axis_off()
    ax.text(0.5, 0.5, f"Skipped: {reason}.", ha="center", va="center")
    return figure  # type: ignore[no-any-return]


def _draw_long_run(ax: Axes, records: Records) -> None:
    runs = [records[f"long run/{rule}/{rate}"] for rule, rate in product(RULES, SCHEDULES)]
    steps = runs[0]["checkpoints"]
    ax.axhline(UNIT_ROUNDOFF, **figures.LOOKS["law"])
    _say(ax, steps[-1], UNIT_ROUNDOFF, "one rounding of a double", "0.35", above=False, ha="right")
    for engine in ENGINES:
        errors = np.max([run[engine]["error"] for run in runs], axis=0)
        ax.plot(steps, errors, **figures.LOOKS[engine])
        figures.label_end(ax, steps[-1], errors[-1], engine, engine)
    ax.set_ylim(bottom=2e-17)
    ax.set_title("a   Greatest error over all settings")
    ax.set_xlabel("steps")
    ax.set_ylabel("max |w - truth| / (1 + max |truth|)")


def _draw_unwatched(ax: Axes, records: Records) -> None:
    found = {each: records[unwatched_key("sgd", *each)] for each in UNWATCHED}
    for (rate, l2), run in found.items():
        _draw_breakdown(ax, run, f"η = {rate:g}, λ₂ = {l2:g}")
    longest = found[UNWATCHED[-1]]
    ax.plot(longest["samples"], longest["lazynet error"], **_plain("tables"))
    last, error = longest["samples"][-1], longest["lazynet error"][-1]
    _say(
        ax,
        last,
        error,
        "lazynet's tables",
        figures.LOOKS["tables"]["color"],
        above=False,
        ha="right",
    )
    ax.set_xlim(30, 1.3 * last)
    ax.set_ylim(1e-18, 100)
    ax.set_title("b   Tables never begun again (SGD)")
    ax.set_xlabel("steps")
    ax.set_ylabel("greatest error so far / largest |truth|")


def _draw_breakdown(ax: Axes, run: Mapping[str, Any], name: str) -> None:
    """Exact up to the step at which the weight is no longer a number."""
    alive = [
        (step, error)
        for step, error in zip(run["samples"], run["unwatched error"], strict=True)
        if error is not None
    ]
    if run["NaN"] is None:
        ax.plot(*zip(*alive, strict=True), **LOOKS["unwatched"])
        return
    alive = [(step, error) for step, error in alive if step < run["NaN"] and error < WRONG]
    alive += [(run["NaN"], alive[-1][1]), (run["NaN"], 1.0)]
    ax.plot(*zip(*alive, strict=True), **LOOKS["unwatched"])
    ax.plot(run["NaN"], 1.0, **LOOKS["nothing"])
    ax.annotate(
        name,
        (run["NaN"], 1e-9),
        xytext=(-3, 0),
        textcoords="offset points",
        rotation=90,
        ha="right",
        va="center",
        color=LOOKS["unwatched"]["color"],
    )
    _say(ax, run["NaN"], 2.0, "NaN", LOOKS["unwatched"]["color"], ha="center")


def _draw_theorem(ax: Axes, records: Records) -> None:
    for l1, l2 in GAP_PENALTIES:
        found = records["theorem 1"][gap_key(l1, l2)]
        for form in FORMS:
            # An error of exactly zero has no place on a log axis.
            drawn = [(n, e) for n, e in zip(found["gaps"], found[form], strict=True) if e > 0]
            ax.plot(*zip(*drawn, strict=True), **LOOKS[form])
        middle = found["proof"][len(found["gaps"]) * 3 // 4]
        name = f"proof: λ₁ = {_power(l1)}, λ₂ = {_power(l2)}"
        _say(ax, 1, middle, name, LOOKS["proof"]["color"])
    ax.axhline(FOUR_FIGURES, **figures.LOOKS["law"])
    _say(ax, LONGEST_GAP, FOUR_FIGURES, "four significant figures", "0.35", above=False, ha="right")
    _say(ax, 1, 1.0, "statement: both", "0.4")
    _say(ax, 1, 1e-15, "corrected: both", LOOKS["corrected"]["color"])
    ax.set_ylim(1e-18, 30)
    ax.set_title("c   Theorem 1 as printed")
    ax.set_xlabel("missed steps")
    ax.set_ylabel("relative error of the weight")


def _power(value: float) -> str:
    """A power of ten as a formula."""
    return f"$10^{{{round(math.log10(value))}}}$"


def _plain(look: str) -> dict[str, Any]:
    """A look without its marker, for lines of many points."""
    return {**figures.LOOKS[look], "marker": "none"}


def _say(
    ax: Axes, x: float, y: float, text: str, color: str, *, above: bool = True, ha: str = "left"
) -> None:
    """A note beside a line."""
    ax.annotate(
        text,
        (x, y),
        xytext=(0, 3 if above else -3),
        textcoords="offset points",
        ha=ha,
        va="bottom" if above else "top",
        color=color,
        fontsize=8,
    )
