from typing import Any

import numpy as np
from numpy.typing import NDArray

GREATEST_COUNT: int
EXPECTED: dict[int, str]

def murmur(text: bytes, seed: int) -> int: ...

class Parser:
    n_rows: int
    line: int
    least_column: int
    greatest_column: int
    greatest_label: int
    def __init__(
        self,
        *,
        vowpal: bool = False,
        several: bool = False,
        base: int = 0,
        n_columns: int = ...,
        n_labels: int = ...,
        bits: int = 18,
    ) -> None: ...
    def begin(self, name: object) -> None: ...
    def parse(self, text: bytes, start: int, last: bool, most_rows: int) -> int: ...
    def take(
        self,
    ) -> tuple[
        NDArray[np.int64], NDArray[Any], NDArray[np.float64], Any, NDArray[np.float64] | None
    ]: ...
