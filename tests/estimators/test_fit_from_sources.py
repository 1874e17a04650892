"""A fit from a source of chunks gives the bits of a fit from one matrix, and checks its rows."""

import tempfile
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold
from support.matrices import categories, noisy_documents, source_of
from support.portrait import bits_of

from lazynet import (
    ASGDClassifier,
    ASGDRegressor,
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressor,
    DualNetRegressorCV,
    FoBoS,
    LazyNetClassifier,
    LazyNetClassifierCV,
    LazyNetRegressor,
    LazyNetRegressorCV,
    StabilisedSGDClassifier,
    net_path,
)
from lazynet.data import (
    Chunks,
    RowsFile,
    Shuffled,
    Source,
    SvmlightFile,
    VWFile,
    cached,
    chunks,
    mapped,
    write_rows,
)
from lazynet.data.chunks import Chunk, csr
from lazynet.data.source import Derived
from lazynet.engines.undo import Undo
from lazynet.estimators import online_model

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:the (best l1|best penalty|sizes of features):UserWarning"),
]

N, D = 300, 40
RNG = np.random.default_rng(0)
X = sparse.random(N, D, density=0.2, format="csr", random_state=0)
SCORES = X @ RNG.standard_normal((D, 3)) + 0.3 * RNG.standard_normal((N, 3))
#: The first three features are full, the others sparse.
X = sparse.hstack([X[:, :3].toarray() + np.array([-2.0, 0.5, 9.0]), X[:, 3:]], format="csr")
TWO, THREE = (SCORES[:, 0] > 0).astype(float), SCORES.argmax(axis=1).astype(float)
NUMBERS, WEIGHTS = 3.0 * SCORES[:, 0] + 5.0, RNG.random(N) + 0.5
#: Targets of every form, and the online model that learns them.
ONLINE = [
    (LazyNetClassifier, TWO), (LazyNetClassifier, THREE), (LazyNetRegressor, NUMBERS),
    (LazyNetClassifier, sparse.csr_matrix(SCORES > 0.5, dtype=np.int8)),
]  # fmt: skip
_DUAL, _FOLDS = dict(l1=1e-2, l2=0), dict(cv=3, random_state=0)
#: Options of the online models.
OPTIONS = {
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
}
#: Estimators that visit rows in orders of their own, and their targets.
IN_OWN_ORDERS = {
    "dual": [(DualNetClassifier(**_DUAL, n_jobs=2), THREE), (DualNetRegressor(**_DUAL), NUMBERS)],
    "dual, hinge": [(DualNetClassifier("hinge", l1=1e-2, max_iter=30), TWO)],
    "asgd": [
        (ASGDClassifier(max_iter=3), THREE), (ASGDRegressor(max_iter=3, replace=False), NUMBERS),
    ],
    "stabilised": [(StabilisedSGDClassifier(burst_size=20, max_iter=3, n_paths=2), TWO)],
    "grid": [
        (kind(l2s=1e-4, l1s=3, max_iter=3, **_FOLDS), y)
        for kind, y in ((LazyNetClassifierCV, THREE), (LazyNetRegressorCV, NUMBERS))
    ],
    "choice": [(DualNetClassifierCV(l1s=4, n_jobs=2, **_FOLDS), THREE)],
    "choice by score": [(DualNetRegressorCV(l1s=4, scoring="r2", **_FOLDS), NUMBERS)],
}  # fmt: skip


def assert_same_bits(model, *given):
    """A fit has the same bits for chunks of any length."""
    model = clone(model).set_params(random_state=0)
    wanted = bits_of(clone(model).fit(*given))
    for rows in (7, 2 * N):
        assert bits_of(clone(model).fit(source_of(*given, rows))) == wanted


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_online_models_get_the_same_bits(options):
    """Two classes, three, numbers and labels, with weights of rows."""
    for kind, y in ONLINE:
        rows = X if kind is LazyNetRegressor else 10.0 * X
        model = kind(**{"max_iter": 4, **options, "shuffle": False})
        assert_same_bits(model, rows, y, WEIGHTS)


@pytest.mark.parametrize("name", IN_OWN_ORDERS)
def test_orders_of_their_own_get_the_same_bits(name):
    """The rows are mapped from a file; with and without weights of rows."""
    for model, y in IN_OWN_ORDERS[name]:
        assert_same_bits(model, X[:120, 3:], y[:120], None)
        if "score" not in name:
            assert_same_bits(model, X[:120, 3:], y[:120], WEIGHTS[:120])


def test_paths():
    """The points of a path, and an iterator, which gives one pass."""
    wanted = net_path(X, TWO, l1s=4, sample_weight=WEIGHTS, random_state=0)
    for source in (source_of(X, TWO, WEIGHTS), Chunks(iter([(X, TWO, WEIGHTS)]))):
        found = net_path(source, l1s=4, random_state=0)
        np.testing.assert_array_equal(found.coefs.toarray(), wanted.coefs.toarray())
        np.testing.assert_array_equal(found.gaps, wanted.gaps)


def test_groups_and_orders_name_rows_by_their_numbers():
    """A splitter of groups and a given order see the same rows."""
    grid = LazyNetClassifierCV(l1s=[1e-3, 1e-2], cv=GroupKFold(3), max_iter=2, random_state=0)
    for model, more in (
        (grid, dict(groups=np.arange(N) // 10)),
        (ASGDClassifier(), dict(sample_order=RNG.integers(0, N, 300))),
    ):
        found = [bits_of(model.fit(*rows, **more)) for rows in ((X, TWO), (source_of(X, TWO),))]
        assert found[0] == found[1]


@pytest.mark.parametrize("rows_and_classes", [noisy_documents, categories])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_restart_is_that_in_memory(rows_and_classes, fit_intercept):
    """For any chunks."""
    X, y = rows_and_classes()
    weights = np.random.default_rng(2).random(len(y)) + 0.5
    model = LazyNetClassifier(shuffle=False, fit_intercept=fit_intercept)
    whole = clone(model).fit(X, y.astype(float), weights)
    assert whole.auto_[-1].name == "restart"
    for rows in (70, 2000):
        found = clone(model).fit(source_of(X, y.astype(float), weights, rows))
        assert bits_of(found) == bits_of(whole)


def test_a_callback_knows_what_costs_no_pass():
    """The objective of a source would cost a pass, and is refused."""
    epochs = []

    def callback(epoch):
        epochs.append((epoch.t, epoch.progressive_loss, epoch.coef.shape))
        with pytest.raises(ValueError, match="source of chunks"):
            _ = epoch.objective
        return len(epochs) == 2

    model = LazyNetClassifier().fit(source_of(X, TWO), callback=callback)
    assert [t for t, _, _ in epochs] == [N, 2 * N]
    assert model.n_iter_ == 2


def test_a_fit_that_goes_on():
    """warm_start, partial_fit and initial weights as in memory; and the warning at the end."""
    model = LazyNetClassifier(
        max_iter=2, shuffle=False, warm_start=True, rule=FoBoS(eta0=0.1), tol=None
    )
    whole, nines = source_of(X, TWO), source_of(X, TWO, rows=9)
    streamed = clone(model).fit(whole).fit(nines).partial_fit(X, TWO)
    same = clone(model).fit(X, TWO).fit(X, TWO).partial_fit(X, TWO)
    np.testing.assert_array_equal(streamed.coef_, same.coef_)
    start = dict(coef_init=np.ones((1, D)), intercept_init=np.ones(1))
    np.testing.assert_array_equal(
        clone(model).fit(whole, **start).coef_, clone(model).fit(X, TWO, **start).coef_
    )
    with pytest.warns(ConvergenceWarning, match="still fell"):
        LazyNetRegressor(max_iter=2, rule=FoBoS(eta0=1e-3)).fit(source_of(X, 100 + SCORES[:, 0]))


# --- classes that weigh the same, and rows that are held out --------------------------------------


class Uncounted(Chunks):
    """A source of somebody's own, which knows its classes and has not counted them."""

    def _find_facts(self):
        return replace(super()._find_facts(), counts=None)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_balanced_classes_are_counted(n_classes):
    """The weights of the rows do not change the counts; whoever knows the counts is not asked."""
    y = np.digitize(SCORES[:, 0], [0.5, 1.5][: n_classes - 1]).astype(float)
    model = LazyNetClassifier(max_iter=3, tol=None, shuffle=False, class_weight="balanced")
    whole = bits_of(clone(model).fit(X, y, WEIGHTS))
    for rows in (7, 2 * N):
        source = source_of(X, y, WEIGHTS, rows)
        for each in (source, Uncounted(source._chunks)):
            assert bits_of(clone(model).fit(each)) == whole
        assert source.facts().counts == tuple(np.bincount(y.astype(int)))


def test_chunks_without_a_row_that_counts():
    """A chunk whose weights are all 0 is as good as any; rows that are all 0 teach nothing."""
    weights = (np.arange(N) >= 100).astype(float)
    model = LazyNetClassifier(max_iter=2, shuffle=False, tol=None, l1=1e-3)
    whole = bits_of(clone(model).fit(X, TWO, weights))
    for rows in (1, 50, N):
        assert bits_of(clone(model).fit(source_of(X, TWO, weights, rows))) == whole
    for Estimator in (LazyNetClassifier, LazyNetRegressor):
        with pytest.raises(ValueError, match="must not be zero for every row"):
            Estimator().fit(source_of(X, TWO, np.zeros(N)))


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


# --- rows that are mapped -------------------------------------------------------------------------


def test_what_does_not_go_with_a_source():
    """What the chunks have, for every estimator; and what an estimator cannot learn from them."""
    asgd, dual, lazy = ASGDRegressor(), DualNetClassifier(), LazyNetClassifier()
    source, one = source_of(X, TWO), source_of(X, np.ones(N))
    several = Chunks([(X, sparse.csr_matrix((N, 3), dtype=np.int8))])
    saga = LazyNetClassifier(rule="saga", random_state=0, max_iter=2, tol=None)
    for model, given, message in (
        *((each, dict(X=source, **{name: TWO}), f"{name} must be None if X is a source")
          for each in (lazy, dual) for name in ("y", "sample_weight")),
        (lazy, dict(X=source, sample_order=np.arange(N)), "must be None if X is a source"),
        *((each, dict(X=several), "several labels: LazyNetClassifier learns")
          for each in (dual, asgd, LazyNetClassifierCV(), StabilisedSGDClassifier())),
        (LazyNetRegressor(), dict(X=several), "the source has labels"),
        *((each, dict(X=one), "at least two classes") for each in (lazy, dual)),
        (dual, dict(X=Chunks([(X[:0], TWO[:0])])), "at least one row"),
        (lazy, dict(X=Chunks(iter([(X, TWO)]))), "gives one pass"),
        (clone(saga), dict(X=source), r"rule=SAGA.*lazynet\.data\.mapped"),
        (LazyNetClassifier(early_stopping=True), dict(X=source),
         r"early_stopping must be False .* lazynet\.data\.mapped"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            model.fit(**given)
        assert not hasattr(model, "coef_")
    with mapped(source) as rows:
        assert bits_of(clone(saga).fit(rows.X, rows.y)) == bits_of(saga.fit(X, TWO))


def test_files_are_gone(tmp_path, monkeypatch):
    """Nothing is left, not even while the block lasts, where the system can do that."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1 3:2\n0 2:0.5\n")
    with mapped(Shuffled(SvmlightFile(path, zero_based=False), window=1)) as rows:
        assert rows.X.toarray().tolist() == [[1.0, 0.0, 2.0], [0.0, 0.5, 0.0]]
        assert isinstance(rows.X.data.base, np.memmap)
        assert {each.name for each in tmp_path.iterdir()} == {"rows.svm"}


def test_more_values_than_32_bits_count(monkeypatch):
    """The columns are widened when the end is known."""
    monkeypatch.setattr(chunks, "NARROW", X.nnz)
    with mapped(source_of(X, TWO)) as rows:
        assert rows.X.indices.dtype == rows.X.indptr.dtype == np.int64
        assert (rows.X != X).nnz == 0


# --- rows that nobody has checked -----------------------------------------------------------------

SHORT = dict(max_iter=3, tol=None, l1=1e-3)


class Unchecked(Source):
    """One chunk, as it is."""

    def __init__(self, X, y):
        self.chunk = Chunk(X, np.asarray(y, dtype=np.float64), None)

    @property
    def n_features(self):
        return self.chunk.X.shape[1]

    def _pass(self, rows, epoch):
        yield self.chunk


def written(path, X, y):
    """A file of rows that nobody has checked."""
    write_rows(Unchecked(X, y), path)
    return RowsFile(path)


class Spoiled(Derived):
    """A source of a user, which writes NaN into the rows of another one."""

    def _pass(self, rows, epoch):
        for chunk in self.source.chunks(rows, epoch):
            chunk.X.data[0] = np.nan
            yield chunk


@pytest.mark.parametrize("kind", [LazyNetClassifier, LazyNetRegressor])
def test_unsound_rows_of_a_file_are_refused_or_mended(tmp_path, kind):
    """As the same rows in memory: a repeated column gets the sum, NaN is refused; also in y."""
    y = [-1.0, 1.0]
    repeated = csr([0, 2, 3], [1, 1, 0], [0.5, 0.25, 2.0], 3)
    source = written(tmp_path / "repeated.rows", repeated, y)
    merged = Chunks(lambda: [(csr([0, 1, 2], [1, 0], [0.75, 2.0], 3), np.array(y))])
    model = kind(**SHORT, shuffle=False)
    np.testing.assert_array_equal(model.fit(source).coef_, model.fit(merged).coef_)
    broken = csr([0, 1, 2], [1, 0], [0.75, np.nan], 3)
    with pytest.raises(ValueError, match="NaN or infinity, first in row 1"):
        model.fit(written(tmp_path / "nan.rows", broken, y))
    text = tmp_path / "words.svm"
    text.write_text("-1 2:0.75\n1 1:2\n")
    for source in (SvmlightFile(text), cached(SvmlightFile(text), tmp_path / "kept.rows")):
        with pytest.raises(ValueError, match="NaN or infinity"):
            model.fit(Spoiled(source))
    sound = csr([0, 1, 2], [1, 0], [0.75, 2.0], 3)
    with pytest.raises(ValueError, match=r"y contains|NaN|infinity"):
        model.fit(written(tmp_path / "infinite.rows", sound, [1.0, np.inf]))


def test_classes_are_whole_numbers(tmp_path):
    """Other labels are refused, in whatever way the rows come."""
    path = tmp_path / "rows.vw"
    path.write_text("0.5 | 1:2\n1.5 | 2:1\n")
    for source in (VWFile(path), cached(VWFile(path), tmp_path / "kept.rows")):
        with pytest.raises(ValueError, match="continuous"):
            LazyNetClassifier(**SHORT).fit(source)


@pytest.mark.parametrize("n_classes", [2, 6])
def test_labels_that_are_no_class_are_refused(tmp_path, n_classes):
    """Of few classes and of many."""
    y = np.arange(40.0) % n_classes
    X = csr(np.arange(41), np.arange(40) % 3, np.ones(40), 3)
    source = written(tmp_path / "rows", X, y)
    model = LazyNetClassifier(**SHORT).fit(source)
    model.partial_fit(source)
    y[7] = 9.0
    with pytest.raises(ValueError, match="9"):
        model.partial_fit(written(tmp_path / "others", X, y))
