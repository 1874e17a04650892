"""``lazynet train``: a model from files, out of core."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from lazynet.command import inputs, learning
from lazynet.command.output import (
    Ticker,
    check_apart,
    check_writable,
    memory_told,
    peak_memory,
    report,
    say,
)
from lazynet.command.scores import Scores, scores_of
from lazynet.models import checkpoints
from lazynet.models import files as model_files
from lazynet.streams.chunks import part
from lazynet.streams.growing import Growing
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


#: Rows that a single pass learns from at a time, and those of them that it judges before.
_ROWS_OF_A_CHUNK, _ROWS_JUDGED = 32_768, 2_048
#: Options that a single pass, as one over a pipe is, does not take.
_NEED_FILES = ("holdout", "shuffle", "minimum", "checkpoint", "every")


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
        type=int,
        metavar="N",
        help="passes over the rows (default: until the loss comes to rest)",
    )
    group.add_argument(
        "--tol",
        type=float,
        metavar="SHARE",
        help="with --passes: end before, when passes lower the loss by less",
    )
    group.add_argument("--patience", type=int, metavar="N", help="so many passes (default: 5)")
    group.add_argument(
        "--shuffle",
        type=int,
        metavar="ROWS",
        help="another order in every pass, within windows of so many rows",
    )
    group.add_argument(
        "--holdout",
        "--holdout_period",
        type=int,
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
    old = None if options.begin is None else load(options.begin)
    note = None if options.begin is None else model_files.note_of(options.begin)
    inputs.settle_reading(options, old, note, grows=options.grow)
    if options.grow:
        _check_growing(options)
    source = inputs.source_of(options)
    _check_outputs(options, source)
    options.when_stopped = f"{options.model} is as it was"
    ticker = Ticker(options.progress, options.quiet)
    began = time.perf_counter()
    try:
        one_pass = options.passes == 1 and inputs.is_text(source) and options.cache == "no"
        if options.grow or inputs.is_pipe(source) or (one_pass and _may_stream(options, source)):
            model, found = _stream(options, source, old, ticker)
        else:
            model, found = _fit(options, source, old, ticker)
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
    options: argparse.Namespace, text: Source, old: Any, ticker: Ticker
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
        rows, held = (inputs.EveryNth(source, options.holdout, others=o) for o in (True, False))
    if options.shuffle is not None:
        rows = Shuffled(rows, window=options.shuffle, seed=options.seed)
    task = options.task
    if old is not None:
        model = _going_on(options, old)
    else:
        if task is None:
            task = learning.guessed_task(facts)
            say(f"task: {learning.told_task(task, facts)}")
        model = learning.new_model(task, _parameters(options), minimum=options.minimum)
    ticker.begin("looking through the rows", facts.n_rows)
    found: dict[str, Any] = {"rows": facts.n_rows, "values": facts.n_values}
    fit_options = _checkpoint(options)
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
    if held is not None:
        ticker.begin("judging held-out rows", None)
        found["holdout"] = scores_of(model, held).result()
    return model, found


def _checkpoint(options: argparse.Namespace) -> dict[str, Any]:
    """What ``fit`` is told of the checkpoint."""
    if options.checkpoint is None:
        if options.every is not None:
            raise ValueError("--every needs --checkpoint FILE, which it writes")
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
    given.setdefault("random_state", options.seed)
    if options.passes is not None:
        given["max_iter"] = options.passes
        if not options.minimum:
            given.setdefault("tol", None)
    if options.tol is not None:
        given["tol"] = options.tol
    if options.patience is not None:
        given["n_iter_no_change"] = options.patience
    return given


def _going_on(options: argparse.Namespace, old: Any) -> Any:
    """The old model, which goes on learning; only the number of passes may be given."""
    if not hasattr(old, "warm_start"):
        raise ValueError(f"{type(old).__name__} does not go on from a model: train it anew")
    refused = {name for name in learning.parameters_of(options) if name != "random_state"}
    if refused or options.minimum or options.task is not None:
        name = sorted(refused)[0] if refused else "task" if options.task else "minimum"
        raise ValueError(f"the model of -i keeps its own parameters: leave out the {name}")
    old.set_params(warm_start=True)
    if options.passes is not None:
        old.set_params(max_iter=options.passes, tol=options.tol)
    return old


# --- one pass ----------------------------------------------------------------------------------


def _may_stream(options: argparse.Namespace, source: Source) -> bool:
    """Whether everything is known beforehand that one pass has to know."""
    known = options.format == "vw" or options.features is not None
    task = options.task == "regression" or (
        options.task == "classification" and options.classes is not None
    )
    plain = not any(getattr(options, name) for name in _NEED_FILES)
    return plain and known and (task or options.begin is not None) and options.l1 is not None


def _check_growing(options: argparse.Namespace) -> None:
    """Refuse what a pass that takes columns as they come has no use for."""
    if options.cache not in ("auto", "no"):
        raise ValueError(
            f"--cache {options.cache} keeps rows for later passes, and --grow reads them once: "
            "leave one of them out"
        )
    if options.format == "vw":
        raise ValueError(
            "--grow is for files that number their columns: the features of vw are hashed to "
            "2^BITS columns, however many there are"
        )
    if options.format == "svmlight" and options.features is not None:
        raise ValueError(
            "--grow takes the columns as they come, and --features says how many there are: leave "
            "one of them out"
        )


def _stream(
    options: argparse.Namespace, source: Source, old: Any, ticker: Ticker
) -> tuple[Any, dict[str, Any]]:
    """Learn from every chunk once, as it comes."""
    # The estimators load SciPy and scikit-learn, which takes a moment.
    from lazynet.estimators.from_sources import as_wide

    once = "--grow" if options.grow else "a pipe"
    if options.passes not in (None, 1):
        raise ValueError(f"{once} serves for one pass, got --passes {options.passes}")
    for name in _NEED_FILES:
        if getattr(options, name):
            raise ValueError(f"--{name} needs files that are read again, and {once} reads once")
    if options.format == "svmlight" and options.features is None and not options.grow:
        raise ValueError(
            "the columns of a pipe cannot be counted beforehand: write --features N, or --grow to "
            "take them as they come"
        )
    model = old
    if old is not None and not hasattr(old, "partial_fit"):
        raise ValueError(f"{type(old).__name__} does not go on in one pass: train it anew")
    if model is None:
        if options.task is None:
            raise ValueError("one pass cannot look at the labels beforehand: write --task")
        given = _parameters(options)
        for name in ("max_iter", "tol"):
            given.pop(name, None)
        if "l1" not in given:
            say(
                "note: l1 is 0, because it cannot follow rows that have not been seen: --l1 sets it"
            )
            given["l1"] = 0.0
        model = learning.new_model(options.task, given)
    first: dict[str, Any] = {}
    if old is None and options.task == "classification":
        if options.classes is None:
            raise ValueError(
                "one pass cannot look at the labels beforehand: write --classes=-1,1, for instance"
            )
        first["classes"] = _classes(options.classes)
    judged = Scores(model)
    found = {"rows": 0, "values": 0, "passes": 1}
    ticker.begin("pass 1", None)
    rows: Source = inputs.Watched(source, ticker)
    if options.grow:
        rows = Growing(rows)
    try:
        with closing(rows.chunks(_ROWS_OF_A_CHUNK)) as chunks:
            for chunk in chunks:
                begun = found["rows"] or old is not None
                if options.grow and begun:
                    chunk = as_wide(chunk, model, model._grow_by_itself)
                if begun:
                    judged.add(part(chunk, 0, min(_ROWS_JUDGED, chunk.X.shape[0])))
                model.partial_fit(chunk.X, chunk.y, sample_weight=chunk.weight, **first)
                found["rows"] += chunk.X.shape[0]
                found["values"] += len(chunk.X.data)
    except KeyboardInterrupt:
        if found["rows"]:
            model_files.save(model, options.model, True, inputs.note_of(options))
            options.when_stopped = (
                f"{options.model} has learned from {found['rows']:,} rows, and "
                f"-i {options.model} goes on"
            )
        raise
    if not found["rows"]:
        raise inputs.no_rows(options.files)
    return model, {**found, "before_learning": judged.result()} if judged.rows else found


def _classes(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--classes must be numbers with commas between them, got {text!r}"
        ) from None


# --- what is told ------------------------------------------------------------------------------


def _tell(options: argparse.Namespace, model: Any, found: dict[str, Any]) -> None:
    weights = model._weights_to_save()
    nonzeros = int(np.count_nonzero(getattr(weights, "values", weights)))
    history = getattr(model, "history_", None) or [{}]
    loss = history[-1].get("progressive_loss")
    visited = found["rows"] * found["passes"]
    speed = visited / found["seconds"]
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
        "seconds": f"{found['seconds']:.3g} ({speed:,.0f} rows a second)",
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
