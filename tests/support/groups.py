"""The dense twin of a penalty of whole rows of weights, with a bound on the distance from it."""

import numpy as np
from hypothesis import strategies as st

from lazynet.losses import LOSSES
from lazynet.reference import DenseGroups
from lazynet.rules.affine import FoBoS
from lazynet.verify.tolerance import UNIT_ROUNDOFF, distance_to_kink
from support.twins import Run, assert_matches_twins, disordered_problems, plan_of


@st.composite
def group_runs(draw, wears=None, kind=Run, losses=LOSSES, **options):
    """Runs of 1 to 20 outputs, or of the softmax; ``options`` are those of ``problems``."""
    coupled = draw(st.booleans())
    problem = draw(disordered_problems(list(losses), ["fobos"], **options))
    chosen = plan_of(problem, FoBoS(group="l2").settled(), softmax=coupled)
    wear = None if wears is None else draw(wears)
    seed = draw(st.integers(0, 9))
    return kind(problem, chosen, draw(st.integers(1, 20)), wear=wear, seed=seed)


def plain_learner(run, form=DenseGroups):
    """A learner in plain Python with the options of a run."""
    chosen = run.plan
    return form(
        run.problem.n_features, run.n_outputs, softmax=chosen.softmax,
        schedule=run.problem.rate, loss=chosen.loss.name, epsilon=chosen.loss.epsilon,
        l1=chosen.penalty.l1, l2=chosen.penalty.l2, fit_intercept=chosen.fit_intercept,
    )  # fmt: skip


def example_of(run, step):
    """What ``DenseGroups.step`` takes."""
    indices, values, _, importance = run.problem.example(step)
    row = run.problem.order[step]
    target = int(run.codes[row]) if run.plan.softmax else run.numbers[row].tolist()
    return indices, values, target, importance


def rows_of(learner):
    """The weights of a learner in plain Python, as ``Run.last``."""
    return np.column_stack([np.array(learner.weights).T, learner.intercepts])


class PlainRun(Run):
    """A lazy form in plain Python, in place of an engine."""

    form = None

    def take(self, start, stop):
        if not start:
            self.lazy = plain_learner(self, self.form)
        for step in range(start, stop):
            self.lazy.step(*example_of(self, step))
        return 0.0

    def last(self):
        return rows_of(self.lazy)


class GroupTwins:
    """The dense reference, and how far an exact implementation may be from it.

    ``lazynet.verify.tolerance`` derives the bound for one output.  In the Euclidean norm over all
    weights of all outputs the same steps hold: the prox of a norm never increases a distance, a
    gradient step multiplies the distance by no more than that of one output does, and the slopes of
    the softmax are at most half as far apart as the predictions.  The norm of
    a row is a sum over the outputs, with as many roundings.
    """

    def __init__(self, run):
        self.run, self.twin = run, plain_learner(run)
        self.largest_cushion = run.engine.wear.largest_cushion
        self.bound = self.cushion = 0.0
        self.comparable = True

    def rows(self):
        return rows_of(self.twin)

    def step(self, step):
        """Take a step; returns whether an implementation can still be compared."""
        one, chosen, n = self.run.problem, self.run.plan, self.run.n_outputs
        indices, values, target, importance = example_of(self.run, step)
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


def assert_matches_groups(run, ends=None):
    """``assert_matches_twins`` with the twin of groups."""
    return assert_matches_twins(run, GroupTwins(run), ends)
