"""Several classes share rows, chunks and threads: each learns as it learns alone."""

import copy
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone
from support.algorithms import GIVEN, RULES_WITH_CELLS, options_of
from support.matrices import corpus
from support.parameters import in_rule
from support.portrait import bits_of

from lazynet import (
    DualNetClassifier,
    DualNetClassifierCV,
    LazyNetClassifier,
    LazyNetClassifierCV,
    StabilisedSGDClassifier,
)
from lazynet.engines.threads import Interrupted, Workers

N_CLASSES = 5
_BASE = dict(max_iter=3, tol=None, random_state=0, l1=1e-4, l2=1e-3)
MODELS = {
    "clock": dict(eta0=0.1),
    "average": dict(eta0=0.1, average=True),
    "tables": dict(eta0=0.1, storage="tables"),
    "dense": dict(eta0=0.1, storage="dense"),
    "held out": dict(eta0=0.1, early_stopping=True, max_iter=5, tol=1e-3),
    **{name: options_of(GIVEN[name]) for name in RULES_WITH_CELLS},
}


def make_classes(n_rows=120, d=200):
    """Rows of very different lengths, in five classes."""
    X, _ = corpus(n_rows, d)
    scores = X @ np.random.default_rng(1).standard_normal((d, N_CLASSES))
    return X, scores.argmax(axis=1)


_FOLDS = dict(cv=3, random_state=0)
_STAGES = dict(burst_size=12, bursts_per_stage=3, stability=0.5, max_iter=5, random_state=0)
THREADED = {
    **{name: LazyNetClassifier(**in_rule(**(_BASE | each))) for name, each in MODELS.items()},
    "dual": DualNetClassifier(l1=5e-3, random_state=0),
    "paths": DualNetClassifierCV(l1s=3, **_FOLDS),
    "paths that are scored": DualNetClassifierCV(l1s=3, scoring="accuracy", **_FOLDS),
    "grid": LazyNetClassifierCV(l1s=12, l2s=[0.0, 0.01], max_iter=2, **_FOLDS),
    "grid of adagrad": LazyNetClassifierCV(l1s=3, max_iter=2, rule="adagrad", **_FOLDS),
    "universal": StabilisedSGDClassifier("log_loss", eta0=0.5, **_STAGES),
    "informative": StabilisedSGDClassifier("log_loss", gravity="informative", **_STAGES),
}


@pytest.mark.filterwarnings("ignore:the best .* that was tried")
@pytest.mark.parametrize("n_classes", [2, N_CLASSES])
@pytest.mark.parametrize("name", THREADED)
def test_threads_change_no_bit(name, n_classes):
    """fit, and partial_fit after it, with one thread, with several and with too many."""
    X, y = make_classes()
    results = []
    for n_jobs in (None, 3, 40, -1):
        model = clone(THREADED[name]).set_params(n_jobs=n_jobs).fit(X, y % n_classes)
        results.append([bits_of(model.set_params(n_jobs=None))])
        if hasattr(model, "partial_fit"):
            results[-1].append(bits_of(model.partial_fit(X[:50], y[:50] % n_classes)))
    assert model.coef_.any() or model.cv_results_["nonzeros"].any()
    assert all(other == results[0] for other in results[1:])


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_an_overflow_of_one_class_leaves_all_classes(n_jobs):
    """The model is what it was before the call, whichever thread meets the overflow."""
    X, y = make_classes()
    model = LazyNetClassifier("squared_error", **in_rule(**_BASE, eta0=1e-3, n_jobs=n_jobs)).fit(
        X, y
    )
    before = bits_of(model)
    # One class alone: the others have targets of -1 and small weights.
    weights = np.where(y == 3, 1e300, 1.0)
    with pytest.raises(FloatingPointError, match="overflowed"):
        model.partial_fit(X, y, sample_weight=weights)
    assert bits_of(model) == before
    with pytest.raises(FloatingPointError, match="overflowed"):
        model.fit(X, y, sample_weight=weights)
    assert bits_of(model) == before
    undisturbed = copy.deepcopy(model).set_params(n_jobs=None).partial_fit(X, y)
    assert bits_of(model.partial_fit(X, y).set_params(n_jobs=None)) == bits_of(undisturbed)


# --- the threads themselves -----------------------------------------------------------------------


def test_no_task_runs_once_the_threads_are_closed():
    """After Ctrl-C in one task, what the others write to is written whole and then left alone."""
    under_way, written = threading.Event(), []

    def task(item):
        if item == 0:
            assert under_way.wait(60.0)
            raise KeyboardInterrupt
        under_way.set()
        for _ in range(30):
            time.sleep(0.002)
            written.append(item)

    with Workers(2) as workers:
        with pytest.raises(KeyboardInterrupt):
            workers.map(task, [0, 1, 2, 3])
        workers.close()
        assert written == [1] * 30
        workers.close()  # again, which changes nothing
        with pytest.raises(Interrupted):
            workers.check()


def test_an_error_in_one_task_keeps_others_from_beginning():
    """The error is raised, of whichever thread."""
    begun = []

    def fail(item):
        begun.append(item)
        raise OSError(f"task {item}")

    with pytest.raises(OSError, match="task"), Workers(2) as workers:
        workers.map(fail, range(100))
    assert len(begun) <= 2
