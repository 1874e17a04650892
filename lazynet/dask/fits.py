"""A fit over blocks: what a serial fit asks of a source, asked of the workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray
from scipy import sparse

from lazynet.dask.blocks import Blocks
from lazynet.dask.held import Prepare, as_wide
from lazynet.dask.ring import Traveller
from lazynet.dask.visits import Block, OnlineVisitor, OnTheWay, Surveyed, SurveyVisitor, copied
from lazynet.engines.base import Engine
from lazynet.estimators.from_sources import SourceRows
from lazynet.estimators.planned import surveys_targets
from lazynet.importances import check_any_counts
from lazynet.learners import AnyLearner, length_of_chunks
from lazynet.plan import Plan
from lazynet.problems import Problems
from lazynet.progress import Progress
from lazynet.surveys import Survey
from lazynet.threads import Workers
from lazynet.training import PassOver


class BlockRows(SourceRows):
    """The rows of blocks, which learners visit where the rows are."""

    def __init__(self, blocks: Blocks, prepare: Prepare, p: SimpleNamespace, label: str) -> None:
        self.blocks, self.facts, self.p, self.label = blocks, blocks.facts(), p, label
        if not self.facts.n_rows:
            raise ValueError("X must have at least one row, and the blocks have none")
        self.n_rows = self.facts.n_rows
        if not any(each.counts for each in blocks.known()):
            check_any_counts(np.zeros(1))
        self._prepare = prepare
        self._found: Surveyed | None = None
        self._prepared: list[Future] | None = None

    def held(self) -> list[list[Future]]:
        """What a visit finds at every block."""
        if self._prepared is None:
            self._prepared = self.blocks.prepared(self._prepare)
        return [[*each] for each in zip(self.blocks.ring.futures, self._prepared, strict=True)]

    def first(self) -> tuple[sparse.csr_matrix, Problems]:
        wide = self.facts.n_features, self.facts.n_labels
        return self._prepare(as_wide(self.blocks.known()[0].first, *wide))

    def told(self) -> dict[str, Any]:
        """What identifies the rows: their facts and a checksum of every block."""
        return {
            "the facts of X": asdict(self.facts),
            "the blocks": [each.told for each in self.blocks.known()],
        }

    def surveyed(self, p: SimpleNamespace) -> Any:
        if self._found is None:
            problems = self.first()[1]
            of_targets = surveys_targets(p, problems)
            n_targets = problems.numbers_of_targets().shape[1] if of_targets else 0
            visitor = SurveyVisitor(of_targets, float(p.fit_intercept), self.facts.n_rows)
            traveller = self.traveller("survey")
            traveller.begin(0, visitor, Surveyed(Survey(n_targets)))
            self._found, _ = traveller.end(0)
        return self._found

    def traveller(self, label: str) -> Traveller:
        """What goes round the blocks under this name."""
        return Traveller(self.blocks.ring, f"{self.label}-{label}", self.held(), Block)

    def largest_norms(self, n_rows: int) -> Callable[[bool], float]:
        """The largest squared norm of the first ``n_rows`` rows, with or without their weights.

        With what the intercept adds to it; the workers are asked when it is asked for.
        """
        found: list[tuple[float, float]] = []

        def largest(weighted: bool) -> float:
            if not found:
                starts = np.cumsum([0, *self.blocks.lengths]).tolist()
                client, extra = self.blocks.client, float(self.p.fit_intercept)
                found.extend(
                    self.blocks.ring.gathered(
                        [
                            client.submit(norms_of, held, n_rows - start, extra, pure=False)
                            for start, held in zip(starts, self.held(), strict=False)
                            if start < n_rows
                        ]
                    )
                )
            return max(each[weighted] for each in found)

        return largest

    def passes(self, learners: list[AnyLearner], plan: Plan, length: int | None = None) -> PassOver:
        """What lets the engines of the learners visit all blocks once.

        ``length``: the rows of a chunk, behind which a batch begins; None: what suits the rows.
        """
        facts = self.facts
        if length is None:
            length = length_of_chunks(len(learners), facts.n_rows, facts.n_values, plan.batch_size)
        self._check_batches(plan, length)
        trips, first = [], 0
        for number, learner in enumerate(learners):
            outputs = range(first, first + learner.engine.n_outputs)
            first = outputs.stop
            trips.append(
                _Trip(self.traveller(f"model{number}"), learner, outputs, length, facts.n_rows)
            )
        self.travellers = [trip.traveller for trip in trips]

        def pass_over(
            epoch: int,
            t: int,
            progress: Progress,
            losses: NDArray[np.float64],
            workers: Workers | None,
            begin: int,
            after: Callable[[int], None],
        ) -> int:
            if begin == facts.n_rows:
                return t + plan.n_steps(facts.n_rows)
            for trip in trips:
                trip.begin(epoch, t)
            # An engine whose rates fall before the next epoch comes back first.
            if epoch + 1 < self.p.max_iter and not plan.divides_in(epoch + 1):
                for trip in trips:
                    trip.traveller.go_on(epoch + 1)
            # The models change together: a pass that fails changes none of them.
            found = [trip.traveller.end(epoch)[0] for trip in trips]
            for trip, state in zip(trips, found, strict=True):
                trip.end(state)
            losses += [state.loss for state in found]
            progress.advance(facts.n_rows)
            after(facts.n_rows)
            return int(found[0].t)

        return pass_over

    def give_up(self) -> None:
        """Give up what is on its way."""
        for traveller in getattr(self, "travellers", []):
            traveller.give_up()

    def _check_batches(self, plan: Plan, length: int) -> None:
        """Refuse batches of rows that cross the border of two blocks."""
        size, end = plan.batch_size, 0
        for number, n_rows in enumerate(self.blocks.lengths[:-1]):
            end += n_rows
            if end % length % size:
                raise ValueError(
                    f"batch_size={size} needs blocks whose numbers of rows it divides, except for "
                    f"the last, and {self.blocks.ring.names[number]} has {n_rows} rows"
                )


def norms_of(held: Sequence[Any], n_rows: int, extra: float) -> tuple[float, float]:
    """The largest squared norm of the first rows of a block plus ``extra``; and times its weight.

    A block has at least one row.
    """
    block = Block(*held)
    norms = block.prepared.squared_norms[:n_rows] + extra
    return float(norms.max()), float((norms * block.problems().weights[:n_rows]).max())


class _Trip:
    """A learner of the client, and its traveller."""

    def __init__(
        self, traveller: Traveller, learner: AnyLearner, outputs: range, length: int, n_rows: int
    ) -> None:
        self.traveller, self.learner, self.outputs = traveller, learner, outputs
        self.length, self.n_rows = length, n_rows
        self.visitor: OnlineVisitor | None = None
        #: the state that came back, which nothing changes, and the small arrays of its engine
        self.back: OnTheWay | None = None
        self.scalars: dict[str, NDArray[Any]] = {}

    def begin(self, epoch: int, t: int) -> None:
        """Send the engine on its way."""
        plan = self.learner.plan
        if self.visitor is None or self.visitor.plan is not plan:
            self.visitor = OnlineVisitor(plan, self.outputs, self.length, self.n_rows)
        if self.back is not None and self._is_as_it_came_back():
            state = OnTheWay(self.back.engine, t)
        else:
            # What is on its way does not know of lower rates after an epoch without progress.
            self.traveller.give_up()
            # The engine of the client changes while workers may still read what was sent.
            state = OnTheWay(copied(self.learner.engine), t)
        self.traveller.begin(epoch, self.visitor, state)

    def _is_as_it_came_back(self) -> bool:
        now = self.learner.engine.state().scalars
        return now.keys() == self.scalars.keys() and all(
            np.array_equal(array, self.scalars[name], equal_nan=True) for name, array in now.items()
        )

    def end(self, state: OnTheWay) -> None:
        """Take over the state that has come back."""
        self.back = state
        take_over(self.learner.engine, state.engine)
        scalars = self.learner.engine.state().scalars
        self.scalars = {name: array.copy() for name, array in scalars.items()}


def take_over(engine: Engine, other: Engine) -> None:
    """Give ``engine`` the state of ``other``, an engine of the same kind.

    An undo of the engine sees this as a sweep, which changes every weight.
    """
    if engine.before_sweep is not None:
        engine.before_sweep()
    engine.copy_state(other)
    for name, table in other.state().tables.items():
        if len(getattr(engine, name)) < len(table):
            setattr(engine, name, np.empty(len(table)))
        getattr(engine, name)[: len(table)] = table
