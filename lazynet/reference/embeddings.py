"""The penalty of an embedding: one step for every row of the table.

``rows`` are lists of weights, and ``padding`` the numbers of rows without a penalty.

>>> rows = [[3.0, -4.0], [0.5, 0.25]]
>>> proximal(rows, rate=0.5, l1=1.0, l2=2.0), proximal(rows, 0.5, l1=1.0, l2=0.0, group=True)[0]
([[1.25, -1.75], [0.0, 0.0]], [2.7, -3.6])
>>> weight_decay(rows, rate=0.5, l2=1.0, padding={0})
[[3.0, -4.0], [0.25, 0.125]]
"""

from __future__ import annotations

import math
from collections.abc import Collection

Row = list[float]


def proximal(
    rows: list[Row],
    rate: float,
    l1: float,
    l2: float,
    *,
    group: bool = False,
    padding: Collection[int] = (),
) -> list[Row]:
    """|w| <- [|w| - rate l1]+ / (1 + rate l2), for each weight, or for the norm of each row."""
    return [
        row if k in padding else _shrunk(row, rate, l1, l2, group) for k, row in enumerate(rows)
    ]


def weight_decay(
    rows: list[Row], rate: float, l2: float, *, padding: Collection[int] = ()
) -> list[Row]:
    """w <- (1 - rate l2) w, as in AdamW, before the step of the optimizer."""
    return [
        row if k in padding else [(1 - rate * l2) * w for w in row] for k, row in enumerate(rows)
    ]


def _shrunk(row: Row, rate: float, l1: float, l2: float, group: bool) -> Row:
    norm = math.hypot(*row)
    sizes = [norm if group else abs(w) for w in row]
    return [
        w * max(size - rate * l1, 0.0) / (1 + rate * l2) / size if size else 0.0
        for w, size in zip(row, sizes, strict=True)
    ]
