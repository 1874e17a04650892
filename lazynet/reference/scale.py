"""The scale of rates that follow the data: the mean size of the rows seen so far."""

from __future__ import annotations

#: Means beyond these count as these: their inverses and squares are finite.
LEAST, LARGEST = 2.0**-300, 2.0**300


class Scale:
    """The mean size of the rows, refreshed before the steps 0, 1, 2, 4, 8, ... and before the first
    row whose size is not 0; ``unit`` is 1 until then.

    A mean that has changed by at most the share ``tolerance`` of itself keeps its former value.

    >>> scale = Scale()
    >>> [(scale.count(size), scale.unit)[1] for size in (0.0, 4.0, 8.0, 100.0, 3.0)]
    [1.0, 2.0, 4.0, 4.0, 23.0]
    """

    def __init__(self, tolerance: float = 0.0) -> None:
        self.rows, self.sizes, self.mean = 0, 0.0, 0.0
        self.tolerance = tolerance

    @property
    def unit(self) -> float:
        """The mean as of the last refresh."""
        return self.mean or 1.0

    def count(self, size: float) -> None:
        """Count a row before its step."""
        is_due = self.rows & (self.rows - 1) == 0 or not self.mean
        self.rows += 1
        self.sizes += size
        if is_due and self.sizes:
            mean = min(max(self.sizes / self.rows, LEAST), LARGEST)
            if abs(mean - self.mean) > self.tolerance * self.mean:
                self.mean = mean
