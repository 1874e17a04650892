"""Automatic rates: full in the first half of the epochs, then in proportion to the epochs left."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_classifier
from support.engines import apart
from support.models import RawClassifier, RawRegressor

from lazynet import RDA, AdaGrad, FoBoS
from lazynet.data.targets import Classes, Columns
from lazynet.engines.cells import AdaGradEngine
from lazynet.losses import LOSSES
from lazynet.training.fit import make_plan
from lazynet.training.plan import Plan
from lazynet.training.rows import RowsInMemory
from lazynet.training.settings import read_settings
from lazynet.verify.reference import new_reference

N, D = 60, 50
#: The shares of the rates in each of six epochs.
SHARES = [1.0, 1.0, 1.0, 0.75, 0.5, 0.25]
SIX = dict(max_iter=6, tol=None)


def documents(seed=0, n_classes=2, noise=1.0):
    """Sparse rows, fewer than features, of which the last occur seldom; and classes or numbers."""
    random = np.random.default_rng(seed)
    X = sparse.random(N, D, density=0.1, format="csr", random_state=seed)
    X.data = random.standard_normal(len(X.data))
    scores = X @ random.standard_normal((D, max(1, n_classes - 1)))
    scores = np.column_stack([np.zeros(N), scores + noise * random.standard_normal(scores.shape)])
    y = scores.argmax(axis=1) if n_classes else scores[:, 1]
    y[:n_classes] = range(n_classes)
    return X, y


def rows_of_one_size():
    """Sparse rows with ||x||_1 = 2."""
    columns = np.argsort(np.random.default_rng(0).random((N, D)), axis=1)[:, :2].ravel()
    return sparse.csr_matrix((np.ones(2 * N), columns, np.arange(0, 2 * N + 1, 2)), shape=(N, D))


# --- lazy equals dense --------------------------------------------------------------------------


def epochs_of_a_reference(plan, X, y, constant=math.inf):
    """The reference of one output after six epochs, and whether it has started again.

    It does if its mean loss in the first epoch exceeds that of a constant prediction.
    """
    twin, quarter = new_reference(plan, D), 1.0
    for epoch, share in enumerate(SHARES):
        next_twin = new_reference(replace(plan, share=share * quarter), D)
        if epoch != 1 or quarter == 1.0:
            next_twin.continue_from(twin)
        twin, loss = next_twin, 0.0
        for i in range(N):
            p = twin.step(X[i].indices.tolist(), X[i].data.tolist(), y[i])
            loss += np.logaddexp(0.0, -p * y[i])
        if epoch == 0 and loss / N > constant:
            quarter = 0.25
    return twin, quarter < 1.0


def assert_stepped_by_hand(model, n_classes, seed=0, noise=1.0):
    """A fit is the steps of a reference at these shares; returns whether it started again."""
    X, y = documents(seed, n_classes, noise)
    model = clone(model).set_params(shuffle=False, **SIX).fit(X, y)
    targets = Classes(y, n_classes, None) if n_classes else Columns(y, None)
    settings = replace(read_settings(model), l1=model.l1_)
    plan, *_ = make_plan(settings, RowsInMemory(X, targets), None)
    constant = math.inf
    if n_classes == 2 and plan.rule.name == "adagrad":
        share = y.mean()
        constant = -share * math.log(share) - (1 - share) * math.log(1 - share)
    for k, (numbers, _) in enumerate(targets):
        twin, restarts = epochs_of_a_reference(plan, X, numbers, constant)
        assert apart(np.atleast_2d(model.coef_)[k], twin.weights) <= 1e-10
        assert apart(model.intercept_[k], twin.intercept) <= 1e-10
        assert restarts == any(choice.name == "restart" for choice in model.auto_)
    return restarts


@given(st.integers(0, 2**20), st.sampled_from([0.0, 1.0, 100.0]), st.sampled_from([None, 0.01]))
def test_fit_is_stepping_by_hand(seed, noise, l1):
    """Also where the labels are noise, and training starts again at a quarter of the rates."""
    assert_stepped_by_hand(RawClassifier(l1=l1), 2, seed, noise)


def test_some_of_these_fits_start_again():
    found = {assert_stepped_by_hand(RawClassifier(l1=0.01), 2, seed, 0.0) for seed in range(5)}
    assert found == {False, True}


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        (RawClassifier(), 3),
        (RawClassifier(l1=1e-3, l2=1e-3), 9),
        (RawClassifier(rule=FoBoS()), 2),
        (RawClassifier(rule=FoBoS()), 3),
        (RawRegressor(), 0),
        (RawRegressor("huber", rule="sgd", l2=1e-2), 0),
        (RawRegressor(rule="adagrad"), 0),
    ],
    ids=str,
)
def test_so_are_other_rules_and_several_classes(model, n_classes):
    """One engine learns three classes, or nine, and lowers the rates of all of them."""
    assert_stepped_by_hand(model, n_classes)


@pytest.mark.parametrize("model", [RawClassifier(), RawRegressor()], ids=str)
def test_verify_lowers_the_rates_of_both_models(model, monkeypatch):
    X, y = documents(n_classes=2 if is_classifier(model) else 0)
    for epochs in (1, 2, 6):
        report = model.verify(X, y, epochs=epochs)
        assert report.agrees
        assert report.steps_compared == N * epochs
    # The lazy model alone keeps its rates.
    task = Plan.task
    monkeypatch.setattr(Plan, "task", lambda plan, engine: task(plan.in_epoch(0), engine))
    monkeypatch.setattr(AdaGradEngine, "set_constants", lambda engine, constants: None)
    assert model.verify(X, y, epochs=1).agrees
    assert not model.verify(X, y, epochs=2).agrees


# --- when rates fall ----------------------------------------------------------------------------


def test_the_rates_of_an_epoch_are_those_of_its_number():
    X, y = rows_of_one_size(), documents()[1]
    alpha = LOSSES["hinge"].alphas[1]
    for epochs in range(1, 7):
        model = RawClassifier("hinge", max_iter=6, tol=None)
        model.fit(X, y, callback=lambda epoch, last=epochs - 1: epoch.epoch == last)
        assert model.eta0_ == alpha / 2.0 * SHARES[epochs - 1]


@pytest.mark.parametrize(
    ("options", "share"),
    [
        *((options, 0.25)
          for options in ({}, {"rule": AdaGrad()}, {"loss": "hinge"}, {"loss": "softmax"},
                          {"l1": 1e-4}, {"l2": 1e-4}, {"kind": RawRegressor, "rule": "adagrad"})),
        *((options, 1.0) for options in (
            {"rule": AdaGrad(alpha=0.5)}, {"rule": FoBoS(eta0=0.5)}, {"rule": FoBoS("power")},
            {"rule": RDA()}, {"rule": "ftrl"}, {"rule": "saga"})),
    ],
    ids=str,
)  # fmt: skip
def test_rates_fall_where_none_is_given(options, share):
    """Whatever the penalty is."""
    options = {**options}
    kind = options.pop("kind", RawClassifier)
    X, y = rows_of_one_size(), documents(n_classes=3)[1]
    rates = []
    for last in (0, 5):
        model = kind(**options, random_state=0, **SIX)
        rates.append(model.fit(X, y, callback=lambda epoch, last=last: epoch.epoch == last).eta0_)
    assert rates[1] / rates[0] == pytest.approx(share)


def test_a_model_that_goes_on_begins_at_full_rates():
    X, y = documents()
    model = RawClassifier(random_state=0, warm_start=True, **SIX).fit(X, y)
    fallen, further = model.eta0_, copy.deepcopy(model).partial_fit(X, y)
    assert further.eta0_ > 3 * fallen
    assert model.set_params(max_iter=1).fit(X, y).eta0_ > 3 * fallen
