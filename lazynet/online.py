"""Engines of the rules that are not one shrink for all weights: each has a state of its own."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lazynet.engines import Engine, Wear
from lazynet.kernels import adagrad as adagrad_kernel
from lazynet.kernels import carpenter as carpenter_kernel
from lazynet.kernels import ftrl as ftrl_kernel
from lazynet.kernels import rda as rda_kernel
from lazynet.kernels import truncated as truncated_kernel
from lazynet.kernels.examples import Examples, Steps, Task


class OwnStateEngine(Engine):
    """Weights that are computed from a state when they are asked for."""

    touches_only_nonzeros = True
    #: the strengths and scalars of the rule
    parameters: Any

    def __init__(self, n_features: int, parameters: Any, wear: Wear | None = None) -> None:
        super().__init__(n_features, wear)
        self.parameters = parameters

    def _read(self, which: Any, out: NDArray[np.float64]) -> None:
        """The weights ``which`` as of now, an index of arrays."""
        raise NotImplementedError

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        self._read(slice(None), out)
        return out

    def weights_at(self, indices: NDArray[Any]) -> NDArray[np.float64]:
        current = np.empty(len(indices))
        self._read(indices, current)
        return current

    def _sweep(self) -> None:
        """Nothing is ever behind."""

    def retune(self, parameters: Any) -> None:
        """Go on with other strengths and scalars."""
        self.parameters = parameters


class LeadingEngine(OwnStateEngine):
    """Weights that are a function of all gradients so far, of the penalty, and of the rates."""

    def retune(self, parameters: Any) -> None:
        """Go on with another penalty, which acts on all gradients, and with other rates.

        New rates concern the steps to come: the weights that the new penalty gives with the old
        rates are carried over.
        """
        self.parameters = self.parameters._replace(l1=parameters.l1, l2=parameters.l2)
        if parameters == self.parameters:
            return
        self._sweep_undoably()
        weights, intercept = self.weights(), self.intercept
        self.parameters = parameters
        self._restate(weights, intercept)

    def _restate(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Change the sums so that they give these weights under the present parameters."""
        raise NotImplementedError


class LaggingEngine(OwnStateEngine):
    """Weights that miss shrinks while nothing touches them, and catch up when they are read."""

    def retune(self, parameters: Any) -> None:
        """Go on with other strengths: what has been missed is had with the old ones."""
        if parameters != self.parameters:
            self._sweep_undoably()
            self.parameters = parameters


class AveragingParameters(NamedTuple):
    """Of regularised dual averaging."""

    l1: float
    l2: float
    gamma: float
    rho: float


class RDAEngine(LeadingEngine):
    """Regularised dual averaging: the sum of the gradients, and how many there were.

    >>> engine = RDAEngine(2, AveragingParameters(0.1, 0.0, 1.0, 0.0))
    >>> engine.load(np.array([1.0, 0.0]), 0.5)
    >>> engine.weights(), engine.intercept
    (array([1., 0.]), 0.5)
    """

    name = "rda"
    parameters: AveragingParameters

    def __init__(
        self, n_features: int, parameters: AveragingParameters, wear: Wear | None = None
    ) -> None:
        super().__init__(n_features, parameters, wear)
        self.sums = np.zeros(n_features)
        self.fields = np.zeros(rda_kernel.RDA_FIELDS)

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return rda_kernel.run(
            examples, steps, task, *self.parameters, self.sums, self.fields, first
        )

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.sums]

    def scalars(self) -> Any:
        return self.fields.copy(), self.parameters

    def set_scalars(self, scalars: Any) -> None:
        self.fields[:], self.parameters = scalars

    def _read(self, which: Any, out: NDArray[np.float64]) -> None:
        rda_kernel.read(self.sums[which], self.fields, *self.parameters, out)

    @property
    def intercept(self) -> float:
        return rda_kernel.intercept(self.fields, self.parameters.gamma)

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start as if one gradient had been seen, the one that gives these weights."""
        self.sums[:] = 0.0
        self.fields[rda_kernel.SEEN_FIELD] = float(bool(intercept or np.any(weights)))
        self._restate(weights, intercept)

    def _restate(self, weights: NDArray[np.float64], intercept: float) -> None:
        l1, l2, gamma, rho = self.parameters
        seen = self.fields[rda_kernel.SEEN_FIELD]
        strength, shift = gamma * np.sqrt(seen), seen * l1 + gamma * rho * np.sqrt(seen)
        alive = weights != 0.0
        np.clip(self.sums, -shift, shift, out=self.sums)
        moved = weights[alive] * (seen * l2 + strength) + np.sign(weights[alive]) * shift
        self.sums[alive] = moved
        self.fields[rda_kernel.INTERCEPT_SUM_FIELD] = intercept * strength


class LeaderParameters(NamedTuple):
    """Of FTRL-Proximal."""

    l1: float
    l2: float
    alpha: float
    beta: float


# With beta = 0 an intercept needs a sum of squared gradients: its root is this share of alpha.
_SMALL_GRADIENT = 2.0**-30


class FTRLEngine(LeadingEngine):
    """FTRL-Proximal: two numbers per weight, from which it is computed.

    >>> engine = FTRLEngine(2, LeaderParameters(0.1, 0.0, 0.1, 1.0))
    >>> engine.load(np.array([1.0, 0.0]), 0.5)
    >>> engine.weights().round(12) + 0.0, round(engine.intercept, 12)
    (array([1., 0.]), 0.5)
    """

    name = "ftrl"
    parameters: LeaderParameters

    def __init__(
        self, n_features: int, parameters: LeaderParameters, wear: Wear | None = None
    ) -> None:
        super().__init__(n_features, parameters, wear)
        self.cells = np.zeros((n_features, 2))
        self.intercept_cell = np.zeros(2)

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return ftrl_kernel.run(
            examples, steps, task, *self.parameters, self.cells, self.intercept_cell, first
        )

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.cells]

    def scalars(self) -> Any:
        return self.intercept_cell.copy(), self.parameters

    def set_scalars(self, scalars: Any) -> None:
        self.intercept_cell[:], self.parameters = scalars

    def _read(self, which: Any, out: NDArray[np.float64]) -> None:
        ftrl_kernel.read(self.cells[which], *self.parameters, out)

    @property
    def intercept(self) -> float:
        free = self.parameters._replace(l1=0.0, l2=0.0)
        current = np.empty(1)
        ftrl_kernel.read(self.intercept_cell.reshape(1, 2), *free, current)
        return float(current[0])

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start with these weights and no gradients seen."""
        self.cells[:] = 0.0
        self.intercept_cell[:] = 0.0
        self._restate(weights, intercept)

    def _restate(self, weights: NDArray[np.float64], intercept: float) -> None:
        l1, l2, alpha, beta = self.parameters
        alive = weights != 0.0
        damping = (beta + self.cells[alive, 1]) / alpha + l2
        self.cells[alive, 0] = -damping * weights[alive] - l1 * np.sign(weights[alive])
        if not beta and not self.intercept_cell[1] and intercept:
            # Without beta it takes a gradient, however small, to have an intercept.
            self.intercept_cell[1] = _SMALL_GRADIENT * alpha
        self.intercept_cell[0] = -(beta + self.intercept_cell[1]) / alpha * intercept


class TruncatedParameters(NamedTuple):
    """Of the truncated gradient with a threshold; gravity comes with the steps."""

    threshold: float


class StampedEngine(LaggingEngine):
    """A weight and a stamp of when it was stored, and some scalars, the intercept among them."""

    #: how many scalars, and which of them is the intercept
    n_fields: ClassVar[int]
    intercept_field: ClassVar[int]

    def __init__(self, n_features: int, parameters: Any, wear: Wear | None = None) -> None:
        super().__init__(n_features, parameters, wear)
        self.cells = np.zeros((n_features, 2))
        self.fields = np.zeros(self.n_fields)

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.cells]

    def scalars(self) -> Any:
        return self.fields.copy(), self.parameters

    def set_scalars(self, scalars: Any) -> None:
        self.fields[:], self.parameters = scalars

    @property
    def intercept(self) -> float:
        return float(self.fields[self.intercept_field])

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        self.cells[:, 0], self.cells[:, 1] = weights, 0.0
        self.fields[:] = 0.0
        self.fields[self.intercept_field] = intercept


class TruncatedEngine(StampedEngine):
    """Truncated gradient with a threshold: a stamp per weight, of gravity's sum when it was stored.

    >>> engine = TruncatedEngine(2, TruncatedParameters(0.5))
    >>> engine.weights()
    array([0., 0.])
    """

    name = "truncated_gradient"
    n_fields = truncated_kernel.TRUNCATED_FIELDS
    intercept_field = truncated_kernel.INTERCEPT_FIELD
    parameters: TruncatedParameters

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return truncated_kernel.run(
            examples, steps, task, self.parameters.threshold, self.cells, self.fields, first
        )

    def _sweep(self) -> None:
        """Bring every weight current, and let gravity be summed anew."""
        self.load(self.weights(), self.intercept)

    def _read(self, which: Any, out: NDArray[np.float64]) -> None:
        truncated_kernel.read(self.cells[which], self.fields, self.parameters.threshold, out)


class InexactParameters(NamedTuple):
    """Of Carpenter's scheme."""

    l1: float
    l2: float
    period: int


class CarpenterEngine(StampedEngine):
    """INEXACT for l2 > 0: Carpenter's scheme, a weight and when it was seen.

    >>> engine = CarpenterEngine(2, InexactParameters(0.1, 0.0, 0))
    >>> engine.weights()
    array([0., 0.])
    """

    name = "carpenter_inexact"
    n_fields = carpenter_kernel.CARPENTER_FIELDS
    intercept_field = carpenter_kernel.INTERCEPT_FIELD
    parameters: InexactParameters

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return carpenter_kernel.run(
            examples, steps, task, *self.parameters, self.cells, self.fields, first
        )

    def _sweep(self) -> None:
        """Bring every weight current."""
        self.cells[:, 0] = self.weights()
        self.cells[:, 1] = self.fields[carpenter_kernel.STEPS_FIELD]

    def _read(self, which: Any, out: NDArray[np.float64]) -> None:
        l1, l2, _ = self.parameters
        carpenter_kernel.read(self.cells[which], self.fields, l1, l2, out)


def aligned_zeros(rows: int, columns: int) -> NDArray[np.float64]:
    """Zeros whose rows begin where a cache line does, as often as they can."""
    line = 64 // 8
    room = np.zeros(rows * columns + line)
    start = -(room.ctypes.data // 8) % line
    return room[start : start + rows * columns].reshape(rows, columns)


class AdaptiveParameters(NamedTuple):
    """Of AdaGrad."""

    l1: float
    l2: float
    alpha: float
    delta: float


class AdaGradEngine(LaggingEngine):
    """AdaGrad with a lazy elastic net: weight, root of its squared gradients, what it loses in a
    shrink, and when it was stored.

    >>> engine = AdaGradEngine(2, AdaptiveParameters(0.1, 0.0, 0.1, 1e-6))
    >>> engine.weights()
    array([0., 0.])
    """

    name = "adagrad"
    parameters: AdaptiveParameters

    def __init__(
        self, n_features: int, parameters: AdaptiveParameters, wear: Wear | None = None
    ) -> None:
        super().__init__(n_features, parameters, wear)
        self.cells = aligned_zeros(n_features, 4)
        self.intercept_cell = np.zeros(2)
        self.now = 0

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        status, first, self.now = adagrad_kernel.run(
            examples,
            steps,
            task,
            *self.parameters,
            self.cells,
            self.intercept_cell,
            self.now,
            first,
        )
        return status, first

    def _sweep(self) -> None:
        """Bring every weight current, as new penalties require."""
        self.cells[:, 0] = self.weights()
        self.cells[:, 3] = self.now

    def _is_finite_at(self, indices: NDArray[Any]) -> bool:
        return bool(np.isfinite(self.cells[indices]).all())

    def largest_unseen(self) -> float:
        """The largest magnitude among the weights that have seen no gradient; 0 without any."""
        unseen = self.weights()[self.cells[:, 1] == 0.0]
        return float(np.abs(unseen).max(initial=0.0))

    def retune(self, parameters: AdaptiveParameters) -> None:
        """Also recompute what each weight loses in one shrink."""
        changed = parameters != self.parameters
        super().retune(parameters)
        if changed:
            adagrad_kernel.set_decays(self.cells, *self.parameters)

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.cells]

    def scalars(self) -> Any:
        return self.intercept_cell.copy(), self.now, self.parameters

    def set_scalars(self, scalars: Any) -> None:
        self.intercept_cell[:], self.now, self.parameters = scalars

    def _read(self, which: Any, out: NDArray[np.float64]) -> None:
        adagrad_kernel.read(self.cells[which], self.now, *self.parameters, out)

    @property
    def intercept(self) -> float:
        return float(self.intercept_cell[0])

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start with these weights and no gradients seen."""
        self.cells[:, 0], self.cells[:, 1], self.cells[:, 3] = weights, 0.0, 0.0
        self.now = 0
        adagrad_kernel.set_decays(self.cells, *self.parameters)
        self.intercept_cell[:] = intercept, 0.0
