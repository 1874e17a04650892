"""Every engine that is broken on purpose fails the property of equal weights.

Errata are numbered as in test_closed_forms.py.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from scipy import sparse
from support import recipe

from lazynet import FromArray, Stepper
from lazynet.engines import ClockEngine, Wear
from lazynet.kernels import clock as clock_kernel
from lazynet.reference import PlainClock, PlainTables
from lazynet.testing import assert_matches_twin, problems
from lazynet.trainer import STEP_ORDERS
from lazynet.verify import verify

# --- broken lazy forms, in Python ------------------------------------------------------------


class OneStepEarly(PlainClock):
    """Predicts with the shrink of the present step already applied."""

    def step(self, indices, values, target, weight=1):
        self.advance(*self.map(self.schedule(self.t), self.l1, self.l2))
        self.advance, held_back = (lambda a, b: None), self.advance
        try:
            return super().step(indices, values, target, weight)
        finally:
            self.advance = held_back


class OneStepLate(PlainClock):
    """Uses the rate of the step before for the shrink."""

    def advance(self, a, b):
        a, b = self.map(self.schedule(max(self.t - 1, 0)), self.l1, self.l2)
        super().advance(a, b)


class ShrinksTouchedWeightsTwice(PlainClock):
    """Erratum E9: the penalty is in the gradient as well as in the lazy update."""

    def store(self, j, w):
        a, b = self.map(self.schedule(self.t), self.l1, self.l2)
        shrunk = max(a * abs(w) - b, 0.0)
        super().store(j, shrunk if w > 0 else -shrunk)


class LosesTheSign(PlainClock):
    """Stores the magnitude alone."""

    def store(self, j, w):
        super().store(j, abs(w))


class ForgetsToClip(PlainClock):
    """Lets a weight pass through zero."""

    def load(self, j):
        z = self.stored[j]
        return (abs(z) - self.shift) * self.scale * (1 if z > 0 else -1)


class OldScaleInTheShift(PlainClock):
    """Divides by the product before the step: a clock with the printed Theorem 1 in it."""

    def advance(self, a, b):
        self.shift = self.shift + b / self.scale
        self.scale = self.scale * a


class PrintedTheorem1(PlainTables):
    """Erratum E1: B(t) = B(t-1) + eta_t / P(t-1)."""

    def advance(self, a, b):
        self.P.append(self.P[-1] * a)
        self.B.append(self.B[-1] + b / self.P[-2])


class NoL1BeforeB(PlainTables):
    """Erratum E2: the strength l1 is missing."""

    def advance(self, a, b):
        super().advance(a, b / self.l1 if self.l1 else b)


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
    OneStepLate,
    ShrinksTouchedWeightsTwice,
    LosesTheSign,
    ForgetsToClip,
    OldScaleInTheShift,
    PrintedTheorem1,
    NoL1BeforeB,
    RebaseSkipsStoredZeros,
    FlushDropsTheLastShrink,
]


def assert_caught(build):
    """The property, run on what ``build`` makes of a problem, fails as an assertion."""

    # No shrinking: that a counterexample exists is all that is asked.
    @settings(
        max_examples=2000,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(problem=problems(step_orders=STEP_ORDERS, intercepts=(False, True)))
    def property_holds(problem):
        assert_matches_twin(build(problem), problem)

    with pytest.raises(AssertionError, match="away from the dense twin"):
        property_holds()


@pytest.mark.parametrize("form", BROKEN_FORMS, ids=lambda form: form.__name__)
def test_a_broken_form_is_caught(form):
    """Each of the ways in which a lazy rule usually goes wrong."""
    options = {"budget": 5} if form is FlushDropsTheLastShrink else {}
    assert_caught(
        lambda problem: form(
            problem.n_features, schedule=problem.rate, **problem.options, **options
        )
    )


# --- broken engines, with the compiled kernel inside ------------------------------------------


class ForgetsToSweep(ClockEngine):
    """Resets the clock without bringing the weights current."""

    def _sweep(self):
        clock_kernel.start(self.fields)


class SweepsOnlyLiveWeights(ClockEngine):
    """Leaves the stored value of a weight that is zero by now."""

    def _sweep(self):
        current = self.weights()
        self.stored = np.where(current != 0, current, self.stored)
        clock_kernel.start(self.fields)


class ReadsWithoutTheShift(ClockEngine):
    """The classic L2 rescaling, used with an l1 penalty."""

    def weights(self, out=None):
        return self.stored * self.fields[0]


BROKEN_ENGINES = [ForgetsToSweep, SweepsOnlyLiveWeights, ReadsWithoutTheShift]
RESTLESS = Wear(cushion=0.01, largest_cushion=0.01)


@pytest.mark.parametrize("engine", BROKEN_ENGINES, ids=lambda engine: engine.__name__)
def test_a_broken_engine_is_caught(engine):
    """The property sees through the compiled kernel as well."""

    def build(problem):
        stepper = Stepper(problem.n_features, schedule=FromArray(problem.rates), **problem.options)
        stepper.engine = engine(problem.n_features, RESTLESS)
        stepper.task = RESTLESS.task(
            problem.n_features,
            stepper.recipe.loss,
            problem.epsilon,
            problem.step_order,
            problem.fit_intercept,
        )
        return stepper

    assert_caught(build)


def test_verify_reports_a_broken_engine():
    """What users call on their own data says DISAGREE, and where."""
    X = sparse.random(50, 30, density=0.2, format="csr", random_state=0)
    X.sort_indices()
    y = np.where(np.arange(50) % 2 == 0, 1.0, -1.0)
    report = verify(recipe(l1=0.01, eta0=0.5), lambda d: ReadsWithoutTheShift(d), X, y, None, 50, 1)
    assert not report.agrees
    assert "DISAGREE" in str(report)
    assert report.absolute.amount > 1e-3
    assert 0 <= report.absolute.step < 50
