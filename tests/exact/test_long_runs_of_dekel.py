"""Dekel's learners stay near extended precision over long runs."""

import numpy as np
import pytest
from scipy import sparse

from lazynet.data.arrays import as_examples
from lazynet.engines.dekel import DekelEngine
from lazynet.losses import get_loss
from lazynet.verify.tolerance import UNIT_ROUNDOFF

pytest.importorskip("paper_repro.extended", reason="only in a checkout")
from paper_repro.extended import too_narrow

SLOPES_IN_LONG_DOUBLE = {
    "log_loss": lambda p, y: -y / (1 + np.exp(p * y)),
    "squared_error": lambda p, y: p - y,
    "absolute_error": lambda p, y: np.sign(p - y),
}


def dekel_in_long_double(X, y, order, loss, l2, mean):
    """Dekel's centered SGD by its definition: steps on centered rows, all weights summed each step.

    Returns weights and intercept for rows that are not centered: first of the last iterate, then of
    the average of all iterates.
    """
    slope = SLOPES_IN_LONG_DOUBLE[loss]
    center = mean.astype(np.longdouble)
    # The intercept is one weight more, of a feature that is 1 everywhere.
    rows = np.hstack([X.toarray().astype(np.longdouble) - center, np.ones((X.shape[0], 1))])
    weights = np.zeros(rows.shape[1], dtype=np.longdouble)
    sums = weights.copy()
    strength = np.longdouble(l2)
    for t, row in enumerate(order, start=1):
        x = rows[row]
        g = slope(np.dot(weights, x), np.longdouble(y[row]))
        weights -= weights / t
        weights -= g / (strength * t) * x
        sums += weights
    models = []
    for found in (weights, sums / len(order)):
        models.append((found[:-1], found[-1] - np.dot(found[:-1], center)))
    return models


def long_run(n_steps):
    """How far compiled CASGD is from long double, by the largest weight, for three losses."""
    generator = np.random.default_rng(0)
    d, n = 6, 200
    X = sparse.random(n, d, density=0.4, format="csr", random_state=0)
    X.sort_indices()
    X.data = generator.standard_normal(X.nnz) + 0.5
    y = np.where(X @ np.arange(-2.5, 3.0) + generator.standard_normal(n) > 0, 1.0, -1.0)
    order = generator.integers(0, n, n_steps)
    mean = np.asarray(X.mean(axis=0)).ravel()
    errors = {}
    for loss, l2 in (("log_loss", 1e-3), ("squared_error", 5.0), ("absolute_error", 1e-2)):
        engine = DekelEngine(d, get_loss(loss), l2, mean)
        engine.take(as_examples(X, y), order)
        truth = dekel_in_long_double(X, y, order, loss, l2, mean)
        for found, expected in zip((engine.last(), engine.average()), truth, strict=True):
            found, expected = np.append(*found), np.append(*expected)
            error = float(np.abs(found - expected).max() / np.abs(expected).max())
            errors[loss] = max(errors.get(loss, 0.0), error)
    return errors


@pytest.mark.skipif(too_narrow() is not None, reason=str(too_narrow()))
@pytest.mark.parametrize(
    ("n_steps", "most"),
    [
        # A tenth of a roundoff per step, past the step at which h begins again.
        (100_000, 0.1 * UNIT_ROUNDOFF * 100_000),
        pytest.param(1_000_000, 1e-11, marks=pytest.mark.thorough),
    ],
)
def test_long_runs_against_long_double(n_steps, most):
    """The models stay near extended precision."""
    assert max(long_run(n_steps).values()) <= most
