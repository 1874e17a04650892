"""``lazynet predict``: the predictions of a model, a line a row."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
from scipy import sparse

from lazynet.command import inputs
from lazynet.command.known import rows_for, tell_unknown
from lazynet.command.literals import count_from
from lazynet.command.output import Ticker, check_apart, check_writable
from lazynet.models import files as model_files
from lazynet.whole_files import replaced

EXAMPLES = """\
examples:
  A class or a number a line:
    lazynet predict model.lazy new.svm

  The probability of every class, into a file that is written as a whole or not at all:
    lazynet predict model.lazy new.svm --proba -o probabilities.txt

  The five best of many labels, with w.x + b of each:
    lazynet predict model.lazy new.svm --top 5

  From a pipe, to a pipe:
    cat new.svm | lazynet predict model.lazy - --format svmlight | sort | uniq -c

A row of a file needs a label, which is not looked at; 0 will do.  Columns beyond those of the
model have the weight 0.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model that train has written")
    parser.add_argument("files", nargs="+", metavar="FILE", help="files or patterns; - is a pipe")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write (default: stdout)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--proba", action="store_true", help="a probability for every class, in "
                      "the order in which inspect names them")  # fmt: skip
    what.add_argument("--scores", action="store_true", help="w.x + b of every output")
    what.add_argument("--top", type=count_from(1), metavar="K",
                      help="the K best classes or labels, each with its w.x + b")  # fmt: skip
    inputs.add_reading(parser)
    inputs.add_progress(parser)


def run(options: argparse.Namespace) -> int:
    """Write the predictions; returns the exit code."""
    # The estimators load SciPy and scikit-learn, which takes a moment.
    from lazynet.loading import load

    check_writable(options.output)
    model = load(options.model)
    inputs.settle_reading(options, model, model_files.note_of(options.model))
    check_apart([("--output", options.output)], [options.model, *inputs.files_read(options)])
    lines = _lines_of(model, options)
    ticker = Ticker(options.progress, options.quiet or options.output is None)
    rows = rows_for(options, model, needs_target=False)
    source = inputs.Watched(rows, ticker)
    ticker.begin("predict", None)
    try:
        with _opened(options.output) as out, closing(source.chunks()) as chunks:
            for chunk in chunks:
                for line in lines(inputs.matches(model, chunk, labelled=False)):
                    out.write(line + "\n")
    finally:
        ticker.close()
    if not options.quiet:
        tell_unknown(rows)
    return 0


@contextlib.contextmanager
def _opened(path: str | None) -> Iterator[Any]:
    """Stdout, or a file that gets its name when it is complete."""
    if path is None:
        yield sys.stdout
        return
    with replaced(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            text.detach()


def _lines_of(model: Any, options: argparse.Namespace) -> Callable[[Any], Iterator[str]]:
    """What makes lines of rows."""
    if options.proba:
        if not hasattr(model, "predict_proba"):
            raise ValueError(f"{type(model).__name__} with loss={model.loss!r} has no "
                             "probabilities: --scores gives w.x + b")  # fmt: skip
        return lambda X: _numbers(model.predict_proba(X))
    if options.scores:
        decide = getattr(model, "decision_function", model.predict)
        return lambda X: _numbers(decide(X))
    if options.top is not None:
        if not hasattr(model, "predict_top"):
            raise ValueError(f"{type(model).__name__} has no classes to choose --top from")
        return lambda X: _top(*model.predict_top(X, options.top))
    return lambda X: _predictions(model.predict(X))


def _word(value: Any) -> str:
    """A number as short as it is without loss; a label as it is.

    >>> _word(np.float64(1.0)), _word(np.float64(0.1)), _word("spam")
    ('1', '0.1', 'spam')
    """
    value = value.item() if hasattr(value, "item") else value
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _numbers(found: Any) -> Iterator[str]:
    for row in np.asarray(found):
        yield " ".join(map(_word, np.atleast_1d(row)))


def _predictions(found: Any) -> Iterator[str]:
    if sparse.issparse(found):
        for start, stop in zip(found.indptr[:-1], found.indptr[1:], strict=True):
            yield ",".join(map(str, sorted(found.indices[start:stop].tolist())))
        return
    yield from _numbers(found) if np.ndim(found) == 2 else map(_word, found)


def _top(labels: Any, scores: Any) -> Iterator[str]:
    for names, numbers in zip(labels, scores, strict=True):
        pairs = zip(names, numbers, strict=True)
        yield " ".join(f"{_word(name)}:{_word(number)}" for name, number in pairs)
