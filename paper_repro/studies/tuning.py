"""Tuning by one protocol: every method gets the same number of settings for each of its parameters.

Each method draws its settings at random from ranges.  Each setting is trained on the same part of
the training rows under the same few orders, and judged on the other training rows, never on test
rows.  ``choose`` takes the sparsest setting whose error is within one standard error of the
method's least error.  If a parameter of the chosen setting lies within a tenth of a bound of its
range, ``search`` widens the range there and continues, so that no bound decides the choice.  A
setting that keeps no feature under some order is not a model and cannot be chosen.  A method that
truncates at a rejection rate gets further settings with the rate 0, which switches truncation off:
the special case of a method must not be better than the method as tuned.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

import lazynet
from lazynet import LazyNetClassifier, StabilisedSGDClassifier, selection_stability
from lazynet.data.arrays import as_examples
from lazynet.estimators.stabilised import SelectionReport
from lazynet.rules.base import Rule
from paper_repro.studies.released_program import ReleasedClassifier

#: Passes of each path of stabilised SGD, and the number of its paths.  The other methods make as
#: many passes as all paths together.
PATH_PASSES, PATHS = 20, 4
PASSES = PATH_PASSES * PATHS
#: Settings for each parameter of a method: in a full run, in a short one, and on small data, whose
#: rows have at most so many nonzeros.
SETTINGS, QUICK_SETTINGS, SETTINGS_ON_SMALL, SMALL = 16, 4, 64, 50_000
#: Orders of the rows for each setting, and the share of the rows on which settings are judged.
ORDERS, VALIDATION_SHARE = 3, 0.3
#: A chosen parameter that lies within this share of its range from a bound widens the range, at
#: most so many times.  A logarithmic range grows by the factor, a linear one by its own width.
EDGE, MOST_WIDENINGS, WIDER = 0.1, 4, 10.0
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
    #: the steps of a path of stabilised SGD: a burst cannot be longer
    steps: int

    @classmethod
    def of(cls, X: sparse.csr_matrix, y: NDArray[np.float64], loss: str) -> Scales:
        slope = {"hinge": 1.0, "log_loss": 0.5}[loss]
        gradient = np.abs(X.T @ y) * slope / X.shape[0]
        norm = float(np.median(as_examples(X).squared_norms())) + 1.0
        return cls(1.0 / norm, float(gradient.max()), PATH_PASSES * X.shape[0])


@dataclass(frozen=True)
class Range:
    """The range of one parameter, and the values at which the parameter itself ends.

    >>> rates = Range(1.0, 100.0, logarithmic=True)
    >>> [round(rates.place(value), 2) for value in (1.0, 10.0, 100.0)]
    [0.0, 0.5, 1.0]
    >>> rates.beside(90.0).high, rates.beside(10.0) is rates
    (1000.0, True)
    >>> shares = Range(0.5, 1.0, most=1.0)  # nothing lies beyond 1
    >>> shares.beside(0.99) is shares, shares.beside(0.51).low
    (True, 0.0)
    """

    low: float
    high: float
    logarithmic: bool = False
    least: float = -math.inf
    most: float = math.inf

    def draw(self, generator: np.random.Generator) -> float:
        if self.logarithmic:
            return float(math.exp(generator.uniform(math.log(self.low), math.log(self.high))))
        return float(generator.uniform(self.low, self.high))

    def place(self, value: float) -> float:
        """Where the value lies: 0 at the lower bound, 1 at the upper one."""
        low, high, at = (
            math.log(each) if self.logarithmic else each for each in (self.low, self.high, value)
        )
        return (at - low) / (high - low)

    def beside(self, value: float) -> Range:
        """This range, wider where the value is near a bound that is not the parameter's end."""
        width = self.high - self.low
        low = self.low / WIDER if self.logarithmic else self.low - width
        high = self.high * WIDER if self.logarithmic else self.high + width
        if self.place(value) < EDGE and self.low > self.least:
            return replace(self, low=max(low, self.least))
        if self.place(value) > 1.0 - EDGE and self.high < self.most:
            return replace(self, high=min(high, self.most))
        return self


Ranges = dict[str, Range]


def _ranges_of_all(scales: Scales) -> Ranges:
    """The range of every parameter that a method may tune."""
    least, most = 0.5 * scales.rate, 64.0 * scales.rate
    steps = float(scales.steps)
    return {
        "eta0": Range(least, most, logarithmic=True),
        "gamma": Range(1.0 / most, 1.0 / least, logarithmic=True),
        "l1": Range(1e-4 * scales.strength, scales.strength, logarithmic=True),
        "burst_size": Range(min(20.0, steps / 4), min(2000.0, steps), True, 1.0, steps),
        "rejection_rate": Range(0.0, 0.99, least=0.0, most=0.99),
        "stability": Range(0.0, 1.0, least=0.0, most=1.0),
        "annealing": Range(-10.0, 10.0, least=-20.0, most=20.0),
    }


@dataclass(frozen=True)
class Method:
    """How to make an estimator from a loss and a setting, and the parameters to tune."""

    make: Callable[[str, Parameters], Any]
    tuned: tuple[str, ...] = ()

    def ranges(self, scales: Scales) -> Ranges:
        of_all = _ranges_of_all(scales)
        return {name: of_all[name] for name in self.tuned}


def draw(ranges: Ranges, generator: np.random.Generator) -> Parameters:
    """A setting at random; the size of a burst is a whole number."""
    drawn: Parameters = {name: each.draw(generator) for name, each in ranges.items()}
    if "burst_size" in drawn:
        drawn["burst_size"] = round(drawn["burst_size"])
    return drawn


def settings_to_try(
    ranges: Ranges, number: int, generator: np.random.Generator
) -> list[Parameters]:
    """``number`` settings for each parameter, at random, and ``number`` that never truncate.

    A method without a rejection rate has no settings of the second kind.

    >>> some = settings_to_try({"rejection_rate": Range(0.5, 0.9)}, 2, np.random.default_rng(0))
    >>> [round(each["rejection_rate"], 2) for each in some]
    [0.75, 0.61, 0.0, 0.0]
    """
    drawn = [draw(ranges, generator) for _ in range(max(1, number * len(ranges)))]
    if "rejection_rate" in ranges:
        drawn += [{**parameters, "rejection_rate": 0.0} for parameters in drawn[:number]]
    return drawn


# --- the estimators, made from a loss and a setting -------------------------------------------


def _one_run(loss: str, **options: Any) -> LazyNetClassifier:
    """One run of ``PASSES`` passes over the features as passed, as in the papers."""
    return LazyNetClassifier(loss, l2=0.0, standardize=False, max_iter=PASSES, tol=None, **options)


def _at_falling_rates(rule: Callable[..., Rule]) -> Callable[[str, Parameters], LazyNetClassifier]:
    """One run of the rule at the rates eta0 / sqrt(t + 1)."""

    def make(loss: str, parameters: Parameters) -> LazyNetClassifier:
        chosen = rule(schedule="inverse_sqrt", eta0=parameters["eta0"])
        return _one_run(loss, rule=chosen, l1=parameters.get("l1", 0.0))

    return make


def _dual_averaging(loss: str, parameters: Parameters) -> LazyNetClassifier:
    """One run of RDA, which has ``gamma`` in place of a rate."""
    return _one_run(loss, rule=lazynet.RDA(gamma=parameters["gamma"]), l1=parameters["l1"])


def _in_paths(kind: Callable[..., Any], **fixed: Any) -> Callable[[str, Parameters], Any]:
    """``PATHS`` paths of ``PATH_PASSES`` passes."""

    def make(loss: str, parameters: Parameters) -> Any:
        options = {"n_paths": PATHS, "max_iter": PATH_PASSES, **fixed, **parameters}
        return kind(loss, **options)

    return make


_stabilised = partial(_in_paths, StabilisedSGDClassifier)
_BURSTS = ("burst_size", "rejection_rate", "stability", "annealing")
METHODS: dict[str, Method] = {
    SGD: Method(_at_falling_rates(lazynet.SGD), ("eta0",)),
    TRUNCATED: Method(
        _at_falling_rates(partial(lazynet.TruncatedGradient, period=PERIOD)), ("eta0", "l1")
    ),
    FOBOS: Method(_at_falling_rates(lazynet.FoBoS), ("eta0", "l1")),
    RDA: Method(_dual_averaging, ("gamma", "l1")),
    INFORMATIVE: Method(_stabilised(gravity="informative"), ("eta0", *_BURSTS)),
    UNIVERSAL: Method(_stabilised(gravity="universal"), ("eta0", *_BURSTS)),
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
        )
    ),
    DEFAULTS: Method(_stabilised()),
    # At the end: a method draws its settings from the number of its place.
    # Its rates are 1 / sqrt(t + 1).
    RELEASED: Method(_in_paths(ReleasedClassifier), _BURSTS),
    RELEASED_EXAMPLE: Method(_in_paths(ReleasedClassifier)),
}


@dataclass(frozen=True)
class Trial:
    """One setting with its mean error and its mean nonzeros on the validation rows."""

    parameters: Parameters
    error: float
    nonzeros: float
    #: the fewest nonzeros of any of its models
    fewest: int = 1


@dataclass(frozen=True)
class Search:
    """All trials of a method, the number of the chosen one, and what bounded the search."""

    trials: list[Trial]
    chosen: int
    #: the standard error of the least error
    spread: float
    #: the ranges at the end, and how often they were widened
    ranges: Ranges
    widenings: int

    @property
    def parameters(self) -> Parameters:
        return self.trials[self.chosen].parameters

    @property
    def at_a_bound(self) -> list[str]:
        """Parameters whose chosen value is still near a bound that could be moved."""
        return [name for name, each in self.ranges.items() if each != self._wider()[name]]

    def _wider(self) -> Ranges:
        return {name: each.beside(self.parameters[name]) for name, each in self.ranges.items()}


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
    """``selection_stability`` without warnings of models without features and of large rates.

    A search tries such settings on purpose.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "the first rate")
        return selection_stability(
            model, X, y, X_test, y_test, n_runs=n_runs, random_state=seed, n_jobs=-1
        )


def settings_of_a_parameter(n_nonzeros: int, *, full: bool) -> int:
    """How many settings of each parameter are tried on rows with so many nonzeros.

    >>> settings_of_a_parameter(50_000, full=False), settings_of_a_parameter(50_001, full=False)
    (64, 4)
    """
    if n_nonzeros <= SMALL:
        return SETTINGS_ON_SMALL
    return SETTINGS if full else QUICK_SETTINGS


def search(
    name: str,
    loss: str,
    X: sparse.csr_matrix,
    y: NDArray[np.float64],
    seed: int,
    n_settings: int,
) -> Search:
    """Trials in ranges that grow until the chosen setting is near none of their bounds.

    Each range gets ``n_settings`` settings for each parameter of the method.
    """
    part, rest, y_part, y_rest = train_test_split(
        X, y, test_size=VALIDATION_SHARE, random_state=seed, stratify=y
    )
    method = METHODS[name]
    ranges = method.ranges(Scales.of(part, y_part, loss))
    generator = np.random.default_rng([seed, list(METHODS).index(name)])
    trials: list[Trial] = []
    widenings = 0
    while True:
        for parameters in settings_to_try(ranges, n_settings, generator):
            report = quietly(
                method.make(loss, parameters), part, y_part, rest, y_rest, n_runs=ORDERS, seed=seed
            )
            error, nonzeros = float(report.errors.mean()), float(report.nonzeros.mean())
            trials.append(Trial(parameters, error, nonzeros, int(report.nonzeros.min())))
        found = Search(trials, *choose(trials, len(y_rest)), ranges, widenings)
        if not found.at_a_bound or widenings == MOST_WIDENINGS:
            return found
        ranges, widenings = found._wider(), widenings + 1


def choose(trials: Sequence[Trial], n_rows: int) -> tuple[int, float]:
    """The sparsest trial within one standard error of the least error, and the standard error.

    A trial with a model that keeps no feature is chosen only if all trials are of this kind.

    >>> some = [Trial({}, 0.10, 50.0), Trial({}, 0.12, 9.0), Trial({}, 0.11, 0.0, fewest=0)]
    >>> choose(some, 100)
    (1, 0.03)
    """
    models = [k for k, trial in enumerate(trials) if trial.fewest] or list(range(len(trials)))
    best = min(trials[k].error for k in models)
    spread = math.sqrt(best * (1.0 - best) / n_rows)
    within = [k for k in models if trials[k].error <= best + spread]
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
