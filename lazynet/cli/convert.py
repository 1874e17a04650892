"""``lazynet convert``: rows of text files into a file that can be mapped into memory."""

from __future__ import annotations

import argparse
import os
from contextlib import closing

from lazynet.cli import inputs
from lazynet.cli.inputs import check_apart, report
from lazynet.data.files import check_writable
from lazynet.data.mapped_files import write_rows

EXAMPLES = """\
examples:
  Text to mapped rows, which are read many times faster:
    lazynet convert rows.svm -o rows.rows

  Rows with hashed features, from packed text:
    lazynet convert clicks.vw.gz --bits 20 -o clicks.rows

The output is complete when it gets its name.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    inputs.add_reading(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")


def run(options: argparse.Namespace) -> None:
    """Convert the rows."""
    check_writable(options.output)
    if not options.output.endswith(".rows"):
        raise ValueError(f"--output must end with .rows, got {options.output}")
    with inputs.pipes_in_files(options):
        inputs.settle_reading(options)
        check_apart([("--output", options.output)], options.files)
        source = inputs.source_of(options)
        with closing(source.chunks(1)) as chunks:
            if next(chunks, None) is None:
                raise inputs.no_rows(options.files)
        rows = write_rows(source, options.output)
    size = os.path.getsize(options.output)
    report({"output": options.output, "rows": rows, "bytes": size}, options.json)
