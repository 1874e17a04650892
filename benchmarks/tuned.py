"""Study ``tuned``: test loss and error after tuning by the same small budget.

Every program tries the same number of settings of the parameter that its users tune.  Each is
judged on a quarter of the training rows, or on each quarter in turn where the rows are few: a
quarter of 300 rows does not tell settings apart.  The best setting is fitted to all training rows,
and judged on the test rows.  A column of ones stands for the intercept, for everybody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from benchmarks.problems import RAW, TFIDF, TWO, generated, in_form, of_folder
from benchmarks.programs import ALL, OURS, participants, present
from benchmarks.programs.base import BUDGET, TUNED_PASSES, Peer, Setting
from benchmarks.programs.cage import DONE, STOPPED, Meter, caged
from lazynet.penalties import ElasticNet
from paper_repro.minima import LOGISTIC, SQUARED_HINGE, VALUES, Task
from paper_repro.render import Content, Dots, Table
from paper_repro.rows import Rows
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Settings are judged on one of so many parts of the training rows, and on each in turn where there
#: are fewer rows than this.
PARTS, FEW_ROWS = 4, 2_000
#: The most test rows whose losses are kept one by one: of so few, chance decides who is first.
FEW_TEST_ROWS = 500
#: Seconds that the fits of one setting may take.
QUICK_SECONDS, FULL_SECONDS = 2.0, 10.0
#: Settings that may take too long before no further one is tried.
PATIENCE = 2
#: Within this much of the least test loss a program counts as first.
NEAR = 1.01


def cells(settings: Settings) -> Sequence[Cell]:
    course = Course(settings)
    return [Cell("setting", lambda _: participants(), 20.0)] + [
        cell
        for name in course.problems
        for form in course.forms(name)
        for cell in (
            Cell(f"{name}, {form}/setting", partial(course.setting, name, form), 1.0),
            *(
                Cell(f"{name}, {form}/{peer}", partial(course.tune, name, form, peer), 3.0)
                for peer in present(tuned=True)
            ),
        )
    ]


class Course:
    """The sets of rows of two classes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.seconds = FULL_SECONDS if settings.full else QUICK_SECONDS
        # Real files take the place of what is generated.
        found = generated(settings) if settings.folder is None else of_folder(settings)
        self.problems = {name: each for name, each in found.items() if each.kind == TWO}
        self.rows = lru_cache(maxsize=1)(self._rows)

    def forms(self, name: str) -> tuple[str, ...]:
        """A quick run looks at TF-IDF, the usual form of text, or at raw rows if there is none."""
        forms = tuple(form for form in (TFIDF, RAW) if form in self.problems[name].forms)
        return forms if self.settings.full else forms[:1]

    def _rows(self, name: str, form: str) -> Rows:
        return with_ones(in_form(self.problems[name].rows(), form))

    def setting(self, name: str, form: str, _: Records) -> Record:
        rows = self.rows(name, form)
        return {
            "origin": rows.origin,
            "rows": rows.X.shape[0],
            "test rows": rows.X_test.shape[0],
            "features": rows.X.shape[1] - 1,
        }

    def tune(self, name: str, form: str, peer: str, _: Records) -> Record:
        return tuned(
            present(tuned=True)[peer], self.rows(name, form), self.seconds, self.settings.seed
        )


def with_ones(rows: Rows) -> Rows:
    """The rows with a last feature that is 1 everywhere."""

    def wider(X: sparse.csr_matrix) -> sparse.csr_matrix:
        return sparse.csr_matrix(sparse.hstack([X, np.ones((X.shape[0], 1))]))

    return replace(rows, X=wider(rows.X), X_test=wider(rows.X_test))


def parts_of(rows: Rows, seed: int) -> list[Rows]:
    """Rows to learn from, and rows to judge on, for every time that a setting is judged."""
    splits = StratifiedKFold(PARTS, shuffle=True, random_state=seed).split(rows.X, rows.y)
    times = PARTS if rows.X.shape[0] < FEW_ROWS else 1
    return [
        Rows(rows.X[kept], rows.y[kept], rows.X[left], rows.y[left], rows.origin)
        for kept, left in islice(splits, times)
    ]


def tuned(peer: Peer, rows: Rows, seconds: float, seed: int) -> Record:
    """The validation losses of all settings, and the test loss of the best one."""
    loss = LOGISTIC if LOGISTIC in peer.losses else SQUARED_HINGE
    parts = parts_of(rows, seed)
    # The strengths and rates of a setting are computed anew from the rows that it learns.
    settings = [peer.settings(Task(part, loss, ElasticNet())) for part in parts]
    tried: list[Record] = []
    for each in zip(*settings, strict=True):
        if sum(record["outcome"] == STOPPED for record in tried) == PATIENCE:
            break
        found = caged(partial(judged, peer, parts, loss, each), seconds)
        tried.append({"setting": each[0].name, **found})
    ended = [k for k, record in enumerate(tried) if record["outcome"] == DONE]
    if not ended:
        return {"tried": tried, "outcome": tried[0]["outcome"], "why": tried[0]["why"]}
    judged_by = "error" if loss != LOGISTIC else "loss"
    best = min(ended, key=lambda k: tried[k][judged_by])
    again = peer.settings(Task(rows, loss, ElasticNet()))[best]
    few = rows.X_test.shape[0] <= FEW_TEST_ROWS
    return {
        "tried": tried,
        "chosen": best,
        **caged(partial(fitted, peer, rows, loss, again, one_by_one=few), 2 * seconds),
    }


def judged(peer: Peer, parts: Sequence[Rows], loss: str, settings: Sequence[Setting]) -> Record:
    """One setting, fitted to every part and judged beside it: the means."""
    found = [fitted(peer, part, loss, each) for part, each in zip(parts, settings, strict=True)]
    return {
        what: None if found[0][what] is None else float(np.mean([each[what] for each in found]))
        for what in found[0]
    }


def fitted(
    peer: Peer, rows: Rows, loss: str, setting: Setting, *, one_by_one: bool = False
) -> Record:
    """A fit, judged on the test rows of ``rows`` in float64."""
    task = Task(rows, loss, setting.penalty)
    if (why := peer.refuses(task)) is not None:
        raise ValueError(why)
    prepared, meter = peer.prepare(task), Meter()
    with meter.measuring():
        model = peer.fit(prepared, task, setting.how)
    weights = peer.weights(model, task)
    if not np.isfinite(weights).all():
        raise FloatingPointError("the weights are not finite")
    margins = rows.X_test @ weights
    losses = VALUES[LOGISTIC](margins, rows.y_test)
    found: Record = {
        "loss": float(losses.mean()) if loss == LOGISTIC else None,
        "error": float((rows.y_test * margins <= 0).mean()),
        "nonzeros": int(np.count_nonzero(weights)),
        "seconds": meter.seconds,
    }
    if one_by_one and loss == LOGISTIC:
        found["losses"] = [round(float(each), 4) for each in losses]
    return found


# --- the page --------------------------------------------------------------------------------


class Quality(Measured):
    """What every program reached on every set."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.found: dict[str, dict[str, Record]] = {}
        for key, record in self.records.items():
            name, _, peer = key.partition("/")
            if peer and peer != "setting":
                self.found.setdefault(name, {})[peer] = record

    def value(self, name: str, peer: str, what: str) -> float | None:
        record = self.found[name].get(peer)
        if record is None or record["outcome"] != DONE:
            return None
        return None if record[what] is None else float(record[what])

    def losses(self, name: str, ours: bool) -> dict[str, float]:
        return {
            peer: loss
            for peer in self.found[name]
            if (peer in OURS) == ours and (loss := self.value(name, peer, "loss")) is not None
        }

    def chosen(self, name: str, ours: bool = True) -> str:
        """The one of our estimators, or of the others, with the least loss on validation rows."""

        def validation(peer: str) -> float:
            record = self.found[name][peer]
            loss = record["tried"][record["chosen"]]["loss"]
            return math.inf if loss is None else float(loss)

        return min(self.losses(name, ours), key=validation)

    def best(self, name: str) -> tuple[str, float]:
        """The program of others with the least test loss."""
        others = self.losses(name, ours=False)
        peer = min(others, key=others.__getitem__)
        return peer, others[peer]

    def ratio(self, name: str) -> float:
        """The test loss of our chosen estimator in units of the best other's."""
        return self.losses(name, ours=True)[self.chosen(name)] / self.best(name)[1]

    def difference(self, name: str) -> tuple[float, float] | None:
        """Our test loss minus the least of others, and its standard error."""
        ours, other = (
            self.found[name][peer].get("losses") for peer in (self.chosen(name), self.best(name)[0])
        )
        if ours is None or other is None:
            return None
        apart = np.subtract(ours, other)
        return float(apart.mean()), float(apart.std(ddof=1) / math.sqrt(len(apart)))

    def table(self, what: str) -> Table:
        """A line for each program, a column for each set."""
        rows = []
        least = {name: min(self._values(name, what).values()) for name in self.found}
        for peer in ALL:
            cells = []
            for name in self.found:
                value = self.value(name, peer, what)
                if value is None:
                    outcome = self.found[name].get(peer, {"outcome": DONE})["outcome"]
                    cells.append("-" if outcome == DONE else outcome)
                    continue
                text = f"{value / least[name] if what == 'loss' else value:.3f}"
                cells.append(f"**{text}**" if value == least[name] else text)
            if any(cell != "-" for cell in cells):
                rows.append([f"{peer} ({ALL[peer].tuned})", *cells])
        if what == "loss":
            apart = (self.difference(name) for name in self.found)
            rows += [
                ["*the lowest*", *(f"{least[name]:.4f}" for name in self.found)],
                ["*lazynet by validation*", *map(self.chosen, self.found)],
                ["*its ratio*", *(f"{self.ratio(name):.3f}" for name in self.found)],
                [
                    "*difference*",
                    *("" if a is None else f"{a[0]:+.4f} ({a[1]:.4f})" for a in apart),
                ],
            ]
        return Table(["", *self.found], rows)

    def _values(self, name: str, what: str) -> dict[str, float]:
        values = {peer: self.value(name, peer, what) for peer in self.found[name]}
        return {peer: value for peer, value in values.items() if value is not None}


def content(document: Mapping[str, Any]) -> Content:
    found = Quality(document)
    ratios = {name: found.ratio(name) for name in found.found}
    near, worst = (
        sum(ratio <= NEAR for ratio in ratios.values()),
        max(ratios, key=ratios.__getitem__),
    )
    others = {peer for name in found.found for peer in found.losses(name, ours=False)}
    seconds = FULL_SECONDS if found.settings["full"] else QUICK_SECONDS
    return Content(
        f"After tuning with {BUDGET} settings each, lazynet's test loss is the lowest or within "
        f"{NEAR - 1:.0%} of the lowest of {len(others)} programs on {near} of {len(ratios)} "
        f"datasets; the largest ratio to the lowest is {ratios[worst]:.2f} ({worst}).",
        [
            found.records["setting"]["text"],
            f"Every program tries {BUDGET} settings of the parameter in brackets. The validation "
            f"rows are one of {PARTS} parts of the training rows, or each part in turn if there "
            f"are fewer than {FEW_ROWS:,} rows. The best setting is fitted to all training "
            f"rows. Vowpal Wabbit and lazynet AdaGrad, whose rate is tuned, make {TUNED_PASSES} "
            "epochs. A column of ones replaces the intercept, except for glmnet, which "
            f"has its own. A setting that takes more than {seconds:g} seconds is stopped.",
            "Test loss divided by the lowest one of the dataset, which is bold. *lazynet by "
            "validation* is the one of lazynet's estimators with the lowest loss on the "
            "validation rows, as a user would choose; the lowest test loss of the others is "
            f"chosen by the test rows. With at most {FEW_TEST_ROWS} test rows, *difference* is "
            "lazynet's test loss minus the lowest one of the others, with its standard error in "
            "brackets.",
            found.table("loss"),
            "Test error, the share of wrong predictions:",
            found.table("error"),
        ],
        [
            Dots(
                "Test loss",
                "test loss / lowest of other programs",
                {
                    name: {
                        **{
                            peer: loss / found.best(name)[1]
                            for peer, loss in found.losses(name, ours=False).items()
                        },
                        "lazynet, by validation": ratio,
                    }
                    for name, ratio in ratios.items()
                },
                most=1.5,
                across=1.0,
            )
        ],
    )
