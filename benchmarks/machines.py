"""Study ``machines``: models travel over blocks on several processes: how fast, and the same bits?

The rows are in files, which the workers of a cluster read; every number of processes fits the same
models to the same blocks.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import pickle
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from paper_repro.documents import medline
from paper_repro.render import Content, Dots, Table
from paper_repro.score import Spread, duration, ratios
from paper_repro.study import Cell, Measured, Record, Records, Settings

#: Documents of the study to an example of the settings; blocks; processes; epochs.
DOCUMENTS_OF_AN_EXAMPLE, BLOCKS, PROCESSES, EPOCHS = 10, 16, (1, 2, 4), 4
#: Points of the path, from the first l1 to the last; labels.
POINTS, LARGEST, SMALLEST, TOPICS = 16, 1e-5, 1e-8, 97
TASKS = ("path", "topics")
#: Every task runs so many times on every number of processes, in turns.
ROUNDS = 3
#: The words that speak for each label; the share of their documents that the label is missing in;
#: the shares of the documents between which a word must occur to speak for a label.
WORDS, MISSING, RARE, FREQUENT = 6, 0.1, 5e-4, 5e-3


def cells(settings: Settings) -> Sequence[Cell]:
    """Every task on every number of processes, in turns."""
    return [
        Cell(f"{task}/{n}/{k}", partial(timed, settings, task, n))
        for k in range(1, ROUNDS + 1)
        for task in TASKS
        for n in PROCESSES
    ]


def documents(settings: Settings) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Documents of the corpus, and a column of 0 and 1 per label.

    A label belongs to the documents in which one of its words occurs, but for some of them.
    """
    n = settings.examples * DOCUMENTS_OF_AN_EXAMPLE
    X = medline(n, settings.features, settings.nonzeros, seed=settings.seed).X
    generator = np.random.default_rng(settings.seed)
    shares = np.bincount(X.indices, minlength=X.shape[1]) / n
    usual = np.flatnonzero((shares >= RARE) & (shares <= FREQUENT))
    if len(usual) < TOPICS:  # few documents, or few words
        usual = np.flatnonzero(shares)
    words = generator.choice(usual, TOPICS * WORDS)
    speaks = (np.ones(len(words)), (words, np.repeat(np.arange(TOPICS), WORDS)))
    Y = X @ sparse.csr_matrix(speaks, shape=(X.shape[1], TOPICS))
    Y.data[:] = generator.random(Y.nnz) >= MISSING
    Y.eliminate_zeros()
    return normalize(sparse.csr_matrix(X, dtype=np.float64)), sparse.csr_matrix(Y, dtype=np.int8)


@lru_cache(maxsize=1)
def files(settings: Settings) -> list[str]:
    """The files of the blocks, which are deleted when the process ends."""
    folder = tempfile.mkdtemp(prefix="lazynet-machines-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    X, Y = documents(settings)
    ends = np.linspace(0, X.shape[0], BLOCKS + 1).astype(int)
    found = []
    for number, (start, stop) in enumerate(pairwise(ends)):
        path = Path(folder) / f"block{number}"
        path.write_bytes(pickle.dumps((X[start:stop], Y[start:stop]), protocol=5))
        found.append(str(path))
    return found


def read(path: str, topics: bool) -> tuple[sparse.csr_matrix, Any]:
    """The rows of a file, with all their labels, or with 1 where a row has the first one."""
    X, Y = pickle.loads(Path(path).read_bytes())
    return X, Y if topics else np.asarray(Y[:, [0]].todense(), dtype=np.float64).ravel()


@contextmanager
def cluster(n_processes: int) -> Any:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_processes, threads_per_worker=1, dashboard_address=":0",
            silence_logs=logging.ERROR,
        ) as local,
        # The client speaks with the workers itself, and not through the scheduler.
        Client(local, direct_to_workers=True) as client,
    ):  # fmt: skip
        yield client


def timed(settings: Settings, task: str, n_processes: int, _: Records) -> Record:
    """The seconds of the fits of a task, and a digest of every bit of the models."""
    import lazynet.dask

    paths = files(settings)
    with cluster(n_processes) as client:
        reader = partial(read, topics=task == "topics")
        blocks = lazynet.dask.Blocks.from_files(paths, reader, client=client)
        model = partial(lazynet.dask.LazyNetClassifier, max_iter=EPOCHS, tol=None, client=client)
        models = [model(dtype="float32")]
        if task == "path":
            models = [model(l1=l1) for l1 in np.geomspace(LARGEST, SMALLEST, POINTS)]
        facts = blocks.facts()
        began = time.perf_counter()
        lazynet.dask.fit_all(models, blocks)
        seconds = time.perf_counter() - began
        digest = hashlib.sha256()
        for each in models:
            coef = each.coef_
            digest.update((coef.toarray() if sparse.issparse(coef) else coef).tobytes())
            digest.update(each.intercept_.tobytes())
        return {
            "seconds": seconds,
            "documents": facts.n_rows,
            "features": facts.n_features,
            "nonzeros": facts.n_values,
            "models": len(models),
            "digest": digest.hexdigest(),
        }


class Machines(Measured):
    """The records of all tasks."""

    def runs(self, task: str, n_processes: int) -> list[Record]:
        return [self.records[f"{task}/{n_processes}/{k}"] for k in range(1, ROUNDS + 1)]

    def seconds(self, task: str, n_processes: int) -> list[float]:
        return [float(run["seconds"]) for run in self.runs(task, n_processes)]

    def ratio(self, task: str, n_processes: int) -> Spread:
        """How many times as long the task takes on one process, round by round."""
        return ratios(self.seconds(task, 1), self.seconds(task, n_processes))

    @property
    def equal(self) -> bool:
        """Whether every number of processes gives the same bits in every round."""
        return all(
            len({run["digest"] for n in PROCESSES for run in self.runs(task, n)}) == 1
            for task in TASKS
        )


def content(document: Mapping[str, Any]) -> Content:
    study = Machines(document)
    first = study.runs("path", 1)[0]
    bits = "the same" if study.equal else "DIFFERENT"
    several = PROCESSES[1:]
    times = ", ".join(f"{study.ratio(task, several[0])} times ({task})" for task in TASKS)
    rows = []
    for task in TASKS:
        taken = (duration(Spread.of(study.seconds(task, n)).median) for n in PROCESSES)
        rows.append([task, *taken, *(study.ratio(task, n) for n in several)])
    return Content(
        f"One process takes {times} as long as {several[0]} processes; the models have {bits} bits "
        f"on any number of processes.",
        [
            "`lazynet.dask` leaves the rows on the workers of a cluster, in blocks, and lets the "
            "models travel from block to block. The study fits the same models to the same "
            f"{BLOCKS} blocks on clusters of processes of one thread each, all on this machine: "
            "its processors bound what more processes can gain, and a move between two processes "
            "costs less than a move between two machines.",
            f"Everything is generated, from seed {study.settings['seed']}: {first['documents']:,} "
            "documents of the shape of Medline's abstracts with "
            f"{first['nonzeros'] / first['documents']:.1f} of {first['features']:,} features "
            f"each, and {TOPICS} labels. Rows have length one. All fits take {EPOCHS} epochs. "
            f"*path*: {POINTS} values of l1 for the first label. *topics*: all labels "
            'in one estimator of `dtype="float32"`. The '
            "seconds are those of the fits, until the last model is done; reading the files is "
            f"not in them. Every task runs {ROUNDS} times on every number of processes, in turns: "
            "the table has the median seconds, and the median of the ratios and their range.",
            Table(
                [
                    "task",
                    *(f"processes: {n}" for n in PROCESSES),
                    *(f"one / {n} processes" for n in several),
                ],
                rows,
            ),
            f"The weights and intercepts of every model are {bits}, bit for bit, on any number of "
            f"processes.",
        ],
        [
            Dots(
                "Fits of a task",
                "seconds",
                {
                    task: {f"processes: {n}": Spread.of(study.seconds(task, n)) for n in PROCESSES}
                    for task in TASKS
                },
                log=False,
            )
        ],
        width=6.5,
    )
