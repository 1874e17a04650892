"""The child in which inputs run: it announces each one, so that its death has a name."""

import contextlib
import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from contextlib import contextmanager

import numpy as np

from safe.fuzz.ledger import Ledger
from safe.fuzz.note import keep_notes_in, note
from safe.fuzz.oracle import Stopped, innermost

#: What an input may take beyond what the child has when it begins.
ROOM = 3 * 2**30


def under_asan():
    """Whether the address sanitizer is loaded, which reserves terabytes and is slow."""
    return "asan" in os.environ.get("LD_PRELOAD", "")


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


def run_input(name, generate, seed):
    """One input, in this process."""
    ledger = Ledger(inputs=1)
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
