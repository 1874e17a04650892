"""Programs with nothing set: how they are made, fitted, and judged on test rows.

Every program is its constructor without arguments but ``random_state``, and its loss where the
default has no probabilities.  A number of passes is ``max_iter`` and, where a program takes it,
``tol=None``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax, logsumexp
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.svm import LinearSVC

import lazynet
from benchmarks.problems import NUMBERS, SEVERAL
from lazynet import AdaGrad, LazyNetClassifier, LazyNetRegressor
from lazynet.rules.adagrad import INITIAL
from paper_repro.rows import Rows

OURS, DUAL = "lazynet", "DualNet"
SGD, SGD_LOG = "SGD (hinge)", "SGD (log loss)"
SGD_SQUARED = "SGD"
LOGISTIC, SUPPORT, RIDGE, WABBIT = "LogisticRegression", "LinearSVC", "Ridge", "Vowpal Wabbit"
#: Our rules by the names of their columns; each of them is looked at with nothing else set.
RULES = {"FoBoS": "fobos", "AdaGrad": "adagrad", "RDA": "rda", "FTRL": "ftrl"}
#: Programs whose result depends on the seed; all others are judged once.
BY_CHANCE = (OURS, SGD, SGD_LOG, SGD_SQUARED)
#: The untouched program whose time is the measure.
MEASURE = {True: SGD_SQUARED, False: SGD}


#: What a program predicts: a decision for each class by itself, or for all together; or numbers.
EACH, ALL, SQUARED = "each class", "all classes", "numbers"


@dataclass(frozen=True)
class Program:
    """How an estimator is made, and what is set besides for a number of passes.

    ``passes`` is None for a program that has no passes: it runs at the default alone.
    ``probabilities`` is what its predictions are, or None if they give no probabilities.
    """

    make: Callable[..., Any]
    passes: Callable[[int], Mapping[str, Any]] | None
    probabilities: str | None = None
    module: str = "sklearn"

    @property
    def missing(self) -> bool:
        return find_spec(self.module) is None

    def fitted(self, rows: Rows, passes: int | None, seed: int) -> tuple[Any, float]:
        """A fitted estimator, and the processor's seconds that its ``fit`` took."""
        settings = {} if passes is None or self.passes is None else self.passes(passes)
        model = self.make(seed, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.process_time()
            model.fit(rows.X, rows.y)
            return model, time.process_time() - began

    def judged(self, model: Any, rows: Rows) -> dict[str, Any]:
        """Test loss and error, epochs and nonzeros of a fitted estimator."""
        return {
            **losses(model, rows, self.probabilities),
            "epochs": _epochs(model),
            "nonzeros": _nonzeros(model),
        }


def losses(model: Any, rows: Rows, probabilities: str | None) -> dict[str, float | None]:
    """The mean log loss and the share of misjudged rows, or the squared error and 1 - R2.

    Log loss is computed from the decision values, so that no probability is rounded to 0.
    """
    X, y = rows.X_test, rows.y_test
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if probabilities == SQUARED:
            squared = float(np.mean((model.predict(X) - y) ** 2))
            return {"loss": _finite(squared), "error": _finite(squared / float(y.var()))}
        error = float(np.mean(model.predict(X) != y))
        if probabilities is None:
            return {"loss": None, "error": error}
        columns = np.searchsorted(model.classes_, y)
        logs = _logs(model.decision_function(X), probabilities)
        return {"loss": _finite(-float(logs[np.arange(len(y)), columns].mean())), "error": error}


def _logs(decisions: NDArray[np.float64], probabilities: str) -> NDArray[np.float64]:
    """The logarithms of the probabilities of all classes, whose sum over the classes is 1."""
    if decisions.ndim == 1:
        return np.column_stack([log_expit(-decisions), log_expit(decisions)])
    if probabilities == ALL:
        return np.asarray(log_softmax(decisions, axis=1))
    logs = log_expit(decisions)
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))


#: JSON has no infinity and no NaN: the loss of a model that overflows, or of no model at all.
HUGE = 1e300


def _finite(value: float) -> float:
    return value if np.isfinite(value) else HUGE


def without_model(why: str) -> dict[str, Any]:
    """The judgement of a fit that raised an error."""
    return {"loss": HUGE, "error": 1.0, "epochs": None, "nonzeros": None, "failed": why}


def _nonzeros(model: Any) -> int | None:
    """The weights that are not zero, or None where a program does not hand them out."""
    found = getattr(model, "coef_", None)
    return int(np.count_nonzero(found)) if isinstance(found, np.ndarray) else None


def _epochs(model: Any) -> int | None:
    found = getattr(model, "n_iter_", None)
    return None if found is None else int(np.max(found))


# --- the programs ----------------------------------------------------------------------------


def _without_tol(passes: int) -> Mapping[str, Any]:
    return {"max_iter": passes, "tol": None}


def _with_tol(passes: int) -> Mapping[str, Any]:
    return {"max_iter": passes}


def _seeded(kind: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    def make(seed: int, **settings: Any) -> Any:
        return kind(random_state=seed, **fixed, **settings)

    return make


def _wabbit(name: str) -> Callable[..., Any]:
    def make(seed: int, **settings: Any) -> Any:
        from vowpalwabbit import sklearn

        return getattr(sklearn, name)(random_seed=seed, **settings)

    return make


def _wabbit_passes(passes: int) -> Mapping[str, Any]:
    return {"passes": passes}


def _wabbit_program(name: str, probabilities: str) -> Program:
    return Program(_wabbit(name), _wabbit_passes, probabilities, "vowpalwabbit")


CLASSIFIERS: dict[str, Program] = {
    OURS: Program(_seeded(LazyNetClassifier), _without_tol, EACH, "lazynet"),
    DUAL: Program(_seeded(lazynet.DualNetClassifier), _with_tol, EACH, "lazynet"),
    SGD: Program(_seeded(SGDClassifier), _without_tol),
    SGD_LOG: Program(_seeded(SGDClassifier, loss="log_loss"), _without_tol, EACH),
    LOGISTIC: Program(_seeded(LogisticRegression), _with_tol, ALL),
    SUPPORT: Program(_seeded(LinearSVC), _with_tol),
    WABBIT: _wabbit_program("VWClassifier", EACH),
}
REGRESSORS: dict[str, Program] = {
    OURS: Program(_seeded(LazyNetRegressor), _without_tol, SQUARED, "lazynet"),
    DUAL: Program(_seeded(lazynet.DualNetRegressor), _with_tol, SQUARED, "lazynet"),
    SGD_SQUARED: Program(_seeded(SGDRegressor), _without_tol, SQUARED),
    RIDGE: Program(_seeded(Ridge), None, SQUARED),
    WABBIT: _wabbit_program("VWRegressor", SQUARED),
}


def programs(kind: str) -> dict[str, Program]:
    """The programs that are installed, for targets of this kind.

    Vowpal Wabbit's classifier has two classes.  The classifier for several classes in version 9.11
    misjudges most of its own training rows where linear classes are separable, and is left out.
    """
    every = REGRESSORS if kind == NUMBERS else CLASSIFIERS
    return {
        name: program
        for name, program in every.items()
        if not program.missing and not (name == WABBIT and kind == SEVERAL)
    }


def of_ours(kind: str) -> dict[str, Program]:
    """Our other rules and estimators, at their own defaults."""
    if kind == NUMBERS:
        return {name: _ruled(LazyNetRegressor, rule, SQUARED) for name, rule in RULES.items()}
    found = {name: _ruled(LazyNetClassifier, rule, EACH) for name, rule in RULES.items()}
    for name, estimator in (
        ("ASGD", lazynet.ASGDClassifier),
        ("stabilised SGD", lazynet.StabilisedSGDClassifier),
    ):
        make = _seeded(estimator, loss="log_loss")
        found[name] = Program(make, _without_tol, EACH, "lazynet")
    return found


def _ruled(estimator: Callable[..., Any], rule: str, probabilities: str) -> Program:
    return Program(_seeded(estimator, rule=rule), _without_tol, probabilities, "lazynet")


def competitors(kind: str) -> list[str]:
    """The programs of others whose test loss can be compared with ours."""
    return [
        name
        for name, program in programs(kind).items()
        if program.module != "lazynet" and program.probabilities
    ]


# --- the tuned grid --------------------------------------------------------------------------

#: Rates of FoBoS in the unit 1 / (mean squared length of a row + 1), every half power of ten.
FOBOS_RATES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
#: Rates of AdaGrad in the unit 1 / (mean sum of a row's absolute values).
ADAGRAD_RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def grid(kind: str, rows: Rows, every: int = 1) -> dict[str, Program]:
    """Our own estimators at every rate of the grid, or at every second, third ... one."""
    squared = float(rows.X.multiply(rows.X).sum() / rows.X.shape[0]) + 1.0
    absolute = float(abs(rows.X).sum() / rows.X.shape[0]) or 1.0
    estimator = LazyNetRegressor if kind == NUMBERS else LazyNetClassifier
    probabilities = SQUARED if kind == NUMBERS else EACH
    chosen: dict[str, dict[str, Any]] = {
        f"FoBoS, eta0 {rate:g}": {"rule": "fobos", "eta0": rate / squared}
        for rate in FOBOS_RATES[::every]
    }
    for rate in ADAGRAD_RATES[::every]:
        rule = AdaGrad(alpha=rate / absolute, initial=0.0 if kind == NUMBERS else INITIAL)
        chosen[f"AdaGrad, alpha {rate:g}"] = {"rule": rule}
    return {
        name: Program(_seeded(estimator, **fixed), _without_tol, probabilities, "lazynet")
        for name, fixed in chosen.items()
    }
