"""Rules with cells of their own: warm starts, overflow, and rates that change.

After every step they are compared with their references in test_lazy_equals_dense.py.
"""

import numpy as np
import pytest
from scipy import sparse
from support import examples_of, plan, rows
from support.algorithms import GIVEN, RULES_WITH_CELLS
from support.matrices import corpus, make_data
from support.models import RawClassifier
from support.parameters import in_rule

from lazynet import FTRL, RDA, Stepper, TruncatedGradient
from lazynet.engines.ftrl import FTRLEngine
from lazynet.kernels.table import RULES
from lazynet.penalties import ElasticNet
from lazynet.reference.ftrl import DenseFTRL
from lazynet.reference.truncated_gradient import DenseTruncatedGradient

# --- engines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["carpenter_inexact", "truncated_gradient", "fobos"])
def test_a_weight_that_overflows_is_told(rule):
    """An overflowing weight raises; it is not taken for one that has vanished."""
    X = sparse.csr_matrix([[1e200, 0.0], [0.0, 1.0]])
    model = RawClassifier(
        "hinge",
        **in_rule(
            l1=0,
            l2=0,
            rule=rule,
            schedule="constant",
            eta0=1e150,
            fit_intercept=False,
            shuffle=False,
            max_iter=1,
            tol=None,
        ),
    )
    with pytest.raises(FloatingPointError, match="overflowed"):
        model.fit(X, [1, 0])
    with pytest.raises(FloatingPointError, match="not a finite number"):
        model.partial_fit(X, [1, 0], classes=[0, 1])


@pytest.mark.every_case
@pytest.mark.parametrize("name", RULES_WITH_CELLS)
def test_a_constant_that_cannot_be_used_is_named(name):
    """Of every rule: NaN, infinities and numbers below 0, 0 as a rate; and nothing has changed."""
    (X, y), chosen = corpus(n_rows=4, d=5), plan(rule=GIVEN[name])
    (engine,), examples = chosen.new_engines(5), examples_of(chosen, X, y)
    for place, constant in enumerate(RULES[engine.kind].constants):
        right, wrong = engine.constants[place], {"nan", "-inf", "-1.0", "inf", "0.0"}
        needs = "be finite and not negative"
        if constant in ("alpha", "delta", "gamma"):
            needs = "be positive and finite"
        elif constant == "threshold":
            wrong, needs = wrong - {"inf", "0.0"}, "not be negative"
        else:
            wrong = wrong - {"0.0"}
        for number in wrong:
            engine.constants[place] = float(number)
            with pytest.raises(ValueError, match=f"^{constant} must {needs}, got {number}$"):
                engine.take(examples, chosen.steps(rows(4), 0), chosen.task(engine))
        engine.constants[place] = right
    assert not engine.fields.any()
    engine.take(examples, chosen.steps(rows(4), 0), chosen.task(engine))
    assert engine.weights().any()


# --- estimators ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(rule=FTRL(beta=0.0), l2=0.0), "beta of FTRL and l2 must not both be 0"),
        (dict(l2=0.1), r"l2 must be 0 with rule=TruncatedGradient\(threshold=...\)"),
        (dict(l2=0.0, storage="dense"), "a threshold excludes storage=Dense"),
        (dict(l2=0.0, average=True), "a threshold excludes average"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(options, message):
    """The bounds of single parameters are tested in ``test_parameters.py``."""
    given = {"rule": TruncatedGradient(threshold=1.0), **options}
    with pytest.raises(ValueError, match=message):
        RawClassifier(**in_rule(**given)).fit(*make_data())


# --- rates that change between calls ------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FTRL(alpha=1.0), FTRL(alpha=0.1)),
        (FTRL(alpha=0.1, beta=1.0), FTRL(alpha=0.1, beta=50.0)),
        (FTRL(alpha=0.1, beta=1.0), FTRL(alpha=0.1, beta=0.0)),
        (FTRL(alpha=0.1, penalty="once"), FTRL(alpha=1.0, penalty="once")),
        (FTRL(alpha=0.1), FTRL()),
        (FTRL(), FTRL(alpha=0.1)),
        (FTRL(beta=1.0), FTRL(beta=50.0)),
        (RDA(gamma=1.0), RDA(gamma=20.0)),
        (RDA(gamma=1.0), RDA()),
        (RDA(), RDA(gamma=1.0)),
        (RDA(rho=0.0), RDA(rho=0.5)),
    ],
)
def test_new_rates_leave_the_weights_what_they_are(before, after):
    """A row without nonzeros changes nothing but the intercept, whatever the rates have become."""
    X, y = make_data()
    options = dict(l1=1e-3, l2=1e-2, shuffle=False, fit_intercept=False)
    model = RawClassifier(**in_rule(rule=before, **options)).partial_fit(X, y, classes=[0, 1])
    weights = model.coef_.copy()
    engine = model._engines[0]
    engine.set_constants(after.constants(ElasticNet(1e-3, 1e-2)))
    assert engine.constants.tolist() == list(after.constants(ElasticNet(1e-3, 1e-2)))
    np.testing.assert_allclose(engine.weights(), weights[0], rtol=1e-12)
    np.testing.assert_array_equal(engine.weights() == 0, weights[0] == 0)
    assert np.count_nonzero(weights) > 0


def test_ftrl_without_beta_begins_when_a_gradient_has_been_seen():
    """Weights need an l2 penalty; the intercept has none, and is 0 until a gradient is seen."""
    X, y = make_data()
    for fit_intercept in (False, True):
        model = RawClassifier(
            rule=FTRL(alpha=0.1, beta=0.0),
            l1=1e-6,
            l2=0.1,
            shuffle=False,
            fit_intercept=fit_intercept,
        ).partial_fit(X, y, classes=[0, 1])
        twin = DenseFTRL(
            X.shape[1], l1=1e-6, l2=0.1, alpha=0.1, beta=0.0, fit_intercept=fit_intercept
        )
        for row, label in zip(X, y, strict=True):
            twin.step(row.indices.tolist(), row.data.tolist(), 2.0 * label - 1.0)
        np.testing.assert_allclose(model.coef_[0], twin.weights, atol=1e-12)
        assert model.intercept_[0] == pytest.approx(twin.intercept, abs=1e-12)


def test_an_intercept_is_carried_over_to_ftrl_without_beta():
    """An intercept that is carried over gets a state as if a small gradient had been seen."""
    engine = FTRLEngine(1, constants=FTRL(alpha=0.1, beta=0.0).constants(ElasticNet(0.0, 1.0)))
    engine.set_coefficients(np.array([[2.0]]), np.array([-3.0]))
    assert engine.weights()[0] == pytest.approx(2.0)
    assert engine.intercept == pytest.approx(-3.0)


# --- thresholds ---------------------------------------------------------------------------------


def test_a_weight_at_the_threshold_is_pulled():
    """The threshold itself belongs to the small weights: the first step makes w 1, and pulls it."""
    rule = TruncatedGradient(threshold=1.0, schedule="constant", eta0=0.5)
    stepper = Stepper(2, loss="squared_error", l1=0.5, rule=rule)
    dense = DenseTruncatedGradient(
        2, loss="squared_error", l1=0.5, threshold=1.0, schedule=lambda t: 0.5
    )
    for example in (([0], [1.0], 2.0), ([1], [1.0], 0.0), ([1], [1.0], 0.0)):
        stepper.step(*example)
        dense.step(*example)
        assert stepper.weights.tolist() == list(dense.weights)
    assert stepper.weights[0] == 0.25
