"""What a choice by folds has found so far: the paths that are walked, and the last minima."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.minimise import Minimum
from lazynet.models.checkpoints import Saved
from lazynet.models.values import Writer


class Walked(NamedTuple):
    """What a task has found: a row for every problem, a column for every point."""

    losses: NDArray[np.float64]
    nonzeros: NDArray[np.int64]
    #: those that did not converge, without their weights
    late: list[Minimum]
    #: by point, if there is a scorer
    scores: NDArray[np.float64] | None


class Walks:
    """The tasks that are done, and the problems whose last minimum is found, with its epochs."""

    def __init__(self) -> None:
        self.walked: dict[int, Walked] = {}
        self.finished: dict[int, tuple[Minimum, int]] = {}

    def written(self, writer: Writer) -> dict[str, Any]:
        """The JSON of all this; other threads may note more meanwhile."""
        found: dict[str, Any] = {}
        for number, (losses, nonzeros, late, scores) in list(self.walked.items()):
            minima = [dict(vars(minimum)) for minimum in late]
            found[f"path {number}"] = [losses, nonzeros, minima, scores]
        for number, (minimum, epochs) in list(self.finished.items()):
            found[f"minimum {number}"] = [dict(vars(minimum)), epochs]
        return {name: writer.value(f"walks/{name}", value) for name, value in found.items()}

    def go_on_from(self, saved: Saved | None, n_tasks: int, n_problems: int) -> None:
        """Take over what was found when the file was written."""
        if saved is None:
            return
        try:
            for number in range(n_tasks):
                if saved.has(f"path {number}"):
                    kept = saved.value(f"path {number}", _is_path)
                    late = [Minimum(**minimum) for minimum in kept[2]]
                    self.walked[number] = Walked(kept[0], kept[1], late, kept[3])
            for number in range(n_problems):
                if saved.has(f"minimum {number}"):
                    kept = saved.value(f"minimum {number}", _is_minimum)
                    self.finished[number] = Minimum(**kept[0]), kept[1]
        except TypeError as error:
            raise saved.refusal(error) from None


def _is_path(found: Any) -> bool:
    if type(found) is not list or len(found) != 4:
        return False
    losses, nonzeros, late, scores = found
    arrays = [losses, nonzeros] if scores is None else [losses, nonzeros, scores]
    return (
        all(type(array) is np.ndarray for array in arrays)
        and losses.shape == nonzeros.shape
        and losses.ndim == 2
        and (scores is None or scores.shape == losses.shape[1:])
        and type(late) is list
        and all(type(each) is dict for each in late)
    )


def _is_minimum(found: Any) -> bool:
    return type(found) is list and [*map(type, found)] == [dict, int]
