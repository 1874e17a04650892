"""The dense reference of a rule, with a bound on the rounding of an exact rule; problems."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from lazynet.engines.catalogue import ALGORITHMS, RuleLike, check_rule
from lazynet.losses import LossLike, get_loss
from lazynet.parameters import Flag, NonNegative, SettledFields, check_array, refuse_class, shown
from lazynet.penalties import ElasticNet
from lazynet.reference.from_data import DenseFromData
from lazynet.reference.losses import LOSSES
from lazynet.rules.base import Affine
from lazynet.schedules import AUTO, FromArray, checked_rates
from lazynet.training.plan import Plan
from lazynet.training.stepper import Stepper
from lazynet.verify.tolerance import (
    DIVERGED,
    NUDGE,
    ErrorBudget,
    StateBudget,
    VisitedRow,
    is_amplified,
)


class SteppingModel(Protocol):
    """A model that ``assert_matches_reference`` compares: it learns one example in a step.

    It may also have an ``intercept``.

    >>> model: SteppingModel = Stepper(2, loss="squared_error")
    >>> model.step([1], [2.0], 1.0, 1.0), model.weights
    (0.0, array([0., 1.]))
    """

    @property
    def weights(self) -> ArrayLike:
        """All weights after the last step."""

    def step(
        self, indices: list[int], values: list[float], target: float, importance: float, /
    ) -> Any:
        """Learn from one example, given by its nonzeros."""


class BoundedReference:
    """The reference of a rule with an error budget; it takes the same steps as an implementation.

    ``largest_cushion`` is the cushion of the implementation (``ErrorBudget``), and ``n_rows`` the
    number of rows of the dataset, for rules that do not learn from a stream.  ``dense`` replaces
    the reference of the rule; the bound is then 1e-10 of 1 + the largest weight.

    >>> from lazynet import SGD
    >>> model = Stepper(2, loss="hinge", rule=SGD("constant", eta0=0.5), l1=0.1)
    >>> reference = BoundedReference(model.plan, 2)
    >>> _ = reference.step([0], [1.0], 1.0)
    >>> reference.weights
    array([0.45, 0.  ])
    >>> reference.comparable and reference.bound < 1e-14
    True
    >>> reference.ended is None  # comparing continues
    True
    >>> round(reference.distance(np.array([0.45, 0.25]), reference.intercept), 6)
    0.25
    """

    def __init__(
        self,
        plan: Plan,
        n_features: int,
        largest_cushion: float = math.inf,
        n_rows: int | None = None,
        dense: SteppingModel | None = None,
    ) -> None:
        rule = plan.rule
        if dense is None and not ALGORITHMS[rule.name].exact:
            raise ValueError(f"rule must be exact, got {rule!r}, which is not")
        self.plan, self.loss, self.n_rows = plan, plan.loss, n_rows
        self.dense: Any = new_reference(plan, n_features, n_rows) if dense is None else dense
        # A second reference on values that are a little larger, as every second importance is.
        self.nearby: Any = None
        self.n_steps = 0
        self.budget: ErrorBudget | StateBudget
        if dense is not None or plan.rates_from_data or not rule.is_affine:
            self.budget = StateBudget(plan.loss, getattr(rule, "threshold", math.inf))
            self.nearby = copy.deepcopy(self.dense)
        else:
            assert isinstance(rule, Affine)
            self.budget = ErrorBudget(
                plan.loss, rule, plan.penalty, plan.fit_intercept, largest_cushion
            )

    def step(
        self,
        indices: Sequence[int],
        values: Sequence[float],
        target: float,
        importance: float = 1.0,
        row: int = 0,
    ) -> float:
        """Take one step, and add the rounding of the step to the bound; returns the prediction.

        ``row`` is the number of the example in the dataset, for rules that do not learn from a
        stream.
        """
        plan, dense = self.plan, self.dense
        numbered = {} if plan.rule.streams else {"row": row}
        eta = rate_of(plan, dense.t) if isinstance(self.budget, ErrorBudget) else 1.0
        before_step = dense.weights
        touched = [float(before_step[j]) for j in indices]
        products = (w * x for w, x in zip(touched, values, strict=True))
        prediction = sum(products, self.intercept)
        dense.step(indices, values, target, importance, **numbered)
        slope = LOSSES[self.loss.name][1](prediction, target, self.loss.epsilon)
        visited = VisitedRow(values, prediction, slope, target, importance, touched)
        self.budget.after_step(eta, visited, weights=dense.weights, intercept=self.intercept)
        if self.nearby is not None and self.comparable:
            larger = [x * (1.0 + NUDGE) for x in values]
            # An intercept alone does not depend on the values.  Equal shares would cancel.
            self.n_steps += 1
            importance *= 1.0 + NUDGE * (self.n_steps % 2)
            self.nearby.step(indices, larger, target, importance, **numbered)
            if is_amplified(*(_numbers_of(each) for each in (dense, self.nearby))):
                self.budget.end(DIVERGED)
        return prediction

    def change(self, plan: Plan) -> None:
        """From the next step on, take the steps of another plan of the same rule.

        >>> model = Stepper(1, loss="squared_error", rule="adagrad", l1=0.5)
        >>> reference = BoundedReference(model.plan, 1)
        >>> reference.change(replace(model.plan, penalty=ElasticNet(l1=0.25)))
        >>> reference.dense.l1
        0.25
        """
        self.plan, budget = plan, self.budget
        self.dense = self._changed(self.dense)
        if self.nearby is not None:
            self.nearby = self._changed(self.nearby)
        if isinstance(budget, ErrorBudget):
            budget.penalty = plan.penalty
        else:
            budget.threshold = getattr(plan.rule, "threshold", math.inf)

    def _changed(self, old: Any) -> Any:
        """A reference of the present plan that continues from an old one."""
        new = new_reference(self.plan, old.n_features, self.n_rows)
        new.__class__, new.slope = old.__class__, old.slope
        new.continue_from(old)
        return new

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the reference after the last step."""
        return np.array(self.dense.weights, dtype=np.float64)

    @property
    def intercept(self) -> float:
        """The intercept of the reference after the last step; 0 if it has none."""
        return _intercept_of(self.dense)

    @property
    def bound(self) -> float:
        """The largest Euclidean distance, intercept included, that rounding explains so far."""
        return self.budget.bound

    @property
    def ended(self) -> str | None:
        """The reason why comparing ended; None: it continues."""
        return self.budget.ended

    @property
    def comparable(self) -> bool:
        """False once rounding may have decided a branch, or a diverging run amplified it."""
        return self.budget.ended is None

    def distance(self, weights: NDArray[np.float64], intercept: float) -> float:
        """The Euclidean distance of these weights and this intercept from the reference's."""
        with np.errstate(over="ignore"):
            gap = float(np.linalg.norm(np.asarray(weights, dtype=np.float64) - self.weights))
        return float(np.hypot(gap, intercept - self.intercept))


def _intercept_of(model: Any) -> float:
    """The intercept of a model; 0 if it has none."""
    return float(getattr(model, "intercept", 0.0))


def _numbers_of(model: Any) -> list[float]:
    """The weights and the intercept of a model."""
    return [*model.weights, _intercept_of(model)]


def rate_of(plan: Plan, t: int) -> float:
    """The rate of step ``t`` by the schedule of a plan.

    >>> from lazynet.schedules import InverseSqrt
    >>> rate_of(replace(Stepper(1).plan, schedule=InverseSqrt(1.0)), 3)
    0.5
    """
    return float(checked_rates(plan.schedule, t, t + 1)[0])


def new_reference(plan: Plan, n_features: int, n_rows: int | None = None) -> Any:
    """The dense reference of a model that is trained by ``plan``, in plain Python, at zero weights.

    ``n_rows`` is the number of rows of the dataset, for rules that do not learn from a stream.

    >>> from lazynet import RDA
    >>> reference = new_reference(Stepper(1, loss="hinge", rule=RDA(gamma=2.0)).plan, 1)
    >>> _ = reference.step([0], [1.0], 1.0)
    >>> reference.weights
    [0.5]
    """
    rule, loss, penalty = plan.rule, plan.loss, plan.penalty
    options = dict(
        loss=loss.name,
        l1=penalty.l1,
        l2=penalty.l2,
        fit_intercept=plan.fit_intercept,
        epsilon=loss.epsilon,
        **rule.reference_options(loss),
    )
    if "product" in options:
        options["product"] *= plan.share
    if penalty.positive:
        options["positive"] = True
    if plan.rates_from_data:
        largest = rule.largest_rate(penalty) / 2
        options |= dict(
            rule=rule.name, largest_rate=largest, factor=plan.schedule.factor * plan.share
        )
        return DenseFromData(n_features, **options)
    if rule.scheduled:
        options["schedule"] = partial(rate_of, plan)
    if not rule.streams:
        if n_rows is None:
            raise ValueError(f"rule={rule!r} needs n_rows, the number of rows of the dataset")
        options["n_rows"] = n_rows
    return ALGORITHMS[rule.name].reference(n_features, **options)


@dataclass(frozen=True)
class Problem(SettledFields):
    """Rows, targets and importances; the row and the rate of each step; loss, rule and penalty.

    ``problems`` draws such an object; a failing test prints it as a call of the constructor:

    >>> problem = Problem(
    ...     X=sparse.csr_matrix([[0.0, 2.0]]), y=np.array([1.0]), importances=np.ones(1),
    ...     order=np.array([0, 0]), rates=np.array([0.5, 0.25]), loss="squared_error", l1=0.1)
    >>> problem.n_features, problem.rate(1), problem.options["l1"]
    (2, 0.25, 0.1)
    >>> problem.epsilon, problem.plain_options["rule"]
    (0.1, 'fobos')
    >>> problem.example(0)  # indices, values, target, importance
    ([1], [2.0], 1.0, 1.0)
    >>> reference = problem.reference()
    >>> reference.step(*problem.example(0)), reference.weights
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
        # The printed call has lists in place of arrays.
        for name in ("y", "importances", "rates"):
            numbers = check_array(name, "must list real numbers", getattr(self, name))
            object.__setattr__(self, name, numbers)
        object.__setattr__(self, "X", sparse.csr_matrix(self.X))
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
        loss = dict(loss=get_loss(self.loss).name, epsilon=self.epsilon)
        return self.options | loss | dict(rule=rule.name, step_order=rule.step_order)

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
        if rule.schedule == AUTO:
            rule = replace(rule, schedule=FromArray(self.rates))
        return Stepper(self.n_features, **options | {"rule": rule})

    def rate(self, t: int) -> float:
        """The rate of step ``t``."""
        return float(self.rates[t])

    def reference(
        self, largest_cushion: float = math.inf, dense: SteppingModel | None = None
    ) -> BoundedReference:
        """A new dense reference with its error bound.

        ``largest_cushion`` is the largest scale * shift at which the implementation brings all
        weights current; a smaller value makes the bound tighter.  ``dense`` replaces the reference
        of the rule.
        """
        rule = check_rule("rule", self.rule)
        penalty, schedule = ElasticNet(self.l1, self.l2, rule.positive), FromArray(self.rates)
        plan = Plan(get_loss(self.loss), penalty, rule, schedule, None, self.fit_intercept)
        return BoundedReference(plan, self.n_features, largest_cushion, dense=dense)

    def example(self, step: int) -> tuple[list[int], list[float], float, float]:
        """The indices, values, target and importance of the example at ``step``."""
        return example_of(self.X, self.y, self.importances, self.order[step])


def example_of(
    X: sparse.csr_matrix, y: NDArray[np.float64], importances: NDArray[np.float64], row: int
) -> tuple[list[int], list[float], float, float]:
    """The indices, values, target and importance of a row.

    >>> example_of(sparse.csr_matrix([[0.0, 2.0]]), np.ones(1), np.ones(1), 0)
    ([1], [2.0], 1.0, 1.0)
    """
    span = slice(X.indptr[row], X.indptr[row + 1])
    indices, values = X.indices[span].tolist(), X.data[span].tolist()
    return indices, values, float(y[row]), float(importances[row])


def assert_matches_reference(
    implementation: SteppingModel,
    problem: Problem,
    *,
    read: Callable[[Any], ArrayLike] | None = None,
    reference: SteppingModel | BoundedReference | None = None,
) -> int:
    """Step ``implementation`` and the dense reference, and compare all weights after every step.

    ``implementation`` has ``step(indices, values, target, importance)``, and ``weights`` unless
    ``read`` returns them.  If the problem fits an intercept, ``implementation.intercept`` is
    compared too.  ``reference`` is a dense model of the same form, for a rule that lazynet does not
    know; None: the reference of ``problem.rule``.  Returns the number of compared steps: comparing
    ends if rounding may decide a branch.

    >>> from hypothesis import given, settings
    >>> from lazynet.verify.strategies import EXACT_RULES, problems
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(problems(rules=EXACT_RULES))
    ... def test_stepper(problem):
    ...     assert_matches_reference(problem.stepper(), problem)
    >>> test_stepper()
    """
    _check_model("implementation", implementation, problem, has_weights=read is None)
    if not isinstance(reference, BoundedReference):
        if reference is not None:
            _check_model("reference", reference, problem)
        reference = problem.reference(dense=reference)
    for step in range(len(problem.order)):
        example = problem.example(step)
        reference.step(*example)
        if not reference.comparable:
            return step
        implementation.step(*example)
        weights = implementation.weights if read is None else read(implementation)
        weights = check_array("weights", "must hold real numbers", weights)
        if weights.shape != (problem.n_features,):
            raise ValueError(
                f"weights must be {problem.n_features} numbers, got the shape {weights.shape}"
            )
        intercept = float(getattr(implementation, "intercept", reference.intercept))
        distance = reference.distance(weights, intercept)
        if not distance <= reference.bound:  # so that NaN fails
            message = _difference(weights, reference, distance)
            if problem.fit_intercept:
                message += f" (intercepts {intercept!r}, {reference.intercept!r})"
            raise AssertionError(f"after step {step} {message}")
    return len(problem.order)


def _check_model(name: str, model: Any, problem: Problem, has_weights: bool = True) -> None:
    """Refuse a class, and a model without a part that the comparison needs."""
    refuse_class(name, model, "...")
    for part in ("step", "weights")[: 1 + has_weights]:
        if not hasattr(model, part):
            raise TypeError(
                f"{name} must have step(indices, values, target, importance) and weights, "
                f"got {shown(model)} without {part}"
            )
    if problem.fit_intercept and getattr(model, "intercept", None) is None:
        raise AssertionError(
            f"the problem fits an intercept and the {name} has no attribute "
            "`intercept`: add one, or draw problems(intercepts=[False])"
        )


def _difference(weights: NDArray[np.float64], reference: BoundedReference, distance: float) -> str:
    """The distance from the weights of the reference, and the weight that differs most."""
    j = int(np.argmax(np.abs(weights - reference.weights)))
    if np.isnan(weights[j]):
        return f"weight {j} is nan, but those of the dense reference are finite numbers"
    share = "and rounding explains no difference"
    if reference.bound:
        times, bound = distance / reference.bound, reference.bound
        share = f"{times:.3g} times the {bound:.3g} that rounding explains"
    return (
        f"the weights are {distance:.3g} away from the dense reference's, {share}; "
        f"weight {j} is {float(weights[j])!r}, the reference's {float(reference.weights[j])!r}"
    )
