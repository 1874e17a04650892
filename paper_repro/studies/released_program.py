"""Stabilised truncated SGD as Ma & Zheng released it, for two classes.

``released_reference`` has the program step by step, in plain Python.  Here the weights of
the features that are left are a NumPy array, so that a run on Dexter takes about a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state

from lazynet.reference.stabilised import TIE, rejected_share, steps_of_burst
from paper_repro.studies.released_reference import slope

THETA = 0.5


@dataclass
class Path:
    """One path: the weights of the features that are left, its rows, and its next draw."""

    weights: NDArray[np.float64]
    rows: NDArray[np.int64]
    #: all rows, which follow ``rows`` as often as needed
    permutation: NDArray[np.int64]
    position: int = 1


class ReleasedProgram:
    """A run of the program on rows with the labels -1 and 1; each path has a generator.

    ``model`` holds the parameters, ``left`` the features that were never purged.
    """

    def __init__(
        self,
        model: ReleasedClassifier,
        X: sparse.csr_matrix,
        y: NDArray[np.float64],
        generators: Sequence[np.random.Generator],
    ) -> None:
        n_rows, self.n_features = X.shape
        self.model, self.y = model, y
        self.left = np.unique(X.indices[X.data != 0])
        self.n_occurring, self.n_draws = len(self.left), model.max_iter * n_rows
        self.beta, self.size = model.rejection_rate, model.burst_size
        self.X = X[:, self.left]
        self.X.sum_duplicates()
        self.X.eliminate_zeros()
        self.rejections = np.zeros(len(self.left), dtype=np.int64)
        self.saved: list[NDArray[np.float64]] = []
        self.paths = []
        for generator in generators:
            drawn = [generator.integers(0, n_rows, n_rows) for _ in range(model.max_iter)]
            weights, permutation = np.zeros(len(self.left)), generator.permutation(n_rows)
            self.paths.append(Path(weights, np.concatenate(drawn), permutation))

    @property
    def over(self) -> bool:
        """Whether every path has passed its draws, or no feature is left."""
        return min(path.position for path in self.paths) >= self.n_draws or not len(self.left)

    def bursts(self) -> Iterator[int]:
        """Run to the end; yields the number of a path after each of its bursts."""
        while not self.over:
            for number, path in enumerate(self.paths):
                for _ in range(self.model.bursts_per_stage):
                    self.burst(path)
                    yield number
            if not self.over and not self.purge() and self.saved:
                for path, weights in zip(self.paths, self.saved, strict=True):
                    path.weights = weights.copy()

    def burst(self, path: Path) -> None:
        """Draw until the burst has its updates or no row is left, and truncate."""
        updates = 0
        while updates < self.size and path.position <= len(path.rows):
            updates += self.draw(path)
        path.position += 1  # the program skips a row here
        self.truncate(path)
        if path.position >= self.n_draws - self.size:
            path.rows = np.append(path.rows, path.permutation)

    def draw(self, path: Path) -> bool:
        """Pass one draw; returns whether the row made an update."""
        row, rate = path.rows[path.position - 1], 1.0 / math.sqrt(path.position + 1)
        path.position += 1
        nonzeros = slice(*self.X.indptr[row : row + 2])
        at, x = self.X.indices[nonzeros], self.X.data[nonzeros]
        prediction = float(path.weights[at] @ x)
        g = slope(self.model.loss, prediction, self.y[row]) if len(x) else 0.0
        if not g:
            return False
        path.weights[at] -= rate * g * x
        self.rejections += self._rejected(path.weights)[0]
        return True

    def truncate(self, path: Path) -> None:
        """Truncate the weights by the quantile, and divide them by their norm."""
        rejected, quantile = self._rejected(path.weights)
        w = np.where(rejected, 0.0, path.weights - np.copysign(quantile, path.weights))
        path.weights = w / (np.linalg.norm(w) or 1.0)

    def purge(self) -> bool:
        """Purge the features that were rejected too often; returns whether there were any."""
        model = self.model
        updates = model.bursts_per_stage * len(self.paths) * self.size
        kept = self.rejections / updates < 1.0 - model.stability
        if kept.all():
            return False
        self.left, self.X = self.left[kept], self.X[:, kept]
        self.rejections = np.zeros(len(self.left), dtype=np.int64)
        for path in self.paths:
            path.weights = path.weights[kept]
        self.saved = [path.weights.copy() for path in self.paths]
        if n_left := len(self.left):
            share = n_left / self.n_occurring
            self.beta = rejected_share(share, model.rejection_rate, model.annealing)
            self.size = steps_of_burst(model.burst_size, self.n_occurring, n_left, THETA)
        return True

    def weights(self) -> NDArray[np.float64]:
        """The weights of all features, one row per path."""
        weights = np.zeros((len(self.paths), self.n_features))
        weights[:, self.left] = [path.weights for path in self.paths]
        return weights

    def _rejected(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.bool_], float]:
        """Which weights are not larger than the quantile of their sizes, and the quantile."""
        sizes, place = np.abs(weights), (len(weights) - 1) * self.beta
        below = int(place)
        above = min(below + 1, len(weights) - 1)
        # What np.quantile does, without its overhead.
        ordered = np.partition(sizes, (below, above))
        quantile = ordered[below] + (place - below) * (ordered[above] - ordered[below])
        return sizes <= quantile * (1.0 + TIE), quantile


class ReleasedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The program as an estimator: ``coef_`` is the mean of ``coef_of_paths_``.

    The defaults are the parameters of the authors' example.
    """

    def __init__(
        self,
        loss: str = "hinge",
        *,
        n_paths: int = 4,
        max_iter: int = 20,
        burst_size: int = 20,
        bursts_per_stage: int = 5,
        rejection_rate: float = 0.8,
        annealing: float = -9.0,
        stability: float = 0.85,
        random_state: int | None = None,
    ) -> None:
        self.loss, self.n_paths, self.max_iter = loss, n_paths, max_iter
        self.burst_size, self.bursts_per_stage = burst_size, bursts_per_stage
        self.rejection_rate, self.annealing = rejection_rate, annealing
        self.stability, self.random_state = stability, random_state

    def generators(self) -> list[np.random.Generator]:
        """The generator of each path."""
        seed = np.random.SeedSequence(int(check_random_state(self.random_state).randint(2**31)))
        return [np.random.default_rng(each) for each in seed.spawn(self.n_paths)]

    def fit(self, X: sparse.csr_matrix, y: NDArray[np.float64]) -> Self:
        """Run the program."""
        self.classes_, numbers = np.unique(y, return_inverse=True)
        program = ReleasedProgram(self, X, np.where(numbers, 1.0, -1.0), self.generators())
        for _ in program.bursts():
            pass
        self.coef_of_paths_ = program.weights()
        self.coef_ = self.coef_of_paths_.mean(axis=0, keepdims=True)
        return self

    def predict(self, X: sparse.csr_matrix) -> NDArray[np.float64]:
        """The label on whose side of 0 the prediction is."""
        predicted: NDArray[np.float64] = self.classes_[(X @ self.coef_[0] > 0).astype(int)]
        return predicted
