"""Labels in columns, classes and targets that an estimator learns in one pass over X."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import r2_score
from support import AS_PASSED, Evaluated, same_bits

from lazynet import (
    FTRL,
    RDA,
    SGD,
    AdaGrad,
    FoBoS,
    LazyNetClassifier,
    LazyNetRegressor,
    TruncatedGradient,
)

N, D, L = 120, 40, 7
OPTIONS = dict(max_iter=3, tol=None, random_state=0, l1=1e-4)
JOINED = [
    AdaGrad(), RDA(), FTRL(), FoBoS(), FoBoS(eta0=0.3), SGD(eta0=0.3),
    FoBoS(eta0=0.3, average=True),
]  # fmt: skip
#: Rules of which every output has an engine of its own.
ENGINES_EACH = [TruncatedGradient(eta0=0.3)]
EVERY_RULE = pytest.mark.parametrize("rule", JOINED + ENGINES_EACH, ids=str)


def rows_and_scores():
    X = sparse.random(N, D, density=0.2, format="csr", random_state=0)
    return X, X @ np.random.default_rng(0).standard_normal((D, L))


def with_labels():
    X, scores = rows_and_scores()
    return X, (scores > 0.3).astype(int)


def close(left, right):
    np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-13)


@EVERY_RULE
@pytest.mark.parametrize("form", ["labels", "classes", "targets"])
def test_every_output_learns_as_it_learns_alone(form, rule):
    """A label or not, a class or another one, a target; figures are sums; sparse y is the same.

    With standardised features the l1 would act on weights of targets of one size.
    """
    X, scores = rows_and_scores()
    kind, loss, y = LazyNetClassifier, "log_loss", (scores > 0.3).astype(int)
    columns = y
    if form == "classes":
        # A fit of two classes with the log loss may restart.
        loss, y = "hinge", scores.argmax(axis=1)
        columns = y[:, None] == np.arange(L)
    elif form == "targets":
        kind, loss, y, columns = LazyNetRegressor, "squared_error", scores, scores
    model = kind(loss, rule=rule, standardize=form == "labels" and "auto", **OPTIONS)
    of_all, of_each = Evaluated(), [Evaluated() for _ in range(L)]
    together = clone(model).fit(X, y, callback=of_all)
    alone = [
        clone(model).fit(X, column, callback=seen)
        for column, seen in zip(columns.T, of_each, strict=True)
    ]
    assert together.coef_.shape == (L, D)
    close(together.coef_, np.vstack([each.coef_ for each in alone]))
    close(together.intercept_, np.concatenate([each.intercept_ for each in alone]))
    assert together.history_[-1]["progressive_loss"] == pytest.approx(
        sum(each.history_[-1]["progressive_loss"] for each in alone)
    )
    for name, found in of_all.lines[-1].items():
        assert found == pytest.approx(sum(seen.lines[-1][name] for seen in of_each))
    if form == "classes":
        decision = together.decision_function(X)
        np.testing.assert_array_equal(together.predict(X), decision.argmax(axis=1))
    elif form == "targets":
        assert together.score(X, scores) == pytest.approx(r2_score(scores, together.predict(X)))
    else:
        given_sparse = clone(model).fit(X, sparse.csc_matrix(y))
        np.testing.assert_array_equal(given_sparse.coef_.toarray(), together.coef_)
        np.testing.assert_array_equal(given_sparse.predict(X).toarray(), together.predict(X))


@pytest.mark.parametrize("form", ["labels", "classes", "targets"])
def test_outputs_of_later_blocks_learn_as_they_learn_alone(form):
    """A block has at most 32 outputs."""
    X, n_outputs = rows_and_scores()[0], 70
    scores = X @ np.random.default_rng(0).standard_normal((D, n_outputs))
    kind, loss, y = LazyNetRegressor, "squared_error", scores
    columns = y
    if form != "targets":
        kind, loss = LazyNetClassifier, "hinge"
        y = np.arange(N) % n_outputs if form == "classes" else (scores > 0.3).astype(int)
        columns = y[:, None] == np.arange(n_outputs) if form == "classes" else y
    model = kind(loss, rule=FoBoS(eta0=0.3), standardize=False, **OPTIONS)
    together = clone(model).fit(X, y)
    for k in (0, 31, 32, n_outputs - 1):
        close(together.coef_[k], clone(model).fit(X, columns[:, k]).coef_.ravel())


@pytest.mark.every_case
@pytest.mark.parametrize("rule", [AdaGrad(), FoBoS(eta0=0.3, average=True), *ENGINES_EACH], ids=str)
@pytest.mark.parametrize("form", ["labels", "classes", "softmax", "targets"])
def test_partial_fit_goes_on(form, rule):
    """Any chunks, also rows one by one, have the bits of one call; so have copies and pickles.

    ``exact/test_the_same_bits.py`` cuts the calls of the engines of all rules.
    """
    X, scores = rows_and_scores()
    Y = (scores > 0.3).astype(int)
    y = {"labels": Y, "targets": scores}.get(form, scores.argmax(axis=1))
    if form == "softmax" and rule in ENGINES_EACH:
        return
    Estimator = LazyNetRegressor if form == "targets" else LazyNetClassifier
    loss = {"loss": "softmax"} if form == "softmax" else {}
    model = Estimator(rule=rule, l1=1e-3, l2=0.0, **loss, **AS_PASSED)
    classes = {} if y.ndim == 2 else {"classes": np.arange(L)[::-1]}
    whole = clone(model).partial_fit(X, y, **classes)
    assert np.count_nonzero(whole.coef_)
    assert not classes or whole.classes_.tolist() == list(range(L))
    for ends in (range(1, N), [N // 2], [1, 2, N - 1]):
        each = clone(model)
        for start, stop in itertools.pairwise([0, *ends, N]):
            first = classes if start == 0 else {}
            each = copy.copy(each.partial_fit(X[start:stop], y[start:stop], **first))
            if start == 60:
                each = pickle.loads(pickle.dumps(each))
        assert same_bits(each.coef_, whole.coef_)
        assert same_bits(each.intercept_, whole.intercept_)
        assert each.t_ == N
    if form == "labels":
        with pytest.raises(ValueError, match="y must have a column for each of 7 labels"):
            whole.partial_fit(X, Y[:, :3])
        with pytest.raises(ValueError, match="y must have a column per label in every call"):
            whole.partial_fit(X, Y[:, 0])


def test_the_softmax_is_a_distribution_and_its_loss_falls():
    """Probabilities add up to 1, the largest is predicted; with two classes it is the logistic."""
    X, scores = rows_and_scores()
    y = scores.argmax(axis=1)
    options = dict(random_state=0, loss="softmax", max_iter=30, tol=None)
    seen, weight = Evaluated(), 1.0 + np.arange(N) % 3
    model = LazyNetClassifier(**options).fit(X, y, sample_weight=weight, callback=seen)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    chosen = probability[np.arange(N), np.searchsorted(model.classes_, y)]
    assert seen.lines[-1]["mean_loss"] == pytest.approx(-weight @ np.log(chosen) / N, rel=1e-9)
    losses = [line["mean_loss"] for line in seen.lines]
    assert losses[-1] < losses[0] < np.log(L) * weight.mean()
    two = y > 2
    logistic = LazyNetClassifier(**{**options, "loss": "log_loss"}).fit(X, two)
    np.testing.assert_array_equal(LazyNetClassifier(**options).fit(X, two).coef_, logistic.coef_)


@pytest.mark.parametrize("loss", ["log_loss", "softmax"])
def test_groups_keep_or_drop_features(loss):
    """Under a strong penalty a feature is used by all classes, more than 32, or by none."""
    X, scores = rows_and_scores()
    y = 6 * scores.argmax(axis=1) + np.arange(N) % 6
    strength = 0.05
    seen = Evaluated()
    rule = FoBoS(group="l2", eta0=0.5)
    model = LazyNetClassifier(
        loss, rule=rule, l1=strength, standardize=False, random_state=0, max_iter=20, tol=None
    ).fit(X, y, callback=seen)
    assert len(model.coef_) > 32
    used = model.coef_ != 0.0
    assert 0 < used.any(axis=0).sum() < D
    assert (used.any(axis=0) == used.all(axis=0)).all()
    norms = np.linalg.norm(model.coef_, axis=0)
    last = seen.lines[-1]
    assert last["objective"] == pytest.approx(last["mean_loss"] + strength * norms.sum(), rel=1e-9)


def damaged_labels(name, value):
    """A matrix of labels with an entry of its index arrays replaced."""
    labels = sparse.csr_matrix(np.ones((N, 2)))
    getattr(labels, name)[5] = value
    return labels


_, LABELS = with_labels()
#: What stands in place of y, and what is said of it.
BAD_LABELS = [
    *((y, "must hold only 0 and 1") for y in (
        2 * LABELS, LABELS / 3, np.where(LABELS, np.nan, 0.0), np.zeros((N, 2), complex),
        sparse.csr_matrix(np.eye(N, 2, dtype=complex)))),
    *((y, "at least one column") for y in (np.empty((N, 0)), sparse.csr_matrix((N, 0)))),
    *((y, "MultiLabelBinarizer") for y in (np.full((N, 2), "a"), [["a", "b"], ["c"]] * (N // 2))),
    *((np.ma.masked_array(y, mask), "masked") for y, mask in (
        (np.ones((N, 2)), np.eye(N, 2)), (np.arange(N) % 2, np.arange(N) == 1))),
    (damaged_labels("indices", 2), "y: row 2 cannot be used"),
    (damaged_labels("indptr", 2**31 - 1), "y: row 4 cannot be used"),
    (LABELS[:-1], "y must have a row for each row of X"),
]  # fmt: skip
#: Options that do not go with labels or with classes, and what is said of them.
BAD_OPTIONS = [
    (dict(class_weight="balanced"), LABELS, "class_weight must be None"),
    (dict(loss="softmax"), LABELS, "loss='softmax'"),
    (dict(loss="softmax", rule=TruncatedGradient(eta0=0.1)), LABELS.argmax(axis=1),
     "loss='softmax' needs one of"),
    (dict(loss="softmax", rule="fobos"), LABELS.argmax(axis=1), "loss='softmax' excludes schedule"),
    (dict(dtype="float32", rule=FoBoS(average=True)), LABELS, "dtype='float32' is for outputs"),
]  # fmt: skip


def test_labels_that_are_none_and_options_that_do_not_fit_are_refused():
    """By name and shortly, before anything is trained."""
    X, _ = with_labels()
    for options, y, message in [*(({}, *each) for each in BAD_LABELS), *BAD_OPTIONS]:
        for method, more in (("fit", {}), ("partial_fit", dict(classes=[0, 1]))):
            model = LazyNetClassifier(**OPTIONS | options)
            if method == "partial_fit" and options:
                continue
            with pytest.raises((TypeError, ValueError), match=message) as refused:
                getattr(model, method)(X, y, **more)
            assert len(str(refused.value)) < 600
            assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("rule", "dtype"),
    [(AdaGrad(), "float64"), (FTRL(), "float32"), (FoBoS(eta0=0.3, average=True), "float64")],
    ids=str,
)
def test_threads_and_blocks_change_no_bit(rule, dtype):
    """A second fit goes on from the first, however threads divided the labels; so do few labels."""
    X, scores = rows_and_scores()
    Y = (np.hstack([scores] * 6) + np.linspace(0, 0.5, 6 * L) > 0.3).astype(int)
    options = dict(OPTIONS, rule=rule, dtype=dtype, warm_start=True, max_iter=2)
    found = [LazyNetClassifier(**options, n_jobs=n).fit(X, Y) for n in (1, 2, 3, 1, 3)]
    once = found[0].coef_.copy()
    np.testing.assert_array_equal(LazyNetClassifier(**options).fit(X, Y[:, :5]).coef_, once[:5])
    for model, n in zip(found, (1, 2, 3, 3, 1), strict=True):
        np.testing.assert_array_equal(model.coef_, once)
        model.set_params(n_jobs=n).fit(X, Y).partial_fit(X, Y)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].coef_, other.coef_)
        np.testing.assert_array_equal(found[0].intercept_, other.intercept_)
    assert not np.allclose(found[0].coef_, once)
    if dtype == "float64":
        alone = LazyNetClassifier(**options)
        alone.fit(X, Y[:, 3]).fit(X, Y[:, 3]).partial_fit(X, Y[:, 3])
        close(found[0].coef_[3:4], alone.coef_)


@EVERY_RULE
def test_the_sparse_weights_of_engines_are_their_weights(rule):
    """Read a few features at a time, they are those of the dense array, with averages too."""
    X = sparse.random(80, 10_000, density=0.1, format="csr", random_state=0)
    Y = np.random.default_rng(1).integers(0, 2, (80, 9))
    model = LazyNetClassifier(rule=rule, **OPTIONS, l2=0.1).fit(X, Y)
    for engine in model._engines:
        found = engine.sparse_coefficients()
        assert found.has_sorted_indices
        assert found.nnz == np.count_nonzero(found.toarray())
        np.testing.assert_array_equal(found.toarray(), engine.coefficients())


def test_columns_keep_the_order_of_their_names():
    """The names of the columns of y are not sorted, and each must be there once."""
    X, Y = with_labels()
    names = [f"label {k}" for k in (3, 1, 6, 0, 5, 2, 4)]
    model = LazyNetClassifier(random_state=0)
    for _ in range(3):
        model.partial_fit(X, Y, classes=names)
    assert model.classes_.tolist() == names
    best, _ = model.predict_top(X, 1)
    assert best[:, 0].tolist() == [names[k] for k in model.decision_function(X).argmax(axis=1)]
    with pytest.raises(ValueError, match="not the same as on the last call"):
        model.partial_fit(X, Y, classes=sorted(names))
    for wrong in (["a"] * L, ["a", "b"]):
        with pytest.raises(ValueError, match=r"every column|a column for each"):
            LazyNetClassifier().partial_fit(X, Y, classes=wrong)


@pytest.mark.parametrize("options", [{}, {"l1": 1e-3}, {"standardize": True}], ids=str)
def test_targets_of_other_sizes_learn_as_well(options):
    """To multiply a target changes no prediction of another target, whatever the penalty."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 10))
    numbers = X @ rng.standard_normal((10, 3)) + 0.1 * rng.standard_normal((300, 3))
    sizes = np.array([1.0, 2.0**20, 2.0**-20])
    model = LazyNetRegressor(random_state=0, **options)
    few, many = clone(model).fit(X, numbers), clone(model).fit(X, numbers * sizes)
    close(many.units_.targets, numbers.std(axis=0) * sizes)
    close(many.predict(X) / sizes, few.predict(X))
    assert r2_score(numbers, few.predict(X), multioutput="raw_values").min() > 0.99
    many.partial_fit(X, numbers * sizes)
    close(many.predict(X) / sizes, few.partial_fit(X, numbers).predict(X))
    assert many.verify(X, numbers * sizes).agrees
    weights = many.coef_.copy(), many.intercept_.copy()
    many.coef_, many.intercept_ = weights
    close(many.coef_, weights[0])
    close(many.predict(X), X @ weights[0].T + weights[1])
    # One target, and a loss with a parameter in the units of the targets.
    assert clone(model).fit(X, numbers[:, 0]).units_.targets is None
    assert clone(model).set_params(loss="huber").fit(X, numbers).units_.targets is None


def test_a_model_in_units_of_targets_goes_on_with_features_as_passed():
    """The model is moved to features and targets as they are, target by target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5)) + 3.0
    numbers = (X @ rng.standard_normal((5, 35))) * np.geomspace(0.01, 100, 35)
    model = LazyNetRegressor(random_state=0, warm_start=True).fit(X, numbers)
    before = model.predict(X)
    model.set_params(standardize=False, rule=FoBoS(eta0=1e-300))
    model.fit(X, numbers, callback=lambda epoch: True)
    assert model.units_ is None
    np.testing.assert_allclose(model.predict(X), before, rtol=1e-9)


@pytest.mark.parametrize(("n_targets", "n_others"), [(3, 1), (3, 2), (1, 3)])
def test_a_warm_start_refuses_another_number_of_targets(n_targets, n_others):
    rng = np.random.default_rng(0)
    X, numbers = rng.standard_normal((50, 6)) + 3.0, rng.standard_normal((50, 3))
    model = LazyNetRegressor(random_state=0, warm_start=True).fit(X, numbers[:, :n_targets])
    with pytest.raises(ValueError, match=f"continues a model of {n_targets} output"):
        model.fit(X, numbers[:, :n_others])


def test_the_form_of_y_decides_on_the_form_of_the_model():
    """A fit with a dense y has dense weights, whatever an earlier fit had."""
    X, Y = with_labels()
    model = LazyNetClassifier(**OPTIONS)
    assert sparse.issparse(model.fit(X, sparse.csr_matrix(Y)).coef_)
    assert isinstance(model.predict(X), sparse.csr_matrix)
    assert isinstance(model.fit(X, sparse.csr_array(Y)).predict(X), sparse.csr_array)
    assert isinstance(model.fit(X, Y).coef_, np.ndarray)
    assert isinstance(model.fit(X, Y[:, 0]).coef_, np.ndarray)
    model.fit(X, sparse.csr_matrix(Y)).set_params(warm_start=True)
    with pytest.raises(ValueError, match="a model of labels, but y has classes"):
        model.fit(X, np.arange(N) % L)


@pytest.mark.parametrize("rule", ["auto", FoBoS(eta0=0.1, average=True), "rda"], ids=str)
def test_verify_trains_the_engine_of_all_labels(rule, monkeypatch):
    """A broken engine of several outputs disagrees with the twin of its first output."""
    from lazynet.engines.outputs import OutputsEngine

    X, Y = with_labels()
    model = LazyNetClassifier(rule=rule, l1=1e-3)
    assert model.verify(X, Y).agrees
    report = str(model.verify(X, Y, max_rows=9))
    assert all(words in report for words in (" agree ", f"first 9 of {N} ", f"first of {L} is"))
    learn = OutputsEngine.learn

    def broken(self, examples, targets, steps, task, t, *rest):
        if t != 5:
            learn(self, examples, targets, steps, task, t, *rest)

    monkeypatch.setattr(OutputsEngine, "learn", broken)
    assert not model.verify(X, Y).agrees


def test_verify_says_what_it_cannot_compare():
    groups, narrow = FoBoS(group="l2", eta0=0.1), dict(dtype="float32")
    for options, name in ((dict(rule=groups), "group"), (narrow, "dtype")):
        with pytest.raises(ValueError, match=f"write {name}="):
            LazyNetClassifier(l1=0.1, **options).verify(*with_labels())


def test_classes_begin_to_share_the_softmax():
    """More classes than one engine holds: the softmax is over all of them."""
    X, y = np.eye(40), np.arange(40)
    model = LazyNetClassifier(rule="ftrl", l1=0.0, shuffle=False).partial_fit(X, y, y)
    start = model.coef_, model.intercept_
    model.set_params(loss="softmax").partial_fit(X, y)
    twin = LazyNetClassifier(rule="ftrl", l1=0.0, shuffle=False, loss="softmax")
    twin.fit(X, y)
    twin.coef_, twin.intercept_ = start
    twin.partial_fit(X, y)
    np.testing.assert_allclose(model.coef_, twin.coef_, rtol=1e-9)


# --- scikit-learn around models of several outputs ------------------------------------------------


def test_data_frames_of_labels():
    """A column per label, of integers, booleans or sparse columns; X may be a table too."""
    pandas = pytest.importorskip("pandas")
    X, Y = with_labels()
    names = [f"label {k}" for k in range(L)]
    expected = LazyNetClassifier(**OPTIONS).fit(X, Y)
    features = pandas.DataFrame(X.toarray(), columns=[f"feature {j}" for j in range(D)])
    for rows, table in (
        (X, pandas.DataFrame(Y.astype(bool), columns=names, index=np.arange(N)[::-1])),
        (X, pandas.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(Y), columns=names)),
        (features, pandas.DataFrame(Y, columns=names)),
    ):
        model = LazyNetClassifier(**OPTIONS).fit(rows, table)
        np.testing.assert_array_equal(sparse.csr_matrix(model.coef_).toarray(), expected.coef_)
        assert model.score(rows, table) == expected.score(X, Y)
    assert list(model.feature_names_in_) == list(features.columns)
