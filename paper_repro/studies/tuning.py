"""Tuning by one protocol: every method draws the same number of settings and is judged alike.

Each method draws its settings at random from the ranges below.  Each setting is trained on the same
part of the training rows under the same few orders, and judged on the other training rows, never on
test rows.  ``choose`` takes the sparsest setting whose error is within one standard error of the
method's least error.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

import lazynet
from lazynet import (
    LazyNetClassifier,
    ReleasedStabilisedSGDClassifier,
    StabilisedSGDClassifier,
    selection_stability,
)
from lazynet.data import as_examples
from lazynet.rules.base import Rule
from lazynet.selection import SelectionReport

#: Passes of each path of stabilised SGD, and the number of its paths.  The other methods make as
#: many passes as all paths together.
PATH_PASSES, PATHS = 20, 4
PASSES = PATH_PASSES * PATHS
#: Settings of each method, orders of the rows for each setting, and the share of the rows on which
#: settings are judged.
SETTINGS, ORDERS, VALIDATION_SHARE = 24, 3, 0.3
#: Steps between two truncations of the truncated gradient.
PERIOD = 10

SGD, TRUNCATED, FOBOS, RDA = "SGD", "truncated gradient", "FoBoS", "RDA"
INFORMATIVE, UNIVERSAL = "stabilised, informative", "stabilised, universal"
RELEASED = "stabilised, as released"
RELEASED_EXAMPLE = "stabilised, as released, authors' parameters"
#: The algorithm of the paper with parameters that belong to another algorithm, the released one.
BORROWED = "stabilised, informative, parameters of the released program"
DEFAULTS = "stabilised, lazynet's defaults"
STABILISED = (INFORMATIVE, UNIVERSAL, RELEASED)
RIVALS = (TRUNCATED, FOBOS, RDA)
TUNED = (SGD, *RIVALS, *STABILISED)

Parameters = dict[str, Any]


@dataclass(frozen=True)
class Scales:
    """The units of the ranges, taken from the data."""

    #: the rate at which a step on a row of median length is as long as the row
    rate: float
    #: the largest mean gradient at zero weights and a zero intercept
    strength: float

    @classmethod
    def of(cls, X: sparse.csr_matrix, y: NDArray[np.float64], loss: str) -> Scales:
        slope = {"hinge": 1.0, "log_loss": 0.5}[loss]
        gradient = np.abs(X.T @ y) * slope / X.shape[0]
        norm = float(np.median(as_examples(X).squared_norms())) + 1.0
        return cls(1.0 / norm, float(gradient.max()))


def _log_uniform(generator: np.random.Generator, low: float, high: float) -> float:
    return float(math.exp(generator.uniform(math.log(low), math.log(high))))


def _rate(generator: np.random.Generator, scales: Scales) -> Parameters:
    return {"eta0": scales.rate * _log_uniform(generator, 0.5, 64)}


def _penalised(generator: np.random.Generator, scales: Scales) -> Parameters:
    strength = scales.strength * _log_uniform(generator, 1e-4, 1)
    return {**_rate(generator, scales), "l1": strength}


def _averaged(generator: np.random.Generator, scales: Scales) -> Parameters:
    strength = scales.strength * _log_uniform(generator, 1e-4, 1)
    return {"gamma": 1.0 / _rate(generator, scales)["eta0"], "l1": strength}


def _in_bursts(generator: np.random.Generator, scales: Scales) -> Parameters:
    return {**_rate(generator, scales), **_bursts(generator)}


def _as_released(generator: np.random.Generator, scales: Scales) -> Parameters:
    return _bursts(generator)  # its rates are 1 / sqrt(t + 1)


def _bursts(generator: np.random.Generator) -> Parameters:
    return {
        "burst_size": round(_log_uniform(generator, 20, 2000)),
        "rejection_rate": float(generator.uniform(0.05, 0.95)),
        "stability": float(generator.uniform(0.3, 0.9)),
        "annealing": float(generator.choice([-9.0, 0.0, 5.0])),
    }


@dataclass(frozen=True)
class Method:
    """How to make an estimator, how to draw its settings, and the ranges in words."""

    make: Callable[[str, Parameters], Any]
    draw: Callable[[np.random.Generator, Scales], Parameters]
    ranges: str


# --- the estimators, made from a loss and a setting -------------------------------------------


def _one_run(loss: str, **options: Any) -> LazyNetClassifier:
    """One run of ``PASSES`` passes."""
    return LazyNetClassifier(loss, l2=0.0, max_iter=PASSES, tol=None, **options)


def _at_falling_rates(rule: str | Rule) -> Callable[[str, Parameters], LazyNetClassifier]:
    """One run of the rule at the rates eta0 / sqrt(t + 1)."""

    def make(loss: str, parameters: Parameters) -> LazyNetClassifier:
        chosen = {"l1": 0.0, **parameters}
        return _one_run(loss, rule=rule, schedule="inverse_sqrt", **chosen)

    return make


def _dual_averaging(loss: str, parameters: Parameters) -> LazyNetClassifier:
    """One run of RDA, which has ``gamma`` in place of a rate."""
    return _one_run(loss, rule=lazynet.RDA(gamma=parameters["gamma"]), l1=parameters["l1"])


def _stabilised(**fixed: Any) -> Callable[[str, Parameters], Any]:
    """``PATHS`` paths of ``PATH_PASSES`` passes."""

    def make(loss: str, parameters: Parameters) -> StabilisedSGDClassifier:
        options = {"n_paths": PATHS, "max_iter": PATH_PASSES, **fixed, **parameters}
        return StabilisedSGDClassifier(loss, **options)

    return make


def _released(loss: str, parameters: Parameters) -> ReleasedStabilisedSGDClassifier:
    """``PATHS`` paths of ``PATH_PASSES`` passes, as the authors' program runs them."""
    options = {"n_paths": PATHS, "max_iter": PATH_PASSES, **parameters}
    return ReleasedStabilisedSGDClassifier(loss, **options)


_RATES = "eta0 log-uniform from 1/2 to 64 times 1 / (median |x|^2 + 1)"
_STRENGTHS = "l1 log-uniform from 1e-4 to 1 times the largest mean gradient at zero weights"
_BURSTS = (
    "burst size log-uniform from 20 to 2000, rejection rate uniform from 0.05 to 0.95, stability "
    "uniform from 0.3 to 0.9, annealing one of -9, 0 and 5"
)


def _nothing(generator: np.random.Generator, scales: Scales) -> Parameters:
    return {}


METHODS: dict[str, Method] = {
    SGD: Method(_at_falling_rates("sgd"), _rate, _RATES),
    TRUNCATED: Method(
        _at_falling_rates(lazynet.TruncatedGradient(period=PERIOD)),
        _penalised,
        f"{_RATES}; {_STRENGTHS}",
    ),
    FOBOS: Method(_at_falling_rates("fobos"), _penalised, f"{_RATES}; {_STRENGTHS}"),
    RDA: Method(_dual_averaging, _averaged, f"1 / gamma as eta0; {_STRENGTHS}"),
    INFORMATIVE: Method(_stabilised(gravity="informative"), _in_bursts, f"{_RATES}; {_BURSTS}"),
    UNIVERSAL: Method(_stabilised(gravity="universal"), _in_bursts, f"{_RATES}; {_BURSTS}"),
    # K0 = 20, n_K = 5, M = 4, beta0 = 0.8, gamma = -9, pi0 = 0.85, Theta = 0.5, rates 1 / sqrt(t)
    BORROWED: Method(
        _stabilised(
            gravity="informative",
            eta0=1.0,
            burst_size=20,
            bursts_per_stage=5,
            rejection_rate=0.8,
            annealing=-9.0,
            stability=0.85,
            theta=0.5,
        ),
        _nothing,
        "none",
    ),
    DEFAULTS: Method(_stabilised(), _nothing, "none"),
    # At the end: a method draws its settings from the number of its place.
    RELEASED: Method(_released, _as_released, _BURSTS),
    RELEASED_EXAMPLE: Method(_released, _nothing, "none"),
}


@dataclass(frozen=True)
class Trial:
    """One setting with its mean error and its mean nonzeros on the validation rows."""

    parameters: Parameters
    error: float
    nonzeros: float


def quietly(
    model: Any,
    X: sparse.csr_matrix,
    y: NDArray[np.float64],
    X_test: sparse.csr_matrix,
    y_test: NDArray[np.float64],
    *,
    n_runs: int,
    seed: int,
) -> SelectionReport:
    """``selection_stability`` without the warning of models that purge every feature."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return selection_stability(
            model, X, y, X_test, y_test, n_runs=n_runs, random_state=seed, n_jobs=-1
        )


def tune(
    name: str, loss: str, X: sparse.csr_matrix, y: NDArray[np.float64], seed: int
) -> tuple[list[Trial], int, float]:
    """All trials, the number of the chosen one, and the standard error of the least error."""
    part, rest, y_part, y_rest = train_test_split(
        X, y, test_size=VALIDATION_SHARE, random_state=seed, stratify=y
    )
    method, scales = METHODS[name], Scales.of(part, y_part, loss)
    generator = np.random.default_rng([seed, list(METHODS).index(name)])
    trials = []
    for _ in range(SETTINGS if name in TUNED else 1):
        parameters = method.draw(generator, scales)
        report = quietly(
            method.make(loss, parameters), part, y_part, rest, y_rest, n_runs=ORDERS, seed=seed
        )
        trials.append(Trial(parameters, float(report.errors.mean()), float(report.nonzeros.mean())))
    return trials, *choose(trials, len(y_rest))


def choose(trials: Sequence[Trial], n_rows: int) -> tuple[int, float]:
    """The sparsest trial within one standard error of the least error, and the standard error.

    >>> some = [Trial({}, 0.10, 50.0), Trial({}, 0.12, 9.0), Trial({}, 0.20, 1.0)]
    >>> choose(some, 100)
    (1, 0.03)
    """
    best = min(trial.error for trial in trials)
    spread = math.sqrt(best * (1.0 - best) / n_rows)
    within = [k for k, trial in enumerate(trials) if trial.error <= best + spread]
    return min(within, key=lambda k: (trials[k].nonzeros, trials[k].error)), round(spread, 12)


def shown(parameters: Mapping[str, Any]) -> str:
    """Settings for a cell of a table.

    >>> shown({"eta0": 0.123456, "burst_size": 200})
    'eta0 = 0.123, burst_size = 200'
    """
    return ", ".join(
        f"{key} = {value:.3g}" if isinstance(value, float) else f"{key} = {value}"
        for key, value in parameters.items()
    )
