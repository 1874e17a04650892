"""A fit from a source of chunks gives the bits of a fit from one matrix in the same order."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lazynet import LazyNetClassifier, LazyNetRegressor
from lazynet.streams import Cached, Chunks, Shuffled, SvmlightFile

N, D = 300, 40
CHUNKS = pytest.mark.parametrize("rows", [1, 7, 64, N, 10 * N])
MODELS = {
    "nothing set": {},
    "fobos": dict(rule="fobos", l1=1e-3),
    "a rate": dict(eta0=0.3, l2=1e-3),
    "no rate": dict(schedule="power"),
    "sgd": dict(rule="sgd", l1=1e-4),
    "rda": dict(rule="rda"),
    "ftrl": dict(rule="ftrl", l1=1e-3),
    "average": dict(eta0=0.3, average=True, tol=None),
    "suffix": dict(eta0=0.3, average="suffix", tol=None),
    "batches": dict(eta0=0.3, batch_size=8),
    "adaptive": dict(schedule="adaptive", eta0=1.0, n_iter_no_change=1),
    "tables": dict(engine="tables", eta0=0.3, l1=1e-3),
    "positive": dict(rule="fobos", positive=True),
}
EVERY_MODEL = pytest.mark.parametrize("options", MODELS.values(), ids=list(MODELS))


def rows_and_scores(seed=0, n_targets=1):
    X = sparse.random(N, D, density=0.2, format="csr", random_state=seed)
    scores = X @ np.random.default_rng(seed).standard_normal((D, n_targets))
    return X, scores + 0.3 * np.random.default_rng(seed + 1).standard_normal(scores.shape)


def source_of(X, y, weights=None, rows=50):
    """The rows in chunks of ``rows`` rows."""

    def chunks():
        for start in range(0, X.shape[0], rows):
            some = slice(start, start + rows)
            part = X[some], y[some]
            yield part if weights is None else (*part, weights[some])

    return Chunks(chunks)


def same_model(left, right):
    np.testing.assert_array_equal(left.coef_, right.coef_)
    np.testing.assert_array_equal(left.intercept_, right.intercept_)
    assert (left.t_, left.n_iter_, left.best_epoch_) == (right.t_, right.n_iter_, right.best_epoch_)
    assert (left.l1_, left.eta0_) == (right.l1_, right.eta0_)
    for one, other in zip(left.history_, right.history_, strict=True):
        assert one["progressive_loss"] == other["progressive_loss"]


@EVERY_MODEL
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_classifier_gets_the_same_bits(options):
    """Two classes and three, with weights of rows, for any chunks."""
    X, scores = rows_and_scores(n_targets=3)
    weights = np.random.default_rng(2).random(N) + 0.5
    X.data[:] = X.data * 10
    for y in ((scores[:, 0] > 0).astype(float), scores.argmax(axis=1).astype(float)):
        model = LazyNetClassifier(**{"max_iter": 4, **options}, shuffle=False)
        whole = clone(model).fit(X, y, weights)
        for rows in (7, 2 * N):
            same_model(clone(model).fit(source_of(X, y, weights, rows)), whole)


@EVERY_MODEL
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_regressor_gets_the_same_bits(options):
    """With an l2 a fit in memory, too, learns from the features as they are."""
    X, scores = rows_and_scores()
    y = 3.0 * scores[:, 0] + 5.0
    model = LazyNetRegressor(**{"max_iter": 4, "l2": 1e-6, **options}, shuffle=False)
    whole = clone(model).fit(X, y)
    for rows in (7, 2 * N):
        same_model(clone(model).fit(source_of(X, y, rows=rows)), whole)


@CHUNKS
def test_labels_get_the_same_bits(rows):
    """Labels in columns, and the form of the predictions."""
    X, scores = rows_and_scores(n_targets=9)
    Y = sparse.csr_matrix(scores > 0.5, dtype=np.int8)
    model = LazyNetClassifier(max_iter=3, tol=None, shuffle=False, l1=1e-4)
    whole, streamed = clone(model).fit(X, Y), clone(model).fit(source_of(X, Y, rows=rows))
    np.testing.assert_array_equal(streamed.coef_.toarray(), whole.coef_.toarray())
    assert sparse.issparse(streamed.predict(X))


def test_blocks_of_many_rows(monkeypatch):
    """Chunks and blocks end at other rows than the chunks of the source."""
    from lazynet import surveys, training
    from lazynet.estimators import from_sources

    monkeypatch.setattr(training, "_LARGEST_CHUNK", 32)
    monkeypatch.setattr(surveys, "ROWS_OF_A_BLOCK", 16)
    monkeypatch.setattr(from_sources, "ROWS_OF_A_BLOCK", 16)
    X, scores = rows_and_scores()
    y = np.where(scores[:, 0] > 0, 1.0, -1.0)
    model = LazyNetClassifier(max_iter=3, shuffle=False)
    whole = clone(model).fit(X, y)
    for rows in (5, 16, 100):
        same_model(clone(model).fit(source_of(X, y, rows=rows)), whole)
    numbers = LazyNetRegressor(max_iter=3, shuffle=False, l2=1e-9)
    whole = clone(numbers).fit(X, scores[:, 0])
    same_model(clone(numbers).fit(source_of(X, scores[:, 0], rows=7)), whole)


def test_a_file_and_its_cache(tmp_path):
    """Text, parsed in every epoch or once, and shuffled in windows."""
    X, scores = rows_and_scores()
    lines = []
    for i in range(N):
        row = slice(X.indptr[i], X.indptr[i + 1])
        order = np.argsort(X.indices[row])
        pairs = zip(X.indices[row][order] + 1, X.data[row][order], strict=True)
        label = 1 if scores[i, 0] > 0 else -1
        lines.append(f"{label} " + " ".join(f"{j}:{x!r}" for j, x in pairs))
    (tmp_path / "rows.svm").write_text("\n".join(lines).replace("np.float64(", "").replace(")", ""))
    source = SvmlightFile(tmp_path / "rows.svm", zero_based=False, n_features=D)
    model = LazyNetClassifier(max_iter=4, shuffle=False)
    ordered = X.copy()
    ordered.sort_indices()
    whole = clone(model).fit(ordered, np.where(scores[:, 0] > 0, 1.0, -1.0))
    same_model(clone(model).fit(source), whole)
    same_model(clone(model).fit(Cached(source)), whole)
    shuffled = [clone(model).fit(Shuffled(Cached(source), window=50, seed=s)) for s in (0, 0, 1)]
    same_model(shuffled[0], shuffled[1])
    assert (shuffled[0].coef_ != shuffled[2].coef_).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(early_stopping=True), "early_stopping must be False"),
        (dict(record_objective=True), "record_objective must be False"),
        (dict(rule="saga"), "cannot train with rule=SAGA"),
        (dict(class_weight="balanced"), "class_weight='balanced'"),
        (dict(outputs_at_once=3), "outputs_at_once must be None"),
    ],
)
def test_what_does_not_go_with_a_source(options, message):
    X, scores = rows_and_scores()
    y = (scores[:, 0] > 0).astype(float)
    with pytest.raises(ValueError, match=message):
        LazyNetClassifier(**options).fit(source_of(X, y))


def test_what_a_call_must_not_have():
    """The chunks have y and the weights, and the source has the order."""
    X, scores = rows_and_scores()
    y = (scores[:, 0] > 0).astype(float)
    model = LazyNetClassifier()
    for options in (dict(y=y), dict(sample_weight=y), dict(sample_order=np.arange(N))):
        with pytest.raises(ValueError, match="must be None where X is a source"):
            model.fit(source_of(X, y), **options)
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(source_of(X, np.ones(N)))
    with pytest.raises(ValueError, match="the source has labels"):
        LazyNetRegressor().fit(source_of(X, sparse.csr_matrix(np.eye(N, 3, dtype=np.int8))))
    with pytest.raises(ValueError, match="serves for one pass"):
        model.fit(Chunks(iter([(X, y)])))
    assert not hasattr(model, "classes_")


def test_a_failure_in_the_middle_leaves_the_model():
    """A row that cannot be read, a source that has lost rows, and an interrupt."""
    X, scores = rows_and_scores()
    y = (scores[:, 0] > 0).astype(float)
    model = LazyNetClassifier(max_iter=2, tol=None).fit(source_of(X, y))
    before = model.coef_.copy(), model.t_, model.classes_
    calls = []

    def broken(fail):
        def chunks():
            calls.append(1)
            yield X[:100], y[:100]
            if len(calls) > 3:
                fail()
            yield X[100:], y[100:]

        return Chunks(chunks)

    def interrupt():
        raise KeyboardInterrupt

    def bad():
        raise ValueError("line 7 is damaged")

    for fail, error in ((interrupt, KeyboardInterrupt), (bad, ValueError)):
        calls.clear()
        with pytest.raises(error):
            model.fit(broken(fail))
        np.testing.assert_array_equal(model.coef_, before[0])
        assert model.t_ == before[1]

    passes = []

    def shrinking():
        passes.append(1)
        yield X[: N - (len(passes) > 3)], y[: N - (len(passes) > 3)]

    with pytest.raises(ValueError, match="when they were counted"):
        model.fit(Chunks(shrinking))
    np.testing.assert_array_equal(model.coef_, before[0])
    model.fit(X, y)


def test_a_callback_knows_what_costs_no_pass():
    X, scores = rows_and_scores()
    y = (scores[:, 0] > 0).astype(float)
    told = []

    def callback(epoch):
        told.append((epoch.t, epoch.progressive_loss, epoch.coef.shape))
        with pytest.raises(ValueError, match="source of chunks"):
            _ = epoch.objective
        return len(told) == 2

    model = LazyNetClassifier().fit(source_of(X, y), callback=callback)
    assert [t for t, _, _ in told] == [N, 2 * N]
    assert model.n_iter_ == 2


def test_a_fit_that_goes_on():
    """warm_start, partial_fit and initial weights as in memory; and the warning at the end."""
    X, scores = rows_and_scores()
    y = (scores[:, 0] > 0).astype(float)
    model = LazyNetClassifier(max_iter=2, shuffle=False, warm_start=True, eta0=0.1, tol=None)
    streamed = clone(model).fit(source_of(X, y)).fit(source_of(X, y, rows=9)).partial_fit(X, y)
    same = clone(model).fit(X, y).fit(X, y).partial_fit(X, y)
    np.testing.assert_array_equal(streamed.coef_, same.coef_)
    start = dict(coef_init=np.ones((1, D)), intercept_init=np.ones(1))
    np.testing.assert_array_equal(
        clone(model).fit(source_of(X, y), **start).coef_, clone(model).fit(X, y, **start).coef_
    )
    with pytest.warns(ConvergenceWarning, match="still fell"):
        LazyNetRegressor(max_iter=2, eta0=1e-3).fit(source_of(X, 100 + scores[:, 0]))
