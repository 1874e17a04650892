"""The catalogue has a row per rule, and verify knows the exact ones: it finds broken engines."""

import importlib
import inspect
import pkgutil
from dataclasses import replace

import numpy as np
import pytest
from support import plan
from support.algorithms import GIVEN, penalty_of
from support.matrices import make_data
from support.parameters import in_rule

import lazynet
from lazynet import FoBoS, LazyNetClassifier, LazyNetRegressor, rules
from lazynet.engines import catalogue as catalogue_module
from lazynet.engines.catalogue import ALGORITHMS, check_rule
from lazynet.engines.clock import ClockEngine
from lazynet.losses import LOSSES
from lazynet.rules.base import Rule
from lazynet.verify.reference import new_reference

EXACT_RULES = [name for name, row in ALGORITHMS.items() if row.exact]
INEXACT_RULES = sorted(set(ALGORITHMS) - set(EXACT_RULES))


def classes_of(package, base):
    """The named classes below ``base`` that the modules of a package define."""
    found = set()
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        for kind in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(kind) and issubclass(kind, base) and "name" in vars(kind):
                found.add(kind)
    return found


def test_every_rule_has_one_row_and_every_row_one_rule():
    """Each rule has one row under its name, which is that of the parameter ``rule``."""
    kinds = [row.rule for row in ALGORITHMS.values()]
    assert len(set(kinds)) == len(kinds)
    assert set(kinds) == classes_of(rules, Rule)
    for name, row in ALGORITHMS.items():
        assert name == row.rule.name
        assert type(check_rule("rule", name)) is row.rule
        assert ALGORITHMS[row.rule().name] is row
        assert getattr(lazynet, row.rule.__name__) is row.rule


def test_the_twin_of_a_rule_for_numbered_rows_needs_their_number():
    """Nothing stands in for what the estimator finds in the data."""
    with pytest.raises(ValueError, match="needs n_rows"):
        new_reference(plan(rule="saga"), 2)


# --- verify ------------------------------------------------------------------------------------


def model_of(rule, kind=LazyNetClassifier, l1=1e-2, l2=1e-3, eta0=0.1, **options):
    """An estimator with the rule; its rates are constant where a schedule has a say."""
    penalty = penalty_of(rule, l1, l2)
    rates = dict(schedule="constant", eta0=eta0) if rule.scheduled else {}
    return kind(**in_rule(rule=rule, l1=penalty.l1, l2=penalty.l2, **rates, **options))


@pytest.mark.parametrize("average", [False, True, "polynomial"])
@pytest.mark.parametrize("storage", ["clock", "dense"])
def test_the_report_tells_what_was_compared(storage, average):
    """The storage, every step, and whether the average was compared too."""
    rule = FoBoS("constant", eta0=0.1, storage=storage, average=average)
    report = model_of(rule, tol=None).verify(*make_data(), epochs=2)
    assert report.agrees, str(report)
    assert report.ended is None
    assert report.steps_compared == report.steps == 120
    assert 0 < report.bound < 1e-6
    assert report.engine == storage
    assert (report.average is not None) == bool(average)


@pytest.mark.every_case
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["auto", *ALGORITHMS])
def test_every_loss_has_default_rates_for_every_rule(name, loss):
    """A fit with nothing but loss and rule works, and every step is that of the reference."""
    (X, y), row, options = make_data(), LOSSES[loss], dict(loss=loss, rule=name, random_state=0)
    kind = LazyNetClassifier if row.margin else LazyNetRegressor
    y = y if row.margin else 5.0 * y + np.arange(len(y)) % 7
    if name == "saga" and row.curvature is None:
        with pytest.raises(ValueError, match=f"which has no bound for loss={loss!r}"):
            kind(**options).fit(X, y)
        return
    model = kind(**options).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.count_nonzero(model.coef_) > 5
    if name not in INEXACT_RULES:
        report = kind(**options).verify(X, y, epochs=2)
        assert report.agrees, str(report)
        # Rounding may decide on which side of a kink a prediction is.
        assert report.steps_compared == 120 or (row.kinks and report.steps_compared > 4)


def put(monkeypatch, name, engine):
    """Let the catalogue use ``engine`` for the rule."""
    row = ALGORITHMS[name]
    if row.engine is None:
        monkeypatch.setattr(catalogue_module, "ClockEngine", engine)
    else:
        monkeypatch.setitem(ALGORITHMS, name, replace(row, engine=engine))


def assert_disagrees(report, X):
    assert report.agrees is False, str(report)
    assert "DISAGREE" in str(report)
    assert report.difference.amount > report.bound
    assert 0 <= report.difference.step < report.steps
    assert 0 <= report.difference.feature < X.shape[1]


@pytest.mark.parametrize("step", [0, 7])
@pytest.mark.parametrize("name", EXACT_RULES)
def test_an_engine_that_loses_a_step_disagrees(name, step, monkeypatch):
    """The report tells the step from which on weights differ, and a weight, whatever the rule."""
    X, y = make_data()
    rule = GIVEN[name]

    class LosesAStep(ALGORITHMS[name].engine or ClockEngine):
        def take(self, examples, steps, task, t=0):
            if t != step:
                super().take(examples, steps, task, t)

    put(monkeypatch, name, LosesAStep)
    report = model_of(rule).verify(X, y)
    assert_disagrees(report, X)
    assert report.difference.step >= step
    if step:
        # Up to the lost step nothing is wrong.
        assert model_of(rule).verify(X, y, max_rows=step).agrees


@pytest.mark.parametrize("name", EXACT_RULES)
def test_an_engine_that_breaks_down_disagrees(name, monkeypatch):
    """An overflow in the lazy model alone is a difference; NaN is one too."""
    X, y = make_data()

    class Overflows(ALGORITHMS[name].engine or ClockEngine):
        def take(self, examples, steps, task, t=0):
            if t == 5:
                raise FloatingPointError
            super().take(examples, steps, task, t)

    class TurnsToNaN(ALGORITHMS[name].engine or ClockEngine):
        def coefficients(self, *arguments, **options):
            return super().coefficients(*arguments, **options) * np.nan

    model = model_of(GIVEN[name])
    put(monkeypatch, name, Overflows)
    report = model.verify(X, y)
    assert report.agrees is False
    assert report.steps_compared == 6
    assert report.ended == "the lazy model overflows, but the dense reference does not"
    put(monkeypatch, name, TurnsToNaN)
    report = model.verify(X, y)
    assert report.agrees is False
    assert "DISAGREE" in str(report)
    assert "largest difference nan after step 0 in weight 0 (lazy nan, dense " in str(report)


@pytest.mark.parametrize("name", INEXACT_RULES)
def test_an_inexact_rule_is_refused(name):
    """No twin is equal to an inexact rule; the error lists the rules that can be verified."""
    X, y = make_data()
    for rule in (ALGORITHMS[name].rule(), GIVEN[name]):
        with pytest.raises(ValueError, match="verify knows the exact rules") as caught:
            LazyNetClassifier(rule=rule).verify(X, y)
        assert str(list(EXACT_RULES)) in str(caught.value)
        assert f"got rule={rule!r}" in str(caught.value)
