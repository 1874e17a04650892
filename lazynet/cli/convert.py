"""``lazynet convert``: the same rows in another form."""

from __future__ import annotations

import argparse
import os
from contextlib import closing

from lazynet.cli import inputs, writers
from lazynet.cli.output import check_apart, report
from lazynet.data.atomic_files import check_writable

EXAMPLES = """\
examples:
  Text to mapped rows, which are read many times as fast:
    lazynet convert rows.svm -o rows.rows

  Vowpal Wabbit's form to svmlight's; the columns are the hashes of the names:
    lazynet convert clicks.vw.gz --bits 20 -o clicks.svm

  A table to mapped rows:
    lazynet convert rows.csv --target clicked -o rows.rows

The name of the output says its form. The output is complete when it gets its name.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    inputs.add_reading(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")


def run(options: argparse.Namespace) -> None:
    """Convert the rows."""
    check_writable(options.output)
    form = inputs.form_of([options.output], None)
    if os.path.splitext(options.output)[1] not in inputs.ENDINGS:
        raise ValueError(f"{options.output}: packed files are read and not written: pack the file "
                         "that is written")  # fmt: skip
    with inputs.pipe_in_a_file(options):
        inputs.settle_reading(options)
        check_apart([("--output", options.output)], options.files)
        source = inputs.source_of(options)
        with closing(source.chunks(1)) as chunks:
            if next(chunks, None) is None:
                raise inputs.no_rows(options.files)
        rows = writers.write(source, options.output, form)
    size = os.path.getsize(options.output)
    report(
        {"output": options.output, "form": form, "rows": rows, "bytes": size},
        {"output": f"{options.output}, {form}, {size:,} bytes", "rows": f"{rows:,}"},
        options.json,
    )
