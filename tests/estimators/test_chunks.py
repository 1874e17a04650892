"""Calls of ``partial_fit`` with chunks of rows give the bits of one call with all of them."""

import copy
from itertools import product

import numpy as np
import pytest
from support import same_bits
from support.algorithms import GIVEN, STREAMING_RULES, options_of
from support.matrices import make_data
from support.parameters import rule_with

from lazynet import FoBoS, LazyNetClassifier, LazyNetRegressor

OWN_RATES = {"rda", "ftrl", "adagrad"}
#: Every rule with rates that do not depend on the first chunk, an average, and rates from the data.
RULES = {
    name: GIVEN[name] if name in OWN_RATES else rule_with(GIVEN[name], eta0=0.1)
    for name in STREAMING_RULES
}
RULES |= {"average": FoBoS(eta0=0.1, average=True), "from data": FoBoS()}
#: The estimator, the number of classes, and the options of each kind of targets.
TARGETS = {
    "two classes": (LazyNetClassifier, 2, {}),
    "three classes": (LazyNetClassifier, 3, {}),
    "softmax": (LazyNetClassifier, 3, {"loss": "softmax"}),
    "labels": (LazyNetClassifier, 3, {}),
    "a number": (LazyNetRegressor, 0, {}),
    "several numbers": (LazyNetRegressor, 3, {}),
}
#: Rules that softmax refuses.
ALONE = {"truncated_gradient", "carpenter_inexact", "from data"}
CASES = [case for case in product(RULES, TARGETS) if case[1] != "softmax" or case[0] not in ALONE]


def data(targets):
    """Rows and targets of a kind."""
    X, y = make_data(n=40, n_classes=TARGETS[targets][1])
    if targets == "labels":
        y = np.eye(3, dtype=int)[y]
    return X, np.column_stack([y, -y]) if targets == "several numbers" else y


def learned(model, X, y, ends, classes):
    """The model after a call for the rows between two ends; a copy goes on after each call."""
    for start, stop in zip([0, *ends], [*ends, len(y)], strict=True):
        model = copy.copy(model.partial_fit(X[start:stop], y[start:stop], **classes))
        classes = {}
    return model


@pytest.mark.every_case
@pytest.mark.parametrize(("rule", "targets"), CASES)
def test_chunks_have_the_bits_of_one_call(rule, targets):
    """The sums, rates and averages of a rule go on from chunk to chunk."""
    Estimator, _, options = TARGETS[targets]
    given = {"l1": 1e-2, "l2": 1e-2, **options_of(RULES[rule]), **options}
    model = Estimator(standardize=False, shuffle=False, random_state=0, **given)
    X, y = data(targets)
    classes = {}
    if Estimator is LazyNetClassifier:
        classes["classes"] = np.arange(3) if targets == "labels" else np.unique(y)
    one = learned(copy.copy(model), X, y, [], classes)
    assert np.count_nonzero(one.coef_)
    for ends in ([20], [1, 2, 39], range(5, 40, 5)):
        chunks = learned(copy.copy(model), X, y, ends, classes)
        assert same_bits(chunks.coef_, one.coef_)
        assert same_bits(chunks.intercept_, one.intercept_)
