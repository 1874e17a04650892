"""Clusters which the tests of this folder share."""

import contextlib
import logging
import os
import time

import pytest


@pytest.fixture(scope="package")
def clients():
    """Clients of clusters of one, two and four workers, by the number of workers."""
    from support.clusters import cluster_of

    with cluster_of(1) as one, cluster_of(2) as two, cluster_of(4) as four:
        yield {1: one, 2: two, 4: four}


@pytest.fixture(scope="package")
def two_processes():
    """A client of a cluster of two processes; Dask starts one that is killed again."""
    import dask
    from support.clusters import cluster_of

    with (
        # A worker tries for so long to reach one that is dead.
        dask.config.set(
            {
                "distributed.deploy.lost-worker-timeout": "120s",
                "distributed.comm.timeouts.connect": "5s",
            }
        ),
        cluster_of(2, processes=True, silence_logs=logging.CRITICAL) as client,
    ):
        yield client


@pytest.fixture
def processes(two_processes):
    """The same client, with two workers that are alive: a test before may have killed one."""
    alive = {}
    while len(alive) < 2:
        time.sleep(0.1)
        with contextlib.suppress(OSError, KeyError):
            alive = two_processes.run(os.getpid)
    return two_processes


@pytest.fixture(scope="package")
def client(clients):
    """A client of a cluster of two workers."""
    return clients[2]
