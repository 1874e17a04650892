"""Equal weights that the page "From Vowpal Wabbit" promises are equal (needs vowpalwabbit)."""

import numpy as np
import pytest

from lazynet import FTRL, SGD, AdaGrad, DualNetClassifier, LazyNetClassifier, LazyNetRegressor

vowpalwabbit = pytest.importorskip("vowpalwabbit")

ROWS, FEATURES = 400, 6
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, FEATURES)).round(4)
NUMBERS = (X @ [1.0, -2.0, 0.0, 0.0, 0.5, 0.0] + RNG.normal(size=ROWS)).round(4)
LABELS = np.where(NUMBERS > 0, 1, -1)
ONCE = dict(max_iter=1, tol=None, shuffle=False, fit_intercept=False)
RULE = SGD("constant", eta0=0.05)
PLAIN = "--sgd --learning_rate 0.05 --power_t 0"


def lines(y):
    rows = (" ".join(f"{j}:{value}" for j, value in enumerate(row)) for row in X)
    return [f"{target} | {row}" for row, target in zip(rows, y, strict=True)]


def weights_of(options, y, tmp_path=None):
    """The weights after a run of vw: its predictions for rows with one feature each.

    The feature is small, because vw clips predictions to the range of the labels.
    """
    options = f"--noconstant --quiet {options}"
    if tmp_path is None:
        model = vowpalwabbit.Workspace(options)
        for line in lines(y):
            model.learn(line)
    else:  # several passes need a file
        (tmp_path / "rows").write_text("\n".join(lines(y)) + "\n")
        files = f"-d {tmp_path / 'rows'} --cache_file {tmp_path / 'cache'} --holdout_off"
        model = vowpalwabbit.Workspace(f"{files} {options}")
    weights = [8 * model.predict(f"| {j}:0.125") for j in range(FEATURES)]
    model.finish()
    return np.array(weights)


def same(model, y, weights, tolerance=1e-5):
    np.testing.assert_allclose(model.fit(X, y).coef_.ravel(), weights, atol=tolerance)


def test_plain_sgd():
    for vw, ours in (("logistic", "log_loss"), ("hinge", "hinge")):
        weights = weights_of(f"{PLAIN} --loss_function {vw}", LABELS)
        same(LazyNetClassifier(ours, l1=0, l2=0, rule=RULE, **ONCE), LABELS, weights)


def test_the_squared_error_is_not_halved():
    weights = weights_of(f"{PLAIN} --loss_function squared", NUMBERS)
    rule = SGD("constant", eta0=0.1)
    same(LazyNetRegressor(l1=0, l2=0, rule=rule, **ONCE), NUMBERS, weights)


def test_rates_that_fall():
    options = "--sgd --learning_rate 0.5 --power_t 0.5 --initial_t 2 --loss_function logistic"
    schedule = [0.5 * (2 / (t + 1 + 2)) ** 0.5 for t in range(ROWS)]
    model = LazyNetClassifier(l1=0, l2=0, rule=SGD(schedule), **ONCE)
    same(model, LABELS, weights_of(options, LABELS))


def test_adaptive_rates():
    weights = weights_of("--adaptive --learning_rate 0.05 --loss_function logistic", LABELS)
    rule = AdaGrad(alpha=0.05, delta=1e-12)
    same(LazyNetClassifier(l1=0, l2=0, rule=rule, **ONCE), LABELS, weights)


@pytest.mark.parametrize("passes", [1, 5])
def test_ftrl_with_penalties(passes, tmp_path):
    options = "--ftrl --ftrl_alpha 0.1 --ftrl_beta 1 --l1 1 --l2 0.5 --loss_function logistic"
    rule = FTRL(alpha=0.1, beta=1.0, penalty="once")
    model = LazyNetClassifier(l1=1, l2=0.5, rule=rule, **ONCE | {"max_iter": passes})
    same(model, LABELS, weights_of(f"{options} --passes {passes}", LABELS, tmp_path))


def test_l2_of_sgd():
    weights = weights_of(f"{PLAIN} --loss_function logistic --l2 0.01", LABELS)
    rule = SGD("constant", eta0=0.05, step_order="shrink_first")
    same(LazyNetClassifier(l1=0, l2=0.01, rule=rule, **ONCE), LABELS, weights)


def test_l1_of_sgd_is_another_algorithm():
    weights = weights_of(f"{PLAIN} --loss_function logistic --l1 0.01", LABELS)
    model = LazyNetClassifier(l1=0.01, l2=0, rule=RULE, **ONCE).fit(X, LABELS)
    assert np.abs(model.coef_.ravel() - weights).max() > 0.05


def test_lbfgs_counts_l2_once(tmp_path):
    options = "--bfgs --passes 100 --termination 1e-10 --loss_function logistic --l2 10"
    model = DualNetClassifier(l1=0, l2=10 / ROWS, tol=1e-9, fit_intercept=False)
    same(model, LABELS, weights_of(options, LABELS, tmp_path), tolerance=1e-4)


def test_lbfgs_does_not_reach_the_minimum_with_l1(tmp_path):
    options = "--bfgs --passes 100 --termination 1e-10 --loss_function logistic --l1 10"
    model = DualNetClassifier(l1=10 / ROWS, l2=0, tol=1e-9, fit_intercept=False).fit(X, LABELS)
    weights = weights_of(options, LABELS, tmp_path)
    assert (model.coef_ == 0).any()
    assert (weights != 0).all()
