"""The parent: gives seeds to children, and writes down the deaths of those that do not return."""

import contextlib
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

from safe.fuzz.ledger import Failure, Ledger
from safe.fuzz.note import last_note
from safe.fuzz.oracle import place_of, plain
from safe.fuzz.worker import under_asan, work

#: Seconds that one input may take.
PATIENCE = 20.0
#: Inputs of one child: what they leave behind in it shall not grow without bounds.
PER_CHILD = 2000


def nobody(seed, failure):
    """Is told of failures."""


def hunt(
    name, generate, seed, *, count=None, seconds=1e9, on_failure=nobody, limit=None, total=None
):
    """Run the inputs from ``seed`` on in children; a child that dies costs the one input.

    What becomes of them is added to ``total`` as it comes.
    """
    total = Ledger() if total is None else total
    deadline = time.monotonic() + seconds
    limit = limit or PATIENCE * (5 if under_asan() else 1)
    stop = sys.maxsize if count is None else seed + count
    while seed < stop and time.monotonic() < deadline:
        part = min(PER_CHILD, stop - seed)
        death = watched(name, generate, seed, part, deadline, total, on_failure, limit)
        if death is None:
            seed += part
            continue
        at, failure = death
        if at > seed and not failure.signature.startswith("hang"):
            enough = time.monotonic() + limit
            if watched(name, generate, at, 1, enough, Ledger(), nobody, limit) is None:
                # Memory that one input writes over kills at a later one.
                told = f"not alone: --replay {seed}:{at - seed + 1}\n{failure.text}"
                failure = Failure(failure.signature, told)
        total.inputs += 1
        total.failures.append(failure)
        on_failure(at, failure)
        seed = at + 1
    return total


def watched(name, generate, seed, count, deadline, ledger, on_failure, limit):
    """Let a child run these inputs; returns the one at which it died, and how."""
    # With fork, what a test has put in place of the real thing is in the child too.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        arguments = name, generate, seed, count, deadline, sender, str(log)
        child = context.Process(target=work, args=arguments, daemon=True)
        child.start()
        sender.close()
        try:
            at = listen(receiver, seed, ledger, on_failure, limit)
            if at is None:
                child.join(limit)
                return None
            return at, death_of(child, log, f"{name}: the input {at}")
        finally:
            if child.is_alive():
                child.kill()
            child.join()
            receiver.close()


def listen(receiver, seed, total, on_failure, limit):
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


def death_of(child, log, which):
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
    kind = plain(doing.partition(" with ")[2] or doing)
    place = f"{place}, with {kind}" if place else plain(doing)
    return Failure(f"{how} at {place}", f"{which} ended in {how}: {doing}\n{said[:1500]}")
