"""Whatever can visit a block can travel, and what belongs to a block stays there."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("distributed")

import dask
from distributed import get_task_stream
from support.clusters import cluster_of, delayed_parts, parts_of

import lazynet.dask
from lazynet.dask import ring
from lazynet.dask.ring import Ring, Traveller


class Adding:
    """Adds the numbers of a block, times the visits so far, to a sum; the block counts visits."""

    def visit(self, block, travelling, resident):
        time.sleep(0.01)
        visits = resident["visits"] + 1
        return travelling * 0.5 + visits * block.sum(), {"visits": visits}


def in_turn(visitor, blocks, travelling, residents):
    """The same visits in this process."""
    kept = []
    for block, resident in zip(blocks, residents, strict=True):
        travelling, own = visitor.visit(block, travelling, resident)
        kept.append(own)
    return travelling, kept


def whole(block):
    return block


@pytest.mark.parametrize("loses", [False, True])
def test_what_stays_is_a_snapshot_of_the_epoch(loses):
    """States that travel and states that stay, for several models at once; one worker may leave."""
    blocks = [np.arange(5.0) + k for k in range(3)]
    visitor, n_epochs = Adding(), 4
    with cluster_of(2) as client:
        first, second = sorted(client.scheduler_info()["workers"])
        futures = [
            client.compute(
                dask.delayed(whole, pure=False)(block), workers=[worker], allow_other_workers=True
            )
            for block, worker in zip(blocks, (first, first, second), strict=True)
        ]
        around = Ring(client, ["a", "b", "c"], futures)
        held = [[future] for future in futures]
        travellers = [Traveller(around, f"model{m}", held, whole) for m in range(3)]
        now = [(np.array([float(m)]), [{"visits": k} for k in range(3)]) for m in range(3)]
        wanted = list(now)
        for epoch in range(n_epochs):
            for traveller, state in zip(travellers, now, strict=True):
                traveller.begin(epoch, visitor, *state)
            if epoch + 1 < n_epochs:
                for traveller in travellers:
                    traveller.go_on(epoch + 1)
            if loses and epoch == 1:
                client.retire_workers([around.owners()[0]])
            now = [traveller.end(epoch) for traveller in travellers]
            wanted = [in_turn(visitor, blocks, *state) for state in wanted]
            assert [float(travelling[0]) for travelling, _ in now] == [
                float(travelling[0]) for travelling, _ in wanted
            ]
            assert [residents for _, residents in now] == [residents for _, residents in wanted]
        assert sum(traveller.retries for traveller in travellers) >= loses


@pytest.mark.parametrize("room", [True, False])
def test_a_task_visits_all_blocks_that_follow_each_other_on_a_worker(monkeypatch, room):
    """One task a worker and epoch, on the worker that has the blocks; without room one a block."""
    if not room:
        monkeypatch.setattr(ring, "_SHARE_OF_MEMORY", 0.0)
    with cluster_of(2) as client:
        X = sparse.random(400, 20, density=0.2, format="csr", random_state=0)
        parts = parts_of([100, 200, 300], X, np.arange(400.0))
        blocks = lazynet.dask.Blocks(delayed_parts(parts), client=client)
        model = lazynet.dask.LazyNetRegressor(client=client, max_iter=2, tol=None, l1=0.0, eta0=0.1)
        with get_task_stream(client) as stream:
            lazynet.dask.fit_all([model], blocks)
        runs = {run.name: run.owner for run in blocks.ring.runs()}
        visits = [
            (str(each["key"]).split("-epoch")[1].split("-")[:2], each["worker"])
            for each in stream.data
            if str(each["key"]).startswith("lazynet-visit")
        ]
    assert [*runs] == (["blocks0to1", "blocks2to3"] if room else [f"block{k}" for k in range(4)])
    assert len(set(runs.values())) == 2
    assert sorted(visits) == sorted(
        ([str(epoch), name], owner) for epoch in range(2) for name, owner in runs.items()
    )


def test_ctrl_c_ends_all_fits_and_changes_no_model(python_hears_ctrl_c):
    """Ctrl-C during many fits: they end, the estimators are as before, the blocks can be used."""
    X = sparse.random(200, 20, density=0.2, format="csr", random_state=0)
    y = (np.asarray(X.sum(axis=1)).ravel() > 2.0).astype(float)
    with cluster_of(2) as client:
        blocks = lazynet.dask.Blocks(delayed_parts(parts_of([100], X, y)), client=client)
        given = dict(client=client, tol=None)
        models = [lazynet.dask.LazyNetClassifier(max_iter=100_000, **given) for _ in range(3)]
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            lazynet.dask.fit_all(models, blocks)
        assert not any(hasattr(model, "coef_") for model in models)
        assert lazynet.dask.LazyNetClassifier(max_iter=2, **given).fit(blocks).n_iter_ == 2
