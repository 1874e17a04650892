"""Study ``optimum``: which program reaches the minimum of an l1 or elastic-net problem, how fast?

Every program, DualNet too, runs at the loosest tolerance at which it arrives; DualNet once more at
the tolerance that asks for a gap of ``LEVEL``.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from statistics import geometric_mean, median
from typing import Any

import numpy as np

from benchmarks.minima import Task, largest_l1
from benchmarks.programs.cage import DONE, MEMORY, STOPPED, caged
from benchmarks.shapes import shapes
from benchmarks.solvers import CERTIFIED, GLMNET, LEVEL, OURS, PEERS, Solver, versions, warm_up
from lazynet.penalties import ElasticNet
from paper_repro.measure import turns
from paper_repro.pages import Template
from paper_repro.render import Content, Dots, Table
from paper_repro.rows import Rows
from paper_repro.score import Spread, duration, ratios, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

PARTS = Template.beside(__file__)
#: The tolerance at which DualNet's objective counts as the least one.
EXACT = 1e-6
#: l1 as shares of the least l1 at which every weight is 0, and l2 as multiples of l1.
SHARES, PENALTIES = (0.1, 0.01), {"l1": 0.0, "elastic net": 0.1}
#: A run is stopped after PATIENCE times DualNet's time; what takes NEAR times as long runs once.
PATIENCE, NEAR = 10.0, 3.0
#: The least and the most seconds after which a run is stopped, and about how many seconds the
#: turns of one problem may take, in a quick run and in a full one.
LEAST_SECONDS, MOST_SECONDS, ROUNDS_SECONDS = 0.3, 600.0, {False: 1.5, True: 6.0}
#: A run of fewer seconds is repeated in its turn: the first finds the caches of another program.
SHORT = 0.05
#: The most bytes of a run, in units of the bytes of the rows.
MEMORY_OF_ROWS = 6


# --- measuring -------------------------------------------------------------------------------


def cells(settings: Settings) -> Sequence[Cell]:
    chosen = shapes(settings)

    # All problems of one shape follow each other: only its rows are in memory.
    @lru_cache(maxsize=1)
    def made(name: str) -> Rows:
        return chosen[name].rows(settings)

    def run(name: str, share: float, net: str, _: Records) -> Record:
        l1 = share * largest_l1(made(name))
        task = Task(made(name), ElasticNet(l1, PENALTIES[net] * l1))
        return {"kind": chosen[name].kind, **compare(task, settings)}

    return [Cell("versions", lambda _: versions())] + [
        Cell(f"{name}/{share:g}/{net}", partial(run, name, share, net), 12.0)
        for name in chosen
        for net in PENALTIES
        for share in SHARES
    ]


def compare(task: Task, settings: Settings) -> Record:
    """The loosest tolerance at which each program arrives, its seconds in turns, and its weights.

    ``supports`` are a program's nonzero weights, and the features that have a weight in the exact
    solution or in its own, and not in both.
    """
    warm_up()
    exact = timed(OURS, task, EXACT)
    target = exact["objective"] + LEVEL * task.at_zero
    cap, memory = MOST_SECONDS, max(MEMORY, MEMORY_OF_ROWS * task.bytes)
    found, waited, failed, done = {}, {}, {}, [exact]
    solvers = {OURS.name: OURS, CERTIFIED.name: CERTIFIED, **PEERS}
    for name, solver in solvers.items():
        if solver.missing or not solver.solves(task) or (name == GLMNET and not settings.full):
            continue
        runs = loosest(solver, task, cap, target, memory)
        done += [run for run in runs if run["outcome"] == DONE]
        arrived = [run for run in runs if run.get("objective", np.inf) <= target]
        if arrived:
            found[name] = min(arrived, key=lambda run: run["seconds"])
        elif any(run["outcome"] == STOPPED for run in runs):
            waited[name] = cap
        else:
            failed[name] = why(runs[-1], exact["objective"], task)
        if name == CERTIFIED.name:
            if waited or failed:
                raise ArithmeticError(f"DualNet does not converge: {waited or failed}")
            cap = max(PATIENCE * found[OURS.name]["seconds"], LEAST_SECONDS)
    check_certificates(task, done)
    limit = NEAR * found[OURS.name]["seconds"]
    near = {name: run for name, run in found.items() if run["seconds"] <= limit}
    rounds = int(ROUNDS_SECONDS[settings.full] / sum(run["seconds"] for run in near.values()))
    seconds = {name: [run["seconds"]] for name, run in found.items() if name not in near}
    for repeat in range(max(3, min(settings.repeats, rounds))):
        for name in turns(list(near), repeat):
            took = timed(solvers[name], task, near[name]["dial"])["seconds"]
            if took < SHORT:
                took = timed(solvers[name], task, near[name]["dial"])["seconds"]
            seconds.setdefault(name, []).append(took)
    support = exact["coef"] != 0
    supports = {name: run["coef"] != 0 for name, run in found.items()}
    return {
        "rows": task.X.shape[0],
        "features": task.X.shape[1],
        "nonzeros": int(support.sum()),
        "gap": found[CERTIFIED.name]["gap"] / task.at_zero,
        "dials": {name: run["dial"] for name, run in found.items()},
        "seconds": seconds,
        "supports": {n: [int(s.sum()), int((s != support).sum())] for n, s in supports.items()},
        "waited": waited,
        "failed": failed,
    }


def loosest(
    solver: Solver, task: Task, cap: float, target: float, memory: int = MEMORY
) -> list[Record]:
    """The runs of a bisection for the loosest dial at which a program arrives within the cap."""
    runs: list[Record] = []
    low, high = 0, len(solver.dials) - 1
    while low <= high:
        middle = (low + high) // 2
        runs.append(caged(partial(timed, solver, task, solver.dials[middle]), cap, memory))
        if runs[-1].get("objective", -np.inf) > target:
            low = middle + 1
        else:  # it arrived, took too long or failed
            high = middle - 1
    return runs


def timed(solver: Solver, task: Task, dial: float) -> Record:
    """A run in this process: its seconds, its weights, and what they are worth."""
    rows = solver.form(task)
    with warnings.catch_warnings():
        # A dial that is not exact does not converge; the objective tells.
        warnings.simplefilter("ignore")
        began = time.process_time()
        answer = solver.fit(rows, task, dial)
        seconds = time.process_time() - began
    return {
        "dial": dial,
        "seconds": seconds if answer.seconds is None else answer.seconds,
        "objective": task.objective(answer.coef),
        "coef": answer.coef,
        "gap": answer.gap,
    }


def why(run: Record, least: float, task: Task) -> str:
    """Why a program does not arrive at any tolerance, by its most exact run."""
    if run["outcome"] != DONE:
        return str(run["why"])
    above = (run["objective"] - least) / task.at_zero
    return f"another minimum, {above:.2g} of the objective at zero weights above the lowest one"


def check_certificates(task: Task, runs: Sequence[Record]) -> None:
    """Refuse an objective below what the certificate of a run allows."""
    least = min(run["objective"] for run in runs)
    bound = max(run["objective"] - run["gap"] for run in runs if run["gap"] is not None)
    if least < bound - 1e-12 * task.at_zero:
        raise ArithmeticError(f"no objective below {bound!r} is possible, {least!r} was found")


# --- reading ---------------------------------------------------------------------------------


class Times(Measured):
    """The times of all programs to the minimum, problem by problem."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.problems = {key: self.records[key] for key in self.records if "/" in key}
        self.kinds = list(dict.fromkeys(each["kind"] for each in self.problems.values()))
        ran = {n for r in self.problems.values() for n in r["seconds"] | r["waited"] | r["failed"]}
        self.names = [name for name in PEERS if name in ran]

    def of(self, kind: str, penalty: str = "") -> list[str]:
        """The keys of the problems on rows of this kind."""
        problems = self.problems.items()
        return [key for key, r in problems if r["kind"] == kind and key.endswith(penalty)]

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

    def best(self, keys: Sequence[str], base: str = OURS.name) -> Spread | None:
        """The ratios of the fastest other program on each problem: geometric mean and range."""
        return spread([self.quickest(key, base=base)[0] for key in keys])

    def spread(self, keys: Sequence[str], name: str) -> Spread | None:
        """The geometric mean of the ratios of several problems, and their range."""
        return spread([least for key in keys if (least := self.least(key, name))])

    def cell(self, keys: Sequence[str], name: str) -> str:
        """The ratio on one problem or on several; > where the program was stopped."""
        found = self.ratio(keys[0], name) if len(keys) == 1 else None
        if (shown := found or self.spread(keys, name)) is None:
            return "failed" if any(name in self.problems[key]["failed"] for key in keys) else ""
        return f"{'> ' if any(name in self.problems[key]['waited'] for key in keys) else ''}{shown}"

    def worst(self, keys: Sequence[str]) -> str:
        """The problem on which the fastest other program is best, with the ratio."""
        (ratio, name), key = min((self.quickest(key), key) for key in keys)
        return f"{shown(key)} ({name}: {significant(ratio, 2)})"


def spread(values: Sequence[float]) -> Spread | None:
    """The geometric mean and the range.

    >>> print(spread([0.5, 1.0, 2.0]))
    1.00 (0.500 - 2.00)
    """
    finite = [value for value in values if math.isfinite(value)]
    return Spread(geometric_mean(finite), min(finite), max(finite)) if finite else None


# --- the page and the figure -----------------------------------------------------------------


def content(document: Mapping[str, Any]) -> Content:
    times = Times(document)
    names, found, problems = times.names, times.records["versions"], times.problems
    by_kind = {kind: times.of(kind) for kind in times.kinds}
    lines = {f"{kind}, {net}": times.of(kind, net) for kind in times.kinds for net in PENALTIES}
    failed = [
        f"- {name} on {shown(key)}: {error}."
        for key, record in problems.items()
        for name, error in record["failed"].items()
    ]
    kinds = [
        [kind, len(keys), times.best(keys), times.worst(keys), times.best(keys, CERTIFIED.name)]
        for kind, keys in by_kind.items()
    ]
    programs = [[line, *(times.cell(keys, n) for n in names)] for line, keys in lines.items()]
    seconds, weights = [], []
    for key, record in problems.items():
        size = f"{record['rows']:,} x {record['features']:,}"
        ours = duration(median(record["seconds"][OURS.name]))
        proof, gap = times.cell([key], CERTIFIED.name), f"{record['gap']:.1e}"
        ratios_of_all = (times.cell([key], name) for name in names)
        seconds.append([shown(key), size, ours, proof, gap, times.quickest(key)[1], *ratios_of_all])
        counts = (_support(record["supports"].get(name)) for name in (OURS.name, *names))
        weights.append([shown(key), f"{record['nonzeros']:,}", *counts])
    dots = {
        line: {name: dot for name in names if (dot := times.spread(keys, name))}
        for line, keys in lines.items()
    }
    told = {
        "shares": _listed([f"{share:g}" for share in SHARES]),
        "versions": _listed([f"{name} {number}" for name, number in found["versions"].items()]),
        "missing": _listed([f"{n} ({w})" for n, w in found["missing"].items()]) or "none",
    }
    limits = {"near": NEAR, "patience": PATIENCE, "least": LEAST_SECONDS, "short": SHORT}
    net = PENALTIES["elastic net"]
    return Content(
        finding(times),
        [
            PARTS(
                "setting",
                net=net,
                level=LEVEL,
                exact=EXACT,
                repeats=times.repeats,
                **told,
                **limits,
            ),
            PARTS("kinds", level=LEVEL),
            Table(["", "problems", "fastest other", "worst problem", "with a proof"], kinds),
            "## Time of each program / time of DualNet",
            Table(["", *names], programs),
            PARTS("problems"),
            Table(["", "size", OURS.name, "with a proof", "gap", "fastest other", *names], seconds),
            PARTS("weights", exact=EXACT),
            Table(["", "minimum", OURS.name, *names], weights),
            "\n".join(["## Failed", "", *failed]) if failed else "",
        ],
        [Dots("Other programs to the minimum", "times as long as DualNet", dots, across=1.0)],
        width=8.0,
    )


def finding(times: Times) -> str:
    """How much faster than every other program DualNet is on each kind of rows, and where not."""
    keys, bests = list(times.problems), {kind: times.best(times.of(kind)) for kind in times.kinds}
    means = [f"{kind} {significant(best.median, 2)}" for kind, best in bests.items() if best]
    won, proved = (
        sum(times.quickest(key, base=base)[0] >= 1 for key in keys)
        for base in (OURS.name, CERTIFIED.name)
    )
    counts = {"programs": len(times.names), "problems": len(keys), "won": won, "proved": proved}
    return PARTS("finding", means=_listed(means), worst=times.worst(keys), **counts)


def shown(key: str) -> str:
    """The name of a problem in words."""
    return key.replace("/", ", ")


def _support(found: Sequence[int] | None) -> str:
    return f"{found[0]:,}{f' ({found[1]:,})' if found[1] else ''}" if found else ""


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
