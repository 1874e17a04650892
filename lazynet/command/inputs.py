"""Files in arguments to sources of rows, read as the options say, or as the model was trained."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import numpy as np
from scipy import sparse

from lazynet.command.literals import count_from
from lazynet.command.output import Ticker, check_writable, say
from lazynet.streams.arrays import Arrays, mapped_npz
from lazynet.streams.cached import Cached
from lazynet.streams.chunks import Chunk, Passing, joined, part
from lazynet.streams.lines import LinesFile, SvmlightFile, VWFile
from lazynet.streams.opening import STDIN, files_of
from lazynet.streams.rows_file import RowsFile
from lazynet.streams.source import ROWS, Derived, Source
from lazynet.streams.tables import ParquetFile

#: The forms of files by the ends of their names.
ENDINGS = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
    ".npz": "npz",
    ".rows": "rows",
    ".parquet": "parquet",
    ".arrow": "parquet",
    ".feather": "parquet",
}
FORMS = ("svmlight", "vw", "npz", "rows", "parquet")
_PACKED = (".gz", ".bz2", ".xz", ".zst")
#: Rows whose columns say whether a file counts its columns from 0.
_FIRST_ROWS = 1000
#: Room for columns of a file that have not been counted.
WIDEST = 2**31 - 1
#: Options of reading that the file of a model remembers, with what each of them may be.
REMEMBERED: dict[str, type] = {
    "format": str,
    "base": int,
    "bits": int,
    "multilabel": bool,
    "target": str,
    "columns": str,
    "indices": str,
    "values": str,
}


def add_reading(parser: argparse.ArgumentParser) -> None:
    """The options that say how files are read."""
    group = parser.add_argument_group("how the files are read")
    group.add_argument("--format", choices=FORMS, help="their form (default: by their names)")
    group.add_argument(
        "--base", type=int, choices=(0, 1), default=None,
        help="svmlight: the number of the first column (default: 0 if one of the first rows has a "
        "column 0, else 1)",
    )  # fmt: skip
    group.add_argument("--features", type=count_from(1), metavar="N",
                       help="svmlight: how many columns there are (default: counted)")  # fmt: skip
    group.add_argument(
        "-b", "--bits", "--bit_precision", type=int, default=None, metavar="BITS",
        help="vw: features are hashed to 2^BITS columns (default: 18)",
    )  # fmt: skip
    group.add_argument(
        "--multilabel", action="store_true", default=None,
        help="svmlight, vw: a row has any number of labels 0, 1, 2, ..., with commas",
    )  # fmt: skip
    group.add_argument("--labels", type=count_from(1), metavar="N",
                       help="how many labels there are (default: counted)")  # fmt: skip
    group.add_argument(
        "--target", metavar="NAME",
        help="npz: a file of y (default: rows.y.npy beside rows.npz); parquet: a column",
    )  # fmt: skip
    group.add_argument("--weight", metavar="NAME", help="npz: a file of the weights of the rows; "
                       "parquet: a column")  # fmt: skip
    group.add_argument("--columns", metavar="A,B,...", help="parquet: the columns of the features")
    group.add_argument("--indices", metavar="NAME", help="parquet: a column of lists, the features "
                       "of a row; with --values and --features")  # fmt: skip
    group.add_argument("--values", metavar="NAME", help="parquet: a column of lists, their values")


def add_cache(parser: argparse.ArgumentParser) -> None:
    """Where the rows that are parsed from a text are kept."""
    parser.add_argument("-c", "--cache", nargs="?", const="auto", default="auto", metavar="FILE",
                        help="where parsed rows are kept: auto (beside the text), no, or a "
                        "file")  # fmt: skip


def add_progress(parser: argparse.ArgumentParser) -> None:
    """The options of what is told on the way, and of the form of the result."""
    group = parser.add_argument_group("what is printed")
    group.add_argument("--json", action="store_true", help="the result as one JSON object")
    group.add_argument(
        "--progress", type=_seconds, default=10.0, metavar="SECONDS",
        help="a line of JSON on stderr so often, where stderr is no terminal (default: 10)",
    )  # fmt: skip
    group.add_argument("--quiet", action="store_true", help="no progress")


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < 1e9:
        raise argparse.ArgumentTypeError(f"must be a number of seconds, got {text}")
    return number


def form_of(paths: list[str], given: str | None) -> str:
    """The form of files, by their names unless it is given.

    >>> form_of(["a.svm.gz", "b.svm"], None), form_of(["-"], "vw")
    ('svmlight', 'vw')
    """
    if given is not None:
        return given
    found = set()
    for path in paths:
        stem, end = os.path.splitext(path)
        end = os.path.splitext(stem)[1] if end in _PACKED else end
        if end.lower() not in ENDINGS:
            what = "standard input" if path == STDIN else path
            raise ValueError(f"the form of {what} is not known by its name: write --format with "
                             f"one of {', '.join(FORMS)}")  # fmt: skip
        found.add(ENDINGS[end.lower()])
    if len(found) > 1:
        raise ValueError(f"the files have different forms, {' and '.join(sorted(found))}: "
                         "convert them to one with lazynet convert")  # fmt: skip
    return found.pop()


def settle_reading(
    options: argparse.Namespace,
    model: Any = None,
    note: Mapping[str, Any] | None = None,
    *,
    grows: bool = False,
) -> None:
    """Complete the options of reading: as a model and its note say, and as the files are.

    The rows of a model that ``grows`` may have any number of columns.
    """
    if not options.files:
        taken = getattr(options, "cache", "auto")
        told = "" if taken in ("auto", "no") else f"; --cache has taken {taken} as its own"
        raise ValueError(f"name a file of rows, or - for a pipe{told}")
    options.files = files_of(options.files)
    task = getattr(options, "task", None)
    if task == "labels":
        options.multilabel = True
    elif task is not None and options.multilabel:
        raise ValueError(f"--multilabel goes with --task labels, got --task {task}: leave one out")
    named = options.format
    for name, kind in REMEMBERED.items():
        found = None if note is None else note.get(name)
        if getattr(options, name) is None and found is not None:
            if type(found) is not kind:
                raise ValueError(f"the model does not say how its rows were read: its {name} is "
                                 f"{found!r:.50}")  # fmt: skip
            setattr(options, name, found)
    if named is None:
        # Rows of another form can have the same columns, so that the names of the files decide.
        learned = options.format
        try:
            options.format = form_of(options.files, None)
        except ValueError:
            if learned is None:
                raise
        if learned == "vw" and options.format == "svmlight":
            raise ValueError(
                f"{options.files[0]} has rows of svmlight's form, and the model has learned from "
                "rows of Vowpal Wabbit's, whose features have other columns: write --format vw if "
                "the rows have that form, or --format svmlight --base 0 if the columns are those "
                "of the model"
            )
    options.multilabel = bool(options.multilabel)
    if model is not None:
        n_features = model.n_features_in_
        if options.multilabel and options.labels is None and hasattr(model, "classes_"):
            options.labels = len(model.classes_)
        if not grows:
            if options.features not in (None, n_features):
                raise ValueError(f"--features {options.features} does not go with the model, which "
                                 f"has {n_features} features")  # fmt: skip
            options.features = n_features
        if options.format == "vw" and options.bits is None:
            options.bits = n_features.bit_length() - 1
    options.bits = 18 if options.bits is None else options.bits
    if options.format == "svmlight" and options.base is None:
        options.base = _base_of(options)


def note_of(options: argparse.Namespace) -> str:
    """How the rows were read, for the file of a model."""
    found = {name: getattr(options, name) for name in REMEMBERED}
    if options.format == "npz":
        found["target"] = None  # the file of y belongs to these rows alone
    return json.dumps(found)


def _base_of(options: argparse.Namespace) -> int:
    """0 if one of the first rows has a column 0, else 1."""
    for path in options.files:
        if path == STDIN or not os.path.isfile(path):
            raise ValueError("the columns of a pipe cannot be looked at beforehand: write --base 1 "
                             "if its first column is 1, or --base 0")  # fmt: skip
        source = SvmlightFile(
            path, zero_based=True, n_features=WIDEST, multilabel=options.multilabel,
            n_labels=WIDEST if options.multilabel else None,
        )  # fmt: skip
        with closing(source.chunks(_FIRST_ROWS)) as chunks:
            for chunk in chunks:
                if (chunk.X.indices == 0).any():
                    return 0
                break
    return 1


def source_of(options: argparse.Namespace, *, needs_target: bool = True) -> Source:
    """The source of the files, as the settled options say."""
    many: dict[str, Any] = {"multilabel": options.multilabel}
    if options.multilabel:
        many["n_labels"] = options.labels
    if options.format == "svmlight":
        return SvmlightFile(
            options.files, zero_based=options.base == 0, n_features=options.features, **many
        )
    if options.format == "vw":
        return VWFile(options.files, bits=options.bits, **many)
    if options.format == "parquet":
        if options.target is None:
            raise ValueError("--target must name the column of the target in tables")
        columns = options.columns
        lists = {"indices": options.indices, "values": options.values}
        return ParquetFile(
            options.files, target=options.target, weight=options.weight,
            features=None if columns is None else columns.split(","),
            n_features=options.features if columns is None else None,
            **lists,
        )  # fmt: skip
    if len(options.files) > 1:
        raise ValueError(f"one file of the form {options.format} at a time, got "
                         f"{len(options.files)}")  # fmt: skip
    (path,) = options.files
    if options.format == "rows":
        return RowsFile(path)
    return _matrix(path, options, needs_target)


def _matrix(path: str, options: argparse.Namespace, needs_target: bool) -> Source:
    target = options.target or _target_beside(path)
    if target is None and needs_target:
        raise ValueError("--target must name the file of y, because there is no "
                         f"{path.removesuffix('.npz')}.y.npy")  # fmt: skip
    if target is None:
        target = np.zeros(max(len(mapped_npz(path).get("indptr", [])) - 1, 0))
    return Arrays(path, target, options.weight)


def _target_beside(path: str) -> str | None:
    """The file of y beside a matrix, if there is one."""
    beside = [f"{path.removesuffix('.npz')}.y.{end}" for end in ("npy", "npz")]
    return next(filter(os.path.isfile, beside), None)


def files_read(options: argparse.Namespace) -> list[str]:
    """The files from which the rows come, without standard input; the options are settled."""
    found = [path for path in options.files if path != STDIN]
    if options.format == "npz" and found:
        target = options.target or _target_beside(found[0])
        found += [path for path in (target, options.weight) if path is not None]
    return found


def no_rows(files: list[str]) -> ValueError:
    """The error about files without rows."""
    names = ", ".join("standard input" if path == STDIN else path for path in files[:5])
    more = ", ..." if len(files) > 5 else ""
    return ValueError(f"there is not one row in {names}{more}")


def is_text(source: Source) -> bool:
    """Whether the source is parsed from text."""
    return isinstance(source, LinesFile)


def is_pipe(source: Source) -> bool:
    """Whether the source can be read once only."""
    return isinstance(source, LinesFile) and source.identity() is None


def cache_of(source: Source, cache: str) -> str | None:
    """The file in which the parsed rows will be kept, if any; refuses one that cannot be that."""
    named = cache not in ("auto", "no")
    if not is_text(source) or is_pipe(source):
        if named:
            what = "standard input" if is_pipe(source) else "a file of this form"
            raise ValueError(f"--cache {cache} keeps the rows that are parsed from files of text, "
                             f"and {what} has no cache: leave it out")  # fmt: skip
        return None
    if cache == "no":
        return None
    try:
        return Cached(source, cache).path
    except ValueError as error:
        if named:
            raise ValueError(
                f"--cache (-c) takes the name of the file for the parsed rows, and has taken "
                f"{cache}: without a name, write it behind all files. {error}"
            ) from None
        raise ValueError(f"{error}; --cache FILE names one, --cache no keeps none") from None


def with_cache(source: Source, cache: str, ticker: Ticker) -> Source:
    """The source with its rows kept in a file, where it is parsed from text.

    ``cache`` is "auto" for a file beside the text, "no", or the name of a file.
    """
    if cache == "no" or not is_text(source) or is_pipe(source):
        return Watched(source, ticker)
    cached = Cached(Watched(source, ticker), cache)
    if cached.is_complete():
        return Watched(cached, ticker)
    try:
        check_writable(cached.path)
    except OSError as error:
        if cache != "auto":
            raise
        told = error.strerror or error
        say(f"warning: no cache is kept, and every pass parses the text: {told}")
        return Watched(source, ticker)
    ticker.begin(f"reading into {cached.path}", None)
    return Watched(cached, ticker)


class Watched(Derived):
    """The rows of a source, counted as they pass."""

    def __init__(self, source: Source, ticker: Ticker) -> None:
        super().__init__(source)
        self.ticker = ticker

    def _pass(self, rows: int, epoch: int) -> Passing:
        return self._counted(self.source.chunks(rows, epoch))

    def _to_learn(self, rows: int, epoch: int) -> Passing:
        return self._counted(self.source._to_learn(rows, epoch))

    def _counted(self, passing: Passing) -> Passing:
        with closing(passing) as chunks:
            for chunk in chunks:
                self.ticker.add(chunk.X.shape[0])
                yield chunk

    def _find_identity(self) -> dict[str, Any] | None:
        return self.source.identity()

    def _is_at_hand(self) -> bool:
        return self.source._is_at_hand()

    def _before_counting(self) -> Source | None:
        found = self.source._before_counting()
        return None if found is None else Watched(found, self.ticker)


def first_rows(source: Source, most_rows: int) -> Chunk | None:
    """The first rows of a source, in memory; None where there is not one."""
    found, rows = [], 0
    with closing(source.chunks(min(most_rows, ROWS))) as chunks:
        for chunk in chunks:
            chunk = part(chunk, 0, min(most_rows - rows, chunk.X.shape[0]))
            found.append(chunk)
            rows += chunk.X.shape[0]
            if rows == most_rows:
                break
    return joined(found) if rows else None


def matches(model: Any, chunk: Chunk, *, labelled: bool = True) -> sparse.csr_matrix:
    """The rows of a chunk; refuses columns, and ``labelled`` labels, that are not the model's."""
    if chunk.X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"the files have {chunk.X.shape[1]} columns, and the model has {model.n_features_in_} "
            "features: they are read in another way than the rows that the model has learned from"
        )
    several = chunk.y.shape[1] if sparse.issparse(chunk.y) else None
    known = len(model.classes_) if getattr(model, "_labels_given", None) is not None else None
    if labelled and several != known:
        raise ValueError(f"the files have {_labels_told(several)}, and the model has learned "
                         f"{_labels_told(known)}")  # fmt: skip
    return chunk.X


def _labels_told(several: int | None) -> str:
    return "one label a row" if several is None else f"{several} labels of which a row has any"
