"""The plain lazy forms equal their naive forms in fractions: clock, tables, averages, sums."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fractions import F, assert_same_steps, each_order, each_rule, fractions, problems

from lazynet.reference import DenseReference, PlainClock, PlainTables
from lazynet.reference.averages import DenseAverage, PlainAverage
from lazynet.reference.dekel import DenseDekel, PlainDekel

#: The weights of the steps in an average.
OMEGAS = [lambda i: 1, lambda i: int(i >= 4), lambda i: i, lambda i: i % 3]


@each_order
@each_rule
@given(data=st.data())
def test_the_clock_and_lazy_averages_equal_dense_exactly(rule, step_order, data):
    """Two scalars and one number per weight are the dense weights, for any rates and rebases.

    Lazy averages equal the naive ones, for any weighing.
    """
    problem, omega = data.draw(problems(rule, step_order)), data.draw(st.sampled_from(OMEGAS))
    clock, dense = problem.learner(PlainClock), problem.learner(DenseReference)
    assert_same_steps(problem, clock, dense, bring_current=clock.rebase)
    lazy, dense = (problem.learner(kind, omega=omega) for kind in (PlainAverage, DenseAverage))
    names = "averages", "average_intercept"
    assert_same_steps(problem, lazy, dense, *names, bring_current=lazy.rebase)


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


# --- Dekel's algorithms ---------------------------------------------------------------------------

FRACTIONS = fractions(-4, 4, 6)


@st.composite
def dekel_problems(draw):
    n = draw(st.integers(1, 5))
    rows = draw(
        st.lists(
            st.tuples(st.dictionaries(st.integers(0, n - 1), FRACTIONS), st.sampled_from([-1, 1])),
            min_size=1,
            max_size=15,
        )
    )
    mean = draw(st.none() | st.lists(FRACTIONS, min_size=n, max_size=n))
    return n, rows, mean, draw(fractions(F(1, 6), 3, 6))


@pytest.mark.parametrize("loss", ["absolute_error", "squared_error", "hinge"])
@given(problem=dekel_problems())
def test_dekels_sums_are_the_naive_averages(loss, problem):
    """All four models are exact after every step: SGD, averaged, centered, and both."""
    n, rows, mean, l2 = problem
    lazy, dense = (
        kind(n, loss=loss, l2=l2, mean=mean, zero=F(0)) for kind in (PlainDekel, DenseDekel)
    )
    for row, target in rows:
        example = row.keys(), row.values(), target
        assert lazy.step(*example) == dense.step(*example)
        assert (lazy.last(), lazy.average()) == (dense.last(), dense.average())


@pytest.mark.parametrize("kind", [DenseDekel, PlainDekel])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(l1=0.5), "l1 must be 0"),
        (dict(l2=0), "l2 must be positive"),
        (dict(fit_intercept=False), "fit_intercept must be True"),
    ],
)
def test_what_dekels_algorithms_lack_is_refused(kind, options, message):
    """An unsupported option is refused when the learner is made."""
    with pytest.raises(ValueError, match=message):
        kind(1, **options)


@given(problem=dekel_problems())
def test_dekels_loop_begins_at_step_2(problem):
    """Algorithm 3: at t = 1 the prediction divides by 0; from t = 2 on it is the dense one."""
    n, rows, mean, l2 = problem
    options = dict(loss="hinge", l2=l2, mean=mean or [F(0)] * n, zero=F(0))
    lazy, dense = PlainDekel(n, **options), DenseDekel(n, **options)

    def prediction(row, t):
        """Eq. 15, where the lines before the loop and its steps so far have made the sums."""
        inner = sum(lazy.v[j] * x for j, x in row.items())
        q = sum(lazy.mean[j] * x for j, x in row.items())
        return -(inner - lazy.a * q + lazy.r) / (l2 * (t - 1))

    for t, (row, target) in enumerate(rows, start=1):
        if t == 1:
            with pytest.raises(ZeroDivisionError):
                prediction(row, t)
        else:
            expected = prediction(row, t)
        found = dense.step(row.keys(), row.values(), target)
        assert t == 1 or found == expected
        lazy.step(row.keys(), row.values(), target)


def test_the_printed_rescaling_is_wrong():
    """eta = 1/4, lambda = 2, w = 0, gradient -1: 1/4, and 1/6 if c is divided by 1 - eta."""
    lazy = PlainClock(
        1, loss="hinge", rule="sgd", l2=F(2), schedule=lambda t: F(1, 4),
        step_order="shrink_first", zero=F(0),
    )  # fmt: skip
    lazy.step([0], [F(1)], 1)
    assert lazy.weights == [F(1, 4)]
    c, eta, l2 = F(1), F(1, 4), F(2)
    printed = (1 - eta * l2) * c * (eta / ((1 - eta) * c))
    assert printed == F(1, 6)


def test_the_printed_product_of_the_rescaling_is_one_step_ahead():
    """w = 8, eta = 1/4, lambda = 2: before step 0 the product up to step 0 makes the weight 4."""
    lazy = PlainClock(1, rule="sgd", l2=F(2), schedule=lambda t: F(1, 4), zero=F(0))
    lazy.store(0, F(8))
    assert (lazy.scale, lazy.weights) == (1, [8])
    lazy.step([], [], 1)
    keep = 1 - F(1, 4) * 2
    assert (lazy.scale, lazy.weights) == (keep, [4])  # the product up to step 0 belongs to step 1
    assert keep * 8 == 4
