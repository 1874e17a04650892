"""Side-by-side timing on machines that are shared and noisy.

Competitors take turns within each repeat, so that a slow moment meets all of them; ratios are taken
within a repeat, and what is reported of them is the median and the range.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True)
class Spread:
    """A median and the range around it."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.least:.3g} - {self.most:.3g})"


def in_turns(
    competitors: Mapping[str, Callable[[], float]], repeats: int
) -> dict[str, list[float]]:
    """Seconds of each competitor in each repeat, after one round that does not count.

    A competitor times itself and returns seconds, so that its preparation does not count.
    """
    names = list(competitors)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for repeat in range(repeats + 1):
        # Nobody always runs behind the same neighbour.
        turn = names[repeat % len(names) :] + names[: repeat % len(names)]
        for name in turn:
            _status(f"round {repeat} of {repeats}: {name}")
            took = competitors[name]()
            if repeat > 0:
                seconds[name].append(took)
    _status("")
    return seconds


def ratio(seconds: Mapping[str, list[float]], slow: str, fast: str) -> Spread:
    """How many times longer ``slow`` takes than ``fast``, repeat by repeat."""
    return Spread.of([a / b for a, b in zip(seconds[slow], seconds[fast], strict=True)])


def machine() -> str:
    """What the figures were measured on."""
    packages = []
    for name in ("numpy", "scipy", "scikit-learn", "lazynet-linear"):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"{name} (not installed)")
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}; "
        f"Python {platform.python_version()}, {', '.join(packages)}"
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _status(text: str) -> None:
    """A line that replaces itself where somebody is watching, and nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
