"""The bounds of the study ``untouched``: what was measured, whether it holds, and who misses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import geometric_mean

from benchmarks.untouched import (
    MEAN_TIME,
    MOST_GRID,
    MOST_TIME,
    NEAR_BEST,
    NEAR_GRID,
    SHARE_NEAR_GRID,
    Untouched,
    in_words,
)
from paper_repro.score import significant


@dataclass(frozen=True)
class Line:
    """A bound on the ratios of all sets, or of all cells, and how they are summed up.

    Ratios above ``each`` are misses, and are named.
    """

    label: str
    bound: float
    each: float
    values: Callable[[Untouched], Mapping[str, float]] = field(repr=False)
    summary: Callable[[Sequence[float]], float] = field(repr=False)
    at_most: bool = True
    share: bool = False

    @property
    def expected(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self._told(self.bound)}"

    def measured(self, found: Untouched) -> float:
        return self.summary(list(self.values(found).values()))

    def told(self, found: Untouched) -> str:
        return self._told(self.measured(found))

    def _told(self, value: float) -> str:
        return f"{value:.0%}" if self.share else significant(value)

    def verdict(self, found: Untouched) -> str:
        measured = self.measured(found)
        holds = measured <= self.bound if self.at_most else measured >= self.bound
        return "holds" if holds else "MISSED"

    def misses(self, found: Untouched) -> dict[str, float]:
        """The ratios above what is asked of each, the greatest first."""
        above = [(name, value) for name, value in self.values(found).items() if value > self.each]
        return dict(sorted(above, key=lambda pair: -pair[1]))


def _losses(found: Untouched) -> dict[str, float]:
    return {str(each): found.loss_ratio(each) for each in found.sets}


def _grid(found: Untouched) -> dict[str, float]:
    return {
        f"{each} ({in_words(passes)})": ratio
        for (each, passes), ratio in found.grid_cells().items()
    }


def _times(found: Untouched) -> dict[str, float]:
    return {str(each): found.time_ratio(each) for each in found.sets}


def _share_near_grid(ratios: Sequence[float]) -> float:
    return sum(ratio <= NEAR_GRID for ratio in ratios) / len(ratios)


BEST = Line(
    "test loss / that of the best untouched competitor, at the default: greatest",
    NEAR_BEST,
    NEAR_BEST,
    _losses,
    max,
)
NEAR = Line(
    f"cells whose test loss is within {NEAR_GRID - 1:.0%} of the tuned grid's",
    SHARE_NEAR_GRID,
    NEAR_GRID,
    _grid,
    _share_near_grid,
    at_most=False,
    share=True,
)
WORST = Line("test loss / that of the tuned grid: greatest", MOST_GRID, MOST_GRID, _grid, max)
SLOWEST = Line(
    "seconds / those of SGD, at the default: greatest", MOST_TIME, MOST_TIME, _times, max
)
MEAN = Line(
    "seconds / those of SGD, at the default: geometric mean",
    MEAN_TIME,
    MOST_TIME,
    _times,
    geometric_mean,
)
LINES = (BEST, NEAR, WORST, SLOWEST, MEAN)
