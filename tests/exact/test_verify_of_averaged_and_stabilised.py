"""verify of Dekel's algorithms and of the stabilised ones agrees, and disagrees when broken."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import lazynet.verify.averaged
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


def test_verify_looks_at_the_first_rows():
    """``max_rows`` and ``epochs`` say how much is compared."""
    X, y, _ = problem(1)
    report = ASGDClassifier().verify(X, y, max_rows=7, epochs=3)
    assert (report.rows, report.steps, report.steps_compared) == (7, 21, 21)
    staged = StabilisedSGDClassifier(burst_size=4, stability=0.0, random_state=0)
    assert staged.verify(X, y, max_rows=7, epochs=3).steps == 21
    assert staged.verify(X, y, max_rows=7).steps == 7 * staged.max_iter
    nothing = staged.verify(sparse.csr_matrix((2, 3)), [0, 1])
    assert (nothing.agrees, nothing.ended) == (None, "no feature occurs in these rows")
    for model in (ASGDClassifier(), ASGDRegressor(), staged):
        with pytest.raises(ValueError, match="epochs must be at least 1"):
            model.verify(X, y, epochs=0)
        with pytest.raises(TypeError, match="max_rows must be an integer"):
            model.verify(X, y, max_rows="few")


def test_verify_says_why_it_ended():
    """A run that multiplies rounding is not compared to its end."""
    X, y, _ = problem(2)
    staged = StabilisedSGDClassifier(
        "squared_hinge", eta0=1e3, stability=0.0, rejection_rate=0.0, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (ASGDRegressor("squared_error", l2=1e-3), staged):
            report = model.verify(X, y, epochs=20)
            assert report.agrees
            assert "diverges" in report.ended
            assert 0 < report.steps_compared < report.steps


# --- the comparisons are tested ---------------------------------------------------------------


class ForgetsTheMean(DekelEngine):
    """Rows as they are, where they should be centered."""

    def __init__(self, n_features, loss, l2, mean=None):
        super().__init__(n_features, loss, l2, None)


class AveragesTooMuch(DekelEngine):
    """The average takes the last iterate in once more."""

    def average(self):
        (mean, intercept), (last, _) = super().average(), self.last()
        return (mean * self.t + last) / (self.t + 1), intercept


@pytest.mark.parametrize("broken", [ForgetsTheMean, AveragesTooMuch])
def test_a_broken_engine_of_dekel_disagrees(broken, monkeypatch):
    """The mean forgotten, and an average that is not the mean."""
    X, y, _ = problem(3)
    X = X + sparse.csr_matrix(np.ones(X.shape))
    assert ASGDClassifier(l2=1.0).verify(X, y).agrees
    monkeypatch.setattr(lazynet.verify.averaged, "DekelEngine", broken)
    assert ASGDClassifier(l2=1.0).verify(X, y).agrees is False


def no_purge(engine):
    """Purge no feature."""
    return np.zeros(0, np.int64)


def one_weight_apart(path):
    """The weights of a path, one of them wrong in the eighth digit."""
    weights = path.cells[:, 0].copy()
    weights[np.argmax(np.abs(weights))] *= 1 + 1e-8
    return weights


@pytest.mark.parametrize(
    ("kind", "owner", "method", "broken"),
    [
        (StabilisedSGDClassifier, StabilisedEngine, "_judge", no_purge),
        (StabilisedSGDClassifier, Path, "weights", one_weight_apart),
        (StabilisedSGDClassifier, Path, "_truncate", lambda path, orders, size: None),
        (ReleasedStabilisedSGDClassifier, ReleasedEngine, "_purge", no_purge),
        (ReleasedStabilisedSGDClassifier, ReleasedPath, "weights", one_weight_apart),
    ],
)
def test_a_broken_engine_of_stages_disagrees(kind, owner, method, broken, monkeypatch):
    """No purge, no truncation in the first stage, a weight that is slightly wrong."""
    X, y, _ = problem(4)
    model = kind(random_state=0, **SHORT_BURSTS)
    assert model.verify(X, y).agrees
    monkeypatch.setattr(owner, method, broken)
    assert model.verify(X, y).agrees is False
