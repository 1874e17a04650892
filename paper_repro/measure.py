"""Side-by-side timing on machines that are shared and noisy.

Competitors take turns within each repeat, so that a slow moment of the machine slows all of them.
Ratios are taken within a repeat; pages give the median and the range of the ratios.  A turn is
measured in processor time, so that the time for which other programs had the processor does not
count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Timed(Protocol):
    """A learner that can be timed: it visits its rows piece by piece."""

    n_rows: int

    def begin(self) -> None: ...
    def learn(self, start: int, stop: int) -> None: ...


class Turn:
    """A call lets a learner visit its rows, again and again, for about ``seconds`` seconds.

    The learner begins once.  If it began again in every turn, the interpreter's objects would be
    scattered over more of the memory, and dense updates would be slower with every turn.
    """

    def __init__(self, learner: Timed, seconds: float) -> None:
        self.learner, self.seconds = learner, seconds
        self.examples = 0
        self.position: int | None = None

    def __call__(self) -> float:
        """Processor seconds per example; the first call determines the examples of a turn."""
        if self.position is None:
            self.learner.begin()
            self.position = 0
        if not self.examples:
            self.examples = self._examples_of_a_turn()
        return self._go_on(self.examples) / self.examples

    def _examples_of_a_turn(self) -> int:
        examples = 1
        while (took := self._go_on(examples)) < self.seconds / 4:
            examples *= 4
        return max(1, round(examples * self.seconds / took))

    def _go_on(self, examples: int) -> float:
        """Processor seconds that the next ``examples`` examples take."""
        took, position, left = 0.0, self.position or 0, examples
        while left:
            stop = min(position + left, self.learner.n_rows)
            began = time.process_time()
            self.learner.learn(position, stop)
            took += time.process_time() - began
            left -= stop - position
            position = stop % self.learner.n_rows
        self.position = position
        return took


def turns(names: Sequence[T], repeat: int) -> list[T]:
    """The order of a round; another competitor begins in the next round."""
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
