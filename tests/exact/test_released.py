"""Stabilised truncated SGD as released, compiled, equals its reference after every burst."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import rows_of_signs as signs
from support.matrices import rows_without_ties as problem

from lazynet.data.arrays import as_examples
from lazynet.engines.released import Draws, ReleasedEngine
from lazynet.engines.stabilised import Bursts
from lazynet.engines.threads import Workers
from lazynet.kernels import released as kernel
from lazynet.losses import get_loss
from lazynet.reference.released import DenseReleased, quantile

BURSTS = Bursts(
    bursts_per_stage=3,
    burst_size=6,
    rejection_rate=0.5,
    annealing=-9.0,
    stability=0.5,
    theta=0.5,
)
#: How far two implementations may be apart: weights have the norm 1.
APART = 1e-10
#: A comparison is over where a weight comes this near to a quantile, or a margin to 1, without
#: being equal: rounding then decides a count or an update.
NEAR = 1e-8


def streams(n, epochs, seed, n_paths):
    return [Draws(n, epochs, np.random.default_rng([seed, path])) for path in range(n_paths)]


def rows_in_full(n, epochs, seed, path):
    """What the reference is told: the same draws, and the same permutation."""
    generator = np.random.default_rng([seed, path])
    drawn = [generator.integers(0, n, n) for _ in range(epochs)]
    return np.concatenate(drawn).tolist(), generator.permutation(n).tolist()


class Watched(DenseReleased):
    """The reference, what it was after every burst, and how near it came to a tie."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.after_bursts, self.narrowest = [], math.inf

    def truncate(self, path):
        self.look(path)
        super().truncate(path)
        self.after_bursts.append(
            (path, list(self.paths[path]), self.positions[path], list(self.rejections))
        )

    def step(self, indices, values, target, weight=1.0, *, path=0):
        prediction = super().step(indices, values, target, weight, path=path)
        if self.loss == "hinge":
            self.narrow(prediction * target, 1.0)
        if self.updated:
            self.look(path)
        return prediction

    def look(self, path):
        q = self.quantile(path)
        for j in self.stable:
            self.narrow(abs(self.paths[path][j]), q)

    def narrow(self, number, edge):
        apart = abs(number - edge)
        if apart > 1e-13 * edge:  # equal in exact arithmetic: the quantile is a weight
            self.narrowest = min(self.narrowest, apart)


def assert_bursts_match(
    X,
    y,
    seed,
    bursts,
    *,
    loss="hinge",
    epochs=4,
    n_paths=2,
):
    """Compare every path after every burst; returns the records of the stages, or None where
    rounding may decide."""
    n = X.shape[0]
    reference = Watched(
        X.shape[1],
        loss=loss,
        n_paths=n_paths,
        max_iter=epochs,
        **{name: getattr(bursts, name) for name in Bursts._kinds},
    )
    examples = [(X[i].indices.tolist(), X[i].data.tolist(), float(y[i])) for i in range(n)]
    reference.fit(examples, lambda path: rows_in_full(n, epochs, seed, path))
    if reference.narrowest < NEAR:
        return None
    draws = streams(n, epochs, seed, n_paths)
    engine = ReleasedEngine(as_examples(X, y), X, get_loss(loss), bursts, draws)
    found, records = [], []

    def observe(path):
        number = engine.paths.index(path)
        rejections = sum(p.updates - p.listed.kept for p in engine.paths)
        found.append((number, path.weights(), path.position, rejections))

    with Workers(1) as workers:
        for stage in reference.trace:
            assert not engine.over
            records.append(engine.take_stage(workers, observe))
            line = records[-1]
            assert set(np.flatnonzero(engine.stable)) == stage.stable
            assert (line["burst_size"], line["went_back"]) == (stage.burst_size, stage.went_back)
            assert line["rejection_rate"] == pytest.approx(stage.rejection_rate, rel=1e-12)
    assert engine.over
    assert len(found) == len(reference.after_bursts)
    for (path, weights, position, rejections), expected in zip(
        found, reference.after_bursts, strict=True
    ):
        assert (path, position) == (expected[0], expected[2])
        np.testing.assert_allclose(weights, expected[1], rtol=APART, atol=APART)
        np.testing.assert_array_equal(weights == 0, np.array(expected[1]) == 0)
        # Counts of a feature that is purged later are not read any more.
        left = np.array(sorted(reference.stable), dtype=int)
        np.testing.assert_array_equal(rejections[left], np.array(expected[3])[left])
    np.testing.assert_allclose(engine.weights(), reference.weights, rtol=APART, atol=APART)
    np.testing.assert_allclose(engine.rejected, reference.rejected, rtol=1e-12)
    assert engine.t == reference.t
    return records


any_bursts = st.builds(
    Bursts,
    bursts_per_stage=st.integers(1, 4),
    burst_size=st.integers(1, 25),
    rejection_rate=st.sampled_from([0.0, 0.2, 0.5, 0.8, 0.95]),
    annealing=st.sampled_from([-9.0, 0.0, 5.0]),
    stability=st.sampled_from([0.0, 0.3, 0.5, 0.85]),
    theta=st.sampled_from([0.2, 0.5, 0.9]),
)


@given(
    seed=st.integers(0, 2**32 - 1),
    bursts=any_bursts,
    loss=st.sampled_from(["hinge", "log_loss"]),
    n_paths=st.integers(1, 3),
    epochs=st.integers(1, 6),
)
def test_bursts_are_those_of_the_reference(seed, bursts, loss, n_paths, epochs):
    """Weights, positions and rejections after every burst; stable sets and trace after a stage."""
    X, y = problem(seed)
    assert_bursts_match(X, y, seed, bursts, loss=loss, n_paths=n_paths, epochs=epochs)


def test_an_ordinary_run_purges_and_goes_back():
    """It purges more than once, goes back more than once, and comes to the end of its draws."""
    X, y = problem(1)
    records = assert_bursts_match(X, y, 1, BURSTS, epochs=12)
    assert records is not None
    assert sum(len(record["purged"]) > 0 for record in records) > 1
    assert sum(record["went_back"] for record in records) > 1
    assert records[-1]["n_stable"] > 0
    assert records[-1]["steps"] > 12 * 40


@pytest.mark.parametrize("seed", range(6))
def test_weights_that_tie_with_the_quantile_are_rejected_whatever_their_rounding(seed):
    """Values -1 and 1 make many weights equal, each rounded in its own way; margins meet 1."""
    X, y = signs(seed)
    assert assert_bursts_match(X, y, seed, BURSTS, epochs=6) is not None


# --- the quantile ---------------------------------------------------------------------------------


@given(
    sizes=st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, 7.0]), min_size=1),
    share=st.floats(0, 0.999),
)
def test_the_quantile_of_the_reference_is_numpys(sizes, share):
    """R's type 7 is NumPy's "linear"."""
    assert quantile(sizes, share) == pytest.approx(np.quantile(sizes, share), rel=1e-12, abs=1e-15)


def listed_with(weights, on_list):
    """A list, and cells that fit it."""
    d = len(weights)
    cells = np.zeros((d, 2))
    cells[:, 0] = weights
    listed = kernel.Listed(np.empty(2 * d, np.int64), np.empty(2 * d), np.zeros(d, np.int64))
    features = np.array(on_list, np.int64)
    kernel.go_back(listed, cells, features, np.asarray(weights, float)[features])
    return listed, cells


@given(data=st.data(), share=st.floats(0, 0.999))
def test_a_burst_ends_with_truncation_at_the_quantile(data, share):
    """Of all weights that are left, those that are not listed among them; ties included."""
    sizes = st.one_of(st.sampled_from([0.0, 0.5, 1.0, -1.0, 3.0]), st.floats(-10, 10))
    weights = np.array(data.draw(st.lists(sizes, min_size=1, max_size=30)))
    weights[np.abs(weights) < 1e-6] = 0.0
    zeros = data.draw(st.integers(0, 40))
    listed, cells = listed_with(weights, list(range(len(weights))))
    kernel.end_burst(listed, cells, len(weights) + zeros, share)
    q = np.quantile([*np.abs(weights), *[0.0] * zeros], share)
    left = np.where(np.abs(weights) <= q * (1 + 1e-9), 0.0, weights - np.sign(weights) * q)
    expected = left / np.linalg.norm(left) if left.any() else left
    np.testing.assert_allclose(cells[:, 0], expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(cells[:, 1], cells[:, 0] != 0)
    assert set(listed.features[: listed.n]) == set(np.flatnonzero(cells[:, 0]))


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_norms_neither_overflow_nor_vanish(size):
    """The squares of the weights would."""
    listed, cells = listed_with([3.0 * size, 4.0 * size, 0.0], [0, 1])
    kernel.end_burst(listed, cells, 3, 0.0)
    np.testing.assert_allclose(cells[:, 0], [0.6, 0.8, 0.0], rtol=1e-12)


def test_a_row_that_vanishes_is_named():
    """Memory that changes under training."""
    X, y = problem(0)
    rows = X.copy()
    engine = ReleasedEngine(
        as_examples(rows, y), X, get_loss("hinge"), BURSTS, streams(40, 4, 0, 1)
    )
    rows.indices[:] = 10**6
    with pytest.raises(ValueError, match="cannot be read at step 0"), Workers(1) as workers:
        engine.take_stage(workers)
