"""A model that learns one example at a time and can be read after each: for notebooks and tests."""

from __future__ import annotations

import copy
import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lazynet.data.arrays import errors_about, plain
from lazynet.engines.base import SweepLimitsLike
from lazynet.engines.catalogue import RULE_OBJECTS, RuleLike, check_rule, new_engine
from lazynet.engines.undo import UndoLog, all_or_nothing
from lazynet.kernels.examples import Examples
from lazynet.losses import AnyLoss
from lazynet.parameters import (
    MOST_FEATURES,
    Flag,
    Integer,
    Kind,
    NonNegative,
    as_array,
    check_array,
    check_integer,
    check_number,
    settle,
    shown,
)
from lazynet.penalties import ElasticNet
from lazynet.schedules import AUTO, Power
from lazynet.training.plan import Plan

_FIRST = np.zeros(1, dtype=np.int64)
# The scale of the rates if neither ``schedule`` nor ``eta0`` gives one.
_DEFAULT_ETA0 = 0.5


class Stepper:
    """A linear model that learns one example at a time; a step costs the example's nonzeros.

    The parameters mean the same as in ``LazyNetClassifier``.  The schedule "auto" is "power", and
    0.5 is the scale of a schedule without a scale.  If the rule has an average, ``averages`` is the
    mean of the weights; predictions use the last weights.

    >>> from lazynet import FoBoS
    >>> stepper = Stepper(4, loss="squared_error", l1=0.1, rule=FoBoS("constant", eta0=0.5))
    >>> stepper.step([0, 2], [1.0, 2.0], target=1.0)
    0.0
    >>> stepper.weights
    array([0.45, 0.  , 0.95, 0.  ])
    >>> stepper.t, stepper.weight(2), stepper.predict([2], [2.0])
    (1, 0.95, 1.9)

    With an intercept and the mean of the iterates, which are 1 and 1.5:

    >>> rule = FoBoS("constant", eta0=0.25, average=True)
    >>> stepper = Stepper(1, loss="squared_error", rule=rule, fit_intercept=True)
    >>> stepper.step([0], [1.0], target=4.0), stepper.step([0], [1.0], target=4.0)
    (0.0, 2.0)
    >>> stepper.weights, stepper.averages
    (array([1.5]), array([1.25]))
    >>> stepper.intercept, stepper.average_intercept
    (1.5, 1.25)
    """

    #: the changes that the present call has made in place
    _undo: UndoLog

    def __init__(
        self,
        n_features: Annotated[int, Integer(least=0, most=MOST_FEATURES)],
        *,
        loss: AnyLoss = "log_loss",
        l1: NonNegative = 0.0,
        l2: NonNegative = 0.0,
        rule: Annotated[RuleLike, Kind(check_rule, objects=RULE_OBJECTS)] = "fobos",
        fit_intercept: Flag = False,
        limits: SweepLimitsLike | None = None,
    ) -> None:
        # Here locals() holds only the arguments: settle them by name.
        p = settle(Stepper, locals())
        p.rule.check_streams("Stepper")
        p.rule.check(p.l2, p.loss)
        penalty = ElasticNet(p.l1, p.l2, p.rule.positive)
        schedule = Power().settled() if p.rule.schedule == AUTO else p.rule.schedule
        eta0 = _DEFAULT_ETA0 if p.rule.eta0 is None else p.rule.eta0
        average, intercept = p.rule.average, p.fit_intercept
        self.plan = Plan(p.loss, penalty, p.rule, schedule, average, intercept, eta0=eta0)
        kind, constants = self.plan.engine_kind, self.plan.constants
        self.engine = new_engine(kind, p.n_features, constants=constants)
        if p.limits is not None:
            self.engine.limits = p.limits
        self.task = self.plan.task(self.engine)
        self.n_features: int = p.n_features
        self.t = 0

    # A copy learns alone.
    __copy__ = copy.deepcopy

    @all_or_nothing
    def step(
        self,
        indices: ArrayLike,
        values: ArrayLike,
        target: float,
        importance: float = 1.0,
    ) -> float:
        """Train on one example, given by its nonzeros; returns the prediction made before.

        ``indices`` are distinct, in any order.  Classification losses take -1 or +1 as the target.
        ``importance`` is a factor of the loss of this example.
        """
        columns, numbers = check_example(indices, values, self.n_features)
        target = check_number("target", target)
        importance = check_number("importance", importance, least=0)
        if self.plan.loss.margin and target not in (-1.0, 1.0):
            raise ValueError(
                f"target must be -1 or +1 with loss={self.plan.loss.name!r}, got {target}"
            )
        steps = self.plan.steps(_FIRST, self.t)
        starts = np.array([0, len(columns)], dtype=columns.dtype)
        examples = Examples(
            numbers, columns, starts, self.n_features, np.array([target]), np.array([importance]),
            self.plan.size_kind,
        )  # fmt: skip
        prediction = self._predict(columns, numbers)
        self._undo.before([self.engine], columns)
        self.engine.take(examples, steps, self.task, self.t)
        self.engine.check_finite(columns, self.t)
        self.t += 1
        return prediction

    def step_row(self, X: Any, row: int, target: float, importance: float = 1.0) -> float:
        """Learn from row ``row`` of a CSR matrix.

        >>> from lazynet import FoBoS
        >>> from scipy import sparse
        >>> X = sparse.csr_matrix([[0.0, 0.0], [0.0, 2.0]])
        >>> stepper = Stepper(2, loss="squared_error", rule=FoBoS("constant", eta0=0.5))
        >>> stepper.step_row(X, 1, target=1.0), stepper.weights
        (0.0, array([0., 1.]))
        """
        row = _check_position("row", row, X.shape[0])
        if getattr(X, "format", None) != "csr":
            raise TypeError(f"X must be a CSR matrix, got {type(X).__name__}")
        with errors_about("X"):
            start, stop = int(X.indptr[row]), int(X.indptr[row + 1])
            if not 0 <= start <= stop <= min(len(X.indices), len(X.data)):
                raise ValueError(f"X.indptr must rise from 0 to {len(X.indices)}, got {start}")
            example = X.indices[start:stop], X.data[start:stop]
        return self.step(*example, target, importance)

    def predict(self, indices: ArrayLike, values: ArrayLike) -> float:
        """w.x + b at the present weights, at the cost of the nonzeros."""
        prediction = self._predict(*check_example(indices, values, self.n_features))
        if not math.isfinite(prediction):
            raise FloatingPointError(
                "the prediction of this example is not a finite number. Scale values"
            )
        return prediction

    def _predict(self, columns: NDArray[Any], numbers: NDArray[Any]) -> float:
        weights = self.engine.weights(columns)
        # A prediction that overflows is infinite. ``step`` and ``predict`` refuse it.
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.dot(weights, numbers.astype(np.float64))) + self.engine.intercept

    @property
    def weights(self) -> NDArray[np.float64]:
        """All weights as of now, a new array; reading them changes nothing."""
        return self.engine.weights()

    def weight(self, j: int) -> float:
        """One weight as of now, at constant cost."""
        j = _check_position("j", j, self.n_features)
        return float(self.engine.weights(np.array([j]))[0])

    @property
    def intercept(self) -> float:
        """The intercept as of now; 0 without ``fit_intercept``."""
        return self.engine.intercept

    @property
    def averages(self) -> NDArray[np.float64]:
        """The mean of every weight; the weights if there is no average yet."""
        return self.engine.coefficients()[0]

    @property
    def average_intercept(self) -> float:
        """The mean of the intercept; the intercept where ``averages`` are the weights."""
        return float(self.engine.intercepts()[0])


def _check_position(name: str, value: Any, size: int) -> int:
    """``value`` as the number of a row or column, from 0 to ``size`` - 1; else IndexError."""
    if not 0 <= check_integer(name, value, -math.inf, math.inf) < size:
        raise IndexError(f"{name} must lie between 0 and {size - 1}, got {shown(value)}")
    return int(value)


def check_example(
    indices: ArrayLike, values: ArrayLike, n_features: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The nonzeros of one example as arrays that a kernel can read."""
    columns = as_array("indices", "must be integers", indices).copy()
    numbers = as_array("values", "must hold real numbers", values)
    if numbers.dtype not in (np.float32, np.float64):
        numbers = check_array("values", "must hold real numbers", numbers, masks=True)
    if columns.size == 0:
        columns = columns.astype(np.int64)
    if columns.dtype.kind not in "iu":
        raise TypeError(f"indices must be integers, got {columns.dtype}")
    if columns.ndim != 1 or columns.shape != numbers.shape:
        raise ValueError(
            f"indices and values must be one-dimensional and equally long, "
            f"got shapes {columns.shape} and {numbers.shape}"
        )
    if columns.dtype not in (np.int32, np.int64):
        columns = columns.astype(np.int64)
    if columns.size:
        if columns.min() < 0 or columns.max() >= n_features:
            raise ValueError(
                f"indices must lie between 0 and {n_features - 1}, "
                f"got {columns.min()} to {columns.max()}"
            )
        # The kernels take distinct columns in any order; columns that increase are distinct.
        if (np.diff(columns) <= 0).any() and len(np.unique(columns)) < len(columns):
            raise ValueError("indices must be distinct: sum the values of repeated ones")
        if not np.isfinite(numbers).all():
            raise ValueError("values must be finite, got NaN or infinity")
    return (
        plain(columns, columns.dtype.newbyteorder("=")),
        plain(numbers, numbers.dtype.newbyteorder("=")),
    )
