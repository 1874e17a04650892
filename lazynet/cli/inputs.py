"""Sources of rows from the arguments of a command; the printed results."""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import Any

import numpy as np

from lazynet.cli import PHRASES, say
from lazynet.data.chunks import Passing, csr
from lazynet.data.files import PACKINGS, files_of, is_pipe, same_file
from lazynet.data.mapped_files import RowsFile
from lazynet.data.source import Source
from lazynet.data.text_files import SvmlightFile, VWFile

#: Standard input among the files of a command, and its name in messages.
STDIN, STDIN_NAME = "-", "standard input"
#: The forms of files by the ends of their names.
ENDINGS = {".vw": "vw", ".rows": "rows"}
ENDINGS |= dict.fromkeys((".svm", ".svmlight", ".libsvm"), "svmlight")
FORMS = ("svmlight", "vw", "rows")
#: The formats to which each option of reading applies.
FORMS_OF = {
    "base": ("svmlight",),
    "features": ("svmlight",),
    "bits": ("vw",),
    "multilabel": ("svmlight", "vw"),
}
#: The options of reading that are stored in the file of a model.
REMEMBERED = ("format", "base", "bits", "multilabel")
#: The number of first rows that decide whether a file counts its columns from 0.
_FIRST_ROWS = 1000
#: The number of columns of a file whose columns have not been counted.
WIDEST = 2**31 - 1


# --- the printed results -------------------------------------------------------------------


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def report(result: dict[str, Any], as_one_line: bool) -> None:
    """Print a result: one JSON object, or a line for each of its entries that are not None.

    In JSON, NaN and infinite numbers are null.
    """
    if as_one_line:
        numbers = {name: _plain(value) for name, value in result.items()}
        print(json.dumps(numbers, allow_nan=False))
        return
    width = max(map(len, result))
    for name, value in result.items():
        if value is None:
            continue
        if not isinstance(value, str):
            value = f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
        print(f"{name.replace('_', ' '):{width}}  {value}")


def check_apart(outputs: Iterable[tuple[str, str | None]], reads: Iterable[str]) -> None:
    """Refuse an output that is one of the files ``reads``, and two outputs with one name.

    ``outputs`` are pairs of an option and the file that it names or None.
    """
    named = [("", read) for read in reads]
    for option, path in outputs:
        if path is None:
            continue
        for first, name in named:
            if not same_file(path, name):
                continue
            if first:
                raise ValueError(f"{first} and {option} name the same file, {path}: name two files")
            raise ValueError(f"{option} {path} is one of the files to read: name another one")
        named.append((option, path))


# --- the files and how they are read ---------------------------------------------------------


def count(text: str) -> int:
    """A whole number from 1 on; argparse names the option in its error."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, got {text}")
    return int(text)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the files and the options of reading."""
    parser.add_argument("files", nargs="+", metavar="FILE",
                        help="files, patterns or pipes; - is standard input")  # fmt: skip
    group = parser.add_argument_group("how the files are read")
    group.add_argument(
        "--format",
        choices=FORMS,
        help="their form (default: by their names); rows is the form that lazynet convert writes",
    )
    group.add_argument(
        "--base", type=int, choices=(0, 1),
        help="svmlight: the number of the first column (default: 0 if one of the first rows has a "
        "column 0, else 1)",
    )  # fmt: skip
    group.add_argument("--features", type=count, metavar="N",
                       help="svmlight: how many columns there are (default: counted)")  # fmt: skip
    group.add_argument("--bits", type=count, metavar="BITS",
                       help="vw: features are hashed to 2^BITS columns (default: 18)")  # fmt: skip
    group.add_argument(
        "--multilabel", action="store_true", default=None,
        help="svmlight, vw: a row has any number of labels 0, 1, 2, ..., with commas",
    )  # fmt: skip


def form_of(paths: list[str], form: str | None) -> str:
    """The format of files: ``form`` if given, else by their names.

    >>> form_of(["a.svm.gz", "b.svm"], None), form_of(["-"], "vw")
    ('svmlight', 'vw')
    """
    if form is not None:
        return form
    forms = set()
    for path in paths:
        stem, end = os.path.splitext(path)
        end = os.path.splitext(stem)[1] if end in PACKINGS else end
        if end.lower() not in ENDINGS:
            name = STDIN_NAME if path == STDIN else path
            raise ValueError(f"the form of {name} is not known by its name: write --format with "
                             f"one of {', '.join(FORMS)}")  # fmt: skip
        forms.add(ENDINGS[end.lower()])
    if len(forms) > 1:
        raise ValueError(f"the files have different forms, {' and '.join(sorted(forms))}: "
                         "convert them to one with lazynet convert")  # fmt: skip
    return forms.pop()


@contextmanager
def pipes_in_files(
    options: argparse.Namespace, note: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """Copy standard input and every other pipe among the files to temporary files.

    ``note`` has the options with which the rows of a model were read.
    """
    pipes = {path: STDIN_NAME if path == STDIN else path for path in options.files
             if path == STDIN or is_pipe(path)}  # fmt: skip
    if not pipes:
        yield
        return
    for name in ("cache", "checkpoint"):
        if getattr(options, name, None) is not None:
            raise ValueError(f"--{name} is for files that later calls find again, and "
                             f"{', '.join(pipes.values())} is read once: leave it out")  # fmt: skip
    options.format = _form_to_read(options, (note or {}).get("format"))
    with tempfile.TemporaryDirectory(prefix="lazynet-") as folder:
        copies = {}
        for number, (path, name) in enumerate(pipes.items()):
            copy = os.path.join(folder, f"{number} {os.path.basename(name)}")
            try:
                with open(copy, "wb") as file, _opened(path) as pipe:
                    shutil.copyfileobj(pipe, file)
            except OSError as error:
                # The environment variable TMPDIR names another folder.
                raise OSError(error.errno, error.strerror, error.filename or copy) from error
            PHRASES[copy] = name  # messages name the pipe
            copies[path] = copy
        options.files = [copies.get(path, path) for path in options.files]
        yield


def _opened(path: str) -> AbstractContextManager[Any]:
    """A pipe, open for reading; standard input stays open."""
    return nullcontext(sys.stdin.buffer) if path == STDIN else open(path, "rb")


def settle_reading(
    options: argparse.Namespace, model: Any = None, note: Mapping[str, Any] | None = None
) -> None:
    """Set the missing options of reading from the note of a model, the model, and the files."""
    options.files = files_of(options.files)
    if getattr(options, "task", None) == "labels":
        options.multilabel = True
    remembered = note or {}
    form = _form_to_read(options, remembered.get("format"))
    for name in sorted(FORMS_OF):
        if getattr(options, name) is not None and form not in FORMS_OF[name]:
            raise ValueError(f"--{name} is for files of the form {' or '.join(FORMS_OF[name])}, "
                             f"and these have the form {form}: leave it out")  # fmt: skip
    options.format = form
    for name in REMEMBERED:
        if form in FORMS_OF.get(name, ()) and getattr(options, name) is None:
            setattr(options, name, remembered.get(name))
    options.multilabel = bool(options.multilabel)
    if model is not None:
        n_features = int(model.n_features_in_)
        if options.features not in (None, n_features):
            raise ValueError(f"--features {options.features} contradicts the model, which "
                             f"has {n_features} features")  # fmt: skip
        options.features = n_features
    if form == "vw" and options.bits is None:
        options.bits = 18 if model is None else n_features.bit_length() - 1
    if form == "svmlight" and options.base is None:
        options.base = _base_of(options)


def _form_to_read(options: argparse.Namespace, learned: str | None) -> str:
    """The format of the files; ``learned`` is the format of the training rows of a model."""
    try:
        form = form_of(options.files, options.format)
    except ValueError:
        ends = {os.path.splitext(path)[1] for path in options.files if path != STDIN}
        if learned not in FORMS or len(ends) > 1:
            raise
        return learned
    if {learned, form} == {"svmlight", "vw"} and options.format is None:
        same = {"svmlight": "svmlight --base 0", "vw": "vw"}[form]
        raise ValueError(
            f"{options.files[0]} has rows of the form {form}, and the model has learned from rows "
            f"of the form {learned}, whose features have other columns: write --format {learned} "
            f"if the rows have that form, or --format {same} if the columns are those of the model"
        )
    return form


def _base_of(options: argparse.Namespace) -> int:
    """0 if one of the first rows has a column 0, else 1."""
    for path in options.files:
        source = SvmlightFile(
            path, zero_based=True, n_features=WIDEST, multilabel=options.multilabel,
            n_labels=WIDEST if options.multilabel else None,
        )  # fmt: skip
        with closing(source.chunks(_FIRST_ROWS)) as chunks:
            if any((chunk.X.indices == 0).any() for chunk in [next(chunks, None)] if chunk):
                return 0
    return 1


def source_of(options: argparse.Namespace, model: Any = None) -> Source:
    """The source of the files with the settled options; ``model`` will predict the rows."""
    form, files = options.format, options.files
    labels: dict[str, Any] = {"multilabel": options.multilabel}
    if options.multilabel and getattr(model, "_form", None) is not None:
        # predict ignores the labels.
        labels["n_labels"] = len(model.intercept_) if options.command == "test" else WIDEST
    if form == "svmlight":
        base, width = options.base, options.features
        return SvmlightFile(files, zero_based=not base, n_features=width, **labels)
    if form == "vw":
        return VWFile(files, bits=options.bits, **labels)
    if len(files) > 1:
        raise ValueError(f"one file of the form {form} at a time, got {len(files)}")
    return RowsFile(files[0])


def no_rows(files: list[str]) -> ValueError:
    """The error about files without rows."""
    more = ", ..." if len(files) > 5 else ""
    return ValueError(f"there is not one row in {', '.join(files[:5])}{more}")


def chunks_for(options: argparse.Namespace, model: Any) -> Passing:
    """The chunks of the files, with the features of the model; a note counts other values.

    New texts have words that no training text had: columns of the svmlight format beyond those of
    the model are left out.  Rows of other formats must have the columns of the model.
    """
    n_features, n_unknown = int(model.n_features_in_), 0
    if options.format == "svmlight":
        options.features = WIDEST
    source = source_of(options, model)
    if options.format != "svmlight" and source.n_features != n_features:
        raise ValueError(
            f"the files have {source.n_features} columns, and the model has {n_features} features: "
            "read them with the same options as the training rows of the model"
        )
    with closing(source.chunks()) as chunks:
        for chunk in chunks:
            if options.format == "svmlight":
                X = chunk.X
                inside = X.indices < n_features
                n_unknown += len(inside) - int(np.count_nonzero(inside))
                starts = np.concatenate([[0], np.cumsum(inside)])[X.indptr]
                X = csr(starts, X.indices[inside], X.data[inside], n_features)
                chunk = chunk._replace(X=X)
            yield chunk
    if n_unknown:
        values = "1 value belongs" if n_unknown == 1 else f"{n_unknown:,} values belong"
        say(f"note: {values} to features that the model does not know, whose weights are 0")
