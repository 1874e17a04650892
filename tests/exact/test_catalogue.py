"""Every row of the catalogue names one rule, its engine, reference and paper."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
from support import plan
from support.algorithms import GIVEN, penalty_of
from support.engines import numbered

import lazynet
from lazynet import reference, rules
from lazynet.engines.catalogue import ALGORITHMS, check_rule
from lazynet.rules.base import Rule
from lazynet.verify.reference import new_reference

each_row = pytest.mark.parametrize("row", ALGORITHMS.values(), ids=ALGORITHMS)


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


@each_row
def test_the_reference_takes_the_parameters_of_the_rule(row):
    """A class in plain Python, which is compared with the engine."""
    kind = getattr(row.reference, "func", row.reference)
    assert kind.__module__.startswith(reference.__name__ + ".")
    options = {} if row.rule.streams else {"alpha": 0.1}
    for rule in (row.rule(**options), GIVEN[row.rule.name]):
        penalty = penalty_of(rule, 0.01, 0.1)
        options = dict(l1=penalty.l1, l2=penalty.l2, rule=rule, fit_intercept=True)
        twin = new_reference(plan(loss="squared_error", **options), 2, n_rows=3)
        twin.step([0], [1.0], 2.0, **numbered(rule, 0))
        assert np.any(np.array(twin.weights) != 0)


def test_the_twin_of_a_rule_for_numbered_rows_needs_their_number():
    """Nothing stands in for what the estimator finds in the data."""
    with pytest.raises(ValueError, match="needs n_rows"):
        new_reference(plan(rule="saga"), 2)
