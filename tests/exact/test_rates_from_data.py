"""Rates that the clock computes from the rows: when they change, and factors of X and of y.

After every step engines are compared with the reference in test_lazy_equals_dense.py.
"""

import numpy as np
import pytest
from scipy import sparse
from support import plan
from support.matrices import corpus
from support.models import RawClassifier, RawRegressor
from support.parameters import in_rule

from lazynet import FTRL, RDA, SGD, AdaGrad, FoBoS, FromData, Power, TruncatedGradient
from lazynet.data.arrays import as_examples, row_sizes_of
from lazynet.engines.clock import AveragedClockEngine, ClockEngine
from lazynet.kernels.steps import Steps
from lazynet.losses import LOSS_OBJECTS, LOSSES
from lazynet.reference import DenseFromData
from lazynet.reference.losses import LOSSES as TWINS

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
@pytest.mark.parametrize("share", [-1.0, 0.25, 1.0])
def test_a_factor_of_x_changes_no_prediction(share, loss, fit_intercept, rule, most, follow):
    """A power of two changes no bit; the penalty follows the factor."""
    X, y = corpus(n_rows=90, d=60)
    y = y if LOSSES[loss].margin else y * 3 + np.arange(90) % 7
    kind = RawClassifier if LOSSES[loss].margin else RawRegressor
    c, l2 = 2.0 ** int(share * most), 2.0**-10 if follow == 2 else 0.0
    options = dict(rule=rule, loss=loss, fit_intercept=fit_intercept, l1=0.0)
    plain = fitted(kind, X, y, **options, l2=l2)
    scaled = fitted(kind, X * c, y, **options, l2=l2 * c * c)
    np.testing.assert_array_equal(scaled.coef_ * c, plain.coef_)
    np.testing.assert_array_equal(scaled.intercept_, plain.intercept_)
    assert np.abs(plain.coef_).max() > 0.01
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
        examples = as_examples(X, np.ones(3), None, row_sizes_of(X, chosen.size_kind))
    for kind in (ClockEngine, AveragedClockEngine):
        engine = kind(1)
        average = Power if kind is AveragedClockEngine else None
        counts = np.ones(3) if average else None
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
    X = sparse.csr_matrix([[1e-3], [1.0], [1.0]])
    model = RawRegressor(
        rule=FoBoS(schedule=FromData()),
        max_iter=1,
        tol=None,
        shuffle=False,
        l1=0.0,
        l2=0.0,
        fit_intercept=False,
    )
    # The given weight is right: nothing is to be learned.
    y = np.array([2e-3, 2.0, 2.0])
    model.fit(X, y, coef_init=[2.0])
    np.testing.assert_array_equal(model.coef_, [2.0])
    model.fit(X, np.column_stack([y, -y]), coef_init=[[2.0], [-2.0]])
    np.testing.assert_array_equal(model.coef_, [[2.0], [-2.0]])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_goes_on_with_the_rates(n_classes):
    """The rates after a warm start are those of a run that went on, not those of a first step."""
    X, y = corpus(n_rows=90, d=60)
    y = y if n_classes == 2 else np.arange(90) % 3
    options = dict(rule=FoBoS(FromData()), tol=None, shuffle=False)
    once = RawClassifier(**options, max_iter=1, warm_start=True).fit(X, y)
    first = once.eta0_
    # The rates fall after the second of four epochs.
    twice = RawClassifier(**options, max_iter=4)
    twice.fit(X, y, callback=lambda epoch: epoch.epoch == 1)
    again = once.fit(X, y)
    np.testing.assert_allclose(again.coef_, twice.coef_, rtol=1e-9)
    assert again.eta0_ == pytest.approx(twice.eta0_)
    assert again.eta0_ < first
    assert again.set_params(rule=FoBoS("power", eta0=0.25)).fit(X, y).eta0_ == 0.25


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
