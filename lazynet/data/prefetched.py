"""The next chunk is made in a thread while the caller works on this one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Generic, TypeVar

from lazynet.data.chunks import Passing
from lazynet.data.source import Source

Item = TypeVar("Item")


class _Shelf(Generic[Item]):
    """Where one thread puts items, and another takes them in order; there is room for ``room``."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.items: deque[Item] = deque()
        self.changed = threading.Condition()
        self.stopped = self.ended = False
        self.error: BaseException | None = None

    def put(self, item: Item) -> bool:
        """Wait for room and put an item there; False if nobody takes it any more."""
        with self.changed:
            self.changed.wait_for(lambda: self.stopped or len(self.items) < self.room)
            if not self.stopped:
                self.items.append(item)
                self.changed.notify_all()
            return not self.stopped

    def fill(self, items: Generator[Item, None, None]) -> None:
        """Put all items there, in the thread that makes them, and then the error or the end."""
        error: BaseException | None = None
        try:
            with closing(items):
                for item in items:
                    if not self.put(item):
                        break
        except BaseException as caught:
            error = caught
        with self.changed:
            self.ended, self.error = True, error
            self.changed.notify_all()

    def taken(self) -> Iterator[Item]:
        """The items in order; an error of the other thread comes where it happened."""
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.items or self.ended)
                if not self.items:
                    if self.error is not None:
                        raise self.error
                    return
                item = self.items.popleft()
                self.changed.notify_all()
            yield item
            del item

    def stop(self) -> None:
        """Tell the other thread that nobody takes items any more."""
        with self.changed:
            self.stopped = True
            self.items.clear()
            self.changed.notify_all()


def ahead(items: Generator[Item, None, None], room: int = 1) -> Generator[Item, None, None]:
    """The items, made by a thread that is up to ``room`` items ahead.

    An error of the iterator is raised where its item would come.  The thread ends with the
    iteration, also where the caller stops early, by an error or by Ctrl-C.

    >>> list(ahead(number * number for number in range(4)))
    [0, 1, 4, 9]
    """
    shelf: _Shelf[Item] = _Shelf(room)
    thread = threading.Thread(target=shelf.fill, args=(items,), name="lazynet chunks", daemon=True)
    try:
        thread.start()
        yield from shelf.taken()
    finally:
        shelf.stop()
        if thread.ident is not None:
            thread.join()


def ahead_of(source: Source, rows: int, epoch: int) -> Passing:
    """The chunks of a pass for a model, each made by a thread before the caller asks for it.

    Chunks that only have to be looked up, as those of a cache that has been checked, come as they
    are asked for.
    """
    chunks = source._to_learn(rows, epoch)
    return chunks if source._is_at_hand() else ahead(chunks)
