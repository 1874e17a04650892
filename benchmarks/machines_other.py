"""The other program of the study ``machines``: dask-ml's Incremental around SGDClassifier."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from benchmarks.machines_documents import WORDS
from lazynet import FTRL, LazyNetClassifier
from paper_repro.pages import Template, table
from paper_repro.score import duration, significant
from paper_repro.study import Record

if TYPE_CHECKING:
    from distributed import Client

PAGE = Template.beside(__file__)

#: The penalty of all models, and their passes.
L1, PASSES = 1e-6, 4
#: The rates among which each program chooses: alpha of FTRL, eta0 of SGDClassifier.
ALPHAS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
ETA0S = (10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5)

#: The rows of a block, and 1 where a row belongs to the class, else 0.
Block = tuple[sparse.csr_matrix, np.ndarray]
#: What a model holds after each pass: the seconds so far, its weights, its intercept.
Course = Iterator[tuple[float, np.ndarray, np.ndarray]]


def sgd(eta0: float | None = None) -> SGDClassifier:
    """The model of Incremental: with scikit-learn's own rates, or with eta0 / sqrt(t)."""
    rates = {} if eta0 is None else {"learning_rate": "invscaling", "eta0": eta0, "power_t": 0.5}
    return SGDClassifier(
        loss="log_loss", penalty="l1", alpha=L1, random_state=0, shuffle=False, **rates
    )


def chosen(model: Callable[[float], Any], rates: Sequence[float], rows: Sequence[Block]) -> float:
    """The rate of the least loss on the second block, after a pass over the first."""
    (X, y), unseen = rows[:2]

    def loss(rate: float) -> float:
        fitted = model(rate).partial_fit(X, y, classes=[0.0, 1.0])
        return mean_loss([unseen], fitted.coef_, fitted.intercept_)

    return min(rates, key=loss)


def mean_loss(rows: Sequence[Block], coef: np.ndarray, intercept: np.ndarray) -> float:
    """The mean logistic loss of all rows."""
    lost = 0.0
    for X, y in rows:
        margins = np.where(y > 0, 1.0, -1.0) * (X @ np.ravel(coef) + np.ravel(intercept)[0])
        lost += float(np.logaddexp(0.0, -margins).sum())
    return lost / sum(X.shape[0] for X, _ in rows)


def compared(rows: Sequence[Block], parts: Sequence[Any], client: Client) -> Record:
    """Both programs on the same blocks; ``parts`` are the delayed blocks of ``rows``."""
    try:
        from dask_ml.wrappers import Incremental
    except Exception as error:
        return {"skipped": f"{type(error).__name__}: {error}"}
    import dask.array as da

    import lazynet.dask

    X, y = (
        client.persist(
            da.concatenate(
                [
                    da.from_delayed(part[k], block[k].shape, float, meta=meta)
                    for part, block in zip(parts, rows, strict=True)
                ]
            )
        )
        for k, meta in ((0, rows[0][0][:0]), (1, None))
    )
    client.compute([X[:1], y[:1]], sync=True)
    blocks = lazynet.dask.Blocks.of_arrays(X, y, client=client)
    blocks.known()

    def incremental(model: SGDClassifier) -> Course:
        wrapped = Incremental(model, scoring="accuracy", shuffle_blocks=False)
        took = 0.0
        for _pass in range(PASSES):
            began = time.perf_counter()
            wrapped.partial_fit(X, y, classes=[0.0, 1.0])
            took += time.perf_counter() - began
            yield took, wrapped.estimator_.coef_, wrapped.estimator_.intercept_

    def travelling(**settings: Any) -> Course:
        for passes in range(1, PASSES + 1):
            model = lazynet.dask.LazyNetClassifier(
                l1=L1, max_iter=passes, tol=None, client=client, **settings
            )
            began = time.perf_counter()
            model.fit(blocks)
            yield time.perf_counter() - began, model.coef_, model.intercept_

    def measured(course: Course) -> list[list[float]]:
        return [
            [took, mean_loss(rows, coef, intercept) + L1 * float(np.abs(coef).sum())]
            for took, coef, intercept in course
        ]

    eta0 = chosen(sgd, ETA0S, rows)
    alpha = chosen(lambda rate: LazyNetClassifier(rule=FTRL(alpha=rate), l1=L1), ALPHAS, rows)
    courses: dict[str, Callable[[], Course]] = {
        "Incremental": partial(incremental, sgd()),
        f"Incremental, eta0 {eta0:g}": partial(incremental, sgd(eta0)),
        "lazynet.dask": travelling,
        f"lazynet.dask, FTRL, alpha {alpha:g}": partial(travelling, rule=FTRL(alpha=alpha)),
    }
    try:
        return {"courses": {name: measured(course()) for name, course in courses.items()}}
    except Exception as error:
        return {"skipped": f"{type(error).__name__}: {error}"}


# --- the page --------------------------------------------------------------------------------


def other(record: Record) -> str:
    """The part of the page."""
    if "skipped" in record:
        return PAGE("no other", why=record["skipped"])
    courses = record["courses"]
    target = courses["Incremental"][-1][1]
    rows = [
        [str(k + 1), *(f"{duration(took)}; {significant(value)}" for took, value in after)]
        for k, after in enumerate(zip(*courses.values(), strict=True))
    ]
    reached = [
        next((duration(took) for took, value in course if value <= target), "not reached")
        for course in courses.values()
    ]
    return PAGE(
        "other",
        l1=L1,
        words=WORDS,
        passes=PASSES,
        target=significant(target),
        alphas=", ".join(f"{rate:g}" for rate in ALPHAS),
        eta0s=", ".join(f"{rate:g}" for rate in ETA0S),
        table=table(["passes", *courses], [*rows, [f"until {significant(target)}", *reached]]),
    )
