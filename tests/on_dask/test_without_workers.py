"""Fits whose workers are all gone: they end, after a while or by Ctrl-C, and change no model."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("distributed")

from support.clusters import cluster_of, delayed_parts, parts_of

import lazynet.dask
from lazynet.dask import minima
from lazynet.dask.ring import LostWorkers, Ring

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Seconds within which a fit must end, and seconds after which workers come back so that a fit that
# waits for ever fails the test instead of keeping it.
SOON, RESCUE = 5.0, 15.0


def parts():
    """Four blocks of rows of three classes."""
    X = sparse.random(1200, 40, density=0.2, format="csr", random_state=0)
    y = np.digitize(np.asarray(X.sum(axis=1)).ravel(), [3.3, 4.6]).astype(float)
    return delayed_parts(parts_of([300, 600, 900], X, y))


def dual(client, **params):
    """A model that takes many calls to find."""
    params = dict(l1=1e-4, l2=0.0, tol=1e-12, random_state=0, client=client) | params
    return lazynet.dask.DualNetClassifier(**params)


@contextlib.contextmanager
def losing_all_workers(client, patch, then=lambda: None):
    """All workers leave at the twelfth gather of a search; ``then`` is called once they are gone.

    Gives the list of the moments at which they were gone.
    """
    calls, gone, over, gathered = [], [], threading.Event(), minima.OnWorkers.gathered

    def watch():
        while client.scheduler_info(n_workers=-1)["workers"]:
            time.sleep(0.05)
        # So long that every thread of the fit waits for a worker.
        time.sleep(0.5)
        gone.append(time.monotonic())
        then()
        if not over.wait(RESCUE):
            client.cluster.scale(1)

    watcher = threading.Thread(target=watch)

    def leaves(self, results):
        calls.append(len(results))
        if len(calls) == 12:
            client.cluster.scale(0)
            watcher.start()
        return gathered(self, results)

    patch.setattr(minima.OnWorkers, "gathered", leaves)
    try:
        yield gone
    finally:
        over.set()
        patch.setattr(minima.OnWorkers, "gathered", gathered)
        watcher.join()


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_ends_a_search_without_workers(python_hears_ctrl_c, monkeypatch):
    """Three classes in three threads: all of them end, and the blocks can be used again."""
    with cluster_of(2) as client:
        blocks = lazynet.dask.Blocks(parts(), client=client)
        model = dual(client, max_iter=2).fit(blocks)
        before = model.coef_.copy()
        model.set_params(max_iter=1000)
        with losing_all_workers(client, monkeypatch, press_ctrl_c) as gone:
            with pytest.raises(KeyboardInterrupt):
                model.fit(blocks)
            assert time.monotonic() - gone[0] < SOON
        assert np.array_equal(model.coef_, before)
        assert model.n_iter_ == 2
        client.cluster.scale(1)
        assert np.array_equal(model.set_params(max_iter=2).fit(blocks).coef_, before)


def test_ctrl_c_ends_several_searches_without_workers(python_hears_ctrl_c, monkeypatch):
    """Fits of several estimators to the same blocks end too."""
    with cluster_of(2) as client:
        models = [dual(client), dual(client)]
        with losing_all_workers(client, monkeypatch, press_ctrl_c) as gone:
            with pytest.raises(KeyboardInterrupt):
                lazynet.dask.fit_all(models, parts(), client=client)
            assert time.monotonic() - gone[0] < SOON
        assert not any(hasattr(model, "coef_") for model in models)


def test_a_search_without_workers_ends(monkeypatch):
    """No worker comes back for so long: the error says so, and the model stays as it was."""
    monkeypatch.setattr(Ring, "patience", 1.0)
    with cluster_of(2) as client:
        model = dual(client)
        with losing_all_workers(client, monkeypatch) as gone:
            with pytest.raises(LostWorkers, match="no worker has come back in 1 seconds"):
                model.fit(parts())
            assert time.monotonic() - gone[0] < SOON
        assert not hasattr(model, "coef_")


@pytest.mark.parametrize("name", ["DualNetClassifier", "LazyNetClassifier"])
def test_a_fit_that_never_has_a_worker_ends(monkeypatch, name):
    """Blocks that no worker is there to make are not waited for any longer."""
    monkeypatch.setattr(Ring, "patience", 0.5)
    with cluster_of(0) as client:
        model = getattr(lazynet.dask, name)(client=client)
        with pytest.raises(LostWorkers, match="no worker has come back"):
            model.fit(parts())
        assert not hasattr(model, "coef_")


def test_epochs_without_workers_end(monkeypatch):
    """A model that is trained online waits as long for a worker as a search does."""
    monkeypatch.setattr(Ring, "patience", 1.0)
    with cluster_of(2) as client:

        def leave(epoch):
            client.cluster.scale(0)

        model = lazynet.dask.LazyNetClassifier(max_iter=1000, tol=None, client=client)
        with pytest.raises(LostWorkers, match="no worker has come back in 1 seconds"):
            model.fit(parts(), callback=leave)
        assert not hasattr(model, "coef_")


def leave(client):
    """All workers leave; returns once they are gone."""
    client.cluster.scale(0)
    while client.scheduler_info(n_workers=-1)["workers"]:
        time.sleep(0.05)


def test_rows_without_workers_are_waited_for_no_longer(python_hears_ctrl_c, monkeypatch):
    """Who asks the client for the rows of blocks waits as a fit does."""
    with cluster_of(2) as client:
        blocks = lazynet.dask.Blocks(parts(), client=client)
        n_rows = sum(chunk.X.shape[0] for chunk in blocks.chunks())
        assert n_rows == sum(blocks.lengths) == 1200
        leave(client)
        began = time.monotonic()
        threading.Timer(0.5, press_ctrl_c).start()
        with pytest.raises(KeyboardInterrupt):
            list(blocks.chunks())
        monkeypatch.setattr(Ring, "patience", 0.5)
        with pytest.raises(LostWorkers, match=r"no worker has come back in 0.5 seconds"):
            list(blocks.chunks())
        assert time.monotonic() - began < SOON
