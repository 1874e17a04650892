"""Ma & Zheng's stages, compiled, equal their reference, which computes the paper's formulas."""

import itertools
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from support.matrices import rows_of_signs as signs
from support.matrices import rows_without_ties as problem

from lazynet import StabilisedSGDClassifier
from lazynet.data.arrays import as_examples
from lazynet.engines.stabilised import Path, StabilisedEngine, Stages
from lazynet.engines.threads import Workers
from lazynet.losses import get_loss
from lazynet.parameters import kinds_of
from lazynet.reference import DenseReference
from lazynet.reference.stabilised import DenseStabilised, base_gravity, rejected_share
from lazynet.schedules import Constant, InverseSqrt

RATES = InverseSqrt(0.5)


class Observed(DenseStabilised):
    """The reference, and the first path after every step and the truncation that may follow."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.after_steps = []

    def step(self, *example, path=0):
        prediction = super().step(*example, path=path)
        if path == 0:
            self.after_steps.append([*self.paths[0], self.intercepts[0]])
        return prediction

    def truncate(self, path, counts, g, size):
        vanished = super().truncate(path, counts, g, size)
        if path == 0:
            self.after_steps[-1] = [*self.paths[0], self.intercepts[0]]
        return vanished


def permutations(n, seed):
    """An endless stream of permutations for every path."""

    def draws(path):
        generator = np.random.default_rng([seed, path])
        while True:
            yield from generator.permutation(n).tolist()

    return draws


def examples_of(X, y):
    """The rows and targets as the reference takes them."""
    return [
        (row.indices.tolist(), row.data.tolist(), float(t)) for row, t in zip(X, y, strict=True)
    ]


def assert_stages_match(
    X, y, seed, stages, *, loss="hinge", epochs=4.0, n_paths=2,
    schedule=RATES,
):  # fmt: skip
    """Compare the first path after every step, every path at the end, and what every stage has
    decided."""
    options = {name: getattr(stages, name) for name in kinds_of(Stages)}
    reference = Observed(
        X.shape[1], loss=loss, schedule=schedule, n_paths=n_paths, max_iter=epochs,
        fit_intercept=True, **options,
    ).fit(examples_of(X, y), permutations(len(y), seed))  # fmt: skip
    engine = StabilisedEngine(
        as_examples(X, y),
        get_loss(loss),
        stages,
        schedule,
        [np.random.default_rng([seed, path]) for path in range(n_paths)],
        X.toarray().any(axis=0),
    )
    records, after_steps, before = [], [], set(range(X.shape[1]))
    first = engine.paths[0]

    def observe():
        after_steps.append([*first.weights(), first.intercept])

    with Workers(1) as workers:
        for stage in reference.trace:
            if not engine.n_stable:
                break
            n_steps = math.ceil(epochs * X.shape[0])
            records.append(engine.take_stage(workers, n_steps, observe))
            assert set(np.flatnonzero(engine.stable)) == stage.stable
            assert stage.stable <= before
            assert 0.0 <= stage.realised_rate <= 1.0
            before = stage.stable
            line = records[-1]
            assert (line["burst_size"], line["n_stable"]) == (stage.burst_size, len(stage.stable))
            assert line["rejection_rate"] == pytest.approx(stage.rejection_rate, rel=1e-12)
            # At a constant rate rounding decides which weights were 0 before.
            if schedule is RATES:
                assert line["realised_rate"] == pytest.approx(stage.realised_rate, rel=1e-12)
            assert (line["gravity"] is None) == (stage.gravity is None)
            if stage.gravity is not None:
                assert line["gravity"] == pytest.approx(stage.gravity, rel=1e-9, abs=1e-12)
    assert len(records) == len(reference.trace)
    assert len(after_steps) == len(reference.after_steps)
    np.testing.assert_allclose(after_steps, reference.after_steps, rtol=1e-10, atol=1e-10)
    for path, expected_path, intercept in zip(
        engine.paths, reference.paths, reference.intercepts, strict=True
    ):
        np.testing.assert_allclose(path.weights(), expected_path, rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(path.weights() == 0, np.array(expected_path) == 0)
        assert not any(w for j, w in enumerate(expected_path) if j not in reference.stable)
        assert path.intercept == pytest.approx(intercept, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(engine.weights(), reference.weights, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(engine.frequency, reference.frequency, rtol=1e-12)


any_stages = st.builds(
    Stages,
    bursts_per_stage=st.integers(1, 4),
    burst_size=st.integers(1, 25),
    rejection_rate=st.sampled_from([0.0, 0.2, 0.5, 0.8]),
    annealing=st.sampled_from([-9.0, 0.0, 5.0]),
    stability=st.sampled_from([0.0, 0.3, 0.5, 0.85]),
    gravity=st.sampled_from(["universal", "informative"]),
)


@given(
    seed=st.integers(0, 2**32 - 1),
    stages=any_stages,
    loss=st.sampled_from(["hinge", "log_loss"]),
    n_paths=st.integers(1, 3),
)
@example(0, Stages(20, 3, 0.5, 0.0, 0.5, "informative"), "log_loss", 1)
def test_stages_are_those_of_the_reference(seed, stages, loss, n_paths):
    """Weights, stable sets, gravities, frequencies; what a stage purges stays 0."""
    X, y = problem(seed)
    assert_stages_match(X, y, seed, stages, loss=loss, n_paths=n_paths, epochs=2.0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("eta", [0.3, 0.7])
def test_ratios_that_tie_with_universal_gravity_vanish_whatever_their_rounding(eta, seed):
    """At a constant rate many weights are equal, each rounded in its own way: the same vanish as in
    the reference, and nothing of the size of a rounding error is left."""
    X, y = signs(seed)
    stages = Stages(20, 3, 0.3, 0.0, 0.0)
    assert_stages_match(X, y, seed, stages, epochs=10, schedule=Constant(eta))


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_long_shifts_are_swept(size):
    """The shift of universal gravity begins again at 0 before it costs digits, whatever the scale
    of the weights: after so many bursts, and no sooner."""
    X = sparse.csr_matrix(np.array([[5.0, 0.0]]))
    path = Path(
        as_examples(X, np.ones(1)), get_loss("hinge"), np.random.default_rng(0), universal=True
    )
    path.cells[1, 0] = 3000.0 * size
    shifts = []
    for step in range(1500):
        path.take_burst(np.full(1, 0.1), size, 0.5, step, Workers(1))
        shifts.append(path.shift)
    assert 1023 <= round(max(shifts) / size) <= 1024
    assert np.count_nonzero(np.diff(shifts) < 0) == 1
    assert path.weights()[1] == pytest.approx(1500.0 * size, rel=1e-12)


TOUCHES_LITTLE = """
import resource, sys
import numpy as np
from scipy import sparse
from lazynet.data.arrays import as_examples
from lazynet.losses import get_loss
from lazynet.engines.stabilised import Path
from lazynet.engines.threads import Workers

d = 20_000_000
columns = np.sort(np.random.default_rng(0).integers(0, d // 100, (100, 20)), axis=1).ravel()
X = sparse.csr_matrix((np.ones(2000), columns, np.arange(0, 2001, 20)), shape=(100, d))
problem = as_examples(X, np.ones(100)), get_loss("hinge"), np.random.default_rng(0)
paths = [Path(*problem, universal=universal) for universal in (True, False)]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
for burst in range(4):
    for path in paths:
        path.take_burst(np.ones(100), 0.01, 0.5, 0, Workers(1))
unit = 1 if sys.platform == "darwin" else 1024
print((peak() - before) * unit, path.cells.nbytes)
"""


@pytest.mark.slow
def test_a_burst_touches_only_what_its_rows_name():
    """Of 320 MB of weights next to nothing is ever paged in: O(K nonzeros), never O(d)."""
    pytest.importorskip("resource")
    ran = subprocess.run(
        [sys.executable, "-c", TOUCHES_LITTLE], capture_output=True, text=True, check=True
    )
    touched, weights = map(int, ran.stdout.split())
    assert touched < weights / 4


def test_a_row_that_vanishes_is_named():
    """Memory that changes under training."""
    X, y = problem(0)
    rows = X.copy()
    path = Path(as_examples(rows, y), get_loss("hinge"), np.random.default_rng(0), universal=True)
    rows.indices[:] = 10**6
    with pytest.raises(ValueError, match="cannot be read at step 7"):
        path.take_burst(np.ones(4), None, 0.5, 7, Workers(1))


# --- the formulas of the reference ---------------------------------------------------------------


@given(
    ratios=st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, 7.0]), min_size=1),
    beta=st.floats(0.001, 1.0),
)
def test_gravity_rejects_the_share_that_is_asked_for(ratios, beta):
    """At least beta at it, at most beta below it, ties included."""
    g = base_gravity(ratios, beta)
    n = len(ratios)
    assert sum(ratio <= g for ratio in ratios) >= beta * n - 1e-9
    assert sum(ratio < g for ratio in ratios) <= beta * n + 1e-9


@given(gamma=st.floats(-20, 20), beta0=st.floats(0.0, 0.99), x=st.floats(0, 1), y=st.floats(0, 1))
def test_the_rejection_rate_anneals(gamma, beta0, x, y):
    """0 for no features, beta0 for all of them, and rising in between."""
    assert rejected_share(0.0, beta0, gamma) == pytest.approx(0.0, abs=1e-12)
    assert rejected_share(1.0, beta0, gamma) == pytest.approx(beta0, abs=1e-12)
    low, high = sorted((x, y))
    assert rejected_share(low, beta0, gamma) <= rejected_share(high, beta0, gamma) + 1e-12


def test_without_rejection_the_paths_are_plain_sgd():
    """The model is the mean of n_paths runs of SGD if rejection_rate=0 and stability=0."""
    examples = examples_of(*problem(0, n=60, d=30, density=0.3))
    options = dict(burst_size=15.0, rejection_rate=0.0, stability=0.0, gravity="informative")
    model = DenseStabilised(30, n_paths=3, max_iter=5.0, **options)
    model.fit(examples, permutations(60, 1))
    assert len(model.stable) == 28  # two features never occur
    for path in range(3):
        twin = DenseReference(30, loss="hinge", schedule=lambda t: 1 / math.sqrt(t + 1))
        rows = permutations(60, 1)(path)
        for row in itertools.islice(rows, model.steps[path]):
            twin.step(*examples[row])
        np.testing.assert_allclose(model.paths[path], twin.weights, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(model.weights, np.mean(model.paths, axis=0))


def test_a_feature_that_was_not_informed_is_left_alone():
    """No gradient, no truncation; and with universal gravity everyone has one."""
    for gravity, expected in (("informative", 0.75), ("universal", 0.25)):
        model = DenseStabilised(2, gravity=gravity, n_paths=1)
        model.paths[0] = [1.0, 0.75]
        model.truncate(0, {0: 5}, 0.1, 5)
        assert model.paths[0] == [0.5, expected]


# --- the estimator ------------------------------------------------------------------------------


def data_with_few_features_that_matter(seed=0, n=2000, d=300):
    X = sparse.random(n, d, density=0.05, format="csr", random_state=seed)
    signs = np.where(np.arange(d) < 5, 1.0, -1.0) * (np.arange(d) < 10)
    return X, X @ signs > 0


def test_everything_purged_is_a_warning_and_a_zero_model():
    """The warning says what to change, and the model is zero."""
    X, y = data_with_few_features_that_matter(n=500)
    with pytest.warns(ConvergenceWarning, match=r"all features were purged.*Lower stability"):
        model = StabilisedSGDClassifier(
            gravity="informative",
            burst_size=20,
            rejection_rate=0.8,
            stability=0.85,
            random_state=0,
        ).fit(X, y)
    assert not model.coef_.any()
    assert not model.stable_.any()
    assert len(set(model.predict(X))) == 1


def test_weight_zero_is_a_step_that_informs_nobody():
    """Rows of weight 0 inform no feature; a weight multiplies the slopes of its row."""
    X, y = data_with_few_features_that_matter(n=300)
    weights = np.zeros(300)
    weights[7] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # not purged: never judged
        model = StabilisedSGDClassifier(max_iter=2, eta0=1.0, random_state=0)
        model.fit(X, y, sample_weight=weights)
    assert set(np.flatnonzero(~np.isnan(model.selection_frequency_))) == set(X[7].indices)
    doubled = clone(model).set_params(eta0=0.5, loss="hinge", rejection_rate=0, stability=0)
    np.testing.assert_allclose(
        clone(doubled).fit(X, y, np.full(300, 2.0)).coef_,
        clone(doubled).set_params(eta0=1.0).fit(X, y).coef_,
    )
