"""DualNetClassifier and DualNetRegressor as estimators; the minima are those of test_minima.py."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from support.dual import MINIMISED

from lazynet import DualNetClassifier, DualNetRegressor, Huber, net_path
from lazynet.losses import LOSSES

RNG = np.random.default_rng(0)
X = sparse.random(300, 60, density=0.2, format="csr", random_state=0)
SCORES = np.asarray(X[:, :10].sum(axis=1) - X[:, 10:20].sum(axis=1)).ravel()
Y = np.where(SCORES + 0.3 * RNG.standard_normal(300) > 0, "yes", "no")
CLASSES = np.digitize(SCORES, [-0.5, 0.0, 0.5])


def test_what_a_fit_tells():
    model = DualNetClassifier(l1=1e-2, l2=0, random_state=0).fit(X, Y)
    assert 0 <= model.objective_ - model.dual_objective_ <= model.duality_gap_
    assert model.duality_gap_ <= 1e-4 * np.log(2)
    assert [epoch["epoch"] for epoch in model.history_] == list(range(model.n_iter_ + 1))
    assert model.history_[-1]["nonzeros"] == np.count_nonzero(model.coef_) < 60
    assert model.history_[0]["gap"] > model.history_[-1]["gap"]


def test_several_classes_have_a_certificate_each():
    one = DualNetClassifier(l1=5e-3, random_state=0).fit(X, CLASSES)
    assert one.duality_gap_.shape == one.objective_.shape == (4,)
    assert {epoch["output"] for epoch in one.history_} == {0, 1, 2, 3}


def test_a_warm_start_begins_where_the_last_fit_ended():
    model = DualNetClassifier(l1=1e-2, l2=1e-2, warm_start=True, random_state=0).fit(X, Y)
    gap = model.duality_gap_
    model.fit(X, Y)
    # The first look finds nothing left to do.
    assert model.history_[0]["gap"] <= gap + 1e-12
    with pytest.raises(ValueError, match="warm_start=True continues from weights of shape"):
        model.fit(X, CLASSES)


def test_too_few_epochs_are_told_with_the_gap():
    with pytest.warns(
        ConvergenceWarning, match=r"duality gap .*after max_iter=1 epochs: raise max"
    ):
        model = DualNetClassifier(l1=1e-3, max_iter=1).fit(X, Y)
    # One epoch is a step, not a look at the start.
    assert model.n_iter_ == 1
    assert model.coef_.any()


def test_a_search_that_gives_up_says_so():
    """Rounding lets no search come within such a gap, and no number of epochs helps."""
    with pytest.warns(ConvergenceWarning) as caught:
        model = DualNetClassifier(l1=1e-2, l2=0, tol=1e-18, random_state=0).fit(X, Y)
    (message,) = (str(warning.message) for warning in caught)
    assert message.endswith("The search ended where the gap falls no more: raise tol")
    assert model.n_iter_ < 1000


def test_targets_far_from_zero_are_told():
    """Where the digits of y are lost to its distance from 0, and only there."""
    fit = DualNetRegressor("huber", l1=1e-2, l2=0, tol=1e-9, random_state=0).fit
    with pytest.warns(ConvergenceWarning, match="raise tol, or subtract the mean from y"):
        fit(X, SCORES + 1e8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(X, SCORES + 1e8 - np.mean(SCORES + 1e8))
        DualNetRegressor().fit(X, SCORES + 1e5)


@pytest.mark.parametrize("loss", MINIMISED)
@pytest.mark.parametrize(("l1", "l2"), [(1e-2, 0), (2e-3, 1e-3), (0, 1e-2)])
def test_a_loop_of_warm_starts_arrives(loss, l1, l2):
    """An epoch at a time, for problems on which dual ascent begins too."""
    rng = np.random.default_rng(0)
    rows = sparse.random(500, 60, density=0.4, format="csr", random_state=0)
    scores = np.asarray(rows[:, :5].sum(axis=1)).ravel() + 0.3 * rng.standard_normal(500)
    kind, y = DualNetRegressor, scores
    if LOSSES[loss].margin:
        kind, y = DualNetClassifier, scores > 1.0
    options = dict(l1=l1, l2=l2, warm_start=True, random_state=0)
    one = kind(loss, max_iter=1, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(80):
            one.fit(rows, y)
            if one.n_iter_ == 0:
                break
    assert one.n_iter_ == 0
    whole = kind(loss, **options).fit(rows, y)
    gaps = one.duality_gap_ + whole.duality_gap_
    assert abs(one.objective_ - whole.objective_) <= gaps <= 2e-4 * whole.history_[0]["objective"]
    # The duals are kept: a fit after the last one finds nothing left to do.
    assert whole.fit(rows, y).n_iter_ == 0


def test_a_class_without_weight_is_refused():
    weights = (Y == "yes") * 1.0
    for fit in (DualNetClassifier().fit, net_path):
        with pytest.raises(ValueError, match=r"above 0 for a row of every class.* rows of no"):
            fit(X, Y, sample_weight=weights)
    with pytest.raises(ValueError, match="is 0 for all rows of 2"):
        DualNetClassifier(class_weight={2: 0.0}).fit(X, CLASSES)


def test_a_line_per_epoch(capsys):
    model = DualNetRegressor(Huber(0.3), l1=1e-2, verbose=1).fit(X, SCORES)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(model.history_)
    for line, epoch in zip(lines, model.history_, strict=True):
        assert line.split()[:2] == ["epoch", str(epoch["epoch"])]
        assert f"gap {epoch['gap']:.3g} " in line


@pytest.mark.parametrize("options", [dict(l1=0, l2=0), dict(tol=0), dict(loss="perceptron")])
def test_bad_parameters_are_named(options):
    with pytest.raises(ValueError, match=r"\b" + next(iter(options)) + r"\b"):
        DualNetClassifier(**options).fit(X, Y)
