"""Part (e) of the study ``peers``: test loss and error after tuning by the same small budget.

Every peer tries the same number of settings of the parameter that its users tune.  Each setting is
judged on a quarter of the training rows; the best one is fitted to all of them, and judged on the
test rows.  A column of ones stands for the intercept, for everybody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split

from lazynet.penalties import ElasticNet
from paper_repro.minima import LOGISTIC, SQUARED_HINGE, Task
from paper_repro.peers import OURS, present
from paper_repro.peers.base import Peer, Setting
from paper_repro.peers.cage import DONE, STOPPED, Meter, caged
from paper_repro.problems import RAW, TFIDF, TWO, in_form, problems
from paper_repro.rows import Rows
from paper_repro.study import Cell, Record, Records, Settings

PART = "quality"
#: The share of the training rows on which settings are judged.
VALIDATION_SHARE = 0.25
#: Seconds that one fit may take.
QUICK_SECONDS, FULL_SECONDS = 2.0, 60.0
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


def tuned(peer: Peer, rows: Rows, seconds: float, seed: int) -> Record:
    """The validation losses of all settings, and the test loss of the best one."""
    X, X_rest, y, y_rest = train_test_split(
        rows.X, rows.y, test_size=VALIDATION_SHARE, random_state=seed, stratify=rows.y
    )
    part = Rows(X, y, X_rest, y_rest, rows.origin)
    loss = LOGISTIC if LOGISTIC in peer.losses else SQUARED_HINGE
    tried: list[Record] = []
    settings = peer.settings(Task(part, loss, ElasticNet()))
    for setting in settings:
        if sum(each["outcome"] == STOPPED for each in tried) == PATIENCE:
            break
        found = caged(partial(fitted, peer, part, loss, setting), seconds)
        tried.append({"setting": setting.name, **found})
    ended = [k for k, each in enumerate(tried) if each["outcome"] == DONE]
    if not ended:
        return {"tried": tried, "outcome": tried[0]["outcome"], "why": tried[0]["why"]}
    judged_by = "error" if loss != LOGISTIC else "loss"
    best = min(ended, key=lambda k: tried[k][judged_by])
    # The strengths are computed anew, from all rows.
    again = peer.settings(Task(rows, loss, ElasticNet()))[best]
    return {
        "tried": tried,
        "chosen": best,
        **caged(partial(fitted, peer, rows, loss, again), 2 * seconds),
    }


def fitted(peer: Peer, rows: Rows, loss: str, setting: Setting) -> Record:
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
    judged = Task(rows, LOGISTIC, ElasticNet())
    wrong = rows.y_test * (rows.X_test @ weights) <= 0
    return {
        "loss": judged.test_loss(weights) if loss == LOGISTIC else None,
        "error": float(wrong.mean()),
        "nonzeros": int(np.count_nonzero(weights)),
        "seconds": meter.seconds,
    }


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

    def chosen(self, name: str) -> str:
        """Our estimator with the least loss on the validation rows."""
        return min(self.losses(name, ours=True), key=lambda peer: self._validation(name, peer))

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

    def failures(self) -> Mapping[str, Any]:
        return {
            f"{name}, {peer}": record["why"]
            for name, peers in self.found.items()
            for peer, record in peers.items()
            if record["outcome"] != DONE
        }
