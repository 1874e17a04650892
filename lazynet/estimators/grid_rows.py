"""The rows that the settings of a grid learn from, and what a fit of the grid asks of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.choice import Fold, folds_of
from lazynet.data import sizes_of
from lazynet.engines.base import Engine
from lazynet.estimators.doubts import Rate, stalled, unfinished
from lazynet.estimators.grid_course import Search
from lazynet.estimators.planned import shape_to_learn
from lazynet.grids import GridMatrices, GridTraining, Setting
from lazynet.importances import total_of
from lazynet.learners import AnyLearner, new_learners, run_pass
from lazynet.plan import Plan
from lazynet.problems import Problems
from lazynet.stalls import NOTHING_LEARNED, look_closely, loss_of_constants, still_falls
from lazynet.threads import Workers
from lazynet.units import Units
from lazynet.validation import split

Order = NDArray[np.int64] | None
#: Lets learners visit the rows once: the order, the epoch, where to add the losses of the
#: predictions before the updates, threads, how many rows have been visited, and who hears of more.
Visit = Callable[
    [Order, int, NDArray[np.float64] | None, Workers, int, Callable[[int], None]], object
]


class GridRows(Protocol):
    """The rows, wherever they are."""

    n_rows: int

    def find_folds(self, p: SimpleNamespace, generator: np.random.RandomState | None) -> None:
        """Find the folds; ``generator`` draws a held-out share where there are none."""
        ...

    def told(self) -> dict[str, Any]:
        """What identifies the rows and their folds."""
        ...

    def shape(self) -> tuple[int, int, int]:
        """The numbers of rows, of features, and of values that are not 0."""
        ...

    def find_units(self, p: SimpleNamespace) -> Units | None:
        """The units in which features are learned from, from here on."""
        ...

    def find_l1(self, p: SimpleNamespace, shape: tuple[int, int, int]) -> None:
        """Set the l1 that suits the rows as that of a fit of one setting, ``p.one``."""
        ...

    def scale_of_rates(self, model: Any, p: SimpleNamespace) -> float:
        """The scale of the rates that suits the rows in a fit of ``model``."""
        ...

    def training(
        self, p: SimpleNamespace, plans: Sequence[Plan], settings: Sequence[Setting]
    ) -> GridMatrices:
        """The matrices of weights of the grid, which visit the rows."""
        ...

    def learners(self, engines: Sequence[Engine], plan: Plan) -> list[AnyLearner]:
        """Learners for the last fit, an engine for every problem."""
        ...

    def passes(self, learners: Sequence[AnyLearner], plan: Plan, epochs: int) -> Visit:
        """What lets the learners visit all rows, once in each of so many epochs."""
        ...

    def doubts(
        self,
        p: SimpleNamespace,
        rate: Rate,
        learners: Sequence[AnyLearner],
        found: Search,
        curve: list[float],
        kept: float,
    ) -> list[Warning]:
        """The warnings that a fit of the chosen setting alone would give.

        ``curve`` are its losses by epoch, and ``kept`` is the mean loss of its predictions in its
        last epoch, summed over the problems.
        """
        ...


class RowsInMemory:
    """Rows in the memory of this process, or mapped into it."""

    def __init__(
        self,
        X: sparse.csr_matrix,
        y: NDArray[Any],
        problems: Problems,
        groups: Any,
        classes: NDArray[Any] | None,
        *,
        mapped: bool,
    ) -> None:
        self.X, self.y, self.problems = X, y, problems
        self.groups, self.classes, self.mapped = groups, classes, mapped
        self.n_rows = X.shape[0]
        self.folds: list[Fold] = []
        self.sizes: NDArray[np.float64] | None = None

    def find_folds(self, p: SimpleNamespace, generator: np.random.RandomState | None) -> None:
        """Find the folds: a held-out share is one, and the progressive loss holds none out."""
        n, weights = self.n_rows, self.problems.importances
        if p.progressive:
            self.folds = [Fold(np.arange(n), np.zeros(0, dtype=np.int64))]
            return
        if p.cv is not None:
            self.folds = folds_of(p.cv, self.y, self.groups, self.problems, self.classes)
            for number, fold in enumerate(self.folds):
                _refuse_repeated(number, fold.train)
            return
        if weights is not None:
            total_of(weights)
        strata = None if self.classes is None else np.searchsorted(self.classes, self.y)
        assert generator is not None, "rows are held out by a generator"
        train, test = split(
            n, p.validation_fraction, generator, strata, "give scoring='progressive'"
        )
        for rows, what in ((train, "to learn from"), (test, "to hold out")):
            if weights is not None and not weights[rows].any():
                raise ValueError(
                    f"sample_weight, times class_weight, must not be zero for all {len(rows)} rows "
                    f"{what}: change validation_fraction"
                )
        self.folds = [Fold(train, test)]

    def told(self) -> dict[str, Any]:
        return {
            "X": self.X,
            "y": self.y,
            "sample_weight": self.problems.importances,
            "the rows of the folds": tuple(
                side for fold in self.folds for side in (fold.train, fold.test)
            ),
        }

    def shape(self) -> tuple[int, int, int]:
        return shape_to_learn(self.X, None)

    def find_units(self, p: SimpleNamespace) -> Units | None:
        # As a fit of one setting does it: a penalty that is given acts on the weights as they are,
        # and features of a source are learned from as they are.
        as_given = p.l2s.any() or self.mapped
        units: Units | None = None
        if not as_given:
            units = p.model._find_units(p.one, self.X, self.problems)
        if units is not None:
            self.X = units.rows(self.X)
        return units

    def find_l1(self, p: SimpleNamespace, shape: tuple[int, int, int]) -> None:
        p.model._find_l1(p.one, self.X, self.problems, shape)

    def scale_of_rates(self, model: Any, p: SimpleNamespace) -> float:
        return float(model._scale_of_rates(p, self.X, self.problems.importances))

    def training(
        self, p: SimpleNamespace, plans: Sequence[Plan], settings: Sequence[Setting]
    ) -> GridMatrices:
        self.sizes = sizes_of(self.X, plans[0].sizes)
        return GridTraining(plans, settings, self.X, self.problems, self.folds, self.sizes, p.dtype)

    def learners(self, engines: Sequence[Engine], plan: Plan) -> list[AnyLearner]:
        return new_learners(engines, self.X, self.problems, plan, self.sizes)

    def passes(self, learners: Sequence[AnyLearner], plan: Plan, epochs: int) -> Visit:
        def visit(
            order: Order,
            epoch: int,
            losses: NDArray[np.float64] | None,
            workers: Workers,
            begin: int,
            after: Callable[[int], None],
        ) -> None:
            given = order, epoch * self.n_rows, None, losses, workers
            run_pass(learners, *given, begin=begin, after=after)

        return visit

    def doubts(
        self,
        p: SimpleNamespace,
        rate: Rate,
        learners: Sequence[AnyLearner],
        found: Search,
        curve: list[float],
        kept: float,
    ) -> list[Warning]:
        rows, judged = None, self.problems
        if not p.progressive and found.model is not None:
            # The column of a search has not learned from the rows that judge.
            rows, judged = self.folds[0].train, self.problems.only(self.folds[0].test)
        constant = loss_of_constants(judged, learners[0].plan)
        if kept >= NOTHING_LEARNED * constant:
            verdict = look_closely(learners, self.X, self.problems, rows)
            if verdict.too_small or verdict.too_large:
                return [stalled(p.one, rate, verdict, kept, constant)]
        return late(p, rate, found, curve, constant)


def late(
    p: SimpleNamespace, rate: Rate, found: Search, curve: list[float], constant: float
) -> list[Warning]:
    """The warning after a search whose losses still fell fast in its last epoch.

    ``constant`` is the loss of a constant prediction.
    """
    if found.ended_early or not still_falls(curve, constant):
        return []
    p.one.max_iter = p.max_iter
    return [unfinished(p.one, rate, curve)]


def _refuse_repeated(number: int, rows: NDArray[np.int64]) -> None:
    """Refuse a fold that would learn from a row more often than once in an epoch."""
    sorted_rows = np.sort(rows)
    repeated = sorted_rows[1:][sorted_rows[1:] == sorted_rows[:-1]]
    if len(repeated):
        raise ValueError(
            f"cv must name a row to learn from once, and its split {number} names row "
            f"{repeated[0]} several times: every epoch visits a row once, so that bootstrap "
            f"splits cannot be used"
        )
