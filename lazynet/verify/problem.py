"""A training problem, and the comparison of an implementation with the dense twin of its rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.engines.catalogue import RuleLike, check_rule
from lazynet.losses import LossLike, get_loss
from lazynet.parameters import Flag, NonNegative, SettledFields, check_array
from lazynet.penalties import ElasticNet
from lazynet.schedules import FromArray, is_auto
from lazynet.training.plan import Plan
from lazynet.training.stepper import Stepper
from lazynet.verify.twin import BoundedTwin


@dataclass(frozen=True)
class Problem(SettledFields):
    """Rows, targets and importances; the row and the rate of each step; loss, rule and penalty.

    ``problems`` draws such an object, and a failing one is printed as the call that makes it:

    >>> problem = Problem(
    ...     X=sparse.csr_matrix([[0.0, 2.0]]), y=np.array([1.0]), importances=np.ones(1),
    ...     order=np.array([0, 0]), rates=np.array([0.5, 0.25]), loss="squared_error", l1=0.1)
    >>> problem.n_features, problem.rate(1), problem.options["l1"]
    (2, 0.25, 0.1)
    >>> problem.epsilon, problem.plain_options["rule"]
    (0.1, 'fobos')
    >>> problem.example(0)  # indices, values, target, importance
    ([1], [2.0], 1.0, 1.0)
    >>> twin = problem.twin()
    >>> twin.step(*problem.example(0)), twin.weights
    (0.0, array([0.  , 0.95]))
    """

    X: sparse.csr_matrix
    """The rows of the examples."""
    y: NDArray[np.float64]
    """The target of each row."""
    importances: NDArray[np.float64]
    """The importance of each row."""
    order: NDArray[np.int64]
    """The row that each step visits."""
    rates: NDArray[np.float64]
    """The rate of each step."""
    loss: LossLike = "log_loss"
    rule: RuleLike = "fobos"
    l1: NonNegative = 0.0
    l2: NonNegative = 0.0
    fit_intercept: Flag = False

    def __post_init__(self) -> None:
        super().__post_init__()
        # A problem that was printed has lists in place of arrays.
        for name in ("y", "importances", "rates"):
            numbers = check_array(name, "must list real numbers", getattr(self, name))
            object.__setattr__(self, name, numbers)
        object.__setattr__(self, "order", np.asarray(self.order, dtype=np.int64))

    def __repr__(self) -> str:
        return (
            f"Problem(X=csr_matrix({self.X.toarray().tolist()}), y={self.y.tolist()}, "
            f"importances={self.importances.tolist()}, order={self.order.tolist()}, "
            f"rates={self.rates.tolist()}, loss={self.loss!r}, rule={self.rule!r}, "
            f"l1={self.l1!r}, l2={self.l2!r}, fit_intercept={self.fit_intercept})"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print a failing problem as a call that can be pasted into a test."""
        printer.text(repr(self))

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return int(self.X.shape[1])

    @property
    def options(self) -> dict[str, Any]:
        """The options that ``Stepper`` takes."""
        names = "loss", "rule", "l1", "l2", "fit_intercept"
        return {name: getattr(self, name) for name in names}

    @property
    def plain_options(self) -> dict[str, Any]:
        """The options that the plain forms of the affine family in ``lazynet.reference`` take."""
        rule = check_rule("rule", self.rule)
        return dict(
            self.options,
            loss=get_loss(self.loss).name,
            epsilon=self.epsilon,
            rule=rule.name,
            step_order=rule.step_order,
        )

    @property
    def epsilon(self) -> float:
        """The width of the loss."""
        return get_loss(self.loss).epsilon

    def stepper(self, **options: Any) -> Stepper:
        """A ``Stepper`` with the rates of this problem; ``options`` replace ``Problem.options``.

        >>> from lazynet import FoBoS
        >>> X, y = sparse.csr_matrix([[2.0]]), np.array([1.0])
        >>> problem = Problem(X, y, np.ones(1), np.zeros(1, np.int64), np.ones(1))
        >>> problem.stepper(rule=FoBoS(storage="tables")).engine.name
        'tables'
        """
        options = self.options | options
        rule = check_rule("rule", options["rule"])
        if is_auto(rule.schedule):
            rule = replace(rule, schedule=FromArray(self.rates))
        return Stepper(self.n_features, **options | {"rule": rule})

    def rate(self, t: int) -> float:
        """The rate of step ``t``."""
        return float(self.rates[t])

    def twin(self, largest_cushion: float = math.inf) -> BoundedTwin:
        """A new dense twin with its error bound.

        ``largest_cushion`` is the largest scale * shift at which the implementation brings all
        weights current; a smaller value makes the bound tighter.
        """
        rule = check_rule("rule", self.rule)
        penalty, schedule = ElasticNet(self.l1, self.l2, rule.positive), FromArray(self.rates)
        plan = Plan(get_loss(self.loss), penalty, rule, schedule, None, self.fit_intercept)
        return BoundedTwin(plan, self.n_features, largest_cushion)

    def example(self, step: int) -> tuple[list[int], list[float], float, float]:
        """The indices, values, target and importance of the example at ``step``."""
        row = self.order[step]
        span = slice(self.X.indptr[row], self.X.indptr[row + 1])
        return (
            self.X.indices[span].tolist(),
            self.X.data[span].tolist(),
            float(self.y[row]),
            float(self.importances[row]),
        )


def assert_matches_twin(
    implementation: Any,
    problem: Problem,
    *,
    read: Callable[[Any], NDArray[np.float64]] = lambda implementation: implementation.weights,
    twin: BoundedTwin | None = None,
) -> int:
    """Step ``implementation`` and the dense twin, and compare all weights after every step.

    ``implementation`` has ``step(indices, values, target, weight)``; ``read`` gives its weights.
    Where the problem fits an intercept, ``implementation.intercept`` is compared too.  Returns the
    number of steps compared: comparing ends where rounding may decide a branch.

    >>> from hypothesis import given, settings
    >>> from lazynet.verify.strategies import EXACT_RULES, problems
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(problems(rules=EXACT_RULES))
    ... def test_stepper(problem):
    ...     assert_matches_twin(problem.stepper(), problem)
    >>> test_stepper()
    """
    twin = problem.twin() if twin is None else twin
    for step in range(len(problem.order)):
        example = problem.example(step)
        twin.step(*example)
        if not twin.comparable:
            return step
        implementation.step(*example)
        weights = np.asarray(read(implementation), dtype=np.float64)
        intercept = getattr(implementation, "intercept", None)
        if intercept is None and problem.fit_intercept:
            raise AssertionError(
                "the problem fits an intercept and the implementation has no attribute "
                "`intercept`: add one, or draw problems(intercepts=[False])"
            )
        intercept = twin.intercept if intercept is None else float(intercept)
        distance = twin.distance(weights, intercept)
        if not distance <= twin.bound:  # so that NaN fails
            message = _difference(weights, twin, distance)
            if problem.fit_intercept:
                message += f" (intercepts {intercept!r}, {twin.intercept!r})"
            raise AssertionError(f"after step {step} {message}")
    return len(problem.order)


def _difference(weights: NDArray[np.float64], twin: BoundedTwin, distance: float) -> str:
    """How far the weights are from the twin's, and the weight with the greatest difference."""
    j = int(np.argmax(np.abs(weights - twin.weights)))
    if np.isnan(weights[j]):
        return f"weight {j} is nan, where the dense twin's weights are finite numbers"
    share = "where rounding explains no difference"
    if twin.bound:
        share = f"{distance / twin.bound:.3g} times the {twin.bound:.3g} that rounding explains"
    return (
        f"the weights are {distance:.3g} away from the dense twin's, {share}; "
        f"weight {j} is {float(weights[j])!r}, the twin's {float(twin.weights[j])!r}"
    )
