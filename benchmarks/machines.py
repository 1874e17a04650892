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
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from benchmarks import machines_other
from benchmarks.machines_documents import documents
from lazynet import LazyNetClassifier
from lazynet.streams import Chunks
from paper_repro import figures
from paper_repro.pages import Template, table
from paper_repro.score import Spread, duration, in_bytes, ratios, significant
from paper_repro.study import Cell, Measured, Record, Records, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = Template.beside(__file__)

#: Documents of the study to an example of the settings; blocks; processes; epochs.
DOCUMENTS_OF_AN_EXAMPLE, BLOCKS, PROCESSES, EPOCHS = 10.0, 16, (1, 2, 4), 4
#: Points of the path, from the first l1 to the last; labels.
POINTS, LARGEST, SMALLEST, TOPICS = 16, 1e-5, 1e-8, 97
TASKS = ("path", "topics")
#: Every task runs so many times on every number of processes, in turns.
ROUNDS = 3
#: Rows that do not fit: what a process may hold.
LIMIT = 700 * 2**20
#: Passes of fits that know nothing of each other.
APART = 40
#: The model of costs: rows of a block, nonzeros of a row, bytes a second between machines.
ROWS, MACHINES, BANDWIDTH = 1_000_000, (8, 32, 128, 512), 1e9


def cells(settings: Settings) -> Sequence[Cell]:
    """Every task on every number of processes, and what is asked once."""
    in_turns = [
        cell
        for k in range(1, ROUNDS + 1)
        for cell in (
            *(
                Cell(f"{task}/{n}/{k}", partial(_timed, settings, task, n))
                for task in TASKS
                for n in PROCESSES
            ),
            Cell(f"apart/{k}", partial(_apart, settings)),
        )
    ]
    return [
        *in_turns,
        Cell("room", partial(_in_little_room, settings)),
        Cell("costs", partial(_costs, settings)),
        Cell("dask-ml", partial(_of_dask_ml, settings)),
    ]


# --- rows and clusters -----------------------------------------------------------------------


@lru_cache(maxsize=1)
def files(settings: Settings) -> list[str]:
    """The files of the blocks, which are deleted when the process ends."""
    folder = tempfile.mkdtemp(prefix="lazynet-machines-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    wanted = round(settings.examples * DOCUMENTS_OF_AN_EXAMPLE)
    corpus = Settings(
        examples=wanted * 50, features=settings.features, nonzeros=settings.nonzeros,
        seed=settings.seed,
    )  # fmt: skip
    X, Y = documents(corpus, TOPICS)
    X = normalize(sparse.csr_matrix(X, dtype=np.float64))
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
def _cluster(n_processes: int, **options: Any) -> Any:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_processes, threads_per_worker=1, dashboard_address=":0",
            silence_logs=logging.ERROR, **options,
        ) as cluster,
        # The client speaks with the workers itself, and not through the scheduler.
        Client(cluster, direct_to_workers=True) as client,
    ):  # fmt: skip
        yield client


def _digest(models: Sequence[Any]) -> str:
    """A digest of every bit of the weights and intercepts."""
    digest = hashlib.sha256()
    for model in models:
        coef = model.coef_
        digest.update((coef.toarray() if sparse.issparse(coef) else coef).tobytes())
        digest.update(model.intercept_.tobytes())
    return digest.hexdigest()


# --- measuring -------------------------------------------------------------------------------


def _timed(settings: Settings, task: str, n_processes: int, _: Records) -> Record:
    """The seconds of the fits of a task, and who was busy when."""
    from distributed import get_task_stream

    import lazynet.dask

    paths = files(settings)
    with _cluster(n_processes) as client:
        blocks = lazynet.dask.Blocks.from_files(
            paths, partial(read, topics=task == "topics"), client=client
        )
        model = partial(lazynet.dask.LazyNetClassifier, max_iter=EPOCHS, tol=None, client=client)
        models = [model(dtype="float32")]
        if task == "path":
            models = [model(l1=l1) for l1 in np.geomspace(LARGEST, SMALLEST, POINTS)]
        facts = blocks.facts()
        with get_task_stream(client) as stream:
            before = client.run(_processor_seconds)
            began, spent = time.perf_counter(), time.process_time()
            lazynet.dask.fit_all(models, blocks)
            seconds, spent = time.perf_counter() - began, time.process_time() - spent
            after = client.run(_processor_seconds)
        return {
            "seconds": seconds,
            "documents": facts.n_rows,
            "features": facts.n_features,
            "nonzeros": facts.n_values,
            "models": len(models) if task != "topics" else len(models[0]._engines),
            "busy": _busy(stream.data),
            # The scheduler is in the process of the client.
            "client": spent,
            **{
                name: sum(after[each][name] - before[each][name] for each in after)
                for name in ("computing", "others")
            },
            "moves": sum(
                span["stop"] - span["start"]
                for each in stream.data
                for span in each["startstops"]
                if span["action"] == "transfer"
            ),
            "digest": _digest(models),
        }


def _processor_seconds() -> dict[str, float]:
    """The seconds of the processor that this process has used: in tasks, and in its other threads.

    The others send, receive, report, and look after the process.
    """
    import psutil

    names = {each.native_id: each.name for each in threading.enumerate()}
    found = {"computing": 0.0, "others": 0.0}
    for thread in psutil.Process().threads():
        computes = "Dask-Default-Threads" in names.get(thread.id, "")
        found["computing" if computes else "others"] += thread.user_time + thread.system_time
    return found


def _busy(tasks: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """The visits: the number of the worker and of the model, and when each began and ended."""
    visits = [each for each in tasks if str(each["key"]).startswith("lazynet-visit")]
    spans = [
        (str(each["worker"]), str(each["key"]).split("-epoch")[0], span["start"], span["stop"])
        for each in visits
        for span in each["startstops"]
        if span["action"] == "compute"
    ]
    if not spans:
        return []
    workers, models = (list(dict.fromkeys(each[k] for each in spans)) for k in (0, 1))
    first = min(start for *_, start, _ in spans)
    return [
        [workers.index(a), models.index(b), round(start - first, 4), round(stop - first, 4)]
        for a, b, start, stop in spans
    ]


def _apart(settings: Settings, _: Records) -> Record:
    """The seconds of a serial fit in a process, alone and while another process does the same."""
    found: Record = {}
    for n in (1, 2):
        with _cluster(n) as client:
            workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
            fits = [
                client.submit(_fit_apart, path, workers=[worker], pure=False)
                for path, worker in zip(files(settings), workers, strict=False)
            ]
            found[str(n)] = float(np.mean(client.gather(fits)))
    return found


def _fit_apart(path: str) -> float:
    rows = read(path, False)
    began = time.perf_counter()
    LazyNetClassifier(max_iter=APART, tol=None).fit(Chunks([rows]))
    return time.perf_counter() - began


def _in_little_room(settings: Settings, _: Records) -> Record:
    """A fit of rows that are larger than the process that learns from them may be."""
    import dask

    import lazynet.dask

    paths, reader = files(settings), partial(read, topics=False)
    given = {"max_iter": 2, "tol": None}
    serial = LazyNetClassifier(**given).fit(Chunks(lambda: map(reader, paths)))
    memory = {"target": 0.3, "spill": 0.45, "pause": 0.85, "terminate": 0.95}
    config = {f"distributed.worker.memory.{name}": share for name, share in memory.items()}
    with dask.config.set(config), _cluster(1, memory_limit=LIMIT) as client:
        parts = [dask.delayed(read, pure=False)(path, False) for path in paths]
        blocks = lazynet.dask.Blocks(parts, client=client)
        began = time.perf_counter()
        model = lazynet.dask.LazyNetClassifier(client=client, **given).fit(blocks)
        seconds = time.perf_counter() - began
        facts = blocks.facts()
        return {
            "bytes": facts.n_values * 12,
            "limit": LIMIT,
            "blocks": len(paths),
            "rows": facts.n_rows,
            "seconds": seconds,
            "retries": model.retries_,
            "same": _digest([model]) == _digest([serial]),
        }


def _costs(settings: Settings, _: Records) -> Record:
    """What a visit, a move and a task cost: a pass over a block, a state, an empty task."""
    path = files(settings)[0]
    X, y = read(path, False)
    model = LazyNetClassifier(max_iter=EPOCHS, tol=None).fit(Chunks([(X, y)]))
    per_nonzero = float(np.median([each["seconds"] for each in model.history_])) / X.nnz
    state = model._engines
    size = len(pickle.dumps(state, protocol=5))
    with _cluster(2) as client:
        here, there = sorted(client.scheduler_info(n_workers=-1)["workers"])
        moves, tasks = [], []
        for number in range(11):
            (sent,) = client.scatter([state], workers=[here], hash=False)
            began = time.perf_counter()
            client.submit(len, sent, workers=[there], pure=False, key=f"move-{number}").result()
            moves.append(time.perf_counter() - began)
            began = time.perf_counter()
            client.submit(len, [], workers=[there], pure=False, key=f"task-{number}").result()
            tasks.append(time.perf_counter() - began)
    return {
        "per_nonzero": per_nonzero,
        "state": size,
        "move": float(np.median(moves)),
        "task": float(np.median(tasks)),
        "nonzeros": X.nnz / X.shape[0],
    }


def _of_dask_ml(settings: Settings, _: Records) -> Record:
    """dask-ml's Incremental on the same blocks, and one model of lazynet."""
    import dask

    paths = files(settings)
    with _cluster(2) as client:
        return machines_other.compared(
            [read(path, False) for path in paths],
            [dask.delayed(read)(path, False) for path in paths],
            client,
        )


# --- the page --------------------------------------------------------------------------------


class Machines(Measured):
    """The records of all tasks."""

    def runs(self, task: str, n_processes: int) -> list[Record]:
        return [self.records[f"{task}/{n_processes}/{k}"] for k in range(1, ROUNDS + 1)]

    def of(self, task: str, n_processes: int) -> Record:
        """The round in the middle, by its seconds."""
        return sorted(self.runs(task, n_processes), key=_seconds)[(ROUNDS - 1) // 2]

    def ratio(self, task: str, n_processes: int = 2) -> Spread:
        """How many times faster the task is than on one process, round by round."""
        one, several = (
            [_seconds(record) for record in self.runs(task, n)] for n in (1, n_processes)
        )
        return ratios(one, several)

    def visiting(self, task: str, n_processes: int) -> float:
        """The seconds of all visits."""
        return sum(stop - start for *_, start, stop in self.of(task, n_processes)["busy"])

    def longer(self, task: str) -> float:
        """By what share of their processor time visits take longer on two processes than on one."""
        one, two = (float(self.of(task, n)["computing"]) for n in (1, 2))
        # A visit may take less than the clock of threads can tell.
        return max(two / one - 1.0, 0.0) if one else 0.0

    def busy(self, task: str) -> float:
        """The share of the time of two processes in which they were visiting."""
        return self.visiting(task, 2) / (2.0 * _seconds(self.of(task, 2)))

    @property
    def bound(self) -> Spread:
        """How many times as much two processes do as one, if they know nothing of each other."""
        apart = [self.records[f"apart/{k}"] for k in range(1, ROUNDS + 1)]
        return ratios([2.0 * each["1"] for each in apart], [each["2"] for each in apart])

    @property
    def equal(self) -> bool:
        """Whether every number of processes gives the same bits in every round."""
        return all(
            len({record["digest"] for n in PROCESSES for record in self.runs(task, n)}) == 1
            for task in TASKS
        )


def _seconds(record: Record) -> float:
    return float(record["seconds"])


def page(document: Mapping[str, Any]) -> str:
    study = Machines(document)
    first, room, costs = study.of("path", 1), study.records["room"], study.records["costs"]
    same = PAGE("the same" if study.equal else "not the same")
    return PAGE(
        "page",
        finding=finding(document),
        documents=first["documents"],
        features=first["features"],
        nonzeros=first["nonzeros"] / first["documents"],
        seed=study.settings["seed"],
        blocks=BLOCKS,
        epochs=EPOCHS,
        points=POINTS,
        topics=TOPICS,
        engines=study.of("topics", 1)["models"],
        same=same,
        table=_table(study),
        parts=_parts(study),
        processors=_processors(study),
        computing=f"{max(study.longer(task) for task in TASKS):.0%}",
        idle=_range(1.0 - study.busy(task) for task in TASKS),
        apart_longer=f"{2.0 / study.bound.median - 1.0:.0%}",
        bound=study.bound,
        rounds=ROUNDS,
        apart=APART,
        room=in_bytes(room["bytes"]),
        room_blocks=room["blocks"],
        room_rows=room["rows"],
        limit=in_bytes(room["limit"]),
        room_seconds=duration(room["seconds"]),
        room_retries=room["retries"],
        room_same=PAGE("the same" if room["same"] else "not the same"),
        per_nonzero=duration(costs["per_nonzero"]),
        state=in_bytes(costs["state"]),
        move=duration(costs["move"]),
        task=duration(costs["task"]),
        rows=ROWS,
        bandwidth=in_bytes(BANDWIDTH),
        model=_model(costs),
        other=machines_other.other(study.records["dask-ml"]),
    )


def finding(document: Mapping[str, Any]) -> str:
    study = Machines(document)
    return PAGE(
        "finding",
        points=POINTS,
        topics=TOPICS,
        path=study.ratio("path"),
        topic=study.ratio("topics"),
        same=PAGE("the same" if study.equal else "not the same"),
    )


def _range(shares: Iterable[float]) -> str:
    """The least and the largest of some shares, in per cent."""
    found = sorted(shares)
    return f"{found[0]:.0%} to {found[-1]:.0%}"


def _parts(study: Machines) -> str:
    """Where the time of two processes goes, task by task."""
    lines = []
    for task in TASKS:
        two = study.of(task, 2)
        busy = [
            sum(stop - start for worker, _, start, stop in two["busy"] if worker == each)
            for each in range(2)
        ]
        lines.append(
            [
                task,
                duration(study.visiting(task, 1)),
                duration(study.visiting(task, 2)),
                " and ".join(f"{each / two['seconds']:.0%}" for each in busy),
                duration(float(np.median([stop - start for *_, start, stop in two["busy"]]))),
                duration(two["moves"]),
            ]
        )
    return table(
        ["task", "visits, 1 process", "visits, 2 processes", "busy", "a visit", "moves"], lines
    )


def _processors(study: Machines) -> str:
    """What the processors do, task by task, for one process and for two."""
    kinds = ("computing", "others", "client")
    lines = []
    for task in TASKS:
        runs = [study.of(task, n) for n in (1, 2)]
        lines.append(
            [
                task,
                *(" and ".join(duration(run[kind]) for run in runs) for kind in kinds),
                duration(sum(runs[1][kind] for kind in kinds) / 2.0),
                duration(runs[1]["seconds"]),
            ]
        )
    return table(
        [
            "task", "visits", "other threads of the workers", "client and scheduler",
            "half of the sum, 2 processes", "seconds of the fit, 2 processes",
        ],
        lines,
    )  # fmt: skip


def _table(study: Machines) -> str:
    return table(
        [
            "task",
            "models",
            "1 process",
            *(f"{n} processes" for n in PROCESSES[1:]),
            "1 / 2",
            "1 / 4",
        ],
        [
            [
                task,
                str(study.of(task, 1)["models"]),
                *(duration(study.of(task, n)["seconds"]) for n in PROCESSES),
                *(str(study.ratio(task, n)) for n in (2, 4)),
            ]
            for task in TASKS
        ],
    )


def modelled(costs: Record, machines: int, models: int) -> tuple[float, float, float]:
    """The seconds of a run by the model of costs, of one machine, and the bytes sent in an epoch.

    A machine makes a visit for every model in an epoch, and a model cannot end an epoch before it
    has visited and left every block.
    """
    visit = ROWS * costs["nonzeros"] * costs["per_nonzero"] + costs["task"]
    move = costs["state"] / BANDWIDTH + costs["task"]
    client = 2 * models * costs["state"] / BANDWIDTH
    epoch = max(models * visit, machines * (visit + move), client)
    whole = EPOCHS * epoch + (machines - 1) * (visit + move)
    return whole, EPOCHS * models * machines * visit, models * (machines + 2) * costs["state"]


def _model(costs: Record) -> str:
    lines = []
    for machines in MACHINES:
        for times in (1, 2):
            seconds, alone, sent = modelled(costs, machines, times * machines)
            lines.append(
                [
                    str(machines),
                    str(times * machines),
                    duration(seconds),
                    significant(alone / seconds),
                    f"{alone / seconds / machines:.0%}",
                    in_bytes(sent),
                ]
            )
    return table(
        ["machines", "models", "seconds", "times one machine", "of all machines", "sent an epoch"],
        lines,
    )


def draw(document: Mapping[str, Any]) -> Figure:
    """Who was busy when, on two processes: a bar for every visit."""
    study = Machines(document)
    figure, axes = figures.new(rows=len(TASKS), width=6.4, height=4.2)
    for ax, task in zip(np.ravel(axes), TASKS, strict=True):
        for worker, model, start, stop in study.of(task, 2)["busy"]:
            shade = str(0.15 + 0.6 * (model % 4) / 3)
            ax.barh(worker, stop - start, left=start, height=0.7, color=shade, linewidth=0)
        ax.set_yticks([0, 1], ["process 1", "process 2"])
        ax.set_title(task, loc="left")
    np.ravel(axes)[-1].set_xlabel("seconds since the first visit")
    return figure  # type: ignore[no-any-return]
