"""Clusters of Dask in this process or in a few, and rows in blocks on them."""

import contextlib
import itertools
import os
import signal

import dask
import numpy as np
from distributed import Client, LocalCluster
from hypothesis import Phase

#: The phases of a property whose example takes a second: a failing one is shown as it was drawn.
NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
# Nothing of these tests listens on a port that a person would look at.
_QUIET = dict(threads_per_worker=1, dashboard_address=":0")


@contextlib.contextmanager
def cluster_of(n_workers, *, processes=False, **options):
    """A client of a new cluster of so many workers."""
    given = {**_QUIET, "n_workers": n_workers, "processes": processes, **options}
    with LocalCluster(**given) as cluster, Client(cluster) as client:
        yield client


def kill_a_worker(client):
    """Kill the process of a worker."""
    os.kill(next(iter(client.cluster.workers.values())).pid, signal.SIGKILL)


def parts_of(cuts, X, y, weights=None):
    """(X, y) or (X, y, weights) of the rows between the cuts."""
    arrays = (X, y) if weights is None else (X, y, weights)
    ends = [0, *sorted(cuts), X.shape[0]]
    return [
        tuple(array[start:stop] for array in arrays) for start, stop in itertools.pairwise(ends)
    ]


def delayed_parts(parts):
    """The parts as delayed calls."""
    return [dask.delayed(tuple)(list(part)) for part in parts]


def assert_same_bits(model, wanted, names):
    """The attributes of two models have the same types and bits."""
    for name in names:
        found, expected = np.asarray(getattr(model, name)), np.asarray(getattr(wanted, name))
        assert found.dtype == expected.dtype, name
        assert found.tobytes() == expected.tobytes(), name


def assert_same_fit(model, serial):
    """Two fits have the same bits, their histories but for the seconds too."""
    assert np.array_equal(_dense(model.coef_), _dense(serial.coef_))
    assert np.array_equal(model.intercept_, serial.intercept_)
    for name in ("l1_", "eta0_", "auto_", "t_", "n_iter_", "best_epoch_"):
        assert getattr(model, name) == getattr(serial, name), name
    assert (model.units_ is None) == (serial.units_ is None)
    if model.units_ is not None:
        assert_same_bits(model.units_, serial.units_, ["sizes", "means"])
    assert untimed(model.history_) == untimed(serial.history_)


def _dense(coef):
    return coef.toarray() if hasattr(coef, "toarray") else coef


def untimed(history):
    """A history without the seconds."""
    return [{name: value for name, value in line.items() if name != "seconds"} for line in history]
