"""Text files in the formats of svmlight and of Vowpal Wabbit.

The kernel lazynet/kernels/text.pyx parses the lines without the GIL.  An error names the file, the
line and the column.
"""

from __future__ import annotations

import copy
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from typing import Any, Self

import numpy as np

from lazynet.data.chunks import Chunk, Passing, csr, labels_matrix, rechunked
from lazynet.data.files import FilesSource, Paths, ahead
from lazynet.data.source import Facts, Tally
from lazynet.kernels.text import GREATEST_COUNT, parse
from lazynet.parameters import MOST_FEATURES, check_flag, check_integer, shown


class LinesFile(FilesSource):
    """The base of the sources of text files."""

    def __init__(self, paths: Paths, multilabel: bool, n_labels: int | None) -> None:
        super().__init__(paths)
        self.multilabel = check_flag("multilabel", multilabel)
        if n_labels is not None:
            if not self.multilabel:
                raise ValueError("n_labels is for multilabel=True alone")
            n_labels = check_integer("n_labels", n_labels, 1)
        self._n_labels = n_labels

    @property
    def n_labels(self) -> int | None:
        """The number of labels, as given or as counted by ``facts``."""
        return self._n_labels or (self.facts().n_labels if self.multilabel else None)

    def _parsed(self, n_features: int, n_labels: int, **form: Any) -> Generator[Chunk, None, None]:
        """The rows of all files; ``form`` holds the arguments of ``parse`` about the format."""
        for path in self.paths:
            n_lines = 0
            with closing(self._texts(path)) as texts:
                for text in texts:
                    indptr, columns, values, labels, weight, n_parsed = parse(
                        text,
                        several=self.multilabel,
                        n_labels=self._n_labels or GREATEST_COUNT,
                        name=path,
                        n_lines_before=n_lines,
                        **form,
                    )
                    y = labels_matrix(labels[0], labels[1], n_labels) if self.multilabel else labels
                    n_lines += n_parsed
                    yield Chunk(csr(indptr, columns, values, n_features), y, weight)

    def _form(self) -> dict[str, Any]:
        """The arguments of ``parse`` about the format, in one pass."""
        raise NotImplementedError

    @property
    def _counts(self) -> tuple[bool, bool]:
        """Whether the rows give the number of columns of X, and of y."""
        return False, self.multilabel and self._n_labels is None

    def _found_base(self) -> int | None:
        """The first column that the rows give; None if it is given, or if no row has a column."""
        return None

    def _settled(self, base: int, n_features: int, n_labels: int | None) -> Self:
        """The same rows with these columns, where the rows would give them."""
        source = copy.copy(self)
        source._facts = None
        source._n_labels = n_labels
        return source

    def _pass(self, rows: int, epoch: int) -> Passing:
        chunks = self._parsed(self.n_features, self.n_labels or 0, **self._form())
        return ahead(rechunked(chunks, rows))

    def _scanned(self, n_features: int, **form: Any) -> tuple[Facts, int]:
        """The facts of all rows, with columns up to the greatest of a row; and the least column."""
        tally, first, stop, n_labels = Tally(), n_features, 0, 1
        for chunk in self._parsed(n_features, GREATEST_COUNT, **form):
            tally.add(chunk)
            first = min(first, int(chunk.X.indices.min(initial=n_features)))
            stop = max(stop, int(chunk.X.indices.max(initial=-1)) + 1)
            if self.multilabel:
                n_labels = max(n_labels, int(chunk.y.indices.max(initial=-1)) + 1)
        return tally.facts(stop, (self._n_labels or n_labels) if self.multilabel else None), first

    def _options(self) -> dict[str, Any]:
        return {"multilabel": self.multilabel, "n_labels": self._n_labels}


class SvmlightFile(LinesFile):
    """Rows of files in svmlight's format, packed or not.

    A line is ``label column:value column:value # comment``, with any number of columns.
    ``zero_based`` says whether the first column is 0 or 1; with ``"auto"`` the source reads all
    files, and the first column is 1 if no row has a column 0.  Without ``n_features``, the greatest
    column of all files gives the number.  With ``multilabel``, a row has any number of labels,
    integers from 0 on with commas between them.  The number of a query (``qid:``) is ignored.  If a
    row has a column twice, its values are added.

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
    >>> path.write_text("1 1:2 3:x\\n") and SvmlightFile(path).facts()  # doctest: +ELLIPSIS
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
        self._base: int | None = None
        if isinstance(zero_based, (bool, np.bool_)):
            zero_based = bool(zero_based)
            self._base = int(not zero_based)
        elif not isinstance(zero_based, str) or zero_based != "auto":
            raise ValueError(f'zero_based must be True, False or "auto", got {shown(zero_based)}')
        self.zero_based = zero_based
        if n_features is not None:
            n_features = check_integer("n_features", n_features, 1, MOST_FEATURES)
        self._n_features = n_features

    @property
    def n_features(self) -> int:
        """The number of columns, as given or as counted by ``facts``."""
        return self._n_features or self.facts().n_features

    @property
    def _counts(self) -> tuple[bool, bool]:
        return self._n_features is None, super()._counts[1]

    def _found_base(self) -> int | None:
        return self._base if self.zero_based == "auto" and self.facts().n_values else None

    def _settled(self, base: int, n_features: int, n_labels: int | None) -> Self:
        source = super()._settled(base, n_features, n_labels)
        source._n_features = n_features
        if self.zero_based == "auto":
            source._base = base
        return source

    def _find_facts(self) -> Facts:
        # Columns from 1 on need one more column if they are read as columns from 0 on.
        room = MOST_FEATURES if self._base is None else self._n_features or MOST_FEATURES
        facts, first = self._scanned(room, base=self._base or 0, n_columns=room)
        n_features = facts.n_features
        if self._base is None:
            self._base = int(0 < first < n_features)
            n_features -= self._base
        return replace(facts, n_features=self._n_features or max(n_features, 1))

    def _form(self) -> dict[str, Any]:
        if self._base is None:
            self.facts()
        return {"base": self._base, "n_columns": self.n_features}

    def _options(self) -> dict[str, Any]:
        columns = {"zero_based": self.zero_based, "n_features": self._n_features}
        return {**super()._options(), **columns}


class VWFile(LinesFile):
    """Rows of files in Vowpal Wabbit's format.

    A line is ``label [importance] [tag]|namespace feature:value``.  Features are hashed to ``bits``
    bits as by Vowpal Wabbit (``--hash strings``): the hash of a feature that is a number is this
    number, and a word is hashed by MurmurHash3 from the hash of its namespace.  No constant is
    added.  The importances are the sample weights.  Values have all their digits; Vowpal Wabbit
    rounds them to float32.  With ``multilabel``, a row has any number of labels with commas between
    them.

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
        self, paths: Paths, *, bits: int = 18, multilabel: bool = False, n_labels: int | None = None
    ) -> None:
        super().__init__(paths, multilabel, n_labels)
        self.bits = check_integer("bits", bits, 1, 32)

    @property
    def n_features(self) -> int:
        """The number of hashes."""
        return int(2**self.bits)

    def _find_facts(self) -> Facts:
        facts, _ = self._scanned(self.n_features, **self._form())
        return replace(facts, n_features=self.n_features)

    def _form(self) -> dict[str, Any]:
        return {"vowpal": True, "bits": self.bits}

    def _options(self) -> dict[str, Any]:
        return {**super()._options(), "bits": self.bits}
