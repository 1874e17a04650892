"""What is drawn to compare engines with references: a rule, outputs, an average, rates and rows."""

import dataclasses
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from lazynet import (
    SGD,
    Dense,
    FoBoS,
    FromData,
    FromStep,
    PolynomialDecay,
    Tables,
    TruncatedGradient,
)
from lazynet.engines.base import SweepLimits
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.losses import LOSSES, get_loss
from lazynet.parameters import check_choice, check_flag, check_integer, kinds_of
from lazynet.rules.base import OF_TRAINING
from lazynet.verify.strategies import Problem, problems
from support.algorithms import AFFINE_RULES, BOTH_ORDERS, RULES_WITH_CELLS, accepts, other_than
from support.matrices import with_rows_arranged
from support.parameters import rule_with
from support.twins import Run, plan_of

# --- parameters of rules ------------------------------------------------------------------------


def values_of(kind, default):
    """Values of a parameter of a rule: its default and others, far and wide."""
    if kind.check in (check_choice, check_flag):
        return [default, other_than(kind, default)]
    if kind.check is check_integer:
        least = kind.bounds["least"]
        return [*([None] if kind.optional else []), *range(least, least + 8)]
    positive = [default or 0.1, 0.01, 0.5, 10.0]
    return positive if kind.bounds.get("above") == 0 else [0.0, *positive]


#: Every parameter of each rule with cells of its own; of some rules, values that tell more.
PARAMETERS = {
    name: {
        key: values_of(of, vars(ALGORITHMS[name].rule())[key])
        for key, of in kinds_of(ALGORITHMS[name].rule).items()
        if key not in OF_TRAINING
    }
    for name in RULES_WITH_CELLS
} | {
    "truncated_gradient": dict(period=range(1, 8), threshold=[0.0, 0.01, 0.1, 1.0, 10.0]),
    "rda": dict(gamma=[None, 0.05, 1.0, 50.0], rho=[0.0, 0.01, 1.0]),
    "ftrl": dict(
        alpha=[None, 0.01, 0.1, 2.0], beta=[0.1, 1.0, 20.0], penalty=["per_example", "once"]
    ),
    "adagrad": dict(
        alpha=[None, 0.01, 0.1, 2.0], delta=[1e-6, 0.1, 20.0], initial=[None, 0.0, 0.5, 4.0]
    ),
    "saga": dict(alpha=[0.01, 0.1, 1.0]),
    "carpenter_inexact": dict(period=[None, *range(1, 8)]),
}


def with_all(rules, **values):
    """Every one of the rules with every combination of these values of its parameters."""
    return [
        rule_with(rule, **dict(zip(values, chosen, strict=True)))
        for rule in rules
        for chosen in product(*values.values())
    ]


#: Rules whose weights any storage keeps: with gravity, TruncatedGradient without a threshold.
AFFINE = with_all(AFFINE_RULES, step_order=BOTH_ORDERS)
AFFINE += with_all([TruncatedGradient()], period=range(1, 8))
PROXIMAL = with_all([FoBoS(), SGD()], step_order=BOTH_ORDERS)
AVERAGES = [*map(FromStep, range(1, 13)), *map(PolynomialDecay, range(4))]


# --- kinds of runs --------------------------------------------------------------------------------


class Kind(NamedTuple):
    """What runs of a kind choose from."""

    rules: Sequence[Any]
    averages: Sequence[Any] = (None,)
    #: None for the rates of the problem
    schedules: Sequence[Any] = (None,)
    #: numbers of outputs that learn in one pass; None for an engine of one output
    outputs: Sequence[int | None] = (None,)
    softmax: bool = False
    #: options of ``problems``
    problems: Sequence[dict[str, Any]] = ({},)


_OUTPUTS, _CLASSES = [1, 2, 3, 8, 9], [2, 3, 9]
_SHORT = dict(max_steps=25)
#: Predictions far beyond the range of exp.
_LARGE = dict(**_SHORT, scale=30.0, rate=1.0)
#: Rates are lowered after 32 steps, where losses of numbers look at their slopes.
_LONG = dict(min_steps=60, max_steps=80)


_CELLS = {
    name: [
        rule for rule in with_all([ALGORITHMS[name].rule()], **PARAMETERS[name])
        if accepts(rule, l2=0.0)
    ]
    for name in RULES_WITH_CELLS
}  # fmt: skip
_JOINED = {
    "clock": dict(rules=PROXIMAL),
    "average": dict(rules=PROXIMAL, averages=AVERAGES),
    **{name: dict(rules=_CELLS[name]) for name in _CELLS if ALGORITHMS[name].outputs},
}
_FROM_DATA = FromData(), FromData(4.5), FromData(0.3)
_GROUPS = dict(rules=[FoBoS(group="l2")], outputs=range(1, 21))
#: Every way to keep weights.
KINDS = {
    "clock": Kind(AFFINE),
    "tables": Kind(with_all(AFFINE, storage=[*map(Tables, (1, 2, 3, 5, 8, 13, 21, 40))])),
    "dense": Kind(with_all(AFFINE, storage=[Dense(), Dense(predictions=True)])),
    "positive": Kind(with_all(PROXIMAL, positive=[True])),
    "average": Kind(AFFINE, AVERAGES),
    "dense average": Kind(with_all(AFFINE, storage=[Dense()]), AVERAGES),
    "from data": Kind(PROXIMAL, schedules=_FROM_DATA, problems=[dict(max_steps=80)]),
    "average from data": Kind(PROXIMAL, AVERAGES, _FROM_DATA, problems=[dict(max_steps=80)]),
    **{name: Kind(rules) for name, rules in _CELLS.items()},
    **{f"outputs, {name}": Kind(**each, outputs=_OUTPUTS, problems=[_SHORT])
       for name, each in _JOINED.items()},
    "outputs, from data": Kind(PROXIMAL, schedules=_FROM_DATA, outputs=_OUTPUTS,
                               problems=[_SHORT, _LONG]),
    **{f"softmax, {name}": Kind(**each, outputs=_CLASSES, softmax=True, problems=[_SHORT, _LARGE])
       for name, each in _JOINED.items()},
    "groups": Kind(**_GROUPS),
    "groups, softmax": Kind(**_GROUPS, softmax=True),
}  # fmt: skip


# --- sweep limits ---------------------------------------------------------------------------------

#: Limits so small that a short run has many sweeps.
RESTLESS = SweepLimits(
    cushion=0.01, largest_cushion=0.01, nonzeros_per_weight=0.0, reach=2.0, largest_reach=4.0
)


def limits_of_sweeps():
    """Sweep limits: the default limits, or limits so small that a short run has many sweeps.

    >>> from hypothesis import find
    >>> limits = find(limits_of_sweeps(), lambda limits: limits.cushion == 0.0)
    >>> limits.cushion, limits.largest_cushion
    (0.0, 1024.0)
    """
    return st.just(SweepLimits()) | st.builds(
        SweepLimits,
        smallest_scale=st.sampled_from([2.0**-500, 2.0**-60, 2.0**-5, 0.9]),
        cushion=st.sampled_from([1.0, 0.01, 0.0]),
        largest_cushion=st.sampled_from([1024.0, 1.0, 0.01, 0.0]),
        nonzeros_per_weight=st.sampled_from([16.0, 1.0, 0.0]),
        reach=st.sampled_from([2.0**6, 2.0, 0.0]),
        largest_reach=st.sampled_from([2.0**10, 4.0, 1.5, 0.0]),
    )


# --- runs -----------------------------------------------------------------------------------------


@st.composite
def disordered_problems(draw, *arguments, **options):
    """``problems`` with or without an intercept, whose rows may have their columns in any order."""
    problem = draw(problems(*arguments, **{"intercepts": (False, True), **options}))
    if draw(st.booleans()):
        return problem
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation
    return dataclasses.replace(problem, X=with_rows_arranged(problem.X, order))


#: Strengths of penalties that begin in the middle of a run.
_STRENGTHS = [0.0, 1e-3, 0.03, 0.3, 3.0]


def rules_that_go_on(kind, rule):
    """The rules of a kind by which an engine of ``rule`` goes on as its reference does.

    The steps of a schedule are those of the first rule.  Where rates of RDA and FTRL begin to
    follow the data, the weights count as loaded, which the references do not know.
    """
    settled = rule.settled()
    if settled.is_affine:
        return [rule]
    follows = settled.size_kind is not None
    return [
        other for other in kind.rules
        if rule.name == "adagrad" or (other.settled().size_kind is not None) == follows
    ]  # fmt: skip


def events_of(kind, rule, run, pick):
    """What happens in the middle of a run: sweeps, new engines, other penalties and constants."""
    rules, events = rules_that_go_on(kind, rule), {}
    # A sweep changes the weights of a rule that is not exact.
    neutral = ["copy", "sweep"] if ALGORITHMS[rule.name].exact else ["copy"]
    for _ in range(pick(range(5))):
        event, step = pick([*neutral, *3 * ["change"]]), pick(range(len(run.problem.order)))
        if event == "change":
            problem = dataclasses.replace(run.problem, l1=pick(_STRENGTHS), l2=pick(_STRENGTHS))
            event = plan_of(
                problem, pick(rules).settled(), run.schedule, run.plan.average, kind.softmax
            )
        events[step] = event
    return events


def run_of(kind, rule, problem, pick, limits):
    """A run of a kind; ``pick`` chooses an entry of a list.  Averages may fold their past often."""
    run = Run(
        problem, rule, pick(kind.outputs), softmax=kind.softmax, schedule=pick(kind.schedules),
        average=pick(kind.averages), limits=limits, seed=pick(range(10)),
    )  # fmt: skip
    if run.engine.past is not None:
        run.shorten_the_past(pick([100, 7, 3, 2, 1]))
    run.events = events_of(kind, rule, run, pick)
    return run


@st.composite
def runs(draw, name, losses=tuple(LOSSES), **options):
    """A run of a kind with any loss, penalty, importances, rows, limits and number of outputs.

    In one of three runs most weights vanish between the rows that have them.
    """
    kind = KINDS[name]

    def pick(values):
        return draw(st.sampled_from(values))

    rule, options = pick(kind.rules), pick(kind.problems) | options
    losses = ["log_loss"] if kind.softmax else list(losses)
    if pick(range(3)) == 2:
        problem = long_tailed(draw(st.integers(0, 2**20)), pick(losses))
    else:
        problem = draw(disordered_problems(losses, [rule], **options))
    return run_of(kind, rule, problem, pick, draw(limits_of_sweeps()))


def long_tailed(seed, loss, n_steps=40):
    """A problem whose later features are rare, with penalties under which their weights vanish."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = 20, int(rng.integers(2, 12))
    X = rng.normal(size=(n_rows, n_features))
    X *= rng.random(X.shape) < 1.0 / (1.0 + np.arange(n_features))
    X[rng.random(n_rows) < 0.1] = 0.0
    rates = rng.uniform(0.02, 0.3) / np.sqrt(1.0 + np.arange(n_steps))
    rates[rng.random(n_steps) < 0.1] = 1e-300
    return Problem(
        X=sparse.csr_matrix(X),
        y=rng.choice([-1.0, 1.0], n_rows) if get_loss(loss).margin else rng.normal(size=n_rows),
        importances=rng.choice([0.5, 1.0, 2.0], n_rows), order=rng.integers(0, n_rows, n_steps),
        rates=rates, loss=loss,
        l1=float(rng.choice([0.03, 0.1, 0.3])), l2=float(rng.choice([0.0, 1e-3, 0.1])),
        fit_intercept=bool(rng.integers(2)),
    )  # fmt: skip


def seeded_run(name, seed):
    """A run of a kind that depends on the seed alone, with a loss that depends on it in turn.

    What Hypothesis draws depends on its version and on where packages are installed, so that a
    number about the problems that it draws is no fixed number.
    """
    rng, kind = np.random.default_rng(seed), KINDS[name]
    loss = "log_loss" if kind.softmax else sorted(LOSSES)[seed % len(LOSSES)]

    def pick(values):
        return values[rng.integers(len(values))]

    return run_of(kind, pick(kind.rules), long_tailed(seed, loss), pick, RESTLESS)


def overshoots(run):
    """Whether a step of a run may be too long for its loss, which has a curvature."""
    one = run.problem
    norms = np.asarray(one.X.multiply(one.X).sum(axis=1)).max() + 1
    curvature = run.plan.loss.curvature
    return np.any(one.rates * one.importances.max() * curvature * norms > 1)
