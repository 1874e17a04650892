"""A ring of blocks on workers, and the rounds of models that travel through it.

In a round a model visits all blocks in their order.  Blocks that follow each other on one worker
are a run, which the model visits in one task of Dask on that worker; what travels is a future that
the next worker fetches: the rows never move, and a model moves once from worker to worker.  (Where
the blocks of a worker may not all be in its memory at once, every block is a run of its own.)
Every model begins at block 0, as soon as the worker is free; several models follow each other
through the blocks, and a model that ends an epoch begins the next one without waiting for the
others.  So every model meets the rows in the same order, which is the order of a serial fit, and
with as many models as workers all workers are busy once the first model has reached the last one.
If model m began at block m mod K, all workers would be busy from the first moment; but the bits of
a model would depend on its number m, and on who else is fitted beside it.

The client has the state from which a round began.  If a worker is lost during the round, the round
is repeated from this state, once the blocks are there again.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Container, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from operator import itemgetter
from typing import Any, NamedTuple

import dask
from distributed import Client, Future
from distributed.scheduler import KilledWorker

from lazynet.dask.visits import Visitor
from lazynet.dask.waits import LOOK, Check, LostWorkers, Waits, nobody_ends_it

#: How often a round may lose its workers before it is given up.
MOST_REPEATS = 20
# The share of a worker's memory that the blocks of a task may take: Dask begins to write to the
# disk at 0.6, and models, targets and sizes of rows need room too.
_SHARE_OF_MEMORY = 0.3


def _itself(value: Any) -> Any:
    return value


class _Lost(Exception):
    """A round cannot end, because one of its workers is gone."""


#: Makes the block that ``visit`` is handed from what the worker holds of it.
Assemble = Callable[..., Any]


def visit(
    assemble: Assemble,
    visitor: Visitor,
    held: Sequence[Sequence[Any]],
    travelling: Any,
    residents: Sequence[Any],
) -> tuple[Any, list[Any]]:
    """Visits to the blocks of a run, on the worker that has them."""
    stay = []
    for each, resident in zip(held, residents, strict=True):
        travelling, own = visitor.visit(assemble(*each), travelling, resident)
        stay.append(own)
    return travelling, stay


def pass_through(
    assemble: Assemble, visitor: Visitor, held: Sequence[Sequence[Any]], travelling: Any
) -> Any:
    """Visits of a model of which nothing stays at the blocks."""
    return visit(assemble, visitor, held, travelling, [None] * len(held))[0]


class Run(NamedTuple):
    """Blocks that follow each other on a worker, and are visited in one task."""

    owner: str
    blocks: range

    @property
    def name(self) -> str:
        """The numbers of the blocks, in the keys of tasks."""
        first, last = self.blocks[0], self.blocks[-1]
        return f"block{first}" if first == last else f"blocks{first}to{last}"


def runs_of(owners: Sequence[str], joined: Container[str]) -> list[Run]:
    """The runs of blocks on these workers; only workers in ``joined`` take several in one task.

    >>> [run.name for run in runs_of(["a", "a", "b", "b", "a"], {"a"})]
    ['blocks0to1', 'block2', 'block3', 'block4']
    """
    found: list[Run] = []
    for number, owner in enumerate(owners):
        if found and found[-1].owner == owner and owner in joined:
            found[-1] = Run(owner, range(found[-1].blocks.start, number + 1))
        else:
            found.append(Run(owner, range(number, number + 1)))
    return found


class Ring(Waits):
    """The blocks, and the workers where they are."""

    def __init__(self, client: Client, names: Sequence[str], futures: Sequence[Future]) -> None:
        super().__init__(client)
        self.names, self.futures = list(names), list(futures)
        # The worker of each block, and the runs.
        self._found: tuple[list[str], list[Run]] | None = None

    def gathered(self, results: Sequence[Any], check: Check = nobody_ends_it) -> list[Any]:
        """As ``fetched``; what a killed worker was to make is made again."""
        for _ in range(MOST_REPEATS):
            try:
                return self.fetched(results, check)
            except KilledWorker:
                self.client.retry([each for each in results if isinstance(each, Future)])
            except CancelledError:
                # Says which block cannot be made again.
                self.look_again()
                self.owners(check)
                raise
        raise LostWorkers(
            f"a worker was lost {MOST_REPEATS} times: a worker may need more memory than it has"
        )

    def given(self, value: Any) -> Future:
        """A value of the client for tasks of any worker; it outlives the worker that has it."""
        # Dask warns of large values in tasks, and knows no other way to make a value again.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.client.submit(
                _itself, value, key=f"lazynet-given-{uuid.uuid4().hex}", pure=False
            )

    # --- workers ---

    def owners(self, check: Check = nobody_ends_it) -> list[str]:
        """The worker that has each block; waits for blocks that are made, or made again."""
        return self._places(check)[0]

    def runs(self) -> list[Run]:
        """The blocks in their order, in runs on one worker each; waits as ``owners`` does."""
        return self._places(nobody_ends_it)[1]

    def _places(self, check: Check) -> tuple[list[str], list[Run]]:
        """The owners and the runs."""
        with self._lock:
            if self._found is not None and self.alive().issuperset(self._found[0]):
                return self._found
        # No thread waits while it has the lock: each waits only as long as its own check lets it.
        owners = self._found_owners(check)
        found = owners, runs_of(owners, self._roomy(owners))
        with self._lock:
            self._found = found
        return found

    def _roomy(self, owners: Sequence[str]) -> set[str]:
        """The workers whose memory has room for all their blocks in one task."""
        sizes = self.client.nbytes([future.key for future in self.futures], summary=False)
        taken = dict.fromkeys(owners, 0)
        for owner, future in zip(owners, self.futures, strict=True):
            taken[owner] += sizes.get(future.key, 0)
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        limits = {owner: workers.get(owner, {}).get("memory_limit") for owner in taken}
        return {
            owner
            for owner, limit in limits.items()
            if not limit or taken[owner] <= _SHARE_OF_MEMORY * limit
        }

    def _found_owners(self, check: Check) -> list[str]:
        began = time.monotonic()
        while True:
            for name, future in zip(self.names, self.futures, strict=True):
                self._await_block(name, future, check)
            has = self.client.who_has(self.futures)
            alive = self.alive(again=True)
            owners = [next((a for a in has[f.key] if a in alive), None) for f in self.futures]
            found = [address for address in owners if address is not None]
            if len(found) == len(owners):
                return found
            if time.monotonic() - began > self.patience:
                name = self.names[owners.index(None)]
                raise LostWorkers(f"{name} is on no worker after {self.patience:g} seconds")
            time.sleep(LOOK)

    def _await_block(self, name: str, future: Future, check: Check) -> None:
        done = threading.Event()

        def is_made(seconds: float) -> bool:
            if future.status in ("pending", "lost"):
                done.wait(seconds)
                done.clear()
            return future.status not in ("pending", "lost")

        for attempt in range(MOST_REPEATS):
            future.add_done_callback(lambda _: done.set())
            self.wait(is_made, check)
            if future.status == "finished":
                return
            if future.status == "error" and not isinstance(future.exception(), KilledWorker):
                future.result()
            if future.status == "cancelled":
                raise LostWorkers(
                    f"{name} is lost with its worker, and cannot be made again: it was given as "
                    f"data that exists on this worker alone.  Give blocks as delayed calls, which "
                    f"Dask repeats on another worker"
                )
            self.client.retry([future])
            time.sleep(LOOK * (attempt + 1))
        raise LostWorkers(
            f"{name} cannot be made: {MOST_REPEATS} times the worker that made it was killed; it "
            f"may need more memory than a worker has"
        )

    def look_again(self) -> None:
        """Forget where the blocks were."""
        with self._lock:
            self._found = None
            self.alive(again=True)

    # --- rounds ---

    def put(
        self, key: str, function: Callable[..., Any], *arguments: Any, owner: str, epoch: int
    ) -> Future:
        """A task on the worker ``owner`` and on no other; tasks of earlier epochs go before."""
        return self.client.submit(
            function, *arguments, key=f"{key}-{uuid.uuid4().hex}", workers=[owner],
            allow_other_workers=False, pure=False, priority=-epoch,
        )  # fmt: skip

    def sent(self, state: Any, owner: str) -> Future:
        """A state of the client on its way to a worker."""
        try:
            (found,) = self.client.scatter([state], workers=[owner], hash=False)
        except (KeyError, OSError, TimeoutError, ZeroDivisionError) as error:
            # So the scheduler and the connections of a lost worker say it.
            raise _Lost from error
        return found


class Round:
    """One epoch of a model on its way: its last visits, and the workers that it needs.

    ``begin`` is the travelling state, or the future in which another round ends.  ``residents`` are
    the states that belong to the blocks, a list or a future of a list for every run; None where
    nothing does.
    """

    def __init__(
        self,
        ring: Ring,
        label: str,
        epoch: int,
        held: Sequence[Sequence[Future]],
        assemble: Assemble,
        visitor: Visitor,
        begin: Any,
        residents: Sequence[Any] | None,
        runs: Sequence[Run],
    ) -> None:
        self.ring, self.visitor, self.runs = ring, visitor, list(runs)
        self.owners = frozenset(run.owner for run in runs)
        self.residents: list[Future] | None = None if residents is None else []
        self.last: Any = begin if isinstance(begin, Future) else ring.sent(begin, runs[0].owner)
        for number, run in enumerate(runs):
            place: Any = {"owner": run.owner, "epoch": epoch}
            key = f"{label}-epoch{epoch}-{run.name}"
            task = assemble, visitor, [list(held[block]) for block in run.blocks], self.last
            if residents is None or self.residents is None:
                self.last = ring.put(f"lazynet-visit-{key}", pass_through, *task, **place)
                continue
            # A future has the states of all blocks of a run.
            stay = residents[number]
            if not isinstance(stay, Future):
                stay = ring.sent(stay, run.owner)
            found = ring.put(f"lazynet-visit-{key}", visit, *task, stay, **place)
            self.last = ring.put(f"lazynet-leave-{key}", itemgetter(0), found, **place)
            self.residents.append(ring.put(f"lazynet-stay-{key}", itemgetter(1), found, **place))

    def result(self) -> tuple[Any, list[Any] | None]:
        """The travelling state and those that belong to the blocks, on the client.

        Raises ``_Lost`` if a worker of the round is gone.
        """
        travelling = self._fetched(self.last)
        if self.residents is None:
            return travelling, None
        return travelling, [own for each in self.residents for own in self._fetched(each)]

    def _fetched(self, future: Future) -> Any:
        """The value of a future; a worker that dies meanwhile must not keep the client waiting."""
        try:
            return self.ring.fetched([future], self._check)[0]
        except (CancelledError, KilledWorker) as error:
            raise _Lost from error

    def _check(self) -> None:
        if not self.ring.alive().issuperset(self.owners):
            raise _Lost

    def cancel(self) -> None:
        """Give the round up."""
        self.ring.client.cancel([self.last, *(self.residents or [])], force=True)


class Traveller:
    """A model that goes round the ring, epoch after epoch.

    While the client looks at the model after an epoch, the model is on its way already: a round is
    begun before it is known whether there will be a next epoch, and given up if there is none.
    """

    def __init__(
        self, ring: Ring, label: str, held: Sequence[Sequence[Future]], assemble: Assemble
    ) -> None:
        self.ring, self.label, self.held, self.assemble = ring, label, held, assemble
        self.now: Round | None = None
        self.ahead: Round | None = None
        #: epochs that were repeated because a worker was lost
        self.retries = 0
        self._begun: tuple[Visitor, Any, Sequence[Any] | None] | None = None

    def begin(
        self, epoch: int, visitor: Visitor, travelling: Any, residents: Sequence[Any] | None = None
    ) -> None:
        """Begin an epoch; a round that is on its way already is taken if the visitor is its own."""
        self._begun = visitor, travelling, residents
        self.now, self.ahead = self.ahead, None
        if self.now is not None and self.now.visitor is not visitor:
            self.now.cancel()
            self.now = None
        if self.now is None:
            with suppress(_Lost):
                self.now = self._round(epoch)

    def go_on(self, epoch: int) -> None:
        """Begin the next epoch, ``epoch``, behind the one that is on its way."""
        now = self.now
        if now is not None and self.ring.alive().issuperset(now.owners):
            self.ahead = Round(
                self.ring, self.label, epoch, self.held, self.assemble, now.visitor, now.last,
                now.residents, now.runs,
            )  # fmt: skip

    def _round(self, epoch: int) -> Round:
        """The epoch from its beginning."""
        assert self._begun is not None, "an epoch is on its way"
        visitor, travelling, residents = self._begun
        runs = self.ring.runs()
        if residents is not None:
            residents = [[residents[block] for block in run.blocks] for run in runs]
        return Round(
            self.ring, self.label, epoch, self.held, self.assemble, visitor, travelling, residents,
            runs,
        )  # fmt: skip

    def end(self, epoch: int) -> tuple[Any, list[Any] | None]:
        """The states after the epoch; repeats the epoch if workers were lost."""
        for _ in range(MOST_REPEATS):
            self.ring.check()
            try:
                if self.now is None:
                    self.now = self._round(epoch)
                found = self.now.result()
            except _Lost:
                self.give_up()
                self.retries += 1
                self.ring.look_again()
                time.sleep(LOOK)
            else:
                self.now = None
                return found
        raise LostWorkers(
            f"epoch {epoch} of {self.label} was begun {MOST_REPEATS} times, and a worker was lost "
            f"each time: a worker may need more memory than it has"
        )

    def give_up(self) -> None:
        """Give up what is on its way."""
        for each in (self.ahead, self.now):
            if each is not None:
                each.cancel()
        self.now = self.ahead = None
