"""Side-by-side timing on machines that are shared and noisy.

Competitors take turns within each repeat, so that a slow moment meets all of them; ratios are taken
within a repeat, and what is reported of them is the median and the range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Timed(Protocol):
    """What can be timed: a learner that visits its first ``rows`` rows from a fresh beginning."""

    labels: list[float]

    def seconds(self, rows: int) -> float: ...


class Turn:
    """Lets a competitor visit its rows over and over for about so many seconds."""

    def __init__(self, competitor: Timed, seconds: float, examples: int = 0) -> None:
        self.competitor, self.seconds, self.examples = competitor, seconds, examples

    def __call__(self) -> float:
        """Seconds per example; the first call finds out how many examples make a turn."""
        if not self.examples:
            self.examples = self._examples_of_a_turn()
        return self._visit(self.examples) / self.examples

    def _examples_of_a_turn(self) -> int:
        examples = 1
        while (took := self._visit(examples)) < self.seconds / 4:
            examples = self._whole_passes(4 * examples)
        return self._whole_passes(max(1, round(examples * self.seconds / took)))

    def _whole_passes(self, examples: int) -> int:
        rows = len(self.competitor.labels)
        return examples if examples < rows else examples // rows * rows

    def _visit(self, examples: int) -> float:
        rows = min(examples, len(self.competitor.labels))
        return sum(self.competitor.seconds(rows) for _ in range(examples // rows))


def turns(names: Sequence[T], repeat: int) -> list[T]:
    """The order of a round: nobody always runs behind the same neighbour."""
    first = repeat % len(names)
    return [*names[first:], *names[:first]]


def in_turns(
    competitors: Mapping[str, Callable[[], float]], repeats: int
) -> dict[str, list[float]]:
    """Seconds of each competitor in each repeat, after one round that does not count.

    A competitor times itself and returns seconds, so that its preparation does not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in competitors}
    for repeat in range(repeats + 1):
        for name in turns(list(competitors), repeat):
            took = competitors[name]()
            if repeat > 0:
                seconds[name].append(took)
    return seconds
