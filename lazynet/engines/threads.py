"""Threads that share tasks, and stop together after an error or Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Interrupted(Exception):
    """Raised in a task that has to stop because another task has failed."""


class Workers:
    """Threads that share tasks; the calling thread is one of them.

    >>> with Workers(2) as workers:
    ...     workers.map(lambda number: number * number, [1, 2, 3])
    [1, 4, 9]
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        #: whether a task has failed or was interrupted; long tasks read it from time to time (it is
        #: no Event: after Ctrl-C the lock of an Event may stay locked)
        self.stopped = False
        self.pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def close(self, *_: object) -> None:
        """Stop the tasks, and wait until the threads have ended; the call can be repeated."""
        self.stopped = True
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)

    __exit__ = close

    def check(self) -> None:
        """Raise ``Interrupted`` if the tasks have to stop."""
        if self.stopped:
            raise Interrupted

    def map(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results of ``task`` for every item; after an error in one call no other call begins.

        Every free thread takes the next item.
        """
        results: list[Any] = [None] * len(items)
        waiting = list(enumerate(items))[::-1]

        def work() -> None:
            try:
                while True:
                    self.check()
                    try:
                        number, item = waiting.pop()
                    except IndexError:
                        return
                    results[number] = task(item)
            except BaseException:
                self.stopped = True
                raise

        waits: list[Callable[[], None]] = [work]
        if self.pool is not None:
            futures = [self.pool.submit(work) for _ in range(self.n_threads - 1)]
            waits += [future.result for future in futures]
        failures = []
        for wait in waits:
            try:
                wait()
            except Exception as failure:
                failures.append(failure)
        # Raise the error that caused the interruption, rather than an ``Interrupted``.
        failures.sort(key=lambda failure: isinstance(failure, Interrupted))
        if failures:
            raise failures[0]
        return results
