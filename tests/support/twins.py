"""Engines of one or several outputs beside the dense twins of their outputs, chunk by chunk."""

import dataclasses
import functools
import itertools
from collections import Counter

import numpy as np
import pytest

from lazynet import FromArray
from lazynet.engines.catalogue import ALGORITHMS, new_engine
from lazynet.kernels.steps import OutputTargets
from lazynet.losses import get_loss
from lazynet.penalties import ElasticNet
from lazynet.reference import DenseGroups
from lazynet.reference.outputs import DenseSoftmax, softmax_loss
from lazynet.verify.reference import BoundedReference, new_reference
from lazynet.verify.tolerance import AGREE, UNIT_ROUNDOFF, distance_to_kink
from support import apart, examples_of, plan
from support.algorithms import penalty_of

# Averages are compared while rounding explains no more of the weights.
_SURE = 1e-11
# The size of a prediction from which on a softmax may diverge.
_LARGEST_PREDICTION = 1e6
# The values of the nearby softmax are larger by this share, and its slopes differ by as much.  They
# may move the weights by that many times the share before the comparison ends.
_NUDGE, _AMPLIFIED = 2.0**-36, 1000.0


# --- engines ------------------------------------------------------------------------------------


def plan_of(problem, rule, schedule, average, softmax):
    """The plan of a problem with a rule, which may be refused l2."""
    penalty = penalty_of(rule, problem.l1, problem.l2)
    chosen = plan(
        loss="log_loss" if softmax else problem.loss, rule=rule, average=average,
        schedule=FromArray(problem.rates) if schedule is None else schedule, l1=penalty.l1,
        l2=penalty.l2, fit_intercept=problem.fit_intercept, positive=rule.positive,
    )  # fmt: skip
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


class Run:
    """An engine that visits the rows of a problem by a rule.

    ``n_outputs`` is None for an engine of one output.  The targets of further outputs, or the
    classes of the softmax, are drawn from the ``seed``.  ``spoil`` changes the engine after every
    chunk.
    """

    def __init__(
        self, problem, rule, n_outputs=None, *, softmax=False, schedule=None, average=None,
        limits=None, seed=0,
    ):  # fmt: skip
        self.problem, self.n_outputs, self.limits = problem, n_outputs, limits
        self.schedule = schedule
        self.plan = plan_of(problem, rule.settled(), schedule, average, softmax)
        self.numbers = self.codes = self.spoil = None
        #: what happens before a step, by the number of the step: "sweep", "copy", or another plan
        self.events = {}
        #: how often each regime of ``REGIMES`` was met while references were compared
        self.met = Counter()
        if softmax:
            self.codes = np.random.default_rng(seed).integers(0, n_outputs, len(problem.y))
        else:
            self.numbers = targets_of(problem, n_outputs or 1, seed)
        if n_outputs is not None:
            self.targets = OutputTargets(0, n_outputs, numbers=self.numbers, labels=self.codes)
        self.engine = self.new_engine()
        self.examples = self.new_examples()

    def __repr__(self):
        fields = self.problem, self.plan, self.n_outputs, self.limits, self.events
        return f"Run{fields!r}"

    def new_examples(self):
        """The rows with their sizes, if the rates of the plan depend on them."""
        problem = self.problem
        given = problem.y if self.n_outputs is None else None
        return examples_of(self.plan, problem.X, given, problem.importances)

    def new_engine(self):
        """An engine of the plan, with the sweep limits."""
        kind, constants = self.plan.engine_kind, self.plan.constants
        engine = new_engine(kind, self.problem.n_features, self.n_outputs, constants)
        if self.limits is not None:
            engine.limits = self.limits
        return engine

    def happen(self, event, twins):
        """Sweep the weights, go on in a new engine, or change the plan, also of the references."""
        if event == "sweep":
            self.engine.sweep()
        elif event == "copy":
            old, self.engine = self.engine, self.new_engine()
            self.engine.__class__ = old.__class__
            self.engine.set_state(old.state())
        elif (event.rule, event.penalty) != (self.plan.rule, self.plan.penalty):
            self.plan = event
            self.examples = self.new_examples()
            self.engine.set_constants(event.constants)
            twins.change(event)

    def shorten_the_past(self, n_steps):
        """Let the averages of the engine fold their past after so many steps."""
        self.engine.past = np.zeros((3, n_steps + 1))

    def take(self, start, stop):
        """Take the steps from ``start`` up to ``stop`` as one chunk; returns the summed losses."""
        if stop - start > 1:
            self.engine.before_sweep = lambda: self.met.update(["a sweep within a chunk"])
        steps = self.plan.steps(self.problem.order[start:stop], start)
        task, losses = self.plan.task(self.engine), np.zeros(self.n_outputs or 1)
        if self.n_outputs is None:
            self.engine.take(self.examples, steps, task, start)
        else:
            self.engine.learn(
                self.examples, self.targets, steps, task, start, losses, self.plan.softmax
            )
        self.engine.before_sweep = None
        if self.spoil is not None:
            self.spoil(self.engine)
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
        return example, {} if self.plan.rule.streams else dict(row=row)


# --- twins --------------------------------------------------------------------------------------


class Twins:
    """A dense twin for each output, with the bound of ``lazynet.verify``."""

    def __init__(self, run, plan=None):
        plan, problem = run.plan if plan is None else plan, run.problem
        row = ALGORITHMS[plan.rule.name]
        size = problem.n_features, run.engine.limits.largest_cushion, len(problem.y)
        with pytest.MonkeyPatch.context() as patch:
            # An inexact rule is held against its own plain form.
            patch.setitem(ALGORITHMS, row.rule.name, dataclasses.replace(row, exact=True))
            self.each = [BoundedReference(plan, *size) for _ in range(run.n_outputs or 1)]
        # The plain form of Carpenter's rule asks for the rate of a step at every weight.
        for dense in (part for twin in self.each for part in (twin.dense, twin.nearby)):
            if hasattr(dense, "schedule"):
                dense.schedule = functools.cache(dense.schedule)
        self.run = run

    def step(self, step):
        """Take a step; returns whether the engine can still be compared."""
        for k, twin in enumerate(self.each):
            example, number = self.run.example(step, k)
            twin.step(*example, **number)
        return all(twin.comparable for twin in self.each)

    def change(self, plan):
        """Take the next steps by another plan."""
        for twin in self.each:
            twin.change(plan)

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

    def __init__(self, run):
        self.run, self.loss = run, 0.0
        self.twin, self.nudged = (
            DenseSoftmax(
                [new_reference(run.plan, run.problem.n_features) for _ in range(run.n_outputs)]
            )
            for _ in range(2)
        )
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

    def change(self, plan):
        for softmax in (self.twin, self.nudged):
            for k, old in enumerate(softmax.references):
                new = softmax.references[k] = new_reference(plan, old.n_features)
                new.__class__, new.slope = old.__class__, old.slope
                new.continue_from(old)

    def rows(self):
        return np.array([[*twin.weights, twin.intercept] for twin in self.twin.references])

    def surely_near(self):
        return True

    def assert_near(self, found, loss):
        for row, expected in zip(found, self.rows(), strict=True):
            assert apart(row[:-1], expected[:-1]) <= AGREE
            assert apart(row[-1], expected[-1]) <= AGREE
        assert loss == pytest.approx(self.loss, rel=1e-9, abs=1e-9)
        self.loss = 0.0


class GroupTwins:
    """The dense reference, and how far an exact implementation may be from it.

    ``lazynet.verify.tolerance`` derives the bound for one output.  In the Euclidean norm over all
    weights of all outputs the same steps hold: the prox of a norm never increases a distance, a
    gradient step multiplies the distance by no more than that of one output does, and the slopes of
    the softmax are at most half as far apart as the predictions.  The norm of
    a row is a sum over the outputs, with as many roundings.
    """

    def __init__(self, run):
        chosen = run.plan
        self.run = run
        self.twin = DenseGroups(
            run.problem.n_features, run.n_outputs, softmax=chosen.softmax,
            schedule=run.problem.rate, loss=chosen.loss.name, epsilon=chosen.loss.epsilon,
            l1=chosen.penalty.l1, l2=chosen.penalty.l2, fit_intercept=chosen.fit_intercept,
        )  # fmt: skip
        self.largest_cushion = run.engine.limits.largest_cushion
        self.bound = self.cushion = 0.0
        self.comparable = True

    def change(self, plan):
        """Take the next steps by another penalty."""
        self.twin.l1, self.twin.l2 = plan.penalty.l1, plan.penalty.l2

    def rows(self):
        """The weights, as ``Run.last``."""
        return np.column_stack([np.array(self.twin.weights).T, self.twin.intercepts])

    def step(self, step):
        """Take a step; returns whether an implementation can still be compared."""
        one, chosen, n = self.run.problem, self.run.plan, self.run.n_outputs
        indices, values, _, importance = one.example(step)
        row = one.order[step]
        target = int(self.run.codes[row]) if chosen.softmax else self.run.numbers[row].tolist()
        eta, penalty = one.rate(step), chosen.penalty
        before = self.rows()
        predictions = np.array(self.twin.step(indices, values, target, importance))
        after = self.rows()
        slopes = importance * np.array(self.twin.slopes(list(predictions), target))
        x = np.asarray(values, dtype=float)
        roundings = 8.0 + n

        decay = 1.0 / (1.0 + eta * penalty.l2)
        self.cushion = min(decay * (self.cushion + eta * penalty.l1), self.largest_cushion)
        norm = np.sqrt(x @ x + chosen.fit_intercept)
        touched = np.abs(before[:, indices])
        terms = (touched + self.cushion) @ np.abs(x) + np.abs(before[:, -1])
        in_prediction = UNIT_ROUNDOFF * (len(x) + roundings) * np.linalg.norm(terms)
        exact = self.bound == 0.0 and not predictions.any() and not touched.any()
        if not exact and not chosen.softmax:
            for p, y in zip(predictions, target, strict=True):
                blur = (in_prediction + self.bound * norm) * max(1.0, abs(y))
                blur += 4 * UNIT_ROUNDOFF * (abs(p) + abs(y))
                if distance_to_kink(chosen.loss, p, y) <= blur:
                    self.comparable = False

        curvature = importance * (0.5 if chosen.softmax else chosen.loss.curvature or 0.0)
        growth = max(1.0, eta * curvature * norm * norm - 1.0)
        # A probability near 1 loses digits when 1 is subtracted from it.
        move = eta * norm * (np.linalg.norm(slopes) + importance * chosen.softmax)
        rounding = UNIT_ROUNDOFF * roundings
        rounding *= np.linalg.norm(after) + 2 * move + self.cushion * np.sqrt(after.size)
        self.bound = growth * self.bound + eta * curvature * in_prediction * norm + rounding
        if not self.bound <= 1e-6 * (1.0 + np.linalg.norm(after)):
            self.comparable = False
        return self.comparable

    def assert_near(self, found, loss):
        distance = np.linalg.norm(found - self.rows())
        assert distance <= self.bound, f"{distance:.3g} away from the dense twin: {self.bound:.3g}"


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


def twins_of(run):
    """The references of a run."""
    if run.plan.rule.group is not None:
        return GroupTwins(run)
    return SoftmaxTwins(run) if run.plan.softmax else Twins(run)


#: Regimes in which lazy rules have been wrong.  A weight has vanished if it was not 0 before.
REGIMES = (
    "vanished weights at a change",
    "vanished weights at a sweep or a copy",
    "a vanished weight whose feature comes back",
    "a row without nonzeros",
    "a gap of eight steps",
    "a rate that rounds to 0",
    "a sweep within a chunk",
)


class Watch:
    """Counts the regimes that the steps of a run meet, by the weights of its references."""

    def __init__(self, run, twins):
        self.run, self.twins = run, twins
        self.moved = self.alive()
        self.visited = np.full(run.problem.n_features, -1)

    def alive(self):
        """Which weights are not 0."""
        return self.twins.rows()[:, :-1] != 0.0

    def vanished(self):
        """Which weights are 0, and were not 0 at an earlier step."""
        return self.moved & ~self.alive()

    def see_event(self, event):
        kind = "a sweep or a copy" if event in ("sweep", "copy") else "a change"
        self.run.met[f"vanished weights at {kind}"] += bool(self.vanished().any())

    def see_step(self, step):
        """Called before the references take the step."""
        problem, met = self.run.problem, self.run.met
        columns = problem.example(step)[0]
        gaps = step - self.visited[columns]
        met["a row without nonzeros"] += not len(columns)
        met["a gap of eight steps"] += bool(((gaps >= 8) & (self.visited[columns] >= 0)).any())
        met["a vanished weight whose feature comes back"] += bool(self.vanished()[:, columns].any())
        met["a rate that rounds to 0"] += problem.rate(step) < 1e-250
        self.visited[columns] = step

    def see_weights(self):
        """Called after the references have taken a step."""
        self.moved = self.moved | self.alive()


def assert_matches_references(run, twins=None, ends=None):
    """Compare at the ends of all chunks, by default of every step; returns the steps compared.

    Comparing ends where rounding may decide a step, or where the run diverges.
    """
    twins = twins_of(run) if twins is None else twins
    mean = None if run.plan.average is None else PlainMean(run.plan.average)
    n_steps, watch = len(run.problem.order), Watch(run, twins)
    ends = range(n_steps + 1) if ends is None else sorted({*ends, *run.events})
    for start, stop in itertools.pairwise(ends):
        if start in run.events:
            watch.see_event(run.events[start])
            run.happen(run.events[start], twins)
        for step in range(start, stop):
            watch.see_step(step)
            if not twins.step(step):
                return start
            watch.see_weights()
            if mean is not None:
                mean.count(step, twins.rows())
        loss = run.take(start, stop)
        twins.assert_near(run.last(), loss)
        if mean is not None and twins.surely_near():
            mean.assert_near(run.model(), twins.rows())
    return n_steps
