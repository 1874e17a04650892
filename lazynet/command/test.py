"""``lazynet test``: loss and scores of a model on files."""

from __future__ import annotations

import argparse
import time
from typing import Any

from lazynet.command import inputs
from lazynet.command.known import rows_for, tell_unknown
from lazynet.command.output import Ticker, memory_told, peak_memory, report
from lazynet.command.scores import scores_of
from lazynet.models import files as model_files

EXAMPLES = """\
examples:
  Loss, accuracy and F1, or R^2 for numbers:
    lazynet test model.lazy new.svm

  The same as one JSON object:
    lazynet test model.lazy new.svm --json

  Exit code 1 where less than nine tenths are right (R^2 for numbers, F1 for labels):
    lazynet test model.lazy new.svm --at-least 0.9

Rows are read as the model has read its own rows (columns from 0 or 1, bits of the hash), and are
in memory a chunk at a time.  Columns beyond those of the model have the weight 0.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("model", metavar="MODEL", help="a model that train has written")
    parser.add_argument("files", nargs="+", metavar="FILE", help="files or patterns; - is a pipe")
    parser.add_argument("--at-least", type=float, metavar="SCORE",
                        help="exit code 1 where the accuracy, R^2 or F1 is lower")  # fmt: skip
    inputs.add_reading(parser)
    inputs.add_progress(parser)


def run(options: argparse.Namespace) -> int:
    """Judge the model; returns the exit code."""
    # The estimators load SciPy and scikit-learn, which takes a moment.
    from lazynet.loading import load

    model = load(options.model)
    inputs.settle_reading(options, model, model_files.note_of(options.model))
    ticker = Ticker(options.progress, options.quiet)
    began = time.perf_counter()
    rows = rows_for(options, model)
    ticker.begin("test", None)
    try:
        scores = scores_of(model, inputs.Watched(rows, ticker))
    finally:
        ticker.close()
    if not scores.rows:
        raise inputs.no_rows(options.files)
    if not options.quiet:
        tell_unknown(rows)
    seconds, peak = time.perf_counter() - began, peak_memory()
    found: dict[str, Any] = {"rows": scores.rows, **scores.result()}
    lines = {name.replace("_", " "): f"{value:.6g}" for name, value in found.items()}
    lines["rows"] = f"{scores.rows:,}"
    lines["seconds"] = f"{seconds:.3g} ({scores.rows / seconds:,.0f} rows a second)"
    lines["memory"] = memory_told(peak)
    report({**found, "seconds": seconds, "peak_memory": peak}, lines, options.json)
    least = options.at_least
    score = next(found[name] for name in ("r2", "f1_micro", "accuracy") if name in found)
    return int(least is not None and not score >= least)
