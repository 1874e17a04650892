"""The options of ``lazynet train`` to an estimator with its parameters; nothing is executed."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Mapping
from typing import Any

from lazynet.data.source import Facts
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.losses import LOSS_OBJECTS
from lazynet.rules.storage import STORAGES
from lazynet.schedules import SCHEDULES

TASKS = ("classification", "regression", "labels")
#: More different whole numbers than this are taken for numbers, and not for classes.
MOST_GUESSED_CLASSES = 20
#: Objects that a value may name, by the parameters that take them: of an estimator, and of a rule.
OBJECTS: dict[str, Mapping[str, type[Any]]] = {
    "loss": LOSS_OBJECTS,
    "rule": {name: row.rule for name, row in ALGORITHMS.items()},
    "schedule": SCHEDULES,
    "storage": STORAGES,
}


def value_of(text: str) -> Any:
    """A number, a flag, None or a string; a word is a string of itself.

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


def object_of(name: str, text: str) -> Any:
    """A name unchanged; a name with parameters in brackets as the object that it names.

    >>> object_of("rule", "ftrl(alpha=0.5)"), object_of("rule", "sgd")
    (FTRL(alpha=0.5), 'sgd')
    >>> object_of("rule", "fobos(schedule=power(power_t=0.5), eta0=0.1, average=true)")
    FoBoS(average=True, eta0=0.1, schedule=Power(power_t=0.5))
    >>> object_of("rule", "ftrl(open('x'))")
    Traceback (most recent call last):
    ValueError: rule must be a name, or a name with parameters such as fobos(...=1), \
got "ftrl(open('x'))"
    """
    if "(" not in text:
        return text
    try:
        return _made(name, ast.parse(text.strip(), mode="eval").body)
    except (ValueError, SyntaxError):
        example = next(iter(OBJECTS[name]))
        raise ValueError(
            f"{name} must be a name, or a name with parameters such as {example}(...=1), "
            f"got {text!r}"
        ) from None
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from None


def _made(name: str, call: ast.expr) -> Any:
    """The object that ``call`` makes for the parameter ``name``; ValueError for other code."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError
    kind = OBJECTS.get(name, {}).get(call.func.id)
    arguments = {word.arg or "": word.value for word in call.keywords}
    if kind is None or "" in arguments:  # ** has no name
        raise ValueError
    return kind(**{word: _argument(word, value) for word, value in arguments.items()})


def _argument(name: str, value: ast.expr) -> Any:
    """The value of a parameter in brackets; ValueError for other code."""
    if isinstance(value, ast.Call):
        return _made(name, value)
    return value_of(value.id) if isinstance(value, ast.Name) else ast.literal_eval(value)


def parameters_of(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters that the options give, by the names that estimators have for them."""
    given = [(name, getattr(options, name)) for name in ("loss", "l1", "l2")]
    parameters = {name: value for name, value in given if value is not None}
    if options.passes is not None:
        parameters["max_iter"] = options.passes
    for setting in options.set:
        name, sign, text = (part.strip() for part in setting.partition("="))
        if not sign or not name:
            raise ValueError(f"--set must be NAME=VALUE, got {setting!r}")
        if name in parameters:
            raise ValueError(f"the parameter {name} is given twice: leave out one of the options")
        parameters[name] = text if name in OBJECTS else value_of(text)
    if options.passes is not None:
        parameters.setdefault("tol", None)
    return {
        name: object_of(name, value) if name in OBJECTS else value
        for name, value in parameters.items()
    }


def guessed_task(facts: Facts) -> tuple[str, str]:
    """What the labels say about the task, and why.

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
            f"all {facts.n_rows:,} labels are {classes[0]:g}: to train a model takes at least two "
            "different labels (--task regression fits a constant)"
        )
    shown = ", ".join(f"{number:g}" for number in classes[:5])
    more = f", ... ({len(classes)} in all)" if len(classes) > 5 else ""
    whole = all(number.is_integer() for number in classes)
    few = len(classes) <= MOST_GUESSED_CLASSES
    return "classification" if few and whole else "regression", f"the labels are {shown}{more}"


def new_model(task: str, parameters: dict[str, Any]) -> Any:
    """The estimator for a task; refuses names that it does not have."""
    # The estimators load SciPy and scikit-learn, which takes a moment.
    from lazynet.estimators.online import LazyNetClassifier, LazyNetRegressor

    estimator: Any = LazyNetClassifier
    if task == "regression":
        estimator, parameters = LazyNetRegressor, {"loss": "squared_error", **parameters}
    names = estimator._get_param_names()
    for name in parameters:
        if name in names:
            continue
        rules = [rule for rule, row in ALGORITHMS.items() if name in row.rule._get_param_names()]
        if rules:
            raise ValueError(f"{name} is a parameter of a rule ({', '.join(rules)}): write "
                             f"--set 'rule={rules[0]}({name}=...)'")  # fmt: skip
        raise ValueError(f"{estimator.__name__} has no parameter {name!r}; it has "
                         f"{', '.join(names)}")  # fmt: skip
    return estimator(**{"random_state": 0, **parameters})
