"""Raw text through a vectorizer of scikit-learn, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer

from lazynet.params import shown
from lazynet.streams.chunks import Chunk, Passing, csr, rechunked
from lazynet.streams.opening import STDIN, Paths, files_of, lines_of
from lazynet.streams.source import Source

#: Documents that the vectorizer gets at a time.
DOCUMENTS = 1024


class Documents(Source):
    """A document a line, behind its label and a tab, as rows of a vectorizer.

    ``vectorizer`` must have learned its words already, or learn none: ``HashingVectorizer``, a
    ``TfidfVectorizer`` that is fitted, a ``FeatureHasher``, or another object with ``transform``.
    A ``FeatureHasher`` gets the words of each document, ``split(text)``.

    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "talk.txt")
    >>> _ = path.write_text("1\\tgood good fun\\n0\\tno fun\\n")
    >>> hasher = HashingVectorizer(n_features=8, norm=None, alternate_sign=False)
    >>> for X, y, weight in Documents(path, hasher).chunks():
    ...     print(X.toarray(), y)
    [[0. 3. 0. 0. 0. 0. 0. 0.]
     [0. 1. 0. 0. 0. 0. 1. 0.]] [1. 0.]
    >>> folder.cleanup()
    """

    def __init__(
        self,
        paths: Paths,
        vectorizer: Any = None,
        *,
        split: Callable[[str], Iterable[str]] = str.split,
        encoding: str = "utf-8",
    ) -> None:
        self.paths, self.split, self.encoding = files_of(paths), split, encoding
        self.vectorizer = HashingVectorizer() if vectorizer is None else vectorizer
        if not hasattr(self.vectorizer, "transform"):
            raise TypeError(f"vectorizer must have a method transform, got {shown(vectorizer)}")
        self._begun = False
        self._n_features = int(self._rows_of([""]).shape[1])

    def _find_features(self) -> int:
        return self._n_features

    def _rows_of(self, texts: list[str]) -> sparse.csr_matrix:
        given: list[Any] = list(texts)
        if isinstance(self.vectorizer, FeatureHasher):
            given = [self.split(text) for text in texts]
        X = sparse.csr_matrix(self.vectorizer.transform(given))
        return csr(X.indptr, X.indices, X.data, X.shape[1])

    def _documents(self, path: str) -> Generator[tuple[float, str], None, None]:
        """Label and text of each line; an error tells file and line."""
        with closing(lines_of(path)) as lines:
            for number, line in lines:
                label, tab, text = line.partition(b"\t")
                try:
                    if not tab:
                        raise ValueError("expected a label, a tab and a text")
                    if b"_" in label:  # which Python's float would take
                        raise ValueError(f"expected a number, found {label!r}")
                    found = float(label)
                    if not np.isfinite(found):
                        raise ValueError(f"expected a finite label, found {label!r}")
                    yield found, text.decode(self.encoding)
                except ValueError as error:
                    raise ValueError(f"{path}: line {number}: {error}") from None

    def _all(self) -> Passing:
        if STDIN in self.paths:
            if self._begun:
                raise ValueError("paths: standard input can be read once; a file serves for more")
            self._begun = True
        for path in self.paths:
            labels: list[float] = []
            texts: list[str] = []
            with closing(self._documents(path)) as documents:
                for label, text in documents:
                    labels.append(label)
                    texts.append(text)
                    if len(texts) == DOCUMENTS:
                        yield Chunk(self._rows_of(texts), np.array(labels), None)
                        labels, texts = [], []
            if texts:
                yield Chunk(self._rows_of(texts), np.array(labels), None)

    def _pass(self, rows: int, epoch: int) -> Passing:
        return rechunked(self._all(), rows)
