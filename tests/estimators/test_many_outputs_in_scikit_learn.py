"""scikit-learn's metrics, searches, splits and meta-estimators around models of several outputs."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
)

from lazynet import FoBoS, LazyNetClassifier, LazyNetRegressor

N, D, L = 120, 40, 7
OPTIONS = dict(max_iter=5, tol=None, random_state=0, l1=1e-4)
FOLDS = KFold(3)
#: The forms in which a user may have labels.
FORMS = {
    "dense": np.asarray,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "array": sparse.csr_array,
}
SPARSE_FORMS = {name: form for name, form in FORMS.items() if name not in ("dense", "coo")}
GROUPS = pytest.mark.parametrize("group", [None, "l2"])


def rows_and_scores():
    X = sparse.random(N, D, density=0.2, format="csr", random_state=0)
    return X, X @ np.random.default_rng(0).standard_normal((D, L))


def with_labels():
    X, scores = rows_and_scores()
    return X, (scores > 0.3).astype(int)


def dense(Y):
    return Y.toarray() if sparse.issparse(Y) else np.asarray(Y)


def new(group=None, **options):
    """A new classifier; with groups, rates that go with them."""
    rule = "auto" if group is None else FoBoS(group=group, eta0=0.3)
    return LazyNetClassifier(rule=rule, **{**OPTIONS, **options})


# --- searches and splits -----------------------------------------------------------------------


def scores_by_hand(model, X, y, l1):
    """The score of every fold, by separate fits."""
    return [
        clone(model).set_params(l1=l1).fit(X[train], y[train]).score(X[test], y[test])
        for train, test in FOLDS.split(X)
    ]


@GROUPS
@pytest.mark.parametrize("form", ["dense", *SPARSE_FORMS])
def test_a_search_over_l1(form, group):
    """The scores of separate fits; the best is fitted again, and keeps the form of y."""
    X, Y = with_labels()
    given, strengths = FORMS[form](Y), [1e-4, 1e-2, 1.0]
    search = GridSearchCV(new(group=group), {"l1": strengths}, cv=FOLDS, error_score="raise")
    search.fit(X, given)
    expected = [np.mean(scores_by_hand(new(group=group), X, Y, l1)) for l1 in strengths]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-12)
    assert search.best_params_["l1"] == strengths[np.argmax(expected)]
    assert sparse.issparse(search.predict(X)) == (form != "dense")
    best = new(group=group, **search.best_params_).fit(X, Y)
    np.testing.assert_array_equal(dense(search.predict(X)), best.predict(X))


# --- tables with names -------------------------------------------------------------------------


def test_data_frames_of_labels():
    """A column per label, of integers, booleans or sparse columns; X may be a table too."""
    pandas = pytest.importorskip("pandas")
    X, Y = with_labels()
    names = [f"label {k}" for k in range(L)]
    expected = new().fit(X, Y)
    for table in (
        pandas.DataFrame(Y, columns=names),
        pandas.DataFrame(Y.astype(bool), columns=names, index=np.arange(N)[::-1]),
        pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(Y), columns=names),
    ):
        model = new().fit(X, table)
        np.testing.assert_array_equal(dense(model.coef_), expected.coef_)
        np.testing.assert_array_equal(dense(model.predict(X)), expected.predict(X))
        assert model.score(X, table) == expected.score(X, Y)
    features = pandas.DataFrame(X.toarray(), columns=[f"feature {j}" for j in range(D)])
    model = new().fit(features, pandas.DataFrame(Y, columns=names))
    assert list(model.feature_names_in_) == list(features.columns)
    np.testing.assert_array_equal(model.predict(features), expected.predict(X))
    search = GridSearchCV(new(), {"l1": [1e-4, 1e-2]}, cv=FOLDS, error_score="raise")
    search.fit(features, pandas.DataFrame(Y, columns=names))
    assert search.best_score_ == pytest.approx(np.mean(scores_by_hand(new(), X, Y, 1e-4)))


# --- pipelines, clones and pickles -------------------------------------------------------------


def test_kinds_of_estimators():
    """What scikit-learn asks before it splits and scores."""
    assert is_classifier(new())
    assert is_regressor(LazyNetRegressor())
    assert new().__sklearn_tags__().classifier_tags.multi_label
    assert LazyNetRegressor().__sklearn_tags__().target_tags.multi_output
