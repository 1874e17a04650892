"""``lazynet predict``: the predictions of a model, a line per row."""

from __future__ import annotations

import argparse
import codecs
import sys
from collections.abc import Iterator
from contextlib import closing, nullcontext
from typing import Any

import numpy as np
from scipy import sparse

from lazynet.cli import inputs
from lazynet.cli.inputs import check_apart
from lazynet.data.files import check_writable, replaced
from lazynet.estimators import load_with_note

METHODS = ("predict", "predict_proba", "decision_function")
EXAMPLES = """\
examples:
  A class or a number per line:
    lazynet predict model.lazy new.svm

  The probability of every class, into a file that is written as a whole or not at all:
    lazynet predict model.lazy new.svm --method predict_proba -o probabilities.txt

  From a pipe, to a pipe:
    cat new.svm | lazynet predict model.lazy - --format svmlight | sort | uniq -c

In the formats of svmlight and Vowpal Wabbit a row needs a label, which is ignored: write 0.
Columns beyond those of the model have the weight 0.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model that train or save has written")
    inputs.add_reading(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write (default: stdout)")
    parser.add_argument("--method", choices=METHODS, default="predict", help="the method of the "
                        "model that predicts (default: predict)")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Write the predictions."""
    model, note = load_with_note(options.model)
    if not hasattr(model, options.method):
        raise ValueError(f"--method {options.method}: {type(model).__name__} with "
                         f"loss={model.loss!r} has no such method")  # fmt: skip
    with inputs.pipes_in_files(options, note):
        inputs.settle_reading(options, model, note)
        if options.output is not None:
            check_writable(options.output)
        check_apart([("--output", options.output)], [options.model, *options.files])
        method = getattr(model, options.method)
        chunks = inputs.chunks_for(options, model)
        opened = nullcontext(None) if options.output is None else replaced(options.output)
        with opened as file, closing(chunks):
            # The text of a file is UTF-8 everywhere.
            out = sys.stdout if file is None else codecs.getwriter("utf-8")(file)
            for chunk in chunks:
                out.writelines(line + "\n" for line in lines_of(method(chunk.X)))


def lines_of(predictions: Any) -> Iterator[str]:
    """Predictions as lines: numbers with all their digits, labels with commas between them.

    >>> list(lines_of(np.array([1.0, 0.1]))), list(lines_of(np.array([[0.5, 2.0]])))
    (['1', '0.1'], ['0.5 2'])
    >>> list(lines_of(sparse.csr_matrix([[1, 0, 1], [0, 0, 0]])))
    ['0,2', '']
    """
    if sparse.issparse(predictions):
        for start, stop in zip(predictions.indptr[:-1], predictions.indptr[1:], strict=True):
            yield ",".join(map(str, sorted(predictions.indices[start:stop].tolist())))
        return
    for row in np.asarray(predictions).tolist():
        yield " ".join(map(_word, row)) if isinstance(row, list) else _word(row)


def _word(value: Any) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
