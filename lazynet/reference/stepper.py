"""The face of ``lazynet.Stepper`` over the lazy forms of this package, where nothing is compiled.

A notebook that needs only this class runs in every Python, also in a browser.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lazynet.reference.averages import DenseAverage, PlainAverage
from lazynet.reference.clock import PlainClock
from lazynet.reference.dense import DenseReference
from lazynet.reference.losses import LOSSES, NUMBERS
from lazynet.reference.rescaled import PlainRescaled
from lazynet.reference.tables import PlainTables

Rates = Callable[[float], Callable[[int], float]]

#: name -> the rates of the scale eta0, with the defaults of ``lazynet.schedules``
SCHEDULES: dict[str, Rates] = {
    "constant": lambda eta0: lambda t: eta0,
    "inverse_time": lambda eta0: lambda t: eta0 / (1 + t),
    "inverse_sqrt": lambda eta0: lambda t: eta0 / math.sqrt(1 + t),
    "power": lambda eta0: lambda t: eta0 / (1 + t) ** 0.25,
}
#: name -> how weights are stored
FORMS: dict[str, type[Any]] = {
    "clock": PlainClock,
    "tables": PlainTables,
    "rescaled": PlainRescaled,
    "dense": DenseReference,
}
#: the forms that sum the iterates too
AVERAGED_FORMS: dict[str, type[Any]] = {"clock": PlainAverage, "dense": DenseAverage}
RULES = ("fobos", "sgd")
#: A clock whose scale is smaller, or whose shift is larger, begins again, or weights lose digits.
LEAST_SCALE, LARGEST_SHIFT = 2.0**-20, 2.0**20


class Stepper:
    """A linear model that learns one example at a time: ``lazynet.Stepper`` in plain Python.

    It has the rules "fobos" and "sgd", every loss by name, the four engines by name, and
    average=True.  A schedule is a name of ``SCHEDULES`` or a function of the step.  ``weights`` and
    ``averages`` are lists.  The numbers are those of ``lazynet.Stepper``, except for rounding
    (tests/exact/test_reference_stepper.py).

    >>> stepper = Stepper(4, loss="squared_error", l1=0.1, schedule="constant", eta0=0.5)
    >>> stepper.step([0, 2], [1.0, 2.0], target=1.0)
    0.0
    >>> stepper.weights
    [0.45, 0.0, 0.95, 0.0]
    >>> stepper.t, stepper.weight(2), stepper.predict([2], [2.0])
    (1, 0.95, 1.9)

    With an intercept and the mean of the iterates, which are 1 and 1.5:

    >>> stepper = Stepper(1, loss="squared_error", schedule="constant", eta0=0.25,
    ...                   fit_intercept=True, average=True)
    >>> stepper.step([0], [1.0], target=4.0), stepper.step([0], [1.0], target=4.0)
    (0.0, 2.0)
    >>> stepper.weights, stepper.averages
    ([1.5], [1.25])
    >>> stepper.intercept, stepper.average_intercept
    (1.5, 1.25)
    """

    def __init__(
        self,
        n_features: int,
        *,
        loss: str = "log_loss",
        l1: float = 0.0,
        l2: float = 0.0,
        rule: str = "fobos",
        schedule: str | Callable[[int], float] = "power",
        eta0: float | None = None,
        fit_intercept: bool = False,
        engine: str = "clock",
        average: bool = False,
        epsilon: float = 0.1,
    ) -> None:
        _check_choice("loss", loss, LOSSES)
        _check_choice("rule", rule, RULES)
        _check_choice("engine", engine, AVERAGED_FORMS if average else FORMS)
        for name, value in (("l1", l1), ("l2", l2), ("epsilon", epsilon)):
            _check_number(name, value)
        if eta0 is not None:
            _check_number("eta0", eta0, positive=True)
        if not callable(schedule):
            _check_choice("schedule", schedule, SCHEDULES)
            schedule = SCHEDULES[schedule](0.5 if eta0 is None else eta0)
        elif eta0 is not None:
            raise ValueError(f"eta0 must be None beside a function as schedule, got {eta0!r}")
        self.schedule = schedule
        self.largest_rate = 1 / l2 if rule == "sgd" and l2 else math.inf
        self.engine = (AVERAGED_FORMS if average else FORMS)[engine](
            n_features,
            loss=loss,
            l1=l1,
            l2=l2,
            rule=rule,
            schedule=self._checked_rate,
            fit_intercept=fit_intercept,
            epsilon=epsilon,
        )
        self.n_features = n_features
        self.targets = None if loss in NUMBERS else (-1, 1)
        self.has_averages = average

    def step(
        self,
        indices: Iterable[int],
        values: Iterable[float],
        target: float,
        weight: float = 1.0,
    ) -> float:
        """Learn from one example, given by its nonzeros; returns the prediction made before.

        >>> Stepper(2).step([2], [1.0], target=1)
        Traceback (most recent call last):
        ...
        ValueError: indices must be distinct and lie between 0 and 1, got [2]
        """
        indices, values = self._check_example(indices, values)
        if self.targets and target not in self.targets:
            raise ValueError(f"target must be -1 or +1 with this loss, got {target!r}")
        _check_number("weight", weight)
        if not math.isfinite(target):
            raise ValueError(f"target must be finite, got {target!r}")
        prediction = self.engine.step(indices, values, target, weight)
        if _is_worn(self.engine):
            self.engine.rebase()
        return float(prediction)

    def step_row(self, X: Any, row: int, target: float, weight: float = 1.0) -> float:
        """Learn from row ``row`` of a CSR matrix: anything with ``indptr``, ``indices``, ``data``.

        >>> from types import SimpleNamespace
        >>> X = SimpleNamespace(indptr=[0, 0, 1], indices=[1], data=[2.0])
        >>> stepper = Stepper(2, loss="squared_error", schedule="constant", eta0=0.5)
        >>> stepper.step_row(X, 1, target=1.0), stepper.weights
        (0.0, [0.0, 1.0])
        """
        start, stop = X.indptr[row], X.indptr[row + 1]
        return self.step(X.indices[start:stop], X.data[start:stop], target, weight)

    def predict(self, indices: Iterable[int], values: Iterable[float]) -> float:
        """w.x + b at the present weights, at the cost of the nonzeros."""
        indices, values = self._check_example(indices, values)
        products = (self.weight(j) * x for j, x in zip(indices, values, strict=True))
        return sum(products, self.intercept)

    @property
    def t(self) -> int:
        """How many steps were taken."""
        return int(self.engine.t)

    @property
    def weights(self) -> list[float]:
        """All weights as of now, a new list; reading them changes nothing."""
        return list(self.engine.weights)

    def weight(self, j: int) -> float:
        """One weight as of now, at constant cost."""
        if not 0 <= j < self.n_features:
            raise IndexError(f"j must lie between 0 and {self.n_features - 1}, got {j!r}")
        if isinstance(self.engine, DenseReference):
            return float(self.engine.weights[j])
        return float(self.engine.load(j))

    @property
    def intercept(self) -> float:
        """The intercept as of now; 0 without ``fit_intercept``."""
        return float(self.engine.intercept)

    @property
    def averages(self) -> list[float]:
        """The mean of every weight over the iterates; the weights without ``average``."""
        return list(self.engine.averages) if self.has_averages else self.weights

    @property
    def average_intercept(self) -> float:
        """The mean of the intercept over the iterates; the intercept without ``average``."""
        return float(self.engine.average_intercept) if self.has_averages else self.intercept

    def _checked_rate(self, t: int) -> float:
        """The rate of step t; the engine asks for it before it changes anything."""
        rate = self.schedule(t)
        _check_number(f"the rate of step {t}", rate)
        if rate >= self.largest_rate:
            raise ValueError(
                f"eta must be less than {self.largest_rate:g} with rule='sgd', for eta*l2 >= 1 "
                f"would flip or wipe every weight; the schedule gives {rate:g} at step {t}"
            )
        return rate

    def _check_example(
        self, indices: Iterable[int], values: Iterable[float]
    ) -> tuple[list[int], list[float]]:
        # Plain Python numbers, from any array.
        columns = [operator.index(j) for j in indices]
        numbers = [float(x) for x in values]
        if len(columns) != len(numbers):
            raise ValueError(
                f"indices and values must be equally long, got {len(columns)} and {len(numbers)}"
            )
        if len(set(columns)) < len(columns) or not all(0 <= j < self.n_features for j in columns):
            raise ValueError(
                f"indices must be distinct and lie between 0 and {self.n_features - 1}, "
                f"got {columns}"
            )
        if not all(map(math.isfinite, numbers)):
            raise ValueError("values must be finite, got NaN or infinity")
        return columns, numbers


def _is_worn(engine: Any) -> bool:
    """Whether a clock or a scale has gone so far that weights would lose digits."""
    if isinstance(engine, PlainRescaled):
        return bool(engine.c < LEAST_SCALE)
    if isinstance(engine, PlainClock):
        return bool(engine.scale < LEAST_SCALE or engine.shift > LARGEST_SHIFT)
    return False  # the tables begin again by themselves


def _check_number(name: str, value: Any, *, positive: bool = False) -> None:
    if not (value > 0 if positive else value >= 0) or not math.isfinite(value):
        wanted = "positive" if positive else "0 or more"
        raise ValueError(f"{name} must be {wanted} and finite, got {value!r}")


def _check_choice(name: str, value: Any, choices: Sequence[str] | dict[str, Any]) -> None:
    """Refuse what only ``lazynet.Stepper`` has."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, choices))} in lazynet.reference.Stepper, "
            f"got {value!r}; lazynet.Stepper, which is compiled, has more"
        )
