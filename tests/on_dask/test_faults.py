"""Lost workers, blocks that cannot be read, a lost client, and models without a client."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

pytest.importorskip("distributed")

import dask
import dask.array as da
from distributed import Client
from support.clusters import (
    assert_same_fit,
    delayed_parts,
    kill_a_worker,
    parts_of,
    source_of,
)

import lazynet
import lazynet.dask
from lazynet.dask.held import UnreadableBlock
from lazynet.streams import SvmlightFile

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def parts():
    """Three blocks of rows of two classes."""
    X = sparse.random(900, 30, density=0.2, format="csr", random_state=0)
    return parts_of([300, 500], X, (np.asarray(X.sum(axis=1)).ravel() > 3.0).astype(float))


@pytest.mark.parametrize("direct", [False, True])
def test_a_killed_worker_changes_no_bit(processes, direct):
    """A worker is killed while a model is on its way: the epoch is repeated, and counted.

    ``direct``: the client receives states from the workers, and not through the scheduler.
    """
    serial = lazynet.LazyNetClassifier(max_iter=6, tol=None).fit(source_of(parts()))
    with Client(processes.cluster, direct_to_workers=direct, set_as_default=False) as other:

        def kill(epoch):
            if epoch.epoch == 1:
                kill_a_worker(processes)

        model = lazynet.dask.LazyNetClassifier(max_iter=6, tol=None, client=other)
        model.fit(delayed_parts(parts()), callback=kill)
    assert_same_fit(model, serial)
    assert model.retries_ >= 1


def test_a_block_that_cannot_be_read_is_named(client, tmp_path):
    """The error says which block, and the model stays as it was."""
    good = tmp_path / "good.svm"
    good.write_text("1 1:2.0\n0 2:1.0\n")
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:two\n")
    model = lazynet.dask.LazyNetClassifier(client=client)
    blocks = lazynet.dask.Blocks.from_files([good, bad], SvmlightFile, client=client)
    with pytest.raises(UnreadableBlock, match=r"bad\.svm cannot be read"):
        model.fit(blocks)
    assert not hasattr(model, "coef_")
    given = [*delayed_parts(parts()), dask.delayed(lambda: 1 / 0)()]
    with pytest.raises(ZeroDivisionError):
        model.fit(given)
    wrong = [*delayed_parts(parts()), dask.delayed(tuple)([np.ones((2, 30)), [np.nan, 1.0]])]
    with pytest.raises(UnreadableBlock, match="block 3 cannot be learned from"):
        model.fit(wrong)


def test_files_are_read_on_the_workers(client, tmp_path):
    """A block of every file; rows of fewer columns get the columns of the others."""
    lines = ["1 1:2.0 3:1.0\n0 2:1.0\n", "0 2:3.0\n1 7:0.5 1:1.0\n"]
    for number, text in enumerate(lines):
        (tmp_path / f"part{number}.svm").write_text(text)
    blocks = lazynet.dask.Blocks.from_files(
        str(tmp_path / "part*.svm"), SvmlightFile, client=client
    )
    serial = lazynet.LazyNetClassifier(max_iter=3)
    serial.fit(SvmlightFile([tmp_path / "part0.svm", tmp_path / "part1.svm"]))
    assert_same_fit(lazynet.dask.LazyNetClassifier(max_iter=3, client=client).fit(blocks), serial)


def test_a_lost_client_goes_on_from_its_checkpoint(client, tmp_path):
    """The same call of another client goes on behind the last epoch, with the same bits."""
    path, seen = tmp_path / "run.lazy", []

    def stop(epoch):
        seen.append(epoch.epoch)
        if len(seen) == 3:
            raise ConnectionError("the client is gone")

    params = dict(max_iter=6, tol=None, client=client)
    given = dict(checkpoint=path, every=0.0, callback=stop)
    with pytest.raises(ConnectionError):
        lazynet.dask.LazyNetClassifier(**params).fit(delayed_parts(parts()), **given)
    assert path.exists()
    other = lazynet.dask.LazyNetClassifier(**params)
    with pytest.raises(ValueError, match="another call of fit"):
        other.fit(delayed_parts(parts()[:2]), checkpoint=path)
    other.fit(delayed_parts(parts()), **given)
    assert seen == [0, 1, 2, 2, 3, 4, 5]
    assert not path.exists()
    serial = lazynet.LazyNetClassifier(max_iter=6, tol=None).fit(source_of(parts()))
    assert_same_fit(other, serial)


def test_a_failed_fit_changes_nothing(client):
    """A fit that overflows leaves the model of the fit before."""
    model = lazynet.dask.LazyNetRegressor(client=client, max_iter=2).fit(delayed_parts(parts()))
    before = model.coef_.copy()
    with pytest.raises(FloatingPointError, match="overflowed"):
        model.set_params(eta0=1e60).fit(delayed_parts(parts()))
    assert np.array_equal(model.coef_, before)


def test_a_model_outlives_its_client(client, tmp_path):
    """Pickles, files, copies and clones: the client is no part of a model."""
    model = lazynet.dask.LazyNetClassifier(client=client, max_iter=2, l1=1e-4)
    copy = clone(model)
    assert copy.client is client
    assert copy.get_params()["l1"] == 1e-4
    model.fit(delayed_parts(parts()))
    X = parts()[0][0]
    model.save(tmp_path / "model")
    for other in (
        pickle.loads(pickle.dumps(model)), model.to_local(), lazynet.load(tmp_path / "model"),
    ):  # fmt: skip
        assert np.array_equal(other.predict_proba(X), model.predict_proba(X))
    assert type(model.to_local()) is lazynet.LazyNetClassifier


@pytest.mark.parametrize(
    ("X", "y", "error", "words"),
    [
        (np.eye(3), [0, 1, 0], TypeError, "X must be Blocks, a Dask array"),
        ([(np.eye(3), [0, 1, 0])], None, TypeError, "parts must hold delayed calls or futures"),
        ([], None, ValueError, "parts must hold at least one block"),
        (da.ones((4, 4), chunks=(2, 2)), da.ones(4, chunks=2), ValueError, "columns in one block"),
        (da.ones((4, 4), chunks=(2, 4)), da.ones(4, chunks=4), ValueError, "y must have the bloc"),
        (da.ones((4, 4), chunks=(2, 4)), None, TypeError, "y must be a Dask array"),
    ],
)
def test_what_is_no_block_is_refused(client, X, y, error, words):
    """The error names the argument and what is accepted."""
    with pytest.raises(error, match=words):
        lazynet.dask.LazyNetClassifier(client=client).fit(X, y)


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
