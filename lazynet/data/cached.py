"""What the first pass over a source has parsed, kept in a file for the others."""

from __future__ import annotations

import json
import os

from lazynet.data.atomic_files import check_path, same_file
from lazynet.data.chunks import Passing, rechunked
from lazynet.data.rows_file import RowsFile, begins_as_rows, written_rows
from lazynet.data.source import Derived, Facts, Source


class Cached(Derived):
    """The rows of a source, which the first whole pass writes to a file and later passes read.

    The file at ``path`` is made again when a file of the source has another size or time of change,
    or when the source has other parameters.  A file that does not begin as rows of lazynet do is no
    cache: it is refused, and stays as it is.

    >>> import tempfile, pathlib
    >>> from lazynet.data.text_files import SvmlightFile
    >>> folder = tempfile.TemporaryDirectory()
    >>> text = pathlib.Path(folder.name, "words.svm")
    >>> _ = text.write_text("1 1:2 3:0.5\\n-1 2:1\\n")
    >>> source = Cached(SvmlightFile(text), text.with_name("words.rows"))
    >>> for passes in range(2):
    ...     print([chunk.X.data.tolist() for chunk in source.chunks()], source.is_complete())
    [[2.0, 0.5, 1.0]] True
    [[2.0, 0.5, 1.0]] True
    >>> sorted(path.name for path in pathlib.Path(folder.name).iterdir())
    ['words.rows', 'words.svm']
    >>> folder.cleanup()
    """

    def __init__(self, source: Source, path: str | os.PathLike[str]) -> None:
        super().__init__(source)
        check_path("path", path)
        identity = source.identity()
        if identity is None:
            raise ValueError(
                "source must read files, so that a cache can be compared with them: "
                "standard input, iterators and shuffled rows cannot be cached (write "
                "Shuffled(Cached(source, path)))"
            )
        self.path = os.fspath(path)
        self._opened: RowsFile | None = None
        self._check_path([name for name, *_ in identity["files"]])

    def _check_path(self, files: list[str]) -> None:
        """Refuse a path at which something else stands than a file of rows."""
        if any(same_file(self.path, name) for name in files):
            raise ValueError(f"{self.path} is one of the files to read: name another one")
        if not begins_as_rows(self.path):
            raise ValueError(
                f"{self.path}: the file does not begin as rows of lazynet do, and is left as it "
                "is: name another file for the cache, or, if it is a damaged cache, delete the "
                "file, and it is made again"
            )

    def _file(self) -> RowsFile | None:
        """The file, unless it is missing, damaged, or of other rows."""
        # As JSON gives it back.
        wanted = json.loads(json.dumps(self.source.identity()))
        if self._opened is None:
            try:
                self._opened = RowsFile(self.path)
            except (FileNotFoundError, ValueError):
                return None
        if self._opened.identity() != wanted:
            self._opened = None
        return self._opened

    def is_complete(self) -> bool:
        """Whether the file is there and holds the rows of the source as it is now."""
        return self._file() is not None

    def _made(self) -> Source:
        """The file, written now unless it is complete; or the source, if that is left to a pass."""
        file = self._file()
        if file is None:
            # Columns are counted while the rows are written, so that the text is parsed once.
            try:
                for _ in self._written(counting=True):
                    pass
            except ValueError:
                # Counted first, a column too many has a place; any other fault is found again.
                if self.source._before_counting() is None:
                    raise
            file = self._file()
        return file or self.source

    def _find_features(self) -> int:
        file = self._file()
        if file is None and self.source._before_counting() is not None:
            return self._made().n_features
        return (file or self.source).n_features

    def _find_labels(self) -> int | None:
        return (self._file() or self.source).n_labels

    def _find_facts(self) -> Facts:
        return self._made().facts()

    def _find_identity(self) -> None:
        return None

    def _is_at_hand(self) -> bool:
        file = self._file()
        return file is not None and file._is_at_hand()

    def _written(self, *, counting: bool) -> Passing:
        """The rows of the source, which are written to the file as they pass."""
        source, identity = self.source, self.source.identity()
        self._check_path([])
        writer = yield from written_rows(source, self.path, identity, counting=counting)
        # A file that has changed meanwhile gives no cache.
        if writer.committed:
            self._opened = RowsFile(self.path, written_by=writer)

    def _pass(self, rows: int, epoch: int) -> Passing:
        file = self._file()
        return (
            file.chunks(rows)
            if file is not None
            else rechunked(self._written(counting=False), rows)
        )

    def _to_learn(self, rows: int, epoch: int) -> Passing:
        file = self._file()
        return self.chunks(rows, epoch) if file is None else file._to_learn(rows, epoch)
