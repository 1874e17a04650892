"""A fit from a source of chunks gives the bits of a fit from one matrix in the same order."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from support.matrices import categories, noisy_documents, source_of
from support.portrait import portrait

from lazynet import FoBoS, LazyNetClassifier, LazyNetRegressor
from lazynet.data import Chunks, Shuffled, SvmlightFile, cached
from lazynet.engines.undo import Undo
from lazynet.estimators import online_model

N, D = 300, 40
MODELS = {
    "nothing set": {},
    "own sizes": dict(standardize=True, l2=1e-3),
    "as passed": dict(standardize=False),
    "later epochs": dict(max_iter=7, tol=None),
    "fobos": dict(rule="fobos", l1=1e-3),
    "a rate": dict(rule=FoBoS(eta0=0.3), l2=1e-3),
    "no rate": dict(rule=FoBoS("power")),
    "sgd": dict(rule="sgd", l1=1e-4),
    "rda": dict(rule="rda"),
    "ftrl": dict(rule="ftrl", l1=1e-3),
    "average": dict(rule=FoBoS(eta0=0.3, average=True), tol=None),
    "suffix": dict(rule=FoBoS(eta0=0.3, average="suffix"), tol=None),
    "tables": dict(rule=FoBoS(eta0=0.3, storage="tables"), l1=1e-3),
    "positive": dict(rule=FoBoS(positive=True)),
}
EVERY_MODEL = pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))


def rows_and_scores(seed=0, n_targets=1):
    """Rows whose first three features are full, the others sparse; and sums of features."""
    X = sparse.random(N, D, density=0.2, format="csr", random_state=seed)
    scores = X @ np.random.default_rng(seed).standard_normal((D, n_targets))
    scores += 0.3 * np.random.default_rng(seed + 1).standard_normal(scores.shape)
    full = X[:, :3].toarray() + np.array([-2.0, 0.5, 9.0])
    return sparse.hstack([full, X[:, 3:]], format="csr"), scores


def same_model(left, right):
    assert portrait(left.coef_) == portrait(right.coef_)
    np.testing.assert_array_equal(left.intercept_, right.intercept_)
    assert (left.t_, left.n_iter_, left.best_epoch_) == (right.t_, right.n_iter_, right.best_epoch_)
    assert (left.l1_, left.eta0_, left.auto_) == (right.l1_, right.eta0_, right.auto_)
    assert (left.units_ is None) == (right.units_ is None)
    if left.units_ is not None:
        np.testing.assert_array_equal(left.units_.sizes, right.units_.sizes)
        np.testing.assert_array_equal(left.units_.means, right.units_.means)
    for one, other in zip(left.history_, right.history_, strict=True):
        assert one["progressive_loss"] == other["progressive_loss"]


@EVERY_MODEL
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_gets_the_same_bits(options):
    """Two classes, three, numbers and labels, with weights of rows, for any chunks."""
    X, scores = rows_and_scores(n_targets=3)
    weights = np.random.default_rng(2).random(N) + 0.5
    for kind, y, factor in (
        (LazyNetClassifier, (scores[:, 0] > 0).astype(float), 10.0),
        (LazyNetClassifier, scores.argmax(axis=1).astype(float), 10.0),
        (LazyNetRegressor, 3.0 * scores[:, 0] + 5.0, 1.0),
        (LazyNetClassifier, sparse.csr_matrix(scores > 0.5, dtype=np.int8), 10.0),
    ):
        model = kind(**{"max_iter": 4, **options}, shuffle=False)
        whole = clone(model).fit(factor * X, y, weights)
        for rows in (7, 2 * N):
            same_model(clone(model).fit(source_of(factor * X, y, weights, rows)), whole)


@pytest.mark.parametrize("rows_and_classes", [noisy_documents, categories])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_restart_is_that_in_memory(rows_and_classes, fit_intercept):
    """For any chunks."""
    X, y = rows_and_classes()
    weights = np.random.default_rng(2).random(len(y)) + 0.5
    model = LazyNetClassifier(shuffle=False, fit_intercept=fit_intercept)
    whole = clone(model).fit(X, y, weights)
    assert whole.auto_[-1].name == "restart"
    for rows in (70, 2000):
        same_model(clone(model).fit(source_of(X, y.astype(float), weights, rows)), whole)


def test_a_file_and_its_cache(tmp_path):
    """Text, parsed in every epoch or once, and shuffled in windows."""
    X, scores = rows_and_scores()
    y = np.where(scores[:, 0] > 0, 1.0, -1.0)
    ordered = X.copy()
    ordered.sort_indices()
    lines = []
    for row, target in zip(ordered, y, strict=True):
        entries = zip(row.indices + 1, row.data.tolist(), strict=True)
        lines.append(" ".join([str(target), *(f"{column}:{value!r}" for column, value in entries)]))
    (tmp_path / "rows.svm").write_text("\n".join(lines))
    source = SvmlightFile(tmp_path / "rows.svm", zero_based=False, n_features=D)
    model = LazyNetClassifier(max_iter=4, shuffle=False)
    whole = clone(model).fit(ordered, y)
    same_model(clone(model).fit(source), whole)
    same_model(clone(model).fit(cached(source, tmp_path / "kept.rows")), whole)
    shuffled = [
        clone(model).fit(Shuffled(cached(source, tmp_path / "kept.rows"), window=50, seed=s))
        for s in (0, 0, 1)
    ]
    same_model(shuffled[0], shuffled[1])
    assert (shuffled[0].coef_ != shuffled[2].coef_).any()


def test_a_callback_knows_what_costs_no_pass():
    X, scores = rows_and_scores()
    y = (scores[:, 0] > 0).astype(float)
    epochs = []

    def callback(epoch):
        epochs.append((epoch.t, epoch.progressive_loss, epoch.coef.shape))
        with pytest.raises(ValueError, match="source of chunks"):
            _ = epoch.objective
        return len(epochs) == 2

    model = LazyNetClassifier().fit(source_of(X, y), callback=callback)
    assert [t for t, _, _ in epochs] == [N, 2 * N]
    assert model.n_iter_ == 2


def test_a_fit_that_goes_on():
    """warm_start, partial_fit and initial weights as in memory; and the warning at the end."""
    X, scores = rows_and_scores()
    y = (scores[:, 0] > 0).astype(float)
    model = LazyNetClassifier(
        max_iter=2, shuffle=False, warm_start=True, rule=FoBoS(eta0=0.1), tol=None
    )
    streamed = clone(model).fit(source_of(X, y)).fit(source_of(X, y, rows=9)).partial_fit(X, y)
    same = clone(model).fit(X, y).fit(X, y).partial_fit(X, y)
    np.testing.assert_array_equal(streamed.coef_, same.coef_)
    start = dict(coef_init=np.ones((1, D)), intercept_init=np.ones(1))
    np.testing.assert_array_equal(
        clone(model).fit(source_of(X, y), **start).coef_, clone(model).fit(X, y, **start).coef_
    )
    with pytest.warns(ConvergenceWarning, match="still fell"):
        LazyNetRegressor(max_iter=2, rule=FoBoS(eta0=1e-3)).fit(source_of(X, 100 + scores[:, 0]))


# --- classes that weigh the same, and rows that are held out --------------------------------------


class Uncounted(Chunks):
    """A source of somebody's own, which knows its classes and has not counted them."""

    def _find_facts(self):
        return replace(super()._find_facts(), counts=None)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_balanced_classes_are_counted(n_classes):
    """The weights of the rows do not change the counts; whoever knows the counts is not asked."""
    X, scores = rows_and_scores(n_targets=3)
    y = np.digitize(scores[:, 0], [0.5, 1.5][: n_classes - 1]).astype(float)
    weights = np.random.default_rng(2).random(N) + 0.5
    model = LazyNetClassifier(max_iter=3, tol=None, shuffle=False, class_weight="balanced")
    whole = clone(model).fit(X, y, weights)
    for rows in (7, 2 * N):
        source = source_of(X, y, weights, rows)
        same_model(clone(model).fit(source), whole)
        same_model(clone(model).fit(Uncounted(source._chunks)), whole)
        assert source.facts().counts == tuple(np.bincount(y.astype(int)))


def test_chunks_without_a_row_that_counts():
    """A chunk whose weights are all 0 is as good as any; rows that are all 0 teach nothing."""
    X, scores = rows_and_scores()
    y = (scores[:, 0] > 0).astype(float)
    weights = (np.arange(N) >= 100).astype(float)
    model = LazyNetClassifier(max_iter=2, shuffle=False, tol=None, l1=1e-3)
    whole = clone(model).fit(X, y, weights)
    for rows in (1, 50, N):
        same_model(clone(model).fit(source_of(X, y, weights, rows)), whole)
    for Estimator in (LazyNetClassifier, LazyNetRegressor):
        with pytest.raises(ValueError, match="must not be zero for every row"):
            Estimator().fit(source_of(X, y, np.zeros(N)))


def test_a_pass_of_partial_fit_copies_the_model_once(monkeypatch):
    """The engines of the pass are copies, so that no chunk copies them again to be undone."""
    X, y = noisy_documents()
    model = LazyNetClassifier().partial_fit(source_of(X, y), classes=np.unique(y))
    monkeypatch.delattr(Undo, "__init__")
    monkeypatch.setattr(online_model, "ROWS", 16)
    model.partial_fit(source_of(X, y))


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ({}, 2),
        ({"l1": 1e-3}, 2),
        ({"l1": 1e-3, "rule": FoBoS(eta0=0.1)}, 1),
        ({"standardize": False}, 1),
        ({"standardize": False, "l1": 1e-3, "rule": FoBoS(eta0=0.1)}, 0),
        ({"standardize": False, "l1": 1e-3, "loss": "hinge"}, 0),
    ],
    ids=str,
)
def test_statistics_need_a_pass_of_their_own(options, passes):
    """Over the facts and the epochs: one for the units of features, one for l1 and a restart."""
    X, y = categories()
    made, source = [], source_of(X, y.astype(float))
    source.facts()
    source._chunks = lambda chunks=source._chunks: made.append(1) or chunks()
    LazyNetClassifier(max_iter=2, tol=None, **options).fit(source)
    assert len(made) == 1 + passes + 2, "the first chunk is read to learn the number of outputs"
