"""The classes or labels with the highest w.x + b: in order, nested, and in little memory."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support import peak_of

from lazynet import LazyNetClassifier

D, L = 30, 9


def model_of(coef, labels=False, intercept=None):
    """A model of these weights, a row per class or label."""
    coef = np.asarray(coef, dtype=float)
    n = len(coef)
    y = np.vstack([np.eye(n, dtype=int)] * 3) if labels else np.tile(np.arange(n), 3)
    model = LazyNetClassifier(max_iter=1, tol=None, random_state=0)
    model.fit(sparse.csr_matrix(np.ones((3 * n, coef.shape[1]))), y)
    model.coef_, model.intercept_ = coef, np.zeros(n) if intercept is None else intercept
    return model


def expected_top(decision, k):
    """A stable sort: of equal numbers the lower index comes first, as argmax has it."""
    return np.argsort(-decision, axis=1, kind="stable")[:, :k]


def decisions_with_ties(data):
    """Rows of few different numbers, for a model that gives them back."""
    row = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=L, max_size=L)
    return np.array(data.draw(st.lists(row, min_size=1, max_size=6)))


@functools.cache
def tied(labels):
    """The model whose w.x + b is x itself."""
    return model_of(np.eye(L), labels)


def decisions_without_ties(data, labels):
    """Sparse rows, and a model of random weights."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    X = sparse.random(12, D, density=0.4, format="csr", random_state=rng)
    return X, model_of(rng.standard_normal((L, D)), labels, rng.standard_normal(L))


@pytest.mark.parametrize("labels", [False, True], ids=["classes", "labels"])
@pytest.mark.parametrize("ties", [False, True], ids=["", "ties"])
@given(data=st.data(), rows=st.sampled_from([1, 5, 2**22]))
def test_answers_are_those_of_a_stable_sort(ties, labels, data, rows):
    """For every k, of equal numbers too, in blocks of any size; the highest class is predicted."""
    if ties:
        X, model = decisions_with_ties(data), tied(labels)
    else:
        X, model = decisions_without_ties(data, labels)
    decision = model.decision_function(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lazynet.estimators.linear._NUMBERS_OF_A_BLOCK", rows * L)
        answers = [model.predict_top(X, k) for k in range(1, L + 1)]
    for k, (found, scores) in enumerate(answers, start=1):
        np.testing.assert_array_equal(found, expected_top(decision, k))
        np.testing.assert_array_equal(scores, np.take_along_axis(decision, found, axis=1))
        if not labels:
            np.testing.assert_array_equal(found[:, 0], model.predict(X))
    for k in (0, L + 1, 1.5):
        with pytest.raises((TypeError, ValueError), match="k must"):
            model.predict_top(X, k)


@pytest.mark.parametrize("tie", [False, True], ids=["", "tie"])
def test_two_classes_have_one_row_of_weights(tie):
    """w.x + b of the second class, and its negative of the first, to which a tie belongs."""
    model = LazyNetClassifier(max_iter=1, tol=None, random_state=0)
    model.fit(np.array([[1.0], [-1.0]]), ["yes", "no"])
    model.coef_, model.intercept_ = np.ones((1, 1)), np.zeros(1)
    X = np.zeros((2, 1)) if tie else np.array([[3.0], [-2.0]])
    classes, scores = model.predict_top(X, 2)
    np.testing.assert_array_equal(classes[:, 0], model.predict(X))
    np.testing.assert_array_equal(model.predict_top(X, 1)[0], classes[:, :1])
    np.testing.assert_array_equal(scores[:, 0], np.abs(X[:, 0]))
    np.testing.assert_array_equal(scores[:, 1], -np.abs(X[:, 0]))


def bytes_beside_the_answer(model, X, k):
    """The most memory that predict_top has asked for at once, beside what it returns."""
    model.predict_top(X[:10], k)
    answers, peak = peak_of(lambda: model.predict_top(X, k))
    return peak - sum(each.nbytes for each in answers)


@pytest.mark.parametrize("labels", [False, True], ids=["classes", "labels"])
@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(labels, monkeypatch):
    """Beyond the result, which the parts of the answer make twice as large for a moment."""
    monkeypatch.setattr("lazynet.estimators.linear._NUMBERS_OF_A_BLOCK", 2**14)
    rng = np.random.default_rng(0)
    model, k = model_of(rng.standard_normal((200, D)), labels), 3
    X = sparse.random(20_000, D, density=0.2, format="csr", random_state=0)
    sizes = 2_000, 20_000
    few, many = (bytes_beside_the_answer(model, X[:n], k) for n in sizes)
    grown = sizes[1] - sizes[0]
    # A class and a number, 16 bytes, for each row and place.
    per_place = (many - few) / (grown * k)
    assert per_place <= 16 * 3, per_place
    # An array of all rows and labels has 8 bytes for each label of a row.
    assert many - few < grown * 200 * 8 / 4
