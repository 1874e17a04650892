"""A curve as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def curve(numbers: Sequence[float], *, width: int = 60, height: int = 8) -> list[str]:
    """A curve over 1, 2, 3, ..., with its least and its greatest number beside it.

    >>> for line in curve([4.0, 2.0, 1.0, 1.0], height=4):
    ...     print(line)
    4 | *
      |
      |   *
    1 |     * *
    """
    given = np.asarray(numbers, dtype=float)
    n = len(given)
    step = 2 if 2 * n <= width else 1
    if not n:
        return []
    columns = min(n, width)
    # More numbers than columns: each column has the mean of its share.
    shares = np.array_split(given, columns)
    with np.errstate(invalid="ignore"):
        means = np.array([share.mean() for share in shares])
    known = np.isfinite(means)
    if not known.any():
        return []
    least, greatest = means[known].min(), means[known].max()
    spread = greatest - least
    tall = height if spread > 0 else 1
    cells = [[" "] * (step * columns) for _ in range(tall)]
    for column in np.flatnonzero(known):
        place = (greatest - means[column]) / spread if spread > 0 else 0.0
        cells[round(place * (tall - 1))][step * column + step - 1] = "*"
    marks = [""] * tall
    marks[0] = f"{greatest:.4g}"
    marks[-1] = f"{least:.4g}"
    wide = max(map(len, marks))
    return [
        f"{mark:>{wide}} |{''.join(row)}".rstrip() for mark, row in zip(marks, cells, strict=True)
    ]
