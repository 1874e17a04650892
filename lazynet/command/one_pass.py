"""``lazynet train`` in one pass: over a pipe, over columns as they come, or without a cache."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from lazynet.command import inputs, learning
from lazynet.command.output import Ticker, say
from lazynet.command.scores import Scores
from lazynet.models import files as model_files
from lazynet.streams.chunks import part
from lazynet.streams.growing import Growing
from lazynet.streams.source import Source

#: Rows that a single pass learns from at a time, and those of them that it judges before.
_ROWS_OF_A_CHUNK, _ROWS_JUDGED = 32_768, 2_048
#: Options that a single pass, as one over a pipe is, does not take.
_NEED_FILES = ("holdout", "shuffle", "minimum", "checkpoint", "every")


def reads_once(options: argparse.Namespace, source: Source) -> bool:
    """Whether the model learns from every chunk as it comes, and the rows are read once."""
    if options.grow or inputs.is_pipe(source):
        return True
    if options.passes != 1 or options.cache != "no" or not inputs.is_text(source):
        return False
    # Everything has to be known beforehand that one pass has to know.
    known = options.format == "vw" or options.features is not None
    task = options.task == "regression" or (
        options.task == "classification" and options.classes is not None
    )
    plain = not any(getattr(options, name) for name in (*_NEED_FILES, "begin"))
    return plain and known and task and options.l1 is not None


def check_growing(options: argparse.Namespace) -> None:
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


def stream(
    options: argparse.Namespace, source: Source, old: Any, given: dict[str, Any], ticker: Ticker
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
    if model is None:
        if options.multilabel:
            options.task = "labels"
            if inputs.is_pipe(source) and options.labels is None:
                raise ValueError("the labels of a pipe cannot be counted beforehand: write "
                                 "--labels N")  # fmt: skip
        if options.task is None:
            raise ValueError("one pass cannot look at the labels beforehand: write --task")
        given = {name: value for name, value in given.items() if name not in ("max_iter", "tol")}
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
    found: dict[str, Any] = {"rows": 0, "values": 0, "passes": 1, "went_on": False}
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
