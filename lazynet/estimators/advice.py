"""What to write in place of a parameter that an estimator does not have."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from lazynet.engines.catalogue import ALGORITHMS
from lazynet.parameters import did_you_mean, kinds_of

_PENALTY = "l1=alpha * l1_ratio, l2=alpha * (1 - l1_ratio)"
#: Names of parameters in scikit-learn's linear models, and what to write.
_WRITE = {
    "alpha": f"{_PENALTY} for scikit-learn's alpha and l1_ratio",
    "l1_ratio": f"{_PENALTY} for scikit-learn's alpha and l1_ratio",
    "penalty": "l1=..., l2=0.0 for 'l1'; l1=0.0, l2=... for 'l2'; l1=..., l2=... for "
    "'elasticnet'; l1=0.0, l2=0.0 for None",
    "C": "l1=0.0, l2=1 / (C * n_samples) for penalty='l2'; l1=1 / (C * n_samples), l2=0.0 for "
    "penalty='l1'",
    "n_epochs": "max_iter=...",
    "n_iter": "max_iter=...",
    "epochs": "max_iter=...",
    "epsilon": "the loss with its width, such as loss=Huber(epsilon=...)",
    "normalize": "standardize=True",
    "standardise": "standardize=True",
}
#: The same for parameters that belong to the rule of an online estimator.
_OF_RULES = {"learning_rate": "schedule", "lr": "eta0", "learning_rate_init": "eta0"}


@cache
def _names(kind: type[Any]) -> frozenset[str] | None:
    """The parameters of the constructor; None: it takes any."""
    parameters = inspect.signature(kind.__init__).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return None
    return frozenset(each.name for each in parameters)


def advice_about(kind: type[Any], name: str) -> str | None:
    """What to write for ``name``, which is no parameter of an estimator; None: it is one.

    >>> from lazynet import LazyNetClassifier
    >>> advice_about(LazyNetClassifier, "eta0")
    'LazyNetClassifier has no parameter eta0: write rule=FoBoS(eta0=...)'
    >>> advice_about(LazyNetClassifier, "max_iters")
    'LazyNetClassifier has no parameter max_iters: did you mean max_iter?'
    """
    names = _names(kind)  # type: ignore[arg-type]
    if names is None or name in names:
        return None
    text = f"{kind.__name__} has no parameter {name}"
    if name in _WRITE:
        return f"{text}: write {_WRITE[name]}"
    parameter = _OF_RULES.get(name, name)
    rules = [row.rule.__name__ for row in ALGORITHMS.values() if parameter in kinds_of(row.rule)]
    if rules:
        if "rule" not in names:
            return f"{text}: it finds the minimum, and has no learning rate; LazyNet* have rules"
        return f"{text}: write rule={rules[0]}({parameter}=...)"
    return text + (did_you_mean(name, names) or f"; it has {', '.join(sorted(names - {'self'}))}")
