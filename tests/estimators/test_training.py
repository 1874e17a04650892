"""How long fit trains, what it tells of every epoch, and which weights it keeps."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import xlog1py, xlogy
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score
from support import AS_PASSED, same_bits
from support.matrices import categories, make_data, noisy_documents
from support.portrait import portrait

from lazynet import (
    FTRL,
    RDA,
    SAGA,
    AdaGrad,
    Balanced,
    Constant,
    Dense,
    FoBoS,
    LazyNetClassifier,
    LazyNetRegressor,
    Tables,
    load,
)
from lazynet.reference.losses import LOSSES as FORMULAS
from lazynet.training import rows as in_memory
from lazynet.training.folds import split
from lazynet.training.settings import TOL

#: A fit whose best epoch is not its last, with a rate that is too large to come to rest.
RESTLESS = dict(l1=1e-3, l2=1e-4, random_state=0, max_iter=12, n_iter_no_change=12)
STORAGES = ["clock", Tables(budget=17), Dense()]


# --- what an epoch costs --------------------------------------------------------------------


def test_what_an_epoch_costs_is_computed_when_it_is_read(monkeypatch):
    """Neither tol nor verbose nor a callback makes a pass for the objective; reading it does."""
    X, y = make_data()
    evaluated, evaluate = [], in_memory.evaluate
    monkeypatch.setattr(in_memory, "evaluate", lambda *of: evaluated.append(of) or evaluate(*of))
    LazyNetClassifier(verbose=1, max_iter=3).fit(X, y, callback=lambda epoch: epoch.coef is None)
    assert not evaluated
    LazyNetClassifier(max_iter=3, tol=None).fit(X, y, callback=lambda epoch: epoch.objective < 0)
    assert len(evaluated) == 3
    costs = []
    LazyNetClassifier(max_iter=3, tol=None).fit(
        X, y, callback=lambda epoch: costs.append((epoch.mean_loss, epoch.objective))
    )
    assert len(set(costs)) == 3


# --- when to stop ---------------------------------------------------------------------------


def epochs_until_idle(losses, tol, patience):
    """How many epochs pass until ``patience`` in a row fail to lower the best by the share tol."""
    for last in range(patience, len(losses) + 1):
        window = range(last - patience, last)
        if all(k > 0 and not losses[k] < min(losses[:k]) * (1 - tol) for k in window):
            return last
    return None


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("patience", [1, 2, 5])
@pytest.mark.parametrize("tol", [0.0, 1e-3, 0.1])
def test_training_stops_when_the_loss_stays(tol, patience, early_stopping):
    """The epoch at which training stops is the one that the recorded losses call for."""
    X, y = make_data(300, 40)
    model = LazyNetClassifier(
        tol=tol,
        n_iter_no_change=patience,
        l1=1e-2,
        rule=FoBoS(Constant(1.0)),
        max_iter=2000,
        random_state=0,
        early_stopping=early_stopping,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    judged = "validation_loss" if early_stopping else "progressive_loss"
    losses = [record[judged] for record in model.history_]
    assert epochs_until_idle(losses, tol, patience) == len(losses) == model.n_iter_
    assert model.n_iter_ < model.max_iter
    assert model.best_epoch_ == (int(np.argmin(losses)) if early_stopping else len(losses) - 1)


def test_a_loss_of_zero_is_no_progress():
    """Where nothing is left to learn, training stops."""
    model = LazyNetClassifier(
        "hinge", rule=FoBoS(eta0=1.0), l1=0.0, l2=0.0, max_iter=500, random_state=0
    )
    model.fit([[1.0], [-1.0]], [1, 0])
    assert model.history_[-1]["progressive_loss"] == 0.0
    assert model.n_iter_ < 10


def loss_of_constant(y, weights):
    """The mean log loss of the best constant prediction."""
    share = np.average(y, weights=weights)
    return -np.mean(weights * (xlogy(y, share) + xlog1py(1 - y, -share)))


# --- a first epoch that is worse than a constant ----------------------------------------------


def restarted(model):
    """Whether training has restarted."""
    return any(choice.name == "restart" for choice in model.auto_)


@pytest.mark.parametrize("options", [
    *(dict(options, restarts=True) for options in (
        {}, {"rule": "adagrad", "class_weight": "balanced"}, {"fit_intercept": False},
        {"rule": AdaGrad()},
        {"l1": 0.0}, {"l2": 1e-4}, {"standardize": False}, {"standardize": True}, {"max_iter": 2},
        {"tol": None}, {"tol": 10.0, "n_iter_no_change": 1, "max_iter": 2},
        {"early_stopping": True}, {"loss": "softmax"})),
    *(dict(options, restarts=False) for options in (
        {"max_iter": 1}, {"loss": "hinge"}, {"rule": AdaGrad(alpha=1.0)}, {"rule": "fobos"},
        {"class_weight": "balanced"},
        {"rule": FoBoS(eta0=9.0)}, {"rule": "ftrl"})),
], ids=str)  # fmt: skip
def test_a_first_epoch_worse_than_a_constant_restarts_training(options, capsys):
    """With the log loss of two classes and automatic rates of AdaGrad; the fit says so.

    The steps after it are those of ``exact/test_rates_of_later_epochs.py``.
    """
    X, y = noisy_documents()
    y[:50] = 0
    restarts = options.pop("restarts")
    model = LazyNetClassifier(random_state=0, verbose=1, **options).fit(X, y)
    assert restarted(model) == restarts
    printed = [line for line in capsys.readouterr().out.splitlines() if "restarts" in line]
    assert len(printed) == restarts
    if restarts and not model.early_stopping:
        weights = len(y) / 2 / np.bincount(y)[y] if model.class_weight else np.ones(len(y))
        constant = loss_of_constant(y, weights) if model.fit_intercept else np.log(2.0)
        assert model.history_[0]["progressive_loss"] > constant
        assert model.t_ == (model.n_iter_ - 1) * len(y)
        assert model.best_epoch_ > 0
        assert printed[0].split()[12] == f"{constant:.6g}:"
        assert f"whose loss is {constant:.4g}" in model.auto_[-1].reason


def test_the_constant_counts_rows_by_their_weights():
    """The first epoch predicts worse than a constant of rows that count alike: no restart."""
    X, _ = noisy_documents(n=400)
    y = (np.arange(400) % 20 == 0).astype(int)
    weights = np.where(y, 19.0, 1.0)
    model = LazyNetClassifier(random_state=0, standardize=False)
    told = sparse.hstack([X, 3.0 * sparse.csr_matrix(y[:, None])], format="csr")
    model.fit(told, y, weights)
    weighted, alike = (loss_of_constant(y, each) for each in (weights, np.ones(400)))
    assert alike < model.history_[0]["progressive_loss"] < weighted
    assert not restarted(model)


def test_a_start_or_an_order_that_is_given_is_not_judged_by_the_first_epoch():
    """Bad weights make a bad first epoch, whatever can be learned; nor are several outputs judged.

    The rows that an order visits may be others than those of the constant.
    """
    X, y = categories()
    model = LazyNetClassifier(random_state=0)
    assert restarted(clone(model).fit(X, y))
    assert not restarted(clone(model).fit(X, y, coef_init=np.zeros((1, X.shape[1]))))
    assert not restarted(clone(model).fit(X, y, intercept_init=[0.0]))
    assert not restarted(clone(model).fit(X, y, sample_order=np.arange(len(y))))
    assert not restarted(clone(model).fit(X, np.stack([y, 1 - y], axis=1)))
    assert not restarted(clone(model).fit(X, np.where(np.arange(len(y)) < 300, 2, y)))
    again = LazyNetClassifier(random_state=0, warm_start=True).fit(X, 1 - y).fit(X, y)
    assert not restarted(again)
    assert again.history_[0]["progressive_loss"] > np.log(2.0)


# --- which weights are kept -----------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("rule", [
    *(FoBoS(Constant(3.0), storage=storage) for storage in STORAGES),
    FoBoS(Constant(3.0), average=True), RDA(gamma=0.5), FTRL(alpha=3.0), AdaGrad(alpha=2.0),
    SAGA(alpha=0.3),
], ids=str)  # fmt: skip
def test_early_stopping_keeps_the_best_epoch_with_its_whole_state(rule, n_classes):
    """The model is bit for bit the one that stops behind its best epoch, and learns on like it."""
    X, y = make_data(n=60, n_classes=n_classes)
    Estimator = LazyNetClassifier if n_classes else LazyNetRegressor
    options = dict(RESTLESS, tol=0.0, rule=rule, early_stopping=True)
    if not n_classes:
        options["loss"] = "absolute_error"
    restless = Estimator(**options).fit(X, y)
    losses = [line["validation_loss"] for line in restless.history_]
    assert restless.best_epoch_ == int(np.argmin(losses))
    assert restless.n_iter_ == len(losses) == 12
    # One ends with its best epoch, and goes back nowhere, and one ends an epoch later.
    short, longer = (
        Estimator(**{**options, "max_iter": min(restless.best_epoch_ + more, 12)}).fit(X, y)
        for more in (1, 2)
    )
    for model in (short, longer):
        assert model.best_epoch_ == restless.best_epoch_
        for name in ("coef_", "intercept_", "last_coef_", "last_intercept_"):
            assert same_bits(getattr(restless, name), getattr(model, name))
        assert restless.t_ == model.t_ == (restless.best_epoch_ + 1) * 54
    if isinstance(rule, SAGA):
        return
    order = np.arange(60)
    for model in (restless, short, longer):
        model.partial_fit(X, y, sample_order=order)
        assert same_bits(restless.coef_, model.coef_)
        assert restless.t_ == model.t_


@pytest.mark.parametrize("density", [0.05, 1.0])
def test_the_default_number_of_epochs(density):
    """The same for tables and sparse rows; or that of ``sample_order``."""
    X, y = make_data(60, 40, density=density)
    for Estimator, epochs in ((LazyNetClassifier, 6), (LazyNetRegressor, 20)):
        model = Estimator(tol=None)
        assert model.fit(X, y).n_iter_ == epochs
        orders = np.tile(np.arange(60), (3, 1))
        assert model.fit(X, y, sample_order=orders).n_iter_ == 3
        assert model.fit(X, y, sample_order=orders[0]).n_iter_ == epochs


def test_an_epoch_without_progress_lowers_the_rates_from_the_rows():
    X, y = make_data(n_classes=0)
    noise = np.random.default_rng(0).standard_normal(len(y))
    options = dict(max_iter=8, n_iter_no_change=8, random_state=0)
    calmed = LazyNetRegressor(tol=0.99, **options).fit(X, noise)
    learning = LazyNetRegressor(tol=0.0, **options).fit(X, y)
    unjudged = LazyNetRegressor(tol=None, **options).fit(X, noise)
    assert calmed.eta0_ < unjudged.eta0_ / 4**4
    progress = [line["progressive_loss"] for line in learning.history_]
    assert progress == sorted(progress, reverse=True)
    assert learning.eta0_ == LazyNetRegressor(tol=None, **options).fit(X, y).eta0_


# --- automatic choices ------------------------------------------------------------------------

_FIXED = {"l1": 0.0, "rule": FoBoS(eta0=0.01), "standardize": False, "max_iter": 2}


@pytest.mark.parametrize("Estimator", [LazyNetClassifier, LazyNetRegressor])
@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, "rule standardize l1 max_iter rates"),
        ({"l1": 0.0}, "rule standardize max_iter rates"),
        ({"l2": 0.1, "max_iter": 3}, "rule standardize l1 rates"),
        ({"standardize": True}, "rule l1 max_iter rates"),
        ({"standardize": False}, "rule l1 max_iter rates"),
        ({"rule": AdaGrad()}, "standardize l1 max_iter rates"),
        ({"rule": AdaGrad(alpha=0.1)}, "standardize l1 max_iter"),
        ({"rule": "fobos"}, "standardize l1 max_iter rates"),
        ({"rule": FoBoS("power")}, "standardize l1 max_iter eta0"),
        (_FIXED, ""),
        (_FIXED | {"rule": "saga"}, "eta0"),
    ],
    ids=str,
)
def test_automatic_choices_are_those_that_are_not_given(Estimator, options, names, tmp_path):
    """Each with its value and its reason; printed, they are a table.  A file has them, too."""
    X, y = make_data(n_classes=3)
    model = Estimator(**options, random_state=0).fit(X, y)
    values = {
        "rule": AdaGrad() if Estimator is LazyNetClassifier else FoBoS(), "standardize": "auto",
        "l1": model.l1_, "max_iter": model.n_iter_, "rates": "full", "eta0": model.eta0_,
    }  # fmt: skip
    assert [choice.name for choice in model.auto_] == names.split()
    for choice, line in zip(model.auto_, str(model.auto_).splitlines(), strict=True):
        assert str(choice.value) == str(values[choice.name])
        assert line.startswith(choice.name)
        assert line.endswith(f"  {choice.reason}")
    model.save(tmp_path / "model")
    assert str(load(tmp_path / "model").auto_) == str(model.auto_)


@pytest.mark.parametrize(("loss", "rule"), [("log_loss", FoBoS()), ("softmax", AdaGrad())])
def test_the_automatic_rule_with_class_weights(loss, rule):
    """FoBoS, whose rates do not fall with the large slopes of a few rows; it excludes softmax."""
    X, y = make_data(n_classes=3)
    options = dict(loss=loss, class_weight="balanced", random_state=0)
    model = LazyNetClassifier(**options).fit(X, y)
    assert model.auto_[0][:2] == ("rule", rule)
    assert same_bits(model.coef_, LazyNetClassifier(rule=rule, **options).fit(X, y).coef_)


def test_a_rare_class_is_found_with_class_weights():
    """Balanced weights rank rows of a rare class as well as no weights."""
    generator = np.random.default_rng(0)
    X = sparse.random(20_000, 500, 0.02, "csr", random_state=generator)
    score = np.ravel(X[:, :10].sum(axis=1) - X[:, 10:20].sum(axis=1))
    y = score + 0.1 * generator.standard_normal(20_000) > np.quantile(score, 0.99)
    train, test = slice(15_000), slice(15_000, None)
    ranks = [
        average_precision_score(
            y[test],
            LazyNetClassifier(class_weight=weight, random_state=0)
            .fit(X[train], y[train])
            .decision_function(X[test]),
        )
        for weight in (None, "balanced")
    ]
    assert ranks[1] > 0.9 * ranks[0] > 0.4, ranks


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_values_that_fit_has_chosen_make_the_same_model(n_classes):
    """To give a value that is the automatic one changes no other choice."""
    X, y = make_data(n_classes=n_classes)
    X = sparse.csr_matrix(X.toarray() * np.geomspace(0.01, 100.0, 25) + np.arange(25) % 3)
    model = (LazyNetClassifier if n_classes else LazyNetRegressor)(random_state=0).fit(X, y)
    values = {choice.name: choice.value for choice in model.auto_}
    for names in (["l1"], ["rule"], ["max_iter"], ["l1", "rule", "max_iter"]):
        options = {name: values[name] for name in names}
        given_values = clone(model).set_params(**options).fit(X, y)
        assert same_bits(given_values.coef_, model.coef_)
        assert same_bits(given_values.intercept_, model.intercept_)


def test_the_reason_of_standardisation_counts_the_features():
    X = sparse.random(50, 30, density=0.2, format="csr", random_state=0)
    X.data[:] = 1.0
    X = sparse.hstack([X, np.arange(100.0).reshape(50, 2), 20.0 * X[:, :3]], format="csr")
    model = LazyNetClassifier().fit(X, np.arange(50) % 3)
    reasons = {choice.name: choice.reason for choice in model.auto_}
    assert reasons["standardize"] == "2 of 35 features centred; 30 share the size 1"


# --- rows that are held out -----------------------------------------------------------------


@pytest.mark.parametrize("rule", ["auto", FoBoS("power"), "saga"], ids=str)
def test_rows_that_are_held_out_have_no_part_in_what_fit_finds(rule):
    """Neither l1 nor the rate nor the weights depend on the rows that are held out."""
    X, y = make_data(n_classes=0)
    _, held = split(len(y), 0.5, np.random.RandomState(0))
    y_other, X_other = y.copy(), X.tolil()
    y_other[held] *= 100.0
    X_other[held] *= 100.0
    options = dict(early_stopping=True, validation_fraction=0.5, random_state=0, max_iter=1)
    fits = [
        LazyNetRegressor(rule=rule, tol=None, **options).fit(*rows)
        for rows in ((X, y), (X_other.tocsr(), y_other))
    ]
    assert fits[0].l1_ == fits[1].l1_ > 0.0
    assert fits[0].eta0_ == fits[1].eta0_
    assert same_bits(fits[0].coef_, fits[1].coef_)


@pytest.mark.parametrize(("n_classes", "labels"), [(0, False), (2, False), (3, False), (3, True)])
@pytest.mark.parametrize("weighted", [False, True])
def test_validation_figures_by_numpy(n_classes, labels, weighted):
    """The loss of the model on the rows that no step visits."""
    X, y = make_data(n=100, n_classes=n_classes)
    strata = None if labels or not n_classes else y
    y = np.stack([y == 0, y != 2], axis=1).astype(int) if labels else y
    weights = np.random.RandomState(0).choice([0.5, 1.0, 3.0], 100) if weighted else None
    Estimator = LazyNetClassifier if n_classes else LazyNetRegressor
    options = dict(early_stopping=True, validation_fraction=0.2, random_state=3)
    model = Estimator(rule=FoBoS(eta0=0.1), tol=None, max_iter=1, **options)
    model.fit(X, y, sample_weight=weights)
    _, held = split(100, 0.2, np.random.RandomState(3), strata)
    assert model.t_ == 80
    s = np.ones(20) if weights is None else weights[held]
    decisions = X[held] @ model.coef_.T.reshape(X.shape[1], -1) + model.intercept_
    targets = 2.0 * y[held] - 1.0 if labels else y[held, None]
    if n_classes and not labels:
        targets = np.where(targets == model.classes_[-decisions.shape[1] :], 1.0, -1.0)
    losses = np.vectorize(FORMULAS[model.loss][0])(decisions, targets, 0.1)
    expected = (s[:, None] * losses).mean(axis=0).sum()
    assert model.history_[-1]["validation_loss"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.37, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_every_class_keeps_its_share(fraction, seed):
    """Rows in both parts, each once; counts within 1 of the share; a row of a class to train on."""
    random = np.random.RandomState(seed)
    classes = random.choice(4, p=[0.6, 0.3, 0.07, 0.03], size=200)
    rows, held = split(200, fraction, np.random.RandomState(seed), classes)
    assert sorted([*rows, *held]) == list(range(200))
    assert len(held) == np.ceil(fraction * 200)
    sizes, counts = np.bincount(classes), np.bincount(classes[held], minlength=4)
    capped = counts == sizes - 1
    if not capped.any():
        assert (np.abs(counts - sizes * len(held) / 200) <= 1).all()
    assert (counts < sizes).all()
    again = split(200, fraction, np.random.RandomState(seed), classes)
    assert np.array_equal(again[1], held)
    assert not np.array_equal(split(200, fraction, np.random.RandomState(99), classes)[1], held)


def test_early_stopping_that_cannot_be_is_refused():
    """The error names the argument, and the model stays what it was.

    Rows that all count for nothing can neither judge nor be learned from.
    """
    X, y = make_data(n=40)
    model = LazyNetClassifier(early_stopping=True, random_state=0).fit(X, y)
    before, weights = portrait(model), {}
    for part in split(40, 0.1, np.random.RandomState(0), y):
        weights[len(part)] = np.where(np.isin(np.arange(40), part), 0.0, 1.0)
    no_weight = "sample_weight.*must not be zero for all"
    for fraction, rows, given, message in (
        (0.99, X, {}, r"validation_fraction=0\.99 of 40 rows in 2 classes"),
        (0.1, X[:2], {}, "leaves too few rows to train on"),
        (0.1, X, dict(sample_order=[0, 1]), "sample_order cannot be given with early_stopping=Tru"),
        (0.1, X, dict(sample_weight=weights[4]), f"{no_weight} 4 rows that are held out"),
        (0.1, X, dict(sample_weight=weights[36]), f"{no_weight} 36 rows to train on"),
    ):
        targets = y if rows is X else [0, 1]
        with pytest.raises(ValueError, match=message):
            model.set_params(validation_fraction=fraction).fit(rows, targets, **given)
        assert portrait(model.set_params(validation_fraction=0.1)) == before


# --- warnings -------------------------------------------------------------------------------


def test_a_loss_that_still_falls_fast_is_told():
    """More than a tenth in the last epoch: the warning says how fast, and what to raise."""
    X, y = make_data(300, 40)
    model = LazyNetClassifier(l1=0.0, rule=FoBoS(Constant(0.02)), max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"still fell by 1\d% in the last of max_iter=3"):
        model.fit(X, y)
    falls = [line["progressive_loss"] for line in model.history_]
    assert falls[-1] < 0.9 * falls[-2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(max_iter=30).fit(X, y)
        assert model.n_iter_ == 30, "the epochs ran out, and the loss fell slowly"
        model.set_params(max_iter=3, tol=None).fit(X, y)
        model.set_params(max_iter=1, tol=TOL).fit(X, y)
        automatic = LazyNetClassifier(max_iter=4, random_state=0)
        automatic.fit(*make_data(300, 2000, density=0.02))
    falls = [line["progressive_loss"] for line in automatic.history_]
    assert falls[-1] < 0.9 * falls[-2], "automatic rates suit the number of epochs"
    with pytest.warns(ConvergenceWarning, match="write standardize='auto', .* or raise max_iter"):
        LazyNetClassifier(rule=FoBoS(Constant(0.02)), max_iter=3, standardize=False).fit(X, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("Estimator", [LazyNetClassifier, LazyNetRegressor])
def test_a_good_fit_and_a_loss_that_cannot_fall_need_no_warning(Estimator):
    """With nothing set, rows that can be learned are learned; noise and strong penalties."""
    for n_classes in (2, 3):
        X, y = make_data(n=500, n_classes=n_classes)
        model = Estimator(random_state=0).fit(X, y)
        assert model.score(X, y) > (0.85 if Estimator is LazyNetClassifier else 0.4)
    random = np.random.RandomState(0)
    X = random.standard_normal((1000, 3))
    y = (random.random_sample(1000) < 0.5).astype(int)
    for options in ({}, dict(l1=10.0), dict(l1=10.0, rule=FoBoS(eta0=0.01))):
        Estimator(random_state=0, **options).fit(X, y - 0.5 if Estimator is LazyNetRegressor else y)


# --- balanced classes in a stream -----------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("share", [False, True])
def test_balanced_counts_give_the_weights_of_balanced(n_classes, share):
    """partial_fit with the counts of all rows weighs a row as fit does; shares do as well."""
    X, y = make_data(n=80, n_classes=n_classes)
    y = np.array(["a", "b", "c"])[y]
    labels, counts = np.unique(y, return_counts=True)
    given = dict(zip(labels.tolist(), counts / (len(y) if share else 1), strict=True))
    options = dict(l1=1e-4, rule=FoBoS(eta0=0.1), tol=None, max_iter=1, **AS_PASSED)
    whole = LazyNetClassifier(class_weight="balanced", **options).fit(X, y)
    stream = LazyNetClassifier(class_weight=Balanced(class_counts=given), **options)
    for rows in (slice(0, 13), slice(13, 80)):
        stream.partial_fit(X[rows], y[rows], classes=labels)
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-12 if share else 0, atol=0)
    assert same_bits(clone(stream).fit(X, y).intercept_, stream.intercept_)
    assert same_bits(
        LazyNetClassifier(class_weight=Balanced(), **options).fit(X, y).coef_,
        whole.coef_,
    )


def test_counts_that_cannot_balance_are_refused():
    """The error names the counts, and nothing is learned."""
    X, y = make_data()
    for counts, message in (
        (None, r"write class_weight=Balanced\(class_counts={class: number of rows}\)"),
        ([3, 4], "class_counts of Balanced must map every class"),
        ({0: 3, 1: 0}, "class_counts of Balanced for the class 1 must be finite and pos"),
        ({0: 3, 1: "x"}, "class_counts of Balanced for the class 1 must be a number"),
        ({0: 3}, r"class_counts of Balanced must name the classes \[0 1\], got \[0\]"),
        ({0: 3, 1: 4, 2: 5}, "class_counts of Balanced must name the classes"),
        ({0: 1e-308, 1: 1e308}, "class_counts of Balanced must have a finite ratio"),
    ):
        model = LazyNetClassifier(class_weight=Balanced(counts))
        error = TypeError if "must map" in message or "a number" in message else ValueError
        with pytest.raises(error, match=message):
            model.partial_fit(X, y, classes=[0, 1])
        assert not hasattr(model, "coef_")
