"""Lines of svmlight's and Vowpal Wabbit's text, read byte by byte in plain Python.

The kernel lazynet/kernels/text.pyx must give the same rows, and refuse the same text at
the same line and column: tests/exact/test_parser.py.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

_SPACES = b" \t\r"
_NUMBER = re.compile(rb"[+-]?(?P<digits>\d+\.?\d*|\.\d+)(?P<exponent>[eE][+-]?\d+)?")


class BadLine(ValueError):
    """A line that cannot be read, and where: both counted from 1."""

    def __init__(self, line: int, column: int, expected: str) -> None:
        super().__init__(f"line {line}, column {column}: expected {expected}")
        self.line, self.column = line, column


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

    def rotated(word: int, bits: int) -> int:
        return (word << bits | word >> (32 - bits)) & 0xFFFFFFFF

    def mixed(word: int) -> int:
        return rotated(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF

    state = seed & 0xFFFFFFFF
    whole = len(text) // 4 * 4
    for i in range(0, whole, 4):
        state ^= mixed(int.from_bytes(text[i : i + 4], "little"))
        state = (rotated(state, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= mixed(int.from_bytes(text[whole:], "little"))
    state ^= len(text)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ state >> shift) * factor & 0xFFFFFFFF
    return state


class PlainParser:
    """Rows from a whole text.

    >>> PlainParser().rows(b"1 0:2 5:0.5 # words\\n-1 5:1")
    [Row(label=1.0, importance=1.0, entries={0: 2.0, 5: 0.5}), Row(label=-1.0, importance=1.0, entries={5: 1.0})]
    >>> PlainParser(vowpal=True).rows(b"1 |f a:2")[0].entries
    {14355: 2.0}
    """  # noqa: E501

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
        self.text, self.at, self.number_of_line = b"", 0, 0

    def rows(self, text: bytes) -> list[Row]:
        """Every row of the text.

        >>> PlainParser(several=True).rows(b"3,1 0:2")[0].label
        [3, 1]
        """
        found = []
        for number, line in enumerate(text.split(b"\n"), 1):
            self.text, self.at, self.number_of_line = line, 0, number
            row = self.vowpal_row() if self.vowpal else self.svmlight_row()
            if row is not None:
                found.append(row)
        return found

    # --- where the line is read ---

    def byte(self) -> bytes:
        """The byte that comes next; none at the end of the line."""
        return self.text[self.at : self.at + 1]

    def skip(self, which: bytes) -> None:
        """Go behind the bytes that are among these."""
        while self.byte() and self.byte() in which:
            self.at += 1

    def word(self, ends: bytes) -> bytes:
        """The bytes up to one of these, or to the end of the line."""
        start = self.at
        while self.byte() and self.byte() not in ends:
            self.at += 1
        return self.text[start : self.at]

    def bad(self, expected: str, at: int | None = None) -> BadLine:
        """The error for the byte that comes next, or for another one."""
        return BadLine(self.number_of_line, (self.at if at is None else at) + 1, expected)

    # --- pieces ---

    def number(self) -> float:
        """A number, as Python's ``float`` understands it."""
        start = self.at
        found = _NUMBER.match(self.text, start)
        if not found:
            self.skip_sign()
            self.at += self.byte() == b"."
            raise self.bad("a number")
        self.at = found.end()
        if not found["exponent"] and self.byte() in (b"e", b"E"):
            self.at += 1
            self.skip_sign()
            raise self.bad("an exponent")
        if math.isinf(float(found[0])):
            raise self.bad("a number that is not so large", start)
        return float(found[0])

    def skip_sign(self) -> None:
        """Go behind a sign."""
        self.at += self.byte() in (b"+", b"-")

    def integer(self, least: int, most: int) -> int:
        """Digits that make a number between these."""
        start = self.at
        digits = self.word_of_digits()
        if not digits:
            raise self.bad("digits")
        # Numbers of more than 18 digits are refused whatever the bounds are.
        if len(digits) > 18 or not least <= int(digits) <= most:
            raise self.bad(f"a number from {least} to {most}", start)
        return int(digits)

    def word_of_digits(self) -> bytes:
        """The digits that come next."""
        start = self.at
        self.skip(b"0123456789")
        return self.text[start : self.at]

    def labels(self) -> list[int]:
        """Labels with commas between them."""
        start = self.at
        labels = [self.integer(0, self.n_labels - 1)]
        while self.byte() == b",":
            self.at += 1
            labels.append(self.integer(0, self.n_labels - 1))
        if len(set(labels)) < len(labels):
            raise self.bad("labels that differ", start)
        return labels

    def add(self, entries: dict[int, float], column: int, value: float) -> None:
        """One more entry of a row; values of one column are added up."""
        entries[column] = entries[column] + value if column in entries else value

    def checked(self, row: Row) -> Row:
        """The row, unless values of one column have added up to infinity."""
        if all(map(math.isfinite, row.entries.values())):
            return row
        raise self.bad("a sum that is not so large", 0)

    # --- svmlight ---

    def end_of_word(self) -> None:
        """Refuse what is neither a space nor the end of what counts."""
        if self.byte() and self.byte() not in _SPACES + b"#":
            raise self.bad("a space")

    def svmlight_row(self) -> Row | None:
        """The row of a line; None for a line of comments."""
        self.skip(_SPACES)
        if self.byte() in (b"", b"#"):
            return None
        label: float | list[int]
        if not self.several:
            label = self.number()
            self.end_of_word()
        elif re.match(rb"q|\d*:", self.text[self.at :]):
            label = []
        else:
            label = self.labels()
            self.end_of_word()
        self.skip(_SPACES)
        if self.text.startswith(b"qid:", self.at):
            self.at += 4
            if not self.word_of_digits():
                raise self.bad("digits")
            self.end_of_word()
        entries: dict[int, float] = {}
        while True:
            self.skip(_SPACES)
            if self.byte() in (b"", b"#"):
                return self.checked(Row(label, 1.0, entries))
            start = self.at
            if not self.word_of_digits():
                raise self.bad("a column")
            if self.byte() != b":":
                raise self.bad("':'")
            self.at = start
            column = self.integer(self.base, self.base + self.n_columns - 1) - self.base
            self.at += 1
            value = self.number()
            self.end_of_word()
            self.add(entries, column, value)

    # --- Vowpal Wabbit ---

    def hash_of_name(self, name: bytes, seed: int) -> int:
        """The hash of a name: for digits alone, their number plus the seed."""
        name = name.strip(bytes(range(33)))
        if re.fullmatch(rb"\d*", name):
            return int(name or b"0") + seed
        return murmur(name, seed)

    def vowpal_row(self) -> Row | None:
        """The row of a line; None for an empty line."""
        if not self.text.strip(_SPACES):
            return None
        label, importance = self.vowpal_head()
        entries: dict[int, float] = {}
        while self.byte() == b"|":
            self.at += 1
            self.namespace(entries)
        return self.checked(Row(label, importance, entries))

    def vowpal_head(self) -> tuple[float | list[int], float]:
        """The label or labels, and the importance, in front of the first bar."""
        label: float | list[int] | None = [] if self.several else None
        importance, n_words = 1.0, 0
        while True:
            self.skip(_SPACES)
            start = self.at
            word = self.word(_SPACES + b"|")
            end = self.at
            if word.startswith(b"'"):
                self.skip(_SPACES)
                if self.byte() != b"|":
                    raise self.bad("'|' behind the tag")
            if not self.byte():
                raise self.bad("'|'")
            if self.byte() == b"|":
                break  # a word that touches the bar is a tag
            self.at = start
            if n_words == 0:
                label = self.labels() if self.several else self.number()
            elif n_words == 1:
                if word.startswith(b"-"):
                    raise self.bad("an importance that is not negative")
                importance = self.number()
            else:
                raise self.bad("'|'")
            if self.at != end:
                raise self.bad("a space")
            n_words += 1
        if label is None:
            raise self.bad("a label")
        return label, importance

    def end_of_feature(self) -> None:
        """Refuse what is neither a space nor a bar."""
        if self.byte() and self.byte() not in _SPACES + b"|":
            raise self.bad("a space or '|'")

    def namespace(self, entries: dict[int, float]) -> None:
        """The features up to the next bar."""
        if self.byte() == b":":
            raise self.bad("a namespace")
        factor, unnamed = 1.0, 0
        name = self.word(_SPACES + b"|:")
        seed = self.hash_of_name(name, 0) if name else 0
        if self.byte() == b":":
            self.at += 1
            factor = self.number()
            self.end_of_feature()
        while True:
            self.skip(_SPACES)
            if self.byte() in (b"", b"|"):
                return
            start = self.at
            name = self.word(_SPACES + b"|:")
            value = 1.0
            if self.byte() == b":":
                self.at += 1
                value = self.number()
                self.end_of_feature()
            value *= factor
            if math.isinf(value):
                raise self.bad("a number that is not so large", start)
            if name:
                hashed = self.hash_of_name(name, seed)
            else:
                hashed, unnamed = seed + unnamed, unnamed + 1
            if value:
                self.add(entries, hashed % 2**self.bits, value)
