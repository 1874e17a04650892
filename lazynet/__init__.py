"""Sparse linear models with an elastic net, at a cost in the nonzeros of each example.

`LazyNetClassifier` and `LazyNetRegressor` are the estimators, `ASGDClassifier`, `ASGDRegressor` and
`StabilisedSGDClassifier` special ones, `Stepper` takes one example at a time.  Besides the names on
this page there are `lazynet.testing`, which holds lazy rules against a dense twin;
`lazynet.reference`, every algorithm in plain Python; `lazynet.schedules`; `lazynet.tolerance` and
`lazynet.twin`, how far rounding can carry; `lazynet.figures`; `lazynet.linear`, what the estimators
have in common.

>>> from lazynet import Stepper
>>> stepper = Stepper(1_000_000, loss="hinge", l1=0.01, schedule="constant", eta0=0.1)
>>> _ = stepper.step(indices=[7], values=[1.0], target=+1)
>>> round(stepper.weight(7), 6)
0.099
"""

from importlib import import_module
from typing import TYPE_CHECKING

from lazynet._version import __version__

if TYPE_CHECKING:
    from lazynet.asgd import ASGDClassifier, ASGDRegressor
    from lazynet.averaging import FromStep, PolynomialDecay
    from lazynet.estimators import LazyNetClassifier, LazyNetRegressor
    from lazynet.penalties import ElasticNet
    from lazynet.schedules import (
        Constant,
        FromArray,
        FromCallable,
        InverseSqrt,
        InverseTime,
        Pegasos,
        Power,
    )
    from lazynet.selection import SelectionReport, plot_selection, selection_stability
    from lazynet.stabilised import StabilisedSGDClassifier
    from lazynet.stepping import Stepper
    from lazynet.verify import VerificationReport

#: The module of every public name.  A module is imported when one of its names is first asked for:
#: ``import lazynet.reference`` thus works without NumPy and in a tree that was never built.
_HOMES = {
    "ASGDClassifier": "asgd",
    "ASGDRegressor": "asgd",
    "Constant": "schedules",
    "ElasticNet": "penalties",
    "FromArray": "schedules",
    "FromCallable": "schedules",
    "FromStep": "averaging",
    "InverseSqrt": "schedules",
    "InverseTime": "schedules",
    "LazyNetClassifier": "estimators",
    "LazyNetRegressor": "estimators",
    "Pegasos": "schedules",
    "PolynomialDecay": "averaging",
    "Power": "schedules",
    "SelectionReport": "selection",
    "StabilisedSGDClassifier": "stabilised",
    "Stepper": "stepping",
    "VerificationReport": "verify",
    "plot_selection": "selection",
    "selection_stability": "selection",
}

__all__ = [
    "ASGDClassifier",
    "ASGDRegressor",
    "Constant",
    "ElasticNet",
    "FromArray",
    "FromCallable",
    "FromStep",
    "InverseSqrt",
    "InverseTime",
    "LazyNetClassifier",
    "LazyNetRegressor",
    "Pegasos",
    "PolynomialDecay",
    "Power",
    "SelectionReport",
    "StabilisedSGDClassifier",
    "Stepper",
    "VerificationReport",
    "__version__",
    "plot_selection",
    "selection_stability",
]


def __getattr__(name: str) -> object:
    """Import the module of a public name when the name is first asked for (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"lazynet.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
