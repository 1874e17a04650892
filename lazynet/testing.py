"""Checks for lazy rules, ours and other people's; needs Hypothesis.

Anything with ``step(indices, values, target, weight)`` and ``weights`` can be held against the
dense twin, after every step, on problems that Hypothesis chooses and shrinks:

    from hypothesis import given
    from lazynet.testing import assert_matches_twin, problems

    @given(problems(losses=["squared_error"], rules=["fobos"]))
    def test_my_rule(problem):
        mine = MyLazyRule(problem.n_features, l1=problem.l1, l2=problem.l2, rates=problem.rates)
        assert_matches_twin(mine, problem)

The tolerance is derived from the number of steps and the unit roundoff (``lazynet.tolerance``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

try:
    from hypothesis import strategies as st
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "lazynet.testing needs Hypothesis: pip install 'lazynet-linear[test]'"
    ) from error

from lazynet.engines import Wear
from lazynet.losses import LOSSES
from lazynet.params import FLAG, STRENGTH, SettledFields, check_integer, check_number, table
from lazynet.reference import DenseReference
from lazynet.rules import RULES
from lazynet.twin import BoundedTwin

__all__ = [
    "BoundedTwin",
    "DenseReference",
    "Problem",
    "assert_matches_twin",
    "orders",
    "penalties",
    "problems",
    "rates",
    "sparse_matrices",
    "targets",
    "wears",
]

# Values off every round number: a margin that lands exactly on a kink of a loss says nothing.
_GRAIN = 0.010123456789
# Far from every rate that divides evenly, for the same reason.
_RATE_GRAIN = 1.0437218903

_STRENGTHS = (0.0, 1e-300, 1e-16, 1e-12, 1e-8, 1e-4, 1e-2, 0.1, 1.0, 10.0)
_BOLDNESS = (1.0, 0.3, 1.9, 0.03, 1e-3, 1e-8, 1e-14, 30.0)


@dataclass(frozen=True)
class Problem(SettledFields):
    """Examples in the order they come, the rates, and what is minimised.

    Drawn by ``problems``, or written down, as a failing one is printed:

    >>> problem = Problem(
    ...     X=sparse.csr_matrix([[0.0, 2.0]]), y=np.array([1.0]), importances=np.ones(1),
    ...     order=np.array([0, 0]), rates=np.array([0.5, 0.25]), loss="squared_error", l1=0.1)
    >>> problem.n_features, problem.rate(1), problem.options["l1"]
    (2, 0.25, 0.1)
    >>> problem.example(0)  # indices, values, target, importance
    ([1], [2.0], 1.0, 1.0)
    >>> twin = problem.twin()
    >>> twin.step(*problem.example(0)), twin.weights
    (0.0, array([0.  , 0.95]))
    """

    _kinds = table(l1=STRENGTH, l2=STRENGTH, fit_intercept=FLAG, epsilon=STRENGTH)

    X: sparse.csr_matrix
    """The rows."""
    y: NDArray[np.float64]
    """Their targets."""
    importances: NDArray[np.float64]
    """What each of them counts."""
    order: NDArray[np.int64]
    """The row that each step visits."""
    rates: NDArray[np.float64]
    """The rate of each step."""
    loss: str = "log_loss"
    rule: str = "fobos"
    l1: float = 0.0
    l2: float = 0.0
    step_order: str = "gradient_first"
    fit_intercept: bool = False
    epsilon: float = 0.1

    def __repr__(self) -> str:
        return (
            f"Problem(X=csr_matrix({self.X.toarray().tolist()}), y={self.y.tolist()}, "
            f"importances={self.importances.tolist()}, order={self.order.tolist()}, "
            f"rates={self.rates.tolist()}, loss={self.loss!r}, rule={self.rule!r}, "
            f"l1={self.l1!r}, l2={self.l2!r}, step_order={self.step_order!r}, "
            f"fit_intercept={self.fit_intercept}, epsilon={self.epsilon})"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """A failing problem is printed so that it can be pasted into a test."""
        printer.text(repr(self))

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return int(self.X.shape[1])

    @property
    def options(self) -> dict[str, Any]:
        """The options that the reference, the plain lazy forms and ``Stepper`` share."""
        return dict(
            loss=self.loss,
            rule=self.rule,
            l1=self.l1,
            l2=self.l2,
            step_order=self.step_order,
            fit_intercept=self.fit_intercept,
            epsilon=self.epsilon,
        )

    def rate(self, t: int) -> float:
        """The schedule as a function of the step."""
        return float(self.rates[t])

    def twin(self, largest_cushion: float = math.inf) -> BoundedTwin:
        """A fresh dense twin that carries the bound along.

        ``largest_cushion`` is how large scale * shift becomes before the implementation brings
        all weights current; the bound is the tighter for it.
        """
        return BoundedTwin(
            self.n_features, schedule=self.rate, largest_cushion=largest_cushion, **self.options
        )

    def example(self, step: int) -> tuple[list[int], list[float], float, float]:
        """indices, values, target and importance of the example at ``step``."""
        row = self.order[step]
        span = slice(self.X.indptr[row], self.X.indptr[row + 1])
        return (
            self.X.indices[span].tolist(),
            self.X.data[span].tolist(),
            float(self.y[row]),
            float(self.importances[row]),
        )


def assert_matches_twin(
    implementation: Any,
    problem: Problem,
    *,
    read: Callable[[Any], NDArray[np.float64]] = lambda implementation: implementation.weights,
    twin: BoundedTwin | None = None,
) -> int:
    """Step both through ``problem`` and compare all weights after every step.

    ``implementation`` has ``step(indices, values, target, weight)``; ``read`` gives its weights.
    Where the problem fits an intercept, ``implementation.intercept`` is compared too.  Returns the
    number of steps compared, short of all where rounding may decide a branch.

    >>> from hypothesis import given, settings
    >>> from lazynet import Stepper
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(problems())
    ... def test_stepper(problem):
    ...     lazy = Stepper(problem.n_features, schedule=problem.rates, **problem.options)
    ...     assert_matches_twin(lazy, problem)
    >>> test_stepper()
    """
    twin = problem.twin() if twin is None else twin
    for step in range(len(problem.order)):
        example = problem.example(step)
        twin.step(*example)
        if not twin.comparable:
            return step
        implementation.step(*example)
        weights = np.asarray(read(implementation), dtype=np.float64)
        own_intercept = getattr(implementation, "intercept", None)
        if own_intercept is None and problem.fit_intercept:
            raise AssertionError(
                "the problem fits an intercept and the implementation has no attribute "
                "`intercept`: add one, or draw problems(intercepts=[False])"
            )
        intercept = twin.intercept if own_intercept is None else float(own_intercept)
        distance = twin.distance(weights, intercept)
        # Written so that NaN fails.
        if not distance <= twin.bound:
            j = int(np.argmax(np.nan_to_num(np.abs(weights - twin.weights), nan=np.inf)))
            raise AssertionError(
                f"after step {step} the weights are {distance:.3g} away from the dense twin's, "
                f"{distance / twin.bound:.3g} times the {twin.bound:.3g} that rounding explains; "
                f"weight {j} is {float(weights[j])!r}, the twin's {float(twin.weights[j])!r}"
                + (
                    f" (intercepts {intercept!r}, {twin.intercept!r})"
                    if problem.fit_intercept
                    else ""
                )
            )
    return len(problem.order)


# --- strategies ------------------------------------------------------------------------------


@st.composite
def sparse_matrices(
    draw: st.DrawFn, max_rows: int = 6, max_features: int = 7, min_features: int = 1
) -> sparse.csr_matrix:
    """Any sparsity: empty rows and columns, full and repeated rows, explicit zeros.

    >>> from hypothesis import find
    >>> X = find(sparse_matrices(), lambda X: X.nnz > X.count_nonzero())
    >>> X.nnz, X.toarray()
    (1, array([[0.]]))
    """
    max_rows = check_integer("max_rows", max_rows, 1)
    min_features = check_integer("min_features", min_features, 1)
    max_features = check_integer("max_features", max_features, min_features)
    n_features = draw(st.integers(min_features, max_features))
    row = st.dictionaries(
        st.integers(0, n_features - 1), st.integers(-300, 300), max_size=n_features
    )
    rows = draw(st.lists(row, min_size=1, max_size=max_rows))
    if draw(st.booleans()):
        rows.append(rows[0])
    indices = [j for cells in rows for j in sorted(cells)]
    data = [cells[j] * _GRAIN for cells in rows for j in sorted(cells)]
    indptr = np.cumsum([0] + [len(cells) for cells in rows])
    return sparse.csr_matrix(
        (np.array(data, dtype=np.float64), np.array(indices, dtype=np.int32), indptr),
        shape=(len(rows), n_features),
    )


def orders(n_rows: int, max_steps: int = 30) -> st.SearchStrategy[NDArray[np.int64]]:
    """Which row each step visits: any order, rows left out and repeated.

    >>> from hypothesis import find
    >>> find(orders(n_rows=3), lambda order: len(set(order)) == 3)
    array([0, 1, 2])
    """
    n_rows = check_integer("n_rows", n_rows, 1)
    max_steps = check_integer("max_steps", max_steps, 1)
    rows = st.lists(st.integers(0, n_rows - 1), min_size=1, max_size=max_steps)
    return rows.map(lambda row_numbers: np.array(row_numbers, dtype=np.int64))


def targets(n_rows: int, loss: str = "log_loss") -> st.SearchStrategy[NDArray[np.float64]]:
    """y in the domain of ``loss``.

    >>> from hypothesis import find
    >>> find(targets(2, loss="hinge"), lambda y: y[0] != y[1])
    array([ 1., -1.])
    """
    n_rows = check_integer("n_rows", n_rows, 0)
    one: st.SearchStrategy[float] = (
        st.sampled_from([1.0, -1.0])
        if LOSSES[loss].margin
        else st.integers(-500, 500).map(lambda k: k * _GRAIN * 0.7)
    )
    return st.lists(one, min_size=n_rows, max_size=n_rows).map(np.array)


@st.composite
def rates(draw: st.DrawFn, n_steps: int, reference: float = 1.0) -> NDArray[np.float64]:
    """A schedule, as the rates of its first steps: constant, falling, or anything at all.

    ``reference`` is a rate that suits the data; huge and tiny ones are measured by it.

    >>> from hypothesis import find
    >>> find(rates(3), lambda rates: rates[0] > rates[1]).round(2)  # 1 / (1 + t), off round numbers
    array([0.96, 0.48, 0.32])
    """
    n_steps = check_integer("n_steps", n_steps, 0)
    reference = check_number("reference", reference, above=0)
    base = reference * draw(st.sampled_from(_BOLDNESS)) / _RATE_GRAIN
    t = np.arange(n_steps)
    shape = draw(st.sampled_from(["constant", "inverse_time", "inverse_sqrt", "any"]))
    if shape == "constant":
        return np.full(n_steps, base)
    if shape == "inverse_time":
        return np.asarray(base / (1 + t))
    if shape == "inverse_sqrt":
        return np.asarray(base / np.sqrt(1 + t))
    factors = draw(st.lists(st.integers(0, 100), min_size=n_steps, max_size=n_steps))
    return base * np.array(factors) / 100.0


@st.composite
def penalties(
    draw: st.DrawFn, rule: str = "fobos", largest_rate: float = 1.0
) -> tuple[float, float]:
    """l1 and l2: none, either, both; negligible to overwhelming; within what ``rule`` allows.

    >>> from hypothesis import find
    >>> find(penalties("sgd", largest_rate=0.5), lambda strengths: strengths[1] > 0.1)
    (0.0, 1.0)
    """
    largest_rate = check_number("largest_rate", largest_rate, least=0)
    l1, l2 = draw(st.sampled_from(_STRENGTHS)), draw(st.sampled_from(_STRENGTHS))
    if largest_rate * l2 >= RULES[rule].decay_below:
        l2 = draw(st.sampled_from([0.999, 0.5, 0.01])) / largest_rate
    return l1, l2


@st.composite
def problems(
    draw: st.DrawFn,
    losses: Sequence[str] = tuple(LOSSES),
    rules: Sequence[str] = tuple(RULES),
    step_orders: Sequence[str] = ("gradient_first",),
    intercepts: Sequence[bool] = (False,),
    max_features: int = 7,
    max_steps: int = 30,
) -> Problem:
    """A whole problem; widen or narrow it with the arguments to what an implementation supports.

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(problems(losses=["hinge"], intercepts=[False, True], max_steps=4))
    ... def test_narrowed(problem):
    ...     assert problem.loss == "hinge" and len(problem.order) <= 4
    >>> test_narrowed()
    """
    loss = draw(st.sampled_from(list(losses)))
    rule = draw(st.sampled_from(list(rules)))
    step_order = draw(st.sampled_from(list(step_orders)))
    fit_intercept = draw(st.sampled_from(list(intercepts)))
    X = draw(sparse_matrices(max_features=max_features))
    n_rows = X.shape[0]
    order = draw(orders(n_rows, max_steps))
    # Beyond this rate a gradient step expands instead of contracting, and rounding with it.
    steepness = LOSSES[loss].curvature or 1.0
    norms = np.asarray(X.multiply(X).sum(axis=1)).max()
    step_rates = draw(rates(len(order), reference=1.0 / (steepness * (norms + 1.0))))
    l1, l2 = draw(penalties(rule, float(step_rates.max())))
    importances = draw(
        st.one_of(
            st.just(np.ones(n_rows)),
            st.lists(st.sampled_from([1.0, 0.0, 0.37, 1.9]), min_size=n_rows, max_size=n_rows).map(
                np.array
            ),
        )
    )
    return Problem(
        X,
        draw(targets(n_rows, loss)),
        importances,
        order,
        step_rates,
        loss,
        rule,
        l1,
        l2,
        step_order,
        fit_intercept,
        epsilon=0.1 if draw(st.booleans()) else 0.7,
    )


def wears() -> st.SearchStrategy[Wear]:
    """When to rebase: the default, and so often that short runs see many rebases.

    >>> from hypothesis import find
    >>> wear = find(wears(), lambda wear: wear.cushion == 0.0)
    >>> wear.cushion, wear.largest_cushion
    (0.0, 1024.0)
    """
    return st.one_of(
        st.just(Wear()),
        st.builds(
            Wear,
            smallest_scale=st.sampled_from([2.0**-500, 2.0**-60, 2.0**-5, 0.9]),
            cushion=st.sampled_from([1.0, 0.01, 0.0]),
            largest_cushion=st.sampled_from([1024.0, 1.0, 0.01, 0.0]),
            nonzeros_per_weight=st.sampled_from([16.0, 1.0, 0.0]),
        ),
    )
