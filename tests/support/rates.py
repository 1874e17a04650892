"""Streams whose rows change their size, for rules whose rates follow the data, and broken twins."""

import numpy as np

from lazynet.reference import DenseFromData
from support.engines import apart

#: Pairs of l1 and l2.
PENALTIES = [(0.0, 0.0), (1e-2, 0.0), (0.0, 1e-2), (1e-3, 1e-3)]


def stream(n=140, d=9, seed=0, empty=3):
    """Examples whose sizes change a hundredfold, the first few without nonzeros."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        length = 0 if i < empty else int(rng.integers(0, d))
        columns = np.sort(rng.choice(d, length, replace=False)).tolist()
        values = (rng.standard_normal(length) * (0.1 if i < 20 else 10.0)).tolist()
        yield columns, values, float(rng.choice([-1.0, 1.0])), float(rng.random() * 2.0)


def part_ways(lazy, dense, examples):
    """Whether the weights or the intercepts of the two learners differ after any step."""
    for example in examples:
        lazy.step(*example)
        dense.step(*example)
        if apart(lazy.weights, dense.weights) > 1e-11:
            return True
        if abs(lazy.intercept - dense.intercept) > 1e-11 * (1.0 + abs(dense.intercept)):
            return True
    assert np.any(lazy.weights != 0.0)
    return False


# --- twins with rates from the data that are broken on purpose ----------------------------------


class NoRescaling(DenseFromData):
    """Refreshes m and leaves the weights."""

    def _measure(self, size):
        weights = self.weights
        super()._measure(size)
        self.weights = weights


class NeverLooks(DenseFromData):
    """Never lowers a rate."""

    def _look(self):
        pass
