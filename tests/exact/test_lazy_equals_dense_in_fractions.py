"""The lazy forms equal the dense reference exactly, after every step."""

from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazynet.reference import DenseReference, PlainClock, PlainTables

F = Fraction

WEIGHTS = st.fractions(-6, 6, max_denominator=8)
STRENGTHS = st.just(F(0)) | st.fractions(0, 2, max_denominator=8)


class Step(NamedTuple):
    """One example, its rate, and whether the lazy forms are brought current before it."""

    row: dict[int, Fraction]
    target: int
    importance: Fraction
    eta: Fraction
    rebase: bool


class Problem(NamedTuple):
    rule: str
    step_order: str
    fit_intercept: bool
    l1: Fraction
    l2: Fraction
    start: list[Fraction]
    steps: list[Step]
    budget: int

    def learner(self, kind: Any, **options: Any) -> Any:
        """A learner of this problem, at its starting weights."""
        learner = kind(
            len(self.start),
            loss="hinge",
            rule=self.rule,
            l1=self.l1,
            l2=self.l2,
            schedule=lambda t: self.steps[t].eta,
            step_order=self.step_order,
            fit_intercept=self.fit_intercept,
            zero=F(0),
            **options,
        )
        if issubclass(kind, DenseReference):
            learner.weights = list(self.start)
        else:
            for j, w in enumerate(self.start):
                learner.store(j, w)
        return learner


@st.composite
def problems(draw: Any, rule: str, step_order: str, below_one: bool = False) -> Problem:
    """Up to 7 features and 25 steps; rates on both sides of 1 / l2, or only below it."""
    start = draw(st.lists(WEIGHTS, min_size=1, max_size=7))
    l2 = draw(STRENGTHS)
    if below_one and l2:
        rates = st.fractions(0, F(11, 12), max_denominator=12).map(lambda share: share / l2)
    else:
        rates = st.fractions(0, 2, max_denominator=8)
        if l2:
            rates |= st.just(1 / l2)  # the wipe itself, at which SGD has a = 0
    steps = st.builds(
        Step,
        row=st.dictionaries(st.integers(0, len(start) - 1), WEIGHTS),
        target=st.sampled_from([-1, 1]),
        importance=st.just(F(1)) | st.fractions(0, 3, max_denominator=4),
        eta=rates,
        rebase=st.booleans(),
    )
    return Problem(
        rule,
        step_order,
        draw(st.booleans()),
        draw(STRENGTHS),
        l2,
        start,
        draw(st.lists(steps, min_size=1, max_size=25)),
        draw(st.integers(1, 30)),
    )


def same_at_every_step(problem: Problem, lazy: Any, bring_current: Any) -> bool:
    """Whether ``lazy`` has the predictions, weights and intercept of the dense reference."""
    dense = problem.learner(DenseReference)
    for step in problem.steps:
        if step.rebase:
            bring_current()
        example = step.row.keys(), step.row.values(), step.target, step.importance
        if lazy.step(*example) != dense.step(*example):
            return False
        if lazy.weights != dense.weights or lazy.intercept != dense.intercept:
            return False
    return True


each_order = pytest.mark.parametrize("step_order", ["gradient_first", "shrink_first"])
each_rule = pytest.mark.parametrize("rule", ["sgd", "fobos"])


@each_order
@each_rule
@given(data=st.data())
def test_clock_equals_dense_exactly(rule, step_order, data):
    """Two scalars and one number per weight are the dense weights, whatever rates and rebases."""
    problem = data.draw(problems(rule, step_order))
    clock = problem.learner(PlainClock)
    assert same_at_every_step(problem, clock, clock.rebase)


@each_order
@each_rule
@given(data=st.data())
def test_tables_equal_dense_exactly(rule, step_order, data):
    """The corrected tables are the dense weights for eta l2 < 1, whatever budget and flushes."""
    problem = data.draw(problems(rule, step_order, below_one=True))
    tables = problem.learner(PlainTables, budget=problem.budget)
    assert same_at_every_step(problem, tables, tables.flush)


@each_order
@given(data=st.data())
def test_fobos_tables_equal_dense_at_any_rate(step_order, data):
    """FoBoS keeps a > 0, so its tables need no bound on the rate."""
    problem = data.draw(problems("fobos", step_order))
    tables = problem.learner(PlainTables, budget=problem.budget)
    assert same_at_every_step(problem, tables, tables.flush)


@each_rule
@given(data=st.data())
def test_bringing_current_changes_nothing_visible(rule, data):
    """A rebase and a flush leave every weight as it was, and the next steps too."""
    problem = data.draw(problems(rule, "gradient_first", below_one=True))
    clock, tables = problem.learner(PlainClock), problem.learner(PlainTables)
    for step in problem.steps:
        clock.step(step.row.keys(), step.row.values(), step.target, step.importance)
        tables.step(step.row.keys(), step.row.values(), step.target, step.importance)
        before = clock.weights
        clock.rebase()
        tables.flush()
        assert clock.weights == tables.weights == before
