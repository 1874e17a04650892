"""A fit over blocks on workers has the bits of a serial fit of the same rows."""

import random
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

pytest.importorskip("distributed")

import dask
import dask.array as da
from support.clusters import (
    NO_SHRINKING,
    assert_same_fit,
    delayed_parts,
    parts_of,
    source_of,
)
from support.matrices import categories, noisy_documents

import lazynet
import lazynet.dask
from lazynet.dask import ring

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(seed, n_rows, n_features=40):
    """Sparse rows, and the numbers from which targets are made."""
    X = sparse.random(n_rows, n_features, density=0.1, format="csr", random_state=seed)
    random = np.random.default_rng(seed)
    return X, X @ random.standard_normal(n_features) + 0.1 * random.standard_normal(n_rows)


SETTINGS = [
    dict(),
    dict(rule="fobos", l1=1e-3),
    dict(rule="rda", tol=None, max_iter=2),
    dict(rule="ftrl", l2=1e-4, max_iter=3),
    dict(rule="fobos", average=True, max_iter=3),
    dict(rule="truncated_gradient", eta0=0.1, max_iter=3),
    dict(rule="fobos", engine="tables", eta0=0.1, max_iter=2),
    dict(schedule="adaptive", rule="fobos", eta0=0.5, max_iter=12, n_iter_no_change=1),
]


@settings(max_examples=12, phases=NO_SHRINKING)
@given(
    st.integers(0, 2**20),
    st.lists(st.integers(0, 3000), max_size=6),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(SETTINGS),
    st.sampled_from(["two classes", "classes", "labels", "weights", "numbers"]),
    st.booleans(),
)
def test_any_partition_any_workers_any_delays(clients, seed, cuts, n_workers, params, kind, room):
    """The serial fit, which knows no blocks, and the fit over blocks end with the same bits."""
    X, numbers = rows(seed, 3000)
    y = {
        "classes": np.digitize(numbers, [-0.2, 0.0, 0.2]).astype(float),
        "labels": sparse.csr_matrix(np.digitize(numbers, [-0.1, 0.1])[:, None] > np.arange(2)),
        "numbers": numbers,
    }.get(kind, (numbers > 0).astype(float))
    weights = np.linspace(0.5, 2.0, len(numbers)) if kind == "weights" else None
    parts = parts_of(cuts, X, y, weights)
    name = "LazyNetRegressor" if kind == "numbers" else "LazyNetClassifier"
    serial = getattr(lazynet, name)(**params).fit(source_of(parts))
    delays = random.Random(seed)
    slowly = _delayed(ring.pass_through, [delays.random() * 4e-3 for _ in range(16)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ring, "pass_through", slowly)
        if not room:
            patch.setattr(ring, "_SHARE_OF_MEMORY", 0.0)
        model = getattr(lazynet.dask, name)(**params, client=clients[n_workers])
        model.fit(delayed_parts(parts))
    assert_same_fit(model, serial)
    assert model.retries_ == 0


def _delayed(function, delays):
    def slowly(*arguments):
        time.sleep(delays[id(arguments) // 64 % len(delays)])
        return function(*arguments)

    return slowly


@pytest.mark.parametrize("cuts", [[8191], [8192], [5, 8193, 16384], [16383, 17000]])
@pytest.mark.parametrize("several", [False, True])
def test_blocks_that_cut_chunks_of_rows(clients, cuts, several):
    """A loss is summed over 8,192 rows first, wherever a block ends."""
    X, numbers = rows(3, 20_000)
    y = np.digitize(numbers, [-0.1, 0.1] if several else [0.0]).astype(float)
    parts = parts_of(cuts, X, y)
    params = dict(max_iter=2, tol=None)
    serial = lazynet.LazyNetClassifier(**params).fit(source_of(parts))
    model = lazynet.dask.LazyNetClassifier(**params, client=clients[2]).fit(delayed_parts(parts))
    assert_same_fit(model, serial)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("rows_and_classes", "epochs"), [(noisy_documents, 3), (categories, 2)])
def test_a_bad_first_epoch_has_the_consequences_of_a_serial_fit(
    clients, weighted, fit_intercept, rows_and_classes, epochs
):
    """A model begins anew on the workers, and goes back to what the client has kept."""
    X, y = rows_and_classes()
    weights = np.linspace(0.5, 2.0, len(y)) if weighted else None
    parts = parts_of([50, 120], X, y.astype(float), weights)
    params = dict(fit_intercept=fit_intercept)
    serial = lazynet.LazyNetClassifier(**params).fit(source_of(parts))
    assert serial.n_iter_ == epochs
    model = lazynet.dask.LazyNetClassifier(**params, client=clients[2]).fit(delayed_parts(parts))
    assert_same_fit(model, serial)


@pytest.mark.parametrize("kind", ["two classes", "classes"])
def test_rates_that_fall_after_the_epochs_of_a_classifier(clients, kind):
    """A pass that begins at lower rates does not go on from what was sent ahead."""
    X, numbers = rows(0, 300)
    cuts = [-0.2, 0.0, 0.2] if kind == "classes" else [0.0]
    parts = parts_of([50, 120], X, np.digitize(numbers, cuts).astype(float))
    params = dict(max_iter=7, tol=None)
    serial = lazynet.LazyNetClassifier(**params).fit(source_of(parts))
    four = lazynet.LazyNetClassifier(max_iter=4, tol=None).fit(source_of(parts))
    assert serial.eta0_ < four.eta0_ / 5
    model = lazynet.dask.LazyNetClassifier(**params, client=clients[2]).fit(delayed_parts(parts))
    assert_same_fit(model, serial)


def test_the_l1_of_a_regression_follows_the_rows_of_all_blocks(clients):
    """The sums over all rows that a default asks for have the bits of the serial sums."""
    X, y = rows(5, 20_000)
    parts = parts_of([7, 9000, 9001], X, y * 100)
    serial = lazynet.LazyNetRegressor(max_iter=1).fit(source_of(parts))
    model = lazynet.dask.LazyNetRegressor(max_iter=1, client=clients[2]).fit(delayed_parts(parts))
    assert_same_fit(model, serial)


def test_batches_that_blocks_do_not_cut(clients):
    """Batches within blocks have the bits of the serial fit; others are refused."""
    X, numbers = rows(6, 300)
    y = (numbers > 0).astype(float)
    params = dict(rule="adagrad", batch_size=10, max_iter=3)
    parts = parts_of([50, 120], X, y)
    serial = lazynet.LazyNetClassifier(**params).fit(source_of(parts))
    model = lazynet.dask.LazyNetClassifier(**params, client=clients[2])
    assert_same_fit(model.fit(delayed_parts(parts)), serial)
    with pytest.raises(ValueError, match=r"batch_size=10 .* block 0 has 51 rows"):
        model.fit(delayed_parts(parts_of([51], X, y)))


def test_dask_arrays_of_csr_blocks(clients):
    """X of CSR blocks beside y and weights: the serial fit of all rows in their order."""
    X, numbers = rows(7, 2000)
    y, weights = (numbers > 0).astype(float), np.linspace(1.0, 2.0, 2000)
    blocks = [
        da.from_delayed(
            dask.delayed(X[start : start + 500]), shape=(500, 40), dtype=float, meta=X[:0]
        )
        for start in range(0, 2000, 500)
    ]
    lazy = da.concatenate(blocks)
    model = lazynet.dask.LazyNetClassifier(client=clients[2], max_iter=3)
    model.fit(lazy, da.from_array(y, chunks=500), da.from_array(weights, chunks=500))
    serial = lazynet.LazyNetClassifier(max_iter=3).fit(source_of([(X, y, weights)]))
    assert_same_fit(model, serial)
    assert isinstance(model.predict(lazy), da.Array)
    for name in ("predict", "predict_proba", "decision_function"):
        found = clients[2].compute(getattr(model, name)(lazy)).result()
        assert np.array_equal(found, getattr(serial, name)(X))


def test_many_estimators_each_as_alone(clients):
    """A path of penalties over the same blocks: each estimator has the bits of its own fit."""
    X, numbers = rows(8, 2000)
    parts = parts_of([600, 1300], X, (numbers > 0).astype(float))
    l1s = np.geomspace(1e-2, 1e-5, 8)
    blocks = lazynet.dask.Blocks(delayed_parts(parts), client=clients[3])
    models = [lazynet.dask.LazyNetClassifier(l1=l1, client=clients[3]) for l1 in l1s]
    assert lazynet.dask.fit_all(models, blocks) == models
    for l1, model in zip(l1s, models, strict=True):
        assert_same_fit(model, lazynet.LazyNetClassifier(l1=l1).fit(source_of(parts)))


def test_warnings_and_verbose_lines_are_those_of_the_serial_fit(clients, capsys):
    """What a fit tells its user is told over blocks, too."""
    X, numbers = rows(9, 1000)
    parts = parts_of([400], X, (numbers > 0).astype(float))
    found = []
    for model, data in (
        (lazynet.LazyNetClassifier(max_iter=2, verbose=1), source_of(parts)),
        (lazynet.dask.LazyNetClassifier(max_iter=2, verbose=1, client=clients[2]),
         delayed_parts(parts)),
    ):  # fmt: skip
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(data)
        lines = [line.split("  ")[:3] for line in capsys.readouterr().out.splitlines()]
        found.append(([str(each.message) for each in caught], lines))
    assert found[0] == found[1]
    assert found[0][1]
