"""One example at a time, and the weights readable at any moment: for notebooks and tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lazynet.averaging import AverageLike, make_averaging
from lazynet.data import check_example
from lazynet.engines import DEFAULT_BUDGET, Wear, check_engine
from lazynet.kernels.examples import Examples
from lazynet.losses import get_loss
from lazynet.params import check_integer
from lazynet.penalties import ElasticNet
from lazynet.rules import Rule, check_own_state, engine_for, make_rule, takes_eta0
from lazynet.schedules import ScheduleLike, make_schedule
from lazynet.state import Transactional, all_or_nothing, at_rest
from lazynet.trainer import Recipe

_FIRST = np.zeros(1, dtype=np.int64)


class Stepper(Transactional):
    """A linear model that learns one example at a time, at a cost in the example's nonzeros.

    Parameters are those of the estimators.  ``engine`` is "clock", "tables" or "dense".  With
    ``average`` the mean of the iterates can be read as well; predictions are of the last one.

    >>> stepper = Stepper(4, loss="squared_error", l1=0.1, schedule="constant", eta0=0.5)
    >>> stepper.step([0, 2], [1.0, 2.0], target=1.0)
    0.0
    >>> stepper.weights
    array([0.45, 0.  , 0.95, 0.  ])
    >>> stepper.t, stepper.weight(2), stepper.predict([2], [2.0])
    (1, 0.95, 1.9)

    With an intercept and the mean of the iterates, which are 1 and 1.5:

    >>> stepper = Stepper(1, loss="squared_error", schedule="constant", eta0=0.25,
    ...                   fit_intercept=True, average=True)
    >>> stepper.step([0], [1.0], target=4.0), stepper.step([0], [1.0], target=4.0)
    (0.0, 2.0)
    >>> stepper.weights, stepper.averages
    (array([1.5]), array([1.25]))
    >>> stepper.intercept, stepper.average_intercept
    (1.5, 1.25)
    """

    _changed_in_place = ("engine",)

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        l1: float = 0.0,
        l2: float = 0.0,
        rule: str = "fobos",
        schedule: ScheduleLike = "power",
        eta0: float = 0.5,
        power_t: float = 0.25,
        step_order: str = "gradient_first",
        fit_intercept: bool = False,
        epsilon: float = 0.1,
        engine: str = "clock",
        table_budget: int = DEFAULT_BUDGET,
        dense_predictions: bool = False,
        average: AverageLike = False,
        gamma: float | None = None,
        rho: float | None = None,
        beta: float | None = None,
        delta: float | None = None,
        period: int | None = None,
        threshold: float | None = None,
        wear: Wear | None = None,
    ) -> None:
        check_integer("n_features", n_features, 0)
        self.recipe = Recipe(
            get_loss(loss),
            ElasticNet(l1, l2),
            make_rule(
                rule,
                eta0=eta0 if takes_eta0(rule) else None,
                gamma=gamma,
                rho=rho,
                beta=beta,
                delta=delta,
                period=period,
                threshold=threshold,
            ),
            make_schedule(schedule, eta0, power_t, l2),
            step_order,
            fit_intercept,
            epsilon,
            make_averaging(average, None),
        )
        averaged = self.recipe.averaging is not None
        if isinstance(self.recipe.rule, Rule):
            check_engine(engine, table_budget, averaged, l1)
        else:
            check_own_state(self.recipe.rule, averaging=averaged, engine=engine)
        self.engine = engine_for(
            self.recipe.rule,
            self.recipe.penalty,
            n_features,
            engine=engine,
            wear=wear,
            table_budget=table_budget,
            dense_predictions=dense_predictions,
            average=averaged,
        )
        self.task = self.engine.wear.task(
            n_features, self.recipe.loss, epsilon, step_order, fit_intercept
        )
        self.n_features = n_features
        self.t = 0
        self._prediction = np.zeros(1)

    @all_or_nothing
    def step(
        self,
        indices: ArrayLike,
        values: ArrayLike,
        target: float,
        weight: float = 1.0,
    ) -> float:
        """Learn from one example, given by its nonzeros; returns the prediction made before.

        ``indices`` strictly increase.  Classification losses take -1 or +1 as the target.
        """
        columns, numbers = check_example(indices, values, self.n_features)
        target, weight = float(target), float(weight)
        if not np.isfinite(target):
            raise ValueError(f"target must be finite, got {target}")
        if self.recipe.loss.margin and target not in (-1.0, 1.0):
            raise ValueError(
                f"target must be -1 or +1 with loss={self.recipe.loss.name!r}, got {target}"
            )
        if not (np.isfinite(weight) and weight >= 0):
            raise ValueError(f"weight must be finite and not negative, got {weight}")
        steps = self.recipe.steps(_FIRST, self.t)
        starts = np.array([0, len(columns)], dtype=columns.dtype)
        examples = Examples(
            numbers, columns, starts, self.n_features, np.array([target]), np.array([weight])
        )
        prediction = self._predict(columns, numbers)
        self._protect([self.engine], columns)
        self.engine.take(examples, steps, self.task, self.t)
        self.engine.check_finite(columns, self.t)
        self.t += 1
        return prediction

    def step_row(self, X: Any, row: int, target: float, weight: float = 1.0) -> float:
        """Learn from row ``row`` of a CSR matrix.

        >>> from scipy import sparse
        >>> X = sparse.csr_matrix([[0.0, 0.0], [0.0, 2.0]])
        >>> stepper = Stepper(2, loss="squared_error", schedule="constant", eta0=0.5)
        >>> stepper.step_row(X, 1, target=1.0), stepper.weights
        (0.0, array([0., 1.]))
        """
        if not 0 <= row < X.shape[0]:
            raise IndexError(f"row must lie between 0 and {X.shape[0] - 1}, got {row}")
        span = slice(X.indptr[row], X.indptr[row + 1])
        return self.step(X.indices[span], X.data[span], target, weight)

    @at_rest
    def predict(self, indices: ArrayLike, values: ArrayLike) -> float:
        """w.x + b at the present weights, at the cost of the nonzeros."""
        return self._predict(*check_example(indices, values, self.n_features))

    def _predict(self, columns: NDArray[Any], numbers: NDArray[Any]) -> float:
        weights = self.engine.weights_at(columns)
        return float(np.dot(weights, numbers.astype(np.float64))) + self.engine.intercept

    @property
    @at_rest
    def weights(self) -> NDArray[np.float64]:
        """All weights as of now, a new array; reading them changes nothing."""
        return self.engine.weights()

    @at_rest
    def weight(self, j: int) -> float:
        """One weight as of now, at constant cost."""
        if not 0 <= j < self.n_features:
            raise IndexError(f"j must lie between 0 and {self.n_features - 1}, got {j}")
        return float(self.engine.weights_at(np.array([j]))[0])

    @property
    @at_rest
    def intercept(self) -> float:
        """The intercept as of now; 0 without ``fit_intercept``."""
        return self.engine.intercept

    @property
    @at_rest
    def averages(self) -> NDArray[np.float64]:
        """The mean of every weight over the iterates that count; the weights while none has."""
        return self.engine.model()

    @property
    @at_rest
    def average_intercept(self) -> float:
        """The mean of the intercept over the same iterates."""
        return self.engine.model_intercept
