"""Tests for lazy rules of this package and of others; needs Hypothesis.

``assert_matches_reference`` compares an object that has ``weights`` and
``step(indices, values, target, importance)`` with the dense reference of any exact rule, after
every step, on problems that Hypothesis draws and shrinks; docs/check_your_own_rule.md has examples.
For the rules of the affine family the tolerance is derived from the number of steps and the unit
roundoff; for rules that are not affine it is 1e-10 of 1 + the largest weight (``lazynet.verify``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

try:
    from hypothesis import strategies as st
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "lazynet.verify.strategies needs Hypothesis: pip install 'lazynet-linear[test]'"
    ) from error

from lazynet.engines.catalogue import ALGORITHMS, RuleLike, check_rule
from lazynet.losses import LOSS_OBJECTS, LOSSES, LossLike, get_loss
from lazynet.parameters import check_integer, check_number
from lazynet.rules.affine import Proximal
from lazynet.rules.base import Affine
from lazynet.verify.reference import Problem, SteppingModel, assert_matches_reference

__all__ = [
    "EXACT_RULES",
    "Problem",
    "SteppingModel",
    "assert_matches_reference",
    "orders",
    "penalties",
    "problems",
    "rates",
    "sparse_matrices",
    "targets",
]

#: The names of all rules whose lazy weights equal dense weights after every step, and which learn
#: from single examples.  (SAGA needs the row numbers of a dataset; ``estimator.verify`` compares
#: SAGA with its reference.)
EXACT_RULES = tuple(name for name, row in ALGORITHMS.items() if row.exact and row.rule.streams)

# Readable numbers whose sums and products are rarely at a kink, which would end a comparison.
_GRAIN = 0.07
_TARGET_GRAIN = 0.05
# Hypothesis shrinks towards the first entries.
_STRENGTHS = (0.0, 1.0, 0.1, 10.0, 1e-2, 1e-4, 1e-8, 1e-12, 1e-16, 1e-300)
_BOLDNESS = (0.96, 0.3, 1.82, 0.03, 1e-3, 1e-8, 1e-14, 29.0)
_IMPORTANCES = (1.0, 0.0, 0.37, 1.9)


@st.composite
def sparse_matrices(
    draw: st.DrawFn,
    max_rows: int = 6,
    max_features: int = 7,
    min_features: int = 1,
    scale: float = 1.0,
    max_copies: int = 1,
) -> sparse.csr_matrix:
    """CSR matrices with empty rows and columns, full and repeated rows, and explicit zeros.

    Values lie between -3 and 3, times ``scale``.  The matrix has up to ``max_copies`` copies of the
    columns with other sizes side by side: kernels process long rows with vector instructions.

    >>> from hypothesis import find
    >>> X = find(sparse_matrices(), lambda X: X.nnz > X.count_nonzero())
    >>> X.nnz, X.toarray()
    (1, array([[0.]]))
    >>> find(sparse_matrices(max_copies=3), lambda X: X.shape[1] == 3 and X[0, 0] > 1).toarray()
    array([[1.05 , 0.525, 0.35 ]])
    """
    max_rows = check_integer("max_rows", max_rows, 1)
    min_features = check_integer("min_features", min_features, 1)
    max_features = check_integer("max_features", max_features, min_features)
    scale = check_number("scale", scale)
    max_copies = check_integer("max_copies", max_copies, 1)
    n_features = draw(st.integers(min_features, max_features))
    row = st.dictionaries(st.integers(0, n_features - 1), st.integers(-43, 43), max_size=n_features)
    rows = draw(st.lists(row, min_size=1, max_size=max_rows))
    if draw(st.booleans()):
        rows.append(rows[0])
    copies = range(draw(st.integers(1, max_copies)))
    in_order = [sorted(cells.items()) for cells in rows]
    indices = [j + c * n_features for cells in in_order for c in copies for j, _ in cells]
    data = [
        _readable(grains * _GRAIN / (c + 1)) * scale
        for cells in in_order
        for c in copies
        for _, grains in cells
    ]
    indptr = np.cumsum([0] + [len(copies) * len(cells) for cells in rows])
    return sparse.csr_matrix(
        (np.array(data, dtype=np.float64), np.array(indices, dtype=np.int32), indptr),
        shape=(len(rows), n_features * len(copies)),
    )


@st.composite
def orders(
    draw: st.DrawFn, n_rows: int, max_steps: int = 40, min_steps: int = 1
) -> NDArray[np.int64]:
    """The row that each step visits, in any order, with rows left out or repeated.

    The number of steps is the larger of two numbers that are drawn first.  Hypothesis repeats
    small numbers often: with one number, half of a hundred orders can have fewer than ten steps.

    >>> from hypothesis import find
    >>> find(orders(n_rows=3), lambda order: len(set(order)) == 3)
    array([0, 1, 2])
    """
    n_rows = check_integer("n_rows", n_rows, 1)
    min_steps = check_integer("min_steps", min_steps, 1)
    max_steps = check_integer("max_steps", max_steps, min_steps)
    length = st.integers(min_steps, max_steps)
    n_steps = max(draw(length), draw(length))
    rows = draw(st.lists(st.integers(0, n_rows - 1), min_size=n_steps, max_size=n_steps))
    return np.array(rows, dtype=np.int64)


def targets(n_rows: int, loss: LossLike = "log_loss") -> st.SearchStrategy[NDArray[np.float64]]:
    """Targets in the domain of ``loss``.

    >>> from hypothesis import find
    >>> find(targets(2, loss="hinge"), lambda y: y[0] != y[1])
    array([ 1., -1.])
    """
    n_rows = check_integer("n_rows", n_rows, 0)
    one: st.SearchStrategy[float] = (
        st.sampled_from([1.0, -1.0])
        if get_loss(loss).margin
        else st.integers(-70, 70).map(lambda k: _readable(k * _TARGET_GRAIN))
    )
    return st.lists(one, min_size=n_rows, max_size=n_rows).map(np.array)


@st.composite
def rates(draw: st.DrawFn, n_steps: int, reference: float = 1.0) -> NDArray[np.float64]:
    """The rates of the first ``n_steps`` steps of a schedule: constant, falling, or arbitrary.

    ``reference`` is a good rate for the data; huge and tiny rates are multiples of it.

    >>> from hypothesis import find
    >>> find(rates(3), lambda rates: rates[0] > rates[1])  # 0.96 / (1 + t)
    array([0.96, 0.48, 0.32])
    """
    n_steps = check_integer("n_steps", n_steps, 0)
    reference = check_number("reference", reference, above=0)
    base = _readable(reference * draw(st.sampled_from(_BOLDNESS)))
    t = np.arange(n_steps)
    shape = draw(st.sampled_from(["constant", "inverse_time", "inverse_sqrt", "any"]))
    if shape == "any":
        factors = draw(st.lists(st.integers(0, 100), min_size=n_steps, max_size=n_steps))
        numbers: Any = base * np.array(factors) / 100.0
    else:
        power = {"constant": 0.0, "inverse_time": 1.0, "inverse_sqrt": 0.5}[shape]
        numbers = base / (1.0 + t) ** power
    return np.array([_readable(number) for number in numbers], dtype=np.float64)


@st.composite
def penalties(
    draw: st.DrawFn, rule: RuleLike = "fobos", largest_rate: float = 1.0
) -> tuple[float, float]:
    """The strengths l1 and l2: each zero, negligible or overwhelming, as far as ``rule`` allows.

    >>> from hypothesis import find
    >>> find(penalties("sgd", largest_rate=0.5), lambda strengths: strengths[1] > 0.1)
    (0.0, 1.0)
    """
    largest_rate = check_number("largest_rate", largest_rate, least=0)
    chosen = check_rule("rule", rule)
    l1, l2 = draw(st.sampled_from(_STRENGTHS)), draw(st.sampled_from(_STRENGTHS))
    if isinstance(chosen, Affine):
        if not chosen.is_affine:
            return l1, 0.0
        if largest_rate * l2 >= chosen.decay_below:
            share = draw(st.sampled_from([0.5, 0.999, 0.01]))
            l2 = min(_readable(share / largest_rate), 0.9999 * chosen.decay_below / largest_rate)
    return l1, l2


@st.composite
def problems(
    draw: st.DrawFn,
    losses: Sequence[LossLike] = tuple(LOSSES),
    rules: Sequence[RuleLike] = ("fobos", "sgd"),
    step_orders: Sequence[str] = ("gradient_first",),
    intercepts: Sequence[bool] = (False,),
    max_features: int = 7,
    max_steps: int = 40,
    *,
    min_steps: int = 1,
    l1: float | None = None,
    l2: float | None = None,
    importances: Sequence[float] = _IMPORTANCES,
    scale: float = 1.0,
    rate: float | None = None,
    max_copies: int = 4,
) -> Problem:
    """A whole problem; the arguments restrict it to problems that an implementation supports.

    ``l1`` and ``l2`` fix the strengths, ``importances`` lists the possible importances of rows,
    ``scale`` multiplies the values of X, ``rate`` fixes the rate of all steps.  ``step_orders``
    applies to the names of affine rules, such as "sgd".  X has up to ``max_copies`` copies of its
    columns (``sparse_matrices``).

    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(problems(losses=["hinge"], intercepts=[False, True], max_steps=4, l1=0.5))
    ... def test_narrowed(problem):
    ...     assert problem.loss == "hinge" and problem.l1 == 0.5 and len(problem.order) <= 4
    >>> test_narrowed()
    """
    importances = [
        check_number("importances", number, least=0)
        for number in _nonempty("importances", importances)
    ]
    loss = draw(st.sampled_from(_nonempty("losses", losses)))
    if isinstance(loss, str) and loss in LOSS_OBJECTS and draw(st.booleans()):
        loss = LOSS_OBJECTS[loss](epsilon=0.7)
    rule = draw(st.sampled_from(_nonempty("rules", rules)))
    step_order = draw(st.sampled_from(_nonempty("step_orders", step_orders)))
    named = check_rule("rule", rule)
    if isinstance(rule, str) and isinstance(named, Proximal) and step_order != named.step_order:
        rule = type(named)(step_order=step_order)
    fit_intercept = draw(st.sampled_from(_nonempty("intercepts", intercepts)))
    X = draw(sparse_matrices(max_features=max_features, scale=scale, max_copies=max_copies))
    n_rows = X.shape[0]
    order = draw(orders(n_rows, max_steps, min_steps))
    if rate is None:
        # Beyond this rate a gradient step expands distances, and so amplifies rounding.
        steepness = get_loss(loss).curvature or 1.0
        norms = np.asarray(X.multiply(X).sum(axis=1)).max()
        step_rates = draw(rates(len(order), reference=1.0 / (steepness * (norms + 1.0))))
    else:
        step_rates = np.full(len(order), check_number("rate", rate, least=0))
    l1_drawn, l2_drawn = draw(penalties(rule, float(step_rates.max())))
    y = draw(targets(n_rows, loss))
    # The first entry for all rows, or any entry for each row.
    any_of = st.lists(st.sampled_from(importances), min_size=n_rows, max_size=n_rows)
    of_rows = draw(st.just([importances[0]] * n_rows) | any_of)
    return Problem(
        X, y, np.array(of_rows, dtype=np.float64), order, step_rates, loss, rule,
        l1_drawn if l1 is None else l1, l2_drawn if l2 is None else l2, fit_intercept,
    )  # fmt: skip


def _nonempty(name: str, values: Sequence[Any]) -> list[Any]:
    """The values as a list; refuses an empty list by name."""
    if not len(values):
        raise ValueError(f"{name} must list at least one value, got {values!r}")
    return list(values)


def _readable(number: float) -> float:
    """``number`` rounded to three significant digits."""
    return float(f"{number:.3g}")
