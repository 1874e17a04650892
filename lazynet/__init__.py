"""Sparse linear models with an elastic net, online or at the minimum of the objective.

`LazyNetClassifier` and `LazyNetRegressor` learn one example after the other; a step costs only the
nonzeros of its example.  `DualNetClassifier` and `DualNetRegressor` find the minimum of the same
objective, with a bound on the error; `net_path` finds the minima along a path of penalties.
`DualNet*CV` and `LazyNet*CV` choose a penalty by cross-validation.  `plot_path` and `plot_choice`
draw the results.  `ASGDClassifier`, `ASGDRegressor` and `StabilisedSGDClassifier` implement one
algorithm each; `selection_stability` compares the features that models choose; `Stepper` takes one
example at a time.  `model.save(path)` and `load(path)` write and read files of models.

Small objects hold the parameters of the parts of an estimator: rules (`FoBoS`, `SGD`,
`TruncatedGradient`, `RDA`, `FTRL`, `AdaGrad`, `SAGA`, `Carpenter`), schedules (`Constant`,
`InverseTime`, `InverseSqrt`, `Power`, `Pegasos`, `Optimal`, `FromData`), storages of weights
(`Clock`, `Tables`, `Dense`), averages (`FromStep`, `Suffix`, `PolynomialDecay`) and
losses (`Huber`, `EpsilonInsensitive`, `SquaredEpsilonInsensitive`).

`lazynet.data` reads chunks of rows from files that need not fit into memory.

`lazynet.engines.catalogue` is the table of all rules; `lazynet.verify` compares lazy rules with
dense references, and bounds the effect of rounding; `lazynet.reference` holds every algorithm in
plain Python; `lazynet.plots` draws figures and defines their style.

>>> from lazynet import Stepper
>>> rule = FoBoS("constant", eta0=0.1)
>>> stepper = Stepper(1_000_000, loss="hinge", l1=0.01, rule=rule)
>>> _ = stepper.step(indices=[7], values=[1.0], target=+1)
>>> round(stepper.weight(7), 6)
0.099
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lazynet._version import __version__

if TYPE_CHECKING:  # `name as name` is how type checkers know a public name
    from lazynet.averages import FromStep as FromStep
    from lazynet.averages import PolynomialDecay as PolynomialDecay
    from lazynet.averages import Suffix as Suffix
    from lazynet.data.weights import Balanced as Balanced
    from lazynet.estimators import load as load
    from lazynet.estimators.averaged import ASGDClassifier as ASGDClassifier
    from lazynet.estimators.averaged import ASGDRegressor as ASGDRegressor
    from lazynet.estimators.certified import DualNetClassifier as DualNetClassifier
    from lazynet.estimators.certified import DualNetRegressor as DualNetRegressor
    from lazynet.estimators.certified_cv import DualNetClassifierCV as DualNetClassifierCV
    from lazynet.estimators.certified_cv import DualNetRegressorCV as DualNetRegressorCV
    from lazynet.estimators.cross_validation import LazyNetClassifierCV as LazyNetClassifierCV
    from lazynet.estimators.cross_validation import LazyNetRegressorCV as LazyNetRegressorCV
    from lazynet.estimators.online import LazyNetClassifier as LazyNetClassifier
    from lazynet.estimators.online import LazyNetRegressor as LazyNetRegressor
    from lazynet.estimators.path import NetPath as NetPath
    from lazynet.estimators.path import net_path as net_path
    from lazynet.estimators.stabilised import SelectionReport as SelectionReport
    from lazynet.estimators.stabilised import StabilisedSGDClassifier as StabilisedSGDClassifier
    from lazynet.estimators.stabilised import selection_stability as selection_stability
    from lazynet.losses import EpsilonInsensitive as EpsilonInsensitive
    from lazynet.losses import Huber as Huber
    from lazynet.losses import SquaredEpsilonInsensitive as SquaredEpsilonInsensitive
    from lazynet.penalties import ElasticNet as ElasticNet
    from lazynet.plots import plot_choice as plot_choice
    from lazynet.plots import plot_path as plot_path
    from lazynet.plots import plot_selection as plot_selection
    from lazynet.rules.adagrad import AdaGrad as AdaGrad
    from lazynet.rules.affine import SGD as SGD
    from lazynet.rules.affine import FoBoS as FoBoS
    from lazynet.rules.carpenter import Carpenter as Carpenter
    from lazynet.rules.ftrl import FTRL as FTRL
    from lazynet.rules.rda import RDA as RDA
    from lazynet.rules.saga import SAGA as SAGA
    from lazynet.rules.storage import Clock as Clock
    from lazynet.rules.storage import Dense as Dense
    from lazynet.rules.storage import Tables as Tables
    from lazynet.rules.truncated_gradient import TruncatedGradient as TruncatedGradient
    from lazynet.schedules import Constant as Constant
    from lazynet.schedules import FromArray as FromArray
    from lazynet.schedules import FromCallable as FromCallable
    from lazynet.schedules import FromData as FromData
    from lazynet.schedules import InverseSqrt as InverseSqrt
    from lazynet.schedules import InverseTime as InverseTime
    from lazynet.schedules import Optimal as Optimal
    from lazynet.schedules import Pegasos as Pegasos
    from lazynet.schedules import Power as Power
    from lazynet.training.stepper import Stepper as Stepper
    from lazynet.verify.online import VerificationReport as VerificationReport
    from lazynet.verify.own_rules import register_rule as register_rule

# A module is imported at the first use of one of its names, so that `lazynet.reference` works
# without a compiler and without NumPy.
#: The public names of every module.
_NAMES = {
    "lazynet.averages": "FromStep PolynomialDecay Suffix",
    "lazynet.data.weights": "Balanced",
    "lazynet.estimators": "load",
    "lazynet.estimators.averaged": "ASGDClassifier ASGDRegressor",
    "lazynet.estimators.certified": "DualNetClassifier DualNetRegressor",
    "lazynet.estimators.certified_cv": "DualNetClassifierCV DualNetRegressorCV",
    "lazynet.estimators.cross_validation": "LazyNetClassifierCV LazyNetRegressorCV",
    "lazynet.estimators.online": "LazyNetClassifier LazyNetRegressor",
    "lazynet.estimators.path": "NetPath net_path",
    "lazynet.estimators.stabilised": "SelectionReport StabilisedSGDClassifier selection_stability",
    "lazynet.losses": "EpsilonInsensitive Huber SquaredEpsilonInsensitive",
    "lazynet.penalties": "ElasticNet",
    "lazynet.plots": "plot_choice plot_path plot_selection",
    "lazynet.rules.adagrad": "AdaGrad",
    "lazynet.rules.affine": "FoBoS SGD",
    "lazynet.rules.carpenter": "Carpenter",
    "lazynet.rules.ftrl": "FTRL",
    "lazynet.rules.rda": "RDA",
    "lazynet.rules.saga": "SAGA",
    "lazynet.rules.storage": "Clock Dense Tables",
    "lazynet.rules.truncated_gradient": "TruncatedGradient",
    "lazynet.schedules": "Constant FromArray FromCallable FromData InverseSqrt InverseTime Optimal"
    " Pegasos Power",
    "lazynet.training.stepper": "Stepper",
    "lazynet.verify.online": "VerificationReport",
    "lazynet.verify.own_rules": "register_rule",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

# Modules that are attributes of the package without a separate import.
_MODULES = {"data", "engines", "plots", "reference", "schedules", "verify"}

__all__ = ["__version__", *_MODULE_OF]


if not TYPE_CHECKING:  # with a __getattr__ type checkers would accept every name

    def __getattr__(name: str) -> Any:
        if name not in _MODULES and name not in _MODULE_OF:
            raise AttributeError(f"module 'lazynet' has no attribute {name!r}")
        try:
            module = import_module(_MODULE_OF.get(name, f"lazynet.{name}"))
        except ModuleNotFoundError as missing:
            if not str(missing.name).startswith("lazynet."):
                raise
            raise ModuleNotFoundError(
                f"lazynet.{name} needs the compiled lazynet, and {missing.name} is missing here: "
                "install a wheel for this system, or install from the sources with a C compiler. A "
                "checkout hides an installed lazynet: start Python in another folder. "
                "lazynet.reference, every algorithm in plain Python, runs without",
                name=missing.name,
            ) from missing
        if name in _MODULES:
            return module
        globals()[name] = getattr(module, name)
        return globals()[name]

    def __dir__() -> list[str]:
        return sorted({*__all__, *_MODULES})
