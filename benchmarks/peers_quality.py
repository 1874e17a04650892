"""Part (e) of the study ``peers``: test loss and error after tuning by the same small budget.

Every peer tries the same number of settings of the parameter that its users tune.  Each setting is
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

from benchmarks.problems import RAW, TFIDF, TWO, in_form, problems
from benchmarks.programs import OURS, present
from benchmarks.programs.base import Peer, Setting
from benchmarks.programs.cage import DONE, STOPPED, Meter, caged
from lazynet.penalties import ElasticNet
from paper_repro.minima import LOGISTIC, SQUARED_HINGE, VALUES, Task
from paper_repro.rows import Rows
from paper_repro.study import Cell, Record, Records, Settings

PART = "quality"
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
    return [
        cell
        for name in course.problems
        for form in course.forms(name)
        for cell in (
            Cell(f"{PART}/{name}, {form}/setting", partial(course.setting, name, form), 1.0),
            *(
                Cell(f"{PART}/{name}, {form}/{peer}", partial(course.tune, name, form, peer), 3.0)
                for peer in present(tuned=True)
            ),
        )
    ]


class Course:
    """The sets of rows of two classes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.seconds = FULL_SECONDS if settings.full else QUICK_SECONDS
        found = problems(settings)
        if settings.folder is not None:
            # Real files take the place of what is generated.
            of_files = problems(replace(settings, data=None))
            generated = problems(replace(settings, folder=None))
            found = {name: each for name, each in of_files.items() if name not in generated}
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


# --- reading what was measured ---------------------------------------------------------------


class Quality:
    """What every peer reached on every set."""

    def __init__(self, records: Records) -> None:
        self.sets: dict[str, Record] = {}
        self.found: dict[str, dict[str, Record]] = {}
        for key, record in records.items():
            part, *rest = key.split("/")
            if part != PART:
                continue
            name, peer = rest
            if peer == "setting":
                self.sets[name] = record
            else:
                self.found.setdefault(name, {})[peer] = record

    def peers(self) -> list[str]:
        return list(dict.fromkeys(peer for each in self.found.values() for peer in each))

    def value(self, name: str, peer: str, what: str) -> float | None:
        record = self.found[name].get(peer)
        if record is None or record["outcome"] != DONE:
            return None
        value = record[what]
        return None if value is None else float(value)

    def losses(self, name: str, ours: bool) -> dict[str, float]:
        return {
            peer: loss
            for peer in self.found[name]
            if (peer in OURS) == ours and (loss := self.value(name, peer, "loss")) is not None
        }

    def chosen(self, name: str, ours: bool = True) -> str:
        """The one of our estimators, or of the others, with the least loss on validation rows."""
        return min(self.losses(name, ours), key=lambda peer: self._validation(name, peer))

    def _validation(self, name: str, peer: str) -> float:
        record = self.found[name][peer]
        value = record["tried"][record["chosen"]]["loss"]
        return math.inf if value is None else float(value)

    def best(self, name: str) -> tuple[str, float]:
        """The peer of others with the least test loss."""
        others = self.losses(name, ours=False)
        peer = min(others, key=others.__getitem__)
        return peer, others[peer]

    def ratio(self, name: str) -> float:
        """The test loss of our chosen estimator in units of the best other's."""
        return self.losses(name, ours=True)[self.chosen(name)] / self.best(name)[1]

    def ratio_of_any(self, name: str) -> float:
        """The least test loss of our estimators in units of the best other's."""
        return min(self.losses(name, ours=True).values()) / self.best(name)[1]

    def difference(self, name: str) -> tuple[float, float, int] | None:
        """Our test loss minus the least of others, its standard error, and the number of rows."""
        ours, other = (
            self.found[name][peer].get("losses") for peer in (self.chosen(name), self.best(name)[0])
        )
        if ours is None or other is None:
            return None
        apart = np.subtract(ours, other)
        return float(apart.mean()), float(apart.std(ddof=1) / math.sqrt(len(apart))), len(apart)

    def failures(self) -> Mapping[str, Any]:
        return {
            f"{name}, {peer}": record["why"]
            for name, peers in self.found.items()
            for peer, record in peers.items()
            if record["outcome"] != DONE
        }
