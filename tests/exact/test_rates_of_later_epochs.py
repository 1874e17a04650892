"""Rates that suit the number of epochs: of a classifier after its own, of a regressor's few."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support.engines import apart
from support.parameters import in_rule

from lazynet import RDA, AdaGrad, FoBoS, FromData, LazyNetClassifier, LazyNetRegressor
from lazynet.engines.cells import AdaGradEngine
from lazynet.losses import LOSSES
from lazynet.reference.adagrad import DenseAdaGrad, PlainAdaGrad
from lazynet.training.fit import EPOCHS_OF_CLASSIFIERS as FULL

N, D = 60, 50
LATER = dict(max_iter=FULL + 3, tol=None)
CHOSEN = AdaGrad().reference_options(LOSSES["log_loss"])


def documents(seed=0, n_classes=2):
    """Sparse rows, fewer than features, of which the last occur seldom; and classes."""
    random = np.random.default_rng(seed)
    X = sparse.random(N, D, density=0.1, format="csr", random_state=seed)
    X.data = random.standard_normal(len(X.data))
    y = random.integers(0, n_classes, N)
    y[:n_classes] = range(n_classes)
    return X, y


def rows_of_one_size():
    """Sparse rows with ||x||_1 = 2."""
    columns = np.argsort(np.random.default_rng(0).random((N, D)), axis=1)[:, :2].ravel()
    return sparse.csr_matrix((np.ones(2 * N), columns, np.arange(0, 2 * N + 1, 2)), shape=(N, D))


# --- lazy equals dense --------------------------------------------------------------------------


def differs_from_the_reference(n_classes=2, seed=0, twin_of=DenseAdaGrad, **options):
    """Whether a fit leaves a reference that takes the same steps, at rates divided by hand."""
    X, y = documents(seed, n_classes)
    model = LazyNetClassifier(**in_rule(shuffle=False, **LATER, **options)).fit(X, y)
    for k, positive in enumerate([1] if n_classes == 2 else range(n_classes)):
        twin = twin_of(D, l1=model.l1_, fit_intercept=True, **CHOSEN)
        for epoch in range(model.n_iter_):
            if epoch >= FULL:
                twin.divide_rates(1.0 + 4.0 * (epoch + 1 - FULL))
            for i in range(N):
                twin.step(X[i].indices, X[i].data, 1.0 if y[i] == positive else -1.0)
        gap = max(
            apart(model.coef_[k], twin.weights),
            apart(model.intercept_[k], twin.intercept),
        )
        if not gap <= 1e-11:
            return True
    return False


@given(st.integers(0, 2**20), st.sampled_from([DenseAdaGrad, PlainAdaGrad]))
def test_fit_is_stepping_by_hand(seed, twin_of):
    assert not differs_from_the_reference(seed=seed, twin_of=twin_of)


@pytest.mark.parametrize("n_classes", [3, 9])
def test_so_are_several_classes(n_classes):
    """One engine learns three classes, or nine, and divides the rates of all of them."""
    assert not differs_from_the_reference(n_classes)


@pytest.mark.parametrize("epochs", [FULL, FULL + 1, FULL + 5])
def test_verify_divides_the_rates_of_both_models(epochs):
    X, y = documents()
    report = LazyNetClassifier().verify(X, y, epochs=epochs)
    assert report.agrees
    assert report.steps_compared == N * epochs


def test_verify_notices_rates_that_never_fall(monkeypatch):
    X, y = documents()
    monkeypatch.setattr(AdaGradEngine, "set_constants", lambda self, settings: None)
    assert LazyNetClassifier().verify(X, y, epochs=FULL).agrees
    assert not LazyNetClassifier().verify(X, y, epochs=FULL + 1).agrees


# --- when rates fall ----------------------------------------------------------------------------


def divisor_at_the_end(X, y, kind=LazyNetClassifier, **options):
    """By what the rates of the last epoch were divided; 1 where eta0_ is what it was before."""
    ends = [kind(random_state=0, tol=None, max_iter=e, **options).fit(X, y) for e in (FULL, 6)]
    return ends[0].eta0_ / ends[1].eta0_


def test_the_rates_of_an_epoch_are_those_of_its_number():
    X, y = rows_of_one_size(), documents()[1]
    alpha = LOSSES["log_loss"].alphas[1]
    for epochs in range(1, FULL + 5):
        model = LazyNetClassifier(max_iter=epochs, tol=None).fit(X, y)
        assert model.eta0_ == alpha / 2.0 / (1.0 + 4.0 * max(0, epochs - FULL))


@pytest.mark.parametrize(
    ("options", "divisor"),
    [
        *((options, 9.0)
          for options in ({}, {"rule": AdaGrad()}, {"loss": "hinge"}, {"loss": "softmax"})),
        *((options, 1.0) for options in (
            {"l1": 1e-4}, {"l1": 0.0}, {"l2": 1e-4}, {"rule": AdaGrad(alpha=0.5)},
            {"rule": FoBoS(eta0=0.5)}, {"rule": RDA()}, {"rule": "ftrl"},
            {"kind": LazyNetRegressor, "rule": "adagrad"})),
    ],
    ids=str,
)  # fmt: skip
def test_rates_fall_where_no_penalty_rate_or_rule_is_given(options, divisor):
    """Of a classifier."""
    y = documents(n_classes=3)[1]
    assert divisor_at_the_end(rows_of_one_size(), y, **options) == pytest.approx(divisor)


def test_rates_do_not_fall_over_tables():
    X, y = rows_of_one_size()[:, :5], documents()[1]
    assert divisor_at_the_end(X, y) == pytest.approx(1.0)


def test_a_model_that_goes_on_begins_at_full_rates():
    X, y = documents()
    model = LazyNetClassifier(**in_rule(random_state=0, warm_start=True, **LATER)).fit(X, y)
    fallen, further = model.eta0_, copy.deepcopy(model).partial_fit(X, y)
    assert further.eta0_ > 5 * fallen
    assert model.set_params(max_iter=1).fit(X, y).eta0_ > 5 * fallen


@pytest.mark.parametrize(
    ("options", "factor"),
    [
        *(({"max_iter": epochs}, max(1.0, 10.0 / np.sqrt(epochs)))
          for epochs in (1, 4, 25, 100, 200)),
        *((options, 1.0) for options in (
            {"l1": 1e-4}, {"l2": 1e-4}, {"loss": "huber"}, {"schedule": FromData()},
            {"table": True})),
    ],
    ids=str,
)  # fmt: skip
def test_few_epochs_of_a_regressor_have_high_rates(options, factor):
    """Unless a penalty, a rate or a loss is given, or the rows are a table."""
    options = {"max_iter": 4, "tol": None, "random_state": 0, **options}
    X, y = documents()
    numbers = X @ np.random.default_rng(1).standard_normal(D) + y
    X = X[:, :5] if options.pop("table", False) else X
    given = options | {"schedule": FromData(factor=factor)}
    wanted = LazyNetRegressor(**in_rule(**given)).fit(X, numbers)
    assert np.array_equal(
        LazyNetRegressor(**in_rule(**options)).fit(X, numbers).coef_, wanted.coef_
    )
