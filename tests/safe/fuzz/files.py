"""Files of rows: packed ones with damage, pipes, files that change, and blocks of files on a cluster.

What a call learns are the rows of the files as they were when they were first read, or nothing.
"""

import bz2
import functools
import gzip
import itertools
import logging
import lzma
import os
import random as plain_random
import tempfile
import threading
import warnings
import zlib
from pathlib import Path

import numpy as np
from support.damage import damaged

from lazynet import LazyNetClassifier, cli
from lazynet.data import RowsFile, SvmlightFile, VWFile, cached, write_rows
from safe.fuzz.matrices import one_of
from safe.fuzz.oracle import judged

try:
    from support.clusters import cluster_of

    from lazynet import dask
except ImportError:
    dask = None

#: By the end of a name: what packs a stream, and what unpacks it.
PACKINGS = {
    ".gz": (gzip.compress, lambda: zlib.decompressobj(31)),
    ".bz2": (bz2.compress, bz2.BZ2Decompressor),
    ".xz": (lzma.compress, lzma.LZMADecompressor),
}


def generate(random, ledger):
    """One folder of files, and one call that reads them."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = [packed, pipe, rewritten] + [blocks] * (dask is not None)
        one_of(kinds, random)(random, ledger, Path(folder))


def check(ledger, title, path, call, *allowed, model=None):
    """Make the call, whose result must be one of these; None stands for an error with the name."""
    words = [str(path), "paths", "X", "y"]
    found = judged(ledger, title, call, words=words, model=model, accepted=(OSError,))
    if not any(found == each for each in allowed):
        ledger.fail(f"{title.split(',')[0]}: other rows", f"{title}: {found!r:.300}")


def text_of(random, form, n_rows=None, least=None):
    """Lines of rows; the least column is 0 or 1, the greatest one any number."""
    n_rows = int(one_of([1, 3, 40, 40, 2000], random)) if n_rows is None else n_rows
    least, stop = random.integers(2) if least is None else least, random.integers(2, 40)
    lines = []
    for k in range(n_rows):
        row = np.unique(random.integers(least, stop, random.integers(5)))
        bar = "| " if form == "vw" else ""
        lines.append(f"{k % 2} {bar}" + " ".join(f"{j}:{random.integers(1, 9) / 8}" for j in row))
    return "\n".join([*lines, ""]).encode()


def rows_of(chunks):
    """The rows of chunks or of a source, which can be compared."""
    found = []
    for X, y, _ in chunks.chunks(50) if hasattr(chunks, "chunks") else chunks:
        columns, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
        for k, (start, stop) in enumerate(itertools.pairwise(ends)):
            found.append((float(y[k]), columns[start:stop], values[start:stop]))
    return found


def outcome(call):
    """What a call returns, or None if it refuses."""
    try:
        return call()
    except ValueError:
        return None


# --- packed files ---------------------------------------------------------------------------------


def packed(random, ledger, folder):
    """Several streams in a file, of which some are damaged: all rows, or none."""
    end = one_of(list(PACKINGS), random)
    pack, unpacker = PACKINGS[end]
    text, plain, path = text_of(random, "svm"), folder / "a.svm", folder / f"a.svm{end}"
    cuts = [0, *sorted(random.integers(0, len(text), random.integers(4))), len(text)]
    data = b"".join(pack(text[start:stop]) for start, stop in itertools.pairwise(cuts))
    n_damages = int(one_of([0, 1, 1, 1, 2], random))
    for _ in range(n_damages):
        data = damaged(data, plain_random.Random(int(random.integers(2**32))))
    path.write_bytes(data)
    whole = unpacked(data, unpacker)
    plain.write_bytes(whole or b"")
    expected = None if whole is None else outcome(lambda: rows_of(SvmlightFile(plain)))
    allowed = [expected, None] if n_damages else [expected]
    title = f"packed {end}, {len(cuts) - 1} streams, {n_damages} damages"
    check(ledger, title, path, lambda: rows_of(SvmlightFile(path)), *allowed)


def unpacked(data, unpacker):
    """The contents of all streams, or None if anything in the file is no stream."""
    found = b""
    try:
        while data:
            stream = unpacker()
            found += stream.decompress(data)
            if not stream.eof:
                return None
            data = stream.unused_data.lstrip(b"\0")
    except (EOFError, OSError, zlib.error, lzma.LZMAError):
        return None
    return found


# --- pipes ----------------------------------------------------------------------------------------


def pipe(random, ledger, folder):
    """A pipe as a path: refused by name, or copied once by a command."""
    path, plain, out = folder / "pipe.svm", folder / "a.svm", folder / "out.rows"
    text = text_of(random, "svm")
    plain.write_bytes(text)
    os.mkfifo(path)
    calls = [
        lambda: SvmlightFile(path), lambda: VWFile([plain, path]), lambda: RowsFile(path),
        lambda: SvmlightFile(folder / "*.svm"), lambda: cached(SvmlightFile(plain), path),
    ]  # fmt: skip
    choice = int(random.integers(len(calls) + 3))
    if choice < len(calls):
        return check(ledger, f"pipe {choice}", path, calls[choice], None)
    expected = outcome(lambda: rows_of(SvmlightFile(plain)))
    # The other end, which waits for a reader.
    threading.Thread(target=path.write_bytes, args=[text], daemon=True).start()
    files = [str(path)] if choice % 2 else [str(plain), str(path)]

    def convert():
        if cli.main(["convert", *files, "-o", str(out)]):
            raise ValueError(f"{path} is refused")
        return rows_of(RowsFile(out))

    return check(ledger, "pipe converted", path, convert, expected and expected * len(files))


# --- files that change ----------------------------------------------------------------------------


def rewritten(random, ledger, folder):
    """A file that changes between two passes or within one: the earlier rows, or an error."""
    form = str(random.choice(["svm", "svm.gz", "vw", "rows"]))
    n_rows, path, other = int(random.choice([3, 40, 2000])), folder / f"a.{form}", folder / "b"
    texts = [text_of(random, form, n_rows, least=0) for _ in range(2)]
    contents = [in_form(text, form, folder) for text in texts]
    if random.random() < 0.3 and form != "rows":  # the system ends who reads a shorter mapping
        contents[1] = damaged(contents[0], plain_random.Random(int(random.integers(2**32))))
    if form == "rows":
        room = len(contents[0])
        contents[1] = contents[1][:room].ljust(room, b"\0")
    path.write_bytes(contents[0])
    os.utime(path, (1, 1))  # the clock of some systems stands still between two writes
    source = {"vw": VWFile, "rows": RowsFile}.get(form, SvmlightFile)(path)
    replaces = bool(random.integers(2))

    def rewrite(*_):
        other.write_bytes(contents[1])
        if replaces:
            other.replace(path)
        else:
            path.write_bytes(contents[1])

    title = f"rewritten {form}, {n_rows} rows, {'replaced' if replaces else 'in place'}"
    before = outcome(lambda: rows_of(source))
    if random.random() < 0.5:
        rows = int(random.choice([1, 50]))

        def again():
            chunks = source.chunks(rows)
            first = rows_of([next(chunks)])
            rewrite()
            return first + rows_of(chunks)

        return check(ledger, f"{title}, within a pass", path, again, before, None)
    model = LazyNetClassifier(l1=1e-4, max_iter=3, tol=None)
    expected = outcome(lambda: model.fit(source).coef_.tolist())
    fit = functools.partial(model.fit, source, callback=rewrite)
    return check(
        ledger, f"{title}, in a fit", path, lambda: fit().coef_.tolist(), expected, None, model=model
    )


def in_form(text, form, folder):
    """The contents of a file of this form with these rows."""
    if form == "svm.gz":
        return gzip.compress(text)
    if form != "rows":
        return text
    plain, rows = folder / "text.svm", folder / "text.rows"
    plain.write_bytes(text)
    write_rows(SvmlightFile(plain, zero_based=True, n_features=40), rows)
    return rows.read_bytes()


# --- blocks of files ------------------------------------------------------------------------------


@functools.cache
def client():
    """A cluster of this process, as long as the process lives."""
    context = cluster_of(1, silence_logs=logging.CRITICAL)
    return context, context.__enter__()


def blocks(random, ledger, folder):
    """Blocks of files give the bits of a serial fit on the files, whatever their columns are."""
    paths = []
    for k in range(random.integers(1, 4)):
        paths.append(folder / f"a{k}.svm")
        paths[-1].write_bytes(text_of(random, "svm", int(one_of([1, 3, 40], random))))
    options = dict(zero_based=one_of([True, False, "auto"], random))
    fit = dict(l1=1e-3, max_iter=2, tol=None)
    expected = outcome(
        lambda: LazyNetClassifier(**fit).fit(SvmlightFile(paths, **options)).coef_.tolist()
    )

    def on_blocks():
        reader = functools.partial(SvmlightFile, **options)
        rows = dask.Blocks.from_files(paths, reader, client=client()[1])
        return dask.LazyNetClassifier(**fit).fit(rows).coef_.tolist()

    check(ledger, f"blocks of {len(paths)} files", folder, on_blocks, expected)
