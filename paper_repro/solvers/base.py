"""What the programs of a race to the minimum have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from paper_repro.minima import Task


@dataclass(frozen=True)
class Answer:
    """The weights that a program found, and its own upper bound on what is left, if it has one."""

    coef: NDArray[np.float64]
    gap: float | None = None
    #: The processor's seconds of the fit alone, where reading the weights takes long.
    seconds: float | None = None


@dataclass(frozen=True)
class Solver:
    """A program, what it solves exactly, and its dial.

    ``dials`` are its tolerances, or its passes over the rows, from the quickest to the most exact;
    ``fit`` starts from zero weights.
    """

    name: str
    #: The module without which the program cannot run.
    module: str
    solves: Callable[[Task], bool]
    fit: Callable[[Task, float], Answer]
    dials: Sequence[float]
    #: What the dial is, in words.
    dial: str = "tolerance"
    #: Whether the rows are handed over by columns; turning them around is not timed.
    by_columns: bool = False

    @property
    def missing(self) -> str | None:
        """Why the program cannot run here, or None."""
        return None if find_spec(self.module) else f"{self.module} is not installed"

    def prepare(self, task: Task) -> None:
        """Whatever is not timed: turn the rows around."""
        if self.by_columns:
            _ = task.by_columns


def tolerances(most: float, least: float) -> tuple[float, ...]:
    """Tolerances from ``most`` to ``least``, two in every power of ten.

    >>> tolerances(1e-1, 1e-2)
    (0.1, 0.0316, 0.01)
    """
    count = round(2 * np.log10(most / least)) + 1
    return tuple(float(f"{most * 10 ** (-k / 2):.3g}") for k in range(count))
