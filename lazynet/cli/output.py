"""What the commands print: results on stdout, notes and errors on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from typing import Any

from lazynet.data.atomic_files import same_file


def say(text: str) -> None:
    """Write a line to stderr."""
    print(text, file=sys.stderr, flush=True)


def as_json(result: dict[str, Any]) -> str:
    """A line of JSON in ASCII; numbers that JSON has not are null.

    A byte in the name of a file that is not UTF-8 is written as a backslash and its number.

    >>> as_json({"loss": float("nan"), "rows": 3, "model": "a\\udcff"})
    '{"loss": null, "rows": 3, "model": "a\\\\\\\\xff"}'
    """
    return json.dumps({name: _plain(value) for name, value in result.items()}, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def report(result: dict[str, Any], as_one_line: bool) -> None:
    """Print a result: one JSON object, or a line for each of its entries that are not None."""
    if as_one_line:
        print(as_json(result))
        return
    width = max(map(len, result))
    encoding = sys.stdout.encoding or "utf-8"
    for name, value in result.items():
        if value is None:
            continue
        if not isinstance(value, str):
            value = f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
        text = value.encode(encoding, "backslashreplace").decode(encoding)
        print(f"{name.replace('_', ' '):{width}}  {text}")


def check_apart(outputs: Iterable[tuple[str, str | None]], reads: Iterable[str]) -> None:
    """Refuse to write over a file that is read, and to write two files under one name.

    ``outputs`` are options, each with the file that it names or None.
    """
    reads, earlier = list(reads), list[tuple[str, str]]()
    for option, path in outputs:
        if path is None:
            continue
        if any(same_file(path, read) for read in reads):
            raise ValueError(f"{option} {path} is one of the files to read: name another one")
        for first, name in earlier:
            if same_file(path, name):
                raise ValueError(f"{first} and {option} name the same file, {path}: name two files")
        earlier.append((option, path))
