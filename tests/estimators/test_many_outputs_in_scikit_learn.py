"""scikit-learn's metrics, searches, splits and meta-estimators around models of several outputs."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import (
    accuracy_score,
    coverage_error,
    f1_score,
    hamming_loss,
    jaccard_score,
    label_ranking_average_precision_score,
    label_ranking_loss,
    r2_score,
)
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from lazynet import LazyNetClassifier, LazyNetRegressor

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
GROUPS = pytest.mark.parametrize("group", [None, "l2", "max"])


def rows_and_scores():
    X = sparse.random(N, D, density=0.2, format="csr", random_state=0)
    return X, X @ np.random.default_rng(0).standard_normal((D, L))


def with_labels():
    X, scores = rows_and_scores()
    return X, (scores > 0.3).astype(int)


def with_classes():
    X, scores = rows_and_scores()
    return X, np.array(list("abcdefg"))[scores.argmax(axis=1)]


def dense(Y):
    return Y.toarray() if sparse.issparse(Y) else np.asarray(Y)


def new(**options):
    """A new classifier; with groups, rates that go with them."""
    rates = dict(rule="fobos", eta0=0.3) if options.get("group") else {}
    return LazyNetClassifier(**{**OPTIONS, **rates, **options})


# --- metrics -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_metrics_take_the_predictions_of_every_form(form):
    """Sparse labels in, sparse predictions out, with the scores of the dense ones."""
    X, Y = with_labels()
    given = FORMS[form](Y)
    model, plain = new().fit(X, given), new().fit(X, Y)
    found, expected = model.predict(X), plain.predict(X)
    assert sparse.issparse(found) == (form != "dense")
    np.testing.assert_array_equal(dense(found), expected)
    for metric in (
        lambda true, made: f1_score(true, made, average="micro"),
        lambda true, made: f1_score(true, made, average="macro"),
        lambda true, made: f1_score(true, made, average="samples", zero_division=0.0),
        lambda true, made: jaccard_score(true, made, average="micro"),
        hamming_loss,
        accuracy_score,
    ):
        assert metric(given, found) == pytest.approx(metric(Y, expected), rel=1e-12)
    assert model.score(X, given) == accuracy_score(Y, expected)


def test_metrics_of_rankings_take_the_decisions():
    """And give the same for probabilities, which keep the order of the labels."""
    X, Y = with_labels()
    some = Y.any(axis=1)
    model = new().fit(X, sparse.csr_matrix(Y))
    decision, probability = model.decision_function(X), model.predict_proba(X)
    assert label_ranking_average_precision_score(Y[some], decision[some]) > 0.9
    for metric in (label_ranking_average_precision_score, label_ranking_loss, coverage_error):
        assert metric(Y[some], decision[some]) == pytest.approx(
            metric(Y[some], probability[some]), rel=1e-12
        )


@GROUPS
@pytest.mark.parametrize("loss", ["log_loss", "softmax"])
@pytest.mark.parametrize("data", [with_labels, with_classes])
def test_logarithms_of_probabilities(data, loss, group):
    """predict_log_proba is the logarithm of predict_proba, of labels and of classes."""
    X, y = data()
    if data is with_labels and loss == "softmax":
        pytest.skip("the softmax is of classes")
    model = new(group=group, loss=loss).fit(X, y)
    probability = model.predict_proba(X)
    assert probability.shape == (N, L)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probability, rtol=1e-12)
    if data is with_classes:
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    else:
        np.testing.assert_allclose(probability, expit(model.decision_function(X)), rtol=1e-12)


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


def test_a_search_scores_targets():
    """The mean R^2 of all targets."""
    X, scores = rows_and_scores()
    model, strengths = LazyNetRegressor(**OPTIONS), [1e-4, 1e-2, 1.0]
    search = GridSearchCV(model, {"l1": strengths}, cv=FOLDS, error_score="raise").fit(X, scores)
    expected = [np.mean(scores_by_hand(model, X, scores, l1)) for l1 in strengths]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-12)


def with_few_classes():
    """Every fold has all of the classes."""
    X, y = with_classes()
    return X, np.where(np.isin(y, ["a", "b", "c"]), "abc", np.where(y > "e", "fg", "de"))


def with_sparse_labels():
    X, Y = with_labels()
    return X, sparse.csr_matrix(Y)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
@pytest.mark.parametrize(
    "data", [with_labels, with_sparse_labels, with_few_classes, rows_and_scores]
)
def test_predictions_of_the_rows_left_out(data, method):
    """cross_val_predict puts the answers of separate fits together, sparse ones too."""
    X, y = data()
    model = LazyNetRegressor(**OPTIONS) if data is rows_and_scores else new()
    if method != "predict" and data in (with_sparse_labels, rows_and_scores):
        pytest.skip("scikit-learn stacks sparse answers of predict alone; numbers have no other")
    found = cross_val_predict(model, X, y, cv=FOLDS, method=method)
    assert sparse.issparse(found) == (data is with_sparse_labels)
    for train, test in FOLDS.split(X):
        expected = getattr(clone(model).fit(X[train], y[train]), method)(X[test])
        np.testing.assert_array_equal(dense(found[test]), dense(expected))


@pytest.mark.parametrize("form", SPARSE_FORMS)
def test_sparse_labels_are_split(form):
    """train_test_split, the fit and the score of both halves."""
    X, Y = with_labels()
    halves = train_test_split(X, FORMS[form](Y), random_state=0)
    plain = train_test_split(X, Y, random_state=0)
    model, other = new().fit(halves[0], halves[2]), new().fit(plain[0], plain[2])
    np.testing.assert_array_equal(dense(model.coef_), other.coef_)
    assert model.score(halves[1], halves[3]) == other.score(plain[1], plain[3])


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


def test_data_frames_of_targets():
    """A column per target."""
    pandas = pytest.importorskip("pandas")
    X, scores = rows_and_scores()
    table = pandas.DataFrame(scores, columns=[f"target {k}" for k in range(L)])
    model = LazyNetRegressor(**OPTIONS)
    found, expected = clone(model).fit(X, table), clone(model).fit(X, scores)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    assert found.score(X, table) == expected.score(X, scores)


# --- pipelines, clones and pickles -------------------------------------------------------------


@GROUPS
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_pipelines_clones_and_pickles(form, group):
    """A pipeline, its clone and its pickle predict alike."""
    X, Y = with_labels()
    given = FORMS[form](Y)
    pipeline = make_pipeline(MaxAbsScaler(), new(group=group)).fit(X, given)
    expected = (
        new(group=group)
        .fit(MaxAbsScaler().fit_transform(X), Y)
        .predict(MaxAbsScaler().fit_transform(X))
    )
    copied = pickle.loads(pickle.dumps(pipeline))
    again = clone(pipeline).fit(X, given)
    for each in (pipeline, copied, again):
        np.testing.assert_array_equal(dense(each.predict(X)), expected)
        np.testing.assert_array_equal(each.decision_function(X), pipeline.decision_function(X))
    assert not hasattr(clone(pipeline[-1]), "coef_")
    one, other = (each[-1].partial_fit(X, given) for each in (pipeline, copied))
    np.testing.assert_array_equal(dense(one.coef_), dense(other.coef_))


def test_kinds_of_estimators():
    """What scikit-learn asks before it splits and scores."""
    assert is_classifier(new())
    assert is_regressor(LazyNetRegressor())
    assert new().__sklearn_tags__().classifier_tags.multi_label
    assert LazyNetRegressor().__sklearn_tags__().target_tags.multi_output


# --- estimators around estimators --------------------------------------------------------------


def close(left, right):
    np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    ("around", "data"),
    [
        (MultiOutputClassifier, with_labels),
        (OneVsRestClassifier, with_labels),
        (OneVsRestClassifier, with_sparse_labels),
        (OneVsRestClassifier, with_classes),
        (MultiOutputRegressor, rows_and_scores),
    ],
)
def test_scikit_learn_fits_every_output_alike(around, data):
    """Meta-estimators fit what one model learns in one pass."""
    X, y = data()
    model = LazyNetRegressor(**OPTIONS) if data is rows_and_scores else new()
    together, several = clone(model).fit(X, y), around(model).fit(X, y)
    close(np.vstack([each.coef_ for each in several.estimators_]), dense(together.coef_))
    if data is rows_and_scores:
        close(several.predict(X), together.predict(X))
        assert together.score(X, y) == pytest.approx(r2_score(y, several.predict(X)))
        return
    np.testing.assert_array_equal(dense(several.predict(X)), dense(together.predict(X)))
    probability = several.predict_proba(X)
    if around is MultiOutputClassifier:
        probability = np.column_stack([each[:, 1] for each in probability])
    close(probability, together.predict_proba(X))


def test_several_columns_of_classes():
    """MultiOutputClassifier around a model of several classes: each column has its own classes."""
    X, scores = rows_and_scores()
    columns = np.column_stack([scores[:, :3].argmax(axis=1), scores[:, 3:].argmax(axis=1)])
    around = MultiOutputClassifier(new(loss="softmax")).fit(X, columns)
    for k, probability in enumerate(around.predict_proba(X)):
        alone = new(loss="softmax").fit(X, columns[:, k])
        np.testing.assert_array_equal(probability, alone.predict_proba(X))
