"""``python -m benchmarks machines [ROWS]``: fits over blocks on two workers, and in one process.

One online model, eight of them, and certified minima of three penalties, on generated documents in
16 blocks.  Two lines per fit: in one process, and on the workers, with the seconds of the clock, of
the processor, and of client and scheduler within them; the bytes that workers have sent each other;
the peak memory of a worker; and whether the bits are those of one process.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster
from scipy import sparse

import lazynet.dask
from lazynet.data import Chunks
from paper_repro.documents import medline
from paper_repro.machine import value_in

BLOCKS = 16
ONLINE: dict[str, Any] = {"max_iter": 12, "tol": None}
L1S = [1e-5 * 0.5**k for k in range(8)]
PENALTIES = ((1e-3, 0.0), (1e-4, 0.0), (1e-4, 1e-4))

#: A fit in one process of a source, X and y; a fit of blocks.
Fits = tuple[Callable[[Any, Any, Any], Any], Callable[[Any], Any]]


def fits() -> dict[str, Fits]:
    """The fits by their names."""
    serial, over = lazynet.LazyNetClassifier, lazynet.dask.LazyNetClassifier
    found: dict[str, Fits] = {
        "one": (
            lambda source, X, y: serial(**ONLINE).fit(source),
            lambda blocks: over(**ONLINE).fit(blocks),
        ),
        "eight": (
            lambda source, X, y: [serial(**ONLINE, l1=l1).fit(source) for l1 in L1S],
            lambda blocks: lazynet.dask.fit_all([over(**ONLINE, l1=l1) for l1 in L1S], blocks),
        ),
    }
    for l1, l2 in PENALTIES:
        found[f"minimum {l1:g} {l2:g}"] = _minimum(l1, l2)
    return found


def _minimum(l1: float, l2: float) -> Fits:
    given: dict[str, Any] = {"l1": l1, "l2": l2}
    return (
        lambda source, X, y: lazynet.DualNetClassifier(**given, random_state=0).fit(X, y),
        lambda blocks: lazynet.dask.DualNetClassifier(**given).fit(blocks),
    )


def main(arguments: Sequence[str]) -> int:
    """Write the blocks to files, and let every fit run in one process and on workers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks machines", description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    corpus = medline(options.rows)
    X, y = corpus.X, corpus.y
    borders = [*pairwise(np.linspace(0, options.rows, BLOCKS + 1).astype(int))]
    source = Chunks([(X[first:end], y[first:end]) for first, end in borders])
    cluster = {"n_workers": options.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with tempfile.TemporaryDirectory() as folder:
        for k, (first, end) in enumerate(borders):
            part = X[first:end]
            numbers = part.data, part.indices, part.indptr, part.shape, y[first:end]
            np.savez(Path(folder) / f"{k:03}.npz", *numbers)
        for name, (serially, over_blocks) in fits().items():
            began, used = time.perf_counter(), time.process_time()
            one = serially(source, X, y)
            seconds = time.perf_counter() - began, time.process_time() - used
            print(f"{name:16} one process  {_seconds(*seconds)}  {_told(one)}", flush=True)
            with (
                LocalCluster(**cluster) as workers,
                Client(workers, direct_to_workers=True) as client,
            ):
                blocks = lazynet.dask.Blocks.from_files(f"{folder}/*.npz", read, client=client)
                blocks.facts()
                with measured(client) as figures:
                    found = over_blocks(blocks)
            same = "same bits" if _bits(found) == _bits(one) else "other bits"
            line = f"{name:16} {options.workers} workers    {figures[0]}  {_told(found)}  {same}"
            print(line, flush=True)
    return 0


def read(name: str) -> tuple[Any, Any]:
    """The rows of a file."""
    data, indices, indptr, shape, y = np.load(name).values()
    return sparse.csr_matrix((data, indices, indptr), tuple(shape)), y


@contextmanager
def measured(client: Client) -> Iterator[list[str]]:
    """The figures of a fit on the workers of a client."""
    figures: list[str] = []
    before, own, began = client.run(_spent), time.process_time(), time.perf_counter()
    yield figures
    wall, own = time.perf_counter() - began, time.process_time() - own
    after = client.run(_spent)
    seconds, sent = (sum(after[w][k] - before[w][k] for w in before) for k in range(2))
    peak = max(each[2] for each in after.values())
    figures.append(
        f"{_seconds(wall, own + seconds)} (client and scheduler {own:.2f})  "
        f"sent {sent / 2**20:.0f} MB  peak {peak / 2**10:.0f} MB"
    )


def _spent(dask_worker: Any) -> tuple[float, int, int]:
    """Seconds of the processor, bytes sent to other workers, and kilobytes at the peak."""
    peak = value_in("/proc/self/status", "VmHWM") or "0"
    return time.process_time(), dask_worker.transfer_outgoing_bytes_total, int(peak.split()[0])


def _seconds(wall: float, processor: float) -> str:
    return f"wall {wall:6.2f} s  processor {processor:6.2f} s"


def _told(found: Any) -> str:
    if not hasattr(found, "duality_gap_"):
        return ""
    return f"gap {found.duality_gap_:.1e}  objective {found.objective_:.8f}  {found.n_iter_} steps"


def _bits(models: Any) -> bytes:
    found = models if isinstance(models, list) else [models]
    return b"".join(np.asarray(each.coef_).tobytes() for each in found)
