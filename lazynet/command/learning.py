"""The options of learning, and the estimator that they describe."""

from __future__ import annotations

import argparse
from typing import Any

from lazynet.catalogue import ALGORITHMS
from lazynet.command.foreign import LOSS_NAMES, loss_named
from lazynet.command.literals import object_of, value_of
from lazynet.command.output import say
from lazynet.losses import LOSS_OBJECTS, LOSSES
from lazynet.schedules import SCHEDULES
from lazynet.streams.source import Facts

TASKS = ("classification", "regression", "labels")
#: More different whole numbers than this are taken for numbers, and not for classes.
MOST_GUESSED_CLASSES = 20


def add_task(parser: Any) -> None:
    """What is to be predicted, and by which loss and penalties."""
    parser.add_argument(
        "--task", choices=TASKS,
        help=f"what to predict (default: guessed; classes if there are at most "
        f"{MOST_GUESSED_CLASSES} labels, all whole numbers)",
    )  # fmt: skip
    names = ", ".join([*LOSSES, *LOSS_NAMES])
    parser.add_argument(
        "--loss",
        "--loss_function",
        metavar="NAME",
        help=f"one of {names}; or with a width, such as 'huber(epsilon=0.5)'",
    )
    parser.add_argument(
        "--l1",
        type=float,
        metavar="L1",
        help="strength of the penalty l1 * sum|w| (default: from the rows)",
    )
    parser.add_argument("--l2", type=float, metavar="L2", help="strength of l2/2 * sum w^2 "
                        "(default: 0)")  # fmt: skip


def add_steps(parser: Any) -> None:
    """How the online estimators step."""
    parser.add_argument(
        "--rule", metavar="RULE",
        help=f"one of {', '.join(ALGORITHMS)}; or with parameters, such as 'ftrl(alpha=0.1)'",
    )  # fmt: skip
    parser.add_argument(
        "--schedule", metavar="SCHEDULE",
        help=f"one of {', '.join(SCHEDULES)}; or with parameters, such as 'power(power_t=0.5)'",
    )  # fmt: skip
    parser.add_argument("--eta0", "-l", "--learning_rate", type=float, metavar="RATE",
                        help="the first rate of the schedule")  # fmt: skip
    parser.add_argument("--power_t", "--power-t", type=float, metavar="P",
                        help="short for --schedule 'power(power_t=P)'")  # fmt: skip
    parser.add_argument(
        "--average",
        action="store_true",
        default=None,
        help="predict with the mean of all weights since the first step",
    )
    parser.add_argument("--no-intercept", "--noconstant", action="store_true",
                        help="no constant is learned")  # fmt: skip
    parser.add_argument("--seed", "--random_seed", type=int, metavar="N",
                        help="seed of all that is random (default: 0)")  # fmt: skip
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="any other parameter of the estimator, such as --set batch_size=16",
    )  # fmt: skip


def parameters_of(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters that the options give, by the names that estimators have for them."""
    found: dict[str, Any] = {}
    if options.loss is not None:
        loss = options.loss
        if loss in LOSS_NAMES:
            say(f"the loss {loss!r} is called {loss_named(loss)!r} here")
            loss = loss_named(loss)
        found["loss"] = object_of("--loss", loss, LOSS_OBJECTS)
    if options.rule is not None:
        rules = {name: row.rule for name, row in ALGORITHMS.items()}
        found["rule"] = object_of("--rule", options.rule, rules)
    text = options.schedule
    if options.power_t is not None:
        if text is not None:
            raise ValueError(
                "--power_t is short for --schedule 'power(power_t=...)': leave one out"
            )
        text = f"power(power_t={options.power_t!r})"
    if text is not None:
        found["schedule"] = object_of("--schedule", text, SCHEDULES)
    for name in ("l1", "l2", "eta0", "average"):
        if getattr(options, name) is not None:
            found[name] = getattr(options, name)
    schedule: Any = found.get("schedule")
    if "eta0" in found and getattr(schedule, "eta0", 0.0) is None:
        # An object has its first rate among its own parameters.
        found["schedule"] = schedule.set_params(eta0=found.pop("eta0"))
    if options.no_intercept:
        found["fit_intercept"] = False
    named: set[str] = set()
    for given in options.set:
        name, sign, text = given.partition("=")
        if not sign or not name:
            raise ValueError(f"--set must be NAME=VALUE, got {given!r}")
        name = name.strip()
        own = next((option for option in _OPTIONS_OF.get(name, ()) if _is_given(options, option)),
                   None)  # fmt: skip
        if own is not None:
            raise ValueError(f"{own} and --set {name}=... both set {name}: leave one of them out")
        if name in named:
            raise ValueError(f"--set {name}=... is given twice: leave one of them out")
        named.add(name)
        found[name] = value_of(text.strip())
    return found


#: Options that set a parameter, by the name of the parameter.
_OPTIONS_OF = {
    **{name: (f"--{name}",) for name in ("loss", "l1", "l2", "rule", "eta0", "average", "tol")},
    "schedule": ("--schedule", "--power_t"),
    "fit_intercept": ("--no-intercept",),
    "max_iter": ("--passes",),
    "n_iter_no_change": ("--patience",),
    "random_state": ("--seed",),
}


def _is_given(options: argparse.Namespace, option: str) -> bool:
    """Whether an option that has no default is given; a flag is given where it is true."""
    value = getattr(options, option[2:].replace("-", "_"), None)
    return value is not None and value is not False


def guessed_task(facts: Facts) -> str:
    """What the labels say about the task.

    >>> guessed_task(Facts(9, 9, 3, None, (0.0, 1.0))), guessed_task(Facts(9, 9, 3, None, (0.5,)))
    ('classification', 'regression')
    """
    if facts.n_labels is not None:
        return "labels"
    classes = facts.classes
    few = classes is not None and 2 <= len(classes) <= MOST_GUESSED_CLASSES
    whole = few and all(number == int(number) for number in classes or ())
    return "classification" if whole else "regression"


def told_task(task: str, facts: Facts) -> str:
    """A guess with its reason."""
    if task == "labels":
        return f"several labels a row, {facts.n_labels} in all"
    if facts.classes is None:
        return f"{task}, because there are very many different labels"
    shown = ", ".join(f"{number:g}" for number in facts.classes[:5])
    more = f", ... ({len(facts.classes)} in all)" if len(facts.classes) > 5 else ""
    return f"{task}, because the labels are {shown}{more}; --task says otherwise"


def new_model(task: str, parameters: dict[str, Any], *, minimum: bool = False) -> Any:
    """The estimator for a task; refuses names that it does not have."""
    # The estimators load SciPy and scikit-learn, which takes a moment.
    from lazynet.estimators.dual_net import DualNetClassifier, DualNetRegressor
    from lazynet.estimators.elastic_net import LazyNetClassifier, LazyNetRegressor

    kinds: dict[bool, Any] = {False: LazyNetClassifier, True: LazyNetRegressor}
    if minimum:
        kinds = {False: DualNetClassifier, True: DualNetRegressor}
    estimator = kinds[task == "regression"]
    if task == "regression" and "loss" not in parameters:
        parameters = {**parameters, "loss": "squared_error"}
    known = estimator._get_param_names()
    for name in parameters:
        if name not in known:
            raise ValueError(f"{estimator.__name__} has no parameter {name!r}; it has "
                             f"{', '.join(known)}")  # fmt: skip
    return estimator(**parameters)
