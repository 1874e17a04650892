"""Files that are cut short or begin with a mark, and full disks: an error names the file."""

import bz2
import errno
import gzip
import itertools
import lzma
import os
import zlib
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.damage import damaged

from lazynet import LazyNetRegressor
from lazynet.cli import main
from lazynet.data import SvmlightFile

TEXT = b"".join(b"%d 1:%.17g 3:0.5 %d:1\n" % (k % 2, np.sqrt(k), 4 + k % 5) for k in range(2000))


def rows(path):
    """Label and values of each row of a file."""
    return [
        (label, values[values != 0].tolist())
        for chunk in SvmlightFile(path, zero_based=False, n_features=8).chunks()
        for label, values in zip(chunk.y.tolist(), chunk.X.toarray(), strict=True)
    ]


#: By the end of a name: what packs and unpacks a stream, and of how many zeros behind it there
#: may be.
FORMS = {
    "gz": (gzip.compress, lambda: zlib.decompressobj(31), 1),
    "bz2": (bz2.compress, bz2.BZ2Decompressor, 10**9),
    "xz": (lzma.compress, lzma.LZMADecompressor, 4),
}


def unpacked(data, form):
    """The contents of all streams, or None if anything in the file is no stream."""
    _, new_stream, unit = FORMS[form]
    found = b""
    try:
        while True:
            stream = new_stream()
            found += stream.decompress(data)
            rest = stream.unused_data.lstrip(b"\0")
            if not stream.eof or (len(stream.unused_data) - len(rest)) % unit:
                return None
            if not rest:
                return found
            data = rest
    except (EOFError, OSError, zlib.error, lzma.LZMAError):
        return None


@pytest.mark.parametrize("form", FORMS)
@given(
    cuts=st.lists(st.integers(0, 60), max_size=3).map(sorted),
    seed=st.integers(0, 2**32),
    n_damages=st.sampled_from([0, 1, 1, 1, 2]),
    n_zeros=st.sampled_from([0, 0, 1, 3, 4, 200_000]),
)
def test_packed_streams_are_read_to_the_last_byte(
    form, cuts, seed, n_damages, n_zeros, tmp_path_factory
):
    """Streams are one file, as cat joins them; damage and junk never hide the rows behind."""
    path, plain = (tmp_path_factory.getbasetemp() / f"a.svm{end}" for end in (f".{form}", ""))
    lines, pack, lot = TEXT.splitlines(keepends=True)[:60], FORMS[form][0], Random(seed)
    parts = [pack(b"".join(lines[a:b])) for a, b in itertools.pairwise([0, *cuts, 60])]
    data = bytes(n_zeros).join(parts) + bytes(n_zeros)
    for _ in range(n_damages):
        data = damaged(data, lot)
    path.write_bytes(data)
    whole = unpacked(data, form)
    plain.write_bytes(whole or b"")

    def outcome(path):
        try:
            return rows(path)
        except ValueError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
            return None

    expected = None if whole is None else outcome(plain)
    # The text of a damaged stream may end before the sum of the stream is compared.
    assert outcome(path) in ([expected, None] if n_damages else [expected])


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    """Which some editors write at the beginning of a file."""
    mark = b"\xef\xbb\xbf"
    path, plain = tmp_path / "marked.svm", tmp_path / "plain.svm"
    for text in (TEXT, b"1 1:2", b""):
        plain.write_bytes(text)
        path.write_bytes(mark + text)
        assert rows(path) == rows(plain)
    path.write_bytes(mark[:2] + TEXT)
    with pytest.raises(ValueError, match="line 1, column 1: expected a label"):
        rows(path)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EFBIG])
def test_a_full_disk_names_the_file(tmp_path, monkeypatch, error, capsys):
    """Whatever is written: a model, rows, a cache; what stood there stays."""
    monkeypatch.chdir(tmp_path)
    Path("a.svm").write_bytes(TEXT)
    Path("m.lazy").write_text("before")

    def full(_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr("lazynet.data.files.os.fsync", full)
    model = LazyNetRegressor(l1=0.0).fit([[1.0]], [1.0])
    with pytest.raises(OSError, match=os.strerror(error)) as caught:
        model.save("m.lazy")
    assert caught.value.filename == "m.lazy"
    for command, path in (
        ("train a.svm -o m.lazy", "m.lazy"),
        ("train a.svm -o o.lazy --cache c.rows", "c.rows"),
        ("convert a.svm -o o.rows", "o.rows"),
    ):
        assert main(command.split()) == 2
        assert f"{path}: {os.strerror(error)}" in capsys.readouterr().err
    assert Path("m.lazy").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svm", "m.lazy"]
