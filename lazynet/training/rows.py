"""The rows of a fit, in memory or in a source: their statistics, and the passes over them.

A source (``lazynet.data``) fixes the order of its rows; every epoch is a pass, in constant memory.
For any size of the chunks the model is bit-identical to the model of a fit with ``shuffle=False``
and the same parameters from one matrix of all rows in this order.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples, check_any_weight, row_sizes_of
from lazynet.data.chunks import Chunk, Passing, rows_at
from lazynet.data.source import ROWS, Derived, Facts, Source
from lazynet.data.statistics import (
    ROWS_OF_A_BLOCK,
    FeatureMoments,
    RowStatistics,
    Units,
    sizes_of_targets,
)
from lazynet.data.targets import Classes, Columns, Targets
from lazynet.data.weights import Balanced
from lazynet.engines.base import Engine
from lazynet.training.folds import split
from lazynet.training.passes import Evaluation, RowsAndTargets, evaluate, length_of_chunks
from lazynet.training.plan import OldModel, Plan, continued_moments
from lazynet.training.settings import Settings

#: Numbers of rows; None: all rows, in the order of X.
RowNumbers = NDArray[np.int64] | None

#: The call that makes a matrix from a source, for error messages.
MAPPED = "lazynet.data.mapped(source)"


class Rows:
    """The rows of a fit, their targets and importances.

    ``X`` and ``targets`` hold all rows; for a source they hold a few rows, with the features and
    the outputs of all rows.  ``n_visits`` is the number of rows that an epoch visits.  ``n_orders``
    is the number of orders in ``sample_order``, if it has one per epoch; else None.
    """

    X: sparse.csr_matrix
    targets: Targets
    n_features: int
    n_visits: int
    n_orders: int | None = None
    #: the rows that are held out, with their targets; only after ``hold_out``
    held_out: RowsAndTargets
    #: the columns that a step may change; None: all
    touched: NDArray[Any] | None = None
    order: RowNumbers = None

    def statistics(self, settings: Settings, of_targets: bool) -> RowStatistics:
        """The sums over the rows, and with ``of_targets`` over the targets, for the defaults."""
        raise NotImplementedError

    def hold_out(self, settings: Settings, generator: np.random.RandomState) -> Self:
        """The same rows with a held-out part."""
        raise ValueError(
            f"early_stopping must be False if X is a source or blocks, whose rows cannot be held "
            f"out: {MAPPED} makes a matrix from a source"
        )

    def moments(self, settings: Settings, model: OldModel | None = None) -> FeatureMoments | None:
        """The moments that give the units of a fit; None: the features as passed.

        A warm start keeps the moments of the model.
        """
        moments = continued_moments(settings.units, self.n_features, model)
        if moments is None or moments.counts[0]:
            return moments
        self.count(moments)
        moments.settle()
        # Other losses have a parameter in the units of the targets; classes are -1 and 1 already.
        of_numbers = settings.loss.name in ("squared_error", "absolute_error")
        if of_numbers and isinstance(self.targets, Columns) and self.targets.n_outputs > 1:
            moments.targets = self.sizes_of_targets()
        return moments

    def count(self, moments: FeatureMoments) -> None:
        """Count the training rows in the moments of the features."""
        raise NotImplementedError

    def sizes_of_targets(self) -> NDArray[np.float64] | None:
        """The size of every target; None: targets are not scaled."""
        return None

    def standardised(self, units: Units | None) -> Rows:
        """The rows with features and targets in ``units``; None: the rows themselves."""
        raise NotImplementedError

    def identity(self) -> dict[str, Any]:
        """Values that identify the rows, for a checkpoint to compare."""
        raise NotImplementedError

    def evaluation(self, engines: Sequence[Engine], plan: Plan) -> Evaluation:
        """The mean loss, the objective and the nonzeros of a model of these rows."""
        raise ValueError(
            "the objective, the mean loss and the nonzeros of an epoch are not known if X is a "
            "source of chunks, because they need another pass over the source"
        )

    def visit(self, training: Any) -> None:
        """Let the engines of a training (loop.py) visit the ``n_visits`` rows of its epoch."""
        raise NotImplementedError


class RowsInMemory(Rows):
    """Rows of a matrix.

    ``order`` lists the rows to visit: one order for all epochs, or a row per epoch; None: all rows.
    ``trained`` and ``validation`` are the training rows and the held-out rows.
    """

    def __init__(
        self,
        X: sparse.csr_matrix,
        targets: Targets,
        order: RowNumbers = None,
        trained: RowNumbers = None,
        validation: RowNumbers = None,
    ) -> None:
        self.X, self.targets, self.order = X, targets, order
        self.trained, self.validation = trained, validation
        self.touched: NDArray[Any] = X.indices
        #: the number of rows to learn from
        self.n_rows: int = X.shape[0] if trained is None else len(trained)
        self.n_features = int(X.shape[1])
        self.n_visits = self.n_rows if order is None else int(order.shape[-1])
        self.n_orders = None if order is None or order.ndim == 1 else len(order)

    @cached_property
    def squared_norms(self) -> NDArray[np.float64]:
        """The squared norm of every row."""
        return as_examples(self.X).squared_norms()

    def hold_out(self, settings: Settings, generator: np.random.RandomState) -> RowsInMemory:
        """The same rows with a held-out part; every class has the same share in both parts."""
        if self.order is not None:
            raise ValueError(
                "sample_order cannot be given with early_stopping=True, which chooses the rows to "
                "train on"
            )
        strata = self.targets.codes if isinstance(self.targets, Classes) else None
        trained, validation = split(
            self.X.shape[0], settings.validation_fraction, generator, strata
        )
        importances = self.targets.importances
        for rows, purpose in ((trained, "to train on"), (validation, "that are held out")):
            if importances is not None and not importances[rows].any():
                raise ValueError(
                    f"sample_weight, times class_weight, must not be zero for all {len(rows)} rows "
                    f"{purpose}: change validation_fraction or set early_stopping=False"
                )
        return RowsInMemory(self.X, self.targets, self.order, trained, validation)

    def count(self, moments: FeatureMoments) -> None:
        moments.count(self.X, self.trained)

    def sizes_of_targets(self) -> NDArray[np.float64]:
        assert isinstance(self.targets, Columns)
        numbers = self.targets.numbers
        return sizes_of_targets(numbers if self.trained is None else numbers[self.trained])

    def standardised(self, units: Units | None) -> RowsInMemory:
        if units is None:
            return self
        X, targets = units.rows(self.X), self.targets
        if units.targets is not None and isinstance(targets, Columns):
            targets = Columns(targets.numbers / units.targets, targets.importances)
        return RowsInMemory(X, targets, self.order, self.trained, self.validation)

    def statistics(self, settings: Settings, of_targets: bool) -> RowStatistics:
        norms, targets = self.squared_norms, self.targets
        if self.trained is not None:
            norms, targets = norms[self.trained], targets.only(self.trained)
        statistics = RowStatistics(float(settings.fit_intercept))
        statistics.add(norms, targets.in_columns() if of_targets else None, targets.importances)
        return statistics

    def identity(self) -> dict[str, Any]:
        fields = vars(self.targets)
        (y,) = (fields[name] for name in ("codes", "numbers", "indicator") if name in fields)
        importances = self.targets.importances
        return {"X": self.X, "y": y, "sample_weight": importances, "sample_order": self.order}

    @cached_property
    def held_out(self) -> RowsAndTargets:  # type: ignore[override]
        assert self.validation is not None
        return rows_at(self.X, self.validation), self.targets.only(self.validation)

    def evaluation(self, engines: Sequence[Engine], plan: Plan) -> Evaluation:
        return evaluate(engines, plan, self.X, self.targets)

    def order_of(self, epoch: int, generator: np.random.RandomState | None) -> RowNumbers:
        """The rows that an epoch visits, in a random order with a ``generator``."""
        order = self.order
        if order is not None:
            if order.ndim == 1:
                return order
            if epoch >= len(order):
                raise ValueError(
                    f"sample_order has {len(order)} epochs, but epoch {epoch} needs an order: give "
                    f"one row for each of max_iter epochs, or a single order for all"
                )
            return np.asarray(order[epoch])
        if generator is None:
            return self.trained
        places = generator.permutation(self.n_rows).astype(np.int64, copy=False)
        return places if self.trained is None else self.trained[places]

    def _row_sizes(self, kind: str | None) -> NDArray[np.float64] | None:
        return self.squared_norms if kind == "squared_norms" else row_sizes_of(self.X, kind)

    def visit(self, training: Any) -> None:
        order = self.order_of(training.epoch, training.generator)
        training.learn(self.X, self.targets, order, sizes=self._row_sizes)


#: A function from a chunk, and whether it was checked before, to its checked rows and targets.
Prepare = Callable[..., tuple[sparse.csr_matrix, Targets]]


def balanced_for(source: Source) -> Balanced:
    """``Balanced`` with the number of rows of every class, counted in a pass if necessary."""
    facts = source.facts()
    if facts.classes is not None and facts.counts is None:
        facts = Source._find_facts(source)
    counts = map(float, facts.counts or ())
    return Balanced(class_counts=dict(zip(facts.classes or (), counts, strict=True))).settled()


class SourceRows(Rows):
    """The rows of a source, which engines visit in passes."""

    #: whether an earlier pass has checked all chunks
    _checked = False
    #: the units of the features; None: the features as passed
    _units: Units | None = None

    def __init__(self, source: Source, prepare: Prepare) -> None:
        self.source, self._prepare = source, prepare
        self.facts: Facts = source.facts()
        if not self.facts.n_rows:
            raise ValueError(f"X must have at least one row, and {source} has none")
        self.n_features, self.n_visits = self.facts.n_features, self.facts.n_rows
        self.X, self.targets = self._first()

    def _first(self) -> tuple[sparse.csr_matrix, Targets]:
        """A few rows from the beginning, which have the features and the outputs of all rows."""
        return self._prepare(self._first_chunk(1))

    def _first_chunk(self, rows: int) -> Chunk:
        with closing(self._chunks(rows)) as chunks:
            return next(chunks)

    def _chunks(self, rows: int, epoch: int = 0) -> Passing:
        """The chunks of a pass; refuses a pass of another number of rows at its end."""
        n_rows = 0
        with closing(self.source.chunks(rows, epoch)) as chunks:
            for chunk in chunks:
                n_rows += chunk.X.shape[0]
                yield chunk
        if n_rows != self.n_visits:
            raise ValueError(
                f"X: {self.source} had {self.n_visits} rows when they were counted, and {n_rows} "
                f"in a later pass"
            )

    def standardised(self, units: Units | None) -> SourceRows:
        rows = copy.copy(self)
        rows._units = units
        return rows

    def count(self, moments: FeatureMoments) -> None:
        for X, _ in self._pass(ROWS_OF_A_BLOCK, 0):
            moments.count(X)

    def identity(self) -> dict[str, Any]:
        first = self._first_chunk(ROWS)
        source, layers = self.source, [[type(self.source).__name__, self.source.identity()]]
        while isinstance(source, Derived):
            source = source.source
            layers.append([type(source).__name__, source.identity()])
        return {
            "the facts of X": asdict(self.facts),
            "the identity of X": layers,
            "the first rows of X": first.X,
            "the first rows of y": first.y,
            "the first weights of rows": first.weight,
        }

    def _pass(self, length: int, epoch: int) -> Iterator[tuple[sparse.csr_matrix, Targets]]:
        """All rows in their units, and their targets, ``length`` rows at a time."""
        sound = True
        with closing(self._chunks(length, epoch)) as chunks:
            for chunk in chunks:
                X, targets = self._prepare(chunk, self._checked)
                sound = sound and X is chunk.X
                yield X if self._units is None else self._units.rows(X), targets
        self._checked = sound

    def statistics(self, settings: Settings, of_targets: bool) -> RowStatistics:
        statistics = RowStatistics(float(settings.fit_intercept))
        for X, targets in self._pass(ROWS_OF_A_BLOCK, 0):
            numbers = targets.in_columns() if of_targets else None
            statistics.add(as_examples(X).squared_norms(), numbers, targets.importances)
        return statistics

    def visit(self, training: Any) -> None:
        facts, any_weight = self.facts, False
        length = length_of_chunks(len(training.engines), facts.n_rows, facts.n_values)
        for X, targets in self._pass(length, training.epoch):
            any_weight = any_weight or bool(targets.importances_or_ones.any())
            training.learn(X, targets, length=length)
        check_any_weight(any_weight)
