"""Study ``released``: does stabilised truncated SGD, as its authors released it, come out the same?

Ma & Zheng's own program was run under R on its own data, Dexter, with its own parameters, for the
seeds 1 to 20.  (One line had to be repaired: a helper returns a vector, and its caller takes a
field of a list.)  This study runs the algorithm of ``released_reference`` with these parameters,
under as many seeds, and compares the figures.  The draws are not the draws of R: means are
compared, not runs.

    python -m paper_repro released --full --data dexter.train.svm.gz dexter.test.svm.gz

Other rows can be given, or none; then nothing is compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_repro import sources
from paper_repro.pages import Template, table
from paper_repro.planted import rows_of
from paper_repro.render import Content, Curves
from paper_repro.rows import Rows
from paper_repro.score import significant
from paper_repro.studies.released_program import ReleasedClassifier, ReleasedProgram
from paper_repro.study import Cell, Measured, Record, Records, Settings

PAGE = Template.beside(__file__)
SEEDS = 20
#: Means may differ by so many standard errors of their difference.
ERRORS_APART = 3.0
#: The shape of the training rows of Dexter.
DEXTER = (300, 7_751)


@dataclass(frozen=True)
class Published:
    """What the authors' program gives under R: mean and standard deviation over the seeds 1 - 20.

    The standard deviation is None where it was not noted.
    """

    mean: float
    deviation: float | None


ERROR, NONZEROS, LEFT = "test error", "nonzeros", "features left"
LEAST, MEAN_ERROR = "least test error", "test error of the mean"
MEAN_NONZEROS, BURSTS = "nonzeros of the mean", "bursts"
RELEASED: dict[str, Published] = {
    ERROR: Published(0.147, 0.012),
    NONZEROS: Published(80.0, 8.4),
    LEFT: Published(82.0, None),
    LEAST: Published(0.1195, None),
}
WHAT = {
    ERROR: "test error of a path after the last burst",
    NONZEROS: "nonzeros of a path after the last burst",
    LEFT: "features that are left in the last stage",
    LEAST: "least test error over all bursts and paths",
    MEAN_ERROR: "test error of the mean of the paths",
    MEAN_NONZEROS: "nonzeros of the mean of the paths",
    BURSTS: "bursts of a path",
}


def cells(settings: Settings) -> Sequence[Cell]:
    return [Cell("runs", partial(runs, settings))]


# --- measuring -------------------------------------------------------------------------------


def runs(settings: Settings, _: Records) -> Record:
    """Every figure for every seed, and the errors of the paths after every burst."""
    rows = rows_of(settings)
    found: dict[str, list[Any]] = {name: [] for name in WHAT}
    bursts = []
    for seed in range(1, SEEDS + 1):
        one, errors = run(rows, seed)
        bursts.append(errors)
        for name, value in one.items():
            found[name].append(value)
    return {
        "origin": rows.origin,
        "train": len(rows.y),
        "test": len(rows.y_test),
        "features": rows.X.shape[1],
        "found": found,
        "errors after bursts": bursts,
    }


def run(rows: Rows, seed: int) -> tuple[dict[str, float], list[float]]:
    """The figures of one run, and the mean error of the paths after each of their bursts."""
    model = ReleasedClassifier()
    generators = [np.random.default_rng([seed, path]) for path in range(model.n_paths)]
    program = ReleasedProgram(model, rows.X, rows.y, generators)
    errors: list[list[float]] = [[] for _ in range(model.n_paths)]
    for path in program.bursts():
        errors[path].append(error(program.weights()[path], rows))
    after, weights = np.array(errors), program.weights()
    mean = weights.mean(axis=0)
    return {
        ERROR: float(after[:, -1].mean()),
        NONZEROS: float(np.mean([np.count_nonzero(w) for w in weights])),
        LEFT: float(len(program.left)),
        LEAST: float(after.min()),
        MEAN_ERROR: error(mean, rows),
        MEAN_NONZEROS: float(np.count_nonzero(mean)),
        BURSTS: float(after.shape[1]),
    }, after.mean(axis=0).tolist()


def error(weights: NDArray[np.float64], rows: Rows) -> float:
    """The share of the test rows that are not on the right side; 0 is on no side, as there."""
    return float(np.mean(rows.y_test * (rows.X_test @ weights) <= 0))


# --- reading what was measured ---------------------------------------------------------------


class Runs(Measured):
    """The figures by name, and what they are compared with."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.record = self.records["runs"]
        self.found = {name: np.array(values) for name, values in self.record["found"].items()}
        self.comparable = (self.record["train"], self.record["features"]) == DEXTER

    def standard_error(self, name: str) -> float:
        values = self.found[name]
        return float(values.std(ddof=1)) / math.sqrt(len(values))

    def apart(self, name: str) -> float:
        """By how many standard errors of the difference the two means differ."""
        there = RELEASED[name]
        spread = self.standard_error(name)
        if there.deviation is not None:
            spread = math.hypot(spread, there.deviation / math.sqrt(SEEDS))
        difference = abs(float(self.found[name].mean()) - there.mean)
        return difference / spread if spread else math.inf * (difference > 0)

    @property
    def means_beside_theirs(self) -> dict[str, float]:
        """The mean error and the mean nonzeros of a path, here and in the authors' program."""
        error, nonzeros = (float(self.found[name].mean()) for name in (ERROR, NONZEROS))
        theirs, their_nonzeros = (RELEASED[name].mean for name in (ERROR, NONZEROS))
        return dict(error=error, theirs=theirs, nonzeros=nonzeros, their_nonzeros=their_nonzeros)


# --- the page --------------------------------------------------------------------------------


def content(document: Mapping[str, Any]) -> Content:
    found = Runs(document)
    page = PAGE(
        "page",
        train=found.record["train"],
        test=found.record["test"],
        features=found.record["features"],
        origin=found.record["origin"],
        seeds=SEEDS,
        sources=sources.told(document),
        comparison=comparison(found) if found.comparable else PAGE("not compared"),
        figures=figures_table(found),
    )
    return Content(finding(found), [page], panels(found), legend=False)


def finding(found: Runs) -> str:
    """Whether the figures are those of the authors' program, in a sentence."""
    if not found.comparable:
        return PAGE("no finding")
    far = [name for name in RELEASED if found.apart(name) > ERRORS_APART]
    same = PAGE("the same" if not far else "not the same")
    return PAGE("finding", same=same, **found.means_beside_theirs)


def comparison(found: Runs) -> str:
    """Which means are within ``ERRORS_APART`` standard errors, in words."""
    far = [name for name in RELEASED if found.apart(name) > ERRORS_APART]
    verdict = PAGE("all near") if not far else PAGE("far", which=", ".join(far))
    return PAGE("compared", errors=ERRORS_APART, verdict=verdict)


def figures_table(found: Runs) -> str:
    """Every figure here, with the authors' figure."""

    def shown(name: str, value: float) -> str:
        return f"{value:.2%}" if "error" in name else significant(value)

    rows = []
    for name, what in WHAT.items():
        values = found.found[name]
        cells = [
            what,
            shown(name, float(values.mean())),
            shown(name, float(values.std(ddof=1))),
            shown(name, found.standard_error(name)),
        ]
        if found.comparable and name in RELEASED:
            there = RELEASED[name]
            cells.append(shown(name, there.mean))
            if there.deviation is None:
                cells.append("not noted")
            else:
                cells.append(shown(name, there.deviation / math.sqrt(SEEDS)))
            cells.append(f"{found.apart(name):.1f}")
        elif found.comparable:
            cells += ["", "", ""]
        rows.append(cells)
    header = ["", "mean", "sd", "standard error"]
    if found.comparable:
        header += ["under R: mean", "standard error", "standard errors apart"]
    return table(header, rows)


def panels(found: Runs) -> list[Curves]:
    """The test error after every burst, each run a line, and the authors' last error."""
    return [
        Curves(
            "A line is a run, the mean of its paths",
            "burst",
            "test error",
            {
                f"run {number}": (range(1, len(errors) + 1), errors)
                for number, errors in enumerate(found.record["errors after bursts"], start=1)
            },
            log="",
            across=RELEASED[ERROR].mean if found.comparable else None,
        )
    ]
