"""Part (a) of the study ``peers``: are the weights those of the dense rule that is described?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.programs import present
from benchmarks.programs.base import ANY, LASSO, NET, NONE, RIDGE, Array, How, Peer
from benchmarks.programs.cage import caged
from benchmarks.programs.dense import RULES
from lazynet.penalties import ElasticNet
from paper_repro.minima import LOGISTIC, SQUARED_HINGE, Task
from paper_repro.rows import Rows
from paper_repro.solvers.own import dual_net
from paper_repro.study import Cell, Record, Records, Settings

PART = "exactness"
#: Rows, features and nonzeros of a row.
_ROWS, _FEATURES, _NONZEROS = 300, 60, 8
STRENGTHS = {NONE: (0.0, 0.0), LASSO: (0.005, 0.0), RIDGE: (0.0, 0.005), NET: (0.005, 0.005)}
#: The constant rate of all steps, the rows of a chunk, and the tolerance of the minimum.
RATE, CHUNK, EXACT = 0.25, 7, 1e-13
#: Seconds that one peer may take.
_SECONDS = 120.0


def cells(settings: Settings) -> Sequence[Cell]:
    return [
        Cell(f"{PART}/{name}", partial(measured, name, settings.seed), 2.0) for name in present()
    ]


@lru_cache(maxsize=1)
def rows_of(seed: int) -> Rows:
    """Few rows with a planted model, of which half to learn from; float32 holds every value."""
    generator = np.random.default_rng(seed)
    values = generator.random(_ROWS * _NONZEROS).astype(np.float32).astype(np.float64)
    columns = generator.integers(0, _FEATURES, len(values))
    X = sparse.csr_matrix(
        (values, columns, np.arange(0, len(values) + 1, _NONZEROS)), shape=(_ROWS, _FEATURES)
    )
    X.sum_duplicates()
    X.data = X.data.astype(np.float32).astype(np.float64)
    margins = X @ generator.standard_normal(_FEATURES)
    y = np.where(margins + 0.3 * generator.standard_normal(_ROWS) > 0, 1.0, -1.0)
    return Rows(X, y, X, y, f"generated from seed {seed}")


def task_of(peer: Peer, rows: Rows, kind: str) -> Task:
    loss = LOGISTIC if LOGISTIC in peer.losses else SQUARED_HINGE
    return Task(rows, loss, ElasticNet(*STRENGTHS[kind]))


def measured(name: str, seed: int, _: Records) -> Record:
    """All comparisons of one peer, in a process of its own."""
    peer, rows = present()[name], rows_of(seed)
    return caged(partial(compared, peer, rows), _SECONDS)


def compared(peer: Peer, rows: Rows) -> Record:
    found: Record = {}
    tasks = {kind: task_of(peer, rows, kind) for kind in ANY}
    taken = {kind: task for kind, task in tasks.items() if peer.refuses(task) is None}
    if peer.has_rate and peer.losses[0] == LOGISTIC:
        found["rules"] = {kind: against_rules(peer, task) for kind, task in taken.items()}
    if peer.to_minimum:
        found["minimum"] = {kind: against_minimum(peer, task) for kind, task in taken.items()}
    last = list(taken.values())[-1]
    how = one_pass(peer)
    whole = peer.solved(last, how)
    chunks = peer.by_chunks(last, how, CHUNK)
    found["chunks"] = None if chunks is None else difference(chunks, whole)
    found["average"] = average(peer, last) if peer.averages else None
    found["array"] = against_array(peer, last, how, whole)
    return found


def one_pass(peer: Peer) -> How:
    if not peer.orders or peer.to_minimum:
        return How(tol=min(peer.dials)) if not peer.dials_are_passes else How(passes=30)
    return How(passes=1, rate=RATE if peer.has_rate else None, constant=True)


def against_rules(peer: Peer, task: Task) -> dict[str, float]:
    """How far the weights after one pass are from those of each dense rule."""
    found = peer.solved(task, How(passes=1, rate=RATE, constant=True))
    return {name: difference(found, rule(task, RATE)[-1]) for name, rule in RULES.items()}


def against_minimum(peer: Peer, task: Task) -> dict[str, float]:
    """The objective above the minimum, in units of the objective at zero weights."""
    dial = max(peer.dials) * 100 if peer.dials_are_passes else min(peer.dials)
    how = How(passes=int(dial)) if peer.dials_are_passes else How(tol=dial)
    found = peer.solved(task, how)
    least = dual_net(task, EXACT).fit(task.X, task.y).coef_.ravel()
    above = task.objective(found) - task.objective(least)
    return {"excess": above / task.at_zero, "weights": difference(found, least)}


def average(peer: Peer, task: Task) -> float:
    """The average that the peer tells, against the mean of its own weights after every step."""
    how = How(passes=1, rate=RATE, constant=True)
    iterates = []
    for k in range(1, len(task.y) + 1):
        rows = replace(task.rows, X=task.X[:k], y=task.y[:k])
        weights = peer.by_chunks(replace(task, rows=rows), how, k)
        assert weights is not None
        iterates.append(weights)
    told = peer.by_chunks(task, replace(how, average=True), len(task.y))
    assert told is not None
    return difference(told, np.mean(iterates, axis=0))


def against_array(peer: Peer, task: Task, how: How, whole: Array) -> float | str | None:
    """CSR rows against the same rows as an array; None where it knows no arrays."""
    if not peer.takes_arrays:
        return None
    rows = replace(task.rows, X=task.X.toarray())
    try:
        return difference(peer.solved(replace(task, rows=rows), how), whole)
    except Exception as error:  # what a peer says is told
        return f"{type(error).__name__}: {str(error)[:100]}"


def difference(found: Array, expected: Array) -> float:
    """The greatest difference in units of the largest weight."""
    largest = float(np.abs(expected).max()) or 1.0
    apart = float(np.abs(found - expected).max()) / largest
    return apart if np.isfinite(apart) else 1e300


# --- reading what was measured ---------------------------------------------------------------

#: Differences below the first are rounding in float64, below the second in float32.
EQUAL, SINGLE = 1e-10, 1e-4


def in_words(value: Any) -> str:
    """A difference as a word and a number."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return f"refused ({value})"
    if value <= EQUAL:
        return f"equal ({value:.0e})"
    return f"equal in float32 ({value:.0e})" if value <= SINGLE else f"differs by {value:.1e}"


def nearest(rules: Mapping[str, float]) -> tuple[str, float]:
    name = min(rules, key=rules.__getitem__)
    return name, rules[name]
