"""What the commands print: results on stdout, progress and errors on stderr, models into files."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

from lazynet import whole_files
from lazynet.memory import in_bytes


def say(text: str) -> None:
    """Write a line to stderr."""
    print(text, file=sys.stderr, flush=True)


def closed_early() -> None:
    """Nobody reads stdout any more: what Python still wants to write goes nowhere."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # a stream of a test, which is no file
        pass


def as_json(found: dict[str, Any]) -> str:
    """A line of JSON; numbers that JSON has not are null.

    >>> as_json({"loss": float("nan"), "rows": 3})
    '{"loss": null, "rows": 3}'
    """
    return json.dumps(_plain(found), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def report(found: dict[str, Any], lines: dict[str, str], as_one_line: bool) -> None:
    """Print a result: one JSON object, or a line for each of ``lines``."""
    if as_one_line:
        print(as_json(found))
        return
    width = max(map(len, lines), default=0)
    for name, text in lines.items():
        print(f"{name:{width}}  {text}")


def check_writable(path: str | None) -> None:
    """Refuse an output that cannot be written, before anything is computed."""
    if path is not None:
        whole_files.check_writable(path)


def check_apart(outputs: Iterable[tuple[str, str | None]], reads: Iterable[str]) -> None:
    """Refuse to write over a file that is read, and to write two files under one name.

    ``outputs`` are options, each with the file that it names or None.
    """
    reads, taken = list(reads), list[tuple[str, str]]()
    for option, path in outputs:
        if path is None:
            continue
        if any(whole_files.same_file(path, read) for read in reads):
            raise ValueError(f"{option} {path} is one of the files to read: name another one")
        for other, name in taken:
            if whole_files.same_file(path, name):
                raise ValueError(f"{other} and {option} name the same file, {path}: name two files")
        taken.append((option, path))


def peak_memory() -> int | None:
    """The most bytes that this process has held; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def memory_told(peak: int | None) -> str:
    """The peak in words.

    >>> memory_told(412_000_000), memory_told(None)
    ('412 MB at most', 'unknown')
    """
    return "unknown" if peak is None else f"{in_bytes(peak)} at most"


class Ticker:
    """Progress on stderr: a line that is rewritten on a terminal, else a JSON line an interval.

    ``add`` may be called by any thread.
    """

    def __init__(self, interval: float, quiet: bool) -> None:
        self.terminal = sys.stderr.isatty()
        self.quiet = quiet
        self.interval = min(interval, 0.2) if self.terminal else interval
        self.phase, self.rows = "", 0
        self.total: int | None = None
        self.loss: float | None = None
        self._width = 0
        self._lock = threading.Lock()
        self._began = self._last = time.monotonic()

    def begin(self, phase: str, total: int | None) -> None:
        """A pass begins, over so many rows where the number is known."""
        with self._lock:
            self.phase, self.total, self.rows = phase, total, 0
            self._began = time.monotonic()

    def add(self, rows: int) -> None:
        """So many more rows have passed."""
        if self.quiet:
            return
        with self._lock:
            self.rows += rows
            now = time.monotonic()
            if now - self._last >= self.interval:
                self._last = now
                self._tell(now - self._began)

    def _tell(self, seconds: float) -> None:
        speed = self.rows / seconds if seconds > 0 else math.nan
        if not self.terminal:
            say(as_json({
                "progress": self.phase, "rows": self.rows, "of": self.total,
                "seconds": round(seconds, 3), "rows_per_second": round(speed, 1),
                "progressive_loss": self.loss,
            }))  # fmt: skip
            return
        part = f" of {self.total:,} ({self.rows / self.total:.0%})" if self.total else ""
        loss = "" if self.loss is None else f", loss {self.loss:.6g} in the pass before"
        line = f"{self.phase}: {self.rows:,} rows{part}, {speed:,.0f} a second{loss}"
        sys.stderr.write("\r" + line[:110].ljust(self._width))
        sys.stderr.flush()
        self._width = len(line[:110])

    def close(self) -> None:
        """Wipe the line of the terminal."""
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0
