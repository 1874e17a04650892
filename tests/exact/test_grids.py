"""A grid of settings in one pass: every column equals a fit of its setting alone, in every fold."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from support.matrices import make_data
from support.models import RawClassifier, RawRegressor
from support.parameters import in_rule

from lazynet import (
    FTRL,
    RDA,
    SGD,
    AdaGrad,
    Constant,
    FoBoS,
    FromData,
    InverseSqrt,
    Optimal,
    Pegasos,
    Power,
    TruncatedGradient,
)
from lazynet.data.arrays import row_sizes_of
from lazynet.data.targets import Classes, Columns
from lazynet.engines.threads import Workers
from lazynet.losses import LOSSES
from lazynet.training import grid as grids
from lazynet.training.fit import make_plan
from lazynet.training.folds import Fold, settings_of
from lazynet.training.grid import GridTraining, grid_plans
from lazynet.training.rows import RowsInMemory
from lazynet.training.settings import read_settings

#: l1 and l2.
SETTINGS = [
    (0.0, 0.0), (0.01, 0.0), (0.003, 0.02), (0.0, 0.1), (0.1, 0.001), (0.02, 0.3), (0.3, 0.0),
    (1e-4, 1e-3), (0.002, 0.0),
]  # fmt: skip
WITH_L2 = [(l1, l2 + 0.01) for l1, l2 in SETTINGS]

RULES = {
    "fobos": (dict(rule="fobos", eta0=0.3), SETTINGS),
    "fobos, power as an object": (dict(rule="fobos", schedule=Power(0.3)), SETTINGS),
    "sgd, power": (dict(rule="sgd", schedule="power"), [*WITH_L2, (0.0, 30.0)]),
    "fobos, shrink first": (
        dict(rule=FoBoS(step_order="shrink_first"), schedule=Constant(0.2)), SETTINGS,
    ),
    "sgd": (dict(rule="sgd", schedule=InverseSqrt(0.4)), SETTINGS),
    "sgd, shrink first": (
        dict(rule=SGD(step_order="shrink_first"), schedule=Constant(0.2)), SETTINGS,
    ),
    "truncated_gradient": (dict(rule=TruncatedGradient(period=3), eta0=0.3), SETTINGS),
    "pegasos": (dict(rule="fobos", schedule=Pegasos()), WITH_L2),
    "optimal": (dict(rule="fobos", schedule=Optimal()), WITH_L2),
    "an array": (dict(rule="fobos", schedule=np.linspace(0.5, 0.1, 1000)), SETTINGS),
    "a function": (dict(rule="fobos", schedule=lambda t: 0.5 / (1 + t) ** 0.5), SETTINGS),
    "automatic rates": (dict(rule="fobos"), SETTINGS),
    "from_data": (dict(rule="fobos", schedule=FromData()), SETTINGS),
    "sgd, from_data": (dict(rule="sgd", schedule=FromData()), SETTINGS),
    "rda": (dict(rule="rda"), SETTINGS),
    "rda, gamma given": (dict(rule=RDA(gamma=2.0, rho=0.01)), SETTINGS),
    "ftrl": (dict(rule="ftrl"), SETTINGS),
    "ftrl, alpha given": (dict(rule=FTRL(alpha=0.3)), SETTINGS),
    "ftrl, once": (dict(rule=FTRL(alpha=0.3, penalty="once")), SETTINGS),
    "adagrad": (dict(rule="adagrad"), SETTINGS),
    "adagrad, alpha given": (dict(rule=AdaGrad(alpha=0.3)), SETTINGS),
}  # fmt: skip


def model_of(training, setting, fold=0):
    """The weights of a setting in a fold, a row for every output, and the intercepts."""
    engines = [matrix.engine for matrix in training.matrices if matrix.fold == fold]
    return (
        np.stack([engine.coefficients()[setting] for engine in engines]),
        np.array([engine.intercepts()[setting] for engine in engines]),
    )


def three_folds(n):
    """Three folds whose held-out rows are not side by side."""
    rows = np.arange(n)
    return [Fold(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]


def some_orders(n, epochs, seed=0):
    """An order of the rows for every epoch."""
    generator = np.random.default_rng(seed)
    return [generator.permutation(n) for _ in range(epochs)]


def problems_of(model, X, y, weights=None):
    """The targets and importances of every class or number."""
    if is_classifier(model):
        classes, codes = np.unique(y, return_inverse=True)
        return Classes(codes, len(classes), weights)
    return Columns(y, weights)


def trained(model, settings, X, y, folds, orders, *, weights=None, dtype="float64", n_threads=1):
    """The grid after an epoch for each of the orders."""
    l1, l2 = settings[0]
    model = clone(model).set_params(l1=l1, l2=l2, max_iter=len(orders), tol=None)
    base, targets, given = read_settings(model), problems_of(model, X, y, weights), iter(orders)
    rows = RowsInMemory(X, targets)
    plan, *_ = make_plan(base, rows, None)
    plans = grid_plans(plan, base, settings, rows.statistics(base, False))
    sizes = row_sizes_of(X, plan.size_kind)
    training = GridTraining(plans, X, targets, folds, sizes, dtype)
    with Workers(n_threads) as workers:
        training.train(SimpleNamespace(permutation=lambda n: next(given)), workers)
    return training


def alone(model, setting, X, y, rows, orders, weights=None):
    """The fit of one setting on some of the rows, in the same order."""
    options = model.get_params(deep=False)
    options |= dict(l1=setting[0], l2=setting[1], max_iter=len(orders), tol=None)
    learned = np.zeros(X.shape[0], dtype=bool)
    learned[rows] = True
    order = np.array([order[learned[order]] for order in orders])
    return type(model)(**options).fit(X, y, weights, sample_order=order)


def assert_column_is_fit(training, number, column, fit, X):
    """The weights and the intercept of a setting in a fold are those of a fit of this setting."""
    found, expected = np.column_stack(model_of(training, column, number)), numbers_of(fit(X=X))
    if not np.allclose(found, expected, rtol=1e-10, atol=1e-10):
        # Where a residual is at the kink of a loss, rounding decides the slope: the fit on
        # rows that differ by a rounding is then another one.
        nudged = [numbers_of(fit(X=X * (1.0 + e))) for e in NUDGES]
        others = [each for each in nudged if not np.allclose(each, expected, rtol=1e-9)]
        assert others, f"fold {number}, setting {column}"
        assert any(np.allclose(each, found, rtol=1e-9) for each in others)


NUDGES = [sign * 2.0**-power for power in (50, 45, 40) for sign in (1, -1)]


def numbers_of(model):
    """The weights and the intercept of every output."""
    return np.column_stack([np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)])


@pytest.mark.parametrize(
    "rule", [FoBoS("power"), SGD("power"), FoBoS(), SGD(), "rda", "ftrl", "adagrad"], ids=str
)
def test_the_same_bits_for_any_chunks_and_threads(rule, monkeypatch):
    """Chunks and threads leave no trace."""
    X, y = make_data(n=90, seed=6)
    model = RawClassifier(l1=0.0, rule=rule)
    settings = settings_of(np.geomspace(1e-4, 0.1, 20), np.array([0.0, 0.01]))
    folds, orders = three_folds(len(y)), some_orders(len(y), 2)
    expected = None
    for chunk, n_threads in ((2048, 1), (7, 1), (1, 3), (64, 2)):
        monkeypatch.setattr(grids, "STEPS_AT_ONCE", chunk)
        training = trained(model, settings, X, y, folds, orders, n_threads=n_threads)
        with Workers(n_threads) as workers:
            held_out = training.held_out(workers)
            counts = training.nonzeros(workers)
        found = [held_out, counts] + [
            array for fold in range(3) for k in (0, 19, 39) for array in model_of(training, k, fold)
        ]
        expected = found if expected is None else expected
        for left, right in zip(found, expected, strict=True):
            assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("rule", RULES)
@given(
    loss=st.sampled_from(sorted(LOSSES)),
    seed=st.integers(0, 2**16),
    share=st.floats(0.05, 0.95),
    epochs=st.integers(1, 3),
    n_classes=st.integers(2, 3),
    weighted=st.booleans(),
)
def test_a_column_is_a_fit_of_its_setting(rule, loss, seed, share, epochs, n_classes, weighted):
    """Whichever rows the folds leave out; automatic rates fall in the second epoch.

    Each of several classes against the rest has columns of its own, in two cache lines.
    """
    kind = RawClassifier if LOSSES[loss].margin else RawRegressor
    n_classes = n_classes if kind is RawClassifier else 0
    X, y = make_data(n=40, d=8, n_classes=n_classes, seed=seed % 16)
    generator = np.random.default_rng(seed)
    weights = generator.choice([0.0, 0.5, 1.0, 3.0], 40) if weighted else None
    rows, folds = np.arange(40), []
    for _ in range(3):
        learned = generator.random(40) < share
        learned[np.unique(y, return_index=True)[1][:3]] = True  # a row of every class
        folds.append(Fold(generator.permutation(rows[learned]), rows[~learned]))
    options, settings = RULES[rule]
    model, orders = kind(loss, l1=0.0, **in_rule(**options)), some_orders(40, epochs)
    training = trained(model, settings, X, y, folds, orders, weights=weights)
    for number, fold in enumerate(folds):
        column = generator.integers(len(settings))
        fit = partial(
            alone, model, settings[column], y=y, rows=fold.train, orders=orders, weights=weights
        )
        assert_column_is_fit(training, number, column, fit, X)


def test_a_setting_that_overflows_ends_the_epoch():
    """The error names the step, for every kind of engine."""
    X, y = make_data(n_classes=0, seed=13)
    folds, orders = three_folds(len(y)), some_orders(len(y), 1)
    for rule in ("fobos", "adagrad", "rda", "ftrl"):
        training = trained(RawRegressor(l1=0.0, rule=rule), SETTINGS, X, y, folds, orders)
        training.matrices[1].engine.cells[:, 2] = np.inf
        with Workers(1) as workers, pytest.raises(FloatingPointError, match="step"):
            training.epoch(orders[0], workers)
