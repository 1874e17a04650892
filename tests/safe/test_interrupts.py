"""Ctrl-C during training is heard soon, and leaves the estimator as it was before the call."""

import copy
import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from support import ELASTIC_ENGINES
from support.algorithms import WITH_STATE

from lazynet import (
    FTRL,
    ASGDClassifier,
    FoBoS,
    LazyNetClassifier,
    LazyNetRegressor,
    ReleasedStabilisedSGDClassifier,
    StabilisedSGDClassifier,
    Stepper,
    Tables,
)
from lazynet.catalogue import check_rule

pytestmark = pytest.mark.usefixtures("python_hears_ctrl_c")

# A second is what is promised; shared machines may be busy.
SOON = 5.0
# Nobody would wait for so many epochs of data that take a noticeable part of a second each.
FOREVER = 10**9


class TellsWhenUnderWay:
    """A constant rate that sets ``under_way`` when the run has come to its first steps."""

    def __init__(self, rate):
        self.rate, self.under_way = rate, threading.Event()

    def rates(self, start, stop):
        self.under_way.set()
        return np.full(stop - start, self.rate)

    def __call__(self, t):
        return self.rate


def interrupt(schedule, call, *arguments, **options):
    """Press Ctrl-C once the call is under way; returns the seconds until it was heard."""
    pressed = []

    def press():
        if schedule.under_way.wait(timeout=60.0):
            # Long enough for steps to be taken, so that there is something to take back.
            time.sleep(0.2)
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call(*arguments, **options)
        heard = time.monotonic()
    finally:
        thread.join()
    return heard - pressed[0]


def make_data(n, d, per_row, seed=0):
    """Rows of ``per_row`` nonzeros each, and two classes."""
    rng = np.random.default_rng(seed)
    # One column from each of per_row equal parts of the features, so that columns increase.
    part = d // per_row
    columns = rng.integers(0, part, (n, per_row)) + part * np.arange(per_row)
    starts = np.arange(n + 1) * per_row
    X = sparse.csr_matrix((rng.standard_normal(n * per_row), columns.ravel(), starts), shape=(n, d))
    return X, np.arange(n) % 2


def state_of(model):
    """Everything a fitted model consists of, as bytes; the weights straight from the engines."""
    return dict(
        counts=(sorted(vars(model)), model.t_, model.n_iter_, model.n_features_in_),
        coefficients=(model.coef_.tobytes(), model.intercept_.tobytes()),
        history=pickle.dumps(model.history_),
        engines=[
            [engine.weights().tobytes()]
            + [(name, a.tobytes()) for part in engine.state() for name, a in part.items()]
            for engine in model._engines
        ],
    )


def assert_undisturbed(model, before, X, y):
    """The model is as it was, bit for bit, and can be trained on."""
    assert state_of(model) == before
    t = model.t_
    model.set_params(schedule="constant", shuffle=False, warm_start=False)
    assert model.partial_fit(X[:5], y[:5]).t_ == t + 5
    assert state_of(model) != before


def fitted(Estimator, X, y, **options):
    """An estimator that has learnt something."""
    model = Estimator(l1=1e-3, l2=1e-3, eta0=1e-3, shuffle=False, **options)
    return model.set_params(max_iter=2, tol=None).fit(X, y)


@pytest.mark.parametrize("tol", [None, 0.0])
@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
@pytest.mark.parametrize("Estimator", [LazyNetClassifier, LazyNetRegressor])
def test_interrupted_fit(Estimator, engine, warm_start, tol):
    """A fit of endless epochs stops within a second, and the previous model is still there."""
    X, y = make_data(n=2000, d=5000, per_row=50)
    model = fitted(Estimator, X, y, engine=engine)
    before = state_of(model)
    schedule = TellsWhenUnderWay(1e-4)
    model.set_params(
        schedule=schedule,
        eta0=None,
        max_iter=FOREVER,
        tol=tol,
        n_iter_no_change=FOREVER,
        warm_start=warm_start,
    )
    assert interrupt(schedule, model.fit, X, y) < SOON
    assert_undisturbed(model, before, X, y)


@pytest.mark.parametrize(("n_classes", "n_jobs"), [(2, None), (4, None), (4, 2)])
@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
def test_interrupted_partial_fit_that_touches_every_weight(engine, n_classes, n_jobs):
    """A long pass over a few long rows stops within a second and is taken back."""
    X, _ = make_data(n=16, d=100_000, per_row=50_000)
    y = np.arange(16) % n_classes
    model = fitted(LazyNetClassifier, X, y, engine=engine, n_jobs=n_jobs)
    before, running = state_of(model), threading.active_count()
    schedule = TellsWhenUnderWay(1e-4)
    model.set_params(schedule=schedule, eta0=None)
    order = np.tile(np.arange(16), 250_000)
    assert interrupt(schedule, model.partial_fit, X, y, sample_order=order) < SOON
    assert threading.active_count() == running
    assert_undisturbed(model, before, X, y)


@pytest.mark.parametrize("budget", [50, 2**16])
@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
def test_interrupted_partial_fit_that_touches_few_weights(engine, budget):
    """A pass that put aside only the touched weights is taken back, with and without sweeps."""
    X, y = make_data(n=20, d=500_000, per_row=5_000)
    form = Tables(budget=budget) if engine == "tables" else engine
    model = fitted(LazyNetRegressor, X, y, engine=form)
    before = state_of(model)
    schedule = TellsWhenUnderWay(1e-5)
    # Pulled hard enough for the clock to wear out.
    model.set_params(schedule=schedule, eta0=None, l1=100.0 if budget == 50 else 1e-3)
    order = np.tile(np.arange(20), 200_000)
    assert interrupt(schedule, model.partial_fit, X, y, sample_order=order) < SOON
    assert_undisturbed(model, before, X, y)


def test_interrupted_first_fit():
    """An estimator that has never been trained has still not been."""
    X, y = make_data(n=2000, d=5000, per_row=50)
    schedule = TellsWhenUnderWay(1e-4)
    model = LazyNetClassifier(schedule=schedule, max_iter=FOREVER, tol=None)
    assert interrupt(schedule, model.fit, X, y) < SOON
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "classes_")
    model.set_params(schedule="constant", max_iter=1).fit(X, y)


@pytest.mark.parametrize("engine", ELASTIC_ENGINES)
def test_rows_of_very_different_lengths(engine):
    """A chunk of nothing but the longest row takes ten seconds; Ctrl-C does not wait for it."""
    long, rest = 500_000, 2000
    columns = np.concatenate([np.arange(long), np.zeros(rest)]).astype(np.int32)
    starts = np.concatenate([[0], long + np.arange(rest + 1)])
    X = sparse.csr_matrix((np.ones(len(columns)), columns, starts), shape=(rest + 1, long))
    schedule = TellsWhenUnderWay(1e-9)
    model = LazyNetClassifier(schedule=schedule, engine=engine, tol=None, max_iter=FOREVER)
    order = np.zeros(8000, dtype=np.int64)
    assert interrupt(schedule, model.fit, X, np.arange(rest + 1) % 2, sample_order=order) < SOON


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_paths(n_jobs):
    """Stabilised SGD, whose paths are in threads: they stop too, and the model is as it was."""
    X, y = make_data(n=2000, d=5000, per_row=50)
    model = StabilisedSGDClassifier(max_iter=2, n_jobs=n_jobs, random_state=0).fit(X, y)
    before = pickle.dumps(model)
    running = threading.active_count()
    schedule = TellsWhenUnderWay(1e-4)
    # Nothing is ever purged: the run would not end.
    endless = dict(schedule=schedule, max_iter=10**6, stability=0.0)
    model.set_params(**endless)
    assert interrupt(schedule, model.fit, X, y) < SOON
    assert threading.active_count() == running
    model.set_params(schedule="inverse_sqrt", max_iter=2, stability=0.7)
    assert pickle.dumps(model) == before


def interrupted_after(seconds, call):
    """Call, press Ctrl-C after so many seconds, and return how long the call lasted from there."""
    pressed = []

    def press():
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    return time.monotonic() - pressed[0]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_paths_of_the_released_program(n_jobs):
    """A burst of very many updates is left too, and the model is as it was."""
    X, y = make_data(n=2000, d=5000, per_row=50)
    model = ReleasedStabilisedSGDClassifier("log_loss", stability=0.0, max_iter=2, random_state=0)
    model.fit(X, y)
    before = pickle.dumps(model)
    running = threading.active_count()
    # The first burst would not end for hours.
    model.set_params(burst_size=10**9, max_iter=10**6, n_jobs=n_jobs)
    assert interrupted_after(1.0, lambda: model.fit(X, y)) < SOON
    assert threading.active_count() == running
    model.set_params(burst_size=20, max_iter=2, n_jobs=None)
    assert pickle.dumps(model) == before


# --- Ctrl-C between any two lines ---------------------------------------------------------------


class CtrlCAtLine:
    """Raises KeyboardInterrupt when so many lines of the package have been begun; counts them."""

    def __init__(self, *lines):
        self.pending, self.begun = sorted(lines, reverse=True), 0

    def __call__(self, frame, event, _):
        if f"{os.sep}lazynet{os.sep}" not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.begun += 1
            if self.pending and self.begun >= self.pending[-1]:
                self.pending.pop()
                raise KeyboardInterrupt
        return self

    def during(self, call):
        """Whether the call was interrupted."""
        previous = sys.gettrace()
        sys.settrace(self)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(previous)
        return False


def observed(model):
    """All that can be seen of a model, as bytes."""
    if isinstance(model, Stepper):
        return model.t, model.weights.tobytes(), model.intercept, model.averages.tobytes()
    names = {name for name in vars(model) if name.endswith("_")}
    names |= {"coef_", "intercept_"} | ({"last_coef_", "last_intercept_"} & set(dir(model)))
    values = {name: getattr(model, name) for name in names}
    if sparse.issparse(values["coef_"]):
        values["coef_"] = values["coef_"].toarray(), "sparse"
    if "history_" in values:
        values["history_"] = [{**line, "seconds": None} for line in values["history_"]]
    return {name: pickle.dumps(value) for name, value in values.items()}


def assign_weights(model):
    """Other weights than the model can have learned."""
    model.coef_ = np.arange(40.0)[None]


def assign_intercept(model):
    """Another intercept than the model can have learned."""
    model.intercept_ = [17.0]


def scheduled(options):
    """Whether the rule of these options of an estimator takes its rates from a schedule."""
    return check_rule("rule", options.get("rule", "fobos")).scheduled


def small_models():
    """A name, a trained model, and a call that trains it further; sweeps are among the steps."""
    X, y = make_data(n=12, d=40, per_row=4)
    base = dict(l1=0.02, l2=0.5, eta0=0.5, schedule="constant", random_state=0)
    variants = {
        "clock": dict(),
        "three classes": dict(),
        "three classes, two threads": dict(n_jobs=2),
        "average": dict(average=True),
        "tables": dict(engine=Tables(budget=5)),
        "dense": dict(engine="dense"),
        "shrink first": dict(rule=FoBoS(step_order="shrink_first"), l2=1e59),
        "ftrl, other rates": dict(rule=FTRL(alpha=0.5)),
        **WITH_STATE,
    }
    for name, options in variants.items():
        classes = np.arange(3 if name.startswith("three classes") else 2)
        rates = {} if scheduled(options) else dict(schedule="auto", eta0=None)
        model = LazyNetClassifier(**{**base, **rates, **options})
        model.partial_fit(X, np.arange(12) % len(classes), classes=classes)
        if name == "ftrl, other rates":
            model.set_params(rule__alpha=0.1)
        yield name, model, lambda model: model.partial_fit(X[3:9], y[3:9])
    again = LazyNetRegressor(**base, max_iter=2, tol=None, warm_start=True).fit(X, y)
    yield "warm start", again, lambda model: model.fit(X[3:9], y[3:9])
    stabilised = StabilisedSGDClassifier(burst_size=4, max_iter=2, random_state=0)
    asgd = ASGDClassifier(l2=10.0, max_iter=2, random_state=np.random.RandomState(0))
    released = ReleasedStabilisedSGDClassifier(stability=0.0, max_iter=3, random_state=0)
    for model in (stabilised, released, asgd):
        yield type(model).__name__, model.fit(X, y), lambda model: model.fit(X[3:9], y[3:9])
    start = dict(coef_init=np.full((1, 40), 0.5), intercept_init=[0.5])
    watched = LazyNetClassifier(**base, max_iter=2, tol=None).fit(X, y)
    yield (
        "from given weights, watched", watched,
        lambda model: model.fit(X[3:9], y[3:9], **start, callback=lambda epoch: epoch.coef is None),
    )  # fmt: skip
    for name, options in (("clock", {}), ("average", dict(average=True)), ("ftrl", dict(
        rule="ftrl", schedule="auto", eta0=None))):  # fmt: skip
        model = LazyNetClassifier(**{**base, **options})
        model.partial_fit(X, y, classes=[0, 1])
        yield f"weights assigned to {name}", copy.deepcopy(model), assign_weights
        yield f"intercept assigned to {name}", copy.deepcopy(model), assign_intercept
        yield f"sparsify {name}", model, lambda model: model.sparsify()
    yield "weights assigned to ASGD", copy.deepcopy(asgd), assign_weights
    stepper = Stepper(40, l1=0.1, l2=0.1, fit_intercept=True, average=True)
    stepper.step([1, 5], [1.0, -1.0], 1.0)
    yield "Stepper", stepper, lambda model: model.step([1, 7], [0.5, 2.0], -1.0)


@pytest.mark.parametrize(
    ("model", "call"), [pytest.param(*rest, id=name) for name, *rest in small_models()]
)
def test_any_number_of_interrupts_between_any_lines_tears_nothing(model, call):
    """The model is what it was before the call or what the whole call makes of it, and learns on
    alike, after one Ctrl-C and after a second one while the first is being dealt with."""
    before = observed(model)
    whole = copy.deepcopy(model)
    counter = CtrlCAtLine()
    assert not counter.during(lambda: call(whole))
    after, n_lines = observed(whole), counter.begun
    rng = np.random.default_rng(0)
    # The lines at the end, where the model changes, and some of the others.
    lines = {*rng.integers(1, n_lines, 60).tolist(), *range(max(1, n_lines - 40), n_lines + 1)}
    outcomes = set()
    for line in lines:
        for second in (None, line + int(rng.integers(1, 60))):
            torn = copy.deepcopy(model)
            pressed = CtrlCAtLine(line, *([second] if second else []))
            interrupted = pressed.during(lambda torn=torn: call(torn))
            found = observed(torn)
            assert found in (before, after), (line, second)
            assert interrupted or found == after
            outcomes.add(found == after)
            if found == before and second and line % 7 == 0:
                call(torn)
                assert observed(torn) == after
    assert False in outcomes
