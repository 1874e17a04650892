"""Compiled learners for the problems that Hypothesis draws, and the distance between two models."""

import itertools

import numpy as np

from lazynet import FromArray, Stepper
from lazynet.data import as_examples
from lazynet.losses import LOSSES, get_loss
from lazynet.penalties import ElasticNet
from lazynet.rules import get_rule
from lazynet.trainer import Recipe


def stepper_for(problem, **options):
    return Stepper(
        problem.n_features, schedule=FromArray(problem.rates), **problem.options, **options
    )


def recipe_for(problem):
    return Recipe(
        get_loss(problem.loss),
        ElasticNet(problem.l1, problem.l2),
        get_rule(problem.rule),
        FromArray(problem.rates),
        problem.step_order,
        problem.fit_intercept,
        problem.epsilon,
    )


def run_in_chunks(problem, engine, cuts, X=None, read_between=False):
    """Take all steps of the problem in the chunks between ``cuts``."""
    recipe = recipe_for(problem)
    X = problem.X if X is None else X
    examples = as_examples(X, problem.y, problem.importances)
    task = engine.wear.task(
        problem.n_features, recipe.loss, recipe.epsilon, recipe.step_order, recipe.fit_intercept
    )
    edges = [0, *sorted(cuts), len(problem.order)]
    for start, stop in itertools.pairwise(edges):
        engine.take(examples, recipe.steps(problem.order[start:stop], start), task, start)
        if read_between:
            engine.weights()
            engine.weights_at(np.arange(problem.n_features))
    return engine


def apart(found, expected):
    """The greatest difference, by 1 + the largest number."""
    expected = np.asarray(expected, dtype=float)
    return np.abs(found - expected).max(initial=0.0) / (1.0 + np.abs(expected).max(initial=0.0))


def near_a_kink(problem, prediction, target):
    loss = LOSSES[problem.loss]
    at = prediction * target if loss.margin else prediction - target
    return any(
        abs(at - (constant + factor * problem.epsilon)) <= 1e-9 * (1 + abs(at) + abs(target))
        for constant, factor in loss.kinks
    )
