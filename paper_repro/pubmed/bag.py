"""A bag of words from PubMed files: counts over title and abstract, and MeSH headings."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from paper_repro.damaged import DamagedFile
from paper_repro.pubmed.citations import Citation, Deleted, Skipped, read_citations

NO_WORDS = "no word that others have"


@dataclass
class Tally:
    """Counts of citations: seen = kept + skipped + superseded + deleted."""

    files: int = 0
    seen: int = 0
    kept: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    superseded: int = 0
    deleted: int = 0
    damaged: list[tuple[str, str]] = field(default_factory=list)
    words_before: int = 0
    words: int = 0
    #: the words that are left of these, where only the most frequent ones are kept
    most_frequent_words: int | None = None

    def skip(self, reason: str, times: int = 1) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + times


@dataclass(frozen=True)
class Bag:
    """A row per citation: counts of words ``X``, and 0/1 whether indexed with a descriptor."""

    X: sparse.csr_matrix
    vocabulary: list[str]
    pmids: NDArray[np.int64]
    mesh: sparse.csr_matrix
    descriptors: list[tuple[str, str]]
    tally: Tally
    min_document_frequency: int

    def indexed(self) -> Bag:
        """The citations that have headings.

        No indexer has read a citation without headings yet: it may be about a heading all the same.
        """
        rows = np.diff(self.mesh.indptr) > 0
        return replace(self, X=self.X[rows], pmids=self.pmids[rows], mesh=self.mesh[rows])

    def label_counts(self) -> NDArray[np.int64]:
        """How many citations each descriptor has."""
        return np.bincount(self.mesh.indices, minlength=self.mesh.shape[1]).astype(np.int64)

    def most_frequent(self, k: int) -> NDArray[np.int64]:
        """Columns of ``mesh``, most frequent first; equally frequent ones by UI."""
        # Descriptors are in the order of their UI, and the sort is stable.
        return np.argsort(-self.label_counts(), kind="stable")[:k].astype(np.int64)

    def top_labels(self, k: int) -> tuple[NDArray[np.int8], list[tuple[str, str]]]:
        """The indicator matrix of the k most frequent descriptors, and the descriptors."""
        columns = self.most_frequent(k)
        return self.mesh[:, columns].toarray(), [self.descriptors[i] for i in columns]


def collect(
    paths: Iterable[str | Path],
    *,
    min_document_frequency: int = 2,
    abstracts: int | None = None,
    words: int | None = None,
) -> Bag:
    """Count the words of the citations of the files, in the order of the files.

    The highest version of a citation counts, and among equal versions the last.  The tally notes a
    damaged file; its citations before the damage count.  Words that fewer than
    ``min_document_frequency`` of the remaining citations have are left out.  With ``abstracts``
    nothing is read after so many citations with an abstract are in force.  With ``words`` so many
    words that occur most often are kept; of equally frequent ones the first by alphabet.
    """
    for name, value in (
        ("min_document_frequency", min_document_frequency),
        ("abstracts", abstracts),
        ("words", words),
    ):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    ledger = _Ledger(abstracts)
    vectorizer = CountVectorizer(dtype=np.float64)
    try:
        X = vectorizer.fit_transform(ledger.texts(paths))
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        problem = "no word" if ledger.pmids else "no citation with an abstract"
        raise ValueError(_nothing(ledger.tally, problem)) from error
    rows = ledger.current_rows()
    if len(rows) < X.shape[0]:
        X = X[rows]
    frequencies = np.bincount(X.indices, minlength=X.shape[1])
    columns = np.flatnonzero(frequencies >= min_document_frequency)
    enough = len(columns)
    if words is not None:
        occurrences = np.bincount(X.indices, weights=X.data, minlength=X.shape[1])[columns]
        # The vocabulary is in the order of the alphabet, and the sort is stable.
        columns = np.sort(columns[np.argsort(-occurrences, kind="stable")[:words]])
    X = X[:, columns]
    with_words = np.diff(X.indptr) > 0
    tally = ledger.tally
    if wordless := int((~with_words).sum()):
        X, rows = X[with_words], rows[with_words]
        tally.skip(NO_WORDS, wordless)
    tally.kept = len(rows)
    tally.words_before = int((frequencies > 0).sum())
    tally.words = enough
    tally.most_frequent_words = None if words is None else len(columns)
    if not tally.kept:
        problem = f"no word that {min_document_frequency} citations have"
        raise ValueError(_nothing(tally, problem))
    X.sort_indices()
    X.indices = X.indices.astype(np.int32, copy=False)
    mesh, descriptors = ledger.mesh(rows)
    return Bag(
        X,
        vectorizer.get_feature_names_out()[columns].tolist(),
        np.array(ledger.pmids, dtype=np.int64)[rows],
        mesh,
        descriptors,
        tally,
        min_document_frequency,
    )


class _Ledger:
    """Keeps, while citations are read, the row in force of every PMID, and the headings of rows.

    ``most`` is the number of rows in force after which nothing more is read; None reads all.
    """

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.rows_in_force = 0
        self.tally = Tally()
        self.pmids = array("q")
        # For a PMID the version in force, and its row if it has one.
        self.in_force: dict[int, tuple[int, int | None]] = {}
        self.columns: dict[str, int] = {}
        self.names: list[tuple[str, str]] = []
        self.headings = array("i")
        self.heading_ends = array("q", [0])

    def texts(self, paths: Iterable[str | Path]) -> Iterator[str]:
        """The titles and abstracts that become rows, in this order."""
        for path in map(Path, paths):
            self.tally.files += 1
            try:
                for record in read_citations(path):
                    yield from self._enter(record)
                    if self.rows_in_force == self.most:
                        return
            except DamagedFile as damage:
                self.tally.damaged.append((str(path), damage.problem))
            except OSError as error:
                self.tally.damaged.append((str(path), error.strerror or str(error)))

    def _enter(self, record: Citation | Deleted | Skipped) -> Iterator[str]:
        if isinstance(record, Deleted):
            _, row = self.in_force.pop(record.pmid, (0, None))
            self.tally.deleted += row is not None
            self.rows_in_force -= row is not None
            return
        self.tally.seen += 1
        if isinstance(record, Skipped):
            self.tally.skip(record.reason)
            if record.pmid is not None:
                self._replace(record.pmid, record.version, None)
        elif self._replace(record.pmid, record.version, len(self.pmids)):
            self.pmids.append(record.pmid)
            self.headings.extend(sorted({self._column(*heading) for heading in record.mesh}))
            self.heading_ends.append(len(self.headings))
            yield f"{record.title} {record.abstract}"
        else:
            self.tally.superseded += 1

    def _replace(self, pmid: int, version: int, row: int | None) -> bool:
        """Put a version in force unless a higher one is; returns whether it is in force now."""
        old_version, old_row = self.in_force.get(pmid, (0, None))
        if version < old_version:
            return False
        self.tally.superseded += old_row is not None
        self.rows_in_force += (row is not None) - (old_row is not None)
        self.in_force[pmid] = version, row
        return True

    def _column(self, ui: str, name: str) -> int:
        column = self.columns.setdefault(ui or name, len(self.names))
        if column == len(self.names):
            self.names.append((ui, name))
        return column

    def current_rows(self) -> NDArray[np.int64]:
        rows = [row for _, row in self.in_force.values() if row is not None]
        return np.sort(np.array(rows, dtype=np.int64))

    def mesh(self, rows: NDArray[np.int64]) -> tuple[sparse.csr_matrix, list[tuple[str, str]]]:
        """The indicator matrix of these rows, and its columns in the order of their UI."""
        every = sparse.csr_matrix(
            (
                np.ones(len(self.headings), dtype=np.int8),
                np.array(self.headings, dtype=np.int32),
                np.array(self.heading_ends),
            ),
            shape=(len(self.pmids), len(self.names)),
        )[rows]
        in_use = np.unique(every.indices).tolist()
        order = sorted(in_use, key=self.names.__getitem__)
        # Taking columns of a matrix without any would leave indices of another type.
        mesh = every[:, order] if order else sparse.csr_matrix((len(rows), 0), dtype=np.int8)
        mesh.sort_indices()
        return mesh, [self.names[i] for i in order]


def _nothing(tally: Tally, problem: str) -> str:
    """The message where there is nothing to count, with the known reasons."""
    reasons = [f"{count} skipped: {reason}" for reason, count in tally.skipped.items()]
    reasons += [f"{path}: {message}" for path, message in tally.damaged]
    if tally.damaged:
        reasons.append("fetch or export these files again, or leave them out")
    return "\n  ".join([f"{problem} in {tally.files} file{'s' * (tally.files != 1)}", *reasons])
