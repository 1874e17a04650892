"""The plain clock and the plain tables equal the dense reference in exact fractions."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.fractions import Problem, each_order, each_rule, problems

from lazynet.reference import DenseReference, PlainClock, PlainTables


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
    """The corrected tables are the dense weights, whatever budget and flushes.

    Without FoBoS, whose a is above 0 at any rate, eta l2 must be below 1.
    """
    problem = data.draw(problems(rule, step_order, below_one=rule != "fobos"))
    tables = problem.learner(PlainTables, budget=problem.budget)
    assert same_at_every_step(problem, tables, tables.flush)
