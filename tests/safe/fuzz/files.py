"""Files of rows: packed ones with damage, pipes, files that change, and blocks on a cluster.

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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from support.damage import damaged

from lazynet import LazyNetClassifier, cli
from lazynet.data import RowsFile, SvmlightFile, VWFile, cached, write_rows
from safe.fuzz.matrices import one_of
from safe.fuzz.oracle import judged

try:
    import distributed
    from support.clusters import cluster_of

    from lazynet import dask
except ImportError:
    dask = None

#: By the end of a name: what packs a stream, and what unpacks it.
PACKINGS = {
    ".gz": (functools.partial(gzip.compress, mtime=0), lambda: zlib.decompressobj(31)),
    ".bz2": (bz2.compress, bz2.BZ2Decompressor),
    ".xz": (lzma.compress, lzma.LZMADecompressor),
}


def generate(random, ledger):
    """One folder of files, and one call that reads them."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = [packed, packed, rewritten, rewritten]
        kinds += [pipe] * hasattr(os, "mkfifo") + [blocks] * (dask is not None)
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
    files = one_of([[path], [plain, path]], random)

    def convert():
        # The other end waits for a reader.
        threading.Thread(target=path.write_bytes, args=[text], daemon=True).start()
        if cli.main(["convert", *map(str, files), "-o", str(out)]):
            raise ValueError(f"{path} is refused")
        return rows_of(RowsFile(out))

    calls = [
        lambda: SvmlightFile(path), lambda: VWFile([plain, path]), lambda: RowsFile(path),
        lambda: SvmlightFile(folder / "*.svm"), lambda: cached(SvmlightFile(plain), path),
        *[convert] * 3,
    ]  # fmt: skip
    call, whole = one_of(calls, random), outcome(lambda: rows_of(SvmlightFile(plain)))
    expected = whole and whole * len(files) if call is convert else None
    check(ledger, f"pipe {calls.index(call)}", path, call, expected)


# --- files that change ----------------------------------------------------------------------------


def rewritten(random, ledger, folder):
    """A file that changes between two passes or within one: the earlier rows, or an error."""
    form = str(random.choice(["svm", "svm.gz", "vw", "rows"]))
    n_rows, path, other = int(random.choice([3, 40, 2000])), folder / f"a.{form}", folder / "b"
    first, second = (
        in_form(text_of(random, form, n_rows, least=0), form, folder) for _ in range(2)
    )
    if form == "rows":  # the system ends who reads a mapping that becomes shorter
        second = second[: len(first)].ljust(len(first), b"\0")
    elif random.random() < 0.3:
        second = damaged(first, plain_random.Random(int(random.integers(2**32))))
    path.write_bytes(first)
    os.utime(path, (1, 1))  # the clock of some systems stands still between two writes
    source = {"vw": VWFile, "rows": RowsFile}.get(form, SvmlightFile)(path)
    replaces, n = bool(random.integers(2)), int(random.choice([1, 50]))
    model = LazyNetClassifier(l1=1e-4, max_iter=3, tol=None)

    def rewrite(*_):
        other.write_bytes(second)
        if replaces:
            other.replace(path)
        else:
            path.write_bytes(second)

    def within_a_pass(rewrite=rewrite):
        chunks = source.chunks(n)
        begun = rows_of([next(chunks)])
        rewrite()
        return begun + rows_of(chunks)

    def in_a_fit(rewrite=rewrite):
        return model.fit(source, callback=rewrite).coef_.tolist()

    call = one_of([within_a_pass, in_a_fit], random)
    before = outcome(lambda: call(rewrite=lambda *_: None))
    title = f"rewritten {form}, {call.__name__}, {n_rows} rows, {replaces=}"
    check(ledger, title, path, call, before, None, model=model)


def in_form(text, form, folder):
    """The contents of a file of this form with these rows."""
    if form == "svm.gz":
        return PACKINGS[".gz"][0](text)
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
    # A child does not have the threads of its parent, and a pool that has started one waits for it.
    distributed.utils._offload_executor = ThreadPoolExecutor(1)
    context = cluster_of(1, silence_logs=logging.CRITICAL)
    return context, context.__enter__()


def blocks(random, ledger, folder):
    """Blocks give the bits of a serial fit on the files, but pairs of other widths are refused."""
    paths = [folder / f"a{k}.svm" for k in range(random.integers(1, 4))]
    for path in paths:
        path.write_bytes(text_of(random, "svm", int(one_of([1, 3, 40], random))))
    reader = functools.partial(SvmlightFile, zero_based=one_of([True, False, "auto"], random))
    fit = dict(l1=1e-3, max_iter=2, tol=None)
    expected = outcome(lambda: LazyNetClassifier(**fit).fit(reader(paths)).coef_.tolist())
    pairs = bool(random.random() < 0.3) and reader.keywords["zero_based"] is True
    if pairs and len({SvmlightFile(path, zero_based=True).n_features for path in paths}) > 1:
        expected = None

    def on_blocks():
        make = reader if not pairs else lambda path: next(reader(path).chunks(100))[:2]
        rows = dask.Blocks.from_files(paths, make, client=client()[1])
        return dask.LazyNetClassifier(**fit).fit(rows).coef_.tolist()

    check(ledger, f"blocks of {len(paths)} files, pairs {pairs}", folder, on_blocks, expected)
