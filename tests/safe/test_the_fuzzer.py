"""The fuzzer finds planted failures, tells them apart and repeats them from their seeds."""

import os
import re
import signal
import time

import numpy as np
import pytest

from lazynet import LazyNetClassifier
from safe.fuzz import kernels
from safe.fuzz.__main__ import GENERATORS, STRIDE, main
from safe.fuzz.hunt import hunt, run_input
from safe.fuzz.oracle import judged

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="what is planted must reach the child")


def planted(call, **options):
    """A generator that makes one call and judges it."""
    return lambda random, ledger: judged(ledger, "planted call", call, words=["X"], **options)


def signatures(generate, count=3, **options):
    """The distinct failures of a few inputs."""
    return dict(hunt("planted", generate, 5, count=count, **options).signatures())


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
    ],
)
def test_planted_failures_are_found(generate, found):
    """Wrong errors, models that are torn, results that are not finite: each in every input."""
    [(signature, times)] = signatures(generate).items()
    assert signature.startswith(found)
    assert times == 3


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
    """The signal is named with the input, and the run goes on behind it."""

    def generate(random, ledger):
        if random.integers(2):
            os.kill(os.getpid(), signal.SIGSEGV)
        ledger.finite += 1

    ledger = hunt("planted", generate, 0, count=8)
    assert ledger.inputs == 8
    assert ledger.finite == 8 - len(ledger.failures) > 0
    # The sanitizer has a word for it.
    deaths = ("SIGSEGV", "AddressSanitizer SEGV")
    assert all(signature.startswith(deaths) for signature in ledger.signatures())
    # What is said to replay is what dies.
    seed, *_ = ledger.failures[0]
    again = hunt("planted", generate, seed, count=1)
    assert len(again.failures) == 1


@forks
def test_an_input_that_hangs_is_ended():
    """The failure of an input that hangs tells where it hangs."""

    def generate(random, ledger):
        time.sleep(60.0)

    [signature] = signatures(generate, count=1, limit=0.5)
    assert signature.startswith("hang")


def test_every_kernel_function_has_a_recipe():
    """What a kernel offers is fuzzed from the day it is born."""
    assert kernels.without_recipe() == []


@forks
@pytest.mark.parametrize("name", GENERATORS)
def test_generators_run(name, request):
    """None of the inputs fails; a call of a kernel takes less time than a fit of a matrix."""
    count = {"matrices": 300, "files": 200, "changes": 300, "kernels": 6000}[name]
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
    ("name", "place", "fault"),
    [
        ("files", "lazynet.data.files.FilesSource._compare", lambda *_: None),
        ("files", "lazynet.data.files._unpacked", lambda file, *_: iter(lambda: file.read(9), b"")),
        ("changes", "lazynet.engines.cells.AdaGradEngine.set_constants", forgets_to_sweep),
        ("changes", "lazynet.estimators.linear.LinearModel.__copy__", shares_engines),
    ],
)
def test_faults_of_the_package_are_found(name, place, fault, monkeypatch):
    """Files that change or are packed, constants that change, copies that share."""
    monkeypatch.setattr(place, fault)
    assert hunt(name, GENERATORS[name], 0, count={"files": 40, "changes": 200}[name]).failures


@forks
def test_the_command_line(capsys):
    """A replay ends with a count; a run tells its seed, which is another one every time."""
    assert main(["--only", "kernels", "--replay", "3"]) == 0
    assert "kernels: 1 inputs" in capsys.readouterr().out
    for _ in range(2):
        assert main(["0.5", "--only", "changes"]) == 0
    first, second = re.findall(r"^seed (\d+): --seed \1 makes", capsys.readouterr().out, re.M)
    assert first != second
