"""What rows are made of, what users get back, and errors that name what is wrong."""

import pickle
import subprocess
import sys
from contextvars import Context

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.bag
from support.clusters import assert_same_fit, delayed_parts, parts_of

import lazynet
import lazynet.dask
from lazynet.dask import Blocks, UnreadableBlock
from lazynet.data import Chunks, SvmlightFile
from on_dask.rows import estimators, problem

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

PARTS = parts_of([300, 500], *problem(0, 900)[:2])


def arrays(parts, dense):
    """The parts as Dask arrays."""
    n = parts[0][0].shape[1]
    meta = np.zeros((0, n)) if dense else sparse.csr_matrix((0, n))
    X = [part[0].toarray() if dense else part[0] for part in parts]
    rows = [da.from_delayed(dask.delayed(each), each.shape, float, meta=meta) for each in X]
    return da.concatenate(rows), da.concatenate([da.from_array(part[1]) for part in parts])


@pytest.mark.parametrize("dense", [False, True])
def test_dask_arrays_and_lazy_predictions(client, dense):
    """A fit to arrays has the bits of a serial one; predictions are lazy, with chunks and meta."""
    X, y = arrays(PARTS, dense)
    model = lazynet.dask.LazyNetClassifier(max_iter=2).fit(X, y, client=client)
    serial = lazynet.LazyNetClassifier(max_iter=2).fit(Chunks(PARTS))
    assert_same_fit(model, serial)
    for method in ("predict", "predict_proba", "decision_function"):
        found = getattr(model, method)(X)
        given = [part[0].toarray() if dense else part[0] for part in PARTS]
        wanted = np.concatenate([getattr(serial, method)(each) for each in given])
        assert isinstance(found, da.Array)
        assert found.chunks[0] == X.chunks[0]
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        assert type(found._meta) is np.ndarray
        assert np.array_equal(client.compute(found).result(), wanted)
        assert np.array_equal(getattr(model, method)(given[0]), wanted[:300])


def test_weights_and_the_current_client(client):
    """Weights as a third array; without ``client`` the current one is taken."""
    X, y = arrays(PARTS, False)
    weights = np.linspace(0.5, 2.0, 900)
    given = da.from_array(weights, chunks=(X.chunks[0],))
    with client.as_current():
        model = lazynet.dask.LazyNetClassifier(max_iter=2).fit(X, y, given)
    whole = problem(0, 900)[:2]
    serial = lazynet.LazyNetClassifier(max_iter=2)
    assert_same_fit(model, serial.fit(Chunks(parts_of([300, 500], *whole, weights))))


def test_data_frames(client):
    """A frame of numbers beside a series, in partitions of their own."""
    pytest.importorskip("pyarrow")
    pandas, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y, _ = problem(1, 400, 6)
    table = pandas.DataFrame(X.toarray())
    X_frame, y_frame = (
        frames.from_pandas(each, npartitions=3) for each in (table, pandas.Series(y))
    )
    model = lazynet.dask.LazyNetClassifier(max_iter=2)
    model.fit(X_frame, y_frame, client=client)
    lengths = X_frame.map_partitions(len).compute().tolist()
    parts = parts_of(np.cumsum(lengths)[:-1], X, y)
    assert_same_fit(model, lazynet.LazyNetClassifier(max_iter=2).fit(Chunks(parts)))


def test_partitions_and_futures(client):
    """Calls on the partitions of a collection are blocks; futures are blocks as they are."""
    serial = lazynet.LazyNetClassifier(max_iter=2).fit(Chunks(PARTS))
    bag = dask.bag.from_sequence(range(3), npartitions=3)
    make = dask.delayed(lambda numbers: PARTS[next(iter(numbers))])
    rows = Blocks([make(each) for each in bag.to_delayed()], client=client)
    for given in (rows, client.scatter(PARTS, hash=False)):
        model = lazynet.dask.LazyNetClassifier(max_iter=2).fit(given, client=client)
        assert_same_fit(model, serial)
    assert sum(chunk.X.shape[0] for chunk in rows.chunks()) == 900


def test_files_are_read_on_the_workers(client, tmp_path):
    """A block of every file; rows of fewer columns get the columns of the others."""
    lines = ["1 1:2.0 3:1.0\n0 2:1.0\n", "0 2:3.0\n1 7:0.5 1:1.0\n"]
    for number, text in enumerate(lines):
        (tmp_path / f"part{number}.svm").write_text(text)
    rows = Blocks.from_files(str(tmp_path / "part*.svm"), SvmlightFile, client=client)
    serial = lazynet.LazyNetClassifier(max_iter=3)
    serial.fit(SvmlightFile([tmp_path / "part0.svm", tmp_path / "part1.svm"]))
    assert_same_fit(lazynet.dask.LazyNetClassifier(max_iter=3).fit(rows), serial)


def test_a_block_that_cannot_be_used_is_named(client, tmp_path):
    """The error says which block or file, and the model stays as it was."""
    (tmp_path / "good.svm").write_text("1 1:2.0\n0 2:1.0\n")
    (tmp_path / "bad.svm").write_text("1 1:two\n")
    files = [tmp_path / "good.svm", tmp_path / "bad.svm"]
    divided = dask.delayed(lambda: 1 // 0, pure=False)()
    cases = {
        r"bad\.svm cannot be read": Blocks.from_files(files, SvmlightFile, client=client),
        r"block 3 cannot be read: .* by zero": [*delayed_parts(PARTS), divided],
        "block 3 cannot be read: y of the block": delayed_parts([*PARTS, (np.ones((2, 40)), [1])]),
        "block 3 cannot be learned from": delayed_parts([*PARTS, (np.ones((2, 40)), [np.nan, 1])]),
    }
    for words, rows in cases.items():
        model = lazynet.dask.LazyNetClassifier()
        with pytest.raises(UnreadableBlock, match=words):
            model.fit(rows, client=client)
        assert not hasattr(model, "coef_")


@pytest.mark.parametrize("certified", [False, True])
def test_a_model_outlives_its_client(client, tmp_path, certified):
    """Pickles, files and clones: the client is no part of a model."""
    model = clone(estimators(lazynet.dask, "two classes", certified)(l1=1e-4))
    model.fit(delayed_parts(PARTS), client=client)
    X = PARTS[0][0]
    model.save(tmp_path / "model")
    for other in (
        pickle.loads(pickle.dumps(model)), model.to_local(), lazynet.load(tmp_path / "model"),
    ):  # fmt: skip
        assert np.array_equal(other.predict_proba(X), model.predict_proba(X))
    assert type(model.to_local()) is estimators(lazynet, "two classes", certified)


@pytest.mark.parametrize(
    ("X", "y", "error", "words"),
    [
        (np.eye(3), [0, 1, 0], TypeError, "X must be Blocks, a Dask array"),
        ([(np.eye(3), [0, 1, 0])], None, TypeError, "parts must hold delayed calls or futures"),
        ([], None, ValueError, "parts must hold at least one block"),
        (da.ones((4, 4), chunks=(2, 2)), da.ones(4, chunks=2), ValueError, "columns in one block"),
        (da.ones((4, 4), chunks=(2, 4)), da.ones(4, chunks=4), ValueError, "y must have the bloc"),
        (da.ones((4, 1), chunks=2), da.ones(4, chunks=(1, 3)), ValueError, "write y.rechunk"),
        (da.ones((4, 4), chunks=(2, 4)), None, TypeError, "y must be a Dask array"),
        (delayed_parts(PARTS), [1.0], ValueError, "y must be None if X is a source"),
    ],
)
@pytest.mark.parametrize("certified", [False, True])
def test_what_is_no_block_is_refused(client, X, y, error, words, certified):
    """The error names the argument and what is accepted."""
    with pytest.raises(error, match=words):
        estimators(lazynet.dask, "two classes", certified)().fit(X, y, client=client)


def test_options_of_a_fit_that_blocks_cannot_have(client, monkeypatch):
    """Held-out rows, a seed that is no seed, and no client."""
    rows = Blocks(delayed_parts(PARTS), client=client)
    with pytest.raises(ValueError, match=r"early_stopping must be False if X is .* blocks"):
        lazynet.dask.LazyNetClassifier(early_stopping=True).fit(rows)
    with pytest.raises(ValueError, match="seed must be"):
        Blocks(delayed_parts(PARTS), client=client, seed=-1)
    monkeypatch.setattr("distributed.client._global_clients", {})
    with pytest.raises(ValueError, match=r"no client: make dask\.distributed\.Client\(\)"):
        Context().run(Blocks, delayed_parts(PARTS))


def test_a_block_that_is_lost_for_good_is_told(tmp_path):
    """Scattered rows exist on one worker alone; the error says what to do."""
    from support.clusters import cluster_of

    with cluster_of(1) as client:
        given = client.scatter(PARTS, hash=False)
        client.cluster.scale(0)
        while client.scheduler_info(n_workers=-1)["workers"]:
            pass
        client.cluster.scale(1)
        client.wait_for_workers(1)
        with pytest.raises(RuntimeError, match="give blocks as delayed calls"):
            lazynet.dask.LazyNetClassifier().fit(given, client=client)


def test_without_dask_the_error_says_what_to_install():
    """``import lazynet`` needs no Dask, and ``lazynet.dask`` says how to get it."""
    code = (
        "import sys\n"
        "import lazynet\n"
        "lazynet.LazyNetClassifier\n"
        "assert 'dask' not in sys.modules and 'distributed' not in sys.modules\n"
        "sys.modules['distributed'] = None\n"
        "try:\n"
        "    import lazynet.dask\n"
        "except ImportError as error:\n"
        "    assert \"pip install 'lazynet-linear[dask]'\" in str(error), error\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
