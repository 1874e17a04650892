"""verify of Dekel's algorithms and of the stabilised ones agrees, and disagrees when broken."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from lazynet import (
    ASGDClassifier,
    ASGDRegressor,
    ReleasedStabilisedSGDClassifier,
    StabilisedSGDClassifier,
)
from lazynet.engines.dekel import DekelEngine
from lazynet.engines.released import ReleasedPath
from lazynet.engines.stabilised import Path

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
    model.set_params(random_state=seed % 2**31)
    report = model.verify(X, y, importance if weighted else None)
    assert report.agrees
    assert report.ended is None or "kink" in report.ended
    assert (report.rows, report.features) == (60, 10)
    assert report.average is not None or report.ended


@each_model
def test_verify_trains_as_fit_does_and_changes_nothing(model):
    """The generator of the user is where it was; what stages purged is compared too."""
    X, y, importance = problem(0)
    generator = np.random.RandomState(3)
    model.set_params(random_state=generator)
    reports = [str(model.verify(X, y, importance)) for _ in range(2)]
    assert reports[0] == reports[1]
    np.testing.assert_array_equal(generator.random(3), np.random.RandomState(3).random(3))
    assert not hasattr(model, "coef_")
    if hasattr(model, "stability"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one of the models purges every feature
            model.fit(X, y, importance)
        assert not model.stable_[:, :10].all()


def one_weight_apart(path):
    """The weights of a path, one of them wrong in the eighth digit."""
    weights = path.cells[:, 0].copy()
    weights[np.argmax(np.abs(weights))] *= 1 + 1e-8
    return weights


@pytest.mark.parametrize(
    ("model", "owner", "method", "broken"),
    [
        (ASGDClassifier(l2=1.0), DekelEngine, "average", DekelEngine.last),
        (StabilisedSGDClassifier(**SHORT_BURSTS), Path, "weights", one_weight_apart),
        (
            ReleasedStabilisedSGDClassifier(**SHORT_BURSTS),
            ReleasedPath,
            "weights",
            one_weight_apart,
        ),
    ],
)
def test_a_broken_engine_disagrees(model, owner, method, broken, monkeypatch):
    """An average that is not the mean, and a weight that is slightly wrong."""
    X, y, _ = problem(4)
    model.set_params(random_state=0)
    assert model.verify(X, y).agrees
    monkeypatch.setattr(owner, method, broken)
    assert model.verify(X, y).agrees is False
