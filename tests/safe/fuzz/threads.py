"""Several threads on one model, and threads that write into X while it is read."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from safe.fuzz.alarm import stopped_after
from safe.fuzz.ledger import Ledger
from safe.fuzz.models import (
    ESTIMATORS,
    called,
    made,
    needs_the_length,
    rows_and_targets,
    words_for,
    working_parameters,
)
from safe.fuzz.note import note
from safe.fuzz.oracle import CLEAN, innermost, judged


class SeenTorn(Exception):
    """A reader has seen what never was a model."""


STREAMS = [Estimator for Estimator in ESTIMATORS if hasattr(Estimator, "partial_fit")]


def generate(random: np.random.Generator, ledger: Ledger) -> None:
    """One of the two, with the interpreter switching threads as often as it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(float(10 ** random.uniform(-6, -3)))
    try:
        if random.random() < 0.6:
            together(random, ledger)
        else:
            scribbled(random, ledger)
    finally:
        sys.setswitchinterval(interval)


def together(random: np.random.Generator, ledger: Ledger) -> None:
    """Threads that train, read and predict with one model; no step may be lost."""
    Estimator = STREAMS[random.integers(len(STREAMS))]
    X, y = rows_and_targets(Estimator, random, n=40, d=int(random.choice([5, 500])))
    model = Estimator(**{**working_parameters(Estimator, random), "class_weight": None}
                      if hasattr(Estimator(), "class_weight")
                      else working_parameters(Estimator, random))  # fmt: skip
    if needs_the_length(model.average):
        model.set_params(average=True)
    if not hasattr(model, "partial_fit"):
        model.set_params(rule="fobos")
    classes = np.arange(2)
    begun = bool(random.integers(2))
    try:
        trial = type(model)(**model.get_params(deep=False))
        called(trial, "partial_fit", X, y, classes=classes)
        if begun:
            called(model, "partial_fit", X, y, classes=classes)
    except (ValueError, FloatingPointError):
        ledger.refused["does not train"] += 1
        return
    calls = int(random.integers(1, 8))
    trainers = int(random.integers(2, 5))
    errors: list[BaseException] = []

    def train() -> None:
        for _ in range(calls):
            called(model, "partial_fit", X, y, classes=classes)

    def look() -> None:
        for _ in range(calls):
            if begun:
                predictions, weights = model.predict(X), model.coef_
                weights = weights.data if sparse.issparse(weights) else weights
                if not (np.isfinite(weights).all() and np.isfinite(model.intercept_).all()):
                    raise SeenTorn("weights that are not finite were read during training")
                if len(predictions) != X.shape[0]:
                    raise SeenTorn("predictions have another length than X")

    def change() -> None:
        for _ in range(calls):
            if begun:
                model.sparsify()
                model.predict(X[: 1 + len(y) // 20])
                model.densify()

    note(f"threads: {trainers} of them train {model!r}")
    others = [look] * int(random.integers(0, 3)) + [change] * int(random.integers(0, 2))
    run_all([train] * trainers + others, errors)
    # A step learns from batch_size rows, and the last of a call from fewer.
    steps = -(-X.shape[0] // getattr(model, "batch_size", 1))
    expected = steps * (calls * trainers + begun)
    name = type(model).__name__
    diverged = [error for error in errors if isinstance(error, FloatingPointError)]
    for error in errors:
        if error not in diverged:
            ledger.fail(
                f"threads on one {name}: {type(error).__name__} at {innermost(error)}",
                f"{error!r} with {model!r}",
            )
    if errors:
        ledger.refused["FloatingPointError"] += len(diverged)
        return
    if model.t_ != expected:
        ledger.fail(
            f"threads on one {name} lost steps",
            f"t_ is {model.t_} where {expected} steps were taken, {model!r}",
        )
    elif not (np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()):
        ledger.fail(f"threads on one {name} gave what is not finite", repr(model))
    else:
        ledger.finite += 1


def run_all(calls: list[Callable[[], None]], errors: list[BaseException]) -> None:
    """Every call in a thread of its own, all beginning together."""
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], None]) -> None:
        ready.wait()
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,), daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def scribbled(random: np.random.Generator, ledger: Ledger) -> None:
    """Training on an X that another thread writes into: anything but a crash.

    Predicting is SciPy's product, which trusts its matrix.
    """
    Estimator = ESTIMATORS[random.integers(len(ESTIMATORS))]
    model = made(Estimator, **working_parameters(Estimator, random))
    model.set_params(max_iter=int(random.choice([2, 50])))
    X, y = rows_and_targets(Estimator, random, n=int(random.choice([10, 300])), d=50)
    if random.random() < 0.3:
        X = sparse.csr_matrix((X.data.astype(np.float32), X.indices, X.indptr), shape=X.shape)
    array = getattr(X, str(random.choice(["data", "indices", "indptr"])))
    odd = [np.nan, np.inf, 1e300] if array.dtype.kind == "f" else [-1, 2**31 - 1, -(2**31), 10**6]
    done = threading.Event()
    places = random.integers(len(array), size=1000) if len(array) else []
    values = random.choice(odd, size=1000)

    def scribble() -> None:
        while not done.is_set():
            for place, value in zip(places, values, strict=False):
                array[place], before = value, array[place]
                if done.is_set():
                    return
                array[place] = before

    thread = threading.Thread(target=scribble, daemon=True)
    thread.start()
    try:
        with stopped_after(3.0):
            judge_scribbled(ledger, model, X, y)
    finally:
        done.set()
        thread.join()


def judge_scribbled(ledger: Ledger, model: Any, X: Any, y: Any) -> None:
    """Any result and any of the clean errors will do; SciPy's own may name no argument."""
    inner = Ledger()
    judged(
        inner,
        f"{type(model).__name__}.fit while X is written into",
        lambda: called(model, "fit", X, y),
        words=words_for(model),
        model=model,
        finite=False,
        needs_memory=True,
    )
    loose = tuple(f"{kind.__name__} names no argument" for kind in CLEAN)
    for failure in inner.failures:
        if failure.signature.startswith(loose) or "Warning" in failure.signature:
            ledger.refused["of SciPy or NumPy"] += 1
        else:
            ledger.failures.append(failure)
    inner.failures.clear()
    ledger.add(inner)
