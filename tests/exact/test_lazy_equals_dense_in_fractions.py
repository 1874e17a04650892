"""The plain clock and the plain tables equal the dense reference in exact fractions."""

from hypothesis import given
from hypothesis import strategies as st
from support.fractions import assert_same_steps, each_order, each_rule, problems

from lazynet.reference import DenseReference, PlainClock, PlainTables


@each_order
@each_rule
@given(data=st.data())
def test_clock_equals_dense_exactly(rule, step_order, data):
    """Two scalars and one number per weight are the dense weights, for any rates and rebases."""
    problem = data.draw(problems(rule, step_order))
    clock, dense = problem.learner(PlainClock), problem.learner(DenseReference)
    assert_same_steps(problem, clock, dense, bring_current=clock.rebase)


@each_order
@each_rule
@given(data=st.data())
def test_tables_equal_dense_exactly(rule, step_order, data):
    """The corrected tables are the dense weights, for any budget and flushes.

    Without FoBoS, whose a is above 0 at any rate, eta l2 must be below 1.
    """
    problem = data.draw(problems(rule, step_order, below_one=rule != "fobos"))
    tables = problem.learner(PlainTables, budget=problem.budget)
    dense = problem.learner(DenseReference)
    assert_same_steps(problem, tables, dense, bring_current=tables.flush)
