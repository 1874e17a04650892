"""verify of Dekel's algorithms and of the stabilised ones agrees, and disagrees when broken."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from lazynet import (
    ASGDClassifier,
    ASGDRegressor,
    ReleasedStabilisedSGDClassifier,
    StabilisedSGDClassifier,
)
from lazynet.engines.dekel import DekelEngine
from lazynet.engines.released import ReleasedEngine, ReleasedPath
from lazynet.engines.stabilised import Path, StabilisedEngine

SHORT_BURSTS = dict(
    burst_size=15, bursts_per_stage=2, rejection_rate=0.3, max_iter=6, n_paths=2, stability=0.6
)
MODELS = [
    ASGDClassifier(l2=0.1),
    ASGDClassifier("hinge", l2=0.1, center=False),
    ASGDRegressor(l2=0.1),
    ASGDRegressor("squared_error", l2=50.0),
    StabilisedSGDClassifier(**SHORT_BURSTS),
    StabilisedSGDClassifier("log_loss", gravity="informative", **SHORT_BURSTS),
    ReleasedStabilisedSGDClassifier(**SHORT_BURSTS),
    ReleasedStabilisedSGDClassifier("log_loss", **SHORT_BURSTS),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__ + "-" + m.loss)


def problem(seed, n=60, d=12):
    """Rows without ties, a class for each row, and an importance for each row."""
    generator = np.random.default_rng(seed)
    X = np.where(generator.random((n, d)) < 0.4, generator.standard_normal((n, d)), 0.0)
    X[:, -2:] = 0.0  # features that never occur
    y = np.where(X[:, :4].sum(axis=1) + 0.1 > 0, 1.0, -1.0)
    return sparse.csr_matrix(X), y, generator.uniform(0.5, 2.0, n)


@each_model
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_verify_agrees_after_every_step(model, seed, weighted):
    """On rows without ties every step can be compared, but where a prediction meets a kink."""
    X, y, importance = problem(seed)
    model = clone(model).set_params(random_state=seed % 2**31)
    report = model.verify(X, y, importance if weighted else None)
    assert report.agrees
    assert report.ended is None or "kink" in report.ended
    assert (report.rows, report.features) == (60, 10)
    assert report.average is not None or report.ended


@each_model
def test_verify_changes_nothing(model):
    """The generator of the user and a fitted model stay as they are."""
    X, y, importance = problem(0)
    generator = np.random.RandomState(3)
    model = clone(model).set_params(random_state=generator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one of the models purges every feature
        model.fit(X, y)
    before, coef, state = model.__dict__.copy(), model.coef_.copy(), generator.get_state()[1:]
    reports = [str(model.verify(X, y, importance, max_rows=40, epochs=2)) for _ in range(2)]
    assert reports[0] == reports[1]
    assert "(40 rows" in reports[0]
    assert model.__dict__ == before
    np.testing.assert_array_equal(model.coef_, coef)
    np.testing.assert_array_equal(generator.get_state()[1], state[0])
    assert generator.get_state()[2:] == state[1:]


@each_model
def test_arguments_of_verify_are_checked(model):
    """The error names the argument."""
    X, y, _ = problem(0)
    for name in ("max_rows", "epochs"):
        with pytest.raises(ValueError, match=f"{name} must be"):
            model.verify(X, y, **{name: 0})


def test_rows_without_a_mean_cannot_be_compared():
    """The report says why."""
    report = ASGDClassifier().verify(sparse.csr_matrix([[1e308], [1e308]]), [0, 1])
    assert report.agrees is None
    assert "leave the range of doubles" in str(report)


def test_a_run_that_multiplies_rounding_is_not_compared_to_its_end():
    """The report says why it has ended."""
    X, y, _ = problem(2)
    model = StabilisedSGDClassifier(
        "squared_hinge", eta0=1e3, stability=0.0, rejection_rate=0.0, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = model.verify(X, y)
    assert report.agrees
    assert "diverges" in report.ended
    assert 0 < report.steps_compared < report.steps


def no_purge(engine):
    """Purge no feature."""
    return np.zeros(0, np.int64)


def one_weight_apart(path):
    """The weights of a path, one of them wrong in the eighth digit."""
    weights = path.cells[:, 0].copy()
    weights[np.argmax(np.abs(weights))] *= 1 + 1e-8
    return weights


STABILISED = StabilisedSGDClassifier(**SHORT_BURSTS, random_state=0)
RELEASED = ReleasedStabilisedSGDClassifier(**SHORT_BURSTS, random_state=0)


@pytest.mark.parametrize(
    ("model", "owner", "method", "broken"),
    [
        (ASGDClassifier(l2=1.0), DekelEngine, "average", DekelEngine.last),
        (STABILISED, StabilisedEngine, "_judge", no_purge),
        (STABILISED, Path, "weights", one_weight_apart),
        (STABILISED, Path, "_truncate", lambda path, orders, size: None),
        (RELEASED, ReleasedEngine, "_purge", no_purge),
        (RELEASED, ReleasedPath, "weights", one_weight_apart),
    ],
)
def test_a_broken_engine_disagrees(model, owner, method, broken, monkeypatch):
    """An average that is not the mean, no purge, no truncation, a weight that is wrong."""
    X, y, _ = problem(4)
    assert model.verify(X, y).agrees
    monkeypatch.setattr(owner, method, broken)
    assert model.verify(X, y).agrees is False
