"""Study ``exactness``: are the weights of a program those of the dense rule that it describes?

Few rows at a constant rate, beside dense rules in plain NumPy that update every weight at every
row.  Programs that go to the minimum are compared with lazynet's certified minimum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.programs import participants, present
from benchmarks.programs.base import ANY, LASSO, NET, NONE, RIDGE, Array, How, Peer
from benchmarks.programs.cage import DONE, caged
from benchmarks.programs.dense import RULES
from benchmarks.programs.own import FoBoS
from benchmarks.programs.river_rows import River
from benchmarks.programs.sgd import SGD
from benchmarks.programs.wabbit import Plain
from lazynet.penalties import ElasticNet
from paper_repro.minima import LOGISTIC, SQUARED_HINGE, Task
from paper_repro.render import Content, Dots, Table
from paper_repro.rows import Rows
from paper_repro.solvers.own import dual_net
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Rows, features and nonzeros of a row.
_ROWS, _FEATURES, _NONZEROS = 300, 60, 8
STRENGTHS = {NONE: (0.0, 0.0), LASSO: (0.005, 0.0), RIDGE: (0.0, 0.005), NET: (0.005, 0.005)}
#: The constant rate of all steps, the rows of a chunk, and the tolerance of the minimum.
RATE, CHUNK, EXACT = 0.25, 7, 1e-13
#: Seconds that one program may take.
_SECONDS = 120.0
#: The dense rule that a program's documentation describes.
DESCRIBED = {
    FoBoS.name: "proximal steps",
    SGD.name: "cumulative l1 of the row's features",
    Plain.name: "decay and truncation",
    River.name: "cumulative l1 of the row's features",
}
#: Differences below the first are rounding in float64, below the second in float32.
EQUAL, SINGLE = 1e-10, 1e-4
#: The least difference that the figure can show.
_LEAST = 1e-16


def cells(settings: Settings) -> Sequence[Cell]:
    return [
        Cell("setting", lambda _: participants(), 20.0),
        *(Cell(name, partial(measured, name, settings.seed), 2.0) for name in present()),
    ]


@lru_cache(maxsize=1)
def rows_of(seed: int) -> Rows:
    """Few rows with a planted model; float32 holds every value."""
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


def measured(name: str, seed: int, _: Records) -> Record:
    """All comparisons of one program, in a process of its own."""
    return caged(partial(compared, present()[name], rows_of(seed)), _SECONDS)


def compared(peer: Peer, rows: Rows) -> Record:
    loss = LOGISTIC if LOGISTIC in peer.losses else SQUARED_HINGE
    tasks = {kind: Task(rows, loss, ElasticNet(*STRENGTHS[kind])) for kind in ANY}
    taken = {kind: task for kind, task in tasks.items() if peer.refuses(task) is None}
    found: Record = {}
    if peer.has_rate and loss == LOGISTIC:
        found["rules"] = {kind: against_rules(peer, task) for kind, task in taken.items()}
    if peer.to_minimum:
        found["minimum"] = {kind: excess(peer, task) for kind, task in taken.items()}
    how = How(passes=1, rate=RATE if peer.has_rate else None, constant=True)
    last = list(taken.values())[-1]
    chunks = peer.by_chunks(last, how, CHUNK)
    found["chunks"] = None if chunks is None else difference(chunks, peer.solved(last, how))
    return found


def against_rules(peer: Peer, task: Task) -> dict[str, float]:
    """How far the weights after one pass are from those of each dense rule."""
    found = peer.solved(task, How(passes=1, rate=RATE, constant=True))
    return {name: difference(found, rule(task, RATE)[-1]) for name, rule in RULES.items()}


def excess(peer: Peer, task: Task) -> float:
    """The objective above the minimum, in units of the objective at zero weights."""
    found = peer.solved(task, peer.most_exact)
    least = dual_net(task, EXACT).fit(task.X, task.y).coef_.ravel()
    return (task.objective(found) - task.objective(least)) / task.at_zero


def difference(found: Array, expected: Array) -> float:
    """The greatest difference in units of the largest weight."""
    apart = float(np.abs(found - expected).max()) / (float(np.abs(expected).max()) or 1.0)
    return apart if np.isfinite(apart) else 1e300


def in_words(value: float | None) -> str:
    """A difference as a word and a number."""
    if value is None:
        return "-"
    if value <= EQUAL:
        return f"equal ({value:.0e})"
    return f"equal in float32 ({value:.0e})" if value <= SINGLE else f"differs by {value:.1e}"


def content(document: Mapping[str, Any]) -> Content:
    records = Measured(document).records
    done = {name: each for name, each in records.items() if each.get("outcome") == DONE}
    rules, apart = [], {}
    for name, described in DESCRIBED.items():
        for kind, differences in done.get(name, {}).get("rules", {}).items():
            nearest = min(differences, key=differences.__getitem__)
            own = differences[described]
            other = "" if own <= SINGLE else f"{nearest}: {in_words(differences[nearest])}"
            rules.append([name, kind, described, in_words(own), other])
            apart[f"{name}, {kind}"] = {described: max(own, _LEAST)}
    minimum = [
        [name, *(f"{max(0.0, each['minimum'][k]):.1e}" if k in each["minimum"] else "-"
                 for k in (LASSO, RIDGE, NET))]
        for name, each in done.items()
        if "minimum" in each
    ]  # fmt: skip
    same = [name for name in DESCRIBED if _follows(done, name)]
    return Content(
        f"With a penalty, {len(same)} of {len(DESCRIBED)} programs follow the rule that their "
        f"documentation describes: {' and '.join(same) or 'none'}.",
        [
            records["setting"]["text"],
            f"One pass over {_ROWS} rows at the constant rate {RATE:g}, logistic loss, beside "
            "dense rules in plain NumPy that update every weight at every row: the greatest "
            "difference in units of the largest weight. Where another dense rule gives the "
            "program's weights, the program follows a different rule.",
            Table(["", "penalty", "described", "beside it", "the nearest dense rule"], rules),
            f"One pass in chunks of {CHUNK} rows, beside one pass in one piece:",
            Table(
                ["", "chunks"],
                [[n, in_words(e["chunks"])] for n, e in done.items() if e["chunks"] is not None],
            ),
            "Programs that go to the minimum, at their least tolerance here: the objective above "
            "lazynet's certified minimum, in units of the objective at zero weights.",
            Table(["", LASSO, RIDGE, NET], minimum),
        ],
        [Dots("Beside the rule that is described", "difference of the weights", apart)],
    )


def _follows(done: Mapping[str, Record], name: str) -> bool:
    rules = done.get(name, {}).get("rules", {})
    apart = [each[DESCRIBED[name]] for kind, each in rules.items() if kind != NONE]
    return bool(apart) and max(apart) <= SINGLE
