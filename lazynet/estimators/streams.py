"""A fit from a source of chunks: every epoch is a pass over the source, in constant memory.

A source (``lazynet.data``) gives its rows in an order of its own.  The model has the same bits
as that of a fit with ``shuffle=False`` from one matrix of all rows in this order, with the same
parameters, for any size of the chunks in which the source makes them; features and targets are not
measured in units of their own.  With ``early_stopping``, a hash of the number of a row decides
whether the row is held out; the model has the bits of a fit from the rows that are not.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import as_examples, sizes_of, usable_rows
from lazynet.data.chunks import Chunk, part
from lazynet.data.memory_mapped import mapped
from lazynet.data.row_statistics import ROWS_OF_A_BLOCK, Survey
from lazynet.data.source import ROWS, Derived, Facts, Source
from lazynet.data.subsets import Share, of_share
from lazynet.data.targets import Classes, Problems
from lazynet.data.weights import Balanced, check_any_counts
from lazynet.engines.threads import Workers
from lazynet.estimators.mapped_rows import check_alone
from lazynet.estimators.planning import surveys_targets
from lazynet.losses import Loss
from lazynet.parameters import check_n_steps
from lazynet.training.epochs import Orders
from lazynet.training.held_out import HeldOut
from lazynet.training.learners import (
    AnyLearner,
    length_of_chunks,
    new_learners,
    run_pass,
    sizes_for_a_pass,
)
from lazynet.training.loop import PassOver
from lazynet.training.plan import Plan
from lazynet.training.progress import Progress

#: What makes a matrix of a source, in errors.
MAPPED = "lazynet.data.mapped(source)"
# The labels of a chunk are compared with each of so many classes.
_FEW_CLASSES = 4
#: Checked rows of a chunk and their problems.
Prepare = Callable[[Chunk], tuple[sparse.csr_matrix, Problems]]


def check_arguments(y: Any, sample_weight: Any, sample_order: Any) -> None:
    """Refuse what must not be given beside a source."""
    check_alone(y, sample_weight)
    if sample_order is not None:
        raise ValueError(
            "sample_order must be None where X is a source, which has an order of its own: "
            "lazynet.data.Shuffled changes it"
        )


def check_call(p: SimpleNamespace, y: Any, sample_weight: Any, sample_order: Any) -> None:
    """Refuse what a fit from a source cannot do."""
    check_arguments(y, sample_weight, sample_order)
    if not p.rule.streams:
        raise ValueError(
            f"fit from a source cannot train with rule={p.rule!r}, which remembers every row and "
            f"visits it again: take another rule, or let {MAPPED} map the rows into memory"
        )


def counted_facts(source: Source) -> Facts:
    """The facts with the number of rows of every class; a pass where nobody knows them."""
    facts = source.facts()
    known = facts.classes is None or facts.counts is not None
    return facts if known else Source._find_facts(source)


def balanced_for(source: Source) -> Balanced:
    """``Balanced`` with the number of rows of every class."""
    facts = counted_facts(source)
    counts = map(float, facts.counts or ())
    return Balanced(class_counts=dict(zip(facts.classes or (), counts, strict=True))).settled()


def is_sound(chunk: Chunk, n_features: int) -> bool:
    """Whether a kernel can read X as it is, and y holds finite numbers."""
    if sparse.issparse(chunk.y) or chunk.X.shape[1] != n_features:
        return False
    return usable_rows(chunk.X) is chunk.X and bool(np.isfinite(chunk.y).all())


def are_classes(y: NDArray[np.float64], classes: NDArray[Any]) -> bool:
    """Whether every label is one of the classes, and all classes are whole numbers.

    >>> are_classes(np.array([1.0, -1.0]), np.array([-1, 1])), are_classes(np.ones(2), np.zeros(1))
    (True, False)
    >>> many = np.arange(6)
    >>> are_classes(np.array([0.0, 5.0]), many), are_classes(np.array([0.0, 9.0]), many)
    (True, False)
    """
    if len(classes) > _FEW_CLASSES:
        return bool((classes == np.round(classes)).all() and np.isin(y, classes).all())
    # A few comparisons take less time than a search.
    found = np.zeros(len(y), dtype=np.bool_)
    for label in map(float, classes.tolist()):
        if not label.is_integer():
            return False
        found |= y == label
    return bool(found.all())


class SourceRows:
    """The rows of a source, which learners visit in passes; ``files`` ends with the fit."""

    def __init__(self, source: Source, prepare: Prepare, files: ExitStack) -> None:
        self.source, self._prepare, self._files = source, prepare, files
        self.facts: Facts = source.facts()
        if not self.facts.n_rows:
            raise ValueError("X must have at least one row, and the source has none")
        #: the rows to learn from, and their number
        self.learned, self.n_rows = source, self.facts.n_rows
        self._survey: _Surveyed | None = None

    def hold_out(self, fraction: float, seed: int, loss: Loss, softmax: bool) -> HeldOut:
        """Hold out a share of the rows; a pass copies them to a temporary file."""
        share, n_rows = Share(fraction, seed), self.facts.n_rows
        n_held = share.count(n_rows)
        if not 0 < n_held < n_rows:
            what = "all rows" if n_held else "no row"
            raise ValueError(
                f"validation_fraction={fraction:g} of the {n_rows} rows of the source holds out "
                f"{what}: pass more rows, or set early_stopping=False"
            )
        self.learned = of_share(self.source, share, others=True)
        self.n_rows = n_rows - n_held
        held = self._files.enter_context(mapped(of_share(self.source, share, others=False)))
        if held.X.shape[0] != n_held:
            raise ValueError(
                f"X: the source had {n_rows} rows when they were counted, of which {n_held} are "
                f"held out, and it has {held.X.shape[0]} of these now"
            )
        whole = held
        _, problems = self._prepare(whole)
        self._check_held(held.y, problems)

        def blocks() -> Iterator[tuple[sparse.csr_matrix, Problems]]:
            for start in range(0, n_held, ROWS_OF_A_BLOCK):
                yield self._prepare(part(whole, start, min(start + ROWS_OF_A_BLOCK, n_held)))

        return HeldOut(blocks, n_held, loss, softmax)

    def _check_held(self, y: Any, problems: Problems) -> None:
        """Refuse held-out rows of which none counts, or that are all rows of a class."""
        if not problems.weights.any():
            raise ValueError(
                "the weights of the rows, times class_weight, must not be zero for all rows that "
                "are held out: change validation_fraction or set early_stopping=False"
            )
        if not isinstance(problems, Classes):
            return
        known = counted_facts(self.source)
        held = dict(zip(*(each.tolist() for each in np.unique(y, return_counts=True)), strict=True))
        for label, count in zip(known.classes or (), known.counts or (), strict=True):
            if held.get(label) == count:
                raise ValueError(
                    f"y: all rows of the class {label:g} are held out: pass more rows of it, lower "
                    f"validation_fraction, or set early_stopping=False"
                )

    def first(self) -> tuple[sparse.csr_matrix, Problems]:
        """A few rows from the beginning."""
        with closing(self.source.chunks(1)) as chunks:
            return self._prepare(next(iter(chunks)))

    def told(self) -> dict[str, Any]:
        """What identifies the source: its facts, the identities of its parts, its first rows."""
        with closing(self.source.chunks(ROWS)) as chunks:
            first = next(iter(chunks))
        each, layers = self.source, [[type(self.source).__name__, self.source.identity()]]
        while isinstance(each, Derived):
            each = each.source
            layers.append([type(each).__name__, each.identity()])
        return {
            "the facts of X": asdict(self.facts),
            "the identity of X": layers,
            "the first rows of X": first.X,
            "the first rows of y": first.y,
            "the first weights of rows": first.weight,
        }

    def surveyed(self, p: SimpleNamespace) -> _Surveyed:
        """What the defaults ask of all rows; takes a pass, once."""
        if self._survey is not None:
            return self._survey
        of_targets = surveys_targets(p, self.first()[1])
        found, largest, largest_weighted = Survey(int(of_targets)), 0.0, 0.0
        extra = float(p.fit_intercept)
        with closing(self.learned.chunks(ROWS_OF_A_BLOCK, 0)) as chunks:
            for chunk in chunks:
                X, problems = self._prepare(chunk)
                examples = as_examples(X, None, problems.importances)
                targets = problems.numbers_of_targets() if of_targets else None
                norms = sizes_of(examples, "squared_norms")
                assert norms is not None, "a kind of size is named"
                found.add(norms, targets, problems.importances)
                largest = max(largest, float(norms.max(initial=0.0)) + extra)
                largest_weighted = max(largest_weighted, examples.largest_squared_norm(extra))
        self._survey = _Surveyed(found, largest, largest_weighted)
        return self._survey

    def passes(self, learners: list[AnyLearner], plan: Plan) -> PassOver:
        """What lets the engines of the learners visit all rows once.

        A pass that begins behind the first rows reads over them.
        """
        facts, engines = self.facts, [each.engine for each in learners]
        length = length_of_chunks(len(learners), facts.n_rows, facts.n_values, plan.batch_size)

        def pass_over(
            epoch: int,
            t: int,
            progress: Progress,
            losses: NDArray[np.float64],
            workers: Workers | None,
            begin: int,
            after: Callable[[int], None],
        ) -> int:
            n_rows, counts = 0, bool(begin)
            with closing(self.learned.chunks(length, epoch)) as chunks:
                for chunk in chunks:
                    n_rows += chunk.X.shape[0]
                    if n_rows <= begin:
                        t += plan.n_steps(chunk.X.shape[0])
                        continue
                    X, problems = self._prepare(chunk)
                    counts = counts or bool(problems.weights.any())
                    sizes = sizes_for_a_pass(X, plan, len(engines))
                    now = new_learners(engines, X, problems, learners[0].plan, sizes)
                    t = run_pass(now, None, t, progress, losses, workers, length)
                    after(n_rows)
            if n_rows != self.n_rows:
                raise ValueError(
                    f"X: the source had {self.n_rows} rows when they were counted, and "
                    f"{n_rows} in epoch {epoch}"
                )
            if not counts:
                check_any_counts(np.zeros(1))
            return t

        return pass_over


class _Surveyed(NamedTuple):
    """The sums over all rows, and the largest squared norms of rows, without and with weights."""

    sums: Survey
    largest: float
    largest_weighted: float


def plan_for(model: Any, p: SimpleNamespace, rows: SourceRows) -> tuple[Plan, float]:
    """The plan of the fit and the scale of its rates; asks for a survey only where it is needed."""
    facts = rows.facts
    n_values = facts.n_values * rows.n_rows // max(facts.n_rows, 1)
    shape = rows.n_rows, facts.n_features, n_values
    if p.finds_l1 and p.engine.takes_l1:
        survey = rows.surveyed(p).sums
        model._take_l1(p, survey, shape)
        model._take_constant(p, survey, shape)
    model._find_epochs(p, shape)
    n_steps = check_n_steps("max_iter", p.max_iter, p.plan.n_steps(rows.n_rows))

    def largest_norm(weighted: bool) -> float:
        found = rows.surveyed(p)
        return found.largest_weighted if weighted else found.largest

    eta0 = model._scale_of_rates(p, largest_norm, np.ones(1))
    return p.plan.known(eta0, n_steps if p.tol is None else None), eta0


def orders_of(rows: SourceRows) -> Orders:
    """The order in which the source gives its rows, of which the number alone is known here."""
    return Orders(rows.n_rows, None, None)


def learn_pass(
    model: Any, source: Source, learn_from: Callable[[Chunk], list[Warning]]
) -> list[Warning]:
    """Let ``partial_fit`` learn from one pass; returns the warnings to give.

    The model has the bits of calls of ``partial_fit`` with ``ROWS`` rows each.
    """
    n_iter = getattr(model, "n_iter_", 0)
    if model.__sklearn_is_fitted__():
        # The model of before keeps its engines until the pass is done.
        model._engines = copy.deepcopy(model._engines)
    warnings: list[Warning] = []
    any_counts, rows = False, 0
    with closing(source.chunks(ROWS, 0)) as chunks:
        for chunk in chunks:
            warnings += learn_from(chunk)
            rows += chunk.X.shape[0]
            any_counts = any_counts or chunk.weight is None or bool(chunk.weight.any())
    if not rows:
        raise ValueError("X must have at least one row, and the source has none")
    if not any_counts:
        check_any_counts(np.zeros(1))
    model.n_iter_ = n_iter + 1
    return warnings[:1]
