"""``lazynet test``: loss and scores of a model on files."""

from __future__ import annotations

import argparse
import time

from lazynet.cli import inputs
from lazynet.cli.output import report
from lazynet.cli.scores import Scores

EXAMPLES = """\
examples:
  Loss, accuracy and F1, or R^2 for numbers:
    lazynet test model.lazy new.svm

  The same as one JSON object:
    lazynet test model.lazy new.svm --json

Rows are read as the model has read its own rows (columns from 0 or 1, bits of the hash), and are
in memory a chunk at a time.  Columns beyond those of the model have the weight 0.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model that train or save has written")
    inputs.add_reading(parser)
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")


def run(options: argparse.Namespace) -> None:
    """Judge the model."""
    # The estimators load SciPy and scikit-learn, which takes a moment.
    from lazynet.estimators import load_with_note

    model, note = load_with_note(options.model)
    began = time.perf_counter()
    with inputs.pipe_in_a_file(options, note):
        inputs.settle_reading(options, model, note)
        scores = Scores(model)
        for chunk in inputs.chunks_for(options, model, needs_target=True):
            scores.add(chunk)
        if not scores.rows:
            raise inputs.no_rows(options.files)
    seconds = time.perf_counter() - began
    report({"rows": scores.rows, **scores.result(), "seconds": seconds}, options.json)
