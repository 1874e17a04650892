from typing import Any

import numpy as np
from numpy.typing import NDArray

DEFECT_REPEATED: int
DEFECT_NOT_FINITE: int
DEFECTS: dict[int, str]
MEASURED: dict[str, int]
STATUS_FINISHED: int
STATUS_WORN_OUT: int
STATUS_OVERFLOWED: int
STATUS_BAD_ROW: int
STATUS_PAUSED: int
STATUS_OUT_OF_MEMORY: int
STATUS_OUT_OF_RANGE: int

class Examples:
    def __init__(
        self,
        values: NDArray[Any],
        columns: NDArray[Any],
        starts: NDArray[Any],
        n_columns: int,
        targets: NDArray[np.float64] | None = None,
        importances: NDArray[np.float64] | None = None,
        sizes: NDArray[np.float64] | str | None = None,
    ) -> None: ...
    def at_level(self, level: int) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def n_values(self) -> int: ...
    def first_defect(self, only_range: bool = False) -> tuple[int, int] | None: ...
    def largest_squared_norm(self, extra: float = 0.0) -> float: ...
    def column_sums(self) -> NDArray[np.float64]: ...
    def squared_norms(self) -> NDArray[np.float64]: ...
    def absolute_sums(self) -> NDArray[np.float64]: ...
    def length_of(self, row: int) -> int: ...
    def defect_of(self, row: int) -> int: ...

class Visited: ...

class Steps(Visited):
    def __init__(
        self,
        order: NDArray[np.int64],
        rates: NDArray[np.float64],
        keep: NDArray[np.float64],
        keep_low: NDArray[np.float64],
        pull: NDArray[np.float64],
        counts: NDArray[np.float64] | None = None,
        predictions: NDArray[np.float64] | None = None,
    ) -> None: ...
    def with_predictions(self, predictions: NDArray[np.float64] | None) -> Steps: ...
    def __len__(self) -> int: ...
    def row(self, step: int) -> int: ...

class Task:
    def __init__(
        self,
        loss: int,
        epsilon: float,
        shrink_first: bool,
        fit_intercept: bool,
        smallest_scale: float,
        cushion: float,
        largest_cushion: float,
        enough_work: float,
        soft_reach: float,
        hard_reach: float,
        pulls: bool = True,
        positive: bool = False,
        tuning: tuple[float, ...] | None = None,
    ) -> None: ...
