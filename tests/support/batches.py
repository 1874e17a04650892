"""Engines that learn from batches of rows that Hypothesis draws; some of them do it wrongly."""

import dataclasses
import itertools

import numpy as np
from scipy import sparse

from lazynet import FromArray
from lazynet.data.arrays import as_examples
from lazynet.engines.catalogue import check_rule
from lazynet.training.learners import spans
from support import examples_of, plan
from support.algorithms import penalty_of


def batch_plan(problem, size, average=None):
    """The plan of a problem that Hypothesis drew, on batches of ``size`` rows."""
    penalty = penalty_of(check_rule("rule", problem.rule), problem.l1, problem.l2)
    options = problem.options | dict(l1=penalty.l1, l2=penalty.l2)
    chosen = plan(**options, schedule=FromArray(problem.rates), average=average)
    return dataclasses.replace(chosen, batch_size=size)


class OverBatches:
    """An engine that visits the batches of a problem, in the problem's order."""

    def __init__(self, problem, size, average=None, wear=None):
        self.problem, self.order, self.t = problem, problem.order, 0
        self.plan = batch_plan(problem, size, average)
        self.engine = self.plan.new_engine(problem.n_features, wear)
        self.examples = examples_of(self.plan, problem.X, problem.y, problem.importances)
        self.task = self.plan.task(self.engine)

    @property
    def spans(self):
        """The places of every batch in the order."""
        return list(spans(len(self.order), self.plan.batch_size))

    def step(self, start, stop):
        """Learn from the rows at these places; returns the predictions made before."""
        predictions = np.full(stop - start, np.nan)
        steps = self.plan.steps(self.order[start:stop], self.t, predictions)
        self.engine.take(self.examples, steps, self.task, self.t)
        self.t += 1
        return predictions

    def run(self, cuts=()):
        """Take all steps in the chunks between the batches ``cuts``; returns the engine."""
        edges = [0, *sorted(cuts), len(self.spans)]
        for first, last in itertools.pairwise(edges):
            size = self.plan.batch_size
            rows = self.order[first * size : last * size]
            self.engine.take(self.examples, self.plan.steps(rows, first), self.task, first)
            self.engine.weights()
        return self.engine


def assert_batches_match(lazy, twin, averages=None):
    """Compare the weights after every step with the twin's; returns the number of steps compared.

    ``averages`` is called after every step with the engine and the number of the step.
    """
    for number, (start, stop) in enumerate(lazy.spans):
        batch = [lazy.problem.example(place) for place in range(start, stop)]
        expected = twin.step_batch(batch)
        if not twin.comparable:
            return number
        found = lazy.step(start, stop)
        weights = lazy.engine.weights()
        assert twin.distance(weights, lazy.engine.intercept) <= twin.bound
        sizes = [1.0 + abs(p) for p in expected]
        assert np.all(np.abs(found - expected) <= 1e-9 * np.array(sizes))
        if averages is not None:
            averages(lazy.engine, number)
    return len(lazy.spans)


# --- broken on purpose ---------------------------------------------------------------------------


class DividesByTheSize(OverBatches):
    """Divides the gradient of a short last batch by the rows of a whole batch."""

    def step(self, start, stop):
        problem, share = self.problem, (stop - start) / self.plan.batch_size
        self.examples = examples_of(self.plan, problem.X, problem.y, problem.importances * share)
        return super().step(start, stop)


class AddsTheGradients(OverBatches):
    """Takes the sum of the gradients for their mean."""

    def step(self, start, stop):
        problem, n = self.problem, stop - start
        self.examples = examples_of(self.plan, problem.X, problem.y, problem.importances * n)
        return super().step(start, stop)


class ShrinksForEveryRow(OverBatches):
    """Shrinks once for every row of a batch."""

    def step(self, start, stop):
        t = self.t
        predictions = super().step(start, stop)
        nothing = as_examples(sparse.csr_matrix((1, self.problem.n_features)), np.ones(1))
        frozen = dataclasses.replace(self.plan, fit_intercept=False)
        for _ in range(stop - start - 1):
            steps = frozen.steps(np.zeros(1, dtype=np.int64), t)
            self.engine.take(nothing, steps, frozen.task(self.engine), t)
        return predictions


class LearnsWithinTheBatch(OverBatches):
    """Predicts each row with weights that have learned from the rows before it in the batch."""

    def step(self, start, stop):
        n, predictions = stop - start, []
        penalties = [*([(0.0, 0.0)] * (n - 1)), (self.problem.l1, self.problem.l2)]
        rate = float(self.problem.rates[self.t])
        for place, (l1, l2) in zip(range(start, stop), penalties, strict=True):
            # The shrink has the rate of the batch, the gradient an n-th of it.
            each = plan(
                **self.problem.options | dict(l1=n * l1, l2=n * l2),
                schedule=FromArray(np.full(1, rate / n)),
            )
            steps = each.steps(self.order[place : place + 1], 0, np.full(1, np.nan))
            self.engine.take(self.examples, steps, each.task(self.engine), 0)
            predictions.append(np.nan)
        self.t += 1
        return np.array(predictions)


class ForgetsRepeatedRows(OverBatches):
    """Learns once from a row that a batch names twice."""

    def step(self, start, stop):
        rows, n = np.unique(self.order[start:stop]), stop - start
        steps = self.plan.steps(rows, self.t)
        if len(rows) < n:
            problem = self.problem
            counts = problem.importances * len(rows) / n
            self.examples = examples_of(self.plan, problem.X, problem.y, counts)
        self.engine.take(self.examples, steps, self.task, self.t)
        self.t += 1
        return np.full(n, np.nan)


class CountsOneStepForEveryRow(OverBatches):
    """Lets t count rows: the rates of a schedule fall too fast."""

    def step(self, start, stop):
        self.t = min(start, len(self.problem.rates) - 1)
        return super().step(start, stop)


BROKEN = [
    DividesByTheSize,
    AddsTheGradients,
    ShrinksForEveryRow,
    LearnsWithinTheBatch,
    ForgetsRepeatedRows,
    CountsOneStepForEveryRow,
]
