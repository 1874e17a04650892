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

from lazynet._version import __version__
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
