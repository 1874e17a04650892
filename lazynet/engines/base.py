"""The base of every engine: arrays that hold the weights, and a kernel that takes steps."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lazynet.data.arrays import errors_about, read_only, unpickled
from lazynet.data.statistics import Units
from lazynet.engines.threads import Workers
from lazynet.kernels import one_output
from lazynet.kernels.examples import (
    DEFECTS,
    STATUS_BAD_ROW,
    STATUS_NEEDS_SWEEP,
    STATUS_OUT_OF_MEMORY,
    STATUS_OUT_OF_RANGE,
    STATUS_OVERFLOWED,
    Examples,
)
from lazynet.kernels.steps import COUNTED_FIELD, TOTAL_FIELD, Average, Steps, Task
from lazynet.parameters import Kind, Number, SettledFields, shown

Floats = NDArray[np.float64]
#: The index of all features.
ALL = slice(None)
#: A number that may be infinite.
Limit = Annotated[float, Number(least=0, infinite=True)]


@dataclass(frozen=True)
class SweepLimits(SettledFields):
    """The limits of a sweep: it brings every weight current, and sets the clock to its start.

    ``smallest_scale`` keeps |w| / scale in the range of doubles.  ``cushion`` bounds
    scale * shift, and so the absolute error of a weight: about 6 cushions in units of the
    roundoff.  A sweep visits every weight.  So the soft limit ``cushion`` holds only after
    ``nonzeros_per_weight`` times as many nonzeros as weights since the last sweep; the hard limit
    ``largest_cushion`` holds at any time.

    With an average, ``reach`` and ``largest_reach`` are the soft and the hard limit of
    S0 max(1 / scale, shift) / (sum of omega), S0 being the scale sum since the last sweep
    (kernels/rules/motion.pxd).
    """

    smallest_scale: Annotated[float, Number(least=0, most=1)] = 2.0**-500
    cushion: Limit = 1.0
    largest_cushion: Limit = 2.0**10
    nonzeros_per_weight: Limit = 16.0
    reach: Limit = 2.0**6
    largest_reach: Limit = 2.0**10


def _check_limits(name: str, value: Any) -> SweepLimits:
    if not isinstance(value, SweepLimits):
        raise TypeError(
            f"{name} must be None or a lazynet.engines.base.SweepLimits, got {shown(value)}"
        )
    return value


#: The type of the parameter ``limits``.
SweepLimitsLike = Annotated[SweepLimits, Kind(_check_limits)]


#: The advice after an overflow of a model whose rates have a schedule.
LOWER_ETA0 = "Lower eta0"


# --- calls of a kernel ---------------------------------------------------------------------------


def overflow(when: str, cause: str, remedy: str) -> FloatingPointError:
    """The error of a model that overflows.

    >>> overflow("by step 8", "a weight is not a finite number", "Raise l2")
    FloatingPointError('the model overflowed by step 8: a weight is not a finite number. Raise l2, \
or scale the features to comparable sizes.')
    """
    return FloatingPointError(
        f"the model overflowed {when}: {cause}. {remedy}, or scale the features to comparable "
        f"sizes."
    )


def take_until_done(
    run: Callable[[int], tuple[int, int]],
    n_steps: int,
    t: int,
    examples: Examples,
    *,
    row_of: Callable[[int], int],
    remedy: str,
    sweep: Callable[[], None] | None = None,
) -> None:
    """Call a kernel until all steps are taken; Python handles signals between the calls.

    ``run`` takes the steps from the given step on, and returns a status and the next step to take;
    ``t`` is the number of step 0 in the whole run.
    """
    first = 0
    while first < n_steps:
        status, first = run(first)
        if status == STATUS_NEEDS_SWEEP and sweep is not None:
            sweep()
        elif status == STATUS_OVERFLOWED:
            cause = "the prediction or the step is not a finite number"
            raise overflow(f"at step {t + first}", cause, remedy)
        elif status == STATUS_OUT_OF_RANGE:
            raise FloatingPointError(
                f"the engine left the range of doubles at step {t + first}: l1 and l2 shrink the "
                f"weights too much before all of them are brought current. {remedy}. If "
                f"limits is given, raise its smallest_scale, or lower its largest_cushion."
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


def refuse_overflow(t: int, remedy: str, *arrays: Floats) -> None:
    """Raise if an array has a number that is not finite; ``remedy`` is the advice of the error."""
    for numbers in arrays:
        # np.isfinite(numbers) would make another array of the same length; min and max do not.
        if numbers.size and not (np.isfinite(numbers.min()) and np.isfinite(numbers.max())):
            raise overflow(f"by step {t}", "a weight is not a finite number", remedy)


# --- engines -------------------------------------------------------------------------------------

#: The arrays of a state, by name.
Arrays = Mapping[str, NDArray[Any]]


class Engine:
    """Weights and intercepts that chunks of steps train; they can be read at any moment.

    The weights are a matrix with a row for every output.
    """

    name: ClassVar[str]
    n_features: int
    #: the number of outputs; each has its own row of weights and intercept
    n_outputs: int = 1
    #: the limits of a sweep
    limits: SweepLimits = SweepLimits()
    #: below this scale stored weights, or their squares, leave the range of their type
    smallest_scale: float = 0.0
    #: called before a sweep changes all weights
    before_sweep: Callable[[], None] | None = None
    #: the advice after an overflow
    remedy: str = LOWER_ETA0
    #: the arrays of the state with a row per feature; a step changes the rows of its nonzeros
    _per_feature: ClassVar[tuple[str, ...]] = ("cells",)
    #: the other arrays of the state
    _others: ClassVar[tuple[str, ...]]
    #: the name of the array that grows along its last axis with every step; a sweep empties it
    _table: ClassVar[str | None] = None
    #: the name of the array whose length is not fixed
    _any_length: ClassVar[str | None] = None
    #: the numbers from which the weights are computed, a row per feature
    cells: NDArray[Any]
    #: whether an overflow of a weight shows in its cell; else the weight is computed
    _cells_show_overflow: ClassVar[bool] = False
    #: the sums of omega and of omega * intercept over the iterates; empty without an average
    totals: Floats = np.zeros(0)
    #: the past of the clock (``past_of_clock``); None without an average
    past: Any = None

    # --- the weights ---

    def coefficients(self, which: Any = ALL, *, last: bool = False) -> Floats:
        """The weights of the features ``which``.

        They are the weights for predictions: the average if it contains an iterate, else the last
        weights.  With ``last`` they are the last weights.
        """
        raise NotImplementedError

    def intercepts(self, *, last: bool = False) -> Floats:
        """The intercepts that belong to ``coefficients``."""
        raise NotImplementedError

    def take(self, examples: Examples, steps: Steps, task: Task, t: int = 0) -> None:
        """Take all steps of the chunk; its first step is step ``t`` of the run."""
        raise NotImplementedError

    def set_coefficients(self, coefficients: Floats, intercepts: Floats) -> None:
        """Start from these weights; an average starts from zero."""
        raise NotImplementedError

    def sparse_coefficients(self) -> sparse.csr_matrix:
        """The weights for predictions, as a sparse matrix."""
        return sparse.csr_matrix(self.coefficients())

    def weights(self, which: Any = ALL) -> Floats:
        """The last weights of the first output."""
        return self.coefficients(which, last=True)[0]

    @property
    def intercept(self) -> float:
        """The last intercept of the first output."""
        return float(self.intercepts(last=True)[0])

    @property
    def counted(self) -> float:
        """The sum of omega over the iterates; 0 without an average."""
        return float(self.totals[TOTAL_FIELD]) if len(self.totals) else 0.0

    @property
    def average(self) -> Any:
        """The past of the clock in the form for the kernel; None without an average."""
        if self.past is None:
            return None
        return Average(self.past[0, 1:], *self.past[1:], self.totals)

    # --- the state ---

    def _written(self, arrays: Arrays) -> float:
        """The written length of the last axis of ``_table``; here: of the past of a clock."""
        return float(arrays["totals"][COUNTED_FIELD]) + 1.0

    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays of the engine by name, not copied.

        Only the written part of a table belongs to the state.
        """
        state = {}
        for name in (*self._per_feature, *self._others):
            state[name] = getattr(self, name)
        if self._table is not None:
            state[self._table] = state[self._table][..., : int(self._written(state))]
        return state

    def set_state(self, arrays: Arrays) -> None:
        """Copy the arrays of a state into this engine; ``before_sweep`` is called first.

        Refuses arrays of another engine, before anything changes.
        """
        kind, present = type(self).__name__, self.state()
        if arrays.keys() != present.keys():
            raise ValueError(f"{kind} has the arrays {sorted(present)}, got {sorted(arrays)}")
        for name, array in arrays.items():
            right = present[name]
            fixed = right.ndim - (name in (self._table, self._any_length))
            if (
                not isinstance(array, np.ndarray)
                or (array.dtype, array.ndim) != (right.dtype, right.ndim)
                or array.shape[:fixed] != right.shape[:fixed]
            ):
                raise ValueError(
                    f"{name} of {kind} must be an array of {right.dtype} with the shape "
                    f"{right.shape}, got {shown(array)}"
                )
        written = 0.0
        if self._table is not None:
            written = self._written(arrays)
            length, room = arrays[self._table].shape[-1], getattr(self, self._table).shape[-1]
            if not 0.0 <= written <= min(length, room):
                raise ValueError(f"{self._table} of {kind} cannot have {written} entries")
        if self.before_sweep is not None:
            self.before_sweep()
        for name, array in arrays.items():
            if name == self._any_length:
                setattr(self, name, array.copy())
            elif name == self._table:
                getattr(self, name)[..., : int(written)] = array[..., : int(written)]
            else:
                getattr(self, name)[...] = array

    # A copy has arrays of its own.
    __copy__ = copy.deepcopy

    def __getstate__(self) -> dict[str, Any]:
        room = None if self._table is None else getattr(self, self._table).shape[-1]
        return {**vars(self), **self.state(), "room": room, "before_sweep": None}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        room = fields.pop("room")
        vars(self).update({name: unpickled(part) for name, part in fields.items()})
        if self._table is not None:
            written = fields[self._table]
            table = np.zeros((*written.shape[:-1], room))
            table[..., : written.shape[-1]] = written
            setattr(self, self._table, table)

    # --- training ---

    def sweep(self) -> None:
        """Bring every weight current; ``before_sweep`` is called first."""
        if self.before_sweep is not None:
            self.before_sweep()
        self._sweep()

    def _sweep(self) -> None:
        """Bring every weight current."""

    @property
    def rates_from_rows(self) -> Floats | None:
        """The state of rates that a clock computes from the rows; of several outputs in rows."""
        return None

    @property
    def present_rate(self) -> float | None:
        """The present scale of rates that follow the data; None for all other rates."""
        rates = self.rates_from_rows
        if rates is None or not rates[..., one_output.ROWS_SEEN_FIELD].flat[0]:
            return None
        return float(rates[..., one_output.LAST_RATE_FIELD].flat[0])

    def set_constants(self, constants: Any) -> None:
        """Continue with other constants of the rule; affine rules have no constants."""

    def continue_rates(self, other: Engine) -> None:
        """Continue with the rates of another engine, if they are computed from the rows."""
        mine, others = self.rates_from_rows, other.rates_from_rows
        if mine is not None and others is not None and mine.shape == others.shape:
            mine[:] = others

    def lower_rates(self) -> None:
        """Lower rates that are computed from the rows, after an epoch without progress.

        If the weights predict numbers, their rates are quartered, and the rate of the intercept is
        halved.  A stall, which the kernel detects by itself, multiplies the rate of the weights by
        the root of a half, and the rate of the intercept by a quarter (``FromData``).  An epoch
        without progress counts as four stalls for the weights, and as half a stall for the
        intercept.
        """
        rates = self.rates_from_rows
        if rates is not None:
            rates[..., one_output.STALLS_FIELD] += 0.5
            rates[..., one_output.LOWERINGS_FIELD] += 4.0

    def warning_about(self, constants: tuple[float, ...]) -> str | None:
        """A warning to the user before the engine continues with these constants, or None."""
        return None

    def check_finite(self, touched: NDArray[Any], t: int) -> None:
        """Refuse a model that overflowed by step ``t`` in one of the ``touched`` weights."""
        finite = np.isfinite(self.intercepts(last=True)).all() and np.isfinite(self.totals).all()
        block, shows = 2**16, self._cells_show_overflow
        for start in range(0, len(touched), block):
            part = touched[start : start + block].copy()
            with errors_about("X"):
                numbers = self.cells[part] if shows else self.coefficients(part, last=True)
            finite = finite and np.isfinite(numbers).all()
        if not finite:
            raise overflow(f"by step {t}", "a weight is not a finite number", self.remedy)


# --- the engines of a model ----------------------------------------------------------------------


def outputs_of(engines: Sequence[Engine]) -> int:
    """The number of outputs of all engines."""
    return sum(engine.n_outputs for engine in engines)


def stacked_coefficients(
    engines: Sequence[Engine], units: Units | None, which: Any = ALL, *, last: bool = False
) -> Floats:
    """The weights for predictions, or the last weights, of the features ``which``; read-only.

    The result has a row for every output.  It holds the weights of features as passed; the engines
    hold the weights of features in ``units``.
    """
    parts = [engine.coefficients(which, last=last) for engine in engines]
    coefficients = parts[0] if len(parts) == 1 else np.vstack(parts)
    if units is not None:
        coefficients = units.weights(coefficients, which)
    return read_only(coefficients)


def stacked_sparse_coefficients(
    engines: Sequence[Engine], units: Units | None, workers: Workers | None = None
) -> sparse.csr_matrix:
    """The stacked coefficients as a read-only CSR matrix; ``workers`` share the engines."""
    workers = Workers(1) if workers is None else workers
    parts = workers.map(lambda engine: engine.sparse_coefficients(), engines)
    rows = sparse.vstack(parts, format="csr")
    if units is not None:
        rows.data /= units.sizes[rows.indices]
        if units.targets is not None:
            rows.data *= np.repeat(units.targets, np.diff(rows.indptr))
    return read_only(rows)


def intercepts_of(engines: Sequence[Engine], units: Units | None, *, last: bool = False) -> Floats:
    """The intercepts that belong to ``stacked_coefficients``."""
    intercepts = np.concatenate([engine.intercepts(last=last) for engine in engines])
    if units is None:
        return intercepts
    weights = stacked_coefficients(engines, units, units.moved, last=last)
    # The last bits of a product depend on the order of the weights in memory.
    result = units.intercept(np.asfortranarray(weights), intercepts)
    return np.asarray(result, dtype=np.float64)


def set_all_coefficients(
    engines: Sequence[Engine], weights: Floats, intercepts: Floats, units: Units | None
) -> None:
    """Set the weights of engines in ``units`` from the weights of features as passed."""
    if units is not None:
        weights, intercepts = units.within(weights, intercepts)
    first = 0
    for engine in engines:
        part = slice(first, first + engine.n_outputs)
        engine.set_coefficients(weights[part], intercepts[part])
        first += engine.n_outputs
