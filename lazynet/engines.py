"""The three engines behind one interface: what holds the weights and takes a chunk of steps.

clock    two scalars, one number per weight                      (default)
tables   Lipton & Elkan, corrected: psi, P, B, a space budget
dense    every weight at every step, compiled
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels import clock as clock_kernel
from lazynet.kernels import dense as dense_kernel
from lazynet.kernels import tables as tables_kernel
from lazynet.kernels.examples import (
    DEFECTS,
    STATUS_BAD_ROW,
    STATUS_OVERFLOWED,
    STATUS_WORN_OUT,
    Examples,
    Steps,
    Task,
)
from lazynet.losses import Loss
from lazynet.params import check_integer
from lazynet.state import Undo

#: Steps that the tables hold unless told otherwise: the million examples of the paper fit.
DEFAULT_BUDGET = 2**20


@dataclass(frozen=True)
class Wear:
    """When the clock is worn out and every weight is brought current (algorithms.md 4.4).

    ``smallest_scale`` keeps |w| / scale in the range of doubles.  ``cushion`` bounds
    scale * shift, and with it the absolute error of a weight: about 6 cushions in units of the
    roundoff.  The sweep costs a visit to every weight, so the bound is ``cushion`` where the
    nonzeros since the last sweep have paid for one ``nonzeros_per_weight`` times over, and
    ``largest_cushion`` in any case.
    """

    smallest_scale: float = 2.0**-500
    cushion: float = 1.0
    largest_cushion: float = 2.0**10
    nonzeros_per_weight: float = 16.0

    def task(
        self, n_features: int, loss: Loss, epsilon: float, step_order: str, fit_intercept: bool
    ) -> Task:
        return Task(
            loss.code,
            epsilon,
            step_order == "shrink_first",
            fit_intercept,
            self.smallest_scale,
            self.cushion,
            self.largest_cushion,
            self.nonzeros_per_weight * n_features,
        )


class Engine:
    """Weights and an intercept that learn from chunks of steps, and can be read at any moment."""

    name: ClassVar[str]
    #: whether a step changes nothing but the weights of its example's nonzeros
    touches_only_nonzeros: ClassVar[bool]

    def __init__(self, n_features: int, wear: Wear | None = None) -> None:
        self.n_features = n_features
        self.wear = wear if wear is not None else Wear()
        self.undo: Undo | None = None

    # --- what an engine must provide ---

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        """Call the kernel once; how it ended and the first step not taken."""
        raise NotImplementedError

    def _sweep(self) -> None:
        """Bring every weight current."""
        raise NotImplementedError

    def per_weight(self) -> list[NDArray[Any]]:
        """The arrays with one entry per weight that make up the state."""
        raise NotImplementedError

    def discarded_by_sweep(self) -> list[NDArray[Any]]:
        """What else a sweep writes over."""
        return []

    def scalars(self) -> Any:
        """A copy of the rest of the state."""
        raise NotImplementedError

    def set_scalars(self, scalars: Any) -> None:
        raise NotImplementedError

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """All weights as of now; the state is not touched."""
        raise NotImplementedError

    def weights_at(self, indices: NDArray[Any]) -> NDArray[np.float64]:
        """Some weights as of now, at the cost of those alone."""
        raise NotImplementedError

    @property
    def intercept(self) -> float:
        raise NotImplementedError

    @intercept.setter
    def intercept(self, value: float) -> None:
        raise NotImplementedError

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start from these weights."""
        raise NotImplementedError

    # --- what they share ---

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        """Take all steps of the chunk, the first of which is step ``t`` of the run."""
        first, n_steps = 0, len(steps)
        while True:
            status, first = self._run(examples, steps, task, first)
            if status == STATUS_WORN_OUT:
                if self.undo is not None:
                    self.undo.before_sweep()
                self._sweep()
            elif status == STATUS_OVERFLOWED:
                raise FloatingPointError(
                    f"the model overflowed at step {t + first}: the prediction or the step is not "
                    f"a finite number. Lower eta0, or scale the features to comparable sizes."
                )
            elif status == STATUS_BAD_ROW:
                row = steps.row(first)
                defect = examples.defect_of(row)
                raise ValueError(
                    f"X: row {row} cannot be read at step {t + first}: "
                    + DEFECTS.get(defect, "there is no such row")
                )
            if first >= n_steps:
                return

    def check_finite(self, touched: NDArray[Any], t: int) -> None:
        """Refuse a model that overflowed by step ``t`` in one of the ``touched`` weights."""
        block = 2**16
        finite = np.isfinite(self.intercept) and all(
            np.isfinite(self.weights_at(touched[start : start + block])).all()
            for start in range(0, len(touched), block)
        )
        if not finite:
            raise FloatingPointError(
                f"the model overflowed by step {t}: a weight is not a finite number. "
                f"Lower eta0, or scale the features to comparable sizes."
            )


class _OnTheClock(Engine):
    """What the lazy engines share: the clock's scalars, with the intercept among them."""

    touches_only_nonzeros = True

    def __init__(self, n_features: int, wear: Wear | None = None) -> None:
        super().__init__(n_features, wear)
        self.fields = np.zeros(clock_kernel.CLOCK_FIELDS)
        clock_kernel.start(self.fields)

    @property
    def intercept(self) -> float:
        return float(self.fields[clock_kernel.INTERCEPT_FIELD])

    @intercept.setter
    def intercept(self, value: float) -> None:
        self.fields[clock_kernel.INTERCEPT_FIELD] = value


class ClockEngine(_OnTheClock):
    """One number per weight and two running scalars; exact, and the fastest.

    >>> engine = ClockEngine(2)
    >>> engine.weights()
    array([0., 0.])
    """

    name = "clock"

    def __init__(self, n_features: int, wear: Wear | None = None) -> None:
        super().__init__(n_features, wear)
        self.stored = np.zeros(n_features)

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return clock_kernel.run(examples, steps, task, self.stored, self.fields, first)

    def _sweep(self) -> None:
        clock_kernel.rebase(self.stored, self.fields)

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.stored]

    def scalars(self) -> NDArray[np.float64]:
        return self.fields.copy()

    def set_scalars(self, scalars: NDArray[np.float64]) -> None:
        self.fields[:] = scalars

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        clock_kernel.read(self.stored, self.fields, out)
        return out

    def weights_at(self, indices: NDArray[Any]) -> NDArray[np.float64]:
        current = self.stored[indices]
        clock_kernel.read(current, self.fields, current)
        return current

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        np.copyto(self.stored, weights)
        clock_kernel.start(self.fields)
        self.intercept = intercept


class TablesEngine(_OnTheClock):
    """Lipton & Elkan's own form: a step number per weight, P and B per step, a space budget."""

    name = "tables"

    def __init__(
        self, n_features: int, budget: int = DEFAULT_BUDGET, wear: Wear | None = None
    ) -> None:
        super().__init__(n_features, wear)
        self.current = np.zeros(n_features)
        self.last = np.zeros(n_features, dtype=np.int64)
        # Memory is used as the tables fill, not before.
        self.scales = np.empty(budget + 1)
        self.shifts = np.empty(budget + 1)
        self.scales[0], self.shifts[0] = 1.0, 0.0
        self.now = 0

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        status, first, self.now = tables_kernel.run(
            examples,
            steps,
            task,
            self.current,
            self.last,
            self.scales,
            self.shifts,
            self.fields,
            self.now,
            first,
        )
        return status, first

    def _sweep(self) -> None:
        tables_kernel.read(
            self.current, self.last, self.scales, self.shifts, self.now, self.current
        )
        self._begin()

    def __getstate__(self) -> dict[str, Any]:
        """Of the tables only what is written: the rest is memory that was never used."""
        state = dict(self.__dict__)
        for name in ("scales", "shifts"):
            state[name] = state[name][: self.now + 1].copy()
        return {**state, "budget": len(self.scales) - 1}

    def __setstate__(self, state: dict[str, Any]) -> None:
        budget = state.pop("budget")
        self.__dict__.update(state)
        for name in ("scales", "shifts"):
            table = np.empty(budget + 1)
            table[: self.now + 1] = state[name]
            setattr(self, name, table)

    def _begin(self) -> None:
        self.last[:] = 0
        self.now = 0
        clock_kernel.start(self.fields)

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.current, self.last]

    def discarded_by_sweep(self) -> list[NDArray[Any]]:
        return [self.scales[: self.now + 1], self.shifts[: self.now + 1]]

    def scalars(self) -> Any:
        return self.fields.copy(), self.now

    def set_scalars(self, scalars: Any) -> None:
        fields, self.now = scalars
        self.fields[:] = fields

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        tables_kernel.read(self.current, self.last, self.scales, self.shifts, self.now, out)
        return out

    def weights_at(self, indices: NDArray[Any]) -> NDArray[np.float64]:
        current = self.current[indices]
        tables_kernel.read(current, self.last[indices], self.scales, self.shifts, self.now, current)
        return current

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        np.copyto(self.current, weights)
        self._begin()
        self.intercept = intercept


class DenseEngine(Engine):
    """Every weight at every step, compiled and vectorised: what the lazy engines are held against.

    With ``dense_predictions`` the prediction and the gradient run over all features too.  Without
    ``vectorised`` the loops over all weights take one at a time, to the same bits: what the
    vector units are worth.
    """

    name = "dense"
    touches_only_nonzeros = False

    def __init__(
        self,
        n_features: int,
        dense_predictions: bool = False,
        wear: Wear | None = None,
        vectorised: bool = True,
    ) -> None:
        super().__init__(n_features, wear)
        self.vectorised = vectorised
        self.current = np.zeros(n_features)
        self.bias = np.zeros(1)
        self.spread = np.zeros(n_features if dense_predictions else 0)

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return dense_kernel.run(
            examples,
            steps,
            task,
            self.current,
            self.bias,
            self.spread,
            self.vectorised,
            first,
        )

    def _sweep(self) -> None:
        """Nothing is ever behind."""

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.current]

    def scalars(self) -> NDArray[np.float64]:
        return self.bias.copy()

    def set_scalars(self, scalars: NDArray[np.float64]) -> None:
        self.bias[:] = scalars

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        np.copyto(out, self.current)
        return out

    def weights_at(self, indices: NDArray[Any]) -> NDArray[np.float64]:
        return self.current[indices]

    @property
    def intercept(self) -> float:
        return float(self.bias[0])

    @intercept.setter
    def intercept(self, value: float) -> None:
        self.bias[0] = value

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        np.copyto(self.current, weights)
        self.intercept = intercept


#: The engines by name.
ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (ClockEngine, TablesEngine, DenseEngine)
}


def check_engine(name: str, table_budget: int) -> None:
    """Refuse what ``make_engine`` could not make."""
    if not isinstance(name, str) or name not in ENGINES:
        raise ValueError(f"engine must be one of {sorted(ENGINES)}, got {name!r}")
    check_integer("table_budget", table_budget, 1)


def make_engine(
    name: str,
    n_features: int,
    *,
    table_budget: int = DEFAULT_BUDGET,
    dense_predictions: bool = False,
    vectorised: bool = True,
    wear: Wear | None = None,
) -> Engine:
    """A new engine, all weights zero."""
    check_engine(name, table_budget)
    if name == "clock":
        return ClockEngine(n_features, wear)
    if name == "tables":
        return TablesEngine(n_features, table_budget, wear)
    return DenseEngine(n_features, dense_predictions, wear, vectorised)
