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

from fuzz.ledger import Failure, Ledger
from fuzz.note import last_note
from fuzz.oracle import plain
from fuzz.worker import Generator, under_asan, work

#: Seconds that one input may take.
PATIENCE = 20.0
#: Inputs of one child: what they leave behind in it shall not grow without bounds.
PER_CHILD = 2000

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
) -> Ledger:
    """Run the inputs from ``seed`` on in children; a child that dies costs the one input."""
    total = Ledger()
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
    # With fork, what a test has put in place of the real thing is in the child too.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        child = context.Process(
            target=work, args=(name, generate, seed, count, deadline, sender, str(log)), daemon=True
        )
        child.start()
        sender.close()
        try:
            at = _listen(receiver, seed, total, on_failure, limit)
            if at is None:
                child.join()
                return seed + count
            failure = _death_of(child, log, f"{name}: the input {at}")
            total.inputs += 1
            total.failures.append(failure)
            if at > seed:
                text = f"if it does not die alone: --replay {seed}:{at - seed + 1}\n{failure.text}"
                failure = Failure(failure.signature, text)
            on_failure(at, failure)
            return at + 1
        finally:
            if child.is_alive():
                child.kill()
            child.join()
            receiver.close()


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
    inside = re.findall(r'File "[^"]*?((?:lazynet|paper_repro)/[^"]*)", line (\d+)', said)
    place = ":".join(inside[0]) if inside else ""
    sanitizer = re.search(r"ERROR: AddressSanitizer: (\S+)", said)
    kernel = re.search(r"#\d+ \S+ in (\S+) \S*?(lazynet/\S+)", said)
    if sanitizer:
        how = f"AddressSanitizer {sanitizer[1]}"
        place = f"{kernel[1]} {kernel[2]}" if kernel else place
    if not place or place.startswith("lazynet/tests"):
        # Kernels are not in Python's traceback: what was called tells where.
        place = plain(doing)
    return Failure(f"{how} at {place}", f"{which} ended in {how}: {doing}\n{said[:1500]}")
