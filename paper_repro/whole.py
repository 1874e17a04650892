"""Texts that are replaced whole or not at all."""

from __future__ import annotations

from pathlib import Path

from lazynet.data.files import replaced


def write_whole(path: Path, text: str) -> None:
    """Write the text to ``path``; if this fails, an older file stays as it was."""
    with replaced(path) as file:
        file.write(text.encode())
