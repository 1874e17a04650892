"""The rows of a fit in memory: what training asks of them, and their visits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples, columns_with_values, sizes_of, touched_columns
from lazynet.data.row_statistics import Survey
from lazynet.data.standardise import Units
from lazynet.data.targets import Classes, Columns, Targets
from lazynet.engines.base import Engine
from lazynet.training.defaults import is_table
from lazynet.training.epochs import Orders
from lazynet.training.held_out import HeldOut, copied_rows, split
from lazynet.training.learners import AnyLearner, new_learners
from lazynet.training.plan import Plan
from lazynet.training.settings import Settings


@dataclass(frozen=True)
class RowsInMemory:
    """Rows, their targets and importances, and the order in which they are visited."""

    X: sparse.csr_matrix
    problems: Targets
    order: NDArray[np.int64] | None = None
    """The rows to visit: in all epochs, or a row of this array for each; None: all rows."""
    trained: NDArray[np.int64] | None = None
    """The rows that are not held out; None: all rows."""
    validation: NDArray[np.int64] | None = None
    """The rows that are held out."""
    as_passed: sparse.csr_matrix | None = None
    """X before the features were standardised."""

    @property
    def n_rows(self) -> int:
        """The number of rows to learn from."""
        return self.X.shape[0] if self.trained is None else len(self.trained)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_visits(self) -> int:
        """The number of rows that an epoch visits."""
        return self.n_rows if self.order is None else int(self.order.shape[-1])

    @property
    def n_orders(self) -> int | None:
        """The number of epochs with an order of their own; None: there is one order, or none."""
        return None if self.order is None or self.order.ndim == 1 else len(self.order)

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of rows, of features, and of values that are not 0, as they were passed.

        The values of rows that are held out are counted, too: they are taken for as long as all
        rows are.  Where X stores so few values that it is no table by them, stored zeros count.
        """
        X = self.X if self.as_passed is None else self.as_passed
        n_all, n_features = X.shape
        stored = len(touched_columns(X))
        n_values = len(columns_with_values(X)) if is_table(n_all, n_features, stored) else stored
        if self.trained is None:
            return n_all, n_features, n_values
        return self.n_rows, n_features, n_values * self.n_rows // n_all

    def hold_out(self, settings: Settings, generator: np.random.RandomState) -> RowsInMemory:
        """The same rows, of which some are held out; every class keeps its share."""
        strata = self.problems.codes if isinstance(self.problems, Classes) else None
        trained, validation = split(
            self.X.shape[0], settings.validation_fraction, generator, strata
        )
        weights = self.problems.importances
        for rows, purpose in ((trained, "to train on"), (validation, "that are held out")):
            if weights is not None and not weights[rows].any():
                raise ValueError(
                    f"sample_weight, times class_weight, must not be zero for all {len(rows)} rows "
                    f"{purpose}: change validation_fraction or set early_stopping=False"
                )
        return replace(self, trained=trained, validation=validation)

    def units(self, settings: Settings) -> Units:
        """The units of the features, and of several targets that are numbers."""
        units = Units.of(self.X, self.trained, centred=settings.fit_intercept)
        # The other losses have a number in the units of the targets; classes are -1 and 1 already.
        of_numbers = settings.loss.name in ("squared_error", "absolute_error")
        if of_numbers and isinstance(self.problems, Columns) and len(self.problems) > 1:
            numbers = self.problems.numbers
            units = units.with_targets(numbers if self.trained is None else numbers[self.trained])
        return units

    def in_units(self, units: Units | None) -> RowsInMemory:
        """The same rows with features and targets in ``units``; copies, unless there are none."""
        if units is None:
            return self
        problems = self.problems
        if units.targets is not None and isinstance(problems, Columns):
            problems = Columns(problems.numbers / units.targets, problems.importances)
        return replace(self, X=units.rows(self.X), problems=problems, as_passed=self.X)

    @cached_property
    def squared_norms(self) -> NDArray[np.float64]:
        """The squared norm of every row."""
        norms = sizes_of(self.X, "squared_norms")
        assert norms is not None, "a kind of size is named"
        return norms

    def sizes(self, kind: str | None) -> NDArray[np.float64] | None:
        """The sizes of the rows that rates follow; None where rates follow none."""
        return self.squared_norms if kind == "squared_norms" else sizes_of(self.X, kind)

    def survey(self, settings: Settings, of_targets: bool) -> Survey:
        """The sums over the rows that the defaults of a fit follow."""
        norms, problems = self.squared_norms, self.problems
        if self.trained is not None:
            norms, problems = norms[self.trained], problems.only(self.trained)
        targets = problems.numbers_of_targets() if of_targets else None
        return Survey.of(norms, targets, problems.importances)

    def largest_norm(self, settings: Settings, weighted: bool) -> float:
        """The largest squared norm of a row, the intercept's 1 included, times its importance."""
        X, counts = self.X, self.problems.importances if weighted else None
        if self.trained is not None:
            X = copied_rows(X, self.trained)
            counts = None if counts is None else counts[self.trained]
        return as_examples(X, None, counts).largest_squared_norm(float(settings.fit_intercept))

    def identity(self) -> dict[str, Any]:
        """What identifies the rows: arrays that a checkpoint compares."""
        targets = vars(self.problems)
        (y,) = (targets[name] for name in ("codes", "numbers", "indicator") if name in targets)
        weights = self.problems.importances
        return {"X": self.X, "y": y, "sample_weight": weights, "sample_order": self.order}

    def learners(self, engines: Sequence[Engine], plan: Plan) -> list[AnyLearner]:
        """A learner of these rows for every engine."""
        return new_learners(engines, self.X, self.problems, plan, self.sizes(plan.sizes))

    def held_out(self, plan: Plan) -> HeldOut | None:
        """The rows by which epochs are judged; None where none are held out."""
        if self.validation is None:
            return None
        return HeldOut.of(self.X, self.problems, self.validation, plan.loss, plan.softmax)

    def orders(self, generator: np.random.RandomState | None) -> Orders:
        """The order of the rows in every epoch; random with a ``generator``."""
        return Orders(self.X.shape[0], self.order, generator, self.trained)

    def columns(self) -> NDArray[Any]:
        """The columns that a step may touch."""
        return touched_columns(self.X)
