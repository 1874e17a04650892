"""Rows for feature selection: a few features decide the label, half of them rare; most do not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from paper_repro.documents import Corpus, from_svmlight
from paper_repro.rows import Rows, divided, with_test_file
from paper_repro.study import Settings

#: Rows and features of the planted problem in a short run, how many times as many of both there are
#: in a full run, nonzeros per row, and the features that decide, frequent and rare ones each.
ROWS, FEATURES, LARGER, NONZEROS, MATTERING = 2_000, 2_500, 10, 40, 20
#: The frequent features that decide are among so many most frequent ones.
COMMON_AMONG = 50
#: The rare features that decide occur in a share of the rows between these two; their weights are
#: larger by the factor RARE_WEIGHT.
RARE_SHARES, RARE_WEIGHT = (0.004, 0.02), 3.0
#: The standard deviation of the noise in a label's margin.
NOISE = 0.5
#: The share of the rows to test on where no test file is given.
TEST_SHARE = 0.3


def planted(rows: int, features: int, seed: int) -> tuple[Corpus, NDArray[np.intp]]:
    """Binary rows whose features are as frequent as words, and which of them decide the labels.

    ``MATTERING`` frequent features weigh 1 or -1, as many rare ones ``RARE_WEIGHT`` times that.
    """
    generator = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, features + 1) ** 0.9
    # No feature is in more than three of ten rows; the other features become more frequent instead.
    frequency = np.minimum(0.3, 8.0 * frequency)
    frequency *= NONZEROS / frequency.sum()
    columns = [np.flatnonzero(generator.random(rows) < share) for share in frequency]
    X = sparse.csc_matrix(
        (
            np.ones(sum(map(len, columns))),
            np.concatenate(columns),
            np.cumsum([0, *map(len, columns)]),
        ),
        shape=(rows, features),
    ).tocsr()
    counts = np.array([len(rows_of) for rows_of in columns])
    rare = np.flatnonzero((counts > RARE_SHARES[0] * rows) & (counts < RARE_SHARES[1] * rows))
    mattering = np.concatenate(
        [
            generator.choice(COMMON_AMONG, MATTERING, replace=False),
            generator.choice(rare, MATTERING, replace=False),
        ]
    )
    weights = np.zeros(features)
    weights[mattering] = generator.choice([-1.0, 1.0], 2 * MATTERING)
    weights[mattering[MATTERING:]] *= RARE_WEIGHT
    margins = X @ weights + NOISE * generator.standard_normal(rows)
    y = np.where(margins > np.median(margins), 1.0, -1.0)
    origin = (
        f"planted from seed {seed}: {MATTERING} of the {COMMON_AMONG} most frequent features and "
        f"{MATTERING} rare ones decide the label"
    )
    return Corpus(X, y, origin), np.sort(mattering)


def rows_of(settings: Settings) -> Rows:
    """The rows of the files in the settings, or of the planted problem.

    Without a test file a share of the rows is split off to test on.
    """
    mattering = None
    if settings.data is None:
        size = LARGER if settings.full else 1
        corpus, mattering = planted(size * ROWS, size * FEATURES, settings.seed)
    else:
        corpus = from_svmlight(settings.data, settings.label)
    if settings.test is None:
        return divided(corpus, TEST_SHARE, settings.seed, mattering)
    return with_test_file(corpus, settings.test)
