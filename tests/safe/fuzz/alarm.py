"""An end to calls that ask for more work than a fuzzer waits for."""

import signal
import threading
from contextlib import contextmanager

from safe.fuzz.oracle import Stopped
from safe.fuzz.worker import under_asan


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
