"""``lazynet convert``: the same rows in another form."""

from __future__ import annotations

import argparse
import os
import time

from lazynet.command import inputs, writers
from lazynet.command.output import Ticker, check_apart, check_writable, report

EXAMPLES = """\
examples:
  Text to mapped rows, which are read many times as fast:
    lazynet convert rows.svm rows.rows

  Vowpal Wabbit's form to svmlight's; the columns are the hashes of the names:
    lazynet convert clicks.vw.gz clicks.svm -b 20

  A matrix of SciPy with y in rows.y.npy:
    lazynet convert rows.svm rows.npz

The output is complete when it gets its name: it is never half written.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="files or patterns; - is a pipe")
    parser.add_argument("output", metavar="OUTPUT", help="the file to write")
    parser.add_argument("--to", choices=inputs.FORMS, help="its form (default: by its name)")
    parser.add_argument("--output-base", type=int, choices=(0, 1), default=1, metavar="0|1",
                        help="svmlight: the number of the first column (default: 1)")  # fmt: skip
    inputs.add_reading(parser)
    inputs.add_progress(parser)


def run(options: argparse.Namespace) -> int:
    """Convert; returns the exit code."""
    check_writable(options.output)
    form = inputs.form_of([options.output], options.to)
    inputs.settle_reading(options)
    beside = writers.files_beside(options.output) if form == "npz" else []
    outputs = [("OUTPUT", options.output), *(("the file beside OUTPUT,", path) for path in beside)]
    check_apart(outputs, inputs.files_read(options))
    ticker = Ticker(options.progress, options.quiet)
    source = inputs.Watched(inputs.source_of(options), ticker)
    ticker.begin("convert", None)
    options.when_stopped = f"{options.output} is as it was"
    began = time.perf_counter()
    try:
        rows = writers.write(source, options.output, form, options.output_base)
    finally:
        ticker.close()
    seconds, size = time.perf_counter() - began, os.path.getsize(options.output)
    report(
        {"output": options.output, "form": form, "rows": rows, "seconds": seconds, "bytes": size},
        {
            "output": f"{options.output}, {form}, {size:,} bytes",
            "rows": f"{rows:,}",
            "seconds": f"{seconds:.3g} ({rows / seconds:,.0f} rows a second)",
        },
        options.json,
    )
    return 0
