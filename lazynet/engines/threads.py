"""Threads that share a list of tasks, and stop together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Interrupted(Exception):
    """Raised in a task that has to stop because another task has failed."""


def threads_for(n_threads: int, n_tasks: int) -> contextlib.AbstractContextManager[Workers | None]:
    """Threads for some tasks, as a context; None where one thread, that of the caller, suffices.

    >>> with threads_for(4, n_tasks=1) as workers:
    ...     workers is None
    True
    """
    n_threads = min(n_threads, n_tasks)
    return Workers(n_threads) if n_threads > 1 else contextlib.nullcontext()


class Workers:
    """Threads that share tasks; the calling thread is one of them.

    >>> with Workers(2) as workers:
    ...     workers.results([1, 2, 3], lambda number: number * number)
    [1, 4, 9]
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        #: whether a task has failed or was interrupted; long tasks look at it now and then (a plain
        #: flag, because Ctrl-C can leave the lock of an Event taken)
        self.stopped = False
        self.pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the tasks, and wait until the threads have ended; the call can be repeated."""
        self.stopped = True
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)

    def check(self) -> None:
        """Raise ``Interrupted`` if the tasks are to stop."""
        if self.stopped:
            raise Interrupted

    def each(self, items: Sequence[Item], task: Callable[[Item], None]) -> None:
        """Call ``task`` with every item; after an error in one call no other call begins.

        Every thread has its own share of the items.
        """
        if self.pool is None:
            return self._share(items, task)
        shares = [items[first :: self.n_threads] for first in range(self.n_threads)]
        submitted = [self.pool.submit(self._share, share, task) for share in shares[1:]]
        waits: list[Callable[[], None]] = [
            partial(self._share, shares[0], task),
            *(future.result for future in submitted),
        ]
        failures = []
        for wait in waits:
            try:
                wait()
            except Exception as failure:
                failures.append(failure)
        # The error for which other tasks were interrupted says more than their ``Interrupted``.
        failures.sort(key=lambda failure: isinstance(failure, Interrupted))
        if failures:
            raise failures[0]
        return None

    def _share(self, items: Sequence[Item], task: Callable[[Item], None]) -> None:
        """Call ``task`` with every item of a thread."""
        try:
            for item in items:
                if self.stopped:
                    raise Interrupted
                task(item)
        except BaseException:
            self.stopped = True
            raise

    def results(self, items: Sequence[Item], task: Callable[[Item], Result]) -> list[Result]:
        """The results of ``task`` for every item; a thread that is free takes the next item."""
        result: dict[int, Result] = {}
        waiting = list(enumerate(items))[::-1]

        def take(_: int) -> None:
            while True:
                self.check()
                try:
                    number, item = waiting.pop()
                except IndexError:
                    return
                result[number] = task(item)

        self.each(range(self.n_threads), take)
        return [result[number] for number in range(len(items))]
