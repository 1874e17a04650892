"""A grid of settings in one pass: every column equals a fit of its setting alone, in every fold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import make_data

from lazynet import (
    FTRL,
    RDA,
    SGD,
    AdaGrad,
    Constant,
    EpsilonInsensitive,
    FoBoS,
    FromData,
    InverseSqrt,
    LazyNetClassifier,
    LazyNetRegressor,
    Optimal,
    Pegasos,
    Power,
    TruncatedGradient,
    grid_visits,
    grids,
)
from lazynet.choice import Fold
from lazynet.data import as_examples, sizes_of
from lazynet.engines.grid import GridOnClock
from lazynet.grids import GridTraining, Setting, planned, settings_of, single_engine
from lazynet.kernels import outputs_losses
from lazynet.kernels.examples import STATUS_BAD_ROW
from lazynet.learners import Learner, run_pass
from lazynet.losses import LOSSES
from lazynet.threads import Workers

SETTINGS = [
    Setting(l1, l2, factor)
    for l1, l2, factor in [
        (0.0, 0.0, 1.0), (0.01, 0.0, 1.0), (0.003, 0.02, 1.0), (0.0, 0.1, 0.5), (0.1, 0.001, 2.0),
        (0.02, 0.3, 0.25), (0.3, 0.0, 1.0), (1e-4, 1e-3, 1.5), (0.002, 0.0, 0.125),
    ]
]  # fmt: skip
UNSCALED = [Setting(each.l1, each.l2) for each in SETTINGS]
WITH_L2 = [Setting(each.l1, each.l2 + 0.01) for each in SETTINGS]


RULES = {
    "fobos": (dict(rule="fobos", eta0=0.3), SETTINGS),
    "fobos, power as an object": (dict(rule="fobos", schedule=Power(0.3)), SETTINGS),
    "fobos, shrink first": (dict(rule=FoBoS("shrink_first"), schedule=Constant(0.2)), SETTINGS),
    "sgd": (dict(rule="sgd", schedule=InverseSqrt(0.4)), SETTINGS),
    "sgd, shrink first": (dict(rule=SGD("shrink_first"), schedule=Constant(0.2)), SETTINGS),
    "truncated_gradient": (dict(rule=TruncatedGradient(period=3), eta0=0.3), SETTINGS),
    "pegasos": (dict(rule="fobos", schedule=Pegasos()), WITH_L2),
    "optimal": (dict(rule="fobos", schedule=Optimal()), WITH_L2),
    "an array": (dict(rule="fobos", schedule=np.linspace(0.5, 0.1, 1000)), UNSCALED),
    "a function": (dict(rule="fobos", schedule=lambda t: 0.5 / (1 + t) ** 0.5), UNSCALED),
    "from_data": (dict(rule="fobos", schedule=FromData()), UNSCALED),
    "sgd, from_data": (dict(rule="sgd", schedule=FromData()), UNSCALED),
    "rda": (dict(rule="rda"), UNSCALED),
    "rda, gamma given": (dict(rule=RDA(gamma=2.0, rho=0.01)), SETTINGS),
    "ftrl": (dict(rule="ftrl"), UNSCALED),
    "ftrl, alpha given": (dict(rule=FTRL(alpha=0.3)), SETTINGS),
    "ftrl, once": (dict(rule=FTRL(alpha=0.3, penalty="once")), SETTINGS),
    "adagrad": (dict(rule="adagrad"), UNSCALED),
    "adagrad, alpha given": (dict(rule=AdaGrad(alpha=0.3)), SETTINGS),
}


def three_folds(n):
    """Three folds whose held-out rows are not side by side, and one that holds nothing out."""
    rows = np.arange(n)
    folds = [Fold(rows[rows % 3 != k], rows[rows % 3 == k]) for k in range(3)]
    return [*folds, Fold(rows, rows[:0])]


def some_orders(n, epochs, seed=0):
    """An order of the rows for every epoch."""
    generator = np.random.default_rng(seed)
    return [generator.permutation(n) for _ in range(epochs)]


def problems_of(model, X, y, weights=None):
    """The targets and importances of every class or number."""
    if isinstance(model, LazyNetClassifier):
        return model._problems(X, (y, np.unique(y)), weights)
    return model._problems(X, y, weights)


def trained(model, settings, X, y, folds, orders, *, weights=None, dtype=np.float64, n_threads=1):
    """The grid after all orders, and the mean losses before the updates of the last of them."""
    p = model._settle()
    plans = planned(p, settings, model._scale_of_rates(p, X, None))
    problems = problems_of(model, X, y, weights)
    sizes = sizes_of(X, plans[0].sizes)
    training, losses = GridTraining(plans, settings, X, problems, folds, sizes, dtype), None
    with Workers(n_threads) as workers:
        for order in orders:
            losses = training.epoch(order, workers)
    return training, losses


def alone(model, setting, X, y, rows, orders, weights=None):
    """The fit of one setting on some of the rows, in the same order."""
    options = model.get_params(deep=False)
    rule, factor = options["rule"], setting.factor
    if options["eta0"] is not None:
        options["eta0"] *= factor
    elif isinstance(rule, RDA):
        options["rule"] = RDA(gamma=rule.gamma / factor, rho=rule.rho)
    elif isinstance(rule, (AdaGrad, FTRL)):
        options["rule"] = type(rule)(**rule.get_params() | {"alpha": rule.alpha * factor})
    elif getattr(options["schedule"], "eta0", None) is not None:
        options["schedule"] = type(options["schedule"])(options["schedule"].eta0 * factor)
    options |= dict(l1=setting.l1, l2=setting.l2, max_iter=len(orders), tol=None)
    learned = np.zeros(X.shape[0], dtype=bool)
    learned[rows] = True
    order = np.array([order[learned[order]] for order in orders])
    return type(model)(**options).fit(X, y, weights, sample_order=order)


def assert_columns_are_fits(model, settings, X, y, *, epochs=2, weights=None):
    """Weights, intercepts and losses before the updates are those of fits of one setting."""
    folds, orders = three_folds(X.shape[0]), some_orders(X.shape[0], epochs)
    training, losses = trained(model, settings, X, y, folds, orders, weights=weights)
    for number, fold in enumerate(folds):
        for column, setting in enumerate(settings):
            one = alone(model, setting, X, y, fold.train, orders, weights)
            coefs, intercepts = training.model(column, number)
            np.testing.assert_allclose(coefs, np.atleast_2d(one.coef_), rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(intercepts, one.intercept_, rtol=1e-10, atol=1e-10)
            expected = one.history_[-1]["progressive_loss"] / len(coefs)
            assert losses[column, number] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("kind", [LazyNetClassifier, LazyNetRegressor])
def test_a_column_is_a_fit_of_its_setting(name, kind):
    """Every rule and schedule, in folds and without."""
    options, settings = RULES[name]
    loss = "log_loss" if kind is LazyNetClassifier else "huber"
    X, y = make_data(n_classes=2 if kind is LazyNetClassifier else 0, seed=1)
    assert_columns_are_fits(kind(loss, l1=0.0, **options), settings, X, y)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("rule", ["fobos", "adagrad"])
def test_every_loss(loss, rule):
    """The regressor's default rates too, where targets are numbers."""
    kind = LazyNetClassifier if LOSSES[loss].margin else LazyNetRegressor
    X, y = make_data(n_classes=2 if kind is LazyNetClassifier else 0, seed=2)
    assert_columns_are_fits(kind(loss, l1=0.0, rule=rule), UNSCALED, X, y)


@pytest.mark.parametrize("rule", ["fobos", "adagrad", "rda"])
def test_several_classes_and_weights_of_rows(rule):
    """Each class against the rest has columns of its own."""
    X, y = make_data(n_classes=3, seed=3)
    weights = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 3.0], len(y))
    assert_columns_are_fits(
        LazyNetClassifier(l1=0.0, rule=rule), UNSCALED[:4], X, y, weights=weights
    )


def test_without_an_intercept():
    """No column learns an intercept."""
    X, y = make_data(seed=4)
    for rule in ("fobos", "adagrad", "ftrl"):
        model = LazyNetClassifier(l1=0.0, rule=rule, fit_intercept=False)
        assert_columns_are_fits(model, UNSCALED, X, y)


def test_rates_that_follow_the_rows_take_factors_too():
    """The constant in place of alpha, or of gamma, is multiplied."""
    X, y = make_data(seed=5)
    folds, orders = three_folds(len(y))[-1:], some_orders(len(y), 2)
    for rule in ("adagrad", "ftrl", "rda"):
        model = LazyNetClassifier(l1=0.0, rule=rule)
        training, _ = trained(model, SETTINGS, X, y, folds, orders)
        seen = []
        for column, setting in enumerate(SETTINGS):
            plan = training.plans[column]
            engine = single_engine(plan, X.shape[1], setting.factor)
            sizes = sizes_of(X, plan.sizes)
            learner = Learner(engine, as_examples(X, *problems_of(model, X, y)[0], sizes), plan)
            t = 0
            for order in orders:
                t = run_pass([learner], order, t)
            coefs, intercepts = training.model(column)
            np.testing.assert_allclose(coefs[0], engine.model(), rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(intercepts[0], engine.model_intercept, rtol=1e-10)
            seen.append(intercepts[0])
        assert len(set(seen)) == len(SETTINGS)


@pytest.mark.parametrize(
    ("rule", "schedule"),
    [
        *(("fobos", "power"), ("sgd", "power")),
        *((rule, "auto") for rule in ("fobos", "sgd", "rda", "ftrl", "adagrad")),
    ],
)
def test_the_same_bits_for_any_chunks_and_threads(rule, schedule, monkeypatch):
    """Chunks and threads leave no trace; 40 settings make two matrices."""
    X, y = make_data(n=90, seed=6)
    model = LazyNetClassifier(l1=0.0, rule=rule, schedule=schedule)
    settings = settings_of(np.geomspace(1e-4, 0.1, 20), np.array([0.0, 0.01]), [1.0])
    folds, orders = three_folds(len(y))[:3], some_orders(len(y), 2)
    expected = None
    for chunk, n_threads in ((2048, 1), (7, 1), (1, 3), (64, 2)):
        monkeypatch.setattr(grids, "STEPS_AT_ONCE", chunk)
        training, losses = trained(model, settings, X, y, folds, orders, n_threads=n_threads)
        with Workers(n_threads) as workers:
            held_out = training.held_out(workers)
            counts = training.nonzeros(workers)
        found = [losses, held_out, counts] + [
            array for fold in range(3) for k in (0, 19, 39) for array in training.model(k, fold)
        ]
        expected = found if expected is None else expected
        for left, right in zip(found, expected, strict=True):
            assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("rule", ["fobos", "rda", "ftrl", "adagrad"])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_held_out_rows(rule, weighted):
    """They are those of the predictions by hand, and judging changes no weight."""
    X, y = make_data(seed=7)
    weights = np.random.default_rng(7).choice([0.5, 1.0, 3.0], len(y)) if weighted else None
    folds, orders = three_folds(len(y))[:3], some_orders(len(y), 1)
    model = LazyNetClassifier(l1=0.0, rule=rule)
    training, _ = trained(model, UNSCALED, X, y, folds, orders, weights=weights)
    before = [training.model(k, 1) for k in range(len(UNSCALED))]
    with Workers(1) as workers:
        found = training.held_out(workers)
        counts = training.nonzeros(workers)
    for number, fold in enumerate(folds):
        for column in range(len(UNSCALED)):
            coefs, intercepts = training.model(column, number)
            decision = X[fold.test] @ coefs[0] + intercepts[0]
            losses = np.logaddexp(0, -decision * (2.0 * y[fold.test] - 1))
            own = None if weights is None else weights[fold.test]
            assert found[column, number] == pytest.approx(np.average(losses, weights=own))
            assert counts[column, number] == np.count_nonzero(coefs)
    for (coefs, intercepts), column in zip(before, range(len(UNSCALED)), strict=True):
        after = training.model(column, 1)
        np.testing.assert_allclose(after[0], coefs, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(after[1], intercepts)


@pytest.mark.parametrize("rule", ["fobos", "rda", "ftrl", "adagrad"])
def test_weights_in_float(rule):
    """The columns are those in double, up to the rounding of float."""
    X, y = make_data(seed=8)
    folds, orders = three_folds(len(y)), some_orders(len(y), 2)
    model = LazyNetClassifier(l1=0.0, rule=rule)
    wide, losses = trained(model, UNSCALED, X, y, folds, orders)
    narrow, others = trained(model, UNSCALED, X, y, folds, orders, dtype=np.float32)
    np.testing.assert_allclose(others, losses, rtol=1e-4)
    for column in range(len(UNSCALED)):
        left, right = narrow.model(column, 2)[0], wide.model(column, 2)[0]
        np.testing.assert_allclose(left, right, atol=1e-4 * max(1.0, abs(right).max()))


@given(
    strengths=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12),
    seed=st.integers(0, 2**16),
    adaptive=st.booleans(),
)
def test_any_strengths(strengths, seed, adaptive):
    """Whatever the penalties of the other columns are."""
    X, y = make_data(n=30, d=8, seed=seed % 16)
    schedule = FromData() if adaptive else Power(0.3)
    model = LazyNetClassifier("hinge", l1=0.0, schedule=schedule)
    folds, orders = three_folds(len(y))[-2:], some_orders(len(y), 2, seed)
    settings = [Setting(*pair) for pair in strengths]
    training, _ = trained(model, settings, X, y, folds, orders)
    column = seed % len(settings)
    for number, fold in enumerate(folds):
        one = alone(model, settings[column], X, y, fold.train, orders)
        coefs, _ = training.model(column, number)
        np.testing.assert_allclose(coefs, one.coef_, rtol=1e-10, atol=1e-10)


def test_a_column_with_the_penalty_of_another_is_caught():
    """The comparison sees strengths that are exchanged, and strengths of another column."""
    X, y = make_data(n_classes=0, seed=9)
    model = LazyNetRegressor(EpsilonInsensitive(0.1), l1=0.0)
    folds, orders = three_folds(len(y)), some_orders(len(y), 2)
    training, _ = trained(model, UNSCALED, X, y, folds, orders)
    one = alone(model, UNSCALED[2], X, y, folds[0].train, orders)
    coefs, _ = training.model(1, 0)
    assert abs(coefs[0] - one.coef_).max() > 1e-6
    engine = training.matrices[0].engine
    assert isinstance(engine, GridOnClock)
    for wrong in (None, engine.strengths[::-1].copy()):
        broken = GridTraining(
            training.plans, UNSCALED, X, problems_of(model, X, y), folds[:1],
            sizes_of(X, "squared_norms"),
        )  # fmt: skip
        broken.matrices[0].engine.strengths = wrong
        with Workers(1) as workers:
            for order in orders:
                broken.epoch(order, workers)
        assert abs(broken.model(2)[0][0] - one.coef_).max() > 1e-6


ANY_RULE = [
    dict(rule="fobos"), dict(rule="sgd", schedule=InverseSqrt(0.2)), dict(rule="adagrad"),
    dict(rule="fobos", schedule=Constant(0.05)), dict(rule="rda"), dict(rule="ftrl"),
    dict(rule=TruncatedGradient(period=2), schedule=Power(0.1)),
    dict(rule=FoBoS("shrink_first"), schedule=FromData()),
]  # fmt: skip


@given(
    loss=st.sampled_from(sorted(LOSSES)),
    options=st.sampled_from(ANY_RULE),
    seed=st.integers(0, 2**16),
    share=st.floats(0.05, 0.95),
    epochs=st.integers(1, 3),
)
def test_any_folds(loss, options, seed, share, epochs):
    """Whichever rows the folds leave out, a column is a fit of its setting on the others."""
    kind = LazyNetClassifier if LOSSES[loss].margin else LazyNetRegressor
    X, y = make_data(n=40, d=8, n_classes=2 if kind is LazyNetClassifier else 0, seed=seed % 16)
    generator = np.random.default_rng(seed)
    rows, folds = np.arange(40), []
    for _ in range(3):
        learned = generator.random(40) < share
        # Both classes, so that a fit of these rows alone can be made.
        learned[[np.argmin(y), np.argmax(y)]] = True
        folds.append(Fold(generator.permutation(rows[learned]), rows[~learned]))
    model, orders = kind(loss, l1=0.0, **options), some_orders(40, epochs, seed)
    settings = UNSCALED[: 1 + seed % 5]
    training, losses = trained(model, settings, X, y, folds, orders)
    for number, fold in enumerate(folds):
        column = int(generator.integers(len(settings)))
        one = alone(model, settings[column], X, y, fold.train, orders)
        coefs, intercepts = training.model(column, number)
        np.testing.assert_allclose(coefs, np.atleast_2d(one.coef_), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(intercepts, one.intercept_, rtol=1e-10, atol=1e-10)
        expected = one.history_[-1]["progressive_loss"]
        assert losses[column, number] == pytest.approx(expected, rel=1e-10)


# --- settings that overflow ------------------------------------------------------------------

CAN_OVERFLOW = {
    name: RULES[name]
    for name in (
        "fobos", "fobos, shrink first", "sgd", "truncated_gradient", "an array", "from_data",
        "sgd, from_data", "rda", "rda, gamma given", "ftrl", "ftrl, alpha given", "adagrad",
        "adagrad, alpha given",
    )
}  # fmt: skip


def overflowing(model, settings, bad, X, y, *, epoch, feature, folds=(0, 1, 2), dtype=np.float64):
    """All that a grid holds after three epochs; the settings ``bad`` overflow in some folds.

    They overflow in the epoch ``epoch``, at the first row with the feature.
    """
    p = model._settle()
    plans = planned(p, settings, model._scale_of_rates(p, X, None))
    problems, n = problems_of(model, X, y), len(y)
    training = GridTraining(
        plans, settings, X, problems, three_folds(n)[:3], sizes_of(X, plans[0].sizes), dtype
    )
    found = []
    with Workers(1) as workers:
        for number, order in enumerate(some_orders(n, 3)):
            for matrix in training.matrices:
                if number == epoch and matrix.fold in folds:
                    inside = [k for k in bad if matrix.columns.start <= k < matrix.columns.stop]
                    matrix.engine.cells[feature, np.array(inside, int) - matrix.columns.start] = (
                        np.inf
                    )
            found.append(training.epoch(order, workers))
        found += [training.held_out(workers), training.nonzeros(workers)]
    return training, found


def assert_no_trace(model, settings, bad, X, y, **options):
    """The other settings have the bits that they have in a grid without the settings ``bad``."""
    rest = [k for k in range(len(settings)) if k not in bad]
    training, found = overflowing(model, settings, bad, X, y, **options)
    others, expected = overflowing(model, [settings[k] for k in rest], [], X, y, **options)
    folds = options.get("folds", (0, 1, 2))
    for left, right in zip(found, expected, strict=True):
        assert left[rest].tobytes() == right.tobytes()
    for number, losses in enumerate(found[:4]):
        gone = number >= options["epoch"]
        for fold in range(3):
            is_gone = np.isinf(losses[bad, fold])
            assert (is_gone == (gone and fold in folds)).all()
    assert not training.alive[bad].any()
    assert training.alive[rest].all()
    for fold in range(3):
        for column, k in enumerate(rest):
            for left, right in zip(
                training.model(k, fold), others.model(column, fold), strict=True
            ):
                assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("name", CAN_OVERFLOW)
@pytest.mark.parametrize("kind", [LazyNetClassifier, LazyNetRegressor])
def test_a_setting_that_overflows_leaves_no_trace(name, kind):
    """Whatever its column is, and in whichever row of whichever epoch it overflows."""
    options, settings = CAN_OVERFLOW[name]
    X, y = make_data(n_classes=2 if kind is LazyNetClassifier else 0, seed=11)
    model = kind(l1=0.0, **options)
    for place, epoch, feature in ((0, 0, 3), (4, 1, 7), (9, 2, 0), (0, 1, 12)):
        # It has the penalty of another setting, so that the clocks are brought current as often.
        given = [*settings[:place], settings[1], *settings[place:]]
        assert_no_trace(model, given, [place], X, y, epoch=epoch, feature=feature)


@pytest.mark.parametrize("rule", ["fobos", "adagrad", "rda"])
def test_settings_that_overflow_at_different_times(rule, monkeypatch):
    """Of 40 settings in two matrices; in one fold alone; in chunks of any length; in float."""
    settings = settings_of(np.geomspace(1e-4, 0.1, 20), np.array([0.0, 0.01]), [1.0])
    X, y = make_data(n_classes=3, seed=12)
    model = LazyNetClassifier(l1=0.0, rule=rule)
    for chunk, options in ((2048, dict(folds=(1,))), (7, {}), (16, dict(dtype=np.float32))):
        monkeypatch.setattr(grids, "STEPS_AT_ONCE", chunk)
        for bad in ([0, 5, 31, 33], [*range(32, 40)], [*range(30, 40)]):
            # The settings that stay divide into matrices as before.
            given = [*settings[: bad[0]], *settings[bad[0] :]]
            if bad[0] < 32:
                given = given[:32]
                bad = [k for k in bad if k < 32]
            assert_no_trace(model, given, bad, X, y, epoch=1, feature=2, **options)


@pytest.mark.parametrize("rule", ["fobos", "adagrad", "rda", "ftrl"])
def test_a_row_that_is_counted_twice_is_caught(rule, monkeypatch):
    """The comparison sees the row of an overflow counted once more, where rates follow the rows."""
    X, y = make_data(n_classes=0, seed=11)
    model = LazyNetRegressor(l1=0.0, rule=rule)
    options = dict(epoch=0, feature=3)
    assert_no_trace(model, UNSCALED, [2], X, y, **options)
    monkeypatch.setattr(grid_visits, "forget_row", lambda engine: False)
    with pytest.raises((AssertionError, FloatingPointError)):
        assert_no_trace(model, UNSCALED, [2], X, y, **options)


def test_slopes_that_are_added_twice_are_caught(monkeypatch):
    """The comparison sees sums over the slopes that have the row of an overflow twice."""
    X, y = make_data(n_classes=0, seed=11)
    model, options = LazyNetRegressor(l1=0.0, schedule=FromData()), dict(epoch=0, feature=3)
    assert_no_trace(model, UNSCALED, [2], X, y, **options)
    monkeypatch.setattr(grid_visits, "forget_slopes", lambda *_: None)
    with pytest.raises(AssertionError):
        assert_no_trace(model, UNSCALED, [2], X, y, **options)


def test_all_settings_can_overflow():
    """Matrices without settings are passed over."""
    X, y = make_data(seed=13)
    for rule in ("fobos", "adagrad"):
        model = LazyNetClassifier(l1=0.0, rule=rule)
        training, found = overflowing(model, UNSCALED, [*range(9)], X, y, epoch=1, feature=1)
        assert not training.alive.any()
        assert np.isfinite(found[0]).all()
        assert np.isinf(found[1:4]).all()
        assert not found[4].any()


def test_what_the_kernel_refuses():
    """Arrays of another shape, rows that X does not have, and engines of another kind."""
    X, y = make_data(seed=10)
    folds = three_folds(len(y))[:1]
    for rule, state in (("fobos", ("clocks", "own")), ("adagrad", ("settings", "fields"))):
        training, _ = trained(LazyNetClassifier(l1=0.0, rule=rule), UNSCALED, X, y, folds, [])
        matrix, rows, task = training.matrices[0], training.rows[0], training.tasks[0]
        arrays = {name: getattr(matrix.engine, name) for name in state}

        def judge(matrix=matrix, rows=rows, task=task, **options):
            given = dict(order=np.arange(3), losses=np.zeros(9)) | options
            return outputs_losses.losses_on(
                matrix.engine._block(), rows.examples, rows.targets_for(matrix),
                given.pop("order"), task, given.pop("losses"), 0, **given,
            )  # fmt: skip

        assert judge(**arrays) == (0, 3)
        assert judge(**arrays, order=np.array([1, 60])) == (STATUS_BAD_ROW, 1)
        assert judge(**arrays, order=np.array([-1])) == (STATUS_BAD_ROW, 0)
        with pytest.raises(TypeError, match="must be given"):
            judge()
        with pytest.raises(ValueError, match="losses must have 9 entries"):
            judge(**arrays, losses=np.zeros(8))
        for name in state:
            with pytest.raises(ValueError, match=f"{name} must have"):
                judge(**arrays | {name: arrays[name][:, :1].copy()[:-1]})
    training, _ = trained(LazyNetRegressor(l1=0.0), UNSCALED, X, y * 1.0, folds, [])
    training.matrices[0].engine.strengths = np.zeros((9, 2))
    with Workers(1) as workers, pytest.raises(ValueError, match="strengths must have the shape"):
        training.epoch(np.arange(len(y)), workers)
