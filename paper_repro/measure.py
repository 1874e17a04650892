"""Side-by-side timing on machines that are shared and noisy.

Competitors take turns within each repeat, so that a slow moment meets all of them; ratios are taken
within a repeat, and what is reported of them is the median and the range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def turns(names: Sequence[T], repeat: int) -> list[T]:
    """The order of a round: nobody always runs behind the same neighbour."""
    first = repeat % len(names)
    return [*names[first:], *names[:first]]


def in_turns(
    competitors: Mapping[str, Callable[[], float]],
    repeats: int,
    on_turn: Callable[[], object] | None = None,
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
            if on_turn is not None:
                on_turn()
    return seconds
