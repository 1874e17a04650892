"""Files that are cut short or begin with a mark, and full disks: an error names the file."""

import bz2
import errno
import gzip
import lzma
import os
import re
from pathlib import Path
from random import Random

import numpy as np
import pytest

from lazynet import LazyNetRegressor
from lazynet.cli import main
from lazynet.data import RowsFile, SvmlightFile, write_rows

TEXT = b"".join(b"%d 1:%.17g 3:0.5 %d:1\n" % (k % 2, np.sqrt(k), 4 + k % 5) for k in range(2000))


PACKINGS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def rows(source):
    """Label and values of each row."""
    return [
        (label, values[values != 0].tolist())
        for chunk in source.chunks()
        for label, values in zip(chunk.y.tolist(), chunk.X.toarray(), strict=True)
    ]


def source_of(path):
    """The source of a file by the end of its name."""
    if path.suffix == ".rows":
        return RowsFile(path)
    return SvmlightFile(path, zero_based=False, n_features=8)


def whole_file(folder, form):
    """A file of 2,000 rows."""
    path = folder / f"rows.svm.{form}" if form in PACKINGS else folder / f"rows.{form}"
    if form == "rows":
        text = folder / "text.svm"
        text.write_bytes(TEXT)
        write_rows(SvmlightFile(text, zero_based=False, n_features=8), path)
    else:
        path.write_bytes(PACKINGS.get(form, bytes)(TEXT))
    return path


@pytest.mark.parametrize("form", [*PACKINGS, "svm", "rows"])
def test_a_file_that_is_cut_is_not_read_as_a_shorter_file(form, tmp_path, monkeypatch, capsys):
    """At 50 places; of plain text, every row but the last one is a row of the whole file."""
    monkeypatch.chdir(tmp_path)
    path = whole_file(tmp_path, form)
    whole, expected = path.read_bytes(), rows(source_of(path))
    assert len(expected) == 2000
    for length in np.linspace(0, len(whole) - 1, 50).astype(int).tolist():
        path.write_bytes(whole[:length])
        code = main(["convert", path.name, "-o", "out.rows"])
        err = capsys.readouterr().err
        if form != "svm":
            with pytest.raises(ValueError, match=r"damaged or cut short|end is missing") as error:
                rows(source_of(path))
            assert str(error.value).startswith(str(path))
            assert code == 2
            assert path.name in err
            continue
        found, message = None, None
        try:
            found = rows(source_of(path))
        except ValueError as error:
            message = str(error)
        assert code == (0 if message is None and found else 2)
        assert message is None or message.startswith(f"{path}: line ")
        assert message is None or f"{path.name}: line " in err
        assert found is None or found[:-1] == expected[: len(found)][:-1]


@pytest.mark.parametrize("form", PACKINGS)
def test_packed_parts_one_after_another_are_one_file(form, tmp_path):
    """As cat joins them; the last one must be whole."""
    path = tmp_path / f"rows.svm.{form}"
    lines = TEXT.splitlines(keepends=True)
    parts = [PACKINGS[form](b"".join(part)) for part in (lines[:700], lines[700:701], lines[701:])]
    path.write_bytes(b"".join(parts))
    plain = tmp_path / "rows.svm"
    plain.write_bytes(TEXT)
    assert rows(source_of(path)) == rows(source_of(plain))
    for cut in (1, len(parts[2]) - 3):
        path.write_bytes(b"".join(parts)[:-cut])
        with pytest.raises(ValueError, match="damaged or cut short"):
            rows(source_of(path))


@pytest.mark.parametrize("form", PACKINGS)
def test_packed_parts_are_read_to_the_last_byte(form, tmp_path):
    """A flipped bit, junk, and zeros that the form does not allow never hide the rows behind."""
    path, pack = tmp_path / f"rows.svm.{form}", PACKINGS[form]
    lines = TEXT.splitlines(keepends=True)
    parts = [pack(b"".join(part)) for part in (lines[:600], lines[600:601], lines[601:1300], [])]
    whole = b"".join([*parts, pack(b"".join(lines[1300:]))])
    path.write_bytes(whole)
    expected, random = rows(source_of(path)), Random(0)
    assert len(expected) == 2000
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    damaged = [bytes(k) + whole for k in (1, 4)] + [b"", bytes(8)]
    damaged += [whole + junk for junk in (b"x", b"\0x", whole[:5], b"\0" * 9 + whole[:-1])]
    for place in [*starts, *range(starts[1], starts[2]), *random.choices(range(len(whole)), k=60)]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << random.randrange(8)
        damaged.append(bytes(flipped))
    pads = {1: form == "gz", 3: form == "gz", 4: form != "bz2", 200_000: form != "bz2"}
    padded = {n: whole[: starts[2]] + bytes(n) + whole[starts[2] :] + bytes(n) for n in pads}
    damaged += [padded[n] for n, is_right in pads.items() if not is_right]
    n_refused = 0
    for data in damaged:
        path.write_bytes(data)
        try:
            outcome = rows(source_of(path))
        except ValueError as error:
            # The text of a flipped bit may end before the sum of the stream is compared.
            outcome = re.match(
                rf"{path}: (the packed file is damaged or cut short|line \d+)", str(error)
            )
        assert outcome == expected or isinstance(outcome, re.Match)
        n_refused += outcome != expected
    # The header of gzip has a time and a system, which mean nothing for the rows.
    assert n_refused > 0.8 * len(damaged)
    for n, is_right in pads.items():
        path.write_bytes(padded[n])
        assert not is_right or rows(source_of(path)) == expected


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    """Which some editors write at the beginning of a file."""
    mark = b"\xef\xbb\xbf"
    path, plain = tmp_path / "marked.svm", tmp_path / "plain.svm"
    plain.write_bytes(TEXT)
    for text in (TEXT, b"1 1:2", b""):
        plain.write_bytes(text)
        path.write_bytes(mark + text)
        assert rows(source_of(path)) == rows(source_of(plain))
    path.write_bytes(mark[:2] + TEXT)
    with pytest.raises(ValueError, match="line 1, column 1: expected a label"):
        rows(source_of(path))


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
