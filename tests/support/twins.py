"""Engines of one or several outputs beside the dense twins of their outputs, chunk by chunk."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from lazynet import FromArray
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.kernels.steps import Targets
from lazynet.losses import LOSSES, get_loss
from lazynet.penalties import ElasticNet
from lazynet.reference.outputs import DenseSoftmax, softmax_loss
from lazynet.verify.strategies import Problem, problems
from lazynet.verify.tolerance import AGREE
from lazynet.verify.twin import BoundedTwin, new_reference
from support import examples_of, plan
from support.algorithms import penalty_of
from support.engines import apart, numbered
from support.matrices import with_rows_arranged

#: Strengths of l1 and l2.
STRENGTHS = st.sampled_from([1e-3, 0.0, 1e-8, 0.1, 1.0, 10.0])
# Averages are compared while rounding explains no more of the weights.
_SURE = 1e-11
# The size of a prediction from which on a softmax may diverge.
_LARGEST_PREDICTION = 1e6
# The values of the nearby softmax are larger by this share, and its slopes differ by as much.  They
# may move the weights by that many times the share before the comparison ends.
_NUDGE, _AMPLIFIED = 2.0**-36, 1000.0


# --- problems -----------------------------------------------------------------------------------


@st.composite
def disordered_problems(draw, *arguments, **options):
    """``problems`` with or without an intercept, whose rows may have their columns in any order."""
    problem = draw(problems(*arguments, **{"intercepts": (False, True), **options}))
    if draw(st.booleans()):
        return problem
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation
    return dataclasses.replace(problem, X=with_rows_arranged(problem.X, order))


def seeded_problem(seed, losses=tuple(LOSSES), n_steps=25):
    """A problem that depends on the seed alone: any loss of ``losses``, of a seed in turn.

    What Hypothesis draws depends on its version and on where packages are installed, so that a
    number about the problems that it draws is no fixed number.
    """
    rng = np.random.default_rng(seed)
    loss = sorted(losses)[seed % len(losses)]
    n_rows, n_features = rng.integers(2, 9), rng.integers(1, 7)
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.6)
    margin = get_loss(loss).margin
    return Problem(
        X=sparse.csr_matrix(X),
        y=rng.choice([-1.0, 1.0], n_rows) if margin else rng.normal(size=n_rows),
        importances=rng.choice([0.5, 1.0, 2.0], n_rows), order=rng.integers(0, n_rows, n_steps),
        rates=rng.uniform(0.01, 0.2) / np.sqrt(1.0 + np.arange(n_steps)), loss=loss,
        l1=float(rng.choice([0.0, 1e-3, 0.1])), l2=float(rng.choice([0.0, 1e-3, 0.1])),
        fit_intercept=bool(rng.integers(2)),
    )  # fmt: skip


@st.composite
def chunks(draw, n_steps):
    """The ends of chunks: of a row each, or some of several rows."""
    if draw(st.booleans()):
        return list(range(n_steps + 1))
    return [0, *sorted(draw(st.sets(st.integers(1, n_steps), max_size=6)) - {n_steps}), n_steps]


def plan_of(problem, rule, *, l1=None, l2=None, schedule=None, average=None, softmax=False):
    """The plan of a problem with a rule, which may be refused l2, and with other strengths."""
    strengths = problem.l1 if l1 is None else l1, problem.l2 if l2 is None else l2
    penalty = penalty_of(rule, *strengths)
    given = dict(
        loss="log_loss" if softmax else problem.loss, rule=rule, average=average,
        schedule=FromArray(problem.rates) if schedule is None else schedule,
        fit_intercept=problem.fit_intercept, positive=rule.positive,
    )  # fmt: skip
    chosen = plan(l1=penalty.l1, l2=penalty.l2, **given)
    try:
        chosen.steps(problem.order, 0)
    except ValueError:  # SGD refuses a rate above 1 / l2
        chosen = dataclasses.replace(chosen, penalty=ElasticNet(penalty.l1, 0.0, rule.positive))
    return dataclasses.replace(chosen, softmax=softmax)


def targets_of(problem, n_outputs, seed):
    """A column of targets for each output; the first is the problem's own."""
    rng = np.random.default_rng(seed)
    columns = [problem.y]
    for _ in range(n_outputs - 1):
        if get_loss(problem.loss).margin:
            columns.append(rng.choice([-1.0, 1.0], len(problem.y)))
        else:
            columns.append(problem.y * rng.uniform(-2.0, 2.0))
    return np.column_stack(columns)


# --- engines ------------------------------------------------------------------------------------


class Run:
    """An engine that visits the rows of a problem.

    ``n_outputs`` is None for an engine of one output.  The targets of further outputs, or the
    classes of the softmax, are drawn from the ``seed``.
    """

    def __init__(self, problem, chosen, n_outputs=None, *, wear=None, engine=None, seed=0):
        self.problem, self.plan, self.n_outputs, self.wear = problem, chosen, n_outputs, wear
        self.numbers = self.codes = None
        given = problem.y
        if chosen.softmax:
            self.codes = np.random.default_rng(seed).integers(0, n_outputs, len(problem.y))
        else:
            self.numbers = targets_of(problem, n_outputs or 1, seed)
        if n_outputs is not None:
            given = None
            self.targets = Targets(0, n_outputs, numbers=self.numbers, labels=self.codes)
        self.engine = self.new_engine() if engine is None else engine
        self.examples = examples_of(chosen, problem.X, given, problem.importances)

    def __repr__(self):
        return f"Run({self.problem!r}, {self.plan!r}, {self.n_outputs}, {self.wear!r})"

    def new_engine(self):
        """An engine of the plan, with the wear."""
        d = self.problem.n_features
        if self.n_outputs is None:
            return self.plan.new_engine(d, wear=self.wear)
        engine = self.plan.new_engine(d, self.n_outputs)
        if self.wear is not None:
            # Some engines have a smallest scale of their own.
            least = max(self.wear.smallest_scale, engine.wear.smallest_scale)
            engine.wear = dataclasses.replace(self.wear, smallest_scale=least)
        return engine

    def take(self, start, stop):
        """Take the steps from ``start`` up to ``stop`` as one chunk; returns the summed losses."""
        steps = self.plan.steps(self.problem.order[start:stop], start)
        task, losses = self.plan.task(self.engine), np.zeros(self.n_outputs or 1)
        if self.n_outputs is None:
            self.engine.take(self.examples, steps, task, start)
        else:
            self.engine.learn(
                self.examples, self.targets, steps, task, start, losses, self.plan.softmax
            )
        return losses.sum()

    def last(self):
        """The last weights, a row for each output, with the intercepts in the last column."""
        return np.column_stack(
            [self.engine.coefficients(last=True), self.engine.intercepts(last=True)]
        )

    def model(self):
        """The weights that predict, as ``last``."""
        return np.column_stack([self.engine.coefficients(), self.engine.intercepts()])

    def example(self, step, k=0):
        """What output k learns at a step, and the number of the row for a rule that asks for it."""
        row = int(self.problem.order[step])
        indices, values, _, importance = self.problem.example(step)
        example = indices, values, float(self.numbers[row, k]), importance
        return example, numbered(self.plan.rule, row)


# --- twins --------------------------------------------------------------------------------------


class Twins:
    """A dense twin for each output, with the bound of ``lazynet.verify``."""

    def __init__(self, run, **changes):
        chosen, problem = run.plan, run.problem
        row = ALGORITHMS[chosen.rule.name]
        options = dict(
            schedule=chosen.schedule if chosen.rates_from_data else problem.rate, loss=chosen.loss,
            rule=chosen.rule, l1=chosen.penalty.l1, l2=chosen.penalty.l2,
            fit_intercept=chosen.fit_intercept, positive=chosen.penalty.positive,
            largest_cushion=run.engine.wear.largest_cushion, n_rows=len(problem.y),
        )  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            # An inexact rule is held against its own plain form.
            patch.setitem(ALGORITHMS, row.rule.name, dataclasses.replace(row, exact=True))
            self.each = [
                BoundedTwin(problem.n_features, **(options | changes))
                for _ in range(run.n_outputs or 1)
            ]
        self.run = run

    def step(self, step):
        """Take a step; returns whether the engine can still be compared."""
        for k, twin in enumerate(self.each):
            example, number = self.run.example(step, k)
            twin.step(*example, **number)
        return all(twin.comparable for twin in self.each)

    def rows(self):
        """The weights, as ``Run.last``."""
        return np.array([[*twin.weights, twin.intercept] for twin in self.each])

    def surely_near(self):
        """Whether rounding explains next to nothing of the weights."""
        return all(
            twin.nearby is not None or twin.bound <= _SURE * (1.0 + np.abs(twin.weights).max())
            for twin in self.each
        )

    def assert_near(self, found, loss):
        """Every output is within its bound, or within 1e-10 where none is derived."""
        for k, twin in enumerate(self.each):
            if twin.nearby is None:
                distance = twin.distance(found[k, :-1], found[k, -1])
                assert distance <= twin.bound, f"output {k} is {distance:.3g} away from the twin"
            else:
                assert apart(found[k, :-1], twin.weights) <= AGREE, f"weights of output {k}"
                assert apart(found[k, -1], twin.intercept) <= AGREE, f"intercept of output {k}"


class SoftmaxTwins:
    """The dense classes of a softmax, and others on values that are a little larger."""

    def __init__(self, run, kind=DenseSoftmax):
        chosen = run.plan
        self.run, self.loss = run, 0.0
        self.twin, self.nudged = (
            kind([
                new_reference(
                    chosen.rule, run.problem.n_features, loss=chosen.loss, penalty=chosen.penalty,
                    schedule=chosen.schedule if chosen.rates_from_data else run.problem.rate,
                    fit_intercept=chosen.fit_intercept,
                )
                for _ in range(run.n_outputs)
            ])
            for _ in range(2)
        )  # fmt: skip
        # Rounding changes a probability near 1 in its last digits, and so its slope near 0 as a
        # whole: no larger value shows what a run makes of this where all weights are back at 0.
        plain = self.nudged.slopes
        self.nudged.slopes = lambda *given: [
            slope + (-1) ** k * _NUDGE for k, slope in enumerate(plain(*given))
        ]

    def step(self, step):
        indices, values, _, importance = self.run.problem.example(step)
        label = int(self.run.codes[self.run.problem.order[step]])
        predictions = self.twin.step(indices, values, label, importance)
        self.nudged.step(indices, [x * (1.0 + _NUDGE) for x in values], label, importance)
        self.loss += importance * softmax_loss(predictions, label)
        far = max(map(apart, map(np.array, self.nudged.weights), self.twin.weights))
        return far <= _AMPLIFIED * _NUDGE and max(map(abs, predictions)) < _LARGEST_PREDICTION

    def rows(self):
        return np.array([[*twin.weights, twin.intercept] for twin in self.twin.twins])

    def surely_near(self):
        return True

    def assert_near(self, found, loss):
        for row, expected in zip(found, self.rows(), strict=True):
            assert apart(row[:-1], expected[:-1]) <= AGREE
            assert apart(row[-1], expected[-1]) <= AGREE
        assert loss == pytest.approx(self.loss, rel=1e-9, abs=1e-9)
        self.loss = 0.0


class PlainMean:
    """The average of rows of weights, by the definition of its omegas."""

    def __init__(self, average):
        self.average, self.sums, self.total = average, 0.0, 0.0

    def count(self, step, rows):
        omega = float(self.average.counts(step, step + 1)[0])
        self.sums, self.total = self.sums + omega * rows, self.total + omega

    def assert_near(self, found, last):
        expected = self.sums / self.total if self.total else last
        for row, other in zip(found, expected, strict=True):
            assert apart(row[:-1], other[:-1]) <= AGREE, "average"
            assert apart(row[-1], other[-1]) <= AGREE, "average of the intercept"


def assert_matches_twins(run, twins=None, ends=None, spoil=None):
    """Compare at the ends of all chunks, by default of every step; returns the steps compared.

    Comparing ends where rounding may decide a step, or where the run diverges.  ``spoil`` changes
    the engine after every chunk.
    """
    if twins is None:
        twins = SoftmaxTwins(run) if run.plan.softmax else Twins(run)
    mean = None if run.plan.average is None else PlainMean(run.plan.average)
    n_steps = len(run.problem.order)
    for start, stop in itertools.pairwise(range(n_steps + 1) if ends is None else ends):
        for step in range(start, stop):
            if not twins.step(step):
                return start
            if mean is not None:
                mean.count(step, twins.rows())
        loss = run.take(start, stop)
        if spoil is not None:
            spoil(run.engine)
        twins.assert_near(run.last(), loss)
        if mean is not None and twins.surely_near():
            mean.assert_near(run.model(), twins.rows())
    return n_steps
