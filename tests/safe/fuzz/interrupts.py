"""Ctrl-C at any line of a call, once or twice: the model is as before the call, or as after it."""

import copy
import os
import sys
from pathlib import Path

import numpy as np

import lazynet
from lazynet import FoBoS, Stepper, Tables
from safe.fuzz.models import (
    ESTIMATORS,
    called,
    made,
    needs_the_length,
    rows_and_targets,
    sound_parameters,
    usable,
    working_parameters,
)
from safe.fuzz.note import note
from safe.fuzz.oracle import innermost, listening
from safe.fuzz.portrait import differences, portrait
from safe.fuzz.worker import stopped_after

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


def generate(random, ledger):
    """A trained model, a second call, and Ctrl-C during it."""
    model, call, follow = (a_stepper if random.random() < 0.15 else an_estimator)(random)
    name, before = type(model).__name__, witness(model, follow)
    finished, counting = copy.deepcopy(model), Presses()
    with stopped_after(10.0), listening():
        error = counting.during(lambda: call(finished))
    if error is not None:
        if not isinstance(error, (ValueError, FloatingPointError)):
            raise error
        ledger.refused["does not train"] += 1
        return
    after = witness(finished, follow)
    # The second one comes a few lines behind the first, in half of the cases.
    second = int(random.integers(1, 40)) if random.random() < 0.5 else None
    presses = Presses(int(random.integers(1, max(2, counting.lines))), second)
    note(f"interrupts: {name} at {presses.left}")
    with listening():
        error = presses.during(lambda: call(model))
    where = " and ".join(presses.places)
    if not presses.places and error is None:
        ledger.finite += 1  # what is made once made the first call longer
        return
    if not isinstance(error, KeyboardInterrupt):
        place = innermost(error) if error else "no error"
        ledger.fail(f"{name}: Ctrl-C ended as {type(error).__name__} at {place}",
                    f"Ctrl-C at {where} came out as {error!r}")  # fmt: skip
        return
    try:
        now = witness(model, follow)
    except Exception as broken:
        how = f"{type(broken).__name__} at {innermost(broken)}"
        ledger.fail(f"{name}: unusable after Ctrl-C, {how}", f"after Ctrl-C at {where}: {broken!r}")
        return
    if now in (before, after):
        ledger.refused["as before" if now == before else "as after"] += 1
        return
    ledger.fail(
        f"{name} torn by Ctrl-C at {where.split(' and ')[-1]}"
        + (", the second one" if len(presses.places) > 1 else ""),
        f"Ctrl-C at {where}: neither as before nor as after the call: "
        f"{'; '.join(differences(before, now)[:4])}\n{model!r}",
    )


def witness(model, follow):
    """All that can be seen of a model, and how it would go on."""
    future = copy.deepcopy(model)
    with listening():
        try:
            follow(future)
        except (ValueError, FloatingPointError) as error:
            return observed(model), str(error)
    return observed(model), observed(future)


def observed(model):
    """What can be seen of a model, bit for bit."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    parameters = model.get_params() if hasattr(model, "get_params") else {}
    if not parameters:
        names = ["t", "weights", "intercept", "averages", "average_intercept", "_prediction"]
    found = [(name, portrait(getattr(model, name, "absent"))) for name in sorted(names)]
    return (*found, ("parameters", portrait(parameters)))


#: Strong pulls wear the clock out, and small tables fill: sweeps are among the steps.
STRONG = [
    dict(l1=l1, l2=0.0, rule=FoBoS("constant", eta0=1.0, storage=storage))
    for l1 in (300.0, 1e4)
    for storage in ("clock", Tables(budget=3), "dense")
]


def an_estimator(random):
    """A model that has learnt something, what to interrupt, and how to go on."""
    Estimator = ESTIMATORS[random.integers(len(ESTIMATORS))]
    classes, n = int(random.choice([2, 3])), int(random.choice([3, 20]))
    shape = dict(n=n, d=int(random.choice([5, 300])), classes=classes)
    X, y = rows_and_targets(Estimator, random, **shape)
    more, its_y = rows_and_targets(Estimator, random, **shape)
    model = Estimator(**working_parameters(Estimator, random))
    if random.random() < 0.3:
        strong = made(Estimator, **STRONG[random.integers(len(STRONG))])
        model = strong if usable(strong) else model
    if random.random() < 0.2 and "random_state" in Estimator._kinds:
        model.set_params(random_state=np.random.RandomState(3))
    streams = hasattr(model, "partial_fit") and random.random() < 0.7
    if streams and isinstance(getattr(model, "class_weight", None), str):
        model.set_params(class_weight=None)
    if streams and needs_the_length(model.rule):
        model.set_params(rule__average=True)
    options = {"classes": np.arange(classes)} if hasattr(model, "class_weight") else {}
    method = "partial_fit" if streams else "fit"
    with stopped_after(10.0), listening():
        if random.random() < 0.9:
            try:
                called(model, method, X, y, **options)
            except (ValueError, FloatingPointError):
                model, method = made(Estimator).fit(X, y), "fit"
    often = {}
    if method == "partial_fit" and random.random() < 1 / 3:
        often = {"sample_order": np.tile(np.arange(more.shape[0]), (30, 1))}
    return (
        model,
        lambda each: called(each, method, more, its_y, **options, **often),
        lambda each: called(each, method, X, y, **options),
    )


def a_stepper(random):
    """A stepper that has taken a few steps, and one more to interrupt."""
    d = int(random.choice([4, 400]))
    indices = [np.sort(random.choice(d, size=3, replace=False)) for _ in range(8)]

    def step(each, which):
        each.step(indices[which], [1.0, -0.5, 2.0], 1.0 if which % 2 else -1.0)

    options, steps = sound_parameters(Stepper, random, 6), int(random.integers(1, 6))
    while True:
        try:
            stepper = Stepper(d, **options)
            for which in range(steps):
                step(stepper, which)
            return stepper, lambda each: step(each, 6), lambda each: step(each, 7)
        except (TypeError, ValueError, FloatingPointError):
            # What is left out goes together with anything.
            options.popitem()
