"""The engines behind one interface: what holds the weights and takes a chunk of steps.

clock    two scalars, one number per weight, two where iterates are averaged   (default)
tables   Lipton & Elkan, corrected: psi, P, B, a space budget
rescaled a scale and a vector: what the clock is without an l1 penalty
dense    every weight at every step, compiled
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lazynet.kernels import averages as averages_kernel
from lazynet.kernels import clock as clock_kernel
from lazynet.kernels import dense as dense_kernel
from lazynet.kernels import rescaled as rescaled_kernel
from lazynet.kernels import tables as tables_kernel
from lazynet.kernels.examples import (
    DEFECTS,
    STATUS_BAD_ROW,
    STATUS_OUT_OF_MEMORY,
    STATUS_OVERFLOWED,
    STATUS_WORN_OUT,
    Examples,
    Steps,
    Task,
)
from lazynet.losses import Loss
from lazynet.params import Integer, Number, SettledFields, check_choice, check_flag, table
from lazynet.state import Undo

#: Steps that the tables hold unless told otherwise: the million examples of the paper fit.
DEFAULT_BUDGET = 2**20
#: Features that a model may have: beyond it no machine has room for the weights.
N_FEATURES = Integer(least=0, most=2**40)
#: Steps that the tables may hold: two numbers for each, and more are never worth the room.
BUDGET = Integer(least=1, most=2**40)


@dataclass(frozen=True)
class Wear(SettledFields):
    """When the clock is worn out and every weight is brought current.

    ``smallest_scale`` keeps |w| / scale in the range of doubles.  ``cushion`` bounds
    scale * shift, and with it the absolute error of a weight: about 6 cushions in units of the
    roundoff.  The sweep costs a visit to every weight, so the bound is ``cushion`` where the
    nonzeros since the last sweep have paid for one ``nonzeros_per_weight`` times over, and
    ``largest_cushion`` in any case.
    """

    _kinds = table(
        smallest_scale=Number(least=0, most=1),
        cushion=Number(least=0, infinite=True),
        largest_cushion=Number(least=0, infinite=True),
        nonzeros_per_weight=Number(least=0, infinite=True),
        reach=Number(least=0, infinite=True),
        largest_reach=Number(least=0, infinite=True),
    )
    smallest_scale: float = 2.0**-500
    cushion: float = 1.0
    largest_cushion: float = 2.0**10
    nonzeros_per_weight: float = 16.0
    #: the same two bounds where iterates are averaged: for S0 max(1 / scale, shift) by all that has
    #: counted, S0 the sum of the scales since the last sweep (kernels/averages.pxd)
    reach: float = 2.0**6
    largest_reach: float = 2.0**10

    def task(
        self,
        n_features: int,
        loss: Loss,
        epsilon: float,
        step_order: str,
        fit_intercept: bool,
        pulls: bool = True,
    ) -> Task:
        """What a kernel is told of a run; ``pulls`` says whether there is an l1 penalty."""
        return Task(
            loss.code,
            epsilon,
            step_order == "shrink_first",
            fit_intercept,
            self.smallest_scale,
            self.cushion,
            self.largest_cushion,
            self.nonzeros_per_weight * n_features,
            self.reach,
            self.largest_reach,
            pulls,
        )


def take_until_done(
    run: Callable[[int], tuple[int, int]],
    n_steps: int,
    t: int,
    examples: Examples,
    *,
    row_of: Callable[[int], int],
    advice: str,
    sweep: Callable[[], None] | None = None,
) -> None:
    """Call a kernel until all steps are taken; between its calls signals are seen.

    ``run`` takes the steps from the one that it is given on, and says how it ended and the first
    step not taken; ``t`` is the number of the first step of all in the run.
    """
    first = 0
    while first < n_steps:
        status, first = run(first)
        if status == STATUS_WORN_OUT and sweep is not None:
            sweep()
        elif status == STATUS_OVERFLOWED:
            raise FloatingPointError(
                f"the model overflowed at step {t + first}: the prediction or the step is not "
                f"a finite number. {advice}"
            )
        elif status == STATUS_OUT_OF_MEMORY:
            raise MemoryError(f"no memory for row {row_of(first)} of X at step {t + first}")
        elif status == STATUS_BAD_ROW:
            row = row_of(first)
            defect = examples.defect_of(row)
            raise ValueError(
                f"X: row {row} cannot be read at step {t + first}: "
                + DEFECTS.get(defect, "there is no such row")
            )


class Engine:
    """Weights and an intercept that learn from chunks of steps, and can be read at any moment."""

    name: ClassVar[str]
    #: whether a step changes nothing but the weights of its example's nonzeros
    touches_only_nonzeros: ClassVar[bool]
    #: whether weights may vanish under an l1 penalty
    takes_l1: ClassVar[bool] = True
    #: of the iterates that are averaged, how much has counted and the intercept; else empty
    totals: NDArray[np.float64] = np.zeros(0)

    def __init__(self, n_features: int, wear: Wear | None = None) -> None:
        self.n_features = n_features
        self.wear = wear if wear is not None else Wear()
        self.undo: Undo | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "undo": None}

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

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Start from these weights; an average begins anew."""
        raise NotImplementedError

    # --- where iterates are averaged ---

    def _sums(self, out: NDArray[np.float64]) -> None:
        """The sums of every weight over the iterates, each as often as it counts."""
        raise NotImplementedError

    def _set_sums(self, sums: NDArray[np.float64]) -> None:
        raise NotImplementedError

    @property
    def averaging(self) -> bool:
        """Whether the iterates are averaged."""
        return len(self.totals) > 0

    @property
    def counted(self) -> float:
        """How much has counted in the average; 0 without one."""
        return float(self.totals[averages_kernel.TOTAL_FIELD]) if self.averaging else 0.0

    def model(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """What predicts: the average once an iterate has counted, else the weights as of now."""
        if not self.counted:
            return self.weights(out)
        out = np.empty(self.n_features) if out is None else out
        self._sums(out)
        out /= self.counted
        return out

    @property
    def model_intercept(self) -> float:
        """The intercept that goes with ``model``."""
        if not self.counted:
            return self.intercept
        return float(self.totals[averages_kernel.INTERCEPT_SUM_FIELD]) / self.counted

    def go_on_from(self, other: Engine) -> None:
        """Take over the weights of another engine, and the average if both keep one."""
        self.load(other.weights(), other.intercept)
        if self.averaging and other.averaging:
            sums = np.empty(self.n_features)
            other._sums(sums)
            self._set_sums(sums)
            kept = [averages_kernel.TOTAL_FIELD, averages_kernel.INTERCEPT_SUM_FIELD]
            self.totals[kept] = other.totals[kept]

    # --- what they share ---

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        """Take all steps of the chunk, the first of which is step ``t`` of the run."""
        take_until_done(
            lambda first: self._run(examples, steps, task, first),
            len(steps),
            t,
            examples,
            row_of=steps.row,
            advice="Lower eta0, or scale the features to comparable sizes.",
            sweep=self._sweep_undoably,
        )

    def _sweep_undoably(self) -> None:
        if self.undo is not None:
            self.undo.before_sweep()
        self._sweep()

    def check_finite(self, touched: NDArray[Any], t: int) -> None:
        """Refuse a model that overflowed by step ``t`` in one of the ``touched`` weights."""
        block = 2**16
        finite = np.isfinite(self.intercept) and np.isfinite(self.totals).all()
        for start in range(0, len(touched), block):
            finite = finite and self._is_finite_at(touched[start : start + block])
        if not finite:
            raise FloatingPointError(
                f"the model overflowed by step {t}: a weight is not a finite number. "
                f"Lower eta0, or scale the features to comparable sizes."
            )

    def _is_finite_at(self, indices: NDArray[Any]) -> bool:
        return bool(np.isfinite(self.weights_at(indices)).all())


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


class _WithTables(_OnTheClock):
    """Tables with an entry per step, of which only what is written is worth keeping."""

    def _written(self) -> dict[str, int]:
        """The tables by name, and how many entries of each are written."""
        raise NotImplementedError

    def discarded_by_sweep(self) -> list[NDArray[Any]]:
        return [getattr(self, name)[:length] for name, length in self._written().items()]

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        rooms = {name: len(state[name]) for name in self._written()}
        for name, length in self._written().items():
            state[name] = state[name][:length].copy()
        return {**state, "rooms": rooms}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rooms = state.pop("rooms")
        self.__dict__.update(state)
        for name, room in rooms.items():
            table = np.empty(room)
            table[: len(state[name])] = state[name]
            setattr(self, name, table)


class AveragedClockEngine(_WithTables):
    """The clock with a second number per weight, from which the exact average can be read.

    The past of the clock is a block of three numbers per step; when it is full, all weights are
    brought current, which the steps that filled it have paid for.
    """

    name = "clock"

    def __init__(
        self, n_features: int, wear: Wear | None = None, steps_per_block: int | None = None
    ) -> None:
        super().__init__(n_features, wear)
        room = _steps_per_block(n_features) if steps_per_block is None else steps_per_block
        self.cells = np.zeros((n_features, 2))
        # Memory is used as the block fills, not before.
        self.shifts = np.empty(room)
        self.scales, self.pulls = np.empty(room + 1), np.empty(room + 1)
        self.totals = np.zeros(averages_kernel.AVERAGE_FIELDS)
        averages_kernel.begin(self._past())

    def _past(self) -> averages_kernel.Average:
        return averages_kernel.Average(self.shifts, self.scales, self.pulls, self.totals)

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        cells = self.cells.reshape(-1)
        return clock_kernel.run(examples, steps, task, cells, self.fields, first, self._past())

    def _sweep(self) -> None:
        averages_kernel.fold(self.cells, self.fields, self._past())

    def _written(self) -> dict[str, int]:
        n = int(self.totals[averages_kernel.COUNTED_FIELD])
        return {"shifts": n, "scales": n + 1, "pulls": n + 1}

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.cells]

    def scalars(self) -> Any:
        return self.fields.copy(), self.totals.copy()

    def set_scalars(self, scalars: Any) -> None:
        self.fields[:], self.totals[:] = scalars

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        averages_kernel.read(self.cells, self.fields, out)
        return out

    def weights_at(self, indices: NDArray[Any]) -> NDArray[np.float64]:
        current = np.empty(len(indices))
        averages_kernel.read(self.cells[indices], self.fields, current)
        return current

    def _is_finite_at(self, indices: NDArray[Any]) -> bool:
        return bool(np.isfinite(self.cells[indices]).all())

    def _sums(self, out: NDArray[np.float64]) -> None:
        averages_kernel.sums(self.cells, self._past(), out)

    def _set_sums(self, sums: NDArray[np.float64]) -> None:
        np.negative(sums, out=self.cells[:, 1])

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        self.cells[:, 0], self.cells[:, 1] = weights, 0.0
        clock_kernel.start(self.fields)
        self.totals[:] = 0.0
        averages_kernel.begin(self._past())
        self.intercept = intercept


def _steps_per_block(n_features: int) -> int:
    """Enough that a visit to every weight at the end of each block is a trifle; 24 bytes each."""
    return max(min(4 * n_features, 2**18), n_features // 4, 2**12)


class TablesEngine(_WithTables):
    """Lipton & Elkan's own form: a step number per weight, P and B per step, a space budget."""

    name = "tables"

    def __init__(
        self, n_features: int, budget: int = DEFAULT_BUDGET, wear: Wear | None = None
    ) -> None:
        super().__init__(n_features, wear)
        budget = BUDGET.settled("budget", budget)
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

    def _written(self) -> dict[str, int]:
        return {"scales": self.now + 1, "shifts": self.now + 1}

    def _begin(self) -> None:
        self.last[:] = 0
        self.now = 0
        clock_kernel.start(self.fields)

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.current, self.last]

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


class RescaledEngine(Engine):
    """Weights as a scale times a vector: the classic trick for an l2 penalty, and nothing else."""

    name = "rescaled"
    touches_only_nonzeros = True
    takes_l1 = False

    def __init__(self, n_features: int, wear: Wear | None = None) -> None:
        super().__init__(n_features, wear)
        self.vector = np.zeros(n_features)
        self.fields = np.zeros(rescaled_kernel.RESCALED_FIELDS)
        self.scale = 1.0

    @property
    def scale(self) -> float:
        """c, by which the vector is multiplied."""
        return float(self.fields[rescaled_kernel.SCALE_FIELD])

    @scale.setter
    def scale(self, value: float) -> None:
        self.fields[rescaled_kernel.SCALE_FIELD] = value

    @property
    def intercept(self) -> float:
        return float(self.fields[rescaled_kernel.INTERCEPT_FIELD])

    @intercept.setter
    def intercept(self, value: float) -> None:
        self.fields[rescaled_kernel.INTERCEPT_FIELD] = value

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return rescaled_kernel.run(examples, steps, task, self.vector, self.fields, first)

    def _sweep(self) -> None:
        self.vector *= self.scale
        self.scale = 1.0

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.vector]

    def scalars(self) -> NDArray[np.float64]:
        return self.fields.copy()

    def set_scalars(self, scalars: NDArray[np.float64]) -> None:
        self.fields[:] = scalars

    def weights(self, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        out = np.empty(self.n_features) if out is None else out
        return np.multiply(self.vector, self.scale, out=out)

    def weights_at(self, indices: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(self.vector[indices] * self.scale)

    def load(self, weights: NDArray[np.float64], intercept: float) -> None:
        np.copyto(self.vector, weights)
        self.scale = 1.0
        self.intercept = intercept


class DenseEngine(Engine):
    """Every weight at every step, compiled and vectorised: what the lazy engines are held against.

    With ``dense_predictions`` the prediction and the gradient run over all features too.  With
    ``average`` every weight is added to a sum after every step.  Without ``vectorised`` the loops
    over all weights take one at a time, to the same bits: what the vector units are worth.
    """

    name = "dense"
    touches_only_nonzeros = False

    def __init__(
        self,
        n_features: int,
        dense_predictions: bool = False,
        wear: Wear | None = None,
        vectorised: bool = True,
        average: bool = False,
    ) -> None:
        super().__init__(n_features, wear)
        self.vectorised = check_flag("vectorised", vectorised)
        dense_predictions = check_flag("dense_predictions", dense_predictions)
        average = check_flag("average", average)
        self.current = np.zeros(n_features)
        self.bias = np.zeros(1)
        self.spread = np.zeros(n_features if dense_predictions else 0)
        self.sums = np.zeros(n_features if average else 0)
        self.totals = np.zeros(averages_kernel.AVERAGE_FIELDS if average else 0)

    def _run(self, examples: Examples, steps: Steps, task: Task, first: int) -> tuple[int, int]:
        return dense_kernel.run(
            examples,
            steps,
            task,
            self.current,
            self.bias,
            self.spread,
            self.sums,
            self.totals,
            self.vectorised,
            first,
        )

    def _sweep(self) -> None:
        """Nothing is ever behind."""

    def per_weight(self) -> list[NDArray[Any]]:
        return [self.current, self.sums] if self.averaging else [self.current]

    def scalars(self) -> Any:
        return self.bias.copy(), self.totals.copy()

    def set_scalars(self, scalars: Any) -> None:
        self.bias[:], self.totals[:] = scalars

    def _sums(self, out: NDArray[np.float64]) -> None:
        np.copyto(out, self.sums)

    def _set_sums(self, sums: NDArray[np.float64]) -> None:
        np.copyto(self.sums, sums)

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
        self.sums[:], self.totals[:] = 0.0, 0.0
        self.intercept = intercept


#: The engines by name.
ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (ClockEngine, TablesEngine, RescaledEngine, DenseEngine)
}


def check_engine(name: str, table_budget: int, average: bool = False, l1: float = 0.0) -> None:
    """Refuse what ``make_engine`` could not make, and an l1 penalty where there can be none."""
    check_choice("engine", name, ENGINES)
    BUDGET.settled("table_budget", table_budget)
    if l1 and not ENGINES[name].takes_l1:
        raise ValueError(
            f"engine={name!r} knows no l1 penalty, got l1={l1:g}; set l1=0, or use engine='clock'"
        )
    if average and name not in ("clock", "dense"):
        raise ValueError(
            f"average needs engine='clock', or engine='dense' for comparison; "
            f"engine={name!r} does not hold what an average needs"
        )


def make_engine(
    name: str,
    n_features: int,
    *,
    table_budget: int = DEFAULT_BUDGET,
    dense_predictions: bool = False,
    vectorised: bool = True,
    average: bool = False,
    wear: Wear | None = None,
) -> Engine:
    """A new engine, all weights zero."""
    check_engine(name, table_budget, average)
    n_features = N_FEATURES.settled("n_features", n_features)
    if name == "clock":
        return AveragedClockEngine(n_features, wear) if average else ClockEngine(n_features, wear)
    if name == "tables":
        return TablesEngine(n_features, table_budget, wear)
    if name == "rescaled":
        return RescaledEngine(n_features, wear)
    return DenseEngine(n_features, dense_predictions, wear, vectorised, average)
