"""Compact rows and bounds of features beside dense arrays; derivatives beside the reference."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from support.matrices import compact_rows, corpus, shuffled_rows

from lazynet.data.arrays import as_examples, rows_of_array
from lazynet.kernels.compact import CompactRows
from lazynet.kernels.slopes import derivatives, evaluate
from lazynet.losses import LOSSES
from lazynet.minimum import screening
from lazynet.minimum.iterate import of_margins
from lazynet.minimum.objective import MeanLoss
from lazynet.penalties import ElasticNet
from lazynet.reference import losses as reference

SEEDS = st.integers(0, 2**20)
EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
SMOOTH = [loss for loss in LOSSES.values() if loss.curvature is not None]
SMOOTH_LOSSES = pytest.mark.parametrize("loss", SMOOTH, ids=[loss.name for loss in SMOOTH])


def targets_of(loss, n, random):
    """Targets that the loss takes."""
    return random.choice([-1.0, 1.0], n) if loss.margin else random.standard_normal(n)


def random_rows(seed, n, d, full, sorted_columns=True):
    """Rows with every value, or with about three of ten, and their columns in any order."""
    X = sparse.random(n, d, density=1.0 if full else 0.3, format="csr", random_state=seed)
    return X if sorted_columns else shuffled_rows(X, seed)


def results(rows, weights, factors):
    """x_i.w, sum factor_i x_i and sum factor_i x_ij^2, a call or more for each."""
    n, d, found = rows.n_rows, rows.n_columns, []
    for kernel, given_, out in (
        (rows.margins, weights, np.zeros(n)),
        (rows.add, factors, np.zeros(d)),
        (partial(rows.add, squared=True), factors, np.zeros(d)),
    ):
        row = 0
        while row < n:
            _, row = kernel(given_, out, row)
        found.append(out)
    return found


def assert_rows_of(rows, dense, random):
    """The compact rows give what the dense rows give."""
    weights, factors = random.standard_normal(dense.shape[1]), random.standard_normal(len(dense))
    wanted = dense @ weights, dense.T @ factors, (dense * dense).T @ factors
    assert (rows.n_rows, rows.n_columns) == dense.shape
    for found, expected in zip(results(rows, weights, factors), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def drawn_places(random, d, n_kept=None):
    """New numbers of the columns, and the columns in the order of these."""
    kept = random.permutation(d)[: random.integers(0, d + 1) if n_kept is None else n_kept]
    places = np.full(d, -1, np.int32)
    places[kept] = np.arange(len(kept))
    return places, kept


SIZES = SEEDS, st.integers(0, 70), st.integers(1, 40)


@example(0, 9, 8, True, False, True)
@example(0, 9, 8, False, True, False)
@given(*SIZES, st.booleans(), st.booleans(), st.booleans())
def test_kept_columns_of_all_rows_and_of_some(seed, n, d, full, narrow, sorted_columns):
    """Margins, sums and squares; a sample is a copy of its rows, some of them twice."""
    random, X = np.random.default_rng(seed), random_rows(seed, n, d, full, sorted_columns)
    X = X.astype(np.float32 if narrow else np.float64)
    dense, (places, kept) = X.toarray().astype(float), drawn_places(random, d)
    rows = compact_rows(X, places)
    assert rows.n_values == np.count_nonzero(dense[:, kept])
    assert_rows_of(rows, dense[:, kept], random)
    order = random.integers(0, n, 9 if n else 0)
    again, chosen = drawn_places(random, len(kept))
    sample = CompactRows(len(order), len(chosen), rows.values_of(order))
    sample.copy_some(rows, order, again)
    assert_rows_of(sample, dense[order][:, kept[chosen]], random)


@given(*SIZES, st.booleans(), st.booleans())
def test_values_that_stay_in_place_change_no_bit(seed, n, d, full, sorted_columns):
    """Where no column leaves, a copy of the values is not needed."""
    random, X = np.random.default_rng(seed), random_rows(seed, n, d, full, sorted_columns)
    places = np.arange(d, dtype=np.int32) if full else drawn_places(random, d, d)[0]
    copied, in_place = compact_rows(X, places), compact_rows(X, places, in_place=True)
    assert in_place.is_full == copied.is_full >= (full and sorted_columns)
    assert copied.largest == in_place.largest == abs(X.data).max(initial=0.0)
    given_ = random.standard_normal(d), random.standard_normal(n)
    for pair in zip(results(copied, *given_), results(in_place, *given_), strict=True):
        np.testing.assert_array_equal(*pair)


@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_full_rows_that_stay_in_place_have_no_column_numbers(indices):
    """Only if every row has its columns in order."""
    for columns, full in (([0, 1, 2, 0, 1, 2], True), ([0, 1, 2, 0, 2, 1], False)):
        X = sparse.csr_matrix((np.ones(6), columns, [0, 3, 6]), (2, 3))
        X.indices, X.indptr = X.indices.astype(indices), X.indptr.astype(indices)
        assert CompactRows(2, 3, 6, as_examples(X, np.ones(2), None)).is_full is full


def mean_of(X, y, importances, loss):
    """The mean loss of all rows."""
    examples = as_examples(X, y, importances)
    return MeanLoss(examples, y, importances, loss, fit_intercept=True)


def into_domain(mean, duals):
    """The duals of a model that is not curved."""
    zeros = np.zeros(mean.n_rows)
    return mean.duals_of_model((zeros, duals, zeros), (zeros, zeros, zeros), 0.0)[0]


@EVERY_LOSS
@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_hold_for_all_duals_and_some_attain_them(loss, weighted, monkeypatch):
    """|u_j| for duals in the domain of the conjugate; features below l1 leave."""
    monkeypatch.setattr(screening, "_FEW", 256)
    random = np.random.default_rng(0)
    X, _ = corpus(60, 300)
    X.data = random.standard_normal(X.nnz)
    y = targets_of(loss, 60, random)
    mean = mean_of(X, y, random.choice([0.0, 1.0, 2.5], 60) if weighted else None, loss)
    bounds, sizes = screening.bounds_of_features(mean)
    dense = X.toarray()
    if loss.unbounded_slope:
        assert np.isinf(bounds[(abs(dense) > 0.0).any(axis=0) & (sizes > 0.0)]).all()
        return
    for spread in (0.1, 1.0, 10.0):
        duals = into_domain(mean, spread * random.standard_normal(60))
        assert (abs(mean.correlations(duals)) <= bounds * (1.0 + 1e-13)).all()
    for column in range(5):
        ends = [into_domain(mean, 1e9 * s * np.sign(dense[:, column])) for s in (-1.0, 1.0)]
        reached = max(abs(mean.correlations(duals)[column]) for duals in ends)
        np.testing.assert_allclose(reached, bounds[column], rtol=1e-12)
    l1 = float(np.median(bounds))
    compact = screening.compact(mean, (bounds, sizes), l1)
    np.testing.assert_array_equal(np.sort(compact.features), np.flatnonzero(bounds >= l1))
    ordered = sizes[compact.features]
    assert (ordered[1:] <= 1.01 * ordered[:-1]).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_of_a_mean_loss(weighted, monkeypatch):
    """Its rows, targets, importances and features are those that are chosen.

    The rows of the mean loss are a half of all rows, and their number is no multiple of 16.
    """
    monkeypatch.setattr(screening, "_FEW", 256)
    random = np.random.default_rng(1)
    X, y = corpus(90, 300)
    importances = random.uniform(0.5, 2.0, 90) if weighted else None
    mean = mean_of(X, y, importances, LOSSES["log_loss"])
    mean.share /= 2.0
    compact = screening.compact(mean, screening.bounds_of_features(mean), 0.025)
    assert compact.mean.share == mean.share
    assert 0 < len(compact.features) < 300
    kept = compact.expand(np.ones(len(compact.features)), 300) > 0.0
    np.testing.assert_array_equal(np.flatnonzero(kept), np.sort(compact.features))
    stored = (X[::16] != 0.0).sum(axis=0).A1 / 6
    np.testing.assert_array_equal(compact.frequencies, stored[compact.features])
    chosen, order = random.random(kept.sum()) < 0.5, np.sort(random.permutation(90)[:20])
    sample, dense = compact.sample(order, chosen), X[order][:, compact.features[chosen]].toarray()
    shares = np.ones(20) if importances is None else importances[order]
    shares, close = shares / shares.sum(), dict(rtol=1e-12, atol=1e-12)
    weights = random.standard_normal(chosen.sum())
    np.testing.assert_allclose(sample.mean.margins(weights), dense @ weights, **close)
    np.testing.assert_array_equal(sample.mean.y, y[order])
    np.testing.assert_allclose(sample.mean.weighted(np.ones(20)), shares)
    np.testing.assert_array_equal(sample.frequencies, compact.frequencies[chosen])
    np.testing.assert_allclose(sample.squares, shares @ dense**2, rtol=1e-12)


@example(0, 9, 9, True)
@example(3, 9, 9, True)
@example(3, 9, 9, False)
@given(SEEDS, st.integers(0, 9), st.integers(0, 9), st.booleans())
def test_the_nonzeros_of_a_dense_array(seed, n, d, narrow):
    """Rows and columns are those of SciPy; a full array shares its values."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d)) * (random.random((n, d)) < random.choice([0.5, 1.0]))
    X = X.astype(np.float32 if narrow else np.float64)
    rows = rows_of_array(X)
    expected = sparse.csr_matrix(X)
    np.testing.assert_array_equal(rows.indptr, expected.indptr)
    np.testing.assert_array_equal(rows.indices, expected.indices)
    np.testing.assert_array_equal(rows.data, expected.data)
    assert rows.dtype == X.dtype
    assert np.shares_memory(rows.data, X) == (0 < rows.nnz == X.size)
    for number in (np.nan, np.inf, -np.inf):
        if X.size:
            X[random.integers(n), random.integers(d)] = number
            assert rows_of_array(X) is None


# --- losses ---------------------------------------------------------------------------------------


def found_derivatives(loss, margins, y, importances=None, intercept=0.0, share=1.0):
    """The sums of ``derivatives``, and what it writes."""
    n = len(y)
    examples, out = as_examples(sparse.csr_matrix((n, 1)), y, importances), np.empty((3, n))
    arguments = examples, margins, intercept, loss.code, loss.epsilon, share
    return derivatives(*arguments, *out), out


@EVERY_LOSS
@pytest.mark.parametrize("n", [0, 255, 257])
def test_derivatives_are_those_of_the_reference(loss, n):
    """Losses, slopes, and the quotient of differences of the slopes, in exact arithmetic."""
    random = np.random.default_rng(n)
    y = targets_of(loss, n, random)
    margins, importances = random.normal(0.0, 2.0, n), random.choice([0.0, 1.0, 0.3], n)
    sums, (duals, slopes, curvatures) = found_derivatives(loss, margins, y, importances, 0.25, 0.1)
    value, slope = reference.LOSSES[loss.name]
    exact = float if loss.name == "log_loss" else Fraction
    step, e = exact(1e-30 if exact is Fraction else 1e-6), exact(loss.epsilon)
    wanted = np.zeros((3, n))
    for k, (m, target) in enumerate(zip(margins, y, strict=True)):
        p, target = exact(m + 0.25), exact(target)
        change = slope(p + step, target, e) - slope(p - step, target, e)
        wanted[:, k] = value(p, target, e), slope(p, target, e), change / (2 * step)
    factors, close = 0.1 * importances, dict(rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(duals, -wanted[1], **close)
    np.testing.assert_allclose(slopes, -factors * wanted[1], **close)
    quotient = dict(rtol=1e-9, atol=1e-9) if exact is float else close
    np.testing.assert_allclose(curvatures, factors * wanted[2], **quotient)
    parts = factors * wanted[0], slopes, abs(slopes), curvatures
    np.testing.assert_allclose(sums, [part.sum() for part in parts], **close)


@EVERY_LOSS
@given(SEEDS)
def test_the_nearest_duals_in_the_domain(loss, seed):
    """Where the conjugate is finite duals stay; elsewhere they go to the end of the interval."""
    random = np.random.default_rng(seed)
    y = targets_of(loss, 9, random)
    duals = random.choice([0.1, 1.0, 9.0]) * random.standard_normal(9)

    def finite(numbers):
        each = zip(numbers, y, strict=True)
        return np.isfinite(
            [float(reference.conjugate(loss.name, a, t, loss.epsilon)) for a, t in each]
        )

    importances = random.choice([0.0, 0.5, 2.0], 9)
    importances[0] = 1.0
    mean = mean_of(sparse.csr_matrix((9, 1)), y, importances, loss)
    inside = into_domain(mean, duals)
    assert finite(inside).all()
    moved = inside != duals
    np.testing.assert_array_equal(moved, ~finite(duals))
    between = inside + 1e-9 * (duals - inside)
    assert not finite(between)[moved].any()
    # The model is curved: its duals change with the predictions.
    shares, h = importances / importances.sum(), random.random(9)
    before, after, shift = *random.standard_normal((2, 9)), random.standard_normal()
    steps = (before, duals, shares * h), (after, duals, shares * h)
    found = mean.duals_of_model(*steps, shift)[0]
    wanted = into_domain(mean, duals - (importances > 0.0) * h * (after - before + shift))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@SMOOTH_LOSSES
@pytest.mark.parametrize("size", [1e-2, 3e-2])
def test_about_what_the_duals_of_a_model_cost(loss, size):
    """The sum of l(p) + l*(-a) + a p: 0 at the duals of p, and a bound needs it to be small."""
    random, n = np.random.default_rng(0), 200
    y = targets_of(loss, n, random)
    importances, margins = random.choice([0.0, 1.0, 2.5], n), random.standard_normal(n)
    mean = mean_of(sparse.csr_matrix((n, 1)), y, importances, loss)
    before = of_margins(mean, ElasticNet(), np.zeros(1), margins, 0.0)
    moved = of_margins(mean, ElasticNet(), np.zeros(1), margins + size * margins, 0.0)
    # Both have an intercept that is the best one.
    shift = moved.intercept - before.intercept
    each = ((it.margins, it.duals, it.curvatures) for it in (before, moved))
    duals, found = mean.duals_of_model(*each, shift)
    predictions = moved.margins + moved.intercept
    inner = float(mean.weighted(duals) @ predictions)
    wanted = moved.objective + mean.conjugate(duals)[0] + inner
    if loss.name == "squared_epsilon_insensitive":
        # What the kink of its conjugate costs is not counted.
        assert found <= wanted < size**2
        return
    # The curvature of the others jumps at few rows.
    jumps = 0.0 if loss.name == "log_loss" else 0.05 * size**2
    assert found == pytest.approx(wanted, rel=0.2, abs=jumps + 1e-14)
    assert found < size**2


@SMOOTH_LOSSES
@given(SEEDS, st.sampled_from([1, 40, 300]), st.booleans(), st.booleans())
def test_one_pass_finds_what_two_find(loss, seed, d, full, at_zero):
    """Margins, derivatives, u, and the sum of conjugates near the duals."""
    random, n = np.random.default_rng(seed), 300
    X, y = random_rows(seed, n, d, full), targets_of(loss, n, random)
    importances, weights = random.choice([0.0, 1.0, 2.5], n), random.standard_normal(d)
    weights *= not at_zero
    examples, options = as_examples(X, y, importances), dict(rows=compact_rows(X))
    mean = MeanLoss(examples, y, importances, loss, fit_intercept=False, **options)
    value, bend, conjugates, (margins, duals, curvatures), u = mean.one_pass(weights)
    dense, close = X.toarray(), dict(rtol=1e-12, atol=1e-13)
    (total, _, _, bends), (a, slopes, h) = found_derivatives(
        loss, dense @ weights, y, importances, 0.0, mean.share
    )
    np.testing.assert_allclose(margins, dense @ weights, **close)
    np.testing.assert_allclose(duals, a, **close)
    np.testing.assert_allclose(curvatures, h, **close)
    np.testing.assert_allclose(u, slopes @ dense, **close)
    np.testing.assert_allclose([value, bend], [total, bends], **close)
    assert conjugates.value == pytest.approx(mean.conjugate(duals)[0], abs=1e-12)
    assert conjugates.first == pytest.approx(float(slopes @ margins), abs=1e-12)
    bent = h > 0.0
    pairs = zip(margins, y, strict=True)
    losses = [float(reference.LOSSES[loss.name][0](m, t, loss.epsilon)) for m, t in pairs]
    limits = (mean.weighted(np.array(losses)) * 10.0)[bent]
    second = np.minimum(slopes[bent] ** 2 / h[bent], limits)
    assert conjugates.second == pytest.approx(second.sum(), rel=1e-9)
    # Near 1 the sum is about its expansion; elsewhere it is at most a share of the sum at 1.
    assert conjugates.at(1.0) == conjugates.value
    assert mean.conjugate(duals, 0.5)[0] <= conjugates.at(0.5) + 1e-12
    if at_zero and bent[importances > 0.0].all():
        # No second derivative is limited.
        near = mean.conjugate(duals, 1.0 - 1e-4)[0]
        assert conjugates.at(1.0 - 1e-4) == pytest.approx(near, abs=1e-11)


def test_one_pass_over_many_values_takes_several_calls():
    """Sums go on from call to call, between which Python handles signals."""
    n, random, calls = 3000, np.random.default_rng(0), [0]
    dense, y = random.standard_normal((n, n)), random.choice([-1.0, 1.0], n)
    rows = compact_rows(rows_of_array(dense), in_place=True)
    examples = as_examples(sparse.csr_matrix((n, 1)), y)
    loss, weights = LOSSES["log_loss"], 0.01 * random.standard_normal(n)
    out, u, totals = np.empty((3, n)), np.zeros(n), np.zeros(6)
    arguments = rows, examples, weights, loss.code, loss.epsilon, 1.0 / n, *out, u, totals
    while calls[-1] < n:
        calls.append(evaluate(*arguments, calls[-1])[1])
    assert len(calls) > 2
    (total, _, _, bend), (duals, slopes, _) = found_derivatives(loss, dense @ weights, y)
    np.testing.assert_allclose(out[1], duals, rtol=1e-10)
    np.testing.assert_allclose(u, slopes @ dense / n, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(totals[[0, 2]], [total / n, bend / n], rtol=1e-10)
