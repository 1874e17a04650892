"""Damage of files: flipped bits, lost ends, lost and doubled lines, junk; documents that lie."""

import copy
import random
import warnings

import numpy as np
from hypothesis import strategies as st

#: Bytes that mean something to a reader of numbers, JSON, XML or gzip.
_TELLING = b"0123456789-+.eE,:;\"'{}[]()<>&/\\# \t\r\n\x00\x1f\x8b\xff"


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one random damage; never what was given.

    >>> damaged(b"1 2:3\\n", random.Random(0)) != b"1 2:3\\n"
    True
    """
    while True:
        found = rng.choice(KINDS)(data, rng)
        if found != data:
            return found


def damages(data, n, seed=0):
    """``n`` damages of some bytes, every kind among them, the same ones every time."""
    rng = random.Random(seed)
    found = [kind(data, rng) for kind in KINDS for _ in range(5)]
    found += [damaged(data, rng) for _ in range(n - len(found))]
    return [other for other in found if other != data]


def flip(data: bytes, rng: random.Random) -> bytes:
    """One bit of one byte is turned over."""
    if not data:
        return b"\x00"
    at = rng.randrange(len(data))
    return _put(data, at, at + 1, bytes([data[at] ^ 1 << rng.randrange(8)]))


def replace(data: bytes, rng: random.Random) -> bytes:
    """One byte becomes another, which may well be a digit or a bracket."""
    at = rng.randrange(len(data) + 1)
    return _put(data, at, at + 1, bytes([rng.choice(_TELLING)]))


def change_digit(data: bytes, rng: random.Random) -> bytes:
    """A digit becomes another digit, which is the damage that is hardest to see."""
    digits = [at for at, byte in enumerate(data) if 48 <= byte < 58]
    if not digits:
        return replace(data, rng)
    at = rng.choice(digits)
    return _put(data, at, at + 1, b"%d" % rng.randrange(10))


def truncate(data: bytes, rng: random.Random) -> bytes:
    """The end is lost, as on a full disk or a lost connection."""
    return data[: rng.randrange(len(data) + 1)]


def cut(data: bytes, rng: random.Random) -> bytes:
    """A piece is lost from anywhere."""
    start, stop = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return _put(data, start, min(stop, start + rng.choice((1, 10, 1000))), b"")


def insert(data: bytes, rng: random.Random) -> bytes:
    """Junk stands between what was there."""
    at = rng.randrange(len(data) + 1)
    length = rng.choice((1, 2, 10, 300))
    junk = rng.randbytes(length), bytes(rng.choices(_TELLING, k=length)), bytes(length)
    return _put(data, at, at, rng.choice(junk))


def change_lines(data: bytes, rng: random.Random) -> bytes:
    """A line is lost, or stands at another place, too."""
    lines = data.splitlines(keepends=True) or [b"\n"]
    line = lines[rng.randrange(len(lines))]
    if rng.randrange(2):
        lines.remove(line)
    else:
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"".join(lines)


def become_other(data: bytes, rng: random.Random) -> bytes:
    """The file is something else altogether: nothing, JSON of another form, junk."""
    del data
    return rng.choice(
        (b"", b"\n", b"[]\n", b"null\n", b"1\n", b"{}\n", b"[" * 100_000, b"\xff\xfe")
    )


KINDS = flip, replace, change_digit, truncate, cut, insert, change_lines, become_other


def _put(data: bytes, start: int, stop: int, new: bytes) -> bytes:
    return data[:start] + new + data[stop:]


# --- documents with other values -----------------------------------------------------------------

NUMBERS = [0, 1, -1, 3, 2**31, -(2**31), 2**62, np.nan, np.inf, -np.inf, 1e300, 5e-324]
TAGS = ["$array", "$tuple", "$dict", "$csr", "$labels", "$object", "$random_state"]
VALUES = [
    ..., None, True, 0, -1, 30, 2**63, 10**30, 0.5, "", "coef", "LazyNetRegressor", "affine",
    "float32", [], [1], {}, *({tag: value} for tag in TAGS for value in ("coef", 1, [1, 2], [])),
]  # fmt: skip
_VALUE = st.sampled_from(VALUES)


def change(document, place, value):
    """A copy of the document with another value at a place; ``...`` deletes."""
    found = copy.deepcopy(document)
    inner = found
    for key in place[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return found


def one_change(data, document, arrays):
    """A document and arrays after a change that Hypothesis draws.

    Returns the place and the value of a node that is another one or lost; None if it is an entry of
    an array.
    """
    if data.draw(st.booleans()):
        place, value = data.draw(st.sampled_from([*nodes_of(document)])), data.draw(_VALUE)
        return change(document, place, value), arrays, (place, value)
    name = data.draw(st.sampled_from([key for key in sorted(arrays) if arrays[key].size]))
    array = arrays[name].copy()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = np.array(data.draw(st.sampled_from(NUMBERS))).astype(array.dtype)
    array.reshape(-1)[data.draw(st.integers(0, array.size - 1))] = value
    return document, {**arrays, name: array}, None


def nodes_of(value, place=()):
    """The places of all nodes of a document but the document itself."""
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*place, key)
            yield from nodes_of(part, (*place, key))
