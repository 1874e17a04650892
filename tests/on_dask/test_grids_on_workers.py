"""A grid of settings over blocks has the bits of the serial grid over the same rows and folds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

pytest.importorskip("distributed")

import dask
import dask.array as da
from support.clusters import (
    NO_SHRINKING,
    assert_leaves_its_client,
    assert_same_bits,
    by_number,
    cluster_of,
    delayed_parts,
    never,
    parts_of,
    source_of,
)

import lazynet
import lazynet.dask
from lazynet.dask import grids, ring

pytestmark = pytest.mark.filterwarnings("ignore")

#: What a fit of a grid leaves behind.
LEFT = [
    "coef_", "intercept_", "losses_", "curves_", "standard_errors_", "nonzeros_", "l1s_", "l2s_",
    "rate_factors_", "l1_", "l2_", "rate_factor_", "eta0_", "best_index_", "best_epoch_", "n_iter_",
]  # fmt: skip


def rows(seed, n_rows=900, n_features=30):
    """Sparse rows, and the numbers from which targets are made."""
    X = sparse.random(n_rows, n_features, density=0.2, format="csr", random_state=seed)
    random = np.random.default_rng(seed)
    return X, X @ random.standard_normal(n_features) + 0.1 * random.standard_normal(n_rows)


def targets(kind, numbers):
    """A y of a kind."""
    if kind == "numbers":
        return numbers
    return np.digitize(numbers, [-0.2, 0.2] if kind == "classes" else [0.0]).astype(float)


def serial(name, parts, cv, **params):
    """The serial fit from a source of the same rows, with the same folds."""
    n_rows = sum(part[0].shape[0] for part in parts)
    model = getattr(lazynet, name)(**params, cv=by_number(n_rows, cv), shuffle=False)
    return model.fit(source_of(parts))


def assert_same_grid(model, wanted):
    """Two fits have the same bits."""
    assert_same_bits(model, wanted, LEFT)


SETTINGS = [
    dict(max_iter=3),
    dict(rule="fobos", l2s=[0.0, 1e-3], max_iter=2),
    dict(rule="sgd", eta0=0.1, rate_factors=(0.5, 1.0), l1s=[1e-3, 1e-4], max_iter=3),
    dict(rule="truncated_gradient", eta0=0.1, l1s=[1e-3, 1e-4], max_iter=2),
    dict(rule="rda", tol=None, max_iter=2, n_points=3),
    dict(rule="ftrl", n_points=20, l2s=[0.0, 1e-3], max_iter=2, dtype="float64"),
    dict(scoring="progressive"),
    dict(scoring="progressive", refit=True, rule="fobos", max_iter=2, fit_intercept=False),
]


@settings(max_examples=10, phases=NO_SHRINKING)
@given(
    st.integers(0, 2**20),
    st.lists(st.integers(0, 900), max_size=6),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(SETTINGS),
    st.sampled_from(["two classes", "classes", "weights", "numbers"]),
    st.integers(2, 4),
    st.booleans(),
    st.sampled_from([30, 300]),
)
def test_any_partition_and_any_workers(
    clients, seed, cuts, n_workers, params, kind, cv, room, n_features
):
    """The serial grid knows no blocks, and all that it leaves behind has the same bits.

    Rows of 30 features are a table, and rows of 300 are none.
    """
    X, numbers = rows(seed, n_features=n_features)
    weights = np.linspace(0.5, 2.0, len(numbers)) if kind == "weights" else None
    name, params = "LazyNetClassifierCV", dict(params)
    if kind == "numbers":
        name = "LazyNetRegressorCV"
    elif kind == "weights":
        params["class_weight"] = "balanced"
    parts = parts_of(cuts, X, targets(kind, numbers), weights)
    wanted = serial(name, parts, cv, **params)
    with pytest.MonkeyPatch.context() as patch:
        if not room:
            patch.setattr(ring, "_SHARE_OF_MEMORY", 0.0)
        model = getattr(lazynet.dask, name)(**params, cv=cv, client=clients[n_workers])
        model.fit(delayed_parts(parts))
    assert_same_grid(model, wanted)
    assert model.retries_ == 0
    assert model.units_ is None


@pytest.mark.parametrize("cuts", [[2047], [2048, 4097], [5, 6, 3000]])
def test_blocks_that_cut_chunks_of_rows(clients, cuts):
    """Rates of steps are made for 2,048 rows at once, wherever a block ends."""
    X, numbers = rows(3, 5000)
    parts, params = parts_of(cuts, X, targets("two classes", numbers)), dict(max_iter=2, tol=None)
    for rule in ("fobos", "adagrad"):
        wanted = serial("LazyNetClassifierCV", parts, 2, rule=rule, **params)
        model = lazynet.dask.LazyNetClassifierCV(rule=rule, cv=2, client=clients[2], **params)
        assert_same_grid(model.fit(delayed_parts(parts)), wanted)


@pytest.mark.parametrize("rule", ["fobos", "adagrad"])
def test_settings_that_overflow(clients, rule):
    """They leave their matrix on a worker, and the others go on with the bits of the serial fit."""
    X, numbers = rows(4)
    parts = parts_of([200, 450], X, numbers * 1e3)
    params = dict(l1s=[1e-2, 1e-3], l2s=[0.0, 1e-4], max_iter=4, tol=None)
    if rule == "fobos":
        params |= dict(rule=rule, eta0=0.1, rate_factors=(1.0, 1e4))
    else:
        params |= dict(rule=lazynet.AdaGrad(alpha=0.1), rate_factors=(1.0, 1e160))
    wanted = serial("LazyNetRegressorCV", parts, 3, **params)
    assert np.isinf(wanted.losses_).any()
    assert np.isfinite(wanted.losses_).any()
    model = lazynet.dask.LazyNetRegressorCV(**params, cv=3, client=clients[2])
    assert_same_grid(model.fit(delayed_parts(parts)), wanted)


def test_a_lost_client_goes_on_from_its_checkpoint(clients, tmp_path, monkeypatch):
    """The same call goes on behind the last round, of the search or of the last fit."""
    X, numbers = rows(5)
    parts = delayed_parts(parts_of([300, 500], X, targets("two classes", numbers)))
    params = dict(cv=3, max_iter=4, tol=None, client=clients[2])
    wanted = lazynet.dask.LazyNetClassifierCV(**params).fit(parts)
    path = tmp_path / "run.lazy"
    for method, calls_before in (("held_out", 2), ("epoch", 2), ("last", 2)):
        calls, owner = [], grids.BlockRows if method == "last" else grids.GridOnWorkers
        method = "passes" if method == "last" else method
        original = getattr(owner, method)

        def stops(self, *given, original=original, calls=calls, n=calls_before, method=method):
            found = original(self, *given)
            if method != "passes":
                calls.append(None)
                if len(calls) > n:
                    raise ConnectionError("the client is gone")
                return found

            def visit(*more):
                calls.append(None)
                if len(calls) > n:
                    raise ConnectionError("the client is gone")
                return found(*more)

            return visit

        with monkeypatch.context() as patch:
            patch.setattr(owner, method, stops)
            with pytest.raises(ConnectionError):
                lazynet.dask.LazyNetClassifierCV(**params).fit(parts, checkpoint=path, every=0.0)
        assert path.exists()
        model = lazynet.dask.LazyNetClassifierCV(**params)
        with pytest.raises(ValueError, match="another call of fit"):
            clone(model).set_params(cv=2).fit(parts, checkpoint=path)
        assert_same_grid(model.fit(parts, checkpoint=path, every=0.0), wanted)
        assert not path.exists()


def test_a_worker_that_leaves_changes_no_bit(monkeypatch):
    """The rounds under way are repeated, and counted."""
    X, numbers = rows(6)
    parts = parts_of([300, 500], X, targets("two classes", numbers))
    params = dict(max_iter=3, tol=None, rule="fobos")
    wanted = serial("LazyNetClassifierCV", parts, 2, **params)
    original = grids.GridOnWorkers.held_out
    with cluster_of(2) as client:
        blocks = lazynet.dask.Blocks(delayed_parts(parts), client=client)

        def leaves(self, workers):
            if len(client.scheduler_info()["workers"]) == 2:
                client.retire_workers([blocks.ring.owners()[0]])
            return original(self, workers)

        monkeypatch.setattr(grids.GridOnWorkers, "held_out", leaves)
        model = lazynet.dask.LazyNetClassifierCV(**params, cv=2, client=client).fit(blocks)
        assert len(client.scheduler_info()["workers"]) == 1
    assert_same_grid(model, wanted)
    assert model.retries_ >= 1


def test_dask_arrays_and_models_without_a_client(clients, tmp_path):
    """Rows in Dask arrays; lazy predictions; copies, pickles and files are serial models."""
    X, numbers = rows(7, 600)
    y = targets("classes", numbers)
    lazy = da.concatenate(
        [
            da.from_delayed(dask.delayed(X[start : start + 200]), (200, 30), float, meta=X[:0])
            for start in range(0, 600, 200)
        ]
    )
    model = lazynet.dask.LazyNetClassifierCV(n_points=3, max_iter=2, cv=2, client=clients[2])
    model.fit(lazy, da.from_array(y, chunks=200))
    wanted = serial("LazyNetClassifierCV", [(X, y)], 2, n_points=3, max_iter=2)
    assert_same_grid(model, wanted)
    found = clients[2].compute(model.predict_proba(lazy)).result()
    assert np.array_equal(found, wanted.predict_proba(X))
    assert np.array_equal(model.predict(X), wanted.predict(X))
    assert_leaves_its_client(model, lazynet.LazyNetClassifierCV, X, LEFT, tmp_path / "model")


def test_warnings_and_verbose_lines_are_those_of_the_serial_fit(clients, capsys):
    """A best l1 at the end of the grid, and a loss that still falls in the last epoch."""
    X, numbers = rows(8)
    parts = parts_of([400], X, targets("two classes", numbers))
    params = dict(l1s=[0.1, 1e-4], max_iter=2, rule="fobos", verbose=1)
    found = []
    for fit in (
        lambda: serial("LazyNetClassifierCV", parts, 3, **params),
        lambda: lazynet.dask.LazyNetClassifierCV(**params, cv=3, client=clients[2]).fit(
            delayed_parts(parts)
        ),
    ):
        with pytest.warns() as caught:
            fit()
        found.append(([str(each.message) for each in caught], capsys.readouterr().out))
    assert found[0] == found[1]
    assert [words in "".join(found[0][0]) for words in ("the smallest one", "still fell")] == [
        True
    ] * 2
    assert found[0][1].count("least loss") == 2


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (dict(cv=None), "cv must be a number of folds where X is blocks"),
        (dict(cv=KFold(3)), "cv must be a number of folds where X is blocks"),
        (dict(cv=[([0, 1], [2])]), "cv must be a number of folds where X is blocks"),
        (dict(rule="saga"), "rule=SAGA.* cannot learn a grid"),
        (dict(refit=False), "refit=False leaves a model for every fold"),
    ],
)
def test_parameters_are_refused_before_a_block_is_made(clients, params, words):
    """The error names the parameter, and no block has been asked for."""
    model = lazynet.dask.LazyNetClassifierCV(**params, client=clients[1])
    with pytest.raises(ValueError, match=words):
        model.fit([dask.delayed(never)()])
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("y", "weights", "params", "words"),
    [
        (np.zeros(6), None, {}, "y must have at least two classes"),
        (np.arange(6) % 2.0, None, dict(cv=7), "cv must be at most the number of rows, 6, got 7"),
        (np.arange(6) % 2.0, None, dict(cv=2), "rows of every class .* split 0 has none of 0.0"),
        (np.arange(6) % 2.0, np.eye(6)[0], {}, "weight above 0 to learn from, .* split 0 has none"),
        (
            np.arange(6) % 2.0,
            np.ones(6) * [1, 1, 1, 1, 0, 0],
            dict(cv=5),
            "to hold out, .* split 4",
        ),
        (sparse.csr_matrix(np.eye(6)), None, {}, "y must have one class or one number"),
    ],
)
def test_folds_that_cannot_be_judged_are_refused(clients, y, weights, params, words):
    """As the serial estimator refuses them, and the model stays as it was."""
    model = lazynet.dask.LazyNetClassifierCV(**{"cv": 3, **params}, client=clients[1])
    with pytest.raises(ValueError, match=words):
        model.fit(delayed_parts(parts_of([3], sparse.csr_matrix(np.eye(6)), y, weights)))
    assert not hasattr(model, "n_features_in_")
