"""What rows are made of, what users get back, and errors that name what is wrong."""

import pickle
import shutil
import subprocess
import sys
from contextvars import Context
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.bag
from support.clusters import assert_same_fit, cluster_of, delayed_parts, parts_of

import lazynet
import lazynet.dask
from lazynet.dask import Blocks, UnreadableBlock
from lazynet.data import Chunks, RowsFile, SvmlightFile, write_rows
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


FIRST, SECOND = "1 1:2.0 3:1.0\n0 2:1.0\n", "0 2:3.0\n1 7:0.5 1:1.0\n"


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("texts", "options"),
    [
        ([FIRST, SECOND], {}),
        ([FIRST, SECOND, "1 0:1.0\n"], {}),
        (["1 0:1.0 9:1.0\n", "0\n1\n", FIRST, SECOND], {}),
        (["1\n0\n", SECOND, "1 1:1.0 3:0.0\n"], {}),
        ([FIRST, SECOND], {"n_features": 9}),
        ([FIRST, SECOND, "1 0:1.0\n"], {"n_features": 9}),
        ([FIRST, SECOND], {"zero_based": True}),
        ([FIRST, SECOND], {"zero_based": False, "n_features": 7}),
        (["0,1 1:2.0\n", "3:1.0\n2 4:1.0\n", "4,0 0:1.0\n"], {"multilabel": True}),
        (["0,1 1:2.0\n", "3:1.0\n2 4:1.0\n"], {"multilabel": True, "n_labels": 6}),
    ],
)
def test_files_are_read_on_the_workers(client, tmp_path, texts, options):
    """A block of every file, with the columns that a source of all files gives."""
    for number, text in enumerate(texts):
        (tmp_path / f"part{number}.svm").write_text(text)
    names = sorted(map(str, tmp_path.iterdir()))
    source = SvmlightFile(names, **options)
    serial = lazynet.LazyNetClassifier(max_iter=3).fit(source)
    reader = partial(SvmlightFile, **options)
    for rows in (
        Blocks.from_files(str(tmp_path / "part*.svm"), reader, client=client),
        Blocks([dask.delayed(SvmlightFile)(name, **options) for name in names], client=client),
    ):
        assert_same_fit(lazynet.dask.LazyNetClassifier(max_iter=3).fit(rows), serial)
        assert (rows.n_features, rows.n_labels) == (source.n_features, source.n_labels)


def test_blocks_of_other_columns_are_refused(client, tmp_path):
    """As a serial fit refuses them, by name; also a file that has more columns than given rows."""
    X, y, _ = problem(0, 20, 5)
    write_rows(Chunks([(X, y)]), tmp_path / "a.rows")
    write_rows(Chunks([(X[:, :4], y)]), tmp_path / "b.rows")
    (tmp_path / "c.svm").write_text("1 6:1.0\n0 1:1.0\n")
    labels = np.eye(20, 3)
    rows = dask.delayed(RowsFile)(tmp_path / "a.rows")
    cases = {
        "block 1 must have as many columns of X as block 0, 5, got 4": [(X, y), (X[:, :4], y)],
        "block 2 must have as many columns of X as block 0, 5, got 6": [
            (X, y), (X, y), (sparse.hstack([X, X[:, :1]]).tocsr(), y),
        ],
        "block 1 must have as many columns of X as block 0, 5, got 9": [
            (X, y), (np.ones((0, 9)), []),
        ],
        "block 1 must have as many columns of y as block 0, 3, got 2": [
            (X, labels), (X, labels[:, :2]),
        ],
        "block 1 must have as many columns of y as block 0, 3, got a number per row": [
            (X, labels), (X, y),
        ],
        "b.rows must have as many columns of X as .*a.rows, 5, got 4": Blocks.from_files(
            tmp_path / "?.rows", RowsFile, client=client
        ),
        "block 1 cannot be read: .*c.svm: line 1, column 3: expected a column from 1 to 5": [
            rows, dask.delayed(SvmlightFile)(tmp_path / "c.svm"),
        ],
    }  # fmt: skip
    for words, parts in cases.items():
        if isinstance(parts, list):
            parts = [each if hasattr(each, "dask") else dask.delayed(tuple)(each) for each in parts]
        for kind in (lazynet.dask.LazyNetClassifier, lazynet.dask.DualNetClassifier):
            with pytest.raises(ValueError, match=words):
                kind(l1=1e-3).fit(parts, client=client)


def lose_the_worker(client, meanwhile=lambda: None):
    """Replace the only worker of a cluster by a new one, without blocks."""
    client.cluster.scale(0)
    while client.scheduler_info(n_workers=-1)["workers"]:
        pass
    meanwhile()
    client.cluster.scale(1)
    client.wait_for_workers(1)


@pytest.mark.parametrize("form", ["svm", "rows"])
def test_a_block_is_made_again_of_the_same_file(form, tmp_path):
    """After the loss of a worker; a file that has changed is refused by name."""
    names = [str(tmp_path / f"part{number}.{form}") for number in range(2)]
    for name, text in zip(names, [FIRST, SECOND], strict=True):
        Path(name).write_text(text)
        if form == "rows":
            Path(name).rename(tmp_path / "text")
            write_rows(SvmlightFile(tmp_path / "text", zero_based=False, n_features=7), name)
    reader = SvmlightFile if form == "svm" else RowsFile
    with cluster_of(1) as client:
        rows = Blocks.from_files(names, reader, client=client)
        first = lazynet.dask.LazyNetClassifier(max_iter=2).fit(rows)
        lose_the_worker(client)
        assert_same_fit(lazynet.dask.LazyNetClassifier(max_iter=2).fit(rows), first)
        lose_the_worker(client, lambda: shutil.copyfile(*names))
        with pytest.raises(UnreadableBlock, match=rf"{names[1]} cannot be read: .* has changed"):
            lazynet.dask.LazyNetClassifier(max_iter=2).fit(rows)


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
    with cluster_of(1) as client:
        given = client.scatter(PARTS, hash=False)
        lose_the_worker(client)
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
