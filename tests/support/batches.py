"""Engines that learn from batches of rows that Hypothesis draws; some of them do it wrongly."""

import itertools

import numpy as np

from lazynet import FromArray
from lazynet.engines.catalogue import check_rule
from lazynet.training.learners import spans
from support import examples_of, plan
from support.algorithms import penalty_of


def batch_plan(problem, size, average=None):
    """The plan of a problem that Hypothesis drew, on batches of ``size`` rows."""
    penalty = penalty_of(check_rule("rule", problem.rule), problem.l1, problem.l2)
    options = problem.options | dict(l1=penalty.l1, l2=penalty.l2)
    return plan(**options, schedule=FromArray(problem.rates), average=average, batch_size=size)


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
        return list(spans(len(self.order), self.plan.rule.batch_size))

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
            size = self.plan.rule.batch_size
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


class AddsTheGradients(OverBatches):
    """Takes the sum of the gradients for their mean."""

    def step(self, start, stop):
        problem, n = self.problem, stop - start
        self.examples = examples_of(self.plan, problem.X, problem.y, problem.importances * n)
        return super().step(start, stop)
