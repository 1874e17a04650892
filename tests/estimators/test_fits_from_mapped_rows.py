"""Estimators that visit rows in orders of their own learn from a source as from one matrix."""

import tempfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GroupKFold
from support.matrices import source_of
from support.portrait import bits_of

from lazynet import (
    ASGDClassifier,
    ASGDRegressor,
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressor,
    DualNetRegressorCV,
    LazyNetClassifier,
    LazyNetClassifierCV,
    LazyNetRegressor,
    LazyNetRegressorCV,
    StabilisedSGDClassifier,
    net_path,
)
from lazynet.data import Chunks, Shuffled, SvmlightFile, chunks, mapped

N, D = 120, 20
RNG = np.random.default_rng(0)
X = sparse.csr_matrix(RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.4))
R = X @ RNG.standard_normal(D) + 0.3 * RNG.standard_normal(N)
Y, Y3 = (R > 0).astype(float), np.digitize(R, [-1.0, 1.0]).astype(float)
WEIGHTS = RNG.random(N) + 0.5

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:the best l1:UserWarning"),
    pytest.mark.filterwarnings("ignore:the best penalty:UserWarning"),
]

CASES = {
    "dual": (lambda: DualNetClassifier(l1=1e-3, l2=0, random_state=0, n_jobs=2), Y3),
    "dual, hinge": (lambda: DualNetClassifier("hinge", l1=1e-2, random_state=0, max_iter=30), Y),
    "dual, numbers": (lambda: DualNetRegressor(l1=1e-2, l2=0, random_state=0), R),
    "asgd": (lambda: ASGDClassifier(max_iter=3, random_state=0), Y3),
    "asgd, numbers": (lambda: ASGDRegressor(max_iter=3, replace=False, random_state=0), R),
    "stabilised": (
        lambda: StabilisedSGDClassifier(burst_size=20, max_iter=3, n_paths=2, random_state=0), Y
    ),
    "grid": (
        lambda: LazyNetClassifierCV(l2s=1e-4, l1s=3, cv=3, max_iter=3, random_state=0), Y3
    ),
    "grid, numbers": (
        lambda: LazyNetRegressorCV(l2s=1e-4, l1s=3, cv=3, max_iter=3, random_state=0), R
    ),
    "choice": (lambda: DualNetClassifierCV(l1s=4, cv=3, random_state=0, n_jobs=2), Y3),
    "choice by score": (
        lambda: DualNetRegressorCV(l1s=4, cv=3, scoring="r2", random_state=0), R
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits(case):
    """For any chunks, with and without the weights of rows."""
    make, y = CASES[case]
    for weights in (None, WEIGHTS) if "score" not in case else (None,):
        wanted = bits_of(make().fit(X, y, weights))
        for rows in (1, 50, N):
            assert bits_of(make().fit(source_of(X, y, weights, rows))) == wanted


def test_paths():
    """The points of a path, and an iterator, which gives one pass."""
    wanted = net_path(X, Y, l1s=4, sample_weight=WEIGHTS, random_state=0)
    for source in (source_of(X, Y, WEIGHTS), Chunks(iter([(X, Y, WEIGHTS)]))):
        found = net_path(source, l1s=4, random_state=0)
        np.testing.assert_array_equal(found.coefs.toarray(), wanted.coefs.toarray())
        np.testing.assert_array_equal(found.gaps, wanted.gaps)


def test_groups_and_orders_name_rows_by_their_numbers():
    source, groups = source_of(X, Y), np.arange(N) // 10
    model = LazyNetClassifierCV(
        l1s=[1e-3, 1e-2], l2s=1e-3, cv=GroupKFold(3), max_iter=2, random_state=0
    )
    found = [bits_of(model.fit(*given, groups=groups)) for given in ((X, Y), (source,))]
    assert found[0] == found[1]
    order = RNG.integers(0, N, 300)
    model = ASGDClassifier()
    found = [
        bits_of(model.fit(*given, sample_order=order)) for given in ((X, Y), (source_of(X, Y),))
    ]
    assert found[0] == found[1]


def test_what_does_not_go_with_a_source():
    """What the chunks have, for every estimator; and what an estimator cannot learn from them."""
    asgd, dual, lazy = ASGDRegressor(), DualNetClassifier(), LazyNetClassifier()
    source, one = source_of(X, Y), source_of(X, np.ones(N))
    several = Chunks([(X, sparse.csr_matrix((N, 3), dtype=np.int8))])
    for model, given, message in (
        *((each, dict(X=source, **{name: Y}), f"{name} must be None if X is a source")
          for each in (lazy, dual) for name in ("y", "sample_weight")),
        (lazy, dict(X=source, sample_order=np.arange(N)), "must be None if X is a source"),
        *((each, dict(X=several), "several labels: LazyNetClassifier learns")
          for each in (dual, asgd, LazyNetClassifierCV(), StabilisedSGDClassifier())),
        (LazyNetRegressor(), dict(X=several), "the source has labels"),
        *((each, dict(X=one), "at least two classes") for each in (lazy, dual)),
        (dual, dict(X=Chunks([(X[:0], Y[:0])])), "at least one row"),
        (lazy, dict(X=Chunks(iter([(X, Y)]))), "gives one pass"),
        (LazyNetClassifier(rule="saga"), dict(X=source), r"rule=SAGA.*lazynet\.data\.mapped"),
        (LazyNetClassifier(early_stopping=True), dict(X=source),
         r"early_stopping must be False .* lazynet\.data\.mapped"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            model.fit(**given)
        assert not hasattr(model, "coef_")
    with mapped(source) as rows:
        found = LazyNetClassifier(rule="saga", random_state=0, max_iter=2).fit(rows.X, rows.y)
    assert bits_of(found) == bits_of(
        LazyNetClassifier(rule="saga", random_state=0, max_iter=2).fit(X, Y)
    )


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
    with mapped(source_of(X, Y)) as rows:
        assert rows.X.indices.dtype == rows.X.indptr.dtype == np.int64
        assert (rows.X != X).nnz == 0
