"""What is being done right now, in a file that outlives the process which does it."""

import os

_ROOM = 300
_file: int | None = None


def keep_notes_in(path):
    """Write notes to this file from now on."""
    global _file
    _file = os.open(path, os.O_RDWR | os.O_CREAT)


def note(text):
    """Say what is about to be done, in place of what was said before."""
    if _file is not None:
        os.pwrite(_file, text.encode(errors="replace")[:_ROOM].ljust(_ROOM), 0)


def last_note(path):
    """What was said last."""
    return path.read_bytes().decode(errors="replace").strip() if path.exists() else ""
