"""Engines of several outputs beside the plain twins of their outputs, step by step."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from lazynet import FromArray
from lazynet.engines.catalogue import new_reference
from lazynet.kernels.outputs import Targets
from lazynet.losses import LOSSES, get_loss
from lazynet.reference.outputs import DenseSoftmax, softmax_loss
from lazynet.verify.strategies import Problem
from lazynet.verify.tolerance import NearbyRun
from support import examples_of, plan
from support.engines import apart, near_a_kink

#: The largest difference of an output from its twin, by 1 + the largest weight.
AGREE = 1e-10
# The size of a prediction from which on a run may diverge.
_LARGEST_PREDICTION = 1e6
# The values of the nearby softmax are larger by this share, and its slopes differ by as much.  They
# may move the weights by that many times the share before the comparison ends.
_NUDGE, _AMPLIFIED = 2.0**-36, 1000.0


def seeded_problem(seed, losses=None, n_steps=25):
    """A problem that depends on the seed alone: any loss of ``losses``, of a seed in turn.

    What Hypothesis draws depends on its version and on where packages are installed, so that a
    number about the problems that it draws is no fixed number.
    """
    rng = np.random.default_rng(seed)
    names = sorted(LOSSES) if losses is None else losses
    loss = names[seed % len(names)]
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


def plan_of(problem, rule, penalty, *, softmax=False, schedule=None, average=None):
    """The plan of a problem that Hypothesis drew, with another rule and another penalty."""
    chosen = plan(
        loss="log_loss" if softmax else problem.loss, l1=penalty.l1, l2=penalty.l2, rule=rule,
        fit_intercept=problem.fit_intercept, average=average,
        schedule=FromArray(problem.rates) if schedule is None else schedule,
    )  # fmt: skip
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


class OverOutputs:
    """An engine of several outputs that visits the rows of a problem, one at a time.

    ``numbers`` has a column of targets for each output; ``codes`` has the class of each row.
    """

    def __init__(self, problem, chosen, n_outputs, *, numbers=None, codes=None, engine=None):
        self.problem, self.plan, self.n_outputs, self.t = problem, chosen, n_outputs, 0
        self.numbers, self.codes = numbers, codes
        made = chosen.new_outputs(problem.n_features, n_outputs) if engine is None else engine
        self.engine = made
        given = dict(numbers=numbers) if codes is None else dict(labels=codes)
        self.targets = Targets(0, n_outputs, **given)
        self.examples = examples_of(chosen, problem.X, None, problem.importances)

    def step(self):
        """Take the next step; returns the losses before it."""
        losses = np.zeros(self.n_outputs)
        steps = self.plan.steps(self.problem.order[self.t : self.t + 1], self.t)
        self.engine.learn(
            self.examples, self.targets, steps, self.plan.task(self.engine), self.t, losses,
            self.plan.softmax,
        )  # fmt: skip
        self.t += 1
        return losses

    def new_twin(self, kind=None, **changes):
        """A twin of one output; of the given kind if the plan's reference is another one."""
        chosen, problem = self.plan, self.problem
        if kind is None:
            return new_reference(
                chosen.rule, problem.n_features, loss=chosen.loss, penalty=chosen.penalty,
                schedule=chosen.schedule if chosen.adaptive else problem.rate,
                fit_intercept=chosen.fit_intercept,
            )  # fmt: skip
        options = dict(
            loss=chosen.loss.name, epsilon=chosen.loss.epsilon, l1=chosen.penalty.l1,
            l2=chosen.penalty.l2, fit_intercept=chosen.fit_intercept, rule=chosen.rule.name,
            step_order=chosen.rule.step_order,
        )  # fmt: skip
        return kind(problem.n_features, **options, **changes)


def assert_agree(engine, twins):
    """Compare the last weights of every output, and the averages where the twins have averages."""
    pairs = [(engine.rows(last=True), engine.intercepts, "weights", "intercept")]
    if hasattr(twins[0], "averages"):
        pairs.append((engine.rows(), engine.model_intercepts, "averages", "average_intercept"))
    for rows, offsets, of_weights, of_intercept in pairs:
        for k, twin in enumerate(twins):
            expected = getattr(twin, of_weights)
            assert apart(rows[k], expected) <= AGREE, f"{of_weights} of output {k}"
            expected = getattr(twin, of_intercept)
            assert apart(offsets[k], expected) <= AGREE, f"{of_intercept} of output {k}"


def nothing(engine):
    """Leaves the engine as it is."""


def assert_matches_twins(run, new_twin=None, spoil=nothing):
    """Every output against its twin after every step; returns the number of steps compared.

    Comparing ends where rounding may decide a step, or where the run diverges.  ``spoil`` changes
    the engine after every step.
    """
    new_twin = run.new_twin if new_twin is None else new_twin
    problem, twins = run.problem, [new_twin() for _ in range(run.n_outputs)]
    nearby = [NearbyRun(new_twin()) for _ in twins]
    moved = [False] * len(twins)
    for step, row in enumerate(problem.order):
        indices, values, _, importance = problem.example(step)
        for k, twin in enumerate(twins):
            target = float(run.numbers[row, k])
            prediction = twin.step(indices, values, target, importance)
            far = nearby[k].amplifies((indices, values, target, importance), twin.weights)
            # Until a slope has moved a number, the prediction is 0 in both, without any rounding.
            doubtful = moved[k] and near_a_kink(problem, prediction, target)
            if far or doubtful or not abs(prediction) < _LARGEST_PREDICTION:
                return step
            slope = twin.slope(prediction, target, run.plan.loss.epsilon)
            moved[k] = moved[k] or importance * slope != 0.0
        run.step()
        spoil(run.engine)
        assert_agree(run.engine, twins)
    return len(problem.order)


def assert_softmax_matches(run, new_twin=None, spoil=nothing, kind=DenseSoftmax):
    """The classes of the softmax as ``assert_matches_twins``; the losses too."""
    new_twin = run.new_twin if new_twin is None else new_twin
    problem = run.problem
    twin, nudged = [kind([new_twin() for _ in range(run.n_outputs)]) for _ in range(2)]
    # Rounding changes a probability near 1 in its last digits, and so its slope near 0 as a whole:
    # no larger value shows what a run makes of this where all weights have come back to 0.
    plain = nudged.slopes
    nudged.slopes = lambda *given: [
        slope + (-1) ** k * _NUDGE for k, slope in enumerate(plain(*given))
    ]
    for step, row in enumerate(problem.order):
        indices, values, _, importance = problem.example(step)
        label = int(run.codes[row])
        predictions = twin.step(indices, values, label, importance)
        nudged.step(indices, [x * (1.0 + _NUDGE) for x in values], label, importance)
        far = max(map(apart, map(np.array, nudged.weights), twin.weights))
        if far > _AMPLIFIED * _NUDGE or max(map(abs, predictions)) >= _LARGEST_PREDICTION:
            return step
        losses = run.step()
        spoil(run.engine)
        expected = importance * softmax_loss(predictions, label)
        assert_agree(run.engine, twin.twins)
        assert losses.sum() == pytest.approx(expected, rel=1e-9, abs=1e-9)
    return len(problem.order)
