"""The dense twin of a rule, with a bound on the distance to an exact implementation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lazynet import reference
from lazynet.engines.catalogue import ALGORITHMS, RuleLike, check_rule
from lazynet.losses import Loss, LossLike, get_loss
from lazynet.penalties import ElasticNet
from lazynet.rules.base import Affine, Rule
from lazynet.schedules import FromData, checked_rates
from lazynet.training.plan import Plan
from lazynet.verify.tolerance import DIVERGED, ErrorBudget, NearbyRun, StateBudget, VisitedRow


class BoundedTwin:
    """The reference of a rule with an error budget, to be stepped beside an implementation.

    >>> twin = BoundedTwin(2, loss="hinge", rule="sgd", l1=0.1, schedule=lambda t: 0.5)
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
        n_features: int,
        *,
        schedule: Callable[[int], float],
        loss: LossLike | Loss = "log_loss",
        rule: RuleLike = "fobos",
        l1: float = 0.0,
        l2: float = 0.0,
        fit_intercept: bool = False,
        positive: bool = False,
        largest_cushion: float = math.inf,
        n_rows: int | None = None,
    ) -> None:
        loss = self.loss = get_loss(loss)
        penalty = ElasticNet(l1, l2, positive)
        chosen = check_rule("rule", rule)
        if not ALGORITHMS[chosen.name].exact:
            raise ValueError(f"rule must be exact, got {chosen!r}, which is not")
        # The twin itself computes rates that follow the rows.
        rates_from_data = chosen.scheduled and isinstance(schedule, FromData)
        self.scheduled, self.schedule = chosen.scheduled and not rates_from_data, schedule
        self.streams = chosen.streams
        make = partial(
            new_reference,
            chosen,
            n_features,
            loss=self.loss,
            penalty=penalty,
            schedule=schedule,
            fit_intercept=fit_intercept,
            n_rows=n_rows,
        )
        self.dense = make()
        self.nearby: NearbyRun | None = None
        self.budget: ErrorBudget | StateBudget
        if rates_from_data or not chosen.is_affine:
            self.budget = StateBudget(loss, getattr(chosen, "threshold", math.inf))
            self.nearby = NearbyRun(make())
        else:
            assert isinstance(chosen, Affine)
            self.budget = ErrorBudget(loss, chosen, penalty, fit_intercept, largest_cushion)

    @classmethod
    def of_plan(
        cls, plan: Plan, n_features: int, largest_cushion: float, n_rows: int | None = None
    ) -> Self:
        """The twin of a model that is trained by ``plan``.

        >>> from lazynet import Stepper
        >>> twin = BoundedTwin.of_plan(Stepper(2, rule="rda").plan, 2, largest_cushion=1024.0)
        >>> twin.weights
        array([0., 0.])
        """
        return cls(
            n_features,
            schedule=plan.schedule
            if plan.rates_from_data
            else lambda t: float(checked_rates(plan.schedule, t, t + 1)[0]),
            loss=plan.loss,
            rule=plan.rule,
            l1=plan.penalty.l1,
            l2=plan.penalty.l2,
            fit_intercept=plan.fit_intercept,
            positive=plan.penalty.positive,
            largest_cushion=largest_cushion,
            n_rows=n_rows,
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
        numbered = {} if self.streams else {"row": row}
        dense = self.dense
        # The rate, if a schedule gives it.
        eta = self.schedule(dense.t) if self.scheduled else 1.0
        before_step = dense.weights
        touched = [before_step[j] for j in indices]
        prediction = float(dense.step(indices, values, target, weight, **numbered))
        slope = dense.slope(prediction, target, self.loss.epsilon)
        visited = VisitedRow(values, prediction, slope, target, weight, touched)
        self.budget.after_step(eta, visited, weights=dense.weights, intercept=dense.intercept)
        example = indices, values, target, weight
        if (
            self.nearby is not None
            and self.comparable
            and self.nearby.amplifies(example, dense.weights, **numbered)
        ):
            self.budget.end(DIVERGED)
        return prediction

    def divide_rates(self, divisor: float) -> None:
        """Divide the rates of the weights that follow the data, from the next step on.

        >>> twin = BoundedTwin(1, rule="adagrad", schedule=lambda t: 1.0)
        >>> twin.divide_rates(2.0)
        >>> twin.dense.alpha
        4.0
        """
        self.dense.divide_rates(divisor)
        if self.nearby is not None:
            self.nearby.reference.divide_rates(divisor)

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
        return self.budget.comparable

    def distance(self, weights: NDArray[np.float64], intercept: float) -> float:
        """The Euclidean distance of these weights and this intercept from the twin's."""
        with np.errstate(over="ignore"):
            gap = float(np.linalg.norm(np.asarray(weights, dtype=np.float64) - self.weights))
        return float(np.hypot(gap, intercept - self.intercept))


def new_reference(
    rule: Rule,
    n_features: int,
    *,
    loss: Loss,
    penalty: ElasticNet,
    schedule: Callable[[int], float],
    fit_intercept: bool,
    n_rows: int | None = None,
) -> Any:
    """The plain Python twin of a rule, all weights zero.

    ``n_rows`` is the number of rows of the data set, for rules that do not learn from a stream.

    >>> from lazynet import RDA
    >>> twin = new_reference(RDA(gamma=2.0), 1, loss=get_loss("hinge"), penalty=ElasticNet(),
    ...                      schedule=lambda t: 0.1, fit_intercept=False)
    >>> _ = twin.step([0], [1.0], 1.0)
    >>> twin.weights
    [0.5]
    """
    options = dict(
        loss=loss.name,
        l1=penalty.l1,
        l2=penalty.l2,
        fit_intercept=fit_intercept,
        epsilon=loss.epsilon,
        **rule.twin_options(loss),
    )
    if penalty.positive:
        options["positive"] = True
    if rule.scheduled and isinstance(schedule, FromData):
        largest = rule.largest_rate(penalty) / 2
        options |= dict(rule=rule.name, largest_rate=largest, factor=schedule.factor)
        return reference.DenseFromData(n_features, **options)
    if rule.scheduled:
        options["schedule"] = schedule
    if not rule.streams:
        if n_rows is None or None in rule.get_params(deep=False).values():
            raise ValueError(
                f"the twin of rule={rule!r} needs n_rows, the number of rows of the data set, and "
                f"the rate: write rule={rule.rate}"
            )
        options["n_rows"] = n_rows
    return ALGORITHMS[rule.name].reference(n_features, **options)
