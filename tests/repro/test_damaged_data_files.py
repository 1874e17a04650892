"""A damaged file of data is read as it stands, or refused in a line with its name."""

import bz2
import gzip

import numpy as np
import pytest
from support import one_line_about
from support.damage import damages

from paper_repro.__main__ import main
from paper_repro.documents import from_svmlight
from paper_repro.pubmed.citations import read_citations

ROWS = "".join(f"{i % 2} {1 + i % 7}:1 {10 + i % 11}:{i}.5\n" for i in range(300)).encode()
XML = "".join(
    [
        '<?xml version="1.0" encoding="utf-8"?>\n<PubmedArticleSet>\n',
        *(
            f'<PubmedArticle><MedlineCitation><PMID Version="1">{i}</PMID><Article>'
            f"<ArticleTitle>Title {i}</ArticleTitle><Abstract><AbstractText>On naïve words {i * i}."
            f"</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>\n"
            for i in range(1, 40)
        ),
        "</PubmedArticleSet>\n",
    ]
).encode()


def rows(path):
    """All that a file of rows holds."""
    corpus = from_svmlight(path)
    assert np.isfinite(corpus.X.data).all()
    return corpus.X.toarray().tolist(), corpus.y.tolist()


def citations(path):
    return list(read_citations(path))


#: Files of every kind: their bytes, what reads them, how many of 400 damages are seen, and whether
#: a checksum tells every damage; nothing can see that a digit of a plain text was another one.
FILES = {
    "rows.svm.gz": (gzip.compress(ROWS, mtime=0), rows, 300, True),
    "rows.svm": (ROWS, rows, 50, False),
    "packed.xml": (gzip.compress(XML, mtime=0), citations, 200, True),
    "plain.xml.gz": (XML, citations, 200, False),
}


def read_or_refused(read, path):
    """What a reader makes of a file, or None where it has refused it in a line with its name."""
    try:
        return read(path)
    except ValueError as error:
        message = str(error)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    return None


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_refused_or_read_the_same(name, tmp_path):
    """Flipped bits, lost lines, junk: there is no other error."""
    whole, read, least, has_sum = FILES[name]
    path, refused = tmp_path / name, 0
    path.write_bytes(whole)
    expected = read(path)
    for data in damages(whole, 400):
        path.write_bytes(data)
        found = read_or_refused(read, path)
        assert found in (None, expected) or not has_sum
        refused += found is None
    assert refused > least


# --- rows ------------------------------------------------------------------------------------

PACKED = gzip.compress(ROWS, mtime=0)
UNUSABLE = {
    "truncated.svm.gz": PACKED[:-20],
    "without sum.svm.gz": PACKED[:-8],
    "wrong sum.svm.gz": PACKED[:-8] + b"12345678",
    "changed.svm.gz": PACKED[:30] + b"\xff\xff" + PACKED[32:],
    "not packed.svm.gz": ROWS,
    "empty.svm.gz": b"",
    "not packed.svm.bz2": ROWS,
    "second part.svm.bz2": bz2.compress(ROWS) + b"x" + bz2.compress(ROWS)[1:],
    "packed.svm": PACKED,
    "empty.svm": b"",
    "binary.svm": bytes(range(256)) * 100,
    "words.svm": b"hello world\n",
    "one line of zeros.svm": bytes(100_000),
    "number of a feature.svm": b"1 99999999999999999999:1\n0 1:1\n",
    "features.svm": b"1 2147483647:1\n0 1:1\n",
    "label.svm": b"nan 1:1\n0 1:1\n",
}


def test_unusable_files_are_told_in_a_line(tmp_path, capsys, monkeypatch):
    """A bad file is told before anything is measured, whether to learn from or to test on."""
    monkeypatch.setattr("paper_repro.machine.physical_bytes", lambda: 1 << 30)
    good, out = tmp_path / "good.svm", tmp_path / "out"
    for name, data in {"good.svm": ROWS, **UNUSABLE}.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder.svm").mkdir()
    for name in [*UNUSABLE, "folder.svm", "missing.svm"]:
        path = tmp_path / name
        for files in ([str(path)], [str(good), str(path)]):
            assert main(["stability", "--out", str(out), "--data", *files]) == 1
            message = one_line_about(capsys.readouterr().err, path)
            assert "give a whole text file with lines like" in message
            assert not out.exists()
