"""Runs inputs in children of this process: one that dies or hangs costs the one input.

``hunt`` gives numbers to children, and writes down the deaths of those that do not return.  A child
sends the number of each input before it runs the input, and what became of it afterwards.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from safe.fuzz.oracle import Stopped, innermost, keep_notes_in, last_note, note, place_of, plain

#: Seconds that one input may take; inputs of one child, which may leave something behind in it;
#: bytes that the child may take beyond what it has when it begins.
PATIENCE, PER_CHILD, ROOM = 20.0, 2000, 3 * 2**30


@dataclass
class Ledger:
    """What became of one input, or of many."""

    inputs: int = 0
    finite: int = 0
    #: errors that are as they should be, by type
    refused: Counter = field(default_factory=Counter)
    #: what must not happen: the number of the input, words that tell distinct failures apart, and
    #: all that is known
    failures: list = field(default_factory=list)
    #: the number of the present input
    seed: int = 0

    def fail(self, signature, text):
        """Note a failure."""
        self.failures.append((self.seed, signature, text))

    def add(self, other):
        """Take over what another ledger holds."""
        self.inputs += other.inputs
        self.finite += other.finite
        self.refused.update(other.refused)
        self.failures += other.failures

    def signatures(self):
        """How often each distinct failure was seen."""
        return Counter(signature for _, signature, _ in self.failures)


def hunt(name, generate, seed, *, count=None, seconds=1e9, limit=None):
    """What becomes of the inputs from ``seed`` on."""
    total, deadline = Ledger(), time.monotonic() + seconds
    limit = limit or PATIENCE * (5 if under_asan() else 1)
    stop = sys.maxsize if count is None else seed + count
    while seed < stop and time.monotonic() < deadline:
        part = min(PER_CHILD, stop - seed)
        death = watched(name, generate, seed, part, deadline, total, limit)
        seed += part
        if death is not None:
            total.inputs += 1
            total.failures.append(death)
            seed = death[0] + 1
    return total


def watched(name, generate, seed, count, deadline, ledger, limit):
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
            at = listen(receiver, seed, ledger, limit)
            if at is None:
                child.join(limit)
                return None
            return at, *death_of(child, log, f"{name}: the input {at}")
        finally:
            if child.is_alive():
                child.kill()
            child.join()
            receiver.close()


def listen(receiver, seed, total, limit):
    """Take in what the child says; returns the input at which it fell silent, or None."""
    at = seed
    with contextlib.suppress(EOFError, ConnectionError):
        while receiver.poll(limit):
            said = receiver.recv()
            if said is None:
                return None
            if isinstance(said, Ledger):
                total.add(said)
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
    return f"{how} at {place}", f"{which} ended in {how}: {doing}\n{said[:1500]}"


# --- in the child ---------------------------------------------------------------------------------


def under_asan():
    """Whether the address sanitizer is loaded, which reserves terabytes and is slow."""
    return "asan" in os.environ.get("LD_PRELOAD", "")


def work(name, generate, seed, count, deadline, pipe, log):
    """Run inputs from ``seed`` on, until there have been ``count`` or time is up."""
    settle_in(log)
    for each in range(seed, seed + count):
        if time.monotonic() >= deadline:
            break
        pipe.send(each)
        pipe.send(run_input(name, generate, each))
    pipe.send(None)
    pipe.close()
    # Threads that an input has left behind do not matter any more.
    sys.stderr.flush()
    os._exit(0)


def run_input(name, generate, seed):
    """One input, in this process."""
    ledger = Ledger(inputs=1, seed=seed)
    note(f"{name}, making an input")
    try:
        generate(np.random.default_rng([seed, *name.encode()]), ledger)
    except Stopped:
        ledger.refused["stopped by the fuzzer"] += 1
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(where.filename)}:{where.lineno}"
        ledger.fail(
            f"the generator itself: {type(error).__name__} at {place}, lazynet {innermost(error)}",
            "".join(traceback.format_exception(error))[-1500:],
        )
    return ledger


def _stop(*_):
    raise Stopped("the fuzzer waits no longer")


@contextmanager
def stopped_after(seconds):
    """Raise ``Stopped`` in the block after so long, where the system and the thread allow it."""
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds * (5 if under_asan() else 1))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        # Not the default, which would end the process if one were still on its way.
        signal.signal(signal.SIGALRM, signal.SIG_IGN)


def settle_in(log):
    """Limits, and files that tell what killed the child."""
    keep_notes_in(f"{log}.note")
    # A Ctrl-C at the terminal is for the parent, which ends the child.
    with contextlib.suppress(OSError, AttributeError):
        os.setpgrp()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, file=file, all_threads=True)
    # The sanitizer tells more of a crash than this does, if it is let.
    faulthandler.disable()
    if not under_asan():
        faulthandler.enable(file=file)
        limit_memory()


def limit_memory():
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm") as sizes:
            used = int(sizes.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
