"""Files of svmlight's and of Vowpal Wabbit's lines.

The compiled parser reads them (lazynet/kernels/lines.h) without the GIL; a line that is not as it
must be is refused with its file, line and column.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from typing import IO, Any

import numpy as np

from lazynet.data.chunks import Chunk, Passing, SoundChunk, csr, labels_matrix
from lazynet.data.compressed import (
    BLOCK,
    STDIN,
    Paths,
    beginning,
    files_of,
    identity_of,
    opened,
    read,
)
from lazynet.data.source import ROWS, Facts, Labels, Source
from lazynet.kernels.parser import GREATEST_COUNT, Parser
from lazynet.parameters import MOST_FEATURES, check_flag, check_integer, shown

#: The most columns whose numbers take 32 bits.
_WIDEST = 2**31 - 1


def filled(parser: Parser, file: IO[bytes], path: str, rows: int) -> Generator[None, None, None]:
    """Parse a file, and stop at each ``rows`` rows for somebody to take them."""
    text, last = beginning(file, path), False
    while not last:
        # A line that is longer than a block is read in ever larger pieces.
        more = read(file, path, max(BLOCK, len(text)))
        text, last, start = text + more, not more, 0
        while True:
            try:
                start = parser.parse(text, start, last, rows)
            except ValueError as error:
                if "," in str(error).rpartition(", found ")[2]:
                    raise ValueError(
                        f"{error}; commas belong to several labels a row (multilabel) or to a CSV "
                        "file (CSVFile, --format csv)"
                    ) from None
                raise
            if parser.n_rows < rows:
                break
            yield
        text = text[start:]


class LinesFile(Source):
    """What the files of both forms share."""

    def __init__(self, paths: Paths, multilabel: bool, n_labels: int | None) -> None:
        self.paths = files_of(paths)
        self.multilabel = check_flag("multilabel", multilabel)
        self._given_n_labels = None
        if n_labels is not None:
            if not self.multilabel:
                raise ValueError("n_labels is for multilabel=True alone")
            self._given_n_labels = check_integer("n_labels", n_labels, 1)
        self._begun = False

    def _parser(self) -> Parser:
        """A parser that knows all columns."""
        raise NotImplementedError

    def _filled(self, parser: Parser, rows: int) -> Generator[None, None, None]:
        """Parse all files; after each step there are ``rows`` rows to take, or the last ones."""
        if STDIN in self.paths:
            if self._begun:
                raise ValueError("paths: standard input can be read once; a file serves for more")
            self._begun = True
        for path in self.paths:
            parser.begin(path)
            with opened(path) as file, closing(filled(parser, file, path, rows)) as steps:
                yield from steps
        if parser.n_rows:
            yield

    def _scanned(self, parser: Parser, remedy: str) -> Facts:
        """What a pass over all files finds out; the columns are as ``parser`` counts them."""
        if STDIN in self.paths:
            raise ValueError(f"paths: standard input cannot be read beforehand; give {remedy}")
        n_rows = n_values = 0
        found = Labels()
        for _ in self._filled(parser, ROWS):
            _, _, values, labels, _ = parser.take()
            n_values += len(values)
            n_rows += len(labels[0] if self.multilabel else labels)
            if not self.multilabel:
                found.add(labels)
        return Facts(
            n_rows,
            n_values,
            parser.greatest_column + 1,
            self._given_n_labels or max(parser.greatest_label + 1, 1) if self.multilabel else None,
            None if self.multilabel else found.classes,
            None if self.multilabel else found.counts,
        )

    def _label_limit(self) -> int:
        """The number of labels that was given, or as many as there may be."""
        return self._given_n_labels or GREATEST_COUNT

    def _find_labels(self) -> int | None:
        return self._given_n_labels or (self.facts().n_labels if self.multilabel else None)

    def _pass(self, rows: int, epoch: int) -> Passing:
        with closing(self._to_learn(rows, epoch)) as chunks:
            for chunk in chunks:
                yield Chunk(*chunk)

    def _to_learn(self, rows: int, epoch: int) -> Passing:
        n_labels = self.n_labels
        parser, n_features = self._parser(), self.n_features
        for _ in self._filled(parser, rows):
            indptr, indices, values, labels, weight = parser.take()
            X = csr(indptr, indices, values, n_features)
            y = labels if n_labels is None else labels_matrix(labels[0], labels[1], n_labels)
            # The parser lets no other rows through.
            yield SoundChunk(X, y, weight)

    def _parameters(self) -> dict[str, Any]:
        """What else decides which rows come."""
        return {"multilabel": self.multilabel, "n_labels": self._given_n_labels}

    def _find_identity(self) -> dict[str, Any] | None:
        files = [identity_of(path) for path in self.paths]
        if None in files:
            return None
        return {"form": type(self).__name__, **self._parameters(), "files": files}


class SvmlightFile(LinesFile):
    """Rows of files of svmlight's form, packed or not.

    A line is ``label column:value column:value # comment``, with any number of columns.

    ``paths`` is a name, a pattern, or a list of them; ``"-"`` is standard input.  ``zero_based``
    says whether the first column is 0 or 1; ``"auto"`` looks through all files, and takes 1 where
    no row has a column 0.  Without ``n_features``, the greatest column of all files counts.  With
    ``multilabel``, a row has any number of labels, integers from 0 on with commas between them.
    The number of a query (``qid:``) is read over.  A column that a row has twice gets the sum.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "words.svm")
    >>> _ = path.write_text("1 1:2 3:0.5\\n-1 2:1 # a comment\\n")
    >>> source = SvmlightFile(path)
    >>> for X, y, weight in source.chunks(rows=100):
    ...     print(X.toarray(), y)
    [[2.  0.  0.5]
     [0.  1.  0. ]] [ 1. -1.]
    >>> source.n_features, source.n_labels, source.facts().classes
    (3, None, (-1.0, 1.0))
    >>> path.write_text("1 1:2 3:x\\n") and list(source.chunks())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...words.svm: line 1, column 9: expected a finite number such as 0.5, found 'x'
    >>> folder.cleanup()
    """

    def __init__(
        self,
        paths: Paths,
        *,
        zero_based: bool | str = "auto",
        n_features: int | None = None,
        multilabel: bool = False,
        n_labels: int | None = None,
    ) -> None:
        super().__init__(paths, multilabel, n_labels)
        if not isinstance(zero_based, str) or zero_based != "auto":
            if not isinstance(zero_based, (bool, np.bool_)):
                raise ValueError(
                    f'zero_based must be True, False or "auto", got {shown(zero_based)}'
                )
            zero_based = bool(zero_based)
        self.zero_based = zero_based
        self._given_n_features = None
        if n_features is not None:
            self._given_n_features = check_integer("n_features", n_features, 1, MOST_FEATURES)
        self._base: int | None = None if zero_based == "auto" else int(not zero_based)

    def _find_facts(self) -> Facts:
        # What is known already is refused by the first pass as by all others.
        known = self._given_n_features if self._base is not None else None
        parser = Parser(
            several=self.multilabel,
            base=self._base or 0,
            n_columns=known or MOST_FEATURES,
            n_labels=self._label_limit(),
        )
        remedy = "zero_based and n_features"
        found = self._scanned(parser, f"{remedy} and n_labels" if self.multilabel else remedy)
        n_features = found.n_features
        if self._base is None:
            self._base = int(parser.greatest_column >= 0 and parser.least_column > 0)
            n_features -= self._base
        return Facts(
            found.n_rows,
            found.n_values,
            self._given_n_features or max(n_features, 1),
            found.n_labels,
            found.classes,
            found.counts,
        )

    def _find_features(self) -> int:
        return self._given_n_features or self.facts().n_features

    def _before_counting(self) -> SvmlightFile | None:
        known = self._given_n_features is not None or self._facts is not None
        uncounted_labels = self.multilabel and self._given_n_labels is None
        if self._base is None or known or uncounted_labels:
            return None
        return SvmlightFile(
            self.paths,
            zero_based=not self._base,
            n_features=_WIDEST,
            multilabel=self.multilabel,
            n_labels=self._given_n_labels,
        )

    def _parser(self) -> Parser:
        if self._base is None:
            self.facts()
        assert self._base is not None
        return Parser(
            several=self.multilabel,
            base=self._base,
            n_columns=self.n_features,
            n_labels=GREATEST_COUNT if (n_labels := self.n_labels) is None else n_labels,
        )

    def _parameters(self) -> dict[str, Any]:
        own = {"zero_based": self.zero_based, "n_features": self._given_n_features}
        return {**super()._parameters(), **own}


class VWFile(LinesFile):
    """Rows of files of Vowpal Wabbit's form: ``label [importance] [tag]|namespace feature:value``.

    Features are hashed as Vowpal Wabbit hashes them (``--hash strings``) to ``bits`` bits: a
    number of a feature is its hash, a word is hashed by MurmurHash3 from the hash of its
    namespace.  No constant is added.  Importances are the weights of the rows.  Values keep all
    their digits, which Vowpal Wabbit rounds to float32.  With ``multilabel``, a row has labels
    with commas between them, or none.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "clicks.vw")
    >>> _ = path.write_text("1 0.5 |f a:2\\n-1 | 7 8:0.5\\n")
    >>> for X, y, weight in VWFile(path).chunks():
    ...     print(X.indices, X.data, y, weight)
    [14355     7     8] [2.  1.  0.5] [ 1. -1.] [0.5 1. ]
    >>> VWFile(path).n_features
    262144
    >>> folder.cleanup()
    """

    def __init__(
        self,
        paths: Paths,
        *,
        bits: int = 18,
        multilabel: bool = False,
        n_labels: int | None = None,
    ) -> None:
        super().__init__(paths, multilabel, n_labels)
        self.bits = check_integer("bits", bits, 1, 32)

    def _find_features(self) -> int:
        return int(2**self.bits)

    def _find_facts(self) -> Facts:
        parser = Parser(
            vowpal=True, several=self.multilabel, bits=self.bits, n_labels=self._label_limit()
        )
        found = self._scanned(parser, "n_labels")
        return replace(found, n_features=self.n_features)

    def _parser(self) -> Parser:
        n_labels = self.n_labels
        return Parser(
            vowpal=True,
            several=self.multilabel,
            bits=self.bits,
            n_labels=GREATEST_COUNT if n_labels is None else n_labels,
        )

    def _parameters(self) -> dict[str, Any]:
        return {**super()._parameters(), "bits": self.bits}
