"""The parent: gives seeds to children, and writes down the deaths of those that do not return."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from safe.fuzz.ledger import Failure, Ledger
from safe.fuzz.note import last_note
from safe.fuzz.oracle import place_of, plain
from safe.fuzz.worker import Generator, under_asan, work

#: Seconds that one input may take.
PATIENCE = 20.0
#: Inputs of one child: what they leave behind in it shall not grow without bounds.
PER_CHILD = 2000
#: Seconds of looking for the input that killed a child which died later.
SEARCH = 3.0

OnFailure = Callable[[int, Failure], None]


def patience() -> float:
    """Seconds that one input may take here."""
    return PATIENCE * (5 if under_asan() else 1)


def hunt(
    name: str,
    generate: Generator,
    seed: int,
    *,
    count: int | None = None,
    seconds: float = 1e9,
    on_failure: OnFailure = lambda seed, failure: None,
    limit: float | None = None,
    total: Ledger | None = None,
) -> Ledger:
    """Run the inputs from ``seed`` on in children; a child that dies costs the one input.

    What becomes of them is added to ``total`` as it comes.
    """
    total = Ledger() if total is None else total
    deadline = time.monotonic() + seconds
    stop = sys.maxsize if count is None else seed + count
    while seed < stop and time.monotonic() < deadline:
        part = min(PER_CHILD, stop - seed)
        seed = _one_child(
            name, generate, seed, part, deadline, total, on_failure, limit or patience()
        )
    return total


def _one_child(
    name: str,
    generate: Generator,
    seed: int,
    count: int,
    deadline: float,
    total: Ledger,
    on_failure: OnFailure,
    limit: float,
) -> int:
    """Let one child work; returns the first seed that it has left."""
    death = _watched(name, generate, seed, count, deadline, total, on_failure, limit)
    if death is None:
        return seed + count
    at, failure = death
    if at > seed and not failure.signature.startswith("hang"):
        failure, blamed = _blame(name, generate, seed, at, failure, limit)
    else:
        blamed = at
    total.inputs += 1
    total.failures.append(failure)
    on_failure(blamed, failure)
    return at + 1


def _blame(
    name: str, generate: Generator, first: int, at: int, failure: Failure, limit: float
) -> tuple[Failure, int]:
    """Which input killed a child that died at ``at``: memory that one writes over kills later."""

    enough = time.monotonic() + SEARCH

    def dies_from(start: int) -> bool:
        quiet = lambda seed, failure: None  # noqa: E731
        count = at - start + 1
        return _watched(name, generate, start, count, enough, Ledger(), quiet, limit) is not None

    if dies_from(at):
        return failure, at
    back = 1
    while at - back > first and time.monotonic() < enough and not dies_from(at - back):
        back *= 2
    start, alive = max(first, at - back), at - back // 2
    if not dies_from(start):
        text = f"not alone; perhaps --replay {first}:{at - first + 1}\n{failure.text}"
        return Failure(failure.signature, text), at
    while alive - start > 1:
        middle = (start + alive) // 2
        if dies_from(middle):
            start = middle
        else:
            alive = middle
    how = failure.signature.split(" at ")[0]
    doing = _note_of(name, generate, start, limit)
    text = f"the process died later, at the input {at}: --replay {start}:{at - start + 1}"
    return Failure(f"{how} after {_kind_of(doing)}", f"{name}: {doing}\n{text}"), start


def _note_of(name: str, generate: Generator, seed: int, limit: float) -> str:
    """What an input that ends well is about, by its last note."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        child, receiver = _started(name, generate, seed, 1, time.monotonic() + limit, log)
        try:
            _listen(receiver, seed, Ledger(), lambda seed, failure: None, limit)
            return last_note(log.with_name("log.note"))
        finally:
            _ended(child, receiver)


def _kind_of(doing: str) -> str:
    """A note without what differs from input to input."""
    return plain(doing.partition(" with ")[2] or doing)


def _started(
    name: str, generate: Generator, seed: int, count: int, deadline: float, log: Path
) -> tuple[multiprocessing.process.BaseProcess, Connection]:
    """A child at work, and the end of the pipe from which it is heard."""
    # With fork, what a test has put in place of the real thing is in the child too.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(
        target=work, args=(name, generate, seed, count, deadline, sender, str(log)), daemon=True
    )
    child.start()
    sender.close()
    return child, receiver


def _ended(child: multiprocessing.process.BaseProcess, receiver: Connection) -> None:
    """The end of a child, if it has not ended by itself."""
    if child.is_alive():
        child.kill()
    child.join()
    receiver.close()


def _watched(
    name: str,
    generate: Generator,
    seed: int,
    count: int,
    deadline: float,
    ledger: Ledger,
    on_failure: OnFailure,
    limit: float,
) -> tuple[int, Failure] | None:
    """Let a child run these inputs; returns the one at which it died, and how."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        child, receiver = _started(name, generate, seed, count, deadline, log)
        try:
            at = _listen(receiver, seed, ledger, on_failure, limit)
            if at is None:
                child.join(limit)
                return None
            return at, _death_of(child, log, f"{name}: the input {at}")
        finally:
            _ended(child, receiver)


def _listen(
    receiver: Connection, seed: int, total: Ledger, on_failure: OnFailure, limit: float
) -> int | None:
    """Take in what the child says; returns the input at which it fell silent, or None."""
    at = seed
    with contextlib.suppress(EOFError, ConnectionError):
        while receiver.poll(limit):
            said = receiver.recv()
            if said is None:
                return None
            if isinstance(said, Ledger):
                total.add(said)
                for failure in said.failures:
                    on_failure(at, failure)
            else:
                at = said
    return at


def _death_of(child: multiprocessing.process.BaseProcess, log: Path, which: str) -> Failure:
    """Why the child fell silent, and where."""
    child.join(0.5)
    if child.exitcode is None:
        # It hangs: it is asked where, and ended.
        with contextlib.suppress(OSError, AttributeError):
            os.kill(child.pid, signal.SIGUSR1)
            child.join(1.0)
        how = "hang"
        child.kill()
        child.join()
    elif child.exitcode < 0:
        how = signal.Signals(-child.exitcode).name
    else:
        how = f"exit {child.exitcode}"
    said = log.read_text(errors="replace") if log.exists() else ""
    doing = last_note(log.with_name("log.note"))
    frames = re.findall(r'File "([^"]*)", line (\d+)', said.partition("Current thread")[2] or said)
    inside = [place for place in (place_of(file, int(line)) for file, line in frames) if place]
    place = inside[0] if inside else ""
    sanitizer = re.search(r"ERROR: AddressSanitizer: (\S+)", said)
    kernel = re.search(r"#\d+ \S+ in (\S+) \S*?(lazynet/\S+)", said)
    if sanitizer:
        how = f"AddressSanitizer {sanitizer[1]}"
        place = f"{kernel[1]} {kernel[2]}" if kernel else place
    # Kernels are not in Python's traceback: what was called tells where.
    place = f"{place}, with {_kind_of(doing)}" if place else plain(doing)
    return Failure(f"{how} at {place}", f"{which} ended in {how}: {doing}\n{said[:1500]}")
