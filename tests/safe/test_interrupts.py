"""Ctrl-C during training is heard soon, and leaves the estimator as it was before the call."""

import copy
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from support.algorithms import VARIANTS
from support.models import ESTIMATORS, made, rows_and_targets
from support.portrait import portrait

import lazynet
from lazynet import (
    FTRL,
    RDA,
    AdaGrad,
    DualNetClassifier,
    FoBoS,
    LazyNetClassifier,
    LazyNetClassifierCV,
    LazyNetRegressor,
    StabilisedSGDClassifier,
    Stepper,
)

pytestmark = pytest.mark.usefixtures("python_hears_ctrl_c")

# A second is what is promised, of the time of the processor: other programs may have the rest.
SOON = 5.0
# Nobody would wait for so many epochs of data that take a noticeable part of a second each.
FOREVER = 10**9
# A short run tries all calls whose names begin with one of these words.
IN_SHORT_RUNS = "other", "units", "warm start, ftrl"


class TellsWhenUnderWay:
    """A constant rate that sets ``under_way`` when the run has come to its first steps."""

    def __init__(self, rate):
        self.rate, self.under_way = rate, threading.Event()

    def rates(self, start, stop):
        self.under_way.set()
        return np.full(stop - start, self.rate)

    def __call__(self, t):
        return self.rate


def seconds_until_heard(under_way, call):
    """Press Ctrl-C once the call is under way; returns the seconds of the processor until then."""
    pressed = []

    def press():
        under_way.wait()
        begun = time.process_time()
        # Long enough for steps to be taken, so that there is something to undo.
        while time.process_time() < begun + 0.3:
            time.sleep(0.01)
        pressed.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        heard = time.process_time()
    finally:
        under_way.set()
        thread.join()
    return heard - pressed[0]


def make_data(n, d, per_row, n_classes=2):
    """Rows of ``per_row`` nonzeros, one from each of as many equal parts of the features."""
    rng, part = np.random.default_rng(0), d // per_row
    columns = rng.integers(0, part, (n, per_row)) + part * np.arange(per_row)
    starts = np.arange(n + 1) * per_row
    X = sparse.csr_matrix((rng.standard_normal(n * per_row), columns.ravel(), starts), shape=(n, d))
    return X, np.arange(n) % n_classes


def one_long_row():
    """Rows, the first of them so long that a chunk of it takes ten seconds."""
    columns = np.concatenate([np.arange(500_000), np.zeros(2000)]).astype(np.int32)
    starts = np.concatenate([[0], 500_000 + np.arange(2001)])
    X = sparse.csr_matrix((np.ones(len(columns)), columns, starts), shape=(2001, 500_000))
    return X, np.arange(2001) % 2


def online(**options):
    """A model, and parameters with which its next call tells when it is under way."""
    model = LazyNetClassifier(rule=FoBoS("constant", eta0=1e-3), shuffle=False, tol=None, **options)
    schedule = TellsWhenUnderWay(1e-5)
    return model, dict(rule__schedule=schedule, rule__eta0=None, max_iter=FOREVER)


CLASSES, IN_TURN = partial(make_data, 2000, 5000, 50, 3), np.tile(np.arange(16), 250_000)
PATHS = StabilisedSGDClassifier(stability=0.0), dict(max_iter=10**6)
FOLDS = LazyNetClassifierCV(tol=None), dict(max_iter=10**6)
DUAL = DualNetClassifier("hinge"), dict(max_iter=10**9, tol=1e-15, l1=1e-7, l2=1e-9)
#: A model and what makes its next call endless, data, threads, and the rows of ``partial_fit``.
LONG_CALLS = {
    "fit": (*online(), partial(make_data, 2000, 5000, 50), 1, None),
    "one long row": (*online(), one_long_row, 1, np.zeros(8000, dtype=np.int64)),
    "classes, 2": (*online(), partial(make_data, 16, 100_000, 50_000, 3), 2, IN_TURN),
    "sweeps": (*online(l1=100.0), partial(make_data, 16, 500_000, 5_000), 1, IN_TURN),
    **{f"paths, {n_jobs}": (*PATHS, CLASSES, n_jobs, None) for n_jobs in (1, 2)},
    **{f"folds, {n_jobs}": (*FOLDS, CLASSES, n_jobs, None) for n_jobs in (1, 2)},
    **{f"dual, {n_jobs}": (*DUAL, CLASSES, n_jobs, None) for n_jobs in (1, 2)},
}


@pytest.mark.parametrize("name", LONG_CALLS)
def test_ctrl_c_is_heard_soon_and_leaves_the_old_model(name):
    """A call that would not end stops within a second, its threads too; the model is as it was."""
    model, endless, make, n_jobs, order = LONG_CALLS[name]
    X, y = make()
    model = clone(model).set_params(max_iter=2, n_jobs=n_jobs, random_state=0).fit(X, y)
    twin, running, parameters = copy.deepcopy(model), threading.active_count(), model.get_params()
    model.set_params(**endless)
    if "rule__schedule" in endless:
        under_way = endless["rule__schedule"].under_way
    else:
        under_way = threading.Event()
        under_way.set()
    method = model.fit if order is None else partial(model.partial_fit, sample_order=order)
    assert seconds_until_heard(under_way, partial(method, X, y)) < SOON
    assert threading.active_count() == running
    model.set_params(**parameters)
    assert observed(model) == observed(twin)
    if hasattr(model, "partial_fit"):
        assert observed(model.partial_fit(X, y)) == observed(twin.partial_fit(X, y))


# --- Ctrl-C between any two lines ---------------------------------------------------------------

PACKAGE = str(Path(lazynet.__file__).parent) + os.sep


class Presses:
    """Raises KeyboardInterrupt at chosen lines of the package, and counts the lines.

    Python takes a trace function away that has raised.  A profile function, which stays, puts it
    back for the second one.
    """

    def __init__(self, first=None, second=None):
        self.left = [each for each in (first, second) if each is not None]
        self.lines = 0
        #: where the key was pressed
        self.places = []

    def _trace(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.lines += 1
            if self.left and self.lines >= self.left[0]:
                self.left.pop(0)
                self.lines = 0
                name = Path(frame.f_code.co_filename).relative_to(PACKAGE)
                self.places.append(f"{name}:{frame.f_lineno}")
                raise KeyboardInterrupt
        return self._trace

    def _profile(self, frame, event, arg):
        if self.places and self.left and sys.gettrace() is None:
            outer = frame
            while outer is not None:
                if outer.f_code.co_filename.startswith(PACKAGE):
                    outer.f_trace = self._trace
                outer = outer.f_back
            sys.settrace(self._trace)

    def during(self, call):
        """Make the call; returns what it raised."""
        sys.setprofile(self._profile)
        sys.settrace(self._trace)
        try:
            call()
        except BaseException as error:
            return error
        finally:
            # First of all: the profile function would put the trace function back.
            self.left = []
            sys.setprofile(None)
            sys.settrace(None)
        return None


def observed(model):
    """All of a model, bit for bit, and its weights, which may be kept beside the engines."""
    return portrait([model, getattr(model, "coef_", None), getattr(model, "intercept_", None)])


def calls():
    """A name, a trained model, and a call that changes it; sweeps are among the steps."""
    random = np.random.default_rng(0)
    for Estimator in ESTIMATORS:
        X, y = rows_and_targets(Estimator, random)
        yield (
            Estimator.__name__,
            made(Estimator, random_state=np.random.RandomState(0)).fit(X, y),
            lambda model, X=X, y=y: model.fit(X, -y),
        )
    X, y = make_data(n=12, d=40, per_row=4)
    X = sparse.hstack([X, 3.0 + y[:, None]], format="csr")  # a feature that is centred
    overflow = FoBoS("constant", eta0=0.5, step_order="shrink_first")
    for name, options in {
        **VARIANTS,
        "three classes in threads": dict(rule=FoBoS(), n_jobs=2),
        "overflow": dict(rule=overflow, l2=1e59),
    }.items():
        options = dict(l1=0.02, l2=0.5, random_state=np.random.RandomState(0)) | options
        classes = np.arange(3 if name.startswith("three") else 2)
        model = LazyNetClassifier(**options)
        model.partial_fit(X, np.arange(12) % len(classes), classes=classes)
        # After as many rows as before the shared size is computed anew.
        rows = slice(3, 9) if name in ("average", "ftrl", "dense") else slice(12)
        yield f"pass, {name}", model, lambda model, rows=rows: model.partial_fit(X[rows], y[rows])
        if name in ("average", "ftrl"):
            model = copy.deepcopy(model)
            yield f"coef_, {name}", model, lambda model: setattr(model, "coef_", 1 - model.coef_)
    # Cells of all features change before the first step, in which few of them are touched.
    few = sparse.random(60, 400, 0.02, format="csr", random_state=0)
    few = sparse.hstack([few, 5.0 + random.standard_normal((60, 2))], format="csr")
    for rule, changed in (
        (RDA(gamma=1.0), {"rule__gamma": 3.0}), (FTRL(alpha=0.1), {"rule__alpha": 0.7}),
        (AdaGrad(alpha=0.1), {"rule__alpha": 0.7}), (FTRL(), {"l1": 0.01}), ("auto", {}),
    ):  # fmt: skip
        for n_classes in (2, 10):
            model = LazyNetClassifier(rule=rule, l1=1e-3, random_state=0)
            model.partial_fit(few, np.arange(60) % n_classes, classes=np.arange(n_classes))
            yield (
                f"other parameters, {rule}, {n_classes}", model.set_params(**changed),
                lambda model: model.partial_fit(7.0 * few[:1], [1]),
            )  # fmt: skip
    # Sums of gradients go on where the features have the same units.
    for rule, standardize in (("fobos", "auto"), ("ftrl", "auto"), ("ftrl", False)):
        options = dict(rule=rule, standardize=standardize, tol=None, random_state=0)
        again = LazyNetRegressor(warm_start=True, max_iter=2, **options).fit(X, y)
        yield (
            f"warm start, {rule}, {standardize}", again,
            lambda model: model.fit(X[3:9], y[3:9]),
        )  # fmt: skip
    for before, after in ((True, "auto"), ("auto", True)):
        model = LazyNetClassifier(standardize=before, random_state=0).partial_fit(X, y, [0, 1])
        yield (
            f"units, {before}, {after}", model.set_params(standardize=after),
            lambda model: model.partial_fit(7.0 * X[3:9], y[3:9]),
        )  # fmt: skip
    stepper = Stepper(40, l1=0.1, l2=0.1, fit_intercept=True, rule=FoBoS(average=True))
    stepper.step([1, 5], [1.0, -1.0], 1.0)
    yield "Stepper", stepper, lambda model: model.step([1, 7], [0.5, 2.0], -1.0)


# Python goes on after an exception in the end of a generator that is not used any more.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("model", "call"),
    [
        pytest.param(
            *rest, id=name, marks=[pytest.mark.every_case] * name.startswith(IN_SHORT_RUNS)
        )
        for name, *rest in calls()
    ],
)
def test_an_interrupt_at_any_point_leaves_the_old_model_or_the_new_one(model, call):
    """Also a second Ctrl-C while the first one is undone; and the old model learns on alike."""
    before, whole, counting = observed(model), copy.deepcopy(model), Presses()
    assert counting.during(lambda: call(whole)) is None
    after, n_lines = observed(whole), counting.lines
    assert before != after
    rng = np.random.default_rng(0)
    # The lines at the end, where the model changes, and some of the others.
    ends = range(max(1, n_lines - 20), n_lines + 1)
    old = 0
    for line in (*rng.integers(1, n_lines, 15).tolist(), *ends):
        for second in (None, int(rng.integers(1, 30))):
            torn, presses = copy.deepcopy(model), Presses(line, second)
            error = presses.during(lambda torn=torn: call(torn))
            found = observed(torn)
            assert found in (before, after), presses.places
            assert isinstance(error, KeyboardInterrupt) or found == after
            if found == before:
                old += 1
                if line % 5 == 0:
                    call(torn)
                    assert observed(torn) == after, presses.places
    assert old
