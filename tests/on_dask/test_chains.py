"""Online models over blocks have the bits of serial fits over the same rows."""

import os
import random
import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("distributed")

from dask.sizeof import sizeof
from distributed import get_task_stream
from support.clusters import (
    NO_SHRINKING,
    assert_same_fit,
    cluster_of,
    delayed_parts,
    kill_a_worker,
    parts_of,
)
from support.matrices import categories

import lazynet
import lazynet.dask
from lazynet import FoBoS, TruncatedGradient
from lazynet.dask import blocks, chains
from lazynet.data import Chunks, Shuffled
from lazynet.data.targets import Classes
from lazynet.engines.catalogue import EngineKind, new_engine
from on_dask.rows import KINDS, estimators, problem

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SETTINGS = [
    dict(),
    dict(standardize=True, l2=1e-3),
    dict(standardize=False),
    dict(rule="fobos", l1=1e-3),
    dict(rule="rda", tol=None, max_iter=2),
    dict(rule="ftrl", l2=1e-4, max_iter=3),
    dict(rule=FoBoS(average=True), max_iter=3),
    dict(rule=TruncatedGradient(eta0=0.1), max_iter=3),
    dict(rule=FoBoS(storage="tables", eta0=0.1), max_iter=2),
]


@settings(max_examples=12, phases=NO_SHRINKING)
@given(
    st.integers(0, 2**20),
    st.lists(st.integers(0, 3000), max_size=6),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(SETTINGS),
    st.sampled_from(KINDS),
    st.booleans(),
)
def test_any_partition_and_any_workers(clients, seed, cuts, n_workers, params, kind, together):
    """``fit`` ends with the bits of a serial one."""
    parts = parts_of(cuts, *problem(seed, 3000, kind=kind))
    serial = estimators(lazynet, kind)(**params).fit(Chunks(parts))
    model = estimators(lazynet.dask, kind)(**params)
    with pytest.MonkeyPatch.context() as patch:
        if not together:
            patch.setattr(blocks, "VALUES_OF_A_TASK", 0)
        model.fit(delayed_parts(parts), client=clients[n_workers])
    assert_same_fit(model, serial)


@pytest.mark.parametrize("cuts", [[8191], [8192], [5, 8193, 16384], [16383, 17000]])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_blocks_that_cut_chunks_of_rows(client, cuts, kind):
    """A loss is summed over 8,192 rows first, and these decide on rates, wherever a block ends."""
    X, y, _ = problem(3, 20_000, kind=kind)
    X[9000] *= 100.0
    parts, params = parts_of(cuts, X, y), dict(max_iter=2, tol=None)
    serial = estimators(lazynet, kind)(**params).fit(Chunks(parts))
    model = estimators(lazynet.dask, kind)(**params)
    model.fit(delayed_parts(parts), client=client)
    assert_same_fit(model, serial)


def test_rows_in_a_random_order_within_blocks(client):
    """Every epoch has an order of its own, that of ``Shuffled`` with windows as long as a block."""
    parts = parts_of([500, 1000, 1500], *problem(4, 2000)[:2])
    params = dict(max_iter=3, tol=None)
    shuffled = Shuffled(Chunks(parts), window=500, seed=7)
    serial = lazynet.LazyNetClassifier(**params).fit(shuffled)
    rows = lazynet.dask.Blocks(delayed_parts(parts), client=client, seed=7)
    model = lazynet.dask.LazyNetClassifier(**params).fit(rows)
    assert_same_fit(model, serial)
    as_they_lie = lazynet.LazyNetClassifier(**params).fit(Chunks(parts))
    assert not np.array_equal(model.coef_, as_they_lie.coef_)
    # The rows come through the client then.
    assert_same_fit(model.partial_fit(rows), serial.partial_fit(shuffled))


def test_a_task_visits_all_blocks_that_follow_each_other_on_a_worker():
    """One task for each worker and epoch, on the worker that has the blocks."""
    parts = parts_of([100, 200, 300], *problem(0, 400, kind="numbers")[:2])
    with cluster_of(2) as client:
        rule = FoBoS(eta0=0.1)
        model = lazynet.dask.LazyNetRegressor(rule=rule, l1=0.0, max_iter=2, tol=None)
        with get_task_stream(client) as stream:
            model.fit(delayed_parts(parts), client=client)
    visits = [
        (str(each["key"]).split("-epoch")[1].split("-")[:2], each["worker"])
        for each in stream.data
        if str(each["key"]).startswith("lazynet-visit")
    ]
    wanted = [[epoch, block] for epoch in "01" for block in ("block0", "block2")]
    assert sorted(name for name, _ in visits) == wanted
    assert len({owner for _, owner in visits}) == 2


def test_dask_knows_the_size_of_states_and_targets():
    """Dask spills and moves data by their size."""
    n = 100_000
    state = chains.Trained(new_engine(EngineKind(rule="rda"), n), None, 0, 0)
    assert sizeof(state) > state.engine.cells.nbytes
    assert sizeof(Classes(np.zeros(n, np.int64), 2, np.ones(n))) > 16 * n


@pytest.mark.slow
def test_killed_workers_change_no_bit(processes):
    """Workers are killed at random moments of a fit of several models, one at a time."""
    X, y, _ = problem(1, 6000)
    parts = parts_of([1000, 2000, 3000, 4000, 5000], X, y)
    l1s = [1e-3, 1e-4, 1e-5]
    params = dict(max_iter=40, tol=None)
    serial = [lazynet.LazyNetClassifier(**params, l1=l1).fit(Chunks(parts)) for l1 in l1s]
    models = [lazynet.dask.LazyNetClassifier(**params, l1=l1) for l1 in l1s]
    moments, over, kills = random.Random(0), threading.Event(), []

    def kill():
        while len(kills) < 5 and not over.wait(moments.uniform(0.1, 0.6)):
            kills.append(kill_a_worker(processes))

    rows = lazynet.dask.Blocks(delayed_parts(parts), client=processes)
    rows.block_facts()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        lazynet.dask.fit_all(models, rows)
    finally:
        over.set()
        killer.join()
    assert kills
    for model, wanted in zip(models, serial, strict=True):
        assert_same_fit(model, wanted)


def test_workers_that_join_and_leave_change_no_bit():
    """A worker joins in the second epoch, and one of the first two leaves in the third."""
    parts = parts_of([500, 1000, 1500], *problem(2, 2000)[:2])
    serial = lazynet.LazyNetClassifier(max_iter=8, tol=None).fit(Chunks(parts))
    with cluster_of(2) as client:

        def change(epoch):
            if epoch.epoch == 1:
                client.cluster.scale(3)
                client.wait_for_workers(3)
            elif epoch.epoch == 2:
                client.retire_workers([sorted(client.scheduler_info()["workers"])[0]])

        model = lazynet.dask.LazyNetClassifier(max_iter=8, tol=None)
        model.fit(delayed_parts(parts), callback=change, client=client)
    assert_same_fit(model, serial)


def test_ctrl_c_ends_all_fits_and_changes_no_model(python_hears_ctrl_c):
    """Ctrl-C during many fits: they end, the estimators are as before, the blocks can be used."""
    parts = parts_of([100], *problem(0, 200)[:2])
    with cluster_of(2) as client:
        rows = lazynet.dask.Blocks(delayed_parts(parts), client=client)
        models = [lazynet.dask.LazyNetClassifier(max_iter=100_000, tol=None) for _ in range(3)]
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))

        def fit_all():
            timer.start()
            lazynet.dask.fit_all(models, rows)

        with pytest.raises(KeyboardInterrupt):
            fit_all()
        assert not any(hasattr(model, "coef_") for model in models)
        assert lazynet.dask.LazyNetClassifier(max_iter=2, tol=None).fit(rows).n_iter_ == 2


def test_a_fit_that_fails_does_not_end_the_others(client):
    """Its error says which estimator it is of, and the estimator stays as it was."""
    X, y, _ = problem(5, 600, kind="numbers")
    good = lazynet.dask.LazyNetRegressor(max_iter=2)
    bad = lazynet.dask.LazyNetRegressor(max_iter=2, rule=FoBoS(eta0=1e60))
    with pytest.raises(FloatingPointError, match="overflowed") as caught:
        lazynet.dask.fit_all([good, bad], delayed_parts(parts_of([300], X, y)), client=client)
    assert "estimator 1 of 2" in caught.value.__notes__[0]
    assert not hasattr(bad, "coef_")
    assert good.n_iter_ == 2


@pytest.mark.parametrize(("restarts", "epochs"), [(False, 3), (True, 1), (True, 2)])
def test_a_lost_client_goes_on_from_its_checkpoint(client, tmp_path, restarts, epochs):
    """The same call of another client goes on behind the last epoch, with the same bits."""
    X, y = categories() if restarts else problem(0, 900)[:2]
    parts, path, seen = parts_of([300, 500], X, y.astype(float)), tmp_path / "run.lazy", []

    def stop(epoch):
        seen.append(epoch.epoch)
        if len(seen) == epochs + 1:
            raise ConnectionError("the client is gone")

    params = dict(max_iter=6, tol=None)
    given = dict(checkpoint=path, every=0.0, callback=stop, client=client)
    with pytest.raises(ConnectionError):
        lazynet.dask.LazyNetClassifier(**params).fit(delayed_parts(parts), **given)
    assert path.exists()
    other = lazynet.dask.LazyNetClassifier(**params)
    with pytest.raises(ValueError, match="another call of fit"):
        other.fit(delayed_parts(parts[:2]), checkpoint=path, client=client)
    other.fit(delayed_parts(parts), **given)
    assert seen == [*range(epochs + 1), *range(epochs, 6)]
    assert not path.exists()
    serial = lazynet.LazyNetClassifier(max_iter=6, tol=None).fit(Chunks(parts))
    assert_same_fit(other, serial)
    assert (serial.auto_[-1].name == "restart") == restarts
