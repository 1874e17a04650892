"""Study ``stability``: fewer features, and the same ones again?

Ma & Zheng's comparison, rerun.  Plain SGD, truncated gradient, FoBoS, RDA and stabilised truncated
SGD are tuned by one protocol and then trained under many random orders of the rows, with hinge and
logistic loss.  The study measures

1. test error, nonzeros, and Cohen's kappa of the features that two runs choose;
2. the number of nonzeros over the last updates of a run (the paper's Figure 1);
3. what the stability threshold pi0 and the annealing gamma change, with all else as tuned.

Stabilised truncated SGD is two algorithms: the one that ``lazynet.reference.stabilised``
reconstructs from the text of the paper, and the one that the program of its authors computes
(``released_reference``).  Both take part; ``released_program`` runs the latter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from lazynet import InverseSqrt, StabilisedSGDClassifier
from lazynet.data.arrays import as_examples
from lazynet.engines.stabilised import StabilisedEngine, Stages
from lazynet.engines.threads import Workers
from lazynet.losses import get_loss
from lazynet.parameters import kinds_of
from paper_repro.planted import rows_of
from paper_repro.rows import Rows
from paper_repro.studies.released_program import Path, ReleasedClassifier, ReleasedProgram
from paper_repro.studies.tuning import (
    METHODS,
    PASSES,
    RELEASED,
    RELEASED_EXAMPLE,
    SMALL,
    STABILISED,
    TUNED,
    quietly,
    search,
    settings_of_a_parameter,
)
from paper_repro.study import Cell, Record, Records, Settings

LOSSES = {"hinge": "hinge", "log_loss": "logistic"}
#: Random orders under which the chosen settings are trained, and updates at the end of a run after
#: which nonzeros are counted.
RUNS, UPDATES = 50, 1000
#: The orders for each value of one parameter, with the other parameters as tuned, and the values.
SWEEP_RUNS = 5
SWEEPS: dict[str, tuple[float, ...]] = {
    "stability": (0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
    "annealing": (-9.0, -5.0, -1.0, 0.0, 1.0, 5.0, 9.0),
}
#: Test rows, or groups of them, whose errors are recorded.
MOST_ROWS = 10_000
#: The share of the runs that must choose a feature for the feature to count as chosen again.
AGAIN = 0.9
#: For each share, the study records how many features this share of the runs or more chooses.
SHARES = tuple(k / 20 for k in range(1, 21))


def cells(settings: Settings) -> Sequence[Cell]:
    pairs = list(product(LOSSES, methods_of(settings)))
    return [
        Cell("rows", partial(describe, settings)),
        *(
            Cell(f"tuning/{loss}/{name}", partial(tuned, settings, loss, name), 2.5)
            for loss, name in pairs
        ),
        *(
            Cell(f"runs/{loss}/{name}", partial(runs, settings, loss, name), 2.5)
            for loss, name in pairs
        ),
        *(
            Cell(f"updates/{loss}/{name}", partial(updates, settings, loss, name), 0.7)
            for loss, name in pairs
            if name in TUNED
        ),
        *(
            Cell(f"sweep/{loss}/{name}", partial(sweep, settings, loss, name), 5.0)
            for loss, name in pairs
            if name in STABILISED
        ),
    ]


def methods_of(settings: Settings) -> list[str]:
    """All methods; the released program, whose updates visit all weights, only on small data."""
    small = problem(settings).X.nnz <= SMALL
    return [name for name in METHODS if small or name not in (RELEASED, RELEASED_EXAMPLE)]


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
    """All trials of a method, the chosen one, and the ranges at the end of the search."""
    rows = problem(settings)
    n_settings = settings_of_a_parameter(rows.X.nnz, full=settings.full)
    found = search(name, loss, rows.X, rows.y, settings.seed, n_settings)
    return {
        "chosen": found.chosen,
        "standard error": found.spread,
        "ranges": {name: [each.low, each.high] for name, each in found.ranges.items()},
        "widenings": found.widenings,
        "at a bound": found.at_a_bound,
        "trials": [asdict(trial) for trial in found.trials],
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
        "wrong": misjudged(report.row_losses),
        "chosen in": [int((report.frequency >= share - 1e-9).sum()) for share in SHARES],
    }
    if rows.mattering is not None:
        mostly = report.frequency >= 0.5
        found["mattering chosen"] = int(mostly[rows.mattering].sum())
        found["others chosen"] = int(mostly.sum()) - found["mattering chosen"]
    return found


def misjudged(row_losses: NDArray[np.float64]) -> list[float]:
    """By test row how many of the runs misjudge it; of very many rows the means of groups."""
    if len(row_losses) <= MOST_ROWS:
        return [round(loss * RUNS) for loss in row_losses.tolist()]
    groups = (row_losses[first::MOST_ROWS].mean() for first in range(MOST_ROWS))
    return [round(float(mean) * RUNS, 6) for mean in groups]


def sweep(settings: Settings, loss: str, name: str, records: Records) -> Record:
    """Error, nonzeros and kappa for every value of one parameter, the others as tuned."""
    rows, chosen = problem(settings), chosen_parameters(records, loss, name)
    found: Record = {}
    for parameter, values in SWEEPS.items():
        found[parameter] = []
        for value in values:
            report = quietly(
                METHODS[name].make(loss, {**chosen, parameter: value}),
                rows.X, rows.y, rows.X_test, rows.y_test,
                n_runs=SWEEP_RUNS, seed=settings.seed + 2,
            )  # fmt: skip
            found[parameter].append(
                {
                    "value": value,
                    "error": float(report.errors.mean()),
                    "nonzeros": float(report.nonzeros.mean()),
                    "kappa": float(report.kappas.mean()),
                }
            )
    return found


def updates(settings: Settings, loss: str, name: str, records: Records) -> Record:
    """Nonzeros after each of the last updates of one run; stabilised SGD counts its first path."""
    rows = problem(settings)
    model = METHODS[name].make(loss, chosen_parameters(records, loss, name))
    if name == RELEASED:
        return {"nonzeros": updates_of_a_released_path(model, rows)}
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
    # ``fit`` draws the same seeds for its paths with random_state=0.
    seeds = np.random.SeedSequence(int(check_random_state(0).randint(2**31))).spawn(model.n_paths)
    chosen = model.get_params()
    occurs = np.zeros(rows.X.shape[1], dtype=bool)
    occurs[rows.X.indices[rows.X.data != 0.0]] = True
    engine = StabilisedEngine(
        as_examples(rows.X, rows.y),
        get_loss(model.loss),
        Stages(**{name: chosen[name] for name in kinds_of(Stages)}),
        InverseSqrt(chosen["eta0"]),
        [np.random.default_rng(seed) for seed in seeds],
        occurs,
    )
    n_steps = model.max_iter * len(rows.y)
    with Workers(1) as workers:
        while engine.t < n_steps and engine.n_stable:
            engine.take_stage(
                workers,
                n_steps,
                lambda: counts.append(int(np.count_nonzero(engine.paths[0].weights()))),
            )
    return list(counts)


class _CountedProgram(ReleasedProgram):
    """The program, and the nonzeros of its first path after each of the last draws."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.counts: deque[int] = deque(maxlen=UPDATES)

    def draw(self, path: Path) -> bool:
        updated = super().draw(path)
        if path is self.paths[0]:
            self.counts.append(int(np.count_nonzero(path.weights)))
        return updated

    def truncate(self, path: Path) -> None:
        super().truncate(path)
        if path is self.paths[0]:
            self.counts[-1] = int(np.count_nonzero(path.weights))


def updates_of_a_released_path(model: ReleasedClassifier, rows: Rows) -> list[int]:
    """Nonzeros of the first path after each of its last draws."""
    model.set_params(random_state=0)
    program = _CountedProgram(model, rows.X, rows.y, model.generators())
    deque(program.bursts(), maxlen=0)
    return list(program.counts)
