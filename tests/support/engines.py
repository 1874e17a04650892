"""Compiled learners for the problems that Hypothesis draws, and the distance between two models."""

import itertools

import numpy as np

from lazynet import FoBoS, FromArray
from lazynet.engines.catalogue import new_engine
from lazynet.losses import get_loss
from lazynet.penalties import ElasticNet
from lazynet.rules.storage import STORAGES
from lazynet.verify.tolerance import distance_to_kink
from support import examples_of, plan


class OverRows:
    """An engine that visits the rows of a problem, in the problem's order.

    ``step`` takes what ``Stepper.step`` takes, and goes by the number of the step alone.
    """

    def __init__(self, problem, plan):
        self.order, self.plan, self.t = problem.order, plan, 0
        self.engine = plan.new_engine(problem.n_features)
        self.examples = examples_of(plan, problem.X, problem.y, problem.importances)

    def step(self, *example):
        steps = self.plan.steps(self.order[self.t : self.t + 1], self.t)
        self.engine.take(self.examples, steps, self.plan.task(self.engine), self.t)
        self.t += 1

    @property
    def weights(self):
        return self.engine.weights()

    @property
    def intercept(self):
        return self.engine.intercept


def numbered(rule, row):
    """The argument that tells a reference which row of the data set an example is, if it asks."""
    return {} if rule.streams else dict(row=int(row))


def plan_for(problem):
    """The plan of a problem that Hypothesis drew."""
    return plan(**problem.options, schedule=FromArray(problem.rates))


def run_in_chunks(problem, engine, cuts, X=None, read_between=False):
    """Take all steps of the problem in the chunks between ``cuts``."""
    chosen = plan_for(problem)
    X = problem.X if X is None else X
    examples = examples_of(chosen, X, problem.y, problem.importances)
    task = chosen.task(engine)
    edges = [0, *sorted(cuts), len(problem.order)]
    for start, stop in itertools.pairwise(edges):
        engine.take(examples, chosen.steps(problem.order[start:stop], start), task, start)
        if read_between:
            engine.weights()
            engine.weights_at(np.arange(problem.n_features))
    return engine


def apart(found, expected):
    """The greatest difference, by 1 + the largest number."""
    expected = np.asarray(expected, dtype=float)
    return np.abs(found - expected).max(initial=0.0) / (1.0 + np.abs(expected).max(initial=0.0))


def near_a_kink(problem, prediction, target):
    """Whether rounding may decide on which side of a kink the prediction lies."""
    blur = 1e-9 * (1 + abs(prediction) + abs(target))
    return distance_to_kink(get_loss(problem.loss), prediction, target) <= blur


def storage_engine(storage, n_features, *, wear=None, average=False, **options):
    """The engine of a storage, by its name and with these parameters."""
    return new_engine(
        FoBoS(),
        ElasticNet(),
        n_features,
        storage=STORAGES[storage](**options).settled(),
        wear=wear,
        average=average,
    )
