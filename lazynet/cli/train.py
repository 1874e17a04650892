"""``lazynet train``: train a model from files that need not fit into memory."""

from __future__ import annotations

import argparse
import ast
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from lazynet.cli import inputs, say
from lazynet.cli.inputs import check_apart, count, report
from lazynet.data.files import check_writable
from lazynet.data.mapped_files import cached
from lazynet.data.source import Facts, Shuffled, Source
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.estimators import load_with_note
from lazynet.estimators.online import LazyNetClassifier, LazyNetRegressor
from lazynet.losses import LOSS_OBJECTS, LOSSES, SOFTMAX
from lazynet.persistence import files as model_files
from lazynet.rules.storage import STORAGES
from lazynet.schedules import SCHEDULES

TASKS = ("classification", "regression", "labels")
#: More different whole numbers than this are numbers, and not classes, unless --task says so.
MOST_GUESSED_CLASSES = 20
#: Objects that a value may name, by the parameters that take them: of an estimator, and of a rule.
OBJECTS: dict[str, Mapping[str, type[Any]]] = {
    "loss": LOSS_OBJECTS,
    "rule": {name: row.rule for name, row in ALGORITHMS.items()},
    "schedule": SCHEDULES,
    "storage": STORAGES,
}

EXAMPLES = """\
examples:
  Train from a file in svmlight's format, with automatic penalty and rates:
    lazynet train rows.svm -o model.lazy

  Three passes over packed parts in Vowpal Wabbit's format, with 2^20 hashed features; the text is
  parsed once, and a file keeps the rows for the other passes and for later calls:
    lazynet train 'part-*.vw.gz' --bits 20 --passes 3 --l1 1e-6 --cache part.rows -o model.lazy

  Any parameter of LazyNetClassifier and LazyNetRegressor, and of a rule:
    lazynet train rows.svm --set rule=ftrl --set rule__alpha=0.1 -o model.lazy
    lazynet train rows.svm --set rule=fobos --set rule__schedule=power \\
        --set rule__schedule__power_t=0.5 -o model.lazy

  A run that the same command resumes after a kill:
    lazynet train rows.svm --passes 50 --checkpoint run.lazy -o model.lazy

  Continue the training of a model with new rows:
    lazynet train new.svm --from model.lazy -o model2.lazy
"""


def add(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    inputs.add_reading(parser)
    parser.add_argument("-o", "--output", required=True, metavar="MODEL",
                        help="where the model is written, when it is complete")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")
    group = parser.add_argument_group("what is learned")
    group.add_argument(
        "--task", choices=TASKS, help="what to predict (default: guessed from the labels)"
    )
    losses = ", ".join((*LOSSES, SOFTMAX.name))
    group.add_argument(
        "--loss", metavar="NAME", help=f"one of {losses}; --set loss__epsilon=0.5 gives a width"
    )
    group.add_argument("--l1", type=float, help="strength of the penalty l1 * sum|w| (default: "
                       "from the rows)")  # fmt: skip
    group.add_argument("--l2", type=float, help="strength of l2/2 * sum w^2 (default: 0)")
    group.add_argument(
        "--passes", type=count, metavar="N",
        help="make N passes over the rows: max_iter=N (default: until the loss no longer falls, at "
        "most 6 for classes, and 20 for numbers)",
    )  # fmt: skip
    group.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="any other parameter of the estimator, such as --set random_state=1 or --set "
        f"rule=NAME; the rules are {', '.join(ALGORITHMS)}",
    )  # fmt: skip
    group.add_argument("--from", dest="begin", metavar="MODEL",
                       help="continue from this model, with its parameters")  # fmt: skip
    group = parser.add_argument_group("how the rows are read again and again")
    group.add_argument(
        "--shuffle", type=count, metavar="ROWS",
        help="another order in every pass, within windows of this many rows",
    )  # fmt: skip
    group.add_argument("--cache", metavar="FILE", help="keep the parsed rows there, for other "
                       "passes and later calls (default: they are parsed again)")  # fmt: skip
    group.add_argument("--checkpoint", metavar="FILE", help="save the run there after a pass, "
                       "at most once a minute: after a kill or Ctrl-C the same command resumes it; "
                       "other parameters, rows or --passes are an error")  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Train and save."""
    check_writable(options.output)
    parameters = parameters_of(options)
    old, note = (None, None) if options.begin is None else load_with_note(options.begin)
    if old is not None:
        _check_continues(options, old)
    began = time.perf_counter()
    with inputs.pipes_in_files(options, note):
        inputs.settle_reading(options, old, note)
        _check_outputs(options)
        source = _source(options)
        model = _fitted(options, source, old, parameters)
        note = {name: getattr(options, name) for name in inputs.REMEMBERED}
        model_files.save(model, options.output, note)
        _report(options, model, source, time.perf_counter() - began)


def _check_continues(options: argparse.Namespace, old: Any) -> None:
    """Refuse a model that cannot continue training, and options that would change the model."""
    if not hasattr(old, "partial_fit"):
        raise ValueError(f"{type(old).__name__} cannot continue from a model: leave out --from")
    for name in ("task", "loss", "l1", "l2", "set"):
        if getattr(options, name) not in (None, []):
            raise ValueError(f"the model of --from keeps its own parameters: leave out --{name}")


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse outputs that would replace other files."""
    run_files = [("--checkpoint", options.checkpoint), ("--cache", options.cache)]
    check_apart([("--output", options.output), *run_files], options.files)
    if options.begin is not None:
        # The new model may replace the model from which it continues.
        check_apart(run_files, [options.begin])
    for path in (options.checkpoint, options.cache):
        if path is not None:
            check_writable(path)


def _source(options: argparse.Namespace) -> Source:
    """The source of the rows, cached if --cache is given."""
    source = inputs.source_of(options)
    if options.cache is None:
        return source
    if options.format == "rows":
        raise ValueError("--cache is for rows that are parsed, and files of the form rows need no "
                         "parsing: leave it out")  # fmt: skip
    return cached(source, options.cache)


def _fitted(
    options: argparse.Namespace, source: Source, old: Any, parameters: dict[str, Any]
) -> Any:
    """The model after a fit from the source."""
    facts = source.facts()
    if not facts.n_rows:
        raise inputs.no_rows(options.files)
    model, task = old, options.task
    if old is None:
        if task is None:
            task, reason = guessed_task(facts)
            say(f"task: {task}, because {reason}; --task changes this")
        if (task == "labels") != (facts.n_labels is not None):
            raise ValueError(f"--task {task} contradicts these rows: --multilabel says that "
                             "a row has any number of labels")  # fmt: skip
        model = new_model(task, parameters)
    else:
        model.set_params(warm_start=True, **parameters)
    rows = source
    if options.shuffle is not None:
        rows = Shuffled(source, window=options.shuffle, seed=model.random_state or 0)
    last = time.monotonic()

    def after(epoch: Any) -> bool:
        nonlocal last
        if time.monotonic() - last > 1.0:
            last = time.monotonic()
            say(f"pass {epoch.epoch + 1}: progressive loss {epoch.progressive_loss:.6g}")
        return False

    try:
        return model.fit(rows, callback=after, checkpoint=options.checkpoint)
    except MemoryError as error:
        raise MemoryError(f"{options.files[0]}: {error}") from error
    except ValueError as error:
        if not str(error).startswith(("Input ", "X", "y")):
            raise
        raise ValueError(f"{options.files[0]}: {error}") from error


def _report(options: argparse.Namespace, model: Any, source: Source, seconds: float) -> None:
    """Print what was learned."""
    weights, facts = model._weights(), source.facts()
    result = {
        "model": options.output,
        "estimator": type(model).__name__,
        "rows": facts.n_rows,
        "values": facts.n_values,
        "passes": int(np.max(model.n_iter_)),
        "progressive_loss": model.history_[-1]["progressive_loss"],
        "features": int(model.n_features_in_),
        "outputs": weights.shape[0],
        "nonzeros": int(np.count_nonzero(weights.data if sparse.issparse(weights) else weights)),
        "l1": getattr(model, "l1_", None),
        "seconds": seconds,
    }
    report(result, options.json)


# --- from options to an estimator with its parameters; nothing is executed ---------------------


def value_of(text: str) -> Any:
    """The number, flag, None or string that ``text`` stands for; a word is a string.

    >>> value_of("0.5"), value_of("none"), value_of("true"), value_of("ovr")
    (0.5, None, True, 'ovr')
    """
    plain = {"none": None, "true": True, "false": False}
    if text.lower() in plain:
        return plain[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parameters_of(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of the estimator from the options, by name."""
    by_option = [(name, getattr(options, name)) for name in ("loss", "l1", "l2")]
    parameters = {name: value for name, value in by_option if value is not None}
    if options.passes is not None:
        parameters["max_iter"] = options.passes
    for setting in options.set:
        name, sign, text = (part.strip() for part in setting.partition("="))
        if not sign or not name:
            raise ValueError(f"--set must be NAME=VALUE, got {setting!r}")
        if name in parameters:
            raise ValueError(f"the parameter {name} is given twice: leave out one of the options")
        parameters[name] = value_of(text)
    if options.passes is not None:
        parameters.setdefault("tol", None)
    for name, value in parameters.items():
        kinds = OBJECTS.get(name.rpartition("__")[2], {})
        if isinstance(value, str) and value in kinds:
            parameters[name] = kinds[value]()
    return parameters


def guessed_task(facts: Facts) -> tuple[str, str]:
    """The task that fits the labels, and the reason.

    >>> guessed_task(Facts(9, 9, 3, None, (0.0, 1.0)))
    ('classification', 'the labels are 0, 1')
    >>> guessed_task(Facts(9, 9, 3, None, (0.5, 1.0)))
    ('regression', 'the labels are 0.5, 1')
    """
    if facts.n_labels is not None:
        return "labels", f"there are {facts.n_labels} labels, of which a row has any"
    if facts.classes is None:
        return "regression", "there are very many different labels"
    classes = facts.classes
    if len(classes) < 2:
        raise ValueError(
            f"all {facts.n_rows:,} labels are {classes[0]:g}: training needs at least two "
            "different labels (--task regression fits a constant)"
        )
    shown = ", ".join(f"{number:g}" for number in classes[:5])
    more = f", ... ({len(classes)} in all)" if len(classes) > 5 else ""
    whole = all(number.is_integer() for number in classes)
    few = len(classes) <= MOST_GUESSED_CLASSES
    return "classification" if few and whole else "regression", f"the labels are {shown}{more}"


def new_model(task: str, parameters: dict[str, Any]) -> Any:
    """The estimator for a task; refuses names that it does not have."""
    estimator: Any = LazyNetRegressor if task == "regression" else LazyNetClassifier
    for place in sorted(parameters.keys() - estimator._get_param_names()):
        owner, _, name = place.rpartition("__")
        option = owner or "rule"
        kind = option.rpartition("__")[2]
        kinds = OBJECTS.get(kind, {})
        names = [value for value in kinds if name in kinds[value]._get_param_names()]
        if names and name not in getattr(parameters.get(owner), "__dict__", ()):
            raise ValueError(f"{name} is a parameter of a {kind} ({', '.join(names)}): write "
                             f"--set {option}={names[0]} --set {option}__{name}=...")  # fmt: skip
    return estimator(random_state=0).set_params(**parameters)
