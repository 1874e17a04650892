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
ONCE = dict(standardize=False, max_iter=1, tol=None, shuffle=False, fit_intercept=False)
RULE = SGD("constant", eta0=0.05)
PLAIN = "--sgd --learning_rate 0.05 --power_t 0"
LBFGS = "--bfgs --passes 100 --termination 1e-10 --loss_function logistic"


def weights_of(options, y, folder):
    """The weights after a run of vw: its predictions for rows with one feature each.

    The feature is small, because vw clips predictions to the range of the labels.
    """
    rows = [" ".join(f"{j}:{value}" for j, value in enumerate(row)) for row in X]
    lines = [f"{target} | {row}\n" for row, target in zip(rows, y, strict=True)]
    (folder / "rows").write_text("".join(lines))
    files = f"-d {folder / 'rows'} --cache_file {folder / 'cache'} --holdout_off"
    model = vowpalwabbit.Workspace(f"--noconstant --quiet {files} {options}")
    weights = [8 * model.predict(f"| {j}:0.125") for j in range(FEATURES)]
    model.finish()
    return np.array(weights)


#: Options of vw, targets, the model with the same weights, and how far they may be apart.
EQUAL = {
    **{f"plain sgd, {loss}": (
           f"{PLAIN} --loss_function {vw}", LABELS,
           LazyNetClassifier(loss, l1=0, l2=0, rule=RULE, **ONCE), 1e-5,
       ) for vw, loss in (("logistic", "log_loss"), ("hinge", "hinge"))},
    "the squared error is not halved": (
        f"{PLAIN} --loss_function squared", NUMBERS,
        LazyNetRegressor(l1=0, l2=0, rule=SGD("constant", eta0=0.1), **ONCE), 1e-5,
    ),
    "rates that fall": (
        "--sgd --learning_rate 0.5 --power_t 0.5 --initial_t 2 --loss_function logistic", LABELS,
        LazyNetClassifier(
            l1=0, l2=0, rule=SGD([0.5 * (2 / (t + 1 + 2)) ** 0.5 for t in range(ROWS)]), **ONCE
        ), 1e-5,
    ),
    "adaptive rates": (
        "--adaptive --learning_rate 0.05 --loss_function logistic", LABELS,
        LazyNetClassifier(l1=0, l2=0, rule=AdaGrad(alpha=0.05, delta=1e-12), **ONCE), 1e-5,
    ),
    "l2 of sgd": (
        f"{PLAIN} --loss_function logistic --l2 0.01", LABELS,
        LazyNetClassifier(
            l1=0, l2=0.01, rule=SGD("constant", eta0=0.05, step_order="shrink_first"), **ONCE
        ), 1e-5,
    ),
    **{f"ftrl, {passes} passes": (
           "--ftrl --ftrl_alpha 0.1 --ftrl_beta 1 --l1 1 --l2 0.5 --loss_function logistic"
           f" --passes {passes}", LABELS,
           LazyNetClassifier(
               l1=1, l2=0.5, rule=FTRL(alpha=0.1, penalty="once"), **ONCE | {"max_iter": passes}
           ), 1e-5,
       ) for passes in (1, 5)},
    "lbfgs counts l2 once": (
        f"{LBFGS} --l2 10", LABELS,
        DualNetClassifier(l1=0, l2=10 / ROWS, tol=1e-9, fit_intercept=False), 1e-4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_equal_weights(name, tmp_path):
    options, y, model, tolerance = EQUAL[name]
    found = model.fit(X, y).coef_.ravel()
    np.testing.assert_allclose(found, weights_of(options, y, tmp_path), atol=tolerance)


def test_l1_of_sgd_is_another_algorithm(tmp_path):
    weights = weights_of(f"{PLAIN} --loss_function logistic --l1 0.01", LABELS, tmp_path)
    model = LazyNetClassifier(l1=0.01, l2=0, rule=RULE, **ONCE).fit(X, LABELS)
    assert np.abs(model.coef_.ravel() - weights).max() > 0.05


def test_lbfgs_does_not_reach_the_minimum_with_l1(tmp_path):
    model = DualNetClassifier(l1=10 / ROWS, l2=0, tol=1e-9, fit_intercept=False).fit(X, LABELS)
    weights = weights_of(f"{LBFGS} --l1 10", LABELS, tmp_path)
    assert (model.coef_ == 0).any()
    assert (weights != 0).all()
