"""Runs inputs in children of this process: one that dies or hangs costs the one input.

A child writes to a file: the number of each input, the titles of its calls, and what became of it.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import pickle
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from safe.fuzz.oracle import Stopped, innermost, place_of, plain

#: Seconds that one input may take until it fails, and until Python is asked to stop it; inputs of
#: one child, which may leave something behind in it; bytes that the child may take for them.
LIMIT, PATIENCE, PER_CHILD, ROOM = 20.0, 5.0, 2000, 3 * 2**30
#: The address sanitizer reserves terabytes and is slow.
UNDER_ASAN = "asan" in os.environ.get("LD_PRELOAD", "")
SLOWDOWN = 5 if UNDER_ASAN else 1


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
    #: the number of the present input, and what is to be told of each call before it is made
    seed: int = 0
    tell: object = lambda title: None

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


def hunt(name, generate, seed, *, count=None, seconds=1e9, limit=LIMIT):
    """What becomes of the inputs from ``seed`` on."""
    total, deadline = Ledger(), time.monotonic() + seconds
    stop = sys.maxsize if count is None else seed + count
    while seed < stop and time.monotonic() < deadline:
        part = min(stop, seed + PER_CHILD)
        died_at = watched(name, generate, seed, part, deadline, limit, total)
        seed = part if died_at is None else died_at + 1
    return total


def watched(name, generate, seed, stop, deadline, limit, total):
    """Let a child run these inputs; returns the one at which it died, or None."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = name, generate, seed, stop, deadline, limit * SLOWDOWN, folder
        # With fork, what a test has put in place of the real thing is in the child too.
        child = multiprocessing.get_context("fork").Process(target=work, args=arguments)
        child.start()
        try:
            child.join()
        finally:
            child.kill()
            child.join()
        at, doing = take_in(Path(folder, "records"), seed, total)
        if child.exitcode == 0:
            return None
        said = Path(folder, "log").read_text(errors="replace")
    how, place = cause(child.exitcode, said)
    # Kernels are not in Python's traceback: the title tells which one was called.
    kind = plain(doing.partition(" with ")[2] or doing)
    signature = f"{how} at " + (f"{place}, with {kind}" if place else plain(doing))
    total.inputs += 1
    total.failures.append((at, signature, f"{name}, {at}: {how} in {doing}\n{said[:1500]}"))
    return at


def take_in(records, at, total):
    """Add what a child has written; returns its last input, and the call that it made last."""
    doing = ""
    with contextlib.suppress(EOFError, FileNotFoundError), records.open("rb") as file:
        while True:
            record = pickle.load(file)
            if isinstance(record, Ledger):
                total.add(record)
            elif isinstance(record, int):
                at, doing = record, "making an input"
            else:
                doing = record
    return at, doing


def cause(exitcode, said):
    """What ended a child, and the innermost line of the packages where that was."""
    how = signal.Signals(-exitcode).name if exitcode < 0 else f"exit {exitcode}"
    how = "hang" if said.startswith("Timeout") else how
    frames = re.findall(r'File "([^"]*)", line (\d+)', said.partition("Current thread")[2] or said)
    inside = [place for place in (place_of(file, int(line)) for file, line in frames) if place]
    place = inside[0] if inside else ""
    if sanitizer := re.search(r"ERROR: AddressSanitizer: (\S+)", said):
        how = f"AddressSanitizer {sanitizer[1]}"
        kernel = re.search(r"#\d+ \S+ in (\S+) \S*?(lazynet/\S+)", said)
        place = f"{kernel[1]} {kernel[2]}" if kernel else place
    return how, place


# --- in the child ---------------------------------------------------------------------------------


def work(name, generate, seed, stop, deadline, limit, folder):
    """Run inputs from ``seed`` on, until ``stop`` is reached or time is up."""
    log = settle_in(Path(folder, "log"))
    with Path(folder, "records").open("wb", buffering=0) as records:

        def tell(record):
            records.write(pickle.dumps(record))

        for each in range(seed, stop):
            if time.monotonic() >= deadline:
                break
            tell(each)
            faulthandler.dump_traceback_later(limit, exit=True, file=log)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE * SLOWDOWN)
            tell(run_input(name, generate, each, tell))
    sys.stderr.flush()
    # Threads that an input has left behind do not matter any more.
    os._exit(0)


def run_input(name, generate, seed, tell=Ledger.tell):
    """One input, in this process."""
    ledger = Ledger(inputs=1, seed=seed, tell=tell)
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
    return replace(ledger, tell=None)


def stop_the_call(*_):
    raise Stopped("the fuzzer waits no longer")


def settle_in(path):
    """Limits of this process, and the file that tells what killed it."""
    # A Ctrl-C at the terminal is for the parent, which ends the child.
    os.setpgrp()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, stop_the_call)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    # The sanitizer tells more of a crash than this does, if it is let.
    faulthandler.disable()
    if not UNDER_ASAN:
        faulthandler.enable(file=log)
        resource.setrlimit(resource.RLIMIT_DATA, (ROOM, ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return log
