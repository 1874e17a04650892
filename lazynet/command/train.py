"""``lazynet train``: a model from files, out of core."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lazynet.command import inputs, learning, one_pass
from lazynet.command.held_out import EveryNth
from lazynet.command.literals import count_from
from lazynet.command.output import (
    Ticker,
    check_apart,
    check_writable,
    memory_told,
    peak_memory,
    report,
    say,
)
from lazynet.command.scores import scores_of
from lazynet.models import checkpoints
from lazynet.models import files as model_files
from lazynet.streams.shuffled import Shuffled
from lazynet.streams.source import Source

EXAMPLES = """\
examples:
  Learn from a file in svmlight's form, with penalty and rates from the rows:
    lazynet train rows.svm -f model.lazy

  Three passes over packed parts in Vowpal Wabbit's form, with 2^20 hashed features:
    lazynet train 'part-*.vw.gz' -b 20 --passes 3 --l1 1e-6 -f model.lazy

  One pass over a pipe, which keeps nothing but the model:
    zcat rows.svm.gz | lazynet train - --format svmlight --base 1 --features 1000000 \\
        --task classification --classes=-1,1 --passes 1 -f model.lazy

  Every tenth row held out and judged at the end; rows shuffled within 100,000:
    lazynet train rows.svm --holdout 10 --shuffle 100000 -f model.lazy

  A run that goes on after a kill, by the same command:
    lazynet train rows.svm --passes 50 --checkpoint run.lazy -f model.lazy

  Go on from a model, on new rows; then on rows with columns that the model has not seen:
    lazynet train new.svm -i model.lazy -f model2.lazy
    lazynet train wider.svm -i model2.lazy --grow -f model3.lazy

  The minimum itself, with a proof of how near it is; the rows are mapped into memory:
    lazynet train rows.svm --minimum --l1 1e-4 -f model.lazy

The first pass over text keeps the parsed rows in FILE.rows; every later pass, and every later
call, reads the rows from there. --cache no keeps nothing.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="files or patterns; - is a pipe")
    parser.add_argument("-d", "--data", action="append", default=[], metavar="FILE",
                        help="one more file")  # fmt: skip
    parser.add_argument("-f", "--model", "--final_regressor", required=True, metavar="MODEL",
                        help="where the model is written, when it is complete")  # fmt: skip
    parser.add_argument("-i", "--from", "--initial_regressor", dest="begin", metavar="MODEL",
                        help="go on from this model, with its parameters")  # fmt: skip
    group = parser.add_argument_group("what is learned")
    learning.add_task(group)
    group.add_argument("--classes", metavar="A,B,...", help="the labels, for a pipe")
    group = parser.add_argument_group("how it is learned")
    group.add_argument(
        "--passes",
        type=count_from(1),
        metavar="N",
        help="passes over the rows (default: until the loss comes to rest)",
    )
    group.add_argument(
        "--tol",
        type=float,
        metavar="SHARE",
        help="with --passes: end before, when passes lower the loss by less",
    )
    group.add_argument(
        "--patience", type=count_from(1), metavar="N", help="so many passes (default: 5)"
    )
    group.add_argument(
        "--shuffle",
        type=count_from(1),
        metavar="ROWS",
        help="another order in every pass, within windows of so many rows",
    )
    group.add_argument(
        "--holdout",
        "--holdout_period",
        type=count_from(2),
        metavar="N",
        help="hold every N-th row out, and judge the model on these rows",
    )
    group.add_argument(
        "--minimum",
        action="store_true",
        help="go to the minimum, and prove it; the rows are mapped into memory from a file beside "
        "the cache",
    )
    group.add_argument(
        "--grow",
        action="store_true",
        help="one pass, in which the model gets the columns of the rows as they come: they need "
        "not be counted before, and with -i the rows may have more than the model",
    )
    learning.add_steps(group)
    group = parser.add_argument_group("what outlives an end before the end")
    group.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="keep the run there: after a kill or Ctrl-C the same command goes on, and ends with "
        "the same model",
    )
    group.add_argument(
        "--every",
        type=float,
        metavar="SECONDS",
        help="with --checkpoint: the time between two writings (default: 60)",
    )
    inputs.add_reading(parser)
    inputs.add_cache(parser)
    inputs.add_progress(parser)


def run(options: argparse.Namespace) -> int:
    """Train and save; returns the exit code."""
    # The estimators load SciPy and scikit-learn, which takes a moment.
    from lazynet.loading import load

    options.files = [*options.files, *options.data]
    check_writable(options.model)
    given = _parameters(options)
    if options.every is not None and options.checkpoint is None:
        raise ValueError("--every needs --checkpoint FILE, which it writes")
    old = None if options.begin is None else load(options.begin)
    note = None if options.begin is None else model_files.note_of(options.begin)
    inputs.settle_reading(options, old, note, grows=options.grow)
    if options.grow:
        one_pass.check_growing(options)
    source = inputs.source_of(options)
    _check_outputs(options, source)
    if old is not None:
        _check_going_on(options, old, given)
    options.when_stopped = f"{options.model} is as it was"
    ticker = Ticker(options.progress, options.quiet)
    began = time.perf_counter()
    try:
        if one_pass.reads_once(options, source):
            model, found = one_pass.stream(options, source, old, given, ticker)
        else:
            model, found = _fit(options, source, old, given, ticker)
    finally:
        ticker.close()
    model_files.save(model, options.model, True, inputs.note_of(options))
    found["seconds"] = time.perf_counter() - began
    _tell(options, model, found)
    return 0


def _check_outputs(options: argparse.Namespace, source: Source) -> None:
    """Refuse files to write that would take the place of others."""
    reads = inputs.files_read(options)
    cache = None if options.grow else inputs.cache_of(source, options.cache)
    others = [("--checkpoint", options.checkpoint), ("--cache", cache)]
    check_apart([("--model", options.model), *others], reads)
    if options.begin is not None:
        # The new model may take the place of the one from which it goes on.
        check_apart(others, [options.begin])
    if options.checkpoint is not None:
        check_writable(options.checkpoint)
        checkpoints.refuse_foreign(options.checkpoint)


# --- several passes ----------------------------------------------------------------------------


def _fit(
    options: argparse.Namespace, text: Source, old: Any, given: dict[str, Any], ticker: Ticker
) -> tuple[Any, dict[str, Any]]:
    """Fit from the source; reads it as often as the estimator asks for."""
    source = inputs.with_cache(text, options.cache, ticker)
    # Where there is no file of rows yet, this pass makes it.
    source.n_features  # noqa: B018
    facts = source.facts()
    if not facts.n_rows:
        raise inputs.no_rows(options.files)
    held = None
    rows: Source = source
    if options.holdout is not None:
        rows, held = (EveryNth(source, options.holdout, others=o) for o in (True, False))
    if options.shuffle is not None:
        rows = Shuffled(rows, window=options.shuffle, seed=options.seed or 0)
    task = options.task
    if old is not None:
        model = _going_on(options, old)
    else:
        if task is None:
            task = learning.guessed_task(facts)
            say(f"task: {learning.told_task(task, facts)}")
        model = learning.new_model(task, given, minimum=options.minimum)
    ticker.begin("looking through the rows", facts.n_rows)
    found: dict[str, Any] = {"rows": facts.n_rows, "values": facts.n_values}
    fit_options = _checkpoint(options)
    found["went_on"] = options.checkpoint is not None and os.path.exists(options.checkpoint)
    if options.minimum:
        ticker.begin("going to the minimum", None)
        with _told_if_stopped(options):
            model.fit(rows, **fit_options)
    else:

        def after(epoch: Any) -> bool:
            ticker.loss = epoch.progressive_loss
            ticker.begin(f"pass {epoch.epoch + 2}", rows.facts().n_rows)
            return False

        ticker.begin("pass 1", facts.n_rows)
        with _told_if_stopped(options):
            model.fit(rows, callback=after, **fit_options)
    found["passes"] = int(np.max(model.n_iter_))
    found["progressive_loss"] = (model.history_ or [{}])[-1].get("progressive_loss")
    if held is not None:
        ticker.begin("judging held-out rows", None)
        found["holdout"] = scores_of(model, held).result()
    return model, found


def _checkpoint(options: argparse.Namespace) -> dict[str, Any]:
    """What ``fit`` is told of the checkpoint."""
    if options.checkpoint is None:
        return {}
    every = {} if options.every is None else {"every": options.every}
    return {"checkpoint": options.checkpoint, **every}


@contextmanager
def _told_if_stopped(options: argparse.Namespace) -> Iterator[None]:
    """After Ctrl-C say what keeps the run, if a file does."""
    try:
        yield
    except KeyboardInterrupt:
        if options.checkpoint is not None and os.path.exists(options.checkpoint):
            options.when_stopped = (
                f"{options.checkpoint} keeps the run, and the same command goes on"
            )
        raise


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of a new estimator."""
    given = learning.parameters_of(options)
    given.setdefault("random_state", options.seed or 0)
    if options.passes is not None:
        given["max_iter"] = options.passes
        if not options.minimum:
            given.setdefault("tol", None)
    if options.tol is not None:
        given["tol"] = options.tol
    if options.patience is not None:
        given["n_iter_no_change"] = options.patience
    return given


def _check_going_on(options: argparse.Namespace, old: Any, given: dict[str, Any]) -> None:
    """Refuse a model that does not go on learning, and options that would change the model."""
    if not hasattr(old, "partial_fit"):
        raise ValueError(f"{type(old).__name__} does not go on from a model: train it anew")
    free = {"random_state"} if options.passes is None else {"random_state", "max_iter", "tol"}
    refused = (given.keys() - free) | {text.partition("=")[0].strip() for text in options.set}
    if refused or options.minimum or options.task is not None:
        name = sorted(refused)[0] if refused else "task" if options.task else "minimum"
        raise ValueError(f"the model of -i keeps its own parameters: leave out the {name}")


def _going_on(options: argparse.Namespace, old: Any) -> Any:
    """The old model, which goes on learning; only the number of passes may be given."""
    old.set_params(warm_start=True)
    if options.passes is not None:
        old.set_params(max_iter=options.passes, tol=options.tol)
    return old


# --- what is told ------------------------------------------------------------------------------


def _tell(options: argparse.Namespace, model: Any, found: dict[str, Any]) -> None:
    weights = model._weights_to_save()
    nonzeros = int(np.count_nonzero(getattr(weights, "values", weights)))
    loss = found.pop("progressive_loss", None)
    # A run that goes on has read some of its rows in another process.
    speed = None if found["went_on"] else found["rows"] * found["passes"] / found["seconds"]
    peak = peak_memory()
    told = {
        "model": options.model, "estimator": type(model).__name__, **found,
        "rows_per_second": speed, "progressive_loss": loss, "features": int(model.n_features_in_),
        "nonzeros": nonzeros, "l1": getattr(model, "l1_", None), "peak_memory": peak,
        "bytes": os.path.getsize(options.model),
    }  # fmt: skip
    passes = f"{found['passes']} pass" + "es" * (found["passes"] != 1)
    lines = {
        "model": f"{options.model}, {type(model).__name__}",
        "rows": f"{found['rows']:,} in {passes}, {found['values']:,} values",
        "weights": f"{nonzeros:,} of {model.n_features_in_:,} features"
        if len(weights.shape) < 2 or weights.shape[0] == 1
        else f"{nonzeros:,} in {weights.shape[0]} outputs of {model.n_features_in_:,} features",
        "seconds": f"{found['seconds']:.3g} "
        + ("since the run went on" if speed is None else f"({speed:,.0f} rows a second)"),
    }
    if loss is not None:
        lines["loss"] = f"{loss:.6g} progressive, in the last pass"
    if hasattr(model, "duality_gap_"):
        lines["gap"] = f"{np.max(model.duality_gap_):.3g} at most from the minimum"
    for name in ("before_learning", "holdout"):
        if name in found:
            what = " ".join(f"{key} {value:.6g}" for key, value in found[name].items())
            lines[name.replace("_", " ")] = what
    lines["memory"] = memory_told(peak)
    report(told, lines, options.json)
