"""Small regularised problems with a minimum, and their dual variables, for tests of dual ascent."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from lazynet.losses import LOSSES, get_loss
from lazynet.minimum.minimise import Minimiser, Problem
from lazynet.reference.dual import DenseDualAscent
from lazynet.reference.losses import LOSSES as TWINS
from support.fractions import F, fractions


def precise_log_loss(m: Decimal) -> Decimal:
    """log(1 + exp(-m))"""
    return (1 + (-abs(m)).exp()).ln() + max(-m, Decimal(0))


#: The losses with logarithms, as functions of m = p y or of p - y in many digits.
PRECISE = {
    "log_loss": precise_log_loss,
}
#: The losses whose values, conjugates and updates need no logarithm.
RATIONAL_LOSSES = [name for name in LOSSES if name not in PRECISE]
#: The losses that have a minimum worth a search.
MINIMISED = [name for name, loss in LOSSES.items() if not loss.trivial_minimum]


def precise_loss(loss: str, p: F, y: F) -> F:
    """A loss with a logarithm as a fraction, right to some fifty digits."""
    with localcontext() as context:
        context.prec = 60
        at = p * y if LOSSES[loss].margin else p - y
        return F(PRECISE[loss](Decimal(at.numerator) / Decimal(at.denominator)))


each_loss = pytest.mark.parametrize("loss", MINIMISED)
with_and_without_intercept = pytest.mark.parametrize("fit_intercept", [False, True])

VALUES = fractions(-3, 3, 4)
NONNEGATIVE = st.just(F(0)) | fractions(0, 2, 8)
POSITIVE = fractions(F(1, 8), 2, 8)


class DualProblem(NamedTuple):
    """Rows, targets and importances, loss and penalty, kappas, a start, and what to do."""

    rows: list[list[Any]]
    targets: list[Any]
    importances: list[Any]
    loss: str
    epsilon: Any
    l1: Any
    l2: Any
    fit_intercept: bool
    kappa: Any
    kappa_intercept: Any
    duals: list[Any]
    centre: list[Any]
    centre_intercept: Any
    #: the row that each step visits; None stands for a new centre
    order: list[int | None]

    def reference(self) -> Any:
        """The reference of this problem, at its start."""
        names = ["importances", "loss", "l1", "l2", "epsilon"]
        names += ["kappa", "fit_intercept", "kappa_intercept"]
        options = {name: getattr(self, name) for name in names}
        twin = DenseDualAscent(self.rows, self.targets, zero=0 * self.l1, **options)
        twin.duals, twin.centre = list(self.duals), list(self.centre)
        if self.fit_intercept:
            twin.centre_intercept = self.centre_intercept
        return twin

    def with_numbers(self, kind: Any) -> "DualProblem":
        """The same problem with numbers of another kind."""
        lists, single = ["targets", "importances", "duals", "centre"], ["epsilon", "l1", "l2"]
        single += ["kappa", "kappa_intercept", "centre_intercept"]
        changed = {name: kind(getattr(self, name)) for name in single}
        changed |= {name: [kind(v) for v in getattr(self, name)] for name in lists}
        return self._replace(rows=[[kind(x) for x in row] for row in self.rows], **changed)

    def in_floats(self) -> "DualProblem":
        """The same problem with floats in place of fractions."""
        return self.with_numbers(float)


def targets_of(loss: str) -> Any:
    """Targets that the loss takes."""
    return st.sampled_from([F(-1), F(1)]) if LOSSES[loss].margin else VALUES


def interval_of(loss: str, y: Any, epsilon: Any) -> tuple[Any, Any]:
    """Where the conjugate is finite: between the slopes far from the target, or infinite."""
    ends = [-TWINS[loss][1](place, y, epsilon) for place in (10**9, -(10**9))]
    low, high = (end if abs(end) < 1e6 else math.copysign(math.inf, end) for end in ends)
    return low, high


def duals_of(loss: str, y: Any, epsilon: Any) -> Any:
    """Dual variables of an example where the conjugate is finite, the ends of the interval too."""
    low, high = (F(min(max(end, -6), 6)) for end in interval_of(loss, y, epsilon))
    return fractions(low, high, 8)


def dual_within(loss: str, share: float, y: Any, epsilon: Any) -> float:
    """A share of the way from 0 to an end of this interval, or to a dual variable of size 1."""
    low, high = interval_of(loss, y, epsilon)
    return float(share * np.clip(max(high, low, key=abs), -1.0, 1.0))


@st.composite
def dual_problems(draw: Any, losses: Any = RATIONAL_LOSSES, n_steps: int = 8) -> DualProblem:
    """Up to 5 rows of up to 3 features in exact fractions; logarithms need ``in_floats``."""
    d, n = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    loss, epsilon = draw(st.sampled_from(losses)), draw(POSITIVE)
    targets = draw(st.lists(targets_of(loss), min_size=n, max_size=n))
    importances = draw(
        st.lists(st.sampled_from([F(1), F(2), F(0), F(3), F(1, 3)]), min_size=n, max_size=n).filter(
            any
        )
    )
    l2 = draw(NONNEGATIVE)
    return DualProblem(
        rows=draw(
            st.lists(st.lists(VALUES, min_size=d, max_size=d), min_size=n, max_size=n),
        ),
        targets=targets,
        importances=importances,
        loss=loss,
        epsilon=epsilon,
        l1=draw(NONNEGATIVE),
        l2=l2,
        fit_intercept=draw(st.booleans()),
        kappa=draw(POSITIVE | st.just(F(0)) if l2 else POSITIVE),
        kappa_intercept=draw(POSITIVE),
        duals=[draw(st.just(F(0)) | duals_of(loss, y, epsilon)) for y in targets],
        centre=draw(st.lists(st.just(F(0)) | VALUES, min_size=d, max_size=d)),
        centre_intercept=draw(VALUES),
        order=draw(st.lists(st.none() | st.integers(0, n - 1), max_size=n_steps)),
    )


def advance(twin: Any, order: list[int | None]) -> None:
    """Take the steps of ``order``; where it says None, make the weights the new centre."""
    for i in order:
        if i is None:
            twin.recentre()
        else:
            twin.step(i)


def grid_problem(
    loss: str, *, l1: float, l2: float, fit_intercept: bool, n: int = 8, d: int = 3, seed: int = 0
) -> DualProblem:
    """A problem of a seed in floats, with importances, an empty row and a start at zero."""
    rng = np.random.default_rng([seed, n, d])
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0.0)
    X[-1] = 0.0
    y = rng.choice([-1.0, 1.0], n) if LOSSES[loss].margin else 2.0 * rng.normal(size=n)
    return DualProblem(
        rows=X.tolist(), targets=y.tolist(), importances=rng.choice([1.0, 2.0, 0.5], n).tolist(),
        loss=loss, epsilon=0.4, l1=l1, l2=l2, fit_intercept=fit_intercept, kappa=0.1,
        kappa_intercept=0.1, duals=[0.0] * n, centre=[0.0] * d, centre_intercept=0.0, order=[],
    )  # fmt: skip


def run_to_the_minimum(problem: DualProblem, max_epochs: int = 5000) -> Any:
    """The reference after so many epochs that its state has come to rest, or after the most.

    Where the centre and the dual variables rest, the centred problem and P have one minimum.
    """
    twin = problem.reference()
    rng = np.random.default_rng(0)
    for _ in range(max_epochs):
        before = np.array([*twin.duals, *twin.centre, twin.centre_intercept])
        for i in rng.permutation(len(problem.rows)).tolist():
            twin.step(i)
        twin.recentre()
        after = np.array([*twin.duals, *twin.centre, twin.centre_intercept])
        if np.abs(after - before).max() <= 1e-15 * (1.0 + np.abs(before).max()):
            break
    return twin


def minimiser_of(problem, kind=Minimiser, dtype=np.float64):
    """A ``Minimiser`` of a problem in floats."""
    loss = replace(get_loss(problem.loss), epsilon=problem.epsilon)
    X = sparse.csr_matrix(np.array(problem.rows, dtype=dtype))
    counts = None if problem.importances is None else np.array(problem.importances)
    given = Problem(X, np.array(problem.targets), counts, loss, problem.fit_intercept)
    return kind(given, 0)
