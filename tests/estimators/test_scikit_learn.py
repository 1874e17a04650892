"""The estimators pass scikit-learn's checks, and train, stop, report and resume as documented."""

import copy
import sys
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from support import AS_PASSED, Evaluated, same_bits
from support.algorithms import STREAMING_RULES
from support.matrices import make_data
from support.parameters import rule_with

from lazynet import (
    FTRL,
    RDA,
    AdaGrad,
    ASGDClassifier,
    ASGDRegressor,
    DualNetClassifier,
    DualNetClassifierCV,
    DualNetRegressor,
    DualNetRegressorCV,
    ElasticNet,
    FoBoS,
    LazyNetClassifier,
    LazyNetClassifierCV,
    LazyNetRegressor,
    LazyNetRegressorCV,
    StabilisedSGDClassifier,
    Stepper,
    Tables,
    TruncatedGradient,
)
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.losses import LOSSES
from lazynet.reference.losses import LOSSES as AS_WRITTEN
from lazynet.rules.storage import STORAGES

LOSSES_WITH_PROBABILITY = [name for name, loss in LOSSES.items() if loss.probability]

#: The losses of many predictions, by their formulas.
FORMULAS = {
    name: np.vectorize(partial(value, epsilon=0.1), otypes=[float])
    for name, (value, _) in AS_WRITTEN.items()
}

# --- scikit-learn's own checks --------------------------------------------------------------

EVERY_ROW_IS_A_STEP = (
    "every row is a step: it takes its turn in the shuffled order, lowers the rate and shrinks "
    "the weights, whatever its sample weight, so a row of weight 0 is not a missing row and a row "
    "of weight 2 is not two rows (scikit-learn's SGDClassifier fails this check likewise)"
)
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": EVERY_ROW_IS_A_STEP,
    "check_sample_weight_equivalence_on_sparse_data": EVERY_ROW_IS_A_STEP,
}
LONG_FIRST_STEPS = (
    "steps at the rate 1 / (l2 t) begin with a length of 1 / l2, which class weights of 1000 and "
    "rows of squared norm 800 make longer still: 1000 epochs of 50 rows do not outlast them"
)
OWN_FAILURES = {
    ASGDClassifier: {"check_class_weight_classifiers": LONG_FIRST_STEPS},
}


# A penalty with much l2 has a minimum that is found to many digits, which the checks of sample
# weights compare.
EXACT = dict(cv=2, l1s=[0.1, 0.03], l2s=0.1, tol=1e-13, max_iter=5000)
MINIMA = [
    DualNetClassifier(), DualNetRegressor(), DualNetClassifierCV(**EXACT),
    DualNetRegressorCV(**EXACT),
]  # fmt: skip


@parametrize_with_checks(
    [
        *MINIMA,
        LazyNetClassifierCV(cv=3),
        LazyNetRegressorCV(cv=3),
        LazyNetClassifier(),
        LazyNetRegressor(),
        LazyNetClassifier(rule=FoBoS(average=True)),
        LazyNetClassifier(rule="saga"),  # which has no partial_fit
        ASGDClassifier(),
        ASGDRegressor(),
        StabilisedSGDClassifier(),
    ],
    xfail_strict=True,
    expected_failed_checks=lambda estimator: (
        {}
        if type(estimator) in map(type, MINIMA)
        else EXPECTED_FAILURES | OWN_FAILURES.get(type(estimator), {})
    ),
)
@pytest.mark.filterwarnings("ignore:the best .* that was tried")
def test_scikit_learn_check(estimator, check):
    """The estimator keeps the conventions that scikit-learn checks."""
    check(estimator)


# --- data -----------------------------------------------------------------------------------


def problem_for(loss, seed=0):
    """An estimator class with the data, and the targets as the loss sees them."""
    if LOSSES[loss].margin:
        X, y = make_data(seed=seed)
        return LazyNetClassifier, X, y, 2.0 * y - 1
    X, y = make_data(n_classes=0, seed=seed)
    return LazyNetRegressor, X, y, y


def importances(n, seed=0):
    """Sample weights, some of them 0."""
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 3.0], n)


def objective(model, X, targets, weights=1.0):
    """mean(s_i l_i) and the objective, by NumPy from the public coefficients."""
    w, (b,) = model.coef_.ravel(), model.intercept_
    mean_loss = np.mean(weights * FORMULAS[model.loss](X @ w + b, targets))
    return mean_loss, mean_loss + model.l1 * np.abs(w).sum() + model.l2 / 2 * (w**2).sum()


# --- classes and probabilities --------------------------------------------------------------


#: The formulas that are not the logistic one.
PROBABILITIES = {"modified_huber": lambda p: (np.clip(p, -1.0, 1.0) + 1.0) / 2.0}


@pytest.mark.parametrize("loss", LOSSES_WITH_PROBABILITY)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_probabilities_are_a_distribution(loss, n_classes):
    """Rows of predict_proba are in [0, 1], sum to 1, and the largest is the predicted class."""
    X, y = make_data(n_classes=n_classes)
    model = LazyNetClassifier(
        loss=loss, rule=FoBoS(eta0=0.1), max_iter=10, tol=None, random_state=0
    ).fit(X, y)
    # Scaled up, so that modified Huber's clipped probabilities are all 0 in some rows.
    for rows in (X, 100 * X):
        probability = model.predict_proba(rows)
        if n_classes == 2:
            # Small numbers keep their digits.
            margins = model.decision_function(rows)[:, None] * [-1.0, 1.0]
            expected = PROBABILITIES.get(loss, expit)(margins)
            np.testing.assert_allclose(probability, expected, rtol=1e-12, atol=0)
        assert probability.shape == (X.shape[0], n_classes)
        assert ((probability >= 0) & (probability <= 1)).all()
        assert np.allclose(probability.sum(axis=1), 1, rtol=0, atol=1e-12)
    probability = model.predict_proba(X)
    chosen = probability[np.arange(len(y)), np.searchsorted(model.classes_, model.predict(X))]
    assert (chosen == probability.max(axis=1)).all()
    with np.errstate(divide="ignore"):
        assert np.allclose(model.predict_log_proba(X), np.log(probability))


@pytest.mark.parametrize("loss", LOSSES)
def test_only_losses_with_probabilities_have_predict_proba(loss):
    """hasattr tells whether there are probabilities, before and after training."""
    X, y = make_data()
    model = LazyNetClassifier(loss=loss, rule=FoBoS(eta0=0.05), max_iter=1, tol=None)
    for each in (model, clone(model).fit(X, y)):
        expected = loss in LOSSES_WITH_PROBABILITY
        assert hasattr(each, "predict_proba") is expected
        assert hasattr(each, "predict_log_proba") is expected
    assert not hasattr(LazyNetRegressor(), "predict_proba")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 4.0}])
def test_class_weight_is_a_sample_weight(class_weight, n_classes):
    """class_weight multiplies sample_weight; balanced is n / (classes * count), unnamed is 1."""
    X, y = make_data(n_classes=n_classes)
    given = importances(len(y))
    if class_weight == "balanced":
        by_class = len(y) / (n_classes * np.bincount(y))
    else:
        by_class = np.array([class_weight.get(k, 1.0) for k in range(n_classes)])
    # The automatic rule depends on class_weight.
    options = dict(rule="adagrad", max_iter=5, tol=None, random_state=0)
    model = LazyNetClassifier(class_weight=class_weight, **options)
    expected = LazyNetClassifier(**options)
    assert same_bits(model.fit(X, y).coef_, expected.fit(X, y, by_class[y]).coef_)
    assert same_bits(model.fit(X, y, given).coef_, expected.fit(X, y, by_class[y] * given).coef_)


# --- steps ----------------------------------------------------------------------------------


STEPPING = [
    *(FoBoS(eta0=0.5, storage=storage) for storage in ("clock", Tables(budget=17), "dense")),
    *(
        rule_with(name, eta0=0.5) if ALGORITHMS[name].rule.scheduled else ALGORITHMS[name].rule()
        for name in STREAMING_RULES
        # The rates of AdaGrad() fall in ``fit``: tests/exact/test_rates_of_later_epochs.py.
        if name not in ("fobos", "adagrad")
    ),
    RDA(gamma=2.0),
    FTRL(alpha=0.1),
    AdaGrad(alpha=0.1),
]


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("rule", STEPPING, ids=str)
def test_training_is_stepping_by_hand(rule, fit_intercept, monkeypatch):
    """Unshuffled, row i of epoch e is step e*n + i of fit with its weight, bit for bit.

    Batches of any size of partial_fit continue the count of steps.  The progressive loss is that of
    the predictions before the steps.
    """
    monkeypatch.setattr("lazynet.training.passes._LARGEST_CHUNK", 16)
    X, y = make_data()
    weights = importances(len(y))
    options = dict(rule=rule, l1=1e-2, l2=1e-2, fit_intercept=fit_intercept)
    model = LazyNetClassifier(max_iter=3, tol=None, **AS_PASSED, **options)
    stepper = Stepper(X.shape[1], **options)
    batches, margins = clone(model), []
    for start, stop in [(0, 1), (1, 20), (20, 60), (0, 60), (0, 60)]:
        for row in range(start, stop):
            target = 2.0 * y[row] - 1
            margins.append(target * stepper.step_row(X, row, target, weights[row]))
        # Rates that come from the rows are those of the rows at hand.
        if rule.scheduled:
            rows = slice(start, stop)
            batches.partial_fit(X[rows], y[rows], classes=[0, 1], sample_weight=weights[rows])
            assert same_bits(batches.coef_[0], stepper.weights)
            assert batches.intercept_[0] == stepper.intercept
            assert batches.t_ == stepper.t
    model.fit(X, y, weights)
    if rule.settled().size_kind is None:  # or a step begins with a new scale of the rates
        losses = (weights * FORMULAS["log_loss"](np.reshape(margins, (3, 60)), 1.0)).mean(axis=1)
        assert [line["progressive_loss"] for line in model.history_] == pytest.approx(losses)
    assert same_bits(model.coef_[0], stepper.weights)
    assert model.coef_.any()
    assert model.intercept_[0] == stepper.intercept
    assert (stepper.intercept != 0) == fit_intercept
    assert model.t_ == stepper.t


def test_one_sample_order_is_permuted_rows():
    """An explicit order visits the rows as if they had been permuted, and shuffle is ignored.

    A call of ``partial_fit`` after ``fit`` goes on counting steps, and keeps ``history_``.
    """
    X, y = make_data()
    order = np.random.default_rng(1).permutation(len(y))
    options = dict(rule=FoBoS(eta0=0.1), l1=1e-2, max_iter=3, tol=None, standardize=False)
    ordered = LazyNetClassifier(**options).fit(X, y, sample_order=order)
    permuted = LazyNetClassifier(shuffle=False, **options).fit(X[order], y[order])
    assert same_bits(ordered.coef_, permuted.coef_)
    assert same_bits(ordered.intercept_, permuted.intercept_)
    for model in (ordered, permuted):
        model.set_params(shuffle=False)
    ordered.partial_fit(X, y, sample_order=order)
    permuted.partial_fit(X[order], y[order])
    assert same_bits(ordered.coef_, permuted.coef_)
    assert (ordered.t_, len(ordered.history_)) == (4 * len(y), 3)
    # An order for each epoch, in which rows repeat and are left out.
    orders = np.random.default_rng(2).integers(0, len(y), (3, 17))
    batches = LazyNetClassifier(**options).set_params(shuffle=False)
    batches.partial_fit(X[orders.ravel()], y[orders.ravel()], classes=[0, 1])
    assert same_bits(ordered.fit(X, y, sample_order=orders).coef_, batches.coef_)
    assert ordered.t_ == batches.t_ == orders.size
    with pytest.raises(ValueError, match="sample_order has 3 epochs"):
        ordered.set_params(max_iter=4).fit(X, y, sample_order=orders)


# --- the rate that is chosen where none is given ---------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_eta0_by_default_is_the_largest_that_does_not_overshoot(loss, fit_intercept, weighted):
    """eta0_ = 1 / (c * max |x|^2), the intercept's 1 and unbounded slopes' weights included."""
    Estimator, X, y, _ = problem_for(loss)
    weights = importances(len(y)) if weighted else None
    norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() + fit_intercept
    if weighted and LOSSES[loss].unbounded_slope:
        norms = norms * weights
    options = dict(loss=loss, fit_intercept=fit_intercept, max_iter=2, tol=None, **AS_PASSED)
    model = Estimator(rule=FoBoS("power"), **options).fit(X, y, sample_weight=weights)
    curvature = LOSSES[loss].curvature or 1.0
    assert model.eta0_ == pytest.approx(1 / (curvature * norms.max()), rel=1e-12)
    given = Estimator(rule=FoBoS("power", eta0=model.eta0_), **options)
    assert same_bits(given.fit(X, y, sample_weight=weights).coef_, model.coef_)
    assert model.rule.eta0 is None


def test_eta0_of_a_stream_is_that_of_its_first_batch():
    """Later batches do not change a rate that was chosen; a rate that is given replaces it."""
    X, y = make_data()
    model = LazyNetClassifier(rule=FoBoS("power")).partial_fit(X, y, classes=[0, 1])
    chosen = model.eta0_
    assert model.partial_fit(100 * X, y).eta0_ == chosen
    assert model.set_params(rule__eta0=0.01).partial_fit(X, y).eta0_ == 0.01


@pytest.mark.parametrize("size", [0.0, 1e-162, 1e-160, 1e-154, 1e-40, 1e40, 1e150])
@pytest.mark.parametrize("Estimator", [LazyNetClassifier, LazyNetRegressor])
def test_eta0_by_default_fits_features_of_any_size(Estimator, size):
    """A rate that nobody asked for is never refused, nor does training diverge with it.

    Where no rate is finite, training uses the largest rate that rules take.
    """
    X, y = make_data()
    diagonal = np.diag([1.0, 1.0]), [0, 1]
    for rows, targets, loss, rule in (
        (X, y, Estimator().loss, FoBoS("power")),
        *((*diagonal, "hinge", rule) for rule in ("auto", TruncatedGradient(threshold=1.0))),
    ):
        if loss != "hinge" or Estimator is LazyNetClassifier:
            model = Estimator(loss, rule=rule, fit_intercept=False, max_iter=3, tol=None)
            assert np.isfinite(model.fit(size * rows, targets).coef_).all()


@pytest.mark.parametrize("first", ["rda", "ftrl", "adagrad"])
def test_rates_of_a_rule_without_a_schedule_say_nothing_of_those_of_a_schedule(first):
    """After a rule with rates of its own, the scale of the rates comes from the rows at hand."""
    X, y = make_data()
    model = LazyNetClassifier(rule=first, **AS_PASSED)
    model.partial_fit(100.0 * X, y, classes=[0, 1])
    model.set_params(rule=FoBoS("power")).partial_fit(100.0 * X, y)
    fresh = LazyNetClassifier(rule=FoBoS("power"), **AS_PASSED)
    fresh.partial_fit(100.0 * X, y, classes=[0, 1])
    assert model.eta0_ == fresh.eta0_


# --- the objective, the history and when to stop --------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_callback_reads_the_objective_by_numpy(loss, weighted):
    """mean_loss is mean(s_i l_i), objective adds l1 |w|_1 + l2/2 |w|^2, of the last weights."""
    Estimator, X, y, targets = problem_for(loss)
    weights = importances(len(y)) if weighted else None
    options = dict(loss=loss, l1=0.01, l2=0.02, max_iter=4, tol=None, **AS_PASSED)
    seen = Evaluated()
    model = Estimator(rule=FoBoS(eta0=0.1), **options).fit(
        X, y, sample_weight=weights, callback=seen
    )
    always = {"epoch", "progressive_loss", "seconds"}
    assert [set(record) for record in model.history_] == [always] * 4
    assert [record["epoch"] for record in model.history_] == [0, 1, 2, 3]
    assert all(record["seconds"] >= 0 for record in model.history_)
    last = seen.lines[-1]
    expected = objective(model, X, targets, 1.0 if weights is None else weights)
    assert (last["mean_loss"], last["objective"]) == pytest.approx(expected, rel=1e-12)
    assert last["nonzeros"] == np.count_nonzero(model.coef_)


@pytest.mark.parametrize(
    ("l1", "l2", "expected"), [(0.0, 0.0, 0.0), (2.0, 0.0, 2e200), (0.0, 2.0, np.inf)]
)
def test_a_strength_of_zero_costs_nothing(l1, l2, expected):
    """A penalty that is switched off adds 0 to the objective, however large the weights are."""
    assert ElasticNet(l1, l2).value(np.array([1e200])) == expected


def printed(capsys):
    """The lines before and after the explanation of the progressive loss."""
    lines = capsys.readouterr().out.splitlines()
    (place,) = (k for k, line in enumerate(lines) if line.startswith("progressive loss: "))
    return lines[:place], lines[place + 1 :]


@pytest.mark.parametrize("tol", [None, 0.2])
def test_progress_is_one_line_per_epoch(capsys, tol):
    """verbose=1 prints the automatic choices, then a line for each epoch; verbose=0 nothing."""
    X, y = make_data(n_classes=3)
    model = LazyNetClassifier(tol=tol, random_state=0).set_params(verbose=1)
    model.set_params(max_iter=500 if tol else 6).fit(X, y)
    choices, lines = printed(capsys)
    assert choices == str(model.auto_).splitlines()
    for number, (line, record) in enumerate(zip(lines, model.history_, strict=True), start=1):
        assert line.startswith(f"epoch {number:4d} ")
        assert f"progressive loss {record['progressive_loss']:.6g} " in line
    model.set_params(max_iter=2, early_stopping=True).fit(X, y)
    for line, record in zip(printed(capsys)[1], model.history_, strict=True):
        assert f"validation loss {record['validation_loss']:.6g} " in line
    model.set_params(verbose=0).fit(X, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("verbose", "terminal"), [(1, False), (1, True), (0, True)])
def test_progress_bar_only_on_a_terminal(monkeypatch, capsys, verbose, terminal):
    """verbose=1 on a terminal makes a bar that advances by every step; nothing else makes one."""
    bars = []

    class Bar(nullcontext):
        def __init__(self, **options):
            super().__init__(self)
            self.total, self.seen, self.closed = options["total"], 0, False
            bars.append(self)

        def update(self, steps):
            self.seen += steps

        def __exit__(self, *error):
            self.closed = True

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=Bar))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    X, y = make_data()
    LazyNetClassifier(max_iter=3, tol=None, verbose=verbose).fit(X, y)
    assert len(bars) == (3 if verbose and terminal else 0)
    assert all(bar.seen == bar.total == len(y) and bar.closed for bar in bars)
    assert capsys.readouterr().err == ""


# --- partial_fit ----------------------------------------------------------------------------


@pytest.mark.parametrize("after", STORAGES)
@pytest.mark.parametrize("before", STORAGES)
def test_partial_fit_goes_on_in_the_storage_asked_for(before, after):
    """set_params(rule__storage=...) hands the weights on; the model stays the same."""
    X, y = make_data()
    model = LazyNetClassifier(rule=FoBoS("power", storage=before), l1=1e-2, shuffle=False)
    model.partial_fit(X, y, classes=[0, 1])
    expected = copy.deepcopy(model).partial_fit(X, y).coef_
    model.set_params(rule__storage=after).partial_fit(X, y)
    assert model.t_ == 2 * len(y)
    assert np.allclose(model.coef_, expected, rtol=1e-10, atol=1e-12)
