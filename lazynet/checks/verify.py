"""The lazy model and its dense twin side by side on a user's own data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.averages import checked_counts
from lazynet.catalogue import ALGORITHMS, algorithm_of
from lazynet.checks.tolerance import AGREE
from lazynet.checks.twin import BoundedTwin
from lazynet.data import sizes_of
from lazynet.engines.outputs import OutputsEngine
from lazynet.kernels.batches import Merger
from lazynet.learners import AnyLearner, new_learners, spans
from lazynet.plan import Plan
from lazynet.problems import Problems
from lazynet.reference.batches import Example

# Weights that the plain Python twin may visit, which takes a few seconds.
_VISITS = 4_000_000
#: The largest number of epochs: the twin may visit one row of one feature this often.
LARGEST_EPOCHS = _VISITS


@dataclass(frozen=True)
class Difference:
    """The greatest difference of one kind, with the step and the feature where it arose."""

    amount: float
    step: int
    feature: int
    lazy: float
    dense: float

    def __str__(self) -> str:
        if self.step < 0:
            return "0"
        return (
            f"{self.amount:.3g} after step {self.step} in weight {self.feature} "
            f"(lazy {self.lazy!r}, dense {self.dense!r})"
        )


NO_DIFFERENCE = Difference(0.0, -1, -1, 0.0, 0.0)


@dataclass(frozen=True)
class VerificationReport:
    """The result of ``estimator.verify``; ``print(report)`` gives a text to read.

    ``agrees`` is whether all weights stayed within the derived bound after every step compared.
    Comparing ends early where a prediction meets a kink of the loss, so that rounding may decide
    the step, and where both models overflow: ``steps_compared`` says when and ``ended`` says why.

    >>> from lazynet import LazyNetClassifier
    >>> X = sparse.csr_matrix([[1.0, 0.0], [0.0, 2.0]])
    >>> report = LazyNetClassifier(l1=0.1).verify(X, ["no", "yes"])
    >>> report.agrees, report.steps_compared, report.steps
    (True, 2, 2)
    >>> report.ended is None  # comparing went on to the last step
    True
    >>> print(str(report).partition(" (")[0])
    engine 'adagrad' and the dense twin agree after every one of 2 steps
    """

    engine: str
    """The name of the lazy model's engine."""
    rows: int
    """The number of rows used, from the first row of X on."""
    features: int
    """The number of features that occur in the rows used."""
    steps: int
    """The number of steps in the whole run: rows times epochs, divided by the rows of a step."""
    steps_compared: int
    """The number of steps after which the weights were compared."""
    absolute: Difference
    """The greatest difference between a lazy weight and the same dense weight."""
    relative: Difference
    """The greatest difference divided by the size of the weight."""
    ulps: Difference
    """The greatest difference in units in the last place of the weight."""
    largest_weight: float
    """The largest size of a weight in either model."""
    bound: float
    """The largest distance that rounding explains by the last step compared (Euclidean norm)."""
    agrees: bool | None
    """Whether the distance never exceeded the bound; None where no step could be compared."""
    average: Difference | None = None
    """The greatest absolute difference of the averages; None without an average."""
    ended: str | None = None
    """Why comparing ended before the last step; None where all steps were compared."""

    def __str__(self) -> str:
        if self.agrees is None:
            return (
                f"engine {self.engine!r} and the dense twin could not be compared, because at the "
                f"first step {self.ended}"
            )
        verdict = "agree" if self.agrees else "DISAGREE"
        whole = self.steps_compared == self.steps
        compared = f"{self.steps}" if whole else f"the first {self.steps_compared} of {self.steps}"
        partial = (
            ""
            if whole
            else f"\n  compared up to     step {self.steps_compared} of {self.steps}, because then "
            f"{self.ended}"
        )
        return (
            f"engine {self.engine!r} and the dense twin {verdict} after every one of "
            f"{compared} steps ({self.rows} rows, {self.features} features in them)\n"
            f"  largest weight     {self.largest_weight:.6g}\n"
            f"  greatest absolute  {self.absolute}\n"
            f"  greatest relative  {self.relative}\n"
            f"  greatest in ulps   {self.ulps}\n"
            f"  bound              {self.bound:.3g} for all differences together (Euclidean norm)\n"
            "  (a weight that is about to vanish may differ in many of its own digits)"
            + (
                ""
                if self.average is None
                else f"\n  greatest in average  {self.average}; "
                f"the bound is {AGREE:g} of 1 + the largest"
            )
            + partial
        )


class _Comparison:
    """The greatest differences so far between a lazy engine and its dense twin."""

    def __init__(self, learner: AnyLearner, twin: BoundedTwin, features: NDArray[np.intp]) -> None:
        engine = learner.engine
        self.engine = _FirstOutput(engine) if isinstance(engine, OutputsEngine) else engine
        self.twin, self.features = twin, features
        self.average_of = learner.plan.average
        self.worst = dict.fromkeys(("absolute", "relative", "ulps"), NO_DIFFERENCE)
        self.average = None if self.average_of is None else NO_DIFFERENCE
        self.largest, self.agrees, self.compared = 0.0, True, 0
        self.ended: str | None = None
        # The sums from which the average of the twin's iterates is computed.
        self.sums, self.intercept_sum, self.total = np.zeros(len(features)), 0.0, 0.0

    # A number that is not finite in the lazy model alone is reported as a difference.
    @np.errstate(over="ignore", invalid="ignore")
    def after_step(self, t: int) -> None:
        """Compare the weights after step ``t``."""
        dense, lazy = self.twin.weights, self.engine.weights()
        self.compared += 1
        # Written so that NaN disagrees.
        near = self.twin.distance(lazy, self.engine.intercept) <= self.twin.bound
        self.agrees = self.agrees and near
        gap = np.abs(lazy - dense)
        size = np.maximum(np.abs(lazy), np.abs(dense))
        self.largest = max(self.largest, float(size.max(initial=0.0)))
        if gap.max(initial=0.0) != 0:
            scales = {
                "absolute": gap,
                "relative": gap / np.where(size > 0, size, 1.0),
                "ulps": gap / np.spacing(size),
            }
            for kind, amounts in scales.items():
                difference = _largest(amounts, t, self.features, lazy, dense)
                if _is_worse(difference, self.worst[kind]):
                    self.worst[kind] = difference
        if self.average_of is not None:
            self._compare_averages(t, dense)

    def _compare_averages(self, t: int, dense: NDArray[np.float64]) -> None:
        omega = float(checked_counts(self.average_of, t, t + 1)[0])  # type: ignore[arg-type]
        self.sums, self.total = self.sums + omega * dense, self.total + omega
        self.intercept_sum += omega * self.twin.intercept
        if not (
            np.isfinite(self.sums).all() and np.isfinite([self.total, self.intercept_sum]).all()
        ):
            self.ended = "the sums of the average leave the range of doubles"
            return
        counts = self.total != 0
        mean = self.sums / self.total if counts else dense
        intercept = self.intercept_sum / self.total if counts else self.twin.intercept
        engine = self.engine
        near = abs(engine.model_intercept - intercept) <= AGREE * (1.0 + abs(intercept))
        found = engine.model()
        difference = _largest(np.abs(found - mean), t, self.features, found, mean)
        if _is_worse(difference, self.average or NO_DIFFERENCE):
            self.average = difference
        near = near and difference.amount <= AGREE * (1.0 + np.abs(mean).max(initial=0.0))
        self.agrees = bool(self.agrees and near)


class _FirstOutput:
    """The first output of an engine of several, as an engine of one output."""

    def __init__(self, engine: OutputsEngine) -> None:
        self._engine = engine

    def weights(self) -> NDArray[np.float64]:
        return self._engine.weights()[0]

    def model(self) -> NDArray[np.float64]:
        return self._engine.model()[0]

    @property
    def intercept(self) -> float:
        return float(self._engine.intercepts[0])

    @property
    def model_intercept(self) -> float:
        return float(self._engine.model_intercepts[0])


def verify(
    plan: Plan, X: sparse.csr_matrix, problems: Problems, max_rows: int, epochs: int
) -> VerificationReport:
    """Train a lazy model and its dense twin on the first rows of X, and compare after every step.

    Both models start from zero weights.  The weights of features that occur in none of these rows
    stay zero in both models, so these features are left out.  The lazy model learns all problems
    of its first engine, and the first problem is compared.
    """
    if not algorithm_of(plan.rule).exact:
        exact = [name for name, row in ALGORITHMS.items() if row.exact]
        raise ValueError(f"verify knows the exact rules {exact}, got rule={plan.rule!r}")
    n_rows = affordable_rows(X, max_rows, epochs)
    # A matrix may have spare room before its first row, and a SciPy slice of X would keep it.
    span = slice(X.indptr[0], X.indptr[n_rows])
    features, columns = np.unique(X.indices[span], return_inverse=True)
    starts = X.indptr[: n_rows + 1] - X.indptr[0]
    head = sparse.csr_matrix((X.data[span], columns, starts), shape=(n_rows, len(features)))
    problems = problems.only(np.arange(n_rows))
    y, weights_of_rows = problems[0]

    engine = plan.new_engines(len(features), len(problems))[0]
    (learner,) = new_learners([engine], head, problems, plan, sizes_of(head, plan.sizes))
    merger = Merger()
    twin = BoundedTwin.of_plan(plan, len(features), engine.wear.largest_cushion, n_rows)
    comparison = _Comparison(learner, twin, features)

    def example(row: int) -> Example:
        span = slice(head.indptr[row], head.indptr[row + 1])
        importance = 1.0 if weights_of_rows is None else float(weights_of_rows[row])
        return head.indices[span].tolist(), head.data[span].tolist(), float(y[row]), importance

    batches = list(spans(n_rows, plan.batch_size))
    for t in range(len(batches) * epochs):
        epoch, number = divmod(t, len(batches))
        if number == 0 and plan.divides_in(epoch):
            twin.divide_rates(plan.divisor_in(epoch))
            engine.retune(plan.settings_in(epoch))
        rows = range(*batches[number])
        steps = plan.steps(np.array(rows), t)
        if plan.batch_size == 1:
            twin.step(*example(rows[0]), rows[0])
        else:
            twin.step_batch([example(row) for row in rows])
        if not twin.comparable:
            comparison.ended = twin.ended
            break
        try:
            learner.visit(steps, t, False, merger)
        except FloatingPointError:
            comparison.compared += 1
            comparison.agrees = False
            comparison.ended = "the lazy model overflows where the dense twin does not"
            break
        comparison.after_step(t)
        if comparison.ended is not None:
            break
    return VerificationReport(
        engine=engine.name,
        rows=n_rows,
        features=len(features),
        steps=len(batches) * epochs,
        steps_compared=comparison.compared,
        largest_weight=comparison.largest,
        bound=twin.bound,
        agrees=bool(comparison.agrees) if comparison.compared else None,
        average=comparison.average,
        ended=comparison.ended,
        **comparison.worst,
    )


def _is_worse(difference: Difference, worst: Difference) -> bool:
    """Whether a difference is greater than the greatest so far; the first NaN is the greatest."""
    return not (math.isnan(worst.amount) or difference.amount <= worst.amount)


def _largest(
    amounts: NDArray[np.float64],
    step: int,
    features: NDArray[Any],
    lazy: NDArray[np.float64],
    dense: NDArray[np.float64],
) -> Difference:
    if not len(amounts):
        return NO_DIFFERENCE
    j = int(np.argmax(amounts))
    return Difference(float(amounts[j]), step, int(features[j]), float(lazy[j]), float(dense[j]))


def affordable_rows(X: sparse.csr_matrix, max_rows: int, epochs: int) -> int:
    """The number of first rows that the plain Python twin visits in a few seconds, at least 1."""
    rows = min(max_rows, X.shape[0])
    while rows > 1:
        features = len(np.unique(X.indices[: X.indptr[rows]]))
        if rows * epochs * features <= _VISITS:
            break
        rows = rows // 2
    return rows
