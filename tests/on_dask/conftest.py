"""Clusters in this process, which the tests of this folder share."""

import pytest


@pytest.fixture(scope="package")
def clients():
    """Clients of clusters of one, two and three workers, by the number of workers."""
    from support.clusters import cluster_of

    with cluster_of(1) as one, cluster_of(2) as two, cluster_of(3) as three:
        yield {1: one, 2: two, 3: three}


@pytest.fixture(scope="package")
def client(clients):
    """A client of a cluster of two workers."""
    return clients[2]
