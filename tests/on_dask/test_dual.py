"""Minima over blocks on workers have the bits of a search in one process."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("distributed")

from support.clusters import delayed_parts, kill_a_worker, parts_of

import lazynet
import lazynet.dask
from lazynet.dask import minima
from lazynet.data import as_examples
from lazynet.engines.dual import DualAscent
from lazynet.engines.mean import MeanLoss
from lazynet.kernels.dual import INTERCEPT_Z_FIELD
from lazynet.losses import get_loss
from lazynet.minimise import Minimiser
from lazynet.penalties import ElasticNet
from lazynet.searches import Ascent

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
def test_a_model_visits_the_rows_in_an_order_that_goes_by_blocks(clients, kind, params):
    """A serial fit whose orders of the rows go block by block has the same weights, but for sums.

    u, and what the gap needs, are summed block by block over blocks.
    """
    X, y = rows(kind)
    weights = np.linspace(0.5, 2.0, len(y)) if kind == "weights" else None
    name = "DualNetRegressor" if kind == "numbers" else "DualNetClassifier"
    params = {"random_state": 3, "max_iter": 3, "tol": 1e-12, **params}
    cuts = [100, 170, 400]
    model = getattr(lazynet.dask, name)(**params, client=clients[2])
    model.fit(delayed_parts(parts_of(cuts, X, y, weights)))
    borders = [0, *cuts, X.shape[0]]

    class ByBlocks(Ascent):
        """Dual ascent on all rows in this process, in the orders of the blocks."""

        def __init__(self, *given):
            super().__init__(*given)
            self.done = 0

        def _start_from(self, last):
            self.seed = int(self.generator.randint(2**31))
            super()._start_from(last)

        def _pass(self):
            position = np.array([self.seed, self.done])
            for number, (first, end) in enumerate(pairwise(borders)):
                self.ascent.take(first + minima.order_of(number, position, end - first))
            self.done += 1
            return self.ascent.duals.copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Minimiser, "_by_rows", True)
        patch.setattr("lazynet.minimise.Ascent", ByBlocks)
        serial = getattr(lazynet, name)(**params).fit(X, y, weights)
    assert model.n_iter_ == serial.n_iter_
    np.testing.assert_allclose(model.coef_, serial.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, serial.intercept_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.objective_, serial.objective_, rtol=1e-9)
    np.testing.assert_allclose(model.duality_gap_, serial.duality_gap_, rtol=1e-6, atol=1e-12)


def test_visits_to_blocks_are_the_steps_of_dual_ascent():
    """To the last bit, and a visit changes none of its arguments: it can be made again."""
    X, y = rows("numbers", 200)
    loss, penalty = get_loss("squared_error"), ElasticNet(1e-3, 1e-2)
    mean = MeanLoss(as_examples(X, y), y, None, loss, fit_intercept=True)
    serial = DualAscent(mean, penalty, 0.5, 0.25)
    model = {
        "z": np.zeros(X.shape[1]),
        "scalars": np.array([0.0, 0.5, 0.25, penalty.l1, penalty.l2]),
        "position": np.array([7, 0]),
    }
    borders, duals = [0, 30, 110, 200], [np.zeros(30), np.zeros(80), np.zeros(90)]
    for number, (first, end) in enumerate(pairwise(borders)):
        part = as_examples(X[first:end], y[first:end])
        own = MeanLoss(part, y[first:end], None, loss, fit_intercept=True, total=200.0)
        before = pickle.dumps((model, duals))
        found = [minima.visited(own, number, model, duals[number]) for _ in range(2)]
        assert pickle.dumps((model, duals)) == before
        assert pickle.dumps(found[0]) == pickle.dumps(found[1])
        model, duals[number] = found[0]
        serial.take(first + minima.order_of(number, np.array([7, 0]), end - first))
        assert np.array_equal(model["z"], serial.z)
    assert np.array_equal(np.concatenate(duals), serial.duals)
    assert model["scalars"][0] == serial.fields[INTERCEPT_Z_FIELD]


@pytest.mark.parametrize("kind", ["two classes", "classes", "numbers"])
def test_any_number_of_workers_gives_the_same_bits(clients, kind):
    """The blocks decide the bits, and the workers do not; the gap is a certificate of all rows."""
    X, y = rows(kind)
    name = "DualNetRegressor" if kind == "numbers" else "DualNetClassifier"
    params = dict(l1=1e-3, l2=1e-3, random_state=5, max_iter=4)
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
    assert {*np.ravel(found[0].solver_)} == {"ascent"}
    least = getattr(lazynet, name)(l1=1e-3, l2=1e-3, tol=1e-9).fit(X, y)
    distance = np.subtract(found[0].objective_, least.objective_)
    assert (distance <= found[0].duality_gap_).all()
    assert np.array_equal(found[0].to_local().predict(X), found[0].predict(X))


def test_a_killed_worker_changes_no_bit(clients, processes, monkeypatch):
    """A worker is killed during the search; its tasks are repeated on another one."""
    X, y = rows("two classes", 3000)
    params = dict(l1=1e-4, l2=0.0, tol=1e-9, max_iter=6, random_state=0)
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


def test_a_warm_start(clients):
    """It goes on from the last minimum."""
    X, y = rows("two classes")
    params = dict(l1=1e-2, l2=1e-1, random_state=0, client=clients[2], max_iter=100)
    parts = delayed_parts(equal_parts(4, X, y))
    model = lazynet.dask.DualNetClassifier(**params, warm_start=True).fit(parts)
    first = model.n_iter_
    assert model.fit(parts).n_iter_ < first


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
