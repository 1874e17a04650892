"""The rows of a fit from a source of chunks: every epoch is a pass, in constant memory.

A source (``lazynet.data``) gives its rows in an order of its own.  The model is bit-identical to
that of a fit with ``shuffle=False`` from one matrix of all rows in this order, with the same
parameters, for any size of the chunks; features and targets are not standardised.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples, plain_arrays, usable_rows
from lazynet.data.chunks import Chunk
from lazynet.data.row_statistics import ROWS_OF_A_BLOCK, RowStatistics
from lazynet.data.source import ROWS, Derived, Facts, Source
from lazynet.data.targets import Targets
from lazynet.data.weights import Balanced, check_any_counts
from lazynet.training.learners import Pass, length_of_chunks, new_learners, run_pass
from lazynet.training.rows import MAPPED, Rows, is_table
from lazynet.training.settings import Settings

#: Checked rows of a chunk and their targets; takes the chunk, and whether it was checked before.
Prepare = Callable[..., tuple[sparse.csr_matrix, Targets]]


def check_alone(y: Any, sample_weight: Any, sample_order: Any = None) -> None:
    """Refuse what must not be given beside a source."""
    for name, argument in (("y", y), ("sample_weight", sample_weight)):
        if argument is not None:
            raise ValueError(f"{name} must be None where X is a source, whose chunks have it")
    if sample_order is not None:
        raise ValueError(
            "sample_order must be None where X is a source, which has an order of its own: "
            "lazynet.data.Shuffled changes it"
        )


def check_rule_streams(settings: Settings) -> None:
    """Refuse a rule that cannot learn from a source."""
    if not settings.rule.streams:
        raise ValueError(
            f"fit from a source cannot train with rule={settings.rule!r}, which remembers every "
            f"row and visits it again: take another rule, or let {MAPPED} map the rows into memory"
        )


def balanced_for(source: Source) -> Balanced:
    """``Balanced`` with the number of rows of every class; takes a pass where none has counted."""
    facts = source.facts()
    if facts.classes is not None and facts.counts is None:
        facts = Source._find_facts(source)
    counts = map(float, facts.counts or ())
    return Balanced(class_counts=dict(zip(facts.classes or (), counts, strict=True))).settled()


def is_sound(
    chunk: Chunk, n_features: int, checked: bool = False, classes: NDArray[Any] | None = None
) -> bool:
    """Whether a kernel can read X without a copy, and y holds finite numbers, or ``classes``.

    Chunks that were ``checked`` in an earlier pass are not read again: the kernel checks every row.
    """
    X, y = chunk.X, chunk.y
    if sparse.issparse(y) or X.shape[1] != n_features:
        return False
    sound = plain_arrays(X) is X if checked else usable_rows(X) is X
    if not (sound and (checked or np.isfinite(y).all())):
        return False
    if classes is None:
        return True
    # Labels of another kind than whole numbers need the checks of scikit-learn.
    return bool((classes == np.round(classes)).all() and np.isin(y, classes).all())


class SourceRows(Rows):
    """The rows of a source, which engines visit in passes."""

    #: whether an earlier pass has found all chunks sound
    _checked = False

    def __init__(self, source: Source, prepare: Prepare) -> None:
        self.source, self._prepare = source, prepare
        self.facts: Facts = source.facts()
        if not self.facts.n_rows:
            raise ValueError("X must have at least one row, and the source has none")
        self.n_features, self.n_visits = self.facts.n_features, self.facts.n_rows
        self.X, self.targets = self._first()

    def _first(self) -> tuple[sparse.csr_matrix, Targets]:
        """A few rows from the beginning, which have the features and the outputs of all rows."""
        with closing(self.source.chunks(1)) as chunks:
            return self._prepare(next(iter(chunks)))

    @property
    def is_table(self) -> bool:
        return is_table(self.n_visits, self.n_features, self.facts.n_values)

    def identity(self) -> dict[str, Any]:
        with closing(self.source.chunks(ROWS)) as chunks:
            first = next(iter(chunks))
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

    def _count(self, settings: Settings, of_targets: bool) -> RowStatistics:
        n_targets = self.targets.numbers_of_targets().shape[1] if of_targets else 0
        statistics, sound = RowStatistics(n_targets, float(settings.fit_intercept)), True
        with closing(self.source.chunks(ROWS_OF_A_BLOCK, 0)) as chunks:
            for chunk in chunks:
                X, targets = self._prepare(chunk)
                sound = sound and X is chunk.X
                numbers = targets.numbers_of_targets() if of_targets else None
                statistics.add(as_examples(X).squared_norms(), numbers, targets.importances)
        self._checked = sound
        return statistics

    def touched(self) -> NDArray[Any]:
        return np.arange(self.n_features)

    def visit(self, now: Pass) -> int:
        """Let the engines visit all rows; a pass that begins later reads over the first rows."""
        facts, t = self.facts, now.t
        length = length_of_chunks(len(now.engines), facts.n_rows, facts.n_values)
        n_rows, counts, sound = 0, bool(now.begin), not now.begin
        with closing(self.source.chunks(length, now.epoch)) as chunks:
            for chunk in chunks:
                n_rows += chunk.X.shape[0]
                if n_rows <= now.begin:
                    t += chunk.X.shape[0]
                    continue
                X, targets = self._prepare(chunk, self._checked)
                sound = sound and X is chunk.X
                counts = counts or bool(targets.weights.any())
                learners = new_learners(now.engines, X, targets, now.plan)
                t = run_pass(learners, None, t, now.losses, now.workers, length=length)
                now.after(n_rows)
        if n_rows != self.n_visits:
            raise ValueError(
                f"X: the source had {self.n_visits} rows when they were counted, and "
                f"{n_rows} in epoch {now.epoch}"
            )
        if not counts:
            check_any_counts(np.zeros(1))
        self._checked = sound
        return t
