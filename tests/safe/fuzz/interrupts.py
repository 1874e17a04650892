"""Ctrl-C at any line of a call, once or twice: the model is as before the call, or as after it."""

from __future__ import annotations

import copy
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.algorithms import STREAMING_RULES, storage_of

import lazynet
from lazynet import FoBoS, Tables, TruncatedGradient
from lazynet.engines.catalogue import ALGORITHMS
from lazynet.rules.storage import STORAGES
from safe.fuzz.alarm import stopped_after
from safe.fuzz.ledger import Ledger
from safe.fuzz.models import (
    ESTIMATORS,
    called,
    made,
    needs_the_length,
    rows_and_targets,
    working_parameters,
)
from safe.fuzz.note import note
from safe.fuzz.oracle import innermost, listening
from safe.fuzz.portrait import differences, portrait

PACKAGE = str(Path(lazynet.__file__).parent) + os.sep
Call = Callable[[Any], Any]


class Presses:
    """Raises KeyboardInterrupt at chosen lines of the package, and counts the lines.

    Python takes a trace function away that has raised.  A profile function, which stays, puts it
    back for the second one.
    """

    def __init__(self, first: int | None = None, second: int | None = None) -> None:
        self.left = [each for each in (first, second) if each is not None]
        self.lines = 0
        #: where the key was pressed
        self.places: list[str] = []

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
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

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if self.places and self.left and sys.gettrace() is None:
            outer: FrameType | None = frame
            while outer is not None:
                if outer.f_code.co_filename.startswith(PACKAGE):
                    outer.f_trace = self._trace
                outer = outer.f_back
            sys.settrace(self._trace)

    def during(self, call: Callable[[], Any]) -> BaseException | None:
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


def generate(random: np.random.Generator, ledger: Ledger) -> None:
    """A trained model, a second call, and Ctrl-C during it."""
    chosen = random.random()
    if chosen < 0.15:
        model, call, follow = a_stepper(random)
    else:
        model, call, follow = an_estimator(random)
    model = copy.deepcopy(model)
    before = witness(model, follow)
    finished = copy.deepcopy(model)
    counting = Presses()
    with stopped_after(10.0), listening():
        error = counting.during(lambda: call(finished))
    if error is not None:
        if not isinstance(error, (ValueError, FloatingPointError)):
            raise error
        ledger.refused["does not train"] += 1
        return
    after = witness(finished, follow)
    if random.random() < 0.1 and hasattr(signal, "setitimer"):
        error, places = by_signal(lambda: call(model), random), ["a signal"]
    else:
        presses = Presses(int(random.integers(1, max(2, counting.lines))), second_press(random))
        note(f"interrupts: {type(model).__name__} at {presses.left}")
        with listening():
            error = presses.during(lambda: call(model))
        places = presses.places
    name = type(model).__name__
    where = " and ".join(places) or "nowhere"
    if error is None and places == ["a signal"]:
        ledger.finite += 1
        return
    if not isinstance(error, KeyboardInterrupt):
        ledger.fail(
            f"{name}: Ctrl-C ended as {type(error).__name__} at "
            f"{innermost(error) if error else 'no error'}",
            f"Ctrl-C at {where} came out as {error!r}",
        )
        return
    try:
        now = witness(model, follow)
    except Exception as broken:
        ledger.fail(
            f"{name}: unusable after Ctrl-C, {type(broken).__name__} at {innermost(broken)}",
            f"after Ctrl-C at {where} the model raised {broken!r}",
        )
        return
    if now in (before, after):
        ledger.refused["as before" if now == before else "as after"] += 1
        return
    changed = differences(before, now)
    ledger.fail(
        f"{name} torn by Ctrl-C at {where.split(' and ')[-1]}"
        + (", the second one" if len(places) > 1 else ""),
        f"Ctrl-C at {where}: neither as before nor as after the call: "
        f"{'; '.join(changed[:4])}\n{describe(model)}",
    )


def second_press(random: np.random.Generator) -> int | None:
    """Lines between the two, the second one in half of the cases."""
    return int(random.integers(1, 40)) if random.random() < 0.5 else None


def describe(model: Any) -> str:
    """What kind of model it is."""
    return repr(model) if hasattr(model, "get_params") else type(model.engine).__name__


def witness(model: Any, follow: Call) -> Any:
    """All that can be seen of a model, and how it would go on."""
    future = copy.deepcopy(model)
    with listening():
        try:
            follow(future)
        except (ValueError, FloatingPointError) as error:
            return observed(model), str(error)
    return observed(model), observed(future)


def observed(model: Any) -> Any:
    """What can be seen of a model, bit for bit."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    if not hasattr(model, "get_params"):
        names = ["t", "weights", "intercept", "averages", "average_intercept", "_prediction"]
    found = []
    for name in sorted(names):
        try:
            found.append((name, portrait(getattr(model, name))))
        except AttributeError:
            found.append((name, "absent"))
    parameters = model.get_params() if hasattr(model, "get_params") else {}
    return (*found, ("parameters", portrait(parameters)))


def by_signal(call: Callable[[], Any], random: np.random.Generator) -> BaseException | None:
    """Make the call while a timer interrupts it, once or twice."""
    again = float(10 ** random.uniform(-5, -3)) if random.random() < 0.5 else 0.0
    armed = [True, True]

    def press(*_: Any) -> None:
        if armed:
            armed.pop()
            raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, press)
    first = float(10 ** random.uniform(-5, -2))
    raised: BaseException | None = None
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, first, again)
            call()
        except BaseException as error:
            armed.clear()
            raised = error
        armed.clear()
    except KeyboardInterrupt as error:
        # One more came between the call and its being caught.
        armed.clear()
        raised = error
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    # Not the default, which would end the process if one were still on its way.
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    return raised


def an_estimator(random: np.random.Generator) -> tuple[Any, Call, Call]:
    """A model that has learnt something, what to interrupt, and how to go on."""
    Estimator = ESTIMATORS[random.integers(len(ESTIMATORS))]
    classes = int(random.choice([2, 3]))
    n, d = int(random.choice([3, 20])), int(random.choice([5, 300]))
    X, y = rows_and_targets(Estimator, random, n=n, d=d, classes=classes)
    more, its_y = rows_and_targets(Estimator, random, n=max(n, classes), d=d, classes=classes)
    options = working_parameters(Estimator, random)
    if random.random() < 0.3 and "l1" in options:
        # Sweeps: strong pulls wear the clock out, small tables fill.
        storage = ["clock", Tables(budget=3), "dense"][random.integers(3)]
        rule = FoBoS("constant", eta0=1.0, storage=storage)
        strong = dict(l1=float(random.choice([300.0, 1e4])), l2=0.0, rule=rule, loss="hinge")
        if "class_weight" not in options:
            strong["loss"] = "absolute_error"
        candidate = made(Estimator, **{**options, **strong})
        options = candidate.get_params(deep=False) if usable(candidate) else options
    if random.random() < 0.2:
        options["random_state"] = np.random.RandomState(3)
    model = Estimator(**options)
    methods = [name for name in ("fit", "partial_fit") if hasattr(model, name)]
    streams = "partial_fit" in methods and random.random() < 0.7
    if streams and isinstance(options.get("class_weight"), str):
        model.set_params(class_weight=None)
    if streams and needs_the_length(options.get("rule")):
        model.set_params(rule__average=True)
    names = np.arange(classes) if hasattr(model, "class_weight") else None
    with stopped_after(10.0), listening():
        if random.random() < 0.9:
            try:
                train(model, "partial_fit" if streams else "fit", X, y, names)
            except (ValueError, FloatingPointError):
                model = made(Estimator).fit(X, y)
                streams = False
    method = "partial_fit" if streams else "fit"
    repeat = int(random.choice([1, 1, 30]))
    order: NDArray[np.int64] | None = np.tile(np.arange(more.shape[0]), (repeat, 1))
    if method == "fit" or repeat == 1:
        order = None
    call = lambda each: train(each, method, more, its_y, names, order)  # noqa: E731
    following = "partial_fit" if "partial_fit" in methods and streams else "fit"
    return (
        model,
        call,
        lambda each: train(each, following, X, y, names),
    )


def usable(model: Any) -> bool:
    """Whether the parameters go together."""
    try:
        getattr(model, "_read_settings", model._settle)()
    except (ValueError, TypeError):
        return False
    return True


def train(
    model: Any, method: str, X: Any, y: Any, classes: Any, order: NDArray[np.int64] | None = None
) -> None:
    """One call that trains."""
    options = {} if order is None else dict(sample_order=order)
    if method == "partial_fit":
        options["classes"] = classes
    called(model, method, X, y, **options)


def a_stepper(random: np.random.Generator) -> tuple[Any, Call, Call]:
    """A stepper that has taken a few steps, and one more to interrupt."""
    rule = ALGORITHMS[str(random.choice(STREAMING_RULES))].rule()
    if isinstance(rule, TruncatedGradient):
        rule.set_params(threshold=0.5)
    strong = bool(random.integers(2))
    options: dict[str, Any] = dict(rule=rule, l1=300.0 if strong else 1e-3,
                                   fit_intercept=bool(random.integers(2)),
                                   loss=str(random.choice(["hinge", "squared_error"])))  # fmt: skip
    if rule.scheduled:
        rule.set_params(schedule="constant", eta0=1.0)
    if not rule.has_state:
        storage = storage_of(str(random.choice(list(STORAGES))), int(random.choice([1, 2, 50])))
        average = storage.takes_averages and bool(random.integers(2))
        rule.set_params(storage=storage, average=average)
        if not storage.takes_l1:
            options.update(l1=0.0, l2=0.1)
    d = int(random.choice([4, 400]))
    stepper = lazynet.Stepper(d, **options)
    indices = [np.sort(random.choice(d, size=3, replace=False)) for _ in range(8)]

    def step(each: Any, which: int) -> None:
        each.step(indices[which], [1.0, -0.5, 2.0], 1.0 if which % 2 else -1.0)

    for which in range(int(random.integers(1, 6))):
        step(stepper, which)
    return stepper, lambda each: step(each, 6), lambda each: step(each, 7)
