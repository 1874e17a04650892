"""Lines of svmlight's and Vowpal Wabbit's text, read by regular expressions.

The kernel lazynet/kernels/text.pyx must give the same rows, and refuse the same lines:
tests/exact/test_parser.py.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from sklearn.utils import murmurhash3_32

_SPACES = b" \t"
_BETWEEN = re.compile(rb"[ \t]+")
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class BadLine(ValueError):
    """A line that cannot be read, counted from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


class Row(NamedTuple):
    """One example: its label or labels, how much it counts, and its values by column."""

    label: float | list[int]
    importance: float
    entries: dict[int, float]


def murmur(text: bytes, seed: int) -> int:
    """MurmurHash3 of 32 bits, for x86.

    >>> murmur(b"test", 0)
    3127628307
    """
    return int(murmurhash3_32(text, seed & 0xFFFFFFFF, positive=True))


def finite(number: float) -> float:
    """The number, unless it is infinite."""
    if math.isinf(number):
        raise ValueError
    return number


def matched(pattern: bytes, word: bytes) -> re.Match[bytes]:
    """The match of a whole word."""
    found = re.fullmatch(pattern, word, re.DOTALL)
    if found is None:
        raise ValueError
    return found


class PlainParser:
    """Rows from a whole text.

    >>> PlainParser().rows(b"1 0:2 5:0.5 # words\\n-1 5:1")[1]
    Row(label=-1.0, importance=1.0, entries={5: 1.0})
    >>> PlainParser(vowpal=True).rows(b"1 |f a:2")[0].entries
    {14355: 2.0}
    """

    def __init__(
        self,
        *,
        vowpal: bool = False,
        several: bool = False,
        base: int = 0,
        n_columns: int = 2**62,
        n_labels: int = 2**62,
        bits: int = 18,
    ) -> None:
        self.vowpal, self.several, self.base, self.bits = vowpal, several, base, bits
        self.n_columns, self.n_labels = n_columns, n_labels

    def rows(self, text: bytes) -> list[Row]:
        """Every row of the text; the first line that is none raises BadLine.

        >>> PlainParser(several=True).rows(b"3,1 0:2")[0].label
        [3, 1]
        """
        found = []
        for number, ended in enumerate(text.split(b"\n"), 1):
            line = ended.rstrip(b"\r")
            try:
                if b"\r" in line:
                    raise ValueError
                row = self.vowpal_row(line) if self.vowpal else self.svmlight_row(line)
            except ValueError:
                raise BadLine(number) from None
            if row is not None:
                found.append(row)
        return found

    # --- pieces ---

    def number(self, word: bytes) -> float:
        """A number, as Python's ``float`` understands it."""
        return finite(float(matched(_NUMBER.pattern, word)[0]))

    def integer(self, word: bytes, least: int, n: int) -> int:
        """One of ``n`` numbers from ``least`` on, in at most 18 digits."""
        found = int(matched(rb"\d{1,18}", word)[0])
        if not least <= found < least + n:
            raise ValueError
        return found

    def label(self, word: bytes) -> float | list[int]:
        """A number, or labels with commas between them, none of them twice."""
        if not self.several:
            return self.number(word)
        labels = [self.integer(part, 0, self.n_labels) for part in word.split(b",")]
        if len(set(labels)) < len(labels):
            raise ValueError
        return labels

    def row(self, label: float | list[int], importance: float, pairs: list[tuple]) -> Row:
        """A row in which the values of one column are added up."""
        entries: dict[int, float] = {}
        for column, value in pairs:
            entries[column] = entries[column] + value if column in entries else value
        for total in entries.values():
            finite(total)
        return Row(label, importance, entries)

    # --- svmlight ---

    def svmlight_row(self, line: bytes) -> Row | None:
        """The row of a line; None for a line of comments."""
        words = [word for word in _BETWEEN.split(line.partition(b"#")[0]) if word]
        if not words:
            return None
        unlabelled = self.several and re.match(rb"q|\d*:", words[0])
        label = [] if unlabelled else self.label(words.pop(0))
        if words and words[0].startswith(b"qid:"):
            matched(rb"qid:\d+", words.pop(0))
        pairs = []
        for word in words:
            column, value = matched(rb"([^:]*):([^:]*)", word).groups()
            place = self.integer(column, self.base, self.n_columns) - self.base
            pairs.append((place, self.number(value)))
        return self.row(label, 1.0, pairs)

    # --- Vowpal Wabbit ---

    def hash_of_name(self, name: bytes, seed: int) -> int:
        """The hash of a name: for digits alone, their number plus the seed."""
        name = name.strip(bytes(range(33)))
        if re.fullmatch(rb"\d*", name):
            return int(name or b"0") + seed
        return murmur(name, seed)

    def named(self, word: bytes) -> tuple[bytes, float]:
        """A name and the number behind its colon, 1 without one."""
        name, colon, number = word.partition(b":")
        return name, self.number(number) if colon else 1.0

    def vowpal_row(self, line: bytes) -> Row | None:
        """The row of a line; None for an empty line."""
        if not line.strip(_SPACES):
            return None
        head, *spaces = line.split(b"|")
        if not spaces:
            raise ValueError
        # The last word touches the bar and is the tag; a tag with a quote may stand before the bar.
        *words, tag = _BETWEEN.split(head.lstrip(_SPACES))
        if not tag and words and words[-1].startswith(b"'"):
            words.pop()
        if len(words) > 2 or not (words or self.several):
            raise ValueError
        label = self.label(words[0]) if words else []
        importance = self.number(words[1]) if len(words) > 1 else 1.0
        if len(words) > 1 and words[1].startswith(b"-"):
            raise ValueError
        return self.row(label, importance, [pair for part in spaces for pair in self.pairs(part)])

    def pairs(self, text: bytes) -> list[tuple[int, float]]:
        """The columns and values of a namespace that are not 0."""
        space, *features = _BETWEEN.split(text)
        if space.startswith(b":"):
            raise ValueError
        name, factor = self.named(space)
        seed, unnamed, found = self.hash_of_name(name, 0) if name else 0, 0, []
        for feature in filter(None, features):
            name, value = self.named(feature)
            column = self.hash_of_name(name, seed) if name else seed + unnamed
            unnamed += not name
            if finite(value * factor):
                found.append((column % 2**self.bits, value * factor))
        return found
