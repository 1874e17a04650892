"""Minima over blocks on workers have the bits of a search in one process."""

import pickle

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("distributed")

from support.clusters import delayed_parts, kill_a_worker, parts_of

import lazynet
import lazynet.dask
from lazynet.dask import minima

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(kind, n_rows=1200, n_features=40):
    """Sparse rows, and y of a kind."""
    X = sparse.random(n_rows, n_features, density=0.2, format="csr", random_state=0)
    random = np.random.default_rng(0)
    numbers = X @ random.standard_normal(n_features) + 0.1 * random.standard_normal(n_rows)
    y = {
        "classes": np.digitize(numbers, [-0.3, 0.3]).astype(float),
        "numbers": numbers,
    }.get(kind, (numbers > 0.0).astype(float))
    return X, y


def equal_parts(n_blocks, X, y, weights=None):
    """The blocks into which ``n_blocks`` divides the rows."""
    cuts = [X.shape[0] * k // n_blocks for k in range(1, n_blocks)]
    return parts_of(cuts, X, y, weights)


SETTINGS = [
    ("two classes", dict(l1=1e-3, l2=1e-3)),
    ("two classes", dict(l1=1e-3, l2=0.0, class_weight="balanced")),
    ("two classes", dict(loss="hinge", l1=1e-3, l2=1e-2)),
    ("weights", dict(l1=0.0, l2=1e-3, fit_intercept=False)),
    ("classes", dict(l1=1e-3, l2=1e-3)),
    ("numbers", dict(l1=1e-3, l2=1e-4)),
]


@pytest.mark.parametrize(("kind", "params"), SETTINGS)
def test_rounds_over_blocks_on_workers_are_those_in_this_process(clients, kind, params):
    """``n_blocks`` of the serial estimator divides the rows alike: weights have the same bits."""
    X, y = rows(kind)
    weights = np.linspace(0.5, 2.0, len(y)) if kind == "weights" else None
    name = "DualNetRegressor" if kind == "numbers" else "DualNetClassifier"
    params = {"random_state": 3, "n_blocks": 4, "max_iter": 6, **params}
    serial = getattr(lazynet, name)(**params).fit(X, y, weights)
    model = getattr(lazynet.dask, name)(**params, client=clients[2])
    model.fit(delayed_parts(equal_parts(4, X, y, weights)))
    assert np.array_equal(model.coef_, serial.coef_)
    assert np.array_equal(model.intercept_, serial.intercept_)
    assert model.n_iter_ == serial.n_iter_
    assert model.solver_ == serial.solver_
    # Sums right to the last digit are made block by block.
    np.testing.assert_allclose(model.objective_, serial.objective_, rtol=1e-13)
    np.testing.assert_allclose(model.duality_gap_, serial.duality_gap_, rtol=1e-6, atol=1e-14)


@pytest.mark.parametrize(("kind", "n_blocks"), [("two classes", 1), ("classes", 1), ("numbers", 4)])
def test_any_number_of_workers_gives_the_same_bits(clients, kind, n_blocks):
    """The blocks decide the bits, and the workers do not; the gap is a certificate of all rows."""
    X, y = rows(kind)
    name = "DualNetRegressor" if kind == "numbers" else "DualNetClassifier"
    params = dict(l1=1e-3, l2=1e-3, random_state=5, n_blocks=n_blocks, max_iter=4)
    found = [
        getattr(lazynet.dask, name)(**params, client=client).fit(
            delayed_parts(parts_of([100, 170, 400], X, y))
        )
        for client in clients.values()
    ]
    for other in found[1:]:
        assert np.array_equal(other.coef_, found[0].coef_)
        assert np.array_equal(other.intercept_, found[0].intercept_)
        assert np.array_equal(other.duality_gap_, found[0].duality_gap_)
    assert {*np.ravel(found[0].solver_)} == {"ascent" if n_blocks == 1 else "blocks"}
    least = getattr(lazynet, name)(l1=1e-3, l2=1e-3, tol=1e-9).fit(X, y)
    distance = np.subtract(found[0].objective_, least.objective_)
    assert (distance <= found[0].duality_gap_).all()
    assert np.array_equal(found[0].to_local().predict(X), found[0].predict(X))


def test_the_rule_that_chooses(clients):
    """More than three blocks to a model: all at once; ``n_blocks`` overrules it."""
    params = dict(l1=1e-2, l2=1e-2, random_state=0, max_iter=2, client=clients[2])
    for kind, n_blocks, wanted in (
        ("two classes", 3, "ascent"),
        ("two classes", 4, "blocks"),
        ("classes", 4, "ascent"),
    ):
        parts = delayed_parts(equal_parts(n_blocks, *rows(kind)))
        model = lazynet.dask.DualNetClassifier(**params).fit(parts)
        assert {*np.ravel(model.solver_)} == {wanted}
        assert minima.goes_at_once(n_blocks, len(model.coef_)) == (wanted == "blocks")
    model = lazynet.dask.DualNetClassifier(**params, n_blocks=3)
    with pytest.raises(
        ValueError, match="n_blocks must be None, 1 or the number of blocks of X, 4"
    ):
        model.fit(delayed_parts(equal_parts(4, *rows("two classes"))))
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("n_blocks", [1, 4])
def test_a_killed_worker_changes_no_bit(clients, processes, monkeypatch, n_blocks):
    """A worker is killed during the search; its tasks are repeated on another one."""
    X, y = rows("two classes", 3000)
    params = dict(l1=1e-4, l2=0.0, tol=1e-9, max_iter=6, random_state=0, n_blocks=n_blocks)
    parts = delayed_parts(equal_parts(4, X, y))
    wanted = lazynet.dask.DualNetClassifier(**params, client=clients[2]).fit(parts)
    calls, gathered = [], minima.OnWorkers.gathered

    def kills(self, results):
        calls.append(len(results))
        if len(calls) == 12:
            kill_a_worker(processes)
        return gathered(self, results)

    monkeypatch.setattr(minima.OnWorkers, "gathered", kills)
    model = lazynet.dask.DualNetClassifier(**params, client=processes).fit(parts)
    assert len(calls) > 12
    assert np.array_equal(model.coef_, wanted.coef_)
    assert model.duality_gap_ == wanted.duality_gap_


def test_a_checkpoint_and_a_warm_start(clients, tmp_path, monkeypatch):
    """A lost client goes on with the same bits; a warm start goes on from the last minimum."""
    X, y = rows("two classes")
    params = dict(l1=1e-2, l2=1e-1, random_state=0, client=clients[2], max_iter=100)
    parts = delayed_parts(equal_parts(4, X, y))
    wanted = lazynet.dask.DualNetClassifier(**params).fit(parts)
    path, calls, at_once = tmp_path / "run.lazy", [], minima.AtOnce.epoch

    def stops(self, last):
        calls.append(0)
        if len(calls) == 5:
            raise ConnectionError("the client is gone")
        return at_once(self, last)

    monkeypatch.setattr(minima.AtOnce, "epoch", stops)
    with pytest.raises(ConnectionError):
        lazynet.dask.DualNetClassifier(**params).fit(parts, checkpoint=path, every=0.0)
    assert path.exists()
    model = lazynet.dask.DualNetClassifier(**params).fit(parts, checkpoint=path, every=0.0)
    assert len(calls) == wanted.n_iter_ + 1
    assert np.array_equal(model.coef_, wanted.coef_)
    model.set_params(warm_start=True).fit(parts)
    again = model.fit(parts)
    assert again.n_iter_ < wanted.n_iter_


def test_a_model_over_blocks_needs_no_client_later(clients, tmp_path):
    """Pickles and files hold the model, and the client is no part of it."""
    X, y = rows("two classes")
    model = lazynet.dask.DualNetClassifier(random_state=0, client=clients[1])
    model.fit(delayed_parts(equal_parts(2, X, y)))
    model.save(tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), lazynet.load(tmp_path / "model")):
        assert np.array_equal(other.predict_proba(X), model.predict_proba(X))
    assert type(model.to_local()) is lazynet.DualNetClassifier


@pytest.mark.parametrize(
    ("y", "weights", "error", "words"),
    [
        (np.zeros(6), None, ValueError, "y must have at least two classes"),
        (np.arange(6) % 2.0, np.zeros(6), ValueError, "must not be zero|above 0"),
        (np.arange(6) % 2.0, np.arange(6) % 2.0, ValueError, "above 0 for a row of every class"),
        (sparse.csr_matrix(np.eye(6)), None, ValueError, "y must have one class or one number"),
    ],
)
def test_what_cannot_be_learned_is_refused(clients, y, weights, error, words):
    """The error names the argument, and the model stays as it was."""
    model = lazynet.dask.DualNetClassifier(client=clients[1])
    with pytest.raises(error, match=words):
        model.fit(delayed_parts(parts_of([3], sparse.csr_matrix(np.eye(6)), y, weights)))
    assert not hasattr(model, "n_features_in_")
