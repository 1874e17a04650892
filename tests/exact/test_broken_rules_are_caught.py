"""Every lazy form that is broken on purpose fails the property of equal weights.

Errata are numbered as in test_closed_forms.py.
"""

import pytest
from hypothesis import given
from support.algorithms import BOTH_ORDERS
from support.caught import caught

from lazynet.reference import PlainClock, PlainTables
from lazynet.verify.strategies import assert_matches_reference, problems


class OneStepEarly(PlainClock):
    """Predicts with the shrink of the present step already applied."""

    def step(self, indices, values, target, importance=1):
        self.advance(*self.map(self.schedule(self.t), self.l1, self.l2))
        self.advance, held_back = (lambda a, b: None), self.advance
        try:
            return super().step(indices, values, target, importance)
        finally:
            self.advance = held_back


class PrintedTheorem1(PlainTables):
    """Erratum E1: B(t) = B(t-1) + eta_t / P(t-1)."""

    def advance(self, a, b):
        self.P.append(self.P[-1] * a)
        self.B.append(self.B[-1] + b / self.P[-2])


class RebaseSkipsStoredZeros(PlainClock):
    """A stale z below the old shift comes back to life."""

    def advance(self, a, b):
        super().advance(a, b)
        if self.shift * self.scale > 0.01:
            self.stored = [
                w if w != 0 else z for w, z in zip(self.weights, self.stored, strict=True)
            ]
            self.reset()


class FlushDropsTheLastShrink(PlainTables):
    """Erratum E10: off by one at the end of the tables."""

    def flush(self):
        self.P.pop()
        self.B.pop()
        self.psi = [min(psi, len(self.P) - 1) for psi in self.psi]
        super().flush()


BROKEN_FORMS = [
    OneStepEarly,
    PrintedTheorem1,
    RebaseSkipsStoredZeros,
    FlushDropsTheLastShrink,
]


@pytest.mark.parametrize("form", BROKEN_FORMS, ids=lambda form: form.__name__)
def test_a_broken_form_is_caught(form):
    """The property finds each of the ways in which a lazy rule usually goes wrong."""
    options = {"budget": 5} if form is FlushDropsTheLastShrink else {}

    @caught(2000, match="away from the dense reference")
    @given(problem=problems(step_orders=BOTH_ORDERS, intercepts=(False, True)))
    def property_holds(problem):
        lazy = form(problem.n_features, schedule=problem.rate, **problem.plain_options, **options)
        assert_matches_reference(lazy, problem)
