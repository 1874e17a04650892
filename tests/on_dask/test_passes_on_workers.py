"""``partial_fit`` over blocks has the bits of the serial ``partial_fit`` on the same rows."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

pytest.importorskip("distributed")

from support.clusters import NO_SHRINKING, cluster_of, delayed_parts, parts_of, source_of, untimed

import lazynet
import lazynet.dask
from lazynet import AdaGrad
from lazynet.dask import ring
from lazynet.dask.held import UnreadableBlock

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(seed, n_rows, n_features=20):
    """Sparse rows, and the numbers from which targets are made."""
    X = sparse.random(n_rows, n_features, density=0.2, format="csr", random_state=seed)
    random = np.random.default_rng(seed)
    return X, X @ random.standard_normal(n_features) + 0.1 * random.standard_normal(n_rows)


def target(kind, numbers):
    """A y of a kind."""
    if kind == "labels":
        return sparse.csr_matrix(np.digitize(numbers, [-0.1, 0.1])[:, None] > np.arange(2))
    if kind == "numbers":
        return numbers
    return np.digitize(numbers, [-0.2, 0.2] if kind == "classes" else [0.0]).astype(float)


def named(kind):
    """The classes that the first call names."""
    return {"classes": {"classes": [0.0, 1.0, 2.0]}, "labels": {}, "numbers": {}}.get(
        kind, {"classes": [0.0, 1.0]}
    )


def assert_same_model(model, serial):
    """Two models have the same bits."""
    for name in ("coef_", "last_coef_"):
        found, wanted = getattr(model, name), getattr(serial, name)
        if sparse.issparse(wanted):
            found, wanted = found.toarray(), wanted.toarray()
        assert np.array_equal(found, wanted), name
    assert np.array_equal(model.intercept_, serial.intercept_)
    for name in ("l1_", "eta0_", "t_", "n_iter_"):
        assert getattr(model, name) == getattr(serial, name), name
    assert untimed(model.history_) == untimed(serial.history_)


SETTINGS = [
    dict(),
    dict(rule="fobos", l1=1e-3),
    dict(rule="rda", l1=1e-3),
    dict(rule="ftrl", l2=1e-4),
    dict(rule="fobos", average=True),
    dict(rule="truncated_gradient", eta0=0.1, l1=1e-3),
    dict(rule="fobos", engine="tables", eta0=0.1, l1=1e-3),
    dict(schedule="pegasos", l2=1e-2, rule="sgd"),
]


@settings(max_examples=12, phases=NO_SHRINKING)
@given(
    st.integers(0, 2**20),
    st.lists(st.integers(0, 600), max_size=6),
    st.sampled_from([1, 2]),
    st.sampled_from(SETTINGS),
    st.sampled_from(["two classes", "classes", "labels", "weights", "numbers"]),
    st.booleans(),
    st.booleans(),
)
def test_any_partition_and_any_workers(clients, seed, cuts, n_workers, params, kind, fits, room):
    """A new model and one that has been fitted; the second pass goes on from the first."""
    X, numbers = rows(seed, 600)
    y = target(kind, numbers)
    weights = np.linspace(0.5, 2.0, 600) if kind == "weights" else None
    parts = parts_of(cuts, X, y, weights)
    name = "LazyNetRegressor" if kind == "numbers" else "LazyNetClassifier"
    serial = getattr(lazynet, name)(**params, max_iter=2)
    model = getattr(lazynet.dask, name)(**params, max_iter=2, client=clients[n_workers])
    with pytest.MonkeyPatch.context() as patch:
        if not room:
            patch.setattr(ring, "_SHARE_OF_MEMORY", 0.0)
        if fits:
            serial.fit(source_of(parts))
            model.fit(delayed_parts(parts))
        for some in (parts, parts[::-1]):
            serial.partial_fit(source_of(some), **named(kind))
            model.partial_fit(delayed_parts(some), **named(kind))
            assert_same_model(model, serial)
    assert model.retries_ == 0


@pytest.mark.parametrize("cuts", [[8191], [8192], [5, 8193, 16384], [16383, 17000]])
@pytest.mark.parametrize("params", [dict(rule="fobos"), dict(), dict(batch_size=1, rule="sgd")])
def test_blocks_that_cut_chunks_of_rows(clients, cuts, params):
    """The first 8,192 rows alone decide on the scale of the rates, wherever a block ends."""
    X, numbers = rows(3, 20_000)
    X[9000] *= 100.0
    parts = parts_of(cuts, X, numbers)
    serial = lazynet.LazyNetRegressor(**params).partial_fit(source_of(parts))
    model = lazynet.dask.LazyNetRegressor(**params, client=clients[2])
    assert_same_model(model.partial_fit(delayed_parts(parts)), serial)


def test_batches_that_blocks_do_not_cut(clients):
    """A batch ends with a chunk of 8,192 rows; other blocks than these are refused."""
    X, numbers = rows(6, 9000)
    y, params = target("two classes", numbers), dict(rule="adagrad", batch_size=100)
    parts = parts_of([300, 8192, 8392], X, y)
    serial = lazynet.LazyNetClassifier(**params).partial_fit(source_of(parts), classes=[0.0, 1.0])
    model = lazynet.dask.LazyNetClassifier(**params, client=clients[2])
    model.partial_fit(delayed_parts(parts), classes=[0.0, 1.0])
    assert_same_model(model, serial)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"batch_size=100 .* block 1 has 8100 rows"):
        model.partial_fit(delayed_parts(parts_of([300, 8400], X, y)))
    assert np.array_equal(model.coef_, before)


def test_a_serial_model_goes_on_from_one_of_blocks(clients):
    """A model without its client learns on, and has the bits of serial calls alone."""
    X, numbers = rows(7, 400)
    parts = parts_of([150], X, target("two classes", numbers))
    serial = lazynet.LazyNetClassifier()
    model = lazynet.dask.LazyNetClassifier(client=clients[2])
    for each in (serial, model):
        given = source_of(parts) if each is serial else delayed_parts(parts)
        each.partial_fit(given, classes=[0.0, 1.0])
    for other in (model.to_local(), pickle.loads(pickle.dumps(model)).to_local()):
        other.partial_fit(source_of(parts))
        assert other.t_ == 800
    assert_same_model(other, serial.partial_fit(source_of(parts)))
    assert_same_model(model.partial_fit(delayed_parts(parts)), serial)


def test_what_fails_changes_nothing(clients):
    """An overflow, rows that cannot be learned from, and a lost worker of the only block."""
    X, numbers = rows(8, 300)
    parts = parts_of([100, 200], X, target("two classes", numbers))
    model = lazynet.dask.LazyNetClassifier(client=clients[2], rule="fobos")
    wrong = [*parts[:2], (parts[2][0], np.full(100, 7.0))]
    with pytest.raises(UnreadableBlock, match="block 2 cannot be learned from: y has labels"):
        model.partial_fit(delayed_parts(wrong), classes=[0.0, 1.0])
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_features_in_")
    model.partial_fit(delayed_parts(parts), classes=[0.0, 1.0])
    before = pickle.dumps((model.coef_, model.t_, model.n_iter_, model.eta0_))
    with pytest.raises(UnreadableBlock, match="block 2 cannot be learned from: y has labels"):
        model.partial_fit(delayed_parts(wrong))
    huge = [*parts[:2], (parts[2][0] * 1e200, parts[2][1])]
    with pytest.raises(FloatingPointError, match="overflowed"):
        model.set_params(loss="squared_hinge").partial_fit(delayed_parts(huge))
    assert pickle.dumps((model.coef_, model.t_, model.n_iter_, model.eta0_)) == before


def test_ctrl_c_leaves_the_model_as_it_was(python_hears_ctrl_c, monkeypatch):
    """Ctrl-C during a pass: the next pass has the bits of a pass that nothing came before."""
    X, numbers = rows(9, 200)
    parts = parts_of([100], X, target("two classes", numbers))
    serial = lazynet.LazyNetClassifier().partial_fit(source_of(parts), classes=[0.0, 1.0])
    with cluster_of(2) as client:
        model = lazynet.dask.LazyNetClassifier(client=client)
        model.partial_fit(delayed_parts(parts), classes=[0.0, 1.0])
        waits, pressed = ring.Ring.wait, threading.Event()

        def presses(self, comes, check=lambda: None):
            if "result" in waited and not pressed.is_set():
                pressed.set()
                os.kill(os.getpid(), signal.SIGINT)
            waits(self, comes, check)

        waited, result = [], ring.Round.result

        def called(self):
            waited.append("result")
            return result(self)

        monkeypatch.setattr(ring.Ring, "wait", presses)
        monkeypatch.setattr(ring.Round, "result", called)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(delayed_parts(parts))
        assert pressed.is_set()
        assert_same_model(model, serial)
        model.partial_fit(delayed_parts(parts))
    assert_same_model(model, serial.partial_fit(source_of(parts)))


def test_a_worker_that_leaves_changes_no_bit(monkeypatch):
    """The pass under way is repeated, and counted."""
    X, numbers = rows(10, 300)
    parts = parts_of([100, 200], X, numbers)
    serial = lazynet.LazyNetRegressor().partial_fit(source_of(parts))
    with cluster_of(2) as client:
        blocks = lazynet.dask.Blocks(delayed_parts(parts), client=client)
        end, left = ring.Traveller.end, []

        def leaves(self, epoch):
            if not left:
                left.append(blocks.ring.owners()[0])
                client.retire_workers(left)
            return end(self, epoch)

        monkeypatch.setattr(ring.Traveller, "end", leaves)
        model = lazynet.dask.LazyNetRegressor(client=client).partial_fit(blocks)
    assert_same_model(model, serial)
    assert model.retries_ >= 1


@pytest.mark.parametrize(
    ("kind", "first", "params", "given", "error", "words"),
    [
        ("two classes", False, {}, {}, ValueError, "classes must be passed on the first call"),
        ("two classes", True, {}, dict(classes=[1.0, 2.0]), ValueError, "not the same as on the"),
        ("two classes", True, dict(rule="saga"), {}, AttributeError, "partial_fit"),
        ("two classes", True, dict(class_weight="balanced"), {}, ValueError, "class_weight='bal"),
        ("labels", True, {}, {}, ValueError, "y must have a column per label in every call"),
        ("wide", True, {}, {}, ValueError, "X has 21 features, and LazyNetClassifier has learned"),
    ],
)
def test_what_cannot_go_on_is_refused(clients, kind, first, params, given, error, words):
    """As the serial ``partial_fit`` refuses it, and the model stays as it was."""
    X, numbers = rows(11, 60)
    model = lazynet.dask.LazyNetClassifier(client=clients[1])
    if first:
        y = target("two classes", numbers)
        model.partial_fit(delayed_parts(parts_of([20], X, y)), classes=[0.0, 1.0])
    before = model.coef_.copy() if first else None
    y, X = target(kind, numbers), rows(11, 60, 21)[0] if kind == "wide" else X
    with pytest.raises(error, match=words):
        model.set_params(**params).partial_fit(delayed_parts(parts_of([20], X, y)), **given)
    assert np.array_equal(model.coef_, before) if first else not hasattr(model, "coef_")


def test_rows_in_memory_and_labels_for_numbers_are_refused(clients):
    """The error names the argument and what is accepted."""
    X, numbers = rows(12, 60)
    model = lazynet.dask.LazyNetRegressor(client=clients[1], rule=AdaGrad())
    with pytest.raises(TypeError, match="X must be Blocks, a Dask array"):
        model.partial_fit(X, numbers)
    with pytest.raises(ValueError, match="y must be a number for every row"):
        model.partial_fit(delayed_parts(parts_of([20], X, target("labels", numbers))))
    assert not hasattr(model, "coef_")
