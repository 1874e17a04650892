"""``lazynet verify``: the lazy model beside its dense twin on the first rows of a file."""

from __future__ import annotations

import argparse
from typing import Any

from lazynet.command import inputs, learning
from lazynet.command.literals import count_from
from lazynet.command.output import Ticker, as_json
from lazynet.models import files as model_files

EXAMPLES = """\
examples:
  The parameters of a trained model, on the first 200 rows of your own file:
    lazynet verify rows.svm --model model.lazy

  Parameters from options, and three passes over 50 rows:
    lazynet verify rows.svm --rule ftrl --l1 1e-4 --rows 50 --passes 3

Both models start from zero weights and learn the same rows in the order of the file. After every
step all weights are compared. The bound follows from the number of steps and the unit of rounding.
Exit code 1 says that a difference was beyond the bound.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="files or patterns; - is a pipe")
    parser.add_argument("-m", "--model", metavar="MODEL", help="take the parameters of this model")
    parser.add_argument("--rows", type=count_from(1), default=200, metavar="N",
                        help="rows at most (default: 200)")  # fmt: skip
    parser.add_argument("--passes", type=count_from(1), metavar="N", help="passes (default: 1)")
    group = parser.add_argument_group("what is compared, without --model")
    learning.add_task(group)
    learning.add_steps(group)
    inputs.add_reading(parser)
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")


def run(options: argparse.Namespace) -> int:
    """Compare; returns the exit code."""
    # The estimators load SciPy and scikit-learn, which takes a moment.
    from lazynet.loading import load

    model, note = None, None
    given = learning.parameters_of(options)
    if options.model is not None:
        model = load(options.model)
        note = model_files.note_of(options.model)
        if not hasattr(model, "verify"):
            raise ValueError(f"{type(model).__name__} has no dense twin that takes the same steps: "
                             "verify compares LazyNet*, ASGD* and *StabilisedSGDClassifier"
            )  # fmt: skip
        if given or options.task is not None:
            raise ValueError("--model has parameters of its own: leave out the others")
    inputs.settle_reading(options, model, note)
    source = inputs.source_of(options)
    if inputs.is_text(source):
        source = inputs.with_cache(source, "no", Ticker(1e8, quiet=True))
    head = inputs.first_rows(source, options.rows)
    if head is None:
        raise inputs.no_rows(options.files)
    if model is None:
        task = options.task or _task_of(head.y)
        model = learning.new_model(task, given)
    elif getattr(model, "l1", 0.0) is None:
        model.set_params(l1=model.l1_)
    passes = {} if options.passes is None else {"epochs": options.passes}
    found = model.verify(head.X, head.y, head.weight, max_rows=options.rows, **passes)
    if options.json:
        print(as_json({
            "agrees": found.agrees, "engine": found.engine, "rows": found.rows,
            "features": found.features, "steps": found.steps,
            "steps_compared": found.steps_compared, "bound": found.bound,
            "greatest_absolute": found.absolute.amount,
            "greatest_relative": found.relative.amount, "largest_weight": found.largest_weight,
            "ended": found.ended,
        }))  # fmt: skip
    else:
        print(model)
        print(found)
    return int(found.agrees is not True)


def _task_of(y: Any) -> str:
    """The task that the labels of the first rows suggest."""
    from lazynet.streams.chunks import Chunk, csr
    from lazynet.streams.source import Tally

    tally = Tally()
    tally.add(Chunk(csr([0] * (y.shape[0] + 1), [], [], 1), y, None))
    n_labels = y.shape[1] if y.ndim == 2 else None
    return learning.guessed_task(tally.facts(1, n_labels))
