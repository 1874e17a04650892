"""Engines of one output that keep a cell of numbers for each weight.

The file of a rule in kernels/rules/ describes its cell and its constants.  A cell holds a weight
that may have missed shrinks (``LaggingWeights``), or sums of gradients from which the weight is
computed (``GradientSums``).
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lazynet.engines.base import ALL, Engine, Floats, take_until_done
from lazynet.kernels import cells as kernel
from lazynet.kernels.examples import Examples
from lazynet.kernels.steps import Steps, Task


class CellEngine(Engine):
    """An engine that computes each weight from its cell, the fields and the constants.

    ``fields`` are the scalars that change with every step, and ``constants`` the numbers of the
    rule; the kernel names both.  ``memory`` is a further array of some kinds (kernels/cells.pyx).
    """

    #: the name of the rule in the table of kernels/any_rule.pxd
    kind: ClassVar[str]
    _others: ClassVar[tuple[str, ...]] = ("fields", "constants")
    memory: Floats | None = None

    def __init__(self, n_features: int, constants: ArrayLike | None = None) -> None:
        self.n_features = n_features
        self.constants = np.zeros(len(kernel.constants(self.kind)))
        if constants is not None:
            self.constants[:] = constants
        self.cells = zeros_on_cache_lines(n_features, kernel.numbers(self.kind), np.float64)
        self.fields = np.zeros(len(kernel.fields(self.kind)))

    def field(self, name: str) -> float:
        """The field called ``name``."""
        return float(self.fields[kernel.fields(self.kind).index(name)])

    def set_field(self, name: str, value: float) -> None:
        """Set the field called ``name``."""
        self.fields[kernel.fields(self.kind).index(name)] = value

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        run = partial(
            kernel.run, self.kind, examples, steps, task, self.constants, self.cells, self.fields,
            memory=self.memory, average=self.average,
        )  # fmt: skip
        take_until_done(
            run, len(steps), t, examples,
            row_of=steps.row, remedy=self.remedy, sweep=self.sweep,
        )  # fmt: skip

    def coefficients(self, which: Any = ALL, *, last: bool = False) -> Floats:
        cells = self.cells[which]
        weights = np.empty((1, len(cells)))
        kernel.read(self.kind, cells, self.fields, self.constants, weights[0], self.memory)
        return weights

    def intercepts(self, *, last: bool = False) -> Floats:
        return np.array([kernel.intercept(self.kind, self.fields, self.constants)])

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        self.cells[:, 0], self.cells[:, 1:] = coefficients[0], 0.0
        self.fields[:] = 0.0
        self.set_field("intercept", intercepts[0])


def zeros_on_cache_lines(rows: int, columns: int, dtype: Any) -> NDArray[Any]:
    """An array of zeros that starts at the start of a cache line of 64 bytes.

    So a row of 32 or 64 bytes never extends over two cache lines.
    """
    size, line = rows * columns, 64 // np.dtype(dtype).itemsize
    room = np.zeros(size + line, dtype=dtype)
    start = -(room.ctypes.data // room.itemsize) % line
    return room[start : start + size].reshape(rows, columns)


# --- weights that miss shrinks -------------------------------------------------------------------


class LaggingWeights(CellEngine):
    """An engine whose weights miss shrinks until an example touches them or they are read.

    The first number of a cell is the weight; the last number says when the weight was stored.
    """

    def set_constants(self, constants: tuple[float, ...]) -> None:
        """Apply the missed shrinks with the old constants, then switch."""
        if not np.array_equal(constants, self.constants):
            self.sweep()
            self.constants[:] = constants

    def _sweep(self) -> None:
        """Bring every weight current; the last number of a cell becomes the number of steps."""
        self.cells[:, 0], self.cells[:, -1] = self.weights(), self.field("steps")


class CarpenterEngine(LaggingWeights):
    """INEXACT for l2 > 0: a cell is {w, psi}, psi the steps taken when w was brought current."""

    name = "carpenter_inexact"
    kind = "carpenter"


class TruncatedGradientEngine(LaggingWeights):
    """A cell is {w, stamp}: the weight, and the sum of gravity when the weight was stored."""

    name = kind = "truncated_gradient"

    def _sweep(self) -> None:
        """Bring every weight current, and set the sum of gravity to 0."""
        self.set_coefficients(self.coefficients(), self.intercepts())


class SAGAEngine(LaggingWeights):
    """A cell is {w, m, psi}: the weight, the mean of its remembered gradients over all rows, and
    the steps taken when the weight was stored.

    ``memory`` has an entry for every row of the dataset: the importance times the slope of the
    loss when the row was visited last, 0 before the first visit.  It is empty before the first
    step.
    """

    name = kind = "saga"
    memory: Floats
    _others = ("fields", "constants", "memory")
    _any_length = "memory"

    def __init__(self, n_features: int, constants: ArrayLike | None = None) -> None:
        super().__init__(n_features, constants)
        self.memory = np.zeros(0)

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        super().set_coefficients(coefficients, intercepts)
        self.memory = np.zeros(0)

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        """Take all steps of the chunk; ``examples`` are the same dataset in every call."""
        n_rows, n_remembered = examples.n_rows, len(self.memory)
        if not self.field("steps") and n_remembered != n_rows:
            self.memory = np.zeros(n_rows)
        elif n_remembered != n_rows:
            raise ValueError(
                f"examples must have {n_remembered} rows, as in the steps before, got {n_rows}"
            )
        super().take(examples, steps, task, t)


# The places of two constants and a field of AdaGrad.
_ALPHA, FOLLOWS = (kernel.constants("adagrad").index(name) for name in ("alpha", "follows"))
_MEAN = kernel.fields("adagrad").index("mean")
# A warning is due if one step takes at least this share of a weight that no row touches.
_NOTICEABLE = 0.01


class AdaGradEngine(LaggingWeights):
    """A cell is {w, s, c, psi}: the weight, the root of its squared gradients, its decay c in a
    shrink, and the steps taken when it was stored.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.adagrad import AdaGrad
    >>> engine = AdaGradEngine(2, constants=AdaGrad().constants(ElasticNet(l1=0.1)))
    >>> engine.coefficients()
    array([[0., 0.]])
    """

    name = kind = "adagrad"
    _cells_show_overflow = True

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        """Start with these weights and no gradients seen."""
        super().set_coefficients(coefficients, intercepts)
        kernel.retune(self.kind, self.cells, self.fields, self.constants)

    def set_constants(self, constants: tuple[float, ...]) -> None:
        """Apply the missed shrinks with the old constants, then switch.

        If rates begin to follow the data, the sizes of earlier rows do not count.
        """
        if np.array_equal(constants, self.constants):
            return
        self.sweep()
        if constants[FOLLOWS] != self.constants[FOLLOWS]:
            for name in ("rows", "sum_of_sizes", "mean", "waiting"):
                self.set_field(name, 0.0)
        self.constants[:] = constants
        kernel.retune(self.kind, self.cells, self.fields, self.constants)

    def _sweep(self) -> None:
        """Bring every weight current, and recompute alpha if this is due."""
        kernel.sweep(self.kind, self.cells, self.fields, self.constants)

    @property
    def present_rate(self) -> float | None:
        """The present alpha if it follows the data; None if the user gives it."""
        if not self.constants[FOLLOWS]:
            return None
        return float(self.constants[_ALPHA] / (self.fields[_MEAN] or 1.0))

    def warning_about(self, constants: tuple[float, ...]) -> str | None:
        """A warning if the next step would remove large weights that AdaGrad did not train.

        A coordinate without a gradient so far has the rate alpha / delta.  Therefore one step
        shrinks a weight from another rule by alpha / delta * l1, and divides it by
        1 + alpha / delta * l2.  The weights are examined only if another rule trained them, or if
        the constants have changed.
        """
        l1, l2, alpha, delta, follows, _ = constants
        if not (l1 or l2):
            return None
        if self.field("steps") and np.array_equal(constants, self.constants):
            return None
        unseen = self.weights()[self.cells[:, 1] == 0.0]
        largest = float(np.abs(unseen).max(initial=0.0))
        mean = (float(self.fields[_MEAN]) or 1.0) if follows else 1.0
        rate = alpha / mean / (delta * mean)
        taken = rate * l1 if l1 else 0.0
        left = max(0.0, largest - taken) / (1.0 + (rate * l2 if l2 else 0.0))
        if left >= (1.0 - _NOTICEABLE) * largest:
            return None
        strengths = [f"{name}=0" for name, strength in (("l1", l1), ("l2", l2)) if strength]
        return (
            f"rule='adagrad' continues with weights that it has not trained, and shrinks them "
            f"fast: the rate of a coordinate without a gradient so far is alpha / delta = "
            f"{rate:.3g}, so that one step with l1={l1:g} and l2={l2:g} shrinks the largest weight "
            f"from {largest:.3g} to {left:.3g} unless a row touches it. Raise delta, or set "
            f"{' and '.join(strengths)}."
        )


# --- sums of gradients ---------------------------------------------------------------------------

# Values of the field `loaded`: the weights were loaded, and no step has trained them yet
# (NOT_LEARNED in kernels/from_data.pxd); the sums were changed for other constants.
_NOT_LEARNED, _RESTATED = -1.0, -2.0
# With beta = 0 an intercept of FTRL needs a sum of squared gradients above 0: the root of this sum
# is this share of alpha.
_SMALL_GRADIENT = 2.0**-30


class GradientSums(CellEngine):
    """An engine whose weights are a function of all gradients so far, the penalty and the rates."""

    #: the number of constants that describe the penalty; they are the first constants
    _n_penalties: ClassVar[int] = 2
    #: the name of the constant that is not 0 if the rates follow the sizes of the rows
    _follows: ClassVar[str]
    #: the name of the field that counts the gradients
    _count: ClassVar[str]

    @property
    def follows(self) -> bool:
        """Whether the rates follow the sizes of the rows."""
        return bool(self.constants[kernel.constants(self.kind).index(self._follows)])

    @property
    def unit(self) -> float:
        """The mean size of the rows at its last computation; 1 before the first row with a size."""
        return self.field("mean") or 1.0

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        """Start from these weights; the count of gradients becomes 1 unless all of them are 0."""
        weights, intercept = coefficients[0], float(intercepts[0])
        self.cells[:], self.fields[:] = 0.0, 0.0
        self.set_field(self._count, self._note_given_weights(weights, intercept))
        self._restate(weights, intercept)

    def set_constants(self, constants: tuple[float, ...]) -> None:
        """Continue with another penalty, which acts on all gradients, and with other rates.

        New rates concern only future steps: the cells change so that the weights under the new
        penalty and the new rates equal the weights under the new penalty and the old rates.  If the
        new rates follow the data, the weights count as loaded: they were trained at rates that were
        not in proportion to the present scale.
        """
        self.constants[: self._n_penalties] = constants[: self._n_penalties]
        if np.array_equal(constants, self.constants):
            return
        self.sweep()
        weights, intercept = self.weights(), self.intercept
        followed = self.follows
        self.constants[:] = constants
        if self.follows and not followed:
            self._note_given_weights(weights, intercept)
        self._restate(weights, intercept)

    def _note_given_weights(self, weights: Floats, intercept: float) -> float:
        """Record for ``_sweep`` whether any given weight is not 0; returns 1.0 if so, else 0.0."""
        loaded = bool(intercept or np.any(weights))
        if self.follows:
            self.set_field("loaded", _NOT_LEARNED if loaded else 0.0)
        return float(loaded)

    def _sweep(self) -> None:
        """Change the cells to a new scale such that given weights stay the same."""
        wanted = self.field("loaded")
        if wanted > 0.0:
            weights, intercept = self.weights(), self.intercept
            self.set_field("mean", wanted)
            self.set_field("loaded", _RESTATED)
            self._restate(weights, intercept)

    def _restate(self, weights: Floats, intercept: float) -> None:
        """Set the cells to values that give these weights under the present constants."""
        raise NotImplementedError


class RDAEngine(GradientSums):
    """Regularised dual averaging: a cell is minus the sum of the weight's gradients.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.rda import RDA
    >>> engine = RDAEngine(2, constants=RDA(gamma=1.0).constants(ElasticNet(l1=0.1)))
    >>> engine.set_coefficients(np.array([[1.0, 0.0]]), np.array([0.5]))
    >>> engine.coefficients(), engine.intercepts()
    (array([[1., 0.]]), array([0.5]))
    """

    name = kind = "rda"
    _follows, _count = "intercept_gamma", "steps"

    def _restate(self, weights: Floats, intercept: float) -> None:
        l1, l2, gamma, rho, intercept_gamma = self.constants.tolist()
        if self.follows:
            gamma *= self.unit * self.unit
        else:
            intercept_gamma = gamma
        seen, sums = self.field("steps"), self.cells[:, 0]
        root = np.sqrt(seen)
        strength, shift = gamma * root, seen * l1 + gamma * rho * root
        alive = weights != 0.0
        np.clip(sums, -shift, shift, out=sums)
        moved = weights[alive] * (seen * l2 + strength) + np.sign(weights[alive]) * shift
        sums[alive] = moved
        self.set_field("intercept_sum", intercept * (intercept_gamma * root))


class FTRLEngine(GradientSums):
    """FTRL-Proximal: a cell is {z, s}, s the root of the sum of squared gradients.

    Loaded weights have seen no gradient; the penalty counts as on one example.

    >>> from lazynet.penalties import ElasticNet
    >>> from lazynet.rules.ftrl import FTRL
    >>> engine = FTRLEngine(2, constants=FTRL().constants(ElasticNet(l1=0.1)))
    >>> engine.set_coefficients(np.array([[1.0, 0.0]]), np.array([0.5]))
    >>> engine.coefficients().round(12) + 0.0, engine.intercepts().round(12)
    (array([[1., 0.]]), array([0.5]))
    """

    name = kind = "ftrl"
    _n_penalties = 3
    _follows, _count = "intercept_alpha", "steps"

    @property
    def present_rate(self) -> float | None:
        return self._rates()[0] if self.follows else None

    def _rates(self) -> tuple[float, float, float, float]:
        """alpha and beta of the weights, and of the intercept."""
        _, _, _, alpha, beta, intercept_alpha, intercept_beta = self.constants.tolist()
        if not self.follows:
            return alpha, beta, alpha, beta
        return alpha / self.unit, beta * self.unit, intercept_alpha, intercept_beta

    def _restate(self, weights: Floats, intercept: float) -> None:
        l1, l2, per_example = self.constants[:3].tolist()
        alpha, beta, intercept_alpha, intercept_beta = self._rates()
        count = max(1.0, self.field("steps")) if per_example else 1.0
        alive = weights != 0.0
        damping = (beta + self.cells[alive, 1]) / alpha + count * l2
        shift = count * l1 * np.sign(weights[alive])
        self.cells[alive, 0] = -damping * weights[alive] - shift
        if not intercept_beta and not self.field("intercept_s") and intercept:
            # With beta = 0 and no gradient the intercept would be 0: assume one small gradient.
            self.set_field("intercept_s", _SMALL_GRADIENT * intercept_alpha)
        seen = intercept_beta + self.field("intercept_s")
        self.set_field("intercept_z", -seen / intercept_alpha * intercept)
