"""Stabilised models equal their dense twins after every step, and broken ones do not."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from support.staged import compare_with_twin

from lazynet import ReleasedStabilisedSGDClassifier, StabilisedSGDClassifier
from lazynet.engines.released import ReleasedEngine, ReleasedPath
from lazynet.engines.stabilised import Path, StabilisedEngine

SHORT_BURSTS = dict(
    burst_size=15, bursts_per_stage=2, rejection_rate=0.3, max_iter=6, n_paths=2, stability=0.6,
    random_state=0,
)  # fmt: skip
MODELS = [
    StabilisedSGDClassifier(**SHORT_BURSTS),
    StabilisedSGDClassifier("log_loss", gravity="informative", **SHORT_BURSTS),
    ReleasedStabilisedSGDClassifier(**SHORT_BURSTS),
    ReleasedStabilisedSGDClassifier("log_loss", **SHORT_BURSTS),
]


def problem(seed, n=60, d=12):
    """Rows without ties, a class for each row, and an importance for each row."""
    generator = np.random.default_rng(seed)
    X = np.where(generator.random((n, d)) < 0.4, generator.standard_normal((n, d)), 0.0)
    X[:, -2:] = 0.0  # features that never occur
    y = np.where(X[:, :4].sum(axis=1) + 0.1 > 0, 1.0, -1.0)
    return sparse.csr_matrix(X), y, generator.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__ + "-" + m.loss)
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_weights_agree_after_every_step(model, seed, weighted):
    """On rows without ties every step can be compared, but where a prediction meets a kink."""
    X, y, importance = problem(seed)
    model = clone(model).set_params(random_state=seed % 2**31)
    report = compare_with_twin(model, X, y, importance if weighted else None)
    assert report.agrees
    assert report.ended is None or "kink" in report.ended
    assert report.average is not None or report.ended


def test_a_run_that_multiplies_rounding_is_not_compared_to_its_end():
    """The report says why it has ended."""
    X, y, _ = problem(2)
    model = StabilisedSGDClassifier(
        "squared_hinge", eta0=1e3, stability=0.0, rejection_rate=0.0, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = compare_with_twin(model, X, y)
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
    model = kind(**SHORT_BURSTS)
    assert compare_with_twin(model, X, y).agrees
    monkeypatch.setattr(owner, method, broken)
    assert compare_with_twin(model, X, y).agrees is False
