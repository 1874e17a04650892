"""Problems with a penalty of every row of weights, their dense twin, and compiled learners."""

import itertools
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from lazynet.engines.groups import GROUPED_OUTPUTS
from lazynet.kernels.outputs import Targets
from lazynet.losses import LOSSES, get_loss
from lazynet.reference import DenseGroups
from lazynet.rules.affine import FoBoS
from lazynet.verify.strategies import Problem, problems, targets
from lazynet.verify.tolerance import UNIT_ROUNDOFF, distance_to_kink
from support import examples_of
from support.engines import plan_for

NORMS = tuple(GROUPED_OUTPUTS)


@dataclass(frozen=True)
class GroupProblem:
    """A problem of one output with the targets of several: numbers, or labels for the softmax."""

    problem: Problem
    norm: str
    n_outputs: int
    numbers: np.ndarray
    labels: np.ndarray | None

    @property
    def softmax(self):
        return self.labels is not None

    def example(self, step):
        """What ``DenseGroups.step`` takes."""
        indices, values, _, importance = self.problem.example(step)
        row = self.problem.order[step]
        target = int(self.labels[row]) if self.softmax else self.numbers[row].tolist()
        return indices, values, target, importance

    def learner(self, form, **options):
        """A learner in plain Python."""
        given = self.problem.plain_options
        given = {key: given[key] for key in ("loss", "l1", "l2", "fit_intercept", "epsilon")}
        return form(
            self.problem.n_features, self.n_outputs, norm=self.norm, softmax=self.softmax,
            schedule=self.problem.rate, **given, **options,
        )  # fmt: skip

    def engine(self, dtype=np.float64, wear=None, kind=None):
        """The compiled engine."""
        kind = GROUPED_OUTPUTS[self.norm] if kind is None else kind
        return kind(self.problem.n_features, self.n_outputs, FoBoS(), dtype, wear)


@st.composite
def group_problems(draw, norms=NORMS, max_outputs=20, **options):
    """Problems of 1 to ``max_outputs`` outputs; ``options`` are those of ``problems``."""
    losses = options.pop("losses", tuple(LOSSES))
    problem = draw(problems(losses, ["fobos"], intercepts=(False, True), **options))
    n_outputs = draw(st.integers(1, max_outputs))
    n_rows = problem.X.shape[0]
    columns = [draw(targets(n_rows, problem.loss)) for _ in range(min(n_outputs, 4))]
    # Further outputs repeat the first ones or have the opposite targets.
    numbers = np.array([columns[k % 4] * (-1.0) ** (k // 4) for k in range(n_outputs)]).T
    labels = None
    if draw(st.booleans()):
        one = st.integers(0, n_outputs - 1)
        drawn = draw(st.lists(one, min_size=n_rows, max_size=n_rows))
        labels = np.array(drawn, dtype=np.int64)
    norm = draw(st.sampled_from(list(norms)))
    return GroupProblem(problem, norm, n_outputs, np.ascontiguousarray(numbers), labels)


class BoundedGroups:
    """The dense reference, and how far an exact implementation may be from it.

    ``lazynet.verify.tolerance`` derives the bound for one output.  In the Euclidean norm over all
    weights of all outputs the same steps hold: the prox of a norm never increases a distance, a
    gradient step multiplies the distance by no more than that of one output does, and the slopes of
    the softmax are at most half as far apart as the predictions.  The norm, the mass and the level
    of a row are sums over the outputs, with as many roundings.
    """

    def __init__(self, problem, largest_cushion=np.inf):
        self.problem, self.twin = problem, problem.learner(DenseGroups)
        self.loss = get_loss(problem.problem.loss)
        self.largest_cushion = largest_cushion
        self.bound = self.cushion = 0.0
        self.t, self.comparable = 0, True

    @property
    def weights(self):
        """The weights, a row per output, with the intercepts in the last column."""
        rows = np.array(self.twin.weights).reshape(-1, self.problem.n_outputs)
        return np.column_stack([rows.T, self.twin.intercepts])

    def step(self, step):
        one, n = self.problem.problem, self.problem.n_outputs
        indices, values, target, importance = self.problem.example(step)
        eta = one.rate(step)
        before = self.weights
        predictions = np.array(self.twin.step(indices, values, target, importance))
        after = self.weights
        slopes = importance * np.array(self.twin.slopes(list(predictions), target))
        x = np.asarray(values, dtype=float)
        roundings = 8.0 + n

        decay = 1.0 / (1.0 + eta * one.l2)
        self.cushion = min(decay * (self.cushion + eta * one.l1), self.largest_cushion)
        norm = np.sqrt(x @ x + one.fit_intercept)
        touched = np.abs(before[:, indices])
        terms = (touched + self.cushion) @ np.abs(x) + np.abs(before[:, -1])
        in_prediction = UNIT_ROUNDOFF * (len(x) + roundings) * np.linalg.norm(terms)
        exact = self.bound == 0.0 and not predictions.any() and not touched.any()
        if not exact and not self.problem.softmax:
            for p, y in zip(predictions, target, strict=True):
                blur = (in_prediction + self.bound * norm) * max(1.0, abs(y))
                blur += 4 * UNIT_ROUNDOFF * (abs(p) + abs(y))
                if distance_to_kink(self.loss, p, y) <= blur:
                    self.comparable = False

        curvature = importance * (0.5 if self.problem.softmax else self.loss.curvature or 0.0)
        growth = max(1.0, eta * curvature * norm * norm - 1.0)
        # A probability near 1 loses digits when 1 is subtracted from it.
        move = eta * norm * (np.linalg.norm(slopes) + importance * self.problem.softmax)
        rounding = (
            UNIT_ROUNDOFF
            * roundings
            * (np.linalg.norm(after) + 2 * move + self.cushion * np.sqrt(after.size))
        )
        self.bound = growth * self.bound + eta * curvature * in_prediction * norm + rounding
        if not self.bound <= 1e-6 * (1.0 + np.linalg.norm(after)):
            self.comparable = False


def assert_matches_dense(problem, take, read, largest_cushion=np.inf):
    """Step an implementation and the dense reference; returns the number of steps compared.

    ``take(step)`` takes one step; ``read()`` gives what ``BoundedGroups.weights`` gives.
    """
    twin = BoundedGroups(problem, largest_cushion)
    for step in range(len(problem.problem.order)):
        twin.step(step)
        if not twin.comparable:
            return step
        take(step)
        distance = np.linalg.norm(read() - twin.weights)
        assert distance <= twin.bound, (
            f"after step {step} the weights are {distance:.3g} away from the dense twin's, "
            f"where rounding explains {twin.bound:.3g}"
        )
    return len(problem.problem.order)


def assert_plain_matches(problem, form):
    """``assert_matches_dense`` for a form in plain Python."""
    lazy = problem.learner(form)
    return assert_matches_dense(
        problem,
        lambda step: lazy.step(*problem.example(step)),
        lambda: np.column_stack([np.array(lazy.weights).T, lazy.intercepts]),
    )


class Compiled:
    """An engine that visits the rows of a problem; ``blocks`` may change the vector level."""

    def __init__(self, problem, engine):
        one = problem.problem
        self.problem, self.engine, self.plan = problem, engine, plan_for(one)
        self.examples = examples_of(self.plan, one.X, None, one.importances)
        self.losses = np.zeros(problem.n_outputs)
        form = dict(labels=problem.labels) if problem.softmax else dict(numbers=problem.numbers)
        self.targets = Targets(0, problem.n_outputs, **form)

    def take(self, start, stop):
        """Take the steps from ``start`` up to ``stop`` as one chunk."""
        steps = self.plan.steps(self.problem.problem.order[start:stop], start)
        task = self.plan.task(self.engine)
        self.engine.learn(
            self.examples, self.targets, steps, task, start, self.losses, self.problem.softmax
        )

    def take_in_chunks(self, cuts, read_between=False):
        """Take all steps in the chunks between ``cuts``."""
        edges = [0, *sorted(cuts), len(self.problem.problem.order)]
        for start, stop in itertools.pairwise(edges):
            self.take(start, stop)
            if read_between:
                self.engine.weights()
                self.engine.weights_at(np.arange(self.problem.problem.n_features))
        return self

    @property
    def weights(self):
        """What ``BoundedGroups.weights`` gives."""
        return np.column_stack([self.engine.weights(), self.engine.intercepts])


def assert_compiled_matches(problem, engine):
    """``assert_matches_dense`` for a compiled engine."""
    compiled = Compiled(problem, engine)
    return assert_matches_dense(
        problem,
        lambda step: compiled.take(step, step + 1),
        lambda: compiled.weights,
        engine.wear.largest_cushion,
    )
