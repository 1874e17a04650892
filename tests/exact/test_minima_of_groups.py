"""Penalties of whole rows of weights: FoBoS comes to the minimum that another method finds.

The other method is accelerated proximal gradient on the whole objective (FISTA, Beck & Teboulle
2009), written here with NumPy alone.

The tolerance is what FoBoS can reach with the rates 1 / (l2 (t0 + t)).  Near the minimum the
squared distance d of the weights in a direction of the curvature h >= l2 follows
d <- (1 - h / (l2 t))^2 d + G^2 / (l2 t)^2, where G^2 is the mean squared gradient of a row, which
is the noise of a step.  After T steps d is G^2 / (l2 (2 h - l2) T), and the objective is h d / 2
above its minimum: at most G^2 / (2 l2 T), which it is for h = l2.  Epochs in which every row comes
once have less noise than this.
"""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logsumexp, softmax
from support import Evaluated

from lazynet import LazyNetClassifier, LazyNetRegressor, Pegasos
from lazynet.engines.groups import GROUPED_OUTPUTS, OutputsInL2Groups, OutputsInMaxGroups
from lazynet.engines.outputs import OutputsOnClock
from lazynet.engines.wear import Wear

N, D, K = 60, 12, 4
EPOCHS = 300
L2 = 0.1
#: norm -> l1, so strong that some rows are 0 at the minimum, and some are not
L1 = {"l2": 0.03, "max": 0.06}
EVERY_NORM = pytest.mark.parametrize("norm", L1)


# --- the objective and another method ----------------------------------------------------------


def log_loss(P, Y):
    """The sum over the outputs of log(1 + exp(-y p)), and its slopes in p."""
    return np.logaddexp(0.0, -Y * P).sum(axis=1), -Y * expit(-Y * P)


def squared_error(P, Y):
    """The sum over the outputs of (p - y)^2 / 2, and its slopes in p."""
    return ((P - Y) ** 2).sum(axis=1) / 2.0, P - Y


def of_the_softmax(P, Y):
    """log(sum of exp p) less the p of the class, and its slopes in p; Y is 1 at the class."""
    return logsumexp(P, axis=1) - (P * (Y > 0)).sum(axis=1), softmax(P, axis=1) - (Y > 0)


def l2_prox(row, a):
    """The row with its Euclidean norm less a."""
    size = np.linalg.norm(row)
    return row * max(1.0 - a / size, 0.0) if size else row


def max_prox(row, a):
    """The row less its projection onto the vectors whose sizes add up to a (Moreau)."""
    sizes = np.sort(np.abs(row))[::-1]
    if sizes.sum() <= a:
        return np.zeros_like(row)
    level = ((np.cumsum(sizes) - a) / np.arange(1, len(row) + 1)).max()
    return np.clip(row, -level, level)


PROXES = {"l2": l2_prox, "max": max_prox}


class Objective:
    """mean loss + l1 sum_j ||row j|| + (l2 / 2) sum_j ||row j||_2^2.

    The weights W have a row per output; the intercepts, without a penalty, are the last column.
    """

    def __init__(self, X, Y, loss, norm):
        self.X, self.Y, self.loss, self.norm, self.l1 = X, Y, loss, norm, L1[norm]
        self.penalised = (X != 1.0).any(axis=0)

    def smooth(self, W):
        """The mean loss with the l2 penalty, and its gradient."""
        losses, slopes = self.loss(self.X @ W.T, self.Y)
        inner = W * self.penalised
        gradient = slopes.T @ self.X / len(self.X) + L2 * inner
        return losses.mean() + L2 / 2.0 * (inner**2).sum(), gradient

    def __call__(self, W):
        order = {"l2": 2, "max": np.inf}[self.norm]
        norms = np.linalg.norm(W[:, self.penalised], order, axis=0)
        return self.smooth(W)[0] + self.l1 * norms.sum()

    def tolerance(self, W):
        """How far above the minimum W the objective is on average after all steps of FoBoS."""
        slopes = self.loss(self.X @ W.T, self.Y)[1]
        squares = (slopes**2).sum(axis=1) * (self.X**2).sum(axis=1)
        return squares.mean() / (2.0 * L2 * N * EPOCHS)

    def minimise(self, prox=None):
        """FISTA: the weights, and how far the last step has moved them."""
        prox = PROXES[self.norm] if prox is None else prox
        L = np.linalg.norm(self.X, 2) ** 2 / len(self.X) + L2
        ratio = np.sqrt(L2 / L)
        W = ahead = np.zeros((self.Y.shape[1], self.X.shape[1]))
        for _ in range(1500):
            step = ahead - self.smooth(ahead)[1] / L
            new = step.copy()
            for j in np.flatnonzero(self.penalised):
                new[:, j] = prox(step[:, j], self.l1 / L)
            ahead = new + (1.0 - ratio) / (1.0 + ratio) * (new - W)
            moved, W = np.abs(new - W).max(), new
        return W, moved


# --- what is fitted ----------------------------------------------------------------------------

#: kind -> the loss, the estimator, its options, and y of the scores of all outputs
KINDS = {
    "labels": (log_loss, LazyNetClassifier, {}, lambda scores: (scores > 0.2).astype(int)),
    "classes": (log_loss, LazyNetClassifier, {}, lambda scores: scores.argmax(axis=1)),
    "softmax": (
        of_the_softmax, LazyNetClassifier, dict(multi_class="multinomial"),
        lambda scores: scores.argmax(axis=1),
    ),
    "targets": (squared_error, LazyNetRegressor, {}, lambda scores: scores),
}  # fmt: skip
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
TWO_KINDS = pytest.mark.parametrize("kind", ["softmax", "targets"])


class Fit:
    """A model after its epochs, and its objective by the definition."""

    def __init__(self, kind, norm, fit_intercept=False, **changes):
        loss, estimator, options, y_of = KINDS[kind]
        rng = np.random.default_rng(0)
        X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.5)
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
        # Few features matter.
        scores = X @ (rng.standard_normal((D, K)) * (np.arange(D) < 5)[:, None])
        y = y_of(scores)
        if estimator is LazyNetClassifier:
            Y = 2.0 * (y if y.ndim == 2 else y[:, None] == np.arange(K)) - 1.0
        else:
            Y = y
        columns = np.column_stack([X, np.ones(N)]) if fit_intercept else X
        self.objective = Objective(columns, Y, loss, norm)
        given = dict(
            group=norm, l1=L1[norm], l2=L2, rule="fobos", schedule=Pegasos(L2, t0=1.0 / L2),
            fit_intercept=fit_intercept, max_iter=EPOCHS, tol=None, random_state=0,
            **options,
        )  # fmt: skip
        self.seen = Evaluated()
        self.model = estimator(**(given | changes)).fit(sparse.csr_matrix(X), y, callback=self.seen)
        self.W = self.model.coef_
        if fit_intercept:
            self.W = np.column_stack([self.W, self.model.intercept_])

    def above(self):
        """How far the objective is above its minimum, by what FoBoS can reach."""
        best, moved = self.objective.minimise()
        assert moved < 1e-13
        return (self.objective(self.W) - self.objective(best)) / self.objective.tolerance(best)


@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "intercept"])
@EVERY_NORM
@EVERY_KIND
def test_groups_come_to_the_minimum(kind, norm, fit_intercept):
    """Labels, classes, several targets: as near to the minimum as the noise of the steps lets."""
    fit = Fit(kind, norm, fit_intercept)
    assert 0.0 <= fit.above() <= 1.0
    assert fit.seen.lines[-1]["objective"] == pytest.approx(fit.objective(fit.W), rel=1e-12)


@EVERY_NORM
@EVERY_KIND
def test_the_minimum_is_one_of_groups(kind, norm):
    """Some rows are 0 and some are not; with the largest weight, some weights are as large."""
    best, _ = Fit(kind, norm, max_iter=1).objective.minimise()
    used = best[:, (best != 0.0).any(axis=0)]
    assert 0 < used.shape[1] < D
    largest = np.abs(used).max(axis=0)
    ties = (np.abs(np.abs(used) - largest) < 1e-9).sum(axis=0)
    assert (ties == 1).all() if norm == "l2" else (ties > 1).any()


# --- the tests are tested ----------------------------------------------------------------------


def of_every_weight(row, a):
    """Shrinks every weight alone."""
    return np.sign(row) * np.maximum(np.abs(row) - a, 0.0)


def of_the_first_weight(row, a):
    """Shrinks the row as the norm of its first weight asks for."""
    size = abs(row[0])
    return row * max(1.0 - a / size, 0.0) if size else row


def without_a_threshold(row, a):
    """Shrinks by a share of the norm: no row becomes 0."""
    return row / (1.0 + a)


def of_the_largest_alone(row, a):
    """Takes all of the mass off the largest weight."""
    level = max(np.abs(row).max() - a, 0.0)
    return np.clip(row, -level, level)


def of_the_mean(row, a):
    """Takes the norm for the root of the mean square."""
    return l2_prox(row, a / np.sqrt(len(row)))


BROKEN_PROXES = [
    *(("l2", each) for each in (of_the_first_weight, of_the_mean, max_prox)),
    *(("max", each) for each in (of_the_largest_alone, l2_prox)),
    *((norm, each) for norm in L1 for each in (of_every_weight, without_a_threshold)),
]


@pytest.mark.parametrize(("norm", "prox"), BROKEN_PROXES)
@TWO_KINDS
def test_a_broken_prox_comes_to_another_point(kind, norm, prox):
    """The tolerance tells the minimum from the point to which a broken prox would lead."""
    fit = Fit(kind, norm, max_iter=1)
    fit.W = fit.objective.minimise(prox)[0]
    assert fit.above() > 3.0


class WeightByWeight(OutputsOnClock):
    """The engine without groups."""

    def __init__(self, n_features, n_outputs, rule, dtype="float64", wear=None):
        super().__init__(n_features, n_outputs, dtype, wear)


class SweepsTheClockAlone(OutputsInL2Groups):
    """Sets the clock to its start, often, and leaves the rows as they are."""

    def __init__(self, n_features, n_outputs, rule, dtype):
        super().__init__(
            n_features, n_outputs, rule, dtype, Wear(cushion=0.01, largest_cushion=0.01)
        )

    def _sweep(self):
        self.clocks[0], self.clocks[1:] = 1.0, 0.0


@pytest.mark.parametrize(
    ("norm", "kind_of_engine"),
    [
        ("l2", WeightByWeight),
        ("max", WeightByWeight),
        ("l2", OutputsInMaxGroups),
        ("max", OutputsInL2Groups),
        ("l2", SweepsTheClockAlone),
    ],
)
@TWO_KINDS
def test_a_broken_engine_comes_to_another_point(kind, norm, kind_of_engine, monkeypatch):
    """The estimator with another engine fails the test of the minimum."""
    monkeypatch.setitem(GROUPED_OUTPUTS, norm, kind_of_engine)
    assert Fit(kind, norm).above() > 3.0
