"""Parameters by the names of other libraries or of another object, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from lazynet.parameters import Kind

# What other libraries call a parameter, and what is written here.  Of several ways to write it, the
# first for which an estimator has the parameters is named.
_STRENGTHS = (
    "l1=alpha*l1_ratio, l2=alpha*(1 - l1_ratio)",
    "l2=alpha*(1 - l1_ratio)",
    "l1s=[alpha*l1_ratio], l2s=[alpha*(1 - l1_ratio)]",
)
_FOREIGN: dict[str, tuple[str, ...]] = {
    "alpha": _STRENGTHS,
    "alphas": ("l1s=alphas for an l1 penalty, or l1s=[0.0], l2s=alphas for an l2 penalty",),
    "l1_ratio": _STRENGTHS,
    "l1_ratios": ("l1s=..., l2s=...",),
    "l1": ("l1s=...",),
    "l2": ("l1s=[0.0], l2s=... for a penalty without l1",),
    "penalty": (
        "l1=... and l2=... (a strength of 0 leaves a penalty out)",
        "l2=...",
        "l1s=... for l1, or l1s=[0.0], l2s=... for l2",
    ),
    "C": (
        "l1=0, l2=1/(C*n_samples), or l1=1/(C*n_samples), l2=0 for penalty='l1'",
        "l2=1/(C*n_samples)",
        "l1s=[1/(C*n_samples)]",
    ),
    "Cs": ("l1s=1/(Cs*n_samples)",),
    "n_alphas": ("l1s=n_alphas",),
    "nlambda": ("l1s=nlambda",),
    "eps": ("l1s=... with the strengths",),
    "lambda_min_ratio": ("l1s=... with the strengths",),
    "nfolds": ("cv=...",),
    "learning_rate": ("rule=FoBoS(schedule=...)",),
    "power_t": ("rule=FoBoS(schedule=Power(power_t=...))",),
}
_WRITTEN = re.compile(r"\b(l1|l2|rule|l1s|l2s|cv)=")


def advice(estimator: Any, name: str) -> str | None:
    """What to write instead of the parameter ``name``; None where there is nothing to say."""
    kinds = estimator._kinds
    if name in kinds:
        return None
    ways = [
        written
        for written in _FOREIGN.get(name, ())
        if all(parameter in kinds for parameter in _WRITTEN.findall(written))
    ]
    # Or it is a parameter of a rule or of a loss.
    ways = ways[:1] or [
        f"{parameter}={accepted.__name__}({name}=...)"
        for parameter, kind in kinds.items()
        for accepted in getattr(kind, "objects", ())
        if name in accepted._kinds
    ]
    if not ways:
        return None
    return f"{type(estimator).__name__} has no parameter {name}: write {' or '.join(ways)}"


def check_nested(estimator: Any, key: str, params: Mapping[str, Any]) -> None:
    """Refuse a parameter ``key`` of a value that is no object, such as ``rule__gamma`` of "rda".

    ``params`` are all parameters that are to be set.
    """
    owner, names = estimator, key.split("__")
    for end, (name, nested) in enumerate(pairwise(names), start=1):
        place = "__".join(names[:end])
        value = params.get(place, getattr(owner, name, None))
        kind = getattr(owner, "_kinds", {}).get(name)
        if kind is not None and not hasattr(value, "set_params"):
            written = object_with(nested, kind, name, value)
            raise ValueError(f"{key} needs an object, and {place} is {value!r}: {written}")
        owner = value


def object_with(nested: str, kind: Kind, name: str, value: Any) -> str:
    """Which object of the parameter ``name`` has a parameter ``nested``, as a part of an error."""
    objects = [accepted for accepted in kind.objects if nested in accepted._kinds]
    if not objects:
        return f"no object for {name} has a parameter {nested}"
    called = [accepted for accepted in objects if getattr(accepted, "name", None) == value]
    return "write " + " or ".join(f"{name}={accepted.__name__}()" for accepted in called or objects)
