"""A rule of one's own, registered or compared as an object: equal if it is right, caught if not.

The rules are those of the page "Check your own rule", whose blocks test_pages.py runs.
"""

import re
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from support import ROOT
from support.algorithms import BOTH_ORDERS
from support.caught import caught
from support.matrices import make_data

from lazynet import FoBoS, LazyNetClassifier, Stepper, load, register_rule
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.reference.affine import fobos_shrink
from lazynet.rules.affine import SGD, Proximal, fobos
from lazynet.verify.strategies import Problem, assert_matches_reference, problems

PAGE = (ROOT / "docs" / "check_your_own_rule.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SQUARED = problems(losses=["squared_error"], rules=["fobos"])


@pytest.fixture(autouse=True)
def page():
    """The definitions of the page; other tests do not know its rules."""
    names = {"np": np}
    with mock.patch.dict(ALGORITHMS):
        for first in ("import math", "class MyLazyRule", "class MyDenseRule"):
            (block,) = [block for block in BLOCKS if block.startswith(first)]
            exec(block.partition("@given")[0], names)
        yield names


def built(kind, problem):
    return kind(problem.n_features, problem.l1, problem.l2, problem.rates)


# --- registered rules -----------------------------------------------------------------------------


def test_strategies_and_stepper_agree_with_the_reference_of_a_registered_rule():
    """After every step, for all losses, with both orders of the step."""

    @given(problems(rules=["midpoint"], step_orders=BOTH_ORDERS, intercepts=[False, True]))
    def agree(problem):
        assert_matches_reference(problem.stepper(), problem)

    agree()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("storage", ["clock", "tables", "dense"])
def test_every_training_takes_a_registered_rule(page, storage, n_classes, tmp_path):
    """``verify``, ``fit``, ``partial_fit`` and model files take it, by name and as an object."""
    X, y = make_data(n_classes=n_classes)
    rule = page["Midpoint"]("power", eta0=0.1, storage=storage)
    model = LazyNetClassifier(rule=rule, l1=0.01, l2=0.5, random_state=0)
    report = model.verify(X, y)
    assert report.agrees
    assert report.steps_compared == report.steps
    weights = model.fit(X, y).coef_
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").rule == rule
    assert np.abs(weights - model.set_params(rule=SGD("power", eta0=0.1)).fit(X, y).coef_).max() > 0
    online = LazyNetClassifier(rule="midpoint", l2=0.5).partial_fit(X, y, classes=np.unique(y))
    assert online.coef_.any()
    del ALGORITHMS["midpoint"]
    with pytest.raises(ValueError, match=r"no Midpoint .* must be registered before"):
        load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"lazynet\.register_rule adds a rule"):
        model.set_params(rule=rule).fit(X, y)


def forgets_half(eta, l1, l2):
    return 1 - eta * l2 / 2, eta * l2 / 2, eta * l1


def pulls_unshrunk(eta, l1, l2):
    half = eta * l2 / 2
    return (1 - half) / (1 + half), 2 * half / (1 + half), eta * l1


def pulls_a_little_more(eta, l1, l2):
    half = eta * l2 / 2
    return (1 - half) / (1 + half), 2 * half / (1 + half), (1 + 1e-9) * eta * l1 / (1 + half)


@pytest.mark.parametrize("shrink", [forgets_half, pulls_unshrunk, pulls_a_little_more])
def test_a_wrong_map_is_caught(page, shrink):
    """A map of the right form with a wrong number registers, and no comparison passes."""
    register_rule(page["Midpoint"], shrink=shrink, reference=page["midpoint_weight"])
    X, y = make_data()
    model = LazyNetClassifier(rule=page["Midpoint"]("power", eta0=0.1), l1=0.01, l2=0.5)
    assert not model.verify(X, y).agrees

    @caught(match="away from the dense reference")
    @given(problems(rules=["midpoint"]))
    def agree(problem):
        assert_matches_reference(problem.stepper(), problem)


def rule_named(title, base=Proximal, **fields):
    """A class of rules."""
    return type(title, (base,), fields)


Own = rule_named("Own", name="own")
Taken = rule_named("Taken", name="fobos")


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        (dict(rule=Own()), TypeError, r"rule must be a subclass of Proximal, got Own\(\)"),
        (dict(rule=Stepper), TypeError, "rule must be a subclass of Proximal, got <class"),
        (dict(rule=rule_named("Nameless")), ValueError, "Nameless.name must be a name .* got None"),
        (dict(rule=Taken), ValueError, "Taken.name must be a name besides .*got 'fobos'"),
        (
            dict(rule=rule_named("Grouped", FoBoS, name="grouped")),
            ValueError,
            r"Grouped has the parameters \['group'\], but its shrink",
        ),
        (dict(shrink=lambda eta, l1, l2: None), ValueError, "for an array of rates: .*None"),
        (dict(shrink=lambda eta, l1, l2: fobos(eta, l1, l2)[:2]), ValueError, "not enough values"),
        (dict(shrink=lambda eta, l1, l2: (1.0, 0.0, 0.0)), ValueError, r"a number for each rate"),
        (
            dict(
                rule=rule_named("Own", name="own", decay_below=2.0),
                shrink=lambda eta, l1, l2: (1 - eta * l2, eta * l2, eta * l1),
            ),
            ValueError,
            r"0 < a <= 1, or the rule needs a lower decay_below: a is \[-0.998",
        ),
        (
            dict(shrink=lambda eta, l1, l2: fobos(eta, l1, l2)._replace(pull=-eta)),
            ValueError,
            "with a finite b >= 0, got .*l1=0, l2=0",
        ),
        (
            dict(shrink=lambda eta, l1, l2: fobos(eta, l1, l2)._replace(decay=eta * l2)),
            ValueError,
            "all digits of 1 - a",
        ),
        (
            dict(shrink=lambda eta, l1, l2: (a := fobos(eta, l1, l2))._replace(decay=1 - a.keep)),
            ValueError,
            "all digits of 1 - a",
        ),
        (dict(reference=lambda w, eta, l1, l2: None), ValueError, "w=1.0, eta=0.5, .* is None"),
        (dict(reference=lambda w, eta, l1, l2: w + eta), ValueError, "from 0 to w.* is 1.5"),
    ],
)
@pytest.mark.every_case
def test_what_is_no_rule_is_refused(changed, error, message):
    """The error names the argument, and the catalogue stays as it was."""
    before = dict(ALGORITHMS)
    given = dict(rule=Own, shrink=fobos, reference=fobos_shrink) | changed
    with pytest.raises(error, match=message):
        register_rule(given.pop("rule"), **given)
    assert before == ALGORITHMS
    assert Own.shrink is Proximal.shrink


# --- objects --------------------------------------------------------------------------------------


def forms_of(rule):
    """The lazy rule of the page, the same with half of l2, and a way in which that can be wrong."""

    class HalfOfL2(rule):
        def __init__(self, n_features, l1, l2, rates):
            super().__init__(n_features, l1, l2 / 2, rates)

    class ScalesFirst(HalfOfL2):
        def step(self, *example):
            before = self.scale
            super().step(*example)
            self.shift += self.rates[self.t - 1] * self.l1 * (1 / self.scale - 1 / before)

    return dict(right=rule, half=HalfOfL2, wrong=ScalesFirst)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("form", "own", "agrees"),
    [("right", False, True), ("half", False, False), ("half", True, True), ("wrong", True, False)],
)
def test_an_object_agrees_with_a_reference_or_is_caught(page, form, own, agrees):
    """The lazy rule of the page is FoBoS, and with half of l2 a dense rule that lazynet lacks."""

    @given(SQUARED)
    def compare(problem):
        lazy = built(forms_of(page["MyLazyRule"])[form], problem)
        dense = built(page["MyDenseRule"], problem) if own else None
        assert_matches_reference(lazy, problem, reference=dense)

    if agrees:
        compare()
    else:
        caught(match="after step .* away from the dense reference")(compare)


class Model:
    """A model that does nothing."""

    def __init__(self, **parts):
        self.__dict__.update(parts)

    def step(self, indices, values, target, importance):
        pass


@pytest.mark.parametrize("name", ["implementation", "reference"])
@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (Model, TypeError, r"{} must be an object, got the class Model: write Model\(\.\.\.\)"),
        (Model(), TypeError, "{} must have step.* and weights, got .* without weights"),
        (np.zeros(1), TypeError, "{} must have step.* without step"),
        (
            Model(weights=[0.0]),
            AssertionError,
            "the {} has no attribute `intercept`: add one, or "
            r"draw problems\(intercepts=\[False\]\)",
        ),
    ],
)
@pytest.mark.every_case
def test_what_cannot_be_compared_is_refused(name, model, error, message):
    """Before the first step, by the name of the argument."""
    problem = Problem(
        np.eye(1), np.ones(1), np.ones(1), np.array([0]), np.ones(1), "squared_error",
        fit_intercept=True,
    )  # fmt: skip
    models = dict(implementation=problem.stepper(), reference=problem.stepper()) | {name: model}
    with pytest.raises(error, match=message.format(name)):
        assert_matches_reference(models["implementation"], problem, reference=models["reference"])


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([0.0], ValueError, r"weights must be 2 numbers, got the shape \(1,\)"),
        (["a", "b"], TypeError, "weights must hold real numbers"),
    ],
)
def test_weights_that_are_none_are_refused(weights, error, message):
    """An array of another length would be broadcast."""
    problem = Problem(np.eye(2), np.ones(2), np.ones(2), np.array([0]), np.ones(1))
    with pytest.raises(error, match=message):
        assert_matches_reference(Model(weights=weights), problem)
    with pytest.raises(error, match=message):
        assert_matches_reference(Model(), problem, read=lambda model: weights)
