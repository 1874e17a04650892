"""The fuzzer finds planted failures, tells them apart and repeats them from their seeds."""

import inspect
import os
import re
import signal
import time

import numpy as np
import pytest

from lazynet import LazyNetClassifier
from safe.fuzz.__main__ import GENERATORS, STRIDE, main
from safe.fuzz.hunt import hunt, run_input
from safe.fuzz.offered import FUNCTIONS
from safe.fuzz.oracle import judged
from safe.fuzz.recipes import Parts, recipe

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="what is planted must reach the child")


def planted(call, **options):
    """A generator that makes one call and judges it."""
    return lambda random, ledger: judged(ledger, "planted call", call, words=["X"], **options)


def overflow():
    raise OverflowError("X is too large")


class Tears(LazyNetClassifier):
    """Fails, and has forgotten something."""

    def fit(self):
        self.l2 += 7.0
        raise ValueError("X is refused")


TEARS = Tears()


@forks
@pytest.mark.parametrize(
    ("generate", "found"),
    [
        (planted(overflow), "OverflowError at outside lazynet"),
        (planted(TEARS.fit, model=TEARS), "a failed planted changed the model"),
        (planted(lambda: np.array([1.0, np.nan])), "planted gave what is not finite"),
        (lambda random, ledger: time.sleep(60.0), "hang"),
    ],
)
def test_planted_failures_are_found(generate, found):
    """Wrong errors, torn models, results that are not finite, hangs: each in every input."""
    [(signature, times)] = hunt("planted", generate, 5, count=2, limit=1.0).signatures().items()
    assert signature.startswith(found)
    assert times == 2


def test_messages_must_name_an_argument(monkeypatch):
    """An error from inside the package that names nothing is a failure."""

    def mumble(*arguments):
        raise ValueError("something is wrong")

    monkeypatch.setattr("lazynet.training.settings.check_together", mumble)
    fit = LazyNetClassifier().fit
    [failure] = run_input("planted", planted(lambda: fit([[1.0], [2.0]], [0, 1])), 0).failures
    assert failure[1] == (
        "ValueError names no argument in lazynet/training/settings.py: something is wrong"
    )


@forks
def test_a_child_that_dies_costs_one_input():
    """The signal is named with the call, the run goes on, and the input dies again."""

    def generate(random, ledger):
        ledger.tell("planted call with a number")
        if random.integers(2):
            os.kill(os.getpid(), signal.SIGSEGV)
        ledger.finite += 1

    ledger = hunt("planted", generate, 0, count=8)
    assert ledger.inputs == 8
    assert ledger.finite == 8 - len(ledger.failures) > 0
    for signature in ledger.signatures():  # the sanitizer has a word of its own
        assert re.match(r"(SIGSEGV|AddressSanitizer SEGV) at .*a number", signature)
    seed, *_ = ledger.failures[0]
    assert len(hunt("planted", generate, seed, count=1).failures) == 1


def test_every_kernel_function_has_a_recipe():
    """What a kernel offers is fuzzed from the day it is born, with all of its arguments."""
    for name, function in FUNCTIONS.items():
        given = {*recipe(name, Parts(np.random.default_rng(0)))}
        if not inspect.isclass(function):
            assert given == {*inspect.signature(function).parameters}, name


@forks
@pytest.mark.parametrize("name", GENERATORS)
def test_generators_run(name, request):
    """None of the inputs fails; a call of a kernel takes less time than a fit of a matrix."""
    count = {"matrices": 300, "changes": 300, "kernels": 6000}[name]
    count //= 10 if request.config.getoption("--quick") else 1
    ledger = hunt(name, GENERATORS[name], 12 * STRIDE, count=count)
    assert ledger.inputs == count
    assert not ledger.signatures()


def forgets_to_sweep(engine, constants):
    """Continue with other constants; the missed shrinks are forgotten."""
    engine.constants[:] = constants


def shares_engines(model):
    """A copy with the engines of the model."""
    copied = object.__new__(type(model))
    copied.__dict__.update(vars(model))
    return copied


@forks
@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("lazynet.engines.adagrad.AdaGradEngine.set_constants", forgets_to_sweep),
        ("lazynet.estimators.linear.LinearModel.__copy__", shares_engines),
    ],
)
def test_faults_of_the_package_are_found(place, fault, monkeypatch):
    """Constants that change, copies that share."""
    monkeypatch.setattr(place, fault)
    found = (hunt("changes", GENERATORS["changes"], 20 * k, count=20) for k in range(10))
    assert any(ledger.failures for ledger in found)


@forks
def test_the_command_line(capsys):
    """A replay ends with a count; a run tells its seed, which is another one every time."""
    assert main(["--only", "kernels", "--replay", "3"]) == 0
    assert "kernels: 1 inputs" in capsys.readouterr().out
    for _ in range(2):
        assert main(["0.3", "--only", "changes"]) == 0
    first, second = re.findall(r"^seed (\d+): --seed \1 makes", capsys.readouterr().out, re.M)
    assert first != second
