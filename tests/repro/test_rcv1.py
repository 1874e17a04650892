"""RCV1-v2 comes from scikit-learn to a study with one command."""

import hashlib

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from paper_repro import rcv1
from paper_repro.__main__ import main
from paper_repro.results import load

ROWS = {"train": 20, "test": 80}


@pytest.fixture
def fetched(monkeypatch):
    """Rows in place of scikit-learn's: feature 3 is the sign of the topic CCAT."""

    def fetch(*, subset):
        n = ROWS[subset]
        X = sparse.random(n, 47236, 2e-4, "csr", random_state=n)
        has_topic = np.arange(n) % 3 == 0
        X = sparse.csr_matrix(
            X + sparse.coo_matrix((has_topic * 0.5, (range(n), [2] * n)), X.shape)
        )
        X.eliminate_zeros()
        target = sparse.csr_matrix(np.column_stack([has_topic, np.ones(n)]).astype(np.uint8))
        return Bunch(data=X, target=target, target_names=np.array(["CCAT", "M14"], dtype=object))

    monkeypatch.setattr(rcv1, "fetch_rcv1", fetch)
    return fetch


def test_rows_are_labelled_by_their_topic(fetched, tmp_path):
    """Rows are in the order of scikit-learn's; a document of the topic is positive."""
    paths = rcv1.prepare(tmp_path, "CCAT")
    assert [path.name for path in paths] == ["rcv1_CCAT.train.svm.gz", "rcv1_CCAT.test.svm.gz"]
    for path, subset in zip(paths, ROWS, strict=True):
        rows = fetched(subset=subset)
        X, y = load_svmlight_file(str(path), n_features=47236)
        assert abs(X - rows.data).max() <= 1e-15
        np.testing.assert_array_equal(y, np.where(X[:, 2].toarray().ravel(), 1, -1))
        assert 0 < (y > 0).sum() < len(y)
    before = paths[0].read_bytes()
    assert rcv1.prepare(tmp_path, "CCAT")[0].read_bytes() == before


def test_one_command_leads_to_a_study(fetched, tmp_path, capsys):
    """The command fetches, prepares and measures; the study records the digests of its files."""
    command = ["rcv1", "--folder", str(tmp_path / "files")]
    assert main([*command, "--study", "corpus", "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "corpus.md").read_text(encoding="utf-8")
    assert "rcv1_CCAT.train.svm.gz, label 1 against the rest" in page
    document = load("corpus", tmp_path / "out")
    train = (tmp_path / "files" / "rcv1_CCAT.train.svm.gz").read_bytes()
    assert document["data"] == hashlib.sha256(train).hexdigest()
    assert main([*command, "--prepare-only"]) == 0
    assert main([*command, "--topic", "X"]) == 1
    assert "topic must be one of CCAT, M14; got 'X'" in capsys.readouterr().err
