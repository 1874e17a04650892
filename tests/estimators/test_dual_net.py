"""DualNetClassifier and DualNetRegressor as estimators; the minima are those of test_minima.py."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from lazynet import DualNetClassifier, DualNetRegressor, Huber

RNG = np.random.default_rng(0)
X = sparse.random(300, 60, density=0.2, format="csr", random_state=0)
SCORES = np.asarray(X[:, :10].sum(axis=1) - X[:, 10:20].sum(axis=1)).ravel()
Y = np.where(SCORES + 0.3 * RNG.standard_normal(300) > 0, "yes", "no")
CLASSES = np.digitize(SCORES, [-0.5, 0.0, 0.5])


@parametrize_with_checks([DualNetClassifier(), DualNetRegressor()])
def test_scikit_learn_checks_pass_with_nothing_excused(estimator, check):
    check(estimator)


def test_what_a_fit_tells():
    model = DualNetClassifier(l1=1e-2, l2=0, random_state=0).fit(X, Y)
    assert 0 <= model.objective_ - model.dual_objective_ <= model.duality_gap_
    assert model.duality_gap_ <= 1e-4 * np.log(2)
    assert model.n_iter_ == len(model.history_)
    assert [epoch["epoch"] for epoch in model.history_] == list(range(model.n_iter_))
    assert model.history_[-1]["nonzeros"] == np.count_nonzero(model.coef_) < 60
    assert model.history_[0]["gap"] > model.history_[-1]["gap"]


def test_several_classes_have_a_certificate_each_and_any_number_of_threads_gives_the_same_bits():
    one, three = (
        DualNetClassifier(l1=5e-3, n_jobs=n_jobs, random_state=0).fit(X, CLASSES)
        for n_jobs in (1, 3)
    )
    assert one.duality_gap_.shape == one.objective_.shape == (4,)
    assert {epoch["problem"] for epoch in one.history_} == {0, 1, 2, 3}
    np.testing.assert_array_equal(one.coef_, three.coef_)
    np.testing.assert_array_equal(one.intercept_, three.intercept_)


def test_a_warm_start_begins_where_the_last_fit_ended():
    model = DualNetClassifier(l1=1e-2, l2=1e-2, warm_start=True, random_state=0).fit(X, Y)
    gap = model.duality_gap_
    model.fit(X, Y)
    # The first look finds nothing left to do.
    assert model.history_[0]["gap"] <= gap + 1e-12
    with pytest.raises(ValueError, match="warm_start goes on from weights of shape"):
        model.fit(X, CLASSES)


def test_too_few_epochs_are_told_with_the_gap():
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        DualNetClassifier(l1=1e-3, max_iter=1).fit(X, Y)


def test_a_line_per_epoch(capsys):
    model = DualNetRegressor(Huber(0.3), l1=1e-2, verbose=1).fit(X, SCORES)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert all(line.startswith("epoch") and "gap" in line for line in lines)


@pytest.mark.parametrize("options", [dict(l1=0, l2=0), dict(tol=0), dict(max_iter=0), dict(l1=-1)])
def test_bad_parameters_are_named(options):
    with pytest.raises(ValueError, match=r"\b" + next(iter(options)) + r"\b"):
        DualNetClassifier(**options).fit(X, Y)


def test_parameters_of_other_libraries_are_answered():
    with pytest.raises(TypeError, match=r"l2=1/\(C\*n_samples\)"):
        DualNetClassifier(C=1.0)
