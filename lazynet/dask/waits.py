"""Waits for workers and their results, which end where the workers are gone or the fit is to end.

Whoever waits looks around every quarter of a second: Dask itself would wait for ever for a result
that no worker is there to make, and a thread that waits does not hear Ctrl-C.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from typing import Any

from distributed import Client, Future

from lazynet.threads import Interrupted

#: Seconds between two looks at the workers.
LOOK = 0.25

#: Raises an error where a wait is to end.
Check = Callable[[], None]


class LostWorkers(RuntimeError):
    """Workers were lost too often, or none has come back."""


def nobody_ends_it() -> None:
    """The ``Check`` of a wait that belongs to no call of its own."""


class Waits:
    """How the fits on the same blocks wait for the workers of a client."""

    #: seconds to wait for a worker to come back
    patience = 120.0

    def __init__(self, client: Client) -> None:
        self.client = client
        #: set where the fits on these blocks are to end
        self.interrupted = threading.Event()
        self._lock = threading.RLock()
        self._looked, self._alive = -1.0, frozenset[str]()

    def check(self) -> None:
        """Raise ``Interrupted`` if the fits on these blocks are to end."""
        if self.interrupted.is_set():
            raise Interrupted

    def alive(self, *, again: bool = False) -> frozenset[str]:
        """The addresses of the workers, as of a moment ago; ``again``: as of now."""
        with self._lock:
            if again or time.monotonic() - self._looked > LOOK:
                found = self.client.scheduler_info(n_workers=-1)["workers"]
                self._alive, self._looked = frozenset(found), time.monotonic()
            return self._alive

    def wait(self, comes: Callable[[float], bool], check: Check = nobody_ends_it) -> None:
        """Wait until ``comes(seconds)``, which waits so long at most, is true.

        ``check`` is called before each of these waits.  Raises ``LostWorkers`` if no worker comes
        back.
        """
        gone: float | None = None
        while True:
            self.check()
            check()
            if comes(LOOK):
                return
            if self.alive():
                gone = None
                continue
            gone = time.monotonic() if gone is None else gone
            if time.monotonic() - gone > self.patience:
                raise LostWorkers(f"no worker has come back in {self.patience:g} seconds")

    def fetched(self, results: Sequence[Any], check: Check = nobody_ends_it) -> list[Any]:
        """The results of futures, once they are made; waits as ``wait`` does."""
        while True:
            asked = asyncio.run_coroutine_threadsafe(
                self._ask(list(results)), self.client.loop.asyncio_loop
            )
            try:
                self._wait_for(asked, check)
            finally:
                asked.cancel()
            # Dask joins what several threads fetch at the same time: a thread that gives up may
            # have ended the fetching of this one, which then asks again.
            if not asked.cancelled():
                return list(asked.result())

    async def _ask(self, results: list[Any]) -> Any:
        # To give up waiting here ends nothing that another thread waits for.
        for each in results:
            if isinstance(each, Future):
                failure = await each.exception()
                if failure is not None or each.cancelled():
                    # Raises the error; asked for several failures, Dask logs all but one.
                    return await self.client.gather([each])
        return await self.client.gather(results)

    def _wait_for(self, asked: concurrent.futures.Future[Any], check: Check) -> None:
        self.wait(lambda seconds: bool(wait([asked], seconds).done), check)
