"""The dense twin of a rule, with a bound on the distance to an exact implementation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazynet import reference
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.rules.base import Affine
from lazynet.schedules import checked_rates
from lazynet.training.plan import Plan
from lazynet.verify.tolerance import (
    DIVERGED,
    NUDGE,
    ErrorBudget,
    StateBudget,
    VisitedRow,
    is_amplified,
)


class BoundedTwin:
    """The reference of a rule with an error budget, to be stepped beside an implementation.

    ``largest_cushion`` is that of the implementation (``ErrorBudget``), and ``n_rows`` the number
    of rows of the data set, for rules that do not learn from a stream.

    >>> from lazynet import SGD, Stepper
    >>> model = Stepper(2, loss="hinge", rule=SGD("constant", eta0=0.5), l1=0.1)
    >>> twin = BoundedTwin(model.plan, 2)
    >>> _ = twin.step([0], [1.0], 1.0)
    >>> twin.weights
    array([0.45, 0.  ])
    >>> twin.comparable and twin.bound < 1e-14
    True
    >>> twin.ended is None  # comparing goes on
    True
    >>> round(twin.distance(np.array([0.45, 0.25]), twin.intercept), 6)
    0.25
    """

    def __init__(
        self,
        plan: Plan,
        n_features: int,
        largest_cushion: float = math.inf,
        n_rows: int | None = None,
    ) -> None:
        rule = plan.rule
        if not ALGORITHMS[rule.name].exact:
            raise ValueError(f"rule must be exact, got {rule!r}, which is not")
        self.plan, self.loss = plan, plan.loss
        self.dense = new_reference(plan, n_features, n_rows)
        # A second reference on values that are a little larger.
        self.nearby: Any = None
        self.budget: ErrorBudget | StateBudget
        if plan.rates_from_data or not rule.is_affine:
            self.budget = StateBudget(plan.loss, getattr(rule, "threshold", math.inf))
            self.nearby = new_reference(plan, n_features, n_rows)
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
        weight: float = 1.0,
        row: int = 0,
    ) -> float:
        """Take one step, and add the rounding of the step to the bound; returns the prediction.

        ``row`` is the number of the example in the data set, which only rules that do not learn
        from a stream ask for.
        """
        plan, dense = self.plan, self.dense
        numbered = {} if plan.rule.streams else {"row": row}
        # The rate, if a schedule gives it.
        by_schedule = plan.rule.scheduled and not plan.rates_from_data
        eta = rate_of(plan, dense.t) if by_schedule else 1.0
        before_step = dense.weights
        touched = [before_step[j] for j in indices]
        prediction = float(dense.step(indices, values, target, weight, **numbered))
        slope = dense.slope(prediction, target, self.loss.epsilon)
        visited = VisitedRow(values, prediction, slope, target, weight, touched)
        self.budget.after_step(eta, visited, weights=dense.weights, intercept=dense.intercept)
        if self.nearby is not None and self.comparable:
            larger = [x * (1.0 + NUDGE) for x in values]
            self.nearby.step(indices, larger, target, weight, **numbered)
            if is_amplified(dense.weights, self.nearby.weights):
                self.budget.end(DIVERGED)
        return prediction

    def divide_rates(self, divisor: float) -> None:
        """Divide the rates of the weights that follow the data, from the next step on.

        >>> from lazynet import Stepper
        >>> twin = BoundedTwin(Stepper(1, rule="adagrad").plan, 1)
        >>> twin.divide_rates(2.0)
        >>> twin.dense.alpha
        4.0
        """
        self.dense.divide_rates(divisor)
        if self.nearby is not None:
            self.nearby.divide_rates(divisor)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The twin's weights after the last step."""
        return np.array(self.dense.weights, dtype=np.float64)

    @property
    def intercept(self) -> float:
        """The twin's intercept after the last step."""
        return float(self.dense.intercept)

    @property
    def bound(self) -> float:
        """The largest Euclidean distance, intercept included, that rounding explains so far."""
        return self.budget.bound

    @property
    def ended(self) -> str | None:
        """Why comparing ended; None while it goes on."""
        return self.budget.ended

    @property
    def comparable(self) -> bool:
        """False once rounding may have decided a branch, or a diverging run amplified it."""
        return self.budget.ended is None

    def distance(self, weights: NDArray[np.float64], intercept: float) -> float:
        """The Euclidean distance of these weights and this intercept from the twin's."""
        with np.errstate(over="ignore"):
            gap = float(np.linalg.norm(np.asarray(weights, dtype=np.float64) - self.weights))
        return float(np.hypot(gap, intercept - self.intercept))


def rate_of(plan: Plan, t: int) -> float:
    """The rate of step ``t`` by the schedule of a plan."""
    return float(checked_rates(plan.schedule, t, t + 1)[0])


def new_reference(plan: Plan, n_features: int, n_rows: int | None = None) -> Any:
    """The plain Python twin of a model that is trained by ``plan``, all weights zero.

    ``n_rows`` is the number of rows of the data set, for rules that do not learn from a stream.

    >>> from lazynet import RDA, Stepper
    >>> twin = new_reference(Stepper(1, loss="hinge", rule=RDA(gamma=2.0)).plan, 1)
    >>> _ = twin.step([0], [1.0], 1.0)
    >>> twin.weights
    [0.5]
    """
    rule, loss, penalty = plan.rule, plan.loss, plan.penalty
    options = dict(
        loss=loss.name,
        l1=penalty.l1,
        l2=penalty.l2,
        fit_intercept=plan.fit_intercept,
        epsilon=loss.epsilon,
        **rule.twin_options(loss),
    )
    if penalty.positive:
        options["positive"] = True
    if plan.rates_from_data:
        largest = rule.largest_rate(penalty) / 2
        options |= dict(rule=rule.name, largest_rate=largest, factor=plan.schedule.factor)
        return reference.DenseFromData(n_features, **options)
    if rule.scheduled:
        options["schedule"] = partial(rate_of, plan)
    if not rule.streams:
        if n_rows is None:
            raise ValueError(f"the twin of rule={rule!r} needs n_rows, the rows of the data set")
        options["n_rows"] = n_rows
    return ALGORITHMS[rule.name].reference(n_features, **options)
