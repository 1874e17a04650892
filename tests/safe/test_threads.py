"""Threads that share a model take turns, and kernels let other threads run."""

import contextlib
import copy
import os
import pickle
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from support import ELASTIC_ENGINES, plan, rows
from support.engines import form_engine
from support.matrices import reversed_rows

from lazynet import FTRL, Constant, LazyNetClassifier, Stepper
from lazynet.data import as_examples


@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
def test_another_thread_runs_during_a_chunk(engine):
    """While one long chunk is in the kernel, Python code elsewhere makes progress."""
    # On a busy machine this thread may have to wait for a processor: then in a longer chunk.
    assert any(turns_during_a_chunk(engine, passes) > 5 for passes in (50, 200, 800))


def turns_during_a_chunk(engine, passes):
    """How often this thread has its turn while another one is in the kernel."""
    X = sparse.random(1000, 200, density=0.2, format="csr", random_state=0)
    X.sort_indices()
    built, chosen = form_engine(engine, 200), plan(l1=1e-3, l2=1e-3)
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


@pytest.mark.parametrize("rule", ["fobos", FTRL(alpha=0.1)], ids=str)
def test_calls_of_one_model_from_several_threads_take_turns(rule):
    """Every step of every call is in the model, and whoever reads it sees whole calls."""
    X = sparse.random(200, 50, density=0.1, format="csr", random_state=0)
    y = np.arange(200) % 2
    model = LazyNetClassifier(rule=rule, shuffle=False)
    model.partial_fit(X[:5], y[:5], classes=[0, 1])
    seen = []

    def learn(part):
        for _ in range(25):
            model.partial_fit(X[part::4], y[part::4])

    def read():
        for _ in range(50):
            seen.append(model.t_)
            assert np.isfinite(model.decision_function(X[:3])).all()

    with ThreadPoolExecutor(5) as pool:
        for future in [*(pool.submit(learn, part) for part in range(4)), pool.submit(read)]:
            future.result()
    assert model.t_ == 5 + 4 * 25 * 50
    assert all((t - 5) % 50 == 0 for t in seen)


def test_steps_of_one_stepper_from_several_threads_take_turns():
    """Every step counts."""
    stepper = Stepper(4, loss="squared_error", eta0=1e-3, schedule="constant")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda j: [stepper.step([j], [1.0], 1.0) for _ in range(100)], range(4)))
    assert stepper.t == 400
    np.testing.assert_allclose(stepper.weights, 1.0 - 0.999**100)


def test_a_copy_learns_by_itself():
    """copy.copy shares the parameters with the original and nothing that learns."""
    X = sparse.random(60, 50, density=0.1, format="csr", random_state=0)
    y = np.arange(60) % 2
    model = LazyNetClassifier(random_state=0).partial_fit(X, y, classes=[0, 1])
    before, other = model.coef_.copy(), copy.copy(model)
    assert other.partial_fit(X, y).t_ == 120
    assert model.t_ == 60
    np.testing.assert_array_equal(LazyNetClassifier.coef_.fget(model), before)
    # Both go on with the same shuffling.
    np.testing.assert_array_equal(model.partial_fit(X, y).coef_, other.coef_)
    stepper = Stepper(2)
    copy.copy(stepper).step([0], [1.0], 1.0)
    assert stepper.t == 0
    assert not stepper.weights.any()


class Asks:
    """A schedule that calls something of the model while it learns."""

    def __init__(self, ask):
        self.ask = ask

    def rates(self, start, stop):
        self.ask()
        return np.full(stop - start, 0.1)

    def __call__(self, t):
        return 0.1


def test_a_model_is_not_used_by_what_its_own_call_calls():
    """A schedule cannot train the model that asks it, nor read weights that are being changed."""
    X = sparse.random(60, 50, density=0.1, format="csr", random_state=0)
    y = np.arange(60) % 2
    model = LazyNetClassifier(random_state=0).partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy()
    for ask in (lambda: model.coef_, lambda: model.partial_fit(X, y), lambda: pickle.dumps(model)):
        model.set_params(schedule=Asks(ask))
        with pytest.raises(RuntimeError, match="in this thread"):
            model.partial_fit(X, y)
        model.set_params(schedule="auto")
        np.testing.assert_array_equal(model.coef_, before)
    # fit changes nothing before its end: what is read is the model of before.
    read = []
    model.set_params(schedule=Asks(lambda: read.append(model.coef_.copy())), max_iter=1, tol=None)
    model.fit(X, y)
    np.testing.assert_array_equal(read[0], before)


@pytest.mark.parametrize("form", ["csr", "csc", "unsorted"])
@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
def test_a_matrix_that_changes_under_a_kernel_leads_it_nowhere(engine, form):
    """Another thread writes columns and row starts that leave the matrix: an error or a result."""
    X = sparse.random(
        500, 500, density=0.2, format="csc" if form == "csc" else "csr", random_state=0
    )
    if form == "unsorted":
        X = reversed_rows(X)
    y = np.arange(500) % 2
    indices, indptr, done = X.indices.copy(), X.indptr.copy(), threading.Event()

    def scribble():
        rng = np.random.default_rng(0)
        while not done.is_set():
            where = rng.integers(0, len(indices), 100)
            X.indices[where] = rng.choice([-7, 2**31 - 1, 10**6, 5], 100)
            X.indptr[rng.integers(0, 501, 5)] = rng.choice([-1, 2**31 - 1, 3], 5)
            X.indices[:], X.indptr[:] = indices, indptr

    model = LazyNetClassifier(engine=engine, l1=1e-3, max_iter=3, tol=None, random_state=0)
    writer = threading.Thread(target=scribble)
    writer.start()
    try:
        for _ in range(20):
            with contextlib.suppress(ValueError, FloatingPointError):
                model.fit(X, y)
    finally:
        done.set()
        writer.join()
    assert np.isfinite(model.set_params(max_iter=1).fit(X, y).coef_).all()


class TrainsWhileItIsWritten(Constant):
    """A schedule that trains the model that it belongs to while somebody writes the model out."""

    model = None

    def __reduce__(self):
        if self.model is not None:
            thread = threading.Thread(
                target=self.model.partial_fit, args=(np.ones((4, 3)), CLASSES)
            )
            thread.start()
            thread.join(0.5)  # it may have to wait for its turn
        return Constant, (self.eta0,)


CLASSES = [0, 1, 0, 1]


@pytest.mark.parametrize("written", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_a_model_that_is_written_out_is_of_one_moment(written):
    """The steps written out are those that the weights have had, though training goes on."""
    schedule = TrainsWhileItIsWritten(0.1)
    model = LazyNetClassifier(rule="fobos", schedule=schedule, average=True, shuffle=False)
    model.partial_fit(np.ones((4, 3)), CLASSES, classes=[0, 1])
    schedule.__dict__["model"] = model
    other = written(model)
    schedule.__dict__["model"] = None
    assert other._engines[0].counted == other.t_


def test_predictions_are_of_one_model():
    """Predictions are sound while another thread fits the model to other classes and features."""
    rng = np.random.default_rng(0)
    wide = sparse.random(30, 40, density=0.3, format="csr", random_state=0)
    two, three = rng.integers(0, 2, 30), np.array(["a", "b", "c"])[np.arange(30) % 3]
    model = LazyNetClassifier(max_iter=1, tol=None).fit(wide[:, :30], two)
    done, odd = threading.Event(), []

    def train():
        while not done.is_set():
            model.fit(wide, three)
            model.fit(wide[:, :30], two)

    trainer = threading.Thread(target=train)
    trainer.start()
    try:
        for _ in range(400):
            for X, labels in ((wide, "abc"), (wide[:, :30], [0, 1])):
                try:
                    predicted = set(model.predict(X).tolist())
                    assert model.predict_proba(X).shape[0] == 30
                except ValueError as error:
                    if "features" not in str(error):  # the model of the other shape was there
                        raise
                else:
                    odd += [] if predicted <= set(labels) else [predicted]
    finally:
        done.set()
        trainer.join()
    assert not odd


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_does_not_have():
    """A model that another thread was training is what it was before that call."""
    X, entered, leave = np.ones((4, 3)), threading.Event(), threading.Event()
    model = LazyNetClassifier(shuffle=False).partial_fit(X, CLASSES, classes=[0, 1])

    def wait():
        entered.set()
        leave.wait(60)

    model.set_params(schedule=Asks(wait))
    thread = threading.Thread(target=model.partial_fit, args=(X, CLASSES))
    thread.start()
    entered.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if len(model.predict(X)) == 4 and model.t_ == 4 else 1)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert model.t_ == 8
