"""Kernels release the GIL for a whole chunk, and keep their state to themselves."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from support import ELASTIC_ENGINES, recipe, rows, task_for

from lazynet import LazyNetClassifier
from lazynet.data import as_examples
from lazynet.engines import make_engine


@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
def test_another_thread_runs_during_a_chunk(engine):
    """While one long chunk is in the kernel, Python code elsewhere makes progress."""
    X = sparse.random(1000, 200, density=0.2, format="csr", random_state=0)
    X.sort_indices()
    built, chosen = make_engine(engine, 200), recipe(l1=1e-3, l2=1e-3)
    steps = chosen.steps(np.tile(rows(1000), 50), 0)
    examples, task = as_examples(X, np.ones(1000)), task_for(built, chosen)
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
    assert counted > 5


@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
def test_threads_give_the_same_weights_as_one(engine):
    """No state is shared between calls."""
    X = sparse.random(300, 100, density=0.1, format="csr", random_state=1)
    y = np.arange(300) % 2

    def fit(seed):
        model = LazyNetClassifier(
            l1=1e-3, l2=1e-3, engine=engine, tol=None, max_iter=5, random_state=seed
        )
        return model.fit(X, y).coef_

    alone = [fit(seed) for seed in range(6)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(fit, range(6)))
    for first, second in zip(alone, together, strict=True):
        np.testing.assert_array_equal(first, second)
