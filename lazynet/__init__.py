"""Sparse linear models with an elastic net, online or at the minimum of the objective.

`LazyNetClassifier` and `LazyNetRegressor` learn one example after the other; a step costs only the
nonzeros of its example.  `DualNetClassifier` and `DualNetRegressor` find the minimum of the same
objective and certify it; `net_path` finds the minima along a path of penalties,
`DualNetClassifierCV` and `DualNetRegressorCV` choose a penalty by cross-validation, and `plot_path`
and `plot_choice` draw them.  `ASGDClassifier`, `ASGDRegressor`, `StabilisedSGDClassifier` and
`ReleasedStabilisedSGDClassifier` implement one algorithm each; `selection_stability` compares what
features models choose; `Stepper` takes one example at a time.  `model.save(path)` and `load(path)`
keep models in files.

The small objects name and configure what the estimators are made of: rules (`FoBoS`, `SGD`,
`TruncatedGradient`, `RDA`, `FTRL`, `AdaGrad`, `SAGA`, `Carpenter`), schedules (`Constant`,
`InverseTime`, `InverseSqrt`, `Power`, `Pegasos`, `Optimal`, `Adaptive`, `FromData`), engines
(`Clock`, `Tables`, `Rescaled`, `Dense`), averages (`FromStep`, `Suffix`, `PolynomialDecay`) and
losses (`Huber`, `EpsilonInsensitive`, `SquaredEpsilonInsensitive`).

`lazynet.streams` reads chunks of rows from files that need not fit into memory.

`lazynet.catalogue` is the table of all rules; `lazynet.testing` compares lazy rules with a dense
twin; `lazynet.reference` holds every algorithm in plain Python; `lazynet.checks` bounds the effect
of rounding; `lazynet.plots` draws, and is the style of all figures.

>>> from lazynet import Stepper
>>> stepper = Stepper(1_000_000, loss="hinge", l1=0.01, schedule="constant", eta0=0.1)
>>> _ = stepper.step(indices=[7], values=[1.0], target=+1)
>>> round(stepper.weight(7), 6)
0.099
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lazynet._version import __version__

if TYPE_CHECKING:
    from lazynet.averages import FromStep, PolynomialDecay, Suffix
    from lazynet.checks.verify import VerificationReport
    from lazynet.estimators.dekel import ASGDClassifier, ASGDRegressor
    from lazynet.estimators.dual_net import DualNetClassifier, DualNetRegressor
    from lazynet.estimators.dual_net_cv import DualNetClassifierCV, DualNetRegressorCV
    from lazynet.estimators.elastic_net import LazyNetClassifier, LazyNetRegressor
    from lazynet.estimators.elastic_net_cv import LazyNetClassifierCV, LazyNetRegressorCV
    from lazynet.estimators.released import ReleasedStabilisedSGDClassifier
    from lazynet.estimators.stabilised import StabilisedSGDClassifier
    from lazynet.forms import Clock, Dense, Rescaled, Tables
    from lazynet.importances import Balanced
    from lazynet.loading import load
    from lazynet.losses import EpsilonInsensitive, Huber, SquaredEpsilonInsensitive
    from lazynet.paths import NetPath, net_path
    from lazynet.penalties import ElasticNet
    from lazynet.plots import plot_choice, plot_grid, plot_path, plot_selection
    from lazynet.rules.adagrad import AdaGrad
    from lazynet.rules.affine import SGD, FoBoS
    from lazynet.rules.carpenter import Carpenter
    from lazynet.rules.ftrl import FTRL
    from lazynet.rules.rda import RDA
    from lazynet.rules.saga import SAGA
    from lazynet.rules.truncated_gradient import TruncatedGradient
    from lazynet.schedules import (
        Adaptive,
        Constant,
        FromArray,
        FromCallable,
        FromData,
        InverseSqrt,
        InverseTime,
        Optimal,
        Pegasos,
        Power,
    )
    from lazynet.selection import SelectionReport, selection_stability
    from lazynet.stepper import Stepper

# A module is imported when one of its names is asked for, so that `lazynet.reference` needs neither
# a compiler nor NumPy.
_ROOMS = {
    "ASGDClassifier": "lazynet.estimators.dekel",
    "ASGDRegressor": "lazynet.estimators.dekel",
    "AdaGrad": "lazynet.rules.adagrad",
    "Adaptive": "lazynet.schedules",
    "Balanced": "lazynet.importances",
    "Carpenter": "lazynet.rules.carpenter",
    "Clock": "lazynet.forms",
    "Constant": "lazynet.schedules",
    "Dense": "lazynet.forms",
    "DualNetClassifier": "lazynet.estimators.dual_net",
    "DualNetClassifierCV": "lazynet.estimators.dual_net_cv",
    "DualNetRegressor": "lazynet.estimators.dual_net",
    "DualNetRegressorCV": "lazynet.estimators.dual_net_cv",
    "ElasticNet": "lazynet.penalties",
    "EpsilonInsensitive": "lazynet.losses",
    "FTRL": "lazynet.rules.ftrl",
    "FoBoS": "lazynet.rules.affine",
    "FromArray": "lazynet.schedules",
    "FromData": "lazynet.schedules",
    "FromCallable": "lazynet.schedules",
    "FromStep": "lazynet.averages",
    "Huber": "lazynet.losses",
    "InverseSqrt": "lazynet.schedules",
    "InverseTime": "lazynet.schedules",
    "LazyNetClassifier": "lazynet.estimators.elastic_net",
    "LazyNetClassifierCV": "lazynet.estimators.elastic_net_cv",
    "LazyNetRegressor": "lazynet.estimators.elastic_net",
    "LazyNetRegressorCV": "lazynet.estimators.elastic_net_cv",
    "NetPath": "lazynet.paths",
    "Optimal": "lazynet.schedules",
    "Pegasos": "lazynet.schedules",
    "PolynomialDecay": "lazynet.averages",
    "Power": "lazynet.schedules",
    "RDA": "lazynet.rules.rda",
    "ReleasedStabilisedSGDClassifier": "lazynet.estimators.released",
    "Rescaled": "lazynet.forms",
    "SAGA": "lazynet.rules.saga",
    "SGD": "lazynet.rules.affine",
    "SelectionReport": "lazynet.selection",
    "SquaredEpsilonInsensitive": "lazynet.losses",
    "StabilisedSGDClassifier": "lazynet.estimators.stabilised",
    "Stepper": "lazynet.stepper",
    "Suffix": "lazynet.averages",
    "Tables": "lazynet.forms",
    "TruncatedGradient": "lazynet.rules.truncated_gradient",
    "VerificationReport": "lazynet.checks.verify",
    "load": "lazynet.loading",
    "net_path": "lazynet.paths",
    "plot_choice": "lazynet.plots",
    "plot_grid": "lazynet.plots",
    "plot_path": "lazynet.plots",
    "plot_selection": "lazynet.plots",
    "selection_stability": "lazynet.selection",
}

# Modules that can be used without an import of their own.
_MODULES = {"catalogue", "checks", "plots", "reference", "schedules", "selection", "streams"}
_MODULES |= {"testing"}

__all__ = [
    "FTRL",
    "RDA",
    "SAGA",
    "SGD",
    "ASGDClassifier",
    "ASGDRegressor",
    "AdaGrad",
    "Adaptive",
    "Balanced",
    "Carpenter",
    "Clock",
    "Constant",
    "Dense",
    "DualNetClassifier",
    "DualNetClassifierCV",
    "DualNetRegressor",
    "DualNetRegressorCV",
    "ElasticNet",
    "EpsilonInsensitive",
    "FoBoS",
    "FromArray",
    "FromCallable",
    "FromData",
    "FromStep",
    "Huber",
    "InverseSqrt",
    "InverseTime",
    "LazyNetClassifier",
    "LazyNetClassifierCV",
    "LazyNetRegressor",
    "LazyNetRegressorCV",
    "NetPath",
    "Optimal",
    "Pegasos",
    "PolynomialDecay",
    "Power",
    "ReleasedStabilisedSGDClassifier",
    "Rescaled",
    "SelectionReport",
    "SquaredEpsilonInsensitive",
    "StabilisedSGDClassifier",
    "Stepper",
    "Suffix",
    "Tables",
    "TruncatedGradient",
    "VerificationReport",
    "__version__",
    "load",
    "net_path",
    "plot_choice",
    "plot_grid",
    "plot_path",
    "plot_selection",
    "selection_stability",
]


if not TYPE_CHECKING:  # type checkers must go on refusing names that do not exist

    def __getattr__(name: str) -> Any:
        if name not in _MODULES and name not in _ROOMS:
            raise AttributeError(f"module 'lazynet' has no attribute {name!r}")
        try:
            module = import_module(_ROOMS.get(name, f"lazynet.{name}"))
        except ModuleNotFoundError as missing:
            if not str(missing.name).startswith("lazynet."):
                raise
            raise ModuleNotFoundError(
                f"lazynet.{name} needs the compiled lazynet, and {missing.name} is missing here: "
                "install a wheel for this system, or install from the sources with a C compiler. "
                "lazynet.reference runs without, and lazynet.reference.Stepper takes the place of "
                "lazynet.Stepper",
                name=missing.name,
            ) from missing
        if name in _MODULES:
            return module
        globals()[name] = getattr(module, name)
        return globals()[name]

    def __dir__() -> list[str]:
        return sorted({*__all__, *_MODULES})
