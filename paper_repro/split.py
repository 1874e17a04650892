"""The corpus in two parts: rows to learn from, and rows to test on; and a judgement of models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from lazynet.penalties import ElasticNet
from paper_repro.documents import Corpus, from_settings
from paper_repro.study import Settings

#: One row in five is kept for testing.
TEST_SHARE = 5
#: Objective and error of one model after another.
Curve = list[dict[str, float]]


@dataclass(frozen=True)
class Split:
    """Rows of length 1, to learn from and to test on."""

    X: sparse.csr_matrix
    y: NDArray[np.float64]
    X_test: sparse.csr_matrix
    y_test: NDArray[np.float64]

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    def order(self, epoch: int, seed: int) -> NDArray[np.int64]:
        """The order of the rows in a pass, the same for all learners."""
        return np.random.default_rng([seed, epoch]).permutation(self.n)

    def judge(self, models: list[Any], penalty: ElasticNet, *, last: bool = False) -> Curve:
        """Objective on the training rows and share of test rows misjudged, of every model.

        ``last`` judges the last iterate in place of the average.
        """
        curve = []
        for model in models:
            weights = (model.last_coef_ if last else model.coef_).ravel()
            [intercept] = model.last_intercept_ if last else model.intercept_
            margins = self.y * (self.X @ weights + intercept)
            loss = float(np.logaddexp(0.0, -margins).mean())
            wrong = self.y_test * (self.X_test @ weights + intercept) <= 0
            curve.append({"objective": loss + penalty.value(weights), "error": float(wrong.mean())})
        return curve


@lru_cache(maxsize=1)
def split(settings: Settings) -> Split:
    """Four fifths of the rows to learn from and one fifth to test on, drawn by the seed."""
    corpus: Corpus = from_settings(settings)
    X = normalize(corpus.X)
    order = np.random.default_rng(settings.seed).permutation(X.shape[0])
    held_back = max(1, len(order) // TEST_SHARE)
    test, train = np.sort(order[:held_back]), np.sort(order[held_back:])
    return Split(X[train], corpus.y[train], X[test], corpus.y[test])
