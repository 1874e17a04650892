"""Problems in exact fractions, for the plain Python forms in lazynet.reference."""

from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st

from lazynet.reference import DenseReference

F = Fraction


@cache
def fractions(low: Any, high: Any, most: int) -> Any:
    """``st.fractions(low, high, max_denominator=most)``, which takes many times as long to draw.

    >>> from hypothesis import find
    >>> find(fractions(-1, 1, 3), lambda number: number.denominator > 1)
    Fraction(1, 2)
    """
    numbers = [
        F(n, d) for d in range(1, most + 1) for n in range(ceil(low * d), 1 + floor(high * d))
    ]
    numbers.sort(key=lambda number: (number.denominator, abs(number), -number))
    return st.sampled_from(numbers)


WEIGHTS = fractions(-6, 6, 8)
STRENGTHS = st.just(F(0)) | fractions(0, 2, 8)


class Step(NamedTuple):
    """One example, its rate, and whether the lazy forms are brought current before it."""

    row: dict[int, Fraction]
    target: int
    importance: Fraction
    eta: Fraction
    rebase: bool

    @property
    def example(self) -> tuple[Any, ...]:
        """What ``step`` of a learner takes: indices, values, target and importance."""
        return self.row.keys(), self.row.values(), self.target, self.importance


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
        rates = fractions(0, F(11, 12), 12).map(lambda share: share / l2)
    else:
        rates = fractions(0, 2, 8)
        if l2:
            rates |= st.just(1 / l2)  # the wipe itself, at which SGD has a = 0
    steps = st.builds(
        Step,
        row=st.dictionaries(st.integers(0, len(start) - 1), WEIGHTS),
        target=st.sampled_from([-1, 1]),
        importance=st.just(F(1)) | fractions(0, 3, 4),
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


def assert_same_steps(
    problem: Problem, lazy: Any, dense: Any, *names: str, bring_current: Any = None
) -> None:
    """Predictions, weights, intercepts and the attributes ``names`` are equal after every step."""
    for step in problem.steps:
        if step.rebase and bring_current:
            bring_current()
        assert lazy.step(*step.example) == dense.step(*step.example)
        for name in ("weights", "intercept", *names):
            assert getattr(lazy, name) == getattr(dense, name), name


each_order = pytest.mark.parametrize("step_order", ["gradient_first", "shrink_first"])
each_rule = pytest.mark.parametrize("rule", ["sgd", "fobos"])
