"""After every Newton step the weights are those of the reference, by rows and by columns."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from support.matrices import make_data

from lazynet.data.arrays import as_examples
from lazynet.losses import LOSSES
from lazynet.minimum import gram, screening
from lazynet.minimum.columns import Columns
from lazynet.minimum.gram import NewtonSteps, WorkingSet, rows_of_hessian, subsampled
from lazynet.minimum.iterate import at, proved
from lazynet.minimum.objective import MeanLoss
from lazynet.minimum.search import Search
from lazynet.penalties import ElasticNet
from lazynet.reference.newton import CURVATURES, DenseNewton

N, D, STEPS = 80, 12, 4
on_every_problem = pytest.mark.parametrize(
    ("loss", "fit_intercept", "weighted", "l2"),
    list(itertools.product(CURVATURES, (False, True), (False, True), (0.0, 0.05))),
)


class Problem:
    """Compact rows with a penalty; the reference, and zero weights with the best intercept."""

    def __init__(self, name, fit_intercept, weighted, l2, frequency=0.0):
        # With a small epsilon the Huber loss is a line at most rows, and steps are shortened.
        loss = replace(LOSSES[name], epsilon=1.5 if name == "huber" else 0.1)
        random = np.random.default_rng(0)
        X, y = make_data(N, D, n_classes=0, seed=0)
        y += np.std(y) * random.standard_normal(N)
        y = np.sign(y) if loss.margin else y / np.std(y)
        importances = random.choice([0.5, 1.0, 2.0], N) if weighted else None
        options = dict(fit_intercept=fit_intercept)
        mean = MeanLoss(as_examples(X, y, importances), y, importances, loss, **options)
        # No feature is a head, or each one.
        compact = screening.compact(mean, None, 0.0)
        self.compact = replace(compact, frequencies=np.full(D, frequency))
        zero = at(compact.mean, ElasticNet(l1=0.0, l2=l2), np.zeros(D), 0.0)
        l1 = 0.4 * float(abs(mean.correlations(zero.duals)).max())
        self.penalty, self.dense_rows = ElasticNet(l1=l1, l2=l2), X.toarray()
        self.reference = DenseNewton(
            self.dense_rows.tolist(), y.tolist(), loss=name, l1=l1, l2=l2, epsilon=loss.epsilon,
            importances=None if importances is None else importances.tolist(), **options,
        )  # fmt: skip
        if fit_intercept:
            self.reference.centre()
        self.start = self.proved(zero)

    def proved(self, here):
        return proved(self.compact.mean, self.penalty, here)

    def assert_reached(self, weights, intercept, allowed=0.0):
        """These are the weights and the intercept of the reference, up to rounding and ``allowed``.

        The search for the best intercept ends at a slope of 1e-11.
        """
        wanted = np.array(self.reference.weights)
        allowed = allowed + 1e-10 * abs(wanted).max()
        assert 0 < np.count_nonzero(wanted) < D
        np.testing.assert_array_equal(np.sign(weights), np.sign(wanted))
        assert (abs(weights - wanted) <= allowed).all()
        largest = abs(self.dense_rows).max()
        assert abs(intercept - self.reference.intercept) <= 1e-10 + largest * np.sum(allowed)


def error_of_heads(problem, here, there, chosen):
    """How far the rounding of a Hessian of floats moves the minimum of its model."""
    X = problem.dense_rows[:, chosen]
    Z = np.hstack([np.ones((N, 1)), X]) if problem.reference.fit_intercept else X
    H = Z.T @ (here.curvatures[:, None] * Z)
    # See test_gram.py.  The minimum of the rounded model, with the same signs, is off by the
    # inverse of the Hessian times what rounding changes of the slopes.
    lost = 2.0 * (N + 4) * 2.0**-24 * (abs(Z).T @ (here.curvatures[:, None] * abs(Z)))
    moved = (there.weights - here.weights)[chosen]
    kept, first = there.weights[chosen] != 0.0, len(H) - len(chosen)
    if first:
        moved, kept = np.append(there.intercept - here.intercept, moved), np.append(True, kept)
    H = H + problem.penalty.l2 * np.diag(np.arange(len(H)) >= first)
    shift, allowed = np.zeros(len(H)), np.zeros(D)
    shift[kept] = abs(np.linalg.inv(H[kept][:, kept])) @ (lost @ abs(moved))[kept]
    allowed[chosen] = 1.1 * shift[first:]
    return allowed


@on_every_problem
@pytest.mark.parametrize("heads", [False, True])
def test_steps_on_a_gram_matrix(loss, fit_intercept, weighted, l2, heads):
    """The sign pattern and ten digits after every step; with heads, the digits of floats."""
    problem, full_steps = Problem(loss, fit_intercept, weighted, l2, float(heads)), 0
    steps, now = NewtonSteps(problem.compact, problem.penalty, 0.0, 1.0), problem.start
    reference = problem.reference
    for _ in range(STEPS):
        chosen, last = steps.working_set(now), now
        now, db = steps.move(last, chosen)
        if db is not None and not fit_intercept and not heads:
            H = steps.hessian(last, chosen)[1:, 1:]
            d = (now.weights - last.weights)[chosen.features]
            assert steps.moved == pytest.approx(d @ H @ d, rel=1e-9, abs=1e-18)
        reference.step(chosen.features.tolist())
        if fit_intercept:
            reference.centre()
        if db is not None:
            error = error_of_heads(problem, last, now, chosen.features) if heads else 0.0
            problem.assert_reached(now.weights, now.intercept, error)
            full_steps += 1
        if db is None or heads:
            # The reference shortens and damps no step, and loses no digits of heads.
            reference.weights, reference.intercept = now.weights.tolist(), now.intercept
            steps.damping = 0.0
        now = problem.proved(now)
    assert full_steps >= 2


def test_margins_of_a_shortened_step_are_summed_anew():
    """Between two iterates they would be as wrong as those of the longer weights."""
    problem = Problem("log_loss", True, False, 0.0)
    mean, steps = problem.compact.mean, NewtonSteps(problem.compact, problem.penalty, 1e-4, 1.0)
    weights = np.random.default_rng(0).standard_normal(D)
    here = at(mean, problem.penalty, weights, 0.0)
    least = steps.move(problem.proved(here), steps.working_set(problem.proved(here)))[0]
    far = at(mean, problem.penalty, weights + 50.0 * (least.weights - weights), 0.0)
    between = steps.shortened(here, far, far.intercept - here.intercept)
    assert between.objective < here.objective < far.objective
    np.testing.assert_array_equal(between.margins, mean.margins(between.weights))


def test_a_step_keeps_a_bound_that_is_better_than_its_own():
    """The bound of the duals so far holds for all weights: the gap falls with the objective."""
    problem = Problem("log_loss", True, False, 0.0)
    steps, here = NewtonSteps(problem.compact, problem.penalty, 0.0, 1.0), problem.start
    chosen = steps.working_set(here)
    n_rows = len(here.duals)
    own = steps.step(here, chosen, n_rows)
    assert own.gap > 1e-6
    close = here.changed(gap=here.objective - own.objective + 1e-9)
    there = steps.step(close, chosen, n_rows)
    assert there.gap == pytest.approx(1e-9, abs=1e-14)
    assert there.proof is close.proof


@pytest.mark.parametrize("n_weights", [9, 600])
def test_not_all_features_join_at_once(n_weights):
    """Those with the largest |u_j| join: 512, or as many as there are weights."""
    random, d = np.random.default_rng(0), 2000
    problem = Problem("log_loss", False, False, 0.0)
    compact = replace(problem.compact, frequencies=random.random(d))
    u, weights = random.standard_normal(d), np.zeros(d)
    weights[random.permutation(d)[:n_weights]] = 1.0
    here = problem.start.changed(weights=weights, correlations=u, gap=0.0)
    chosen = NewtonSteps(compact, ElasticNet(l1=1e-3), 1e-6, 1.0).working_set(here)
    joined = np.setdiff1d(chosen.features, np.flatnonzero(weights))
    rest = np.setdiff1d(np.flatnonzero(weights == 0.0), joined)
    assert chosen.n_weights == n_weights
    assert len(joined) == max(512, n_weights)
    assert abs(u[joined]).min() >= abs(u[rest]).max()


def test_the_likely_features_are_a_quarter_of_those_that_may_have_a_weight():
    """The largest |u_j|, of those above l1."""
    u = np.random.default_rng(0).standard_normal(2000)
    problem, penalty = Problem("log_loss", False, False, 0.0), ElasticNet(l1=0.5)
    compact = replace(problem.compact, frequencies=np.full(2000, 0.5))
    search = Search(compact.mean, compact, Columns(compact.mean), penalty, 1e-6, 1.0, 0)
    zero = problem.start.changed(weights=np.zeros(2000), correlations=u)
    largest = np.argsort(-abs(u))[: np.count_nonzero(abs(u) > 0.5) // 4]
    assert set(search._likely(zero).features) == set(largest)


@on_every_problem
def test_a_step_on_columns(loss, fit_intercept, weighted, l2):
    """The same step, or its first half or quarter, before the intercept moves on."""
    problem = Problem(loss, fit_intercept, weighted, l2)
    reference, first = problem.reference, problem.reference.intercept
    columns = Columns(problem.compact.mean)
    columns.start(problem.penalty, problem.start)
    columns.set.join(np.arange(D))
    weights = np.empty(D)
    columns.set.model(0.0)
    while not columns.set.descend(1e-15):
        pass
    length = columns.set.search()
    assert length >= 0.25
    intercept = columns.set.read(weights, np.empty(N))
    reference.step(range(D))
    reference.weights = [length * weight for weight in reference.weights]
    reference.intercept = first + length * (reference.intercept - first)
    problem.assert_reached(weights, intercept)


def test_a_step_on_columns_that_are_almost_the_same():
    """100 sweeps are enough, with conjugate directions between them."""
    random, l1 = np.random.default_rng(0), 1e-2
    X = random.standard_normal((N, 1)) + 0.1 * random.standard_normal((N, D))
    y = X @ random.standard_normal(D)
    rows, loss = as_examples(sparse.csr_matrix(X), y, None), LOSSES["squared_error"]
    mean = screening.compact(MeanLoss(rows, y, None, loss, fit_intercept=False), None, 0.0).mean
    penalty, w = ElasticNet(l1=l1), np.zeros(D)
    columns = Columns(mean)
    columns.start(penalty, proved(mean, penalty, at(mean, penalty, w, 0.0)))
    columns.set.join(np.arange(D))
    columns.set.model(0.0)
    columns.set.descend(1e-13, 100)
    assert columns.set.search() == 1.0
    columns.set.read(w, np.empty(N))
    u = X.T @ (y - X @ w) / N
    assert 0 < np.count_nonzero(w) < D
    np.testing.assert_allclose(np.clip(u, -l1, l1), u, rtol=0, atol=1e-9)
    np.testing.assert_allclose(u[w != 0.0], l1 * np.sign(w[w != 0.0]), rtol=0, atol=1e-9)


@on_every_problem
def test_the_estimates_of_a_model_on_columns(loss, fit_intercept, weighted, l2):
    """The gap by the slopes at the weights, the largest move of a visit, sum |w|, and the slope."""
    problem = Problem(loss, fit_intercept, weighted, l2)
    steps = NewtonSteps(problem.compact, problem.penalty, 0.0, 1.0)
    here, _ = steps.move(problem.start, steps.working_set(problem.start))
    w, l1, X = here.weights, problem.penalty.l1, problem.dense_rows
    columns = Columns(problem.compact.mean)
    columns.start(problem.penalty, here)
    columns.set.join(np.flatnonzero(w == 0.0))
    u = problem.compact.mean.correlations(here.duals)
    over = np.maximum(abs(u) - l1, 0.0)
    gap = l1 * abs(w).sum() - u @ w + 0.5 * l2 * w @ w
    if l2:
        gap += over @ over / (2.0 * l2)
    elif over.any():
        gap += (1.0 - l1 / abs(u).max()) * (u @ w)
    pull = here.curvatures @ X**2 + l2
    aim = w + (u - l2 * w) / pull
    moves = abs(np.sign(aim) * np.maximum(abs(aim) - l1 / pull, 0.0) - w) * pull
    expected = gap, moves.max(), abs(w).sum(), -here.rise if fit_intercept else 0.0
    assert 0 < np.count_nonzero(w) < D
    np.testing.assert_allclose(columns.set.model(0.0), expected, rtol=1e-9, atol=1e-11)
    if not l2 and over.any():
        # An estimate below the target is replaced by the gap.
        gap = here.objective + problem.compact.mean.conjugate(here.duals, l1 / abs(u).max())[0]
        assert columns.set.model(np.inf)[0] == pytest.approx(gap, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_subsampled_step_has_about_the_hessian_of_all_rows(weighted, monkeypatch):
    """All rows count if no second step will follow, if a feature is rare, or if few are chosen."""
    n_rows, random = 12_000, np.random.default_rng(0)
    X = sparse.random(n_rows, D, 0.4, "csr", random_state=0)
    y = random.choice([-1.0, 1.0], n_rows)
    importances = random.choice([0.0, 1.0, 2.0], n_rows) if weighted else None
    mean = MeanLoss(
        as_examples(X, y, importances), y, importances, LOSSES["log_loss"], fit_intercept=True
    )
    compact, penalty = screening.compact(mean, None, 0.0), ElasticNet(l1=1e-3)
    here = at(compact.mean, penalty, random.standard_normal(D), 0.0)
    close = NewtonSteps(compact, penalty, 1e-6, 1.0)

    def first(n, of=compact):
        found = of.frequencies[:n]
        features = np.arange(n, dtype=np.int32)
        return WorkingSet(features, 0, n, found.sum(), found.sum(), found.min())

    chosen = first(D)
    some = subsampled(here, rows_of_hessian(close, here, chosen, True))
    assert np.count_nonzero(some.curvatures) <= n_rows // 4
    assert some.curvatures.sum() == pytest.approx(here.curvatures.sum())
    taken = some.curvatures > 0.0
    assert np.ptp(some.curvatures[taken] / here.curvatures[taken]) < 1e-12
    whole, part = (close.hessian(each, chosen) for each in (here, some))
    assert 0.0 < np.linalg.norm(whole - part) < 0.1 * np.linalg.norm(whole)
    far = NewtonSteps(compact, penalty, 1e-2, 1.0)
    assert rows_of_hessian(far, here, chosen, True) == n_rows
    assert rows_of_hessian(close, here, first(D // 4), True) == n_rows
    rare = replace(compact, frequencies=np.full(D, 0.002))
    steps = NewtonSteps(rare, penalty, 1e-6, 1.0)
    assert rows_of_hessian(steps, here, first(D, rare), True) == n_rows
    assert subsampled(here, n_rows) is here
    # Without a sample, from zero weights or after a long step, if all rows have many products.
    monkeypatch.setattr(gram, "_MANY_PRODUCTS", n_rows * D**2 - 1)
    zero = at(compact.mean, penalty, np.zeros(D), 0.0)
    assert rows_of_hessian(close, zero, chosen, False) == n_rows // 4
    assert rows_of_hessian(close, here, chosen, False) == n_rows
    close.moved = 0.11
    assert rows_of_hessian(close, here, chosen, False) == n_rows // 4
    assert rows_of_hessian(close, here, first(D - 1), False) == n_rows
    monkeypatch.setattr(gram, "_ROWS_PER_FEATURE", 4000 // D)
    assert rows_of_hessian(close, here, chosen, False) == 4000 // D * D
