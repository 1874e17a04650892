"""``lazynet path``: the minima for a row of penalties, from the sparsest on."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lazynet.command import inputs, learning
from lazynet.command.foreign import loss_named
from lazynet.command.literals import count_from, object_of
from lazynet.command.output import Ticker, as_json, check_apart, check_writable, say
from lazynet.command.plots import curve
from lazynet.losses import LOSS_OBJECTS
from lazynet.models import files as model_files
from lazynet.streams.arrays import Arrays
from lazynet.streams.mapped import Mapped
from lazynet.streams.source import Facts, Source

EXAMPLES = """\
examples:
  Twenty penalties from the least at which every weight is 0, to a hundredth of it:
    lazynet path rows.svm --points 20

  The penalty that three folds choose, and its model:
    lazynet path rows.svm --folds 3 -f model.lazy

  Half of the penalty is l2, as in glmnet with alpha = 0.5:
    lazynet path rows.svm --l1-ratio 0.5

Each point is the minimum for its penalty, with a proof of how near it is. The rows need not fit
into memory: they are mapped into memory from temporary files, beside the cache or where TMPDIR
says. As with lazynet train, parsed rows are kept in FILE.rows; --cache no keeps nothing.
"""

_SEVERAL_LABELS = "a path has one target, and these rows have several labels"


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="files or patterns; - is a pipe")
    parser.add_argument("--task", choices=("classification", "regression"),
                        help="what to predict (default: guessed)")  # fmt: skip
    parser.add_argument("--loss", "--loss_function", metavar="NAME",
                        help="any loss of train but perceptron")  # fmt: skip
    parser.add_argument(
        "--points", type=count_from(1), default=20, metavar="N", help="(default: 20)"
    )
    parser.add_argument(
        "--smallest",
        type=float,
        default=1e-2,
        metavar="SHARE",
        help="the last penalty, as a share of the first (default: 0.01)",
    )
    parser.add_argument("--l1-ratio", type=float, default=1.0, metavar="R",
                        help="the share of l1 in the penalty (default: 1)")  # fmt: skip
    parser.add_argument("--tol", type=float, default=1e-4, metavar="SHARE",
                        help="the gap to arrive at, as a share of the objective at 0")  # fmt: skip
    parser.add_argument(
        "--folds", type=count_from(2), metavar="K", help="choose the penalty by K folds"
    )
    parser.add_argument("-f", "--model", metavar="MODEL", help="with --folds: write the model")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    inputs.add_reading(parser)
    inputs.add_cache(parser)
    inputs.add_progress(parser)


def run(options: argparse.Namespace) -> int:
    """Print the table of the path; returns the exit code."""
    if options.multilabel:
        raise ValueError(f"--multilabel: {_SEVERAL_LABELS}")
    check_writable(options.model)
    if options.model is not None and options.folds is None:
        raise ValueError("--model needs --folds, which choose one of the penalties")
    inputs.settle_reading(options)
    rows = inputs.source_of(options)
    outputs = [("--model", options.model), ("--cache", inputs.cache_of(rows, options.cache))]
    check_apart(outputs, inputs.files_read(options))
    ticker = Ticker(options.progress, options.quiet)
    ticker.begin("reading", None)
    try:
        with _readable_again(rows, options.cache, ticker) as source:
            found = _found(options, source, ticker)
    finally:
        ticker.close()
    _tell(options, found)
    return 0


@contextmanager
def _readable_again(source: Source, cache: str, ticker: Ticker) -> Iterator[Source]:
    """The source with a cache; what a pipe gives once is kept in temporary files."""
    if not inputs.is_pipe(source):
        yield inputs.with_cache(source, cache, ticker)
        return
    with Mapped(inputs.Watched(source, ticker)) as rows:
        yield Arrays(rows.X, rows.y, rows.weight)


def _found(options: argparse.Namespace, source: Source, ticker: Ticker) -> dict[str, Any]:
    """What is printed of the path over the rows of a source."""
    # Where there is no file of rows yet, this pass makes it.
    source.n_features  # noqa: B018
    facts = source.facts()
    if not facts.n_rows:
        raise inputs.no_rows(options.files)
    if facts.n_labels is not None:
        raise ValueError(_SEVERAL_LABELS)
    task = options.task
    if task is None:
        task = learning.guessed_task(facts)
        say(f"task: {learning.told_task(task, facts)}")
    default = "log_loss" if task == "classification" else "squared_error"
    loss = object_of("--loss", loss_named(options.loss or default), LOSS_OBJECTS)
    run_of = _followed if options.folds is None else _chosen
    ticker.begin("going along the path", None)
    return run_of(options, source, facts, task, loss)


def _tell(options: argparse.Namespace, found: dict[str, Any]) -> None:
    if options.json:
        print(as_json(found))
        return
    names = list(found["points"][0])
    print("  ".join(f"{name:>12}" for name in names))
    for point in found["points"]:
        print("  ".join(f"{point[name]:12,d}" if isinstance(point[name], int)
                        else f"{point[name]:12.5g}" for name in names))  # fmt: skip
    what = "objective" if options.folds is None else "loss"
    print(f"\n{what} from the largest penalty to the smallest")
    for line in curve([point[what] for point in found["points"]]):
        print(f"  {line}")
    if "chosen" in found:
        chosen = found["chosen"]
        print(f"\nchosen l1 {chosen['l1']:.5g}, l2 {chosen['l2']:.5g}, "
              f"{chosen['nonzeros']:,} weights that are not 0")  # fmt: skip


def _followed(
    options: argparse.Namespace, source: Source, facts: Facts, task: str, loss: Any
) -> dict[str, Any]:
    """Every point of the path."""
    # SciPy and scikit-learn take a moment to load.
    from lazynet.paths import net_path

    if task == "classification" and len(facts.classes or ()) != 2:
        how_many = "very many" if facts.classes is None else len(facts.classes)
        raise ValueError(f"a path has two classes, and the files have {how_many}: "
                         "--folds learns several, one against the rest")  # fmt: skip
    path = net_path(
        source, loss=loss, l1_ratio=options.l1_ratio, n_points=options.points,
        smallest=options.smallest, tol=options.tol, random_state=options.seed,
    )  # fmt: skip
    columns = (path.l1s, path.l2s, path.nonzeros, path.objectives, path.gaps)
    names = ("l1", "l2", "nonzeros", "objective", "gap")
    points = [
        {name: value.item() for name, value in zip(names, row, strict=True)}
        for row in zip(*columns, strict=True)
    ]
    return {"rows": facts.n_rows, "points": points}


def _chosen(
    options: argparse.Namespace, source: Source, facts: Facts, task: str, loss: Any
) -> dict[str, Any]:
    """The held-out losses of the penalties, and the model of the best one."""
    from lazynet.estimators.dual_net_cv import DualNetClassifierCV, DualNetRegressorCV

    kind = DualNetClassifierCV if task == "classification" else DualNetRegressorCV
    model = kind(
        loss=loss, l1_ratios=[options.l1_ratio], n_points=options.points,
        smallest=options.smallest, cv=options.folds, random_state=options.seed,
    )  # fmt: skip
    model.fit(source)
    if options.model is not None:
        model_files.save(model, options.model, True, inputs.note_of(options))
    return {"rows": facts.n_rows, **_table(model)}


def _table(model: Any) -> dict[str, Any]:
    """The held-out losses by penalty, and what was chosen."""
    points = [
        {"l1": l1, "l2": l2, "nonzeros": nonzeros, "loss": mean, "standard_error": error}
        for l1, l2, nonzeros, mean, error in zip(
            model.l1s_[0].tolist(), model.l2s_[0].tolist(),
            model.nonzeros_[0].mean(axis=-1).tolist(), model.means_[0].tolist(),
            model.standard_errors_[0].tolist(), strict=True,
        )
    ]  # fmt: skip
    chosen = {"l1": model.l1_, "l2": model.l2_, "nonzeros": int(np.count_nonzero(model.coef_))}
    return {"points": points, "chosen": chosen}
