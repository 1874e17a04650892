"""The comparison of a lazy model with its dense reference on the data of the user."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.averages import Average, checked_counts
from lazynet.data.products import only_named_columns, own_rows
from lazynet.engines.base import Engine
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.parameters import check_integer
from lazynet.training.fit import make_plan
from lazynet.training.passes import new_learners
from lazynet.training.plan import Plan, units_of
from lazynet.training.rows import RowsInMemory
from lazynet.training.settings import Settings
from lazynet.verify.reference import BoundedReference, example_of
from lazynet.verify.tolerance import AGREE

_Vector = NDArray[np.float64]
_Columns = NDArray[np.intp]
# Weights and intercept.
_Linear = tuple[_Vector, float]
# The number of weights that the dense reference, plain Python, can visit in a few seconds.
_VISITS = 4_000_000
#: The largest number of epochs: the reference can visit one row of one feature so often.
LARGEST_EPOCHS = _VISITS


@dataclass(frozen=True)
class Difference:
    """The largest difference, with its step and its feature."""

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


@dataclass
class VerificationReport:
    """The result of ``estimator.verify``; ``print(report)`` gives a text to read.

    ``agrees`` is whether all weights stayed within the derived bound after every step compared.
    Comparing ends early if a prediction is at a kink of the loss, so that rounding may decide the
    step, or if both models overflow: ``steps_compared`` is the number of steps before, and
    ``ended`` the reason.

    >>> from lazynet import LazyNetClassifier
    >>> X = sparse.csr_matrix([[1.0, 0.0], [0.0, 2.0]])
    >>> report = LazyNetClassifier(l1=0.1).verify(X, ["no", "yes"])
    >>> report.agrees, report.steps_compared, report.steps
    (True, 2, 2)
    >>> report.ended is None  # all steps were compared
    True
    >>> print(str(report).partition(" (")[0])
    engine 'adagrad' and the dense reference agree after every one of 2 steps
    """

    engine: str
    """The name of the lazy model's engine."""
    rows: int
    """The number of rows used, from the first row of X on."""
    rows_of_X: int
    """The number of rows of X."""
    outputs: int
    """The number of outputs: labels, targets, or classes from three on; the first is compared."""
    features: int
    """The number of features that occur in the rows used."""
    steps: int
    """The number of steps in the whole run: rows times epochs."""
    steps_compared: int = 0
    """The number of steps after which the weights were compared."""
    difference: Difference = NO_DIFFERENCE
    """The largest difference between a lazy weight and the same dense weight."""
    largest_weight: float = 0.0
    """The largest size of a weight in either model."""
    bound: float = 0.0
    """The largest distance that rounding can explain at the last compared step (Euclidean norm)."""
    agrees: bool | None = None
    """Whether the distance never exceeded the bound; None if no step could be compared."""
    average: Difference | None = None
    """The largest difference of the averages; None without an average."""
    ended: str | None = None
    """The reason why comparing ended before the last step; None if all steps were compared."""

    def __str__(self) -> str:
        both = f"engine {self.engine!r} and the dense reference"
        if self.agrees is None:
            return f"{both} could not be compared, because at the first step {self.ended}"
        whole = self.steps_compared == self.steps
        compared = f"{self.steps}" if whole else f"the first {self.steps_compared} of {self.steps}"
        rows = f"first {self.rows} of {self.rows_of_X} rows"
        if self.rows == self.rows_of_X:
            rows = f"all {self.rows} rows"
        lines = [
            f"{both} {'agree' if self.agrees else 'DISAGREE'} after every one of {compared} steps "
            f"({rows}, {self.features} features in them)",
            f"  largest weight     {self.largest_weight:.6g}",
            f"  largest difference {self.difference}",
            f"  bound              {self.bound:.3g} for all differences together (Euclidean norm)",
        ]
        if self.outputs > 1:
            lines.insert(1, f"  output             the first of {self.outputs} is compared")
        if self.average is not None:
            share = f"the bound is {AGREE:.3g} of 1 + the largest"
            lines.append(f"  largest in average {self.average}; {share}")
        if not whole:
            until = f"step {self.steps_compared} of {self.steps}, because then {self.ended}"
            lines.append(f"  compared up to     {until}")
        return "\n".join(lines)

    # A number that is not finite only in the lazy model is reported as a difference.
    @np.errstate(over="ignore", invalid="ignore")
    def _after_step(self, t: int, features: _Columns, lazy: _Vector, dense: _Vector) -> None:
        """Compare the weights of the features after step ``t``."""
        self.steps_compared += 1
        size = np.maximum(np.abs(lazy), np.abs(dense))
        self.largest_weight = max(self.largest_weight, float(size.max(initial=0.0)))
        self.difference = _larger(self.difference, t, features, lazy, dense)

    # The sums of the lazy model may be infinite although those of the reference are finite.
    @np.errstate(over="ignore", invalid="ignore")
    def _average_after_step(
        self, t: int, features: _Columns, lazy: _Linear, dense: _Linear
    ) -> None:
        """Compare the averages of the features after step ``t``."""
        (weights, intercept), (mean, mean_intercept) = lazy, dense
        self.average = _larger(self.average or NO_DIFFERENCE, t, features, weights, mean)
        gap = np.abs(weights - mean).max(initial=0.0)
        near = abs(intercept - mean_intercept) <= AGREE * (1.0 + abs(mean_intercept))
        near = near and gap <= AGREE * (1.0 + np.abs(mean).max(initial=0.0))
        self.agrees = bool(self.agrees and near)


def _larger(
    before: Difference, step: int, features: _Columns, lazy: _Vector, dense: _Vector
) -> Difference:
    """The largest difference so far; the first NaN is the largest."""
    amounts = np.abs(lazy - dense)
    if not amounts.any():
        return before
    j = int(np.argmax(amounts))
    amount = float(amounts[j])
    if math.isnan(before.amount) or amount <= before.amount:
        return before
    return Difference(amount, step, int(features[j]), float(lazy[j]), float(dense[j]))


class _MeanOfReference:
    """The average of the iterates of a dense reference, by plain sums."""

    def __init__(self, average: Average, n_features: int) -> None:
        self.kind = average
        self.sums, self.intercept_sum, self.total = np.zeros(n_features), 0.0, 0.0

    @np.errstate(over="ignore", invalid="ignore")
    def after_step(self, t: int, reference: BoundedReference) -> _Linear | None:
        """The average after step ``t``; None if the sums leave the range of doubles."""
        omega = float(checked_counts(self.kind, t, t + 1)[0])
        weights, intercept = reference.weights, reference.intercept
        self.sums, self.total = self.sums + omega * weights, self.total + omega
        self.intercept_sum += omega * intercept
        scalars = [self.total, self.intercept_sum]
        if not (np.isfinite(self.sums).all() and np.isfinite(scalars).all()):
            return None
        if self.total == 0:
            return weights, intercept
        return self.sums / self.total, self.intercept_sum / self.total


def _first_output(engine: Engine, last: bool) -> _Linear:
    """The last weights and intercept of the first output, or those for predictions."""
    return engine.coefficients(last=last)[0], float(engine.intercepts(last=last)[0])


def _plan_of(
    settings: Settings, rows: RowsInMemory, max_rows: int, epochs: int
) -> tuple[Plan, RowsInMemory, int]:
    """The plan of a comparison, the rows in its units, and the number of rows to visit.

    Refuses settings that have no dense reference.
    """
    if settings.softmax and rows.targets.n_outputs > 1:
        raise ValueError(
            "verify compares one output with its dense reference, and loss='softmax' couples "
            "all outputs: verify the same parameters with loss='log_loss'"
        )
    for name, value, needed, why in (
        ("group", settings.rule.group, None, "weights that are shrunk one by one"),
        ("dtype", settings.dtype, "float64", "weights in float64"),
    ):
        if value != needed:
            raise ValueError(f"verify compares {why}: write {name}={needed!r}, got {value!r}")
    moments = rows.moments(settings)
    rows = rows.standardised(units_of(moments))
    n_rows = _affordable_rows(rows.X, max_rows, epochs)
    settings = replace(settings, max_iter=epochs)
    plan, *_ = make_plan(
        settings, rows, moments, compares_first_epoch=False, n_steps=n_rows * epochs
    )
    if not ALGORITHMS[plan.rule.name].exact:
        exact = [name for name, row in ALGORITHMS.items() if row.exact]
        raise ValueError(f"verify knows the exact rules {exact}, got rule={plan.rule!r}")
    return plan, rows, n_rows


def verify(
    settings: Settings, rows: RowsInMemory, max_rows: int, epochs: int
) -> VerificationReport:
    """Train a lazy model and its dense reference on the first rows of X; compare after every step.

    Both models start from zero weights.  The weights of features that occur in none of these rows
    stay zero in both models, so these features are left out.  The lazy model learns all outputs
    of its first engine, and the first output is compared.
    """
    max_rows = check_integer("max_rows", max_rows, 1)
    epochs = check_integer("epochs", epochs, 1, LARGEST_EPOCHS)
    plan, rows, n_rows = _plan_of(settings, rows, max_rows, epochs)
    features, head = only_named_columns(own_rows(rows.X, 0, n_rows))
    targets = rows.targets.only(np.arange(n_rows))
    y, importances = targets[0][0], targets.importances_or_ones

    engine = plan.new_engines(len(features))[0]
    (learner,) = new_learners([engine], head, targets, plan)
    reference = BoundedReference(plan, len(features), engine.limits.largest_cushion, n_rows)
    report = VerificationReport(
        engine.name, n_rows, rows.X.shape[0], targets.n_outputs, len(features), n_rows * epochs
    )
    mean = None if plan.average is None else _MeanOfReference(plan.average, len(features))

    for t in range(report.steps):
        epoch, row = divmod(t, n_rows)
        now = plan.in_epoch(epoch)
        if row == 0 and now.share != reference.plan.share:
            reference.change(now)
            engine.set_constants(now.constants)
            learner.plan = now
        steps = plan.steps(np.array([row]), t)
        reference.step(*example_of(head, y, importances, row), row)
        report.bound, report.ended = reference.bound, reference.ended
        if report.ended is not None:
            break
        try:
            learner.visit(steps, t)
        except FloatingPointError:
            report.steps_compared, report.agrees = report.steps_compared + 1, False
            report.ended = "the lazy model overflows, but the dense reference does not"
            break
        weights, intercept = _first_output(engine, last=True)
        # With NaN the comparison is False.
        near = reference.distance(weights, intercept) <= reference.bound
        report.agrees = bool(report.agrees is not False and near)
        report._after_step(t, features, weights, reference.weights)
        if mean is not None:
            expected = mean.after_step(t, reference)
            if expected is None:
                report.ended = "the sums of the average leave the range of doubles"
                break
            last = _first_output(engine, last=False)
            report._average_after_step(t, features, last, expected)
    return report


def _affordable_rows(X: sparse.csr_matrix, max_rows: int, epochs: int) -> int:
    """The number of first rows that the dense reference visits in a few seconds, at least 1."""
    rows = min(max_rows, X.shape[0])
    while rows > 1 and rows * epochs * len(np.unique(X.indices[: X.indptr[rows]])) > _VISITS:
        rows //= 2
    return rows
