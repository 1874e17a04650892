"""Units of the rows so far equal the reference, and weights in these units dense weights."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import is_classifier
from support.algorithms import VARIANTS, penalty_of
from support.twins import Twins

from lazynet import LazyNetClassifier, LazyNetRegressor
from lazynet.data import statistics
from lazynet.data.arrays import checked_csr
from lazynet.data.statistics import FeatureMoments
from lazynet.engines.base import intercepts_of, stacked_coefficients
from lazynet.losses import LOSSES
from lazynet.reference.learner import RunningUnits, standardized
from lazynet.training.settings import read_settings

FLAGS = st.booleans()


@st.composite
def chunks(draw):
    """Full and sparse features of some sizes, far from 0 or not, some constant; ends of chunks.

    No two sizes are in the ratio at which rounding would decide whether a feature has its own.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    n, d = rng.integers(1, 21), rng.integers(1, 7)
    X = rng.choice([1.0, -2.5, 0.31], (n, d)) + rng.choice([0.0, 5.0], d)
    X[:, rng.random(d) < 0.1] = 0.3
    X *= rng.random(X.shape) < rng.choice([0.0, 0.1, 0.3, 0.6, 1.0], d, p=[0.1, 0.2, 0.2, 0.2, 0.3])
    X *= rng.choice([1.0, 1.0, 1e-3, 7e4], d)
    return X, [0, *(1 + np.flatnonzero(rng.random(n - 1) < 0.3)), n]


# --- units --------------------------------------------------------------------------------------


def assert_same_units(moments, sizes, means):
    """Sizes and means are the same up to rounding."""
    np.testing.assert_allclose(moments.sizes, sizes, rtol=1e-9)
    np.testing.assert_allclose(moments.means, means, rtol=1e-9, atol=1e-9 * np.max(sizes))


@given(chunks(), st.sampled_from([np.int32, np.int64]), st.sampled_from([np.float32, float]), FLAGS)
def test_rows_in_units_equal_the_reference(given, index, real, own):
    """Bit for bit; also where a matrix has spare room, explicit zeros and columns in any order."""
    X = given[0].astype(real).astype(float)
    stored = (X != 0.0) | (np.random.default_rng(0).random(X.shape) < 0.3)
    places, columns = np.nonzero(stored[:, ::-1])
    columns = X.shape[1] - 1 - columns
    matrix = sparse.csr_matrix(X.shape)
    matrix.data = np.append(X[places, columns], 9.0).astype(real)
    matrix.indices = np.append(columns, 0).astype(index)
    matrix.indptr = np.append(0, stored.sum(axis=1).cumsum()).astype(index)
    rows, moments = checked_csr(matrix), FeatureMoments.of(X.shape[1], own)
    moments.count(rows)
    moments.settle()
    units = moments.units
    changed = units.rows(rows)
    wanted = standardized(X.tolist(), units.sizes.tolist(), units.means.tolist())
    np.testing.assert_array_equal(changed.toarray(), wanted)
    assert changed.nnz <= stored.sum() + len(units.moved) * len(X)


# --- weights ------------------------------------------------------------------------------------


class Chunks(NamedTuple):
    """A model, and the chunks that it learns."""

    model: Any
    X: Any
    y: Any
    ends: list[int]


@st.composite
def models_and_chunks(draw, variant=None):
    """A model of any variant with one or three outputs, and its chunks."""
    X, ends = draw(chunks())
    options = VARIANTS[variant or draw(st.sampled_from(sorted(VARIANTS)))]
    loss, n_outputs = draw(st.sampled_from(sorted(LOSSES))), draw(st.sampled_from([1, 3]))
    kind = LazyNetClassifier if LOSSES[loss].margin else LazyNetRegressor
    penalty = penalty_of(options["rule"], draw(PENALTIES), draw(PENALTIES))
    options = options | dict(l1=penalty.l1, l2=penalty.l2, fit_intercept=draw(FLAGS))
    model = kind(loss, standardize=draw(STANDARDIZE), shuffle=False, **options)
    y = np.array(draw(st.lists(st.integers(-2, 2), min_size=len(X), max_size=len(X)))) * 1.0
    if LOSSES[loss].margin:
        return Chunks(model, X, y % (3 if n_outputs == 3 else 2), ends)
    return Chunks(model, X, y if n_outputs == 1 else np.column_stack([y, -y, y[::-1]]), ends)


PENALTIES = st.sampled_from([0.0, 1e-3, 0.03, 0.3])
STANDARDIZE = st.sampled_from(["auto", "auto", True])


def columns_of(given):
    """The targets of every output."""
    if not is_classifier(given.model):
        return given.y.reshape(len(given.y), -1)
    classes = np.arange(3.0) if given.y.max() == 2.0 else np.ones(1)
    return np.where(given.y[:, None] == classes, 1.0, -1.0)


def assert_chunks_are_dense_steps(given):
    """After every chunk the weights are those of dense steps on the rows in the units of then.

    The weights stay what they are where the units change.  Returns the number of chunks compared.
    """
    model, X, y, ends = given
    targets, classes = columns_of(given), {}
    if is_classifier(model):
        classes = dict(classes=np.arange(max(2, targets.shape[1])))
    units = RunningUnits(own=model.standardize is True, centred=model.fit_intercept)
    twins = None
    for start, stop in pairwise(ends):
        model.partial_fit(X[start:stop], y[start:stop], **classes)
        units.count(X[start:stop].tolist())
        found = model.units_
        assert_same_units(found, units.sizes, units.means)
        twins = twins_of(model, X, targets) if twins is None else twins
        # The reference takes the same sequence of sizes and means, with their rounding.
        rows = standardized(X[start:stop].tolist(), found.sizes.tolist(), found.means.tolist())
        for row, numbers in zip(rows, targets[start:stop].tolist(), strict=True):
            indices = np.flatnonzero((np.array(row) != 0.0) | (found.means != 0.0)).tolist()
            for twin, number in zip(twins.each, numbers, strict=True):
                twin.step(indices, [row[j] for j in indices], number)
        if not all(twin.comparable for twin in twins.each):
            return ends.index(start)
        weights = stacked_coefficients(model._engines, None, last=True)
        intercepts = intercepts_of(model._engines, None, last=True)
        twins.assert_near(np.column_stack([weights, intercepts]), None)
        raw = np.atleast_2d(model.last_coef_)
        np.testing.assert_array_equal(raw, weights / found.sizes)
        moved = raw * found.means
        np.testing.assert_allclose(
            model.last_intercept_, intercepts - moved.sum(axis=1),
            atol=1e-14 * (1.0 + np.abs(intercepts).max() + np.abs(moved).sum()),
        )  # fmt: skip
    return len(ends) - 1


def twins_of(model, X, targets):
    """A dense twin for each output, at zero weights."""
    n, settings = targets.shape[1], read_settings(model)
    plan = settings.plan(n, 0.0, settings.eta0 or model._eta0)
    problem = SimpleNamespace(n_features=X.shape[1], y=targets)
    return Twins(SimpleNamespace(plan=plan, problem=problem, engine=model._engines[0], n_outputs=n))


@pytest.mark.parametrize("variant", VARIANTS)
@given(st.data())
def test_chunks_are_dense_steps_in_the_units_of_the_rows_so_far(variant, data):
    """For every way to keep weights."""
    assert_chunks_are_dense_steps(data.draw(models_and_chunks(variant)))


def test_statistics_of_rows_do_not_depend_on_blocks(monkeypatch):
    """They are those of NumPy, also where the means of the blocks differ."""
    monkeypatch.setattr(statistics, "ROWS_OF_A_BLOCK", 7)
    rng = np.random.default_rng(0)
    norms, weights = rng.random(24) * np.arange(24), rng.random(24) + np.arange(24)
    targets = np.column_stack([np.linspace(-1.0, 4.0, 24) ** 2 - 3.0, rng.standard_normal(24)])
    found = statistics.RowStatistics(extra=0.5)
    found.add(norms, targets, weights)
    assert found.n_rows == 24
    np.testing.assert_allclose(found.spreads, targets.std(axis=0), rtol=1e-12)
    assert found.mean_squared_norm == pytest.approx(norms.mean(), rel=1e-12)
    assert found.mean_importance == pytest.approx(weights.mean(), rel=1e-12)
    assert found.positive == pytest.approx(weights[targets[:, 0] > 0.0].sum(), rel=1e-12)
    assert found.largest == norms.max() + 0.5
    assert found.largest_weighted == pytest.approx(((norms + 0.5) * weights).max(), rel=1e-12)
