"""Kernels let other threads run, and no thread leads a kernel out of an array."""

import contextlib
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from support import plan, rows
from support.algorithms import STREAMING_RULES, engine_of
from support.matrices import reversed_rows
from support.models import called

from lazynet import (
    ASGDClassifier,
    ASGDRegressor,
    DualNetClassifier,
    DualNetClassifierCV,
    FoBoS,
    LazyNetClassifier,
    LazyNetClassifierCV,
    LazyNetRegressor,
    StabilisedSGDClassifier,
)
from lazynet.data.arrays import as_examples
from lazynet.rules.storage import STORAGES

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("storage", STORAGES)
def test_another_thread_runs_during_a_chunk(storage):
    """While one long chunk is in the kernel, Python code elsewhere makes progress."""
    # On a busy machine this thread may have to wait for a processor: then in a longer chunk.
    assert any(turns_during_a_chunk(storage, passes) > 5 for passes in (50, 200, 800))


def turns_during_a_chunk(storage, passes):
    """How often this thread has its turn while another one is in the kernel."""
    X = sparse.random(1000, 200, density=0.2, format="csr", random_state=0)
    X.sort_indices()
    built, chosen = engine_of(storage, 200), plan(l1=1e-3, l2=1e-3)
    steps = chosen.steps(np.tile(rows(1000), passes), 0)
    examples, task = as_examples(X, np.ones(1000)), chosen.task(built)
    entered, done = threading.Event(), threading.Event()

    def work():
        entered.set()
        built.take(examples, steps, task)
        done.set()

    # Were the GIL held, this thread could count only before the chunk and after it: at most one
    # switch interval each.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1.0)
    try:
        worker = threading.Thread(target=work)
        worker.start()
        entered.wait()
        counted = 0
        while not done.is_set():
            counted += 1
            done.wait(1e-5)
        worker.join()
    finally:
        sys.setswitchinterval(interval)
    return counted


#: Two fits in two threads are at least so many times as fast as in turns, in the best of ROUNDS
#: rounds in which the threads wait for a processor during at most BUSY of the time.
TWICE, ROUNDS, BUSY = 1.7, 6, 0.03
#: On Linux, the nanoseconds for which a thread has waited for a processor are the second number.
WAITED = Path("/proc/thread-self/schedstat")


@pytest.mark.slow
@pytest.mark.skipif(not WAITED.exists(), reason="the system does not tell how long a thread waits")
@pytest.mark.parametrize(("model", "n_fits"), [
    (LazyNetClassifier(max_iter=60, tol=None), 1),
    (LazyNetClassifier(max_iter=60, tol=None, rule="fobos"), 1),
    (DualNetClassifier(l1=1e-5, tol=1e-9, max_iter=200), 4),
    (ASGDClassifier(max_iter=50), 1),
], ids=str)  # fmt: skip
def test_two_models_train_in_two_threads_at_once(model, n_fits):
    """Little of a fit keeps the other thread from running, where two processors are free."""
    X = sparse.random(20_000, 2_000, density=0.02, format="csr", random_state=0)
    y = np.arange(20_000) % 2
    gains = []

    def fits():
        for _ in range(n_fits):
            clone(model).set_params(random_state=0).fit(X, y)

    with ThreadPoolExecutor(2) as pool:
        for _ in range(ROUNDS):
            gain, waited = at_once(fits, pool)
            if waited <= BUSY:
                gains.append(gain)
            if max(gains, default=0.0) >= TWICE:
                return
    if len(gains) < 3:
        pytest.skip("fewer than two processors are free")
    pytest.fail(f"two threads are at most {max(gains):.2f} times as fast")


def at_once(call, pool):
    """The time of two calls in turns by that in two threads, and the share that threads waited."""

    def waits():
        before = int(WAITED.read_text().split()[1])
        call()
        return int(WAITED.read_text().split()[1]) - before

    began = time.perf_counter()
    waited = waits() + waits()
    between = time.perf_counter()
    waited += sum(each.result() for each in [pool.submit(waits), pool.submit(waits)])
    ended = time.perf_counter()
    return (between - began) / (ended - between), waited * 1e-9 / (ended - began)


#: Models, and numbers of classes.
MODELS = [
    *((LazyNetClassifier(rule=FoBoS(storage=storage), l1=1e-3, tol=None, max_iter=5), 2)
      for storage in STORAGES),
    (DualNetClassifier(l1=1e-3, max_iter=30), 2),
    *((LazyNetClassifier(rule=rule, max_iter=2), 3) for rule in ("fobos", "ftrl", "auto")),
]  # fmt: skip


@pytest.mark.parametrize("arranged", [sparse.csr_matrix, sparse.csc_matrix, reversed_rows])
@pytest.mark.parametrize(("model", "n_classes"), MODELS, ids=str)
def test_a_matrix_that_changes_under_a_kernel_leads_it_nowhere(model, n_classes, arranged):
    """Another thread writes columns and row starts that leave the matrix: an error or a result."""
    X = arranged(sparse.random(500, 500, density=0.2, format="csr", random_state=0))
    y = np.arange(500) % n_classes
    indices, indptr, done = X.indices.copy(), X.indptr.copy(), threading.Event()

    def scribble():
        rng = np.random.default_rng(0)
        while not done.is_set():
            where = rng.integers(0, len(indices), 100)
            X.indices[where] = rng.choice([-7, 2**31 - 1, 10**6, 5], 100)
            X.indptr[rng.integers(0, 501, 5)] = rng.choice([-1, 2**31 - 1, 3], 5)
            X.indices[:], X.indptr[:] = indices, indptr

    model = clone(model).set_params(random_state=0)
    writer = threading.Thread(target=scribble)
    writer.start()
    try:
        for _ in range(20 if hasattr(model, "partial_fit") else 5):
            with contextlib.suppress(ValueError, FloatingPointError):
                model.fit(X, y)
    finally:
        done.set()
        writer.join()
    assert np.isfinite(model.fit(X, y).coef_).all()


#: Calls that read X, on a model that may be fitted.
CALLS = {
    "averaged": (ASGDClassifier(max_iter=1), "fit"),
    "averaged numbers": (ASGDRegressor(max_iter=1), "fit"),
    "stabilised": (StabilisedSGDClassifier(max_iter=1, burst_size=50, n_paths=1), "fit"),
    "held-out rows": (LazyNetClassifier(early_stopping=True, max_iter=2), "fit"),
    "standardised": (LazyNetRegressor(max_iter=2), "fit"),
    "pass": (LazyNetClassifier(), "partial_fit"),
    "few touched": (LazyNetClassifier(rule="fobos"), "partial_fit"),
    "grid": (LazyNetClassifierCV(l1s=2, cv=2, max_iter=2), "fit"),
    "dual": (DualNetClassifier(max_iter=2), "fit"),
    "dual grid": (DualNetClassifierCV(l1s=2, cv=2, max_iter=2), "fit"),
    "verify": (LazyNetClassifier(), "verify"),
    "predict": (DualNetClassifier(max_iter=2), "predict"),
    "predict sparsely": (LazyNetClassifier(), "predict"),
    "predict top": (LazyNetClassifier(), "predict_top"),
    "predict few": (LazyNetRegressor(), "predict"),
}


@pytest.mark.parametrize("array", ["indices", "indptr"])
@pytest.mark.parametrize("name", CALLS)
def test_a_matrix_that_changes_between_two_calls_leads_nowhere(name, array):
    """X changes just before any call of a function inside ``fit`` or a prediction."""
    model, method = CALLS[name]
    n_features = 9000 if "few" in name else 90
    X = sparse.random(60, n_features, density=18 / n_features, format="csr", random_state=0)
    y = np.arange(60) % 2
    if "predict" in method:
        # After ``partial_fit`` the weights are not read from the engines yet.
        model = called(model, "partial_fit" if hasattr(model, "partial_fit") else "fit", X, y)
        model = model.sparsify() if name == "predict sparsely" else model
    changed, kept, n_calls = getattr(X, array), getattr(X, array).copy(), 0

    def run(moment):
        nonlocal n_calls
        n_calls, changed[:] = 0, kept

        def spoil(frame, event, argument):
            nonlocal n_calls
            n_calls += event != "return" and event != "c_return"
            if n_calls == moment:
                changed[1::2] = 2**30

        sys.setprofile(spoil)
        try:
            called(model if "predict" in method else clone(model), method, X, y, max_rows=2)
        finally:
            sys.setprofile(None)

    run(0)
    # Folds repeat the calls of a fit.
    n_moments = 50 if "grid" in name else 150
    for moment in np.unique(np.linspace(1, n_calls, n_moments).astype(int)):
        with contextlib.suppress(ValueError, FloatingPointError):
            run(moment)


@pytest.mark.parametrize("model", [
    *(LazyNetClassifier(rule=rule, l1=1e-3, random_state=0) for rule in [
        *(FoBoS(storage=storage) for storage in STORAGES), FoBoS(average=True), *STREAMING_RULES,
    ]),
    ASGDClassifier(max_iter=2, random_state=0),
    DualNetClassifier(l1=1e-3, max_iter=5),
    StabilisedSGDClassifier(max_iter=1, burst_size=50, n_paths=2, random_state=0),
], ids=str)  # fmt: skip
def test_threads_that_train_one_model_do_no_harm_beyond_it(model):
    """Such a model may be wrong; the process goes on, and the next fit does not know of it."""
    X = sparse.random(400, 50, density=0.1, format="csr", random_state=0)
    y = np.arange(400) % 3
    method = "partial_fit" if hasattr(model, "partial_fit") else "fit"
    model = called(clone(model), method, X, y)

    def train(first):
        for _ in range(20):
            with contextlib.suppress(Exception):
                called(model, method, X[first:], y[first:])
                model.predict(X)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(train, range(4)))
    np.testing.assert_array_equal(model.fit(X, y).coef_, clone(model).fit(X, y).coef_)


@pytest.mark.parametrize(("n_jobs", "n_outputs", "most"), [(1, 300, 0), (2, 300, 1), (9, 40, 1)])
def test_a_fit_starts_as_many_threads_as_it_may_and_needs(n_jobs, n_outputs, most):
    """The thread that calls fit works too.  40 outputs are two tasks, for two threads."""
    X = sparse.random(100, 30, density=0.3, format="csr", random_state=0)
    Y, before, more = X @ np.ones((30, n_outputs)), set(threading.enumerate()), []
    model = LazyNetRegressor(n_jobs=n_jobs, max_iter=2, tol=None, random_state=0)
    model.fit(X, Y, callback=lambda *_: more.append(len({*threading.enumerate()} - before)))
    assert more == [most, most]
