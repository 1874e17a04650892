"""Several classes share rows, chunks and threads: each learns as it learns alone."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.algorithms import GIVEN, RULES_WITH_CELLS, options_of
from support.matrices import corpus
from support.parameters import in_rule

from lazynet import LazyNetClassifier
from lazynet.engines.calls import Interrupted, Workers
from lazynet.training import passes

N_CLASSES = 5
_BASE = dict(max_iter=3, tol=None, random_state=0, l1=1e-4, l2=1e-3)
MODELS = {
    "clock": dict(eta0=0.1),
    "average": dict(eta0=0.1, average=True),
    "tables": dict(eta0=0.1, storage="tables"),
    "held out": dict(eta0=0.1, early_stopping=True, max_iter=5, tol=1e-3),
    **{name: options_of(GIVEN[name]) for name in RULES_WITH_CELLS},
}
EVERY_MODEL = pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))


def make_classes(n_rows=120, d=200):
    """Rows of very different lengths, in five classes."""
    X, _ = corpus(n_rows, d)
    return X, np.random.default_rng(1).integers(0, N_CLASSES, n_rows)


def seen(model):
    """What a model has learned and told, without the seconds; as bytes."""
    history = [{**line, "seconds": None} for line in model.history_]
    return pickle.dumps((model.coef_, model.intercept_, model.last_coef_, history, model.t_))


@EVERY_MODEL
def test_threads_change_no_bit(options):
    """fit, and partial_fit after it, with one thread and with several."""
    X, y = make_classes()
    results = []
    for n_jobs in (None, 1, 2, 3, 7, -1):
        model = LazyNetClassifier(**in_rule(**(_BASE | options), n_jobs=n_jobs)).fit(X, y)
        results.append([seen(model)])
        if options.get("rule") != GIVEN["saga"]:
            results[-1].append(seen(model.partial_fit(X[:50], y[:50])))
    assert all(other == results[0] for other in results[1:])


@EVERY_MODEL
@given(nonzeros=st.integers(1, 5000))
def test_the_length_of_a_chunk_changes_no_weight(options, nonzeros):
    """A chunk is shorter where several classes visit it; only sums of losses are rounded anew."""
    X, y = make_classes(n_rows=40, d=60)
    whole = LazyNetClassifier(**in_rule(**(_BASE | options))).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "_NONZEROS_OF_A_CHUNK", nonzeros)
        cut = LazyNetClassifier(**in_rule(**(_BASE | options))).fit(X, y)
    np.testing.assert_array_equal(cut.coef_, whole.coef_)
    np.testing.assert_array_equal(cut.intercept_, whole.intercept_)
    for line, other in zip(cut.history_, whole.history_, strict=True):
        assert line["progressive_loss"] == pytest.approx(other["progressive_loss"], rel=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_an_overflow_of_one_class_leaves_all_classes(n_jobs):
    """The model is what it was before the call, whichever thread meets the overflow."""
    X, y = make_classes()
    model = LazyNetClassifier("squared_error", **in_rule(**_BASE, eta0=1e-3, n_jobs=n_jobs)).fit(
        X, y
    )
    before = seen(model)
    # One class alone: the others have targets of -1 and small weights.
    weights = np.where(y == 3, 1e300, 1.0)
    with pytest.raises(FloatingPointError, match="overflowed"):
        model.partial_fit(X, y, sample_weight=weights)
    assert seen(model) == before
    with pytest.raises(FloatingPointError, match="overflowed"):
        model.fit(X, y, sample_weight=weights)
    assert seen(model) == before
    undisturbed = copy.deepcopy(model).set_params(n_jobs=None).partial_fit(X, y)
    assert seen(model.partial_fit(X, y)) == seen(undisturbed)


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
