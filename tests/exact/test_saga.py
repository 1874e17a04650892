"""SAGA: the reference keeps means and minimises, gaps of any length are exact, what it refuses."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import plan, rows
from support.dual import POSITIVE, dual_problems
from support.fractions import F
from support.matrices import make_data
from support.models import RawClassifier, RawRegressor

from lazynet import SAGA, Stepper
from lazynet.data.arrays import as_examples
from lazynet.kernels import one_output
from lazynet.losses import LOSSES
from lazynet.reference.affine import fobos_shrink
from lazynet.reference.saga import DenseSAGA

# --- the reference is what the paper defines ------------------------------------------------------


@given(problem=dual_problems(["squared_error"], n_steps=16), alpha=POSITIVE)
def test_a_step_of_the_reference_minimises_what_defines_it(problem, alpha):
    """Every weight after every step, over fractions, with means computed anew from all rows."""
    X, y, s = problem.rows, problem.targets, problem.importances
    l1, l2 = problem.l1, problem.l2
    n, d = len(X), len(X[0])
    options = dict(alpha=alpha, l1=l1, l2=l2, fit_intercept=problem.fit_intercept)
    twin = DenseSAGA(d, n_rows=n, loss="squared_error", zero=F(0), **options)
    for i in (i for i in problem.order if i is not None):
        w, b, table = list(twin.weights), twin.intercept, list(twin.slopes)
        p = sum(w_j * x for w_j, x in zip(w, X[i], strict=True)) + b
        g = s[i] * (p - y[i])
        assert twin.step(range(d), X[i], y[i], s[i], i) == p
        for j in range(d):
            mean = sum(table[k] * X[k][j] for k in range(n)) / n
            v = w[j] - alpha * ((g - table[i]) * X[i][j] + mean)
            found = twin.weights[j]
            # (w - v)^2 / 2 + alpha (l1 |w| + l2 w^2 / 2) has the subgradient 0 at its minimum.
            pull = found - v + alpha * l2 * found
            if found == 0:
                assert abs(pull) <= alpha * l1
            else:
                assert pull == (-1 if found > 0 else 1) * alpha * l1
        if problem.fit_intercept:
            assert twin.intercept == b - alpha * (g - table[i] + F(sum(table)) / n)
        else:
            assert twin.intercept == 0
        assert twin.slopes == [*table[:i], g, *table[i + 1 :]]


# --- a gap of any length --------------------------------------------------------------------------

WEIGHTS = st.sampled_from([0.0, 1e-3, -1e-3, 0.7, -0.7, 5.0, -5.0]) | st.floats(-10, 10)
MEANS = st.sampled_from([0.0, 1e-6, -1e-6, 0.01, -0.01, 0.1, -0.1]) | st.floats(-1, 1)
RATES = st.sampled_from([0.01, 0.5, 1.0, 1e-4])
PENALTIES = st.sampled_from([0.0, 1e-300, 1e-12, 1e-6, 1e-3, 0.1, 10.0])


def after_a_gap(w, mean, missed, alpha, l1, l2):
    """What the kernel makes of a weight that has missed some steps."""
    out = np.empty(1)
    fields, cells = np.array([0.0, 0.0, missed]), np.array([[w, mean, 0.0]])
    one_output.read("saga", cells, fields, np.array([l1, l2, alpha]), out)
    return out[0]


def one_by_one(w, mean, missed, alpha, l1, l2):
    """The same, a step at a time."""
    for _ in range(missed):
        w = fobos_shrink(w - alpha * mean, alpha, l1, l2)
    return w


@given(
    w=WEIGHTS, mean=MEANS, missed=st.integers(0, 40) | st.integers(41, 3000), alpha=RATES,
    l1=PENALTIES, l2=PENALTIES,
)  # fmt: skip
@example(w=0.7, mean=0.1, missed=2900, alpha=0.01, l1=0.01, l2=1e-3)  # across, and far beyond
@example(w=0.7, mean=0.1, missed=14, alpha=0.5, l1=0.0, l2=0.0)  # exactly at zero
@example(w=0.0, mean=-0.1, missed=10, alpha=0.5, l1=1e-3, l2=0.1)  # away from zero, upwards
@example(w=0.0, mean=0.1, missed=10, alpha=0.5, l1=1e-3, l2=0.0)  # and downwards
@example(w=-5.0, mean=-0.1, missed=2000, alpha=1.0, l1=0.1, l2=0.0)  # to zero, and no further
def test_a_gap_is_its_steps(w, mean, missed, alpha, l1, l2):
    """Any number of missed steps, with and without a crossing, equals single steps.

    A single step rounds a few times, by the unit roundoff of the numbers that it adds, or by half
    of the least number where they underflow.
    """
    found = after_a_gap(w, mean, float(missed), alpha, l1, l2)
    expected = one_by_one(w, mean, missed, alpha, l1, l2)
    scale = max(abs(w), abs(expected)) + alpha * (abs(mean) + l1)
    assert abs(found - expected) <= (8 * missed + 8) * (2.0**-53 * scale + 2.0**-1074)


@pytest.mark.parametrize("l2", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("l1", [0.0, 0.05, 0.5])
def test_a_weight_crosses_zero_at_most_once_however_long_the_gap(l1, l2):
    """Beyond zero the weight goes to its fixed point, or on without end; or it stays at zero."""
    w, mean, alpha = 0.7, 0.1, 0.01
    drift = alpha * (mean - l1)
    for missed in (1e4, 1e6, 1e9, 2.0**53):
        found = after_a_gap(w, mean, missed, alpha, l1, l2)
        if l1 > mean:
            assert found == 0.0
        elif l2 == 0.0:
            steps_down = 0.7 / (alpha * (mean + l1))
            assert found == pytest.approx(-(missed - steps_down) * drift, rel=2e-3, abs=2 * drift)
        else:
            assert -(mean - l1) / l2 * (1 + 1e-12) <= found <= 0.7
    if l2 == 1e-2 and l1 < mean:
        assert found == pytest.approx(-(mean - l1) / l2, rel=1e-12)


# --- the estimators -------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_default_rate_is_a_third_of_the_inverse_of_the_largest_curvature(fit_intercept):
    """1 / (3 L) with L from the loss, the importances, the rows and the intercept."""
    X, y = make_data()
    s = np.linspace(0.5, 2.0, 60)
    for loss in ("log_loss", "modified_huber"):
        model = RawClassifier(
            loss, rule="saga", fit_intercept=fit_intercept, max_iter=1, tol=None
        ).fit(X, y, sample_weight=s)
        norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() + fit_intercept
        assert model.eta0_ == pytest.approx(1 / (3 * LOSSES[loss].curvature * (s * norms).max()))
        assert model._engines[0].constants[2] == model.eta0_
    assert RawClassifier(rule=SAGA(alpha=0.25), max_iter=1, tol=None).fit(X, y).eta0_ == 0.25


def test_a_stream_is_refused():
    """partial_fit is not there, as for other methods that parameters rule out; nor has Stepper."""
    X, y = make_data()
    for model, classes in (
        (RawClassifier(rule="saga"), {"classes": np.unique(y)}),
        (RawRegressor(rule=SAGA(alpha=0.1)), {}),
    ):
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError) as caught:
            model.partial_fit(X, y, **classes)
        message = str(caught.value)
        assert "partial_fit cannot train with rule=SAGA(" in message
        assert "use fit" in message
        partial_fit = model.set_params(rule="fobos").partial_fit
        partial_fit(X, 1.0 * y, **classes)
        model.set_params(rule="saga")
        with pytest.raises(ValueError, match="partial_fit cannot train with rule=SAGA"):
            partial_fit(X, 1.0 * y, **classes)
    with pytest.raises(ValueError, match=r"Stepper cannot train with rule=SAGA\(\).*use fit"):
        Stepper(3, rule="saga")


# --- the engine -----------------------------------------------------------------------------------


def test_an_engine_keeps_to_the_rows_it_has_begun_with():
    """A dataset of another size is refused before anything changes."""
    X, y = make_data()
    chosen = plan(rule=SAGA(alpha=0.1))
    engine = chosen.new_engines(X.shape[1])[0]
    engine.take(as_examples(X, 2.0 * y - 1), chosen.steps(rows(60), 0), chosen.task(engine))
    before = {name: array.copy() for name, array in engine.state().items()}
    assert set(before) == {"cells", "fields", "constants", "memory"}
    assert np.count_nonzero(before["memory"]) == 60
    fewer = as_examples(X[:9], 2.0 * y[:9] - 1)
    with pytest.raises(ValueError, match="examples must have 60 rows, as in the steps before, got"):
        engine.take(fewer, chosen.steps(rows(9), 60), chosen.task(engine), 60)
    for name, array in engine.state().items():
        np.testing.assert_array_equal(array, before[name])
    engine.set_coefficients(engine.coefficients(), engine.intercepts())
    engine.take(fewer, chosen.steps(rows(9), 0), chosen.task(engine))
    assert len(engine.memory) == 9
