"""Rates that follow the rows: when they change, and what the scales of X and of y mean.

After every step they are compared in test_lazy_equals_dense.py.  The clock computes the rates of
``FromData``.  The weights of FTRL and RDA are functions of sums and of the scale, so that a new
scale visits no weight.  AdaGrad sweeps.
"""

import numpy as np
import pytest
from scipy import sparse
from support import examples_of, plan, rows
from support.matrices import corpus
from support.models import RawClassifier, RawRegressor
from support.parameters import in_rule

from lazynet import (
    FTRL,
    RDA,
    SGD,
    AdaGrad,
    DualNetClassifier,
    FoBoS,
    FromData,
    Stepper,
    TruncatedGradient,
)
from lazynet.data.arrays import as_examples, row_sizes_of
from lazynet.engines.clock import AveragedClockEngine, ClockEngine
from lazynet.kernels.steps import Steps
from lazynet.losses import LOSS_OBJECTS, LOSSES
from lazynet.reference import DenseFromData
from lazynet.reference.losses import LOSSES as TWINS

#: The alpha of AdaGrad for rows of the mean size 1.
ALPHA = LOSSES["log_loss"].alphas[1]


def rates_of(rule, sizes):
    """The rate after each of the rows, of rows with one nonzero of these sizes."""
    lazy, rates = Stepper(1, rule=rule, loss="hinge"), []
    for size in sizes:
        lazy.step([0] if size else [], [size] if size else [], 1.0)
        rates.append(lazy.engine.present_rate)
    return rates


def alphas_after(sizes, product, least_change):
    """alpha after each of the rows, from their sizes alone."""
    mean, found = 0.0, []
    for t in range(len(sizes)):
        now = float(np.mean(sizes[: t + 1]))
        is_due = t in (0, 1, 2, 4, 8, 16, 32, 64) and abs(now - mean) > mean * least_change
        mean = now if is_due or (not mean and now) else mean
        found.append(product / mean if mean else product)
    return found


@pytest.mark.parametrize(
    ("rule", "least_change"), [(FTRL(), 0.0), (AdaGrad(), 1.0 / 16.0)], ids=["ftrl", "adagrad"]
)
def test_alpha_is_computed_before_the_steps_that_are_powers_of_two(rule, least_change):
    """alpha is the constant over the mean of the rows as of the last refresh."""
    first = rates_of(rule, [0.0])[0]
    # The first row that is not empty comes between the powers of two: the next one waits for 8.
    late = [0.0, 0.0, 0.0, 4.0, 1.0, 1000.0, 0.0, 0.0, 0.0]
    sizes = [0.0, 0.0, 4.0, 2.0, 8.0, 1.0, 0.5, 3.0, 1.5, *[2.0] * 9]
    for given in (late, sizes):
        seen = rates_of(rule, given)
        np.testing.assert_allclose(seen, alphas_after(given, first, least_change), rtol=1e-15)
    # None before the first row, then steps 2, 4 and 8, and not 16 if it changes too little.
    assert len(set(seen)) == (4 if least_change else 5)
    assert abs(np.mean(sizes[:17]) / np.mean(sizes[:9]) - 1.0) < 1 / 16


# --- the scale of X -----------------------------------------------------------------------------


def test_importances_that_are_all_ten_times_as_large_change_nothing():
    """A sum begins with the importance of its row, as the squared gradients do."""
    X, y = corpus(n_rows=80, d=50)
    options = dict(rule=AdaGrad(delta=1e-12), max_iter=2, tol=None, random_state=0, l2=0.0)
    once = RawClassifier(**in_rule(l1=1e-3, **options)).fit(X, y)
    ten = RawClassifier(**in_rule(l1=1e-2, **options)).fit(X, y, sample_weight=np.full(80, 10.0))
    np.testing.assert_allclose(ten.coef_, once.coef_, rtol=1e-9, atol=1e-9)


# --- other settings, loaded weights, what is refused ---------------------------------------------


@pytest.mark.parametrize("rule", [FTRL(), RDA()], ids=str)
def test_loaded_weights_keep_their_size(rule):
    """No new scale multiplies weights that were given."""
    X, y = sparse.csr_matrix(np.random.default_rng(0).random((8, 40))), np.ones(8)
    weights = np.arange(40.0)
    # Rows of very different sizes that all predictions get right by far: nothing is learned.
    big = sparse.diags(100.0 * 10.0 ** np.arange(8)) @ X
    model = RawClassifier(rule=rule, loss="hinge", l1=0.0, l2=0.0, shuffle=False)
    model.partial_fit(X, y, classes=[-1, 1])
    model.coef_, model.intercept_ = weights[None], [2.0]
    model.partial_fit(big.tocsr(), y)
    # The proximal term of RDA pulls towards zero; only the count of steps decides how much.
    share = 1.0 / np.sqrt(9.0) if rule.name == "rda" else 1.0
    np.testing.assert_allclose(model.coef_[0], weights * share, rtol=1e-12)
    assert model.intercept_[0] == pytest.approx(2.0 * share)


def test_loaded_weights_of_adagrad_keep_their_size():
    """The first alpha multiplies no weight that was given."""
    X, _ = corpus(n_rows=20, d=40)
    model = RawClassifier(rule="adagrad", max_iter=1, tol=None, shuffle=False, l1=0.0, l2=0.0)
    given_weights = np.arange(40.0)
    model.fit(X[:2], [0, 1], coef_init=given_weights)
    untouched = np.setdiff1d(np.arange(40), X[:2].indices)
    ratio = model.eta0_ / (ALPHA / row_sizes_of(X[:1], "absolute_sums")[0])
    np.testing.assert_allclose(model.coef_[0, untouched], given_weights[untouched] * ratio)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rows", -1.0, "rows must lie between 0 and"), ("rows", np.nan, "rows must lie between 0"),
        ("sum_of_sizes", -1.0, "sum_of_sizes and mean must not be negative"),
        ("mean", np.nan, "sizes and mean must not be negative"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("rule", [FTRL(), RDA(), AdaGrad()], ids=str)
@pytest.mark.every_case
def test_fields_that_no_run_leaves_behind_are_refused(rule, name, value, message):
    """Counts and means are checked before anything is read."""
    X, y = corpus(n_rows=4, d=5)
    chosen = plan(rule=rule)
    engine = chosen.new_engines(5)[0]
    engine.set_field(name, value)
    with pytest.raises(ValueError, match=message):
        engine.take(examples_of(chosen, X, y), chosen.steps(np.arange(4), 0), chosen.task(engine))


def test_examples_without_sizes_are_refused():
    """The kernel says what is missing; with a given alpha nothing is."""
    X, y = corpus(n_rows=4, d=5)
    given, chosen = plan(rule=AdaGrad(alpha=0.1)), plan(rule=AdaGrad())
    engine = given.new_engines(5)[0]
    engine.take(as_examples(X, y), given.steps(rows(4), 0), given.task(engine))
    engine = chosen.new_engines(5)[0]
    with pytest.raises(
        ValueError, match="examples must have row_sizes: the rates follow the sizes"
    ):
        engine.take(as_examples(X, y), chosen.steps(rows(4), 0), chosen.task(engine))
    assert not engine.fields.any()


@pytest.mark.parametrize(
    "rule",
    [FoBoS("inverse_sqrt", eta0=1.0), RDA(), AdaGrad(), FTRL(), FTRL(penalty="once")],
    ids=str,
)
def test_l1_and_l2_mean_the_same_in_every_rule(rule):
    """All approach the minimum of one objective, but for the penalty of FTRL as published."""
    X, y = corpus(n_rows=120, d=30)
    l1, l2 = 0.02, 0.01

    def objective(model):
        penalty = l1 * np.abs(model.coef_).sum() + l2 / 2 * (model.coef_**2).sum()
        return np.logaddexp(0.0, -y * model.decision_function(X)).mean() + penalty

    best = DualNetClassifier(l1=l1, l2=l2, tol=1e-10).fit(X, y)
    model = RawClassifier(
        **in_rule(rule=rule, l1=l1, l2=l2, max_iter=400, tol=None, random_state=0)
    )
    above = objective(model.fit(X, y)) / objective(best) - 1.0
    assert above > 0.1 if "once" in str(rule) else 0.0 <= above < 0.01, above


# --- warm starts --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rule", [RDA(), FTRL(), AdaGrad(), FoBoS(FromData())], ids=str)
def test_a_warm_start_goes_on_as_partial_fit_does(rule, n_classes):
    """Sums of gradients and rates are kept: the first weights and all later ones are the same."""
    X, y = corpus(n_rows=120, d=30)
    y = y if n_classes == 2 else np.arange(120) % 3
    options = dict(rule=rule, l1=1e-3, l2=1e-3, shuffle=False, tol=None)
    options["max_iter"] = 1 if rule.name == "fobos" else 5
    model = RawClassifier(**options, warm_start=True).fit(X, y)
    further = RawClassifier(**options).fit(X, y).partial_fit(X, y)
    before, first = model.coef_, model.eta0_
    model.set_params(max_iter=1).fit(X, y)
    # A warm start of FoBoS loads the weights, which are scaled and rounded.
    rtol = 1e-9 if rule.name == "fobos" else 0.0
    np.testing.assert_allclose(model.coef_, further.coef_, rtol=rtol)
    np.testing.assert_allclose(model.intercept_, further.intercept_, rtol=rtol)
    np.testing.assert_allclose(model.eta0_, further.eta0_, rtol=rtol)
    assert np.any(model.coef_ != before)
    assert rule.name != "fobos" or model.eta0_ < first
    assert model.set_params(rule=FoBoS("power", eta0=0.25)).fit(X, y).eta0_ == 0.25


# --- rates of the clock ---------------------------------------------------------------------------

NUMBERS = [name for name, loss in LOSSES.items() if not loss.margin]
#: The losses without a length of their own: that of twice p, y and epsilon is a multiple.
SCALED = [
    name
    for name, (value, _) in TWINS.items()
    if name in NUMBERS
    and len({value(2 * r, 0.0, 1.0) / value(r, 0.0, 0.5) for r in (0.75, 3.0, -8.0)}) == 1
]
BOTH = (False, True)


def test_refreshes_come_at_rows_0_1_2_4_8():
    """m is the square of the mean of |x| so far, at these rows that are not empty."""
    twin = DenseFromData(1)
    means, seen = [], []
    for t in range(20):
        twin.step([0] if t != 3 else [], [float(t + 1)] if t != 3 else [], 1.0)
        if t != 3:
            seen.append(t + 1.0)
        means.append(twin.m)
    changes = [t for t in range(1, 20) if means[t] != means[t - 1]]
    assert changes == [1, 2, 5, 9, 17]  # without the empty row: 1, 2, 4, 8, 16
    assert means[-1] == pytest.approx(np.mean(seen[:17]) ** 2)


def fitted(kind, X, y, **options):
    options = {"rule": FoBoS(FromData()), **options}
    return kind(tol=None, max_iter=3, random_state=0, **options).fit(X, y)


#: Rules whose rates follow the rows, the largest power of two, and how its rates follow a factor.
FOLLOWING = [(FoBoS(FromData()), 40, 2), (AdaGrad(), 200, 1), (FTRL(), 130, 0), (RDA(), 130, 0)]


@pytest.mark.parametrize(("rule", "most", "follow"), FOLLOWING, ids=lambda value: str(value))
@pytest.mark.parametrize("fit_intercept", BOTH)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_factor_of_x_changes_no_prediction(loss, fit_intercept, rule, most, follow):
    """A power of two changes no bit; the penalty follows the factor."""
    X, y = corpus(n_rows=90, d=60)
    y = y if LOSSES[loss].margin else y * 3 + np.arange(90) % 7
    kind = RawClassifier if LOSSES[loss].margin else RawRegressor
    options = dict(rule=rule, loss=loss, fit_intercept=fit_intercept, l1=0.0)
    l2 = 2.0**-10 if follow == 2 else 0.0
    plain = fitted(kind, X, y, **options, l2=l2)
    assert np.abs(plain.coef_).max() > 0.01
    for c in (2.0**-most, 2.0**most):
        scaled = fitted(kind, X * c, y, **options, l2=l2 * c * c)
        np.testing.assert_array_equal(scaled.coef_ * c, plain.coef_)
        np.testing.assert_array_equal(scaled.intercept_, plain.intercept_)
        if follow:
            assert scaled.eta0_ * c**follow == plain.eta0_


@pytest.mark.parametrize("fit_intercept", BOTH)
@pytest.mark.parametrize("loss", SCALED)
def test_a_factor_of_y_multiplies_the_model(loss, fit_intercept):
    """Powers of two of y, and of epsilon, multiply the model, bit for bit."""
    X, y = corpus(n_rows=90, d=60)
    y = y * 3 + np.arange(90) % 7
    models = []
    for factor in (1.0, 2.0**10, 2.0**-10):
        given = LOSS_OBJECTS[loss](0.5 * factor) if loss in LOSS_OBJECTS else loss
        models.append(
            fitted(
                RawRegressor, X, y * factor, loss=given, fit_intercept=fit_intercept,
                l1=0.0, l2=2.0**-10 if LOSSES[loss].unbounded_slope else 0.0,
            )
        )  # fmt: skip
        np.testing.assert_array_equal(models[-1].coef_, models[0].coef_ * factor)
        np.testing.assert_array_equal(models[-1].intercept_, models[0].intercept_ * factor)


def test_rates_of_a_step_that_overflows_are_not_counted():
    """The kernel leaves its state at the last step taken."""
    chosen = plan(loss="log_loss", schedule=FromData(), fit_intercept=True)
    X = sparse.csr_matrix(np.array([[1.0], [2.0], [1e200]]))
    with np.errstate(over="ignore"):
        examples = examples_of(chosen, X, np.ones(3))
    for kind in (ClockEngine, AveragedClockEngine):
        engine = kind(1)
        counts = np.ones(3) if kind is AveragedClockEngine else None
        steps = Steps(np.arange(3), np.zeros(3), np.ones(3), np.zeros(3), np.zeros(3), counts)
        with pytest.raises(FloatingPointError, match="at step 2"):
            engine.take(examples, steps, chosen.task(engine))
        assert engine.memory[0] == 2.0
        assert np.isfinite(engine.memory).all()


def test_rates_stay_below_what_the_rule_allows():
    """A strong l2 bounds the rates of SGD at half of 1 / l2; the intercept goes on."""
    X, y = corpus(n_rows=90, d=60)
    model = RawClassifier(rule=SGD(schedule=FromData()), l2=100.0, max_iter=1, tol=None)
    assert model.fit(X, y).eta0_ == 0.005
    assert model.verify(X, y).agrees
    assert model.intercept_[0] != 0


def test_weights_that_are_given_are_not_rescaled():
    """coef_init and a warm start keep their predictions where the first rows change m."""
    X, y = sparse.csr_matrix([[1e-3], [1.0], [1.0]]), np.array([2e-3, 2.0, 2.0])
    options = dict(max_iter=1, tol=None, shuffle=False, l1=0.0, l2=0.0, fit_intercept=False)
    model = RawRegressor(rule=FoBoS(schedule=FromData()), **options)
    # The given weight is right: nothing is to be learned.
    for targets, given in ((y, [2.0]), (np.column_stack([y, -y]), [[2.0], [-2.0]])):
        np.testing.assert_array_equal(model.fit(X, targets, coef_init=given).coef_, given)


def test_what_cannot_have_these_rates_is_refused():
    """The error names schedule, before anything is learned."""
    X, y = [[1.0]], [1.0]
    for engine in ("tables", "dense"):
        model = RawRegressor(rule=FoBoS(schedule="from_data", storage=engine), l1=0.0)
        with pytest.raises(ValueError, match=r"schedule=FromData\(\) needs storage='clock'"):
            model.fit(X, y)
    for threshold in (np.inf, 0.5):
        rule = TruncatedGradient(period=2, threshold=threshold)
        with pytest.raises(ValueError, match=r"schedule=FromData\(\) gives rates to rule='fobos'"):
            RawRegressor(**in_rule(schedule=FromData(), rule=rule, l2=0.0)).fit(X, y)
    for schedule in ("from_data", FromData()):
        with pytest.raises(ValueError, match="eta0 is the scale of a schedule without a scale"):
            RawRegressor(rule=FoBoS(schedule=schedule, eta0=0.5)).fit(X, y)
    with pytest.raises(ValueError, match="cannot give them before"):
        FromData()(0)
