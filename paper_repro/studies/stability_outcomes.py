"""What the study ``stability`` has measured, by loss and method, and the verdict on the claims."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_repro.studies.stability import AGAIN, LOSSES, SHARES
from paper_repro.studies.tuning import METHODS, SGD, STABILISED, TUNED
from paper_repro.study import Measured, Record


class Outcome:
    """The runs of one method with one loss."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.errors = np.array(record["errors"])
        self.nonzeros = np.array(record["nonzeros"])
        self.kappa: float = record["kappa"]

    @property
    def error(self) -> float:
        return float(self.errors.mean())

    @property
    def sparsity(self) -> float:
        return float(self.nonzeros.mean())

    @property
    def again(self) -> int:
        """Features that nearly all runs choose."""
        return int(self.record["chosen in"][SHARES.index(AGAIN)])

    @property
    def keeps_features(self) -> bool:
        """Whether every run keeps a feature: a model without features gets no verdict."""
        return bool((self.nonzeros > 0).all())

    @property
    def row_errors(self) -> NDArray[np.float64]:
        """Per test row the share of the runs that misjudge it."""
        return np.array(self.record["wrong"]) / len(self.errors)

    def over_rows(self) -> float:
        """The standard error of the mean error over other test rows."""
        return standard_error(self.row_errors)

    def difference(self, other: Outcome) -> float:
        """The standard error of the difference of two errors, over orders and over test rows.

        Both methods are judged on the same rows, so that the rows' differences count.
        """
        spread = math.hypot(standard_error(self.errors), standard_error(other.errors))
        return math.hypot(spread, standard_error(self.row_errors - other.row_errors))

    def no_worse_than(self, other: Outcome) -> bool:
        """Error not above the other's by more than two standard errors of their difference."""
        return self.error <= other.error + 2.0 * self.difference(other) + 1e-12


class Selections(Measured):
    """Outcomes by loss and method, and the times of a step by number of features."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document)
        self.rows = self.records["rows"]
        #: the methods that took part: the released program only on small data
        self.methods = [name for name in METHODS if f"runs/hinge/{name}" in self.records]
        self.tuned = [name for name in TUNED if name in self.methods]
        self.stabilised = [name for name in STABILISED if name in self.methods]
        self.planted = "mattering" in self.rows

    def outcome(self, loss: str, name: str) -> Outcome:
        return Outcome(self.records[f"runs/{loss}/{name}"])

    def updates(self, loss: str, name: str) -> list[int]:
        return list(self.records[f"updates/{loss}/{name}"]["nonzeros"])

    def sweep(self, loss: str, name: str) -> Record:
        """The values of pi0 and gamma that were tried."""
        return dict(self.records[f"sweep/{loss}/{name}"])

    @property
    def settings_of_a_parameter(self) -> int:
        """How many settings each parameter of a method got."""
        record = self.tuning(next(iter(LOSSES)), SGD)
        return len(record["trials"]) // (record["widenings"] + 1) // len(record["ranges"])

    @property
    def tried_without_truncation(self) -> bool:
        """Whether tuning tried the special case of stabilised SGD that never truncates."""
        return all(
            any(trial["parameters"]["rejection_rate"] == 0 for trial in tuning["trials"])
            for loss, name in product(LOSSES, self.stabilised)
            for tuning in [self.tuning(loss, name)]
        )

    def tuning(self, loss: str, name: str) -> Record:
        return dict(self.records[f"tuning/{loss}/{name}"])


def standard_error(values: NDArray[Any]) -> float:
    return deviation(values) / math.sqrt(len(values))


def deviation(values: NDArray[Any]) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


# --- the verdict -----------------------------------------------------------------------------


SPARSER, STABLER, AS_GOOD = "fewer nonzeros", "higher kappa", "no worse error"


def verdict(stabilised: Outcome, rival: Outcome) -> dict[str, bool] | None:
    """The three parts of the paper's claim; None if a run of either keeps no feature."""
    if not (stabilised.keeps_features and rival.keeps_features):
        return None
    return {
        SPARSER: stabilised.sparsity < rival.sparsity,
        STABLER: stabilised.kappa > rival.kappa,
        AS_GOOD: stabilised.no_worse_than(rival),
    }


def is_insensitive(errors: Sequence[float], n_test: int) -> bool:
    """Whether errors differ by at most two standard errors of a share of so many test rows.

    >>> is_insensitive([0.10, 0.11], 300), is_insensitive([0.10, 0.20], 300)
    (True, False)
    """
    least = min(errors)
    return max(errors) - least <= 2.0 * math.sqrt(least * (1.0 - least) / n_test)


def signs_with_the_least_error(points: Sequence[Record], n_test: int) -> list[str]:
    """The signs of the values whose errors are the least, as far as so many test rows can tell.

    An error counts as the least one if ``is_insensitive`` cannot tell the two apart.

    >>> points = [{"value": -1.0, "error": 0.1404}, {"value": 1.0, "error": 0.1408}]
    >>> signs_with_the_least_error(points, 500)
    ['negative', 'positive']
    >>> signs_with_the_least_error([{"value": -1.0, "error": 0.05}, *points], 500)
    ['negative']
    """
    least = min(point["error"] for point in points)
    names = {-1: "negative", 0: "zero", 1: "positive"}
    return list(
        dict.fromkeys(
            names[int(np.sign(point["value"]))]
            for point in points
            if is_insensitive([least, point["error"]], n_test)
        )
    )
