"""``python -m paper_repro.killed_workers``: workers are killed while models visit their blocks.

Fits over blocks run on a cluster of processes, one after the other, while workers get SIGKILL at
random moments; a nanny replaces each.  Every model must have the bits of the serial fit of the same
rows: weights, histories but for the seconds, the state of the engines.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster
from scipy import sparse

import lazynet
import lazynet.dask
from lazynet.checks.bits import bits_of
from lazynet.streams import Chunks
from paper_repro.killed import data_of

_ROWS, _COLUMNS, _NONZEROS, _BLOCKS = 30_000, 20_000, 60, 4
#: Makes the estimators of a fit from a module: lazynet, or lazynet.dask.
Make = Callable[[Any], list[Any]]


def part(number: int, kind: str) -> tuple[sparse.csr_matrix, Any]:
    """The rows of a block, which the same worker or another makes again with the same bits."""
    X, y = data_of(_ROWS, _COLUMNS, _NONZEROS, number)
    if kind == "labels":
        return X, sparse.csr_matrix(np.column_stack([y > k / 4 for k in range(-6, 6)]).astype(int))
    return X, y if kind == "numbers" else (y > 0).astype(float)


def fits() -> dict[str, tuple[str, Make]]:
    """The kind of y and the estimators of every fit, by name."""
    many = {"max_iter": 10, "tol": None}
    return {
        "nothing set": ("classes", lambda m: [m.LazyNetClassifier()]),
        "labels": ("labels", lambda m: [m.LazyNetClassifier(**many)]),
        "numbers, average": ("numbers", lambda m: [m.LazyNetRegressor(average=True, **many)]),
        "a path": (
            "classes",
            lambda m: [m.LazyNetClassifier(l1=l1, **many) for l1 in (1e-4, 1e-5, 1e-6, 1e-7)],
        ),
    }


class Killer(threading.Thread):
    """Kills a random worker at a random moment, once all workers are there, again and again."""

    def __init__(self, cluster: LocalCluster, seed: int, most: int, latest: float) -> None:
        super().__init__(daemon=True)
        self.cluster, self.most, self.latest = cluster, most, latest
        self.random = np.random.default_rng(seed)
        self.kills, self.ended = 0, threading.Event()

    def run(self) -> None:
        n_workers = len(self.cluster.workers)
        while self.kills < self.most and not self.ended.is_set():
            if len(self.cluster.scheduler.workers) < n_workers:
                self.ended.wait(0.05)
                continue
            if self.ended.wait(self.random.uniform(0.0, self.latest)):
                return
            nannies = [*self.cluster.workers.values()]
            victim = nannies[self.random.integers(len(nannies))]
            if victim.pid is not None:
                os.kill(victim.pid, signal.SIGKILL)
                self.kills += 1
                time.sleep(0.2)


def kill(n_kills: int, seed: int, n_workers: int, latest: float) -> Counter[str]:
    """Fit in turn until so many workers were killed; returns what happened, by name."""
    found: Counter[str] = Counter()
    wanted: dict[str, list[str]] = {}
    calls = fits()
    for name, (kind, make) in calls.items():
        parts = [part(number, kind) for number in range(_BLOCKS)]
        wanted[name] = [bits_of(each.fit(Chunks(parts))) for each in make(lazynet)]
    # A new process takes seconds to begin on a busy machine.
    config = {"distributed.deploy.lost-worker-timeout": "300s"}
    with (
        dask.config.set(config),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        killer = Killer(cluster, seed, n_kills, latest)
        killer.start()
        while killer.kills < n_kills:
            name = [*calls][found["fits"] % len(calls)]
            kind, make = calls[name]
            parts = [dask.delayed(part)(number, kind) for number in range(_BLOCKS)]
            blocks = lazynet.dask.Blocks(parts, client=client)
            models = lazynet.dask.fit_all(make(lazynet.dask), blocks)
            if [bits_of(each.to_local()) for each in models] != wanted[name]:
                raise AssertionError(f"{name}: the bits differ after {killer.kills} kills")
            found["fits"] += 1
            found["epochs that were repeated"] += sum(each.retries_ for each in models)
            found[f"ends with the same bits: {name}"] += 1
        killer.ended.set()
        killer.join()
        found["kills"] = killer.kills
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m paper_repro.killed_workers")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--latest", type=float, default=3.0, help="most seconds between two kills")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    found = kill(options.kills, options.seed, options.workers, options.latest)
    for name, count in sorted(found.items()):
        print(f"{count:6d}  {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
