"""A path of penalties over blocks on workers is that of a search in one process."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("distributed")

import dask
from support.clusters import delayed_parts, parts_of

import lazynet
import lazynet.dask
from lazynet.dask import minima
from lazynet.losses import get_loss
from lazynet.minimise import Minimiser, Problem
from lazynet.paths import follow

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(kind, n_rows=800, n_features=30):
    """Sparse rows, and y of a kind."""
    X = sparse.random(n_rows, n_features, density=0.2, format="csr", random_state=0)
    random = np.random.default_rng(0)
    numbers = X @ random.standard_normal(n_features) + 0.1 * random.standard_normal(n_rows)
    return X, numbers if kind == "numbers" else (numbers > 0.0).astype(float)


def equal_parts(n_blocks, *arrays):
    """The blocks into which ``n_blocks`` divides the rows."""
    n_rows = arrays[0].shape[0]
    return parts_of([n_rows * k // n_blocks for k in range(1, n_blocks)], *arrays)


def assert_same_path(path, other):
    """Two paths have the same bits."""
    for each in dataclasses.fields(path):
        found, wanted = getattr(path, each.name), getattr(other, each.name)
        if sparse.issparse(found):
            found, wanted = found.toarray(), wanted.toarray()
        assert np.array_equal(found, wanted), each.name


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("classes", dict(n_points=3)),
        ("classes", dict(n_points=3, l1_ratio=0.5, fit_intercept=False)),
        ("weights", dict(l1s=[0.1, 1e-3], l2s=1e-3)),
        ("numbers", dict(n_points=3, loss="squared_error")),
    ],
)
def test_rounds_along_a_path_are_those_in_this_process(clients, kind, params):
    """A search over equal blocks in one process starts every minimum from the one before, too."""
    X, y = rows(kind)
    weights = np.linspace(0.5, 2.0, len(y)) if kind == "weights" else None
    given = equal_parts(4, *((X, y) if weights is None else (X, y, weights)))
    path = lazynet.dask.net_path(
        delayed_parts(given), **params, max_iter=3, random_state=3, client=clients[2]
    )
    targets = y if kind == "numbers" else np.where(y > 0, 1.0, -1.0)
    loss = get_loss(params.get("loss", "log_loss"))
    problem = Problem(X, targets, weights, loss, params.get("fit_intercept", True))
    minimiser = Minimiser(problem, np.random.RandomState(3), n_blocks=4)
    assert path.at_zero == minimiser.at_zero
    assert len(path) == params.get("n_points", 2)
    if "n_points" in params:
        # Sums over blocks have other last digits, and the first point begins at the largest l1.
        np.testing.assert_allclose(minimiser.largest_l1, path.l1s[0], rtol=1e-13)
        minimiser.largest_l1 = path.l1s[0]
    points = follow(minimiser, path.l1s, path.l2s, tol=1e-4, max_iter=3)
    for number, minimum in enumerate(points):
        assert np.array_equal(path.coefs[[number]].toarray()[0], minimum.coef)
        assert path.intercepts[number] == minimum.intercept
        assert path.n_iter[number] == minimum.n_iter
    assert path.n_iter.any()


@pytest.mark.parametrize("n_blocks", [None, 1])
def test_any_number_of_workers_gives_the_same_bits(clients, n_blocks):
    """The blocks decide the bits; what is left is bounded, and the serial path is as near."""
    X, y = rows("classes")
    parts = parts_of([100, 170, 400], X, y)
    params = dict(n_points=3, random_state=5, n_blocks=n_blocks, max_iter=4)
    found = [
        lazynet.dask.net_path(delayed_parts(parts), **params, client=client)
        for client in clients.values()
    ]
    for other in found[1:]:
        assert_same_path(other, found[0])
    path, serial = found[0], lazynet.net_path(X, y, n_points=3, tol=1e-9, random_state=0)
    np.testing.assert_allclose(path.l1s, serial.l1s, rtol=1e-12)
    assert (path.objectives - serial.objectives <= path.gaps + 1e-12).all()
    assert (path.objectives - serial.dual_objectives >= -1e-12).all()
    assert path.nonzeros[0] == 0
    assert path.classes.tolist() == [0.0, 1.0]
    assert path.decision_function(X).shape == (800, 3)


def test_a_lost_client_goes_on_from_its_checkpoint(clients, tmp_path, monkeypatch):
    """The same call goes on behind the last epoch, with the same bits."""
    X, y = rows("classes")
    parts = delayed_parts(equal_parts(4, X, y))
    params = dict(n_points=3, random_state=0, client=clients[2], max_iter=3)
    wanted = lazynet.dask.net_path(parts, **params)
    path, calls, at_once = tmp_path / "path.lazy", [], minima.AtOnce.epoch

    def stops(self, last):
        calls.append(0)
        if len(calls) == wanted.n_iter[1] + 3:
            raise ConnectionError("the client is gone")
        return at_once(self, last)

    monkeypatch.setattr(minima.AtOnce, "epoch", stops)
    with pytest.raises(ConnectionError):
        lazynet.dask.net_path(parts, **params, checkpoint=path, every=0.0)
    with pytest.raises(ValueError, match="another call"):
        lazynet.dask.net_path(parts, **params, n_blocks=1, checkpoint=path)
    found = lazynet.dask.net_path(parts, **params, checkpoint=path, every=0.0)
    assert_same_path(found, wanted)
    assert len(calls) == wanted.n_iter.sum() + 1


def never():
    """A block that nobody may ask for."""
    raise AssertionError("a block was made")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (dict(l1_ratio=0.0), "l1_ratio=0 leaves only the l2 penalty"),
        (dict(n_blocks=0), "n_blocks must be"),
        (dict(tol=0.0), "tol must be"),
    ],
)
def test_parameters_are_refused_before_a_block_is_made(clients, params, words):
    """The error names the parameter, and no block has been asked for."""
    with pytest.raises((TypeError, ValueError), match=words):
        lazynet.dask.net_path([dask.delayed(never)()], client=clients[1], **params)


@pytest.mark.parametrize(
    ("y", "params", "words"),
    [
        (np.arange(6) % 3.0, {}, "y must hold the labels of two classes"),
        (np.arange(6) / 7.0, {}, "got 6 classes: .*; if y holds numbers, write"),
        (np.arange(6) % 2.0, dict(n_blocks=3), "n_blocks must be None, 1 or the number of blocks"),
        (sparse.csr_matrix(np.eye(6)), {}, "y must have one class or one number"),
    ],
)
def test_rows_without_a_path_are_refused(clients, y, params, words):
    """The error names what is wrong with the rows, or with the way over them."""
    parts = delayed_parts(parts_of([3], sparse.csr_matrix(np.eye(6)), y))
    with pytest.raises(ValueError, match=words):
        lazynet.dask.net_path(parts, client=clients[1], **params)
