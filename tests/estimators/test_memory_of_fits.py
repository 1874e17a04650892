"""Sparse weights are those of the engines; labels can be fitted in groups."""

import numpy as np
from scipy import sparse

from lazynet import SGD, FoBoS, LazyNetClassifier, TruncatedGradient

N, D, L = 150, 60, 70
OPTIONS = dict(max_iter=3, tol=None, random_state=0, l1=1e-4)
MODELS = {
    "adagrad": {}, "fobos": dict(rule=FoBoS(eta0=0.3)), "sgd": dict(rule=SGD(eta0=0.3)),
    "rda": dict(rule="rda"), "ftrl": dict(rule="ftrl"),
    "average": dict(rule=FoBoS(eta0=0.3, average=True)), "from data": dict(rule="fobos"),
    # So strong a shrink that weights are brought current many times.
    "swept": dict(rule="fobos", l2=0.5), "swept by a schedule": dict(rule=FoBoS(eta0=0.9), l2=0.9),
    "engines each": dict(rule=TruncatedGradient(eta0=0.3)),
    "positive": dict(rule=FoBoS(eta0=0.3, positive=True)),
    "in order": dict(shuffle=False), "float32": dict(dtype="float32"),
    "float32, rda": dict(rule="rda", dtype="float32"),
    "threads": dict(rule=FoBoS(eta0=0.3), n_jobs=2),
}  # fmt: skip


def rows(n_rows=N, n_features=D, seed=0):
    return sparse.random(n_rows, n_features, density=0.1, format="csr", random_state=seed)


def labels(n_labels=L, n_rows=N):
    return np.random.default_rng(1).integers(0, 2, (n_rows, n_labels))


def test_the_sparse_weights_of_engines_are_their_weights():
    """Read a few features at a time, they are those of the dense array, with averages too."""
    X, Y = rows(80, 10_000), labels(9, 80)
    for options in MODELS.values():
        model = LazyNetClassifier(**{**OPTIONS, **options}).fit(X, Y)
        for engine in model._engines:
            found = engine.sparse_coefficients()
            assert found.has_sorted_indices
            assert found.nnz == np.count_nonzero(found.toarray())
            np.testing.assert_array_equal(found.toarray(), engine.coefficients())


def test_columns_fitted_one_group_after_another_have_the_same_bits():
    """The way to fit more labels than memory holds; with ``tol=None`` the bits are the same."""
    X, Y = rows(), sparse.csc_matrix(labels())
    model = LazyNetClassifier(rule=FoBoS(eta0=0.3), **OPTIONS)
    together = model.fit(X, Y).coef_
    parts = [model.fit(X, Y[:, k : k + 32]).coef_ for k in range(0, L, 32)]
    np.testing.assert_array_equal(sparse.vstack(parts).toarray(), together.toarray())
