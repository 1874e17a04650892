"""A separate process for a run that may hang, die or take all memory.

The process is forked, runs on one core, and is ended where it takes too many seconds.  Its private
memory is limited (on Linux), so that only this run fails.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from paper_repro.machine import value_in
from paper_repro.study import Record

DONE, REFUSED, NO_MEMORY, STOPPED, DIED = "done", "refused", "no memory", "stopped", "died"
#: Seconds between two looks at how long a run has taken, and the share of the limit.
BETWEEN, SHARE_BETWEEN = 0.5, 0.05
#: The most bytes of a caged process.
MEMORY = 3 * 10**9
#: Seconds on the wall, in units of the processor's seconds, after which a process that waits ends.
_PATIENCE = 20.0


def caged(work: Callable[[], Record], seconds: float, memory: int = MEMORY) -> Record:
    """The record of ``work`` with its outcome; without a record, why there is none."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(sender, work, memory), daemon=True)
    process.start()
    sender.close()
    try:
        between = min(BETWEEN, SHARE_BETWEEN * seconds)
        # Looks are counted, and not the clock on the wall: the machine may be put to sleep.
        for _ in range(round(_PATIENCE * seconds / between)):
            if receiver.poll(between):
                return dict(receiver.recv())
            if seconds_of(process.pid) >= seconds:
                break
        return {"outcome": STOPPED, "why": f"stopped after {seconds:g} s"}
    except EOFError:
        process.join()
        return {"outcome": DIED, "why": _death(process.exitcode)}
    finally:
        process.kill()
        process.join()
        receiver.close()


def seconds_of(process: int | None) -> float:
    """Seconds of the processor that another process has had; on the wall where nobody tells."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _run(sender: Connection, work: Callable[[], Record], memory: int) -> None:
    _limit(memory)
    # What compiled programs print belongs to nobody.
    silent = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silent, stream)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sender.send({"outcome": DONE, **work()})
    except MemoryError as error:
        sender.send({"outcome": NO_MEMORY, "why": _said(error)})
    except Exception as error:  # whatever a peer says where it fails
        memory_asked = "alloc" in str(error).lower() and "memory" in str(error).lower()
        outcome = NO_MEMORY if memory_asked else REFUSED
        sender.send({"outcome": outcome, "why": _said(error)})


def _said(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:160]}" if lines else type(error).__name__


def _death(code: int | None) -> str:
    names = {-6: "aborted", -9: "killed", -11: "segmentation fault", -7: "bus error"}
    return f"the process ended: {names.get(code or 0, f'code {code}')}"


def _limit(memory: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        size = _status("VmData") or 0
        resource.setrlimit(resource.RLIMIT_DATA, (size + memory, size + memory))
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


class Meter:
    """Seconds of the processor, and the greatest growth of memory, while measuring."""

    seconds = 0.0
    peak: int | None = None

    @contextlib.contextmanager
    def measuring(self) -> Iterator[None]:
        with contextlib.suppress(OSError, AttributeError):
            # Memory that is free already would hide what is asked for.
            ctypes.CDLL(None).malloc_trim(0)
        with contextlib.suppress(OSError):
            # Reset the peak of the memory.
            Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
        began = time.process_time()
        yield
        self.seconds = time.process_time() - began
        after = _status("VmHWM")
        if before is not None and after is not None:
            self.peak = max(0, after - before)


def _status(name: str) -> int | None:
    """Bytes that Linux tells of this process, or None elsewhere."""
    found = value_in("/proc/self/status", name)
    return None if found is None else int(found.split()[0]) * 1024
