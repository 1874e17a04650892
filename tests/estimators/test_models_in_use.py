"""A model can be read, given weights, watched and made sparse; a prediction costs its nonzeros."""

import numpy as np
import pytest
from scipy import sparse
from support import same_bits
from support.algorithms import STREAMING_RULES
from support.matrices import make_data

from lazynet import (
    ASGDRegressor,
    Constant,
    FoBoS,
    LazyNetClassifier,
    LazyNetRegressor,
    Tables,
    TruncatedGradient,
)
from lazynet.engines.base import ALL, Engine
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.engines.cells import CellEngine
from lazynet.engines.clock import AveragedClockEngine, ClockEngine, TablesEngine
from lazynet.engines.dense import DenseEngine
from lazynet.engines.outputs import OutputsEngine
from lazynet.rules.storage import STORAGES

#: Rules that between them have every engine.
RULES = [
    FoBoS(), FoBoS(storage=Tables(budget=7)), FoBoS(storage="dense"),
    FoBoS(average=True), FoBoS(average="polynomial"), FoBoS(average=True, storage="dense"),
    TruncatedGradient(period=3, threshold=0.5),
    *(name for name in STREAMING_RULES if name not in ("fobos", "truncated_gradient")),
]  # fmt: skip


def quiet(Estimator, **options):
    """An estimator that trains two epochs and gives no warning."""
    return Estimator(**{"max_iter": 2, "tol": None, "random_state": 0, **options})


# --- shapes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [
    quiet(LazyNetRegressor), quiet(LazyNetRegressor, rule=FoBoS(average=True)),
    ASGDRegressor(l2=1.0),
])  # fmt: skip
def test_a_regressor_has_a_weight_for_every_name(model):
    """coef_ has the shape (n_features,), so that zip(names, coef_) pairs names with numbers."""
    X, y = make_data(n_classes=0)
    names = [f"feature {j}" for j in range(X.shape[1])]
    model.fit(X, y)
    assert model.coef_.shape == model.last_coef_.shape == (X.shape[1],)
    assert model.intercept_.shape == model.last_intercept_.shape == (1,)
    weights = dict(zip(names, model.coef_, strict=True))
    assert all(isinstance(weight, float) for weight in weights.values())
    by_hand = sum(X[3, j] * weights[name] for j, name in enumerate(names)) + model.intercept_[0]
    assert model.predict(X[3])[0] == pytest.approx(by_hand)


# --- weights that are given -----------------------------------------------------------------


@pytest.mark.parametrize("storage", STORAGES)
def test_partial_fit_goes_on_from_assigned_weights(storage):
    """A step from assigned weights follows the formula, and t_ counts on."""
    model = LazyNetRegressor(rule=FoBoS(Constant(0.5), storage=storage), l1=0.2)
    model.partial_fit([[1.0, 0.0, 0.0]], [1.0])
    model.coef_, model.intercept_ = [1.0, 2.0, -3.0], [0.5]
    model.partial_fit([[1.0, 1.0, 0.0]], [3.0])
    # The prediction is 3.5, the slope 0.5; the gradient takes 0.25 and the shrink 0.1.
    assert np.allclose(model.coef_, [0.65, 1.65, -2.9], rtol=1e-14)
    assert np.allclose(model.intercept_, [0.25])
    assert model.t_ == 2


# --- the cost of a prediction ---------------------------------------------------------------


def wide_data():
    """Rows that name about 40 of 1,000 features, and three classes."""
    X = sparse.random(40, 1_000, density=0.04, format="csr", random_state=0)
    return X, np.arange(40) % 3


class Count:
    """Counts the weights that engines bring current one by one, and the calls for all weights."""

    def __init__(self, monkeypatch):
        self.all, self.some = 0, 0
        kinds = (
            Engine, ClockEngine, AveragedClockEngine, TablesEngine, DenseEngine,
            CellEngine, OutputsEngine,
        )  # fmt: skip
        for kind in kinds:
            for name in ("weights", "model", "coefficients", "_sums"):
                if name in vars(kind):
                    monkeypatch.setattr(kind, name, self.counting(name, vars(kind)[name]))

    def counting(self, name, method):
        def counted(engine, which=ALL, *arguments, **options):
            if which is ALL:
                # An engine of several outputs reads each by an engine with the features of a row.
                self.all += engine.n_features == wide_data()[0].shape[1]
            elif name == "coefficients":
                self.some += len(which)
            return method(engine, which, *arguments, **options)

        return counted


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_predict_after_partial_fit_brings_current_only_the_weights_of_its_rows(rule, monkeypatch):
    """No engine gives all its weights; the predictions are those that all weights give."""
    X, y = wide_data()
    model = LazyNetClassifier(rule=rule, l1=1e-3, random_state=0)
    model.partial_fit(X, y, classes=[0, 1, 2])
    count = Count(monkeypatch)
    row = X[:1]
    model.partial_fit(X[5:9], y[5:9])
    count.all = 0
    found = model.decision_function(row)
    model.predict(row), model.predict_proba(row), model.predict_log_proba(row)
    assert count.all == 0
    assert count.some == 4 * len(model._engines) * row.nnz
    assert same_bits(found, row @ model.coef_.T + model.intercept_)
    assert count.all > 0, "the counter counts"


@pytest.mark.parametrize(
    "rule", [name for name, row in ALGORITHMS.items() if not row.rule.scheduled]
)
def test_an_intercept_that_a_rule_would_not_train_with_is_refused(rule):
    """RDA, FTRL and AdaGrad leave the intercept out where it is not fitted."""
    X, y = make_data(n_classes=0)
    model = LazyNetRegressor(rule=rule, fit_intercept=False, max_iter=2, tol=None)
    with pytest.raises(ValueError, match=r"^intercept_init must be 0"):
        model.fit(X, y, intercept_init=[5.0])
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"^intercept_ must be 0"):
        model.intercept_ = 5.0
    model.intercept_ = 0.0


@pytest.mark.parametrize("first", ["rda", "ftrl", "adagrad"])
def test_rates_of_a_rule_without_a_schedule_say_nothing_of_those_of_a_schedule(first):
    """After a rule with rates of its own, the scale of the rates comes from the rows at hand."""
    X, y = make_data()
    model = LazyNetClassifier(rule=first, random_state=0).partial_fit(100.0 * X, y, classes=[0, 1])
    model.set_params(rule=FoBoS("power")).partial_fit(100.0 * X, y)
    fresh = LazyNetClassifier(rule=FoBoS("power"), random_state=0)
    fresh.partial_fit(100.0 * X, y, classes=[0, 1])
    assert model.eta0_ == fresh.eta0_
