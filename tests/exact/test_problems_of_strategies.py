"""verify.strategies draws long, readable problems of every exact rule, narrowed by arguments."""

import inspect

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from scipy import sparse
from support.algorithms import BOTH_ORDERS, GIVEN

import lazynet
from lazynet.verify.strategies import EXACT_RULES, Problem, assert_matches_reference, problems

# The same problems every time, none of them made smaller.
SAMPLE = dict(
    max_examples=100, phases=[Phase.generate], database=None, derandomize=True, deadline=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def sample(strategy, **options):
    """A hundred problems, some fewer where there are few different ones."""
    drawn = []

    @settings(**SAMPLE | options)
    @given(problem=strategy)
    def draw(problem):
        drawn.append(problem)

    draw()
    assert len(drawn) >= 90
    return drawn


def first(strategy, condition=lambda problem: True):
    """The first problem of a strategy for which the condition holds."""
    return find(strategy, condition, settings=settings(**SAMPLE))


# --- every exact rule -----------------------------------------------------------------------------


def test_a_twin_of_an_inexact_rule_is_refused():
    """There is nothing to be equal to."""
    problem = first(problems(rules=["carpenter_inexact"]))
    with pytest.raises(ValueError, match="rule must be exact, got Carpenter"):
        problem.reference()


# --- narrowed by arguments ------------------------------------------------------------------------


def test_penalties_lengths_scales_rates_and_importances_are_fixed_by_argument():
    """Arguments fix all of them at once, whatever the rule."""
    narrowed = problems(
        ["hinge"], EXACT_RULES, max_features=3, min_steps=5, max_steps=6, l1=0.3, l2=0.0,
        importances=[2.0, 0.5], scale=100.0, rate=0.125, max_copies=1,
    )  # fmt: skip
    lengths, values, importances = set(), [], set()
    for problem in sample(narrowed):
        assert problem.loss == "hinge"
        assert problem.rule in EXACT_RULES
        assert (problem.l1, problem.l2) == (0.3, 0.0)
        assert problem.n_features <= 3
        assert set(problem.rates) == {0.125}
        assert len(problem.rates) == len(problem.order)
        lengths.add(len(problem.order))
        values.extend(np.abs(problem.X.data))
        importances.update(problem.importances)
    assert lengths == {5, 6}
    assert importances == {2.0, 0.5}
    assert 200.0 < max(values) <= 302.0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(l1=-1.0), ValueError, "l1 must be finite and not negative"),
        (dict(l2=np.nan), ValueError, "l2 must be finite and not negative"),
        (dict(rate=-0.5), ValueError, "rate must be finite and not negative"),
        (dict(scale="1"), TypeError, "scale must be a number"),
        (dict(scale=np.inf), ValueError, "scale must be finite"),
        (dict(min_steps=0), ValueError, "min_steps must be at least 1"),
        (dict(min_steps=5, max_steps=4), ValueError, "max_steps must be at least 5"),
        (dict(max_copies=0), ValueError, "max_copies must be at least 1"),
        (dict(max_features=0), ValueError, "max_features must be at least 1"),
        (dict(rules=["nothing"]), ValueError, "rule must be one of"),
        (dict(losses=["nothing"]), ValueError, "loss must be one of"),
        (dict(losses=[]), ValueError, "losses must list at least one"),
        (dict(rules=[]), ValueError, "rules must list at least one"),
        (dict(importances=[]), ValueError, "importances must list at least one"),
        (dict(importances=[-1.0]), ValueError, "importances must be finite and not negative"),
    ],
)
@pytest.mark.every_case
def test_arguments_that_no_problem_has_are_refused(options, error, message):
    """A bad argument is refused when a problem is drawn, and the error names it."""
    with pytest.raises(error, match=message):
        first(problems(**options))


# --- counterexamples that people can read ---------------------------------------------------------


@given(problem=problems(rules=[*EXACT_RULES, *GIVEN.values()], step_orders=BOTH_ORDERS))
def test_a_problem_is_printed_as_it_is_written(problem):
    """What a failing test prints can be pasted into a test."""
    names = {name: getattr(lazynet, name) for name in lazynet.__all__}
    names |= dict(Problem=Problem, csr_matrix=sparse.csr_matrix)
    pasted = eval(repr(problem), names)
    for name in inspect.signature(Problem).parameters:
        found, expected = getattr(pasted, name), getattr(problem, name)
        if name == "X":
            found, expected = found.toarray(), expected.toarray()
        np.testing.assert_array_equal(found, expected)
    assert repr(pasted) == repr(problem)


# --- what a comparison says -----------------------------------------------------------------------


class Breaks:
    """Has another last weight."""

    def __init__(self, problem, weight):
        self.weights = np.zeros(problem.n_features)
        self.weights[-1] = weight

    def step(self, indices, values, target, importance=1.0):
        return 0.0


def test_a_difference_is_told_in_numbers():
    """The error gives the step, the distance, the bound, and the two numbers."""
    two = problems(intercepts=[False], max_features=2, max_steps=5)
    still = first(two, lambda problem: problem.n_features == 2 and not problem.X.nnz)
    moved = first(two, lambda problem: problem.n_features == 2 and problem.X[:, 0].nnz)
    for problem, compared in (
        (still, "and rounding explains no difference"),
        (moved, "times the .* that rounding explains"),
    ):
        with pytest.raises(
            AssertionError, match=f"after step 0 .* from the dense reference's, .*{compared}"
        ):
            assert_matches_reference(Breaks(problem, weight=0.5), problem)
    with pytest.raises(AssertionError, match=r"weight 1 is 0\.5, the reference's 0\.0"):
        assert_matches_reference(Breaks(still, weight=0.5), still)
