"""RCV1-v2 comes from the network to a study with one command, here from a local server."""

import gzip
import hashlib

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from support.loopback import serving

pytest.importorskip("matplotlib")
pytest.importorskip("tqdm")
pytest.importorskip("paper_repro.rcv1", reason="only in a checkout")
from paper_repro import rcv1
from paper_repro.__main__ import main
from paper_repro.pubmed.download import DownloadFailed, Known
from paper_repro.results import load


def vectors(first, count):
    """Documents from a number on; every third one has feature 3, the sign of the topic."""
    lines = [
        f"{number}  {'3:0.5 ' if number % 3 == 0 else ''}{7 + number % 5}:0.25 47236:0.125"
        for number in range(first, first + count)
    ]
    return gzip.compress("\n".join(lines).encode() + b"\n")


def topics(count):
    lines = [f"CCAT {n} 1" for n in range(2286, 2286 + count) if n % 3 == 0]
    lines += [f"M14 {n} 1" for n in range(2286, 2286 + count)]
    return gzip.compress("\n".join(lines).encode() + b"\n")


@pytest.fixture
def site(monkeypatch):
    """The six files under their names, and the sums by which they are known."""
    files = {rcv1.TOPICS.name: topics(100)}
    for k, file in enumerate((*rcv1.TRAINING, *rcv1.TEST)):
        files[file.name] = vectors(2286 + 20 * k, 20)

    def known(file):
        return Known(file.name, hashlib.sha256(files[file.name]).hexdigest(), file.there)

    monkeypatch.setattr(rcv1, "TOPICS", known(rcv1.TOPICS))
    monkeypatch.setattr(rcv1, "TRAINING", tuple(map(known, rcv1.TRAINING)))
    monkeypatch.setattr(rcv1, "TEST", tuple(map(known, rcv1.TEST)))
    with serving(files) as server:
        yield server


def test_files_are_fetched_checked_and_labelled(site, tmp_path):
    """Rows are in the order of the files; a document of the topic is positive."""
    train, test = rcv1.prepare(tmp_path, "CCAT", site.url)
    assert (train.name, test.name) == ("rcv1_CCAT.train.svm.gz", "rcv1_CCAT.test.svm.gz")
    X, y = load_svmlight_file(str(train), n_features=47236)
    Z, z = load_svmlight_file(str(test), n_features=47236)
    assert (X.shape, Z.shape) == ((20, 47236), (80, 47236))
    for rows, labels in ((X, y), (Z, z)):
        has_sign = rows[:, 2].toarray().ravel() == 0.5
        np.testing.assert_array_equal(labels, np.where(has_sign, 1, -1))
    before = train.read_bytes()
    asked = len(site.requests)
    rcv1.prepare(tmp_path, "CCAT", site.url)
    assert len(site.requests) == asked  # nothing is fetched twice
    assert train.read_bytes() == before  # the same rows, the same bytes


def test_a_file_of_another_content_is_refused(site, tmp_path):
    """Nothing is prepared from a file whose sum is wrong."""
    site.files[rcv1.TEST[1].name] = vectors(1, 3)
    with pytest.raises(DownloadFailed, match="does not have the sha256 sum"):
        rcv1.prepare(tmp_path, "CCAT", site.url, pause=0.01)
    assert not list(tmp_path.glob("rcv1_*"))


def test_one_command_leads_to_a_study(site, tmp_path, capsys):
    """The command fetches, prepares and measures; the study records the digests of its files."""
    command = ["rcv1", "--folder", str(tmp_path / "files"), "--mirror", site.url]
    assert main([*command, "--study", "corpus", "--out", str(tmp_path / "out")]) == 0
    assert "rcv1_CCAT.train.svm.gz, label 1 against the rest" in capsys.readouterr().out
    document = load("corpus", tmp_path / "out")
    train = (tmp_path / "files" / "rcv1_CCAT.train.svm.gz").read_bytes()
    assert document["data"] == hashlib.sha256(train).hexdigest()
    assert main([*command, "--prepare-only"]) == 0
