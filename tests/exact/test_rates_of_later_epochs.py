"""Automatic rates are full in the first half of the epochs of a fit, and fall in the second."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import apart

from lazynet import FTRL, RDA, AdaGrad, FoBoS, FromData, LazyNetClassifier, LazyNetRegressor
from lazynet.losses import LOSSES
from lazynet.reference.adagrad import DenseAdaGrad, PlainAdaGrad
from lazynet.reference.from_data import DenseFromData

N, D = 40, 30
#: The shares of the full rates in every epoch.
SHARES = {
    1: [1.0],
    2: [1.0, 1 / 2],
    3: [1.0, 1.0, 1 / 2],
    4: [1.0, 1.0, 2 / 3, 1 / 3],
    5: [1.0, 1.0, 1.0, 2 / 3, 1 / 3],
    6: [1.0, 1.0, 1.0, 3 / 4, 2 / 4, 1 / 4],
    7: [1.0, 1.0, 1.0, 1.0, 3 / 4, 2 / 4, 1 / 4],
}
EPOCHS = pytest.mark.parametrize("epochs", SHARES)


def documents(seed=0, n_classes=2):
    """Rows with two full features and sparse ones, of which the last occur seldom; and classes."""
    random = np.random.default_rng(seed)
    X = sparse.random(N, D, density=0.1, format="csr", random_state=seed)
    X.data = random.standard_normal(len(X.data))
    full = random.standard_normal((N, 2)) + np.array([0.0, 3.0])
    X = sparse.hstack([full, X[:, 2:]], format="csr")
    y = random.integers(0, n_classes, N)
    y[:n_classes] = range(n_classes)
    return X, y


def rows_of_one_size():
    """Sparse rows with ||x||_1 = 2."""
    columns = np.argsort(np.random.default_rng(0).random((N, D)), axis=1)[:, :2].ravel()
    return sparse.csr_matrix((np.ones(2 * N), columns, np.arange(0, 2 * N + 1, 2)), shape=(N, D))


# --- lazy equals dense --------------------------------------------------------------------------


def adagrad_of(loss, kind=DenseAdaGrad):
    """A function from a share of the rates, and options, to a reference of ``AdaGrad()``."""
    options = AdaGrad().reference_options(LOSSES[loss])
    product = options.pop("product")
    return lambda share, **more: kind(D, product=share * product, loss=loss, **options, **more)


def from_data_of(loss, factor=2.0):
    """The same for ``FoBoS()``, whose rates in fits of several epochs are twice as high."""
    return lambda share, **more: DenseFromData(D, factor=factor * share, loss=loss, **more)


def differs_from_the_reference(model, X, y, new):
    """Whether a fit leaves a reference that takes the same steps, with the rates of each epoch.

    ``new`` is a function from a share of the full rates to a reference.  After a restart the rates
    are a quarter.
    """
    model = copy.copy(model).set_params(shuffle=False, tol=None).fit(X, y)
    rows, coef, intercept = X, np.atleast_2d(model.coef_), model.intercept_
    if model.units_ is not None:
        rows = model.units_.rows(X)
        coef, intercept = model.units_.within(coef, intercept)
    restarts = model.auto_[-1].name == "restart"
    for k in range(len(coef)):
        targets = y
        if isinstance(model, LazyNetClassifier):
            targets = np.where(y == model.classes_[k if len(coef) > 1 else 1], 1.0, -1.0)
        twin = None
        for epoch, share in enumerate(SHARES[model.n_iter_]):
            again = restarts and epoch > 0
            options = dict(l1=model.l1_, l2=model.l2, fit_intercept=True)
            last, twin = twin, new(share / 4 if again else share, **options)
            if epoch > again:
                twin.continue_from(last)
            for i in range(N):
                row = rows[i]
                twin.step(row.indices.tolist(), row.data.tolist(), float(targets[i]))
        if not max(apart(coef[k], twin.weights), apart(intercept[k], twin.intercept)) <= 1e-11:
            return True
    return False


@given(
    st.integers(0, 2**20),
    st.sampled_from([*SHARES]),
    st.sampled_from([DenseAdaGrad, PlainAdaGrad]),
    st.sampled_from([{}, {"standardize": False}, {"standardize": True, "l2": 1e-3}, {"l1": 0.01}]),
    st.sampled_from(["log_loss", "hinge"]),
)
def test_fit_is_stepping_by_hand(seed, epochs, kind, options, loss):
    model = LazyNetClassifier(loss, max_iter=epochs, **options)
    assert not differs_from_the_reference(model, *documents(seed), adagrad_of(loss, kind))


@pytest.mark.parametrize("n_classes", [3, 9])
def test_so_are_several_classes(n_classes):
    """One engine learns three classes, or nine, with lower rates for all of them."""
    X, y = documents(0, n_classes)
    assert not differs_from_the_reference(LazyNetClassifier(), X, y, adagrad_of("log_loss"))


@pytest.mark.parametrize("standardize", [False, "auto"])
@given(st.integers(0, 2**20), st.sampled_from([*SHARES]))
def test_so_are_rates_from_the_rows(standardize, seed, epochs):
    X, y = documents(seed)
    numbers = X @ np.random.default_rng(1).standard_normal(D) + y
    options = dict(max_iter=epochs, standardize=standardize)
    for model, targets, factor in (
        (LazyNetRegressor(**options), numbers, 2.0 if epochs > 1 else 1.0),
        (LazyNetClassifier(rule=FoBoS(schedule=FromData()), l1=0.01, **options), y, 1.0),
    ):
        assert not differs_from_the_reference(model, X, targets, from_data_of(model.loss, factor))


# --- when rates fall ----------------------------------------------------------------------------


@EPOCHS
def test_eta0_is_the_scale_of_the_last_epoch(epochs):
    X, y = rows_of_one_size(), documents()[1]
    model = LazyNetClassifier("hinge", max_iter=epochs, tol=None).fit(X, y)
    alpha = LOSSES["hinge"].alphas[1]
    assert model.eta0_ == alpha * SHARES[epochs][-1] / 2.0
    assert model.partial_fit(X, y).eta0_ == alpha / 2.0, "partial_fit has full rates"
    model.set_params(warm_start=True, max_iter=1).fit(X, y)
    assert model.eta0_ == alpha / 2.0


@pytest.mark.parametrize(
    ("options", "share"),
    [
        *((options, 1 / 4) for options in (
            {}, {"rule": AdaGrad()}, {"loss": "hinge"}, {"loss": "softmax"}, {"l1": 1e-4},
            {"l2": 1e-4}, {"standardize": False}, {"kind": LazyNetRegressor, "rule": "adagrad"})),
        *((options, 1.0) for options in (
            {"rule": AdaGrad(alpha=0.5)}, {"rule": FoBoS(eta0=0.5)}, {"rule": RDA()},
            {"rule": FTRL()}, {"rule": FoBoS(schedule="constant")})),
    ],
    ids=str,
)  # fmt: skip
def test_rates_fall_if_they_are_automatic(options, share):
    """Whatever else is given; ``auto_`` says so."""
    X, y = rows_of_one_size(), documents(n_classes=3)[1]
    kind = options.get("kind", LazyNetClassifier)
    options = {name: value for name, value in options.items() if name != "kind"}
    ends = [kind(**options, random_state=0, max_iter=n, tol=None).fit(X, y) for n in (1, 6)]
    assert ends[1].eta0_ / ends[0].eta0_ == pytest.approx(share)
    assert ("rates" in {choice.name for choice in ends[1].auto_}) == (share < 1.0)
