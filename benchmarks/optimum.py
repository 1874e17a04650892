"""Study ``optimum``: which program reaches the minimum of an l1 or elastic-net problem, how fast?

Every program, DualNet too, runs at the loosest tolerance at which it arrives.  Programs that bound
their own gap are timed once more, at the tolerance that asks for a gap of ``LEVEL``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from statistics import geometric_mean, median
from typing import Any

import numpy as np

from benchmarks.minima import Task, largest_l1
from benchmarks.programs.cage import DONE, STOPPED, caged
from benchmarks.shapes import shapes
from benchmarks.solvers import (
    CELER,
    CERTIFYING,
    CYANURE,
    LEVEL,
    OURS,
    PEERS,
    Solver,
    versions,
    warm_up,
)
from lazynet.penalties import ElasticNet
from paper_repro.measure import turns
from paper_repro.render import Content, Dots, Table
from paper_repro.rows import Rows
from paper_repro.score import Spread, duration, ratios, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: The tolerance at which DualNet's objective counts as the least one.
EXACT = 1e-6
#: l1 as shares of the least l1 at which every weight is 0, and l2 as multiples of l1.
SHARES, KINDS = (0.1, 0.005), {"l1": 0.0, "elastic net": 0.1}
#: A run is stopped after PATIENCE times DualNet's time; what takes NEAR times as long runs once.
PATIENCE, NEAR = 5.0, 3.0
#: The least and the most seconds after which a run is stopped, and about how many seconds the
#: turns of one problem may take.
LEAST_SECONDS, MOST_SECONDS, ROUNDS_SECONDS = 0.3, 300.0, 4.0


# --- measuring -------------------------------------------------------------------------------


def cells(settings: Settings) -> Sequence[Cell]:
    makers = shapes(settings)
    # All problems of one shape follow each other: only its rows are in memory.
    made = lru_cache(maxsize=1)(lambda name: makers[name]())
    return [Cell("versions", lambda _: versions())] + [
        Cell(f"{name}/{share:g}/{kind}", partial(race, made, name, share, kind, settings), 40.0)
        for name in makers
        for kind in KINDS
        for share in SHARES
    ]


def race(
    made: Callable[[str], Rows], shape: str, share: float, kind: str, settings: Settings, _: Records
) -> Record:
    """The loosest tolerance at which each program arrives, and its seconds in turns."""
    warm_up()
    rows = made(shape)
    l1 = share * largest_l1(rows)
    task = Task(rows, ElasticNet(l1, KINDS[kind] * l1))
    exact = timed(OURS, task, EXACT)
    target = exact["objective"] + LEVEL * task.at_zero
    cap, runs, found = MOST_SECONDS, {}, {}
    solvers = {OURS.name: OURS, **PEERS, **CERTIFYING}
    for name, solver in solvers.items():
        if not solver.missing and solver.solves(task):
            runs[name] = loosest(solver, task, cap, target)
            arrived = [run for run in runs[name] if run.get("objective", np.inf) <= target]
            if arrived:
                found[name] = min(arrived, key=lambda run: run["seconds"])
        cap = max(PATIENCE * found[OURS.name]["seconds"], LEAST_SECONDS)
    check_certificates(task, [exact, *(run for each in runs.values() for run in each)])
    limit = NEAR * found[OURS.name]["seconds"]
    near = {name: run for name, run in found.items() if run["seconds"] <= limit}
    rounds = int(ROUNDS_SECONDS / sum(run["seconds"] for run in near.values()))
    seconds = {name: [run["seconds"]] for name, run in found.items() if name not in near}
    for repeat in range(max(3, min(settings.repeats, rounds))):
        for name in turns(list(near), repeat):
            again = timed(solvers[name], task, near[name]["dial"])
            seconds.setdefault(name, []).append(again["seconds"])
    return {
        "rows": rows.X.shape[0],
        "features": rows.X.shape[1],
        "nonzeros": exact["nonzeros"],
        "dials": {name: run["dial"] for name, run in found.items()},
        "seconds": seconds,
        "waited": {
            name: max(run.get("seconds", cap) for run in each)
            for name, each in runs.items()
            if name not in found
        },
        "failed": {
            name: run["why"]
            for name, each in runs.items()
            for run in each
            if run["outcome"] not in (DONE, STOPPED)
        },
    }


def loosest(solver: Solver, task: Task, cap: float, target: float) -> list[Record]:
    """The runs of a bisection for the loosest dial at which a program arrives within the cap."""
    runs: list[Record] = []
    low, high = 0, len(solver.dials) - 1
    while low <= high:
        middle = (low + high) // 2
        runs.append(caged(partial(timed, solver, task, solver.dials[middle]), cap))
        if runs[-1].get("objective", -np.inf) > target:
            low = middle + 1
        else:  # it arrived, took too long or failed
            high = middle - 1
    return runs


def timed(solver: Solver, task: Task, dial: float) -> Record:
    """A run in this process: its seconds, and what the weights are worth."""
    rows = solver.form(task)
    with warnings.catch_warnings():
        # A dial that is not exact does not converge; the objective tells.
        warnings.simplefilter("ignore")
        began = time.process_time()
        answer = solver.fit(rows, task, dial)
        seconds = time.process_time() - began
    return {
        "dial": dial,
        "seconds": seconds,
        "objective": task.objective(answer.coef),
        "nonzeros": int(np.count_nonzero(answer.coef)),
        "gap": answer.gap,
    }


def check_certificates(task: Task, runs: Sequence[Record]) -> None:
    """Refuse an objective below what the certificate of a run allows."""
    done = [run for run in runs if "objective" in run]
    least = min(run["objective"] for run in done)
    bound = max(run["objective"] - run["gap"] for run in done if run["gap"] is not None)
    if least < bound - 1e-12 * task.at_zero:
        raise ArithmeticError(f"no objective below {bound!r} is possible, {least!r} was found")


# --- reading ---------------------------------------------------------------------------------


class Races(Measured):
    """Who arrived, and when, problem by problem."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.problems = {key: self.records[key] for key in self.records if "/" in key}
        self.shapes = list(dict.fromkeys(key.split("/")[0] for key in self.problems))
        ran = {n for each in self.problems.values() for n in each["seconds"] | each["waited"]}
        self.names = [name for name in PEERS if name in ran]

    def of(self, shape: str, kind: str = "") -> list[str]:
        """The keys of the problems on rows of this shape."""
        return [k for k in self.problems if k.startswith(f"{shape}/") and k.endswith(kind)]

    def ratio(self, key: str, name: str, base: str = OURS.name) -> Spread | None:
        """How many times as long as ``base`` a program takes, or None."""
        seconds = self.problems[key]["seconds"]
        if name not in seconds or base not in seconds:
            return None
        slow, fast = seconds[name], seconds[base]
        return ratios(slow, fast) if len(slow) == len(fast) else Spread.of([slow[0] / median(fast)])

    def least(self, key: str, name: str, base: str = OURS.name) -> float | None:
        """The median ratio, or that of the time after which the program was stopped."""
        if (ratio := self.ratio(key, name, base)) is not None:
            return ratio.median
        waited = self.problems[key]["waited"].get(name)
        return waited / median(self.problems[key]["seconds"][base]) if waited else None

    def quickest(
        self, key: str, names: Sequence[str] | None = None, base: str = OURS.name
    ) -> tuple[float, str]:
        """The least ratio of all other programs, and the program that has it."""
        found = {n: self.least(key, n, base) for n in names or self.names}
        return min(((ratio, name) for name, ratio in found.items() if ratio), default=(np.inf, ""))

    def spread(self, keys: Sequence[str], name: str, base: str = OURS.name) -> Spread | None:
        """The geometric mean of the ratios of several problems, and their range."""
        return spread([least for key in keys if (least := self.least(key, name, base))])

    def cell(self, keys: Sequence[str], name: str, base: str = OURS.name) -> str:
        """The spread in a cell of a table; > where the program did not arrive somewhere."""
        found = self.spread(keys, name, base)
        stopped = any(name in self.problems[key]["waited"] for key in keys)
        return f"{'> ' if stopped else ''}{found}" if found else ""


def spread(values: Sequence[float]) -> Spread | None:
    """The geometric mean and the range.

    >>> print(spread([0.5, 1.0, 2.0]))
    1.00 (0.500 - 2.00)
    """
    return Spread(geometric_mean(values), min(values), max(values)) if values else None


# --- the page and the figure -----------------------------------------------------------------


def content(document: Mapping[str, Any]) -> Content:
    races = Races(document)
    found = races.records["versions"]
    ours, *others = CERTIFYING
    lines = {f"{s}, {kind}": races.of(s, kind) for s in races.shapes for kind in KINDS}
    failed = [
        f"{name} on {key} ({error})"
        for key, record in races.problems.items()
        for name, error in record["failed"].items()
    ]
    dots = {
        line: {name: dot for name in races.names if (dot := races.spread(keys, name))}
        for line, keys in lines.items()
    }
    return Content(
        finding(races),
        [
            f"DualNet is lazynet's `DualNetClassifier`. All programs minimise the mean logistic "
            f"loss with an l1 or elastic-net penalty, without intercept, on one thread "
            f"({_listed([f'{name} {version}' for name, version in found.items()])}). l1 is "
            f"{_listed([f'{share:g}' for share in SHARES])} of the smallest l1 at which every "
            f"weight is zero; an elastic net has l2 = {KINDS['elastic net']:g} l1. A program has "
            f"converged if its objective is at most {LEVEL:g} of the objective at zero weights "
            f"above the lowest objective (that of DualNet with the tolerance {EXACT:g}).",
            "Every program starts from zero weights, with several tolerances, two in each power "
            "of ten (saga: several numbers of epochs). A bisection finds the loosest tolerance at "
            "which it converges; the fastest run that converged counts. A user does not know this "
            "tolerance. adelie runs with the penalty alone, and with a path of penalties that ends "
            "there. cyanure chooses its solver, except for elastic nets: it uses qning-svrg, "
            "because the solver that it would choose stops above the minimum.",
            f"The times are processor seconds of the whole fit, medians of up to "
            f"{races.repeats} rounds in turns. A program that takes more than {NEAR:g} times as "
            f"long as DualNet runs once. A run is stopped after {PATIENCE:g} times DualNet's time, "
            f"but not before {LEAST_SECONDS:g} seconds; then the ratio is a lower bound, marked by "
            f">. The conversion of the rows to the format of a program is not counted.",
            "## Time of each program / time of DualNet",
            "Geometric means over the strengths of l1, with the range. Below one the program "
            "is faster than DualNet.",
            Table(
                ["", "fastest other", *races.names],
                [
                    [
                        line,
                        _listed(sorted({races.quickest(key)[1] for key in keys})),
                        *(races.cell(keys, name) for name in races.names),
                    ]
                    for line, keys in lines.items()
                ],
            ),
            f"Failed: {_listed(failed)}." if failed else "",
            "## A minimum with a certificate",
            f"DualNet stops when its duality gap is at most `tol` times the objective at zero "
            f"weights, and returns the gap (`duality_gap_`). celer has the same rule, for l1 "
            f"alone; `celer_path` returns the gap, its `LogisticRegression` does not. cyanure "
            f"stops at a gap of `tol` times the current objective, which is smaller, and returns "
            f"the objective and its lower bound in `optimization_info_`. skglm stops at the "
            f"largest violation of the conditions for the minimum (`stop_crit_`); liblinear, "
            f"adelie and saga have other tests. None of these four has a bound on the error. In "
            f"this table the three programs have the tolerance {LEVEL:g}. The first column is "
            f"DualNet's time divided by its time at its loosest tolerance; the others are divided "
            f"by DualNet's time with the proof.",
            Table(
                ["", "DualNet with a proof", *(f"{name} / DualNet" for name in (CELER, CYANURE))],
                [
                    [line, races.cell(keys, ours), *(races.cell(keys, n, ours) for n in others)]
                    for line, keys in lines.items()
                ],
            ),
            "## Every problem",
            "Nonzeros are those of the minimum, the seconds are DualNet's. The ratios are medians "
            "over the rounds, with the range.",
            Table(
                ["", "nonzeros", OURS.name, *races.names],
                [
                    [
                        key.replace("/", ", "),
                        f"{record['nonzeros']:,}",
                        duration(median(record["seconds"][OURS.name])),
                        *(races.ratio(key, name) or "" for name in races.names),
                    ]
                    for key, record in races.problems.items()
                ],
            ),
        ],
        [Dots("Seconds to the minimum", "times as long as DualNet", dots, across=1.0)],
        width=8.0,
    )


def finding(races: Races) -> str:
    """For which rows DualNet is faster than every other program, and for which it is not."""
    sides: dict[str, list[str]] = {
        "faster than every other program": [],
        "faster for some penalties and slower for others": [],
        "slower than the fastest other program": [],
    }
    ahead, either, behind = sides
    for shape in races.shapes:
        keys = races.of(shape)
        found = spread([races.quickest(key)[0] for key in keys])
        assert found is not None
        record = races.problems[keys[0]]
        side = ahead if found.least >= 1 else behind if found.most < 1 else either
        mean, least, most = (significant(v, 2) for v in (found.median, found.least, found.most))
        sides[side].append(
            f"{shape} ({record['rows']:,} x {record['features']:,}: {mean}, {least} - {most})"
        )
    told = [f"DualNet is {side} on {_listed(shapes)}." for side, shapes in sides.items() if shapes]
    keys = list(races.problems)
    won = sum(races.quickest(key)[0] >= 1 for key in keys)
    ours, *others = CERTIFYING
    proofs = [races.quickest(key, others, ours)[0] for key in keys]
    return (
        f"DualNet and {len(races.names)} other programs and settings search for the minimum of "
        f"the logistic loss with an l1 or elastic-net penalty. In brackets are the numbers of rows "
        f"and features, and the time of the fastest other program divided by that of DualNet: the "
        f"geometric mean over the penalties, and the range. {' '.join(told)} DualNet is the "
        f"fastest on {won} of {len(keys)} problems. Of the programs with a bound on the error "
        f"({CELER}, {CYANURE} and DualNet), it is the fastest to a proved minimum on "
        f"{sum(ratio >= 1 for ratio in proofs)} of {len(keys)}."
    )


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
