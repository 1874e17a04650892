"""Estimators with nothing set: how they are made, fitted, and judged on test rows.

Every program is its constructor without arguments but ``random_state``, and its loss where the
default has no probabilities.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax, logsumexp
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.svm import LinearSVC

import lazynet
from benchmarks.problems import NUMBERS, SEVERAL
from lazynet import LazyNetClassifier, LazyNetRegressor
from paper_repro.rows import Rows
from paper_repro.study import Record

OURS, DUAL = "lazynet", "DualNet"
SGD, SGD_LOG, SGD_SQUARED, WABBIT = "SGD (hinge)", "SGD (log loss)", "SGD", "Vowpal Wabbit"
#: Programs whose result depends on the seed; all others are judged once.
BY_CHANCE = (OURS, SGD, SGD_LOG, SGD_SQUARED)
#: What a program predicts: a decision for each class by itself, or for all together; or numbers.
EACH, ALL, SQUARED = "each class", "all classes", "numbers"
#: JSON has no infinity and no NaN: the loss of a model that overflows, or of no model at all.
HUGE = 1e300


@dataclass(frozen=True)
class Program:
    """How an estimator is made, and what its predictions are: None without probabilities."""

    make: Callable[..., Any]
    probabilities: str | None
    module: str = "sklearn"

    def judged(self, rows: Rows, seed: int) -> Record:
        """Seconds of the processor of a fit; test loss and error, epochs, and nonzeros."""
        began = time.process_time()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                model = self.make(random_state=seed).fit(rows.X, rows.y)
                seconds = time.process_time() - began
                loss, error = self._losses(model, rows)
        except (ArithmeticError, ValueError) as raised:
            why = f"{type(raised).__name__}: {raised}"
            nothing = {"error": HUGE, "epochs": None, "nonzeros": None}
            return {"seconds": time.process_time() - began, "loss": HUGE, "failed": why, **nothing}
        epochs, coef = getattr(model, "n_iter_", None), getattr(model, "coef_", None)
        return {
            "seconds": seconds,
            "loss": loss if loss is None or math.isfinite(loss) else HUGE,
            "error": error if math.isfinite(error) else HUGE,
            "epochs": None if epochs is None else int(np.max(epochs)),
            "nonzeros": int(np.count_nonzero(coef)) if isinstance(coef, np.ndarray) else None,
            "failed": None,
        }

    def _losses(self, model: Any, rows: Rows) -> tuple[float | None, float]:
        """The mean log loss and the share of misjudged rows, or the squared error and 1 - R2.

        Log loss is computed from the decision values, so that no probability is rounded to 0.
        """
        X, y = rows.X_test, rows.y_test
        if self.probabilities == SQUARED:
            squared = float(np.mean((model.predict(X) - y) ** 2))
            return squared, squared / float(y.var())
        error = float(np.mean(model.predict(X) != y))
        if self.probabilities is None:
            return None, error
        columns = np.searchsorted(model.classes_, y)
        logs = log_probabilities(model.decision_function(X), self.probabilities)
        return -float(logs[np.arange(len(y)), columns].mean()), error


def log_probabilities(decisions: NDArray[np.float64], kind: str) -> NDArray[np.float64]:
    """The logarithms of the probabilities of all classes, whose sum over the classes is 1."""
    if decisions.ndim == 1:
        return np.column_stack([log_expit(-decisions), log_expit(decisions)])
    if kind == ALL:
        return np.asarray(log_softmax(decisions, axis=1))
    logs = log_expit(decisions)
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))


def _wabbit(name: str, random_state: int) -> Any:
    from vowpalwabbit import sklearn

    return getattr(sklearn, name)(random_seed=random_state)


CLASSIFIERS = {
    OURS: Program(LazyNetClassifier, EACH),
    DUAL: Program(lazynet.DualNetClassifier, EACH),
    SGD: Program(SGDClassifier, None),
    SGD_LOG: Program(partial(SGDClassifier, loss="log_loss"), EACH),
    "LogisticRegression": Program(LogisticRegression, ALL),
    "LinearSVC": Program(LinearSVC, None),
    WABBIT: Program(partial(_wabbit, "VWClassifier"), EACH, "vowpalwabbit"),
}
REGRESSORS = {
    OURS: Program(LazyNetRegressor, SQUARED),
    DUAL: Program(lazynet.DualNetRegressor, SQUARED),
    SGD_SQUARED: Program(SGDRegressor, SQUARED),
    "Ridge": Program(Ridge, SQUARED),
    WABBIT: Program(partial(_wabbit, "VWRegressor"), SQUARED, "vowpalwabbit"),
}


def programs(kind: str) -> dict[str, Program]:
    """The programs that are installed; Vowpal Wabbit's classifier has two classes."""
    every = REGRESSORS if kind == NUMBERS else CLASSIFIERS
    return {
        name: program
        for name, program in every.items()
        if find_spec(program.module) and not (name == WABBIT and kind == SEVERAL)
    }
