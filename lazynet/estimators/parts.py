"""What a fit keeps of the outputs that are done, where they learn one part after the other."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lazynet.engines.learned import Gathering
from lazynet.models.checkpoints import Saved
from lazynet.models.values import Writer
from lazynet.training import Run, added_up

# The warnings that a part may give, by name.
_WARNINGS: dict[str, type[Warning]] = {
    kind.__name__: kind for kind in (ConvergenceWarning, UserWarning)
}


class PartsDone:
    """The weights, the runs and the warnings of the parts that are done."""

    def __init__(self, gathering: Gathering, generator: np.random.RandomState | None) -> None:
        self.gathering = gathering
        self.runs: list[Run] = []
        self.warnings: list[Warning] = []
        #: the generator of the part that took most epochs
        self.farthest = generator

    @property
    def n_outputs(self) -> int:
        """The number of outputs that are done."""
        return self.gathering.n_taken

    def take(
        self, run: Run, warnings: list[Warning], generator: np.random.RandomState | None
    ) -> None:
        """Note a part whose weights have been gathered."""
        if not self.runs or len(run.history) > max(len(other.history) for other in self.runs):
            self.farthest = generator
        self.runs.append(run)
        self.warnings += warnings

    def whole(self) -> Run:
        """What all parts have come to."""
        return Run(
            max(run.t for run in self.runs),
            added_up(self.runs),
            max(run.best_epoch for run in self.runs),
            all(run.ended_early for run in self.runs),
        )

    # --- in a file ---

    def written(self, writer: Writer) -> dict[str, Any]:
        """The JSON of the parts that are done."""
        warnings = [[type(each).__name__, str(each)] for each in self.warnings[:1]]
        values = {
            "gathered": self.gathering.kept(),
            "runs": [[run.t, run.history, run.best_epoch, run.ended_early] for run in self.runs],
            "warnings": warnings,
            "generator": copy.deepcopy(self.farthest) if self.runs else None,
        }
        return {name: writer.value(f"parts/{name}", value) for name, value in values.items()}

    def go_on_from(self, saved: Saved | None, n_outputs: int) -> None:
        """Take over the parts that were done when the file was written."""
        if saved is None:
            return
        runs = saved.value("runs", _are_runs)
        self.runs = [Run(*run) for run in runs]
        gathered = saved.value("gathered", lambda found: type(found) is dict)
        try:
            self.gathering.keep(gathered)
        except (TypeError, KeyError, ValueError) as error:
            raise saved.refusal(error) from None
        if self.n_outputs >= n_outputs or bool(self.n_outputs) != bool(self.runs):
            raise saved.refusal("it has other outputs than this fit")
        warnings = saved.value("warnings", _are_warnings)
        for name, text in warnings:
            self.warnings.append(_WARNINGS[name](text))
        generator = saved.value("generator", lambda found: _is_generator(found, self.farthest))
        self.farthest = generator if self.runs else self.farthest


def _are_runs(found: Any) -> bool:
    return type(found) is list and all(
        type(run) is list and [*map(type, run)] == [int, list, int, bool] and run[1]
        for run in found
    )


def _is_generator(found: Any, wanted: Any) -> bool:
    return found is None or type(found) is type(wanted)


def _are_warnings(found: Any) -> bool:
    return type(found) is list and all(
        type(each) is list and [*map(type, each)] == [str, str] and each[0] in _WARNINGS
        for each in found
    )
